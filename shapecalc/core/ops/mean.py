"""Mean: reduce axes to their mean, sum, maximum or minimum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import count

from shapecalc.core.answers import EMPTY_DICT, ResolvedDim, StageBuilder, StageKind, Stages, Step, StepRule, make_step
from shapecalc.core.conditions import Conditions, require_at_least, require_relation
from shapecalc.core.dialects.base import (
    ARITHMETIC_TYPES,
    COMPLEX,
    FLOAT8,
    INTEGERS,
    Operator,
    Param,
    ParamType,
    RequestRules,
)
from shapecalc.core.dims import Axes, Dim, Shape
from shapecalc.core.moves import Combine, OperandAxis
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy, normalize_axis_indices
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import KEPT_DIM, MISSING_ARGUMENT
from shapecalc.core.text import truncate

KINDS = ("mean", "sum", "max", "min")
SOURCE = "ONNX ReduceMean, numpy.mean, torch.mean, torch.amax, tf.reduce_mean, OpenVINO ReduceMean"

REDUCED = StepRule(
    "reduce-axis",
    "the elements along an axis are reduced to their mean, sum, maximum or minimum",
    "The axis is dropped, or kept as a dim of 1 with --keepdims. ONNX keeps it by default. Without axes, all axes are "
    "reduced.",
    "shapecalc mean 2,3,4 1",
    SOURCE,
    name="reduce",
    why=lambda step, kind, size: f"dim {step.sources[0]} becomes the {kind} of its {truncate(str(size))} positions",
)
EMPTY_REDUCTION = Rule(
    "empty-reduction",
    "an empty axis has no maximum and no minimum",
    "PyTorch, NumPy and JAX refuse max and min along an axis of size 0. The sum of no elements is 0, and the mean is "
    "not a number. ONNX returns an infinity.",
    "shapecalc max 0,3 0",
    "numpy.max: 'zero-size array to reduction operation maximum which has no identity'; torch.amax, measured",
)


def mean(
    shape: Shape, rules: RequestRules, axes: Axes | None = None, *, keepdims: bool | None = None, kind: str = "mean"
) -> Stages:
    """Reduce axes to their mean, sum, maximum or minimum.

    Without `axes`, all axes are reduced. If `keepdims` is True, the reduced axes remain as dims of 1. Source: ONNX
    ReduceMean ("if keepdims equals 1, the reduced dimension is kept"; "reduce over all dimensions"), numpy.mean,
    torch.mean. Raises `ShapeError` (axis-out-of-range, negative-axis, repeated-axis or empty-reduction).
    """
    with StageBuilder(StageKind.REDUCE, kind, "axes", shape) as stage:
        semantics = REDUCE_SEMANTICS.for_dialect(rules.dialect)
        reduces_all = axes is None or (not axes and semantics.empty_axes_are_all)
        named = {} if reduces_all else normalize_axis_indices(axes or (), len(shape), rules, semantics.repeats)
        reduced = range(len(shape)) if reduces_all else [axis for axis in sorted(named) if axis < len(shape)]
        keeps = semantics.keeps_dims if keepdims is None else keepdims
        resolved = list[ResolvedDim]()
        stage.explain = lambda _: _reduction_steps(resolved, keeps=keeps)
        output, sources = list[Dim](), list[tuple[OperandAxis, ...]]()
        for axis, dim in enumerate(shape):
            is_reduced = axis in reduced
            if is_reduced:
                conditions = _require_elements(dim, axis, kind) if semantics.refuses_empty else ()
                resolved.append((REDUCED, 1 if keeps else dim, conditions, {"kind": kind, "size": dim}))
            else:
                resolved.append((KEPT_DIM, dim, (), EMPTY_DICT))
            if keeps or not is_reduced:
                output.append(resolved[axis][1])
                sources.append(() if is_reduced else ((0, axis),))
        return stage.finish(Combine(tuple(output), (shape,), tuple(sources)))


def _reduction_steps(resolved: Iterable[ResolvedDim], *, keeps: bool) -> tuple[Step, ...]:
    """Return the steps of the input axes.

    `keeps` specifies whether the reduced axes remain as dims of 1.
    """
    output_axes = count()
    return tuple(
        [
            make_step(next(output_axes) if keeps or dim[0] is KEPT_DIM else None, (axis,), dim)
            for axis, dim in enumerate(resolved)
        ]
    )


def _require_elements(dim: Dim, axis: int, kind: str) -> Conditions:
    """Return the conditions under which the maximum or minimum of an axis exists.

    Raises `ShapeError` (empty-reduction) if the axis is empty.
    """
    if kind not in ("max", "min"):
        return ()
    return require_relation(
        require_at_least,
        dim,
        1,
        lambda: rule_error(EMPTY_REDUCTION, f"dim {axis} is 0, and {kind} needs an element", argument="axes"),
    )


class ReduceSemantics(Record):
    """The defaults and the limits of reductions in a dialect."""

    keeps_dims: bool = False
    """Whether the reduced axes remain as dims of 1 by default."""
    empty_axes_are_all: bool = False
    """Whether an empty list of axes reduces all axes.

    Otherwise, it reduces no axes.
    """
    repeats: RepeatedAxesPolicy = RepeatedAxesPolicy.REFUSED
    refuses_empty: bool = False
    """Whether max and min along an axis of size 0 are refused."""


REDUCE_SEMANTICS = DialectTable(
    {
        "onnx": ReduceSemantics(keeps_dims=True, empty_axes_are_all=True),
        "onnxruntime": ReduceSemantics(keeps_dims=True, empty_axes_are_all=True, repeats=RepeatedAxesPolicy.DROPPED),
        "torch": ReduceSemantics(empty_axes_are_all=True, refuses_empty=True),
        "numpy jax": ReduceSemantics(refuses_empty=True),
        "tensorflow openvino": ReduceSemantics(),
    }
)
"""The defaults and the limits of reductions.

Source: ONNX ReduceMean, ReduceSum, ReduceMax and ReduceMin, numpy.mean, torch.mean, torch.amax, jax.numpy.mean,
tf.reduce_mean, OpenVINO ReduceMean; ONNX Runtime, PyTorch, NumPy and JAX measured.
"""
SINCE_13_TYPES = ARITHMETIC_TYPES | {"bfloat16"}
EXTREME_TYPES = ARITHMETIC_TYPES | {"int8", "uint8"}
SINCE_1 = {1: ARITHMETIC_TYPES, 11: ARITHMETIC_TYPES}
SINCE_12 = {12: EXTREME_TYPES, 13: EXTREME_TYPES | {"bfloat16"}, 18: EXTREME_TYPES | {"bfloat16"}}
EXTREME_VERSIONS = {**SINCE_1, **SINCE_12, 20: EXTREME_TYPES | {"bfloat16", "bool"}}
ONNX_VERSIONS: Mapping[str, Mapping[int, frozenset[str]]] = {
    "mean": {**SINCE_1, 13: SINCE_13_TYPES, 18: SINCE_13_TYPES},
    "sum": {**SINCE_1, 13: SINCE_13_TYPES},
    "max": EXTREME_VERSIONS,
    "min": EXTREME_VERSIONS,
}
"""The element types of the ONNX reductions for each kind and version."""

_TORCH_FLOAT8 = FLOAT8 | {"float8_e8m0fnu"}
TORCH_MISSING_TYPES = FrozenDict(
    mean=_TORCH_FLOAT8 | INTEGERS | {"bool"},
    sum=_TORCH_FLOAT8,
    **dict.fromkeys(("max", "min"), _TORCH_FLOAT8 | COMPLEX | {"uint16", "uint32", "uint64"}),
)
"""The element types that each kind of reduction refuses in PyTorch. Source: PyTorch 2.13.0, measured."""


def _make_reduction_operator(
    template: str,
    versions: Mapping[str, Mapping[int, frozenset[str]]] | None = None,
    required_since: Mapping[str, int] = EMPTY_DICT,
    missing_types: Mapping[str, frozenset[str]] = EMPTY_DICT,
    **names: str,
) -> Operator:
    """Return an operator with a variant for each kind of reduction.

    The kind replaces the placeholder `{kind}` or `{Kind}` in `template`. `names` overrides the names of some kinds.
    """

    @cache
    def make_variant(kind: str) -> Operator:
        name = names.get(kind) or template.format(kind=kind, Kind=kind.capitalize())
        types, missing = versions[kind] if versions else {}, missing_types.get(kind, frozenset())
        return Operator(name, types, missing_types=missing, required_since=required_since)

    return replace(make_variant("mean"), variant_of=lambda arguments: make_variant(str(arguments.get("kind", "mean"))))


MEAN = Op(
    name="mean",
    summary="Reduce axes to their mean, sum, maximum or minimum.",
    params=(
        Param("axes", ParamType.AXES, "the axes to reduce, by default all", positional_or_named=True),
        Param("keepdims", ParamType.FLAG, "keep the reduced axes as dims of 1; the default in ONNX"),
        Param("kind", ParamType.CHOICE, "the reduction, by default the mean", choices=KINDS),
    ),
    resolve=mean,
    operators={
        "onnx": _make_reduction_operator("Reduce{Kind}", ONNX_VERSIONS),
        "torch": _make_reduction_operator("{kind}", missing_types=TORCH_MISSING_TYPES, max="amax", min="amin"),
        "tensorflow": _make_reduction_operator("reduce_{kind}"),
        "openvino": _make_reduction_operator("Reduce{Kind}", required_since=FrozenDict(axes=1)),
        **dict.fromkeys(("numpy", "jax"), _make_reduction_operator("{kind}")),
    },
    signatures=(
        ("torch", "x.mean(dim: axes=None, keepdim: keepdims=False)"),
        ("torch", "x.sum(dim: axes=None, keepdim: keepdims=False)", {"kind": "sum"}),
        ("torch", "x.amax/max(dim: axes=None, keepdim: keepdims=False)", {"kind": "max"}),
        ("torch", "x.amin/min(dim: axes=None, keepdim: keepdims=False)", {"kind": "min"}),
        ("numpy jax", "np.mean(x, axis: axes=None)"),
        ("numpy jax", "np.sum(x, axis: axes=None)", {"kind": "sum"}),
        ("numpy jax", "np.max/amax(x, axis: axes=None)", {"kind": "max"}),
        ("numpy jax", "np.min/amin(x, axis: axes=None)", {"kind": "min"}),
        ("tensorflow", "tf.reduce_mean(x, axis: axes=None, keepdims=False)"),
        ("tensorflow", "tf.reduce_sum(x, axis: axes=None, keepdims=False)", {"kind": "sum"}),
        ("tensorflow", "tf.reduce_max(x, axis: axes=None, keepdims=False)", {"kind": "max"}),
        ("tensorflow", "tf.reduce_min(x, axis: axes=None, keepdims=False)", {"kind": "min"}),
    ),
    examples=("mean 2,3,4 1", "mean N,C,H,W 2,3 --keepdims --explain", "mean N,C,H,W -1 --kind max -d onnx"),
    vectors=make_test_vectors(
        "axes keepdims kind",
        ("2,3,4", "1", "-1 1", "0,2 0 sum", "[] 1 max", "_ 1", "3", "0,0", "-4 _ min"),
        ("0,3", "0", "0 1 max", "1 _ min"),
        ("[]", "", "0"),
        ("N,C,H,W", "2,3", "0 _ max"),
    ),
    default_dialect="torch",
    keeps_element_count=False,
    semantics=(REDUCE_SEMANTICS, AXIS_SEMANTICS),
    rules=(REDUCED, EMPTY_REDUCTION),
    fix_candidates={MISSING_ARGUMENT: lambda shape, _: iter([("axes", tuple(range(len(shape))))])},
)
