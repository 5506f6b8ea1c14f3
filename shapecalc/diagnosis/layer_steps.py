"""Advice for a layer and an input with different numbers of features or channels.

The message contains the shape of the weight, so the failing layer is known. Only the shapes before the layer show
which side is wrong, so the advice names the shapes to print, and the change on either side.
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
    EXPORT_STEP,
    FILE_FRAMEWORKS,
    RemedyStep,
    assigned_value,
    failing_code,
    find_layer_call,
    has_loaded_weights,
    has_product,
    is_image_pipeline,
    print_step,
)
from shapecalc.diagnosis.findings import find_mismatch
from shapecalc.diagnosis.known_sizes import MIN_IMAGE_SIDE
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.reading import ParsedMessage, size_product
from shapecalc.diagnosis.suggestions import numeric_sizes

EMPTY_ROWS_REMEDY = (
    "print what the input is selected or cut from: find what left 0 rows, as a selection, a mask, a filter or a limit; "
    "skip the layer only if none is a valid case"
)
IMAGE_SHAPE = re.compile(r"shape=\((?:None|\d+), (\d+), (\d+), ([134])\)")
"""The shape of a batch of images, as printed by Keras."""
MEL_BINS = (40, 64, 80, 100, 128)
"""The usual numbers of mel bins. Source: the configurations of HiFi-GAN, Vocos, Whisper and Tacotron."""
AUDIO_WORDS = re.compile(r"(?i)\bmel|_mel|vocod|spectro|hifi.?gan|tacotron")
COLOURS = {1: "grey", 3: "RGB", 4: "RGBA"}
"""The kind of an image, keyed by its number of channels."""
COEFFICIENTS = re.compile(r"(?i)theta|coef|beta|\bw\b|weight|params")
"""A name for the coefficients of a regression."""
CONSTANT_FIRST = re.compile(r"\w+ = \[1(?:\.0*)?\] ?\+ ?([A-Za-z_]\w*)")
"""A list with the constant of a regression as its first item."""
UNKNOWN_LAYER = "the second operand"
LINEAR_WORDS = re.compile(r"(?i)linear|dense|\bfc\d?\b|addmm")
"""Words in a traceback that name a linear layer."""
CONVERSIONS = {
    (1, 3): "image.convert('RGB'), or x.repeat(1, 3, 1, 1)",
    (3, 1): "image.convert('L')",
    (4, 3): "image.convert('RGB'), or x[:, :3]",
    (3, 4): "image.convert('RGBA')",
}
"""The code that converts an image, keyed by its actual and its expected number of channels."""
PERMUTE_CALL = re.compile(r"x\.permute\(([\d, ]+)\)")
"""A call of `permute` in a step."""
MAX_FLAT_SIDE = 64
"""The maximum side of a feature map that is the input of a linear layer."""
MIN_FEATURES = 16
"""The minimum number of channels of a flattened feature map."""


class LayerMismatch(Record):
    """The mismatching sizes of a layer and its input."""

    actual: int
    """The number of features or channels of the input."""
    expected: int
    """The number of features or channels that the weight requires."""
    shape: tuple[int | str, ...]
    """The shape of the input, or an empty tuple if it is unknown."""
    axis: int
    """The feature or channel axis of the input."""
    layer: str
    """The constructor call of the layer, or a name of the layer if its sizes are unknown."""
    rebuilt: str
    """The constructor call of a layer for this input, or an empty string if it is unknown."""


def find_layer_mismatch(message: ParsedMessage) -> LayerMismatch | None:
    """Return the mismatch of a layer and its input, or None if a message is not about a layer."""
    is_layer = message.op in (LINEAR.name, MATMUL.name, CONV.name)
    shape, weight = message.input or (), (message.operands or ((),))[0]
    if message.framework == "torch" and message.cause == "features-differ" and shape and len(weight) == 1:
        actual, expected = shape[-1], weight[0]
        if not isinstance(actual, int) or not isinstance(expected, int):
            return None
        norm = "nn.LayerNorm({})".format
        return LayerMismatch(actual, expected, shape, len(shape) - 1, norm(expected), norm(actual))
    if not is_layer or message.cause not in ("inner-differs", "channels-differ"):
        return None
    pair = numeric_sizes(find_mismatch(message, None) or _paired_sizes(message, shape, weight))
    if len(pair) != 2:
        return None
    actual, expected = pair
    if actual == expected:
        return None
    is_last = message.op != CONV.name or message.framework in ("tensorflow", "keras", "tflite", "mlx", "jax")
    axis = len(shape) - 1 if is_last else min(1, len(shape) - 1)
    build = _describe_conv if message.op == CONV.name else _describe_linear
    layer, rebuilt = build(message, actual, expected, numeric_sizes(weight))
    return LayerMismatch(actual, expected, shape, axis, layer, rebuilt)


def _paired_sizes(message: ParsedMessage, shape: PrintedSizes, weight: PrintedSizes) -> PrintedSizes:
    """Return the size of the input and the size of the weight that must be equal, or an empty tuple."""
    channels = weight[1] if len(weight) > 1 else 0
    if message.op == CONV.name and len(shape) > 1 and isinstance(channels, int) and channels:
        return shape[1], channels * (message.groups or 1)
    return (shape[-1], weight[-2:][0]) if message.op == MATMUL.name and shape and weight else ()


def _describe_linear(message: ParsedMessage, actual: int, expected: int, weight: tuple[int, ...]) -> tuple[str, str]:
    """Return the constructor calls of a linear layer for the expected and for the actual features.

    The first result is a name of the layer if its sizes are unknown. The second result is then empty.
    """
    if message.node:
        name = (
            f"the layer {message.node}" if message.framework in ("keras", "tensorflow") else f"the node {message.node}"
        )
        return name, ""
    call = find_layer_call(message)
    if message.framework == "torch" and len(weight) == 2:
        name = f"{call.layer}, " if call else "" if LINEAR_WORDS.search(message.text) else "the second operand, as of "
        return f"{name}nn.Linear({expected}, {weight[1]})", f"nn.Linear({actual}, {weight[1]})"
    if call:
        return call.layer, ""
    is_layer = message.framework == "keras" or "input_size" in message.quote or "embedding dimension" in message.quote
    return ("the layer" if is_layer else UNKNOWN_LAYER), ""


def _describe_conv(message: ParsedMessage, actual: int, expected: int, weight: tuple[int, ...]) -> tuple[str, str]:
    """Return the constructor calls of a convolution for the expected and for the actual channels.

    The first result is a name of the layer if its sizes are unknown. The second result is then empty.
    """
    call = find_layer_call(message)
    if message.framework != "torch" or len(weight) < 3:
        return f"the node {message.node}" if message.node else call.layer if call else "the layer", ""
    is_transposed = weight[0] == expected != weight[1] * (message.groups or 1)
    outputs = weight[1] * (message.groups or 1) if is_transposed else weight[0]
    kernel = str(weight[2]) if len({*weight[2:]}) == 1 else f"({', '.join(map(str, weight[2:]))})"
    groups = f", groups={message.groups}" if (message.groups or 1) > 1 else ""
    name = f"nn.Conv{'Transpose' if is_transposed else ''}{len(weight) - 2}d"
    prefix = f"{call.layer}, " if call else ""
    rebuilt = "" if groups else f"{name}({actual}, {outputs}, {kernel})"
    return f"{prefix}{name}({expected}, {outputs}, {kernel}{groups})", rebuilt


def iter_layer_steps(message: ParsedMessage) -> Iterator[RemedyStep]:
    """Yield advice for a layer and an input with mismatching sizes, the likeliest first."""
    mismatch = find_layer_mismatch(message)
    if mismatch is None and message.op == MATMUL.name and message.framework in FILE_FRAMEWORKS:
        node = f"the node {message.node}" if message.node else "the node that fails"
        text = (
            f"{print_step(message, '')}; in Netron, look at {node}: if one of its inputs is a constant, that is fixed"
        )
        yield RemedyStep(text, False)
    if mismatch is None:
        return
    if 0 in mismatch.shape:
        yield RemedyStep(EMPTY_ROWS_REMEDY, True)
        return
    if has_product(message) or (message.framework == "numpy" and message.op == MATMUL.name):
        yield from _product_steps(message, mismatch)
        return
    steps = _conv_steps if message.op == CONV.name else _linear_steps
    yield from steps(message, mismatch)


def _product_steps(message: ParsedMessage, mismatch: LayerMismatch) -> Iterator[RemedyStep]:
    """Yield advice for a matrix product in the user's code."""
    shape, other = message.input or (), (message.operands or ((),))[0]
    names = message.failing_line.operands if message.failing_line else ()
    left, right = names if len(names) == 2 else ("the first", "the second")
    if len(shape) == 2 and other and shape[0] == other[0]:
        yield RemedyStep(
            f"if {left} is to be transposed, write a.T @ b: {shape[1]},{shape[0]} with {format_sizes(other)}", True
        )
    elif len(shape) == len(other) == 2 and shape[1] == other[1]:
        yield RemedyStep(
            f"if {right} is to be transposed, write a @ b.T: {shape[0]},{shape[1]} with {other[1]},{other[0]}", True
        )
    elif text := _bias_advice(message, names, mismatch):
        yield RemedyStep(text, True)
    elif not shape and abs(mismatch.actual - mismatch.expected) == 1 and COEFFICIENTS.search(failing_code(message)):
        text = "if these are coefficients, give both the constant, or neither: np.c_[np.ones(len(X)), X]"
        yield RemedyStep(text, True)
    elif len(shape) == 2 and len(other) == 1 and abs(mismatch.actual - mismatch.expected) == 1:
        text = "one side has a column more: if it is the constant, as add_constant inserts it, give both it, or neither"
        yield RemedyStep(text, True)
    printed = print_step(message, "a.shape, b.shape")
    dim = "only" if len(other) == 1 else "last but one"
    actual, expected = mismatch.actual, mismatch.expected
    text = f"{printed}: the last dim of {left}, {actual}, must equal the {dim} dim of {right}, {expected}"
    yield RemedyStep(text, False)
    yield RemedyStep(f"find where {actual} and {expected} are set, and make them one number", False)


def _bias_advice(message: ParsedMessage, names: tuple[str, ...], mismatch: LayerMismatch) -> str:
    """Return the advice for a vector that starts with a constant term, or an empty string."""
    for name in names:
        match = CONSTANT_FIRST.match(f"{name} = {assigned_value(message, name)}")
        if match and abs(mismatch.actual - mismatch.expected) == 1 and len(names) == 2:
            other = names[0] if name == names[1] else names[1]
            return (
                f"print(len({match[1]}), len({other})) before that line: {name} holds the constant 1 and all of "
                f"{match[1]}; if {match[1]} still holds the value to predict, leave it out, as {match[1]}[:-1], or "
                f"give {other} one weight for each"
            )
    return ""


def _linear_steps(message: ParsedMessage, mismatch: LayerMismatch) -> Iterator[RemedyStep]:
    """Yield advice for a linear layer."""
    shape = numeric_sizes(mismatch.shape)
    rows = size_product(shape[:-1]) if len(shape) > 1 else None
    dims = [axis for axis, size in enumerate(shape[:-1]) if size == mismatch.expected and axis]
    printed = print_step(message, "x.shape")
    if message.framework == "keras":
        yield from _keras_steps(message, mismatch)
        return
    read = f"its last dim is {mismatch.actual}, and {mismatch.layer} reads {mismatch.expected}"
    if message.framework in FILE_FRAMEWORKS:
        node = f"the node {message.node}" if message.node else "the node that fails"
        text = (
            f"{printed}; {node} pairs {mismatch.actual} with {mismatch.expected}: in Netron, look which of the two is "
            "a constant of the file"
        )
        yield RemedyStep(text, False)
        yield RemedyStep(EXPORT_STEP, False)
        return
    if mismatch.layer == UNKNOWN_LAYER:
        printed = print_step(message, "a.shape, b.shape")
        read = (
            f"the last dim of the first is {mismatch.actual}, and the second, a weight or a tensor, pairs "
            f"{mismatch.expected} with it"
        )
    if text := _packed_advice(mismatch) or _image_size_advice(message, mismatch):
        yield RemedyStep(text, True)
    if text := _feature_map_advice(message, mismatch, rows):
        yield RemedyStep(text, True)
    if dims and len(shape) > 2:
        code = "x.permute(0, 2, 3, 1)" if len(shape) == 4 and dims[-1] == 1 else f"x.transpose({dims[-1]}, -1)"
        yield RemedyStep(
            f"dim {dims[-1]} is {mismatch.expected}: if those are the features, move it to the end: {code}", True
        )
    elif message.framework == "torch" and rows and rows > mismatch.expected > 0 == rows % mismatch.expected:
        move = f"if another dim is {mismatch.expected}, move it to the end: x.transpose(1, -1)"
        yield RemedyStep(f"{printed}: {read}; {move}", False)
    else:
        yield RemedyStep(f"{printed}: {read}", False)
    weight = numeric_sizes((message.operands or ((),))[0])
    if message.framework == "torch" and weight[1:] == (mismatch.actual,) != (1,) and not find_layer_call(message):
        text = f"the second has {mismatch.actual} as its last dim: in a product of your own, x @ w, write x @ w.T"
        yield RemedyStep(text, False)
    yield RemedyStep(_choice_advice(message, mismatch, "features"), False)


def _keras_steps(message: ParsedMessage, mismatch: LayerMismatch) -> Iterator[RemedyStep]:
    """Yield advice for a Keras layer.

    The first input, or the saved model, determined the sizes of the layer.
    """
    shape = mismatch.shape
    if len(shape) == 3 and mismatch.axis == 2 and isinstance(shape[1], int) and shape[1] < mismatch.actual:
        near = (
            ""
            if shape[1] == mismatch.expected
            else f", of which {shape[1]} are there where {mismatch.expected} were declared"
        )
        yield RemedyStep(
            f"print(x.shape): a layer reads the last axis as features, {mismatch.actual} here; if those are the steps, "
            f"and dim 1 the features{near}, write x.transpose(0, 2, 1), and declare the shape (steps, features)",
            message.op == LINEAR.name and mismatch.expected * 4 < mismatch.actual,
        )
    dim = f"dim {mismatch.axis}" if mismatch.axis != len(mismatch.shape) - 1 else "the last dim"
    yield RemedyStep(
        f"print the shape that you give to the model, and model.summary(): {mismatch.layer} was built for "
        f"{mismatch.expected} at {dim}, and gets {mismatch.actual}",
        False,
    )
    yield RemedyStep(
        f"give the model inputs of the size and the columns with which it was built, or build it again for these, so "
        f"that {mismatch.layer} reads {mismatch.actual}",
        False,
    )


def _feature_map_advice(message: ParsedMessage, mismatch: LayerMismatch, rows: int | None) -> str:
    """Return the advice for an unflattened feature map or a sequence of scalars.

    Returns an empty string if the advice does not apply.
    """
    is_map = (
        "nn.Linear" in mismatch.rebuilt
        and rows
        and 1 < mismatch.actual <= MAX_FLAT_SIDE
        and rows % (mismatch.expected * mismatch.actual) == 0
    )
    if message.framework == "torch" and is_map and mismatch.expected >= MIN_FEATURES:
        side = mismatch.actual
        return (
            f"if x is maps of {side}x{side} with {mismatch.expected} channels, pool and flatten them before the layer, "
            f"F.adaptive_avg_pool2d(x, 1).flatten(1), or build it for {mismatch.expected * side * side} after "
            "x.flatten(1)"
        )
    if mismatch.expected == 1 and "input_size" in message.quote:
        return (
            f"each step of a sequence has {mismatch.actual} features here and 1 in the layer: if the "
            f"{mismatch.actual} are the steps, x[..., None]"
        )
    return ""


def _packed_advice(mismatch: LayerMismatch) -> str:
    """Return the advice for unpacked latents in a FLUX model, or an empty string."""
    if (mismatch.actual, mismatch.expected) != (16, 64) or "64, 3072" not in mismatch.rebuilt.replace("16", "64"):
        return ""
    return (
        "64 = 16*2*2: FLUX packs latents of 16 channels by 2x2, and reads 64; if this layer is of a FLUX model or of "
        "its ControlNet, take base model, ControlNet and nodes of one family"
    )


def _image_size_advice(message: ParsedMessage, mismatch: LayerMismatch) -> str:
    """Return the advice for a Keras model built for another image size, or an empty string.

    The text contains the size of the images. The number of flattened features is proportional to their area.
    """
    match = IMAGE_SHAPE.search(message.text)
    small, large = sorted((mismatch.actual, mismatch.expected))
    side = isqrt(large // small) if small > 0 else 0
    if match is None or message.framework != "keras" or side < 2 or side * side * small != large:
        return ""
    height, width, channels = map(int, match.groups())
    built = [size // side if mismatch.actual == large else size * side for size in (height, width)]
    return (
        f"the text names pictures of {height}x{width}, and the layer would fit {built[0]}x{built[1]}: build it with "
        f"input_shape=({height}, {width}, {channels}), or load the pictures with target_size=({built[0]}, {built[1]})"
    )


def _conv_steps(message: ParsedMessage, mismatch: LayerMismatch) -> Iterator[RemedyStep]:
    """Yield advice for a convolution."""
    shape = numeric_sizes(mismatch.shape)
    weight = numeric_sizes((message.operands or ((),))[0])
    if message.framework == "mlx" and len(shape) == len(weight) > 2 and weight[1] == shape[-1] != weight[-1]:
        order = ", ".join(map(str, (0, *range(2, len(weight)), 1)))
        yield RemedyStep(
            f"dim 1 of the weight is {weight[1]}, the channels of the input, and MLX has them last: if the weight is "
            f"from PyTorch, w.transpose({order}), for kernels of 1 too",
            True,
        )
        return
    moved = _write_for_framework(_move_channels_advice(shape, mismatch), message.framework)
    if text := moved or _convert_image_advice(message, shape, mismatch):
        yield RemedyStep(text, True)
    dim = f"dim {mismatch.axis}" if mismatch.shape else "the channel dim"
    printed = print_step(message, "x.shape")
    if mismatch.expected in MEL_BINS and AUDIO_WORDS.search(message.text):
        text = (
            f"{printed}: {mismatch.expected} are usual bins of a mel spectrogram, read at dim 1, where "
            f"{mismatch.actual} come; if these are its frames, swap the two axes before the model, (batch, bins, "
            "frames)"
        )
        yield RemedyStep(text, True)
    if message.framework in FILE_FRAMEWORKS:
        yield RemedyStep(
            f"{printed}: {mismatch.layer} takes {mismatch.expected} channels, and gets {mismatch.actual}", False
        )
        if not message.node:
            yield RemedyStep(EXPORT_STEP, False)
            return
    else:
        yield RemedyStep(
            f"{printed}: {dim} is {mismatch.actual}, and {mismatch.layer} reads {mismatch.expected}", False
        )
    pair = (mismatch.actual, mismatch.expected)
    if len(shape) == 3 and pair == (2, 1):
        yield RemedyStep("if it is stereo audio, make it mono: x.mean(1, keepdim=True)", False)
    if not shape and pair in CONVERSIONS and pair != (3, 4):
        names = f"{COLOURS[mismatch.actual]} to {COLOURS[mismatch.expected]}"
        yield RemedyStep(f"if it is a picture, convert it from {names}, as by {_convert(message, pair)}", False)
    yield RemedyStep(_choice_advice(message, mismatch, "channels"), False)


def _move_channels_advice(shape: tuple[int, ...], mismatch: LayerMismatch) -> str:
    """Return the advice to move the channels to axis 1, or an empty string."""
    axes = [axis for axis, size in enumerate(shape) if size == mismatch.expected and axis not in (0, mismatch.axis)]
    if len(axes) != 1 or mismatch.axis != 1 or (len(shape) > 3 and axes[0] not in (2, len(shape) - 1)):
        return ""
    axis, rank = axes[0], len(shape)
    if rank == 3 or (rank == 5 and axis == 2):
        return f"dim {axis} is {mismatch.expected}: if those are the channels, swap the axes, x.transpose(1, {axis})"
    if rank == 4 and axis == 2 and shape[axis] in COLOURS and mismatch.actual >= MIN_IMAGE_SIDE:
        return f"dim 2 is {mismatch.expected}: if those are the channels, which are read at dim 1, x.transpose(1, 2)"
    if axis == rank - 1 and shape[axis] <= min(shape[1:axis], default=0):
        order = ", ".join(map(str, (0, axis, *range(1, axis))))
        channels = f"the last dim is {mismatch.expected}: if those are the channels, which are read at dim 1"
        return f"{channels}, x.permute({order})"
    return ""


def _write_for_framework(step: str, framework: str | None) -> str:
    """Replace PyTorch code in a step by Paddle or NumPy code, depending on the framework."""
    if framework == "paddle":
        return PERMUTE_CALL.sub(r"x.transpose([\1])", step).replace("x.transpose(1, ", "paddle.moveaxis(x, 1, ")
    if framework in FILE_FRAMEWORKS:
        return PERMUTE_CALL.sub(r"x.transpose(\1)", step).replace("x.transpose(1, ", "x.swapaxes(1, ")
    return step


def _convert(message: ParsedMessage, pair: tuple[int, int]) -> str:
    """Return the code that converts an image.

    The code for tensors is included only for PyTorch, ONNX Runtime and unknown frameworks.
    """
    is_torch = message.framework in ("torch", "onnxruntime", None)
    return CONVERSIONS[pair] if is_torch else CONVERSIONS[pair].partition(", or x")[0]


def _convert_image_advice(message: ParsedMessage, shape: tuple[int, ...], mismatch: LayerMismatch) -> str:
    """Return the advice to convert an image to the expected channels, or an empty string."""
    sides = [size for axis, size in enumerate(shape) if axis not in (0, mismatch.axis)]
    pair = (mismatch.actual, mismatch.expected)
    is_picture = pair in CONVERSIONS and len(sides) == 2 and min(sides) >= MIN_IMAGE_SIDE
    if not is_picture or (4 in pair and is_image_pipeline(message)):
        return ""
    if pair == (3, 4):
        build = f", or build the first layer for 3, {mismatch.rebuilt}" if mismatch.rebuilt else ""
        return (
            f"{print_step(message, 'x.shape')}, and find what the 4 channels of the layer are: alpha, depth, a mask, "
            f"or the four colours of a packed raw frame; give it those 4{build}; only if it is a picture and the "
            f"fourth is alpha, {_convert(message, pair)}"
        )
    return (
        f"if it is a picture, convert it from {COLOURS[mismatch.actual]} to {COLOURS[mismatch.expected]}: "
        f"{_convert(message, pair)}"
        + (f"; or build the first layer for it, {mismatch.rebuilt}" if mismatch.rebuilt else "")
    )


def _choice_advice(message: ParsedMessage, mismatch: LayerMismatch, noun: str) -> str:
    """Return the advice to change either the layer or its input."""
    if is_image_pipeline(message) and mismatch.expected > 4:
        return (
            f"if parts come from several files, check that checkpoint, text encoder, VAE, ControlNet and LoRA are of "
            f"one model family: the layer takes {mismatch.expected} {noun}, and gets {mismatch.actual}"
        )
    build = f"build {mismatch.rebuilt}" if mismatch.rebuilt else f"build the layer for {mismatch.actual}"
    if has_loaded_weights(message):
        return (
            f"if the weights are loaded, give the layer the {mismatch.expected} {noun} of their training: compare the "
            f"settings that make {mismatch.actual} with those of the checkpoint; if you train it, {build}"
        )
    actual, expected = mismatch.actual, mismatch.expected
    return f"if {actual} is right, {build}; if {expected} is right, find the line that makes {actual}"
