"""Read an ONNX file into nodes and numbered tensors, without large payloads.

Tensor names are unique in a graph, not in a model: both branches of an If may use the same names, and so may two calls
of a local function. Tensors are therefore identified by numbers, which are unique across bodies and calls.

The file is memory-mapped. A protobuf message is a sequence of fields with numbers and lengths, so one pass over the
lengths finds the tensors. The elements of a large tensor (its payload) are replaced by a marker in a field that ONNX
does not use. The marker identifies the payload, so that it can be restored after the message is edited.

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
from typing import Any, NamedTuple

import numpy as np

from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.engine.headers import open_descriptor

STACK_TRACE_KEY = "pkg.torch.onnx.stack_trace"
"""The metadata key of a node's Python stack trace, innermost frame last."""
STACK_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d{1,9}), in (.+)(?:\n(?! *File ")(.*))?$', re.MULTILINE)
PATH_SEPARATOR = re.compile(r"[/\\]")
PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})
FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
"""ONNX element type numbers. Source: TensorProto.DataType in onnx.proto."""
DTYPE_NAMES = {FLOAT: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", INT32: "int32", INT64: "int64"}
DTYPE_NAMES |= {BOOL: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}
"""NumPy's dtype name by ONNX element type number."""
ElementArray = np.ndarray[Any, Any]
"""A small tensor as a NumPy array."""
DTYPE_NUMBERS = {kind: number for number, kind in DTYPE_NAMES.items()}
"""The ONNX element type number for each NumPy dtype name."""
ABSENT = 0
"""The tensor number of an absent optional input or output. Its name in the file is empty."""
MALFORMED_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions that processing a node may raise if the node violates its ONNX schema.

The outputs of such nodes are treated as unknown.
"""
Buffer = bytes | memoryview
Replacement = tuple[int, int, list[Buffer]]
"""The start and end of a byte range, and the buffers that replace it."""
MAX_UNSTRIPPED_BYTES = 4 << 20
"""The maximum size of a file whose payloads are not stripped, because the search for them takes longer than a copy."""
MAX_COPIED_BYTES = 32 * 1024
"""The maximum size, in bytes, of a nested message that is copied whole, without a search for payloads."""
MAX_MESSAGE_DEPTH = 100
"""The maximum nesting depth of messages. Source: the limit of protobuf's own parsers."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Protobuf's wire types."""
TRUNCATED_MESSAGE = "it is not an ONNX model, or it is cut short"

TENSOR_FIELDS: dict[int, object] = {}
"""The field table of a TensorProto (see `MODEL_FIELDS`). It has no nested message to search."""
SPARSE_FIELDS = {1: TENSOR_FIELDS, 2: TENSOR_FIELDS}
GRAPH_FIELDS: dict[int, object] = {5: TENSOR_FIELDS, 15: SPARSE_FIELDS}
ATTRIBUTE_FIELDS: dict[int, object] = {5: TENSOR_FIELDS, 6: GRAPH_FIELDS, 10: TENSOR_FIELDS, 11: GRAPH_FIELDS}
ATTRIBUTE_FIELDS |= {22: SPARSE_FIELDS, 23: SPARSE_FIELDS}
NODE_FIELDS = {5: ATTRIBUTE_FIELDS}
GRAPH_FIELDS[1] = NODE_FIELDS
MODEL_FIELDS = {7: GRAPH_FIELDS, 20: {1: GRAPH_FIELDS, 2: GRAPH_FIELDS}, 25: {7: NODE_FIELDS, 11: ATTRIBUTE_FIELDS}}
"""The fields of a ModelProto that may contain tensors.

The table maps a field number to the table of the nested message.
"""
ELEMENT_FIELDS = frozenset({4, 5, 6, 7, 9, 10, 11})
"""The fields of a TensorProto that hold its elements."""
ATTRIBUTE_VALUE_FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings", 11: "sparse_tensor"}
"""The name of the AttributeProto field that holds the value, for each attribute type.

Source: AttributeProto.AttributeType in onnx.proto.
"""
LIST_TYPES = (6, 7, 8)
"""The attribute types whose value is a list."""
CallAttributes = Mapping[str, Any]
"""The attributes of a function call, by name."""
MAX_EXPANDED_NODES = 200_000
"""The maximum total number of nodes in expanded function calls. Further calls are not expanded."""
MAX_CALL_DEPTH = 50
"""The maximum nesting depth of expanded function calls."""
NO_ATTRIBUTES: Mapping[str, Any] = {}
Scope = ChainMap[str, int]
"""The tensor number of each tensor name that is visible in a graph, including the names of outer graphs."""
MAX_ELEMENTS = 4096
"""The maximum number of elements of a tensor whose elements are computed during a walk."""
MAX_FLOAT_ELEMENTS = 64
"""The maximum number of elements of a float constant whose elements are read.

Scales and sizes have fewer elements, weights have more.
"""


class ValueInfo(Record):
    """The declaration of a model input or output."""

    tensor: int
    name: str
    dtype: int
    """The ONNX element type number, or 0 if it is undeclared or the value is not a tensor."""
    dims: tuple[int | str | None, ...] | None
    """The declared shape, or None. A dim is an integer, a name as written in the file, or None if undeclared."""


class Initializer(Record):
    """An initializer of a graph."""

    tensor: int
    proto: Any
    """The TensorProto; without elements if they were stripped or are in an external data file."""

    @property
    def is_external(self) -> bool:
        """Whether the elements are in an external data file.

        External data is never read.
        """
        return bool(self.proto.data_location == 1)


class NodeGraph(Record):
    """The main graph, a subgraph of a node, or the body of a function call."""

    name: str
    """The attribute name of a subgraph (`then_branch`, `body`) or `@NAME` for a function body.

    It is empty for the model's graph.
    """
    inputs: tuple[int, ...]
    """The tensor numbers of the formal inputs. A branch of an If has no inputs, and reads tensors of outer graphs."""
    outputs: tuple[int, ...]
    nodes: tuple[Node, ...]
    initializers: tuple[Initializer, ...]


class SourceLine(NamedTuple):
    """The line of Python code from which a node was exported."""

    path: str
    line: int
    function: str
    code: str

    @property
    def short(self) -> str:
        """The name of the file and the number of the line, such as `net.py:12`."""
        return f"{PATH_SEPARATOR.split(self.path)[-1]}:{self.line}"


@dataclass(slots=True, eq=False)
class Node:
    """A node of a graph, with numbered tensors."""

    path: str
    """The node's position in the model: `18`, `7/then_branch/3`, or `7/@NAME/3` in a function call."""
    op: str
    domain: str
    """The domain of the operator; empty for ONNX's own domain (`ai.onnx`)."""
    opset: int
    """The opset version of the domain, or 0 if the model does not import the domain.

    A function may override the version of the model.
    """
    inputs: tuple[int, ...]
    """The tensor numbers of the inputs; `ABSENT` for an absent optional input."""
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any]
    """The attribute values by name: int, float, bytes (for a string), TensorProto, or a tuple of these types.

    Graph attributes are in `bodies` instead.
    """
    bodies: tuple[NodeGraph, ...]
    """The subgraphs in the order of the attributes, or the body of a called function."""
    proto: Any
    """The NodeProto in `Model.proto`, or a copy in which the attributes of a function call are substituted."""

    @property
    def name(self) -> str:
        """The name of the node in the file, which is often empty."""
        return str(self.proto.name)

    @property
    def source(self) -> SourceLine | None:
        """The innermost line of the user's code, or None if it was not recorded.

        The user's code is code outside of installed packages.
        Source: the metadata `pkg.torch.onnx.stack_trace`, which PyTorch's default exporter writes.
        """
        traces = [entry.value for entry in self.proto.metadata_props if entry.key == STACK_TRACE_KEY]
        frames = [
            SourceLine(path, int(line), function, code.strip())
            for path, line, function, code in STACK_FRAME.findall("".join(traces[:1]))
        ]
        own = [frame for frame in frames if PACKAGE_FOLDERS.isdisjoint(PATH_SEPARATOR.split(frame.path))]
        return next(reversed(own or frames), None)

    @property
    def is_function_call(self) -> bool:
        """Whether the node calls a local function.

        The body of the function is then in `bodies`.
        """
        return bool(self.bodies) and self.bodies[0].name.startswith("@")

    @property
    def used_tensors(self) -> list[int]:
        """The tensor numbers of the inputs, and of the outputs of the bodies."""
        read = [*self.inputs, *[tensor for body in self.bodies for tensor in body.outputs]]
        return [tensor for tensor in read if tensor != ABSENT]


class Payload(Record):
    """The byte range of stripped elements in the file.

    The range covers one or more complete fields of a TensorProto, tags included. The end is exclusive.
    """

    start: int
    end: int


class Model(Record):
    """An ONNX model read from a file."""

    path: Path
    opset: Mapping[str, int]
    """The opset version by domain; ONNX's own domain is `ai.onnx`."""
    names: tuple[str, ...]
    """The name of each tensor, indexed by tensor number; names are not unique."""
    inputs: tuple[ValueInfo, ...]
    """The inputs without an initializer, in file order."""
    outputs: tuple[ValueInfo, ...]
    graph: NodeGraph
    proto: Any
    """The ModelProto without the stripped payloads; `restore_payloads` adds them again."""
    payloads: Mapping[int, Payload]
    """The stripped payloads, by marker number."""


def iter_nodes(graphs: Iterable[NodeGraph]) -> Iterator[Node]:
    """Yield all nodes of the graphs.

    Each node is followed by the nodes in its subgraphs.
    """
    for body in graphs:
        for node in body.nodes:
            yield node
            if node.bodies:
                yield from iter_nodes(node.bodies)


def encode_varint(number: int) -> bytes:
    r"""Encode an integer as a protobuf varint: seven bits per byte, lowest first.

    >>> encode_varint(300)
    b'\xac\x02'
    """
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


MARKER_TAG = encode_varint((2**29 - 1) << 3 | VARINT)
"""The protobuf tag of the marker field, which has the largest field number that protobuf allows."""


def strip_payloads(data: Buffer, max_copied: int = MAX_COPIED_BYTES) -> tuple[bytes, dict[int, Payload]]:
    """Strip large payloads from a model message.

    Returns the message and the payloads by marker number. A nested message of up to `max_copied` bytes is copied
    without a search for payloads.

    Raises `ValueError` for a malformed or truncated message, and for nesting deeper than protobuf allows.
    """
    payloads: dict[int, Payload] = {}
    first = int.from_bytes(os.urandom(4), "little") << 28  # random, so that no file can contain a valid marker

    def replace_elements(start: int, end: int) -> Iterator[Replacement]:
        """Yield the replacement of a tensor's elements by markers.

        `start` and `end` are the byte range of the tensor.
        """
        for run in _element_ranges(data, start, end):
            mark = first + len(payloads)
            payloads[mark] = Payload(*run)
            yield *run, [MARKER_TAG + encode_varint(mark)]

    pieces = _rewrite_tensors(
        data, (0, len(data)), MODEL_FIELDS, lambda start, end: end - start > max_copied, replace_elements
    )
    return b"".join(pieces or [data]), payloads


def restore_payloads(
    message: bytes, payloads: Mapping[int, Payload], data: Buffer, fields: Mapping[int, object] = MODEL_FIELDS
) -> list[Buffer]:
    """Return a model message with its payloads restored, as a list of pieces.

    `data` is the content of the file from which the message was read. The pieces are slices of `message` and `data`, so
    that no payload is copied. `fields` is the field table of the message; the default is that of a ModelProto.
    """
    view = memoryview(message)
    markers = [match.start() for match in re.finditer(re.escape(MARKER_TAG), message)] if payloads else []

    def has_marker(start: int, end: int) -> bool:
        """Return whether a byte range of the message contains a marker."""
        index = bisect_left(markers, start)
        return index < len(markers) and markers[index] < end

    def replace_markers(start: int, end: int) -> Iterator[Replacement]:
        """Yield the replacements of a tensor's markers by its payloads.

        `start` and `end` are the byte range of the tensor.
        """
        for first, _, _, last in _iter_fields(view, start, end):
            if (
                message.startswith(MARKER_TAG, first, last)
                and (mark := _decode_varint(view, first + 5, last)[0]) in payloads
            ):
                yield first, last, [data[payloads[mark].start : payloads[mark].end]]

    return _rewrite_tensors(view, (0, len(view)), fields, has_marker, replace_markers) or [view]


def _rewrite_tensors(
    data: Buffer,
    span: tuple[int, int],
    message_fields: Mapping[int, object],
    should_descend: Callable[[int, int], bool],
    replace_in_tensor: Callable[[int, int], Iterator[Replacement]],
    depth: int = 0,
) -> list[Buffer] | None:
    """Edit the tensors in a protobuf message, and return the message as pieces.

    `span` is the byte range of the message in `data`, and `message_fields` is its field table (see `MODEL_FIELDS`).
    `should_descend` returns whether to edit the nested message with the given start and end. `replace_in_tensor` yields
    the replacements in the tensor with the given start and end. The lengths of enclosing messages are updated. Returns
    None if nothing changed.
    """
    if depth > MAX_MESSAGE_DEPTH:
        raise ValueError("it is nested deeper than protobuf reads")
    replacements: list[Replacement] = []
    for start, number, content, end in () if message_fields is TENSOR_FIELDS else _iter_fields(data, *span):
        inner = message_fields.get(number)
        if inner is None or content < 0 or not should_descend(content, end):
            continue
        pieces = _rewrite_tensors(data, (content, end), inner, should_descend, replace_in_tensor, depth + 1)  # type: ignore[arg-type]
        if pieces is not None:
            tag = bytes(data[start : _decode_varint(data, start, end)[1]])
            replacements.append((start, end, [tag, encode_varint(sum(map(len, pieces))), *pieces]))
    if message_fields is TENSOR_FIELDS:
        replacements = list(replace_in_tensor(*span))
    return _splice(data, span, replacements) if replacements else None


def _splice(data: Buffer, span: tuple[int, int], replacements: list[Replacement]) -> list[Buffer]:
    """Apply the replacements to a byte range, and return it as a list of pieces."""
    offset, last = span
    pieces: list[Buffer] = []
    for start, end, buffers in replacements:
        pieces += [data[offset:start], *buffers]
        offset = end
    return [*pieces, data[offset:last]]


def _element_ranges(data: Buffer, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of a tensor's elements, merging adjacent fields."""
    for holds_elements, run in groupby(_iter_fields(data, start, end), lambda field: field[1] in ELEMENT_FIELDS):
        spans = [(first, last) for first, _, _, last in run]
        if holds_elements:
            yield spans[0][0], spans[-1][1]


def _iter_fields(data: Buffer, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the start, field number, content start and end of each message field.

    The content start is -1 for a field of a fixed-size or varint type. Raises `ValueError` if a field extends beyond
    the end of the message.
    """
    offset = start
    while offset < end:
        tag, content = _decode_varint(data, offset, end)
        wire, length = tag & 7, -1
        if wire == LENGTH:
            length, content = _decode_varint(data, content, end)
            after = content + length
        elif wire == VARINT:
            after = _decode_varint(data, content, end)[1]
        elif wire in (FIXED64, FIXED32):
            after = content + (8 if wire == FIXED64 else 4)
        else:
            raise ValueError(TRUNCATED_MESSAGE)
        if after > end or tag < 8:
            raise ValueError(TRUNCATED_MESSAGE)
        yield offset, tag >> 3, content if length >= 0 else -1, after
        offset = after


def _decode_varint(data: Buffer, offset: int, end: int) -> tuple[int, int]:
    """Decode the varint at an offset.

    Returns its value and its end offset. Raises `ValueError` if the varint is truncated.
    """
    number, shift = 0, 0
    while offset < end and shift < 64:
        byte = data[offset]
        offset += 1
        if byte < 128:
            return number | byte << shift, offset
        number |= (byte & 127) << shift
        shift += 7
    raise ValueError(TRUNCATED_MESSAGE)


def read_model(path: str | Path) -> Model:
    """Read a model from an ONNX file.

    Raises `ShapeError` (file) if the file cannot be used or onnx is not installed.
    """
    messages = import_onnx_messages()
    try:
        message, payloads = _map_message(path)
        return build_model(_parse_message(message, messages), Path(path), payloads)
    except (OSError, ValueError) as error:
        raise file_error(f"{path}: {error_reason(error)}") from None


def file_error(message: str, hint: str = "") -> ShapeError:
    """Build the error for an unusable file."""
    return ShapeError(Problem(FILE, message, hint))


def import_onnx_messages() -> Any:
    """Return the module of ONNX's protobuf classes.

    Raises `ShapeError` (file) if onnx is not installed.
    """
    try:
        from onnx import onnx_ml_pb2
    except ImportError:
        raise file_error(missing_package_message("onnx", "onnx")) from None
    return onnx_ml_pb2


def _map_message(path: str | Path) -> tuple[bytes, dict[int, Payload]]:
    """Return the message of a model file, and the large payloads that were stripped from it."""
    with os.fdopen(open_descriptor(str(path)), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise ValueError("it is empty")
        if size <= MAX_UNSTRIPPED_BYTES:
            return file.read(), {}
        return strip_payloads(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _parse_message(message: bytes, messages: Any) -> Any:
    """Parse a ModelProto.

    Raises `ValueError` if the message is malformed.
    """
    from google.protobuf.message import DecodeError

    try:
        proto = messages.ModelProto.FromString(message)
    except DecodeError:
        strip_payloads(message, 0)  # raises a more specific error if the message is truncated or nested too deeply
        raise ValueError(TRUNCATED_MESSAGE) from None
    if not proto.HasField("graph"):
        raise ValueError("it holds no graph")
    return proto


def build_model(proto: Any, path: Path, payloads: Mapping[int, Payload]) -> Model:
    """Build a `Model` from a ModelProto.

    Raises `ValueError` for a cycle, a recursive function, and a name that is not UTF-8.
    """
    opset = {_normalize_domain(entry.domain): entry.version for entry in proto.opset_import}
    build = _GraphBuilder(proto, opset)
    graph = build.build_graph(proto.graph, "", "", Scope({}), NO_ATTRIBUTES)
    initialized = {constant.tensor for constant in graph.initializers}
    inputs = [
        _parse_value_info(value, number)
        for value, number in zip(proto.graph.input, graph.inputs, strict=True)
        if number not in initialized
    ]
    outputs = [
        _parse_value_info(value, number) for value, number in zip(proto.graph.output, graph.outputs, strict=True)
    ]
    opsets = {name or "ai.onnx": version for name, version in opset.items()}
    return Model(path, opsets, tuple(build.names), tuple(inputs), tuple(outputs), graph, proto, payloads)


def _check_utf8(name: str | bytes) -> str:
    """Return a name if it is UTF-8, otherwise raise `ValueError`.

    Protobuf returns a name that is not UTF-8 as bytes.
    """
    if isinstance(name, bytes):
        raise ValueError("a name in it is not UTF-8")
    return name


def _normalize_domain(name: str) -> str:
    """Return the domain of an operator; the empty string for ONNX's own domain."""
    return "" if not name or name == "ai.onnx" else _check_utf8(name)


def _parse_value_info(value: Any, number: int) -> ValueInfo:
    tensor = value.type.tensor_type
    dims = tuple([_parse_dim(dim) for dim in tensor.shape.dim]) if tensor.HasField("shape") else None
    return ValueInfo(number, value.name, tensor.elem_type, dims)


def _parse_dim(dim: Any) -> int | str | None:
    """Parse a declared dim.

    Returns None if it is undeclared, negative, or has an empty name.
    """
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return _check_utf8(dim.dim_param) or None


class _Function(NamedTuple):
    """The parts of a FunctionProto.

    They are read once, because protobuf copies them at each access.
    """

    key: tuple[str, str, str]
    """The domain, the name and the overload of the function."""
    graph_name: str
    absent_inputs: dict[str, int]
    """A tensor number for each formal input by name; each number is `ABSENT`."""
    outputs: list[str]
    nodes: list[Any]
    attributes: dict[str, Any]
    """The AttributeProtos of attributes with a default value, by name."""
    opsets: dict[str, int]


def _parse_function(proto: Any) -> _Function:
    key = (_normalize_domain(proto.domain), _check_utf8(proto.name), proto.overload)
    return _Function(
        key=key,
        graph_name=f"@{proto.name}",
        absent_inputs=dict.fromkeys(proto.input, ABSENT),
        outputs=[*proto.output],
        nodes=[*proto.node],
        attributes={attribute.name: attribute for attribute in proto.attribute_proto},
        opsets={_normalize_domain(entry.domain): entry.version for entry in proto.opset_import},
    )


class _GraphBuilder:
    """Build `NodeGraph` and `Node` objects, and assign the tensor numbers."""

    def __init__(self, proto: Any, opset: Mapping[str, int]) -> None:
        self.names = [""]
        self.opset = opset
        self.functions = {function.key: function for function in map(_parse_function, proto.functions)}
        self.call_stack: list[tuple[str, str, str]] = []
        self.expanded_nodes = 0

    def add_tensor(self, name: str, scope: Scope) -> int:
        """Add a tensor to a scope and return its number."""
        if not name:
            return ABSENT
        number = scope[name] = len(self.names)
        self.names.append(_check_utf8(name))
        return number

    def build_graph(self, graph: Any, name: str, path: str, scope: Scope, call_attributes: CallAttributes) -> NodeGraph:
        """Build a graph with its nodes.

        `path` is the prefix of the node paths, and `call_attributes` are the attributes of the enclosing function call.
        """
        inputs = tuple([self.add_tensor(value.name, scope) for value in graph.input])
        constants = [
            Initializer(scope.maps[0].get(proto.name) or self.add_tensor(proto.name, scope), proto)
            for proto in graph.initializer
        ]
        nodes = self._build_nodes(graph.node, path, scope, call_attributes)
        outputs = tuple([self._tensor_number(value.name, scope) for value in graph.output])
        return NodeGraph(name, inputs, outputs, nodes, tuple(constants))

    def _tensor_number(self, name: str, scope: Scope) -> int:
        """Return the number of the tensor `name`, adding the tensor if it is undefined."""
        if not name:
            return ABSENT
        number = scope.get(name)
        return self.add_tensor(name, scope) if number is None else number

    def _build_nodes(
        self, protos: Iterable[Any], path: str, scope: Scope, call_attributes: CallAttributes
    ) -> tuple[Node, ...]:
        """Build the nodes of a graph, in topological order.

        Raises `ValueError` if the graph has a cycle.
        """
        nodes, is_sorted = [], True
        for index, proto in enumerate(protos):
            known = len(self.names)
            node = self._build_node(proto, f"{path}{index}", scope, call_attributes)
            nodes.append(node)
            if node.inputs and max(node.inputs) >= known:
                is_sorted = False
        return tuple(nodes) if is_sorted else _sort_nodes(nodes)

    def _build_node(self, proto: Any, path: str, scope: Scope, call_attributes: CallAttributes) -> Node:
        """Build a node with its subgraphs, or with the body of the called function."""
        names = scope.maps[0]
        inputs = tuple([names.get(name) or self._tensor_number(name, scope) for name in proto.input[:]])
        domain, op = _normalize_domain(proto.domain), _check_utf8(proto.op_type)
        bodies: tuple[NodeGraph, ...] = ()
        attributes: Mapping[str, Any] = NO_ATTRIBUTES
        _check_utf8(proto.name)
        if proto.attribute:
            if call_attributes is not NO_ATTRIBUTES:
                proto = _substitute_attributes(proto, call_attributes)
            attributes, bodies = self._parse_attributes(proto, path, scope, call_attributes)
        function = self.functions and self.functions.get((domain, op, proto.overload))
        if function:
            bodies = self._expand_function(function, proto, path, inputs)
        outputs = tuple([names.get(name) or self.add_tensor(name, scope) for name in proto.output[:]])
        opset = self.opset.get(domain, 0)
        return Node(path, op, domain, opset, inputs, outputs, attributes, bodies, proto)

    def _parse_attributes(
        self, proto: Any, path: str, scope: Scope, call_attributes: CallAttributes
    ) -> tuple[Mapping[str, Any], tuple[NodeGraph, ...]]:
        """Return the attribute values of a node by name, and the subgraphs of the node."""
        values: dict[str, Any] = {}
        bodies: list[NodeGraph] = []
        for attribute in proto.attribute:
            if attribute.HasField("g"):
                name = _check_utf8(attribute.name)
                if any(body.name == name for body in bodies):
                    raise ValueError(f"node {path} has two graphs called {escape_unprintable(truncate(name))}")
                bodies.append(
                    self.build_graph(attribute.g, name, f"{path}/{name}/", scope.new_child(), call_attributes)
                )
            elif not attribute.ref_attr_name:
                values[_check_utf8(attribute.name)] = attribute_value(attribute)
        return values, tuple(bodies)

    def _expand_function(
        self, function: _Function, call: Any, path: str, inputs: tuple[int, ...]
    ) -> tuple[NodeGraph, ...]:
        """Build the body of a function for one call of the function.

        Returns an empty tuple if `MAX_EXPANDED_NODES` or `MAX_CALL_DEPTH` is exceeded. Raises `ValueError` for a
        recursive function.
        """
        if function.key in self.call_stack:
            raise ValueError(f"the function {escape_unprintable(truncate(function.key[1]))} calls itself")
        self.expanded_nodes += len(function.nodes)
        if self.expanded_nodes > MAX_EXPANDED_NODES or len(self.call_stack) >= MAX_CALL_DEPTH:
            return ()
        passed, outer = {**function.attributes, **{each.name: each for each in call.attribute}}, self.opset
        if not function.opsets.items() <= outer.items():
            self.opset = {**outer, **function.opsets}
        self.call_stack.append(function.key)
        scope = Scope({**function.absent_inputs, **dict(zip(function.absent_inputs, inputs, strict=False))})
        nodes = self._build_nodes(function.nodes, f"{path}/{function.graph_name}/", scope, passed)
        outputs = tuple([self._tensor_number(output, scope) for output in function.outputs])
        self.call_stack.pop()
        self.opset = outer
        return (NodeGraph(function.graph_name, (), outputs, nodes, ()),)


def attribute_value(proto: Any) -> Any:
    """Return the value of an AttributeProto.

    The value is a number, bytes, a protobuf message, or a tuple of these types. It is None if the attribute type is not
    supported.
    """
    if proto.type not in ATTRIBUTE_VALUE_FIELDS:
        return None
    value = getattr(proto, ATTRIBUTE_VALUE_FIELDS[proto.type])
    return tuple(value) if proto.type in LIST_TYPES else value


def _substitute_attributes(proto: Any, call_attributes: CallAttributes) -> Any:
    """Substitute the attributes of a call into a node of the called function.

    A node attribute that refers to a missing attribute of the call is removed. Returns a copy of the NodeProto, or the
    NodeProto itself if it refers to no attribute.
    """
    if not any(attribute.ref_attr_name for attribute in proto.attribute):
        return proto
    copy = type(proto)()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    for attribute in proto.attribute:
        value = call_attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if value is not None:
            copy.attribute.append(value)
            copy.attribute[-1].name = attribute.name
    return copy


def _sort_nodes(nodes: list[Node]) -> tuple[Node, ...]:
    """Sort nodes topologically.

    Raises `ValueError` if they form a cycle.
    """
    maker = {number: index for index, node in enumerate(nodes) for number in node.outputs if number}
    read = [[number for inner in (node, *iter_nodes(node.bodies)) for number in inner.used_tensors] for node in nodes]
    reads = {index: [maker[number] for number in numbers if number in maker] for index, numbers in enumerate(read)}
    try:
        return tuple([nodes[index] for index in TopologicalSorter(reads).static_order()])
    except CycleError as error:
        path = escape_unprintable(truncate(nodes[error.args[1][0]].path))
        raise ValueError(f"its nodes are in a cycle, node {path} among them") from None


def parse_elements(proto: Any) -> ElementArray | None:
    """Parse the elements of a TensorProto.

    Returns None if there are too many elements, or if the elements are missing or not numeric.
    """
    shape, data = tuple(proto.dims), proto.raw_data
    if data and proto.data_type == INT64 and len(data) <= 8 * MAX_ELEMENTS and shape == (len(data) // 8,):
        # a target or an index list; `to_array` takes five times as long
        return np.frombuffer(data, "<i8") if proto.data_location != 1 and len(data) % 8 == 0 else None
    if proto.data_type not in DTYPE_NAMES or proto.data_location == 1 or len(shape) > 8 or min(shape, default=0) < 0:
        return None
    kind = np.dtype(DTYPE_NAMES[proto.data_type])
    if prod(shape) > (MAX_ELEMENTS if kind.kind in "iub" else MAX_FLOAT_ELEMENTS):
        return None
    from onnx import numpy_helper

    try:
        return np.asarray(numpy_helper.to_array(proto)).astype(kind, copy=False)
    except (ValueError, TypeError):
        return None


def load_elements(model: Model, proto: Any) -> ElementArray | None:
    """Load all elements of a TensorProto from the message or from the stripped payload.

    Returns None for external data and for unsupported element types.
    """
    if proto.data_location == 1 or proto.data_type not in DTYPE_NAMES:
        return None
    from onnx import numpy_helper

    with model.path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        pieces = restore_payloads(proto.SerializeToString(), model.payloads, data, TENSOR_FIELDS)
        complete = type(proto).FromString(b"".join(pieces))
    try:
        return np.asarray(numpy_helper.to_array(complete))
    except (ValueError, TypeError):
        return None
