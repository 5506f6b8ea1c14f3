"""Legs: the parts of a row of moves that one view can make. Between two legs the data are copied.

What one reshape mixes a later one may put back, so a leg may lead through places where no view will do. Its end is
what counts: if the core's atoms lead through the buffer itself there, one strided copy makes the leg.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.conditions import Known
from shapecalc.core.layout import View
from shapecalc.core.moves import Pick, Reshape, Roll
from shapecalc.core.record import Record
from shapecalc.engine.atoms import blocking_pair, contiguous_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecalc.core.moves import Move

    Shapes = tuple[tuple[int, ...], ...]


MENDING = (Reshape, Pick)
"""The moves after which what is mixed can be read straight on again."""


class Leg(Record):
    """Moves that one view of a buffer makes."""

    view: View
    """What is read of the buffer after the last of them, or before the roll."""
    end: int
    """How many moves of the row are made then."""
    is_copied: bool
    """Whether the data are copied at its end into a new C-contiguous buffer."""
    stages: tuple[tuple[int, View], ...]
    """The view after each of its moves, with how many moves are made there."""
    roll: Roll | None = None
    """The last move, if it rolls an axis. The copy does it."""


def fewest_legs(moves: tuple[Move, ...], shapes: Shapes, view: View, itemsize: int) -> tuple[Leg, ...]:
    """Return the legs of `moves` with the fewest copies; of those, the ones that copy the fewest bytes.

    `shapes` are those before and after each move, `view` is the array.
    """
    return _Search(moves, shapes, itemsize).best(0, view)


class _Search:
    """The legs from each place on. From a place where the data were copied, they are searched once."""

    def __init__(self, moves: tuple[Move, ...], shapes: Shapes, itemsize: int) -> None:
        self.moves, self.shapes, self.itemsize = moves, shapes, itemsize
        self.copied: dict[int, tuple[Leg, ...]] = {}
        self.mending = max([at + 1 for at, move in enumerate(moves) if isinstance(move, MENDING)], default=0)

    def best(self, place: int, view: View) -> tuple[Leg, ...]:
        """Return the legs from `place` on, where `view` is what is read of the buffer."""
        stages = tuple(self._stages(place, view))
        if stages[-1][0] == len(self.moves) and stages[-1][1].is_plain:
            return (self._leg(stages, len(stages)),)
        ways = self._ways(place, stages)
        last = next(ways)
        least = 1, min(map(prod, self.shapes[place:]))  # nothing but the last place is looked at, if that is enough
        return last if self._cost(last) == least else min((last, *ways), key=self._cost)

    def _stages(self, place: int, view: View) -> Iterator[tuple[int, View]]:
        """Yield the views of the buffer from `place` on, up to a move that rolls, or while plain ones may follow."""
        yield place, view
        for at in range(place, len(self.moves)):
            if self._roll(at) or not (view.is_plain or at < self.mending):
                return
            view = self._after(view, at)
            yield at + 1, view

    def _after(self, view: View, at: int) -> View:
        """Return the view after a move. One that reads nothing is as good as any other."""
        if 0 in self.shapes[at + 1]:
            return View(contiguous_axes(self.shapes[at + 1], self.itemsize))
        if isinstance(self.moves[at], Roll):
            return view
        view = view.after(self.moves[at], self.shapes[at], Known())
        return view if view.is_plain or not isinstance(self.moves[at], MENDING) else view.normal(Known())

    def _roll(self, at: int) -> Roll | None:
        """Return a move that rolls an axis; none if it is another, or leaves all where it is."""
        move, sizes = self.moves[at], self.shapes[at]
        return move if isinstance(move, Roll) and 0 not in sizes and move.shift % sizes[move.axis] else None

    def _ways(self, place: int, stages: tuple[tuple[int, View], ...]) -> Iterator[tuple[Leg, ...]]:
        """Yield the legs that copy at each place where a view will do; the last of these places first."""
        for count in range(len(stages), 0, -1):
            at, view = stages[count - 1]
            if not view.is_plain:
                continue
            roll = self._roll(at) if at < len(self.moves) else None
            if roll and not blocking_pair((view.axes[roll.axis],)):
                yield (self._rolled(stages[:count], roll), *self._after_copy(at + 1))
            elif at > place or place not in self.copied:
                yield (self._leg(stages, count, is_copied=True), *self._after_copy(at))

    def _after_copy(self, place: int) -> tuple[Leg, ...]:
        if place not in self.copied:
            self.copied[place] = ()
            self.copied[place] = self.best(place, View(contiguous_axes(self.shapes[place], self.itemsize)))
        return self.copied[place]

    def _leg(self, stages: tuple[tuple[int, View], ...], count: int, *, is_copied: bool = False) -> Leg:
        end, view = stages[count - 1]
        needed = end == len(self.moves) and 0 not in self.shapes[end] and blocking_pair(view.axes) is not None
        return Leg(view, end, is_copied or needed, stages[1:count])

    def _rolled(self, stages: tuple[tuple[int, View], ...], roll: Roll) -> Leg:
        end, view = stages[-1]
        after = View(contiguous_axes(self.shapes[end + 1], self.itemsize))
        return Leg(view, end + 1, True, (*stages[1:], (end + 1, after)), roll)

    def _cost(self, legs: tuple[Leg, ...]) -> tuple[int, int]:
        """Return how many copies legs take, and how many elements they copy."""
        copied = [prod(self.shapes[leg.end]) for leg in legs if leg.is_copied]
        return len(copied), sum(copied)
