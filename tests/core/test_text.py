"""How shapes are written: every spelling people paste, and where each mistake stands."""

from __future__ import annotations

import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_axes, read_shape, read_target, shape_text, visible

SPELLINGS = [
    ("2,3,4", (2, 3, 4)),
    ("2x3x4", (2, 3, 4)),
    ("[2,3,4]", (2, 3, 4)),
    ("(2, 3, 4)", (2, 3, 4)),
    ("{2,3,4}", (2, 3, 4)),
    ("(3,)", (3,)),
    ("[2, 3, ]", (2, 3)),
    ("torch.Size([2, 3])", (2, 3)),
    ("torch.Size([])", ()),
    (" 2 , 3 ", (2, 3)),
    ("007", (7,)),
    ("[]", ()),
    ("()", ()),
    ("{ }", ()),
    (f"{10**30}", (10**30,)),
    ("{1 2 1 1}", (1, 2, 1, 1)),
    ("2 3 4", (2, 3, 4)),
    ("torch.Size([ 2  3 ])", (2, 3)),
    ("1L, 2L", (1, 2)),
    ("2 x 3", (2, 3)),
]


@pytest.mark.parametrize(("text", "shape"), SPELLINGS)
def test_spelling(text, shape):
    assert read_shape(text) == shape


SYMBOLIC = [
    ("N,3*H*W", "N,3*H*W"),
    ("C*H*W/64", "C*H*W/64"),
    ("W*H*3", "3*H*W"),
    ("H/64*W/K", "H*W/64/K"),
    ("6*N/4", "3*N/2"),
    ("N*N/N", "N"),
    ("N/N", "1"),
    ("6/2", "3"),
    ("0*N", "0"),
    ("1/N", "1/N"),
    ("?,?*2", "?,2*?"),
    ("_a1,batch_size", "_a1,batch_size"),
    ("x,3", "x,3"),
    ("x2", "x2"),
    ("xx,x", "xx,x"),
    ("[N C H*W]", "N,C,H*W"),
    ("H * W", "H*W"),
    ("[H * W]", "H*W"),
    ("None,3,None", "?,3,?"),
    ("[None 3]", "?,3"),
    ("None*2,NoneX", "2*?,NoneX"),
    ("H//2,W//2//4", "H/2,W/8"),
]


@pytest.mark.parametrize(("text", "printed"), SYMBOLIC)
def test_monomials_print_canonically(text, printed):
    assert shape_text(read_shape(text)) == printed


MISTAKES = [
    ("", (0, 1)),
    ("  ", (0, 1)),
    ("2,,4", (2, 3)),
    ("2,3,", (4, 5)),
    (",", (0, 1)),
    ("2x", (1, 2)),
    ("2x3,4", (1, 2)),
    ("[2,3", (0, 1)),
    ("(2,3]", (0, 1)),
    ("2,3]", (3, 4)),
    ("[[2,3]]", (1, 2)),
    ("2,3.5", (3, 4)),
    ("torch.Sized", (5, 6)),
    ("N*" * 100 + "9" * 1000 + "*9", (0, 1202)),
    ("2,a b", (3, 4)),
    ("2,N*", (4, 5)),
    ("2,*N", (2, 3)),
    ("2,N///4", (5, 6)),
    ("2,//4", (2, 3)),
    ("2,N/ /4", (4, 5)),
    ("2 N", (1, 2)),
    ("[2 3 4L5]", (6, 7)),
    ("N/0", (0, 3)),
    ("5/2", (0, 3)),
    ("-N", (0, 1)),
    ("2,-1", (2, 4)),
    ("2,3-1", (3, 4)),
    ("\N{FULLWIDTH DIGIT TWO}", (0, 1)),
    ("2,\x003", (2, 3)),
    ("2,\N{RIGHT-TO-LEFT OVERRIDE}3", (2, 3)),
    ("1" * 1001, (0, 1001)),
]


@pytest.mark.parametrize(("text", "span"), MISTAKES)
def test_a_mistake_is_usage_and_stands_where_it_is(text, span):
    with pytest.raises(ShapeError) as caught:
        read_shape(text)
    assert (caught.value.problem.rule, caught.value.problem.span) == ("usage", span)
    assert caught.value.problem.argument == "input"
    assert visible(caught.value.problem.message) == caught.value.problem.message


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_target, "?"),
        (read_target, "2,None"),
        (read_target, "2,None*3"),
        (read_axes, "N"),
        (read_axes, "1,N/2"),
        (read_axes, ""),
    ],
)
def test_what_only_an_input_or_a_target_may_hold(read, text):
    with pytest.raises(ShapeError) as caught:
        read(text)
    assert caught.value.problem.rule == "usage"


def test_a_megabyte_of_anything_is_answered_promptly():
    for text in ("," * 1_000_000, "1," * 500_000, "N" * 1_000_000, "9" * 1_000_000, "(" * 1_000_000, "2x" * 500_000):
        with pytest.raises(ShapeError) as caught:
            read_shape(text)
        assert len(caught.value.problem.message) < 200


def test_many_dims_are_no_mistake():
    assert len(read_shape(",".join("1" * 10_000))) == 10_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2,3", "2,3"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\0", r"\x00"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}", r"\u202e"),
        ("\udcff", r"\udcff"),
        ("é", "é"),
    ],
)
def test_what_would_not_be_seen_is_escaped(text, shown):
    assert visible(text) == shown


MISTYPED = [
    # what is typed, and what the hint says
    ("0\u20131", "'\u2013' is a dash, write -, as in 0,-1"),
    ("0,\u22121", "'\u2212' is a dash, write -, as in -1"),
    ("N\u20131", "'\u2013' is a dash, write -"),
    ("2\u00d73\u00d74", "write 2,3,4"),
    ("2.3.4", "write 2,3,4"),
    ("[2;N;4]", "write 2,N,4"),
    ("2X3xN", "write 2,3,N"),
    ("0-1", "write 0,-1"),
]


@pytest.mark.parametrize(("text", "hint"), MISTYPED)
def test_other_signs_in_place_of_commas_and_minus_are_named(text, hint):
    with pytest.raises(ShapeError) as caught:
        read_target(text)
    assert caught.value.problem.hint == hint


@pytest.mark.parametrize("text", ["2.5", "N-1", "4x", "2;;3", "2;3*", ";".join("7" * 200)])
def test_no_other_shape_is_guessed_where_none_is_likely(text):
    with pytest.raises(ShapeError) as caught:
        read_target(text)
    assert caught.value.problem.hint.startswith("a dim is a whole number")
