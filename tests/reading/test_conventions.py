"""The conventions of code by framework: every dialect has a row, and no function compares names of dialects."""

from __future__ import annotations

import ast

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.ops.strides import STRIDED_DIALECTS
from shapecalc.core.record import fields
from shapecalc.reading.code.conventions import CODE_CONVENTIONS
from shapecalc.reading.code.source import MODULE_DIALECTS
from shapecalc.reading.framework_words import FRAMEWORKS
from tests.core.test_semantics import is_decided
from tests.structure import PACKAGE, SOURCES

COMPARING = {"diagnosis": "", "cli": "answer.py", "engine": "execute.py"}
"""The packages with comparisons: doctor explains messages of one framework each; the others name targets of code and
backends."""


def dialect_comparisons(text):
    """Return the comparisons with the name of a dialect in Python code."""
    comparisons = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare)]
    sides = {node: [node.left, *node.comparators] for node in comparisons}
    return [
        ast.unparse(node)
        for node, parts in sides.items()
        if any(
            isinstance(word, ast.Constant) and word.value in DIALECTS.names
            for part in parts
            for word in getattr(part, "elts", [part])
        )
    ]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_has_conventions(name):
    assert is_decided(CODE_CONVENTIONS, DIALECTS[name]), f"add {name} to a row of CODE_CONVENTIONS"


def test_every_framework_with_a_call_has_modules():
    frameworks = {name for op in OPS for call in parse_signatures(op) for name in call.frameworks.split()}
    missing = frameworks - {*MODULE_DIALECTS.values()} - {"einops"}
    assert not missing, f"add the modules of {', '.join(missing)} to MODULE_DIALECTS"
    assert {*MODULE_DIALECTS.values()} <= DIALECTS.keys()
    missing = frameworks - {*FRAMEWORKS} - {"einops"}
    assert not missing, f"add {', '.join(missing)} to FRAMEWORKS of reading/framework_words.py"


def test_every_convention_differs_between_dialects():
    rows = [fields(row) for row in CODE_CONVENTIONS.values()]
    assert all(len({row[name] for row in rows}) > 1 for name in rows[0])


def test_strided_dialects_are_those_of_the_ops():
    strided = {name for name, row in DIALECTS.items() if CODE_CONVENTIONS.for_dialect(row).is_strided}
    assert strided == STRIDED_DIALECTS, "decide the strides of the results of ops in core/ops/strides.py"


def test_no_names_of_dialects_are_compared():
    assert dialect_comparisons("if x.dialect in ('numpy', 'jax'): pass") == ["x.dialect in ('numpy', 'jax')"]
    assert dialect_comparisons("x == 'torch' or DIALECTS['torch'] in rows") == ["x == 'torch'"]
    files = [(file.relative_to(PACKAGE).parts[0], file) for file in SOURCES]
    checked = [file for package, file in files if COMPARING.get(package, file) not in ("", file.name)]
    assert len(checked) > 200
    found = {file.name: rows for file in checked if (rows := dialect_comparisons(file.read_text("utf-8")))}
    assert found == {}, "add a field to the table of the op, to CodeConventions or to ArrayFramework"
