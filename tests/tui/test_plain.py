"""The app as plain lines: every line is a whole sentence, and a Shuffle can be stepped through and predicted."""

from __future__ import annotations

import pytest

from shapecalc.tui.plain import PlainSession, run_plain
from shapecalc.tui.question import question_from_words
from tests.cli.conftest import shapecalc as shapecalc
from tests.tui.driven import SHUFFLE

REFUSED = ("reshape", "2,3,4", "5,-1")


def answer(words, *lines):
    """Return the printed lines for lines of input."""
    printed = []
    run_plain(PlainSession(question_from_words(words) if words else None, 0), lines, printed.append)
    return printed


@pytest.mark.parametrize("words", [SHUFFLE, REFUSED, ("chain", "2,3 | reshape 6"), ("reshape", "N,4", "2,6")])
def test_plain_lines_are_sentences_without_drawings(words):
    lines = answer(words)
    assert len(lines) > 2
    for line in lines:
        assert line.endswith((".", "?"))
        assert line.isascii()
        assert "\n" not in line


def test_plain_prints_a_step_per_empty_line_and_goes_back():
    lines = answer(SHUFFLE, "", "b", "q")
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "Step 1 of 7, transpose, dim 0",
        "Step 2 of 7, transpose, dim 1",
        "Step 1 of 7, transpose, dim 0",
    ]


def test_plain_prints_all_steps_at_the_end_of_the_input():
    assert answer(SHUFFLE)[-1] == "Answer: 2,3,4 becomes 3,8."


def test_plain_asks_for_every_size_of_a_shuffle():
    lines = answer(SHUFFLE, "l", "y", "3", "7", "?", "2", "3", "", "", "q")
    assert lines[2:5] == ["Will it run? Type y or n; enter shows it, l stops asking, q ends.", "Right.", lines[4]]
    assert lines[4].startswith("how large is dim 0 after transpose 1,0,2?")
    assert lines.count("Right.") == 4
    assert lines.count("Not right.") == 1
    assert lines[-1] == "Answer: 2,3,4 becomes 3,8."


def test_plain_applies_a_fix_and_opens_other_requests():
    assert answer(REFUSED, "", "f", "", "", "")[-1] == "Answer: 2,3,4 becomes 4,6."
    assert "Answer: 2,3 becomes 6." in answer((), "2,3 6")
    assert answer((), "hello there", "q")[1] == "'hello there' is not read."


@pytest.mark.parametrize(("words", "code"), [(SHUFFLE, 0), (REFUSED, 3), (("--lesson", *SHUFFLE), 2)])
def test_plain_reads_a_pipe(words, code, shapecalc):
    ran = shapecalc("tui", "--plain", *words, stdin="\n")
    assert ran.code == code
    assert ("Step 1 of" in ran.out) is (code != 2)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["2,3,4 | flatten"], "2,3,4 becomes 2,12"),
        (["2,3 -> 6"], "2,3 becomes 6"),
        (["2,3,4", "unsqueeze", "0"], "2,3,4 becomes 1,2,3,4"),
        (["Unsqueeze", "2,3", "0"], "2,3 becomes 1,2,3"),
        (["2,3", "@", "3,4"], "2,3 becomes 2,4"),
        (["NCHW->NHWC", "1,2,3,4"], "1,2,3,4 becomes 1,3,4,2"),
        (["float32[2,3]"], "chain 2,3"),
        (["?,5,7"], "chain '?,5,7'"),
        (["2,3,4", "view(2, -1)"], "run shapecalc code 'x.view(2, -1)' --input x=2,3,4"),
        (["x.T", "x=2,3"], "run shapecalc code x.T --input x=2,3"),
        (["find", "2,3", "3,2"], "run shapecalc find 2,3 3,2"),
        (["shape '[8, 3]' is invalid for input of size 1600"], "run shapecalc doctor"),
        (["foo"], "no such command or file 'foo'"),
    ],
)
def test_app_reads_what_the_command_line_reads(words, text, shapecalc):
    ran = shapecalc("tui", "--plain", *words, stdin="\n")
    assert text in ran.out + ran.err
