"""Doctests of modules and manual pages, with what their examples print now."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from shapecalc.view.mdoc import unescaped
from tests.sessions import BLOCK, ROOT, escaped

PROMPT = re.compile(r"^ *>>> ", re.M)


class Failures(doctest.DocTestRunner):
    """Runs examples, and keeps those that print something else than is expected, with what they print."""

    def __init__(self):
        super().__init__(verbose=False)
        self.found: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):
        self.found.append((example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise exc_info[1]


def renewed(*folders: Path) -> Iterator[tuple[Path, str]]:
    """Yield every module of some folders that has doctests."""
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        text = file.read_text("utf-8")
        if PROMPT.search(text):
            module = importlib.import_module(module_name(file))
            yield file, with_results(text, doctest.DocTestFinder().find(module))


def module_name(file: Path) -> str:
    """Return the name under which a file is imported."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def renewed_page(text: str) -> str:
    """Return a manual page with what the examples of its Python print."""
    return BLOCK.sub(renewed_block, text)


def renewed_block(block: re.Match[str]) -> str:
    """Return a literal block of a manual page with what its examples print."""
    shown = unescaped(block[1])
    if not shown.startswith(">>> "):
        return block[0]
    test = doctest.DocTestParser().get_doctest(shown, {}, "page", None, None)
    return block[0].replace(block[1], escaped(with_results(shown, [test]), block[1]))


def with_results(text: str, tests: list[doctest.DocTest]) -> str:
    """Return a text with what the examples of its doctests print."""
    failures = Failures()
    for test in tests:
        failures.run(test, out=lambda _: None)
    for example, got in failures.found:
        text = pattern(example).sub(lambda found, got=got, example=example: result(found, example, got), text)
    return text


def pattern(example: doctest.Example) -> re.Pattern[str]:
    """Return what an example looks like, wherever it stands."""
    first, *rest = example.source.splitlines()
    code = "".join(f"(?P=indent){re.escape(line)}\n" for line in (f">>> {first}", *(f"... {line}" for line in rest)))
    want = "".join(f"(?P=indent){re.escape(line)}\n" if line else "\n" for line in example.want.splitlines())
    return re.compile(rf"^(?=(?P<indent> *))(?P<code>{code}){want}", re.M)


def result(found: re.Match[str], example: doctest.Example, got: str) -> str:
    """Return an example with what it prints."""
    if example.exc_msg is not None:
        raised = re.search(r"^Traceback .*\n(?: .*\n)*(\S[\s\S]*)", got, re.M)
        got = example.want.removesuffix(example.exc_msg) + raised[1]
    lines = [line or "<BLANKLINE>" for line in got.splitlines()]
    return found["code"] + "".join(f"{found['indent']}{line}\n" for line in lines)
