"""Every node of a model in names: what its tensors are in the lanes of a walk, told with the names of what it reads.

A dim is first looked for among those that were told before. A new one is a product or a sum of the model's names, then
of those that the node reads; then the sum of its inputs' dims; then a floor of a multiple of a name. For a floor the
nodes that make the tensor are walked at one size after the other, until one floor alone is left. Sums and floors get
names of their own.
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
"""What a number is in each lane that has a batch."""
TRIED = 34
"""At how many sizes in a row nodes are walked to find a floor; it divides by fewer."""
FARTHEST = 48
"""How many nodes are walked for one dim."""
MOST_WALKED = 4000
"""How many nodes are walked so for all dims."""
MOST_LARGEST = 5
ONE = Lane(1, FrozenDict(), judged=False)


def every_node(walk: Walk, judge: Judge) -> Every:
    """Return all nodes of a walked model."""
    from onnx import helper

    if walk.choice.unseen:
        judge = Judge()
        walk = walked(walk.model, replace(walk.choice, lanes=(*walk.lanes, *walk.choice.unseen)), judge)
    home = next(at for at, lane in enumerate(walk.lanes) if lane.batch == judge.declared)
    kinds = {dtype: helper.tensor_dtype_to_np_dtype(dtype) for dtype in helper.get_all_tensor_dtypes()}
    names, told = _Names(walk, judge, walk.lanes[home]), []
    for node in nodes_in((walk.model.graph,)):
        outputs = []
        for number in filter(None, node.outputs):
            names.tell(node, number)
            shape, kind = walk.shapes_of(number)[home], kinds.get(walk.dtypes[number])
            count = None if shape is None else prod(shape)
            size = None if count is None or kind is None or kind.hasobject else count * kind.itemsize
            outputs.append(Tensor(walk.model.names[number], kind and str(kind), names.shape(number), count, size))
        told.append(Told(node, names.shape(node.inputs[0]) if node.inputs else None, tuple(outputs)))
    made = [(each.node, tensor) for each in told for tensor in each.outputs]
    dims = [dim for _, tensor in made for dim in tensor.shape or ()]
    return Every(
        tuple(told),
        FrozenDict({name: str(result) for name, result in names.naming.results.items()}),
        FrozenDict({name: size for name, size in walk.lanes[home].sizes.items() if name}),
        dims.count(None),
        sum(tensor.shape is None for _, tensor in made),
        tuple(sorted(made, key=lambda pair: -(pair[1].bytes or 0))[:MOST_LARGEST]),
    )


class _Plain(Judge):
    """A judge that mends nothing."""

    def judge(self, visit: Visit) -> Shapes:
        return visit.outputs


class _Names:
    """Tells the dims of tensors, in the order of the walk."""

    def __init__(self, walk: Walk, judge: Judge, home: Lane) -> None:
        self._walk, self._judge = walk, judge
        self._places = [place for place, lane in enumerate(walk.lanes) if lane.batch]
        self._lanes = [walk.lanes[place] for place in self._places]
        self._home = self._lanes.index(home)
        self._sizes: dict[str, Seen] = {name: tuple([each.sizes[name] for each in self._lanes]) for name in home.sizes}
        """What each name is in the lanes, those of results among them."""
        self.naming = Naming(self._sizes, {})
        self._namers: dict[tuple[str, ...], tuple[list[int], Namer]] = {
            (): ([*range(len(self._lanes))], Namer(walk.lanes, walk.batch))
        }
        """By some names (none are all of the model's), the lanes in which they are known, and what fits them."""
        self._told: dict[Seen, Dim | None] = {}
        self._tried: set[object] = set()
        self._shapes: dict[Shapes, tuple[Dim | None, ...] | None] = {}
        self._left = MOST_WALKED
        small = Walk(replace(walk.model, inputs=()), replace(walk.choice, inputs=(), lanes=(ONE,) * TRIED))
        self._walker = Walker(small, _Plain())
        self._walker.judge.start(small)

    def shape(self, number: int) -> tuple[Dim | None, ...] | None:
        """Return the shape of a tensor as far as it is told."""
        shapes = self._walk.shapes_of(number)
        if shapes not in self._shapes:
            seen = self._seen(shapes)
            self._shapes[shapes] = None if seen is None else tuple(map(self._known, seen))
        return self._shapes[shapes]

    def tell(self, node: Node, number: int) -> None:
        """Tell the dims of what a node makes."""
        if None not in (self.shape(number) or ()):
            return
        shapes = self._walk.shapes_of(number)
        for axis, seen in enumerate(self._seen(shapes) or ()):
            if self._known(seen) is None and seen.count(None) < len(seen) - 2:
                self._find(node, number, axis, seen)
        del self._shapes[shapes]

    def _seen(self, shapes: Shapes) -> list[Seen] | None:
        """Return the dims of a tensor in the lanes; None if its rank is not the same in all."""
        return columns([shapes[place] for place in self._places])

    def _known(self, seen: Seen) -> Dim | None:
        """Return a dim that was told before, or that the model's own names tell; None of one seen in one lane alone."""
        if seen not in self._told:
            alone = seen.count(None) == len(seen) - 1 > 0
            self._keep(seen, None if alone else self._fitted(seen, ()))
        return self._told[seen]

    def _keep(self, seen: Seen, found: Dim | Wanted | None) -> Dim | None:
        """Keep what a dim is; a sum or a floor gets a name."""
        if isinstance(found, Wanted):
            self.naming.name(found)
            found = found.dim
            self._sizes[str(found)] = seen
        self._told[seen] = found
        return found

    def _fitted(self, seen: Seen, names: tuple[str, ...]) -> Dim | Wanted | None:
        """Return the product or the sum of some names that a dim is in all lanes."""
        if names not in self._namers:
            sizes = [{name: self._sizes[name][at] or 0 for name in names} for at in range(len(self._lanes))]
            known = [at for at, each in enumerate(sizes) if min(each.values()) > 0]
            lanes = [replace(self._lanes[at], sizes=FrozenDict(sizes[at])) for at in known]
            self._namers[names] = known, Namer(lanes, names[0])
        places, namer = self._namers[names]
        found = namer.dim(tuple([seen[at] for at in places]))
        return wanted(found.terms) if isinstance(found, Sum) else found

    def _find(self, node: Node, number: int, axis: int, seen: Seen) -> None:
        """Look for what a dim is in names that its node reads."""
        nodes, read = self._above(node)
        dims = [dim for each in read for dim in self.shape(each) or () if dim is not None]
        names = core.names(dims)[:MOST_NAMES]
        if (names, seen) in self._tried:
            return
        self._tried.add((names, seen))
        found = self._fitted(seen, names) if not {*names}.isdisjoint(self.naming.results) else None
        found = self._joined(node, axis, seen) if found is None else found
        for name in names:
            found = self._floor(nodes, read, name, number, axis, seen) if found is None else found
        self._keep(seen, found)

    def _above(self, node: Node) -> tuple[list[Node], list[int]]:
        """Return the nodes that make a tensor of others that are told, in their order, and these."""
        nodes = sorted(islice(self._judge.above([node], self._is_open), FARTHEST), key=lambda each: each.outputs)
        made = {number for each in nodes for number in each.outputs}
        return nodes, sorted({number for each in nodes for number in each.inputs} - made - {ABSENT})

    def _is_open(self, number: int) -> bool:
        """Say whether a dim or an element of a tensor is not told, and the node that makes it can be walked alone."""
        maker, shape, values = self._judge.maker(number), self.shape(number), self._walk.values.get(number, (0,))
        is_told = shape is not None and None not in shape and same_in_all(values)
        return not is_told and maker is not None and not maker.bodies

    def _joined(self, node: Node, axis: int, seen: Seen) -> Dim | Wanted | None:
        """Return the sum of the inputs' dims on the same axis, if a dim is that."""
        shapes = [self.shape(number) or () for number in node.inputs]
        dims = [dim for shape in shapes for dim in shape[axis : axis + 1] if dim is not None]
        if len(dims) < len(shapes):
            return None
        inputs = [self._seen(self._walk.shapes_of(number)) or () for number in node.inputs]
        lanes = zip(seen, *[each[axis] for each in inputs], strict=True)
        return wanted(dims) if all(None in lane or sum(lane[1:]) == lane[0] for lane in lanes) else None

    def _floor(
        self, nodes: Sequence[Node], read: Sequence[int], name: str, number: int, axis: int, seen: Seen
    ) -> Dim | Wanted | None:
        """Return what a dim is if it is a floor of a multiple of a name, in the lanes and where nodes are walked."""
        first, lanes = self._sizes[name][self._home] or 0, zip(self._sizes[name], seen, strict=True)
        pairs = [(x, y) for x, y in lanes if x is not None and y is not None and x >= first]
        if self._left < len(nodes) or floor_of(pairs, unique=False) is None:
            return None
        self._left -= len(nodes)
        shapes = self._walk_again(nodes, read, name, range(first, first + TRIED), number)
        pairs += [(x, shape[axis]) for x, shape in zip(range(first, first + TRIED), shapes, strict=True) if shape]
        found = floor_of(pairs)
        if found is None:
            return None
        times, more, by, scale, rest = found
        floor = wanted([core.product((times, core.named_dim(name))), more], by)
        if scale > 1:
            part = self._keep(tuple([None if each is None else (each - rest) // scale for each in seen]), floor)
            floor = wanted([core.product((scale, part or 0)), rest])
        return floor

    def _walk_again(self, nodes: Sequence[Node], read: Sequence[int], name: str, sizes: range, made: int) -> Shapes:
        """Return the shape of what nodes make where a name has these sizes, and the others keep theirs."""
        walk, home = self._walker.walk, {each: lanes[self._home] or 0 for each, lanes in self._sizes.items()}
        walk.values.clear()
        for number in read:
            walk.put(number, tuple(self._at_sizes(number, home, name, sizes)) or None, self._walk.dtypes[number])
            if same_in_all(known := self._walk.values.get(number, (None,))):
                walk.values[number] = known[:1] * TRIED
        self._walker.pass_body(Body("", (), (), tuple(nodes), ()))
        return walk.shapes_of(made)

    def _at_sizes(self, number: int, home: Mapping[str, int], name: str, sizes: range) -> Iterator[Sizes | None]:
        """Yield the shape of a tensor where a name has one of these sizes; None where a dim is not whole."""
        shape = self.shape(number)
        for size in sizes if shape is not None and None not in shape else ():
            dims = [core.substitute(dim, {**home, name: size}) for dim in shape or () if dim is not None]
            yield tuple([dim for dim in dims if isinstance(dim, int)]) if core.all_known(dims) else None


def floor_of(pairs: Sequence[tuple[int, int]], *, unique: bool = True) -> tuple[int, int, int, int, int] | None:
    """Return how numbers follow from others, as `scale * ((times*x + more)//by) + rest`; None if they do not.

    If `unique`, they must follow from one number `more` alone. The numbers are in the order of the formula's letters:
    times, more, by, scale, rest.

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
