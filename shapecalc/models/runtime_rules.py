"""What ONNX Runtime refuses though ONNX's inference does not: a batch that two inputs of a node do not share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from shapecalc.models.model import Node

STATES = (("sequence_lens", 4, 0), ("initial_h", 5, 1), ("initial_c", 6, 1))
"""The other inputs of recurrent operators that have a batch: name, place, and its axis unless `layout` has it first."""


def batch_refusal(node: Node, kinds: Sequence[Any]) -> str | None:
    """Return why a runtime refuses a node with inputs of these types and shapes; None if nothing here says so."""
    if node.domain or node.op not in BATCHES:
        return None
    shapes = [kind[1] if isinstance(kind, tuple) else None for kind in kinds]
    found: dict[str, int] = {}
    for name, place, axis in BATCHES[node.op](node.attributes):
        shape = shapes[place] if place < len(shapes) else None
        if shape is not None and axis < len(shape):
            found[name] = shape[axis]
    batch = found.get("X")
    for name, size in found.items():
        if batch is not None and size != batch:
            return f"{name} has a batch of {size}, and X one of {batch}"
    return None


def _recurrent(attributes: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    first = bool(attributes.get("layout", 0))
    return [("X", 0, 0 if first else 1), *[(name, at, 0 if first else axis) for name, at, axis in STATES]]


def _sampled(_: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    return [("X", 0, 0), ("grid", 1, 0)]


BATCHES = {**dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent), "GridSample": _sampled}
"""The inputs that share a batch, by operator: name, place and the axis of the batch."""
