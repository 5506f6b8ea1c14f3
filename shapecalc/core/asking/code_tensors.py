"""The tensor of a line of code: its shape after each op, the stages that led there, and how it is indexed."""

from __future__ import annotations

from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.memory import strides_after
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import EllipsisType
    from typing import TypeAlias

    from shapecalc.core.answers.trace import Trace
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
    traces: tuple[Trace, ...] = ()
    """The answers to its stages."""
    copied_at: int = 0
    """Behind how many stages it was last copied by `contiguous`, which is no stage."""

    @property
    def rank(self) -> int:
        """How many dims it has."""
        return len(self.shape)

    def after(self, op: str, **options: object) -> Tensor:
        """Return the tensor after an op; raise `Refused` if a rule refuses it, `ShapeError` if it cannot be asked."""
        asked = {name: value for name, value in options.items() if value is not None} | {"dialect": self.dialect}
        stages = (*self.stages, (op, asked))
        trace = resolve(ask(op, self.shape, asked))
        if trace.output is None:
            raise Refused(stages)
        return replace(self, shape=trace.output, stages=stages, traces=(*self.traces, trace))

    def inserted(self, axes: Sequence[int]) -> Tensor:
        """Return the tensor with dims of 1 at these axes of the output, in ascending order."""
        each = [(axis,) for axis in axes] if DIALECTS[self.dialect].inserts_one else [tuple(axes)]
        tensor = self
        for inserted in each:
            tensor = tensor.after("unsqueeze", axes=inserted)
        return tensor

    def moved(self, perm: Sequence[int]) -> Tensor:
        """Return the tensor after a transpose."""
        return self.after("transpose", perm=tuple(perm))

    def viewed(self, target: Shape) -> Tensor:
        """Return PyTorch's view of the tensor. The chain knows its strides, but for a copy by `contiguous`."""
        if not self.copied_at:
            return self.after("view", target=target)
        strides = strides_after(self.traces[self.copied_at :])
        if strides is None:
            return self.after("reshape", target=target)
        return self.after("view", target=target, strides=strides)

    def contiguous(self) -> Tensor:
        """Return the tensor as a copy of its own."""
        return replace(self, copied_at=len(self.traces))


class Parts(Record):
    """The parts that a tensor is cut into, before one of them is taken."""

    tensor: Tensor
    axis: int
    count: int
    drops: bool = False
    """Whether each part is one position of the axis, which goes."""

    def part(self, place: int) -> Tensor:
        """Return one of the parts."""
        if self.drops:
            return self.tensor.after("select", axis=self.axis, index=place)
        return self.tensor.after("split", axis=self.axis, parts=self.count, part=place)

    @property
    def hint(self) -> str:
        """How one of the parts is asked for, in code and as a stage."""
        stage = f"select {self.axis} 0" if self.drops else f"split {self.axis} {self.count} --part 0"
        return f"take one of them, as [0] does, or write the stage: {stage}"


def positions(tensor: Tensor, failing: Failing) -> Parts:
    """Return the positions of a tensor's first axis; raise `ShapeError` (usage) if their count is not known."""
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise failing("how many values there are is not known", "give sizes with --where")
    return Parts(tensor, 0, tensor.shape[0], drops=True)


def flipped(tensor: Tensor, name: str, failing: Failing) -> Tensor:
    """Return the tensor that an attribute such as `T` stands for; raise `ShapeError` (usage) for other attributes."""
    axes = list(range(tensor.rank))
    if name == "T":
        return tensor.moved(axes[::-1])
    if name == "mT" and tensor.rank > 1:
        return tensor.moved([*axes[:-2], axes[-1], axes[-2]])
    if name == "data":
        return tensor
    raise failing(f".{name[:40]} of a tensor is not supported")


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
                raise failing("a slice takes whole numbers", "give sizes with --where")
        tensor = tensor.after("slice", slices=tuple(slices))
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.after("select", axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([place for place, item in enumerate(kept) if item is None])
    return tensor.inserted(new) if new else tensor


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
