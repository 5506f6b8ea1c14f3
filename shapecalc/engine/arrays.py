"""Arrays in files and stores, loaded on first use.

Opening an array reads only its header. Elements are memory-mapped where the format allows it. Another process may
truncate a file at any time, and reading a mapping past the end of its file kills this process (SIGBUS). `read_elements`
and `load_copy` therefore use ordinary reads, and raise `FileError` if the file was truncated.
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
from shapecalc.core.limits import MAX_SAFETENSORS_HEADER_BYTES
from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import error_reason
from shapecalc.core.record import Record
from shapecalc.core.text import split_file_argument, truncate

STORE_SUFFIXES = (".zarr", ".h5", ".hdf5")
"""The suffixes of stores. An array in a store may be larger than memory."""
READ_BYTES = 1 << 20
"""The maximum number of bytes per read call."""


class FileError(Exception):
    """Raised if a file cannot be used.

    The message contains the name of the file and the reason.
    """


class MappedFile(Record):
    """The file of a memory-mapped array, with the byte offset of the first element."""

    path: str
    offset: int
    identity: tuple[int, int]
    """The device and inode numbers of the file; if they change, the file was replaced."""


class Source(Record):
    """An array in a file or a store.

    The elements are loaded on first use.
    """

    __slots__ = ("__dict__",)

    text: str
    path: Path
    shape: tuple[int, ...]
    numpy_dtype: np.dtype[Any]
    load: Callable[[], Any]
    mapped_file: MappedFile | None = None
    """The mapped file, or None if the array is not memory-mapped from its file."""

    @property
    def dtype(self) -> str | None:
        """The name of the element type, or None for a structured type or raw bytes."""
        return headers.dtype_name(self.numpy_dtype)

    @property
    def is_store(self) -> bool:
        """Whether the array is in a store. An array in a store may be larger than memory."""
        return self.path.suffix in STORE_SUFFIXES

    @cached_property
    def array(self) -> Any:
        """The array, loaded on first use.

        Raises `FileError` if loading fails.
        """
        with convert_to_file_error(self.text):
            return self.load()


def open_source(location: str) -> Source:
    """Open an array in a file or a store.

    `location` is a path, optionally with a colon and an array name: `x.npy`, `x.zarr:group/array`, `x.h5:/data`. Raises
    `FileError` if the array cannot be used.
    """
    if not split_file_argument(location)[0].endswith(STORE_SUFFIXES):
        return open_array(location)
    with convert_to_file_error(location):
        return _open_store_source(location)


def open_array(location: str) -> Source:
    """Open an array in a file, and read only its header.

    `location` has the form `x.npy` or `w.npz:NAME`. Raises `FileError` if the array cannot be used.
    """
    path, member = split_file_argument(location)
    with convert_to_file_error(location):
        if path.endswith(".npy"):
            with headers.open_regular_file(path) as file:
                return _source_from_array(location, path, _map_npy(file))
        if path.endswith(".safetensors"):
            return _source_from_array(location, path, _map_tensor(path, member))
        with headers.open_archive(path) as archive:
            header = headers.read_member_header(
                archive, headers.find_entry(headers.archive_entries(archive), path, member)
            )
        return Source(location, Path(path), header.shape, header.numpy_dtype, lambda: _unpack_npz_member(path, member))


@contextmanager
def convert_to_file_error(location: str) -> Iterator[None]:
    """Convert errors in a `with` block to `FileError`.

    The errors are `OSError` and `UnreadableError`; the message names the file.
    """
    try:
        yield
    except (OSError, headers.UnreadableError) as error:
        raise FileError(f"{location}: {error_reason(error)}") from None


def _source_from_array(location: str, path: str, array: Any) -> Source:
    mapped = None
    if isinstance(array, np.memmap):
        status = Path(path).stat()
        mapped = MappedFile(str(Path(path).absolute()), array.offset, (status.st_dev, status.st_ino))
    return Source(location, Path(path), array.shape, array.dtype, lambda: array, mapped)


def _map_npy(file: IO[bytes]) -> Any:
    header = headers.read_npy_header(file)
    return _map_elements(file, header.numpy_dtype, header.start, header.shape, "F" if header.fortran_order else "C")


def _map_elements(
    file: IO[bytes], numpy_dtype: np.dtype[Any], start: int, shape: tuple[int, ...], order: Literal["C", "F"]
) -> Any:
    """Map the elements of a file into memory, starting at byte `start`.

    An empty array is not mapped. Raises `UnreadableError` if the array has more dims than NumPy supports, or if the
    file was truncated after its header was read.
    """
    with headers.convert_to_unreadable_error(ValueError):
        if 0 in shape:
            return np.empty(shape, numpy_dtype)
        return np.memmap(file, numpy_dtype, "r", start, (prod(shape),)).reshape(shape, order=order)


def _unpack_npz_member(path: str, member: str) -> Any:
    """Unpack a member of a .npz archive to a scratch file, and memory-map it."""
    with headers.open_archive(path) as archive, tempfile.TemporaryFile() as scratch:
        with headers.open_member(archive, headers.find_entry(headers.archive_entries(archive), path, member)) as packed:
            shutil.copyfileobj(packed, scratch, READ_BYTES)
        scratch.seek(0)
        return _map_npy(scratch)


def _map_tensor(path: str, member: str) -> Any:
    """Memory-map a tensor of a .safetensors file.

    The package safetensors validates the header.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise headers.UnreadableError(missing_package_message("safetensors", "safetensors")) from None
    with headers.open_regular_file(path) as file:
        length = int.from_bytes(file.read(headers.TENSOR_LENGTH_BYTES), "little")
        if MAX_SAFETENSORS_HEADER_BYTES < length < os.fstat(file.fileno()).st_size:
            raise headers.UnreadableError(MAX_SAFETENSORS_HEADER_BYTES.message(f"its header has {length} bytes"))
        with headers.convert_to_unreadable_error(SafetensorError), safe_open(path, framework="numpy") as tensors:
            names = list(tensors.keys())
        if member not in names:
            raise headers.missing_member_error(names, path)
        tensor = headers.parse_json_object(file.read(length))[member]
        name, bits = headers.TENSOR_TYPES.get(tensor["dtype"], ("", 1))
        if bits % 8:
            raise headers.UnreadableError(f"its element type {tensor['dtype']} is smaller than a byte")
        start = headers.TENSOR_LENGTH_BYTES + length + tensor["data_offsets"][0]
        return _map_elements(file, _little_endian_dtype(name, bits // 8), start, tuple(tensor["shape"]), "C")


def _little_endian_dtype(name: str | None, itemsize: int) -> np.dtype[Any]:
    """Convert the name of a .safetensors element type to a little-endian dtype.

    A type that NumPy lacks, such as `bfloat16`, becomes raw bytes of size `itemsize`.
    """
    return np.dtype(name if name in np.sctypeDict else f"V{itemsize}").newbyteorder("<")


def _open_store_source(location: str) -> Source:
    """Open an array in a store, and read only its metadata.

    Raises `UnreadableError` or `OSError` if the array cannot be used.
    """
    path, member = split_file_argument(location)
    if ".." in member.split("/"):
        raise headers.UnreadableError("the name of an array leads out of its store")
    if path.endswith(".zarr"):
        info = headers.find_store_array("/".join([path, *([member] if member else [])]))
        shape, kind = info.shape, _little_endian_dtype(info.dtype, 1)
    else:
        shape, kind = _read_hdf5_header(path, member)

    def raise_not_loadable() -> Any:
        raise headers.UnreadableError("the elements of a store are carried from store to store: -o OUT.zarr")

    return Source(location, Path(path), shape, kind, raise_not_loadable)


def _read_hdf5_header(path: str, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        import h5py
    except ImportError:
        raise headers.UnreadableError(missing_package_message("h5py", "h5py")) from None
    with headers.convert_to_unreadable_error(headers.LIBRARY_ERRORS), h5py.File(path, "r") as file:
        node = file.get(member) if member else None
        if isinstance(node, h5py.Dataset):
            return node.shape, node.dtype
        names = [*file][:16]
    raise headers.UnreadableError(f"it has {', '.join(map(truncate, names))}; write {path}:/NAME")


def read_elements(source: Source, index: tuple[Any, ...]) -> Any:
    """Read the elements that index arrays select.

    The index arrays are broadcast together, as in NumPy. Raises `FileError` if the file no longer contains the
    elements.
    """
    array, mapped = source.array, source.mapped_file
    if mapped is None:
        return array[index]
    starts = np.asarray(
        sum((positions * stride for positions, stride in zip(index, array.strides, strict=True)), start=mapped.offset)
    )
    with _reopen_mapped_file(source, mapped) as file:
        data = b"".join(_read_bytes(source, file, int(start), array.itemsize) for start in starts.flat)
    return np.frombuffer(data, array.dtype).reshape(starts.shape)


def load_copy(source: Source, memory_limit: int) -> Any:
    """Copy the array of a file into memory, or into a scratch file.

    An array of more than `memory_limit` bytes is copied to a memory-mapped scratch file. An array that is not mapped
    from a file is returned without a copy. Raises `FileError` if the file no longer contains all elements, and
    `OSError` if the scratch file cannot be written.
    """
    array, mapped = source.array, source.mapped_file
    if mapped is None:
        return array
    with _reopen_mapped_file(source, mapped) as file:
        if array.nbytes <= memory_limit:
            copied: Any = _read_bytes(source, file, mapped.offset, array.nbytes)
        else:
            with tempfile.TemporaryFile() as scratch:
                for start in range(0, array.nbytes, READ_BYTES):
                    scratch.write(
                        _read_bytes(source, file, mapped.offset + start, min(READ_BYTES, array.nbytes - start))
                    )
                scratch.flush()
                copied = np.memmap(scratch, np.uint8, "r")
    return np.ndarray(array.shape, array.dtype, copied, strides=array.strides)


def is_truncated(source: Source) -> bool:
    """Return whether the mapped file of a source no longer contains all elements."""
    mapped = source.mapped_file
    try:
        return mapped is not None and Path(mapped.path).stat().st_size < mapped.offset + source.array.nbytes
    except OSError:
        return True  # the file has been removed


def truncation_error(source: Source) -> FileError:
    """Return the error for a file that was truncated while it was being read."""
    return FileError(f"{source.text}: it was cut short while it was read")


@contextmanager
def _reopen_mapped_file(source: Source, mapped_file: MappedFile) -> Iterator[IO[bytes]]:
    """Reopen the memory-mapped file of a source.

    Raises `FileError` if the file cannot be opened or has been replaced.
    """
    try:
        with Path(mapped_file.path).open("rb") as file:
            status = os.fstat(file.fileno())
            if (status.st_dev, status.st_ino) != mapped_file.identity:
                raise FileError(f"{source.text}: it was replaced while it was read")
            yield file
    except OSError as error:
        raise FileError(f"{source.text}: {error_reason(error)}") from None


def _read_bytes(source: Source, file: IO[bytes], start: int, count: int) -> bytes:
    file.seek(start)
    data = file.read(count)
    if len(data) < count:
        raise truncation_error(source)
    return data
