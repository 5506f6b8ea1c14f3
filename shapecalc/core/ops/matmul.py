"""Matmul: matrix products of two operands; leading dims broadcast."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.conditions import equal, required
from shapecalc.core.dialects.base import FLOATS, WIDE, Operator, Setting, checked_volume
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Combine, Place
from shapecalc.core.ops import operands as joint
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.problem import misuse, refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import brief, number_text, shape_text

SOURCE = "numpy.matmul, ONNX MatMul, torch.matmul, TensorRT MatrixMultiply"


def _contracted(_: Step, left: Dim, right: Dim) -> str:
    return f"{brief(str(left))} of both is summed" if left == right else f"{left} and {right} are one, and are summed"


CONTRACTED = StepRule(
    "contract",
    "an axis that both operands have is summed, and goes",
    "Each element of the result is a sum along this axis, so it is in neither dim of the result. Its sizes are equal.",
    "shapecalc matmul 2,3 3,4",
    SOURCE,
    name="sum",
    why=_contracted,
)
FROM_OPERAND = StepRule(
    "from-operand",
    "a dim that only one operand has stays",
    "The rows are those of the first operand, and the columns those of the second.",
    "shapecalc matmul B,T,768 768,3072",
    SOURCE,
    name="stays",
    why="{step.value} is axis {axis} of operand {operand}",
)


def matmul(shape: Shape, at: Setting, operands: tuple[Shape | str, ...]) -> Reasons:
    """Multiply matrices; leading dims broadcast.

    The last axis of the first operand and the last but one of the second are summed. A vector as first operand is a
    row, as second a column, and its 1 is dropped again. Source: numpy.matmul, ONNX MatMul ("matrix product that behaves
    like numpy.matmul"), torch.matmul, TensorRT MatrixMultiply (no vectors). Raises `ShapeError`: inner-differs,
    not-broadcastable, ranks-differ, overflow.
    """
    yield Stage(Kind.PRODUCT, "matmul", "operands", shape)
    ordered = joint.in_order(shape, operands)
    if len(ordered) != 2:
        raise misuse(f"a product has two operands, and these are {len(ordered)}", "write several products as a chain")
    if at.row.equal_ranks:
        joint.check_ranks(ordered, f"{at.row.name} {at.operator.name}")
    left, right = ordered
    for factor in ordered:
        least = 2 if at.row.equal_ranks else 1
        if len(factor.shape) < least:
            message = f"{shape_text(factor.shape)} is no matrix: it needs {number_text(least, 'dim', 'dims')}"
            raise refusal(joint.RANKS_DIFFER, message, argument="operands" if factor.number else "input")
    inner, across = left.shape[-1], right.shape[-2:][0]
    message = f"{brief(str(inner))} and {brief(str(across))} are summed together, and are not equal"
    conditions = required(equal, inner, across, refusal(joint.INNER_DIFFERS, message, argument="operands", index=0))
    summed_axis = len(left.shape) - 1
    facts = FrozenDict(left=inner, right=across)
    yield Step(CONTRACTED, None, (summed_axis,) * (left.number == 0), inner, conditions, facts)
    output, operand_axes = list[Dim](), list[tuple[Place, ...]]()
    for aligned in joint.broadcast_all(ordered, kept=2):
        yield joint.aligned_step(len(output), aligned)
        output.append(aligned.dim)
        operand_axes.append(aligned.places)
    for operand, axis in [
        (factor, len(factor.shape) - last) for factor, last in ((left, 2), (right, 1)) if factor.shape[1:]
    ]:
        dim, facts = operand.shape[axis], FrozenDict(operand=operand.number, axis=axis)
        yield Step(FROM_OPERAND, len(output), (axis,) * (operand.number == 0), dim, (), facts)
        output.append(dim)
        operand_axes.append(((operand.number, axis),))
    checked_volume(tuple(output), "operands")
    yield Combine(tuple(output), joint.shapes_of(ordered), tuple(operand_axes))
    return tuple(output)


MATMUL = Op(
    name="matmul",
    summary="Multiply matrices, and stacks of them.",
    params=(joint.OPERANDS,),
    steps=matmul,
    operators={
        "onnx": Operator("MatMul", {1: FLOATS, 9: WIDE, 13: WIDE | {"bfloat16"}}),
        **called(matmul="numpy torch tensorflow jax paddle", MatMul="openvino onednn", MatrixMultiply="tensorrt"),
    },
    examples=("matmul 2,3 3,4", "matmul B,H,T,64 B,H,64,T --explain", "matmul 8,1,2,3 4,3,5 -d torch"),
    vectors=vectors(
        "operands",
        ("2,3", "3,4", "4,3", "3", "7,3,4", "[]"),
        ("3", "3", "3,4", "4"),
        ("5,1,2,3", "4,3,6", "3"),
        ("[]", "3"),
        ("B,T,K", "K,4", "768,4", "B,K,T"),
        ("0,3", "3,2"),
    ),
    keeps_count=False,
    rules=(CONTRACTED, FROM_OPERAND, joint.INNER_DIFFERS),
)
