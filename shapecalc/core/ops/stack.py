"""Stack: join operands of equal shape along a new axis."""

from __future__ import annotations

from shapecalc.core.answers import EMPTY_DICT, ResolvedDim, StageBuilder, StageKind, Stages, StepRule, make_step
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Operator, RequestRules, check_rank, compute_volume
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops.axes import AXIS_SEMANTICS, normalize_axis_index
from shapecalc.core.ops.concat import AXIS_PARAM, AXIS_REQUIRED, CONCAT, require_equal_dims
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.operands import OPTIONAL_OPERANDS, check_equal_ranks, number_operands, operand_shapes
from shapecalc.core.ops.unsqueeze import UNSQUEEZE

STACKED = StepRule(
    "stack-operands",
    "the size of the new axis is the number of operands",
    "Index k of the new axis selects operand k. In contrast, a concat joins the operands along an existing axis.",
    "shapecalc stack 2,3 2,3 --axis 1",
    "numpy.stack, torch.stack, tf.stack",
    name="stack",
    why="a new axis, on which each of {step.value} operands has a position",
)


def stack(shape: Shape, rules: RequestRules, operands: tuple[Shape | str, ...] = (), axis: int | None = None) -> Stages:
    """Join operands of equal shape along a new axis.

    The default axis is 0. Source: numpy.stack ("Each array must have the same shape"), torch.stack; ONNX Unsqueeze and
    Concat. Raises `ShapeError` (ranks-differ, dims-differ, axis-out-of-range, negative-axis, missing-argument,
    rank-limit or overflow).
    """
    with StageBuilder(StageKind.JOIN, "stack", "operands", shape) as stage:
        ordered = number_operands(shape, operands)
        check_equal_ranks(ordered, f"{rules.dialect.name} stack")
        new_axis = normalize_axis_index(axis or 0, len(shape) + 1, rules, "axis")
        sources = [*range(new_axis), None, *range(new_axis, len(shape))]
        resolved = list[ResolvedDim]()
        stage.explain = lambda _: tuple(
            [
                make_step(out, () if axis is None else (axis,), dim)
                for out, (axis, dim) in enumerate(zip(sources, resolved, strict=False))
            ]
        )
        for axis in sources:
            stacked: ResolvedDim = (STACKED, len(ordered), (), EMPTY_DICT)
            resolved.append(stacked if axis is None else require_equal_dims(axis, ordered, "all are of one shape"))
        output = tuple([dim for _, dim, *_ in resolved])
        check_rank(output, rules.dialect, "operands")
        compute_volume(output, "operands")
        operand_axes = [
            () if axis is None else tuple([(operand.number, axis) for operand in ordered]) for axis in sources
        ]
        return stage.finish(Combine(output, operand_shapes(ordered), tuple(operand_axes), new_axis))


STACK = Op(
    name="stack",
    summary="Stack tensors of the same shape along a new axis.",
    params=(OPTIONAL_OPERANDS, AXIS_PARAM),
    resolve=stack,
    operators={
        "onnx": Operator("Concat", {4: UP_TO_12, 11: UP_TO_12, 13: SINCE_13}, required_since=AXIS_REQUIRED),
        "openvino": Operator("Concat", required_since=AXIS_REQUIRED),
        **operators_by_dialect(stack="numpy torch tensorflow jax paddle"),
    },
    composed_of=(UNSQUEEZE, CONCAT),
    signatures=(
        ("torch", "torch.stack([tensors]: operands, dim: axis=0)"),
        ("numpy jax", "np.stack([arrays]: operands, axis=0)"),
        ("tensorflow", "tf.stack([values]: operands, axis=0)"),
        ("paddle", "paddle.stack([x]: operands, axis=0)"),
    ),
    printed_names="stack pack",
    noun="a stack",
    examples=("stack 2,3 2,3 --axis 0", "stack B,T B,T B,T --axis -1 --explain", "stack N,3 8,3 -d torch"),
    vectors=make_test_vectors(
        "operands axis",
        ("2,3", "2,3 0", "2,3 2", "2,3 -1", "2,3 3", "2,4 0", "2,3", "3 0"),
        ("[]", "[] 0"),
        ("N,3", "M,3 0"),
    ),
    keeps_element_count=False,
    default_dialect="torch",
    semantics=(AXIS_SEMANTICS,),
    rules=(STACKED,),
)
