"""What the command line does with data in files and stores: elements to show, plans to tell, outputs to write."""

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
    """The paths of elements as JSON has them, by the option that asks for one."""

UNITS: dict[str, int] = {"": 1} | {f"{name}B": 1000**power for power, name in enumerate(("", "K", "M", "G", "T"))}
UNITS |= {f"{name}iB": 1024**power for power, name in enumerate(("K", "M", "G", "T"), 1)}
ON_DEVICE = (
    "--backend cupy carries out no files: one core would copy them twice, to a device and back; numpy copies with all"
)
"""Why files are left to NumPy. `engine.run` carries out what lies on a device."""


@contextmanager
def file_errors() -> Iterator[None]:
    """Raise `ShapeError` (file) if a file or a backend cannot be used."""
    from shapecalc.engine.arrays import FileError
    from shapecalc.engine.execute import BackendError

    try:
        yield
    except (FileError, BackendError) as error:
        raise file_error(error) from None


def checked_paths(answer: Trace | Chain, out: Output, source: Source | None, others: Sequence[Source] = ()) -> Paths:
    """Return the paths of the elements that were asked after, by option.

    Raises `ShapeError`: usage for options that ask for data if there is none, or for an element or a backend that
    there is not; file for a backend that cannot be had here.
    """
    if out.out is not None and source is None:
        raise misuse("--out needs data, and the input is only a shape", "give a file: x.npy")
    combined = next((move for move in answer.moves if isinstance(move, Combine)), None)
    asking = "--out" if out.out is not None else "--values" if out.values and source is not None else ""
    if combined is not None and asking and 1 + len(others) < len(combined.operands):
        raise misuse(f"{asking} needs the data of every operand, and one is only a shape", "give files: x.npy y.npy")
    if combined is not None and (out.about_store or (source is not None and source.is_store)):
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


PATHS: dict[str, tuple[str, Callable[..., ElementPath]]] = {
    "follow": ("goes", follow),
    "follow_out": ("came", follow_back),
}
"""The options that ask for the path of an element: how it is told, and what finds it."""


def _element_paths(answer: Trace | Chain, out: Output) -> Paths:
    asked = {name: text for name in PATHS if (text := getattr(out, name)) is not None}
    return {
        name: [
            {"stage": stage, "index": None if at is None else list(at)}
            for stage, at in PATHS[name][1](answer, read_axes(text, name))
        ]
        for name, text in asked.items()
    }


def tell_elements(
    answer: Trace | Chain, source: Source | None, paths: Paths, *, values: bool, others: Sequence[Source] = ()
) -> None:
    """Tell the paths of elements, and if `values` are asked for the elements before and after."""
    for name, path in paths.items():
        places = (f"{at['stage']} {index_text(at['index'])}" for at in path)
        tell(f"{PATHS[name][0]}: {' -> '.join(places)}")
    if values:
        from shapecalc.engine.execute import samples
        from shapecalc.view.grid import values_text

        with file_errors():
            shown = samples(answer, source, others)
        for title, sample in zip(("before", "after"), shown, strict=True):
            tell(f"{title} {shape_text(sample.shape)}\n{values_text(sample.elements, sample.gaps)}")


def plan_lines(answer: Trace | Chain, source: Source | None, out: Output) -> list[str]:
    """Return whether the data would move, how much of it, and why; strides are in elements, of a file in bytes."""
    from shapecalc.engine.plan import plan_moves

    if not answer.concrete or not answer.moves or any(isinstance(move, Dims | Combine) for move in answer.moves):
        return []
    shape: Any = answer.input
    itemsize = 1 if source is None else source.kind.itemsize
    plan = plan_moves(answer.moves, shape, _strides(answer, source), itemsize)
    unit = "elements" if source is None else "bytes"
    if plan.copies:
        culprits = plan.copies[0].culprits
        two = f"one dim would need the strides {culprits[0]} and {culprits[1]} at once" if culprits else ""
        takes = any(isinstance(move, Take) for move in answer.moves)
        why = two or f"no stride {'leads to positions in any order' if takes else 'goes round the end of an axis'}"
        lines = [f"engine: {plan.bytes_moved} {unit} are copied: {why}"]
    else:
        lines = ["engine: no data is copied: the output is a view of the input"]
    for stage in plan.stages if out.explains_all else ():
        lines.append(f"engine: {shape_text(stage.shape)} with strides {shape_text(stage.strides)}")
    if source is not None:
        lines.append("engine: backend numpy")
    return lines


def _strides(answer: Trace | Chain, source: Source | None) -> tuple[int, ...]:
    """Return the strides of the data: of a file its own, else those that the request names or of contiguous data."""
    from shapecalc.engine.plan import byte_strides

    if source is not None and not source.is_store:
        with file_errors():
            return tuple(source.array.strides)
    named: tuple[int, ...] | None = answer.traces[0].request.arguments.get("strides")
    shape: Any = answer.input
    return byte_strides(shape, source.kind.itemsize if source else 1) if named is None else named


def carry(answer: Trace | Chain, source: Source, out: Output, others: Sequence[Source] = ()) -> bool:
    """Carry an answer out if that is asked for; say whether the plan for that was printed in place of the answer.

    Raises `ShapeError` (file) if it cannot be done.
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
    """Say whether an answer is to be carried from or to a store."""
    return source.is_store or out.plan or (out.out is not None and out.out.rstrip("/").endswith(".zarr"))


def _check_store_options(source: Source | None, out: Output) -> None:
    """Raise `ShapeError` (usage) for options about stores that mean nothing here, or whose values cannot be read."""
    asked = [name for name in ("plan", "memory", "chunks", "resume", "verify", "cluster") if getattr(out, name)]
    if not asked:
        return
    if source is None:
        raise misuse(f"--{asked[0]} is about data, and the input is a shape only", "give a file: x.zarr")
    if out.out is None and not out.plan:
        raise misuse(f"--{asked[0]} is about an output", "name it: -o OUT.zarr")
    if not _is_for_stores(source, out):
        raise misuse(f"--{asked[0]} is about stores, and neither the input nor the output is one", "-o OUT.zarr")
    if out.verify not in (None, "sample", "all"):
        raise misuse(f"--verify is sample or all, not '{visible(brief(str(out.verify)))}'")
    _memory(out)


def _memory(out: Output) -> int:
    """Return the bytes that a worker may use; raise `ShapeError` (usage) if the text is no size."""
    if out.memory is None:
        return 512 << 20
    import re

    found = re.fullmatch(r"([0-9]{1,15}) ?([A-Za-z]{0,3})", out.memory.strip())
    if found is None or found[2] not in UNITS or not int(found[1]):
        raise misuse(f"--memory is a size such as 512MiB, not '{visible(brief(out.memory))}'")
    return int(found[1]) * UNITS[found[2]]


@contextmanager
def _workers(out: Output) -> Iterator[tuple[Runner, int, Any]]:
    """Yield what does tasks, how many run at once in a worker, and the cluster if there is one."""
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
    """Print how an answer would be carried out, and carry nothing out."""
    with _workers(out) as (_, threads, _):
        told = _plan_object(_job(answer, source, out, threads))
    if asks_text(out, lambda: answer.as_json() | {"plan": told}):
        put("\n".join(_plan_text(told)))


def _plan_object(job: Job) -> dict[str, Any]:
    """Return a job as the JSON object that the command line documents; bytes are those of elements, unpacked."""
    plan, store = job.plan, job.store
    return {
        "input": {"shape": [*store.array.shape], "type": str(store.array.dtype), "chunks": [*store.chunks]},
        "output": {"shape": [*plan.passes[-1].axis_map.output], "chunks": [*plan.passes[-1].chunks]},
        "passes": [{"tasks": each.tasks, "task": [*each.task], "chunks": [*each.chunks]} for each in plan.passes],
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
        between = "; ".join(shape_text(each["chunks"]) for each in told["passes"][:-1])
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
    """Return a number of bytes in the largest unit of which there is one.

    >>> _size(512 << 20), _size(1)
    ('512.0 MiB', '1 B')
    """
    unit = max((name for name in UNITS if name.endswith("iB") and UNITS[name] <= count), key=UNITS.get, default="B")  # type: ignore[arg-type]
    return f"{count} B" if unit == "B" else f"{count / UNITS[unit]:.1f} {unit}"


def _write_store(answer: Trace | Chain, source: Source, out: Output) -> None:
    """Carry an answer out from or to a store, and verify it if that is asked for; an output that is there is verified.

    Raises `ShapeError` (differs) if the output is not what it should be.
    """
    from shapecalc.engine.arrays import FileError
    from shapecalc.engine.processes import memory_bounded
    from shapecalc.engine.stores.carrying import settle_broken_off, unfinished_folder

    target = Path(str(out.out).rstrip("/"))
    if target.suffix != ".zarr":
        raise FileError(f"{target}: what is carried from a store is a folder, and its name ends in .zarr")
    settle_broken_off(target)
    alone = out.verify is not None and target.is_dir() and not out.force and not unfinished_folder(target).exists()
    if not alone:
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
    """Raise `ShapeError` (differs) for an output that is not what the answer makes of the source."""
    from shapecalc.engine.arrays import raise_file_errors
    from shapecalc.engine.stores.carrying import first_difference

    total = source.kind.itemsize
    for size in source.shape:
        total *= size
    with raise_file_errors(str(target)), meter(total) as tick:
        wrong = first_difference(answer, source.text, str(target), str(out.verify), _memory(out), tick)
    if wrong is not None:
        place = f"element {shape_text(wrong.index)} is" if wrong.index else "it is"
        message = visible(f"{target}: {place} {brief(wrong.found)}, and should be {brief(wrong.expected)}")
        raise ShapeError(Problem(DIFFERS, message, argument="out"))


# A bar for work that takes a while.


PATIENCE = 1.0
"""Seconds after which a bar shows how far the work has come."""


@contextmanager
def meter(total: int, what: str = "writing", *, shows: bool = True) -> Iterator[Callable[[int], None]]:
    """Yield what is called with how many bytes are done; a bar on the terminal shows them if the work takes a while.

    If nobody knows how many bytes there are, the total is 0.
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
