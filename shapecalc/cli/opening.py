"""The terminal app opened at a question, with or without Typer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, Protocol, Self, TypeVar

from shapecalc.cli.answer import print_answer, print_error
from shapecalc.cli.config import told_defaults
from shapecalc.cli.direct import COMPLETION
from shapecalc.cli.inputs import input_text, is_value, without_padding
from shapecalc.cli.output import Exit, Output
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import read_chain
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError, misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.ask import Stage
    from shapecalc.models.report import Report
    from shapecalc.teaching.lessons import Course

NAME = "tui"
INSTEAD = "shapecalc OP ... --explain=all prints the same pictures"


class Question(Protocol):
    """What the app opens with."""

    @property
    def op(self) -> str:
        """An op, or `chain`."""

    @property
    def texts(self) -> Mapping[str, str]:
        """What the fields hold, by name."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The options that every op has, as they were given."""

    def with_text(self, name: str, text: str) -> Self:
        """Return the question with another text in one field."""


class Result(Protocol):
    """What the app was left with."""

    @property
    def answer(self) -> Trace | Chain | None:
        """The answer to its last question, perhaps with a problem."""

    @property
    def problem(self) -> Problem | None:
        """Why there is no answer."""


Q = TypeVar("Q", bound=Question)


class TerminalApp(Protocol[Q]):
    """The terminal app as the command line needs it; `__main__` hands it over."""

    def question_of(self, words: Sequence[str], defaults: Mapping[str, object]) -> Q:
        """Return the question that a command line asks; raise `ShapeError` (usage) if it asks none."""

    def open(self, question: Q, step: int | None, course: Course | None, *, big: bool) -> tuple[Result | None, int]:
        """Run the app, with a course over it if there is one; return what it was left with, and its exit code."""

    def open_model(self, report: Report, at: int, mend: Callable[[str], list[str]]) -> int:
        """Run the app at a listed node of a model, and return its own exit code."""

    def visit(self, question: Q, course: Course | None) -> list[str]:
        """Return what opens the app for a visitor, with the question's file read; raise `ShapeError` (file)."""


def open_directly(words: Sequence[str], app: TerminalApp[Any]) -> int | None:
    """Open the app at a command line without options, and return the exit code; None to leave it to Typer."""
    if words[:1] != [NAME] or COMPLETION in os.environ or not all(map(is_value, words)):
        return None
    return open_at(app, [*map(without_padding, words[1:])], Output())


def open_at(
    app: TerminalApp[Any],
    words: Sequence[str],
    out: Output,
    *,
    place: int | None = 0,
    lesson_file: str | None = None,
    lesson: bool = False,
    notes: bool = False,
    big: bool = False,
) -> int:
    """Run the app at the question that some words ask, and print the answer if it was left with F10."""
    try:
        question = opening_question(app, words, out)
        if question.texts.get("input", "").strip() == "-":
            question = question.with_text("input", _shape_from_stdin())
        course = opening_course(lesson_file, lesson=lesson, notes=notes)
        check_terminal()
    except ShapeError as error:
        from shapecalc.cli.split_shapes import split_shape_error

        shown: dict[str, object] = {"command": " ".join(words) or None}
        return print_error(split_shape_error([NAME, *words]) or error, NAME, shown, out)
    with stdout_at_terminal():
        result, code = app.open(question, place, course, big=big)
    if result is None:
        return code
    if result.answer is not None:
        return print_answer(result.answer, out)
    return Exit.YES if result.problem is None else print_error(ShapeError(result.problem), question.op, {}, out)


def opening_question(app: TerminalApp[Any], words: Sequence[str], out: Output) -> Any:
    """Return the question that some words open the app with, under the defaults, which are told.

    Raises `ShapeError`: usage if the words or a default cannot be read, file if a file cannot.
    """
    question = app.question_of(words, {})
    defaults = told_defaults(_stages_of(question, words), {}, out) if words else {}
    return app.question_of(words, defaults) if defaults else question


def opening_course(file: str | None, *, lesson: bool, notes: bool = False) -> Course | None:
    """Return the course that the app opens with; None if it opens with none.

    Raises `ShapeError`: file if the file of lessons cannot be read, usage if something is wrong in it.
    """
    if not (file or lesson or notes):
        return None
    from shapecalc.teaching.lessons import Course, lessons, own_lessons, read_lesson_file

    return Course(own_lessons(file, read_lesson_file(file)) if file else lessons(), notes)


def _stages_of(question: Question, words: Sequence[str]) -> list[Stage]:
    """Return the stages that are asked for; of chains those that can be read so far."""
    if question.op in OPS:
        return [(question.op, question.settings)]
    stages: list[Stage] = []
    for text in words[1:]:
        with suppress(ShapeError):
            stages += read_chain(text)[1]
    return stages


def _shape_from_stdin() -> str:
    """Return the shape that standard input holds, and take the keys from the terminal from now on.

    Raises `ShapeError` (usage) if standard input is the keyboard, or if there is no terminal.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        raise misuse("there is no shape on standard input, only the keyboard", "echo 2,3,4 | shapecalc tui - ...")
    text = input_text("-")
    try:
        os.dup2(os.open("/dev/tty", os.O_RDWR), 0)
    except OSError:
        raise misuse("the app needs a terminal to read its keys from", INSTEAD) from None
    return text


def check_terminal() -> None:
    """Raise `ShapeError` (usage) if nobody could see the app, or could end it.

    TERM names the kind of a terminal where there is `termios`; the consoles of Windows are of one kind.
    """
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise misuse("the app needs a terminal, for its keys and on standard error", INSTEAD)
    if find_spec("termios") and os.environ.get("TERM", "") in ("", "dumb"):
        raise misuse("the app cannot draw on a terminal of the kind TERM names", INSTEAD)
    if (sys.stderr.encoding or "").lower().replace("-", "") != "utf8":
        raise misuse(f"the app needs a terminal in UTF-8, and this one is in {sys.stderr.encoding}", INSTEAD)


@contextmanager
def stdout_at_terminal() -> Iterator[None]:
    """Let stdout be the terminal for a while: Textual asks it for the size, and takes 80x24 if it is a pipe."""
    if sys.stdout is None or sys.stdout.isatty():
        yield
        return
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
