"""More words than an op has places for: usage, with the line that was likely meant."""

from __future__ import annotations

import shlex

import pytest

from shapecalc.cli.misread import extra_words_error

MEANT = [
    # what is typed, and the line that is shown
    ("reshape 2,3,4 to 6,4", "reshape 2,3,4 6,4"),
    ("reshape 2,3,4 6,4 == 6,4", "reshape 2,3,4 6,4 --expect 6,4"),
    ("transpose 2,3,4 by 0,2,1", "transpose 2,3,4 0,2,1"),
    ("pool 1,3,8,8 2 2", "pool 1,3,8,8 2,2"),
    ("transpose 2,3,4 0 2 1", "transpose 2,3,4 0,2,1"),
    ("transpose N,C,H H C N", "transpose N,C,H H,C,N"),
    ("squeeze 1,2,1 0 2", "squeeze 1,2,1 0,2"),
    ("reshape 2,3,4 0 -1 --quiet", "reshape 2,3,4 0,-1 --quiet"),
]
NOT_MEANT = [
    ("swapaxes 2,3,4 0 1 2", "swapaxes has no place for '2' (see shapecalc swapaxes -h)"),
    ("upsample 1,1,3,4 2 \x1b[2J", "upsample has no place for '\\x1b[2J' (see shapecalc upsample -h)"),
    ("dialects x", "dialects does not take 'x' (see shapecalc dialects -h)"),
]


@pytest.mark.parametrize(("typed", "line"), MEANT)
def test_the_line_that_was_meant_is_shown_and_answered(typed, line, shapecalc):
    ran = shapecalc(*typed.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.endswith(f"(write shapecalc {line})\n")
    assert shapecalc(*shlex.split(line)).code == 0


def test_a_line_that_is_answered_comes_before_one_that_is_refused():
    assert extra_words_error(["squeeze", "2,1,3", "1", "0"]).problem.hint == "write shapecalc squeeze 2,1,3 1,0"


@pytest.mark.parametrize(("typed", "said"), NOT_MEANT)
def test_where_no_line_can_be_read_the_help_is_named(typed, said, shapecalc):
    ran = shapecalc(*typed.split(" "))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


@pytest.mark.parametrize("words", [[], ["nope", "2"], ["reshape", "2,3", "6"], ["flatten", "2", *"1" * 70]])
def test_other_lines_are_left_alone(words):
    assert extra_words_error(words) is None
