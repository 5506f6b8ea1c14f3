"""What a film is made of: words at places, frames that hold them, and memory as a tape of cells.

The cells of a tape stand in one line, or in several if there are many. A bar between two of them is as tall as the axis
that it cuts is far outside. Of a large tensor the first cells are shown, and dots stand for the others. Nothing here
knows what a film is about, and how it is shown or written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul

Shape = tuple[int, ...]
HUNDREDTHS = 12
"""How long a picture of a file stands while words move, in hundredths of a second."""
GAP = 1
"""Character cells between two cells of the tape, where the bars stand."""
DOTS = "…"
BARS = "│┃║"
"""The bars of an axis that has a row of its own, and of those further outside that share the highest row."""
WIDEST_GAP = 3
FULL = 0.7
"""The part of a line that blocks of an axis fill at least; a line of larger ones would waste too much room."""
MOST_TALL = 5
"""The most rows of a line."""


@dataclass(frozen=True, slots=True)
class Sprite:
    """A word that stands at a place, which is in character cells and may lie between two of them."""

    x: float
    y: float
    text: str
    look: str = "ink"
    """Its looks by name: a key of `LOOKS`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands where. Words that the frame before has under the same key glide from their places there."""

    sprites: Mapping[str, Sprite]
    """The words by key. Later ones stand over earlier ones."""
    sentence: str
    step: int | None
    """The number of the step that it shows; None before the first and after the last."""
    arrive: float
    """Seconds in which the words reach their places."""
    hold: float
    """Seconds for which they stay there."""
    asks: Ask | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """What can be asked of the reader before a frame is shown, and the answer that the frame gives."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Film:
    """Frames in order, in a room of character cells."""

    title: str
    width: int
    height: int
    frames: tuple[Frame, ...]
    notes: tuple[str, ...]
    """What the film leaves out, or takes in place of names."""

    @property
    def starts(self) -> list[float]:
        """The second at which each frame begins to arrive, and the one at which the last ends."""
        return [*accumulate((frame.arrive + frame.hold for frame in self.frames), initial=0.0)]

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.starts[-1]


@dataclass(frozen=True, slots=True)
class Track:
    """A word of a film through time, as long as neither it nor its looks change."""

    text: str
    look: str
    start: float
    end: float
    points: tuple[tuple[float, float, float], ...]
    """Its places: seconds, and x and y. It goes from each to the next in a straight line."""


@dataclass(frozen=True, slots=True)
class Tape:
    """The place of every cell and bar of a tensor that lies in memory in C order."""

    shape: Shape
    pitch: int
    """Character cells from one cell to the next."""
    per_line: int
    """How many cells a line has."""
    tall: int
    """How many rows a line has: bars stand in all of them, numbers in the lowest."""
    shown: int
    """How many cells are shown; the others are left out."""
    top: int

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    @property
    def bottom(self) -> int:
        """The row after the last."""
        return self.top + self.tall * max(1, -(-self.shown // self.per_line))

    def place(self, cell: int) -> tuple[int, int]:
        """Return where a cell's number begins; of a cell that is not shown, where the dots are."""
        line, column = divmod(cell, self.per_line)
        if cell >= self.shown:
            line, column = (self.shown - 1) // self.per_line, (self.shown - 1) % self.per_line + 1
        return column * self.pitch + 1, self.top + line * self.tall + self.tall - 1

    def bar(self, position: int, layer: int) -> Sprite:
        """Return the bar before a cell, or after the last, of the axis that is the `layer`th from the innermost."""
        line = max(0, position - (position == self.shown)) // self.per_line
        row = min(layer, self.tall - 1)
        x = (position - line * self.per_line) * self.pitch
        y = self.top + line * self.tall + self.tall - 1 - row
        return Sprite(x, y, BARS[min(layer - row, len(BARS) - 1)], "quiet")


def frame_at(starts: list[float], second: float) -> int:
    """Return the number of the frame that is shown at a second.

    >>> frame_at([0.0, 2.0, 3.0], 2.5), frame_at([0.0, 2.0, 3.0], 9)
    (1, 1)
    """
    return max(0, min(bisect_right(starts, second) - 1, len(starts) - 2))


def picture_at(film: Film, starts: list[float], second: float) -> tuple[Sprite, ...]:
    """Return the words at a second, each on its way to its place in the frame that arrives then."""
    number = frame_at(starts, second)
    frame = film.frames[number]
    part = 1.0 if not (number and frame.arrive) else min(1.0, (second - starts[number]) / frame.arrive)
    if part >= 1.0:
        return tuple(frame.sprites.values())
    before = film.frames[number - 1].sprites
    return tuple([_between(before.get(key), sprite, part) for key, sprite in frame.sprites.items()])


def _between(start: Sprite | None, end: Sprite, part: float) -> Sprite:
    """Return a word when it has come a part of its way."""
    if start is None or (start.x == end.x and start.y == end.y):
        return end
    return Sprite(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part, end.text, end.look)


def moments(film: Film) -> Iterator[tuple[tuple[Sprite, ...], int]]:
    """Yield the pictures of a film, each with the hundredths of a second for which it stands."""
    starts = film.starts
    for number, frame in enumerate(film.frames):
        whole = round(100 * (frame.arrive + frame.hold))
        steps = round(100 * frame.arrive) // HUNDREDTHS if number and _moves(film, number) else 0
        for step in range(1, steps):
            yield picture_at(film, starts, starts[number] + step * HUNDREDTHS / 100), HUNDREDTHS
        yield tuple(frame.sprites.values()), whole - max(0, steps - 1) * HUNDREDTHS


def _moves(film: Film, number: int) -> bool:
    """Say whether a word moves on its way to a frame."""
    before, now = film.frames[number - 1].sprites, film.frames[number].sprites
    return any(
        (came.x, came.y) != (sprite.x, sprite.y) for key, sprite in now.items() if (came := before.get(key)) is not None
    )


def tracks(film: Film) -> list[Track]:
    """Return every word of a film with its way, in the order in which they come."""
    starts, found, last = film.starts, list[Track](), dict[str, int]()
    for number, frame in enumerate(film.frames):
        before = film.frames[number - 1].sprites if number else {}
        for key, sprite in frame.sprites.items():
            came = before.get(key)
            way = _way(came, sprite, starts[number], frame.arrive)
            if came is not None and (came.text, came.look) == (sprite.text, sprite.look):
                track = found[last[key]]
                points = track.points if len(way) == 1 else (*track.points, *way)
                found[last[key]] = Track(track.text, track.look, track.start, starts[number + 1], points)
            else:
                last[key] = len(found)
                found.append(Track(sprite.text, sprite.look, starts[number], starts[number + 1], way))
    return found


def _way(start: Sprite | None, end: Sprite, second: float, arrive: float) -> tuple[tuple[float, float, float], ...]:
    """Return the points between which a word moves to its place in a frame; one point if it stands there."""
    if start is None or (start.x, start.y) == (end.x, end.y):
        return ((second, end.x, end.y),)
    return (second, start.x, start.y), (second + arrive, end.x, end.y)


def tape_of(shape: Shape, wide: int, width: int, top: int, rows: int, layers: int) -> Tape:
    """Return a tensor's tape in a room of so many rows, from the row `top` on; the longest number is `wide`.

    Few cells stand further apart. A line has whole blocks of an axis, as large as they fit. It is as tall as bars of
    so many `layers` need, unless more cells are shown if it is not.

    >>> tape = tape_of((2, 3, 4), 2, 80, 0, 4, 2)
    >>> tape.per_line, tape.pitch, tape.tall, tape.shown, tape.place(23)
    (24, 3, 2, 24, (70, 1))
    """
    count, steps = prod(shape), cuts(shape)
    pitch = max(wide + GAP, min(wide + WIDEST_GAP, (width - 2) // max(1, count)))
    room = max(1, (width - 2) // pitch)
    block = max((step for step in steps if room // step * step >= FULL * room), default=1)
    per_line = max(1, min(count, room // block * block))
    lines = max(1, -(-count // per_line))
    tall = max(1, min(layers, MOST_TALL, rows // lines))
    return Tape(shape, pitch, per_line, tall, min(count, per_line * max(1, rows // tall)), top)


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how far apart in memory two neighbours along each axis are, in elements.

    >>> strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([*accumulate(reversed(shape[1:]), mul, initial=1)][::-1]) if shape else ()


def cuts(shape: Shape) -> list[int]:
    """Return after how many elements each axis is cut, from the innermost axis that has blocks outwards.

    >>> cuts((2, 3, 4)), cuts((6,)), cuts((2, 1, 3))
    ([4, 12], [], [3])
    """
    found = [stride for size, stride in zip(shape, strides(shape), strict=True) if size > 1 and stride > 1]
    return found[::-1]


def positions(shape: Shape, layer: int, shown: int) -> list[int]:
    """Return before which cells the bars of an axis stand; beyond the outermost axis, only at both ends.

    >>> positions((2, 3, 4), 0, 24), positions((2, 3, 4), 1, 24), positions((2, 3, 4), 2, 24)
    ([0, 4, 8, 12, 16, 20, 24], [0, 12, 24], [0, 24])
    """
    steps, count = cuts(shape), prod(shape)
    step = steps[layer] if layer < len(steps) else max(1, count)
    return [*range(0, min(shown, count) + 1, step)]


def partners(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return from where to where each bar moves, as pairs: those at places of both stay, others take the next way.

    Where there are too few, one bar becomes several; where there are too many, several become one.

    >>> partners([0, 4, 8, 12], [0, 6, 12]), partners([0, 12], [0, 6, 12])
    ([(0, 0), (12, 12), (4, 6), (8, 6)], [(0, 0), (12, 12), (0, 6)])
    """
    leaving, coming = [place for place in old if place not in new], [place for place in new if place not in old]
    sources = [_nearest(old, place) for place in coming]
    if leaving:
        sources = [leaving[at * len(leaving) // len(coming)] for at in range(len(coming))]
    idle = [place for place in leaving if place not in sources]
    moves = [*zip(sources, coming, strict=True), *[(place, _nearest(coming or new, place)) for place in idle]]
    return [(place, place) for place in old if place in new] + moves


def _nearest(places: Sequence[int], place: int) -> int:
    return min(places, key=lambda other: abs(other - place))
