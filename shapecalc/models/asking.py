"""Asking core: what a listed node asks for in numbers, and core's answer, which is kept for nodes that ask the same."""

from __future__ import annotations

from shapecalc.core.answers import Request
from shapecalc.core.ask import setting_of
from shapecalc.core.dims import INT64_MAX
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve
from shapecalc.models.report import LISTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from shapecalc.core.problem import Problem
    from shapecalc.models.model import Node
    from shapecalc.models.walk import Shapes, Sizes

    Arguments = tuple[tuple[str, Any], ...]
    """Core's arguments by name, as pairs, so that they can be looked up."""
    Named = Mapping[str, Any]
    """The same by name."""
    Answer = tuple[Sizes | None, Problem | None]

NEITHER = (None, None)
MOST_DIMS = 10_000
"""How many dims a target has at most that core is asked for."""
AS_INPUT = {
    "Reshape": ("target", "shape", 5),
    "Expand": ("target", "", 1),
    "Tile": ("repeats", "", 6),
    "Squeeze": ("axes", "axes", 13),
    "Unsqueeze": ("axes", "axes", 13),
}
"""The operators that read an argument from their second input: core's name for it, the attribute's, the opset since."""
AS_ATTRIBUTES = {"Transpose": ("perm",), "Flatten": ("axis",), "Shape": ("start", "end")}
"""The operators whose arguments are attributes, with core's names for these."""
FROM_DATA, NO_SHAPE, EXTERNAL = "size from data", "no shape", "external target"


def reads_argument(node: Node) -> bool:
    """Say whether a listed node reads what it asks for from its second input, if it has one."""
    return node.op in AS_INPUT and node.opset >= AS_INPUT[node.op][2]


def switch_of(node: Node) -> bool | None:
    """Return the setting of allowzero; None if it is left out."""
    if node.op != "Reshape" or "allowzero" not in node.attributes:
        return None
    return bool(_typed(node.attributes["allowzero"], int))


def arguments_of(node: Node, values: Callable[[int], tuple[int, ...] | None]) -> Arguments | None:
    """Return what a listed node asks for; None if that depends on data. `values` tells the numbers in a tensor."""
    attributes = node.attributes
    if node.op in AS_INPUT:
        name, attribute, since = AS_INPUT[node.op]
        if node.opset < since:
            return ((name, _typed(attributes[attribute], tuple)),) if attribute in attributes else ()
        if len(node.inputs) < 2 or not node.inputs[1]:
            return ()
        numbers = values(node.inputs[1])
        return None if numbers is None or len(numbers) > MOST_DIMS else ((name, numbers),)
    if node.op in ("DepthToSpace", "SpaceToDepth"):
        mode = (("mode", _typed(attributes["mode"], bytes).decode()),) if "mode" in attributes else ()
        return (("block", _typed(attributes.get("blocksize", 0), int)), *mode)
    kind = tuple if node.op == "Transpose" else int
    return tuple([(name, _typed(attributes[name], kind)) for name in AS_ATTRIBUTES[node.op] if name in attributes])


def _typed(value: Any, kind: type) -> Any:
    """Return the value of an attribute; raise `TypeError` if it is not of this kind, or a tuple of others than int."""
    if type(value) is not kind or (isinstance(value, tuple) and value and type(value[0]) is not int):
        raise TypeError(f"an attribute is not {kind.__name__}")
    return value


class Answers:
    """Core's answers in numbers, kept by what was asked."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[object, Answer] = {}
        self._settings: dict[object, Any] = {}

    def version(self, node: Node) -> int | None:
        """Return the version of a listed node's operator; None if its opset has none."""
        setting = self._setting(node, None)
        return None if setting is None else setting.version

    def answers(self, node: Node, shapes: Shapes, asked: Sequence[Named | None]) -> list[Answer]:
        """Return for each lane the output's shape, or the problem that refuses the node; neither if nobody can say."""
        switch = switch_of(node) if node.attributes else None
        found: list[Answer] = []
        for shape, arguments in zip(shapes, asked, strict=True):
            known = shape is not None and arguments is not None
            found.append(self._answer(node, switch, shape, arguments) if known else NEITHER)  # type: ignore[arg-type]
        return found

    def _answer(self, node: Node, switch: bool | None, shape: Sizes, arguments: Named) -> Answer:
        """Return the answer to a request by its steps, which are made once."""
        key = (node.op, node.opset, switch, shape, tuple(arguments.items()))
        if key not in self._known:
            self._known[key] = _by_steps(node, switch, shape, arguments)
        return self._known[key]

    def _setting(self, node: Node, switch: bool | None) -> Any:
        """Return the rules for an operator in an opset; None if there are none."""
        key = (node.op, node.opset, switch)
        if key not in self._settings:
            try:
                self._settings[key] = setting_of(_request(node, (), {}, switch))
            except ShapeError:
                self._settings[key] = None
        return self._settings[key]


def _request(node: Node, shape: Sizes, arguments: Mapping[str, Any], switch: bool | None) -> Request:
    """Return what a node asks; of an empty tensor the runtime is asked, which infers where the document is silent."""
    dialect = "onnxruntime" if 0 in shape else "onnx"
    return Request(LISTED[node.op], shape, arguments, dialect, node.opset or None, None, switch)


def _by_steps(node: Node, switch: bool | None, shape: Sizes, arguments: Mapping[str, Any]) -> Answer:
    """Return what the steps of a request come to."""
    if max(shape, default=0) > INT64_MAX:
        return None, None
    try:
        trace = resolve(_request(node, shape, arguments, switch))
    except (ShapeError, TypeError, ValueError, IndexError):
        return None, None
    return (None, trace.problem) if trace.output is None else (_numbers(trace.output), None)


def _numbers(shape: Any) -> Sizes | None:
    """Return a shape of numbers; None if it has names."""
    return tuple(shape) if all(type(dim) is int for dim in shape) else None
