"""Shapes split at their commas, as by PowerShell, and more words than an op takes.

Both are usage errors that suggest the likely intended line.
"""

from __future__ import annotations

import json
import shlex

import pytest

from shapecalc.cli.usage_hints import extra_words_error, split_shape_error
from shapecalc.core.ops import OPS
from tests.cli.conftest import rows
from tests.sampling import each_row

QUOTED = [line for (line,) in rows("quoted.txt")]


@each_row("line", QUOTED)
def test_split_shape_is_shown_quoted_and_answered(line, shapecalc):
    ran = shapecalc(*line.replace('"', "").replace(",", " ").split())
    hint = json.loads(ran.out)["problem"]["hint"] if "--json" in line else ran.err.rstrip(")\n")
    assert (ran.code, hint.partition(": shapecalc ")[2]) == (2, line)
    if line.split()[0] in OPS:
        assert shapecalc(*shlex.split(line)).code == 0


def test_split_shape_covers_every_unary_op():
    unary_ops = {name for name, op in OPS.items() if "operands" not in op.positional_param_names}
    assert {line.split()[0] for line in QUOTED} >= unary_ops - {"shape", "space_to_depth", "rearrange"}


def test_split_shape_keeps_quoted_options():
    error = split_shape_error(["reshape", "N,C", "-1", "--where", "N=8", "C=3", "--expect", "24"])
    assert error.problem.hint.endswith('shapecalc reshape "N,C" -1 --where "N=8,C=3" --expect 24')
    assert "'$HOME'" in split_shape_error(["reshape", "2", "3", "6", "-o", "$HOME"]).problem.hint


@pytest.mark.parametrize(("line", "intended"), rows("words_meant.txt"))
def test_split_shape_intended_line_is_answered(line, intended, shapecalc):
    ran = shapecalc(*line.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.endswith(f"(write shapecalc {intended})\n")
    assert shapecalc(*shlex.split(intended)).code == 0


def test_split_shape_prefers_a_line_that_resolves():
    assert extra_words_error(["squeeze", "2,1,3", "1", "0"]).problem.hint == "write shapecalc squeeze 2,1,3 1,0"


@pytest.mark.parametrize(
    "line",
    [
        *("reshape 2,3 6 7", "reshape 2 3 x!", "reshape 2 3 [4]", "reshape 2 3 4 --nope", "chain 2 3", "tui", ""),
        *("reshape 2 --expect 6 2 --nope", "squeeze --axes 0 2 1 3 1", f"reshape {'2 3 ' * 40}"),
    ],
)
def test_split_shape_ignores_other_errors(line):
    assert split_shape_error(line.split()) is None


@pytest.mark.parametrize("line", ["", "nope 2", "reshape 2,3 6", f"flatten 2 {'1 ' * 70}"])
def test_extra_words_ignore_other_errors(line):
    assert extra_words_error(line.split()) is None
