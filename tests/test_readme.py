"""Everything in the README that can be run is run: shell sessions, Python, and what it says of the table."""

from __future__ import annotations

import doctest
import re

import pytest

from shapecalc.core.rules import DIALECTS
from tests.sessions import ROOT, commands, folder_with_shapecalc, printed

README = (ROOT / "README.md").read_text("utf-8")
SESSIONS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
FILES = re.findall(r"```text (\S+)\n(.*?)```", README, re.DOTALL)
COMMANDS = commands(SESSIONS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with this checkout's `shapecalc` and the files that the README shows."""
    return folder_with_shapecalc(tmp_path_factory.mktemp("bin"), FILES)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_readme_shows(command, shown, folder):
    assert printed(command, folder) == shown


def test_the_readme_shows_commands():
    assert len(COMMANDS) > 12


def test_its_python_is_right():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


def test_its_table_names_every_dialect_and_switch():
    for row in DIALECTS.values():
        (line,) = [line for line in README.splitlines() if line.startswith(f"| `{row.name}`")]
        assert row.switch is None or f"`--{row.switch.name.replace('_', '-')}`" in line
        assert str(row.newest_opset if row.name == "onnx" else "") in line


def test_the_first_lines_are_the_two_commands_for_a_fresh_clone():
    (block,) = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    install, test = block.splitlines()
    assert install.endswith("shapecalc reshape 2,3,4 0,-1")
    assert test.endswith("-m pytest")
