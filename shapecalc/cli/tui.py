"""`shapecalc tui`: the terminal app, opened at a question."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from shapecalc.cli.answer import print_answer, print_error
from shapecalc.cli.config import told_defaults
from shapecalc.cli.inputs import input_text
from shapecalc.cli.model import NODE
from shapecalc.cli.options import MOST_STEPS, Argument, Option, Takes, printing_options, read_number
from shapecalc.cli.output import Exit
from shapecalc.cli.signature import make_command
from shapecalc.cli.split_shapes import split_shape_error
from shapecalc.core.asking.command_line import read_chain
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.problem import ShapeError, misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol, Self, TypeVar

    import typer

    from shapecalc.cli.output import Output
    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.asking.defaults import Stage
    from shapecalc.core.sizes.problem import Problem
    from shapecalc.models.report import Report
    from shapecalc.teaching.lessons import Course

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

    class Outcome(Protocol):
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

        def open(
            self, question: Q, step: int | None, course: Course | None, *, big: bool
        ) -> tuple[Outcome | None, int]:
            """Run the app, with a course over it if there is one; return what it was left with, and its exit code."""

        def open_model(self, report: Report, at: int, mend: Callable[[str], list[str]]) -> int:
            """Run the app at a listed node of a model, and return its own exit code."""

        def visit(self, question: Q, course: Course | None) -> list[str]:
            """Return what opens the app for a visitor, with the question's file read; raise `ShapeError` (file)."""


SUMMARY = "See, step by step, how 0, -1 and permutations map input dims to output dims."
HELP = f"""\b
  shapecalc tui
  shapecalc tui shuffle 2,3,4 --first 1,0,2 --to 2,-1,3 --step 4
  shapecalc tui reshape 2,3,4 0,-1 --step last
  shapecalc tui chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3'
  shapecalc tui equiv '2,3 | transpose 1,0' '| reshape 3,2'
  shapecalc tui --lesson
  shapecalc tui --lesson-file week3.toml --notes
  shapecalc tui --model yolo.onnx
  s=$(shapecalc tui reshape 2,3,4 0,-1)

{SUMMARY} It opens at the first step and asks; ^G reveals all. F10 quits and prints the answer, F1 lists the keys."""
INSTEAD = "shapecalc OP ... --explain=all prints the same pictures"
UNKNOWN = {"ignore_unknown_options": True}
"""The words after `tui` are an op's command line, which the core reads."""
LESSONS = (
    Option("lesson", "Open with the lessons.", Takes.NOTHING),
    Option("lesson_file", "Open with the lessons of this file, as in shapecalc-lessons(5).", metavar="FILE"),
)
LAST = "last"
"""What is written for the place past the last step, where nothing is hidden."""
STEP = Option(
    "place",
    "Open at this step, from 1, or past the last, with nothing hidden.",
    metavar=f"N|{LAST}",
    long="--step",
    completions=lambda: [LAST],
    least=1,
    most=MOST_STEPS,
)
PARAMETERS: tuple[Argument | Option, ...] = (
    Argument(
        "words",
        "any op's command line, or that of chain or equiv",
        "[OP ARGS...]",
        required=False,
        repeated=True,
        completions=lambda: [*OPS, "chain", "equiv"],
        completes_first=True,
    ),
    STEP,
    *LESSONS,
    Option("notes", "Show the speaker's notes of the lessons.", Takes.NOTHING),
    Option("big", "Draw it in large figures, for a room.", Takes.NOTHING),
    Option("model", "Open the list of this model's nodes.", metavar="FILE.onnx"),
    NODE,
    *printing_options("no_config"),
)


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    made = make_command(run_tui, PARAMETERS, with_context=True)
    app.command("tui", cls=cls, short_help=SUMMARY, help=HELP, context_settings=UNKNOWN)(made)


def run_tui(
    context: typer.Context, words: list[str] | None, model: str | None, node: str | None, out: Output, **given: Any
) -> int:
    """Run the app at a model or at a question, and print the answer if it was left with F10."""
    app: TerminalApp[Any] = context.obj
    words = words or []
    try:
        place = _place(given["place"])
    except ShapeError as error:
        context.fail(error.problem.message)
    try:
        if model is not None or node is not None:
            if model is None or words or any(given.values()):
                raise misuse(
                    "the only option that --model takes here is --node", "shapecalc tui --model FILE.onnx --node NAME"
                )
            return _run_model(app, model, node)
        question = opening_question(app, words, out)
        if question.texts.get("input", "").strip() == "-":
            question = question.with_text("input", _shape_from_stdin())
        course = opening_course(given["lesson_file"], lesson=given["lesson"], notes=given["notes"])
        _check_terminal()
    except ShapeError as error:
        shown: dict[str, object] = {"command": " ".join(words) or None}
        return print_error(split_shape_error(["tui", *words]) or error, "tui", shown, out)
    with _stdout_at_terminal():
        outcome, code = app.open(question, place, course, big=given["big"])
    if outcome is None:
        return code
    if outcome.answer is not None:
        return print_answer(outcome.answer, out)
    return Exit.YES if outcome.problem is None else print_error(ShapeError(outcome.problem), question.op, {}, out)


def _place(step: str | None) -> int | None:
    """Return the step to open at, from 0; None for the place past the last. Raises `ShapeError` (usage) for others."""
    if step is not None and step.strip() == LAST:
        return None
    return (read_number(STEP, step) or 1) - 1


def _run_model(app: TerminalApp[Any], file: str, node: str | None) -> int:
    """Run the app at a model, perhaps at one of its nodes; raise `ShapeError` (usage, file)."""
    from shapecalc.cli.modelling.opened import mended_report, report_of, stops_left
    from shapecalc.cli.modelling.screens import fixed_lines
    from shapecalc.models.report import Asked
    from shapecalc.models.telling import found_node

    report = report_of(file, Asked())
    at = 0 if node is None else report.nodes.index(found_node(report, node))
    _check_terminal()

    def mend(path: str) -> list[str]:
        found = mended_report(file, Asked(), path, {}, force=False, prove=True)
        return fixed_lines(found, found.fixed, stops_left(found, Asked())) if found.fixed else []

    with _stdout_at_terminal():
        return app.open_model(report, at, mend)


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
    from shapecalc.teaching.lesson_files import own_lessons, read_lesson_file
    from shapecalc.teaching.lessons import Course, lessons

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


def _check_terminal() -> None:
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
def _stdout_at_terminal() -> Iterator[None]:
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
