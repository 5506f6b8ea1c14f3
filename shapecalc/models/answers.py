"""What core and ONNX answer of a node, in numbers in each lane, and in names.

Each question is asked once: nodes that ask the same, fixes that are tried and names share one store of answers.
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
"""Core's arguments by name."""
Question = tuple[str, int | None, bool | None]
"""An op, the opset of the model, and the setting of its switch."""
NOBODY = (None, None, ())
"""The answer where nobody can say."""
MOST_DIMS = 10_000
"""How many dims a target has at most that core is asked for."""


@dataclass(slots=True, eq=False)
class Answers:
    """What core says of a node in each lane; there is one of each, since a question is asked once."""

    version: int | None
    """The operator's version; None if its opset has none."""
    outputs: tuple[Any, ...]
    """The output's shape; None if it refuses, or if nobody can say."""
    problems: tuple[Problem | None, ...]
    """What it refuses."""
    conditions: tuple[Conditions, ...]
    """Under which conditions the answer holds, where it was asked with names."""


@dataclass(slots=True, eq=False)
class Visit:
    """A listed node as the walk meets it, with everything above it fixed."""

    node: Node
    call: CoreCall
    input: Shapes
    """The shape of its data input."""
    arguments: tuple[Arguments | None, ...]
    """Core's arguments in each lane; None where data decides them."""
    switch: bool | None
    """The setting of allowzero; None if it is left out or does not exist."""
    outputs: Shapes
    """What it gives; None in a lane where it fails, or where its input or its arguments are not known."""
    problems: tuple[Problem | None, ...]
    """What core refuses in each lane; None where it runs or where nobody can say."""
    unknown: str
    """Why it cannot be judged in a judged lane (`no shape`, `size from data`, `external target`); empty if it can."""
    answers: Answers

    def named_argument(self, name: str) -> tuple[Any, ...]:
        """Return an argument in each lane; None where it is not known or left out."""
        return tuple([None if given is None else given.get(name) for given in self.arguments])


def reads_argument(node: Node) -> bool:
    """Say whether a listed node reads what it asks for from its second input, if it has one."""
    return _is_input(LISTED[node.op].arguments[0], node)


def _is_input(argument: Argument, node: Node) -> bool:
    return argument.input_since is not None and node.opset >= argument.input_since


def switch_of(node: Node) -> bool | None:
    """Return the setting of allowzero; None if it is left out."""
    name = LISTED[node.op].switch
    return bool(_typed(node.attributes[name], int)) if name and name in node.attributes else None


def arguments_of(node: Node, values: Callable[[int], tuple[int, ...] | None]) -> Arguments | None:
    """Return what a listed node asks for; None if that depends on data. `values` tells the numbers in a tensor."""
    found: dict[str, Any] = {}
    for argument in LISTED[node.op].arguments:
        if _is_input(argument, node):
            if len(node.inputs) > 1 and node.inputs[1]:
                numbers = values(node.inputs[1])
                if numbers is None or len(numbers) > MOST_DIMS:
                    return None
                found[argument.name] = numbers
        elif argument.attribute in node.attributes:
            value = _typed(node.attributes[argument.attribute], argument.kind)
            found[argument.name] = value.decode() if argument.kind is bytes else value
        elif argument.default is not None:
            found[argument.name] = argument.default
    return FrozenDict(found)


def _typed(value: Any, kind: type) -> Any:
    """Return the value of an attribute; raise `TypeError` if it is not of this kind, or a tuple of others than int."""
    if type(value) is not kind or (isinstance(value, tuple) and value and type(value[0]) is not int):
        raise TypeError(f"an attribute is not {kind.__name__}")
    return value


class CoreCalls:
    """Asks core, and keeps the answers by what was asked."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[object, Answers] = {}

    def ask(
        self, node: Node, switch: bool | None, shapes: Sequence[Any], arguments: Sequence[Arguments | None]
    ) -> Answers:
        """Return the answers to a node's operator with these inputs and arguments."""
        asked = arguments[:1] if same_in_all(arguments) else arguments
        key = (node.op, node.opset, switch, *shapes, *asked)
        found = self._known.get(key)
        if found is None:
            question = LISTED[node.op].op, node.opset or None, switch
            found = self._known[key] = _asked(question, shapes, arguments)
        return found

    def named(
        self, visit: Visit, input: NamedShape | None, arguments: Mapping[str, Any] | None, lanes: Sequence[Lane]
    ) -> tuple[Any, Conditions] | None:
        """Return core's output with names, and its conditions; None if it cannot be asked, or if the lanes differ."""
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
    """Return core's answers in lanes, neither output nor problem where nobody can say."""
    op, opset, switch = question
    try:
        version = setting_of(Request(op, (), {}, "onnx", opset, None, switch)).version
    except ShapeError:
        return Answers(None, (None,) * len(shapes), (None,) * len(shapes), ((),) * len(shapes))
    answers = map(partial(_answer, question), shapes, arguments)
    return Answers(version, *zip(*answers, strict=True))


def _answer(question: Question, shape: Any, arguments: Arguments | None) -> Any:
    """Return the output, the problem and the conditions; of an unknown input a target that leaves nothing open.

    Of an empty tensor the runtime is asked, which infers where the document is silent.
    """
    if shape is None or arguments is None:
        certain = question[0] == "reshape" and arguments is not None and min(arguments["target"], default=0) > 0
        return (arguments["target"], None, ()) if certain and arguments else NOBODY
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
    """Say whether core's answer with names is that of the walk in every lane that has a batch."""
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
    """Say whether both shapes have as many elements at all sizes, in whole dims: no op asks for conditions then."""
    if not (_is_readable(input) and _is_readable(output)):
        return False
    whole = all(map(always_whole, output or ()))  # type: ignore[arg-type]  # all are core's
    return whole and product(input or ()) == product(output or ())  # type: ignore[arg-type]


def _is_readable(shape: object) -> bool:
    """Say whether all dims of a shape are core's."""
    return isinstance(shape, tuple) and all(isinstance(dim, (int, Monomial)) for dim in shape)


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
        asked = node.op, max(node.opset, 1), node.domain
        if like := operator_of(node).like:
            asked = like, self._onnx.defs.onnx_opset_version(), ""
        try:
            schema = self._schema(*asked)
        except self._no_schema:
            return None
        op, opset, domain = asked
        inputs = [str(place) if there else "" for place, there in enumerate(given[: schema.max_input])]
        outputs = [f"y{place}" if there else "" for place, there in enumerate(made)]
        message = self._onnx.NodeProto(op_type=op, domain=domain, input=inputs, output=outputs)
        message.attribute.extend([each for each in node.proto.attribute if not like or each.name in schema.attributes])
        domains = dict.fromkeys(("", domain))
        return Form(schema, message, [self._onnx.helper.make_opsetid(name, opset) for name in domains])

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

        Each dim that is not the same in all lanes has a name in the question. None if it is not in the answer, once; if
        it is, the node refuses nothing in any lane.
        """
        first = inputs[0][1] if inputs and inputs[0] else ()
        lanes = [lane for lane, shape in enumerate(first) if shape is not None]
        sizes: dict[int | str, tuple[int | None, ...]] = {}
        kinds: list[Any] = []
        for place, given in enumerate(inputs):
            axes = columns([given[1][lane] for lane in lanes]) if given else []
            if axes is None or any(None in axis for axis in axes):
                return None
            dims: list[Any] = [e[0] if e.count(e[0]) == len(e) else f"{place}.{at}" for at, e in enumerate(axes)]
            sizes |= {dim: each for dim, each in zip(dims, axes, strict=True) if isinstance(dim, str)}
            kinds.append(given and (given[0], tuple(dims)))
        outputs = self.outputs(node, form, tuple(kinds), values) if sizes else ()
        shapes, dtypes = list[Any](), list[int]()
        for kind in outputs:
            dims = [*kind[1]] if isinstance(kind, tuple) and kind[1] is not None else []
            if sorted([dim for dim in dims if isinstance(dim, str)]) != sorted(map(str, sizes)):
                return None
            left = zip(*[sizes.get(dim, (dim,) * len(lanes)) for dim in dims], strict=True)
            shapes.append(tuple([None if shape is None else next(left) for shape in first]))
            dtypes.append(kind[0])  # type: ignore[arg-type]
        return (shapes, dtypes) if shapes else None

    def _inferred(self, node: Node, form: Form, kinds: tuple[Kind | None, ...], values: tuple[Any, ...]) -> Outputs:
        from_array = self._onnx.numpy_helper.from_array
        unknown: Outputs = tuple([(0, None)] * len(node.outputs))
        dims = [dim for kind in kinds if type(kind) is tuple for dim in kind[1] or ()]
        sizes = [dim for dim in dims if type(dim) is int]
        if (node.attributes and _is_dangerous(node)) or any(dim > LARGEST_SIZE for dim in sizes):
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


def _is_dangerous(node: Node) -> bool:
    """Say whether the inference would divide by 0, or make room for as much as an attribute says."""
    return any(
        (name in COUNTS and not (type(value) is int and 0 < value <= MOST_PARTS))
        or (name in ("strides", "stride", "dilations") and type(value) is tuple and 0 in value)
        for name, value in node.attributes.items()
    )
