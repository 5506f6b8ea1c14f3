"""Advice for a reshape with unequal element counts.

The line of code shows the factors of the target; one of them may be wrong. The message rarely contains the input's
shape, so the last step is always to print it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.diagnosis.evidence import RemedyStep
from shapecalc.diagnosis.known_sizes import ANCHORS, BOX_COUNTS, CLASSES, describe_class_counts
from shapecalc.diagnosis.match import format_sizes
from shapecalc.diagnosis.reading import ParsedMessage, is_frozen_input, known_size_product, size_product
from shapecalc.diagnosis.suggestions import numeric_sizes
from shapecalc.reasoning.number_mismatch import KNOWN_CLASS_COUNTS

COUNT_CAUSES = ("count-mismatch", "indivisible")
KERNEL_SIDES = (1, 3, 5, 7)
INDEXED_TENSOR = re.compile(r"\w\[([A-Za-z_]\w*)\](?:\.\w+\(\))*$")
"""A tensor that is indexed by a variable."""
FILE_WORDS = re.compile(r"(?i)fromfile|weights?\[|\bptr\b|load_darknet|\bbuf\b")
"""Words of programs that read weights from a file, one layer after another."""
BOX_FIELDS = 5
"""The number of fields of a box without its class scores: x, y, width, height and objectness."""
MAX_GROUPED = 1024
"""The maximum number of samples that are divided into groups."""
MIN_KERNELS = 8
"""The minimum number of output channels for which a target is taken for a convolution kernel."""
LITERAL_PRODUCT = re.compile(r"\d+(?: ?\* ?\d+)+")
MULTIPLE = re.compile(
    r"(?:(?P<name>[A-Za-z_][\w.]*) ?\* ?(?P<times>\d+)|(?P<count>\d+) ?\* ?(?P<other>[A-Za-z_][\w.]*))"
)
"""The product of a variable and an integer literal."""
VARIABLE = re.compile(r"(?<![\w.\]])[A-Za-z_][\w.]*(?:\[\w+\](?:\.\w+)*)*(?:\(\d?\))?")
NOT_VARIABLES = ("int", "len", "max", "min", "round", "math.ceil", "math.floor", "tuple", "list")
MAX_COUNT_32 = (1 << 31) - 1
"""The maximum of a signed 32-bit integer."""
CLASS_NAME = re.compile(r"(?i)vocab|num_labels|num_class|n_class|nclass|num_tags")
"""A name for the number of classes or the size of a vocabulary."""
MAX_ADDED, MIN_WORDS = 257, 1000
"""The exclusive upper bound of the number of added words, and the minimum size of a vocabulary."""
MIN_SIDE, MAX_ASPECT = 7, 4
"""The minimum side of a square feature map, and the exclusive upper bound of the aspect ratio of an image."""
MIN_FEATURES = 64
"""The minimum number of features of a flattened feature map."""
MAX_MAP_STEP = 8
"""The maximum reported difference between the requested and the actual side of a map."""
MAX_VARIABLES = 3
"""The maximum number of variables that are printed with a shape."""


def iter_count_steps(message: ParsedMessage) -> Iterator[RemedyStep]:
    """Yield advice for a reshape with unequal element counts, the likeliest first."""
    target = numeric_sizes(message.target)
    count = message.elements if message.input is None else size_product(message.input)
    if message.op not in (RESHAPE.name, SHUFFLE.name) or message.cause not in COUNT_CAUSES or not target or not count:
        return
    if count == prod(target) > MAX_COUNT_32:
        text = f"both hold {count} elements, more than 32 bits count: a size is wrong above, or the runtime has 32 bits"
        yield RemedyStep(text, True)
        return
    if text := _batch_advice(message):
        yield RemedyStep(text, True)
        return
    found = (
        _frozen_advice(message, count, target)
        or _group_advice(count, target)
        or _box_advice(message, target)
        or _detector_advice(count, target)
        or _box_fields_advice(count, target)
        or _offset_advice(count, target)
        or _mask_advice(message, count, target)
        or _one_dim_advice(message, count, target)
        or _factor_advice(message, count, target)
        or _literal_advice(message, count, target)
        or _multiple_advice(message, count, target)
        or _named_classes_advice(message, count, target)
        or _flatten_advice(message, count, target)
        or _square_advice(count, target)
        or _vector_advice(message, count, target)
    )
    if text := found or _weights_advice(message, count, target):
        yield RemedyStep(text, True)
    yield RemedyStep(_print_advice(message, count, target), False)


def has_literals(message: ParsedMessage) -> bool:
    """Return whether the integer literals of a target are probably wrong for the element count."""
    count = message.elements if message.input is None else size_product(message.input)
    return bool(_literal_advice(message, count or 0, numeric_sizes(message.target)))


def _literal_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for integer literals that contradict the count, or an empty string.

    Named dims are taken from the data or the settings, so they are right more often than numbers in the code.
    """
    texts = message.line.arguments if message.line else ()
    if len(texts) != len(target) or -1 in target or not count:
        return ""
    literals = [size for text, size in zip(texts, target, strict=True) if text.isdigit() and size > 1]
    names = [text for text, size in zip(texts, target, strict=True) if not text.isdigit() and size > 1]
    literal, named = prod(literals), prod(target) // max(prod(literals), 1)
    needed, remainder = divmod(count, named or 1)
    if len(literals) < 2 or len(names) < 2 or remainder or needed in (0, literal):
        return ""
    numbers = " and ".join(map(str, literals))
    return (
        f"{numbers} are numbers in that line, {'*'.join(map(str, literals))} = {literal}; with {' and '.join(names)} "
        f"of it they must make {needed}: compute them from the input, as its sides by the patch size or the strides, "
        "or restore the setting for which they were written"
    )


def _one_dim_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for an element count equal to the last dim of the target, or an empty string."""
    if len(target) < 2 or -1 in target or count != target[-1] or count < 2 or prod(target) == count:
        return ""
    tensor = (message.line.tensor or f"({message.line.receiver})") if message.line else "x"
    ones = ", ".join([*("1" for _ in target[1:]), str(count)])
    return (
        f"print({tensor}.shape) before that line: it holds {count} elements, as many as the last dim of the target by "
        f"itself; if that is one value for each, as the mean of each channel, write {tensor}.reshape({ones}), which "
        f"broadcasts; if {prod(target)} are meant, such as one-hot labels, find the line that makes them"
    )


def _factor_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a target with the batch size in a literal product, or an empty string."""
    texts = message.line.arguments if message.line else ()
    if len(texts) != 2 or texts[0] != "-1" or not LITERAL_PRODUCT.fullmatch(texts[1]) or target[0] != -1:
        return ""
    first, *rest = map(int, re.split(r" ?\* ?", texts[1]))
    if len(rest) < 2 or count % prod(rest) or not count % target[1]:
        return ""
    tensor = message.line.tensor if message.line else None
    return (
        f"leave the batch out of the product: {count} = {count // prod(rest)}*{prod(rest)}, so {first} may be a batch; "
        f"if so, write {tensor or 'x'}.flatten(1), and nn.Linear({prod(rest)}, ...) after it"
    )


def _multiple_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for rows that do not form complete groups, or an empty string.

    The target contains -1 and the product of a variable and an integer, which is the size of a group.
    """
    texts = message.line.arguments if message.line else ()
    if target.count(-1) != 1 or len(texts) != len(target):
        return ""
    for text, size in zip(texts, target, strict=True):
        match = MULTIPLE.fullmatch(text)
        times = int(match["times"] or match["count"]) if match else 0
        if times < 2 or size % times:
            continue
        others = prod(other for other in target if other != -1) // times
        rows, remainder = divmod(count, others or 1)
        if not remainder and rows % times:
            name = (match["name"] or match["other"]) if match else ""
            return (
                f"{rows} rows of {name} = {size // times} are no multiple of the {times} that form a group: take what "
                f"makes a multiple, as another picture size or model, or pad them to {rows + -rows % times}"
            )
    return ""


def _named_classes_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a target with a named number of classes or words.

    Returns an empty string if the advice does not apply.
    """
    texts = message.line.arguments if message.line else ()
    if len(target) != 2 or target[0] != -1 or len(texts) != 2 or not CLASS_NAME.search(texts[1]):
        return ""
    near = [size for size in range(target[1] + 1, target[1] + MAX_ADDED) if count % size == 0]
    tensor = (message.line.tensor if message.line else None) or "x"
    guess = (
        f"; {count} is a multiple of {near[0]}, {near[0] - target[1]} more" if near and target[1] > MIN_WORDS else ""
    )
    return (
        f"print({tensor}.shape) before that line: its last dim is not the {target[1]} of {texts[1]}{guess}; write "
        f"{tensor}.view(-1, {tensor}.size(-1)), and give labels, tokenizer and head one number"
    )


def _flatten_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for feature maps that are flattened to a literal size, or an empty string."""
    if len(target) != 2 or target[0] != -1 or target[1] < MIN_FEATURES or count % target[1] == 0:
        return ""
    tensor = (message.line.tensor if message.line else None) or "x"
    return (
        f"print({tensor}.shape) before that line: {count} is no multiple of {target[1]}, written for another "
        "picture size, or for other layers: give pretrained layers the size of their training; in training, write "
        f"{tensor}.flatten(1), and build the next layer for its features"
        f"{_map_sides_text(message, count, target[1])}"
    )


def _map_sides_text(message: ParsedMessage, count: int, features: int) -> str:
    """Return the possible sides of the maps if the features are written as channels*side*side, or an empty string."""
    text = (message.line.arguments if message.line else ("",))[-1]
    factors = [*map(int, re.split(r" ?\* ?", text))] if LITERAL_PRODUCT.fullmatch(text) else []
    if len(factors) != 3 or factors[1] != factors[2] or prod(factors) != features or count % factors[0]:
        return ""
    rest = count // factors[0]
    sides = [side for side in range(factors[1] + MAX_MAP_STEP, 0, -1) if rest % (side * side) == 0]
    found = [
        f"{side}x{side} for {rest // (side * side)} samples"
        for side in sides
        if rest // (side * side) < rest or side == 1
    ]
    return f"; with {factors[0]} channels, {count} are maps of {' or '.join(found[:2])}" if found else ""


def _square_advice(count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a square target if the image is not square, or an empty string."""
    if len(target) < 2 or target[-1] != target[-2] or min(target) < 1 or target[-1] < MIN_SIDE:
        return ""
    side, others = target[-1], prod(target[:-2])
    width, remainder = divmod(count, side * others)
    if remainder or count % (side * side) == 0 or not side < MAX_ASPECT * width or not width < MAX_ASPECT * side:
        return ""
    return (
        f"{count} = {f'{others}*' if others > 1 else ''}{side}*{width}: the map is {side}x{width} or {width}x{side}, "
        f"if the picture is not square: resize it to a square, or reshape to its own height and width"
    )


def _vector_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a vector whose length differs from a literal.

    Returns an empty string if the advice does not apply.
    """
    texts = message.line.arguments if message.line else ()
    is_multiple = max(count, target[-1]) in (3 * min(count, target[-1]), 4 * min(count, target[-1]))
    if len(target) != 2 or target[0] != 1 or texts[-1:] != (str(target[1]),) or is_multiple:
        return ""
    return (
        f"{count} elements come, and this line asks for {target[1]}: compare the settings that make the two, as of "
        f"data and model, and find the wrong one; write -1 in place of {target[1]} if any number is valid"
    )


def _batch_advice(message: ParsedMessage) -> str:
    """Return the advice for unbatched samples in a Keras Reshape, or an empty string.

    Keras 2 prints the shape of a sample, so `[]` is a sample of one value.
    """
    if message.framework != "keras" or message.input != ():
        return ""
    return (
        "the printed shape is that of a sample, without the batch, so each value is taken for a sample: the batch axis "
        "is missing; write dataset.batch(n) before fit, or x[None] for one sample"
    )


def _frozen_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a TensorRT input with a fixed batch size, or an empty string."""
    shape = message.input or ()
    if not is_frozen_input(message) or count * target[0] != prod(target):
        return ""
    return (
        f"{target[0]} is the batch that the profile proposes, and the input of the node, {format_sizes(shape)}, does "
        "not grow with it, so it was computed for one sample: in the code that exports it, expand it by x.shape[0] "
        "where it is made, or build the engine for a batch of 1"
    )


def _group_advice(count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a batch that is not a multiple of a group size, or an empty string."""
    if len(target) < 4 or target[1] != -1 or target[0] < 2 or min(target[2:]) < 1:
        return ""
    samples, rest = divmod(count, prod(target[2:]))
    if rest or samples > MAX_GROUPED or samples % target[0] == 0:
        return ""
    return (
        f"{count} = {samples}*{prod(target[2:])}: if these are {samples} samples, they are no multiple of the group of "
        f"{target[0]}: give a batch that is one, on each GPU and in the last batch too, drop_last=True, or a smaller "
        "group"
    )


def _box_advice(message: ParsedMessage, target: tuple[int, ...]) -> str:
    """Return the advice for two numbers of boxes of a detector, or an empty string."""
    sizes = {*(message.input or ())} - {*target}, {*target} - {*(message.input or ())}
    pair = [size for each in sizes for size in each if size != 1]
    is_graph = message.traits.shape_source is not None or message.framework == "tensorflow"
    if not is_graph or len(pair) != 2 or not {*pair} <= {*BOX_COUNTS}:
        return ""
    return (
        f"{pair[0]} and {pair[1]} are usual numbers of boxes: compare the configuration with that of the training, as "
        "the pipeline.config of the TensorFlow Object Detection API (first_stage_max_proposals, max_total_detections), "
        "and convert with that file"
    )


def _detector_advice(count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a detector with a different number of classes, or an empty string."""
    others = prod(target[1:]) if target[0] > 1 else 0
    rows = count // others if others > 0 and count % others == 0 else 0
    if rows and (text := describe_class_counts(rows, target[0])):
        return f"{text}: if these are detectors, take the configuration for {rows} outputs on both sides"
    if text := _head_advice(count, target):
        return text
    if len(target) < 4 or target[0] < 1 or target[2] not in CLASSES or min(target) < 1:
        return ""
    outputs, maps = target[1] * target[2], target[0] * prod(target[3:])
    channels = count // maps if count % maps == 0 else 0
    if target[1] not in ANCHORS or channels in (0, outputs):
        return ""
    return (
        f"if this is a detector, {outputs} = {target[1]}*{target[2]} outputs are meant, {target[2]} for "
        f"{CLASSES[target[2]]}, and {channels} channels come: for another number of classes, set it; otherwise its "
        "last convolution was not applied, so take code and weights of one version, the newest"
    )


def _head_advice(count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a detection head with another class count than its convolution, or an empty string."""
    if len(target) != 5 or min(target) < 1 or target[1] != 3 or target[2] <= BOX_FIELDS or target[2] in CLASSES:
        return ""
    channels, rest = divmod(count, target[0] * prod(target[3:]))
    fields, classes = channels // 3, target[2] - BOX_FIELDS
    if rest or channels % 3 or fields in (0, target[2]) or fields - BOX_FIELDS in KNOWN_CLASS_COUNTS:
        return ""
    before = f", as for {fields - BOX_FIELDS} classes" if fields > BOX_FIELDS else ""
    return (
        f"if this is a detector with 3 boxes of classes + {BOX_FIELDS} fields, the head is set for "
        f"{classes} class{'es' if classes > 1 else ''}, "
        f"{3 * target[2]} = 3*{target[2]}, and the layer before gives {channels} = 3*{fields}{before}: set classes in "
        f"all heads, and filters = 3*(classes + {BOX_FIELDS}) in the convolution before each, for one number of classes"
    )


def _box_fields_advice(count: int, target: tuple[int, ...]) -> str:
    """Return the advice for boxes with the number of fields of a known data set, or an empty string."""
    fields = target[-1]
    if -1 not in target[:-1] or fields not in CLASSES or "a box" not in CLASSES[fields] or count % fields == 0:
        return ""
    text = f"{fields} is {CLASSES[fields]}, and {count} is no multiple of it"
    return (
        f"{text}: print the shape of the model's output, and compare its last dim with the number of classes of your "
        f"own model, nc: if that is another, write nc + 5 for {fields}; if the model is the original, an output is "
        "missing"
    )


def _offset_advice(count: int, target: tuple[int, ...]) -> str:
    """Return the advice for the offset bias of a deformable convolution, or an empty string."""
    sides = {2 * side * side: side for side in KERNEL_SIDES[1:]}
    if len(target) != 4 or target[0] != 1 or target[1] < 1 or target[2:] != (1, 1) or count % target[1] == 0:
        return ""
    text = f"(1,{target[1]},1,1) takes a value for each of {target[1]} channels, as of a bias, and {count} come"
    if count in sides:
        side = sides[count]
        return (
            f"{text}: {count} = 2*{side}*{side} is what a deformable convolution of {side}x{side} takes as offsets; if "
            f"it is that, set the channels to {count}"
        )
    return f"{text}: set the channels to {count}, or find which of the two belongs to another layer"


def _mask_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a reshape of elements selected by an index, or an empty string."""
    receiver = message.line.receiver if message.line else ""
    match = INDEXED_TENSOR.search(receiver)
    if match is None or len(target) != 2 or -1 not in target:
        return ""
    size = max(target)
    text = f"print({match[1]}.sum(1)) before that line: if {match[1]} is a mask, it selects {count} in all"
    if target[0] == -1:
        return f"{text}, and each row of the result needs {size}: select {size} in each row, or a multiple"
    return (
        f"{text}, and {size} rows need equally many each; give each class as many samples in a batch, or reduce row by "
        "row"
    )


def _weights_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice for a kernel from a truncated weight file, or an empty string."""
    is_kernel = len(target) == 4 and target[2] == target[3] and target[2] in KERNEL_SIDES and min(target) > 0
    needed = prod(target)
    is_read = FILE_WORDS.search(message.text) is not None or message.line is None
    if not is_kernel or not is_read or target[0] < MIN_KERNELS or count >= needed or count % target[0] == 0:
        return ""
    return (
        f"if weights are read from a file: a kernel of {format_sizes(target)} needs {needed} numbers, and {count} are "
        "left: compare the size of the file with that of the original: if it is smaller, download it again, and if "
        "not, it was written for another configuration"
    )


def _print_advice(message: ParsedMessage, count: int, target: tuple[int, ...]) -> str:
    """Return the advice to print the input's shape and the variables of the target."""
    line, known = message.line, known_size_product(target)
    tensor = line.tensor if line else "x"
    names = [name for text in (line.arguments if line else ()) for name in VARIABLE.findall(text)]
    variables = [name for name in dict.fromkeys(names) if name not in NOT_VARIABLES and name != tensor]
    kept = [name for name in variables if not re.fullmatch(rf"{re.escape(tensor or '')}\.(?:size|shape).*", name)]
    shown = ", ".join(
        [f"{tensor}.shape" if tensor else f"({line.receiver}).shape" if line else "", *kept[:MAX_VARIABLES]]
    )
    place = "that line" if line else "the node" if message.traits.shape_source else "the line that fails"
    asked = f"a multiple of {known}" if -1 in target else str(known)
    have = "the dims multiply to" if message.input is None else "it holds"
    return (
        f"print({shown}) before {place}: {have} {count}, and {format_sizes(target)} asks for {asked}; whichever is not "
        "what you expect is wrong"
    )
