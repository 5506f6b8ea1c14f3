"""The header of a .npy file: a line of text with the shape, the order and the element type, read within bounds.

Source: NEP 1, "A simple file format for NumPy arrays", and `numpy.lib.format` for what came later: lengths of four
bytes in version 2.0, UTF-8 in version 3.0. Whole numbers as Python 2 wrote them, `3L`, may stand in the versions
before 3.0, as there. NumPy is imported only for what takes its element types.
"""

from __future__ import annotations

import re
from math import prod

from shapecalc.core.record import Record
from shapecalc.core.text import brief
from shapecalc.engine.literals import read_literal
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

MAGIC = b"\x93NUMPY"
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
"""The versions that are read, each with the number of bytes that the length of its header takes."""
LONGEST_HEADER = 1 << 16
"""The most bytes of a header that are read."""
MOST_BYTES = 2**63 - 1
TYPE = re.compile(r"[<>=|]?[b-zA-Z?][a-z]*[0-9]{0,10}(\[[0-9]{0,9}[A-Za-z]{1,7}\])?")
"""The name of an element type that is no structure, such as `<f8`, `|S3` or `<M8[25s]`."""


class Fields(Record):
    """What the text of a header says, and the byte at which the elements start."""

    shape: tuple[int, ...]
    fortran: bool
    descr: object
    """The description of the element type, as NumPy writes it."""
    start: int


class Header(Record):
    """The header of a .npy file, and the byte at which the elements start."""

    shape: tuple[int, ...]
    fortran: bool
    kind: np.dtype[Any]
    start: int

    @property
    def end(self) -> int:
        """The byte after the last element."""
        return self.start + prod(self.shape) * self.kind.itemsize


def read_header(file: Any) -> Header:
    """Return the header of a .npy file that is open at its start; no more of the file is read.

    Raises `Unreadable` with the reason for what is no header, and for elements that cannot be used. Source: NEP 1.
    """
    fields = read_fields(file)
    kind = element_kind(fields.descr)
    check_size(fields.shape, kind.itemsize)
    return Header(fields.shape, fields.fortran, kind, fields.start)


def read_fields(file: Any) -> Fields:
    """Return what the header of a .npy file says; its element type may still be none.

    Raises `Unreadable` with the reason for what is no header. Source: NEP 1.
    """
    version = _read_version(file)
    text, start = _read_text(file, version)
    found = read_literal(text, long_numbers=version < (3, 0))
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise Unreadable("its header does not hold descr, fortran_order and shape alone")
    if not isinstance(found["fortran_order"], bool):
        raise Unreadable("fortran_order in its header is neither True nor False")
    return Fields(_checked_shape(found["shape"]), found["fortran_order"], found["descr"], start)


def check_size(shape: tuple[int, ...], itemsize: int) -> None:
    """Raise `Unreadable` for a shape of more elements than a file can hold."""
    if prod(size or 1 for size in shape) * itemsize > MOST_BYTES:
        raise Unreadable("its header asks for more elements than a file can hold")


def write_header(file: Any, shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
    """Write the header of an array in C order, in the oldest version that can hold it.

    Source: NEP 1; version 1.0 holds Latin letters and up to 64 KiB, version 3.0 any letters and length.
    """
    import numpy as np

    fields = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    try:
        np.lib.format.write_array_header_1_0(file, fields)
    except ValueError:
        text, before = repr(fields).encode(), len(MAGIC) + 2 + LENGTH_BYTES[3, 0]
        text += b" " * (-(before + len(text) + 1) % np.lib.format.ARRAY_ALIGN) + b"\n"
        file.write(np.lib.format.magic(3, 0) + len(text).to_bytes(LENGTH_BYTES[3, 0], "little") + text)


def _read_version(file: Any) -> tuple[int, int]:
    magic = file.read(len(MAGIC) + 2)
    if len(magic) < len(MAGIC) + 2 or not magic.startswith(MAGIC):
        raise Unreadable("it does not start as a .npy file does")
    version = magic[-2], magic[-1]
    if version not in LENGTH_BYTES:
        raise Unreadable(f"its format is version {version[0]}.{version[1]}, and 1.0, 2.0 and 3.0 are read")
    return version


def _read_text(file: Any, version: tuple[int, int]) -> tuple[str, int]:
    """Return the text of a header, and the byte after it."""
    length = int.from_bytes(file.read(LENGTH_BYTES[version]), "little")
    if length > LONGEST_HEADER:
        raise Unreadable(f"its header is said to be {length} bytes long, and at most {LONGEST_HEADER} are read")
    data = file.read(length)
    if not data or len(data) < length:
        raise Unreadable("it ends before its header does")
    try:
        text = data.decode("utf-8" if version == (3, 0) else "latin-1")
    except UnicodeDecodeError:
        raise Unreadable("its header is not the UTF-8 of version 3.0") from None
    return text, len(MAGIC) + 2 + LENGTH_BYTES[version] + length


def _checked_shape(shape: object) -> tuple[int, ...]:
    """Return a shape that a header gives; raise `Unreadable` if it is none."""
    if not isinstance(shape, tuple) or any(type(size) is not int for size in shape):
        raise Unreadable(f"its header gives {brief(repr(shape))} for a shape, which is not a tuple of whole numbers")
    if any(size < 0 for size in shape):
        raise Unreadable("its header gives a negative size")
    return shape


def element_kind(descr: Any) -> np.dtype[Any]:
    """Return the element type that a header describes; raise `Unreadable` if it describes none that can be used."""
    import numpy as np

    unknown = Unreadable(f"its header describes no element type that can be read: {brief(repr(descr))}")
    if isinstance(descr, tuple) or not _is_description(descr):
        raise unknown
    try:
        kind = np.lib.format.descr_to_dtype(descr)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise unknown from None
    if kind.hasobject:
        raise Unreadable("it holds pickled objects, which are not read")
    if not kind.itemsize:
        raise Unreadable("its elements have no bytes, so nothing says whether they are there")
    return kind


def kind_name(kind: np.dtype[Any]) -> str | None:
    """Return the name of an element type; None if it is a structure or plain bytes."""
    return {"U": "string", "S": "bytes", "V": None}.get(kind.kind, kind.newbyteorder("=").name)


def _is_description(descr: object) -> bool:
    """Say whether a value has the form of an element type: a name, a structure's fields, or a type with a shape."""
    match descr:
        case str(name):
            return TYPE.fullmatch(name) is not None
        case list(fields):
            return all(map(_is_field, fields))
        case tuple((kind, tuple(shape))):
            return _is_description(kind) and all(type(size) is int and size >= 0 for size in shape)
    return False


def _is_field(field: object) -> bool:
    """Say whether a value has the form of a field: its name, maybe with a title, its type, and maybe a shape."""
    match field:
        case tuple((str() | (str(), str()), kind)):
            return _is_description(kind)
        case tuple((str() | (str(), str()), kind, tuple(shape))):
            return _is_description((kind, shape))
    return False
