"""Moves: what is done to the data of a resolved request, and where each element goes."""

from __future__ import annotations

from itertools import pairwise

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


class Permute(Record):
    """Move axes: output axis i is input axis `axes[i]`."""

    axes: tuple[int, ...]

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move.

        >>> Permute((1, 2, 0)).after((2, 3, 4))
        (3, 4, 2)
        """
        return tuple([shape[axis] for axis in self.axes])


class Shaped(Record):
    """What the moves to a shape that they hold have in common."""

    shape: Shape

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move: the new one."""
        return self.shape


class Reshape(Shaped):
    """Keep the elements in order and cut them into `shape`."""


class Expand(Shaped):
    """Repeat the elements along axes of size one until the tensor has `shape`."""


class Pick(Record):
    """Keep some positions of each axis: position i of those kept is position `starts + i * steps` of the axis."""

    starts: Shape
    """The first positions; a negative one counts from the end."""
    steps: tuple[int, ...]
    """How far apart they are; a negative step goes backwards."""
    sizes: tuple[Dim | None, ...]
    """How many are kept. None for an axis that goes: one position of it is taken."""

    @property
    def axes(self) -> Iterator[tuple[Any, int, Any]]:
        """For each axis its start, its step and its size."""
        return zip(self.starts, self.steps, self.sizes, strict=True)

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move.

        >>> Pick((0, 1), (1, 1), (2, None)).after((2, 3))
        (2,)
        """
        return tuple([size for size in self.sizes if size is not None])


class Roll(Record):
    """Move the positions of an axis on by `shift`; those at its end come to its start."""

    shift: int
    axis: int

    def pieces(self, size: int) -> list[tuple[int, int]]:
        """Return the stretches that are put one after another: where each starts, and how long it is."""
        shift = self.shift % size
        return [(size - shift, shift), (0, size - shift)]

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move: the same."""
        return shape


class Take(Record):
    """Take positions of an axis, in any order and as often as they are named."""

    axis: int
    places: tuple[int, ...]
    """Counted from 0; -1 is the last one of an axis whose size is a name."""

    @property
    def regular(self) -> tuple[int, int] | None:
        """The first position and how far apart they are, 0 if all are one; None if they are no regular steps.

        >>> Take(0, (5, 3, 1)).regular, Take(0, (2, 2)).regular, Take(0, (0, 2, 1)).regular, Take(0, (0, -1)).regular
        ((5, -2), (2, 0), None, None)
        """
        steps = {after - at for at, after in pairwise(self.places)} or {1}
        from_both_ends = min(self.places, default=0) < 0 and len({*self.places}) > 1
        return None if len(steps) > 1 or from_both_ends else ((self.places or (0,))[0], steps.pop())

    def pieces(self, size: int) -> list[tuple[int, int]]:
        """Return the stretches that are taken one after another: where each starts, and how long it is."""
        made = list[tuple[int, int]]()
        for place in self.places:
            start, count = made[-1] if made else (0, 0)
            made[-1:] = [(start, count + 1)] if made and start + count == place else [*made[-1:], (place, 1)]
        return made

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move.

        >>> Take(1, (2, 0, 0, 1)).after((2, 3))
        (2, 4)
        """
        return (*shape[: self.axis], len(self.places), *shape[self.axis + 1 :])


class Dims(Record):
    """Return the dims from `start` to `end` as a vector of int64."""

    start: int
    end: int

    def after(self, shape: Shape) -> Shape:
        """Return the dims that the vector holds."""
        return shape[self.start : self.end]


class Combine(Shaped):
    """Make a tensor of the input and of other operands, or compute new elements from windows of the input.

    Operand 0 is the input; the others count from 1 in the order in which they are written.
    """

    operands: tuple[Shape, ...]
    """The shapes of the input and of the other operands."""
    places: tuple[tuple[Place, ...], ...]
    """For each output dim the operands and the axes of these that an index on it tells apart."""
    joined: int | None = None
    """The output axis along which operands lie end to end, in the order of its places."""
    windows: tuple[int, ...] = ()
    """The output axes whose positions read several positions of their place."""


Place = tuple[int, int]
"""The number of an operand and one of its axes."""
Move = Permute | Reshape | Expand | Pick | Roll | Take | Dims | Combine

Index = tuple[int, ...]
"""The position of an element on each axis."""


# Where an element goes: its index before and after a move, for tensors of any size.


def index_after(index: Index, shape: Sequence[Any], move: Move) -> Index | None:
    """Return an element's index after a move; of repeats, the first. None if the move leaves the element out.

    `index` and `shape` are those before the move.
    """
    if isinstance(move, Permute):
        return tuple(index[axis] for axis in move.axes)
    if isinstance(move, Expand):
        return (0,) * (len(move.shape) - len(index)) + index
    if isinstance(move, Pick):
        return _picked_index(index, shape, move)
    if isinstance(move, Roll):
        return _rolled_index(index, shape, move.axis, move.shift)
    if isinstance(move, Take):
        places = [place % shape[move.axis] for place in move.places]
        place = index[move.axis]
        return (*index[: move.axis], places.index(place), *index[move.axis + 1 :]) if place in places else None
    return unravel(ravel(index, shape), move.shape) if isinstance(move, Reshape) else index


def _picked_index(index: Index, shape: Sequence[Any], move: Pick) -> Index | None:
    places = list[int]()
    for at, dim, (start, step, size) in zip(index, shape, move.axes, strict=True):
        place, over = divmod(at - start % dim, step)
        if over or not 0 <= place < (1 if size is None else size):
            return None
        places += [] if size is None else [place]
    return tuple(places)


def _rolled_index(index: Any, shape: Sequence[Any], axis: int, shift: int) -> tuple[Any, ...]:
    return (*index[:axis], (index[axis] + shift) % shape[axis], *index[axis + 1 :])


def index_before(index: Any, shape: Sequence[Any], move: Move) -> Any:
    """Return an element's index before a move. `index` is the one after it, and `shape` the shape before it."""
    if isinstance(move, Permute):
        places = {axis: out for out, axis in enumerate(move.axes)}
        return tuple(index[places[axis]] for axis in range(len(shape)))
    if isinstance(move, Expand):
        kept = index[len(move.shape) - len(shape) :]
        return tuple(at * (size != 1) for at, size in zip(kept, shape, strict=True))
    if isinstance(move, Roll):
        return _rolled_index(index, shape, move.axis, -move.shift)
    if isinstance(move, Pick):
        places, every = iter(index), zip(move.axes, shape, strict=True)
        return tuple(start % dim + (0 if size is None else step * next(places)) for (start, step, size), dim in every)
    if isinstance(move, Take):
        place = _looked_up(move.places, index[move.axis]) % shape[move.axis]
        return (*index[: move.axis], place, *index[move.axis + 1 :])
    return unravel(ravel(index, move.shape), shape) if isinstance(move, Reshape) else index


def _looked_up(places: tuple[int, ...], at: Any) -> Any:
    """Return the place at an index, or the places at an array of them."""
    return places[at] if isinstance(at, int) else sum([(at == each) * place for each, place in enumerate(places)])


def ravel(index: Any, shape: Sequence[Any]) -> Any:
    """Return how many elements come before the one at `index` in a tensor of `shape`, in C order.

    The parts of `index` are numbers, or arrays of numbers for several elements.

    >>> ravel((1, 0, 2), (2, 3, 4))
    14
    """
    flat: Any = 0
    for at, size in zip(index, shape, strict=True):
        flat = flat * size + at
    return flat


def unravel(flat: Any, shape: Sequence[Any]) -> Any:
    """Return the index of the element of a tensor of `shape` that `flat` others come before, in C order.

    >>> unravel(14, (2, 3, 4))
    (1, 0, 2)
    """
    index = []
    for size in reversed(shape):
        index.append(flat % size)
        flat = flat // size
    return tuple(reversed(index))
