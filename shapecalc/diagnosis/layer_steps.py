"""First steps for a layer whose input has another number of features or channels than its weight.

The shape of the weight is in the message, so it is known which layer fails and what it reads. Only the shapes before
the layer show which side is wrong; each step names what to print, and the change on either side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isqrt

from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.record import Record
from shapecalc.diagnosis.evidence import (
    FILE_FRAMEWORKS,
    Step,
    failing_code,
    find_layer_call,
    has_families,
    has_product,
    is_loaded,
    print_shapes,
)
from shapecalc.diagnosis.findings import find_mismatch
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.reading import ParsedMessage, size_product
from shapecalc.diagnosis.suggestions import numeric_sizes

EMPTY_ROWS_REMEDY = "find what left 0 rows above: a selection, a mask or a filter; skip the layer where it is empty"
PICTURE_SHAPE = re.compile(r"shape=\((?:None|\d+), (\d+), (\d+), ([134])\)")
"""The shape of a batch of pictures, as Keras prints it."""
COLOURS = {1: "grey", 3: "RGB", 4: "RGBA"}
"""The kinds of pictures by their number of channels."""
COEFFICIENTS = re.compile(r"(?i)theta|coef|beta|\bw\b|weight|params")
"""The names of the coefficients of a regression."""
UNKNOWN_LAYER = "the second operand"
CONVERSIONS = {
    (1, 3): "image.convert('RGB'), or x.repeat(1, 3, 1, 1)",
    (3, 1): "image.convert('L')",
    (4, 3): "image.convert('RGB'), or x[:, :3]",
    (3, 4): "image.convert('RGBA')",
}
"""The conversions of a picture, by its actual and its expected number of channels."""
MIN_SIDE = 8
"""The minimum height and width of a picture."""
MIN_MAP_SIDE, MAX_MAP_SIDE = 2, 64
"""The minimum and the maximum side of a map that reaches a linear layer."""
MIN_FEATURES = 16
"""The minimum number of channels of a map that was flattened."""
MAX_JOINED = 8
"""The maximum number of inputs that are joined along their channels."""


class LayerMismatch(Record):
    """The sizes of a layer and of its input."""

    given: int
    """The number of features or channels of the input."""
    wanted: int
    """The number of features or channels that the weight takes."""
    shape: tuple[int | str, ...]
    """The shape of the input, or an empty tuple if it is unknown."""
    axis: int
    """The axis of the input with its features or channels."""
    layer: str
    """The layer as a constructor with its sizes, or its name."""
    rebuilt: str
    """The layer as a constructor for the input's size, or an empty string if it is unknown."""


def find_layer_mismatch(message: ParsedMessage) -> LayerMismatch | None:
    """Return the layer of a message and its input, or None if the message is not about a layer."""
    is_layer = message.op in (LINEAR.name, MATMUL.name, CONV.name)
    shape, weight = message.input or (), (message.operands or ((),))[0]
    if message.framework == "torch" and message.cause == "features-differ" and shape and len(weight) == 1:
        given, wanted = shape[-1], weight[0]
        if not isinstance(given, int) or not isinstance(wanted, int):
            return None
        norm = "nn.LayerNorm({})".format
        return LayerMismatch(given, wanted, shape, len(shape) - 1, norm(wanted), norm(given))
    if not is_layer or message.cause not in ("inner-differs", "channels-differ"):
        return None
    pair = numeric_sizes(find_mismatch(message, None) or _paired_sizes(message, shape, weight))
    if len(pair) != 2:
        return None
    given, wanted = pair
    is_last = message.op != CONV.name or message.framework in ("tensorflow", "keras", "tflite", "mlx", "jax")
    axis = len(shape) - 1 if is_last else min(1, len(shape) - 1)
    build = _describe_conv if message.op == CONV.name else _describe_linear
    layer, rebuilt = build(message, given, wanted, numeric_sizes(weight))
    return LayerMismatch(given, wanted, shape, axis, layer, rebuilt)


def _paired_sizes(message: ParsedMessage, shape: PrintedSizes, weight: PrintedSizes) -> PrintedSizes:
    """Return the size of the input and of the weight that a layer pairs, or an empty tuple."""
    channels = weight[1] if len(weight) > 1 else 0
    if message.op == CONV.name and len(shape) > 1 and isinstance(channels, int) and channels:
        return shape[1], channels * (message.groups or 1)
    return (shape[-1], weight[-2:][0]) if message.op == MATMUL.name and shape and weight else ()


def _describe_linear(message: ParsedMessage, given: int, wanted: int, weight: tuple[int, ...]) -> tuple[str, str]:
    """Return a linear layer as it is built, and as it is built for the given features."""
    if message.node:
        name = (
            f"the layer {message.node}" if message.framework in ("keras", "tensorflow") else f"the node {message.node}"
        )
        return name, ""
    call = find_layer_call(message)
    if message.framework == "torch" and len(weight) == 2:
        name = f"{call.layer}, " if call else ""
        return f"{name}nn.Linear({wanted}, {weight[1]})", f"nn.Linear({given}, {weight[1]})"
    if call:
        return call.layer, ""
    is_layer = message.framework == "keras" or "input_size" in message.quote or "embedding dimension" in message.quote
    return ("the layer" if is_layer else UNKNOWN_LAYER), ""


def _describe_conv(message: ParsedMessage, given: int, wanted: int, weight: tuple[int, ...]) -> tuple[str, str]:
    """Return a convolution as it is built, and as it is built for the given channels."""
    call = find_layer_call(message)
    if message.framework != "torch" or len(weight) < 3:
        return f"the node {message.node}" if message.node else call.layer if call else "the layer", ""
    is_transposed = weight[0] == wanted != weight[1] * (message.groups or 1)
    outputs = weight[1] * (message.groups or 1) if is_transposed else weight[0]
    kernel = str(weight[2]) if len({*weight[2:]}) == 1 else f"({', '.join(map(str, weight[2:]))})"
    groups = f", groups={message.groups}" if (message.groups or 1) > 1 else ""
    name = f"nn.Conv{'Transpose' if is_transposed else ''}{len(weight) - 2}d"
    prefix = f"{call.layer}, " if call else ""
    rebuilt = "" if groups else f"{name}({given}, {outputs}, {kernel})"
    return f"{prefix}{name}({wanted}, {outputs}, {kernel}{groups})", rebuilt


def iter_layer_steps(message: ParsedMessage) -> Iterator[Step]:
    """Yield the first steps for a layer and an input that do not fit, the likeliest first."""
    found = find_layer_mismatch(message)
    if found is None and message.op == MATMUL.name and message.framework in FILE_FRAMEWORKS:
        node = f"the node {message.node}" if message.node else "the node that fails"
        text = (
            f"{print_shapes(message, '')}; {node} multiplies it, or what follows from it, by a weight of another size"
        )
        yield Step(text, False)
    if found is None:
        return
    if 0 in found.shape:
        yield Step(EMPTY_ROWS_REMEDY, True)
        return
    if has_product(message) or (message.framework == "numpy" and message.op == MATMUL.name):
        yield from _product_steps(message, found)
        return
    steps = _conv_steps if message.op == CONV.name else _linear_steps
    yield from steps(message, found)


def _product_steps(message: ParsedMessage, found: LayerMismatch) -> Iterator[Step]:
    """Yield steps for a product of two matrices of the user."""
    shape, other = message.input or (), (message.operands or ((),))[0]
    names = message.failing_line.operands if message.failing_line else ()
    left, right = names if len(names) == 2 else ("the first", "the second")
    if len(shape) == 2 and other and shape[0] == other[0]:
        yield Step(
            f"if {left} is to be transposed, write a.T @ b: {shape[1]},{shape[0]} with {format_sizes(other)}", True
        )
    elif len(shape) == len(other) == 2 and shape[1] == other[1]:
        yield Step(
            f"if {right} is to be transposed, write a @ b.T: {shape[0]},{shape[1]} with {other[1]},{other[0]}", True
        )
    elif not shape and abs(found.given - found.wanted) == 1 and COEFFICIENTS.search(failing_code(message)):
        text = "if these are coefficients, give both the constant, or neither: np.c_[np.ones(len(X)), X]"
        yield Step(text, True)
    elif len(shape) == 2 and len(other) == 1 and abs(found.given - found.wanted) == 1:
        text = "give both the constant column, or neither: one side has a column more, as add_constant inserts it"
        yield Step(text, True)
    printed = print_shapes(message, "a.shape, b.shape")
    dim = "only" if len(other) == 1 else "last but one"
    text = f"{printed}: the last dim of {left}, {found.given}, must equal the {dim} dim of {right}, {found.wanted}"
    yield Step(text, False)
    yield Step(f"find where {found.given} and {found.wanted} are set, and make them one number", False)


def _linear_steps(message: ParsedMessage, found: LayerMismatch) -> Iterator[Step]:
    """Yield steps for a linear layer."""
    shape = numeric_sizes(found.shape)
    rows = size_product(shape[:-1]) if len(shape) > 1 else None
    dims = [axis for axis, size in enumerate(shape[:-1]) if size == found.wanted and axis]
    printed = print_shapes(message, "x.shape")
    if message.framework == "keras":
        yield from _keras_steps(found)
        return
    read = f"its last dim is {found.given}, and {found.layer} reads {found.wanted}"
    if message.framework in FILE_FRAMEWORKS:
        read = f"{found.layer} gets {found.given} features from it, and takes {found.wanted}"
    elif found.layer == UNKNOWN_LAYER:
        printed = print_shapes(message, "a.shape, b.shape")
        read = (
            f"the last dim of the first is {found.given}, and the second, a weight or a tensor, has {found.wanted} "
            "to pair with it"
        )
    if text := _picture_step(message, found):
        yield Step(text, True)
    if text := _map_step(message, found, rows):
        yield Step(text, True)
    if dims and len(shape) > 2:
        code = "x.permute(0, 2, 3, 1)" if len(shape) == 4 and dims[-1] == 1 else f"x.transpose({dims[-1]}, -1)"
        yield Step(f"move axis {dims[-1]}, which has {found.wanted}, to the end: {code}", True)
    elif message.framework == "torch" and rows and rows % found.wanted == 0 and rows > found.wanted:
        move = f"if another dim is {found.wanted}, move it to the end: x.transpose(1, -1)"
        yield Step(f"{printed}: {read}; {move}", False)
    else:
        yield Step(f"{printed}: {read}", False)
    weight = numeric_sizes((message.operands or ((),))[0])
    if message.framework == "torch" and weight[1:] == (found.given,) != (1,) and not find_layer_call(message):
        text = f"the second has {found.given} as its last dim: in a product of your own, x @ w, write x @ w.T"
        yield Step(text, False)
    yield Step(_decide(message, found, "features"), False)


def _keras_steps(found: LayerMismatch) -> Iterator[Step]:
    """Yield steps for a layer of Keras, which was built by its first input or by the saved model."""
    dim = f"dim {found.axis}" if found.axis != len(found.shape) - 1 else "the last dim"
    yield Step(
        f"print the shape that you give to the model, and model.summary(): {found.layer} was built for "
        f"{found.wanted} at {dim}, and gets {found.given}",
        False,
    )
    yield Step(
        f"give the model inputs of the size and the columns with which it was built, or build it again for these, so "
        f"that {found.layer} reads {found.given}",
        False,
    )


def _map_step(message: ParsedMessage, found: LayerMismatch, rows: int | None) -> str:
    """Return the step for maps, transposed weights or steps of one feature that reach a layer, or an empty string."""
    is_map = (
        "nn.Linear" in found.layer
        and rows
        and MIN_MAP_SIDE <= found.given <= MAX_MAP_SIDE
        and rows % (found.wanted * found.given) == 0
    )
    if message.framework == "torch" and is_map and found.wanted >= MIN_FEATURES:
        side = found.given
        return (
            f"{found.wanted} channels of a {side}x{side} map reach the layer: pool and flatten them before it, "
            f"F.adaptive_avg_pool2d(x, 1).flatten(1), or build it for {found.wanted * side * side} after x.flatten(1)"
        )
    if found.wanted == 1 and "input_size" in message.quote:
        return (
            f"each step of a sequence has {found.given} features here and 1 in the layer: for {found.given} steps, "
            "x[..., None]"
        )
    return ""


def _picture_step(message: ParsedMessage, found: LayerMismatch) -> str:
    """Return the step for a model that was built for pictures of another size, or an empty string.

    The size of the pictures is in the text, and the number of flattened features grows with their area.
    """
    match = PICTURE_SHAPE.search(message.text)
    small, large = sorted((found.given, found.wanted))
    side = isqrt(large // small) if small > 0 else 0
    if match is None or message.framework != "keras" or side < 2 or side * side * small != large:
        return ""
    height, width, channels = map(int, match.groups())
    built = [size // side if found.given == large else size * side for size in (height, width)]
    return (
        f"the model was built for pictures of {built[0]}x{built[1]}, and is given {height}x{width}: build it with "
        f"input_shape=({height}, {width}, {channels}), or load the pictures with target_size=({built[0]}, {built[1]})"
    )


def _conv_steps(message: ParsedMessage, found: LayerMismatch) -> Iterator[Step]:
    """Yield steps for a convolution."""
    shape = numeric_sizes(found.shape)
    if text := _move_channels(shape, found) or _convert_picture(message, shape, found):
        yield Step(text, True)
    dim = f"dim {found.axis}" if found.shape else "the channel dim"
    printed = print_shapes(message, "x.shape")
    if message.framework in FILE_FRAMEWORKS:
        yield Step(f"{printed}: {found.layer} gets {found.given} channels from it, and takes {found.wanted}", False)
    else:
        yield Step(f"{printed}: {dim} is {found.given}, and {found.layer} reads {found.wanted}", False)
    pair = (found.given, found.wanted)
    if len(shape) == 3 and pair == (2, 1):
        yield Step("if it is stereo audio, make it mono: x.mean(1, keepdim=True)", False)
    if not shape and pair in CONVERSIONS:
        names = f"{COLOURS[found.given]} to {COLOURS[found.wanted]}"
        yield Step(f"if it is a picture, convert it from {names}, as by {CONVERSIONS[pair]}", False)
    yield Step(_decide(message, found, "channels"), False)


def _move_channels(shape: tuple[int, ...], found: LayerMismatch) -> str:
    """Return the step that moves the channels to the axis that the convolution reads, or an empty string."""
    axes = [axis for axis, size in enumerate(shape) if size == found.wanted and axis not in (0, found.axis)]
    if len(axes) != 1 or found.axis != 1 or (len(shape) > 3 and axes[0] not in (2, len(shape) - 1)):
        return ""
    axis, rank = axes[0], len(shape)
    if rank == 3 or (rank == 5 and axis == 2):
        return f"the {found.wanted} channels are at dim {axis}: swap the axes, x.transpose(1, {axis})"
    if rank == 4 and axis == 2 and shape[axis] in COLOURS and found.given >= MIN_SIDE:
        return f"the {found.wanted} channels are at dim 2, and this layer reads them at dim 1: x.transpose(1, 2)"
    if axis == rank - 1 and shape[axis] <= min(shape[1:axis], default=0):
        order = ", ".join(map(str, (0, axis, *range(1, axis))))
        return f"the {found.wanted} channels are last, and this layer reads them at dim 1: x.permute({order})"
    return ""


def _convert_picture(message: ParsedMessage, shape: tuple[int, ...], found: LayerMismatch) -> str:
    """Return the step that converts a picture, or an empty string."""
    sides = [size for axis, size in enumerate(shape) if axis not in (0, found.axis)]
    pair = (found.given, found.wanted)
    is_picture = pair in CONVERSIONS and len(sides) == 2 and min(sides) >= MIN_SIDE
    if not is_picture or (4 in pair and has_families(message)):
        return ""
    return f"convert the picture from {COLOURS[found.given]} to {COLOURS[found.wanted]}: {CONVERSIONS[pair]}" + (
        f"; or build the first layer for it, {found.rebuilt}" if found.rebuilt else ""
    )


def _decide(message: ParsedMessage, found: LayerMismatch, noun: str) -> str:
    """Return the step that changes the layer or its input, whichever is wrong."""
    if has_families(message) and found.wanted > 4:
        return (
            f"check that checkpoint, text encoder, VAE, ControlNet and LoRA are of one model family: the loaded layer "
            f"takes {found.wanted} {noun}, and another part makes {found.given}"
        )
    build = f"build {found.rebuilt}" if found.rebuilt else f"build the layer for {found.given}"
    if is_loaded(message):
        return (
            f"if the weights are loaded, give the layer the {found.wanted} {noun} of their training: compare the "
            f"settings that make {found.given} with those of the checkpoint; if you train it, {build}"
        )
    return f"if {found.given} is right, {build}; if {found.wanted} is right, find the line that makes {found.given}"
