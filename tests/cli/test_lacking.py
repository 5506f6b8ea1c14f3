"""The program where the system lacks what Linux has: the same answers, by the other branches."""

from __future__ import annotations

import ast
import multiprocessing
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest

from shapecalc.cli import terminal
from shapecalc.core.problem import ShapeError
from tests import lacking
from tests.cli.conftest import ROOT, run_program

WORDS = [
    ["reshape", "2,3,4", "0,-1", "--explain"],
    ["reshape", "2,3,4", "5,-1"],
    ["chain", "2,3,4 | transpose 1,0,2 | reshape 2,-1,3"],
    ["reshape", "x.npy", "-1", "--values"],
    ["transpose", "x.npy", "1,0", "-o", "y.npy"],
    ["check", "--jobs", "2", "cases.shapes"],
    ["check", "--update", "cases.shapes"],
    ["repl"],
    ["tui"],
    ["backends"],
]


def ran(folder, *words):
    """Return how a command line ends in a folder with an array and cases."""
    folder.mkdir()
    numpy.save(folder / "x.npy", numpy.arange(6).reshape(2, 3))
    (folder / "cases.shapes").write_text("reshape 2,3,4 0,-1 => 2,12\nreshape 2,3,4 5,-1 => 5\n" * 50, "ascii")
    streams = {"input": "2,3\nflatten\n", "capture_output": True, "encoding": "utf-8"}
    done = run_program([sys.executable, *words], cwd=folder, **streams)
    return done.returncode, done.stdout, done.stderr, {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words)[:30])
def test_missing_system_modules_do_not_change_commands(words, tmp_path):
    there = ran(tmp_path / "there", "-m", "shapecalc", *words)
    assert ran(tmp_path / "lacking", str(ROOT / "tests" / "lacking.py"), *words) == there
    assert "Traceback" not in there[2]


def test_missing_system_modules_are_really_missing():
    code = "import tests.lacking, os, signal; tests.lacking.take_away(); print(*vars(os), *vars(signal), *os.environ)\n"
    code += "exec('import readline', {'__name__': 'shapecalc.cli.x'})"
    left = run_program([sys.executable, "-c", code], capture_output=True, text=True)
    assert (left.returncode, "No module named 'readline'" in left.stderr) == (1, True)
    assert not {*lacking.FUNCTIONS, *lacking.SIGNALS, "TERM"} & {*left.stdout.split()}


def test_app_opens_without_termios(monkeypatch):
    stream = SimpleNamespace(isatty=lambda: True, encoding="utf-8")
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stdin=stream, stderr=stream, stdout=stream))
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setattr(terminal, "find_spec", lambda _name: None)
    terminal.check_terminal()
    monkeypatch.setattr(terminal, "find_spec", lambda name: name == "termios")
    with pytest.raises(ShapeError, match="of the kind TERM names"):
        terminal.check_terminal()


def test_workers_start_without_fork(monkeypatch):
    from shapecalc.checking.judging import judge_in_parallel

    asked = []
    monkeypatch.delattr(os, "fork", raising=False)
    made = multiprocessing.get_context
    monkeypatch.setattr("multiprocessing.get_context", lambda kind: asked.append(kind) or made(kind))
    assert list(judge_in_parallel([], "-", None, 2)) == []
    assert asked == ["spawn"]


@pytest.mark.slow
def test_modules_do_not_import_system_specific_modules():
    found = [path for path in Path(ROOT / "shapecalc").rglob("*.py") if {*imported_at_once(path)} & lacking.MODULES]
    assert found == []


def imported_at_once(path):
    """Yield the modules that a file imports as soon as it is imported."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
