"""The truth of results: `assert sc.equiv(a, b)` must not pass for chains that differ."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.ops import OPS
from shapecalc.reasoning.equiv import EquivalenceVerdict

TRUTHS = {
    "compare": (lambda: sc.compare((2, 3, 4), (6, -1)), lambda: sc.compare((2, 3, 4), (0, -1))),
    "equiv": (
        lambda: sc.equiv("2,3 | transpose", "| transpose 1,0"),
        lambda: sc.equiv("2,3 | transpose", "| reshape 3,2"),
    ),
    "find": (lambda: sc.find((2, 3), (3, 2)), lambda: sc.find((2, 3), (5, 7))),
    "invert": (lambda: sc.invert("2,3 | transpose"), lambda: sc.invert("2,3 | slice 1:")),
    "match": (lambda: sc.match("2,3", (2, 3)), None),
    "simplify": (lambda: sc.simplify("2,3 | transpose | transpose"), lambda: sc.simplify("2,3 | transpose")),
}
"""A true and a false result of each function; None for a function that raises instead."""
ALWAYS_TRUE = {
    *("chain", "shape_text", "code", "permute", "size", "check_code", "doctor", "model", "assert_shape", "shapes"),
}
"""Functions whose results are values, and that raise `ShapeError` for a refused request, as ops do."""


def test_truth_is_decided_for_all_public_functions():
    functions = {name for name in sc.__all__ if not isinstance(getattr(sc, name), type)}
    assert functions == TRUTHS.keys() | ALWAYS_TRUE | {*OPS}
    for name, (true, _) in TRUTHS.items():
        assert "__bool__" in vars(type(true())), name


@pytest.mark.parametrize("name", TRUTHS)
def test_truth_of_results(name):
    true, false = TRUTHS[name]
    assert true()
    assert false is None or not false()


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("N,C | reshape 0,-1", "| reshape -1,C", EquivalenceVerdict.SAME),
        ("N,3 | transpose", "| reshape 3,N", EquivalenceVerdict.SAME_WHEN),
        ("N,C | slice 1: | flip 0", "| flip 0 | slice :-1", EquivalenceVerdict.UNDECIDED),
    ],
)
def test_truth_of_equivalence_under_conditions_is_an_error(first, second, verdict):
    result = sc.equiv(first, second)
    assert result.verdict is verdict
    if verdict is EquivalenceVerdict.SAME:
        assert result
    else:
        with pytest.raises(TypeError, match=r"\.verdict"):
            bool(result)
