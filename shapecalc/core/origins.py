"""Origins: the input axes that determine each output dim of an answer.

The wires in pictures, the sentences, the generated code and `--json` are derived from origins. An origin is a list of
atoms, from the outermost to the innermost. The product of the atoms' sizes is the dim, and each atom is a mixed-radix
digit of the index on the dim. If no dim mixes an input axis, the index on the axis is (start + the sum of stride *
digit over all atoms of the axis) mod the size of the axis. If some dim mixes the axis, the digit of an atom of the axis
is floor((index - start) / stride) mod the size of the atom.

A mixed dim takes `size` steps of `stride` through a flat index over several axes. The dim depends on one of these axes
if the axis' digit of the flat index changes along the dim; see `_OriginAnalysis._is_varying_digit`.

A reshape keeps the elements in order. A boundary is the position between two dims. A boundary is common to the old and
the new shape if the product of the dims to its left is equal in both shapes. The axes between two common boundaries
form a group. The axes of a group mix if some new axis is not a product of whole factors of old axes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import gcd, prod

from shapecalc.core import dims, layout
from shapecalc.core.conditions import Assumptions, Conditions, Undecided, Unsatisfiable, require_equal
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.moves import Combine, Expand, Move, OperandAxis, Permute, Reshape, StridedSlice, Take
from shapecalc.core.record import Record, fields, replace

TYPE_CHECKING = False  # importing `typing` costs 2 ms of the 36 ms of a request with --json
if TYPE_CHECKING:
    from typing import Any, TypeAlias

MAX_ENUMERATED_ELEMENTS = 1 << 16
"""The maximum number of elements that are enumerated to determine the input axes of a dim."""

MAX_COMPARED_AXES = 64
"""The maximum number of input axes that are compared with a mixed dim. Above this limit, the reported axes are inexact.
"""

MAX_RESIDUES = 1 << 20
"""The maximum modulus for which the residues of a flat index are enumerated."""

MAX_LISTED_AXES = 12
"""The maximum number of axes that a sentence lists individually."""

INPUT_SPACE: layout.IndexSpace = ((), ())
"""The index space of the atoms that step through the input."""


class AxisAtom(Record):
    """A digit of an input axis: `size` indices that are `stride` apart."""

    axis: int
    size: Dim
    stride: Dim
    start: Sum = ()
    """The index on the axis at which all digits are 0, as the terms of a sum.

    All atoms of an axis have the same start.
    """
    operand: int = 0
    """The number of the operand with this axis. The input is operand 0, and the other operands are numbered from 1."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object documented in shapecalc(1)."""
        result = {"axis": self.axis, "size": dims.to_json(self.size), "stride": dims.to_json(self.stride)}
        result |= {"start": dims.sum_to_json(self.start)} if self.start else {}
        return result | ({"operand": self.operand} if self.operand else {})


class RepeatAtom(Record):
    """A digit that repeats the same elements `size` times."""

    size: Dim

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object documented in shapecalc(1)."""
        return {"repeats": dims.to_json(self.size)}


class MixedAtom(Record):
    """A dim whose index is not composed of digits of input axes."""

    axes: tuple[int, ...]
    exact: bool = True
    """Whether the dim is proven to depend on all of `axes`. If False, it may depend on only some of them."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object documented in shapecalc(1)."""
        return {"mixes": [*self.axes]} | ({} if self.exact else {"exact": False})


class ComputedAtom(Record):
    """A dim whose elements are computed from elements along `operand_axes`."""

    operand_axes: tuple[OperandAxis, ...]

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object documented in shapecalc(1)."""
        return {"reads": [{"operand": operand, "axis": axis} for operand, axis in self.operand_axes]}


class ConcatAtom(Record):
    """A dim that is a concatenation of operand dims."""

    parts: tuple[Origin, ...]

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object documented in shapecalc(1)."""
        return {"joins": [[atom.as_json() for atom in part] for part in self.parts]}


OriginAtom: TypeAlias = AxisAtom | RepeatAtom | MixedAtom | ComputedAtom | ConcatAtom
Origin: TypeAlias = tuple[OriginAtom, ...]
"""The atoms of one dim, from the outermost to the innermost. A new dim of 1 has no atoms."""
Origins = tuple[Origin | None, ...]
"""The origin of each dim. The origin is None after the op `shape`, whose output contains no input elements."""


GROUP_VERBS = ("stays", "splits into"), ("merge into", "split and merge into")
"""The verb for each kind of group.

The first index is True for several input axes, and the second for several output axes.
"""


class AxisChange(Record):
    """A group of input axes and the output axes that depend on them."""

    sources: tuple[int, ...]
    outputs: tuple[int, ...]
    is_mixed: bool = False
    """Whether an output axis of the group mixes input axes."""
    is_partial: bool = False
    """Whether the output axes depend on parts of the input axes, while other parts are mixed."""

    @property
    def verb(self) -> str:
        """The verb that relates the input axes to the output axes."""
        if self.is_partial:
            return "become"
        if not self.sources or not self.outputs:
            return "is new" if self.outputs else "is dropped"
        several = len(self.sources) > 1, len(self.outputs) > 1
        return "mix into" if self.is_mixed and any(several) else GROUP_VERBS[several[0]][several[1]]


def compute_origins(moves: layout.MoveChain, conditions: Conditions, unit_axes: tuple[tuple[int, int], ...]) -> Origins:
    """Return the origin of each output dim.

    The origins hold for all sizes that satisfy the conditions. `unit_axes` contains pairs of an output axis and an
    input axis, both of size 1. If the output axis of a pair has no other origin, its origin is the input axis.

    >>> compute_origins(layout.MoveChain((2, 6), (Reshape((4, 3)),)), (), ())[0]
    (AxisAtom(axis=0, size=2, stride=1, start=(), operand=0), AxisAtom(axis=1, size=2, stride=3, start=(), operand=0))
    """
    match moves.moves:
        case (*_, Permute(axes=axes)):
            others = moves.moves[:-1]  # a chain can have more consecutive permutations than the maximum recursion depth
            while others and isinstance(last := others[-1], Permute):
                axes, others = tuple([last.axes[axis] for axis in axes]), others[:-1]
            ones = tuple([(axes[out], axis) for out, axis in unit_axes])
            inner = _compute_cached_origins(layout.MoveChain(moves.input, others), conditions, ones)
            return tuple([inner[axis] for axis in axes])
        case (Permute(axes=axes) as permute, Reshape() as reshape) if 0 not in moves.dims:
            ones = tuple([(out, axes.index(axis)) for out, axis in unit_axes])
            permuted = layout.MoveChain(permute.output_shape(moves.input), (reshape,))
            inner = _compute_cached_origins(permuted, conditions, ones)
            return tuple([_rename_axes(origin or (), axes) for origin in inner])
    return _analyze_origins(moves, conditions, dict(unit_axes))


_compute_cached_origins = lru_cache(maxsize=64)(compute_origins)
"""`compute_origins` with a cache, because the prefixes and the stages of a chain share moves."""


def _rename_axes(origin: Origin, axes: tuple[int, ...]) -> Origin:
    """Replace each input axis in an origin with its entry in `axes`."""
    result = list[OriginAtom]()
    for atom in origin:
        if isinstance(atom, AxisAtom):
            atom = replace(atom, axis=axes[atom.axis])
        elif isinstance(atom, MixedAtom):
            atom = replace(atom, axes=tuple(sorted([axes[axis] for axis in atom.axes])))
        result.append(atom)
    return tuple(result)


def _analyze_origins(moves: layout.MoveChain, conditions: Conditions, ones: Mapping[int, int]) -> Origins:
    """Return the origin of each output dim.

    The last move must not be a permutation.
    """
    assumptions = Assumptions(moves.dims, conditions)
    if assumptions.values:
        moves = moves.substitute(assumptions.values)
    result: list[Origin]
    try:
        if not moves.moves:
            result = [(AxisAtom(axis, dim, 1),) if dim != 1 else () for axis, dim in enumerate(moves.input)]
        elif 0 in moves.dims:
            result = [*_compute_empty_tensor_origins(moves, assumptions)]
        else:
            result = [*_OriginAnalysis(moves, assumptions).compute_origins()]
    except Undecided:
        all_axes = MixedAtom(tuple([axis for axis, dim in enumerate(moves.input) if dim != 1]), exact=False)
        result = [(all_axes,) if dim != 1 else () for dim in moves.output]
    for out, dim in enumerate(moves.output):
        if not result[out] and out in ones:
            result[out] = (AxisAtom(ones[out], dim, 1),)
        elif dim == 0:
            result[out] = _set_zero_size(result[out] or ())
    return tuple(result)


def _set_zero_size(origin: Origin) -> Origin:
    """Set the size of one atom to 0, if none is 0."""
    sized = [atom for atom in origin if isinstance(atom, (AxisAtom, RepeatAtom))]
    if len(sized) < len(origin) or any(atom.size == 0 for atom in sized):
        return origin
    first, *rest = sized or [RepeatAtom(0)]
    return (replace(first, size=0), *rest)


def origins_as_json(origins: Origins | None) -> object:
    """Return origins as the JSON documented in shapecalc(1)."""
    return origins and [None if dim is None else [atom.as_json() for atom in dim] for dim in origins]


def _compute_empty_tensor_origins(moves: layout.MoveChain, assumptions: Assumptions) -> tuple[Origin, ...]:
    """Return the origin of each dim of an empty tensor.

    During the analysis, a name replaces each 0.
    """
    shape = input_shape = layout.replace_zeros(moves.input)
    named_moves = list[Move]()
    for move in moves.moves:
        if isinstance(move, Reshape):
            move = Reshape(layout.replace_zeros(move.shape, dims.product(shape)))
        elif isinstance(move, Expand):
            move = Expand(layout.replace_zeros(move.shape))
        elif isinstance(move, StridedSlice):
            rows = zip(move.starts, move.steps, move.sizes, shape, strict=True)
            ranges = [(0, 1, dim) if size == 0 else (start, step, size) for start, step, size, dim in rows]
            move = StridedSlice(*zip(*ranges, strict=True))
        elif isinstance(move, Take) and not move.positions:
            continue
        named_moves.append(move)
        shape = move.output_shape(shape)
    result = _OriginAnalysis(layout.MoveChain(input_shape, tuple(named_moves)), assumptions).compute_origins()
    return tuple([tuple([_restore_zeros(atom) for atom in origin]) for origin in result])


def _restore_zeros(atom: OriginAtom) -> OriginAtom:
    """Substitute 0 for `ZERO_NAME` in the size, stride and start of an atom."""
    if not isinstance(atom, (AxisAtom, RepeatAtom)):
        return atom
    start = {} if isinstance(atom, RepeatAtom) else {"start": dims.sum_terms(map(_restore_zero, atom.start))}
    sizes = {name: _restore_zero(size) for name, size in fields(atom).items() if name in ("size", "stride")}
    return replace(atom, **sizes, **start)


def _restore_zero(dim: Dim) -> Dim:
    """Substitute 0 for `ZERO_NAME` in a dim.

    A quotient with this divisor becomes 0.
    """
    try:
        return dims.substitute(dim, {layout.ZERO_NAME: 0})
    except ZeroDivisionError:
        return 0


def list_operand_axes(origin: Origin | None) -> list[OperandAxis]:
    """Return the operand axes that a dim depends on.

    Each operand axis is a pair of an operand number and an axis.

    >>> list_operand_axes((AxisAtom(1, 2, 1), AxisAtom(0, 3, 1, (), 2)))
    [(0, 1), (2, 0)]
    """
    result = list[OperandAxis]()
    for atom in origin or ():
        match atom:
            case AxisAtom():
                result.append((atom.operand, atom.axis))
            case MixedAtom():
                result += [(0, axis) for axis in atom.axes]
            case ComputedAtom():
                result += atom.operand_axes
            case ConcatAtom():
                result += [pair for part in atom.parts for pair in list_operand_axes(part)]
    return result


def list_input_axes(origin: Origin | None) -> tuple[int, ...]:
    """Return the input axes that a dim depends on, in ascending order.

    >>> list_input_axes((AxisAtom(2, 3, 1), AxisAtom(0, 2, 1))), list_input_axes((MixedAtom((0, 1)),))
    ((0, 2), (0, 1))
    >>> list_input_axes((RepeatAtom(2),))
    ()
    """
    return tuple(sorted({axis for operand, axis in list_operand_axes(origin) if operand == 0}))


def group_axes(
    rank: int, dependencies: Sequence[tuple[int, ...]], mixed: Collection[int] = ()
) -> tuple[AxisChange, ...]:
    """Group input axes and the dims that depend on them, as connected components.

    `dependencies` contains the input axes of each dim, and `mixed` contains the dims that mix axes. The groups are
    sorted by their input axes.

    >>> [(group.sources, group.outputs) for group in group_axes(3, [(0, 1), (1,), (), (2,)])]
    [((0, 1), (0, 1)), ((), (2,)), ((2,), (3,))]
    """
    set_of_axis = dict[int, tuple[set[int], set[int]]]()
    sets = list[tuple[set[int], set[int]]]()
    for out, axes in enumerate(dependencies):
        others = [*{id(set_of_axis[axis]): set_of_axis[axis] for axis in axes if axis in set_of_axis}.values()]
        merged = others.pop() if others else (set[int](), set[int]())
        sets += [merged] if not merged[1] else []
        merged[0].update(axes, *[other[0] for other in others])
        merged[1].update([out], *[other[1] for other in others])
        set_of_axis |= dict.fromkeys(merged[0] if others else axes, merged)
        for other in others:
            other[1].clear()
    groups = [
        AxisChange(tuple(sorted(axes)), tuple(sorted(outs)), not outs.isdisjoint(mixed)) for axes, outs in sets if outs
    ]
    groups += [AxisChange((axis,), ()) for axis in range(rank) if axis not in set_of_axis]
    inserted = {out: max([-1, *chain(*dependencies[:out])]) for out, axes in enumerate(dependencies) if not axes}
    return tuple(sorted(groups, key=lambda group: (group.sources or (inserted[group.outputs[0]], rank), group.outputs)))


def split_mixed_groups(
    groups: Iterable[AxisChange], dependencies: Sequence[tuple[int, ...]], mixed: Collection[int]
) -> list[AxisChange]:
    """Split each mixed group into subgroups of dims with the same input axes.

    Other groups are returned unchanged.

    >>> wires = [(0, 1), (0, 1), (1,)]
    >>> groups = split_mixed_groups(group_axes(2, wires, [0, 1]), wires, [0, 1])
    >>> [(group.sources, group.outputs, group.verb) for group in groups]
    [((0, 1), (0, 1), 'mix into'), ((1,), (2,), 'become')]
    """
    result = list[AxisChange]()
    for link in groups:
        if not link.is_mixed:
            result.append(link)
            continue
        outs_by_axes: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for out in link.outputs:
            outs_by_axes.setdefault((dependencies[out], out in mixed), []).append(out)
        result += [
            AxisChange(axes, tuple(outs), mixes, is_partial=not mixes) for (axes, mixes), outs in outs_by_axes.items()
        ]
    return result


def describe_reshape(before: Shape, after: Shape) -> str:
    """Describe which axes a reshape keeps, merges, splits, mixes or adds.

    >>> describe_reshape((2, 3, 4), (2, 12))
    'axis 0 stays; axes 1,2 merge into axis 1'
    >>> describe_reshape((2, 8), (4, 4)), describe_reshape((3, 4), (2, 3, 2))
    ('axes 0,1 split and merge into axes 0,1', 'axes 0,1 mix into axes 0,1; a part of axis 1 becomes axis 2')
    """
    if before == after:
        return "the shape stays the same"
    origin_of_dim = compute_reshape_origins(before, after)
    wires, mixed = [list_input_axes(origin) for origin in origin_of_dim], find_mixed_dims(origin_of_dim)
    return "; ".join(
        [_describe_group(group) for group in split_mixed_groups(group_axes(len(before), wires, mixed), wires, mixed)]
    )


@lru_cache(maxsize=64)  # the sentence of a step is formatted several times
def compute_reshape_origins(before: Shape, after: Shape) -> Origins:
    """Return the origin of each dim after a reshape.

    The origins hold for all sizes for which the volumes of both shapes are equal.
    """
    try:
        conditions = require_equal(dims.product(before), dims.product(after))
    except Unsatisfiable:
        conditions = ()
    return compute_origins(
        layout.MoveChain(before, (Reshape(after),)), conditions, layout.match_unit_axes(before, after)
    )


def find_mixed_dims(origins: Origins) -> frozenset[int]:
    """Return the indices of the dims that mix axes."""
    return frozenset([out for out, origin in enumerate(origins) if origin and isinstance(origin[0], MixedAtom)])


def _describe_group(group: AxisChange) -> str:
    """Describe a group of axes.

    The output axes are omitted if they equal the input axes.
    """
    if group.is_partial:
        one = (
            f"a part of {_format_axes(group.sources)}"
            if len(group.sources) == 1
            else f"parts of {_format_axes(group.sources)}"
        )
        return f"{one} {'becomes' if len(group.sources) == 1 else 'become'} {_format_axes(group.outputs)}"
    if not group.sources or not group.outputs or (group.verb == "stays" and group.sources == group.outputs):
        axes = group.sources or group.outputs
        prefix = "" if group.sources else "output "
        return f"{prefix}{_format_axes(axes)} {group.verb if len(axes) == 1 else group.verb.replace('is ', 'are ')}"
    verb = "becomes" if group.verb == "stays" else group.verb
    return f"{_format_axes(group.sources)} {verb} {_format_axes(group.outputs)}"


def _format_axes(axes: tuple[int, ...]) -> str:
    if len(axes) > MAX_LISTED_AXES:
        return f"axes {axes[0]} to {axes[-1]}"
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {','.join(map(str, axes))}"


class _Digit(Record):
    """A digit of a flat index, and the input axes that change with the digit."""

    size: Dim
    stride: Dim
    axes: set[int]
    exact: bool = True
    """Whether the indices on all of `axes` are proven to change. If False, only some of them may change."""


class _IndexSet(Record):
    """A set of flat indices: an offset plus any combination of steps."""

    offset: Sum
    steps: layout.Atoms
    """The steps, as atoms with positive strides."""
    exact: bool = True
    """Whether all indices in the set are proven to be read. If False, only some of them may be read."""

    @property
    def as_numbers(self) -> tuple[int, list[tuple[int, int]]] | None:
        """The offset and the steps as integers, or None if one of them is symbolic.

        A step is a pair of a size and a stride.
        """
        steps: list[Any] = [(step.size, step.stride) for step in self.steps]
        offset: Any = self.offset
        return (sum(offset), steps) if dims.is_concrete([*offset, *chain(*steps)]) else None

    @property
    def extent(self) -> int:
        """The range of the indices, or 0 if one of them is symbolic.

        The range is the largest index minus the smallest index.
        """
        numbers = self.as_numbers
        return sum([(size - 1) * stride for size, stride in numbers[1]]) if numbers else 0

    def is_full(self, sizes: Iterable[Dim]) -> bool:
        """Return whether the set contains all flat indices of a tensor of these sizes."""
        return self.exact and dims.product([step.size for step in self.steps]) == dims.product(sizes)

    def map_through(self, atom: layout.Atom) -> _IndexSet | None:
        """Map the indices through an atom, or return None if the map may be nonlinear."""
        if layout.is_take_table((atom,)) or layout.is_reversed(atom):
            return None
        if not self.exact or any(map(dims.is_negative, self.offset[:1])):
            return None
        if self.steps:
            if self.as_numbers is None or not isinstance(atom.size, int):
                return None
            if self.as_numbers[0] + self.extent >= atom.size:
                return None
        steps_of_atom = [layout.Atom(step.size, dims.product((atom.stride, step.stride))) for step in self.steps]
        return _IndexSet(tuple([dims.product((atom.stride, term)) for term in self.offset]), tuple(steps_of_atom))

    def drop_stride(self, stride: Dim) -> _IndexSet:
        """Return the index set without the steps of this stride."""
        return _IndexSet(self.offset, tuple([step for step in self.steps if step.stride != stride]), self.exact)


class _InputIndexTable:
    """A table of the input index of each output element.

    All sizes must be integers.
    """

    def __init__(self, moves: layout.MoveChain) -> None:
        self.output_shape = dims.numeric_dims(moves.output)
        shape = dims.numeric_dims(moves.input)
        flat = layout.apply_chain(moves, array("q", range(prod(shape))))
        self.input_indices = [
            array("q", [index // prod(shape[axis + 1 :]) % size for index in flat]) for axis, size in enumerate(shape)
        ]

    def find_changing_axes(self, output_axis: int) -> set[int]:
        """Return the input axes with an index that changes along an output dim."""
        size, inner = self.output_shape[output_axis], prod(self.output_shape[output_axis + 1 :])
        return {axis for axis, places in enumerate(self.input_indices) if _is_varying_along_dim(places, size, inner)}

    def is_output_digit(self, output_axis: int, inner_size: Dim, atom: AxisAtom, start: Sum) -> bool:
        """Return whether an atom is a digit of an output dim's index for all elements.

        `inner_size` is the product of the sizes of the atoms to the right of this atom in the output dim.
        """
        within, size, stride, first = dims.numeric_dims((inner_size, atom.size, atom.stride, *(start or (0,))))
        dim, inner = self.output_shape[output_axis], prod(self.output_shape[output_axis + 1 :])
        positions = enumerate(self.input_indices[atom.axis])
        return all((at - first) // stride % size == index // inner % dim // within % size for index, at in positions)


def _is_varying_along_dim(indices: array[int], size: int, inner: int) -> bool:
    """Return whether indices vary along a dim of this size and of stride `inner`."""
    for start in range(0, len(indices), size * inner):
        first = indices[start : start + inner]
        if any(indices[start + i * inner : start + (i + 1) * inner] != first for i in range(1, size)):
            return True
    return False


class _OriginAnalysis:
    """The analysis of a chain of moves that determines the origin of each output dim."""

    def __init__(self, moves: layout.MoveChain, assumptions: Assumptions) -> None:
        self.moves, self.assumptions = moves, assumptions
        self.view = layout.view_after_moves(moves.input, moves.moves, assumptions)
        self.shape, self.strides = moves.input, layout.contiguous_strides(moves.input)
        self.axes = [axis for axis, dim in enumerate(self.shape) if dim != 1]
        self.axis_index_by_stride = {self.strides[axis]: index for index, axis in enumerate(self.axes)}
        pairs = zip(moves.moves, moves.shapes, strict=False)
        picks = [zip(move.axis_ranges, shape, strict=True) for move, shape in pairs if type(move) is StridedSlice]
        self.slice_ranges = {(size, abs(step), dim) for pick in picks for (_, step, size), dim in pick}
        """The size, the step and the dim of each slice. A slice is never larger than its dim."""
        self.digit_cache: dict[layout.Atom, list[AxisAtom]] = {}
        self.atoms_by_space: dict[layout.IndexSpace, list[layout.Atom]] = {}
        for atom in [atom for axis in self.view.axes for atom in axis if atom.stride != 0]:
            self.atoms_by_space.setdefault(atom.space, []).append(atom)
        self.derived_spaces: dict[layout.IndexSpace, list[layout.IndexSpace]] = {}
        """For each index space, the index spaces with a base atom that steps through it."""
        for space in {*layout.count_atoms_by_index_space(self.view), *self.view.fixed}:
            for inner in {atom.space: None for atom in space[0] if atom.stride != 0}:
                self.derived_spaces.setdefault(inner, []).append(space)
        self.index_sets: dict[layout.IndexSpace, _IndexSet] = {}
        self.unknown_spaces = set[layout.IndexSpace]()
        """The index spaces that may be read only partially. The set is filled only if some dim is symbolic."""
        self.axis_offsets = self._compute_axis_offsets()
        self.rolled_axes = {
            space: axis for space in self.derived_spaces.get(INPUT_SPACE, ()) for axis in self._find_rotated_axes(space)
        }
        self.overrun_axes, self.non_digit_axes = self._find_overrun_axes(), self._find_non_digit_axes()
        self.base_digits: dict[layout.Atoms, list[_Digit]] = {}
        digits = [digit for step in self._find_index_set(INPUT_SPACE).steps for digit in self._input_digits(step)]
        self.fully_read_axes = {digit.axis for digit in digits if digit.size == self.shape[digit.axis]}
        self._index_table: _InputIndexTable | None = None

    def compute_origins(self) -> tuple[Origin, ...]:
        """Return the origin of each dim.

        A dim is mixed unless its digits are proven.
        """
        candidates = map(self._digit_origin, self.view.axes)
        result = [self._make_mixed_origin(out) if origin is None else origin for out, origin in enumerate(candidates)]
        while True:
            starts = self._compute_starts(result)
            wrong = self._find_invalid_dims(result, starts)
            if not wrong:
                return tuple([self._finish_origin(origin, starts) for origin in result])
            for out in wrong:
                result[out] = self._make_mixed_origin(out)

    def _digit_origin(self, atoms: layout.Atoms) -> Origin | None:
        """Return the digits of a dim, or None if the dim is mixed."""
        result = list[AxisAtom | RepeatAtom | MixedAtom]()
        for atom in atoms:
            digits = [RepeatAtom(atom.size)] if atom.stride == 0 else self._axis_digits(atom)
            if not digits:
                return None
            result += digits
        return tuple(result)

    def _axis_digits(self, atom: layout.Atom) -> Sequence[AxisAtom]:
        """Return the axis digits that are equivalent to an atom.

        Returns no digits if the atom has no equivalent.
        """
        forward = _make_forward(atom)
        if atom.space in self.rolled_axes:
            digits = [AxisAtom(self.rolled_axes[atom.space], forward.size, forward.stride)]
        else:
            digits = [] if atom.base else self._input_digits(forward)
        if layout.is_reversed(atom):
            return [AxisAtom(digit.axis, digit.size, dims.product((-1, digit.stride))) for digit in digits]
        return digits

    def _input_digits(self, atom: layout.Atom) -> list[AxisAtom]:
        """Return the axis digits of a forward atom of the input."""
        digits = self.digit_cache.get(atom)
        if digits is None:
            digits = self.digit_cache[atom] = self._compute_input_digits(atom.size, atom.stride)
        return digits

    def _compute_input_digits(self, size: Dim, stride: Dim) -> list[AxisAtom]:
        digits = list[AxisAtom]()
        for axis in self._find_axes_along_stride(stride):
            dim, step = self.shape[axis], dims.quotient(stride, self.strides[axis])
            is_sliced = (size, step, dim) in self.slice_ranges
            if not is_sliced and not (self.assumptions.is_integral(step) and self._is_step_within(step, dim)):
                continue
            if is_sliced or self._is_run_within(size, step, dim):
                return [*digits, AxisAtom(axis, size, step)][::-1]
            count = dims.quotient(dim, step)
            if not self.assumptions.is_integral(count) or not self.assumptions.divides(count, size):
                break
            digits.append(AxisAtom(axis, count, step))
            size, stride = dims.quotient(size, count), dims.product((self.strides[axis], dim))
        return []

    def _find_axes_along_stride(self, stride: Dim) -> list[int]:
        """Return the axes that steps of `stride` may traverse, the innermost first.

        An axis with this stride is the innermost axis.
        """
        index = self.axis_index_by_stride.get(stride)
        if index is None:
            return self.axes[::-1] if len(self.axes) <= MAX_COMPARED_AXES else []
        return self.axes[index::-1]

    def _is_step_within(self, step: Dim, dim: Dim) -> bool:
        """Return whether a step is proven to be smaller than `dim`."""
        if isinstance(step, int) and isinstance(dim, int):
            return step < dim
        return step != dim and self.assumptions.divides(step, dim)

    def _is_run_within(self, size: Dim, step: Dim, dim: Dim) -> bool:
        """Return whether `size` indices in steps of `step` are proven to fit on an axis."""
        if isinstance(size, int) and isinstance(step, int) and isinstance(dim, int):
            return (size - 1) * step < dim
        return self.assumptions.divides(dims.product((size, step)), dim)

    def _find_rotated_axes(self, space: layout.IndexSpace) -> list[int]:
        """Return a list of the rotated axis of an index space, or an empty list."""
        base = layout.merge_atoms(space[0])
        index = self.axis_index_by_stride.get(base[0].stride) if len(base) == 1 and not base[0].base else None
        axes = [] if index is None else [self.axes[index]]
        return [axis for axis in axes if base[0].size == self.shape[axis] and self._find_index_set(space).exact]

    def _compute_axis_offsets(self) -> dict[int, Sum]:
        """Return the first read index of each axis.

        A negative index counts from the end of the axis.
        """
        offsets, remaining = (
            dict[int, Sum](),
            self._find_index_set(INPUT_SPACE).offset if self.derived_spaces else self.view.offset,
        )
        for axis in reversed(self.axes):
            if not remaining:
                break
            turn = dims.product((self.strides[axis], self.shape[axis]))
            terms = dims.sum_terms([self._reduce_term(term, turn) for term in remaining])
            borrowed = [turn] if terms and all(map(dims.is_negative, terms)) else []
            remaining = dims.sum_terms([*remaining, *[dims.product((-1, term)) for term in (*terms, *borrowed)]])
            offsets[axis] = tuple([dims.quotient(term, self.strides[axis]) for term in terms])
        return offsets

    def _reduce_term(self, term: Dim, extent: Dim) -> Dim:
        """Reduce a term modulo `extent`, the extent of an axis in the flat index."""
        if isinstance(term, int) and isinstance(extent, int):
            return term % extent
        return 0 if self.assumptions.divides(extent, term) else term

    def _compute_starts(self, origins: Iterable[Origin]) -> dict[int, Sum]:
        """Return the start offset of each axis that is not read from 0.

        The start offset is the index on the axis at which all digits in `origins` are 0.
        """
        starts = self.axis_offsets | {
            axis: self._find_index_set(level).offset for level, axis in self.rolled_axes.items()
        }
        for atom in [atom for origin in origins for atom in origin if isinstance(atom, AxisAtom)]:
            if dims.is_negative(atom.stride):
                end = dims.product((-1, atom.size, atom.stride))
                is_full = not isinstance(end, int) and end == self.shape[atom.axis]
                starts[atom.axis] = dims.sum_terms((*starts.get(atom.axis, ()), 0 if is_full else end, atom.stride))
        return starts

    def _find_overrun_axes(self) -> set[int]:
        """Return the axes with an index that may exceed the size of the axis."""
        unknown = [atom for base, _ in self.unknown_spaces for atom in base if atom.stride != 0]
        result = {digit.axis for atom in unknown for digit in self._axis_digits(atom)}
        steps_on_axis: dict[int, list[layout.Atom]] = {}
        for step in self._find_index_set(INPUT_SPACE).steps:
            for digit in self._input_digits(step):
                steps_on_axis.setdefault(digit.axis, []).append(layout.Atom(digit.size, digit.stride))
        carry = 0
        for axis in reversed(self.axes) if steps_on_axis else ():
            reach, dim = (
                _IndexSet(self.axis_offsets.get(axis, ()), tuple(steps_on_axis.get(axis, ()))),
                self.shape[axis],
            )
            if reach.as_numbers is None or not isinstance(dim, int):
                carry = 0
                continue
            is_over = reach.as_numbers[0] % dim + reach.extent + carry >= dim
            if is_over or (carry and reach.steps):
                result.add(axis)
            carry = int(is_over)
        return result

    def _find_non_digit_axes(self) -> set[int]:
        """Return the axes with an index that is not a mixed-radix digit of any output dim."""
        if len(self.axes) > MAX_COMPARED_AXES or not self.derived_spaces:
            return set()
        mixing = [step for step in self._find_index_set(INPUT_SPACE).steps if not self._input_digits(step)]
        turns = {axis: dims.product((self.shape[axis], self.strides[axis])) for axis in (self.axes if mixing else ())}
        return {
            axis for axis, turn in turns.items() for step in mixing if not self.assumptions.divides(turn, step.stride)
        }

    def _find_index_set(self, space: layout.IndexSpace) -> _IndexSet:
        """Return the flat indices that are read in an index space."""
        if space not in self.index_sets:
            base, start = space
            offset = [*(start if base else self.view.offset)]
            steps, exact = list[layout.Atom](), True
            for atom in self.atoms_by_space.get(space, ()):
                steps += self._split_by_axis(atom)
            for above in self.derived_spaces.get(space, ()):
                reach = self._find_index_set(above)
                is_full = reach.is_full([atom.size for atom in above[0]])
                mapped = reach.map_through(above[0][0]) if len(above[0]) == 1 and not is_full else None
                if mapped:
                    offset += mapped.offset
                    steps += mapped.steps
                else:
                    steps += [_make_forward(atom) for atom in above[0] if atom.space == space and atom.stride != 0]
                    exact &= is_full
                    self.unknown_spaces |= set() if is_full or dims.is_concrete(self.moves.dims) else {above}
            self.index_sets[space] = _IndexSet(dims.sum_terms(offset), tuple(steps), exact)
        return self.index_sets[space]

    def _split_by_axis(self, atom: layout.Atom) -> layout.Atoms:
        """Split an atom of the input into one forward atom for each axis."""
        forward, parts = _make_forward(atom), list[layout.Atom]()
        for digit in () if atom.base else self._input_digits(forward):
            parts.append(layout.Atom(digit.size, dims.product((digit.stride, self.strides[digit.axis]))))
            self.digit_cache[parts[-1]] = [digit]
        return tuple(parts) or (forward,)

    def _find_invalid_dims(self, origins: Sequence[Origin], starts: Mapping[int, Sum]) -> set[int]:
        """Return the dims with an atom that is not a correct digit."""
        mixed = {axis for origin in origins for atom in origin if isinstance(atom, MixedAtom) for axis in atom.axes}
        wrong = set[int]()
        for out, origin in enumerate(origins):
            inside: Dim = 1
            for atom in origin[::-1]:
                if not isinstance(atom, (AxisAtom, RepeatAtom)):
                    continue
                if isinstance(atom, AxisAtom) and atom.axis in mixed | self.overrun_axes:
                    start = starts.get(atom.axis, ())
                    if atom.axis in self.overrun_axes or not self._has_digit(out, inside, atom, start):
                        wrong.add(out)
                inside = dims.product((inside, atom.size))
        return wrong

    def _has_digit(self, output_axis: int, inner_size: Dim, atom: AxisAtom, start: Sum) -> bool:
        """Return whether an atom is proven to be a digit of an output dim.

        `inner_size` is the product of the sizes of the atoms to the right of this atom in the output dim.
        """
        if dims.is_negative(atom.stride):
            return False
        if self._is_flat_digit(atom, start):
            return True
        table = self._compute_index_table()
        return table is not None and table.is_output_digit(output_axis, inner_size, atom, start)

    def _is_flat_digit(self, atom: AxisAtom, start: Sum) -> bool:
        """Return whether an axis digit is an independent digit of the flat index.

        An independent digit does not change with steps of other strides.
        """
        reach, axis_stride = self._find_index_set(INPUT_SPACE), self.strides[atom.axis]
        stride = dims.product((atom.stride, axis_stride))
        if not reach.exact or not self.assumptions.divides(
            dims.product((atom.size, atom.stride)), self.shape[atom.axis]
        ):
            return False
        offset = dims.sum_terms([*reach.offset, *[dims.product((-1, axis_stride, term)) for term in start]])
        others = _IndexSet(offset, reach.drop_stride(stride).steps)
        turn = dims.product((atom.size, stride))
        numbers = others.as_numbers if isinstance(turn, int) else None
        aligned = all(self.assumptions.divides(turn, term) for term in offset)
        if not aligned and (numbers is None or numbers[0] % turn >= stride):  # type: ignore[operator]  # all are numbers
            return False
        aligned &= numbers is None or reach.is_full(self.shape)
        return all(
            self._is_varying_digit(step, others.drop_stride(step.stride), atom.size, stride, aligned=aligned) is False
            for step in others.steps
        )

    def _make_mixed_origin(self, output_axis: int) -> Origin:
        """Return the origin of a mixed dim.

        It contains the axes with an index that changes along the dim.
        """
        if len(self.axes) > MAX_COMPARED_AXES:
            return (MixedAtom(tuple([axis for axis in self.axes if axis not in self.fully_read_axes]), exact=False),)
        results = [self._find_changing_axes(atom) for atom in self.view.axes[output_axis] if atom.stride != 0]
        axes, exact = {axis for changing, _ in results for axis in changing}, all(exact for _, exact in results)
        if not exact and (positions := self._compute_index_table()):
            tables = [atom.base[0] for atom in self.view.axes[output_axis] if layout.is_take_table(atom.base)]
            table_axes = {axis for table in tables for digit in self._table_digits(table) for axis in digit.axes}
            # An index table may read a single index of an axis. No `start` records this index, so the axis is included.
            axes = positions.find_changing_axes(output_axis) | table_axes
            exact = axes == positions.find_changing_axes(output_axis)
        return (MixedAtom(tuple(sorted(axes)), exact) if axes else RepeatAtom(self.moves.output[output_axis]),)

    def _find_changing_axes(self, atom: layout.Atom) -> tuple[set[int], bool]:
        """Return the axes with an index that may change along an atom.

        The second result is True if all these indices are proven to change.
        """
        if layout.is_take_table(atom.base):
            digits = self._table_digits(atom.base[0])
            is_single = len(digits) == len(atom.base[0].base) == 1 and digits[0].exact
            return {axis for digit in digits for axis in digit.axes}, is_single and atom.size == atom.base[0].size
        reach = self._find_index_set(atom.space)
        if len(atom.base) == 1 and reach.map_through(atom.base[0]):
            (base,) = atom.base
            return self._find_changing_axes(
                layout.Atom(atom.size, dims.product((atom.stride, base.stride)), *base.space)
            )
        aligned = not reach.offset and reach.is_full([inner.size for inner in atom.base] if atom.base else self.shape)
        axes, exact = set[int](), True
        for steps in self._split_by_axis(atom):
            others = reach.drop_stride(steps.stride)
            for digit in self._compute_base_digits(atom.base):
                changes = self._is_varying_digit(steps, others, digit.size, digit.stride, aligned=aligned)
                if changes is not False:
                    axes |= digit.axes
                    exact &= changes is True and reach.exact and digit.exact
        return axes, exact

    def _table_digits(self, table: layout.Atom) -> list[_Digit]:
        """Return the digits of all atoms of an index table."""
        return [digit for step in table.base for digit in self._atom_digits(step)]

    def _is_varying_digit(
        self, steps: layout.Atom, others: _IndexSet, size: Dim, stride: Dim, *, aligned: bool
    ) -> bool | None:
        """Return whether a digit of a flat index changes along steps, or None if unknown.

        The result holds for all values of the other steps. `aligned` is True if all values of the flat index are read,
        or if the extents of the digits and the strides of the steps divide each other.
        """
        divides = self.assumptions.divides
        if divides(dims.product((size, stride)), steps.stride):
            return False
        if aligned:
            return not divides(dims.product((steps.size, steps.stride)), stride)
        if others.as_numbers is None or not dims.is_concrete((steps.size, steps.stride, size, stride)):
            return None
        count, step, count_of_digit, turn = dims.numeric_dims((steps.size, steps.stride, size, stride))
        return is_varying_digit(count, step, count_of_digit, turn, *others.as_numbers)

    def _compute_base_digits(self, base: layout.Atoms) -> list[_Digit]:
        """Return the mixed-radix digits of the flat index into a base tensor.

        An empty base is the input.
        """
        if not base:
            return [_Digit(self.shape[axis], self.strides[axis], {axis}) for axis in self.axes]
        if base not in self.base_digits:
            digits = list[_Digit]()
            stride: Dim = 1
            for atom in reversed(base):
                for digit in self._atom_digits(atom):
                    digits.append(_Digit(digit.size, dims.product((stride, digit.stride)), digit.axes, digit.exact))
                stride = dims.product((stride, atom.size))
            self.base_digits[base] = digits
        return self.base_digits[base]

    def _atom_digits(self, atom: layout.Atom) -> list[_Digit]:
        """Return the digits of an atom of a base tensor.

        A mixed atom counts as one digit.
        """
        if atom.stride == 0:
            return []
        digits = self._axis_digits(atom)
        if digits and all(map(self._is_exact_digit, digits)):
            sizes = [digit.size for digit in digits]
            return [_Digit(digit.size, dims.product(sizes[i + 1 :]), {digit.axis}) for i, digit in enumerate(digits)]
        axes, _ = self._find_changing_axes(atom)
        return [_Digit(atom.size, 1, axes, exact=len(axes) == 1)]

    def _is_exact_digit(self, digit: AxisAtom) -> bool:
        """Return whether a digit changes only the index on its own axis."""
        if digit.axis in self.overrun_axes:
            return False
        if digit.axis not in self.non_digit_axes:
            return True
        reach, size = self._find_index_set(INPUT_SPACE), dims.product((digit.size, digit.stride))
        return not reach.offset and reach.is_full(self.shape) and self.assumptions.divides(size, self.shape[digit.axis])

    def _compute_index_table(self) -> _InputIndexTable | None:
        """Return the input index table.

        Returns None if a size is symbolic or the tensor is too large.
        """
        shapes = self.moves.shapes
        steps = zip(shapes, self.moves.moves, shapes[1:], strict=False)
        fits = all(dims.product(old) == dims.product(new) for old, move, new in steps if isinstance(move, Reshape))
        if self._index_table is None and fits and dims.is_concrete(self.moves.dims):
            largest = max([prod(dims.numeric_dims(shape)) for shape in self.moves.shapes])
            self._index_table = _InputIndexTable(self.moves) if largest <= MAX_ENUMERATED_ELEMENTS else None
        return self._index_table

    def _finish_origin(self, origin: Origin, starts: Mapping[int, Sum]) -> Origin:
        """Add the starts of the axes to the atoms of an origin, and merge the atoms."""
        made = list[OriginAtom]()
        for atom in origin:
            if isinstance(atom, AxisAtom):
                start, dim = starts.get(atom.axis, ()), self.shape[atom.axis]
                if isinstance(dim, int) and dims.is_concrete(start):
                    start = dims.sum_terms((sum(dims.numeric_dims(start)) % dim,))
                atom = replace(atom, start=start)
            match (made[-1] if made else None), atom:
                case AxisAtom() as last, AxisAtom() if last.axis == atom.axis and last.stride == dims.product(
                    (atom.size, atom.stride)
                ):
                    made[-1] = replace(atom, size=dims.product((last.size, atom.size)))
                case RepeatAtom() as last, RepeatAtom():
                    made[-1] = RepeatAtom(dims.product((last.size, atom.size)))
                case _:
                    made.append(atom)
        return tuple(made)


def _make_forward(atom: layout.Atom) -> layout.Atom:
    return layout.reverse_axis((atom,))[0] if layout.is_reversed(atom) else atom


def is_varying_digit(
    count: int, step: int, size: int, stride: int, offset: int, other_steps: Iterable[tuple[int, int]]
) -> bool | None:
    """Return whether a mixed-radix digit varies over evenly spaced indices.

    The digit of an index is `index // stride % size`. There are `count` indices, which are `step` apart. The first
    index is `offset` plus a combination of `other_steps`, which are pairs of count and step. The digit varies if it
    varies for at least one combination. Returns None if there are too many combinations to enumerate.

    >>> is_varying_digit(2, 6, 3, 4, 0, [(6, 1)]), is_varying_digit(2, 1, 3, 4, 0, [(6, 2)])
    (True, False)
    >>> is_varying_digit(2, 1, 3, 4, 3, [])
    True
    """
    step = (step + stride) % (size * stride) - stride  # multiples of the cycle `size * stride` do not change the digit
    length = (count - 1) * abs(step)
    if length >= stride or step == 0:
        return step != 0
    unit = gcd(stride, step, *[other_step for _, other_step in other_steps])
    stride, length = stride // unit, length // unit
    if stride > MAX_RESIDUES:
        return None
    marks = compute_residues(
        offset // unit, [(number, other_step // unit) for number, other_step in other_steps], stride
    )
    if step > 0:
        return marks.bit_length() - 1 + length >= stride
    return (marks & -marks).bit_length() - 1 < length


def compute_residues(offset: int, steps: Iterable[tuple[int, int]], modulus: int) -> int:
    """Return the residues of the indices reachable from `offset`, as a bit set.

    Each step is a pair of a count and a stride. Residues are modulo `modulus`.

    >>> bin(compute_residues(1, [(3, 2)], 8)), bin(compute_residues(6, [(2, 1), (2, 4)], 8))
    ('0b101010', '0b11001100')
    >>> bin(compute_residues(6, [(2, 2)], 8))
    '0b1000001'
    """
    marks = 1 << offset % modulus
    for count, step in steps:
        count, done = min(count, modulus // gcd(modulus, step)), 1
        while done < count:
            more = min(done, count - done)
            shift = more * step % modulus
            marks |= (marks << shift | marks >> (modulus - shift)) & ((1 << modulus) - 1)
            done += more
    return marks


def compute_multi_operand_origins(
    shape: Shape, moves: Sequence[Move], segment_origins: Callable[[Shape, int, int], Origins]
) -> Origins:
    """Return the origin of each dim after moves that include `Combine` moves.

    The operands of all moves are numbered consecutively. `segment_origins(shape, start, end)` returns the origins for a
    tensor of `shape` after `moves[start:end]`, which contains no `Combine` moves.
    """
    result: Origins = tuple([_make_axis_origin(dim, axis, 0) for axis, dim in enumerate(shape)])
    start, operand_count = 0, 0
    for index, move in enumerate(moves):
        if isinstance(move, Combine):
            result = _compose_origins(segment_origins(shape, start, index), result, shape)
            result = tuple([_combination_origin(out, move, result, operand_count) for out in range(len(move.shape))])
            start, operand_count, shape = index + 1, operand_count + len(move.operands) - 1, move.shape
    return _compose_origins(segment_origins(shape, start, len(moves)), result, shape)


def _make_axis_origin(dim: Dim, axis: int, operand: int) -> Origin:
    return (AxisAtom(axis, dim, 1, (), operand),)


def _combination_origin(output_axis: int, move: Combine, origins: Origins, operand_count: int) -> Origin:
    """Return the origin of one output dim of a `Combine` move.

    `origins` are the origins before `move`, and `operand_count` is the number of operands of earlier moves.
    """
    parts = [
        origins[axis] or ()
        if operand == 0
        else _make_axis_origin(move.operands[operand][axis], axis, operand + operand_count)
        for operand, axis in move.sources[output_axis]
    ]
    if output_axis == move.concat_axis:
        return (ConcatAtom(tuple(parts or [()] * move.shape[output_axis])),)  # type: ignore[operator]  # the size of a stack's axis is a number
    if output_axis in move.window_axes or len(parts) > 1:
        return _make_computed_origin(parts)
    return parts[0] if parts else ()


def _make_computed_origin(parts: Iterable[Origin]) -> Origin:
    pairs = tuple(dict.fromkeys(pair for part in parts for pair in list_operand_axes(part)))
    return (ComputedAtom(pairs),) if pairs else ()


def _compose_origins(outer: Origins, inner: Origins, shape: Shape) -> Origins:
    """Compose the origins of two consecutive parts of a chain.

    `outer` refers to the axes of a tensor of `shape`, and `inner` contains the origins of these axes.
    """
    return tuple([None if origin is None else _compose_origin(origin, inner, shape) for origin in outer])


def _compose_origin(origin: Origin, inner: Origins, shape: Shape) -> Origin:
    result = list[OriginAtom]()
    for atom in origin:
        base = _compose_atom(atom, inner, shape)
        if base is None:
            return _make_computed_origin([inner[axis] or () for _, axis in list_operand_axes(origin)])
        result += base
    is_exact = len(result) == 1 or not any(isinstance(atom, (ComputedAtom, ConcatAtom, MixedAtom)) for atom in result)
    return tuple(result) if is_exact else _make_computed_origin([tuple(result)])


def _compose_atom(atom: OriginAtom, inner: Origins, shape: Shape) -> Origin | None:
    """Replace the axis of an atom by its origin in `inner`, or return None.

    The result is None if no atoms represent the composition.
    """
    if isinstance(atom, RepeatAtom):
        return (atom,)
    if not isinstance(atom, AxisAtom):
        return None
    base = inner[atom.axis] or ()
    if not atom.start and atom.stride == 1 and atom.size == shape[atom.axis]:
        return base
    match base:
        case (AxisAtom() as only,) if not only.start:
            start = dims.sum_terms([dims.product((term, only.stride)) for term in atom.start])
            return (replace(only, size=atom.size, stride=dims.product((atom.stride, only.stride)), start=start),)
    return None
