"""Regular files, opened to be read, and the error for what cannot be used of them."""

from __future__ import annotations

import os
import stat
from errno import EISDIR

OPENED = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""How a file is opened: without waiting for the writer of a pipe, and byte by byte on Windows."""


class Unreadable(ValueError):
    """A file, or an array in it, that cannot be used. The message gives the reason, without the file's name."""


def reason_of(error: OSError | Unreadable) -> str:
    """Return why a file cannot be used, without a full stop."""
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).rstrip(".")


def opened(path: str) -> int:
    """Return the descriptor of a file to read; raise `OSError`, also for a folder, if it cannot be opened.

    Raises `Unreadable` for a name that no file can have, and for a pipe or a device, which may never come to an end.
    """
    try:
        descriptor = os.open(path, OPENED)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    raise Unreadable("it is not a regular file")
