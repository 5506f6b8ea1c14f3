"""Inference: ONNX's own shapes of the outputs of one node, for the operators that are not ours."""

from __future__ import annotations

from shapecalc.models.element_kinds import NUMBERS
from shapecalc.models.model import ABSENT
from shapecalc.models.payloads import varint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from shapecalc.models.model import Node
    from shapecalc.models.walk import Shapes, Sizes

    Kind = tuple[int, tuple[int | str, ...] | None] | bytes
    """What is known of a tensor: its element type and shape; the message of its type if it is no tensor.

    A text in a shape is a name for a dim that is not the same in all lanes."""
    Kinds = tuple[Kind | None, ...]
    """What is known of a node's inputs; None for one left out."""
    InLanes = tuple[int, Shapes]
    """The element type of a tensor, and its shape in each lane."""
    Told = tuple[Kind, ...] | str
    """What is known of the outputs; or why the node refuses its inputs."""

LARGEST_PART = 2**40
"""A dim above which ONNX's arithmetic, which is of 64 bits, is not asked."""
MOST_PARTS = 4096
"""The largest number that an attribute which counts things may have: the inference makes room for as many."""
SAID = "[ShapeInferenceError] "
"""What ONNX writes in front of a reason."""
COUNTS = ("num_outputs", "group", "num_groups")
"""The attributes that count or divide, and may be neither 0 nor large."""
DIVISORS = ("strides", "stride", "dilations")
"""The attributes of numbers that are divided by."""


HAND_ON = """
    ArgMax ArgMin AveragePool Cast Conv ConvTranspose Gather Gemm GlobalAveragePool GlobalMaxPool LayerNormalization
    MatMul MaxPool Pad ReduceL2 ReduceMax ReduceMean ReduceMin ReduceSum Resize Slice Split TopK Upsample
"""
CARRYING = frozenset(HAND_ON.split())
"""The operators that refuse no size of a dim which their inference hands on: such a dim may have a name."""


class Named:
    """Inputs of a node that stand for those of all lanes: each dim that is not the same in all of them has a name."""

    def __init__(self, inputs: Sequence[InLanes | None], lanes: Sequence[int]) -> None:
        """Name the dims of inputs in some lanes, in which all have shapes; `kinds` is None if their ranks differ.

        >>> Named([(1, ((1, 3), (2, 3))), (1, ((4, 3), (4, 3)))], (0, 1)).kinds
        ((1, ('0.0', 3)), (1, (4, 3)))
        """
        self.sizes: dict[str, Sequence[int]] = {}
        """The size of each name in each of these lanes."""
        self.kinds: Kinds | None = None
        self._count = len(lanes)
        found: list[Kind | None] = []
        for place, given in enumerate(inputs):
            if given is None:
                found.append(None)
                continue
            shapes = [given[1][lane] or () for lane in lanes]
            if shapes.count(shapes[0]) == len(shapes):
                found.append((given[0], shapes[0]))
            elif len({*map(len, shapes)}) == 1:
                found.append((given[0], tuple(self._dims(place, shapes))))
            else:
                return
        self.kinds = tuple(found)

    def _dims(self, place: int, shapes: Sequence[Sizes]) -> Iterator[int | str]:
        """Yield the dims of an input, and keep the sizes of those that have names."""
        for axis, sizes in enumerate(zip(*shapes, strict=True)):
            if sizes.count(sizes[0]) == len(sizes):
                yield sizes[0]
            else:
                self.sizes[f"{place}.{axis}"] = sizes
                yield f"{place}.{axis}"

    def shapes(self, kind: Kind) -> list[Sizes] | None:
        """Return the shape of an output in each of the lanes; None unless it has each name once."""
        if type(kind) is not tuple or kind[1] is None:
            return None
        if sorted([dim for dim in kind[1] if type(dim) is str]) != sorted(self.sizes):
            return None
        columns = [(dim,) * self._count if type(dim) is int else self.sizes[dim] for dim in kind[1]]  # type: ignore[index]
        return [*zip(*columns, strict=True)]


class Message(bytes):
    """A message that is written already: ONNX asks its arguments for nothing but their bytes, each time."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """Return the bytes."""
        return self


class NodeMessage(Message):
    """A node that is written already."""

    input: tuple[str, ...]


class Inference:
    """Asks ONNX for the outputs of nodes, and keeps the answers: most nodes of a model have a double."""

    def __init__(self) -> None:
        """Import what is needed."""
        import onnx
        from onnx import checker, defs, shape_inference

        self._onnx, self._ask = onnx, shape_inference.infer_node_outputs
        self._refused, self._unfit = shape_inference.InferenceError, checker.ValidationError
        self._schema, self._no_schema = defs.get_schema, defs.SchemaError
        self._schemas: dict[tuple[str, str, int], Any] = {}
        self._numbers: dict[object, int] = {}
        self._forms: list[tuple[Any, NodeMessage, tuple[str, ...]]] = []
        self._types: dict[Kind, Message] = {}
        self._dims: dict[int | str, bytes] = {}
        self._told: dict[object, Told] = {}
        self._keys: dict[int, tuple[Any, object]] = {}
        self._tensors: dict[object, Message] = {}
        self._imports: dict[tuple[str, int], list[Any]] = {}

    def schema(self, node: Node) -> Any:
        """Return what ONNX says of a node's operator; None if it has none of that name in that opset."""
        key = (node.op, node.domain, node.opset)
        if key not in self._schemas:
            try:
                self._schemas[key] = self._schema(node.op, max(node.opset, 1), node.domain)
            except self._no_schema:
                self._schemas[key] = None
        return self._schemas[key]

    def form(self, node: Node) -> int | None:
        """Return the number that nodes have in common if they have the same operator, attributes and optional inputs.

        None if the operator is not ONNX's.
        """
        schema = self.schema(node)
        if schema is None:
            return None
        given = tuple([number != ABSENT for number in node.inputs])
        made = tuple([number != ABSENT for number in node.outputs])
        attributes = tuple([each.SerializeToString() for each in node.proto.attribute]) if node.attributes else ()
        key = (node.op, node.domain, node.opset, given, made, attributes)
        if key not in self._numbers:
            proto = self._onnx.NodeProto(op_type=node.op, domain=node.domain)
            proto.input.extend([str(place) if there else "" for place, there in enumerate(given)])
            proto.output.extend([f"y{place}" if there else "" for place, there in enumerate(made)])
            proto.attribute.extend(node.proto.attribute)
            message = NodeMessage(proto.SerializeToString())
            message.input = tuple(proto.input)
            self._numbers[key] = len(self._forms)
            self._forms.append((schema, message, tuple(proto.output)))
        return self._numbers[key]

    def outputs(self, node: Node, form: int, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Told:
        """Return what is known of a node's outputs, in one lane, or why it refuses its inputs.

        `kinds` are the inputs' (None for one left out), `values` their elements where they are known.
        """
        key = (form, kinds, tuple([None if each is None else self._key(each) for each in values]))
        found = self._told.get(key)
        if found is None:
            found = self._told[key] = self._inferred(node, form, kinds, values)
        return found

    def in_all(
        self, node: Node, form: int, inputs: Sequence[InLanes | None], values: tuple[Any, ...]
    ) -> tuple[list[Shapes], list[int]] | None:
        """Return the shapes of a node's outputs in each lane, and their types, of an operator that is `CARRYING`.

        None if it does not hand on what is not the same in all lanes; if it does, it refuses nothing in any.
        """
        if not inputs or inputs[0] is None:
            return None
        first = inputs[0][1]
        lanes = [lane for lane, shape in enumerate(first) if shape is not None]
        if len(lanes) < 2:
            return None
        for each in inputs:
            if each is not None and None in each[1] and None in [each[1][lane] for lane in lanes]:
                return None
        named = Named(inputs, lanes)
        told = self.outputs(node, form, named.kinds, values) if named.kinds and named.sizes else ""
        if isinstance(told, str):
            return None
        shapes, dtypes = [], []
        for kind in told:
            found = named.shapes(kind)
            if found is None:
                return None
            left = iter(found)
            shapes.append(tuple([None if shape is None else next(left) for shape in first]))
            dtypes.append(kind[0])
        return shapes, dtypes

    def _key(self, array: Any) -> object:
        """Return a key that arrays of the same elements have in common; an array is looked at once."""
        held = self._keys.get(id(array))
        if held is None or held[0] is not array:
            held = self._keys[id(array)] = array, (array.dtype.char, array.shape, array.tobytes())
        return held[1]

    def _inferred(self, node: Node, form: int, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Told:
        schema, message, outputs = self._forms[form]
        given: Any = message
        unknown: Told = tuple([(0, None)] * len(node.outputs))
        if (node.attributes and _is_dangerous(node)) or any(map(_is_huge, kinds)):
            return unknown
        types: Any = {str(place): self._type(each) for place, each in enumerate(kinds) if each is not None}
        known: Any = {str(place): self._tensor(each) for place, each in enumerate(values) if each is not None}
        try:
            found = self._ask(schema, given, types, known, opset_imports=self._imported(node))
        except self._refused as error:
            said = str(error).rpartition(SAID)[2]
            return said if all(each and type(each) is tuple and each[1] is not None for each in kinds) else unknown
        except (self._unfit, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
            return unknown
        return tuple([self._kind(found.get(name)) for name in outputs])

    def _imported(self, node: Node) -> list[Any]:
        """Return the opsets that a node's function bodies are read with."""
        key = (node.domain, node.opset)
        if key not in self._imports:
            ids = {"": node.opset} | {node.domain: node.opset}
            self._imports[key] = [
                self._onnx.OperatorSetIdProto(domain=name, version=each) for name, each in ids.items()
            ]
        return self._imports[key]

    def _type(self, kind: Kind) -> Message:
        """Return the message of a type. Source: TypeProto in onnx.proto."""
        found = self._types.get(kind)
        if found is None:
            found = self._types[kind] = Message(kind if isinstance(kind, bytes) else self._tensor_type(*kind))
        return found

    def _tensor_type(self, dtype: int, shape: tuple[int | str, ...] | None) -> bytes:
        parts = [b"\x08", varint(dtype)]
        if shape is not None:
            dims = b"".join([self._dims.get(size) or self._dim(size) for size in shape])
            parts += [b"\x12", varint(len(dims)), dims]
        tensor = b"".join(parts)
        return b"\x0a" + varint(len(tensor)) + tensor

    def _dim(self, size: int | str) -> bytes:
        written = b"\x08" + varint(size) if type(size) is int else b"\x12" + varint(len(size)) + size.encode()  # type: ignore[arg-type, union-attr]
        made = self._dims[size] = b"\x0a" + varint(len(written)) + written
        return made

    def _tensor(self, array: Any) -> Message:
        """Return the message of a small tensor."""
        key = self._key(array)
        if key not in self._tensors:
            made = self._onnx.TensorProto(dims=array.shape, data_type=NUMBERS[array.dtype.name])
            made.raw_data = array.tobytes()
            self._tensors[key] = Message(made.SerializeToString())
        return self._tensors[key]

    def _kind(self, told: Any) -> Kind:
        """Return what a type's message says."""
        if told is None:
            return (0, None)
        if not told.HasField("tensor_type"):
            return bytes(told.SerializeToString())
        tensor = told.tensor_type
        if not tensor.HasField("shape"):
            return (tensor.elem_type, None)
        dims = tuple([dim.dim_value if dim.HasField("dim_value") else dim.dim_param or -1 for dim in tensor.shape.dim])
        return (tensor.elem_type, None if -1 in dims else dims)


def _is_huge(kind: Kind | None) -> bool:
    """Say whether the sizes of a tensor are too large for the inference's arithmetic."""
    if type(kind) is tuple:
        for dim in kind[1] or ():
            if type(dim) is int and dim > LARGEST_PART:
                return True
    return False


def _is_dangerous(node: Node) -> bool:
    """Say whether the inference would divide by 0, or make room for as much as an attribute says."""
    for name, value in node.attributes.items():
        if name in COUNTS and not (type(value) is int and 0 < value <= MOST_PARTS):
            return True
        if name in DIVISORS and type(value) is tuple and 0 in value:
            return True
    return False
