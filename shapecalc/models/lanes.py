"""The state of a walk: the type, shape and elements of each tensor in each lane.

Entries per lane are in the order of `WalkState.lanes`. Lists are indexed by the number of a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from shapecalc.models.batch_axis import Shapes, Sizes
from shapecalc.models.file import ABSENT, Constant, Declared, Model, Node, elements
from shapecalc.models.free_dims import InputChoice

T = TypeVar("T")
Values = tuple[Any, ...]
"""A small tensor in each lane, as a NumPy array; None where its elements are unknown."""
Failures = tuple[str | None, ...]
"""Why a node fails in each lane; None where it runs."""
NO_SHAPE, FROM_DATA = "no shape", "size from data"


class Walk:
    """The properties of all tensors that the walk has reached."""

    def __init__(self, model: Model, choice: InputChoice) -> None:
        """Record the inputs and the initializers of a model."""
        self.model, self.choice, self.lanes = model, choice, choice.lanes
        self.inputs, self.batch, self.declared_batch = choice.inputs, choice.batch, choice.declared
        lanes = self.lanes
        self.judged = [place for place, lane in enumerate(lanes) if lane.judged]
        """The indices of the lanes that verdicts are based on."""
        self.unknown: Values = (None,) * len(lanes)
        self.shapes: list[Shapes | None] = [None] * len(model.names)
        """The shape of each tensor; None if it is unknown in all lanes, or not reached yet."""
        self.dtypes = [0] * len(model.names)
        """The element type of each tensor as an ONNX number; 0 if unknown."""
        self.values: dict[int, Values] = {}
        """The elements of small tensors; other tensors have no entry."""
        self.origins: dict[int, str] = {}
        """The source of elements: `initializer`, `Constant`, `folded` (computed from these) or `external`.

        A tensor without an entry has elements that were computed from shapes.
        """
        self.whys: dict[int, str] = {}
        """Why the shape of a tensor is unknown in some lane."""
        self.constants: dict[int, Constant] = {}
        self.others: dict[int, tuple[bytes | None, ...]] = {}
        """The serialized TypeProto of non-tensors (sequences, optionals), by lane."""
        self.live: tuple[bool, ...] | None = None
        """The lanes in which the current nodes run, inside an If with a known condition; None for all."""
        self._declare(model.inputs)
        self.fill(model.graph.constants)

    def _declare(self, inputs: Sequence[Declared]) -> None:
        for declared, dims in zip(inputs, self.inputs, strict=True):
            self.dtypes[declared.tensor] = declared.dtype
            if dims is None or None in dims:
                self.whys[declared.tensor] = f"{NO_SHAPE}: an input is declared without one"
                continue
            shapes = [tuple([lane.sizes[dim] if isinstance(dim, str) else dim for dim in dims]) for lane in self.lanes]
            self.shapes[declared.tensor] = tuple(shapes)  # type: ignore[arg-type]  # no dim is None

    def fill(self, constants: Sequence[Constant]) -> None:
        """Record the initializers of a graph; their elements are parsed at first use."""
        for constant in constants:
            proto, number = constant.proto, constant.tensor
            self.constants[number] = constant
            self.dtypes[number] = proto.data_type
            self.shapes[number] = (tuple(proto.dims),) * len(self.lanes)

    def shapes_of(self, number: int) -> Shapes:
        """Return the shape of a tensor in each lane."""
        return self.shapes[number] or self.unknown

    def known(self, number: int) -> Values | None:
        """Return the elements of a small tensor in each lane; None if all are unknown."""
        values = self.values.get(number)
        if values is None:
            constant = self.constants.get(number)
            if constant is None:
                return None
            external = constant.external
            array = None if external else elements(constant.proto)
            self.origins[number] = "external" if external else "initializer"
            values = self.values[number] = self.unknown if array is None else (array,) * len(self.lanes)
        return None if values is self.unknown else values

    def is_written(self, number: int) -> bool:
        """Return whether the elements of a tensor are constants of the model, or folded."""
        return self.origins.get(number) in ("initializer", "Constant", "folded")

    def alive(self, lanes: tuple[T | None, ...]) -> tuple[T | None, ...]:
        """Return values per lane, with None in lanes where the current nodes do not run."""
        if self.live is None:
            return lanes
        return tuple([value if live else None for value, live in zip(lanes, self.live, strict=True)])

    def put(self, number: int, shapes: Shapes | None, dtype: int, why: str = "") -> None:
        """Record the shape and the element type of a tensor.

        `reason` is the reason if the shape is unknown in some lane.
        """
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
        """Record that the outputs of a node are unknown, with the reason."""
        for number in node.outputs:
            self.put(number, None, 0, why)

    def put_values(self, number: int, arrays: Sequence[Any], dtype: int, shapes: Shapes | None = None) -> None:
        """Record the elements of a tensor in each lane, and its shape.

        `shapes` holds the shapes of the lanes where the elements are unknown.
        """
        if number == ABSENT:
            return
        known = [None if array is None else array.shape for array in arrays]
        if shapes is not None:
            known = [shape if own is None else own for own, shape in zip(known, shapes, strict=True)]
        self.values[number] = self.alive(tuple(arrays))
        self.put(number, tuple(known), dtype)

    def lacks(self, lanes: Sequence[Any]) -> bool:
        """Return whether a value is unknown in a judged lane."""
        return None in lanes and None in lanes[: len(self.judged)]

    def why_unknown(self, node: Node) -> str:
        """Return why the output shape of a node is unknown."""
        for number in node.inputs:
            if number and self.lacks(self.shapes_of(number)):
                return self.whys.get(number, NO_SHAPE)
        return f"{FROM_DATA}: {node.op} {node.name or node.path} above it"


def same_in_all(lanes: Sequence[Any]) -> bool:
    """Return whether all lanes hold the same known object."""
    first = lanes[0]
    for value in lanes:
        if value is not first:
            return False
    return first is not None


def broadcast(shapes: Sequence[Sizes]) -> Sizes | str:
    """Return the shape that shapes broadcast to, or the reason if they do not.

    >>> broadcast([(2, 1), (3,)]), broadcast([(2,), (3,)])
    ((2, 3), '2 and 3 do not broadcast')
    """
    rank = max(map(len, shapes))
    sizes = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            current = sizes[axis]
            if current == 1:
                sizes[axis] = size
            elif size not in (1, current):
                return f"{current} and {size} do not broadcast"
    return tuple(sizes)
