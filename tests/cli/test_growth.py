"""Growth of the number of calls with the number of dims; `tests/benchmarks/growth.py` measures seconds."""

from __future__ import annotations

import sys

import pytest

from tests.benchmarks.growth import named, ones, questions

BASE_COUNT = 12
MAX_RATIO = {named: 30, ones: 20}
"""The largest ratio of calls at ten times the dims; the stride of an axis is a product of all later names."""


def count_calls(shapecalc, words, stdin):
    """Return the number of function calls of a command line, C functions included."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    shapecalc(*words, stdin=stdin)  # imports and caches of the first run are not counted
    sys.setprofile(profile)
    try:
        shapecalc(*words, stdin=stdin)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [named, ones])
@pytest.mark.parametrize("name", questions("2"))
def test_call_count_grows_linearly_with_dims(shapecalc, shape, name):
    few, many = (count_calls(shapecalc, *questions(shape(count))[name]) for count in (BASE_COUNT, 10 * BASE_COUNT))
    assert many < MAX_RATIO[shape] * few
