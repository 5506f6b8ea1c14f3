"""A chain carried out on a store: planned, written as a part, and given its name when it is whole."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import shapecalc
from shapecalc.core.record import Record
from shapecalc.engine.endings import Endings
from shapecalc.engine.files import FileError, split_store
from shapecalc.engine.plan import concrete_moves
from shapecalc.engine.stores.building import LinesError, fewest_lines
from shapecalc.engine.stores.lines import Lines
from shapecalc.engine.stores.parts import check_target, finish, held_part, is_array, part_of
from shapecalc.engine.stores.passes import Plan, plan_store
from shapecalc.engine.stores.plan import Pass, PlanError
from shapecalc.engine.stores.stores import create_store, open_store, open_to_write
from shapecalc.engine.stores.tasks import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.engine.stores.lines import Sizes
    from shapecalc.engine.stores.parts import Part
    from shapecalc.engine.stores.running import Runner
    from shapecalc.engine.stores.stores import Store


KEPT = 24 << 20
"""The bytes that libraries and the allocator of a worker keep beside what its tasks hold, as measured."""


class Job(Record):
    """A chain to carry out on a store: the source, the plan, and how many tasks run at once in a worker."""

    source: str
    store: Store
    plan: Plan
    threads: int

    @property
    def memory(self) -> int:
        """The bytes that a worker holds at most, beyond what it held before."""
        return self.plan.memory * self.threads + KEPT


def plan_job(answer: Trace | Chain, source: str, memory: int, threads: int, chunks: Sizes | None = None) -> Job:
    """Return the job of an answer on a store, with fewer threads in a worker if the memory is too little for all.

    Raises `FileError` if the store cannot be used, or if the chain or the memory does not allow a plan; `ShapeError`
    (usage) if the answer is refused or has names.
    """
    moves, store = concrete_moves(answer), open_store(source)
    shape: Sizes = answer.output  # type: ignore[assignment]  # all of them are numbers
    if chunks is not None and (len(chunks) != len(shape) or min(chunks, default=1) < 1):
        raise FileError(f"{source}: --chunks needs {len(shape)} sizes above 0, one for each axis of the output")
    itemsize = store.array.dtype.itemsize
    if 0 in store.array.shape or 0 in shape:
        none = (0,) * len(store.array.shape)
        lines = Lines(store.array.shape, shape, (), none, none)
        steps = chunks or tuple([max(1, size) for size in shape])
        return Job(source, store, Plan((Pass(lines, itemsize, store.chunks, steps, steps),)), threads)
    try:
        rows = fewest_lines(store.array.shape, moves)
        for count in range(threads, 0, -1):
            try:
                plan = plan_store(rows, itemsize, store.chunks, max(0, memory - KEPT) // count, chunks)
                return Job(source, store, plan, count)
            except PlanError as error:
                needed = error.needed + KEPT
    except LinesError as error:
        raise FileError(f"{source}: {error}") from None
    raise FileError(f"{source}: a worker needs --memory {-(-needed >> 20)}MiB at least")


def carry_job(job: Job, target: Path, run: Runner, tick: Callable[[int], object], *, force: bool, resume: bool) -> None:
    """Carry a job out; call `tick` with the bytes of each task that is done.

    Raises `FileError` if the output cannot be written, or exists and `force` is not given, if there is a part of it
    and `resume` is not given or the part is of another job; `KeyboardInterrupt`, by signals too, and leaves the part.
    """
    path, member = Path(split_store(job.source)[0]), split_store(job.source)[1]
    check_target(target, path, force=force)
    manifest = {
        "request": [[repr(each.lines), [*each.chunks], [*each.task]] for each in job.plan.passes],
        "source": {"path": str(path.absolute()), "member": member, **job.store.identity},
        "shapecalc": shapecalc.__version__,
    }
    with Endings():
        try:
            with held_part(target, manifest, resume=resume) as part:
                _do_passes(job, part, run, tick)
                finish(part, len(job.plan.passes) - 1, target)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise _failed(error, target) from error


def _do_passes(job: Job, part: Part, run: Runner, tick: Callable[[int], object]) -> None:
    """Do the passes that are not done yet. What a pass has read is removed when what it wrote is whole."""
    passes = job.plan.passes
    counts = Counter(number for number, _ in part.done)
    begin = max((number for number, plan in enumerate(passes) if counts[number] == plan.tasks), default=0)
    tick(sum([plan.written for plan in passes[:begin]]))
    for number, plan in enumerate(passes[begin:], begin):
        source = str(part.array(number - 1)) if number else job.source
        array = part.array(number)
        if not is_array(array):
            create_store(array, open_store(source) if number else job.store, plan.lines, plan.chunks)
        part.forget_lost(number, plan, open_to_write(str(array)))
        _do_pass(Work(plan, source, str(array)), number, part, run, tick)
        if number:
            part.check_whole(number)
            shutil.rmtree(source, ignore_errors=True)
        elif open_store(source).identity != job.store.identity:
            raise FileError(f"{source}: it was changed while it was read")


def _do_pass(work: Work, number: int, part: Part, run: Runner, tick: Callable[[int], object]) -> None:
    """Do the tasks of a pass that are not done yet, and note each."""
    each = work.plan.written // max(1, work.plan.tasks)
    numbers = [task for task in range(work.plan.tasks) if (number, task) not in part.done]
    tick(each * (work.plan.tasks - len(numbers)))
    doing = run(work, numbers)
    try:
        for task, done in doing:
            part.record(number, task, done)
            tick(each)
    finally:
        doing.close()  # type: ignore[attr-defined]  # it is a generator


def _failed(error: Exception, target: Path) -> FileError:
    """Return the error for a job that failed, in one line, with how to go on if there is a part."""
    if isinstance(error, FileError):
        return error
    reason = " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
    went_on = "; mend it and go on with --resume" if part_of(target).is_dir() else ""
    return FileError(f"{target}: {reason.rstrip('.')}{went_on}")
