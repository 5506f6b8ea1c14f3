"""Fixes and hints for refused requests.

A refused request is one that breaks a rule of its dialect, that is, of its framework. A fix sets one option: the faulty
argument, the opset, or the dialect's switch. The switch changes the meaning of 0 in a requested shape. Every candidate
fix is resolved before it is suggested, so every suggested fix works. A hint describes fixes in words.

A target is the requested shape of a reshape or expand; it may contain 0 and -1. A size fits a dim of the target if the
request resolves after the dim is replaced with this size.
"""

from __future__ import annotations

from itertools import accumulate, chain, islice
from math import isqrt, prod

from shapecalc.core import rules
from shapecalc.core.answers import Request, Stage, StageKind, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import InferMarker, ZeroMeaning
from shapecalc.core.dims import Dim, Shape, dim_names, factorization_text, missing_factors_text, product, quotient
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import FILE, USAGE, Problem, Rule, ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import DEFAULT_OPSET, make_request, switch_name
from shapecalc.core.resolve import resolve, resolve_with_sizes
from shapecalc.core.text import shape_text, truncate
from shapecalc.reading.options import to_dashes
from shapecalc.reasoning.operand_mismatch import (
    SHAPE_FIXES,
    ArgumentChange,
    explain_count,
    explain_mismatch,
    keeps_batch,
    propose_operand_changes,
)

NO_SINGLE_SIZE = "no single size helps"
"""The beginning of a hint if changing one dim of the target is not sufficient."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    CandidateValues = Iterator[Any]
    ArgumentChanges = Iterator[ArgumentChange]
    FixesWithAnswers = Iterator[tuple["Fix", Trace]]


MAX_DIVISOR_DISTANCE = 20_000
"""The maximum difference between a requested size and a suggested divisor."""


COPY_ASSUMPTION, INFER_ASSUMPTION = "since 0 copies the input's first dim", "as long as the other sizes stay"
"""The assumptions under which a target that begins with 0, or with -1, applies to every batch size."""

MAX_NEAR_AXES = 4
"""The maximum number of axes that are tried instead of a wrong axis."""

OPERAND_ARGUMENTS = ("input", "operands", "weight", "kernel")
"""The arguments that contain an operand, and may be faulty if operands are incompatible."""

MAX_TRIED_VALUES = 24
"""The maximum number of changes of the faulty argument that are tried."""

MAX_SUCCESSIVE_CHANGES = 4
"""The maximum number of successive changes to one argument that form one fix."""

MAX_REQUEST_DIMS = 256
"""The maximum number of dims of a request for which fixes are searched."""

RESHAPE_KINDS = (StageKind.RESHAPE, StageKind.VIEW)
"""The kinds of stages that may move the batch axis."""

OPSET_RULES = (rules.NO_SUCH_ATTRIBUTE, rules.NO_SUCH_VERSION, rules.NEGATIVE_AXIS, rules.DTYPE)
"""The rules that may not apply in a newer version of the operator."""

MAX_ZERO_NAMES = 8
"""The maximum number of symbolic sizes for which the value 0 is tried."""

MAX_BATCH_CHANGES = 3
"""The maximum number of fixes in a hint on the batch size."""

MAX_LISTED_RANK = 64
"""The maximum rank for which a hint lists axes."""


class Fix(Record):
    """A new value for an option of a request; with this value, the request resolves."""

    name: str
    """The name of the option: `target`, `perm`, `axis`, `allowzero`, `opset` ..."""
    value: str | bool | None
    """The value as a string, a bool for a switch, or None if the option is omitted."""
    description: str
    """A short description of the change."""
    batch_assumption: str = ""
    """The assumption under which the fix applies to every batch size; empty if it applies to one only."""
    batch_move: str = ""
    """A description of how the change moves the batch axis.

    Empty if the batch axis stays first, or if there is no batch axis.
    """
    replaces_zeros: bool = False
    """Whether the fix replaces zeros in the target with input dims."""


class RefusedRequest(Record):
    """A refused request, with its faulty argument."""

    trace: Trace
    problem: Problem
    kind: StageKind | None
    """The kind of the refused stage, or None if no stage was reached."""
    value: Any
    """The value of the faulty argument: dims, axes, a single axis, or None if it was omitted."""
    shape: Shape
    """The shape to which the argument is applied."""

    @property
    def index(self) -> int:
        """The index of the faulty item in the argument."""
        return self.problem.index or 0

    @property
    def rank(self) -> int:
        """The number of axes that the argument can index."""
        return len(self.shape) + (len(self.value or ()) if self.kind is StageKind.UNSQUEEZE else 0)

    @property
    def nearest_fit(self) -> tuple[int, list[int]]:
        """The index of the target dim to change, and the nearest sizes that fit it."""
        if not isinstance(self.value, tuple):
            return 0, []
        return find_nearest_sizes(product(self.shape), self.value, self.resolved_target, self.infer_index)

    @property
    def resolved_target(self) -> Shape:
        """The target with its zeros and -1 replaced by sizes.

        A dim that was not resolved before the refusal is 1.
        """
        return _resolve_target(self.trace.stages[-1:], self.value)

    @property
    def infer_index(self) -> int | None:
        """The index of the first target dim that is inferred, or None if there is none."""
        readings = DIALECTS[self.trace.dialect].reshape_semantics.values()
        only = None if any(reading.infers is InferMarker.ANY_NEGATIVE for reading in readings) else -1
        negative = (out for out, dim in enumerate(self.value) if isinstance(dim, int) and dim < 0)
        return next((out for out in negative if only in (None, self.value[out])), None)

    def replace_item(self, *dims: Any, index: int | None = None) -> Any:
        """Return the argument with one item replaced by `dims`.

        `index` is the index of the item; None selects the faulty item.
        """
        position = self.index if index is None else index
        if not isinstance(self.value, tuple):
            return dims[0]
        return (*self.value[:position], *dims, *self.value[position + 1 :])

    def find_aligned_dim(self, index: int) -> Shape:
        """Return the input dim that is aligned with the target dim at `index`, as a tuple.

        The tuple is empty if there is no such dim. An expand aligns the shapes at the right, other ops align them at
        the left.
        """
        axis = index + (len(self.shape) - len(self.value) if self.kind is StageKind.EXPAND else 0)
        return self.shape[axis : axis + 1] if axis >= 0 else ()


def find_nearest_sizes(
    volume: Dim, target: Shape, resolved_target: Shape, infer_index: int | None
) -> tuple[int, list[int]]:
    """Return the index of the target dim to change, and the nearest sizes that fit it.

    A size fits if it makes the element count of the target `volume`. The dim nearest to a fitting size is selected
    among the positive integers in `target`. `resolved_target` is `target` with its zeros resolved and 1 instead of -1.
    The sizes are sorted by their distance from the dim; the list is empty if no size fits.

    >>> find_nearest_sizes(24, (5, -1), (5, 1), 1), find_nearest_sizes(7, (0,), (2,), None)
    ((0, [4, 6]), (0, []))
    """
    best: tuple[int, int, list[int]] = (0, 0, [])
    target_volume = product(resolved_target)
    if target_volume == 0:
        return 0, []
    for index, dim in enumerate(target):
        if index == infer_index or not isinstance(dim, int) or dim <= 0:
            continue
        needed = _compute_fitting_size(volume, target_volume, dim)
        fits = [] if needed is None else [needed] if infer_index is None else find_nearest_divisors(needed, dim)
        gaps = sorted((abs(size - dim), size) for size in fits)
        if gaps and (not best[2] or gaps[0][0] < best[0]):
            best = gaps[0][0], index, [size for _, size in gaps]
            if best[0] == 1:
                break
    return best[1:]


def find_nearest_divisors(number: int, target: int) -> list[int]:
    """Return the nearest divisors of `number` below and above `target`.

    Divisors farther away than `MAX_DIVISOR_DISTANCE` are omitted.

    >>> find_nearest_divisors(24, 5), find_nearest_divisors(24, 6), find_nearest_divisors(7, 3)
    ([4, 6], [4, 8], [1, 7])
    """
    below = range(min(target - 1, number), max(0, target - MAX_DIVISOR_DISTANCE), -1)
    above = range(target + 1, min(number, target + MAX_DIVISOR_DISTANCE) + 1)
    nearest = [next((size for size in sizes if number % size == 0), None) for sizes in (below, above)]
    return [size for size in nearest if size]


def _compute_fitting_size(volume: Dim, target_volume: Dim, dim: int) -> int | None:
    """Return the size that makes the element count of a target `volume`.

    The size replaces `dim` in a target of `target_volume` elements. Returns None if the size is not an integer.
    """
    size = quotient(product((volume, dim)), target_volume)
    return size if isinstance(size, int) and size > 0 else None


def find_image_replacements(shape: Shape, target: Shape) -> Iterator[tuple[int, Shape]]:
    """Yield replacements for target dims that describe an image of the wrong size.

    A replacement is an index in `target`, and the dims that replace the target dims from this index on. An image is
    replaced if its sides have the same ratio as those of the input's image, if it is flattened into one dim, or if it
    is square.

    >>> [*find_image_replacements((1, 27, 120, 120), (1, 3, 9, 30, 30))]
    [(3, (120, 120))]
    >>> [*find_image_replacements((1, 4, 256, 256), (1, 4, 1, 4096))]
    [(3, (-1,))]
    >>> [*find_image_replacements((8921088,), (16, 34, 34, 512))]
    [(1, (33, 33))]
    """
    if product(shape) == 0 or product(target) == 0:
        return
    index, dims, target_dims = find_differing_dims(shape, target)
    if product(dims) == product(shape):
        yield from _find_square_replacements(shape, target, index, len(target_dims))
    elif len(dims) == len(target_dims) > 1 and len({*map(quotient, dims, target_dims)}) == 1:
        yield index, dims
    else:
        large = [axis for axis, dim in enumerate(target_dims) if dim != 1]
        if len(large) == 1 and (len(dims) == 1 < len(target_dims) or _is_square_image(dims, target_dims[large[0]])):
            yield index + large[0], (-1,)


def _find_square_replacements(shape: Shape, target: Shape, start: int, count: int) -> Iterator[tuple[int, Shape]]:
    """Yield replacements for two equal consecutive dims of `target`.

    Only the `count` dims from index `start` on are considered. A replacement is the index of the first of the two dims,
    and two equal sizes with which the element counts agree.
    """
    for axis in range(start, start + count - 1):
        side = target[axis]
        pixels = quotient(product((*shape, side, side)), product(target))
        if side == target[axis + 1] != 1 and isinstance(pixels, int) and isqrt(pixels) ** 2 == pixels > 0:
            yield axis, (isqrt(pixels), isqrt(pixels))


def _is_square_image(sides: Shape, pixel_count: Dim) -> bool:
    """Return whether `sides` has two equal dims, and `pixel_count` is a square."""
    return (
        len(sides) == 2
        and sides[0] == sides[1]
        and isinstance(pixel_count, int)
        and isqrt(pixel_count) ** 2 == pixel_count
    )


def find_differing_dims(shape: Shape, target: Shape) -> tuple[int, Shape, Shape]:
    """Find the parts in which two shapes differ.

    Returns the index in `target` where the parts begin, and both parts. The dims before the parts have equal element
    counts in both shapes, and so do the dims after them.

    >>> find_differing_dims((1, 27, 120, 120), (1, 3, 9, 30, 30))
    (3, (120, 120), (30, 30))
    """
    i, j = _common_prefix_lengths(shape, target)
    dims, target_dims = shape[i:], target[j:]
    equal, target_equal = _common_prefix_lengths(dims[::-1], target_dims[::-1])
    return j, dims[: len(dims) - equal], target_dims[: len(target_dims) - target_equal]


def _common_prefix_lengths(shape: Shape, target: Shape) -> tuple[int, int]:
    """Return the lengths of the longest prefixes with equal element counts."""
    ends = {volume: length for length, volume in enumerate(_iter_prefix_volumes(shape), 1)}
    common = [(ends[volume], length) for length, volume in enumerate(_iter_prefix_volumes(target), 1) if volume in ends]
    return common[-1] if common else (0, 0)


def _iter_prefix_volumes(shape: Shape) -> Iterator[Dim]:
    return accumulate(shape, lambda volume, dim: product((volume, dim)))


def differs_in_batch_only(shape: Shape, target: Shape) -> bool:
    """Return whether two shapes have different batch sizes but equal sample sizes.

    The sample size is the element count of all dims except the first. Returns False for sample sizes of 0 and 1.

    >>> differs_in_batch_only((8, 255, 52), (1, 3, 85, 52))
    True
    >>> differs_in_batch_only((8, 255), (1, 3, 80)), differs_in_batch_only((8,), (1,))
    (False, False)
    """
    if len(shape) < 2 or len(target) < 2 or shape[0] == target[0]:
        return False
    rest = product(shape[1:])
    return rest not in (0, 1) and rest == product(target[1:])


def iter_batch_independent_targets(shape: Shape, target: Shape, resolved_target: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that apply to every batch size, each with its assumption.

    The assumption states when the target applies. Yields nothing unless the first dim of `target` is a number other
    than the batch size. `resolved_target` is `target` with its zeros resolved.

    >>> [value for value, _ in iter_batch_independent_targets((8, 6), (1, 2, 3), (1, 2, 3))]
    [(0, 2, 3), (-1, 2, 3)]
    """
    if any(isinstance(dim, int) and dim < 0 for dim in target) or not isinstance(target[:1] and target[0], int):
        return
    if differs_in_batch_only(shape, resolved_target):
        yield (0, *target[1:]), COPY_ASSUMPTION
        yield (-1, *target[1:]), INFER_ASSUMPTION


def describe_batch_move(before: Shape, after: Shape) -> str:
    """Describe where a reshape moves the batch axis if the first output dim is 1.

    Returns an empty string if the batch axis stays first.

    >>> describe_batch_move((4, 197, 768), (1, 788, 12, 64)), describe_batch_move((4, 6), (1, 3, 8))
    ('takes the batch into axis 1', 'mixes the samples of the batch')
    >>> describe_batch_move((4, 6), (4, 3, 2))
    ''
    """
    sizes = [dim for dim in (*before, *after) if isinstance(dim, int) and dim > 0]
    if len(sizes) < len(before) + len(after) or len(before) < 2 or before[0] == 1 or after[:1] != (1,):
        return ""
    unit, below = prod(sizes[1 : len(before)]), 1
    for axis in range(len(after) - 1, 0, -1):
        above = below * sizes[len(before) + axis]
        if unit % below == 0 and above % (unit * sizes[0]) == 0:
            return "" if after[axis] == sizes[0] else f"takes the batch into axis {axis}"
        below = above
    return "mixes the samples of the batch"


def iter_batch_first_targets(before: Shape, after: Shape, target: Shape, value: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that keep the batch axis first, each with its assumption.

    `target` is the refused target. `value` is a fix of `target` with an explicit first dim, and `after` is the output
    shape for `value`.

    >>> [value for value, _ in iter_batch_first_targets((4, 6), (1, 24), (1, 9), (1, 24))]
    [(0, -1), (-1, 6)]
    >>> [value for value, _ in iter_batch_first_targets((4, 6), (4, 6), (4, 9), (4, 6))]
    [(0, 6)]
    """
    if len(before) < 2 or value[:1] != after[:1]:
        return
    batch = before[0]
    if not isinstance(batch, int) or batch < 2:
        return
    if batch == after[0] and product(before[1:]) == product(after[1:]):
        yield (0, *value[1:]), COPY_ASSUMPTION
    changed = [axis for axis, (old, new) in enumerate(zip(target, value, strict=False)) if old != new]
    axis = value.index(-1) if -1 in value else changed[0] if len(changed) == 1 else 0
    if not axis or len(value) != len(target) or not describe_batch_move(before, after):
        return
    size = after[axis]
    yield (0, *value[1:axis], -1, *value[axis + 1 :]), COPY_ASSUMPTION
    if isinstance(size, int) and size % batch == 0:
        yield (-1, *value[1:axis], size // batch, *value[axis + 1 :]), INFER_ASSUMPTION


def _resolve_target(stages: Sequence[Stage], target: Shape) -> Shape:
    """Return a target with its zeros and -1 replaced by resolved sizes.

    A dim that was not resolved is 1.
    """
    known = {step.out: step.dim for stage in stages for step in stage.steps if step.out is not None}
    return tuple(known.get(out, 1) for out in range(len(target)))


def find_faulty_argument(trace: Trace, problem: Problem) -> RefusedRequest:
    """Find the faulty argument of a refused request, and its shape."""
    arguments, name = trace.request.arguments, problem.argument
    stage = trace.stages[-1] if trace.stages else None
    shape = stage.before if stage else trace.input
    if name == "second" and stage and not stage.steps:  # a Shuffle checks `second` before its reshape
        shape = arguments.get("to", shape)
    return RefusedRequest(trace, problem, stage.kind if stage else None, arguments.get(str(name)), shape)


def _fit_one_size(refused: RefusedRequest) -> CandidateValues:
    """Yield the target with one dim replaced by each of the nearest fitting sizes."""
    index, sizes = refused.nearest_fit
    return (refused.replace_item(size, index=index) for size in sizes)


def _fit_image(refused: RefusedRequest) -> CandidateValues:
    """Yield the target with its image replaced by the input's image."""
    if isinstance(refused.value, tuple) and not any(isinstance(dim, int) and dim < 0 for dim in refused.value):
        for index, dims in find_image_replacements(refused.shape, refused.resolved_target):
            yield (*refused.value[:index], *dims, *refused.value[index + len(dims) :])


def replace_zeros(refused: RefusedRequest) -> CandidateValues:
    """Yield the target with each zero replaced by the input dim at the same axis."""
    requested = refused.trace.stages[-1].requested if refused.kind in (StageKind.RESHAPE, StageKind.VIEW) else None
    if requested and requested == refused.value and 0 not in refused.shape and 0 in refused.resolved_target:
        copied = refused.shape + refused.value[len(refused.shape) :]
        yield tuple(copied[out] if dim == 0 else dim for out, dim in enumerate(refused.value))


def _replace_inferred_dim(refused: RefusedRequest) -> CandidateValues:
    """Yield the target with -1 replaced by the size computed from the nonzero dims."""
    volume, known = (product(dim for dim in dims if dim != 0) for dims in (refused.shape, refused.resolved_target))
    yield refused.replace_item(quotient(volume, known), index=refused.infer_index)


def _use_input_dim(refused: RefusedRequest) -> CandidateValues:
    """Yield the target with the faulty dim replaced by the aligned input dim."""
    return (refused.replace_item(dim) for dim in refused.find_aligned_dim(refused.index))


def _make_item_replacement(*dims: int) -> Callable[[RefusedRequest], CandidateValues]:
    """Return a function that replaces the faulty item of the argument by `dims`."""
    return lambda refused: iter([refused.replace_item(*dims)] if isinstance(refused.value, tuple) else [])


def _make_argument_setter(value: object) -> Callable[[RefusedRequest], CandidateValues]:
    """Return a function that yields `value` as the new faulty argument."""
    return lambda _: iter([value])


def _truncate_to_rank(refused: RefusedRequest) -> CandidateValues:
    """Yield the target, shortened to the dialect's maximum rank.

    In a reshape, the last dim that is kept becomes -1. In an unsqueeze, the list of new axes is shortened.
    """
    if refused.kind is StageKind.UNSQUEEZE:
        yield refused.value[: refused.index - len(refused.shape)]
    elif isinstance(refused.value, tuple):
        yield (
            refused.value[-refused.index :]
            if refused.kind is StageKind.EXPAND
            else (*refused.value[: refused.index - 1], -1)
        )


def _complete_permutation(refused: RefusedRequest) -> CandidateValues:
    """Yield the permutation with its missing axes added.

    The missing axes replace invalid or repeated axes, or are appended.
    """
    from shapecalc.core.ops.transpose import TRANSPOSE_SEMANTICS  # imported here because only permutations need it

    perm, rank, valid = refused.value or (), refused.rank, dict[int, int]()
    allows_negative = TRANSPOSE_SEMANTICS.for_dialect(DIALECTS[refused.trace.dialect]).negative_perm
    for index, axis in enumerate(perm):
        if -rank <= axis < rank and axis % rank not in valid:
            valid[axis % rank] = index
    kept = {index: perm[index] if allows_negative else axis for axis, index in valid.items()}
    missing = iter([axis for axis in range(rank) if axis not in valid])
    missing_count = max(0, rank - len(valid))
    wrong = [index for index in range(max(rank, len(perm))) if index not in kept][:missing_count]
    yield tuple(kept[index] if index in kept else next(missing) for index in sorted([*kept, *wrong]))


def _use_nonnegative_axis(refused: RefusedRequest) -> CandidateValues:
    """Yield the argument with its negative axis counted from 0.

    An axis that is out of range becomes 0.
    """
    axis = refused.value[refused.index] if isinstance(refused.value, tuple) else refused.value
    yield refused.replace_item(max(0, axis + refused.rank))


def _use_nearest_axes(refused: RefusedRequest) -> CandidateValues:
    """Yield the argument with its invalid axis replaced by each of the nearest axes.

    An omitted argument is treated as axis 1.
    """
    axis = (
        refused.value[refused.index]
        if isinstance(refused.value, tuple)
        else 1
        if refused.value is None
        else refused.value
    )
    nearest = sorted(range(refused.rank + 1), key=lambda other: abs(other - axis))
    return (refused.replace_item(other) for other in nearest[:MAX_NEAR_AXES])


def _use_unit_axes(refused: RefusedRequest) -> CandidateValues:
    """Yield each axis of size 1 as the argument, the nearest axis first.

    Yields nothing if several axes are requested.
    """
    axis = refused.value[0] if isinstance(refused.value, tuple) else refused.value
    ones = [other for other, dim in enumerate(refused.shape) if dim == 1 and refused.value in (axis, (axis,))]
    return (refused.replace_item(other) for other in sorted(ones, key=lambda other: abs(other - axis % refused.rank)))


DROP_ITEM, WRITE_INFER, WRITE_ONE = _make_item_replacement(), _make_item_replacement(-1), _make_item_replacement(1)
OMIT, FIRST_AXIS = _make_argument_setter(None), _make_argument_setter((0,))

CHANGES_BY_RULE: Mapping[Rule, tuple[Callable[[RefusedRequest], CandidateValues], ...]] = {
    rules.INDIVISIBLE: (_fit_one_size,),
    rules.VOLUME_MISMATCH: (replace_zeros, _fit_image, _fit_one_size),
    rules.TWO_INFERS: (_use_input_dim, WRITE_ONE, DROP_ITEM),
    rules.BELOW_MINUS_ONE: (WRITE_INFER, _use_input_dim, DROP_ITEM),
    rules.ZERO_OUT_OF_RANGE: (DROP_ITEM, WRITE_INFER, WRITE_ONE),
    rules.ZERO_BESIDE_INFER: (_replace_inferred_dim,),
    rules.ZERO_VOLUME_INFER: (replace_zeros, _replace_inferred_dim),
    rules.INFER_LIMIT: (
        lambda refused: (refused.replace_item(dim, -1) for dim in refused.find_aligned_dim(refused.index)),
    ),
    rules.OVERFLOW: (_use_input_dim,),
    rules.RANK_LIMIT: (_truncate_to_rank,),
    rules.NOT_A_PERMUTATION: (_complete_permutation, OMIT),
    rules.MISSING_ARGUMENT: (lambda refused: iter([tuple(range(refused.rank))[::-1]]),),
    rules.NEGATIVE_AXIS: (_use_nonnegative_axis,),
    rules.AXIS_OUT_OF_RANGE: (_use_nearest_axes, DROP_ITEM),
    rules.REPEATED_AXIS: (DROP_ITEM,),
    rules.AXIS_NOT_ONE: (_use_unit_axes, DROP_ITEM),
    rules.START_AFTER_END: (lambda refused: iter([refused.trace.request.arguments["end_dim"]]),),
    rules.NOT_BROADCASTABLE: (
        _use_input_dim,
        WRITE_ONE,
        lambda refused: iter([(*refused.shape[: len(refused.shape) - len(refused.value)], *refused.value)]),
    ),
    rules.NEGATIVE_SIZE: (_use_input_dim, WRITE_ONE, DROP_ITEM),
    rules.NEEDS_SIZE: (_use_input_dim,),
    rules.NO_SUCH_ATTRIBUTE: (OMIT,),
}
"""For each rule, the functions that yield new values of the faulty argument, in the order of the attempts."""

CHANGES_BY_RULE_AND_KIND: Mapping[tuple[Rule, StageKind], tuple[Callable[[RefusedRequest], CandidateValues], ...]] = {
    (rules.NEGATIVE_AXIS, StageKind.PERMUTE): (_complete_permutation,),
    (rules.MISSING_ARGUMENT, StageKind.UNSQUEEZE): (FIRST_AXIS,),
    (rules.AXIS_OUT_OF_RANGE, StageKind.UNSQUEEZE): (_use_nearest_axes,),
    (rules.REPEATED_AXIS, StageKind.UNSQUEEZE): (_use_nearest_axes,),
}
"""The functions for a rule in one kind of stage; they override `CHANGES_BY_RULE`."""


def propose_changes(trace: Trace, problem: Problem) -> ArgumentChanges:
    """Yield changes of arguments that may fix a refused request.

    The changes that the op declares for the broken rule override those in `CHANGES_BY_RULE`.
    """
    op_changes = OPS[trace.op].fix_candidates.get(problem.rule)
    if op_changes is not None:
        yield from (ArgumentChange(name, value) for name, value in op_changes(trace.input, trace.request.arguments))
        return
    if _is_operand_mismatch(trace, problem):
        yield from propose_operand_changes(trace.request)
        return
    if problem.rule is rules.VOLUME_MISMATCH:
        yield from propose_batch_changes(trace)
    refused, name = find_faulty_argument(trace, problem), str(problem.argument)
    of_kind = CHANGES_BY_RULE_AND_KIND.get((problem.rule, refused.kind)) if refused.kind else None
    for change in CHANGES_BY_RULE.get(problem.rule, ()) if of_kind is None else of_kind:
        values = change(refused) if name != "input" else ()
        yield from (ArgumentChange(name, value, replaces_zeros=change is replace_zeros) for value in values)


def _is_operand_mismatch(trace: Trace, problem: Problem) -> bool:
    """Return whether a request is refused because its operands are incompatible."""
    return trace.op in SHAPE_FIXES and problem.argument in OPERAND_ARGUMENTS


def propose_batch_changes(trace: Trace) -> ArgumentChanges:
    """Yield targets for every batch size if the target applies to one only."""
    arguments = trace.request.arguments
    for stage in trace.stages:
        target = arguments.get(stage.argument)
        if (
            stage.kind in (StageKind.RESHAPE, StageKind.VIEW)
            and isinstance(target, tuple)
            and not arguments.get("reverse")
        ):
            for value, why in iter_batch_independent_targets(stage.before, target, _resolve_target((stage,), target)):
                yield ArgumentChange(stage.argument, value, why)


def propose_fallback_changes(trace: Trace, problem: Problem) -> ArgumentChanges:
    """Yield the targets to try if no other change is a fix.

    Each dim, from right to left, is replaced by the aligned input dim and then by -1. Finally, -1 is appended.
    """
    refused = find_faulty_argument(trace, problem)
    if refused.kind is not StageKind.RESHAPE or not OPS[trace.op].uses_switch or not isinstance(refused.value, tuple):
        return
    name = str(problem.argument)
    for index in range(len(refused.value))[::-1]:
        for dim in (*refused.find_aligned_dim(index), -1):
            yield ArgumentChange(name, refused.replace_item(dim, index=index))
    yield ArgumentChange(name, (*refused.value, -1))


def find_fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the fixes of a request; fixes without conditions come first.

    For a request that resolves for one batch size only, the fixes make it resolve for every batch size.

    >>> [fix.description for fix in find_fixes(resolve(make_request("reshape", "2,3,4", {"target": "5,-1"})))]
    ['write 4,-1', 'write 6,-1']
    """
    if trace.problem is None:
        return _find_batch_fixes(trace) if trace.conditions else ()
    pairs = sorted(
        _search_fixes(trace, trace.problem, MAX_SUCCESSIVE_CHANGES), key=lambda pair: bool(pair[1].conditions)
    )
    result: dict[object, Fix] = {}
    for single, answer in pairs:
        for fix in add_batch_first_fixes(trace, single, answer):
            result.setdefault((fix.name, fix.value), fix)
    return tuple(result.values())


def add_batch_first_fixes(trace: Trace, fix: Fix, answer: Trace) -> list[Fix]:
    """Return a fix of a target, together with fixes that keep the batch axis first.

    `answer` is the answer after `fix`. If `fix` moves the batch axis, it comes last, and its description mentions this;
    otherwise it comes first.
    """
    stage = next((stage for stage in answer.stages if stage.argument == fix.name and stage.kind in RESHAPE_KINDS), None)
    old, new = (either.request.arguments.get(fix.name) for either in (trace, answer))
    if fix.batch_assumption or stage is None or stage.after is None or answer.request.arguments.get("reverse"):
        return [fix]
    if not isinstance(old, tuple) or not isinstance(new, tuple):
        return [fix]
    move_text = describe_batch_move(stage.before, stage.after)
    batch_first = iter_batch_first_targets(stage.before, stage.after, old, new)
    changed = (ArgumentChange(fix.name, value, reason) for value, reason in batch_first)
    attempts = _try_fixes(trace.request, _describe_changes(trace.request, changed))
    result = [batch_fix for batch_fix, fixed in attempts if fixed.output is not None]
    return (
        [*result, replace(fix, description=f"{fix.description}: {move_text}", batch_move=move_text)]
        if move_text
        else [fix, *result]
    )


def find_single_change_fixes(trace: Trace, problem: Problem, name: str | None = None) -> FixesWithAnswers:
    """Yield fixes that change one option once, each with the answer after the fix.

    `name` restricts the fixes to one option. The first fix is also the first fix of `find_fixes`, but is found with
    fewer attempts, because each fix is computed when it is requested.
    """
    attempts = ((fix, answer) for fix, answer in _try_changes(trace, problem) if name in (None, fix.name))
    return ((fix, answer) for fix, answer in attempts if answer.output is not None)


def _find_batch_fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the fixes that make an answer valid for every batch size."""
    attempts = _try_fixes(trace.request, _describe_changes(trace.request, propose_batch_changes(trace)))
    limit = len(trace.conditions)
    return tuple(fix for fix, answer in attempts if answer.output is not None and len(answer.conditions) < limit)


def apply_fix(request: Request, fix: Fix) -> Request:
    """Return the request with a fix applied.

    Raises `ShapeError` (usage) if the option does not accept the value.

    >>> apply_fix(make_request("reshape", "2,3,4", {"target": "5,-1"}), Fix("target", "4,-1", "write 4,-1")).arguments
    {'target': (4, -1)}
    """
    switch = DIALECTS[request.dialect].switch
    options: dict[str, Any] = {"input": request.input, "dialect": request.dialect, "opset": request.opset}
    options |= {"dtype": request.dtype, **request.arguments}
    if switch:
        options[switch.name] = request.switch
    options[fix.name] = fix.value
    fixed = make_request(request.op, options.pop("input"), options)
    texts = {name: text for name, text in request.argument_texts.items() if name != fix.name}
    return replace(fixed, argument_texts={**texts, **fixed.argument_texts})


def _search_fixes(trace: Trace, problem: Problem, depth: int) -> list[tuple[Fix, Trace]]:
    """Return fixes of at most `depth` changes, with the answers after the fixes."""
    if problem.rule is rules.CONTRADICTION:
        return []
    attempts = [*_try_changes(trace, problem)]
    if _is_operand_mismatch(trace, problem):
        return _select_successful_fixes(attempts)
    if not _select_successful_fixes(attempts):
        attempts += _try_fixes(
            trace.request, _describe_changes(trace.request, propose_fallback_changes(trace, problem))
        )
    if _select_successful_fixes(attempts) or depth == 1:
        return _select_successful_fixes(attempts)
    for fix, answer in attempts:
        if answer.problem and fix.name == problem.argument == answer.problem.argument:
            deeper = _search_fixes(answer, answer.problem, depth - 1)
            return [pair for pair in deeper if pair[0].name == fix.name]
    return []


def _select_successful_fixes(attempts: Iterable[tuple[Fix, Trace]]) -> list[tuple[Fix, Trace]]:
    """Return the attempts that resolve, without duplicates."""
    return [*dict(pair for pair in attempts if pair[1].output is not None).items()]


def _try_changes(trace: Trace, problem: Problem) -> FixesWithAnswers:
    """Yield fixes that change one option once, each with the answer after the fix."""
    request = trace.request
    if len(request.dims) > MAX_REQUEST_DIMS:
        return
    newer = _find_newer_opset_fix(request) if problem.rule in OPSET_RULES else iter(())
    if problem.rule is rules.NO_SUCH_ATTRIBUTE:
        yield from newer
    attempts = _try_fixes(request, _describe_changes(request, propose_changes(trace, problem)))
    is_single = not _is_operand_mismatch(trace, problem)
    yield from ((fix, answer) for fix, answer in attempts if is_single or keeps_batch(request, answer))
    yield from _try_fixes(request, _iter_switch_fixes(request))
    yield from newer  # exhausted for `NO_SUCH_ATTRIBUTE`: its fix was yielded above


def _try_fixes(request: Request, fixes: Iterable[Fix]) -> FixesWithAnswers:
    """Yield each fix that the request accepts, with the answer after the fix."""
    for fix in fixes:
        try:
            yield fix, resolve(apply_fix(request, fix))
        except ShapeError:
            continue


def _describe_changes(request: Request, changes: ArgumentChanges) -> Iterator[Fix]:
    """Convert at most `MAX_TRIED_VALUES` changes to fixes with descriptions.

    Yields nothing for a request with more than `MAX_REQUEST_DIMS` dims.
    """
    for change in () if len(request.dims) > MAX_REQUEST_DIMS else islice(changes, MAX_TRIED_VALUES):
        name, value = change.name, change.value
        if isinstance(value, bool):
            yield Fix(name, value, f"write --{to_dashes(name)}")
            continue
        text = shape_text(value) if isinstance(value, tuple) else None if value is None else str(value)
        prefix = "" if name in request.arguments or name == "input" else f"--{to_dashes(name)} "
        reason = f": right for every batch, {change.batch_assumption}" if change.batch_assumption else ""
        action = f"leave {name} out" if text is None else f"write {prefix}{truncate(text)}{reason}"
        action = f"{change.description}: {action}" if change.description else action
        yield Fix(name, text, action, change.batch_assumption, replaces_zeros=change.replaces_zeros)


def _iter_switch_fixes(request: Request) -> Iterator[Fix]:
    """Yield fixes that change the dialect's switch, if the op has a switch."""
    row = DIALECTS[request.dialect]
    name = switch_name(OPS[request.op], row)
    if name and row.switch:
        current = row.switch.default if request.switch is None else request.switch
        settings = [setting for setting in (True, False) if setting is not current]
        yield from (Fix(name, setting, f"turn {name} {'on' if setting else 'off'}") for setting in settings)


def _find_newer_opset_fix(request: Request) -> FixesWithAnswers:
    """Yield a fix that uses the first newer opset in which the request resolves."""
    row = DIALECTS[request.dialect]
    operator = operator_of(OPS[request.op], row)
    versions = operator.versions if operator and row.newest_opset else ()
    newer = [version for version in versions if version > (request.opset or DEFAULT_OPSET)]
    attempts = _try_fixes(request, (Fix("opset", str(version), f"use opset {version}") for version in newer))
    yield from islice(((fix, answer) for fix, answer in attempts if answer.output is not None), 1)


def build_hint(trace: Trace) -> str:
    """Return a hint for fixing a refused request, or an empty string.

    >>> from shapecalc.core.requests import make_request
    >>> build_hint(resolve(make_request("reshape", "2,3,4", {"target": "5,-1"})))
    '4 and 6 would divide: try 4,-1'
    """
    problem = trace.problem
    if problem is None or problem.hint or problem.rule in (USAGE, FILE):
        return problem.hint if problem else ""
    request = trace.request
    return "; ".join(
        filter(None, (_argument_hint(trace, problem), _switch_hint(request, problem), _zero_size_hint(request)))
    )


def batch_fix_text(fixes: Iterable[Fix]) -> str:
    """Describe the fixes that apply to every batch size.

    Returns an empty string if there are none.
    """
    texts = [f"{truncate(str(fix.value))}, {fix.batch_assumption}" for fix in fixes if fix.batch_assumption]
    return f"for every batch try {'; or '.join(texts)}" if texts else ""


def _argument_hint(trace: Trace, problem: Problem) -> str:
    """Describe a fix for the faulty argument or for the opset."""
    refused = find_faulty_argument(trace, problem)
    is_volume_problem = problem.rule in (rules.INDIVISIBLE, rules.VOLUME_MISMATCH, rules.ZERO_VOLUME_INFER)
    if is_volume_problem and (text := _target_hint(refused)) is not None:
        explanation = explain_count(trace.request) if trace.op in ("reshape", "view") else ""
        if explanation and text.startswith(NO_SINGLE_SIZE):
            text = text.partition("; ")[2]
        return "; ".join(filter(None, (explanation, text)))
    if problem.rule is rules.NOT_A_PERMUTATION:
        return _missing_axes_hint(refused)
    if problem.rule is rules.NEEDS_SIZE:
        may_copy = trace.op == "view" and problem.argument == "strides"
        return "give the sizes with --where" + (", or write reshape in place of view" if may_copy else "")
    if problem.rule == "stride-incompatible":
        from shapecalc.core.ops.view import COPY_FIRST_HINT  # imported here because only `view` has this hint

        return COPY_FIRST_HINT
    switch = switch_name(OPS[trace.op], DIALECTS[trace.dialect])
    fix, _ = next(find_single_change_fixes(trace, problem), (None, None))
    action = fix.description if fix and fix.name != switch else ""
    if problem.rule is rules.MISSING_ARGUMENT and not action and problem.argument:
        action = f"write --{to_dashes(problem.argument)}"
    explanation = explain_mismatch(trace.request) if _is_operand_mismatch(trace, problem) else ""
    return "; ".join(filter(None, (explanation if not action or "flattened" in explanation else "", action)))


def _target_hint(refused: RefusedRequest) -> str | None:
    """Describe a fix of the target, or return None if another argument may be faulty."""
    trace, problem = refused.trace, refused.problem
    attempts = find_single_change_fixes(trace, problem, problem.argument)
    has_zeros = problem.rule is not rules.INDIVISIBLE and next(replace_zeros(refused), None) is not None
    has_batch = problem.rule is rules.VOLUME_MISMATCH and next(propose_batch_changes(trace), None) is not None
    first = [*islice(attempts, MAX_BATCH_CHANGES)] if has_zeros or has_batch else []
    batch_text = batch_fix_text(fix for fix, _ in first)
    zero_texts = [f"here 0 is a size and copies nothing: {fix.description}" for fix, _ in first if fix.replaces_zeros]
    if zero_texts:
        return "; ".join(filter(None, (*zero_texts, batch_text)))
    has_op_changes = problem.rule in OPS[trace.op].fix_candidates
    if (
        problem.rule is rules.ZERO_VOLUME_INFER
        or has_op_changes
        or not trace.stages
        or not isinstance(refused.value, tuple)
    ):
        return None
    if has_batch:
        single_texts = [
            f"for {refused.shape[0]} only {truncate(str(fix.value))}" for fix, _ in first if not fix.batch_assumption
        ]
        return "; ".join(filter(None, (batch_text, *single_texts[:1])))
    return _size_hint(refused, *next(chain(first, attempts), (None, None)))


def _size_hint(refused: RefusedRequest, fix: Fix | None, answer: Trace | None) -> str:
    """Describe the sizes that could replace one dim of the target.

    If no size fits, the reason is described. `fix` is the first fix of the target, if any, and `answer` is the answer
    after `fix`.
    """
    if fix is not None and answer is not None:
        *batch_fixes, last = add_batch_first_fixes(refused.trace, fix, answer)
        if last.batch_move:
            return "; ".join(
                filter(None, (batch_fix_text(batch_fixes), f"{truncate(str(last.value))} {last.batch_move}"))
            )
    index, sizes = refused.nearest_fit
    target = "" if fix is None else str(fix.value)
    if not sizes or target != shape_text(refused.replace_item(sizes[0], index=index)):
        image = f"try {truncate(target)}" if fix is not None and refused.infer_index is None else ""
        return "; ".join(filter(None, ("" if sizes else _missing_factors_hint(refused), image)))
    is_short = target == truncate(target)
    action = (
        f"try {target}" if is_short else f"write {sizes[0]} in place of the {refused.value[index]} at index {index}"
    )
    return action if refused.infer_index is None else f"{' and '.join(map(str, sorted(sizes)))} would divide: {action}"


def _missing_factors_hint(refused: RefusedRequest) -> str:
    """Return a hint with the prime factors of the target that the input lacks."""
    volume, requested = product(refused.shape), product(refused.resolved_target)
    if not isinstance(volume, int) or not isinstance(requested, int) or not volume or not requested:
        return ""
    missing = missing_factors_text(volume, requested)
    return f"{NO_SINGLE_SIZE}: {factorization_text(volume)} has {missing}" if missing else ""


def _missing_axes_hint(refused: RefusedRequest) -> str:
    """Return a hint with the axes that are missing from a permutation."""
    if refused.rank > MAX_LISTED_RANK:
        return ""
    absent = [
        str(axis)
        for axis in range(refused.rank)
        if axis not in refused.value and axis - refused.rank not in refused.value
    ]
    return f"not named yet: {', '.join(absent)}" if absent else ""


def _switch_hint(request: Request, problem: Problem) -> str:
    """Describe the effect of the dialect's switch if it affects the answer."""
    texts = []
    for fix, answer in _try_fixes(request, _iter_switch_fixes(request)):
        copies = DIALECTS[request.dialect].reshape_semantics[bool(fix.value)].zero is ZeroMeaning.COPIES
        meaning = "0 copies" if copies else "0 is a dim of size zero"
        prefix = f"with {fix.name} {'on' if fix.value else 'off'} ({meaning})"
        if answer.output is not None:
            texts.append(f"{prefix} the answer is {truncate(shape_text(answer.output))}")
        elif answer.problem and problem.rule is rules.MISSING_SWITCH:
            texts.append(f"{prefix} it is refused: {answer.problem.rule}")
    return "; ".join(texts)


def _zero_size_hint(request: Request) -> str:
    """Return a hint with the symbolic sizes that must be 0 for a request to be valid."""
    if not OPS[request.op].uses_switch:
        return ""
    known = dim_names(request.input)[:MAX_ZERO_NAMES]
    fitting = [name for name in known if resolve_with_sizes(request, {name: 0}).output is not None]
    return f"{' or '.join(fitting)} = 0 would resolve" if fitting else ""
