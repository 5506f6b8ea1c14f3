"""A run of exercises: one after the other, each kind as soon again as its answers ask for."""

from __future__ import annotations

from collections import Counter
from random import SystemRandom

from shapecalc.core.record import FrozenDict
from shapecalc.core.text import visible
from shapecalc.teaching.exercises import Exercise, exercise, kinds_of
from shapecalc.teaching.judging import Judgement, account, correction, mistake, unread
from shapecalc.teaching.schedule import card_after, cards_of, next_name
from shapecalc.teaching.tasks import answer_line, prediction_of, prediction_text, read_prediction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NO_BOXES: FrozenDict = FrozenDict()
ALIKE = 2
"""How many exercises of a kind may differ in their sizes alone."""
TRIES = 30
"""How many other requests are drawn in place of one that differs from those before in its sizes alone."""
MOST_SEED = 10**6
"""A seed that nobody names is a number below this one, so that it can be copied by hand."""


def new_seed() -> str:
    """Return a seed that nobody can foresee."""
    return str(SystemRandom().randrange(MOST_SEED))


class Drill:
    """A run of exercises of some topics. Two runs with the same seed and the same answers are the same.

    What a kind asks when it comes for the nth time does not depend on the answers.

    >>> drill = Drill("infer", "monday")
    >>> first = drill.exercise
    >>> drill.mark(right=False)
    0
    >>> drill.exercise == first, drill.answered, drill.right
    (False, 1, 0)
    """

    def __init__(self, topics: str, seed: str, boxes: Mapping[str, int] = NO_BOXES) -> None:
        """Begin with the first exercise. `boxes` say how well the kinds are known.

        Raises `ShapeError` (usage) if there is no such topic.
        """
        self._kinds = {kind.name: kind for kind in kinds_of(topics)}
        self._cards = {name: card for name, card in cards_of(boxes).items() if name in self._kinds}
        self._times = dict.fromkeys(self._kinds, 0)
        self._forms = {name: Counter[str]() for name in self._kinds}
        self._seed = seed
        self.answered = self.right = self.streak = 0
        self.exercise = self._next()

    def _next(self) -> Exercise:
        kind = self._kinds[next_name([*self._kinds], self._cards, self.answered)]
        card = self._cards.get(kind.name)
        self._times[kind.name] += 1
        level = kind.since + (card.box if card else 0)
        seed = f"{self._seed}/{kind.name}/{self._times[kind.name]}"
        asked, forms = exercise(kind, level, seed), self._forms[kind.name]
        if forms[asked.task.form] >= ALIKE:
            others = (exercise(kind, level + number // 10, f"{seed}/{number}") for number in range(TRIES))
            asked = min((asked, *others), key=lambda each: forms[each.task.form])
        forms[asked.task.form] += 1
        return asked

    def mark(self, *, right: bool) -> int:
        """Note how the exercise was answered and go on to the next; return the box that its kind is in now."""
        name = self.exercise.kind.name
        card = self._cards[name] = card_after(self._cards.get(name), self.answered, right=right)
        self.answered += 1
        self.right += right
        self.streak = self.streak + 1 if right else 0
        self.exercise = self._next()
        return card.box

    def __str__(self) -> str:
        return f"{self.right} of {self.answered} right, streak {self.streak}"


def judge_exercise(asked: Exercise, typed: str) -> Judgement:
    """Say whether an answer is right; if it is not, name the mistake and the rule, and show the arithmetic.

    An answer that cannot be read is not right. An empty one is not, either: it asks for the answer, and gets what each
    dim comes from.

    >>> from shapecalc.teaching.exercises import KINDS
    >>> from shapecalc.teaching.tasks import Task
    >>> judge_exercise(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 2,-1")), "2,6").said
    'it is 2,12: -1 is 24 elements (2*3*4) / 2 known = 12 [infer]'
    >>> judge_exercise(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 0,-1")), "").said
    'it is 2,12: the 0 at index 0 copies dim 0, which is 2; -1 = 24 / 2 = 12 [infer]'
    """
    answer, rule = answer_line(asked.task.question), asked.kind.rule
    if not typed.strip():
        said = "refused" if answer.output is None else prediction_text(answer.output)
        return Judgement(
            False, visible(f"it is {said}: {account(answer)} [{answer.problem.rule if answer.problem else rule}]")
        )
    if problem := unread(asked.task, typed):
        return Judgement(False, f"{problem}; {correction(asked.task, answer, rule)}")
    prediction = read_prediction(typed)
    if prediction == prediction_of(asked.task, answer):
        return Judgement(True, "")
    named = mistake(asked.task, answer, prediction)
    said = correction(asked.task, answer, rule, prediction)
    return Judgement(False, f"{named}; {said}" if named else said)


def exercises(topics: str, seed: str, count: int) -> Iterator[Exercise]:
    """Yield the exercises of a run in which all answers are right.

    Raises `ShapeError` (usage) if there is no such topic.
    """
    drill = Drill(topics, seed)
    for _ in range(count):
        yield drill.exercise
        drill.mark(right=True)
