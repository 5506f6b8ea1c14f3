"""Source and output of a chain as common lines.

A line is a run of positions that both hold: a part of one source axis and of one output axis where cuts line up. Where
they do not, it is a run of several parts of the source, cut otherwise in the output. A part that is read backwards, or
not at every position, has a step of its own, and each axis of the source a place where it begins to be read.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    Sizes = tuple[int, ...]


class Factor(Record):
    """A part of an axis: `size` positions that are `step` apart on it, below 0 if it is read backwards."""

    axis: int
    size: int
    step: int


class Line(Record):
    """A run of positions: the parts of the source that it goes through, outermost first, and of the output."""

    sources: tuple[Factor, ...]
    outputs: tuple[Factor, ...]

    @property
    def size(self) -> int:
        """How many positions it has."""
        return prod(each.size for each in self.outputs)

    @property
    def mixed(self) -> bool:
        """Whether it is cut otherwise in the output than in the source."""
        return len(self.sources) > 1


class Lines(Record):
    """What a chain does to an array. An output part that no line has repeats all of them."""

    source: Sizes
    output: Sizes
    lines: tuple[Line, ...]
    starts: Sizes
    """Where each axis of the source is read when all of its parts are at 0."""
    rolls: Sizes
    """By how much each axis of the source is rolled before anything else."""
    repeated: tuple[Factor, ...] = ()
