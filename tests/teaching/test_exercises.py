"""The exercises: what is drawn is what its kind says, harder from level to level, the same for the same seed."""

from __future__ import annotations

from math import prod
from re import findall

import pytest

from shapecalc.core.answers import moves_of
from shapecalc.core.layout import input_index
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.rules import REFUSALS, STEP_RULES
from shapecalc.render.pictures import draw_request
from shapecalc.teaching import ALL, BUILD, FORMATS, TOPICS
from shapecalc.teaching.exercises import (
    DIFFICULTIES,
    FORMATTERS,
    KINDS,
    REVIEW_INTERVALS,
    Drill,
    draw_exercise,
    draw_exercises,
    judge_exercise,
    kinds_of_topics,
    load_puzzles,
)
from shapecalc.teaching.judging import answer_line, correct_prediction, graded_hints, prediction_text
from shapecalc.teaching.lessons import reveals_answer
from tests.sampling import each_row, some_and_rest
from tests.tui.tables import table

each_kind = each_row("kind", KINDS.values())
SEEDS = [str(number) for number in range(40)]
OF_TOPICS = {
    "zero": {"copy-zero", "zero-out-of-range", "volume-mismatch", "literal-zero", "zero-beside-infer"},
    "infer": {"infer", "indivisible", "two-infers", "below-minus-one", "zero-volume-infer"},
    "perm": {"permute", "not-a-permutation", "negative-axis"},
    "shuffle": {"permute", "copy-zero", "infer", "indivisible"},
    "broadcast": {"stretch", "new-dim", "not-broadcastable", "keep-dim", "negative-size"},
    "operands": {
        *("align", "contract", "from-operand", "end-to-end", "slide", "sum-label"),
        *("not-broadcastable", "inner-differs", "dims-differ", "window-too-large"),
    },
}
"""The rules of each topic, written down apart from the table."""


def rules_in(answer):
    return {step.rule for step in answer.steps} | ({answer.problem.rule} if answer.problem else set())


@each_kind
@pytest.mark.parametrize("seeds", some_and_rest(SEEDS, 5))
def test_exercise_rule_acts_in_every_draw(kind, seeds):
    for level in range(1, len(DIFFICULTIES) + 1):
        for seed in seeds:
            asked = draw_exercise(kind, level, seed)
            answer = answer_line(asked.task.question)
            assert kind.rule in rules_in(answer), asked.task.question
            assert answer.problem is None or answer.problem.rule == kind.rule, asked.task.question


@pytest.mark.parametrize("topic", OF_TOPICS)
def test_exercise_topics_have_exactly_their_rules(topic):
    assert {kind.rule for kind in kinds_of_topics(topic)} == OF_TOPICS[topic]
    asked = draw_exercises(topic, "x", 3 * len(kinds_of_topics(topic)))
    assert {each.kind.rule for each in asked} == OF_TOPICS[topic]


def test_exercise_rules_are_explained_by_why():
    explained = {*REFUSALS, *STEP_RULES, *(rule for op in OPS.values() for rule in op.rules)}
    assert {kind.rule for kind in KINDS.values()} <= explained


def test_exercise_topic_all_has_every_kind_easiest_first():
    assert {*kinds_of_topics(ALL)} == {*KINDS.values()}
    for topic in TOPICS:
        levels = [kind.first_level for kind in kinds_of_topics(topic)]
        assert levels == sorted(levels)
        assert levels[0] == 1


def test_exercise_unknown_topic_lists_known_ones():
    with pytest.raises(ShapeError, match="there is no topic 'zeros' \\(did you mean zero\\?\\)"):
        kinds_of_topics("zeros")


def test_drill_help_names_topics_and_formats():
    assert (*dict.fromkeys(kind.topic for kind in KINDS.values()), BUILD, ALL) == TOPICS
    assert tuple(FORMATTERS) == FORMATS


def test_exercise_levels_rise():
    assert [(level.rank, level.largest_dim) for level in DIFFICULTIES] == sorted(
        (level.rank, level.largest_dim) for level in DIFFICULTIES
    )
    means = [
        sum(prod(answer_line(draw_exercise(KINDS["swapped"], level, seed).task.question).input) for seed in SEEDS)
        for level in range(1, len(DIFFICULTIES) + 1)
    ]
    assert means == sorted(means)


@each_kind
def test_exercise_seed_is_reproducible(kind):
    drawn = [draw_exercise(kind, 5, seed).task.question for seed in SEEDS]
    assert drawn == [draw_exercise(kind, 5, seed).task.question for seed in SEEDS]
    assert len({*drawn}) > len(SEEDS) // 4


@each_kind
def test_exercise_hints_do_not_reveal_the_answer(kind):
    for seed in SEEDS[:8]:
        task = draw_exercise(kind, 3, seed).task
        right = prediction_text(correct_prediction(task))
        helps, picture = graded_hints(task, answer_line(task.question)), draw_request(answer_line(task.question)).plain
        assert len(helps) == 3, "their number alone would say that it is refused"
        assert [said for said in helps if reveals_answer(said, right) or "refused" in said] == []
        assert "_" in picture
        assert not {*"✗?"} & {*picture}


@each_kind
def test_exercise_judges_right_and_wrong_answers(kind):
    for seed in SEEDS[:8]:
        asked = draw_exercise(kind, 2, seed)
        right = prediction_text(correct_prediction(asked.task))
        assert judge_exercise(asked, f" {right} ").right
        for typed in ("", "7,7,7", "error" if right != "error" else "2", "2,,"):
            found = judge_exercise(asked, typed)
            assert not found.right
            assert ("it is refused: " if right == "error" else f"it is {right}: ") in found.said
            assert found.said.endswith("]")


PUZZLES = {each.puzzle: draw_exercise(each, 1, "x") for each in load_puzzles()}


@each_row("asked", PUZZLES.values())
def test_puzzle_solution_has_at_most_three_ops(asked):
    answer, solution = answer_line(asked.task.question), asked.task.question.split("'")[1]
    assert (len(answer.traces) <= 3, answer.problem, answer.conditions) == (True, None, ())
    for typed in (solution, solution.partition("|")[2]):
        assert judge_exercise(asked, typed).right
    if listed := findall(r"\d+", asked.task.puzzle.partition(" give")[2]):
        assert [input_index(moves_of(answer), place) for place in range(len(listed))] == [*map(int, listed)]
    assert not judge_exercise(asked, "reshape -1 | flip 0").right
    assert solution.partition("|")[2] not in " ".join([asked.task.text, *graded_hints(asked.task, answer)])


@each_row(("words", "typed", "said"), table("built", "teaching"))
def test_puzzle_accepts_any_right_chain(words, typed, said):
    found = judge_exercise(PUZZLES[words], typed)
    assert (found.right, found.said[: len(said)]) == (not said, said)


def test_puzzles_follow_each_other_apart_from_predictions():
    assert [each.task.puzzle for each in draw_exercises(BUILD, "x", len(PUZZLES))] == [*PUZZLES]
    assert len(PUZZLES) == 30
    assert not {each.topic for each in kinds_of_topics(ALL)} & {BUILD}


def questions(drill, count, right):
    asked = []
    for number in range(count):
        asked.append(drill.exercise)
        drill.mark(right=right(number, drill.exercise))
    return asked


def test_worksheets_of_one_seed_are_equal():
    one, other = (questions(Drill("perm", "monday", boxes), 30, lambda *_: True) for boxes in ({}, {}))
    assert one == other == [*draw_exercises("perm", "monday", 30)]
    assert one != questions(Drill("perm", "tuesday"), 30, lambda *_: True)


@pytest.mark.parametrize(("topics", "of"), [(ALL, [*OF_TOPICS]), ("perm, zero", ["zero", "perm"])])
def test_exercise_topics_take_turns(topics, of):
    assert [each.kind.topic for each in draw_exercises(topics, "x", 2 * len(of) + 1)] == [*of, *of, of[0]]


def test_exercise_draw_is_independent_of_other_misses():
    def of_kind(asked):
        return [each.task.question for each in asked if each.kind.name == "inferred"][:1]

    flawless = questions(Drill("infer", "x"), 20, lambda *_: True)
    careless = questions(Drill("infer", "x"), 20, lambda number, _: number % 2)
    assert of_kind(flawless) == of_kind(careless)
    assert flawless != careless


def test_exercise_missed_kind_returns_sooner():
    def gap(right):
        asked = questions(Drill("all", "x"), 20, lambda number, _: number > 0 or right)
        return next(number for number, each in enumerate(asked[1:], 1) if each.kind == asked[0].kind)

    assert (gap(right=False), gap(right=True)) == (REVIEW_INTERVALS[0], REVIEW_INTERVALS[1])


def test_exercise_kinds_missed_last_time_come_first():
    boxes = {"copied": 3, "literal": 0, "inferred": 0}
    assert Drill("zero", "x", boxes).exercise.kind.name == "literal"


def test_exercise_known_kind_gets_harder():
    asked = questions(Drill("perm", "x"), 60, lambda *_: True)
    levels = [each.level for each in asked if each.kind.name == "swapped"]
    assert levels == sorted(levels)
    assert levels[0] == 1
    assert levels[-1] > 3


def test_exercise_score_counts():
    drill = Drill("zero", "x")
    for right in (True, True, False, True):
        drill.mark(right=right)
    assert str(drill) == "3 of 4 right, streak 1"
