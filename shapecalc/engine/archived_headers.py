"""The headers of the arrays of a .npz archive, each unpacked no further than it reaches."""

from __future__ import annotations

import zipfile

from shapecalc.engine.files import UNREADABLE, member_info, regular_file, wrong_size
from shapecalc.engine.headers import Found, read_npy, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def arrays_of_archive(path: str, member: str = "") -> Iterator[Found]:
    """Yield what is found of the arrays of an archive, or of one of them; a member that is damaged stops no other."""
    try:
        with regular_file(path) as file, zipfile.ZipFile(file) as archive:
            held = [info.filename.removesuffix(".npy") for info in archive.infolist()]
            for name in [member] if member else dict.fromkeys(held):
                yield _found(archive, path, name)
    except UNREADABLE as error:
        yield unreadable(f"{path}:{member}" if member else path, error)


def _found(archive: zipfile.ZipFile, path: str, name: str) -> Found:
    """Return what is found of one array of an archive."""
    try:
        info = member_info(archive, path, name)
        with archive.open(info) as packed:
            shape, dtype, end = read_npy(packed)
        if end != info.file_size:
            raise wrong_size(end, info.file_size)
    except UNREADABLE as error:
        return unreadable(f"{path}:{name}", error)
    return Found(f"{path}:{name}", shape, dtype)
