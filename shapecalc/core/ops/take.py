"""Take: gather the elements at a list of indices of one axis."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import Stage, StageBuilder, StageKind, Stages, Step, StepRule, run_stages
from shapecalc.core.dialects.base import (
    SINCE_13,
    UP_TO_12,
    Operator,
    Param,
    ParamType,
    RequestRules,
    explain_changed_axis,
)
from shapecalc.core.dims import Axes, Dim, Shape
from shapecalc.core.moves import Take
from shapecalc.core.ops.axes import AXIS_SEMANTICS, normalize_nonscalar_axis
from shapecalc.core.ops.op import Arguments, DialectTable, FixCandidates, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE, INDEX_SEMANTICS, TAKEN_INDEX, resolve_index
from shapecalc.core.ops.unsqueeze import UNSQUEEZE_SEMANTICS, unsqueeze
from shapecalc.core.problem import rule_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.text import shape_text, truncate


def _explain_taken_positions(step: Step, text: str, positions: Axes, dim: Dim) -> str:
    """Format the selected indices.

    `text` contains the requested indices, and `positions` are the nonnegative indices.
    """
    from_zero = "" if text == shape_text(positions) else f", which are {truncate(shape_text(positions))},"
    return f"positions {truncate(text)}{from_zero} of dim {step.sources[0]}, {truncate(str(dim))}: {step.value} in all"


TAKEN_POSITIONS = StepRule(
    "take-positions",
    "the listed indices of an axis are selected, in the order of the list",
    "An index that is listed twice is selected twice. The axis is kept, and its size is the number of indices. If "
    "the size of an axis is a name, the answer holds for sizes that include all indices.",
    "shapecalc take 2,3,4 1 2,0,0",
    "ONNX Gather with indices of one axis, numpy.take, PyTorch and JAX indexing, tf.gather, OpenVINO Gather",
    why=_explain_taken_positions,
)


def take(shape: Shape, rules: RequestRules, axis: int, indices: Axes) -> Stages:
    """Gather the elements at a list of indices of one axis.

    Indices may be repeated. Source: ONNX Gather ("gather entries of the axis dimension of data indexed by indices"),
    numpy.take. Raises `ShapeError` (axis-out-of-range or index-out-of-range).
    """
    if not shape and TAKE_SEMANTICS.for_dialect(rules.dialect).takes_scalars:
        return run_stages(
            shape,
            partial(unsqueeze, rules=rules, axes=(0,)),
            partial(_take_indices, rules=rules, axis=axis, indices=indices),
        )
    return _take_indices(shape, rules, axis, indices)


def _take_indices(shape: Shape, rules: RequestRules, axis: int, indices: Axes) -> Stages:
    with StageBuilder(StageKind.TAKE, "take", "indices", shape) as stage:
        taken_axis = normalize_nonscalar_axis(
            axis, shape, replace(rules, version=None)
        )  # Gather accepts negative axes in all versions
        semantics = TAKE_SEMANTICS.for_dialect(rules.dialect)
        negative = next((entry for entry, index in enumerate(indices) if index < 0), None)
        if negative is not None and not semantics.takes_from_the_end:
            message = f"{rules.operator.name} counts positions from 0, and this is {truncate(str(indices[negative]))}"
            raise rule_error(INDEX_OUT_OF_RANGE, message, argument="indices", index=negative)
        skips_indices = (semantics.skips_indices and 0 in shape[:taken_axis]) or (
            semantics.skips_indices_if_empty and 0 in (*shape[:taken_axis], *shape[taken_axis + 1 :])
        )
        resolved = [
            (TAKEN_INDEX, 0, ())
            if skips_indices
            else resolve_index(index, shape[taken_axis], taken_axis, rules, "indices", entry)
            for entry, index in enumerate(indices)
        ]
        positions = tuple([position for _, position, _ in resolved])
        conditions = tuple([condition for *_, conditions in resolved for condition in conditions])

        def explain(_: Stage) -> tuple[Step, ...]:
            facts = FrozenDict(text=shape_text(indices), positions=positions, dim=shape[taken_axis])
            step = Step(TAKEN_POSITIONS, taken_axis, (taken_axis,), len(positions), conditions, facts)
            return explain_changed_axis(shape, step)

        stage.explain = explain
        return stage.finish(Take(taken_axis, positions))


def _index_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield the indices clamped to the axis, followed by the nonnegative indices."""
    dim = shape[arguments["axis"]] if shape else 1
    if isinstance(dim, int) and dim > 0:
        clamped = tuple([min(max(index, -dim), dim - 1) for index in arguments["indices"]])
        yield from (("indices", indices) for indices in (clamped, tuple([index % dim for index in clamped])))


class TakeSemantics(Record):
    """The indices that take accepts in a dialect."""

    takes_from_the_end: bool = True
    """Whether take accepts negative indices."""
    takes_scalars: bool = False
    """Whether take treats a scalar as a vector of one element."""
    skips_indices: bool = False
    """Whether the indices are not checked if a dim before the axis is 0."""
    skips_indices_if_empty: bool = False
    """Whether the indices are not checked if the dim of another axis is 0.

    Source: the code of JAX, which returns an empty result without a gather.
    """


TAKE_SEMANTICS = DialectTable(
    {
        "onnx openvino torch": TakeSemantics(),
        "jax": TakeSemantics(skips_indices_if_empty=True),
        "numpy": TakeSemantics(takes_scalars=True, skips_indices=True),
        "tensorflow": TakeSemantics(takes_from_the_end=False),
    }
)
TAKE = Op(
    name="take",
    summary="Gather elements along an axis by their indices.",
    params=(
        Param("axis", ParamType.INT, "the axis to gather along", positional=True, required=True),
        Param("indices", ParamType.AXES, "the indices, in order; -1 is the last", positional=True, required=True),
    ),
    resolve=take,
    operators={
        "onnx": Operator("Gather", {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13}),
        **operators_by_dialect(take="numpy", indexing="torch", Gather="openvino"),
    },
    examples=("take 2,3,4 1 2,0,0", "take N,C,H 1 0,-1 --explain", "take 2,3,4 -1 3,1 -d torch"),
    vectors=make_test_vectors(
        "axis indices",
        ("2,3,4", "0 0", "1 2,0,0", "-1 -1,1", "2 4", "1 0,-4", "3 0", "0 []"),
        ("2,0", "1 []", "1 0"),
        ("[]", "0 0"),
        ("N,C", "1 0,-1,0", "0 1"),
    ),
    keeps_element_count=False,
    semantics=(TAKE_SEMANTICS, INDEX_SEMANTICS, AXIS_SEMANTICS, UNSQUEEZE_SEMANTICS),
    rules=(TAKEN_POSITIONS,),
    fix_candidates={INDEX_OUT_OF_RANGE: _index_candidates},
)
