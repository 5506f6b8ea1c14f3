"""Patterns of axes: what is read, where a caret stands in what is not."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.ask import ask
from shapecalc.core.commands import command_line
from shapecalc.core.dims import named_dim
from shapecalc.core.limits import MOST_DIMS
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.resolve import resolve
from shapecalc.core.values import read_axis_pattern, read_lengths

MISREAD = [
    # pattern, what is marked, what is said
    ("a b c", None, "no arrow"),
    ("a -> b -> c", None, "2 arrows"),
    ("a (b c -> a b c", "(", "never closed"),
    ("a b) -> a b", ")", "never opened"),
    ("(a (b)) -> a b", "(", "brackets in brackets"),
    ("a b -> a", "b", "b on the left only"),
    ("a a -> a", "a", "a twice"),
    ("a -> a a", "a", "a twice"),
    ("a ... ... -> a ...", "...", "... twice"),
    ("a -> a ...", "...", "on the right only"),
    ("a (... b) -> a ... b", "(... b)", "in brackets on the left"),
    ("a 3 -> a", "3", "a length on the left"),
    ("a b-c -> a", "b-c", "'b-c', which is not an axis"),
    ("a _b -> a _b", "_b", "which is not an axis"),
    ("a 0 -> a", "0", "which is not an axis"),
    ("a \x1b -> a", "\x1b", r"'\\x1b', which is not an axis"),
    ("a -> a " + "9" * 19, "9" * 19, "which is not an axis"),
]


@pytest.mark.parametrize(("pattern", "marked", "said"), MISREAD, ids=range(len(MISREAD)))
def test_what_is_no_pattern_is_refused_with_its_place(pattern, marked, said):
    with pytest.raises(sc.ShapeError, match=said) as caught:
        read_axis_pattern(pattern)
    span = caught.value.problem.span
    assert (span and pattern[slice(*span)]) == marked


@pytest.mark.parametrize("text", ["p", "p=", "=7", "p=0", "p=-1", "p=N", "p=7,p=8", "", "p=7;q=8", "p=" + "9" * 19])
def test_what_is_no_length_is_refused(text):
    with pytest.raises(sc.ShapeError) as caught:
        read_lengths(text)
    assert caught.value.problem.rule == "usage"


@pytest.mark.parametrize(
    ("shape", "pattern", "lengths", "marked"),
    [
        ("2,6", "a (b c) -> a b c", "b=4", "(b c)"),
        ("2,6", "a (b c) -> a b c", None, "(b c)"),
        ("2,6", "a b -> a b r", None, "r"),
        ("2,6", "a b c -> a b c", None, "a b c "),
    ],
)
def test_a_refused_pattern_is_marked(shape, pattern, lengths, marked):
    problem = resolve(ask("rearrange", shape, {"pattern": pattern, "lengths": lengths})).problem
    assert pattern[slice(*problem.span)] == marked


def test_any_identifier_names_an_axis_and_inferred_lengths_are_told():
    answer = sc.rearrange(("N", 6, 4), "n (ß b) c -> b (c ß) n", "ß=2")
    assert (answer.output, answer.as_json()["inferred"]) == ((3, 8, named_dim("N")), {"n": "N", "b": 3, "c": 4})


def test_every_dialect_with_reshape_and_transpose_rearranges():
    assert dialects_with(OPS["rearrange"]) == [
        row for row in dialects_with(OPS["reshape"]) if row in dialects_with(OPS["transpose"])
    ]


def test_a_stage_keeps_its_pattern_in_quotes():
    answer = sc.chain((2, 6), "rearrange 'a (b c) -> b a c' b=2", "reshape -1")
    assert command_line(answer) == """shapecalc chain '2,6 | rearrange "a (b c) -> b a c" b=2 | reshape -1'"""
    assert answer.output == (12,)


def test_each_token_keeps_its_place():
    pattern = " a(b  c1)()1 ... -> ...(a ...)2"
    with pytest.raises(sc.ShapeError, match="twice on one side"):
        read_axis_pattern(pattern)
    pattern = " a(b  c1)()1 ... -> (a b ...)2c1"
    found = read_axis_pattern(pattern.replace("2c1", "2 c1"))
    assert [(part.text, part.start, part.grouped) for part in found.left] == [
        ("a", 1, False),
        ("(b c1)", 2, True),
        ("()", 9, True),
        ("1", 11, False),
        ("...", 13, False),
    ]
    assert [(part.text, part.start) for part in found.right] == [("(a b ...)", 20), ("2", 29), ("c1", 31)]
    assert [axis.span for axis in found.left[1].axes] == [(3, 4), (6, 8)]


@pytest.mark.parametrize("digits", [18, 19])
def test_the_longest_length_is_read(digits):
    word = "9" * digits
    if digits == 18:
        assert read_lengths(f" p = {word} ,q=1") == {"p": int(word), "q": 1}
        assert read_axis_pattern(f"a -> a {word}").right[1].text == word
        return
    with pytest.raises(sc.ShapeError, match="is not NAME=SIZE"):
        read_lengths(f"p={word}")


@pytest.mark.parametrize(("count", "read"), [(MOST_DIMS, True), (MOST_DIMS + 1, False)])
def test_a_side_has_so_many_dims(count, read):
    pattern = "a -> a" + " 1" * (count - 1)
    if read:
        assert len(read_axis_pattern(pattern).right) == count
        return
    with pytest.raises(sc.ShapeError, match=f"{count} dims, and the limit 'dims' is 65536"):
        read_axis_pattern(pattern)
