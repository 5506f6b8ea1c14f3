"""Sessions, links and file names in the Markdown files are valid, and the README is short."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.sessions import MARKDOWN, ROOT, command_output, commands, fenced_blocks, make_session_folder, run

TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in MARKDOWN}
README = TEXTS["README.md"]
SESSIONS = [session for text in TEXTS.values() for session in fenced_blocks("console", text)]
SHELL = fenced_blocks("sh", README)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with this checkout's `shapecalc` and the files of the sessions."""
    return make_session_folder(tmp_path_factory.mktemp("bin"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.splitlines()[0])
def test_readme_sessions_print_what_is_shown(session, folder):
    assert run(session, folder) == session, "if it is right: python -m tests.renew readme"


def test_readme_is_short_and_begins_with_the_two_commands():
    assert len(commands(fenced_blocks("console", README))) > 7
    assert len(README.splitlines()) <= 160
    install, test = SHELL[0].splitlines()
    assert install.endswith("shapecalc reshape 2,3,4 0,-1")
    assert test.endswith("-m pytest")


def test_readme_extras_pages_and_files_exist(folder):
    extras = re.findall(r"\.\[([\w,]+)\]", "\n".join(SHELL))
    assert {name for names in extras for name in names.split(",")} - {*EXTRAS} == set() != {*extras}
    help_lines = re.findall(r"`shapecalc (help [\w -]+)`", README)
    assert len(help_lines) > 7
    pages = ("NAME\n", "Readings\n")
    assert [line for line in help_lines if not command_output(f"shapecalc {line}", folder).startswith(pages)] == []
    for name, text in TEXTS.items():
        base = (ROOT / name).parent
        assert [link for link in re.findall(r"\]\(([^)]+)\)", text) if not (base / link).exists()] == [], name


def test_files_named_in_documents_exist():
    names = {name for text in TEXTS.values() for name in re.findall(r"`([\w.]+/[\w/.-]*)`", text)}
    missing = [name for name in names if not ((ROOT / name).exists() or (ROOT / "shapecalc" / name).exists())]
    assert sorted(missing) == ["core/dialects/toyframe.py", "core/ops/swap_ends.py"], "files of the recipes"
