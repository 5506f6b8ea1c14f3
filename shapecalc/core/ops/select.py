"""Select: select one index of an axis, and drop the axis."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions, Unsatisfiable, require_min_size
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Operator, Param, ParamType, RequestRules
from shapecalc.core.dialects.jax import CLAMPED_INDEX
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import StridedSlice
from shapecalc.core.ops.axes import AXIS_SEMANTICS, normalize_nonscalar_axis
from shapecalc.core.ops.op import Arguments, DialectTable, FixCandidates, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import KEPT_DIM
from shapecalc.core.text import truncate

SOURCE = "ONNX Gather, NumPy indexing, torch.select, OpenVINO Gather, Paddle indexing"

INDEX_OUT_OF_RANGE = Rule(
    "index-out-of-range",
    "the index does not exist",
    "Indices run from 0 to the size minus 1. Negative indices count from the end: -1 is the last one. ONNX "
    "accepts negative indices since Gather 11.",
    "shapecalc select 2,3,4 1 3",
    "ONNX Gather: 'it is an error if any of the index values are out of bounds'",
)


def _explain_taken_index(step: Step, index: int, position: int) -> str:
    """Format the selected index.

    `index` is the requested index, and `position` is the equivalent nonnegative index.
    """
    counted = "" if index == position else f", which is {position},"
    return f"index {index}{counted} of dim {step.sources[0]} is taken, and the dim is dropped"


TAKEN_INDEX = StepRule(
    "take-index",
    "one index of an axis is selected, and the axis is dropped",
    "The other axes do not change. If the size of an axis is a name, the answer holds for sizes that "
    "include this index.",
    "shapecalc select 2,3,4 1 -1",
    SOURCE,
    why=_explain_taken_index,
)


def select(shape: Shape, rules: RequestRules, axis: int, index: int) -> Stages:
    """Select one index of an axis, and drop the axis.

    Source: ONNX Gather with a single index, NumPy indexing, torch.select. Raises `ShapeError` (axis-out-of-range or
    index-out-of-range).
    """
    with StageBuilder(StageKind.SELECT, "select", "index", shape) as stage:
        dropped = normalize_nonscalar_axis(
            axis, shape, replace(rules, version=None)
        )  # Gather accepts negative axes in all versions
        rule, index_from_zero, conditions = resolve_index(index, shape[dropped], dropped, rules)
        facts = {"index": index, "position": index_from_zero}
        sources = [source for source in range(len(shape)) if source != dropped]
        stage.explain = lambda _: (
            Step(rule, None, (dropped,), shape[dropped], conditions, FrozenDict(facts)),
            *[Step(KEPT_DIM, out, (source,), shape[source]) for out, source in enumerate(sources)],
        )
        starts = tuple([index_from_zero if source == dropped else 0 for source in range(len(shape))])
        return stage.finish(
            StridedSlice(
                starts,
                (1,) * len(shape),
                tuple([None if source == dropped else dim for source, dim in enumerate(shape)]),
            )
        )


def resolve_index(
    index: int, dim: Dim, axis: int, rules: RequestRules, argument: str = "index", argument_index: int | None = None
) -> tuple[StepRule, int, Conditions]:
    """Resolve an index of an axis.

    Returns the rule that accepts or clamps the index, the nonnegative index, and the conditions under which the index
    exists. If the dim is symbolic, a negative index is returned unchanged. `argument_index` is the position of the
    index in a list argument, for the error message. Raises `ShapeError` (index-out-of-range).
    """
    if index < 0 and rules.version is not None:
        first = AXIS_SEMANTICS.for_dialect(rules.dialect).negative_axes_since
        if rules.version < first:
            since = f"{rules.operator.name} {first}, and this is version {rules.version}"
            message = f"index {truncate(str(index))}: negative indices exist since {since}"
            raise rule_error(INDEX_OUT_OF_RANGE, message, argument=argument, index=argument_index)
    if not isinstance(dim, int):
        try:
            return TAKEN_INDEX, index, require_min_size(dim, index + 1 if index >= 0 else -index)
        except Unsatisfiable:
            message = f"dim {axis} is {truncate(str(dim))}, and never has an index {truncate(str(index))}"
            raise rule_error(INDEX_OUT_OF_RANGE, message, argument=argument, index=argument_index) from None
    if not -dim <= index < dim:
        clamping_rule = INDEX_SEMANTICS.for_dialect(rules.dialect).out_of_range_index_rule
        if dim > 0 and clamping_rule is not None:
            return clamping_rule, 0 if index < 0 else dim - 1, ()
        message = f"dim {axis} is {truncate(str(dim))}, and has no index {truncate(str(index))}"
        raise rule_error(INDEX_OUT_OF_RANGE, message, argument=argument, index=argument_index)
    return TAKEN_INDEX, index % dim, ()


def _index_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield the nonnegative index, the first index and the last index."""
    dim, index = shape[arguments["axis"]], arguments["index"]
    if isinstance(dim, int):
        ends = (dim - 1, 0) if index > 0 else (0, dim - 1)
        yield from (("index", candidate) for candidate in (index + dim, *ends) if candidate in range(dim))


class IndexSemantics(Record):
    """The element indices that a dialect accepts."""

    out_of_range_index_rule: StepRule | None = None
    """The rule that clamps an out-of-range index.

    The value is None if the dialect refuses out-of-range indices.
    """


INDEX_SEMANTICS = DialectTable(
    {
        "onnx openvino numpy torch paddle tensorflow tflite coreml": IndexSemantics(),
        "jax": IndexSemantics(CLAMPED_INDEX),
    }
)
SELECT = Op(
    name="select",
    summary="Select one index of an axis, and drop the axis.",
    params=(
        Param("axis", ParamType.INT, "the axis to drop", positional=True, required=True),
        Param("index", ParamType.INT, "the index to select; -1 is the last", positional=True, required=True),
    ),
    resolve=select,
    operators={
        "onnx": Operator("Gather", {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13}),
        **operators_by_dialect(indexing="numpy paddle", select="torch", Gather="openvino"),
    },
    signatures=(("torch", "x.select(dim: axis, index)"),),
    examples=("select 2,3,4 1 0", "select N,C,H -1 -1 --explain", "select 2,3,4 0 1 -d torch"),
    vectors=make_test_vectors(
        "axis index",
        ("2,3,4", "0 0", "1 2", "-1 -4", "2 4", "2 -5", "3 0", "-4 0"),
        ("5", "0 -1"),
        ("2,0", "0 1", "1 0"),
        ("[]", "0 0"),
        ("N,C", "1 0", "0 -1", "0 1"),
    ),
    keeps_element_count=False,
    semantics=(INDEX_SEMANTICS, AXIS_SEMANTICS),
    rules=(TAKEN_INDEX, INDEX_OUT_OF_RANGE),
    fix_candidates={INDEX_OUT_OF_RANGE: _index_candidates},
)
