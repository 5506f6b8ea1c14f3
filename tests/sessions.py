"""Shell sessions as documents show them: the commands after `$`, each with the lines that it prints.

`run` says what they print now; tests compare it with what is shown, and `python -m tests.renew` writes it there.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from shapecalc.render.mdoc import remove_escapes
from tests import doctests
from tests.fuzz.running import ended
from tests.models import detector

ROOT = Path(__file__).parents[1]
MARKDOWN = tuple(ROOT / name for name in ("README.md", ".github/CONTRIBUTING.md", "tests/benchmarks/README.md"))
PAGES = tuple(sorted((ROOT / "man").glob("shapecalc*.[157]")))
BLOCK = re.compile(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", re.M | re.S)
"""A literal block of a manual page."""


def commands(sessions):
    """Return the commands of some sessions, each with what is shown below it."""
    return [pair for text in sessions for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]


def fenced(kind, text):
    """Return the blocks of one kind in a Markdown text."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def literal(page):
    """Return the literal blocks of a manual page as they are shown."""
    return [remove_escapes(block) for block in BLOCK.findall(page)]


def files_of_pages():
    """Return the files that manual pages show, which their sessions find in the folder: name and text."""
    blocks = [block for page in PAGES for block in literal(page.read_text("utf-8"))]
    named = [(re.match(r"# file: (\S+)", block), block) for block in blocks]
    return [(name.group(1), block) for name, block in named if name]


def folder_of_sessions(folder):
    """Put `shapecalc` and every file that a session names into a folder, and return it."""
    detector.write(folder / "yolo.onnx")
    return folder_with_shapecalc(folder, files_of_pages())


def run(session, folder):
    """Return a session with what its commands print now."""
    return "".join(f"$ {command}\n{printed(command, folder)}" for command, _ in commands([session]))


def now(shown):
    """Return a session of a shell or of Python with what it prints now; any other text as it is."""
    if shown.startswith(">>> "):
        return doctests.session(shown)
    if not shown.startswith("$ "):
        return shown
    with TemporaryDirectory() as folder:
        return run(shown, folder_of_sessions(Path(folder)))


def renewed_markdown(text):
    """Return a Markdown text with what the commands of its sessions print now."""
    for shown in fenced("console", text):
        text = text.replace(shown, now(shown))
    return text


def renewed_page(page):
    """Return a manual page with what its sessions print now; a line that was there stays as it is written."""

    def renewed_block(block):
        written = {remove_escapes(line): line for line in block[1].splitlines()}
        lines = [
            written[line] if line in written else escaped(line) for line in now(remove_escapes(block[1])).splitlines()
        ]
        return block[0].replace(block[1], "".join(f"{line}\n" for line in lines))

    return BLOCK.sub(renewed_block, page)


def escaped(line):
    """Return a line with what a page would read as something else written out."""
    line = line.replace("\\", r"\e").replace("'", r"\(aq")
    return rf"\&{line}" if line.startswith(".") else line


def folder_with_shapecalc(folder, files):
    """Put this checkout's `shapecalc` and some files into a folder, and return it."""
    made = folder / "shapecalc"
    made.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shapecalc "$@"\n')
    made.chmod(0o755)
    for name, text in files:
        (folder / name).write_text(text)
    return folder


def environment(folder):
    """Return the environment in which `shapecalc` is the one in that folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONUTF8": "1", "XDG_DATA_HOME": str(folder / "data")}


def printed(command, folder):
    """Return what a command prints in a folder that has a `shapecalc`, errors included.

    What needs no shell runs in this process.
    """
    if re.fullmatch(r"shapecalc( [^|<>;&$`*~\\'\"]+| '[^']*')*", command):
        with chdir(folder), mock.patch.dict(os.environ, XDG_DATA_HOME=str(folder / "data")):
            ran = ended(shlex.split(command)[1:], together=True)
        return ran.out + ran.failure
    given = {"cwd": folder, "env": environment(folder), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", command], encoding="utf-8", check=False, **given).stdout
