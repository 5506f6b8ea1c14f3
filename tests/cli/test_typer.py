"""What Typer is told of the commands: nothing that it would have to convert, so that any version of it will do."""

from __future__ import annotations

import json
import os
from typing import get_type_hints

import pytest

from shapecalc.cli.typer_adapter import app

PASSED_ON = (bool, bool | None, str, str | None, list[str], list[str] | None)
"""The kinds of values that come from Typer as they were typed."""
MADE = app()
FUNCTIONS = [MADE.registered_callback.callback, *(command.callback for command in MADE.registered_commands)]


def _is_counted(hint):
    """Say whether a parameter is an option that the parser counts, whose value is no text."""
    return any(getattr(info, "count", False) for info in getattr(hint, "__metadata__", ()))


@pytest.mark.parametrize(
    "function", FUNCTIONS, ids=["the group", *(command.name for command in MADE.registered_commands)]
)
def test_typer_has_nothing_to_convert(function):
    kinds = get_type_hints(function)
    kinds.pop("return", None)
    counted = {name for name, hint in function.__annotations__.items() if _is_counted(hint)}
    kinds = {name: kind for name, kind in kinds.items() if name not in counted}
    assert {name: kind for name, kind in kinds.items() if kind not in PASSED_ON} == {}


def test_the_test_above_can_fail():
    assert int not in PASSED_ON
    assert int | None not in PASSED_ON
    assert get_type_hints(FUNCTIONS[0]) == {"version": bool, "return": type(None)}


NUMBERS = [
    (["check", "/dev/null", "--jobs", "0"], "--jobs is a whole number from 1 to 256, not '0'"),
    (["check", "/dev/null", "--jobs", "257"], "--jobs is a whole number from 1 to 256, not '257'"),
    (["check", "/dev/null", "-j", "-1"], "--jobs is a whole number from 1 to 256, not '-1'"),
    (["check", "/dev/null", "-j", "1.0"], "--jobs is a whole number from 1 to 256, not '1.0'"),
    (["check", "/dev/null", "--jobs="], "--jobs is a whole number from 1 to 256, not ''"),
    (["check", "/dev/null", "-j", "\N{SUPERSCRIPT TWO}"], "from 1 to 256, not '\N{SUPERSCRIPT TWO}'"),
    (["tui", "--step", "0"], "--step is a whole number from 1 to 99999, not '0'"),
    (["tui", "--step", "9" * 5000], "--step is a whole number from 1 to 99999, not '99"),
    (["serve", "--port", "65536"], "--port is a whole number from 1 to 65535, not '65536'"),
    (["serve", "--port", "x\x1b[31m"], r"--port is a whole number from 1 to 65535, not 'x\x1b[31m'"),
]


@pytest.mark.parametrize(("words", "message"), NUMBERS, ids=lambda words: ascii(" ".join(words))[:40])
def test_a_number_out_of_range_is_told_in_our_own_words(words, message, shapecalc):
    ran = shapecalc(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("shapecalc: usage: --")
    assert message in ran.err
    assert ran.err.endswith(f" (see shapecalc {words[0]} -h)\n")
    assert len(ran.err) < 200


def test_a_number_out_of_range_is_told_as_json(shapecalc):
    ran = shapecalc("check", "--json", "/dev/null", "--jobs", "many")
    assert (ran.code, ran.err) == (2, "")
    assert json.loads(ran.out)["problem"]["message"] == "--jobs is a whole number from 1 to 256, not 'many'"


@pytest.mark.parametrize("number", ["1", "256", "007", " 2 "])
def test_a_number_in_range_is_taken(number, shapecalc):
    assert shapecalc("check", os.devnull, "--jobs", number).err.startswith("shapecalc: no cases")
