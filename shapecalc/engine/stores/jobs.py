"""Jobs on stores: plan and execute a chain, and verify its output.

An incomplete output is in a folder `OUT.part`, which contains the array, a manifest, and a log with a line per finished
task. Only the owner of the folder can resume the job. A process locks the manifest, so that only one process at a time
writes into the folder. To verify an output, the source index of each output element is computed from the moves alone,
and the output element is compared with the source element.
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

from shapecalc.core import __version__
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import IntTuple
from shapecalc.core.moves import Pad, index_before_move
from shapecalc.core.problem import error_reason
from shapecalc.core.record import Record
from shapecalc.core.text import split_file_argument
from shapecalc.engine.arrays import FileError
from shapecalc.engine.atomic_files import (
    PARTIAL_SUFFIX,
    lock_nonblocking,
    replace_folder,
    restore_backup,
    write_atomically,
)
from shapecalc.engine.copying import c_order_tile
from shapecalc.engine.plan import executable_moves
from shapecalc.engine.processes import SignalGuard
from shapecalc.engine.stores import store_io
from shapecalc.engine.stores.axis_map import AxisMap, MoveError, split_into_axis_maps
from shapecalc.engine.stores.plan import InsufficientMemoryError, Pass, StorePlan, plan_store
from shapecalc.engine.stores.regions import iter_grid_cells
from shapecalc.engine.stores.workers import PassJob, TaskRunner
from shapecalc.reasoning.examples import stage_moves

METADATA_FILES = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
"""The names of the metadata files of a Zarr array."""
MANIFEST_FILE, LOG_FILE, ARRAY_SUFFIX, BACKUP_FOLDER = "manifest.json", "done", "array.zarr", "replaced.zarr"
LOG_VERSION = 2
"""The version of the log's format."""
WORKER_OVERHEAD = 24 << 20
"""The measured number of bytes that libraries and the allocator use per worker."""
COMPARISON_BATCH_SIZE = 1 << 18
"""The maximum number of elements that are compared at a time."""
SAMPLE_SIZE = 64
"""The number of random elements in a sample, in addition to the first and the last element."""
IndexArrays = tuple[Any, ...]
"""Index arrays, one per axis."""


class StoreJob(Record):
    """The plan for executing a chain on a store.

    `threads` is the number of threads per worker.
    """

    source: str
    """The absolute path of the source, because a worker has its own working directory."""
    source_digest: str
    """The digest of the source, computed before the source was opened."""
    store: store_io.StoredArray
    plan: StorePlan
    threads: int

    @property
    def worker_memory(self) -> int:
        """The maximum number of bytes that a worker allocates for the job."""
        return self.plan.task_memory * self.threads + WORKER_OVERHEAD


class ElementDifference(Record):
    """A wrong output element: its index, its value and the expected value."""

    index: tuple[int, ...]
    actual: str
    expected: str


class PartialOutput:
    """The incomplete output of a job, which this process has locked."""

    def __init__(self, folder: Path, log: IO[str]) -> None:
        """Read the log of an incomplete output in `folder`."""
        self.folder, self._log = folder, log
        self.finished_tasks = _read_log(folder / LOG_FILE)

    def array_folder(self, pass_number: int) -> Path:
        """Return the folder of the array that a pass writes."""
        return self.folder / f"{pass_number}.{ARRAY_SUFFIX}"

    def log_task(self, pass_number: int, task: int, summary: store_io.WriteSummary) -> None:
        """Log a finished task of a pass."""
        self.finished_tasks[pass_number, task] = summary
        self._log.write(f"{pass_number} {task} {summary.checksum} {summary.file_count} {summary.byte_count}\n")
        self._log.flush()

    def drop_changed_tasks(self, pass_number: int, store_pass: Pass) -> bool:
        """Discard the finished tasks of a pass whose output files have changed.

        Returns whether all tasks of the pass remain finished.
        """
        array = self.array_folder(pass_number)
        chunks = store_io.open_chunks(str(array)) if is_array_folder(array) else None
        logged = {task: done for (own_number, task), done in self.finished_tasks.items() if own_number == pass_number}
        for task, done in logged.items():
            if (
                chunks is None
                or task >= store_pass.task_count
                or chunks.summarize_files(store_pass.task_region(task)) != done
            ):
                del self.finished_tasks[pass_number, task]
        return (
            chunks is not None
            and sum(own_number == pass_number for own_number, _ in self.finished_tasks) == store_pass.task_count
        )

    def remove_incomplete_files(self, pass_number: int) -> None:
        """Remove the incomplete files of a pass, and check the complete files.

        Raises `FileError` if the number or total size of the complete files differs from the log.
        """
        logged = [done for (own_number, _), done in self.finished_tasks.items() if own_number == pass_number]
        expected = sum([done.file_count for done in logged]), sum([done.byte_count for done in logged])
        count = size = 0
        for folder, _, names in os.walk(self.array_folder(pass_number)):
            for name in names:
                if name.endswith(PARTIAL_SUFFIX):
                    Path(folder, name).unlink()
                elif name not in METADATA_FILES:
                    count, size = count + 1, size + Path(folder, name).stat().st_size
        if (count, size) != expected:
            message = f"{expected[0]} files of {expected[1]} bytes were written, and {count} of {size} are there"
            raise FileError(f"{self.folder}: {message}; --resume goes on")


class _ChunkReader:
    """A reader of single elements that caches decoded chunks.

    The cache contains up to `memory` bytes.
    """

    def __init__(self, store: store_io.StoredArray, memory: int) -> None:
        self.store = store
        most = memory // max(1, prod(store.chunks) * store.array.dtype.itemsize)
        self.read_chunk = lru_cache(max(1, most))(self._read_chunk)

    def read_elements(self, index: IndexArrays, count: int) -> Any:
        """Read `count` elements.

        `index` contains one index array per axis, which is broadcast to length `count`.
        """
        array, chunks = self.store.array, self.store.chunks
        if not array.shape:
            return self.store.reader[()].reshape(1).repeat(count)
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
            result[in_chunk] = self.read_chunk(corner)[
                tuple([axis_index[in_chunk] - start for axis_index, start in zip(index, corner, strict=True)])
            ]
        return result

    def _read_chunk(self, corner: IntTuple) -> Any:
        axes = zip(corner, self.store.chunks, self.store.array.shape, strict=True)
        return self.store.reader[[slice(start, min(start + step, size)) for start, step, size in axes]]


def partial_output_folder(output_path: Path) -> Path:
    """Return the folder in which an incomplete output is stored."""
    return output_path.with_name(f"{output_path.name}.part")


@contextmanager
def lock_partial_output(output_path: Path, manifest: dict[str, Any], *, resume: bool) -> Iterator[PartialOutput]:
    """Create and lock the folder of an incomplete output.

    With `resume`, an existing folder is reopened. Raises `FileError` if the folder exists and `resume` is false, if the
    folder belongs to another request, source or owner, or if another process has locked the folder. Raises `OSError` if
    the folder cannot be written.
    """
    folder = partial_output_folder(output_path)
    if os.path.lexists(folder):
        _check_owner(folder)
    else:
        folder.mkdir()
    if any(folder.iterdir()):
        if not resume:
            raise FileError(f"{folder}: it is there already; --resume goes on with it, or remove it: rm -r {folder}")
        _check_manifest(folder, manifest)
    else:
        write_atomically(folder / MANIFEST_FILE, json.dumps(manifest, indent=1).encode())
    with (folder / MANIFEST_FILE).open("rb") as manifest_file, (folder / LOG_FILE).open("a", encoding="ascii") as log:
        try:
            lock_nonblocking(manifest_file)
        except BlockingIOError:
            raise FileError(f"{folder}: another process writes it") from None
        yield PartialOutput(folder, log)


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise `FileError` if an incomplete output belongs to another request or source."""
    try:
        stored = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        raise FileError(f"{folder}: its manifest cannot be read; remove it: rm -r {folder}") from None
    for name, expected in manifest.items():
        if not isinstance(stored, dict) or stored.get(name) != expected:
            raise FileError(f"{folder}: its {name} is another than that of this run; remove it: rm -r {folder}")


def _check_owner(folder: Path) -> None:
    """Raise `FileError` unless `folder` is a folder of this user."""
    if folder.is_symlink() or not folder.is_dir():
        raise FileError(f"{folder}: it is no folder of its own")
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise FileError(f"{folder}: it is of another owner")


def _read_log(path: Path) -> dict[tuple[int, int], store_io.WriteSummary]:
    """Read the finished tasks from a log, and remove an incomplete last line."""
    lines = path.read_text("ascii", "replace").splitlines(keepends=True)
    rows = [line.split() for line in lines if line.endswith("\n")]
    if lines and not lines[-1].endswith("\n"):
        write_atomically(path, "".join(lines[:-1]).encode(), force=True)
    records = [[*map(int, row)] for row in rows if len(row) == 5 and all(word.isdigit() for word in row)]
    return {(number, task): store_io.WriteSummary(*done) for number, task, *done in records}


def check_output_path(output_path: Path, source_path: Path, *, force: bool) -> None:
    """Raise `FileError` if the output path is not usable.

    The output must not be, contain or be inside the source. It must not exist, except as a Zarr array with `force`.
    """
    if not output_path.parent.is_dir():
        raise FileError(f"{output_path}: there is no folder {output_path.parent}")
    real_output, real_source = output_path.parent.resolve() / output_path.name, source_path.resolve()
    if real_output == real_source or real_output in real_source.parents or real_source in real_output.parents:
        raise FileError(f"{output_path}: the output is the input, or around or inside it")
    if not os.path.lexists(output_path):
        return
    if not force:
        raise FileError(f"{output_path}: it exists; --force writes over it, --verify compares it")
    if output_path.is_symlink() or not output_path.is_dir() or not is_array_folder(output_path):
        raise FileError(f"{output_path}: it is no folder of a Zarr array, so it is not replaced")


def is_array_folder(folder: Path) -> bool:
    """Return whether a folder contains a Zarr array, not a group."""
    try:
        metadata = store_io.read_metadata(folder)
    except (OSError, ValueError):
        return False
    return metadata.version == 2 or bool(metadata.document.get("node_type") == "array")


def finish_output(partial: PartialOutput, pass_number: int, output_path: Path) -> None:
    """Rename the array of the last pass to the output path.

    An existing output is first moved into the folder of the incomplete output; this folder is removed at the end.
    """
    partial.remove_incomplete_files(pass_number)
    replace_folder(partial.array_folder(pass_number), output_path, partial.folder / BACKUP_FOLDER)
    _remove_partial_folder(partial.folder)


def recover_interrupted_rename(output_path: Path) -> None:
    """Complete or roll back an interrupted rename of a finished output."""
    folder = partial_output_folder(output_path)
    if not (folder / BACKUP_FOLDER).is_dir():
        return
    _check_owner(folder)
    try:
        with (folder / MANIFEST_FILE).open("rb") as manifest_file:
            lock_nonblocking(manifest_file)
            if output_path.exists() and not [*folder.glob(f"*.{ARRAY_SUFFIX}")]:
                _remove_partial_folder(folder)
            else:
                restore_backup(output_path, folder / BACKUP_FOLDER)
    except BlockingIOError:
        return
    except OSError as error:
        raise FileError(f"{folder}: {error_reason(error)}") from None


def _remove_partial_folder(folder: Path) -> None:
    """Remove the folder of an incomplete output.

    An array that the output has replaced is in the folder, and is removed first.
    """
    shutil.rmtree(folder / BACKUP_FOLDER, ignore_errors=True)
    shutil.rmtree(folder)


def plan_job(answer: Trace | Chain, source: str, memory: int, threads: int, chunks: IntTuple | None = None) -> StoreJob:
    """Plan the execution of a resolved chain on a store.

    If the memory does not suffice for all threads of a worker, fewer threads are used. Raises `FileError` if the store
    cannot be used, if the chain cannot be executed, or if the memory is too small. Raises `ShapeError` (usage) if the
    chain is refused or has symbolic sizes.
    """
    path = os.path.join(Path.cwd(), source)  # noqa: PTH118 - a Path would normalize the name of the array
    state = store_io.compute_source_digest(path)
    moves = executable_moves(answer)
    if any(isinstance(move, Pad) for move in moves):
        raise FileError("stores are not padded, only arrays in memory and .npy files")
    store = store_io.open_store(path)
    shape: IntTuple = answer.output  # type: ignore[assignment]  # all of them are numbers
    if chunks is not None and (len(chunks) != len(shape) or min(chunks, default=1) < 1):
        raise FileError(f"{source}: --chunks needs {len(shape)} sizes above 0, one for each axis of the output")
    itemsize = store.array.dtype.itemsize
    if 0 in store.array.shape or 0 in shape:
        zeros = (0,) * len(store.array.shape)
        empty = AxisMap(store.array.shape, shape, (), zeros, zeros)
        steps = chunks or tuple([max(1, size) for size in shape])
        return StoreJob(path, state, store, StorePlan((Pass(empty, itemsize, store.chunks, steps, steps),)), threads)
    try:
        maps = split_into_axis_maps(store.array.shape, moves)
        for count in range(threads, 0, -1):
            try:
                plan = plan_store(maps, itemsize, store.chunks, max(0, memory - WORKER_OVERHEAD) // count, chunks)
                return StoreJob(path, state, store, plan, count)
            except InsufficientMemoryError as error:
                needed = error.required_bytes + WORKER_OVERHEAD
    except MoveError as error:
        raise FileError(f"{source}: {error}") from None
    raise FileError(f"{source}: a worker needs --memory {-(-needed >> 20)}MiB at least")


def run_job(
    job: StoreJob, output_path: Path, run_tasks: TaskRunner, tick: Callable[[int], object], *, force: bool, resume: bool
) -> None:
    """Execute a job, and call `tick` with the bytes that each finished task wrote.

    Raises `FileError` if the output cannot be written, if the output exists and `force` is false, if an incomplete
    output exists and `resume` is false, or if the incomplete output belongs to another job. After `KeyboardInterrupt`
    the incomplete output remains.
    """
    output_path = output_path.absolute()
    source = Path(split_file_argument(job.source)[0])
    check_output_path(output_path, source, force=force)
    manifest = {
        "format of records": LOG_VERSION,
        "request": [
            [repr(store_pass.axis_map), [*store_pass.chunks], [*store_pass.task_shape]]
            for store_pass in job.plan.passes
        ],
        "source": [job.source, job.source_digest],
        "shapecalc": __version__,
    }
    with SignalGuard():
        try:
            with lock_partial_output(output_path, manifest, resume=resume) as partial:
                _check_output_while_locked(partial, output_path, source, force=force)
                _run_passes(job, partial, run_tasks, tick)
                check_output_path(output_path, source, force=force)
                finish_output(partial, len(job.plan.passes) - 1, output_path)
        except FileError:
            raise
        except Exception as error:
            how = "; mend it and go on with --resume" if partial_output_folder(output_path).is_dir() else ""
            raise FileError(f"{output_path}: {error_reason(error)}{how}") from error


def _check_output_while_locked(partial: PartialOutput, output_path: Path, source: Path, *, force: bool) -> None:
    """Check the output path again, after the incomplete output was locked.

    Raises `FileError` if another process has finished the output in the meantime. An incomplete output without finished
    tasks is then removed.
    """
    try:
        check_output_path(output_path, source, force=force)
    except FileError:
        if not partial.finished_tasks:
            _remove_partial_folder(partial.folder)
        raise


def _run_passes(job: StoreJob, partial: PartialOutput, run_tasks: TaskRunner, tick: Callable[[int], object]) -> None:
    """Run the unfinished passes of a job.

    When a pass is finished, the intermediate array that it has read is removed.
    """
    passes = job.plan.passes
    complete = (number for number in reversed(range(len(passes))) if partial.drop_changed_tasks(number, passes[number]))
    first = next(complete, -1) + 1
    tick(sum([plan.bytes_written for plan in passes[:first]]))
    for number, plan in enumerate(passes[first:], first):
        source, array = str(partial.array_folder(number - 1)) if number else job.source, partial.array_folder(number)
        if not is_array_folder(array):
            store_io.create_store(
                array, store_io.open_store(source) if number else job.store, plan.axis_map, plan.chunks
            )
        work = PassJob(
            plan, source, str(array), store_io.compute_source_digest(source) if number else job.source_digest
        )
        _run_pass(work, number, partial, run_tasks, tick)
        partial.remove_incomplete_files(number)
        if store_io.compute_source_digest(source) != work.source_digest:
            raise FileError(f"{source}: it was changed while it was read; begin anew: rm -r {partial.folder}")
        if number:
            shutil.rmtree(source, ignore_errors=True)


def _run_pass(
    pass_job: PassJob, pass_number: int, partial: PartialOutput, run_tasks: TaskRunner, tick: Callable[[int], object]
) -> None:
    """Run the unfinished tasks of a pass, and log each task."""
    task_bytes = pass_job.store_pass.bytes_written // max(1, pass_job.store_pass.task_count)
    numbers = [
        task for task in range(pass_job.store_pass.task_count) if (pass_number, task) not in partial.finished_tasks
    ]
    tick(task_bytes * (pass_job.store_pass.task_count - len(numbers)))
    results = run_tasks(pass_job, numbers)
    try:
        for task, done in results:
            partial.log_task(pass_number, task, done)
            tick(task_bytes)
    finally:
        results.close()  # type: ignore[attr-defined]  # it is a generator


def find_first_difference(
    answer: Trace | Chain, source: str, output: str, mode: str, memory: int, tick: Callable[[int], object]
) -> ElementDifference | None:
    """Compare an output with its source, and return the first wrong element.

    `mode` is `all`, or `sample` for a few elements. Up to `memory` bytes of decoded chunks are cached. If the shape
    or the element type is wrong, the result describes them and has the index (). Returns None if no wrong element
    is found. Raises `FileError` if an array cannot be opened, `OSError` or `UnreadableError` if an array is
    damaged.
    """
    before, after = store_io.open_store(source), store_io.open_store(output)
    if after.array.shape != answer.output or after.array.dtype != before.array.dtype:
        return ElementDifference(
            (), f"{after.array.shape} {after.array.dtype}", f"{answer.output} {before.array.dtype}"
        )
    expected_reader, actual_reader = _ChunkReader(before, memory // 2), _ChunkReader(after, memory // 2)
    for index, count in _iter_all_indices(after) if mode == "all" else _iter_sampled_indices(after):
        origin: Any = index
        for _, shape, move in reversed(stage_moves(answer)):
            origin = index_before_move(origin, shape, move)
        with store_io.run_codec_loop():
            expected, actual = expected_reader.read_elements(origin, count), actual_reader.read_elements(index, count)
        differs = (_view_as_bytes(expected) != _view_as_bytes(actual)).any(axis=1)
        if differs.any():
            position = int(np.argmax(differs))
            return ElementDifference(
                tuple([int(axis_index[position]) for axis_index in index]),
                str(actual[position]),
                str(expected[position]),
            )
        tick(len(actual) * actual.itemsize)
    return None


def _view_as_bytes(elements: Any) -> Any:
    return np.ascontiguousarray(elements).view(np.uint8).reshape(len(elements), -1)


def _iter_all_indices(store: store_io.StoredArray) -> Iterator[tuple[IndexArrays, int]]:
    """Yield batches of element indices that cover the array, with the batch sizes.

    A batch is within one chunk, and has at most `COMPARISON_BATCH_SIZE` elements.
    """
    shape = store.array.shape
    steps = c_order_tile([*map(min, shape, store.chunks)], COMPARISON_BATCH_SIZE)
    for region in iter_grid_cells(shape, steps) if prod(shape) else ():
        counts = [stop - start for start, stop in region]
        indices = np.indices(counts).reshape(len(counts), prod(counts))
        yield tuple([axis_index + start for axis_index, (start, _) in zip(indices, region, strict=True)]), prod(counts)


def _iter_sampled_indices(store: store_io.StoredArray) -> Iterator[tuple[IndexArrays, int]]:
    """Yield one batch of random element indices, and the batch size.

    The batch includes the first and the last element.
    """
    shape, rng = store.array.shape, np.random.default_rng()
    if prod(shape):
        indices = [np.concatenate(([0, size - 1], rng.integers(0, size, SAMPLE_SIZE))) for size in shape]
        yield tuple(indices), SAMPLE_SIZE + 2
