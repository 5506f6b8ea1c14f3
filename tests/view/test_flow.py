"""The flow: what is lit up, what is left out, what is dim, and the marks and strokes it is drawn with."""

from __future__ import annotations

import pytest

from shapecalc.core.ops import step_rules
from shapecalc.view.canvas import ASCII, UNICODE, strokes_for
from shapecalc.view.flow import flow, rail
from shapecalc.view.layout import HUES, input_cells, layouts, mark_text
from shapecalc.view.wires import wiring
from tests.view.questions import answer_to

SHUFFLE = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"


def style_at(text, place):
    """Return the style of the cell of a dim."""
    (style,) = [span.style for span in text.spans if getattr(span.style, "meta", {}).get("dim") == place]
    return style


def test_choosing_a_dim_lights_up_all_that_it_comes_from():
    drawn = flow(answer_to(SHUFFLE), chosen=(2, 1))
    lit = {
        place
        for place in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
        if style_at(drawn, place).reverse
    }
    assert lit == {(2, 1), (1, 1), (1, 2), (0, 0), (0, 2)}


def test_what_is_not_settled_yet_is_dim_and_what_is_being_settled_has_an_arrow():
    drawn = flow(answer_to(SHUFFLE), 4)
    assert [style_at(drawn, place).dim for place in [(0, 0), (1, 2), (2, 0), (2, 1)]] == [False, False, False, True]
    assert [line.endswith("▸ b  3") for line in drawn.plain.split("\n")] == [False, True, False, False]


def test_stages_that_do_not_fit_are_said_to_be_left_out():
    answer = answer_to("chain 2,3,4 | transpose 1,0,2 | transpose 1,0,2 | transpose 1,0,2 | transpose 1,0,2")
    assert flow(answer, 0, width=50).plain.endswith("… stages 1 to 2 of 4")
    assert flow(answer, width=50).plain.endswith("… stages 3 to 4 of 4")
    assert "stages" not in flow(answer, width=100).plain


def test_axes_that_do_not_fit_are_counted_and_those_at_hand_are_shown():
    answer = answer_to("transpose 1,2,3,4,5,6,7,8")
    assert flow(answer, height=6).plain.endswith("… axes 0 to 3 of 8")
    assert flow(answer, 6, height=6).plain.endswith("… axes 4 to 7 of 8")
    assert flow(answer, chosen=(1, 7), height=6).plain.endswith("… axes 4 to 7 of 8")


def test_ranks_without_end_are_drawn_in_part():
    shape = ",".join(["1"] * 1000)
    noted = "… axes 0 to 15 of 1000   no room for lines: follow the letters"
    assert flow(answer_to(f"transpose {shape}")).plain.endswith(noted)


def test_lines_cross_as_long_as_there_is_room():
    reversed_axes = answer_to("transpose 2,2,2,2,2,2,2,2,2,2,2")
    assert UNICODE.falling + UNICODE.rising in flow(reversed_axes).plain
    assert "…" not in flow(reversed_axes).plain
    assert "follow the letters" in flow(reversed_axes, width=40).plain


def test_every_crossing_changes_the_places_of_two_neighbours():
    perm = [3, 1, 4, 0, 2]
    (layout,) = layouts(answer_to(f"transpose 2,2,2,2,2 {','.join(map(str, perm))}"))
    order = [perm.index(axis) for axis in range(5)]
    for layer in wiring(layout).layers:
        for row in layer:
            order[row], order[row + 1] = order[row + 1], order[row]
    assert order == [0, 1, 2, 3, 4]


MARKS = [
    ("reshape 2,3,4 6,4", "a b c", "ab c"),
    ("reshape 2,3,4 2,2,6", "a b c", "a ~x ~y"),
    ("reshape 3,4 2,3,2", "a b", "~x ~y b2"),
    ("reshape 12 2,3,2", "a", "a1 a2 a3"),
    ("reshape 4,2,9 2,12,3", "a b c", "a1 a2·b·c1 c2"),
    ("reshape 2,1,3 6", "a b c", "ac"),
    ("reshape 0,3 3,0 -d numpy", "a b", "~x ~y"),
    ("transpose N,C,H,W 0,2,3,1", "N C H W", "N H W C"),
    ("reshape N,12,a,4 0,2,6,-1", "N b a d", "N b1 b2 ad"),
    ("reshape N,N,4 -1", "a b c", "abc"),
    ("reshape 4,a,b 0,-1", "d a b", "d ab"),
    ("reshape N,3*C,4 0,3,C,4", "N b c", "N b1 b2 c"),
    ("rearrange 6,8,5 'b (h d) t -> b h d t' h=2", "b hd t", "b h d t"),
    ("rearrange 6,8 'x y -> y r x' r=2", "x y", "y r x"),
    ("chain 4,6 | reshape 6,4 | reshape 4,6", "a b", "a b"),
    ("chain 4,6 | reshape 6,4 | transpose 1,0 | reshape 2,12", "a b", "~y1 ~y2·~x"),
    ("chain 12 | reshape 3,4 | reshape 3,2,2", "a", "a1 a2 a3"),
    ("expand 3,1 2,3,4", "a b", "new a b"),
    ("slice 6,4 :2,1:3", "a b", "a b"),
]


@pytest.mark.parametrize(("line", "before", "after"), MARKS)
def test_marks_of_what_axes_become(line, before, after):
    answer = answer_to(line)
    for cells, marks in ((input_cells(answer), before), (layouts(answer)[-1].cells, after)):
        assert [mark_text(cell.mark, UNICODE) for cell in cells] == marks.split()


def test_marks_are_told_apart():
    answer = answer_to(f"reshape {','.join(['2'] * 200)} -1")
    assert len({cell.mark for cell in input_cells(answer)}) == 200


@pytest.mark.parametrize("colour", HUES)
def test_colours_are_legible_on_white_and_on_black(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    light = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    assert 1.05 / (light + 0.05) >= 3
    assert (light + 0.05) / 0.05 >= 3


def test_every_step_rule_has_a_name():
    assert all(rule.name for rule in step_rules().values())


def test_steps_can_be_found_in_the_rail():
    drawn = rail(answer_to(SHUFFLE), 5)
    assert {span.style.meta["step"] for span in drawn.spans if getattr(span.style, "meta", {})} == {0, 4, 5, 6}


@pytest.mark.parametrize(
    ("encoding", "strokes"), [("utf-8", UNICODE), ("cp437", ASCII), ("nonsense", ASCII), (None, ASCII)]
)
def test_strokes_are_those_that_can_be_shown(encoding, strokes):
    assert strokes_for(encoding) is strokes
