"""Exercises: random requests to predict, by topic and of rising difficulty. Their answers are the resolver's."""

from __future__ import annotations

from random import Random

from shapecalc.core.lookup import lookup
from shapecalc.core.ops.transpose import MovedAxes, TakenAxis
from shapecalc.core.record import Record
from shapecalc.core.rules import (
    BELOW_MINUS_ONE,
    INDIVISIBLE,
    NEGATIVE_AXIS,
    NEGATIVE_SIZE,
    NOT_A_PERMUTATION,
    NOT_BROADCASTABLE,
    TWO_INFERS,
    VOLUME_MISMATCH,
    ZERO_BESIDE_INFER,
    ZERO_OUT_OF_RANGE,
    ZERO_VOLUME_INFER,
    CopiedZero,
    Inferred,
    InferredEmpty,
    KeptDim,
    LiteralZero,
    NewDim,
    Stretched,
)
from shapecalc.teaching import draws
from shapecalc.teaching.draws import Level
from shapecalc.teaching.tasks import Task
from shapecalc.teaching.topics import ALL, TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.problem import Rule

LEVELS = (Level(2, 6), Level(3, 7), Level(3, 9), Level(4, 9), Level(4, 12))
"""How hard the exercises of each level are, from 1."""


class Kind(Record):
    """One kind of exercise."""

    name: str
    topic: str
    since: int
    """The level at which it is first asked."""
    rule: Rule
    """The rule that acts in it."""
    draw: Callable[[Random, Level], str]


class Exercise(Record):
    """One request to predict."""

    kind: Kind
    level: int
    task: Task


KINDS = {
    kind.name: kind
    for kind in (
        Kind("copied", "zero", 1, CopiedZero.rule, draws.copied),
        Kind("from-the-left", "zero", 1, CopiedZero.rule, draws.copied_from_the_left),
        Kind("out-of-range", "zero", 2, ZERO_OUT_OF_RANGE, draws.copied_from_nowhere),
        Kind("copied-too-much", "zero", 2, VOLUME_MISMATCH, draws.copied_too_much),
        Kind("literal", "zero", 3, LiteralZero.rule, draws.literal_zero),
        Kind("literal-beside-infer", "zero", 4, ZERO_BESIDE_INFER, draws.literal_zero_beside_infer),
        Kind("inferred", "infer", 1, Inferred.rule, draws.inferred),
        Kind("indivisible", "infer", 1, INDIVISIBLE, draws.indivisible),
        Kind("two-holes", "infer", 2, TWO_INFERS, draws.two_inferred),
        Kind("beside-copies", "infer", 2, Inferred.rule, draws.inferred_beside_copies),
        Kind("below-minus-one", "infer", 3, BELOW_MINUS_ONE, draws.below_minus_one),
        Kind("with-names", "infer", 4, Inferred.rule, draws.inferred_with_names),
        Kind("of-nothing", "infer", 4, ZERO_VOLUME_INFER, draws.inferred_of_nothing),
        Kind("of-nothing-in-openvino", "infer", 5, InferredEmpty.rule, draws.inferred_empty),
        Kind("swapped", "perm", 1, TakenAxis.rule, draws.swapped),
        Kind("cycled", "perm", 1, TakenAxis.rule, draws.cycled),
        Kind("reversed", "perm", 2, MovedAxes.rule, draws.reversed_axes),
        Kind("no-permutation", "perm", 2, NOT_A_PERMUTATION, draws.no_permutation),
        Kind("negative", "perm", 3, TakenAxis.rule, draws.negative_axes),
        Kind("negative-in-onnx", "perm", 4, NEGATIVE_AXIS, draws.refused_axes),
        Kind("two-transposes", "perm", 4, TakenAxis.rule, draws.two_transposes),
        Kind("shuffled", "shuffle", 1, CopiedZero.rule, draws.shuffled),
        Kind("shuffled-to-numbers", "shuffle", 1, TakenAxis.rule, draws.shuffled_to_numbers),
        Kind("shuffled-second", "shuffle", 2, TakenAxis.rule, draws.shuffled_second),
        Kind("shuffled-twice", "shuffle", 3, Inferred.rule, draws.shuffled_twice),
        Kind("shuffled-unevenly", "shuffle", 3, INDIVISIBLE, draws.shuffled_unevenly),
        Kind("shuffled-literally", "shuffle", 4, ZERO_BESIDE_INFER, draws.shuffled_literally),
        Kind("stretched", "broadcast", 1, Stretched.rule, draws.stretched),
        Kind("new-dims", "broadcast", 1, NewDim.rule, draws.new_dims),
        Kind("no-broadcast", "broadcast", 2, NOT_BROADCASTABLE, draws.no_broadcast),
        Kind("both-ways", "broadcast", 2, Stretched.rule, draws.both_ways),
        Kind("one-way", "broadcast", 3, NOT_BROADCASTABLE, draws.one_way),
        Kind("kept-by-minus-one", "broadcast", 3, KeptDim.rule, draws.kept_by_minus_one),
        Kind("negative-size", "broadcast", 4, NEGATIVE_SIZE, draws.negative_size),
    )
}
"""Every kind by name; those of a topic in the order in which they are first asked."""


def kinds_of(topics: str) -> tuple[Kind, ...]:
    """Return the kinds of topics with blanks or commas between them, the easiest first.

    Raises `ShapeError` (usage) if there is no such topic.

    >>> [kind.name for kind in kinds_of("zero,perm")][:3]
    ['copied', 'from-the-left', 'swapped']
    """
    names = topics.replace(",", " ").split() or [topics]
    for name in names:
        lookup(name, dict.fromkeys(TOPICS), "topic")
    kinds = (kind for kind in KINDS.values() if ALL in names or kind.topic in names)
    return tuple(sorted(kinds, key=lambda kind: kind.since))


def exercise(kind: Kind, level: int, seed: str) -> Exercise:
    """Return an exercise of a kind, not below the level at which that is first asked: the same for the same seed.

    >>> exercise(KINDS["inferred"], 1, "monday").task.question == exercise(KINDS["inferred"], 1, "monday").task.question
    True
    """
    level = max(kind.since, min(level, len(LEVELS)))
    return Exercise(kind, level, Task(kind.draw(Random(seed), LEVELS[level - 1])))
