"""The elements of a file that others may cut short at any time, read without harm: not through a mapping.

To read a mapping past the end that its file has by then kills the process. Reading the file says that it ended.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shapecalc.engine.files import FileError, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

PIECE = 1 << 20
"""The bytes that are read at a time."""


def elements_at(source: Source, index: tuple[Any, ...]) -> Any:
    """Return the elements at an index of arrays that broadcast together; raise `FileError` if the file lacks them."""
    array, place = source.array, source.place
    if place is None:
        return array[index]
    starts = np.asarray(sum((at * step for at, step in zip(index, array.strides, strict=True)), start=place.start))
    with _opened(source) as file:
        read = b"".join(_read(source, file, int(start), array.itemsize) for start in starts.flat)
    return np.frombuffer(read, array.dtype).reshape(starts.shape)


def part_of(source: Source, part: Any) -> Any:
    """Return a part of a file's array, contiguous there, read into memory; raise `FileError` if the file lacks it."""
    if source.place is None:
        return part
    start = source.place.start + _address(part) - _address(source.array)
    with _opened(source) as file:
        return np.frombuffer(_read(source, file, start, part.nbytes), part.dtype).reshape(part.shape)


def copy_of(source: Source, most: int) -> Any:
    """Return a file's array, read piece by piece: into memory up to `most` bytes, else into a scratch file, mapped.

    Raises `FileError` if the file lacks some of it, `OSError` if there is no room.
    """
    array, place = source.array, source.place
    if place is None:
        return array
    with _opened(source) as file:
        if array.nbytes <= most:
            copied: Any = _read(source, file, place.start, array.nbytes)
        else:
            with tempfile.TemporaryFile() as scratch:
                for start in range(0, array.nbytes, PIECE):
                    scratch.write(_read(source, file, place.start + start, min(PIECE, array.nbytes - start)))
                scratch.flush()
                copied = np.memmap(scratch, np.uint8, "r")
    return np.ndarray(array.shape, array.dtype, copied, strides=array.strides)


def cut_short(source: Source) -> FileError:
    """Return the error for a file that does not hold any more what its header says."""
    return FileError(f"{source.text}: it was cut short while it was read")


def _address(array: Any) -> int:
    """Return where in memory an array starts."""
    return int(array.__array_interface__["data"][0])


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    """Yield the file of a source, opened anew; raise `FileError` if that cannot be done or it is another file now."""
    assert source.place is not None
    try:
        with Path(source.place.path).open("rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino) != source.place.file:
                raise FileError(f"{source.text}: it was replaced while it was read")
            yield file
    except OSError as error:
        raise FileError(f"{source.text}: {error.strerror}") from None


def _read(source: Source, file: IO[bytes], start: int, count: int) -> bytes:
    """Return so many bytes of a file, from a byte on."""
    file.seek(start)
    read = b""
    while len(read) < count:
        piece = file.read(count - len(read))
        if not piece:
            raise cut_short(source)
        read += piece
    return read
