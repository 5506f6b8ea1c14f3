"""Atomic file writes: an output file appears complete or not at all.

The target is the path of the output file. The data is first written to an unnamed file (`O_TMPFILE`) in the folder of
the target. The file gets the target's name when it is complete and flushed to the disk, so a killed process leaves no
file behind. The folder is flushed as well. On systems without unnamed files, and briefly while an existing file is
replaced, the data is in a part file: a temporary file called `.TARGET.HOST.RANDOM.part`. The writer of a part file
keeps the file locked. An unlocked part file is stale, and the next writer of the same target removes it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from shapecalc.core.problem import error_reason
from shapecalc.engine.processes import SignalGuard

try:
    import fcntl
except ImportError:  # on Windows, an open file cannot be removed or renamed
    fcntl = None  # type: ignore[assignment]

TMPFILE_FLAG = getattr(os, "O_TMPFILE", 0) if Path("/proc/self/fd").exists() else 0
"""The flag that opens an unnamed file, or 0 if the system has no unnamed files."""
READ_WRITE_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0)
NO_WAIT_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
PARTIAL_SUFFIX = ".partial"
"""The suffix of the temporary files that `write_files` creates."""
UNSUPPORTED_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EROFS)
"""The errors of file systems on which folders cannot be flushed. Source: fsync(2)."""
LOCK_POLL_SECONDS = 0.01
"""The time between two attempts to lock a folder, in seconds."""
RANDOM_BYTES = 8
"""The number of random bytes in the name of a part file."""
MAX_NAME_LENGTH = 40
"""The length, in characters, to which the names of target and host are truncated in the name of a part file.

File systems limit a file name to 255 bytes.
"""


@contextmanager
def atomic_file(
    target: Path, *, force: bool = False, should_commit: Callable[[], bool] = lambda: True
) -> Iterator[IO[bytes]]:
    """Yield a writable file that becomes `target` when the `with` block ends.

    If `should_commit` returns False at the end of the block, the file is discarded. With `force`, the file replaces an
    existing regular file, and gets its mode and, if permitted, its owner; symbolic links are followed. Raises
    `FileExistsError` if the target exists and `force` is false, even if the target was created during the block. Raises
    `OSError` if the target is a folder, a pipe or a device, or if the file cannot be written.
    """
    place = Path(os.path.realpath(target)) if force else target
    _check_target(place, force=force)
    _remove_stale_parts(place)
    with SignalGuard() as endings, _open_part_file(place) as (file, part):
        yield file
        file.flush()
        os.fsync(file.fileno())
        if endings.is_interrupted:
            raise KeyboardInterrupt
        if should_commit():
            _check_target(place, force=force)
            (_replace_target if force else _link_target)(file, part, place)
            _sync_folders([place.parent])


def write_atomically(target: Path, data: bytes, *, force: bool = False) -> None:
    """Write `data` to a file atomically.

    Raises `OSError` with a one-line message that contains the file and the reason.
    """
    try:
        with atomic_file(target, force=force) as file:
            file.write(data)
    except FileExistsError:
        raise FileExistsError(f"{target}: it exists") from None
    except (OSError, ValueError) as error:  # a null character in the name raises `ValueError`
        raise OSError(f"{target}: {error_reason(error)}") from None


def rename_and_sync(source: Path, target: Path) -> None:
    """Rename a file or a folder, and flush both parent folders to the disk.

    Raises `OSError` if the file cannot be renamed, or if a folder cannot be flushed.
    """
    source.replace(target)
    _sync_folders([source.parent, target.parent])


def replace_folder(folder: Path, target: Path, backup: Path) -> None:
    """Rename `folder` to `target`, after an existing target is renamed to `backup`.

    If a rename fails or is interrupted, the existing target is restored. Raises `OSError` if a folder cannot be
    renamed.
    """
    try:
        if os.path.lexists(target):
            rename_and_sync(target, backup)
        rename_and_sync(folder, target)
    except BaseException:
        restore_backup(target, backup)
        raise


def restore_backup(target: Path, backup: Path) -> None:
    """Rename `backup` to `target` if only `backup` exists."""
    if os.path.lexists(backup) and not os.path.lexists(target):
        rename_and_sync(backup, target)


def write_files(files: Iterable[tuple[Path, Any]], root: Path) -> list[Path]:
    """Write data to files below the folder `root`, and return the paths.

    Each of `files` is a path with its data. No other process may use the folders of the files. Each file is flushed to
    the disk before it gets its final name; then all folders of the files, up to and including `root`, are flushed. If
    the process is killed, temporary files with the suffix `PARTIAL_SUFFIX` remain. Raises `OSError` if a file cannot be
    written.
    """
    pending: list[tuple[IO[bytes], Path, Path]] = []
    try:
        for file, data in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_name(f"{file.name}.{os.urandom(RANDOM_BYTES).hex()}{PARTIAL_SUFFIX}")
            pending.append((unfinished.open("xb", buffering=0), unfinished, file))
            remaining = memoryview(data).cast("B")
            while remaining:
                remaining = remaining[pending[-1][0].write(remaining) :]
        for stream, unfinished, file in pending:
            os.fsync(stream.fileno())
            stream.close()
            unfinished.replace(file)
        paths = [file for _, _, file in pending]
        _sync_folders([folder for path in paths for folder in path.parents if folder.is_relative_to(root)])
        return paths
    finally:
        for stream, unfinished, _ in pending:
            stream.close()
            with suppress(OSError):
                unfinished.unlink()


def _sync_folders(folders: Iterable[Path]) -> None:
    """Flush folders to the disk, so that their entries survive a power failure.

    A folder that may be written but not read is not flushed. Raises `OSError` if the disk fails.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    for folder in {*folders}:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            continue
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in UNSUPPORTED_SYNC:
                raise
        finally:
            os.close(descriptor)


@contextmanager
def lock_folder(folder: Path, timeout: float = 2) -> Iterator[None]:
    """Hold an exclusive lock on a folder until the `with` block ends.

    The lock is advisory: it excludes only other callers of this function. If the system or the file system does not
    support such locks, the folder is not locked. Raises `OSError` if the folder cannot be opened, or if another process
    holds the lock for `timeout` seconds.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = monotonic() + timeout
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > deadline:
                    raise OSError(errno.EAGAIN, "another process has locked its folder") from None
                sleep(LOCK_POLL_SECONDS)
            except OSError:
                break  # the file system does not support locks
        yield
    finally:
        os.close(descriptor)


@contextmanager
def open_report_file(target: Path) -> Iterator[IO[bytes]]:
    """Open a report file for writing.

    A regular file is written atomically. A pipe or a device is opened directly. Raises `OSError` if the file cannot
    be written.
    """
    streams = target.exists() and not target.is_file() and not target.is_dir()
    with target.open("wb") if streams else atomic_file(target, force=True) as file:
        yield file


def _check_target(target: Path, *, force: bool) -> None:
    """Raise `OSError` unless the target is new, or a regular file and `force` is set."""
    if not os.path.lexists(target):
        return
    if not target.is_file() and (force or target.exists()):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if not force:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


@contextmanager
def _open_part_file(target: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Yield a locked temporary file in the folder of `target`, with its part path.

    If the system supports unnamed files, the file is unnamed, and there is no file at the part path.
    """
    mode = 0o600 if target.exists() else 0o666  # the file is private until it gets the mode of an existing target
    parts = [_new_part_path(target)]
    try:
        descriptor = _open_unnamed(target.parent, mode)
        while descriptor is None:
            parts.append(_new_part_path(target))
            descriptor = _create_part_file(parts[-1], mode)
        with os.fdopen(descriptor, "r+b") as file:
            yield file, parts[-1]
    finally:
        for part in parts:
            with suppress(FileNotFoundError):
                part.unlink()


def _open_unnamed(folder: Path, mode: int) -> int | None:
    """Open and lock an unnamed file.

    Returns None if the system has no unnamed files.
    """
    if not TMPFILE_FLAG:
        return None
    try:
        descriptor = os.open(folder, READ_WRITE_FLAGS | TMPFILE_FLAG, mode)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        return None
    _lock_file(descriptor)
    return descriptor


def _create_part_file(part: Path, mode: int) -> int | None:
    """Create and lock a part file, and return its descriptor.

    Returns None if another process removed the file as stale before it was locked.
    """
    descriptor = os.open(part, READ_WRITE_FLAGS | os.O_CREAT | os.O_EXCL, mode)
    _lock_file(descriptor)
    if part.exists():
        return descriptor
    os.close(descriptor)
    return None


def _link_target(file: IO[bytes], part: Path, target: Path) -> None:
    """Link a file to the path `target`, or raise `FileExistsError` if it exists."""
    has_name = part.exists()
    if fcntl is None:
        file.close()
    try:
        _create_hard_link(part if has_name else file, target)
    except FileExistsError:
        raise
    except OSError:
        if not has_name:
            raise
        # on a file system without hard links, the target is created and then replaced
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        part.replace(target)


def _replace_target(file: IO[bytes], part: Path, target: Path) -> None:
    """Copy the mode and owner of `target` to a file, and replace `target` with it."""
    _copy_mode_and_owner(file.fileno(), target)
    if not part.exists():
        _create_hard_link(file, part)
    if fcntl is None:
        file.close()
    part.replace(target)


def _create_hard_link(file: IO[bytes] | Path, target: Path) -> None:
    """Create a hard link to a file.

    An unnamed file is linked through `/proc`.
    """
    if isinstance(file, Path):
        os.link(file, target)
    else:  # with `src_dir_fd`, Python follows the symbolic link in /proc
        os.link(f"/proc/self/fd/{file.fileno()}", target, src_dir_fd=file.fileno())


def _copy_mode_and_owner(descriptor: int, target: Path) -> None:
    """Copy the mode of `target` to an open file, and its owner if permitted."""
    if not target.exists() or not hasattr(os, "fchown"):
        return
    old, new = target.stat(), os.fstat(descriptor)
    mode = old.st_mode & 0o777
    with suppress(OSError):
        if old.st_uid != new.st_uid:
            os.fchown(descriptor, old.st_uid, -1)
    try:
        if old.st_gid != new.st_gid:
            os.fchown(descriptor, -1, old.st_gid)
    except OSError:  # the file keeps a different group, which gets only the permissions of others
        mode = mode & ~0o070 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def _part_affixes(target: Path) -> tuple[str, str]:
    """Return the prefix and the suffix of the part files of a target."""
    from platform import node  # deferred: importing `platform` takes 2 ms, and only commands that write files need it

    return f".{target.name[:MAX_NAME_LENGTH]}.{node()[:MAX_NAME_LENGTH]}.", ".part"


def _new_part_path(target: Path) -> Path:
    start, end = _part_affixes(target)
    return target.with_name(f"{start}{os.urandom(RANDOM_BYTES).hex()}{end}")


def _lock_file(descriptor: int) -> None:
    """Lock a file until it is closed.

    On a file system without locks, the file is not locked, and stale part files are not removed.
    """
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def lock_nonblocking(file: IO[bytes]) -> None:
    """Lock a file until it is closed, or raise `BlockingIOError` if it is locked."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_stale_parts(target: Path) -> None:
    """Remove the stale part files of a target that this user created on this host."""
    start, end = _part_affixes(target)
    length = len(start) + 2 * RANDOM_BYTES + len(end)
    with suppress(OSError):
        for name in os.listdir(target.parent):  # noqa: PTH208 - faster than iterdir
            if name.startswith(start) and name.endswith(end) and len(name) == length:
                _remove_if_stale(target.with_name(name))


def _remove_if_stale(part: Path) -> None:
    """Remove a part file if it is an unlocked regular file of this user."""
    with suppress(OSError), os.fdopen(os.open(part, READ_WRITE_FLAGS | NO_WAIT_FLAGS), "r+b") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
            return
        lock_nonblocking(file)
        if fcntl is None:
            file.close()
        part.unlink()
