"""Update the expected output of doctests in modules and manual pages."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


class FailureCollector(doctest.DocTestRunner):
    """A doctest runner that collects the failing examples with their actual output."""

    def __init__(self):
        super().__init__(verbose=False)
        self.failed: list[tuple[int, doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):
        self.failed.append((test.lineno + example.lineno, example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise exc_info[1]


def updated_modules(*folders: Path) -> Iterator[tuple[Path, str]]:
    """Yield each module with doctests below some folders, with its updated text."""
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        text = file.read_text("utf-8")
        if re.search(r"^ *>>> ", text, re.M):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield file, update_examples(text, doctest.DocTestFinder().find(importlib.import_module(name)))


def update_session(text: str) -> str:
    """Return a Python session with the actual output of its examples."""
    return update_examples(text, [doctest.DocTestParser().get_doctest(text, {}, "session", None, 0)])


def update_examples(text: str, tests: list[doctest.DocTest]) -> str:
    """Return a text in which the examples of its doctests have their actual output."""
    failures, lines = FailureCollector(), text.splitlines()
    for test in tests:
        failures.run(test, out=lambda _: None)
    for number, example, got in sorted(failures.failed, key=lambda failure: failure[0], reverse=True):
        if example.exc_msg is not None:
            raised = re.search(r"^Traceback .*\n(?: .*\n)*(\S[\s\S]*)", got, re.M)
            got = example.want.removesuffix(example.exc_msg) + raised[1]
        start = number + len(example.source.splitlines())
        output = [" " * example.indent + (line or "<BLANKLINE>") for line in got.splitlines()]
        lines[start : start + len(example.want.splitlines())] = output
    return "".join(f"{line}\n" for line in lines)
