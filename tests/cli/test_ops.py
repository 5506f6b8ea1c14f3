"""The shared behaviour of ops on the command line. Answers and errors: `transcripts/ops.txt`."""

from __future__ import annotations

import shlex

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.requests import operator_of
from shapecalc.render.code import TARGETS
from tests.sampling import each_row

EXPLAIN_LINES = [
    "reshape 2,3,4 0,-1",
    "reshape N,C,H,W 0,-1,64",
    "reshape 2,2,3,2 -1,0,0",
    "shuffle 2,3,4 --first 1,0,2 --to 2,-1,3",
    "flatten N,C,H,W --axis 2",
    "chain 'N,C,H,W | reshape 0,0,-1 | transpose 0,2,1'",
]


@pytest.mark.parametrize("line", EXPLAIN_LINES)
def test_explain_fits_on_a_screen(line, shapecalc):
    short, full = (shapecalc(*shlex.split(line), explain) for explain in ("--explain", "--explain=all"))
    assert short.out == full.out
    lines = (short.err + short.out).splitlines()
    explanation = [line for line in lines if " rules; " not in line]  # the line about other rules follows it
    assert sum(max(1, -(-len(line) // 80)) for line in explanation) <= 24
    omitted = {*full.err.splitlines()} - {*lines}
    assert [line for line in lines if line.endswith(": --explain=all")] or all("engine" in line for line in omitted)
    assert "more picture" not in full.err


@each_row("op", OPS)
def test_help_examples_run(shapecalc, op):
    text = shapecalc(op, "-h").out
    examples = [shlex.split(line) for line in text.splitlines() if line.strip().startswith("shapecalc ")]
    assert len(examples) == 3
    assert text.index("shapecalc " + op + " ", 20) < text.index("Options:")
    for words in examples:
        assert shapecalc(*words[1:]).code == 0


@pytest.mark.parametrize("dialect", [name for name in TARGETS if name in DIALECTS])
def test_missing_op_hint_names_targets_with_a_writer(dialect, shapecalc):
    for op in OPS.values():
        if operator_of(op, DIALECTS[dialect]) is None:
            words = shlex.split(op.examples[0])
            has_hint = f"--as {dialect} writes it" in shapecalc(*words, "--dialect", dialect).err
            assert has_hint == (shapecalc(*words, "--as", dialect).code == 0), words
