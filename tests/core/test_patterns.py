"""Patterns of axes: what is read, where a caret stands in what is not."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.command_line import command_line
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.sizes.patterns import read_lengths, read_pattern

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
    ("a b-c -> a", "b-c", "'b-c', which is no axis"),
    ("a _b -> a _b", "_b", "which is no axis"),
    ("a 0 -> a", "0", "which is no axis"),
    ("a \x1b -> a", "\x1b", r"'\\x1b', which is no axis"),
    ("a -> a " + "9" * 19, "9" * 19, "which is no axis"),
]


@pytest.mark.parametrize(("pattern", "marked", "said"), MISREAD, ids=range(len(MISREAD)))
def test_what_is_no_pattern_is_refused_with_its_place(pattern, marked, said):
    with pytest.raises(sc.ShapeError, match=said) as caught:
        read_pattern(pattern)
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


def test_every_dialect_with_reshape_and_transpose_rearranges():
    assert dialects_with(OPS["rearrange"]) == [
        row for row in dialects_with(OPS["reshape"]) if row in dialects_with(OPS["transpose"])
    ]


def test_a_stage_keeps_its_pattern_in_quotes():
    answer = sc.chain((2, 6), "rearrange 'a (b c) -> b a c' b=2", "reshape -1")
    assert command_line(answer) == """shapecalc chain '2,6 | rearrange "a (b c) -> b a c" b=2 | reshape -1'"""
    assert answer.output == (12,)
