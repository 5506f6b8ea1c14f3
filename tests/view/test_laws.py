"""What holds of every picture, whatever was asked."""

from __future__ import annotations

import re
from contextlib import suppress
from math import prod

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.answers import stage_origins
from shapecalc.core.dims import all_known, substitute
from shapecalc.core.examples import example_sizes, follow, index_text
from shapecalc.core.moves import Combine, Dims
from shapecalc.core.origins import AxisAtom
from shapecalc.core.problem import ShapeError
from shapecalc.view.canvas import ASCII, UNICODE, clip
from shapecalc.view.files import HEIGHT, still_text
from shapecalc.view.flow import flow, rail, strip
from shapecalc.view.grid import grid, journey_of
from shapecalc.view.layout import input_cells, layouts, mark_text
from shapecalc.view.pictures import explain, main_step, picture
from tests.sampling import examples
from tests.view.questions import answer_to, answers

widths = st.integers(40, 120)
heights = st.integers(4, 30)


@st.composite
def pictures(draw):
    """Draw an answer, one of its steps, a size, and everything that is drawn of it."""
    answer, width, height = draw(answers()), draw(widths), draw(heights)
    strokes = draw(st.sampled_from([ASCII, UNICODE]))
    at = draw(st.one_of(st.none(), st.integers(0, len(answer.steps))))
    drawn = [
        flow(answer, at, width=width, height=height, strokes=strokes),
        rail(answer, at, width=width, strokes=strokes),
        strip(answer, at, width=width, strokes=strokes),
        explain(answer, width=width, strokes=strokes),
    ]
    if at is not None:
        drawn.append(picture(answer, at, width=width, height=height, strokes=strokes))
    with suppress(ShapeError):
        drawn.append(grid(answer, width=width, height=height, strokes=strokes))
    return width, strokes, [text.plain for text in drawn]


@given(pictures())
@examples(300)
def test_every_line_fits_and_shows_no_blanks_at_its_end(made):
    width, _, texts = made
    for text in texts:
        for line in text.split("\n"):
            assert len(line) <= width
            assert line == line.rstrip()


@given(pictures())
@examples(100)
def test_ascii_is_ascii(made):
    _, strokes, texts = made
    assert strokes is UNICODE or all(text.isascii() for text in texts)


@given(answers(), heights, st.one_of(st.none(), st.integers(0, 40)))
@examples(100)
def test_the_flow_is_no_taller_than_asked(answer, height, at):
    drawn = flow(answer, at, height=height)
    rows = [line for line in drawn.plain.split("\n") if not line.startswith(("…", "~", "0┄", "✗"))]
    assert len(rows) <= height


@given(answers(), st.booleans())
@examples(200)
def test_every_dim_stands_in_the_flow_with_its_place(answer, wide):
    drawn = flow(answer, width=400 if wide else 60, height=200)
    shown = {}
    for span in drawn.spans:
        place = getattr(span.style, "meta", {}).get("dim")
        if place:
            shown[place] = drawn.plain[span.start : span.end].split()[-1]
    found = layouts(answer)
    columns = [*(stage.before for stage in found[:1]), *(stage.cells for stage in found)]
    for number, cells in enumerate(columns):
        if cells and (number, 0) not in shown and not wide:
            assert "… stages" in drawn.plain
            continue
        for row, cell in enumerate(cells):
            assert shown[number, row] == ("?" if cell.dim is None else clip(str(cell.dim), 14, UNICODE))


@given(answers())
@example(answer_to("chain 1,1,1,1,1,1,1,1,1 | transpose | shuffle --dialect tensorrt"))
@example(answer_to("shuffle 1,1,1,1,1,1,1,1,1"))
@example(answer_to("chain 5,N | reshape N,0 | reshape []"))
@examples(200)
def test_layouts_are_those_of_the_stages(answer):
    found = layouts(answer)
    shapes = [tuple(cell.dim for cell in layout.cells) for layout in found if layout.stage.finished]
    assert shapes == [stage.after for stage in answer.stages if stage.finished]
    problem = answer.traces[-1].problem
    assert found[-1].problem == problem if found else problem is None
    for stage in found:
        for cell in stage.cells:
            assert (cell.dim is None) == (cell.step == len(answer.steps))


@pytest.mark.parametrize(
    ("line", "entry"),
    [("reshape 2,3,4 -2,-1 --dialect mxnet", "-1"), ("reshape 2,3,4 -4,1,2,-4,2 --dialect mxnet", "-4")],
)
def test_the_cross_stands_beside_the_entry_that_is_refused(line, entry):
    (crossed,) = [row for row in flow(answer_to(line)).plain.split("\n") if row.endswith("✗   ?")]
    assert crossed.split()[-3] == entry


@given(answers())
@examples(200)
def test_a_mark_is_made_of_the_axes_that_the_dim_is_of(answer):
    finished = [stage for stage in answer.stages if stage.finished]
    for number, layout in enumerate(layouts(answer)[: len(finished)], 1):
        found = stage_origins(answer.input, tuple(finished[:number]), finished[number - 1].after, answer.conditions)
        for cell, origin in zip(layout.cells, found, strict=True):
            if origin and all(isinstance(atom, AxisAtom) and not atom.operand for atom in origin):
                axes = [mark_text(input_cells(answer)[atom.axis].mark, UNICODE) for atom in origin]
                named = "".join(cell.mark.names)
                assert all(axis in named for axis in axes), (cell, origin)


@given(answers(), st.data())
@examples(100)
def test_the_grid_follows_one_element(answer, data):
    if answer.output is None or any(isinstance(move, Dims | Combine) for move in answer.moves):
        return
    if (
        not all_known((*answer.input, *answer.output))
        or 0 in (*answer.input, *answer.output)
        or prod(answer.input) > 10**6
    ):
        return
    cursor = tuple(data.draw(st.integers(0, dim - 1)) for dim in answer.input)
    drawn = grid(answer, cursor, width=200).plain
    path = [index for _, index in follow(answer, cursor)]
    for index in path:
        assert index_text(index) in drawn
    places = journey_of(answer).places(cursor)
    assert (places[: len(path)], {*places[len(path) :]} <= {None}) == (path, True)


@given(answers())
@examples(200)
def test_example_sizes_meet_the_conditions(answer):
    if answer.output is None:
        return
    with suppress(ShapeError):
        sizes = example_sizes(answer)
        for condition in answer.conditions:
            left, right = substitute(condition.left, sizes), substitute(condition.right, sizes)
            holds = {"==": left == right, "!=": left != right, "%": right and left % right == 0, ">=": left >= right}
            assert holds[condition.relation]
        assert all(isinstance(substitute(dim, sizes), int) for dim in answer.output)


@given(answers())
@examples(300)
def test_one_of_a_thing_is_not_said_in_the_plural(answer):
    said = [step.why for step in answer.steps]
    said += [answer.problem.message, answer.problem.hint] if answer.problem else []
    said += explain(answer).plain.split("\n")
    plural = re.compile(r"(?<![\w.,*/^-])1 (elements|dims|axes|copies|slices|numbers|times)\b")
    assert not [words for words in said if plural.search(words)]


NOTED = [
    ("reshape 100,100 50,200", None),
    ("reshape 4,100,100 4,50,200", "one block, the others alike: 100,100 becomes 50,200"),
    ("reshape 1,100,100 1,50,200", None),
]


@pytest.mark.parametrize(("line", "note"), NOTED)
def test_blocks_are_alike_where_there_are_several(line, note):
    answer = answer_to(line)
    notes = [row for row in picture(answer, len(answer.steps) - 1).plain.split("\n") if "block," in row]
    assert notes == ([note] if note else [])


@pytest.mark.parametrize("height", range(6, 13))
@pytest.mark.parametrize("line", ["reshape N,C,H,W 0,-1,64", "reshape N,4,W -1,8,W", "reshape N,C,H,W -1"])
def test_the_sizes_that_rulers_take_are_always_said(line, height):
    answer = answer_to(line)
    drawn = picture(answer, len(answer.steps) - 1, height=height).plain
    assert drawn.count("\n") < height
    assert re.search(r"^with (\w=\d+(, )?)+", drawn, re.MULTILINE) or "├" not in drawn


@pytest.mark.parametrize(("line", "said"), [("reshape 1 1,1", "one element"), ("reshape 0,3 0,3", "no elements")])
def test_what_cannot_be_cut_has_no_rulers(line, said):
    answer = answer_to(line)
    assert picture(answer, len(answer.steps) - 1).plain == f"{said}: there is nothing to cut"


MAIN = [
    ("shuffle 2,3,4 --first 1,0,2 --to 0,-1 --second 1,0", 5),
    ("reshape 2,2,3,2 -1,0,0", 3),
    ("reshape 2,3,4 5,-1", 1),
    ("transpose 2,3 1,0", 2),
]
"""Requests, and the step that shows most of each: a -1, axes that mix, a refusal, the last."""


@pytest.mark.parametrize(("line", "at"), MAIN)
def test_the_picture_of_a_whole_answer_is_the_one_that_explain_draws_first(line, at):
    answer = answer_to(line)
    assert main_step(answer, 80) == at
    assert picture(answer, at, width=80, height=HEIGHT).plain in still_text(answer, None, 80).plain


@pytest.mark.parametrize(("line", "sums"), [("reshape 2,2,3,2 -1,0,0", 1), ("reshape 2,3,4 0,-1", 0)])
def test_a_picture_without_the_division_has_it_under_the_flow(line, sums):
    assert still_text(answer_to(line), None, 80).plain.count("-1 = ") == sums


BUDGETS = [
    ("reshape 0,3,4 0,-1", "-1     0 * 3 * 4   / 0   = ?  refused"),
    ("reshape 1000000,3 7,-1", "-1     1000000 * 3   / 7   = ?  7 fits 428571 times, 3 left over: refused"),
    ("reshape 2,3,4 5,-1", "-1     24 / 5    =  ?  5 fits 4 times, 4 left over: refused"),
]


@pytest.mark.parametrize(("line", "last"), BUDGETS)
def test_a_refused_division_is_drawn_with_what_is_left_over(line, last):
    answer = answer_to(line)
    assert picture(answer, len(answer.steps)).plain.split("\n")[-1] == last
