"""Defaults for the dialect and the opset: from the environment, else from the nearest `pyproject.toml`.

A bare question looks for them too, so a file is parsed only if its text has the table.
"""

# To import `pathlib` takes longer than a bare question.
# ruff: noqa: PTH109, PTH113, PTH123
from __future__ import annotations

import os
from os.path import isfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.cli.output import Output
    from shapecalc.core.ask import Default, Options, Stage

VARIABLES = {"dialect": "SHAPECALC_DIALECT", "opset": "SHAPECALC_OPSET"}
FILE_NAME = "pyproject.toml"
TABLES = b"tool.shapecalc", b"tool={shapecalc", b"tool]shapecalc"
"""What the text of a file that is parsed holds one of, without its quotes, blanks and line ends."""
LONGEST = 1 << 20
"""How many bytes of a file are read."""


def told_defaults(stages: Sequence[Stage], given: Options, out: Output) -> dict[str, object]:
    """Return the defaults of what was not given, and tell those that change whose rules answer the stages.

    `given` are the options for all stages. Raises `ShapeError`: usage for a bad value, file if a file cannot be read.
    """
    given = {name: value for name, value in given.items() if value is not None}
    found = {} if out.no_config else found_defaults([name for name in VARIABLES if name not in given])
    if not found:
        return {}
    from shapecalc.cli.output import tell
    from shapecalc.core.ask import changing

    for default in changing(stages, given, found.values()) if not out.quiet else ():
        tell(f"shapecalc: {default}")
    return {default.name: default.value for default in found.values()}


def found_defaults(names: Sequence[str]) -> dict[str, Default]:
    """Return the defaults of some options, by name; raise `ShapeError` (usage, file) if one cannot be read."""
    texts = {name: text for name in names if (text := os.environ.get(VARIABLES[name]))}
    path = _nearest_file() if len(texts) < len(names) else None
    table = b"" if path is None else _text_of(path)
    if not _has_table(table):
        path = None
    if not texts and path is None:
        return {}
    from shapecalc.core.ask import read_default, read_table

    found = {name: read_default(name, text, VARIABLES[name]) for name, text in texts.items()}
    values = read_table(table, path) if path else {}
    return {name: read_default(name, value, str(path)) for name, value in values.items() if name in names} | found


def _has_table(text: bytes) -> bool:
    """Say whether a text may set something: TOML has several ways to write the table."""
    bare = text.translate(None, b"\"' \t\r\n") if b"shapecalc" in text else b""
    return any(table in bare for table in TABLES)


def _nearest_file() -> str | None:
    """Return the path of the nearest `pyproject.toml`, in this folder or above it; None if there is none."""
    try:
        depth = os.getcwd().count(os.sep)
    except OSError:
        return None  # the folder was deleted
    path = FILE_NAME
    for _ in range(depth + 1):
        if isfile(path):
            return path
        path = f"{os.pardir}{os.sep}{path}"
    return None


def _text_of(path: str) -> bytes:
    """Return what a file holds, as far as it is read; raise `ShapeError` (file) if it cannot be."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(min(os.fstat(file.fileno()).st_size, LONGEST))
    except OSError as error:
        from shapecalc.core.problem import FILE, Problem, ShapeError

        raise ShapeError(Problem(FILE, f"{path}: {error.strerror}", "--no-config leaves it out")) from None
