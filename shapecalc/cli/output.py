"""Where questions come from and answers go, and how a run ends: stdout is the answer, stderr is the story.

A bare question imports this module, so it imports nothing that takes a while.
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
"""A text of so many characters may be more than the buffer of stdout takes."""


class Exit:
    """The exit codes. Of several, the largest counts. They are plain numbers, since importing `enum` takes a while."""

    YES = 0
    NO = 1
    USAGE = 2
    UNRESOLVED = 3
    FILE = 4
    FAULT = 70
    INTERRUPTED = 130


class Output(Record):
    """What a command is to print, what decides its exit code, and whether defaults count."""

    explain: int = 0
    """1 for the steps of an answer with one picture, more for every picture."""
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
    """What its messages begin with: the line of standard input, if there are several."""
    no_config: bool = False

    @property
    def explains_all(self) -> bool:
        """Whether every picture is asked for."""
        return self.explain > 1

    @property
    def about_data(self) -> bool:
        """Whether it asks for elements, for their ways, or for data to be carried out."""
        texts = (self.follow, self.follow_out, self.out)
        return self.about_store or self.values or self.backend != "auto" or any(text is not None for text in texts)

    @property
    def about_store(self) -> bool:
        """Whether it asks for something that only stores have."""
        texts = (self.memory, self.chunks, self.verify, self.cluster)
        return self.plan or self.resume or any(text is not None for text in texts)

    @property
    def about_picture(self) -> bool:
        """Whether it asks for a picture, or for how a picture is drawn."""
        return any(asked is not None for asked in (self.film, self.picture, self.step, self.theme, self.width))


class RunEnded(Exception):
    """A run that cannot go on: the reader of its output has gone, or a stream cannot be used."""

    def __init__(self, code: int) -> None:
        """Keep the exit code that follows from it."""
        super().__init__(code)
        self.code = code


def put(text: str) -> None:
    """Write an answer to stdout, whole; raise `RunEnded` if that fails."""
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
    """Write to stdout; a long text piece by piece, since Python drops the rest of one that a signal interrupts."""
    if len(text) < LONG:
        sys.stdout.write(text)
        return
    data = text.encode(sys.stdout.encoding, sys.stdout.errors or "strict")
    while data:
        data = data[sys.stdout.buffer.write(data) :]


def put_json(value: object) -> None:
    """Write a value to stdout as one line of JSON; raise `RunEnded` if that fails."""
    import json

    put(json.dumps(value))


def asks_text(out: Output, value: Callable[[], object]) -> bool:
    """Print a value as JSON if that is asked for; say whether text is to be printed in its place.

    Raises `RunEnded` if stdout cannot be written.
    """
    if out.json and not out.quiet:
        put_json(value())
    return not (out.json or out.quiet)


def stream_error(stream: str, reason: object) -> RunEnded:
    """Tell that a stream cannot be used and return the error to raise."""
    tell(f"shapecalc: {stream}: {reason}")
    return RunEnded(Exit.FILE)


def abandon_stdout() -> None:
    """Let the interpreter's own last flush go nowhere, so that it cannot fail a second time."""
    _abandon(1)


def _abandon(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def escape_what_cannot_be_written() -> None:
    """Let stdout and stderr show characters that their encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def tell(text: str) -> None:
    """Write a line of the story to stderr; if nobody can be told, the exit code still says it."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _abandon(2)


def show(story: RenderableType) -> None:
    """Write a renderable to stderr, fitted to a terminal, whole lines elsewhere."""
    from rich.text import Text

    if sys.stderr is None:
        return
    terminal = _console(file=sys.stderr)
    if terminal.is_terminal:
        terminal.print(story)
    else:
        tell((story.plain if isinstance(story, Text) else _plain(story, soft_wrap=True)).rstrip("\n"))


def _console(**options: Any) -> Console:
    """Return what prints renderables, and takes no text for markup."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False, **options)


def _plain(shown: RenderableType, *, soft_wrap: bool = False, width: int | None = None) -> str:
    """Return a renderable as text."""
    from io import StringIO

    page = _console(file=StringIO(), no_color=True, width=width)
    page.print(shown, soft_wrap=soft_wrap)
    return str(page.file.getvalue())  # type: ignore[attr-defined]


def story_width() -> int:
    """Return how wide a line of the story may be: the terminal's width, 80 elsewhere."""
    return _console(file=sys.stderr).width if sys.stderr is not None and sys.stderr.isatty() else 80


def show_table(table: RenderableType) -> None:
    """Write a table to stdout: fitted to a terminal, uncut elsewhere."""
    terminal = _console()
    if not terminal.is_terminal:
        put(plain_table(table))
        return
    with terminal.capture() as captured:
        terminal.print(table)
    put(captured.get().rstrip("\n"))


def plain_table(table: RenderableType) -> str:
    """Return a table as text, uncut."""
    return "\n".join(line.rstrip() for line in _plain(table, width=10_000).splitlines())


def tell_problem(problem: Problem, pieces: list[tuple[str | None, str]]) -> None:
    """Tell a problem: the caret report on a terminal, one greppable line elsewhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        from shapecalc.view.story import caret_report

        show(caret_report(problem, pieces))
    else:
        tell(problem_line(problem))


def problem_line(problem: Problem) -> str:
    """Return a problem in one line."""
    return visible(f"shapecalc: {problem}")


def problem_code(problem: Problem) -> int:
    """Return the exit code of a problem."""
    return {USAGE: Exit.USAGE, FILE: Exit.FILE, DIFFERS: Exit.NO}.get(problem.rule, Exit.UNRESOLVED)


# Faults of our own, and packages that are not installed.


PACKAGE = "shapecalc"


def fault_text(error: BaseException) -> str:
    """Return a fault of our own in a line: what it is, where in this package it arose, and where to report it.

    >>> fault_text(MemoryError())
    'memory: there is not enough for this'
    """
    from traceback import walk_tb

    if isinstance(error, MemoryError):
        return "memory: there is not enough for this"
    places = [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in walk_tb(error.__traceback__)]
    own = [f" ({place})" for place in places if place.startswith(PACKAGE)]
    return visible(f"fault: {type(error).__name__}: {error}{''.join(own[-1:])}; {report_place()}")


def report_place() -> str:
    """Return the words that ask for a report: the address is the one that the installed package names."""
    from importlib.metadata import PackageNotFoundError, metadata

    from shapecalc.core.packages import DISTRIBUTION

    try:
        urls = dict(url.split(", ", 1) for url in metadata(DISTRIBUTION).get_all("Project-URL") or [])
    except PackageNotFoundError:
        urls = {}
    unknown = f"the address that 'pip show --verbose {DISTRIBUTION}' names"
    return f"please report it at {urls.get('Issues') or next(iter(urls.values()), unknown)}"


def missing_error(error: ImportError) -> RunEnded:
    """Tell which package is not there or too old, with what installs all that are missing; return the error to raise.

    Raises the error itself if it is about a module of shapecalc, or about none.
    """
    from shapecalc.core.packages import missing

    module = (error.name or "").partition(".")[0]
    if module in ("", PACKAGE):
        raise error
    tell(f"shapecalc: {missing(module)}")
    return RunEnded(Exit.FILE)


# Inputs: a shape in words, on standard input, or in the header of a file.


LONGEST_INPUT = LONGEST_LINE
"""How many bytes are read from standard input for one shape."""
BOM = b"\xef\xbb\xbf"
"""What some programs write before text in UTF-8."""


class ReadInput(Record):
    """An input as it was given: its shape, the options that come with it, and its data if it is a file."""

    shape: str
    options: Mapping[str, object]
    source: Source | None


def input_text(text: str) -> str:
    """Return an input shape as it was typed; if that is `-`, the one line of standard input.

    Raises `ShapeError` (usage) if standard input is not one line, `RunEnded` if it cannot be read.
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
    """Yield the lines of standard input that hold something, as they come; from a terminal one.

    Raises `ShapeError` (usage) if there is none, or for one that is too long; `RunEnded` if it cannot be read.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        tell("shapecalc: reading a shape from the terminal; end it with a new line")
        yield sys.stdin.readline().strip()
        return
    found, mark = False, BOM
    while raw := read_stdin(line=True):
        if len(raw) > LONGEST_INPUT:
            raise LONGEST_LINE.passed("a line is longer", argument="input")
        line, mark = raw.removeprefix(mark).decode("utf-8", "surrogateescape").strip(), b""
        if line:
            found = True
            yield line
    if not found:
        raise misuse("standard input is empty, and a shape was expected", argument="input")


def holds_input() -> bool:
    """Say whether standard input is no terminal and holds something; wait for it if it may still come."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    try:
        return bool(sys.stdin.buffer.peek(1))  # type: ignore[union-attr]
    except OSError:
        return True  # who reads it tells why that cannot be done


def read_stdin(most: int = LONGEST_INPUT + 1, *, line: bool = False) -> bytes:
    """Return what standard input holds, or its next line, at most so many bytes: those that are read for one shape.

    Raises `RunEnded` if it cannot be read.
    """
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    try:
        return (sys.stdin.buffer.readline if line else sys.stdin.buffer.read)(most)
    except OSError as error:
        raise stream_error("stdin", error.strerror) from None


def read_input(text: str, options: Mapping[str, object], op: str) -> ReadInput:
    """Return the input that a text gives: a shape as it is, a file's shape and element type from its header.

    Raises `ShapeError`: file if the file cannot be used, usage if there is no such dialect.
    """
    if not is_file(text):
        return ReadInput(text, options, None)
    source = _opened(text)
    row, _ = operator_in(OPS[op], options.get("dialect"))
    dtype = element_type(source.dtype, row) if source.dtype else None
    present = {name: value for name, value in options.items() if value is not None}
    return ReadInput(shape_text(source.shape), {"dtype": dtype, **present}, source)


def read_operands(options: dict[str, object]) -> list[Source]:
    """Put the shapes of files in place of their names among other operands; return these files.

    Raises `ShapeError` (file) if a file cannot be used.
    """
    found: list[Source] = []
    for name in ("operands", "weight"):
        words = split(str(options.get(name) or ""))
        files = {word: _opened(word) for word in words if is_file(word)}
        if files:
            options[name] = " ".join([shape_text(files[word].shape) if word in files else word for word in words])
            found += [files[word] for word in words if word in files]
    return found


def _opened(text: str) -> Source:
    from shapecalc.engine.arrays import FileError, open_source

    if "://" in text:
        raise misuse("a store is a path, and this is a URL", "mount it, or copy it here", argument="input")
    try:
        return open_source(text)
    except FileError as error:
        raise file_error(error) from None


def file_error(error: Exception) -> ShapeError:
    """Return the error to raise if a file or a backend cannot be used."""
    return ShapeError(Problem(FILE, str(error), argument="input"))


# Defaults: from the environment, else from the nearest `pyproject.toml`, which is parsed only if it has the table.


VARIABLES = {"dialect": "SHAPECALC_DIALECT", "opset": "SHAPECALC_OPSET"}
TABLES = b"tool.shapecalc", b"tool={shapecalc", b"tool]shapecalc"
"""What the text of a file that is parsed holds one of, without its quotes, blanks and line ends."""
LONGEST = 1 << 20
"""How many bytes of a file are read."""


def told_defaults(stages: Sequence[Stage], given: Options, out: Output) -> dict[str, object]:
    """Return the defaults of what was not given, and tell those that change whose rules answer the stages.

    `given` are the options for all stages. Raises `ShapeError`: usage for a bad value, file if a file cannot be read.
    """
    given = {name: value for name, value in given.items() if value is not None}
    found = {} if out.no_config else found_defaults([name for name in VARIABLES if name not in given])
    if not found:
        return {}
    for default in changing(stages, given, found.values()) if not out.quiet else ():
        tell(f"shapecalc: {default}")
    return {default.name: default.value for default in found.values()}


def found_defaults(names: Sequence[str]) -> dict[str, Default]:
    """Return the defaults of some options, by name; raise `ShapeError` (usage, file) if one cannot be read."""
    texts = {name: text for name in names if (text := os.environ.get(VARIABLES[name]))}
    path = _nearest_file() if len(texts) < len(names) else None
    table = b"" if path is None else _text_of(path)
    bare = table.translate(None, b"\"' \t\r\n") if b"shapecalc" in table else b""
    if not any(table in bare for table in TABLES):  # TOML has several ways to write the table
        path = None
    if not texts and path is None:
        return {}
    found = {name: read_default(name, text, VARIABLES[name]) for name, text in texts.items()}
    values = read_table(table, path) if path else {}
    return {name: read_default(name, value, str(path)) for name, value in values.items() if name in names} | found


def _nearest_file() -> str | None:
    """Return the path of the nearest `pyproject.toml`, in this folder or above it; None if there is none."""
    try:
        depth = os.getcwd().count(os.sep)  # noqa: PTH109 - to import `pathlib` takes longer than a bare question
    except OSError:
        return None  # the folder was deleted
    path = "pyproject.toml"
    for _ in range(depth + 1):
        if os.path.isfile(path):  # noqa: PTH113
            return path
        path = f"{os.pardir}{os.sep}{path}"
    return None


def _text_of(path: str) -> bytes:
    """Return what a file holds, as far as it is read; raise `ShapeError` (file) if it cannot be."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(min(os.fstat(file.fileno()).st_size, LONGEST))
    except OSError as error:
        raise ShapeError(Problem(FILE, f"{path}: {error.strerror}", "--no-config leaves it out")) from None
