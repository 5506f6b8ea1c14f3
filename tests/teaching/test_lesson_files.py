"""A teacher's file: each thing that can be wrong in it is told once, with its line."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.problem import ShapeError
from shapecalc.teaching.lessons import LARGEST, faults_in, judge, own_lessons, read_lesson_file

GOOD = '''\
# week 3
[[lesson]]
id = "heads"
title = "Splitting heads"
text = """
[[lesson]]
id = 3 is no key here
"""
question = "reshape N,S,512 0,0,8,-1"   # id = "no"
point = "A reshape splits."
notes = "Say it twice."

[[lesson.wrong]]
typed = "N,S,512"
said = "nothing was split"

[[lesson.wrong]]
typed = "N,S,8,512"
said = "that holds too many elements"

[[lesson]]
id = "last"
title = "Where it goes"
text = "Follow it."
question = "transpose 2,3 1,0"
follow = "0,2"
point = "It moves."
'''


def changed(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_a_good_file_has_nothing_wrong_and_gives_lessons():
    assert faults_in(GOOD) == (2, [])
    heads, last = own_lessons("data/week3.toml", GOOD)
    assert (heads.id, heads.notes, len(heads.wrong)) == ("week3/heads", "Say it twice.", 2)
    assert judge(heads, "N,S,8,64").said == "A reshape splits."
    assert judge(heads, "N,S,512").said == "nothing was split"
    assert last.task.asks == "Where does the element at [0,2] go?"


WRONG = [
    ("", "", 1, "there is no [[lesson]]"),
    ("# week 3", 'title = "x"', 1, "there is no key 'title' beside [[lesson]]"),
    ('id = "heads"\n', "", 2, "id is missing"),
    ('"heads"', '"Heads 1"', 3, "an id is made of small letters"),
    ('"heads"', "[1]", 3, "id is a text, not a list"),
    ('id = "last"', 'id = "heads"', 22, "lesson 1 also has the id 'heads'"),
    ('"Splitting heads"', '""', 4, "title is empty"),
    ('"Splitting heads"', f'"{"x" * 61}"', 4, "title has 61 characters, and 60 are the most"),
    ('"Splitting heads"', r'"\u001b[31m"', 4, "title holds a character that cannot be shown"),
    ('"Splitting heads"', r'"\u202e"', 4, "title holds a character that cannot be shown"),
    ('"Splitting heads"', r'"Splitting\nheads"', 4, "title holds a character that cannot be shown"),
    ("notes =", "note =", 11, "there is no key 'note': there are id, title"),
    ('"Say it twice."', "1979-05-27", 11, "notes is a text, not a date"),
    ("0,0,8,-1", "0,0,9,,", 9, "the question cannot be read: a dim is missing"),
    ("reshape N,S,512", "reshap N,S,512", 9, "the question cannot be read: there is no operation 'reshap'"),
    (
        "reshape N,S,512",
        "reshape x.npy",
        9,
        "the question cannot be read: the input must be a shape that is written out",
    ),
    ('notes = "Say', 'stage = "first"\nnotes = "Say', 11, "there is no stage 'first': there are reshape"),
    ('follow = "0,2"', 'follow = "0,3"', 26, "index 3 is outside of dim 1, which is 3"),
    ('follow = "0,2"', 'follow = "x"', 26, "an axis is a whole number, not x"),
    ('follow = "0,2"', 'stage = "transpose"\nfollow = "0,2"', 27, "stage asks for a shape and follow for an index"),
    ("transpose 2,3 1,0", "slice 2,3 ':,1:'", 26, None),
    ("transpose 2,3 1,0", "slice 2,3 ':,:1'", 26, "this element is left out on its way"),
    ('"Follow it."', '"It goes to 2,0."', 24, "text gives the answer away, which is 2,0"),
    ('"nothing was split"', '"it is N,S,8,64"', 15, "it gives the answer away, which is N,S,8,64"),
    ('typed = "N,S,512"', 'typed = "N,S,8,64"', 14, "this is the right answer"),
    ('typed = "N,S,512"', 'typed = "N,,S"', 14, "nobody could type this: a dim is missing"),
    ('typed = "N,S,512"', 'typed = "N, S, 8, 512"', 18, "this wrong answer stands here twice"),
    ('said = "nothing was split"\n', "", 13, "said is missing"),
    ('split"\n', 'split"\nsame_as = "reshape 2,3 6"\n', 16, "this question gives 6, not N,S,512"),
    ('split"\n', 'split"\nsame_as = "reshape 2"\n', 16, "the question cannot be read"),
    (
        '[[lesson.wrong]]\ntyped = "N,S,8',
        'wrong = "x"\n[[lesson.wrong]]\ntyped = "N,S,8',
        17,
        "there is no key 'wrong'",
    ),
    ('notes = "Say', '"note" = "Say', 11, "there is no key 'note': there are id, title"),
    ('notes = "Say', 'notes.note = "Say', 11, "notes is a text, not a table"),
    ('point = "It moves."', 'point = "It moves."\n[week]\nnumber = 3', 28, "there is no key 'week' beside [[lesson]]"),
    ("# week 3", "[[lesson", 1, "it is not TOML: expected ']]'"),
    ("# week 3", "x = " + "[" * 5000, 1, "it is nested too deeply"),
    ("# week 3", "x = " + "9" * 5000, 1, "it has a number with too many digits"),
    ('"It moves."', '"""', 28, "it is not TOML: "),
]


@pytest.mark.parametrize(("old", "new", "line", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_line(old, new, line, said):
    _, faults = faults_in(changed(old, new) if old else "")
    if said is None:
        assert faults == []
        return
    assert len(faults) == 1
    assert said in faults[0].said
    assert line in (None, faults[0].line)


def test_statements_of_several_lines_do_not_move_the_lines_after_them():
    text = changed('"Say it twice."', "'''\none]\n[[lesson]]\n''' # two").replace('"last"', '"Last"')
    assert [fault.line for fault in faults_in(text)[1]] == [25]
    text = changed('follow = "0,2"', "wrong = [\n  {typed = '3', said = 'x'},\n]\nfollow = '0,3'")
    assert [fault.line for fault in faults_in(text)[1]] == [29]


def test_wrong_answers_in_a_list_have_lines_of_their_own():
    entries = "{typed = '0,0', said = 'x'},\n  # no\n  {typed = ',', said = ''},\n  {typed = '1', sad = 'x'}"
    for text, lines in ((f"wrong = [\n  {entries}\n]", [29, 30, 30]), (f"wrong = [{entries}]", [28, 29, 29])):
        assert [fault.line for fault in faults_in(changed('follow = "0,2"', text))[1]] == lines


def test_all_that_is_wrong_is_told_in_the_order_of_the_lines():
    text = changed('"heads"', '"Heads"').replace('"last"', '"Last"').replace("# week 3", "x = 1")
    assert [fault.line for fault in faults_in(text)[1]] == [1, 3, 22]


def test_a_file_with_mistakes_is_not_opened():
    with pytest.raises(ShapeError, match=r"usage: w.toml:3: an id .*\(2 in all; see shapecalc drill --check-lessons\)"):
        own_lessons("w.toml", changed('"heads"', '"Heads"').replace('"last"', '"Last"'))


@given(st.text(max_size=60), st.integers(0, len(GOOD)), st.integers(0, 40))
def test_whatever_stands_in_a_file_gets_lines_of_that_file(piece, at, length):
    text = GOOD[:at] + piece + GOOD[at + length :]
    _, faults = faults_in(text)
    assert all(1 <= fault.line <= text.count("\n") + 1 for fault in faults)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        (b"\xff", "it is not UTF-8"),
        (b"#" * (LARGEST + 1), "it holds more than 65536 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(content, said, tmp_path):
    file = tmp_path / "w.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ShapeError, match="file: ") as raised:
        read_lesson_file(str(file))
    assert said in raised.value.problem.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_that_nobody_writes_into_is_told_at_once(tmp_path):
    os.mkfifo(tmp_path / "w.toml")
    with pytest.raises(ShapeError, match="it is not a regular file"):
        read_lesson_file(str(tmp_path / "w.toml"))


def test_a_file_of_another_system_is_read(tmp_path):
    file = tmp_path / "w.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_lesson_file(str(file)) == GOOD
