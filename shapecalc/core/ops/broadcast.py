"""Broadcast: the shape that operands have together when they are added, multiplied or compared."""

from __future__ import annotations

from shapecalc.core.answers import HERE, Kind, Reasons, Stage, Step
from shapecalc.core.dialects.base import FLOATS, NUMBERS, WIDE, Operator, Setting, checked_volume
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.ops.operands import ALIGNED, OPERANDS, aligned_step, broadcast_all, check_ranks, in_order, shapes_of
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.rules import BROADCASTED, NOT_BROADCASTABLE


def broadcast(shape: Shape, at: Setting, operands: tuple[Shape | str, ...]) -> Reasons:
    """Align operands at the right; in each column all dims are equal, or 1.

    Source: NumPy broadcasting, ONNX broadcasting (multidirectional), TensorRT ElementWise (ranks are equal).
    Raises `ShapeError`: not-broadcastable, ranks-differ, overflow.
    """
    yield Stage(Kind.BROADCAST, "broadcast", "operands", shape)
    every = in_order(shape, operands)
    if at.row.equal_ranks:
        check_ranks(every, f"{at.row.name} {at.operator.name}")
    found = [*broadcast_all(every)]
    for out, agreed in enumerate(found):
        yield aligned_step(out, agreed)
    output = tuple([agreed.dim for agreed in found])
    checked_volume(output, "operands")
    yield Step(BROADCASTED, None, tuple(range(len(shape))), output)
    yield Combine(output, shapes_of(every), tuple([agreed.places for agreed in found]))
    return output


def _of_one_shape(shape: Shape, at: Setting, operands: tuple[Shape | str, ...]) -> ShapeError | None:
    """Return the error for operands of other shapes in Add 1 and 6, which broadcast only if an attribute says so."""
    if at.version is None or at.version >= BROADCASTS_SINCE or all(each in (HERE, shape) for each in operands):
        return None
    message = f"{at.operator.name} {at.version} takes operands of one shape, unless its attribute broadcast is 1"
    return refusal(NOT_BROADCASTABLE, message, argument="operands")


BROADCASTS_SINCE = 7
"""The first version of ONNX's Add that broadcasts both ways."""
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
