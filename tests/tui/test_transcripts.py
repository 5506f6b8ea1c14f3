"""Transcripts of the app: `$` a command line, then user input and the expected screen.

Files: `@` a name, `|` a line of it; `arrays` creates a folder of them, `remove` deletes one, `full` simulates a full
disk. Input: `.` keys (`up*3` three times, quoted text is typed), `burst N` keys N turns of the event loop apart,
`click` on a text (`click+3` three cells to the right), `paste`, `resize`, `find` a palette command, `wait` for
background work, `ask` another question in the open app, `keep` the screen. Checks: `+` a text on the screen (`2+`
twice), `-` a text not on it, `same` as the kept screen, `caret` the text over the first mark,
`line N`, `file` and `kept` the contents of a file, here or in the data folder, `without` a text that no file contains,
`folder` the file names, and every attribute of `User`, with `...` for any text. No line is wider than the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.teaching.lessons import Course, load_path_lessons, parse_lesson_file
from shapecalc.tui.lessons import DrillScreen
from shapecalc.tui.model import ModelScreen
from tests.models.reports import YOLO
from tests.transcripts import matches_expected, transcripts
from tests.tui.driven import using

pytestmark = pytest.mark.sampled(5)

READ = "title|step|command|keys|lit|screen|focus|value|listed|note|theme|clipboard|answer"
DONE = r"@|\||arrays|remove|full|\.|burst|click(?:\+\d+)?|paste|resize|find|wait|ask|keep"
SEEN = rf"\d*\+|-|same|caret|line|file|without|kept|folder|{READ}"
OPENING = argparse.ArgumentParser(prog="shapecalc tui", allow_abbrev=False)
OPENING.add_argument("--size", default="80x24")
OPENING.add_argument("--step", type=int)
for option in ("course", "drill", "model"):
    OPENING.add_argument(f"--{option}")
for option in ("learns", "as-left", "lesson", "path", "notes", "home"):
    OPENING.add_argument(f"--{option}", action="store_true")


async def press(user, keys):
    for word in shlex.split(keys, posix=False):
        key, _, times = word.partition("*")
        await user.hurry(*(word[1:-1] if word[0] in "'\"" else [key] * int(times or 1)))


def make_file(name):
    """Make an empty file, or a folder if its name ends so."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).mkdir() if name.endswith("/") else Path(name).write_text("")


def make_arrays():
    np.save("x.npy", np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]], "f4"))
    Path("inside").mkdir()
    np.save("inside/y.npy", np.zeros((4, 5, 6)))
    np.savez("many.npz", first=np.zeros(7), second=np.zeros((8, 9), "i1"))
    for name, content in (("notes.txt", b"none"), ("bad.npy", b"\x93NUMPY"), ("red\x1b[31m.npy", b"")):
        Path(name).write_bytes(content)


def write_fixed_model(path):
    """Simulate writing a fixed model: return a long report."""
    if Path(path).exists():
        raise ShapeError(Problem(FILE, f"{path}: it exists; --force writes over it"))
    make_file(path)
    return [*(f"fixed   node {number}" for number in range(100)), f"proved. Wrote [b]{path}"]


class Player:
    """Executes the lines of a transcript, and checks the expected ones."""

    def __init__(self, monkeypatch):
        self.monkeypatch, self.file, self.text = monkeypatch, "", ""

    def refuse(self, *_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def prepare(self, sign, text):
        """Execute a line that needs no app; return whether it is one."""
        if sign == "@":
            self.file = text
            make_file(text)
        elif sign == "|":
            Path(self.file).write_text(f"{Path(self.file).read_text()}{text}\n")
        elif sign == "arrays":
            make_arrays()
        elif sign == "remove":
            shutil.rmtree(text) if Path(text).is_dir() else Path(text).unlink()
        elif sign == "full":
            self.monkeypatch.setattr("shapecalc.engine.atomic_files.atomic_file", self.refuse)
        else:
            return False
        return True

    async def act(self, user, sign, text):
        """Execute a line of user input; return whether it is one."""
        sign, _, after = sign.partition("+") if sign.startswith("click") else (sign, "", "")
        if sign == ".":
            await press(user, text)
        elif sign == "burst":
            turns, *words = shlex.split(text, posix=False)
            keys = [key for word in words for key in (word[1:-1] if word[0] == '"' else [word])]
            await user.burst(*keys, turns=int(turns))
        elif sign == "click":
            await user.click(text, after=int(after or 0))
        elif sign == "resize":
            await user.resize(*map(int, text.split("x")))
        elif sign == "wait":
            await user.pilot.pause(0)  # for updates by threads
            await user.app.workers.wait_for_complete()
            await user.settle()
        elif sign in ("paste", "find", "ask"):
            await getattr(user, sign)(text.encode().decode("unicode_escape") if sign == "paste" else text)
        elif sign == "keep":
            self.text = user.text
        else:
            return False
        return True

    def see(self, user, sign, text):
        """Return the actual and the expected value of a line."""
        if sign == "same":
            return user.text, self.text
        if sign == "caret":
            return user.lines[1][user.lines[2].index("▲") :][: len(text)], text
        if sign == "folder":
            return " ".join(sorted(os.listdir())), text
        if sign not in ("line", "file", "without", "kept"):
            value = getattr(user, sign)
            return " | ".join(value) if isinstance(value, list) else value, text
        name, _, text = text.partition(" ")
        if sign == "line":
            return user.lines[int(name)].strip(" │"), text
        folder = Path(os.environ["XDG_DATA_HOME"], "shapecalc") if sign == "kept" else Path()
        if sign == "without":
            files = [file.read_text("utf-8") for file in folder.glob(name)]
            return bool(files) and not any(text in file for file in files), True
        file = next(folder.glob(name), None)
        return file and file.read_text("utf-8").strip(), text or None

    async def play(self, user, lines):
        for sign, text, place in lines:
            assert sign or not text, f"{place}: the line has no sign"
            if not sign or self.prepare(sign, text) or await self.act(user, sign, text):
                continue
            if sign.endswith(("+", "-")):
                assert all(len(line) <= user.app.size.width for line in user.lines), place
                times = int(sign.strip("+-") or 0)
                count = user.text.count(text)
                assert count == times if times else (count > 0) is (sign == "+"), f"{place}\n{user.text}"
            else:
                actual, expected = self.see(user, sign, text)
                matches = actual == expected or matches_expected(
                    str(expected), " ".join(f"{actual}".split("\n")) + "\n"
                )
                assert matches, f"{place}: {actual}\n{user.text}"


async def open_further(user, course, drill, path, notes):
    """Open a course, the path, or exercises over the main screen."""
    if course or path:
        own = course and Course(parse_lesson_file(course, Path(course).read_text()), shows_notes=notes)
        user.app.explore.course = own or Course(load_path_lessons(), is_path=True)
        user.app.explore.action_lessons()
    elif drill:
        user.app.push_screen(DrillScreen(drill))
    await user.settle()


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", rf"\$|{DONE}|{SEEN}"))
def test_app_transcripts(lines, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("shapecalc.tui.lessons.random_seed", lambda: "1")
    player = Player(monkeypatch)
    starts = [number for number, line in enumerate(lines) if line.sign == "$"]
    for sign, text, _ in lines[: starts[0]]:
        player.prepare(sign, text)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        words = shlex.split(lines[start].text)
        with monkeypatch.context() as changed:
            while "=" in words[0]:
                changed.setenv(*words.pop(0).split("=", 1))
            opened, words = OPENING.parse_known_args(words[2:])
            further = {name: getattr(opened, name) for name in ("course", "drill", "path", "notes")}

            async def play(user, shown=lines[start + 1 : end], further=further):
                await open_further(user, **further)
                await player.play(user, shown)

            opening = {
                "size": tuple(map(int, opened.size.split("x"))),
                "step": 0 if opened.learns else opened.step,
                "learns": None if opened.as_left else opened.learns,
                "lesson": opened.lesson,
                "home": opened.home,
                "model": opened.model and ModelScreen(YOLO, int(opened.model), write_fixed_model),
            }
            asyncio.run(using(play, *words, **opening))
