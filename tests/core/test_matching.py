"""Patterns of shapes: how they are read, which shapes meet them, and what is said of those that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.dims import named_dim
from shapecalc.core.pattern import Matcher, pattern_of, read_pattern
from shapecalc.core.problem import ShapeError
from tests.sampling import examples

PRINTED = [
    ("N, 3,H ,W", "N,3,H,W"),
    ("[N,...]", "N,..."),
    ("(..., 3)", "...,3"),
    ("float32[N,3,?]", "float32[N,3,?]"),
    ("float[ ... ]", "float64[...]"),
    ("bool[]", "bool[]"),
    ("2x3", "2,3"),
    ("[]", "[]"),
    ("torch.Size([N, 3])", "N,3"),
    (("N", 3, ...), "N,3,..."),
    ((2, "...", None), "2,...,?"),
    (["3*H", "?"], "3*H,?"),
    ((), "[]"),
]
NO_PATTERNS = ["", ",", "N,-1", "foo[2]", "...,...", "N..", "float32[", "N,\x1b[2J", "2,,3", "?" * 9, "N 3", "1/0"]
NO_PATTERNS += [(2, -1), (2.5,), b"ab", {"N": 3}, (..., "..."), 7, None, "1" * 2000]


@pytest.mark.parametrize(("given_", "printed"), PRINTED, ids=str)
def test_a_pattern_is_read_however_it_is_written(given_, printed):
    made = pattern_of(given_)
    assert str(made) == printed
    assert pattern_of(printed) == made


@pytest.mark.parametrize("value", NO_PATTERNS, ids=lambda value: repr(value)[:20])
def test_what_is_no_pattern_is_refused_in_one_line(value):
    with pytest.raises(ShapeError) as error:
        pattern_of(value)
    assert error.value.problem.rule == "usage"
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500


def test_a_problem_has_the_place_of_its_token():
    text = "float32[N, ..., 3, ...]"
    with pytest.raises(ShapeError) as error:
        pattern_of(text)
    start, end = error.value.problem.span
    assert (text[start:end], start) == ("...", 19)


SHAPES = [
    ("N,N", (2, 2), {"N": 2}),
    ("N,?,N", (2, 9, 2), {"N": 2}),
    ("N,...,C", (1, 3, 4, 2), {"N": 1, "C": 2}),
    ("N,...,C", (1, 2), {"N": 1, "C": 2}),
    ("...", (), {}),
    ("3*?", (6,), {}),
    ("H*W,H,W", (12, 3, 4), {"H": 3, "W": 4}),
    ("H*W,H*W", (12, 12), {}),
    ("N*N", (16,), {"N": 4}),
    ("N/2,64/N", (2, 16), {"N": 4}),
    ("N,2*N", (0, 0), {"N": 0}),
]
DIFFERING = [
    ("N,N", (2, 3), 1, "2,3 is not N,N: dim 1 is 3, and N is 2 (dim 0)"),
    ("2,3", (2, 4), 1, "2,4 is not 2,3: dim 1 is 4, not 3"),
    ("N,...,C", (1,), None, "1 is not N,...,C: it has 1 dim"),
    ("2,3", (2, 3, 4), None, "2,3,4 is not 2,3: it has 3 dims"),
    ("3*?", (7,), 0, "7 is not 3*?: dim 0 is 7, and 3*? cannot be that"),
    ("N*N", (15,), 0, "15 is not N*N: dim 0 is 15, and N*N cannot be that"),
    ("H*W,H*W", (12, 13), 1, "12,13 is not H*W,H*W: dim 1 is 13, and H*W cannot be that"),
    ("H,2*H", (3, 8), 1, "3,8 is not H,2*H: dim 1 is 8, and 2*H is 6 (H is 3: dim 0)"),
    ("N,M/N", (0, 0), 1, "0,0 is not N,M/N: dim 1 is 0, and M/N cannot be that"),
    ("[]", (1,), None, "1 is not []: it has 1 dim"),
]


@pytest.mark.parametrize(("pattern", "shape", "sizes"), SHAPES)
def test_names_take_the_sizes_that_make_the_shape(pattern, shape, sizes):
    matcher = Matcher(pattern_of(pattern))
    assert matcher.problem(shape) is None
    assert matcher.sizes == sizes


@pytest.mark.parametrize(("pattern", "shape", "index", "message"), DIFFERING)
def test_the_dim_that_differs_is_named_with_the_reason(pattern, shape, index, message):
    matcher = Matcher(pattern_of(pattern))
    problem = matcher.problem(shape)
    assert (problem.rule, problem.index, problem.message) == ("differs", index, message)
    assert matcher.sizes == {}


def test_a_name_keeps_its_size_from_one_shape_to_the_next_and_only_from_shapes_that_fit():
    matcher = Matcher(pattern_of("N,C,3"))
    assert matcher.problem((9, 9, 4), place="wrong.npy")
    assert matcher.problem((8, 2, 3), place="a.npy") is None
    assert matcher.problem((8, 3, 3), place="b.npy").message.endswith("dim 1 is 3, and C is 2 (a.npy, dim 1)")
    assert matcher.sizes == {"N": 8, "C": 2}


def test_a_size_that_is_given_is_said_to_be():
    problem = Matcher(pattern_of("N,3"), {"N": 8}).problem((4, 3))
    assert problem.message.endswith("dim 0 is 4, and N is 8 (as given)")


def test_a_message_is_short_however_long_the_shape():
    problem = Matcher(pattern_of("N,...,H*W")).problem((10**18,) * 20_000)
    assert problem is None
    problem = Matcher(pattern_of(",".join("N" * 20_000))).problem((10**18,) * 19_999 + (1,))
    assert problem.index == 19_999
    assert len(problem.message) < 200


def test_an_element_type_is_compared_too():
    matcher = Matcher(pattern_of("float32[N]"))
    assert matcher.problem((2,), "float32") is None
    assert matcher.problem((2,), "int8").message == "int8[2] is not float32[N]: its element type is int8"
    assert matcher.problem((2,)).message.endswith("its element type is not known")


def test_names_of_the_question_stand_for_themselves():
    n, c = named_dim("N"), named_dim("C")
    pattern = read_pattern("N,B", "expect")
    assert Matcher(pattern, own=("N", "C")).problem((n, c)) is None
    problem = Matcher(pattern, own=("N", "C")).problem((c, n))
    assert problem.message == "C,N is not N,B: dim 0 is C, and N stands for itself"
    assert Matcher(pattern).problem((c, n)) is None


@examples(300)
@given(st.lists(st.integers(0, 5), max_size=5), st.data())
def test_a_shape_meets_every_pattern_that_is_made_of_it(shape, data):
    dims = [data.draw(st.sampled_from([size, "?", f"N{size}", f"2*M{size}/2"])) for size in shape]
    for start in range(len(dims) + 1):
        pattern = [*dims[:start], ..., *dims[data.draw(st.integers(start, len(dims))) :]]
        matcher = Matcher(pattern_of(pattern))
        assert matcher.problem(tuple(shape)) is None
        assert all(name[1:] == str(size) for name, size in matcher.sizes.items())
        assert matcher.problem((*shape, 6)) is None or pattern[-1] is not ...
