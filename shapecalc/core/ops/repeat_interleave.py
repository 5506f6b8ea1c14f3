"""Repeat interleave: repeat each element along an axis."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule, run_stages
from shapecalc.core.conditions import Conditions, require_equal, require_relation
from shapecalc.core.dialects.base import (
    Operator,
    Param,
    ParamType,
    RequestRules,
    check_rank,
    check_sizes,
    compute_volume,
    explain_changed_axis,
)
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.limits import MAX_REPEATED
from shapecalc.core.moves import Take
from shapecalc.core.ops.axes import flatten_axes, normalize_nonscalar_axis
from shapecalc.core.ops.op import Arguments, FixCandidates, Op, make_test_vectors
from shapecalc.core.ops.tile import TileFactor, build_repeat_stages
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.record import FrozenDict
from shapecalc.core.rules import OVERFLOW
from shapecalc.core.text import format_count, shape_text, truncate

SOURCE = "torch.repeat_interleave, numpy.repeat, jax.numpy.repeat"

REPEATED_POSITIONS = StepRule(
    "repeat-positions",
    "a list contains the number of repeats for each index of an axis",
    "The list has one entry for each index. The size of the output axis is the sum of the entries. An entry of 0 "
    "drops the elements at its index.",
    "shapecalc repeat_interleave 2,3 1,0,2 1",
    SOURCE,
    why=lambda step, text: f"the positions of dim {step.out} are repeated {text} times: {step.value} in all",
)
UNPAIRED_REPEATS = Rule(
    "unpaired-repeats",
    "the repeats do not fit the axis",
    "A single repeat applies to all indices of the axis; a list has one repeat for each index. Each repeat is a "
    "non-negative integer. A single repeat may also be a named size. Without an axis, the tensor is flattened first.",
    "shapecalc repeat_interleave 2,3 1,2 1",
    "torch.repeat_interleave: 'repeats must have the same size as input along dim'; numpy.repeat: 'repeats is "
    "broadcasted to fit the shape of the given axis'",
)


def repeat_interleave(
    shape: Shape, rules: RequestRules, repeats: Shape, axis: int | None = None, *, scalar_has_axis: bool = False
) -> Stages:
    """Repeat each element along an axis.

    Without an axis, the flattened tensor is repeated. For a single repeat, a dim of 1 is inserted after the axis,
    repeated, and merged with the axis. For a list, index `i` of the axis is taken `repeats[i]` times. If
    `scalar_has_axis` is True, the axes 0 and -1 of a scalar are accepted. Source: torch.repeat_interleave ("repeat
    elements of a tensor"; "by default, use the flattened input array, and return a flat output array"), numpy.repeat
    ("repeat each element of an array after themselves"), jax.numpy.repeat. Raises `ShapeError` (axis-out-of-range,
    unpaired-repeats, rank-limit or overflow).
    """
    with StageBuilder(StageKind.EXPAND, "repeat", "repeats", shape, repeats):
        flattens = axis is None or (scalar_has_axis and not shape and axis in (0, -1))
        repeated = 0 if flattens or axis is None else normalize_nonscalar_axis(axis, shape, rules)
        before = (compute_volume(shape, "input"),) if flattens else shape
        check_sizes(repeats, "repeats")
        conditions = _check_repeats(repeats, before[repeated])
        has_one_count = len({*repeats}) == 1 and not conditions
        total = product((before[repeated], repeats[0])) if has_one_count else sum(map(int, repeats))  # type: ignore[arg-type]
        output = (*before[:repeated], total, *before[repeated + 1 :])
        check_rank(output, rules.dialect, "input")
        compute_volume(output, "repeats")
        if not has_one_count and isinstance(total, int) and total > MAX_REPEATED:
            raise MAX_REPEATED.error(f"{total} positions", argument="repeats")

    def repeat(start: Shape) -> Stages:
        if has_one_count:
            return build_repeat_stages(start, _repeat_factors(start, repeated, repeats[0]))
        return _take_repeated(start, repeated, repeats, conditions)

    return run_stages(shape, *([flatten_axes] if flattens and len(shape) != 1 else []), repeat)


def _check_repeats(repeats: Shape, dim: Dim) -> Conditions:
    """Return the conditions under which the repeats match the size of the axis.

    `dim` is the size of the axis. A single repeat matches any size. Raises `ShapeError` (unpaired-repeats).
    """
    for index, count in enumerate(repeats):
        shown = truncate(str(count))
        if isinstance(count, int) and count < 0:
            message = f"a repeat is at least 0, and this is {shown}"
            raise rule_error(UNPAIRED_REPEATS, message, argument="repeats", index=index)
        if not isinstance(count, int) and len(repeats) > 1:
            message = f"a list of repeats holds numbers, and this is {shown}"
            raise rule_error(UNPAIRED_REPEATS, message, argument="repeats", index=index)
    if len(repeats) == 1 or dim == len(repeats):
        return ()

    def make_error() -> ShapeError:
        counts = format_count(len(repeats), "repeat", "repeats")
        message = f"{counts} for {_format_position_count(dim)}: one for all, or one for each"
        return rule_error(UNPAIRED_REPEATS, message, argument="repeats")

    return require_relation(require_equal, dim, len(repeats), make_error)


def _format_position_count(dim: Dim) -> str:
    return format_count(dim, "position", "positions") if isinstance(dim, int) else f"{truncate(str(dim))} positions"


def _repeat_factors(shape: Shape, axis: int, count: Dim) -> list[tuple[TileFactor, ...]]:
    """Return the factors of each output dim for a single repeat count.

    The repeated axis has two factors: its input dim, and a new dim that is repeated `count` times.
    """
    factors = [(TileFactor(index, 1),) for index in range(len(shape))]
    is_single = count == 1 or shape[axis] == 1
    repeated = (TileFactor(axis, count),) if is_single else (TileFactor(axis, 1), TileFactor(None, count))
    return [*factors[:axis], repeated, *factors[axis + 1 :]]


def _take_repeated(shape: Shape, axis: int, repeats: Shape, conditions: Conditions) -> Stages:
    """Take each index `i` of an axis `repeats[i]` times."""
    positions = tuple([index for index, count in enumerate(repeats) for _ in range(int(count))])  # type: ignore[arg-type]
    with StageBuilder(StageKind.TAKE, "repeat", "repeats", shape) as stage:
        facts = {"text": truncate(shape_text(repeats))}
        stage.explain = lambda _: explain_changed_axis(
            shape, Step(REPEATED_POSITIONS, axis, (axis,), len(positions), conditions, FrozenDict(facts))
        )
        return stage.finish(Take(axis, positions))


def _repeat_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield valid repeats that are close to the refused repeats.

    The first candidate replaces negative repeats with 0, the second has one repeat for each index, and the last keeps
    only the first repeat.
    """
    repeats = tuple([max(0, count) if isinstance(count, int) else 1 for count in arguments["repeats"]]) or (1,)
    axis = arguments.get("axis")
    dim = product(shape) if axis is None else shape[axis] if shape else 1
    yield "repeats", repeats
    if isinstance(dim, int) and 0 < dim <= len(repeats) + len(shape) + 8:
        yield "repeats", (*repeats, *[1] * dim)[:dim]
    yield "repeats", repeats[:1]


REPEAT_INTERLEAVE = Op(
    name="repeat_interleave",
    summary="Repeat each element along an axis.",
    params=(
        Param(
            *("repeats", ParamType.TARGET, "the number of repeats, or one for each index of the axis"),
            positional=True,
            required=True,
        ),
        Param("axis", ParamType.INT, "the axis to repeat along; by default the flattened tensor", positional=True),
    ),
    resolve=repeat_interleave,
    operators={
        "torch": Operator("repeat_interleave"),
        "numpy": Operator("repeat", resolve=partial(repeat_interleave, scalar_has_axis=True)),
        "jax": Operator("repeat", resolve=partial(repeat_interleave, scalar_has_axis=True)),
    },
    signatures=(
        ("torch", "x.repeat_interleave(repeats, dim: axis=None)"),
        ("numpy jax", "np.repeat(x, repeats, axis=None)"),
        ("paddle", "paddle.repeat_interleave(x, repeats, axis=None)"),
        ("tensorflow", "tf.repeat(x, repeats, axis=None)"),
    ),
    examples=(
        "repeat_interleave 2,3 2 1",
        "repeat_interleave N,C,H,W 2 2 --explain",
        "repeat_interleave 2,3 1,0,2 -1 -d numpy",
    ),
    vectors=make_test_vectors(
        "repeats axis",
        ("2,3", "2 1", "2 -2", "2", "1 0", "0 1", "1,0,2 1", "2,2,2 1", "1,2 1", "-1 0", "1,-1 0", "2 2", "[] 0"),
        ("1,3", "4 0", "1,2,3,4,5,6"),
        ("0,3", "2 0", "2"),
        ("[]", "3", "2 0"),
        ("4294967296", "4294967296", "4294967296 0"),
        ("N,C", "2 1", "M 0", "1,2 1", "3"),
    ),
    default_dialect="torch",
    keeps_element_count=False,
    rules=(REPEATED_POSITIONS, UNPAIRED_REPEATS),
    fix_candidates={UNPAIRED_REPEATS: _repeat_candidates, OVERFLOW: lambda *_: iter([("repeats", (1,))])},
)
