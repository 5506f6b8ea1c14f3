"""What Typer is told of the commands: nothing that it would have to convert, so that any version of it will do."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from shapecalc.cli.typer_adapter import build_app
from tests.sampling import each_row

PASSED_ON = (bool, bool | None, str, str | None, list[str], list[str] | None)
"""The kinds of values that come from Typer as they were typed."""
MADE = build_app()
FUNCTIONS = {"the group": MADE.registered_callback.callback}
FUNCTIONS |= {command.name: command.callback for command in MADE.registered_commands}


def _is_counted(hint):
    """Say whether a parameter is an option that the parser counts, whose value is no text."""
    return any(getattr(info, "count", False) for info in getattr(hint, "__metadata__", ()))


@each_row("name", FUNCTIONS)
def test_typer_converts_nothing(name):
    kinds = get_type_hints(FUNCTIONS[name])
    assert name != "the group" or kinds["version"] is bool
    passed_on = {"return", *(name for name, hint in FUNCTIONS[name].__annotations__.items() if _is_counted(hint))}
    assert [name for name, kind in kinds.items() if name not in passed_on and kind not in PASSED_ON] == []


@pytest.mark.parametrize(("words", "listed"), [(["reshape", ""], 1), (["why", "bad"], 1), (["re"], 0), ([""], 0)])
def test_typer_builds_only_the_requested_command(words, listed):
    made = build_app(words).registered_commands
    assert [command.name for command in made if command.callback.__annotations__] == words[:listed]
    assert listed or len(made) == len(MADE.registered_commands)
