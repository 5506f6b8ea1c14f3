"""Shell sessions as documents show them: the commands after `$`, each with the lines that it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from shapecalc.view.mdoc import unescaped

ROOT = Path(__file__).parents[1]


def commands(sessions):
    """Return the commands of some sessions, each with what is shown below it."""
    return [pair for text in sessions for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]


def fenced(kind, text):
    """Return the blocks of one kind in a Markdown text."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def literal(page):
    """Return the literal blocks of a manual page as they are shown."""
    return [unescaped(block) for block in re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", page, re.M | re.S)]


def folder_with_shapecalc(folder, files):
    """Put this checkout's `shapecalc` and some files into a folder, and return it."""
    script = folder / "shapecalc"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shapecalc "$@"\n')
    script.chmod(0o755)
    for name, text in files:
        (folder / name).write_text(text)
    return folder


def environment(folder):
    """Return the environment in which `shapecalc` is the one in that folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONUTF8": "1", "XDG_DATA_HOME": str(folder / "data")}


def printed(command, folder):
    """Return what a command prints in a folder that has a `shapecalc`, errors included."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    ).stdout
