"""What is known of each tensor while a model is walked in numbers, at several sizes in step.

What is kept of a tensor is kept for each lane, in the order of `Walk.lanes`. The lists of a walk go by the tensors'
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from shapecalc.models.batch_axis import Shapes, Sizes
from shapecalc.models.file import ABSENT, Constant, Declared, Model, Node, elements
from shapecalc.models.free_dims import InputChoice

T = TypeVar("T")
Values = tuple[Any, ...]
"""A small tensor in each lane, as a NumPy array; None where nobody knows its elements."""
Failures = tuple[str | None, ...]
"""Why a node fails in each lane; None where it runs."""
NO_SHAPE, FROM_DATA = "no shape", "size from data"


class Walk:
    """What is known so far; it grows while the walk goes on."""

    def __init__(self, model: Model, choice: InputChoice) -> None:
        """Put down the inputs and the constants of a model."""
        self.model, self.choice, self.lanes = model, choice, choice.lanes
        self.inputs, self.batch, self.declared_batch = choice.inputs, choice.batch, choice.declared
        lanes = self.lanes
        self.judged = [place for place, lane in enumerate(lanes) if lane.judged]
        """The lanes that verdicts look at."""
        self.unknown: Values = (None,) * len(lanes)
        self.shapes: list[Shapes | None] = [None] * len(model.names)
        """The shape of each tensor; None if it is known in no lane, and before its node was passed."""
        self.dtypes = [0] * len(model.names)
        """The element type of each tensor by ONNX's number; 0 if it is not known."""
        self.values: dict[int, Values] = {}
        """The elements of small tensors; a tensor that is not in it has no known elements."""
        self.origins: dict[int, str] = {}
        """Where elements come from: `initializer`, `Constant`, `folded` (computed from these), `external`.

        A tensor that is not in it has elements that were computed from shapes."""
        self.whys: dict[int, str] = {}
        """Why a tensor's shape is not known in some lane."""
        self.constants: dict[int, Constant] = {}
        self.others: dict[int, tuple[bytes | None, ...]] = {}
        """The types of what is no tensor (sequences, optionals), as messages."""
        self.live: tuple[bool, ...] | None = None
        """In which lanes the nodes at hand run, inside of an If that is decided; None if in all."""
        self._declare(model.inputs)
        self.fill(model.graph.constants)

    def _declare(self, inputs: Sequence[Declared]) -> None:
        for each, dims in zip(inputs, self.inputs, strict=True):
            self.dtypes[each.tensor] = each.dtype
            if dims is None or None in dims:
                self.whys[each.tensor] = f"{NO_SHAPE}: an input is declared without one"
                continue
            shapes = [tuple([lane.sizes[dim] if isinstance(dim, str) else dim for dim in dims]) for lane in self.lanes]
            self.shapes[each.tensor] = tuple(shapes)  # type: ignore[arg-type]  # no dim is None

    def fill(self, constants: Sequence[Constant]) -> None:
        """Put down the initializers of a graph; their elements are read once somebody asks."""
        for each in constants:
            proto, number = each.proto, each.tensor
            self.constants[number] = each
            self.dtypes[number] = proto.data_type
            self.shapes[number] = (tuple(proto.dims),) * len(self.lanes)

    def shapes_of(self, number: int) -> Shapes:
        """Return the shape of a tensor in each lane."""
        return self.shapes[number] or self.unknown

    def known(self, number: int) -> Values | None:
        """Return the elements of a small tensor in each lane; None if they are known in none."""
        found = self.values.get(number)
        if found is None:
            constant = self.constants.get(number)
            if constant is None:
                return None
            external = constant.external
            made = None if external else elements(constant.proto)
            self.origins[number] = "external" if external else "initializer"
            found = self.values[number] = self.unknown if made is None else (made,) * len(self.lanes)
        return None if found is self.unknown else found

    def is_written(self, number: int) -> bool:
        """Say whether the elements of a tensor are written in the model, or computed from such alone."""
        return self.origins.get(number) in ("initializer", "Constant", "folded")

    def alive(self, lanes: tuple[T | None, ...]) -> tuple[T | None, ...]:
        """Return what there is in each lane; None in those in which nothing runs now."""
        if self.live is None:
            return lanes
        return tuple([each if live else None for each, live in zip(lanes, self.live, strict=True)])

    def put(self, number: int, shapes: Shapes | None, dtype: int, why: str = "") -> None:
        """Put down the shape of a tensor in each lane."""
        if number == ABSENT:
            return
        shapes = shapes and self.alive(shapes)
        if shapes is None or None in shapes:
            if why:
                self.whys[number] = why
            if shapes == self.unknown:
                shapes = None
        self.shapes[number] = shapes
        self.dtypes[number] = dtype

    def put_unknown(self, node: Node, why: str) -> None:
        """Put down that nothing is known of the outputs of a node."""
        for number in node.outputs:
            self.put(number, None, 0, why)

    def put_values(self, number: int, arrays: Sequence[Any], dtype: int, shapes: Shapes | None = None) -> None:
        """Put down the elements of a tensor in each lane, and with them its shape.

        `shapes` are those of the lanes in which the elements are not known.
        """
        if number == ABSENT:
            return
        found = [None if array is None else array.shape for array in arrays]
        if shapes is not None:
            found = [shape if own is None else own for own, shape in zip(found, shapes, strict=True)]
        self.values[number] = self.alive(tuple(arrays))
        self.put(number, tuple(found), dtype)

    def lacks(self, lanes: Sequence[Any]) -> bool:
        """Say whether something is not known in a judged lane."""
        return None in lanes and None in lanes[: len(self.judged)]

    def why_unknown(self, node: Node) -> str:
        """Return why the shape of a node's output is not known."""
        for number in node.inputs:
            if number and self.lacks(self.shapes_of(number)):
                return self.whys.get(number, NO_SHAPE)
        return f"{FROM_DATA}: {node.op} {node.name or node.path} above it"


def same_in_all(lanes: Sequence[Any]) -> bool:
    """Say whether all lanes hold the same value, so that it is enough to look at one."""
    first = lanes[0]
    for each in lanes:
        if each is not first:
            return False
    return first is not None


def broadcast(shapes: Sequence[Sizes]) -> Sizes | str:
    """Return the shape that shapes broadcast to, or why they do not.

    >>> broadcast([(2, 1), (3,)]), broadcast([(2,), (3,)])
    ((2, 3), '2 and 3 do not broadcast')
    """
    rank = max(map(len, shapes))
    sizes = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            have = sizes[axis]
            if have == 1:
                sizes[axis] = size
            elif size not in (1, have):
                return f"{have} and {size} do not broadcast"
    return tuple(sizes)
