"""Messages that are not known: two shapes or two sizes in a sentence that reports a failure."""

from __future__ import annotations

import pytest

from shapecalc.diagnosis.fallback import find_unknown_mismatch
from shapecalc.diagnosis.report import diagnose

SHAPES = "FooError: got shape (4, 729, 8), but the cache has (4, 256, 8)"
TRACEBACK = """Traceback (most recent call last):
  File "/srv/a.py", line 12, in f
    y = fuse(query, cache)
foo.ShapeError: incompatible sizes for axis 1: 729 vs 256"""
UNKNOWN = (
    "hello 5 6",
    "UserWarning: 5 of 7 did not finish",
    "ERROR 2024-01-02 at 10:23:11 worker 12 failed 3 times",
    "RuntimeError: cuDNN error: 12.1 vs 11.8 version mismatch",
    '  File "/srv/a.py", line 12\n    x = f(3, 4)',
    "shapes of (2, 3) and (2, 3) are not bad",
)


def test_two_shapes_are_compared_and_explained():
    message, advice = find_unknown_mismatch(SHAPES)
    assert (message.input, message.operands) == ((4, 729, 8), ((4, 256, 8),))
    assert advice.facts == ("dim 1 is 729 and 256; the other dims agree",)
    assert [found.arithmetic for found in advice.explanations] == ["729 = 27*27, 256 = 16*16"]
    assert "not a message that is known" in advice.summary


def test_two_sizes_use_the_axis_and_the_failing_line():
    message, advice = find_unknown_mismatch(TRACEBACK)
    assert (message.pair, message.dim, message.failing_line.operands) == ((729, 256), 1, ("query", "cache"))
    assert advice.fixes[-1] == ("print(query.shape, cache.shape) before that line", None)


def test_ranks_that_differ_are_counted():
    _, advice = find_unknown_mismatch("cannot fuse [2, 3] and [2, 3, 4]")
    assert advice.facts == ("the first shape has 2 dims, the second 3",)


@pytest.mark.parametrize("text", UNKNOWN)
def test_other_numbers_are_no_disagreement(text):
    assert find_unknown_mismatch(text) is None


def test_fallback_is_not_understood_but_reported():
    report = diagnose(SHAPES)
    assert not report.has_shape_error
    assert report.as_json()[0]["cause"] == "unknown-message"
    assert (
        "  why   729 = 27*27, 256 = 16*16: would be patches of another picture or patch size" in report.format_lines()
    )


def test_known_message_goes_before_the_fallback():
    report = diagnose(f"{SHAPES}\nRuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600")
    assert [message.cause for message, _ in report.entries] == ["count-mismatch"]
