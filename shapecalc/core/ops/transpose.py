"""Transpose: output dim i is input dim `perm[i]`."""

from __future__ import annotations

from shapecalc.core.answers import Stage, StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.dialects.base import (
    NEWEST_VERSIONS,
    SINCE_13,
    UP_TO_12,
    Operator,
    Param,
    ParamType,
    RequestRules,
)
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.moves import Permute
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.problem import rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import MISSING_ARGUMENT, NEGATIVE_AXIS, NOT_A_PERMUTATION
from shapecalc.core.text import format_count, missing_axis_text


class PermSource(Choice):
    """The source of a permutation: an argument or one of the defaults."""

    GIVEN = "the axes move, and the elements with them"
    REVERSED = "no permutation is given: the axes reverse"
    KEPT = "no permutation is given: the axes stay"


TAKEN_AXIS = StepRule(
    "permute",
    "output dim i is input dim perm[i]",
    "The permutation lists the source of each output dim, not its destination. The difference is visible only in a "
    "permutation that is not its own inverse, such as 1,2,0.",
    "shapecalc transpose 2,3,4 1,2,0",
    "ONNX Transpose: 'when perm=(1, 0, 2), given an input tensor of shape (1, 2, 3), the output shape will be "
    "(2, 1, 3)'",
    name="take axis",
    why="dim {step.out} is input dim {step.sources[0]}, of size {step.value}",
)


MOVED_AXES = StepRule(
    "move-axes",
    "a transpose moves the axes together with the elements",
    "Without a permutation, most dialects reverse the order of the dims. TensorRT's Shuffle keeps the order, and "
    "oneDNN requires a permutation.",
    "shapecalc transpose 2,3,4",
    "ONNX Transpose: 'by default, reverse the dimensions'",
    why="{order.value}",
)


def transpose(
    shape: Shape, rules: RequestRules, perm: Axes | None = None, label: str = "transpose", argument: str = "perm"
) -> Stages:
    """Permute axes: output dim i is input dim `perm[i]`.

    Without a permutation, most dialects reverse the dims. Source: ONNX Transpose ("by default, reverse the dimensions,
    otherwise permute the axes according to the values given"). Raises `ShapeError` (not-a-permutation, negative-axis or
    missing-argument).
    """
    with StageBuilder(StageKind.PERMUTE, label, argument, shape, perm or ()) as stage:
        axes, order = resolve_permutation(perm, len(shape), rules, argument)
        stage.explain = lambda finished: _permutation_steps(finished, order)
        return stage.finish(Permute(axes))


def _permutation_steps(stage: Stage, order: PermSource) -> tuple[Step, ...]:
    shape, output = stage.before, stage.after or ()
    axes = stage.move.axes if isinstance(stage.move, Permute) else ()
    steps = [Step(TAKEN_AXIS, out, (axis,), shape[axis]) for out, axis in enumerate(axes)]
    return (*steps, Step(MOVED_AXES, None, axes, output, (), FrozenDict(order=order)))


def resolve_permutation(
    perm: Axes | None, rank: int, rules: RequestRules, argument: str = "perm"
) -> tuple[Axes, PermSource]:
    """Return the permutation of a request and its source.

    If the request omits the permutation, the default is returned. The axes are nonnegative. Raises `ShapeError`
    (missing-argument or an error of `normalize_permutation`).
    """
    if perm is None:
        default = TRANSPOSE_SEMANTICS.for_dialect(rules.dialect).no_perm
        if default is DefaultPerm.REFUSED:
            raise rule_error(MISSING_ARGUMENT, f"{rules.operator.name} requires a permutation", argument=argument)
        if default is DefaultPerm.KEEPS:
            return tuple(range(rank)), PermSource.KEPT
    elif perm or not TRANSPOSE_SEMANTICS.for_dialect(rules.dialect).empty_perm_reverses:
        return normalize_permutation(perm, rank, rules, argument), PermSource.GIVEN
    return tuple(range(rank - 1, -1, -1)), PermSource.REVERSED


def normalize_permutation(perm: Axes, rank: int, rules: RequestRules, argument: str) -> Axes:
    """Return `perm` with nonnegative axes.

    Raises `ShapeError` (negative-axis) for an unsupported negative axis. Raises `ShapeError` (not-a-permutation) unless
    `perm` is a permutation of `rank` axes.
    """
    if sorted(perm) == [*range(rank)]:
        return perm
    if len(perm) != rank:
        message = f"{format_count(len(perm), 'axis is', 'axes are')} named, and the tensor has {rank}"
        raise rule_error(NOT_A_PERMUTATION, message, argument=argument)
    axes: dict[int, None] = {}
    for index, axis in enumerate(perm):
        if axis < 0 and not TRANSPOSE_SEMANTICS.for_dialect(rules.dialect).negative_perm:
            message = f"{rules.dialect.name} counts the axes of a permutation from 0, and this is {axis}"
            raise rule_error(NEGATIVE_AXIS, message, argument=argument, index=index)
        if not -rank <= axis < rank:
            raise rule_error(NOT_A_PERMUTATION, missing_axis_text(axis, rank), argument=argument, index=index)
        if axis % rank in axes:
            raise rule_error(NOT_A_PERMUTATION, f"axis {axis} is named twice", argument=argument, index=index)
        axes[axis % rank] = None
    return tuple(axes)


class DefaultPerm(Choice):
    """The default permutation of transpose."""

    REVERSES = "reverses the dims"
    KEEPS = "keeps the dims as they are"
    REFUSED = "refused"


class TransposeSemantics(Record):
    """The permutations that transpose accepts in a dialect."""

    no_perm: DefaultPerm = DefaultPerm.REVERSES
    empty_perm_reverses: bool = False
    """Whether an empty permutation reverses the dims."""
    negative_perm: bool = False
    """Whether a permutation may contain negative axes."""


TRANSPOSE_SEMANTICS = DialectTable(
    {
        "onnx": TransposeSemantics(),
        "numpy torch tensorflow jax": TransposeSemantics(negative_perm=True),
        "openvino mxnet": TransposeSemantics(empty_perm_reverses=True),
        "tensorrt": TransposeSemantics(DefaultPerm.KEEPS),
        "onednn paddle tflite coreml": TransposeSemantics(DefaultPerm.REFUSED, negative_perm=True),
    }
)
PERM_HELP = "entry i is the input axis of output dim i"

TRANSPOSE = Op(
    name="transpose",
    rules=(TAKEN_AXIS, MOVED_AXES),
    summary="Permute the axes.",
    params=(Param("perm", ParamType.PERM, f"{PERM_HELP}; by default the dims are reversed", positional=True),),
    resolve=transpose,
    operators={"onnx": Operator("Transpose", {1: UP_TO_12, 13: SINCE_13} | NEWEST_VERSIONS)},
    signatures=(
        ("torch", "x.permute(*dims: perm)"),
        ("torch", "x.t()"),
        ("tensorflow", "tf.transpose(x, perm=None)"),
        ("numpy jax", "x.transpose(*axes: perm=None)"),
        ("numpy jax", "np.permute_dims(x, axes: perm=None)"),
        ("paddle", "paddle.transpose(x, [perm])"),
        ("openvino", "ops.transpose(x, [perm]: perm=None)"),
        ("tensorflow", "keras.backend.permute_dimensions(x, pattern: perm)"),
        ("tensorflow", "keras.layers.Permute(dims: perm)"),
    ),
    printed_names="transpose transpose2 statictranspose permute",
    examples=("transpose 2,3,4 1,2,0", "transpose N,H,W,C N,C,H,W --json", "transpose 2,3,4 -1,0,1 -d torch"),
    vectors=make_test_vectors(
        "perm",
        ("2,3,4", "1,2,0", "0,1,2", "", "[]", "-1,0,1", "1,0,1", "0,1,3", "1,0"),
        ("0,3", "1,0"),
        ("[]", "[]"),
        ("N,H,W,C", "0,3,1,2"),
    ),
    semantics=(TRANSPOSE_SEMANTICS,),
)
