"""The entry point, which connects the command line and the terminal app.

Neither of them imports the other.
"""

from __future__ import annotations

import sys

from shapecalc.cli import output
from shapecalc.cli.app import run_line
from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shapecalc.models.report import Report
    from shapecalc.teaching.lessons import Course
    from shapecalc.tui.question import Question, Result


class TerminalApp:
    """The terminal app for the command line; its modules are imported on first use."""

    def question_of(self, words: Sequence[str], defaults: Mapping[str, object]) -> Question:
        """Parse a command line into the app's initial request.

        Raises `ShapeError` (usage) if it is invalid.
        """
        from shapecalc.tui.question import question_of

        return question_of(words, defaults)

    def open(
        self, question: Question, step: int | None, course: Course | None, *, big: bool
    ) -> tuple[Result | None, int]:
        """Run the app, perhaps with a course; return its result and exit code."""
        from shapecalc.tui.app import ShapecalcApp

        app = ShapecalcApp(question, step, lesson=course is not None, big=big)
        app.explore.course = course
        return app.run(), app.return_code or output.Exit.YES

    def open_model(self, report: Report, at: int, mend: Callable[[str], list[str]]) -> int:
        """Run the app at a node of a model report and return its exit code.

        `write_fixed` writes the fixed model.
        """
        from shapecalc.tui.app import ShapecalcApp
        from shapecalc.tui.model import ModelScreen

        app = ShapecalcApp(self.question_of([], {}), model=ModelScreen(report, at, mend))
        app.run()
        return app.return_code or output.Exit.YES

    def visit(self, question: Question, course: Course | None) -> list[str]:
        """Return the command that runs the app for a visitor of `serve`.

        Raises `ShapeError` (file) if the input file of the request cannot be read.
        """
        from shapecalc.tui.served import command_of

        return command_of(question, course)


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        return _run(sys.argv[1:])
    except output.RunEnded as ended:
        return ended.code
    except KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the exit
        return output.Exit.INTERRUPTED
    except Exception as error:
        if sys.flags.dev_mode:
            sys.excepthook(type(error), error, error.__traceback__)
        output.tell(f"shapecalc: {output.fault_text(error)}")
        return output.Exit.FILE if isinstance(error, MemoryError) else output.Exit.FAULT


def _run(words: list[str]) -> int:
    """Run a command line and return its exit code.

    Raises `RunEnded` if a standard stream is unusable.
    """
    output.escape_what_cannot_be_written()
    try:
        return run_line(words, TerminalApp())
    except ImportError as error:
        raise output.missing_error(error) from None
    except OSError as error:
        output.abandon_stdout()
        raise output.stream_error(visible(str(error.filename or "stdout")), error.strerror) from None


if __name__ == "__main__":
    sys.exit(main())
