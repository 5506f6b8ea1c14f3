"""Atoms: a tensor under a chain of moves, as steps through the flat index of the chain's input.

Each axis is a list of atoms, the outermost first. An atom has a size and a stride, which are monomials. A transpose
reorders axes. A reshape regroups atoms, and cuts an atom in two if a cut of the new shape falls inside it. If cuts do
not line up, the axes between two cuts that do are mixed: their new atoms step through the flat index of the old ones,
which are their `base`. An expanded axis has stride 0.

An atom that is read backwards has a negative stride, and is counted from its last position: its first one reads the
element at `-stride * (size - 1)`. So an axis is turned round by the signs of its strides, and cut as before.

Sources: XLA's `ShapeUtil::CommonFactors`, for numbers; CuTe's layouts of nested sizes and strides.
"""

from __future__ import annotations

from math import gcd, lcm

from shapecalc.core.answers.moves import Expand, Permute, Reshape, Slice
from shapecalc.core.sizes.dims import Dim, Shape, lowest_terms, monomial, product, quotient
from shapecalc.core.sizes.known import is_plain
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.sums import Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shapecalc.core.answers.moves import Move
    from shapecalc.core.sizes.known import Known

NEAR = 16
"""How many atoms and dims ahead two cuts that can be made to line up are looked for."""

MOST_READ = 64
"""The most atoms of a base that others are read through to."""


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


def axes_after(axes: Axes, move: Move, before: Shape, known: Known) -> Axes:
    """Return the axes of a tensor of shape `before` after a move; no dim of it may be 0.

    Raises `ShapeError` (usage) for op `shape`, which moves no elements, and for moves that leave elements out or
    begin elsewhere: `views` has those.
    """
    if isinstance(move, Permute):
        return tuple([axes[axis] for axis in move.axes])
    if isinstance(move, Expand):
        return _expanded(axes, before, move.shape)
    if isinstance(move, Reshape):
        return regroup(axes, move.shape, known)
    if isinstance(move, Slice):
        raise misuse("shape returns dims, so no element moves")
    raise misuse("axes are not enough to say where a tensor begins after select, slice, split, flip or roll")


def axes_through(shape: Shape, moves: Iterable[Move], known: Known) -> Axes:
    """Return the axes of a tensor of `shape` after all of the moves, in the fewest atoms; no dim of it may be 0.

    Raises `ShapeError` (usage) for op `shape`.

    >>> from shapecalc.core.sizes.known import Known
    >>> len(axes_through((2, 3, 4), [Permute((1, 0, 2)), Reshape((3, 8))], Known())[1])
    2
    """
    axes = axes_of(shape)
    for move in moves:
        axes, shape = axes_after(axes, move, shape, known), move.after(shape)
    return normal(axes, known)


def _expanded(axes: Axes, before: Shape, after: Shape) -> Axes:
    new = len(after) - len(axes)
    sizes, old = (1,) * new + before, ((),) * new + axes
    return tuple(
        [(Atom(to, 0),) if size == 1 and to != 1 else axis for axis, size, to in zip(old, sizes, after, strict=True)]
    )


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
    if atom.start or not 0 < len(atom.base) <= MOST_READ:
        return (atom,)
    if is_backwards(atom):
        return turned(_read_through(turned((atom,))[0], known))
    above = quotient(product([each.size for each in atom.base]), _times(atom.size, atom.stride))
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


def turned(atoms: Iterable[Atom]) -> Atoms:
    """Return an axis in the other direction.

    >>> turned((Atom(2, 1), Atom(3, -2)))
    (Atom(size=2, stride=-1, base=(), start=()), Atom(size=3, stride=2, base=(), start=()))
    """
    return tuple([Atom(atom.size, _times(-1, atom.stride), *atom.level) for atom in atoms])


def regroup(axes: Axes, shape: Sequence[Dim], known: Known) -> Axes:
    """Return the axes cut into `shape`, which has the same volume, if only under a condition.

    >>> from shapecalc.core.sizes.known import Known
    >>> regroup(axes_of((6,)), (2, 3), Known())
    ((Atom(size=2, stride=3, base=(), start=()),), (Atom(size=3, stride=1, base=(), start=()),))
    """
    atoms = _joined([atom for axis in axes for atom in axis], known)
    if product([atom.size for atom in atoms]) == product(shape):
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
        self.wanted[-1] = quotient(rest, part)

    def _outer(self, size: Dim) -> Atom:
        """Return the outer part of the next atom; its inner part is left."""
        atom = self.left.pop()
        if size == atom.size:
            return atom
        inner = quotient(atom.size, size)
        self.left.append(Atom(inner, atom.stride, *atom.level))
        return Atom(size, _times(atom.stride, inner), *atom.level)

    def _mix(self) -> None:
        """Take the fewest atoms that fill the first dims; the dims' atoms step through them."""
        count, part, wanted, rest = self._next_cut()
        taken = [self.left.pop() for _ in range(count)] + ([self._outer(part)] if part != 1 else [])
        base = self.known.same(merge(taken))
        sizes = [self.wanted[-1 - out] for out in range(wanted)] + ([rest] if rest != 1 else [])
        stride = product(sizes)
        for out, size in enumerate(sizes):
            stride = quotient(stride, size)
            self.made[-1] += [Atom(size, stride, base)] if size != 1 else []
            self.wanted[-1] = quotient(self.wanted[-1], size)
            if out < len(sizes) - 1:
                self.wanted.pop()
                self.made.append([])

    def _next_cut(self) -> tuple[int, Dim, int, Dim]:
        """Return where the next cuts can line up: whole atoms and a part of one, whole dims and a part of one."""
        sizes, dims = [atom.size for atom in self.left[::-1]], self.wanted[::-1]
        have, want = _running(sizes[:NEAR]), _running(dims[:NEAR])
        for total in range(1, len(have) + len(want)):
            for i in range(max(0, total - len(want) + 1), min(total + 1, len(have))):
                a, b = have[i], want[total - i]
                cut = _common_multiple(a, b)
                if cut != 1 and self._fits(cut, have, i) and self._fits(cut, want, total - i):
                    return i, quotient(cut, a), total - i, quotient(cut, b)
        ends = {count: place for place, count in enumerate(_running(sizes))}
        i, j = next((ends[count], place) for place, count in enumerate(_running(dims)) if place and ends.get(count))
        return i, 1, j, 1

    def _fits(self, cut: Dim, running: Sequence[Dim], place: int) -> bool:
        """Say whether a cut, a multiple of the one at `place`, falls on it or inside what comes after it."""
        within = place + 1 < len(running) and self.known.divides(cut, running[place + 1])
        return within or cut == running[place]


def _running(sizes: Iterable[Dim]) -> list[Dim]:
    """Return the products of the first sizes: of none, of one, and so on."""
    products: list[Dim] = [1]
    for size in sizes:
        products.append(_times(products[-1], size))
    return products


def _times(a: Dim, b: Dim) -> Dim:
    return a * b if type(a) is int and type(b) is int else product((a, b))


def _common_factor(a: Dim, b: Dim) -> Dim:
    """Return the largest common factor of two dims that stands in both; 1 if names divide in one of them."""
    if type(a) is int and type(b) is int:
        return gcd(a, b)
    if not (is_plain(a) and is_plain(b)):
        return 1
    one, other = monomial(a), monomial(b)
    theirs = dict(other.powers)
    powers = {name: min(power, theirs.get(name, 0)) for name, power in one.powers}
    return lowest_terms(gcd(one.numerator, other.numerator), 1, powers)


def _common_multiple(a: Dim, b: Dim) -> Dim:
    """Return the smallest common multiple of two dims, by their names and numbers."""
    if type(a) is int and type(b) is int:
        return lcm(a, b)
    one, other = monomial(a), monomial(b)
    powers = dict(one.powers)
    for name, power in other.powers:
        powers[name] = max(power, powers.get(name, power))
    return lowest_terms(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator), powers)


class _Across(Exception):
    """A cut falls across two atoms."""


class _CleanCutting(_Cutting):
    """A cutting in which every piece is a part of one atom."""

    def _mix(self) -> None:
        raise _Across


def cut(atoms: Sequence[Atom], shape: Sequence[Dim], known: Known) -> Axes | None:
    """Return atoms cut into `shape`, so that each piece is a part of one of them; None if they mix.

    This is what "mix" means everywhere: a cut of the shape falls across an atom. Atoms of another volume mix, too.

    >>> from shapecalc.core.sizes.known import Known
    >>> [[(atom.size, atom.stride) for atom in axis] for axis in cut((Atom(2, 8), Atom(8, 1)), (4, 4), Known())]
    [[(2, 8), (2, 4)], [(4, 1)]]
    >>> cut((Atom(2, 3), Atom(3, 1)), (3, 2), Known()) is None
    True
    """
    if product([atom.size for atom in atoms]) != product(shape):
        return None
    try:
        return _CleanCutting(tuple(atoms), shape, known).axes()
    except _Across:
        return None
