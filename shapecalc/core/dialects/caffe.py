"""Caffe: the Reshape layer replaces `num_axes` dims, starting at `axis`."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, COPIED_ZERO, ZERO_OUT_OF_RANGE
from shapecalc.core.text import rank_text, truncate

BAD_NUM_AXES = Rule(
    "bad-num-axes",
    "the parameter num_axes must be -1, or at most the number of dims from axis on",
    "Caffe's Reshape replaces num_axes dims, starting at axis. If num_axes is -1, Reshape replaces all following "
    "dims. If num_axes is 0, Reshape inserts dims and replaces none.",
    "shapecalc reshape 2,8 4,2 --axis 1 --num-axes 3 --dialect caffe",
    "caffe.proto, ReshapeParameter",
)


def reshape(
    shape: Shape, rules: base.RequestRules, target: Shape, axis: int | None = None, num_axes: int | None = None
) -> Stages | None:
    """Resolve a reshape with `axis` or `num_axes`.

    Returns None for other requests, which `Op.resolve` resolves.
    """
    if axis is None and num_axes is None:
        return None
    return _replace_dims(shape, rules, target, axis or 0, -1 if num_axes is None else num_axes)


def _replace_dims(shape: Shape, rules: base.RequestRules, target: Shape, axis: int, num_axes: int) -> Stages:
    """Replace `num_axes` dims, starting at `axis`, with `target`.

    A 0 in `target` copies the input dim at the output index of the 0. Source: caffe.proto, ReshapeParameter ("control
    the portion of the bottom blob's shape that are replaced"), and ReshapeLayer. Raises `ShapeError`:
    axis-out-of-range, bad-num-axes, zero-out-of-range, rank-limit, and the errors of `Target.resolve`.
    """
    rank = len(shape)
    with StageBuilder(StageKind.RESHAPE, "reshape", "target", shape, target):
        first = axis + rank + 1 if axis < 0 else axis
        if not 0 <= first <= rank:
            message = f"axis {truncate(str(axis))} does not exist: axes run from {-rank - 1} to {rank}, the end"
            raise rule_error(AXIS_OUT_OF_RANGE, message, argument="axis")
        if not -1 <= num_axes <= rank - first:
            message = f"{truncate(str(num_axes))} dims, and {rank - first} follow axis {first}"
            raise rule_error(BAD_NUM_AXES, message, argument="num_axes")
    kept = 0 if num_axes == -1 else rank - first - num_axes
    full_target = (*shape[:first], *target, *shape[rank - kept :])
    return base.resolve_target(PartialTarget(shape, full_target, kept_ends=(first, kept)), target, rules.dialect)


class PartialTarget(base.Target):
    """A requested shape that replaces a range of input dims.

    A 0 copies the input dim at the output index of the 0.
    """

    __slots__ = ()

    def resolve_zero(self, index: int) -> Dim:
        """Return the input dim at `index`, the output index of a 0.

        Raises `ShapeError` (zero-out-of-range).
        """
        if index >= len(self.shape):
            message = f"0 copies dim {index}, and the input has {rank_text(len(self.shape))}"
            raise rule_error(ZERO_OUT_OF_RANGE, message, argument="target", index=index - self.kept_ends[0])
        self.copied[index] = index
        return self.shape[index]

    def zero_step(self, index: int) -> Step:
        """Return the step that explains the size of a 0."""
        return Step(COPIED_ZERO, index, (index,), self.dims[index])


AXIS = base.Param(
    "axis",
    base.ParamType.INT,
    "Caffe: the first dim that the target replaces, by default 0; -1 is the position after the last dim",
)
NUM_AXES = base.Param(
    "num_axes",
    base.ParamType.INT,
    "Caffe: the number of dims that the target replaces; -1, the default, replaces all following dims",
)

CAFFE = base.Dialect(
    name="caffe",
    source="caffe.proto and the layers of BVLC Caffe 1.0",
    operators={
        "reshape": base.Operator("Reshape", params=(AXIS, NUM_AXES), resolve=reshape),
        "flatten": base.Operator("Flatten"),
        "split": base.Operator("Slice"),
    },
    reshape_semantics={None: base.ZERO_COPIES},
    max_rank=32,
    max_inferred=2**31 - 1,
    types=frozenset({"float32", "float64"}),
    spellings={"float": "float32", "double": "float64"},
    note="The parameters axis and num_axes select the part of the shape that reshape replaces. The options "
    "--start-dim and --end-dim set the parameters axis and end_axis of flatten. The default of --start-dim is 1. The "
    "limit of 2**31 elements per blob is not checked",
    rules=(BAD_NUM_AXES,),
)
