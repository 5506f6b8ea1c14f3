"""The grid: the elements at every stage. One of them is followed from the input to the output."""

from __future__ import annotations

from math import prod
from typing import assert_never

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Shape, all_known, substitute
from shapecalc.core.examples import example_sizes
from shapecalc.core.follow import index_text
from shapecalc.core.moves import Dims, Expand, Move, Permute, Pick, Reshape, Roll, index_after, index_before, ravel
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text, visible
from shapecalc.view.blocks import Element, Table, side_by_side
from shapecalc.view.canvas import packed, stack
from shapecalc.view.layout import layouts
from shapecalc.view.marks import Mark, input_marks, mark_text
from shapecalc.view.steps import shown_name
from shapecalc.view.strokes import UNICODE, Strokes, clip
from shapecalc.view.sums import sums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shapecalc.core.equiv import Counterexample

    Index = tuple[int, ...]

LONGEST_VALUE = 8


class Point(Record):
    """The tensor at one point: the input, or after a stage."""

    name: str
    title: str
    """The stage with its arguments; empty for the input."""
    shape: tuple[int, ...]
    marks: tuple[Mark, ...]


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
    points, moves = [Point("input", "", _numbers(answer.input, sizes), input_marks(answer.input))], list[Move]()
    for layout in layouts(answer):
        stage = layout.stage
        if isinstance(stage.move, Dims) and whole:
            raise misuse("shape returns dims, so there is no element to follow")
        if not (stage.move is None or isinstance(stage.move, Dims)):
            marks = tuple(cell.mark for cell in layout.cells)
            points.append(Point(layout.name, layout.title, _numbers(stage.after or (), sizes), marks))
            moves.append(_put_sizes_in(stage.move, points[-1].shape, sizes))
    return Journey(tuple(points), tuple(moves), sizes)


def _numbers(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else int(str(substitute(dim, sizes))) for dim in shape)


def _put_sizes_in(move: Move, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Move:
    match move:
        case Expand() | Reshape():
            return type(move)(shape)
        case Pick(starts, steps, kept):
            in_numbers = [None if size is None else substitute(size, sizes) for size in kept]
            return Pick(_numbers(starts, sizes), steps, tuple(in_numbers))
        case Permute() | Roll() | Dims():
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
    input 2,3         transpose -> 3,2
    3 is at [1,0]     3 is at [0,1]
    a | b 0  1  2     b | a 0  1
    --+-----------    --+--------
    0 |   0  1  2     0 |   0 [3]
    1 |  [3] 4  5     1 |   1  4
                      2 |   2  5
    """
    journey = journey_of(answer)
    if any(0 in point.shape for point in journey.points):
        raise misuse("there are no elements to show")
    cursor = (0,) * len(answer.input) if cursor is None else cursor
    tables = [
        _table(journey, place, index, lambda _, source: source == cursor, value, strokes)
        for place, index in enumerate(journey.places(cursor))
    ]
    lines = side_by_side(tables, width, height - bool(journey.sizes), strokes)
    told = packed([Text(note, "dim") for note in _notes(answer, journey)], width, strokes)
    return stack([*lines, *told[: max(bool(journey.sizes), height - len(lines))]])


def _notes(answer: Trace | Chain, journey: Journey) -> list[str]:
    """Return the sizes that stand for names, and the division of every -1."""
    sizes = ", ".join(f"{shown_name(name)}={size}" for name, size in journey.sizes.items())
    return [*([f"with {sizes}"] if sizes else []), *sums(layouts(answer))]


def output_grids(
    answers: tuple[Trace | Chain, Trace | Chain],
    found: Counterexample,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
    names: tuple[str, str] = ("first", "second"),
) -> Text:
    """Return the outputs of two answers where they differ, side by side, the first element that does marked in each.

    Raises `ShapeError` (usage) if there are no elements.

    >>> import shapecalc as sc
    >>> pair = sc.chain("2,3", "transpose 1,0"), sc.chain("2,3", "reshape 3,2")
    >>> output_grids(pair, sc.equiv(*pair).counterexample).plain.splitlines()[:2]
    ['first 3,2        second 3,2', '3 is at [0,1]    1 is at [0,1]']
    """
    if any(0 in output for output in found.outputs):
        raise misuse("there are no elements to show")
    tables = []
    for name, answer in zip(names, answers, strict=True):
        journey = journey_of(answer, found.sizes)
        last = len(journey.points) - 1
        table = _table(journey, last, found.index, lambda index, _: index == found.index, None, strokes)
        at = "" if found.index is None else table.at
        tables.append(replace(table, title=f"{name} {shape_text(table.shape)}", whole_title="", at=at))
    return stack(side_by_side(tables, width, height, strokes))


def _table(
    journey: Journey,
    place: int,
    index: Index | None,
    is_lit: Callable[[Index, Index], bool],
    value: Callable[[Index], object] | None,
    strokes: Strokes,
) -> Table:
    """Return the elements of one point with the one at `index` in view, the first if it is None.

    `is_lit` says of an index and of that element's index in the input whether the element is marked.
    """
    point = journey.points[place]
    focus = (0,) * len(point.shape) if index is None else index

    def element(at: Index) -> Element:
        source = journey.source(place, at)
        return Element(_text(journey, source, value, strokes), source, is_lit(at, source))

    after = f" {strokes.to} " if place else " "
    return Table(
        f"{point.name}{after}{shape_text(point.shape)}",
        f"{point.title}{after}{shape_text(point.shape)}" if place else "",
        f"{element(focus).text} is at {index_text(index)}" if index is not None else index_text(index),
        point.shape,
        tuple(mark_text(mark, strokes) for mark in point.marks),
        focus,
        min(LONGEST_VALUE, max(len(element(focus).text), len(str(prod(journey.points[0].shape) - 1)))),
        element,
    )


def _text(journey: Journey, source: Index, value: Callable[[Index], object] | None, strokes: Strokes) -> str:
    shown = ravel(source, journey.points[0].shape) if value is None else value(source)
    return clip(visible(str(shown)), LONGEST_VALUE, strokes)
