"""Questions, steps and status texts, without a screen."""

from __future__ import annotations

import numpy as np
import pytest

from shapecalc.core import requests
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import UP_TO_12, Operator, Param, ParamType
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.text import split_outside_brackets
from shapecalc.tui import explore_text
from shapecalc.tui.question import (
    DialectRow,
    find_invalid_text,
    question_command,
    question_from_words,
    resolve_question,
)
from shapecalc.tui.question_dialogs import dialect_rows, matching_row_index
from shapecalc.tui.state import ExploreState
from shapecalc.tui.widgets import KEYS, format_key_line
from tests.sampling import each_row
from tests.tui.driven import SHUFFLE
from tests.tui.tables import table

SHUFFLE_QUESTION = question_from_words(SHUFFLE)

LINES = [line for (line,) in table("lines")]


@pytest.mark.parametrize("line", LINES)
def test_state_equals_its_command_line(line):
    question = question_from_words(split_outside_brackets(line)[1:])
    assert question_command(question, resolve_question(question).answer) == line
    assert question_command(question, None) == line


@pytest.mark.parametrize("line", LINES)
def test_state_keeps_texts_while_ops_change(line):
    question = question_from_words(split_outside_brackets(line)[1:])
    changed = question
    for op in (*OPS, "chain", question.op):
        changed = changed.with_op(op)
        resolve_question(changed)
    assert {name: changed.texts[name] for name in question.texts} == dict(question.texts)


@each_row("dialect", DIALECTS)
def test_state_drops_switches_of_other_dialects(dialect):
    for op in operators_of(DIALECTS[dialect]):
        question = (
            question_from_words(["reshape", "2,3", "6", "--allowzero"]).with_op(op).with_setting("dialect", dialect)
        )
        problem = resolve_question(question).problem
        assert problem is None or "has no" not in problem.message


@each_row(("text", "is_half"), table("typed"))
def test_state_distinguishes_incomplete_from_wrong_text(text, is_half):
    question = SHUFFLE_QUESTION.with_op("reshape").with_text("target", text)
    result = resolve_question(question, "target")
    assert (result.is_incomplete, result.problem is None) == (is_half == "half", False)
    assert not resolve_question(question).is_incomplete


def test_state_carets_mark_the_wrong_field():
    question = question_from_words(["reshape", "2,3,4", "5,-1"])
    assert find_invalid_text(question, resolve_question(question)) == ("target", 2, 4)


@pytest.mark.parametrize(("text", "marked"), table("carets"))
def test_state_chain_carets_mark_the_token_or_stage(text, marked):
    question = question_from_words(["chain", text])
    name, start, stop = find_invalid_text(question, resolve_question(question))
    assert question.texts[name][start:stop] == marked


@each_row(("line", "said"), table("sentences"))
def test_state_notes_belong_to_their_stages(line, said):
    state = ExploreState(question_from_words(split_outside_brackets(line)))
    assert "\n".join(text.plain for text in explore_text.answer_lines(state, 78)).endswith(said)
    assert bool(said) or len(explore_text.answer_lines(state, 78)) == 1


@pytest.mark.parametrize("words", [["reshap", "2", "2"], ["reshape", "2", "2", "2"], ["chain", "a", "b"], ["foo"]])
def test_state_refuses_empty_questions(words):
    with pytest.raises(ShapeError):
        question_from_words(words)


def test_state_keeps_the_last_answer_while_text_is_invalid():
    state = ExploreState(SHUFFLE_QUESTION)
    previous = state.answer
    state.change_question(SHUFFLE_QUESTION.with_text("input", "2,3,4x"), "input")
    assert state.answer is previous
    assert state.result.answer is None
    assert not state.is_available("compare")


def test_state_removes_the_last_answer_for_another_question():
    state = ExploreState(SHUFFLE_QUESTION)
    state.change_question(SHUFFLE_QUESTION.with_text("input", ""))
    assert state.answer is None
    assert explore_text.map_text(state, 78, 18).plain.startswith("for example")


def test_state_stays_past_the_last_step():
    state = ExploreState(SHUFFLE_QUESTION)
    state.change_question(SHUFFLE_QUESTION.with_text("to", "-1"))
    assert state.is_complete
    state.go_to_step(2)
    state.change_question(SHUFFLE_QUESTION.with_text("to", "2,-1"))
    assert state.current_step == 2


def test_state_step_stops_at_a_refusal():
    state = ExploreState(SHUFFLE_QUESTION, 0)
    state.change_question(SHUFFLE_QUESTION.with_text("to", "5,-1"))
    assert state.current_step == state.end_step
    assert not state.is_complete


@pytest.mark.parametrize(("keys", "cursor"), table("moves"))
def test_state_grid_cursor_moves_by_rows_and_stops_at_corners(keys, cursor):
    state = ExploreState(question_from_words(["transpose", "2,3"]))
    for key in keys.split():
        state.move_cursor(key)
    assert str(state.cursor) == cursor


@pytest.mark.parametrize("width", [20, 40, 58, 78, 198])
def test_state_title_keeps_the_answer_and_its_width(width):
    for words in ("reshape 2,3,4 5,-1", "shuffle 2,3,4 --to 0,-1", "reshape N,C,H,W 0,-1,64"):
        question = question_from_words(split_outside_brackets(words))
        text = explore_text.title_text(question, resolve_question(question), width)
        assert text.cell_len == width
        assert width < 40 or "refused: indivisible" in text.plain or "answer " in text.plain


def test_state_footer_shows_as_many_keys_as_fit():
    actions = frozenset(key.action for key in KEYS)
    for width in range(10, 200, 7):
        assert format_key_line(actions, width).cell_len <= width
    assert format_key_line(actions, 300).plain.count("  ") == len(KEYS) - 1
    assert len({key.name for key in KEYS}) == len({key.priority for key in KEYS}) == len(KEYS)


def test_state_dialect_names_are_case_insensitive():
    assert question_from_words(["reshape", "2,3", "6", "--dialect", "NumPy"]).dialect == "numpy"
    with pytest.raises(ShapeError, match="there is no dialect 'numpi'"):
        question_from_words(["reshape", "2,3", "6", "--dialect", "numpi"])


def test_state_omits_default_dialect_and_settings():
    question = question_from_words(
        ["reshape", "2,3", "6", "--dialect", "openvino", "--special-zero", "--dtype", "float32"]
    )
    assert question.with_setting("dialect", "onnx").settings == {"dtype": "float32"}
    assert question.with_op("shuffle").settings == {"dtype": "float32"}


def test_state_words_can_be_typed_letter_by_letter(monkeypatch):
    mode = Param("mode", ParamType.CHOICE, "which order", choices=("DCR", "CRD"))
    monkeypatch.setitem(OPS.loaded, "squeeze", replace(OPS["squeeze"], params=(mode,)))
    question = question_from_words(["squeeze", "1,3", "--mode", "d"])
    assert question.fields == ("input", "mode")
    assert question.texts["mode"] == "d"
    assert resolve_question(question, "mode").is_incomplete
    assert not resolve_question(question).is_incomplete
    assert not resolve_question(question.with_text("mode", "x"), "mode").is_incomplete


@pytest.mark.parametrize("dialect", ["torch", "onnx"])
def test_state_missing_argument_is_not_a_field(monkeypatch, dialect):
    lacking = {
        "torch": Operator("squeeze", params_since={"axes": None}),
        "onnx": Operator("Squeeze", {11: UP_TO_12}, params_since={"axes": 13}),
    }
    monkeypatch.setattr(requests, "_setting_cache", {})
    monkeypatch.setitem(OPS.loaded, "squeeze", replace(OPS["squeeze"], operators=lacking))
    monkeypatch.setitem(DIALECTS.loaded, "torch", replace(DIALECTS["torch"], operators={}))
    if dialect == "torch":
        with pytest.raises(ShapeError, match="usage: torch squeeze has no axes"):
            make_request("squeeze", "1,3", {"axes": "0", "dialect": dialect})
    else:
        problem = resolve(make_request("squeeze", "1,3", {"axes": "0", "dialect": dialect})).problem
        assert str(problem) == "no-such-attribute: axes exists since Squeeze 13, and this is Squeeze 11"
    question = question_from_words(["squeeze", "1,3", "--dialect", dialect])
    assert question.fields == (("input", "axes") if dialect == "onnx" else ("input",))


def test_state_field_beside_a_file_may_be_incomplete(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    question = question_from_words(["reshape", str(tmp_path / "x.npy"), "0,-"])
    assert resolve_question(question, "target").is_incomplete
    assert resolve_question(question.with_text("target", "0,-1"), "target").answer.output == (2, 3)


@pytest.mark.parametrize(("words", "index"), table("compared"))
def test_state_comparison_starts_at_the_question(words, index):
    question = question_from_words(split_outside_brackets(words))
    rows = dialect_rows(question)
    assert matching_row_index(rows, DialectRow(question, "", resolve_question(question))) == int(index)
    assert "--no-allowzero" not in question_command(rows[0].question, None)


def test_state_default_setting_is_valid_in_old_opsets():
    first, second, *_ = dialect_rows(question_from_words(split_outside_brackets("reshape 2,3 6 --opset 5")))
    assert (first.answer_text, second.answer_text) == ("6", "refused: no-such-attribute")


def _answer_text(words, step, *, omits_repetition):
    state = ExploreState(question_from_words(words))
    state.go_to_step(step)
    lines = explore_text.answer_lines(state, 100, omits_repetition=omits_repetition)
    return "\n".join(line.plain for line in lines)


def test_state_sentence_of_a_stage_is_not_beside_the_answer_of_the_chain():
    words = ("shuffle", "2,3,4", "--first", "1,2,0", "--to", "0,-1", "--second", "1,0")
    assert "dim 0 is" not in _answer_text(words, 0, omits_repetition=True)
    assert "stage 1: dim 0 is input dim 1" in _answer_text(words, 0, omits_repetition=False)
    assert "stage" not in _answer_text(("transpose", "2,3,4", "1,2,0"), 0, omits_repetition=False)


def test_state_comparison_lists_answers_before_refusals_and_counts_the_rest():
    rows = dialect_rows(question_from_words(["reshape", "2,3,4", "0,-1"]))
    lines = explore_text.comparison_lines(rows, 100)
    verbs = [line.plain.split()[1].rstrip("s") for line in lines]
    assert verbs == sorted(verbs), "answer before refuse"
    assert len(lines) > 3
    assert explore_text.limit_comparison(lines, 3)[-1].plain == f"and {len(lines) - 2} more answers: c"
    assert explore_text.limit_comparison(lines, len(lines) - 1)[-1].plain == "and 2 more answers: c"
    assert explore_text.limit_comparison(lines, len(lines)) == lines


def test_state_picture_of_a_join_and_its_title_name_the_joined_axis():
    state = ExploreState(question_from_words(["concat", "2,3,4", "2,5,4", "--axis", "1"]))
    state.go_to_step(state.end_step)
    assert explore_text.step_panel_title(state) == "Why · axis 1"
    drawn = explore_text.step_text(state, 78, 12)
    assert {drawn.plain[span.start : span.end].strip() for span in drawn.spans if span.style == "bold"} == {
        *("3", "5", "8")
    }


UNAVAILABLE = (
    (["chain", "2,3 | reshape 6"], "compare", "frameworks are compared for one operation"),
    (["transpose", "0,3", "1,0"], "elements", "the tensor has no elements"),
    (["reshape", "2,3", "5"], "code", "there is no tensor to compute"),
    (["reshape", "2,3", "6"], "fix", "no fix is suggested"),
    (["reshape", "2,3", "6"], "undo", "nothing was changed yet"),
)


@pytest.mark.parametrize(("words", "action", "reason"), UNAVAILABLE)
def test_state_unavailable_action_has_a_reason(words, action, reason):
    assert ExploreState(question_from_words(words)).unavailable_reason(action).startswith(reason)


def test_state_every_key_without_effect_has_a_reason_or_moves_a_step():
    states = [ExploreState(question_from_words(words)) for words, _, _ in UNAVAILABLE]
    idle = {key.action for state in states for key in KEYS if not state.is_available(key.action)}
    unexplained = {
        action
        for action in idle
        if any(not s.is_available(action) and not s.unavailable_reason(action) for s in states)
    }
    assert unexplained <= {"step(1)", "step(-1)", "go(0)", "go(-1)", "dim('up')", "dim('down')"}
    assert {"compare", "fix"} <= idle


@pytest.mark.parametrize("words", [[name] for name in (*OPS, "chain")])
def test_state_without_an_answer_describes_every_field(words):
    state = ExploreState(question_from_words(words))
    assert state.answer is None
    described = explore_text.step_text(state, 90, 60).plain
    assert [name for name in state.question.fields if f"\n{name} " not in f"\n{described}"] == []
    assert words[0] in explore_text.map_text(state, 90, 20).plain or state.question.is_chain
