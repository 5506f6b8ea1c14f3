"""What a refused request is likely to have meant, as a colleague would guess from its numbers and its line of code.

Nothing here says that a change helps: `report` asks again.
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
"""What to do with an image by the channels that it has and those that are taken."""
FEATURES = frozenset({640, 768, 1024, 1152, 1280, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 8192})
"""How many features well-known encoders give."""
MISSING = "insert the dim that is missing: a batch in front, x[None], or the channels of grey images, x[..., None]"
DROPPED = "drop a dim of 1 that is one too many, x.squeeze(0)"
OFF_BY_ONE = "pad the image until all strides divide it, often to a multiple of 32, or cut the larger by one"
CLASS_TOKEN = "give the tensor of {} the class token, too, as a pad of 1 in front does; or add it behind this line"
ONE_SIZE = "bring the samples to one size before they are stacked: resize, crop or pad them; or take batch_size=1"
COLOURS = (3, 4)
POSITIONS = (77, 512)
"""For how many tokens well-known models have positions."""
WAYS = (channels_moved, squeezed, unsqueezed, transposed)
FLAT = 64
"""From how many features on an axis may be a flattened map."""
LATENT = 128
"""Up to which side four channels are latents rather than an image."""
MOST_EXACT = 10**12
"""Up to which count its part of another is written as a decimal."""
FLOOR = re.compile(r"([A-Za-z_][\w.]*) ?// ?([\w.]+)")
"""A division in a line of code that may round down."""
NAMES = re.compile(r"[A-Za-z_][\w.]*")
"""Names in a line of code."""
NEARLY = 8
"""A size is padded to a multiple if no more than such a part of it is missing."""


def guesses(read: Reading, shape: Shape) -> Iterator[Fix]:
    """Yield what a refused request is likely to have meant: a batch, a size that the code computes, a pad."""
    given, target = numbers(shape), numbers(read.target)
    have, other = prod(given or (0,)), numbers(read.operands[0]) if read.op == "matmul" and read.operands else ()
    if read.op == "expand" and read.input and target:
        for said, after in (each for way in WAYS for each in way(shape, target)):
            yield Fix("input", text_of(after), f"{said.format('the input')}: write {text_of(after)}")
    elif read.op == "rearrange" and read.pair:
        yield from _divided(read, given, *read.pair)
    elif (
        read.framework == "torch"  # which prints operands with their first dims merged
        and len(given) == 2 == len(other)
        and have > 0 < other[0]
        and other[0] % given[1] == 0 == have % other[0]
    ):
        rows = text_of((have // other[0], other[0]))
        yield Fix("input", rows, f"flatten each sample before the layer, x.flatten(1), to {rows}")
    elif read.op in ("reshape", "shuffle") and len(target) > 1 and have > 0 and known_count(target):
        ways = () if -1 in target else (_batches, _computed, _one_other)
        changed = next(filter(None, ([*way(read, have, target)] for way in ways)), [])
        name = "to" if read.op == "shuffle" else "target"
        yield from (Fix(name, text_of(value), f"write {text_of(value)}: {why}") for value, why in changed)
        yield from _padded(given, target) if read.input else ()


def numbers(sizes: tuple[object, ...] | None) -> Numbers:
    """Return sizes if all are numbers; otherwise none."""
    found = tuple([size for size in sizes or () if isinstance(size, int)])
    return found if len(found) == len(sizes or ()) else ()


def _batches(read: Reading, have: int, target: Numbers) -> Iterator[tuple[Numbers, str]]:
    """Yield targets with -1 where another batch is written, or where one is missing in front."""
    first, sample = target[0], target[1:]
    held, left = divmod(have, prod(sample))
    times = 0 if left or held % first else held // first
    image = min(target) >= FLAT if len(target) == 2 else len(target) == 3 and first in (*COLOURS, target[1])
    if times == COLOURS[0] and 1 in sample:  # an image has colours where a grey one is meant
        return
    if not left and not image and read.input is None and prod(sample) > 1:
        yield (-1, *sample), f"right for every batch: the input holds {held} times {text_of(sample)}, not {first}"
    if first > 1 < times and (read.input is None or times == read.input[0]):
        yield (-1, *target), f"the input holds {times} of these, so a batch is missing in front"


def _computed(read: Reading, have: int, target: Numbers) -> Iterator[tuple[Numbers, str]]:
    """Yield targets with another size where the line of code computes one; never for the batch in front.

    Attributes come first: they are settings, and other names are mostly taken from a shape.
    """
    texts = read.line.arguments if read.line is not None else ()
    for text in sorted(dict.fromkeys(texts[1:] if len(texts) == len(target) else ()), key=lambda text: "." not in text):
        places = [at for at, each in enumerate(texts) if each == text]
        room, left = divmod(have, prod(size for at, size in enumerate(target) if at not in places))
        size = isqrt(room) if len(places) == 2 else room
        shared = any({*NAMES.findall(text)} & {*NAMES.findall(each)} for each in {*texts} - {text})
        if shared or left or text.isdigit() or places[0] == 0 or size < 2 or size ** len(places) != room:
            continue
        summand = re.fullmatch(r"(\d+) ?\+ ?([\w.]+)", text)
        less, name = (int(summand[1]), summand[2]) if summand else (0, text)
        value = tuple(size if at in places else asked for at, asked in enumerate(target))
        yield value, f"{name} is {target[places[0]] - less} in that line, and {size - less} would fit"


def _one_other(read: Reading, have: int, target: Numbers) -> Iterator[tuple[Numbers, str]]:
    """Yield targets with one other size, near to the one that is asked for or a side like the next; never a batch."""
    for at, size in enumerate(target if read.input is None else ()):
        room, left = divmod(have, prod((*target[:at], *target[at + 1 :])))
        is_near, beside = abs(room - size) * NEARLY <= size, (*target[at + 1 :][:1], *target[:at][-1:])
        if not left and room > 1 and (at or len(target) == 2) and (room in beside or (at and is_near)):
            yield (*target[:at], room, *target[at + 1 :]), f"{room} in place of {size}"


def _divided(read: Reading, shape: Numbers, have: int, wanted: int) -> Iterator[Fix]:
    """Yield inputs and lengths that may fit a pattern: with a batch, with an axis padded, with other lengths."""
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
    """Yield inputs with an axis that is a multiple of what the target groups it into.

    >>> [fix.value for fix in _padded((8, 729, 16, 72), (8, -1, 4608))]
    ['8,784,16,72']
    >>> [fix.value for fix in _padded((3, 2000, 349), (3, 1000, 2, 174, 2))]
    ['3,2000,348']
    """
    ours, theirs = (numbers(dims) for dims in differing(shape, target)[1:])
    grouped = (len(ours), len(theirs)) == (1, 2) and ours[0] // theirs[1] == theirs[0]
    groups = [(shape.index(ours[0]), theirs[1])] if grouped else []
    for axis in range(1, len(shape)) if -1 in target else ():
        behind = prod(shape[axis + 1 :])
        groups += [(axis, dim // behind) for dim in target[1:] if dim % behind == 0]
        groups += [(axis, dim) for dim in target[axis : axis + 1]]
    for axis, group in groups:
        size, side, edge = shape[axis], isqrt(shape[axis]), isqrt(max(group, 0))
        if group < 2 or size % group == 0 or -size % group * NEARLY > size:
            continue
        up, down = size + -size % group, size - size % group
        said = f"pad axis {axis} of the input from {size} to {up}, the next multiple of {group}, or cut it to {down}"
        if side**2 == size and edge**2 == group:
            up = (side + -side % edge) ** 2
            said = f"axis {axis} of the input is a {side}x{side} map: pad it to {isqrt(up)}x{isqrt(up)}"
        yield Fix("input", text_of((*shape[:axis], up if -1 in target else down, *shape[axis + 1 :])), said)


def likened(given: Sizes, declared: Sizes) -> Iterator[tuple[str, str]]:
    """Yield how a shape may become one that was declared, in which `?` is any size, and what it is then.

    >>> [*likened((400, 160), (160, 400))]
    [('transpose the given shape: 160,400', '160,400')]
    """
    shape, wanted = as_dims(given), as_dims(declared)
    for way in WAYS:
        for said, after in way(shape, wanted):
            if len(after) == len(wanted) and not unequal(after, wanted):
                yield f"{said.format('the given shape')}: {text_of(after)}", text_of(after)
                return


def unequal(shape: Sequence[object], wanted: Sequence[object]) -> list[int]:
    """Return the axes, from the left, at which two shapes differ; `?` is any size."""
    pairs = enumerate(zip(shape, wanted, strict=False))
    return [at for at, pair in pairs if pair[0] != pair[1] and "?" not in "".join(map(str, pair))]


def compared(have: int, target: Numbers) -> str:
    """Return an element count as the dims of a target that divide it, from both ends, and what is left between.

    >>> compared(1600, (8, 3, 64)), compared(68992, (2, 77, -1, 128))
    ('1600 = 8*200, where 3*64 = 192 is asked for', '68992 = 2*77*448, and 448 is 3.5 times 128')
    """
    first, between, rest, last = _between(have, target)
    known = [size for size in between if size != -1]
    asked = prod(known)
    if max(*first, *last, 0, 1) == 1 or not known or asked <= 0:
        return ""
    whole = f"{have} = {'*'.join(map(str, [*first, rest, *last]))}"
    wanted = "*".join(map(str, known)) + (f" = {asked}" if len(known) > 1 else "")
    times = f"{rest / asked:g} times" if rest < MOST_EXACT and rest * 100 % asked == 0 else "no multiple of"
    return f"{whole}, and {rest} is {times} {wanted}" if -1 in between else f"{whole}, where {wanted} is asked for"


def _between(have: int, target: Numbers) -> tuple[list[int], list[int], int, list[int]]:
    """Return the dims at the ends of a target that divide a count, those between, and what is left of the count."""
    between, rest = [*target], have
    ends: tuple[list[int], list[int]] = [], []
    for dims, place in zip(ends, (0, -1), strict=True):
        while between and between[place] > 0 and rest % between[place] == 0:
            rest //= between[place]
            dims.append(between.pop(place))
    return ends[0], between, rest, ends[1][::-1]


# What mends without numbers that are asked again.


def remedies(read: Reading, pair: tuple[int, int] | None) -> Iterator[str]:
    """Yield what is likely to be done, in words; `pair` are the sizes that do not go together."""
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
    """Say whether one of the axes is a side of a square map, as NHWC or NCHW has them."""
    return any(shape[at] == shape[at + 1] and {at, at + 1} & {*axes} for at in (1, 2))


def _of_sizes(read: Reading, have: int, wanted: int) -> Iterator[str]:
    """Yield what two sizes that do not go together are known for."""
    large, small = max(have, wanted), min(have, wanted)
    texts = read.op == "broadcast" and re.search("dimension [01]$", read.quote)  # tokens or a batch, and no image
    layer = read.op == "linear"
    images = all(len(each) != 2 for each in (read.input, *(() if layer else read.operands or ())) if each)
    square = large % small == 0 == large // small - isqrt(large // small) ** 2
    pair = (have, wanted) if layer or read.op in ("conv", "expand") or small == 1 else (large, small)
    known = len(read.input or ()) == 2 and small in POSITIONS
    latent = read.op == "conv" and pair[0] == COLOURS[1] and max(numbers(read.input)[2:], default=0) <= LATENT
    if images and read.op in ("conv", "linear", "broadcast", "expand") and pair in IMAGE_CHANNELS and not latent:
        yield IMAGE_CHANNELS[pair]
    elif known or (read.op == "broadcast" and "position" in read.near.lower()):
        yield f"cut the tokens to {small}, as many as the model has positions for, or take one that has {large}"
    elif images and not texts and read.op in ("broadcast", "concat") and large == small + 1 > FEWEST:
        yield CLASS_TOKEN.format(small) if small in PATCHES and read.op == "broadcast" else OFF_BY_ONE
    elif read.op == "matmul" and square and have > wanted > FLAT:
        side = isqrt(have // wanted)
        yield f"pool each {side}x{side} map to 1x1 before it is flattened, as nn.AdaptiveAvgPool2d(1) does"
    elif read.op == "matmul" and {have, wanted} <= FEATURES:
        yield f"take the encoder of this model: this one gives {have} features, and the weights take {wanted}"
    elif layer and small > MOST_CHANNELS and square:
        longer = f"{'' if have > wanted else '1/'}{isqrt(large // small)} times as long"
        yield f"give it images of the size that it was built for: here each side may be {longer}"
    elif read.op == "matmul" and read.framework == "torch" and small > 1 and wanted % have:
        yield f"make the second operand for {have} features, or give it the {wanted} that it is made for"


def turned(read: Reading) -> tuple[int | None, Sizes]:
    """Return how many dims there are to permute, if that is known, and the permutation, as told or in the code."""
    there = read.pair[0] if read.pair else len(read.input) if read.input else None
    return there, read.perm or (read.line.sizes if read.line else None) or ()


def _of_rank(there: int | None, perm: Sizes, shape: Sizes | None) -> Iterator[str]:
    """Yield what is likely of a permutation that names an axis more or less than there are."""
    if {*perm} != {*range(len(perm))} or there == len(perm):
        return
    if there in (None, 2) and perm == (2, 0, 1):
        yield "the image is grey: read it in colour, or give it a dim for its channels, x[..., None]"
    elif there == len(perm) - 1 and perm[:1] == (0,) and (shape is None or shape[0] != 1):
        yield "insert a batch of 1 in front, x[None]: the permutation leaves the first axis where it is"
