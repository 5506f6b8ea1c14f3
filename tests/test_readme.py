"""Everything in the README that can be run is run: shell sessions, Python, and what it says of the table."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shapecalc.core.rules import DIALECTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SESSIONS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
FILES = re.findall(r"```text (\S+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    (command, shown) for text in SESSIONS for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
]


@pytest.fixture(scope="module")
def path_with_shapecalc(tmp_path_factory):
    """Return a PATH on which `shapecalc` is this checkout's; in its folder are the files that the README shows."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "shapecalc"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shapecalc "$@"\n')
    script.chmod(0o755)
    for name, text in FILES:
        (folder / name).write_text(text)
    return f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_readme_shows(command, shown, path_with_shapecalc):
    environment = {**os.environ, "PATH": path_with_shapecalc, "PYTHONUTF8": "1"}
    folder = path_with_shapecalc.partition(":")[0]
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert ran.stdout == shown


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
