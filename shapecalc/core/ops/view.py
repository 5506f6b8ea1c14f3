"""View: PyTorch's reshape without a copy.

A view exists if strides can describe the requested shape in the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import Request, Stage, StageBuilder, StageKind, Stages, Step, StepRule, Trace
from shapecalc.core.conditions import Assumptions
from shapecalc.core.dialects.base import Operator, Param, ParamType, RequestRules, check_rank
from shapecalc.core.dims import Shape, is_concrete, numeric_dims
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.moves import Reshape
from shapecalc.core.ops.op import Op, make_test_vectors
from shapecalc.core.ops.reshape import ReshapeTarget
from shapecalc.core.ops.strides import StrideConflict, compute_view_strides, strides_after_move, strides_after_traces
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import FrozenDict, replace
from shapecalc.core.rules import NEEDS_SIZE
from shapecalc.core.text import rank_text, shape_text, truncate

SOURCE = "Tensor.view, at::detail::computeStride of PyTorch 2.13.0"

STRIDE_INCOMPATIBLE = Rule(
    "stride-incompatible",
    "no strides can read the requested shape from the same memory",
    "A dim of a view lies inside one input dim, or spans adjacent dims that are contiguous in memory. Adjacent dims "
    "are contiguous if the stride of each dim is the size of the next dim times the stride of the next dim. To span "
    "other dims, make a copy first with contiguous() or reshape.",
    "shapecalc view 3,4 12 --strides 1,3",
    "Tensor.view: 'the new view size must be compatible with its original size and stride'",
)
BAD_STRIDES = Rule(
    "bad-strides",
    "there must be one non-negative stride for each dim",
    "A stride is the distance in memory, in elements, between two neighbours along a dim. Dims of 1 also have a "
    "stride; a stride of 0 reads the same element repeatedly. PyTorch does not support negative strides.",
    "shapecalc view 3,4 12 --strides 4",
    "Tensor.stride, torch.as_strided",
)


COPY_FIRST_HINT = "write reshape in place of view, or contiguous() before it: they copy if no view exists"
"""The hint for a view that the strides of the input do not allow."""


def _explain_view_strides(step: Step, strides: Shape | None) -> str:
    before = "of a contiguous tensor" if strides is None else f"of strides {shape_text(strides)}"
    return f"a view {before}: its strides are {shape_text(step.shape)}"


VIEW_STRIDES = StepRule(
    "view-strides",
    "a view reads the same memory with its own strides",
    "Dims that are contiguous in memory form a chunk, which can be split into new dims. The stride of a new dim is "
    "the stride of the chunk's last dim, multiplied by the sizes of all later new dims of the chunk. A tensor without "
    "elements always has a view.",
    "shapecalc view 3,4 3,2,2 --strides 1,3",
    SOURCE,
    name="strides",
    why=_explain_view_strides,
)


def view(shape: Shape, rules: RequestRules, target: Shape, strides: Shape | None = None) -> Stages:
    """Resolve a requested shape as reshape does, but refuse a copy of the tensor.

    `strides` are the strides of the input in elements. By default, the input is contiguous, and no copy is necessary.
    In a chain, the previous stages determine the strides. Source: Tensor.view. Raises `ShapeError` (bad-strides,
    needs-size, stride-incompatible or an error of `reshape`).
    """
    with StageBuilder(StageKind.VIEW, "view", "target", shape, target) as stage:
        if strides is not None:
            _check_strides(shape, strides)
        check_rank(target, rules.dialect, "target")
        requested = ReshapeTarget(shape, rules, target, "target")
        stage.explain = requested.explain
        output = requested.resolve()
        output_strides = _target_strides(shape, strides, output)

        def explain(finished: Stage) -> tuple[Step, ...]:
            axes, facts = tuple(range(len(shape))), FrozenDict(strides=strides)
            return (*requested.explain(finished), Step(VIEW_STRIDES, None, axes, output_strides, (), facts))

        stage.explain = explain
        return stage.finish(Reshape(output))


def _target_strides(shape: Shape, strides: Shape | None, target: Shape) -> Shape:
    """Return the strides of a view of shape `target`.

    Raises `ShapeError` (stride-incompatible or needs-size).
    """
    if strides is None or 0 in shape:
        return strides if strides and shape == target else contiguous_strides(target)
    if is_concrete((*shape, *strides, *target)):
        result = compute_view_strides(numeric_dims(shape), numeric_dims(strides), numeric_dims(target))
        if isinstance(result, StrideConflict):
            raise rule_error(
                STRIDE_INCOMPATIBLE, _format_conflict(result, shape, strides), argument="strides", index=result.outer
            )
        return result
    symbolic = strides_after_move(shape, strides, Reshape(target), Assumptions((*shape, *target)))
    if symbolic is None:
        message = f"with strides {shape_text(strides)} a view is not certain for every size"
        raise rule_error(NEEDS_SIZE, message, argument="strides")
    return symbolic


def _check_strides(shape: Shape, strides: Shape) -> None:
    """Raise `ShapeError` (bad-strides) unless each dim has a nonnegative stride."""
    if len(strides) != len(shape):
        count = "1 stride is given" if len(strides) == 1 else f"{len(strides)} strides are given"
        dims = rank_text(len(shape))
        raise rule_error(BAD_STRIDES, f"{count}, and the input has {dims}", argument="strides")
    for index, stride in enumerate(strides):
        if isinstance(stride, int) and stride < 0:
            raise rule_error(BAD_STRIDES, f"{stride} is a negative stride", argument="strides", index=index)


def _format_conflict(conflict: StrideConflict, shape: Shape, strides: Shape) -> str:
    outer, inner = conflict.outer, conflict.inner
    texts = [truncate(str(number)) for number in (strides[outer], conflict.needed_stride, shape[inner], strides[inner])]
    return (
        f"a dim would span dims {outer} and {inner}, and dim {outer} has stride {texts[0]} where {texts[1]} is needed "
        f"(dim {inner} is {texts[2]} of stride {texts[3]})"
    )


def add_input_strides(request: Request, traces: Sequence[Trace]) -> Request:
    """Add the output strides of `traces` to a view request.

    A request that already contains strides is unchanged.
    """
    strides = request.arguments.get("strides") or strides_after_traces(traces)
    return request if strides is None else replace(request, arguments={**request.arguments, "strides": strides})


VIEW = Op(
    name="view",
    summary="View the same memory with another shape, without a copy.",
    params=(
        Param("target", ParamType.TARGET, "the requested shape, with at most one -1", positional=True, required=True),
        Param(
            "strides",
            ParamType.TARGET,
            "the strides of the input in elements; by default contiguous, or those of the previous stages",
        ),
    ),
    resolve=view,
    operators={"torch": Operator("view")},
    signatures=(("torch", "x.view(*size/shape: target)"),),
    examples=("view 2,3,4 6,-1", "view 3,4 3,2,2 --strides 1,3 --explain", "view N,C,H,W N,-1"),
    vectors=make_test_vectors(
        "target strides",
        ("2,3,4", "6,-1", "6,4 12,4,1", "5,-1", "2,5"),
        ("3,4", "12 1,3", "3,2,2 1,3", "12 5,1", "12 0,0", "12 4", "12 4,-1"),
        ("3,1,4", "12 4,9,1"),
        ("0,4", "2,0 1,3"),
        ("[]", "1,1 []"),
        ("N,C,H,W", "N,-1"),
        ("N,4", "-1 4,1"),
    ),
    default_dialect="torch",
    rules=(VIEW_STRIDES, STRIDE_INCOMPATIBLE, BAD_STRIDES),
    fix_candidates=dict.fromkeys((STRIDE_INCOMPATIBLE, BAD_STRIDES), lambda *_: iter([("strides", None)])),
)
