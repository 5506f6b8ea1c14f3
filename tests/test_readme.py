"""Everything in the Markdown files that can be run is run, and the README stays short."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.sessions import MARKDOWN, ROOT, commands, fenced, folder_of_sessions, printed, run

TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in MARKDOWN}
README = TEXTS["README.md"]
SESSIONS = [session for text in TEXTS.values() for session in fenced("console", text)]
SHELL = fenced("sh", README)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_LINES = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with this checkout's `shapecalc` and the model that the README names."""
    return folder_of_sessions(tmp_path_factory.mktemp("bin"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.splitlines()[0])
def test_a_session_prints_what_is_shown(session, folder):
    assert run(session, folder) == session, "if it is right: python -m tests.renew readme"


def test_the_readme_shows_commands_and_is_short():
    assert len(commands(fenced("console", README))) > 7
    assert len(README.splitlines()) <= MOST_LINES


def test_the_first_lines_are_the_two_commands_for_a_fresh_clone():
    install, test = SHELL[0].splitlines()
    assert install.endswith("shapecalc reshape 2,3,4 0,-1")
    assert test.endswith("-m pytest")


def test_the_extras_that_it_installs_exist():
    lines = "\n".join(SHELL)
    extras = {name for named in re.findall(r"\.\[([\w,]+)\]", lines) for name in named.split(",")}
    assert extras
    assert extras <= set(PROJECT["optional-dependencies"])


def test_the_pages_that_it_names_are_there(folder):
    asked = re.findall(r"`shapecalc (help [\w -]+)`", README)
    assert len(asked) > 7
    pages = ("NAME\n", "Readings\n")
    assert [line for line in asked if not printed(f"shapecalc {line}", folder).startswith(pages)] == []


def test_what_it_links_to_is_there():
    for name, text in TEXTS.items():
        folder = (ROOT / name).parent
        assert [link for link in re.findall(r"\]\(([^)]+)\)", text) if not (folder / link).exists()] == [], name


def test_every_file_that_is_named_is_there():
    names = {
        name
        for text in TEXTS.values()
        for name in re.findall(
            r"`((?:core|cli|tui|engine|view|models|doctor|teaching|serving|tests|man|\.ci)/[\w/.-]*)`", text
        )
    }
    assert names
    missing = [name for name in names if not ((ROOT / name).exists() or (ROOT / "shapecalc" / name).exists())]
    assert sorted(missing) == ["core/dialects/toyframe.py", "core/ops/swap_ends.py"], "which the recipes write"
