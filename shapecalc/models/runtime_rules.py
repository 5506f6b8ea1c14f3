"""Sizes that inputs of a node must share: ONNX's inference does not refuse others, or does not say in which input."""

from __future__ import annotations

from shapecalc.core.text import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from typing import Any

    from shapecalc.models.model import Node
    from shapecalc.models.walk import Sizes

    Attributes = Mapping[str, Any]
    Shapes = Sequence[Sizes | None]
    Rule = Callable[[Node, Shapes, Container[int]], str | None]
    """Called with a node, the shapes of its inputs and the numbers of initializers; returns why it is refused."""
    Places = list[tuple[str, int, int]]
    """The inputs that share a batch: name, place and the axis of the batch; the first is the data."""
    Partners = tuple[tuple[int, int], tuple[int, int], int]
    """The place of an input and an axis of it, those of another, and how often the second size is in the first."""

STATES = (("sequence_lens", 4, 0), ("initial_h", 5, 1), ("initial_c", 6, 1))
"""The other inputs of recurrent operators that have a batch: name, place, and its axis unless `layout` has it first."""


def size_refusal(node: Node, kinds: Sequence[Any], constants: Container[int]) -> str | None:
    """Return why a runtime refuses a node with inputs of these types and shapes; None if nothing here says so.

    `constants` are the numbers of the tensors that are initializers.
    """
    rule = None if node.domain else RULES.get(node.op)
    return rule and rule(node, [kind[1] if isinstance(kind, tuple) else None for kind in kinds], constants)


def _joined(node: Node, shapes: Shapes, constants: Container[int]) -> str | None:
    """Return in which two inputs that are joined an axis has different sizes."""
    along = node.attributes.get("axis", 1)
    axis = _apart(shapes, along) if isinstance(along, int) else None
    if axis is None:
        return None
    first = next(place for place, shape in enumerate(shapes) if shape is not None)
    sizes = [None if shape is None else shape[axis] for shape in shapes]
    other = next(place for place, size in enumerate(sizes) if size not in (None, sizes[first]))
    named = []
    for place in (first, other):
        kind = "the constant " if node.inputs[place] in constants else ""
        named.append(f"{sizes[place]} in {kind}{brief(node.proto.input[place])}")
    return f"dim {axis} is {' and '.join(named)}"


def _apart(shapes: Shapes, along: int) -> int | None:
    """Return the first axis, beside that along which inputs are joined, on which they have different sizes.

    >>> _apart([(1, 2), (3, 2)], 1), _apart([(1, 2), (1, 4)], -1), _apart([(1, 2), None], 1)
    (0, None, None)
    """
    known = [shape for shape in shapes if shape is not None]
    if len({*map(len, known)}) != 1 or not -len(known[0]) <= along < len(known[0]):
        return None
    apart = [axis for axis, sizes in enumerate(zip(*known, strict=True)) if len({*sizes}) > 1]
    return next((axis for axis in apart if axis != along % len(known[0])), None)


def _gathered(node: Node, shapes: Shapes, _: Container[int]) -> str | None:
    return _outside(shapes[0], shapes[1], node.attributes.get("axis", 0)) if len(shapes) > 1 else None


def _outside(data: Sizes | None, indices: Sizes | None, axis: int) -> str | None:
    """Return why indices do not lie inside of what they gather from: they may be longer along the axis alone.

    >>> _outside((1, 8), (2, 3), 1), _outside((2, 8), (2, 9), -1)
    ('indices have 2 on axis 0, and data 1', None)
    """
    if data is None or indices is None or len(data) != len(indices):
        return None
    for place, (size, held) in enumerate(zip(indices, data, strict=True)):
        if size > held and place != axis % len(data):
            return f"indices have {size} on axis {place}, and data {held}"
    return None


def _sharing(places_of: Callable[[Attributes], Places]) -> Rule:
    """Return the rule of an operator whose inputs share a batch."""

    def rule(node: Node, shapes: Shapes, _: Container[int]) -> str | None:
        found: dict[str, int] = {}
        for name, place, axis in places_of(node.attributes):
            shape = shapes[place] if place < len(shapes) else None
            if shape is not None and axis < len(shape):
                found[name] = shape[axis]
        batch = found.get("X")
        for name, size in found.items():
            if batch is not None and size != batch:
                return f"{name} has a batch of {size}, and X one of {batch}"
        return None

    return rule


def _recurrent(attributes: Attributes) -> Places:
    first = bool(attributes.get("layout", 0))
    return [("X", 0, 0 if first else 1), *[(name, at, 0 if first else axis) for name, at, axis in STATES]]


def _sampled(_: Attributes) -> Places:
    return [("X", 0, 0), ("grid", 1, 0)]


def _matching(partners_of: Callable[[Attributes], Partners]) -> Rule:
    """Return the rule of an operator that takes one axis of an input with one of another."""

    def rule(node: Node, shapes: Shapes, _: Container[int]) -> str | None:
        (first, axis), (second, other), times = partners_of(node.attributes)
        one, two = (shapes[place] if place < len(shapes) else None for place in (first, second))
        if one is None or two is None or axis >= len(one) or other >= len(two) or one[axis] == two[other] * times:
            return None
        names = [brief(node.proto.input[place]) for place in (first, second)]
        taken = f"{two[other]}*{times}" if times != 1 else two[other]
        return f"axis {axis} of {names[0]} is {one[axis]}, and {names[1]} takes {taken}"

    return rule


def _multiplied(attributes: Attributes) -> Partners:
    return (0, 0 if attributes.get("transA") else 1), (1, 1 if attributes.get("transB") else 0), 1


def _convolved(attributes: Attributes) -> Partners:
    return (0, 1), (1, 1), attributes.get("group", 1)


def _channels(_: Attributes) -> Partners:
    return (0, 1), (1, 0), 1


RULES: dict[str, Rule] = {
    "Concat": _joined,
    "GatherElements": _gathered,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _sharing(_recurrent)),
    "GridSample": _sharing(_sampled),
    "Gemm": _matching(_multiplied),
    "Conv": _matching(_convolved),
    **dict.fromkeys(("ConvTranspose", "BatchNormalization"), _matching(_channels)),
}
"""The rules by operator."""
