"""Rearrange against einops itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from shapecalc.core.ask import ask
from shapecalc.core.resolve import resolve
from shapecalc.core.values import read_lengths
from shapecalc.engine.execute import run
from tests.sampling import examples
from tests.strategies import rearrangements

einops = pytest.importorskip("einops", reason="einops is not installed")


@examples(400)
@given(rearrangements())
def test_einops_agrees_or_both_fail(drawn):
    shape, arguments = drawn
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    lengths = read_lengths(arguments["lengths"]) if arguments["lengths"] else {}
    try:
        expected = einops.repeat(array, arguments["pattern"], **lengths)
    except (einops.EinopsError, ValueError, ZeroDivisionError):
        expected = None
    trace = resolve(ask("rearrange", shape, arguments))
    if expected is None:
        assert trace.output is None
    else:
        assert np.array_equal(run(trace, array).array, expected)
