"""Data in files and stores: show elements, print plans, write and verify outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from shapecalc.cli.output import Output, asks_text, file_error, put, tell
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.examples import follow, follow_back, index_text
from shapecalc.core.moves import Combine, Dims, Take
from shapecalc.core.problem import DIFFERS, FILE, Problem, ShapeError, misuse
from shapecalc.core.text import brief, read_axes, shape_text, visible

if TYPE_CHECKING:
    from shapecalc.engine.arrays import Source
    from shapecalc.engine.stores.carrying import Job
    from shapecalc.engine.stores.workers import Runner

    ElementPath = Sequence[tuple[str, tuple[int, ...] | None]]
    Paths = dict[str, list[dict[str, Any]]]
    """Paths of elements through the stages as JSON, by the option that requests them."""

PATIENCE = 1.0
"""Seconds before a progress bar appears."""
UNITS: dict[str, int] = {"": 1} | {f"{name}B": 1000**power for power, name in enumerate(("", "K", "M", "G", "T"))}
UNITS |= {f"{name}iB": 1024**power for power, name in enumerate(("K", "M", "G", "T"), 1)}
"""Bytes of each unit of size."""
ON_DEVICE = (
    "--backend cupy carries out no files: one core would copy them twice, to a device and back; numpy copies with all"
)
"""Reason for refusing CuPy for files; `engine.run` is for arrays on a device."""
PATHS: dict[str, tuple[str, Callable[..., ElementPath]]] = {
    "follow": ("goes", follow),
    "follow_out": ("came", follow_back),
}
"""Options that request the path of an element, with their labels and tracers."""


@contextmanager
def file_errors() -> Iterator[None]:
    """Convert errors of files and backends into `ShapeError` (file)."""
    from shapecalc.engine.arrays import FileError
    from shapecalc.engine.execute import BackendError

    try:
        yield
    except (FileError, BackendError) as error:
        raise file_error(error) from None


def checked_paths(answer: Trace | Chain, out: Output, source: Source | None, others: Sequence[Source] = ()) -> Paths:
    """Check the options about data, and return the paths of the requested elements.

    Raises `ShapeError`: usage for an option that needs data without data, an element out of range or an unknown
    backend; file for a backend that cannot be used with files.
    """
    if out.out is not None and source is None:
        raise misuse("--out needs data, and the input is only a shape", "give a file: x.npy")
    combine = next((move for move in answer.moves if isinstance(move, Combine)), None)
    option = "--out" if out.out is not None else "--values" if out.values and source is not None else ""
    if combine is not None and option and 1 + len(others) < len(combine.operands):
        raise misuse(f"{option} needs the data of every operand, and one is only a shape", "give files: x.npy y.npy")
    if combine is not None and (out.about_store or (source is not None and source.is_store)):
        raise misuse("stores of several operands are not carried out", "give files of arrays: x.npy y.npy")
    if out.about_store:
        _check_store_options(source, out)
    if out.backend != "auto":
        from shapecalc.engine.execute import NAMES

        if out.backend not in NAMES:
            raise misuse(f"there is no backend '{visible(out.backend)}'", f"there are {', '.join(NAMES)}")
        if out.backend == "cupy":
            raise ShapeError(Problem(FILE, ON_DEVICE, argument="input"))
    return {} if answer.output is None else _element_paths(answer, out)


def _element_paths(answer: Trace | Chain, out: Output) -> Paths:
    indices = {name: text for name in PATHS if (text := getattr(out, name)) is not None}
    return {
        name: [
            {"stage": stage, "index": None if index is None else list(index)}
            for stage, index in PATHS[name][1](answer, read_axes(text, name))
        ]
        for name, text in indices.items()
    }


def tell_elements(
    answer: Trace | Chain, source: Source | None, paths: Paths, *, values: bool, others: Sequence[Source] = ()
) -> None:
    """Print the paths of elements, with `values` also the elements before and after."""
    for name, path in paths.items():
        points = (f"{point['stage']} {index_text(point['index'])}" for point in path)
        tell(f"{PATHS[name][0]}: {' -> '.join(points)}")
    if values:
        from shapecalc.engine.execute import samples
        from shapecalc.view.grid import values_text

        with file_errors():
            before_and_after = samples(answer, source, others)
        for title, sample in zip(("before", "after"), before_and_after, strict=True):
            tell(f"{title} {shape_text(sample.shape)}\n{values_text(sample.elements, sample.gaps)}")


def plan_lines(answer: Trace | Chain, source: Source | None, out: Output) -> list[str]:
    """Return lines on whether executing the answer would copy data, how much and why.

    Strides are in elements, and in bytes if the input is a file.
    """
    from shapecalc.engine.plan import plan_moves

    if not answer.concrete or not answer.moves or any(isinstance(move, Dims | Combine) for move in answer.moves):
        return []
    shape: Any = answer.input
    itemsize = 1 if source is None else source.kind.itemsize
    plan = plan_moves(answer.moves, shape, _strides(answer, source), itemsize)
    unit = "elements" if source is None else "bytes"
    if plan.copies:
        culprits = plan.copies[0].culprits
        conflict = f"one dim would need the strides {culprits[0]} and {culprits[1]} at once" if culprits else ""
        has_take = any(isinstance(move, Take) for move in answer.moves)
        reason = "leads to positions in any order" if has_take else "goes round the end of an axis"
        why = conflict or f"no stride {reason}"
        lines = [f"engine: {plan.bytes_moved} {unit} are copied: {why}"]
    else:
        lines = ["engine: no data is copied: the output is a view of the input"]
    for stage in plan.stages if out.explains_all else ():
        lines.append(f"engine: {shape_text(stage.shape)} with strides {shape_text(stage.strides)}")
    if source is not None:
        lines.append("engine: backend numpy")
    return lines


def _strides(answer: Trace | Chain, source: Source | None) -> tuple[int, ...]:
    """Return the strides of the data.

    Those of a file are its own; otherwise the requested ones apply, or those of contiguous data.
    """
    from shapecalc.engine.plan import byte_strides

    if source is not None and not source.is_store:
        with file_errors():
            return tuple(source.array.strides)
    requested: tuple[int, ...] | None = answer.traces[0].request.arguments.get("strides")
    shape: Any = answer.input
    return byte_strides(shape, source.kind.itemsize if source else 1) if requested is None else requested


def carry(answer: Trace | Chain, source: Source, out: Output, others: Sequence[Source] = ()) -> bool:
    """Write the output file or store if requested, or print its plan.

    Return whether the plan was printed, which replaces the answer.
    Raises `ShapeError` (file) if a file, a store or a backend cannot be used.
    """
    with file_errors():
        if out.plan:
            _print_plan(answer, source, out)
        elif _is_for_stores(source, out) and out.out is not None:
            _write_store(answer, source, out)
        elif out.out is not None:
            from shapecalc.engine.execute import carry_out

            with meter(source.array.nbytes) as tick:
                carry_out(answer, source, Path(out.out), force=out.force, tick=tick, others=others)
    return out.plan


def _is_for_stores(source: Source, out: Output) -> bool:
    """Return whether the input or the output is a store, or a plan is requested."""
    return source.is_store or out.plan or (out.out is not None and out.out.rstrip("/").endswith(".zarr"))


def _check_store_options(source: Source | None, out: Output) -> None:
    """Raise `ShapeError` (usage) for store options that do not apply or are invalid."""
    names = [name for name in ("plan", "memory", "chunks", "resume", "verify", "cluster") if getattr(out, name)]
    if not names:
        return
    if source is None:
        raise misuse(f"--{names[0]} is about data, and the input is a shape only", "give a file: x.zarr")
    if out.out is None and not out.plan:
        raise misuse(f"--{names[0]} is about an output", "name it: -o OUT.zarr")
    if not _is_for_stores(source, out):
        raise misuse(f"--{names[0]} is about stores, and neither the input nor the output is one", "-o OUT.zarr")
    if out.verify not in (None, "sample", "all"):
        raise misuse(f"--verify is sample or all, not '{visible(brief(str(out.verify)))}'")
    _memory(out)


def _memory(out: Output) -> int:
    """Return the memory limit of a worker in bytes; raise `ShapeError` (usage)."""
    if out.memory is None:
        return 512 << 20
    import re

    match = re.fullmatch(r"([0-9]{1,15}) ?([A-Za-z]{0,3})", out.memory.strip())
    if match is None or match[2] not in UNITS or not int(match[1]):
        raise misuse(f"--memory is a size such as 512MiB, not '{visible(brief(out.memory))}'")
    return int(match[1]) * UNITS[match[2]]


@contextmanager
def _workers(out: Output) -> Iterator[tuple[Runner, int, Any]]:
    """Yield the task runner, the threads per worker and the cluster, if there is one."""
    if out.cluster is None or out.plan:
        from shapecalc.engine.processes import count_cores, memory_bounded
        from shapecalc.engine.stores.workers import on_threads

        count = count_cores()
        with memory_bounded(_memory(out)):
            yield on_threads(count), count, None
        return
    from shapecalc.engine.stores.workers import cluster_at

    try:
        with cluster_at(out.cluster, _memory(out)) as cluster:
            yield cluster.run, max(cluster.threads), cluster
    except ValueError as error:
        if isinstance(error, ShapeError):
            raise
        raise misuse(f"--cluster: {error}") from None


def _job(answer: Trace | Chain, source: Source, out: Output, threads: int) -> Job:
    from shapecalc.engine.stores.carrying import plan_job

    chunks = None if out.chunks is None else tuple(read_axes(out.chunks, "chunks"))
    return plan_job(answer, source.text, _memory(out), threads, chunks)


def _print_plan(answer: Trace | Chain, source: Source, out: Output) -> None:
    """Print the plan for writing the output store, and write nothing."""
    with _workers(out) as (_, threads, _):
        plan = _plan_object(_job(answer, source, out, threads))
    if asks_text(out, lambda: answer.as_json() | {"plan": plan}):
        put("\n".join(_plan_text(plan)))


def _plan_object(job: Job) -> dict[str, Any]:
    """Return the JSON object of a plan; sizes are uncompressed bytes."""
    plan, store = job.plan, job.store
    return {
        "input": {"shape": [*store.array.shape], "type": str(store.array.dtype), "chunks": [*store.chunks]},
        "output": {"shape": [*plan.passes[-1].axis_map.output], "chunks": [*plan.passes[-1].chunks]},
        "passes": [{"tasks": one.tasks, "task": [*one.task], "chunks": [*one.chunks]} for one in plan.passes],
        "tasks": plan.tasks,
        "data": store.array.dtype.itemsize * store.array.size,
        "read": plan.read,
        "exact": plan.exact,
        "written": plan.written,
        "disk": plan.disk,
        "scratch": store.scratch,
        "threads": job.threads,
        "memory": job.memory,
    }


def _plan_text(told: dict[str, Any]) -> Iterator[str]:
    about = "" if told["exact"] else "about "
    for name in ("input", "output"):
        yield f"{name:7} {shape_text(told[name]['shape'])} in chunks of {shape_text(told[name]['chunks'])}"
    if len(told["passes"]) > 1:
        between = "; ".join(shape_text(store_pass["chunks"]) for store_pass in told["passes"][:-1])
        stores = "a store" if len(told["passes"]) == 2 else "stores"
        yield f"passes  {len(told['passes'])}, with {stores} between in chunks of {between}"
    yield f"tasks   {told['tasks']}"
    yield f"read    {about}{_size(told['read'])}, {about}{told['read'] / max(1, told['data']):.2f} of the data"
    yield f"write   {_size(told['written'])}"
    yield f"disk    {_size(told['disk'])} at most"
    if told["scratch"]:
        yield f"scratch {_size(told['scratch'])} where temporary files are: the input is unpacked"
    yield f"memory  {_size(told['memory'])} a worker"


def _size(count: int) -> str:
    """Format a number of bytes in the largest unit that fits.

    >>> _size(512 << 20), _size(1)
    ('512.0 MiB', '1 B')
    """
    unit = max((name for name in UNITS if name.endswith("iB") and UNITS[name] <= count), key=UNITS.get, default="B")  # type: ignore[arg-type]
    return f"{count} B" if unit == "B" else f"{count / UNITS[unit]:.1f} {unit}"


def _write_store(answer: Trace | Chain, source: Source, out: Output) -> None:
    """Write an output store, and verify it if requested.

    With `--verify`, an output that is already complete is only verified, unless `--force` is given.
    Raises `ShapeError` (differs) if an element of the output is wrong.
    """
    from shapecalc.engine.arrays import FileError
    from shapecalc.engine.processes import memory_bounded
    from shapecalc.engine.stores.carrying import settle_broken_off, unfinished_folder

    target = Path(str(out.out).rstrip("/"))
    if target.suffix != ".zarr":
        raise FileError(f"{target}: what is carried from a store is a folder, and its name ends in .zarr")
    settle_broken_off(target)
    only_verify = (
        out.verify is not None and target.is_dir() and not out.force and not unfinished_folder(target).exists()
    )
    if not only_verify:
        _carry(answer, source, target, out)
    if out.verify is not None:
        with memory_bounded(_memory(out)):
            _verify(answer, source, target, out)


def _carry(answer: Trace | Chain, source: Source, target: Path, out: Output) -> None:
    from shapecalc.engine.stores.carrying import carry_job, unfinished_folder

    with _workers(out) as (run, threads, cluster):
        job = _job(answer, source, out, threads)
        if cluster is not None:
            cluster.check(job.source, target.absolute())
        try:
            with meter(job.plan.written) as tick:
                carry_job(job, target.absolute(), run, tick, force=out.force, resume=out.resume)
        except KeyboardInterrupt:
            if unfinished_folder(target).exists():
                tell(f"shapecalc: interrupted; {unfinished_folder(target)} holds what is done: go on with --resume")
            raise


def _verify(answer: Trace | Chain, source: Source, target: Path, out: Output) -> None:
    """Raise `ShapeError` (differs) if the output store does not match the answer."""
    from shapecalc.engine.arrays import raise_file_errors
    from shapecalc.engine.stores.carrying import first_difference

    total = source.kind.itemsize
    for size in source.shape:
        total *= size
    with raise_file_errors(str(target)), meter(total) as tick:
        difference = first_difference(answer, source.text, str(target), str(out.verify), _memory(out), tick)
    if difference is not None:
        subject = f"element {shape_text(difference.index)} is" if difference.index else "it is"
        values = f"{brief(difference.found)}, and should be {brief(difference.expected)}"
        message = visible(f"{target}: {subject} {values}")
        raise ShapeError(Problem(DIFFERS, message, argument="out"))


@contextmanager
def meter(total: int, what: str = "writing", *, shows: bool = True) -> Iterator[Callable[[int], None]]:
    """Show a progress bar for slow work; yield a function that advances it by bytes.

    `total` is 0 if the number of bytes is unknown.
    """
    if not shows or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (*Progress.get_default_columns()[:3], TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False)
    task, start = bar.add_task(what, total=total or None), monotonic()

    def tick(done: int) -> None:
        bar.advance(task, done)
        if monotonic() - start > PATIENCE:
            bar.start()

    try:
        yield tick
    finally:
        bar.live.stop()
