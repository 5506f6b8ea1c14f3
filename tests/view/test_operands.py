"""Operands and windows in pictures: what stands in one column, what is marked, and what windows cover."""

from __future__ import annotations

import pytest

from shapecalc.view.canvas import ASCII
from shapecalc.view.flow import flow
from shapecalc.view.layout import layouts
from shapecalc.view.operands import _pattern_labels
from shapecalc.view.pictures import main_step, picture
from shapecalc.view.scenes import film_of
from tests.view.questions import answer_to


def drawn(line, **options):
    answer = answer_to(line)
    return picture(answer, main_step(answer, 78), strokes=ASCII, **options).plain.split("\n")


COLUMNS = [
    ("broadcast 8,1,6 7,1", "input 8 >1 6", "answer 8 7 6"),
    ("broadcast 1,11 4,1", "input >1 11", "answer 4 11"),
    ("broadcast 2,3 []", "input 2 3", "operand 1", "answer 2 3"),
    ("broadcast 1 1", "input 1", "answer 1"),
    ("matmul 5,1,2,3 4,3,6", "matmul -4 -3 row sum column", "input 5 >1 2 3", "answer 5 4 2 | 6"),
    ("matmul 3 3,4", "matmul sum column", "answer | 4"),
    ("matmul 3 3", "matmul sum", "answer |"),
    ("concat 2,3 _ 2,5 --axis -1", "concat axis 0 axis 1 +"),
    ("conv 1,9,9,3 3,3,3,8 -d tensorflow", "conv dims 1 and 2: 9 - 3 + 1 = 7"),
]
"""A line, and lines of its picture without more than one blank between words."""


@pytest.mark.parametrize(("line", *["seen"]), [(line, seen) for line, *seen in COLUMNS])
def test_dims_that_belong_together_stand_in_one_column(line, seen):
    rows = [" ".join(row.split()) for row in drawn(line)]
    assert [each for each in seen if not any(row.startswith(each) for row in rows)] == []


CLASHES = [
    ("broadcast 8,3 7,1", ["x8", "x7"]),
    ("matmul 2,3 4,5", ["x3", "x4"]),
    ("concat 2,3 4,5 --axis 1", ["x2", "x4"]),
    ("concat 2,3 3 --axis 0", []),
    ("broadcast 2,3 4 -d tensorrt", []),
    ("conv 1,361,424,3 10,3,3,3", ["x361", "x3"]),
    ("pool 1,3,4,9 7", ["x4", "x7"]),
]


@pytest.mark.parametrize(("line", "marked"), CLASHES)
def test_a_refusal_marks_the_dims_that_clash(line, marked):
    rows = drawn(line)
    assert [word for row in rows for word in row.split() if word[0] == "x" and word[1:].isdigit()] == marked
    assert rows[-1].endswith(f"x {answer_to(line).problem.rule}")
    assert not any(row.startswith("answer") for row in rows)


def test_bars_are_as_long_as_what_lies_along_the_axis():
    bars = [row.split("   ")[-1].strip() for row in drawn("concat 2,3 2,5 2,0 --axis 1") if row[-1] in "#!"]
    assert [len(bar) for bar in bars] == [12, 20, 32]
    assert "bars are not to scale: sizes have names" in drawn("concat 2,C 2,5 --axis 1")


def test_operands_without_room_are_counted():
    rows = drawn(f"concat 1{' 1' * 40} --axis 0", height=8)
    assert len(rows) == 8
    assert rows[-1] == "... 37 more operands"


WINDOWS = [
    ("pool 1,1,8 3 --stride 2", "0 1 2 3 4 5 6 7", ["# # #", "# # #", "# # #"], "3 windows of 3, 2 apart; 1 left over"),
    ("pool 1,1,5 3 --padding 1", "= 0 1 2 3 4 =", ["# # #"] * 3, "5 windows of 3, 1 apart; nothing left over"),
    ("pool 1,1,8 3 --dilation 2", "0 1 2 3 4 5 6 7", ["#   #   #"] * 3, "4 windows of 3, 1 apart; nothing left over"),
    ("pool 1,1,4 3 --stride 2 --ceil", "0 1 2 3", ["# # #"] * 2, "2 windows of 3, 2 apart"),
    ("pool 1,1,4 global", "0 1 2 3", ["# # # #"], "1 window of 4, 1 apart; nothing left over"),
    ("conv 1,1,3 1,1,2 --transposed --stride 2", "0 1 2 3 4 5", ["# #"] * 3, "3 windows of 2, 2 apart"),
    ("conv 1,1,8 1,1,3 --stride 2 --padding same", "0 1 2 3 4 5 6 7 =", ["# # #"] * 3, "4 windows of 3, 2 apart"),
]


@pytest.mark.parametrize(("line", "ruler", "windows", "said"), WINDOWS)
def test_windows_slide_over_the_ruler(line, ruler, windows, said):
    _, positions, *rows = drawn(line)
    assert positions.removeprefix("positions").strip().replace("!", "=") in (ruler, ruler.replace("=", "!"))
    assert [row[10:].strip() for row in rows if row.startswith("window ")] == windows
    assert said in rows[-1]


FORMULAS = [
    ("pool N,C,H,W 3 --stride 2 --padding 1", "pool  dim 2: (H + 1 + 1 - 3)//2 + 1 = H1"),
    ("conv N,3,H 8,3,3 --dilation 2", "conv  dim 2: H - (2*(3 - 1) + 1) + 1 = H1"),
    ("pad N,4 0,2,0,-1", "pad  dim 1: 2 + 4 - 1 = 5"),
    ("upsample 1,1,3,4 2", "upsample  dim 2: 3*2, rounded down, = 6"),
    ("pool 1,1,8 3 --stride 2 --ceil", "pool  dim 2: (8 - 3) / 2, rounded up, + 1 = 4"),
]


@pytest.mark.parametrize(("line", "said"), FORMULAS)
def test_the_size_of_an_axis_is_said_over_its_ruler(line, said):
    rows = drawn(line)
    assert rows[0] == said
    assert any(row.startswith(("positions", "answer")) for row in rows) == ("H" not in said)


@pytest.mark.parametrize("line", ["pool 1,1,224 7 --stride 2 --padding 3", "upsample 1,1,500 2", "pool 1,1,9999 5000"])
@pytest.mark.parametrize("width", [40, 78])
def test_a_ruler_that_is_too_long_is_cut_in_the_middle(line, width):
    rows = drawn(line, width=width)
    assert all(len(row) <= width for row in rows)
    assert ".." in rows[1]


def test_what_is_hidden_is_not_told():
    answer = answer_to("pool 1,1,8 3 --stride 2")
    rows = picture(answer, len(answer.steps) - 1, holes={(1, 2): "[  ]"}).plain
    assert rows == "pool  dim 2: (8 - 3)//2 + 1 = [  ]"
    joined = answer_to("concat 2,3 2,5 --axis 1")
    rows = picture(joined, 1, strokes=ASCII, holes={(1, 1): "[  ]"}).plain
    assert "8" not in rows
    assert rows.split("\n")[-1].split() == ["answer", "2", "[", "]"]


def test_axes_of_operands_are_called_by_numbers_that_count_on():
    answer = answer_to("chain 2,3 | matmul 3,4 | concat 2,1 --axis 1 | matmul 5,6")
    marks = [[".".join(cell.mark.names) for cell in layout.cells] for layout in layouts(answer)]
    assert marks == [["a", "1.1"], ["a", "1.1+"], ["a", "3.1"]]
    assert flow(answer).plain.split("\n")[-1] == "operand 1: 3,4   operand 2: 2,1   operand 3: 5,6"


@pytest.mark.parametrize(
    ("pattern", "ranks", "answer"),
    [("ij,jk->ik", (2, 2), "ik"), ("ij,jk", (2, 2), "ik"), ("b...i,ij->...j", (4, 2), ["-2", "-1", "j"])],
)
def test_labels_of_a_pattern(pattern, ranks, answer):
    assert _pattern_labels(pattern, ranks)[1] == [*answer]


def test_a_film_draws_the_stage_and_says_that_elements_are_not_followed():
    film = film_of(answer_to("chain 2,6 | reshape 2,2,3 | matmul 3,4"))
    assert film.notes == ("elements of several operands, or of windows, are not followed",)
    words = [{sprite.text for sprite in frame.sprites.values()} for frame in film.frames]
    assert any(word.startswith("memory") for word in {*words[1]})
    assert any("column" in word for word in words[-1])
    assert not any(word.startswith("memory") for word in words[-1])
