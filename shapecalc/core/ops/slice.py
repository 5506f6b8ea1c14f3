"""Slice: select a range of each axis by start, stop and step."""

from __future__ import annotations

from shapecalc.core.answers import Stage, StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions, Unsatisfiable, require_min_size
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Axes, Dim, Monomial, Shape
from shapecalc.core.moves import StridedSlice
from shapecalc.core.ops.op import Arguments, DialectTable, FixCandidates, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, KEPT_DIM, NEEDS_SIZE, NO_SUCH_ATTRIBUTE
from shapecalc.core.text import format_count, rank_text, truncate
from shapecalc.core.values import SliceParts, parse_slices

AxisSlice = tuple[int, int, Dim, Conditions]
"""The slice of an axis: its start, step, output size and conditions."""

SOURCE = "ONNX Slice, NumPy basic indexing, OpenVINO Slice, TensorRT Slice"
STEPS_SINCE = 10
"""The first version of ONNX Slice with steps."""

BAD_STEP = Rule(
    "bad-step",
    "a step must not be 0, and some frameworks refuse negative steps",
    "A negative step reverses the order. PyTorch does not support negative steps.",
    "shapecalc slice 2,3,4 ::0",
    "ONNX Slice: 'steps cannot be 0'",
)
SLICE_OUT_OF_BOUNDS = Rule(
    "slice-out-of-bounds",
    "the operator does not accept an index outside of the dim",
    "Most operators clamp a start or a stop that is outside of the dim. TensorRT's Slice counts from 0 and refuses a "
    "start or stop outside of the dim.",
    "shapecalc slice 2,3 :,1:9 --dialect tensorrt",
    "TensorRT Slice: 'STRICT_BOUNDS ... otherwise issue error'",
)
EMPTY_SLICE = Rule(
    "keeps-nothing",
    "the operator must keep at least one index of every axis",
    "Core ML has no empty tensors.",
    "shapecalc slice 2,3 :,3: --dialect coreml",
    "measured with slice_by_index of MIL",
)


KEPT_POSITIONS = StepRule(
    "keep-positions",
    "an axis keeps the indices from start to stop, excluding stop, with a given step",
    "Negative values count from the end. A start or a stop outside of the dim is clamped to the ends of the dim. If a "
    "start lies before the dim and the step is negative, ONNX keeps the first index, and Python keeps none. If the "
    "size of the dim is a name, no start or stop is clamped: the answer holds for sizes that are large enough. A "
    "resulting size that is not a product gets a new name. Slices such as -5:3 and 3:-5:-1 require the size "
    "of the dim as a number.",
    "shapecalc slice 2,3,4 :,::2,1:3",
    SOURCE,
    name="slice axis",
    why=lambda step, text, dim: f"{truncate(text)} of {truncate(str(dim))} keeps {step.value}",
)


SLICED = StepRule(
    "slice-tensor",
    "the output contains the elements at the kept indices, in order",
    "Trailing axes without a slice are kept whole.",
    "shapecalc slice 2,3,4 :,1:",
    SOURCE,
    name="slice",
    why="the elements at the positions that are kept of every axis",
)


def slice_(shape: Shape, rules: RequestRules, slices: str, *, must_keep: Axes = ()) -> Stages:
    """Slice axes by start, stop and step.

    Axes without a slice are unchanged. If an axis in `must_keep` is not empty, its slice must keep at least one index.
    In a dialect without empty tensors, this applies to all axes. Source: ONNX Slice ("similar to numpy"), NumPy basic
    indexing, OpenVINO Slice ("the rules follow python language slicing"), TensorRT Slice. Raises `ShapeError`
    (axis-out-of-range, bad-step, needs-size, no-such-attribute, slice-out-of-bounds or keeps-nothing).
    """
    with StageBuilder(StageKind.SLICE, "slice", "slices", shape) as stage:
        parsed, texts = parse_slices(slices), slices.split(",")
        if len(parsed) > len(shape):
            count_text = format_count(len(parsed), "slice is", "slices are")
            message = f"{count_text} given, and the input has {rank_text(len(shape))}"
            raise rule_error(AXIS_OUT_OF_RANGE, message, argument="slices", index=len(shape))
        keeps_all = SLICE_SEMANTICS.for_dialect(rules.dialect).refuses_empty_slices
        kept: list[AxisSlice] = []
        stage.explain = lambda finished: _slice_steps(finished, kept, texts)
        for axis, dim in enumerate(shape):
            axis_slice: AxisSlice = (0, 1, dim, ())
            must_be_nonempty = keeps_all or axis in must_keep
            if axis < len(parsed):
                axis_slice = _slice_axis(dim, parsed[axis], axis, rules, must_be_nonempty)
            if axis_slice[2] == 0 != dim and must_be_nonempty:
                raise rule_error(EMPTY_SLICE, f"no position of dim {axis} is kept", argument="slices", index=axis)
            kept.append(axis_slice)
        starts, steps, sizes, _ = zip(*kept, strict=True) if kept else ((), (), (), ())
        return stage.finish(StridedSlice(starts, steps, sizes))


def _slice_steps(stage: Stage, kept: list[AxisSlice], texts: list[str]) -> tuple[Step, ...]:
    """Return the steps of the sliced axes, and the final step of the slice."""
    steps = list[Step]()
    for axis, (start, step, size, conditions) in enumerate(kept):
        dim = stage.before[axis]
        if (start, step, size) == (0, 1, dim):
            steps.append(Step(KEPT_DIM, axis, (axis,), dim, conditions))
        else:
            facts = FrozenDict(text=texts[axis], dim=dim)
            steps.append(Step(KEPT_POSITIONS, axis, (axis,), size, conditions, facts))
    if stage.after is not None:
        steps.append(Step(SLICED, None, tuple(range(len(stage.before))), stage.after))
    return tuple(steps)


def _slice_axis(dim: Dim, slice_parts: SliceParts, axis: int, rules: RequestRules, must_be_nonempty: bool) -> AxisSlice:
    """Resolve the slice of one axis.

    `slice_parts` are the start, the stop and the step. Raises `ShapeError` (bad-step, no-such-attribute,
    slice-out-of-bounds or needs-size).
    """
    step = 1 if slice_parts[2] is None else slice_parts[2]
    if step == 0 or (step < 0 and not SLICE_SEMANTICS.for_dialect(rules.dialect).slices_backwards):
        below = f"{rules.dialect.name} takes no step below 0, and this is {truncate(str(step))}"
        raise rule_error(BAD_STEP, below if step else "no step can be 0", argument="slices", index=axis)
    if step != 1 and rules.version is not None and rules.version < STEPS_SINCE:
        message = (
            f"steps exist since {rules.operator.name} {STEPS_SINCE}, and this is {rules.operator.name} {rules.version}"
        )
        raise rule_error(NO_SUCH_ATTRIBUTE, message, argument="slices", index=axis)
    if isinstance(dim, Monomial):
        return _slice_symbolic_axis(dim, slice_parts, axis, rules, must_be_nonempty)
    outside = SLICE_SEMANTICS.for_dialect(rules.dialect).outside
    if outside is SliceBoundsPolicy.REFUSED:
        _check_bounds(dim, slice_parts, axis, rules)
    if outside is SliceBoundsPolicy.CLAMPED_INSIDE and slice_parts[0] is not None and step < 0:
        slice_parts = max(slice_parts[0], -dim), slice_parts[1], step
    positions = range(dim)[slice(*slice_parts)]
    return (positions.start, step, len(positions), ()) if positions else (0, 1 if dim == 0 else step, 0, ())


def _check_bounds(dim: int, slice_parts: SliceParts, axis: int, rules: RequestRules) -> None:
    """Raise `ShapeError` (slice-out-of-bounds) if the start or stop is out of range."""
    for end in slice_parts[:2]:
        if end is not None and not 0 <= end <= dim:
            shown, outside = truncate(str(dim)), truncate(str(end))
            message = f"dim {axis} is {shown}, and {outside} lies outside; {rules.dialect.name} counts from 0"
            raise rule_error(SLICE_OUT_OF_BOUNDS, message, argument="slices", index=axis)


def _require_min_size(dim: Monomial, axis: int, count: int) -> Conditions:
    """Return the conditions under which a dim is at least `count`.

    Raises `ShapeError` (needs-size) if the dim is smaller for all sizes.
    """
    try:
        return require_min_size(dim, count)
    except Unsatisfiable:
        message = f"what this slice keeps of dim {axis}, {truncate(str(dim))}, depends on its size"
        raise rule_error(NEEDS_SIZE, message, argument="slices", index=axis) from None


def _slice_symbolic_axis(
    dim: Monomial, slice_parts: SliceParts, axis: int, rules: RequestRules, must_be_nonempty: bool
) -> AxisSlice:
    """Resolve the slice of an axis with a symbolic size.

    The conditions exclude the sizes for which the start or the stop is clamped. Raises `ShapeError` (needs-size or
    slice-out-of-bounds).
    """
    start, stop, step = slice_parts[0], slice_parts[1], 1 if slice_parts[2] is None else slice_parts[2]
    semantics, least = SLICE_SEMANTICS.for_dialect(rules.dialect), 1
    if semantics.outside is SliceBoundsPolicy.REFUSED:
        if min(start or 0, stop or 0) < 0:
            message = f"{rules.dialect.name} counts from 0, and this slice counts from the end of dim {axis}"
            raise rule_error(SLICE_OUT_OF_BOUNDS, message, argument="slices", index=axis)
        least = max(least, start or 0, stop or 0)
    elif semantics.outside is SliceBoundsPolicy.CLAMPED_INSIDE and step < 0:
        least = max(least, -(start or 0))
    first, last = (0, stop or 0) if step > 0 else (-1, -1 if stop is None else stop)
    first, last_from_end = first if start is None else start, step > 0 if stop is None else stop < 0
    sign, stride = (1 if step > 0 else -1), abs(step)
    length, dim_count = sign * (last - first), sign * (last_from_end - (first < 0))
    # the start and the stop count from different ends of the axis, so the size must be checked to be at least 0
    if dim_count > 0:
        size = rules.names.floor_dim((dim, length, stride - 1), stride)
        least_length = 1 if must_be_nonempty else 1 - stride
        return first, step, size, _require_min_size(dim, axis, max(least, least_length - length))
    if dim_count < 0 and length > 1 and (stop, sign) != (0, 1):
        message = f"how much this slice keeps of dim {axis}, {truncate(str(dim))}, depends on its size"
        raise rule_error(NEEDS_SIZE, message, argument="slices", index=axis)
    if dim_count < 0 or length <= 0:
        return 0, step, 0, _require_min_size(dim, axis, least)
    count = -(-length // stride)
    farthest = first + step * (count - 1)
    least = max(least, 1 + max(first, farthest)) if first >= 0 else max(least, -min(first, farthest))
    return first, step, count, _require_min_size(dim, axis, least)


def _slice_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield simpler slices.

    The first candidate drops the slices of nonexistent axes. Each following candidate omits the step, the stop, the
    start or all three of one slice.
    """
    texts = arguments["slices"].split(",")
    if len(texts) > len(shape):
        yield "slices", ",".join(texts[: len(shape)]) or "[]"
    for index, text in enumerate(texts):
        start, stop = text.split(":")[:2]
        for other in (f"{start}:{stop}", f"{start}:", f":{stop}", ":"):
            if other != text:
                yield "slices", ",".join([*texts[:index], other, *texts[index + 1 :]])


class SliceBoundsPolicy(Choice):
    """The handling of a start or stop that is out of range."""

    CLAMPED = "moved to its ends, as in Python"
    CLAMPED_INSIDE = "moved to its ends; a start with a step below 0 to its first position"
    REFUSED = "refused, and nothing counts from the end"


class SliceSemantics(Record):
    """The starts, stops and steps that slice accepts in a dialect."""

    outside: SliceBoundsPolicy = SliceBoundsPolicy.CLAMPED
    slices_backwards: bool = True
    """Whether slice accepts a negative step."""
    refuses_empty_slices: bool = False
    """Whether a slice of a nonempty axis must keep at least one index."""


SLICE_SEMANTICS = DialectTable(
    {
        "openvino numpy paddle tensorflow jax tflite": SliceSemantics(),
        "onnx": SliceSemantics(SliceBoundsPolicy.CLAMPED_INSIDE),
        "tensorrt": SliceSemantics(SliceBoundsPolicy.REFUSED),
        "torch": SliceSemantics(slices_backwards=False),
        "coreml": SliceSemantics(refuses_empty_slices=True),
    }
)
SLICE = Op(
    name="slice",
    summary="Slice axes by start, stop and step.",
    params=(
        Param(
            "slices",
            ParamType.SLICES,
            "start:stop:step for each axis, such as :,::2,1:3",
            positional=True,
            required=True,
        ),
    ),
    resolve=slice_,
    operators={
        "onnx": Operator("Slice", {1: UP_TO_12, 10: UP_TO_12, 11: UP_TO_12, 13: SINCE_13}),
        **operators_by_dialect(Slice="tensorrt openvino", indexing="numpy torch paddle"),
    },
    examples=("slice 2,3,4 :,::2,1:3", "slice N,C,H :,:,::2 --explain", "slice 2,3,4 -1: -d torch"),
    vectors=make_test_vectors(
        "slices",
        ("2,3,4", ":,::2,1:3", "[]", "-1:", ":,:-1", ":,:,1:9", ":,:,9:1", ":,:,-9:2", "::-1,::-2", "::0", ":,:,:,:"),
        ("2,0", ":,::2"),
        ("[]", "[]", ":"),
        ("N,C", "::2,:1", "-1:,::-1", "1:", ":3", "-5:3"),
    ),
    keeps_element_count=False,
    semantics=(SLICE_SEMANTICS,),
    rules=(KEPT_POSITIONS, SLICED, BAD_STEP, SLICE_OUT_OF_BOUNDS, EMPTY_SLICE),
    fix_candidates=dict.fromkeys((BAD_STEP, NEEDS_SIZE, SLICE_OUT_OF_BOUNDS, AXIS_OUT_OF_RANGE), _slice_candidates),
)
