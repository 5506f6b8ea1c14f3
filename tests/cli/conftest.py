"""Helpers that run the command line: in this process, in a subprocess, or on a terminal."""

from __future__ import annotations

import gc
import io
import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from shapecalc import __main__

ROOT = Path(__file__).parents[2]
CHARACTERS = {
    "ESC": "\x1b",
    "CR": "\r",
    "LF": "\n",
    "FF": "\f",
    "TAB": "\t",
    "NUL": "\0",
    "BOM": "\N{BOM}",
    "RLO": "\N{RIGHT-TO-LEFT OVERRIDE}",
    "LS": "\N{LINE SEPARATOR}",
    **{f"x{byte:X}": chr(0xDC00 + byte) for byte in range(0x80, 0x100)},
}
"""Characters by their placeholder, such as `<ESC>`; `<xFF>` is a byte that is not valid UTF-8."""
PLACEHOLDER = re.compile(rf"<(?:({'|'.join(CHARACTERS)})|([^<>]+) x (\d+)|([A-Z]?)0\.\.\4(\d+))>")


def expand_placeholders(text):
    """Return a text with its placeholders expanded.

    `<ESC>` is a character, `<a  x 3>` is `a a a `, `<A0..A3>` is `A0,A1,A2,A3`, and `<0..3>` is `0,1,2,3`.
    """

    def expand(match):
        character, repeated, times, letter, last = match.groups()
        if character:
            return CHARACTERS[character]
        return repeated * int(times) if repeated else ",".join(f"{letter}{number}" for number in range(int(last) + 1))

    return PLACEHOLDER.sub(expand, text)


def rows(name):
    """Return the rows of a table in this folder, as cells split at ` => `."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [[expand_placeholders(cell) for cell in line.split(" => ")] for line in lines if line and line[0] != "#"]


@dataclass(frozen=True)
class RunResult:
    """The exit code and the output of one run."""

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
        gc.unfreeze()  # check froze objects, and Hypothesis tests for that
        captured = capsys.readouterr()
        return RunResult(code, captured.out, captured.err)

    return run


def environment():
    """Return the environment of a subprocess: this checkout on the path, no colours, no other Python settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**inherited, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "TERM": "dumb"}


def command(*words):
    return [sys.executable, "-m", "shapecalc", *words]


def process(*words, **options):
    """Run a command line in a subprocess."""
    return run_program(command(*words), **{"cwd": ROOT, **options})


def run_program(words, **options):
    """Run a program in the environment of `environment()`."""
    return subprocess.run(words, **{"env": environment(), "timeout": 60, "check": False, **options})


def run_on_terminal(words, **options):
    """Run a program with stderr, and stdout by default, on a terminal; return its exit code and output."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    parent, tty = pty.openpty()
    child = subprocess.Popen(words, **{"env": environment(), "stdout": tty, "stderr": tty, **options})
    os.close(tty)
    output = b""
    with suppress(OSError):  # Linux raises EIO once the other side is closed
        while piece := os.read(parent, 1 << 16):
            output += piece
    os.close(parent)
    return child.wait(), output.decode().replace("\r\n", "\n")


def run_command_on_terminal(*words):
    """Run a command line with stdout and stderr on a terminal; return its exit code and output."""
    code, output = run_on_terminal(command(*words), cwd=ROOT)
    return code, "".join(f"{line.rstrip()}\n" for line in output.splitlines())
