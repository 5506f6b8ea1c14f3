"""Code that is written for code that was read: both compute the same, or writing is refused."""

from __future__ import annotations

import re
from copy import deepcopy
from importlib import import_module
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapecalc.core.problem import ShapeError
from shapecalc.reading.code import interpret_code
from shapecalc.reasoning.answers import answer_chain
from shapecalc.render.code import find_generator
from tests.engines.drawing import rows

MOST_ELEMENTS = 2000


def library_names(library):
    names = {"np": np}
    if library == "torch":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        names |= {"torch": torch, "nn": import_module("torch.nn"), "F": import_module("torch.nn.functional")}
    return names


def tensor(library, shape):
    """Return a tensor with elements of both signs."""
    array = np.arange(-5.0, prod(shape) - 5).reshape(shape)
    return import_module("torch").from_numpy(array) if library == "torch" else array


def run_lines(lines, names):
    """Return `y` after the lines; None if the library refuses them or `y` has no or too many elements."""
    own = deepcopy({name: value for name, value in names.items() if not hasattr(value, "__name__")}) | {
        name: value for name, value in names.items() if hasattr(value, "__name__")
    }
    try:
        exec("\n".join(lines), own)  # lines of a table
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError):
        return None
    result = own["y"]
    return result if 0 < prod(getattr(result, "shape", (0,))) <= MOST_ELEMENTS else None


@st.composite
def programs(draw, library):
    """Draw lines that the library runs, and their inputs by name."""
    steps = [step for names, step in rows("written") if library in names.split()]
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4).map(tuple))
    names = library_names(library)
    inputs, lines = {"x": tensor(library, shape)}, ["y = x"]
    for number in range(draw(st.integers(1, 4))):
        shape = run_lines(lines, names | inputs).shape
        if not shape:
            break
        axis, other = draw(st.integers(0, len(shape) - 1)), draw(st.integers(0, len(shape) - 1))
        step = draw(st.sampled_from(steps))
        line = re.sub(r"\bw\b", f"w{number}", step).format(a=axis, b=other, size=shape[axis], last=shape[-1])
        added = {f"w{number}": tensor(library, shape)} if re.search(r"\bw\b", step) else {}
        if run_lines([*lines, line], names | inputs | added) is not None:
            inputs |= added
            lines.append(line)
    return [*lines, "y = y[None]"], inputs


def check_written_code(library, program):
    lines, inputs = program
    expected = run_lines(lines, library_names(library) | inputs)
    try:
        reading = interpret_code(
            "\n".join(lines), {name: tuple(value.shape) for name, value in inputs.items()}, library
        )
        reading.require_equal_elements("--as")
        answer = answer_chain(reading.input_shape, reading.stages, {})
        written = find_generator(library)(answer).text
    except ShapeError:
        return
    others = sorted(inputs.keys() - {"x"}, key="\n".join(lines).index)
    given_names = {f"x{number}": inputs[name] for number, name in enumerate(others, 1)}
    result = run_lines(written.splitlines(), library_names(library) | {"x": inputs["x"]} | given_names)
    assert np.array_equal(np.asarray(result), np.asarray(expected)), written


@given(programs("numpy"))
@settings(max_examples=300)
def test_written_numpy_code_computes_what_was_read(program):
    check_written_code("numpy", program)


def test_written_torch_code_computes_what_was_read():
    library_names("torch")
    given(programs("torch"))(settings(max_examples=300)(lambda program: check_written_code("torch", program)))()
