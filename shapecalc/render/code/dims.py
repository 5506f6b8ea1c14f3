"""Framework calls, requested dims and size expressions for code generation.

The shape argument of a call requests each dim as a number, as a product of input dims, or as -1. The choice depends on
the rule that determined the dim; each step of the answer records its rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from operator import gt

from shapecalc.core.answers import Chain, Stage, StageKind, Step, Trace
from shapecalc.core.conditions import Unsatisfiable, require_different
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import check_rank
from shapecalc.core.dims import (
    INT64_MAX,
    Dim,
    Monomial,
    Shape,
    dim_names,
    is_concrete,
    monomial,
    named_dim,
    product,
    quotient,
    substitute_dims,
)
from shapecalc.core.moves import Combine, Expand, Permute, Roll, ShapeVector, StridedSlice, Take
from shapecalc.core.ops.slice import KEPT_POSITIONS
from shapecalc.core.ops.split import SPLIT_AXIS
from shapecalc.core.ops.tile import TILE
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import (
    COPIED_ZERO,
    DROPPED_ONE,
    INFERRED,
    INFERRED_EMPTY,
    INSERTED_ONE,
    KEPT_DIM_RULES,
    MERGED,
)
from shapecalc.core.text import shape_text, truncate
from shapecalc.core.values import parse_slices
from shapecalc.render.code import GeneratedCode
from shapecalc.render.code.calls import ArgumentReader, operand_shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, TypeVar

    MoveType = TypeVar("MoveType", Permute, StridedSlice, Roll, Take, ShapeVector, Combine)

INT32_MAX = 2**31 - 1
RESERVED_NAMES = {
    "x",
    "y",
    "np",
    "math",
    "torch",
    "rearrange",
    "repeat",
    "jnp",
    "tf",
    "paddle",
    "ops",
    "trt",
    "network",
}
"""The names that size variables cannot have, because generated code uses them itself."""
RESERVED_NAMES |= {"layer", "helper", "TensorProto", "nodes", "graph", "model", "sizes"}
NUMBERED_NAMES = {"axes", "ends", "index", "repeats", "shape", "size", "starts", "steps", "x"}
"""The names that generated code uses with a number as a suffix, such as `x1`."""
IMPORTS = {
    "jnp": "import jax.numpy as jnp",
    "math": "import math",
    "np": "import numpy as np",
    "paddle": "import paddle",
    "tf": "import tensorflow as tf",
    "trt": "import tensorrt as trt",
    "torch": "import torch",
}
"""The import statement of each module that generated code can use, in the order of the output."""
ORDER_PRESERVING_KINDS = (StageKind.RESHAPE, StageKind.VIEW, StageKind.MERGE, StageKind.SQUEEZE, StageKind.UNSQUEEZE)
"""The kinds of stages that preserve the C order of the elements."""
WRITER_METHODS = {
    StageKind.PERMUTE: "transpose",
    **dict.fromkeys((StageKind.RESHAPE, StageKind.VIEW, StageKind.MERGE), "reshape"),
    **dict.fromkeys((StageKind.SELECT, StageKind.SLICE, StageKind.FLIP), "indexing"),
    **{kind: kind.name.lower() for kind in (StageKind.SQUEEZE, StageKind.UNSQUEEZE, StageKind.EXPAND, StageKind.SPLIT)},
    **{kind: kind.name.lower() for kind in (StageKind.TAKE, StageKind.ROLL, StageKind.SHAPE)},
}
"""The name of the `CodeWriter` method for each stage kind, without its prefix.

Other kinds use `CodeWriter.emit_combination`.
"""


class RequestedDim(Record):
    """A dim of a shape argument: a size, a product of input dims, or -1."""

    value: Dim
    axes: tuple[int, ...] | None = None
    """The input axes whose product is the dim, or None if the code contains `value` instead."""
    inferred: bool = False
    """Whether the dim can be requested as -1."""


class EmittedCall(Record):
    """A framework call for one stage, for merged stages, or for all stages of an op."""

    trace: Trace
    stage: Stage
    dims: tuple[RequestedDim, ...] = ()
    """The dims of the shape argument; empty if the call has no shape argument."""
    repeats: Shape = ()
    """The repeat counts, if the call performs all stages of a tile or a `repeat_interleave`; otherwise empty."""

    @property
    def output_shape(self) -> Shape:
        """The output shape of the call."""
        return self.stage.after or ()

    def require_move(self, kind: type[MoveType]) -> MoveType:
        """Return the move of the stage, which must be an instance of `kind`.

        A move, such as `Permute`, describes the new position of each element.
        """
        assert isinstance(self.stage.move, kind)
        return self.stage.move

    def steps_by_rule(self, *rules: str) -> list[Step]:
        """Return each step of the stage if its rule is one of `rules`."""
        return [step for step in self.stage.steps if step.rule in rules]

    def axes_to_drop(self) -> list[int]:
        """Return the axes that a squeeze drops."""
        return [step.sources[0] for step in self.steps_by_rule(DROPPED_ONE)]

    def is_full_squeeze(self) -> bool:
        """Return whether a squeeze drops all dims of size 1."""
        kept = self.steps_by_rule(*KEPT_DIM_RULES)
        is_complete = len(kept) + len(self.axes_to_drop()) == len(self.stage.before) and not self.stage.requested
        return is_complete and not any(map(_can_be_one, kept))

    def axes_to_insert(self) -> list[int]:
        """Return the output axes that an unsqueeze inserts."""
        return [step.out for step in self.steps_by_rule(INSERTED_ONE) if step.out is not None]

    def int32_roll(self, target: str) -> Roll:
        """Return an equivalent roll whose shift fits into 32 bits.

        Raises `ShapeError` (usage), with the name of the `target`, if there is no such roll.
        """
        roll = self.require_move(Roll)
        dim = self.stage.before[roll.axis]
        if abs(roll.shift) > INT32_MAX and isinstance(dim, int):
            roll = Roll(roll.shift % dim if dim else 0, roll.axis)
        if abs(roll.shift) > INT32_MAX:
            raise usage_error(
                f"a roll by {truncate(str(roll.shift))} is not written as {target} code", "give a shorter shift"
            )
        return roll

    def split_arguments(self) -> tuple[int, int, int]:
        """Return the axis, the number of parts, and the index of the selected part."""
        (step,) = self.steps_by_rule(SPLIT_AXIS)
        return step.sources[0], step.facts["runs"][0][0], step.facts["part"]

    @property
    def kind(self) -> StageKind:
        """The kind of the stage.

        An uneven split has the kind of a slice. Raises `ShapeError` (usage) for an uneven split of symbolic dims.
        """
        if self.stage.kind is not StageKind.SPLIT or len(self.steps_by_rule(SPLIT_AXIS)[0].facts["runs"]) == 1:
            return self.stage.kind
        if not is_concrete(self.stage.before):
            raise usage_error("parts of sizes with names are not written as code", "give the sizes with --where")
        return StageKind.SLICE

    def index_selections(self) -> tuple[IndexSelection, ...]:
        """Return the selected indices of each axis of a slice.

        >>> import shapecalc as sc
        >>> [str(kept) for kept in build_calls(sc.select(("N", 3), 0, -1))[0].index_selections()]
        ['-1', ':']
        """
        rows = zip(self.require_move(StridedSlice).axis_ranges, self.stage.before, strict=True)
        requested = {step.sources[0]: step.facts["text"] for step in self.steps_by_rule(KEPT_POSITIONS)}
        return tuple(
            parse_selection(axis, requested[axis])
            if axis in requested and not isinstance(dim, int)
            else make_index_selection(axis, *positions, dim)
            for axis, (positions, dim) in enumerate(rows)
        )

    def partial_ranges(self) -> tuple[IndexSelection, ...]:
        """Return the selected indices of each axis that is not selected completely."""
        return tuple(selection for selection in self.index_selections() if str(selection) != ":")


class IndexSelection(Record):
    """The selected indices of one axis: a single index, or `start:stop:step`."""

    axis: int
    start: int | None
    stop: int | None
    step: int = 1
    drops_axis: bool = False

    @property
    def first_index(self) -> int:
        """The start of the range, by default 0, or -1 if the step is negative."""
        return (0 if self.step > 0 else -1) if self.start is None else self.start

    @property
    def end_index(self) -> int:
        """The exclusive end of the range.

        By default, it is the largest 64-bit integer, or the smallest one if the step is negative.
        """
        return (INT64_MAX if self.step > 0 else -INT64_MAX - 1) if self.stop is None else self.stop

    def __str__(self) -> str:
        if self.drops_axis:
            return str(self.start)
        start, stop = ("" if end is None else str(end) for end in (self.start, self.stop))
        return f"{start}:{stop}" + (f":{self.step}" if self.step != 1 else "")


class ReshapeRules(Record):
    """The meaning of 0 and -1 in a framework's reshape."""

    dialect: str
    switch: str | None = None
    """The option that controls the meaning of 0, such as ONNX's `allowzero`, or None if there is none."""
    zero_is_size_value: bool = False
    """The value of `switch` for which a 0 is a literal size and does not copy a dim."""
    always_passes_switch: bool = False
    """Whether a call must pass `switch` even if the requested shape has no 0."""
    copies_empty_dims: bool = True
    """Whether a 0 still copies a dim if the input tensor has no elements."""
    opset: int | None = None


class RequestedShape(Record):
    """The shape argument of a reshape call, with warnings for the user.

    A symbol in `dims` is a variable of the generated code, or `[i]` for the size of axis i of `x`. If `zero_is_size`,
    each 0 is a literal size; otherwise it copies the input dim at the same index.
    """

    dims: Shape
    zero_is_size: bool
    warnings: tuple[str, ...]


def build_calls(
    answer: Trace | Chain, whole_ops: Sequence[str] = (TILE.name,), *, fold: bool = True
) -> list[EmittedCall]:
    """Return the framework calls that compute an answer.

    Each stage is one call, but all stages of an op in `whole_ops` together are one call. If `fold` is True, consecutive
    transposes are merged, as are consecutive reshapes, and calls without an effect are omitted.

    >>> import shapecalc as sc
    >>> chain = sc.chain((2, 3, 4), "transpose 1,2,0", "transpose 2,0,1", "flatten")
    >>> [call.stage.label for call in build_calls(chain)]
    ['flatten']
    """
    calls = list[EmittedCall]()
    for call in (call for trace in answer.traces for call in _calls_of_trace(trace, whole_ops)):
        merged = _merge_calls(calls[-1], call) if fold and calls else None
        if merged:
            calls.pop()
        if not fold or not _is_identity(merged or call):
            calls.append(merged or call)
    return calls


def _calls_of_trace(trace: Trace, whole_ops: Sequence[str]) -> list[EmittedCall]:
    """Return one call per stage of an op, or a single call for an op in `whole_ops`."""
    is_whole = trace.op in whole_ops and trace.stages
    repeats = trace.request.arguments["repeats"] if is_whole else ()
    if trace.op == TILE.name and is_whole:
        repeats = (*(1,) * (len(trace.input) - len(repeats)), *repeats)
    if repeats:
        after = trace.stages[-1].after or ()
        stage = Stage(StageKind.EXPAND, trace.op, "repeats", trace.input, repeats, (), after, Expand(after))
        return [EmittedCall(trace, stage, (), repeats)]
    calls = [EmittedCall(trace, stage) for stage in trace.stages]
    return [replace(call, dims=call_target_dims(call)) for call in calls]


def _is_identity(call: EmittedCall) -> bool:
    stage = call.stage
    if isinstance(stage.move, Permute):
        return stage.move.axes == tuple(range(len(stage.before)))
    same = stage.before == stage.after and not isinstance(stage.move, (Roll, Take, ShapeVector, Combine))
    return same and not (isinstance(stage.move, StridedSlice) and call.partial_ranges())


def _merge_calls(first: EmittedCall, second: EmittedCall) -> EmittedCall | None:
    """Merge two transposes or two reshapes into one call.

    Returns None for other calls, and for reshapes of an empty tensor, because frameworks cannot infer a -1 in an empty
    shape.
    """
    first_stage, second_stage, dims = first.stage, second.stage, tuple[RequestedDim, ...]()
    kind, move = StageKind.RESHAPE, second_stage.move
    if isinstance(first_stage.move, Permute) and isinstance(move, Permute):
        kind, move = StageKind.PERMUTE, Permute(tuple(first_stage.move.axes[axis] for axis in move.axes))
    elif (
        first_stage.kind in ORDER_PRESERVING_KINDS
        and second_stage.kind in ORDER_PRESERVING_KINDS
        and 0 not in first_stage.before
    ):
        dims = _keep_first_inferred([_compose_dim(dim, first.dims) for dim in second.dims])
    else:
        return None
    return EmittedCall(
        first.trace,
        Stage(kind, first_stage.label, first_stage.argument, first_stage.before, (), (), second_stage.after, move),
        dims,
    )


def _keep_first_inferred(dims: Sequence[RequestedDim]) -> tuple[RequestedDim, ...]:
    """Clear the flag `inferred` of all dims except the first inferred dim."""
    inferred_axis = next((axis for axis, dim in enumerate(dims) if dim.inferred), None)
    return tuple(replace(dim, inferred=axis == inferred_axis) for axis, dim in enumerate(dims))


def _compose_dim(dim: RequestedDim, first_dims: Sequence[RequestedDim]) -> RequestedDim:
    """Express a dim of the second of two reshapes in terms of the input of the first."""
    if dim.axes is None or dim.inferred:
        return RequestedDim(dim.value, None, dim.inferred)
    return first_dims[dim.axes[0]] if len(dim.axes) == 1 else RequestedDim(dim.value)


def stage_shapes(answer: Trace | Chain) -> list[Shape]:
    """Return the input shape of an answer, followed by the output shape of each stage."""
    return [answer.input, *(stage.after or () for stage in answer.stages)]


def call_target_dims(call: EmittedCall) -> tuple[RequestedDim, ...]:
    """Return the dims of a call's shape argument, or () if it has no such argument."""
    match call.stage.kind:
        case StageKind.RESHAPE | StageKind.VIEW:
            return _reshape_target_dims(call)
        case StageKind.MERGE:
            return _flatten_target_dims(call)
        case StageKind.SQUEEZE:
            gone = {*call.axes_to_drop()}
            return tuple(RequestedDim(dim, (axis,)) for axis, dim in enumerate(call.stage.before) if axis not in gone)
        case StageKind.UNSQUEEZE:
            return tuple(
                RequestedDim(step.dim, step.sources or None)
                for step in call.steps_by_rule(INSERTED_ONE, *KEPT_DIM_RULES)
            )
        case StageKind.EXPAND:
            return _expand_target_dims(call.stage)
        case (
            StageKind.PERMUTE
            | StageKind.SELECT
            | StageKind.TAKE
            | StageKind.SLICE
            | StageKind.SPLIT
            | StageKind.FLIP
            | StageKind.ROLL
            | StageKind.SHAPE
        ):
            return ()
        case (
            StageKind.BROADCAST
            | StageKind.PRODUCT
            | StageKind.JOIN
            | StageKind.WINDOW
            | StageKind.LENGTHEN
            | StageKind.REDUCE
        ):
            return ()


def _reshape_target_dims(call: EmittedCall) -> tuple[RequestedDim, ...]:
    """Return the requested dims of a reshape, with at most one -1."""
    dims = {}
    for step in call.stage.steps:
        if step.out is not None:
            axes = step.sources if step.rule in (COPIED_ZERO, *KEPT_DIM_RULES) else None
            dims[step.out] = RequestedDim(step.dim, axes, _can_infer(call, step, step.out))
    return _keep_first_inferred([dims.get(out) or RequestedDim(dim) for out, dim in enumerate(call.output_shape)])


def _can_infer(call: EmittedCall, step: Step, out: int) -> bool:
    """Return whether an output dim can be requested as -1.

    `step` is the step that determines the dim. The answer must infer the dim, and all other output dims must be
    nonzero.
    """
    is_inferred = (
        step.rule == INFERRED or call.stage.requested[out : out + 1] == (-1,) or step.facts.get("by") is not None
    )
    return is_inferred and step.rule != INFERRED_EMPTY and _are_remaining_dims_nonzero(call, out)


def _are_remaining_dims_nonzero(call: EmittedCall, excluded_axis: int | None) -> bool:
    """Return whether all output dims except the dim at `excluded_axis` are nonzero."""
    return all(dim != 0 for axis, dim in enumerate(call.output_shape) if axis != excluded_axis)


def _flatten_target_dims(call: EmittedCall) -> tuple[RequestedDim, ...]:
    """Return the requested dims of a flatten.

    The first merged dim is requested as -1 if no other dim is 0.
    """
    merging = [
        (step, len(step.sources) > 1 and _are_remaining_dims_nonzero(call, step.out))
        for step in call.steps_by_rule(MERGED)
    ]
    return _keep_first_inferred([RequestedDim(step.dim, step.sources, inferred) for step, inferred in merging])


def _expand_target_dims(stage: Stage) -> tuple[RequestedDim, ...]:
    """Return the requested dims of an expand."""
    steps = [step for step in stage.steps if step.out is not None]
    requested = (1,) * (len(steps) - len(stage.requested)) + stage.requested
    return tuple(
        RequestedDim(step.dim, None if step.value == dim else step.sources)
        for step, dim in zip(steps, requested, strict=True)
    )


def _can_be_one(step: Step) -> bool:
    """Return whether the conditions of a step allow its dim to be 1."""
    try:
        return not {*require_different(step.dim, 1)} <= {*step.conditions}
    except Unsatisfiable:
        return True


def make_index_selection(axis: int, start: int, step: int, size: Dim | None, dim: Dim) -> IndexSelection:
    """Return the indices that a slice selects along an axis.

    `dim` is the size of the axis. `size` is the number of selected indices. If `size` is None, a single index is
    selected, and the axis is dropped. If the slice extends to the end of the axis, the stop of the result is None.
    """
    if size is None:
        return IndexSelection(axis, start, None, drops_axis=True)
    if not isinstance(dim, int):  # on a symbolic axis, only the op `slice` selects a part
        return IndexSelection(axis, None, None, step)
    if size == 0:
        return IndexSelection(axis, None, None if dim == 0 else 0)
    first = start % dim
    stop = first + step * int(str(size))
    at_end = first == (0 if step > 0 else dim - 1)
    return IndexSelection(axis, None if at_end else first, stop if 0 <= stop < dim else None, step)


def parse_selection(axis: int, text: str) -> IndexSelection:
    """Parse the slice of an axis whose size is symbolic."""
    [(start, stop, step)] = parse_slices(text)
    step = 1 if step is None else step
    is_full = start == (0 if step > 0 else -1)
    return IndexSelection(axis, None if is_full else start, stop, step)


def reverse_range(selection: IndexSelection, dim: Dim) -> IndexSelection:
    """Return the range that selects the same elements of the flipped axis.

    `dim` is the size of the axis.
    """
    last = dim - 1 if isinstance(dim, int) else -1
    start, stop = (None if end is None else last - end for end in (selection.start, selection.stop))
    return IndexSelection(selection.axis, start, stop, -selection.step)


def target_shape(
    call: EmittedCall, sizes: RuntimeSizes, rules: ReshapeRules, *, zero_is_size: bool = False
) -> RequestedShape:
    """Return the shape argument of a reshape call.

    A dim that the framework copies from the input is 0, and at most one dim is -1. All other dims are numbers or
    products of sizes. If `zero_is_size` is True, each 0 is a literal size. Raises `ShapeError` (usage) if the framework
    rejects the shape.
    """
    before, requested = call.stage.before, call.dims
    copies_any = rules.copies_empty_dims or 0 not in before
    copied = [copies_any and _can_copy(dim, out, before) for out, dim in enumerate(requested)]
    empty = [dim.value == 0 and not dim.inferred for dim in requested]
    requests_size = rules.switch is not None and call.trace.options.get(rules.switch) is rules.zero_is_size_value
    zero_is_size = zero_is_size or requests_size or any(map(gt, empty, copied))
    zeros = zero_is_size and any(dim.value == 0 for dim in requested)
    inferred = (
        None if zeros else _choose_inferred_axis(requested, [copies and not zero_is_size for copies in copied], sizes)
    )
    dims, warnings = list[Dim](), list[str]()
    for out, dim in enumerate(requested):
        copies = copied[out] and not zero_is_size
        dims.append(-1 if out == inferred else 0 if copies else dim.value)
        if dim.axes and isinstance(dim.value, int) and dim.value and out != inferred and not copies:
            warnings.append(f"dim {out} follows the tensor, and is written as the number {dim.value}")
    if zero_is_size and zeros and rules.switch:
        warnings.append(
            f"0 is a dim of size zero here, so {rules.switch} is {'on' if rules.zero_is_size_value else 'off'}"
        )
    _check_reshape_accepted(before, tuple(dims), zero_is_size, rules)
    return RequestedShape(tuple(map(sizes.express_dim, dims)), zero_is_size, tuple(warnings))


def _can_copy(dim: RequestedDim, axis: int, before: Shape) -> bool:
    """Return whether a 0 at index `axis` requests the dim."""
    same = axis < len(before) and isinstance(dim.value, Monomial) and before[axis] == dim.value
    return not dim.inferred and (dim.axes == (axis,) or same)


def _choose_inferred_axis(dims: Sequence[RequestedDim], copied: Sequence[bool], sizes: RuntimeSizes) -> int | None:
    """Return the axis to request as -1, or None.

    An axis that the answer infers is preferred, then the axis whose dim has the most unknown names, and among those,
    the axis whose dim has the most factors. An axis whose flag in `copied` is True is requested as 0, and is never
    chosen.
    """
    costs = dict[int, tuple[int, int]]()
    for axis, dim in enumerate(dims):
        if dim.inferred:
            return axis
        if isinstance(dim.value, Monomial) and not copied[axis]:
            readable = monomial(sizes.express_dim(dim.value))
            costs[axis] = sizes.count_unknown_names(dim.value), sum(abs(power) for _, power in readable.powers)
    return max(reversed(costs), key=costs.__getitem__, default=None)


def _check_reshape_accepted(before: Shape, dims: Shape, zero_is_size: bool, rules: ReshapeRules) -> None:
    """Raise `ShapeError` (usage) if the framework rejects a reshape."""
    switch_value = (
        rules.zero_is_size_value
        if zero_is_size
        else not rules.zero_is_size_value
        if rules.always_passes_switch
        else None
    )
    switch = {rules.switch: switch_value} if rules.switch else {}
    options = {"target": dims, "dialect": rules.dialect, "opset": rules.opset, **switch}
    if problem := resolve(make_request("reshape", before, options)).problem:
        raise usage_error(f"{rules.dialect} refuses this reshape: {problem.message}")


class RuntimeSizes:
    """Expressions for dims in terms of the run-time shape of `x`.

    The symbol `[i]` denotes the size of axis i of `x`.
    """

    def __init__(self, shape: Shape) -> None:
        """Express each name that the shape of `x` determines."""
        self.axis_by_dim: dict[Dim, Dim] = {}
        for axis, dim in enumerate(shape):
            self.axis_by_dim.setdefault(dim, named_dim(f"[{axis}]"))
        self.known = _solve_names(self.axis_by_dim)
        self.products = [dim for dim in self.axis_by_dim if {*dim_names((dim,))} - self.known.keys()]

    def express_dim(self, dim: Dim) -> Dim:
        """Express a dim in terms of the sizes of `x`.

        Names that the shape of `x` does not determine remain in the result.

        >>> from shapecalc.core.text import parse_dims
        >>> readings = RuntimeSizes(parse_dims("N,2*C,H*W"))
        >>> [str(readings.express_dim(dim)) for dim in parse_dims("C*H*W/49,N*H")]
        ['[1]*[2]/98', 'H*[0]']
        """
        if isinstance(dim, int):
            return dim
        if dim in self.axis_by_dim:
            return self.axis_by_dim[dim]
        for known_product in self.products:
            power = self._exponent_of_factor(dim, known_product)
            dim = _multiply_power(_multiply_power(dim, known_product, -power), self.axis_by_dim[known_product], power)
        return substitute_dims(dim, self.known)

    def _exponent_of_factor(self, dim: Dim, part: Dim) -> int:
        """Return the exponent of the largest power of `part` that divides `dim`.

        Names that the shape of `x` determines are ignored. The exponent is negative if `part` divides the denominator
        of `dim`.
        """
        powers = dict(monomial(dim).powers)
        quotients = [
            int(powers.get(name, 0) / power) for name, power in monomial(part).powers if name not in self.known
        ]
        return min(quotients) if min(quotients) > 0 else min(0, max(quotients))

    def count_unknown_names(self, dim: Dim) -> int:
        """Count the names in a dim that the shape of `x` does not determine."""
        return sum(not name.startswith("[") for name in dim_names((self.express_dim(dim),)))


def _solve_names(axes: Mapping[Dim, Dim]) -> dict[str, Dim]:
    """Return an expression for each name that the sizes of axes determine.

    `axes` maps each dim to the symbol of its axis. The dim `N` determines N; a product determines a name if it contains
    no other unknown name.
    """
    known = {name: axis for dim, axis in axes.items() for name in dim_names((dim,)) if dim == named_dim(name)}
    previous, remaining = list[Monomial](), [dim for dim in axes if isinstance(dim, Monomial)]
    while remaining != previous:
        previous, remaining = remaining, []
        for dim in previous:
            unknown = [(name, power) for name, power in dim.powers if name not in known]
            if [abs(power) for _, power in unknown] == [1]:
                ((name, power),) = unknown
                factor = substitute_dims(_multiply_power(dim, named_dim(name), -power), known)
                known[name] = quotient(axes[dim], factor) if power > 0 else quotient(factor, axes[dim])
            elif unknown:
                remaining.append(dim)
    return known


def _multiply_power(dim: Dim, factor: Dim, power: int) -> Dim:
    """Return `dim` times a possibly negative power of `factor`."""
    factors = product([factor] * abs(power))
    return quotient(dim, factors) if power < 0 else product((dim, factors))


def size_text(dim: Dim, shape_of: str = "x.shape") -> str:
    """Format an expression returned by `RuntimeSizes.express_dim` as Python code.

    `shape_of` is the expression for the shape of `x`. Raises `ShapeError` (usage) for an unnamed dim `?`.

    >>> from shapecalc.core.text import parse_dims
    >>> size_text(RuntimeSizes(parse_dims("N,C,H")).express_dim(parse_dims("C*H/64")[0]))
    'x.shape[1] * x.shape[2] // 64'
    """
    if isinstance(dim, int):
        return str(dim)
    return dim.format(lambda name: f"{shape_of}{name}" if name[0] == "[" else variable_name(name), " * ", " // ")


def variable_name(name: str) -> str:
    """Return the Python variable for a symbolic size.

    Raises `ShapeError` (usage) for an unnamed dim `?`.

    >>> variable_name("C"), variable_name("x"), variable_name("lambda")
    ('C', 'x_', 'lambda_')
    """
    if name.startswith("?"):
        raise usage_error("the code needs the size of a ?", "give it a name, or its size")
    stem = name.rstrip("_")
    is_reserved = iskeyword(stem) or stem in RESERVED_NAMES or stem.rstrip("0123456789") in NUMBERED_NAMES
    return f"{name}_" if is_reserved else name


def has_runtime_size(dims: Iterable[Dim]) -> bool:
    """Return whether some dim contains the size of an axis of `x`."""
    return any(name.startswith("[") for name in dim_names(dims))


class CodeWriter:
    """The base class of code writers.

    A code writer emits the lines of a program. The current tensor is the variable to which the next call is applied. A
    subclass has a method for each value of `WRITER_METHODS` that its target supports.
    """

    name: str
    intro: ClassVar[tuple[str, ...]] = ()
    """The first lines of a program, before the comment with the shapes."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Create an empty program whose current tensor is `x`."""
        self.answer, self.tensor = answer, "x"
        self.sizes = RuntimeSizes(answer.input)
        self.operand_count = 0
        """The number of operands, excluding `x`, in the calls emitted so far."""
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def emit_call(self, call: EmittedCall) -> None:
        """Emit a call.

        Raises `ShapeError` (usage) if the call is not supported, or if its rank exceeds the limit of the target.
        """
        if self.name in DIALECTS:
            check_rank(call.stage.before, DIALECTS[self.name], "input")
            check_rank(call.output_shape, DIALECTS[self.name], "input")
        name = call.trace.op if call.repeats else WRITER_METHODS.get(call.kind, "combination")
        write = getattr(self, f"emit_{name}", None)
        if write is None:
            raise usage_error(f"{name} is not written as {self.name} code")
        write(call)

    def emit_assignment(self, expression: str) -> None:
        """Assign an expression to `y`, unless the expression is the current tensor."""
        if expression != self.tensor:
            self.lines.append(f"y = {expression}")
            self.tensor = "y"

    def emit_combination(self, call: EmittedCall) -> None:
        """Emit the call of an op with several operands.

        Raises `ShapeError` (usage) if the op or an argument is not supported.
        """
        arguments = ArgumentReader(call.trace)
        self.emit_combination_code(call, arguments)
        arguments.check_all_read(self.name)
        self.register_operands(call)

    def emit_combination_code(self, call: EmittedCall, arguments: ArgumentReader) -> None:
        """Emit the lines for an op with several operands.

        An implementation reads each argument from `arguments`, because unread arguments are refused.
        """
        self.emit_assignment(self.combination_expression(arguments))

    def combination_expression(self, arguments: ArgumentReader) -> str:
        """Return the expression for an op with several operands."""
        # imported here, because it takes 10 of the 60 ms of `--as numpy`
        from shapecalc.render.code.operands import operand_expression

        return operand_expression(self.name, arguments, self.tensor, self.operand_count + 1)

    def register_operands(self, call: EmittedCall) -> None:
        """Add the operands of a call to `operand_count`.

        The current tensor is not counted. Operand n has the variable `xn`.
        """
        assert isinstance(call.stage.move, Combine)
        self.operand_count += len(call.stage.move.operands) - 1

    def text(self) -> str:
        """Return the program."""
        lines = self.lines or ["y = x"]
        used = [line for module, line in IMPORTS.items() if re.search(rf"\b{module}\.", "\n".join(lines))]
        return "\n".join([*used, *self.intro, shape_comment(self.answer), *lines])

    def build_code(self, calls: Iterable[EmittedCall], *extra_warnings: str) -> GeneratedCode:
        """Emit calls, and return the program with its warnings.

        `extra_warnings` are added to the warnings.
        """
        for call in calls:
            self.emit_call(call)
        text, answer = self.text(), self.answer
        reason = f"{self.name} cannot infer a dim if the known dims multiply to 0"
        inferred_empty = [
            f"-1 is written as {step.value}: {reason}" for step in answer.steps if step.rule == INFERRED_EMPTY
        ]
        warnings = (*answer_warnings(answer, self.name), *extra_warnings, *inferred_empty)
        return GeneratedCode(text, (*warnings, *missing_size_warnings(text, answer), *self.warnings))


def shape_comment(answer: Trace | Chain) -> str:
    """Return a comment with the shape of each input and of the output `y`."""
    inputs = {"x": answer.input, **operand_shapes(answer.traces)}
    shapes = ", ".join([f"{name}: {truncate(shape_text(shape))}" for name, shape in inputs.items()])
    return f"# {shapes} -> y: {truncate(shape_text(answer.output or ()))}"


def answer_warnings(answer: Trace | Chain, target: str) -> list[str]:
    """Return warnings about the conditions of an answer, and about different dialects."""
    warnings = [f"holds when {condition.phrase}" for condition in answer.conditions]
    dialects = list(dict.fromkeys(trace.dialect for trace in answer.traces))
    if len(dialects) > 1:
        warnings.append(f"the stages follow {' and '.join(dialects)}; the code follows {target} only")
    return warnings


def missing_size_warnings(text: str, answer: Trace | Chain) -> list[str]:
    """Return a warning for each size variable that the code uses but does not define."""
    known = dim_names(dict.fromkeys(dim for shape in stage_shapes(answer) for dim in shape))
    if not known:
        return []
    import ast  # imported here, because it takes 1 ms, and code without symbolic sizes does not need it

    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    variables = {
        name: variable_name(name) for name in known if not name.startswith("?") and variable_name(name) in used
    }
    renamed = {
        name: f"{variable} is the size {name}, which" for name, variable in variables.items() if name != variable
    }
    return [f"{renamed.get(name, f'{name} is a size that')} the code must be given" for name in variables]
