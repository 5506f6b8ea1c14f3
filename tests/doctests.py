"""Doctests of modules and manual pages, with what their examples print now."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Failures(doctest.DocTestRunner):
    """Runs examples, and keeps those that print something else than is expected, with what they print."""

    def __init__(self):
        super().__init__(verbose=False)
        self.found: list[tuple[int, doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):
        self.found.append((test.lineno + example.lineno, example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise exc_info[1]


def renewed(*folders: Path) -> Iterator[tuple[Path, str]]:
    """Yield every module of some folders that has doctests."""
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        text = file.read_text("utf-8")
        if re.search(r"^ *>>> ", text, re.M):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield file, with_results(text, doctest.DocTestFinder().find(importlib.import_module(name)))


def session(text: str) -> str:
    """Return a session of Python with what its examples print."""
    return with_results(text, [doctest.DocTestParser().get_doctest(text, {}, "session", None, 0)])


def with_results(text: str, tests: list[doctest.DocTest]) -> str:
    """Return a text with what the examples of its doctests print."""
    failures, lines = Failures(), text.splitlines()
    for test in tests:
        failures.run(test, out=lambda _: None)
    for number, example, got in sorted(failures.found, key=lambda each: each[0], reverse=True):
        if example.exc_msg is not None:
            raised = re.search(r"^Traceback .*\n(?: .*\n)*(\S[\s\S]*)", got, re.M)
            got = example.want.removesuffix(example.exc_msg) + raised[1]
        start = number + len(example.source.splitlines())
        said = [" " * example.indent + (line or "<BLANKLINE>") for line in got.splitlines()]
        lines[start : start + len(example.want.splitlines())] = said
    return "".join(f"{line}\n" for line in lines)
