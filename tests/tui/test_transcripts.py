"""The app in transcripts: `$` a command line, `.` the keys that are pressed, and what the screen shows then.

A key in quotes is a text that is typed. `+` and `-` say what is on the screen and what is not; `title`, `rail`,
`command`, `line N`, `note`, `focus`, `theme` and `clipboard` what stands there, with `...` for any text; `caret` the
text over the first mark; `click`, `paste` and `resize` do it. No line is wider than the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
from pathlib import Path

import pytest

from tests.transcripts import is_seen, transcripts
from tests.tui.driven import using

pytestmark = pytest.mark.sampled(10)

SIGNS = r"\$|\.|\+|-|title|rail|command|line|note|focus|theme|clipboard|caret|click|paste|resize"
OPENING = argparse.ArgumentParser(prog="shapecalc tui", allow_abbrev=False)
OPENING.add_argument("--size", default="80x24")
OPENING.add_argument("--step", type=int)
for flag in ("learns", "lesson", "big"):
    OPENING.add_argument(f"--{flag}", action="store_true")


async def act(user, sign, text):
    """Do what a line says, if it says that something is done."""
    if sign == ".":
        for word in shlex.split(text, posix=False):
            await (user.type(word[1:-1]) if word[0] in "'\"" and len(word) > 1 else user.press(word))
    elif sign == "click":
        await user.click(text)
    elif sign == "paste":
        await user.paste(text)
    elif sign == "resize":
        await user.resize(*map(int, text.split("x")))


def seen(user, sign, text):
    """Return what is shown where a line says, and what it says that is there."""
    if sign == "line":
        number, _, text = text.partition(" ")
        return user.lines[int(number)].strip(), text
    if sign == "caret":
        return user.lines[1][user.lines[2].index("▲") :][: len(text)], text
    if sign == "note":
        return ": ".join(user.notes[-1]) if user.notes else "", text
    if sign == "focus":
        return str(getattr(user.app.focused, "id", None)), text
    return getattr(user.app if sign in ("clipboard", "theme") else user, sign), text


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", SIGNS))
def test_what_is_pressed_gives_what_is_seen(lines):
    openings = [number for number, line in enumerate(lines) if line.sign == "$"]
    for start, end in zip(openings, [*openings[1:], len(lines)], strict=True):
        opened, words = OPENING.parse_known_args(shlex.split(lines[start].text)[2:])
        options = vars(opened)
        width, height = map(int, options.pop("size").split("x"))

        async def play(user, shown=lines[start + 1 : end]):
            for sign, text, place in shown:
                await act(user, sign, text)
                assert all(len(line) <= user.app.size.width for line in user.lines), place
                if sign in ("+", "-"):
                    assert (text in user.text) is (sign == "+"), f"{place}\n{user.text}"
                elif sign not in (".", "click", "paste", "resize", ""):
                    found, said = seen(user, sign, text)
                    assert is_seen(said, f"{found}\n"), f"{place}: {found}\n{user.text}"
                assert sign or not text, f"{place}: this says nothing"

        asyncio.run(using(play, *words, size=(width, height), **options))
