"""TensorFlow code: functions of `x`. Sizes are read with `tf.shape`, so the code works in a graph, too."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers import Kind
from shapecalc.core.moves import Dims
from shapecalc.view.code.arrays import axes_of, indexed, program, sizes_of, tuple_text
from shapecalc.view.code.slices import kept_axes, short_roll, split_axis
from shapecalc.view.code.written import drops_every_one, inserted_axes
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Stage, Trace
    from shapecalc.view.code import Code
    from shapecalc.view.code.arrays import Place

MOST_SLICED = 8
"""The most dims of a tensor that TensorFlow slices."""


def tensorflow(answer: Trace | Chain) -> Code:
    """Return TensorFlow code; raise `ShapeError` (usage) for a size that nobody knows.

    >>> import shapecalc as sc
    >>> print(tensorflow(sc.reshape("N,C,H,W", "0,-1")).text.splitlines()[-1])
    y = tf.reshape(x, (tf.shape(x)[0], -1))
    """
    return program(answer, "tensorflow", _call, "tf.shape({})", "tf.reduce_prod({})")


def _call(_trace: Trace, stage: Stage, place: Place) -> str:
    """Return the TensorFlow expression for a stage."""
    tensor = place.tensor
    match stage.kind:
        case Kind.PERMUTE:
            return f"tf.transpose({tensor}, {tuple_text(axes_of(stage))})"
        case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
            return f"tf.reshape({tensor}, {tuple_text(sizes_of(stage, place))})"
        case Kind.SQUEEZE:
            return _squeeze(stage, tensor)
        case Kind.UNSQUEEZE:
            for axis in inserted_axes(stage):
                tensor = f"tf.expand_dims({tensor}, {axis})"
            return tensor
        case Kind.EXPAND:
            return f"tf.broadcast_to({tensor}, {tuple_text(sizes_of(stage, place))})"
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _positions(stage, tensor)
        case Kind.SHAPE:
            assert isinstance(stage.move, Dims)
            return f"tf.shape({tensor}, out_type=tf.int64)[{stage.move.start}:{stage.move.end}]"
        case _:
            assert_never(stage.kind)


def _positions(stage: Stage, tensor: str) -> str:
    """Return the expression that keeps or moves positions of axes."""
    if stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        return f"tf.split({tensor}, {parts}, {axis})[{part}]"
    if stage.kind is Kind.ROLL:
        roll = short_roll(stage, "tensorflow")
        return f"tf.roll({tensor}, {roll.shift}, {roll.axis})"
    return indexed(tensor, kept_axes(stage), "tensorflow", MOST_SLICED)


def _squeeze(stage: Stage, tensor: str) -> str:
    if drops_every_one(stage):
        return f"tf.squeeze({tensor})"
    axes = dropped_axes(stage)
    return f"tf.squeeze({tensor}, {list(axes)})" if axes else tensor
