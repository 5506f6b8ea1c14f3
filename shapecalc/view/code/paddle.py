"""PaddlePaddle code: functions of `x`. A 0 in a requested shape copies a dim, but of an empty tensor it is a size."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers import Kind
from shapecalc.view.code.arrays import axes_of, forward, indexed, program, shape_part, sizes_of
from shapecalc.view.code.requested import Rules, requested
from shapecalc.view.code.sizes import size_text
from shapecalc.view.code.slices import kept_axes, roll_of, split_axis
from shapecalc.view.code.written import drops_every_one, inserted_axes, written_dims
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Stage, Trace
    from shapecalc.view.code import Code
    from shapecalc.view.code.arrays import Place

RULES = Rules({"dialect": "paddle"}, copies_of_empty=False)
MOST_SLICED = 6
"""The most dims of a tensor that PaddlePaddle slices."""


def paddle(answer: Trace | Chain) -> Code:
    """Return PaddlePaddle code; raise `ShapeError` (usage) for more dims than it has, or a size that nobody knows.

    >>> import shapecalc as sc
    >>> print(paddle(sc.reshape("N,C,H,W", "0,-1")).text.splitlines()[-1])
    y = paddle.reshape(x, [0, -1])
    """
    return program(answer, "paddle", _call)


def _call(_trace: Trace, stage: Stage, place: Place) -> str:
    """Return the PaddlePaddle expression for a stage."""
    tensor = place.tensor
    match stage.kind:
        case Kind.PERMUTE:
            return f"paddle.transpose({tensor}, {list(axes_of(stage))})"
        case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
            dims = requested(stage.before, written_dims(stage), place.readings, RULES).dims
            return f"paddle.reshape({tensor}, [{', '.join(map(size_text, dims))}])"
        case Kind.SQUEEZE:
            return _squeeze(stage, tensor)
        case Kind.UNSQUEEZE:
            return f"paddle.unsqueeze({tensor}, {list(inserted_axes(stage))})"
        case Kind.EXPAND:
            return f"paddle.expand({tensor}, [{', '.join(sizes_of(stage, place, kept='-1'))}])"
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _positions(stage, tensor)
        case Kind.SHAPE:
            return f'paddle.to_tensor({shape_part(stage, place)}, dtype="int64")'
        case _:
            assert_never(stage.kind)


def _positions(stage: Stage, tensor: str) -> str:
    """Return the expression that keeps or moves positions of axes. What a slice reads backwards is reversed first."""
    if stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        return f"paddle.chunk({tensor}, {parts}, {axis})[{part}]"
    if stage.kind is Kind.ROLL:
        return f"paddle.roll({tensor}, {roll_of(stage).shift}, {roll_of(stage).axis})"
    back = [each.axis for each in kept_axes(stage) if each.step < 0]
    return indexed(f"paddle.flip({tensor}, {back})" if back else tensor, forward(stage), "paddle", MOST_SLICED)


def _squeeze(stage: Stage, tensor: str) -> str:
    if drops_every_one(stage):
        return f"paddle.squeeze({tensor})"
    axes = dropped_axes(stage)
    return f"paddle.squeeze({tensor}, {list(axes)})" if axes else tensor
