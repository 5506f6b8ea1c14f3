"""A canvas joins lines, puts words over them, and gives neighbours of one style one span."""

from __future__ import annotations

import pytest
from rich.style import Style

from shapecalc.view.canvas import DOWN, LEFT, RIGHT, UNICODE, UP, Canvas

LIT = Style(reverse=True)


@pytest.fixture
def canvas():
    return Canvas(UNICODE, 3)


def spans(canvas):
    text = canvas.text(20)
    return [(text.plain[start:end], style) for start, end, style in text.spans]


def test_lines_join_where_they_meet(canvas):
    canvas.draw_down(2, 0, 2)
    canvas.draw_across(1, 0, 5)
    canvas.join(2, 2, LEFT)
    assert canvas.text(20).plain == "  ╷\n──┼──\n  ╯"


@pytest.mark.parametrize("word_first", [True, False])
def test_words_stand_over_lines_in_any_order(canvas, word_first):
    def write():
        canvas.put(1, 1, "-1")

    def draw():
        canvas.draw_across(1, 0, 4)
        canvas.join(2, 1, UP | DOWN)

    for act in (write, draw) if word_first else (draw, write):
        act()
    assert canvas.text(20).plain == "\n─-1─\n"


def test_what_is_beside_or_below_the_canvas_is_cut(canvas):
    canvas.put(-2, 0, "abcd")
    canvas.put(-4, 1, "abcd")
    canvas.put(0, 3, "abcd")
    canvas.draw_down(0, 2, 5)
    assert canvas.text(20).plain == "cd\n\n╷"


def test_a_style_of_none_hides(canvas):
    canvas.draw_across(0, 0, 4, None)
    canvas.put(0, 1, "word", None)
    canvas.join(0, 2, LEFT | RIGHT, None)
    assert canvas.text(20).plain == "\n\n"


def test_a_row_that_is_too_wide_ends_with_dots(canvas):
    canvas.put(0, 0, "abcdefgh", "bold")
    text = canvas.text(5)
    assert (text.plain, text.spans[0][:2]) == ("abcd…\n\n", (0, 4))


def test_blanks_between_words_of_one_style_are_of_it(canvas):
    canvas.put(0, 0, "a", "bold")
    canvas.put(2, 0, " b", "bold")
    canvas.put(6, 0, "c", "red")
    assert spans(canvas) == [("a  b  ", "bold"), ("c", "red")]


def test_blanks_after_what_is_lit_are_not(canvas):
    canvas.put(0, 0, "a", LIT)
    canvas.put(2, 0, "b", LIT)
    assert spans(canvas) == [("a", LIT), ("b", LIT)]


def test_each_cell_may_have_a_style_of_its_own(canvas):
    canvas.put_cells(1, 0, "╲-x", ["red", "", "bold"])
    assert spans(canvas) == [("╲", "red"), ("x", "bold")]


def test_only_level_lines_become_lines_of_sizes(canvas):
    canvas.draw_across(0, 0, 4)
    canvas.put(1, 0, "0")
    canvas.join(3, 0, DOWN)
    canvas.dash(0, 4)
    assert canvas.text(20).plain == "┄0┄┬\n\n"
