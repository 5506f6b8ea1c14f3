"""Building: the nodes and the numbered tensors of a parsed model, local functions put in where they are called."""

from __future__ import annotations

from shapecalc.core.record import FrozenDict
from shapecalc.core.text import brief, visible
from shapecalc.models.model import ABSENT, Body, Constant, Declared, Model, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from shapecalc.models.model import Payload

    Bound = Mapping[str, Any]
    """The attributes that a call gives to its function, by name."""

FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 5, 6, 7, 8
"""The types of attributes. Source: AttributeProto.AttributeType in onnx.proto."""
MOST_CALLED = 200_000
"""How many nodes are put in for calls of functions at most; a call beyond that is a node that nobody knows."""
DEEPEST_CALLS = 50
"""How deep functions that call functions are put in at most."""
NO_ATTRIBUTES: FrozenDict = FrozenDict()


def model_of(proto: Any, path: Path, payloads: Mapping[int, Payload]) -> Model:
    """Return the model of a parsed message.

    Raises `ValueError` for a cycle, for a function that calls itself, and for a name that is no text.
    """
    opset = {_domain(each.domain): each.version for each in proto.opset_import}
    build = _Builder(proto, opset)
    graph = build.body(proto.graph, "", "", _Scope({}, None), NO_ATTRIBUTES)
    first = {constant.tensor for constant in graph.constants}
    inputs = [
        _declared(each, number)
        for each, number in zip(proto.graph.input, graph.inputs, strict=True)
        if number not in first
    ]
    outputs = [_declared(each, number) for each, number in zip(proto.graph.output, graph.outputs, strict=True)]
    told = {name or "ai.onnx": version for name, version in opset.items()}
    return Model(path, told, tuple(build.names), tuple(inputs), tuple(outputs), graph, proto, payloads)


def _text(written: str | bytes) -> str:
    """Return a name; raise `ValueError` for one that is not UTF-8, which protobuf hands out as bytes."""
    if isinstance(written, bytes):
        raise ValueError("a name in it is not UTF-8")
    return written


def _domain(written: str) -> str:
    """Return the name of a domain; ONNX's own is empty."""
    return "" if not written or written == "ai.onnx" else _text(written)


def _declared(value: Any, number: int) -> Declared:
    """Return what the file declares of an input or an output."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return Declared(number, value.name, tensor.elem_type, None)
    return Declared(number, value.name, tensor.elem_type, tuple([_dim(dim) for dim in tensor.shape.dim]))


def _dim(dim: Any) -> int | str | None:
    """Return a declared dim; None if it is not told, as -1 and an empty name do not tell it."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return _text(dim.dim_param) or None


class _Scope:
    """The tensors that have names in a graph, and the graph around it."""

    __slots__ = ("names", "outer")

    def __init__(self, names: dict[str, int], outer: _Scope | None) -> None:
        self.names, self.outer = names, outer

    def find(self, name: str) -> int | None:
        """Return the number of a tensor, here or further out; None if there is none."""
        scope: _Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None


class _Builder:
    """Makes nodes out of messages, and gives each tensor its number."""

    def __init__(self, proto: Any, opset: Mapping[str, int]) -> None:
        self.names = [""]
        self.opset = opset
        self.functions = {(_domain(each.domain), each.name, each.overload): each for each in proto.functions}
        self.calling: list[tuple[str, str, str]] = []
        self.called = 0

    def tensor(self, name: str, scope: _Scope) -> int:
        """Return a new number for a tensor that begins to exist in a scope."""
        if not name:
            return ABSENT
        number = scope.names[name] = len(self.names)
        self.names.append(_text(name))
        return number

    def body(self, graph: Any, name: str, path: str, scope: _Scope, bound: Bound) -> Body:
        """Return a graph with its nodes. `path` stands in front of theirs."""
        inputs = tuple([self.tensor(each.name, scope) for each in graph.input])
        constants = self._constants(graph, scope)
        nodes = self._nodes(graph.node, path, scope, bound)
        outputs = tuple([self._used(each.name, scope) for each in graph.output])
        return Body(name, inputs, outputs, nodes, constants)

    def _constants(self, graph: Any, scope: _Scope) -> tuple[Constant, ...]:
        """Return the initializers of a graph; those that are inputs too have their number."""
        found = []
        for each in graph.initializer:
            name = each.name
            number = scope.names.get(name) or self.tensor(name, scope)
            found.append(Constant(number, each))
        return tuple(found)

    def _used(self, name: str, scope: _Scope) -> int:
        """Return the number of a tensor that is read; one that no node has made yet gets its number here."""
        if not name:
            return ABSENT
        found = scope.find(name)
        return self.tensor(name, scope) if found is None else found

    def _nodes(self, protos: Iterable[Any], path: str, scope: _Scope, bound: Bound) -> tuple[Node, ...]:
        """Return the nodes of a graph, each after what it reads; raise `ValueError` if they are in a cycle."""
        nodes, sorted_already = [], True
        for index, proto in enumerate(protos):
            known = len(self.names)
            node = self._node(proto, f"{path}{index}", scope, bound)
            nodes.append(node)
            if node.inputs and max(node.inputs) >= known:
                sorted_already = False
        return tuple(nodes) if sorted_already else _in_order(nodes)

    def _node(self, proto: Any, path: str, scope: _Scope, bound: Bound) -> Node:
        """Return a node, with the graphs in its attributes or the function that it calls."""
        names = scope.names
        inputs = tuple([names.get(name) or self._used(name, scope) for name in proto.input[:]])
        domain, op = _domain(proto.domain), _text(proto.op_type)
        bodies: tuple[Body, ...] = ()
        attributes: Mapping[str, Any] = NO_ATTRIBUTES
        _text(proto.name)
        if proto.attribute:
            if bound is not NO_ATTRIBUTES:
                proto = _with_bound(proto, bound)
            attributes, bodies = self._attributes(proto, path, scope, bound)
        called = self.functions and self.functions.get((domain, op, proto.overload))
        if called:
            bodies = self._called(called, proto, path, inputs)
        outputs = tuple([names.get(name) or self.tensor(name, scope) for name in proto.output[:]])
        opset = self.opset.get(domain, 0)
        return Node(path, op, domain, opset, inputs, outputs, attributes, bodies, proto)

    def _attributes(
        self, proto: Any, path: str, scope: _Scope, bound: Bound
    ) -> tuple[Mapping[str, Any], tuple[Body, ...]]:
        """Return the attributes of a node by name, and the graphs among them."""
        values: dict[str, Any] = {}
        bodies: list[Body] = []
        for each in proto.attribute:
            if each.HasField("g"):
                name = _text(each.name)
                if any(body.name == name for body in bodies):
                    raise ValueError(f"node {path} has two graphs called {visible(brief(name))}")
                bodies.append(self.body(each.g, name, f"{path}/{name}/", _Scope({}, scope), bound))
            elif not each.ref_attr_name:
                values[_text(each.name)] = attribute_value(each)
        return values, tuple(bodies)

    def _called(self, function: Any, call: Any, path: str, inputs: tuple[int, ...]) -> tuple[Body, ...]:
        """Return the body of a function in one call; none if it is beyond what is put in."""
        key = (_domain(function.domain), _text(function.name), function.overload)
        if key in self.calling:
            raise ValueError(f"the function {visible(brief(function.name))} calls itself")
        self.called += len(function.node)
        if self.called > MOST_CALLED or len(self.calling) >= DEEPEST_CALLS:
            return ()
        given = {each.name: each for each in (*function.attribute_proto, *call.attribute)}
        formal = dict.fromkeys(function.input, ABSENT) | dict(zip(function.input, inputs, strict=False))
        outside, self.opset = self.opset, self.opset | {_domain(e.domain): e.version for e in function.opset_import}  # type: ignore[operator]
        self.calling.append(key)
        scope, name = _Scope(formal, None), f"@{function.name}"
        nodes = self._nodes(function.node, f"{path}/{name}/", scope, given)
        outputs = tuple([self._used(each, scope) for each in function.output])
        self.calling.pop()
        self.opset = outside
        return (Body(name, (), outputs, nodes, ()),)


def attribute_value(proto: Any) -> Any:
    """Return the value of an attribute: a number, bytes, a tuple of these, or a message; None for any other."""
    kind = proto.type
    if kind == INT:
        return proto.i
    if kind == INTS:
        return tuple(proto.ints)
    if kind == STRING:
        return proto.s
    if kind == FLOAT:
        return proto.f
    if kind == TENSOR:
        return proto.t
    return {FLOATS: tuple(proto.floats), STRINGS: tuple(proto.strings)}.get(kind)


def _with_bound(proto: Any, bound: Bound) -> Any:
    """Return a function's node with the attributes that a call gives it; those that nobody gives are left out."""
    if not any(each.ref_attr_name for each in proto.attribute):
        return proto
    made = type(proto)()
    made.CopyFrom(proto)
    del made.attribute[:]
    for each in proto.attribute:
        given = bound.get(each.ref_attr_name) if each.ref_attr_name else each
        if given is not None:
            made.attribute.append(given)
            made.attribute[-1].name = each.name
    return made


def _in_order(nodes: list[Node]) -> tuple[Node, ...]:
    """Return the nodes of a graph so that each follows what it reads; raise `ValueError` if they are in a cycle."""
    from graphlib import CycleError, TopologicalSorter

    maker = {number: index for index, node in enumerate(nodes) for number in node.outputs if number}
    reads = {index: [maker[number] for number in _read(node) if number in maker] for index, node in enumerate(nodes)}
    try:
        return tuple([nodes[index] for index in TopologicalSorter(reads).static_order()])
    except CycleError as error:
        among = visible(brief(nodes[error.args[1][0]].path))
        raise ValueError(f"its nodes are in a cycle, node {among} among them") from None


def _read(node: Node) -> Iterable[int]:
    """Yield what a node reads, and what the nodes in its bodies do."""
    yield from node.inputs
    for body in node.bodies:
        yield from body.outputs
        for inner in body.nodes:
            yield from _read(inner)
