"""Einsum: multiply operands along labelled axes, and sum over labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions, require_equal, require_relation
from shapecalc.core.dialects.base import FLOATS, NUMBERS, Operator, Param, ParamType, RequestRules, compute_volume
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Combine, OperandAxis
from shapecalc.core.ops import operands as joint
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.operands import LABEL_DIFFERS, Operand
from shapecalc.core.problem import Rule, ShapeError, rule_error, usage_error
from shapecalc.core.record import replace
from shapecalc.core.text import format_count, rank_text, truncate
from shapecalc.core.values import ELLIPSIS, Subscripts, parse_subscripts

Label = str | int
"""The letter of an axis, or the number of an ellipsis dim, counted from the right."""
LabelAxes = list[tuple[OperandAxis, Dim]]
"""The operand axes with the same label, each with its dim."""

SOURCE = "numpy.einsum, ONNX Einsum, torch.einsum, tf.einsum"

REST_DIFFERS = Rule(
    "rest-differs",
    "the output omits the dims of an ellipsis, or two ellipses in ONNX have different numbers of dims",
    "PyTorch, JAX and OpenVINO sum over the dims of an ellipsis that the output omits. The ONNX document requires: "
    "'every occurrence of ellipsis in the equation must represent the same number of dimensions'.",
    "shapecalc einsum ...i->i 2,3",
    SOURCE,
)


def _explain_label(_: Step, label: str, operand_dims: tuple[tuple[int, Dim], ...]) -> str:
    """Format the sizes of all axes with this label.

    `operand_dims` contains pairs of an operand number and a dim.
    """
    sizes = dict.fromkeys([size for _, size in operand_dims])
    said = f"{label} is {' and '.join([truncate(str(size)) for size in sizes])}"
    return said + (": a 1 is repeated" if 1 in sizes and len(sizes) > 1 else "")


LABELLED = StepRule(
    "label",
    "axes with the same label are treated as one axis",
    "The labels after the arrow determine the order of the output axes. Without an arrow, the output has the dims of "
    "the ellipsis, followed by the labels that occur exactly once, in alphabetical order. A label that occurs twice in "
    "one operand selects its diagonal.",
    "shapecalc einsum ij,jk->ik 2,3 3,4",
    SOURCE,
    why=_explain_label,
)
SUMMED = StepRule(
    "sum-label",
    "a label that is not in the output is summed over",
    "Each element of the output is a sum along this axis.",
    "shapecalc einsum ij,ij->i 2,3 2,3",
    SOURCE,
    name="sum",
    why=lambda step, **facts: f"{_explain_label(step, **facts)}, and is summed",
)


def einsum(
    shape: Shape,
    _rules: RequestRules,
    pattern: str,
    operands: tuple[Shape | str, ...] = (),
    *,
    broadcasts_ones: bool = True,
    sums_ellipsis: bool = False,
    needs_equal_ellipses: bool = False,
) -> Stages:
    """Multiply operands along equal labels, and sum over labels not in the output.

    Source: numpy.einsum and ONNX Einsum. In ONNX, all ellipses match the same number of dims (`needs_equal_ellipses`).
    PyTorch, JAX and OpenVINO sum over an ellipsis that is not in the output (`sums_ellipsis`). TensorFlow does not
    broadcast dims of 1 (`broadcasts_ones`, measured). Raises `ShapeError` (label-differs, not-broadcastable,
    ranks-differ, rest-differs or overflow).
    """
    with StageBuilder(StageKind.PRODUCT, "einsum", "pattern", shape) as stage:
        ordered, subscripts = joint.number_operands(shape, operands), parse_subscripts(pattern)
        if len(ordered) != len(subscripts.terms):
            have = format_count(len(subscripts.terms), "term", "terms")
            raise usage_error(f"the pattern has {have}, and there are {len(ordered)} operands", argument="pattern")
        label_axes = dict[Label, LabelAxes]()
        for operand, term in zip(ordered, subscripts.terms, strict=True):
            for axis, label in enumerate(_axis_labels(operand, term)):
                label_axes.setdefault(label, []).append(((operand.number, axis), operand.shape[axis]))
        _check_ellipses(ordered, subscripts, sums_ellipsis=sums_ellipsis, needs_equal_ellipses=needs_equal_ellipses)
        rest = sorted([label for label in label_axes if isinstance(label, int)], reverse=True)
        labels = [label for item in subscripts.output for label in (rest if item == ELLIPSIS else [item])]
        aligned = {
            label: _align_label(label, axes, broadcasts_ones=broadcasts_ones) for label, axes in label_axes.items()
        }
        stage.explain = lambda _: (
            *[
                joint.alignment_step(None, dim, SUMMED, label=ELLIPSIS if isinstance(label, int) else label)
                for label, dim in aligned.items()
                if label not in labels
            ],
            *[
                joint.alignment_step(out, aligned[label])
                if isinstance(label, int)
                else joint.alignment_step(out, aligned[label], LABELLED, label=label)
                for out, label in enumerate(labels)
            ],
        )
        output = tuple([aligned[label].dim for label in labels])
        compute_volume(output, "operands")
        return stage.finish(
            Combine(output, joint.operand_shapes(ordered), tuple([aligned[label].operand_axes for label in labels]))
        )


def _axis_labels(operand: Operand, term: tuple[str, ...]) -> list[Label]:
    """Return the label of each axis of an operand.

    Raises `ShapeError` (ranks-differ) if the number of labels does not match the rank.
    """
    rest = len(operand.shape) - len(term) + 1
    if ELLIPSIS in term and rest >= 0:
        start = term.index(ELLIPSIS)
        return [*term[:start], *range(rest, 0, -1), *term[start + 1 :]]
    if len(term) != len(operand.shape) or ELLIPSIS in term:
        message = f"{''.join(term) or 'no label'} is for an operand of {rank_text(len(operand.shape))}"
        argument, index = ("operands", operand.number - 1) if operand.number else ("input", None)
        raise rule_error(joint.RANKS_DIFFER, message, argument=argument, index=index)
    return [*term]


def _check_ellipses(
    operands: Sequence[Operand], subscripts: Subscripts, *, sums_ellipsis: bool, needs_equal_ellipses: bool
) -> None:
    """Raise `ShapeError` (rest-differs) if the ellipses are incompatible.

    Ellipses are incompatible if their numbers of dims differ but must be equal, or if the output omits them and the
    framework does not sum over ellipses.
    """
    pairs = zip(operands, subscripts.terms, strict=True)
    counts = [len(operand.shape) - len(term) + 1 for operand, term in pairs if ELLIPSIS in term]
    if ELLIPSIS not in subscripts.output and any(counts) and not sums_ellipsis:
        message = f"... stands for {format_count(max(counts), 'dim', 'dims')}, and the output has no ..."
        raise rule_error(REST_DIFFERS, message, argument="pattern")
    if needs_equal_ellipses and len({*counts}) > 1:
        message = f"... stands for {' and '.join(map(str, dict.fromkeys(counts)))} dims"
        raise rule_error(REST_DIFFERS, message, argument="pattern")


def _align_label(label: Label, label_axes: LabelAxes, *, broadcasts_ones: bool) -> joint.AlignedDim:
    """Return the dim to which all axes with this label broadcast.

    Raises `ShapeError` (label-differs or not-broadcastable) if the dims are incompatible.
    """
    if isinstance(label, int):
        return joint.align_dims(label_axes, "dims {} of ...:", -label)
    groups = dict[int, LabelAxes]()
    for operand_axis, dim in label_axes:
        groups.setdefault(operand_axis[0] if broadcasts_ones else 0, []).append((operand_axis, dim))

    def make_error(first: Dim, number: int, dim: Dim) -> ShapeError:
        message = f"{label} is {truncate(str(first))} and {truncate(str(dim))}, which are not equal"
        return rule_error(LABEL_DIFFERS, message, argument="operands", index=number - 1 if number else None)

    conditions: Conditions = ()
    for (_, first), *others in groups.values():
        for (number, _), dim in others:
            conditions += require_relation(require_equal, first, dim, partial(make_error, first, number, dim))
    operand_dims = [(group[0][0], joint.prefer_known_dim([dim for _, dim in group])) for group in groups.values()]
    aligned = joint.align_dims(operand_dims, "{}:", label, LABEL_DIFFERS)
    axes = tuple(
        [operand_axis for group in groups.values() if group[0][0] in aligned.operand_axes for operand_axis, _ in group]
    )
    return replace(aligned, operand_axes=axes, conditions=conditions + aligned.conditions, dims=label_axes)


PATTERN_HELP = "the labels of the axes of the operands and of the output: ij,jk->ik"
EINSUM = Op(
    name="einsum",
    summary="Multiply and sum along labelled axes.",
    params=(
        Param("pattern", ParamType.SUBSCRIPTS, PATTERN_HELP, positional=True, required=True),
        joint.OPTIONAL_OPERANDS,
    ),
    resolve=einsum,
    operators={
        "onnx": Operator(
            "Einsum", {12: NUMBERS, 28: NUMBERS | {"bfloat16"}}, resolve=partial(einsum, needs_equal_ellipses=True)
        ),
        "onnxruntime": Operator(
            "Einsum", {12: FLOATS | {"int32", "int64"}}, resolve=partial(einsum, needs_equal_ellipses=True)
        ),
        "torch": Operator("einsum", resolve=partial(einsum, sums_ellipsis=True)),
        "tensorflow": Operator("einsum", resolve=partial(einsum, broadcasts_ones=False)),
        "jax": Operator("einsum", resolve=partial(einsum, sums_ellipsis=True)),
        "openvino": Operator("Einsum", resolve=partial(einsum, sums_ellipsis=True)),
        **operators_by_dialect(einsum="numpy paddle", Einsum="tensorrt"),
    },
    signatures=(
        ("torch", "torch.einsum(equation: pattern, *operands)"),
        ("numpy jax", "np.einsum(subscripts: pattern, *operands)"),
        ("tensorflow", "tf.einsum(equation: pattern, *operands)"),
        ("paddle", "paddle.einsum(equation: pattern, *operands)"),
        ("openvino", "ops.einsum([inputs]: operands, equation: pattern)"),
    ),
    noun="an einsum",
    examples=("einsum ij,jk->ik 2,3 3,4", "einsum bthd,bshd->bhts B,T,8,64 B,S,8,64 --explain", "einsum ii 3,3"),
    vectors=make_test_vectors(
        "pattern operands",
        ("2,3", "ij,jk->ik 3,4", "ij,jk 4,5", "ij,jk->ik 1,4", "...j,j->... 3", "ij->ji", "...j->j", "ijk", "ij"),
        ("3,3", "ii", "ii->i"),
        ("1,3", "ii->i"),
        ("[]", ",i 3"),
        ("N,K", "ij,jk->ik M,4", "ij,jk->ki 768,4"),
        ("4,2,3", "...i,...i->...i 2,3"),
    ),
    keeps_element_count=False,
    rules=(LABELLED, SUMMED, LABEL_DIFFERS, REST_DIFFERS),
)
