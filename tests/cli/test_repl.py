"""The prompt on a terminal: it edits and completes lines, keeps their history, and ends as it is told to."""

from __future__ import annotations

import os
import re
import select
import subprocess

import pytest

from shapecalc.cli.repl import completer_at, words_after
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from tests.cli.conftest import command, environment

pytest.importorskip("termios", reason="there are no terminals to test with here")

PATIENCE = 30
"""Seconds for which a text is waited for; nothing is timed."""

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What moves the cursor, or colours what follows."""


def _trace(sequence):
    """Return what stays of a sequence: of a move to the left, a mark, since what follows is drawn over the line."""
    return "\r" if sequence[0].endswith("D") else ""


class Prompt:
    """The prompt on a terminal of its own."""

    def __init__(self, state):
        import pty

        self.terminal, child = pty.openpty()
        env = {**environment(), "XDG_STATE_HOME": str(state), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self.running = subprocess.Popen(command("repl"), env=env, stdin=child, stdout=child, stderr=child)
        os.close(child)
        self.shown = ""
        self.shows(">")

    def shows(self, text):
        """Wait until a text is shown after what was shown before, and return what came with it."""
        while text not in self.shown:
            assert select.select([self.terminal], [], [], PATIENCE)[0], self.shown
            self.shown = SEQUENCE.sub(_trace, self.shown + os.read(self.terminal, 65536).decode())
        seen, found, self.shown = self.shown.partition(text)
        return seen + found

    def type(self, keys, shows):
        os.write(self.terminal, keys.encode())
        return self.shows(shows)

    def ends(self, keys):
        """Return the exit code after the last keys."""
        os.write(self.terminal, keys.encode())
        return self.running.wait(PATIENCE)

    def close(self):
        self.running.kill()
        self.running.wait()
        os.close(self.terminal)


@pytest.fixture
def start(tmp_path):
    """Start prompts that share a history; they are gone afterwards."""
    started = []

    def begin():
        started.append(Prompt(tmp_path))
        return started[-1]

    yield begin
    for prompt in started:
        prompt.close()


def test_it_carries_a_shape_and_keeps_its_history_for_the_next(start, tmp_path):
    prompt = start()
    prompt.type("2,3,4\r", "2,3,4>")
    assert "\n2,12\r" in prompt.type("reshape 0,-1\r", "2,12>")
    assert prompt.ends("quit\r") == 0
    assert (tmp_path / "shapecalc" / "history").read_text().splitlines() == ["2,3,4", "reshape 0,-1", "quit"]
    again = start()
    again.type("\x1b[A\x1b[A\r", "there is no current shape yet")
    again.shows(">")
    assert again.ends("\x04") == 0


def test_ctrl_c_drops_the_line_and_ctrl_d_ends(start):
    prompt = start()
    prompt.type("2,3\r", "2,3>")
    prompt.type("reshape 9\x03", "2,3>")
    assert "\n6\r" in prompt.type("reshape -1\r", "6>")
    assert prompt.ends("\x04") == 0


def test_tab_completes_and_pasted_lines_are_answered_one_by_one(start):
    prompt = start()
    prompt.type("2,3,4\r", "2,3,4>")
    prompt.type("transp\t", "ose")
    assert "\n3,2,4\r" in prompt.type(" 1,0,2\r", "3,2,4>")
    assert "\n5,8\r" in prompt.type("\x1b[200~5,2,4\nreshape 0,-1\x1b[201~\r", "5,8>")
    assert prompt.ends("\x04") == 0


def test_a_history_that_cannot_be_kept_is_told_at_the_end(start, tmp_path):
    (tmp_path / "shapecalc").write_text("in the way")
    prompt = start()
    prompt.type("2,3\r", "2,3>")
    assert prompt.ends("\x04") == 0
    prompt.shows("shapecalc: history: ")


def test_bytes_that_are_no_text_are_answered_in_a_line(start):
    prompt = start()
    os.write(prompt.terminal, b"2,\xff\r")
    prompt.shows(r"\udcff")
    prompt.shows(">")
    assert prompt.ends("\x04") == 0


OFFERED = [
    ("", {*OPS, "explain", "dialect", "ans"}),
    ("2,3 | ", {*OPS}),
    ("dialect ", {*DIALECTS}),
    ("why ", {"copy-zero", "infer"}),
    ("reshape ", {"ans", "--dialect", "--allowzero", "--no-allowzero", "--where"}),
    ("2,3 | flatten ", {"--axis", "--start-dim", "--opset"}),
    ("reshape 6 -d ", {*DIALECTS}),
    ("reshape 6 --dtype ", {"float32", "int64"}),
    ("depth_to_space 2 --mode ", {"DCR", "CRD"}),
]


@pytest.mark.parametrize(("text", "words"), OFFERED)
def test_what_may_follow_is_offered(text, words):
    assert {*words_after(text)} >= words


@pytest.mark.parametrize("text", ["2,3 ", "nothing ", "dialect onnx ", "flatten --axis ", "undo "])
def test_nothing_is_offered_where_nothing_is_known(text):
    assert words_after(text) == []


@pytest.mark.parametrize("op", OPS)
def test_no_option_is_offered_that_the_prompt_does_not_take(op):
    from shapecalc.core.commands import read_stage

    offered = [word for word in words_after(f"{op} ") if word != "ans"]
    for word in offered:
        value = [] if words_after(f"{op} x {word} ") == words_after(f"{op} x ") else ["1"]
        assert read_stage([op, word, *value], with_input=False).op == op
    assert not {"--json", "--explain", "-o"} & {*offered}


def test_a_word_that_was_begun_is_gone_on_with():
    from prompt_toolkit.document import Document

    typed = Document("reshape 6 --dialect=x --dia")
    found = completer_at(typed).get_completions(typed, None)
    assert [(each.text, each.start_position) for each in found] == [("--dialect", -5)]
