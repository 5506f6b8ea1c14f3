"""The commands in Typer: no parameter needs a conversion by Typer, so that any version works."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from shapecalc.cli.typer_adapter import build_app
from tests.sampling import each_row

STRING_TYPES = (bool, bool | None, str, str | None, list[str], list[str] | None)
"""The types that Typer passes without conversion."""
APP = build_app()
FUNCTIONS = {"the group": APP.registered_callback.callback}
FUNCTIONS |= {command.name: command.callback for command in APP.registered_commands}


def _is_counted(hint):
    """Whether a parameter is a counted option, whose value is not a string."""
    return any(getattr(info, "count", False) for info in getattr(hint, "__metadata__", ()))


@each_row("name", FUNCTIONS)
def test_typer_converts_nothing(name):
    kinds = get_type_hints(FUNCTIONS[name])
    assert name != "the group" or kinds["version"] is bool
    exempt = {"return", *(name for name, hint in FUNCTIONS[name].__annotations__.items() if _is_counted(hint))}
    assert [name for name, kind in kinds.items() if name not in exempt and kind not in STRING_TYPES] == []


@pytest.mark.parametrize(("words", "listed"), [(["reshape", ""], 1), (["why", "bad"], 1), (["re"], 0), ([""], 0)])
def test_typer_builds_only_the_requested_command(words, listed):
    commands = build_app(words).registered_commands
    assert [command.name for command in commands if command.callback.__annotations__] == words[:listed]
    assert listed or len(commands) == len(APP.registered_commands)
