"""Arrays in stores: Zarr arrays in folders, and as inputs arrays in HDF5 and .npy files."""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from shapecalc.core.record import Record
from shapecalc.engine.files import FileError, open_array, split_store
from shapecalc.engine.stores.chunks import Chunks, chunks_of
from shapecalc.engine.stores.metadata import Metadata, output_metadata, read_metadata, write_metadata
from shapecalc.engine.stores.plan import READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.engine.stores.lines import Lines, Sizes

ROWS = 1 << 23
"""How many bytes of an array that lies in one piece are taken for a chunk."""


class Store(Record):
    """An array in a store, open: what it is and how it is read."""

    array: Any
    """What its library reads it by."""
    source: Any
    """What reads parts of one block by slices."""
    chunks: Sizes
    """What is decoded at once."""
    block: Sizes
    """What is read at once."""
    metadata: Metadata | None
    """Its metadata, if it is a Zarr array."""
    identity: dict[str, Any]
    """What tells it from another array, or from itself after a change."""

    @property
    def written_chunks(self) -> Sizes:
        """The chunks that are written at once: shards, if it is sharded."""
        return self.chunks if self.metadata is None else self.metadata.chunks


def open_store(text: str) -> Store:
    """Return the store that a text names: `x.zarr:group/array`, `x.h5:/data`, `x.npy`; it stays open for the next call.

    Raises `FileError` if it cannot be used.
    """
    path, member = split_store(text)
    return _open_store(text, _stamp(Path(path, *member.split("/")) if path.endswith(".zarr") else Path(path)))


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what tells a file, or the metadata of an array, from others that had its name; nothing if it has none."""
    for file in (path / "zarr.json", path / ".zarray", path):
        try:
            found = file.stat()
        except OSError:
            continue
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return ()


@lru_cache(maxsize=8)
def _open_store(text: str, _: tuple[int, ...]) -> Store:
    path, member = split_store(text)
    try:
        if path.endswith(".zarr"):
            return _open_zarr(Path(path, *member.split("/")))
        if path.endswith((".h5", ".hdf5")):
            return _open_hdf5(path, member)
        source = open_array(text)
    except ImportError as error:
        raise _missing(error.name or "zarr", text) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{text}: {getattr(error, 'strerror', None) or error}".rstrip(".")) from None
    found = source.path.stat()
    identity = _identity(source.array, (), f"{found.st_size} {found.st_mtime_ns}")
    return _in_blocks(source.array, rows_of(source.shape, source.kind.itemsize), None, identity)


def _missing(library: str, text: str) -> FileError:
    extra = library if library in ("zarr", "h5py") else "zarr"
    return FileError(f"{text}: {library} is not installed; pip install 'shapecalc[{extra}]'")


def _open_zarr(folder: Path) -> Store:
    array = _zarr_array(str(folder), "r")
    if array.dtype.hasobject:
        raise ValueError("it holds objects, which are not moved")
    metadata = read_metadata(folder)
    digest = hashlib.sha256(json.dumps(dict(metadata.files), sort_keys=True).encode()).hexdigest()
    identity = _identity(array, metadata.chunks, digest)
    if metadata.inner is not None:
        return _in_blocks(array, metadata.inner, metadata, identity)
    return Store(array, chunks_of(array, folder), metadata.chunks, metadata.chunks, metadata, identity)


def _open_hdf5(path: str, member: str) -> Store:
    import h5py

    data = h5py.File(path, "r")[member]
    found = Path(path).stat()
    chunks = data.chunks or rows_of(data.shape, data.dtype.itemsize)
    return _in_blocks(data, chunks, None, _identity(data, chunks, f"{found.st_size} {found.st_mtime_ns}"))


def _in_blocks(array: Any, chunks: Sizes, metadata: Metadata | None, identity: dict[str, Any]) -> Store:
    """Return a store that its library reads, several small chunks at once."""
    return Store(array, array, chunks, block_of(chunks, array.shape, array.dtype.itemsize), metadata, identity)


def block_of(chunks: Sequence[int], shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return how much is read at once along each axis: whole chunks, up to `READ` bytes.

    >>> block_of((1, 512), (100, 4096), 4)
    (100, 4096)
    """
    block = list(chunks)
    for axis in reversed(range(len(block))):
        room = READ // max(1, prod(block) * itemsize)
        block[axis] = min(block[axis] * max(1, room), -(-shape[axis] // block[axis]) * block[axis])
    return tuple(block)


def _identity(array: Any, chunks: Sizes, digest: str) -> dict[str, Any]:
    return {"shape": [*array.shape], "type": str(array.dtype), "chunks": [*chunks], "metadata": digest}


def rows_of(shape: Sizes, itemsize: int) -> Sizes:
    """Return what is taken for a chunk of an array in C order that has none: whole rows, up to `ROWS` bytes.

    >>> rows_of((100, 1024, 1024), 4)
    (2, 1024, 1024)
    """
    chunks, room = [], max(1, ROWS // itemsize)
    for size in reversed(shape):
        chunks.append(max(1, min(size, room)))
        room //= max(1, size)
    return tuple(chunks[::-1])


def create_store(folder: Path, source: Store, lines: Lines, chunks: Sizes) -> None:
    """Make the array that lines make of a source, without chunks yet; raise `OSError` if that cannot be done."""
    chunks = tuple([max(1, chunk) for chunk in chunks])
    if source.metadata is not None:
        write_metadata(folder, output_metadata(source.metadata, lines, chunks))
        return
    import zarr

    zarr.create_array(str(folder), shape=lines.output, dtype=source.array.dtype, chunks=chunks)


def open_to_write(folder: str) -> Chunks:
    """Return the chunks of a Zarr array to write; it stays open for the next call."""
    return _open_to_write(folder, _stamp(Path(folder)))


@lru_cache(maxsize=8)
def _open_to_write(folder: str, _: tuple[int, ...]) -> Chunks:
    return chunks_of(_zarr_array(folder, "r+"), Path(folder))


def _zarr_array(folder: str, mode: str) -> Any:
    """Return a Zarr array, open; what the library says of rare element types is nothing that this run could mend."""
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zarr.open_array(folder, mode=mode)


def read_box(array: Any, box: Any) -> Any:
    """Return a box of an array, read into memory."""
    return np.asarray(array[(*[slice(*span) for span in box], ...)], array.dtype)
