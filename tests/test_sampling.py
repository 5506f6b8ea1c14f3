"""What is left of slow tests where they are left out: never nothing, and the same every time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import FEW, drawn, examples, mark_slow, some_and_rest


class Row:
    """A row of a test, as pytest has it."""

    def __init__(self, nodeid, count):
        self.nodeid, self.sampled, self.marks = nodeid, count and pytest.mark.sampled(count).mark, []

    def get_closest_marker(self, name):
        return self.sampled if name == "sampled" else None

    def add_marker(self, name):
        self.marks.append(name)


def test_all_but_a_draw_of_the_rows_are_slow():
    rows = [
        Row(f"x.py::{law}[{number}]", count) for law, count in (("a", 3), ("b", 9), ("c", 0)) for number in range(5)
    ]
    mark_slow(rows)
    left = [sum(not row.marks for row in rows if row.nodeid[6] == law) for law in "abc"]
    assert left == [3, 5, 5]


def test_a_draw_is_the_same_every_time_and_another_for_another_law():
    assert drawn("one", range(100), 5) == drawn("one", range(100), 5) != drawn("another", range(100), 5)


def test_some_and_the_rest_are_all_in_their_order():
    some, rest = some_and_rest("abcdef", 3)
    assert [len(some.values[0]), len(rest.values[0])] == [3, 3]
    assert sorted([*some.values[0], *rest.values[0]]) == [*"abcdef"]
    assert all(sorted(part.values[0]) == part.values[0] for part in (some, rest))
    assert ([mark.name for mark in some.marks], [mark.name for mark in rest.marks]) == ([], ["slow"])


@pytest.mark.parametrize(("profile", "marks"), [("sample", []), ("whole", ["slow"])])
def test_a_law_meets_a_few_examples_or_is_slow(profile, marks):
    before, met = "sample" if settings.default.max_examples == FEW else "whole", []

    def law(number):
        met.append(number)

    settings.load_profile(profile)
    try:
        law = examples(3 * FEW)(given(st.integers())(law))
        law()
    finally:
        settings.load_profile(before)
    assert [mark.name for mark in getattr(law, "pytestmark", [])] == marks
    assert (len(met) > FEW) is bool(marks)
