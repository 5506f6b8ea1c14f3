"""What the app remembers from one time to the next, and that a visitor's app remembers nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

from shapecalc.tui.app import LARGEST, LONGEST_QUESTION, MOST_QUESTIONS, NOWHERE, UserFile, app_file
from shapecalc.tui.themes import THEMES
from tests.tui.driven import using

pytestmark = pytest.mark.sessions(7)

LINE = "shapecalc reshape 2,3 6"


def asked(script, *words, **opening):
    asyncio.run(using(script, *words, **opening))


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_that_is_chosen_is_there_again(theme):
    async def choose(user):
        user.app.theme = theme
        await user.settle()
        seen.append(user.app.export_screenshot(title=""))

    async def look(user):
        assert user.app.theme == theme
        seen.append(user.app.export_screenshot(title=""))

    seen = []
    asked(choose)
    asked(look)
    assert seen[0] == seen[1]


def test_no_color_is_no_choice_that_is_remembered(monkeypatch):
    async def leave(user):
        await user.press("ctrl+q")

    UserFile().keep_theme("light")
    monkeypatch.setenv("NO_COLOR", "1")
    asked(leave)
    assert UserFile().theme == "light"


def test_opening_writes_nothing():
    async def look(user):
        await user.press("ctrl+q")

    asked(look)
    assert not app_file().exists()


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", "null", "[" * 100_000, " " * LARGEST + "{}", "\udcff"),
        *('{"theme": 5, "questions": {"a": 1}}', '{"theme": "nope", "questions": [1, null]}'),
    ],
    ids=lambda content: content[:20],
)
def test_a_file_that_holds_something_else_is_passed_over(content):
    async def look(user):
        assert user.app.theme == "shapecalc"
        await user.press("ctrl+t")

    app_file().parent.mkdir(parents=True)
    app_file().write_text(content, errors="surrogateescape")
    asked(look)
    assert json.loads(app_file().read_text()) == {"theme": "dark", "questions": []}


def test_the_last_questions_are_kept_each_once():
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


def test_a_visitor_leaves_nothing_and_finds_nothing():
    UserFile().add_question(LINE)
    UserFile().keep_theme("light")
    visitor = UserFile(NOWHERE)
    assert (visitor.theme, visitor.questions) == ("", ())
    visitor.keep_theme("dark")
    visitor.add_question("shapecalc flatten 2,3")
    assert (visitor.theme, visitor.questions) == ("dark", ("shapecalc flatten 2,3",))
    assert (UserFile().theme, UserFile().questions) == ("light", (LINE,))
