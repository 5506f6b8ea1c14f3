"""Archives as NumPy writes them: no comments, no passwords, names of ASCII, arrays of numbers one after the other.

Only the end, the directory and the begin of each array are read. Whatever is not so is left to `zipfile`, which takes
several times as long. Source: APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
"""

from __future__ import annotations

import os
from struct import Struct

from shapecalc.engine.headers import AT_ONCE, Found, plain_header
from shapecalc.engine.regular_files import opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Entry = tuple[bytes, int, int, int, int, int]
    """What the directory says of a member: its name, its packing, its checksum, its bytes packed and unpacked, where
    it starts."""

END = Struct("<4s8x2LH")
"""The end: its mark, the bytes of the directory, where it starts, a comment."""
ENTRY = Struct("<4s2x3H4x3LHL8xL")
"""An entry: its mark, the version it needs, flags, packing, checksum, bytes packed and unpacked, the length of its
name, those of more fields and of a comment, and where the member starts."""
LOCAL = Struct("<4s22x2H")
"""What stands before a member: its mark, the lengths of its name and of more fields."""
NEWEST_VERSION = 45
STORED, DEFLATED = 0, 8
MOST_UNPACKED = {STORED: 1, DEFLATED: 1032}
"""How many bytes a packed byte can become at most. Source: RFC 1951, 3.2.5."""


class _NotPlain(Exception):
    """The archive is damaged, or of another form."""


def plain_arrays(path: str, member: str = "") -> list[Found] | None:
    """Return what is found of the arrays of a plain archive, or of one of them; None if it is not plain.

    Raises `OSError`, `Unreadable` if it cannot be opened.
    """
    descriptor = opened(path)
    try:
        found: dict[str, Found] = {}
        after, entries = _directory(descriptor)
        for entry in reversed(entries):
            name = f"{path}:{entry[0].decode().removesuffix('.npy')}"
            if name in found:
                return None
            found[name] = Found(name, *_array(descriptor, entry, after))
            after = entry[5]
    except (_NotPlain, OSError):
        return None
    finally:
        os.close(descriptor)
    if member:
        only = found.get(f"{path}:{member}")
        return [only] if only else None
    return [*reversed(found.values())]


def _sought(descriptor: int, count: int, place: int) -> bytes:
    """Return some bytes of a file from a place on."""
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.read(descriptor, count)


_bytes_at: Callable[[int, int, int], bytes] = getattr(os, "pread", _sought)
"""The same at once, where the system can."""


def _directory(descriptor: int) -> tuple[int, list[Entry]]:
    """Return where the directory starts, and its entries; raise `_NotPlain`, or `OSError` for what has no places."""
    held = os.lseek(descriptor, 0, os.SEEK_END)
    first = max(0, held - AT_ONCE)
    last = _bytes_at(descriptor, AT_ONCE, first)
    if len(last) < END.size or first + len(last) != held:
        raise _NotPlain
    mark, length, start, comment = END.unpack_from(last, len(last) - END.size)
    if mark != b"PK\5\6" or comment or start + length + END.size != held:
        raise _NotPlain
    if start >= first:
        return start, _entries(last[start - first : -END.size])
    return start, _entries(_bytes_at(descriptor, length, start))


def _entries(data: bytes) -> list[Entry]:
    """Return the entries of a directory; raise `_NotPlain`."""
    entries, place = [], 0
    while place < len(data):
        if place + ENTRY.size > len(data):
            raise _NotPlain
        mark, version, flags, packing, checksum, packed, size, name, more, at = ENTRY.unpack_from(data, place)
        place += ENTRY.size + name
        spelled = data[place - name : place]
        if mark != b"PK\1\2" or version > NEWEST_VERSION or flags or more or not spelled.isascii():
            raise _NotPlain
        if packing not in MOST_UNPACKED or len(spelled) < name or b"\0" in spelled:
            raise _NotPlain
        entries.append((spelled, packing, checksum, packed, size, at))
    return entries


def _array(descriptor: int, entry: Entry, after: int) -> tuple[tuple[int, ...], str]:
    """Return the shape and element type of a member that ends before a byte; raise `_NotPlain`."""
    name, packing, checksum, packed, size, at = entry
    data = _bytes_at(descriptor, AT_ONCE, at)
    if len(data) < LOCAL.size:
        raise _NotPlain
    mark, length, more = LOCAL.unpack_from(data)
    start = LOCAL.size + length + more
    if mark != b"PK\3\4" or data[LOCAL.size : LOCAL.size + length] != name or at + start + packed > after:
        raise _NotPlain
    if size > packed * MOST_UNPACKED[packing]:
        raise _NotPlain
    begin = data[start : start + packed]
    if packing != STORED or packed <= AT_ONCE:
        begin = _unpacked(begin, packing, size, checksum if packed <= AT_ONCE else None)
    plain = plain_header(begin)
    if plain is None or plain[2] != size:
        raise _NotPlain
    return plain[0], plain[1]


def _unpacked(data: bytes, packing: int, size: int, checksum: int | None) -> bytes:
    """Return the first bytes of a member, or with its checksum all; raise `_NotPlain` if they are damaged."""
    import zlib

    most = AT_ONCE if checksum is None else size + 1
    try:
        begin = data if packing == STORED else zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most)
    except zlib.error:
        raise _NotPlain from None
    if checksum is not None and (len(begin) != size or zlib.crc32(begin) != checksum):
        raise _NotPlain
    return begin
