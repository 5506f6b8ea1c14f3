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
from shapecalc.reading.code.calls import LIST_FUNCTIONS, SHAPE_PRESERVING_FUNCTIONS, is_known_function
from shapecalc.reading.code.kinds import KIND_RULES
from shapecalc.reading.code.layer_evaluation import is_known_layer
from shapecalc.reading.code.namespaces import FUNCTIONAL, NOT_IN_TORCH, NOT_METHODS
from shapecalc.reading.code.ops import SHAPE_CHANGING_FUNCTIONS
from shapecalc.reading.code.shape_functions import SHAPE_FUNCTION_NAMES
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS, SIZE_FUNCTIONS
from shapecalc.reading.code.tuple_layers import FUNCTIONS_OF_LAYERS, OPLESS_LAYERS
from shapecalc.reading.code.values import tensors_in
from shapecalc.reading.layers import LAYERS, MULTI_OPERAND_FUNCTIONS
from shapecalc.reasoning.answers import answer_code
from tests.engines.drawing import rows
from tests.fuzz.programs import UNCHECKED

PYTHON = os.environ.get("SHAPECALC_TORCH_PYTHON") or (find_spec("torch") and sys.executable)
DRAWS = 12
"""The number of inputs that each row is drawn with."""
SIZES = (1, 2, 3, 4, 6)
ROWS = rows("checked")


CASTS = ("bool", "long", "cfloat")
"""The methods that cast to another kind of elements."""
CAST_CHANCE = 0.2
EMPTY_CHANCE = 0.1
"""The part of the inputs that have a dim of size 0."""
NUMBERS = "numbers"
"""The answer of PyTorch to code that it refuses because of the values of elements."""


def draw_request(line, ranks, chance, *, has_second):
    """Return code and the shapes of its inputs; about half of the sizes fit."""
    shape = [chance.choice(SIZES) for _ in range(int(chance.choice(ranks)))]
    rank = len(shape)
    if rank and chance.random() < EMPTY_CHANCE:
        shape[chance.randrange(rank)] = 0
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
    methods = {
        name: "float" if re.search(rf"\b{name}(\[.*?\])?\.long\(\)", line) else draw_cast(chance) for name in inputs
    }
    casts = [f"{name} = {name}.{method}()\n" for name, method in methods.items()]
    return {"code": "".join(casts) + line, "inputs": inputs}


def draw_cast(chance):
    """Return the method that casts an input to its kind of elements, most often float."""
    return chance.choice(CASTS) if chance.random() < CAST_CHANCE else "float"


def answer_of(request):
    """Return the shape and the possible kinds of code, the rule that refuses it, or the text of a question."""
    code, records = request["code"], []
    try:
        reading = interpret_code(code, {name: tuple(dims) for name, dims in request["inputs"].items()}, records=records)
    except ShapeError as error:
        return str(error) if error.problem.rule == USAGE else error.problem.rule
    answer = answer_code(reading)
    if answer.problem:
        return answer.problem.rule
    kinds = [tensor.kinds for tensor in tensors_in(records[-1].names[""])]
    if reading.outputs:
        return [[*output] for output in reading.outputs], kinds
    return [*answer.output], kinds[0] if len(kinds) == 1 else kinds


def is_right(request, answer, expected):
    """Return whether an answer is that of PyTorch, which checks less of tensors without elements."""
    is_empty = any(0 in shape for shape in request["inputs"].values()) or "x[:0]" in request["code"]
    if isinstance(answer, str):
        if expected in (None, NUMBERS):
            return True
        return (is_empty or 0 in expected[0]) and f"{answer}*" in UNCHECKED
    if is_empty and re.search("(?i)pixel_?unshuffle", request["code"]):
        return True  # a CPU keeps the shape of an empty tensor, and the meta device does not
    return agrees(answer, expected)


def agrees(answer, expected):
    """Return whether shapes are equal, except for sizes that depend on elements, and whether the kind is possible."""
    if expected == NUMBERS:
        return True
    if isinstance(answer, list | tuple) and isinstance(expected, list):
        return len(answer) == len(expected) and all(map(agrees, answer, expected))
    if isinstance(answer, str):
        return all(kind in answer for kind in expected or "-")
    return answer == expected or isinstance(answer, Monomial)


def answers_of_torch(requests):
    """Return the shape and the kind of each request in PyTorch, or None."""
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
    pairs = zip(requests, answers_of_torch(requests), strict=True)
    wrong = [
        (request["code"], request["inputs"], answer, expected)
        for request, expected in pairs
        if not is_right(request, answer := answer_of(request), expected)
    ]
    assert wrong == []


UNDRAWN = """
AveragePooling2D Conv2D Dense DropPath MaxPooling2D PRNGKey Permute Rearrange Reshape StochasticDepth TensorShape array
array_split as_list ascontiguousarray astype cast constant convert_to_tensor copy default_rng eval expand_dims get_shape
identity isqrt len list mod pack permute_dimensions permute_dims power rank rearrange reduce reduce_max reduce_mean
reduce_min reduce_sum rollaxis stop_gradient take_along_axis tuple unpack unstack tensorflow.tile tf.tile random shape
Generator Size cuda device from_numpy get_device is_complex is_contiguous is_floating_point item numpy finfo iinfo
dispatch_attention_fn equal allclose is_same_size is_nonzero is_signed
"""
"""The calls of other libraries, and those that return no tensor or need a device or an array."""


def test_every_known_call_is_drawn():
    text = "\n".join(line for line, _ in ROWS)
    known = {
        *(*CHECKED_LAYERS, *CHECKED_FUNCTIONS, *SHAPE_CHANGING_FUNCTIONS, *SHAPE_PRESERVING_FUNCTIONS, *SIZE_FUNCTIONS),
        *(*LAYERS, *MULTI_OPERAND_FUNCTIONS, *CREATION_FUNCTIONS, *SHAPE_FUNCTION_NAMES, *LIST_FUNCTIONS),
        *(*OPLESS_LAYERS, *FUNCTIONS_OF_LAYERS),
    }
    assert {name for name in known if not re.search(rf"(?<!\w){re.escape(name)}\(", text)} == {*UNDRAWN.split()}


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and SHAPECALC_TORCH_PYTHON names no Python that has it")
def test_namespaces_are_those_of_torch():
    known = {*SHAPE_CHANGING_FUNCTIONS, *SHAPE_PRESERVING_FUNCTIONS, *LAYERS, *SHAPE_FUNCTION_NAMES}
    sets = [sorted(names) for names in (FUNCTIONAL, NOT_METHODS, NOT_IN_TORCH, known - FUNCTIONAL)]
    lines = [
        "import json, sys, torch",
        "functional, missing, absent, others = json.load(sys.stdin)",
        "F = torch.nn.functional",
        "wrong = [name for name in functional if not hasattr(F, name)]",
        "wrong += [name for name in missing if hasattr(torch.Tensor, name)]",
        "wrong += [name for name in absent if hasattr(torch, name)]",
        "wrong += [name for name in others if hasattr(F, name)]",
        "print(json.dumps(wrong))",
    ]
    command = [PYTHON, "-c", "\n".join(lines)]
    ran = subprocess.run(command, input=json.dumps(sets), capture_output=True, text=True, check=True, timeout=300)
    assert json.loads(ran.stdout) == []


def test_every_kind_rule_is_of_a_known_call():
    known = {name for name in KIND_RULES if is_known_function(name) or is_known_function(f"{name}_")}
    assert {name for name in {*KIND_RULES} - known if not is_known_layer(name)} == {
        "invert",
        "reflected",
        "absolute_difference",
    }
