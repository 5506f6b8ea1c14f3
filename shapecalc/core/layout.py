"""Layouts: which part of the input each axis of a tensor is, at every stage of a chain."""

from __future__ import annotations

from array import array
from math import gcd, lcm, prod

from shapecalc.core import dims
from shapecalc.core.conditions import Known, Never, Undecided, equal, solved_names
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.limits import MOST_MIXED
from shapecalc.core.moves import Dims, Expand, Move, Permute, Pick, Reshape, Roll, Take, index_before, ravel, unravel
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

# Atoms: a tensor under a chain of moves, as steps through the flat index of the chain's input.
#
# Each axis is a list of atoms, the outermost first. An atom has a size and a stride, which are monomials. A transpose
# reorders axes. A reshape regroups atoms, and cuts an atom in two if a cut of the new shape falls inside it. If cuts
# do not line up, the axes between two cuts that do are mixed: their new atoms step through the flat index of the old
# ones, which are their `base`. An expanded axis has stride 0.
#
# An atom that is read backwards has a negative stride, and is counted from its last position: its first one reads the
# element at `-stride * (size - 1)`. So an axis is turned round by the signs of its strides, and cut as before.
#
# Sources: XLA's `ShapeUtil::CommonFactors`, for numbers; CuTe's layouts of nested sizes and strides.


NEAR = 16
"""How many atoms and dims ahead two cuts that can be made to line up are looked for."""

MOST_READ = 64
"""The most atoms of a base that others are read through to."""


TABLE = "@"
"""What the name begins with that stands for the stride of a take, which steps through its base as a table says."""


class Atom(Record):
    """A step: `size` positions that are `stride` elements apart, in the input or in the base."""

    __slots__ = ("_hash",)
    """Bases lie inside bases, so it is computed once. It is no part of what is pickled."""

    size: Dim
    stride: Dim
    base: Atoms = ()
    """The atoms that were mixed, whose flat index it steps through; none if that is the input's."""
    start: Sum = ()
    """At which flat index the base begins to be read, and then round its end; the same for all that step through it."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not Atom:
            return NotImplemented
        alike = self.size == other.size and self.stride == other.stride and self.start == other.start
        return alike and (self.base is other.base or (hash(self) == hash(other) and self.base == other.base))

    def __hash__(self) -> int:
        found: int | None = getattr(self, "_hash", None)
        if found is None:
            found = hash((self.size, self.stride, *self.level))
            object.__setattr__(self, "_hash", found)
        return found

    def __reduce__(self) -> tuple[type[Atom], tuple[object, ...]]:
        return Atom, (self.size, self.stride, *self.level)

    @property
    def level(self) -> Level:
        """What it steps through. The steps of all atoms of one level are added up."""
        return self.base, self.start


Atoms = tuple[Atom, ...]
Axes = tuple[Atoms, ...]
Level = tuple[Atoms, Sum]


def axes_of(shape: Sequence[Dim]) -> Axes:
    """Return the axes of a tensor as it lies in memory: one atom each, none for a size of 1.

    >>> axes_of((2, 1, 4))
    ((Atom(size=2, stride=4, base=(), start=()),), (), (Atom(size=4, stride=1, base=(), start=()),))
    """
    axes: list[Atoms] = []
    stride: Dim = 1
    for size in reversed(shape):
        axes.append(() if size == 1 else (Atom(size, stride),))
        stride = _times(stride, size)
    return tuple(axes[::-1])


def contiguous_strides(shape: Shape) -> Shape:
    """Return the strides of a tensor that lies in memory in C order.

    >>> contiguous_strides((2, 3, 4)), contiguous_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    strides: list[Dim] = [1]
    for dim in shape[:0:-1]:
        strides.append(strides[-1] if dim == 0 else dims.product((strides[-1], dim)))
    return tuple(strides[::-1][: len(shape)])


def _expanded(axes: Axes, before: Shape, after: Shape) -> Axes:
    new = len(after) - len(axes)
    sizes, old = (1,) * new + before, ((),) * new + axes
    every = zip(old, sizes, after, strict=True)
    return tuple([(Atom(to, 0),) if size == 1 and to != 1 else axis for axis, size, to in every])


def merge(atoms: Iterable[Atom]) -> Atoms:
    """Return the atoms, with neighbours merged if one step can stand for both.

    >>> merge((Atom(2, 12), Atom(3, 4)))
    (Atom(size=6, stride=4, base=(), start=()),)
    """
    kept: list[Atom] = []
    for atom in atoms:
        if kept and kept[-1].level == atom.level and kept[-1].stride == _times(atom.size, atom.stride):
            atom = Atom(_times(kept.pop().size, atom.size), atom.stride, *atom.level)
        kept.append(atom)
    return tuple(kept)


def normal(axes: Axes, known: Known) -> Axes:
    """Return the axes in the fewest atoms. Axes that mix nothing are then equal if and only if they read the same."""
    return tuple([_joined(axis, known) for axis in axes])


def _joined(atoms: Iterable[Atom], known: Known) -> Atoms:
    """Return atoms merged, and those of a base read through it where its own cuts allow."""
    merged = merge(atoms)
    if not any(atom.base for atom in merged):
        return merged
    through = tuple([part for atom in merged for part in _read_through(atom, known)])
    return merged if through == merged else _joined(through, known)


def _read_through(atom: Atom, known: Known) -> Atoms:
    """Return the atoms of its base that an atom stands for; the atom itself if it cuts through one of them.

    A part of a base is read alone only if that adds nothing where the rest is read.
    """
    if atom.start or not 0 < len(atom.base) <= MOST_READ or is_table(atom.base):
        return (atom,)
    if is_backwards(atom):
        return turned(_read_through(turned((atom,))[0], known))
    above = dims.quotient(dims.product([each.size for each in atom.base]), _times(atom.size, atom.stride))
    if not known.is_whole(above):
        return (atom,)
    _, part, _ = map(tuple, _Cutting(atom.base, (above, atom.size, atom.stride), known).axes())
    inner = [each.level for each in atom.base]
    whole = above == atom.stride == 1 or not any(each.base or is_backwards(each) for each in part)
    return part if whole and all(each.level in inner for each in part) else (atom,)


def is_backwards(atom: Atom) -> bool:
    """Say whether an atom is read from its last position to its first."""
    stride = atom.stride
    return (stride if isinstance(stride, int) else stride.numerator) < 0


def is_table(base: Atoms) -> bool:
    """Say whether a base is the table of a take."""
    return any(str(atom.stride).startswith(TABLE) for atom in base if not isinstance(atom.stride, int))


def turned(atoms: Iterable[Atom]) -> Atoms:
    """Return an axis in the other direction.

    >>> turned((Atom(2, 1), Atom(3, -2)))
    (Atom(size=2, stride=-1, base=(), start=()), Atom(size=3, stride=2, base=(), start=()))
    """
    return tuple([Atom(atom.size, _times(-1, atom.stride), *atom.level) for atom in atoms])


def regroup(axes: Axes, shape: Sequence[Dim], known: Known) -> Axes:
    """Return the axes cut into `shape`, which has the same volume, if only under a condition.

    >>> from shapecalc.core.conditions import Known
    >>> regroup(axes_of((6,)), (2, 3), Known())
    ((Atom(size=2, stride=3, base=(), start=()),), (Atom(size=3, stride=1, base=(), start=()),))
    """
    atoms = _joined([atom for axis in axes for atom in axis], known)
    if dims.product([atom.size for atom in atoms]) == dims.product(shape):
        return _Cutting(atoms, shape, known).axes()
    base = known.same(atoms)
    return tuple([tuple([Atom(atom.size, atom.stride, base) for atom in axis]) for axis in axes_of(shape)])


class _Cutting:
    """A list of atoms while it is cut into a shape, from the outermost atom and the first dim on."""

    def __init__(self, atoms: Atoms, shape: Sequence[Dim], known: Known) -> None:
        self.left, self.wanted = list(atoms[::-1]), list(shape[::-1])
        self.known = known
        self.made: list[list[Atom]] = []

    def axes(self) -> Axes:
        """Return the axes of the shape. Whole dims whose product is 1 are 1, whatever their names: they get no atom."""
        while self.wanted:
            self.made.append([])
            while self.left and self.wanted[-1] != 1:
                self._take(self.wanted[-1])
            self.wanted.pop()
        return tuple([tuple(axis) for axis in self.made])

    def _take(self, rest: Dim) -> None:
        """Take atoms for the first part of a dim."""
        size = self.left[-1].size
        if rest == size or self.known.divides(size, rest):
            part = size
        elif self.known.divides(rest, size):
            part = rest
        else:
            part = _common_factor(rest, size)
        if part == 1:
            self._mix()
            return
        self.made[-1].append(self._outer(part))
        self.wanted[-1] = dims.quotient(rest, part)

    def _outer(self, size: Dim) -> Atom:
        """Return the outer part of the next atom; its inner part is left."""
        atom = self.left.pop()
        if size == atom.size:
            return atom
        inner = dims.quotient(atom.size, size)
        self.left.append(Atom(inner, atom.stride, *atom.level))
        return Atom(size, _times(atom.stride, inner), *atom.level)

    def _mix(self) -> None:
        """Take the fewest atoms that fill the first dims; the dims' atoms step through them."""
        count, part, wanted, rest = self._next_cut()
        taken = [self.left.pop() for _ in range(count)] + ([self._outer(part)] if part != 1 else [])
        base = self.known.same(merge(taken))
        sizes = [self.wanted[-1 - out] for out in range(wanted)] + ([rest] if rest != 1 else [])
        stride = dims.product(sizes)
        for out, size in enumerate(sizes):
            stride = dims.quotient(stride, size)
            self.made[-1] += [Atom(size, stride, base)] if size != 1 else []
            self.wanted[-1] = dims.quotient(self.wanted[-1], size)
            if out < len(sizes) - 1:
                self.wanted.pop()
                self.made.append([])

    def _next_cut(self) -> tuple[int, Dim, int, Dim]:
        """Return where the next cuts can line up: whole atoms and a part of one, whole dims and a part of one."""
        sizes, wanted = [atom.size for atom in self.left[::-1]], self.wanted[::-1]
        have, want = _running(sizes[:NEAR]), _running(wanted[:NEAR])
        for both in range(1, len(have) + len(want)):
            for i in range(max(0, both - len(want) + 1), min(both + 1, len(have))):
                a, b = have[i], want[both - i]
                cut = _common_multiple(a, b)
                if cut != 1 and self._fits(cut, have, i) and self._fits(cut, want, both - i):
                    return i, dims.quotient(cut, a), both - i, dims.quotient(cut, b)
        ends = {count: place for place, count in enumerate(_running(sizes))}
        i, j = next((ends[count], place) for place, count in enumerate(_running(wanted)) if place and ends.get(count))
        return i, 1, j, 1

    def _fits(self, cut: Dim, running: Sequence[Dim], place: int) -> bool:
        """Say whether a cut falls on the one at `place`, or inside what comes after it."""
        if cut == running[place]:
            return True
        divides, is_last = self.known.divides, place + 1 == len(running)
        return not is_last and divides(running[place], cut) and divides(cut, running[place + 1])


def _running(sizes: Iterable[Dim]) -> list[Dim]:
    """Return the products of the first sizes: of none, of one, and so on."""
    products: list[Dim] = [1]
    for size in sizes:
        products.append(_times(products[-1], size))
    return products


def _times(a: Dim, b: Dim) -> Dim:
    return a * b if type(a) is int and type(b) is int else dims.product((a, b))


def _common_factor(a: Dim, b: Dim) -> Dim:
    """Return the largest common factor of two dims that stands in both; 1 if names divide in one of them."""
    if type(a) is int and type(b) is int:
        return gcd(a, b)
    if not (dims.always_whole(a) and dims.always_whole(b)):
        return 1
    one, other = dims.monomial(a), dims.monomial(b)
    theirs = dict(other.powers)
    powers = {name: min(power, theirs.get(name, 0)) for name, power in one.powers}
    return dims.lowest_terms(gcd(one.numerator, other.numerator), 1, powers)


def _common_multiple(a: Dim, b: Dim) -> Dim:
    """Return the smallest common multiple of two dims, by their names and numbers."""
    if type(a) is int and type(b) is int:
        return lcm(a, b)
    one, other = dims.monomial(a), dims.monomial(b)
    powers = dict(one.powers)
    for name, power in other.powers:
        powers[name] = max(power, powers.get(name, power))
    return dims.lowest_terms(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator), powers)


def cut(atoms: Sequence[Atom], shape: Sequence[Dim], known: Known) -> Axes | None:
    """Return atoms cut into `shape`, so that each piece is a part of one of them; None if they mix.

    This is what "mix" means everywhere: a cut of the shape falls across an atom. Atoms of another volume mix, too.

    >>> from shapecalc.core.conditions import Known
    >>> [[(atom.size, atom.stride) for atom in axis] for axis in cut((Atom(2, 8), Atom(8, 1)), (4, 4), Known())]
    [[(2, 8), (2, 4)], [(4, 1)]]
    >>> cut((Atom(2, 3), Atom(3, 1)), (3, 2), Known()) is None
    True
    """
    if dims.product([atom.size for atom in atoms]) != dims.product(shape):
        return None
    axes = _Cutting(tuple(atoms), shape, known).axes()
    return None if any(atom.base for axis in axes for atom in axis) else axes


# Views: what a tensor reads of the input of a chain, whatever the moves of the chain, by atoms.
#
# Atoms tell how an axis steps on, and a view also where the first element of the tensor lies. A slice steps on
# through parts of atoms and begins elsewhere. A roll begins a new view of its axis, which is read from `start` and
# round its end; a second roll of the axis moves that start.
#
# What is added up begins at a sum. Sums are compared and never shown: all sizes and strides stay monomials.


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
            every = zip(self.axes, before, move.axes, strict=True)
            axes = [picking.of_axis(atoms, dim, *picked) for atoms, dim, picked in every]
            return picking.view([axis for axis, size in zip(axes, move.sizes, strict=True) if size is not None], self)
        if isinstance(move, Roll):
            return _rolled(self, move.axis, move.shift, known)
        if isinstance(move, Take):
            return _taken(self, move, before, known)
        if isinstance(move, Dims):
            raise misuse("shape returns dims, so no element moves")
        if isinstance(move, Permute):
            return View(tuple([self.axes[axis] for axis in move.axes]), self.offset, self.fixed)
        expanded = isinstance(move, Expand)
        made = _expanded(self.axes, before, move.shape) if expanded else regroup(self.axes, move.shape, known)
        return View(made, self.offset, self.fixed)

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

    Raises `ShapeError` (usage) for op `shape`, and `Undecided` if axes are mixed too often in a row.

    >>> view_through((4, 3), [Pick((3, 0), (-1, 1), (4, None))], Known())
    View(axes=((Atom(size=4, stride=-3, base=(), start=()),),), offset=(), fixed=frozenset())
    """
    view, mixed = view_of(shape), 0
    for move in moves:
        view, shape = view.after(move, shape, known), move.after(shape)
        mixed = 0 if view.is_plain else mixed + 1
        if mixed > MOST_MIXED:
            raise Undecided
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
        return self._left(Atom(count, step, self.known.same(atoms), dims.total((start,))))

    def _part_of_one(self, atom: Atom, start: Dim, step: Dim, count: Dim) -> Atoms:
        """Return what is left of an atom; one that is read backwards still counts from its last position."""
        along = -1 if is_backwards(atom) else 1
        begin = dims.total((start,))
        if along == -1:
            last = start, dims.product((step, count))
            begin = dims.total((atom.size, -1, *[dims.product((-1, each)) for each in last], step))
        if not atom.base:
            self.offset += [dims.product((along, atom.stride, term)) for term in begin]
        elif atom.size == _volume(atom.base):
            begun = _round(dims.total((*atom.start, *begin)), atom.size, self.known)
            return self._left(Atom(count, dims.product((along, step)), atom.base, begun))
        elif begin or not self.known.divides(dims.product((step, count)), atom.size):
            forward = (atom,) if along == 1 else turned((atom,))
            return self._left(Atom(count, dims.product((along, step)), self.known.same(forward), begin))
        return self._left(Atom(count, dims.product((atom.stride, step)), *atom.level))

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
            return (outer, dims.quotient(step, within), count), (inner, 1, 1)
        if self._end_within(inner, step, count, within):
            return (outer, 1, 1), (inner, step, count)
        each = dims.quotient(within, step)
        if divides(step, within) and divides(each, count) and _is_below(inner, step):
            return (outer, 1, dims.quotient(count, each)), (inner, step, each)
        return None

    def _divided(self, number: Dim, by: Dim) -> tuple[Dim, Dim] | None:
        """Return the quotient as a whole number and what is left over; None if they depend on sizes."""
        ratio = dims.quotient(number, by)
        if self.known.is_whole(ratio):
            return ratio, 0
        if dims.monomial(ratio).powers:
            return None
        whole = dims.monomial(ratio).numerator // dims.monomial(ratio).denominator
        return whole, _left_over(ratio, by)

    def _end_within(self, start: Dim, step: Dim, count: Dim, size: Dim) -> bool:
        if count == 1:
            return True
        if dims.all_known((start, step, count, size)):
            return start + step * (count - 1) < size  # type: ignore[operator]  # all are numbers
        return step == 1 and self.known.divides(count, size) and self.known.divides(count, start)

    def through(self, atom: Atom) -> Atoms:
        """Return what an atom reads of its base, if that ends before the base does."""
        if is_table(atom.base):
            return self._left(atom) if atom.size != 1 else self._looked_up(atom)
        if is_backwards(atom):
            return turned(self.through(turned((atom,))[0]))
        if not atom.start:
            return self.part(atom.base, 0, atom.stride, atom.size)
        first, *others = atom.start
        size = _volume(atom.base)
        if others or not self._end_within(first, atom.stride, atom.size, size) or not _is_below(first, size):
            return self._left(atom)
        return self.part(atom.base, first, atom.stride, atom.size)

    def _looked_up(self, atom: Atom) -> Atoms:
        """Take the one position that is read of a table."""
        (table,), at = atom.base, sum(atom.start)  # type: ignore[arg-type]  # the size of a table is a number
        place = int(str(table.stride)[len(TABLE) :].split(",")[at % int(str(table.size))])
        return self.part(table.base, place, 1, 1) if place >= 0 else self.part(turned(table.base), 0, 1, 1)

    def view(self, axes: Iterable[Atoms], view: View) -> View:
        """Return the view with these axes that is left of another one."""
        return View(tuple(axes), dims.total((*view.offset, *self.offset)), view.fixed | self.fixed)


def _straight(view: View, known: Known) -> View:
    """Return a view in which a base that one atom steps through is left out, if the atom ends before the base does."""
    steps = levels_of(view)
    picking = _Picking(known)

    def seen_through(atom: Atom) -> Atoms:
        alone = bool(atom.base) and steps[atom.level] == 1
        return picking.through(atom) if alone else (atom,)

    axes = tuple([tuple([part for atom in axis for part in seen_through(atom)]) for axis in view.axes])
    for level in view.fixed:
        if level not in steps:
            picking.through(Atom(1, 1, *level))
    return picking.view(normal(axes, known), View((), view.offset))


def levels_of(view: View) -> dict[Level, int]:
    """Return the levels that atoms of a view and of its bases step through, and how many step through each."""
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
    start = dims.total((*atom.start, -shift * atom.stride))  # type: ignore[operator]  # the stride is 1 or -1
    atom = Atom(atom.size, atom.stride, atom.base, _round(start, atom.size, known))
    return View((*view.axes[:axis], (atom,), *view.axes[axis + 1 :]), view.offset, view.fixed)


def _taken(view: View, move: Take, before: Shape, known: Known) -> View:
    """Return a view with some positions of one axis: regular steps, the same one again, or those of a table."""
    count, regular = len(move.places), move.regular
    if regular is None:
        (atoms,) = normal(view.axes[move.axis : move.axis + 1], known)
        table = Atom(count, dims.named_dim(TABLE + ",".join(map(str, move.places))), known.same(atoms))
        axis: Atoms = (Atom(count, 1, (table,)),) if any(atom.stride != 0 for atom in atoms) else (Atom(count, 0),)
    else:
        first, step = regular
        picked = [(0, 1, dim) for dim in before]
        picked[move.axis] = (first, step or 1, count if step else 1)
        view = view.after(Pick(*zip(*picked, strict=True)), before, known)
        axis = view.axes[move.axis] if step else (Atom(count, 0),)
    return View((*view.axes[: move.axis], axis, *view.axes[move.axis + 1 :]), view.offset, view.fixed)


def _round(start: Sum, size: Dim, known: Known) -> Sum:
    """Return a start from 0 on, where it is known how often a size goes into it."""
    rounds = [dims.product((fraction, size)) for fraction in known.fractions]
    whole = gcd(*[number for number in rounds if isinstance(number, int)])
    terms = list[Dim]()
    for term in start:
        ratio = dims.quotient(term, size)
        if isinstance(term, int) and whole:
            terms.append(term % whole)
        elif not known.is_whole(ratio):
            terms.append(term if dims.monomial(ratio).powers else _left_over(ratio, size))
    return dims.total(terms)


def _left_over(ratio: Dim, size: Dim) -> Dim:
    """Return what is left of a number of sizes when whole sizes are taken away."""
    part = dims.monomial(ratio)
    return dims.product((size, dims.lowest_terms(part.numerator % part.denominator, part.denominator, {})))


def _is_below(number: Dim, limit: Dim) -> bool:
    return number == 0 or (isinstance(number, int) and isinstance(limit, int) and number < limit)


def _volume(atoms: Iterable[Atom]) -> Dim:
    return dims.product([atom.size for atom in atoms])


Positions = tuple[Dim, Dim, Dim]
"""Positions of an axis: the first, how far apart they are, and how many."""


# Move chains: a chain as what it does to its input, whatever its ops were called, for names and for numbers.


class Moves(Record):
    """The input shape of a chain and its moves."""

    input: Shape
    moves: tuple[Move, ...]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of the input, and the shape after each move."""
        shapes = [self.input]
        for move in self.moves:
            shapes.append(move.after(shapes[-1]))
        return tuple(shapes)

    @property
    def dims(self) -> Shape:
        """The dims of all shapes, each once."""
        return tuple({dim: None for shape in self.shapes for dim in shape})

    @property
    def output(self) -> Shape:
        """The shape after the last move."""
        return self.shapes[-1]

    def rewritten(self, known: Mapping[str, Dim]) -> Moves:
        """Return the chain with dims put in for names."""
        shape, moves = _rewritten(self.input, known), list[Move]()
        for move in self.moves:
            size = shape[move.axis] if isinstance(move, Take) else None
            made = _move_rewritten(move, known)
            if isinstance(made, Take) and isinstance(size, int) and size:
                made = Take(made.axis, tuple([place % size for place in made.places]))
            moves.append(made)
            shape = made.after(shape)
        return Moves(_rewritten(self.input, known), tuple(moves))

    def view(self, known: Known) -> View:
        """Return the view of the output, which is the same for all chains of one output if that is empty."""
        return View(()) if 0 in self.dims else view_through(self.input, self.moves, known)


def _move_rewritten(move: Move, known: Mapping[str, Dim]) -> Move:
    if isinstance(move, Reshape | Expand):
        return type(move)(_rewritten(move.shape, known))
    if isinstance(move, Pick):
        sizes = tuple([size if size is None else dims.rewrite(size, known) for size in move.sizes])
        return Pick(_rewritten(move.starts, known), move.steps, sizes)
    return move


def _rewritten(shape: Shape, known: Mapping[str, Dim]) -> Shape:
    return tuple([dims.rewrite(dim, known) for dim in shape])


def position(chain: Moves, place: int) -> int:
    """Return where in the input the element at a place of the output stands, both counted in C order.

    >>> from shapecalc.core.moves import Permute
    >>> [position(Moves((2, 3), (Permute((1, 0)),)), place) for place in range(6)]
    [0, 3, 1, 4, 2, 5]
    """
    index = unravel(place, chain.output)
    for shape, move in zip(chain.shapes[-2::-1], chain.moves[::-1], strict=True):
        index = index_before(index, shape, move)
    found: int = ravel(index, chain.input)
    return found


def positions(chain: Moves, elements: array[int]) -> array[int]:
    """Return which of the input's elements each element of the output is, in C order; every dim is a number but 0.

    >>> from shapecalc.core.moves import Permute
    >>> positions(Moves((2, 3), (Permute((1, 0)),)), array("q", range(6))).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    found, view, shape, known = elements, view_of(chain.input), chain.input, Known()
    for move in chain.moves:
        after = view.after(move, shape, known)
        if not after.is_plain:
            found, after = _gathered(found, view), view_of(move.after(shape))
            if isinstance(move, Roll | Take):
                found = _pieced_items(found, shape, move)
            else:
                after = view_of(shape).after(move, shape, known)
        view, shape = after, move.after(shape)
    return _gathered(found, view)


def _pieced_items(source: array[int], shape: Shape, move: Roll | Take) -> array[int]:
    """Return the items of a tensor with the stretches of one axis that a move puts one after another, in C order."""
    sizes: list[Any] = [*shape]
    inner, made = prod(sizes[move.axis + 1 :]), array("q")
    for start in range(0, len(source), inner * sizes[move.axis]):
        for begin, count in move.pieces(sizes[move.axis]):
            made += source[start + begin * inner : start + (begin + count) * inner]
    return made


def _gathered(source: array[int], view: View) -> array[int]:
    """Return the items that a view reads from a source, in C order; the longest atom is read in one step."""
    steps = [(atom.size, atom.stride) for atom in merge([atom for axis in view.axes for atom in axis])] or [(1, 1)]
    sizes = [int(str(size)) for size, _ in steps]
    strides = [int(str(stride)) for _, stride in steps]
    along = max(range(len(sizes)), key=sizes.__getitem__)
    made = array("q", bytes(8 * prod(sizes)))
    starts, places = [view.first], [0]
    for place, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if place != along:
            step = prod(sizes[place + 1 :])
            starts = [start + index * stride for start in starts for index in range(size)]
            places = [start + index * step for start in places for index in range(size)]
    size, stride, step = sizes[along], strides[along], prod(sizes[along + 1 :])
    for start, place in zip(starts, places, strict=True):
        made[place : place + size * step : step] = _run(source, start, stride, size)
    return made


def _run(source: array[int], start: int, stride: int, size: int) -> array[int]:
    """Return every so many items of a source, backwards for a stride below 0, or one item all the time for 0."""
    if stride == 0:
        return source[start : start + 1] * size
    end = start + size * stride
    return source[start : end if end >= 0 else None : stride]


# Which input axes became which output axes when a tensor is reshaped.
#
# The elements keep their order. If the running products of the dims on both sides agree, the cuts of the old shape
# and of the new shape line up there. The axes between two such cuts belong together. They mix if a new cut falls
# across the old ones: then a new axis is made of no whole pieces of old axes.


EMPTY = "0"
"""The name of a size of 0 while shapes are cut."""


def _level(before: Sequence[Dim], after: Sequence[Dim]) -> tuple[Shape, Shape]:
    """Return both shapes without a size of 0, and with the names solved that make their volumes equal."""
    before = without_zeros(before)
    after = without_zeros(after, dims.product(before))
    try:
        solved = solved_names(equal(dims.product(before), dims.product(after)))
    except Never:
        solved = {}
    return _rewritten(before, solved), _rewritten(after, solved)


def without_zeros(shape: Sequence[Dim], volume: Dim = 0) -> Shape:
    """Return a shape with a name for every size of 0, but the last stands for what the others leave of a volume.

    >>> without_zeros((2, 0, 3)), without_zeros((0, 2), dims.product((4, dims.named_dim(EMPTY))))
    ((2, 0, 3), (2*0, 2))
    """
    sizes = [dims.named_dim(EMPTY) if dim == 0 else dim for dim in shape]
    if 0 in shape:
        last = len(sizes) - 1 - list(shape)[::-1].index(0)
        rest = dims.quotient(volume, dims.product(sizes[:last] + sizes[last + 1 :]))
        if EMPTY in dims.names((rest,)):
            sizes[last] = rest
    return tuple(sizes)


def carried_ones(before: Shape, after: Shape) -> tuple[tuple[int, int], ...]:
    """Return dims of 1 after a reshape with the axes of 1 that they are: those between the same elements, in order.

    >>> carried_ones((2, 3, 1), (6, 1))
    ((1, 2),)
    """
    sources, outs = map(_ones, _level(before, after) if 1 in after else ((), ()))
    return tuple([pair for place, row in outs.items() for pair in zip(row, sources.get(place, ()), strict=False)])


def _ones(shape: Shape) -> dict[Dim, list[int]]:
    """Return the dims of 1, by the product of the dims before them."""
    found: dict[Dim, list[int]] = {}
    before: Dim = 1
    for axis, dim in enumerate(shape):
        if dim == 1:
            found.setdefault(before, []).append(axis)
        before = _times(before, dim)
    return found
