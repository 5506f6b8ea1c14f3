"""The screen of a model: the list, the filter, offenders, the picture of a node and of its fix, and what is written."""

from __future__ import annotations

import asyncio
import functools

import pytest

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.record import replace
from shapecalc.models.verdicts import Verdict
from shapecalc.tui.model import ModelList, ModelScreen
from tests.models.reports import FIRST, TURNED, YOLO, judged
from tests.tui.driven import using

pytestmark = pytest.mark.sessions(5)


def at_model(report=YOLO, at=0, mend=None, **options):
    """Make a test of an async function with a user at a model."""

    def made(test):
        @functools.wraps(test)
        def run():
            asyncio.run(using(test, model=ModelScreen(report, at, mend), **options))

        del run.__wrapped__
        return run

    return made


def marked(user):
    """Return the row that is marked."""
    return next(" ".join(line.split("│")[0].split()) for line in user.lines if line.startswith(" ▸"))


@at_model()
async def test_the_list_stands_beside_the_picture_at_80x24(user):
    assert user.lines[0].startswith(" yolo.onnx  2 of 4 offend")
    assert marked(user) == "▸! /Reshape 1,3,85,80,80"
    assert "/Reshape  only N=1" in user.lines[0]
    assert "    N ──" in user.text
    assert "f  0,3,85,80,80  copies axis 0" in user.text
    assert len(user.lines) == 24
    assert max(map(len, user.lines)) <= 80
    assert user.lines[-1].startswith(" j k move  / filter")


@at_model()
async def test_keys_move_and_find_offenders(user):
    await user.press("j")
    assert "/Transpose  safe" in user.lines[0]
    await user.press("n")
    assert "/Reshape_1  swallows" in user.lines[0]
    await user.press("n")
    assert "/Reshape  only" in user.lines[0]
    await user.press("k", "pagedown")
    assert "#19  safe" in user.lines[0]
    await user.press("o")
    assert "/Transpose" not in user.text
    assert marked(user).startswith("▸! /Reshape ")
    await user.press("o")
    assert "/Transpose" in user.text


@at_model()
async def test_a_filter_that_comes_all_at_once_is_typed_whole(user):
    for turns in (0, 1, 2, 3):
        await user.burst("slash", *"/w_non", "backspace", "enter", turns=turns)
        assert user.app.screen.nodes.wanted == "/w_no"
        await user.press("slash")
        await user.wipe()
        await user.press("enter")


@at_model()
async def test_a_filter_narrows_while_it_is_typed(user):
    await user.press("slash", "t", "r", "a", "n", "n")
    assert "none is shown" in user.text
    await user.press("backspace", "enter")
    assert marked(user).startswith("▸ /Transpose")
    assert "/Reshape" not in user.text
    await user.press("n", "slash")
    await user.wipe()
    await user.press("escape")
    assert "/Reshape_1" in user.text


@at_model(at=2)
async def test_f_shows_the_fix_in_the_same_picture(user):
    assert "reshape 1,-1,85" in user.text
    await user.press("f")
    assert "reshape 0,-1,85" in user.text
    assert "assumes that the batch stays first" in user.text
    await user.press("f")
    assert "reshape -1,19200,85" in user.text
    await user.press("f")
    assert "reshape 1,-1,85" in user.text


written = []


@at_model(mend=lambda path: written.append(path) or ["mended  /Reshape", "proved. Wrote [b]f.onnx"])
async def test_w_writes_where_asked(user):
    await user.press("w", *"f.onnx", "enter")
    await user.app.workers.wait_for_complete()
    await user.settle()
    assert written == ["f.onnx"]
    assert user.notes[-1] == ("mended", "mended  /Reshape\nproved. Wrote [b]f.onnx")


@at_model(mend=lambda _: [*map(str, range(100)), "proved"])
async def test_of_many_mended_nodes_a_few_are_told(user):
    await user.press("w", "f", "enter")
    await user.app.workers.wait_for_complete()
    await user.settle()
    assert user.notes[-1][1].splitlines() == [*"012345", "and 94 more", "proved"]


def refuse(path):
    raise ShapeError(Problem(FILE, f"{path}: it exists"))


@at_model(mend=refuse)
async def test_a_file_that_cannot_be_written_is_told(user):
    await user.press("w", *"f\x1b", "escape", "w", *"x.onnx", "enter")
    await user.app.workers.wait_for_complete()
    await user.settle()
    assert user.notes[-1] == ("not written", "file: x.onnx: it exists")


STRANGE = judged(
    "4", "Reshape", "[red]\x1b[31m" + "a" * 300, (None, (1,) * 3000, None), Verdict.UNKNOWN, why="no shape"
)


@at_model(replace(YOLO, model="\x1b.onnx", nodes=(STRANGE, TURNED)))
async def test_strange_names_are_shown_escaped(user):
    assert "\x1b" not in user.text
    assert "no picture: a shape is not known" in user.text
    assert "unknown" in user.lines[0]


@at_model(replace(YOLO, nodes=()))
async def test_a_model_without_listed_nodes_is_an_empty_list(user):
    await user.press("n", "j", "f", "o", "slash", "a", "enter")
    assert "none is shown" in user.text


@at_model(size=(50, 12))
async def test_a_small_terminal_is_asked_to_grow(user):
    assert "enlarge the terminal" in user.text


def test_the_marked_node_stays_marked_when_the_list_is_narrowed():
    nodes = ModelList(YOLO, 2)
    nodes.narrow("", offending=True)
    assert nodes.marked.node.path == "18"
    nodes.narrow("transpose", offending=False)
    assert nodes.marked.node.path == "3"
    nodes.narrow("", offending=False)
    assert nodes.marked.node.path == "3"


def test_moving_leaves_the_fix():
    nodes = ModelList(replace(YOLO, nodes=(FIRST, TURNED)))
    nodes.look_at_fix()
    assert nodes.fix == FIRST.fixes[0]
    nodes.move(1)
    assert nodes.fix is None
    nodes.look_at_fix()
    assert nodes.fix is None
