"""ONNX's own shapes of the outputs of one node, for the operators that core does not answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shapecalc.models.batch_axis import Sizes
from shapecalc.models.file import ABSENT, Node
from shapecalc.models.lanes import Shapes
from shapecalc.models.operators import LARGEST_SIZE

Kind = tuple[int, tuple[int | str, ...] | None] | bytes
"""What is known of a tensor: its element type and shape; the message of its type if it is no tensor.

A text in a shape is a name for a dim that is not the same in all lanes."""
Kinds = tuple[Kind | None, ...]
"""What is known of a node's inputs; None for one left out."""
InLanes = tuple[int, Shapes]
"""The element type of a tensor, and its shape in each lane."""
Outputs = tuple[Kind, ...] | str
"""What is known of the outputs; or why the node refuses its inputs."""
MOST_PARTS = 4096
"""The largest number that an attribute which counts things may have: the inference makes room for as many."""
SAID = "[ShapeInferenceError] "
"""What ONNX writes in front of a reason."""
COUNTS = ("num_outputs", "group", "num_groups")
"""The attributes that count or divide, and may be neither 0 nor large."""
DIVISORS = ("strides", "stride", "dilations")
"""The attributes of numbers that are divided by."""


class NamedInputs:
    """Inputs of a node that stand for those of all lanes: each dim that is not the same in all of them has a name."""

    def __init__(self, inputs: Sequence[InLanes | None], lanes: Sequence[int]) -> None:
        """Name the dims of inputs in some lanes, in which all have shapes; `kinds` is None if their ranks differ.

        >>> NamedInputs([(1, ((1, 3), (2, 3))), (1, ((4, 3), (4, 3)))], (0, 1)).kinds
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


@dataclass(slots=True, eq=False)
class Form:
    """A node without the names of its tensors, as ONNX is asked about it."""

    schema: Any
    message: Any
    imports: list[Any]
    """The opsets that function bodies are read with."""


class Inference:
    """Asks ONNX for the outputs of nodes, and keeps the answers: most nodes of a model have a double."""

    def __init__(self) -> None:
        """Import what is needed."""
        import onnx
        from onnx import checker, defs, shape_inference

        self._onnx, self._ask, self._schema = onnx, shape_inference.infer_node_outputs, defs.get_schema
        self._refusal, self._no_schema = shape_inference.InferenceError, defs.SchemaError
        self._unfit = checker.ValidationError
        self._forms: dict[object, Form | None] = {}
        self._known: dict[object, Outputs] = {}

    def form(self, node: Node) -> Form | None:
        """Return what nodes have in common that have the same operator, attributes and optional inputs.

        None if the operator is not ONNX's.
        """
        given = tuple([number != ABSENT for number in node.inputs])
        made = tuple([number != ABSENT for number in node.outputs])
        attributes = tuple([each.SerializeToString() for each in node.proto.attribute]) if node.attributes else ()
        key = (node.op, node.domain, node.opset, given, made, attributes)
        if key not in self._forms:
            self._forms[key] = self._new_form(node, given, made)
        return self._forms[key]

    def _new_form(self, node: Node, given: Sequence[bool], made: Sequence[bool]) -> Form | None:
        try:
            schema = self._schema(node.op, max(node.opset, 1), node.domain)
        except self._no_schema:
            return None
        inputs = [str(place) if there else "" for place, there in enumerate(given)]
        outputs = [f"y{place}" if there else "" for place, there in enumerate(made)]
        message = self._onnx.NodeProto(op_type=node.op, domain=node.domain, input=inputs, output=outputs)
        message.attribute.extend(node.proto.attribute)
        domains = dict.fromkeys(("", node.domain))
        return Form(schema, message, [self._onnx.helper.make_opsetid(domain, node.opset) for domain in domains])

    def outputs(self, node: Node, form: Form, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Outputs:
        """Return what is known of a node's outputs, in one lane, or why it refuses its inputs.

        `kinds` are the inputs' (None for one left out), `values` their elements where they are known.
        """
        elements = [each is not None and (each.dtype.char, each.shape, each.tobytes()) for each in values]
        key = (form, kinds, *elements)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._inferred(node, form, kinds, values)
        return found

    def in_all(
        self, node: Node, form: Form, inputs: Sequence[InLanes | None], values: tuple[Any, ...]
    ) -> tuple[list[Shapes], list[int]] | None:
        """Return the shapes of a node's outputs in each lane, and their types, of an operator that hands dims on.

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
        named = NamedInputs(inputs, lanes)
        outputs = self.outputs(node, form, named.kinds, values) if named.kinds and named.sizes else ""
        if isinstance(outputs, str):
            return None
        shapes, dtypes = [], []
        for kind in outputs:
            found = named.shapes(kind)
            if found is None:
                return None
            left = iter(found)
            shapes.append(tuple([None if shape is None else next(left) for shape in first]))
            dtypes.append(kind[0])
        return shapes, dtypes

    def _inferred(self, node: Node, form: Form, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Outputs:
        from_array = self._onnx.numpy_helper.from_array
        unknown: Outputs = tuple([(0, None)] * len(node.outputs))
        if (node.attributes and _is_dangerous(node)) or any(map(_is_huge, kinds)):
            return unknown
        types = {str(place): self._type(each) for place, each in enumerate(kinds) if each is not None}
        known = {str(place): from_array(each) for place, each in enumerate(values) if each is not None}
        try:
            found = self._ask(form.schema, form.message, types, known, opset_imports=form.imports)
        except self._refusal as error:
            said = str(error).rpartition(SAID)[2]
            return said if all(each and type(each) is tuple and each[1] is not None for each in kinds) else unknown
        except (self._unfit, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
            return unknown
        return tuple([self._kind(found.get(name)) for name in form.message.output])

    def _type(self, kind: Kind) -> Any:
        """Return the message of a type."""
        if isinstance(kind, bytes):
            return self._onnx.TypeProto.FromString(kind)
        return self._onnx.helper.make_tensor_type_proto(*kind)

    def _kind(self, message: Any) -> Kind:
        """Return what a type's message says."""
        if message is None:
            return (0, None)
        if not message.HasField("tensor_type"):
            return bytes(message.SerializeToString())
        tensor = message.tensor_type
        if not tensor.HasField("shape"):
            return (tensor.elem_type, None)
        dims = tuple([dim.dim_value if dim.HasField("dim_value") else dim.dim_param or -1 for dim in tensor.shape.dim])
        return (tensor.elem_type, None if -1 in dims else dims)


def _is_huge(kind: Kind | None) -> bool:
    """Say whether the sizes of a tensor are too large for the inference's arithmetic."""
    if type(kind) is tuple:
        for dim in kind[1] or ():
            if type(dim) is int and dim > LARGEST_SIZE:
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
