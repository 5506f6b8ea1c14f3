"""Commands that messages propose can be pasted: they are quoted for the shell, and not refused as usage errors."""

from __future__ import annotations

import re
import shlex

import pytest

from shapecalc.cli.output import ExitCode

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
