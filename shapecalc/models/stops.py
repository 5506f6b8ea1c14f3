"""Stops: which listed node a failing one fails for, and what would mend it."""

from __future__ import annotations

from shapecalc.core.record import Record
from shapecalc.models.marks import Apart
from shapecalc.models.report import Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from shapecalc.models.marks import Mark
    from shapecalc.models.model import Node
    from shapecalc.models.walk import Shapes

    class Followed(Protocol):
        """What is known of the tensors above a stop."""

        batch: str
        declared: int

        def marks(self, tensor: int) -> tuple[Mark, ...] | None:
            """Return the marks of a tensor by lane; None if the batch does not reach it."""

        def shapes(self, tensor: int) -> Shapes | None:
            """Return the shape of a tensor in each lane."""

        def maker(self, tensor: int) -> Node | None:
            """Return the node that made a tensor."""


FARTHEST = 64
"""How many nodes above a stop are looked at."""
REPEATING = {"Expand", "Tile"}
"""What makes a constant as long as the batch, once for each sample."""


class Cause(Record):
    """A listed node that repeats a constant as often as the declared batch, and what mends it."""

    node: Node
    fix: Fix


def cause_of(node: Node, follower: Followed) -> Cause | None:
    """Return the node that a stop fails for: the nearest above it that the batch does not reach, and should."""
    rank_and_axis = _marked(node, follower)
    if rank_and_axis is None:
        return None
    rank, axis = rank_and_axis
    for above in _above(node, follower):
        if above.op in REPEATING and not above.domain:
            shapes = follower.shapes(above.outputs[0])
            place = axis - rank + len(shapes[0]) if shapes and shapes[0] is not None else -1
            if place >= 0 and shapes is not None and {shape[place] for shape in shapes if shape} == {follower.declared}:
                how = f"takes {follower.batch} from an input"
                inserts = ("Shape", "Gather", "Concat")
                return Cause(above, Fix(None, None, "the input keeps its batch", how, inserts, place))
    return None


def _marked(node: Node, follower: Followed) -> tuple[int, int] | None:
    """Return the rank of an input that the batch reaches as a whole axis, and this axis."""
    for tensor in node.inputs:
        shapes = follower.shapes(tensor)
        mark = next((mark for mark in follower.marks(tensor) or () if mark), None)
        if isinstance(mark, Apart) and mark.inner == 1 and shapes and shapes[0] is not None:
            return len(shapes[0]), mark.axis
    return None


def _above(node: Node, follower: Followed) -> Iterator[Node]:
    """Yield the nodes above one that the batch does not reach, the nearest first."""
    left, passed = [node], 0
    while left and passed < FARTHEST:
        found = left.pop(0)
        passed += 1
        for tensor in found.inputs:
            made_by = follower.maker(tensor)
            if made_by is not None and not follower.marks(tensor):
                yield made_by
                left.append(made_by)
