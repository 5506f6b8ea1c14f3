"""The tensor of a line of code: its shape after each op, the stages that led there, and how it is indexed."""

from __future__ import annotations

from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.ops.view import contiguous_strides
from shapecalc.core.sizes.dims import Shape, all_known
from shapecalc.core.sizes.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import EllipsisType
    from typing import TypeAlias

    from shapecalc.core.asking.defaults import Stage
    from shapecalc.core.sizes.dims import Dim
    from shapecalc.core.sizes.problem import ShapeError

    Value: TypeAlias = "Dim | float | str | slice | EllipsisType | Tensor | Parts | tuple[Value, ...] | None"
    """What an expression of code stands for."""
    Failing: TypeAlias = Callable[..., ShapeError]
    """Makes the error for the expression that is being read, from a message and a hint."""


class Refused(Exception):
    """An op of the code is refused: the chain ends there, and its answer says why."""

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        """Keep the stages, the refused one last."""
        super().__init__(stages)
        self.stages = stages


class Tensor(Record):
    """A tensor that is never there: its shape, and the stages that led to it."""

    shape: Shape
    stages: tuple[Stage, ...]
    dialect: str
    strided: Shape | None = None
    """Its strides if it is not contiguous, `()` if they are not known; None if it is contiguous."""

    @property
    def rank(self) -> int:
        """How many dims it has."""
        return len(self.shape)

    @property
    def may_lack_a_view(self) -> bool:
        """Whether its strides, in PyTorch, may forbid a view, and are not known in numbers."""
        unknown = not self.strided or not all_known((*self.shape, *self.strided))
        return self.dialect == "torch" and self.strided is not None and unknown

    def after(self, op: str, **options: object) -> Tensor:
        """Return the tensor after an op; raise `Refused` if a rule refuses it, `ShapeError` if it cannot be asked."""
        asked = {name: value for name, value in options.items() if value is not None} | {"dialect": self.dialect}
        stages = (*self.stages, (op, asked))
        output = resolve(ask(op, self.shape, asked)).output
        if output is None:
            raise Refused(stages)
        return Tensor(output, stages, self.dialect, () if self.strided is not None or op == "expand" else None)

    def moved(self, perm: Sequence[int]) -> Tensor:
        """Return the tensor after a transpose."""
        axes = tuple(perm)
        after = self.after("transpose", perm=axes)
        before = contiguous_strides(self.shape) if self.strided is None else self.strided
        strides = tuple([before[axis] for axis in axes]) if before or not self.shape else ()
        return replace(after, strided=None if strides == contiguous_strides(after.shape) else strides)

    def viewed(self, target: Shape) -> Tensor:
        """Return PyTorch's view of the tensor, with its strides where they are numbers."""
        known = self.strided and all_known((*self.shape, *self.strided, *target))
        after = self.after("view", target=target, strides=self.strided if known else None)
        return replace(after, strided=() if self.strided is not None else None)

    def contiguous(self) -> Tensor:
        """Return the tensor as a copy of its own."""
        return replace(self, strided=None)


class Parts(Record):
    """The parts that a tensor is cut into, before one of them is taken."""

    tensor: Tensor
    axis: int
    count: int
    drops: bool = False
    """Whether each part is one position of the axis, which goes."""

    def __len__(self) -> int:
        return self.count

    def part(self, place: int) -> Tensor:
        """Return one of the parts."""
        if self.drops:
            return self.tensor.after("select", axis=self.axis, index=place)
        return self.tensor.after("split", axis=self.axis, parts=self.count, part=place)


def flipped(tensor: Tensor, name: str, failing: Failing) -> Tensor:
    """Return the tensor that an attribute such as `T` stands for; raise `ShapeError` (usage) for other attributes."""
    axes = list(range(tensor.rank))
    if name == "T":
        return tensor.moved(axes[::-1])
    if name == "mT" and tensor.rank > 1:
        return tensor.moved([*axes[:-2], axes[-1], axes[-2]])
    if name == "data":
        return tensor
    raise failing(f".{name[:40]} of a tensor is not read")


def indexed(tensor: Tensor, key: Value, failing: Failing) -> Tensor:
    """Return the tensor after an index: numbers take a position, slices some, None inserts a dim.

    Raises `ShapeError` (usage) for other indices.
    """
    items = _one_for_each_axis(key if isinstance(key, tuple) else (key,), tensor.rank, failing)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    if any(each != slice(None) for each in slices):
        for each in slices:
            if not all(end is None or isinstance(end, int) for end in (each.start, each.stop, each.step)):
                raise failing("a slice has whole numbers", "give sizes with --where")
        tensor = replace(tensor.after("slice", slices=tuple(slices)), strided=())
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = replace(tensor.after("select", axis=axis, index=axes[axis]), strided=())
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([place for place, item in enumerate(kept) if item is None])
    return tensor.after("unsqueeze", axes=new) if new else tensor


def _one_for_each_axis(items: tuple[Value, ...], rank: int, failing: Failing) -> list[Value]:
    """Return the items of an index with one for each axis, beside those that insert a dim."""
    for item in items:
        whole = isinstance(item, int) and not isinstance(item, bool)
        if not (item is None or item is Ellipsis or isinstance(item, slice) or whole):
            raise failing("an index is a whole number, a slice, None or ...")
    named = sum(item is not None and item is not Ellipsis for item in items)
    if named > rank or items.count(Ellipsis) > 1:
        raise failing(f"{named} indices for {rank} dims" if named > rank else "two ... in one index")
    rest = [slice(None)] * (rank - named)
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:at], *rest, *items[at + 1 :]]
