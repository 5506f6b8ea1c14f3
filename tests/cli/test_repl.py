"""The prompt of `shapecalc repl` on a terminal: editing, completion, history and exit."""

from __future__ import annotations

import os
import re
import select
import subprocess

import pytest

from shapecalc.cli.repl import completions_after, make_completer
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from tests.cli.conftest import command, environment
from tests.sampling import each_row

pytest.importorskip("termios", reason="there are no terminals to test with here")

PATIENCE = 30
"""The timeout in seconds for an expected text."""

ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""An escape sequence that moves the cursor or sets a colour."""


def _replace_sequence(match):
    """Return a carriage return for a move to the left, which redraws the line; else nothing."""
    return "\r" if match[0].endswith("D") else ""


class Prompt:
    """A prompt on a new terminal; prompts share a state folder."""

    def __init__(self, state):
        import pty

        self.terminal, child = pty.openpty()
        env = {**environment(), "XDG_STATE_HOME": str(state), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self.running = subprocess.Popen(command("repl"), env=env, stdin=child, stdout=child, stderr=child)
        os.close(child)
        self.shown = ""

    def __enter__(self):
        self.type(b"", ">")
        return self

    def __exit__(self, *error):
        self.running.kill()
        self.running.wait()
        os.close(self.terminal)

    def type(self, keys, text):
        """Type keys, wait until a text is shown, and return the new output up to its end."""
        os.write(self.terminal, keys)
        while text not in self.shown:
            assert select.select([self.terminal], [], [], PATIENCE)[0], self.shown
            self.shown = ESCAPE_SEQUENCE.sub(_replace_sequence, self.shown + os.read(self.terminal, 65536).decode())
        before, match, self.shown = self.shown.partition(text)
        return before + match

    def exit_code(self, keys):
        """Type the last keys and return the exit code."""
        os.write(self.terminal, keys)
        return self.running.wait(PATIENCE)


TYPED = [
    ("a line is answered", b"2,3,4\r", "", "2,3,4>"),
    ("and the next", b"reshape 0,-1\r", "\n2,12\r", "2,12>"),
    ("Ctrl+C drops the line", b"reshape 9\x03", "", "2,12>"),
    ("and not the shape", b"reshape 2,3,4\r", "\n2,3,4\r", "2,3,4>"),
    ("Tab completes", b"transp\t", "", "ose"),
    ("what is gone on with", b" 1,0,2\r", "\n3,2,4\r", "3,2,4>"),
    ("pasted lines are answered one by one", b"\x1b[200~5,2,4\nreshape 0,-1\x1b[201~\r", "\n5,8\r", "5,8>"),
    ("bytes that are no text are answered in a line", b"2,\xff\r", "", r"\udcff"),
]


def test_repl_edits_lines_and_keeps_history(tmp_path):
    with Prompt(tmp_path) as prompt:
        for description, keys, expected, next_text in TYPED:
            assert expected in prompt.type(keys, next_text), description
        assert prompt.exit_code(b"quit\r") == 0
    history = (tmp_path / "shapecalc" / "history").read_text("utf-8", "replace").splitlines()
    assert history[:2] == ["2,3,4", "reshape 0,-1"]
    assert (history[-1], "reshape 9" in history) == ("quit", False)
    with Prompt(tmp_path) as again:
        again.type(b"\x1b[A" * (len(history) - 1) + b"\r", "there is no current shape yet")
        again.type(b"", ">")
        assert again.exit_code(b"\x04") == 0


def test_repl_unwritable_history_is_reported_at_the_end(tmp_path):
    (tmp_path / "shapecalc").write_text("in the way")
    with Prompt(tmp_path) as prompt:
        prompt.type(b"2,3\r", "2,3>")
        assert prompt.exit_code(b"\x04") == 0
        prompt.type(b"", "shapecalc: history: ")


COMPLETIONS = [
    ("", {*OPS, "explain", "dialect", "ans"}),
    ("2,3 | ", {*OPS}),
    ("dialect ", {*DIALECTS}),
    ("why ", {"copy-zero", "infer"}),
    ("reshape ", {"ans", "--dialect", "--allowzero", "--no-allowzero", "--where"}),
    ("2,3 | flatten ", {"--axis", "--start-dim", "--opset"}),
    ("reshape 6 -d ", {*DIALECTS}),
    ("reshape 6 --dtype ", {"float32", "int64"}),
    ("depth_to_space 2 --mode ", {"DCR", "CRD"}),
    *((text, set()) for text in ("2,3 ", "nothing ", "dialect onnx ", "flatten --axis ", "undo ")),
]


@each_row(("text", "words"), COMPLETIONS)
def test_repl_completion_offers_what_may_follow(text, words):
    assert {*completions_after(text)} >= words
    assert words or completions_after(text) == []


@each_row("op", OPS)
def test_repl_completion_omits_unsupported_options(op):
    from shapecalc.reading.commands import parse_stage

    candidates = [word for word in completions_after(f"{op} ") if word != "ans"]
    for word in candidates:
        value = [] if completions_after(f"{op} x {word} ") == completions_after(f"{op} x ") else ["1"]
        assert parse_stage([op, word, *value], with_input=False).op == op
    assert not {"--json", "--explain", "-o"} & {*candidates}


def test_repl_completion_continues_a_partial_word():
    from prompt_toolkit.document import Document

    typed = Document("reshape 6 --dialect=x --dia")
    completions = make_completer(typed).get_completions(typed, None)
    assert [(completion.text, completion.start_position) for completion in completions] == [("--dialect", -5)]
