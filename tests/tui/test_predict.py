"""Predicting in place: the holes, what is typed into them, the helps, and mistakes beside the truth."""

from __future__ import annotations

import asyncio
import re
from functools import partial

import pytest

from shapecalc.core.answers import Chain, Kind
from shapecalc.core.commands import split
from shapecalc.core.dims import all_known
from shapecalc.core.ops import OPS
from shapecalc.core.record import replace
from shapecalc.teaching.exercises import exercises
from shapecalc.tui import explore_text
from shapecalc.tui.app import ShapecalcApp, UserFile
from shapecalc.tui.question import Question, question_of
from shapecalc.tui.state import State
from shapecalc.tui.widgets import LEARNING
from shapecalc.view.layout import layouts
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(8)

COPIES = ("reshape", "2,2,3,2", "-1,0,0")
SHORT = ("reshape", "2,3,4", "0,-1")
learning = partial(driven, step=0, learns=True)


def state_of(line, said=True):
    state = State(question_of(split(line)), 0, learns=True)
    if said is not None:
        state.say_whether(said)
    return state


def typed(state, text):
    for char in text:
        state.type(char)


def screen(state, width=78):
    """Return all that the main screen says of an answer."""
    texts = (
        explore_text.title(state.question, state.result, width, explore_text.hidden_text(state)),
        explore_text.flow_text(state, width, 7),
        explore_text.rail_text(state, width),
        explore_text.picture_text(state, None, width, 12),
        explore_text.sentence(state, width),
    )
    return "\n".join(text.plain for text in texts)


# The two modes

MODES = [
    ((), "", True),
    ((), "work", False),
    (("reshape", "2,3", "-1"), "", False),
    (("reshape", "2,3", "-1"), "learn", True),
]


@pytest.mark.parametrize(("words", "kept", "learns"), MODES)
def test_it_learns_without_arguments_and_works_with_some_until_it_is_switched(words, kept, learns):
    if kept:
        UserFile().keep_mode(kept)
    for _ in range(2):
        assert ShapecalcApp(question_of(words), 0).explore.state.learns == learns
    assert not ShapecalcApp(question_of(words), None).explore.state.learns, "past the last step all is shown"


@driven(*SHORT, step=0, learns=None)
async def test_work_shows_everything_and_one_key_asks_and_is_remembered(user):
    assert user.title.endswith("answer 2,12")
    assert "F3 grid" in user.lines[-1]
    await user.press("ctrl+g")
    assert user.title.endswith("answer hidden")
    assert UserFile().mode == "learn"
    await user.press("y", "ctrl+g")
    assert user.title.endswith("1 of 1 right   answer 2,12")
    assert UserFile().mode == "work"


@learning(*SHORT, size=(200, 24))
async def test_learning_has_ten_keys_and_none_that_tells(user):
    assert len(LEARNING) == 10
    assert user.lines[-1].split()[:3] == ["y", "n", "answer"]
    await user.press("y")
    assert user.lines[-1].count("  ") == len(LEARNING) - 2, "nothing leads back from the first step"
    before = user.text
    for key in ("f3", "f4", "f8", "ctrl+l"):
        await user.press(key)
        assert user.app.screen is user.app.explore
    assert {said for _, said in user.notes} == {explore_text.WOULD_SHOW}
    user.app.clear_notifications()
    await user.settle()
    assert user.text == before


# Does this work?

ALIKE = [
    ("reshape 7,11,13 7,-1", "reshape 7,11,13 5,-1"),
    ("reshape 7,11,13 77,13", "reshape 7,11,13 78,13"),
    ("reshape 7,11,13 0,0,-1", "reshape 7,11,13 0,-1,-1"),
    ("transpose 7,11,13 1,2,0", "transpose 7,11,13 1,1,0"),
    ("squeeze 1,7,11 --axes 0", "squeeze 1,7,11 --axes 1"),
    ("expand 7,1 7,11", "expand 1,7 11,5"),
    ("shuffle 7,11,13 --first 1,0,2 --to 7,-1", "shuffle 7,11,13 --first 1,0,2 --to 5,-1"),
    (
        "chain '7,11,13 | transpose 1,0,2 | reshape 0,-1 | flatten'",
        "chain '7,11,13 | transpose 1,0,2 | reshape 5,-1 | flatten'",
    ),
]


@pytest.mark.parametrize(("works", "refused"), ALIKE)
@pytest.mark.parametrize("width", [58, 78, 118])
def test_a_refused_request_looks_like_any_other_until_it_is_answered(works, refused, width):
    screens = []
    for line in (works, refused):
        state, words = state_of(line, None), {*re.findall(r"[\w,-]+", works + " " + refused)}
        assert state.opening
        typing = {*re.findall(r"\d+", " ".join(words))}
        screens.append(re.sub(r"-?\b(" + "|".join(typing) + r")\b| +|─+|█+", " ", screen(state, width)).split())
        assert not {"refused", "stopped", "✗", "F6"} & {*re.findall(r"\w+|✗", screen(state, width))}
    assert screens[0] == screens[1]


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        ("shuffle 7,11,13 --first 1,0,2 --to 0,-1", ["reshape 0,-1", "dim out  transpose 1,0,2"]),
        ("shuffle 7,11,13 --to 0,-1 --second 1,0", ["transpose 1,0", "have   7 * 11 * 13"]),
        ("expand 1,3 4,1,3", ["expand 4,1,3", "target    4    1    3"]),
    ],
)
def test_all_stages_stand_over_the_picture_of_the_first(line, drawn):
    shown = screen(state_of(line, None))
    assert [text for text in drawn if text not in shown] == []


@learning("reshape", "2,3,4", "5,-1")
async def test_a_refusal_is_asked_for_and_counts(user):
    assert "Does this work?" in user.text
    await user.press("f6", "5", "x")
    assert user.title.endswith("elements   answer hidden")
    await user.press("n")
    assert user.title.endswith("1 of 1 right   refused: indivisible")
    assert "F6: write 4,-1" in user.text
    await user.press("f6")
    assert user.title.endswith("1 of 1 right   answer hidden")
    await user.press("n")
    assert "✗ it works, no rule forbids it" in user.text
    assert user.title.endswith("1 of 2 right   answer hidden")
    await user.press("6")
    assert user.title.endswith("2 of 3 right   answer 4,6")


@learning("reshape", "2,3,4", "5,-1")
async def test_a_refusal_that_is_only_shown_counts_as_asked(user):
    await user.press("pagedown")
    assert user.title.endswith("0 of 1 right   refused: indivisible")
    await user.press("pageup", "pagedown")
    assert user.title.endswith("0 of 1 right   refused: indivisible")


@learning("reshape", "2,3,4", "5,-1")
async def test_what_is_typed_in_a_field_is_asked_about_too(user):
    await user.press("shift+tab", "backspace", "7")
    assert user.title.endswith("answer hidden")
    assert "below-minus-one" not in user.text
    await user.type(",x!")
    assert user.title.endswith("cannot be read")
    assert "▲" in user.text


# The picture stands

HOLES = [
    ("reshape 2,3,4 0,-1", ["2", "pagedown"], f"have   2 * 3 * 4  {'█' * 24}\n known  2          ██\n -1"),
    ("reshape 2,2,3,2 -1,0,0", [], " 1  b 2       0 ── 1  [    ]"),
    ("transpose 2,3,4 1,2,0", [], " 0  a 2   ─── 0  [    ]"),
    ("flatten 2,3,4", [], "[    ] ├──────"),
]


@pytest.mark.parametrize(("line", "keys", "drawn"), HOLES)
def test_the_picture_stands_with_a_hole_that_takes_what_is_typed(line, keys, drawn):
    async def look(user):
        await user.press("y", *keys)
        assert drawn in user.text
        await user.press("9")
        assert user.text.count("[✗9  ]") == 2, "in the flow and in the picture"

    asyncio.run(using(look, *split(line), step=0, learns=True))


@pytest.mark.parametrize("line", [line for line, *_ in HOLES])
def test_few_lines_are_blank_while_it_asks(line):
    async def look(user):
        for keys in ([], ["y"]):
            await user.press(*keys)
            assert sum(not text.strip() for text in user.lines) <= 8, user.text

    asyncio.run(using(look, *split(line), step=0, learns=True))


@learning(*COPIES)
async def test_it_asks_and_one_line_says_what_to_type_and_what_the_keys_do(user):
    assert user.app.focused.id == "flow"
    await user.press("y")
    assert [line.count("[    ]") for line in user.lines if "[    ]" in line] == [1] * 6
    assert "1 of 3: what does the 0 at index 1 copy?" in user.text
    assert "Type the size for the lit hole; enter gives a hint, PgDn shows it." in user.text


@learning(*COPIES)
async def test_a_size_is_checked_as_it_is_typed(user):
    await user.press("y", "3")
    assert "[✗3  ]" in user.text
    assert "✗ 3 is dim 2\n" in user.text
    assert "1 of 2 right   answer hidden" in user.title
    await user.press("backspace", "2")
    assert "0 copies dim 1, counted from the left, which is 2  [copy-zero]" in user.text
    assert "1 of 2 right   answer hidden" in user.title
    await user.press("enter", "3")
    assert "2 of 3 right   answer hidden" in user.title
    await user.press("enter", "4")
    assert user.title.endswith("3 of 4 right   answer 4,2,3")


@learning(*COPIES)
async def test_a_size_that_is_typed_out_of_turn_leaves_the_others_hidden(user):
    await user.press("y", "up", "4")
    assert "[    ]" in user.text
    assert not re.search(r"1 +2  |which is 2|a(?:b| b) +4", user.text)


JUDGED = [
    ("reshape 2,3,4 0,-1", "1", False),
    ("reshape 2,3,4 0,-1", "12", False),
    ("reshape 2,3,4 0,-1", "120", True),
    ("reshape 2,3,4 0,-1", "012", False),
    ("reshape 2,3,4 0,-1", "7", True),
    ("reshape N,C,H,W 0,-1", "H*", False),
    ("reshape N,C,H,W 0,-1", "H", False),
    ("reshape N,C,H,W 0,-1", "H*C*W", False),
    ("reshape N,C,H,W 0,-1", "H\n", True),
    ("reshape 2,3,4 0,-1", "1\n", True),
]


@pytest.mark.parametrize(("line", "keys", "wrong"), JUDGED)
def test_nothing_is_wrong_that_another_character_could_make_right(line, keys, wrong):
    state = state_of(line)
    typed(state, str(state.predictions.cells[state.hole].dim))
    state.enter()
    for char in keys:
        state.enter() if char == "\n" else state.type(char)
    assert state.predictions.is_wrong((1, 1)) == wrong
    assert state.score.asked == 2 + (wrong or keys in ("12", "H*C*W", "012"))


@learning(*SHORT)
async def test_enter_helps_three_times_and_never_says_the_size(user):
    await user.press("y", "2", "enter")
    seen = []
    for _ in range(4):
        await user.press("enter")
        seen.append(user.text)
        assert not re.search(r"\b12\b", user.text.replace("F12", ""))
    assert "-1 is the element count divided by the product of the known dims" in seen[0]
    assert re.search(r"index\s+0\s+1\s+2\n input\s+2\s+3\s+4\n", seen[1])
    assert "-1 is 24 elements (2*3*4) / 2 known = ?" in seen[2]
    assert seen[3] == seen[2]


@learning(*SHORT)
async def test_page_down_shows_the_dim_and_then_goes_on(user):
    await user.press("y", "pagedown", "pagedown", "pagedown")
    assert "[2 of 3: solve -1]" in user.rail
    assert user.title.endswith("1 of 3 right   answer 2,12")
    await user.press("pagedown")
    assert "[3 of 3: regroup]" in user.rail
    await user.press("pageup")
    assert "24 / 2" in user.text


@learning("transpose", "2,3,4", "1,2,0")
async def test_a_help_that_has_no_room_is_its_first_line(user):
    await user.press("y", "4", "enter")
    assert "\n index 0 of 1,2,0 says which dim to take\n" in user.text
    assert " 2  c 4 " in user.text


@driven("transpose", "2,3", "1,0")
async def test_a_reshape_in_place_of_a_transpose_is_drawn_beside_it(user):
    await user.press("f3")
    assert "m mistake" in user.lines[-1]
    await user.press("m")
    assert "asked 3,2" in user.text
    assert "mistaken 3,2" in user.text
    assert "[3]" in user.text, "the transpose has element 3 where the reshape has 1"
    assert "[1]" in user.text
    assert "kept in their reading order, as a reshape does" in user.text
    await user.press("m")
    assert "mistaken" not in user.text
    await user.press("m", "pageup", "pagedown", "f3")
    assert "mistaken" not in user.text, "the grid is drawn alone again"


@driven("transpose", "40,50", "1,0", step=None)
async def test_a_large_mistake_says_what_is_left_out(user):
    await user.press("f3", "m")
    assert user.text.count(" of 50, columns 0-") == 2


@driven("squeeze", "1,3", step=None)
async def test_where_sizes_show_every_mistake_no_key_is_offered(user):
    await user.press("f3", "m")
    assert "mistake" not in user.text


@learning(*SHORT)
async def test_another_question_is_asked_anew_and_the_score_stays(user):
    await user.press("y", "2", "shift+tab", "shift+tab")
    await user.type("0")
    assert user.title.endswith("2 of 2 right   answer hidden")
    assert "Does this work?" in user.text


@learning()
async def test_arrow_keys_lead_to_other_holes_of_a_stage_and_a_click_does(user):
    await user.press("y", "down", "2")
    assert user.state.predictions.texts == {(1, 1): "2"}
    await user.press("right", "8")
    assert (2, 0) not in user.state.predictions.texts, "the dims before it are not known yet"
    await user.click("[✗8  ]", after=2)
    await user.press("backspace", "3")
    assert user.state.predictions.is_right((1, 0))


@pytest.mark.parametrize("text", ["x!", "\x1b", "[bold]", "漢", "9" * 100, "N*", "-1", "1,2"])
def test_whatever_is_typed_is_shown_safely(text):
    async def look(user):
        await user.hurry(*text)
        assert not {*"\x1b\x00\x07"} & {*user.text}
        assert all(len(line) <= 80 for line in user.lines)
        assert user.title.count("answer hidden")

    asyncio.run(using(look, *COPIES, step=0, learns=True))


@learning("reshape", "N,C,H,W", "0,-1")
async def test_a_name_is_typed_too(user):
    await user.press("y", "N", "enter")
    await user.type("H*C*W")
    assert user.title.endswith("answer N,C*H*W")


PRIMES = [
    ("reshape 7,11,13 0,-1", "143"),
    ("flatten 7,11,13", "143"),
    ("shuffle 7,11,13 --first 1,0,2 --to 0,-1", "91"),
    ("tile 7,11 3,2", "22"),
    ("rearrange 7,11,13 'a b c -> a (c b)'", "143"),
    ("split 7,22 --axis 1 --parts 2", "11"),
    ("chain '7,11,13 | transpose 1,0,2 | reshape 0,-1'", "91"),
    ("view 7,11,13 7,-1", "143"),
    ("chain '7,11,13 | reshape 0,-1 | flip 0'", "143"),
]


@pytest.mark.parametrize(("line", "size"), PRIMES)
def test_nothing_on_the_screen_gives_a_hidden_size_away(line, size):
    async def look(user):
        passed = 0
        while user.state.hides:
            assert size not in re.findall(r"\d+", user.text), user.text
            await user.press("pagedown")
            passed += 1
        assert passed > 1
        assert size in user.title

    asyncio.run(using(look, *split(line), step=0, learns=True))


def other(dim):
    """Return a size that is not that of a dim."""
    return 10_007 if dim is None else dim + 10_007


def altered(answer, hidden):
    """Return an answer with other sizes for its hidden dims, by stage and index."""
    column, traces = 0, []
    for trace in answer.traces:
        stages = []
        for stage in trace.stages:
            column += 1
            outs = {row for place, row in hidden if place == column}
            steps = tuple(
                replace(step, value=other(step.value)) if step.out in outs and isinstance(step.value, int) else step
                for step in stage.steps
            )
            after = tuple(other(dim) if row in outs else dim for row, dim in enumerate(stage.after))
            stages.append(replace(stage, steps=steps, after=after))
        traces.append(replace(trace, stages=tuple(stages), output=stages[-1].after, conditions=()))
    return Chain(tuple(traces)) if isinstance(answer, Chain) else traces[0]


def words_of(text):
    """Return what a text says, without the lengths of lines."""
    return re.sub(r"[\s─┄]+", " ", text).split()


@pytest.mark.parametrize("seed", range(40))
def test_no_number_that_is_asked_for_stands_anywhere_before_it_is_answered(seed):
    """Other sizes for what is hidden leave the screen as it is, and what is asked is nowhere said."""
    asked = 0
    for drawn in exercises("all", f"asks/{seed}", 4):
        state = state_of(drawn.task.question)
        if state.answer is None or state.answer.problem or not all_known(state.answer.input):
            continue
        while state.hides:
            hole, seen = state.hole, screen(state)
            if hole is not None and state.asking:
                asked += 1
                stage = layouts(state.answer)[hole[0] - 1].stage
                dim = state.predictions.cells[hole].dim
                assert stage.kind is Kind.PERMUTE or hole[1] >= len(stage.asked) or stage.asked[hole[1]] != dim
                truth, state.answer = state.answer, altered(state.answer, state.holes)
                state.predictions._made, cells = layouts(state.answer), state.predictions._made
                assert words_of(screen(state)) == words_of(seen), (drawn.task.question, hole)
                state.answer, state.predictions._made = truth, cells
            state.step(1)
    assert asked


@learning("transpose", "2,3,4", "1,2,0")
async def test_a_mistake_stands_beside_the_truth_once_that_is_shown(user):
    await user.press("y", "4")
    assert "Perm was read the other way: entry i names the dim that comes to place i, not" in user.text
    await user.press("down", "2", "down", "3")
    assert "asked 3,4,2" not in user.text
    assert user.title.endswith("answer hidden")
    await user.press(*["pagedown"] * 5)
    assert user.title.endswith("1 of 4 right   answer 3,4,2")
    assert "asked 3,4,2                mistaken 4,2,3" in user.text
    assert "12 is at [0,0,1]           4 is at [0,0,1]" in user.text
    assert "[12]" in user.text
    assert "[ 4]" in user.text


def test_a_wrong_size_that_no_mistake_gives_is_only_wrong():
    state = state_of("transpose 2,3,4 1,2,0")
    typed(state, "9")
    assert state.mistake is None
    assert state.predictions.is_wrong((1, 0))


def test_the_mistake_of_a_tensor_without_elements_is_named():
    state = state_of("reshape 3,0 0,0")
    typed(state, "0")
    state.choose((1, 1))
    typed(state, "7")
    assert state.mistake is None or state.mistake.kind


@learning("reshape", "7,11,13", "0,-1")
async def test_choosing_an_op_gives_nothing_away(user):
    await user.press("f2")
    assert user.text.count("answer hidden") == 2
    assert "143" not in user.text


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", OPS)
def test_every_example_can_be_predicted_from_the_first_step_to_the_last(op):
    for shape, arguments in OPS[op].vectors:
        question = Question(op, {"input": shape} | {name: str(value) for name, value in arguments.items()})
        state = State(question, 0, learns=True)
        for _ in range(100):
            assert all(len(line) <= 78 for line in screen(state).split("\n"))
            if state.opening:
                state.type("n" if state.result.problem else "y")
            if state.asking:
                typed(state, str(state.predictions.cells[state.hole].dim))
                assert state.predictions.is_right(state.hole)
            if state.at >= state.last:
                break
            state.enter()
        assert state.holes == ()
        assert 0 < state.score.right == state.score.asked


def test_a_tensor_of_many_dims_is_asked_about_too():
    ones = ",".join(["1"] * 10_000)
    state = state_of(f"squeeze {ones},7")
    assert state.hides
    typed(state, "6")
    assert (state.asking, state.mistake) == (True, None)
