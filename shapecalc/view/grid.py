"""The grid: the elements at every stage. One of them is followed from the input to the output."""

from __future__ import annotations

from math import prod
from typing import assert_never

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers.element_path import index_after, index_before, index_text, ravel, unravel
from shapecalc.core.answers.example_sizes import example_sizes
from shapecalc.core.answers.moves import Expand, Move, Permute, Pick, Reshape, Roll, Slice
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.sizes.dims import Shape, all_known, substitute
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import visible
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import shape_text
from shapecalc.view.canvas import clip_line, stack
from shapecalc.view.steps import shown_name
from shapecalc.view.strokes import UNICODE, Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shapecalc.core.algebra.difference import Counterexample

    Index = tuple[int, ...]

LONGEST_VALUE = 8
LEAST_BLOCK = 12


class Point(Record):
    """The tensor at one point: the input, or after a stage."""

    name: str
    shape: tuple[int, ...]


class Journey(Record):
    """The tensor at each point in numbers, the moves between the points, and the sizes that stand for names."""

    points: tuple[Point, ...]
    moves: tuple[Move, ...]
    sizes: Mapping[str, int]

    def source(self, point: int, index: Index) -> Index:
        """Return the input index of the element at `index` of a point."""
        for place in range(point, 0, -1):
            index = index_before(index, self.points[place - 1].shape, self.moves[place - 1])
        return index

    def places(self, cursor: Index) -> list[Index | None]:
        """Return the index at each point of the input element at `cursor`; of repeats, the first.

        It is None from the point on at which the element is left out.
        """
        indices: list[Index | None] = [cursor]
        for place, move in enumerate(self.moves):
            index = indices[-1]
            indices.append(None if index is None else index_after(index, self.points[place].shape, move))
        return indices


def journey_of(answer: Trace | Chain, given: Mapping[str, int] | None = None, *, whole: bool = True) -> Journey:
    """Return the journey of an answer's tensor. Names get sizes: those given, or the smallest that meet the conditions.

    Raises `ShapeError` (usage) if no small sizes meet the conditions, and if the request is refused and for op `shape`;
    unless it need not be the `whole` journey: then it ends there.
    """
    if whole and answer.output is None:
        raise misuse("the request is refused, so no element moves")
    named = not all_known((*answer.input, *[dim for stage in answer.stages for dim in stage.after or ()]))
    sizes = given if given is not None else example_sizes(answer) if named else {}
    points, moves = [Point("input", _numbers(answer.input, sizes))], list[Move]()
    for stage in answer.stages:
        if isinstance(stage.move, Slice) and whole:
            raise misuse("shape returns dims, so there is no element to follow")
        if not (stage.move is None or isinstance(stage.move, Slice)):
            points.append(Point(stage.label, _numbers(stage.after or (), sizes)))
            moves.append(_put_sizes_in(stage.move, points[-1].shape, sizes))
    return Journey(tuple(points), tuple(moves), sizes)


def _numbers(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(int(str(substitute(dim, sizes))) for dim in shape)


def _put_sizes_in(move: Move, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Move:
    match move:
        case Expand() | Reshape():
            return type(move)(shape)
        case Pick(starts, steps, kept):
            in_numbers = [None if size is None else substitute(size, sizes) for size in kept]
            return Pick(_numbers(starts, sizes), steps, tuple(in_numbers))
        case Permute() | Roll() | Slice():
            return move
        case _:
            assert_never(move)


def grid(
    answer: Trace | Chain,
    cursor: Index | None = None,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
    value: Callable[[Index], object] | None = None,
) -> Text:
    """Return the elements at each point, with the input's element at `cursor` marked at each of them.

    `value` returns the input's element at an index; without it the elements are 0, 1, 2 ... If a tensor is large,
    the part around the cursor is shown. `width` and `height` are in character cells. Raises `ShapeError` (usage)
    as `journey_of` does, and if there are no elements.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(grid(sc.transpose((2, 3)), (1, 0), strokes=ASCII))
    input 2,3    transpose 3,2
    [1,0]        [0,1]
     0  1  2      0 [3]
    [3] 4  5      1  4
                  2  5
    """
    journey = journey_of(answer)
    if any(0 in point.shape for point in journey.points):
        raise misuse("there are no elements to show")
    cursor = (0,) * len(answer.input) if cursor is None else cursor
    room = max(LEAST_BLOCK, (width - 4 * (len(journey.points) - 1)) // len(journey.points))
    shown = [
        _head(f"{point.name} {shape_text(point.shape)}", index_text(index), room, strokes)
        + _block(journey, place, index, lambda _, source: source == cursor, (room, height - 2), value, strokes)
        for place, (point, index) in enumerate(zip(journey.points, journey.places(cursor), strict=True))
    ]
    lines = _join_blocks(shown, width, strokes)
    if journey.sizes:
        sizes = ", ".join(f"{shown_name(name)}={size}" for name, size in journey.sizes.items())
        lines.append(Text(f"with {sizes}", "dim"))
    return stack([clip_line(line, width, strokes) for line in lines])


def output_grids(
    answers: tuple[Trace | Chain, Trace | Chain],
    found: Counterexample,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
) -> Text:
    """Return the outputs of two answers where they differ, side by side, the first element that does marked in each.

    Raises `ShapeError` (usage) if there are no elements.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> pair = sc.chain("2,3", "transpose 1,0"), sc.chain("2,3", "reshape 3,2")
    >>> print(output_grids(pair, sc.equiv(*pair).counterexample, strokes=ASCII))
    first 3,2    second 3,2
    [0,1]        [0,1]
     0 [3]        0 [1]
     1  4         2  3
     2  5         4  5
    """
    if any(0 in output for output in found.outputs):
        raise misuse("there are no elements to show")
    room = max(LEAST_BLOCK, (width - 4) // 2)
    at = "" if found.index is None else index_text(found.index)
    blocks = []
    for name, answer in zip(("first", "second"), answers, strict=True):
        journey = journey_of(answer, found.sizes)
        last = len(journey.points) - 1
        blocks.append(
            _head(f"{name} {shape_text(journey.points[last].shape)}", at, room, strokes)
            + _block(
                journey, last, found.index, lambda index, _: index == found.index, (room, height - 2), None, strokes
            )
        )
    return stack([clip_line(line, width, strokes) for line in _join_blocks(blocks, width, strokes)])


def _head(title: str, at: str, room: int, strokes: Strokes) -> list[Text]:
    """Return the lines over the elements: what they are, and the index of the one that is marked, if one is."""
    return [Text(clip(title, room, strokes), "bold"), *([Text(clip(at, room, strokes))] if at else [])]


def _block(
    journey: Journey,
    point: int,
    index: Index | None,
    is_lit: Callable[[Index, Index], bool],
    room: tuple[int, int],
    value: Callable[[Index], object] | None,
    strokes: Strokes,
) -> list[Text]:
    """Return the elements of one point around an index, around the first if it is None.

    `is_lit` says of an index and of that element's index in the input whether the element is marked.
    """
    shape = journey.points[point].shape
    flat, columns = 0 if index is None else ravel(index, shape), shape[-1] if shape else 1
    count = prod(shape) // columns
    marked = "" if index is None else _text(journey, journey.source(point, index), value, strokes)
    wide = min(LONGEST_VALUE, max(len(marked), len(str(prod(journey.points[0].shape) - 1))))
    across = _positions_around(flat % columns, columns, max(1, room[0] // (wide + 2)))
    down = _positions_around(flat // columns, count, room[1] - (count > room[1]))
    lines = list[Text]()
    for row in down:
        if len(shape) > 2 and row % shape[-2] == 0 and row != down[0] and count + count // shape[-2] <= room[1]:
            lines.append(Text(""))
        lines.append(_row(journey, point, row * columns, across, is_lit, wide, value, strokes))
    if len(down) < count:
        lines.append(Text(f"{strokes.dots} rows {down[0]} to {down[-1]} of {count}"[: room[0]], "dim"))
    return lines


def _positions_around(here: int, count: int, room: int) -> range:
    """Return which of `count` positions are shown: as many as there is room for, around the position `here`."""
    room = max(1, room)
    first = max(0, min(here - room // 2, count - room))
    return range(first, min(count, first + room))


def _row(
    journey: Journey,
    point: int,
    start: int,
    across: range,
    is_lit: Callable[[Index, Index], bool],
    wide: int,
    value: Callable[[Index], object] | None,
    strokes: Strokes,
) -> Text:
    """Return one row of elements. The element that is marked stands in brackets."""
    line = Text()
    for column in across:
        index = unravel(start + column, journey.points[point].shape)
        source = journey.source(point, index)
        text = _text(journey, source, value, strokes).rjust(wide)
        if is_lit(index, source):
            line.append(f"[{text}]", Style(bold=True, reverse=True))
        else:
            line.append(f" {text} ")
    return line


def _text(journey: Journey, source: Index, value: Callable[[Index], object] | None, strokes: Strokes) -> str:
    shown = ravel(source, journey.points[0].shape) if value is None else value(source)
    return clip(visible(str(shown)), LONGEST_VALUE, strokes)


def _join_blocks(blocks: list[list[Text]], width: int, strokes: Strokes) -> list[Text]:
    """Return blocks side by side, as many as fit, and a line that counts the others."""
    widths = [max(len(line) for line in block) for block in blocks]
    fits = 1
    while fits < len(blocks) and sum(widths[: fits + 1]) + 4 * fits <= width:
        fits += 1
    lines = []
    for row in range(max(map(len, blocks[:fits]))):
        line = Text()
        for block, wide in zip(blocks[:fits], widths, strict=False):
            part = block[row].copy() if row < len(block) else Text()
            part.pad_right(wide + 4 - len(part))
            line.append_text(part)
        lines.append(line)
    if fits < len(blocks):
        lines.append(Text(f"{strokes.dots} {len(blocks) - fits} more after these", "dim"))
    return lines
