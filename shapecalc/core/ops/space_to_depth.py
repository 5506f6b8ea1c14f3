"""Space to depth: move blocks of rows and columns into channels."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import Stages
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Shape
from shapecalc.core.ops import depth_to_space as blocks
from shapecalc.core.ops.op import Op, make_test_vectors
from shapecalc.core.rules import INDIVISIBLE


def space_to_depth(
    shape: Shape, rules: RequestRules, block: int, mode: str = blocks.DCR, leading: int | None = 1
) -> Stages:
    """Move spatial blocks of `block` rows and `block` columns into channels.

    `leading` is the required number of dims before the channels; None allows any number. Source: ONNX SpaceToDepth
    ("values from the height and width dimensions are moved to the depth dimension"), torch.pixel_unshuffle
    ("rearranging elements in a tensor of shape (*, C, H x r, W x r) to a tensor of shape (*, C x r^2, H, W)"). PyTorch
    2.13.0 on a CPU keeps the shape of an empty tensor; its meta device follows the documentation. Raises `ShapeError`
    (wrong-rank, bad-block, indivisible or overflow).
    """
    return blocks.move_blocks(shape, rules, block, (blocks.SPACE_AXES, blocks.DEPTH_AXES[mode]), leading)


MODE_HELP = (
    "ONNX since opset 28: the order within the new channels. DCR, the default: rows of a block, columns, channels; "
    "CRD: channels, rows, columns"
)

SPACE_TO_DEPTH = Op(
    name="space_to_depth",
    summary="Move blocks of rows and columns into channels (pixel unshuffle).",
    params=(blocks.BLOCK_PARAM, Param("mode", ParamType.CHOICE, MODE_HELP, choices=(blocks.DCR, blocks.CRD))),
    resolve=space_to_depth,
    operators={
        "onnx": Operator("SpaceToDepth", {1: UP_TO_12, 13: SINCE_13, 28: SINCE_13}, params_since={"mode": 28}),
        "onnxruntime": Operator("SpaceToDepth", {1: blocks.ORT_TYPES, 13: blocks.ORT_TYPES}, params_since={"mode": 28}),
        "torch": Operator(
            "pixel_unshuffle",
            params_since=blocks.WITHOUT_MODE,
            resolve=partial(space_to_depth, mode=blocks.CRD, leading=None),
        ),
    },
    signatures=(
        ("torch", "torch.nn.functional.pixel_unshuffle(x, downscale_factor: block)"),
        ("torch", "torch.nn.PixelUnshuffle(downscale_factor: block)"),
    ),
    printed_names="spacetodepth",
    examples=(
        "space_to_depth 1,2,4,6 2",
        "space_to_depth N,C,H,W 2 --mode CRD --opset 28 --explain",
        "space_to_depth 2,4,6 2 -d torch",
    ),
    vectors=make_test_vectors(
        "block mode",
        ("1,2,4,6", "2", "2 DCR", "2 CRD", "1", "0", "-2"),
        ("2,1,6,3", "3"),
        ("1,2,3,6", "2"),
        ("1,2,4,5", "2"),
        ("2,4,6", "2"),
        ("2,1,2,4,6", "2"),
        ("4,6", "2"),
        ("1,0,4,6", "2"),
        ("1,2,0,6", "2"),
        ("N,C,H,W", "2"),
        ("N,C,4,2*W", "2"),
    ),
    fix_candidates={INDIVISIBLE: blocks.block_candidates, blocks.BAD_BLOCK: blocks.block_candidates},
)
