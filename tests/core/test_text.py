"""Check parsers of texts: round trips through the normal form, and the marked spans of errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.checking.answering import answer_case, meets_expectation
from shapecalc.checking.rewriting import rewrite_expectation
from shapecalc.core.dims import is_concrete
from shapecalc.core.origins import describe_reshape
from shapecalc.core.text import escape_unprintable, parse_axes, parse_dims, parse_shape, parse_target, shape_text
from shapecalc.core.values import normalize_slices, parse_axis_pattern, parse_lengths, parse_slices, slice_span
from shapecalc.reading.cases import parse_case, parse_conditions, parse_expectation
from shapecalc.reading.pattern import Matcher, to_pattern
from tests.cases import rows
from tests.core.test_symbolic import fractions
from tests.sampling import each_row, examples
from tests.strategies import slice_texts


def normalized_slices(text):
    return normalize_slices(text, "slices")


def normalized_conditions(text):
    return " and ".join(map(str, parse_conditions(text.split(" and "))))


NORMALIZERS = {
    "shapes": lambda text: shape_text(parse_shape(text)),
    "patterns": lambda text: str(to_pattern(text)),
    "slices": normalized_slices,
    "expectations": lambda text: str(parse_expectation(text)),
    "conditions": normalized_conditions,
}
"""Functions that parse a text and print it in normal form, by the title of their rows."""
REFUSING_PARSERS = {
    "no shapes": parse_shape,
    "no targets": parse_target,
    "no axes": parse_axes,
    "no axis patterns": parse_axis_pattern,
    "no lengths": parse_lengths,
    "no patterns": to_pattern,
    "no slices": normalized_slices,
    "no expectations": parse_expectation,
    "no conditions": normalized_conditions,
}


@each_row(("title", "text", "expected"), [(title, *row) for title in NORMALIZERS for row in rows("texts", title)])
def test_shape_spellings(title, text, expected):
    normalize = NORMALIZERS[title]
    assert normalize(text) == expected
    assert normalize(expected) == expected


@each_row(("title", "row"), [(title, row) for title in REFUSING_PARSERS for row in rows("texts", title)])
def test_unreadable_text_is_marked_usage(title, row):
    before, mark, remainder = row[0].partition("«")
    span_text, _, after_span = remainder.partition("»")
    end = len(before) + max(1, len(span_text))  # a missing end is marked at the last character
    with pytest.raises(sc.ShapeError) as raised:
        REFUSING_PARSERS[title](before + span_text + after_span)
    problem, message = raised.value.problem, str(raised.value)
    assert (problem.rule, problem.span) == ("usage", (len(before), end) if mark else None)
    assert all(words in f"{message} {problem.hint}" for words in row[1:])
    assert escape_unprintable(message) == message
    assert len(message) < 500


@pytest.mark.parametrize(
    "text", ["," * 1_000_000, "1," * 500_000, "N" * 1_000_000, "9" * 1_000_000, "(" * 1_000_000, "2x" * 500_000]
)
def test_megabyte_of_text_is_answered_promptly(text):
    with pytest.raises(sc.ShapeError) as raised:
        parse_shape(text)
    assert len(raised.value.problem.message) < 200


@examples(90)
@given(st.lists(st.integers(0, 10**12) | fractions, max_size=5))
def test_printed_shapes_round_trip_with_plain_ints(shape):
    assert parse_dims(shape_text(shape)) == tuple(shape)
    assert is_concrete(parse_dims(shape_text(shape))) == all(type(dim) is int for dim in shape)


@given(st.lists(slice_texts(), min_size=1, max_size=4), st.sampled_from(["{}", "[{}]", " [ {} ]"]))
def test_printed_slices_round_trip(parts, form):
    text = form.format(", ".join(parts))
    printed = normalized_slices(text)
    assert parse_slices(printed) == parse_slices(text)
    assert normalized_slices(printed) == printed
    assert [text[slice(*slice_span(text, index))] for index in range(len(parts))] == parts


@each_row(("pattern", "shape", "sizes"), rows("meeting", "meets"))
def test_pattern_names_take_the_matching_sizes(pattern, shape, sizes):
    matcher = Matcher(to_pattern(pattern))
    assert matcher.match_shape(parse_shape(shape)) is None
    assert ",".join(f"{name}={size}" for name, size in matcher.sizes.items()) == sizes


@pytest.mark.parametrize(("pattern", "shape", "index", "message"), rows("meeting", "differs"))
def test_pattern_mismatch_names_the_dim(pattern, shape, index, message):
    matcher = Matcher(to_pattern(pattern))
    problem = matcher.match_shape(parse_shape(shape))
    assert (problem.rule, problem.index, problem.message) == ("differs", int(index) if index else None, message)
    assert matcher.sizes == {}


@examples(110)
@given(st.lists(st.integers(0, 5), max_size=5), st.data())
def test_shape_matches_patterns_made_from_it(shape, data):
    dims = [data.draw(st.sampled_from([size, "?", f"N{size}", f"2*M{size}/2"])) for size in shape]
    for start in range(len(dims) + 1):
        pattern = [*dims[:start], ..., *dims[data.draw(st.integers(start, len(dims))) :]]
        matcher = Matcher(to_pattern(pattern))
        assert matcher.match_shape(tuple(shape)) is None
        assert all(name[1:] == str(size) for name, size in matcher.sizes.items())
        assert matcher.match_shape((*shape, 6)) is None or pattern[-1] is not ...


@each_row(("question", "expected", "passes"), rows("meeting", "expected"))
def test_expectation_is_met_or_not(question, expected, passes):
    case = parse_case(f"{question} => {expected}", {})
    assert meets_expectation(case.expected, answer_case(case)) is (passes == "yes")
    assert str(parse_expectation(str(case.expected))) == str(case.expected)


@pytest.mark.parametrize(("line", "rewritten"), rows("meeting", "rewritten"))
def test_rewrite_changes_only_the_expectation(line, rewritten):
    line, rewritten = (text.replace("->", "=>") for text in (line, rewritten))
    case = parse_case(line.strip(), {})
    assert rewrite_expectation(line, case.expected, answer_case(case)) == rewritten


@each_row(("before", "after", "wording"), rows("meeting", "regrouped"))
def test_axis_change_wording(before, after, wording):
    assert describe_reshape(parse_dims(before), parse_dims(after)) == wording
