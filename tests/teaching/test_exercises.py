"""Check exercises: each matches its kind, levels get harder, and seeds are reproducible."""

from __future__ import annotations

from html import unescape
from math import prod
from re import DOTALL, findall, split

import pytest

from shapecalc.core.answers import to_move_chain
from shapecalc.core.layout import input_index
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.rules import REFUSALS, STEP_RULES
from shapecalc.render.pictures import draw_request
from shapecalc.teaching import ALL, BUILD, FORMATS, TOPICS
from shapecalc.teaching.exercises import (
    DIFFICULTIES,
    DRAW_INSTRUCTION,
    FORMATTERS,
    KINDS,
    REVIEW_INTERVALS,
    Drill,
    generate_exercise,
    generate_exercises,
    judge_answer,
    load_puzzles,
    make_worksheet,
    select_kinds,
    worksheet_html,
)
from shapecalc.teaching.judging import correct_prediction, graded_hints, prediction_text, resolve_command_line
from shapecalc.teaching.lessons import reveals_answer
from tests.sampling import each_row, some_and_rest
from tests.tui.tables import table

each_kind = each_row("kind", KINDS.values())
SEEDS = [str(number) for number in range(40)]
RULES_OF_TOPICS = {
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
"""The rules of each topic, independent of the table in the package."""


def rules_of_answer(answer):
    return {step.rule for step in answer.steps} | ({answer.problem.rule} if answer.problem else set())


@each_kind
@pytest.mark.parametrize("seeds", some_and_rest(SEEDS, 5))
def test_exercise_rule_acts_in_every_draw(kind, seeds):
    for level in range(1, len(DIFFICULTIES) + 1):
        for seed in seeds:
            exercise = generate_exercise(kind, level, seed)
            answer = resolve_command_line(exercise.task.question)
            assert kind.rule in rules_of_answer(answer), exercise.task.question
            assert answer.problem is None or answer.problem.rule == kind.rule, exercise.task.question


@pytest.mark.parametrize("topic", RULES_OF_TOPICS)
def test_exercise_topics_have_exactly_their_rules(topic):
    assert {kind.rule for kind in select_kinds(topic)} == RULES_OF_TOPICS[topic]
    exercises = generate_exercises(topic, "x", 3 * len(select_kinds(topic)))
    assert {exercise.kind.rule for exercise in exercises} == RULES_OF_TOPICS[topic]


def test_exercise_rules_are_explained_by_why():
    explained = {*REFUSALS, *STEP_RULES, *(rule for op in OPS.values() for rule in op.rules)}
    assert {kind.rule for kind in KINDS.values()} <= explained


def test_exercise_topic_all_has_every_kind_easiest_first():
    assert {*select_kinds(ALL)} == {*KINDS.values()}
    for topic in TOPICS:
        levels = [kind.first_level for kind in select_kinds(topic)]
        assert levels == sorted(levels)
        assert levels[0] == 1


def test_exercise_unknown_topic_lists_known_ones():
    with pytest.raises(ShapeError, match="there is no topic 'zeros' \\(did you mean zero\\?\\)"):
        select_kinds("zeros")


def test_drill_help_names_topics_and_formats():
    assert (*dict.fromkeys(kind.topic for kind in KINDS.values()), BUILD, ALL) == TOPICS
    assert tuple(FORMATTERS) == FORMATS


def test_exercise_levels_rise():
    assert [(level.rank, level.largest_dim) for level in DIFFICULTIES] == sorted(
        (level.rank, level.largest_dim) for level in DIFFICULTIES
    )
    means = [
        sum(
            prod(resolve_command_line(generate_exercise(KINDS["swapped"], level, seed).task.question).input)
            for seed in SEEDS
        )
        for level in range(1, len(DIFFICULTIES) + 1)
    ]
    assert means == sorted(means)


@each_kind
def test_exercise_seed_is_reproducible(kind):
    questions = [generate_exercise(kind, 5, seed).task.question for seed in SEEDS]
    assert questions == [generate_exercise(kind, 5, seed).task.question for seed in SEEDS]
    assert len({*questions}) > len(SEEDS) // 4


@each_kind
def test_exercise_hints_do_not_reveal_the_answer(kind):
    for seed in SEEDS[:8]:
        task = generate_exercise(kind, 3, seed).task
        right = prediction_text(correct_prediction(task))
        hints, picture = (
            graded_hints(task, resolve_command_line(task.question)),
            draw_request(resolve_command_line(task.question)).plain,
        )
        assert len(hints) == 3, "another number of hints would reveal a refusal"
        assert [hint for hint in hints if reveals_answer(hint, right) or "refused" in hint] == []
        assert "_" in picture
        assert not {*"✗?"} & {*picture}


@each_kind
def test_exercise_judges_right_and_wrong_answers(kind):
    for seed in SEEDS[:8]:
        exercise = generate_exercise(kind, 2, seed)
        right = prediction_text(correct_prediction(exercise.task))
        assert judge_answer(exercise, f" {right} ").right
        for typed in ("", "7,7,7", "error" if right != "error" else "2", "2,,"):
            judgement = judge_answer(exercise, typed)
            assert not judgement.right
            assert judgement.solution.startswith("it is refused: " if right == "error" else f"it is {right}: ")
            assert judgement.solution.endswith("]")
            assert judgement.lines == [*filter(None, [judgement.feedback, judgement.solution])]


PUZZLES = {kind.puzzle: generate_exercise(kind, 1, "x") for kind in load_puzzles()}


@each_row("puzzle", PUZZLES.values())
def test_puzzle_solution_has_at_most_three_ops(puzzle):
    answer, solution = resolve_command_line(puzzle.task.question), puzzle.task.question.split("'")[1]
    assert (len(answer.traces) <= 3, answer.problem, answer.conditions) == (True, None, ())
    for typed in (solution, solution.partition("|")[2]):
        assert judge_answer(puzzle, typed).right
    if indices := findall(r"\d+", puzzle.task.puzzle.partition(" give")[2]):
        assert [input_index(to_move_chain(answer), index) for index in range(len(indices))] == [*map(int, indices)]
    assert not judge_answer(puzzle, "reshape -1 | flip 0").right
    assert solution.partition("|")[2] not in " ".join([puzzle.task.text, *graded_hints(puzzle.task, answer)])


@each_row(("name", "typed", "feedback"), table("built", "teaching"))
def test_puzzle_accepts_any_right_chain(name, typed, feedback):
    judgement = judge_answer(PUZZLES[name], typed)
    assert (judgement.right, judgement.feedback[: len(feedback)]) == (not feedback, feedback)
    assert judgement.solution[:10] == ("one way is" if feedback else "")


def test_puzzles_follow_each_other_apart_from_predictions():
    assert [exercise.task.puzzle for exercise in generate_exercises(BUILD, "x", len(PUZZLES))] == [*PUZZLES]
    assert len(PUZZLES) == 30
    assert not {exercise.topic for exercise in select_kinds(ALL)} & {BUILD}


def play_drill(drill, count, right):
    exercises = []
    for number in range(count):
        exercises.append(drill.exercise)
        drill.record_answer(right=right(number, drill.exercise))
    return exercises


def test_worksheets_of_one_seed_are_equal():
    one, other = (play_drill(Drill("perm", "monday", boxes), 30, lambda *_: True) for boxes in ({}, {}))
    assert one == other == [*generate_exercises("perm", "monday", 30)]
    assert one != play_drill(Drill("perm", "tuesday"), 30, lambda *_: True)


@pytest.mark.parametrize(("topics", "expected"), [(ALL, [*RULES_OF_TOPICS]), ("perm, zero", ["zero", "perm"])])
def test_exercise_topics_take_turns(topics, expected):
    assert [exercise.kind.topic for exercise in generate_exercises(topics, "x", 2 * len(expected) + 1)] == [
        *expected,
        *expected,
        expected[0],
    ]


def test_exercise_draw_is_independent_of_other_misses():
    def first_inferred(exercises):
        return [exercise.task.question for exercise in exercises if exercise.kind.name == "inferred"][:1]

    flawless = play_drill(Drill("infer", "x"), 20, lambda *_: True)
    careless = play_drill(Drill("infer", "x"), 20, lambda number, _: number % 2)
    assert first_inferred(flawless) == first_inferred(careless)
    assert flawless != careless


def test_exercise_missed_kind_returns_sooner():
    def gap(right):
        exercises = play_drill(Drill("all", "x"), 20, lambda number, _: number > 0 or right)
        return next(number for number, exercise in enumerate(exercises[1:], 1) if exercise.kind == exercises[0].kind)

    assert (gap(right=False), gap(right=True)) == (REVIEW_INTERVALS[0], REVIEW_INTERVALS[1])


def test_exercise_kinds_missed_last_time_come_first():
    boxes = {"copied": 3, "literal": 0, "inferred": 0}
    assert Drill("zero", "x", boxes).exercise.kind.name == "literal"


def test_exercise_known_kind_gets_harder():
    exercises = play_drill(Drill("perm", "x"), 60, lambda *_: True)
    levels = [exercise.level for exercise in exercises if exercise.kind.name == "swapped"]
    assert levels == sorted(levels)
    assert levels[0] == 1
    assert levels[-1] > 3


def test_exercise_score_counts():
    drill = Drill("zero", "x")
    for right in (True, True, False, True):
        drill.record_answer(right=right)
    assert str(drill) == "3 of 4 right, streak 1"


def invert(perm):
    """Return the inverse of a permutation."""
    return [perm.index(axis) for axis in range(len(perm))]


def learner_answer(mistake, exercise):
    """Return whether a scripted learner with a mistake answers an exercise correctly."""
    question = exercise.task.question
    match mistake:
        case "all wrong":
            return False
        case "inverse permutations":
            perms = findall(r"\b\d(?:,\d)+\b", question)[1:] if exercise.kind.topic in ("perm", "shuffle") else []
            axes = [[*map(int, perm.split(","))] for perm in perms]
            return all(sorted(perm) != [*range(len(perm))] or invert(perm) == perm for perm in axes)
        case "counts from 1":
            return exercise.kind.topic != "zero"
        case "-1 is a size":
            return "-1" not in question
    raise ValueError(mistake)


@pytest.mark.parametrize("mistake", ["all wrong", "inverse permutations", "counts from 1", "-1 is a size"])
@pytest.mark.parametrize("seed", ["monday", "tuesday", "x"])
def test_drill_of_all_topics_locks_no_learner_in_a_topic(mistake, seed):
    exercises = play_drill(Drill("all", seed), 40, lambda _, exercise: learner_answer(mistake, exercise))
    topics = [exercise.kind.topic for exercise in exercises]
    assert not [
        topic for topic, second, third in zip(topics, topics[1:], topics[2:], strict=False) if topic == second == third
    ]
    assert mistake != "all wrong" or len({*topics[:20]}) >= 5


def test_drill_level_waits_for_a_right_answer_of_the_level_before():
    exercises = play_drill(Drill("perm", "x"), 20, lambda *_: False)
    assert {exercise.kind.first_level for exercise in exercises} == {1}


def test_worksheet_drawings_ask_which_dim_a_place_fetches_and_hide_the_answer():
    exercises = [
        generate_exercise(KINDS[name], 3, "x") for name in ("cycled", "inferred", "indivisible", "no-permutation")
    ]
    html = unescape(worksheet_html(make_worksheet(exercises, "perm infer", "x", with_answers=False)))
    assert "columns: 2" in html
    assert html.count(DRAW_INSTRUCTION) == 1
    drawings = findall(r"<svg.*?</svg>", html, DOTALL)
    assert len(drawings) == len(exercises)
    for exercise, drawing in zip(exercises, drawings, strict=True):
        trace = resolve_command_line(exercise.task.question)
        shown = "\n".join(findall(r">([^<]*)</text>", drawing))
        places = findall(r"• place (\d+)(?: fetches dim |: +)(-?\d+) +\[ +\]", shown)
        requested = split(r"[ ,]", exercise.task.question.split()[2])
        assert [int(place) for place, _ in places] == [*range(len(requested))]
        assert [token for _, token in places] == requested
        assert shown.count("dim") >= len(trace.input)
