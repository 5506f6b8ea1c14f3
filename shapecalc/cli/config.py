"""`shapecalc config`: print and change the user's configuration."""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapecalc.cli.answer import print_error, write_file
from shapecalc.cli.options import Argument, Command, select_output_options
from shapecalc.cli.output import (
    ENVIRONMENT_VARIABLES,
    ExitCode,
    OutputOptions,
    find_defaults,
    print_json_if_requested,
    print_stderr,
    print_stdout,
    read_config,
    read_user_config,
    user_config_path,
)
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.requests import PROJECT_KEYS, USER_KEYS, check_config_key, parse_default
from shapecalc.core.text import lookup

if TYPE_CHECKING:
    from shapecalc.cli.terminal import AnyTerminalApp

ACTIONS = {"set": 2, "unset": 1}
"""The number of arguments after each action."""
KEY_TABLE = "keys."
"""The prefix of configuration names that assign keys of the app, for example `keys.fix`."""


def run_config(
    app: AnyTerminalApp, action: str | None, key: str | None, value: str | None, output_options: OutputOptions
) -> int:
    """Print the user's configuration, or change one of its values.

    `action` is one of `ACTIONS`, or None to print. Return the exit code.
    """
    given = [text for text in (key, value) if text is not None]
    try:
        if action is None:
            return _print_config(app, output_options)
        lookup(action, dict.fromkeys(ACTIONS, ""), "action of config")
        if len(given) != ACTIONS[action]:
            raise usage_error(f"{action} takes {'a key and a value' if action == 'set' else 'a key'}")
        path = user_config_path()
        parsed = None if value is None else _parse_value(app, str(key), value)
        _write_config(path, str(key), parsed)
    except ShapeError as error:
        return print_error(error, "config", {"action": action, "key": key, "value": value}, output_options)
    change = "is not set" if parsed is None else f"= {json.dumps(parsed)}"
    print_stderr(f"shapecalc: {path}: {key} {change}")
    return ExitCode.OK


def _print_config(app: AnyTerminalApp, output_options: OutputOptions) -> int:
    """Print the configuration and its path, and the values that override it.

    Raises `ShapeError` (usage) for an invalid value, and `ShapeError` (file) if the file cannot be read.
    """
    values, path = read_user_config()
    app.configure(values, path)
    defaults = find_defaults([*ENVIRONMENT_VARIABLES])
    if print_json_if_requested(output_options, lambda: {"path": path, "values": values}):
        flat = {name: value for name, value in values.items() if name != "keys"}
        flat |= {f"{KEY_TABLE}{name}": value for name, value in values.get("keys", {}).items()}
        print_stdout("\n".join([path, *(f"{name} = {json.dumps(value)}" for name, value in flat.items())]))
        if not values:
            print_stderr("shapecalc: nothing is set; as in shapecalc config set dialect torch")
    for default in defaults.values():
        if default.source != path:
            print_stderr(f"shapecalc: {default}, which comes first")
    return ExitCode.OK


def _parse_value(app: AnyTerminalApp, key: str, value: str) -> str | int:
    """Parse a value of the configuration.

    Raises `ShapeError` (usage) for an unknown key and an invalid value.
    """
    label, source = key.removeprefix(KEY_TABLE), "config set"
    if label == key:
        check_config_key(key, source)
    if key == "keys":
        raise usage_error("the name of the key is missing", "shapecalc config set keys.fix x", argument="key")
    if key in PROJECT_KEYS:
        return parse_default(key, value, source).value
    values = read_user_config()[0]
    app.configure({"theme": value} if label == key else {"keys": {**values.get("keys", {}), label: value}}, source)
    return value


def _write_config(path: str, key: str, value: str | int | None) -> None:
    """Set a key in a configuration file, or remove it if the value is None.

    Comments are kept. Raises `ShapeError` (usage) if the file is not TOML, and `ShapeError` (file) if it cannot be read
    or written.
    """
    import tomlkit  # deferred, because it is needed only to change a file
    from tomlkit.exceptions import TOMLKitError

    exists = os.path.exists(path)  # noqa: PTH110
    try:
        document = tomlkit.parse(read_config(path) if exists else b"")
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise usage_error(f"{path}: it is not TOML: {error}") from None
    table_name, _, name = key.rpartition(".")
    table: Any = document
    if table_name:
        table = document.get(table_name)
        if value is not None and not isinstance(table, MutableMapping):
            table = document[table_name] = tomlkit.table()
    if value is not None:
        table[name] = value
    elif isinstance(table, MutableMapping) and name in table:
        del table[name]
    else:
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_file(path, tomlkit.dumps(document).encode(), force=True)


CONFIG_COMMAND = Command(
    run=run_config,
    parameters=[
        Argument("action", "set or unset", "[set|unset]", required=False, completions=lambda: ACTIONS),
        Argument("key", "dialect, opset, theme, or keys.NAME", "[KEY]", required=False, completions=lambda: USER_KEYS),
        Argument("value", "the value of the key", "[VALUE]", required=False, completions=lambda: DIALECTS),
        *select_output_options("json"),
    ],
    summary="Print the user's configuration, or set or remove one of its values.",
    examples="""\
  shapecalc config
  shapecalc config set dialect torch
  shapecalc config set theme light
  shapecalc config set keys.fix x
  shapecalc config unset dialect""",
    details=""" The environment and pyproject.toml take precedence over it. check, vectors, mcp and Python ignore it.
The variable SHAPECALC_CONFIG names another file.""",
    takes_app=True,
)
