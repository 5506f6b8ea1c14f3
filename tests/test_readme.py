"""Everything in the README that can be run is run: shell sessions, Python, and what it says of the table."""

from __future__ import annotations

import doctest
import re
import tomllib

import pytest

from shapecalc import __version__
from shapecalc.core.dialects import DIALECTS
from tests.models import detector
from tests.sessions import ROOT, commands, folder_with_shapecalc, printed

README = (ROOT / "README.md").read_text("utf-8")
SESSIONS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
FILES = re.findall(r"```text (\S+)\n(.*?)```", README, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with this checkout's `shapecalc`, the files that the README shows and the model that it names."""
    made = folder_with_shapecalc(tmp_path_factory.mktemp("bin"), FILES)
    detector.write(made / "yolo.onnx")
    return made


@pytest.mark.sampled(4)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.splitlines()[0])
def test_a_session_prints_what_the_readme_shows(session, folder):
    for command, shown in commands([session]):
        assert printed(command, folder) == shown


def test_the_readme_shows_commands():
    assert len(commands(SESSIONS)) > 12


def test_its_python_is_right():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


def test_its_table_names_every_dialect_and_switch():
    for row in DIALECTS.values():
        (line,) = [line for line in README.splitlines() if line.startswith(f"| `{row.name}`")]
        assert row.switch is None or f"`--{row.switch.name.replace('_', '-')}`" in line
        assert str(row.newest_opset if row.name == "onnx" else "") in line


def test_the_first_lines_are_the_two_commands_for_a_fresh_clone():
    install, test = SHELL[0].splitlines()
    assert install.endswith("shapecalc reshape 2,3,4 0,-1")
    assert test.endswith("-m pytest")


def test_what_it_installs_and_runs_elsewhere_exists(folder):
    lines = "\n".join([*SHELL, *re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)])
    extras = {name for named in re.findall(r"\.\[([\w,]+)\]", lines) for name in named.split(",")}
    assert extras <= set(PROJECT["optional-dependencies"])
    assert re.findall(r"rev: v(\S+)", lines) == [__version__]
    run = re.findall(r"^(?:- run: )?shapecalc (\S+)", lines, re.M)
    shown = printed("shapecalc -h", folder)
    assert run
    assert [word for word in run if word not in shown] == []


def test_every_place_it_points_to_is_a_heading():
    headings = {line[3:].lower().replace(" ", "-") for line in README.splitlines() if line.startswith("## ")}
    places = re.findall(r"\]\(#([\w-]+)\)", README)
    assert places
    assert set(places) <= headings


def test_every_file_it_names_is_there():
    names = re.findall(r"`((?:core|cli|tui|engine|view|tests|man|\.ci)/[\w/.-]*)`", README)
    assert names
    missing = [name for name in names if not ((ROOT / name).exists() or (ROOT / "shapecalc" / name).exists())]
    assert missing == []
