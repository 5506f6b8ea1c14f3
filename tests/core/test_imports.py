"""The floors of the house: the core imports the standard library and itself, the command line what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shapecalc
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS

PACKAGE = Path(shapecalc.__file__).parent
CORE = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (PACKAGE / "core").rglob("*.py")
)
HEAVY = ("numpy", "rich", "typer", "textual", "pydantic", "onnx", "prompt_toolkit")
SLOW_TO_IMPORT = ("dataclasses", "fractions", "typing", "inspect", "re", "json")


def loaded(code, names):
    """Return which of `names` a fresh interpreter has imported after running `code`."""
    probe = f"{code}\nimport sys; print(*[name for name in {names!r} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-S", "-c", probe],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": search_path()},
    )
    return found.stdout.splitlines()[-1].split() if found.stdout.strip() else []


def search_path():
    return ":".join([str(PACKAGE.parent), *[path for path in sys.path if path.endswith("-packages")]])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("module", [*CORE, "shapecalc"])
def test_the_core_imports_nothing_from_outside(module):
    assert loaded(f"import {module}", HEAVY) == []


@pytest.mark.parametrize("package", ["rich", "typer"])
def test_the_test_above_can_fail(package):
    assert package in loaded(f"import shapecalc, {package}", HEAVY)


def test_a_bare_question_imports_nothing_slow():
    question = (
        "import sys; sys.argv = ['shapecalc', 'reshape', '2,3,4', '0,-1']; from shapecalc.__main__ import main; main()"
    )
    assert loaded(question, HEAVY + SLOW_TO_IMPORT) == []


def test_its_json_imports_little_more():
    question = "import sys; sys.argv = ['shapecalc', 'reshape', '2,3,4', '0,-1', '--json']"
    question += "; from shapecalc.__main__ import main; main()"
    assert {*loaded(question, HEAVY + SLOW_TO_IMPORT)} <= {"json", "re"}


def test_a_bare_question_imports_its_own_op_and_dialect_and_no_options():
    rooms = {"ops": OPS, "dialects": DIALECTS}
    files = [f"shapecalc.core.{room}.{name}" for room, names in rooms.items() for name in names]
    files += ["shapecalc.cli.options", "shapecalc.cli.data", "shapecalc.core.layout"]
    question = "from shapecalc.__main__ import main; import sys; sys.argv = ['shapecalc', 'squeeze', '1,3']; main()"
    assert loaded(question, files) == ["shapecalc.core.ops.squeeze", "shapecalc.core.dialects.onnx"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "words",
    [
        ["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"],
        ["reshape", "2,3,4", "5,-1"],
        ["reshape", "2,3,4", "0,-1", "--json"],
        ["reshape", "N,4", "2,6", "--strict", "--expect", "2,6", "--where", "N=3", "--dtype", "float"],
    ],
)
def test_an_op_imports_nothing_heavy(words):
    question = f"import sys; sys.argv = ['shapecalc', *{words!r}]; from shapecalc.__main__ import main; main()"
    assert loaded(question, HEAVY) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [["reshape", "-h"], ["drill", "--help"], ["help", "film"]])
def test_help_imports_typer_and_nothing_heavier(words):
    question = f"import sys; sys.argv = ['shapecalc', *{words!r}]; from shapecalc.__main__ import main; main()"
    assert loaded(question, HEAVY) == ["typer"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words",
    [
        ["chain", "2,3,4 | transpose 1,0,2"],
        ["equiv", "N,C | transpose 1,0", "| transpose"],
        ["simplify", "N,C | transpose 1,0 | transpose"],
        ["why", "infer"],
        ["doctor", "/dev/null"],
        ["reshape"],
        ["reshape", "2,3", "--", "6"],
        ["--version"],
        ["repl"],
        ["vectors", "--dialect", "onednn"],
        ["match", "N", "/dev/null"],
        ["check", "/dev/null"],
        ["check", "/dev/null", "--jobs", "0"],
        ["drill"],
        ["drill", "--print", "3"],
        ["drill", "--check-lessons", "/dev/null"],
        ["film", "reshape", "2,3"],
        ["tui"],
        ["tui", "--lesson"],
        ["serve", "--port", "0"],
    ],
)
def test_a_command_imports_nothing_heavy(words):
    question = f"import sys; sys.argv = ['shapecalc', *{words!r}]; from shapecalc.__main__ import main; main()"
    assert loaded(question, HEAVY) == []
