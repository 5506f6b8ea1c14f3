"""Suggestions for refused requests, from their numbers and the line of code.

These are candidates only: `report` resolves each suggested fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isqrt, prod

from shapecalc.core.dims import Shape
from shapecalc.core.fixing import Fix, differing, divisors_near
from shapecalc.core.meeting import FEWEST, MOST_CHANNELS, PATCHES, channels_moved, squeezed, transposed, unsqueezed
from shapecalc.doctor.match import Sizes, text_of
from shapecalc.doctor.reading import Reading, as_dims, known_count

Numbers = tuple[int, ...]
IMAGE_CHANNELS = {
    (4, 3): "drop the alpha channel of the image: image.convert('RGB'), or x[..., :3]",
    (1, 3): "the image is grey: convert it to RGB, or repeat its channel 3 times",
    (3, 1): "the image has colours: convert it to grey, or let the first layer take 3 channels",
}
"""The remedy for an image, by its channels and the expected ones."""
FEATURES = frozenset({640, 768, 1024, 1152, 1280, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 8192})
"""The feature counts of well-known encoders."""
MISSING = "insert the dim that is missing: a batch in front, x[None], or the channels of grey images, x[..., None]"
DROPPED = "drop a dim of 1 that is one too many, x.squeeze(0)"
OFF_BY_ONE = "pad the image until all strides divide it, often to a multiple of 32, or cut the larger by one"
CLASS_TOKEN = "give the tensor of {} the class token, too, as a pad of 1 in front does; or add it behind this line"
ONE_SIZE = "bring the samples to one size before they are stacked: resize, crop or pad them; or take batch_size=1"
COLOURS = (3, 4)
POSITIONS = (77, 512)
"""The position counts of well-known text models."""
WAYS = (channels_moved, squeezed, unsqueezed, transposed)
FLAT = 64
"""The fewest features that may be a flattened map."""
LATENT = 128
"""The largest side for which four channels are latents rather than an image."""
MOST_EXACT = 10**12
"""The largest count whose ratio to another is printed as a decimal."""
FLOOR = re.compile(r"([A-Za-z_][\w.]*) ?// ?([\w.]+)")
"""A floor division in a line of code."""
NAMES = re.compile(r"[A-Za-z_][\w.]*")
"""A name in a line of code."""
NEARLY = 8
"""The inverse of the largest fraction of a size that is added as padding."""


def guesses(read: Reading, shape: Shape) -> Iterator[Fix]:
    """Yield likely intentions of a refused request: a batch, a computed size, a pad."""
    sizes, target = numbers(shape), numbers(read.target)
    count, other = prod(sizes or (0,)), numbers(read.operands[0]) if read.op == "matmul" and read.operands else ()
    if read.op == "expand" and read.input and target:
        for text, after in (change for way in WAYS for change in way(shape, target)):
            yield Fix("input", text_of(after), f"{text.format('the input')}: write {text_of(after)}")
    elif read.op == "rearrange" and read.pair:
        yield from _divided(read, sizes, *read.pair)
    elif (
        read.framework == "torch"  # prints operands with their first dims merged
        and len(sizes) == 2 == len(other)
        and count > 0 < other[0]
        and other[0] % sizes[1] == 0 == count % other[0]
    ):
        rows = text_of((count // other[0], other[0]))
        yield Fix("input", rows, f"flatten each sample before the layer, x.flatten(1), to {rows}")
    elif read.op in ("reshape", "shuffle") and len(target) > 1 and count > 0 and known_count(target):
        strategies = () if -1 in target else (_batches, _computed, _one_other)
        targets = next(filter(None, ([*strategy(read, count, target)] for strategy in strategies)), [])
        name = "to" if read.op == "shuffle" else "target"
        yield from (Fix(name, text_of(value), f"write {text_of(value)}: {reason}") for value, reason in targets)
        yield from _padded(sizes, target) if read.input else ()


def numbers(sizes: tuple[object, ...] | None) -> Numbers:
    """Return sizes if all are integers; otherwise an empty tuple."""
    integers = tuple([size for size in sizes or () if isinstance(size, int)])
    return integers if len(integers) == len(sizes or ()) else ()


def _batches(read: Reading, have: int, target: Numbers) -> Iterator[tuple[Numbers, str]]:
    """Yield targets with -1 for the batch, or with a batch inserted in front."""
    first, sample = target[0], target[1:]
    samples, remainder = divmod(have, prod(sample))
    times = 0 if remainder or samples % first else samples // first
    is_image = min(target) >= FLAT if len(target) == 2 else len(target) == 3 and first in (*COLOURS, target[1])
    if times == COLOURS[0] and 1 in sample:  # a colour image instead of a grey one
        return
    if not remainder and not is_image and read.input is None and prod(sample) > 1:
        yield (-1, *sample), f"right for every batch: the input holds {samples} times {text_of(sample)}, not {first}"
    if first > 1 < times and (read.input is None or times == read.input[0]):
        yield (-1, *target), f"the input holds {times} of these, so a batch is missing in front"


def _computed(read: Reading, have: int, target: Numbers) -> Iterator[tuple[Numbers, str]]:
    """Yield targets with another size for an expression in the line of code.

    The batch in front is never changed. Attributes come first: they are settings, and other names usually come from a
    shape.
    """
    texts = read.line.arguments if read.line is not None else ()
    for text in sorted(dict.fromkeys(texts[1:] if len(texts) == len(target) else ()), key=lambda text: "." not in text):
        axes = [axis for axis, other in enumerate(texts) if other == text]
        quotient, remainder = divmod(have, prod(size for axis, size in enumerate(target) if axis not in axes))
        size = isqrt(quotient) if len(axes) == 2 else quotient
        is_shared = any({*NAMES.findall(text)} & {*NAMES.findall(other)} for other in {*texts} - {text})
        if is_shared or remainder or text.isdigit() or axes[0] == 0 or size < 2 or size ** len(axes) != quotient:
            continue
        summand = re.fullmatch(r"(\d+) ?\+ ?([\w.]+)", text)
        offset, name = (int(summand[1]), summand[2]) if summand else (0, text)
        value = tuple(size if axis in axes else old for axis, old in enumerate(target))
        yield value, f"{name} is {target[axes[0]] - offset} in that line, and {size - offset} would fit"


def _one_other(read: Reading, have: int, target: Numbers) -> Iterator[tuple[Numbers, str]]:
    """Yield targets with one other size, near the old one or equal to a neighbour.

    The batch is never changed.
    """
    for axis, size in enumerate(target if read.input is None else ()):
        needed, remainder = divmod(have, prod((*target[:axis], *target[axis + 1 :])))
        is_near, neighbours = abs(needed - size) * NEARLY <= size, (*target[axis + 1 :][:1], *target[:axis][-1:])
        if not remainder and needed > 1 and (axis or len(target) == 2) and (needed in neighbours or (axis and is_near)):
            yield (*target[:axis], needed, *target[axis + 1 :]), f"{needed} in place of {size}"


def _divided(read: Reading, shape: Numbers, have: int, wanted: int) -> Iterator[Fix]:
    """Yield inputs and lengths that may fit a pattern.

    These are an inserted batch, a padded axis, and other lengths.
    """
    if have == len(shape) == wanted - 1:
        yield Fix("input", text_of((1, *shape)), "insert a batch in front, x[None]")
    if wanted < 1 or -have % wanted * NEARLY >= have or read.cause != "indivisible":
        return
    up, down = have + -have % wanted, have - have % wanted
    padded = text_of([up if dim == have else dim for dim in shape])
    yield Fix("input", padded, f"pad that axis from {have} to {up}, the next multiple of {wanted}, or cut it to {down}")
    lengths = re.findall(r"'(\w+)': (\d{1,18})", read.quote)
    names = [name for name, size in lengths if int(size) == wanted]
    for size in sorted(divisors_near(have, wanted), key=lambda size: abs(size - wanted)) if names else ():
        value = ",".join(f"{name}={size if name in names else old}" for name, old in lengths)
        if 1 < size < have:
            yield Fix("lengths", value, f"let {' and '.join(names)} be {size}, which divides {have}")


def _padded(shape: Numbers, target: Numbers) -> Iterator[Fix]:
    """Yield inputs with an axis padded to a multiple of its group in the target.

    >>> [fix.value for fix in _padded((8, 729, 16, 72), (8, -1, 4608))]
    ['8,784,16,72']
    >>> [fix.value for fix in _padded((3, 2000, 349), (3, 1000, 2, 174, 2))]
    ['3,2000,348']
    """
    dims, target_dims = (numbers(sizes) for sizes in differing(shape, target)[1:])
    is_grouped = (len(dims), len(target_dims)) == (1, 2) and dims[0] // target_dims[1] == target_dims[0]
    groups = [(shape.index(dims[0]), target_dims[1])] if is_grouped else []
    for axis in range(1, len(shape)) if -1 in target else ():
        inner = prod(shape[axis + 1 :])
        groups += [(axis, dim // inner) for dim in target[1:] if dim % inner == 0]
        groups += [(axis, dim) for dim in target[axis : axis + 1]]
    for axis, group in groups:
        size, side, edge = shape[axis], isqrt(shape[axis]), isqrt(max(group, 0))
        if group < 2 or size % group == 0 or -size % group * NEARLY > size:
            continue
        up, down = size + -size % group, size - size % group
        text = f"pad axis {axis} of the input from {size} to {up}, the next multiple of {group}, or cut it to {down}"
        if side**2 == size and edge**2 == group:
            up = (side + -side % edge) ** 2
            text = f"axis {axis} of the input is a {side}x{side} map: pad it to {isqrt(up)}x{isqrt(up)}"
        yield Fix("input", text_of((*shape[:axis], up if -1 in target else down, *shape[axis + 1 :])), text)


def likened(given: Sizes, declared: Sizes) -> Iterator[tuple[str, str]]:
    """Yield a change of a shape that makes it the declared one, and the result.

    A `?` in the declared shape is any size.

    >>> [*likened((400, 160), (160, 400))]
    [('transpose the given shape: 160,400', '160,400')]
    """
    shape, target = as_dims(given), as_dims(declared)
    for way in WAYS:
        for text, after in way(shape, target):
            if len(after) == len(target) and not unequal(after, target):
                yield f"{text.format('the given shape')}: {text_of(after)}", text_of(after)
                return


def unequal(shape: Sequence[object], wanted: Sequence[object]) -> list[int]:
    """Return the axes, from the left, at which two shapes differ; `?` is any size."""
    pairs = enumerate(zip(shape, wanted, strict=False))
    return [axis for axis, pair in pairs if pair[0] != pair[1] and "?" not in "".join(map(str, pair))]


def compared(have: int, target: Numbers) -> str:
    """Return an element count as a product with the target dims that divide it.

    The dims are taken from both ends; the remaining factor is compared with the product of the dims between them.

    >>> compared(1600, (8, 3, 64)), compared(68992, (2, 77, -1, 128))
    ('1600 = 8*200, where 3*64 = 192 is asked for', '68992 = 2*77*448, and 448 is 3.5 times 128')
    """
    first, between, rest, last = _between(have, target)
    known = [size for size in between if size != -1]
    requested = prod(known)
    if max(*first, *last, 0, 1) == 1 or not known or requested <= 0:
        return ""
    equation = f"{have} = {'*'.join(map(str, [*first, rest, *last]))}"
    text = "*".join(map(str, known)) + (f" = {requested}" if len(known) > 1 else "")
    times = f"{rest / requested:g} times" if rest < MOST_EXACT and rest * 100 % requested == 0 else "no multiple of"
    return f"{equation}, and {rest} is {times} {text}" if -1 in between else f"{equation}, where {text} is asked for"


def _between(have: int, target: Numbers) -> tuple[list[int], list[int], int, list[int]]:
    """Divide a count by the dims at the ends of a target.

    Return the leading dims that divide it, the dims between, the quotient, and the trailing dims.
    """
    between, rest = [*target], have
    ends: tuple[list[int], list[int]] = [], []
    for dims, end in zip(ends, (0, -1), strict=True):
        while between and between[end] > 0 and rest % between[end] == 0:
            rest //= between[end]
            dims.append(between.pop(end))
    return ends[0], between, rest, ends[1][::-1]


def remedies(read: Reading, pair: tuple[int, int] | None) -> Iterator[str]:
    """Yield likely remedies in words; `pair` are the sizes that mismatch."""
    target = numbers(read.target)
    floors = FLOOR.findall(" ".join(read.line.arguments)) if read.op == "reshape" and read.line is not None else []
    if floors and -1 not in target and (read.elements or prod(numbers(read.input))) > prod(target):
        padded = " and ".join(dict.fromkeys(f"{size} to a multiple of {group}" for size, group in floors))
        yield f"pad {padded}: here // rounds down"
    elif read.op == "reshape" and read.elements and target[:1] == (-1,):
        _, between, _, _ = _between(read.elements, target)
        if between == [*target] and between[-1] >= FLAT:
            yield f"keep the batch, x.flatten(1), and let the next layer take what that gives in place of {between[-1]}"
    elif read.op == "stack":
        yield ONE_SIZE
    elif read.op == "transpose":
        yield from _of_rank(*turned(read), read.input)
    elif read.op == "squeeze" and read.input and len(read.input) == 4 and _is_side(read.input, read.axes or ()):
        yield "the map is no 1x1: give the image the size that the network was made for, or pool it to 1x1"
    elif read.cause == "bad-axis" and pair and pair[0] == pair[1]:
        yield MISSING
    elif read.cause == "ranks-differ" and read.op == "conv" and read.input:
        yield DROPPED if read.input[0] == 1 and len(read.input) > 4 else MISSING
    elif pair is not None:
        yield from _of_sizes(read, *pair)


def _is_side(shape: Sizes, axes: Sizes) -> bool:
    """Return whether one of the axes is a side of a square map in NHWC or NCHW."""
    return any(shape[axis] == shape[axis + 1] and {axis, axis + 1} & {*axes} for axis in (1, 2))


def _of_sizes(read: Reading, have: int, wanted: int) -> Iterator[str]:
    """Yield remedies for two sizes that typically mismatch."""
    large, small = max(have, wanted), min(have, wanted)
    # dims 0 and 1 are tokens or a batch, and no sides of an image
    is_text = read.op == "broadcast" and re.search("dimension [01]$", read.quote)
    is_layer = read.op == "linear"
    has_images = all(len(shape) != 2 for shape in (read.input, *(() if is_layer else read.operands or ())) if shape)
    is_square = large % small == 0 == large // small - isqrt(large // small) ** 2
    pair = (have, wanted) if is_layer or read.op in ("conv", "expand") or small == 1 else (large, small)
    has_positions = len(read.input or ()) == 2 and small in POSITIONS
    is_latent = read.op == "conv" and pair[0] == COLOURS[1] and max(numbers(read.input)[2:], default=0) <= LATENT
    is_image_op = read.op in ("conv", "linear", "broadcast", "expand")
    if has_images and is_image_op and pair in IMAGE_CHANNELS and not is_latent:
        yield IMAGE_CHANNELS[pair]
    elif has_positions or (read.op == "broadcast" and "position" in read.near.lower()):
        yield f"cut the tokens to {small}, as many as the model has positions for, or take one that has {large}"
    elif has_images and not is_text and read.op in ("broadcast", "concat") and large == small + 1 > FEWEST:
        yield CLASS_TOKEN.format(small) if small in PATCHES and read.op == "broadcast" else OFF_BY_ONE
    elif read.op == "matmul" and is_square and have > wanted > FLAT:
        side = isqrt(have // wanted)
        yield f"pool each {side}x{side} map to 1x1 before it is flattened, as nn.AdaptiveAvgPool2d(1) does"
    elif read.op == "matmul" and {have, wanted} <= FEATURES:
        yield f"take the encoder of this model: this one gives {have} features, and the weights take {wanted}"
    elif is_layer and small > MOST_CHANNELS and is_square:
        longer = f"{'' if have > wanted else '1/'}{isqrt(large // small)} times as long"
        yield f"give it images of the size that it was built for: here each side may be {longer}"
    elif read.op == "matmul" and read.framework == "torch" and small > 1 and wanted % have:
        yield f"make the second operand for {have} features, or give it the {wanted} that it is made for"


def turned(read: Reading) -> tuple[int | None, Sizes]:
    """Return the rank to permute, if known, and the permutation.

    The permutation is from the message or from the line of code.
    """
    rank = read.pair[0] if read.pair else len(read.input) if read.input else None
    return rank, read.perm or (read.line.sizes if read.line else None) or ()


def _of_rank(there: int | None, perm: Sizes, shape: Sizes | None) -> Iterator[str]:
    """Yield remedies for a permutation with one axis more than the tensor."""
    if {*perm} != {*range(len(perm))} or there == len(perm):
        return
    if there in (None, 2) and perm == (2, 0, 1):
        yield "the image is grey: read it in colour, or give it a dim for its channels, x[..., None]"
    elif there == len(perm) - 1 and perm[:1] == (0,) and (shape is None or shape[0] != 1):
        yield "insert a batch of 1 in front, x[None]: the permutation leaves the first axis where it is"
