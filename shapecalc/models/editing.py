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
                graph = next(each.g for each in node.attribute if each.name == name)
            node = graph.node[int(index)]
        return graph, node

    def set_argument(self, path: str, opset: int, fix: Fix) -> None:
        """Give a node the constant argument of a fix."""
        graph, node = self.node_at(path)
        assert fix.target is not None
        attribute, before = AS_ATTRIBUTE.get(node.op_type, ("", 0))
        if attribute and (before is None or opset < before):
            _set_attribute(node, attribute, fix.target[0] if node.op_type == "Flatten" else fix.target)
        else:
            self._point(graph, node, self._target(graph, node, fix.target))
        if fix.allowzero is False:
            _remove(node.attribute, lambda each: each.name == "allowzero")

    def compute_argument(self, path: str, rank: int, place: int, source: str, axis: int) -> None:
        """Let a node's argument have one entry computed: the size of an axis of `source`, which is a tensor."""
        graph, node = self.node_at(path)
        old = node.input[1]
        shape = self._node("Shape", [source], f"{old}_sizes")
        at = self._constant((axis,), f"{old}_axis")
        size = self._node("Gather", [shape.output[0], at.output[0]], f"{old}_batch")
        made, parts = [shape, at, size], [size.output[0]]
        for kept, where in ((range(place), 0), (range(place + 1, rank), len(parts))):
            if kept:
                indices = self._constant(tuple(kept), f"{old}_places")
                taken = self._node("Gather", [old, indices.output[0]], f"{old}_kept")
                made += [indices, taken]
                parts.insert(0 if where == 0 else len(parts), taken.output[0])
        joined = self._node("Concat", parts, f"{old}_mended")
        _set_attribute(joined, "axis", 0)
        self._insert(graph, node, [*made, joined])
        node.input[1] = joined.output[0]

    def _target(self, graph: Any, node: Any, target: Sequence[int]) -> str:
        """Return the name of a new constant in a graph: an initializer where it can have one."""
        if self._read[node.input[1]] == 1 and _is_initializer(graph, node.input[1], len(target)):
            return self._in_place(graph, node.input[1], target)
        if self.proto.ir_version < 4 or not hasattr(graph, "initializer"):
            made = self._constant(target, f"{node.input[1]}_mended")
            self._insert(graph, node, [made])
            return str(made.output[0])
        name = self._free(f"{node.input[1]}_mended")
        graph.initializer.append(self._tensor(name, target))
        return name

    def _in_place(self, graph: Any, name: str, target: Sequence[int]) -> str:
        for each in graph.initializer:
            if each.name == name:
                each.CopyFrom(self._tensor(name, target))
        return name

    def _point(self, graph: Any, node: Any, name: str) -> None:
        """Let a node read another argument; drop the constant that it read if nobody else does."""
        old = node.input[1]
        if old == name:
            return
        node.input[1] = name
        self._read[old] -= 1
        if not self._read[old]:
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


def _is_initializer(graph: Any, name: str, size: int) -> bool:
    """Say whether an initializer of a graph holds as many numbers as are wanted."""
    return any(each.name == name and list(each.dims) == [size] for each in getattr(graph, "initializer", ()))


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
