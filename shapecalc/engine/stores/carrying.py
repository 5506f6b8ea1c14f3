"""Jobs on stores: plan a chain, execute it into a part, rename and verify it.

An incomplete output is `OUT.part`, a folder with the array, a manifest, and a log with a line per finished task. Only
its owner can resume it, and only one process at a time, because the manifest is locked. To verify an output, the source
index of each element is computed from the moves alone, and the elements at both indices are compared.
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
"""The files of an array that are not chunks."""
MANIFEST, DONE, ARRAY, REPLACED = "manifest.json", "done", "array.zarr", "replaced.zarr"
RECORDS = 2
"""The version of the lines in the log."""
KEPT = 24 << 20
"""The bytes that libraries and the allocator keep per worker, as measured."""
COMPARED = 1 << 18
"""The most elements that are compared at once."""
SAMPLED = 64
"""The number of random elements in a sample; the first and the last are added."""
Index = tuple[Any, ...]
"""An index array for each axis."""


class Job(Record):
    """A chain to execute on a store: its source, plan, and threads per worker."""

    source: str
    """An absolute path, because workers have other working directories."""
    state: str
    """The digest of the source, taken before it was opened."""
    store: stores.Store
    plan: Plan
    threads: int

    @property
    def memory(self) -> int:
        """The most bytes that a worker allocates for the job."""
        return self.plan.memory * self.threads + KEPT


class Difference(Record):
    """An element of the output that differs: its index, its value, the right value."""

    index: tuple[int, ...]
    found: str
    expected: str


class PartialOutput:
    """A part that is locked by this process."""

    def __init__(self, folder: Path, log: IO[str]) -> None:
        """Read the log."""
        self.folder, self._log = folder, log
        self.done = _read_done(folder / DONE)

    def array(self, number: int) -> Path:
        """Return the folder of the array that a pass writes."""
        return self.folder / f"{number}.{ARRAY}"

    def record(self, number: int, task: int, done: stores.Written) -> None:
        """Log a finished task of a pass."""
        self.done[number, task] = done
        self._log.write(f"{number} {task} {done.checksum} {done.files} {done.size}\n")
        self._log.flush()

    def is_whole(self, number: int, plan: Pass) -> bool:
        """Drop tasks of a pass whose files changed; return whether all tasks are done."""
        array = self.array(number)
        chunks = stores.open_to_write(str(array)) if is_array(array) else None
        logged = {task: done for (own_number, task), done in self.done.items() if own_number == number}
        for task, done in logged.items():
            if chunks is None or task >= plan.tasks or chunks.held(plan.region(task)) != done:
                del self.done[number, task]
        return chunks is not None and sum(own_number == number for own_number, _ in self.done) == plan.tasks

    def check_whole(self, number: int) -> None:
        """Raise `FileError` if files of a pass are missing; remove incomplete files."""
        logged = [done for (own_number, _), done in self.done.items() if own_number == number]
        expected = sum([done.files for done in logged]), sum([done.size for done in logged])
        count = size = 0
        for folder, _, names in os.walk(self.array(number)):
            for name in names:
                if name.endswith(UNFINISHED):
                    Path(folder, name).unlink()
                elif name not in METADATA:
                    count, size = count + 1, size + Path(folder, name).stat().st_size
        if (count, size) != expected:
            message = f"{expected[0]} files of {expected[1]} bytes were written, and {count} of {size} are there"
            raise FileError(f"{self.folder}: {message}; --resume goes on")


class _Reader:
    """A reader of elements by whole chunks, which caches up to `memory` bytes of them."""

    def __init__(self, store: stores.Store, memory: int) -> None:
        self.store = store
        most = memory // max(1, prod(store.chunks) * store.array.dtype.itemsize)
        self.chunk = lru_cache(max(1, most))(self._chunk)

    def elements(self, index: Index, count: int) -> Any:
        """Return the elements at index arrays of `count` elements."""
        array, chunks = self.store.array, self.store.chunks
        if not array.shape:
            return self.store.source[()].reshape(1).repeat(count)
        index = tuple([np.broadcast_to(axis_index, count) for axis_index in index])
        grid = [-(-size // step) for size, step in zip(array.shape, chunks, strict=True)]
        chunk_numbers = np.ravel_multi_index(
            [axis_index // step for axis_index, step in zip(index, chunks, strict=True)], grid
        )
        result = np.empty(len(chunk_numbers), array.dtype)
        for chunk_number in np.unique(chunk_numbers):
            in_chunk = chunk_numbers == chunk_number
            corner = tuple(
                [
                    int(chunk_index) * step
                    for chunk_index, step in zip(np.unravel_index(chunk_number, grid), chunks, strict=True)
                ]
            )
            result[in_chunk] = self.chunk(corner)[
                tuple([axis_index[in_chunk] - start for axis_index, start in zip(index, corner, strict=True)])
            ]
        return result

    def _chunk(self, corner: Sizes) -> Any:
        axes = zip(corner, self.store.chunks, self.store.array.shape, strict=True)
        return self.store.source[[slice(start, min(start + step, size)) for start, step, size in axes]]


def unfinished_folder(target: Path) -> Path:
    """Return the folder of an incomplete output."""
    return target.with_name(f"{target.name}.part")


@contextmanager
def locked_part(target: Path, manifest: dict[str, Any], *, resume: bool) -> Iterator[PartialOutput]:
    """Lock the part of an output and yield it.

    It is a new part, or with `resume` an existing one. Raises `FileError` if there is a part without `resume`, if it is
    of another request, source or owner, or if another process has locked it; `OSError` if it cannot be written.
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
    with (folder / MANIFEST).open("rb") as manifest_file, (folder / DONE).open("a", encoding="ascii") as log:
        try:
            lock_now(manifest_file)
        except BlockingIOError:
            raise FileError(f"{folder}: another process writes it") from None
        yield PartialOutput(folder, log)


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise `FileError` if a part is of another request or source."""
    try:
        stored = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise FileError(f"{folder}: its manifest cannot be read; remove it: rm -r {folder}") from None
    for name, expected in manifest.items():
        if not isinstance(stored, dict) or stored.get(name) != expected:
            raise FileError(f"{folder}: its {name} is another than that of this run; remove it: rm -r {folder}")


def _check_own(folder: Path) -> None:
    """Raise `FileError` if a part is not a folder of this user."""
    if folder.is_symlink() or not folder.is_dir():
        raise FileError(f"{folder}: it is no folder of its own")
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise FileError(f"{folder}: it is of another owner")


def _read_done(file: Path) -> dict[tuple[int, int], stores.Written]:
    """Return the finished tasks of a log; remove a last line that is incomplete."""
    lines = file.read_text("ascii", "replace").splitlines(keepends=True)
    rows = [line.split() for line in lines if line.endswith("\n")]
    if lines and not lines[-1].endswith("\n"):
        write_whole(file, "".join(lines[:-1]).encode(), force=True)
    records = [[*map(int, row)] for row in rows if len(row) == 5 and all(word.isdigit() for word in row)]
    return {(number, task): stores.Written(*done) for number, task, *done in records}


def check_target(target: Path, source: Path, *, force: bool) -> None:
    """Raise `FileError` if the output path is not usable.

    It must not be the source, contain it or be in it, and must not exist, unless with `force` it is a Zarr array.
    """
    if not target.parent.is_dir():
        raise FileError(f"{target}: there is no folder {target.parent}")
    real_output, real_source = target.parent.resolve() / target.name, source.resolve()
    if real_output == real_source or real_output in real_source.parents or real_source in real_output.parents:
        raise FileError(f"{target}: the output is the input, or around or inside it")
    if not os.path.lexists(target):
        return
    if not force:
        raise FileError(f"{target}: it exists; --force writes over it, --verify compares it")
    if target.is_symlink() or not target.is_dir() or not is_array(target):
        raise FileError(f"{target}: it is no folder of a Zarr array, so it is not replaced")


def is_array(folder: Path) -> bool:
    """Return whether a folder is a Zarr array, not a group."""
    try:
        metadata = stores.read_metadata(folder)
    except (OSError, ValueError):
        return False
    return metadata.version == 2 or bool(metadata.main.get("node_type") == "array")


def finish(partial: PartialOutput, number: int, target: Path) -> None:
    """Rename the array of the last pass to the output, and remove the part.

    An array that is replaced is moved into the part first.
    """
    partial.check_whole(number)
    name_folder(partial.array(number), target, partial.folder / REPLACED)
    sync_folders([target], target.parent)
    _remove(partial.folder)


def settle_broken_off(target: Path) -> None:
    """Complete or roll back a rename that was interrupted."""
    folder = unfinished_folder(target)
    if not (folder / REPLACED).is_dir():
        return
    _check_own(folder)
    try:
        with (folder / MANIFEST).open("rb") as manifest_file:
            lock_now(manifest_file)
            if target.exists() and not [*folder.glob(f"*.{ARRAY}")]:
                _remove(folder)
            else:
                take_back(target, folder / REPLACED)
    except BlockingIOError:
        return
    except OSError as error:
        raise FileError(f"{folder}: {reason_of(error)}") from None


def _remove(folder: Path) -> None:
    """Remove a part, beginning with the replaced array, whose removal takes longest."""
    shutil.rmtree(folder / REPLACED, ignore_errors=True)
    shutil.rmtree(folder)


def plan_job(answer: Trace | Chain, source: str, memory: int, threads: int, chunks: Sizes | None = None) -> Job:
    """Plan an answer on a store, with fewer threads per worker if the memory is small.

    Raises `FileError` if the store cannot be used, or if the chain or the memory does not allow a plan; `ShapeError`
    (usage) if the answer is refused or has names.
    """
    path = os.path.join(Path.cwd(), source)  # noqa: PTH118 - a Path would normalize the name of the array
    state = stores.state_of(path)
    moves, store = concrete_moves(answer), stores.open_store(path)
    shape: Sizes = answer.output  # type: ignore[assignment]  # all of them are numbers
    if chunks is not None and (len(chunks) != len(shape) or min(chunks, default=1) < 1):
        raise FileError(f"{source}: --chunks needs {len(shape)} sizes above 0, one for each axis of the output")
    itemsize = store.array.dtype.itemsize
    if 0 in store.array.shape or 0 in shape:
        zeros = (0,) * len(store.array.shape)
        empty = AxisMap(store.array.shape, shape, (), zeros, zeros)
        steps = chunks or tuple([max(1, size) for size in shape])
        return Job(path, state, store, Plan((Pass(empty, itemsize, store.chunks, steps, steps),)), threads)
    try:
        maps = fewest_maps(store.array.shape, moves)
        for count in range(threads, 0, -1):
            try:
                plan = plan_store(maps, itemsize, store.chunks, max(0, memory - KEPT) // count, chunks)
                return Job(path, state, store, plan, count)
            except PlanError as error:
                needed = error.needed + KEPT
    except MoveError as error:
        raise FileError(f"{source}: {error}") from None
    raise FileError(f"{source}: a worker needs --memory {-(-needed >> 20)}MiB at least")


def carry_job(job: Job, target: Path, run: Runner, tick: Callable[[int], object], *, force: bool, resume: bool) -> None:
    """Execute a job; call `tick` with the output bytes of each finished task.

    Raises `FileError` if the output cannot be written, or exists without `force`, or if there is a part without
    `resume` or of another job. `KeyboardInterrupt`, also by a signal, leaves the part.
    """
    target = target.absolute()
    source = Path(path_and_member(job.source)[0])
    check_target(target, source, force=force)
    manifest = {
        "format of records": RECORDS,
        "request": [
            [repr(store_pass.axis_map), [*store_pass.chunks], [*store_pass.task]] for store_pass in job.plan.passes
        ],
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
    """Run the remaining passes.

    The intermediate array that a pass read is removed when the output of the pass is complete.
    """
    passes = job.plan.passes
    complete = (number for number in reversed(range(len(passes))) if partial.is_whole(number, passes[number]))
    first = next(complete, -1) + 1
    tick(sum([plan.written for plan in passes[:first]]))
    for number, plan in enumerate(passes[first:], first):
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
    """Run the remaining tasks of a pass, and log each."""
    task_bytes = work.plan.written // max(1, work.plan.tasks)
    numbers = [task for task in range(work.plan.tasks) if (number, task) not in partial.done]
    tick(task_bytes * (work.plan.tasks - len(numbers)))
    results = run(work, numbers)
    try:
        for task, done in results:
            partial.record(number, task, done)
            tick(task_bytes)
    finally:
        results.close()  # type: ignore[attr-defined]  # it is a generator


def first_difference(
    answer: Trace | Chain, source: str, output: str, how: str, memory: int, tick: Callable[[int], object]
) -> Difference | None:
    """Return the first element of an output that differs from the answer.

    `mode` is `all`, or `sample` for a few elements. Up to `memory` bytes of decoded chunks are cached. An output of
    another shape or type differs at its first element. Returns None if there is no difference. Raises `FileError` if an
    array cannot be opened; `OSError`, `UnreadableError` if it is damaged.
    """
    before, after = stores.open_store(source), stores.open_store(output)
    if after.array.shape != answer.output or after.array.dtype != before.array.dtype:
        return Difference((), f"{after.array.shape} {after.array.dtype}", f"{answer.output} {before.array.dtype}")
    expected_reader, actual_reader = _Reader(before, memory // 2), _Reader(after, memory // 2)
    for index, count in _every(after) if how == "all" else _sample(after):
        origin: Any = index
        for _, shape, move in reversed(moving_stages(answer)):
            origin = index_before(origin, shape, move)
        with stores.running_codecs():
            expected, actual = expected_reader.elements(origin, count), actual_reader.elements(index, count)
        differs = (_bytes(expected) != _bytes(actual)).any(axis=1)
        if differs.any():
            position = int(np.argmax(differs))
            return Difference(
                tuple([int(axis_index[position]) for axis_index in index]),
                str(actual[position]),
                str(expected[position]),
            )
        tick(len(actual) * actual.itemsize)
    return None


def _bytes(elements: Any) -> Any:
    return np.ascontiguousarray(elements).view(np.uint8).reshape(len(elements), -1)


def _every(store: stores.Store) -> Iterator[tuple[Index, int]]:
    """Yield the index arrays of all elements, up to a chunk at a time, and their count."""
    shape = store.array.shape
    steps = tile_in_order([*map(min, shape, store.chunks)], COMPARED)
    for region in grid(shape, steps) if prod(shape) else ():
        counts = [stop - start for start, stop in region]
        indices = np.indices(counts).reshape(len(counts), prod(counts))
        yield tuple([axis_index + start for axis_index, (start, _) in zip(indices, region, strict=True)]), prod(counts)


def _sample(store: stores.Store) -> Iterator[tuple[Index, int]]:
    """Yield the index arrays of a random sample, and its count.

    The sample includes the first and the last element.
    """
    shape, rng = store.array.shape, np.random.default_rng()
    if prod(shape):
        indices = [np.concatenate(([0, size - 1], rng.integers(0, size, SAMPLED))) for size in shape]
        yield tuple(indices), SAMPLED + 2
