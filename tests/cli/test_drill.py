"""Exercises on the command line: worksheets, what each kind of answer is worth, and a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections import Counter
from html.parser import HTMLParser

import pytest

from shapecalc.teaching import TOPICS
from shapecalc.teaching.exercises import Worksheet, draw_exercises, worksheet_html
from shapecalc.teaching.judging import correct_prediction, prediction_text
from tests.cli.conftest import ROOT, command, environment


@pytest.fixture(autouse=True)
def data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.parametrize("topic", TOPICS)
def test_worksheet_answers_are_right(topic, shapecalc):
    words = ("drill", topic, "--print", "12", "--seed", "x")
    questions, _, answers = shapecalc(*words, "--with-answers").out.partition("\nAnswers\n")
    asked = re.findall(r"^ *\d+\. (.*)", questions, re.M)
    told = re.findall(r"^ *\d+\. (.*?)(?:: .*\[[\w-]+\])?$", answers, re.M)
    if topic != "build":
        assert asked == [each.task.question for each in draw_exercises(topic, "x", 12)]
        assert told == [prediction_text(correct_prediction(each.task)) for each in draw_exercises(topic, "x", 12)]
    plain = shapecalc(*words).out
    assert "Answers" not in plain
    assert plain.splitlines()[-1] == f"shapecalc {' '.join(words)}"
    if topic != "all":  # which is asked in another order
        drilled = shapecalc("drill", topic, "--seed", "x", stdin="\n".join(told[:3]))
        assert (drilled.code, "\nscore: 3 of 3 right, streak 3" in drilled.out) == (0, True)


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "all"])
def test_worksheet_limits_requests_differing_only_in_sizes(topic):
    alike = Counter((each.kind.name, each.task.form) for each in draw_exercises(topic, "a", 20))
    assert max(alike.values()) <= 2


def test_worksheet_answers_explain_zeros_and_minus_one(shapecalc):
    page = shapecalc("drill", "zero", "infer", "--print", "40", "--with-answers", "--seed", "a").out
    questions, _, answers = page.partition("\nAnswers\n")
    told = dict(re.findall(r"^ *(\d+)\. (.*)", answers, re.M))
    for number, target in re.findall(r"^ *(\d+)\. reshape \S+ (\S+)$", questions, re.M):
        if not told[number].startswith("error"):
            zeros = [str(at) for at, dim in enumerate(target.split(",")) if dim == "0"]
            assert re.findall(r"the 0 at index (\d+) ", told[number]) == zeros
            assert ("-1 = " in told[number]) == ("-1" in target.split(","))


class Tags(HTMLParser):
    """What a page holds: its tags in order, all closed, and its text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_worksheet_page_is_self_contained(shapecalc):
    page = shapecalc("drill", "--print", "9", "--with-answers", "--seed", "a", "--format", "html").out
    tags = Tags(page)
    assert (tags.open, tags.seen.count("li"), tags.seen.count("svg")) == ([], 18, 9)
    assert "[      ]" in tags.text
    assert "dark" not in page
    assert all(each.task.question in tags.text for each in draw_exercises("all", "a", 9))
    assert not re.search(r"https?:(?!//www.w3.org/2000/svg)|src=|<script", page)


def test_worksheet_page_escapes_text():
    tags = Tags(worksheet_html(Worksheet("<i>&", "'\"<b>", ("reshape <script>",), ("<img src=x>",))))
    assert {"i", "b", "script", "img"}.isdisjoint(tags.seen)
    assert "reshape <script>" in tags.text
    assert "<img src=x>" in tags.text


def test_drill_on_a_terminal_prompts_retries_and_scores(tmp_path):
    parent, child = pty.openpty()
    env = {**environment(), "XDG_DATA_HOME": str(tmp_path), "TERM": "xterm"}
    words = command("drill", "infer", "--seed", "monday")
    running = subprocess.Popen(words, env=env, cwd=ROOT, stdin=child, stdout=child, stderr=child)
    os.close(child)
    shown = b""
    for text, answer in (
        (b"\n> ", b"2,,\n"),
        (b"a dim is missing", b"4,3,2,2\n"),
        (b"2. level 1", b"\x04"),
        (b"score: 1 of 1 right, streak 1", b""),
    ):
        while text not in shown:
            shown += os.read(parent, 4096)
        os.write(parent, answer)
    assert running.wait(30) == 0
    os.close(parent)
    assert shown.startswith(b"shapecalc: type the output shape, or error; ? gives a hint")
