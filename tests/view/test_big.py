"""Large figures: they fit the room that they are given, and show what the small ones show."""

from __future__ import annotations

import re

import pytest

import shapecalc as sc
from shapecalc.view.big import GLYPHS, Scale, big, figures, figures_width

SIZES = [(118, 37), (78, 21), (198, 57), (58, 15), (20, 5)]
ANSWERS = [
    sc.transpose((2, 3, 4), (1, 2, 0)),
    sc.reshape((2, 2, 3, 2), (-1, 0, 0)),
    sc.reshape("N,C,H,W", "0,-1,64"),
    sc.squeeze((1, 3, 1)),
    sc.reshape((), (1, 1)),
    sc.chain("2,3,4", "transpose 1,0,2", "reshape 0,-1"),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_the_figures_fit_their_room(answer, size):
    width, height = size
    for at in range(len(answer.steps)):
        picture = big(answer, at, width=width, height=height)
        if picture is not None:
            lines = picture.plain.split("\n")
            assert len(lines) <= height
            assert max(map(len, lines)) <= width


def shown(picture):
    return "\n".join(line.rstrip() for line in picture.plain.split("\n"))


def holds(picture, text, scale):
    """Say whether a text stands somewhere in a picture in large figures."""
    lines, wanted = picture.plain.split("\n"), figures(text, scale)
    wide = max(map(len, lines))
    lines = [line.ljust(wide) for line in lines]
    return any(
        all(lines[row + place][x : x + len(line)] == line for place, line in enumerate(wanted))
        for row in range(len(lines) - len(wanted) + 1)
        for x in range(wide - len(wanted[0]) + 1)
    )


def test_a_lecture_room_gets_the_largest_figures_with_the_request_over_them():
    picture = big(ANSWERS[1], 2, width=118, height=37)
    for text in ("A 2", "C 3", "-1", "0"):
        assert holds(picture, text, Scale.LARGE)
    assert holds(picture, "reshape -1,0,0", Scale.MEDIUM)
    assert holds(picture, "24/6=4", Scale.MEDIUM)


def test_a_size_that_a_0_copies_comes_from_its_own_index_and_not_from_where_the_elements_do():
    for at in (0, 3):
        lines = big(ANSWERS[1], at, width=118, height=37).plain.split("\n")
        assert sum(any("⠀" < char <= "⣿" for char in line) for line in lines) > 6
        assert sum(re.search("([⠁-⣿] ){3}", line) is not None for line in lines) == 1


def test_holes_stay_holes():
    holes = {(1, 0): "[    ]", (1, 1): "[✗3  ]", (1, 2): "[    ]"}
    picture = big(ANSWERS[1], 0, width=118, height=37, holes=holes, chosen=(1, 1))
    assert holds(picture, "[✗3]", Scale.LARGE)
    assert holds(picture, "[ ]", Scale.LARGE)
    assert not holds(picture, "4", Scale.LARGE)
    assert holds(picture, "▸[✗3]", Scale.LARGE)
    assert not any("⠀" <= char <= "⣿" for char in picture.plain)


def test_a_permutation_is_drawn_as_lines_that_cross():
    picture = big(ANSWERS[0], 3, width=118, height=37)
    assert sum("⠀" < char <= "⣿" for char in picture.plain) > 30


@pytest.mark.parametrize("scale", [*Scale])
def test_every_figure_is_of_one_size_and_differs_from_the_others(scale):
    drawn = {char: tuple(figures(char, scale)) for char in GLYPHS if char != "✗"}
    gap = 2 if scale is Scale.LARGE else 1
    for lines in drawn.values():
        assert [len(line) for line in lines] == [scale.columns - gap] * scale.rows
    assert len({*drawn.values()}) == len(drawn)
    assert figures_width("1234", scale) == len(figures("1234", scale)[0])
