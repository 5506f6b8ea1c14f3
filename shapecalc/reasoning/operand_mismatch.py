"""Explanations of mismatched operands, and candidate changes to fix a mismatch.

The module `fixing` resolves each changed request, and offers the valid ones in the order of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isqrt

from shapecalc.core.answers import CHAIN_TENSOR, Request, Trace
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text, truncate
from shapecalc.reasoning.number_mismatch import MismatchContext, explain_number_mismatch

ShapeFix = Callable[[Shape, Shape], Iterator[tuple[str, Shape]]]
"""A function that yields changed shapes, each with a description.

The arguments are the shape of the tensor to change and the shape of the other operand. In the description, `{}` is the
placeholder for the name of the changed tensor.
"""

MAX_CHANNELS = 4096
"""The maximum number of channels of a feature map that was flattened."""
MAX_ASPECT_RATIO = 8
"""The maximum aspect ratio of an image."""


PATCH_GRID_SIDES = {side * side: side for side in (7, 14, 21, 24, 27, 28, 37)}
"""The sides of the patch grids of well-known image models, by their number of patches."""

MIN_ROUNDED_SIZE = 4
"""The minimum size for which a difference of one is explained by rounding."""


MIN_FLATTENED = 6
"""The minimum number of rows that must be merged for a missing flatten to be suggested."""


MATRIX_PRODUCTS = ("matmul", "linear")
"""The ops that multiply matrices."""


class ArgumentChange(Record):
    """A new value of one argument, which may fix a refused request."""

    name: str
    value: object
    batch_assumption: str = ""
    """The assumption under which the value applies to every batch size; empty if it applies to one only."""
    replaces_zeros: bool = False
    """Whether the value replaces zeros in the target with input dims."""
    description: str = ""
    """A description of the change, if it changes an operand; empty for other changes."""


def swap_last_axes(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape with its last two dims swapped, unless one of them is unknown."""
    known = all(isinstance(dim, int) for dim in (*shape[-2:], *other[-2:]))
    if len(shape) > 1 and shape[-1] != shape[-2] and known:
        yield "transpose {}", (*shape[:-2], shape[-1], shape[-2])


def move_channels_first(shape: Shape, _other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape with its last axis moved to index 1, after the batch axis.

    The dims between the batch axis and the last axis must be possible sides of an image.

    >>> [*move_channels_first((1, 361, 424, 3), ())][0]
    ('put the channels of {} first, NCHW for NHWC', (1, 3, 361, 424))
    """
    sides = [dim for dim in shape[1:-1] if isinstance(dim, int)]
    if len(shape) > 2 and max(sides, default=1) <= MAX_ASPECT_RATIO * min(sides, default=1):
        is_image = len(shape) == 4
        text = (
            "put the channels of {} first, NCHW for NHWC" if is_image else "move the last axis of {} behind the first"
        )
        yield text, (shape[0], shape[-1], *shape[1:-1])


def move_channels(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape with its last axis moved to index 1, or with axis 1 moved last."""
    yield from move_channels_first(shape, other)
    if len(shape) > 2:
        last = "put the channels of {} last, NHWC for NCHW"
        yield last if len(shape) == 4 else "move the second axis of {} to the end", (shape[0], *shape[2:], shape[1])


def insert_unit_dims(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape with dims of 1 inserted at an index, up to the rank of `other`."""
    for count in range(1, len(other) - len(shape) + 1):
        for axis in range(len(shape), -1, -1):
            ones = "a dim of 1" if count == 1 else f"{count} dims of 1"
            yield f"insert {ones} in {{}}", (*shape[:axis], *(1,) * count, *shape[axis:])


def drop_unit_dim(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape without one of its dims of size 1."""
    if len(shape) > len(other):
        ones = [axis for axis, dim in enumerate(shape) if dim == 1]
        yield from (("drop a 1 of {}", (*shape[:axis], *shape[axis + 1 :])) for axis in ones)


def reshape_to_other(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield `other`, or its last dims, if the element counts of the shapes are equal."""
    for start in range(len(other) - 1):
        if len(shape) < len(other) - start and product(shape) == product(other[start:]):
            yield "reshape {}", other[start:]


def flatten_last_axes(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape with its last dims flattened to a dim of `other`."""
    for start in range(1, len(shape) - 1):
        if product(shape[start:]) in other:
            yield f"flatten {{}} from axis {start} on", (*shape[:start], product(shape[start:]))


def pool_feature_map(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape after global pooling of a square feature map.

    The last dim of `shape` must be a flattened feature map, with as many channels as `other` has input features.
    """
    features = other[-2:][0] if other else 0
    side = _feature_map_side(shape[-1], features) if shape else 0
    if side:
        yield f"take the mean of each {side}x{side} map of {{}} before it is flattened", (*shape[:-1], features)


def widen_weight(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape of a weight that accepts a flattened square feature map."""
    if len(shape) == 2 and other and _feature_map_side(other[-1], shape[0]):
        yield f"let {{}} take {other[-1]} features", (other[-1], shape[1])


def fix_off_by_one(shape: Shape, other: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the shape with a dim that is off by one set to the dim of `other`.

    A well-known count of image patches is increased by one, for the class token. Any other dim is decreased by one,
    because the difference may be due to rounding.
    """
    pairs = [*zip(shape, other, strict=False)]
    longer = tuple([large if size in PATCH_GRID_SIDES and _is_one_more(large, size) else size for size, large in pairs])
    shorter = tuple(
        [small if small not in PATCH_GRID_SIDES and _is_one_more(size, small) else size for size, small in pairs]
    )
    for text, new in (
        ("give {} the class token, as a pad of 1 in front does", longer),
        ("cut {} where it is one too long, as by rounding", shorter),
    ):
        if len(shape) == len(other) and new != shape:
            yield text, new


def _feature_map_side(large: Dim, small: Dim) -> int:
    """Return the side of the square feature map that was flattened with its channels.

    `large` is the number of features and `small` the number of channels. Returns 0 if there is no such side.
    """
    if not isinstance(large, int) or not isinstance(small, int) or not 1 < small <= MAX_CHANNELS or large == small:
        return 0
    pixels, remainder = divmod(large, small)
    return isqrt(pixels) if not remainder and isqrt(pixels) ** 2 == pixels else 0


def _is_one_more(large: Dim, small: Dim) -> bool:
    return isinstance(large, int) and isinstance(small, int) and large == small + 1 > MIN_ROUNDED_SIZE


def _pair_with_input_and_operands(*shape_fixes: ShapeFix) -> tuple[tuple[str, ShapeFix], ...]:
    """Pair each shape fix with the names of the arguments that it can change."""
    return tuple([(name, way) for way in shape_fixes for name in ("operands", "input")])


SHAPE_FIXES: Mapping[str, tuple[tuple[str, ShapeFix], ...]] = {
    "broadcast": _pair_with_input_and_operands(
        reshape_to_other, insert_unit_dims, drop_unit_dim, move_channels, swap_last_axes, fix_off_by_one
    ),
    "matmul": (
        *(
            ("operands", swap_last_axes),
            ("input", swap_last_axes),
            ("input", flatten_last_axes),
            ("operands", insert_unit_dims),
        ),
        *(("operands", widen_weight), ("input", pool_feature_map)),
    ),
    "linear": (
        *(("weight", swap_last_axes), ("input", flatten_last_axes), ("input", move_channels)),
        *(("weight", widen_weight), ("input", pool_feature_map)),
    ),
    "concat": _pair_with_input_and_operands(insert_unit_dims, fix_off_by_one, move_channels, swap_last_axes),
    "stack": _pair_with_input_and_operands(drop_unit_dim, insert_unit_dims, move_channels, swap_last_axes),
    "conv": (("input", move_channels_first), ("input", insert_unit_dims)),
}
"""For each op, the functions that yield candidate fixes of an argument, in the order of the attempts."""


def propose_operand_changes(request: Request) -> Iterator[ArgumentChange]:
    """Yield changes that may make the operands of a request compatible.

    >>> from shapecalc.core.requests import make_request
    >>> change = next(propose_operand_changes(make_request("matmul", "2,3", {"operands": "4,3"})))
    >>> change.value, change.description
    ('3,4', 'transpose the second operand')
    """
    weight, channels = request.arguments.get("weight"), request.input[1:2]
    if weight and request.op == "conv" and weight[1:2] == (1,) != channels != ():
        yield ArgumentChange("groups", channels[0], description="each channel has a filter of its own")
    for name, way in SHAPE_FIXES.get(request.op, ()):
        if name == "operands":
            yield from _change_operands(request, way)
        elif name == "weight" and weight:
            for text, new in way(weight[::-1], request.input):
                yield ArgumentChange(name, new[::-1], description=text.format("the weight"))
        elif name == "input" and (other := weight or _highest_rank_operand(request.arguments.get("operands", ()))):
            for text, new in way(request.input, other[::-1] if request.op == "linear" else other):
                yield ArgumentChange(name, new, description=text.format("the input"))
    if request.op == "concat":
        yield from (
            ArgumentChange("axis", axis, description="lay them along another axis")
            for axis in range(len(request.input))[1:]
        )


def _change_operands(request: Request, shape_fix: ShapeFix) -> Iterator[ArgumentChange]:
    operands = request.arguments.get("operands", ())
    for index, shape in enumerate(operands):
        if shape == CHAIN_TENSOR:
            continue
        number = index + (CHAIN_TENSOR not in operands)
        name = "the second operand" if number == 1 else "the first operand" if not number else f"operand {number + 1}"
        for text, new in shape_fix(shape, request.input):
            shapes = [operand if isinstance(operand, str) else shape_text(operand) for operand in operands]
            shapes[index] = shape_text(new)
            yield ArgumentChange("operands", " ".join(shapes), description=text.format(name))


def _highest_rank_operand(operands: Sequence[Shape | str]) -> Shape:
    shapes = [operand for operand in operands if isinstance(operand, tuple)]
    return max(shapes, key=len) if shapes else ()


def keeps_batch(request: Request, answer: Trace) -> bool:
    """Return whether a fix keeps the batch axis.

    The batch axis is the first axis of the operand with the highest rank. A fix that prepends a dim of 1 to the input
    also keeps it. Returns False if the answer after the fix has conditions.
    """
    if answer.conditions:
        return False
    widest = _highest_rank_operand((request.input, *request.arguments.get("operands", ())))
    if len(widest) < 2 or (request.op in ("concat", "stack") and answer.request.arguments.get("axis", 0) == 0):
        return True
    if answer.output is None or (request.op == "broadcast" and len(answer.output) > len(widest)):
        return False
    return answer.output[0] == widest[0] or answer.input == (1, *request.input)


def find_size_mismatch(request: Request) -> tuple[int, int] | None:
    """Return the first pair of mismatched sizes, or None if all sizes match.

    The pair consists of the actual and the expected size.

    >>> from shapecalc.core.requests import make_request
    >>> find_size_mismatch(make_request("broadcast", "1,64,245", {"operands": "64,244"}))
    (245, 244)
    """
    shape: Shape = request.input
    weight: Shape = request.arguments.get("weight") or ()
    others = [operand for operand in request.arguments.get("operands", ()) if isinstance(operand, tuple)]
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
        concat_axis = request.arguments.get("axis", 0) % len(shape) if shape else 0
        pairs = [pair for axis, pair in enumerate(zip(shape, other, strict=True)) if axis != concat_axis]
    for actual, expected in pairs:
        if actual != expected and 1 not in (actual, expected) and isinstance(actual, int) and isinstance(expected, int):
            return actual, expected
    return None


def find_missing_flatten(request: Request) -> str:
    """Return an equation that suggests a missing flatten before a matrix product.

    Returns an empty string if there is none.

    >>> from shapecalc.core.requests import make_request
    >>> find_missing_flatten(make_request("matmul", "14336,7", {"operands": "3136,10"}))
    '14336*7 = 32*3136: 32 rows of 3136, so a flatten may be missing'
    """
    pair = find_size_mismatch(request)
    rows = request.input[:-1] if request.op in MATRIX_PRODUCTS else ()
    if pair is None or len(rows) != 1 or not isinstance(rows[0], int) or min(pair) < 2:
        return ""
    actual, expected = pair
    count, rest = divmod(rows[0] * actual, expected)
    if not count or rest or expected % actual or expected // actual < MIN_FLATTENED:
        return ""
    equation = truncate(f"{rows[0]}*{actual} = {count}*{expected}")
    return f"{equation}: {count} rows of {expected}, so a flatten may be missing"


def explain_mismatch(request: Request) -> str:
    """Explain the mismatched sizes of two operands, or describe their difference.

    Returns an empty string if all sizes match.

    >>> from shapecalc.core.requests import make_request
    >>> explain_mismatch(make_request("matmul", "512,2304", {"operands": "256,4"}))
    '2304 = 256*3*3: would be 256 channels of a 3x3 map that was flattened'
    """
    pair = find_size_mismatch(request)
    if pair is None:
        return ""
    is_features = request.op in (*MATRIX_PRODUCTS, "conv")
    context = MismatchContext(is_loader_independent=request.op == "concat", is_features=is_features)
    found = explain_number_mismatch(pair, context)[:1]
    large, small = max(pair), max(1, min(pair))
    plain = f"{large} is {large - small} more than {small}" if large < 2 * small else ""
    if large % small == 0:
        plain = f"{large} = {large // small}*{small}"
    return find_missing_flatten(request) or (f"{found[0].arithmetic}: {found[0].text}" if found else plain)


def explain_count(request: Request) -> str:
    """Explain an element count by a rounded feature map or by grouped heads.

    Returns an empty string if neither explains it.

    >>> from shapecalc.core.requests import make_request
    >>> explain_count(make_request("reshape", "8,8475", {"target": "8,1,112,74"})).partition(": ")[0]
    '67800 = 8*113*75'
    """
    count, target = product(request.input), request.arguments.get("target", ())
    if not isinstance(count, int) or len(target) < 2 or not all(isinstance(dim, int) and dim > 0 for dim in target):
        return ""
    found = explain_number_mismatch((count,), MismatchContext(target=tuple(target)))[:1]
    return "".join(f"{first.arithmetic}: {first.text}" for first in found if first.kind in ("rounding", "heads"))
