"""Find positions of a tensor that do not depend on the batch, such as a class token.

If the first input of a Concat is a constant, the first positions of the output are constant. A node that reads only
these positions may read them from any sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from shapecalc.models.file import Node, iter_nodes
from shapecalc.models.operators import find_operator
from shapecalc.models.walk_state import WalkState, is_same_in_all_lanes

MAX_NODES = 16
"""The maximum number of nodes between a Concat and the node that reads its first positions."""


class ConstantParts:
    """A search for constant positions in the tensors of a walk."""

    def __init__(
        self,
        walk: WalkState,
        marks_of: Callable[[int], Sequence[object] | None],
        producer_of: Callable[[int], Node | None],
    ) -> None:
        """Create a search.

        `marks_of` returns the batch marks of a tensor, or None for a tensor that does not depend on the batch.
        `producer_of` returns the node that computes a tensor.
        """
        self._walk, self._marks_of, self._producer_of = walk, marks_of, producer_of
        self._readers: dict[int, list[Node]] | None = None

    def is_constant_part_read(self, node: Node) -> bool:
        """Return whether all readers of a Slice read only positions that do not depend on the batch."""
        if node.op != "Slice" or node.domain or "/" in node.path:
            return False
        output = node.outputs[0]
        if self._readers is None:
            self._readers = defaultdict(list)
            for reader in iter_nodes((self._walk.model.graph,)):
                for number in reader.used_tensors:
                    self._readers[number].append(reader)
        readers = self._readers.get(output, [])
        return (
            output not in self._walk.model.graph.outputs
            and bool(readers)
            and all(self._reads_constant_positions(reader, output, node.inputs[0]) for reader in readers)
        )

    def _reads_constant_positions(self, reader: Node, tensor: int, data: int) -> bool:
        """Return whether a Gather reads only constant positions of a tensor.

        The tensor contains rows of the tensor `data`.
        """
        shape = self._walk.shapes_of(data)[0]
        if reader.op != "Gather" or reader.domain or reader.inputs[0] != tensor or not shape:
            return False
        axis, indices = reader.attributes.get("axis", 0) % len(shape), self._walk.elements_of(reader.inputs[1])
        if indices is None or not is_same_in_all_lanes(indices) or not indices[0].size:
            return False
        return bool(indices[0].min() >= 0 and indices[0].max() < self._constant_count(data, axis, MAX_NODES))

    def _has_equal_rows(self, tensor: int, producer: Node | None) -> bool:
        """Return whether a constant does not grow with the batch, or is an Expand of such a constant."""
        if producer is not None and producer.op == "Expand":
            tensor = producer.inputs[0]
        shapes = self._walk.shapes_of(tensor)
        return len({shapes[lane] for lane in self._walk.judged_lanes}) == 1

    def _constant_count(self, tensor: int, axis: int, node_budget: int) -> int:
        """Return the number of leading positions along an axis that do not depend on the batch."""
        shape, producer = self._walk.shapes_of(tensor)[0], self._producer_of(tensor)
        if shape is None:
            return 0
        if not self._marks_of(tensor):
            return shape[axis] if self._has_equal_rows(tensor, producer) else 0
        if producer is None or producer.domain or not node_budget:
            return 0
        if producer.op == "Concat" and producer.attributes.get("axis", 0) % len(shape) == axis:
            first = producer.inputs[0]
            return self._constant_count(first, axis, node_budget - 1)
        if not find_operator(producer).is_pointwise:
            return 0
        counts = []
        for number in producer.inputs:
            own = self._walk.shapes_of(number)[0] or ()
            place = axis - len(shape) + len(own)
            if self._marks_of(number) or (place >= 0 and own[place] > 1):
                counts.append(self._constant_count(number, place, node_budget - 1) if place >= 0 else 0)
        return min(counts, default=0)
