"""Check laws that hold for every picture."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import product
from math import prod

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.answers import compute_stage_origins
from shapecalc.core.conditions import can_hold
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import is_concrete, substitute
from shapecalc.core.moves import Combine, ShapeVector
from shapecalc.core.ops import OPS, step_rules
from shapecalc.core.origins import AxisAtom
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import GIVEN_DIM
from shapecalc.core.text import shape_text
from shapecalc.reasoning.examples import example_sizes, index_text, trace_element
from shapecalc.render.canvas import ASCII, UNICODE, clip_text
from shapecalc.render.files import MAX_PICTURE_HEIGHT, draw_still
from shapecalc.render.flow import draw_flow, draw_shape_line, draw_stage_line
from shapecalc.render.grid import build_tensor_path, draw_grid
from shapecalc.render.hints import make_dim_question
from shapecalc.render.pictures import draw_explanation, draw_picture, most_informative_step
from shapecalc.render.rulers import draw_rulers
from shapecalc.render.stage_layout import input_cells, mark_text, stage_layouts
from tests.render.questions import answer_to, answers
from tests.render.reading import dim_spans
from tests.sampling import each_row, examples

PLURAL = re.compile(r"(?<![\w.,*/^-])1 (elements|dims|axes|copies|slices|numbers|times)\b")


@given(answers(), st.integers(40, 120), st.integers(4, 30), st.sampled_from([ASCII, UNICODE]), st.data())
@examples(75)
def test_lines_fit_without_trailing_blanks_or_false_plurals(answer, width, height, strokes, data):
    step_index = data.draw(st.none() | st.integers(0, len(answer.steps)))
    size_options = {"width": width, "height": height, "glyphs": strokes}
    drawings = [
        draw_stage_line(answer, step_index, width=width, glyphs=strokes),
        draw_shape_line(answer, step_index, width=width, glyphs=strokes),
    ]
    drawings += [draw_explanation(answer, width=width, glyphs=strokes), draw_flow(answer, step_index, **size_options)]
    if step_index is not None:
        drawings.append(draw_picture(answer, step_index, **size_options))
    with suppress(ShapeError):
        drawings.append(draw_grid(answer, **size_options))
    for line in "\n".join(drawing.plain for drawing in drawings).split("\n"):
        assert len(line) <= width
        assert line == line.rstrip()
        assert strokes is UNICODE or line.isascii()
        assert not PLURAL.search(line)
    sentences = [step.why for step in answer.steps]
    sentences += [answer.problem.message, answer.problem.hint] if answer.problem else []
    assert not [sentence for sentence in sentences if PLURAL.search(sentence)]
    rows = [line for line in draw_flow(answer, step_index, height=height).plain.split("\n") if line[:1] not in [*"…~✗"]]
    assert len([row for row in rows if row[:2] != "0┄"]) <= height


@pytest.mark.parametrize(("width", "height"), [(40, 4), (60, 12), (80, 16), (120, 30)])
def test_picture_of_every_step_of_small_reshapes_is_drawn(width, height):
    for rank in range(4):
        for shape, target in product(product((0, 1, 2, 3), repeat=rank), ((-1,), (0, -1), (1, -1), (2, 3), (5,), ())):
            answer = answer_to(f"reshape {shape_text(shape)} {shape_text(target)}")
            for step_index in range(len(answer.steps) + 1):
                lines = draw_picture(answer, step_index, width=width, height=height).plain.split("\n")
                assert max(map(len, lines)) <= width, (shape, target, step_index)


def check_dims_in_flow(answer, width):
    """Fail unless the flow shows every dim at its position."""
    flow = draw_flow(answer, width=width, height=200)
    dim_texts = {position: flow.plain[span.start : span.end].split()[-1] for position, span in dim_spans(flow)}
    layouts = stage_layouts(answer)
    for column, cells in enumerate(
        [*(stage.cells_before for stage in layouts[:1]), *(stage.cells for stage in layouts)]
    ):
        if cells and (column, 0) not in dim_texts and width < 400:
            assert "… stages" in flow.plain
            continue
        for row, cell in enumerate(cells):
            assert dim_texts[column, row] == ("?" if cell.dim is None else clip_text(str(cell.dim), 14, UNICODE))


@given(answers(), st.sampled_from([60, 400]))
@example(answer_to("chain 1,1,1,1,1,1,1,1,1 | transpose | shuffle --dialect tensorrt"), 60)
@example(answer_to("shuffle 1,1,1,1,1,1,1,1,1"), 60)
@example(answer_to("chain 5,N | reshape N,0 | reshape []"), 60)
@examples(75)
def test_flow_shows_dims_under_their_axis_marks(answer, width):
    check_dims_in_flow(answer, width)
    layouts = stage_layouts(answer)
    finished = [stage for stage in answer.stages if stage.is_finished]
    shapes = [tuple(cell.dim for cell in layout.cells) for layout in layouts if layout.stage.is_finished]
    assert shapes == [stage.after for stage in finished]
    problem = answer.traces[-1].problem
    assert layouts[-1].problem == problem if layouts else problem is None
    assert all(
        (cell.dim is None) == (cell.step_index == len(answer.steps)) for stage in layouts for cell in stage.cells
    )
    for number, layout in enumerate(layouts[: len(finished)], 1):
        origins = compute_stage_origins(
            answer.input, tuple(finished[:number]), finished[number - 1].after, answer.conditions
        )
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
    grid = draw_grid(answer, cursor, width=200).plain
    path = [index for _, index in trace_element(answer, cursor)]
    assert all(index_text(index) in grid for index in path)
    indices = build_tensor_path(answer).indices_of(cursor)
    assert (indices[: len(path)], {*indices[len(path) :]} <= {None}) == (path, True)


@pytest.mark.parametrize("height", range(6, 13))
@pytest.mark.parametrize("line", ["reshape N,C,H,W 0,-1,64", "reshape N,4,W -1,8,W", "reshape N,C,H,W -1"])
def test_rulers_state_their_example_sizes(line, height):
    answer = answer_to(line)
    picture = draw_picture(answer, len(answer.steps) - 1, height=height).plain
    assert picture.count("\n") < height
    assert re.search(r"^with (\w=\d+(, )?)+", picture, re.MULTILINE) or "├" not in picture


MAIN = [
    ("shuffle 2,3,4 --first 1,0,2 --to 0,-1 --second 1,0", 5, 0),
    ("reshape 2,2,3,2 -1,0,0", 3, 1),
    ("reshape 2,3,4 0,-1", 1, 0),
    ("reshape 2,3,4 5,-1", 1, 0),
    ("transpose 2,3 1,0", 2, 0),
]
"""Requests with their main step (a -1, mixed axes, a refusal, the last step) and the number of divisions shown."""


@pytest.mark.parametrize(("line", "step_index", "divisions"), MAIN)
def test_whole_answer_picture_shows_its_main_step(line, step_index, divisions):
    answer = answer_to(line)
    assert most_informative_step(answer, 80) == step_index
    step_picture, full_picture = (
        draw_picture(answer, step_index, width=80, height=MAX_PICTURE_HEIGHT).plain,
        draw_still(answer, None, 80).plain,
    )
    assert step_picture in full_picture
    assert full_picture.replace(step_picture, "").count("-1 = ") == divisions


def resolving_steps(op):
    """Yield each stage and step that resolves one dim, for all example requests of an op in all dialects."""
    for shape, arguments in OPS[op].vectors:
        for dialect in DIALECTS:
            with suppress(ShapeError):
                trace = resolve(make_request(op, shape, {**arguments, "dialect": dialect}))
                yield from ((stage, step) for stage in trace.stages for step in stage.steps if step.out is not None)


@each_row("op", OPS)
def test_help_never_reveals_a_dim(op):
    number = r"[\w*/]+"
    for stage, step in resolving_steps(op):
        hint, value = make_dim_question(stage, step), str(step.value)
        if step.rule == GIVEN_DIM:
            assert hint.arithmetic.startswith("the request gives a ")
        else:
            assert hint.arithmetic.replace("?", value, 1) == step.why or "?" in value
        given = {*re.findall(number, f"{stage.before} {stage.requested} {step.rule.sentence}"), *map(str, range(8))}
        assert value in given or value not in re.findall(number, f"{hint.rule} {hint.location}")


def test_step_rules_have_names():
    assert all(rule.name for rule in step_rules().values())


@pytest.mark.parametrize(
    ("shape", "target"), [("768", "12,64"), ("2,768", "2,12,64"), ("4096", "16,256"), ("6,64", "384")]
)
def test_rulers_label_their_ticks(shape, target):
    answer = answer_to(f"reshape {shape} {target}")
    lines = draw_rulers(answer, stage_layouts(answer)[0], 0, width=80, height=20, glyphs=UNICODE).plain.splitlines()
    ticks = {match.start() for line in lines[1:] for match in re.finditer("[├┼┤┬┴┌┐└┘]", line)}
    labels = [(match.start(), int(match[0])) for match in re.finditer(r"\d+", lines[0])]
    assert len(labels) > 2
    assert {column for column, _ in labels[:-1]} <= ticks
