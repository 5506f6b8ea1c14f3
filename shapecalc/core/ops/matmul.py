"""Matmul: multiply the matrices of two operands."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions, require_equal, require_relation
from shapecalc.core.dialects.base import ARITHMETIC_TYPES, FLOATS, Operator, RequestRules, compute_volume
from shapecalc.core.dims import Axes, Dim, Shape
from shapecalc.core.moves import Combine, OperandAxis
from shapecalc.core.ops import operands as joint
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.problem import ShapeError, rule_error, usage_error
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import format_count, shape_text, truncate

SOURCE = "numpy.matmul, ONNX MatMul, torch.matmul, TensorRT MatrixMultiply"


def _explain_contraction(_: Step, left: Dim, right: Dim) -> str:
    return (
        f"{truncate(str(left))} of both is summed" if left == right else f"{left} and {right} are one, and are summed"
    )


CONTRACTED = StepRule(
    "contract",
    "the axis that both operands share is summed over and removed",
    "Each element of the result is a sum along this axis, so the axis is not in the result. This axis must have the "
    "same size in both operands.",
    "shapecalc matmul 2,3 3,4",
    SOURCE,
    name="sum",
    why=_explain_contraction,
)
FROM_OPERAND = StepRule(
    "from-operand",
    "a dim that occurs in only one operand is kept",
    "The result has the rows of the first operand and the columns of the second.",
    "shapecalc matmul B,T,768 768,3072",
    SOURCE,
    name="stays",
    why="{step.value} is axis {axis} of operand {operand}",
)


def matmul(shape: Shape, rules: RequestRules, operands: tuple[Shape | str, ...]) -> Stages:
    """Multiply the matrices of two operands.

    Batch dims broadcast. The product sums over the last axis of the first operand and the second to last axis of the
    second operand. A vector is a row if it is the first operand, and a column if it is the second. The dim of 1 that is
    added to a vector is not in the output. Source: numpy.matmul, ONNX MatMul ("matrix product that behaves like
    numpy.matmul"), torch.matmul, TensorRT MatrixMultiply (no vectors). Raises `ShapeError` (inner-differs,
    not-broadcastable, ranks-differ or overflow).
    """
    with StageBuilder(StageKind.PRODUCT, "matmul", "operands", shape) as stage:
        ordered = joint.number_operands(shape, operands)
        if len(ordered) != 2:
            raise usage_error(
                f"a product has two operands, and these are {len(ordered)}", "write several products as a chain"
            )
        equal_ranks = joint.OPERAND_SEMANTICS.for_dialect(rules.dialect).equal_ranks
        if equal_ranks:
            joint.check_equal_ranks(ordered, f"{rules.dialect.name} {rules.operator.name}")
        left, right = ordered
        for factor in ordered:
            least = 2 if equal_ranks else 1
            if len(factor.shape) < least:
                message = f"{shape_text(factor.shape)} is no matrix: it needs {format_count(least, 'dim', 'dims')}"
                raise rule_error(joint.RANKS_DIFFER, message, argument="operands" if factor.number else "input")
        inner, across = left.shape[-1], right.shape[-2:][0]

        def make_error() -> ShapeError:
            message = f"{truncate(str(inner))} and {truncate(str(across))} are summed together, and are not equal"
            return rule_error(joint.INNER_DIFFERS, message, argument="operands", index=0)

        conditions = require_relation(require_equal, inner, across, make_error)
        aligned, kept = list[joint.AlignedDim](), list[tuple[OperandAxis, Dim]]()
        stage.explain = lambda _: (
            contraction_step((len(left.shape) - 1,) * (left.number == 0), inner, across, conditions),
            *[joint.alignment_step(out, aligned_dim) for out, aligned_dim in enumerate(aligned)],
            *[operand_dim_step(out, axis, dim) for out, (axis, dim) in enumerate(kept, len(aligned))],
        )
        for aligned_dim in joint.align_operands(ordered, skip_last=2):
            aligned.append(aligned_dim)
        for operand, axis in ((left, len(left.shape) - 2), (right, len(right.shape) - 1)):
            if operand.shape[1:]:
                kept.append(((operand.number, axis), operand.shape[axis]))
        output = tuple([aligned_dim.dim for aligned_dim in aligned] + [dim for _, dim in kept])
        compute_volume(output, "operands")
        axes = (*[aligned_dim.operand_axes for aligned_dim in aligned], *[(operand_axis,) for operand_axis, _ in kept])
        return stage.finish(Combine(output, joint.operand_shapes(ordered), axes))


def contraction_step(axes: Axes, left: Dim, right: Dim, conditions: Conditions) -> Step:
    """Return the step that sums over the dims `left` and `right`.

    `axes` contains the summed axis of the input, if any.
    """
    return Step(CONTRACTED, None, axes, left, conditions, FrozenDict(left=left, right=right))


def operand_dim_step(output_axis: int, operand_axis: OperandAxis, dim: Dim) -> Step:
    """Return the step of an output dim that comes from a single operand."""
    operand, axis = operand_axis
    facts = FrozenDict(operand=operand, axis=axis)
    return Step(FROM_OPERAND, output_axis, joint.input_axes((operand_axis,)), dim, (), facts)


MATMUL = Op(
    name="matmul",
    summary="Multiply matrices or batches of matrices.",
    params=(joint.OPERANDS,),
    resolve=matmul,
    operators={
        "onnx": Operator("MatMul", {1: FLOATS, 9: ARITHMETIC_TYPES, 13: ARITHMETIC_TYPES | {"bfloat16"}}),
        **operators_by_dialect(
            matmul="numpy torch tensorflow jax paddle", MatMul="openvino onednn", MatrixMultiply="tensorrt"
        ),
    },
    signatures=(
        ("torch", "torch.matmul/mm/bmm(*operands)"),
        ("numpy jax", "np.matmul/dot(*operands)"),
        ("paddle", "paddle.matmul/mm/bmm/dot(*operands)"),
        ("tensorflow", "tf.linalg.matmul(*operands)"),
    ),
    printed_names="matmul gemm batchmatmul batchmatmulv2 fullyconnected matrixmultiply",
    noun="a matrix product",
    examples=("matmul 2,3 3,4", "matmul B,H,T,64 B,H,64,T --explain", "matmul 8,1,2,3 4,3,5 -d torch"),
    vectors=make_test_vectors(
        "operands",
        ("2,3", "3,4", "4,3", "3", "7,3,4", "[]"),
        ("3", "3", "3,4", "4"),
        ("5,1,2,3", "4,3,6", "3"),
        ("[]", "3"),
        ("B,T,K", "K,4", "768,4", "B,K,T"),
        ("0,3", "3,2"),
    ),
    keeps_element_count=False,
    semantics=(joint.OPERAND_SEMANTICS,),
    rules=(CONTRACTED, FROM_OPERAND, joint.INNER_DIFFERS),
)
