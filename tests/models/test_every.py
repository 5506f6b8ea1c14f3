"""Every node in names: what is told of a tensor is what ONNX Runtime makes, and what is not told is counted."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from shapecalc.models.every import every_node
from shapecalc.models.file import model_of
from shapecalc.models.judge import judged_model
from shapecalc.models.report import shape_words
from tests.models.judging import graph_model
from tests.models.samples import session

F = np.float32
WINDOW = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
PATCH = {"kernel_shape": [14, 14], "strides": [14, 14]}
WEIGHT = ("w", np.zeros((4, 2, 14, 14), F))


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], **attributes)


def told(nodes, shape, constants=()):
    """Return the last output as it is told, the names of results, the model, and all that is told."""
    model = graph_model(nodes, [("x", shape)], [nodes[-1].output[0]], constants, shapes=False)
    found = judged_model(model_of(model, Path("m.onnx"), {}))
    every = every_node(found.walk, found.judge)
    return every.nodes[-1].outputs[0], every.results, model, every


POOLED = [node("MaxPool", "x", "p", **WINDOW), node("MaxPool", "p", "q", **WINDOW)]
CASES = {
    "window": (POOLED, ["N", 2, "H", "W"], (), "N,2,H2,W2"),
    "patch": ([node("Conv", "x w", "y", **PATCH)], ["N", 2, "H", 30], [WEIGHT], "N,4,H1,2"),
    "levels": (
        [
            *POOLED,
            node("Reshape", "p t", "a"),
            node("Reshape", "q t", "b"),
            node("Reshape", "x t", "c"),
            node("Concat", "a b c", "y", axis=2),
        ],
        ["N", 2, "H", "W"],
        [("t", np.array([0, 0, -1]))],
        "N,2,H3",
    ),
    "padded to a multiple": (
        [
            node("Shape", "x", "s", start=1, end=2),
            node("Mod", "s m", "r"),
            node("Sub", "m r", "d"),
            node("Mod", "d m", "e"),
            node("Concat", "zz zz zz e", "v", axis=0),
            node("Pad", "x v", "y"),
        ],
        ["N", "S"],
        [("m", np.array([7])), ("zz", np.array([0]))],
        "N,7*S1",
    ),
    "half": (
        [
            node("Shape", "x", "s", start=1, end=2),
            node("Div", "s two", "h"),
            node("Slice", "x h s one", "y"),
        ],
        ["N", "S"],
        [("two", np.array([2])), ("one", np.array([1]))],
        "N,S1",
    ),
    "at most four": (
        [node("Slice", "x a b c", "y")],
        ["N", "S"],
        [(n, np.array([v])) for n, v in zip("abc", (0, 4, 1), strict=True)],
        "N,?",
    ),
    "by data": ([node("NonZero", "x", "n"), node("Cast", "n", "y", to=1)], ["N", "S"], (), "?"),
}


@pytest.mark.parametrize(("nodes", "shape", "constants", "expected"), CASES.values(), ids=CASES)
def test_what_is_told_is_what_runs_at_other_sizes(nodes, shape, constants, expected):
    tensor, results, model, every = told(nodes, shape, constants)
    assert shape_words(tensor.shape) == expected
    assert (every.unknown + every.shapeless > 0) == ("?" in expected)
    runtime = session(model)
    for batch, height, width in [(1, 33, 40), (2, 47, 29), (3, 64, 51), (5, 70, 38)]:
        sizes = {"N": batch, "H": height, "W": width, "S": height}
        made = runtime.run(None, {"x": np.ones([sizes.get(dim, dim) for dim in shape], F)})[0].shape
        for name, definition in results.items():
            sizes[name] = eval(definition, None, sizes)
        dims = zip(tensor.shape or (None,) * len(made), made, strict=True)
        assert all(dim is None or eval(str(dim), None, sizes) == size for dim, size in dims)


def test_elements_and_bytes_are_those_at_the_sizes_that_are_told():
    tensor, _, _, every = told(POOLED, [4, 2, "H", 64])
    assert every.counted_at == {"N": 4, "H": 64}
    assert (tensor.elements, tensor.bytes, tensor.type) == (prod((4, 2, 16, 16)), 4 * prod((4, 2, 16, 16)), "float32")
    assert [(made.name, made.bytes) for _, made in every.largest] == [("p", 32768), ("q", 8192)]
    assert every.results == {"H1": "(H - 1)//2 + 1", "H2": "(H1 - 1)//2 + 1"}
