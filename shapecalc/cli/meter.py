"""A bar on the terminal for work that takes a while."""

from __future__ import annotations

import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds after which a bar shows how far the work has come."""


class Meter:
    """A bar on the terminal for work that takes a while."""

    def __init__(self, total: int) -> None:
        """Start to wait."""
        self.total, self.done, self.start = total, 0, monotonic()
        self.bar: Progress | None = None

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def tick(self, done: int) -> None:
        """Note that so many bytes are done."""
        self.done += done
        if self.bar is None and monotonic() - self.start > PATIENCE and sys.stderr is not None and sys.stderr.isatty():
            self.bar = self._make_bar()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done)

    def _make_bar(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress, TimeRemainingColumn, TransferSpeedColumn

        columns = (*Progress.get_default_columns()[:3], TransferSpeedColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
        bar.add_task("writing", total=self.total)
        bar.start()
        return bar
