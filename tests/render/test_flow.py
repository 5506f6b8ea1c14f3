"""Check the flow and its canvas: highlights, faint dims, axis marks, strokes and colours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from shapecalc.render.canvas import (
    ASCII,
    DOTTED,
    DOWN,
    LEFT,
    RIGHT,
    UNICODE,
    UP,
    Canvas,
    contrast_ratio,
    glyphs_for_encoding,
)
from shapecalc.render.flow import draw_flow, draw_stage_line
from shapecalc.render.stage_layout import HUES, input_cells, mark_text, stage_layouts
from shapecalc.render.wires import draw_wires, route_wires
from tests.render.questions import answer_to
from tests.render.reading import dim_spans
from tests.sampling import each_row
from tests.tables import rows

SHUFFLE = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"
LIT = Style(reverse=True)


def dim_styles(flow):
    """Return the style of each dim of a flow."""
    return {position: span.style for position, span in dim_spans(flow)}


def test_flow_highlights_the_sources_of_a_dim():
    styles = dim_styles(draw_flow(answer_to(SHUFFLE), selected_dim=(2, 1)))
    assert {position for position, style in styles.items() if style.reverse} == {(2, 1), (1, 1), (1, 2), (0, 0), (0, 2)}
    hidden = dim_styles(draw_flow(answer_to(SHUFFLE), selected_dim=(2, 1), placeholders={(2, 1): "[ ]"}))
    assert {position for position, style in hidden.items() if style.reverse} <= {(2, 1)}


def test_flow_unsettled_dims_are_faint():
    styles = dim_styles(draw_flow(answer_to(SHUFFLE), 4))
    assert {position for position, style in styles.items() if style.dim} == {(2, 1)}


@given(st.integers(1, 7).flatmap(lambda rank: st.permutations(range(rank))))
def test_flow_crossings_swap_neighbours(perm):
    (layout,) = stage_layouts(answer_to(f"transpose {','.join('2' * len(perm))} {','.join(map(str, perm))}"))
    order = [perm.index(axis) for axis in range(len(perm))]
    for layer in route_wires(layout).layers:
        for row in layer:
            order[row], order[row + 1] = order[row + 1], order[row]
    assert order == sorted(perm)


@given(st.integers(5, 9).flatmap(lambda rank: st.permutations(range(rank))))
def test_flow_straight_wires_join_each_axis_to_its_dim(perm):
    (layout,) = stage_layouts(answer_to(f"transpose {','.join('2' * len(perm))} {','.join(map(str, perm))}"))
    wiring, canvas = route_wires(layout, glyphs=DOTTED), Canvas(DOTTED, 1 + len(perm))
    assert bool(wiring.straight_width) == ([*perm] != sorted(perm))
    if not wiring.straight_width:
        return
    draw_wires(canvas, wiring, (0, wiring.width + 2), lambda axes, _: Style(color=f"color({axes[0]})"))
    for out, line in enumerate(canvas.render(80).split("\n")[1:]):
        styles = {span.start: span.style.color.number for span in line.spans}
        assert (styles[0], styles[max(styles)]) == (out, perm[out])


@each_row(("line", "before", "after"), rows(Path(__file__).with_name("marks.txt")))
def test_flow_axis_marks(line, before, after):
    answer = answer_to(line)
    for cells, marks in ((input_cells(answer), before), (stage_layouts(answer)[-1].cells, after)):
        assert [mark_text(cell.mark, UNICODE) for cell in cells] == marks.split()


def test_flow_axis_marks_are_distinct():
    answer = answer_to(f"reshape {','.join(['2'] * 200)} -1")
    assert len({cell.mark for cell in input_cells(answer)}) == 200


@pytest.mark.parametrize("colour", HUES)
@pytest.mark.parametrize("page", [(255, 255, 255), (0, 0, 0)])
def test_flow_colours_are_legible_on_white_and_black(colour, page):
    assert contrast_ratio(tuple(bytes.fromhex(colour[1:])), page) >= 3


def test_flow_steps_are_in_the_rail():
    rail = draw_stage_line(answer_to(SHUFFLE), 5)
    assert {span.style.meta["step"] for span in rail.spans if getattr(span.style, "meta", {})} == {0, 4, 5, 6}


@pytest.mark.parametrize(
    ("encoding", "strokes"), [("utf-8", UNICODE), ("cp437", ASCII), ("nonsense", ASCII), (None, ASCII)]
)
def test_flow_strokes_follow_the_stream(encoding, strokes):
    assert glyphs_for_encoding(encoding) is strokes


def draw_on_canvas(*calls):
    """Call methods of a canvas of three rows, each with its arguments, and return its text."""
    canvas = Canvas(UNICODE, 3)
    for name, *arguments in calls:
        getattr(canvas, name)(*arguments)
    return canvas.render(20)


def spans(text):
    return [(text.plain[start:end], style) for start, end, style in text.spans]


WORD = [("write_text", 1, 1, "-1")]
LINES = [("draw_horizontal", 1, 0, 4), ("draw_segments", 2, 1, UP | DOWN)]
DRAWINGS = {
    "lines join where they meet": (
        [("draw_vertical", 2, 0, 2), ("draw_horizontal", 1, 0, 5), ("draw_segments", 2, 2, LEFT)],
        "  ╷\n──┼──\n  ╯",
    ),
    "words stand over lines that were there": ([*LINES, *WORD], "\n─-1─\n"),
    "words stand over lines that come later": ([*WORD, *LINES], "\n─-1─\n"),
    "what is beside or below is cut": (
        [
            ("write_text", -2, 0, "abcd"),
            ("write_text", -4, 1, "abcd"),
            ("write_text", 0, 3, "abcd"),
            ("draw_vertical", 0, 2, 5),
        ],
        "cd\n\n╷",
    ),
    "a style of none hides": (
        [
            ("draw_horizontal", 0, 0, 4, None),
            ("write_text", 0, 1, "word", None),
            ("draw_segments", 0, 2, LEFT | RIGHT, None),
        ],
        "\n\n",
    ),
    "only level lines become lines of sizes": (
        [("draw_horizontal", 0, 0, 4), ("write_text", 1, 0, "0"), ("draw_segments", 3, 0, DOWN), ("dash_lines", 0, 4)],
        "┄0┄┬\n\n",
    ),
    "a row that is too wide ends with dots": ([("write_text", 0, 0, "abcdefgh" * 3)], "abcdefghabcdefghabc…\n\n"),
}


@pytest.mark.parametrize(("calls", "shown"), DRAWINGS.values(), ids=DRAWINGS)
def test_canvas_joins_lines_below_words(calls, shown):
    assert draw_on_canvas(*calls).plain == shown


def test_canvas_merges_spans_of_one_style():
    bold = draw_on_canvas(
        ("write_text", 0, 0, "a", "bold"), ("write_text", 2, 0, " b", "bold"), ("write_text", 6, 0, "c", "red")
    )
    assert spans(bold) == [("a  b  ", "bold"), ("c", "red")]
    assert spans(draw_on_canvas(("write_text", 0, 0, "a", LIT), ("write_text", 2, 0, "b", LIT))) == [
        ("a", LIT),
        ("b", LIT),
    ]
    assert spans(draw_on_canvas(("write_styled_text", 1, 0, "╲-x", ["red", "", "bold"]))) == [
        ("╲", "red"),
        ("x", "bold"),
    ]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("conv 1,3,9,9 64,3,3,3", "b 3 ─▸ summed   w0 ─ w0 64"),
        ("broadcast 8,1,6 7,1", "b   1 ─▸ repeated   B0 ─ B0   7"),
        ("matmul 2,5,3 3,4", "c   3 ─▸ summed   B1 ─ B1   4"),
        ("concat 2,3,4 2,5,4 --axis 1", "+ B1 5 ── b+   8"),
        ("concat 2,3 2,5 2,7 --axis -1", "+ B1 C1 ── b+  15"),
    ],
)
def test_map_names_what_ends_a_wire_and_what_begins_one(line, row):
    drawing = draw_flow(answer_to(line), width=60, height=12, is_map=True).plain
    assert " ".join(row.split()) in " ".join(drawing.split()), drawing
