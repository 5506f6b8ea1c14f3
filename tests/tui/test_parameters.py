"""Fields of parameters: flags and choices are typed as text, and dialect-specific fields follow the dialect."""

from __future__ import annotations

import pytest

from shapecalc.core.text import split_outside_brackets
from shapecalc.tui.dialogs import widget_help
from shapecalc.tui.question import question_command, question_from_words, resolve_question
from tests.invented_params import invented_params
from tests.tui.driven import driven

__all__ = ["invented_params"]

pytestmark = pytest.mark.usefixtures("invented_params")

LINES = [
    ("shapecalc squeeze 2,1,3 --reverse", {"reverse": "1"}, (3, 2)),
    ("shapecalc squeeze 2,1,3 --no-reverse", {"reverse": "0"}, (2, 3)),
    ("shapecalc squeeze 2,1,3 --mode tail --keep-one --dialect torch", {"mode": "tail", "keep_one": "1"}, (2, 3, 1)),
]


@pytest.mark.parametrize(("line", "texts", "output"), LINES)
def test_parameter_flags_and_words_are_field_texts(line, texts, output):
    question = question_from_words(split_outside_brackets(line)[1:])
    assert texts.items() <= dict(question.texts).items()
    assert question_command(question, None) == line
    answer = resolve_question(question).answer
    assert answer.output == output
    again = question_from_words(split_outside_brackets(question_command(question, answer))[1:])
    assert resolve_question(again).answer.output == output


def test_parameter_fields_follow_the_dialect():
    question = question_from_words(["squeeze", "2,1,3", "--keep-one", "--dialect", "torch"])
    assert question.fields == ("input", "axes", "reverse", "mode", "keep_one")
    other = question.with_setting("dialect", "numpy")
    assert other.fields == ("input", "axes", "reverse")
    assert resolve_question(other).answer.output == (2, 3)
    assert resolve_question(other.with_setting("dialect", "torch")).answer.output == (1, 2, 3)


def test_parameter_invalid_flag_is_reported_at_once():
    question = question_from_words(["squeeze", "2,1,3"]).with_text("reverse", "x")
    result = resolve_question(question, "reverse")
    assert result.problem.message == "reverse is 0 or 1, not 'x'"
    assert result.problem.argument == "reverse"
    assert not result.is_incomplete


def test_parameter_words_can_be_typed_letter_by_letter():
    question = question_from_words(["squeeze", "2,1,3", "--dialect", "torch"]).with_text("mode", "ta")
    assert resolve_question(question, "mode").is_incomplete
    assert not resolve_question(question.with_text("mode", "x"), "mode").is_incomplete


def test_parameter_help_lists_valid_texts():
    assert widget_help("field-reverse", "squeeze") == "reverse: reverse the order of the dims: 0 or 1"
    assert widget_help("field-mode", "squeeze") == "mode: torch: the position of the new dim: HEAD or TAIL"


@driven("squeeze", "2,1,3", "--dialect", "torch", size=(100, 30))
async def test_parameter_flag_field_follows_the_dialect(user):
    user.app.explore._can_compare_dialects = lambda: False  # other dialects lack the invented parameters
    await user.press("e", "tab", "tab", "1")
    assert "--reverse" in user.command
    assert "answer 3,2" in user.title
    await user.press("tab", *"TAIL", "tab", "1")
    assert "answer 1,3,2" in user.title
    assert "mode" in user.lines[1]
    assert "keep-one" in user.text.split("╰")[0]
    await user.app.explore.open_question(user.state.question.with_setting("dialect", "numpy"))
    await user.settle()
    assert "keep-one" not in user.text.split("╰")[0]
    assert "answer 3,2" in user.title
