"""An answer as a film: its stages, the steps of each, and the elements in memory.

A copied 0 moves down from its index, and -1 is filled from the budget. A reshape moves only bars. All other stages read
elements and write them to a second memory.

A film is a sequence of frames of positioned words, with memory drawn as a tape of cells. The cells are in one line, or
in several if there are many. The height of a bar between two cells is the layer of the axis that it cuts. Of a large
tensor only the first cells are shown, followed by dots.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import mul
from textwrap import wrap

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Step, Trace
from shapecalc.core.commands import command_line
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Dims, Index, Permute, Reshape, index_before, ravel, unravel
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import COPIED_ZERO, DROPPED_ONE, INFERRED
from shapecalc.core.text import brief, dim_text, number_text, shape_text, visible
from shapecalc.view.canvas import UNICODE, clip
from shapecalc.view.grid import Journey, journey_of
from shapecalc.view.hints import conditions_text, sizes_text
from shapecalc.view.layout import COMBINING, HUES, INFERS, Cell, Layout, colour, input_cells, label, layouts, size_alone
from shapecalc.view.pictures import asked_picture, budget_of, division, picture

Shape = tuple[int, ...]
HUNDREDTHS = 12
"""The duration of a picture of a moving word, in hundredths of a second."""
DOTS, BLANK = "…", "[ ]"
BARS = "│┃║"
"""The characters of bars.

The first is for axes with a row of their own, the others for outer axes that share the top row.
"""
TITLE, RAIL, INDEX, BEFORE, ASKED, AFTER, SUM, PART, HEAD = 0, 1, 3, 4, 5, 6, 7, 8, 9
"""The rows of a film, from the top.

They hold the title, the rail, the dims of the stage, the division of a -1, and the heading of the first tape. The last
three are further down if there is room for blank rows around them: see `FilmBuilder.row_position`.
"""
SENTENCE_ROWS, LOW = 3, 20
"""The rows of the sentence, and the height below which it has one row less."""
LABELS = 8
"""The width of the words before the dims."""
FALLING = 0.35
"""The seconds in which a piece of the budget falls."""
MOST_PICKS = 12
"""The most rows of a tape that are written one by one. Longer ones use blocks."""
MOST_LISTED = 8
"""The most cells that a sentence lists."""
PICKING, RESTING = 0.55, 0.35
"""The seconds in which an element moves, and in which it stays highlighted."""
WIDTH, HEIGHT = 80, 24
"""The size of a film in character cells, which fits every terminal."""
LEAST_HEIGHT = 16
PICTURED = 8
"""The height of the picture of a stage with several operands or windows."""
LAST = 3.5
"""The seconds for which the last frame is held."""


class Sprite(Record):
    """A word at a position, in character cells or fractions of them."""

    x: float
    y: float
    text: str
    look: str = "ink"
    """A key of `LOOKS`."""


class Ask(Record):
    """A question that the viewer can answer before a frame, and its answer."""

    question: str
    answer: str


class Frame(Record):
    """The words of a frame and their positions.

    A word glides from its position in the frame before, if that has the same key.
    """

    sprites: Mapping[str, Sprite]
    """The words by key. Later ones cover earlier ones."""
    sentence: str
    step: int | None
    """The index of the step. None before the first step and after the last."""
    arrive: float
    """The seconds in which the words move to their positions."""
    hold: float
    """The seconds for which they stay there."""
    asks: Ask | None = None


class Film(Record):
    """A sequence of frames with a title, a size and notes."""

    title: str
    width: int
    height: int
    frames: tuple[Frame, ...]
    notes: tuple[str, ...]
    """The notes on omitted elements and on the sizes of names."""

    @property
    def starts(self) -> list[float]:
        """The start of each frame and the end of the last one, in seconds."""
        return [*accumulate((frame.arrive + frame.hold for frame in self.frames), initial=0.0)]

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.starts[-1]


class Track(Record):
    """A word over time, for as long as its text and look do not change."""

    text: str
    look: str
    start: float
    end: float
    points: tuple[tuple[float, float, float], ...]
    """Its positions as seconds, x and y. It moves in straight lines between them."""


class Tape(Record):
    """The positions of the cells and bars of a tensor in C order."""

    shape: Shape
    pitch: int
    """The distance between two cells, in character cells."""
    per_line: int
    """The number of cells in a line."""
    tall: int
    """The height of a line. Bars can use all its rows, numbers are in the lowest."""
    shown: int
    """The number of cells that are shown."""
    top: int

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def bottom(self) -> int:
        """The row after the last one."""
        return self.top + self.tall * max(1, -(-self.shown // self.per_line))

    def place(self, cell: int) -> tuple[int, int]:
        """Return the position of a cell's number. A hidden cell has that of the dots."""
        line, column = divmod(cell, self.per_line)
        if cell >= self.shown:
            line, column = (self.shown - 1) // self.per_line, (self.shown - 1) % self.per_line + 1
        return column * self.pitch + 1, self.top + line * self.tall + self.tall - 1

    def bar(self, position: int, layer: int) -> Sprite:
        """Return the bar before a cell, or after the last one.

        `layer` is the layer of the axis that it cuts, counted from the innermost axis.
        """
        line = max(0, position - (position == self.shown)) // self.per_line
        row = min(layer, self.tall - 1)
        x = (position - line * self.per_line) * self.pitch
        y = self.top + line * self.tall + self.tall - 1 - row
        return Sprite(x, y, BARS[min(layer - row, len(BARS) - 1)], "quiet")


def frame_at(starts: list[float], second: float) -> int:
    """Return the index of the frame at a time in seconds.

    >>> frame_at([0.0, 2.0, 3.0], 2.5), frame_at([0.0, 2.0, 3.0], 9)
    (1, 1)
    """
    return max(0, min(bisect_right(starts, second) - 1, len(starts) - 2))


def picture_at(film: Film, starts: list[float], second: float) -> tuple[Sprite, ...]:
    """Return the words at a time, moved partway to the positions in their frame."""
    number = frame_at(starts, second)
    frame = film.frames[number]
    part = 1.0 if not (number and frame.arrive) else min(1.0, (second - starts[number]) / frame.arrive)
    if part >= 1.0:
        return tuple(frame.sprites.values())
    before = film.frames[number - 1].sprites
    return tuple([_between(before.get(key), sprite, part) for key, sprite in frame.sprites.items()])


def _between(start: Sprite | None, end: Sprite, part: float) -> Sprite:
    """Return a word moved a fraction of its way."""
    if start is None or (start.x == end.x and start.y == end.y):
        return end
    return Sprite(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part, end.text, end.look)


def moments(film: Film) -> Iterator[tuple[tuple[Sprite, ...], int]]:
    """Yield the pictures of a film, each with its duration in hundredths of a second."""
    starts = film.starts
    for number, frame in enumerate(film.frames):
        duration = round(100 * (frame.arrive + frame.hold))
        before = film.frames[number - 1].sprites if number else {}
        moves = any(len(_way(before.get(key), sprite, 0, 0)) > 1 for key, sprite in frame.sprites.items())
        steps = round(100 * frame.arrive) // HUNDREDTHS if moves else 0
        for step in range(1, steps):
            yield picture_at(film, starts, starts[number] + step * HUNDREDTHS / 100), HUNDREDTHS
        yield tuple(frame.sprites.values()), duration - max(0, steps - 1) * HUNDREDTHS


def tracks(film: Film) -> list[Track]:
    """Return the track of each word of a film, in order of appearance."""
    starts, result, last = film.starts, list[Track](), dict[str, int]()
    for number, frame in enumerate(film.frames):
        before = film.frames[number - 1].sprites if number else {}
        for key, sprite in frame.sprites.items():
            previous = before.get(key)
            motion = _way(previous, sprite, starts[number], frame.arrive)
            if previous is not None and (previous.text, previous.look) == (sprite.text, sprite.look):
                track = result[last[key]]
                points = track.points if len(motion) == 1 else (*track.points, *motion)
                result[last[key]] = Track(track.text, track.look, track.start, starts[number + 1], points)
            else:
                last[key] = len(result)
                result.append(Track(sprite.text, sprite.look, starts[number], starts[number + 1], motion))
    return result


def _way(start: Sprite | None, end: Sprite, second: float, arrive: float) -> tuple[tuple[float, float, float], ...]:
    """Return the points of a word's motion in a frame. One point if it does not move."""
    if start is None or (start.x, start.y) == (end.x, end.y):
        return ((second, end.x, end.y),)
    return (second, start.x, start.y), (second + arrive, end.x, end.y)


def tape_of(shape: Shape, wide: int, width: int, top: int, rows: int, layers: int) -> Tape:
    """Return the tape of a tensor from row `top_row` on, in at most `row_count` rows.

    `number_width` is the width of the longest number. The pitch is larger if there are few cells. A line consists
    of complete blocks of an axis, as large as fit. Its height is the number of `layers`, unless a lower line shows
    more cells.

    >>> tape = tape_of((2, 3, 4), 2, 80, 0, 4, 2)
    >>> tape.per_line, tape.pitch, tape.tall, tape.shown, tape.place(23)
    (24, 3, 2, 24, (70, 1))
    """
    count, steps = prod(shape), cuts(shape)
    pitch = max(wide + 1, min(wide + 3, (width - 2) // max(1, count)))
    room = max(1, (width - 2) // pitch)
    # a longer block would leave more than 30 % of the line empty
    block = max((step for step in steps if room // step * step >= 0.7 * room), default=1)
    per_line = max(1, min(count, room // block * block))
    lines = max(1, -(-count // per_line))
    tall = max(1, min(layers, 5, rows // lines))
    return Tape(shape, pitch, per_line, tall, min(count, per_line * max(1, rows // tall)), top)


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the stride of each axis in C order, in elements.

    >>> strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([*accumulate(reversed(shape[1:]), mul, initial=1)][::-1]) if shape else ()


def cuts(shape: Shape) -> list[int]:
    """Return the distances between the bars of each axis, the innermost axis first.

    >>> cuts((2, 3, 4)), cuts((6,)), cuts((2, 1, 3))
    ([4, 12], [], [3])
    """
    result = [stride for size, stride in zip(shape, strides(shape), strict=True) if size > 1 and stride > 1]
    return result[::-1]


def positions(shape: Shape, layer: int, shown: int) -> list[int]:
    """Return the cells before which the bars of a layer are.

    Layers beyond the outermost axis have bars at both ends only.

    >>> positions((2, 3, 4), 0, 24), positions((2, 3, 4), 1, 24), positions((2, 3, 4), 2, 24)
    ([0, 4, 8, 12, 16, 20, 24], [0, 12, 24], [0, 24])
    """
    steps, count = cuts(shape), prod(shape)
    step = steps[layer] if layer < len(steps) else max(1, count)
    return [*range(0, min(shown, count) + 1, step)]


def partners(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return the moves of bars from old to new positions, as pairs.

    Bars at positions of both stay. The others move to the new positions in order. A bar splits if there are too
    few, and several merge if there are too many.

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


class Board:
    """The words at their current positions, and the frames made so far."""

    def __init__(self, width: int, height: int, column: int) -> None:
        """Create an empty film. `column_width` is the width of a dim."""
        self.width, self.height, self.column = width, height, column
        self.sentence_rows = SENTENCE_ROWS - (height < LOW)
        self.tape_rows = max(1, (height - HEAD - 2 - (height >= LOW) - self.sentence_rows - 1) // 2)
        """The height of each of two tapes."""
        self.gaps = self.between = 0
        """The blank rows around the division of a -1, and those between two tapes."""
        self.sprites: dict[str, Sprite] = {}
        self.frames: list[Frame] = []
        self.asks: Ask | None = None
        """The question before the next frame."""
        self._last: dict[str, Sprite] = {}
        self.memory = 0
        """The number of the current memory. Each gather writes a new one."""
        self.tape: Tape
        """The tape of the current memory, if any."""
        self.notes: list[str] = []

    def fit(self, rows: int, tapes: int) -> None:
        """Reserve rows for tapes, and reduce the height to the rows needed."""
        needed = HEAD + tapes * (rows + 1) + 1 + self.sentence_rows + 1
        spare = max(0, self.height - needed)
        self.between = min(tapes - 1, spare) if tapes else 0
        self.gaps = min(2, spare - self.between)
        self.tape_rows, self.height = rows, min(self.height, needed + self.between + self.gaps)

    def row(self, row: int) -> int:
        """Return the position of `BUDGET_ROW`, `DIVISION_ROW` or `TAPE_HEADING_ROW`."""
        return row + (self.gaps if row == HEAD else self.gaps // 2)

    @property
    def columns(self) -> int:
        """The number of dims that fit."""
        return max(1, (self.width - LABELS - 2) // self.column)

    def x(self, dim: int) -> int:
        """Return the left edge of the column of a dim."""
        return LABELS + dim * self.column

    def put(self, key: str, x: float, y: float, text: str, look: str = "ink") -> None:
        """Place a word, above all others."""
        self.sprites.pop(key, None)
        if text.strip():
            self.sprites[key] = Sprite(x, y, clip(visible(text), max(1, self.width - int(x)), UNICODE), look)

    def put_dim(self, key: str, dim: int, y: int, text: str, look: str = "ink") -> None:
        """Place a word in the column of a dim, if that column fits.

        Dots are placed for the dims that do not fit.
        """
        if dim < self.columns:
            self.put(key, self.x(dim), y, clip(text, self.column - 1, UNICODE), look)
        elif dim == self.columns:
            self.put(key, self.x(dim), y, UNICODE.dots, "quiet")
            self.note(f"dims from {dim} on have no room")

    def glide(self, key: str, start: tuple[float, float]) -> None:
        """Let a word move from a position in the next frame."""
        if key in self.sprites and key not in self._last:
            self._last[key] = Sprite(*start, "")

    def drop(self, *starts: str) -> None:
        """Remove the words whose keys start with one of the prefixes."""
        self.sprites = {key: sprite for key, sprite in self.sprites.items() if not key.startswith(starts)}

    def light(self, keys: Iterable[str], look: str = "lit") -> None:
        """Set the look of words."""
        for key in keys:
            if key in self.sprites:
                self.sprites[key] = replace(self.sprites[key], look=look)

    def note(self, text: str) -> None:
        """Add a note, which all further frames show at the bottom."""
        if text not in self.notes:
            self.notes.append(text)

    def frame(self, sentence: str, step: int | None, *, arrive: float = 0.8, hold: float | None = None) -> None:
        """Add a frame of the current words, with a sentence."""
        lines, rows = wrap(visible(sentence), self.width) or [""], self.sentence_rows
        if len(lines) > rows:
            lines[rows - 1 :] = [clip(" ".join(lines[rows - 1 :]), self.width, UNICODE)]
        for number in range(rows):
            self.put(f"say{number}", 0, self.height - 1 - rows + number, "".join(lines[number : number + 1]))
        self.put("note", 0, self.height - 1, "; ".join(self.notes), "quiet")
        self._last = dict(self.sprites)
        # reading speed: 18 characters per second
        rest = max(0.7, len(sentence) / 18) if hold is None else hold
        self.frames.append(Frame(self._last, sentence, step, arrive, rest, self.asks))
        self.asks = None


def cell_text(cell: Cell) -> str:
    """Return a dim with its mark, or a hole if it is not settled."""
    marked = label(cell, UNICODE)
    return UNICODE.hole if cell.dim is None else f"{marked} {cell.dim}".lstrip()


def look_of(hue: str) -> str:
    """Return the name of the look of a colour, or that of the default ink."""
    return f"axis{HUES.index(hue)}" if hue else "ink"


def open_stage(board: Board, layout: Layout, number: int, sentence: str) -> None:
    """Add the frame that opens a stage, with its dims, its request, and holes.

    The keys of the input dims have the index of the stage, those of the output dims the next one. The output dims
    move up when the next stage opens.
    """
    board.drop("index", "asked", "label", "hole", "sum", "part", "piece", "picture", f"dim{number - 1}.")
    ranks = max(len(layout.before), len(layout.cells))
    for dim in range(ranks):
        board.put_dim(f"index{dim}", dim, INDEX, str(dim), "quiet")
    for axis, cell in enumerate(layout.before):
        board.put_dim(f"dim{number}.{axis}", axis, BEFORE, cell_text(cell), look_of(colour(cell.mark)))
    for dim, token in enumerate(_asked_texts(layout)):
        board.put_dim(f"asked{dim}", dim, ASKED, token)
    for dim in range(len(layout.cells)):
        board.put_dim(f"hole{dim}", dim, AFTER, UNICODE.hole, "quiet")
    rows = [("index", INDEX), ("have", BEFORE), ("becomes", AFTER)] + [("asked", ASKED)] * bool(_asked_texts(layout))
    for text, row in rows:
        board.put(f"label{row}", 0, row, text, "quiet")
    board.frame(sentence, None if not layout.numbers else layout.numbers.start)


def _asked_texts(layout: Layout) -> list[str]:
    """Return the requested value of each output dim, if the stage has one for each."""
    requested = [str(token) for token in layout.stage.asked]
    return requested if len(requested) == len(layout.cells) else []


def settle(board: Board, layout: Layout, number: int, at: int, step: Step, outs: list[int]) -> None:
    """Add the frames of a step that settles or drops dims."""
    lit = [f"dim{number}.{axis}" for axis in step.sources] + [f"asked{out}" for out in outs]
    if step.rule == COPIED_ZERO or layout.stage.kind is Kind.PERMUTE:
        lit += [f"index{axis}" for axis in step.sources]
    old_looks = {key: board.sprites[key].look for key in lit if key in board.sprites}
    board.light(lit)
    if step.rule in INFERS and outs:
        _infer(board, layout, number, at, step, outs[0])
    else:
        if step.rule == DROPPED_ONE:
            board.put_dim(f"dim{number}.{step.sources[0]}", step.sources[0], BEFORE, f"({step.value})", "lit")
        for out in outs:
            source = min(step.sources[0], board.columns) if step.sources else out
            _fill(board, layout, number, out, (board.x(source), BEFORE if step.sources else ASKED))
        board.asks = question_about(layout, outs)
        size_note = size_alone(layout, outs[0], UNICODE) if outs else ""
        board.frame(f"{step.why}; {size_note}" if size_note else step.why, at)
    old_looks |= {f"dim{number + 1}.{out}": look_of(colour(layout.cells[out].mark)) for out in outs}
    for key, look in old_looks.items():
        board.light([key], look)


def _fill(board: Board, layout: Layout, number: int, out: int, start: tuple[float, float]) -> None:
    """Move a dim from a position into its hole."""
    cell, key = layout.cells[out], f"dim{number + 1}.{out}"
    board.sprites.pop(f"hole{out}", None)
    board.put_dim(key, out, AFTER, cell_text(cell), "lit")
    board.glide(key, start)


def question_about(layout: Layout, outs: list[int]) -> Ask | None:
    """Return the question about dims. None if all of them are requested literally."""
    requested, dims = _asked_texts(layout), [str(cell.dim) for cell in layout.cells]
    unknown = [out for out in outs if not (layout.cuts and requested and requested[out] == dims[out])]
    if not unknown:
        return None
    answer = ",".join(dims[out] for out in unknown)
    if len(unknown) == 1:
        token = f", asked for as {requested[unknown[0]]}," if requested else ""
        return Ask(f"What does output dim {unknown[0]}{token} become?", answer)
    is_range = unknown == [*range(unknown[0], unknown[-1] + 1)]
    dims_text = f"{unknown[0]} to {unknown[-1]}" if is_range else ", ".join(map(str, unknown))
    return Ask(f"What do output dims {dims_text} become?", answer)


def _infer(board: Board, layout: Layout, number: int, at: int, step: Step, out: int) -> None:
    """Add the frames of a -1: the budget, the multiples of known dims, the result."""
    have = step.facts["have"] if step.rule in INFERS else 0
    factors = " * ".join(str(cell.dim) for cell in layout.before) or "1"
    total = f" = {dim_text(have)}" if isinstance(have, int) and len(layout.before) > 1 else ""
    divided = f"-1      {division(layout, step)} ="
    board.put("sum", 0, board.row(SUM), f"have    {factors}{total}")
    board.put("part", 0, board.row(PART), f"{divided} {UNICODE.hole}")
    bar = _put_budget(board, have) if step.rule == INFERRED else None
    board.frame("-1 is the elements divided by the known dims.", at)
    board.asks = question_about(layout, [out])
    if bar and isinstance(step.value, int):
        _fill_bar(board, bar, step.value, at)
    board.put("part", 0, board.row(PART), f"{divided} {dim_text(step.dim)}")
    _fill(board, layout, number, out, (len(board.sprites["part"].text) - 1, board.row(PART)))
    board.frame(step.why, at)


def _put_budget(board: Board, have: Dim) -> tuple[int, int] | None:
    """Place a bar of all elements, and return its start and length if it fits."""
    start = max(len(board.sprites["sum"].text), len(board.sprites["part"].text)) + 3
    room = min(48, board.width - start)
    if not isinstance(have, int) or have < 1 or room < 8:
        return None
    long = room // have * have or room
    board.put("sumbar", start, board.row(SUM), UNICODE.block * long)
    return start, long


def _fill_bar(board: Board, bar: tuple[int, int], times: int, at: int) -> None:
    """Add the frames in which pieces fall, one per multiple of the known dims."""
    start, long = bar
    shown = times if times <= 24 and times <= long else 1
    per_frame = -(-shown // 8)
    for first in range(0, shown, per_frame):
        for piece in range(first, min(shown, first + per_frame)):
            left, right = (start + edge * long // shown for edge in (piece, piece + 1))
            block = UNICODE.shade if piece % 2 else UNICODE.block
            board.put(f"piece{piece}", left, board.row(PART), block * (right - left))
            board.glide(f"piece{piece}", (left, board.row(SUM)))
        count = min(shown, first + per_frame) if shown == times else times
        sentence = f"The known dims fit {number_text(count, 'time', 'times')}."
        board.frame(sentence, at, arrive=FALLING, hold=FALLING / 2)


def lay_memory(board: Board, journey: Journey) -> None:
    """Place the input elements on a tape, in no more rows than the journey needs."""
    tapes = [_tape(board, journey, place, 0) for place in range(len(journey.points))]
    gathers = any(not isinstance(move, Reshape) for move in journey.moves)
    board.fit(max(tape.bottom for tape in tapes), 2 if gathers else 1)
    board.tape = _tape(board, journey, 0, board.row(HEAD) + 1)
    for cell in range(board.tape.shown):
        board.put(_cell_key(board, cell), *board.tape.place(cell), _cell_text(board.tape, cell))
    _put_bars(board, board.tape)


def _tape(board: Board, journey: Journey, place: int, top: int) -> Tape:
    """Return the tape of a point of a journey.

    Its lines are as tall as the bars of all points up to the next gather need.
    """
    number_width = len(str(max(0, prod(journey.points[0].shape) - 1)))
    moves = journey.moves[place:]
    reshape_count = next((at for at, move in enumerate(moves) if not isinstance(move, Reshape)), len(moves))
    layers = max(len(cuts(point.shape)) for point in journey.points[place : place + reshape_count + 1])
    return tape_of(journey.points[place].shape, number_width, board.width, top, board.tape_rows, layers)


def _put_head(board: Board, tape: Tape, name: str, more: str) -> None:
    """Place the heading of a tape: its shape, strides and number of shown cells."""
    name = f"{name} {shape_text(tape.shape)}"
    if tape.shown < tape.count:
        name += f", first {tape.shown} of {tape.count} cells"
        board.note("of large memories the first cells are shown")
    text = f"{name}, strides {shape_text(strides(tape.shape))}{more}" if tape.count else f"{name}: no elements"
    board.put(f"head{board.memory}", 0, tape.top - 1, text, "quiet")


def _cell_key(board: Board, cell: int) -> str:
    return f"cell{board.memory}.{cell}"


def _cell_text(tape: Tape, value: int) -> str:
    return str(value).rjust(tape.pitch - 1)


def _put_bars(board: Board, tape: Tape, name: str = "memory", more: str = "") -> None:
    """Place the bars and the heading of a tape, and dots after its last cell."""
    _put_head(board, tape, name, more)
    if 0 < tape.shown < tape.count:
        board.put(f"dots{board.memory}", *tape.place(tape.count), DOTS, "quiet")
    for layer in range(max(tape.tall, len(cuts(tape.shape)))):
        for place in positions(tape.shape, layer, tape.shown):
            bar = tape.bar(place, layer)
            board.put(f"bar{board.memory}.{layer}.{place}", bar.x, bar.y, bar.text, bar.look)


def _recut(board: Board, journey: Journey, place: int, sentence: str, step: int | None) -> None:
    """Add the frames of a reshape, in which bars move between fixed cells."""
    old, shape = board.tape, journey.points[place + 1].shape
    new = replace(old, shape=shape)
    layers = max(1, len(cuts(old.shape)), len(cuts(shape)))
    board.drop("bar")
    for layer in range(layers):
        old_bars, new_bars = (positions(tensor, layer, old.shown) for tensor in (old.shape, shape))
        for number, (start, end) in enumerate(partners(old_bars, new_bars)):
            key, bar, old_bar = (
                f"bar{board.memory}.{layer}.{start}~{number}",
                new.bar(end, layer),
                old.bar(start, layer),
            )
            board.put(key, bar.x, bar.y, bar.text, bar.look)
            board.glide(key, (old_bar.x, old_bar.y))
    _put_head(board, new, "memory", ": no element moves")
    board.light([key for key in board.sprites if key.startswith("bar")], "bold")
    board.frame(sentence, step, arrive=1.5)
    board.drop("bar")
    board.tape = new
    _put_bars(board, new)


def _gather(board: Board, journey: Journey, place: int, sentence: str, step: int | None) -> None:
    """Add the frames of a move that writes elements to another memory."""
    source = board.tape
    target = _tape(board, journey, place + 1, source.top + board.tape_rows + board.between + 1)
    board.memory += 1
    own, move, more = strides(source.shape), journey.moves[place], ""
    if isinstance(move, Permute):
        more = f"; read in strides {shape_text(own[axis] for axis in move.axes)}"
    _put_bars(board, target, "written", more)
    board.frame(sentence, step)
    for cells in picks(target):
        _pick(board, journey, place, (source, target), cells, step)
    _lift(board, (source, target), sentence, step)


def _pick(board: Board, journey: Journey, place: int, tapes: tuple[Tape, Tape], cells: range, step: int | None) -> None:
    """Add the frame that moves some elements from one tape to cells of the other."""
    source, target = tapes
    written = [unravel(cell, target.shape) for cell in cells]
    read: list[Index] = [index_before(index, source.shape, journey.moves[place]) for index in written]
    source_cells = [ravel(index, source.shape) for index in read]
    lit = [f"cell{board.memory - 1}.{cell}" for cell in source_cells]
    board.light(lit)
    for cell, index, source_cell in zip(cells, written, source_cells, strict=True):
        value = ravel(journey.source(place + 1, index), journey.points[0].shape)
        board.put(_cell_key(board, cell), *target.place(cell), _cell_text(target, value), "lit")
        board.glide(_cell_key(board, cell), source.place(source_cell))
    mapping = f"out{span_text(written, target.shape)} = in{span_text(read, source.shape)}"
    board.put("part", 0, board.row(PART), mapping, "bold")
    sentence = f"{_cells_text(cells)} {'takes' if len(cells) == 1 else 'take'} what is in {_cells_text(source_cells)}."
    board.frame(sentence.capitalize(), step, arrive=PICKING, hold=RESTING)
    board.light([*lit, *(_cell_key(board, cell) for cell in cells)], "ink")


def span_text(indices: Sequence[Index], shape: Index) -> str:
    """Return several indices as one, with a colon for an axis that they cover.

    >>> span_text([(0, 1)], (2, 3)), span_text([(0, 0), (0, 1)], (2, 2)), span_text([(0, 1), (0, 2)], (2, 4))
    ('[0,1]', '[0,:]', '[0,1..2]')
    """
    texts = []
    for axis, size in enumerate(shape):
        places = {index[axis] for index in indices}
        least, most = min(places), max(places)
        texts.append(str(least) if least == most else ":" if len(places) == size else f"{least}..{most}")
    return f"[{','.join(texts)}]"


def _cells_text(cells: Sequence[int]) -> str:
    """Return cells in words: one, a range, or the first few."""
    if len(cells) == 1:
        return f"cell {cells[0]}"
    if all(after == before + 1 for before, after in pairwise(cells)):
        return f"cells {cells[0]} to {cells[-1]}"
    listed = ", ".join(map(str, cells[:MOST_LISTED]))
    return f"cells {listed}" + (f" {DOTS}" if len(cells) > MOST_LISTED else "")


def _lift(board: Board, tapes: tuple[Tape, Tape], sentence: str, step: int | None) -> None:
    """Add the frame in which the written memory replaces the one that was read."""
    board.drop("bar", "part", *(f"{kind}{board.memory - 1}" for kind in ("cell", "head", "dots")))
    board.tape = tape = replace(tapes[1], top=tapes[0].top)
    for cell in range(tape.shown):
        key = _cell_key(board, cell)
        board.put(key, *tape.place(cell), board.sprites[key].text)
    _put_bars(board, tape)
    board.frame(sentence, step)


def picks(tape: Tape) -> list[range]:
    """Return the groups of cells that are written together.

    The first cells are written one by one, then rows, then blocks if there are many.

    >>> picks(tape_of((2, 3), 1, 40, 0, 3, 1))
    [range(0, 1), range(1, 2), range(2, 3), range(3, 6)]
    """
    steps = [step for step in cuts(tape.shape) if step < tape.shown] or [max(1, tape.shown)]
    row, single = steps[0], min(steps[0], 6)
    rows = -(-tape.shown // row)
    block = next((step for step in steps if tape.shown <= step * MOST_PICKS), row * -(-rows // MOST_PICKS))
    ends = [*range(1, single + 1), row, *range(row, min(block, tape.shown), row), *range(block, tape.shown, block)]
    ends = sorted({end for end in (*ends, tape.shown) if end <= tape.shown})
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False) if start < end]


def film_of(answer: Trace | Chain, width: int = WIDTH, height: int = HEIGHT) -> Film:
    """Return an answer as a film. A refused request is shown up to its refusal.

    >>> import shapecalc as sc
    >>> film = film_of(sc.reshape((2, 3), (0, -1)))
    >>> film.frames[-1].sentence, film.notes
    ('The answer is 2,3.', ())
    """
    all_layouts = layouts(answer)
    board = Board(width, max(LEAST_HEIGHT, height), _column(answer, all_layouts, width))
    title = visible(command_line(answer).removeprefix("shapecalc "))
    journey = _journey(board, answer)
    board.put("title", 0, TITLE, title, "bold")
    _put_rail(board, all_layouts, 0)
    if journey is None:
        board.fit(PICTURED, any(layout.stage.kind in COMBINING for layout in all_layouts))
    else:
        lay_memory(board, journey)
    _put_asked(board, answer, journey)
    board.frame(f"The input is {brief(shape_text(answer.input))}. Which shape comes out?", None)
    move_count = 0
    for number, layout in enumerate(all_layouts):
        _put_rail(board, all_layouts, number + 1)
        if layout.stage.kind in COMBINING:
            board.drop("cell", "bar", "head", "dots")
            board.note("elements of several operands, or of windows, are not followed")
            journey = None
        move_count += _play_stage(board, layout, number, journey, move_count, answer)
    _end(board, answer, all_layouts)
    return Film(title, board.width, board.height, tuple(board.frames), tuple(board.notes))


def _column(answer: Trace | Chain, made: tuple[Layout, ...], width: int) -> int:
    """Return the width of a dim's column: that of the longest dim, if it fits."""
    cells = [*input_cells(answer), *(cell for layout in made for cell in (*layout.before, *layout.cells))]
    longest = max((max(len(cell_text(cell)), len(cell.token)) for cell in cells), default=1)
    ranks = max([len(answer.input), *(max(len(layout.before), len(layout.cells)) for layout in made)])
    return max(6, min(longest + 3, (width - LABELS - 1) // max(1, ranks)))


def _journey(board: Board, answer: Trace | Chain) -> Journey | None:
    """Return the journey of the elements as far as it can be followed.

    Returns None if there is none, with a note about the reason.
    """
    try:
        journey = journey_of(answer, whole=False)
    except ShapeError as error:
        board.note(f"no memory is drawn: {error.problem.message}")
        return None
    if not journey.moves and any(layout.stage.kind in COMBINING for layout in layouts(answer)):
        return None
    volumes = [prod(point.shape) for point in journey.points]
    kept = zip(volumes, volumes[1:], journey.moves, strict=False)
    if any(before != after for before, after, move in kept if isinstance(move, Reshape)):
        board.note("no memory is drawn: no small sizes meet the conditions")
        return None
    if max(volumes) > 1 << 63:
        board.note("no memory is drawn: none holds so many elements")
        return None
    if any(trace.request.arguments.get("strides") for trace in answer.traces):
        board.note("memory is drawn in C order, not in the strides that are named")
    if journey.sizes:
        board.note(f"memory with {brief(sizes_text(journey.sizes))}")
    return journey


def _put_rail(board: Board, made: tuple[Layout, ...], here: int) -> None:
    """Place the stages in a row below the title, with the current one highlighted.

    If they do not fit, only the current one is shown.
    """
    names = ["input", *(layout.title for layout in made), "output"]
    if sum(len(name) + 3 for name in names) > board.width:
        names = [f"{at} of {len(made)}: {name}" if 0 < at <= len(made) else name for at, name in enumerate(names)]
        names, here = names[here : here + 1], 0
    board.drop("rail")
    x = 0
    for at, name in enumerate(names):
        board.put(f"rail{at}", x, RAIL, name, "lit" if at == here else "quiet")
        x += len(name)
        if at < len(names) - 1:
            board.put(f"rail{at}>", x + 1, RAIL, UNICODE.arrow, "quiet")
            x += 3


def _play_stage(
    board: Board, layout: Layout, number: int, journey: Journey | None, moved: int, answer: Trace | Chain
) -> int:
    """Add the frames of a stage, and return the number of journey moves it makes."""
    open_stage(board, layout, number, f"{layout.title}: {layout.stage.kind.value}.")
    steps = layout.stage.steps
    shape_steps = [at for at, step in zip(layout.numbers, steps, strict=False) if isinstance(step.value, tuple)]
    settled: dict[int, list[int]] = {}
    for out, cell in enumerate(layout.cells):
        settled.setdefault(cell.step, []).append(out)
    remaining = list[int]()
    for at, step in zip(layout.numbers, steps, strict=False):
        outs = settled.get(at, [])
        has_room = min((*outs, *step.sources), default=0) < board.columns or step.rule in INFERS
        if isinstance(step.value, tuple) or not has_room:  # the frames of a -1 need no column
            remaining += outs
        else:
            _put_picture(board, answer, layout, at)
            settle(board, layout, number, at, step, outs)
    _put_picture(board, answer, layout, layout.numbers[-1] if steps else len(answer.steps))
    board.asks = question_about(layout, remaining)
    last = (shape_steps or [*layout.numbers])[-1:]
    sentence, shown = (steps[last[0] - layout.numbers.start].why, last[0]) if last else (layout.title, None)
    move = layout.stage.move
    if move is not None and journey is not None and not isinstance(move, Dims):
        (_recut if isinstance(move, Reshape) else _gather)(board, journey, moved, sentence, shown)
        return 1
    if shape_steps:
        board.frame(sentence, shown)
    return 0


def _put_picture(board: Board, answer: Trace | Chain, layout: Layout, at: int) -> None:
    """Place the picture of a step instead of memory, for several operands or windows."""
    board.drop("picture")
    if layout.stage.kind in COMBINING:
        top = board.row(SUM)
        height = board.height - top - board.sentence_rows - 2
        _put_text(board, picture(answer, at, width=board.width, height=height), top)


def _put_asked(board: Board, answer: Trace | Chain, journey: Journey | None) -> None:
    """Place the request with its holes above the memory, or instead of it."""
    height = board.row(HEAD) - INDEX - 1 if journey else board.height - INDEX - board.sentence_rows - 2
    _put_text(board, asked_picture(answer, width=board.width, height=height, hole=BLANK), INDEX)


def _put_text(board: Board, drawn: Text, top: int) -> None:
    """Place the lines of a picture, each part with the look of its colour."""
    for row, line in enumerate(drawn.split("\n")):
        edges = sorted({0, *(edge for span in line.spans for edge in (span.start, span.end))})
        for start, part in zip(edges, line.divide(edges[1:]), strict=True):
            styles = [span.style for span in part.spans if isinstance(span.style, Style) and span.style.color]
            hue = styles[0].color.name.upper() if styles and styles[0].color else ""
            board.put(f"picture{row}.{start}", start, top + row, part.plain, look_of(hue if hue in HUES else ""))


def _end(board: Board, answer: Trace | Chain, made: tuple[Layout, ...]) -> None:
    """Add the last frame: the answer with its conditions, or the refusal."""
    problem = answer.problem
    if problem is None:
        _put_rail(board, made, len(made) + 1)
        sentence = f"The answer is {brief(shape_text(answer.output or ()))}{conditions_text(answer, ', when ')}."
        board.frame(sentence, None, hold=LAST)
        return
    _put_fault(board, made[-1] if made else None)
    board.put("refused", 0, board.height - 2 - board.sentence_rows, f"{UNICODE.fail} refused: {problem.rule}", "bad")
    sentence = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    board.frame(sentence, len(answer.steps), hold=2 * LAST)


def _put_fault(board: Board, layout: Layout | None) -> None:
    """Mark the refused dim, and the remainder of element counts that differ."""
    if layout is None:
        return
    if layout.fault is not None:
        token_key, hole_key = f"asked{layout.fault}", f"hole{layout.fault}"
        board.light([token_key, hole_key], "bad")
        if hole_key in board.sprites:
            board.sprites[hole_key] = replace(board.sprites[hole_key], text=UNICODE.fail)
    budget = budget_of(layout) if layout.cuts and layout.cells else None
    have, known = budget.counts if budget else (None, None)
    if budget and isinstance(have, int) and isinstance(known, int) and known > 0:
        board.put("sum", 0, board.row(SUM), f"have    {dim_text(have)}")
        divided = f"{dim_text(have)} / {dim_text(known)} = {dim_text(have // known)}, rest {dim_text(have % known)}"
        text = f"asked   {dim_text(known)}" if budget.hole is None else f"-1      {divided}"
        board.put("part", 0, board.row(PART), text, "bad")
