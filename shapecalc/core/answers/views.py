"""Views: what a tensor reads of the input of a chain, whatever the moves of the chain, by atoms.

Atoms tell how an axis steps on, and a view also where the first element of the tensor lies. A slice steps on through
parts of atoms and begins elsewhere. A roll begins a new view of its axis, which is read from `start` and round its
end; a second roll of the axis moves that start.

What is added up begins at a sum. Sums are compared and never shown: all sizes and strides stay monomials.
"""

from __future__ import annotations

from math import gcd

from shapecalc.core.answers.atoms import Atom, axes_after, axes_of, is_backwards, merge, normal, turned
from shapecalc.core.answers.moves import Pick, Roll
from shapecalc.core.sizes.dims import Dim, Shape, all_known, lowest_terms, monomial, product, quotient
from shapecalc.core.sizes.known import Known
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.sums import Sum, total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from shapecalc.core.answers.atoms import Atoms, Axes, Level
    from shapecalc.core.answers.moves import Move

    Positions = tuple[Dim, Dim, Dim]
    """Positions of an axis: the first, how far apart they are, and how many."""


class View(Record):
    """A tensor under a chain: its axes, and where in the input it begins."""

    axes: Axes
    offset: Sum = ()
    """The terms of the flat index at which the input is read when every index of the tensor is 0.

    Axes that are read backwards count from their last position, which is not part of it.
    """
    fixed: frozenset[Level] = frozenset()
    """What atoms stepped through of which one position was taken."""

    @property
    def is_plain(self) -> bool:
        """Whether all atoms step through the input itself: nothing is mixed or rolled."""
        return not self.fixed and not any(atom.base for axis in self.axes for atom in axis)

    @property
    def first(self) -> int:
        """The flat index of the first element that a plain view of numbers reads."""
        numbers: list[Any] = [(atom.size, atom.stride) for axis in self.axes for atom in axis if is_backwards(atom)]
        return sum([stride * (1 - size) for size, stride in numbers], sum(self.offset))  # type: ignore[arg-type]

    def after(self, move: Move, before: Shape, known: Known) -> View:
        """Return the view after a move; `before` is the tensor's shape, of which no dim may be 0.

        Raises `ShapeError` (usage) for op `shape`, which moves no elements.
        """
        if isinstance(move, Pick):
            picking = _Picking(known)
            axes = [
                picking.of_axis(atoms, dim, *picked)
                for atoms, dim, picked in zip(self.axes, before, move.axes, strict=True)
            ]
            return picking.view([axis for axis, size in zip(axes, move.sizes, strict=True) if size is not None], self)
        if isinstance(move, Roll):
            return _rolled(self, move.axis, move.shift, known)
        return View(axes_after(self.axes, move, before, known), self.offset, self.fixed)

    def normal(self, known: Known) -> View:
        """Return the view in the fewest atoms. Views that mix and roll nothing read the same if they are equal."""
        view = View(normal(self.axes, known), self.offset, self.fixed)
        while not view.is_plain and (straight := _straight(view, known)) != view:
            view = straight
        return view


def view_of(shape: Shape) -> View:
    """Return the view of a tensor as it lies in memory."""
    return View(axes_of(shape))


def view_through(shape: Shape, moves: Iterable[Move], known: Known) -> View:
    """Return the view of a tensor of `shape` after all of the moves, in the fewest atoms; no dim of it may be 0.

    Raises `ShapeError` (usage) for op `shape`.

    >>> view_through((4, 3), [Pick((3, 0), (-1, 1), (4, None))], Known())
    View(axes=((Atom(size=4, stride=-3, base=(), start=()),),), offset=(), fixed=frozenset())
    """
    view = view_of(shape)
    for move in moves:
        view, shape = view.after(move, shape, known), move.after(shape)
    return view.normal(known)


class _Picking:
    """Positions that are picked of axes, and what they add to where a view begins."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.offset: list[Dim] = []
        self.fixed: set[Level] = set()

    def of_axis(self, atoms: Atoms, dim: Dim, start: Dim, step: int, size: Dim | None) -> Atoms:
        """Return what is left of an axis. A start below 0, or a step, counts from its end."""
        count = 1 if size is None else size
        if isinstance(dim, int) and isinstance(start, int):
            start %= dim
        elif start == -1:
            atoms, start, step = turned(atoms), 0, -step
        if step < 0 and count != 1:
            atoms, start, step = turned(atoms), dim - 1 - start, -step  # type: ignore[operator]  # both are numbers
        return self.part(merge(atoms), start, step, count)

    def part(self, atoms: Atoms, start: Dim, step: Dim, count: Dim) -> Atoms:
        """Return the atoms of `count` positions of an axis, each `step` after the one before."""
        if count == 1:
            step = 1
        if not atoms or (start == 0 and step == 1 and count == _volume(atoms)):
            return atoms
        if len(atoms) == 1:
            return self._part_of_one(atoms[0], start, step, count)
        cut = self._cut(start, step, count, _volume(atoms[1:]))
        if cut:
            return self._part_of_one(atoms[0], *cut[0]) + self.part(atoms[1:], *cut[1])
        return self._left(Atom(count, step, self.known.same(atoms), total((start,))))

    def _part_of_one(self, atom: Atom, start: Dim, step: Dim, count: Dim) -> Atoms:
        """Return what is left of an atom; one that is read backwards still counts from its last position."""
        along = -1 if is_backwards(atom) else 1
        begin = total((start,))
        if along == -1:
            begin = total((atom.size, -1, *[product((-1, each)) for each in (start, product((step, count)))], step))
        if not atom.base:
            self.offset += [product((along, atom.stride, term)) for term in begin]
        elif atom.size == _volume(atom.base):
            begun = _round(total((*atom.start, *begin)), atom.size, self.known)
            return self._left(Atom(count, product((along, step)), atom.base, begun))
        elif begin or not self.known.divides(product((step, count)), atom.size):
            forward = (atom,) if along == 1 else turned((atom,))
            return self._left(Atom(count, product((along, step)), self.known.same(forward), begin))
        return self._left(Atom(count, product((atom.stride, step)), *atom.level))

    def _left(self, atom: Atom) -> Atoms:
        """Return an atom that is left, if more than one position of it is."""
        if atom.size != 1:
            return (atom,)
        if atom.base:
            self.fixed.add(atom.level)
        return ()

    def _cut(self, start: Dim, step: Dim, count: Dim, within: Dim) -> tuple[Positions, Positions] | None:
        """Return the positions of the outer atom, and those of the `within` that each step of it holds."""
        divided = self._divided(start, within)
        if divided is None:
            return None
        (outer, inner), divides = divided, self.known.divides
        if divides(within, step):
            return (outer, quotient(step, within), count), (inner, 1, 1)
        if self._end_within(inner, step, count, within):
            return (outer, 1, 1), (inner, step, count)
        each = quotient(within, step)
        if divides(step, within) and divides(each, count) and _is_below(inner, step):
            return (outer, 1, quotient(count, each)), (inner, step, each)
        return None

    def _divided(self, number: Dim, by: Dim) -> tuple[Dim, Dim] | None:
        """Return the quotient as a whole number and what is left over; None if they depend on sizes."""
        ratio = quotient(number, by)
        if self.known.is_whole(ratio):
            return ratio, 0
        if monomial(ratio).powers:
            return None
        whole = monomial(ratio).numerator // monomial(ratio).denominator
        return whole, _left_over(ratio, by)

    def _end_within(self, start: Dim, step: Dim, count: Dim, size: Dim) -> bool:
        if count == 1:
            return True
        if all_known((start, step, count, size)):
            return start + step * (count - 1) < size  # type: ignore[operator]  # all are numbers
        return step == 1 and self.known.divides(count, size) and self.known.divides(count, start)

    def through(self, atom: Atom) -> Atoms:
        """Return what an atom reads of its base, if that ends before the base does."""
        if is_backwards(atom):
            return turned(self.through(turned((atom,))[0]))
        if not atom.start:
            return self.part(atom.base, 0, atom.stride, atom.size)
        first, *others = atom.start
        size = _volume(atom.base)
        if others or not self._end_within(first, atom.stride, atom.size, size) or not _is_below(first, size):
            return self._left(atom)
        return self.part(atom.base, first, atom.stride, atom.size)

    def view(self, axes: Iterable[Atoms], view: View) -> View:
        """Return the view with these axes that is left of another one."""
        return View(tuple(axes), total((*view.offset, *self.offset)), view.fixed | self.fixed)


def _straight(view: View, known: Known) -> View:
    """Return a view in which a base that one atom steps through is left out, if the atom ends before the base does."""
    steps = _steps(view)
    picking = _Picking(known)

    def seen_through(atom: Atom) -> Atoms:
        alone = bool(atom.base) and steps[atom.level] == 1
        return picking.through(atom) if alone else (atom,)

    axes = tuple([tuple([part for atom in axis for part in seen_through(atom)]) for axis in view.axes])
    for level in view.fixed:
        if level not in steps:
            picking.through(Atom(1, 1, *level))
    return picking.view(normal(axes, known), View((), view.offset))


def _steps(view: View) -> dict[Level, int]:
    """Return how many atoms step through each level."""
    found: dict[Level, int] = {}
    waiting = [atom for axis in view.axes for atom in axis]
    waiting += [atom for base, _ in view.fixed for atom in base]
    while waiting:
        level = waiting.pop().level
        waiting += () if level in found else level[0]
        found[level] = found.get(level, 0) + 1
    return found


def _rolled(view: View, axis: int, shift: int, known: Known) -> View:
    """Return a view with the positions of one axis moved on, and those at its end at its start."""
    (atoms,) = normal(view.axes[axis : axis + 1], known)
    if all(atom.stride == 0 for atom in atoms):
        return view
    if len(atoms) == 1 and atoms[0].stride in (1, -1) and atoms[0].size == _volume(atoms[0].base):
        (atom,) = atoms
    else:
        backwards = is_backwards(next(atom for atom in atoms if atom.stride != 0))
        base = known.same(turned(atoms) if backwards else atoms)
        atom = Atom(_volume(atoms), -1 if backwards else 1, base)
    start = total((*atom.start, -shift * atom.stride))  # type: ignore[operator]  # the stride is 1 or -1
    atom = Atom(atom.size, atom.stride, atom.base, _round(start, atom.size, known))
    return View((*view.axes[:axis], (atom,), *view.axes[axis + 1 :]), view.offset, view.fixed)


def _round(start: Sum, size: Dim, known: Known) -> Sum:
    """Return a start from 0 on, where it is known how often a size goes into it."""
    rounds = [product((fraction, size)) for fraction in known.fractions]
    whole = gcd(*[number for number in rounds if isinstance(number, int)])
    terms = list[Dim]()
    for term in start:
        ratio = quotient(term, size)
        if isinstance(term, int) and whole:
            terms.append(term % whole)
        elif not known.is_whole(ratio):
            terms.append(term if monomial(ratio).powers else _left_over(ratio, size))
    return total(terms)


def _left_over(ratio: Dim, size: Dim) -> Dim:
    """Return what is left of a number of sizes when whole sizes are taken away."""
    part = monomial(ratio)
    return product((size, lowest_terms(part.numerator % part.denominator, part.denominator, {})))


def _is_below(number: Dim, limit: Dim) -> bool:
    return number == 0 or (isinstance(number, int) and isinstance(limit, int) and number < limit)


def _volume(atoms: Iterable[Atom]) -> Dim:
    return product([atom.size for atom in atoms])
