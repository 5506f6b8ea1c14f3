"""What holds of every picture, whatever was asked."""

from __future__ import annotations

import re
from contextlib import suppress
from math import prod

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.answers import stage_origins
from shapecalc.core.conditions import can_hold
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import is_concrete, substitute
from shapecalc.core.moves import Combine, ShapeVector
from shapecalc.core.ops import OPS, step_rules
from shapecalc.core.origins import AxisAtom
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import GIVEN
from shapecalc.reasoning.examples import example_sizes, follow, index_text
from shapecalc.render.big import FIGURE_ROWS, Scale, draw_large_figures, render_figures
from shapecalc.render.canvas import ASCII, UNICODE, clip
from shapecalc.render.files import MAX_PICTURE_HEIGHT, draw_still
from shapecalc.render.flow import draw_flow, draw_rail, draw_strip
from shapecalc.render.grid import draw_grid, journey_of
from shapecalc.render.hints import make_hint
from shapecalc.render.pictures import draw_explanation, draw_picture, main_step
from shapecalc.render.stage_layout import input_cells, mark_text, stage_layouts
from tests.render.questions import answer_to, answers
from tests.render.reading import places_of
from tests.sampling import each_row, examples

PLURAL = re.compile(r"(?<![\w.,*/^-])1 (elements|dims|axes|copies|slices|numbers|times)\b")


@given(answers(), st.integers(40, 120), st.integers(4, 30), st.sampled_from([ASCII, UNICODE]), st.data())
@examples(75)
def test_lines_fit_without_trailing_blanks_or_false_plurals(answer, width, height, strokes, data):
    at = data.draw(st.none() | st.integers(0, len(answer.steps)))
    sized = {"width": width, "height": height, "glyphs": strokes}
    drawn = [draw_rail(answer, at, width=width, glyphs=strokes), draw_strip(answer, at, width=width, glyphs=strokes)]
    drawn += [draw_explanation(answer, width=width, glyphs=strokes), draw_flow(answer, at, **sized)]
    if at is not None:
        drawn.append(draw_picture(answer, at, **sized))
    with suppress(ShapeError):
        drawn.append(draw_grid(answer, **sized))
    for line in "\n".join(each.plain for each in drawn).split("\n"):
        assert len(line) <= width
        assert line == line.rstrip()
        assert strokes is UNICODE or line.isascii()
        assert not PLURAL.search(line)
    said = [step.why for step in answer.steps]
    said += [answer.problem.message, answer.problem.hint] if answer.problem else []
    assert not [words for words in said if PLURAL.search(words)]
    few = at in range(len(answer.steps)) and len(answer.input) < 6
    if few and (large := draw_large_figures(answer, at, width=width, height=height)):
        assert len(large.plain.split("\n")) <= height
        assert max(map(len, large.plain.split("\n"))) <= width
    rows = [line for line in draw_flow(answer, at, height=height).plain.split("\n") if line[:1] not in [*"…~✗"]]
    assert len([row for row in rows if row[:2] != "0┄"]) <= height


@pytest.mark.parametrize("scale", [*Scale])
def test_figures_have_one_size_and_differ(scale):
    drawn = {char: tuple(render_figures(char, scale)) for char in FIGURE_ROWS if char != "✗"}
    assert {len(line) for lines in drawn.values() for line in lines} == {scale.columns - scale.gap}
    assert {len(lines) for lines in drawn.values()} == {scale.rows}
    assert len({*drawn.values()}) == len(drawn)


def check_places(answer, width):
    """Fail unless every dim stands in the flow with its place."""
    drawn = draw_flow(answer, width=width, height=200)
    shown = {place: drawn.plain[span.start : span.end].split()[-1] for place, span in places_of(drawn)}
    found = stage_layouts(answer)
    for number, cells in enumerate([*(stage.cells_before for stage in found[:1]), *(stage.cells for stage in found)]):
        if cells and (number, 0) not in shown and width < 400:
            assert "… stages" in drawn.plain
            continue
        for row, cell in enumerate(cells):
            assert shown[number, row] == ("?" if cell.dim is None else clip(str(cell.dim), 14, UNICODE))


@given(answers(), st.sampled_from([60, 400]))
@example(answer_to("chain 1,1,1,1,1,1,1,1,1 | transpose | shuffle --dialect tensorrt"), 60)
@example(answer_to("shuffle 1,1,1,1,1,1,1,1,1"), 60)
@example(answer_to("chain 5,N | reshape N,0 | reshape []"), 60)
@examples(75)
def test_flow_shows_dims_under_their_axis_marks(answer, width):
    check_places(answer, width)
    found = stage_layouts(answer)
    finished = [stage for stage in answer.stages if stage.finished]
    shapes = [tuple(cell.dim for cell in layout.cells) for layout in found if layout.stage.finished]
    assert shapes == [stage.after for stage in finished]
    problem = answer.traces[-1].problem
    assert found[-1].problem == problem if found else problem is None
    assert all((cell.dim is None) == (cell.step_index == len(answer.steps)) for stage in found for cell in stage.cells)
    for number, layout in enumerate(found[: len(finished)], 1):
        origins = stage_origins(answer.input, tuple(finished[:number]), finished[number - 1].after, answer.conditions)
        for cell, origin in zip(layout.cells, origins, strict=True):
            if origin and all(isinstance(atom, AxisAtom) and not atom.operand for atom in origin):
                axes = [mark_text(input_cells(answer)[atom.axis].mark, UNICODE) for atom in origin]
                assert all(axis in "".join(cell.mark.names) for axis in axes), (cell, origin)


@given(answers(), st.data())
@examples(45)
def test_grid_follows_one_element_and_meets_conditions(answer, data):
    if answer.output is None:
        return
    with suppress(ShapeError):
        sizes = example_sizes(answer)
        assert can_hold(answer.conditions, sizes)
        assert all(isinstance(substitute(dim, sizes), int) for dim in answer.output)
    dims = (*answer.input, *answer.output)
    if any(isinstance(move, ShapeVector | Combine) for move in answer.moves) or not is_concrete(dims):
        return
    if 0 in dims or prod(answer.input) > 10**6:
        return
    cursor = tuple(data.draw(st.integers(0, dim - 1)) for dim in answer.input)
    drawn = draw_grid(answer, cursor, width=200).plain
    path = [index for _, index in follow(answer, cursor)]
    assert all(index_text(index) in drawn for index in path)
    places = journey_of(answer).indices_of(cursor)
    assert (places[: len(path)], {*places[len(path) :]} <= {None}) == (path, True)


@pytest.mark.parametrize("height", range(6, 13))
@pytest.mark.parametrize("line", ["reshape N,C,H,W 0,-1,64", "reshape N,4,W -1,8,W", "reshape N,C,H,W -1"])
def test_rulers_state_their_example_sizes(line, height):
    answer = answer_to(line)
    drawn = draw_picture(answer, len(answer.steps) - 1, height=height).plain
    assert drawn.count("\n") < height
    assert re.search(r"^with (\w=\d+(, )?)+", drawn, re.MULTILINE) or "├" not in drawn


MAIN = [
    ("shuffle 2,3,4 --first 1,0,2 --to 0,-1 --second 1,0", 5, 0),
    ("reshape 2,2,3,2 -1,0,0", 3, 1),
    ("reshape 2,3,4 0,-1", 1, 0),
    ("reshape 2,3,4 5,-1", 1, 0),
    ("transpose 2,3 1,0", 2, 0),
]
"""Requests, the step that shows most of each (a -1, axes that mix, a refusal, the last), and the divisions below."""


@pytest.mark.parametrize(("line", "at", "sums"), MAIN)
def test_whole_answer_picture_shows_its_main_step(line, at, sums):
    answer = answer_to(line)
    assert main_step(answer, 80) == at
    drawn, whole = (
        draw_picture(answer, at, width=80, height=MAX_PICTURE_HEIGHT).plain,
        draw_still(answer, None, 80).plain,
    )
    assert drawn in whole
    assert whole.replace(drawn, "").count("-1 = ") == sums


def asked_steps(op):
    """Yield each stage and step that settles one dim, of all examples of an op, in all dialects."""
    for shape, arguments in OPS[op].vectors:
        for dialect in DIALECTS:
            with suppress(ShapeError):
                trace = resolve(make_request(op, shape, {**arguments, "dialect": dialect}))
                yield from ((stage, step) for stage in trace.stages for step in stage.steps if step.out is not None)


@each_row("op", OPS)
def test_help_never_reveals_a_dim(op):
    number = r"[\w*/]+"
    for stage, step in asked_steps(op):
        hint, value = make_hint(stage, step), str(step.value)
        if step.rule == GIVEN:
            assert hint.arithmetic.startswith("the request gives a ")
        else:
            assert hint.arithmetic.replace("?", value, 1) == step.why or "?" in value
        shown = {*re.findall(number, f"{stage.before} {stage.requested} {step.rule.sentence}"), *map(str, range(8))}
        assert value in shown or value not in re.findall(number, f"{hint.rule} {hint.location}")


def test_step_rules_have_names():
    assert all(rule.name for rule in step_rules().values())
