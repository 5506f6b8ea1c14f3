"""Transcripts: what is typed and what is seen, as text, one file a subject.

A line `# ...` begins a transcript of its own. `...` in what is seen stands for any text, and alone on a line for any
lines. `python -m tests.renew transcripts` puts what is seen now in the place of what no longer fits.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import groupby
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


class Renewal:
    """Has pytest run transcripts, and keeps what is seen in place of each block of lines that no longer fits."""

    def __init__(self) -> None:
        self.found: dict[Path, dict[int, tuple[int, list[str]]]] = {}

    def pytest_runtest_setup(self, item) -> None:
        lines = item.callspec.params["lines"]
        self.blocks = [list(block) for _, block in groupby(lines, lambda line: line.sign)] + [[line] for line in lines]
        self.folder = item.path.parent / "transcripts"
        item.module.is_seen = self.is_seen

    def is_seen(self, shown: str, text: str) -> bool:
        """Say whether a text is seen; where it is not, keep it, and say so if it is known where it is shown."""
        before, now = shown.rstrip("\n").splitlines(), text.splitlines()
        block = next((each for each in self.blocks if holds(each, before)), None)
        if block is None:
            return is_seen(shown, text)
        self.blocks.remove(block)
        if not is_seen(shown, text):
            name, number = block[0].place.split(":")
            head = f"{block[0].sign} {block[0].text.removesuffix(before[0])}".removeprefix(" ")
            now = renewed_lines(before, now)
            self.found.setdefault(self.folder / name, {})[int(number)] = len(before), [f"{head}{line}" for line in now]
        return True


def renewed_lines(before: list[str], now: list[str]) -> list[str]:
    """Return what is seen now: lines that still fit stay as they were, and so do lines left out at one place."""
    if "..." in before:
        at = before.index("...")
        behind = len(now) - (len(before) - at - 1)
        if behind >= at and "..." not in before[at + 1 :]:
            return [*renewed_lines(before[:at], now[:at]), "...", *renewed_lines(before[at + 1 :], now[behind:])]
    if len(now) != len(before):
        return now
    return [old if is_seen(old, f"{new}\n") else new for old, new in zip(before, now, strict=True)]


def holds(block: list[Line], shown: list[str]) -> bool:
    """Say whether a block of lines shows these, or the last words of its only line do."""
    texts = "\n".join(line.text for line in block).rstrip("\n").splitlines()
    return bool(shown) and (texts == shown or (len(texts) == len(shown) == 1 and texts[0].endswith(f" {shown[0]}")))


def renewed(*tests: Path) -> Iterator[tuple[Path, str]]:
    """Yield the transcripts of some tests in which something else is seen than is shown."""
    renewal = Renewal()
    options = "-n 0 -p no:randomly -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning"
    with redirect_stdout(io.StringIO()):
        pytest.main([*options.split(), *map(str, tests)], plugins=[renewal])
    for file, found in renewal.found.items():
        lines = file.read_text("utf-8").splitlines()
        for number in sorted(found, reverse=True):
            count, now = found[number]
            lines[number - 1 : number - 1 + count] = now
        yield file, "".join(f"{line}\n" for line in lines)
