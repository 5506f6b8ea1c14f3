"""`shapecalc check` and `match`: many cases or arrays, with one exit code."""

from __future__ import annotations

import gc
import json
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from enum import StrEnum
from functools import partial
from html import escape
from io import BufferedIOBase, UnsupportedOperation
from pathlib import Path
from threading import Thread
from typing import IO

from shapecalc.cli.answer import print_error
from shapecalc.cli.data import meter
from shapecalc.cli.options import Argument, Command, printing_options
from shapecalc.cli.output import BOM, Exit, Output, asks_text, holds_input, problem_code, put, stream_error, tell
from shapecalc.core import cases
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.cases import Case
from shapecalc.core.commands import Option, Takes
from shapecalc.core.dims import plain
from shapecalc.core.limits import LONGEST_LINE
from shapecalc.core.pattern import Matcher, ShapePattern, pattern_of
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, is_file, visible
from shapecalc.engine.headers import Found, found_in, stamp
from shapecalc.engine.processes import Endings, child_starting, count_cores, endings_waiting, leave_to_parent
from shapecalc.engine.whole_files import report_file, whole_file

# Lines of files and streams, in blocks of those that have come.


BLOCK = 1 << 19
"""How many bytes are asked for at once; a stream gives what it has."""


class Block(Record):
    """Some lines that follow each other, or a piece of a line that is too long to be read."""

    data: bytes
    line: int
    """The number of the first line, from 1."""
    torn: bool = False
    """Whether this is a piece of a line that is too long."""
    first: bool = True
    """Of such a piece: whether the line starts with it."""


def split_blocks(stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the lines of a stream as they come; all data together are what was read, a byte-order mark included.

    Raises `OSError` if the stream cannot be read.
    """
    line = 1
    while data := stream.read1(BLOCK):
        if not data.endswith(b"\n"):
            data += stream.readline(LONGEST_LINE)
        last = data.rfind(b"\n", 0, -1) + 1
        torn = len(data) - last > LONGEST_LINE
        lines = data[:last] if torn else data
        yield Block(lines, line)
        line += lines.count(b"\n")
        if torn:
            yield Block(data[last:], line, torn=True)
            while not data.endswith(b"\n") and (data := stream.readline(BLOCK)):
                yield Block(data, line, torn=True, first=False)
            line += 1


def regular_size(stream: BufferedIOBase) -> int:
    """Return the size of a regular file, and 0 for anything else that can be read."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, UnsupportedOperation):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


# What is written about each line: text, JSON, annotations, JUnit's XML.


class Verdict(StrEnum):
    """What a line came to, in the words of the summary."""

    PASSED = "passed"
    FAILED = "failed"
    ANSWERED = "answered"
    UPDATED = "updated"
    UNREAD = "could not be read"
    UNRESOLVED = "could not be resolved"


class Style(Record):
    """What is to be written, and what counts as a failure."""

    json: bool = False
    quiet: bool = False
    strict: bool = False
    github: bool = False
    junit: bool = False
    fail_fast: bool = False
    update: bool = False


class Row(Record):
    """What one line came to."""

    line: int
    text: str
    verdict: Verdict
    name: object = None
    """The id of the case."""
    answer: Trace | Chain | None = None
    problem: Problem | None = None
    passed: bool | None = None
    message: str = ""
    """What is wrong with the line; nothing if nothing is."""

    def as_json(self, file: str) -> dict[str, object]:
        """Return the JSON object of the line."""
        shown = {"id": self.name, "file": file, "line": self.line, "ok": self.problem is None, "passed": self.passed}
        answer, problem = self.answer, self.problem
        shown |= {"output": plain(answer.output) if answer else None}
        shown |= {"conditions": [str(condition) for condition in answer.conditions] if answer else []}
        return shown | {"assumes": list(answer.assumes) if answer else [], "problem": problem and problem.as_json()}

    def as_text(self, file: str, *, github: bool) -> str:
        """Return what is printed: the answer to a case without an expectation, and what is wrong.

        GitHub obeys lines that begin with `::`, so no file's name does.
        """
        asked = self.passed is None and self.answer and self.answer.output is not None
        text = f"{cases.answer_text(self.answer)}\n" if asked and self.answer else ""
        if not self.message:
            return text
        if github:
            return f"{text}{annotation(file, self.message, self.line)}\n"
        here = "./" if file.lstrip().startswith("::") else ""
        return f"{text}{visible(f'{here}{file}:{self.line}: {self.message}')}\n"

    def as_junit(self, file: str) -> str:
        """Return the line as a test case in XML."""
        title = brief(cases.request_text(self.text)) if self.name is None else str(self.name)
        name = f"line {self.line}: {title}" if title else f"line {self.line}"
        return testcase(file, name, self.message, failed=self.verdict is Verdict.FAILED)


def unread_row(line: int, text: str, problem: Problem, name: object = None) -> Row:
    """Return the row of a line that could not be read."""
    return Row(line, text, Verdict.UNREAD, name, problem=problem, message=str(problem))


def answered_row(line: int, text: str, case: Case, answer: Trace | Chain, passed: bool | None, *, strict: bool) -> Row:
    """Return the row of a case by its answer."""
    verdict, message = Verdict.ANSWERED, ""
    if passed is not None:
        verdict = Verdict.PASSED if passed else Verdict.FAILED
        message = "" if passed or not case.expected else cases.difference(case.expected, answer)
    elif answer.problem:
        verdict, message = Verdict.UNRESOLVED, str(answer.problem)
    elif strict and answer.conditions:
        verdict, message = Verdict.FAILED, f"{cases.answer_text(answer)} holds only under conditions"
    return Row(line, text, verdict, case.id, answer, answer.problem, passed, message)


def annotation(file: str, message: str, line: int | None = None) -> str:
    """Return the line that makes GitHub show a message beside a file, or beside one of its lines."""
    place = visible(file).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    place += "" if line is None else f",line={line}"
    return f"::error file={place}::{visible(message).replace('%', '%25')}"


def testcase(classname: str, name: str, message: str = "", *, failed: bool = False) -> str:
    """Return a test case as XML: one that passed if there is no message, else a failure or an error."""
    kind = "failure" if failed else "error"
    inside = f'><{kind} message="{xml(message)}"/></testcase>' if message else "/>"
    return f'<testcase classname="{xml(classname)}" name="{xml(name)}"{inside}\n'


def xml(text: str) -> str:
    """Return text as it stands in an XML attribute.

    >>> xml('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    return visible(escape(text))


# The judge of a block.


BLANK = " \t\r\n\v\f"


class BlockResult(Record):
    """What a block of lines came to."""

    shown: str
    """What is to be written on stdout."""
    junit: str
    counts: dict[Verdict, int]
    data: bytes | None
    """The block's data with expectations rewritten; None if none were."""
    stopped: bool = False
    """Whether a line failed that is to be the last."""


def judge_block(block: Block, file: str, style: Style, defaults: Mapping[str, object]) -> BlockResult:
    """Return what a block comes to; `defaults` are those in force at its first line."""
    judge = _Judge(file, style, defaults)
    changed = None
    if not block.torn:
        changed = judge.judge_lines(_text(block), block.line)
    elif block.first:
        judge.add(unread_row(block.line, "", LONGEST_LINE.passed("a line is longer").problem))
    data = None if changed is None else _bom(block) + changed.encode("utf-8", "surrogateescape")
    shown = "" if style.quiet else "".join(judge.shown)
    return BlockResult(shown, "".join(judge.junit), judge.counts, data, judge.stopped)


def defaults_after(block: Block, defaults: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults in force after a block, given those at its start."""
    if block.torn or cases.DEFAULT.encode() not in block.data:
        return defaults
    for text in _text(block).split("\n"):
        if _is_default(text.strip(BLANK)):
            with suppress(ShapeError):  # the line itself is reported
                defaults = cases.read_default(text.strip(BLANK), defaults)
    return defaults


def _text(block: Block) -> str:
    """Return the text of a block; bytes that are not UTF-8 are kept as surrogates."""
    return block.data[len(_bom(block)) :].decode("utf-8", "surrogateescape")


def _bom(block: Block) -> bytes:
    return BOM if block.line == 1 and block.data.startswith(BOM) else b""


def _is_default(text: str) -> bool:
    return text.startswith(cases.DEFAULT) and text[len(cases.DEFAULT) :][:1] in ("", " ", "\t", "#")


class _Judge:
    """The lines of one block, judged in turn, and what is written about them."""

    def __init__(self, file: str, style: Style, defaults: Mapping[str, object]) -> None:
        self.file, self.style, self.defaults = file, style, defaults
        self.counts, self.changed = dict.fromkeys(Verdict, 0), dict[int, str]()
        self.shown, self.junit = list[str](), list[str]()
        self.stopped = False

    def add(self, row: Row) -> None:
        """Write what the style asks for about a row, and count it."""
        if self.style.json:
            self.shown.append(f"{json.dumps(row.as_json(self.file))}\n")
        else:
            self.shown.append(row.as_text(self.file, github=self.style.github))
        self.counts[row.verdict] += 1
        self.stopped = self.style.fail_fast and bool(row.message)
        if self.style.junit:
            self.junit.append(row.as_junit(self.file))

    def judge_lines(self, whole: str, first: int) -> str | None:
        """Judge every line of a text; return the text with expectations rewritten, None if none were."""
        lines = whole.split("\n")
        for number, line in enumerate(lines, first):
            text = line.strip(BLANK)
            if text and text[0] != "#":
                self._judge_line(number, text, line)
                if self.stopped:
                    break
        for number, text in self.changed.items():
            lines[number - first] = text
        return "\n".join(lines) if self.changed else None

    def _judge_line(self, number: int, text: str, line: str) -> None:
        """Judge a line that is neither blank nor a comment."""
        name: object = None
        try:
            if _is_default(text):
                self.defaults = cases.read_default(text, self.defaults)
                return
            _check_bytes(text)
            if cases.is_object(text):
                given = cases.read_object(text)
                name = given.get("id")
                case = cases.case_of(given, self.defaults)
            else:
                case = cases.read_case(text, self.defaults)
        except ShapeError as error:
            self.add(unread_row(number, text, error.problem, name))
            return
        try:
            self.add(self._judged_row(number, text, line, case))
        except RecursionError:
            self.add(unread_row(number, text, misuse("it is nested too deeply").problem, case.id))

    def _judged_row(self, number: int, text: str, line: str, case: Case) -> Row:
        """Return the row of a case by its whole answer."""
        expected, style = case.expected, self.style
        try:
            answer = case.answer(whole=style.json)
            passed = None if expected is None else cases.met(expected, answer, strict=style.strict)
            if answer.problem and not passed and not style.json:
                answer = case.answer()
        except ShapeError as error:
            if error.problem.rule == USAGE and expected and expected.rule == USAGE:
                return Row(number, text, Verdict.PASSED, case.id, problem=error.problem, passed=True)
            return unread_row(number, text, error.problem, case.id)
        if passed is False and expected is not None and expected.same_as is None and style.update:
            self.changed[number] = cases.rewritten(line, expected, answer, strict=style.strict)
            return Row(number, text, Verdict.UPDATED, case.id, answer, answer.problem, passed)
        return answered_row(number, text, case, answer, passed, strict=style.strict)


def _check_bytes(text: str) -> None:
    """Raise `ShapeError` (usage) for a line that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) & 0xFF
        raise misuse(f"it is not UTF-8: byte {byte:#04x} at character {error.start + 1}") from None


# Workers: blocks judged on several cores, the results in the order of the blocks.
#
# So many blocks wait at most, so memory is bounded. If a worker dies, what is not judged yet is judged here.


WORTH_IT = 4 << 20
"""The size of a file, in bytes, from which on more than one core is used."""
AHEAD = 2
"""How many blocks a worker has, so that it need not wait for the next one."""


def judge_in_turn(blocks: Iterable[Block], file: str, style: Style) -> Generator[tuple[Block, BlockResult]]:
    """Yield what each block comes to, judged one after the other."""
    defaults: Mapping[str, object] = {}
    for block in blocks:
        yield block, judge_block(block, file, style, defaults)
        defaults = defaults_after(block, defaults)


def judge_in_parallel(
    blocks: Iterable[Block], file: str, style: Style, jobs: int
) -> Generator[tuple[Block, BlockResult]]:
    """Yield the same as `judge_in_turn`, judged by `jobs` processes."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    defaults: Mapping[str, object] = {}
    begun: deque[tuple[Block, Callable[[], BlockResult], Callable[[], BlockResult]]] = deque()
    forks = hasattr(os, "fork") and sys.platform != "darwin"  # there, libraries do not survive it
    jobs = min(jobs, 61)  # Windows waits for no more
    workers = ProcessPoolExecutor(jobs, get_context("fork" if forks else "spawn"), _begin_worker)

    def begin(block: Block) -> None:
        result = judge = partial(judge_block, block, file, style, dict(defaults))
        with suppress(BrokenExecutor), child_starting():
            result = workers.submit(judge).result  # type: ignore[assignment]
        begun.append((block, judge, result))

    def finish() -> tuple[Block, BlockResult]:
        block, judge, result = begun.popleft()
        try:
            return block, result()
        except BrokenExecutor:
            return block, judge()

    try:
        for block in blocks:
            if len(begun) == AHEAD * jobs:
                yield finish()
            begin(block)
            defaults = defaults_after(block, defaults)
        while begun:
            yield finish()
    finally:
        workers.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Leave signals to the parent, and end with it."""
    leave_to_parent()
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


# What a run writes besides its lines: the summary, JUnit's file, files anew.


CODES = {Verdict.FAILED: Exit.NO, Verdict.UNREAD: Exit.USAGE, Verdict.UNRESOLVED: Exit.UNRESOLVED}


def summary(counts: Mapping[Verdict, int]) -> str:
    """Return what all lines came to, in one line.

    >>> summary({Verdict.PASSED: 1200, Verdict.FAILED: 1})
    '1,200 passed, 1 failed'
    """
    said = [f"{count:,} {verdict.value}" for verdict, count in counts.items() if count]
    return ", ".join(said) or "no cases (what is one: shapecalc help cases)"


@contextmanager
def junit_file(
    path: str | None, files: Iterable[str], counts: Mapping[Verdict, int], command: str = "check"
) -> Iterator[IO[str] | None]:
    """Yield what takes the test cases as XML; at the end the file holds all of them, or is not there.

    Raises `OSError` if it cannot be written, or if it is one of the files that are read.
    """
    if path is None:
        yield None
        return
    if Path(path).exists() and any(Path(file).exists() and Path(path).samefile(file) for file in files):
        raise OSError(0, "it is one of the files that are checked")
    import tempfile

    with tempfile.TemporaryFile("w+", encoding="utf-8") as cases, report_file(Path(path)) as file:
        yield cases
        errors = counts[Verdict.UNREAD] + counts[Verdict.UNRESOLVED]
        totals = f'tests="{sum(counts.values())}" failures="{counts[Verdict.FAILED]}" errors="{errors}"'
        title = f'name="shapecalc {command}" {totals}'
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite {title}>\n'.encode())
        cases.seek(0)
        while piece := cases.read(1 << 20):
            file.write(piece.encode())
        file.write(b"</testsuite>\n")


@contextmanager
def updated_file(path: Path, changed: Callable[[], bool]) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` if something has `changed`.

    Raises `OSError` if it cannot be written, or if `path` is not what it was at first.
    """
    before = stamp(path)

    def wanted() -> bool:
        if changed() and stamp(path) != before:
            raise OSError(0, "another program has changed it in the meantime")
        return changed()

    with whole_file(path, force=True, wanted=wanted) as file:
        yield file


# `shapecalc check`: cases from files or standard input.


MOST_JOBS = 8
"""The most processes that are started without being asked for."""


FILES = Argument("files", "case files, folders of them, - for standard input", "[FILE...]", False, repeated=True)
JUNIT = Option("junit", "Also write the results as JUnit XML.", metavar="FILE")
GITHUB = Option("github", "Print failures as annotations of GitHub Actions.", Takes.NOTHING)
CASE_FILES = (".txt", ".jsonl")
"""What the case files of a folder end in."""
OPTIONS = (
    Option("fail_fast", "Stop at the first line that fails.", Takes.NOTHING, short="-x"),
    Option("update", "Replace the expectations in the files by the actual answers.", Takes.NOTHING),
    JUNIT,
    GITHUB,
    Option(
        "jobs",
        "How many processes, 1 to 256; by default all cores for large files.",
        Takes.NUMBER,
        metavar="N",
        short="-j",
        least=1,
        most=256,
    ),
)


def run_check(
    files: list[str] | None,
    out: Output,
    *,
    fail_fast: bool,
    update: bool,
    junit: str | None,
    github: bool,
    jobs: int | None,
) -> int:
    """Judge the files in turn; print failures and answers, and tell the summary."""
    if not files and not holds_input():
        return print_error(misuse("missing argument 'FILE...'", "see shapecalc check -h"), "check", {}, out)
    files = [each for file in files or ["-"] for each in _files_in(file)]
    clash = [name for name, both in (("--fail-fast", fail_fast), ("-", "-" in files)) if update and both]
    clash += ["--github"] if out.json and github else []
    if clash:
        error = misuse(f"{'--update' if update else '--json'} cannot be combined with {clash[0]}")
        return print_error(error, "check", {}, out)
    style = Style(out.json, out.quiet, out.strict, github, junit is not None, fail_fast, update)
    gc.freeze()  # what is here now stays: collections need not look at it
    with Endings():
        return _Run(style, jobs).judge_files(files, junit)


def _files_in(name: str) -> list[str]:
    """Return the case files in a folder and below it, and the folder if it has none; any other name alone."""
    every = sorted(Path(name).rglob("*")) if os.path.isdir(name) else []  # noqa: PTH112 - it never raises
    return [str(path) for path in every if path.suffix in CASE_FILES and path.is_file()] or [name]


class _Run:
    """One run over several files."""

    def __init__(self, style: Style, jobs: int | None) -> None:
        self.style, self.jobs = style, jobs
        self.counts = dict.fromkeys(Verdict, 0)
        self.worst: int = Exit.YES

    def judge_files(self, files: list[str], junit: str | None) -> int:
        """Judge the files, tell the summary and return the exit code."""
        total = sum(os.path.getsize(file) for file in files if os.path.isfile(file))  # noqa: PTH113, PTH202
        shows = not self.style.quiet and sys.stdout is not None and not sys.stdout.isatty()
        try:
            with meter(total, "checking", shows=shows) as tick, junit_file(junit, files, self.counts) as cases:
                for file in files:
                    if self._judge_file(file, cases, tick):
                        break
        except OSError as error:
            self._tell_unusable(junit or "", error)
        none = Exit.YES if any(self.counts.values()) else Exit.USAGE
        if not self.style.quiet:
            tell(f"shapecalc: {summary(self.counts)}")
        return max([self.worst, none, *(code for verdict, code in CODES.items() if self.counts[verdict])])

    def _judge_file(self, file: str, cases: IO[str] | None, tick: Callable[[int], None]) -> bool:
        """Judge one file; return whether a failure in it ends the run."""
        updated_before = self.counts[Verdict.UPDATED]
        try:
            with ExitStack() as closing_all:
                stream = _open_file(file, closing_all)
                size = regular_size(stream)
                if self.style.update and not size:
                    raise OSError(0, "only a regular file that is not empty can be updated")
                changed = updated_file(Path(file), lambda: self.counts[Verdict.UPDATED] > updated_before)
                updated = closing_all.enter_context(changed) if self.style.update else None
                for block, result in closing_all.enter_context(closing(self._results(file, stream, size))):
                    with endings_waiting():  # an interrupt cuts no line
                        if result.shown:
                            put(result.shown.removesuffix("\n"))
                    tick(len(block.data))
                    if updated is not None:
                        updated.write(block.data if result.data is None else result.data)
                    if self._count(result, cases):
                        return True
        except OSError as error:
            self.counts[Verdict.FAILED] += self.counts[Verdict.UPDATED] - updated_before
            self.counts[Verdict.UPDATED] = updated_before
            self._tell_unusable(file, error)
        return False

    def _results(self, file: str, stream: BufferedIOBase, size: int) -> Generator[tuple[Block, BlockResult]]:
        """Return the blocks of a file with what each comes to."""
        jobs = 1
        if size:
            jobs = self.jobs or min(MOST_JOBS if size >= WORTH_IT else 1, count_cores())
        if jobs > 1:
            return judge_in_parallel(split_blocks(stream), file, self.style, jobs)
        return judge_in_turn(split_blocks(stream), file, self.style)

    def _count(self, result: BlockResult, cases: IO[str] | None) -> bool:
        """Add a block to the counts; return whether a failure in it ends the run."""
        for verdict, count in result.counts.items():
            self.counts[verdict] += count
        if cases is not None:
            cases.write(result.junit)
        return result.stopped

    def _tell_unusable(self, file: str, error: OSError) -> None:
        """Tell that a file cannot be read or written."""
        self.worst = Exit.FILE
        reason = error.strerror or str(error)
        if isinstance(error, IsADirectoryError):
            reason = f"no file in it ends in {' or '.join(CASE_FILES)}; name its files"
        if not self.style.quiet:
            tell(visible(f"shapecalc: file: {file}: {reason[:1].lower()}{reason[1:]}"))


def _open_file(file: str, closing_all: ExitStack) -> BufferedIOBase:
    """Return a file, or standard input for `-`, to be read as bytes; raise `OSError` for a file that is no text."""
    if file != "-":
        stream = closing_all.enter_context(Path(file).open("rb"))  # noqa: SIM115 - the stack closes it
        if b"\0" in stream.peek():
            arrays = "it contains an array, not cases; for arrays: shapecalc match"
            raise OSError(0, arrays if is_file(file) else "it is not UTF-8 text")
        return stream
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    if sys.stdin.isatty():
        tell("shapecalc: reading cases from the terminal; end them with ^D")
    return sys.stdin.buffer  # type: ignore[return-value]


STRICT = Option("strict", "Fail an answer with a condition that the case does not name.", Takes.NOTHING)
CHECK_COMMAND = Command(
    run=run_check,
    parameters=[FILES, *printing_options("json", "quiet"), STRICT, *OPTIONS],
    summary="Check many cases, from files or standard input.",
    examples="""\
  shapecalc check shapes.txt
  shapecalc check cases.jsonl --json > results.jsonl
  shapecalc check shapes.txt --update
  echo 'reshape 2,3,4 0,-1 => 2,12' | shapecalc check -""",
    more=""" A line is a case, plain or JSON, such as:

\b
  reshape 2,3,4 0,-1 => 2,12          # a comment
  reshape 2,3,4 5,-1 => error indivisible
  reshape N,4 2,6    => 2,6 when N == 3
  2,3,4 | transpose 1,0,2 | reshape 2,-1,3 => 2,4,3
  {"op": "reshape", "input": [2, 3, 4], "target": [0, -1], "expect": [2, 12]}
  @default dialect=tensorrt

A case without an expectation prints its answer. Exit 0: all passed; 1: some did not; 2: some lines
could not be read; 3: some without an expectation could not be resolved; 4: a file could not be read.""",
)


# `shapecalc match`: arrays in files, held against a pattern of shapes.


PATTERN = Argument("pattern", "what the shapes must be: N,3,H,W, '?,...,3', 'float32[N,3]'", "PATTERN")
ARRAY_FILES = Argument("files", "files, arrays of files (x.npz:w), and Zarr stores", "FILE...", repeated=True)
VERDICTS = {Exit.YES: Verdict.PASSED, Exit.NO: Verdict.FAILED, Exit.FILE: Verdict.UNREAD}


class Judged(Record):
    """One array, and where it differs from the pattern or why it cannot be read."""

    found: Found
    problem: Problem | None

    @property
    def code(self) -> int:
        """The exit code of this array alone."""
        return Exit.YES if self.problem is None else problem_code(self.problem)

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the array."""
        unread = bool(self.found.problem)
        read = {"shape": None if unread else list(self.found.shape), "dtype": self.found.dtype}
        problem = self.problem and self.problem.as_json()
        return {"file": self.found.name, **read, "ok": self.problem is None, "problem": problem}


def run_match(pattern: str, files: list[str], out: Output, *, junit: str | None, github: bool = False) -> int:
    """Print each array that differs, or all as JSON; return the largest exit code."""
    try:
        if out.json and github:
            raise misuse("--json cannot be combined with --github")
        matcher = Matcher(_read_pattern(pattern, files))
        counts = dict.fromkeys(Verdict, 0)
        judged: list[Judged] = []
        with junit_file(junit, files, counts, "match") as cases:
            for each in _judged(matcher, files):
                counts[VERDICTS[each.code]] += 1
                _tell(each, out, github=github)
                if cases is not None:
                    said, failed = each.problem.message if each.problem else "", each.code == Exit.NO
                    cases.write(testcase("shapecalc match", each.found.name, said, failed=failed))
                if out.json:
                    judged.append(each)
    except ShapeError as error:
        return print_error(error, "match", {"pattern": pattern}, out)
    except OSError as error:
        problem = Problem(FILE, f"{junit or ''}: {error.strerror or error}", argument="junit")
        return print_error(ShapeError(problem), "match", {}, out)
    if asks_text(out, lambda: _as_json(matcher, judged)):
        tell(visible(f"shapecalc: {_said(matcher, counts)}"))
    return max((code for code, verdict in VERDICTS.items() if counts[verdict]), default=Exit.YES)


def _read_pattern(text: str, files: list[str]) -> ShapePattern:
    """Return the pattern; raise `ShapeError` (usage) if it cannot be read, and say so if a file stands in its place."""
    try:
        return pattern_of(text)
    except ShapeError:
        if not is_file(text):
            raise
    wanted = "PATTERN" if is_file(files[-1]) else visible(brief(files[-1]))
    shown = visible(brief(text))
    raise misuse(f"'{shown}' is a file", f"the pattern comes first: match {wanted} {shown}", argument="pattern")


def _judged(matcher: Matcher, files: list[str]) -> Iterator[Judged]:
    """Yield every array of the files in turn, held against the pattern."""
    for file in files:
        for found in found_in(file):
            if found.problem:
                said = f"{found.name}: {found.problem}" if found.name else found.problem
                yield Judged(found, Problem(FILE, said, argument="files"))
            else:
                yield Judged(found, matcher.problem(found.shape, found.dtype, found.name))


def _tell(judged: Judged, out: Output, *, github: bool) -> None:
    """Print an array that differs; tell one that cannot be read."""
    if judged.problem is None or out.json or out.quiet:
        return
    if github:
        put(annotation(judged.found.name, judged.problem.message))
    elif judged.found.problem:
        tell(visible(f"shapecalc: {judged.problem}"))
    else:
        put(visible(f"{judged.found.name}: {judged.problem.message}"))


def _said(matcher: Matcher, counts: dict[Verdict, int]) -> str:
    """Return what the arrays came to, and the sizes of the names."""
    sizes = ", ".join(f"{name} is {size}" for name, size in matcher.sizes.items())
    arrays = summary(counts) if any(counts.values()) else "no arrays"
    return f"{arrays}; {sizes}" if sizes else arrays


def _as_json(matcher: Matcher, judged: list[Judged]) -> dict[str, object]:
    """Return the JSON object of a run."""
    names = {name: {"size": plain(size), "from": matcher.origins[name]} for name, size in matcher.sizes.items()}
    arrays = [each.as_json() for each in judged]
    ok = all(each.code == 0 for each in judged)
    return {"pattern": str(matcher.pattern), "ok": ok, "names": names, "arrays": arrays}


MATCH_COMMAND = Command(
    run=run_match,
    parameters=[PATTERN, ARRAY_FILES, *printing_options("json", "quiet"), JUNIT, GITHUB],
    summary="Say whether the arrays in files have the shapes of a pattern.",
    examples="""\
  shapecalc match N,3,H,W *.npy
  shapecalc match 'float32[N,...]' data/*.safetensors store.zarr
  shapecalc match '?,3,224,224' x.npz:images --json""",
    more=""" It reads only the headers of .npy, .npz and .safetensors files and of Zarr stores. In the
pattern ? is any dim and ... any number of dims. A name has the same size in every file. A type may stand
before brackets. Each array that differs gets a line. Exit 0: all match; 1: some differ; 2: the pattern
cannot be read; 4: a file cannot be read, and the others are still checked.""",
)
