"""What is found of arrays in files: shapes and element types, from headers alone, without NumPy where that can be."""

from __future__ import annotations

import os
import re
from math import prod

from shapecalc.core.record import Record
from shapecalc.engine.regular_files import Unreadable, opened, reason_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    Shape = tuple[int, ...]

AT_ONCE = 4096
"""How many bytes of a file are read first; most headers end before."""
PLAIN = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '[<>|=]([a-z][0-9]{1,2})', 'fortran_order': (?:False|True), "
    rb"'shape': \(((?:[0-9]{1,18}(?:, [0-9]{1,18})*,?)?)\), \} *\n",
    re.DOTALL,
)
"""A header as NumPy writes it for an array of numbers: its length, its element type and its shape."""
NUMBERS = {f"f{size}": (f"float{8 * size}", size) for size in (2, 4, 8)} | {"b1": ("bool", 1)}
NUMBERS |= {f"i{size}": (f"int{8 * size}", size) for size in (1, 2, 4, 8)}
NUMBERS |= {f"u{size}": (f"uint{8 * size}", size) for size in (1, 2, 4, 8)}
NUMBERS |= {f"c{size}": (f"complex{8 * size}", size) for size in (8, 16)}
"""The names of element types and their bytes, by NumPy's short names without the order of bytes."""


class Found(Record):
    """What was found of one array: its shape and element type, or why it cannot be read."""

    name: str
    """How a command line names it."""
    shape: Shape = ()
    dtype: str | None = None
    """The element type's name; None if it is a structure or plain bytes."""
    problem: str = ""
    """Why it cannot be read; empty if it can."""


def unreadable(name: str, error: OSError | Unreadable) -> Found:
    """Return the finding of an array that cannot be read."""
    reason = reason_of(error)
    return Found(name, problem=f"{reason[:1].lower()}{reason[1:]}")


def first_bytes(path: str, most: int = AT_ONCE) -> tuple[bytes, int]:
    """Return the first bytes of a file, and how many it holds; raise `OSError`, `Unreadable` if it is no file."""
    descriptor = opened(path)
    try:
        held = os.fstat(descriptor).st_size
        return os.read(descriptor, min(most, held)), held
    finally:
        os.close(descriptor)


def npy_file(path: str) -> Found:
    """Return what the header of a .npy file says; raise `OSError`, `Unreadable` if it cannot be used."""
    start, held = first_bytes(path)
    plain = plain_header(start)
    if plain and plain[2] <= held:
        return Found(path, plain[0], plain[1])
    from shapecalc.engine.files import regular_file, wrong_size

    with regular_file(path) as file:
        shape, dtype, end = read_npy(file)
    if end > held:
        raise wrong_size(end, held)
    return Found(path, shape, dtype)


def plain_header(start: bytes) -> tuple[Shape, str, int] | None:
    """Return the shape and element type of an array that has elements, which are numbers, and the byte after them.

    None for what does not start with such a header as NumPy writes it.
    """
    plain = PLAIN.match(start)
    kind = NUMBERS.get(plain[2].decode()) if plain else None
    if plain is None or kind is None or plain.end() != 10 + int.from_bytes(plain[1], "little"):
        return None
    shape = tuple([int(size) for size in plain[3].split(b",") if size])
    return None if 0 in shape else (shape, kind[0], plain.end() + prod(shape) * kind[1])


def read_npy(file: IO[bytes]) -> tuple[Shape, str | None, int]:
    """Return the shape and element type that the header of a .npy file states, and the byte after the elements.

    Raises `Unreadable` for what is no header, and for elements that cannot be used. Source: NEP 1.
    """
    from shapecalc.engine.npy_headers import check_size, element_kind, kind_name, read_fields

    file.seek(0)
    fields = read_fields(file)
    descr = fields.descr
    dtype: str | None = None
    if isinstance(descr, str) and descr[:1] in "<>|=" and descr[1:] in NUMBERS:
        dtype, itemsize = NUMBERS[descr[1:]]
    else:
        kind = element_kind(descr)
        dtype, itemsize = kind_name(kind), kind.itemsize
    check_size(fields.shape, itemsize)
    return fields.shape, dtype, fields.start + prod(fields.shape) * itemsize
