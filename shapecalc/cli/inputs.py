"""Inputs as they are given: a shape in words, on standard input, or in the header of a file."""

from __future__ import annotations

import sys

from shapecalc.cli.output import stream_error, tell
from shapecalc.core.ask import operator_in
from shapecalc.core.dialects.base import element_type
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import is_file, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shapecalc.engine.arrays import Source

LONGEST_INPUT = 1 << 20
"""How many bytes are read from standard input for one shape."""
BOM = b"\xef\xbb\xbf"
"""What some programs write before text in UTF-8."""


class Given(Record):
    """An input as it was given: its shape, the options that come with it, and its data if it is a file."""

    shape: str
    options: Mapping[str, object]
    source: Source | None


def is_value(word: str) -> bool:
    """Say whether a word of a command line is a value: `-`, a shape that starts with it as `-1,4`, a pattern as `-> n`.

    >>> is_value("-1,4"), is_value("-"), is_value("-> n"), is_value("--json"), is_value("-q")
    (True, True, True, False, False)
    """
    return word[:1] != "-" or word == "-" or word[1].isdigit() or word[1] in " >"


def without_padding(text: str) -> str:
    """Return a value without the blank that kept it from being taken for an option."""
    return text[1:] if text[:2] == " -" else text


def input_text(text: str) -> str:
    """Return an input shape as it was typed; if that is `-`, the one line of standard input.

    Raises `ShapeError` (usage) if standard input is not one line, `RunEnded` if it cannot be read.
    """
    if text.strip() != "-":
        return without_padding(text)
    lines = input_lines()
    line = next(lines)
    if next(lines, None) is not None:
        raise misuse(
            "standard input has more than one line, and one shape was expected",
            "many cases: shapecalc check -",
            argument="input",
        )
    return line


def input_lines() -> Iterator[str]:
    """Yield the lines of standard input that hold something, as they come; from a terminal one.

    Raises `ShapeError` (usage) if there is none, or for one that is too long; `RunEnded` if it cannot be read.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        tell("shapecalc: reading a shape from the terminal; end it with a new line")
        yield sys.stdin.readline().strip()
        return
    held, mark = False, BOM
    while raw := read_stdin(line=True):
        if len(raw) > LONGEST_INPUT:
            raise misuse(f"a line has more than {LONGEST_INPUT} bytes, too many for a shape", argument="input")
        line, mark = raw.removeprefix(mark).decode("utf-8", "surrogateescape").strip(), b""
        if line:
            held = True
            yield line
    if not held:
        raise misuse("standard input is empty, and a shape was expected", argument="input")


def read_stdin(*, line: bool = False) -> bytes:
    """Return what standard input holds, or its next line, as far as it is read for one shape.

    Raises `RunEnded` if it cannot be read.
    """
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    try:
        return (sys.stdin.buffer.readline if line else sys.stdin.buffer.read)(LONGEST_INPUT + 1)
    except OSError as error:
        raise stream_error("stdin", error.strerror) from None


def read_input(text: str, options: Mapping[str, object], op: str) -> Given:
    """Return the input that a text gives: a shape as it is, a file's shape and element type from its header.

    Raises `ShapeError`: file if the file cannot be used, usage if there is no such dialect.
    """
    if not is_file(text):
        return Given(text, options, None)
    from shapecalc.engine.arrays import FileError, open_source

    if "://" in text:
        raise misuse("a store is a path, and this is a URL", "mount it, or copy it here", argument="input")
    try:
        source = open_source(text)
    except FileError as error:
        raise file_error(error) from None
    row, _ = operator_in(OPS[op], options.get("dialect"))
    dtype = element_type(source.dtype, row) if source.dtype else None
    present = {name: value for name, value in options.items() if value is not None}
    return Given(shape_text(source.shape), {"dtype": dtype, **present}, source)


def file_error(error: Exception) -> ShapeError:
    """Return the error to raise if a file or a backend cannot be used."""
    return ShapeError(Problem(FILE, str(error), argument="input"))
