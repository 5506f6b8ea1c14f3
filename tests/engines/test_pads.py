"""Pads in all modes agree with NumPy, JAX, PyTorch, TensorFlow, Paddle and ONNX Runtime: shapes, elements, refusals."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from shapecalc.core.ops.pad import MODE_PARAM
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.engine import run
from tests.engines.onnx_models import model, runtime_result, session_of
from tests.plans import size

COUNT = 400
OPSET = 22


def draw_pad(random, ranks=(1, 5), empty=True):
    """Return a shape and the arguments of a pad: any mode, any rank, padding around the limits of each mode."""
    sizes = (1, 2, 3, 4, 3, 2, 0) if empty else (1, 2, 3, 4)
    shape = tuple([random.choice(sizes) for _ in range(random.randint(*ranks))])
    axes = random.sample(range(len(shape)), random.randint(1, min(3, len(shape))))
    if random.random() < 0.6:
        axes = [*range(len(shape))][-len(axes) :]
    numbers = [random.choice((0, 0, 1, 2, 3, 4, -1, -2)) for _ in range(2 * len(axes))]
    arguments = {"padding": tuple(numbers), "axes": tuple([axis - random.choice((0, len(shape))) for axis in axes])}
    mode = random.choice(MODE_PARAM.choices)
    if mode != "constant" or random.random() < 0.5:
        arguments["mode"] = mode
    if mode == "constant" and random.random() < 0.5:
        arguments["fill"] = random.choice((7, -1.5))
    return shape, arguments


def array(shape):
    return np.arange(size(shape), dtype=np.float32).reshape(shape)


def elements_of(ours):
    """Return the shape and the elements of an answer on 0, 1, 2, ...; None if it is refused."""
    if ours.output is None:
        return None
    made = run(ours, array(ours.input)).array
    assert made.shape == ours.output
    return made.shape, made.ravel().tolist()


def answer(shape, arguments, dialect, **options):
    return resolve(make_request("pad", shape, {**arguments, "dialect": dialect, **options}))


@pytest.mark.parametrize("name", ["numpy", "jax", "torch", "tensorflow", "paddle"])
def test_library_pads_agree_or_both_refuse(engine, name):
    library, agreed = engine(name), 0
    for seed in range(COUNT):
        shape, arguments = draw_pad(Random(seed), empty=name != "paddle")
        expected = elements_of(ours := answer(shape, arguments, name))
        if name == "torch" and arguments.get("mode") == "wrap" and min(arguments["padding"]) < 0 and ours.problem:
            continue  # 2.13 reads memory that it has not written if nothing is left
        output, elements, *_ = library.query("pad", shape, arguments)
        found = None if output is None else (output, elements if elements is not None else [])
        if name == "torch" and ours.problem and found and 0 in output and min(arguments["padding"]) < 0:
            continue  # in modes it refuses an output without elements, but only if all dims that it pads are then empty
        agreed += expected is not None
        if expected is None or found is None or 0 in output:
            assert (expected and expected[0]) == (found and found[0]), (shape, arguments, ours.problem)
        else:
            assert expected == found, (shape, arguments)
    assert agreed > COUNT / 6


def test_onnxruntime_pads_agree_or_both_refuse():
    agreed = 0
    for seed in range(COUNT):
        shape, arguments = draw_pad(Random(seed), ranks=(1, 4))
        ours = answer(shape, arguments, "onnxruntime", opset=OPSET)
        if 0 in shape and ours.output is None:
            continue  # ONNX Runtime checks few limits of an empty input
        made, x = model("pad", shape, arguments, OPSET).SerializeToString(), array(shape)
        found = runtime_result(lambda made=made, x=x: session_of(made).run(None, {"x0": x})[0])
        expected = elements_of(ours)
        assert expected == (found if found is None else (found.shape, found.ravel().tolist())), (shape, arguments)
        agreed += expected is not None
    assert agreed > COUNT / 4
