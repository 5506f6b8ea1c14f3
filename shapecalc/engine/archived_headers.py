"""The headers of the arrays of a .npz archive, each unpacked no further than it reaches.

`zipfile` reads an archive that is damaged, or that is not plain as those are which NumPy writes.
"""

from __future__ import annotations

from shapecalc.engine.headers import AT_ONCE, Found, plain_header, read_npy, unreadable
from shapecalc.engine.plain_archives import plain_arrays
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterable, Iterator


def arrays_of_archive(path: str, member: str = "") -> Iterable[Found]:
    """Return what is found of the arrays of an archive, or of one of them; a member that is damaged stops no other.

    Raises `OSError`, `Unreadable` for what is no regular file.
    """
    found = plain_arrays(path, member)
    return _other_arrays(path, member) if found is None else found


def _other_arrays(path: str, member: str) -> Iterator[Found]:
    """Yield what `zipfile` finds of an archive."""
    from shapecalc.engine.files import members_of, opened_archive

    try:
        with opened_archive(path) as archive:
            held = members_of(archive)
            for name in [member] if member else held:
                try:
                    yield _found(archive, held, path, name)
                except (OSError, Unreadable) as error:
                    yield unreadable(f"{path}:{name}", error)
    except (OSError, Unreadable) as error:
        yield unreadable(f"{path}:{member}" if member else path, error)


def _found(archive: zipfile.ZipFile, held: dict[str, zipfile.ZipInfo], path: str, name: str) -> Found:
    """Return what is found of one array of an archive; raise `OSError`, `Unreadable` if it cannot be read."""
    from shapecalc.engine.files import member_info, opened_member, wrong_size

    info = member_info(held, path, name)
    with opened_member(archive, info) as packed:
        plain = plain_header(packed.read(AT_ONCE))
        shape, dtype, end = plain if plain and plain[2] == info.file_size else read_npy(packed)
    if end != info.file_size:
        raise wrong_size(end, info.file_size)
    return Found(f"{path}:{name}", shape, dtype)
