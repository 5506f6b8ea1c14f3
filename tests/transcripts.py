"""Transcripts of input and expected output, one file per subject.

A line `# ...` begins a new transcript. `...` in the expected output matches any text; as a whole line, it matches any
lines. `python -m tests.renew transcripts` replaces expected output that no longer matches.
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
    """A line of a transcript: its sign, the text after the sign, and its file and line number."""

    sign: str
    text: str
    location: str


def transcripts(folder: Path, signs: str) -> list:
    """Return the transcripts of a folder as params.

    A line without one of the signs has an empty sign.
    """
    rows = []
    for file in sorted(folder.glob("*.txt")):
        lines: list[Line] = []
        for number, text in enumerate(file.read_text("utf-8").splitlines(), 1):
            if text.startswith("# "):
                lines = []
                rows.append(pytest.param(lines, id=f"{file.stem}: {text[2:]}"))
            else:
                match = re.match(rf"({signs})(?: (.*)|$)", text)
                sign, rest = (match[1], match[2] or "") if match else ("", text)
                lines.append(Line(sign, rest, f"{file.name}:{number}"))
    return rows


def matches_expected(shown: str, text: str) -> bool:
    """Return whether a text matches the expected text `shown`, in which `...` matches any text."""
    line = re.compile(re.escape(re.escape("...")))
    lines = [
        r"(?:.*\n)*" if text_line == "..." else line.sub(".*", re.escape(f"{text_line}\n"))
        for text_line in shown.splitlines()
    ]
    return re.fullmatch("".join(lines), text) is not None


class TranscriptUpdater:
    """A pytest plugin that records the actual output of each block of lines that no longer matches."""

    def __init__(self) -> None:
        self.updates: dict[Path, dict[int, tuple[int, list[str]]]] = {}

    def pytest_runtest_setup(self, item) -> None:
        lines = item.callspec.params["lines"]
        self.blocks = [list(block) for _, block in groupby(lines, lambda line: line.sign)] + [[line] for line in lines]
        self.folder = item.path.parent / "transcripts"
        item.module.matches_expected = self.matches_expected

    def matches_expected(self, shown: str, text: str) -> bool:
        """Record a text that does not match, and return whether it matches or was recorded."""
        before, now = shown.rstrip("\n").splitlines(), text.splitlines()
        block = next((block for block in self.blocks if contains_lines(block, before)), None)
        if block is None:
            return matches_expected(shown, text)
        self.blocks.remove(block)
        if not matches_expected(shown, text):
            name, number = block[0].location.split(":")
            head = f"{block[0].sign} {block[0].text.removesuffix(before[0])}".removeprefix(" ")
            now = merge_lines(before, now)
            self.updates.setdefault(self.folder / name, {})[int(number)] = (
                len(before),
                [f"{head}{line}" for line in now],
            )
        return True


def merge_lines(before: list[str], now: list[str]) -> list[str]:
    """Merge the expected lines that match, including ellipses, with the actual lines."""
    if "..." in before:
        at = before.index("...")
        tail = len(now) - (len(before) - at - 1)
        if tail >= at and "..." not in before[at + 1 :]:
            return [*merge_lines(before[:at], now[:at]), "...", *merge_lines(before[at + 1 :], now[tail:])]
    if len(now) != len(before):
        return now
    return [old if matches_expected(old, f"{new}\n") else new for old, new in zip(before, now, strict=True)]


def contains_lines(block: list[Line], shown: list[str]) -> bool:
    """Return whether a block consists of the given lines, or its only line ends with the only given line."""
    texts = "\n".join(line.text for line in block).rstrip("\n").splitlines()
    return bool(shown) and (texts == shown or (len(texts) == len(shown) == 1 and texts[0].endswith(f" {shown[0]}")))


def updated_files(*tests: Path) -> Iterator[tuple[Path, str]]:
    """Yield the transcripts whose actual output has changed, with their updated text."""
    updater = TranscriptUpdater()
    options = "-n 0 -p no:randomly -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning"
    with redirect_stdout(io.StringIO()):
        pytest.main([*options.split(), *map(str, tests)], plugins=[updater])
    for file, updates in updater.updates.items():
        lines = file.read_text("utf-8").splitlines()
        for number in sorted(updates, reverse=True):
            count, now = updates[number]
            lines[number - 1 : number - 1 + count] = now
        yield file, "".join(f"{line}\n" for line in lines)
