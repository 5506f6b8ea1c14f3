"""Commands that messages propose can be pasted: they are quoted for the shell, and not refused as usage errors."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from shapecalc.cli.output import ExitCode
from tests.tables import rows

SIZES = ["2,3,4", "?,5,7", "N,C*H,4", "24", "0,3", "?", "2x3x4", "b c h w", "[N, 3]", "(?, 7)"]


def proposed_commands(message):
    """Return the words of each command after `next:`."""
    lines = [line for line in message.splitlines() if line.startswith("shapecalc: next: ")]
    return [shlex.split(part) for line in lines for part in re.split(r"(?:^shapecalc: next: |, )shapecalc ", line)[1:]]


@pytest.mark.parametrize("shape", SIZES)
def test_commands_of_size_can_be_pasted(shapecalc, shape):
    result = shapecalc("size", shape)
    assert result.code == ExitCode.OK
    commands = proposed_commands(result.err)
    assert commands[0][1:] == ["0,-1"]
    assert commands[1][0] == "code"
    for command in commands:
        assert shapecalc(*command).code in (ExitCode.OK, ExitCode.UNRESOLVED), command


def test_command_of_size_quotes_for_the_shell(shapecalc):
    assert "shapecalc '?,5,7' 0,-1" in shapecalc("size", "?,5,7").err


@pytest.mark.parametrize(("name", "shape"), [("W", "10,9*H*N"), ("H", "10,9*N*W")])
def test_hint_of_minus_gives_the_size(shapecalc, name, shape):
    words = (f"x.reshape(-{name} + 40, -1)", "x=N,3,H,W")
    refused = shapecalc(*words)
    assert refused.code == ExitCode.USAGE
    option = re.search(rf"--where {name}=NUMBER", refused.err)[0].replace("NUMBER", "30")
    answered = shapecalc(*words, *option.split())
    assert (answered.code, answered.out.strip()) == (ExitCode.OK, shape)


HERE = Path(__file__).parent
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b|\.\.\.(?=[' ]|$)")
"""A word that the user replaces, such as TARGET."""
ADVISED = re.compile(r"""(?<![\w/.])shapecalc (?:'[^']*'|"[^"]*"|,(?! )|\((?=\d)|[^,;()'"\n:])+""")
"""A command in a message; a colon or a comma before a blank ends it."""
PROSE = re.compile(r" (?:tells of it|lists them|reads the failing line|explains .*)$")
"""The words of a sentence after a command."""
LONG = ",".join(["a_dim_with_a_long_name"] * 6)
LONG_LINES = [
    ("size", LONG),
    ("reshape", LONG, "0", "-1"),
    ("permute", LONG, "5", "4", "3", "2", "1", "0"),
    ("nosuch", LONG),
    (LONG, "6,4", LONG),
    ("x.view(2, 5, -W)", f"x={LONG},W"),
    ("tui", "--plain", "x.view(2, 5)", f"x={LONG}"),
    ("flatten", LONG, "1", "2"),
    ("split", LONG, "9", "-d", "torch"),
    ("equiv", f"{LONG} | transpose", f"{LONG} | reshape {LONG}"),
]
REFUSED_LINES = [
    "reshape 2,3,4 5,-1",
    "reshape 2,3,4 0,-1,-1",
    "reshape 2,3,4 0 -1",
    "reshape 2 3 4 0 -1",
    "reshape 2,3,4",
    "transpose 2,3,4 0 2 1",
    "transpose 2,3,4 0,1",
    "split 10,4 3",
    "split 10,4 2,3,5",
    "matmul 2,3 4,5",
    "concat 2,3 4,5",
    "nosuch 2,3",
    "'nosuch(x)' 2,3",
    "'x.view(2, 5)' x=2,3",
    "code 'x.view(n, -1)' --input x=2,3 extra",
    "chain '2,3 | nosuch 1'",
    "equiv '2,3,4 | transpose 1,0,2 | reshape 6,4' '2,3,4 | reshape 6,4'",
    "equiv '2,3,4 | transpose 1,0,2 | reshape 3,2,4' '2,3,4 | transpose 1,0,2'",
    "against 'reshape 3,2' 'transpose 1,0' --input 2,3",
    "find 2,3,4 3,2,4",
    "find 1,3,640,640 1,12,320,320",
    "find 2,3,4,5,6,7 7,6,5,4,3,2",
    "invert '2,3 | mean 1'",
    "simplify '2,3,4 | transpose 1,0,2 | transpose 1,0,2'",
    "compare reshape 2,3,4 0,-1",
    "how do I flatten a tensor",
    "why infer",
    "help reshape",
    "size 2,3,4",
    "config",
    "dialects torch",
    "2,3,4 6,4",
    "2,3,4 to 5,5",
    "x.npy",
    "tui --plain find 2,3 3,2",
]
"""Lines whose answers contain commands. Those of `doctor` are in `tests/diagnosis`, of a model in `tests/models`."""


def advised_commands(text):
    """Return the commands that a text proposes, without those with a placeholder."""
    printed = "\n".join(line for line in text.splitlines() if not line.startswith("read as: "))
    commands = [PROSE.sub("", command.strip()) for command in ADVISED.findall(printed)]
    return [command for command in commands if not PLACEHOLDER.search(command)]


def assert_advice_can_be_pasted(shapecalc, ran, source):
    for command in advised_commands(ran.out + ran.err):
        words = shlex.split(command)[1:]
        if words and words[0] not in ("tui", "serve", "repl", "film"):
            again = shapecalc(*words)
            assert again.code not in (ExitCode.USAGE, 70), (source, command, again.err)


@pytest.mark.parametrize("line", [*REFUSED_LINES, *[line for line, _ in rows(HERE / "framework_words.txt")]])
def test_advice_after_a_line_can_be_pasted(line, shapecalc, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert_advice_can_be_pasted(shapecalc, shapecalc(*shlex.split(line)), line)


@pytest.mark.parametrize("words", LONG_LINES)
def test_advice_is_not_truncated(words, shapecalc):
    ran = shapecalc(*words)
    commands = ADVISED.findall("\n".join(line for line in (ran.out + ran.err).splitlines() if line[:8] != "read as:"))
    assert [command for command in commands if "..." in command] == []
