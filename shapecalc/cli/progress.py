"""A progress bar for long operations on data."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAR_DELAY = 1.0
"""Number of seconds before a progress bar appears."""


@contextmanager
def progress_bar(total: int, label: str = "writing", *, enabled: bool = True) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr during a `with` block.

    The bar appears after `BAR_DELAY` seconds. Yield the function that advances it; its argument is the number of bytes
    processed since the last call. `total` is the total number of bytes, or 0 if unknown.
    """
    if not enabled or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (*Progress.get_default_columns()[:3], TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False)
    task, start = bar.add_task(label, total=total or None), monotonic()

    def tick(done: int) -> None:
        """Advance the bar by `done` bytes, and show it once the delay has passed."""
        bar.advance(task, done)
        if monotonic() - start > BAR_DELAY:
            bar.start()

    try:
        yield tick
    finally:
        bar.live.stop()
