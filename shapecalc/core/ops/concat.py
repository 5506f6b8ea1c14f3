"""Concat: operands are joined end to end along an axis."""

from __future__ import annotations

from _collections_abc import Generator, Sequence
from functools import partial

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.conditions import Conditions, equal, required
from shapecalc.core.dialects.base import FLOATS, SINCE_13, UP_TO_12, Holds, Operator, Param, Setting, checked_volume
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops import operands as joint
from shapecalc.core.ops.axes import axis_from_zero
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.ops.operands import Operand
from shapecalc.core.problem import refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.results import Wanted
from shapecalc.core.text import brief

SOURCE = "ONNX Concat, numpy.concatenate, torch.cat, OpenVINO Concat, TensorRT Concatenation"


def _end_to_end(step: Step, dims: Shape) -> str:
    return f"{' + '.join([brief(str(dim)) for dim in dims])} = {step.value}: the operands lie end to end"


END_TO_END = StepRule(
    "end-to-end",
    "the sizes of the operands along the axis are added",
    "The first operand comes first. All other dims are equal in all operands. A sum with names is a result with a name "
    "of its own: C + D is C1.",
    "shapecalc concat 2,3 2,5 --axis 1",
    SOURCE,
    why=_end_to_end,
)


SAME_DIM = StepRule(
    "same-dim",
    "a dim is the same in all operands",
    "Only along the axis on which operands are laid end to end may they differ.",
    "shapecalc concat N,3 M,5 --axis 1",
    SOURCE,
    why=lambda _, dims: f"{' and '.join([brief(str(dim)) for dim in dict.fromkeys(dims)])}: the same in all operands",
)


def concat(shape: Shape, at: Setting, operands: tuple[Shape | str, ...] = (), axis: int | None = None) -> Reasons:
    """Join operands end to end along an axis, by default 0.

    All other dims must be equal. Source: ONNX Concat ("all input tensors must have the same shape, except for the
    dimension size of the axis to concatenate on"), numpy.concatenate, torch.cat (which skips empty vectors). Raises
    `ShapeError`: ranks-differ, dims-differ, axis-out-of-range, negative-axis, missing-argument, overflow.
    """
    ordered = joint.in_order(shape, operands)
    return _laid(shape, at, ordered, ordered, axis)


def _laid(shape: Shape, at: Setting, every: Sequence[Operand], laid: Sequence[Operand], axis: int | None) -> Reasons:
    """Join some of the operands, `joined`, end to end."""
    yield Stage(Kind.JOIN, "concat", "operands", shape)
    joint.check_ranks(laid, f"{at.row.name} {at.operator.name}")
    rank = len(laid[0].shape)
    if rank == 0:
        raise refusal(joint.RANKS_DIFFER, "scalars have no axis to lie along", argument="operands", index=0)
    joined_axis = axis_from_zero(axis or 0, rank, at, "axis")
    output = list[Dim]()
    for out in range(rank):
        step = (yield from _sum_step(out, laid)) if out == joined_axis else same_step(out, out, laid)
        output.append(step.dim)
        yield step
    checked_volume(tuple(output), "operands")
    places = [tuple([(operand.number, out) for operand in laid]) for out in range(rank)]
    yield Combine(tuple(output), joint.shapes_of(every), tuple(places), joined_axis)
    return tuple(output)


def _sum_step(out: int, laid: Sequence[Operand]) -> Generator[Wanted, None, Step]:
    dims = tuple([operand.shape[out] for operand in laid])
    total = yield from joint.sized(dims)
    return Step(END_TO_END, out, (out,), total, (), FrozenDict(dims=dims))


def same_step(out: int, axis: int, laid: Sequence[Operand], rule: str = "only the axis may differ") -> Step:
    """Return the step of a dim that is equal in all operands.

    `requirement` ends the message. Raises `ShapeError` (dims-differ) if the dims never are equal.
    """
    dims = tuple([operand.shape[axis] for operand in laid])
    conditions: Conditions = ()
    for operand in laid[1:]:
        message = f"dim {axis} is {brief(str(dims[0]))} and {brief(str(operand.shape[axis]))}; {rule}"
        index = max(operand.number - 1, 0)
        error = refusal(joint.DIMS_DIFFER, message, argument="operands", index=index)
        conditions += required(equal, dims[0], operand.shape[axis], error)
    return Step(SAME_DIM, out, (axis,), joint.number_among(dims), conditions, FrozenDict(dims=dims))


def _cat(shape: Shape, at: Setting, operands: tuple[Shape | str, ...] = (), axis: int | None = None) -> Reasons | None:
    """Resolve a concat with empty vectors, which torch.cat skips, or return None.

    Source: PyTorch (legacy_cat_wrap_dim), run.
    """
    ordered = joint.in_order(shape, operands)
    joined = [operand for operand in ordered if operand.shape != (0,)]
    return _laid(shape, at, ordered, joined, axis) if 0 < len(joined) < len(ordered) else None


REQUIRED = FrozenDict(axis=1)
"""The parameters that operators require although the op does not, by first version."""
AXIS = Param("axis", Holds.INT, "the axis along which they lie; by default 0, required in ONNX")
CONCAT = Op(
    name="concat",
    summary="Lay tensors end to end along an axis.",
    params=(joint.MORE_OPERANDS, AXIS),
    steps=concat,
    operators={
        "onnx": Operator(
            "Concat",
            {1: FLOATS, 4: UP_TO_12, 11: UP_TO_12, 13: SINCE_13},
            required=FrozenDict(axis=4),
            steps=partial(concat, axis=1),  # Concat 1: "Default value is 1"; the others come with an axis
        ),
        "torch": Operator("cat", steps=_cat),
        "tensorflow": Operator("concat", required=REQUIRED),
        "tensorrt": Operator("Concatenation", required=REQUIRED),
        "openvino": Operator("Concat", required=REQUIRED),
        "onednn": Operator("Concat", required=REQUIRED),
        **called(concatenate="numpy jax", concat="paddle"),
    },
    examples=("concat 2,3 2,5 --axis 1", "concat N,C N,D --axis 1 --explain", "concat 2,3 4,3 -d torch"),
    vectors=vectors(
        "operands axis",
        ("2,3", "2,5 1", "4,3 0", "4,3 -2", "2,3", "2,5 0", "3 0", "2,5 2"),
        ("[]", "[] 0"),
        ("2,3", "0 0"),
        ("N,C", "N,D 1", "M,5 1", "2,C 0"),
    ),
    keeps_count=False,
    rules=(END_TO_END, SAME_DIM, joint.DIMS_DIFFER, joint.RANKS_DIFFER),
)
