"""The state of a walk: the type, shape and elements of each tensor.

A size assignment (`Lane`) gives a size to each free dim of a model, and a walk computes the shapes of all tensors for
all size assignments. Tuples with one entry per size assignment are in the order of `WalkState.lanes`. `number` is
always a tensor number, which identifies a tensor in the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from shapecalc.core.dims import IntTuple
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import ABSENT, Initializer, Model, Node, ValueInfo, parse_elements
from shapecalc.models.free_dims import InputChoice

T = TypeVar("T")
LaneValues = tuple[Any, ...]
"""The elements of a small tensor for each size assignment, as NumPy arrays; unknown elements are None."""
LaneFailures = tuple[str | None, ...]
"""The error message of a node for each size assignment, or None if the node runs."""
NO_SHAPE, SIZE_FROM_DATA = "no shape", "size from data"


class WalkState:
    """The types, shapes and elements of the tensors that a walk has computed so far."""

    def __init__(self, model: Model, choice: InputChoice) -> None:
        """Record the inputs and initializers of a model.

        `choice` determines the size assignments.
        """
        self.model, self.choice, self.lanes = model, choice, choice.lanes
        self.inputs, self.batch, self.declared_batch = choice.inputs, choice.batch, choice.declared_batch
        lanes = self.lanes
        self.judged_lanes = [place for place, lane in enumerate(lanes) if lane.judged]
        """The indices of the size assignments on which verdicts are based."""
        self.all_unknown: LaneValues = (None,) * len(lanes)
        self.shapes: list[LaneShapes | None] = [None] * len(model.names)
        """The shapes of each tensor for each size assignment, indexed by tensor number.

        The entry is None if the shapes are unknown for all size assignments, or not yet computed.
        """
        self.dtypes = [0] * len(model.names)
        """The ONNX element type number of each tensor, indexed by tensor number, or 0 if unknown."""
        self.values: dict[int, LaneValues] = {}
        """The elements of small tensors, by tensor number."""
        self.origins: dict[int, str] = {}
        """The source of the elements of each tensor: `initializer`, `Constant`, `folded` or `external`.

        The key is the tensor number. Folded elements are computed from constants. Elements without an entry are
        computed from shapes.
        """
        self.unknown_reasons: dict[int, str] = {}
        """The reason why the shape of a tensor is unknown for some size assignment, by tensor number."""
        self.initializers: dict[int, Initializer] = {}
        self.non_tensor_types: dict[int, tuple[bytes | None, ...]] = {}
        """The serialized TypeProtos of each non-tensor, such as a sequence, by tensor number."""
        self.running_lanes: tuple[bool, ...] | None = None
        """For each size assignment, whether the current branch of an If may run.

        It is None outside of branches.
        """
        self._record_inputs(model.inputs)
        self.add_initializers(model.graph.initializers)

    def _record_inputs(self, inputs: Sequence[ValueInfo]) -> None:
        for declared, dims in zip(inputs, self.inputs, strict=True):
            self.dtypes[declared.tensor] = declared.dtype
            if dims is None or None in dims:
                self.unknown_reasons[declared.tensor] = f"{NO_SHAPE}: an input is declared without one"
                continue
            shapes = [tuple([lane.sizes[dim] if isinstance(dim, str) else dim for dim in dims]) for lane in self.lanes]
            self.shapes[declared.tensor] = tuple(shapes)  # type: ignore[arg-type]  # no dim is None

    def add_initializers(self, initializers: Sequence[Initializer]) -> None:
        """Record the initializers of a graph.

        Their elements are parsed later, by `elements_of`.
        """
        for constant in initializers:
            proto, number = constant.proto, constant.tensor
            self.initializers[number] = constant
            self.dtypes[number] = proto.data_type
            self.shapes[number] = (tuple(proto.dims),) * len(self.lanes)

    def shapes_of(self, number: int) -> LaneShapes:
        """Return the shape of a tensor for each size assignment."""
        return self.shapes[number] or self.all_unknown

    def elements_of(self, number: int) -> LaneValues | None:
        """Return the elements of a tensor for each size assignment.

        Returns None if the elements are unknown or too many.
        """
        values = self.values.get(number)
        if values is None:
            constant = self.initializers.get(number)
            if constant is None:
                return None
            external = constant.is_external
            array = None if external else parse_elements(constant.proto)
            self.origins[number] = "external" if external else "initializer"
            values = self.values[number] = self.all_unknown if array is None else (array,) * len(self.lanes)
        return None if values is self.all_unknown else values

    def is_constant(self, number: int) -> bool:
        """Return whether a tensor is constant, or computed only from constants."""
        return self.origins.get(number) in ("initializer", "Constant", "folded")

    def mask_skipped_lanes(self, values: tuple[T | None, ...]) -> tuple[T | None, ...]:
        """Replace values by None for the size assignments for which the current branch is skipped."""
        if self.running_lanes is None:
            return values
        return tuple([value if live else None for value, live in zip(values, self.running_lanes, strict=True)])

    def set_shape(self, number: int, shapes: LaneShapes | None, dtype: int, reason: str = "") -> None:
        """Record the shape of a tensor for each size assignment, and its element type.

        `reason` is the reason why the shape is unknown for some size assignment.
        """
        if number == ABSENT:
            return
        shapes = shapes and self.mask_skipped_lanes(shapes)
        if shapes is None or None in shapes:
            if reason:
                self.unknown_reasons[number] = reason
            if shapes == self.all_unknown:
                shapes = None
        self.shapes[number] = shapes
        self.dtypes[number] = dtype

    def set_outputs_unknown(self, node: Node, reason: str) -> None:
        """Record the outputs of a node as unknown."""
        for number in node.outputs:
            self.set_shape(number, None, 0, reason)

    def set_elements(self, number: int, arrays: Sequence[Any], dtype: int, shapes: LaneShapes | None = None) -> None:
        """Record the elements, the dtype and the shape of a tensor.

        `arrays` contains the elements for each size assignment. `shapes` contains the shape for each size assignment;
        it is used only if the elements are unknown.
        """
        if number == ABSENT:
            return
        known = [None if array is None else array.shape for array in arrays]
        if shapes is not None:
            known = [shape if own is None else own for own, shape in zip(known, shapes, strict=True)]
        self.values[number] = self.mask_skipped_lanes(tuple(arrays))
        self.set_shape(number, tuple(known), dtype)

    def has_unknown_value(self, values: Sequence[Any]) -> bool:
        """Return whether a value is None for some checked size assignment."""
        return None in values and None in values[: len(self.judged_lanes)]

    def unknown_reason(self, node: Node) -> str:
        """Return the reason why the output shapes of a node are unknown."""
        for number in node.inputs:
            if number and self.has_unknown_value(self.shapes_of(number)):
                return self.unknown_reasons.get(number, NO_SHAPE)
        return f"{SIZE_FROM_DATA}: {node.op} {node.name or node.path} above it"


def is_same_in_all_lanes(values: Sequence[Any]) -> bool:
    """Return whether all size assignments have the same object, which is not None."""
    first = values[0]
    for value in values:
        if value is not first:
            return False
    return first is not None


def broadcast_shapes(shapes: Sequence[IntTuple]) -> IntTuple | str:
    """Broadcast shapes, or return an error message if they are incompatible.

    >>> broadcast_shapes([(2, 1), (3,)]), broadcast_shapes([(2,), (3,)])
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
