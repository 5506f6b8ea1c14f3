"""Flip: reverse the order of the elements along axes."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.dialects.base import Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.moves import StridedSlice
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy, normalize_axis_indices
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.rules import KEPT_DIM
from shapecalc.core.text import shape_text

SOURCE = "numpy.flip, torch.flip, paddle.flip"


REVERSED_AXIS = StepRule(
    "reverse-axis",
    "an axis is reversed: its last index comes first",
    "The size does not change, so the answer also holds for named sizes.",
    "shapecalc flip 2,3,4 0,-1",
    SOURCE,
    why="dim {step.out} is {step.value}, and runs backwards",
)


def _explain_flip(step: Step) -> str:
    if not step.sources:
        return "no axis is named: the tensor stays as it is"
    return f"elements come in reverse along {'axis' if len(step.sources) == 1 else 'axes'} {shape_text(step.sources)}"


FLIPPED = StepRule(
    "flip",
    "the elements along the named axes are reversed",
    "Flipping all axes reverses the order of all elements. An empty list of axes changes nothing.",
    "shapecalc flip 2,3 0,1",
    SOURCE,
    why=_explain_flip,
)


def flip(shape: Shape, rules: RequestRules, axes: Axes) -> Stages:
    """Reverse the order of the elements along axes.

    The shape is unchanged. Source: numpy.flip ("reverse the order of elements in an array along the given axis"),
    torch.flip, paddle.flip. Raises `ShapeError` (axis-out-of-range or repeated-axis).
    """
    with StageBuilder(StageKind.FLIP, "flip", "axes", shape) as stage:
        flipped = normalize_axis_indices(axes, len(shape), rules, RepeatedAxesPolicy.REFUSED)
        stage.explain = lambda _: (
            *[Step(REVERSED_AXIS if out in flipped else KEPT_DIM, out, (out,), dim) for out, dim in enumerate(shape)],
            Step(FLIPPED, None, tuple(axis for axis in sorted(flipped) if axis < len(shape)), shape),
        )
        starts = tuple([-1 if out in flipped else 0 for out in range(len(shape))])
        return stage.finish(StridedSlice(starts, tuple([-1 if start else 1 for start in starts]), shape))


FLIP = Op(
    name="flip",
    summary="Reverse the elements along axes.",
    params=(Param("axes", ParamType.AXES, "the axes to reverse", positional=True, required=True),),
    resolve=flip,
    operators={"paddle": Operator("flip", scalar_axis=False), **operators_by_dialect(flip="numpy torch")},
    signatures=(
        ("torch", "x.flip(*dims: axes)"),
        ("numpy jax", "np.flip(x, axis: axes=None)"),
        ("paddle", "paddle.flip(x, [axis]: axes)"),
    ),
    examples=("flip 2,3,4 0", "flip N,C -1 --explain", "flip 2,3,4 0,2 -d torch"),
    vectors=make_test_vectors(
        "axes", ("2,3,4", "0", "0,-1", "[]", "3", "0,0"), ("0,3", "0"), ("[]", "[]", "0"), ("N,C", "1")
    ),
    default_dialect="numpy",
    semantics=(AXIS_SEMANTICS,),
    rules=(REVERSED_AXIS, FLIPPED),
)
