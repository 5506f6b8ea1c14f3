"""Headers of array files, parsed within size limits and mostly without NumPy.

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

from shapecalc.core.dialects.base import KNOWN
from shapecalc.core.dims import INT64_MAX
from shapecalc.core.limits import LONGEST_HEADER, LONGEST_METADATA, LONGEST_TENSOR_HEADER
from shapecalc.core.record import Record
from shapecalc.core.text import brief, path_and_member

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]

OPENED = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags that open a file without waiting for the writer of a pipe, in binary mode."""
AT_ONCE = 4096
"""The bytes read first; most headers are shorter."""
NUMBERS = {f"f{size}": (f"float{8 * size}", size) for size in (2, 4, 8)} | {"b1": ("bool", 1)}
NUMBERS |= {f"i{size}": (f"int{8 * size}", size) for size in (1, 2, 4, 8)}
NUMBERS |= {f"u{size}": (f"uint{8 * size}", size) for size in (1, 2, 4, 8)}
NUMBERS |= {f"c{size}": (f"complex{8 * size}", size) for size in (8, 16)}
"""Element types by NumPy's type strings without byte order: name and bytes."""

MAGIC = b"\x93NUMPY"
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
"""The size of the header length field in each supported version of .npy."""
MOST_BYTES = 2**63 - 1
PYTHON_2 = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([0-9])L\b""")
"""A string literal, which is kept, or a long integer of Python 2: `3L`."""

DAMAGED = (zipfile.BadZipFile, EOFError, zlib.error)
"""Errors of `zipfile` while it reads a damaged archive."""
UNOPENED = (*DAMAGED, NotImplementedError, ValueError)
"""Errors of `zipfile` while it opens an archive or a member.

They include unsupported versions, and names and offsets that are not valid.
"""
FOREIGN = Exception
"""The errors of h5py, zarr and its codecs for damaged files: any.

They raise `RuntimeError`, `KeyError`, `AssertionError`, `MemoryError`, errors of their own, and those of every library
that a codec depends on.
"""
TOO_LARGE = "it takes more memory than there is, or than --memory allows"
MOST_UNPACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""The maximum compression ratio of each method that NumPy uses.

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
"""Element types by their names in .safetensors: name and bits."""

NODES = {"zarr.json": 3, ".zarray": 2, ".zgroup": 2}
"""The metadata files of Zarr arrays and groups, with the version of the format."""
DEEPEST = 64
"""The maximum nesting of groups."""


class Unreadable(ValueError):
    """A file, or an array in it, that cannot be used.

    The message gives the reason without the name of the file.
    """


class Found(Record):
    """The shape and element type of one array, or the reason why it cannot be read."""

    name: str
    """The text that names it on a command line."""
    shape: Shape = ()
    dtype: str | None = None
    """The name of the element type; None for a structure or plain bytes."""
    problem: str = ""
    """The reason why it cannot be read; empty if it can."""


class NpyHeader(Record):
    """The header of a .npy file."""

    shape: Shape
    fortran: bool
    descr: object
    """The element type as NumPy writes it."""
    dtype: str | None
    """The name of the element type; None for a structure or plain bytes."""
    start: int
    """The byte at which the elements start."""
    end: int
    """The byte after the last element."""

    @property
    def kind(self) -> np.dtype[Any]:
        """The element type."""
        return element_kind(self.descr)


def found_in(text: str) -> Iterator[Found]:
    """Yield the arrays that a text names: of a file, a member of one, or a Zarr store.

    Nothing is raised: an array that cannot be read has a `problem`, so that the rest of a folder is still listed.
    """
    try:
        if not text:
            raise Unreadable("the name of a file is empty")
        path, member = path_and_member(text)
        if path.endswith(".npy"):
            with regular_file(text) as file:
                header = npy_header(file)
            yield Found(text, header.shape, header.dtype)
        elif path.endswith(".npz"):
            yield from _arrays_of_archive(path, member)
        else:  # any other path may be a store
            yield from _tensors_of_file(path, member) if path.endswith(".safetensors") else _arrays_of_store(text)
    except (OSError, Unreadable) as error:
        yield _unreadable(text, error)


def _unreadable(name: str, error: OSError | Unreadable) -> Found:
    reason = reason_of(error)
    return Found(name, problem=f"{reason[:1].lower()}{reason[1:]}")


def reason_of(error: BaseException) -> str:
    """Return the message of an error as one non-empty line without a full stop.

    >>> reason_of(OSError(28, "No space left on device")), reason_of(AssertionError())
    ('No space left on device', 'AssertionError')
    """
    if isinstance(error, (EOFError, MemoryError)):
        return "it ends too early" if isinstance(error, EOFError) else TOO_LARGE
    return " ".join(str(getattr(error, "strerror", None) or error).split()).rstrip(".") or type(error).__name__


def wrong_size(end: int, size: int) -> Unreadable:
    """Return the error for a header that requires more or fewer bytes than there are."""
    return Unreadable(f"its header asks for {end} bytes, and it holds {size}")


def no_member(names: Iterable[str], path: str) -> Unreadable:
    """Return the error for a file without the requested array; it lists `names`."""
    return Unreadable(f"it has {', '.join(map(brief, [*names][:16]))}; write {path}:NAME")


def opened(path: str) -> int:
    """Open a regular file; return its descriptor.

    Raises `OSError` if it cannot be opened or is a folder; `UnreadableError` for an invalid name, and for a pipe or a
    device, which may never end.
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


def regular_file(path: str) -> IO[bytes]:
    """Open a regular file for reading; raise `OSError` or `UnreadableError`."""
    return os.fdopen(opened(path), "rb")


def stamp(path: Path) -> tuple[int, ...]:
    """Return device, inode, size and time of a file, which identify its content.

    Returns an empty tuple if there is no such file.
    """
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def first_bytes(path: str, most: int = AT_ONCE) -> tuple[bytes, int]:
    """Return the first bytes of a file, and its size.

    Raises `OSError`, `UnreadableError` if it is not a regular file.
    """
    descriptor = opened(path)
    try:
        size = os.fstat(descriptor).st_size
        return os.read(descriptor, min(most, size)), size
    finally:
        os.close(descriptor)


@contextmanager
def unreadable_on(*errors: type[Exception], where: str = "") -> Iterator[None]:
    """Convert errors that a library raises for damaged files to `UnreadableError`.

    `where` names the file of a store. `OSError` and `ImportError` pass through: a missing file or library is not
    damage.
    """
    try:
        yield
    except (OSError, ImportError, Unreadable):
        raise
    except errors as error:
        raise Unreadable(f"{where}: {reason_of(error)}" if where else reason_of(error)) from None


def npy_header(file: IO[bytes]) -> NpyHeader:
    """Read the header of a .npy file, and check that the file holds all elements.

    Raises `OSError` or `UnreadableError`.
    """
    header = read_header(file)
    size = os.fstat(file.fileno()).st_size
    if header.end > size:
        raise wrong_size(header.end, size)
    return header


def read_header(file: IO[bytes]) -> NpyHeader:
    """Read the header of a .npy file that is open at its start, and nothing after it.

    Raises `UnreadableError` for an invalid header, and for elements that cannot be used.
    """
    version = _read_version(file)
    text, start = _read_text(file, version)
    fields = _read_fields(text, version)
    descr, shape, fortran = fields["descr"], fields["shape"], fields["fortran_order"]
    if not isinstance(fortran, bool):
        raise Unreadable("fortran_order in its header is neither True nor False")
    if not isinstance(shape, tuple) or any(type(size) is not int for size in shape):
        raise Unreadable(f"its header gives {brief(repr(shape))} for a shape, which is not a tuple of whole numbers")
    if any(size < 0 for size in shape):
        raise Unreadable("its header gives a negative size")
    if isinstance(descr, str) and descr[:1] in "<>|=" and descr[1:] in NUMBERS:
        dtype, itemsize = NUMBERS[descr[1:]]
    else:
        kind = element_kind(descr)
        dtype, itemsize = kind_name(kind), kind.itemsize  # type: ignore[assignment]  # a structure has no name
    if prod(size or 1 for size in shape) * itemsize > MOST_BYTES:
        raise Unreadable("its header asks for more elements than a file can hold")
    return NpyHeader(shape, fortran, descr, dtype, start, start + prod(shape) * itemsize)


def _read_version(file: IO[bytes]) -> tuple[int, int]:
    magic = file.read(len(MAGIC) + 2)
    if len(magic) < len(MAGIC) + 2 or not magic.startswith(MAGIC):
        raise Unreadable("it does not start as a .npy file does")
    version = magic[-2], magic[-1]
    if version not in LENGTH_BYTES:
        raise Unreadable(f"its format is version {version[0]}.{version[1]}, and 1.0, 2.0 and 3.0 are read")
    return version


def _read_text(file: IO[bytes], version: tuple[int, int]) -> tuple[str, int]:
    """Return the text of a header, and the byte after it."""
    length = int.from_bytes(file.read(LENGTH_BYTES[version]), "little")
    if length > LONGEST_HEADER:
        raise Unreadable(LONGEST_HEADER.said(f"its header is said to be {length} bytes long"))
    data = file.read(length)
    if not data or len(data) < length:
        raise Unreadable("it ends before its header does")
    try:
        text = data.decode("utf-8" if version == (3, 0) else "latin-1")
    except UnicodeDecodeError:
        raise Unreadable("its header is not the UTF-8 of version 3.0") from None
    return text, len(MAGIC) + 2 + LENGTH_BYTES[version] + length


@lru_cache(maxsize=64)  # the arrays of a folder often have one header
def _read_fields(text: str, version: tuple[int, int]) -> dict[str, Any]:
    """Parse the text of a header.

    Versions before 3.0 may contain long integers of Python 2.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser warns of invalid escapes in the literal
            try:
                tree = ast.parse(text.lstrip(" \t"), mode="eval")
            except SyntaxError:
                if version >= (3, 0):
                    raise
                tree = ast.parse(PYTHON_2.sub(r"\1\2", text).lstrip(" \t"), mode="eval")
        fields = ast.literal_eval(tree)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise Unreadable(f"its header cannot be read: {brief(text.strip())}") from None
    keys = len(tree.body.keys) if isinstance(tree.body, ast.Dict) else 0
    if keys != 3 or fields.keys() != {"descr", "fortran_order", "shape"}:
        raise Unreadable("its header does not hold descr, fortran_order and shape alone")
    result: dict[str, Any] = fields
    return result


def element_kind(descr: Any) -> np.dtype[Any]:
    """Return the element type of a `descr`; raise `UnreadableError` if it is unusable."""
    import numpy as np

    unknown = Unreadable(f"its header describes no element type that can be read: {brief(repr(descr))}")
    if not isinstance(descr, (str, list)):
        raise unknown
    try:
        kind = np.lib.format.descr_to_dtype(descr)  # type: ignore[arg-type]  # it accepts strings, too
    except Exception:  # NumPy lets every error of its parser through
        raise unknown from None
    if kind.subdtype:
        raise unknown
    if kind.hasobject:
        raise Unreadable("it holds pickled objects, which are not read")
    if not kind.itemsize:
        raise Unreadable("its elements have no bytes, so nothing says whether they are there")
    return kind


def kind_name(kind: np.dtype[Any]) -> str | None:
    """Return the name of an element type; None for a structure or plain bytes."""
    return {"U": "string", "S": "bytes", "V": None}.get(kind.kind, kind.newbyteorder("=").name)


def write_header(file: IO[bytes], shape: Shape, kind: np.dtype[Any]) -> None:
    """Write the .npy header of an array in C order, in the oldest version that fits.

    Version 1.0 holds Latin-1 and up to 64 KiB, version 3.0 any text and length.
    """
    import numpy as np

    fields = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    try:
        np.lib.format.write_array_header_1_0(file, fields)
    except ValueError:
        text, before = repr(fields).encode(), len(MAGIC) + 2 + LENGTH_BYTES[3, 0]
        text += b" " * (-(before + len(text) + 1) % np.lib.format.ARRAY_ALIGN) + b"\n"
        file.write(np.lib.format.magic(3, 0) + len(text).to_bytes(LENGTH_BYTES[3, 0], "little") + text)


@contextmanager
def opened_archive(path: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive for reading; raise `OSError` or `UnreadableError`."""
    with regular_file(path) as file:
        with unreadable_on(*UNOPENED):
            archive = zipfile.ZipFile(file)
        with archive:
            yield archive


@contextmanager
def opened_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member of an archive for reading.

    Raises `OSError`, `UnreadableError` if it cannot be opened or, inside the block, unpacked.
    """
    with unreadable_on(*UNOPENED):
        packed = archive.open(info)
    with packed, unreadable_on(*DAMAGED):
        yield packed


def members_of(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of an archive by the names of their arrays."""
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


def member_info(members: Mapping[str, zipfile.ZipInfo], path: str, member: str) -> zipfile.ZipInfo:
    """Return the entry of an array in an archive.

    Raises `UnreadableError` if there is none, or if its sizes are impossible.
    """
    if member not in members:
        raise no_member(members, path)
    info = members[member]
    if info.flag_bits & 1 or info.compress_type not in MOST_UNPACKED:  # bit 0: encrypted
        raise Unreadable("it is packed in a way that NumPy does not use")
    if info.file_size > info.compress_size * MOST_UNPACKED[info.compress_type]:
        unpacked = f"{info.compress_size} bytes unpack to {info.file_size}"
        raise Unreadable(f"the archive says that {unpacked}, which cannot be")
    return info


def member_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NpyHeader:
    """Read the header of an array in an archive without unpacking its elements.

    Raises `OSError` or `UnreadableError`.
    """
    with opened_member(archive, info) as packed:
        header = read_header(packed)
    if header.end != info.file_size:
        raise wrong_size(header.end, info.file_size)
    return header


def _arrays_of_archive(path: str, member: str = "") -> Iterator[Found]:
    """Yield the arrays of an archive, or one of them.

    A damaged array does not stop the others.
    """
    try:
        with opened_archive(path) as archive:
            members = members_of(archive)
            for name in [member] if member else members:
                try:
                    header = member_header(archive, member_info(members, path, name))
                    yield Found(f"{path}:{name}", header.shape, header.dtype)
                except (OSError, Unreadable) as error:
                    yield _unreadable(f"{path}:{name}", error)
    except (OSError, Unreadable) as error:
        yield _unreadable(f"{path}:{member}" if member else path, error)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise Unreadable("its header says one thing twice")
    return result


READER = json.JSONDecoder(object_pairs_hook=_without_repeats)
"""The decoder of all JSON headers. Creating one takes longer than most headers."""


def read_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object.

    Raises `UnreadableError` for other data, and for repeated keys.
    """
    try:
        result = READER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unreadable("its header is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"its header is not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except RecursionError:
        raise Unreadable("its header is nested too deeply") from None
    except Unreadable:
        raise
    except ValueError:
        raise Unreadable("its header holds a number of too many digits") from None
    if not isinstance(result, dict):
        raise Unreadable("its header is not a JSON object")
    return result


def _checked_shape(value: object) -> Shape:
    """Return a list of sizes as a shape; raise `UnreadableError` for anything else."""
    sizes = value if isinstance(value, list) else [None]
    for size in sizes:
        if type(size) is not int or not 0 <= size <= INT64_MAX:
            raise Unreadable(f"its header gives {brief(repr(value))} for a shape, which is not a list of sizes")
    return tuple(sizes)


def _tensors_of_file(path: str, member: str = "") -> Iterator[Found]:
    """Yield the tensors of a .safetensors file, or one of them.

    Raises `OSError`, `UnreadableError` for a file without a valid header: its length in eight bytes, then JSON.
    """
    data, size = first_bytes(path)
    length = int.from_bytes(data[:TENSOR_LENGTH_BYTES], "little")
    elements = size - TENSOR_LENGTH_BYTES - length
    if len(data) < TENSOR_LENGTH_BYTES or elements < 0:
        raise Unreadable("it ends before its header does")
    if length > LONGEST_TENSOR_HEADER:
        raise Unreadable(LONGEST_TENSOR_HEADER.said(f"its header is said to be {length} bytes long"))
    if len(data) < TENSOR_LENGTH_BYTES + length:
        data, _ = first_bytes(path, TENSOR_LENGTH_BYTES + length)
    header = read_object(data[TENSOR_LENGTH_BYTES : TENSOR_LENGTH_BYTES + length])
    header.pop("__metadata__", None)
    if member and member not in header:
        raise no_member(header, path)
    for name in [member] if member else header:
        yield _tensor(f"{path}:{name}", header[name], elements)


def _tensor(name: str, stated: object, elements: int) -> Found:
    """Return the tensor of a header entry; `elements` is the size of all data in bytes."""
    try:
        fields = stated if isinstance(stated, dict) else {}
        spelled, offsets = fields.get("dtype"), fields.get("data_offsets")
        if not isinstance(spelled, str) or not isinstance(offsets, list) or [*map(type, offsets)] != [int, int]:
            raise Unreadable("its header does not state dtype, shape and data_offsets of it")
        shape, (start, end) = _checked_shape(fields.get("shape")), offsets
        dtype, bits = TENSOR_TYPES.get(spelled, (None, None))
        if not 0 <= start <= end <= elements:
            raise Unreadable(f"its header places it at bytes {start} to {end} of {elements}")
        if bits is not None and prod(shape) * bits != (end - start) * 8:
            raise Unreadable(f"its shape and type ask for {prod(shape) * bits // 8} bytes, and it has {end - start}")
    except Unreadable as error:
        return _unreadable(name, error)
    return Found(name, shape, dtype)


def _arrays_of_store(path: str, depth: int = 0) -> Iterator[Found]:
    """Yield the arrays of a store and its groups.

    Links to other folders are not followed.
    """
    try:
        metadata = _metadata(path)
        if metadata is None and depth:
            return
        if info := _array_of(path, metadata):
            yield info
            return
    except (OSError, Unreadable) as error:
        yield _unreadable(path, error)
        return
    if depth == DEEPEST:
        yield Found(path, problem=f"it lies in {DEEPEST} groups, and no more are looked into")
        return
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _arrays_of_store(entry.path, depth + 1)


def array_of_store(path: str) -> Found:
    """Return one array of a store; raise `OSError`, `UnreadableError` if it is none.

    For a group, the error lists the arrays.
    """
    if info := _array_of(path, _metadata(path)):
        return info
    names = [array.name.removeprefix(f"{path}/") for array in islice(_arrays_of_store(path), 16)]
    raise Unreadable(f"it is a group of {', '.join(map(brief, names)) or 'no arrays'}; write {path}:NAME")


def _array_of(path: str, metadata: dict[str, Any] | None) -> Found | None:
    """Return the array of some metadata; None for a group.

    Raises `OSError`, `UnreadableError` if there are no metadata.
    """
    if metadata is None and stat.S_ISDIR(Path(path).stat().st_mode):
        raise Unreadable(f"it is a folder, but not a Zarr store; name its files: {path.rstrip('/')}/*.npy")
    if metadata is None:
        raise Unreadable("it is not a .npy, .npz or .safetensors file, nor a Zarr store")
    if metadata["node_type"] == "group":
        return None
    return Found(path, _checked_shape(metadata.get("shape")), _element_type(metadata))


def _metadata(path: str) -> dict[str, Any] | None:
    """Read the metadata of an array or a group; return None for any other folder.

    Raises `OSError`, `UnreadableError` if they cannot be used.
    """
    for node, version in NODES.items():
        try:
            data, size = first_bytes(f"{path}/{node}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        if size > LONGEST_METADATA:
            raise Unreadable(LONGEST_METADATA.said(f"{size} bytes of metadata"))
        metadata = read_object(data if size == len(data) else first_bytes(f"{path}/{node}", size)[0])
        if metadata.get("zarr_format") != version:
            stated = brief(repr(metadata.get("zarr_format")))
            raise Unreadable(f"its format is version {stated}, and {node} is of {version}")
        if version == 2:
            metadata["node_type"] = "array" if node == ".zarray" else "group"
        if metadata.get("node_type") not in ("array", "group"):
            raise Unreadable("its metadata do not say whether it is an array or a group")
        return metadata
    return None


def _element_type(metadata: dict[str, Any]) -> str | None:
    """Return the name of the element type; None if shapecalc has no name for it."""
    stated = metadata.get("data_type", metadata.get("dtype"))
    if not isinstance(stated, str):
        return None
    return stated if stated in KNOWN else NUMBERS.get(stated[1:], (None,))[0]
