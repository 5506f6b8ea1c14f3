"""Editing: a node's argument in a model's message, put there as a constant or computed from an input's shape.

A new constant is a node of its own, so nobody else who reads the old one is touched; the old one goes if nobody does.
"""

from __future__ import annotations

from collections import Counter

from shapecalc.models.reading import onnx_messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from shapecalc.models.report import Fix

INT64 = 7
SEPARATE_INITIALIZERS = 4
"""The version of the file format since which an initializer need not be an input."""
INT, TENSOR, INTS = 2, 4, 7
"""The kinds of attributes that are written, by ONNX's numbers."""
AS_ATTRIBUTE = {"Reshape": ("shape", 5), "Flatten": ("axis", None), "Tile": ("", 6)}
"""The operators that have their argument as an attribute: its name, and the opset up to which; None if always."""


class Editor:
    """A model's message while nodes in it get new arguments."""

    def __init__(self, proto: Any) -> None:
        """Begin with a message that may be changed."""
        self.proto = proto
        self._messages = onnx_messages()
        self._read = Counter(_names_read(proto))
        self._held: dict[int, dict[str, Any]] = {}
        self.inserted: set[str] = set()
        """The names of the nodes that were put in."""
        self._taken = {*self._read, *_names_made(proto)}

    def node_at(self, path: str) -> tuple[Any, Any]:
        """Return the graph or function that a node is in, and the node, by its path."""
        index, *rest = path.split("/")
        graph = self.proto.graph
        node = graph.node[int(index)]
        for name, index in zip(rest[::2], rest[1::2], strict=True):
            if name.startswith("@"):
                graph = next(each for each in self.proto.functions if _calls(node, each) and each.name == name[1:])
            else:
                graph = next(each.g for each in node.attribute if each.name == name and each.HasField("g"))
            node = graph.node[int(index)]
        return graph, node

    def set_argument(self, graph: Any, node: Any, opset: int, fix: Fix) -> None:
        """Give a node of a graph the constant argument of a fix."""
        assert fix.target is not None
        attribute, before = AS_ATTRIBUTE.get(node.op_type, ("", 0))
        if attribute and (before is None or opset < before):
            _set_attribute(node, attribute, fix.target[0] if node.op_type == "Flatten" else fix.target)
        else:
            self._point(graph, node, self._target(graph, node, fix.target))
        if fix.allowzero is False:
            _remove(node.attribute, lambda each: each.name == "allowzero")

    def compute_argument(self, graph: Any, node: Any, rank: int, place: int, source: str, axis: int) -> None:
        """Let one entry of a node's argument, which has `rank` of them, be the size of an axis of a tensor `source`."""
        old = node.input[1]
        shape = self._node("Shape", [source], f"{old}_sizes")
        at = self._constant((axis,), f"{old}_axis")
        size = self._node("Gather", [shape.output[0], at.output[0]], f"{old}_batch")
        kept = [self._picked(old, places) if places else [] for places in (range(place), range(place + 1, rank))]
        parts = [each[-1].output[0] for each in (kept[0], [size], kept[1]) if each]
        joined = self._node("Concat", parts, f"{old}_mended")
        _set_attribute(joined, "axis", 0)
        self._insert(graph, node, [shape, at, size, *kept[0], *kept[1], joined])
        node.input[1] = joined.output[0]

    def _picked(self, name: str, places: Sequence[int]) -> list[Any]:
        """Return the nodes that take some entries of a tensor."""
        indices = self._constant(places, f"{name}_places")
        return [indices, self._node("Gather", [name, indices.output[0]], f"{name}_kept")]

    def _target(self, graph: Any, node: Any, target: Sequence[int]) -> str:
        """Return the name of a new constant in a graph: an initializer where it can have one."""
        old = node.input[1]
        held = self._initializers(graph).get(old)
        if held is not None and self._read[old] == 1 and list(held.dims) == [len(target)]:
            held.CopyFrom(self._tensor(old, target))
            return str(old)
        name = self._free(f"{old}_mended")
        if self.proto.ir_version < SEPARATE_INITIALIZERS or not hasattr(graph, "initializer"):
            made = self._constant(target, name)
            self._insert(graph, node, [made])
            return str(made.output[0])
        graph.initializer.append(self._tensor(name, target))
        return name

    def _initializers(self, graph: Any) -> dict[str, Any]:
        if id(graph) not in self._held:
            self._held[id(graph)] = {each.name: each for each in getattr(graph, "initializer", ())}
        return self._held[id(graph)]

    def _point(self, graph: Any, node: Any, name: str) -> None:
        """Let a node read another argument; drop the initializer that it read if nobody else does."""
        old = node.input[1]
        if old == name:
            return
        node.input[1] = name
        self._read[old] -= 1
        if not self._read[old] and all(each.name != old for each in self.proto.graph.input):
            _remove(getattr(graph, "initializer", []), lambda each: each.name == old)

    def _free(self, name: str) -> str:
        """Return a name that no tensor has, made of another."""
        found, count = name, 1
        while found in self._taken:
            count += 1
            found = f"{name}_{count}"
        self._taken.add(found)
        return found

    def _insert(self, graph: Any, node: Any, made: Sequence[Any]) -> None:
        at = next(index for index, each in enumerate(graph.node) if each is node)
        for new in reversed(made):
            graph.node.insert(at, new)
            self.inserted.add(new.name)

    def _constant(self, values: Sequence[int], name: str) -> Any:
        node = self._node("Constant", [], name)
        attribute = node.attribute.add(name="value", type=TENSOR)
        attribute.t.CopyFrom(self._tensor(node.output[0], values))
        return node

    def _node(self, op: str, inputs: Sequence[str], output: str) -> Any:
        name = self._free(output)
        return self._messages.NodeProto(op_type=op, name=name, input=inputs, output=[name])

    def _tensor(self, name: str, values: Sequence[int]) -> Any:
        return self._messages.TensorProto(name=name, data_type=INT64, dims=[len(values)], int64_data=values)


def _set_attribute(node: Any, name: str, value: int | Sequence[int]) -> None:
    _remove(node.attribute, lambda each: each.name == name)
    if isinstance(value, int):
        node.attribute.add(name=name, type=INT, i=value)
    else:
        node.attribute.add(name=name, type=INTS, ints=value)


def _remove(row: Any, unwanted: Any) -> None:
    for at in range(len(row) - 1, -1, -1):
        if unwanted(row[at]):
            del row[at]


def _calls(node: Any, function: Any) -> bool:
    return bool(node.op_type == function.name and node.domain == function.domain)


def graphs(proto: Any) -> Iterator[Any]:
    """Yield every graph and function of a model's message."""
    left = [proto.graph, *proto.functions]
    while left:
        graph = left.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    left.append(attribute.g)
                left += attribute.graphs


def _names_read(proto: Any) -> Iterator[str]:
    for graph in graphs(proto):
        for node in graph.node:
            yield from node.input
        for output in graph.output:
            yield output if isinstance(output, str) else output.name


def _names_made(proto: Any) -> Iterator[str]:
    for graph in graphs(proto):
        for each in (*graph.input, *getattr(graph, "initializer", ())):
            yield each if isinstance(each, str) else each.name
        for node in graph.node:
            yield from node.output
            yield node.name
