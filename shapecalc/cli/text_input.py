"""Read the texts that command-line arguments name."""

from __future__ import annotations

import sys
from os.path import isfile

from shapecalc.cli.output import print_stderr, read_stdin, reject_device
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason

MAX_LOG_BYTES = 1 << 28
"""Maximum size of a log in bytes."""


def read_text_file(file: str) -> str:
    """Read a text file, or raise `ShapeError` (file) if it cannot be read."""
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - importing `pathlib` costs 3 ms
            reject_device(stream)
            return stream.read(MAX_LOG_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise ShapeError(Problem(FILE, f"{file}: {error_reason(error)}", "", "file")) from None


def read_text(file: str, text: str | None) -> str:
    """Read the text that a command-line argument names.

    If `file` is the name of a file, read the file. If `file` is `-`, return `text`, or the content of standard input if
    `text` is None. If `file` has several words, it is the text itself. Raises `ShapeError` (file) if the file cannot be
    read, and `EarlyExit` if standard input cannot be read.
    """
    # `Path.is_file` would raise for a message that is too long for a file name
    if len(file.split()) > 1 and not isfile(file):  # noqa: PTH113 - unlike `Path.is_file`, it never raises
        return file
    if file != "-":
        return read_text_file(file)
    if text is not None:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if sys.stdin is not None and sys.stdin.isatty():
        print_stderr("shapecalc: paste, then Ctrl-D")
    return read_stdin(MAX_LOG_BYTES).decode("utf-8", "replace")
