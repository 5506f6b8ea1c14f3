"""A chain carried out on a store: planned, written as a part, given its name when it is whole, and verified.

An output that is not whole yet is `OUT.part`, a folder with the array, a manifest, and a line for each task done.
Nobody but its owner goes on with it, and one process at a time: the folder's manifest is locked. To verify an output,
where each element comes from is computed by its coordinates alone, and both are compared.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

import shapecalc
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.examples import moving_stages
from shapecalc.core.moves import index_before
from shapecalc.core.record import Record
from shapecalc.core.text import path_and_member
from shapecalc.engine.arrays import FileError
from shapecalc.engine.copying import tile_in_order
from shapecalc.engine.headers import reason_of
from shapecalc.engine.plan import concrete_moves
from shapecalc.engine.processes import Endings
from shapecalc.engine.stores import stores
from shapecalc.engine.stores.axis_map import AxisMap, MoveError, Sizes, fewest_maps
from shapecalc.engine.stores.plan import Pass, Plan, PlanError, plan_store
from shapecalc.engine.stores.regions import grid
from shapecalc.engine.stores.workers import Runner, Work
from shapecalc.engine.whole_files import UNFINISHED, lock_now, name_folder, sync_folders, take_back, write_whole

METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
"""Files of an array that are no chunks."""
MANIFEST, DONE, ARRAY, REPLACED = "manifest.json", "done", "array.zarr", "replaced.zarr"
RECORDS = 2
"""The version of what is noted of a task that is done."""
KEPT = 24 << 20
"""The bytes that libraries and the allocator of a worker keep beside what its tasks hold, as measured."""
COMPARED = 1 << 18
"""The most elements that are compared at once."""
SAMPLED = 64
"""How many elements a sample has, besides the first and the last."""
Index = tuple[Any, ...]


class Job(Record):
    """A chain to carry out on a store: the source, the plan, and how many tasks run at once in a worker."""

    source: str
    """An absolute place: workers have folders of their own."""
    state: str
    """What the source was before it was opened."""
    store: stores.Store
    plan: Plan
    threads: int

    @property
    def memory(self) -> int:
        """The bytes that a worker holds at most, beyond what it held before."""
        return self.plan.memory * self.threads + KEPT


class Difference(Record):
    """An element of the output that is not the source's."""

    index: tuple[int, ...]
    found: str
    expected: str


class PartialOutput:
    """A part that this process holds."""

    def __init__(self, folder: Path, log: IO[str]) -> None:
        """Read which tasks are done."""
        self.folder, self._log = folder, log
        self.done = _read_done(folder / DONE)

    def array(self, number: int) -> Path:
        """Return the folder of the array that a pass writes."""
        return self.folder / f"{number}.{ARRAY}"

    def record(self, number: int, task: int, done: stores.Written) -> None:
        """Note that a task of a pass is done."""
        self.done[number, task] = done
        self._log.write(f"{number} {task} {done.checksum} {done.files} {done.size}\n")
        self._log.flush()

    def is_whole(self, number: int, plan: Pass) -> bool:
        """Say whether all tasks of a pass are done; forget those whose files do not hold any more what was written."""
        array = self.array(number)
        chunks = stores.open_to_write(str(array)) if is_array(array) else None
        noted = {task: done for (own, task), done in self.done.items() if own == number}
        for task, done in noted.items():
            if chunks is None or task >= plan.tasks or chunks.held(plan.region(task)) != done:
                del self.done[number, task]
        return chunks is not None and sum(own == number for own, _ in self.done) == plan.tasks

    def check_whole(self, number: int) -> None:
        """Raise `FileError` if files of a pass are not there; remove what killed writers have left among them."""
        noted = [done for (own, _), done in self.done.items() if own == number]
        expected = sum([done.files for done in noted]), sum([done.size for done in noted])
        count = size = 0
        for folder, _, names in os.walk(self.array(number)):
            for name in names:
                if name.endswith(UNFINISHED):
                    Path(folder, name).unlink()
                elif name not in METADATA:
                    count, size = count + 1, size + Path(folder, name).stat().st_size
        if (count, size) != expected:
            there = f"{expected[0]} files of {expected[1]} bytes were written, and {count} of {size} are there"
            raise FileError(f"{self.folder}: {there}; --resume goes on")


def unfinished_folder(target: Path) -> Path:
    """Return where an output is written until it is whole."""
    return target.with_name(f"{target.name}.part")


@contextmanager
def locked_part(target: Path, manifest: dict[str, Any], *, resume: bool) -> Iterator[PartialOutput]:
    """Yield the part of an output: a new one, or with `resume` the one that is there, if its manifest is the same.

    Raises `FileError` if there is a part and `resume` is not given, if it is of another request, source or owner, or
    if another process holds it; `OSError` if it cannot be written.
    """
    folder = unfinished_folder(target)
    if os.path.lexists(folder):
        _check_own(folder)
    else:
        folder.mkdir()
    if any(folder.iterdir()):
        if not resume:
            raise FileError(f"{folder}: it is there already; --resume goes on with it, or remove it: rm -r {folder}")
        _check_manifest(folder, manifest)
    else:
        write_whole(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
    with (folder / MANIFEST).open("rb") as locked, (folder / DONE).open("a", encoding="ascii") as log:
        try:
            lock_now(locked)
        except BlockingIOError:
            raise FileError(f"{folder}: another process writes it") from None
        yield PartialOutput(folder, log)


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise `FileError` if a part is not of this request and source."""
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise FileError(f"{folder}: its manifest cannot be read; remove it: rm -r {folder}") from None
    for name, own in manifest.items():
        if not isinstance(found, dict) or found.get(name) != own:
            raise FileError(f"{folder}: its {name} is another than that of this run; remove it: rm -r {folder}")


def _check_own(folder: Path) -> None:
    """Raise `FileError` for a part that is no folder of this user."""
    if folder.is_symlink() or not folder.is_dir():
        raise FileError(f"{folder}: it is no folder of its own")
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise FileError(f"{folder}: it is of another owner")


def _read_done(file: Path) -> dict[tuple[int, int], stores.Written]:
    """Return what is noted of the tasks that are done; a last line that is cut short does not count."""
    lines = file.read_text("ascii", "replace").splitlines(keepends=True)
    words = [line.split() for line in lines if line.endswith("\n")]
    if lines and not lines[-1].endswith("\n"):
        write_whole(file, "".join(lines[:-1]).encode(), force=True)
    numbers = [[*map(int, each)] for each in words if len(each) == 5 and all(word.isdigit() for word in each)]
    return {(number, task): stores.Written(*done) for number, task, *done in numbers}


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
    try:
        found = stores.read_metadata(folder)
    except (OSError, ValueError):
        return False
    return found.version == 2 or bool(found.main.get("node_type") == "array")


def finish(partial: PartialOutput, number: int, target: Path) -> None:
    """Give the array of the last pass its name, and remove its part, in which what had the name is set aside."""
    partial.check_whole(number)
    name_folder(partial.array(number), target, partial.folder / REPLACED)
    sync_folders([target], target.parent)
    _remove(partial.folder)


def settle_broken_off(target: Path) -> None:
    """Finish or take back what a run that was killed has left between the two names of its output."""
    folder = unfinished_folder(target)
    if not (folder / REPLACED).is_dir():
        return
    _check_own(folder)
    try:
        with (folder / MANIFEST).open("rb") as locked:
            lock_now(locked)
            if target.exists() and not [*folder.glob(f"*.{ARRAY}")]:
                _remove(folder)
            else:
                take_back(target, folder / REPLACED)
    except BlockingIOError:
        return
    except OSError as error:
        raise FileError(f"{folder}: {reason_of(error)}") from None


def _remove(folder: Path) -> None:
    """Remove a part that is not needed any more; what was replaced goes first, as it takes longest."""
    shutil.rmtree(folder / REPLACED, ignore_errors=True)
    shutil.rmtree(folder)


def plan_job(answer: Trace | Chain, source: str, memory: int, threads: int, chunks: Sizes | None = None) -> Job:
    """Return the job of an answer on a store, with fewer threads in a worker if the memory is too little for all.

    Raises `FileError` if the store cannot be used, or if the chain or the memory does not allow a plan; `ShapeError`
    (usage) if the answer is refused or has names.
    """
    place = os.path.join(Path.cwd(), source)  # noqa: PTH118 - the name of an array stays as it is
    state = stores.state_of(place)
    moves, store = concrete_moves(answer), stores.open_store(place)
    shape: Sizes = answer.output  # type: ignore[assignment]  # all of them are numbers
    if chunks is not None and (len(chunks) != len(shape) or min(chunks, default=1) < 1):
        raise FileError(f"{source}: --chunks needs {len(shape)} sizes above 0, one for each axis of the output")
    itemsize = store.array.dtype.itemsize
    if 0 in store.array.shape or 0 in shape:
        none = (0,) * len(store.array.shape)
        empty = AxisMap(store.array.shape, shape, (), none, none)
        steps = chunks or tuple([max(1, size) for size in shape])
        return Job(place, state, store, Plan((Pass(empty, itemsize, store.chunks, steps, steps),)), threads)
    try:
        maps = fewest_maps(store.array.shape, moves)
        for count in range(threads, 0, -1):
            try:
                plan = plan_store(maps, itemsize, store.chunks, max(0, memory - KEPT) // count, chunks)
                return Job(place, state, store, plan, count)
            except PlanError as error:
                needed = error.needed + KEPT
    except MoveError as error:
        raise FileError(f"{source}: {error}") from None
    raise FileError(f"{source}: a worker needs --memory {-(-needed >> 20)}MiB at least")


def carry_job(job: Job, target: Path, run: Runner, tick: Callable[[int], object], *, force: bool, resume: bool) -> None:
    """Carry a job out; call `tick` with the bytes of each task that is done.

    Raises `FileError` if the output cannot be written, or exists and `force` is not given, if there is a part of it
    and `resume` is not given or the part is of another job; `KeyboardInterrupt`, by signals too, and leaves the part.
    """
    target = target.absolute()
    source = Path(path_and_member(job.source)[0])
    check_target(target, source, force=force)
    manifest = {
        "format of records": RECORDS,
        "request": [[repr(each.axis_map), [*each.chunks], [*each.task]] for each in job.plan.passes],
        "source": [job.source, job.state],
        "shapecalc": shapecalc.__version__,
    }
    with Endings():
        try:
            with locked_part(target, manifest, resume=resume) as partial:
                _do_passes(job, partial, run, tick)
                check_target(target, source, force=force)
                finish(partial, len(job.plan.passes) - 1, target)
        except FileError:
            raise
        except Exception as error:
            how = "; mend it and go on with --resume" if unfinished_folder(target).is_dir() else ""
            raise FileError(f"{target}: {reason_of(error)}{how}") from error


def _do_passes(job: Job, partial: PartialOutput, run: Runner, tick: Callable[[int], object]) -> None:
    """Do the passes that are not done yet. What a pass has read is removed when what it wrote is whole."""
    passes = job.plan.passes
    whole = (number for number in reversed(range(len(passes))) if partial.is_whole(number, passes[number]))
    begin = next(whole, -1) + 1
    tick(sum([plan.written for plan in passes[:begin]]))
    for number, plan in enumerate(passes[begin:], begin):
        source, array = str(partial.array(number - 1)) if number else job.source, partial.array(number)
        if not is_array(array):
            stores.create_store(array, stores.open_store(source) if number else job.store, plan.axis_map, plan.chunks)
        work = Work(plan, source, str(array), stores.state_of(source) if number else job.state)
        _do_pass(work, number, partial, run, tick)
        partial.check_whole(number)
        if stores.state_of(source) != work.state:
            raise FileError(f"{source}: it was changed while it was read; begin anew: rm -r {partial.folder}")
        if number:
            shutil.rmtree(source, ignore_errors=True)


def _do_pass(work: Work, number: int, partial: PartialOutput, run: Runner, tick: Callable[[int], object]) -> None:
    """Do the tasks of a pass that are not done yet, and note each."""
    each = work.plan.written // max(1, work.plan.tasks)
    numbers = [task for task in range(work.plan.tasks) if (number, task) not in partial.done]
    tick(each * (work.plan.tasks - len(numbers)))
    doing = run(work, numbers)
    try:
        for task, done in doing:
            partial.record(number, task, done)
            tick(each)
    finally:
        doing.close()  # type: ignore[attr-defined]  # it is a generator


# Verifying


def first_difference(
    answer: Trace | Chain, source: str, output: str, how: str, memory: int, tick: Callable[[int], object]
) -> Difference | None:
    """Return the first difference of an output from what the answer makes of the source; None if there is none.

    `how` is `all`, or `sample` for a few elements. Up to `memory` bytes of decoded chunks are kept. An output of
    another shape or type differs at its first element. Raises `FileError` if one of them cannot be opened; `OSError`,
    `Unreadable` if one of them is damaged.
    """
    before, after = stores.open_store(source), stores.open_store(output)
    if after.array.shape != answer.output or after.array.dtype != before.array.dtype:
        return Difference((), f"{after.array.shape} {after.array.dtype}", f"{answer.output} {before.array.dtype}")
    theirs, ours = _Reader(before, memory // 2), _Reader(after, memory // 2)
    for index, count in _every(after) if how == "all" else _sample(after):
        origin: Any = index
        for _, shape, move in reversed(moving_stages(answer)):
            origin = index_before(origin, shape, move)
        with stores.running_codecs():
            expected, found = theirs.elements(origin, count), ours.elements(index, count)
        wrong = (_bytes(expected) != _bytes(found)).any(axis=1)
        if wrong.any():
            place = int(np.argmax(wrong))
            return Difference(tuple([int(at[place]) for at in index]), str(found[place]), str(expected[place]))
        tick(len(found) * found.itemsize)
    return None


def _bytes(elements: Any) -> Any:
    return np.ascontiguousarray(elements).view(np.uint8).reshape(len(elements), -1)


def _every(store: stores.Store) -> Iterator[tuple[Index, int]]:
    """Yield the indices of all elements, a chunk or a part of one at a time, and how many they are."""
    shape = store.array.shape
    steps = tile_in_order([*map(min, shape, store.chunks)], COMPARED)
    for region in grid(shape, steps) if prod(shape) else ():
        counts = [stop - start for start, stop in region]
        places = np.indices(counts).reshape(len(counts), prod(counts))
        yield tuple([own + start for own, (start, _) in zip(places, region, strict=True)]), prod(counts)


def _sample(store: stores.Store) -> Iterator[tuple[Index, int]]:
    """Yield the indices of a few elements, drawn evenly, with the first and the last, and how many they are."""
    shape, draw = store.array.shape, np.random.default_rng()
    if prod(shape):
        drawn = [np.concatenate(([0, size - 1], draw.integers(0, size, SAMPLED))) for size in shape]
        yield tuple(drawn), SAMPLED + 2


class _Reader:
    """Reads elements at indices by whole chunks, and keeps the last ones, up to `memory` bytes."""

    def __init__(self, store: stores.Store, memory: int) -> None:
        self.store = store
        most = memory // max(1, prod(store.chunks) * store.array.dtype.itemsize)
        self.chunk = lru_cache(max(1, most))(self._chunk)

    def elements(self, index: Index, count: int) -> Any:
        """Return the elements at so many indices."""
        array, chunks = self.store.array, self.store.chunks
        if not array.shape:
            return self.store.source[()].reshape(1).repeat(count)
        index = tuple([np.broadcast_to(at, count) for at in index])
        grid = [-(-size // step) for size, step in zip(array.shape, chunks, strict=True)]
        numbers = np.ravel_multi_index([at // step for at, step in zip(index, chunks, strict=True)], grid)
        found = np.empty(len(numbers), array.dtype)
        for number in np.unique(numbers):
            here = numbers == number
            corner = tuple(
                [int(place) * step for place, step in zip(np.unravel_index(number, grid), chunks, strict=True)]
            )
            found[here] = self.chunk(corner)[tuple([at[here] - start for at, start in zip(index, corner, strict=True)])]
        return found

    def _chunk(self, corner: Sizes) -> Any:
        axes = zip(corner, self.store.chunks, self.store.array.shape, strict=True)
        return self.store.source[[slice(start, min(start + step, size)) for start, step, size in axes]]
