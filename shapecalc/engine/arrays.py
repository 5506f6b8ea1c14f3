"""Arrays in files and stores: a header says what they are, and their elements are mapped on first use, or read.

To read a mapping past the end that its file has by then kills the process, and others may cut a file short at any time.
So what may not die reads the file: that says that it ended.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from math import prod
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

import shapecalc.engine.headers as headers
from shapecalc.core.limits import LONGEST_TENSOR_HEADER
from shapecalc.core.packages import missing
from shapecalc.core.record import Record
from shapecalc.core.text import brief, path_and_member

STORES = (".zarr", ".h5", ".hdf5")
"""What the names of stores end with: their arrays may be larger than memory."""
AT_ONCE = 1 << 20
"""The bytes that are read at a time."""


class FileError(Exception):
    """A file that cannot be used. The message names it and gives the reason."""


class MappedFile(Record):
    """Where the elements of a mapped array start, and in which file: its device and number tell it from later ones."""

    path: str
    start: int
    file: tuple[int, int]


class Source(Record):
    """An array in a file: what its header says, and how to load its elements."""

    __slots__ = ("__dict__",)

    text: str
    path: Path
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    load: Callable[[], Any]
    mapped: MappedFile | None = None
    """Where others may change the elements or cut them short; None if they are unpacked for us alone."""

    @property
    def dtype(self) -> str | None:
        """The element type's name; None if it is a structure or plain bytes."""
        return headers.kind_name(self.kind)

    @property
    def is_store(self) -> bool:
        """Whether it lies in a store, so that it may be larger than memory."""
        return self.path.suffix in STORES

    @cached_property
    def array(self) -> Any:
        """The array, mapped; raises `FileError` if the data do not match the header."""
        with raise_file_errors(self.text):
            return self.load()


def open_source(text: str) -> Source:
    """Return the array that a text names, in a file or in a store: `x.npy`, `x.zarr:group/array`, `x.h5:/data`.

    Raises `FileError` if it cannot be used.
    """
    if not path_and_member(text)[0].endswith(STORES):
        return open_array(text)
    with raise_file_errors(text):
        return _store_source(text)


def open_array(text: str) -> Source:
    """Return the array that a text names, such as `x.npy` or `w.npz:NAME`; raise `FileError` if it cannot be used.

    Only the header is read.
    """
    path, member = path_and_member(text)
    with raise_file_errors(text):
        if path.endswith(".npy"):
            with headers.regular_file(path) as file:
                return _mapped_source(text, path, _map_array(file))
        if path.endswith(".safetensors"):
            return _mapped_source(text, path, _tensor(path, member))
        with headers.opened_archive(path) as archive:
            header = headers.member_header(archive, headers.member_info(headers.members_of(archive), path, member))
        return Source(text, Path(path), header.shape, header.kind, lambda: _unpack(path, member))


@contextmanager
def raise_file_errors(text: str) -> Iterator[None]:
    """Turn the errors for what cannot be used of a file into a `FileError` that names it."""
    try:
        yield
    except (OSError, headers.Unreadable) as error:
        raise FileError(f"{text}: {headers.reason_of(error)}") from None


def _mapped_source(text: str, path: str, array: Any) -> Source:
    mapped = None
    if isinstance(array, np.memmap):
        found = Path(path).stat()
        mapped = MappedFile(str(Path(path).absolute()), array.offset, (found.st_dev, found.st_ino))
    return Source(text, Path(path), array.shape, array.dtype, lambda: array, mapped)


def _map_array(file: IO[bytes]) -> Any:
    """Return the array of a .npy file, mapped."""
    header = headers.npy_header(file)
    return _mapped(file, header.kind, header.start, header.shape, "F" if header.fortran else "C")


def _mapped(file: IO[bytes], kind: np.dtype[Any], start: int, shape: tuple[int, ...], order: Literal["C", "F"]) -> Any:
    """Return the elements of a file from a byte on, mapped. An empty array is not mapped, because it has no bytes.

    Raises `Unreadable` for more dims than NumPy has, and for a file that was cut meanwhile.
    """
    with headers.unreadable_on(ValueError):
        if 0 in shape:
            return np.empty(shape, kind)
        return np.memmap(file, kind, "r", start, (prod(shape),)).reshape(shape, order=order)


def _unpack(path: str, member: str) -> Any:
    """Return an array of a .npz archive: it is unpacked to a scratch file that has no name, and mapped."""
    with headers.opened_archive(path) as archive, tempfile.TemporaryFile() as scratch:
        with headers.opened_member(archive, headers.member_info(headers.members_of(archive), path, member)) as packed:
            shutil.copyfileobj(packed, scratch, AT_ONCE)
        scratch.seek(0)
        return _map_array(scratch)


def _tensor(path: str, member: str) -> Any:
    """Return a tensor of a .safetensors file, mapped. The library checks the header, which says where the tensor is."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise headers.Unreadable(missing("safetensors", "safetensors")) from None
    with headers.regular_file(path) as file:
        length = int.from_bytes(file.read(headers.TENSOR_LENGTH_BYTES), "little")
        if LONGEST_TENSOR_HEADER < length < os.fstat(file.fileno()).st_size:
            raise headers.Unreadable(LONGEST_TENSOR_HEADER.said(f"its header has {length} bytes"))
        with headers.unreadable_on(SafetensorError), safe_open(path, framework="numpy") as tensors:
            names = list(tensors.keys())
        if member not in names:
            raise headers.no_member(names, path)
        tensor = headers.read_object(file.read(length))[member]
        name, bits = headers.TENSOR_TYPES.get(tensor["dtype"], ("", 1))
        if bits % 8:
            raise headers.Unreadable(f"its element type {tensor['dtype']} is smaller than a byte")
        start = headers.TENSOR_LENGTH_BYTES + length + tensor["data_offsets"][0]
        return _mapped(file, _known_kind(name, bits // 8), start, tuple(tensor["shape"]), "C")


def _known_kind(name: str | None, itemsize: int) -> np.dtype[Any]:
    """Return the element type of a name, little-endian; one that NumPy does not know is bytes."""
    return np.dtype(name if name in np.sctypeDict else f"V{itemsize}").newbyteorder("<")


def _store_source(text: str) -> Source:
    """Return an array in a store, whose elements are read by `engine/stores` alone; raise `Unreadable`, `OSError`."""
    path, member = path_and_member(text)
    if ".." in member.split("/"):
        raise headers.Unreadable("the name of an array leads out of its store")
    if path.endswith(".zarr"):
        found = headers.array_of_store("/".join([path, *([member] if member else [])]))
        shape, kind = found.shape, _known_kind(found.dtype, 1)
    else:
        shape, kind = _hdf5_header(path, member)

    def load() -> Any:
        raise headers.Unreadable("the elements of a store are carried from store to store: -o OUT.zarr")

    return Source(text, Path(path), shape, kind, load)


def _hdf5_header(path: str, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the element type of an array in an HDF5 file."""
    try:
        import h5py
    except ImportError:
        raise headers.Unreadable(missing("h5py", "h5py")) from None
    with headers.unreadable_on(headers.FOREIGN), h5py.File(path, "r") as file:
        found = file.get(member) if member else None
        if isinstance(found, h5py.Dataset):
            return found.shape, found.dtype
        names = [*file][:16]
    raise headers.Unreadable(f"it has {', '.join(map(brief, names))}; write {path}:/NAME")


def elements_at(source: Source, index: tuple[Any, ...]) -> Any:
    """Return the elements at an index of arrays that broadcast together; raise `FileError` if the file lacks them."""
    array, mapped = source.array, source.mapped
    if mapped is None:
        return array[index]
    starts = np.asarray(sum((at * step for at, step in zip(index, array.strides, strict=True)), start=mapped.start))
    with _reopened(source, mapped) as file:
        read = b"".join(_read(source, file, int(start), array.itemsize) for start in starts.flat)
    return np.frombuffer(read, array.dtype).reshape(starts.shape)


def copy_of(source: Source, most: int) -> Any:
    """Return a file's array, read piece by piece: into memory up to `most` bytes, else into a scratch file, mapped.

    Raises `FileError` if the file lacks some of it, `OSError` if there is no room.
    """
    array, mapped = source.array, source.mapped
    if mapped is None:
        return array
    with _reopened(source, mapped) as file:
        if array.nbytes <= most:
            copied: Any = _read(source, file, mapped.start, array.nbytes)
        else:
            with tempfile.TemporaryFile() as scratch:
                for start in range(0, array.nbytes, AT_ONCE):
                    scratch.write(_read(source, file, mapped.start + start, min(AT_ONCE, array.nbytes - start)))
                scratch.flush()
                copied = np.memmap(scratch, np.uint8, "r")
    return np.ndarray(array.shape, array.dtype, copied, strides=array.strides)


def cut_short(source: Source) -> FileError:
    """Return the error for a file that does not hold any more what its header says."""
    return FileError(f"{source.text}: it was cut short while it was read")


@contextmanager
def _reopened(source: Source, mapped: MappedFile) -> Iterator[IO[bytes]]:
    """Yield the file of a source, opened anew; raise `FileError` if that cannot be done or it is another file now."""
    try:
        with Path(mapped.path).open("rb") as file:
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino) != mapped.file:
                raise FileError(f"{source.text}: it was replaced while it was read")
            yield file
    except OSError as error:
        raise FileError(f"{source.text}: {error.strerror}") from None


def _read(source: Source, file: IO[bytes], start: int, count: int) -> bytes:
    """Return so many bytes of a file, from a byte on."""
    file.seek(start)
    read = file.read(count)
    if len(read) < count:
        raise cut_short(source)
    return read
