"""The screenshots of the app: each with a command line, keys to press, and a terminal size.

`python -m tests.renew screens` writes them to `screenshots/`, and a test fails if one is stale. They also depend on the
versions of Textual and Rich, which are stored next to them.
"""

from __future__ import annotations

import asyncio
import os
import re
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from shapecalc.tui.model import ModelScreen
from tests.models.reports import YOLO
from tests.tui.driven import SHUFFLE, using

FOLDER = Path(__file__).parents[2] / "screenshots"
VERSIONS = FOLDER / "versions.txt"
FONTS = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
"""Installed monospace fonts, instead of the web font in Textual's SVG."""


class Scene(NamedTuple):
    """One screenshot."""

    words: tuple[str, ...]
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (80, 24)
    dark: bool = True
    lesson: bool = False
    learns: bool = False
    """Whether it opens in learning mode, at the first step."""
    model_at: int | None = None
    """The index of the selected node of a model, instead of a command line."""


TURNED = ("transpose", "2,3,4", "1,2,0")
MIXED = "reshape N,2,C/2,H,W | transpose 0,2,1,3,4 | reshape N,C,H,W"
SCENES = {
    "predict": Scene(("reshape", "2,2,3,2", "-1,0,0"), ("y", "3"), learns=True),
    "hole": Scene(("reshape", "2,3,4", "0,-1"), ("y", "2", "enter", "1"), learns=True),
    "mistake": Scene(TURNED, ("y", "4", "down", "2", "down", "3", *["pagedown"] * 5), learns=True),
    "shuffle": Scene(SHUFFLE, ("pageup", "pageup")),
    "rulers": Scene(("reshape", "4,6", "3,8"), ("pageup",)),
    "comparison": Scene(("reshape", "0,3,4", "0,-1"), (":compare", "down", "down", "down", "down", "down", "down")),
    "grid": Scene(("reshape", "2,3,4", "4,6"), (":elements", "down", "down", "right")),
    "refused": Scene(("reshape", "2,3,4", "5,-1")),
    "heads": Scene(("chain", "2,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3"), (), (100, 30)),
    "names": Scene(("reshape", "N,C,H,W", "0,-1,64"), (), (100, 30)),
    "short": Scene(("chain", f"N,C,H,W | {MIXED} | transpose 0,2,3,1 | transpose 0,3,1,2"), (":simplify",), (100, 24)),
    "against": Scene(("equiv", "N,C,3 | transpose 1,0,2", "| reshape C,N,3")),
    "lesson": Scene((), ("enter", *["pagedown"] * 3, *"2,3,2", "enter"), lesson=True),
    "model": Scene((), ("f",), model_at=2),
    "light": Scene(SHUFFLE, ("pageup", "pageup"), dark=False),
    "light-refused": Scene(("reshape", "2,3,4", "5,-1"), dark=False),
}


def picture(scene: Scene) -> str:
    """Return a scene as SVG, without the web font."""
    screenshots = []

    async def play(user):
        if not scene.dark:
            user.app.theme = "light"
        for key in scene.keys:
            await user.press(key)
        await user.pilot.pause()
        screenshots.append(user.app.export_screenshot(title="shapecalc", simplify=True))

    data_home = os.environ.get("XDG_DATA_HOME")
    with TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        try:
            model = None if scene.model_at is None else ModelScreen(YOLO, scene.model_at, list)
            opening = {"lesson": scene.lesson, "learns": scene.learns, "model": model}
            opening |= {"step": 0 if scene.learns else None}
            asyncio.run(using(play, *scene.words, size=scene.size, **opening))
        finally:
            os.environ.pop("XDG_DATA_HOME") if data_home is None else os.environ.update(XDG_DATA_HOME=data_home)
    svg = re.sub(r"\s*@font-face \{.*?\}", "", screenshots[0], flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", FONTS).replace("font-family: arial", f"font-family: {FONTS}")
    svg = svg.replace("font-size: 20px", "font-size: 21px")  # so that vertical lines of adjacent rows meet
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def versions() -> str:
    """Return the versions of the packages that render the screenshots."""
    return "".join(f"{name} {version(name)}\n" for name in ("textual", "rich"))
