"""Messages are wrapped at the width of a terminal, and are one line elsewhere."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest

import shapecalc as sc
from shapecalc.cli.model import REPORT_STYLES
from shapecalc.cli.model_report import table_lines
from shapecalc.cli.output import print_problem, print_report, print_stderr
from shapecalc.cli.pasted import DIAGNOSIS_STYLES
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import UNBROKEN_TEXT
from shapecalc.diagnosis.report import diagnose
from shapecalc.render.report import steps_text
from tests.models.reports import YOLO

REFUSED = {
    "indivisible": lambda: sc.reshape((2, 3, 4), (5, -1)),
    "zero": lambda: sc.reshape((2, 3, 4), (5, -1, 0), dialect="torch"),
    "matmul": lambda: sc.matmul((2, 3), (4, 5)),
}
MESSAGE = "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600"
COMMAND = "shapecalc code 'x.view(2, -1)' --input x=2,3,4"
MESSAGES = [
    "shapecalc: 140*? bytes of float32, 70*? bytes of float16, 35*? bytes of int8",
    f"shapecalc: next: shapecalc 2,3,4 TARGET, {COMMAND}",
    "shapecalc: usage: no such command or file 'resahpe' (did you mean reshape?)",
]
WIDTHS = pytest.mark.parametrize("width", [24, 40, 63, 80])


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def lines_at(monkeypatch):
    """Return a function that returns what a call prints to a terminal of a width."""

    def print_lines(width, call, *arguments):
        monkeypatch.setenv("COLUMNS", str(width))
        with redirect_stderr(Terminal()) as stream:
            call(*arguments)
        return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()

    return print_lines


def find_unwrapped(lines, width):
    """Return the lines that are too wide and can be broken."""
    return [line for line in lines if len(line) > width and len(re.findall(UNBROKEN_TEXT, line)) > 1]


@WIDTHS
@pytest.mark.parametrize("message", MESSAGES)
def test_message_wraps_between_words(lines_at, width, message):
    lines = lines_at(width, print_stderr, message)
    assert " ".join(line.strip() for line in lines) == message
    assert all(line.startswith("  ") for line in lines[1:])
    assert find_unwrapped(lines, width) == []
    assert (len(lines) > 1) == (len(message) > width)


@WIDTHS
def test_command_in_message_is_not_broken(lines_at, width):
    assert any(COMMAND in line for line in lines_at(width, print_stderr, MESSAGES[1]))


@WIDTHS
@pytest.mark.parametrize("name", REFUSED)
def test_problem_wraps_between_words(lines_at, width, name):
    with pytest.raises(ShapeError) as caught:
        REFUSED[name]()
    problem = caught.value.problem
    lines = lines_at(width, print_problem, problem, [(None, "reshape"), ("input", "2,3,4"), ("target", "5,-1")])
    assert find_unwrapped(lines, width) == []
    text = " ".join(line.strip() for line in lines)
    assert f"shapecalc: {problem.rule}: {problem.message}" in text
    assert (problem.hint or "") in text


@WIDTHS
def test_caret_stays_below_token(lines_at, width):
    with pytest.raises(ShapeError) as caught:
        sc.reshape((2, 3, 4), (5, -1))
    lines = lines_at(
        width, print_problem, caught.value.problem, [(None, "reshape"), ("input", "2,3,4"), ("target", "5,-1")]
    )
    at = lines.index("  reshape 2,3,4 5,-1")
    assert lines[at + 1].index("^") == lines[at].index("5,-1") + 2


@pytest.mark.parametrize(("width", "indents"), [(50, {4}), (80, {32}), (120, set())])
def test_steps_wrap_in_the_column_of_reasons(width, indents):
    answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1), second=(1, 0))
    unwrapped, wrapped = steps_text(answer).plain, steps_text(answer, width).plain
    assert max(map(len, unwrapped.splitlines())) > 80
    assert max(map(len, wrapped.splitlines())) <= width
    assert wrapped.split() == unwrapped.split()
    continued = [line for line in wrapped.splitlines() if line.startswith(" ")]
    assert {len(line) - len(line.lstrip()) for line in continued} == indents


def test_message_is_one_line_off_terminal(capsys):
    for message in MESSAGES:
        print_stderr(message * 3)
    assert capsys.readouterr().err.splitlines() == [message * 3 for message in MESSAGES]


@pytest.mark.parametrize(
    ("lines", "styles", "styled"),
    [
        (table_lines(YOLO, YOLO.nodes), REPORT_STYLES, [r"\x1b\[1;[\d;]+m", r"\x1b\[1m "]),
        (diagnose(MESSAGE).format_lines(), DIAGNOSIS_STYLES, [r"\x1b\[1;[\d;]+mcount-mismatch", r"\x1b\[1m  what"]),
    ],
)
def test_report_has_colours_on_a_terminal_alone(lines, styles, styled, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    outputs = []
    for stream in (Terminal(), io.StringIO()):
        with redirect_stdout(stream):
            print_report(lines, styles)
        outputs.append(stream.getvalue())
    assert all(re.search(part, outputs[0]) for part in styled)
    assert outputs[1] == "\n".join([*lines, ""])
    assert re.sub(r"\x1b\[[0-9;]*m", "", outputs[0]) == outputs[1]


@WIDTHS
def test_diagnosis_wraps_between_words(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = diagnose(MESSAGE).format_lines()
    with redirect_stdout(Terminal()) as stream:
        print_report(lines, DIAGNOSIS_STYLES, indent=8)
    wrapped = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()
    assert not find_unwrapped(wrapped, width)
    assert " ".join(" ".join(wrapped).split()) == " ".join(" ".join(lines).split())
