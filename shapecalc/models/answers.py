"""Cached queries about one node, to core and to ONNX shape inference.

Core resolves the listed operators, shape inference the others. Both work on numbers, once per lane; core also answers
with symbolic dims. Nodes with equal operators, inputs and arguments share one cached answer, and so do fix candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from shapecalc.core.answers import Request
from shapecalc.core.ask import setting_of
from shapecalc.core.conditions import Conditions, holds
from shapecalc.core.dims import INT64_MAX, Monomial, always_whole, product, substitute
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import FrozenDict
from shapecalc.core.resolve import resolve
from shapecalc.models.batch_axis import Shapes
from shapecalc.models.file import ABSENT, Node
from shapecalc.models.free_dims import Lane, NamedShape, columns
from shapecalc.models.lanes import same_in_all
from shapecalc.models.operators import LARGEST_SIZE, LISTED, Argument, CoreCall, operator_of

Arguments = FrozenDict
"""Arguments of a core op by name."""
Question = tuple[str, int | None, bool | None]
"""An op, the opset of the model, and the value of its switch (allowzero)."""
NOBODY = (None, None, ())
"""No output, no problem and no conditions: the answer is unknown."""
MOST_DIMS = 10_000
"""The largest number of dims in a target that core is queried with."""
Kind = tuple[int, tuple[int | str, ...] | None] | bytes
"""The type of one value: element type and shape; for a non-tensor its serialized TypeProto.

A string in the shape names a dim that differs between lanes.
"""
Kinds = tuple[Kind | None, ...]
"""The types of a node's inputs; None for an absent one."""
InLanes = tuple[int, Shapes]
"""The element type of a tensor and its shape in each lane."""
Outputs = tuple[Kind, ...] | str
"""The types of a node's outputs, or the error message if inference refuses the inputs."""
MOST_PARTS = 4096
"""The largest value of a counting attribute; inference allocates that many entries."""
SAID = "[ShapeInferenceError] "
"""The prefix of ONNX's inference errors."""
COUNTS = ("num_outputs", "group", "num_groups")
"""The attributes that are counts or divisors; inference crashes on 0 and on large values."""


@dataclass(slots=True, eq=False)
class Answers:
    """Core's answers to one query, one entry per lane.

    Equal queries return the same object, so identity is equality.
    """

    version: int | None
    """The operator version; None if the opset does not have the operator."""
    outputs: tuple[Any, ...]
    """The output shape; None if the node is refused or the answer is unknown."""
    problems: tuple[Problem | None, ...]
    """The error of a refused node, otherwise None."""
    conditions: tuple[Conditions, ...]
    """The conditions on named sizes under which the output holds; empty for numeric queries."""


@dataclass(slots=True, eq=False)
class Visit:
    """A listed node as the walk reaches it, with every failing node above it fixed."""

    node: Node
    call: CoreCall
    input: Shapes
    """The shape of the data input."""
    arguments: tuple[Arguments | None, ...]
    """Core's arguments in each lane; None where they depend on data."""
    switch: bool | None
    """The value of allowzero; None if it is absent or the operator has none."""
    outputs: Shapes
    """The output shape; None in a lane where the node fails or an input or argument is unknown."""
    problems: tuple[Problem | None, ...]
    """Core's error in each lane; None where the node runs or the answer is unknown."""
    unknown: str
    """Why the node cannot be judged: `no shape`, `size from data`, `external target`; empty if it can."""
    answers: Answers

    def named_argument(self, name: str) -> tuple[Any, ...]:
        """Return an argument in each lane; None where it is unknown or absent."""
        return tuple([None if lane is None else lane.get(name) for lane in self.arguments])


@dataclass(slots=True, eq=False)
class Form:
    """A node without its tensor names, as shape inference takes it."""

    schema: Any
    message: Any
    imports: list[Any]
    """The opset imports for function bodies."""


def reads_argument(node: Node) -> bool:
    """Return whether a listed node's opset passes its target as second input."""
    return _is_input(LISTED[node.op].arguments[0], node)


def _is_input(argument: Argument, node: Node) -> bool:
    return argument.input_since is not None and node.opset >= argument.input_since


def switch_of(node: Node) -> bool | None:
    """Return the value of allowzero; None if it is absent."""
    name = LISTED[node.op].switch
    return bool(_typed(node.attributes[name], int)) if name and name in node.attributes else None


def arguments_of(node: Node, values: Callable[[int], tuple[int, ...] | None]) -> Arguments | None:
    """Return core's arguments of a listed node; None if they depend on data.

    `read_integers` returns the integers in a tensor, or None if they are unknown. Raises `TypeError` for an attribute
    of the wrong type.
    """
    arguments: dict[str, Any] = {}
    for argument in LISTED[node.op].arguments:
        if _is_input(argument, node):
            if len(node.inputs) > 1 and node.inputs[1]:
                numbers = values(node.inputs[1])
                if numbers is None or len(numbers) > MOST_DIMS:
                    return None
                arguments[argument.name] = numbers
        elif argument.attribute in node.attributes:
            value = _typed(node.attributes[argument.attribute], argument.kind)
            arguments[argument.name] = value.decode() if argument.kind is bytes else value
        elif argument.default is not None:
            arguments[argument.name] = argument.default
    return FrozenDict(arguments)


def _typed(value: Any, kind: type) -> Any:
    """Return an attribute value; raise `TypeError` if its type is not `kind`.

    A tuple must hold integers.
    """
    if type(value) is not kind or (isinstance(value, tuple) and value and type(value[0]) is not int):
        raise TypeError(f"an attribute is not {kind.__name__}")
    return value


class CoreCalls:
    """Queries to core with a cache."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._known: dict[object, Answers] = {}

    def ask(
        self, node: Node, switch: bool | None, shapes: Sequence[Any], arguments: Sequence[Arguments | None]
    ) -> Answers:
        """Return core's answers for a node with these inputs and arguments, one per lane."""
        distinct = arguments[:1] if same_in_all(arguments) else arguments
        key = (node.op, node.opset, switch, *shapes, *distinct)
        answers = self._known.get(key)
        if answers is None:
            question = LISTED[node.op].op, node.opset or None, switch
            answers = self._known[key] = _asked(question, shapes, arguments)
        return answers

    def named(
        self, visit: Visit, input: NamedShape | None, arguments: Mapping[str, Any] | None, lanes: Sequence[Lane]
    ) -> tuple[Any, Conditions] | None:
        """Return core's output in symbolic dims and its conditions.

        None if a dim is not one of core's, if the answer is unknown, or if it disagrees with the walk in some lane.
        """
        if input is None or arguments is None or not _is_readable(input):
            return None
        if not all(_is_readable(value) for value in arguments.values() if isinstance(value, tuple)):
            return None
        answers = self.ask(visit.node, visit.switch, (input,), (FrozenDict(arguments),))
        (output,), (problem,), (conditions,) = answers.outputs, answers.problems, answers.conditions
        if output is None and problem is None:
            return None
        return (output, conditions) if _agrees(visit, output, conditions, lanes) else None


def _asked(question: Question, shapes: Sequence[Any], arguments: Sequence[Arguments | None]) -> Answers:
    """Query core in each lane."""
    op, opset, switch = question
    try:
        version = setting_of(Request(op, (), {}, "onnx", opset, None, switch)).version
    except ShapeError:
        return Answers(None, (None,) * len(shapes), (None,) * len(shapes), ((),) * len(shapes))
    answers = map(partial(_answer, question), shapes, arguments)
    return Answers(version, *zip(*answers, strict=True))


def _answer(question: Question, shape: Any, arguments: Arguments | None) -> Any:
    """Return the output, problem and conditions of one query.

    A Reshape of an unknown input returns its target if all entries are above 0. Empty tensors use the onnxruntime
    dialect, because the ONNX document does not say how -1 is inferred for them.
    """
    if shape is None or arguments is None:
        is_explicit = question[0] == "reshape" and arguments is not None and min(arguments["target"], default=0) > 0
        return (arguments["target"], None, ()) if is_explicit and arguments else NOBODY
    op, opset, switch = question
    if any(type(dim) is int and dim > INT64_MAX for dim in shape):
        return NOBODY
    dialect = "onnxruntime" if 0 in shape else "onnx"
    try:
        trace = resolve(Request(op, shape, arguments, dialect, opset, None, switch))
    except (ShapeError, TypeError):  # an attribute may be of any type
        return NOBODY
    return trace.output, trace.problem, trace.conditions


def _agrees(visit: Visit, output: Any, conditions: Conditions, lanes: Sequence[Lane]) -> bool:
    """Return whether a symbolic answer matches the walk in every non-empty lane."""
    if visit.call.gives_sizes:
        return True
    for lane, shape in zip(lanes, visit.outputs, strict=True):
        if not lane.batch or visit.input is None:
            continue
        runs = output is not None and holds(conditions, lane.sizes)
        if runs != (shape is not None):
            return False
        if runs and tuple([substitute(dim, lane.sizes) for dim in output]) != shape:
            return False
    return True


@lru_cache(1 << 12)
def keeps_elements(input: NamedShape | None, output: NamedShape | None) -> bool:
    """Return whether two shapes have equal element counts at all sizes.

    Their dims must be integral at all sizes. No op sets conditions on such a pair.
    """
    if not (_is_readable(input) and _is_readable(output)):
        return False
    whole = all(map(always_whole, output or ()))  # type: ignore[arg-type]  # all are core's
    return whole and product(input or ()) == product(output or ())  # type: ignore[arg-type]


def _is_readable(shape: object) -> bool:
    """Return whether a value is a shape whose dims are all core's."""
    return isinstance(shape, tuple) and all(isinstance(dim, (int, Monomial)) for dim in shape)


class Inference:
    """Queries to ONNX shape inference with a cache.

    Most nodes of a model repeat an earlier query.
    """

    def __init__(self) -> None:
        """Import onnx, and start with an empty cache."""
        import onnx
        from onnx import checker, defs, shape_inference

        self._onnx, self._ask, self._schema = onnx, shape_inference.infer_node_outputs, defs.get_schema
        self._refusal, self._no_schema = shape_inference.InferenceError, defs.SchemaError
        self._unfit = checker.ValidationError
        self._forms: dict[object, Form | None] = {}
        self._known: dict[object, Outputs] = {}

    def form(self, node: Node) -> Form | None:
        """Return the signature of a node.

        Nodes with equal operators, attributes and present inputs share one. None if ONNX has no schema for the
        operator.
        """
        present_inputs = tuple([number != ABSENT for number in node.inputs])
        present_outputs = tuple([number != ABSENT for number in node.outputs])
        attributes = tuple([proto.SerializeToString() for proto in node.proto.attribute]) if node.attributes else ()
        key = (node.op, node.domain, node.opset, present_inputs, present_outputs, attributes)
        if key not in self._forms:
            self._forms[key] = self._new_form(node, present_inputs, present_outputs)
        return self._forms[key]

    def _new_form(self, node: Node, given: Sequence[bool], made: Sequence[bool]) -> Form | None:
        operator = node.op, max(node.opset, 1), node.domain
        if like := operator_of(node).like:
            operator = like, self._onnx.defs.onnx_opset_version(), ""
        try:
            schema = self._schema(*operator)
        except self._no_schema:
            return None
        op, opset, domain = operator
        inputs = [str(index) if present else "" for index, present in enumerate(given[: schema.max_input])]
        outputs = [f"y{index}" if present else "" for index, present in enumerate(made)]
        message = self._onnx.NodeProto(op_type=op, domain=domain, input=inputs, output=outputs)
        message.attribute.extend(
            [proto for proto in node.proto.attribute if not like or proto.name in schema.attributes]
        )
        domains = dict.fromkeys(("", domain))
        return Form(schema, message, [self._onnx.helper.make_opsetid(name, opset) for name in domains])

    def outputs(self, node: Node, form: Form, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Outputs:
        """Infer the output types of a node in one lane, or return the error message.

        `input_types` holds the input types (None for an absent input), `values` the elements of inputs where they are
        known.
        """
        elements = [array is not None and (array.dtype.char, array.shape, array.tobytes()) for array in values]
        key = (form, kinds, *elements)
        outputs = self._known.get(key)
        if outputs is None:
            outputs = self._known[key] = self._inferred(node, form, kinds, values)
        return outputs

    def in_all(
        self, node: Node, form: Form, inputs: Sequence[InLanes | None], values: tuple[Any, ...]
    ) -> tuple[list[Shapes], list[int]] | None:
        """Infer the output shapes and element types of a node in all lanes at once.

        Each dim that differs between lanes is passed as a name. This is valid only for an operator whose inference
        copies such dims. None unless each name appears exactly once in the output; the node then fails in no lane.
        """
        first = inputs[0][1] if inputs and inputs[0] else ()
        lanes = [lane for lane, shape in enumerate(first) if shape is not None]
        sizes: dict[int | str, tuple[int | None, ...]] = {}
        kinds: list[Any] = []
        for index, typed in enumerate(inputs):
            axes = columns([typed[1][lane] for lane in lanes]) if typed else []
            if axes is None or any(None in axis for axis in axes):
                return None
            dims: list[Any] = [
                axis[0] if axis.count(axis[0]) == len(axis) else f"{index}.{number}" for number, axis in enumerate(axes)
            ]
            sizes |= {dim: axis for dim, axis in zip(dims, axes, strict=True) if isinstance(dim, str)}
            kinds.append(typed and (typed[0], tuple(dims)))
        outputs = self.outputs(node, form, tuple(kinds), values) if sizes else ()
        shapes, dtypes = list[Any](), list[int]()
        for kind in outputs:
            dims = [*kind[1]] if isinstance(kind, tuple) and kind[1] is not None else []
            if sorted([dim for dim in dims if isinstance(dim, str)]) != sorted(map(str, sizes)):
                return None
            known = zip(*[sizes.get(dim, (dim,) * len(lanes)) for dim in dims], strict=True)
            shapes.append(tuple([None if shape is None else next(known) for shape in first]))
            dtypes.append(kind[0])  # type: ignore[arg-type]
        return (shapes, dtypes) if shapes else None

    def _inferred(self, node: Node, form: Form, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Outputs:
        from_array = self._onnx.numpy_helper.from_array
        unknown: Outputs = tuple([(0, None)] * len(node.outputs))
        dims = [dim for kind in kinds if type(kind) is tuple for dim in kind[1] or ()]
        sizes = [dim for dim in dims if type(dim) is int]
        if (node.attributes and _is_dangerous(node)) or any(dim > LARGEST_SIZE for dim in sizes):
            return unknown
        types = {str(index): self._type(kind) for index, kind in enumerate(kinds) if kind is not None}
        known = {str(index): from_array(array) for index, array in enumerate(values) if array is not None}
        try:
            outputs = self._ask(form.schema, form.message, types, known, opset_imports=form.imports)
        except self._refusal as error:
            message = str(error).rpartition(SAID)[2]
            return message if all(kind and type(kind) is tuple and kind[1] is not None for kind in kinds) else unknown
        except (self._unfit, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
            return unknown
        return tuple([self._kind(outputs.get(name)) for name in form.message.output])

    def _type(self, kind: Kind) -> Any:
        if isinstance(kind, bytes):
            return self._onnx.TypeProto.FromString(kind)
        return self._onnx.helper.make_tensor_type_proto(*kind)

    def _kind(self, message: Any) -> Kind:
        """Return the type in a TypeProto; element type 0 and shape None if it is unknown."""
        if message is None:
            return (0, None)
        if not message.HasField("tensor_type"):
            return bytes(message.SerializeToString())
        tensor = message.tensor_type
        if not tensor.HasField("shape"):
            return (tensor.elem_type, None)
        dims = tuple([dim.dim_value if dim.HasField("dim_value") else dim.dim_param or -1 for dim in tensor.shape.dim])
        return (tensor.elem_type, None if -1 in dims else dims)


def _is_dangerous(node: Node) -> bool:
    """Return whether inference would divide by 0 or allocate without bound."""
    return any(
        (name in COUNTS and not (type(value) is int and 0 < value <= MOST_PARTS))
        or (name in ("strides", "stride", "dilations") and type(value) is tuple and 0 in value)
        for name, value in node.attributes.items()
    )
