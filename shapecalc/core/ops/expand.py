"""Expand: broadcast a tensor to a requested shape by repeating dims of 1."""

from __future__ import annotations

from shapecalc.core.answers import EMPTY_DICT, Stage, StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Expand
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.ops.operands import possible_dims
from shapecalc.core.problem import ShapeError, rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import KEPT_DIM, NEGATIVE_SIZE, NEW_DIM, NOT_BROADCASTABLE, STRETCHED
from shapecalc.core.text import rank_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

ResolvedExpandDim: TypeAlias = "tuple[int, StepRule, Conditions, Conditions]"
"""The input axis, the rule, the conditions and the alternatives of an output dim. The axis of a new dim is negative."""


def expand(shape: Shape, rules: base.RequestRules, target: Shape) -> Stages:
    """Broadcast a tensor to a requested shape by repeating dims of 1.

    Shapes are aligned at the right. Source: ONNX Expand (broadcasts both ways), numpy.broadcast_to and OpenVINO
    Broadcast (one way), Tensor.expand (one way, -1 keeps a dim), MXNet broadcast_to (one way, equal ranks, 0 keeps a
    dim). Raises `ShapeError` (not-broadcastable, negative-size, rank-limit or overflow).
    """
    with StageBuilder(StageKind.EXPAND, "expand", "target", shape, target) as stage:
        base.check_rank(target, rules.dialect, "target")
        added, mode = len(target) - len(shape), EXPAND_SEMANTICS.for_dialect(rules.dialect).broadcast
        if added > 0 and mode is ExpandMode.RANK_STAYS:
            raise _rank_error(shape, target, "adds a dim")
        if added < 0 and mode is not ExpandMode.BOTH_WAYS:
            raise _rank_error(shape, target, "drops a dim")
        output, resolved = list[Dim](), list[ResolvedExpandDim]()
        stage.explain = lambda finished: _expand_steps(finished, output, resolved)
        for out in range(max(len(target), len(shape))):
            axis, index = out - max(added, 0), out + min(added, 0)
            dim = shape[axis] if axis >= 0 else None
            requested = target[index] if index >= 0 else 1
            value, rule, conditions, alternatives = _expand_dim(dim, requested, max(axis, 0), max(index, 0), mode)
            output.append(value)
            resolved.append((axis, rule, conditions, alternatives))
        base.compute_volume(tuple(output), "target")
        return stage.finish(Expand(tuple(output)))


def _expand_steps(stage: Stage, output: Sequence[Dim], resolved: Sequence[ResolvedExpandDim]) -> tuple[Step, ...]:
    """Return the step of each resolved output dim, and the final broadcast step."""
    steps = list[Step]()
    for out, (axis, rule, conditions, alternatives) in enumerate(resolved):
        facts = FrozenDict(dim=stage.before[axis]) if rule is STRETCHED else EMPTY_DICT
        steps.append(Step(rule, out, (axis,) if axis >= 0 else (), output[out], conditions, facts, alternatives))
    if stage.after is not None:
        steps.append(base.broadcast_step(stage.before, stage.after))
    return tuple(steps)


def _rank_error(shape: Shape, target: Shape, action: str) -> ShapeError:
    message = f"the input has {rank_text(len(shape))}, the target {len(target)}: the operator never {action}"
    return rule_error(NOT_BROADCASTABLE, message, argument="target")


def _expand_dim(
    dim: Dim | None, requested: Dim, axis: int, index: int, mode: ExpandMode
) -> tuple[Dim, StepRule, Conditions, Conditions]:
    """Resolve an output dim with its rule, its conditions and its alternatives.

    `dim` is None for a new leading dim.
    """
    if dim is not None and requested == KEEP_VALUES.get(mode):
        return dim, KEPT_DIM, (), ()
    if isinstance(requested, int) and requested < 0:
        raise rule_error(NEGATIVE_SIZE, f"{requested} is not a size to expand to", argument="target", index=index)
    if dim is None:
        return requested, NEW_DIM, (), ()
    grows_both_ways = mode is ExpandMode.BOTH_WAYS
    ways = _possible_output_dims(dim, requested, both_ways=grows_both_ways)
    if not ways:
        grown = "a dim of 1 on either side" if grows_both_ways else "an input dim of 1"
        message = f"input dim {axis} is {dim}, {requested} is requested, and only {grown} can grow"
        raise rule_error(NOT_BROADCASTABLE, message, argument="target", index=index)
    conditions, value = ways[0]
    alternatives = tuple([condition for conditions, _ in ways[1:] for condition in conditions])
    return value, STRETCHED, conditions, alternatives


def _possible_output_dims(dim: Dim, requested: Dim, *, both_ways: bool) -> list[tuple[Conditions, Dim]]:
    """Return the possible values of an output dim, each with its conditions.

    If both dims are symbolic and differ, the first value assumes that neither dim is 1.
    """
    if dim in (requested, 1):
        return [((), requested)]
    if both_ways and requested == 1:
        return [((), dim)]
    same = dim if both_ways and not isinstance(requested, int) else requested
    return possible_dims([(dim, requested, same), (dim, 1, requested), *([(requested, 1, dim)] if both_ways else [])])


class ExpandMode(Choice):
    """The direction of broadcasting in expand: input to target only, or both ways."""

    BOTH_WAYS = "input and target"
    ONE_WAY = "the input only"
    ONE_WAY_KEEPS = "the input only; -1 keeps an existing dim"
    RANK_STAYS = "the input only, and no dims are added; 0 keeps a dim"


class ExpandSemantics(Record):
    """The broadcasting rules of expand in a dialect."""

    broadcast: ExpandMode = ExpandMode.ONE_WAY


EXPAND_SEMANTICS = DialectTable(
    {
        "openvino numpy tensorflow jax tflite": ExpandSemantics(),
        "onnx": ExpandSemantics(ExpandMode.BOTH_WAYS),
        "torch paddle": ExpandSemantics(ExpandMode.ONE_WAY_KEEPS),
        "mxnet": ExpandSemantics(ExpandMode.RANK_STAYS),
    }
)
KEEP_VALUES = {ExpandMode.ONE_WAY_KEEPS: -1, ExpandMode.RANK_STAYS: 0}
"""For each mode, the target value that keeps the input dim."""
EXPAND = Op(
    name="expand",
    summary="Repeat dims of size 1 (broadcast).",
    params=(base.Param("target", base.ParamType.TARGET, "the shape to broadcast to", positional=True, required=True),),
    resolve=expand,
    operators={"onnx": base.Operator("Expand", {8: base.UP_TO_12, 13: base.SINCE_13})},
    signatures=(
        ("torch", "x.expand(*size: target)"),
        ("numpy jax", "np.broadcast_to(x, shape: target)"),
        ("tensorflow", "tf.broadcast_to(x, shape: target)"),
        ("paddle", "paddle.expand(x, [shape]: target)"),
    ),
    printed_names="expand expand_v2 broadcastto broadcast_to broadcast",
    examples=("expand 8,1,1 1,2", "expand 3,1 2,-1,4 -d torch", "expand 1,C N,C"),
    vectors=make_test_vectors(
        "target",
        ("3,1", "3,4", "-1,4", "-1,3,4", "-2,4"),
        ("3", "2,3", "2"),
        ("8,1,1", "1,2"),
        ("3,4", "1"),
        ("[]", "2,3"),
        ("1", "0"),
        ("0,1", "0,4"),
        ("1,4294967296", "4294967296,4294967296"),
        ("1,C", "N,C"),
        ("N,4", "8,4"),
    ),
    keeps_element_count=False,
    semantics=(EXPAND_SEMANTICS,),
)
