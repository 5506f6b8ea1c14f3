"""Lines of code: shapecalc's answer equals the result of the library on an array."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.engine.execute import run
from shapecalc.reading.code import interpret_code
from shapecalc.reasoning.answers import answer_chain
from tests.engines.drawing import rows
from tests.sampling import each_row

LINES = [(name, *row) for names, *row in rows("lines") for name in names.split()]


def answer_line(line, shape, library):
    """Return the answer to a line; None if the parser or a rule refuses it."""
    try:
        read = interpret_code(line, {"x": shape}, "numpy" if library == "numpy" else None)
    except ShapeError:
        return None
    answer = answer_chain(read.input_shape, read.stages, {})
    return None if answer.problem else answer


@each_row(("library", "shape", "line"), LINES)
def test_code_lines_match_the_library(library, shape, line):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    shape = tuple(map(int, shape.split(",")))
    names = {"x": module.arange(int(np.prod(shape))).reshape(shape), "np": np, "torch": module}
    if library == "torch":
        names |= {"F": import_module("torch.nn.functional"), "nn": import_module("torch.nn")}
    try:
        expected = np.asarray(eval(line, names))  # a line of the table
    except (ValueError, IndexError, RuntimeError):
        expected = None
    answer = answer_line(line, shape, library)
    if expected is None:
        assert answer is None
    else:
        assert np.array_equal(run(answer, np.asarray(names["x"])).array, expected)
