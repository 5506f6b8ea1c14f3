"""Tile: the whole tensor is repeated along its axes."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops.axes import merge_runs
from shapecalc.core.ops.op import Arguments, Changes, Op, called, vectors
from shapecalc.core.problem import Rule, ShapeError, refusal
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.rules import KEPT_DIM, OVERFLOW, STRETCHED
from shapecalc.core.text import brief, number_text, rank_text

PADDLE_MOST = 7
"""The maximum rank of input and output of Paddle's tile."""

BAD_REPEATS = Rule(
    "bad-repeats",
    "the repeats do not fit the tensor",
    "A repeat is a whole number, and 0 leaves nothing. ONNX takes one for each dim, and Tile 1 repeats one axis "
    "only. PyTorch's repeat also takes more: each extra one adds a dim in front. NumPy, OpenVINO and Paddle also "
    "take fewer, and apply them to the last dims.",
    "shapecalc tile 2,3 2",
    "ONNX Tile, Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile",
)


class Laid(Record):
    """One factor of an output dim: an input dim or a new 1, and its repeats."""

    axis: int | None
    count: Dim

    def dims(self, shape: Shape) -> Shape:
        """Return the dims whose product is the factor's size."""
        return (self.count,) if self.axis is None else (shape[self.axis], self.count)


def tile(shape: Shape, at: base.Setting, repeats: Shape) -> Reasons:
    """Repeat the whole tensor along each axis; extra repeats add axes in front.

    A view can repeat dims of 1 only. So a 1 is inserted before each other dim, repeated, and merged with the dim.
    Source: ONNX Tile ("constructs a tensor by tiling a given tensor"), Tensor.repeat, numpy.tile, OpenVINO Tile,
    paddle.tile. Raises `ShapeError`: bad-repeats, rank-limit, overflow.
    """
    yield Stage(Kind.EXPAND, "tile", "repeats", shape, repeats)
    _check_repeats(len(shape), at, repeats)
    factors = _parts(shape, repeats)
    output = tuple([product([dim for factor in dim_factors for dim in factor.dims(shape)]) for dim_factors in factors])
    base.check_rank(output, at.row, "repeats")
    base.check_sizes(repeats, "repeats")
    base.checked_volume(output, "repeats")
    all_factors = [factor for dim_factors in factors for factor in dim_factors]
    if len(all_factors) > len(shape):
        yield Stage(Kind.UNSQUEEZE, "insert", "", shape)
        shape = yield from base.inserted(shape, [factor.axis for factor in all_factors])
    if any(factor.count != 1 for factor in all_factors):
        shape = yield from _repeated(shape, all_factors)
    if len(all_factors) > len(factors):
        shape = yield from merge_runs(shape, factors)
    return shape


def _parts(shape: Shape, repeats: Shape) -> list[tuple[Laid, ...]]:
    """Return the factors of each output dim.

    A dim has one factor, or two: a new 1 that is repeated, and the input dim after it.
    """
    counts = (*(1,) * (len(shape) - len(repeats)), *repeats)
    added = len(counts) - len(shape)
    factors: list[tuple[Laid, ...]] = [(Laid(None, count),) for count in counts[:added]]
    for axis, count in enumerate(counts[added:]):
        is_single = count == 1 or shape[axis] == 1
        factors.append((Laid(axis, count),) if is_single else (Laid(None, count), Laid(axis, 1)))
    return factors


def _repeated(shape: Shape, every: list[Laid]) -> Reasons:
    """Repeat the dims of 1 whose factor has a number of repeats."""
    yield Stage(Kind.EXPAND, "repeat", "", shape, tuple([factor.count for factor in every]))
    output = tuple([dim if factor.count == 1 else factor.count for dim, factor in zip(shape, every, strict=True)])
    for out, (dim, after) in enumerate(zip(shape, output, strict=True)):
        if every[out].count == 1:
            yield Step(KEPT_DIM, out, (out,), after)
        else:
            yield Step(STRETCHED, out, (out,), after, (), FrozenDict(dim=dim))
    return (yield from base.stretched(shape, output))


def _check_repeats(rank: int, at: base.Setting, repeats: Shape) -> None:
    """Check the number of repeats and their values.

    Raises `ShapeError`: bad-repeats.
    """
    if not _fits(rank, at, len(repeats)):
        more = "" if at.row.tile_repeats is base.TileRepeats.EACH else ", or more"
        counts = f"{number_text(len(repeats), 'repeat', 'repeats')} for {rank_text(rank)}"
        raise refusal(BAD_REPEATS, f"{counts}: {at.operator.name} takes one for each{more}", argument="repeats")
    for index, count in enumerate(repeats):
        if isinstance(count, int) and count < 0:
            message = f"a repeat is at least 0, and this is {brief(str(count))}"
            raise refusal(BAD_REPEATS, message, argument="repeats", index=index)
    if at.version == 1 and sum(count != 1 for count in repeats) > 1:
        message = "Tile 1 repeats along one axis: `tiles` times along `axis`"
        raise refusal(BAD_REPEATS, message, argument="repeats")


def _fits(rank: int, at: base.Setting, count: int) -> bool:
    """Return whether the operator accepts `count` repeats for `rank` dims."""
    accepted = at.row.tile_repeats
    return accepted is base.TileRepeats.ANY or count == rank or (accepted is base.TileRepeats.AT_LEAST and count > rank)


def _many_dims(shape: Shape, at: base.Setting, repeats: Shape) -> ShapeError | None:
    """Return the error for more dims than Paddle's tile accepts, or None."""
    argument = "repeats" if len(repeats) > PADDLE_MOST else "input"
    return base.over(PADDLE_MOST, max(len(shape), len(repeats)), at.row, argument=argument)


def _fitting(shape: Shape, arguments: Arguments) -> Changes:
    """Yield repeats without negative ones, then as many as dims, then one at a time."""
    repeats = tuple([1 if isinstance(count, int) and count < 0 else count for count in arguments["repeats"]])
    rank = len(shape)
    padded = (*(1,) * (rank - len(repeats)), *repeats[max(0, len(repeats) - rank) :])
    yield "repeats", repeats
    yield "repeats", padded
    for axis, count in enumerate(padded):
        yield "repeats", (*(1,) * axis, count, *(1,) * (rank - axis - 1))


TILE = Op(
    name="tile",
    summary="Repeat the whole tensor along its axes.",
    params=(base.Param("repeats", base.Holds.TARGET, "how often along each axis", positional=True, required=True),),
    steps=tile,
    operators={
        "onnx": base.Operator("Tile", {1: base.FLOATS, 6: base.UP_TO_12, 13: base.SINCE_13}),
        "paddle": base.Operator("tile", refuses=_many_dims),
        **called(tile="numpy", repeat="torch", Tile="openvino"),
    },
    examples=("tile 2,3 2,2", "tile N,C 2,1 --explain", "tile 2,3 4,1,1 -d torch"),
    vectors=vectors(
        "repeats",
        ("2,3", "2,2", "1,1", "2", "4,2,2", "0,2", "-1,2"),
        ("1,3", "4,1"),
        ("0,3", "2,2"),
        ("[]", "[]", "3"),
        ("2", "[]"),
        ("4294967296,4294967296", "2,1"),
        ("N,C", "2,1", "M,1"),
    ),
    keeps_count=False,
    rules=(BAD_REPEATS,),
    changes={
        BAD_REPEATS: _fitting,
        OVERFLOW: lambda _, arguments: iter([("repeats", (1,) * len(arguments["repeats"]))]),
    },
)
