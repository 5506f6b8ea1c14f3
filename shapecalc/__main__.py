"""Connect the command line and the terminal app.

The command line and the terminal app do not import each other.
"""

from __future__ import annotations

import sys

from shapecalc.cli import output
from shapecalc.cli.answer import reset_reported_answers
from shapecalc.cli.app import run_command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from shapecalc.models.report import Report
    from shapecalc.teaching.lessons import Course
    from shapecalc.tui.app_commands import AppCommand
    from shapecalc.tui.question import Question, QuestionResult


class TextualApp:
    """The functions of the terminal app that the command line calls.

    The modules of the app are imported on the first call, so that other commands start fast.
    """

    def __init__(self) -> None:
        """Create an app with the default theme and keys."""
        self._settings: dict[str, Any] = {}
        """The arguments of `ShapecalcApp` from the user configuration."""

    def configure(self, values: Mapping[str, object], source: str) -> None:
        """Set the theme and the keys of the app.

        `source` is the name of the configuration in error messages. Raises `ShapeError` (usage) for an unknown theme or
        key.
        """
        if "theme" in values or "keys" in values:
            from shapecalc.tui.widgets import parse_settings

            self._settings = parse_settings(values, source)

    def parse_question(self, words: Sequence[str], defaults: Mapping[str, object]) -> Question:
        """Parse a command line into the first question of the app.

        Raises `ShapeError` (usage) if the command line is invalid.
        """
        from shapecalc.tui.question import question_from_words

        return question_from_words(words, defaults)

    def parse_code_command(self, words: Sequence[str]) -> AppCommand | None:
        """Parse code or the name of a source file, or return None for other words.

        Raises `ShapeError` if the code or the file cannot be read.
        """
        from shapecalc.tui.app_commands import parse_code_command

        return parse_code_command(words)

    def open(
        self, question: Question | None, step: int | None, course: Course | None, opening: AppCommand | None = None
    ) -> tuple[QuestionResult | None, int]:
        """Run the app, and return the result of the last question and the exit code.

        The app shows the step with index `step`, or the end of the last step if `step` is None. If `course` is not
        None, the app shows its lessons. Without a question, the app runs the command `opening` or shows the start
        screen.
        """
        from shapecalc.tui.app import ShapecalcApp

        opened = self.parse_question([], {}) if question is None else question
        app = ShapecalcApp(
            opened,
            step,
            lesson=course is not None,
            home=question is None and opening is None,
            opening=opening,
            **self._settings,
        )
        app.explore.course = course
        return app.run(), app.return_code or output.ExitCode.OK

    def follow_element(self, question: Question | None, index: str) -> None:
        """Set the input element that the app follows in the next question.

        Raises `ShapeError` (usage) if the question has no such element.
        """
        from shapecalc.tui.question import parse_followed_index

        self._settings["cursor"] = parse_followed_index(question, index)

    def open_plain(self, question: Question | None, step: int | None, lines: Iterable[str]) -> QuestionResult | None:
        """Print the answer to a question as plain text, and return the last result.

        Each line of input shows the next step.
        """
        from shapecalc.cli.output import print_stdout
        from shapecalc.tui.plain import PlainSession, run_plain

        return run_plain(PlainSession(question, step), lines, print_stdout)

    def open_model(self, report: Report, node_index: int, write_fixed: Callable[[str], list[str]]) -> int:
        """Run the app on a model report, and return the exit code.

        The app shows the node with index `node_index`. `write_fixed` writes the fixed model to a path, and returns the
        lines of a report on the fixes.
        """
        from shapecalc.tui.app import ShapecalcApp
        from shapecalc.tui.model import ModelScreen

        screen = ModelScreen(report, node_index, write_fixed)
        app = ShapecalcApp(self.parse_question([], {}), model=screen, **self._settings)
        app.run()
        return app.return_code or output.ExitCode.OK

    def visitor_command(self, question: Question, course: Course | None, site: str = "") -> list[str]:
        """Return the command that starts the app for a browser session.

        `site` is the address of a static page for visitors with small screens. Raises `ShapeError` (file) if the input
        file of the question cannot be read.
        """
        from shapecalc.tui.served import app_command

        return app_command(question, course, site)


def main() -> int:
    """Run the command line, and return the exit code."""
    try:
        output.escape_unencodable_characters()
        reset_reported_answers()
        return run_command_line(sys.argv[1:], TextualApp())
    except output.EarlyExit as ended:
        return ended.code
    except KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the exit
        return output.ExitCode.INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError):
            output.discard_stdout()
        return output.report_exception(error)


if __name__ == "__main__":
    sys.exit(main())
