"""How the work of an answer grows with its shape: in calls, since `tests/benchmarks/growth.py` has the seconds."""

from __future__ import annotations

import sys

import pytest

from tests.benchmarks.growth import named, ones, questions

FEW = 12
MOST = {named: 30, ones: 20}
"""How many times the calls ten times the dims may take; the stride of an axis is a product of all names behind it."""


def calls(shapecalc, words, stdin):
    """Return how many calls of functions a command line takes, those in C included."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    shapecalc(*words, stdin=stdin)  # what is imported or kept at the first time is not counted
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
    few, many = (calls(shapecalc, *questions(shape(count))[name]) for count in (FEW, 10 * FEW))
    assert many < MOST[shape] * few
