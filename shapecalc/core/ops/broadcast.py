"""Broadcast: the common shape of operands, as in additions and comparisons."""

from __future__ import annotations

from shapecalc.core.answers import HERE, Kind, Reasons, Stage, Step
from shapecalc.core.dialects.base import FLOATS, NUMBERS, WIDE, Operator, Setting, checked_volume
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.ops.operands import ALIGNED, OPERANDS, aligned_step, broadcast_all, check_ranks, in_order, shapes_of
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.rules import BROADCASTED, NOT_BROADCASTABLE

BROADCASTS_SINCE = 7
"""The first version of ONNX's Add that broadcasts both ways."""


def broadcast(shape: Shape, at: Setting, operands: tuple[Shape | str, ...]) -> Reasons:
    """Align operands at the right; aligned dims must be equal, or 1.

    Source: NumPy broadcasting, ONNX broadcasting (multidirectional), TensorRT ElementWise (ranks are equal). Raises
    `ShapeError`: not-broadcastable, ranks-differ, overflow.
    """
    yield Stage(Kind.BROADCAST, "broadcast", "operands", shape)
    ordered = in_order(shape, operands)
    if at.row.equal_ranks:
        check_ranks(ordered, f"{at.row.name} {at.operator.name}")
    aligned = [*broadcast_all(ordered)]
    for out, aligned_dim in enumerate(aligned):
        yield aligned_step(out, aligned_dim)
    output = tuple([aligned_dim.dim for aligned_dim in aligned])
    checked_volume(output, "operands")
    yield Step(BROADCASTED, None, tuple(range(len(shape))), output)
    yield Combine(output, shapes_of(ordered), tuple([aligned_dim.places for aligned_dim in aligned]))
    return output


def _of_one_shape(shape: Shape, at: Setting, operands: tuple[Shape | str, ...]) -> ShapeError | None:
    """Return the error for different shapes in Add 1 and 6, or None.

    They broadcast only if the attribute `broadcast` is set.
    """
    if at.version is None or at.version >= BROADCASTS_SINCE or all(operand in (HERE, shape) for operand in operands):
        return None
    message = f"{at.operator.name} {at.version} takes operands of one shape, unless its attribute broadcast is 1"
    return refusal(NOT_BROADCASTABLE, message, argument="operands")


BROADCAST = Op(
    name="broadcast",
    summary="Find the shape of several tensors together, as + and * do.",
    params=(OPERANDS,),
    steps=broadcast,
    operators={
        "onnx": Operator(
            "Add",
            {1: FLOATS, 6: WIDE, 7: WIDE, 13: WIDE | {"bfloat16"}, 14: NUMBERS | {"bfloat16"}},
            refuses=_of_one_shape,
        ),
        **called(broadcast="numpy", broadcast_tensors="torch paddle", broadcast_shapes="jax"),
        **called(add="tensorflow", Add="openvino onednn", ElementWise="tensorrt"),
    },
    examples=("broadcast 8,1,6 7,1", "broadcast B,T,768 768 --explain", "broadcast N,3 M,1"),
    vectors=vectors(
        "operands",
        ("2,3", "3", "2,1", "4", "4,1,3"),
        ("[]", "2,3"),
        ("0,3", "1,3", "2,3"),
        ("N,3", "M,3", "4,1", "3"),
        ("2,1", "1,3", "3"),
    ),
    keeps_count=False,
    rules=(ALIGNED,),
)
