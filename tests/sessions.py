"""Shell sessions in documents: commands after `$`, each with its output.

`run` returns a session with its actual output. Tests compare it with the document; `python -m tests.renew` updates it.
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
    """Return the commands of sessions, each with its output in the document."""
    return [pair for text in sessions for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]


def fenced_blocks(kind, text):
    """Return the fenced_blocks blocks of one language in a Markdown text."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def literal_blocks(page):
    """Return the literal blocks of a manual page, as displayed."""
    return [remove_escapes(block) for block in BLOCK.findall(page)]


def page_files():
    """Return the files that the manual pages define for their sessions, as names and texts."""
    return _named_files(block for page in PAGES for block in literal_blocks(page.read_text("utf-8")))


def markdown_files():
    """Return the files that the Markdown files define for their sessions, as names and texts."""
    return _named_files(block for file in MARKDOWN for block in fenced_blocks("python", file.read_text("utf-8")))


def _named_files(blocks):
    blocks = [*blocks]
    matches = [(re.match(r"# file: (\S+)", block), block) for block in blocks]
    return [(name.group(1), block) for name, block in matches if name]


def make_session_folder(folder):
    """Write `shapecalc` and the files of all sessions to a folder, and return the folder."""
    detector.write(folder / "yolo.onnx")
    return make_shapecalc_folder(folder, [*page_files(), *markdown_files()])


def run(session, folder):
    """Return a session with the actual output of its commands."""
    return "".join(f"$ {command}\n{command_output(command, folder)}" for command, _ in commands([session]))


def update_block(block):
    """Return a shell or Python session with its actual output, or any other text unchanged."""
    if block.startswith(">>> "):
        return doctests.update_session(block)
    if not block.startswith("$ "):
        return block
    with TemporaryDirectory() as folder:
        return run(block, make_session_folder(Path(folder)))


def update_markdown(text):
    """Return a Markdown text with the actual output of its sessions."""
    for block in fenced_blocks("console", text):
        text = text.replace(block, update_block(block))
    return text


def update_page(page):
    """Return a manual page with the actual output of its sessions.

    The source of unchanged lines is kept.
    """

    def update_match(match):
        sources = {remove_escapes(line): line for line in match[1].splitlines()}
        lines = [
            sources[line] if line in sources else escape_line(line)
            for line in update_block(remove_escapes(match[1])).splitlines()
        ]
        return match[0].replace(match[1], "".join(f"{line}\n" for line in lines))

    return BLOCK.sub(update_match, page)


def escape_line(line):
    """Escape the characters of a line that mdoc would interpret."""
    line = line.replace("\\", r"\e").replace("'", r"\(aq")
    return rf"\&{line}" if line.startswith(".") else line


def make_shapecalc_folder(folder, files):
    """Write this checkout's `shapecalc` and the given files to a folder, and return the folder."""
    script = folder / "shapecalc"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shapecalc "$@"\n')
    script.chmod(0o755)
    for name, text in files:
        (folder / name).write_text(text)
    return folder


def environment(folder):
    """Return the environment variables for a session: PATH begins with `folder`, and those of Python are unset."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONUTF8": "1", "XDG_DATA_HOME": str(folder / "data")}


def command_output(command, folder):
    """Run a command in a folder with `shapecalc`, and return its stdout and stderr.

    A command without shell syntax runs in this process.
    """
    if re.fullmatch(r"shapecalc( [^|<>;&$`*~\\'\"]+| '[^']*')*", command):
        with chdir(folder), mock.patch.dict(os.environ, XDG_DATA_HOME=str(folder / "data")):
            ran = ended(shlex.split(command)[1:], together=True)
        return ran.out + ran.failure
    options = {"cwd": folder, "env": environment(folder), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", command], encoding="utf-8", check=False, **options).stdout
