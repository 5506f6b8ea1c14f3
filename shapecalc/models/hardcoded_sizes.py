"""Find the hard-coded sizes in a model that should change with its free dims.

For example, a 64 may be the number of patches in a grid of 8 by 8. The model is walked, that is, all shapes are
computed, at the *reference sizes* of the free dims and at multiples of them. A *hard-coded size* is a number in a node
that equals the size of a dim at the reference sizes, and should change with the free dims. The walk continues as if the
number changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from shapecalc.core.problem import usage_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.models.batch_axis import BatchMark, LaneShapes
from shapecalc.models.file import ABSENT, Node
from shapecalc.models.free_dims import DimFitter, Lane
from shapecalc.models.judge import JudgedModel
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.queries import NodeVisit
from shapecalc.models.repairs import RESIZE_SIZES_INPUT
from shapecalc.models.walk import walk_model
from shapecalc.models.walk_state import LaneFailures, WalkState, is_same_in_all_lanes

FACTORS = (2, 3, 5, 7, 11)
"""The factors by which the reference sizes are multiplied in a walk."""
MAX_FREE_NAMES = 4
"""The maximum number of dims that change in one walk."""
SEARCHED_OPERATORS = ("Concat", "MatMul", "Gemm", "GatherElements")
"""The operators, besides elementwise ones, whose constant inputs are searched for sizes."""
OFFSETS = (0, 1, 2, -1, -2, 3, 4)
"""The constants that an expression may add to a product.

For example, image models add the number of class tokens.
"""
TARGET_INPUT = 1
"""The input index of the target of a Reshape or an Expand."""
DimSizes = tuple[int, ...]
"""The size of a dim for each size assignment."""


class HardcodedSize(Record):
    """A hard-coded size: a number in a node that should change with the free dims."""

    node: Node
    number: int | None
    """The hard-coded size, or None if the node fails for a different reason."""
    holder: str
    """The argument or tensor that contains the size, such as `target 0,-1,64`, or the error message of the node."""
    expression: str = ""
    """The expression that should replace the size, such as `H/4*W/4`, or an empty string if unknown."""
    is_certain: bool = False
    """Whether the input shapes determine the expression."""
    axis: int | None = None
    """The index of the size in the target, or the axis of the tensor that has this size."""
    location: tuple[int, int] | None = None
    """The index of the node input that contains the size, and the index of the size in this input.

    It is None if the input is not a list of sizes.
    """
    is_restored: bool = False
    """Whether the size belongs to a Reshape that restores the shape of an earlier tensor."""
    is_inferable: bool = False
    """Whether a -1 in the target can replace the size."""


class HardcodedSizes(Record):
    """The hard-coded sizes of a model."""

    sizes: Mapping[str, int]
    """The reference sizes of the free dims, by name."""
    hardcoded: tuple[HardcodedSize, ...]
    unchecked_count: int
    """The number of nodes with a core op that were not checked because a shape is unknown."""


class _HardcodedSizeTracker(BatchTracker):
    """A tracker that records hard-coded sizes, and continues with corrected shapes."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names
        self.hardcoded: list[HardcodedSize] = []
        self.unchecked_count = 0
        self._seen: dict[DimSizes, None] = {}
        """The sizes of each dim that changes, in the order of the walk; the keys serve as an ordered set."""
        self._seen_shapes: dict[DimSizes, dict[tuple[DimSizes, ...], None]] = {}
        """The shapes of each tensor for all size assignments.

        The key is the shape at the reference sizes.
        """

    def start_walk(self, walk: WalkState) -> None:
        super().start_walk(walk)
        lanes = [
            replace(lane, sizes=FrozenDict({name: lane.sizes[name] for name in self._names})) for lane in walk.lanes
        ]
        self._fitter = DimFitter(lanes, self._names[0])
        for value in walk.model.inputs:
            self._add_seen_sizes(walk.shapes_of(value.tensor))

    def visit_core_node(self, visit: NodeVisit) -> LaneShapes:
        """Record the hard-coded sizes of a node with a core op.

        Returns the output shapes as if these sizes changed.
        """
        outputs = visit.outputs
        if visit.unknown_reason:
            self.unchecked_count += 1
        elif visit.node.op == "Reshape" and is_same_in_all_lanes(visit.arguments):
            outputs = self._restore_seen_shape(visit) or self._correct_reshape(visit)
        elif visit.node.op == "Expand" and is_same_in_all_lanes(visit.arguments) and any(visit.problems):
            outputs = self._correct_expand(visit)
        elif problem := next(filter(None, visit.problems), None):
            self.hardcoded.append(HardcodedSize(visit.node, None, problem.message))
        self._add_seen_sizes(outputs)
        return outputs

    def propagate_marks(self, node: Node) -> None:
        """Record the hard-coded sizes of a Resize with constant sizes, and correct its output.

        Batch marks are not propagated.
        """
        walk = self._walk
        if node.op == "Resize" and not node.domain and len(node.inputs) > RESIZE_SIZES_INPUT:
            values, before = walk.elements_of(node.inputs[RESIZE_SIZES_INPUT]), walk.shapes_of(node.inputs[0])
            known = [value for value in values or () if value is not None and np.array_equal(value, (values or ())[0])]
            if known and len(known) == len(walk.lanes) and None not in before:
                self._correct_resize(node, before)
        for tensor in node.outputs:
            self._add_seen_sizes(walk.shapes_of(tensor) if tensor else walk.all_unknown)

    def find_repeat_fixes(self, node: Node) -> None:
        """Return None, because the tracker does not repeat constants."""

    def record_index_fix(self, node: Node, failures: LaneFailures) -> LaneShapes | None:
        """Record the hard-coded sizes of a failing node's constant input.

        Returns the output shapes as if the input changed, or None if they are unknown.
        """
        if self._has_searched_inputs(node):
            shapes = [self._walk.shapes_of(number) for number in node.inputs]
            for index, number in enumerate(node.inputs):
                other = next((shape for shape in shapes if shape != shapes[index] and len({*shape}) > 1), None)
                if number == ABSENT or len({*shapes[index]}) > 1 or other is None:
                    continue
                found = self._find_hardcoded_axes(node, index, shapes[index], other)
                if found:
                    self.hardcoded += found
                    is_elementwise = node.op not in SEARCHED_OPERATORS
                    return other if is_elementwise and None not in other else None
        return None

    def record_failure(self, node: Node, failures: LaneFailures) -> None:
        """Record a failing node in which no hard-coded size is known."""
        if not any(size.node is node for size in self.hardcoded):
            self.hardcoded.append(
                HardcodedSize(node, None, next((reason for reason in failures if reason), "it fails"))
            )

    def marks_of(self, tensor: int) -> tuple[BatchMark, ...] | None:
        """Return None, because the tracker does not track the batch."""
        return None

    def _has_searched_inputs(self, node: Node) -> bool:
        from shapecalc.models.operators import find_operator

        return not node.domain and (node.op in SEARCHED_OPERATORS or find_operator(node).is_pointwise)

    def _find_hardcoded_axes(self, node: Node, index: int, own: LaneShapes, other: LaneShapes) -> list[HardcodedSize]:
        """Return the hard-coded sizes on the axes of a constant input.

        `own` contains the shape of this input for each size assignment, and `other` the shape of an input that changes.
        """
        first, changing = own[0], [shape for shape in other if shape is not None]
        if first is None or len(changing) < len(other):
            return []
        rank, is_product = len(changing[0]), node.op in ("MatMul", "Gemm")
        name = escape_unprintable(truncate(self._walk.model.names[node.inputs[index]]))
        found = []
        for axis, size in enumerate(first):
            beside = axis + rank - len(first) if not is_product else rank - 1 if index else rank - 2
            sizes = tuple([shape[beside] for shape in changing]) if 0 <= beside < rank else ()
            if sizes and sizes[0] == size and len({*sizes}) > 1:
                found.append(HardcodedSize(node, size, f"axis {axis} of {name}", self._format_sizes(sizes), True, axis))
        return found[:1] if is_product else found

    def _correct_reshape(self, visit: NodeVisit) -> LaneShapes:
        """Record the hard-coded sizes in the constant target of a Reshape.

        Returns the output shapes as if these sizes changed.
        """
        inputs = [shape for shape in visit.input if shape is not None]
        output, targets = visit.outputs[0], visit.argument_values(visit.core_op.arguments[0].name)
        target = targets[0]
        if output is None or target is None or len(inputs) < len(visit.input) or len(target) != len(output):
            return visit.outputs
        lanes, numbers = [[*output] for _ in inputs], list[HardcodedSize]()
        for before, after in _pair_axes(inputs[0], output):
            sizes = tuple([prod([shape[axis] for axis in before]) for shape in inputs])
            dims = [tuple([shape[axis] for shape in inputs]) for axis in before]
            entries = [(axis, output[axis]) for axis in after if output[axis] != 1 or len(after) == 1]
            if len({*sizes}) == 1 and not any(len({*dim}) > 1 for dim in dims):
                continue
            chosen: list[tuple[DimSizes, str]] | None
            if len(entries) == 1:
                texts = [self._format_sizes(dim) for dim in dims if dim[0] != 1] or [self._format_sizes(sizes)]
                chosen = [(sizes, "*".join(texts) if "" not in texts else "")]
            else:
                chosen = self._split_sizes(
                    sizes, [size for _, size in entries], can_scale=all(target[axis] > 0 for axis in after)
                )
            for (axis, size), (by_lane, text) in zip(entries, chosen or [], strict=False):
                for lane, corrected in zip(lanes, by_lane, strict=True):
                    lane[axis] = corrected
                if target[axis] > 0 and len({*by_lane}) > 1:
                    holder = f"target {','.join(map(str, target))}"
                    numbers.append(
                        HardcodedSize(visit.node, size, holder, text, len(entries) == 1, axis, (TARGET_INPUT, axis))
                    )
            if chosen is None and any(visit.problems):
                message = next(problem.message for problem in visit.problems if problem)
                self.hardcoded += [*numbers, HardcodedSize(visit.node, None, message)]
                return visit.outputs
            if chosen is None:
                self.hardcoded += numbers
                return visit.outputs
        self.hardcoded += [replace(size, is_inferable=len(numbers) == 1 and -1 not in target) for size in numbers]
        return tuple(map(tuple, lanes))

    def _restore_seen_shape(self, visit: NodeVisit) -> LaneShapes | None:
        """Record the hard-coded sizes of a Reshape that restores the shape of an earlier tensor.

        At the reference sizes, the earlier tensor has the output shape; at all sizes, it has the element count of the
        input. Returns the shapes of the earlier tensor. Returns None if there is no such tensor, or if such tensors
        have different shapes.
        """
        output, target = visit.outputs[0], visit.argument_values(visit.core_op.arguments[0].name)[0]
        if output is None or target is None or len(target) != len(output) or None in visit.input:
            return None
        counts = [prod(shape) for shape in visit.input if shape is not None]
        seen = [shapes for shapes in self._seen_shapes.get(output, ()) if [*map(prod, shapes)] == counts]
        if len(seen) != 1 or len({*seen[0]}) == 1:
            return None
        for axis, sizes in enumerate(zip(*seen[0], strict=True)):
            if target[axis] > 0 and len({*sizes}) > 1:
                holder, text = f"target {','.join(map(str, target))}", self._format_sizes(sizes)
                self.hardcoded.append(
                    HardcodedSize(visit.node, output[axis], holder, text, False, axis, (TARGET_INPUT, axis), True)
                )
        return seen[0]

    def _split_sizes(
        self, total: DimSizes, numbers: Sequence[int], *, can_scale: bool
    ) -> list[tuple[DimSizes, str]] | None:
        """Return sizes that replace `numbers` and have the product `total`, or None.

        The result contains, for each number, its size for each size assignment and the expression of these sizes. If
        `can_scale` is True, the first number may grow in proportion to `total`, as the number of windows does.
        """
        seen = [sizes for sizes in self._seen if sizes[0] in numbers]
        for count in range(1, len(numbers) + 1):
            for places in combinations(range(len(numbers)), count):
                chosen: list[DimSizes] = []
                for place in places:
                    free = [sizes for sizes in seen if sizes[0] == numbers[place] and sizes not in chosen]
                    chosen += free[:1]
                by_place = dict(zip(places, chosen, strict=False)) if len(chosen) == count else {}
                parts = [by_place.get(place, (number,) * len(total)) for place, number in enumerate(numbers)]
                if by_place and all(prod(sizes) == whole for *sizes, whole in zip(*parts, total, strict=True)):
                    return [(sizes, self._format_sizes(sizes)) for sizes in parts]
        # the first number may count windows along the dim
        if can_scale and numbers and all(numbers[0] * size % total[0] == 0 for size in total):
            scaled = tuple([numbers[0] * size // total[0] for size in total])
            parts = [scaled, *[(number,) * len(total) for number in numbers[1:]]]
            return [(sizes, self._format_sizes(sizes)) for sizes in parts]
        return None

    def _correct_expand(self, visit: NodeVisit) -> LaneShapes:
        """Record the hard-coded sizes in the target of an Expand.

        Returns the output shapes as if these sizes changed.
        """
        target, inputs = (
            visit.argument_values(visit.core_op.arguments[0].name)[0] or (),
            [shape for shape in visit.input if shape is not None],
        )
        lanes = [[*shape] for shape in inputs]
        for axis, number in enumerate(target, len(inputs[0]) - len(target)):
            sizes = tuple([shape[axis] for shape in inputs]) if axis >= 0 else ()
            if sizes and number == sizes[0] and len({*sizes}) > 1:
                holder = f"target {','.join(map(str, target))}"
                self.hardcoded.append(
                    HardcodedSize(
                        visit.node,
                        number,
                        holder,
                        self._format_sizes(sizes),
                        True,
                        axis + len(target) - len(inputs[0]),
                        (TARGET_INPUT, axis + len(target) - len(inputs[0])),
                    )
                )
            elif axis >= 0 and sizes and sizes[0] == 1:
                for lane in lanes:
                    lane[axis] = number
        extra = [*target[: max(len(target) - len(inputs[0]), 0)]]
        return tuple([(*extra, *lane) for lane in lanes])

    def _correct_resize(self, node: Node, before: LaneShapes) -> None:
        """Record the hard-coded sizes in the constant sizes of a Resize, and correct its output."""
        walk = self._walk
        after = walk.shapes_of(node.outputs[0])
        shapes = [shape for shape in before if shape is not None]
        if after[0] is None or any(shape != after[0] for shape in after):
            return
        lanes = [[*after[0]] for _ in shapes]
        for axis, (number, size) in enumerate(zip(after[0], shapes[0], strict=True)):
            scaled = tuple([number * shape[axis] // size for shape in shapes])
            if len({*scaled}) > 1:
                axes = [index % len(shapes[0]) for index in node.attributes.get("axes", range(len(shapes[0])))]
                place = (RESIZE_SIZES_INPUT, axes.index(axis)) if axis in axes else None
                self.hardcoded.append(
                    HardcodedSize(node, number, "sizes", self._format_sizes(scaled), False, axis, place)
                )
                for lane, corrected in zip(lanes, scaled, strict=True):
                    lane[axis] = corrected
        walk.set_shape(node.outputs[0], tuple(map(tuple, lanes)), walk.dtypes[node.outputs[0]])

    def _add_seen_sizes(self, shapes: LaneShapes) -> None:
        known = [shape for shape in shapes if shape is not None]
        if len(known) == len(shapes) and len({len(shape) for shape in known}) == 1:
            self._seen_shapes.setdefault(known[0], {})[tuple(known)] = None
            for sizes in zip(*known, strict=True):
                if len({*sizes}) > 1:
                    self._seen[sizes] = None

    def _format_sizes(self, sizes: DimSizes) -> str:
        """Return the expression in the free dims that has these sizes, for example `H*W/64+1`.

        Returns an empty string if no expression fits.
        """
        for offset in OFFSETS:
            dim = self._fitter.fit_dim(tuple([size - offset for size in sizes]))
            if dim is not None:
                return f"{dim}{offset:+}" if offset else str(dim)
        return ""


def find_hardcoded_sizes(judged: JudgedModel, names: Sequence[str]) -> HardcodedSizes:
    """Find the hard-coded sizes of a model that should change with the free dims `names`.

    Raises `ShapeError` (usage) if a name is not a free dim of the inputs or is the batch dim, or if there are too many
    names.
    """
    walk, choice = judged.walk, judged.walk.choice
    reference = next(lane for lane in walk.lanes if lane.batch == choice.reference_batch)
    free = dict.fromkeys(dim for dims in choice.inputs for dim in dims or () if isinstance(dim, str))
    free.pop(choice.batch, None)
    for name in names:
        if name == choice.batch:
            raise usage_error(f"{escape_unprintable(name)} is the batch", "leave out --free", argument="free")
        if name not in free:
            known = escape_unprintable(", ".join(free)) or "no free dim besides the batch"
            hint = f"it has {known}; --set x=N,3,H,W names the dims of an input"
            raise usage_error(f"no free dim is called {escape_unprintable(truncate(name))}", hint, argument="free")
    if len(names) > MAX_FREE_NAMES:
        raise usage_error(f"--free takes at most {MAX_FREE_NAMES} names", argument="free")
    home = {**reference.sizes, **dict(_iter_declared_sizes(walk))}
    lanes = [
        Lane(reference.batch, FrozenDict({**home, **sizes}), judged=True)
        for sizes in _iter_multiples({name: home[name] for name in names})
    ]
    tracker = _HardcodedSizeTracker(names)
    walk_model(walk.model, replace(choice, lanes=tuple(lanes)), tracker)
    sizes = FrozenDict({name: home[name] for name in names})
    return HardcodedSizes(sizes, tuple(tracker.hardcoded), tracker.unchecked_count)


def _iter_declared_sizes(walk: WalkState) -> Iterator[tuple[str, int]]:
    """Yield the name and the declared size of each fixed dim that the user has named.

    The numbers in the nodes are compared with declared sizes, not with the sizes that were chosen for the names.
    """
    for declared, taken in zip(walk.model.inputs, walk.choice.inputs, strict=True):
        for size, name in zip(declared.dims or (), taken or (), strict=False):
            if isinstance(size, int) and isinstance(name, str) and name != walk.batch:
                yield name, size


def _iter_multiples(sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the sizes, then the sizes with one dim multiplied, then with all dims multiplied.

    If all dims change, each dim has a different factor.
    """
    yield sizes
    for name, size in sizes.items():
        yield from [{**sizes, name: size * factor} for factor in FACTORS[:3]]
    for shift in range(2):
        yield {name: size * FACTORS[index + shift] for index, (name, size) in enumerate(sizes.items())}


def _pair_axes(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[range, range]]:
    """Pair the axes of two shapes: yield the smallest groups with equal element counts.

    A group contains consecutive axes. Each pair contains the axes of the shape `before` and the axes of the shape
    `after`.

    >>> [[*map(list, pair)] for pair in _pair_axes((2, 3, 4, 5), (2, 12, 5))]
    [[[0], [0]], [[1, 2], [1]], [[3], [2]]]
    """
    row = column = 0
    while row < len(before) or column < len(after):
        first_row, first_column = row, column
        left = right = 1
        if row < len(before):
            left, row = before[row], row + 1
        if column < len(after):
            right, column = after[column], column + 1
        while left != right:
            if left < right and row < len(before):
                left, row = left * before[row], row + 1
            elif column < len(after):
                right, column = right * after[column], column + 1
            else:
                return
        if row == len(before) or column == len(after):
            row, column = len(before), len(after)
        yield range(first_row, row), range(first_column, column)
