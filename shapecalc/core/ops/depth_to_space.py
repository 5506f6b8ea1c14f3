"""Depth to space: channels become blocks of rows and columns."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.conditions import divides, required
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape, quotient
from shapecalc.core.ops.axes import merge_runs
from shapecalc.core.ops.op import Arguments, Changes, Op, near, vectors
from shapecalc.core.ops.transpose import transpose
from shapecalc.core.problem import Rule, refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.rules import INDIVISIBLE, KEPT_DIM
from shapecalc.core.text import brief, left_over, rank_text

DCR, CRD = "DCR", "CRD"
"""The two orders of the channels.

In DCR the rows and columns of a block are outermost, in CRD the remaining channels.
"""
SOURCE = "ONNX DepthToSpace and SpaceToDepth, torch.pixel_shuffle and pixel_unshuffle"

WRONG_RANK = Rule(
    "wrong-rank",
    "the operator does not take that many dims",
    "ONNX's DepthToSpace and SpaceToDepth take four dims: batch, channels, height, width. PyTorch's pixel_shuffle and "
    "pixel_unshuffle take any number of dims in front of the last three.",
    "shapecalc depth_to_space 8,2,3 2",
    SOURCE,
)
BAD_BLOCK = Rule(
    "bad-block",
    "a block has at least one row and one column",
    "A block of 1 changes nothing.",
    "shapecalc depth_to_space 1,8,2,3 0",
    SOURCE,
)


def _split_blocks(step: Step, counts: str, cut: Dim, by: int | None = None) -> str:
    if by is None:
        return f"{counts}: {step.value}"
    return f"{counts}: {cut} / {by} = {step.value}"


SPLIT_BLOCKS = StepRule(
    "split-blocks",
    "an axis is cut into the places of a block and what is left",
    "Depth to space cuts the channels into the rows and columns of a block and the channels that are left. Space "
    "to depth cuts height and width into blocks. What is left must be a whole number. In the order DCR the rows "
    "and columns of a block are the first parts of the channels, in CRD the last.",
    "shapecalc depth_to_space 1,8,2,3 2",
    SOURCE,
    why=_split_blocks,
)


Words = tuple[str, ...]
"""The last axes, each as the letters of its parts."""
PLACES = {"r": "rows of a block", "c": "columns of a block"}
"""The parts that are positions in a block, by letter."""
PARTS = PLACES | {"k": "channels that are left", "h": "rows of blocks", "w": "columns of blocks"}
"""All parts of axes, by letter."""
DEPTH: dict[str, Words] = {DCR: ("rck", "h", "w"), CRD: ("krc", "h", "w")}
"""The axes with the parts of a block in the channels, by mode."""
SPACE: Words = ("k", "hr", "wc")
"""The axes with the parts of a block in height and width."""


def depth_to_space(shape: Shape, at: base.Setting, block: int, mode: str = DCR, leading: int | None = 1) -> Reasons:
    """Move channels into blocks of `block` by `block` positions.

    `leading` is the number of dims before the channels; None allows any. Source: ONNX DepthToSpace ("values from the
    depth dimension are moved in spatial blocks to the height and width dimensions"), torch.pixel_shuffle ("rearranges
    elements in a tensor of shape (*, C x r^2, H, W) to a tensor of shape (*, C, H x r, W x r)"). Raises `ShapeError`:
    wrong-rank, bad-block, indivisible, overflow.
    """
    return moved_blocks(shape, at, block, (DEPTH[mode], SPACE), leading)


def _check_blocks(shape: Shape, at: base.Setting, block: int, leading: int | None) -> None:
    """Check the block and the number of leading dims; None allows any number.

    Raises `ShapeError`: wrong-rank, bad-block.
    """
    rank = len(shape)
    if rank < len(SPACE) or leading not in (None, rank - len(SPACE)):
        takes = f"at least {len(SPACE)}" if leading is None else f"{len(SPACE) + leading}"
        dims = rank_text(rank)
        raise refusal(WRONG_RANK, f"{at.operator.name} takes {takes} dims, and the input has {dims}", argument="input")
    if block < 1:
        raise refusal(BAD_BLOCK, f"a block is at least 1, and this is {brief(str(block))}", argument="block")


def moved_blocks(shape: Shape, at: base.Setting, block: int, axes: tuple[Words, Words], leading: int | None) -> Reasons:
    """Split the last axes into parts, transpose the parts and merge them.

    `axes` has the axes before and after. Raises `ShapeError`: wrong-rank, bad-block, indivisible, overflow.
    """
    _check_blocks(shape, at, block, leading)
    before, after = axes
    front = len(shape) - len(before)
    cuts = [(axis, part, word) for axis, word in enumerate((*"." * front, *before)) for part in word]
    dims: list[Dim] = [block] * len(cuts)
    yield Stage(Kind.RESHAPE, "split", "block", shape)
    for out, (axis, part, word) in sorted(enumerate(cuts), key=lambda item: _is_left(*item[1][1:])):
        step = _part(out, axis, part, word, shape[axis], block)
        dims[out] = step.dim
        yield step
    base.checked_volume(tuple(dims), "input")
    shape = yield from base.recut(shape, tuple(dims))
    positions = {part: out for out, (_, part, _) in enumerate(cuts)}
    order = [positions[part] for word in after for part in word]
    shape = yield from transpose(shape, at, (*range(front), *order), "move", "")
    return (yield from merge_runs(shape, (*"." * front, *after)))


def _is_left(part: str, word: str) -> bool:
    """Return whether a part is the quotient of an axis by the block."""
    return len(word) > 1 and part not in PLACES


def _part(out: int, axis: int, part: str, word: str, dim: Dim, block: int) -> Step:
    """Return the step of one part of an axis."""
    if len(word) == 1:
        return Step(KEPT_DIM, out, (axis,), dim)
    if part in PLACES:
        return Step(SPLIT_BLOCKS, out, (axis,), block, (), FrozenDict(counts=PARTS[part], cut=dim))
    by = block ** (len(word) - 1)
    message = f"dim {axis}, {brief(str(dim))}, cannot be divided by {brief(str(by))}{left_over(dim, by)}"
    conditions = required(divides, dim, by, refusal(INDIVISIBLE, message, argument="input", index=axis))
    facts = FrozenDict(counts=PARTS[part], cut=dim, by=by)
    return Step(SPLIT_BLOCKS, out, (axis,), quotient(dim, by), conditions, facts)


def nearest_blocks(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the blocks nearest to the refused one, then 1, which changes nothing."""
    block = arguments["block"]
    yield from (("block", size) for size in (*near(block, 2), 1) if size != block)


NO_MODE = {"mode": None}
ORT_TYPES = base.FLOATS | {"int8", "uint8"}
BLOCK = base.Param("block", base.Holds.INT, "the rows and the columns of a block", positional=True, required=True)
MODE_HELP = (
    "ONNX: how the channels are cut. DCR, the default: rows of a block, columns, channels; CRD: channels, rows, columns"
)

DEPTH_TO_SPACE = Op(
    name="depth_to_space",
    summary="Move channels into blocks of rows and columns (pixel shuffle).",
    params=(BLOCK, base.Param("mode", base.Holds.WORD, MODE_HELP, words=(DCR, CRD))),
    steps=depth_to_space,
    operators={
        "onnx": base.Operator(
            "DepthToSpace",
            {1: base.UP_TO_12, 11: base.UP_TO_12, 13: base.SINCE_13, 28: base.SINCE_13},
            since={"mode": 11},
        ),
        "onnxruntime": base.Operator(
            "DepthToSpace", {1: base.FLOATS, 11: ORT_TYPES, 13: ORT_TYPES}, since={"mode": 11}
        ),
        "torch": base.Operator("pixel_shuffle", since=NO_MODE, steps=partial(depth_to_space, mode=CRD, leading=None)),
    },
    examples=(
        "depth_to_space 1,8,2,3 2",
        "depth_to_space N,C,H,W 2 --mode CRD --explain",
        "depth_to_space 8,2,3 2 -d torch",
    ),
    vectors=vectors(
        "block mode",
        ("1,8,2,3", "2", "2 DCR", "2 CRD", "1", "0", "-2"),
        ("2,9,4,5", "3"),
        ("1,6,2,3", "2"),
        ("8,2,3", "2"),
        ("2,1,8,2,3", "2"),
        ("2,3", "2"),
        ("1,0,2,3", "2"),
        ("1,8,0,3", "2"),
        ("N,C,H,W", "2"),
        ("N,C/2,H,W", "3 CRD"),
    ),
    rules=(SPLIT_BLOCKS, WRONG_RANK, BAD_BLOCK),
    changes={INDIVISIBLE: nearest_blocks, BAD_BLOCK: nearest_blocks},
)
