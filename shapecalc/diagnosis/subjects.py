"""Advice for messages that are not about the shape of one tensor."""

from __future__ import annotations

import re
from math import prod

from shapecalc.core.record import Record
from shapecalc.diagnosis.causes import CAUSES
from shapecalc.diagnosis.explanations import explain_message, is_channel_axis
from shapecalc.diagnosis.findings import EXPECTED_RANK, find_dim_mismatches, iter_declaration_findings
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.phrases import find_first_step
from shapecalc.diagnosis.reading import (
    CONTRADICTED_SHAPE,
    DECLARED_INPUT,
    LOSS_SUBJECT,
    MASK_SUBJECT,
    WEIGHTS_SUBJECT,
    ParsedMessage,
    size_product,
)
from shapecalc.diagnosis.suggestions import (
    INSERT_DIM_REMEDY,
    MAX_BATCH,
    numeric_sizes,
    suggest_shape_changes,
    unequal_axes,
)
from shapecalc.reasoning.figures import LABEL_WORDS, Explanation

MODEL_FILE = "FILE.onnx"
FREE_BATCH_COMMAND = f"shapecalc model {MODEL_FILE} --fix -o fixed.onnx"
"""The command that replaces a fixed batch size in a model with a symbol."""
MODEL_FILE_FRAMEWORKS = ("onnx", "onnxruntime", "openvino", "tensorrt")
"""The frameworks whose declared shapes may come from an ONNX file."""
MAX_FIXES = 2
WEAK_KINDS = ("ratio", "shared-factor", "one-size", "last-batch", "homogeneous")
"""The weakest kinds of explanations: they follow the remedy for a subject, and are omitted if a fix resolves."""
REMEDIES_BY_SUBJECT = {
    DECLARED_INPUT: "give it the declared shape, or export the model again with the other",
    MASK_SUBJECT: "build the mask from the tensor that it indexes, or pad it to its dims",
    LOSS_SUBJECT: "give predictions and targets the same dims; a flatten must keep the batch, x.flatten(1)",
    "optimization profile that does not contain the shape": "give it a shape between those of the profile, "
    "or build the engine again with one that contains it: --minShapes, --optShapes, --maxShapes",
    "guard that takes a dim as a number": "export it with an example in which that dim is 2 or more, "
    "since 0 and 1 are taken as numbers; if it still is one, find the code that makes it one: TORCH_LOGS=+dynamic",
    "guard that torch.export cannot decide": "say it before that line with "
    "torch._check(CONDITION), or write the code so that no view needs it",
    "name of a model's input": f"feed the names that the model declares: shapecalc model {MODEL_FILE} prints them",
    "call with other arguments": "pass the sizes as integers or as one tuple, and check the names of the arguments",
    "convolution that is folded back": "fold takes (N, C*kh*kw, blocks): check the channels and the number of blocks",
    CONTRADICTED_SHAPE: "remove the shapes that the file stores for inner tensors, and infer them again: "
    "onnx.shape_inference.infer_shapes",
    "delegate, which prepares the whole model again": "resize the inputs before the delegate is applied, "
    "or run without it to see the node that fails",
    "device": "move both to one device, x.to(y.device); on a CUDA error, run again with CUDA_LAUNCH_BLOCKING=1",
    "element type": "convert one of them: x.float() or x.to(y.dtype) in torch, x.astype(...) in NumPy",
    "file that is missing": "check the path, and the folder in which the program runs",
    "index": "print the index and the size of its axis: valid are 0 to size - 1; for an embedding, num_embeddings - 1",
    "memory": "take a smaller batch, a smaller element type, or process the data in parts",
    "model file or its version": "export the model again with the opset that this runtime supports, or update it",
    "module that is missing": "install the package that contains the module",
    "plugin or an inner check of the engine": "update the engine, or run the node in another runtime to compare",
    "ragged list": "bring all rows to one length before np.array, or keep them in a list",
    "storage and its bytes": "copy the data to a new array or tensor of the size that is needed",
    "unpacking of a list": "print the value: it has another number of items, or of dims, than there are names",
    WEIGHTS_SUBJECT: "load them into the model that they were saved from, with as many classes and layers, "
    "or drop those that differ from the state dict",
}
"""The remedies for messages that are not shape errors, by subject."""
AXIS_MEANINGS = (
    "the batch",
    "often channels or frames: check the settings that make them",
    "often the height of a picture, or features of another version of the model that makes them",
    "often the width of a picture",
)
"""The usual meanings of the axes of a model's input, by axis."""
WEIGHT_NAME = re.compile(r"size mismatch for ([\w.]+)")
POSITION_WEIGHT = re.compile(r"(?i)pos(?:ition)?(?:al)?_?(?:emb|enc|bias)|wpe|relative_position")
VOCABULARY_WEIGHT = re.compile(r"(?i)(?:tok|word|tgt|src|text)\w*_?emb|lm_head|shared\.|wte|vocab|lut\.|logit\.")
CLASS_WEIGHT = re.compile(r"(?i)(?:^|[._])(?:classifier|head|fc\d?|cls\w*|last_linear|predictor|output|logits)\b")
"""The names of weights whose first dim is the number of positions, of tokens or of classes."""
MAX_CLASSES = 25_000
"""The maximum size that is taken for a number of classes."""
DECLARED_NAME = re.compile(r"(?i)invalid dimensions for input: ([\w.:/-]{1,80})")
KERAS_LAYER = re.compile(r"(?i)of layer \"?(\w+)")
"""The name of a layer in a message of Keras."""
STATE_NAME = re.compile(r"(?i)state|cache|past|hidden|(?:^|_)[hc]0?(?:_in)?$")
"""The name of an input, and names of recurrent states."""
CLASS_NUMBERS_REMEDY = (
    "the labels are class numbers: take sparse_categorical_crossentropy, or to_categorical(labels); "
    "a single output takes binary_crossentropy"
)
LAST_DIM = re.compile(r"(\d+)\)")
"""The last dim of a printed tuple."""
UNCOUNTABLE_SUBJECTS = ("memory", "storage", "weights")
"""The first words of subjects without an indefinite article."""


class Advice(Record):
    """An explanation of a message, with fixes and the missing information."""

    summary: str
    """A description of the mismatch."""
    facts: tuple[str, ...]
    """Facts about the numbers of the message."""
    fixes: tuple[tuple[str, str | None], ...]
    """Pairs of a description and a command line; the command is None if shapes are unknown."""
    missing: str | None
    command: str | None
    explanations: tuple[Explanation, ...] = ()


def advise_on_subject(message: ParsedMessage, subject: str) -> Advice:
    """Return the advice for a message that is not about the shape of one tensor."""
    article = "" if subject.startswith(UNCOUNTABLE_SUBJECTS) else "an " if subject[0] in "aeiou" else "a "
    has_subject = message.cause == "not-about-shape"
    summary = f"{article}{subject}" if has_subject else CAUSES[message.cause].summary
    shape, declared = message.input or (), (message.operands or ((),))[0]
    remedy, command = _subject_remedy(message, subject)
    expected = EXPECTED_RANK.search(message.quote)
    rank = message.pair[0] if message.pair else len(shape)
    is_short = expected and rank == int(expected[1]) - 1
    changes = (
        [_keras_rank_remedy(message) or INSERT_DIM_REMEDY]
        if is_short
        else [text for text, _ in suggest_shape_changes(shape, declared)]
    )
    if changes and message.framework == "keras":
        remedy = ""
    if subject == WEIGHTS_SUBJECT and (message.framework == "torch" or size_product(shape) != size_product(declared)):
        changes = []
    texts = [*((text, None) for text in changes), *([(remedy, command)] if remedy else [])]
    explanations = () if changes else explain_message(message, None)
    advised = [(found.advice, None) for found in explanations[:1]]
    is_weak = any(found.kind in WEAK_KINDS for found in explanations[:1])
    has_named_setting = subject == WEIGHTS_SUBJECT and not any(found.kind == "squares" for found in explanations)
    is_named = has_named_setting or find_first_step(message.quote, message.nearby_text) != ""
    fixes = tuple(dict([*texts, *advised] if is_weak or is_named else [*advised, *texts]).items())[:MAX_FIXES]
    return Advice(summary, tuple(iter_declaration_findings(message)), fixes, None, None, explanations)


def _subject_remedy(message: ParsedMessage, subject: str) -> tuple[str, str | None]:
    """Return the remedy for a subject, and its command if it has one."""
    if step := find_first_step(message.quote, message.nearby_text):
        return step, None
    if subject == DECLARED_INPUT:
        return _declared_input_remedy(message)
    shape, declared = message.input or (), (message.operands or ((),))[0]
    by_subject = {LOSS_SUBJECT: _loss_remedy, WEIGHTS_SUBJECT: _weights_remedy, MASK_SUBJECT: _mask_remedy}
    remedy = by_subject[subject](message, shape, declared) if subject in by_subject else ""
    return remedy or REMEDIES_BY_SUBJECT.get(subject, CAUSES["unspecified"].first_step), None


def _loss_remedy(message: ParsedMessage, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for predictions and targets of different shapes, or an empty string."""
    if 1 in (*shape[-1:], *declared[-1:]) and abs(len(shape) - len(declared)) == 1:
        return "give both one rank: target.unsqueeze(1), or output.squeeze(1); otherwise they broadcast to a square"
    if shape[:-1] == declared != () or declared[:-1] == shape != ():
        count = (shape if len(shape) > len(declared) else declared)[-1]
        return f"one side holds class numbers: take cross_entropy, or F.one_hot(labels, {count}).float() for this loss"
    if message.framework in ("keras", "tensorflow") and _is_class_number_pair(message):
        return CLASS_NUMBERS_REMEDY
    if len(shape) == len(declared) > 1 and unequal_axes(shape, declared) == [1]:
        return f"build the model for the {declared[1]} classes of the labels, or map the labels to {shape[1]} classes"
    if not LABEL_WORDS.search(f"{message.quote} {message.nearby_text}"):
        return "print both shapes before that line; in Keras they are most often the predictions and the targets"
    return ""


def _mask_remedy(_message: ParsedMessage, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for a mask with other dims than its tensor, or an empty string."""
    if size_product(shape) == size_product(declared) is not None:
        return f"give the mask the tensor's dims: mask.reshape({', '.join(map(str, shape))})"
    if len(declared) == 1 and declared == shape[:1]:
        return "the index is boolean, so it is a mask of this axis: if it holds numbers of classes, use index.long()"
    return ""


def _weights_remedy(message: ParsedMessage, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for a weight that does not fit the model, or an empty string."""
    saved, built = numeric_sizes(shape), numeric_sizes(declared)
    if len(saved) == len(built) == 4 and saved[:2] != saved[2:] and saved[2:] == built[:2] and saved[2] == saved[3]:
        return (
            f"the saved kernel has the channels first, the model has them last: set the data format, "
            f"or transpose it, w.transpose(2, 3, 1, 0), to {format_sizes((*saved[2:], saved[1], saved[0]))}"
        )
    if message.framework in ("flax", "jax"):
        return _parameter_remedy(saved, built)
    if message.framework != "torch":
        return ""
    general = f"{REMEDIES_BY_SUBJECT[WEIGHTS_SUBJECT]}; strict=False does not skip them"
    return _state_dict_remedy(message.quote, saved, built) or general


def _parameter_remedy(value: tuple[int, ...], initial: tuple[int, ...]) -> str:
    """Return the remedy for a kernel of Flax, whose last dims are its input and output features.

    `value` and `initial` are its shapes in the parameters and in the initializer. Returns an empty string if other dims
    differ.
    """
    axes = unequal_axes(value, initial)
    if len(value) != len(initial) or len(value) < 2 or len(axes) != 1 or axes[0] < len(value) - 2:
        return ""
    saved, now = value[axes[0]], initial[axes[0]]
    if axes[0] == len(value) - 1:
        return f"the layer has {saved} outputs in the parameters and {now} in the model: set its features to {saved}"
    return f"the layer read {saved} features at init and reads {now} now: give init and apply the same inputs"


def _is_class_number_pair(message: ParsedMessage) -> bool:
    """Return whether one of predictions and targets has a last dim of 1, and the other has more."""
    shapes = [shape for shape in (message.input, (message.operands or (None,))[0]) if shape]
    lasts = [shape[-1] for shape in shapes] or [int(last) for last in LAST_DIM.findall(message.quote)]
    return len(lasts) == 2 and 1 in lasts and lasts[0] != lasts[1]


def _state_dict_remedy(quote: str, saved: tuple[int, ...], built: tuple[int, ...]) -> str:
    """Return the remedy for a weight of a checkpoint that does not fit the model.

    `saved` and `built` are its shapes in the checkpoint and in the model. Returns an empty string if the name of the
    weight and the shapes do not tell which setting differs.
    """
    match = WEIGHT_NAME.search(quote)
    name = match[1] if match else ""
    axes = unequal_axes(saved, built)
    if saved[:2] == built[:2] and {saved[2:], built[2:]} == {(), (1, 1)}:
        return "one has a linear layer where the other has a 1x1 convolution: load it into its own version of the model"
    if len(saved) != len(built) or not axes:
        return ""
    one, two = saved[axes[0]], built[axes[0]]
    if POSITION_WEIGHT.search(name):
        return "build the model for the picture size or length of the checkpoint, or interpolate the position embedding"
    if axes == [0] and VOCABULARY_WEIGHT.search(name):
        return (
            f"the vocabularies differ: call model.resize_token_embeddings({one}) before loading, or take its tokenizer"
        )
    if axes == [0] and CLASS_WEIGHT.search(name) and max(one, two) <= MAX_CLASSES:
        return f"build the model with num_classes={one}, load, and then replace this layer by one of {two} classes"
    if len(saved) > 2 and axes[0] >= 2:
        return "the kernels differ: take the version of the code that wrote the checkpoint"
    if len(saved) > 2 and axes == [1] and {one, two} <= {1, 2, 3, 4, 6, 8, 9, 12, 16}:
        return f"the checkpoint takes {one} input channels, the model {two}: build the model with in_channels={one}"
    is_scaled = all(saved[axis] * two == built[axis] * one for axis in axes) and one % 8 == 0 == two % 8
    if is_scaled and one * 2 >= two and two * 2 >= one:
        return f"the widths differ, {one} and {two}: build the variant of the checkpoint, such as small, base or large"
    if len(saved) == 2 and axes == [1]:
        return f"this layer reads {one} features in the checkpoint: build the model with the encoder that gives {one}"
    return ""


def _declared_input_remedy(message: ParsedMessage) -> tuple[str, str | None]:
    """Return the remedy for an input that differs from the declared shape.

    The second result is a command that applies the remedy, or None.
    """
    remedy, command = REMEDIES_BY_SUBJECT[DECLARED_INPUT], None
    shape, declared = message.input or (), (message.operands or ((),))[0]
    sides, mismatches = _declared_spatial_sizes(message), find_dim_mismatches(message)
    if text := _named_input_remedy(message, mismatches):
        remedy = text
    elif sides:
        sizes = " and ".join(f"dim {axis} to {size}" for axis, size in sides)
        remedy = f"resize or pad the picture, {sizes}, or export the model with dynamic sides"
    elif message.framework == "triton" and message.dim == 0:
        remedy = "send smaller batches, or build the engine for this one: --maxShapes, and max_batch_size"
    elif text := _keras_rank_remedy(message) or _same_count_remedy(shape, declared):
        remedy = text
    elif message.framework == "tflite" and message.dim in (1, 2) and message.pair and message.pair[0] % message.pair[1]:
        remedy = f"resize the picture to {message.pair[1]} at that side, or call interpreter.resize_tensor_input"
    elif message.framework == "keras" and len(shape) > 1:
        remedy = (
            f"build the model for its data, Input(shape={_format_sample_shape(shape)}), or give it the declared shape"
        )
    elif len(mismatches) == 1 and mismatches[0][0] != "0":
        axis, _, size = mismatches[0]
        remedy = f"give it {size} at dim {axis}, {AXIS_MEANINGS[min(int(axis), 3)]}"
    if message.framework in MODEL_FILE_FRAMEWORKS:
        is_batch = 0 in unequal_axes(shape, declared) or _is_batch_mismatch(mismatches)
        command = FREE_BATCH_COMMAND if is_batch else FREE_BATCH_COMMAND.partition(" --")[0]
        remedy += f", or free the batch in the file: {command}" if is_batch else f"; what it declares: {command}"
    return remedy, command


def _keras_rank_remedy(message: ParsedMessage) -> str:
    """Return the remedy for an input of a Keras layer with one dim less than the layer takes, or an empty string."""
    layer = match[1].lower() if (match := KERAS_LAYER.search(message.quote)) else ""
    expected = EXPECTED_RANK.search(message.quote)
    if not layer or message.pair is None or expected is None or message.pair[0] != int(expected[1]) - 1:
        return ""
    if layer.startswith(("lstm", "gru", "rnn", "simple_rnn", "bidirectional")):
        return "set return_sequences=True in the recurrent layer below, or give each sample its steps: x[:, None, :]"
    return (
        "insert the channel of each sample, x[..., None]" if layer.startswith(("conv", "max_pool", "average")) else ""
    )


def _same_count_remedy(shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for a sample with the declared number of elements in other dims, or an empty string."""
    given, wanted = numeric_sizes(shape[1:]), numeric_sizes(declared[1:])
    if len(given) != len(wanted) and given and wanted and prod(given) == prod(wanted) > 0:
        return f"reshape each sample: x.reshape({', '.join(map(str, (-1, *wanted)))})"
    return ""


def _named_input_remedy(message: ParsedMessage, mismatches: list[tuple[str, str, str]]) -> str:
    """Return the remedy for an input whose name or sizes tell what it is, or an empty string."""
    if len(mismatches) != 1:
        return ""
    axis, actual, declared = map(int, mismatches[0])
    name = match[1] if (match := DECLARED_NAME.search(message.quote)) else ""
    if STATE_NAME.search(name):
        return (
            f"start with the state that this model declares, zeros of {declared} at dim {axis}: states of models differ"
        )
    if axis == 0 and declared == 1 and actual > MAX_BATCH:
        return f"insert the batch dim, x[None]: {actual} looks like samples or rows at dim 0"
    if axis == 1 and declared > 1 and actual % declared == 0:
        times = actual // declared
        return (
            f"{actual} is {times}*{declared}: feed {declared} at a time, {times} times, or set the frames to {declared}"
        )
    return ""


def _format_sample_shape(shape: PrintedSizes) -> str:
    """Format the shape of one sample as a Python tuple, as in Keras."""
    sizes = ["None" if size == "?" else str(size) for size in shape[1:]]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _is_batch_mismatch(mismatches: list[tuple[str, str, str]]) -> bool:
    """Return whether the first mismatching dim may be a batch.

    This depends on its index and its declared size.
    """
    return any(axis == "0" and int(declared) <= MAX_BATCH for axis, _, declared in mismatches)


def _declared_spatial_sizes(message: ParsedMessage) -> list[tuple[int, object]]:
    """Return the height and width axes with their declared sizes.

    Returns an empty list if other axes also differ.
    """
    mismatches = find_dim_mismatches(message)
    if mismatches:
        is_pair = {axis for axis, *_ in mismatches} in ({"2", "3"}, {"1", "2"})
        return [(int(axis), size) for axis, _, size in mismatches] if is_pair else []
    shape, declared = message.input or (), (message.operands or ((),))[0]
    axes = unequal_axes(shape, declared) if len(shape) == len(declared) == 4 else []
    is_image = all(_is_image_side(shape, axis) and _is_image_side(declared, axis) for axis in axes)
    return [(axis, declared[axis]) for axis in axes] if is_image else []


def _is_image_side(shape: PrintedSizes, axis: int) -> bool:
    """Return whether an axis may be the height or width of a 4-D image tensor."""
    channels = next((index for index in (1, 3) if is_channel_axis(shape, index) and shape[index] in (1, 3, 4)), None)
    return channels is not None and axis not in (0, channels)
