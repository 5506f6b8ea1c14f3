"""Where two courses of numbers differ: the first output index at which they read other elements of the input."""

from __future__ import annotations

from array import array

from shapecalc.core.algebra.course import position, positions
from shapecalc.core.answers.element_path import unravel
from shapecalc.core.sizes.dims import Shape, product
from shapecalc.core.sizes.known import Known
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shapecalc.core.algebra.course import Course
    from shapecalc.core.answers.atoms import Atoms
    from shapecalc.core.answers.views import View

    Index = tuple[int, ...]

BLOCK = 4096
"""How many elements are compared at once. One in as many is looked at alone before all are computed."""


class Counterexample(Record):
    """Sizes at which two chains differ, and the first element of their outputs that does."""

    sizes: Mapping[str, int]
    outputs: tuple[Shape, Shape]
    """The output shape of each."""
    index: Index | None = None
    """The index in both outputs; None if their shapes differ."""
    elements: tuple[int, int] | None = None
    """Where in the input the element of each stands, counted in C order; None if the shapes differ."""

    def __str__(self) -> str:
        sizes = ",".join(f"{name.replace('?', 'unknown ')}={size}" for name, size in self.sizes.items())
        at = f"with {sizes}, " if sizes else ""
        if self.index is None or self.elements is None:
            return f"{at}the outputs are {' and '.join(map(shape_text, self.outputs))}"
        one, other = self.elements
        return (
            f"{at}element [{shape_text(self.index)}] is element {one} of the input in the first, {other} in the second"
        )


def volume(course: Course) -> int:
    """Return the most elements that a course of numbers has on its way."""
    return max(int(str(product(shape))) for shape in course.shapes)


def lines_up(course: Course) -> bool:
    """Say whether no move of numbers mixes or rolls axes, so that the view of the output alone tells all."""
    return course.view(Known()).is_plain


def difference(first: Course, second: Course, sizes: Mapping[str, int], *, lined_up: bool) -> Counterexample | None:
    """Return where two courses of numbers differ; None if they do not. `lined_up` says that both line up.

    >>> import shapecalc as sc
    >>> from shapecalc.core.algebra.course import course_of
    >>> first, second = course_of(sc.transpose((2, 2))), course_of(sc.flip((2, 2), 0))
    >>> print(difference(first, second, {}, lined_up=True))
    element [0,0] is element 0 of the input in the first, 2 in the second
    """
    outputs = first.output, second.output
    if outputs[0] != outputs[1]:
        return Counterexample(sizes, outputs)
    known = Known()
    ours, theirs = first.view(known), second.view(known)
    if ours == theirs:
        return None
    if lined_up:
        index = _first_index(ours, theirs)
        return Counterexample(sizes, outputs, index, (_element(ours, index), _element(theirs, index)))
    for place, elements in _compared(first, second):
        if elements[0] != elements[1]:
            return Counterexample(sizes, outputs, unravel(place, outputs[0]), elements)
    return None


def _compared(first: Course, second: Course) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield places with the elements that both courses read there: the first places, then blocks that are not alike."""
    volumes = [int(str(product(shape))) for shape in (first.input, first.output)]
    for place in range(volumes[1] // BLOCK):
        yield place, (position(first, place), position(second, place))
    elements = array("q", range(volumes[0]))
    one, other = positions(first, elements), positions(second, elements)
    for start in range(0, volumes[1], BLOCK):
        ours, theirs = one[start : start + BLOCK], other[start : start + BLOCK]
        if ours != theirs:
            yield from enumerate(zip(ours, theirs, strict=True), start)


def _first_index(ours: View, theirs: View) -> Index:
    """Return the first index, in C order, at which plain views that differ read different elements."""
    index = [0] * len(ours.axes)
    if ours.first != theirs.first:
        return tuple(index)
    for axis in reversed(range(len(index))):
        mine, other = ours.axes[axis], theirs.axes[axis]
        for place in sorted({*_inner_counts(mine), *_inner_counts(other)}):
            if _along(mine, place) != _along(other, place):
                index[axis] = place
                return tuple(index)
    raise ValueError("the views do not differ")


def _inner_counts(atoms: Atoms) -> list[int]:
    """Return the places on an axis at which a step of one of its atoms begins."""
    counts = [1]
    for atom in reversed(atoms[1:]):
        counts.append(counts[-1] * int(str(atom.size)))
    return counts if atoms else []


def _along(atoms: Atoms, place: int) -> int:
    """Return how far the element at a place on an axis of numbers is from its first one."""
    element = 0
    for atom in reversed(atoms):
        size, stride = int(str(atom.size)), int(str(atom.stride))
        element += place % size * stride
        place //= size
    return element


def _element(view: View, index: Index) -> int:
    return view.first + sum(_along(axis, place) for axis, place in zip(view.axes, index, strict=True))
