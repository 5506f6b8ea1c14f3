"""`shapecalc drill`: worksheets, and exercises on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections import Counter
from html.parser import HTMLParser

import pytest

from shapecalc.teaching import TOPICS
from shapecalc.teaching.exercises import Worksheet, generate_exercises, worksheet_html
from shapecalc.teaching.judging import correct_prediction, prediction_text
from tests.cli.conftest import ROOT, command, environment


@pytest.fixture(autouse=True)
def data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.parametrize("topic", TOPICS)
def test_worksheet_answers_are_right(topic, shapecalc):
    words = ("drill", topic, "--print", "12", "--seed", "x")
    questions, _, answers = shapecalc(*words, "--with-answers").out.partition("\nAnswers\n")
    printed_questions = re.findall(r"^ *\d+\. (.*)", questions, re.M)
    printed_answers = re.findall(r"^ *\d+\. (.*?)(?:: .*\[[\w-]+\])?$", answers, re.M)
    if topic != "build":
        assert printed_questions == [exercise.task.question for exercise in generate_exercises(topic, "x", 12)]
        expected = [correct_prediction(exercise.task) for exercise in generate_exercises(topic, "x", 12)]
        assert printed_answers == list(map(prediction_text, expected))
    plain = shapecalc(*words).out
    assert "Answers" not in plain
    assert plain.splitlines()[-1] == f"shapecalc {' '.join(words)}"
    if topic != "all":  # the drill asks its questions in another order
        drilled = shapecalc("drill", topic, "--seed", "x", stdin="\n".join(printed_answers[:3]))
        assert (drilled.code, "\nscore: 3 of 3 right, streak 3" in drilled.out) == (0, True)


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "all"])
def test_worksheet_limits_requests_differing_only_in_sizes(topic):
    counts = Counter((exercise.kind.name, exercise.task.template) for exercise in generate_exercises(topic, "a", 20))
    assert max(counts.values()) <= 2


def test_worksheet_answers_explain_zeros_and_minus_one(shapecalc):
    page = shapecalc("drill", "zero", "infer", "--print", "40", "--with-answers", "--seed", "a").out
    questions, _, answers = page.partition("\nAnswers\n")
    answer_of = dict(re.findall(r"^ *(\d+)\. (.*)", answers, re.M))
    for number, target in re.findall(r"^ *(\d+)\. reshape \S+ (\S+)$", questions, re.M):
        if not answer_of[number].startswith("error"):
            zeros = [str(index) for index, dim in enumerate(target.split(",")) if dim == "0"]
            assert re.findall(r"the 0 at index (\d+) ", answer_of[number]) == zeros
            assert ("-1 = " in answer_of[number]) == ("-1" in target.split(","))


class TagCollector(HTMLParser):
    """A parser that collects the tags and the text of a page, and checks that all tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_worksheet_page_is_self_contained(shapecalc):
    page = shapecalc("drill", "--print", "9", "--with-answers", "--seed", "a", "--format", "html").out
    parser = TagCollector(page)
    assert (parser.open, parser.tags.count("li"), parser.tags.count("svg")) == ([], 18, 9)
    assert "[      ]" in parser.text
    assert "dark" not in page
    assert all(exercise.task.question in parser.text for exercise in generate_exercises("all", "a", 9))
    assert not re.search(r"https?:(?!//www.w3.org/2000/svg)|src=|<script", page)


def test_worksheet_page_escapes_text():
    parser = TagCollector(worksheet_html(Worksheet("<i>&", "'\"<b>", ("reshape <script>",), ("<img src=x>",))))
    assert {"i", "b", "script", "img"}.isdisjoint(parser.tags)
    assert "reshape <script>" in parser.text
    assert "<img src=x>" in parser.text


def test_drill_on_a_terminal_prompts_retries_and_scores(tmp_path):
    parent, child = pty.openpty()
    env = {**environment(), "XDG_DATA_HOME": str(tmp_path), "TERM": "xterm"}
    words = command("drill", "infer", "--seed", "monday")
    running = subprocess.Popen(words, env=env, cwd=ROOT, stdin=child, stdout=child, stderr=child)
    os.close(child)
    output = b""
    for text, answer in (
        (b"\n> ", b"2,,\n"),
        (b"a dim is missing", b"4,3,2,2\n"),
        (b"2. level 1", b"\x04"),
        (b"score: 1 of 1 right, streak 1", b""),
    ):
        while text not in output:
            output += os.read(parent, 4096)
        os.write(parent, answer)
    assert running.wait(30) == 0
    os.close(parent)
    assert output.startswith(b"shapecalc: type the output shape, or error; ? gives a hint")
