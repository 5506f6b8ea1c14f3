"""Tile: repeat a tensor along its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, run_stages
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.moves import Expand
from shapecalc.core.ops.axes import merge_adjacent_axes
from shapecalc.core.ops.op import Arguments, DialectTable, FixCandidates, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import KEPT_DIM, OVERFLOW, STRETCHED
from shapecalc.core.text import format_count, rank_text, truncate

PADDLE_MAX_RANK = 7
"""The maximum rank of the input and the output of Paddle's tile."""

BAD_REPEATS = Rule(
    "bad-repeats",
    "the repeats do not fit the tensor",
    "Each repeat is a non-negative integer, and 0 makes the output empty. ONNX requires one repeat for each dim, and "
    "Tile 1 repeats only one axis. PyTorch's repeat also accepts more repeats: each additional repeat adds a dim in "
    "front. NumPy, OpenVINO and Paddle also accept fewer repeats, and apply them to the last dims.",
    "shapecalc tile 2,3 2",
    "ONNX Tile, Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile",
)


class TileFactor(Record):
    """A factor of an output dim: an input dim or a new dim of 1, repeated `count` times.

    The axis of a new dim is None.
    """

    axis: int | None
    count: Dim

    def dims(self, shape: Shape) -> Shape:
        """Return the dims whose product is the factor."""
        return (self.count,) if self.axis is None else (shape[self.axis], self.count)


def tile(shape: Shape, rules: base.RequestRules, repeats: Shape) -> Stages:
    """Repeat a tensor along each axis.

    Additional repeats add leading axes. A view can repeat only dims of 1. Therefore, a new dim of 1 is inserted before
    each repeated dim, expanded, and merged with that dim. Source: ONNX Tile ("constructs a tensor by tiling a given
    tensor"), Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile. Raises `ShapeError` (bad-repeats, rank-limit or
    overflow).
    """
    with StageBuilder(StageKind.EXPAND, "tile", "repeats", shape, repeats):
        _check_repeats(len(shape), rules, repeats)
        factors = _tile_factors(shape, repeats)
        sizes = [[dim for factor in dim_factors for dim in factor.dims(shape)] for dim_factors in factors]
        output = tuple([product(dims) for dims in sizes])
        base.check_rank(output, rules.dialect, "repeats")
        base.check_sizes(repeats, "repeats")
        base.compute_volume(output, "repeats")
    return build_repeat_stages(shape, factors)


def build_repeat_stages(shape: Shape, factors: Sequence[tuple[TileFactor, ...]]) -> Stages:
    """Return stages whose output dims are the products of their factors.

    Up to three stages insert the new dims of 1, repeat the dims of 1, and merge the factors of each output dim.
    """
    all_factors = [factor for dim_factors in factors for factor in dim_factors]
    runs: list[Callable[[Shape], Stages]] = []
    if len(all_factors) > len(shape):
        runs.append(lambda before: _insert_unit_dims(before, all_factors))
    if any(factor.count != 1 for factor in all_factors):
        runs.append(lambda before: _repeat_unit_dims(before, all_factors))
    if len(all_factors) > len(factors):
        runs.append(lambda before: merge_adjacent_axes(before, factors))
    return run_stages(shape, *runs)


def _insert_unit_dims(shape: Shape, factors: list[TileFactor]) -> Stages:
    with StageBuilder(StageKind.UNSQUEEZE, "insert", "", shape) as stage:
        return base.finish_unsqueeze_stage(stage, [factor.axis for factor in factors])


def _tile_factors(shape: Shape, repeats: Shape) -> list[tuple[TileFactor, ...]]:
    """Return the factors of each output dim.

    A repeated dim has two factors: a new dim of 1 that is repeated, and the input dim. Any other dim has one factor.
    """
    counts = (*(1,) * (len(shape) - len(repeats)), *repeats)
    added = len(counts) - len(shape)
    factors: list[tuple[TileFactor, ...]] = [(TileFactor(None, count),) for count in counts[:added]]
    for axis, count in enumerate(counts[added:]):
        is_single = count == 1 or shape[axis] == 1
        factors.append((TileFactor(axis, count),) if is_single else (TileFactor(None, count), TileFactor(axis, 1)))
    return factors


def _repeat_unit_dims(shape: Shape, factors: list[TileFactor]) -> Stages:
    """Repeat the dims of 1 as their factors specify."""
    with StageBuilder(StageKind.EXPAND, "repeat", "", shape, tuple([factor.count for factor in factors])) as stage:
        output = tuple([dim if factor.count == 1 else factor.count for dim, factor in zip(shape, factors, strict=True)])
        stage.explain = lambda _: (
            *[
                Step(KEPT_DIM, out, (out,), after)
                if factors[out].count == 1
                else Step(STRETCHED, out, (out,), after, (), FrozenDict(dim=shape[out]))
                for out, after in enumerate(output)
            ],
            base.broadcast_step(shape, output),
        )
        return stage.finish(Expand(output))


def _check_repeats(rank: int, rules: base.RequestRules, repeats: Shape) -> None:
    """Raise `ShapeError` (bad-repeats) for an invalid number or value of repeats."""
    if not _is_accepted_count(rank, rules, len(repeats)):
        more = "" if TILE_SEMANTICS.for_dialect(rules.dialect).tile_repeats is TileRepeatCount.EACH else ", or more"
        counts = f"{format_count(len(repeats), 'repeat', 'repeats')} for {rank_text(rank)}"
        raise rule_error(BAD_REPEATS, f"{counts}: {rules.operator.name} takes one for each{more}", argument="repeats")
    for index, count in enumerate(repeats):
        if isinstance(count, int) and count < 0:
            message = f"a repeat is at least 0, and this is {truncate(str(count))}"
            raise rule_error(BAD_REPEATS, message, argument="repeats", index=index)
    if rules.version == 1 and sum(count != 1 for count in repeats) > 1:
        message = "Tile 1 repeats along one axis: `tiles` times along `axis`"
        raise rule_error(BAD_REPEATS, message, argument="repeats")


def _is_accepted_count(rank: int, rules: base.RequestRules, count: int) -> bool:
    """Return whether the operator accepts `count` repeats."""
    accepted = TILE_SEMANTICS.for_dialect(rules.dialect).tile_repeats
    return accepted is TileRepeatCount.ANY or count == rank or (accepted is TileRepeatCount.AT_LEAST and count > rank)


def _paddle_rank_error(shape: Shape, rules: base.RequestRules, repeats: Shape) -> ShapeError | None:
    """Return the error for a rank above the limit of Paddle's tile, or None."""
    argument = "repeats" if len(repeats) > PADDLE_MAX_RANK else "input"
    return base.rank_limit_error(PADDLE_MAX_RANK, max(len(shape), len(repeats)), rules.dialect, argument=argument)


def _repeat_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield valid repeats that are close to the refused repeats.

    The first candidate replaces negative repeats with 1, and the second has one repeat for each dim. Each of the others
    repeats a single axis.
    """
    repeats = tuple([1 if isinstance(count, int) and count < 0 else count for count in arguments["repeats"]])
    rank = len(shape)
    padded = (*(1,) * (rank - len(repeats)), *repeats[max(0, len(repeats) - rank) :])
    yield "repeats", repeats
    yield "repeats", padded
    for axis, count in enumerate(padded):
        yield "repeats", (*(1,) * axis, count, *(1,) * (rank - axis - 1))


class TileRepeatCount(Choice):
    """The number of repeats that tile accepts."""

    EACH = "one for each dim"
    AT_LEAST = "one for each dim, or more in front"
    ANY = "any number: they are for the last dims, and the other dims get 1"


class TileSemantics(Record):
    """The repeats that tile accepts in a dialect."""

    tile_repeats: TileRepeatCount = TileRepeatCount.ANY


TILE_SEMANTICS = DialectTable(
    {
        "openvino numpy paddle jax": TileSemantics(),
        "onnx tensorflow": TileSemantics(TileRepeatCount.EACH),
        "torch": TileSemantics(TileRepeatCount.AT_LEAST),
    }
)
TILE = Op(
    name="tile",
    summary="Repeat the whole tensor along its axes.",
    params=(
        base.Param(
            "repeats", base.ParamType.TARGET, "the number of repeats along each axis", positional=True, required=True
        ),
    ),
    resolve=tile,
    operators={
        "onnx": base.Operator("Tile", {1: base.FLOATS, 6: base.UP_TO_12, 13: base.SINCE_13}),
        "paddle": base.Operator("tile", refusal_check=_paddle_rank_error),
        **operators_by_dialect(tile="numpy", repeat="torch", Tile="openvino"),
    },
    signatures=(
        ("torch", "x.repeat(*repeats/sizes: repeats)"),
        ("numpy jax", "np.tile(x, reps: repeats)"),
        ("torch", "x.tile(*dims: repeats)"),
        ("tensorflow", "tf.tile(x, multiples: repeats)"),
        ("paddle", "paddle.tile(x, [repeat_times]: repeats)"),
        ("openvino", "ops.tile(x, repeats)"),
    ),
    printed_names="tile",
    examples=("tile 2,3 2,2", "tile N,C 2,1 --explain", "tile 2,3 4,1,1 -d torch"),
    vectors=make_test_vectors(
        "repeats",
        ("2,3", "2,2", "1,1", "2", "4,2,2", "0,2", "-1,2"),
        ("1,3", "4,1"),
        ("0,3", "2,2"),
        ("[]", "[]", "3"),
        ("2", "[]"),
        ("4294967296,4294967296", "2,1"),
        ("N,C", "2,1", "M,1"),
    ),
    keeps_element_count=False,
    semantics=(TILE_SEMANTICS,),
    rules=(BAD_REPEATS,),
    fix_candidates={
        BAD_REPEATS: _repeat_candidates,
        OVERFLOW: lambda _, arguments: iter([("repeats", (1,) * len(arguments["repeats"]))]),
    },
)
