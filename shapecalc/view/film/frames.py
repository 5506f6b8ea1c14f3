"""What a film is made of: words at places, frames that hold them, and the picture at any moment between two frames.

Nothing here knows what a film is about, and how it is shown or written.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HUNDREDTHS = 12
"""How long a picture of a file stands while words move, in hundredths of a second."""


class Sprite(Record):
    """A word that stands at a place, which is in character cells and may lie between two of them."""

    x: float
    y: float
    text: str
    look: str = "ink"
    """Its looks by name: a key of `LOOKS`."""


class Frame(Record):
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


class Ask(Record):
    """What can be asked of the reader before a frame is shown, and the answer that the frame gives."""

    question: str
    answer: str


class Film(Record):
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


class Track(Record):
    """A word of a film through time, as long as neither it nor its looks change."""

    text: str
    look: str
    start: float
    end: float
    points: tuple[tuple[float, float, float], ...]
    """Its places: seconds, and x and y. It goes from each to the next in a straight line."""


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
