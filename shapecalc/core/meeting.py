"""Operands that do not go together: what their numbers tell, and how one of them may become one that fits.

Nothing here says that a change helps: `fixing` asks again, and ranks them in the order in which they are yielded.
"""

from __future__ import annotations

from _collections_abc import Callable, Iterator, Mapping, Sequence
from math import isqrt

from shapecalc.core.answers import HERE, Request, Trace
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.record import Record
from shapecalc.core.text import brief, shape_text

Way = Callable[[Shape, Shape], Iterator[tuple[str, Shape]]]
"""Yields what may be done to a shape, `{}` standing for it, and the shape after that; given the one that it meets."""


# How a shape may become one that goes with another.


MOST_CHANNELS = 4096
"""How many channels a map has at most."""
MOST_OBLONG = 8
"""How many times as long as the other a side of an image may be."""


def transposed(shape: Shape, _: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with its last two dims swapped, or all of a matrix."""
    if len(shape) > 1 and shape[-1] != shape[-2]:
        yield "transpose {}", (*shape[:-2], shape[-1], shape[-2])


def channels_first(shape: Shape, _: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with its channels, which are last, behind the batch, if the others may be an image's sides.

    >>> [*channels_first((1, 361, 424, 3), ())][0]
    ('put the channels of {} first, NCHW for NHWC', (1, 3, 361, 424))
    """
    sides = [dim for dim in shape[1:-1] if isinstance(dim, int)]
    if len(shape) > 2 and max(sides, default=1) <= MOST_OBLONG * min(sides, default=1):
        images = len(shape) == 4
        said = "put the channels of {} first, NCHW for NHWC" if images else "move the last axis of {} behind the first"
        yield said, (shape[0], shape[-1], *shape[1:-1])


def channels_moved(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with its channels, which are last, behind the batch; or the other way."""
    yield from channels_first(shape, other)
    if len(shape) > 2:
        last = "put the channels of {} last, NHWC for NCHW"
        yield last if len(shape) == 4 else "move the second axis of {} to the end", (shape[0], *shape[2:], shape[1])


def unsqueezed(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with dims of 1 that it may lack."""
    for count in range(1, len(other) - len(shape) + 1):
        for place in range(len(shape), -1, -1):
            ones = "a dim of 1" if count == 1 else f"{count} dims of 1"
            yield f"insert {ones} in {{}}", (*shape[:place], *(1,) * count, *shape[place:])


def squeezed(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with one of its dims of 1 dropped."""
    if len(shape) > len(other):
        yield from (("drop a 1 of {}", (*shape[:at], *shape[at + 1 :])) for at, dim in enumerate(shape) if dim == 1)


def reshaped(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the other shape, or its last dims, if a shape holds as many elements."""
    for start in range(len(other) - 1):
        if len(shape) < len(other) - start and product(shape) == product(other[start:]):
            yield "reshape {}", other[start:]


def flattened(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with its last dims as one, if the other has that one."""
    for start in range(1, len(shape) - 1):
        if product(shape[start:]) in other:
            yield f"flatten {{}} from axis {start} on", (*shape[:start], product(shape[start:]))


def pooled(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape whose last dim has the channels of a square map alone, if those are what the other takes."""
    wanted = other[-2:][0] if other else 0
    side = _side(shape[-1], wanted) if shape else 0
    if side:
        yield f"take the mean of each {side}x{side} map of {{}} before it is flattened", (*shape[:-1], wanted)


def widened(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a weight that takes a flattened square map."""
    if len(shape) == 2 and other and _side(other[-1], shape[0]):
        yield f"let {{}} take {other[-1]} features", (other[-1], shape[1])


def levelled(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with the class token that its patches lack, or without the positions that are one too many."""
    pairs = [*zip(shape, other, strict=False)]
    longer = tuple([theirs if ours in PATCHES and _is_next(theirs, ours) else ours for ours, theirs in pairs])
    shorter = tuple([theirs if theirs not in PATCHES and _is_next(ours, theirs) else ours for ours, theirs in pairs])
    for said, new in (
        ("give {} the class token, as a pad of 1 in front does", longer),
        ("cut {} where it is one too long, as by rounding", shorter),
    ):
        if len(shape) == len(other) and new != shape:
            yield said, new


def _side(large: Dim, small: Dim) -> int:
    """Return the side of a square map if one size has its pixels, each with channels of the other size; 0 if not."""
    if not isinstance(large, int) or not isinstance(small, int) or not 1 < small <= MOST_CHANNELS or large == small:
        return 0
    times, left = divmod(large, small)
    return isqrt(times) if not left and isqrt(times) ** 2 == times else 0


def _is_next(large: Dim, small: Dim) -> bool:
    return isinstance(large, int) and isinstance(small, int) and large == small + 1 > 2


# What to try on a refused request of several operands.


def _to_each(*ways: Way) -> tuple[tuple[str, Way], ...]:
    return tuple([(name, way) for way in ways for name in ("operands", "input")])


WAYS: Mapping[str, tuple[tuple[str, Way], ...]] = {
    "broadcast": _to_each(reshaped, unsqueezed, squeezed, channels_moved, transposed, levelled),
    "matmul": (
        *(("operands", transposed), ("input", transposed), ("input", flattened), ("operands", unsqueezed)),
        *(("operands", widened), ("input", pooled)),
    ),
    "linear": (
        *(("weight", transposed), ("input", flattened), ("input", channels_moved)),
        *(("weight", widened), ("input", pooled)),
    ),
    "concat": _to_each(unsqueezed, levelled, channels_moved, transposed),
    "stack": _to_each(squeezed, unsqueezed, channels_moved, transposed),
    "conv": (("input", channels_first), ("input", unsqueezed)),
}
"""What may be done to which argument of an op, in the order in which it is tried."""


class Change(Record):
    """An argument of a refused request with a new value that may help."""

    name: str
    value: object
    every_batch: str = ""
    """Why it is right for every batch; empty if it is not."""
    copies: bool = False
    """Whether it writes the dims that zeros were meant to copy."""
    said: str = ""
    """What is done to a tensor, if it is one of several operands."""


def meetings(request: Request) -> Iterator[Change]:
    """Yield what may make the operands of a request go together.

    >>> from shapecalc.core.ask import ask
    >>> [(each.value, each.said) for each in meetings(ask("matmul", "2,3", {"operands": "4,3"}))][0]
    ('3,4', 'transpose the second operand')
    """
    weight, channels = request.arguments.get("weight"), request.input[1:2]
    if weight and request.op == "conv" and weight[1:2] == (1,) != channels != ():
        yield Change("groups", channels[0], said="each channel has a filter of its own")
    for name, way in WAYS.get(request.op, ()):
        if name == "operands":
            yield from _of_operands(request, way)
        elif name == "weight" and weight:
            for said, new in way(weight[::-1], request.input):
                yield Change(name, new[::-1], said=said.format("the weight"))
        elif name == "input" and (other := weight or _widest(request.arguments.get("operands", ()))):
            for said, new in way(request.input, other[::-1] if request.op == "linear" else other):
                yield Change(name, new, said=said.format("the input"))
    if request.op == "concat":
        yield from (Change("axis", axis, said="lay them along another axis") for axis in range(len(request.input))[1:])


def _of_operands(request: Request, way: Way) -> Iterator[Change]:
    operands = request.arguments.get("operands", ())
    for place, shape in enumerate(operands):
        if shape == HERE:
            continue
        number = place + (HERE not in operands)
        who = "the second operand" if number == 1 else "the first operand" if not number else f"operand {number + 1}"
        for said, new in way(shape, request.input):
            texts = [each if isinstance(each, str) else shape_text(each) for each in operands]
            texts[place] = shape_text(new)
            yield Change("operands", " ".join(texts), said=said.format(who))


def _widest(operands: Sequence[Shape | str]) -> Shape:
    shapes = [each for each in operands if isinstance(each, tuple)]
    return max(shapes, key=len) if shapes else ()


def keeps_batch(before: Request, after: Trace) -> bool:
    """Say whether an answer has the first dim of the operand with most dims first, or a new 1 in front of it.

    One that holds only at some sizes does not.
    """
    if after.conditions:
        return False
    widest = _widest((before.input, *before.arguments.get("operands", ())))
    if len(widest) < 2 or (before.op in ("concat", "stack") and after.request.arguments.get("axis", 0) == 0):
        return True
    if after.output is None or (before.op == "broadcast" and len(after.output) > len(widest)):
        return False
    return after.output[0] == widest[0] or after.input == (1, *before.input)


# What two sizes tell that should be one.


def at_fault(request: Request) -> tuple[int, int] | None:
    """Return the two sizes that do not go together: what there is, and what is taken; None if no two numbers do.

    >>> from shapecalc.core.ask import ask
    >>> at_fault(ask("broadcast", "1,64,245", {"operands": "64,244"}))
    (245, 244)
    """
    shape: Shape = request.input
    weight: Shape = request.arguments.get("weight") or ()
    others = [each for each in request.arguments.get("operands", ()) if isinstance(each, tuple)]
    other = others[0] if others else weight
    pairs = [*zip(shape[::-1], other[::-1], strict=False)]
    if request.op == "matmul":
        pairs = [(shape[-1], other[-2:][0])] if shape and other else []
    elif request.op == "linear":
        pairs = pairs[:1]
    elif request.op == "conv":
        groups = request.arguments.get("groups") or 1
        pairs = [(shape[1], product((weight[1], groups)))] if len(shape) > 1 < len(weight) else []
    elif request.op == "concat" and len(shape) == len(other):
        along = request.arguments.get("axis", 0) % len(shape) if shape else 0
        pairs = [pair for axis, pair in enumerate(zip(shape, other, strict=True)) if axis != along]
    for have, wanted in pairs:
        if have != wanted and 1 not in (have, wanted) and isinstance(have, int) and isinstance(wanted, int):
            return have, wanted
    return None


PATCHES = {side * side: side for side in (7, 14, 21, 24, 27, 28, 37)}
"""The sides of the maps of patches that well-known image models have, by how many patches these are."""
FEWEST = 4
"""From which size on one more is taken for rounding."""
MOST_TIMES = 64
"""Up to how many times a size another one is said to be so many times as large, if it is none of features."""


def told(have: int, wanted: int, op: str | None) -> str:
    """Return what two sizes tell that should be one; nothing if they are far apart.

    >>> told(2304, 256, "matmul"), told(245, 244, "broadcast")
    ('2304 = 9*256: a 3x3 map was flattened', '245 is one more than 244, as by rounding')
    """
    large, small = max(have, wanted), min(have, wanted)
    if _is_next(large, small) and small > FEWEST and op in ("broadcast", "concat", "stack"):
        side = PATCHES.get(small)
        grid = f"{side}*{side} = {small} patches and a class token" if side and op == "broadcast" else ""
        return f"{large} is {grid or f'one more than {small}, as by rounding'}"
    features = op in ("matmul", "linear")
    if small < 2 or large % small or (large > small * MOST_TIMES and not features):
        return f"{large} is {large - small} more than {small}" if large < 2 * small else ""
    side = _side(large, small) if features else 0
    map_told = f": a {side}x{side} map {'was' if have > wanted else 'is to be'} flattened" if side else ""
    return f"{large} = {large // small}*{small}{map_told}"


def arithmetic(request: Request) -> str:
    """Return what the numbers of a refused request of several operands tell; nothing if they tell nothing.

    >>> from shapecalc.core.ask import ask
    >>> arithmetic(ask("matmul", "14336,7", {"operands": "3136,10"}))
    '14336*7 = 32*3136: 32 rows of 3136, so a flatten may be missing'
    """
    pair = at_fault(request)
    if pair is None:
        return ""
    have, wanted = pair
    rows = request.input[:-1] if request.op in ("matmul", "linear") else ()
    if rows and wanted > have and len(rows) == 1 and isinstance(rows[0], int) and wanted:
        count, rest = divmod(rows[0] * have, wanted)
        if count and not rest and wanted % have == 0 and have > 1:
            left = brief(f"{rows[0]}*{have} = {count}*{wanted}")
            return f"{left}: {count} rows of {wanted}, so a flatten may be missing"
    return told(have, wanted, request.op)
