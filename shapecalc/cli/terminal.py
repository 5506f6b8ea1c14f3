"""`shapecalc tui` and `serve`: open the app in the terminal or in a browser.

The app shows a question, that is, a request or a chain. The user predicts its answer, and then inspects the answer step
by step.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from shlex import join
from typing import TYPE_CHECKING, Any

from shapecalc.cli.answer import print_answer, print_error
from shapecalc.cli.model import NODE_OPTION
from shapecalc.cli.options import COMMAND_MODULES, Argument, Command, command_line_argument, select_output_options
from shapecalc.cli.output import (
    ExitCode,
    OutputOptions,
    load_and_report_defaults,
    print_stderr,
    print_stdout,
    read_input_text,
    read_user_config,
    report_stream_error,
)
from shapecalc.cli.output_options import MAX_STEP
from shapecalc.cli.usage_hints import split_shape_error
from shapecalc.core.ops import OPS
from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.requests import StageRequest
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.reading.commands import parse_chain
from shapecalc.reading.options import Option, OptionKind

if TYPE_CHECKING:
    from shapecalc.teaching.lessons import Course


AnyTerminalApp = Any
"""An object with the interface of `__main__.TextualApp`.

The class itself cannot be imported here, because the module `__main__` imports this package.
"""
PICTURES_HINT = "shapecalc OP ... --explain=all prints the same pictures"
"""Hint in the error message for a terminal that cannot show the app."""
SITE_ADDRESS = re.compile(r"https?://[!-~]{1,200}")
"""The pattern of the address of a static page."""
LAST_STEP = "last"
"""The value of `--step` with which the app opens at the end of the answer."""


def _print_opening_error(error: ShapeError, command: str, words: Sequence[str], output_options: OutputOptions) -> int:
    """Print an error that occurs before the app opens, and return the exit code.

    If `words` contain a shape that the shell has split at commas, print an error about the split shape instead.
    """
    command_line: dict[str, object] = {"command": " ".join(words) or None}
    return print_error(split_shape_error([command, *words]) or error, command, command_line, output_options)


def read_opening_question(
    app: AnyTerminalApp,
    words: Sequence[str],
    output_options: OutputOptions,
    read_shape: Callable[[], str] = lambda: read_input_text("-"),
) -> Any:
    """Parse the command line of a request into the app's first question.

    The default options that affect the question are printed. `read_shape` reads the input shape if the input is `-`.
    Raises `ShapeError` (usage) if the words or a default cannot be parsed, and (file) if a file cannot be read.
    """
    question = app.parse_question(words, {})
    defaults = load_and_report_defaults(_question_stages(question, words), {}, output_options) if words else {}
    question = app.parse_question(words, defaults) if defaults else question
    return question.with_text("input", read_shape()) if question.texts.get("input", "").strip() == "-" else question


def load_opening_course(
    lesson_file: str | None, *, lesson: bool, notes: bool = False, path: bool = False
) -> Course | None:
    """Return the course of lessons that the app opens, or None.

    `lesson` selects the built-in lessons, `lesson_file` the lessons in a file, and `path` the introductory lessons;
    with `notes`, the speaker's notes are shown. Raises `ShapeError` (file) if the lesson file cannot be read, and
    (usage) for a mistake in the lesson file.
    """
    if not (lesson_file or lesson or notes or path):
        return None
    from shapecalc.teaching.lessons import (
        Course,
        load_lessons,
        load_path_lessons,
        parse_lesson_file,
        read_lesson_file,
    )

    if path and lesson_file:
        raise usage_error("--path and --lesson-file cannot be combined")
    if path:
        return Course(load_path_lessons(), notes, is_path=True)
    return Course(
        parse_lesson_file(lesson_file, read_lesson_file(lesson_file)) if lesson_file else load_lessons(), notes
    )


def _question_stages(question: Any, words: Sequence[str]) -> list[StageRequest]:
    """Return the stages of a question.

    If the question is not about a single op, the stages are parsed from the chains among `words`.
    """
    if question.op in OPS:
        return [(question.op, question.settings)]
    stages: list[StageRequest] = []
    for text in words[1:]:
        with suppress(ShapeError):
            stages += parse_chain(text)[1]
    return stages


def _read_shape_from_stdin() -> str:
    """Read the shape on standard input, then connect standard input to the terminal.

    Raises `ShapeError` (usage) if standard input is already a terminal, or if there is no terminal.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        raise usage_error("there is no shape on standard input, only the keyboard", "echo 2,3,4 | shapecalc tui - ...")
    text = read_input_text("-")
    try:
        os.dup2(os.open("/dev/tty", os.O_RDWR), 0)
    except OSError:
        raise usage_error("the app needs a terminal to read its keys from", PICTURES_HINT) from None
    return text


def check_terminal() -> None:
    """Raise `ShapeError` (usage) if the app cannot run in the terminal.

    On platforms with `termios`, the environment variable TERM must be set; Windows consoles do not set it.
    """
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise usage_error("the app needs a terminal, for its keys and on standard error", PICTURES_HINT)
    if find_spec("termios") and os.environ.get("TERM", "") in ("", "dumb"):
        raise usage_error("the app cannot draw on a terminal of the kind TERM names", PICTURES_HINT)
    if (sys.stderr.encoding or "").lower().replace("-", "") != "utf8":
        raise usage_error(f"the app needs a terminal in UTF-8, and this one is in {sys.stderr.encoding}", PICTURES_HINT)


@contextmanager
def redirect_stdout_to_terminal() -> Iterator[None]:
    """Redirect stdout to the terminal on stderr during a `with` block.

    Textual reads the size of the terminal from stdout, and assumes 80x24 if stdout is a pipe.
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


LESSON_OPTIONS = (
    Option("lesson", "Open the lessons.", OptionKind.FLAG),
    Option("lesson_file", "Open the lessons of this file, in the format of shapecalc-lessons(5).", metavar="FILE"),
)
STEP_OPTION = Option(
    "opening_step",
    "Open at this step, counted from 1; last is the position after the last step.",
    metavar=f"N|{LAST_STEP}",
    long="--step",
    completions=lambda: [LAST_STEP],
    minimum=1,
    maximum=MAX_STEP,
)
AT_OPTION = Option(
    "at", "Follow the input element at this index through all stages, as in 0,1,1.", metavar="I,J,...", long="--at"
)
TUI_PARAMETERS: tuple[Argument | Option, ...] = (
    command_line_argument(
        "the command line of an op, of chain, of equiv or of against",
        "[OP ARGS...]",
        "chain",
        "equiv",
        "against",
        required=False,
    ),
    STEP_OPTION,
    AT_OPTION,
    *LESSON_OPTIONS,
    Option("path", "Open the ten-minute course: dims, 0, -1, permutations.", OptionKind.FLAG),
    Option("plain", "Print one step at each Enter as plain text, for screen readers and pipes.", OptionKind.FLAG),
    Option("notes", "Show the speaker's notes of the lessons.", OptionKind.FLAG),
    Option("model", "Open the list of this model's nodes.", metavar="FILE.onnx"),
    NODE_OPTION,
    *select_output_options("no_config"),
)


def run_tui(
    app: AnyTerminalApp,
    words: list[str] | None,
    model: str | None,
    node: str | None,
    output_options: OutputOptions,
    *,
    at: str | None = None,
    plain: bool = False,
    **options: Any,
) -> int:
    """Open the app with a model or a question, and return the exit code.

    `words` are the words of the question, and `at` is the index of an input element to follow. With `plain`, the steps
    are printed and the app is not opened. `node` is the node of the model at which the app opens. If the user leaves
    the app with F10, the current answer is printed. Raises `ShapeError` (usage) for an invalid step.
    """
    words, step = words or [], _parse_step(options.pop("opening_step"))
    try:
        if not output_options.no_config:
            app.configure(*read_user_config())
        if model is not None and not words and not any(options.values()):
            return _open_model(app, model, node)
        if model is not None or node is not None:
            message = "the only option that --model takes here is --node"
            raise usage_error(message, "shapecalc tui --model FILE.onnx --node NAME")
        words = _infer_question_words(words)
        opening = app.parse_code_command(words)
        words = [] if opening else words
        question = read_opening_question(app, words, output_options, _read_shape_from_stdin)
        if at is not None:
            app.follow_element(question if words else None, at)
        if plain and opening:
            hint = f"run shapecalc {escape_unprintable(join(opening.words))}"
            raise usage_error(f"--plain prints the steps of ops, not of {opening.kind}", hint)
        if plain:
            return _print_plain_steps(app, question if words else None, step, options | {"at": at})
        course = load_opening_course(**options)
        check_terminal()
    except ShapeError as error:
        return _print_opening_error(error, "tui", words, output_options)
    with redirect_stdout_to_terminal():
        result, code = app.open(question if words else None, step, course, opening)
    if result is None:
        return int(code)
    if result.answer is not None:
        return print_answer(result.answer, output_options)
    return (
        ExitCode.OK
        if result.problem is None
        else print_error(ShapeError(result.problem), question.op, {}, output_options)
    )


OPENABLE_COMMANDS = ("chain", "equiv", "against", "code", "doctor")
"""The commands that the app can open, besides the ops."""


def _infer_question_words(words: list[str]) -> list[str]:
    """Infer the command name of words that do not begin with one.

    Raises `ShapeError` (usage) for a command that the app does not open.
    """
    from shapecalc.cli.inference import infer_command_line
    from shapecalc.reading.code.source import split_entry
    from shapecalc.reading.commands import resolve_aliases
    from shapecalc.reading.options import is_value

    is_named = bool(words) and (
        words[0] in OPENABLE_COMMANDS or resolve_aliases(words)[0] in (*OPS, *OPENABLE_COMMANDS)
    )
    if not words or is_named or not is_value(words[0]) or split_entry(words[0])[1]:
        return words
    line = words if words[0] in COMMAND_MODULES else resolve_aliases(infer_command_line(words))
    if line[0] == "size" and len(line) == 2:
        return ["chain", line[1]]
    if line[0] in OPS or line[0] in OPENABLE_COMMANDS:
        return line
    raise usage_error(f"{line[0]} is answered by the command line, not by the app", f"run shapecalc {join(line)}")


def _print_plain_steps(app: AnyTerminalApp, question: Any, step: int | None, others: Mapping[str, object]) -> int:
    """Print one step of a question for each line of stdin, and return the exit code.

    `others` are the options that require the app. Raises `ShapeError` (usage) if one of them is set.
    """
    name = next((name for name, value in others.items() if value), "")
    if name:
        raise usage_error(f"--plain and --{name.replace('_', '-')} cannot be combined", "shapecalc tui --plain OP ARGS")
    result = app.open_plain(question, step, sys.stdin or ())
    return ExitCode.OK if result is None or result.problem is None else ExitCode.UNRESOLVED


def _parse_step(step: str | None) -> int | None:
    """Parse the value of `--step`, the number of the step at which the app opens.

    Return the index of the step, counted from 0, or None for the end of the answer. Raises `ShapeError` (usage) for an
    invalid step.
    """
    if step is not None and step.strip() == LAST_STEP:
        return None
    return 0 if step is None else int(replace(STEP_OPTION, kind=OptionKind.NUMBER).parse_value(step)) - 1


def _open_model(app: AnyTerminalApp, file: str, node: str | None) -> int:
    """Open the app with a model, at the node `node` unless it is None.

    Return the exit code. Raises `ShapeError` (usage) for an unknown node, and (file) if the model cannot be used.
    """
    from shapecalc.cli.model_report import fix_report_lines, write_fixed_model
    from shapecalc.models.free_dims import BatchOptions
    from shapecalc.models.judge import report_model
    from shapecalc.models.report import find_node

    report = report_model(file, BatchOptions(), [] if node is None else [node])
    index = 0 if node is None else report.nodes.index(find_node(report, node))
    check_terminal()

    def write_fixed(path: str) -> list[str]:
        """Write the fixed model to a file, and return a report of the changes as lines."""
        fixed_report, _ = write_fixed_model(file, BatchOptions(), path, {}, (), force=False, prove=True)
        return fix_report_lines(fixed_report, fixed_report.fix_result) if fixed_report.fix_result else []

    with redirect_stdout_to_terminal():
        return int(app.open_model(report, index, write_fixed))


TUI_COMMAND = Command(
    run=run_tui,
    parameters=TUI_PARAMETERS,
    summary="Show step by step how 0, -1 and permutations map input dims to output dims.",
    examples="""\
  shapecalc tui
  shapecalc tui shuffle 2,3,4 --first 1,0,2 --to 2,-1,3 --step 4
  shapecalc tui reshape 2,3,4 0,-1 --step last
  shapecalc tui chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3'
  shapecalc tui equiv '2,3 | transpose 1,0' '| reshape 3,2'
  shapecalc tui against 'reshape 3,2' 'transpose 1,0' --input 2,3
  shapecalc tui --plain shuffle 2,3,4 --first 1,0,2 --to 0,-1
  shapecalc tui --at 0,1,1 shuffle 2,3,4 --first 1,2,0 --to 0,-1
  shapecalc tui net.py x=B,3,224,224
  shapecalc tui --lesson
  shapecalc tui --lesson-file week3.toml --notes
  shapecalc tui --model yolo.onnx
  s=$(shapecalc tui reshape 2,3,4 0,-1)""",
    details=" Without a request, the app opens the start screen, which reads requests, chains and error messages."
    " ^G hides the answers until they are predicted. F10 quits and prints the answer.",
    takes_app=True,
    accepts_unknown_options=True,
)


def serve_app(
    app: AnyTerminalApp,
    words: list[str] | None,
    output_options: OutputOptions,
    *,
    host: str,
    port: int,
    allow_host: list[str] | None,
    sessions: int,
    opens: bool,
    site: str | None,
    **course: Any,
) -> int:
    """Serve the app over HTTP until interrupted, with one process per visitor.

    `sessions` is the maximum number of concurrent visitors, and `allow_host` lists additional host names. With `opens`,
    the page is opened in a browser. `site` is the address of a static page for small screens. `course` contains the
    arguments of `load_opening_course`.
    """
    try:
        import asyncio

        from shapecalc.serving.server import ServerConfig, create_access_policy, is_loopback, serve, url_host
    except ImportError as error:
        raise report_stream_error("serve", missing_package_message(str(error.name), "serve")) from None
    words = words or []
    try:
        if site is not None and not SITE_ADDRESS.fullmatch(site):
            shown = escape_unprintable(truncate(site))
            raise usage_error(f"'{shown}' is not the address of a page", "write https://HOST/...", argument="site")
        question = read_opening_question(app, words, output_options)
        command = list(app.visitor_command(question, load_opening_course(**course), site or ""))
        policy = create_access_policy(host, allow_host or [])
    except ShapeError as error:
        return _print_opening_error(error, "serve", words, output_options)
    with _open_socket(host, port) as server_socket:
        address = f"http://{url_host(host)}:{port}/?token={policy.token}"
        print_stdout(address)
        print_stderr("shapecalc: serving until interrupted; the apps that are served open no files and write none")
        if not is_loopback(host):
            print_stderr(
                "shapecalc: the address and all that is typed can be read on the network, since nothing is encrypted"
            )
        remove_file = _open_browser(address) if opens else lambda: None
        try:
            asyncio.run(
                serve(
                    ServerConfig(command, policy, sessions, print_stderr, port, on_page_request=remove_file),
                    server_socket,
                )
            )
        finally:
            remove_file()
    return ExitCode.OK


def _open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address, or raise `EarlyExit` on failure."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        raise report_stream_error(f"{escape_unprintable(host)}:{port}", error) from None


def _open_browser(address: str) -> Callable[[], None]:
    """Open an address in a browser without exposing it in the process list.

    The address contains a secret token, and every user of the machine can read command lines. So the browser opens a
    temporary file that redirects to the address; only the owner of the file can read it. Return a function that deletes
    the file.
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


def _integer_option(name: str, help_text: str, default: str, maximum: int) -> Option:
    """Return an option whose value is an integer from 1 to `maximum`."""
    return Option(
        name, help_text, OptionKind.NUMBER, "N", default=default, shows_default=True, minimum=1, maximum=maximum
    )


SERVE_COMMAND = Command(
    run=serve_app,
    parameters=[
        replace(TUI_PARAMETERS[0], help="the request to open"),
        Option("host", "The address to listen on.", metavar="ADDRESS", default="127.0.0.1", shows_default=True),
        _integer_option("port", "The port to listen on, 1 to 65535.", "8000", 65535),
        Option("allow_host", "Another host name that browsers may use; may be repeated.", OptionKind.TEXTS, "NAME"),
        _integer_option("sessions", "Limit on concurrent sessions, 1 to 256.", "8", 256),
        Option("opens", "Open the address in a browser.", OptionKind.FLAG, long="--open"),
        Option("site", "The address of a page of shapecalc site to show on small screens instead.", metavar="URL"),
        *LESSON_OPTIONS,
        *select_output_options("no_config"),
    ],
    summary="Serve the terminal app to a browser on this machine.",
    examples="""\
  shapecalc serve
  shapecalc serve shuffle 2,3,4 --first 1,0,2 --to 2,-1,3
  shapecalc serve --open --port 8080
  shapecalc serve --lesson-file week3.toml
  shapecalc serve --host 0.0.0.0 --allow-host box.example""",
    details=" Anyone who has the printed address can use the app. The command needs the packages aiohttp and"
    " textual-serve.",
    takes_app=True,
    accepts_unknown_options=True,
)
