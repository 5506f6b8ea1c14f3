"""Files that are whole or not there: every file that shapecalc writes is written here.

A file is written in its target's folder, and gets the target's name when it is whole and on the disk. Until then it
has no name, so that nothing stays of a writer that is killed. A file has a name of its own, `.TARGET.HOST.RANDOM.part`,
where the system has no files without names, and for a moment when it takes the place of another. Its writer holds a
lock on it: a part that nobody holds is left over, and the next writer of the same target removes it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from shapecalc.engine.processes import Endings

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove or rename a file that is open
    fcntl = None  # type: ignore[assignment]

UNNAMED = getattr(os, "O_TMPFILE", 0) if Path("/proc/self/fd").exists() else 0
"""The flag that opens a file without a name, which `/proc` can give one later; 0 where there is no such thing."""
READ_AND_WRITE = os.O_RDWR | getattr(os, "O_BINARY", 0)
WITHOUT_WAITING = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
UNFINISHED = ".partial"
"""What the names of files of a folder end with that are not whole."""
RANDOM = 8
"""Random bytes in the name of a part."""
LONGEST_NAME = 40
"""How many characters of a target's and of a host's name a part's name repeats: no system takes more than 255 bytes."""


@contextmanager
def whole_file(target: Path, *, force: bool = False, wanted: Callable[[], bool] = lambda: True) -> Iterator[IO[bytes]]:
    """Yield a file to write, which gets the name `target` afterwards, unless it is not `wanted` then.

    With `force` it takes the place of a regular file, keeps that file's mode and, where the system lets it, its
    owner; symbolic links are followed. Raises `FileExistsError` if there is such a name and `force` is not given,
    even if somebody else has made it in the meantime; raises `OSError` for a folder, a pipe or a device and for
    what cannot be written.
    """
    place = Path(os.path.realpath(target)) if force else target
    _check_place(place, force=force)
    _remove_left_over_parts(place)
    with Endings() as endings, _unseen_file(place) as (file, part):
        yield file
        file.flush()
        os.fsync(file.fileno())
        if endings.asked:
            raise KeyboardInterrupt
        if wanted():
            _check_place(place, force=force)
            (_take_place if force else _take_name)(file, part, place)


def write_whole(target: Path, data: bytes, *, force: bool = False) -> None:
    """Write a whole file; raise `OSError` that says in one line which file could not be written, and why."""
    try:
        with whole_file(target, force=force) as file:
            file.write(data)
    except FileExistsError:
        raise FileExistsError(f"{target}: it exists") from None
    except (OSError, ValueError) as error:  # a name that holds a null character is the second
        raise OSError(f"{target}: {getattr(error, 'strerror', None) or error}") from None


def name_folder(folder: Path, target: Path, aside: Path) -> None:
    """Give a folder that is whole its name; what has the name is set aside, and has it again if that breaks off.

    Raises `OSError` if that cannot be done.
    """
    try:
        if os.path.lexists(target):
            target.rename(aside)
        folder.rename(target)
    except BaseException:
        take_back(target, aside)
        raise


def take_back(target: Path, aside: Path) -> None:
    """Give what was set aside its name again, if nothing has it."""
    if os.path.lexists(aside) and not os.path.lexists(target):
        aside.rename(target)


def write_together(files: Iterable[tuple[Path, Any]]) -> list[Path]:
    """Write files of this run's own folder, and return them: each is on the disk before it has its name.

    A killed writer leaves files whose names end with `UNFINISHED`. Raises `OSError` if that cannot be done.
    """
    waiting: list[tuple[IO[bytes], Path, Path]] = []
    try:
        for file, data in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_name(f"{file.name}.{os.urandom(RANDOM).hex()}{UNFINISHED}")
            waiting.append((unfinished.open("xb", buffering=0), unfinished, file))
            left = memoryview(data).cast("B")
            while left:
                left = left[waiting[-1][0].write(left) :]
        for stream, unfinished, file in waiting:
            os.fsync(stream.fileno())
            stream.close()
            unfinished.replace(file)
        return [file for _, _, file in waiting]
    finally:
        for stream, unfinished, _ in waiting:
            stream.close()
            with suppress(OSError):
                unfinished.unlink()


def sync_folders(files: Iterable[Path], root: Path) -> None:
    """Have the names of files below a root on the disk: those in their folders, and of their folders up to the root."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    folders = {folder for file in files for folder in file.parents if folder.is_relative_to(root)}
    for folder in {root, *folders}:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def report_file(target: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write: a pipe or a device is written to as it is, anything else becomes a whole file.

    Raises `OSError` for what cannot be written.
    """
    streams = target.exists() and not target.is_file() and not target.is_dir()
    with target.open("wb") if streams else whole_file(target, force=True) as file:
        yield file


def _check_place(place: Path, *, force: bool) -> None:
    """Raise `OSError` if a file may not have this place."""
    if not os.path.lexists(place):
        return
    if not place.is_file() and (force or place.exists()):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if not force:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))


@contextmanager
def _unseen_file(place: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Yield a locked file in the folder of `place`, and the name that is its own if it needs one."""
    mode = 0o600 if place.exists() else 0o666  # who may read it is settled when it takes the other's place
    parts = [_new_part(place)]
    try:
        descriptor = _unnamed(place.parent, mode)
        while descriptor is None:
            parts.append(_new_part(place))
            descriptor = _named(parts[-1], mode)
        with os.fdopen(descriptor, "r+b") as file:
            yield file, parts[-1]
    finally:
        for part in parts:
            with suppress(FileNotFoundError):
                part.unlink()


def _unnamed(folder: Path, mode: int) -> int | None:
    """Return the descriptor of a locked file without a name; None where there are none."""
    if not UNNAMED:
        return None
    try:
        descriptor = os.open(folder, READ_AND_WRITE | UNNAMED, mode)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        return None
    _lock(descriptor)
    return descriptor


def _named(part: Path, mode: int) -> int | None:
    """Return the descriptor of a new, locked file; None if somebody took it for one that was left over."""
    descriptor = os.open(part, READ_AND_WRITE | os.O_CREAT | os.O_EXCL, mode)
    _lock(descriptor)
    if part.exists():
        return descriptor
    os.close(descriptor)
    return None


def _take_name(file: IO[bytes], part: Path, place: Path) -> None:
    """Give a file a name that nobody has; raise `FileExistsError` if somebody has it."""
    named = part.exists()
    if fcntl is None:
        file.close()
    try:
        _link(part if named else file, place)
    except FileExistsError:
        raise
    except OSError:
        if not named:
            raise
        os.close(os.open(place, os.O_CREAT | os.O_EXCL))  # a file system without links: the name is taken first
        part.replace(place)


def _take_place(file: IO[bytes], part: Path, place: Path) -> None:
    """Put a file in the place of another, if there is one, with its mode and owner."""
    _keep_mode_and_owner(file.fileno(), place)
    if not part.exists():
        _link(file, part)
    if fcntl is None:
        file.close()
    part.replace(place)


def _link(file: IO[bytes] | Path, name: Path) -> None:
    """Give a file a name. One that has none is found in `/proc`."""
    if isinstance(file, Path):
        os.link(file, name)
    else:  # a descriptor of a folder, used or not, makes Python call linkat, which follows the link
        os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=file.fileno())


def _keep_mode_and_owner(descriptor: int, place: Path) -> None:
    """Give a file the mode of the one in its place, and its owner and group where the system lets it."""
    if not place.exists() or not hasattr(os, "fchown"):
        return
    kept, own = place.stat(), os.fstat(descriptor)
    mode = kept.st_mode & 0o777
    with suppress(OSError):
        if kept.st_uid != own.st_uid:
            os.fchown(descriptor, kept.st_uid, -1)
    try:
        if kept.st_gid != own.st_gid:
            os.fchown(descriptor, -1, kept.st_gid)
    except OSError:  # another group gets what everybody gets
        mode = mode & ~0o070 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def _part_name(place: Path) -> tuple[str, str]:
    """Return what the names of a target's parts start with, and what they end with, around the random part."""
    from platform import node

    return f".{place.name[:LONGEST_NAME]}.{node()[:LONGEST_NAME]}.", ".part"


def _new_part(place: Path) -> Path:
    start, end = _part_name(place)
    return place.with_name(f"{start}{os.urandom(RANDOM).hex()}{end}")


def _lock(descriptor: int) -> None:
    """Hold a lock on a file as long as it is open. Where a file system has none, nobody removes what is left over."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def lock_now(file: IO[bytes]) -> None:
    """Hold a lock on a file as long as it is open; raise `BlockingIOError` if another process holds it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_left_over_parts(place: Path) -> None:
    """Remove what killed writers of a target have left in its folder, on this host and as this user."""
    start, end = _part_name(place)
    length = len(start) + 2 * RANDOM + len(end)
    with suppress(OSError):
        for name in os.listdir(place.parent):  # noqa: PTH208 - a folder of many files is listed sooner so
            if name.startswith(start) and name.endswith(end) and len(name) == length:
                _remove_if_left_over(place.with_name(name))


def _remove_if_left_over(part: Path) -> None:
    """Remove a part if it is a file of this user that no writer holds, and if the system lets us."""
    with suppress(OSError), os.fdopen(os.open(part, READ_AND_WRITE | WITHOUT_WAITING), "r+b") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
            return
        lock_now(file)
        if fcntl is None:
            file.close()
        part.unlink()
