"""Core's answers to a listed node with other arguments, and to what it would be asked at a batch of 0."""

from __future__ import annotations

from functools import lru_cache

from shapecalc.core.answers.request import Request
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.sizes.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from shapecalc.models.fixes import Answer
    from shapecalc.models.marks import Sizes
    from shapecalc.models.verdicts import Run
    from shapecalc.models.walk import Visit

KEPT = 1 << 16
"""How many answers are kept."""
RUNS_EMPTY = frozenset(("transpose", "shape", "unsqueeze", "flatten", "depth_to_space", "space_to_depth", "tile"))
"""The ops that take an empty tensor whenever they take others."""


def answer_of(visit: Visit) -> Answer:
    """Return what answers for a node's operator in its version."""

    def answer(shape: Sizes, arguments: Mapping[str, Any], switch: bool | None) -> tuple[int, ...] | None:
        return _output(visit.op, visit.node.opset, tuple(shape), tuple(arguments.items()), switch)

    return answer


@lru_cache(KEPT)
def _output(
    op: str, opset: int, shape: tuple[int, ...], arguments: tuple[tuple[str, Any], ...], switch: bool | None
) -> tuple[int, ...] | None:
    """Return the output's shape; None if core refuses."""
    try:
        return resolve(Request(op, shape, dict(arguments), opset=opset, switch=switch)).output  # type: ignore[return-value]
    except ShapeError:
        return None


def at_zero(visit: Visit, runs: Sequence[Run]) -> str | None:
    """Return `ok` or `refused`, as the node takes a batch of 0; None if its input or arguments then are not known.

    Sizes are followed to 0 along the line through those at the judged batches.
    """
    if visit.unknown:
        return None
    if visit.op in RUNS_EMPTY:
        return "ok" if runs[-1].output is not None else None
    lanes = [at for at, shape in enumerate(visit.input) if shape is not None and visit.arguments[at] is not None]
    batches = [run.batch for run in runs]
    lanes = lanes[: len(batches)]
    if len(lanes) < len(batches) or len(batches) < 2:
        return None
    shape = _line([visit.input[at] for at in lanes], batches)
    arguments = {}
    for name, value in (visit.arguments[lanes[0]] or {}).items():
        every = [(visit.arguments[at] or {}).get(name) for at in lanes]
        arguments[name] = _line(every, batches) if isinstance(value, tuple) else value
        if arguments[name] is None and any(each is not None for each in every):
            return None
    if shape is None:
        return None
    answer = answer_of(visit)(shape, arguments, visit.switch)
    return "refused" if answer is None else "ok"


def _line(values: Sequence[Any], batches: Sequence[int]) -> tuple[int, ...] | None:
    """Return whole numbers at a batch of 0, if each is on a line at the others."""
    if len({len(each) for each in values}) > 1:
        return None
    found = []
    for row in zip(*values, strict=True):
        slope, rest = divmod(row[1] - row[0], batches[1] - batches[0])
        start = row[0] - slope * batches[0]
        if rest or any(slope * batch + start != size for batch, size in zip(batches, row, strict=True)):
            return None
        found.append(start)
    return tuple(found)
