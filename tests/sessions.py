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
    """Return the commands of sessions, each with the output in the document."""
    return [pair for text in sessions for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]


def fenced(kind, text):
    """Return the fenced blocks of one language in a Markdown text."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def literal(page):
    """Return the literal blocks of a manual page, as displayed."""
    return [remove_escapes(block) for block in BLOCK.findall(page)]


def files_of_pages():
    """Return the names and texts of the files that manual pages define for their sessions."""
    return _named_files(block for page in PAGES for block in literal(page.read_text("utf-8")))


def files_of_markdown():
    """Return the names and texts of the files that Markdown files define for their sessions."""
    return _named_files(block for file in MARKDOWN for block in fenced("python", file.read_text("utf-8")))


def _named_files(blocks):
    blocks = [*blocks]
    matches = [(re.match(r"# file: (\S+)", block), block) for block in blocks]
    return [(name.group(1), block) for name, block in matches if name]


def folder_of_sessions(folder):
    """Write `shapecalc` and the files of all sessions to a folder, and return it."""
    detector.write(folder / "yolo.onnx")
    return folder_with_shapecalc(folder, [*files_of_pages(), *files_of_markdown()])


def run(session, folder):
    """Return a session with the actual output of its commands."""
    return "".join(f"$ {command}\n{command_output(command, folder)}" for command, _ in commands([session]))


def update_block(block):
    """Return a shell or Python session with its actual output; any other text unchanged."""
    if block.startswith(">>> "):
        return doctests.update_session(block)
    if not block.startswith("$ "):
        return block
    with TemporaryDirectory() as folder:
        return run(block, folder_of_sessions(Path(folder)))


def update_markdown(text):
    """Return a Markdown text with the actual output of its sessions."""
    for block in fenced("console", text):
        text = text.replace(block, update_block(block))
    return text


def update_page(page):
    """Return a manual page with the actual output of its sessions; keep the source of unchanged lines."""

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


def folder_with_shapecalc(folder, files):
    """Write this checkout's `shapecalc` and some files to a folder, and return it."""
    script = folder / "shapecalc"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shapecalc "$@"\n')
    script.chmod(0o755)
    for name, text in files:
        (folder / name).write_text(text)
    return folder


def environment(folder):
    """Return an environment with the `shapecalc` of a folder on its path."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONUTF8": "1", "XDG_DATA_HOME": str(folder / "data")}


def command_output(command, folder):
    """Return the output of a command in a folder with `shapecalc`, errors included.

    A command without shell syntax runs in this process.
    """
    if re.fullmatch(r"shapecalc( [^|<>;&$`*~\\'\"]+| '[^']*')*", command):
        with chdir(folder), mock.patch.dict(os.environ, XDG_DATA_HOME=str(folder / "data")):
            ran = ended(shlex.split(command)[1:], together=True)
        return ran.out + ran.failure
    options = {"cwd": folder, "env": environment(folder), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", command], encoding="utf-8", check=False, **options).stdout
