"""Where answers and stories go, and how a run ends: stdout is the answer, stderr is the story.

A bare question imports this module, so it imports nothing that takes a while.
"""

from __future__ import annotations

import os
import sys

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import RenderableType

    from shapecalc.core.problem import Problem


WIDTH_ELSEWHERE = 80
"""The width of pictures if the story does not go to a terminal."""
LONG = 4096
"""A text of so many characters may be more than the buffer of stdout takes."""


class Exit:
    """The exit codes. Of several, the largest counts. They are plain numbers, since importing `enum` takes a while."""

    YES = 0
    NO = 1
    USAGE = 2
    UNRESOLVED = 3
    FILE = 4
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
        return any(asked is not None for asked in (self.picture, self.step, self.theme, self.width))


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
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    if sys.stderr is None:
        return
    terminal = Console(file=sys.stderr, highlight=False, emoji=False, markup=False)
    if terminal.is_terminal:
        terminal.print(story)
        return
    if isinstance(story, Text):
        tell(story.plain.rstrip("\n"))
        return
    plain = Console(file=StringIO(), highlight=False, emoji=False, markup=False, no_color=True)
    plain.print(story, soft_wrap=True)
    tell(plain.file.getvalue().rstrip("\n"))  # type: ignore[attr-defined]


def story_width() -> int:
    """Return how wide a line of the story may be: the terminal's width, 80 elsewhere."""
    from rich.console import Console

    terminal = sys.stderr is not None and sys.stderr.isatty()
    return Console(file=sys.stderr).width if terminal else WIDTH_ELSEWHERE


def show_table(table: RenderableType) -> None:
    """Write a table to stdout: fitted to a terminal, uncut elsewhere."""
    from rich.console import Console

    terminal = Console(highlight=False, emoji=False, markup=False)
    if not terminal.is_terminal:
        put(plain_table(table))
        return
    with terminal.capture() as captured:
        terminal.print(table)
    put(captured.get().rstrip("\n"))


def plain_table(table: RenderableType) -> str:
    """Return a table as text, uncut."""
    from io import StringIO

    from rich.console import Console

    page = Console(width=10_000, highlight=False, emoji=False, markup=False, no_color=True, file=StringIO())
    page.print(table)
    return "\n".join(line.rstrip() for line in page.file.getvalue().splitlines())  # type: ignore[attr-defined]


def tell_problem(problem: Problem, pieces: list[tuple[str | None, str]]) -> None:
    """Tell a problem: the caret report on a terminal, one greppable line elsewhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        from shapecalc.view.story import caret_report

        show(caret_report(problem, pieces))
    else:
        tell(problem_line(problem))


def problem_line(problem: Problem) -> str:
    """Return a problem in one line."""
    from shapecalc.core.text import visible

    return visible(f"shapecalc: {problem}")


def problem_code(problem: Problem) -> int:
    """Return the exit code of a problem."""
    from shapecalc.core.problem import DIFFERS, FILE, USAGE

    return {USAGE: Exit.USAGE, FILE: Exit.FILE, DIFFERS: Exit.NO}.get(problem.rule, Exit.UNRESOLVED)
