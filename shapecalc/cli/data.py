"""Apply an answer to data: trace elements, print plans and write outputs.

The data is in a file or in a store. A store, such as a Zarr array, divides its elements into chunks. A plan lists the
tasks that write a store, and the number of bytes to read and write. The path of an element consists of its index in the
input and its index after each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapecalc.cli.output import OutputOptions, file_error, print_json_if_requested, print_stderr, print_stdout
from shapecalc.cli.progress import progress_bar
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.moves import Combine, Pad, ShapeVector, Take
from shapecalc.core.problem import DIFFERS, FILE, Problem, ShapeError, usage_error
from shapecalc.core.text import escape_unprintable, parse_axes, shape_text, truncate
from shapecalc.reasoning.examples import point_text, trace_element, trace_element_back

if TYPE_CHECKING:
    from shapecalc.engine.arrays import Source
    from shapecalc.engine.stores.jobs import StoreJob
    from shapecalc.engine.stores.workers import TaskRunner

    ElementPath = Sequence[tuple[str, tuple[int, ...] | None]]
    PathsByOption = dict[str, list[dict[str, Any]]]
    """For each option in `PATH_OPTIONS` that is set, the paths of its elements as JSON."""

BYTE_UNITS: dict[str, int] = {"": 1} | {f"{name}B": 1000**power for power, name in enumerate(("", "K", "M", "G", "T"))}
BYTE_UNITS |= {f"{name}iB": 1024**power for power, name in enumerate(("K", "M", "G", "T"), 1)}
"""Number of bytes in each unit, by unit name."""
CUPY_REFUSAL = (
    "--backend cupy carries out no files: one core would copy them twice, to a device and back; numpy copies with all"
)
"""Error message for `--backend cupy` with a file; `engine.run` accepts arrays on a device."""
PATH_OPTIONS: dict[str, tuple[str, Callable[..., ElementPath]]] = {
    "follow": ("goes", trace_element),
    "follow_out": ("came", trace_element_back),
}
"""For each option, the label of the printed path and the function that computes it."""


@contextmanager
def convert_file_errors() -> Iterator[None]:
    """Convert errors of files and backends in a `with` block to `ShapeError` (file)."""
    from shapecalc.engine.arrays import FileError
    from shapecalc.engine.execute import BackendError

    try:
        yield
    except (FileError, BackendError) as error:
        raise file_error(error) from None


def check_and_trace_elements(
    answer: Trace | Chain, output_options: OutputOptions, source: Source | None, operand_sources: Sequence[Source] = ()
) -> PathsByOption:
    """Check the options that concern data, and trace the requested elements.

    Return the path of each element. `source` is the input file, None if the input is a shape. Raises `ShapeError`
    (usage) for an option that requires a file, for an element index out of range and for an unknown backend; (file) if
    the backend does not support files.
    """
    if output_options.out is not None and source is None:
        raise usage_error("--out needs data, and the input is only a shape", "give a file: x.npy")
    combine = next((move for move in answer.moves if isinstance(move, Combine) and not isinstance(move, Pad)), None)
    option = (
        "--out"
        if output_options.out is not None
        else "--values"
        if output_options.values and source is not None
        else ""
    )
    if combine is not None and option and 1 + len(operand_sources) < len(combine.operands):
        raise usage_error(
            f"{option} needs the data of every operand, and one is only a shape", "give files: x.npy y.npy"
        )
    if combine is not None and (output_options.has_store_options or (source is not None and source.is_store)):
        raise usage_error("stores of several operands are not carried out", "give files of arrays: x.npy y.npy")
    if output_options.has_store_options:
        _check_store_options(source, output_options)
    if output_options.backend != "auto":
        from shapecalc.engine.execute import BACKEND_NAMES

        if output_options.backend not in BACKEND_NAMES:
            raise usage_error(
                f"there is no backend '{escape_unprintable(output_options.backend)}'",
                f"there are {', '.join(BACKEND_NAMES)}",
            )
        if output_options.backend == "cupy":
            raise ShapeError(Problem(FILE, CUPY_REFUSAL, argument="input"))
    return {} if answer.output is None else _trace_elements(answer, output_options)


def _trace_elements(answer: Trace | Chain, output_options: OutputOptions) -> PathsByOption:
    """Return the path of each element that `--follow` or `--follow-out` selects."""
    indices = {name: text for name in PATH_OPTIONS if (text := getattr(output_options, name)) is not None}
    return {
        name: [
            {"stage": stage, "index": None if index is None else list(index)}
            for stage, index in PATH_OPTIONS[name][1](answer, parse_axes(text, name))
        ]
        for name, text in indices.items()
    }


def print_elements(
    answer: Trace | Chain,
    source: Source | None,
    paths: PathsByOption,
    *,
    values: bool,
    operand_sources: Sequence[Source] = (),
) -> None:
    """Print the paths of elements; with `values`, also a sample of the data.

    The sample contains elements of the input and of the output.
    """
    for name, path in paths.items():
        points = (point_text(point["stage"], point["index"]) for point in path)
        print_stderr(f"{PATH_OPTIONS[name][0]}: {' -> '.join(points)}")
    if values:
        from shapecalc.engine.execute import sample_elements
        from shapecalc.render.grid import format_values

        with convert_file_errors():
            before_and_after = sample_elements(answer, source, operand_sources)
        for title, sample in zip(("before", "after"), before_and_after, strict=True):
            print_stderr(f"{title} {shape_text(sample.shape)}\n{format_values(sample.elements, sample.gaps)}")


def data_movement_lines(answer: Trace | Chain, source: Source | None, *, every_stage: bool) -> list[str]:
    """Report whether the execution copies data, how much and why, as lines of text.

    Amounts and strides are in bytes if the input is a file, otherwise in elements. With `every_stage`, there is a line
    with the strides after each stage.
    """
    from shapecalc.engine.plan import plan_moves

    moves = answer.moves
    if not moves or not answer.is_concrete or any(isinstance(move, ShapeVector | Combine) for move in moves):
        return []
    shape: Any = answer.input
    itemsize = 1 if source is None else source.numpy_dtype.itemsize
    plan = plan_moves(moves, shape, _input_strides(answer, source), itemsize)
    unit = "elements" if source is None else "bytes"
    if plan.copies:
        culprits = plan.copies[0].blocking_strides
        conflict = f"one dim would need the strides {culprits[0]} and {culprits[1]} at once" if culprits else ""
        has_take = any(isinstance(move, Take) for move in moves)
        reason = "leads to positions in any order" if has_take else "goes round the end of an axis"
        why = conflict or f"no stride {reason}"
        lines = [f"engine: {plan.bytes_moved} {unit} are copied: {why}"]
    else:
        lines = ["engine: no data is copied: the output is a view of the input"]
    for stage in plan.stages if every_stage else ():
        lines.append(f"engine: {shape_text(stage.shape)} with strides {shape_text(stage.strides)}")
    if source is not None:
        lines.append("engine: backend numpy")
    return lines


def _input_strides(answer: Trace | Chain, source: Source | None) -> tuple[int, ...] | None:
    """Return the strides of the input, in bytes for a file and otherwise in elements.

    The array in the file or the option `--strides` determines the strides. Returns None for contiguous data.
    """
    if source is not None and not source.is_store:
        with convert_file_errors():
            return tuple(source.array.strides)
    requested: tuple[int, ...] | None = answer.traces[0].request.arguments.get("strides")
    return requested


def write_output_or_plan(
    answer: Trace | Chain, source: Source, output_options: OutputOptions, operand_sources: Sequence[Source] = ()
) -> bool:
    """Write the output file or store, or print the plan for writing it.

    Without `--out` and `--plan`, nothing is written or printed. Return whether a plan was printed; the caller then
    prints no answer. Raises `ShapeError` (file) if a file, a store or a backend cannot be used, and (differs) if the
    output store fails its verification.
    """
    with convert_file_errors():
        if output_options.plan:
            _print_plan(answer, source, output_options)
        elif _has_store_or_plan(source, output_options) and output_options.out is not None:
            _write_store(answer, source, output_options)
        elif output_options.out is not None:
            from shapecalc.engine.execute import run_on_file

            with progress_bar(source.array.nbytes) as tick:
                run_on_file(
                    answer,
                    source,
                    Path(output_options.out),
                    force=output_options.force,
                    tick=tick,
                    other_sources=operand_sources,
                )
    return output_options.plan


def _has_store_or_plan(source: Source, output_options: OutputOptions) -> bool:
    """Return whether the input or output is a store, or a plan is requested."""
    return (
        source.is_store
        or output_options.plan
        or (output_options.out is not None and output_options.out.rstrip("/").endswith(".zarr"))
    )


def _check_store_options(source: Source | None, output_options: OutputOptions) -> None:
    """Raise `ShapeError` (usage) for store options that do not apply or are invalid."""
    names = [
        name for name in ("plan", "memory", "chunks", "resume", "verify", "cluster") if getattr(output_options, name)
    ]
    if not names:
        return
    if source is None:
        raise usage_error(f"--{names[0]} is about data, and the input is a shape only", "give a file: x.zarr")
    if output_options.out is None and not output_options.plan:
        raise usage_error(f"--{names[0]} is about an output", "name it: -o OUT.zarr")
    if not _has_store_or_plan(source, output_options):
        raise usage_error(f"--{names[0]} is about stores, and neither the input nor the output is one", "-o OUT.zarr")
    if output_options.verify not in (None, "sample", "all"):
        raise usage_error(
            f"--verify is sample or all, not '{escape_unprintable(truncate(str(output_options.verify)))}'"
        )
    _parse_memory_limit(output_options)


def _parse_memory_limit(output_options: OutputOptions) -> int:
    """Parse `--memory` and return the memory limit of a worker in bytes.

    Raises `ShapeError` (usage) for an invalid size.
    """
    if output_options.memory is None:
        return 512 << 20
    import re

    match = re.fullmatch(r"([0-9]{1,15}) ?([A-Za-z]{0,3})", output_options.memory.strip())
    if match is None or match[2] not in BYTE_UNITS or not int(match[1]):
        raise usage_error(
            f"--memory is a size such as 512MiB, not '{escape_unprintable(truncate(output_options.memory))}'"
        )
    return int(match[1]) * BYTE_UNITS[match[2]]


@contextmanager
def _open_workers(output_options: OutputOptions) -> Iterator[tuple[TaskRunner, int, Any]]:
    """Open the workers that write a store: local threads or a cluster.

    Yield the function that runs tasks, the number of threads per worker, and the cluster or None.
    """
    if output_options.cluster is None or output_options.plan:
        from shapecalc.engine.processes import count_cores, memory_limit
        from shapecalc.engine.stores.workers import make_thread_runner

        count = count_cores()
        with memory_limit(_parse_memory_limit(output_options)):
            yield make_thread_runner(count), count, None
        return
    from shapecalc.engine.stores.workers import open_cluster

    try:
        with open_cluster(
            output_options.cluster,
            _parse_memory_limit(output_options),
            lambda line: print_stderr(escape_unprintable(f"shapecalc: {line}")),
        ) as cluster:
            yield cluster.run_tasks, max(cluster.threads), cluster
    except ValueError as error:
        if isinstance(error, ShapeError):
            raise
        raise usage_error(f"--cluster: {error}") from None


def _plan_store_job(answer: Trace | Chain, source: Source, output_options: OutputOptions, threads: int) -> StoreJob:
    """Plan the tasks that write the output store.

    Each worker has `threads` threads.
    """
    from shapecalc.engine.stores.jobs import plan_job

    chunks = None if output_options.chunks is None else tuple(parse_axes(output_options.chunks, "chunks"))
    return plan_job(answer, source.text, _parse_memory_limit(output_options), threads, chunks)


def _print_plan(answer: Trace | Chain, source: Source, output_options: OutputOptions) -> None:
    """Print the plan for writing the output store, without writing the store."""
    with _open_workers(output_options) as (_, threads, _):
        plan = _plan_json(_plan_store_job(answer, source, output_options, threads))
    if print_json_if_requested(output_options, lambda: answer.as_json() | {"plan": plan}):
        print_stdout("\n".join(_plan_lines(plan)))


def _plan_json(job: StoreJob) -> dict[str, Any]:
    """Return the JSON object of a plan, with amounts of uncompressed data in bytes."""
    plan, store = job.plan, job.store
    return {
        "input": {"shape": [*store.array.shape], "type": str(store.array.dtype), "chunks": [*store.chunks]},
        "output": {"shape": [*plan.passes[-1].axis_map.output_shape], "chunks": [*plan.passes[-1].chunks]},
        "passes": [
            {"tasks": step.task_count, "task": [*step.task_shape], "chunks": [*step.chunks]} for step in plan.passes
        ],
        "tasks": plan.task_count,
        "data": store.array.dtype.itemsize * store.array.size,
        "read": plan.bytes_read,
        "exact": plan.is_exact,
        "written": plan.bytes_written,
        "disk": plan.peak_disk,
        "scratch": store.scratch_bytes,
        "threads": job.threads,
        "memory": job.worker_memory,
    }


def _plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    """Format the JSON object of a plan as lines of text."""
    about = "" if plan["exact"] else "about "
    for name in ("input", "output"):
        yield f"{name:7} {shape_text(plan[name]['shape'])} in chunks of {shape_text(plan[name]['chunks'])}"
    if len(plan["passes"]) > 1:
        between = "; ".join(shape_text(store_pass["chunks"]) for store_pass in plan["passes"][:-1])
        stores = "a store" if len(plan["passes"]) == 2 else "stores"
        yield f"passes  {len(plan['passes'])}, with {stores} between in chunks of {between}"
    yield f"tasks   {plan['tasks']}"
    yield f"read    {about}{_format_bytes(plan['read'])}, {about}{plan['read'] / max(1, plan['data']):.2f} of the data"
    yield f"write   {_format_bytes(plan['written'])}"
    yield f"disk    {_format_bytes(plan['disk'])} at most"
    if plan["scratch"]:
        yield f"scratch {_format_bytes(plan['scratch'])} where temporary files are: the input is unpacked"
    yield f"memory  {_format_bytes(plan['memory'])} a worker"


def _format_bytes(count: int) -> str:
    """Format a number of bytes in the largest binary unit that does not exceed it.

    >>> _format_bytes(512 << 20), _format_bytes(1)
    ('512.0 MiB', '1 B')
    """
    fitting = [name for name in BYTE_UNITS if name.endswith("iB") and BYTE_UNITS[name] <= count]
    unit = max(fitting, key=BYTE_UNITS.__getitem__, default="B")
    return f"{count} B" if unit == "B" else f"{count / BYTE_UNITS[unit]:.1f} {unit}"


def _write_store(answer: Trace | Chain, source: Source, output_options: OutputOptions) -> None:
    """Write the output store, and verify it with `--verify`.

    With `--verify` and without `--force`, a complete store is verified but not rewritten.
    Raises `ShapeError` (differs) if an element of the store is wrong.
    """
    from shapecalc.engine.arrays import FileError
    from shapecalc.engine.processes import memory_limit
    from shapecalc.engine.stores.jobs import partial_output_folder, recover_interrupted_rename

    target = Path(str(output_options.out).rstrip("/"))
    if target.suffix != ".zarr":
        raise FileError(f"{target}: what is carried from a store is a folder, and its name ends in .zarr")
    recover_interrupted_rename(target)
    only_verify = (
        output_options.verify is not None
        and target.is_dir()
        and not output_options.force
        and not partial_output_folder(target).exists()
    )
    if not only_verify:
        _run_store_job(answer, source, target, output_options)
    if output_options.verify is not None:
        with memory_limit(_parse_memory_limit(output_options)):
            _verify_store(answer, source, target, output_options)


def _run_store_job(answer: Trace | Chain, source: Source, target: Path, output_options: OutputOptions) -> None:
    """Write the output store `target`.

    If the job is interrupted, the command that resumes it is printed.
    """
    from shapecalc.engine.stores.jobs import partial_output_folder, run_job

    with _open_workers(output_options) as (run, threads, cluster):
        job = _plan_store_job(answer, source, output_options, threads)
        if cluster is not None:
            cluster.check_workers(job.source, target.absolute())
        try:
            with progress_bar(job.plan.bytes_written) as tick:
                run_job(job, target.absolute(), run, tick, force=output_options.force, resume=output_options.resume)
        except KeyboardInterrupt:
            if partial_output_folder(target).exists():
                print_stderr(
                    f"shapecalc: interrupted; {partial_output_folder(target)} holds what is done: go on with --resume"
                )
            raise


def _verify_store(answer: Trace | Chain, source: Source, target: Path, output_options: OutputOptions) -> None:
    """Raise `ShapeError` (differs) if the store `target` contains a wrong element."""
    from shapecalc.engine.arrays import convert_to_file_error
    from shapecalc.engine.stores.jobs import find_first_difference

    total = source.numpy_dtype.itemsize
    for size in source.shape:
        total *= size
    with convert_to_file_error(str(target)), progress_bar(total) as tick:
        difference = find_first_difference(
            answer, source.text, str(target), str(output_options.verify), _parse_memory_limit(output_options), tick
        )
    if difference is not None:
        subject = f"element {shape_text(difference.index)} is" if difference.index else "it is"
        values = f"{truncate(difference.actual)}, and should be {truncate(difference.expected)}"
        message = escape_unprintable(f"{target}: {subject} {values}")
        raise ShapeError(Problem(DIFFERS, message, argument="out"))
