"""Helpers of libraries whose files are not beside the code: their shapes are those that the libraries returned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapecalc.core.text import parse_dims, shape_text
from shapecalc.reading.code import interpret_code
from shapecalc.reasoning.answers import answer_code
from tests import tables
from tests.sampling import each_row

HEADER = "import torch\nimport torch.nn as nn\n"
RELATIVE = """
from .mlp import Mlp
from .helpers import to_2tuple
from . import boxes as box_ops


def f(x):
    y = Mlp(8, 16, 12)(x)
    return y
"""


def shapes_of(code, **inputs):
    """Return the shapes of the results of code."""
    reading = interpret_code(code, {name: parse_dims(dims) for name, dims in inputs.items()})
    return [*map(shape_text, reading.outputs or [answer_code(reading).output])]


@each_row(("imported", "call", "dims", "shapes"), tables.rows(Path(__file__).with_name("libraries.txt")))
def test_library_helper_has_its_recorded_shape(imported, call, dims, shapes):
    module, name = imported.split()
    code = f"{HEADER}from {module} import {name}\n\n\ndef f(x):\n    return {call}\n"
    result = shapes_of(code, x=dims)
    assert [re.sub(r"K\d", "1", shape) for shape in result] == shapes.split()


def test_relative_imports_are_of_the_library_of_the_file():
    assert shapes_of(RELATIVE, x="2,5,8") == ["2,5,12"]
    with pytest.raises(Exception, match=r"Mlp.* is not known here"):
        shapes_of(RELATIVE.replace("to_2tuple", "helper").replace("box_ops", "other"), x="2,5,8")
