"""Layouts: strided descriptions of tensors under chains of moves.

A layout describes each axis by a list of atoms, from the outermost to the innermost. An atom has a size and a stride,
which are monomials, and steps through the flat index of the chain's input. A transpose reorders axes. An expand gives
an axis the stride 0. A reshape regroups atoms. A boundary of a shape is the position between two dims. If a boundary of
the new shape is inside an atom and the sizes divide each other, the atom is split there. Otherwise, the axes between
the nearest common boundaries of the old and the new shape are mixed: the old atoms become the `base` of the new atoms,
and the new atoms step through the flat index of the old atoms.

An atom with a negative stride is read backwards: its index 0 is at offset `-stride * (size - 1)`, and its last index is
at offset 0. An axis is therefore reversed by negating its strides, and reversed atoms are split like all others.

A view is a layout with an offset in the input. A slice keeps parts of atoms and changes the offset. A roll turns the
atoms of its axis into a base tensor. The new atom reads the base tensor from `start` and wraps around at the end. A
second roll of the same axis changes the start. Offsets and starts may be sums of monomials; sizes and strides are
single monomials.

A chain of moves does not depend on the ops or the framework of the request.

Sources: `ShapeUtil::CommonFactors` of XLA for concrete dims, and the layouts of CuTe for nested sizes and strides.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import gcd, lcm, prod

from shapecalc.core import dims
from shapecalc.core.conditions import Assumptions, Undecided, Unsatisfiable, require_equal, solve_equalities
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.limits import MAX_AXIS_MIXING_STAGES
from shapecalc.core.moves import (
    Combine,
    Expand,
    Move,
    Permute,
    Reshape,
    Roll,
    ShapeVector,
    StridedSlice,
    Take,
    index_before_move,
    ravel,
    unravel,
)
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, lazy, replace

TYPE_CHECKING = False  # importing `typing` costs 2 ms of the 36 ms of a request with --json
if TYPE_CHECKING:
    from typing import Any

BOUNDARY_LOOKAHEAD = 16
"""The number of atoms and the number of dims that the search for a common boundary considers."""

MAX_BASE_ATOMS = 64
"""The maximum number of atoms in a base tensor that `_resolve_atom` searches."""


TABLE_PREFIX = "@"
"""The prefix of a stride that contains the indices of a `Take`, as in `@2,0,1`."""

ZERO_NAME = "0"
"""The name that replaces a size of 0 during a reshape."""

IndexRange = tuple[Dim, Dim, Dim]
"""An arithmetic sequence of indices on an axis: the first index, the step and the count."""


class Atom(Record):
    """A part of an axis: `size` elements that are `stride` apart in a flat index."""

    __slots__ = ("_hash",)
    """The hash is cached, because nested base tensors are slow to hash. It is not pickled."""

    size: Dim
    stride: Dim
    base: Atoms = ()
    """The base tensor: the atoms whose flat index this atom steps through. It is empty if the atom steps through the
    input.
    """
    start: Sum = ()
    """The flat index in the base tensor at which the atom starts; the atom wraps around at the end of the base tensor.
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is not Atom:
            return NotImplemented
        same_step = self.size == other.size and self.stride == other.stride and self.start == other.start
        return same_step and (self.base is other.base or (hash(self) == hash(other) and self.base == other.base))

    def __hash__(self) -> int:
        cached: int | None = getattr(self, "_hash", None)
        if cached is None:
            cached = hash((self.size, self.stride, *self.space))
            object.__setattr__(self, "_hash", cached)
        return cached

    def __reduce__(self) -> tuple[type[Atom], tuple[object, ...]]:
        return Atom, (self.size, self.stride, *self.space)

    @property
    def space(self) -> IndexSpace:
        """The index space of the atom: its base tensor and its start.

        The flat index in an index space is the sum of the steps of all atoms of that space.
        """
        return self.base, self.start


Atoms = tuple[Atom, ...]
StridedAxes = tuple[Atoms, ...]
IndexSpace = tuple[Atoms, Sum]


def contiguous_axes(shape: Sequence[Dim]) -> StridedAxes:
    """Return the layout of a contiguous tensor.

    An axis of size 1 has no atoms; each other axis has one atom.

    >>> contiguous_axes((2, 1, 4))
    ((Atom(size=2, stride=4, base=(), start=()),), (), (Atom(size=4, stride=1, base=(), start=()),))
    """
    axes: list[Atoms] = []
    stride: Dim = 1
    for size in reversed(shape):
        axes.append(() if size == 1 else (Atom(size, stride),))
        stride = _multiply(stride, size)
    return tuple(axes[::-1])


def contiguous_strides(shape: Shape) -> Shape:
    """Return the strides of a tensor in C order.

    >>> contiguous_strides((2, 3, 4)), contiguous_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    strides: list[Dim] = [1]
    for dim in shape[:0:-1]:
        strides.append(strides[-1] if dim == 0 else dims.product((strides[-1], dim)))
    return tuple(strides[::-1][: len(shape)])


def _expand_axes(axes: StridedAxes, before: Shape, after: Shape) -> StridedAxes:
    """Return the layout after a broadcast from shape `before` to shape `after`."""
    new = len(after) - len(axes)
    sizes, old = (1,) * new + before, ((),) * new + axes
    rows = zip(old, sizes, after, strict=True)
    return tuple([(Atom(new_size, 0),) if size == 1 and new_size != 1 else axis for axis, size, new_size in rows])


def merge_atoms(atoms: Iterable[Atom]) -> Atoms:
    """Merge adjacent atoms that a single atom can represent.

    >>> merge_atoms((Atom(2, 12), Atom(3, 4)))
    (Atom(size=6, stride=4, base=(), start=()),)
    """
    merged: list[Atom] = []
    for atom in atoms:
        if merged and merged[-1].space == atom.space and merged[-1].stride == _multiply(atom.size, atom.stride):
            atom = Atom(_multiply(merged.pop().size, atom.size), atom.stride, *atom.space)
        merged.append(atom)
    return tuple(merged)


def normalize_axes(axes: StridedAxes, assumptions: Assumptions) -> StridedAxes:
    """Return the equivalent layout with the fewest atoms.

    Two normalized layouts without mixed axes are equal if and only if they read the same elements.
    """
    return tuple([_normalize_axis(axis, assumptions) for axis in axes])


def _normalize_axis(atoms: Iterable[Atom], assumptions: Assumptions) -> Atoms:
    """Merge the atoms of an axis, and replace atoms with atoms of their base tensors."""
    merged = merge_atoms(atoms)
    if not any(atom.base for atom in merged):
        return merged
    resolved = tuple([part for atom in merged for part in _resolve_atom(atom, assumptions)])
    return merged if resolved == merged else _normalize_axis(resolved, assumptions)


def _resolve_atom(atom: Atom, assumptions: Assumptions) -> Atoms:
    """Replace an atom with the equivalent atoms of its base tensor, if any.

    The atom is kept if the base tensor cannot be split at the ends of the atom. An atom that covers only a part of its
    base tensor is also kept if this part has a nested base tensor or a reversed atom.
    """
    if atom.start or not 0 < len(atom.base) <= MAX_BASE_ATOMS or is_take_table(atom.base):
        return (atom,)
    if is_reversed(atom):
        return reverse_axis(_resolve_atom(reverse_axis((atom,))[0], assumptions))
    outer_size = dims.quotient(_volume(atom.base), _multiply(atom.size, atom.stride))
    if not assumptions.is_integral(outer_size):
        return (atom,)
    _, part, _ = map(tuple, _AtomSplitter(atom.base, (outer_size, atom.size, atom.stride), assumptions).split())
    spaces = [inner.space for inner in atom.base]
    is_exact = outer_size == atom.stride == 1 or not any(inner.base or is_reversed(inner) for inner in part)
    return part if is_exact and all(inner.space in spaces for inner in part) else (atom,)


def is_reversed(atom: Atom) -> bool:
    """Return whether the stride of an atom is negative."""
    stride = atom.stride
    return (stride if isinstance(stride, int) else stride.numerator) < 0


def is_take_table(base: Atoms) -> bool:
    """Return whether a base tensor is an index table of a `Take`."""
    return any(str(atom.stride).startswith(TABLE_PREFIX) for atom in base if not isinstance(atom.stride, int))


def reverse_axis(atoms: Iterable[Atom]) -> Atoms:
    """Return the atoms of a reversed axis.

    >>> reverse_axis((Atom(2, 1), Atom(3, -2)))
    (Atom(size=2, stride=-1, base=(), start=()), Atom(size=3, stride=2, base=(), start=()))
    """
    return tuple([Atom(atom.size, _multiply(-1, atom.stride), *atom.space) for atom in atoms])


def reshape_axes(axes: StridedAxes, shape: Sequence[Dim], assumptions: Assumptions) -> StridedAxes:
    """Regroup the atoms of a layout into the dims of `shape`.

    The layout and `shape` must have equal volumes. If the volumes are equal only under a condition, all axes are mixed.

    >>> from shapecalc.core.conditions import Assumptions
    >>> reshape_axes(contiguous_axes((6,)), (2, 3), Assumptions())
    ((Atom(size=2, stride=3, base=(), start=()),), (Atom(size=3, stride=1, base=(), start=()),))
    """
    atoms = _normalize_axis([atom for axis in axes for atom in axis], assumptions)
    if _volume(atoms) == dims.product(shape):
        return _AtomSplitter(atoms, shape, assumptions).split()
    base = assumptions.intern(atoms)
    return tuple([tuple([Atom(atom.size, atom.stride, base) for atom in axis]) for axis in contiguous_axes(shape)])


class _AtomSplitter:
    """An algorithm that splits a list of atoms into the dims of a shape."""

    def __init__(self, atoms: Atoms, shape: Sequence[Dim], assumptions: Assumptions) -> None:
        self.remaining_atoms, self.remaining_dims = list(atoms[::-1]), list(shape[::-1])
        self.assumptions = assumptions
        self.result: list[list[Atom]] = []

    def split(self) -> StridedAxes:
        """Split the atoms, and return the layout of the shape.

        If no atoms remain, all remaining dims are 1 and get no atoms.
        """
        while self.remaining_dims:
            self.result.append([])
            while self.remaining_atoms and self.remaining_dims[-1] != 1:
                self._fill_dim(self.remaining_dims[-1])
            self.remaining_dims.pop()
        return tuple([tuple(axis) for axis in self.result])

    def _fill_dim(self, rest: Dim) -> None:
        """Add the next atom or its outer part to the current dim.

        `rest` is the factor of the current dim that has no atoms yet.
        """
        size = self.remaining_atoms[-1].size
        if rest == size or self.assumptions.divides(size, rest):
            part = size
        elif self.assumptions.divides(rest, size):
            part = rest
        else:
            part = _common_factor(rest, size)
        if part == 1:
            self._mix_axes()
            return
        self.result[-1].append(self._pop_outer_part(part))
        self.remaining_dims[-1] = dims.quotient(rest, part)

    def _pop_outer_part(self, size: Dim) -> Atom:
        """Split the next atom at `size`, and pop the outer part."""
        atom = self.remaining_atoms.pop()
        if size == atom.size:
            return atom
        inner = dims.quotient(atom.size, size)
        self.remaining_atoms.append(Atom(inner, atom.stride, *atom.space))
        return Atom(size, _multiply(atom.stride, inner), *atom.space)

    def _mix_axes(self) -> None:
        """Mix the axes up to the next common boundary of atoms and dims.

        The atoms before the boundary become a base tensor. Each dim before the boundary gets an atom that steps through
        this base tensor.
        """
        atom_count, part, dim_count, rest = self._find_next_boundary()
        atoms = [self.remaining_atoms.pop() for _ in range(atom_count)] + (
            [self._pop_outer_part(part)] if part != 1 else []
        )
        base = self.assumptions.intern(merge_atoms(atoms))
        sizes = [self.remaining_dims[-1 - axis] for axis in range(dim_count)] + ([rest] if rest != 1 else [])
        stride = dims.product(sizes)
        for axis, size in enumerate(sizes):
            stride = dims.quotient(stride, size)
            self.result[-1] += [Atom(size, stride, base)] if size != 1 else []
            self.remaining_dims[-1] = dims.quotient(self.remaining_dims[-1], size)
            if axis < len(sizes) - 1:
                self.remaining_dims.pop()
                self.result.append([])

    def _find_next_boundary(self) -> tuple[int, Dim, int, Dim]:
        """Find the next common boundary of atoms and dims.

        The first result is the number of complete atoms before the boundary, and the second is the size of the outer
        part of the next atom. The last two results are the same values for the dims. The size of an empty part is 1.
        """
        sizes, new_sizes = [atom.size for atom in self.remaining_atoms[::-1]], self.remaining_dims[::-1]
        products, new_products = (
            _running_products(sizes[:BOUNDARY_LOOKAHEAD]),
            _running_products(new_sizes[:BOUNDARY_LOOKAHEAD]),
        )
        for total in range(1, len(products) + len(new_products)):
            for i in range(max(0, total - len(new_products) + 1), min(total + 1, len(products))):
                a, b = products[i], new_products[total - i]
                cut = _common_multiple(a, b)
                if (
                    cut != 1
                    and self._is_boundary_at(cut, products, i)
                    and self._is_boundary_at(cut, new_products, total - i)
                ):
                    return i, dims.quotient(cut, a), total - i, dims.quotient(cut, b)
        ends = {volume: i for i, volume in enumerate(_running_products(sizes))}
        i, j = next(
            (ends[volume], j) for j, volume in enumerate(_running_products(new_sizes)) if j and ends.get(volume)
        )
        return i, 1, j, 1

    def _is_boundary_at(self, cut: Dim, products: Sequence[Dim], index: int) -> bool:
        """Return whether `cut` equals `products[index]` or splits the next factor.

        `products` are the running products of the factors. The cut splits the next factor if `products[index]` divides
        `cut`, and `cut` divides the next product.
        """
        if cut == products[index]:
            return True
        divides, is_last = self.assumptions.divides, index + 1 == len(products)
        return not is_last and divides(products[index], cut) and divides(cut, products[index + 1])


def _running_products(sizes: Iterable[Dim]) -> list[Dim]:
    """Return the products of all prefixes of `sizes`."""
    products: list[Dim] = [1]
    for size in sizes:
        products.append(_multiply(products[-1], size))
    return products


def _multiply(a: Dim, b: Dim) -> Dim:
    return a * b if type(a) is int and type(b) is int else dims.product((a, b))


def _common_factor(a: Dim, b: Dim) -> Dim:
    """Return the greatest common divisor of two dims.

    Returns 1 if one of the dims is a fraction.
    """
    if type(a) is int and type(b) is int:
        return gcd(a, b)
    if not (dims.is_always_integral(a) and dims.is_always_integral(b)):
        return 1
    one, other = dims.monomial(a), dims.monomial(b)
    other_powers = dict(other.powers)
    powers = {name: min(power, other_powers.get(name, 0)) for name, power in one.powers}
    return dims.lowest_terms(gcd(one.numerator, other.numerator), 1, powers)


def _common_multiple(a: Dim, b: Dim) -> Dim:
    """Return the least common multiple of two dims."""
    if type(a) is int and type(b) is int:
        return lcm(a, b)
    one, other = dims.monomial(a), dims.monomial(b)
    powers = dict(one.powers)
    for name, power in other.powers:
        powers[name] = max(power, powers.get(name, power))
    return dims.lowest_terms(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator), powers)


def split_atoms(atoms: Sequence[Atom], shape: Sequence[Dim], assumptions: Assumptions) -> StridedAxes | None:
    """Split atoms into the dims of `shape`, or return None if the dims mix.

    Dims mix if a boundary of `shape` is inside an atom that cannot be split there, or if the volumes differ.

    >>> from shapecalc.core.conditions import Assumptions
    >>> axes = split_atoms((Atom(2, 8), Atom(8, 1)), (4, 4), Assumptions())
    >>> [[(atom.size, atom.stride) for atom in axis] for axis in axes]
    [[(2, 8), (2, 4)], [(4, 1)]]
    >>> split_atoms((Atom(2, 3), Atom(3, 1)), (3, 2), Assumptions()) is None
    True
    """
    if _volume(atoms) != dims.product(shape):
        return None
    axes = _AtomSplitter(tuple(atoms), shape, assumptions).split()
    return None if any(atom.base for axis in axes for atom in axis) else axes


class View(Record):
    """A tensor after a chain of moves: its layout and its offset in the input."""

    axes: StridedAxes
    offset: Sum = ()
    """The lowest flat input index that a strided view reads, as the terms of a sum.

    At this index, forward atoms have index 0, and reversed atoms have their last index. At `first_index`, all atoms
    have index 0.
    """
    fixed: frozenset[IndexSpace] = frozenset()
    """The index spaces of the atoms that a slice reduced to one index."""

    @property
    def is_strided(self) -> bool:
        """Whether the view has neither mixed nor rolled axes.

        All atoms of a strided view step through the input.
        """
        if self.fixed:
            return False
        for axis in self.axes:
            for atom in axis:
                if atom.base:
                    return False
        return True

    @property
    def first_index(self) -> int:
        """The flat input index of the first element of a strided, concrete view."""
        numbers: list[Any] = [(atom.size, atom.stride) for axis in self.axes for atom in axis if is_reversed(atom)]
        return sum([stride * (1 - size) for size, stride in numbers], sum(self.offset))  # type: ignore[arg-type]

    def apply_move(self, move: Move, input_shape: Shape, assumptions: Assumptions) -> View:
        """Apply a move to this view.

        `input_shape` is the shape of the view; it must not contain 0. Raises `ShapeError` (usage) for the op `shape`,
        because this op moves no elements.
        """
        if isinstance(move, Permute):
            return View(tuple([self.axes[axis] for axis in move.axes]), self.offset, self.fixed)
        if isinstance(move, StridedSlice):
            slicer = _ViewSlicer(assumptions)
            rows = zip(self.axes, input_shape, move.axis_ranges, strict=True)
            sliced = [slicer.slice_axis(atoms, dim, *positions) for atoms, dim, positions in rows]
            return slicer.build_view(
                [axis for axis, size in zip(sliced, move.sizes, strict=True) if size is not None], self
            )
        if isinstance(move, Roll):
            return _apply_roll(self, move.axis, move.shift, assumptions)
        if isinstance(move, Take):
            return _apply_take(self, move, input_shape, assumptions)
        if isinstance(move, ShapeVector):
            raise usage_error("shape returns dims, so no element moves")
        is_expand = isinstance(move, Expand)
        axes = (
            _expand_axes(self.axes, input_shape, move.shape)
            if is_expand
            else reshape_axes(self.axes, move.shape, assumptions)
        )
        return View(axes, self.offset, self.fixed)

    def normalize(self, assumptions: Assumptions) -> View:
        """Return the equivalent view with the fewest atoms.

        Two normalized views without mixed or rolled axes are equal if and only if they read the same elements.
        """
        view = View(normalize_axes(self.axes, assumptions), self.offset, self.fixed)
        while not view.is_strided and (resolved := _resolve_single_bases(view, assumptions)) != view:
            view = resolved
        return view


def contiguous_view(shape: Shape) -> View:
    """Return the view of a contiguous tensor."""
    return View(contiguous_axes(shape))


def view_after_moves(shape: Shape, moves: Iterable[Move], assumptions: Assumptions) -> View:
    """Return the normalized view of a tensor of `shape` after all moves.

    No dim may be 0. Raises `ShapeError` (usage) for the op `shape`. Raises `Undecided` if the axes remain mixed for
    more than `MAX_AXIS_MIXING_STAGES` consecutive moves.

    >>> view_after_moves((4, 3), [StridedSlice((3, 0), (-1, 1), (4, None))], Assumptions())
    View(axes=((Atom(size=4, stride=-3, base=(), start=()),),), offset=(), fixed=frozenset())
    """
    view, mixed = contiguous_view(shape), 0
    for move in moves:
        view, shape = view.apply_move(move, shape, assumptions), move.output_shape(shape)
        mixed = 0 if view.is_strided else mixed + 1
        if mixed > MAX_AXIS_MIXING_STAGES:
            raise Undecided
    return view.normalize(assumptions)


class _ViewSlicer:
    """An algorithm that slices the axes of a view.

    It collects the terms that the slices add to the offset. If a slice reduces an atom to one index, it also collects
    the index space of the atom.
    """

    def __init__(self, assumptions: Assumptions) -> None:
        self.assumptions = assumptions
        self.offset: list[Dim] = []
        self.fixed: set[IndexSpace] = set()

    def slice_axis(self, atoms: Atoms, dim: Dim, start: Dim, step: int, size: Dim | None) -> Atoms:
        """Return the atoms of a sliced axis.

        A negative `start` counts from the end of the axis, and a negative `step` goes backwards. If `size` is None, a
        single index is selected.
        """
        count = 1 if size is None else size
        if isinstance(dim, int) and isinstance(start, int):
            start %= dim
        elif isinstance(start, int) and start < 0:
            atoms, start, step = reverse_axis(atoms), -1 - start, -step
        if step > 0 or count == 1:
            return self.slice_atoms(merge_atoms(atoms), start, step, count)
        lowest = start + step * (count - 1)  # type: ignore[operator]  # both are numbers
        return reverse_axis(self.slice_atoms(merge_atoms(atoms), lowest, -step, count))

    def slice_atoms(self, atoms: Atoms, start: Dim, step: Dim, count: Dim) -> Atoms:
        """Return the atoms of a range of `count` indices.

        The range starts at `start`, and its indices are `step` apart.
        """
        if count == 1:
            step = 1
        if not atoms or (start == 0 and step == 1 and count == _volume(atoms)):
            return atoms
        if len(atoms) == 1:
            return self._slice_atom(atoms[0], start, step, count)
        parts = self._split_index_range(start, step, count, _volume(atoms[1:]))
        if parts:
            return self._slice_atom(atoms[0], *parts[0]) + self.slice_atoms(atoms[1:], *parts[1])
        return self._drop_unit_atom(Atom(count, step, self.assumptions.intern(atoms), dims.sum_terms((start,))))

    def _slice_atom(self, atom: Atom, start: Dim, step: Dim, count: Dim) -> Atoms:
        """Return the atoms of a range of indices of one atom.

        Index 0 is the first index that the atom reads. In a reversed atom, this is the index with the highest offset.
        """
        sign = -1 if is_reversed(atom) else 1
        first = dims.sum_terms((start,))
        if sign == -1:
            extent = start, dims.product((step, count))
            first = dims.sum_terms((atom.size, -1, *[dims.product((-1, term)) for term in extent], step))
        if not atom.base:
            self.offset += [dims.product((sign, atom.stride, term)) for term in first]
        elif atom.size == _volume(atom.base):
            base_start = _reduce_start(dims.sum_terms((*atom.start, *first)), atom.size, self.assumptions)
            return self._drop_unit_atom(Atom(count, dims.product((sign, step)), atom.base, base_start))
        elif first or not self.assumptions.divides(dims.product((step, count)), atom.size):
            forward = (atom,) if sign == 1 else reverse_axis((atom,))
            return self._drop_unit_atom(
                Atom(count, dims.product((sign, step)), self.assumptions.intern(forward), first)
            )
        return self._drop_unit_atom(Atom(count, dims.product((atom.stride, step)), *atom.space))

    def _drop_unit_atom(self, atom: Atom) -> Atoms:
        """Return a tuple of the atom, or an empty tuple if the atom has size 1.

        The index space of a dropped atom is recorded.
        """
        if atom.size != 1:
            return (atom,)
        if atom.base:
            self.fixed.add(atom.space)
        return ()

    def _split_index_range(
        self, start: Dim, step: Dim, count: Dim, inner_size: Dim
    ) -> tuple[IndexRange, IndexRange] | None:
        """Split a range of indices into an outer and an inner range.

        `inner_size` is the volume of the inner atoms. Returns None if the range is not the product of an outer and an
        inner range.
        """
        quotient = self._divide_with_remainder(start, inner_size)
        if quotient is None:
            return None
        (outer, inner), divides = quotient, self.assumptions.divides
        if divides(inner_size, step):
            return (outer, dims.quotient(step, inner_size), count), (inner, 1, 1)
        if self._is_within(inner, step, count, inner_size):
            return (outer, 1, 1), (inner, step, count)
        inner_count = dims.quotient(inner_size, step)
        if divides(step, inner_size) and divides(inner_count, count) and _is_below(inner, step):
            return (outer, 1, dims.quotient(count, inner_count)), (inner, step, inner_count)
        return None

    def _divide_with_remainder(self, number: Dim, divisor: Dim) -> tuple[Dim, Dim] | None:
        """Return the quotient and the remainder, or None if they depend on sizes."""
        ratio = dims.quotient(number, divisor)
        if self.assumptions.is_integral(ratio):
            return ratio, 0
        if dims.monomial(ratio).powers:
            return None
        return dims.monomial(ratio).numerator // dims.monomial(ratio).denominator, _fractional_part(ratio, divisor)

    def _is_within(self, start: Dim, step: Dim, count: Dim, size: Dim) -> bool:
        if count == 1:
            return True
        if dims.is_concrete((start, step, count, size)):
            return start + step * (count - 1) < size  # type: ignore[operator]  # all are numbers
        return step == 1 and self.assumptions.divides(count, size) and self.assumptions.divides(count, start)

    def resolve_atom(self, atom: Atom) -> Atoms:
        """Replace an atom with the atoms of its base tensor.

        An atom that wraps around the end of its base tensor is not replaced.
        """
        if is_take_table(atom.base):
            return self._drop_unit_atom(atom) if atom.size != 1 else self._look_up_table(atom)
        if is_reversed(atom):
            return reverse_axis(self.resolve_atom(reverse_axis((atom,))[0]))
        if not atom.start:
            return self.slice_atoms(atom.base, 0, atom.stride, atom.size)
        first, *others = atom.start
        size = _volume(atom.base)
        if others or not self._is_within(first, atom.stride, atom.size, size) or not _is_below(first, size):
            return self._drop_unit_atom(atom)
        return self.slice_atoms(atom.base, first, atom.stride, atom.size)

    def _look_up_table(self, atom: Atom) -> Atoms:
        """Replace an atom of size 1 with the atoms that its index table selects."""
        (table,), position = atom.base, sum(atom.start)  # type: ignore[arg-type]  # the size of a table is a number
        index = int(str(table.stride)[len(TABLE_PREFIX) :].split(",")[position % int(str(table.size))])
        return (
            self.slice_atoms(table.base, index, 1, 1)
            if index >= 0
            else self.slice_atoms(reverse_axis(table.base), 0, 1, 1)
        )

    def build_view(self, axes: Iterable[Atoms], source: View) -> View:
        """Return the view with the sliced axes of `source`."""
        return View(tuple(axes), dims.sum_terms((*source.offset, *self.offset)), source.fixed | self.fixed)


def _resolve_single_bases(view: View, assumptions: Assumptions) -> View:
    """Replace each atom that is alone in its index space and does not wrap around."""
    counts = count_atoms_by_index_space(view)
    slicer = _ViewSlicer(assumptions)

    def resolve(atom: Atom) -> Atoms:
        is_single = bool(atom.base) and counts[atom.space] == 1
        return slicer.resolve_atom(atom) if is_single else (atom,)

    axes = tuple([tuple([part for atom in axis for part in resolve(atom)]) for axis in view.axes])
    for space in view.fixed:
        if space not in counts:
            slicer.resolve_atom(Atom(1, 1, *space))
    return slicer.build_view(normalize_axes(axes, assumptions), View((), view.offset))


def count_atoms_by_index_space(view: View) -> dict[IndexSpace, int]:
    """Count the atoms of a view in each index space.

    The atoms of base tensors are also counted.
    """
    counts: dict[IndexSpace, int] = {}
    pending = [atom for axis in view.axes for atom in axis]
    pending += [atom for base, _ in view.fixed for atom in base]
    while pending:
        space = pending.pop().space
        pending += () if space in counts else space[0]
        counts[space] = counts.get(space, 0) + 1
    return counts


def _apply_roll(view: View, axis: int, shift: int, assumptions: Assumptions) -> View:
    """Shift one axis of a view cyclically by `shift`."""
    (atoms,) = normalize_axes(view.axes[axis : axis + 1], assumptions)
    if all(atom.stride == 0 for atom in atoms):
        return view
    if len(atoms) == 1 and atoms[0].stride in (1, -1) and atoms[0].size == _volume(atoms[0].base):
        (atom,) = atoms
    else:
        reverse = is_reversed(next(atom for atom in atoms if atom.stride != 0))
        base = assumptions.intern(reverse_axis(atoms) if reverse else atoms)
        atom = Atom(_volume(atoms), -1 if reverse else 1, base)
    start = dims.sum_terms((*atom.start, -shift * atom.stride))  # type: ignore[operator]  # the stride is 1 or -1
    atom = Atom(atom.size, atom.stride, atom.base, _reduce_start(start, atom.size, assumptions))
    return View((*view.axes[:axis], (atom,), *view.axes[axis + 1 :]), view.offset, view.fixed)


def _apply_take(view: View, move: Take, input_shape: Shape, assumptions: Assumptions) -> View:
    """Select indices on one axis of a view.

    The new axis is a range, a repeated index or an index table.
    """
    count, regular = len(move.positions), move.start_and_step
    if regular is None:
        (atoms,) = normalize_axes(view.axes[move.axis : move.axis + 1], assumptions)
        table = Atom(
            count, dims.named_dim(TABLE_PREFIX + ",".join(map(str, move.positions))), assumptions.intern(atoms)
        )
        axis: Atoms = (Atom(count, 1, (table,)),) if any(atom.stride != 0 for atom in atoms) else (Atom(count, 0),)
    else:
        first, step = regular
        ranges = [(0, 1, dim) for dim in input_shape]
        ranges[move.axis] = (first, step or 1, count if step else 1)
        view = view.apply_move(StridedSlice(*zip(*ranges, strict=True)), input_shape, assumptions)
        axis = view.axes[move.axis] if step else (Atom(count, 0),)
    return View((*view.axes[: move.axis], axis, *view.axes[move.axis + 1 :]), view.offset, view.fixed)


def _reduce_start(start: Sum, size: Dim, assumptions: Assumptions) -> Sum:
    """Reduce the terms of a start modulo `size` where the remainders are known."""
    multiples = [dims.product((fraction, size)) for fraction in assumptions.integral_quotients]
    modulus = gcd(*[number for number in multiples if isinstance(number, int)])
    terms = list[Dim]()
    for term in start:
        ratio = dims.quotient(term, size)
        if isinstance(term, int) and modulus:
            terms.append(term % modulus)
        elif not assumptions.is_integral(ratio):
            terms.append(term if dims.monomial(ratio).powers else _fractional_part(ratio, size))
    return dims.sum_terms(terms)


def _fractional_part(ratio: Dim, size: Dim) -> Dim:
    """Return the fractional part of `ratio`, multiplied by `size`."""
    part = dims.monomial(ratio)
    return dims.product((size, dims.lowest_terms(part.numerator % part.denominator, part.denominator, {})))


def _is_below(number: Dim, limit: Dim) -> bool:
    return number == 0 or (isinstance(number, int) and isinstance(limit, int) and number < limit)


def _volume(atoms: Iterable[Atom]) -> Dim:
    return dims.product([atom.size for atom in atoms])


class MoveChain(Record):
    """A chain of moves with the shape of its input."""

    input: Shape
    moves: tuple[Move, ...]

    @lazy
    def shapes(self) -> tuple[Shape, ...]:
        """Collect the input shape and the shape after each move."""
        shapes = [self.input]
        for move in self.moves:
            shapes.append(move.output_shape(shapes[-1]))
        return tuple(shapes)

    @lazy
    def dims(self) -> Shape:
        """Collect the distinct dims of all shapes."""
        return tuple({dim: None for shape in self.shapes for dim in shape})

    @property
    def output(self) -> Shape:
        """The shape after the last move."""
        return self.shapes[-1]

    def substitute(self, replacements: Mapping[str, Dim]) -> MoveChain:
        """Return the chain with the names replaced by dims."""
        shape, moves = _substitute_in_shape(self.input, replacements), list[Move]()
        for move in self.moves:
            size = shape[move.axis] if isinstance(move, Take) else None
            move = _substitute_in_move(move, replacements)
            if isinstance(move, Take) and isinstance(size, int) and size:
                move = Take(move.axis, tuple([index % size for index in move.positions]))
            moves.append(move)
            shape = move.output_shape(shape)
        return MoveChain(_substitute_in_shape(self.input, replacements), tuple(moves))

    def view(self, assumptions: Assumptions) -> View:
        """Return the view of the output.

        The view has no axes if any dim of the chain is 0.
        """
        return View(()) if 0 in self.dims else view_after_moves(self.input, self.moves, assumptions)


def _substitute_in_move(move: Move, replacements: Mapping[str, Dim]) -> Move:
    if isinstance(move, Reshape | Expand):
        return type(move)(_substitute_in_shape(move.shape, replacements))
    if isinstance(move, StridedSlice):
        sizes = tuple([size if size is None else dims.substitute_dims(size, replacements) for size in move.sizes])
        return StridedSlice(_substitute_in_shape(move.starts, replacements), move.steps, sizes)
    if isinstance(move, Combine):
        operands = tuple([_substitute_in_shape(shape, replacements) for shape in move.operands])
        return replace(move, shape=_substitute_in_shape(move.shape, replacements), operands=operands)
    return move


def _substitute_in_shape(shape: Shape, replacements: Mapping[str, Dim]) -> Shape:
    return tuple([dims.substitute_dims(dim, replacements) for dim in shape])


def input_index(chain: MoveChain, output_index: int) -> int:
    """Return the flat input index of an output element.

    Flat indices are in C order.

    >>> from shapecalc.core.moves import Permute
    >>> [input_index(MoveChain((2, 3), (Permute((1, 0)),)), place) for place in range(6)]
    [0, 3, 1, 4, 2, 5]
    """
    index = unravel(output_index, chain.output)
    for shape, move in zip(chain.shapes[-2::-1], chain.moves[::-1], strict=True):
        index = index_before_move(index, shape, move)
    flat_index: int = ravel(index, chain.input)
    return flat_index


def apply_chain(chain: MoveChain, elements: array[int]) -> array[int]:
    """Apply a chain of moves to the elements of its input, in C order.

    Every dim must be a positive integer.

    >>> from shapecalc.core.moves import Permute
    >>> apply_chain(MoveChain((2, 3), (Permute((1, 0)),)), array("q", range(6))).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    result, view, shape, assumptions = elements, contiguous_view(chain.input), chain.input, Assumptions()
    for move in chain.moves:
        next_view = view.apply_move(move, shape, assumptions)
        if not next_view.is_strided:
            result, next_view = _gather(result, view), contiguous_view(move.output_shape(shape))
            if isinstance(move, Roll | Take):
                result = _concatenate_segments(result, shape, move)
            else:
                next_view = contiguous_view(shape).apply_move(move, shape, assumptions)
        view, shape = next_view, move.output_shape(shape)
    return _gather(result, view)


def _concatenate_segments(source: array[int], shape: Shape, move: Roll | Take) -> array[int]:
    """Apply a roll or a take by concatenating segments of its axis."""
    sizes: list[Any] = [*shape]
    inner, result = prod(sizes[move.axis + 1 :]), array("q")
    for start in range(0, len(source), inner * sizes[move.axis]):
        for first, count in move.segments(sizes[move.axis]):
            result += source[start + first * inner : start + (first + count) * inner]
    return result


def _gather(source: array[int], view: View) -> array[int]:
    """Return the elements that a view reads from `source`, in C order.

    For each index of the other atoms, one slice assignment copies all elements of the longest atom.
    """
    steps = [(atom.size, atom.stride) for atom in merge_atoms([atom for axis in view.axes for atom in axis])] or [
        (1, 1)
    ]
    sizes = [int(str(size)) for size, _ in steps]
    strides = [int(str(stride)) for _, stride in steps]
    longest = max(range(len(sizes)), key=sizes.__getitem__)
    result = array("q", bytes(8 * prod(sizes)))
    starts, targets = [view.first_index], [0]
    for position, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if position != longest:
            step = prod(sizes[position + 1 :])
            starts = [start + index * stride for start in starts for index in range(size)]
            targets = [target + index * step for target in targets for index in range(size)]
    size, stride, step = sizes[longest], strides[longest], prod(sizes[longest + 1 :])
    for start, target in zip(starts, targets, strict=True):
        result[target : target + size * step : step] = _take_strided(source, start, stride, size)
    return result


def _take_strided(source: array[int], start: int, stride: int, size: int) -> array[int]:
    """Return `size` elements of `source`, from `start` in steps of `stride`.

    A stride of 0 repeats one element.
    """
    if stride == 0:
        return source[start : start + 1] * size
    end = start + size * stride
    return source[start : end if end >= 0 else None : stride]


def _equalize_volumes(before: Sequence[Dim], after: Sequence[Dim]) -> tuple[Shape, Shape]:
    """Replace zeros and names in two shapes so that their volumes are equal."""
    before = replace_zeros(before)
    after = replace_zeros(after, dims.product(before))
    try:
        solved = solve_equalities(require_equal(dims.product(before), dims.product(after)))
    except Unsatisfiable:
        solved = {}
    return _substitute_in_shape(before, solved), _substitute_in_shape(after, solved)


def replace_zeros(shape: Sequence[Dim], volume: Dim = 0) -> Shape:
    """Replace each 0 in a shape with the name `ZERO_NAME`.

    If the quotient of `volume` and the other dims contains this name, the last 0 is replaced with the quotient.

    >>> replace_zeros((2, 0, 3)), replace_zeros((0, 2), dims.product((4, dims.named_dim(ZERO_NAME))))
    ((2, 0, 3), (2*0, 2))
    """
    sizes = [dims.named_dim(ZERO_NAME) if dim == 0 else dim for dim in shape]
    if 0 in shape:
        last = len(sizes) - 1 - list(shape)[::-1].index(0)
        rest = dims.quotient(volume, dims.product(sizes[:last] + sizes[last + 1 :]))
        if ZERO_NAME in dims.dim_names((rest,)):
            sizes[last] = rest
    return tuple(sizes)


def match_unit_axes(before: Shape, after: Shape) -> tuple[tuple[int, int], ...]:
    """Match the unit axes of the output of a reshape to unit axes of its input.

    A unit axis has size 1. Two axes match if the products of the dims to their left are equal. Returns pairs of an
    output axis and an input axis.

    >>> match_unit_axes((2, 3, 1), (6, 1))
    ((1, 2),)
    """
    old, new = map(_unit_axes_by_volume, _equalize_volumes(before, after) if 1 in after else ((), ()))
    return tuple([pair for volume, axes in new.items() for pair in zip(axes, old.get(volume, ()), strict=False)])


def _unit_axes_by_volume(shape: Shape) -> dict[Dim, list[int]]:
    """Group the axes of size 1 by the product of the dims to their left."""
    axes: dict[Dim, list[int]] = {}
    volume: Dim = 1
    for axis, dim in enumerate(shape):
        if dim == 1:
            axes.setdefault(volume, []).append(axis)
        volume = _multiply(volume, dim)
    return axes
