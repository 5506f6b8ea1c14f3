"""The shared behaviour of ops on the command line. Answers and errors: `transcripts/ops.txt`."""

from __future__ import annotations

import shlex

import numpy as np
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


@pytest.mark.parametrize(
    ("chain", "compute"),
    [
        ("2,3,4 | reshape 6,4 order=F", lambda x: x.reshape((6, 4), order="F")),
        ("2,3,4 | reshape -1,4 --order F", lambda x: x.reshape((-1, 4), order="F")),
        ("2,3,4 | ravel order=F", lambda x: x.ravel(order="F")),
        ("2,3,4 | flatten order='C'", lambda x: x.flatten(order="C")),
        (
            "2,3,4 | transpose 1,0,2 | reshape 4,6 order=F | flatten -d numpy",
            lambda x: x.transpose(1, 0, 2).reshape((4, 6), order="F").ravel(),
        ),
    ],
)
def test_order_in_a_chain_is_numpys(chain, compute, tmp_path, shapecalc):
    np.save(tmp_path / "x.npy", np.arange(24).reshape(2, 3, 4))
    stages = chain.partition("|")[2]
    ran = shapecalc("chain", f"{tmp_path / 'x.npy'} |{stages}", "--out", str(tmp_path / "y.npy"))
    assert ran.code == 0
    assert np.array_equal(np.load(tmp_path / "y.npy"), compute(np.load(tmp_path / "x.npy")))


@pytest.mark.parametrize("stage", ["squeeze order=F", "reshape order=F", "reshape 6,4 order=A", "flatten --order"])
def test_order_in_a_chain_is_refused(stage, shapecalc):
    ran = shapecalc("chain", f"2,3,4 | {stage}")
    assert (ran.code, "take order=C and order=F" in ran.err) == (2, True)
