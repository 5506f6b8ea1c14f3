"""The conventions of code by framework: every dialect has a row, and no function compares names of dialects."""

from __future__ import annotations

import ast

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.record import fields
from shapecalc.reading.code.conventions import CODE_CONVENTIONS
from shapecalc.reading.code.source import MODULE_DIALECTS
from shapecalc.reading.framework_words import FRAMEWORKS
from tests.core.test_semantics import is_decided
from tests.structure import PACKAGE, SOURCES


def dialect_comparisons(text):
    """Return the comparisons with the name of a dialect in Python code."""
    comparisons = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare)]
    return [
        ast.unparse(node)
        for node in comparisons
        if any(isinstance(part, ast.Constant) and part.value in DIALECTS.names for part in ast.walk(node))
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


def test_reading_compares_no_names_of_dialects():
    assert dialect_comparisons("if x.dialect in ('numpy', 'jax'): pass") == ["x.dialect in ('numpy', 'jax')"]
    files = [file for file in SOURCES if file.relative_to(PACKAGE).parts[0] == "reading"]
    assert len(files) > 30
    found = {file.name: rows for file in files if (rows := dialect_comparisons(file.read_text("utf-8")))}
    assert found == {}, "add a field to CodeConventions, or an argument to a signature"
