"""Holding: the conditions under which a node's answer holds, by asking core with names in place of numbers."""

from __future__ import annotations

from shapecalc.core.answers import Request
from shapecalc.core.conditions import holds
from shapecalc.core.dims import Monomial, product, substitute
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.answers import Trace
    from shapecalc.core.dims import Dim, Shape
    from shapecalc.models.named import NamedShape
    from shapecalc.models.walk import Visit, Walk

FREE = frozenset({"transpose", "shape", "flatten", "unsqueeze", "tile"})
"""The ops that run at all sizes or at none: they have no conditions."""


class Held:
    """Asks core with names, and keeps the answers."""

    def __init__(self, walk: Walk) -> None:
        """Begin with no answers."""
        self._walk = walk
        self._known: dict[object, Trace | None] = {}

    def trace(self, visit: Visit, input: NamedShape | None, arguments: Mapping[str, object] | None) -> Trace | None:
        """Return core's answer with names; None if it cannot be asked, or if the walk says otherwise."""
        if input is None or arguments is None or not _is_readable(input):
            return None
        if not all(_is_readable(value) for value in arguments.values() if isinstance(value, tuple)):
            return None
        key = (visit.op, visit.node.opset, visit.switch, input, tuple(arguments.items()))
        if key not in self._known:
            request = Request(visit.op, input, arguments, "onnx", visit.node.opset or None, None, visit.switch)  # type: ignore[arg-type]
            try:
                self._known[key] = resolve(request)
            except (ShapeError, TypeError, ValueError):
                self._known[key] = None
        found = self._known[key]
        return found if found is not None and self._agrees(found, visit) else None

    def _agrees(self, trace: Trace, visit: Visit) -> bool:
        """Say whether core's answer with names is that of the walk in every lane that has a batch."""
        if visit.op == "shape":
            return True
        for lane, output in zip(self._walk.lanes, visit.outputs, strict=True):
            if not lane.batch or visit.input is None:
                continue
            runs = trace.output is not None and holds(trace.conditions, lane.sizes)
            if runs and output is not None and _at(trace.output or (), lane.sizes) != output:
                return False
            if runs != (output is not None):
                return False
        return True


def never_asks(op: str, input: NamedShape | None, output: NamedShape | None) -> bool:
    """Say whether an answer holds at all sizes, as can be seen without asking core.

    A reshape does if it has as many elements before and after whatever the sizes are.

    >>> never_asks("transpose", None, None)
    True
    """
    if op in FREE:
        return True
    if input is None or output is None or not _is_readable(input) or not _is_readable(output):
        return False
    if op == "reshape":
        same = 0
        while same < min(len(input), len(output)) and input[same] is output[same]:
            same += 1
        return all(map(_is_whole, output)) and product(input[same:]) == product(output[same:])  # type: ignore[arg-type]
    return not any(isinstance(dim, Monomial) for dim in (*input, *output))


def _is_whole(dim: object) -> bool:
    """Say whether a dim is a whole number at all sizes."""
    return not isinstance(dim, Monomial) or (dim.denominator == 1 and all(power > 0 for _, power in dim.powers))


def _is_readable(shape: object) -> bool:
    """Say whether all dims of a shape are core's."""
    return isinstance(shape, tuple) and all(isinstance(dim, (int, Monomial)) for dim in shape)


def _at(shape: Shape, sizes: Mapping[str, int]) -> tuple[Dim, ...]:
    return tuple([substitute(dim, sizes) for dim in shape])
