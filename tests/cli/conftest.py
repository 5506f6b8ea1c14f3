"""The command line as a user meets it: in this process, in a process of its own, on a terminal."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shapecalc import __main__

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """What one run printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def shapecalc(monkeypatch, capsys):
    """Run a command line in this process."""

    def run(*words, stdin=""):
        monkeypatch.setattr(sys, "argv", ["shapecalc", *words])
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode("utf-8", "surrogateescape"))))
        )
        code = __main__.main()
        gc.unfreeze()  # what check froze: Hypothesis looks for it
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


def environment():
    """Return the environment of a run in a process of its own: this checkout, no colours, nothing of Python's own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**inherited, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "TERM": "dumb"}


def command(*words):
    return [sys.executable, "-m", "shapecalc", *words]


def process(*words, **options):
    """Run a command line in a process of its own."""
    return subprocess.run(command(*words), env=environment(), cwd=ROOT, timeout=60, check=False, **options)


def on_a_terminal(*words):
    """Run a command line with stdout and stderr on a terminal; return its exit code and what it showed."""
    import pty

    parent, child = pty.openpty()
    running = subprocess.Popen(command(*words), env=environment(), cwd=ROOT, stdout=child, stderr=child)
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(parent)
    lines = shown.decode().replace("\r\n", "\n").splitlines()
    return running.wait(), "".join(f"{line.rstrip()}\n" for line in lines)
