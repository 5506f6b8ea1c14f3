"""Depth to space: move channels into blocks of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shapecalc.core.answers import (
    EMPTY_DICT,
    ResolvedDim,
    StageBuilder,
    StageKind,
    Stages,
    Step,
    StepRule,
    make_step,
    run_stages,
)
from shapecalc.core.conditions import require_divisible, require_relation
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape, quotient
from shapecalc.core.ops.axes import merge_adjacent_axes
from shapecalc.core.ops.op import Arguments, FixCandidates, Op, make_test_vectors, nearest_integers
from shapecalc.core.ops.transpose import transpose
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.rules import INDIVISIBLE, KEPT_DIM
from shapecalc.core.text import rank_text, remainder_text, truncate

DCR, CRD = "DCR", "CRD"
"""The two orders of the channels.

In DCR, the row and the column of a block are the first factors of the channel axis. In CRD, they are the last factors.
"""
SOURCE = "ONNX DepthToSpace, ONNX SpaceToDepth, torch.pixel_shuffle, torch.pixel_unshuffle"

WRONG_RANK = Rule(
    "wrong-rank",
    "the operator does not accept this number of dims",
    "ONNX's DepthToSpace and SpaceToDepth require four dims: batch, channels, height and width. PyTorch's "
    "pixel_shuffle and pixel_unshuffle accept any number of dims before the last three.",
    "shapecalc depth_to_space 8,2,3 2",
    SOURCE,
)
BAD_BLOCK = Rule(
    "bad-block",
    "a block has at least one row and one column",
    "A block size of 1 changes nothing.",
    "shapecalc depth_to_space 1,8,2,3 0",
    SOURCE,
)


def _explain_split_blocks(step: Step, counts: str, cut: Dim, by: int | None = None) -> str:
    """Format the size of one part of an axis.

    The size is `cut`, or `cut / by` if `by` is not None. `counts` is a phrase that describes the part.
    """
    if by is None:
        return f"{counts}: {step.value}"
    return f"{counts}: {cut} / {by} = {step.value}"


SPLIT_BLOCKS = StepRule(
    "split-blocks",
    "each axis is split into the block index and the index within the block",
    "Depth to space splits the channels into the rows and columns of a block and the remaining channels. Space to "
    "depth splits height and width into blocks. All resulting sizes must be integers. In DCR order, the rows and "
    "columns of a block are the first factors of the channel axis. In the order CRD, they are the last factors of the "
    "channel axis.",
    "shapecalc depth_to_space 1,8,2,3 2",
    SOURCE,
    why=_explain_split_blocks,
)


LetteredAxes = tuple[str, ...]
"""The last three axes, each as a string with one letter for each part of the axis.

For example, `hr` is a height that consists of rows of blocks and rows within a block.
"""
BLOCK_PARTS = {"r": "rows of a block", "c": "columns of a block"}
"""The parts that index an element within a block; each letter maps to a description."""
PART_NAMES = BLOCK_PARTS | {"k": "channels that are left", "h": "rows of blocks", "w": "columns of blocks"}
"""All parts; each letter maps to a description."""
DEPTH_AXES: dict[str, LetteredAxes] = {DCR: ("rck", "h", "w"), CRD: ("krc", "h", "w")}
"""For each mode, the axes before depth to space. The channel axis contains the block."""
SPACE_AXES: LetteredAxes = ("k", "hr", "wc")
"""The axes after depth to space. The height and the width contain the block."""


def depth_to_space(
    shape: Shape, rules: base.RequestRules, block: int, mode: str = DCR, leading: int | None = 1
) -> Stages:
    """Move channels into spatial blocks of `block` rows and `block` columns.

    `leading` is the required number of dims before the channels; None allows any number. Source: ONNX DepthToSpace
    ("values from the depth dimension are moved in spatial blocks to the height and width dimensions"),
    torch.pixel_shuffle ("rearranges elements in a tensor of shape (*, C x r^2, H, W) to a tensor of shape (*, C, H x r,
    W x r)"). Raises `ShapeError` (wrong-rank, bad-block, indivisible or overflow).
    """
    return move_blocks(shape, rules, block, (DEPTH_AXES[mode], SPACE_AXES), leading)


def _check_blocks(shape: Shape, rules: base.RequestRules, block: int, leading: int | None) -> None:
    """Raise `ShapeError` (wrong-rank or bad-block) for an invalid rank or block size.

    `leading` is the required number of dims before the channels; None allows any number.
    """
    rank = len(shape)
    if rank < len(SPACE_AXES) or leading not in (None, rank - len(SPACE_AXES)):
        takes = f"at least {len(SPACE_AXES)}" if leading is None else f"{len(SPACE_AXES) + leading}"
        dims = rank_text(rank)
        raise rule_error(
            WRONG_RANK, f"{rules.operator.name} takes {takes} dims, and the input has {dims}", argument="input"
        )
    if block < 1:
        raise rule_error(BAD_BLOCK, f"a block is at least 1, and this is {truncate(str(block))}", argument="block")


def move_blocks(
    shape: Shape, rules: base.RequestRules, block: int, axes: tuple[LetteredAxes, LetteredAxes], leading: int | None
) -> Stages:
    """Split the last axes into parts, transpose the parts and merge them.

    `axes` contains the last three axes before and after the op. Raises `ShapeError` (wrong-rank, bad-block, indivisible
    or overflow).
    """
    _check_blocks(shape, rules, block, leading)
    before, after = axes
    front = len(shape) - len(before)
    cuts = [(axis, part, word) for axis, word in enumerate((*"." * front, *before)) for part in word]
    positions = {part: out for out, (_, part, _) in enumerate(cuts)}
    order = (*range(front), *[positions[part] for word in after for part in word])
    return run_stages(
        shape,
        lambda start: _split_blocks(start, block, cuts),
        lambda start: transpose(start, rules, order, "move", ""),
        lambda start: merge_adjacent_axes(start, (*"." * front, *after)),
    )


def _split_blocks(shape: Shape, block: int, parts: Sequence[tuple[int, str, str]]) -> Stages:
    """Split axes into parts, each of which is an output dim.

    For each output dim, `parts` contains its input axis, its letter, and the letters of all parts of the input axis.
    """
    dims: list[Dim] = [block] * len(parts)
    resolved: dict[int, ResolvedDim] = {}
    with StageBuilder(StageKind.RESHAPE, "split", "block", shape) as stage:
        stage.explain = lambda _: tuple([make_step(out, (parts[out][0],), dim) for out, dim in resolved.items()])
        for out, (axis, part, word) in sorted(enumerate(parts), key=lambda item: _has_quotient_size(*item[1][1:])):
            resolved[out] = _resolve_part(axis, part, word, shape[axis], block)
            dims[out] = resolved[out][1]
        base.compute_volume(tuple(dims), "input")
        return base.finish_reshape_stage(stage, tuple(dims))


def _has_quotient_size(part: str, axis_parts: str) -> bool:
    return len(axis_parts) > 1 and part not in BLOCK_PARTS


def _resolve_part(axis: int, part: str, axis_parts: str, dim: Dim, block: int) -> ResolvedDim:
    """Resolve an output dim that is a part of an input axis.

    `part` is the letter of the part, and `axis_parts` are the letters of all parts of the axis. Raises `ShapeError`
    (indivisible).
    """
    if len(axis_parts) == 1:
        return KEPT_DIM, dim, (), EMPTY_DICT
    facts: dict[str, object] = {"counts": PART_NAMES[part], "cut": dim}
    if part in BLOCK_PARTS:
        return SPLIT_BLOCKS, block, (), facts
    by = block ** (len(axis_parts) - 1)

    def make_error() -> ShapeError:
        message = f"dim {axis}, {truncate(str(dim))}, cannot be divided by {truncate(str(by))}{remainder_text(dim, by)}"
        return rule_error(INDIVISIBLE, message, argument="input", index=axis)

    conditions = require_relation(require_divisible, dim, by, make_error)
    return SPLIT_BLOCKS, quotient(dim, by), conditions, {**facts, "by": by}


def block_candidates(_shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield block sizes near the refused size, the nearest first, followed by 1."""
    block = arguments["block"]
    yield from (("block", size) for size in (*nearest_integers(block, 2), 1) if size != block)


WITHOUT_MODE = {"mode": None}
ORT_TYPES = base.FLOATS | {"int8", "uint8"}
BLOCK_PARAM = base.Param(
    "block", base.ParamType.INT, "the number of rows and of columns in a block", positional=True, required=True
)
MODE_HELP = (
    "ONNX: the channel order. DCR, the default: rows of a block, columns, channels; CRD: channels, rows, columns"
)

DEPTH_TO_SPACE = Op(
    name="depth_to_space",
    summary="Move channels into blocks of rows and columns (pixel shuffle).",
    params=(BLOCK_PARAM, base.Param("mode", base.ParamType.CHOICE, MODE_HELP, choices=(DCR, CRD))),
    resolve=depth_to_space,
    operators={
        "onnx": base.Operator(
            "DepthToSpace",
            {1: base.UP_TO_12, 11: base.UP_TO_12, 13: base.SINCE_13, 28: base.SINCE_13},
            params_since={"mode": 11},
        ),
        "onnxruntime": base.Operator(
            "DepthToSpace", {1: base.FLOATS, 11: ORT_TYPES, 13: ORT_TYPES}, params_since={"mode": 11}
        ),
        "torch": base.Operator(
            "pixel_shuffle", params_since=WITHOUT_MODE, resolve=partial(depth_to_space, mode=CRD, leading=None)
        ),
    },
    signatures=(
        ("torch", "torch.nn.functional.pixel_shuffle(x, upscale_factor: block)"),
        ("torch", "torch.nn.PixelShuffle(upscale_factor: block)"),
    ),
    printed_names="depthtospace",
    examples=(
        "depth_to_space 1,8,2,3 2",
        "depth_to_space N,C,H,W 2 --mode CRD --explain",
        "depth_to_space 8,2,3 2 -d torch",
    ),
    vectors=make_test_vectors(
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
    fix_candidates={INDIVISIBLE: block_candidates, BAD_BLOCK: block_candidates},
)
