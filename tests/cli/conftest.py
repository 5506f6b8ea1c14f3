"""The command line as a user meets it: in this process, in a process of its own, on a terminal."""

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
"""What texts of tests call `<ESC>` and the like; `<xFF>` is a byte that is no text."""
STANDS_FOR = re.compile(rf"<(?:({'|'.join(CHARACTERS)})|([^<>]+) x (\d+)|([A-Z]?)0\.\.\4(\d+))>")


def meant(text):
    """Return a text with the characters that `<ESC>` and the like stand for, and `a a a ` for `<a  x 3>`.

    `<A0..A3>` stands for `A0,A1,A2,A3`, and `<0..3>` for the numbers.
    """

    def written_out(found):
        character, repeated, times, letter, last = found.groups()
        if character:
            return CHARACTERS[character]
        return repeated * int(times) if repeated else ",".join(f"{letter}{at}" for at in range(int(last) + 1))

    return STANDS_FOR.sub(written_out, text)


def rows(name):
    """Return the rows of a table in this folder, split at ` => `."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [[meant(cell) for cell in line.split(" => ")] for line in lines if line and line[0] != "#"]


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
    return program(command(*words), **{"cwd": ROOT, **options})


def program(words, **options):
    """Run a program in the environment of a run."""
    return subprocess.run(words, **{"env": environment(), "timeout": 60, "check": False, **options})


def told_on_a_terminal(words, **options):
    """Run a program with stderr, and stdout by default, on a terminal; return its exit code and what it wrote."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    running = subprocess.Popen(words, **{"env": environment(), "stdout": theirs, "stderr": theirs, **options})
    os.close(theirs)
    told = b""
    with suppress(OSError):  # Linux says so where the other side is closed
        while piece := os.read(ours, 1 << 16):
            told += piece
    os.close(ours)
    return running.wait(), told.decode().replace("\r\n", "\n")


def on_a_terminal(*words):
    """Run a command line with stdout and stderr on a terminal; return its exit code and what it showed."""
    code, told = told_on_a_terminal(command(*words), cwd=ROOT)
    return code, "".join(f"{line.rstrip()}\n" for line in told.splitlines())
