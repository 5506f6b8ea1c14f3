"""Einsum: labels name axes; labels that the output lacks are summed."""

from __future__ import annotations

from _collections_abc import Sequence
from functools import partial

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.conditions import Conditions, equal, required
from shapecalc.core.dialects.base import FLOATS, NUMBERS, Holds, Operator, Param, Setting, checked_volume
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Combine, Place
from shapecalc.core.ops import operands as joint
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.ops.operands import LABEL_DIFFERS, Operand
from shapecalc.core.problem import Rule, misuse, refusal
from shapecalc.core.record import FrozenDict, replace
from shapecalc.core.text import brief, number_text, rank_text
from shapecalc.core.values import ELLIPSIS, Subscripts, read_subscripts

Label = str | int
"""A letter, or an ellipsis dim's distance from the right."""
Places = list[tuple[Place, Dim]]
"""The axes with one label, as pairs of operand and axis, each with its dim."""

SOURCE = "numpy.einsum, ONNX Einsum, torch.einsum, tf.einsum"

REST_DIFFERS = Rule(
    "rest-differs",
    "what an ellipsis stands for cannot be left out, and in ONNX it is as many dims in all operands",
    "PyTorch, JAX and OpenVINO sum what the output leaves out. ONNX: 'every occurrence of ellipsis in the equation "
    "must represent the same number of dimensions'.",
    "shapecalc einsum ...i->i 2,3",
    SOURCE,
)


def _labelled(_: Step, label: str, given: tuple[tuple[int, Dim], ...]) -> str:
    sizes = dict.fromkeys([size for _, size in given])
    said = f"{label} is {' and '.join([brief(str(size)) for size in sizes])}"
    return said + (": a 1 is repeated" if 1 in sizes and len(sizes) > 1 else "")


LABELLED = StepRule(
    "label",
    "axes with the same label are one axis",
    "The output has its labels in its own order. Without an arrow these are the labels that stand once, in order of "
    "the alphabet, with those of an ellipsis in front. A label that stands twice in one operand is its diagonal.",
    "shapecalc einsum ij,jk->ik 2,3 3,4",
    SOURCE,
    why=_labelled,
)
SUMMED = StepRule(
    "sum-label",
    "a label that the output does not have is summed",
    "Each element of the output is a sum along this axis.",
    "shapecalc einsum ij,ij->i 2,3 2,3",
    SOURCE,
    name="sum",
    why=lambda step, **facts: f"{_labelled(step, **facts)}, and is summed",
)


def einsum(
    shape: Shape,
    _at: Setting,
    pattern: str,
    operands: tuple[Shape | str, ...] = (),
    *,
    repeats: bool = True,
    sums_rest: bool = False,
    one_rest: bool = False,
) -> Reasons:
    """Multiply operands along axes with equal labels, and sum along the others.

    Source: numpy.einsum, ONNX Einsum. PyTorch, JAX and OpenVINO sum ellipsis dims that the output lacks
    (`sums_ellipsis`), and TensorFlow does not broadcast a 1 (run). Raises `ShapeError`: label-differs,
    not-broadcastable, ranks-differ, rest-differs, overflow.
    """
    yield Stage(Kind.PRODUCT, "einsum", "pattern", shape)
    ordered, subscripts = joint.in_order(shape, operands), read_subscripts(pattern)
    if len(ordered) != len(subscripts.terms):
        have = number_text(len(subscripts.terms), "term", "terms")
        raise misuse(f"the pattern has {have}, and there are {len(ordered)} operands", argument="pattern")
    label_axes = dict[Label, Places]()
    for operand, term in zip(ordered, subscripts.terms, strict=True):
        for axis, label in enumerate(_labels(operand, term)):
            label_axes.setdefault(label, []).append(((operand.number, axis), operand.shape[axis]))
    _check_rest(ordered, subscripts, sums_rest=sums_rest, one_rest=one_rest)
    rest = sorted([label for label in label_axes if isinstance(label, int)], reverse=True)
    labels = [label for item in subscripts.output for label in (rest if item == ELLIPSIS else [item])]
    aligned = {label: _agreed(label, axes, repeats=repeats) for label, axes in label_axes.items()}
    for label, aligned_dim in aligned.items():
        if label not in labels:
            yield _step(SUMMED, None, label, aligned_dim)
    for out, label in enumerate(labels):
        aligned_dim = aligned[label]
        yield (
            joint.aligned_step(out, aligned_dim) if isinstance(label, int) else _step(LABELLED, out, label, aligned_dim)
        )
    output = tuple([aligned[label].dim for label in labels])
    checked_volume(output, "operands")
    yield Combine(output, joint.shapes_of(ordered), tuple([aligned[label].places for label in labels]))
    return output


def _labels(each: Operand, term: tuple[str, ...]) -> list[Label]:
    """Return the label of each axis of an operand.

    Raises `ShapeError` (ranks-differ) if their numbers differ.
    """
    rest = len(each.shape) - len(term) + 1
    if ELLIPSIS in term and rest >= 0:
        start = term.index(ELLIPSIS)
        return [*term[:start], *range(rest, 0, -1), *term[start + 1 :]]
    if len(term) != len(each.shape) or ELLIPSIS in term:
        message = f"{''.join(term) or 'no label'} is for an operand of {rank_text(len(each.shape))}"
        argument, index = ("operands", each.number - 1) if each.number else ("input", None)
        raise refusal(joint.RANKS_DIFFER, message, argument=argument, index=index)
    return [*term]


def _check_rest(every: Sequence[Operand], asked: Subscripts, *, sums_rest: bool, one_rest: bool) -> None:
    """Check the dims of ellipses.

    Raises `ShapeError` (rest-differs) for dims that the output lacks, or for different numbers of them.
    """
    pairs = zip(every, asked.terms, strict=True)
    counts = [len(operand.shape) - len(term) + 1 for operand, term in pairs if ELLIPSIS in term]
    if ELLIPSIS not in asked.output and any(counts) and not sums_rest:
        message = f"... stands for {number_text(max(counts), 'dim', 'dims')}, and the output has no ..."
        raise refusal(REST_DIFFERS, message, argument="pattern")
    if one_rest and len({*counts}) > 1:
        message = f"... stands for {' and '.join(map(str, dict.fromkeys(counts)))} dims"
        raise refusal(REST_DIFFERS, message, argument="pattern")


def _agreed(label: Label, found: Places, *, repeats: bool) -> joint.Agreed:
    """Return the aligned dim of a label.

    Raises `ShapeError` (label-differs, not-broadcastable) if its axes differ.
    """
    if isinstance(label, int):
        return joint.broadcast(found, f"dims {-label} of ...:")
    groups = dict[int, Places]()
    for operand_axis, dim in found:
        groups.setdefault(operand_axis[0] if repeats else 0, []).append((operand_axis, dim))
    conditions: Conditions = ()
    for (_, first), *others in groups.values():
        for (number, _), dim in others:
            message = f"{label} is {brief(str(first))} and {brief(str(dim))}, which are not equal"
            index = number - 1 if number else None
            conditions += required(equal, first, dim, refusal(LABEL_DIFFERS, message, argument="operands", index=index))
    operand_dims = [(group[0][0], joint.number_among([dim for _, dim in group])) for group in groups.values()]
    aligned = joint.broadcast(operand_dims, f"{label}:", LABEL_DIFFERS)
    axes = tuple(
        [operand_axis for group in groups.values() if group[0][0] in aligned.places for operand_axis, _ in group]
    )
    given = tuple([(operand_axis[0], dim) for operand_axis, dim in found])
    return replace(aligned, places=axes, conditions=conditions + aligned.conditions, given=given)


def _step(rule: StepRule, out: int | None, label: Label, one: joint.Agreed) -> Step:
    facts = FrozenDict(label=ELLIPSIS if isinstance(label, int) else label, given=one.given)
    return Step(rule, out, joint.of_input(one.places), one.dim, one.conditions, facts, one.alternatives)


PATTERN_HELP = "labels of the axes of each operand, and of the output: ij,jk->ik"
EINSUM = Op(
    name="einsum",
    summary="Multiply and sum along axes that labels name.",
    params=(Param("pattern", Holds.SUBSCRIPTS, PATTERN_HELP, positional=True, required=True), joint.MORE_OPERANDS),
    steps=einsum,
    operators={
        "onnx": Operator("Einsum", {12: NUMBERS, 28: NUMBERS | {"bfloat16"}}, steps=partial(einsum, one_rest=True)),
        "onnxruntime": Operator("Einsum", {12: FLOATS | {"int32", "int64"}}, steps=partial(einsum, one_rest=True)),
        "torch": Operator("einsum", steps=partial(einsum, sums_rest=True)),
        "tensorflow": Operator("einsum", steps=partial(einsum, repeats=False)),
        "jax": Operator("einsum", steps=partial(einsum, sums_rest=True)),
        "openvino": Operator("Einsum", steps=partial(einsum, sums_rest=True)),
        **called(einsum="numpy paddle", Einsum="tensorrt"),
    },
    examples=("einsum ij,jk->ik 2,3 3,4", "einsum bthd,bshd->bhts B,T,8,64 B,S,8,64 --explain", "einsum ii 3,3"),
    vectors=vectors(
        "pattern operands",
        ("2,3", "ij,jk->ik 3,4", "ij,jk 4,5", "ij,jk->ik 1,4", "...j,j->... 3", "ij->ji", "...j->j", "ijk", "ij"),
        ("3,3", "ii", "ii->i"),
        ("1,3", "ii->i"),
        ("[]", ",i 3"),
        ("N,K", "ij,jk->ik M,4", "ij,jk->ki 768,4"),
        ("4,2,3", "...i,...i->...i 2,3"),
    ),
    keeps_count=False,
    rules=(LABELLED, SUMMED, LABEL_DIFFERS, REST_DIFFERS),
)
