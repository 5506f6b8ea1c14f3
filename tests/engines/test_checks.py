"""Layers and functions of PyTorch with sizes that fit and that do not: code answers and refuses as PyTorch does."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shapecalc.core.dims import Monomial
from shapecalc.core.problem import USAGE, ShapeError
from shapecalc.reading.checks import CHECKED_FUNCTIONS, CHECKED_LAYERS
from shapecalc.reading.code import interpret_code
from shapecalc.reasoning.answers import answer_code
from tests.engines.drawing import rows

PYTHON = os.environ.get("SHAPECALC_TORCH_PYTHON") or (find_spec("torch") and sys.executable)
DRAWS = 25
"""The number of inputs that each row is drawn with."""
SIZES = (1, 2, 3, 4, 6)
ROWS = rows("checked")


def draw_request(line, ranks, chance, *, has_second):
    """Return code and the shapes of its inputs; about half of the sizes fit."""
    shape = [chance.choice(SIZES) for _ in range(int(chance.choice(ranks)))]
    rank = len(shape)
    last = shape[chance.randint(0, rank) :] or [4]
    texts = {
        "{c}": str(chance.choice([*shape[-3:], chance.choice(SIZES)])),
        "{a}": str(chance.randint(-rank - 1, rank)),
        "{k}": str(chance.choice([1, 2, 2, 3])),
        "{d}": str(tuple(last if chance.random() < 0.7 else [chance.choice(SIZES)])),
    }
    line = line.replace("\\n", "\n")
    for hole, text in texts.items():
        line = line.replace(hole, text)
    inputs = {"x": shape}
    if has_second:
        second = [size if chance.random() < 0.8 else chance.choice(SIZES) for size in shape]
        inputs["w"] = chance.choice([second, second[::-1], second[1:], shape[:1] + shape[::-1][:-1], [1, *second]])
    return {"code": line, "inputs": inputs}


def answer_of(request):
    """Return the shape of code, None if it is refused, or the text of a question."""
    code = request["code"]
    try:
        named = {name: tuple(dims) for name, dims in request["inputs"].items() if re.search(rf"\b{name}\b", code)}
        reading = interpret_code(code, named)
    except ShapeError as error:
        return str(error) if error.problem.rule == USAGE else None
    answer = answer_code(reading)
    if reading.outputs:
        return [[*output] for output in reading.outputs]
    return None if answer.output is None else [*answer.output]


def agrees(answer, expected):
    """Return whether shapes are equal, except for sizes that depend on elements."""
    if isinstance(answer, list) and isinstance(expected, list):
        return len(answer) == len(expected) and all(map(agrees, answer, expected))
    return answer == expected or isinstance(answer, Monomial)


def answers_of_torch(requests):
    """Return the shape of each request in PyTorch, or None."""
    lines = "\n".join(map(json.dumps, requests))
    worker = Path(__file__).with_name("code_worker.py")
    ran = subprocess.run([PYTHON, str(worker)], input=lines, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and SHAPECALC_TORCH_PYTHON names no Python that has it")
def test_code_answers_and_refuses_as_torch_does():
    chance = random.Random(7)
    requests = [
        draw_request(line, ranks, chance, has_second=re.search(r"\bw\b", line) is not None)
        for line, ranks in ROWS
        for _ in range(DRAWS)
    ]
    wrong = []
    for request, expected in zip(requests, answers_of_torch(requests), strict=True):
        answer = answer_of(request)
        is_question = isinstance(answer, str)
        if not agrees(answer, expected) and not (is_question and expected is None):
            wrong.append((request["code"], request["inputs"], answer, expected))
    assert wrong == []


def test_every_checked_layer_is_drawn():
    text = "\n".join(line for line, _ in ROWS)
    undrawn = [
        name
        for name in ({*CHECKED_LAYERS, *CHECKED_FUNCTIONS} - {"DropPath", "StochasticDepth"})
        if f"{name}(" not in text
    ]
    assert undrawn == []
