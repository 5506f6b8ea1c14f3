"""A model's file: mapped, without the payloads of weights, and read as nodes and tensors with numbers.

Names are unique in a graph, not in a model: the two branches of an If may use the same ones, and so does a local
function each time it is called. So every tensor has a number of its own, in bodies and in each call too.

A protobuf message is a row of fields, each with its number and its length. One pass over these lengths finds the
tensors. In place of the elements of a large one a mark stands in the message, in a field that ONNX does not use; it
says which payload was there. So payloads can be put back into a message that was changed meanwhile.

Source: protobuf.dev/programming-guides/encoding, and onnx.proto for the fields' numbers.
"""

from __future__ import annotations

import mmap
import os
import re
from bisect import bisect_left
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from shapecalc.core.packages import missing
from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.text import brief, visible
from shapecalc.engine.headers import opened

FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
KINDS = {FLOAT: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", INT32: "int32", INT64: "int64"}
KINDS |= {BOOL: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}
Array = np.ndarray[Any, Any]
"""The elements of a small tensor."""
NUMBERS = {kind: number for number, kind in KINDS.items()}
"""ONNX's number of a type by NumPy's name."""


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
    def external(self) -> bool:
        """Whether the elements lie in another file, which reading and walking never open."""
        return bool(self.proto.data_location == 1)


class Body(Record):
    """A graph: that of the model, of an If or a Loop, or a local function's in one call."""

    name: str
    """Empty for the model's graph; the attribute's name (`then_branch`, `body`), or `@NAME` for a function's."""
    inputs: tuple[int, ...]
    """Its formal inputs. An If's branches have none: what they use of outside has the outside's numbers."""
    outputs: tuple[int, ...]
    nodes: tuple[Node, ...]
    constants: tuple[Constant, ...]


@dataclass(slots=True, eq=False)
class Node:
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

    @property
    def name(self) -> str:
        """The name as the file has it, often empty."""
        return str(self.proto.name)

    @property
    def calls(self) -> bool:
        """Whether it calls a local function, whose body it holds."""
        return bool(self.bodies) and self.bodies[0].name.startswith("@")

    @property
    def reads(self) -> list[int]:
        """The tensors that it is computed from: its inputs, and what its bodies hand out."""
        read = [*self.inputs, *[tensor for body in self.bodies for tensor in body.outputs]]
        return [tensor for tensor in read if tensor != ABSENT]


class Payload(Record):
    """Bytes of a tensor that were left in the file: one or more whole fields of its TensorProto, tags included."""

    start: int
    end: int


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


def nodes_in(bodies: Iterable[Body]) -> Iterator[Node]:
    """Yield all nodes of bodies, those of the bodies in a node after it."""
    for body in bodies:
        for node in body.nodes:
            yield node
            if node.bodies:
                yield from nodes_in(node.bodies)


Bytes = bytes | memoryview
Replaced = tuple[int, int, list[Bytes]]
"""What stands in place of the bytes from one place up to another."""
LARGE = 32 * 1024
"""The bytes above which a tensor's elements are left in the file."""
DEEPEST = 100
"""How deep messages nest at most. Source: the limit of protobuf's own readers."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
CUT = "it is not an ONNX model, or it is cut short"

TENSOR_FIELDS: dict[int, object] = {}
SPARSE_FIELDS = {1: TENSOR_FIELDS, 2: TENSOR_FIELDS}
GRAPH_FIELDS: dict[int, object] = {5: TENSOR_FIELDS, 15: SPARSE_FIELDS}
ATTRIBUTE_FIELDS: dict[int, object] = {5: TENSOR_FIELDS, 6: GRAPH_FIELDS, 10: TENSOR_FIELDS, 11: GRAPH_FIELDS}
ATTRIBUTE_FIELDS |= {22: SPARSE_FIELDS, 23: SPARSE_FIELDS}
NODE_FIELDS = {5: ATTRIBUTE_FIELDS}
GRAPH_FIELDS[1] = NODE_FIELDS
MODEL_FIELDS = {7: GRAPH_FIELDS, 20: {1: GRAPH_FIELDS, 2: GRAPH_FIELDS}, 25: {7: NODE_FIELDS, 11: ATTRIBUTE_FIELDS}}
"""Which fields of a model hold tensors, and which hold what holds tensors, by number."""
ELEMENTS = frozenset({4, 5, 6, 7, 9, 10, 11})
"""The fields of a tensor that hold its elements."""


def varint(number: int) -> bytes:
    r"""Return a whole number as protobuf writes it: seven bits a byte, the lowest first.

    >>> varint(300)
    b'\xac\x02'
    """
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


MARK_TAG = varint((2**29 - 1) << 3 | VARINT)
"""The tag of the field that holds a mark: it has the largest number of all."""


def without_payloads(data: Bytes, large: int = LARGE) -> tuple[bytes, dict[int, Payload]]:
    """Return a model's message without the elements of its large tensors, and what was dropped, by its mark.

    Tensors of up to `large` bytes, and all that is as small, are not looked into. Raises `ValueError` for what is no
    message, is cut short, or is nested deeper than protobuf reads.
    """
    payloads: dict[int, Payload] = {}
    first = int.from_bytes(os.urandom(4), "little") << 28  # a file cannot bring marks that are taken for ours

    def dropped(start: int, end: int) -> Iterator[Replaced]:
        for run in _runs_of_elements(data, start, end):
            mark = first + len(payloads)
            payloads[mark] = Payload(*run)
            yield *run, [MARK_TAG + varint(mark)]

    pieces = _rewritten(data, (0, len(data)), MODEL_FIELDS, lambda start, end: end - start > large, dropped)
    return b"".join(pieces or [data]), payloads


def with_payloads(message: bytes, payloads: Mapping[int, Payload], data: Bytes) -> list[Bytes]:
    """Return the pieces of a model's message with its payloads put back from `data`, the file that it was read from.

    A piece is a part of `message` or of `data`, so nothing large is copied.
    """
    view = memoryview(message)
    marks = [found.start() for found in re.finditer(re.escape(MARK_TAG), message)] if payloads else []

    def holds_mark(start: int, end: int) -> bool:
        place = bisect_left(marks, start)
        return place < len(marks) and marks[place] < end

    def restored(start: int, end: int) -> Iterator[Replaced]:
        for at, _, _, after in _fields(view, start, end):
            if message.startswith(MARK_TAG, at, after) and (number := _varint_at(view, at + 5, after)[0]) in payloads:
                yield at, after, [data[payloads[number].start : payloads[number].end]]

    return _rewritten(view, (0, len(view)), MODEL_FIELDS, holds_mark, restored) or [view]


def _rewritten(
    data: Bytes,
    span: tuple[int, int],
    kind: Mapping[int, object],
    wanted: Callable[[int, int], bool],
    replaced: Callable[[int, int], Iterator[Replaced]],
    depth: int = 0,
) -> list[Bytes] | None:
    """Return the pieces of a message with parts of its tensors replaced and lengths set right; None without any.

    `kind` says which fields are gone into, if `wanted` says so of their content.
    """
    if depth > DEEPEST:
        raise ValueError("it is nested deeper than protobuf reads")
    changed: list[Replaced] = []
    for start, number, content, end in () if kind is TENSOR_FIELDS else _fields(data, *span):
        inner = kind.get(number)
        if inner is None or content < 0 or not wanted(content, end):
            continue
        pieces = _rewritten(data, (content, end), inner, wanted, replaced, depth + 1)  # type: ignore[arg-type]
        if pieces is not None:
            tag = bytes(data[start : _varint_at(data, start, end)[1]])
            changed.append((start, end, [tag, varint(sum(map(len, pieces))), *pieces]))
    if kind is TENSOR_FIELDS:
        changed = list(replaced(*span))
    return _joined(data, span, changed) if changed else None


def _joined(data: Bytes, span: tuple[int, int], changed: list[Replaced]) -> list[Bytes]:
    """Return the pieces of what stands in a span, some parts of it replaced."""
    place, last = span
    pieces: list[Bytes] = []
    for start, end, instead in changed:
        pieces += [data[place:start], *instead]
        place = end
    return [*pieces, data[place:last]]


def _runs_of_elements(data: Bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the elements of a tensor are: a run of fields begins at one place and ends at another."""
    for held, run in groupby(_fields(data, start, end), lambda field: field[1] in ELEMENTS):
        places = [(at, after) for at, _, _, after in run]
        if held:
            yield places[0][0], places[-1][1]


def _fields(data: Bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield where each field of a message starts, its number, where its content starts, and where it ends.

    The content's place is -1 for fields without a length. Raises `ValueError` if one ends beyond the message.
    """
    at = start
    while at < end:
        tag, content = _varint_at(data, at, end)
        wire, length = tag & 7, -1
        if wire == LENGTH:
            length, content = _varint_at(data, content, end)
            after = content + length
        elif wire == VARINT:
            after = _varint_at(data, content, end)[1]
        elif wire in (FIXED64, FIXED32):
            after = content + (8 if wire == FIXED64 else 4)
        else:
            raise ValueError(CUT)
        if after > end or tag < 8:
            raise ValueError(CUT)
        yield at, tag >> 3, content if length >= 0 else -1, after
        at = after


def _varint_at(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the whole number that is written at a place, and the place after it; raise `ValueError` if it is cut."""
    number, shift = 0, 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        if byte < 128:
            return number | byte << shift, at
        number |= (byte & 127) << shift
        shift += 7
    raise ValueError(CUT)


def read_model(path: str | Path) -> Model:
    """Return the model in a file; raise `ShapeError` (file) if it cannot be used, or if onnx is not installed."""
    messages = onnx_messages()
    try:
        message, payloads = _mapped_message(path)
        return model_of(_parsed(message, messages), Path(path), payloads)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise file_error(f"{path}: {reason}") from None


def file_error(message: str, hint: str = "") -> ShapeError:
    """Return the error to raise if a file cannot be used."""
    return ShapeError(Problem(FILE, message, hint))


def onnx_messages() -> Any:
    """Return the module of ONNX's protobuf classes; raise `ShapeError` (file) if onnx is not installed."""
    try:
        from onnx import onnx_ml_pb2
    except ImportError:
        raise file_error(missing("onnx", "onnx")) from None
    return onnx_ml_pb2


def _mapped_message(path: str | Path) -> tuple[bytes, dict[int, Payload]]:
    """Return the message in a file without its payloads, and these; raise `ValueError` if there is none."""
    with os.fdopen(opened(str(path)), "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ValueError("it is empty")
        return without_payloads(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _parsed(message: bytes, messages: Any) -> Any:
    """Return the model of a message; raise `ValueError` if protobuf cannot read it."""
    from google.protobuf.message import DecodeError

    try:
        proto = messages.ModelProto.FromString(message)
    except DecodeError:
        without_payloads(message, 0)  # says if it is cut short, or nested too deep
        raise ValueError(CUT) from None
    if not proto.HasField("graph"):
        raise ValueError("it holds no graph")
    return proto


ATTRIBUTE_VALUES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
"""The field of an attribute that holds its value, by type. Source: AttributeProto.AttributeType in onnx.proto."""
REPEATED = 6
"""The first of the types whose values are several."""
Bound = Mapping[str, Any]
"""The attributes that a call gives to its function, by name."""
MOST_CALLED = 200_000
"""How many nodes are put in for calls of functions at most; a call beyond that is a node that nobody knows."""
DEEPEST_CALLS = 50
"""How deep functions that call functions are put in at most."""
NO_ATTRIBUTES: Mapping[str, Any] = {}


def model_of(proto: Any, path: Path, payloads: Mapping[int, Payload]) -> Model:
    """Return the model of a parsed message.

    Raises `ValueError` for a cycle, for a function that calls itself, and for a name that is no text.
    """
    opset = {_domain(each.domain): each.version for each in proto.opset_import}
    build = _Builder(proto, opset)
    graph = build.body(proto.graph, "", "", Scope({}), NO_ATTRIBUTES)
    first = {constant.tensor for constant in graph.constants}
    inputs = [
        _declared(each, number)
        for each, number in zip(proto.graph.input, graph.inputs, strict=True)
        if number not in first
    ]
    outputs = [_declared(each, number) for each, number in zip(proto.graph.output, graph.outputs, strict=True)]
    opsets = {name or "ai.onnx": version for name, version in opset.items()}
    return Model(path, opsets, tuple(build.names), tuple(inputs), tuple(outputs), graph, proto, payloads)


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
    dims = tuple([_dim(dim) for dim in tensor.shape.dim]) if tensor.HasField("shape") else None
    return Declared(number, value.name, tensor.elem_type, dims)


def _dim(dim: Any) -> int | str | None:
    """Return a declared dim; None if it is not told, as -1 and an empty name do not tell it."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return _text(dim.dim_param) or None


Scope = ChainMap[str, int]
"""The tensors that have names in a graph, and in those around it."""


class _Builder:
    """Makes nodes out of messages, and gives each tensor its number."""

    def __init__(self, proto: Any, opset: Mapping[str, int]) -> None:
        self.names = [""]
        self.opset = opset
        self.functions = {(_domain(each.domain), each.name, each.overload): each for each in proto.functions}
        self.calling: list[tuple[str, str, str]] = []
        self.called = 0

    def tensor(self, name: str, scope: Scope) -> int:
        """Return a new number for a tensor that begins to exist in a scope."""
        if not name:
            return ABSENT
        number = scope[name] = len(self.names)
        self.names.append(_text(name))
        return number

    def body(self, graph: Any, name: str, path: str, scope: Scope, bound: Bound) -> Body:
        """Return a graph with its nodes. `path` stands in front of theirs."""
        inputs = tuple([self.tensor(each.name, scope) for each in graph.input])
        constants = [Constant(scope.maps[0].get(e.name) or self.tensor(e.name, scope), e) for e in graph.initializer]
        nodes = self._nodes(graph.node, path, scope, bound)
        outputs = tuple([self._used(each.name, scope) for each in graph.output])
        return Body(name, inputs, outputs, nodes, tuple(constants))

    def _used(self, name: str, scope: Scope) -> int:
        """Return the number of a tensor that is read; one that no node has made yet gets its number here."""
        if not name:
            return ABSENT
        found = scope.get(name)
        return self.tensor(name, scope) if found is None else found

    def _nodes(self, protos: Iterable[Any], path: str, scope: Scope, bound: Bound) -> tuple[Node, ...]:
        """Return the nodes of a graph, each after what it reads; raise `ValueError` if they are in a cycle."""
        nodes, sorted_already = [], True
        for index, proto in enumerate(protos):
            known = len(self.names)
            node = self._node(proto, f"{path}{index}", scope, bound)
            nodes.append(node)
            if node.inputs and max(node.inputs) >= known:
                sorted_already = False
        return tuple(nodes) if sorted_already else _in_order(nodes)

    def _node(self, proto: Any, path: str, scope: Scope, bound: Bound) -> Node:
        """Return a node, with the graphs in its attributes or the function that it calls."""
        names = scope.maps[0]
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
        self, proto: Any, path: str, scope: Scope, bound: Bound
    ) -> tuple[Mapping[str, Any], tuple[Body, ...]]:
        """Return the attributes of a node by name, and the graphs among them."""
        values: dict[str, Any] = {}
        bodies: list[Body] = []
        for each in proto.attribute:
            if each.HasField("g"):
                name = _text(each.name)
                if any(body.name == name for body in bodies):
                    raise ValueError(f"node {path} has two graphs called {visible(brief(name))}")
                bodies.append(self.body(each.g, name, f"{path}/{name}/", scope.new_child(), bound))
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
        scope, name = Scope(formal), f"@{function.name}"
        nodes = self._nodes(function.node, f"{path}/{name}/", scope, given)
        outputs = tuple([self._used(each, scope) for each in function.output])
        self.calling.pop()
        self.opset = outside
        return (Body(name, (), outputs, nodes, ()),)


def attribute_value(proto: Any) -> Any:
    """Return the value of an attribute: a number, bytes, a tuple of these, or a message; None for any other."""
    if proto.type not in ATTRIBUTE_VALUES:
        return None
    value = getattr(proto, ATTRIBUTE_VALUES[proto.type])
    return tuple(value) if proto.type >= REPEATED else value


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
    maker = {number: index for index, node in enumerate(nodes) for number in node.outputs if number}
    read = [[number for each in (node, *nodes_in(node.bodies)) for number in each.reads] for node in nodes]
    reads = {index: [maker[number] for number in numbers if number in maker] for index, numbers in enumerate(read)}
    try:
        return tuple([nodes[index] for index in TopologicalSorter(reads).static_order()])
    except CycleError as error:
        among = visible(brief(nodes[error.args[1][0]].path))
        raise ValueError(f"its nodes are in a cycle, node {among} among them") from None


MOST_ELEMENTS = 4096
"""How many elements a tensor has at most if its elements are followed."""
MOST_FLOATS = 64
"""How many a constant of floats has: scales and sizes have a handful, weights more."""


def elements(proto: Any) -> Array | None:
    """Return the elements of a TensorProto; None if they are many, not numbers, or not in it."""
    shape = tuple(proto.dims)
    if proto.data_type not in KINDS or proto.data_location == 1 or len(shape) > 8 or min(shape, default=0) < 0:
        return None
    kind = np.dtype(KINDS[proto.data_type])
    if prod(shape) > (MOST_ELEMENTS if kind.kind in "iub" else MOST_FLOATS):
        return None
    from onnx import numpy_helper

    try:
        return np.asarray(numpy_helper.to_array(proto)).astype(kind, copy=False)
    except (ValueError, TypeError):
        return None
