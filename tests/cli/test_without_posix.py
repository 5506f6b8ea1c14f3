"""The program without system modules of Linux: the same answers by the fallbacks."""

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
from tests import without_posix
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


def run_in_folder(folder, *words):
    """Run a command line in a new folder with an array and cases; return exit code, output and files."""
    folder.mkdir()
    numpy.save(folder / "x.npy", numpy.arange(6).reshape(2, 3))
    (folder / "cases.shapes").write_text("reshape 2,3,4 0,-1 => 2,12\nreshape 2,3,4 5,-1 => 5\n" * 50, "ascii")
    streams = {"input": "2,3\nflatten\n", "capture_output": True, "encoding": "utf-8"}
    result = run_program([sys.executable, *words], cwd=folder, **streams)
    return result.returncode, result.stdout, result.stderr, {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words)[:30])
def test_missing_system_modules_do_not_change_commands(words, tmp_path):
    expected = run_in_folder(tmp_path / "complete", "-m", "shapecalc", *words)
    assert run_in_folder(tmp_path / "lacking", str(ROOT / "tests" / "without_posix.py"), *words) == expected
    assert "Traceback" not in expected[2]


def test_missing_system_modules_are_really_missing():
    code = "import tests.without_posix, os, signal; tests.without_posix.remove_posix_features()\n"
    code += "print(*vars(os), *vars(signal), *os.environ)\n"
    code += "exec('import readline', {'__name__': 'shapecalc.cli.x'})"
    ran = run_program([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, "No module named 'readline'" in ran.stderr) == (1, True)
    assert not {*without_posix.FUNCTIONS, *without_posix.SIGNALS, "TERM"} & {*ran.stdout.split()}


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
    from shapecalc.checking.judging import check_in_parallel

    methods = []
    monkeypatch.delattr(os, "fork", raising=False)
    get_context = multiprocessing.get_context
    monkeypatch.setattr("multiprocessing.get_context", lambda method: methods.append(method) or get_context(method))
    assert list(check_in_parallel([], "-", None, 2)) == []
    assert methods == ["spawn"]


@pytest.mark.slow
def test_modules_do_not_import_system_specific_modules():
    paths = [
        path for path in Path(ROOT / "shapecalc").rglob("*.py") if {*top_level_imports(path)} & without_posix.MODULES
    ]
    assert paths == []


def top_level_imports(path):
    """Yield the modules that a file imports at its top level."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
