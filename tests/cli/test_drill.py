"""Exercises on the command line: asked a line each, in a pipe and on a terminal, and printed for paper."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections import Counter
from html.parser import HTMLParser

import pytest

from shapecalc.teaching import TOPICS
from shapecalc.teaching.exercises import Sheet, exercises, html_of
from shapecalc.teaching.judging import prediction_text, right_prediction
from tests.cli.conftest import ROOT, command, environment


@pytest.fixture(autouse=True)
def data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def right_answers(topic, seed, count):
    return [prediction_text(right_prediction(each.task)) for each in exercises(topic, seed, count)]


def test_right_answers_in_a_pipe_are_counted_and_kept(shapecalc, data_folder):
    found = shapecalc("drill", "infer", "--seed", "monday", stdin="\n".join(right_answers("infer", "monday", 6)))
    assert (found.code, found.err) == (0, "")
    lines = found.out.splitlines()
    assert lines[:2] == ["1. level 1   reshape 4,6,2 4,-1,2,2", "right, streak 1"]
    assert lines[-1] == "score: 6 of 6 right, streak 6; in all 6 of 6 right, streak 6, best 6"
    assert json.loads((data_folder / "shapecalc" / "lessons.json").read_text())["drill"]["right"] == 6


def test_a_wrong_answer_names_the_rule_and_shows_the_arithmetic(shapecalc):
    found = shapecalc("drill", "infer", "--seed", "monday", stdin="4,2,2,2\n5\n")
    assert found.code == 1
    lines = found.out.splitlines()
    assert lines[1] == "wrong: it is 4,3,2,2: -1 = 48 / 16 = 3 [infer]"
    assert lines[3].startswith("wrong: it is refused: 12 elements (2*6) cannot be divided by 8, 4 left over")


def test_an_empty_line_gets_the_answer_and_where_each_dim_comes_from(shapecalc):
    found = shapecalc("drill", "zero", "infer", "--seed", "monday", stdin="\n" * 6)
    assert found.code == 1
    told = found.out.splitlines()[1::2]
    assert not any("wrong" in line for line in told)
    assert all(line.startswith("it is ") for line in told[:6])
    assert "it is 3,2,2,4: the 0 at index 1 copies dim 1, which is 2 [copy-zero]" in told
    assert "0 of 6 right" in found.out


def test_a_known_mistake_is_named(shapecalc):
    found = shapecalc("drill", "perm", "--seed", "a", stdin="4,5\n5,2,6\n")
    assert "wrong: perm was read the other way" in found.out


def test_help_goes_a_rung_further_each_time_and_costs_nothing(shapecalc):
    found = shapecalc("drill", "zero", "--seed", "a", stdin="?\n?\n?\n?\n3,2,2,4\n")
    assert found.code == 0
    helps = found.out.partition("1. ")[2].partition("right, streak 1")[0]
    assert helps.index("[copy-zero]") < helps.index("count from the left") < helps.index("which is ?")
    assert "1 of 1 right" in found.out


def test_what_is_no_answer_is_a_wrong_one_in_a_pipe(shapecalc):
    found = shapecalc("drill", "--seed", "a", stdin="2,,\x1b[31m\n\n\udcff\n")
    assert found.code == 1
    assert "wrong: that is not an answer yet: " in found.out
    assert found.out.replace("\n", "").isprintable()
    assert "0 of 3 right" in found.out


def test_no_answer_at_all_is_no_mistake(shapecalc, data_folder):
    found = shapecalc("drill", stdin="")
    assert found.code == 0
    assert found.out.endswith("score: 0 of 0 right, streak 0; in all 0 of 0 right, streak 0, best 0\n")
    assert not data_folder.exists()


def test_what_was_missed_last_time_is_asked_first(shapecalc):
    shapecalc("drill", "zero", "--seed", "a", stdin="3,2,2,4\n9\n")
    (first, *_) = shapecalc("drill", "zero", stdin="").out.splitlines()
    assert re.search(r"reshape \d,\d,\d -1,0$", first)


def test_a_folder_that_cannot_be_written_is_told_once(shapecalc, data_folder):
    data_folder.write_text("in the way")
    found = shapecalc("drill", "--seed", "a", stdin="1\n1\n")
    assert found.err.count("progress is not kept") == 1


def test_a_worksheet_is_the_same_for_the_same_seed_and_holds_the_answers(shapecalc):
    one, other = (shapecalc("drill", "--print", "12", "--with-answers", "--seed", "x").out for _ in range(2))
    assert one == other
    questions, _, answers = one.partition("\nAnswers\n")
    asked = re.findall(r"^ *\d+\. (.*)", questions, re.M)
    told = re.findall(r"^ *\d+\. ([^:]*): .*\[[\w-]+\]$", answers, re.M)
    assert asked == [each.task.question for each in exercises("all", "x", 12)]
    assert told == right_answers("all", "x", 12)
    assert "\nshapecalc drill all --print 12 --seed x\n" in one


def test_a_worksheet_without_answers_holds_none_and_says_how_to_get_them(shapecalc):
    printed = shapecalc("drill", "zero", "--print", "3").out
    assert "Answers" not in printed
    again = printed.splitlines()[-1].split()[1:]
    assert shapecalc(*again).out == printed


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


def test_a_file_is_written_in_the_format_of_its_ending_and_not_written_over(shapecalc, tmp_path):
    for name, first in (("a.html", "<!DOCTYPE html>"), ("a.txt", "Shapes: all")):
        file = tmp_path / name
        words = ("drill", "--print", "4", "--with-answers", "--seed", "a", "-o", str(file))
        written = shapecalc(*words)
        assert (written.code, written.out, written.err) == (0, "", f"shapecalc: {file}: 4 exercises\n")
        assert file.read_text().splitlines()[0] == first
        again = shapecalc(*words)
        assert (again.code, again.out) == (4, "")
        assert again.err.endswith(f"{name}: it exists; --force writes over it\n")
        assert shapecalc(*words, "--force").code == 0


def test_a_page_is_whole_and_needs_nothing_else(shapecalc):
    page = shapecalc("drill", "--print", "9", "--with-answers", "--seed", "a", "--format", "html").out
    tags = Tags(page)
    assert tags.open == []
    assert (tags.seen.count("li"), tags.seen.count("svg")) == (18, 9)
    assert "[      ]" in tags.text
    assert "dark" not in page
    assert all(each.task.question in tags.text for each in exercises("all", "a", 9))
    assert not re.search(r"https?:(?!//www.w3.org/2000/svg)|src=|<script", page)


def test_several_topics_are_asked_in_turn_and_the_same_again(shapecalc):
    printed = shapecalc("drill", "zero", "perm", "--print", "8", "--seed", "a").out
    ops = re.findall(r"^ *\d+\. (\w+)", printed, re.M)
    assert {*ops} == {"reshape", "transpose"}
    assert printed.startswith("Shapes: zero, perm\n")
    assert shapecalc(*printed.splitlines()[-1].split()[1:]).out == printed


def test_a_worksheet_says_whose_rules_hold(shapecalc):
    printed = shapecalc("drill", "broadcast", "shuffle", "--print", "30", "--seed", "a").out
    rules = "Rules of ONNX (opset 25), for shuffle of tensorrt, of numpy or torch where it is named."
    assert f"\n{rules} Dims are counted from 0.\n" in printed


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "all"])
def test_of_one_kind_no_three_on_a_sheet_differ_in_sizes_alone(topic):
    asked = [*exercises(topic, "a", 20)]
    alike = Counter((each.kind.name, each.task.form) for each in asked)
    assert max(alike.values()) <= 2


def test_every_answer_of_a_sheet_accounts_for_every_0_and_for_the_minus_1(shapecalc):
    page = shapecalc("drill", "zero", "infer", "--print", "40", "--with-answers", "--seed", "a").out
    questions, _, answers = page.partition("\nAnswers\n")
    targets = dict(re.findall(r"^ *(\d+)\. reshape \S+ (\S+)$", questions, re.M))
    told = dict(re.findall(r"^ *(\d+)\. (.*)", answers, re.M))
    for number, target in targets.items():
        if not told[number].startswith("error"):
            assert [
                told[number].count(f"the 0 at index {at} ") for at, dim in enumerate(target.split(",")) if dim == "0"
            ] == [1 for dim in target.split(",") if dim == "0"]
            assert ("-1 = " in told[number]) == ("-1" in target.split(","))


MISUSED = [
    (["drill", ""], "there is no topic ''"),
    (["drill", "zeros"], "there is no topic 'zeros' (did you mean zero?)"),
    (["drill", "--seed", "a b"], "a seed is a word of letters and digits"),
    (["drill", "--seed", "`\x1b"], r"not '`\x1b'"),
    (["drill", "--with-answers"], "--with-answers is for worksheets"),
    (["drill", "-o", "x.md"], "-o is for worksheets"),
    (["drill", "--print", "0"], "--print is a whole number from 1 to 1000"),
    (["drill", "--print", "3", "--format", "pdf"], "there is no format 'pdf' (there are text, html)"),
    (["drill", "--print", "3", "-o", "sheet.pdf"], "'sheet.pdf' is not a worksheet (end it in .txt, .html, .htm)"),
    (["drill", "--check-lessons", "x", "--print", "3"], "--check-lessons and --print cannot be combined"),
]


@pytest.mark.parametrize(("words", "said"), MISUSED, ids=[" ".join(words[1:]) for words, _ in MISUSED])
def test_misuse_is_told_in_a_line(shapecalc, words, said):
    found = shapecalc(*words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1


def test_lessons_are_checked_with_their_lines(shapecalc, tmp_path):
    file = tmp_path / "w.toml"
    file.write_text('[[lesson]]\nid = "a"\ntitle = "A"\ntext = "t"\nquestion = "reshape 2 3"\npoint = "p"\n')
    found = shapecalc("drill", "--check-lessons", str(file))
    assert (found.code, found.out, found.err) == (0, "", "shapecalc: 1 lesson, nothing wrong\n")
    file.write_text("[[lesson]]\nid = 3\n")
    found = shapecalc("drill", "--check-lessons", str(file))
    assert found.code == 1
    assert f"{file}:2: id is a text, not an integer\n" in found.out
    assert found.err == "shapecalc: 1 lesson, 5 mistakes\n"
    assert shapecalc("drill", "--check-lessons", str(tmp_path / "none.toml")).code == 4


def test_on_a_terminal_it_prompts_asks_again_and_ends_with_the_score(tmp_path):
    parent, child = pty.openpty()
    env = {**environment(), "XDG_DATA_HOME": str(tmp_path), "TERM": "xterm"}
    words = command("drill", "infer", "--seed", "monday")
    running = subprocess.Popen(words, env=env, cwd=ROOT, stdin=child, stdout=child, stderr=child)
    os.close(child)
    shown = b""

    def until(text):
        nonlocal shown
        while text not in shown:
            shown += os.read(parent, 4096)

    until(b"\n> ")
    os.write(parent, b"2,,\n")
    until(b"a dim is missing")
    os.write(parent, b"4,3,2,2\n")
    until(b"2. level 1")
    os.write(parent, b"\x04")
    until(b"score: 1 of 1 right, streak 1")
    assert running.wait(30) == 0
    os.close(parent)
    assert shown.startswith(b"shapecalc: type the output shape, or error; ? gives a hint")


def test_a_closed_input_is_told(tmp_path):
    env = {**environment(), "XDG_DATA_HOME": str(tmp_path)}
    shell = ["bash", "-c", '"$@" <&-', "bash", *command("drill")]
    ran = subprocess.run(shell, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (4, "shapecalc: stdin: it is closed\n")


def test_a_page_escapes_whatever_stands_on_it():
    page = html_of(Sheet("<i>&", "'\"<b>", ("reshape <script>",), ("<img src=x>",)))
    tags = Tags(page)
    assert {"i", "b", "script", "img"}.isdisjoint(tags.seen)
    assert "reshape <script>" in tags.text
    assert "<img src=x>" in tags.text
