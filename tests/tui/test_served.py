"""Links of a served app, without a server: their question and step, and refused contents."""

from __future__ import annotations

import asyncio

import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import split_outside_brackets
from shapecalc.tui.question import question_command, question_from_words, resolve_question
from shapecalc.tui.served_app import ServedApp, build_link, parse_link, parse_opening_question
from tests.tui.tables import table


@pytest.mark.parametrize("line", [line for (line,) in table("linked")])
def test_served_link_restores_the_question(line):
    question = question_from_words(split_outside_brackets(line))
    answer = resolve_question(question).answer
    line = question_command(question, answer)
    restored, step = parse_link(*build_link(line, 3).values())
    assert question_command(restored, resolve_question(restored).answer) == line
    assert step == 3


def test_served_long_question_has_no_link():
    assert build_link(f"shapecalc reshape {'1,' * 5000}1 -1", 0) == {}


@pytest.mark.parametrize("step", ["", "x", "-1", "٣", "9" * 400, "1.5", " "])
def test_served_link_omits_an_invalid_step(step):
    assert parse_link("flatten 2,3", step)[1] is None


FILES = [
    "x.npy -1",
    "reshape ' x.npz:w' -1",
    "chain 'x.npy | flatten'",
    "equiv '2,3 | flatten' 'x.safetensors:w | flatten'",
]


@pytest.mark.parametrize("text", FILES)
def test_served_app_refuses_files(text):
    with pytest.raises(ShapeError) as refused:
        parse_link(text, "")
    assert refused.value.problem.rule == "file"


NO_QUESTIONS = ["reshape 2,3 6 -o y.npy", "reshape 2,3 6 --explain", "serve", "--help", "reshape '2"]
HOSTILE = ["\0\x1b[31m", "\udcff", "(" * 5000]


@pytest.mark.parametrize("text", NO_QUESTIONS + HOSTILE, ids=lambda text: ascii(text)[:30])
def test_served_app_opens_the_owners_question(text):
    question, step, complaint = parse_opening_question(["reshape", {"input": "2,3", "target": "6"}], [text, "2"])
    assert (question.texts["input"], step) == ("2,3", 0)
    assert complaint


@pytest.mark.parametrize(
    ("site", "hint"),
    [("", "the page that 'shapecalc site' writes"), ("https://example.org/shapes", "https://example.org/shapes")],
)
def test_served_app_refers_small_screens_to_the_static_page(site, hint):
    async def look():
        app = ServedApp(question_from_words(["reshape", "2,3,4", "0,-1"]), site=site)
        app.driver_class = None
        async with app.run_test(size=(43, 40)) as pilot:
            await pilot.pause()
            lines = [strip.text for strip in app.screen._compositor.render_strips()]
            shown = " ".join(" ".join(lines).split())
            assert f"this screen is 43x40, and 60x18 are needed: on a phone, use {hint}" in shown

    asyncio.run(look())
