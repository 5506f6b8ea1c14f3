"""Questions, the place in their answers, and what is said of them, without a screen."""

from __future__ import annotations

import numpy as np
import pytest

from shapecalc.core import ask as setting
from shapecalc.core.ask import ask
from shapecalc.core.commands import split
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import UP_TO_12, Holds, Operator, Param
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.resolve import resolve
from shapecalc.tui import explore_text
from shapecalc.tui.choose import Row, nearest, rows
from shapecalc.tui.question import FIRST, answer_question, caret, command, question_of
from shapecalc.tui.state import State
from shapecalc.tui.widgets import KEYS, keys_line

LINES = [
    "shapecalc reshape 2,3,4 0,-1",
    "shapecalc reshape N,4 2,6 --opset 13 --where N=3",
    "shapecalc reshape 0,3 0,-1 --dialect openvino --no-special-zero",
    "shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1 --second 1,0",
    "shapecalc shape 2,3,4 --start 1",
    "shapecalc depth_to_space 1,8,2,3 2 --mode CRD",
    "shapecalc view 3,4 3,2,2 --strides 1,3",
    "shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 0,-1'",
    "shapecalc chain '8,N | reshape 0,-1,2 --dialect torch' --where N=4",
]


@pytest.mark.parametrize("line", LINES)
def test_the_command_line_is_the_state(line):
    question = question_of(split(line)[1:])
    assert command(question, answer_question(question).answer) == line
    assert command(question, None) == line


@pytest.mark.parametrize("line", LINES)
def test_trying_every_op_and_going_back_loses_no_text(line):
    question = question_of(split(line)[1:])
    seen = question
    for op in (*OPS, "chain", question.op):
        seen = seen.with_op(op)
        answer_question(seen)
    assert {name: seen.texts[name] for name in question.texts} == dict(question.texts)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_dialect_is_asked_with_the_switch_of_another(dialect):
    for op in operators_of(DIALECTS[dialect]):
        question = question_of(["reshape", "2,3", "6", "--allowzero"]).with_op(op).with_setting("dialect", dialect)
        problem = answer_question(question).problem
        assert problem is None or "has no" not in problem.message


HALF = ["", "2,", "-", "2,-", "[2", "(2,3", "N*", "2,3/"]


@pytest.mark.parametrize("text", HALF)
def test_what_can_still_become_right_is_being_typed(text):
    assert answer_question(FIRST.with_op("reshape").with_text("target", text), "target").typing or text == ""
    assert not answer_question(FIRST.with_op("reshape").with_text("target", text)).typing


@pytest.mark.parametrize("text", ["2,x]", "2,,3", "--", "2;3", "[2)"])
def test_what_cannot_become_right_is_told_while_it_is_typed(text):
    result = answer_question(FIRST.with_op("reshape").with_text("target", text), "target")
    assert result.problem is not None
    assert not result.typing


def test_carets_are_of_the_field_that_is_wrong():
    question = question_of(["reshape", "2,3,4", "5,-1"])
    assert caret(question, answer_question(question)) == ("target", 2, 4)


CARETS = [
    ("2,3,4 | transpose 1,0,2 | reshape 5,-1", "-1"),
    ("2,3 | reshape '5, -1'", "-1"),
    ("2,3 | transpose | reshap 6 | flatten", "reshap 6"),
    ("2,3 | transpose 1,0 | reshape 2,,3", ","),
    ("5,3 | roll 1 1 | roll 9 9", "roll 9 9"),
    ("1,4,2,2 | reshape 4,4 | depth_to_space 2", "depth_to_space 2"),
    ("N,3|reshape  N,4 ", "N,4"),
    ("2,3 | reshape 'a", "reshape 'a"),
    ("2,3,x! | reshape 2,,3", "!"),
    ("2,3,x! | transpose", "!"),
]


@pytest.mark.parametrize(("text", "marked"), CARETS)
def test_carets_of_a_chain_are_of_the_token_or_of_its_stage(text, marked):
    question = question_of(["chain", text])
    name, start, stop = caret(question, answer_question(question))
    assert question.texts[name][start:stop] == marked


SENTENCES = [
    ("reshape 2,3 3,2", "Transpose moves axes. Reshape only moves the cuts."),
    ("flatten 2,3", "Transpose moves axes. Reshape only moves the cuts."),
    ("shape 2,3", "Shape returns the dims themselves."),
    ("squeeze 2,1", "Squeeze drops dims of 1."),
    ("expand 1,3 2,3", "Expand repeats dims of 1."),
    (
        "chain '2,1,3 | squeeze | transpose'",
        "Squeeze drops dims of 1. Transpose moves axes. Reshape only moves the cuts.",
    ),
]


@pytest.mark.parametrize(("line", "said"), SENTENCES)
def test_what_is_said_under_a_whole_answer_is_of_its_own_stages(line, said):
    assert explore_text.sentence(State(question_of(split(line))), 78).plain == said


def test_one_element_is_one_element():
    question = question_of(["reshape", "1", "1,1"])
    assert " 1 element   answer 1,1" in explore_text.title(question, answer_question(question), 78).plain


@pytest.mark.parametrize("words", [["reshap", "2", "2"], ["reshape", "2", "2", "2"], ["chain", "a", "b"], ["foo"]])
def test_what_asks_nothing_is_refused(words):
    with pytest.raises(ShapeError):
        question_of(words)


def test_the_last_answer_stays_while_what_is_typed_is_none():
    state = State(FIRST)
    good = state.answer
    state.ask(FIRST.with_text("input", "2,3,4x"), "input")
    assert state.answer is good
    assert state.result.answer is None
    assert not state.works("compare")


def test_one_stands_past_the_last_step_of_the_next_answer_too():
    state = State(FIRST)
    state.ask(FIRST.with_text("to", "-1"))
    assert state.settled
    state.go(2)
    state.ask(FIRST.with_text("to", "2,-1"))
    assert state.at == 2


def test_a_refusal_is_stood_at():
    state = State(FIRST, 0)
    state.ask(FIRST.with_text("to", "5,-1"))
    assert state.at == state.last
    assert not state.settled


MOVES = [
    ("right right right", (1, 0)),
    ("right right right left", (0, 2)),
    ("right right right right right right right", (1, 2)),
    ("down", (1, 0)),
    ("down down", (1, 0)),
    ("right down up", (0, 1)),
    ("left", None),
    ("up", None),
]


@pytest.mark.parametrize(("keys", "cursor"), MOVES)
def test_the_cursor_of_the_grid_goes_from_row_to_row_and_stops_at_the_corners(keys, cursor):
    state = State(question_of(["transpose", "2,3"]))
    for key in keys.split():
        state.move(key)
    assert state.cursor == cursor


@pytest.mark.parametrize("width", [20, 40, 58, 78, 198])
def test_the_title_keeps_the_answer_and_its_width(width):
    for words in ("reshape 2,3,4 5,-1", "shuffle 2,3,4 --to 0,-1", "reshape N,C,H,W 0,-1,64"):
        question = question_of(split(words))
        text = explore_text.title(question, answer_question(question), width)
        assert text.cell_len == width
        assert width < 40 or "refused: indivisible" in text.plain or "answer " in text.plain


def test_as_many_keys_are_told_of_as_fit():
    every = frozenset(key.action for key in KEYS)
    for width in range(10, 200, 7):
        assert keys_line(every, width).cell_len <= width
    assert keys_line(every, 300).plain.count("  ") == len(KEYS) - 1
    assert len({key.key for key in KEYS}) == len({key.rank for key in KEYS}) == len(KEYS)


def test_a_dialect_may_be_written_in_any_case_and_one_that_does_not_exist_is_refused():
    assert question_of(["reshape", "2,3", "6", "--dialect", "NumPy"]).dialect == "numpy"
    with pytest.raises(ShapeError, match="there is no dialect 'numpi'"):
        question_of(["reshape", "2,3", "6", "--dialect", "numpi"])


def test_the_default_dialect_and_settings_that_it_does_not_take_are_left_out():
    question = question_of(["reshape", "2,3", "6", "--dialect", "openvino", "--special-zero", "--dtype", "float32"])
    assert question.with_setting("dialect", "onnx").settings == {"dtype": "float32"}
    assert question.with_op("shuffle").settings == {"dtype": "float32"}


def test_a_word_that_an_op_takes_can_be_typed_letter_by_letter(monkeypatch):
    mode = Param("mode", Holds.WORD, "which order", words=("DCR", "CRD"))
    monkeypatch.setitem(OPS.found, "squeeze", replace(OPS["squeeze"], params=(mode,)))
    question = question_of(["squeeze", "1,3", "--mode", "d"])
    assert question.fields == ("input", "mode")
    assert question.texts["mode"] == "d"
    assert answer_question(question, "mode").typing
    assert not answer_question(question).typing
    assert not answer_question(question.with_text("mode", "x"), "mode").typing


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("torch", "no-such-attribute: squeeze has no axes"),
        ("onnx", "no-such-attribute: axes exists since Squeeze 13, and this is Squeeze 11"),
    ],
)
def test_what_an_operator_lacks_is_a_problem_and_what_it_never_has_is_no_field(monkeypatch, dialect, said):
    lacking = {
        "torch": Operator("squeeze", since={"axes": None}),
        "onnx": Operator("Squeeze", {11: UP_TO_12}, since={"axes": 13}),
    }
    monkeypatch.setattr(setting, "_known", {})
    monkeypatch.setitem(OPS.found, "squeeze", replace(OPS["squeeze"], operators=lacking))
    monkeypatch.setitem(setting.DIALECTS.found, "torch", replace(DIALECTS["torch"], operators={}))
    request = ask("squeeze", "1,3", {"axes": "0", "dialect": dialect})
    assert str(resolve(request).problem) == said
    question = question_of(["squeeze", "1,3", "--dialect", dialect])
    assert question.fields == (("input", "axes") if dialect == "onnx" else ("input",))


def test_a_field_beside_a_file_may_be_half_typed(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    question = question_of(["reshape", str(tmp_path / "x.npy"), "0,-"])
    assert answer_question(question, "target").typing
    assert answer_question(question.with_text("target", "0,-1"), "target").answer.output == (2, 3)


HERE = [
    ("reshape 0,3 0,-1", 0),
    ("reshape 0,3 0,-1 --allowzero", 1),
    ("reshape 0,3 0,-1 --no-allowzero", 0),
    ("reshape 2,3 6 --opset 5", 0),
    ("reshape 2,3 6 --dialect tensorrt", 2),
    ("reshape 2,3 6 --dialect tensorrt --zero-is-placeholder", 2),
    ("reshape 2,3 6 --dialect openvino --no-special-zero", 7),
    ("reshape 2,3 6 --dialect openvino", 6),
    ("reshape 2,3 6 --dialect torch", 9),
]


@pytest.mark.parametrize(("words", "place"), HERE)
def test_the_comparison_starts_at_the_question(words, place):
    question = question_of(split(words))
    listed = rows(question)
    assert nearest(listed, Row(question, "", answer_question(question))) == place
    assert "--no-allowzero" not in command(listed[0].question, None)


def test_a_default_setting_is_no_attribute_that_an_old_operator_lacks():
    first, second, *_ = rows(question_of(split("reshape 2,3 6 --opset 5")))
    assert (first.answer_text, second.answer_text) == ("6", "refused: no-such-attribute")
