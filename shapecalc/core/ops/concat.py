"""Concat: concatenate operands along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shapecalc.core.answers import ResolvedDim, StageBuilder, StageKind, Stages, Step, StepRule, make_step
from shapecalc.core.conditions import Conditions, require_equal, require_relation
from shapecalc.core.dialects.base import (
    FLOATS,
    SINCE_13,
    UP_TO_12,
    Operator,
    Param,
    ParamType,
    RequestRules,
    compute_volume,
)
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops import operands as joint
from shapecalc.core.ops.axes import AXIS_SEMANTICS, normalize_axis_index
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.operands import Operand
from shapecalc.core.problem import ShapeError, rule_error
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import truncate

SOURCE = "ONNX Concat, numpy.concatenate, torch.cat, OpenVINO Concat, TensorRT Concatenation"


def _explain_concat(step: Step, dims: Shape) -> str:
    return f"{' + '.join([truncate(str(dim)) for dim in dims])} = {step.value}: the operands lie end to end"


END_TO_END = StepRule(
    "end-to-end",
    "the sizes of the operands along the axis are added",
    "The operands keep their order. All other dims must be equal in all operands. A sum of named sizes gets a new "
    "name, such as C1 for C + D.",
    "shapecalc concat 2,3 2,5 --axis 1",
    SOURCE,
    why=_explain_concat,
)


SAME_DIM = StepRule(
    "same-dim",
    "a dim is the same in all operands",
    "Operands may differ only along the concatenation axis.",
    "shapecalc concat N,3 M,5 --axis 1",
    SOURCE,
    why=lambda _, dims: (
        f"{' and '.join([truncate(str(dim)) for dim in dict.fromkeys(dims)])}: the same in all operands"
    ),
)


def concat(
    shape: Shape, rules: RequestRules, operands: tuple[Shape | str, ...] = (), axis: int | None = None
) -> Stages:
    """Concatenate operands along an axis.

    The default axis is 0. The operands must be equal in all other dims. Source: ONNX Concat ("all input tensors must
    have the same shape, except for the dimension size of the axis to concatenate on"), numpy.concatenate, torch.cat
    (which skips empty vectors). Raises `ShapeError` (ranks-differ, dims-differ, axis-out-of-range, negative-axis,
    missing-argument or overflow).
    """
    ordered = joint.number_operands(shape, operands)
    return _concat_operands(shape, rules, ordered, ordered, axis)


def _concat_operands(
    shape: Shape, rules: RequestRules, operands: Sequence[Operand], used_operands: Sequence[Operand], axis: int | None
) -> Stages:
    """Concatenate the operands that are not skipped.

    `used_operands` are the operands without the skipped empty vectors.
    """
    with StageBuilder(StageKind.JOIN, "concat", "operands", shape) as stage:
        joint.check_equal_ranks(used_operands, f"{rules.dialect.name} {rules.operator.name}")
        rank = len(used_operands[0].shape)
        if rank == 0:
            raise rule_error(joint.RANKS_DIFFER, "scalars have no axis to lie along", argument="operands", index=0)
        joined_axis = normalize_axis_index(axis or 0, rank, rules, "axis")
        resolved = list[ResolvedDim]()
        stage.explain = lambda _: tuple([make_step(out, (out,), dim) for out, dim in enumerate(resolved)])
        for out in range(rank):
            joins = out == joined_axis
            resolved.append(_sum_dims(rules, out, used_operands) if joins else require_equal_dims(out, used_operands))
        output = tuple([dim for _, dim, *_ in resolved])
        compute_volume(output, "operands")
        operand_axes = [tuple([(operand.number, out) for operand in used_operands]) for out in range(rank)]
        return stage.finish(Combine(output, joint.operand_shapes(operands), tuple(operand_axes), joined_axis))


def _sum_dims(rules: RequestRules, axis: int, operands: Sequence[Operand]) -> ResolvedDim:
    dims = tuple([operand.shape[axis] for operand in operands])
    return END_TO_END, rules.names.floor_dim(dims), (), {"dims": dims}


def require_equal_dims(
    axis: int, operands: Sequence[Operand], requirement: str = "only the axis may differ"
) -> ResolvedDim:
    """Return the dim that all operands share on an axis, with the conditions.

    `requirement` is the last part of the error message. Raises `ShapeError` (dims-differ) if the dims are never equal.
    """
    dims = tuple([operand.shape[axis] for operand in operands])
    conditions: Conditions = ()

    def make_error(operand: Operand) -> ShapeError:
        message = f"dim {axis} is {truncate(str(dims[0]))} and {truncate(str(operand.shape[axis]))}; {requirement}"
        return rule_error(joint.DIMS_DIFFER, message, argument="operands", index=max(operand.number - 1, 0))

    for operand in operands[1:]:
        conditions += require_relation(require_equal, dims[0], operand.shape[axis], partial(make_error, operand))
    return SAME_DIM, joint.prefer_known_dim(dims), conditions, {"dims": dims}


def _resolve_torch_cat(
    shape: Shape, rules: RequestRules, operands: tuple[Shape | str, ...] = (), axis: int | None = None
) -> Stages | None:
    """Resolve a concat in which some operands are empty vectors.

    torch.cat skips empty vectors. Returns None if none or all of the operands are empty vectors; `Op.resolve` resolves
    these requests. Source: measured in PyTorch (legacy_cat_wrap_dim).
    """
    ordered = joint.number_operands(shape, operands)
    joined = [operand for operand in ordered if operand.shape != (0,)]
    return _concat_operands(shape, rules, ordered, joined, axis) if 0 < len(joined) < len(ordered) else None


AXIS_REQUIRED = FrozenDict(axis=1)
"""The value of `Operator.required_since` for operators that require `axis` in every version."""
AXIS_PARAM = Param("axis", ParamType.INT, "the axis to concatenate or stack along; by default 0, required in ONNX")
CONCAT = Op(
    name="concat",
    summary="Concatenate tensors along an axis.",
    params=(joint.OPTIONAL_OPERANDS, AXIS_PARAM),
    resolve=concat,
    operators={
        "onnx": Operator(
            "Concat",
            {1: FLOATS, 4: UP_TO_12, 11: UP_TO_12, 13: SINCE_13},
            required_since=FrozenDict(axis=4),
            resolve=partial(concat, axis=1),  # only Concat 1 has a default axis
        ),
        "torch": Operator("cat", resolve=_resolve_torch_cat),
        "tensorflow": Operator("concat", required_since=AXIS_REQUIRED),
        "tensorrt": Operator("Concatenation", required_since=AXIS_REQUIRED),
        "openvino": Operator("Concat", required_since=AXIS_REQUIRED),
        "onednn": Operator("Concat", required_since=AXIS_REQUIRED),
        **operators_by_dialect(concatenate="numpy jax", concat="paddle"),
    },
    signatures=(
        ("torch", "torch.cat/concat/concatenate([tensors]: operands, dim: axis=0)"),
        ("numpy jax", "np.concatenate/concat([arrays]: operands, axis=0)"),
        ("tensorflow", "tf.concat([values]: operands, axis)"),
        ("paddle", "paddle.concat([x]: operands, axis=0)"),
        ("openvino", "ops.concat([nodes]: operands, axis)"),
    ),
    printed_names="concat concatv2 concatenation",
    noun="a concatenation",
    examples=("concat 2,3 2,5 --axis 1", "concat N,C N,D --axis 1 --explain", "concat 2,3 4,3 -d torch"),
    vectors=make_test_vectors(
        "operands axis",
        ("2,3", "2,5 1", "4,3 0", "4,3 -2", "2,3", "2,5 0", "3 0", "2,5 2"),
        ("[]", "[] 0"),
        ("2,3", "0 0"),
        ("N,C", "N,D 1", "M,5 1", "2,C 0"),
    ),
    keeps_element_count=False,
    semantics=(AXIS_SEMANTICS,),
    rules=(END_TO_END, SAME_DIM, joint.DIMS_DIFFER, joint.RANKS_DIFFER),
)
