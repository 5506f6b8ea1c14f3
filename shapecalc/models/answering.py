"""Core's answers to a listed node with other arguments than its own."""

from __future__ import annotations

from functools import lru_cache

from shapecalc.core.answers import Request
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shapecalc.models.fixes import Answer
    from shapecalc.models.walk import Sizes, Visit

KEPT = 1 << 16
"""How many answers are kept."""


def answer_of(visit: Visit) -> Answer:
    """Return what answers for a node's operator in its version."""

    def answer(shape: Sizes, arguments: Mapping[str, Any], switch: bool | None) -> Sizes | None:
        return _output(visit.op, visit.node.opset, shape, tuple(arguments.items()), switch)

    return answer


@lru_cache(KEPT)
def _output(
    op: str, opset: int, shape: Sizes, arguments: tuple[tuple[str, Any], ...], switch: bool | None
) -> Sizes | None:
    """Return the output's shape; None if core refuses."""
    try:
        found = resolve(Request(op, shape, dict(arguments), opset=opset, switch=switch)).output
    except ShapeError:
        return None
    return None if found is None else tuple([dim for dim in found if isinstance(dim, int)])
