"""An output that is not whole yet: `OUT.part`, a folder with the array, a manifest, and a line for each task done.

Nobody but its owner goes on with it, and one process at a time: the folder's manifest is locked.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shapecalc.engine.files import FileError
from shapecalc.engine.stores.tasks import Done
from shapecalc.engine.whole_files import UNFINISHED, name_folder, sync_folders, write_whole

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from shapecalc.engine.stores.chunks import Chunks
    from shapecalc.engine.stores.plan import Pass

METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
"""Files of an array that are no chunks."""
MANIFEST, DONE, ARRAY = "manifest.json", "done", "array.zarr"


class Part:
    """A part that this process holds."""

    def __init__(self, folder: Path, log: IO[str]) -> None:
        """Read which tasks are done."""
        self.folder, self._log = folder, log
        self.done = _read_done(folder / DONE)

    def array(self, number: int) -> Path:
        """Return the folder of the array that a pass writes."""
        return self.folder / f"{number}.{ARRAY}"

    def record(self, number: int, task: int, done: Done) -> None:
        """Note that a task of a pass is done."""
        self.done[number, task] = done
        self._log.write(f"{number} {task} {done.checksum} {done.files}\n")
        self._log.flush()

    def forget_lost(self, number: int, plan: Pass, chunks: Chunks) -> None:
        """Forget the tasks of a pass of which files are not there any more."""
        for (pass_number, task), done in [*self.done.items()]:
            if pass_number == number:
                there = sum(chunks.file(place).exists() for place in chunks.places(plan.box(task)))
                if there != done.files:
                    del self.done[number, task]

    def check_whole(self, number: int) -> None:
        """Raise `FileError` if files of a pass are not there; remove what killed writers have left among them."""
        expected = sum([done.files for (pass_number, _), done in self.done.items() if pass_number == number])
        count = 0
        for folder, _, names in os.walk(self.array(number)):
            for name in names:
                if name.endswith(UNFINISHED):
                    Path(folder, name).unlink()
                elif name not in METADATA:
                    count += 1
        if count != expected:
            raise FileError(f"{self.folder}: of {expected} files that were written {count} are there; --resume goes on")


def part_of(target: Path) -> Path:
    """Return where an output is written until it is whole."""
    return target.with_name(f"{target.name}.part")


@contextmanager
def held_part(target: Path, manifest: dict[str, Any], *, resume: bool) -> Iterator[Part]:
    """Yield the part of an output: a new one, or with `resume` the one that is there, if its manifest is the same.

    Raises `FileError` if there is a part and `resume` is not given, if it is of another request, source or owner, or
    if another process holds it; `OSError` if it cannot be written.
    """
    folder = part_of(target)
    if os.path.lexists(folder):
        if not resume:
            raise FileError(f"{folder}: it is there already; --resume goes on with it, or remove it: rm -r {folder}")
        _check_manifest(folder, manifest)
    else:
        folder.mkdir()
        write_whole(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
    with (folder / MANIFEST).open("rb") as locked, (folder / DONE).open("a", encoding="ascii") as log:
        _lock(locked, folder)
        yield Part(folder, log)


def _lock(file: IO[bytes], folder: Path) -> None:
    """Hold a lock as long as the file is open; raise `FileError` if another process holds it."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(f"{folder}: another process writes it") from None


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise `FileError` if a part is not of this request, source and owner."""
    if folder.is_symlink() or not folder.is_dir():
        raise FileError(f"{folder}: it is no folder of its own")
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise FileError(f"{folder}: it is of another owner")
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise FileError(f"{folder}: its manifest cannot be read; remove it: rm -r {folder}") from None
    for name, own in manifest.items():
        if not isinstance(found, dict) or found.get(name) != own:
            raise FileError(f"{folder}: its {name} is another than that of this run; remove it: rm -r {folder}")


def _read_done(file: Path) -> dict[tuple[int, int], Done]:
    """Return what is noted of the tasks that are done; a last line that is cut short does not count."""
    lines = file.read_text("ascii", "replace").splitlines(keepends=True)
    words = [line.split() for line in lines if line.endswith("\n")]
    if lines and not lines[-1].endswith("\n"):
        write_whole(file, "".join(lines[:-1]).encode(), force=True)
    numbers = [[*map(int, each)] for each in words if len(each) == 4 and all(word.isdigit() for word in each)]
    return {(each[0], each[1]): Done(each[2], each[3]) for each in numbers}


def check_target(target: Path, source: Path, *, force: bool) -> None:
    """Raise `FileError` if an output may not have a name.

    It is the source's, or around or inside it; it is there, or with `force`, it is no array to replace.
    """
    if not target.parent.is_dir():
        raise FileError(f"{target}: there is no folder {target.parent}")
    mine, theirs = target.parent.resolve() / target.name, source.resolve()
    if mine == theirs or mine in theirs.parents or theirs in mine.parents:
        raise FileError(f"{target}: the output is the input, or around or inside it")
    if not os.path.lexists(target):
        return
    if not force:
        raise FileError(f"{target}: it exists; --force writes over it, --verify compares it")
    if target.is_symlink() or not target.is_dir() or not is_array(target):
        raise FileError(f"{target}: it is no folder of a Zarr array, so it is not replaced")


def is_array(folder: Path) -> bool:
    """Say whether a folder is a Zarr array at its root, and no group."""
    if (folder / ".zarray").is_file():
        return True
    try:
        return bool(json.loads((folder / "zarr.json").read_text("utf-8"))["node_type"] == "array")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def finish(part: Part, number: int, target: Path) -> None:
    """Give the array of the last pass its name, and remove its part."""
    part.check_whole(number)
    name_folder(part.array(number), target)
    sync_folders([target], target.parent)
    shutil.rmtree(part.folder)
