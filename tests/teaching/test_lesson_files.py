"""Check lesson files: each fault is reported once, with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapecalc.core.problem import ShapeError
from shapecalc.teaching.lessons import (
    MAX_LESSON_FILE_BYTES,
    find_lesson_errors,
    judge_lesson_answer,
    parse_lesson_file,
    read_lesson_file,
)
from tests.sampling import each_row
from tests.tui.tables import table

GOOD = (Path(__file__).parent / "tables" / "good.toml").read_text("utf-8")


def replace_in_good(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_lesson_file_without_errors_gives_lessons():
    assert find_lesson_errors(GOOD) == (2, [])
    heads, last = parse_lesson_file("data/week3.toml", GOOD)
    assert (heads.id, heads.notes, len(heads.wrong)) == ("week3/heads", "Say it twice.", 2)
    assert judge_lesson_answer(heads, "N,S,8,64").feedback == "A reshape splits."
    assert judge_lesson_answer(heads, "N,S,512").feedback == "nothing was split"
    assert last.task.prompt == "Where does the element at [0,2] go?"


LARGE = [
    ("# week 3", "x = " + "[" * 5000, 1, "it is nested too deeply"),
    ("# week 3", "x = " + "9" * 5000, 1, "it has a number with too many digits"),
]


@each_row(("old", "new", "line", "message"), [*table("wrong", "teaching"), *LARGE])
def test_lesson_file_errors_name_their_line(old, new, line, message):
    _, faults = find_lesson_errors(replace_in_good(old, new) if old else "")
    if not message:
        assert faults == []
        return
    (fault,) = faults
    assert message in fault.message
    assert fault.line == int(line)


def test_lesson_file_multiline_values_keep_line_numbers():
    text = replace_in_good('"Say it twice."', "'''\none]\n[[lesson]]\n''' # two").replace('"last"', '"Last"')
    assert [fault.line for fault in find_lesson_errors(text)[1]] == [25]
    text = replace_in_good('follow = "0,2"', "wrong = [\n  {typed = '3', said = 'x'},\n]\nfollow = '0,3'")
    assert [fault.line for fault in find_lesson_errors(text)[1]] == [29]


def test_lesson_file_wrong_answers_have_their_own_lines():
    entries = "{typed = '0,0', said = 'x'},\n  # no\n  {typed = ',', said = ''},\n  {typed = '1', sad = 'x'}"
    for text, lines in ((f"wrong = [\n  {entries}\n]", [29, 30, 30]), (f"wrong = [{entries}]", [28, 29, 29])):
        assert [fault.line for fault in find_lesson_errors(replace_in_good('follow = "0,2"', text))[1]] == lines


def test_lesson_file_errors_are_in_line_order():
    text = replace_in_good('"heads"', '"Heads"').replace('"last"', '"Last"').replace("# week 3", "x = 1")
    assert [fault.line for fault in find_lesson_errors(text)[1]] == [1, 3, 22]


def test_lesson_file_with_errors_is_not_opened():
    with pytest.raises(ShapeError, match=r"usage: w.toml:3: an id .*\(2 in all; see shapecalc drill --check-lessons\)"):
        parse_lesson_file("w.toml", replace_in_good('"heads"', '"Heads"').replace('"last"', '"Last"'))


@settings(max_examples=min(40, settings.default.max_examples))
@given(st.text(max_size=60), st.integers(0, len(GOOD)), st.integers(0, 40))
def test_lesson_file_drawn_errors_have_valid_lines(piece, start, length):
    text = GOOD[:start] + piece + GOOD[start + length :]
    _, faults = find_lesson_errors(text)
    assert all(1 <= fault.line <= text.count("\n") + 1 for fault in faults)


UNREADABLE = [
    (None, "no such file or directory"),
    (b"\xff", "it is not UTF-8"),
    (b"#" * (MAX_LESSON_FILE_BYTES + 1), "it holds more than 65536 bytes"),
    ("a pipe", "it is not a regular file"),
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize(("content", "message"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_lesson_file_unreadable_is_reported(content, message, tmp_path):
    file = tmp_path / "w.toml"
    if content == "a pipe":
        os.mkfifo(file)
    elif content is not None:
        file.write_bytes(content)
    with pytest.raises(ShapeError, match="file: ") as raised:
        read_lesson_file(str(file))
    assert message in raised.value.problem.message


def test_lesson_file_with_foreign_line_ends_is_read(tmp_path):
    file = tmp_path / "w.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_lesson_file(str(file)) == GOOD
