"""Bounds on the files and calls of one request, unused names, and the length of functions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.structure import EXPLAINED_REQUEST, PACKAGE, SOURCES, count_op_names, iter_functions, measure_request


def test_explained_question_stays_within_file_and_call_bounds():
    (files, calls), (bare_files, bare_calls) = (
        measure_request(*EXPLAINED_REQUEST),
        measure_request(*EXPLAINED_REQUEST[:-1]),
    )
    assert {"__main__.py", "core/resolve.py"} < {*bare_files} < {*files}
    assert 0 < bare_calls < calls
    assert len(files) <= 26
    assert calls <= 220


def test_op_names_are_written_in_ops_and_dialects():
    counts = count_op_names()
    worst = ", ".join([f"{file} {count}" for file, count in [*counts.items()][:10]])
    assert 0 < sum(counts.values()) <= 200, f"{sum(counts.values())} in {len(counts)} files: {worst}"


def test_standard_streams_are_not_replaced():
    targets = {
        (file.relative_to(PACKAGE).as_posix(), ast.unparse(node))
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    assert len(targets) > 100
    assert [place for place in targets if place[1] in ("sys.stdin", "sys.stdout", "sys.stderr")] == []


def iter_module_names(source: str) -> Iterator[str]:
    """Yield the names that a module binds, except imports and decorated functions."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from () if node.decorator_list else (node.name,)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def test_module_names_are_used():
    """Commands and dialects are exempt, because they are looked up by name."""
    sources = {file.relative_to(PACKAGE).as_posix(): file.read_text("utf-8") for file in SOURCES}
    tables = [file.read_text("utf-8") for file in (PACKAGE.parent / "tests" / "man").glob("*.py")]
    words = Counter(word for text in [*sources.values(), *tables] for word in re.findall(r"\w+", text))
    unused = {
        f"{name} in {file}"
        for file, source in sources.items()
        for name in iter_module_names(source)
        if words[name] == 1 and not name.startswith("__")
        if not (file.startswith("cli/") and name.endswith("_COMMAND")) and not file.startswith("core/dialects/")
    }
    assert unused == set()


@pytest.mark.slow
def test_functions_are_short():
    assert [f"{name} in {file}: {lines} lines" for lines, name, file in iter_functions() if lines >= 60] == []
