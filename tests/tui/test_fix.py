"""F6: a refused request is drawn with what would help, which one key applies."""

from __future__ import annotations

import asyncio

import pytest

from shapecalc.core.commands import split
from tests.tui.driven import using

REFUSED = [
    "reshape 2,3,4 5,-1",
    "reshape 2,3,4 0,-1,-1",
    "transpose 2,3,4 1,0",
    "shuffle 2,3,4 --first 1,0 --to 0,-1",
    "reshape 2,3,4 0,-1 --dialect openvino",
    "chain '2,3,4 | transpose 1,0,2 | reshape 5,-1'",
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", REFUSED)
def test_the_fix_is_said_and_one_key_applies_it(words):
    async def play(user):
        assert "refused: " in user.title
        assert "F6 fix" in user.lines[-1]
        assert "F6: " in user.text
        await user.press("f6")
        assert "answer" in user.title
        assert "F6" not in user.text

    asyncio.run(using(play, *split(words), size=(100, 30)))


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("reshape N,255,13,13 1,3,85,13,13", "0,3,85,13,13"),
        ("chain 'N,6 | reshape 1,2,3 | transpose'", "reshape 0,2,3"),
    ],
)
def test_an_answer_for_one_batch_is_fixed_for_every_batch(words, target):
    async def play(user):
        assert "Holds when N is 1." in user.text
        assert "right for every batch" in user.text
        await user.press("f6")
        assert target in user.text
        assert "Holds when" not in user.text

    asyncio.run(using(play, *split(words), size=(100, 30)))
