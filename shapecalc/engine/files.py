"""Arrays in files. Shapes and element types are read from headers alone; elements are mapped on first use."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from functools import cached_property
from math import prod
from pathlib import Path

from shapecalc.core.record import Record
from shapecalc.core.text import brief
from shapecalc.engine.json_headers import read_object
from shapecalc.engine.npy_headers import Header, kind_name, read_header
from shapecalc.engine.regular_files import Unreadable, opened, reason_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO, Any, Literal

    import numpy as np

DAMAGED = (zipfile.BadZipFile, EOFError, zlib.error)
"""What `zipfile` raises while a damaged archive is read: its parts do not agree, it is cut, it cannot be unpacked."""
UNOPENED = (*DAMAGED, NotImplementedError, ValueError)
"""What it raises, too, while it opens an archive or a member: for a newer format, and for names and places that it
cannot use."""
MOST_UNPACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""How many bytes a packed byte can become at most, for each way in which NumPy packs. Source: RFC 1951, 3.2.5."""
STORES = (".zarr", ".h5", ".hdf5")
"""What the names of stores end with: their arrays may be larger than memory."""
ENCRYPTED = 1
"""The bit that marks a member of an archive that needs a password."""


class FileError(Exception):
    """A file that cannot be used. The message names it and gives the reason."""


class Place(Record):
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
    place: Place | None = None
    """Where others may change the elements or cut them short; None if they are unpacked for us alone."""

    @property
    def dtype(self) -> str | None:
        """The element type's name; None if it is a structure or plain bytes."""
        return kind_name(self.kind)

    @property
    def is_store(self) -> bool:
        """Whether it lies in a store, so that it may be larger than memory."""
        return self.path.suffix in STORES

    @cached_property
    def array(self) -> Any:
        """The array, mapped; raises `FileError` if the data do not match the header."""
        with raise_file_errors(self.text):
            return self.load()


def open_array(text: str) -> Source:
    """Return the array that a text names, such as `x.npy` or `w.npz:NAME`; raise `FileError` if it cannot be used.

    Only the header is read.
    """
    archive, member = path_and_member(text)
    with raise_file_errors(text):
        if archive.endswith(".npy"):
            with regular_file(archive) as file:
                return _mapped_source(text, archive, _map_array(file))
        if archive.endswith(".safetensors"):
            return _mapped_source(text, archive, _tensor(archive, member))
        header = _member_header(archive, member)
        return Source(text, Path(archive), header.shape, header.kind, lambda: _unpack(archive, member))


def path_and_member(text: str) -> tuple[str, str]:
    """Return the path of the file that a text names, and the name of the array in it, if it gives one.

    >>> path_and_member("a/x.npy"), path_and_member("w.npz:weights"), path_and_member("x.zarr:group/array")
    (('a/x.npy', ''), ('w.npz', 'weights'), ('x.zarr', 'group/array'))
    """
    if text.endswith((".npy", ".npz", ".safetensors")):
        return text, ""
    path, _, member = text.rpartition(":")
    return (path, member) if path.endswith((".npz", ".safetensors")) else split_store(text)


def split_store(text: str) -> tuple[str, str]:
    """Return the path of the store that a text names, and the name of the array in it, if it gives one.

    >>> split_store("x.zarr:group/array"), split_store("a/x.zarr/"), split_store("x.h5:/data")
    (('x.zarr', 'group/array'), ('a/x.zarr', ''), ('x.h5', 'data'))
    """
    for ending in STORES:
        path, colon, member = text.partition(f"{ending}:")
        if colon:
            return f"{path}{ending}", member.strip("/")
    return text.rstrip("/") if len(text) > 1 else text, ""


def _mapped_source(text: str, path: str, array: Any) -> Source:
    import numpy as np

    place = None
    if isinstance(array, np.memmap):
        found = Path(path).stat()
        place = Place(str(Path(path).absolute()), array.offset, (found.st_dev, found.st_ino))
    return Source(text, Path(path), array.shape, array.dtype, lambda: array, place)


@contextmanager
def raise_file_errors(text: str) -> Iterator[None]:
    """Turn the errors for what cannot be used of a file into a `FileError` that names it."""
    try:
        yield
    except (OSError, Unreadable) as error:
        raise FileError(f"{text}: {reason_of(error)}") from None


@contextmanager
def unreadable_on(*errors: type[Exception]) -> Iterator[None]:
    """Turn what a library raises for a file that it cannot read into `Unreadable`; only its calls stand inside."""
    try:
        yield
    except errors as error:
        raise Unreadable(str(error) or "it ends too early") from None


def regular_file(path: str) -> IO[bytes]:
    """Return a file, open to be read; raise `OSError`, `Unreadable` if it cannot be."""
    return os.fdopen(opened(path), "rb")


@contextmanager
def opened_archive(path: str) -> Iterator[zipfile.ZipFile]:
    """Yield an archive to read; raise `OSError`, `Unreadable` if it cannot be."""
    with regular_file(path) as file:
        with unreadable_on(*UNOPENED):
            archive = zipfile.ZipFile(file)
        with archive:
            yield archive


@contextmanager
def opened_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Yield a member of an archive to read; raise `OSError`, `Unreadable` if it cannot be, also while it is read."""
    with unreadable_on(*UNOPENED):
        packed = archive.open(info)
    with packed, unreadable_on(*DAMAGED):
        yield packed


def _map_array(file: IO[bytes]) -> Any:
    """Return the array of a .npy file, mapped."""
    header = read_header(file)
    held = os.fstat(file.fileno()).st_size
    if header.end > held:
        raise wrong_size(header.end, held)
    return _mapped(file, header.kind, header.start, header.shape, "F" if header.fortran else "C")


def _mapped(file: IO[bytes], kind: np.dtype[Any], start: int, shape: tuple[int, ...], order: Literal["C", "F"]) -> Any:
    """Return the elements of a file from a byte on, mapped. An empty array is not mapped, because it has no bytes.

    Raises `Unreadable` for more dims than NumPy has, and for a file that was cut meanwhile.
    """
    import numpy as np

    with unreadable_on(ValueError):
        if 0 in shape:
            return np.empty(shape, kind)
        return np.memmap(file, kind, "r", start, (prod(shape),)).reshape(shape, order=order)


def _member_header(path: str, member: str) -> Header:
    """Return the header of an array in a .npz archive; no more of the archive is unpacked."""
    with opened_archive(path) as archive:
        info = member_info(members_of(archive), path, member)
        with opened_member(archive, info) as packed:
            header = read_header(packed)
    if header.end != info.file_size:
        raise wrong_size(header.end, info.file_size)
    return header


def wrong_size(end: int, held: int) -> Unreadable:
    """Return the error for a file whose header asks for other bytes than it holds."""
    return Unreadable(f"its header asks for {end} bytes, and it holds {held}")


def members_of(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return what an archive says of each of its arrays, by their names."""
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


def member_info(held: Mapping[str, zipfile.ZipInfo], path: str, member: str) -> zipfile.ZipInfo:
    """Return what an archive says of an array; raise `Unreadable` if it has none, or if that cannot be true."""
    if member not in held:
        raise Unreadable(f"it has {', '.join(map(brief, [*held][:16]))}; write {path}:NAME")
    info = held[member]
    if info.flag_bits & ENCRYPTED or info.compress_type not in MOST_UNPACKED:
        raise Unreadable("it is packed in a way that NumPy does not use")
    if info.file_size > info.compress_size * MOST_UNPACKED[info.compress_type]:
        raise Unreadable(
            f"the archive says that {info.compress_size} bytes unpack to {info.file_size}, which cannot be"
        )
    return info


def _unpack(path: str, member: str) -> Any:
    """Return an array of a .npz archive: it is unpacked to a scratch file that has no name, and mapped."""
    with opened_archive(path) as archive, tempfile.TemporaryFile() as scratch:
        with opened_member(archive, member_info(members_of(archive), path, member)) as packed:
            shutil.copyfileobj(packed, scratch, 1 << 20)
        scratch.seek(0)
        return _map_array(scratch)


SAFETENSORS = {"BOOL": "?", "U8": "u1", "I8": "i1", "U16": "u2", "I16": "i2", "U32": "u4", "I32": "i4"}
SAFETENSORS |= {"U64": "u8", "I64": "i8", "F16": "f2", "F32": "f4", "F64": "f8", "C64": "c8", "BF16": "V2"}
SAFETENSORS |= {"F8_E4M3": "V1", "F8_E5M2": "V1", "F8_E8M0": "V1"}
"""The element types of safetensors as those of NumPy, little-endian. A type that NumPy does not know is bytes."""


def _tensor(path: str, member: str) -> Any:
    """Return a tensor of a .safetensors file, mapped. The library checks the header, which says where the tensor is."""
    import numpy as np

    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise Unreadable("safetensors is not installed; pip install 'shapecalc[safetensors]'") from None
    with regular_file(path) as file:
        with unreadable_on(SafetensorError), safe_open(path, framework="numpy") as tensors:
            names = list(tensors.keys())
        if member not in names:
            raise Unreadable(f"it has {', '.join(map(brief, names[:16]))}; write {path}:NAME")
        length = int.from_bytes(file.read(8), "little")
        tensor = read_object(file.read(length))[member]
        if tensor["dtype"] not in SAFETENSORS:
            raise Unreadable(f"its element type {tensor['dtype']} is smaller than a byte")
        kind, start = np.dtype(SAFETENSORS[tensor["dtype"]]), 8 + length + tensor["data_offsets"][0]
        return _mapped(file, kind, start, tuple(tensor["shape"]), "C")
