"""`shapecalc tui` and `serve`: open the terminal app here, or in a browser."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shapecalc.cli.answer import print_answer, print_error
from shapecalc.cli.misread import split_shape_error
from shapecalc.cli.model import NODE
from shapecalc.cli.options import MOST_STEPS, Argument, Command, command_words, printing_options
from shapecalc.cli.output import Exit, Output, input_text, put, stream_error, tell, told_defaults
from shapecalc.core.ask import Stage
from shapecalc.core.commands import Option, Takes, read_chain
from shapecalc.core.ops import OPS
from shapecalc.core.packages import missing
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import replace
from shapecalc.core.text import visible

if TYPE_CHECKING:
    from shapecalc.teaching.lessons import Course


TerminalApp = Any
"""An object with the interface of `__main__.TerminalApp`, which imports this package."""
INSTEAD = "shapecalc OP ... --explain=all prints the same pictures"
"""Hint for users without a suitable terminal."""
LAST = "last"
"""Value of `--step` for the end of the steps, with nothing hidden."""


def _print_refusal(error: ShapeError, command: str, words: Sequence[str], out: Output) -> int:
    """Print why the app is not opened, and return the exit code.

    An error about a shape that a shell has split takes precedence.
    """
    command_line: dict[str, object] = {"command": " ".join(words) or None}
    return print_error(split_shape_error([command, *words]) or error, command, command_line, out)


def opening_question(
    app: TerminalApp, words: Sequence[str], out: Output, shape: Callable[[], str] = lambda: input_text("-")
) -> Any:
    """Return the question with which the app opens, and report the defaults.

    `read_shape` reads the input shape if the input is `-`.
    Raises `ShapeError`: usage if the words or a default cannot be parsed, file if a file cannot be read.
    """
    question = app.question_of(words, {})
    defaults = told_defaults(_stages_of(question, words), {}, out) if words else {}
    question = app.question_of(words, defaults) if defaults else question
    return question.with_text("input", shape()) if question.texts.get("input", "").strip() == "-" else question


def opening_course(
    lesson_file: str | None, *, lesson: bool, notes: bool = False, path: bool = False, alone: bool = False
) -> Course | None:
    """Return the course with which the app opens, if any.

    `without_question` means that the app opens without a question; then new users get the first course.
    Raises `ShapeError`: file if the file of lessons cannot be read, usage for a mistake in it.
    """
    is_requested = lesson_file or lesson or notes or path
    if not (is_requested or alone):
        return None
    from shapecalc.teaching.lessons import Course, first_course, lessons, own_lessons, path_lessons, read_lesson_file

    if not is_requested:
        return first_course()
    if path and lesson_file:
        raise misuse("--path and --lesson-file cannot be combined")
    if path:
        return Course(path_lessons(), notes, path=True)
    return Course(own_lessons(lesson_file, read_lesson_file(lesson_file)) if lesson_file else lessons(), notes)


def _stages_of(question: Any, words: Sequence[str]) -> list[Stage]:
    """Return the stages of a question; of chains those that can be parsed."""
    if question.op in OPS:
        return [(question.op, question.settings)]
    stages: list[Stage] = []
    for text in words[1:]:
        with suppress(ShapeError):
            stages += read_chain(text)[1]
    return stages


def _shape_from_stdin() -> str:
    """Read the shape on standard input, then connect standard input to the terminal.

    Raises `ShapeError` (usage) if standard input is a terminal already, or if there is no terminal.
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
    """Raise `ShapeError` (usage) if the app cannot be displayed or receive keys.

    TERM is required where `termios` exists; Windows consoles do not set it.
    """
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise misuse("the app needs a terminal, for its keys and on standard error", INSTEAD)
    if find_spec("termios") and os.environ.get("TERM", "") in ("", "dumb"):
        raise misuse("the app cannot draw on a terminal of the kind TERM names", INSTEAD)
    if (sys.stderr.encoding or "").lower().replace("-", "") != "utf8":
        raise misuse(f"the app needs a terminal in UTF-8, and this one is in {sys.stderr.encoding}", INSTEAD)


@contextmanager
def stdout_at_terminal() -> Iterator[None]:
    """Redirect stdout to the terminal on stderr temporarily.

    Textual reads the size of the terminal from stdout, and assumes 80x24 if that is a pipe.
    """
    if sys.stdout is None or sys.stdout.isatty():
        yield
        return
    original = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(original, 1)
        os.close(original)


LESSONS = (
    Option("lesson", "Open with the lessons.", Takes.NOTHING),
    Option("lesson_file", "Open with the lessons of this file, as in shapecalc-lessons(5).", metavar="FILE"),
)
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
    command_words("any op's command line, or that of chain or equiv", "[OP ARGS...]", "chain", "equiv", required=False),
    STEP,
    *LESSONS,
    Option("path", "Open with the first ten minutes again: what a dim is, 0, -1, a permutation.", Takes.NOTHING),
    Option("notes", "Show the speaker's notes of the lessons.", Takes.NOTHING),
    Option("big", "Draw it in large figures, for a projector.", Takes.NOTHING),
    Option("model", "Open the list of this model's nodes.", metavar="FILE.onnx"),
    NODE,
    *printing_options("no_config"),
)


def run_tui(
    app: TerminalApp, words: list[str] | None, model: str | None, node: str | None, out: Output, **given: Any
) -> int:
    """Run the app at a model or a question, and print the answer if F10 ended it.

    Raises `ShapeError` (usage) for an invalid step.
    """
    words, step = words or [], _place(given.pop("place"))
    try:
        if model is not None and not words and not any(given.values()):
            return _run_model(app, model, node)
        if model is not None or node is not None:
            message = "the only option that --model takes here is --node"
            raise misuse(message, "shapecalc tui --model FILE.onnx --node NAME")
        question = opening_question(app, words, out, _shape_from_stdin)
        big = given.pop("big")
        course = opening_course(**given, alone=step == 0 and not (words or big))
        check_terminal()
    except ShapeError as error:
        return _print_refusal(error, "tui", words, out)
    with stdout_at_terminal():
        result, code = app.open(question, step, course, big=big)
    if result is None:
        return int(code)
    if result.answer is not None:
        return print_answer(result.answer, out)
    return Exit.YES if result.problem is None else print_error(ShapeError(result.problem), question.op, {}, out)


def _place(step: str | None) -> int | None:
    """Parse the step to open at: an index from 0, or None for the end.

    Raises `ShapeError` (usage).
    """
    if step is not None and step.strip() == LAST:
        return None
    return 0 if step is None else int(replace(STEP, takes=Takes.NUMBER).value(step)) - 1


def _run_model(app: TerminalApp, file: str, node: str | None) -> int:
    """Run the app at a model or one of its nodes; raise `ShapeError` (usage, file)."""
    from shapecalc.cli.model_report import fixed_lines, mended_report
    from shapecalc.models.free_dims import SizeOptions
    from shapecalc.models.judge import report_of
    from shapecalc.models.report import found_node

    report = report_of(file, SizeOptions(), [] if node is None else [node])
    index = 0 if node is None else report.nodes.index(found_node(report, node))
    check_terminal()

    def write_fixed(path: str) -> list[str]:
        fixed_report = mended_report(file, SizeOptions(), path, {}, force=False, prove=True)
        return fixed_lines(fixed_report, fixed_report.fixed) if fixed_report.fixed else []

    with stdout_at_terminal():
        return int(app.open_model(report, index, write_fixed))


TUI_COMMAND = Command(
    run=run_tui,
    parameters=PARAMETERS,
    summary="See, step by step, how 0, -1 and permutations map input dims to output dims.",
    examples="""\
  shapecalc tui
  shapecalc tui shuffle 2,3,4 --first 1,0,2 --to 2,-1,3 --step 4
  shapecalc tui reshape 2,3,4 0,-1 --step last
  shapecalc tui chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3'
  shapecalc tui equiv '2,3 | transpose 1,0' '| reshape 3,2'
  shapecalc tui --lesson
  shapecalc tui --lesson-file week3.toml --notes
  shapecalc tui --model yolo.onnx
  s=$(shapecalc tui reshape 2,3,4 0,-1)""",
    more=" At first it shows all of a request, and asks without one; ^G changes that. F10 quits and prints the answer.",
    opens_app=True,
    takes_unknown=True,
)


def run_serve(
    app: TerminalApp,
    words: list[str] | None,
    out: Output,
    *,
    host: str,
    port: int,
    allow_host: list[str] | None,
    sessions: int,
    opens: bool,
    **course: Any,
) -> int:
    """Serve the app until interrupted, with a process of its own for each visitor."""
    try:
        import asyncio

        from shapecalc.serving.server import Serving, is_loopback, new_door, serve, url_host
    except ImportError as error:
        raise stream_error("serve", missing(str(error.name), "serve")) from None
    words = words or []
    try:
        command = list(app.visit(opening_question(app, words, out), opening_course(**course)))
        door = new_door(host, allow_host or [])
    except ShapeError as error:
        return _print_refusal(error, "serve", words, out)
    with _listening(host, port) as server_socket:
        address = f"http://{url_host(host)}:{port}/?token={door.token}"
        put(address)
        tell("shapecalc: serving until interrupted; the apps that are served open no files and write none")
        if not is_loopback(host):
            tell("shapecalc: the address and all that is typed can be read on the network, since nothing is encrypted")
        remove_file = _open_browser(address) if opens else lambda: None
        try:
            asyncio.run(serve(Serving(command, door, sessions, tell, entered=remove_file), server_socket))
        finally:
            remove_file()
    return Exit.YES


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; raise `EarlyExit` if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        raise stream_error(f"{visible(host)}:{port}", getattr(error, "strerror", None) or str(error)) from None


def _open_browser(address: str) -> Callable[[], None]:
    """Open an address in a browser through a file; return a function that removes it.

    The address is a secret. Command lines can be read by every user, the file only by its owner.
    """
    import webbrowser
    from pathlib import Path
    from tempfile import NamedTemporaryFile
    from threading import Thread

    with NamedTemporaryFile("w", encoding="utf-8", prefix="shapecalc-", suffix=".html", delete=False) as file:
        file.write(f'<meta http-equiv="refresh" content="0;url={address}">\n')
    page = Path(file.name)
    Thread(target=webbrowser.open, args=[page.as_uri()], daemon=True).start()
    return lambda: page.unlink(missing_ok=True)


def _number(name: str, help: str, default: str, most: int) -> Option:
    return Option(name, help, Takes.NUMBER, "N", default=default, shows_default=True, least=1, most=most)


SERVE_COMMAND = Command(
    run=run_serve,
    parameters=[
        replace(PARAMETERS[0], help="the request to open with"),
        Option("host", "The address to listen on.", metavar="ADDRESS", default="127.0.0.1", shows_default=True),
        _number("port", "The port to listen on, 1 to 65535.", "8000", 65535),
        Option("allow_host", "Another host name that browsers may use; may be repeated.", Takes.TEXTS, "NAME"),
        _number("sessions", "How many may use it at once, 1 to 256.", "8", 256),
        Option("opens", "Open the address in a browser.", Takes.NOTHING, long="--open"),
        *LESSONS,
        *printing_options("no_config"),
    ],
    summary="Serve the terminal app to a browser on this machine.",
    examples="""\
  shapecalc serve
  shapecalc serve shuffle 2,3,4 --first 1,0,2 --to 2,-1,3
  shapecalc serve --open --port 8080
  shapecalc serve --lesson-file week3.toml
  shapecalc serve --host 0.0.0.0 --allow-host box.example""",
    more=" Whoever has the address that is printed can use it. It needs the packages aiohttp and textual-serve.",
    opens_app=True,
    takes_unknown=True,
)
