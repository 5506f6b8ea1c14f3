"""Transcripts: what is typed and what is seen, as text, one file a subject.

A line `# ...` begins a transcript of its own. `...` in what is seen stands for any text, and alone on a line for any
lines.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest


class Line(NamedTuple):
    """A line of a transcript: its sign, what stands behind it, and where it is."""

    sign: str
    text: str
    place: str


def transcripts(folder: Path, signs: str) -> list:
    """Return the transcripts of a folder as rows of a test; a line without one of the signs has the sign ''."""
    rows = []
    for file in sorted(folder.glob("*.txt")):
        lines: list[Line] = []
        for number, text in enumerate(file.read_text("utf-8").splitlines(), 1):
            if text.startswith("# "):
                lines = []
                rows.append(pytest.param(lines, id=f"{file.stem}: {text[2:]}"))
            else:
                signed = re.match(rf"({signs})(?: (.*)|$)", text)
                sign, behind = (signed[1], signed[2] or "") if signed else ("", text)
                lines.append(Line(sign, behind, f"{file.name}:{number}"))
    return rows


def is_seen(shown: str, text: str) -> bool:
    """Say whether a text is what is shown, whose `...` stand for any text."""
    line = re.compile(re.escape(re.escape("...")))
    lines = [r"(?:.*\n)*" if each == "..." else line.sub(".*", re.escape(f"{each}\n")) for each in shown.splitlines()]
    return re.fullmatch("".join(lines), text) is not None
