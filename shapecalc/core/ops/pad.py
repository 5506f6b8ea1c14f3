"""Pad: add or remove elements at both ends of axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from shapecalc.core.answers import EMPTY_DICT, ResolvedDim, StageBuilder, StageKind, Stages, StepRule, run_stages
from shapecalc.core.conditions import Conditions
from shapecalc.core.dialects.base import (
    FLOATS,
    INTEGERS,
    NEWEST_VERSIONS,
    SINCE_13,
    Dialect,
    Operator,
    Param,
    ParamType,
    RequestRules,
)
from shapecalc.core.dims import INT64_MAX, Dim, Shape
from shapecalc.core.moves import CONSTANT, EDGE, REFLECT, SYMMETRIC, WRAP, Pad
from shapecalc.core.ops import windows
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy, normalize_axis_indices, scalar_axis_error
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.slice import slice_
from shapecalc.core.problem import Problem, Rule, ShapeError, rule_error
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.text import truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOURCE = "ONNX Pad, numpy.pad, torch.nn.functional.pad, tf.pad, OpenVINO Pad, paddle.nn.functional.pad"


LENGTHENED = StepRule(
    "lengthen",
    "elements are added at the beginning and at the end of an axis",
    "The pads list all begins first: for a matrix, begin 0, begin 1, end 0, end 1. In PyTorch's order, the begin "
    "and the end of the last axis come first.",
    "shapecalc pad 1,3,8,8 0,0,1,1,0,0,1,1",
    SOURCE,
    why=lambda step, dim, begin, end, **_: f"{begin} + {truncate(str(dim))} + {end} = {step.value}".replace(
        "+ -", "- "
    ),
)


MODE_UNSUPPORTED = Rule(
    "mode-unsupported",
    "the framework's pad does not have this mode, or not for these dims",
    "ONNX and ONNX Runtime support constant, reflect, edge and, since version 19 of Pad, wrap. PyTorch and Paddle "
    "support constant, reflect, edge (replicate) and wrap (circular). TensorFlow and TensorFlow Lite support constant, "
    "reflect and symmetric; OpenVINO also supports edge. NumPy and JAX support all modes. In modes other than "
    "constant, PyTorch pads the last dim of rank 2 or 3, the last two dims of rank 3 or 4, or the last three dims of "
    "rank 4 or 5. Paddle pads the dims after the channels, and TensorFlow supports at most 5 dims. In modes other than "
    "constant, negative padding removes elements. ONNX, ONNX Runtime and the mode wrap of PyTorch remove them before "
    "they add elements; Paddle and the modes reflect and edge of PyTorch remove them afterwards. Other frameworks "
    "refuse negative padding.",
    "shapecalc pad 1,3,8,8 0,0,1,1,0,0,1,1 --mode symmetric",
    SOURCE,
)
PADDING_LIMIT = Rule(
    "padding-limit",
    "the dim has too few elements for the padding and its mode",
    "A mode other than constant repeats elements of the dim, so the dim must not be empty. With reflect, the padding "
    "must be less than the dim, except in NumPy, JAX and ONNX. With symmetric in TensorFlow, TensorFlow Lite and "
    "OpenVINO, and with wrap in PyTorch, the padding must not exceed the dim. Reflect in PyTorch, TensorFlow and "
    "TensorFlow Lite, edge in PyTorch, and wrap in ONNX Runtime refuse an empty dim even if it is not padded.",
    "shapecalc pad 1,3 0,3,0,0 --mode reflect -d torch",
    f"{SOURCE}, and measurements",
)


class PadSemantics(Record):
    """The modes and the limits of pad in a dialect."""

    since: Mapping[str, int]
    """The first operator version of each mode. The version is 1 if operators are not versioned."""
    max_excess: Mapping[str, int] = EMPTY_DICT
    """For each mode, the maximum difference between the padding at one end and the dim. Modes without a limit are
    omitted.
    """
    last_dims: tuple[tuple[int, ...], ...] = ()
    """For each rank, the numbers of trailing dims that a call can pad. The tuple is empty if a call can pad any dims.
    """
    max_rank: int | None = None
    nonempty: tuple[str, ...] = ()
    """The modes that refuse an empty dim even if it is not padded. PyTorch accepts an empty batch dim."""
    allows_negative_padding: bool = True
    """Whether the mode `constant` accepts negative padding, which removes elements."""
    removes_new_positions: bool = False
    """Whether negative padding in mode `constant` may remove elements that were added at the other end."""
    crops_first: tuple[str, ...] = ()
    """The modes in which negative padding removes elements before positive padding adds elements."""
    crops_last: tuple[str, ...] = ()
    """The modes, besides `constant`, in which negative padding removes elements after positive padding adds elements.
    """
    limits_negative_padding: bool = False
    """Whether `last_dims` also limits negative padding in mode `constant`."""

    def pads_trailing_dims_only(self, mode: str, ends: Iterable[tuple[int, ...]]) -> bool:
        """Return whether `last_dims` limits the padded dims in a mode.

        `ends` contains the padding at the start and at the end of each axis.
        """
        return mode != CONSTANT or (self.limits_negative_padding and any(min(widths) < 0 for widths in ends))

    def trailing_dim_counts(self, rank: int) -> tuple[int, ...]:
        """Return the numbers of trailing dims that a call can pad."""
        if not self.last_dims:
            return (rank,)
        return self.last_dims[rank] if rank < len(self.last_dims) else ()

    def min_trailing_dims(self, rank: int, first_axis: int) -> int | None:
        """Return the smallest number of padded trailing dims that includes `first_axis`.

        Returns None if no call can pad this axis.

        >>> PAD_SEMANTICS["torch"].min_trailing_dims(4, 3), PAD_SEMANTICS["torch"].min_trailing_dims(4, 0)
        (2, None)
        """
        return next((count for count in self.trailing_dim_counts(rank) if count >= rank - first_axis), None)


PAD_SEMANTICS = DialectTable(
    {
        "onnx": PadSemantics(
            FrozenDict(reflect=1, edge=1, wrap=19), removes_new_positions=True, crops_first=(REFLECT, EDGE, WRAP)
        ),
        "onnxruntime": PadSemantics(
            FrozenDict(reflect=1, edge=1, wrap=19),
            FrozenDict(reflect=-1),
            nonempty=(WRAP,),
            removes_new_positions=True,
            crops_first=(REFLECT, EDGE, WRAP),
        ),
        "numpy jax": PadSemantics(FrozenDict(reflect=1, symmetric=1, edge=1, wrap=1), allows_negative_padding=False),
        "torch": PadSemantics(
            FrozenDict(reflect=1, edge=1, wrap=1),
            FrozenDict(reflect=-1, wrap=0),
            last_dims=((), (), (1,), (1, 2), (2, 3), (3,)),
            nonempty=(REFLECT, EDGE),
            crops_first=(WRAP,),
            crops_last=(REFLECT, EDGE),
        ),
        "paddle": PadSemantics(
            FrozenDict(reflect=1, edge=1, wrap=1),
            FrozenDict(reflect=-1),
            last_dims=((), (), (), (1,), (2,), (3,)),
            crops_last=(REFLECT, EDGE, WRAP),
            limits_negative_padding=True,
            removes_new_positions=True,
        ),
        "tensorflow": PadSemantics(
            FrozenDict(reflect=1, symmetric=1),
            FrozenDict(reflect=-1, symmetric=0),
            max_rank=5,
            nonempty=(REFLECT,),
            allows_negative_padding=False,
        ),
        "tflite": PadSemantics(
            FrozenDict(reflect=1, symmetric=1),
            FrozenDict(reflect=-1, symmetric=0),
            nonempty=(REFLECT,),
            allows_negative_padding=False,
        ),
        "openvino": PadSemantics(FrozenDict(reflect=1, symmetric=1, edge=1), FrozenDict(reflect=-1, symmetric=0)),
    }
)
"""The modes and the limits of pad in each framework.

Source: ONNX Pad, torch.nn.functional.pad, numpy.pad, jax.numpy.pad, tf.pad, TensorFlow Lite MIRROR_PAD, OpenVINO
Pad-12, paddle.nn.functional.pad; limits of ONNX Runtime, PyTorch, TensorFlow, Paddle and OpenVINO measured.
"""


def pad(
    shape: Shape,
    rules: RequestRules,
    padding: tuple[int, ...],
    axes: tuple[int, ...] | None = None,
    mode: str = CONSTANT,
    fill: float | None = None,
) -> Stages:
    """Add elements at the start and at the end of axes.

    Without `axes`, all axes are padded. `padding` contains the number of elements at the start of each axis, followed
    by the number at the end of each axis. Negative numbers remove elements. In mode `constant`, the new elements have
    the value `fill`, by default 0. In other modes, the new elements repeat input elements. Source: ONNX Pad ("x1_begin,
    x2_begin, ..., x1_end, x2_end"; "add or remove (if negative)"), numpy.pad. Raises `ShapeError` (window-values,
    nothing-left, axis-out-of-range, repeated-axis, overflow, mode-unsupported or padding-limit).
    """
    with StageBuilder(StageKind.LENGTHEN, "pad", "padding", shape) as stage:
        semantics = PAD_SEMANTICS.for_dialect(rules.dialect)
        _check_mode(mode, semantics, rules)
        ends = _padding_by_axis(shape, rules, padding, axes)
        crops = mode in semantics.crops_first and any(min(widths) < 0 for widths in ends.values())
        if not crops:
            return _finish_pad(stage, rules, ends, mode, fill)
        added = {axis: (max(begin, 0), max(end, 0)) for axis, (begin, end) in ends.items() if max(begin, end) > 0}
        # in PyTorch, an axis without added elements may become empty; in ONNX, it may not
        must_keep = ends if semantics.removes_new_positions else added
        for axis, widths in ends.items():
            least = (axis in must_keep) - sum(min(end, 0) for end in widths)
            if least:
                message = f"{mode} reads the new positions from what is left of dim {axis}, and that is empty"
                make_error = partial(rule_error, PADDING_LIMIT, message, argument="padding")
                windows.require_min_dim(shape[axis], least, make_error)
    slices = [ends.get(axis, (0, 0)) for axis in range(len(shape))]
    text = ",".join([f"{-min(begin, 0) or ''}:{min(end, 0) or ''}" for begin, end in slices])

    def pad_rest(cropped: Shape) -> Stages:
        with StageBuilder(StageKind.LENGTHEN, "pad", "padding", cropped) as stage:
            return _finish_pad(stage, rules, added, mode, fill)

    return run_stages(shape, partial(slice_, rules=rules, slices=text, must_keep=tuple(must_keep)), pad_rest)


def _padding_by_axis(
    shape: Shape, rules: RequestRules, padding: tuple[int, ...], axes: tuple[int, ...] | None
) -> dict[int, tuple[int, ...]]:
    """Map each padded axis to its padding at the start and at the end.

    Raises `ShapeError` (window-values, axis-out-of-range or repeated-axis).
    """
    if axes and not shape:
        raise scalar_axis_error(axes[0], "axes", 0)
    padded_axes = (
        range(len(shape))
        if axes is None
        else normalize_axis_indices(axes, len(shape), rules, RepeatedAxesPolicy.REFUSED)
    )
    count = len(padded_axes)
    least = -INT64_MAX if PAD_SEMANTICS.for_dialect(rules.dialect).allows_negative_padding else 0
    if axes is None and len(padding) % 2 == 0 and 0 < len(padding) < 2 * count:
        last = ",".join([str(axis) for axis in range(count - len(padding) // 2, count)])
        hint = f"--axes {last} pads the last, all starts first; F.pad(x, {padding}) is code"
        message = f"padding has 1 or {2 * count} numbers here, not {len(padding)}"
        raise ShapeError(Problem(windows.WINDOW_VALUES, message, hint, "padding"))
    padding = windows.numbers_per_axis(padding, [2 * count], "padding", least)
    both_ends = sorted([(axis, padding[index::count]) for index, axis in enumerate(padded_axes)])
    return {axis: both for axis, both in both_ends if any(both)}


def _finish_pad(
    stage: StageBuilder, rules: RequestRules, ends: Mapping[int, tuple[int, ...]], mode: str, fill: float | None
) -> Stages:
    """Finish a stage that pads axes.

    `ends` maps each padded axis to its padding at the start and at the end.
    """
    shape, semantics = stage.before, PAD_SEMANTICS.for_dialect(rules.dialect)
    if semantics.pads_trailing_dims_only(mode, ends.values()):
        _check_padded_dims(shape, ends, mode, semantics, rules)
    max_excess, fill = semantics.max_excess.get(mode), 0 if fill is None else fill
    resolvers = {
        axis: partial(_resolve_padded_dim, rules, axis, max_excess, _pad_facts(shape[axis], widths, mode, fill))
        for axis, widths in ends.items()
    }
    begins, lasts = ([ends.get(axis, (0, 0))[end] for axis in range(len(shape))] for end in (0, 1))
    make_move = partial(Pad, begins=tuple(begins), ends=tuple(lasts), mode=mode, fill=fill)
    return windows.finish_window_stage(stage, resolvers, ends, make_move=make_move)


def _check_mode(mode: str, semantics: PadSemantics, rules: RequestRules) -> None:
    """Raise `ShapeError` (mode-unsupported) if the operator version lacks a mode."""
    since, name = semantics.since.get(mode), f"{rules.dialect.name} {rules.operator.name}"
    if mode == CONSTANT or (since is not None and (rules.version is None or rules.version >= since)):
        return
    message = f"{name} has no mode {mode}, only {', '.join((CONSTANT, *semantics.since))}"
    if since is not None:
        message = (
            f"{rules.operator.name} has the mode {mode} since version {since}, and this is version {rules.version}"
        )
    raise rule_error(MODE_UNSUPPORTED, message, argument="mode")


def _check_padded_dims(
    shape: Shape, ends: Mapping[int, tuple[int, ...]], mode: str, semantics: PadSemantics, rules: RequestRules
) -> None:
    """Raise `ShapeError` if `mode` cannot pad these dims.

    The rule of the error is mode-unsupported or padding-limit.
    """
    rank, first = len(shape), min(ends, default=len(shape) - 1)
    if mode not in (CONSTANT, *semantics.crops_last) and any(number < 0 for both in ends.values() for number in both):
        raise rule_error(
            MODE_UNSUPPORTED, f"{mode} removes no positions: it takes no negative padding", argument="padding"
        )
    if semantics.max_rank is not None and rank > semantics.max_rank:
        message = (
            f"{rules.dialect.name} pads at most {semantics.max_rank} dims in the mode {mode}, and there are {rank}"
        )
        raise rule_error(MODE_UNSUPPORTED, message, argument="mode")
    count = semantics.min_trailing_dims(rank, first)
    if count is None:
        counts = " or ".join(map(str, semantics.trailing_dim_counts(rank)))
        takes = "the last dim" if counts == "1" else f"the last {counts} dims" if counts else "nothing"
        message = f"{rules.dialect.name} pads {takes} of rank {rank} in the mode {mode}"
        raise rule_error(MODE_UNSUPPORTED, message + (f", and dim {first} is padded" if ends else ""), argument="mode")
    has_batch = bool(semantics.last_dims) and rank == count + 2
    empty = next((axis for axis in range(int(has_batch), rank) if shape[axis] == 0), None)
    if mode in semantics.nonempty and empty is not None:
        message = f"dim {empty} is 0, and {rules.dialect.name} pads no empty tensor in the mode {mode}"
        raise rule_error(PADDING_LIMIT, message, argument="input", index=empty)


def _pad_facts(dim: Dim, ends: tuple[int, ...], mode: str, fill: float) -> Mapping[str, Any]:
    begin, end = ends
    return {"dim": dim, "begin": begin, "end": end, "mode": mode, "fill": fill}


def _resolve_padded_dim(
    rules: RequestRules, axis: int, max_excess: int | None, facts: Mapping[str, Any]
) -> ResolvedDim:
    """Return the output dim of a padded axis.

    Raises `ShapeError` (nothing-left or padding-limit).
    """
    dim, begin, end, mode = (facts[name] for name in ("dim", "begin", "end", "mode"))
    semantics = PAD_SEMANTICS.for_dialect(rules.dialect)
    removes_any = mode in semantics.crops_last or (mode == CONSTANT and semantics.removes_new_positions)
    removed = max(0, -begin - end) if removes_any else -min(begin, 0) - min(end, 0)
    largest, least = max(begin, end), removed + (removed > 0 and mode in semantics.nonempty)
    conditions: Conditions = ()

    def make_removal_error() -> ShapeError:
        message = f"dim {axis} is {truncate(str(dim))}, and {removed} are taken away"
        return rule_error(windows.NOTHING_LEFT, message, argument="padding")

    def make_limit_error() -> ShapeError:
        message = f"{mode} reads the new positions from dim {axis}, and it is empty"
        if max_excess is not None and isinstance(dim, int) and dim:
            message = f"{mode} adds at most {dim + max_excess} at each end of dim {axis}, which is {dim}, not {largest}"
        return rule_error(PADDING_LIMIT, message, argument="padding")

    if removed:
        conditions = windows.require_min_dim(dim, least, make_removal_error)
    if mode != CONSTANT and largest > 0:
        limit = 1 if max_excess is None else largest - max_excess
        conditions = windows.require_min_dim(dim, max(limit, least), make_limit_error)
    return LENGTHENED, rules.names.floor_dim((dim, begin, end)), conditions, facts


MODE_PARAM = Param(
    "mode",
    ParamType.CHOICE,
    "the source of the new elements, by default constant; replicate is an alias of edge, and circular of wrap",
    choices=(CONSTANT, REFLECT, SYMMETRIC, EDGE, WRAP),
    spellings=FrozenDict(replicate=EDGE, circular=WRAP),
)


TFLITE_PAD, TFLITE_PAD_WITH_FILL, TFLITE_MIRROR_PAD = map(Operator, ("PAD", "PADV2", "MIRROR_PAD"))


def _select_tflite_operator(arguments: Mapping[str, object]) -> Operator:
    """Select the TensorFlow Lite operator for a pad.

    PAD always fills with 0, PADV2 has a fill value, and MIRROR_PAD has the modes that mirror the input.
    """
    if arguments.get("mode", CONSTANT) in (REFLECT, SYMMETRIC):
        return TFLITE_MIRROR_PAD
    return TFLITE_PAD_WITH_FILL if "fill" in arguments else TFLITE_PAD


def _describe_axes(shape: Shape, arguments: Mapping[str, Any], _: Dialect) -> str:
    """Return a note if a single size pads all axes."""
    padding = arguments["padding"]
    if len(padding) != 1 or "axes" in arguments or len(shape) < 2:
        return ""
    return f"{padding[0]} pads both ends of all {len(shape)} axes; --axes names some"


PAD = Op(
    name="pad",
    summary="Pad axes at their start and end.",
    params=(
        Param(
            "padding",
            ParamType.SIZES,
            "one size for all ends, or all starts and then all ends",
            positional=True,
            required=True,
        ),
        Param("axes", ParamType.AXES, "the axes to pad, by default all", positional_or_named=True),
        MODE_PARAM,
        Param(
            "fill",
            ParamType.NUMBER,
            "the value of the new elements in constant mode, by default 0",
            applies_to=FrozenDict(mode=CONSTANT),
        ),
    ),
    resolve=pad,
    describe_interpretation=_describe_axes,
    operators={
        "onnx": Operator(
            "Pad",
            {1: FLOATS, 2: FLOATS, 11: INTEGERS | FLOATS, 13: SINCE_13, 18: SINCE_13, 19: SINCE_13, **NEWEST_VERSIONS},
            params_since={"axes": 18},
        ),
        "tflite": Operator("PAD", variant_of=_select_tflite_operator),
        **operators_by_dialect(pad="numpy torch tensorflow jax paddle", Pad="openvino"),
    },
    signatures=(
        ("torch", "torch.nn.functional.pad(x, pad: padding, mode='constant', value: fill=None)"),
        ("numpy jax", "np.pad(x, pad_width: padding, mode='constant', constant_values: fill=0)"),
        ("tensorflow", "tf.pad(x, paddings: padding, mode='CONSTANT', constant_values: fill=0)"),
    ),
    examples=(
        "pad 1,3,8,8 0,0,1,1,0,0,1,1",
        "pad N,C,H,W 1,1,1,1 --axes 2,3 --explain",
        "pad 1,3,8,8 2 --axes 2,3 --mode reflect -d torch",
    ),
    vectors=make_test_vectors(
        "padding axes",
        ("2,3", "1,0,0,2", "1,1", "1,1 1", "1,2 -1", "1,2 2", "1,1,1,1 0,0", "-1,0,0,-3", "-3,0,1,0", "0,0,0,0"),
        ("0,3", "1,0,0,0"),
        ("N,3", "1,1,1,1", "-2,0,0,0"),
    ),
    keeps_element_count=False,
    semantics=(PAD_SEMANTICS, AXIS_SEMANTICS),
    rules=(LENGTHENED, MODE_UNSUPPORTED, PADDING_LIMIT),
)
