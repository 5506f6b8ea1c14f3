"""Flatten: merge adjacent dims."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages
from shapecalc.core.dialects import base
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.ops.axes import AXIS_SEMANTICS, merge_axis_groups, normalize_axis_index
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.problem import rule_error
from shapecalc.core.record import Choice, Record
from shapecalc.core.rules import START_AFTER_END


def flatten(
    shape: Shape,
    rules: base.RequestRules,
    axis: int | None = None,
    start_dim: int | None = None,
    end_dim: int | None = None,
) -> Stages:
    """Merge adjacent dims, as the flatten operator of the dialect does.

    In ONNX, the output has two dims: the first merges the dims before `axis`, and the second merges the remaining dims.
    In PyTorch, the dims from `start_dim` to `end_dim` (inclusive) are merged. NumPy merges all dims, and some dialects
    merge all dims after the first. Source: ONNX Flatten ("the result is a 2D tensor"), torch.flatten, ndarray.flatten.
    Raises `ShapeError` (axis-out-of-range, negative-axis, start-after-end or overflow).
    """
    argument = "axis" if FLATTEN_SEMANTICS.for_dialect(rules.dialect).flattens is FlattenMode.AXIS else "start_dim"
    with StageBuilder(StageKind.MERGE, "flatten", argument, shape) as stage:
        return merge_axis_groups(stage, _axis_groups(len(shape), rules, axis, start_dim, end_dim))


def _axis_groups(
    rank: int, rules: base.RequestRules, axis: int | None, start: int | None, end: int | None
) -> list[Axes]:
    """Return the groups of input axes that are merged, one for each output dim.

    Raises `ShapeError` (axis-out-of-range, negative-axis or start-after-end).
    """
    axes = tuple(range(rank))
    semantics = FLATTEN_SEMANTICS.for_dialect(rules.dialect)
    if semantics.flattens is FlattenMode.ALL:
        return [axes]
    if semantics.flattens is FlattenMode.REST:
        return [axes[:1], axes[1:]]
    if semantics.flattens is FlattenMode.AXIS:
        cut = normalize_axis_index(1 if axis is None else axis, rank, rules, "axis", allow_end=True)
        return [axes[:cut], axes[cut:]]
    first = normalize_axis_index(semantics.flattens_from if start is None else start, rank, rules, "start_dim")
    last = normalize_axis_index(-1 if end is None else end, rank, rules, "end_dim")
    if first > last:
        raise rule_error(START_AFTER_END, f"start_dim {first} comes after end_dim {last}", argument="start_dim")
    before, after = [(axis,) for axis in axes[:first]], [(axis,) for axis in axes[last + 1 :]]
    return [*before, axes[first : last + 1], *after]


class FlattenMode(Choice):
    """The parameters and the output dims of flatten in a dialect."""

    AXIS = "one axis; always two dims"
    RANGE = "a first and a last dim to merge"
    ALL = "nothing; always one dim"
    REST = "nothing; always two dims, the first and the product of the others"


class FlattenSemantics(Record):
    """The dims that flatten merges in a dialect."""

    flattens: FlattenMode = FlattenMode.ALL
    flattens_from: int = 0
    """The first merged axis if `start_dim` is omitted."""


FLATTEN_SEMANTICS = DialectTable(
    {
        "numpy jax": FlattenSemantics(),
        "onnx coreml": FlattenSemantics(FlattenMode.AXIS),
        "torch paddle": FlattenSemantics(FlattenMode.RANGE),
        "caffe": FlattenSemantics(FlattenMode.RANGE, flattens_from=1),
        "mxnet": FlattenSemantics(FlattenMode.REST),
    }
)


def _has_dim_range(dialect: base.Dialect) -> bool:
    return FLATTEN_SEMANTICS.for_dialect(dialect).flattens is FlattenMode.RANGE


FLATTEN = Op(
    name="flatten",
    summary="Merge dims.",
    params=(
        base.Param(
            *("axis", base.ParamType.INT, "ONNX: the first axis that the second output dim merges, by default 1"),
            positional_or_named=True,
            supported_by=lambda dialect: FLATTEN_SEMANTICS.for_dialect(dialect).flattens is FlattenMode.AXIS,
            counterpart="start_dim",
        ),
        base.Param(
            "start_dim",
            base.ParamType.INT,
            "PyTorch: the first dim to merge, by default 0",
            supported_by=_has_dim_range,
        ),
        base.Param(
            *("end_dim", base.ParamType.INT, "PyTorch: the last dim to merge, by default -1"),
            positional_or_named=True,
            supported_by=_has_dim_range,
        ),
    ),
    resolve=flatten,
    operators={
        "onnx": base.Operator(
            "Flatten", {1: base.FLOATS, 9: base.UP_TO_12, 11: base.UP_TO_12, 13: base.SINCE_13} | base.NEWEST_VERSIONS
        )
    },
    signatures=(
        ("torch", "x.flatten(start_dim=0, end_dim=-1)"),
        ("torch", "torch.nn.Flatten(start_dim=1, end_dim=-1)"),
        ("numpy jax", "x.flatten/ravel()"),
    ),
    printed_names="flatten",
    examples=("flatten 2,3,4", "flatten N,C,H,W 2", "flatten N,C,H,W 1 2 -d torch"),
    vectors=make_test_vectors(
        "axis start_dim end_dim",
        ("2,3,4", "", "0", "1", "2", "3", "4", "-1", "-3", "-4", "_ 1", "_ _ 1", "_ 2 1", "_ 3"),
        ("[]", ""),
        ("0,3,4", ""),
        ("N,C,H,W", ""),
        ("2,3,4,5", "_ 1 -2"),
    ),
    semantics=(FLATTEN_SEMANTICS, AXIS_SEMANTICS),
)
