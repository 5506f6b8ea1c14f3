"""What the main screen is about: a question, its answer, the place in it, and what is predicted. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import split, stage_line
from shapecalc.core.dims import Dim
from shapecalc.core.fixing import Fix, apply
from shapecalc.core.mistakes import Mistake, mistake_of, twin_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.rules import MERGED
from shapecalc.core.text import read_dims
from shapecalc.tui.question import Question, answer_question
from shapecalc.view.grid import journey_of
from shapecalc.view.hints import Hint, hint_of
from shapecalc.view.layout import Cell, layouts

Hole = tuple[int, int]
"""A dim of the flow, by column and index."""

LONGEST = 40
"""The most characters that a hole takes."""
ARROWS: Mapping[str, tuple[int, int]] = {"left": (-1, -1), "right": (-1, 1), "up": (-2, -1), "down": (-2, 1)}
"""The input axis that an arrow key moves along, counted from the back, and which way."""
_mistake_of, _twin_of = lru_cache(maxsize=1)(mistake_of), lru_cache(maxsize=1)(twin_of)


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
        self.rungs[hole] = min(3, self.given_rungs(hole) + 1)

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


class History:
    """The questions before the one that is asked, and those that were taken back.

    What is typed at one go in one field, or rubbed out there, is one change.
    """

    def __init__(self) -> None:
        """Begin with nothing before and nothing after."""
        self.past: list[Question] = []
        self.future: list[Question] = []
        self._change: tuple[str, bool] | None = None

    def note(self, before: Question, after: Question, field: str | None) -> None:
        """Note that a question takes the place of another because of a key in a field; None for any other reason."""
        if before == after:
            self._change = None
            return
        grows = field is not None and len(after.texts.get(field, "")) > len(before.texts.get(field, ""))
        change = None if field is None else (field, grows)
        if change is None or change != self._change:
            self.past.append(before)
        self.future.clear()
        self._change = change

    def back(self, now: Question) -> Question:
        """Return the question before the one that is asked now."""
        self._change = None
        self.future.append(now)
        return self.past.pop()

    def forth(self, now: Question) -> Question:
        """Return the question that was taken back last."""
        self._change = None
        self.past.append(now)
        return self.future.pop()


class State:
    """A question that is being explored.

    >>> from shapecalc.tui.question import FIRST
    >>> state = State(FIRST)
    >>> state.go(5)
    >>> state.at, state.answer.steps[5].rule, state.works("step(1)"), state.works("fix")
    (5, 'infer', True, False)
    """

    def __init__(self, question: Question, step: int | None = None) -> None:
        """Ask the question, and stand at one of its steps, with what it settles hidden; past the last if none is given.

        Nothing is hidden past the last.
        """
        self.question = question
        self.result = answer_question(question)
        self.answer: Trace | Chain | None = self.result.answer
        """The last answer there was. It stays while what is typed has no answer."""
        self.wanted = step
        """The step to stand at, as far as there are so many; None is past the last."""
        self._looks_back = step is not None
        """Whether a step before a refusal is stood at, and not the refusal."""
        self.hidden = step is not None
        """Whether dims that are not settled yet are holes."""
        self.shown = False
        """Whether the step at hand is shown although nobody predicted its dim."""
        self.predictions = Predictions(self.answer)
        self.history = History()
        self._scored = Score()
        self.chosen: Hole | None = None
        """The dim of the flow that is lit up, by column and index."""
        self._in_use: Hole | None = None
        """The hole that was typed into last; it stays the one at hand, right or wrong, until it is left."""
        self.gridded = False
        self.beside = False
        """Whether the elements are drawn beside those of a mistake that gives the same sizes."""
        self.big = False
        """Whether the step at hand is drawn in large figures."""
        self.cursor: tuple[int, ...] | None = None
        """The element that the grid follows, by its index in the input."""

    @property
    def last(self) -> int:
        """The place past the last step: the output, or where it failed."""
        return len(self.predictions.steps)

    @property
    def at(self) -> int:
        """The step at hand. A refusal is stood at, and the place is kept for when there is an answer again."""
        if self.wanted is None or (self.answer is not None and self.answer.problem and not self._looks_back):
            return self.last
        return min(self.wanted, self.last)

    @property
    def settled(self) -> bool:
        """Whether the whole answer is shown."""
        return self.at >= self.last and not (self.answer and self.answer.problem)

    def ask(self, question: Question, focused: str | None = None) -> None:
        """Ask another question, and stay at the same step if it has that many; go to the problem if it has one."""
        self.history.note(self.question, question, focused)
        self._ask(question, focused)

    def _ask(self, question: Question, focused: str | None = None) -> None:
        self.question, self.result = question, answer_question(question, focused)
        if self.result.answer is None or self.result.answer == self.answer:
            return
        self.answer, self.chosen, self.cursor = self.result.answer, None, None
        self.gridded, self.beside = self.gridded and self.has_elements, False
        self._looks_back = False
        self._forget()

    def undo(self) -> None:
        """Ask the question before."""
        self._ask(self.history.back(self.question))

    def redo(self) -> None:
        """Ask the question that was taken back."""
        self._ask(self.history.forth(self.question))

    def go(self, at: int) -> None:
        """Stand at a step; those before the one at hand are shown, since they were passed."""
        self.shown, self._looks_back = at < self.at, at < self.last
        if at < self.last:
            self.wanted = max(0, at)
        elif not (self.answer and self.answer.problem):
            self.wanted = None
        self.gridded, self.beside, self.chosen, self._in_use = False, False, None, None

    def step(self, by: int) -> None:
        """Go a step back, or show the step at hand if it is hidden, or go a step on."""
        if by > 0 and self._asked_now:
            self.shown, self.chosen, self._in_use = True, None, None
        else:
            self.go(self.at + by)

    # What is hidden

    def hide_or_reveal(self) -> None:
        """Reveal all dims; if none is hidden, hide them all and stand at the first step."""
        self.hidden = not (self.holes or self.hides_refusal)
        if self.hidden:
            self._forget()
            self.go(0)
            self.shown, self._looks_back = False, True

    def _forget(self) -> None:
        """Begin with new predictions, and keep the score of those before."""
        self._scored, self.shown, self.predictions = self.score, False, Predictions(self.answer)
        self._in_use = None

    @property
    def score(self) -> Score:
        """How many holes were tried in all, and how many were right at once."""
        now = self.predictions.score
        return Score(self._scored.right + now.right, self._scored.tried + now.tried)

    @property
    def passed(self) -> int:
        """How many steps count as passed."""
        return self.at + self.shown

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The dims that are hidden, by column and index."""
        return self.predictions.holes(self.passed) if self.hidden and not self.settled else ()

    @property
    def hides_answer(self) -> bool:
        """Whether a dim of the output is hidden."""
        return any(map(self.predictions.is_output, self.holes))

    @property
    def hides_refusal(self) -> bool:
        """Whether the request is refused, which is not told before its steps lead there."""
        refused = self.result.answer is not None and self.result.problem is not None
        return self.hidden and refused and self._looks_back

    @property
    def hides(self) -> bool:
        """Whether the answer, or that there is none, is not to be seen."""
        return self.hides_answer or self.hides_refusal

    @property
    def hole(self) -> Hole | None:
        """The dim that what is typed goes into: that of the last key, the one that is lit, or the one asked for."""
        if not self.hidden or self.settled:
            return None
        cells = self.predictions.cells
        for here in (self._in_use, self.chosen):
            if here is not None and here in cells and cells[here].step >= self.passed:
                return here
        asked = () if self.shown else self.predictions.of_step(self.at)
        return next(iter((*self._asked_now, *asked[-1:])), None)

    @property
    def _asked_now(self) -> tuple[Hole, ...]:
        """The hidden dims that the step at hand settles."""
        asked = () if self.shown or not self.hidden else self.predictions.of_step(self.at)
        return tuple(hole for hole in asked if not self.predictions.is_right(hole))

    @property
    def gives_away(self) -> bool:
        """Whether the picture of the step at hand would show dims that are hidden, as the cuts of a merge do."""
        return self.answer is not None and bool(self.holes) and self.answer.steps[self.at].rule == MERGED

    @property
    def mistake(self) -> Mistake | None:
        """The mistake that the predicted dims of the output show, as far as there are any; None if they show none."""
        mine = self.predictions
        if self.answer is None or not any(mine.is_output(hole) and mine.is_wrong(hole) for hole in self.holes):
            return None
        return _mistake_of(self.answer, tuple(mine.predicted(self.passed)))

    @property
    def twin(self) -> Mistake | None:
        """The mistake that no size shows, since it gives the same sizes; None if there is none."""
        return None if self.answer is None else _twin_of(self.answer)

    @property
    def is_answered(self) -> bool:
        """Whether something was typed into every hole of the output."""
        return None not in self.predictions.predicted(self.passed)

    @property
    def asking(self) -> bool:
        """Whether the dim that what is typed goes into is hidden."""
        return self.hole is not None and not self.predictions.is_right(self.hole)

    def type(self, char: str) -> None:
        """Type a character into the hole at hand."""
        self._in_use = self.hole
        if self.hole is not None:
            self.predictions.type(self.hole, char)

    def enter(self) -> None:
        """Go on if what was typed is right; otherwise give one more help."""
        if self.hole is not None and self.asking:
            self.predictions.help(self.hole)
        elif self._asked_now:
            self.choose(None)
        else:
            self.step(1)

    # What is lit

    def choose(self, dim: Hole | None) -> None:
        """Light up a dim of the flow; none if it was lit already."""
        self.chosen, self._in_use = None if dim == self.chosen else dim, None

    def choose_beside(self, key: str) -> None:
        """Light up the dim that an arrow key leads to from the one that is lit, or from the first."""
        if self.answer is None:
            return
        counts = [len(self.answer.input), *(len(layout.cells) for layout in layouts(self.answer))]
        column, row = self.chosen or self.hole or (0, -1)
        columns, rows = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}[key]
        column = max(0, min(column + columns, len(counts) - 1))
        if counts[column]:
            self._in_use = None
            self.chosen = column, max(0, min(row + rows, counts[column] - 1))

    @property
    def has_elements(self) -> bool:
        """Whether there are elements to show at every stage."""
        return self.answer is not None and has_elements(self.answer)

    def move(self, key: str) -> None:
        """Move the cursor of the grid; past the end of the last axis it goes on in the next row."""
        shape = journey_of(self.answer).points[0].shape if self.answer else ()
        place, by = ARROWS[key]
        if len(shape) < -place:
            return
        cursor = list(self.cursor or (0,) * len(shape))
        for axis in range(len(shape) + place, -1, -1):
            cursor[axis] += by
            if 0 <= cursor[axis] < shape[axis]:
                self.cursor = tuple(cursor)
                return
            cursor[axis] %= shape[axis]

    @property
    def fix(self) -> Fix | None:
        """What would make the request resolve, or hold for every batch; None if no small change does."""
        return self.result.fix[1]

    def question_with_fix(self) -> Question:
        """Return the question with the fix applied."""
        (at, fix), answer = self.result.fix, self.result.answer
        if fix is None or answer is None:
            return self.question
        if self.question.is_chain:
            pieces = split(self.question.texts["stages"], "|")
            pieces[at] = f" {stage_line(apply(answer.traces[at].request, fix))} "
            return self.question.with_text("stages", "|".join(pieces).strip())
        if fix.name in self.question.fields:
            return self.question.with_text(fix.name, "" if fix.value is None else str(fix.value))
        return self.question.with_setting(fix.name, fix.value)

    def works(self, action: str) -> bool:
        """Say whether a key would do something now."""
        return action not in NEEDED or NEEDED[action](self)


NEEDED: dict[str, Callable[[State], bool]] = {
    "undo": lambda state: bool(state.history.past),
    "redo": lambda state: bool(state.history.future),
    "hide": lambda state: bool(state.predictions.cells) or state.hides_refusal,
    **dict.fromkeys(("step(1)", "last"), lambda state: state.at < state.last or state.hides_refusal),
    **dict.fromkeys(("step(-1)", "first"), lambda state: state.at > 0),
    "fix": lambda state: not state.hides_refusal and state.fix is not None,
    "compare": lambda state: not state.question.is_chain and state.result.answer is not None,
    **dict.fromkeys(("equiv", "simplify"), lambda state: state.result.answer is not None),
    **dict.fromkeys(("film", "save"), lambda state: state.answer is not None),
    "grid": lambda state: state.has_elements,
    "code": lambda state: state.answer is not None and state.answer.output is not None,
}
"""What an action needs to do something; one that is not here always does."""


@lru_cache(maxsize=1)
def has_elements(answer: Trace | Chain) -> bool:
    """Say whether an answer has elements to show at every stage."""
    try:
        return prod(journey_of(answer).points[0].shape) > 0
    except ShapeError:
        return False


def first_difference(before: Trace | Chain, after: Trace | Chain) -> int:
    """Return the index of the first step that differs in two answers to one request.

    >>> import shapecalc as sc
    >>> copied, literal = (sc.reshape((0, 3), (0, -1), dialect="openvino", special_zero=on) for on in (True, False))
    >>> first_difference(copied, literal)
    0
    """
    for place, (ours, theirs) in enumerate(zip(before.steps, after.steps, strict=False)):
        if (ours.rule, ours.out, ours.value) != (theirs.rule, theirs.out, theirs.value):
            return place
    return min(len(before.steps), len(after.steps))
