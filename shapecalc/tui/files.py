"""The files that the app opens: those that its user names, or none at all if the user is not its owner."""

from __future__ import annotations

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.text import is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.engine.arrays import Source

CLOSED = "a served app opens no files and writes none"
_are_open = True


def may_open() -> bool:
    """Say whether this process opens files."""
    return _are_open


def close_files() -> None:
    """Let this process open no file from now on, wherever its name comes from: typed, pasted or in a question."""
    global _are_open
    _are_open = False


def open_source(text: str) -> Source | None:
    """Return the array that an input names; None if it names no file. Raises `ShapeError` (file)."""
    if not is_file(text):
        return None
    if not _are_open:
        hint = "write the shape itself, such as 2,3,4"
        raise ShapeError(Problem(FILE, CLOSED, hint, argument="input"))
    from shapecalc.engine import arrays
    from shapecalc.engine.arrays import FileError

    try:
        return arrays.open_source(text)
    except FileError as error:
        raise ShapeError(Problem(FILE, str(error), argument="input")) from None
