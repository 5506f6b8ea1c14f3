"""What a listed node asks of core, and core's answers: in numbers in each lane, and in names.

Each question is asked once: nodes that ask the same, fixes that are tried and names share one store of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shapecalc.core.answers import Request
from shapecalc.core.ask import setting_of
from shapecalc.core.conditions import Conditions as SizeConditions
from shapecalc.core.conditions import holds
from shapecalc.core.dims import INT64_MAX, Monomial, product, substitute
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import FrozenDict
from shapecalc.core.resolve import resolve
from shapecalc.models.file import Node
from shapecalc.models.fit_dims import NamedShape
from shapecalc.models.lanes import Lane, Shapes
from shapecalc.models.operators import LISTED, Argument, Conditions, CoreCall

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
    conditions: tuple[SizeConditions, ...]
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
    return any(_is_input(argument, node) for argument in LISTED[node.op].arguments)


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
        key = (node.op, node.opset, switch, *shapes, *arguments)
        found = self._known.get(key)
        if found is None:
            question = LISTED[node.op].op, node.opset or None, switch
            found = self._known[key] = _asked(question, shapes, arguments)
        return found

    def named(
        self, visit: Visit, input: NamedShape | None, arguments: Mapping[str, Any] | None, lanes: Sequence[Lane]
    ) -> tuple[Any, SizeConditions] | None:
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
    lanes = zip(shapes, arguments, strict=True)
    answers = [_answer(question, *lane) for lane in lanes]
    outputs, problems, conditions = zip(*answers, strict=True)
    return Answers(version, outputs, problems, conditions)


def _answer(question: Question, shape: Any, arguments: Arguments | None) -> Any:
    """Return the output, the problem and the conditions.

    Of an empty tensor the runtime is asked, which infers where the document is silent.
    """
    if shape is None or arguments is None:
        return NOBODY
    op, opset, switch = question
    for dim in shape:
        if type(dim) is int and dim > INT64_MAX:
            return NOBODY
    dialect = "onnxruntime" if 0 in shape else "onnx"
    try:
        trace = resolve(Request(op, shape, arguments, dialect, opset, None, switch))
    except (ShapeError, TypeError, ValueError, IndexError):
        return NOBODY
    return trace.output, trace.problem, trace.conditions


def _agrees(visit: Visit, output: Any, conditions: SizeConditions, lanes: Sequence[Lane]) -> bool:
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


def never_depends(call: CoreCall, input: NamedShape | None, output: NamedShape | None) -> bool:
    """Say whether an answer holds at all sizes, as can be seen without asking core."""
    if call.conditions is Conditions.NEVER:
        return True
    if input is None or output is None or not _is_readable(input) or not _is_readable(output):
        return False
    if call.conditions is Conditions.WHERE_NAMED:
        return not any(isinstance(dim, Monomial) for dim in (*input, *output))
    same = 0
    while same < min(len(input), len(output)) and input[same] is output[same]:
        same += 1
    return all(map(_is_whole, output)) and product(input[same:]) == product(output[same:])  # type: ignore[arg-type]


def _is_whole(dim: object) -> bool:
    """Say whether a dim is a whole number at all sizes."""
    return not isinstance(dim, Monomial) or (dim.denominator == 1 and all(power > 0 for _, power in dim.powers))


def _is_readable(shape: object) -> bool:
    """Say whether all dims of a shape are core's."""
    return isinstance(shape, tuple) and all(isinstance(dim, (int, Monomial)) for dim in shape)
