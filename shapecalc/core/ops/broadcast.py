"""Broadcast: compute the common shape of operands, as an elementwise op does."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import CHAIN_TENSOR, Stage, StageBuilder, StageKind, Stages, Step
from shapecalc.core.dialects.base import (
    ARITHMETIC_TYPES,
    FLOATS,
    NUMBERS,
    Operator,
    RequestRules,
    broadcast_step,
    compute_volume,
)
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.operands import (
    ALIGNED,
    OPERAND_SEMANTICS,
    OPERANDS,
    AlignedDim,
    align_operands,
    alignment_step,
    check_equal_ranks,
    number_operands,
    operand_shapes,
)
from shapecalc.core.problem import ShapeError, rule_error
from shapecalc.core.rules import NOT_BROADCASTABLE

BROADCASTS_SINCE = 7
"""The first version of ONNX Add with multidirectional broadcasting."""


def broadcast(shape: Shape, rules: RequestRules, operands: tuple[Shape | str, ...]) -> Stages:
    """Broadcast operands to a common shape.

    Shapes are aligned at the right, and aligned dims must be equal or 1. Source: NumPy broadcasting, ONNX broadcasting
    (multidirectional), TensorRT ElementWise (equal ranks). Raises `ShapeError` (not-broadcastable, ranks-differ or
    overflow).
    """
    with StageBuilder(StageKind.BROADCAST, "broadcast", "operands", shape) as stage:
        ordered = number_operands(shape, operands)
        if OPERAND_SEMANTICS.for_dialect(rules.dialect).equal_ranks:
            check_equal_ranks(ordered, f"{rules.dialect.name} {rules.operator.name}")
        aligned = [*align_operands(ordered)]
        stage.explain = lambda finished: _broadcast_steps(finished, aligned)
        output = tuple([aligned_dim.dim for aligned_dim in aligned])
        compute_volume(output, "operands")
        return stage.finish(
            Combine(output, operand_shapes(ordered), tuple([aligned_dim.operand_axes for aligned_dim in aligned]))
        )


def _broadcast_steps(stage: Stage, aligned: Sequence[AlignedDim]) -> tuple[Step, ...]:
    """Return the step of each output dim, and the final broadcast step."""
    steps = [alignment_step(out, aligned_dim) for out, aligned_dim in enumerate(aligned)]
    return tuple(steps) if stage.after is None else (*steps, broadcast_step(stage.before, stage.after))


def _unequal_shapes_error(shape: Shape, rules: RequestRules, operands: tuple[Shape | str, ...]) -> ShapeError | None:
    """Return the error for unequal shapes in ONNX Add 1 or 6, or None.

    These versions broadcast only if the attribute `broadcast` is set.
    """
    if (
        rules.version is None
        or rules.version >= BROADCASTS_SINCE
        or all(operand in (CHAIN_TENSOR, shape) for operand in operands)
    ):
        return None
    message = f"{rules.operator.name} {rules.version} takes operands of one shape, unless its attribute broadcast is 1"
    return rule_error(NOT_BROADCASTABLE, message, argument="operands")


BROADCAST = Op(
    name="broadcast",
    summary="Broadcast several tensors to a common shape, as + and * do.",
    params=(OPERANDS,),
    resolve=broadcast,
    operators={
        "onnx": Operator(
            "Add",
            {
                1: FLOATS,
                6: ARITHMETIC_TYPES,
                7: ARITHMETIC_TYPES,
                13: ARITHMETIC_TYPES | {"bfloat16"},
                14: NUMBERS | {"bfloat16"},
            },
            refusal_check=_unequal_shapes_error,
        ),
        **operators_by_dialect(broadcast="numpy", broadcast_tensors="torch paddle", broadcast_shapes="jax"),
        **operators_by_dialect(add="tensorflow", Add="openvino onednn", ElementWise="tensorrt"),
    },
    signatures=(
        ("torch", "torch.broadcast_tensors(*operands)"),
        ("paddle", "paddle.broadcast_tensors([operands])"),
        ("torch", "torch.add/sub/subtract/mul/multiply/div/divide/maximum/minimum/where(*operands)"),
        ("numpy jax", "np.add/subtract/multiply/divide/maximum/minimum/where(*operands)"),
        ("tensorflow", "tf.add/subtract/multiply/divide/maximum/minimum/where(*operands)"),
    ),
    printed_names="add addv2 sub mul div realdiv elementwise eltwise add_n",
    noun="a broadcast",
    examples=("broadcast 8,1,6 7,1", "broadcast B,T,768 768 --explain", "broadcast N,3 M,1"),
    vectors=make_test_vectors(
        "operands",
        ("2,3", "3", "2,1", "4", "4,1,3"),
        ("[]", "2,3"),
        ("0,3", "1,3", "2,3"),
        ("N,3", "M,3", "4,1", "3"),
        ("2,1", "1,3", "3"),
    ),
    keeps_element_count=False,
    semantics=(OPERAND_SEMANTICS,),
    rules=(ALIGNED,),
)
