"""The shape of every line of functions that were recorded by running them with PyTorch 2.13."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shapecalc.core.text import parse_dims, shape_text
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.annotate import annotate
from shapecalc.reading.code.lines import collect_code_lines
from tests.cases import parts
from tests.sampling import each_row

HEADER = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
FUNCTIONS = [part for part in parts(Path(__file__).with_name("recorded.txt"), "--- ") if part[0]]
"""The name and the input of each function, and its lines; the recorded shapes follow `#:`."""


def read(title, lines):
    """Return the source, its lines with shapes, and the recorded shapes by line."""
    entry, _, given = title.partition(" | ")
    name, _, dims = given.partition("=")
    recorded = {
        number: line.partition("#: ")[2].split()
        for number, line in enumerate([*HEADER.splitlines(), *lines], 1)
        if "#: " in line
    }
    text = HEADER + "".join(f"{line.partition('  #: ')[0]}\n" for line in lines)
    records = []
    interpret_code(text, {name: parse_dims(dims)}, records=records, entry=entry)
    return text, collect_code_lines(records), recorded


@each_row(("title", "lines"), FUNCTIONS)
def test_every_line_has_its_recorded_shape(title, lines):
    _, rows, recorded = read(title, lines)
    told = {row.line: row.shapes for row in rows if not row.depth and row.shapes}
    for line, words in recorded.items():
        if ":" not in words and len(words) % 2 == 0 and words[0].isidentifier():
            assert {name: shape_text(shape) for name, shape in told[line].items()} == dict(
                zip(words[::2], words[1::2], strict=True)
            )
        else:
            assert [shape_text(shape) for shape in told[line].values()] == words
    assert told.keys() == recorded.keys()


@each_row(("title", "lines"), FUNCTIONS)
def test_annotated_code_is_the_same_code(title, lines):
    text, rows, recorded = read(title, lines)
    annotated = annotate(text, rows)
    assert ast.dump(ast.parse(annotated)) == ast.dump(ast.parse(text))
    assert annotate(annotated, rows) == annotated
    source = annotated.splitlines()
    assert all(words[-1] in source[line - 1].rpartition("  # ")[2] for line, words in recorded.items())


@pytest.mark.parametrize("result", ["outputs", "outputs[::-1]"])
def test_annotating_lists_twice_changes_nothing(result):
    text = f"def f(x):\n    outputs = [x, x.mT]\n    return {result}\n"
    records = []
    interpret_code(text, {"x": (2, 3)}, records=records)
    rows = collect_code_lines(records)
    annotated = annotate(text, rows)
    assert "# [0]: " in annotated
    assert annotate(annotated, rows) == annotated
