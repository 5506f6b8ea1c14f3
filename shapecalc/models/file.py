"""Read an ONNX file into nodes and numbered tensors, without large payloads.

Tensor names are unique in a graph, not in a model: both branches of an If may use the same names, and so may two calls
of a local function. Tensors are therefore identified by numbers, which are unique across bodies and calls.

The file is memory-mapped. A protobuf message is a sequence of fields with numbers and lengths, so one pass over the
lengths finds the tensors. The elements of a large tensor are replaced by a marker in a field that ONNX does not use. A
marker identifies a payload, which can be restored after the message was edited.

Source: protobuf.dev/programming-guides/encoding, and onnx.proto for the field numbers.
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
"""ONNX's element type number by NumPy dtype name."""
ABSENT = 0
"""The tensor number of an absent optional input or output; its name is empty."""
UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""The errors raised for a node that violates its ONNX schema; its outputs are then unknown."""
Bytes = bytes | memoryview
Replaced = tuple[int, int, list[Bytes]]
"""The start and end of a byte range, and the buffers that replace it."""
LARGE = 32 * 1024
"""The size in bytes above which the elements of a tensor stay in the file."""
DEEPEST = 100
"""The deepest nesting of messages. Source: the limit of protobuf's own parsers."""
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
"""By field number, the message fields that contain tensors, directly or nested."""
ELEMENTS = frozenset({4, 5, 6, 7, 9, 10, 11})
"""The fields of a TensorProto that hold its elements."""
ATTRIBUTE_VALUES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
"""The attribute field that holds the value, by type. Source: AttributeProto.AttributeType in onnx.proto."""
REPEATED = 6
"""The first attribute type whose value is a list."""
Bound = Mapping[str, Any]
"""The attributes that a call passes to its function, by name."""
MOST_CALLED = 200_000
"""The largest number of nodes that function calls are expanded to; further calls are unknown nodes."""
DEEPEST_CALLS = 50
"""The deepest nesting of expanded function calls."""
NO_ATTRIBUTES: Mapping[str, Any] = {}
Scope = ChainMap[str, int]
"""The numbers of the tensors that are visible in a graph, by name; outer graphs included."""
MOST_ELEMENTS = 4096
"""The largest tensor whose elements are tracked."""
MOST_FLOATS = 64
"""The largest float constant whose elements are tracked: scales and sizes are small, weights are not."""


class Declared(Record):
    """An input or output of the model, as the file declares it."""

    tensor: int
    name: str
    dtype: int
    """The element type as an ONNX number; 0 if it is not declared or the value is not a tensor."""
    dims: tuple[int | str | None, ...] | None
    """Integers, names as written in the file, and None for undeclared dims; None without a shape."""


class Constant(Record):
    """An initializer of a graph."""

    tensor: int
    proto: Any
    """The TensorProto. Its elements are missing if they were stripped or are in another file."""

    @property
    def external(self) -> bool:
        """Whether the elements are in another file, which is never opened."""
        return bool(self.proto.data_location == 1)


class Body(Record):
    """A graph: the model's, a subgraph of a node, or the body of a function call."""

    name: str
    """Empty for the model's graph, the attribute name (`then_branch`, `body`), or `@NAME` for a function."""
    inputs: tuple[int, ...]
    """The formal inputs. Branches of an If have none: they use the tensors of the outer graph."""
    outputs: tuple[int, ...]
    nodes: tuple[Node, ...]
    constants: tuple[Constant, ...]


@dataclass(slots=True, eq=False)
class Node:
    """A node, with its tensors as numbers."""

    path: str
    """The position in the model: `18`, `7/then_branch/3`, or `7/@NAME/3` in a function call."""
    op: str
    domain: str
    """Empty for ONNX's own operators, also if the file writes `ai.onnx`."""
    opset: int
    """The opset of the node's domain, which a function may override; 0 if it is not imported."""
    inputs: tuple[int, ...]
    """`ABSENT` for an absent optional input."""
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any]
    """Integers, floats, bytes for strings, tuples of these, and TensorProtos; graphs are in `bodies`."""
    bodies: tuple[Body, ...]
    """The subgraphs in the order of the attributes, or the body of a called function."""
    proto: Any
    """The NodeProto in `Model.proto`; a copy if a function call substitutes its attributes."""

    @property
    def name(self) -> str:
        """The name in the file, often empty."""
        return str(self.proto.name)

    @property
    def calls(self) -> bool:
        """Whether the node calls a local function; `bodies` then holds its body."""
        return bool(self.bodies) and self.bodies[0].name.startswith("@")

    @property
    def reads(self) -> list[int]:
        """The tensors that the node depends on: its inputs and the outputs of its bodies."""
        read = [*self.inputs, *[tensor for body in self.bodies for tensor in body.outputs]]
        return [tensor for tensor in read if tensor != ABSENT]


class Payload(Record):
    """The byte range of stripped elements in the file.

    It covers one or more whole fields of a TensorProto, tags included.
    """

    start: int
    end: int


class Model(Record):
    """A model that was read from a file."""

    path: Path
    opset: Mapping[str, int]
    """The opset by domain; ONNX's own domain is `ai.onnx`."""
    names: tuple[str, ...]
    """The tensor names by number; they are not unique."""
    inputs: tuple[Declared, ...]
    """The inputs without an initializer, in file order."""
    outputs: tuple[Declared, ...]
    graph: Body
    proto: Any
    """The ModelProto without the stripped payloads; `restore_payloads` puts them back."""
    payloads: Mapping[int, Payload]
    """The stripped payloads, by marker."""


def nodes_in(bodies: Iterable[Body]) -> Iterator[Node]:
    """Yield all nodes of some graphs, each followed by the nodes of its bodies."""
    for body in bodies:
        for node in body.nodes:
            yield node
            if node.bodies:
                yield from nodes_in(node.bodies)


def varint(number: int) -> bytes:
    r"""Encode an integer as a protobuf varint: seven bits per byte, lowest first.

    >>> varint(300)
    b'\xac\x02'
    """
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


MARK_TAG = varint((2**29 - 1) << 3 | VARINT)
"""The tag of the marker field, which has the largest field number of all."""


def without_payloads(data: Bytes, large: int = LARGE) -> tuple[bytes, dict[int, Payload]]:
    """Return a model message without large payloads, and the payloads.

    The payloads are keyed by marker. Messages of up to `max_copied` bytes are copied unparsed.

    Raises `ValueError` for a malformed or truncated message, and for nesting deeper than protobuf parses.
    """
    payloads: dict[int, Payload] = {}
    first = int.from_bytes(os.urandom(4), "little") << 28  # random, so that a file cannot forge markers

    def dropped(start: int, end: int) -> Iterator[Replaced]:
        for run in _runs_of_elements(data, start, end):
            mark = first + len(payloads)
            payloads[mark] = Payload(*run)
            yield *run, [MARK_TAG + varint(mark)]

    pieces = _rewritten(data, (0, len(data)), MODEL_FIELDS, lambda start, end: end - start > large, dropped)
    return b"".join(pieces or [data]), payloads


def with_payloads(message: bytes, payloads: Mapping[int, Payload], data: Bytes) -> list[Bytes]:
    """Return the pieces of a model message with its payloads restored.

    `data` is the file that the message was read from. The pieces are slices of `message` and `data`, so that no payload
    is copied.
    """
    view = memoryview(message)
    markers = [match.start() for match in re.finditer(re.escape(MARK_TAG), message)] if payloads else []

    def holds_mark(start: int, end: int) -> bool:
        index = bisect_left(markers, start)
        return index < len(markers) and markers[index] < end

    def restored(start: int, end: int) -> Iterator[Replaced]:
        for first, _, _, last in _fields(view, start, end):
            if message.startswith(MARK_TAG, first, last) and (mark := _varint_at(view, first + 5, last)[0]) in payloads:
                yield first, last, [data[payloads[mark].start : payloads[mark].end]]

    return _rewritten(view, (0, len(view)), MODEL_FIELDS, holds_mark, restored) or [view]


def _rewritten(
    data: Bytes,
    span: tuple[int, int],
    kind: Mapping[int, object],
    wanted: Callable[[int, int], bool],
    replaced: Callable[[int, int], Iterator[Replaced]],
    depth: int = 0,
) -> list[Bytes] | None:
    """Return the pieces of a message with edited tensors; None if unchanged.

    The lengths of enclosing messages are updated. `message_fields` maps the fields to descend into, and
    `should_descend` filters them by start and end. `replace_in_tensor` yields the replacements in one tensor.
    """
    if depth > DEEPEST:
        raise ValueError("it is nested deeper than protobuf reads")
    replacements: list[Replaced] = []
    for start, number, content, end in () if kind is TENSOR_FIELDS else _fields(data, *span):
        inner = kind.get(number)
        if inner is None or content < 0 or not wanted(content, end):
            continue
        pieces = _rewritten(data, (content, end), inner, wanted, replaced, depth + 1)  # type: ignore[arg-type]
        if pieces is not None:
            tag = bytes(data[start : _varint_at(data, start, end)[1]])
            replacements.append((start, end, [tag, varint(sum(map(len, pieces))), *pieces]))
    if kind is TENSOR_FIELDS:
        replacements = list(replaced(*span))
    return _joined(data, span, replacements) if replacements else None


def _joined(data: Bytes, span: tuple[int, int], changed: list[Replaced]) -> list[Bytes]:
    """Return the pieces of a byte range with some parts replaced."""
    offset, last = span
    pieces: list[Bytes] = []
    for start, end, buffers in changed:
        pieces += [data[offset:start], *buffers]
        offset = end
    return [*pieces, data[offset:last]]


def _runs_of_elements(data: Bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of a tensor's elements; adjacent fields form one."""
    for holds_elements, run in groupby(_fields(data, start, end), lambda field: field[1] in ELEMENTS):
        spans = [(first, last) for first, _, _, last in run]
        if holds_elements:
            yield spans[0][0], spans[-1][1]


def _fields(data: Bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the start, number, content start and end of each field of a message.

    The content start is -1 for a field without a length. Raises `ValueError` if a field exceeds the message.
    """
    offset = start
    while offset < end:
        tag, content = _varint_at(data, offset, end)
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
        yield offset, tag >> 3, content if length >= 0 else -1, after
        offset = after


def _varint_at(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the varint at an offset, and the offset after it.

    Raises `ValueError` if the varint is truncated.
    """
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
    """Return the model in a file.

    Raises `ShapeError` (file) if the file cannot be used or onnx is not installed.
    """
    messages = onnx_messages()
    try:
        message, payloads = _mapped_message(path)
        return model_of(_parsed(message, messages), Path(path), payloads)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise file_error(f"{path}: {reason}") from None


def file_error(message: str, hint: str = "") -> ShapeError:
    """Return the error to raise for a file that cannot be used."""
    return ShapeError(Problem(FILE, message, hint))


def onnx_messages() -> Any:
    """Return the module of ONNX's protobuf classes.

    Raises `ShapeError` (file) if onnx is not installed.
    """
    try:
        from onnx import onnx_ml_pb2
    except ImportError:
        raise file_error(missing("onnx", "onnx")) from None
    return onnx_ml_pb2


def _mapped_message(path: str | Path) -> tuple[bytes, dict[int, Payload]]:
    """Map a file and return its message without payloads, and the payloads."""
    with os.fdopen(opened(str(path)), "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ValueError("it is empty")
        return without_payloads(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _parsed(message: bytes, messages: Any) -> Any:
    """Return the ModelProto of a message; raise `ValueError` if it is malformed."""
    from google.protobuf.message import DecodeError

    try:
        proto = messages.ModelProto.FromString(message)
    except DecodeError:
        without_payloads(message, 0)  # raises a specific error if the message is truncated or too deep
        raise ValueError(CUT) from None
    if not proto.HasField("graph"):
        raise ValueError("it holds no graph")
    return proto


def model_of(proto: Any, path: Path, payloads: Mapping[int, Payload]) -> Model:
    """Return the model of a ModelProto.

    Raises `ValueError` for a cycle, a recursive function, and a name that is not UTF-8.
    """
    opset = {_domain(entry.domain): entry.version for entry in proto.opset_import}
    build = _Builder(proto, opset)
    graph = build.body(proto.graph, "", "", Scope({}), NO_ATTRIBUTES)
    initialized = {constant.tensor for constant in graph.constants}
    inputs = [
        _declared(value, number)
        for value, number in zip(proto.graph.input, graph.inputs, strict=True)
        if number not in initialized
    ]
    outputs = [_declared(value, number) for value, number in zip(proto.graph.output, graph.outputs, strict=True)]
    opsets = {name or "ai.onnx": version for name, version in opset.items()}
    return Model(path, opsets, tuple(build.names), tuple(inputs), tuple(outputs), graph, proto, payloads)


def _text(written: str | bytes) -> str:
    """Return a name; raise `ValueError` if it is not UTF-8.

    Protobuf returns bytes for such a name.
    """
    if isinstance(written, bytes):
        raise ValueError("a name in it is not UTF-8")
    return written


def _domain(written: str) -> str:
    """Return the name of a domain; ONNX's own is empty."""
    return "" if not written or written == "ai.onnx" else _text(written)


def _declared(value: Any, number: int) -> Declared:
    tensor = value.type.tensor_type
    dims = tuple([_dim(dim) for dim in tensor.shape.dim]) if tensor.HasField("shape") else None
    return Declared(number, value.name, tensor.elem_type, dims)


def _dim(dim: Any) -> int | str | None:
    """Return a declared dim; None if it is missing, negative or an empty name."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return _text(dim.dim_param) or None


class _Builder:
    """The builder of nodes and graphs, which numbers the tensors."""

    def __init__(self, proto: Any, opset: Mapping[str, int]) -> None:
        self.names = [""]
        self.opset = opset
        self.functions = {(_domain(each.domain), each.name, each.overload): each for each in proto.functions}
        self.calling: list[tuple[str, str, str]] = []
        self.called = 0

    def tensor(self, name: str, scope: Scope) -> int:
        """Define a tensor in a scope and return its number."""
        if not name:
            return ABSENT
        number = scope[name] = len(self.names)
        self.names.append(_text(name))
        return number

    def body(self, graph: Any, name: str, path: str, scope: Scope, bound: Bound) -> Body:
        """Return a graph with its nodes; `path` is the prefix of their paths."""
        inputs = tuple([self.tensor(value.name, scope) for value in graph.input])
        constants = [
            Constant(scope.maps[0].get(proto.name) or self.tensor(proto.name, scope), proto)
            for proto in graph.initializer
        ]
        nodes = self._nodes(graph.node, path, scope, bound)
        outputs = tuple([self._used(value.name, scope) for value in graph.output])
        return Body(name, inputs, outputs, nodes, tuple(constants))

    def _used(self, name: str, scope: Scope) -> int:
        """Return the number of a tensor that is read; an undefined one is defined here."""
        if not name:
            return ABSENT
        number = scope.get(name)
        return self.tensor(name, scope) if number is None else number

    def _nodes(self, protos: Iterable[Any], path: str, scope: Scope, bound: Bound) -> tuple[Node, ...]:
        """Return the nodes of a graph in topological order.

        Raises `ValueError` for a cycle.
        """
        nodes, is_sorted = [], True
        for index, proto in enumerate(protos):
            known = len(self.names)
            node = self._node(proto, f"{path}{index}", scope, bound)
            nodes.append(node)
            if node.inputs and max(node.inputs) >= known:
                is_sorted = False
        return tuple(nodes) if is_sorted else _in_order(nodes)

    def _node(self, proto: Any, path: str, scope: Scope, bound: Bound) -> Node:
        """Return a node with its subgraphs, or with the function that it calls."""
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
        function = self.functions and self.functions.get((domain, op, proto.overload))
        if function:
            bodies = self._called(function, proto, path, inputs)
        outputs = tuple([names.get(name) or self.tensor(name, scope) for name in proto.output[:]])
        opset = self.opset.get(domain, 0)
        return Node(path, op, domain, opset, inputs, outputs, attributes, bodies, proto)

    def _attributes(
        self, proto: Any, path: str, scope: Scope, bound: Bound
    ) -> tuple[Mapping[str, Any], tuple[Body, ...]]:
        """Return the attributes of a node by name, and its subgraphs."""
        values: dict[str, Any] = {}
        bodies: list[Body] = []
        for attribute in proto.attribute:
            if attribute.HasField("g"):
                name = _text(attribute.name)
                if any(body.name == name for body in bodies):
                    raise ValueError(f"node {path} has two graphs called {visible(brief(name))}")
                bodies.append(self.body(attribute.g, name, f"{path}/{name}/", scope.new_child(), bound))
            elif not attribute.ref_attr_name:
                values[_text(attribute.name)] = attribute_value(attribute)
        return values, tuple(bodies)

    def _called(self, function: Any, call: Any, path: str, inputs: tuple[int, ...]) -> tuple[Body, ...]:
        """Return the body of a function for one call; empty beyond the limits."""
        key = (_domain(function.domain), _text(function.name), function.overload)
        if key in self.calling:
            raise ValueError(f"the function {visible(brief(function.name))} calls itself")
        self.called += len(function.node)
        if self.called > MOST_CALLED or len(self.calling) >= DEEPEST_CALLS:
            return ()
        passed = {attribute.name: attribute for attribute in (*function.attribute_proto, *call.attribute)}
        formal = dict.fromkeys(function.input, ABSENT) | dict(zip(function.input, inputs, strict=False))
        outer, self.opset = self.opset, self.opset | {_domain(e.domain): e.version for e in function.opset_import}  # type: ignore[operator]
        self.calling.append(key)
        scope, name = Scope(formal), f"@{function.name}"
        nodes = self._nodes(function.node, f"{path}/{name}/", scope, passed)
        outputs = tuple([self._used(output, scope) for output in function.output])
        self.calling.pop()
        self.opset = outer
        return (Body(name, (), outputs, nodes, ()),)


def attribute_value(proto: Any) -> Any:
    """Return the value of an attribute; None for an unsupported type.

    The value is a number, bytes, a tuple of these, or a message.
    """
    if proto.type not in ATTRIBUTE_VALUES:
        return None
    value = getattr(proto, ATTRIBUTE_VALUES[proto.type])
    return tuple(value) if proto.type >= REPEATED else value


def _with_bound(proto: Any, bound: Bound) -> Any:
    """Return a function's node with the attributes of a call substituted.

    References to attributes that the call does not pass are removed.
    """
    if not any(attribute.ref_attr_name for attribute in proto.attribute):
        return proto
    copy = type(proto)()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    for attribute in proto.attribute:
        value = bound.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if value is not None:
            copy.attribute.append(value)
            copy.attribute[-1].name = attribute.name
    return copy


def _in_order(nodes: list[Node]) -> tuple[Node, ...]:
    """Return nodes in topological order; raise `ValueError` for a cycle."""
    maker = {number: index for index, node in enumerate(nodes) for number in node.outputs if number}
    read = [[number for inner in (node, *nodes_in(node.bodies)) for number in inner.reads] for node in nodes]
    reads = {index: [maker[number] for number in numbers if number in maker] for index, numbers in enumerate(read)}
    try:
        return tuple([nodes[index] for index in TopologicalSorter(reads).static_order()])
    except CycleError as error:
        path = visible(brief(nodes[error.args[1][0]].path))
        raise ValueError(f"its nodes are in a cycle, node {path} among them") from None


def elements(proto: Any) -> Array | None:
    """Return the elements of a TensorProto.

    None if they are many, not numbers, or missing.
    """
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
