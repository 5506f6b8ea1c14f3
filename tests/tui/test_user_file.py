"""What the app remembers from one time to the next, and that a visitor's app remembers nothing."""

from __future__ import annotations

import json

import pytest

from shapecalc.tui.app import LARGEST, LONGEST_QUESTION, MOST_QUESTIONS, NOWHERE, UserFile, app_file
from shapecalc.tui.themes import opening_theme

LINE = "shapecalc reshape 2,3 6"


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", "null", "[" * 100_000, " " * LARGEST + "{}", "\udcff"),
        *('{"theme": 5, "questions": {"a": 1}}', '{"theme": "nope", "questions": [1, null]}'),
    ],
    ids=lambda content: content[:20],
)
def test_user_file_with_foreign_content_is_ignored(content):
    app_file().parent.mkdir(parents=True)
    app_file().write_text(content, errors="surrogateescape")
    kept = UserFile()
    assert kept.questions == ()
    assert opening_theme(kept.theme, colour=True) == "shapecalc"
    kept.keep_theme("dark")
    assert json.loads(app_file().read_text()) == {"theme": "dark", "questions": []}


def test_user_file_keeps_recent_questions_once():
    first, second = UserFile(), UserFile()
    first.add_question(LINE)
    for number in range(MOST_QUESTIONS):
        second.add_question(f"shapecalc reshape {number} -1")
    first.add_question("x" * (LONGEST_QUESTION + 1))
    first.add_question(LINE)
    kept = UserFile().questions
    assert len(kept) == MOST_QUESTIONS
    assert kept[:2] == (LINE, f"shapecalc reshape {MOST_QUESTIONS - 1} -1")
    assert len({*kept}) == MOST_QUESTIONS


def test_served_app_does_not_use_the_user_file():
    UserFile().add_question(LINE)
    UserFile().keep_theme("light")
    visitor = UserFile(NOWHERE)
    assert (visitor.theme, visitor.questions) == ("", ())
    visitor.keep_theme("dark")
    visitor.add_question("shapecalc flatten 2,3")
    assert (visitor.theme, visitor.questions) == ("dark", ("shapecalc flatten 2,3",))
    assert (UserFile().theme, UserFile().questions) == ("light", (LINE,))
