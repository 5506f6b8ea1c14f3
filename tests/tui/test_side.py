"""The panels that fill the remaining lines of a screen: code, steps and signs, and the frame of the answer."""

from __future__ import annotations

import pytest

from shapecalc.tui.dialogs import LEGEND
from shapecalc.tui.explore import COMPARE_SECONDS
from shapecalc.tui.explore_text import map_text
from shapecalc.tui.question import question_from_words
from shapecalc.tui.side import MAX_SIGNS, SIGN_PATTERNS, find_signs
from shapecalc.tui.state import ExploreState
from tests.tui.driven import driven

SHUFFLE = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"
SHOWN = (
    ((80, 24), "reshape 2,3,4 0,-1", ("▌2,3,4 ─▸ 2 , 12",), ("─ Code ─", "─ Signs ─", "─ Steps ─")),
    (
        (120, 40),
        "transpose 2,3,4 1,2,0",
        ("─ Answer ─", "─ Compare ─", "─ Code ─", "y = x.permute(1, 2, 0)"),
        ("─ Keys ─",),
    ),
    ((120, 40), "reshape 2,3,4 5,-1", ("─ Compare ─", "refused: indivisible"), ("─ Code ─", "Signs", "─ Keys ─")),
    (
        (120, 40),
        "concat 2,1,2 2,2,2 --axis 1",
        ("output 2,3,2", "▕ 0  1╎ 4  5╎ 6  7▏", "y = torch.cat([x, x1], 1)"),
        (),
    ),
    ((200, 60), SHUFFLE, ("─ Steps ─", "✓ 5  0 copies dim 0, which is 3", "Signs", "─ Code ─"), ("an unknown dim",)),
    (
        (200, 60),
        "reshape 2,3,4 5,-1",
        ("─ Compare ─", "Signs", "remaining elements, or too many"),
        ("─ Code ─", "─ Keys ─", "axes that cross"),
    ),
)
"""The size of the terminal, a command line, and texts that are shown and that are not."""


SIGNS = (
    ("reshape 2,3,4 0,-1", "─ ╮ ├ ┤", "╲ ╱ ╳"),  # noqa: RUF001
    ("transpose 2,3,4 1,2,0", "╲ ╱ ╳", "─ ╮ ├ ┤"),  # noqa: RUF001
    ("reshape 2,3,4 6,4", "bc  a-d", "• ┼"),
    ("conv 1,3,9,9 4,3,3,3", "w0  B1", "~x"),
)
"""A command line, a sign that its map contains, and one that it does not."""


@pytest.mark.parametrize(("line", "listed", "unlisted"), SIGNS)
def test_signs_are_those_of_the_pictures(line, listed, unlisted):
    picture = map_text(ExploreState(question_from_words(line.split())), 100, 20).plain
    signs = [sign for sign, _ in find_signs(picture)]
    assert listed in signs
    assert unlisted not in signs
    assert len(signs) <= MAX_SIGNS


def test_every_sign_is_a_sign_of_the_legend():
    assert {*SIGN_PATTERNS} <= {sign for sign, _ in LEGEND}


async def draw_after_pause(user):
    await user.pilot.pause(COMPARE_SECONDS)
    await user.settle()


@pytest.mark.parametrize(("size", "line", "shown", "hidden"), SHOWN)
@driven()
async def test_side_panels_by_size(user, size, line, shown, hidden):
    await user.resize(*size)
    await user.ask(line)
    await draw_after_pause(user)
    assert [text for text in shown if text not in user.text] == []
    assert [text for text in hidden if text in user.text] == []


@driven("reshape", "2,3,4", "0,-1", size=(120, 40), step=0, learns=True)
async def test_side_panels_hide_predicted_dims(user):
    await draw_after_pause(user)
    assert "─ Code ─" not in user.text
    assert "─ Compare ─" not in user.text
    await user.press("y")
    assert "▸ 1  dim 0" in user.text
    await user.press("2", "1", "2", "right")
    await draw_after_pause(user)
    assert user.step == "Step 3 of 3 · regroup"
    assert user.focus is None


@driven(*SHUFFLE.split(), step=4)
async def test_step_panel_lists_steps(user):
    assert "✓ 4  the axes move" in user.text
    assert "▸ 5  0 copies dim 0, which is 3" in user.text
    assert "· 6  solve -1" in user.text
    await user.click("· 6  solve -1")
    assert user.step == "Step 6 of 7 · solve -1"


@driven("chain", "2,128,768 | " + " | ".join(["transpose 0,2,1"] * 8))
async def test_field_marks_cut_text(user):
    assert user.lines[2].rstrip(" │").endswith("…")
    await user.press("e", "end", "tab", "end")
    assert not user.lines[2].rstrip(" │").endswith("…")
