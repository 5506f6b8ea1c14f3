"""Shell sessions as documents show them: the commands after `$`, each with the lines that it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commands(sessions):
    """Return the commands of some sessions, each with what is shown below it."""
    return [pair for text in sessions for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]


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
    return {**inherited, "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONUTF8": "1"}


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
