"""What the main screen is about: a question, its answer, the place in it, and what is predicted. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property, lru_cache
from math import prod

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import stage_line
from shapecalc.core.dims import Dim, all_known
from shapecalc.core.fixing import Fix, apply
from shapecalc.core.mistakes import Mistake, mistake_of, twin_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_dims, split
from shapecalc.teaching.progress import Score
from shapecalc.tui.question import Question, answer_question
from shapecalc.view.grid import journey_of
from shapecalc.view.hints import Hint, hint_of, is_said, is_worth_asking
from shapecalc.view.layout import Cell, layouts, opened

Hole = tuple[int, int]
"""A dim of the flow, by column and index."""

WHOLE = (0, 0)
"""What stands for the question whether a request works where holes are counted; no hole is a dim of the input."""
YES_NO = {"y": True, "n": False}
"""What is typed when it is asked whether a request works."""
LONGEST = 40
"""The most characters that a hole takes."""
ARROWS: Mapping[str, tuple[int, int]] = {"left": (-1, -1), "right": (-1, 1), "up": (-2, -1), "down": (-2, 1)}
"""The input axis that an arrow key moves along, counted from the back, and which way."""
_mistake_of, _twin_of = lru_cache(maxsize=1)(mistake_of), lru_cache(maxsize=1)(twin_of)


class Predictions:
    """What is asked about one answer, and what was said: whether it works, then the dims that are not printed already.

    A hole is a dim of the flow, by column and index.

    >>> import shapecalc as sc
    >>> mine = Predictions(sc.reshape((2, 2, 3, 2), (-1, 0, 0)), Score())
    >>> mine.type((1, 1), "3")
    >>> mine.is_wrong((1, 1)), [*mine.holes(0)], mine.hint((1, 1)).asks
    (True, [(1, 0), (1, 1), (1, 2)], 'what does the 0 at index 1 copy?')
    """

    def __init__(self, answer: Trace | Chain | None, score: Score) -> None:
        """Begin with nothing said; mark each first answer in a score."""
        self.said: bool | None = None
        """Whether it was said to work; None until that is answered."""
        self.texts: dict[Hole, str] = {}
        self.rungs: dict[Hole, int] = {}
        """How many helps were asked for."""
        self._score = score
        self.marked: set[Hole] = set()
        """What was answered once; it counts no more."""
        self._entered: dict[Hole, str] = {}
        """What was entered as it stands."""
        self._made = () if answer is None else layouts(answer)
        self.steps = () if answer is None else answer.steps
        self.cells: Mapping[Hole, Cell] = {
            (column, row): cell
            for column, layout in enumerate(self._made, 1)
            for row, cell in enumerate(layout.cells)
            if cell.step < len(self.steps) and cell.dim is not None
        }
        """Every dim that a step settles."""

    @cached_property
    def asked(self) -> Mapping[Hole, Cell]:
        """Those dims that are asked for."""
        found = ((hole, cell, self._made[hole[0] - 1].stage) for hole, cell in self.cells.items())
        return {
            hole: cell
            for hole, cell, stage in found
            if is_worth_asking(stage, self.steps[cell.step], hole[1], cell.dim or 0)
        }

    @property
    def output(self) -> tuple[Hole, ...]:
        """The dims of the output."""
        return tuple(filter(self.is_output, self.cells))

    def is_output(self, hole: Hole) -> bool:
        """Say whether a hole is a dim of the output."""
        return hole[0] == len(self._made)

    def holes(self, passed: int) -> tuple[Hole, ...]:
        """Return what is still a hole after so many steps: what is neither settled by them nor predicted right.

        A dim that is not asked for is one as long as the dim that it stays is one.
        """
        found = dict[Hole, None]()
        for hole, cell in self.cells.items():
            if cell.step >= passed and (not self.is_right(hole) if hole in self.asked else self._stays(hole, found)):
                found[hole] = None
        return tuple(found)

    def _stays(self, hole: Hole, before: Collection[Hole]) -> bool:
        """Say whether a dim that is not asked for keeps the size of one of those that are hidden."""
        (column, out), dim = hole, self.cells[hole].dim or 0
        return (column - 1, out) in before and not is_said(self._made[column - 1].stage, out, dim)

    def of_step(self, at: int) -> tuple[Hole, ...]:
        """Return the dims that are asked for at one step."""
        return tuple(hole for hole, cell in self.asked.items() if cell.step == at)

    def type(self, hole: Hole, char: str) -> None:
        """Type a character into a hole; a backspace takes the last one away."""
        text = self.texts.get(hole, "")
        self.texts[hole] = text[:-1] if char == "\b" else (text + char)[:LONGEST]
        self._entered.pop(hole, None)
        if self.is_wrong(hole) or self.is_right(hole):
            self.mark(hole, right=self.is_right(hole))

    def mark(self, hole: Hole, *, right: bool) -> None:
        """Count what was said of a hole first."""
        if hole not in self.marked:
            self.marked.add(hole)
            self._score.mark(right=right)

    def enter(self, hole: Hole) -> None:
        """Take what stands in a hole as it is, and give one more help with it."""
        self._entered[hole] = self.texts.get(hole, "")
        if self.is_wrong(hole):
            self.mark(hole, right=False)
        self.rungs[hole] = min(3, self.given_rungs(hole) + 1)

    def given_rungs(self, hole: Hole) -> int:
        """Return how many helps are given: those that were asked for, and one for what is wrong."""
        return max(self.is_wrong(hole), self.rungs.get(hole, 0))

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
        """Say whether what was typed into a hole is not its dim, and can become it by no further character.

        Of a size with names, which can be written in many ways, that is said once it is entered.
        """
        text, right = self.texts.get(hole, "").strip(), self.cells[hole].dim
        if not text or self.is_right(hole):
            return False
        entered = self._entered.get(hole, "").strip() == text
        return entered or (isinstance(right, int) and not str(right).startswith(text.lstrip("0")))

    def taken_for(self, hole: Hole) -> int | None:
        """Return the index of the only dim before the stage whose size was typed in place of the right one."""
        dim, before = self.dim(hole), self._made[hole[0] - 1].stage.before
        return before.index(dim) if dim is not None and before.count(dim) == 1 else None

    def hint(self, hole: Hole) -> Hint:
        """Return the question of a hole, and the helps with it."""
        name = "input" if hole[0] == 1 else self._made[hole[0] - 2].stage.label
        return hint_of(self._made[hole[0] - 1].stage, self.steps[self.cells[hole].step], hole[1], name=name)

    @property
    def predicted(self) -> list[Dim | None]:
        """The output with what was typed into its holes, right or wrong; None where nothing was."""
        return [self.dim(hole) if hole in self.asked else self.cells[hole].dim for hole in self.output]


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

    def turned(self, now: Question, *, back: bool) -> Question:
        """Return the question before the one that is asked now, or the one that was taken back last."""
        self._change = None
        left, right = (self.past, self.future) if back else (self.future, self.past)
        right.append(now)
        return left.pop()


@lru_cache(maxsize=1)
def has_elements(answer: Trace | Chain | None) -> bool:
    """Say whether an answer has elements to show at every stage."""
    try:
        return answer is not None and prod(journey_of(answer).points[0].shape) > 0
    except ShapeError:
        return False


class State:
    """A question that is being explored.

    >>> from shapecalc.tui.question import FIRST
    >>> state = State(FIRST)
    >>> state.go(5)
    >>> state.at, state.answer.steps[5].rule, state.works("step(1)"), state.works("fix")
    (5, 'infer', True, False)
    """

    def __init__(
        self, question: Question, step: int | None = None, *, learns: bool = False, score: Score | None = None
    ) -> None:
        """Ask the question, and stand at one of its steps; past the last if none is given.

        If it `learns`, the reader is asked before anything is shown, and what is right is marked in the `score`.
        """
        self.question = question
        self.result = answer_question(question)
        self.answer: Trace | Chain | None = self.result.answer
        """The last answer there was. It stays while what is typed has no answer."""
        self.wanted = step
        """The step to stand at, as far as there are so many; None is past the last."""
        self._looks_back = False
        """Whether a step before a refusal is stood at, and not the refusal."""
        self.learns = learns
        """Whether dims that are not settled yet are holes, and asked for."""
        self.shown = False
        """Whether the step at hand is shown although nobody predicted its dim."""
        self.score = score or Score()
        self.predictions = Predictions(self.answer, self.score)
        self.history = History()
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
        if self.opening:
            return 0
        if self.wanted is None or (self.answer is not None and self.answer.problem and not self._looks_back):
            return self.last
        return min(self.wanted, self.last)

    @property
    def settled(self) -> bool:
        """Whether the whole answer is shown."""
        return self.at >= self.last and not self.opening and not (self.answer and self.answer.problem)

    def ask(self, question: Question, focused: str | None = None) -> None:
        """Ask another question, and stay at the same step if it has that many; go to the problem if it has one."""
        self.history.note(self.question, question, focused)
        self._ask(question, focused)

    def _ask(self, question: Question, focused: str | None = None) -> None:
        self.question, self.result = question, answer_question(question, focused)
        if self.result.answer is None or self.result.answer == self.answer:
            return
        self.answer, self.chosen, self.cursor = self.result.answer, None, None
        self.gridded, self.beside = self.gridded and has_elements(self.answer) and not self.learns, False
        self._looks_back = False
        self._forget()

    def turn(self, *, back: bool) -> None:
        """Ask the question before, or the one that was taken back."""
        self._ask(self.history.turned(self.question, back=back))

    def go(self, at: int) -> None:
        """Stand at a step; those before the one at hand are shown, since they were passed."""
        self.shown, self._looks_back = at < self.at, at < self.last
        if at < self.last:
            self.wanted = max(0, at)
        elif not (self.answer and self.answer.problem):
            self.wanted = None
        self.gridded, self.beside, self.chosen, self._in_use = False, False, None, None

    def step(self, by: int) -> None:
        """Go a step back, or show what is asked, or go on: to what is asked next, if anything is."""
        if by > 0 and self.opening:
            self.say_whether(None)
        elif by > 0 and self._asked_now:
            for hole in self._asked_now:
                self.predictions.mark(hole, right=False)
            self.shown, self.chosen, self._in_use = True, None, None
        else:
            self.go(self._next_asked(self.at + 1) if by > 0 else self.at - 1)

    def _next_asked(self, first: int) -> int:
        """Return the first step from a place on at which something is asked; that place if nothing is any more."""
        open_ = (self.predictions.cells[hole].step for hole in self.holes if hole in self.predictions.asked)
        return min((step for step in open_ if step >= first), default=first)

    # What is hidden

    def switch_mode(self) -> None:
        """Go over from work to learning, which asks from the beginning, or back, which shows everything."""
        self.learns = not self.learns
        if self.learns:
            self._forget(self.predictions.marked)
            self.go(0)

    def _forget(self, marked: Collection[Hole] = ()) -> None:
        """Begin with new predictions; what is `marked` counted before, and counts no more."""
        self.shown, self.predictions = False, Predictions(self.answer, self.score)
        self.predictions.marked |= {*marked}
        self._in_use = None

    @property
    def opening(self) -> bool:
        """Whether it is asked if the request works."""
        return self.learns and bool(self.answer and self.answer.traces) and self.predictions.said is None

    def say_whether(self, works: bool | None) -> None:
        """Say whether the request works; None to be told. What is asked next is stood at."""
        resolves = self.answer is not None and self.answer.problem is None
        self.predictions.mark(WHOLE, right=works is resolves)
        self.predictions.said = resolves if works is None else works
        self.go(self._next_asked(0))
        self._looks_back = False

    @property
    def drawn(self) -> Trace | Chain | None:
        """What the pictures are drawn of: what is asked for alone, as long as nobody said whether it works."""
        return opened(self.answer) if self.opening and self.answer is not None else self.answer

    @property
    def passed(self) -> int:
        """How many steps count as passed."""
        return self.at + self.shown

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The dims that are hidden, by column and index."""
        if not self.learns or self.settled or (self.answer is not None and self.answer.problem):
            return ()
        return self.predictions.holes(self.passed)

    @property
    def hides(self) -> bool:
        """Whether the answer, or that there is none, is not to be seen."""
        return self.opening or any(map(self.predictions.is_output, self.holes))

    @property
    def askable(self) -> tuple[Hole, ...]:
        """The dims that can be typed now: those of the first stage that has holes."""
        asked = [hole for hole in self.holes if hole in self.predictions.asked]
        return tuple(hole for hole in asked if hole[0] == asked[0][0])

    @property
    def hole(self) -> Hole | None:
        """The dim that what is typed goes into: that of the last key, the one that is lit, or the one asked for."""
        if not self.learns or self.settled or self.opening:
            return None
        asked = () if self.shown else self.predictions.of_step(self.at)
        if self._in_use in self.predictions.asked:
            return self._in_use
        return self.chosen if self.chosen in self.askable else next(iter((*self._asked_now, *asked[-1:])), None)

    @property
    def _asked_now(self) -> tuple[Hole, ...]:
        """The hidden dims that the step at hand settles."""
        asked = () if self.shown or not self.holes else self.predictions.of_step(self.at)
        return tuple(hole for hole in asked if not self.predictions.is_right(hole))

    @property
    def mistake(self) -> Mistake | None:
        """The mistake that the predicted dims of the output show, as far as there are any; None if they show none."""
        mine = self.predictions
        if not self.learns or self.answer is None or not any(map(mine.is_wrong, filter(mine.is_output, mine.asked))):
            return None
        return _mistake_of(self.answer, tuple(mine.predicted))

    @property
    def twin(self) -> Mistake | None:
        """The mistake that no size shows, since it gives the same sizes; None if there is none."""
        return None if self.answer is None else _twin_of(self.answer)

    @property
    def asking(self) -> bool:
        """Whether the dim that what is typed goes into is hidden."""
        return self.hole is not None and not self.predictions.is_right(self.hole)

    def takes(self, char: str) -> bool:
        """Say whether a character is text now: all that sizes are written with, if something is asked."""
        if self.opening:
            return char.lower() in YES_NO
        named = self.answer is not None and not all_known(self.answer.input)
        return self.hole is not None and char.isprintable() and (named or char not in "?/q")

    def type(self, char: str) -> None:
        """Type a character: yes or no, if it is asked whether the request works, or into the hole at hand."""
        if self.opening:
            if char.lower() in YES_NO:
                self.say_whether(YES_NO[char.lower()])
            return
        self._in_use = self.hole
        if self.hole is not None:
            self.predictions.type(self.hole, char)

    def enter(self) -> None:
        """Go on if what was typed is right; otherwise give one more help."""
        if self.hole is not None and self.asking:
            self.predictions.enter(self.hole)
        elif self._asked_now:
            self.choose(None)
        elif not self.opening:
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

    def offers(self, action: str) -> bool:
        """Say whether a key is offered: not one that would tell what is hidden."""
        tells = action in TELLING or (action == "film" and self.opening)
        return self.works(action) and not (tells and self.hides)


NEEDED: dict[str, Callable[[State], bool]] = {
    "undo": lambda state: bool(state.history.past),
    "redo": lambda state: bool(state.history.future),
    **dict.fromkeys(("step(1)", "go(-1)"), lambda state: state.at < state.last or state.opening),
    **dict.fromkeys(("step(-1)", "go(0)"), lambda state: state.at > 0),
    "fix": lambda state: not state.opening and state.fix is not None,
    "compare": lambda state: not state.question.is_chain and state.result.answer is not None,
    **dict.fromkeys(("equiv", "simplify"), lambda state: state.result.answer is not None),
    **dict.fromkeys(("film", "save"), lambda state: state.answer is not None),
    "grid": lambda state: has_elements(state.answer),
    "code": lambda state: state.answer is not None and state.answer.output is not None,
}
"""What an action needs to do something; one that is not here always does."""
TELLING = ("grid", "compare", "equiv", "simplify", "code", "save", "mistake")
"""The actions that tell the answer."""


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
