"""Describe every node of a model with symbolic shapes, element counts and bytes.

A size assignment (`Lane`) gives a size to each free dim of a model. The model is walked for several size assignments,
which gives several sizes of each dim, and a symbolic expression is fitted to these sizes. The candidates are, in this
order:

1. the expression of an earlier dim with equal sizes;
2. a product or sum of the names in the model's inputs;
3. a product or sum of the names in the node's inputs;
4. the sum of the input dims on the same axis;
5. a floor division of a linear expression in one name, such as `(H+1)//2`. The output shape is computed at consecutive
   sizes of the name, and exactly one formula must fit.

Each sum and each floor division gets a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import gcd, prod

from shapecalc.core import dims as core
from shapecalc.core.dims import Dim, IntTuple
from shapecalc.core.record import FrozenDict, replace
from shapecalc.core.results import NameAllocator
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import ABSENT, Node, NodeGraph, iter_nodes
from shapecalc.models.free_dims import MAX_NAMES, DimFitter, DimSum, Lane, transpose_lane_shapes
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.queries import NodeVisit
from shapecalc.models.report import AllNodes, NodeOutput, NodeSummary
from shapecalc.models.walk import Walker, walk_model
from shapecalc.models.walk_state import WalkState, is_same_in_all_lanes

ObservedSizes = tuple[int | None, ...]
"""The size of a dim, or None if unknown, for each size assignment whose batch size is not 0."""
FLOOR_SIZES = 34
"""The number of consecutive sizes to which a floor division is fitted. The divisor must be smaller than this number."""
MAX_NODES_PER_DIM = 48
"""The maximum number of nodes that are walked to fit the expression of one dim."""
MAX_WALKED_NODES = 4000
"""The maximum number of nodes that are walked to fit the expressions of all dims of a model."""
LARGEST_TENSOR_COUNT = 5
"""The number of tensors in the list of the largest tensors."""
UNIT_LANE = Lane(1, FrozenDict(), judged=False)
"""A size assignment with a batch size of 1 and no free dims."""


class _ShapeOnlyTracker(BatchTracker):
    """A batch tracker that propagates shapes only and does not fix failing nodes."""

    def visit_core_node(self, visit: NodeVisit) -> LaneShapes:
        return visit.outputs


class _SymbolicDimResolver:
    """The symbolic dims of a model, inferred node by node.

    `resolve_dims` must be called for the nodes in the order of the walk.
    """

    def __init__(self, walk: WalkState, tracker: BatchTracker, declared_lane: Lane) -> None:
        self._walk, self._tracker = walk, tracker
        self._lane_indices = [place for place, lane in enumerate(walk.lanes) if lane.batch]
        self._lanes = [walk.lanes[place] for place in self._lane_indices]
        self._declared_index = self._lanes.index(declared_lane)
        self._sizes: dict[str, ObservedSizes] = {
            name: tuple([lane.sizes[name] for lane in self._lanes]) for name in declared_lane.sizes
        }
        """The size of each named dim for each size assignment. The names include the names of sums and of floor
        divisions.
        """
        self.naming = NameAllocator(self._sizes, {})
        self._fitters: dict[tuple[str, ...], tuple[list[int], DimFitter]] = {
            (): ([*range(len(self._lanes))], DimFitter(walk.lanes, walk.batch))
        }
        """For each tuple of names, the size assignments in which all of them have known sizes, and the fitter.

        The fitter fits products and sums of the names. The empty tuple is the key for the names in the model's inputs.
        """
        self._dims: dict[ObservedSizes, Dim | None] = {}
        self._searched: set[object] = set()
        self._shapes: dict[LaneShapes, tuple[Dim | None, ...] | None] = {}
        self._node_budget = MAX_WALKED_NODES
        small = WalkState(
            replace(walk.model, inputs=()), replace(walk.choice, inputs=(), lanes=(UNIT_LANE,) * FLOOR_SIZES)
        )
        self._walker = Walker(small, _ShapeOnlyTracker())
        self._walker.tracker.start_walk(small)

    def shape(self, number: int) -> tuple[Dim | None, ...] | None:
        """Return the symbolic shape of the tensor with this number.

        An unresolved dim is None. Returns None if the rank is unknown.
        """
        shapes = self._walk.shapes_of(number)
        if shapes not in self._shapes:
            seen = self._observed_sizes(shapes)
            self._shapes[shapes] = None if seen is None else tuple(map(self._look_up_dim, seen))
        return self._shapes[shapes]

    def resolve_dims(self, node: Node, number: int) -> None:
        """Fit a symbolic expression to each dim of one output of a node.

        `number` is the tensor number of the output.
        """
        if None not in (self.shape(number) or ()):
            return
        shapes = self._walk.shapes_of(number)
        for axis, seen in enumerate(self._observed_sizes(shapes) or ()):
            if self._look_up_dim(seen) is None and seen.count(None) < len(seen) - 2:
                self._fit_and_store_dim(node, number, axis, seen)
        del self._shapes[shapes]

    def _observed_sizes(self, shapes: LaneShapes) -> list[ObservedSizes] | None:
        """Return the observed sizes of each dim of a tensor, one per size assignment.

        Returns None if the rank is unknown or differs between size assignments.
        """
        return transpose_lane_shapes([shapes[place] for place in self._lane_indices])

    def _look_up_dim(self, sizes: ObservedSizes) -> Dim | None:
        """Return a symbolic expression for a dim with the given sizes, without a walk.

        This is the expression of an earlier dim with equal sizes, or a product or sum of names in the model's inputs.
        Returns None if there is neither, or if the size is known for only one size assignment.
        """
        if sizes not in self._dims:
            known_in_one = sizes.count(None) == len(sizes) - 1 > 0
            self._store_dim(sizes, None if known_in_one else self._fit_dim(sizes, ()))
        return self._dims[sizes]

    def _store_dim(self, sizes: ObservedSizes, dim: Dim | None) -> Dim | None:
        """Store `dim` as the expression of all dims with these sizes, and return it.

        If the expression is the name of a sum or of a floor division, the sizes are also stored for this name.
        """
        if str(dim) in self.naming.results:
            self._sizes.setdefault(str(dim), sizes)
        self._dims[sizes] = dim
        return dim

    def _fit_dim(self, observed_sizes: ObservedSizes, names: tuple[str, ...]) -> Dim | None:
        """Return the product or sum of `names` that fits the sizes of a dim, or None."""
        if names not in self._fitters:
            sizes = [{name: self._sizes[name][lane] or 0 for name in names} for lane in range(len(self._lanes))]
            known = [lane for lane, by_name in enumerate(sizes) if min(by_name.values()) > 0]
            lanes = [replace(self._lanes[lane], sizes=FrozenDict(sizes[lane])) for lane in known]
            self._fitters[names] = known, DimFitter(lanes, names[0])
        known, namer = self._fitters[names]
        dim = namer.fit_dim(tuple([observed_sizes[lane] for lane in known]))
        return self.naming.floor_dim(dim.terms) if isinstance(dim, DimSum) else dim

    def _fit_and_store_dim(self, node: Node, number: int, axis: int, sizes: ObservedSizes) -> None:
        """Infer the expression of one output dim of a node, and store it.

        The expression uses the names in the shapes of the tensors that the node and its unresolved upstream nodes read.
        """
        nodes, read = self._collect_unresolved_nodes(node)
        dims = [dim for tensor in read for dim in self.shape(tensor) or () if dim is not None]
        names = core.dim_names(dims)[:MAX_NAMES]
        if (names, sizes) in self._searched:
            return
        self._searched.add((names, sizes))
        dim = self._fit_dim(sizes, names) if not {*names}.isdisjoint(self.naming.results) else None
        dim = self._sum_input_dims(node, axis, sizes) if dim is None else dim
        for name in names:
            dim = self._fit_floor_formula(nodes, read, name, number, axis, sizes) if dim is None else dim
        self._store_dim(sizes, dim)

    def _collect_unresolved_nodes(self, node: Node) -> tuple[list[Node], list[int]]:
        """Return a node with its unresolved upstream nodes, and their input tensors.

        Both lists are in the order of the walk. Inputs that one of the nodes computes are omitted.
        """
        nodes = sorted(
            islice(self._tracker.iter_upstream([node], self._has_unresolved_producer), MAX_NODES_PER_DIM),
            key=lambda above: above.outputs,
        )
        computed = {number for above in nodes for number in above.outputs}
        return nodes, sorted({number for above in nodes for number in above.inputs} - computed - {ABSENT})

    def _has_unresolved_producer(self, number: int) -> bool:
        """Return whether a tensor is unresolved, and its producer has no subgraphs.

        A tensor is unresolved if one of its dims has no symbolic expression, or if its elements differ between size
        assignments.
        """
        maker, shape, values = (
            self._tracker.producer_of(number),
            self.shape(number),
            self._walk.values.get(number, (0,)),
        )
        is_resolved = shape is not None and None not in shape and is_same_in_all_lanes(values)
        return not is_resolved and maker is not None and not maker.bodies

    def _sum_input_dims(self, node: Node, axis: int, sizes: ObservedSizes) -> Dim | None:
        """Return the sum of the input dims on the same axis.

        Returns None if the sum differs from `sizes`.
        """
        shapes = [self.shape(number) or () for number in node.inputs]
        dims = [dim for shape in shapes for dim in shape[axis : axis + 1] if dim is not None]
        if len(dims) < len(shapes):
            return None
        inputs = [self._observed_sizes(self._walk.shapes_of(number)) or () for number in node.inputs]
        lanes = zip(sizes, *[axes[axis] for axes in inputs], strict=True)
        return self.naming.floor_dim(dims) if all(None in lane or sum(lane[1:]) == lane[0] for lane in lanes) else None

    def _fit_floor_formula(
        self,
        nodes: Sequence[Node],
        input_tensors: Sequence[int],
        name: str,
        number: int,
        axis: int,
        sizes: ObservedSizes,
    ) -> Dim | None:
        """Fit a floor division of an expression in `name` to the sizes of a dim.

        The formula must hold for every size assignment. It must also hold at `FLOOR_SIZES` consecutive sizes of `name`;
        `nodes` are walked at these sizes. Returns None if no formula fits.
        """
        first, lanes = self._sizes[name][self._declared_index] or 0, zip(self._sizes[name], sizes, strict=True)
        pairs = [(x, y) for x, y in lanes if x is not None and y is not None and x >= first]
        if self._node_budget < len(nodes) or fit_floor_formula(pairs, unique=False) is None:
            return None
        self._node_budget -= len(nodes)
        shapes = self._walk_at_sizes(nodes, input_tensors, name, range(first, first + FLOOR_SIZES), number)
        pairs += [(x, shape[axis]) for x, shape in zip(range(first, first + FLOOR_SIZES), shapes, strict=True) if shape]
        fit = fit_floor_formula(pairs)
        if fit is None:
            return None
        times, more, by, scale, rest = fit
        floor = self.naming.floor_dim([core.product((times, core.named_dim(name))), more], by)
        if scale > 1:
            part = self._store_dim(tuple([None if size is None else (size - rest) // scale for size in sizes]), floor)
            floor = self.naming.floor_dim([core.product((scale, part or 0)), rest])
        return floor

    def _walk_at_sizes(
        self, nodes: Sequence[Node], input_tensors: Sequence[int], name: str, sizes: range, output: int
    ) -> LaneShapes:
        """Return the shapes of one output at each size of the dim `name`.

        `output` is the tensor number of the output.
        """
        walk, home = (
            self._walker.walk,
            {other: lanes[self._declared_index] or 0 for other, lanes in self._sizes.items()},
        )
        walk.values.clear()
        for number in input_tensors:
            walk.set_shape(
                number, tuple(self._shapes_at_sizes(number, home, name, sizes)) or None, self._walk.dtypes[number]
            )
            if is_same_in_all_lanes(known := self._walk.values.get(number, (None,))):
                walk.values[number] = known[:1] * FLOOR_SIZES
        self._walker.visit_graph(NodeGraph("", (), (), tuple(nodes), ()))
        return walk.shapes_of(output)

    def _shapes_at_sizes(
        self, number: int, other_sizes: Mapping[str, int], name: str, sizes: range
    ) -> Iterator[IntTuple | None]:
        """Yield the shape of a tensor at each size of the dim `name`.

        Yields None for a shape with a non-integral dim. Yields nothing if the symbolic shape is unresolved.
        """
        shape = self.shape(number)
        for size in sizes if shape is not None and None not in shape else ():
            dims = [core.substitute(dim, {**other_sizes, name: size}) for dim in shape or () if dim is not None]
            yield tuple([dim for dim in dims if isinstance(dim, int)]) if core.is_concrete(dims) else None


def describe_all_nodes(walk: WalkState, tracker: BatchTracker) -> AllNodes:
    """Return the symbolic shapes and sizes of all nodes of a walked model."""
    from onnx import helper

    if walk.choice.extra_lanes:
        tracker = BatchTracker()
        walk = walk_model(walk.model, replace(walk.choice, lanes=(*walk.lanes, *walk.choice.extra_lanes)), tracker)
    declared_lane = next(index for index, lane in enumerate(walk.lanes) if lane.batch == tracker.declared_batch)
    kinds = {dtype: helper.tensor_dtype_to_np_dtype(dtype) for dtype in helper.get_all_tensor_dtypes()}
    dims_of_walk, nodes = _SymbolicDimResolver(walk, tracker, walk.lanes[declared_lane]), []
    for node in iter_nodes((walk.model.graph,)):
        outputs = []
        for number in filter(None, node.outputs):
            dims_of_walk.resolve_dims(node, number)
            shape, kind = walk.shapes_of(number)[declared_lane], kinds.get(walk.dtypes[number])
            count = None if shape is None else prod(shape)
            size = None if count is None or kind is None or kind.hasobject else count * kind.itemsize
            outputs.append(
                NodeOutput(walk.model.names[number], kind and str(kind), dims_of_walk.shape(number), count, size)
            )
        nodes.append(NodeSummary(node, dims_of_walk.shape(node.inputs[0]) if node.inputs else None, tuple(outputs)))
    tensors = [(summary.node, tensor) for summary in nodes for tensor in summary.outputs]
    dims = [dim for _, tensor in tensors for dim in tensor.shape or ()]
    return AllNodes(
        tuple(nodes),
        FrozenDict({name: str(result) for name, result in dims_of_walk.naming.results.items()}),
        FrozenDict({name: size for name, size in walk.lanes[declared_lane].sizes.items() if name}),
        dims.count(None),
        sum(tensor.shape is None for _, tensor in tensors),
        tuple(sorted(tensors, key=lambda pair: -(pair[1].bytes or 0))[:LARGEST_TENSOR_COUNT]),
    )


def fit_floor_formula(
    pairs: Sequence[tuple[int, int]], *, unique: bool = True
) -> tuple[int, int, int, int, int] | None:
    """Fit a formula with a floor division to pairs `(x, y)`.

    The formula is `y = scale * ((times*x + more)//by) + rest`. Returns (times, more, by, scale, rest), or None if no
    formula fits. If `unique` is True, exactly one value of `more` must fit.

    >>> fit_floor_formula([(x, 7 * ((x + 6) // 7)) for x in range(8, 40)])
    (1, 6, 7, 7, 0)
    """
    (low, first), (high, last) = min(pairs, default=(0, 0)), max(pairs, default=(0, 0))
    for scale in dict.fromkeys((1, gcd(*[y - first for _, y in pairs]))) if high > low and last > first else ():
        for by in range(1, FLOOR_SIZES):
            times = round((last - first) * by / (scale * (high - low)))
            bounds = [y // scale * by - times * x for x, y in pairs]
            least, most = max(bounds), min(bounds) + by - 1
            if times > 0 and gcd(times, by) == 1 and (least == most or (least < most and not unique)):
                return times, least, by, scale, first % scale
    return None
