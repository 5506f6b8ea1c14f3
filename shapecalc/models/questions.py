"""The question that a node asks of core, so that its steps and its picture can be shown."""

from __future__ import annotations

from shapecalc.core.ask import ask
from shapecalc.core.dims import substitute
from shapecalc.core.problem import ShapeError
from shapecalc.models.named import Sum
from shapecalc.models.report import LISTED
from shapecalc.models.telling import shape_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.answers import Request
    from shapecalc.models.model import Node
    from shapecalc.models.named import NamedDim, NamedShape
    from shapecalc.models.report import Judged, Report

ARGUMENTS = {
    "reshape": "target",
    "transpose": "perm",
    "squeeze": "axes",
    "unsqueeze": "axes",
    "expand": "target",
    "tile": "repeats",
}
"""The argument of an op that a node's target is."""
NEEDED = ("reshape", "unsqueeze", "expand", "tile")
"""The ops that cannot do without it."""
ATTRIBUTES = {
    "reshape": {"allowzero": "allowzero"},
    "flatten": {"axis": "axis"},
    "shape": {"start": "start", "end": "end"},
    "depth_to_space": {"blocksize": "block", "mode": "mode"},
    "space_to_depth": {"blocksize": "block"},
}
"""The attributes of a node that are arguments of an op, with the arguments' names."""


def request_of(judged: Judged, report: Report, target: tuple[int, ...] | None = None) -> Request | None:
    """Return the request of a node, or with another target; None if its input or its target is not known.

    Sums are no dims of core's: where one stands, all names have the sizes that the model was judged at.
    """
    op = LISTED[judged.node.op]
    input, asked = judged.input, judged.target if target is None else target
    if any(isinstance(dim, Sum) for shape in (input, asked) for dim in shape or ()):
        sizes = {**report.assumed, report.batch: max(report.sizes)}
        input, asked = _in_numbers(input, sizes), _in_numbers(asked, sizes)
    options = _options(judged.node, op)
    if op in ARGUMENTS and asked is not None:
        options[ARGUMENTS[op]] = shape_words(asked)
    if input is None or (asked is None and op in NEEDED):
        return None
    try:
        return ask(op, shape_words(input), {"dialect": "onnx", **options})
    except ShapeError:
        return None


def _options(node: Node, op: str) -> dict[str, object]:
    """Return the arguments of an op that are attributes of a node."""
    names, held = ATTRIBUTES.get(op, {}), node.attributes
    values = {ours: held[theirs] for theirs, ours in names.items() if theirs in held}
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in values.items()
    }


def _in_numbers(shape: NamedShape | None, sizes: Mapping[str, int]) -> NamedShape | None:
    return None if shape is None else tuple([_number(dim, sizes) for dim in shape])


def _number(dim: NamedDim, sizes: Mapping[str, int]) -> NamedDim:
    """Return a dim at some sizes; a name without a size stays."""
    if isinstance(dim, Sum):
        terms = [substitute(term, sizes) for term in dim.terms]
        return sum(term for term in terms if isinstance(term, int)) if all(isinstance(t, int) for t in terms) else None
    return None if dim is None else substitute(dim, sizes)
