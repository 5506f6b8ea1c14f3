"""The state of the main screen, without widgets.

It holds the question, the current step and the predictions.
"""

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
"""A dim of the flow that is hidden, by column and index."""

WHOLE = (0, 0)
"""The pseudo-hole of the validity question.

Dims of the input are never holes.
"""
YES_NO = {"y": True, "n": False}
"""The answers to the question whether a request is valid, by key."""
LONGEST = 40
"""The maximum number of characters in a hole."""
ARROWS: Mapping[str, tuple[int, int]] = {"left": (-1, -1), "right": (-1, 1), "up": (-2, -1), "down": (-2, 1)}
"""The axis, counted from the back, and direction of each arrow key."""
_mistake_of, _twin_of = lru_cache(maxsize=1)(mistake_of), lru_cache(maxsize=1)(twin_of)


class Predictions:
    """The predictions on one answer.

    The user predicts whether the request is valid, then the dims that are not printed yet. A hole is a dim of the flow,
    by column and index.

    >>> import shapecalc as sc
    >>> mine = Predictions(sc.reshape((2, 2, 3, 2), (-1, 0, 0)), Score())
    >>> mine.type((1, 1), "3")
    >>> mine.is_wrong((1, 1)), [*mine.holes(0)], mine.hint((1, 1)).asks
    (True, [(1, 0), (1, 1), (1, 2)], 'what does the 0 at index 1 copy?')
    """

    def __init__(self, answer: Trace | Chain | None, score: Score) -> None:
        """Start without predictions; first attempts count in `score`."""
        self.said: bool | None = None
        """The prediction whether the request is valid; None before it is made."""
        self.texts: dict[Hole, str] = {}
        self.rungs: dict[Hole, int] = {}
        """The number of hints requested for each hole."""
        self._score = score
        self.marked: set[Hole] = set()
        """The holes whose first attempt has been scored."""
        self._entered: dict[Hole, str] = {}
        """The texts that were submitted, by hole."""
        self._made = () if answer is None else layouts(answer)
        self.steps = () if answer is None else answer.steps
        self.cells: Mapping[Hole, Cell] = {
            (column, row): cell
            for column, layout in enumerate(self._made, 1)
            for row, cell in enumerate(layout.cells)
            if cell.step < len(self.steps) and cell.dim is not None
        }
        """All dims that a step determines."""

    @cached_property
    def asked(self) -> Mapping[Hole, Cell]:
        """The dims that the user must predict."""
        candidates = ((hole, cell, self._made[hole[0] - 1].stage) for hole, cell in self.cells.items())
        return {
            hole: cell
            for hole, cell, stage in candidates
            if is_worth_asking(stage, self.steps[cell.step], hole[1], cell.dim or 0)
        }

    @property
    def output(self) -> tuple[Hole, ...]:
        """The dims of the output."""
        return tuple(filter(self.is_output, self.cells))

    def is_output(self, hole: Hole) -> bool:
        """Return whether a hole is a dim of the output."""
        return hole[0] == len(self._made)

    def holes(self, passed: int) -> tuple[Hole, ...]:
        """Return the holes after a number of steps.

        They are dims that are neither determined nor predicted correctly. A dim that is not a question is hidden as
        long as the dim that it copies.
        """
        hidden = dict[Hole, None]()
        for hole, cell in self.cells.items():
            if cell.step >= passed and (not self.is_right(hole) if hole in self.asked else self._stays(hole, hidden)):
                hidden[hole] = None
        return tuple(hidden)

    def _stays(self, hole: Hole, before: Collection[Hole]) -> bool:
        """Return whether a dim that is not a question copies one of the hidden dims."""
        (column, out), dim = hole, self.cells[hole].dim or 0
        return (column - 1, out) in before and not is_said(self._made[column - 1].stage, out, dim)

    def of_step(self, at: int) -> tuple[Hole, ...]:
        """Return the dims to predict at a step."""
        return tuple(hole for hole, cell in self.asked.items() if cell.step == at)

    def type(self, hole: Hole, char: str) -> None:
        """Append a character to a hole's text; a backspace deletes the last one."""
        text = self.texts.get(hole, "")
        self.texts[hole] = text[:-1] if char == "\b" else (text + char)[:LONGEST]
        self._entered.pop(hole, None)
        if self.is_wrong(hole) or self.is_right(hole):
            self.mark(hole, right=self.is_right(hole))

    def mark(self, hole: Hole, *, right: bool) -> None:
        """Score the first attempt at a hole."""
        if hole not in self.marked:
            self.marked.add(hole)
            self._score.mark(right=right)

    def enter(self, hole: Hole) -> None:
        """Submit the text of a hole and show one more hint."""
        self._entered[hole] = self.texts.get(hole, "")
        if self.is_wrong(hole):
            self.mark(hole, right=False)
        self.rungs[hole] = min(3, self.given_rungs(hole) + 1)

    def given_rungs(self, hole: Hole) -> int:
        """Return the number of visible hints.

        A wrong text shows one hint without a request.
        """
        return max(self.is_wrong(hole), self.rungs.get(hole, 0))

    def dim(self, hole: Hole) -> Dim | None:
        """Return the dim typed into a hole; None if the text is not a dim."""
        try:
            (dim,) = read_dims(self.texts.get(hole, ""))
        except (ShapeError, ValueError):
            return None
        return dim

    def is_right(self, hole: Hole) -> bool:
        """Return whether the text of a hole is its dim."""
        return bool(self.texts.get(hole)) and str(self.dim(hole)) == str(self.cells[hole].dim)

    def is_wrong(self, hole: Hole) -> bool:
        """Return whether no further character can make a text right.

        A named size can be written in many ways, so its text is wrong only once it is submitted.
        """
        text, right = self.texts.get(hole, "").strip(), self.cells[hole].dim
        if not text or self.is_right(hole):
            return False
        is_submitted = self._entered.get(hole, "").strip() == text
        return is_submitted or (isinstance(right, int) and not str(right).startswith(text.lstrip("0")))

    def taken_for(self, hole: Hole) -> int | None:
        """Return the axis before the stage whose size was typed instead.

        Returns None unless exactly one axis has this size.
        """
        dim, before = self.dim(hole), self._made[hole[0] - 1].stage.before
        return before.index(dim) if dim is not None and before.count(dim) == 1 else None

    def hint(self, hole: Hole) -> Hint:
        """Return the question of a hole with its hints."""
        name = "input" if hole[0] == 1 else self._made[hole[0] - 2].stage.label
        return hint_of(self._made[hole[0] - 1].stage, self.steps[self.cells[hole].step], hole[1], name=name)

    @property
    def predicted(self) -> list[Dim | None]:
        """The output with the texts of its holes, right or wrong; None for an empty one."""
        return [self.dim(hole) if hole in self.asked else self.cells[hole].dim for hole in self.output]


class History:
    """The undo and redo stacks of questions.

    Consecutive insertions or deletions in one field are one change.
    """

    def __init__(self) -> None:
        """Start with empty stacks."""
        self.past: list[Question] = []
        self.future: list[Question] = []
        self._change: tuple[str, bool] | None = None

    def note(self, before: Question, after: Question, field: str | None) -> None:
        """Record a change of the question by a key in `field`; None for any other change."""
        if before == after:
            self._change = None
            return
        is_insertion = field is not None and len(after.texts.get(field, "")) > len(before.texts.get(field, ""))
        change = None if field is None else (field, is_insertion)
        if change is None or change != self._change:
            self.past.append(before)
        self.future.clear()
        self._change = change

    def turned(self, now: Question, *, back: bool) -> Question:
        """Return the previous question, or the one that was undone last."""
        self._change = None
        source, target = (self.past, self.future) if back else (self.future, self.past)
        target.append(now)
        return source.pop()


@lru_cache(maxsize=1)
def has_elements(answer: Trace | Chain | None) -> bool:
    """Return whether an answer has elements to show at every stage."""
    try:
        return answer is not None and prod(journey_of(answer).points[0].shape) > 0
    except ShapeError:
        return False


class State:
    """The state of a question that is being explored.

    >>> from shapecalc.tui.question import FIRST
    >>> state = State(FIRST)
    >>> state.go(5)
    >>> state.at, state.answer.steps[5].rule, state.works("step(1)"), state.works("fix")
    (5, 'infer', True, False)
    """

    def __init__(
        self, question: Question, step: int | None = None, *, learns: bool = False, score: Score | None = None
    ) -> None:
        """Answer the question and go to one of its steps; past the last by default.

        In learning mode the user predicts before anything is shown, and correct predictions count in the `score`.
        """
        self.question = question
        self.result = answer_question(question)
        self.answer: Trace | Chain | None = self.result.answer
        """The last answer; it stays while the typed text has none."""
        self.wanted = step
        """The requested step, limited by the number of steps; None for past the last."""
        self._looks_back = False
        """Whether a step before a refusal is shown instead of the refusal."""
        self.learns = learns
        """Whether undetermined dims are holes to predict."""
        self.shown = False
        """Whether the current step is shown without a prediction."""
        self.score = score or Score()
        self.predictions = Predictions(self.answer, self.score)
        self.history = History()
        self.chosen: Hole | None = None
        """The highlighted dim of the flow, by column and index."""
        self._in_use: Hole | None = None
        """The hole that was typed into last.

        It stays current, right or wrong, until the user leaves it.
        """
        self.gridded = False
        self.beside = False
        """Whether the elements are drawn next to those of a mistake with the same sizes."""
        self.big = False
        """Whether the current step is drawn in large figures."""
        self.cursor: tuple[int, ...] | None = None
        """The element under the cursor of the grid, by its input index."""

    @property
    def last(self) -> int:
        """The step past the last one: the output, or the refusal."""
        return len(self.predictions.steps)

    @property
    def at(self) -> int:
        """The current step.

        A refusal overrides the requested step until there is an answer.
        """
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
        """Replace the question.

        The step stays if it exists; a problem is shown.
        """
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
        """Undo or redo a change of the question."""
        self._ask(self.history.turned(self.question, back=back))

    def go(self, at: int) -> None:
        """Go to a step; a step before the current one is shown without a prediction."""
        self.shown, self._looks_back = at < self.at, at < self.last
        if at < self.last:
            self.wanted = max(0, at)
        elif not (self.answer and self.answer.problem):
            self.wanted = None
        self.gridded, self.beside, self.chosen, self._in_use = False, False, None, None

    def step(self, by: int) -> None:
        """Go back a step, reveal the current one, or go on to the next question."""
        if by > 0 and self.opening:
            self.say_whether(None)
        elif by > 0 and self._asked_now:
            for hole in self._asked_now:
                self.predictions.mark(hole, right=False)
            self.shown, self.chosen, self._in_use = True, None, None
        else:
            self.go(self._next_asked(self.at + 1) if by > 0 else self.at - 1)

    def _next_asked(self, first: int) -> int:
        """Return the next step with an open question.

        Returns `first` if there is none.
        """
        question_steps = (self.predictions.cells[hole].step for hole in self.holes if hole in self.predictions.asked)
        return min((step for step in question_steps if step >= first), default=first)

    def switch_mode(self) -> None:
        """Toggle learning mode; it starts at the first step."""
        self.learns = not self.learns
        if self.learns:
            self._forget(self.predictions.marked)
            self.go(0)

    def _forget(self, marked: Collection[Hole] = ()) -> None:
        """Reset the predictions; `scored` holes are not scored again."""
        self.shown, self.predictions = False, Predictions(self.answer, self.score)
        self.predictions.marked |= {*marked}
        self._in_use = None

    @property
    def opening(self) -> bool:
        """Whether the current question is if the request is valid."""
        return self.learns and bool(self.answer and self.answer.traces) and self.predictions.said is None

    def say_whether(self, works: bool | None) -> None:
        """Predict whether the request is valid, None to reveal it.

        Go to the next question.
        """
        resolves = self.answer is not None and self.answer.problem is None
        self.predictions.mark(WHOLE, right=works is resolves)
        self.predictions.said = resolves if works is None else works
        self.go(self._next_asked(0))
        self._looks_back = False

    @property
    def drawn(self) -> Trace | Chain | None:
        """The answer to draw: only its request while the validity question is open."""
        return opened(self.answer) if self.opening and self.answer is not None else self.answer

    @property
    def passed(self) -> int:
        """The number of steps that are shown."""
        return self.at + self.shown

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The hidden dims, by column and index."""
        if not self.learns or self.settled or (self.answer is not None and self.answer.problem):
            return ()
        return self.predictions.holes(self.passed)

    @property
    def hides(self) -> bool:
        """Whether the output, or the fact that there is none, is hidden."""
        return self.opening or any(map(self.predictions.is_output, self.holes))

    @property
    def askable(self) -> tuple[Hole, ...]:
        """The dims that can be typed: those of the first stage with holes."""
        questions = [hole for hole in self.holes if hole in self.predictions.asked]
        return tuple(hole for hole in questions if hole[0] == questions[0][0])

    @property
    def hole(self) -> Hole | None:
        """The hole that receives typed text.

        It is the last one typed into, the highlighted one, or the current question.
        """
        if not self.learns or self.settled or self.opening:
            return None
        questions = () if self.shown else self.predictions.of_step(self.at)
        if self._in_use in self.predictions.asked:
            return self._in_use
        return self.chosen if self.chosen in self.askable else next(iter((*self._asked_now, *questions[-1:])), None)

    @property
    def _asked_now(self) -> tuple[Hole, ...]:
        """The hidden dims that the current step determines."""
        questions = () if self.shown or not self.holes else self.predictions.of_step(self.at)
        return tuple(hole for hole in questions if not self.predictions.is_right(hole))

    @property
    def mistake(self) -> Mistake | None:
        """The mistake that explains the predicted output dims; None if there is none."""
        mine = self.predictions
        if not self.learns or self.answer is None or not any(map(mine.is_wrong, filter(mine.is_output, mine.asked))):
            return None
        return _mistake_of(self.answer, tuple(mine.predicted))

    @property
    def twin(self) -> Mistake | None:
        """The mistake that gives the same sizes as the answer; None if there is none."""
        return None if self.answer is None else _twin_of(self.answer)

    @property
    def asking(self) -> bool:
        """Whether the current hole is still hidden."""
        return self.hole is not None and not self.predictions.is_right(self.hole)

    def takes(self, char: str) -> bool:
        """Return whether a character is input for an open question."""
        if self.opening:
            return char.lower() in YES_NO
        has_names = self.answer is not None and not all_known(self.answer.input)
        return self.hole is not None and char.isprintable() and (has_names or char not in "?/q")

    def type(self, char: str) -> None:
        """Type a character into the current hole.

        The validity question takes yes or no instead.
        """
        if self.opening:
            if char.lower() in YES_NO:
                self.say_whether(YES_NO[char.lower()])
            return
        self._in_use = self.hole
        if self.hole is not None:
            self.predictions.type(self.hole, char)

    def enter(self) -> None:
        """Go on after a correct prediction; otherwise show one more hint."""
        if self.hole is not None and self.asking:
            self.predictions.enter(self.hole)
        elif self._asked_now:
            self.choose(None)
        elif not self.opening:
            self.step(1)

    def choose(self, dim: Hole | None) -> None:
        """Toggle the highlight of a dim of the flow."""
        self.chosen, self._in_use = None if dim == self.chosen else dim, None

    def choose_beside(self, key: str) -> None:
        """Highlight the dim in the direction of an arrow key."""
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
        """Move the cursor of the grid.

        It carries into the next row at the end of an axis.
        """
        shape = journey_of(self.answer).points[0].shape if self.answer else ()
        axis_offset, direction = ARROWS[key]
        if len(shape) < -axis_offset:
            return
        cursor = list(self.cursor or (0,) * len(shape))
        for axis in range(len(shape) + axis_offset, -1, -1):
            cursor[axis] += direction
            if 0 <= cursor[axis] < shape[axis]:
                self.cursor = tuple(cursor)
                return
            cursor[axis] %= shape[axis]

    @property
    def fix(self) -> Fix | None:
        """The fix that makes the request valid, or valid for every batch, or None."""
        return self.result.fix[1]

    def question_with_fix(self) -> Question:
        """Return the question with the fix applied."""
        (index, fix), answer = self.result.fix, self.result.answer
        if fix is None or answer is None:
            return self.question
        if self.question.is_chain:
            pieces = split(self.question.texts["stages"], "|")
            pieces[index] = f" {stage_line(apply(answer.traces[index].request, fix))} "
            return self.question.with_text("stages", "|".join(pieces).strip())
        if fix.name in self.question.fields:
            return self.question.with_text(fix.name, "" if fix.value is None else str(fix.value))
        return self.question.with_setting(fix.name, fix.value)

    def works(self, action: str) -> bool:
        """Return whether an action has an effect now."""
        return action not in NEEDED or NEEDED[action](self)

    def offers(self, action: str) -> bool:
        """Return whether an action is available and reveals no hidden answer."""
        is_revealing = action in TELLING or (action == "film" and self.opening)
        return self.works(action) and not (is_revealing and self.hides)


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
"""The conditions of actions; other actions are always available."""
TELLING = ("grid", "compare", "equiv", "simplify", "code", "save", "mistake")
"""The actions that reveal the answer."""


def first_difference(before: Trace | Chain, after: Trace | Chain) -> int:
    """Return the first step that differs between answers to one request.

    >>> import shapecalc as sc
    >>> copied, literal = (sc.reshape((0, 3), (0, -1), dialect="openvino", special_zero=on) for on in (True, False))
    >>> first_difference(copied, literal)
    0
    """
    for index, (ours, theirs) in enumerate(zip(before.steps, after.steps, strict=False)):
        if (ours.rule, ours.out, ours.value) != (theirs.rule, theirs.out, theirs.value):
            return index
    return min(len(before.steps), len(after.steps))
