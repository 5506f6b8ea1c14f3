"""Evidence in the text around a message: the line of code, the kind of program, and the values to print.

The advice of an explanation comes first only if the text supports it. Otherwise, the advice is to print the shapes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.record import Record
from shapecalc.diagnosis.reading import ParsedMessage

LOADING_WORDS = re.compile(
    r"(?i)comfy|diffusers|pre-?trained|checkpoint|ckpt|safetensors|controlnet|\blora\b|state_dict|load_model|"
    r"load_weights|transformers[/\\]|ksampler|inference|webui"
)
"""Words that suggest a program with pretrained weights."""
IMAGE_PIPELINE_WORDS = re.compile(r"(?i)comfy|diffusers|controlnet|\blora\b|ksampler|stable.?diffusion|webui")
"""Words that suggest an image pipeline of separate models: text encoder, VAE, ControlNet and LoRA."""
BMM_OPERAND = "batch2"
"""The name of the second operand of `bmm` and `baddbmm` in messages of PyTorch."""
PRODUCT_CALL = re.compile(r" @ |\.(?:mm|bmm|dot|matmul|mv|addmm|baddbmm)\(|\b(?:matmul|einsum)\(")
"""A matrix product in a line of code."""
LAYER_CALL = re.compile(
    r"(?<![\w.])(?P<layer>self(?:\.\w+|\[[\w.]+\])*\.\w+(?:\[[\w.]+\])*)\((?P<input>[A-Za-z_][\w.]*)\)"
)
"""A call of a layer with one variable."""
MODEL_CALL = re.compile(r"(?:[\w., ]+ ?= ?|return )?(?:self\.)?\w+\([\w.]+\)\s*(?:#.*)?")
"""A call of a model or a layer, inside of which an operation fails."""
MIXED_LINE = re.compile(r"(?i)real.*\+.*fake|fake.*\+.*real")
"""A mixture of real and generated pictures, as for a gradient penalty."""
RESIDUAL = re.compile(
    r"(?<![\w.])(?:(?P<a>[A-Za-z_]\w*) \+ [\w.]+\((?P=a)[,)]|[\w.]+\((?P<b>[A-Za-z_]\w*)[^()]*\) \+ (?P=b)\b)"
)
"""A sum of a tensor and the output of a layer for this tensor."""

ONNX_FRAMEWORKS = ("onnx", "onnxruntime", "openvino", "tensorrt")
"""The frameworks that may run an ONNX file with declared shapes."""
FILE_FRAMEWORKS = (*ONNX_FRAMEWORKS, "tflite", "coreml", "opencv")
"""The frameworks that run model files. A user cannot print shapes inside such a model."""
PRINT_DETAILS = "print([(d['name'], d['shape']) for d in interpreter.get_input_details()]) and x.shape"
"""The code that prints the input shapes of a TensorFlow Lite model and of the given array."""
INPUT_PRINTS = {
    "onnxruntime": "print([(i.name, i.shape) for i in session.get_inputs()]) and the shapes that you feed",
    "openvino": "print(model.inputs) and the shapes that you feed",
    "coreml": "print(model.get_spec().description.input) and the shapes that you feed",
    "tflite": PRINT_DETAILS,
}
"""The code that prints a model's input shapes, keyed by framework. Source: the frameworks' documentation."""
LIST_ARGUMENT = re.compile(r"(?:cat|concat|concatenate|[hvd]?stack)\(([A-Za-z_][\w.]*)\s*[,)]")
"""A concatenation of a variable, which contains the list of operands."""
EXPORT_STEP = "if the file holds a size of its export, give the model that size, or export it again with dynamic axes"
MAX_ASSIGNED_TEXT = 4000
"""The number of characters, at the end of a text, that are searched for assignments."""
MAX_RECENT = 240
"""The number of characters above a message that may contain the failing line of a library."""


class RemedyStep(Record):
    """The advice to the user."""

    text: str
    is_supported: bool


class LayerCall(Record):
    """A call of a layer in a line of code."""

    layer: str
    input: str


def has_loaded_weights(message: ParsedMessage) -> bool:
    """Return whether the program probably loads pretrained weights."""
    return LOADING_WORDS.search(message.text) is not None


def is_image_pipeline(message: ParsedMessage) -> bool:
    """Return whether a message is probably from an image pipeline of separate models."""
    return IMAGE_PIPELINE_WORDS.search(message.text) is not None


def failing_code(message: ParsedMessage) -> str:
    """Return the failing line of the user's code, or an empty string."""
    return message.failing_line.text if message.failing_line else ""


def find_layer_call(message: ParsedMessage) -> LayerCall | None:
    """Return the call of a layer in the failing line, or None."""
    call = LAYER_CALL.search(failing_code(message))
    return LayerCall(call["layer"], call["input"]) if call else None


def has_product(message: ParsedMessage) -> bool:
    """Return whether the failing line or the message is about a product of two tensors.

    A linear layer in the failing line calls the product itself.
    """
    is_layer = find_layer_call(message) is not None
    return (BMM_OPERAND in message.quote and not is_layer) or PRODUCT_CALL.search(failing_code(message)) is not None


def recent_code(message: ParsedMessage) -> str:
    """Return the failing line and the end of the text above the message.

    The text above may contain the failing line of a library.
    """
    return f"{failing_code(message)} {message.nearby_text[-MAX_RECENT:]}"


def format_insertion(before: Sequence[object], after: Sequence[object]) -> str:
    """Return the index expression that turns the shape `before` into `after` by inserting a dim of 1.

    >>> format_insertion((2, 3), (2, 3, 1)), format_insertion((2, 3), (1, 2, 3)), format_insertion((2, 3), (2, 1, 3))
    ('x[..., None]', 'x[None]', 'x[:, None]')
    """
    pairs = enumerate(zip(before, after, strict=False))
    axis = next((index for index, pair in pairs if pair[0] != pair[1]), len(before))
    return "x[..., None]" if axis == len(before) else f"x[{':, ' * axis}None]"


def assigned_value(message: ParsedMessage, name: str) -> str:
    """Return the value assigned to a name in the text, or an empty string."""
    pattern = rf"(?<![\w.]){re.escape(name)} ?= ?(-?\d[\d_.]*(?=\s*$|\s+[A-Za-z_#])|\[[^\n]{{0,60}})"
    found = re.findall(pattern, message.text[-MAX_ASSIGNED_TEXT:])
    return found[-1].strip() if found else ""


def show_size(message: ParsedMessage, name: str) -> str:
    """Return the expression of a variable's shape, of a list's length, or of a number."""
    listed = LIST_ARGUMENT.search(failing_code(message))
    if listed and listed[1] == name:
        return f"[t.shape for t in {name}]"
    value = assigned_value(message, name)
    return f"len({name})" if value.startswith("[") else name if value else f"{name}.shape"


def print_step(message: ParsedMessage, default: str) -> str:
    """Return the advice to print the shapes of the values in the failing line.

    `default` lists the shapes to print if the line is unknown.
    """
    if message.framework in FILE_FRAMEWORKS:
        general = "print the shape of what you feed, and compare it with the model's inputs"
        return INPUT_PRINTS.get(message.framework or "", general)
    names = message.failing_line.operands if message.failing_line else ()
    if (
        len(names) == 1
        and message.op == BROADCAST.name
        and "," in default
        and MODEL_CALL.fullmatch(failing_code(message))
    ):
        return f"print({default}) in the innermost frame of the traceback, where the two are combined"
    shown = ", ".join(show_size(message, name) for name in names)
    place = "before that line" if names else "before the line that fails"
    return f"print({shown or default}) {place}"
