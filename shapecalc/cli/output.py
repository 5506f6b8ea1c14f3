"""Inputs, defaults, streams and exit codes of the command line.

Answers are written to stdout, explanations and messages to stderr. Every command imports this module, so it imports no
slow modules.
"""

from __future__ import annotations

import os
import sys
from io import UnsupportedOperation
from stat import S_ISCHR

from shapecalc.cli.output_options import OutputOptions as OutputOptions
from shapecalc.core.dialects.base import parse_element_type
from shapecalc.core.limits import MAX_LINE_BYTES
from shapecalc.core.ops import OPS
from shapecalc.core.problem import DIFFERS, FILE, USAGE, Problem, ShapeError, error_reason, usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import (
    Default,
    Options,
    StageRequest,
    iter_effective_defaults,
    parse_config_table,
    parse_default,
    select_operator,
)
from shapecalc.core.text import (
    BOM,
    escape_unprintable,
    is_file_argument,
    join_words,
    shape_text,
    split_outside_brackets,
    wrap_offsets,
)
from shapecalc.reading.options import strip_leading_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO, Any, BinaryIO

    from rich.console import Console, RenderableType

    from shapecalc.engine.arrays import Source


MIN_CHUNKED_LENGTH = 4096
"""Minimum length, in characters, of a text that is written to stdout in several pieces."""
PACKAGE_NAME = "shapecalc"
MESSAGE_INDENT = "  "
"""The hanging indent of messages on a terminal."""
MAX_INPUT_BYTES = MAX_LINE_BYTES
"""Maximum length, in bytes, of a line of standard input that contains a shape."""
ENVIRONMENT_VARIABLES = {"dialect": "SHAPECALC_DIALECT", "opset": "SHAPECALC_OPSET"}
"""The environment variable with the default value of an option, by option name."""
COMPLETION_VARIABLE = "_SHAPECALC_COMPLETE"
"""The environment variable by which a shell requests completions."""
CONFIG_VARIABLE = "SHAPECALC_CONFIG"
"""The environment variable with the path of the user's configuration file."""
CONFIG_FOLDERS = {
    "darwin": "~/Library/Application Support",
    "win32": os.environ.get("LOCALAPPDATA", "~\\AppData\\Local"),
}
"""The folder of configuration files by platform, if XDG_CONFIG_HOME is not set; by default ~/.config.

The folders are those of the package platformdirs. The package is not used, because its import takes as long as
computing an answer.
"""
CONFIG_TABLE_SPELLINGS = b"tool.shapecalc", b"tool={shapecalc", b"tool]shapecalc"
"""Ways to write the table name `tool.shapecalc` in TOML, without quotes and white space.

A `pyproject.toml` without any of them is not parsed, since importing `tomllib` is slow.
"""
MAX_CONFIG_BYTES = 1 << 20
"""Maximum number of bytes that are read from a configuration file."""


class ExitCode:
    """The exit codes of the program.

    A run with several results exits with the largest code. `FAILED` means a failed check or comparison, `UNRESOLVED` a
    refused request, and `FAULT` an internal error. The codes are plain integers, since importing `enum` is slow.
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    UNRESOLVED = 3
    FILE = 4
    FAULT = 70
    INTERRUPTED = 130


class EarlyExit(Exception):
    """Raised to end the run with an exit code, if a resource cannot be used."""

    def __init__(self, code: int) -> None:
        """Create an exception that ends the run with the exit code `code`."""
        super().__init__(code)
        self.code = code


class StdoutError(EarlyExit):
    """Raised if stdout cannot be written or is a closed pipe."""


def print_stdout(text: str) -> None:
    """Print an answer to stdout, or raise `StdoutError` if that fails."""
    if sys.stdout is None:
        raise StdoutError(report_stream_error("stdout", "it is closed").code)
    try:
        _write_stdout(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        raise StdoutError(ExitCode.OK) from None
    except OSError as error:
        discard_stdout()
        raise StdoutError(report_stream_error("stdout", error).code) from None


def _write_stdout(text: str) -> None:
    """Write a text to stdout; write a long text in pieces.

    If a signal interrupted a single write of a long text, Python would drop the remainder. With an encoding that begins
    with a byte order mark, the text is written at once, because each piece would begin with the mark.
    """
    if len(text) < MIN_CHUNKED_LENGTH or len(" ".encode(sys.stdout.encoding)) > 1:
        sys.stdout.write(text)
        return
    data = text.encode(sys.stdout.encoding, sys.stdout.errors or "strict")
    while data:
        data = data[sys.stdout.buffer.write(data) :]


def print_json(value: object) -> None:
    """Print a value to stdout as one line of JSON, or raise `EarlyExit` on failure."""
    import json

    print_stdout(json.dumps(value))


def print_json_if_requested(output_options: OutputOptions, build_json: Callable[[], object]) -> bool:
    """Print the result of `build_json` if JSON output is requested.

    With `--quiet`, nothing is printed. Return whether neither `--json` nor `--quiet` is set: the caller must then print
    the answer as text. Raises `EarlyExit` if stdout cannot be written.
    """
    if output_options.json and not output_options.quiet:
        print_json(build_json())
    return not (output_options.json or output_options.quiet)


def report_stream_error(stream: str, reason: str | BaseException) -> EarlyExit:
    """Print why a stream cannot be used, and return the `EarlyExit` to raise."""
    print_stderr(f"shapecalc: {stream}: {reason if isinstance(reason, str) else error_reason(reason)}")
    return EarlyExit(ExitCode.FILE)


def discard_stdout() -> None:
    """Redirect stdout to the null device, so that the flush at exit cannot fail."""
    _redirect_to_devnull(1)


def _redirect_to_devnull(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def escape_unencodable_characters() -> None:
    """Make stdout and stderr escape the characters that they cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def print_stderr(text: str) -> None:
    """Print a message to stderr; ignore a stderr that is closed or cannot be written.

    On a terminal, the message is wrapped to the width of the terminal, with a hanging indent.
    """
    if sys.stderr is None:
        return
    if width := terminal_width():
        text = "\n".join(_wrap_message(line, width) for line in text.split("\n"))
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _redirect_to_devnull(2)


def _wrap_message(text: str, width: int) -> str:
    """Wrap a line at blanks, and indent the lines after the first."""
    offsets = wrap_offsets(text, width, len(MESSAGE_INDENT)) if len(text) > width else []
    parts = [text[start:end] for start, end in zip([0, *offsets], [*offsets, len(text)], strict=True)]
    return f"\n{MESSAGE_INDENT}".join(part.rstrip() for part in parts)


def print_renderable(renderable: RenderableType) -> None:
    """Print a Rich renderable to stderr; wrap lines only if stderr is a terminal."""
    from rich.text import Text

    if sys.stderr is None:
        return
    terminal = _make_console(file=sys.stderr)
    if terminal.is_terminal:
        terminal.print(renderable)
    else:
        print_stderr(
            (renderable.plain if isinstance(renderable, Text) else _render_text(renderable, soft_wrap=True)).rstrip(
                "\n"
            )
        )


def _make_console(**options: Any) -> Console:
    """Create a Rich console that does not interpret markup and emoji codes."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False, **options)


def _render_text(renderable: RenderableType, *, soft_wrap: bool = False, width: int | None = None) -> str:
    """Render a Rich renderable to text without colors."""
    from io import StringIO

    console = _make_console(file=StringIO(), no_color=True, width=width)
    console.print(renderable, soft_wrap=soft_wrap)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def terminal_width() -> int | None:
    """Return the width of the terminal on stderr in columns, or None without a terminal.

    The environment variable `COLUMNS` takes precedence.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    try:
        return int(columns) if columns.isdecimal() else os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def stderr_width() -> int:
    """Return the width of the terminal on stderr in columns, or 80 without a terminal."""
    return terminal_width() or 80


def print_table(table: RenderableType) -> None:
    """Print a table to stdout, fitted to the width of a terminal."""
    terminal = _make_console()
    if not terminal.is_terminal:
        print_stdout(format_table(table))
        return
    with terminal.capture() as captured:
        terminal.print(table)
    print_stdout(captured.get().rstrip("\n"))


def print_report(lines: Sequence[str], styles: Mapping[str, str], indent: int | None = None) -> None:
    """Print the lines of a report to stdout.

    On a terminal, text that matches a regular expression in `styles` is printed in the style of this expression. If
    `indent` is given, lines are wrapped to the width of the terminal, and continuation lines have this indent.
    """
    is_terminal = sys.stdout is not None and (sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR")))
    terminal = _make_console() if is_terminal else None  # in a pipe, importing Rich would take longer than the rest
    if terminal is None or not terminal.is_terminal:
        print_stdout("\n".join(lines))
        return
    from rich.text import Text

    from shapecalc.render.report import wrap_text

    with terminal.capture() as captured:
        for line in lines:
            text = Text(line)
            for pattern, style in styles.items():
                text.highlight_regex(pattern, style)
            terminal.print(wrap_text(text, None if indent is None else terminal.width, indent or 0), soft_wrap=True)
    print_stdout(captured.get().rstrip("\n"))


def format_table(table: RenderableType) -> str:
    """Format a table as text, without wrapping its cells."""
    return "\n".join(line.rstrip() for line in _render_text(table, width=10_000).splitlines())


def print_problem(problem: Problem, pieces: list[tuple[str | None, str]]) -> None:
    """Print a problem to stderr.

    On a terminal, carets mark the span of the problem in the command line; otherwise, the problem is printed as one
    line. `pieces` are the words of the command line, each with the name of its argument or None.
    """
    if sys.stderr is not None and sys.stderr.isatty():
        from shapecalc.render.report import format_problem

        print_renderable(format_problem(problem, pieces, terminal_width()))
    else:
        print_stderr(problem_text(problem))


def problem_text(problem: Problem) -> str:
    """Format a problem as one line of text."""
    return escape_unprintable(f"shapecalc: {problem}")


def problem_exit_code(problem: Problem) -> int:
    """Return the exit code of a problem."""
    return {USAGE: ExitCode.USAGE, FILE: ExitCode.FILE, DIFFERS: ExitCode.FAILED}.get(problem.rule, ExitCode.UNRESOLVED)


def internal_error_text(error: BaseException) -> str:
    """Format an internal error as one line, with a request to report the error.

    >>> internal_error_text(MemoryError())
    'memory: there is not enough for this'
    """
    from traceback import walk_tb

    if isinstance(error, MemoryError):
        return "memory: there is not enough for this"
    frames = [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in walk_tb(error.__traceback__)]
    own_frames = [f" ({frame})" for frame in frames if frame.startswith(PACKAGE_NAME)]
    return escape_unprintable(
        f"fault: {type(error).__name__}: {error}{''.join(own_frames[-1:])}; {bug_report_request()}"
    )


def report_exception(error: Exception) -> int:
    """Print an unexpected exception as one line, and return its exit code.

    In Python's development mode, the traceback of an internal error is printed, too.
    """
    if text := _missing_package_text(error):
        print_stderr(f"shapecalc: {text}")
        return ExitCode.FILE
    if isinstance(error, OSError):
        return report_stream_error(escape_unprintable(str(error.filename or "stdout")), error).code
    if sys.flags.dev_mode:
        sys.excepthook(type(error), error, error.__traceback__)
    print_stderr(f"shapecalc: {internal_error_text(error)}")
    return ExitCode.FILE if isinstance(error, MemoryError) else ExitCode.FAULT


def _missing_package_text(error: Exception) -> str:
    """Return the error message for a missing or outdated package.

    The message contains the command that installs the package. It is empty for an exception of another kind, and if the
    missing module is unknown or part of shapecalc.
    """
    module = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if module in ("", PACKAGE_NAME):
        return ""
    from shapecalc.core.packages import missing_package_message

    return missing_package_message(module)


def bug_report_request() -> str:
    """Return a request for a bug report, with the address of the issue tracker."""
    from importlib.metadata import PackageNotFoundError, metadata

    from shapecalc.core.packages import DISTRIBUTION

    try:
        urls = dict(url.split(", ", 1) for url in metadata(DISTRIBUTION).get_all("Project-URL") or [])
    except PackageNotFoundError:
        urls = {}
    fallback = f"the address that 'pip show --verbose {DISTRIBUTION}' names"
    return f"please report it at {urls.get('Issues') or next(iter(urls.values()), fallback)}"


class ParsedInput(Record):
    """The input of a request as a shape, with the options of the request.

    If the input is a file, `source` is the file, and the options include its element type; otherwise `source` is None.
    """

    shape: str
    options: Mapping[str, object]
    source: Source | None


def read_input_text(text: str) -> str:
    """Return the text of an input; if it is `-`, read the line on standard input.

    Raises `ShapeError` (usage) if standard input is not exactly one line, and `EarlyExit` if standard input cannot be
    read.
    """
    if text.strip() != "-":
        return strip_leading_space(text)
    lines = read_input_lines()
    line = next(lines)
    if next(lines, None) is not None:
        raise usage_error(
            "standard input has more than one line, and one shape was expected",
            "many cases: shapecalc check -",
            argument="input",
        )
    return line


def read_input_lines() -> Iterator[str]:
    """Yield the non-blank lines of standard input as they arrive.

    If standard input is a terminal, read only one line. Raises `ShapeError` (usage) if all lines are blank or a line is
    too long, and `EarlyExit` if standard input cannot be read.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        print_stderr("shapecalc: reading a shape from the terminal; end it with a new line")
        yield sys.stdin.readline().strip()
        return
    is_empty, bom = True, BOM
    while raw := read_stdin(one_line=True):
        if len(raw) > MAX_INPUT_BYTES:
            raise MAX_LINE_BYTES.error("a line is longer", "the lines after it were not read", argument="input")
        line, bom = raw.removeprefix(bom).decode("utf-8", "surrogateescape").strip(), b""
        if line:
            is_empty = False
            yield line
    if is_empty:
        raise usage_error("standard input is empty, and a shape was expected", argument="input")


stdin_replacements: list[BinaryIO] = []
"""Streams that replace standard input; the last one is in use."""


def stdin_stream() -> BinaryIO:
    """Return the binary stream of standard input.

    Raises `EarlyExit` if standard input is closed.
    """
    if stdin_replacements:
        return stdin_replacements[-1]
    if sys.stdin is None:
        raise report_stream_error("stdin", "it is closed")
    return sys.stdin.buffer


def has_stdin_data() -> bool:
    """Return whether standard input is not a terminal and not empty.

    Wait for the first byte of a pipe.
    """
    if stdin_replacements or sys.stdin is None or sys.stdin.isatty():
        return False
    try:
        return bool(sys.stdin.buffer.peek(1))  # type: ignore[union-attr]
    except OSError:
        return True  # the next read reports the error


def read_stdin(limit: int = MAX_INPUT_BYTES + 1, *, one_line: bool = False) -> bytes:
    """Read up to `limit` bytes of standard input, or of its next line.

    Raises `EarlyExit` if standard input cannot be read.
    """
    stream = stdin_stream()
    try:
        if one_line:
            return stream.readline(limit)
        reject_device(stream)
        return stream.read(limit)
    except OSError as error:
        raise report_stream_error("stdin", error) from None


def reject_device(stream: IO[bytes]) -> None:
    """Raise `OSError` if a stream is a device, which may never end.

    A terminal, the null device and a stream in memory are allowed.
    """
    try:
        status = os.fstat(stream.fileno())
    except UnsupportedOperation:  # a stream in memory has no file descriptor
        return
    if S_ISCHR(status.st_mode) and not stream.isatty() and status.st_rdev != os.stat(os.devnull).st_rdev:  # noqa: PTH116
        raise OSError(0, "it is a device, not a file or a pipe")


def read_input(text: str, options: Mapping[str, object], op: str) -> ParsedInput:
    """Read an input, which is a shape or the name of a file.

    A shape is returned unparsed. If the input is a file, its shape and its element type are read from its header.
    Raises `ShapeError` (file) if the file cannot be used, and (usage) for a URL or an unknown dialect.
    """
    if not is_file_argument(text):
        return ParsedInput(text, options, None)
    source = _open_source(text)
    dialect, _ = select_operator(OPS[op], options.get("dialect"))
    dtype = parse_element_type(source.dtype, dialect) if source.dtype else None
    set_options = {name: value for name, value in options.items() if value is not None}
    return ParsedInput(shape_text(source.shape), {"dtype": dtype, **set_options}, source)


def open_operand_files(options: dict[str, object]) -> list[Source]:
    """Open the operands that are files, and return the files.

    In `options`, each file name is replaced by the shape of the array in the file. Raises `ShapeError` (file) if a file
    cannot be used.
    """
    sources: list[Source] = []
    for name in ("operands", "weight"):
        words = split_outside_brackets(str(options.get(name) or ""))
        files = {word: _open_source(word) for word in words if is_file_argument(word)}
        if files:
            options[name] = join_words([shape_text(files[word].shape) if word in files else word for word in words])
            sources += [files[word] for word in words if word in files]
    return sources


def _open_source(text: str) -> Source:
    """Open a file or a store.

    Raises `ShapeError` (usage) for a URL, and (file) if the file cannot be opened.
    """
    from shapecalc.engine.arrays import FileError, open_source

    if "://" in text:
        raise usage_error("a store is a path, and this is a URL", "mount it, or copy it here", argument="input")
    try:
        return open_source(text)
    except FileError as error:
        raise file_error(error) from None


def file_error(error: Exception) -> ShapeError:
    """Convert an exception about a file or a backend to a `ShapeError` (file)."""
    return ShapeError(Problem(FILE, str(error), argument="input"))


def load_and_report_defaults(
    stages: Sequence[StageRequest], options: Options, output_options: OutputOptions
) -> dict[str, object]:
    """Return the default values of unset options, and print those that matter.

    A default value is printed to stderr if it changes the rules of a stage. `options` are the options that the user has
    set for all stages. Raises `ShapeError` (usage) for an invalid value, and (file) if a file cannot be read.
    """
    set_options = {name: value for name, value in options.items() if value is not None}
    defaults = (
        {}
        if output_options.no_config
        else find_defaults([name for name in ENVIRONMENT_VARIABLES if name not in set_options])
    )
    if not defaults:
        return {}
    for default in iter_effective_defaults(stages, set_options, defaults.values()) if not output_options.quiet else ():
        print_stderr(f"shapecalc: {default}")
    return {default.name: default.value for default in defaults.values()}


def find_defaults(names: Sequence[str]) -> dict[str, Default]:
    """Return the default values of the named options, by option name.

    The environment takes precedence over the nearest `pyproject.toml`, and both over the user's configuration.
    Raises `ShapeError` (usage) for an invalid value, and (file) if a file cannot be read.
    """
    result: dict[str, Default] = {}
    for name in names:
        if text := os.environ.get(ENVIRONMENT_VARIABLES[name]):
            result[name] = parse_default(name, text, ENVIRONMENT_VARIABLES[name])
    for read in (_read_project_config, read_user_config) if len(result) < len(names) else ():
        values, path = read()
        for name in names:
            if name in values and name not in result:
                result[name] = parse_default(name, values[name], path)
    return result


def _read_project_config() -> tuple[Mapping[str, object], str]:
    """Return the options in the nearest `pyproject.toml`, and its path.

    Raises `ShapeError` (usage) for an invalid file, and (file) if it cannot be read.
    """
    path = _find_pyproject()
    data = b"" if path is None else read_config(path)
    compact = data.translate(None, b"\"' \t\r\n") if b"shapecalc" in data else b""
    if path is None or not any(table in compact for table in CONFIG_TABLE_SPELLINGS):
        return {}, ""
    return parse_config_table(data, path), path


def user_config_path() -> str:
    """Return the path of the user's configuration file, which may not exist."""
    if path := os.environ.get(CONFIG_VARIABLE):
        return path
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if sys.platform == "win32" or not folder.startswith("/"):
        folder = os.path.expanduser(CONFIG_FOLDERS.get(sys.platform, "~/.config"))  # noqa: PTH111 - see _find_pyproject
    return f"{folder}{os.sep}{PACKAGE_NAME}{os.sep}config.toml"


def read_user_config() -> tuple[Mapping[str, Any], str]:
    """Return the values in the user's configuration file, and its path.

    If the file does not exist, there are no values. Raises `ShapeError` (usage) for an invalid file, and (file) if it
    cannot be read.
    """
    path = user_config_path()
    return parse_config_table(read_config(path), path, "") if os.path.isfile(path) else {}, path  # noqa: PTH113


def _find_pyproject() -> str | None:
    """Return the path of the nearest `pyproject.toml`, or None.

    The working folder and all its parent folders are searched.
    """
    try:
        depth = os.getcwd().count(os.sep)  # noqa: PTH109 - importing `pathlib` takes longer than answering
    except OSError:
        return None  # the working directory was deleted
    path = "pyproject.toml"
    for _ in range(depth + 1):
        if os.path.isfile(path):  # noqa: PTH113
            return path
        path = f"{os.pardir}{os.sep}{path}"
    return None


def read_config(path: str) -> bytes:
    """Read up to `MAX_CONFIG_BYTES` of a file.

    Raises `ShapeError` (file) if the file cannot be read.
    """
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(min(os.fstat(file.fileno()).st_size, MAX_CONFIG_BYTES))
    except OSError as error:
        raise ShapeError(Problem(FILE, f"{path}: {error_reason(error)}", "--no-config leaves it out")) from None
