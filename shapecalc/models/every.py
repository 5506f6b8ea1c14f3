"""Describe every node of a model: symbolic shapes, element counts and bytes.

A dim is fitted to its sizes in the lanes of the walk. The candidates are, in this order: a dim that was fitted before,
a product or sum of the model's named sizes, one of the names that the node reads, the sum of its inputs' dims, and a
floor of a multiple of a name. For a floor, the nodes that compute the tensor are walked at consecutive sizes until a
single floor fits. Sums and floors get names of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import gcd, prod

from shapecalc.core import dims as core
from shapecalc.core.dims import Dim
from shapecalc.core.record import FrozenDict, replace
from shapecalc.core.results import Naming, Wanted, wanted
from shapecalc.models.answers import Visit
from shapecalc.models.batch_axis import Shapes, Sizes
from shapecalc.models.file import ABSENT, Body, Node, nodes_in
from shapecalc.models.free_dims import MOST_NAMES, Lane, Namer, Sum, columns
from shapecalc.models.lanes import Walk, same_in_all
from shapecalc.models.propagate import Judge
from shapecalc.models.report import Every, Tensor, Told
from shapecalc.models.walk import Walker, walked

Seen = tuple[int | None, ...]
"""The size of a dim in each lane with a batch above 0; None where it is unknown."""
TRIED = 34
"""The number of consecutive sizes that nodes are walked at to fit a floor; its divisor is smaller."""
FARTHEST = 48
"""The largest number of nodes that are walked for one dim."""
MOST_WALKED = 4000
"""The largest number of nodes that are walked for all dims together."""
MOST_LARGEST = 5
ONE = Lane(1, FrozenDict(), judged=False)


class _Plain(Judge):
    """A tracker that leaves failing nodes as they are."""

    def judge(self, visit: Visit) -> Shapes:
        return visit.outputs


class _Names:
    """The symbolic dims of tensors, resolved in the order of the walk."""

    def __init__(self, walk: Walk, judge: Judge, home: Lane) -> None:
        self._walk, self._judge = walk, judge
        self._places = [place for place, lane in enumerate(walk.lanes) if lane.batch]
        self._lanes = [walk.lanes[place] for place in self._places]
        self._home = self._lanes.index(home)
        self._sizes: dict[str, Seen] = {name: tuple([lane.sizes[name] for lane in self._lanes]) for name in home.sizes}
        """The sizes of each name in the lanes, names of results included."""
        self.naming = Naming(self._sizes, {})
        self._namers: dict[tuple[str, ...], tuple[list[int], Namer]] = {
            (): ([*range(len(self._lanes))], Namer(walk.lanes, walk.batch))
        }
        """By a tuple of names (empty for the model's own), the lanes where they are known and their fitter."""
        self._told: dict[Seen, Dim | None] = {}
        self._tried: set[object] = set()
        self._shapes: dict[Shapes, tuple[Dim | None, ...] | None] = {}
        self._left = MOST_WALKED
        small = Walk(replace(walk.model, inputs=()), replace(walk.choice, inputs=(), lanes=(ONE,) * TRIED))
        self._walker = Walker(small, _Plain())
        self._walker.judge.start(small)

    def shape(self, number: int) -> tuple[Dim | None, ...] | None:
        """Return the symbolic shape of a tensor; None for an unresolved dim."""
        shapes = self._walk.shapes_of(number)
        if shapes not in self._shapes:
            seen = self._seen(shapes)
            self._shapes[shapes] = None if seen is None else tuple(map(self._known, seen))
        return self._shapes[shapes]

    def tell(self, node: Node, number: int) -> None:
        """Resolve the dims of an output of a node."""
        if None not in (self.shape(number) or ()):
            return
        shapes = self._walk.shapes_of(number)
        for axis, seen in enumerate(self._seen(shapes) or ()):
            if self._known(seen) is None and seen.count(None) < len(seen) - 2:
                self._find(node, number, axis, seen)
        del self._shapes[shapes]

    def _seen(self, shapes: Shapes) -> list[Seen] | None:
        """Return the dims of a tensor in the lanes; None if its rank differs."""
        return columns([shapes[place] for place in self._places])

    def _known(self, seen: Seen) -> Dim | None:
        """Return a dim that was resolved before or that the model's own names fit.

        None for a dim whose size is known in only one lane.
        """
        if seen not in self._told:
            known_in_one = seen.count(None) == len(seen) - 1 > 0
            self._keep(seen, None if known_in_one else self._fitted(seen, ()))
        return self._told[seen]

    def _keep(self, seen: Seen, found: Dim | Wanted | None) -> Dim | None:
        """Store a dim and return it; a sum or a floor gets a name first."""
        if isinstance(found, Wanted):
            self.naming.name(found)
            found = found.dim
            self._sizes[str(found)] = seen
        self._told[seen] = found
        return found

    def _fitted(self, seen: Seen, names: tuple[str, ...]) -> Dim | Wanted | None:
        """Return the product or the sum of some names that equals a dim in all lanes."""
        if names not in self._namers:
            sizes = [{name: self._sizes[name][lane] or 0 for name in names} for lane in range(len(self._lanes))]
            known = [lane for lane, by_name in enumerate(sizes) if min(by_name.values()) > 0]
            lanes = [replace(self._lanes[lane], sizes=FrozenDict(sizes[lane])) for lane in known]
            self._namers[names] = known, Namer(lanes, names[0])
        known, namer = self._namers[names]
        dim = namer.dim(tuple([seen[lane] for lane in known]))
        return wanted(dim.terms) if isinstance(dim, Sum) else dim

    def _find(self, node: Node, number: int, axis: int, seen: Seen) -> None:
        """Search for a dim among expressions of the names that its node reads."""
        nodes, read = self._above(node)
        dims = [dim for tensor in read for dim in self.shape(tensor) or () if dim is not None]
        names = core.names(dims)[:MOST_NAMES]
        if (names, seen) in self._tried:
            return
        self._tried.add((names, seen))
        dim = self._fitted(seen, names) if not {*names}.isdisjoint(self.naming.results) else None
        dim = self._joined(node, axis, seen) if dim is None else dim
        for name in names:
            dim = self._floor(nodes, read, name, number, axis, seen) if dim is None else dim
        self._keep(seen, dim)

    def _above(self, node: Node) -> tuple[list[Node], list[int]]:
        """Return the unresolved nodes above a node, and the tensors that they read.

        Both are in the order of the walk; the tensors are resolved.
        """
        nodes = sorted(islice(self._judge.above([node], self._is_open), FARTHEST), key=lambda above: above.outputs)
        computed = {number for above in nodes for number in above.outputs}
        return nodes, sorted({number for above in nodes for number in above.inputs} - computed - {ABSENT})

    def _is_open(self, number: int) -> bool:
        """Return whether a tensor is unresolved and its producer can be walked alone."""
        maker, shape, values = self._judge.maker(number), self.shape(number), self._walk.values.get(number, (0,))
        is_resolved = shape is not None and None not in shape and same_in_all(values)
        return not is_resolved and maker is not None and not maker.bodies

    def _joined(self, node: Node, axis: int, seen: Seen) -> Dim | Wanted | None:
        """Return the sum of the inputs' dims on the same axis, if it fits."""
        shapes = [self.shape(number) or () for number in node.inputs]
        dims = [dim for shape in shapes for dim in shape[axis : axis + 1] if dim is not None]
        if len(dims) < len(shapes):
            return None
        inputs = [self._seen(self._walk.shapes_of(number)) or () for number in node.inputs]
        lanes = zip(seen, *[axes[axis] for axes in inputs], strict=True)
        return wanted(dims) if all(None in lane or sum(lane[1:]) == lane[0] for lane in lanes) else None

    def _floor(
        self, nodes: Sequence[Node], read: Sequence[int], name: str, number: int, axis: int, seen: Seen
    ) -> Dim | Wanted | None:
        """Return the floor of a multiple of a name that fits a dim.

        It must fit in the lanes and at the consecutive sizes that the nodes are walked at.
        """
        first, lanes = self._sizes[name][self._home] or 0, zip(self._sizes[name], seen, strict=True)
        pairs = [(x, y) for x, y in lanes if x is not None and y is not None and x >= first]
        if self._left < len(nodes) or floor_of(pairs, unique=False) is None:
            return None
        self._left -= len(nodes)
        shapes = self._walk_again(nodes, read, name, range(first, first + TRIED), number)
        pairs += [(x, shape[axis]) for x, shape in zip(range(first, first + TRIED), shapes, strict=True) if shape]
        fit = floor_of(pairs)
        if fit is None:
            return None
        times, more, by, scale, rest = fit
        floor = wanted([core.product((times, core.named_dim(name))), more], by)
        if scale > 1:
            part = self._keep(tuple([None if size is None else (size - rest) // scale for size in seen]), floor)
            floor = wanted([core.product((scale, part or 0)), rest])
        return floor

    def _walk_again(self, nodes: Sequence[Node], read: Sequence[int], name: str, sizes: range, made: int) -> Shapes:
        """Return the shape of a tensor with one name at each of these sizes."""
        walk, home = self._walker.walk, {other: lanes[self._home] or 0 for other, lanes in self._sizes.items()}
        walk.values.clear()
        for number in read:
            walk.put(number, tuple(self._at_sizes(number, home, name, sizes)) or None, self._walk.dtypes[number])
            if same_in_all(known := self._walk.values.get(number, (None,))):
                walk.values[number] = known[:1] * TRIED
        self._walker.pass_body(Body("", (), (), tuple(nodes), ()))
        return walk.shapes_of(made)

    def _at_sizes(self, number: int, home: Mapping[str, int], name: str, sizes: range) -> Iterator[Sizes | None]:
        """Yield the shape of a tensor with a name at each of these sizes.

        None where a dim is not integral.
        """
        shape = self.shape(number)
        for size in sizes if shape is not None and None not in shape else ():
            dims = [core.substitute(dim, {**home, name: size}) for dim in shape or () if dim is not None]
            yield tuple([dim for dim in dims if isinstance(dim, int)]) if core.all_known(dims) else None


def every_node(walk: Walk, judge: Judge) -> Every:
    """Return all nodes of a walked model."""
    from onnx import helper

    if walk.choice.unseen:
        judge = Judge()
        walk = walked(walk.model, replace(walk.choice, lanes=(*walk.lanes, *walk.choice.unseen)), judge)
    declared_lane = next(index for index, lane in enumerate(walk.lanes) if lane.batch == judge.declared)
    kinds = {dtype: helper.tensor_dtype_to_np_dtype(dtype) for dtype in helper.get_all_tensor_dtypes()}
    dims_of_walk, nodes = _Names(walk, judge, walk.lanes[declared_lane]), []
    for node in nodes_in((walk.model.graph,)):
        outputs = []
        for number in filter(None, node.outputs):
            dims_of_walk.tell(node, number)
            shape, kind = walk.shapes_of(number)[declared_lane], kinds.get(walk.dtypes[number])
            count = None if shape is None else prod(shape)
            size = None if count is None or kind is None or kind.hasobject else count * kind.itemsize
            outputs.append(
                Tensor(walk.model.names[number], kind and str(kind), dims_of_walk.shape(number), count, size)
            )
        nodes.append(Told(node, dims_of_walk.shape(node.inputs[0]) if node.inputs else None, tuple(outputs)))
    tensors = [(summary.node, tensor) for summary in nodes for tensor in summary.outputs]
    dims = [dim for _, tensor in tensors for dim in tensor.shape or ()]
    return Every(
        tuple(nodes),
        FrozenDict({name: str(result) for name, result in dims_of_walk.naming.results.items()}),
        FrozenDict({name: size for name, size in walk.lanes[declared_lane].sizes.items() if name}),
        dims.count(None),
        sum(tensor.shape is None for _, tensor in tensors),
        tuple(sorted(tensors, key=lambda pair: -(pair[1].bytes or 0))[:MOST_LARGEST]),
    )


def floor_of(pairs: Sequence[tuple[int, int]], *, unique: bool = True) -> tuple[int, int, int, int, int] | None:
    """Return the floor formula that fits pairs `(x, y)`; None if there is none.

    The formula is `y = scale * ((times*x + more)//by) + rest`. If `unique`, exactly one `more` must fit. The result is
    (times, more, by, scale, rest).

    >>> floor_of([(x, 7 * ((x + 6) // 7)) for x in range(8, 40)])
    (1, 6, 7, 7, 0)
    """
    (low, first), (high, last) = min(pairs, default=(0, 0)), max(pairs, default=(0, 0))
    for scale in dict.fromkeys((1, gcd(*[y - first for _, y in pairs]))) if high > low and last > first else ():
        for by in range(1, TRIED):
            times = round((last - first) * by / (scale * (high - low)))
            bounds = [y // scale * by - times * x for x, y in pairs]
            least, most = max(bounds), min(bounds) + by - 1
            if times > 0 and gcd(times, by) == 1 and (least == most or (least < most and not unique)):
                return times, least, by, scale, first % scale
    return None
