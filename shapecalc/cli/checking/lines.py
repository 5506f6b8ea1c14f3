"""Lines of files and streams, in blocks of those that have come, however long they are and whatever they hold."""

from __future__ import annotations

import os
import stat
from io import UnsupportedOperation

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

BLOCK = 1 << 19
"""How many bytes are asked for at once; a stream gives what it has."""
LONGEST_LINE = 1 << 20
"""The longest line that is read, in bytes."""


class Block(Record):
    """Some lines that follow each other, or a piece of a line that is too long to be read."""

    data: bytes
    line: int
    """The number of the first line, from 1."""
    torn: bool = False
    """Whether this is a piece of a line that is too long."""
    first: bool = True
    """Of such a piece: whether the line starts with it."""


def split_blocks(stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the lines of a stream as they come; all data together are what was read, a byte-order mark included.

    Raises `OSError` if the stream cannot be read.
    """
    line, rest, torn = 1, b"", False
    while data := stream.read1(BLOCK):
        if len(rest) + (data.find(b"\n") + 1 or len(data)) > LONGEST_LINE:
            yield Block(rest, line, torn=True)
            rest, torn = b"", True
        if torn:
            end = data.find(b"\n") + 1
            yield Block(data[: end or len(data)], line, torn=True, first=False)
            if not end:
                continue
            data, line, torn = data[end:], line + 1, False
        whole = data.rfind(b"\n") + 1
        if not whole:
            rest += data
            continue
        lines = rest + data[:whole]
        yield Block(lines, line)
        line, rest = line + lines.count(b"\n"), data[whole:]
    if rest:
        yield Block(rest, line)


def regular_size(stream: BufferedIOBase) -> int:
    """Return the size of a regular file, and 0 for anything else that can be read."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, UnsupportedOperation):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
