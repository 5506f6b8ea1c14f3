"""The program on a real terminal, and its messages without a usable one."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from shapecalc.cli.terminal import check_terminal
from shapecalc.core.problem import ShapeError
from tests.cli.conftest import ROOT, command, environment
from tests.core.test_imports import loaded
from tests.tui.tables import table

PATIENCE = 30
"""The timeout for a text in seconds."""


class Tmux:
    """A tmux session that runs a shell command."""

    def __init__(self, line, width=80, height=24):
        self.socket = f"shapecalc-{os.getpid()}-{time.monotonic_ns()}"
        env = environment()
        env = {name: env[name] for name in env.keys() - {"TMUX", "NO_COLOR", "COLUMNS", "LINES", "TERM"}}
        line = f"{line}; echo EXIT=$?; sleep 60"
        words = ["-f", "/dev/null", "-u", "new-session", "-d", "-x", str(width), "-y", str(height), line]
        self._run(*words, env=env | {"LC_ALL": "C.UTF-8"}, cwd=ROOT)

    def _run(self, *words, **options):
        return subprocess.run(
            ["tmux", "-L", self.socket, *words], check=True, capture_output=True, encoding="utf-8", **options
        ).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._run("kill-server")

    @property
    def text(self):
        return self._run("capture-pane", "-p")

    def shows(self, text):
        """Wait until the terminal shows a text, and return the screen."""
        end = time.monotonic() + PATIENCE
        while text not in (shown := self.text):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    def press(self, key):
        self._run("send-keys", key)

    def type(self, text):
        self._run("send-keys", "-l", text)


on_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def shapecalc(*words):
    return shlex.join(command(*words))


@pytest.mark.slow
@on_tmux
def test_terminal_types_steps_resizes_suspends_and_quits():
    with Tmux(f's=$({shapecalc("tui", "reshape", "2,3,4", "0,-1", "--step", "last")}); echo "ANSWER=$s"') as terminal:
        terminal.shows("▸ 2 , 12")
        for key in ("e", "End", ",", "5"):
            terminal.press(key)
        terminal.shows("▸ 2 , 60")
        terminal.press("PPage")
        terminal.shows("Step 3 of 3 · regroup")
        terminal._run("resize-window", "-x", "59", "-y", "17")
        terminal.shows("enlarge the terminal to 60x18; it is 59x17")
        terminal._run("resize-window", "-x", "80", "-y", "24")
        terminal.shows("▸ 2 , 60")
        terminal.press("C-g")
        terminal.shows("Will it run?")
        terminal.press("F10")
        assert "ANSWER=2,60\nEXIT=0" in terminal.shows("EXIT=")


@pytest.mark.slow
@on_tmux
def test_terminal_reads_esc_and_a_letter_in_a_field_as_a_command():
    with Tmux(shapecalc("tui", "reshape", "2,3,4", "5,-1")) as terminal:
        terminal.shows("f  write 4,-1")
        terminal.press("e")
        terminal.shows("esc f  write 4,-1")
        terminal.press("M-f")
        terminal.shows("target 4,-1")
        terminal.press("C-q")
        terminal.shows("EXIT=0")


@pytest.mark.slow
@on_tmux
def test_terminal_first_start_opens_the_start_screen(tmp_path):
    line = f"NO_COLOR=1 XDG_DATA_HOME={shlex.quote(str(tmp_path))} {shapecalc('tui')}"
    with Tmux(line) as terminal:
        terminal.shows("▸ Start the course")
        terminal.press("Enter")
        assert "This takes ten minutes" in terminal.shows("1 of 11 · What a dim is")
        terminal.press("Escape")
        terminal.shows("▸ Start the course")
        terminal.press("C-q")
        terminal.shows("EXIT=0")
    with Tmux(f's=$({line} --lesson); echo "ANSWER=$s."') as terminal:
        terminal.shows("Predict the output shape")
        terminal.press("Escape")
        terminal.shows("▸ Start the course")
        terminal.press("C-q")
        assert "ANSWER=.\nEXIT=0" in terminal.shows("EXIT=")


@pytest.mark.slow
@on_tmux
def test_terminal_quitting_a_refusal_prints_the_reason():
    with Tmux(shapecalc("tui", "reshape", "2,3,4", "5,-1")) as terminal:
        terminal.shows("refused: indivisible")
        terminal.press("F10")
        shown = terminal.shows("EXIT=")
        assert "EXIT=3" in shown
        assert "24 elements (2*3*4) cannot be divided by 5, 4 left over" in shown


@pytest.mark.slow
@on_tmux
def test_terminal_reads_shape_from_pipe_and_keys_from_tty():
    line = shapecalc("tui", "reshape", "-", "8,7", "--step", "last")
    with Tmux(f's=$(echo 7,8 | {line}); echo "ANSWER=$s"') as terminal:
        terminal.shows("▸ 8 , 7")
        for key in ("e", "End", "0"):
            terminal.press(key)
        terminal.shows("input 7,80")
        terminal.press("BSpace")
        terminal.shows("▸ 8 , 7")
        terminal.press("F10")
        assert "ANSWER=8,7\nEXIT=0" in terminal.shows("EXIT=")


STEP_4 = ("shuffle", "2,3,4", "--first", "1,0,2", "--to", "2,-1,3", "--step", "4")


@pytest.mark.slow
@on_tmux
def test_terminal_is_restored_on_sigterm(tmp_path):
    number = tmp_path / "pid"
    command_line = f"echo $$ > {shlex.quote(str(number))}; exec {shapecalc('tui', *STEP_4)}"
    with Tmux(f"sh -c {shlex.quote(command_line)}") as terminal:
        terminal.shows("Step 4 of 8 · move axes")
        os.kill(int(number.read_text()), signal.SIGTERM)
        assert "EXIT=143" in terminal.shows("EXIT=")
        assert terminal._run("display-message", "-p", "#{alternate_on} #{mouse_any_flag}") == "0 0\n"


OWN_LESSON = """
[[lesson]]
id = "one"
title = "My own"
text = "Look."
question = "transpose 2,3 1,0"
point = "It turned."
notes = "Whisper."
"""


@pytest.mark.slow
@on_tmux
def test_terminal_opens_lessons_of_a_file_with_notes(tmp_path):
    file = tmp_path / "week3.toml"
    file.write_text(OWN_LESSON)
    with Tmux(shapecalc("tui", "--lesson-file", str(file), "--notes")) as terminal:
        assert "My own" in terminal.shows("Notes: Whisper.")


def test_terminal_reports_an_unusable_terminal():
    parent, child = pty.openpty()
    running = subprocess.Popen(command("tui"), env=environment(), cwd=ROOT, stdin=child, stdout=child, stderr=child)
    os.close(child)
    assert running.wait(PATIENCE) == 2
    shown = os.read(parent, 65536).decode()
    os.close(parent)
    assert shown.startswith("shapecalc: ")
    assert ": the app cannot draw on a terminal of the kind TERM names" in shown
    assert "--explain" in shown
    assert "\x1b[?" not in shown


@pytest.mark.parametrize(
    ("kind", "encoding", "said"),
    [
        ("", "utf-8", "of the kind TERM names"),
        ("dumb", "utf-8", "of the kind TERM names"),
        ("xterm", "ascii", "needs a terminal in UTF-8, and this one is in ascii"),
        ("xterm", "utf-8", ""),
    ],
)
def test_terminal_requires_utf_8_and_a_tty(kind, encoding, said, monkeypatch):
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(sys, stream, SimpleNamespace(isatty=lambda: True, encoding=encoding))
    monkeypatch.setenv("TERM", kind)
    with pytest.raises(ShapeError, match=said) if said else nullcontext():
        check_terminal()


@pytest.mark.parametrize(("words", "said"), table("misused"))
def test_terminal_reports_unreadable_requests(words, said, shapecalc):
    ran = shapecalc("tui", *shlex.split(words))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("shapecalc: usage: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_terminal_reports_a_pipe_without_a_tty():
    words = command("tui", "reshape", "-", "6")
    options = {"capture_output": True, "encoding": "utf-8", "check": False, "start_new_session": True}
    ran = subprocess.run(words, cwd=ROOT, env=environment(), input="2,3\n", timeout=PATIENCE, **options)
    assert ran.returncode == 2
    assert "the app needs a terminal to read its keys from" in ran.stderr


def test_terminal_opening_does_not_import_numpy():
    assert loaded("import shapecalc.tui.app", ("numpy",)) == []
