"""Tasks on the threads of this process, few at a time, so that the memory stays bounded."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from shapecalc.engine.stores.tasks import do_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shapecalc.engine.stores.tasks import Done, Work

    Runner = Callable[[Work, Iterable[int]], Iterator[tuple[int, Done]]]
    """What does the tasks of a pass: it yields the number of each that is done, and what is noted of it."""


def on_threads(count: int) -> Runner:
    """Return what does tasks on so many threads. When it is closed, those that have begun are finished first."""

    def run(work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Done]]:
        with ThreadPoolExecutor(count, thread_name_prefix="shapecalc-task") as threads:
            waiting = iter(numbers)
            begun: dict[Future[Done], int] = {}
            try:
                while True:
                    while len(begun) < count and (number := next(waiting, None)) is not None:
                        begun[threads.submit(do_task, work, number)] = number
                    if not begun:
                        return
                    for done in wait(begun, return_when=FIRST_COMPLETED).done:
                        yield begun.pop(done), done.result()
            finally:
                threads.shutdown(cancel_futures=True)

    return run
