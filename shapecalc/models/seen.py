"""A node as it is seen at one size of the batch: its operator, the shapes and marks around it, and what it is told."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from shapecalc.models.marks import Mark, Sizes


class Seen:
    """A node at one size of the batch. It is made for each node and size, so it is no `Record`, which takes longer."""

    __slots__ = ("absent", "attributes", "batch", "domain", "inputs", "marks", "op", "opset", "outputs", "values")

    def __init__(
        self,
        op: str,
        domain: str,
        opset: int,
        attributes: Mapping[str, Any],
        batch: int,
        marks: Sequence[Mark],
        inputs: Sequence[Sizes | None],
        outputs: Sequence[Sizes | None],
        values: Sequence[Any],
        absent: Sequence[int] = (),
    ) -> None:
        """Set the marks of the inputs, the shapes of inputs and outputs, and the inputs' elements; None if unknown.

        `absent` has the places of optional inputs that are left out.
        """
        self.op, self.domain, self.opset, self.attributes, self.batch = op, domain, opset, attributes, batch
        self.marks, self.inputs, self.outputs, self.values = marks, inputs, outputs, values
        self.absent = absent

    def rank(self, at: int) -> int:
        """Return the rank of an input whose shape is known."""
        shape = self.inputs[at]
        assert shape is not None
        return len(shape)

    def rank_out(self, to: int = 0) -> int:
        """Return the rank of an output whose shape is known."""
        shape = self.outputs[to]
        assert shape is not None
        return len(shape)

    def axis(self, default: int, rank: int) -> int:
        """Return the attribute `axis`, counted from the left."""
        axis: int = self.attributes.get("axis", default)
        return axis + rank if axis < 0 else axis

    def numbers(self, name: str, at: int) -> tuple[int, ...] | None:
        """Return whole numbers that are an attribute in old opsets and an input in new ones; None if not known."""
        if name in self.attributes:
            given = self.attributes[name]
            return tuple(given) if isinstance(given, tuple) else (given,)
        found = self.values[at] if at < len(self.values) else None
        return None if found is None else tuple(found.ravel().tolist())

    def lacks(self, at: int) -> bool:
        """Say whether an optional input is left out."""
        return at >= len(self.inputs) or at in self.absent
