"""The model screen: unprintable names, an empty list, and the selected node."""

from __future__ import annotations

import asyncio

from shapecalc.core.record import replace
from shapecalc.models.verdicts import BatchVerdict
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.tui.model import ModelScreen, NodeListState, node_list_text
from tests.models.reports import FIRST, TURNED, YOLO, judged
from tests.tui.driven import using

STRANGE = judged(
    "4", "Reshape", "[red]\x1b[31m" + "a" * 300, (None, (1,) * 3000, None), BatchVerdict.UNKNOWN, why="no shape"
)


def at_model(script, **changes):
    asyncio.run(using(script, model=ModelScreen(replace(YOLO, **changes), 0, None)))


def test_model_screen_escapes_strange_names():
    async def look(user):
        assert "\x1b" not in user.text
        assert "no picture: a shape is not known" in user.text
        assert "unknown" in user.lines[0]

    at_model(look, model="\x1b.onnx", nodes=(STRANGE, TURNED))


def test_model_screen_without_nodes_is_an_empty_list():
    async def look(user):
        await user.press("n", "j", "f", "o", "slash", "a", "enter")
        assert "none is shown" in user.text

    at_model(look, nodes=())


def test_model_screen_keeps_the_selection_when_filtered():
    nodes = NodeListState(YOLO, 2)
    nodes.filter_nodes("", failing_only=True)
    assert nodes.selected_node.node.path == "18"
    nodes.filter_nodes("transpose", failing_only=False)
    assert nodes.selected_node.node.path == "3"
    nodes.filter_nodes("", failing_only=False)
    assert nodes.selected_node.node.path == "3"


def test_model_screen_leaves_the_fix_on_moving():
    nodes = NodeListState(replace(YOLO, nodes=(FIRST, TURNED)))
    nodes.show_next_fix()
    assert nodes.shown_fix == FIRST.fixes[0]
    nodes.move_selection(1)
    assert nodes.shown_fix is None
    nodes.show_next_fix()
    assert nodes.shown_fix is None


def test_model_screen_keeps_a_failing_node_red_while_a_fix_is_shown():
    nodes = NodeListState(YOLO, 2)
    before = node_list_text(nodes, 60, 9)
    nodes.show_next_fix()
    assert nodes.shown_fix
    assert node_list_text(nodes, 60, 9) == before
    assert any(str(span.style).startswith(BOLD_ERROR) for span in before.spans)
