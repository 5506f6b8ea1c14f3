"""Shapes that a shell has split at their commas, as PowerShell does: usage, with the line as it must be quoted."""

from __future__ import annotations

import json
import shlex

import pytest

from shapecalc.cli.misread import split_shape_error
from shapecalc.core.ops import OPS

QUOTED = [
    'reshape "2,3,4" "0,-1"',
    'reshape "2,3,4" "0,-1" --json',
    'reshape "2,3,4" "0,-1" --expect "2,12"',
    'reshape "N,4" "2,6"',
    'reshape "N,C,H,W" "0,-1,64" -d onnx',
    'reshape "N,C" -1 --where "N=8,C=3"',
    'transpose "2,3,4"',
    'transpose "2,3,4" "1,0,2"',
    'shuffle "2,3,4" --first "1,0,2" --to "2,-1,3"',
    'flatten "2,3,4" --axis 1',
    'squeeze "1,3,1" --axes "0,2"',
    'unsqueeze 2 --axes "0,1"',
    'expand "3,1" "3,4"',
    'depth_to_space "1,8,2,3" 2 --mode DCR',
    'view "2,3,4" "6,4" --strides "12,4,1"',
    'select "2,3,4" 1 0',
    'flip "2,3,4" "0,2"',
    'roll "2,6,4" 1 2',
    'tile "2,3" "2,2"',
    'swapaxes "2,6,4" 0 2',
    'moveaxis "2,3,4" 0 2',
    'unflatten "2,12" 1 12',
    'split "2,6,4" 1 3 --part 1',
    'slice "2,3,4" 1:',
    'take "2,3,4" 1 "2,0"',
    'linear "2,3,4" 5',
    'linear "2,3,4" --weight "5,4"',
    'conv "1,3,8,8" "4,3,3,3"',
    'pool "1,3,8,8" "2,2" --stride "2,2"',
    'pad "2,3" "1,0,0,2"',
    'upsample "1,1,3,4" --size "6,8"',
    'compare "2,3,4" "0,-1"',
    'compare squeeze "1,3,1" --axes "0,2"',
    'tui reshape "2,3,4" "0,-1"',
    'serve reshape "2,3,4" "0,-1"',
]
"""Command lines as they are shown; without the quotes they are what PowerShell makes words of."""
OTHERS = [
    ["reshape", "2,3", "6", "7"],
    ["reshape", "2", "3", "x!"],
    ["reshape", "2", "3", "[4]"],
    ["reshape", "2", "3", "4", "--nope"],
    ["reshape", "2", "--expect", "6", "2", "--nope"],
    ["squeeze", "--axes", "0", "2", "1", "3", "1"],
    ["reshape", *"23" * 40],
    ["chain", "2", "3"],
    ["tui"],
    [],
]


def split(line):
    """Return the words that a shell makes of a line if it splits at commas."""
    return line.replace('"', "").replace(",", " ").split()


@pytest.mark.parametrize("line", QUOTED)
def test_a_line_that_a_shell_has_split_is_shown_in_quotes(line, shapecalc):
    ran = shapecalc(*split(line))
    said = json.loads(ran.out)["problem"]["hint"] if "--json" in line else ran.err.rstrip(")\n")
    assert (ran.code, said.partition(": shapecalc ")[2]) == (2, line)


@pytest.mark.parametrize("line", [line for line in QUOTED if line[:3] not in ("tui", "com", "ser")])
def test_the_line_that_is_shown_is_answered(line, shapecalc):
    assert shapecalc(*shlex.split(line)).code == 0


@pytest.mark.parametrize("words", OTHERS, ids=lambda words: " ".join(words)[:30])
def test_other_mistakes_are_left_alone(words):
    assert split_shape_error(words) is None


def test_options_that_were_quoted_stay_as_they_are():
    error = split_shape_error(["reshape", "N,C", "-1", "--where", "N=8", "C=3", "--expect", "24"])
    assert error.problem.hint.endswith('shapecalc reshape "N,C" -1 --where "N=8,C=3" --expect 24')
    assert "'$HOME'" in split_shape_error(["reshape", "2", "3", "6", "-o", "$HOME"]).problem.hint


def test_every_op_is_covered():
    takes_one = {name for name, op in OPS.items() if "operands" not in op.places}
    assert {line.split()[0] for line in QUOTED} >= takes_one - {"shape", "space_to_depth", "rearrange"}
