"""Words and questions that users of frameworks type; `hint` offers a line, and `none` suggests no other word."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shapecalc.core.ops import OPS
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import suggest_name
from shapecalc.reading.commands import resolve_aliases
from shapecalc.reading.word_code import translate_to_code
from tests.sampling import each_row
from tests.tables import rows

HERE = Path(__file__).parent
QUESTIONS = rows(HERE / "questions.txt")
TORCH_SCRIPT = """
import sys, torch
from torch import nn
from torch.nn import functional as F
E = torch.ones
for line in sys.stdin:
    try:
        result = eval(line)
        parts = [result] if isinstance(result, torch.Tensor) else result
        print("; ".join(",".join(map(str, part.shape)) or "[]" for part in parts))
    except RuntimeError:
        print("refused")
"""
MISSPELT = {
    "reshpe": "reshape",
    "trasnpose": "transpose",
    "sqeeze": "squeeze",
    "unsqueze": "unsqueeze",
    "flaten": "flatten",
    "concta": "concat",
    "einsm": "einsum",
    "splt": "split",
    "brodcast": "broadcast",
    "viwe": "view",
    "padd": "pad",
    "tiel": "tile",
    "rol": "roll",
    "matmull": "matmul",
    "rearange": "rearrange",
    "expnd": "expand",
    "doctr": "doctor",
    "modle": "model",
    "chekc": "check",
    "simplfy": "simplify",
}


@pytest.mark.parametrize(("line", "outcome"), rows(HERE / "framework_words.txt"))
def test_framework_word(line, outcome, shapecalc):
    ran = shapecalc(*shlex.split(line))
    if outcome == "none":
        assert (ran.code, ran.out, "did you mean" in ran.err) == (2, "", False)
    elif outcome.startswith("error"):
        assert ran.code != 0
        assert outcome.removeprefix("error ") in ran.err
    else:
        assert (ran.code, "; ".join(ran.out.splitlines())) == (0, outcome)


@pytest.mark.parametrize(("line", "outcome"), [(line, outcome) for _, line, _, outcome in QUESTIONS])
def test_everyday_question(line, outcome, shapecalc):
    ran = shapecalc(*shlex.split(line))
    answer = "; ".join(ran.out.splitlines()) if ran.code == 0 else "refused"
    assert (ran.code in (0, 3), answer) == (True, outcome)


def test_everyday_questions_agree_with_torch():
    python = os.environ.get("SHAPECALC_TORCH_PYTHON") or (find_spec("torch") and sys.executable)
    if not python:
        pytest.skip("PyTorch is not installed")
    text = "\n".join(expression for _, _, expression, _ in QUESTIONS)
    ran = subprocess.run([python, "-c", TORCH_SCRIPT], input=text, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [outcome for *_, outcome in QUESTIONS]


@each_row(("typed", "intended"), [*MISSPELT.items()])
def test_misspelt_word_is_helped(typed, intended):
    assert suggest_name(typed, [*OPS, "doctor", "model", "check", "simplify"]) == f"did you mean {intended}?"


WORDS = [name for op in OPS.values() for signature in parse_signatures(op.name) for name in signature.names]


@each_row("word", [*dict.fromkeys(WORDS)])
def test_word_agrees_with_its_code(word, shapecalc):
    for values in (["2,3"], ["2,3", "1"], ["2,3,4", "1"], ["2,3,4", "2", "1"], ["4,4", "2,2"], ["1,8,4,4", "2"]):
        try:
            line = resolve_aliases([word, *values])
        except ShapeError:
            continue  # a rank that the word does not take
        call = translate_to_code([word, *values])
        if line[0] == word or call is None:
            continue
        answers = [shapecalc(*words) for words in (line, [*call, "-d", line[-1]])]
        if {answer.code for answer in answers} == {0}:
            first = [answer.out.splitlines()[0] for answer in answers]  # PyTorch's max also returns the indices
            assert first[0] == first[1], (line, call)
