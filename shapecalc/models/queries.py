"""Query core and ONNX shape inference for the outputs of one node, with a cache.

The package `core` resolves listed operators, ONNX shape inference all others. A query has integer dims and is made once
per lane; core, and inference that only copies dims, also accept symbolic dims. Nodes and fix candidates with equal
operators, inputs and arguments share one cached answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from shapecalc.core.answers import Request
from shapecalc.core.conditions import Conditions, can_hold
from shapecalc.core.dims import INT64_MAX, Monomial, is_always_integral, product, substitute
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import FrozenDict
from shapecalc.core.requests import rules_for
from shapecalc.core.resolve import resolve
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import ABSENT, Node
from shapecalc.models.free_dims import Lane, SymbolicShape, transpose_lane_shapes
from shapecalc.models.operators import LISTED_OPERATORS, MAX_INFERRED_DIM, CoreArgument, CoreOp, find_operator
from shapecalc.models.walk_state import is_same_in_all_lanes

CoreArguments = FrozenDict
"""Arguments of a core op by name."""
OpSetting = tuple[str, int | None, bool | None]
"""An op, the opset of the model, and the value of its switch (allowzero)."""
UNKNOWN_ANSWER = (None, None, ())
"""The output, problem and conditions of an unknown answer."""
MAX_TARGET_DIMS = 10_000
"""The maximum number of dims in a target for which core is queried."""
TensorType = tuple[int, tuple[int | str, ...] | None] | bytes
"""The element type and shape of a tensor, or the serialized TypeProto of another value.

A string in the shape names a dim that differs between lanes.
"""
InputTypes = tuple[TensorType | None, ...]
"""The types of a node's inputs; None for an absent input."""
LaneType = tuple[int, LaneShapes]
"""The element type of a tensor and its shape in each lane."""
InferredTypes = tuple[TensorType, ...] | str
"""The types of a node's outputs, or the error message if inference refuses the inputs."""
MAX_COUNT_ATTRIBUTE = 4096
"""The largest value of a counting attribute for which inference is run.

Inference allocates one entry for each counted item.
"""
ERROR_PREFIX = "[ShapeInferenceError] "
"""The prefix of ONNX's inference errors."""
COUNT_ATTRIBUTES = ("num_outputs", "group", "num_groups")
"""The attributes that are counts or divisors; inference crashes on 0 and on large values."""


@dataclass(slots=True, eq=False)
class CoreAnswers:
    """Core's answers to one query; each tuple has one entry per lane.

    Equal queries return the same object, so answers are compared by identity.
    """

    version: int | None
    """The operator version; None if the opset does not have the operator."""
    outputs: tuple[Any, ...]
    """The output shape; None if the node is refused or the answer is unknown."""
    problems: tuple[Problem | None, ...]
    """The error of a refused node, otherwise None."""
    conditions: tuple[Conditions, ...]
    """The conditions on named sizes under which the output is valid; empty for numeric queries."""


@dataclass(slots=True, eq=False)
class NodeVisit:
    """A listed node during a walk, with all failing upstream nodes fixed."""

    node: Node
    core_op: CoreOp
    input: LaneShapes
    """The shape of the data input in each lane."""
    arguments: tuple[CoreArguments | None, ...]
    """The arguments of the core op in each lane; None where they depend on data."""
    switch: bool | None
    """The value of allowzero; None if it is absent or the operator has none."""
    outputs: LaneShapes
    """The output shape; None in a lane where the node fails or an input or argument is unknown."""
    problems: tuple[Problem | None, ...]
    """Core's error in each lane; None where the node runs or the answer is unknown."""
    unknown_reason: str
    """The reason why the node cannot be judged, such as `no shape` or `external target`; empty if it can be judged."""
    answers: CoreAnswers

    def argument_values(self, name: str) -> tuple[Any, ...]:
        """Return an argument in each lane; None where it is unknown or absent."""
        return tuple([None if lane is None else lane.get(name) for lane in self.arguments])


@dataclass(slots=True, eq=False)
class NodeSignature:
    """A node without its tensor names, in the form that shape inference accepts."""

    schema: Any
    message: Any
    opset_imports: list[Any]
    """The opset imports for function bodies."""


def has_target_input(node: Node) -> bool:
    """Return whether the target of a listed node is its second input."""
    return _is_input_argument(LISTED_OPERATORS[node.op].arguments[0], node)


def _is_input_argument(argument: CoreArgument, node: Node) -> bool:
    return argument.input_since is not None and node.opset >= argument.input_since


def read_allowzero(node: Node) -> bool | None:
    """Return the value of the attribute allowzero; None if it is absent."""
    name = LISTED_OPERATORS[node.op].switch
    return bool(_check_type(node.attributes[name], int)) if name and name in node.attributes else None


def read_arguments(node: Node, read_integers: Callable[[int], tuple[int, ...] | None]) -> CoreArguments | None:
    """Return the core arguments of a listed node; None if they depend on data.

    `read_integers` returns the integers in a tensor, or None if they are unknown. Raises `TypeError` for an attribute
    of the wrong type.
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
    """Return an attribute value; raise `TypeError` if its type is not `kind`.

    A tuple must hold integers.
    """
    if type(value) is not kind or (isinstance(value, tuple) and value and type(value[0]) is not int):
        raise TypeError(f"an attribute is not {kind.__name__}")
    return value


class CoreQueries:
    """A cached interface to the shape rules of the package `core`."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._cache: dict[object, CoreAnswers] = {}

    def query(
        self, node: Node, switch: bool | None, shapes: Sequence[Any], arguments: Sequence[CoreArguments | None]
    ) -> CoreAnswers:
        """Return core's answers for a node with these inputs and arguments in each lane."""
        distinct = arguments[:1] if is_same_in_all_lanes(arguments) else arguments
        key = (node.op, node.opset, switch, *shapes, *distinct)
        answers = self._cache.get(key)
        if answers is None:
            question = LISTED_OPERATORS[node.op].op, node.opset or None, switch
            answers = self._cache[key] = _query_lanes(question, shapes, arguments)
        return answers

    def query_symbolic(
        self, visit: NodeVisit, input: SymbolicShape | None, arguments: Mapping[str, Any] | None, lanes: Sequence[Lane]
    ) -> tuple[Any, Conditions] | None:
        """Run the core op on symbolic dims; return its output and conditions.

        Returns None if core cannot represent a dim, if the answer is unknown, or if the answer contradicts the walk in
        some lane.
        """
        if input is None or arguments is None or not _is_core_shape(input):
            return None
        if not all(_is_core_shape(value) for value in arguments.values() if isinstance(value, tuple)):
            return None
        answers = self.query(visit.node, visit.switch, (input,), (FrozenDict(arguments),))
        (output,), (problem,), (conditions,) = answers.outputs, answers.problems, answers.conditions
        if output is None and problem is None:
            return None
        return (output, conditions) if _is_consistent(visit, output, conditions, lanes) else None


def _query_lanes(
    op_setting: OpSetting, shapes: Sequence[Any], arguments: Sequence[CoreArguments | None]
) -> CoreAnswers:
    """Query core in each lane."""
    op, opset, switch = op_setting
    try:
        version = rules_for(Request(op, (), {}, "onnx", opset, None, switch)).version
    except ShapeError:
        return CoreAnswers(None, (None,) * len(shapes), (None,) * len(shapes), ((),) * len(shapes))
    answers = map(partial(_query_lane, op_setting), shapes, arguments)
    return CoreAnswers(version, *zip(*answers, strict=True))


def _query_lane(op_setting: OpSetting, shape: Any, arguments: CoreArguments | None) -> Any:
    """Return the output, problem and conditions of one query.

    A Reshape of an unknown input returns its target if all entries are above 0. An empty input uses the onnxruntime
    dialect, because the ONNX specification does not define how -1 is inferred for an empty input.
    """
    if shape is None or arguments is None:
        is_explicit = op_setting[0] == "reshape" and arguments is not None and min(arguments["target"], default=0) > 0
        return (arguments["target"], None, ()) if is_explicit and arguments else UNKNOWN_ANSWER
    op, opset, switch = op_setting
    if any(type(dim) is int and dim > INT64_MAX for dim in shape):
        return UNKNOWN_ANSWER
    dialect = "onnxruntime" if 0 in shape else "onnx"
    try:
        trace = resolve(Request(op, shape, arguments, dialect, opset, None, switch))
    except (ShapeError, TypeError):  # an attribute may have a type that core does not accept
        return UNKNOWN_ANSWER
    return trace.output, trace.problem, trace.conditions


def _is_consistent(visit: NodeVisit, output: Any, conditions: Conditions, lanes: Sequence[Lane]) -> bool:
    """Return whether a symbolic answer matches the walk in every non-empty lane."""
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
    """Return whether two shapes have equal element counts at all sizes.

    The output dims must be integers at all sizes; otherwise the result is False. An op sets no conditions on shapes for
    which the result is True.
    """
    if not (_is_core_shape(input) and _is_core_shape(output)):
        return False
    whole = all(map(is_always_integral, output or ()))  # type: ignore[arg-type]  # all are core dims
    return whole and product(input or ()) == product(output or ())  # type: ignore[arg-type]


def _is_core_shape(shape: object) -> bool:
    """Return whether a value is a shape that core accepts: integers and monomials."""
    return isinstance(shape, tuple) and all(isinstance(dim, (int, Monomial)) for dim in shape)


class ShapeInference:
    """A cached interface to ONNX shape inference.

    Most nodes of a model repeat an earlier query.
    """

    def __init__(self) -> None:
        """Import onnx, and start with an empty cache."""
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

    def signature_of(self, node: Node) -> NodeSignature | None:
        """Return the signature of a node.

        Nodes with equal operators, attributes, present inputs and present outputs share a signature. Returns None if
        ONNX has no schema for the operator.
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
        try:
            schema = self._get_schema(*operator)
        except self._schema_error:
            return None
        op, opset, domain = operator
        inputs = [str(index) if present else "" for index, present in enumerate(present_inputs[: schema.max_input])]
        outputs = [f"y{index}" if present else "" for index, present in enumerate(present_outputs)]
        message = self._onnx.NodeProto(op_type=op, domain=domain, input=inputs, output=outputs)
        message.attribute.extend(
            [proto for proto in node.proto.attribute if not like or proto.name in schema.attributes]
        )
        domains = dict.fromkeys(("", domain))
        return NodeSignature(schema, message, [self._onnx.helper.make_opsetid(name, opset) for name in domains])

    def infer_lane(
        self, node: Node, signature: NodeSignature, input_types: tuple[TensorType | None, ...], values: tuple[Any, ...]
    ) -> InferredTypes:
        """Infer the output types of a node in one lane, or return the error message.

        `input_types` holds the type of each input (None for an absent input), `values` its elements (None if unknown).
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
        """Infer the output shapes and element types of a node in all lanes at once.

        Each dim that differs between lanes is passed as a name. This is valid only for an operator whose inference
        copies such dims. Returns None unless each name appears exactly once in the output; if each does, the node runs
        in all lanes.
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
                if all(kind and type(kind) is tuple and kind[1] is not None for kind in input_types)
                else unknown
            )
        except (self._validation_error, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
            return unknown
        return tuple([self._parse_type(outputs.get(name)) for name in signature.message.output])

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
        dims = tuple([dim.dim_value if dim.HasField("dim_value") else dim.dim_param or -1 for dim in tensor.shape.dim])
        return (tensor.elem_type, None if -1 in dims else dims)


def _is_unsafe_to_infer(node: Node) -> bool:
    """Return whether inference would divide by 0 or allocate without bound."""
    return any(
        (name in COUNT_ATTRIBUTES and not (type(value) is int and 0 < value <= MAX_COUNT_ATTRIBUTE))
        or (name in ("strides", "stride", "dilations") and type(value) is tuple and 0 in value)
        for name, value in node.attributes.items()
    )
