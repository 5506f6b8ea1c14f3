"""A run of exercises: one after the other, each kind as soon again as its answers ask for.

What was missed comes back soon, what was known later each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom
from types import MappingProxyType

from shapecalc.core.text import visible
from shapecalc.teaching import judging
from shapecalc.teaching.exercises import Exercise, exercise, kinds_of
from shapecalc.teaching.judging import Judgement

GAPS = (2, 4, 8, 16, 32)
"""How many exercises later a kind comes back, by its box: each right answer moves it a box on, a miss to the first."""
ALIKE = 2
"""How many exercises of a kind may differ in their sizes alone."""
TRIES = 30
"""How many other requests are drawn in place of one that differs from those before in its sizes alone."""
MOST_SEED = 10**6
"""A seed that nobody names is a number below this one, so that it can be copied by hand."""


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of how well somebody knows a kind."""

    box: int
    due: int
    """The number of the exercise from which on it is to come again."""


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

    def __init__(self, topics: str, seed: str, boxes: Mapping[str, int] = MappingProxyType({})) -> None:
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
    >>> from shapecalc.teaching.judging import Task
    >>> judge_exercise(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 2,-1")), "2,6").said
    'it is 2,12: -1 is 24 elements (2*3*4) / 2 known = 12 [infer]'
    >>> judge_exercise(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 0,-1")), "").said
    'it is 2,12: the 0 at index 0 copies dim 0, which is 2; -1 = 24 / 2 = 12 [infer]'
    """
    answer = judging.answer_line(asked.task.question)
    rule = answer.problem.rule if answer.problem else asked.kind.rule
    if not typed.strip():
        said = "refused" if answer.output is None else judging.prediction_text(answer.output)
        return Judgement(False, visible(f"it is {said}: {judging.account(answer)} [{rule}]"))
    if problem := judging.unread(asked.task, typed):
        return Judgement(False, f"{problem}; {judging.correction(asked.task, answer, rule)}")
    prediction = judging.read_prediction(typed)
    if prediction == judging.prediction_of(asked.task, answer):
        return Judgement(True, "")
    mistake = judging.mistake_in(asked.task, answer, prediction)
    said = judging.correction(asked.task, answer, rule, prediction)
    return Judgement(False, f"{mistake.said}; {said}" if mistake else said)


def exercises(topics: str, seed: str, count: int) -> Iterator[Exercise]:
    """Yield the exercises of a run in which all answers are right.

    Raises `ShapeError` (usage) if there is no such topic.
    """
    drill = Drill(topics, seed)
    for _ in range(count):
        yield drill.exercise
        drill.mark(right=True)


def next_name(names: Sequence[str], cards: Mapping[str, Card], number: int) -> str:
    """Return the name that exercise `number` is about.

    That is the one that is due longest; if none is due, the first that has never come; if all have, the next due.

    >>> cards = {"copied": Card(1, 4), "inferred": Card(0, 3)}
    >>> [next_name(["copied", "inferred", "literal"], cards, number) for number in (2, 3)]
    ['literal', 'inferred']
    """
    known = sorted((name for name in names if name in cards), key=lambda name: cards[name].due)
    if known and cards[known[0]].due <= number:
        return known[0]
    return next((name for name in names if name not in cards), known[0] if known else names[0])


def card_after(card: Card | None, number: int, *, right: bool) -> Card:
    """Return the card of a kind after exercise `number` about it.

    >>> card_after(Card(2, 5), 7, right=True), card_after(Card(2, 5), 7, right=False)
    (Card(box=3, due=23), Card(box=0, due=9))
    """
    box = min((card.box if card else 0) + 1, len(GAPS) - 1) if right else 0
    return Card(box, number + GAPS[box])


def cards_of(boxes: Mapping[str, int]) -> dict[str, Card]:
    """Return the cards to begin with, of boxes that were kept: what was missed last comes at once.

    >>> cards_of({"copied": 0, "literal": 2})
    {'copied': Card(box=0, due=0), 'literal': Card(box=2, due=8)}
    """
    kept = {name: max(0, min(box, len(GAPS) - 1)) for name, box in boxes.items()}
    return {name: Card(box, GAPS[box] if box else 0) for name, box in kept.items()}
