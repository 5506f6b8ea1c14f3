"""The app as plain lines: every line is a whole sentence, and a Shuffle can be stepped through and predicted."""

from __future__ import annotations

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.render.hints import FRAMEWORK_NAMES
from shapecalc.tui.plain import PlainSession, run_plain
from shapecalc.tui.question import question_from_words
from tests.tui.driven import SHUFFLE

REFUSED = ("reshape", "2,3,4", "5,-1")


def answer(words, *lines):
    """Return the printed lines for lines of input."""
    printed = []
    run_plain(PlainSession(question_from_words(words) if words else None, 0), lines, printed.append)
    return printed


def test_every_framework_has_a_name_in_sentences():
    assert {*FRAMEWORK_NAMES} == {*DIALECTS.names}
    assert ", by OpenVINO rules." in answer(["reshape", "2,3,4", "6,4", "--dialect", "openvino"], "q")[0]


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
    assert [line.partition(":")[0] for line in lines[2:]] == [
        "Step 1 of 7, transpose",
        "Step 2 of 7, transpose",
        "Step 1 of 7, transpose",
    ]


def test_plain_prints_all_steps_at_the_end_of_the_input():
    assert answer(SHUFFLE)[-1] == "Answer: 2,3,4 becomes 3,8."


def test_plain_asks_for_the_sizes_after_the_printed_steps():
    lines = answer(SHUFFLE, "l", "7", "?", "2", "3", "", "", "q")
    assert lines[3] == "It asks first now."
    assert lines[4].startswith("How large is dim 1 after transpose 1,0,2?")
    assert lines.count("Right.") == 2
    assert lines.count("Not right.") == 1
    assert lines[-1] == "Answer: 2,3,4 becomes 3,8."


def test_plain_asks_whether_a_request_works_if_all_steps_are_printed():
    lines = answer(("reshape", "2,3", "6"), "", "l", "y", "q")
    assert lines[-2:] == ["Right.", "Step 1 of 2, reshape, dim 0: 6 is given."]


def test_plain_numbers_equal_stages_and_prints_the_shape_after_each():
    lines = answer(("shuffle", "1,12,4,4", "--first", "0,2,3,1", "--to", "1,8,8,3", "--second", "0,3,1,2"))
    assert "First transpose done: 1,4,4,12." in lines
    assert "Reshape done: 1,8,8,3." in lines
    assert "Step 2 of 15, first transpose: dim 1 is input dim 2, of size 4." in lines
    assert "Step 12 of 15, second transpose: dim 1 is dim 3 of the previous shape, of size 3." in lines


def test_plain_follows_an_element():
    lines = answer(("shuffle", "2,3,4", "--first", "1,2,0", "--to", "0,-1", "--second", "1,0"), "at 0,1,1", "q")
    assert lines[-5:] == [
        "The element at 0,1,1 of the input 2,3,4.",
        "After the first transpose it is at 1,1,0 of 3,4,2.",
        "After the reshape it is at 1,2 of 3,8.",
        "After the second transpose it is at 2,1 of 8,3.",
        "In NumPy: x[0,1,1] == y[2,1] == 5.",
    ]
    assert "there is no element at 7,7,7." in answer(SHUFFLE, "at 7,7,7", "q")
    assert "an element of 2,3,4 has an index of 3 numbers, not 2." in answer(SHUFFLE, "at 1,2", "q")
    wrong = ["an element of 2,3,4 has an index of 3 numbers, not 0.", "the first element is at 0,0,0."]
    assert answer(SHUFFLE, "at", "q")[-2:] == wrong
    refused = ["only the elements of an answered request can be followed.", "fix the request first."]
    assert answer(["reshape", "2,3,4", "5,5"], "at 0,0,0", "q")[-2:] == refused
    assert answer(SHUFFLE, "l", "at 0,0,0", "q")[-1] == "This would show the answer. l stops asking."


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (("RuntimeError: shape '[5, -1]' is invalid for input of size 24",), "torch reshape: indivisible."),
        (
            ("Traceback (most recent call last):", '  File "n.py", line 3', "RuntimeError: shape '[5]' is invalid for "
             "input of size 24"), "reshape 24 5 --dialect torch, by PyTorch rules."),
        (("x = torch.arange(24).reshape(2,3,4).permute(2,0,1)", "at 23"), "In NumPy: x[23] == y[3,1,2] == 23."),
        (("2,3,4", "x.view(6, -1)"), "The code as a chain: x.view(6, -1)."),
        (("x.view(6, -1)",), "The shape of the tensor is not known"),
        (("against 'reshape 3,2' 'transpose 1,0' --input 2,3",), "Compared with transpose 1,0: different."),
        (("24",), "Nothing is asked now."),
        (("2,3,4 permute 1,0,2",), "transpose 2,3,4 1,0,2 --dialect torch, by PyTorch rules."),
        (("permute (2,3,4) by (2,0,1)",), "transpose 2,3,4 2,0,1 --dialect torch, by PyTorch rules."),
        (("permute 2,3,4",), "permute needs the axes in their new order"),
        (("permute 2,3,4 foo 1,0,2",), "permute does not take '1,0,2'."),
        (("2,3 6", "", "", ""), "That was the last step."),
    ],
)  # fmt: skip
def test_plain_reads_what_it_advises(typed, expected):
    assert any(line.startswith(expected) for line in answer((), *typed, "q")), answer((), *typed, "q")


def test_plain_applies_a_fix_and_opens_other_requests():
    assert answer(REFUSED, "", "f", "", "", "")[-2] == "Answer: 2,3,4 becomes 4,6."
    assert "Answer: 2,3 becomes 6." in answer((), "2,3 6")
    assert answer((), "hello there", "q")[1] == "'hello there' is not read."


def test_plain_begins_with_the_refusal_and_its_fix():
    lines = answer(REFUSED, "q")
    assert lines[1].startswith("Refused: ")
    assert lines[2].startswith("Fix: ")


def test_plain_prints_the_answer_once():
    lines = answer(("reshape", "2,3", "6"), "", "", "", "q")
    assert lines.count("Answer: 2,3 becomes 6.") == 1
    assert lines[-2:] == ["That was the last step."] * 2


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
        (["2,3,4", "permute", "1,0,2"], "2,3,4 becomes 3,2,4"),
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
