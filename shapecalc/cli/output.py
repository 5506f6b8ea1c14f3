"""Inputs, defaults, streams and exit codes of the command line.

Answers go to stdout; explanations and messages go to stderr. Every plain request imports this module, so it imports
nothing slow.
"""

from __future__ import annotations

import os
import sys

from shapecalc.core.ask import Default, Options, Stage, changing, operator_in, read_default, read_table
from shapecalc.core.commands import without_padding
from shapecalc.core.dialects.base import element_type
from shapecalc.core.limits import LONGEST_LINE
from shapecalc.core.ops import OPS
from shapecalc.core.problem import DIFFERS, FILE, USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import is_file, shape_text, split, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from rich.console import Console, RenderableType

    from shapecalc.engine.arrays import Source


LONG = 4096
"""Length in characters from which a text is written to stdout in pieces."""
PACKAGE = "shapecalc"
LONGEST_INPUT = LONGEST_LINE
"""Limit on the bytes of one shape on standard input."""
BOM = b"\xef\xbb\xbf"
"""UTF-8 byte order mark."""
VARIABLES = {"dialect": "SHAPECALC_DIALECT", "opset": "SHAPECALC_OPSET"}
"""Environment variables that hold defaults, by option."""
TABLES = b"tool.shapecalc", b"tool={shapecalc", b"tool]shapecalc"
"""TOML spellings of the table `tool.shapecalc`, without quotes and white space.

A `pyproject.toml` that contains none of them is not parsed, since `tomllib` is slow to import.
"""
LONGEST = 1 << 20
"""Limit on the bytes of `pyproject.toml` that are read."""


class Exit:
    """Exit codes; of several, the largest counts.

    They are plain integers, since importing `enum` is slow.
    """

    YES = 0
    NO = 1
    USAGE = 2
    UNRESOLVED = 3
    FILE = 4
    FAULT = 70
    INTERRUPTED = 130


class Output(Record):
    """Options that decide the output, the exit code and the use of defaults.

    The fields are named after the options.
    """

    explain: int = 0
    """Count of `--explain`: 1 for the steps and one picture, 2 for every picture."""
    json: bool = False
    expect: str | None = None
    quiet: bool = False
    strict: bool = False
    values: bool = False
    follow: str | None = None
    follow_out: str | None = None
    out: str | None = None
    force: bool = False
    backend: str = "auto"
    plan: bool = False
    memory: str | None = None
    chunks: str | None = None
    resume: bool = False
    verify: str | None = None
    cluster: str | None = None
    code: str | None = None
    picture: str | None = None
    film: str | None = None
    step: int | None = None
    theme: str | None = None
    width: int | None = None
    place: str = ""
    """Prefix of messages that names the line of standard input, if there are several."""
    no_config: bool = False

    @property
    def explains_all(self) -> bool:
        """Whether every picture is requested."""
        return self.explain > 1

    @property
    def about_data(self) -> bool:
        """Whether elements, their paths or an output file are requested."""
        texts = (self.follow, self.follow_out, self.out)
        return self.about_store or self.values or self.backend != "auto" or any(text is not None for text in texts)

    @property
    def about_store(self) -> bool:
        """Whether an option is given that applies to stores only."""
        texts = (self.memory, self.chunks, self.verify, self.cluster)
        return self.plan or self.resume or any(text is not None for text in texts)

    @property
    def about_picture(self) -> bool:
        """Whether a picture, a film or an option of one is given."""
        return any(value is not None for value in (self.film, self.picture, self.step, self.theme, self.width))


class RunEnded(Exception):
    """An end of the run before its answer, with an exit code.

    It is raised if the reader of stdout has gone, or if a stream or a package cannot be used.
    """

    def __init__(self, code: int) -> None:
        """Store the exit code."""
        super().__init__(code)
        self.code = code


def put(text: str) -> None:
    """Print an answer to stdout; raise `EarlyExit` if that fails."""
    if sys.stdout is None:
        raise stream_error("stdout", "it is closed")
    try:
        _write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        raise RunEnded(Exit.YES) from None
    except OSError as error:
        abandon_stdout()
        raise stream_error("stdout", error.strerror) from None


def _write(text: str) -> None:
    """Write to stdout, a long text in pieces.

    A signal can interrupt the write of a long text, and Python would then drop its remainder.
    """
    if len(text) < LONG:
        sys.stdout.write(text)
        return
    data = text.encode(sys.stdout.encoding, sys.stdout.errors or "strict")
    while data:
        data = data[sys.stdout.buffer.write(data) :]


def put_json(value: object) -> None:
    """Print a value to stdout as one line of JSON; raise `EarlyExit` if that fails."""
    import json

    put(json.dumps(value))


def asks_text(out: Output, value: Callable[[], object]) -> bool:
    """Print a value as JSON if requested; return whether text is requested instead.

    Both are false with `--quiet`. Raises `EarlyExit` if stdout cannot be written.
    """
    if out.json and not out.quiet:
        put_json(value())
    return not (out.json or out.quiet)


def stream_error(stream: str, reason: object) -> RunEnded:
    """Report that a stream cannot be used; return the exception to raise."""
    tell(f"shapecalc: {stream}: {reason}")
    return RunEnded(Exit.FILE)


def abandon_stdout() -> None:
    """Redirect stdout to the null device, so that the flush at exit cannot fail."""
    _abandon(1)


def _abandon(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def escape_what_cannot_be_written() -> None:
    """Make stdout and stderr escape characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def tell(text: str) -> None:
    """Print a line to stderr; ignore it if stderr cannot be written."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _abandon(2)


def show(story: RenderableType) -> None:
    """Print a Rich renderable to stderr, wrapped only on a terminal."""
    from rich.text import Text

    if sys.stderr is None:
        return
    terminal = _console(file=sys.stderr)
    if terminal.is_terminal:
        terminal.print(story)
    else:
        tell((story.plain if isinstance(story, Text) else _plain(story, soft_wrap=True)).rstrip("\n"))


def _console(**options: Any) -> Console:
    """Return a Rich console that interprets no markup."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False, **options)


def _plain(shown: RenderableType, *, soft_wrap: bool = False, width: int | None = None) -> str:
    """Return a renderable as text."""
    from io import StringIO

    console = _console(file=StringIO(), no_color=True, width=width)
    console.print(shown, soft_wrap=soft_wrap)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def story_width() -> int:
    """Return the width of the terminal on stderr in columns, 80 without one."""
    return _console(file=sys.stderr).width if sys.stderr is not None and sys.stderr.isatty() else 80


def show_table(table: RenderableType) -> None:
    """Print a table to stdout, cut to the width of a terminal, whole elsewhere."""
    terminal = _console()
    if not terminal.is_terminal:
        put(plain_table(table))
        return
    with terminal.capture() as captured:
        terminal.print(table)
    put(captured.get().rstrip("\n"))


def plain_table(table: RenderableType) -> str:
    """Return a table as text at its full width."""
    return "\n".join(line.rstrip() for line in _plain(table, width=10_000).splitlines())


def tell_problem(problem: Problem, pieces: list[tuple[str | None, str]]) -> None:
    """Print a problem to stderr: a caret report on a terminal, else one line."""
    if sys.stderr is not None and sys.stderr.isatty():
        from shapecalc.view.story import caret_report

        show(caret_report(problem, pieces))
    else:
        tell(problem_line(problem))


def problem_line(problem: Problem) -> str:
    """Return a problem as one line of text."""
    return visible(f"shapecalc: {problem}")


def problem_code(problem: Problem) -> int:
    """Return the exit code of a problem."""
    return {USAGE: Exit.USAGE, FILE: Exit.FILE, DIFFERS: Exit.NO}.get(problem.rule, Exit.UNRESOLVED)


def fault_text(error: BaseException) -> str:
    """Return an internal error as one line: type, message, origin, report address.

    >>> fault_text(MemoryError())
    'memory: there is not enough for this'
    """
    from traceback import walk_tb

    if isinstance(error, MemoryError):
        return "memory: there is not enough for this"
    frames = [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in walk_tb(error.__traceback__)]
    own_frames = [f" ({frame})" for frame in frames if frame.startswith(PACKAGE)]
    return visible(f"fault: {type(error).__name__}: {error}{''.join(own_frames[-1:])}; {report_place()}")


def report_place() -> str:
    """Return a request to report a bug, with the address in the package metadata."""
    from importlib.metadata import PackageNotFoundError, metadata

    from shapecalc.core.packages import DISTRIBUTION

    try:
        urls = dict(url.split(", ", 1) for url in metadata(DISTRIBUTION).get_all("Project-URL") or [])
    except PackageNotFoundError:
        urls = {}
    fallback = f"the address that 'pip show --verbose {DISTRIBUTION}' names"
    return f"please report it at {urls.get('Issues') or next(iter(urls.values()), fallback)}"


def missing_error(error: ImportError) -> RunEnded:
    """Report a missing or too old package; return the exception to raise.

    The message has the command that installs all missing packages. Raises the error itself if it names a module of
    shapecalc, or none.
    """
    from shapecalc.core.packages import missing

    module = (error.name or "").partition(".")[0]
    if module in ("", PACKAGE):
        raise error
    tell(f"shapecalc: {missing(module)}")
    return RunEnded(Exit.FILE)


class ReadInput(Record):
    """An input: its shape, the options that it implies, and its data if it is a file."""

    shape: str
    options: Mapping[str, object]
    source: Source | None


def input_text(text: str) -> str:
    """Return the text of an input shape; for `-` read the one line of standard input.

    Raises `ShapeError` (usage) if standard input is not one line, `EarlyExit` if it cannot be read.
    """
    if text.strip() != "-":
        return without_padding(text)
    lines = input_lines()
    line = next(lines)
    if next(lines, None) is not None:
        raise misuse(
            "standard input has more than one line, and one shape was expected",
            "many cases: shapecalc check -",
            argument="input",
        )
    return line


def input_lines() -> Iterator[str]:
    """Yield the non-blank lines of standard input as they arrive.

    From a terminal, read one line.
    Raises `ShapeError` (usage) if there is none, or if a line is too long; `EarlyExit` if it cannot be read.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        tell("shapecalc: reading a shape from the terminal; end it with a new line")
        yield sys.stdin.readline().strip()
        return
    is_empty, bom = True, BOM
    while raw := read_stdin(line=True):
        if len(raw) > LONGEST_INPUT:
            raise LONGEST_LINE.passed("a line is longer", argument="input")
        line, bom = raw.removeprefix(bom).decode("utf-8", "surrogateescape").strip(), b""
        if line:
            is_empty = False
            yield line
    if is_empty:
        raise misuse("standard input is empty, and a shape was expected", argument="input")


def holds_input() -> bool:
    """Return whether standard input is not a terminal and not empty.

    Wait for the first byte of a pipe.
    """
    if sys.stdin is None or sys.stdin.isatty():
        return False
    try:
        return bool(sys.stdin.buffer.peek(1))  # type: ignore[union-attr]
    except OSError:
        return True  # the read itself reports the error


def read_stdin(most: int = LONGEST_INPUT + 1, *, line: bool = False) -> bytes:
    """Return standard input, or its next line, up to a limit in bytes.

    Raises `EarlyExit` if it cannot be read.
    """
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    try:
        return (sys.stdin.buffer.readline if line else sys.stdin.buffer.read)(most)
    except OSError as error:
        raise stream_error("stdin", error.strerror) from None


def read_input(text: str, options: Mapping[str, object], op: str) -> ReadInput:
    """Return the input that a text names: a shape, or a file.

    The shape and the element type of a file are read from its header.
    Raises `ShapeError`: file if the file cannot be used, usage for an unknown dialect.
    """
    if not is_file(text):
        return ReadInput(text, options, None)
    source = _opened(text)
    dialect, _ = operator_in(OPS[op], options.get("dialect"))
    dtype = element_type(source.dtype, dialect) if source.dtype else None
    set_options = {name: value for name, value in options.items() if value is not None}
    return ReadInput(shape_text(source.shape), {"dtype": dtype, **set_options}, source)


def read_operands(options: dict[str, object]) -> list[Source]:
    """Open the files among the operands and replace their names by their shapes.

    `options` is changed in place. Raises `ShapeError` (file) if a file cannot be used.
    """
    sources: list[Source] = []
    for name in ("operands", "weight"):
        words = split(str(options.get(name) or ""))
        files = {word: _opened(word) for word in words if is_file(word)}
        if files:
            options[name] = " ".join([shape_text(files[word].shape) if word in files else word for word in words])
            sources += [files[word] for word in words if word in files]
    return sources


def _opened(text: str) -> Source:
    from shapecalc.engine.arrays import FileError, open_source

    if "://" in text:
        raise misuse("a store is a path, and this is a URL", "mount it, or copy it here", argument="input")
    try:
        return open_source(text)
    except FileError as error:
        raise file_error(error) from None


def file_error(error: Exception) -> ShapeError:
    """Return the error (file) for a file or a backend that cannot be used."""
    return ShapeError(Problem(FILE, str(error), argument="input"))


def told_defaults(stages: Sequence[Stage], given: Options, out: Output) -> dict[str, object]:
    """Return the defaults of options that are not set; report those that matter.

    A default is reported if it changes the rules that apply to a stage. `options` are those of all stages.
    Raises `ShapeError`: usage for a bad value, file if a file cannot be read.
    """
    set_options = {name: value for name, value in given.items() if value is not None}
    defaults = {} if out.no_config else found_defaults([name for name in VARIABLES if name not in set_options])
    if not defaults:
        return {}
    for default in changing(stages, set_options, defaults.values()) if not out.quiet else ():
        tell(f"shapecalc: {default}")
    return {default.name: default.value for default in defaults.values()}


def found_defaults(names: Sequence[str]) -> dict[str, Default]:
    """Return the defaults of some options, by name.

    The environment takes precedence over the nearest `pyproject.toml`.
    Raises `ShapeError`: usage for a bad value, file if a file cannot be read.
    """
    texts = {name: text for name in names if (text := os.environ.get(VARIABLES[name]))}
    path = _nearest_file() if len(texts) < len(names) else None
    data = b"" if path is None else _text_of(path)
    compact = data.translate(None, b"\"' \t\r\n") if b"shapecalc" in data else b""
    if not any(table in compact for table in TABLES):
        path = None
    if not texts and path is None:
        return {}
    from_environment = {name: read_default(name, text, VARIABLES[name]) for name, text in texts.items()}
    values = read_table(data, path) if path else {}
    from_file = {name: read_default(name, value, str(path)) for name, value in values.items() if name in names}
    return from_file | from_environment


def _nearest_file() -> str | None:
    """Return the path of the `pyproject.toml` in this or the nearest parent folder."""
    try:
        depth = os.getcwd().count(os.sep)  # noqa: PTH109 - importing `pathlib` takes longer than answering
    except OSError:
        return None  # the folder was deleted
    path = "pyproject.toml"
    for _ in range(depth + 1):
        if os.path.isfile(path):  # noqa: PTH113
            return path
        path = f"{os.pardir}{os.sep}{path}"
    return None


def _text_of(path: str) -> bytes:
    """Return the head of a file; raise `ShapeError` (file) if it is unreadable."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(min(os.fstat(file.fileno()).st_size, LONGEST))
    except OSError as error:
        raise ShapeError(Problem(FILE, f"{path}: {error.strerror}", "--no-config leaves it out")) from None
