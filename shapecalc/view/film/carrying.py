"""The frames that carry elements: a reshape moves only bars, anything else picks elements up and writes them anew."""

from __future__ import annotations

from math import prod

from shapecalc.core.moves import Permute, Reshape, index_before, ravel, unravel
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text
from shapecalc.view.film.board import HEAD, PART
from shapecalc.view.film.tape import DOTS, cuts, partners, positions, strides, tape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.view.film.board import Board
    from shapecalc.view.film.tape import Tape
    from shapecalc.view.grid import Journey

    Index = tuple[int, ...]

MOST_SINGLE = 6
"""The most elements that are picked up one by one; those after them a row at a time."""
MOST_PICKS = 12
"""The most rows that are picked up one by one; of more, blocks of rows are."""
MOST_LISTED = 8
"""The most cells that a sentence lists."""
PICKING, RESTING = 0.55, 0.35
"""Seconds in which an element is carried, and for which it then stays lit."""


def lay_memory(board: Board, journey: Journey) -> None:
    """Put the input's elements on the tape, in no more rows than the tapes of the whole journey need."""
    tapes = [_tape(board, journey, place, 0) for place in range(len(journey.points))]
    gathers = any(not isinstance(move, Reshape) for move in journey.moves)
    board.fit(max(tape.bottom for tape in tapes), 2 if gathers else 1)
    board.tape = _tape(board, journey, 0, board.row(HEAD) + 1)
    _put_head(board, board.tape, "memory")
    _put_cells(board, board.tape, [*range(board.tape.shown)])
    _put_bars(board, board.tape)


def _tape(board: Board, journey: Journey, place: int, top: int) -> Tape:
    """Return the tape of a point of a journey, as tall as all bars need that it will have."""
    longest = len(str(max(0, prod(journey.points[0].shape) - 1)))
    moves = journey.moves[place:]
    kept = next((at for at, move in enumerate(moves) if not isinstance(move, Reshape)), len(moves))
    layers = max(len(cuts(point.shape)) for point in journey.points[place : place + kept + 1])
    return tape_of(journey.points[place].shape, longest, board.width, top, board.tape_rows, layers)


def _put_head(board: Board, tape: Tape, name: str, more: str = "") -> None:
    """Write over a tape what it is: its shape, its strides, and which of its cells are left out."""
    name = f"{name} {shape_text(tape.shape)}"
    if tape.shown < tape.count:
        name += f", first {tape.shown} of {tape.count} cells"
        board.note("of large memories the first cells are shown")
    text = f"{name}, strides {shape_text(strides(tape.shape))}{more}" if tape.count else f"{name}: no elements"
    board.put(f"head{board.memory}", 0, tape.top - 1, text, "quiet")


def _put_cells(board: Board, tape: Tape, values: Sequence[int]) -> None:
    """Put numbers into the cells of a tape, and dots after them if cells are left out."""
    for cell, value in enumerate(values):
        board.put(_cell_key(board, cell), *tape.place(cell), _cell_text(tape, value))
    _put_dots(board, tape)


def _put_dots(board: Board, tape: Tape) -> None:
    if 0 < tape.shown < tape.count:
        board.put(f"dots{board.memory}", *tape.place(tape.count), DOTS, "quiet")


def _cell_key(board: Board, cell: int) -> str:
    return f"cell{board.memory}.{cell}"


def _cell_text(tape: Tape, value: int) -> str:
    return str(value).rjust(tape.pitch - 1)


def _put_bars(board: Board, tape: Tape) -> None:
    """Put the bars of a tensor between the cells of its tape."""
    for layer in range(max(tape.tall, len(cuts(tape.shape)))):
        for place in positions(tape.shape, layer, tape.shown):
            bar = tape.bar(place, layer)
            board.put(f"bar{board.memory}.{layer}.{place}", bar.x, bar.y, bar.text, bar.look)


def carry(board: Board, journey: Journey, place: int, sentence: str, step: int | None) -> None:
    """Make the frames of a move, from point `place` of a journey to the next."""
    move, shape = journey.moves[place], journey.points[place + 1].shape
    if isinstance(move, Reshape):
        _recut(board, shape, sentence, step)
    else:
        _gather(board, journey, place, sentence, step)


def _recut(board: Board, shape: Index, sentence: str, step: int | None) -> None:
    """Make the frames in which bars move between cells that stay where they are."""
    old = board.tape
    if old is None:
        return
    new = replace(old, shape=shape)
    layers = max(1, len(cuts(old.shape)), len(cuts(shape)))
    board.drop("bar")
    for layer in range(layers):
        had, get = (positions(each, layer, old.shown) for each in (old.shape, shape))
        for number, (start, end) in enumerate(partners(had, get)):
            key, bar, came = f"bar{board.memory}.{layer}.{start}~{number}", new.bar(end, layer), old.bar(start, layer)
            board.put(key, bar.x, bar.y, bar.text, bar.look)
            board.glide(key, (came.x, came.y))
    _put_head(board, new, "memory", ": no element moves")
    board.light([key for key in board.sprites if key.startswith("bar")], "bold")
    board.frame(sentence, step, arrive=1.5)
    board.drop("bar")
    board.tape = new
    _put_head(board, new, "memory")
    _put_bars(board, new)


class Gathering(Record):
    """A move that writes elements to another memory."""

    journey: Journey
    place: int
    """The point of the journey that it leads from."""
    source: Tape
    target: Tape
    read: int
    """The number of the memory that is read."""

    def origin(self, index: Index) -> Index:
        """Return where the element at an index of the target is read."""
        found: Index = index_before(index, self.before, self.journey.moves[self.place])
        return found

    @property
    def before(self) -> Index:
        """The shape that is read."""
        return self.journey.points[self.place].shape

    @property
    def after(self) -> Index:
        """The shape that is written."""
        return self.journey.points[self.place + 1].shape


def _gather(board: Board, journey: Journey, place: int, sentence: str, step: int | None) -> None:
    """Make the frames in which elements are picked up and written to another memory, in its order."""
    source = board.tape
    if source is None:
        return
    target = _tape(board, journey, place + 1, source.top + board.tape_rows + board.between + 1)
    gathering = Gathering(journey, place, source, target, board.memory)
    board.memory += 1
    _put_head(board, target, "written", _read_strides(gathering))
    _put_bars(board, target)
    _put_dots(board, target)
    board.frame(sentence, step)
    for cells in picks(target):
        _pick(board, gathering, cells, step)
    _lift(board, gathering, sentence, step)


def _pick(board: Board, gathering: Gathering, cells: range, step: int | None) -> None:
    """Make the frame in which some elements are carried to their cells."""
    source, target, journey = gathering.source, gathering.target, gathering.journey
    written = [unravel(cell, gathering.after) for cell in cells]
    read = [gathering.origin(index) for index in written]
    froms = [ravel(index, gathering.before) for index in read]
    lit = [f"cell{gathering.read}.{cell}" for cell in froms]
    board.light(lit)
    for cell, index, came in zip(cells, written, froms, strict=True):
        value = ravel(journey.source(gathering.place + 1, index), journey.points[0].shape)
        board.put(_cell_key(board, cell), *target.place(cell), _cell_text(target, value), "lit")
        board.glide(_cell_key(board, cell), source.place(came))
    said = f"out{span_text(written, gathering.after)} = in{span_text(read, gathering.before)}"
    board.put("part", 0, board.row(PART), said, "bold")
    taken = f"{_cells_text(cells)} {'takes' if len(cells) == 1 else 'take'} what is in {_cells_text(froms)}."
    board.frame(taken.capitalize(), step, arrive=PICKING, hold=RESTING)
    board.light([*lit, *(_cell_key(board, cell) for cell in cells)], "ink")


def span_text(indices: Sequence[Index], shape: Index) -> str:
    """Return the indices of some elements in one: a colon where an axis is passed through whole.

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
    """Return cells in words: one, a run of them, or the first few."""
    if len(cells) == 1:
        return f"cell {cells[0]}"
    if [*cells] == [*range(cells[0], cells[-1] + 1)]:
        return f"cells {cells[0]} to {cells[-1]}"
    listed = ", ".join(map(str, cells[:MOST_LISTED]))
    return f"cells {listed}" + (f" {DOTS}" if len(cells) > MOST_LISTED else "")


def _lift(board: Board, gathering: Gathering, sentence: str, step: int | None) -> None:
    """Make the frame in which the memory that was written takes the place of the one that was read."""
    board.drop("bar", "part", f"cell{gathering.read}.", f"head{gathering.read}", f"dots{gathering.read}")
    board.tape = tape = replace(gathering.target, top=gathering.source.top)
    for cell in range(tape.shown):
        key = _cell_key(board, cell)
        board.put(key, *tape.place(cell), board.sprites[key].text)
    _put_dots(board, tape)
    _put_head(board, tape, "memory")
    _put_bars(board, tape)
    board.frame(sentence, step)


def _read_strides(gathering: Gathering) -> str:
    """Return in what strides the memory is read, for a move that says so."""
    own, move = strides(gathering.before), gathering.journey.moves[gathering.place]
    return f"; read in strides {shape_text(own[axis] for axis in move.axes)}" if isinstance(move, Permute) else ""


def picks(tape: Tape) -> list[range]:
    """Return the cells that are written together: the first ones one by one, then rows, then blocks if there are many.

    >>> picks(tape_of((2, 3), 1, 40, 0, 3, 1))
    [range(0, 1), range(1, 2), range(2, 3), range(3, 6)]
    """
    steps = [step for step in cuts(tape.shape) if step < tape.shown] or [max(1, tape.shown)]
    row, single = steps[0], min(steps[0], MOST_SINGLE)
    rows = -(-tape.shown // row)
    block = next((step for step in steps if tape.shown <= step * MOST_PICKS), row * -(-rows // MOST_PICKS))
    ends = [*range(1, single + 1), row, *range(row, min(block, tape.shown), row), *range(block, tape.shown, block)]
    ends = sorted({end for end in (*ends, tape.shown) if end <= tape.shown})
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False) if start < end]
