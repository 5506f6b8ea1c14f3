"""Predictions: which dims of an answer are still holes, what was typed into them, and whether it is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Dim
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_dims
from shapecalc.view.hints import Hint, hint_of
from shapecalc.view.layout import Cell, layouts

Hole = tuple[int, int]
"""A dim of the flow, by column and index."""

LONGEST = 40
"""The most characters that a hole takes."""
RUNGS = 3


@dataclass(frozen=True, slots=True)
class Score:
    """How many holes were tried, and how many of them were right as first typed."""

    right: int = 0
    tried: int = 0


class Predictions:
    """What was typed into the holes of one answer. A hole is a dim of the flow, by column and index.

    >>> import shapecalc as sc
    >>> mine = Predictions(sc.reshape((2, 2, 3, 2), (-1, 0, 0)))
    >>> mine.type((1, 1), "3")
    >>> mine.is_wrong((1, 1)), [*mine.holes(0)], mine.hint((1, 1)).asks
    (True, [(1, 0), (1, 1), (1, 2)], 'what does the 0 at index 1 copy?')
    """

    def __init__(self, answer: Trace | Chain | None) -> None:
        """Begin with nothing typed."""
        self.texts: dict[Hole, str] = {}
        self.rungs: dict[Hole, int] = {}
        """How many helps were asked for."""
        self._missed: set[Hole] = set()
        made = () if answer is None else layouts(answer)
        last = 0 if answer is None else len(answer.steps)
        self.cells: Mapping[Hole, Cell] = {
            (column, row): cell
            for column, layout in enumerate(made, 1)
            for row, cell in enumerate(layout.cells)
            if cell.step < last
        }
        self.steps = () if answer is None else answer.steps
        self._stages = [layout.stage for layout in made]

    @property
    def output(self) -> tuple[Hole, ...]:
        """The holes of the output."""
        return tuple(filter(self.is_output, self.cells))

    def is_output(self, hole: Hole) -> bool:
        """Say whether a hole is a dim of the output."""
        return hole[0] == len(self._stages)

    def holes(self, passed: int) -> tuple[Hole, ...]:
        """Return what is still a hole after so many steps: what is neither settled by them nor predicted right."""
        return tuple(hole for hole, cell in self.cells.items() if cell.step >= passed and not self.is_right(hole))

    def of_step(self, at: int) -> tuple[Hole, ...]:
        """Return the dims that one step settles."""
        return tuple(hole for hole, cell in self.cells.items() if cell.step == at)

    def type(self, hole: Hole, char: str) -> None:
        """Type a character into a hole; a backspace takes the last one away."""
        text = self.texts.get(hole, "")
        self.texts[hole] = text[:-1] if char == "\b" else (text + char)[:LONGEST]
        if self.is_wrong(hole):
            self._missed.add(hole)

    def help(self, hole: Hole) -> None:
        """Give one more help with a hole."""
        self.rungs[hole] = min(RUNGS, self.given_rungs(hole) + 1)

    def given_rungs(self, hole: Hole) -> int:
        """Return how many helps are given: those that were asked for, one for what is wrong, two for a wrong axis."""
        earned = (2 if self.taken_for(hole) is not None else 1) if self.is_wrong(hole) else 0
        return max(earned, self.rungs.get(hole, 0))

    def dim(self, hole: Hole) -> Dim | None:
        """Return the dim that was typed into a hole; None if that is no dim."""
        try:
            (dim,) = read_dims(self.texts.get(hole, ""))
        except (ShapeError, ValueError):
            return None
        return dim

    def is_right(self, hole: Hole) -> bool:
        """Say whether what was typed into a hole is its dim."""
        return bool(self.texts.get(hole)) and str(self.dim(hole)) == str(self.cells[hole].dim)

    def is_wrong(self, hole: Hole) -> bool:
        """Say whether what was typed into a hole is not its dim, and not the beginning of it."""
        text = self.texts.get(hole, "").strip()
        return bool(text) and not self.is_right(hole) and not str(self.cells[hole].dim).startswith(text)

    def taken_for(self, hole: Hole) -> int | None:
        """Return the index of the only dim before the stage whose size was typed in place of the right one."""
        dim, before = self.dim(hole), self._stages[hole[0] - 1].before
        return before.index(dim) if dim is not None and before.count(dim) == 1 else None

    def hint(self, hole: Hole) -> Hint:
        """Return the question of a hole, and the helps with it."""
        name = "input" if hole[0] == 1 else self._stages[hole[0] - 2].label
        return hint_of(self._stages[hole[0] - 1], self.steps[self.cells[hole].step], hole[1], name=name)

    def predicted(self, passed: int) -> list[Dim | None]:
        """Return the output as far as it is known after so many steps or predicted, right or wrong."""
        known = {hole: cell.dim for hole, cell in self.cells.items() if cell.step < passed}
        return [known.get(hole, self.dim(hole)) for hole in self.output]

    @property
    def score(self) -> Score:
        """How many holes were tried, and how many were right at once."""
        right = {hole for hole in self.texts if self.is_right(hole)}
        return Score(len(right - self._missed), len(right | self._missed))
