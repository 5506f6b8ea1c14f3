"""Slices as they are written: read, written again, and refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.problem import ShapeError
from shapecalc.core.values import read_slices, slice_span, slices_of
from tests.strategies import sliced


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("[:, ::2, 1:3]", ":,::2,1:3"),
        (" 1 : -1 : 1 ", "1:-1:1"),
        ("::", ":"),
        ("[]", "[]"),
        ((), "[]"),
        (slice(None, None, -1), "::-1"),
        ([slice(1), slice(2, None)], ":1,2:"),
    ],
)
def test_slices_are_read_from_texts_and_from_pythons_own(value, written):
    assert read_slices(value, "slices") == written


@given(st.lists(sliced(), min_size=1, max_size=4), st.sampled_from(["{}", "[{}]", " [ {} ]"]))
def test_what_is_written_is_read_as_the_same(parts, form):
    text = form.format(", ".join(parts))
    written = read_slices(text, "slices")
    assert slices_of(written) == slices_of(text)
    assert read_slices(written, "slices") == written
    assert [text[slice(*slice_span(text, index))] for index in range(len(parts))] == parts


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "not ''"),
        (":,,:", "not ''"),
        ("0", "an index is for select"),
        ("-1", "an index is for select"),
        ("1:2:3:4", "not '1:2:3:4'"),
        ("1:N", "in whole numbers, not '1:N'"),
        ("[:", "in whole numbers, not '[:'"),
        ("9" * 1001 + ":", "in whole numbers"),
        ("1:\x1b[2J", "not '1:\\x1b[2J'"),
        (3, "not 3"),
        ([[1, 2]], "not [[1, 2]]"),
        ((slice(None), 1), "slices is a text such as"),
        (slice(1.5), "slices is one whole number, not 1.5"),
    ],
)
def test_anything_else_is_usage_in_one_line(value, said):
    with pytest.raises(ShapeError) as refused:
        read_slices(value, "slices")
    assert str(refused.value).startswith("usage: ")
    assert said in str(refused.value)
    assert str(refused.value).isprintable()
    assert refused.value.problem.argument == "slices"
