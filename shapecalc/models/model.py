"""A model as it is read: nodes, tensors by their numbers, declared inputs; payloads of weights stay in the file.

Names are unique in a graph, not in a model: the two branches of an If may use the same ones, and so does a local
function each time it is called. So every tensor has a number of its own, in bodies and in each call too.
"""

from __future__ import annotations

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

EXTERNAL = 1
"""The place of a tensor's elements that is another file. Source: TensorProto.DataLocation in onnx.proto."""
ABSENT = 0
"""The number of the tensor that stands for an optional input or output that is left out; its name is empty."""
UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised where a node is not written as ONNX describes it; of its outputs nothing is known then."""


class Declared(Record):
    """An input or an output of the model, as the file declares it."""

    tensor: int
    name: str
    dtype: int
    """The element type by ONNX's number; 0 if it is not told, or if this is no tensor."""
    dims: tuple[int | str | None, ...] | None
    """The dims: a number, a name as written (it may be no name for core), None for a dim not told. None without a
    shape."""


class Constant(Record):
    """An initializer of a graph."""

    tensor: int
    proto: Any
    """The TensorProto. It has no elements if they were dropped or lie in another file."""

    @property
    def dtype(self) -> int:
        """The element type by ONNX's number."""
        return int(self.proto.data_type)

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.proto.dims)

    @property
    def external(self) -> bool:
        """Whether the elements lie in another file, which reading and walking never open."""
        return bool(self.proto.data_location == EXTERNAL)


class Body(Record):
    """A graph: that of the model, of an If or a Loop, or a local function's in one call."""

    name: str
    """Empty for the model's graph; the attribute's name (`then_branch`, `body`), or `@NAME` for a function's."""
    inputs: tuple[int, ...]
    """Its formal inputs. An If's branches have none: what they use of outside has the outside's numbers."""
    outputs: tuple[int, ...]
    nodes: tuple[Node, ...]
    constants: tuple[Constant, ...]


class Node(Record):
    """One node, with its tensors by number."""

    path: str
    """Where it is: `18`, `7/then_branch/3`, in calls of functions `7/@NAME/3`."""
    op: str
    domain: str
    """Empty for ONNX's own operators, however it was written."""
    opset: int
    """The opset of its domain in force here (a function brings its own); 0 if the model imports none."""
    inputs: tuple[int, ...]
    """`ABSENT` stands where an optional one is left out."""
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any]
    """Whole numbers, floats, texts as bytes, tuples of these; a TensorProto for a tensor; graphs are in `bodies`."""
    bodies: tuple[Body, ...]
    """The graphs of an If, Loop or Scan in the order of the attributes, or the one body of a called function."""
    proto: Any
    """The NodeProto in `Model.proto`, the same one for all calls of a function, unless the call gives it attributes."""

    def __init__(
        self,
        path: str,
        op: str,
        domain: str,
        opset: int,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        attributes: Mapping[str, Any],
        bodies: tuple[Body, ...],
        proto: Any,
    ) -> None:
        """Set the fields; models have many nodes, and this is the fastest way."""
        self._path, self._op, self._domain, self._opset = path, op, domain, opset
        self._inputs, self._outputs, self._attributes = inputs, outputs, attributes
        self._bodies, self._proto = bodies, proto

    @property
    def name(self) -> str:
        """The name as the file has it, often empty."""
        return str(self.proto.name)

    @property
    def reads(self) -> list[int]:
        """The tensors that it is computed from: its inputs, and what its bodies hand out."""
        read = [*self.inputs, *[tensor for body in self.bodies for tensor in body.outputs]]
        return [tensor for tensor in read if tensor != ABSENT]


class Model(Record):
    """A model that was read."""

    path: Path
    opset: Mapping[str, int]
    """The opset by domain; ONNX's own domain is `ai.onnx`."""
    names: tuple[str, ...]
    """The tensors' names by number; not unique, see above."""
    inputs: tuple[Declared, ...]
    """The inputs without an initializer, in file order."""
    outputs: tuple[Declared, ...]
    graph: Body
    proto: Any
    """The ModelProto, without the payloads that were dropped: `payloads.with_payloads` puts them back."""
    payloads: Mapping[int, Payload]
    """What was dropped, by its mark."""


class Payload(Record):
    """Bytes of a tensor that were left in the file: one or more whole fields of its TensorProto, tags included."""

    start: int
    end: int


def nodes_in(bodies: Iterable[Body]) -> Iterator[Node]:
    """Yield all nodes of bodies, and of the bodies in them."""
    left = [*bodies]
    while left:
        for node in left.pop().nodes:
            yield node
            left += node.bodies
