"""The real program on a real terminal, and what it says where there is none that it can use."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import ROOT, command, environment

pytestmark = pytest.mark.sessions(3)

PATIENCE = 30
"""Seconds for which a text is waited for; nothing is timed."""


class Tmux:
    """A terminal of 80x24 of its own, in which a shell line runs."""

    def __init__(self, line, width=80, height=24):
        self.socket = f"shapecalc-{os.getpid()}-{time.monotonic_ns()}"
        kept = environment()
        kept = {name: kept[name] for name in kept.keys() - {"TMUX", "NO_COLOR", "COLUMNS", "LINES", "TERM"}}
        line = f"{line}; echo EXIT=$?; sleep 60"
        words = ["-f", "/dev/null", "-u", "new-session", "-d", "-x", str(width), "-y", str(height), line]
        self._run(*words, env=kept | {"LC_ALL": "C.UTF-8"}, cwd=ROOT)

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
        """Wait until the terminal shows a text, and return all of it."""
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


@on_tmux
def test_it_is_typed_in_stepped_through_resized_and_left_with_the_answer():
    with Tmux(f's=$({shapecalc("tui", "reshape", "2,3,4", "0,-1", "--step", "last")}); echo "ANSWER=$s"') as terminal:
        terminal.shows("answer 2,12")
        terminal.type(",5")
        terminal.shows("answer 2,60")
        terminal.press("PPage")
        terminal.shows("[3 of 3: regroup]")
        terminal._run("resize-window", "-x", "59", "-y", "17")
        terminal.shows("enlarge the terminal to 60x18; it is 59x17")
        terminal._run("resize-window", "-x", "80", "-y", "24")
        terminal.shows("answer 2,60")
        terminal.press("F10")
        assert "ANSWER=2,60\nEXIT=0" in terminal.shows("EXIT=")


@on_tmux
def test_a_first_start_opens_the_path_and_one_key_leaves_it_for_good_and_quitting_prints_nothing(tmp_path):
    alone = f"XDG_DATA_HOME={shlex.quote(str(tmp_path))} {shapecalc('tui')}"
    with Tmux(alone) as terminal:
        terminal.shows("1 of 9: What a dim is")
        terminal.press("Escape")
        terminal.shows("Does this work?")
        terminal.press("C-q")
        terminal.shows("EXIT=0")
    with Tmux(f's=$({alone}); echo "ANSWER=$s."') as terminal:
        terminal.shows("answer hidden")
        terminal.press("C-q")
        assert "ANSWER=.\nEXIT=0" in terminal.shows("EXIT=")


@on_tmux
def test_leaving_a_refused_request_tells_why():
    with Tmux(shapecalc("tui", "reshape", "2,3,4", "5,-1")) as terminal:
        terminal.shows("refused: indivisible")
        terminal.press("F10")
        shown = terminal.shows("EXIT=")
        assert "EXIT=3" in shown
        assert "24 elements (2*3*4) cannot be divided by 5, 4 left over" in shown


@on_tmux
def test_a_shape_comes_through_a_pipe_and_the_keys_from_the_terminal():
    line = shapecalc("tui", "reshape", "-", "8,7", "--step", "last")
    with Tmux(f's=$(echo 7,8 | {line}); echo "ANSWER=$s"') as terminal:
        terminal.shows("answer 8,7")
        terminal.type("0")
        terminal.shows("input 7,80")
        terminal.press("BSpace")
        terminal.shows("answer 8,7")
        terminal.press("F10")
        assert "ANSWER=8,7\nEXIT=0" in terminal.shows("EXIT=")


@on_tmux
def test_told_to_end_it_leaves_the_terminal_as_it_was(tmp_path):
    number = tmp_path / "pid"
    told = f"echo $$ > {shlex.quote(str(number))}; exec {shapecalc('tui', 'reshape', '2,3', '6')}"
    with Tmux(f"sh -c {shlex.quote(told)}") as terminal:
        terminal.shows("answer 6")
        os.kill(int(number.read_text()), signal.SIGTERM)
        assert "EXIT=143" in terminal.shows("EXIT=")
        assert terminal._run("display-message", "-p", "#{alternate_on} #{mouse_any_flag}") == "0 0\n"


@on_tmux
def test_without_colour_it_says_as_much():
    with Tmux(f"NO_COLOR=1 XDG_DATA_HOME=/nowhere {shapecalc('tui')}") as terminal:
        assert "Ten minutes from nothing" in terminal.shows("1 of 9: What a dim is")
        terminal.press("C-q")
        terminal.shows("EXIT=0")


OWN_LESSON = """
[[lesson]]
id = "one"
title = "My own"
text = "Look."
question = "transpose 2,3 1,0"
point = "It turned."
notes = "Whisper."
"""


@on_tmux
def test_it_opens_with_the_lessons_and_at_a_step(tmp_path):
    with Tmux(f"XDG_DATA_HOME={shlex.quote(str(tmp_path))} {shapecalc('tui', '--lesson')}") as terminal:
        terminal.shows("Predict the output shape")
    file = tmp_path / "week3.toml"
    file.write_text(OWN_LESSON)
    with Tmux(shapecalc("tui", "--lesson-file", str(file), "--notes")) as terminal:
        assert "My own" in terminal.shows("Notes: Whisper.")
    with Tmux(shapecalc("tui", "shuffle", "2,3,4", "--first", "1,0,2", "--to", "2,-1,3", "--step", "4")) as terminal:
        terminal.shows("[4 of 8: move axes]")


@on_tmux
def test_it_shows_all_and_one_key_asks_and_f10_prints_the_answer_all_the_same():
    with Tmux(f's=$({shapecalc("tui", "reshape", "2,3,4", "0,-1")}); echo "ANSWER=$s"') as terminal:
        terminal.shows("answer 2,12")
        terminal.press("C-g")
        terminal.shows("Does this work?")
        terminal.type("y")
        shown = terminal.shows("Type the size")
        assert "answer hidden" in shown
        assert "12" not in shown
        terminal.type("3")
        assert "[✗3  ]" in terminal.shows("3 is dim 1")
        terminal.press("BSpace")
        terminal.type("2")
        terminal.shows("0 copies dim 0, which is 2")
        terminal.press("F10")
        assert "ANSWER=2,12\nEXIT=0" in terminal.shows("EXIT=")


def on_a_terminal(*words, **changes):
    """Run with all three streams on a terminal; return the exit code and what it showed."""
    parent, child = pty.openpty()
    env = {**environment(), "TERM": "xterm", "NO_COLOR": "1", **changes}
    running = subprocess.Popen(command(*words), env=env, cwd=ROOT, stdin=child, stdout=child, stderr=child)
    os.close(child)
    code = running.wait(PATIENCE)
    shown = os.read(parent, 65536).decode()
    os.close(parent)
    return code, shown


PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
UNUSABLE = [
    ({"TERM": "dumb"}, "the app cannot draw on a terminal of the kind TERM names"),
    ({"TERM": ""}, "the app cannot draw on a terminal of the kind TERM names"),
    ({"LC_ALL": "C", **PLAIN}, "the app needs a terminal in UTF-8, and this one is in"),
    ({"LC_ALL": "POSIX", **PLAIN}, "the app needs a terminal in UTF-8, and this one is in"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("changes", "said"), UNUSABLE)
def test_a_terminal_that_cannot_be_used_is_told_in_a_line(changes, said):
    code, shown = on_a_terminal("tui", **changes)
    assert code == 2
    assert shown.startswith("shapecalc: ")
    assert f": {said}" in shown
    assert "--explain" in shown
    assert "\x1b[?" not in shown


MISUSED = [
    (["tui"], "the app needs a terminal, for its keys and on standard error"),
    (["tui", "reshap", "2,3", "6"], "there is no operation 'reshap' (did you mean reshape?)"),
    (["tui", "reshape", "2,3", "--nope"], "reshape has no option '--nope'"),
    (["tui", "reshape", "2,3", "6", "7"], "reshape does not take '7'"),
    (["tui", "--step", "0"], "--step is a whole number from 1"),
    (["tui", "--lesson-file", "pyproject.toml"], "pyproject.toml:1: there is no [[lesson]]"),
    (["tui", "--path", "--lesson-file", "x.toml"], "--path and --lesson-file cannot be combined"),
    (["tui", "chain", "2", "3"], "a chain is one text"),
    (["tui", "reshape", "2,3", "'6"], "the app needs a terminal"),
    (["tui", "reshape", "-", "6"], "standard input is empty"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("words", "said"), MISUSED, ids=[" ".join(words) for words, _ in MISUSED])
def test_what_cannot_be_opened_is_told_in_a_line(words, said):
    ran = subprocess.run(
        command(*words),
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
        start_new_session=True,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("shapecalc: usage: ")
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_pipe_without_a_terminal_behind_it_is_told():
    ran = subprocess.run(
        command("tui", "reshape", "-", "6"),
        cwd=ROOT,
        env=environment(),
        input="2,3\n",
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
        start_new_session=True,
    )
    assert ran.returncode == 2
    assert "the app needs a terminal to read its keys from" in ran.stderr


def test_opening_a_question_reads_no_numpy():
    code = "import sys; import shapecalc.tui.app; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
