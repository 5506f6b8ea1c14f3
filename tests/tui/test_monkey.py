"""Random keys and pasted texts do not end the app."""

from __future__ import annotations

import asyncio
import random

import pytest

from shapecalc.core.text import split_outside_brackets
from shapecalc.tui.widgets import KEYS
from tests.tui.driven import using

pytestmark = pytest.mark.sessions(1)

LEAVING = ("f10", "ctrl+q")
KEYS_PRESSED = [
    *(key.name for key in KEYS if key.name not in LEAVING and key.name != "f9"),
    *("tab", "shift+tab", "enter", "escape", "left", "right", "up", "down", "home", "end", "backspace", "delete"),
    *("ctrl+e", "ctrl+u", "ctrl+w", "ctrl+k", "space", "f11", "ctrl+left"),
    *"0123456789,,,,,,---xNCHW?*/[](){}|.:'\"é漢",
]
PIECES = [
    *("2,3,4", "0,-1", "-1", "N,C,H,W", "[2, 3]", "1,0,2", "9" * 40, "x.npy", "2x3", "", "C*H*W/64", "torch.Size([2])"),
    *("reshape 0,-1 | transpose", "|", "\x1b[31m", "\x00\x07", "[bold]", "[/]", "\u202e", "a\nb\r\nc", "😀", "\ud800"),
    ",".join(["2"] * 200),
    "7," * 5000,
]
OPENINGS = ["", "reshape N,C,H,W 0,-1,64", "chain '2,3,4 | transpose 1,0,2 | reshape 0,-1'", "shape 2,3,4 --start 1"]
SIZES = [(80, 24), (60, 18), (59, 17), (200, 60), (1, 1), (100, 30)]
TURNS = 30
PLAYED = [(0, range(21, 29)), (2, range(21, 29))]
PLAYED += [pytest.param(seed, range(TURNS), marks=pytest.mark.slow) for seed in range(1, len(OPENINGS))]
"""Seeds and ranges of turns; the fast ranges include a change of size and a paste."""


@pytest.mark.parametrize(("seed", "turns"), PLAYED)
def test_random_keys_and_text_do_not_end_the_app(seed, turns, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a key saves a screenshot
    chance = random.Random(seed)

    async def play(user):
        for turn in turns:
            if turn % 29 == 28:
                await user.paste("".join(chance.choices(PIECES, k=chance.randrange(1, 3))))
            elif turn % 23 == 22:
                await user.resize(*chance.choice(SIZES))
            else:
                await user.hurry(*chance.choices(KEYS_PRESSED, k=chance.randrange(1, 25)))
            if user.app._exit:  # quit by a palette command
                return
            assert user.app.is_running
        await user.resize(80, 24)
        for _ in range(4):
            await user.press("escape")
        user.app.clear_notifications()
        await user.settle()
        assert " ─▸ " in user.text

    asyncio.run(using(play, *split_outside_brackets(OPENINGS[seed % len(OPENINGS)])))
