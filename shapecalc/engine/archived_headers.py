"""The headers of the arrays of a .npz archive, each unpacked no further than it reaches."""

from __future__ import annotations

import zipfile

from shapecalc.engine.files import UNREADABLE, member_info, members_of, regular_file, wrong_size
from shapecalc.engine.headers import AT_ONCE, Found, plain_header, read_npy, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def arrays_of_archive(path: str, member: str = "") -> Iterator[Found]:
    """Yield what is found of the arrays of an archive, or of one of them; a member that is damaged stops no other."""
    try:
        with regular_file(path) as file, zipfile.ZipFile(file) as archive:
            held = members_of(archive)
            for name in [member] if member else held:
                yield _found(archive, held, path, name)
    except UNREADABLE as error:
        yield unreadable(f"{path}:{member}" if member else path, error)


def _found(archive: zipfile.ZipFile, held: dict[str, zipfile.ZipInfo], path: str, name: str) -> Found:
    """Return what is found of one array of an archive."""
    try:
        info = member_info(held, path, name)
        with archive.open(info) as packed:
            plain = plain_header(packed.read(AT_ONCE))
            shape, dtype, end = plain if plain and plain[2] == info.file_size else read_npy(packed)
        if end != info.file_size:
            raise wrong_size(end, info.file_size)
    except UNREADABLE as error:
        return unreadable(f"{path}:{name}", error)
    return Found(f"{path}:{name}", shape, dtype)
