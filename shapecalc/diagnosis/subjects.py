"""Advice for messages about a subject other than the shape of one tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import gcd, prod

from shapecalc.core.record import Record
from shapecalc.diagnosis.causes import CAUSES
from shapecalc.diagnosis.evidence import ONNX_FRAMEWORKS, PRINT_DETAILS, failing_code, format_insertion, print_step
from shapecalc.diagnosis.explanations import explain_message, is_channel_axis
from shapecalc.diagnosis.findings import EXPECTED_RANK, find_dim_mismatches, iter_declaration_findings
from shapecalc.diagnosis.known_sizes import DETECTOR_SIDES, IMAGE_SIDES, POSE_SIZES
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.phrases import find_first_step
from shapecalc.diagnosis.reading import (
    CONTRADICTED_SHAPE,
    DECLARED_INPUT,
    LOSS_SUBJECT,
    MASK_SUBJECT,
    NODE_SUBJECT,
    UNKNOWN_MESSAGE,
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
from shapecalc.diagnosis.weight_steps import DROP_STEP, iter_weight_steps
from shapecalc.reasoning.number_mismatch import (
    LABEL_WORDS,
    LATENT_MODELS,
    PIXELS_PER_LATENT,
    TOKEN_POSITIONS,
    Explanation,
)

PROFILE_RANGE = re.compile(
    r"at index (\d+), maximum dimension in profile is (\d+), minimum dimension in profile is (\d+), but supplied "
    r"dimension is (\d+)"
)
"""The range of an engine's optimization profile in a message of TensorRT."""
MODEL_FILE = "FILE.onnx"
FREE_BATCH_COMMAND = f"shapecalc model {MODEL_FILE} --fix -o fixed.onnx"
"""The command that replaces a fixed batch size in a model with a symbol."""
MAX_FIXES = 2
MAX_ASSUMPTIONS = 1
"""The maximum number of assumptions of a strong explanation; its advice may precede other advice."""
TORCH_TENSORRT = re.compile(r"(?i)torch.tensorrt")
TORCH_TENSORRT_REMEDY = (
    "print(x.shape) before the call, and compare it with the shapes given to torch_tensorrt.compile(inputs=[...]): an "
    "example tensor fixes its own shape; torch_tensorrt.Input takes min_shape, opt_shape and max_shape for a range"
)
DETAIL_SHAPES = re.compile(r"'shape': array\(\[([\d, ]+)\]")
"""The input shapes in the details that TensorFlow Lite prints."""
CHANNELS = (1, 3, 4)
"""The possible numbers of channels of an image."""
MIN_SIDE = 16
MIN_SAMPLES = 10_000
"""The minimum size of an axis that is taken for the samples of a signal."""
"""The minimum height and width of an image."""
KINDS_BY_SUBJECT = {
    DECLARED_INPUT: ("channels", "text-ratio", "multiple", "digits"),
    LOSS_SUBJECT: ("loss-batch", "classes", "one-more"),
    MASK_SUBJECT: ("squares", "one-more", "difference", "empty"),
    WEIGHTS_SUBJECT: ("squares", "maps", "one-more", "digits"),
    UNKNOWN_MESSAGE: ("text-ratio", "multiple", "squares", "digits"),
    "bytes of a model's input": (),
    "placeholders of pictures in a prompt": ("ratio",),
    "output without voxels": (),
}
"""The kinds of explanations that are accepted for each subject."""
OTHER_KINDS = ("ratio", "text-ratio", "multiple", "maps", "squares", "one-more", "empty")
"""The kinds of explanations that are accepted for all other subjects."""
WEAK_KINDS = ("ratio", "shared-factor", "one-size", "last-batch", "homogeneous")
"""The kinds of explanations with the weakest evidence, which are omitted if a fix resolves."""
REMEDIES_BY_SUBJECT = {
    DECLARED_INPUT: "give it the declared shape, or export the model again with the other",
    MASK_SUBJECT: "print both shapes: make the mask from the tensor that it indexes, and find the part "
    "that one of them lacks",
    LOSS_SUBJECT: "print the shapes of predictions and targets before that line, and find the line that makes the "
    "wrong one; a flatten must keep the batch",
    "optimization profile that does not contain the shape": "give it a shape between those of the profile, "
    "or build the engine again with one that contains it: --minShapes, --optShapes, --maxShapes",
    "guard that takes a dim as a number": "export it with an example in which that dim is 2 or more, "
    "since 0 and 1 are taken as numbers; if it still is one, find the code that makes it one: TORCH_LOGS=+dynamic",
    "guard that torch.export cannot decide": "state it before that line by "
    "torch._check(CONDITION), or write the code so that no view needs it",
    "name of a model's input": f"feed the names that the model declares: shapecalc model {MODEL_FILE} prints them",
    "model's configuration that differs from its file": "change dims in config.pbtxt to those of the model's file",
    "list without arrays": "print the length of the list before that line, and find why nothing was appended",
    "call with other arguments": "pass the sizes as integers or as one tuple, and check the names of the arguments",
    "convolution that is folded back": "fold takes (N, C*kh*kw, blocks): check the channels and the number of blocks",
    CONTRADICTED_SHAPE: "remove the shapes that the file stores for inner tensors, and infer them again: "
    "onnx.shape_inference.infer_shapes",
    "delegate, which prepares the whole model again": "resize the inputs before the delegate is applied, "
    "or run without it to see the node that fails",
    "check of the program": "an assertion of ggml compares two sizes: update the program, since some of its backends "
    "lack operations, or build it without the backend; if the file may be of another model or version, compare the "
    "sizes that the program prints when it loads the file",
    "weights of another form than the loader": "print both shapes before that line: if the file is quantized, as "
    "bnb-4bit, whose weights are packed, name it to the loader, --quantization bitsandbytes, or load the original "
    "weights; if not, take --tensor-parallel-size 1 to see whether the split is the cause, and the version of the "
    "library that supports this model",
    "device": "move both to one device, x.to(y.device); on a CUDA error, run again with CUDA_LAUNCH_BLOCKING=1",
    "element type": "convert one of them: x.float() or x.to(y.dtype) in torch, x.astype(...) in NumPy",
    "file that is missing": "check the path, and the folder in which the program runs",
    "index": "print the largest and the smallest index and the size of its axis: valid are 0 to size - 1; for an "
    "embedding, print(ids.max(), embedding.num_embeddings): after tokens are added, "
    "model.resize_token_embeddings(len(tokenizer)); if positions exceed it, truncate the input",
    "output without voxels": "print the shape before that layer: a stride leaves nothing of the side that is 0; give "
    "the voxelization the range and the voxel size of the model's configuration, or take fewer strides along that side",
    "memory": "take a smaller batch, a smaller element type, or process the data in parts",
    "model file or its version": "export the model again with the opset that this runtime supports, or update it",
    "module that is missing": "install the package that contains the module",
    "plugin or an inner check of the engine": "update the engine, or run the node in another runtime to compare",
    "ragged list": "print([len(row) for row in rows]), and pad or cut the rows to one length before np.array; if they "
    "differ on purpose, np.array(rows, dtype=object), as NumPy before 1.24 made it unasked, or keep them in a list",
    "storage and its bytes": "copy the data to a new array or tensor of the size that is needed",
    "unpacking of a list": "print the value: it has another number of items, or of dims, than there are names",
    WEIGHTS_SUBJECT: "load them into the model that they were saved from, built with its configuration: classes, "
    "widths and layers",
}
"""The remedies for messages about a subject other than one tensor, keyed by subject."""
STEPS_REMEDY = (
    "print(x.shape): the layer takes (batch, steps, features): x[..., None] if each number is a step of one feature, "
    "x[:, None] if each row is one step, x[None] for a single sample; give Input(shape=(steps, features))"
)
FLAT_REMEDY = (
    "print the shape that reaches that layer: it is (batch, features), as after Flatten or Dense or from flattened "
    "data: put the layer before these, or give it its dims back, Reshape((height, width, channels))"
)
OBJECT_REMEDY = (
    "print(x.shape, x.dtype, x[0]): if the dtype is object, the pictures have different sizes, or a file was not read "
    "and is None: check the path, and resize all to one size before np.array; if not, give the data its dims, x.reshape"
)
SAMPLE_SHAPE_REMEDY = "print(x.shape), and give Input the shape of one sample, without the batch: "
GRAPH_INDEX_STEP = (
    "print(edge_index.max(), x.size(0)): edges count the rows of x from 0, so x needs a row for each node, the largest "
    "plus 1; if a GCNConv(cached=True) runs on more than one graph, leave cached out"
)
FLATTEN_CODE = {
    "torch": ", x.flatten(1)",
    "tensorflow": ", tf.reshape(x, [tf.shape(x)[0], n])",
    "keras": ", by Flatten()",
    "mxnet": ", x.flatten()",
}
"""The code that flattens all dims but the batch, keyed by framework. Source: the frameworks' documentation."""
AXIS_MEANINGS = (
    "the batch",
    "often channels or frames: check the settings that make them",
    "often a side of a picture, or the features of the model that makes them",
    "often a side of a picture",
)
"""The usual meanings of the axes of a model's input, indexed by axis."""
DECLARED_NAME = re.compile(r"(?i)invalid dimensions for input: ([\w.:/-]{1,80})")
KERAS_LAYER = re.compile(r"(?i)of layer \"?(\w+)")
"""The name of a layer in a message of Keras."""
RECURRENT = re.compile(r"(?i)(?:lstm|gru|rnn|simple_rnn|bidirectional)")
"""The name of a recurrent Keras layer."""
TOKEN_TEXT = re.compile(r"(?i)token|input_ids|image_features|vision|llava|seg_")
"""Words that suggest a program with both text tokens and image tokens."""
TOKEN_NAME = re.compile(r"(?i)input_ids|token|attention_mask")
STATE_NAME = re.compile(r"(?i)state|cache|past|hidden|(?:^|_)[hc]0?(?:_in)?$")
"""A name for the state of a recurrent model or for a cache."""
CLASS_NUMBERS_REMEDY = (
    "print the shape of the labels: if they are class numbers, of 1 column, take sparse_categorical_crossentropy, or "
    "to_categorical(labels); a model of a single output takes binary_crossentropy"
)
LAST_DIM = re.compile(r"(\d+)\)")
"""The last dim of a printed tuple."""
UNCOUNTABLE_SUBJECTS = (
    *("memory", "storage", "weights", "two", "blocks", "chunks", "bytes", "labels", "values", "placeholders", "sizes"),
)
"""The first words of subjects that take no indefinite article."""


class Advice(Record):
    """Advice on a message: a summary, facts, fixes, and a hint at missing information."""

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
    """Return the advice for a message about a subject other than the shape of one tensor."""
    article = "" if subject.startswith(UNCOUNTABLE_SUBJECTS) else "an " if subject[0] in "aeiou" else "a "
    has_subject = message.cause == "not-about-shape"
    summary = f"{article}{subject}" if has_subject else CAUSES[message.cause].summary
    changes = _shape_changes(message, subject)
    phrase = find_first_step(message.quote, f"{message.nearby_text} {failing_code(message)}")
    if subject == "index" and "torch_geometric" in message.text and "edge_index" not in message.quote:
        phrase = GRAPH_INDEX_STEP
    explanations = () if changes else explain_message(message, None)
    kinds = KINDS_BY_SUBJECT.get(subject, OTHER_KINDS)
    explanations = tuple([found for found in explanations if found.kind in kinds])
    if not TOKEN_TEXT.search(message.text):
        explanations = tuple([found for found in explanations if found.kind != "difference"])
    steps = [(phrase, None)] if phrase else [*_iter_subject_steps(message, subject)]
    if changes and message.framework == "keras" and subject != LOSS_SUBJECT:
        steps = []
    advice = [(word_as_condition(explanations), None)] if explanations else []
    is_strong = bool(explanations) and explanations[0].assumptions <= MAX_ASSUMPTIONS
    strong, weak = (advice, []) if is_strong else ([], advice)
    if subject == WEIGHTS_SUBJECT and steps:
        ordered = [*steps[:1], *strong, *steps[1:]]
    else:
        ordered = [*changes, *steps, *strong] if phrase else [*changes, *strong, *steps, *weak]
    fixes = tuple(dict(ordered).items())[:MAX_FIXES]
    return Advice(summary, tuple(iter_declaration_findings(message)), fixes, None, None, explanations)


def word_as_condition(explanations: tuple[Explanation, ...]) -> str:
    """Return the advice of the first explanation, worded as a condition unless it only prints."""
    advice = explanations[0].advice
    if advice.startswith("print"):
        return advice
    return f"if {'that is it' if len(explanations) == 1 else 'it is the first'}: {advice}"


def _shape_changes(message: ParsedMessage, subject: str) -> list[tuple[str, str | None]]:
    """Return descriptions of changes that turn the actual shape into the declared one.

    Their commands are None.
    """
    shape, declared = message.input or (), (message.operands or ((),))[0]
    expected = EXPECTED_RANK.search(message.quote)
    rank = message.pair[0] if message.pair else len(shape)
    if subject in (WEIGHTS_SUBJECT, CONTRADICTED_SHAPE) or (
        subject == LOSS_SUBJECT and message.framework in ("torch", "mxnet", "keras")
    ):
        return []
    if expected and rank == int(expected[1]) - 1:
        return [(_keras_rank_remedy(message) or _insert_remedy(message, shape), None)]
    if len(shape) > 2 and len(declared) == len(shape) + 1 and shape[:1] == ("?",) and shape[1:] == declared[2:]:
        return [("insert the batch dim, x[None]: the rows of one picture were taken for the batch", None)]
    is_recurrent = RECURRENT.match(message.node or "") is not None
    if message.framework == "keras" and is_recurrent and rank == 4:
        return [
            (
                "flatten each step, TimeDistributed(Flatten()), so that it has (steps, features), or take ConvLSTM2D",
                None,
            )
        ]
    is_many = len(shape) > 2 and isinstance(shape[1], int) and shape[1] > MAX_BATCH
    is_long = is_many and (shape[2:] == declared[1:] or (expected and rank == int(expected[1]) + 1))
    if message.framework == "keras" and is_long and isinstance(shape[1], int):
        size = _format_sample_shape(shape[2:])
        return [(f"leave the number of samples out of the shape, Input(shape={size}), or drop a dim of x", None)]
    if message.framework == "keras" and expected and rank == int(expected[1]) + 1:
        return [(f"{SAMPLE_SHAPE_REMEDY}{_sample_axes(int(expected[1]))}", None)]
    texts = [text for text, _ in suggest_shape_changes(shape, declared)]
    if texts and texts[0].startswith("insert a dim of 1") and len(declared) == len(shape) + 1:
        texts = [texts[0].replace(" in the given", f", {_insertion(shape, declared)}, in the given")]
    return [(text, None) for text in texts]


def _sample_axes(rank: int) -> str:
    """Return the dims of one sample for a layer with inputs of `rank` dims."""
    if rank == 3:
        return (
            "(steps, features); if a layer before gives more dims, flatten those of each step, "
            "TimeDistributed(Flatten()), before a recurrent layer or a Conv1D"
        )
    if rank == 2:
        return "(features,); if the data has a dim of 1 too many, x.reshape(len(x), -1)"
    return "(height, width, channels)" if rank == 4 else "its dims, but for the first"


def _insertion(shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the index expression that inserts the missing dim of a declared shape."""
    for axis in range(len(declared)):
        after = (*shape[:axis], 1, *shape[axis:])
        if not unequal_axes(after, declared):
            return format_insertion(shape, after)
    return "x[None]"


def _insert_remedy(message: ParsedMessage, shape: PrintedSizes) -> str:
    """Return the remedy for an input that lacks a dim."""
    samples = shape[0] if shape else 0
    expected = EXPECTED_RANK.search(message.quote)
    if message.framework == "keras" and expected and expected[1] == "3":
        return STEPS_REMEDY
    if message.framework == "keras" and len(shape) == 3 and isinstance(samples, int) and samples > MAX_BATCH:
        return (
            "give each picture its channels, x[..., None]; if the model takes colours, np.repeat(x[..., None], 3, "
            "axis=-1), and its height and width"
        )
    return INSERT_DIM_REMEDY


def _iter_subject_steps(message: ParsedMessage, subject: str) -> Iterator[tuple[str, str | None]]:
    """Yield the steps for a subject, each with a command or None."""
    shape, declared = message.input or (), (message.operands or ((),))[0]
    if subject == DECLARED_INPUT:
        yield _declared_input_remedy(message)
        return
    if subject == WEIGHTS_SUBJECT:
        steps = [*iter_weight_steps(message)]
    else:
        by_subject = {LOSS_SUBJECT: _loss_remedy, MASK_SUBJECT: _mask_remedy}
        steps = [by_subject[subject](message, shape, declared)] if subject in by_subject else [_profile_remedy(message)]
    general = REMEDIES_BY_SUBJECT.get(subject, CAUSES["unspecified"].first_step)
    steps = [*filter(None, steps)]
    if subject.startswith(NODE_SUBJECT):
        general = (
            f"{print_step(message, '')}; in Netron, look at the node {message.node or 'that fails'} and the shapes of "
            "its inputs"
        )
    if not steps or steps == [DROP_STEP]:
        steps = [general, *steps]
    yield from ((step, None) for step in steps)


def _profile_remedy(message: ParsedMessage) -> str:
    """Return the remedy for a size outside the engine's range, or an empty string."""
    match = PROFILE_RANGE.search(message.text)
    if match is None:
        return ""
    axis, largest, smallest, actual = map(int, match.groups())
    span = str(largest) if largest == smallest else f"{smallest} to {largest}"
    prompt, latent = TOKEN_POSITIONS[0], PIXELS_PER_LATENT
    text = f"dim {axis} is {actual}, and the engine was built for {span} there"
    if actual % prompt == 0 == largest % prompt:
        text += (
            f"; {actual} = {actual // prompt}*{prompt}, so it may be a prompt of {actual // prompt} pieces: shorten it"
        )
        text += f" to {largest // prompt}"
    elif len(message.input or ()) == 4 and (message.input or ())[1] in LATENT_MODELS and axis > 1:
        text += f"; if it is a latent, that is a side of {actual * latent} pixels, where {largest * latent} is possible"
    else:
        text += ": give it such a size"
    return (
        f"{text}, or build the engine again for {actual}, after the old one is deleted if the program keeps it: "
        "--maxShapes, or the height, width, batch and prompt in its settings"
    )


def _loss_remedy(message: ParsedMessage, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for predictions and targets of different shapes, or an empty string."""
    classes, labels = size_product(shape[1:]) or 0, size_product(declared)
    if (
        len(declared) == 1
        and classes > 1
        and isinstance(shape[0], int)
        and labels == shape[0] * classes
        and len(shape) == 2
    ):
        return (
            f"the labels are one-hot, {labels} = {shape[0]}*{classes}, and this loss takes class numbers: "
            "categorical_crossentropy, or labels.argmax(-1)"
        )
    if message.framework == "keras" and len(shape) == len(declared) + 1 and 1 in shape[1:]:
        return (
            f"the output is ({format_sizes(shape)}) and the labels ({format_sizes(declared)}): drop its dim of 1, by "
            "Flatten or Reshape, or return_sequences=False in the last recurrent layer"
        )
    if text := _loss_rank_remedy(message.framework in ("keras", "tensorflow"), shape, declared):
        return text
    if len(shape) != len(declared) and size_product(shape) == size_product(declared) is not None and len(shape) > 1:
        return (
            "print(output.shape, target.shape): both hold as many elements; if they are in one order, flatten both, "
            "target.flatten(1), or output.view_as(target); if not, move the axes of one"
        )
    if message.framework in ("keras", "tensorflow") and _is_class_number_pair(message):
        return CLASS_NUMBERS_REMEDY
    if len(shape) == len(declared) == 4 and unequal_axes(shape, declared) == [1] and declared[1] in (3, 4):
        return (
            f"the targets have {declared[1]} channels: if they are a mask that was read in colour, convert it to one "
            f"channel, mask.convert('L'), or to the {shape[1]} classes of the predictions"
        )
    if len(shape) == len(declared) > 1 and unequal_axes(shape, declared) == [1]:
        return _classes_remedy(message.framework, shape, declared)
    text = _loss_dims_remedy(message, numeric_sizes(shape), numeric_sizes(declared))
    if not text and not LABEL_WORDS.search(f"{message.quote} {message.nearby_text}"):
        return "print both shapes before that line; in Keras they are most often the predictions and the targets"
    return text


def _loss_rank_remedy(is_tensorflow: bool, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for predictions or targets that lack the last dim.

    Returns an empty string if neither lacks it.
    """
    if 1 in (*shape[-1:], *declared[-1:]) and abs(len(shape) - len(declared)) == 1:
        codes = (
            "tf.expand_dims(target, -1), or tf.squeeze(output, -1)"
            if is_tensorflow
            else "target.unsqueeze(1), or output.squeeze(1)"
        )
        return f"give both one rank: {codes}; otherwise they broadcast to a square"
    if shape[:-1] == declared != () or declared[:-1] == shape != ():
        count = (shape if len(shape) > len(declared) else declared)[-1]
        loss, one_hot = (
            ("the sparse cross-entropy", f"tf.one_hot(labels, {count})")
            if is_tensorflow
            else ("cross_entropy", f"F.one_hot(labels, {count}).float()")
        )
        return f"if the one of fewer dims holds class numbers, take {loss}, or {one_hot} for this loss"
    return ""


def _loss_dims_remedy(message: ParsedMessage, shape: tuple[int, ...], declared: tuple[int, ...]) -> str:
    """Return the remedy for predictions and targets with different batches or sides.

    Returns an empty string if the remedy does not apply.
    """
    if len(shape) == len(declared) == 2 and declared == (1, shape[0]) != shape:
        return (
            f"the labels are ({format_sizes(declared)}) for {shape[0]} rows of predictions: if they are class numbers, "
            "drop the dim of 1 and take the loss for class numbers, as sparse_softmax_cross_entropy_with_logits"
        )
    axes = unequal_axes(shape, declared) if len(shape) == len(declared) else []
    if not axes:
        return ""
    pairs = " and ".join(f"dim {axis} is {shape[axis]} and {declared[axis]}" for axis in axes)
    printed = f"print the shapes of predictions and targets: {pairs}"
    if axes == [0] and len(shape) == 1:
        return (
            f"{printed}; if these are the scores of one sample and its class number, take a cross-entropy; if they are "
            "samples, find the line that makes one side longer"
        )
    if axes == [0]:
        return f"{printed}; {_batch_text(message.framework, shape[0], declared[0])}"
    is_sided = len(shape) > 2 and min(shape[axis] for axis in axes) >= MIN_SIDE and 0 not in axes
    if is_sided:
        return (
            f"{printed}; if these are pictures or maps, give both one size: resize or crop the targets to the "
            "predictions, or give pictures whose sides are multiples of all strides of the network"
        )
    return ""


def _batch_text(framework: str | None, predictions: int, targets: int) -> str:
    """Describe the first dims of predictions and targets."""
    keeps = FLATTEN_CODE.get(framework or "", "")
    small, large = sorted((predictions, targets))
    if small and large % small == 0:
        side = "predictions" if large == predictions else "targets"
        return (
            f"{large} = {large // small}*{small}: find the line that gives the {side} {large // small} rows for each "
            "of the other side, as a repeat, a split of one side, or a reshape that takes another dim into the batch"
        )
    if predictions > 2 * targets:
        return (
            f"{predictions} is no multiple of {targets}, so a reshape with a fixed size may take other dims into the "
            f"batch: print the shape after each reshape, and keep the batch{keeps}"
        )
    factor = gcd(small, large)
    if factor > 1 and large > MAX_BATCH:
        return (
            f"if the rows are pixels or tokens of maps, {predictions} = {factor}*{predictions // factor} and "
            f"{targets} = {factor}*{targets // factor}: print the shapes of both before they are flattened; "
            "if they are samples, find those that one side lacks"
        )
    return "find the samples that one side lacks: a filter, a sample that could not be read, or a batch of fixed size"


def _classes_remedy(framework: str | None, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for predictions and targets that differ in dim 1 only."""
    given, wanted = numeric_sizes((shape[1], declared[1])) or (0, 0)
    text = (
        f"print(output.shape, labels.shape): dim 1 is {shape[1]} and {declared[1]}; if it counts classes and those of "
        f"the labels are right, build the model for {declared[1]}"
    )
    if framework in ("keras", "tensorflow"):
        return (
            f"{text}, Dense({declared[1]}) as the last layer, or find why the labels have {declared[1]}: with folders "
            "as classes, print(generator.class_indices) or dataset.class_names"
        )
    if len(shape) == 2 and abs(given - wanted) > 1:
        return (
            f"{text}; if it is a code or an embedding of {given}, this loss does not take it: add a layer of {wanted} "
            "outputs after it, or take a loss on pairs"
        )
    return f"{text}, or map the labels to {shape[1]} classes"


def _mask_remedy(message: ParsedMessage, shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for a mask and a tensor with different dims, or an empty string."""
    if shape and size_product(shape) == size_product(declared) is not None:
        return (
            "both hold as many elements: if they are in one order, give the mask the tensor's dims, "
            f"mask.reshape({', '.join(map(str, shape))})"
        )
    if len(declared) == 1 and declared == shape[:1]:
        return "the index is boolean, so it is a mask of this axis: if it holds numbers of classes, use index.long()"
    sizes = [size for size in (*shape[:1], *declared[:1]) if isinstance(size, int)]
    if not shape and message.pair is not None:
        size, mask_size = message.pair
        return (
            f"{print_step(message, 'x.shape, mask.shape')}: the mask is for {mask_size}, that axis holds {size}; "
            "make it from the same rows, before or after a filter on both sides"
        )
    if len(sizes) == 2 and len(declared) == 1 and max(sizes) <= MAX_BATCH and declared != shape[:1]:
        return (
            f"{print_step(message, 'x.shape, mask.shape')}: the mask is for {sizes[1]}, the tensor holds "
            f"{sizes[0]}; if these are batches, one was made for a fixed batch: size it by the batch at hand, or "
            "drop_last=True"
        )
    return ""


def _is_class_number_pair(message: ParsedMessage) -> bool:
    """Return whether exactly one of predictions and targets has a last dim of 1."""
    shapes = [shape for shape in (message.input, (message.operands or (None,))[0]) if shape]
    lasts = [shape[-1] for shape in shapes] or [int(last) for last in LAST_DIM.findall(message.quote)]
    return len(lasts) == 2 and 1 in lasts and lasts[0] != lasts[1]


def _declared_input_remedy(message: ParsedMessage) -> tuple[str, str | None]:
    """Return the remedy for an input that differs from the declared shape.

    The second result is a command that applies the remedy, or None.
    """
    remedy, command = REMEDIES_BY_SUBJECT[DECLARED_INPUT], None
    shape, declared = message.input or (), (message.operands or ((),))[0]
    if TORCH_TENSORRT.search(message.text):
        return TORCH_TENSORRT_REMEDY, None
    mismatches = find_dim_mismatches(message)
    for text in _iter_declared_remedies(message, shape, declared, mismatches):
        if text:
            remedy = text
            break
    if message.framework in ONNX_FRAMEWORKS:
        is_batch = unequal_axes(shape, declared) == [0] or _is_batch_mismatch(mismatches)
        command = FREE_BATCH_COMMAND if is_batch else FREE_BATCH_COMMAND.partition(" --")[0]
        remedy += f", or free the batch in the file: {command}" if is_batch else f"; what it declares: {command}"
    return remedy, command


def _iter_declared_remedies(
    message: ParsedMessage, shape: PrintedSizes, declared: PrintedSizes, mismatches: list[tuple[str, str, str]]
) -> Iterator[str]:
    """Yield candidate remedies for an input that differs from the declared shape.

    An empty string means that a remedy does not apply.
    """
    framework = message.framework
    yield _rank_remedy(message)
    yield _spectrum_remedy(message)
    yield _named_input_remedy(message, mismatches)
    yield _swapped_remedy(mismatches)
    yield _pose_remedy(mismatches)
    if 0 in shape and 0 not in declared:
        yield "the given shape has a 0: the input was never set, or its data is empty; print it where it is filled"
    if framework == "triton" and shape == declared != ():
        rest = format_sizes(shape[1:])
        yield (
            f"both lists are equal, so the batch is counted differently: if {shape[0]} is the batch, write dims: "
            f"[ {rest} ] in config.pbtxt, which max_batch_size above 0 adds to; if it is not, set max_batch_size: 0"
        )
    if sides := _declared_spatial_sizes(message):
        sizes = " and ".join(f"dim {axis} to {size}" for axis, size in sides)
        yield f"resize or pad the picture, {sizes}, or export the model with dynamic sides"
    if framework == "triton" and message.dim == 0:
        yield "send smaller batches, or build the engine for this one: --maxShapes, and max_batch_size"
    yield _keras_rank_remedy(message) or _same_count_remedy(shape, declared)
    if framework == "tflite" and message.dim in (1, 2) and message.pair and min(message.pair) >= MIN_SIDE:
        yield (
            f"resize the picture to {message.pair[1]} at that side, as imgsz={message.pair[1]}, or export the model "
            f"for {message.pair[0]}"
            if {*message.pair} <= {*IMAGE_SIDES}
            else f"{PRINT_DETAILS}: dim {message.dim} is declared as {message.pair[1]}; if another input takes "
            f"{message.pair[0]}, choose it by its name; if it is a side of a picture, resize that to "
            f"{message.pair[1]}, as imgsz={message.pair[1]}"
        )
    expected = EXPECTED_RANK.search(message.quote)
    rank = message.pair[0] if message.pair else len(shape)
    if framework == "keras" and expected and rank in (1, 2) and int(expected[1]) - rank > 1:
        yield FLAT_REMEDY if message.pair else OBJECT_REMEDY
    if framework == "keras" and (message.operands or len(shape) > 1):
        yield _keras_input_remedy(shape, declared)
    if framework in ONNX_FRAMEWORKS and unequal_axes(shape, declared) == [0] and shape and declared[0] == 1:
        yield f"the model takes one sample at a time: run the {shape[0]} one by one, or export it with a dynamic batch"
    if framework == "coreml" and shape and not declared:
        yield "print the shapes that the model takes, model.get_spec().description.input, and give it one of them"
    yield _single_dim_remedy(mismatches)


def _rank_remedy(message: ParsedMessage) -> str:
    """Return the remedy for a TensorFlow Lite input of the wrong rank, or an empty string."""
    if message.framework != "tflite" or message.dim is not None or message.pair is None:
        return ""
    given, wanted = message.pair
    if given == wanted - 1:
        details = [sizes for sizes in DETAIL_SHAPES.findall(message.text) if sizes.count(",") == wanted - 1]
        if len(details) == 1 and not re.search(r"details\w*\[[1-9]\]", message.text):
            declared = ",".join(details[0].replace(",", " ").split())
            return f"np.expand_dims(x, 0): {given} and {wanted} are numbers of dims, and the model takes {declared}"
        return (
            f"{PRINT_DETAILS}: {given} and {wanted} are numbers of dims; if x is one sample, insert its batch, "
            f"np.expand_dims(x, 0); if another input has {given} dims, the order differs: choose inputs by name or "
            f"shape"
        )
    return (
        f"{PRINT_DETAILS}: {given} and {wanted} are numbers of dims; give the dims that this input declares, or choose "
        "the input by name or shape, not by its number"
    )


def _spectrum_remedy(message: ParsedMessage) -> str:
    """Return the remedy if audio samples and their spectrum are confused, or an empty string."""
    small, large = sorted(message.pair or (0, 0))
    if message.dim is None or large % 2 or small != large // 2 + 1 or small < MIN_SIDE:
        return ""
    details = PRINT_DETAILS if message.framework == "tflite" else "print the inputs of the model"
    return (
        f"{details}: {small} = {large}/2+1 would be the spectrum of {large} samples of audio, so two models or two "
        "inputs may be swapped: load each file where its inputs fit, and choose inputs by name or shape"
    )


def _pose_remedy(mismatches: list[tuple[str, str, str]]) -> str:
    """Return the remedy for a pose model with an input of a detector's size, or an empty string."""
    declared = tuple([int(size) for _, _, size in mismatches])
    given = {int(actual) for _, actual, _ in mismatches}
    if declared not in POSE_SIZES or len(given) != 1 or not given <= {*DETECTOR_SIDES}:
        return ""
    side = given.pop()
    return (
        f"{declared[0]}x{declared[1]} is the usual input of a pose model, {side}x{side} of a detector: if this step "
        "detects, choose the detector's file here, the two may be swapped; if it estimates poses, give it a person "
        f"cut out and resized to {declared[0]}x{declared[1]}"
    )


def _single_dim_remedy(mismatches: list[tuple[str, str, str]]) -> str:
    """Return the remedy for an input with exactly one mismatching dim, or an empty string."""
    if len(mismatches) != 1 or mismatches[0][0] == "0":
        return ""
    axis, actual, size = mismatches[0]
    if axis in ("2", "3"):
        return (
            f"dim {axis} is {actual} and the model takes {size}: if it is a side of the picture, resize that to "
            f"{size}; if it counts features, take the model or the setting that makes {size}"
        )
    return (
        f"give it {size} at dim {axis}, where {actual} is: {AXIS_MEANINGS[min(int(axis), 3)]}; another size there is "
        "another file of the model"
    )


def _swapped_remedy(mismatches: list[tuple[str, str, str]]) -> str:
    """Return the remedy for an image in NHWC instead of NCHW, or vice versa.

    Returns an empty string if the layout is correct or unknown.
    """
    rows = {int(axis): (int(actual), int(declared)) for axis, actual, declared in mismatches}
    one, three = rows.get(1, (0, 0)), rows.get(3, (0, 0))
    if one[1] in CHANNELS and three[0] == one[1]:
        return "the picture has its channels last, and the model takes them first: np.transpose(x, (0, 3, 1, 2))"
    if three[1] in CHANNELS and one[0] == three[1]:
        return "the picture has its channels first, and the model takes them last: np.transpose(x, (0, 2, 3, 1))"
    return ""


def _keras_input_remedy(shape: PrintedSizes, declared: PrintedSizes) -> str:
    """Return the remedy for a Keras model that was built for another sample shape.

    Old versions of Keras print sample shapes without the batch.
    """
    has_batch = not declared or declared[:1] == ("?",)
    given, wanted = (shape[1:], declared[1:]) if has_batch else (shape, declared)
    sides = numeric_sizes((*given[:2], *wanted[:2]))
    axes = unequal_axes(given, wanted) if len(given) == len(wanted) == 3 and min(sides, default=0) >= MIN_SIDE else []
    build = f"build the model for its data, Input(shape={_format_sample_shape(given)})"
    if axes and {*axes} <= {0, 1} and wanted[2:] in ((1,), (3,), (4,)) and "?" not in wanted:
        return f"resize the pictures to {wanted[0]}x{wanted[1]}, target_size=({wanted[0]}, {wanted[1]}), or {build}"
    return (
        f"compare the shape of Input with that of the data: if the data is right, {build}; if not, find what makes it"
    )


def _keras_rank_remedy(message: ParsedMessage) -> str:
    """Return the remedy for a Keras layer input with a missing dim, or an empty string."""
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
    """Return the fix for a sample with the declared element count but a different rank, or an empty string."""
    given, wanted = numeric_sizes(shape[1:]), numeric_sizes(declared[1:])
    if len(given) != len(wanted) and given and wanted and prod(given) == prod(wanted) > 0:
        return f"reshape each sample: x.reshape({', '.join(map(str, (-1, *wanted)))})"
    return ""


def _named_input_remedy(message: ParsedMessage, mismatches: list[tuple[str, str, str]]) -> str:
    """Return the remedy for an input that its name or size identifies.

    Returns an empty string if the input is not identified.
    """
    if len(mismatches) != 1:
        return ""
    axis, actual, declared = map(int, mismatches[0])
    name = match[1] if (match := DECLARED_NAME.search(message.quote)) else ""
    if TOKEN_NAME.search(name) and axis == 1:
        return (
            f"pad or cut the tokens to {declared}: tokenizer(text, padding='max_length', truncation=True, "
            f"max_length={declared}), or export the model with a dynamic length"
        )
    if STATE_NAME.search(name):
        return (
            f"start with the state that this model declares, zeros of {declared} at dim {axis}: states of models differ"
        )
    if axis > 0 and min(actual, declared) >= MIN_SAMPLES:
        return (
            f"give it exactly {declared} at dim {axis}, where {actual} are: if these are samples of audio or of a "
            f"signal, pad a shorter piece with zeros, and cut a longer one into pieces of {declared}"
        )
    if axis == 0 and declared == 1 and actual > MAX_BATCH:
        return f"insert the batch dim, x[None]: {actual} looks like samples or rows at dim 0"
    if axis == 1 and declared > 1 and actual % declared == 0:
        times = actual // declared
        return (
            f"{actual} is {times}*{declared}: if these are frames or segments, feed {declared} at a time, {times} "
            f"times, or set their number to {declared}"
        )
    return ""


def _format_sample_shape(shape: PrintedSizes) -> str:
    """Format the shape of one sample as a Python tuple, with None for an unknown size."""
    sizes = ["None" if size == "?" else str(size) for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _is_batch_mismatch(mismatches: list[tuple[str, str, str]]) -> bool:
    """Return whether dim 0 mismatches and its declared size may be a batch size."""
    return any(axis == "0" and int(declared) <= MAX_BATCH for axis, _, declared in mismatches)


def _declared_spatial_sizes(message: ParsedMessage) -> list[tuple[int, object]]:
    """Return the mismatching height and width axes with their declared sizes.

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
