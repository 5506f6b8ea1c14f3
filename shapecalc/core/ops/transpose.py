"""Transpose: output dim i is input dim `perm[i]`."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.dialects.base import NEWEST, SINCE_13, UP_TO_12, Holds, NoPerm, Operator, Param, Setting
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.moves import Permute
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.record import Choice, FrozenDict
from shapecalc.core.rules import MISSING_ARGUMENT, NEGATIVE_AXIS, NOT_A_PERMUTATION
from shapecalc.core.text import number_text


class Order(Choice):
    """The origin of a permutation."""

    GIVEN = "the axes move, and the elements with them"
    REVERSED = "no permutation is given: the axes reverse"
    KEPT = "no permutation is given: the axes stay"


TAKEN_AXIS = StepRule(
    "permute",
    "output dim i is input dim perm[i]",
    "The permutation names where each output dim comes from, not where it goes. A permutation that is its own "
    "inverse hides the difference; 1,2,0 shows it.",
    "shapecalc transpose 2,3,4 1,2,0",
    "ONNX Transpose: 'when perm=(1, 0, 2), given an input tensor of shape (1, 2, 3), the output shape will be "
    "(2, 1, 3)'",
    name="take axis",
    why="output dim {step.out} is input dim {step.sources[0]}, {step.value}",
)


MOVED_AXES = StepRule(
    "move-axes",
    "a transpose moves axes, and the elements with them",
    "Without a permutation the dims reverse; in TensorRT's Shuffle they stay; oneDNN requires one.",
    "shapecalc transpose 2,3,4",
    "ONNX Transpose: 'by default, reverse the dimensions'",
    why="{order.value}",
)


def transpose(
    shape: Shape, at: Setting, perm: Axes | None = None, label: str = "transpose", argument: str = "perm"
) -> Reasons:
    """Permute axes: output dim i is input dim `perm[i]`.

    Without a permutation most dialects reverse the dims. Source: ONNX Transpose ("by default, reverse the dimensions,
    otherwise permute the axes according to the values given"). Raises `ShapeError`: not-a-permutation, negative-axis,
    missing-argument.
    """
    yield Stage(Kind.PERMUTE, label, argument, shape, perm or ())
    axes, order = permutation(perm, len(shape), at, argument)
    for out, axis in enumerate(axes):
        yield Step(TAKEN_AXIS, out, (axis,), shape[axis])
    output = tuple([shape[axis] for axis in axes])
    yield Step(MOVED_AXES, None, axes, output, (), FrozenDict(order=order))
    yield Permute(axes)
    return output


def permutation(perm: Axes | None, rank: int, at: Setting, argument: str = "perm") -> tuple[Axes, Order]:
    """Return the permutation with axes counted from 0, and its origin.

    Raises `ShapeError`: missing-argument, and the errors of `normalize_permutation`.
    """
    dialect = at.row
    if perm is None and dialect.no_perm is NoPerm.REFUSED:
        raise refusal(MISSING_ARGUMENT, f"{at.operator.name} requires a permutation", argument=argument)
    if perm is None and dialect.no_perm is NoPerm.KEEPS:
        return tuple(range(rank)), Order.KEPT
    if perm is None or (not perm and dialect.empty_perm_reverses):
        return tuple(range(rank))[::-1], Order.REVERSED
    return checked_permutation(perm, rank, at, argument), Order.GIVEN


def checked_permutation(perm: Axes, rank: int, at: Setting, argument: str) -> Axes:
    """Return `perm` with axes counted from 0.

    Raises `ShapeError`: not-a-permutation (of `rank` axes), negative-axis.
    """

    def refused(message: str, index: int | None = None) -> ShapeError:
        return refusal(NOT_A_PERMUTATION, message, argument=argument, index=index)

    if len(perm) != rank:
        raise refused(f"{number_text(len(perm), 'axis is', 'axes are')} named, and the tensor has {rank}")
    axes: dict[int, None] = {}
    for index, axis in enumerate(perm):
        if axis < 0 and not at.row.negative_perm:
            message = f"{at.row.name} counts the axes of a permutation from 0, and this is {axis}"
            raise refusal(NEGATIVE_AXIS, message, argument=argument, index=index)
        if not -rank <= axis < rank:
            raise refused(f"there is no axis {axis} among {rank}", index)
        if axis % rank in axes:
            raise refused(f"axis {axis} is named twice", index)
        axes[axis % rank] = None
    return tuple(axes)


PERM = "output dim i is the input dim that entry i names"

TRANSPOSE = Op(
    name="transpose",
    rules=(TAKEN_AXIS, MOVED_AXES),
    summary="Put the axes in another order.",
    params=(Param("perm", Holds.PERM, f"{PERM}; left out, the dims reverse", positional=True),),
    steps=transpose,
    operators={"onnx": Operator("Transpose", {1: UP_TO_12, 13: SINCE_13} | NEWEST)},
    examples=("transpose 2,3,4 1,2,0", "transpose N,H,W,C N,C,H,W --json", "transpose 2,3,4 -1,0,1 -d torch"),
    vectors=vectors(
        "perm",
        ("2,3,4", "1,2,0", "0,1,2", "", "[]", "-1,0,1", "1,0,1", "0,1,3", "1,0"),
        ("0,3", "1,0"),
        ("[]", "[]"),
        ("N,H,W,C", "0,3,1,2"),
    ),
)
