"""Suggest candidate fixes for a refused request.

The fixes are derived from the numbers of the request and from the line of code. The module `report` resolves each of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isqrt, prod

from shapecalc.core.dims import Shape
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.text import rank_text
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.reading import ParsedMessage, known_size_product, sizes_to_dims
from shapecalc.reasoning.fixing import Fix, find_differing_dims, find_nearest_divisors
from shapecalc.reasoning.number_mismatch import LATENT_MODELS, PIXELS_PER_LATENT
from shapecalc.reasoning.operand_mismatch import (
    MIN_FLATTENED,
    drop_unit_dim,
    insert_unit_dims,
    move_channels,
    swap_last_axes,
)

NumericSizes = tuple[int, ...]
INSERT_DIM_REMEDY = (
    "print the shape: for one sample, insert the batch in front, x[None]; for grey images without channels, insert "
    "these, x[..., None] or x[:, None]"
)
CHANNEL_COUNTS = (1, 3, 4)
"""The numbers of channels of an image."""
MAX_BATCH = 256
"""The maximum leading size that may be a batch size."""
RESIZE_SAMPLES_REMEDY = (
    "print the shape of each sample before they are stacked: if they differ on purpose, resize, crop or pad them, or "
    "take batch_size=1; if not, find the one that is wrong"
)
COLOUR_CHANNELS = (3, 4)
SHAPE_CHANGES = (move_channels, drop_unit_dim, insert_unit_dims, swap_last_axes)
MIN_IMAGE_SIDE = 32
"""The minimum height and width of a target that is taken for an image."""
MIN_MAP_FEATURES = 64
"""The minimum feature count that may be a flattened feature map."""
MAX_DECIMAL_COUNT = 10**12
"""The maximum element count for which a ratio of counts is printed as a decimal."""
FLOOR_DIVISION = re.compile(r"([A-Za-z_][\w.]*) ?// ?([\w.]+)")
"""A floor division in a line of code."""
INTEGER = re.compile(r"-?\d+")
MIN_RECORDING = 1000
"""The minimum number of samples of a recording."""
MIN_FLAT_SIDE = 8
"""The minimum side of a flattened image."""
CONV_NAME = re.compile(r"(?i)conv(?:_?transpose)?([123])d")
CODE_NAME = re.compile(r"[A-Za-z_][\w.]*")
"""A name in a line of code."""
PAD_DIVISOR = 8
"""Padding is suggested only if it adds at most `1 / PAD_DIVISOR` of the size."""


def suggest_fixes(message: ParsedMessage, shape: Shape) -> Iterator[Fix]:
    """Yield candidate fixes for a refused request.

    The fixes insert a batch dim, change a computed size, or pad the input.
    """
    sizes, target = numeric_sizes(shape), numeric_sizes(message.target)
    count, other = (
        prod(sizes or (0,)),
        numeric_sizes(message.operands[0]) if message.op == MATMUL.name and message.operands else (),
    )
    if message.op == EXPAND.name and message.input and target:
        for text, after in (change for way in SHAPE_CHANGES for change in way(shape, target)):
            yield Fix("input", format_sizes(after), f"{text.format('the input')}: write {format_sizes(after)}")
    elif message.op == REARRANGE.name and message.pair:
        yield from _iter_pattern_fixes(message, sizes, *message.pair)
    elif (
        message.framework == "torch"  # PyTorch prints operands with merged leading dims
        and len(sizes) == 2 == len(other)
        and count > 0 < other[0]
        and other[0] % sizes[1] == 0 == count % other[0]
        and other[0] // sizes[1] >= MIN_FLATTENED
    ):
        rows = format_sizes((count // other[0], other[0]))
        sample = f"{other[0] // sizes[1]}x{sizes[1]}"
        yield Fix(
            "input", rows, f"if x is a batch of {count // other[0]} of {sample}, x.flatten(1) before the layer: {rows}"
        )
    elif message.op in (RESHAPE.name, SHUFFLE.name) and len(target) > 1 and count > 0 and known_size_product(target):
        strategies = () if -1 in target else (_iter_batch_fixes, _iter_computed_size_fixes, _iter_single_size_fixes)
        targets = next(filter(None, ([*strategy(message, count, target)] for strategy in strategies)), [])
        name = "to" if message.op == SHUFFLE.name else "target"
        yield from (
            Fix(name, format_sizes(value), f"write {format_sizes(value)}: {reason}") for value, reason in targets
        )
        yield from _iter_padded_inputs(sizes, target) if message.input else ()


def numeric_sizes(sizes: tuple[object, ...] | None) -> NumericSizes:
    """Return the sizes if all of them are integers, or an empty tuple."""
    integers = tuple([size for size in sizes or () if isinstance(size, int)])
    return integers if len(integers) == len(sizes or ()) else ()


def _iter_batch_fixes(message: ParsedMessage, count: int, target: NumericSizes) -> Iterator[tuple[NumericSizes, str]]:
    """Yield targets with a batch size of -1, or with an additional batch dim."""
    first, sample = target[0], target[1:]
    samples, remainder = divmod(count, prod(sample))
    times = 0 if remainder or samples % first else samples // first
    is_image = (
        min(target) >= MIN_MAP_FEATURES
        if len(target) == 2
        else len(target) == 3 and first in (*COLOUR_CHANNELS, target[1])
    )
    if times == 3 and message.input is None and len(target) == 2 and min(target) >= MIN_IMAGE_SIDE:
        yield (
            (*target, 3),
            "a picture in colours has 3 values at each pixel; in grey: cv2.cvtColor(x, cv2.COLOR_BGR2GRAY)",
        )
        return
    if times == COLOUR_CHANNELS[0] and 1 in sample:  # probably a colour image where a greyscale image is expected
        return
    is_named = message.line is not None and not INTEGER.fullmatch(message.line.arguments[0])
    is_batch = not is_named and first <= MAX_BATCH
    is_square = len(target) == 2 and first == sample[0]
    if not remainder and not is_image and not is_square and is_batch and message.input is None and prod(sample) > 1:
        yield (
            (-1, *sample),
            f"the input holds {samples} times {format_sizes(sample)}, not {first}",
        )
    if first > 1 < times and (times == message.input[0] if message.input is not None else not is_named):
        yield (-1, *target), f"the input holds {times} of these"


def _iter_computed_size_fixes(
    message: ParsedMessage, count: int, target: NumericSizes
) -> Iterator[tuple[NumericSizes, str]]:
    """Yield targets with a changed value of an expression in the code.

    The leading batch dim is never changed. Attributes are changed before other names, because attributes are settings,
    whereas other names usually come from a shape.
    """
    texts = message.line.arguments if message.line is not None else ()
    for text in sorted(dict.fromkeys(texts[1:] if len(texts) == len(target) else ()), key=lambda text: "." not in text):
        axes = [axis for axis, other in enumerate(texts) if other == text]
        quotient, remainder = divmod(count, prod(size for axis, size in enumerate(target) if axis not in axes))
        size = isqrt(quotient) if len(axes) == 2 else quotient
        is_shared = any({*CODE_NAME.findall(text)} & {*CODE_NAME.findall(other)} for other in {*texts} - {text})
        if is_shared or remainder or text.isdigit() or axes[0] == 0 or size < 2 or size ** len(axes) != quotient:
            continue
        summand = re.fullmatch(r"(\d+) ?\+ ?([\w.]+)", text)
        offset, name = (int(summand[1]), summand[2]) if summand else (0, text)
        value = tuple(size if axis in axes else old for axis, old in enumerate(target))
        yield value, f"{name} is {target[axes[0]] - offset} in that line, and {size - offset} would fit"


def _iter_single_size_fixes(
    message: ParsedMessage, count: int, target: NumericSizes
) -> Iterator[tuple[NumericSizes, str]]:
    """Yield targets with one changed size.

    The new size is near the old size, or equal to an adjacent size. The leading batch dim is never changed.
    """
    for axis, size in enumerate(target if message.input is None else ()):
        needed, remainder = divmod(count, prod((*target[:axis], *target[axis + 1 :])))
        is_near, neighbours = abs(needed - size) * PAD_DIVISOR <= size, (*target[axis + 1 :][:1], *target[:axis][-1:])
        if not remainder and needed > 1 and (axis or len(target) == 2) and (needed in neighbours or (axis and is_near)):
            yield (*target[:axis], needed, *target[axis + 1 :]), f"{needed} in place of {size}"


def _iter_pattern_fixes(message: ParsedMessage, shape: NumericSizes, actual: int, divisor: int) -> Iterator[Fix]:
    """Yield fixes for an einops pattern.

    The fixes add a batch dim to the input, pad an axis of the input, or change a length.
    """
    if actual == len(shape) == divisor - 1:
        yield Fix("input", format_sizes((1, *shape)), "insert a batch in front, x[None]")
    if divisor < 1 or -actual % divisor * PAD_DIVISOR >= actual or message.cause != "indivisible":
        return
    up, down = actual + -actual % divisor, actual - actual % divisor
    padded = format_sizes([up if dim == actual else dim for dim in shape])
    pixels = PIXELS_PER_LATENT
    latent = (
        f"; if it is a latent, give a picture with a side of {down * pixels} or {up * pixels}, not {actual * pixels}"
        if len(shape) == 4 and shape[1] in LATENT_MODELS and actual in shape[2:]
        else ""
    )
    heads = (
        f"; if it counts heads or groups, choose a number of them that is a multiple of {divisor}"
        if len(shape) == 3
        else ""
    )
    text = (
        f"if {actual} is right, pad that axis to {up}, the next multiple of {divisor}, or cut it to {down}"
        f"{latent}{heads}"
    )
    yield Fix("input", padded, text)
    lengths = re.findall(r"'(\w+)': (\d{1,18})", message.quote)
    names = [name for name, size in lengths if int(size) == divisor]
    for size in sorted(find_nearest_divisors(actual, divisor), key=lambda size: abs(size - divisor)) if names else ():
        value = ",".join(f"{name}={size if name in names else old}" for name, old in lengths)
        if 1 < size < actual:
            yield Fix(
                "lengths", value, f"if it may change, let {' and '.join(names)} be {size}, which divides {actual}"
            )


def _iter_padded_inputs(shape: NumericSizes, target: NumericSizes) -> Iterator[Fix]:
    """Yield input shapes with one axis padded to a multiple of a target dim.

    >>> [fix.value for fix in _iter_padded_inputs((8, 729, 16, 72), (8, -1, 4608))]
    ['8,784,16,72']
    >>> [fix.value for fix in _iter_padded_inputs((3, 2000, 349), (3, 1000, 2, 174, 2))]
    ['3,2000,348']
    """
    dims, target_dims = (numeric_sizes(sizes) for sizes in find_differing_dims(shape, target)[1:])
    is_grouped = (len(dims), len(target_dims)) == (1, 2) and dims[0] // target_dims[1] == target_dims[0]
    groups = [(shape.index(dims[0]), target_dims[1])] if is_grouped else []
    for axis in range(1, len(shape)) if -1 in target else ():
        inner = prod(shape[axis + 1 :])
        groups += [(axis, dim // inner) for dim in target[1:] if dim % inner == 0]
        groups += [(axis, dim) for dim in target[axis : axis + 1]]
    for axis, group in groups:
        size, side, edge = shape[axis], isqrt(shape[axis]), isqrt(max(group, 0))
        if group < 2 or size % group == 0 or -size % group * PAD_DIVISOR > size:
            continue
        up, down = size + -size % group, size - size % group
        text = (
            f"if axis {axis} of the input, {size}, is right, pad it to {up}, a multiple of {group}, or cut it to {down}"
        )
        if side**2 == size and edge**2 == group:
            up = (side + -side % edge) ** 2
            text = f"if axis {axis} of the input is a {side}x{side} map, pad it to {isqrt(up)}x{isqrt(up)}"
        yield Fix("input", format_sizes((*shape[:axis], up if -1 in target else down, *shape[axis + 1 :])), text)


def suggest_shape_changes(actual: PrintedSizes, declared: PrintedSizes) -> Iterator[tuple[str, str]]:
    """Yield descriptions of changes from `actual` to `declared`, with the new shape.

    A `?` in the declared shape matches any size.

    >>> [*suggest_shape_changes((400, 160), (160, 400))]
    [('transpose the given shape: 160,400', '160,400')]
    """
    shape, target = sizes_to_dims(actual), sizes_to_dims(declared)
    for way in SHAPE_CHANGES:
        for text, after in way(shape, target):
            if len(after) == len(target) and not unequal_axes(after, target):
                yield f"{text.format('the given shape')}: {format_sizes(after)}", format_sizes(after)
                return


def unequal_axes(shape: Sequence[object], other: Sequence[object]) -> list[int]:
    """Return the axes along which two left-aligned shapes differ.

    A `?` matches any size.
    """
    pairs = enumerate(zip(shape, other, strict=False))
    return [axis for axis, pair in pairs if pair[0] != pair[1] and "?" not in "".join(map(str, pair))]


def describe_factors(count: int, target: NumericSizes) -> str:
    """Describe an element count as a product of target dims and a remaining factor.

    The leading and trailing dims that divide the count are factored out. The remaining factor is compared with the
    product of the remaining dims.

    >>> describe_factors(1600, (8, 3, 64)), describe_factors(68992, (2, 77, -1, 128))
    ('1600 = 8*200, where 3*64 = 192 is asked for', '68992 = 2*77*448, and 448 is 3.5 times 128')
    """
    first, between, rest, last = _divide_by_ends(count, target)
    known = [size for size in between if size != -1]
    requested = prod(known)
    if max(*first, *last, 0, 1) == 1 or not known or requested <= 0:
        return ""
    equation = f"{count} = {'*'.join(map(str, [*first, rest, *last]))}"
    text = "*".join(map(str, known)) + (f" = {requested}" if len(known) > 1 else "")
    times = (
        f"{rest / requested:g} times" if rest < MAX_DECIMAL_COUNT and rest * 100 % requested == 0 else "no multiple of"
    )
    return f"{equation}, and {rest} is {times} {text}" if -1 in between else f"{equation}, where {text} is asked for"


def _divide_by_ends(count: int, target: NumericSizes) -> tuple[list[int], list[int], int, list[int]]:
    """Divide a count by the leading and trailing dims of a target.

    Returns the leading dims that divide the count, the remaining dims, the quotient, and the trailing dims that divide
    the count.
    """
    between, rest = [*target], count
    ends: tuple[list[int], list[int]] = [], []
    for dims, end in zip(ends, (0, -1), strict=True):
        while between and between[end] > 0 and rest % between[end] == 0:
            rest //= between[end]
            dims.append(between.pop(end))
    return ends[0], between, rest, ends[1][::-1]


def suggest_remedies(message: ParsedMessage, pair: tuple[int, int] | None) -> Iterator[str]:
    """Yield likely remedies for a mismatch.

    `pair` is the actual and the expected size.
    """
    target = numeric_sizes(message.target)
    floors = (
        FLOOR_DIVISION.findall(" ".join(message.line.arguments))
        if message.op == RESHAPE.name and message.line is not None
        else []
    )
    count = message.elements or prod(numeric_sizes(message.input))
    line = message.failing_line.text if message.failing_line else ""
    if ".squeeze()" in line and message.cause in ("ranks-differ", "rank-mismatch", "bad-axis", "too-many-indices"):
        yield "name the axis, x.squeeze(1): squeeze() without one also drops a batch of 1"
    elif floors and -1 not in target and prod(target) < count < prod(target) * _floor_limit(message, target):
        padded = " and ".join(dict.fromkeys(f"{size} to a multiple of {group}" for size, group in floors))
        yield f"print the sizes that are divided: here // rounds down; if they are right, pad {padded}"
    elif message.op == STACK.name:
        yield _sample_remedy(numeric_sizes(message.input), numeric_sizes((message.operands or ((),))[0]))
    elif message.op == TRANSPOSE.name:
        yield from _permutation_remedies(*find_rank_and_permutation(message), message.input)
    elif (
        message.op == SQUEEZE.name
        and message.input
        and len(message.input) == 4
        and _has_feature_map_side(message.input, message.axes or ())
    ):
        yield "the map is no 1x1: give the image the size that the network was made for, or pool it to 1x1"
    elif message.cause == "bad-axis" and pair and pair[0] == pair[1]:
        yield (
            f"print(x.shape) before that line: it has {rank_text(pair[0])}, and dim {pair[1]} is named; name dim "
            f"{pair[0] - 1} or -1, or keep the dim that was lost above, by squeeze(), a reduction or an index, as "
            "x[None]"
        )
    elif message.cause == "ranks-differ" and message.op == CONV.name and message.input:
        yield _conv_rank_remedy(message.input, (message.operands or ((),))[0], message.quote)


def _floor_limit(message: ParsedMessage, target: NumericSizes) -> float:
    """Return the maximum ratio of element counts that floor divisions in the arguments explain."""
    texts = message.line.arguments if message.line is not None else ()
    floored = [size for text, size in zip(texts, target, strict=False) if "//" in text]
    return prod((size + 1) / size for size in floored if size)


def _conv_rank_remedy(shape: PrintedSizes, weight: PrintedSizes, quote: str) -> str:
    """Return the remedy for a convolution whose input and weight have different ranks."""
    match = CONV_NAME.search(quote)
    rank = len(weight) or (int(match[1]) + 2 if match else 4)
    samples = shape[0] if shape else 0
    if rank == 3 and len(weight) == 3 and weight[1] == 1 and len(shape) == 1:
        return "the layer takes (batch, 1, length): if the one dim is the length, as of a recording, x[None, None]"
    if rank == 3 and len(shape) == 2 and shape[1] == 1 and isinstance(samples, int) and samples > MIN_RECORDING:
        return (
            f"print(x.shape): if {samples} is the length, as of a recording, and 1 its channels, x.t()[None] makes it "
            "(1, 1, length)"
        )
    if len(shape) > rank and shape[-1] in (2, 3, 4) and shape[0] == 1:
        return (
            f"the layer takes {rank} dims, and the input has {len(shape)}: print its shape where it is read; its last "
            f"dim of {shape[-1]} may be channels, as of stereo audio, (samples, 2): x.mean(-1) makes it mono"
        )
    if rank == 3 and len(shape) == 4 and shape[1] == 1:
        return (
            f"print(x.shape) before the model: a model of raw recordings takes (batch, samples), and inserts the dim "
            f"of 1 itself; {shape[2]},{shape[3]} come: if the last is stereo, x.mean(-1); if they are a spectrogram or "
            "features, give it the samples, or take the model for features"
        )
    if len(shape) > rank:
        return _excess_rank_remedy(shape, weight, rank)
    side = isqrt(shape[1]) if rank == 4 and len(shape) == 2 and isinstance(shape[1], int) else 0
    if side >= MIN_FLAT_SIDE and side * side == shape[1]:
        return (
            f"the pictures are flattened, {shape[1]} = {side}*{side}: give them their sides, x.view(-1, 1, {side}, "
            f"{side})"
        )
    if len(shape) == rank - 1 and weight and weight[1] == 1 != shape[0]:
        return "the layer takes 1 channel: if dim 0 is the batch, the input has none, so insert it, x[:, None]"
    if len(shape) == rank - 1 and weight and weight[1] == shape[0]:
        return "insert the batch dim, x[None]"
    return INSERT_DIM_REMEDY


def _excess_rank_remedy(shape: PrintedSizes, weight: PrintedSizes, rank: int) -> str:
    """Return the remedy for a convolution with an input of more dims than its weight.

    A dim is dropped only if it is 1 and the remaining dims fit the layer.
    """
    known = f"print(x.shape) before that layer: it takes {rank} dims, as (N, {_name_axes(rank)}), and {len(shape)} come"
    channels = weight[1] if len(weight) > 1 else None
    if len(shape) != rank + 1:
        return f"{known}; find the lines that add the others, as unsqueeze, a stack or a loop"
    if shape[:2] == (1, 1) and shape[2] in (channels, *CHANNEL_COUNTS):
        return f"{known}: two dims of 1 are in front of the channels; drop one, x.squeeze(0)"
    if rank == 4 and shape[2] in (channels, *(CHANNEL_COUNTS if channels is None else ())):
        return (
            f"{known}: if dim 1 counts frames or pictures, fold them into the batch, x.flatten(0, 1), and take them "
            "apart after, unflatten(0, (B, T))"
        )
    if rank != 4:
        return f"{known}; find the axis that is not the batch, the channels or a side, and fold it into the batch"
    dims = "x".join(map(str, shape[2:]))
    return (
        f"{known}: if {dims} is a volume, or frames of a video, a layer for pictures does not take it: give it one "
        "slice or frame at a time, x[:, :, i], or take a model for volumes or videos (Conv3d, its own VAE); if dim 1 "
        "counts frames, x.flatten(0, 1); drop a dim only if it is a 1 that was inserted twice"
    )


def _name_axes(rank: int) -> str:
    return {3: "C, L", 4: "C, H, W", 5: "C, D, H, W"}.get(rank, "C, ...")


def _sample_remedy(shape: NumericSizes, other: NumericSizes) -> str:
    """Return the remedy for a batch of samples with different shapes."""
    differing = [axis for axis, (one, two) in enumerate(zip(shape, other, strict=False)) if one != two]
    short, long = sorted((shape, other), key=len)
    if len(long) == len(short) + 1 == 3 and short in (long[1:], long[:-1]) and {*long} & {3, 4}:
        return "if some pictures or masks are in colour and others grey, convert all alike, image.convert('L') or 'RGB'"
    if len(shape) != len(other):
        return (
            "one sample has a dim more, as stereo beside mono: convert all samples alike, or insert it, x.unsqueeze(-1)"
        )
    if len(shape) == 3 and differing in ([0], [2]) and {shape[differing[0]], other[differing[0]]} <= {1, 3, 4}:
        return "some samples are grey or have an alpha channel: convert all of them alike, image.convert('RGB')"
    if len(shape) == 3 and shape[0] == other[0] and shape[1:] == other[:0:-1]:
        return (
            "if these are pictures, upright and wide ones are in one batch: resize or crop all to one size, or group "
            "them by orientation"
        )
    if len(shape) == 1:
        return (
            f"print the lengths of what is stacked, in a loader those of each field of dataset[i]: they are {shape[0]} "
            f"and {other[0]}; if all should be equal, fix the slice in the dataset, and if not, pad them: "
            f"pad_sequence in a "
            "collate_fn, padding=True in a tokenizer"
        )
    if len(shape) == 2 and differing == [0]:
        return "samples have different numbers of rows: write a collate_fn that keeps a list, pads or concatenates them"
    return RESIZE_SAMPLES_REMEDY


def _has_feature_map_side(shape: PrintedSizes, axes: PrintedSizes) -> bool:
    """Return whether axes contain a side of a square feature map.

    The layouts are NHWC and NCHW.
    """
    return any(shape[axis] == shape[axis + 1] and {axis, axis + 1} & {*axes} for axis in (1, 2))


def find_rank_and_permutation(message: ParsedMessage) -> tuple[int | None, PrintedSizes]:
    """Return the input rank and the permutation of a transpose.

    The rank is None if unknown. The permutation is read from the message or from the line of code.
    """
    rank = message.pair[0] if message.pair else len(message.input) if message.input else None
    return rank, message.perm or (message.line.sizes if message.line else None) or ()


def _permutation_remedies(rank: int | None, perm: PrintedSizes, shape: PrintedSizes | None) -> Iterator[str]:
    """Yield remedies for a permutation whose length differs from the rank of the tensor."""
    if {*perm} != {*range(len(perm))} or rank == len(perm):
        return
    if rank in (None, 2) and perm == (2, 0, 1):
        yield "if it is a picture, it is grey: read it in colour, or give it a dim for its channels, x[..., None]"
    elif rank == len(perm) - 1 and perm[:1] == (0,) and (shape is None or shape[0] != 1):
        yield (
            "print(x.shape) before that line: the permutation leaves the first axis, the batch, where it is; if x is "
            "one sample, insert a batch of 1 in front, x[None]"
        )
