"""Tile: the whole tensor is repeated along its axes. Insert, repeat and merge."""

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
"""The most dims that Paddle's tile takes and gives."""

BAD_REPEATS = Rule(
    "bad-repeats",
    "the repeats do not fit the tensor",
    "A repeat is a whole number, and 0 leaves nothing. ONNX takes one for each dim, and Tile 1 repeats one axis "
    "only. PyTorch's repeat also takes more: each extra one adds a dim in front. NumPy, OpenVINO and Paddle also "
    "take fewer, and apply them to the last dims.",
    "shapecalc tile 2,3 2",
    "ONNX Tile, Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile",
)


def tile(shape: Shape, at: base.Setting, repeats: Shape) -> Reasons:
    """Repeat the whole tensor along each axis; what is repeated in front of its axes makes new ones.

    No view repeats other than dims of 1. So a 1 is inserted before each other dim, repeated, and merged with the dim.
    Source: ONNX Tile ("constructs a tensor by tiling a given tensor"), Tensor.repeat, numpy.tile, OpenVINO Tile,
    paddle.tile. Raises `ShapeError`: bad-repeats, rank-limit, overflow.
    """
    yield Stage(Kind.EXPAND, "tile", "repeats", shape, repeats)
    _check_repeats(len(shape), at, repeats)
    parts = _parts(shape, repeats)
    output = tuple([product([dim for each in part for dim in each.dims(shape)]) for part in parts])
    base.check_rank(output, at.row, "repeats")
    base.check_sizes(repeats, "repeats")
    base.checked_volume(output, "repeats")
    every = [each for part in parts for each in part]
    if len(every) > len(shape):
        yield Stage(Kind.UNSQUEEZE, "insert", "", shape)
        shape = yield from base.inserted(shape, [each.axis for each in every])
    if any(each.count != 1 for each in every):
        shape = yield from _repeated(shape, every)
    if len(every) > len(parts):
        shape = yield from merge_runs(shape, parts)
    return shape


class Laid(Record):
    """One dim before the merge: a dim of the input, or a new 1, and how often it is repeated."""

    axis: int | None
    count: Dim

    def dims(self, shape: Shape) -> Shape:
        """Return the factors of the dim once it is repeated."""
        return (self.count,) if self.axis is None else (shape[self.axis], self.count)


def _parts(shape: Shape, repeats: Shape) -> list[tuple[Laid, ...]]:
    """Return what each dim of the output is made of: one dim, or a new 1 that is repeated and the dim behind it."""
    counts = (*(1,) * (len(shape) - len(repeats)), *repeats)
    new = len(counts) - len(shape)
    parts: list[tuple[Laid, ...]] = [(Laid(None, count),) for count in counts[:new]]
    for axis, count in enumerate(counts[new:]):
        alone = count == 1 or shape[axis] == 1
        parts.append((Laid(axis, count),) if alone else (Laid(None, count), Laid(axis, 1)))
    return parts


def _repeated(shape: Shape, every: list[Laid]) -> Reasons:
    """Repeat the dims of 1 that have a count."""
    yield Stage(Kind.EXPAND, "repeat", "", shape, tuple([each.count for each in every]))
    output = tuple([dim if each.count == 1 else each.count for dim, each in zip(shape, every, strict=True)])
    for out, (dim, after) in enumerate(zip(shape, output, strict=True)):
        if every[out].count == 1:
            yield Step(KEPT_DIM, out, (out,), after)
        else:
            yield Step(STRETCHED, out, (out,), after, (), FrozenDict(dim=dim))
    return (yield from base.stretched(shape, output))


def _check_repeats(rank: int, at: base.Setting, repeats: Shape) -> None:
    """Refuse repeats below 0, and too few or too many of them; raise `ShapeError`: bad-repeats."""
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
    """Say whether the operator takes so many repeats of a tensor of `rank` dims."""
    takes = at.row.tile_repeats
    return takes is base.TileRepeats.ANY or count == rank or (takes is base.TileRepeats.AT_LEAST and count > rank)


def _many_dims(shape: Shape, at: base.Setting, repeats: Shape) -> ShapeError | None:
    """Return the error for more dims than Paddle's tile takes."""
    argument = "repeats" if len(repeats) > PADDLE_MOST else "input"
    return base.over(PADDLE_MOST, max(len(shape), len(repeats)), at.row, argument=argument)


def _fitting(shape: Shape, arguments: Arguments) -> Changes:
    """Yield repeats from 0 on, as many as there are dims; then those with one alone."""
    repeats = tuple([1 if isinstance(count, int) and count < 0 else count for count in arguments["repeats"]])
    rank = len(shape)
    fitted = (*(1,) * (rank - len(repeats)), *repeats[max(0, len(repeats) - rank) :])
    yield "repeats", repeats
    yield "repeats", fitted
    for place, count in enumerate(fitted):
        yield "repeats", (*(1,) * place, count, *(1,) * (rank - place - 1))


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
    changes={BAD_REPEATS: _fitting, OVERFLOW: lambda _, given: iter([("repeats", (1,) * len(given["repeats"]))])},
)
