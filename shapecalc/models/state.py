"""The state of a walk: what is known of each tensor in each lane, and how it is put down."""

from __future__ import annotations

from shapecalc.models.model import ABSENT
from shapecalc.models.values import elements, whole_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from shapecalc.models.model import Constant, Declared, Node
    from shapecalc.models.walk import Follower, Shapes, Sizes, Taken, Values, Walk

    Refused = tuple[str | None, ...]
    """Why a node fails in each lane; None where it runs."""

NO_SHAPE, FROM_DATA = "no shape", "size from data"


class State:
    """What is known while a walk goes on."""

    def __init__(self, walk: Walk, follower: Follower) -> None:
        """Begin with nothing known."""
        self.walk, self.follower = walk, follower
        self.shapes, self.dtypes, self.values, self.whys = walk.shapes, walk.dtypes, walk.values, walk.whys
        self.lanes = range(len(walk.lanes))
        self.judged = [place for place, lane in enumerate(walk.lanes) if lane.judged]
        """The lanes that verdicts look at; they are the first ones."""
        self.nobody: Values = (None,) * len(walk.lanes)
        self.constants: dict[int, Constant] = {}
        self.others: dict[int, tuple[bytes | None, ...]] = {}
        """The types of what is no tensor (sequences, optionals) in each lane, as messages."""
        self.live: tuple[bool, ...] | None = None
        """In which lanes the nodes at hand run, inside of an If that is decided; None if in all."""
        self.dry = 0
        """How many loops around are walked only to learn what changes in them."""

    def declare(self, inputs: Sequence[Declared], taken: Taken) -> None:
        """Put down the inputs of the model."""
        lanes = [lane.sizes for lane in self.walk.lanes]
        for each, dims in zip(inputs, taken, strict=True):
            self.dtypes[each.tensor] = each.dtype
            if dims is None or None in dims:
                self.whys[each.tensor] = f"{NO_SHAPE}: an input is declared without one"
                continue
            shapes = [tuple([sizes[dim] if isinstance(dim, str) else dim for dim in dims]) for sizes in lanes]
            self.shapes[each.tensor] = tuple(shapes)  # type: ignore[arg-type]  # no dim is None

    def fill(self, constants: Sequence[Constant]) -> None:
        """Put down the initializers of a graph; their elements are read once somebody asks."""
        for each in constants:
            proto, number = each.proto, each.tensor
            self.constants[number] = each
            self.dtypes[number] = proto.data_type
            self.shapes[number] = (tuple(proto.dims),) * len(self.lanes)

    def known(self, number: int) -> Values | None:
        """Return the elements of a small tensor in each lane; None if they are known in none."""
        found = self.values.get(number)
        if found is None:
            constant = self.constants.get(number)
            if constant is None:
                return None
            external = constant.external
            made = None if external else elements(constant.proto)
            self.walk.origins[number] = "external" if external else "initializer"
            found = self.values[number] = self.nobody if made is None else (made,) * len(self.lanes)
        return None if found is self.nobody else found

    def whole_numbers(self, number: int) -> tuple[int, ...] | None:
        """Return the numbers in a constant, such as a target; None if they lie in another file or are none."""
        constant = self.constants[number]
        external = constant.external
        self.walk.origins[number] = "external" if external else "initializer"
        return None if external else whole_numbers(constant.proto)

    def put(self, number: int, shapes: Shapes | None, dtype: int, why: str = "") -> None:
        """Put down the shape of a tensor in each lane."""
        if number == ABSENT:
            return
        if self.live is not None and shapes is not None:
            shapes = tuple([shape if live else None for shape, live in zip(shapes, self.live, strict=True)])
        if shapes is None or None in shapes:
            if why:
                self.whys[number] = why
            if shapes == self.nobody:
                shapes = None
        self.shapes[number] = shapes
        self.dtypes[number] = dtype

    def put_values(self, number: int, arrays: Sequence[Any], dtype: int, shapes: Shapes | None = None) -> None:
        """Put down the elements of a tensor in each lane, and with them its shape.

        `shapes` are those of the lanes in which the elements are not known.
        """
        if number == ABSENT:
            return
        told = [None if array is None else array.shape for array in arrays]
        if shapes is not None:
            told = [shape if own is None else own for own, shape in zip(told, shapes, strict=True)]
        if self.live is not None:
            arrays = [array if live else None for array, live in zip(arrays, self.live, strict=True)]
        self.values[number] = tuple(arrays)
        self.put(number, tuple(told), dtype)

    def masked(self, refused: Refused) -> Refused:
        """Return why a node fails, in the lanes where it runs at all."""
        if self.live is None:
            return refused
        return tuple([why if live else None for why, live in zip(refused, self.live, strict=True)])

    def carry(self, node: Node) -> None:
        """Let the follower carry its marks through a node."""
        self.follower.carry(node)

    def spoil(self, node: Node) -> str:
        """Put down that nothing is known of the outputs of a node that is written wrongly; return why."""
        why = f"{node.op} {node.name or node.path} is not written as ONNX describes it"
        for number in node.outputs:
            self.put(number, None, 0, why)
        self.follower.spoil(node, why)
        return why

    def settle(self, node: Node, outputs: Sequence[Shapes], dtypes: Sequence[int], refused: Refused | None) -> None:
        """Put down what a node that is not listed gives, mended if it fails at a judged size."""
        refused = None if refused is None else self.masked(refused)
        why = ""
        stopped = refused is not None and any(refused[place] for place in self.judged)
        if stopped and refused is not None:
            mended = self.follower.stop(node, refused)
            outputs = outputs if mended is None else [mended, *outputs[1:]]
            why = f"{NO_SHAPE}: {node.op} {node.name or node.path} above it fails"
        for number, shapes, dtype in zip(node.outputs, outputs, dtypes, strict=False):
            if not why and self.lacks(shapes):
                why = self.why_unknown(node)
            self.put(number, shapes, dtype, why)
        if not stopped:
            self.carry(node)

    def lacks(self, lanes: Sequence[Any]) -> bool:
        """Say whether something is not known in a judged lane."""
        return None in lanes and None in lanes[: len(self.judged)]

    def why_unknown(self, node: Node) -> str:
        """Return why the shape of a node's output is not known."""
        for number in node.inputs:
            shapes = self.shapes[number]
            if number and (shapes is None or self.lacks(shapes)):
                return self.whys.get(number, NO_SHAPE)
        return f"{FROM_DATA}: {node.op} {node.name or node.path} above it"

    def shapes_of(self, number: int) -> Shapes:
        """Return the shape of a tensor in each lane."""
        return self.shapes[number] or self.nobody


def once(lanes: Sequence[Any]) -> bool:
    """Say whether all lanes hold the same array, so that it is enough to look at one."""
    first = lanes[0]
    for each in lanes:
        if each is not first:
            return False
    return first is not None


def broadcast(shapes: Sequence[Sizes]) -> Sizes | str:
    """Return the shape that shapes broadcast to, or why they do not.

    >>> broadcast([(2, 1), (3,)]), broadcast([(2,), (3,)])
    ((2, 3), '2 and 3 do not broadcast')
    """
    rank = max(map(len, shapes))
    sizes = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            have = sizes[axis]
            if have == 1:
                sizes[axis] = size
            elif size not in (1, have):
                return f"{have} and {size} do not broadcast"
    return tuple(sizes)
