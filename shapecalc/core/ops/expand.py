"""Expand: repeat dims of 1 until the tensor has the requested shape."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step
from shapecalc.core.conditions import Conditions
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.ops.operands import ways_of
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.rules import KEPT_DIM, NEGATIVE_SIZE, NEW_DIM, NOT_BROADCASTABLE, STRETCHED
from shapecalc.core.text import rank_text

KEEPS = {base.Broadcast.ONE_WAY_KEEPS: -1, base.Broadcast.RANK_STAYS: 0}
"""The target value that keeps a dim, in frameworks that have one."""


def expand(shape: Shape, at: base.Setting, target: Shape) -> Reasons:
    """Repeat dims of 1 until the tensor has the requested shape.

    Shapes are aligned at the right. Source: ONNX Expand (broadcasts both ways), numpy.broadcast_to and OpenVINO
    Broadcast (one way), Tensor.expand (one way, -1 keeps a dim), MXNet broadcast_to (one way, equal ranks, 0 keeps a
    dim). Raises `ShapeError`: not-broadcastable, negative-size, rank-limit, overflow.
    """
    yield Stage(Kind.EXPAND, "expand", "target", shape, target)
    base.check_rank(target, at.row, "target")
    added = len(target) - len(shape)
    if added > 0 and at.row.broadcast is base.Broadcast.RANK_STAYS:
        raise _other_rank(shape, target, "adds a dim")
    if added < 0 and at.row.broadcast is not base.Broadcast.BOTH_WAYS:
        raise _other_rank(shape, target, "drops a dim")
    output = list[Dim]()
    for out in range(max(len(target), len(shape))):
        axis, index = out - max(added, 0), out + min(added, 0)
        dim = shape[axis] if axis >= 0 else None
        requested = target[index] if index >= 0 else 1
        step = _stretched(out, dim, requested, max(axis, 0), max(index, 0), at)
        output.append(step.dim)
        yield step
    base.checked_volume(tuple(output), "target")
    return (yield from base.stretched(shape, tuple(output)))


def _other_rank(shape: Shape, target: Shape, never: str) -> ShapeError:
    """Return the error for a target whose rank differs from the input's."""
    message = f"the input has {rank_text(len(shape))}, the target {len(target)}: the operator never {never}"
    return refusal(NOT_BROADCASTABLE, message, argument="target")


def _stretched(out: int, dim: Dim | None, wanted: Dim, axis: int, index: int, at: base.Setting) -> Step:
    """Return the step of one output dim; `dim` is None for a new leading dim."""
    if dim is not None and wanted == KEEPS.get(at.row.broadcast):
        return Step(KEPT_DIM, out, (axis,), dim)
    if isinstance(wanted, int) and wanted < 0:
        raise refusal(NEGATIVE_SIZE, f"{wanted} is not a size to expand to", argument="target", index=index)
    if dim is None:
        return Step(NEW_DIM, out, (), wanted)
    both = at.row.broadcast is base.Broadcast.BOTH_WAYS
    ways = _ways(dim, wanted, both=both)
    if not ways:
        grown = "a dim of 1 on either side" if both else "an input dim of 1"
        message = f"input dim {axis} is {dim}, {wanted} is requested, and only {grown} can grow"
        raise refusal(NOT_BROADCASTABLE, message, argument="target", index=index)
    conditions, value = ways[0]
    alternatives = tuple([condition for conditions, _ in ways[1:] for condition in conditions])
    return Step(STRETCHED, out, (axis,), value, conditions, FrozenDict(dim=dim), alternatives)


def _ways(dim: Dim, wanted: Dim, *, both: bool) -> list[tuple[Conditions, Dim]]:
    """Return the possible values of an output dim, with their conditions.

    For two different names the first is the generic case, in which neither is 1.
    """
    if dim in (wanted, 1):
        return [((), wanted)]
    if both and wanted == 1:
        return [((), dim)]
    same = dim if both and not isinstance(wanted, int) else wanted
    return ways_of([(dim, wanted, same), (dim, 1, wanted), *([(wanted, 1, dim)] if both else [])])


EXPAND = Op(
    name="expand",
    summary="Repeat dims of 1 (broadcast).",
    params=(base.Param("target", base.Holds.TARGET, "the shape to broadcast to", positional=True, required=True),),
    steps=expand,
    operators={"onnx": base.Operator("Expand", {8: base.UP_TO_12, 13: base.SINCE_13})},
    examples=("expand 8,1,1 1,2", "expand 3,1 2,-1,4 -d torch", "expand 1,C N,C"),
    vectors=vectors(
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
    keeps_count=False,
)
