"""First steps for operands that cannot be broadcast, concatenated or stacked.

Neither operand is known to be right. A step names a cause only if the line of code, the node or the shapes show it;
otherwise it names what to print, and the change on either side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.record import Record
from shapecalc.diagnosis.evidence import RESIDUAL, Step, failing_code, has_families, print_shapes, recent_code
from shapecalc.diagnosis.findings import find_mismatch, numeric_differences
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.reading import ParsedMessage, size_product
from shapecalc.diagnosis.subjects import MODEL_FILE_FRAMEWORKS
from shapecalc.diagnosis.suggestions import MAX_BATCH, numeric_sizes
from shapecalc.reasoning.figures import LEVEL_WORDS, MIN_VOCABULARY, MODELS_BY_WIDTH, PICTURE_WORDS, TOKEN_WORDS

MIN_PICTURE_SIDE = 8
"""The minimum height and width of a picture."""
MIN_MAP_SIDE, MAX_MAP_SIDE = 5, 256
"""The minimum and the maximum side of a feature map."""
TOKEN_LINE = re.compile(r"(?i)token|cls|emb|text|prompt")
"""Words of code that joins tokens, not maps."""
MAX_BORDER = 4
"""The largest difference of two sizes that is explained by a border, an even kernel or rounding."""
MIN_BORDERED = 16
"""The minimum size with a border."""
PRODUCT_LINE = re.compile(r"^[^-+/]*\*[^-+/*]*$")
"""A line of code whose only operator is `*`."""
MEMBERSHIP = re.compile(r"(?:where|nonzero)\(\s*([\w.\[\]]{1,40}) == ([\w.\[\]]{1,40})\s*\)")
"""A search for equal elements in a line of code."""
LIST_ARGUMENT = re.compile(r"(?:cat|concat|concatenate|[hvd]?stack)\(([A-Za-z_][\w.]*)\s*[,)]")
"""A concatenation of the items of a variable."""
AXIS_ARGUMENT = re.compile(r"(?:axis|dim) ?= ?(-?\d)\b")
"""The axis of a concatenation in a line of code."""
SHORTCUT = re.compile(r"(?i)\b(?:identity|\w*shortcut|residual|downsample)\b")
"""The names of the shorter path of a residual block."""
ENTRY = re.compile(r"at entry (\d+)")
LISTED = re.compile(r"tensor number (\d+)|array at index (\d+) has size \d+$|input\[(\d+)\]'s shape")
"""The number of the differing operand of a concatenation."""
SUBSCRIPT = re.compile(r"subscript (\w) has size \d+ for operand (\d+)")
METRIC_NODE = re.compile(r"(?i)^metrics?/|/metrics?/|accuracy|/equal$")
LOSS_NODE = re.compile(r"(?i)loss|squared_?difference|cross_?entropy|mean_squared|mean_absolute")
GRADIENT_NODE = re.compile(r"(?i)gradient|broadcastgradientargs")
"""The names of nodes of TensorFlow that belong to a metric, a loss or a gradient."""
POSITION_WORDS = re.compile(r"(?i)pos_?emb|position|pos_enc|\bpe\b|positional")
LOSS_LINE = re.compile(r"(?i)loss|criterion|mse\b|\bbce|cross_entropy|y_true")
STATISTICS_LINE = re.compile(r"(?i)\b(?:mean|std)\b(?!\()|\bnormali[sz]e\(")
REPEAT_REMEDY = "repeat the one of size 1, x.expand(...), if these are batches: a concatenation does not broadcast"
MOVED_AXIS_REMEDY = (
    "print the shape of the one with 1: if {} is on another of its axes, transpose it; a row for all is repeated"
)
INDEXED = "indexing result"
"""The words of PyTorch about a value that is assigned to an index."""
ATTENTION_MASK = "build the mask for past and new tokens together, as the first of the two sizes says"
EXPORTED = "give the model the sizes that it was exported with, which the file may contain, or export dynamic axes"
KEEP_AXIS = {"torch": "keepdim=True"}
MULTIPLES = "pad or resize the picture until its sides are multiples of all strides of the network, often of 32 or 64"


class Operands(Record):
    """Two operands that do not fit."""

    message: ParsedMessage
    shape: PrintedSizes
    other: PrintedSizes
    line: str
    sizes: tuple[int, int] | None
    """The two mismatching sizes, or None if several dims differ."""

    @property
    def words(self) -> str:
        """The failing line of the user or of a library, and the name of the node."""
        return f"{recent_code(self.message)} {self.message.node or ''}"

    @property
    def differences(self) -> list[tuple[int, int, int]]:
        """The axes with different sizes, if both operands have the same rank."""
        return numeric_differences(self.shape, self.other) if len(self.shape) == len(self.other) else []

    @property
    def axis(self) -> int | None:
        """The mismatching axis, or None if it is unknown or several are."""
        axes = [axis for axis, *_ in self.differences]
        return self.message.dim if self.message.dim is not None else axes[0] if len(axes) == 1 else None


class OperandStep(Record):
    """A step for two operands, with the condition that makes it apply."""

    applies: Callable[[Operands], bool]
    text: str | Callable[[Operands], str]
    is_supported: bool = True
    is_final: bool = False
    """Whether no other step is given if this one applies."""


def iter_operand_steps(message: ParsedMessage) -> Iterator[Step]:
    """Yield the first steps for operands that cannot be combined, the likeliest first."""
    shape, other = message.input or (), (message.operands or ((),))[0]
    line = failing_code(message)
    differences = numeric_differences(shape, other) if len(shape) == len(other) else []
    only = differences[0][1:] if len(differences) == 1 else None
    operands = Operands(message, shape, other, line, find_mismatch(message, None) or only)
    rows = STEPS.get(message.op or "", ())
    for row in rows:
        if row.applies(operands):
            yield Step(row.text if isinstance(row.text, str) else row.text(operands), row.is_supported)
            if row.is_final:
                return


def flattened_step(shape: PrintedSizes, other: PrintedSizes) -> str:
    """Return the step for two shapes with equal element counts, one of which was flattened, or an empty string."""
    pairs = [(one, two) for one, two in zip(numeric_sizes(shape), numeric_sizes(other), strict=False) if one != two]
    is_regrouped = len(shape) == len(other) > 2 and len(pairs) == 2 and 1 in (*pairs[0], *pairs[1])
    if is_regrouped and size_product(shape) == size_product(other) and {*pairs[0]} != {*pairs[1]}:
        return f"reshape one to the other, {format_sizes(shape)}: both hold as many elements, and one was flattened"
    return ""


def is_bordered(sizes: tuple[int, ...]) -> bool:
    """Return whether two sizes differ by so little that a border, a kernel or rounding explains it."""
    return min(sizes) >= MIN_BORDERED and max(sizes) < MIN_VOCABULARY and 0 < max(sizes) - min(sizes) <= MAX_BORDER


def _are_maps_rounded(found: Operands) -> bool:
    """Return whether all differing dims are heights or widths that differ by a border."""
    is_map_known = found.shape or found.line or (found.axis or 0) > 1 or found.message.op == CONCAT.name
    if TOKEN_WORDS.search(found.words) or not is_map_known:
        return False
    differences = found.differences
    if differences:
        is_map = len(found.shape) > 2 and all(axis > 0 for axis, *_ in differences)
        small = len(differences) > 1 and all(abs(one - two) == 1 for _, one, two in differences)
        return is_map and (small or all(is_bordered(row[1:]) for row in differences))
    is_map = (found.axis or 0) > 0 or (
        found.axis is None and found.message.op == CONCAT.name and _joins(found) in (None, 1)
    )
    return found.sizes is not None and is_map and is_bordered(found.sizes)


def _joins(found: Operands) -> int | None:
    """Return the axis along which operands are joined, from the message or from the line of code, or None."""
    match = AXIS_ARGUMENT.search(found.line)
    return found.message.axes[0] if found.message.axes else int(match[1]) if match else None  # type: ignore[return-value]


def _is_chained(found: Operands) -> bool:
    """Return whether two matrices that cannot be broadcast can be multiplied."""
    shape, other = found.shape, found.other
    return len(shape) == len(other) == 2 and shape[1] == other[0] and shape != other and bool(found.line)


def _is_product_meant(found: Operands) -> bool:
    return _is_chained(found) and "*" in found.line and PRODUCT_LINE.search(found.line) is not None


def _is_axis_missing(found: Operands) -> bool:
    return _is_chained(found) and found.shape[0] != found.shape[1] and PRODUCT_LINE.search(found.line) is None


def _level_factor(found: Operands) -> int:
    """Return the ratio of two maps of two levels of a network, or 0."""
    pairs = [row[1:] for row in found.differences]
    ratios = {max(pair) // min(pair) if max(pair) % max(min(pair), 1) == 0 else 0 for pair in pairs if min(pair) > 0}
    axes = [axis for axis, *_ in found.differences]
    is_pair = len(axes) == 2 and axes[1] == axes[0] + 1 and axes[0] > 0 and len(found.shape) > 3
    return ratios.pop() if is_pair and len(ratios) == 1 and ratios <= {2, 4, 8, 16, 32} else 0


def _print(found: Operands, default: str = "a.shape, b.shape") -> str:
    text = print_shapes(found.message, default)
    if found.message.framework in MODEL_FILE_FRAMEWORKS:
        node = f"the node {found.message.node}" if found.message.node else "the node that fails"
        return f"open the file in Netron at {node}: if one of its inputs is a constant, the export fixed its size"
    if found.sizes is None:
        return f"{text}, and find which of them is not what you expected"
    where = "" if found.axis is None else f" at dim {found.axis}"
    return (
        f"{text}: one has {found.sizes[0]}{where}, the other {found.sizes[1]}; find the line that makes the wrong one"
    )


def _is_tf(found: Operands) -> bool:
    return found.message.framework in ("tensorflow", "keras")


def _pair_ratio(found: Operands) -> int:
    """Return the ratio of the two mismatching sizes if it is a power of two, or 0."""
    small, large = sorted(found.sizes or (0, 0))
    is_map = small >= MIN_MAP_SIDE and large <= MAX_MAP_SIDE
    times = large // small if is_map and large % small == 0 else 0
    return times if times in (2, 4, 8) else 0


def _always(_found: Operands) -> bool:
    return True


def _residual_text(found: Operands) -> str:
    sizes = found.sizes or (0, 0)
    small, large = sorted(sizes)
    if SHORTCUT.search(found.line) and small:
        change = (
            f"give both the same stride: one map has {large // small} times the side of the other"
            if (found.axis or 0) > 1 and large % small == 0 and large != small
            else f"project it by a 1x1 convolution from {sizes[1]} to {sizes[0]} channels, as downsample does"
            if found.axis == 1
            else "give both the same stride, padding and channels"
        )
        return f"the shortcut and the main path of a residual block must have one shape: {change}"
    if found.axis == 1 and not is_bordered(sizes) and len(found.shape) != 3:
        return (
            "a residual adds a layer's output to its input, so both need the same dims: give the layer as many outputs "
            "as inputs, or project the input"
        )
    return (
        "a residual adds a layer's output to its input, so the layer must keep each dim: stride 1, an odd kernel, "
        "and padding = dilation*(kernel - 1)//2"
    )


def _level_text(found: Operands) -> str:
    return (
        f"one map has {_level_factor(found)} times the sides of the other, as maps of two levels of a network: take "
        "maps of one level, or check the strides, the upsampling and the picture size"
    )


def _last_axis_text(found: Operands) -> str:
    shape, other = found.shape, found.other
    names = found.message.failing_line.operands if found.message.failing_line else ()
    first = len(shape) < len(other)
    name = names[0 if first else 1] if len(names) == 2 else "the first" if first else "the second"
    keeps = KEEP_AXIS.get(found.message.framework or "", "keepdims=True")
    code = f"{name}[..., None]" if len(names) == 2 else "x[..., None]"
    return f"give {name} a last axis of 1, {code}, or {keeps} if a mean, sum or max made it"


def _is_last_axis_missing(found: Operands) -> bool:
    return 0 < len(found.shape) != len(found.other) > 0 and (
        found.other == found.shape[:-1] or found.shape == found.other[:-1]
    )


def _fits(size: object, other: object) -> bool:
    return size == other or "?" in (size, other)


def _is_head_missing(found: Operands) -> bool:
    """Return whether the first operand lacks one dim of 1 of the second one."""
    shape, other = found.shape, found.other
    rest = [axis for axis, size in enumerate(other) if size == 1 and (*other[:axis], *other[axis + 1 :]) == shape]
    return _is_attention_mask(found) and bool(rest)


def _head_text(found: Operands) -> str:
    shape, other = found.shape, found.other
    axes = [axis for axis, size in enumerate(other) if size == 1 and (*other[:axis], *other[axis + 1 :]) == shape]
    return f"the mask lacks the dim of 1 for its heads: mask.unsqueeze({axes[-1]}); its sizes are right"


def _is_attention_mask(found: Operands) -> bool:
    return "attention mask should be" in found.message.quote.lower()


def _is_channel_constant(found: Operands) -> bool:
    """Return whether the second operand is one value for each channel of a picture, and no axis of the first fits."""
    large = [size for size in found.other if size not in (1, "?")]
    sides = [size for size in found.shape if isinstance(size, int) and size >= MIN_PICTURE_SIDE]
    return len(found.shape) > 2 and len(large) == 1 and large[0] in (3, 4) and len(sides) > 1


def _channel_text(found: Operands) -> str:
    size = next(size for size in found.other if size not in (1, "?"))
    axis = len(found.shape) - len(found.other) + found.other.index(size)
    actual = found.shape[axis] if 0 <= axis < len(found.shape) else "?"
    if (actual, size) == (4, 3):
        return "the first is a picture with alpha: drop it, x[..., :3] with the channels last, or give 4 values"
    places = [index for index, other in enumerate(found.shape) if other == size]
    if places and len(found.other) == 1:
        index = ", ".join([":", *["None"] * (len(found.shape) - 1 - places[0])])
        return (
            f"if the second holds a value for each of {size} channels, which the first has at dim {places[0]}: write "
            f"it as x[{index}], or move that axis of the first to the end"
        )
    where = f"they are at dim {places[-1]}, so move them" if places else "and no dim is"
    step = (
        "to that axis" if places else f"{size}: print the picture's shape where it is read, HWC or CHW, grey or colour"
    )
    return (
        f"the second holds {size} values along dim {axis}, as for channels, where the first has {actual}; {where} "
        f"{step}"
    )


def _is_row_vector(found: Operands) -> bool:
    """Return whether the second operand holds one value for each row of the first."""
    shape, other = found.shape, found.other[-1:]
    is_vector = len(found.other) == 1 or (len(found.other) == 2 and found.other[0] == 1)
    return len(shape) == 2 and is_vector and shape[0] == other[0] != shape[1]


def _row_text(found: Operands) -> str:
    names = found.message.failing_line.operands if found.message.failing_line else ()
    name = names[1] if len(names) == 2 else "y"
    code = f"{name}[:, None]" if len(found.other) == 1 or found.message.framework == "jax" else f"{name}.reshape(-1, 1)"
    return f"the second holds a value for each of the {found.shape[0]} rows: make it a column, {code}, or keepdims=True"


def _are_last_axes_missing(found: Operands) -> bool:
    """Return whether the dims of one operand are the first dims of the other one."""
    short, long = sorted((found.shape, found.other), key=len)
    pairs = [*zip(short, long, strict=False)]
    is_known = any(isinstance(one, int) and one > 1 for one, _ in pairs)
    return len(pairs) > 1 and len(short) < len(long) and is_known and all(_fits(*pair) for pair in pairs)


def _last_axes_text(found: Operands) -> str:
    count = abs(len(found.shape) - len(found.other))
    which = "first" if len(found.shape) < len(found.other) else "second"
    return (
        f"the dims agree from the left, and a broadcast aligns them from the right: give the {which} {count} more "
        f"dims of 1, x[..., {', '.join(['None'] * count)}], or insert them where the dim that it lacks is"
    )


def _is_membership(found: Operands) -> bool:
    return MEMBERSHIP.search(found.line) is not None


def _membership_text(found: Operands) -> str:
    match = MEMBERSHIP.search(found.line)
    return f"to find the elements that occur in the other, write np.isin({match[1]}, {match[2]})" if match else ""


BROADCAST_STEPS = (
    OperandStep(
        lambda found: "inverse_transform(" in found.line and found.shape[-1:] != found.other[-1:],
        lambda found: (
            f"the scaler was fitted on {found.other[-1]} columns and is given {found.shape[-1]}: fit a scaler for "
            f"these columns alone, or put them into a table of {found.other[-1]} before"
        ),
        is_final=True,
    ),
    OperandStep(
        lambda found: INDEXED in found.message.quote,
        lambda found: (
            f"the index selects ({format_sizes(found.other)}), and the value is ({format_sizes(found.shape)}): print "
            "both before that line, as mask.sum() and value.shape, and select as many places as there are values, or "
            "raise the limit that made them fewer"
            + (
                "; 0 places mean that nothing was found, as where a prompt lacks its image tokens"
                if found.other[:1] == (0,)
                else ""
            )
        ),
        is_final=True,
    ),
    OperandStep(
        lambda found: 0 in (*found.shape, *found.other),
        lambda found: (
            f"one operand is empty, {format_sizes(found.shape if 0 in found.shape else found.other)}: find the "
            "selection, mask or data that holds nothing here, and skip this step where it is empty"
        ),
        is_final=True,
    ),
    OperandStep(_is_head_missing, _head_text, is_final=True),
    OperandStep(_is_attention_mask, ATTENTION_MASK, is_final=True),
    OperandStep(
        lambda found: METRIC_NODE.search(found.message.node or "") is not None,
        (
            "the metric fails, not the model: take the metric for these labels, sparse_categorical_accuracy for "
            "class numbers, or leave metrics out to see whether the loss works"
        ),
    ),
    OperandStep(
        lambda found: (
            found.message.framework in ("tensorflow", "keras") and [axis for axis, *_ in found.differences] == [0]
        ),
        lambda found: (
            f"the batches differ, {found.shape[0]} and {found.other[0]}: find the Reshape or Flatten that changes "
            "the batch, a batch size that is fixed, or a smaller last batch: dataset.batch(n, drop_remainder=True)"
        ),
        is_final=True,
    ),
    OperandStep(
        lambda found: (
            LOSS_NODE.search(found.message.node or "") is not None
            and len(found.shape) != len(found.other)
            and _is_tf(found)
        ),
        "one of predictions and labels has a dim more: for class numbers take the sparse loss, or tf.one_hot(labels, "
        "n); otherwise tf.squeeze(x, -1); print both shapes",
        is_final=True,
    ),
    OperandStep(
        lambda found: (
            found.message.framework in ("tensorflow", "keras")
            and LOSS_NODE.search(found.message.node or "") is not None
        ),
        (
            "the loss compares predictions with labels: print model.output_shape and the labels' shape, and make "
            "them equal, by the last layer or by the labels"
        ),
    ),
    OperandStep(
        lambda found: found.message.framework == "dask" or ".compute()" in f"{found.line} {found.message.nearby_text}",
        "print x.chunks: the sizes may be those of chunks; give both the same ones, x.rechunk(y.chunks)",
    ),
    OperandStep(
        lambda found: found.message.framework == "mxnet" and len(found.shape) != len(found.other),
        "write broadcast_sub, broadcast_mul and so on: the operators of MXNet's symbols do not broadcast",
    ),
    OperandStep(
        _is_product_meant,
        lambda found: (
            "* multiplies element by element: for the product of matrices write a @ b"
            + ("; for element by element, transpose one of them" if found.shape == found.other[::-1] else "")
        ),
    ),
    OperandStep(
        lambda found: (
            not found.line and len(found.shape) == 2 and found.shape == found.other[::-1] != found.shape[::-1]
        ),
        "transpose one of them, a.T, or write a @ b if the product of matrices is meant: * is element by element",
    ),
    OperandStep(
        _is_axis_missing,
        lambda found: (
            f"an axis is missing or transposed on one side: {found.shape[1]} is last in one, first in the other"
        ),
    ),
    OperandStep(_is_membership, _membership_text),
    OperandStep(lambda found: _level_factor(found) > 0, _level_text),
    OperandStep(
        lambda found: RESIDUAL.search(found.line) is not None or SHORTCUT.search(found.line) is not None, _residual_text
    ),
    OperandStep(
        lambda found: flattened_step(found.shape, found.other) != "",
        lambda found: flattened_step(found.shape, found.other),
    ),
    OperandStep(
        _are_maps_rounded,
        lambda found: (
            f"{MULTIPLES}; or crop the larger map to the smaller one"
            if (found.axis or 0) > 1 or len(found.differences) > 1
            else "sizes this close differ by a border: make the sides multiples of the network's strides, or find the "
            "layer without padding or with an even kernel"
        ),
    ),
    OperandStep(_is_channel_constant, _channel_text),
    OperandStep(_is_row_vector, _row_text, is_final=True),
    OperandStep(_is_last_axis_missing, _last_axis_text, is_final=True),
    OperandStep(_are_last_axes_missing, _last_axes_text),
    OperandStep(
        lambda found: found.message.framework == "paddle" and found.sizes is not None and 1 in found.sizes,
        "this version broadcasts the second operand to the first only: swap them, expand the first, or set axis",
    ),
    OperandStep(
        lambda found: (
            len(found.shape) > 2 and (found.shape[1:] == found.other[:-1] or found.other[1:] == found.shape[:-1])
        ),
        lambda found: "the dims of the {} are one axis further right: insert a last axis, x[..., None]".format(
            "first" if found.shape[1:] == found.other[:-1] else "second"
        ),
    ),
    OperandStep(
        lambda found: (
            len(found.shape) == 3
            and len(found.other) == 2
            and found.other[0] == found.other[-1] == found.shape[-1] in (1, 3, 4)
        ),
        lambda found: (
            f"give one value for each channel, a vector of {found.other[-1]}: {format_sizes(found.other)} holds "
            f"{found.other[0]} of them"
        ),
    ),
    OperandStep(
        lambda found: LOSS_LINE.search(found.line) is not None,
        lambda found: (
            f"{_print(found)}: predictions and targets must have one shape"
            + ("; for maps, F.interpolate(pred, size=target.shape[-2:])" if (found.axis or 0) > 1 else "")
        ),
        is_final=True,
    ),
    OperandStep(
        lambda found: POSITION_WORDS.search(found.words) is not None and (found.axis or 0) > 1,
        lambda found: (
            f"{print_shapes(found.message, 'x.shape, pe.shape')}: the features differ, not the length: build the "
            "embedding and the position encoding with one d_model"
        ),
        is_supported=False,
        is_final=True,
    ),
    OperandStep(
        lambda found: POSITION_WORDS.search(found.words) is not None,
        (
            "the positions are made for one length: give the input that length or picture size, or build, or "
            "interpolate, the position embedding for the other"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda found: TOKEN_WORDS.search(found.words) is not None and (found.axis is None or found.axis > 0),
        (
            "build the mask for the length of the keys, past and new tokens together: print both shapes where "
            "they are made"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda found: (
            has_families(found.message) and {*(found.sizes or ())} <= {*MODELS_BY_WIDTH} and bool(found.sizes)
        ),
        lambda found: (
            "take the text encoder, the model and the adapters of one family: {} is the width of {}, {} of {}".format(
                *(part for size in found.sizes or () for part in (size, MODELS_BY_WIDTH[size]))
            )
        ),
    ),
    OperandStep(
        lambda found: "@" in found.line or "matmul" in found.line,
        lambda found: (
            f"{_print(found)}; a product pairs the dims before the last two, so heads or batches must be as many, or "
            "1: k.repeat_interleave(n, 1) for fewer key heads"
        ),
        is_final=True,
        is_supported=False,
    ),
    OperandStep(
        lambda found: STATISTICS_LINE.search(found.line) is not None,
        "give mean and std one value for each channel of the data: print their lengths and x.shape",
        is_supported=False,
    ),
    OperandStep(
        lambda found: len(found.shape) == len(found.other) == 1,
        lambda found: (
            f"find what made the lengths {found.shape[0]} and {found.other[0]}: a filter, dropna or a slice of "
            "only one of them"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda found: (
            len(found.other) == 1
            and len(found.shape) == 2
            and found.other[0] not in (*found.shape, 1)
            and size_product(found.shape) != found.other[0]
        ),
        lambda found: (
            f"take both from the same rows: the table has {found.shape[0]} rows of {found.shape[1]}, the vector "
            f"{found.other[0]} items"
        ),
    ),
    OperandStep(lambda found: found.message.framework in MODEL_FILE_FRAMEWORKS, EXPORTED),
    OperandStep(_always, _print, is_supported=False),
)
"""The steps for operands of a broadcast; those of one cause come before those of several."""


def _concat_print(found: Operands) -> str:
    match = LISTED.search(found.message.quote)
    number = next(filter(None, match.groups()), None) if match else None
    names = found.message.failing_line.operands if found.message.failing_line else ()
    text = print_shapes(found.message, "[t.shape for t in the list]")
    match = LIST_ARGUMENT.search(found.line)
    if match:
        text = f"print([t.shape for t in {match[1]}]) before that line"
    elif len(names) == 1:
        text = "print the shape of each part before that line"
    axis = _joins(found)
    only = "only the axis that is joined may differ" if axis is None else f"only dim {axis} may differ"
    kept = [difference for difference in found.differences if difference[0] != axis]
    if len(kept) == 1 and len(found.differences) > 1:
        return f"{text}: {only}, and dim {kept[0][0]} is {kept[0][1]} and {kept[0][2]}"
    if found.sizes is None:
        return f"{text}: {only}"
    where = "another dim" if found.axis in (None, axis) else f"dim {found.axis}"
    return f"{text}: {only}, and {where} is {found.sizes[1]}" + (
        f", but {found.sizes[0]} in operand {number}" if number else f" and {found.sizes[0]}"
    )


def _is_batch(found: Operands) -> bool:
    axes = [axis for axis, *_ in found.differences]
    joined = found.message.axes or ()
    return axes == [0] or (axes == [0, 1] and len(found.shape) == 2 and joined in ((), (1,), (-1,)))


def _ranks(found: Operands) -> list[PrintedSizes]:
    """Return the operands whose rank is not that of most operands."""
    shapes = [found.shape, *(found.message.operands or ())]
    ranks = [len(shape) for shape in shapes]
    usual = max(ranks, key=lambda rank: (ranks.count(rank), rank)) if ranks else 0
    return [shape for shape in shapes if len(shape) != usual]


def _ranks_text(found: Operands) -> str:
    odd = " and ".join(f"({format_sizes(shape)})" for shape in _ranks(found)[:3])
    return f"give all operands one rank: {odd} lacks a dim, x[:, None], or its batch, x[None]"


def _collate_text(found: Operands) -> str:
    return (
        f"dim {found.axis} of pictures in a batch is a side: resize, crop or pad all to one size in the dataset, or "
        "take batch_size=1"
    )


CONCAT_STEPS = (
    OperandStep(
        lambda found: found.message.cause == "ranks-differ",
        lambda found: (
            f"{print_shapes(found.message, '[t.shape for t in the list]')}: all need as many dims; insert the "
            "missing one, x[None] for a row or a sample, x[:, None] for a column; (0,) is an empty list"
        ),
        is_final=True,
    ),
    OperandStep(lambda found: bool(found.shape) and bool(_ranks(found)), _ranks_text),
    OperandStep(
        lambda found: flattened_step(found.shape, found.other) != "",
        lambda found: flattened_step(found.shape, found.other),
    ),
    OperandStep(
        lambda found: found.message.pair is not None and min(found.message.pair) == 1,
        lambda found: (
            REPEAT_REMEDY
            if max(found.message.pair or (0,)) <= MAX_BATCH
            else MOVED_AXIS_REMEDY.format(max(found.message.pair or (0,)))
        ),
    ),
    OperandStep(
        lambda found: _are_maps_rounded(found),
        f"{MULTIPLES}; or resize the one map before: F.interpolate(x, size=skip.shape[2:])",
    ),
    OperandStep(
        _is_batch,
        lambda found: (
            f"dim 0 is {found.shape[0]} and {found.other[0]}: if it is the batch, make both for one batch, as a "
            "state or a constant may be for another one; if they are rows, join them along axis 0"
        ),
    ),
    OperandStep(
        lambda found: (
            len(found.shape) == 2 and [axis for axis, *_ in found.differences] == [0, 1] and found.message.axes == (0,)
        ),
        lambda found: f"give both the same columns: {found.shape[1]} and {found.other[1]}",
    ),
    OperandStep(
        lambda found: len(found.shape) == 3 and len(found.differences) == 2 and found.differences[0][0] == 0,
        lambda found: "take both for the same rows: their first dims are {} and {}".format(*found.differences[0][1:]),
    ),
    OperandStep(
        lambda found: found.message.axes == (0,) and not found.shape and (found.axis or 0) > 1 and not found.line,
        _collate_text,
    ),
    OperandStep(
        lambda found: found.message.axes == (0,) and not found.shape,
        "cut or pad them to one length, or keep them in a list: only dim 0 may differ",
        is_supported=False,
    ),
    OperandStep(_always, _concat_print, is_supported=False),
    OperandStep(
        lambda found: found.sizes is not None and abs(found.sizes[0] - found.sizes[1]) == 1 and _joins(found) == 1,
        f"if these are maps: {MULTIPLES}",
        is_supported=False,
    ),
    OperandStep(
        lambda found: _pair_ratio(found) > 1 and _joins(found) == 1 and TOKEN_LINE.search(found.line) is None,
        lambda found: (
            f"if these are maps, one has {_pair_ratio(found)} times the side of the other: join maps of one level, "
            "and check the strides, the upsampling, the patch size and the layers that are joined"
        ),
        is_supported=False,
    ),
    OperandStep(
        lambda found: PICTURE_WORDS.search(found.line) is not None and found.message.framework == "numpy",
        "if these are pictures, resize one to the other: cv2.resize(x, (width, height))",
        is_supported=False,
    ),
    OperandStep(
        lambda found: LEVEL_WORDS.search(found.line) is not None,
        "join maps of one level of the network: check the picture size, the patch size and the strides",
        is_supported=False,
    ),
    OperandStep(
        _always,
        (
            "make that dim equal where it is made: the lines, settings or files of the operands differ; then cut, "
            "pad or resize"
        ),
        is_supported=False,
    ),
)


def _einsum_text(found: Operands) -> str:
    if found.message.cause == "ranks-differ" and found.message.pair is not None:
        actual, named = found.message.pair
        return (
            f"{print_shapes(found.message, 'the shape of each operand')}: the equation names {named} axes of an "
            f"operand that has {actual}; name each of its axes, or write ... for those in front"
        )
    match = SUBSCRIPT.search(found.message.quote)
    sizes = found.sizes
    if sizes is None:
        return print_shapes(found.message, "the shape of each operand")
    if match is None:
        shown = print_shapes(found.message, "the shape of each operand")
        return f"{shown}: one axis has {sizes[0]} in one operand and {sizes[1]} in another"
    return (
        f"{print_shapes(found.message, 'the shape of each operand')}: axis {match[1]} has {sizes[0]} in operand "
        f"{match[2]} and {sizes[1]} in an earlier one"
    )


EINSUM_STEPS = (
    OperandStep(_always, _einsum_text, is_supported=False),
    OperandStep(
        lambda found: found.sizes is not None and found.message.cause != "ranks-differ",
        lambda found: (
            "one of the two comes from the data, the other from a setting or a parameter that was built before: "
            "set that to {} or {}, whichever the data has".format(*(found.sizes or ()))
        ),
        is_supported=False,
    ),
)
STEPS: Mapping[str, tuple[OperandStep, ...]] = {
    BROADCAST.name: BROADCAST_STEPS,
    CONCAT.name: CONCAT_STEPS,
    EINSUM.name: EINSUM_STEPS,
    MATMUL.name: (
        OperandStep(
            lambda found: "matrixlib" in found.message.text,
            "an np.matrix multiplies as a matrix where * is written: float(x) for one of 1x1, or np.asarray(x)",
        ),
        OperandStep(
            lambda found: found.message.cause == "dims-differ" and not found.shape,
            lambda found: (
                f"{print_shapes(found.message, 'a.shape, b.shape')}: their first dims, the batches, must be equal; "
                "one was made for another batch, as for one before a smaller last batch: make it for this one, or "
                "drop_last=True"
            ),
        ),
        OperandStep(
            lambda found: found.message.cause == "dims-differ",
            lambda found: (
                "make the paired dims equal before that line: a dim of 1 is not broadcast here, x.repeat or "
                "broadcast_to"
                if any(1 in row[1:] for row in found.differences)
                else f"{print_shapes(found.message, 'a.shape, b.shape')}: paired dims must be equal; repeat the "
                "shared side, as k.repeat_interleave(n, dim), or find the line that makes the wrong one"
            ),
        ),
    ),
}
"""The steps for each op; the first rows come first."""
