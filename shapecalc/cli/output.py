"""Where answers and stories go, and how a run ends: stdout is the answer, stderr is the story."""

from __future__ import annotations

import os
import sys
from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import RenderableType

    from shapecalc.core.problem import Problem


class Exit(IntEnum):
    """The exit codes; of several, the largest counts."""

    YES = 0
    NO = 1
    USAGE = 2
    UNRESOLVED = 3
    FILE = 4
    INTERRUPTED = 130


class OutputEnded(Exception):
    """Standard output takes no more: its reader has gone, or the write failed."""

    def __init__(self, code: Exit) -> None:
        """Keep the exit code that follows from it."""
        super().__init__(code)
        self.code = code


def put(text: str) -> None:
    """Write an answer to stdout, whole; raise `OutputEnded` where that fails."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        raise OutputEnded(Exit.YES) from None
    except OSError as error:
        _abandon_stdout()
        tell(f"shapecalc: stdout: {error.strerror}")
        raise OutputEnded(Exit.FILE) from None


def _abandon_stdout() -> None:
    """Let the interpreter's own last flush go nowhere, so that it cannot fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Write a line of the story to stderr."""
    print(text, file=sys.stderr)


def show(story: RenderableType) -> None:
    """Write a renderable to stderr."""
    from rich.console import Console

    console = Console(file=sys.stderr, highlight=False, emoji=False, markup=False)
    console.print(story, soft_wrap=not console.is_terminal)


def show_table(table: RenderableType) -> None:
    """Write a table to stdout: fitted to a terminal, uncut elsewhere."""
    from io import StringIO

    from rich.console import Console

    terminal = Console(highlight=False, emoji=False, markup=False)
    if not terminal.is_terminal:
        terminal = Console(width=10_000, highlight=False, emoji=False, markup=False, file=StringIO())
        terminal.print(table)
        put("\n".join(line.rstrip() for line in terminal.file.getvalue().splitlines()))  # type: ignore[attr-defined]
        return
    with terminal.capture() as captured:
        terminal.print(table)
    put(captured.get().rstrip("\n"))


def report(problem: Problem, pieces: list[tuple[str | None, str]]) -> None:
    """Tell a problem: the caret report on a terminal, one greppable line elsewhere."""
    if sys.stderr.isatty():
        from shapecalc.view.report import caret_report

        show(caret_report(problem, pieces))
    else:
        tell(problem_line(problem))


def problem_line(problem: Problem) -> str:
    """Return a problem in one line."""
    from shapecalc.core.problem import ShapeError
    from shapecalc.core.text import visible

    return visible(f"shapecalc: {ShapeError(problem)}")
