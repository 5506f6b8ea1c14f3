"""A mistaken answer beside the asked one: both outputs, with the first element that differs lit in each."""

from __future__ import annotations

from itertools import islice, product

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.equiv import Counterexample, equivalence
from shapecalc.view.grid import Journey, journey_of, output_grids
from shapecalc.view.strokes import UNICODE, Strokes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Index = tuple[int, ...]

NAMES = ("asked", "mistaken")
MOST_COMPARED = 4096
"""The most elements that are compared in their order; past them, those one step along each axis are."""


def beside(
    asked: Trace | Chain, mistaken: Trace | Chain, *, width: int = 78, height: int = 12, strokes: Strokes = UNICODE
) -> Text:
    """Return the outputs of two answers side by side, the first element that differs lit in each.

    Raises `ShapeError` (usage) if one is refused, if there are no elements, and if no small sizes show both.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(beside(sc.transpose((2, 3), (1, 0)), sc.reshape((2, 3), (3, 2)), strokes=ASCII))
    asked 3,2        mistaken 3,2
    3 is at [0,1]    1 is at [0,1]
    b | a 0  1       ~x | ~y 0  1
    --+--------      ---+---------
    0 |   0 [3]       0 |    0 [1]
    1 |   1  4        1 |    2  3
    2 |   2  5        2 |    4  5
    """
    sizes = _common_sizes(asked, mistaken)
    ours, theirs = journey_of(asked, sizes), journey_of(mistaken, sizes)
    outputs = ours.points[-1].shape, theirs.points[-1].shape
    found = Counterexample(sizes, outputs, _first_difference(ours, theirs))
    return output_grids((asked, mistaken), found, width=width, height=height, strokes=strokes, names=NAMES)


def _common_sizes(asked: Trace | Chain, mistaken: Trace | Chain) -> Mapping[str, int]:
    """Return sizes for which both answers hold; none if no dim is named."""
    found = None if asked.concrete and mistaken.concrete else equivalence(asked, mistaken).counterexample
    return {} if found is None else found.sizes


def _first_difference(ours: Journey, theirs: Journey) -> Index | None:
    """Return the first index at which two outputs hold other elements of the input; None if none is found."""
    places = len(ours.points) - 1, len(theirs.points) - 1
    common = [*map(min, ours.points[-1].shape, theirs.points[-1].shape)]
    if len(ours.points[-1].shape) != len(theirs.points[-1].shape):
        return None
    for index in _indices(common):
        if ours.source(places[0], index) != theirs.source(places[1], index):
            return index
    return None


def _indices(shape: list[int]) -> Iterator[Index]:
    """Yield the first indices of a shape in their order, then those that are one step along an axis, the last first."""
    yield from islice(product(*map(range, shape)), MOST_COMPARED)
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            yield tuple(int(each == axis) for each in range(len(shape)))
