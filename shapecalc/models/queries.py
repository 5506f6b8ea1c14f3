"""Compute the output shapes of one node with `core` or ONNX shape inference.

An operator is *listed* if `core` has an equivalent op. `core` resolves the listed operators, and ONNX shape inference
infers the outputs of all other operators. A size assignment (`Lane`) gives a size to each free dim of the model; the
output shapes are computed for each size assignment. Symbolic dims are accepted by `core`, and by shape inference that
only copies dims. Results are cached, since many nodes of a model have equal operators, inputs and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from shapecalc.core.answers import Request
from shapecalc.core.conditions import Conditions, can_hold
from shapecalc.core.dims import INT64_MAX, Monomial, is_always_integral, product, substitute
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import FrozenDict
from shapecalc.core.requests import select_rules
from shapecalc.core.resolve import resolve
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import ABSENT, Node
from shapecalc.models.free_dims import Lane, SymbolicShape, transpose_lane_shapes
from shapecalc.models.operators import (
    LISTED_OPERATORS,
    MAX_INFERRED_DIM,
    OPERATORS,
    CoreArgument,
    CoreOp,
    find_operator,
)
from shapecalc.models.walk_state import is_same_in_all_lanes

CoreArguments = FrozenDict
"""The arguments of a core op by name."""
VersionedOp = tuple[str, int | None, bool | None]
"""The name of a core op, the opset version of the model, and the value of `allowzero` (or None)."""
UNKNOWN_RESULT = (None, None, ())
"""The result of an op whose output is unknown: its output, its problem and its conditions."""
MAX_TARGET_DIMS = 10_000
"""The maximum number of entries in a shape, permutation or axes argument.

The output of an op with more entries is unknown.
"""
TensorType = tuple[int, tuple[int | str, ...] | None] | bytes
"""The element type number and the shape of a tensor, or the serialized TypeProto of a non-tensor.

A dim that differs between size assignments is represented by a name.
"""
LaneType = tuple[int, LaneShapes]
"""The element type number of a tensor, and its shape for each size assignment."""
InferredTypes = tuple[TensorType, ...] | str
"""The type of each output of a node, or the error message of ONNX shape inference."""
MAX_COUNT_ATTRIBUTE = 4096
"""The largest value of the attributes in `COUNT_ATTRIBUTES` for which shape inference is run.

Inference allocates memory in proportion to the value.
"""
ERROR_PREFIX = "[ShapeInferenceError] "
"""The prefix of the error messages of ONNX shape inference."""
COUNT_ATTRIBUTES = ("num_outputs", "group", "num_groups")
"""The attributes that are counts or divisors; shape inference crashes on 0 and on large values."""


@dataclass(slots=True, eq=False)
class CoreResults:
    """The results of a core op for each size assignment.

    Each tuple has one entry per size assignment. Equal queries return the same object, so results are compared by
    identity.
    """

    version: int | None
    """The operator version, or None if the operator does not exist in the opset."""
    outputs: tuple[Any, ...]
    """The output shape for each size assignment, or None if the op fails or its output is unknown."""
    problems: tuple[Problem | None, ...]
    """The error for each size assignment, or None if the op does not fail."""
    conditions: tuple[Conditions, ...]
    """The conditions on the sizes of named dims under which the output is valid, for each size assignment.

    They are empty for integer dims.
    """


UNKNOWN_DIM = ""
"""A dim that shape inference leaves unknown."""


@dataclass(slots=True, eq=False)
class NodeVisit:
    """A node with a core op, as a walk visits it.

    Failing upstream nodes have been fixed.
    """

    node: Node
    core_op: CoreOp
    input: LaneShapes
    """The shape of the data input for each size assignment."""
    arguments: tuple[CoreArguments | None, ...]
    """The arguments of the core op for each size assignment, or None where the arguments are unknown."""
    switch: bool | None
    """The value of the attribute `allowzero`, or None if the node does not have the attribute."""
    outputs: LaneShapes
    """The output shape for each size assignment, or None where the node fails, or an input or argument is unknown."""
    problems: tuple[Problem | None, ...]
    """The error for each size assignment, or None where the node runs or the output is unknown."""
    unknown_reason: str
    """The reason why the node cannot be checked, such as `no shape`, or an empty string."""
    answers: CoreResults

    def argument_values(self, name: str) -> tuple[Any, ...]:
        """Return the value of an argument for each size assignment.

        The value is None where the argument is unknown or absent.
        """
        return tuple([None if lane is None else lane.get(name) for lane in self.arguments])


@dataclass(slots=True, eq=False)
class NodeSignature:
    """The properties of a node on which shape inference depends.

    These are the operator, the attributes, and which inputs and outputs are present.
    """

    schema: Any
    message: Any
    opset_imports: list[Any]
    """The opset imports that inference uses for the body of a function operator."""


def has_target_input(node: Node) -> bool:
    """Return whether the second input of a node is its target (shape or axes)."""
    return _is_input_argument(LISTED_OPERATORS[node.op].arguments[0], node)


def _is_input_argument(argument: CoreArgument, node: Node) -> bool:
    """Return whether an argument is an input in the node's opset."""
    return argument.input_since is not None and node.opset >= argument.input_since


def read_allowzero(node: Node) -> bool | None:
    """Return the attribute `allowzero`, or None if it is absent."""
    name = LISTED_OPERATORS[node.op].switch
    return bool(_check_type(node.attributes[name], int)) if name and name in node.attributes else None


def read_arguments(node: Node, read_integers: Callable[[int], tuple[int, ...] | None]) -> CoreArguments | None:
    """Return the arguments of a node's core op, or None if they are unknown.

    `read_integers` maps a tensor number to the elements of the tensor, or to None if they are unknown. Raises
    `TypeError` for an attribute of the wrong type.
    """
    arguments: dict[str, Any] = {}
    for argument in LISTED_OPERATORS[node.op].arguments:
        if _is_input_argument(argument, node):
            if len(node.inputs) > 1 and node.inputs[1]:
                numbers = read_integers(node.inputs[1])
                if numbers is None or len(numbers) > MAX_TARGET_DIMS:
                    return None
                arguments[argument.name] = numbers
        elif argument.attribute in node.attributes:
            value = _check_type(node.attributes[argument.attribute], argument.kind)
            arguments[argument.name] = value.decode() if argument.kind is bytes else value
        elif argument.default is not None:
            arguments[argument.name] = argument.default
    return FrozenDict(arguments)


def _check_type(value: Any, kind: type) -> Any:
    """Return an attribute value if it has the type `kind`, otherwise raise `TypeError`.

    A tuple must contain integers.
    """
    if type(value) is not kind or (isinstance(value, tuple) and value and type(value[0]) is not int):
        raise TypeError(f"an attribute is not {kind.__name__}")
    return value


class CoreOpCache:
    """A cache of the results of core ops."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._cache: dict[object, CoreResults] = {}

    def run_core_op(
        self, node: Node, switch: bool | None, shapes: Sequence[Any], arguments: Sequence[CoreArguments | None]
    ) -> CoreResults:
        """Run the core op of a node for each size assignment, or return the cached results.

        `switch` is the value of `allowzero`. `shapes` and `arguments` contain the shape of the first input and the
        arguments of the op for each size assignment.
        """
        distinct = arguments[:1] if is_same_in_all_lanes(arguments) else arguments
        key = (node.op, node.opset, switch, *shapes, *distinct)
        answers = self._cache.get(key)
        if answers is None:
            question = LISTED_OPERATORS[node.op].op, node.opset or None, switch
            answers = self._cache[key] = _run_in_all_lanes(question, shapes, arguments)
        return answers

    def run_core_op_symbolically(
        self, visit: NodeVisit, input: SymbolicShape | None, arguments: Mapping[str, Any] | None, lanes: Sequence[Lane]
    ) -> tuple[Any, Conditions] | None:
        """Run the core op of a node on symbolic dims.

        Returns the output and its conditions. Returns None if core cannot represent a dim, if the output is unknown, or
        if the symbolic output is not equal to the output of the node for some size assignment.
        """
        if input is None or arguments is None or not _is_core_shape(input):
            return None
        if not all(_is_core_shape(value) for value in arguments.values() if isinstance(value, tuple)):
            return None
        answers = self.run_core_op(visit.node, visit.switch, (input,), (FrozenDict(arguments),))
        (output,), (problem,), (conditions,) = answers.outputs, answers.problems, answers.conditions
        if output is None and problem is None:
            return None
        return (output, conditions) if _is_consistent_with_walk(visit, output, conditions, lanes) else None


def _run_in_all_lanes(
    op_setting: VersionedOp, shapes: Sequence[Any], arguments: Sequence[CoreArguments | None]
) -> CoreResults:
    op, opset, switch = op_setting
    try:
        version = select_rules(Request(op, (), {}, "onnx", opset, None, switch)).version
    except ShapeError:
        return CoreResults(None, (None,) * len(shapes), (None,) * len(shapes), ((),) * len(shapes))
    answers = map(partial(_run_in_lane, op_setting), shapes, arguments)
    return CoreResults(version, *zip(*answers, strict=True))


def _run_in_lane(op_setting: VersionedOp, shape: Any, arguments: CoreArguments | None) -> Any:
    """Run a core op for one size assignment, and return its output, problem and conditions.

    If the input is unknown, the output of a Reshape is its target, provided that all entries are above 0. An empty
    input uses the dialect `onnxruntime`, because the ONNX specification does not define how -1 is inferred for an empty
    input.
    """
    if shape is None or arguments is None:
        target = arguments.get("target", ()) if arguments and op_setting[0] == "reshape" else ()
        return (target, None, ()) if min(target, default=0) > 0 else UNKNOWN_RESULT
    op, opset, switch = op_setting
    if any(type(dim) is int and dim > INT64_MAX for dim in shape):
        return UNKNOWN_RESULT
    dialect = "onnxruntime" if 0 in shape else "onnx"
    try:
        trace = resolve(Request(op, shape, arguments, dialect, opset, None, switch))
    except (ShapeError, TypeError):  # core does not accept an attribute of the wrong type
        return UNKNOWN_RESULT
    return trace.output, trace.problem, trace.conditions


def _is_consistent_with_walk(visit: NodeVisit, output: Any, conditions: Conditions, lanes: Sequence[Lane]) -> bool:
    """Return whether a symbolic output agrees with the output sizes that the walk computed.

    `output` is None if the op fails. Size assignments with a batch size of 0 are ignored.
    """
    if visit.core_op.returns_shape:
        return True
    for lane, shape in zip(lanes, visit.outputs, strict=True):
        if not lane.batch or visit.input is None:
            continue
        runs = output is not None and can_hold(conditions, lane.sizes)
        if runs != (shape is not None):
            return False
        if runs and tuple([substitute(dim, lane.sizes) for dim in output]) != shape:
            return False
    return True


@lru_cache(1 << 12)
def has_equal_element_count(input: SymbolicShape | None, output: SymbolicShape | None) -> bool:
    """Return whether two symbolic shapes have equal element counts at all sizes.

    Returns False if some output dim is non-integral at some size. If the result is True, the output is valid at all
    sizes, without conditions.
    """
    if not (_is_core_shape(input) and _is_core_shape(output)):
        return False
    whole = all(map(is_always_integral, output or ()))  # type: ignore[arg-type]  # all are core dims
    return whole and product(input or ()) == product(output or ())  # type: ignore[arg-type]


def _is_core_shape(shape: object) -> bool:
    """Return whether a value is a tuple of dims that core accepts."""
    return isinstance(shape, tuple) and all(isinstance(dim, (int, Monomial)) for dim in shape)


class ShapeInference:
    """A cache of the results of ONNX shape inference.

    Most nodes of a model have the same operator and inputs as an earlier node.
    """

    def __init__(self) -> None:
        """Import onnx, and create an empty cache."""
        import onnx
        from onnx import checker, defs, shape_inference

        self._onnx, self._infer_node_outputs, self._get_schema = (
            onnx,
            shape_inference.infer_node_outputs,
            defs.get_schema,
        )
        self._inference_error, self._schema_error = shape_inference.InferenceError, defs.SchemaError
        self._validation_error = checker.ValidationError
        self._signatures: dict[object, NodeSignature | None] = {}
        self._cache: dict[object, InferredTypes] = {}

    def find_signature(self, node: Node) -> NodeSignature | None:
        """Return the signature of a node, or None if ONNX has no schema for its operator.

        Nodes with the same operator, attributes, present inputs and present outputs have the same signature.
        """
        present_inputs = tuple([number != ABSENT for number in node.inputs])
        present_outputs = tuple([number != ABSENT for number in node.outputs])
        attributes = tuple([proto.SerializeToString() for proto in node.proto.attribute]) if node.attributes else ()
        key = (node.op, node.domain, node.opset, present_inputs, present_outputs, attributes)
        if key not in self._signatures:
            self._signatures[key] = self._build_signature(node, present_inputs, present_outputs)
        return self._signatures[key]

    def _build_signature(
        self, node: Node, present_inputs: Sequence[bool], present_outputs: Sequence[bool]
    ) -> NodeSignature | None:
        operator = node.op, max(node.opset, 1), node.domain
        if like := find_operator(node).onnx_equivalent:
            operator = like, self._onnx.defs.onnx_opset_version(), ""
        schema = self._find_schema(*operator)
        if schema is None:
            return None
        operator = operator[0], max(operator[1], schema.since_version), schema.domain
        op, opset, domain = operator
        inputs = [str(index) if present else "" for index, present in enumerate(present_inputs[: schema.max_input])]
        outputs = [f"y{index}" if present else "" for index, present in enumerate(present_outputs)]
        message = self._onnx.NodeProto(op_type=op, domain=domain, input=inputs, output=outputs)
        message.attribute.extend(
            [proto for proto in node.proto.attribute if not like or proto.name in schema.attributes]
        )
        domains = dict.fromkeys(("", domain))
        return NodeSignature(schema, message, [self._onnx.helper.make_opsetid(name, opset) for name in domains])

    def _find_schema(self, op: str, opset: int, domain: str) -> Any:
        """Return the schema of an operator, or None if ONNX has none.

        ONNX Runtime writes some ONNX operators in its own domain, or in files of earlier opsets.
        """
        with suppress(self._schema_error):
            return self._get_schema(op, opset, domain)
        with suppress(self._schema_error):
            return self._get_schema(op, "") if domain in OPERATORS else None
        return None

    def infer_lane(
        self, node: Node, signature: NodeSignature, input_types: tuple[TensorType | None, ...], values: tuple[Any, ...]
    ) -> InferredTypes:
        """Infer the output types of a node for one size assignment.

        `input_types` contains the type of each input, and `values` contains the elements of each input, or None if they
        are unknown. Returns the error message if the inputs are invalid.
        """
        elements = [array is not None and (array.dtype.char, array.shape, array.tobytes()) for array in values]
        key = (signature, input_types, *elements)
        outputs = self._cache.get(key)
        if outputs is None:
            outputs = self._cache[key] = self._run_inference(node, signature, input_types, values)
        return outputs

    def infer_all_lanes(
        self, node: Node, signature: NodeSignature, inputs: Sequence[LaneType | None], values: tuple[Any, ...]
    ) -> tuple[list[LaneShapes], list[int]] | None:
        """Infer the output shapes and types of a node for all size assignments at once.

        Each input dim that differs between size assignments is replaced by a name. This is valid only if shape
        inference copies dims from the inputs to the outputs. Returns None unless each name occurs exactly once in the
        output shapes.
        """
        first = inputs[0][1] if inputs and inputs[0] else ()
        lanes = [lane for lane, shape in enumerate(first) if shape is not None]
        sizes: dict[int | str, tuple[int | None, ...]] = {}
        kinds: list[Any] = []
        for index, typed in enumerate(inputs):
            axes = transpose_lane_shapes([typed[1][lane] for lane in lanes]) if typed else []
            if axes is None or any(None in axis for axis in axes):
                return None
            dims: list[Any] = [
                axis[0] if axis.count(axis[0]) == len(axis) else f"{index}.{number}" for number, axis in enumerate(axes)
            ]
            sizes |= {dim: axis for dim, axis in zip(dims, axes, strict=True) if isinstance(dim, str)}
            kinds.append(typed and (typed[0], tuple(dims)))
        outputs = self.infer_lane(node, signature, tuple(kinds), values) if sizes else ()
        shapes, dtypes = list[Any](), list[int]()
        for kind in outputs:
            dims = [*kind[1]] if isinstance(kind, tuple) and kind[1] is not None else []
            if sorted([dim for dim in dims if isinstance(dim, str)]) != sorted(map(str, sizes)):
                return None
            known = zip(*[sizes.get(dim, (dim,) * len(lanes)) for dim in dims], strict=True)
            shapes.append(tuple([None if shape is None else next(known) for shape in first]))
            dtypes.append(kind[0])  # type: ignore[arg-type]
        return (shapes, dtypes) if shapes else None

    def _run_inference(
        self, node: Node, signature: NodeSignature, input_types: tuple[TensorType | None, ...], values: tuple[Any, ...]
    ) -> InferredTypes:
        """Run ONNX shape inference for one node.

        The arguments are those of `infer_lane`.
        """
        from_array = self._onnx.numpy_helper.from_array
        unknown: InferredTypes = tuple([(0, None)] * len(node.outputs))
        dims = [dim for kind in input_types if type(kind) is tuple for dim in kind[1] or ()]
        sizes = [dim for dim in dims if type(dim) is int]
        if (node.attributes and _is_unsafe_to_infer(node)) or any(dim > MAX_INFERRED_DIM for dim in sizes):
            return unknown
        types = {str(index): self._build_type_proto(kind) for index, kind in enumerate(input_types) if kind is not None}
        known = {str(index): from_array(array) for index, array in enumerate(values) if array is not None}
        try:
            outputs = self._infer_node_outputs(
                signature.schema, signature.message, types, known, opset_imports=signature.opset_imports
            )
        except self._inference_error as error:
            message = str(error).rpartition(ERROR_PREFIX)[2]
            return (
                message
                if all(kind and type(kind) is tuple and kind[0] and kind[1] is not None for kind in input_types)
                else unknown
            )
        except (self._validation_error, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
            return unknown
        types_of_outputs = tuple([self._parse_type(outputs.get(name)) for name in signature.message.output])
        negative = [
            dim for kind in types_of_outputs if type(kind) is tuple for dim in kind[1] or () if _is_negative(dim)
        ]
        return f"an output dim is {negative[0]}" if negative else types_of_outputs

    def _build_type_proto(self, tensor_type: TensorType) -> Any:
        if isinstance(tensor_type, bytes):
            return self._onnx.TypeProto.FromString(tensor_type)
        return self._onnx.helper.make_tensor_type_proto(*tensor_type)

    def _parse_type(self, message: Any) -> TensorType:
        """Convert a TypeProto to a `TensorType`.

        An unknown element type is 0, and an unknown shape is None.
        """
        if message is None:
            return (0, None)
        if not message.HasField("tensor_type"):
            return bytes(message.SerializeToString())
        tensor = message.tensor_type
        if not tensor.HasField("shape"):
            return (tensor.elem_type, None)
        dims = tuple(
            [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or UNKNOWN_DIM for dim in tensor.shape.dim]
        )
        return (tensor.elem_type, None if UNKNOWN_DIM in dims else dims)


def _is_negative(dim: object) -> bool:
    return isinstance(dim, int) and dim < 0


def _is_unsafe_to_infer(node: Node) -> bool:
    """Return whether shape inference would divide by 0, or allocate too much memory."""
    return any(
        (name in COUNT_ATTRIBUTES and not (type(value) is int and 0 < value <= MAX_COUNT_ATTRIBUTE))
        or (name in ("strides", "stride", "dilations") and type(value) is tuple and 0 in value)
        for name, value in node.attributes.items()
    )
