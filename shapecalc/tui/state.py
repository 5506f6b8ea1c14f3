"""What the main screen is about: a question, its answer, and the place in it. Nothing here draws."""

from __future__ import annotations

from math import prod

from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.asking.command_line import split, stage_line
from shapecalc.core.fixing.fixes import Fix, apply, fixes
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.tui.question import Outcome, Question, answer_question
from shapecalc.view.grid import journey_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ARROWS: Mapping[str, tuple[int, int]] = {"left": (-1, -1), "right": (-1, 1), "up": (-2, -1), "down": (-2, 1)}
"""The input axis that an arrow key moves along, counted from the back, and which way."""


class State:
    """A question that is being explored.

    >>> from shapecalc.tui.question import FIRST
    >>> state = State(FIRST)
    >>> state.go(5)
    >>> state.at, state.good.steps[5].rule, state.works("step(1)"), state.works("fix")
    (5, 'infer', True, False)
    """

    def __init__(self, question: Question, step: int | None = None) -> None:
        """Ask the question, and stand at one of its steps; past the last if none is given."""
        self.question = question
        self.outcome: Outcome = answer_question(question)
        self.good: Trace | Chain | None = self.outcome.answer
        """The last answer there was. It stays while what is typed has no answer."""
        self.at = self.last if step is None else max(0, min(step, self.last))
        self.chosen: tuple[int, int] | None = None
        """The dim of the flow that is lit up, by column and index."""
        self.gridded = False
        self._fix: tuple[Outcome, int, Fix | None] | None = None
        """What was asked, and the fix that was found for it, with the number of the op that it changes."""
        self.cursor: tuple[int, ...] | None = None
        """The element that the grid follows, by its index in the input."""

    @property
    def last(self) -> int:
        """The place past the last step: the output, or where it failed."""
        return len(self.good.steps) if self.good else 0

    @property
    def settled(self) -> bool:
        """Whether the whole answer is shown."""
        return self.at >= self.last and not (self.good and self.good.problem)

    def ask(self, question: Question, focused: str | None = None) -> None:
        """Ask another question, and stay at the same step if it has that many; go to the problem if it has one."""
        at_end = self.at >= self.last
        self.question, self.outcome = question, answer_question(question, focused)
        if self.outcome.answer is None or self.outcome.answer == self.good:
            return
        self.good, self.chosen, self.cursor = self.outcome.answer, None, None
        self.gridded = self.gridded and self.has_elements
        self.at = self.last if at_end or self.good.problem else min(self.at, self.last)

    def go(self, at: int) -> None:
        """Stand at a step."""
        self.at, self.gridded = max(0, min(at, self.last)), False

    def choose(self, dim: tuple[int, int]) -> None:
        """Light up a dim of the flow; none if it was lit already."""
        self.chosen = None if dim == self.chosen else dim

    @property
    def has_elements(self) -> bool:
        """Whether there are elements to show at every stage."""
        if self.good is None:
            return False
        try:
            return prod(journey_of(self.good).points[0].shape) > 0
        except ShapeError:
            return False

    def move(self, key: str) -> None:
        """Move the cursor of the grid; past the end of the last axis it goes on in the next row."""
        shape = journey_of(self.good).points[0].shape if self.good else ()
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
        return self._found_fix()[1]

    def _found_fix(self) -> tuple[int, Fix | None]:
        """Return the number of the op that the fix changes, and the fix. It is looked for once."""
        if self._fix is None or self._fix[0] is not self.outcome:
            answer = self.outcome.answer
            traces = [*enumerate(answer.traces)] if answer is not None else []
            if answer is not None and answer.problem:
                traces = traces[-1:]
            found = ((at, fix) for at, trace in traces for fix in fixes(trace))
            self._fix = self.outcome, *next(found, (0, None))
        return self._fix[1:]

    def question_with_fix(self) -> Question:
        """Return the question with the fix applied."""
        (at, fix), answer = self._found_fix(), self.outcome.answer
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
        if action in ("step(1)", "last"):
            return self.at < self.last
        if action in ("step(-1)", "first"):
            return self.at > 0
        if action == "fix":
            return self.fix is not None
        if action == "compare":
            return not self.question.is_chain and self.outcome.answer is not None
        if action in ("against", "simplify"):
            return self.outcome.answer is not None
        if action in ("film", "save"):
            return self.good is not None
        if action == "grid":
            return self.has_elements
        if action == "code":
            return self.good is not None and self.good.output is not None
        return True


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
