"""The sample of slow tests is never empty, and reproducible."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import SAMPLE_EXAMPLES, SAMPLE_ROWS, draw_sample, each_row, examples, mark_slow, some_and_rest


def test_sampling_marks_all_but_the_drawn_rows_slow():
    rows = []
    for law, count, most in (("a", 3, 5), ("b", 9, 5), ("c", 0, 5), ("d", 0, 99)):
        marks = [pytest.mark.sampled(count).mark] if count else []
        rows += [SimpleNamespace(nodeid=f"x.py::{law}[{number}]", law=law, marks=[*marks]) for number in range(most)]
    for row in rows:
        row.add_marker = row.marks.append
        row.get_closest_marker = lambda name, row=row: next((mark for mark in row.marks if mark.name == name), None)
    mark_slow(rows)
    assert [sum("slow" not in row.marks for row in rows if row.law == law) for law in "abcd"] == [3, 5, 5, SAMPLE_ROWS]


def test_sampling_is_reproducible_per_law():
    assert (
        draw_sample("one", range(100), 5) == draw_sample("one", range(100), 5) != draw_sample("another", range(100), 5)
    )


def test_sampling_keeps_the_order_of_rows():
    some, rest = some_and_rest("abcdef", 3)
    assert [len(some.values[0]), len(rest.values[0])] == [3, 3]
    assert sorted([*some.values[0], *rest.values[0]]) == [*"abcdef"]
    assert all(sorted(part.values[0]) == part.values[0] for part in (some, rest))
    assert ([mark.name for mark in some.marks], [mark.name for mark in rest.marks]) == ([], ["slow"])


def test_each_row_reports_failures_and_skips():
    met = []

    @each_row(("here", "number"), [("", 1), ("wrong", 2), pytest.param("no engine", 3), ("fails", 4)])
    def law(kept, here, number):
        met.append((kept, number))
        assert here != "wrong"
        if here:
            (pytest.fail if here == "fails" else pytest.skip)(here)

    (mark,) = law.pytestmark
    (rows,) = mark.args[1][0].values
    assert [*inspect.signature(law).parameters] == ["kept", "part"]
    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows are wrong") as caught:
        law(kept="x", part=rows)
    assert met == [("x", 1), ("x", 2), ("x", 3), ("x", 4)]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["The row: ('wrong', 2)"],
        ["The row: ('fails', 4)"],
    ]
    with pytest.raises(pytest.skip.Exception, match="1 of 2 rows: no engine"):
        law(kept="x", part=rows[::2])
    with pytest.raises(AssertionError, match="without rows"):
        each_row("here", [])


@pytest.mark.parametrize(("profile", "marks"), [("sample", []), ("whole", ["slow"])])
def test_laws_are_limited_or_slow(profile, marks):
    before, met = "sample" if settings.default.max_examples == SAMPLE_EXAMPLES else "whole", []

    def law(number):
        met.append(number)

    settings.load_profile(profile)
    try:
        law = examples(3 * SAMPLE_EXAMPLES)(given(st.integers())(law))
        law()
    finally:
        settings.load_profile(before)
    assert [mark.name for mark in getattr(law, "pytestmark", [])] == marks
    assert (len(met) > SAMPLE_EXAMPLES) is bool(marks)
