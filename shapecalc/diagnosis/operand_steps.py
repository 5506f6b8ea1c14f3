"""Advice for operands that cannot be broadcast, concatenated or stacked.

Either operand may be wrong. The advice states a cause only if the line of code, the node or the shapes determine it.
Otherwise, it states the values to print, and a change for each operand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.record import Record
from shapecalc.diagnosis.evidence import (
    EXPORT_STEP,
    FILE_FRAMEWORKS,
    LIST_ARGUMENT,
    MIXED_LINE,
    ONNX_FRAMEWORKS,
    RESIDUAL,
    RemedyStep,
    failing_code,
    is_image_pipeline,
    print_step,
    recent_code,
)
from shapecalc.diagnosis.findings import find_differences, find_mismatch
from shapecalc.diagnosis.known_sizes import MIN_IMAGE_SIDE
from shapecalc.diagnosis.match import PrintedSizes, find_closing_bracket, format_sizes
from shapecalc.diagnosis.reading import ParsedMessage, size_product
from shapecalc.diagnosis.suggestions import MAX_BATCH, numeric_sizes
from shapecalc.reasoning.number_mismatch import (
    COMMON_WIDTHS,
    LATENT_MODELS,
    LEVEL_WORDS,
    MIN_VOCABULARY,
    MODELS_BY_WIDTH,
    PICTURE_WORDS,
    POSITION_WORDS,
    TOKEN_WORDS,
)

MIN_LEVEL_SIDE, MAX_LEVEL_SIDE = 5, 256
"""The minimum and the maximum side of feature maps that may be from different levels of a network."""
TOKEN_LINE = re.compile(r"(?i)token|cls|emb|text|prompt")
"""Words in code that concatenates tokens, not feature maps."""
MAX_BORDER = 4
"""The largest difference of two sizes that is explained by padding, an even kernel or rounding."""
MIN_BORDERED = 16
"""The minimum size for which a difference is explained by padding."""
PRODUCT_LINE = re.compile(r"^[^-+/]*\*[^-+/*]*$")
"""A line of code with `*` as its only operator."""
MEMBERSHIP = re.compile(r"(?:where|nonzero)\(\s*([\w.\[\]]{1,40}) == ([\w.\[\]]{1,40})\s*\)")
"""A call of `where` or `nonzero` with an equality test."""
CONCAT_CALL = re.compile(r"\b(?:cat|concat|concatenate|stack)\(")
"""The start of a concatenation in a line of code."""
AXIS_ARGUMENT = re.compile(r"(?:axis|dim) ?= ?(-?\d)\b")
"""The axis of a concatenation in a line of code."""
MASK_NAME = re.compile(r"(?i)mask|label|\bgt\b|_gt|seg|matte|trimap|alpha")
"""A name for a mask of an image."""
SHORTCUT = re.compile(r"(?i)\b(?:identity|\w*shortcut|residual|downsample)\b")
"""A name for the shortcut of a residual block."""
SPLIT_CALL = re.compile(r"\.(?:chunk|split)\(")
"""A split in a line of code."""
OPERAND_INDEX = re.compile(r"tensor number (\d+)|input\[(\d+)\]'s shape")
"""The index of the mismatching operand in a message about a concatenation."""
EQUATION = re.compile(r"einsum\(\s*['\"]([\w, ]+)->([\w ]*)['\"]")
"""The equation of an einsum in a line of code, without an ellipsis."""
REMAPPED_SHAPE = re.compile(r"\]->\[([\d, ]+)\]")
"""A remapped shape in a message of PyTorch's einsum."""
SUBSCRIPT = re.compile(r"subscript (\w) has size \d+ for operand (\d+)")
METRIC_NODE = re.compile(r"(?i)^metrics?/|/metrics?/|accuracy|/equal$")
LOSS_NODE = re.compile(r"(?i)loss|squared_?difference|cross_?entropy|mean_squared|mean_absolute")
GRADIENT_CALL = re.compile(r"\b(?:value_and_)?grad\(")
"""A call that differentiates a function."""
MODEL_PATH = re.compile(
    r"(?i)\b(?P<setting>\w*model\w*(?:dir|path|file)\w*)\s?[=: ]\s?[\"']?(?P<path>[\w./\\:-]{3,200})"
)
"""A setting that names the file or folder of a model."""
FILE_RUNNERS = (*FILE_FRAMEWORKS, "paddle")
"""The frameworks whose runtimes run saved models."""
LOSS_LINE = re.compile(r"(?i)loss|criterion|mse\b|\bbce|cross_entropy|y_true")
STATISTICS_LINE = re.compile(r"(?i)\b(?:mean|std)\b(?!\()|\bnormali[sz]e\(")
REPEAT_REMEDY = "repeat the one of size 1, x.expand(...), if these are batches: a concatenation does not broadcast"
MOVED_AXIS_REMEDY = (
    "print the shape of the one with 1: if {} is on another of its axes, transpose it; a row for all is repeated"
)
ATTENTION_MASK = "attention mask should be"
"""The words of Transformers about the shape of an attention mask."""
INDEX_ASSIGNMENT = "indexing result"
"""The words of a PyTorch message about the assignment of a value to an indexed tensor."""
MODEL_CODE = re.compile(r"\bmodeling_\w+\.py\b")
"""A file of a model's code, as Transformers names it."""
ASSIGNED_VALUE = re.compile(r"\] ?= ?([A-Za-z_][\w.]*)\s*$")
"""The variable that is assigned to an index."""
MAX_PADDED = 32
"""The maximum difference that is explained by the padding of several layers."""
KEEP_AXIS = {"torch": "keepdim=True"}
REPEAT_CODE = {"torch": ", as k.repeat_interleave(n, dim)", "jax": ", as jnp.repeat(k, n, axis)"}
"""The code that repeats an axis, keyed by framework. Source: the frameworks' documentation."""
ISIN = {"numpy": "np.isin", "torch": "torch.isin", "jax": "jnp.isin"}
"""The function that tests membership, keyed by framework. Source: the frameworks' documentation."""
MULTIPLES = (
    "if these are maps of a network that halves and doubles them, pad or resize the picture until its sides are "
    "multiples of all its strides, often of 32"
)
RESIZED_MAPS = {
    "torch": "; or F.interpolate(x, size=skip.shape[2:]) before the concatenation",
    "tensorflow": "; or tf.image.resize(x, skip.shape[1:3]) before the concatenation",
    "keras": "; or Cropping2D or ZeroPadding2D before the concatenation",
}
"""The code that resizes a map to another, keyed by framework. Source: the frameworks' documentation."""


class OperandMismatch(Record):
    """Two incompatible operands of a message."""

    message: ParsedMessage
    shape: PrintedSizes
    other: PrintedSizes
    line: str
    sizes: tuple[int, int] | None
    """The two mismatching sizes, or None if several dims mismatch."""

    @property
    def words(self) -> str:
        """The failing line, the text above the message, and the name of the node."""
        return f"{recent_code(self.message)} {self.message.node or ''}"

    @property
    def differences(self) -> list[tuple[int, int, int]]:
        """The axes along which operands of equal rank differ, each with both sizes."""
        return find_differences(self.message) if len(self.shape) == len(self.other) else []

    @property
    def axis(self) -> int | None:
        """The mismatching axis, or None if it is unknown or there are several."""
        axes = [axis for axis, *_ in self.differences]
        return self.message.dim if self.message.dim is not None else axes[0] if len(axes) == 1 else None


class OperandStep(Record):
    """A step for two incompatible operands, with the condition under which it applies."""

    applies: Callable[[OperandMismatch], bool]
    text: str | Callable[[OperandMismatch], str]
    is_supported: bool = True
    is_final: bool = False
    """Whether this step, if it applies, is the last one."""


def iter_operand_steps(message: ParsedMessage) -> Iterator[RemedyStep]:
    """Yield advice for incompatible operands, the likeliest first."""
    shape, other = message.input or (), (message.operands or ((),))[0]
    line = failing_code(message)
    differences = find_differences(message) if len(shape) == len(other) else []
    only = differences[0][1:] if len(differences) == 1 else None
    mismatch = OperandMismatch(message, shape, other, line, find_mismatch(message, None) or only)
    rows = STEPS.get(message.op or "", ())
    for row in rows:
        if row.applies(mismatch):
            yield RemedyStep(row.text if isinstance(row.text, str) else row.text(mismatch), row.is_supported)
            if row.is_final:
                return


def flattened_step(shape: PrintedSizes, other: PrintedSizes) -> str:
    """Return the advice for two shapes with equal element counts, or an empty string.

    The shapes have the same rank, and two dims of one are merged in the other.
    """
    pairs = [(one, two) for one, two in zip(numeric_sizes(shape), numeric_sizes(other), strict=False) if one != two]
    is_regrouped = len(shape) == len(other) > 2 and len(pairs) == 2 and 1 in (*pairs[0], *pairs[1])
    if is_regrouped and size_product(shape) == size_product(other) and {*pairs[0]} != {*pairs[1]}:
        return f"both hold as many elements: if one was flattened, reshape one to the other, {format_sizes(shape)}"
    return ""


def is_bordered(sizes: tuple[int, ...]) -> bool:
    """Return whether padding, an even kernel or rounding may explain the difference of two sizes."""
    return min(sizes) >= MIN_BORDERED and max(sizes) < MIN_VOCABULARY and 0 < max(sizes) - min(sizes) <= MAX_BORDER


def _are_maps_rounded(mismatch: OperandMismatch) -> bool:
    """Return whether only heights or widths differ, by amounts that padding or rounding may explain."""
    if SPLIT_CALL.search(mismatch.line):
        return False
    is_map_known = mismatch.shape or mismatch.line or (mismatch.axis or 0) > 1 or mismatch.message.op == CONCAT.name
    if TOKEN_WORDS.search(mismatch.words) or not is_map_known:
        return False
    differences = mismatch.differences
    if differences:
        is_map = len(mismatch.shape) > 2 and all(axis > 0 for axis, *_ in differences)
        is_map = is_map and not (
            len(mismatch.shape) == 3 and mismatch.shape[-1] == 4
        )  # rows of four coordinates are boxes
        small = len(differences) > 1 and all(abs(one - two) == 1 for _, one, two in differences)
        return is_map and (small or all(is_bordered(row[1:]) for row in differences))
    is_map = (mismatch.axis or 0) > 0 or (
        mismatch.axis is None and mismatch.message.op == CONCAT.name and _concat_axis(mismatch) in (None, 1)
    )
    return mismatch.sizes is not None and is_map and is_bordered(mismatch.sizes)


def _model_path(mismatch: OperandMismatch) -> str:
    """Return the setting with the model's path, or an empty string."""
    match = MODEL_PATH.search(mismatch.message.text) if mismatch.message.framework in FILE_RUNNERS else None
    return f"{match['setting']}={match['path']}" if match else ""


def _model_path_text(mismatch: OperandMismatch) -> str:
    return (
        f"compare the model with the program that runs it: the text has {_model_path(mismatch)}; if its name is that "
        "of another task, give the model of this one, and print the shape of the input: a model of another task may "
        "need sides that are multiples of its strides"
    )


def _concat_axis(mismatch: OperandMismatch) -> int | None:
    """Return the axis of a concatenation, from the message or the line of code, or None."""
    return mismatch.message.axes[0] if mismatch.message.axes else written_axis(mismatch.line)  # type: ignore[return-value]


def written_axis(line: str) -> int | None:
    """Return the axis of the first concatenation in a line of code, or None.

    >>> written_axis("y = torch.cat(torch.cat(x.chunk(4, dim=2), dim=0).chunk(2, dim=1), dim=-1)")
    -1
    """
    call = CONCAT_CALL.search(line)
    length = find_closing_bracket(line[call.end() - 1 :]) if call else None
    text = line[call.end() : call.end() - 1 + length] if call and length else line
    match = AXIS_ARGUMENT.search(re.split(r"[\])]", text)[-1] if call else text) or AXIS_ARGUMENT.search(
        "" if call else line
    )
    return int(match[1]) if match else None


def _can_multiply(mismatch: OperandMismatch) -> bool:
    """Return whether the matrix product of two different matrices would be valid."""
    shape, other = mismatch.shape, mismatch.other
    return len(shape) == len(other) == 2 and shape[1] == other[0] and shape != other and bool(mismatch.line)


def _is_product_meant(mismatch: OperandMismatch) -> bool:
    return _can_multiply(mismatch) and "*" in mismatch.line and PRODUCT_LINE.search(mismatch.line) is not None


def _is_axis_missing(mismatch: OperandMismatch) -> bool:
    return (
        _can_multiply(mismatch)
        and mismatch.shape[0] != mismatch.shape[1]
        and PRODUCT_LINE.search(mismatch.line) is None
    )


def _level_ratio(mismatch: OperandMismatch) -> int:
    """Return the ratio of two feature maps from different levels of a network, or 0."""
    pairs = [row[1:] for row in mismatch.differences]
    ratios = {max(pair) // min(pair) if max(pair) % max(min(pair), 1) == 0 else 0 for pair in pairs if min(pair) > 0}
    axes = [axis for axis, *_ in mismatch.differences]
    is_pair = len(axes) == 2 and axes[1] == axes[0] + 1 and axes[0] > 0 and len(mismatch.shape) > 3
    is_pair = is_pair and len({one > two for one, two in pairs}) == 1
    return ratios.pop() if is_pair and len(ratios) == 1 and ratios <= {2, 4, 8, 16, 32} else 0


def _print_text(mismatch: OperandMismatch) -> str:
    text = print_step(mismatch.message, "a.shape, b.shape")
    if mismatch.message.framework in ONNX_FRAMEWORKS:
        node = f"the node {mismatch.message.node}" if mismatch.message.node else "the node that fails"
        sizes = mismatch.sizes or (0, 0)
        if min(sizes) in (1, 3, 4) and max(sizes) >= MIN_BORDERED:
            return (
                f"in Netron, look at {node}: {min(sizes)} meets {max(sizes)}; if the {min(sizes)} are channels and the "
                f"{max(sizes)} a side of a picture, the constant lacks its last dims: make it ({min(sizes)}, 1, 1) in "
                "the code that is exported, without an index or a squeeze; otherwise, compare what you feed with the "
                "inputs of the model"
            )
        found = "" if mismatch.sizes is None else f", and find the input that makes {_format_pair(mismatch.sizes)}"
        return (
            f"{text}{found}; in Netron, look at {node}: if one of its inputs is a constant, the export fixed its size"
        )
    if mismatch.sizes is None and mismatch.differences:
        pairs = ", ".join(f"dim {axis} is {one} and {two}" for axis, one, two in mismatch.differences)
        return f"{text}: {pairs}; find the line that makes the wrong one"
    if mismatch.sizes is None:
        return f"{text}, and find which of them is not what you expected"
    where = "" if mismatch.axis is None else f" at dim {mismatch.axis}"
    return (
        f"{text}: one has {mismatch.sizes[0]}{where}, the other {mismatch.sizes[1]}; find the line that makes the "
        "wrong one"
    )


def _format_pair(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]} or {sizes[1]}"


def _is_tensorflow(mismatch: OperandMismatch) -> bool:
    return mismatch.message.framework in ("tensorflow", "keras")


def _pair_ratio(mismatch: OperandMismatch) -> int:
    """Return the ratio of the two mismatching sizes if it is 2, 4 or 8, or 0."""
    small, large = sorted(mismatch.sizes or (0, 0))
    is_map = small >= MIN_LEVEL_SIDE and large <= MAX_LEVEL_SIDE
    times = large // small if is_map and large % small == 0 else 0
    return times if times in (2, 4, 8) else 0


def _always(_mismatch: OperandMismatch) -> bool:
    return True


def _residual_text(mismatch: OperandMismatch) -> str:
    sizes = mismatch.sizes or (0, 0)
    small, large = sorted(sizes)
    if SHORTCUT.search(mismatch.line) and small:
        change = (
            f"give both the same stride: one map has {large // small} times the side of the other"
            if (mismatch.axis or 0) > 1 and large % small == 0 and large != small
            else f"project the shortcut by a 1x1 convolution, as downsample does: {sizes[0]} channels meet {sizes[1]}"
            if mismatch.axis == 1
            else "give both the same stride, padding and channels"
        )
        return f"the shortcut and the main path of a residual block must have one shape: {change}"
    if mismatch.axis == 1 and not is_bordered(sizes) and len(mismatch.shape) != 3:
        return (
            "a residual adds a layer's output to its input, so both need the same dims: give the layer as many outputs "
            "as inputs, or project the input"
        )
    return (
        "a residual adds a layer's output to its input, so the layer must keep each dim: stride 1, an odd kernel, "
        "and padding = dilation*(kernel - 1)//2"
    )


def _level_text(mismatch: OperandMismatch) -> str:
    return (
        f"one has {_level_ratio(mismatch)} times the sides of the other: if these are maps of a network, take those of "
        "one level, or check the strides, the upsampling and the picture size"
    )


def _last_axis_text(mismatch: OperandMismatch) -> str:
    shape, other = mismatch.shape, mismatch.other
    names = mismatch.message.failing_line.operands if mismatch.message.failing_line else ()
    first = len(shape) < len(other)
    name = names[0 if first else 1] if len(names) == 2 else "the first" if first else "the second"
    keeps = KEEP_AXIS.get(mismatch.message.framework or "", "keepdims=True")
    code = f"{name}[..., None]" if len(names) == 2 else "x[..., None]"
    return f"if both mean the same leading axes, give {name} a last one of 1, {code}, or {keeps} where it is reduced"


def _is_last_axis_missing(mismatch: OperandMismatch) -> bool:
    return 0 < len(mismatch.shape) != len(mismatch.other) > 0 and (
        mismatch.other == mismatch.shape[:-1] or mismatch.shape == mismatch.other[:-1]
    )


def _fits(size: object, other: object) -> bool:
    return size == other or "?" in (size, other)


def _is_head_missing(mismatch: OperandMismatch) -> bool:
    """Return whether an attention mask lacks the dim of 1 for the heads."""
    return _is_attention_mask(mismatch) and bool(_missing_axes(mismatch))


def _missing_axes(mismatch: OperandMismatch) -> list[int]:
    """Return the axes of size 1 that the first operand lacks, if all other dims are equal."""
    shape, other = mismatch.shape, mismatch.other
    return [axis for axis, size in enumerate(other) if size == 1 and (*other[:axis], *other[axis + 1 :]) == shape]


def _head_text(mismatch: OperandMismatch) -> str:
    axis = _missing_axes(mismatch)[-1]
    return f"the mask lacks the dim of 1 for its heads: mask.unsqueeze({axis}); its sizes are right"


def _is_attention_mask(mismatch: OperandMismatch) -> bool:
    return ATTENTION_MASK in mismatch.message.quote.lower()


def _mask_text(mismatch: OperandMismatch) -> str:
    """Return the advice for an attention mask whose length is not that of the keys."""
    actual, wanted = mismatch.shape[-1:], mismatch.other[-1:]
    if not actual or not wanted or actual == wanted:
        return "print(mask.shape) before that line, and build the mask with the dims that the message asks for"
    text = f"the last dim of the mask is {actual[0]}, and the keys, past and new, are {wanted[0]}"
    numbers = mismatch.sizes or (0, 0)
    file = MODEL_CODE.search(mismatch.message.text)
    if abs(numbers[0] - numbers[1]) == 1:
        code = file[0] if file else "the model's code"
        return (
            f"{text}: if you make no mask yourself, {code} may count the cached tokens differently from this version "
            "of transformers: update that code, pin the version for which it was written, or try use_cache=False"
        )
    return (
        f"{text}: a mask that you pass must cover past and new tokens together, {wanted[0]}; with pictures, their "
        "tokens count too"
    )


def _indexed_text(mismatch: OperandMismatch) -> str:
    """Return the advice for a value whose shape differs from that of the indexed elements."""
    places, value = numeric_sizes(mismatch.other), numeric_sizes(mismatch.shape)
    names = ASSIGNED_VALUE.search(mismatch.line)
    name = names[1] if names else "the value"
    pair = f"the index selects ({format_sizes(mismatch.other)}), and {name} is ({format_sizes(mismatch.shape)})"
    if len(value) > 1 and value == places[::-1]:
        code = f"{names[1]}.t()" if names and len(value) == 2 else "value.permute(*range(value.ndim - 1, -1, -1))"
        return f"{pair}, its transpose: assign {code}"
    if mismatch.other[:1] == (0,):
        return f"{pair}: nothing was found, as where a prompt lacks its image tokens; print what the index is made of"
    counts = size_product(mismatch.other), size_product(mismatch.shape)
    if counts[0] is None or counts[1] is None or counts[0] == counts[1]:
        return f"{pair}: print both before that line, and give the value the dims that the index selects"
    if counts[0] > counts[1]:
        return (
            f"{pair}, fewer: print both before that line; if both are fixed numbers, as of joints or features, the "
            "value was made for another model or configuration: convert it, or take the data for this one"
        )
    return (
        f"{pair}, more: print both before that line; select as many places as there are values: print(mask.sum()) if "
        "the index is a mask, and look for a limit that cut what it is made of"
    )


def _is_channel_constant(mismatch: OperandMismatch) -> bool:
    """Return whether the second operand has one value per channel of an image."""
    large = [size for size in mismatch.other if size not in (1, "?")]
    sides = [size for size in mismatch.shape if isinstance(size, int) and size >= MIN_IMAGE_SIDE]
    return len(mismatch.shape) > 2 and len(large) == 1 and large[0] in (3, 4) and len(sides) > 1


def _channel_text(mismatch: OperandMismatch) -> str:
    size = next(size for size in mismatch.other if size not in (1, "?"))
    axis = len(mismatch.shape) - len(mismatch.other) + mismatch.other.index(size)
    actual = mismatch.shape[axis] if 0 <= axis < len(mismatch.shape) else "?"
    if (actual, size) == (4, 3):
        return "if the first is a picture with alpha, drop that, x[..., :3] with the channels last, or give 4 values"
    places = [index for index, other in enumerate(mismatch.shape) if other == size]
    if places and len(mismatch.other) == 1:
        index = ", ".join([":", *["None"] * (len(mismatch.shape) - 1 - places[0])])
        return (
            f"if the second holds a value for each of {size} channels, which the first has at dim {places[0]}: write "
            f"it as x[{index}], or move that axis of the first to the end"
        )
    where = f"they are at dim {places[-1]}, so move them" if places else "and no dim is"
    step = (
        "to that axis" if places else f"{size}: print the picture's shape where it is read, HWC or CHW, grey or colour"
    )
    return (
        f"the second holds {size} values along dim {axis}, where the first has {actual}: if they are for its channels, "
        f"{where} {step}"
    )


def _is_row_vector(mismatch: OperandMismatch) -> bool:
    """Return whether the second operand has one value per row of the first."""
    shape, other = mismatch.shape, mismatch.other[-1:]
    is_vector = len(mismatch.other) == 1 or (len(mismatch.other) == 2 and mismatch.other[0] == 1)
    return len(shape) == 2 and is_vector and shape[0] == other[0] != shape[1] and isinstance(shape[0], int)


def _row_text(mismatch: OperandMismatch) -> str:
    names = mismatch.message.failing_line.operands if mismatch.message.failing_line else ()
    name = names[1] if len(names) == 2 else "y"
    code = (
        f"{name}[:, None]"
        if len(mismatch.other) == 1 or mismatch.message.framework == "jax"
        else f"{name}.reshape(-1, 1)"
    )
    return (
        f"if the second holds a value for each of the {mismatch.shape[0]} rows, make it a column, {code}, or keep that "
        f"axis where it is made, {KEEP_AXIS.get(mismatch.message.framework or '', 'keepdims=True')}"
    )


def _are_last_axes_missing(mismatch: OperandMismatch) -> bool:
    """Return whether the dims of one operand are the leading dims of the other."""
    short, long = sorted((mismatch.shape, mismatch.other), key=len)
    pairs = [*zip(short, long, strict=False)]
    is_known = any(isinstance(one, int) and one > 1 for one, _ in pairs)
    return len(pairs) > 1 and len(short) < len(long) and is_known and all(_fits(*pair) for pair in pairs)


def _last_axes_text(mismatch: OperandMismatch) -> str:
    count = abs(len(mismatch.shape) - len(mismatch.other))
    which = "first" if len(mismatch.shape) < len(mismatch.other) else "second"
    return (
        f"the dims agree from the left, and a broadcast aligns them from the right: if the same axes are meant, give "
        f"the {which} {count} more dims of 1, x[..., {', '.join(['None'] * count)}]"
    )


def _membership_text(mismatch: OperandMismatch) -> str:
    """Return the advice for an equality test of two arrays of different lengths, or an empty string."""
    match = MEMBERSHIP.search(mismatch.line)
    isin = ISIN.get(mismatch.message.framework or "")
    return (
        f"to find the elements that occur in the other, write {isin}({match[1]}, {match[2]})" if match and isin else ""
    )


def _is_interpolated(mismatch: OperandMismatch) -> bool:
    """Return whether a side of real and generated images differs by a small even number."""
    sizes = mismatch.sizes or (0, 0)
    gap = abs(sizes[0] - sizes[1])
    return (
        MIXED_LINE.search(mismatch.line) is not None
        and (mismatch.axis or 0) > 1
        and 0 < gap <= MAX_PADDED
        and gap % 2 == 0
    )


def _interpolated_text(mismatch: OperandMismatch) -> str:
    sizes = mismatch.sizes or (0, 0)
    gap = abs(sizes[0] - sizes[1])
    return (
        f"{print_step(mismatch.message, 'real.shape, fake.shape')}: they differ by {gap} = {gap // 2}*2, as if "
        f"{gap // 2} convolutions of 3x3 padded, or did not, on both sides; if so, pad once, before the network or in "
        "each layer, and set the other padding to 0"
    )


def _are_images(mismatch: OperandMismatch) -> bool:
    """Return whether two arrays may be images with equal channels and different sides."""
    shape, other = numeric_sizes(mismatch.shape), numeric_sizes(mismatch.other)
    channels = {shape[2:], other[2:]}
    is_large = min((*shape[:2], *other[:2]), default=0) >= MIN_BORDERED and not {*shape[:2]} & {*other[:2]}
    return is_large and channels in ({()}, {(1,)}, {(3,)}, {(4,)}) and mismatch.message.framework == "numpy"


def _is_colour_mask(mismatch: OperandMismatch) -> bool:
    """Return whether a mask may have been read as a colour image."""
    small, large = sorted(mismatch.sizes or (0, 0))
    is_channel = mismatch.axis in (None, 1, len(mismatch.shape) - 1)
    return small in (3, 4) and large >= MIN_BORDERED and is_channel and MASK_NAME.search(mismatch.line) is not None


def _colour_mask_text(mismatch: OperandMismatch) -> str:
    size = min(mismatch.sizes or (0,))
    return (
        f"{print_step(mismatch.message, 'x.shape, mask.shape')}: one has {size} channels; if it is a mask or a label "
        "that was read as a picture in colour, read it in grey, image.convert('L'), or take one channel, mask[:, :1]"
    )


def _is_constant_per_channel(mismatch: OperandMismatch) -> bool:
    """Return whether the second operand has one value per channel, and the first a multiple of its channels."""
    large = [size for size in numeric_sizes(mismatch.other) if size > 1]
    if len(large) != 1 or mismatch.sizes is None or mismatch.sizes[1] != large[0] or len(mismatch.shape) < 3:
        return False
    return 1 in mismatch.other and mismatch.sizes[0] > large[0] and mismatch.sizes[0] % large[0] == 0


def _channel_multiple_text(mismatch: OperandMismatch) -> str:
    one, two = mismatch.sizes or (0, 1)
    return (
        f"the second holds a value for each of {two} fields or channels, and the first has {one // two} times as many: "
        f"print how many were loaded or requested, and why each comes {one // two} times, as members of an ensemble, "
        "times, levels or frames; request one of each, or give these an axis of their own"
    )


PAIRED_PICTURES = re.compile(r"(?i)mask|picture|image|pixel")


def format_model_widths(sizes: tuple[int, ...] | None, is_certain: bool = False) -> str:
    """Return the advice for the widths of two well-known models, or an empty string.

    `is_certain` states whether the program certainly combines several models.
    """
    if not sizes or len({*sizes}) < 2 or not {*sizes} <= {*MODELS_BY_WIDTH} or {*sizes} <= COMMON_WIDTHS:
        return ""
    if not is_certain and max(sizes) % min(sizes) == 0:  # a multiple is as often a size of the same model
        return ""
    return (
        "if these are widths of encoders or of their embeddings, {} is that of {}, {} of {}: take encoder, model, "
        "embeddings and adapters of one family".format(
            *(part for size in sizes for part in (size, MODELS_BY_WIDTH[size]))
        )
    )


def _format_latents(mismatch: OperandMismatch) -> str:
    """Return the advice for channels of latents in an image pipeline, or an empty string."""
    names = [f"{size} are those of {LATENT_MODELS[size]}" for size in mismatch.sizes or () if size in LATENT_MODELS]
    if not names or not is_image_pipeline(mismatch.message) or (mismatch.axis or 1) != 1:
        return ""
    return (
        f"if these are channels of latents, {', '.join(names)}: take the model, the VAE and the node that makes the "
        "empty latent of one family"
    )


def _flat_mask_text(mismatch: OperandMismatch) -> str:
    """Describe a flattened mask, or return an empty string."""
    small, large = sorted(mismatch.sizes or (0, 0))
    if small < MIN_LEVEL_SIDE or small * small != large:
        return ""
    return (
        f"{large} = {small}*{small}, as if the rows of a mask were flattened, by view(batch, -1): keep them, (batch, "
        f"1, {small}, {small}); "
    )


BROADCAST_STEPS = (
    OperandStep(
        lambda mismatch: "inverse_transform(" in mismatch.line and mismatch.shape[-1:] != mismatch.other[-1:],
        lambda mismatch: (
            f"the scaler was fitted on {mismatch.other[-1]} columns and is given {mismatch.shape[-1]}: fit a scaler "
            f"for these columns alone, or put them into a table of {mismatch.other[-1]} before"
        ),
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: INDEX_ASSIGNMENT in mismatch.message.quote,
        _indexed_text,
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: 0 in (*mismatch.shape, *mismatch.other),
        lambda mismatch: (
            f"one operand is empty, {format_sizes(mismatch.shape if 0 in mismatch.shape else mismatch.other)}: find "
            "the selection, mask, limit or data that leaves nothing here; skip this step only if none is a valid case"
        ),
        is_final=True,
    ),
    OperandStep(_is_head_missing, _head_text, is_final=True),
    OperandStep(_is_attention_mask, _mask_text, is_final=True),
    OperandStep(
        lambda mismatch: METRIC_NODE.search(mismatch.message.node or "") is not None,
        (
            "the metric fails, not the model: take the metric for these labels, sparse_categorical_accuracy for "
            "class numbers, or leave metrics out to see whether the loss works"
        ),
    ),
    OperandStep(
        lambda mismatch: _is_tensorflow(mismatch) and [axis for axis, *_ in mismatch.differences] == [0],
        lambda mismatch: (
            f"dim 0, most often the batch, is {mismatch.shape[0]} and {mismatch.other[0]}: find the Reshape or Flatten "
            "that changes it, or a batch size that is fixed; for a smaller last batch, dataset.batch(n, "
            "drop_remainder=True)"
        ),
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: (
            LOSS_NODE.search(mismatch.message.node or "") is not None
            and len(mismatch.shape) != len(mismatch.other)
            and _is_tensorflow(mismatch)
        ),
        "one of predictions and labels has a dim more: for class numbers take the sparse loss, or tf.one_hot(labels, "
        "n); otherwise tf.squeeze(x, -1); print both shapes",
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: _is_tensorflow(mismatch) and LOSS_NODE.search(mismatch.message.node or "") is not None,
        (
            "the loss compares predictions with labels: print model.output_shape and the labels' shape, and make "
            "them equal, by the last layer or by the labels"
        ),
    ),
    OperandStep(
        lambda mismatch: (
            mismatch.message.framework == "dask" or ".compute()" in f"{mismatch.line} {mismatch.message.nearby_text}"
        ),
        "print x.chunks: the sizes may be those of chunks; give both the same ones, x.rechunk(y.chunks)",
    ),
    OperandStep(
        lambda mismatch: mismatch.message.framework == "mxnet" and len(mismatch.shape) != len(mismatch.other),
        "write broadcast_sub, broadcast_mul and so on: the operators of MXNet's symbols do not broadcast",
    ),
    OperandStep(
        _is_product_meant,
        lambda mismatch: (
            "* multiplies element by element: for the product of matrices write a @ b"
            + ("; for element by element, transpose one of them" if mismatch.shape == mismatch.other[::-1] else "")
        ),
    ),
    OperandStep(
        lambda mismatch: (
            not mismatch.line
            and len(mismatch.shape) == 2
            and mismatch.shape == mismatch.other[::-1] != mismatch.shape[::-1]
        ),
        "if both mean the same rows, transpose one, a.T; if the product of matrices is meant, write a @ b",
    ),
    OperandStep(
        _is_axis_missing,
        lambda mismatch: (
            f"{mismatch.shape[1]} is last in one and first in the other: if both mean the same axis, transpose one, or "
            "insert the axis that it lacks"
        ),
    ),
    OperandStep(lambda mismatch: _membership_text(mismatch) != "", _membership_text),
    OperandStep(_is_interpolated, _interpolated_text),
    OperandStep(
        lambda mismatch: len(mismatch.differences) == 2 and _are_images(mismatch),
        lambda mismatch: (
            f"{print_step(mismatch.message, 'a.shape, b.shape')}: one is {format_sizes(mismatch.shape)}, the other "
            f"{format_sizes(mismatch.other)}; if these are pictures, give both one size: set the size that the program "
            f"was given to that of the file, or resize one, cv2.resize(x, (width, height))"
        ),
        is_final=True,
    ),
    OperandStep(lambda mismatch: _level_ratio(mismatch) > 0, _level_text),
    OperandStep(
        lambda mismatch: RESIDUAL.search(mismatch.line) is not None or SHORTCUT.search(mismatch.line) is not None,
        _residual_text,
    ),
    OperandStep(
        lambda mismatch: flattened_step(mismatch.shape, mismatch.other) != "",
        lambda mismatch: flattened_step(mismatch.shape, mismatch.other),
    ),
    OperandStep(lambda mismatch: _are_maps_rounded(mismatch) and _model_path(mismatch) != "", _model_path_text),
    OperandStep(
        _are_maps_rounded,
        lambda mismatch: (
            f"{MULTIPLES}; or crop the larger to the smaller"
            if (mismatch.axis or 0) > 1 or len(mismatch.differences) > 1
            else "if these are outputs of convolutions, sizes this close differ by a border: find the layer without "
            "padding or with an even kernel, or make the sides multiples of the network's strides"
        ),
    ),
    OperandStep(_is_channel_constant, _channel_text),
    OperandStep(_is_constant_per_channel, _channel_multiple_text),
    OperandStep(_is_row_vector, _row_text, is_final=True),
    OperandStep(_is_last_axis_missing, _last_axis_text, is_final=True),
    OperandStep(_are_last_axes_missing, _last_axes_text),
    OperandStep(
        lambda mismatch: mismatch.message.framework == "paddle" and mismatch.sizes is not None and 1 in mismatch.sizes,
        "this version broadcasts the second operand to the first only: swap them, expand the first, or set axis",
    ),
    OperandStep(
        lambda mismatch: (
            len(mismatch.shape) > 2
            and (mismatch.shape[1:] == mismatch.other[:-1] or mismatch.other[1:] == mismatch.shape[:-1])
        ),
        lambda mismatch: "the {} may lack its last axis, as its dims are one further right: x[..., None]".format(
            "first" if mismatch.shape[1:] == mismatch.other[:-1] else "second"
        ),
    ),
    OperandStep(
        lambda mismatch: len(mismatch.shape) > 2 and mismatch.other == 2 * mismatch.shape[-1:] != (1, 1),
        lambda mismatch: (
            f"{print_step(mismatch.message, 'a.shape, b.shape')}: the second is {mismatch.shape[-1]}x"
            f"{mismatch.shape[-1]}; if it is to hold one value for each channel, as a mean, it should be a vector of "
            f"{mismatch.shape[-1]}; if it is a matrix for each vector of the last axis, write x @ m"
        ),
    ),
    OperandStep(
        lambda mismatch: LOSS_LINE.search(mismatch.line) is not None and not GRADIENT_CALL.search(mismatch.line),
        lambda mismatch: (
            f"{_print_text(mismatch)}: predictions and targets must have one shape"
            + (
                "; for maps, F.interpolate(pred, size=target.shape[-2:])"
                if (mismatch.axis or 0) > 1 and mismatch.message.framework == "torch"
                else ""
            )
        ),
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: POSITION_WORDS.search(mismatch.words) is not None and (mismatch.axis or 0) > 1,
        lambda mismatch: (
            f"{print_step(mismatch.message, 'x.shape, pe.shape')}: the features differ, not the length: build the "
            "embedding and the position encoding with one d_model"
        ),
        is_supported=False,
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: POSITION_WORDS.search(mismatch.words) is not None,
        (
            "the positions are made for one length: give the input that length or picture size, or build, or "
            "interpolate, the position embedding for the other"
        ),
        is_supported=False,
    ),
    OperandStep(_is_colour_mask, _colour_mask_text, is_final=True),
    OperandStep(
        lambda mismatch: (
            TOKEN_WORDS.search(mismatch.words) is not None and (mismatch.axis is None or mismatch.axis > 0)
        ),
        lambda mismatch: (
            f"{print_step(mismatch.message, 'a.shape, mask.shape')}: {_flat_mask_text(mismatch)}"
            "if one is a mask of an attention, it must be for the length of the keys, past and new tokens together; if "
            "it is a mask of pictures, it needs their sides, and 1 channel"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: (
            is_image_pipeline(mismatch.message) and format_model_widths(mismatch.sizes, is_certain=True) != ""
        ),
        lambda mismatch: format_model_widths(mismatch.sizes, is_certain=True),
    ),
    OperandStep(
        lambda mismatch: "@" in mismatch.line or "matmul" in mismatch.line,
        lambda mismatch: (
            f"{_print_text(mismatch)}; a product pairs the dims before the last two, so heads or batches must be as "
            "many, or 1: k.repeat_interleave(n, 1) for fewer key heads"
        ),
        is_final=True,
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: STATISTICS_LINE.search(mismatch.line) is not None,
        "if mean or std is one of the two, give it one value for each channel: print their lengths and x.shape",
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: len(mismatch.shape) == len(mismatch.other) == 1,
        lambda mismatch: (
            f"find what made the lengths {mismatch.shape[0]} and {mismatch.other[0]}, as a filter, dropna or a slice "
            "of only one of them"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: (
            len(mismatch.other) == 1
            and len(mismatch.shape) == 2
            and len(numeric_sizes((*mismatch.shape, *mismatch.other))) == 3
            and mismatch.other[0] not in (*mismatch.shape, 1)
            and size_product(mismatch.shape) != mismatch.other[0]
        ),
        lambda mismatch: (
            f"the table has {mismatch.shape[0]} rows of {mismatch.shape[1]}, the vector {mismatch.other[0]} items: if "
            "it holds one for each row, take both from the same rows"
        ),
    ),
    OperandStep(lambda mismatch: mismatch.message.framework in ONNX_FRAMEWORKS, EXPORT_STEP),
    OperandStep(_always, _print_text, is_supported=False),
    OperandStep(
        lambda mismatch: _format_latents(mismatch) != "",
        _format_latents,
        is_supported=False,
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: is_image_pipeline(mismatch.message) and mismatch.axis == 1,
        "if parts come from several files, check that checkpoint, ControlNet, adapters and their nodes are of one "
        "model family",
        is_supported=False,
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: (
            mismatch.axis != 0
            and len(mismatch.differences) < 2
            and PAIRED_PICTURES.search(mismatch.words) is None
            and format_model_widths(mismatch.sizes) != ""
        ),
        lambda mismatch: format_model_widths(mismatch.sizes),
        is_supported=False,
    ),
)
"""The steps for the operands of a broadcast; steps with a single possible cause are first."""


def _concat_print_text(mismatch: OperandMismatch) -> str:
    match = OPERAND_INDEX.search(mismatch.message.quote)
    number = next(filter(None, match.groups()), None) if match else None
    names = mismatch.message.failing_line.operands if mismatch.message.failing_line else ()
    text = print_step(mismatch.message, "[t.shape for t in the list]")
    match = LIST_ARGUMENT.search(mismatch.line)
    if match:
        text = f"print([t.shape for t in {match[1]}]) before that line"
    elif len(names) == 1:
        text = "print the shape of each part before that line"
    axis = _concat_axis(mismatch)
    only = "only the axis that is joined may differ" if axis is None else f"only dim {axis} may differ"
    kept = [difference for difference in mismatch.differences if difference[0] != axis]
    if len(mismatch.differences) == 1 and len(mismatch.shape) > 1 and axis in (None, -1):
        other, one, two = mismatch.differences[0]
        return (
            f"{text}: only dim {other} differs, {one} and {two}, so another axis is joined: if {other} is meant, as "
            f"the channels, write axis={other}, or -1 if it is the last; if not, find the line that makes the wrong "
            "size"
            if mismatch.message.framework in ("keras", "tensorflow", "numpy")
            else f"{text}: only dim {other} differs, {one} and {two}, so another axis is joined: if {other} is meant, "
            f"write dim={other}; if not, find the line that makes the wrong size"
        )
    if len(kept) == 1 and len(mismatch.differences) > 1:
        return f"{text}: {only}, and dim {kept[0][0]} is {kept[0][1]} and {kept[0][2]}"
    if mismatch.sizes is None and kept:
        dims = ", ".join(f"dim {each} is {one} and {two}" for each, one, two in kept)
        return f"{text}: {only}, and {dims}"
    if mismatch.sizes is None:
        return f"{text}: {only}"
    where = "another dim" if mismatch.axis in (None, axis) else f"dim {mismatch.axis}"
    return f"{text}: {only}, and {where} is {mismatch.sizes[1]}" + (
        f", but {mismatch.sizes[0]} in operand {number}" if number else f" and {mismatch.sizes[0]}"
    )


def _resized_text(mismatch: OperandMismatch) -> str:
    """Return the code that resizes a map, with the names of the failing line if they are known."""
    match = OPERAND_INDEX.search(mismatch.message.quote)
    names = mismatch.message.failing_line.operands if mismatch.message.failing_line else ()
    text = RESIZED_MAPS.get(mismatch.message.framework or "", "")
    if match and match[1] in ("0", "1") and len(names) == 2:
        resized, other = names[int(match[1])], names[1 - int(match[1])]
        text = text.replace("(x,", f"({resized},").replace("skip.", f"{other}.")
    return text


def _is_batch(mismatch: OperandMismatch) -> bool:
    axes = [axis for axis, *_ in mismatch.differences]
    joined = mismatch.message.axes or ()
    return axes == [0] or (axes == [0, 1] and len(mismatch.shape) == 2 and joined in ((), (1,), (-1,)))


def _unusual_rank_shapes(mismatch: OperandMismatch) -> list[PrintedSizes]:
    """Return the operands whose rank differs from that of the majority."""
    shapes = [mismatch.shape, *(mismatch.message.operands or ())]
    ranks = [len(shape) for shape in shapes]
    usual = max(ranks, key=lambda rank: (ranks.count(rank), rank)) if ranks else 0
    return [shape for shape in shapes if len(shape) != usual]


def _ranks_text(mismatch: OperandMismatch) -> str:
    unusual = _unusual_rank_shapes(mismatch)
    shapes = [mismatch.shape, *(mismatch.message.operands or ())]
    usual = next(len(shape) for shape in shapes if shape not in unusual)
    names = " and ".join(f"({format_sizes(shape)})" for shape in unusual[:3])
    if all(len(shape) < usual for shape in unusual):
        lack = "lacks" if len(unusual) == 1 else "lack"
        return f"give all operands one rank: {names} {lack} a dim, x[:, None], or a batch, x[None]"
    return f"give all operands one rank: most have {usual} dims, but not {names}: insert or squeeze a dim of 1"


def _has_mixed_layout(mismatch: OperandMismatch) -> bool:
    """Return whether only one of two maps is square in the channels-last layout."""
    shape, other = numeric_sizes(mismatch.shape), numeric_sizes(mismatch.other)
    if not _is_tensorflow(mismatch) or not len(shape) == len(other) == 4:
        return False
    is_square = [each[1] == each[2] for each in (shape, other)]
    return is_square[0] != is_square[1] and len(mismatch.differences) > 1 and bool({shape[1], shape[2]} & {other[1]})


def _layout_text(mismatch: OperandMismatch) -> str:
    shape, other = numeric_sizes(mismatch.shape), numeric_sizes(mismatch.other)
    odd, even = (other, shape) if shape[1] == shape[2] else (shape, other)
    return (
        f"{print_step(mismatch.message, '[t.shape for t in the list]')}: ({format_sizes(even)}) is a map of "
        f"{even[1]}x{even[2]}, channels last; ({format_sizes(odd)}) has {odd[1]} at axis 1 and {odd[2]} at axis 2, so "
        "look whether a layer before it, as an upsampling, takes the channels first: give all layers one data_format, "
        "and check keras.backend.image_data_format()"
    )


def _is_skip(mismatch: OperandMismatch) -> bool:
    """Return whether two sizes may be sides of encoder and decoder feature maps in a skip connection."""
    sizes = mismatch.sizes or (0, 0)
    is_side = mismatch.axis is None or mismatch.axis > 1 or mismatch.axis == _concat_axis(mismatch)
    is_near = min(sizes) >= MIN_IMAGE_SIDE and 1 < abs(sizes[0] - sizes[1]) < min(sizes)
    is_code = TOKEN_WORDS.search(mismatch.words) is None
    return _concat_axis(mismatch) == 1 and is_side and is_near and is_code and mismatch.message.framework == "torch"


def _skip_text(_mismatch: OperandMismatch) -> str:
    return (
        "if a decoder joins its maps with those of an encoder, as a U-Net: give it pictures whose sides 32 divides, as "
        "256 or 512, or F.interpolate(x, size=skip.shape[2:]) before the concatenation"
    )


def _is_possible_side(mismatch: OperandMismatch) -> bool:
    """Return whether the mismatching axis may be the height or width of a feature map."""
    axis = mismatch.axis
    return axis is None or (0 < axis < len(mismatch.shape) - 1 if _is_tensorflow(mismatch) else axis != 1)


def _collate_text(mismatch: OperandMismatch) -> str:
    return (
        f"if these are pictures of a batch, dim {mismatch.axis} is a side: resize, crop or pad all to one size in the "
        "dataset, or take batch_size=1"
    )


CONCAT_STEPS = (
    OperandStep(
        lambda mismatch: mismatch.message.cause == "ranks-differ",
        lambda mismatch: (
            f"{print_step(mismatch.message, '[t.shape for t in the list]')}: all need as many dims; insert the "
            "missing one, x[None] for a row or a sample, x[:, None] for a column; (0,) is an empty list"
        ),
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: 0 in (*mismatch.shape, *mismatch.other),
        lambda mismatch: (
            f"one operand is empty, {format_sizes(mismatch.shape if 0 in mismatch.shape else mismatch.other)}: find "
            "the selection, limit or data that leaves nothing; leave it out of the list only if none is a valid case"
        ),
        is_final=True,
    ),
    OperandStep(lambda mismatch: bool(mismatch.shape) and bool(_unusual_rank_shapes(mismatch)), _ranks_text),
    OperandStep(
        lambda mismatch: flattened_step(mismatch.shape, mismatch.other) != "",
        lambda mismatch: flattened_step(mismatch.shape, mismatch.other),
    ),
    OperandStep(
        lambda mismatch: mismatch.message.pair is not None and min(mismatch.message.pair) == 1,
        lambda mismatch: (
            f"if that dim is the batch, the file was exported for {max(mismatch.message.pair or (0,))}: feed as many "
            "samples at a time, or export it again with a dynamic batch"
            if mismatch.message.framework in FILE_FRAMEWORKS
            else REPEAT_REMEDY
            if max(mismatch.message.pair or (0,)) <= MAX_BATCH
            else MOVED_AXIS_REMEDY.format(max(mismatch.message.pair or (0,)))
        ),
    ),
    OperandStep(
        _are_maps_rounded,
        lambda mismatch: MULTIPLES + _resized_text(mismatch),
    ),
    OperandStep(
        _is_batch,
        lambda mismatch: (
            f"dim 0 is {mismatch.shape[0]} and {mismatch.other[0]}: if it is the batch, make both for one batch, as a "
            "state or a constant may be for another one; if they are rows, join them along axis 0"
        ),
    ),
    OperandStep(
        lambda mismatch: (
            len(mismatch.shape) == 2
            and [axis for axis, *_ in mismatch.differences] == [0, 1]
            and mismatch.message.axes == (0,)
        ),
        lambda mismatch: (
            f"joined along axis 0, both need the same columns, and have {mismatch.shape[1]} and {mismatch.other[1]}"
        ),
    ),
    OperandStep(
        lambda mismatch: (
            len(mismatch.shape) == 3 and len(mismatch.differences) == 2 and mismatch.differences[0][0] == 0
        ),
        lambda mismatch: (
            f"{print_step(mismatch.message, '[t.shape for t in the list]')}: "
            "their first dims, {} and {}, must be equal: take both for the same rows".format(
                *mismatch.differences[0][1:]
            )
        ),
    ),
    OperandStep(
        lambda mismatch: (
            mismatch.message.axes == (0,) and not mismatch.shape and (mismatch.axis or 0) > 1 and not mismatch.line
        ),
        _collate_text,
    ),
    OperandStep(
        lambda mismatch: mismatch.message.axes == (0,) and not mismatch.shape,
        "print their shapes before that line: only dim 0 may differ; if they are samples of different lengths, pad "
        "them, or keep them in a list; if not, find the one that is wrong",
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: SPLIT_CALL.search(mismatch.line) is not None and mismatch.sizes is not None,
        lambda mismatch: (
            f"{print_step(mismatch.message, '[t.shape for t in the list]')}: if these are parts of a split, of the "
            f"lengths {_format_pair(mismatch.sizes or (0, 0))}, the axis is no multiple of their number: pad it, or "
            "take another number"
        ),
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: "edge_index" in mismatch.message.text and mismatch.axis == 0 and _concat_axis(mismatch) == 1,
        "PyTorch Geometric joins the edges of graphs along dim 1: print(data.edge_index.shape) for each graph; it must "
        "be (2, edges): if it is (edges, 2), data.edge_index.t().contiguous()",
    ),
    OperandStep(_has_mixed_layout, _layout_text, is_final=True),
    OperandStep(_always, _concat_print_text, is_supported=False),
    OperandStep(
        lambda mismatch: format_model_widths(mismatch.sizes) != "",
        lambda mismatch: format_model_widths(mismatch.sizes),
        is_supported=False,
        is_final=True,
    ),
    OperandStep(lambda mismatch: _level_ratio(mismatch) > 0, _level_text, is_supported=False),
    OperandStep(_is_skip, _skip_text, is_supported=False),
    OperandStep(
        lambda mismatch: (
            mismatch.sizes is not None
            and abs(mismatch.sizes[0] - mismatch.sizes[1]) == 1
            and _concat_axis(mismatch) == 1
        ),
        MULTIPLES,
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: _format_latents(mismatch) != "" and {*(mismatch.sizes or ())} <= {*LATENT_MODELS},
        _format_latents,
        is_supported=False,
        is_final=True,
    ),
    OperandStep(
        lambda mismatch: (
            _pair_ratio(mismatch) > 1 and _concat_axis(mismatch) == 1 and TOKEN_LINE.search(mismatch.line) is None
        ),
        lambda mismatch: (
            f"if these are maps, one has {_pair_ratio(mismatch)} times the side of the other: join maps of one level, "
            "and check the strides, the upsampling, the patch size and the layers that are joined"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: PICTURE_WORDS.search(mismatch.line) is not None and mismatch.message.framework == "numpy",
        "if these are pictures, resize one to the other: cv2.resize(x, (width, height))",
        is_supported=False,
    ),
    OperandStep(
        lambda mismatch: LEVEL_WORDS.search(mismatch.line) is not None and _is_possible_side(mismatch),
        "join maps of one level of the network: check the picture size, the patch size and the strides",
        is_supported=False,
    ),
    OperandStep(
        _always,
        (
            "compare the lines, settings or files that make that dim; if it is a side of pictures or of maps, resize "
            "one; if the axis that is joined is the wrong one, change that"
        ),
        is_supported=False,
    ),
)


def _remapped_letter(mismatch: OperandMismatch) -> str:
    """Return the letter of the mismatching einsum axis, or an empty string.

    The axis is determined from the two remapped shapes in the message.

    PyTorch permutes the operands: first the axes of the result, then the summed axes in alphabetical order.
    """
    equation, lists = EQUATION.search(mismatch.line), REMAPPED_SHAPE.findall(mismatch.message.quote)
    if equation is None or len(lists) != 2:
        return ""
    inputs, result = equation[1].replace(" ", ""), equation[2].replace(" ", "")
    letters = [*result, *sorted({*inputs} - {*result, ","})]
    pairs = [*zip(*(each.split(", ") for each in lists), strict=False)]
    differing = [
        letter for letter, (one, two) in zip(letters, pairs, strict=False) if one != two and "1" not in (one, two)
    ]
    return differing[0] if len(differing) == 1 and len(letters) == len(pairs) else ""


def _einsum_text(mismatch: OperandMismatch) -> str:
    if mismatch.message.cause == "ranks-differ" and mismatch.message.pair is not None:
        actual, named = mismatch.message.pair
        return (
            f"{print_step(mismatch.message, 'the shape of each operand')}: the equation names {named} axes of an "
            f"operand that has {actual}; name each of its axes, or write ... for those in front"
        )
    match = SUBSCRIPT.search(mismatch.message.quote)
    sizes = mismatch.sizes
    if sizes is None:
        return print_step(mismatch.message, "the shape of each operand")
    shown = print_step(mismatch.message, "the shape of each operand")
    names = mismatch.message.failing_line.operands if mismatch.message.failing_line else ()
    one, two = names if len(names) == 2 else ("one operand", "another")
    if match is None:
        letter = _remapped_letter(mismatch)
        axis = f"axis {letter}" if letter else "one axis"
        first, second = (one, two) if letter else ("one operand", "another")
        return (
            f"{shown}: {axis} is {sizes[0]} in {first} and {sizes[1]} in {second}; give it one size, or let the "
            "equation name the axes in the order in which the operands have them"
        )
    if match[2] == "1" and len(names) == 2:
        return (
            f"{shown}: axis {match[1]} is {sizes[1]} in {one} and {sizes[0]} in {two}; find which of the two is wrong, "
            "as a setting, or a file of another version, and make or cut it to the size of the other"
        )
    return f"{shown}: axis {match[1]} is {sizes[0]} in operand {match[2]} and {sizes[1]} in an earlier one"


EINSUM_STEPS = (
    OperandStep(_always, _einsum_text, is_supported=False),
    OperandStep(
        lambda mismatch: mismatch.sizes is not None and mismatch.message.cause != "ranks-differ" and not mismatch.line,
        lambda mismatch: (
            "find the lines or settings that make {} and {}: a parameter may have been built for other data".format(
                *(mismatch.sizes or ())
            )
        ),
        is_supported=False,
    ),
)


def _batch_text(mismatch: OperandMismatch) -> str:
    """Return the advice for two operands of a batched product whose batches differ."""
    text = f"{print_step(mismatch.message, 'a.shape, b.shape')}: their first dims, the batches, must be equal"
    one, two = mismatch.sizes or (0, 0)
    if 0 < min(one, two) != max(one, two):
        text += f", and are {one} and {two}"
    if min(one, two) == 1:
        return (
            f"{text}: if the {max(one, two)} are channels, as of stereo audio, make it one; otherwise repeat the one, "
            f"x.expand({max(one, two)}, -1, -1)"
        )
    if min(one, two) > 0 and max(one, two) == 2 * min(one, two):
        return (
            f"{text}, twice as many: if one runs with and without guidance (two prompts) and the other once, make both "
            "for one of the two; an attention option or an extension that replaces it may do this: switch it off"
        )
    return (
        f"{text}; if one was made for another batch, as before a smaller last one, make it for this one, or take "
        "drop_last=True"
    )


STEPS: Mapping[str, tuple[OperandStep, ...]] = {
    BROADCAST.name: BROADCAST_STEPS,
    CONCAT.name: CONCAT_STEPS,
    EINSUM.name: EINSUM_STEPS,
    MATMUL.name: (
        OperandStep(
            lambda mismatch: "matrixlib" in mismatch.message.text,
            "an np.matrix multiplies as a matrix where * is written: float(x) for one of 1x1, or np.asarray(x)",
        ),
        OperandStep(
            lambda mismatch: mismatch.message.cause == "dims-differ" and not mismatch.shape,
            _batch_text,
            is_final=True,
        ),
        OperandStep(
            lambda mismatch: mismatch.message.cause == "dims-differ",
            lambda mismatch: (
                f"{print_step(mismatch.message, 'a.shape, b.shape')}: paired dims must be equal, and a dim of 1 is not "
                "broadcast here: repeat it, x.repeat or broadcast_to, or find the line that makes it 1"
                if any(1 in row[1:] for row in mismatch.differences)
                else f"{print_step(mismatch.message, 'a.shape, b.shape')}: paired dims must be equal; if one side is "
                f"shared, repeat it{REPEAT_CODE.get(mismatch.message.framework or '', '')}, otherwise find the line "
                "that makes the wrong one"
            ),
        ),
    ),
}
"""The steps for each op, in order of priority."""
