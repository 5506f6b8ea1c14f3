"""The user file stores settings and questions; a served app stores nothing."""

from __future__ import annotations

import json

import pytest

from shapecalc.tui.app import MAX_FILE_SIZE, MAX_QUESTION_LENGTH, MAX_QUESTIONS, NO_FILE, UserFile, default_user_file
from shapecalc.tui.themes import initial_theme
from shapecalc.tui.widgets import parse_settings
from tests.tui.driven import driven

LINE = "shapecalc reshape 2,3 6"


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", "null", "[" * 100_000, " " * MAX_FILE_SIZE + "{}", "\udcff"),
        *('{"theme": 5, "questions": {"a": 1}}', '{"theme": "nope", "questions": [1, null]}'),
    ],
    ids=lambda content: content[:20],
)
def test_user_file_with_foreign_content_is_ignored(content):
    default_user_file().parent.mkdir(parents=True)
    default_user_file().write_text(content, errors="surrogateescape")
    user_file = UserFile()
    assert user_file.questions == ()
    assert initial_theme(user_file.theme, has_colour=True) == "shapecalc"
    user_file.store_theme("dark")
    assert json.loads(default_user_file().read_text()) == {"theme": "dark", "questions": []}


def test_user_file_keeps_recent_questions_once():
    first, second = UserFile(), UserFile()
    first.add_question(LINE)
    for number in range(MAX_QUESTIONS):
        second.add_question(f"shapecalc reshape {number} -1")
    first.add_question("x" * (MAX_QUESTION_LENGTH + 1))
    first.add_question(LINE)
    questions = UserFile().questions
    assert len(questions) == MAX_QUESTIONS
    assert questions[:2] == (LINE, f"shapecalc reshape {MAX_QUESTIONS - 1} -1")
    assert len({*questions}) == MAX_QUESTIONS


def test_served_app_does_not_use_the_user_file():
    UserFile().add_question(LINE)
    UserFile().store_theme("light")
    visitor = UserFile(NO_FILE)
    assert (visitor.theme, visitor.questions) == ("", ())
    visitor.store_theme("dark")
    visitor.add_question("shapecalc flatten 2,3")
    assert (visitor.theme, visitor.questions) == ("dark", ("shapecalc flatten 2,3",))
    assert (UserFile().theme, UserFile().questions) == ("light", (LINE,))


SETTINGS = parse_settings({"theme": "light", "keys": {"edit": "ctrl+e", "tint": "x"}}, "config.toml")


@driven("reshape", "2,3,4", "0,-1", **SETTINGS)
async def test_user_config_sets_the_theme_and_the_keys(user):
    assert user.theme == "light"
    await user.press("e")
    assert user.focus is None
    await user.press("ctrl+e")
    assert user.focus == "field-input"
    await user.press("escape")
    assert "^E edit" in user.keys
    await user.press("?")
    assert "^E" in user.text
    assert UserFile().theme == ""


@driven(home=True, **SETTINGS)
async def test_user_config_sets_the_keys_of_the_start_screen_and_dialogs(user):
    await user.press("escape")
    assert user.focus is None
    assert "^E type" in user.keys
    await user.press("ctrl+e")
    assert user.focus == "held"


QUIT = parse_settings({"keys": {"quit": "x", "keys": "k"}}, "config.toml")


@driven("reshape", "2,3,4", "0,-1", **QUIT)
async def test_user_config_sets_the_keys_of_dialogs(user):
    await user.press(":compare", "q")
    assert user.screen == "CompareDialog"
    await user.press("x", "k")
    assert user.screen == "HelpDialog"
