"""Headers of array files, parsed with size limits and mostly without NumPy.

Sources: NEP 1, "A simple file format for NumPy arrays", and `numpy.lib.format` for later versions; the README of
huggingface/safetensors, and the types of its `Dtype`; the Zarr storage specification version 2 and core specification
version 3.
"""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from errno import EISDIR
from functools import lru_cache
from itertools import islice
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shapecalc.core.dialects.base import ALL_TYPES
from shapecalc.core.dims import INT64_MAX, IntTuple
from shapecalc.core.limits import MAX_NPY_HEADER_BYTES, MAX_SAFETENSORS_HEADER_BYTES, MAX_ZARR_METADATA_BYTES
from shapecalc.core.problem import error_reason
from shapecalc.core.record import Record
from shapecalc.core.text import split_file_argument, truncate

if TYPE_CHECKING:
    import numpy as np

OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags that open a file in binary mode, without waiting for the writer of a pipe."""
FIRST_READ_BYTES = 4096
"""The number of bytes that are read first; most headers are shorter."""
NUMPY_TYPES = {f"f{size}": (f"float{8 * size}", size) for size in (2, 4, 8)} | {"b1": ("bool", 1)}
NUMPY_TYPES |= {f"i{size}": (f"int{8 * size}", size) for size in (1, 2, 4, 8)}
NUMPY_TYPES |= {f"u{size}": (f"uint{8 * size}", size) for size in (1, 2, 4, 8)}
NUMPY_TYPES |= {f"c{size}": (f"complex{8 * size}", size) for size in (8, 16)}
"""The name and size in bytes of element types, by NumPy type string without byte order."""

MAGIC = b"\x93NUMPY"
HEADER_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
"""The number of bytes that contain the header length, by version of .npy."""
MAX_FILE_BYTES = 2**63 - 1
PYTHON_2_LONG = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([0-9])L\b""")
"""A string literal (group 1), or the last digit of a Python 2 long integer such as `3L` (group 2)."""

DAMAGE_ERRORS = (zipfile.BadZipFile, EOFError, zlib.error)
"""The errors that `zipfile` raises for a damaged archive."""
OPEN_ERRORS = (*DAMAGE_ERRORS, NotImplementedError, ValueError)
"""The errors that `zipfile` raises while it opens an archive or a member.

The causes include unsupported versions, invalid names and invalid offsets.
"""
LIBRARY_ERRORS = Exception
"""The errors that h5py, zarr and its codecs raise for damaged files.

There is no common base class: they raise built-in exceptions, such as `RuntimeError`, `KeyError` and `MemoryError`,
exceptions of their own, and exceptions of every library that a codec depends on.
"""
MAX_COMPRESSION = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""The maximum compression ratio of each compression method that NumPy uses.

Source: RFC 1951, 3.2.5.
"""

TENSOR_LENGTH_BYTES = 8
TENSOR_TYPES = {"BOOL": ("bool", 8), "BF16": ("bfloat16", 16), "C64": ("complex64", 64)}
TENSOR_TYPES |= {f"F{bits}": (f"float{bits}", bits) for bits in (16, 32, 64)}
TENSOR_TYPES |= {f"I{bits}": (f"int{bits}", bits) for bits in (8, 16, 32, 64)}
TENSOR_TYPES |= {f"U{bits}": (f"uint{bits}", bits) for bits in (8, 16, 32, 64)}
TENSOR_TYPES |= {"F8_E4M3": ("float8_e4m3fn", 8), "F8_E5M2": ("float8_e5m2", 8), "F8_E8M0": ("float8_e8m0fnu", 8)}
TENSOR_TYPES |= {"F8_E4M3FNUZ": ("float8_e4m3fnuz", 8), "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8)}
TENSOR_TYPES |= {"F4": ("float4_e2m1fn", 4), "F6_E2M3": ("float6_e2m3fn", 6), "F6_E3M2": ("float6_e3m2fn", 6)}
"""The name and size in bits of element types, by their names in .safetensors."""

ZARR_FILES = {"zarr.json": 3, ".zarray": 2, ".zgroup": 2}
"""The version of the Zarr format to which each metadata file name belongs."""
MAX_GROUP_DEPTH = 64
"""The maximum depth of nested groups in a store."""


class UnreadableError(ValueError):
    """Raised for a file or an array that cannot be used.

    The message contains the reason, but not the name of the file.
    """


class ArrayInfo(Record):
    """The shape and element type of an array, or the reason why it cannot be read."""

    name: str
    """The location of the array as a command-line argument, such as `w.npz:NAME`."""
    shape: IntTuple = ()
    dtype: str | None = None
    """The name of the element type, or None for a structured type or raw bytes."""
    problem: str = ""
    """The reason why the array cannot be read; empty for a readable array."""


class NpyHeader(Record):
    """The header of a .npy file."""

    shape: IntTuple
    fortran_order: bool
    descr: object
    """The element type in the notation of the header."""
    dtype: str | None
    """The name of the element type, or None for a structured type or raw bytes."""
    start: int
    """The byte offset of the first element."""
    end: int
    """The byte offset just after the last element."""

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The element type as a NumPy dtype."""
        return parse_descr(self.descr)


def iter_array_infos(location: str) -> Iterator[ArrayInfo]:
    """Yield the name, shape and type of each array in a file, a member or a store.

    An unreadable array is yielded with a `problem`, so that the remaining arrays are still listed.
    """
    try:
        if not location:
            raise UnreadableError("the name of a file is empty")
        path, member = split_file_argument(location)
        if path.endswith(".npy"):
            with open_regular_file(location) as file:
                header = read_npy_header(file)
            yield ArrayInfo(location, header.shape, header.dtype)
        elif path.endswith(".npz"):
            yield from _iter_archive(path, member)
        else:
            yield from _iter_safetensors(path, member) if path.endswith(".safetensors") else _iter_store(location)
    except (OSError, UnreadableError) as error:
        yield _unreadable_info(location, error)


def _unreadable_info(name: str, error: OSError | UnreadableError) -> ArrayInfo:
    reason = error_reason(error)
    return ArrayInfo(name, problem=f"{reason[:1].lower()}{reason[1:]}")


def wrong_size_error(end: int, size: int) -> UnreadableError:
    """Return the error for a file whose size differs from that in its header."""
    return UnreadableError(f"its header asks for {end} bytes, and it holds {size}")


def missing_member_error(names: Iterable[str], path: str) -> UnreadableError:
    """Return the error for an array that a file does not contain.

    The message lists the arrays in the file, `names`.
    """
    return UnreadableError(f"it has {', '.join(map(truncate, [*names][:16]))}; write {path}:NAME")


def open_descriptor(path: str) -> int:
    """Open a regular file, and return its descriptor.

    Raises `OSError` if the file is a folder or cannot be opened. Raises `UnreadableError` if the name is invalid, or if
    the path is a pipe or a device. A read from a pipe or a device may never end.
    """
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    raise UnreadableError("it is not a regular file")


def open_regular_file(path: str) -> IO[bytes]:
    """Open a regular file for reading.

    Raises the errors of `open_descriptor`.
    """
    return os.fdopen(open_descriptor(path), "rb")


def read_file_stamp(path: Path) -> tuple[int, ...]:
    """Return the device, inode, size and modification time of a file.

    Returns an empty tuple if there is no such file.
    """
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read_first_bytes(path: str, limit: int = FIRST_READ_BYTES) -> tuple[bytes, int]:
    """Return the first bytes of a file, and its size.

    Raises `OSError` if the file cannot be read, and `UnreadableError` if it is not a regular file.
    """
    descriptor = open_descriptor(path)
    try:
        size = os.fstat(descriptor).st_size
        return os.read(descriptor, min(limit, size)), size
    finally:
        os.close(descriptor)


@contextmanager
def convert_to_unreadable_error(*errors: type[Exception], path: str = "") -> Iterator[None]:
    """Convert errors for damaged files in a `with` block to `UnreadableError`.

    If `path` is not empty, the message begins with it. `OSError` and `ImportError` are not converted, because a missing
    file or library is not damage.
    """
    try:
        yield
    except (OSError, ImportError, UnreadableError):
        raise
    except errors as error:
        raise UnreadableError(f"{path}: {error_reason(error)}" if path else error_reason(error)) from None


def read_npy_header(file: IO[bytes]) -> NpyHeader:
    """Read the header of a .npy file, and check that the file contains all elements.

    Raises `OSError` if the file cannot be read, `UnreadableError` if the header is invalid or elements are missing.
    """
    header = parse_npy_header(file)
    size = os.fstat(file.fileno()).st_size
    if header.end > size:
        raise wrong_size_error(header.end, size)
    return header


def parse_npy_header(file: IO[bytes]) -> NpyHeader:
    """Parse the header at the start of an open .npy file.

    No elements are read. Raises `UnreadableError` for an invalid header or an unsupported element type.
    """
    version = _read_version(file)
    text, start = _read_header_text(file, version)
    fields = _parse_header_fields(text, version)
    descr, shape, fortran = fields["descr"], fields["shape"], fields["fortran_order"]
    if not isinstance(fortran, bool):
        raise UnreadableError("fortran_order in its header is neither True nor False")
    if not isinstance(shape, tuple) or any(type(size) is not int for size in shape):
        raise UnreadableError(
            f"its header gives {truncate(repr(shape))} for a shape, which is not a tuple of whole numbers"
        )
    if any(size < 0 for size in shape):
        raise UnreadableError("its header gives a negative size")
    if isinstance(descr, str) and descr[:1] in "<>|=" and descr[1:] in NUMPY_TYPES:
        dtype, itemsize = NUMPY_TYPES[descr[1:]]
    else:
        kind = parse_descr(descr)
        dtype, itemsize = dtype_name(kind), kind.itemsize  # type: ignore[assignment]  # a structured dtype has no name
    if prod(size or 1 for size in shape) * itemsize > MAX_FILE_BYTES:
        raise UnreadableError("its header asks for more elements than a file can hold")
    return NpyHeader(shape, fortran, descr, dtype, start, start + prod(shape) * itemsize)


def _read_version(file: IO[bytes]) -> tuple[int, int]:
    magic = file.read(len(MAGIC) + 2)
    if len(magic) < len(MAGIC) + 2 or not magic.startswith(MAGIC):
        raise UnreadableError("it does not start as a .npy file does")
    version = magic[-2], magic[-1]
    if version not in HEADER_LENGTH_BYTES:
        raise UnreadableError(f"its format is version {version[0]}.{version[1]}, and 1.0, 2.0 and 3.0 are read")
    return version


def _read_header_text(file: IO[bytes], version: tuple[int, int]) -> tuple[str, int]:
    """Return the text of a .npy header, and the offset of the elements."""
    length = int.from_bytes(file.read(HEADER_LENGTH_BYTES[version]), "little")
    if length > MAX_NPY_HEADER_BYTES:
        raise UnreadableError(MAX_NPY_HEADER_BYTES.message(f"its header is said to be {length} bytes long"))
    data = file.read(length)
    if not data or len(data) < length:
        raise UnreadableError("it ends before its header does")
    try:
        text = data.decode("utf-8" if version == (3, 0) else "latin-1")
    except UnicodeDecodeError:
        raise UnreadableError("its header is not the UTF-8 of version 3.0") from None
    return text, len(MAGIC) + 2 + HEADER_LENGTH_BYTES[version] + length


@lru_cache(maxsize=64)  # cached, because arrays in a folder often have equal headers
def _parse_header_fields(text: str, version: tuple[int, int]) -> dict[str, Any]:
    """Parse the text of a .npy header.

    Headers before version 3.0 may contain long integers of Python 2.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser would warn about invalid escapes in the literal
            try:
                tree = ast.parse(text.lstrip(" \t"), mode="eval")
            except SyntaxError:
                if version >= (3, 0):
                    raise
                tree = ast.parse(PYTHON_2_LONG.sub(r"\1\2", text).lstrip(" \t"), mode="eval")
        fields = ast.literal_eval(tree)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise UnreadableError(f"its header cannot be read: {truncate(text.strip())}") from None
    keys = len(tree.body.keys) if isinstance(tree.body, ast.Dict) else 0
    if keys != 3 or fields.keys() != {"descr", "fortran_order", "shape"}:
        raise UnreadableError("its header does not hold descr, fortran_order and shape alone")
    result: dict[str, Any] = fields
    return result


def parse_descr(descr: Any) -> np.dtype[Any]:
    """Convert the `descr` field of a .npy header to a dtype.

    Raises `UnreadableError` for an unsupported field.
    """
    import numpy as np

    unknown = UnreadableError(f"its header describes no element type that can be read: {truncate(repr(descr))}")
    if not isinstance(descr, (str, list)):
        raise unknown
    try:
        kind = np.lib.format.descr_to_dtype(descr)  # type: ignore[arg-type]  # it accepts strings, too
    except Exception:  # NumPy's parser can raise errors of many types
        raise unknown from None
    if kind.subdtype:
        raise unknown
    if kind.hasobject:
        raise UnreadableError("it holds pickled objects, which are not read")
    if not kind.itemsize:
        raise UnreadableError("its elements have no bytes, so nothing says whether they are there")
    return kind


def dtype_name(numpy_dtype: np.dtype[Any]) -> str | None:
    """Return the name of a dtype, or None for a structured dtype or raw bytes."""
    return {"U": "string", "S": "bytes", "V": None}.get(numpy_dtype.kind, numpy_dtype.newbyteorder("=").name)


def write_npy_header(file: IO[bytes], shape: IntTuple, numpy_dtype: np.dtype[Any]) -> None:
    """Write the .npy header of a C-order array, in the oldest possible version.

    A header of version 1.0 has up to 64 KiB of Latin-1 text; a header of version 3.0 can have any text.
    """
    import numpy as np

    fields = {"descr": np.lib.format.dtype_to_descr(numpy_dtype), "fortran_order": False, "shape": shape}
    try:
        np.lib.format.write_array_header_1_0(file, fields)
    except ValueError:
        text, before = repr(fields).encode(), len(MAGIC) + 2 + HEADER_LENGTH_BYTES[3, 0]
        text += b" " * (-(before + len(text) + 1) % np.lib.format.ARRAY_ALIGN) + b"\n"
        file.write(np.lib.format.magic(3, 0) + len(text).to_bytes(HEADER_LENGTH_BYTES[3, 0], "little") + text)


@contextmanager
def open_archive(path: str) -> Iterator[zipfile.ZipFile]:
    """Open a .zip archive for reading.

    Raises `OSError` if the file cannot be read, `UnreadableError` if it is not a supported archive.
    """
    with open_regular_file(path) as file:
        with convert_to_unreadable_error(*OPEN_ERRORS):
            archive = zipfile.ZipFile(file)
        with archive:
            yield archive


@contextmanager
def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member of an archive for reading.

    Raises `OSError` or `UnreadableError` if the member cannot be opened or, in the `with` block, unpacked.
    """
    with convert_to_unreadable_error(*OPEN_ERRORS):
        packed = archive.open(info)
    with packed, convert_to_unreadable_error(*DAMAGE_ERRORS):
        yield packed


def archive_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of a .npz archive by array name."""
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


def find_entry(entries: Mapping[str, zipfile.ZipInfo], path: str, member: str) -> zipfile.ZipInfo:
    """Return the entry of an array in an archive.

    Raises `UnreadableError` if the array does not exist, if the entry is encrypted or compressed with an unsupported
    method, or if its sizes are impossible.
    """
    if member not in entries:
        raise missing_member_error(entries, path)
    info = entries[member]
    if info.flag_bits & 1 or info.compress_type not in MAX_COMPRESSION:  # bit 0 is set for an encrypted member
        raise UnreadableError("it is packed in a way that NumPy does not use")
    if info.file_size > info.compress_size * MAX_COMPRESSION[info.compress_type]:
        unpacked = f"{info.compress_size} bytes unpack to {info.file_size}"
        raise UnreadableError(f"the archive says that {unpacked}, which cannot be")
    return info


def read_member_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NpyHeader:
    """Read the header of an array in an archive; the elements are not unpacked.

    Raises `OSError` if the file cannot be read, `UnreadableError` if the entry or the header is invalid.
    """
    with open_member(archive, info) as packed:
        header = parse_npy_header(packed)
    if header.end != info.file_size:
        raise wrong_size_error(header.end, info.file_size)
    return header


def _iter_archive(path: str, member: str = "") -> Iterator[ArrayInfo]:
    """Yield the arrays of an archive, or only the array `member`.

    A damaged array is yielded with a `problem`, so that the remaining arrays are still listed.
    """
    try:
        with open_archive(path) as archive:
            members = archive_entries(archive)
            for name in [member] if member else members:
                try:
                    header = read_member_header(archive, find_entry(members, path, name))
                    yield ArrayInfo(f"{path}:{name}", header.shape, header.dtype)
                except (OSError, UnreadableError) as error:
                    yield _unreadable_info(f"{path}:{name}", error)
    except (OSError, UnreadableError) as error:
        yield _unreadable_info(f"{path}:{member}" if member else path, error)


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise UnreadableError("its header says one thing twice")
    return result


JSON_DECODER = json.JSONDecoder(object_pairs_hook=_reject_repeated_keys)
"""The decoder of JSON headers, shared because creating a decoder takes longer than parsing most headers."""


def parse_json_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object.

    Raises `UnreadableError` if the data are not a JSON object, or if a key is repeated.
    """
    try:
        result = JSON_DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise UnreadableError("its header is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"its header is not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except RecursionError:
        raise UnreadableError("its header is nested too deeply") from None
    except UnreadableError:
        raise
    except ValueError:
        raise UnreadableError("its header holds a number of too many digits") from None
    if not isinstance(result, dict):
        raise UnreadableError("its header is not a JSON object")
    return result


def _parse_shape(value: object) -> IntTuple:
    """Convert a JSON list of sizes to a shape, or raise `UnreadableError` if invalid."""
    sizes = value if isinstance(value, list) else [None]
    for size in sizes:
        if type(size) is not int or not 0 <= size <= INT64_MAX:
            raise UnreadableError(f"its header gives {truncate(repr(value))} for a shape, which is not a list of sizes")
    return tuple(sizes)


def _iter_safetensors(path: str, member: str = "") -> Iterator[ArrayInfo]:
    """Yield the tensors of a .safetensors file, or only the tensor `member`.

    The file begins with the length of the header in eight bytes, then the header as JSON. Raises `OSError` if the file
    cannot be read, `UnreadableError` if the header is invalid.
    """
    data, size = read_first_bytes(path)
    length = int.from_bytes(data[:TENSOR_LENGTH_BYTES], "little")
    elements = size - TENSOR_LENGTH_BYTES - length
    if len(data) < TENSOR_LENGTH_BYTES or elements < 0:
        raise UnreadableError("it ends before its header does")
    if length > MAX_SAFETENSORS_HEADER_BYTES:
        raise UnreadableError(MAX_SAFETENSORS_HEADER_BYTES.message(f"its header is said to be {length} bytes long"))
    if len(data) < TENSOR_LENGTH_BYTES + length:
        data, _ = read_first_bytes(path, TENSOR_LENGTH_BYTES + length)
    header = parse_json_object(data[TENSOR_LENGTH_BYTES : TENSOR_LENGTH_BYTES + length])
    header.pop("__metadata__", None)
    if member and member not in header:
        raise missing_member_error(header, path)
    for name in [member] if member else header:
        yield _parse_tensor_entry(f"{path}:{name}", header[name], elements)


def _parse_tensor_entry(name: str, entry: object, data_bytes: int) -> ArrayInfo:
    """Parse the entry of a tensor in a .safetensors header.

    An invalid entry is returned with a `problem`. `data_bytes` is the total size of the elements of all tensors.
    """
    try:
        fields = entry if isinstance(entry, dict) else {}
        spelled, offsets = fields.get("dtype"), fields.get("data_offsets")
        if not isinstance(spelled, str) or not isinstance(offsets, list) or [*map(type, offsets)] != [int, int]:
            raise UnreadableError("its header does not state dtype, shape and data_offsets of it")
        shape, (start, end) = _parse_shape(fields.get("shape")), offsets
        dtype, bits = TENSOR_TYPES.get(spelled, (None, None))
        if not 0 <= start <= end <= data_bytes:
            raise UnreadableError(f"its header places it at bytes {start} to {end} of {data_bytes}")
        if bits is not None and prod(shape) * bits != (end - start) * 8:
            raise UnreadableError(
                f"its shape and type ask for {prod(shape) * bits // 8} bytes, and it has {end - start}"
            )
    except UnreadableError as error:
        return _unreadable_info(name, error)
    return ArrayInfo(name, shape, dtype)


def _iter_store(path: str, depth: int = 0) -> Iterator[ArrayInfo]:
    """Yield the arrays of a store, including the arrays in its groups.

    Links to other folders are not followed.
    """
    try:
        metadata = _read_metadata(path)
        if metadata is None and depth:
            return
        if info := _array_from_metadata(path, metadata):
            yield info
            return
        if depth == MAX_GROUP_DEPTH:
            raise UnreadableError(f"it lies in {MAX_GROUP_DEPTH} groups, and no more are looked into")
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except (OSError, UnreadableError) as error:
        if not (depth and isinstance(error, FileNotFoundError)):  # it may have been removed after its group was listed
            yield _unreadable_info(path, error)
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _iter_store(entry.path, depth + 1)


def find_store_array(path: str) -> ArrayInfo:
    """Return the array at a path in a store.

    Raises `OSError` if the array cannot be read, and `UnreadableError` if the path is not an array. The message for a
    group lists its arrays.
    """
    if info := _array_from_metadata(path, _read_metadata(path)):
        return info
    names = [array.name.removeprefix(f"{path}/") for array in islice(_iter_store(path), 16)]
    raise UnreadableError(f"it is a group of {', '.join(map(truncate, names)) or 'no arrays'}; write {path}:NAME")


def _array_from_metadata(path: str, metadata: dict[str, Any] | None) -> ArrayInfo | None:
    """Return the array that `metadata` describe, or None for the metadata of a group.

    For a folder without metadata, `metadata` is None, and `OSError` or `UnreadableError` is raised.
    """
    if metadata is None and stat.S_ISDIR(Path(path).stat().st_mode):
        raise UnreadableError(f"it is a folder, but not a Zarr store; name its files: {path.rstrip('/')}/*.npy")
    if metadata is None:
        raise UnreadableError("it is not a .npy, .npz or .safetensors file, nor a Zarr store")
    if metadata["node_type"] == "group":
        return None
    return ArrayInfo(path, _parse_shape(metadata.get("shape")), _metadata_dtype(metadata))


def _read_metadata(path: str) -> dict[str, Any] | None:
    """Read the metadata of an array or a group, or return None for any other folder.

    Raises `OSError` or `UnreadableError` if the metadata cannot be used.
    """
    for node, version in ZARR_FILES.items():
        try:
            data, size = read_first_bytes(f"{path}/{node}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        if size > MAX_ZARR_METADATA_BYTES:
            raise UnreadableError(MAX_ZARR_METADATA_BYTES.message(f"{size} bytes of metadata"))
        metadata = parse_json_object(data if size == len(data) else read_first_bytes(f"{path}/{node}", size)[0])
        if metadata.get("zarr_format") != version:
            stated = truncate(repr(metadata.get("zarr_format")))
            raise UnreadableError(f"its format is version {stated}, and {node} is of {version}")
        if version == 2:
            metadata["node_type"] = "array" if node == ".zarray" else "group"
        if metadata.get("node_type") not in ("array", "group"):
            raise UnreadableError("its metadata do not say whether it is an array or a group")
        return metadata
    return None


def _metadata_dtype(metadata: dict[str, Any]) -> str | None:
    """Return the name of the element type in metadata, or None if it is unsupported."""
    stated = metadata.get("data_type", metadata.get("dtype"))
    if not isinstance(stated, str):
        return None
    return stated if stated in ALL_TYPES else NUMPY_TYPES.get(stated[1:], (None,))[0]
