"""Tests that hold a sentence of the package which was changed since the last commit, with that sentence as it is now.

Only literals of tests that fail are touched, and only the words that changed: a test that holds a wrong answer stays
wrong. A test whose sentence changed beyond recognition is left to be mended by hand.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

import pytest

HOLE = "\0"
"""What stands for each value in a sentence."""
ALIKE = 0.5
"""How much of two sentences must be the same for one to be the other, changed."""


class Edit(NamedTuple):
    """Words of a sentence that became others, and what stands before and behind them up to the next word."""

    before: str
    old: str
    new: str
    after: str

    def apply(self, text: str) -> str:
        """Return a text with the words changed wherever they stand beside one of their neighbours."""
        old = rf"{_edge(self.old[0])}{re.escape(self.old)}{_edge(self.old[-1])}"
        beside = [f"(?<={re.escape(self.before)}){old}"] * bool(self.before)
        beside += [f"{old}(?={re.escape(self.after)})"] * bool(self.after)
        return re.sub("|".join(beside) or old, lambda _: self.new, text)


def _edge(sign: str) -> str:
    return r"\b" if re.match(r"\w", sign) else ""


def renewed(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the test files of a checkout in which a changed sentence makes a test fail."""
    edits = [edit for old, new in changed(root) for edit in edits_between(old, new)]
    files = [file for file in sorted((root / "tests").rglob("test_*.py")) if edits and _holds(file, edits)]
    if files:
        stale = failing(files, edits)
        yield from ((file, rewritten(file.read_text("utf-8"), literals, edits)) for file, literals in stale.items())


def changed(root: Path) -> list[tuple[str, str]]:
    """Return the sentences of the package that are not as they were at the last commit: before and now."""
    names = [*_git(root, "diff", "--name-only", "--no-renames", "HEAD", "--", "shapecalc").splitlines()]
    names += _git(root, "ls-files", "--others", "--exclude-standard", "shapecalc").splitlines()
    before, now = set(), set()
    for name in names:
        file = root / name
        before |= sentences(name, _git(root, "show", f"HEAD:{name}"))
        now |= sentences(name, file.read_text("utf-8") if file.exists() else "")
    pairs = [(alike(old, new), old, new) for old in before - now for new in now - before]
    best = {old: new for _, old, new in sorted(pair for pair in pairs if pair[0] >= ALIKE)}
    return list(best.items())


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, encoding="utf-8", check=False).stdout


def sentences(name: str, text: str) -> set[str]:
    """Return what a file of the package can say: its strings, or the lines of a file of data."""
    if not name.endswith(".py"):
        return set(text.splitlines())
    return {said for _, said in strings(ast.parse(text)) if " " in said}


def strings(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the strings in a tree, each with its text; those made of pieces as one, with holes."""
    if isinstance(tree, ast.JoinedStr):
        yield tree, "".join(str(piece.value) if isinstance(piece, ast.Constant) else HOLE for piece in tree.values)
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree, tree.value
    else:
        for node in ast.iter_child_nodes(tree):
            yield from strings(node)


def tokens(text: str) -> list[str]:
    """Return the words of a text and the signs between them."""
    return re.findall(r"\w+|\W", text)


def alike(old: str, new: str) -> float:
    """Return how much of two sentences is the same, from 0 to 1."""
    matcher = SequenceMatcher(None, tokens(old), tokens(new), autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0


def edits_between(old: str, new: str) -> Iterator[Edit]:
    """Yield what was changed in a sentence.

    >>> [*edits_between("0 copies dim 1, which is 2", "0 takes over dim 1, which is 2")]
    [Edit(before='0 ', old='copies', new='takes over', after=' dim')]
    """
    words, others = tokens(old), tokens(new)
    for tag, begin, end, other_begin, other_end in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        before, after = "".join(words[:begin]), "".join(words[end:])
        before = re.search(rf"(\w+[^\w{HOLE}]*)?\Z", before)[0]
        after = re.match(rf"([^\w{HOLE}]*\w+)?", after)[0]
        was, now = "".join(words[begin:end]), "".join(others[other_begin:other_end])
        if tag == "equal" or HOLE in was + now:
            continue
        if was.strip():
            yield Edit(before, was, now, after)
        elif before:
            yield Edit("", f"{before}{was}", f"{before}{now}", after)
        elif after:
            yield Edit("", f"{was}{after}", f"{now}{after}", "")


def _edited(text: str, edits: list[Edit]) -> str:
    for edit in edits:
        text = edit.apply(text)
    return text


def _holds(file: Path, edits: list[Edit]) -> bool:
    text = file.read_text("utf-8")
    return _edited(text, edits) != text


def failing(files: list[Path], edits: list[Edit]) -> dict[Path, list[ast.expr]]:
    """Run the tests that hold changed words, and return those literals of the ones that fail."""
    chosen = Chosen(edits)
    words = [
        "-n",
        "0",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    with redirect_stdout(io.StringIO()):
        pytest.main([*words, *map(str, files)], plugins=[chosen])
    return chosen.stale


class Chosen:
    """Has pytest run only the tests that hold changed words, and keeps the literals of those that fail."""

    def __init__(self, edits: list[Edit]) -> None:
        self.edits = edits
        self.trees: dict[Path, ast.Module] = {}
        self.stale: dict[Path, list[ast.expr]] = defaultdict(list)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if isinstance(item, pytest.Function) and self.literals(item)]

    def pytest_runtest_logreport(self, report):
        if report.failed and report.when == "call":
            self.stale[self.running.path] += self.literals(self.running)

    def pytest_runtest_setup(self, item):
        self.running = item

    def literals(self, item) -> list[ast.expr]:
        """Return the literals with changed words that a test holds: in its function, and in its row of a table."""
        tree = self.trees.get(item.path) or self.trees.setdefault(item.path, ast.parse(item.path.read_text("utf-8")))
        bodies = [node.body for node in ast.walk(tree) if getattr(node, "name", None) == item.originalname]
        lines = [line for body in bodies for line in body]
        inside = [found for line in lines for found in strings(line)]
        names = {node.id for line in lines for node in ast.walk(line) if isinstance(node, ast.Name)}
        for node in tree.body:
            if isinstance(node, ast.Assign) and any(getattr(target, "id", None) in names for target in node.targets):
                inside += strings(node)
        row = {*_texts(getattr(item, "callspec", None) and item.callspec.params)}
        inside += [found for found in strings(tree) if found[1] in row]
        return [node for node, text in inside if _edited(text, self.edits) != text]


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.values()])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def rewritten(text: str, literals: list[ast.expr], edits: list[Edit]) -> str:
    """Return the text of a test file with changed words in some of its literals."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    source = b"".join(lines)
    spans = {
        (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)
        for node in literals
    }
    for begin, end in sorted(spans, reverse=True):
        source = source[:begin] + _edited(source[begin:end].decode(), edits).encode() + source[end:]
    return source.decode()
