"""Explain the two mismatching sizes of a message."""

from __future__ import annotations

import re
from itertools import chain
from math import prod

from shapecalc.core.answers import Trace
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.unflatten import UNFLATTEN
from shapecalc.core.record import Record
from shapecalc.diagnosis.context import MAX_DISTANCE
from shapecalc.diagnosis.evidence import MIXED_LINE, recent_code
from shapecalc.diagnosis.findings import find_dim_mismatches, find_mismatch, numeric_differences
from shapecalc.diagnosis.layer_steps import find_layer_mismatch
from shapecalc.diagnosis.match import PrintedSizes
from shapecalc.diagnosis.reading import LOSS_SUBJECT, MASK_SUBJECT, WEIGHTS_SUBJECT, ParsedMessage, size_product
from shapecalc.diagnosis.suggestions import numeric_sizes
from shapecalc.reasoning.number_mismatch import LOADER_WORDS, Explanation, MismatchContext, explain_number_mismatch

COUNT_OPS = (RESHAPE.name, SHUFFLE.name, UNFLATTEN.name)
FEATURE_CAUSES = ("features-differ",)
"""The causes of mismatches between numbers of features."""
RANK_CAUSES = (
    *("ranks-differ", "rank-mismatch", "bad-axis", "bad-perm", "window-too-large", "not-one", "table-rank"),
    *("too-many-indices", "not-square", "rank-limit", "one-value", "batch-limit"),
)
"""The causes of messages that contain ranks or limits instead of sizes."""
POSITION_NUMBERS = re.compile(
    r"(?i)line \d+|:\d+\b|\b0x[0-9a-f]+|\d+:\d+|\b\d+[-/]\d+[-/]\d+|\[\d+\]|-{1,6}> ?\d+|pid=\d+"
)
"""Numbers that are file positions or times, not sizes."""
MASK_INDEX = re.compile(r"mask .{0,60}?at index (\d+).{0,80}? indexed tensor .{0,60}?at index (\d+)")
"""The index of the mismatching dim in a mask and in its tensor, as printed by PyTorch."""
STATE_WORDS = re.compile(r"(?i)hidden\[|attn_mask is|maximum sequence length|model input size")
"""Words of messages whose sizes need no explanation."""
POINT_WORDS = re.compile(r"(?i)pose|rot|world|cam|point|homog|proj|extrins|intrins|trans|vert|xyz|slice|\w:\w")
"""Words in code that slices tensors or transforms points in space."""
POINT_MATRICES = ((3, 3), (3, 4), (4, 4))
"""The shapes of matrices that transform points in space."""
MIN_IMAGE_SIDE = 8
"""The minimum height and width of an image."""


class Figures(Record):
    """The sizes or the element count to explain, with their context."""

    sizes: tuple[int, ...]
    context: MismatchContext


def explain_message(message: ParsedMessage, trace: Trace | None) -> tuple[Explanation, ...]:
    """Return explanations of the mismatching sizes of a message.

    Returns an empty tuple if there are none.
    """
    figures = find_figures(message, trace)
    found = () if figures is None else explain_number_mismatch(figures.sizes, figures.context)
    operands = (message.input, *(message.operands or ()))
    is_named = POINT_WORDS.search(recent_code(message)) is not None
    has_points = (None in operands and is_named) or any(shape[-2:] in POINT_MATRICES for shape in operands if shape)
    dropped = {"text-ratio"} if message.op == REARRANGE.name else set()  # the lengths of a pattern are in the text
    dropped |= {"classes"} if message.op is None and message.cause == "dims-differ" else set()
    dropped |= {"maps"} if message.op == CONCAT.name else set()
    dropped |= {"stride"} if MIXED_LINE.search(recent_code(message)) else set()
    dropped |= set() if has_points else {"homogeneous"}
    return tuple([one for one in found if one.kind not in dropped])


def find_figures(message: ParsedMessage, trace: Trace | None) -> Figures | None:
    """Return the mismatching sizes of a message, or None if it contains none.

    The text around the message becomes part of the context, except for line numbers and times.
    """
    line = message.failing_line.text if message.failing_line else ""
    # every message about a mask contains the same words
    quote = "" if message.about == MASK_SUBJECT else message.quote
    after = "" if message.about == MASK_SUBJECT else message.text.partition(message.quote)[2][:MAX_DISTANCE]
    text = POSITION_NUMBERS.sub(" ", f"{message.nearby_text} {_file_name(message)} {line} {quote} {after}")
    if message.op in COUNT_OPS:
        return _element_count_figures(message, text)
    if message.cause in RANK_CAUSES or count_unequal_dims(message) > 1 or _is_first_transposed(message):
        return None
    if message.about is not None or message.op is None:
        return _find_size_pair(message, text)
    pair = find_mismatch(message, trace)
    if pair is None or min(pair) < 0:
        return None
    if (
        message.op == CONCAT.name
        and message.framework == "tensorflow"
        and max(pair) % max(min(pair), 1) == 0 < min(pair)
    ):
        return None
    axis = 1 if message.op == CONV.name else message.dim
    # the message omits the concatenated axis
    if message.op == CONCAT.name and "in both shapes" in message.quote.lower():
        axis = None
    elif axis is None and message.op in (BROADCAST.name, EXPAND.name, CONCAT.name, MATMUL.name):
        axis = _differing_axis(message, pair)
        if message.framework == "tensorflow" and len(message.input or ()) == 4 and axis is not None:
            axis = max(axis, 2) if axis else 0  # TensorFlow's layout is NHWC, with the height on axis 1
    if message.op == BROADCAST.name:
        pair = _order_broadcast_sizes(message, axis, pair)
    context = MismatchContext(
        axis=axis,
        is_divisor=message.op == REARRANGE.name and message.cause == "indivisible",
        is_channel=_is_channel_axis(message, axis),
        is_loader_independent=message.op == CONCAT.name
        or (message.framework == "numpy" and not LOADER_WORDS.search(text)),
        is_features=message.op in (LINEAR.name, MATMUL.name, CONV.name),
        shape_sizes=frozenset(numeric_sizes((*(message.input or ()), *chain.from_iterable(message.operands or ())))),
        text=text,
    )
    return Figures(pair, context)


def _file_name(message: ParsedMessage) -> str:
    """Return the last two components of the path of the failing file, separated by a space."""
    file = message.failing_line.file if message.failing_line else None
    return " ".join(re.split(r"[/\\]", file or "")[-2:])


def _is_first_transposed(message: ParsedMessage) -> bool:
    """Return whether transposing the first operand makes NumPy's matrix product valid."""
    shape, other = message.input or (), (message.operands or ((),))[0]
    is_product = message.op == MATMUL.name and message.framework == "numpy"
    return is_product and len(shape) == 2 and shape[:1] == other[:1]


def _order_broadcast_sizes(message: ParsedMessage, axis: int | None, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the two sizes of a broadcast, the likely actual size first.

    The message does not say which operand is wrong. The actual size is assumed to be the smaller of two batch sizes, or
    4 if the channel counts are 3 and 4.
    """
    if axis == 0:
        return pair if pair == (4, 3) else (min(pair), max(pair))
    return (4, 3) if {*pair} == {3, 4} and _is_channel_axis(message, axis) is True else pair


def count_unequal_dims(message: ParsedMessage) -> int:
    """Return the number of axes along which a message's two shapes cannot be broadcast.

    Returns 0 if the shapes are unknown.
    """
    shape, other = message.input or (), (message.operands or ((),))[0]
    if message.op != BROADCAST.name or message.operands is None or len(message.operands) > 1:
        return 0
    pairs = zip(shape[::-1], other[::-1], strict=False)
    return sum(one != two and not {1, "?"} & {one, two} for one, two in pairs)


def _element_count_figures(message: ParsedMessage, text: str) -> Figures | None:
    """Return the element count of the input, with the requested dims as context.

    Returns None if the count or the requested dims are unknown.
    """
    target = numeric_sizes(message.target)
    if message.elements is None or (not target and message.target_elements is None):
        return None
    if not target:
        count = message.target_elements or 0
        return Figures((message.elements, count), MismatchContext(target=(count,), text=text))
    if min(target) < -1 or prod(target) == 0 or target.count(-1) > 1:
        return None
    return Figures((message.elements,), MismatchContext(target=target, text=text))


def _find_size_pair(message: ParsedMessage, text: str) -> Figures | None:
    """Return the two mismatching sizes of a message without an op.

    If the message does not state two sizes, its two shapes are compared. Returns None unless they differ along one axis
    only.
    """
    if any(int(axis) >= 2 for axis, *_ in find_dim_mismatches(message)):
        return None
    is_features = message.cause in FEATURE_CAUSES
    layer = find_layer_mismatch(message) if is_features else None
    if layer is not None:
        return Figures((layer.actual, layer.expected), MismatchContext(is_features=True, text=text))
    if message.pair is not None and min(message.pair) >= 0:
        divides = message.cause == "indivisible"
        is_fixed = message.about != LOSS_SUBJECT
        context = MismatchContext(
            axis=message.dim,
            is_channel=message.dim in (1, 3),
            is_divisor=divides,
            is_loader_independent=is_fixed,
            is_features=is_features,
            is_length=message.cause == "lengths-differ",
            is_loss=message.about == LOSS_SUBJECT,
            text=text,
        )
        return Figures(message.pair, context)
    if STATE_WORDS.search(message.quote):
        return None
    shape, other = message.input or (), (message.operands or ((),))[0]
    if (mask := MASK_INDEX.search(message.quote)) and message.about == MASK_SUBJECT:
        sizes = (*shape[int(mask[2]) :][:1], *other[int(mask[1]) :][:1])
        numbers = [size for size in sizes if isinstance(size, int)]
        context = MismatchContext(axis=int(mask[2]), is_loader_independent=True, text=text)
        return Figures((numbers[0], numbers[1]), context) if len(numbers) == 2 and other != shape[:1] else None
    differences = numeric_differences(shape, other)
    if len(differences) != 1 or (len(shape) != len(other) and message.cause != "not-about-shape"):
        return None
    axis, size, expected = differences[0]
    is_channel = is_channel_axis(shape, axis) and is_channel_axis(other, axis)
    known_axis = None if len(shape) == 1 or message.about == WEIGHTS_SUBJECT else axis
    context = MismatchContext(
        axis=known_axis,
        is_channel=is_channel,
        is_loader_independent=message.about != LOSS_SUBJECT,
        is_length=message.cause == "lengths-differ",
        is_features=message.about == WEIGHTS_SUBJECT and len(shape) == 2 and axis == _input_axis(message),
        is_weight=message.about == WEIGHTS_SUBJECT,
        text=text,
    )
    return Figures((size, expected), context)


def _input_axis(message: ParsedMessage) -> int:
    """Return the axis of a weight matrix that is multiplied with the input features."""
    return 0 if message.framework in ("tensorflow", "keras", "jax", "flax") else 1


def _differing_axis(message: ParsedMessage, pair: tuple[int, int]) -> int | None:
    """Return the result axis along which two shapes have the sizes of `pair`."""
    shape, other = message.input or (), message.target or (message.operands or ((),))[0]
    rank = max(len(shape), len(other))
    pairs = [*zip(shape[::-1], other[::-1], strict=False)]
    axis = next((rank - 1 - index for index, sizes in enumerate(pairs) if sizes == pair), None)
    return None if rank < 2 else axis


def _is_channel_axis(message: ParsedMessage, axis: int | None) -> bool | None:
    """Return whether the mismatching sizes are image channels.

    Returns None if the shapes are unknown.
    """
    if message.input is None and message.op == BROADCAST.name:
        return None
    shape, other = message.input or (), message.target or (message.operands or ((),))[0]
    if message.op == CONV.name:
        return is_channel_axis(shape, 1)
    if message.op == LINEAR.name:
        return is_channel_axis(shape, len(shape) - 1)
    return axis is not None and is_channel_axis(shape, axis) and (len(other) != len(shape) or other[axis] != 0)


def is_channel_axis(shape: PrintedSizes, axis: int) -> bool:
    """Return whether an axis may be the channel axis of an image tensor.

    Such a tensor has three or four dims, none of them 0.

    >>> is_channel_axis((2, 4, 64, 64), 1), is_channel_axis((2, 4, 3), 1), is_channel_axis((64, 64, 4), 2)
    (True, False, True)
    """
    if len(shape) not in (3, 4) or size_product(shape) == 0 or axis not in (len(shape) - 3, len(shape) - 1):
        return False
    sides = [size for index, size in enumerate(shape[-3:]) if index != axis - len(shape) + 3]
    return all(not isinstance(size, int) or size >= MIN_IMAGE_SIDE for size in sides)
