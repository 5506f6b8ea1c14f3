"""Every node in names: what is told of a tensor is what ONNX Runtime makes, and what is not told is counted."""

from __future__ import annotations

from math import prod

import pytest

from shapecalc.models.every import every_node
from shapecalc.models.report import shape_words
from tests.models.judging import outcome_of
from tests.models.samples import fed, run
from tests.models.text import model, sections


def told(proto):
    """Return all that is told of a model."""
    found = outcome_of(proto)
    return every_node(found.walk, found.judge)


@pytest.mark.parametrize(("text", "expected"), sections("every"))
def test_what_is_told_is_what_runs_at_other_sizes(text, expected):
    proto = model(text)
    every = told(proto)
    tensor = every.nodes[-1].outputs[0]
    assert shape_words(tensor.shape) == expected[0]
    assert (every.unknown + every.shapeless > 0) == ("?" in expected[0])
    for batch, height, width in [(1, 33, 40), (2, 47, 29), (3, 64, 51), (5, 70, 38)]:
        sizes = {"N": batch, "H": height, "W": width, "S": height}
        made = run(proto, fed(proto, **sizes))[0].shape
        for name, definition in every.results.items():
            sizes[name] = eval(definition, None, sizes)
        dims = zip(tensor.shape or (None,) * len(made), made, strict=True)
        assert all(dim is None or eval(str(dim), None, sizes) == size for dim, size in dims)


def test_elements_and_bytes_are_those_at_the_sizes_that_are_told():
    every = told(model(sections("every")[0].values[0].replace("(N,2,H,W)", "(4,2,H,64)")))
    tensor = every.nodes[-1].outputs[0]
    assert every.counted_at == {"N": 4, "H": 64}
    assert (tensor.elements, tensor.bytes, tensor.type) == (prod((4, 2, 16, 16)), 4 * prod((4, 2, 16, 16)), "float32")
    assert [(made.name, made.bytes) for _, made in every.largest] == [("p", 32768), ("y", 8192)]
    assert every.results == {"H1": "(H - 1)//2 + 1", "H2": "(H1 - 1)//2 + 1"}
