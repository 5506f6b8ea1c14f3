"""`shapecalc check` and `match`: judge many cases or arrays, with one exit code."""

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

BLOCK = 1 << 19
"""Bytes requested per read; a pipe may return fewer."""
BLANK = " \t\r\n\v\f"
"""Characters stripped from both ends of a line."""
WORTH_IT = 4 << 20
"""Size of a file in bytes from which it is judged on several cores."""
AHEAD = 2
"""Blocks in flight per worker, so that a worker never waits for the next one."""
MOST_JOBS = 8
"""Limit on the worker processes without `--jobs`."""
CASE_FILES = (".txt", ".jsonl")
"""Suffixes of the case files in a folder."""


class Block(Record):
    """Consecutive lines of a file, or a piece of a line that is too long."""

    data: bytes
    line: int
    """Number of the first line, from 1."""
    torn: bool = False
    """Whether this is a piece of a line that is too long."""
    first: bool = True
    """Whether a piece is the first one of its line."""


def split_blocks(stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the lines of a stream in blocks as they arrive.

    The blocks joined are the bytes of the stream, including a byte order mark.
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
    """Return the size of a regular file in bytes, 0 for a pipe or a device."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, UnsupportedOperation):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class Verdict(StrEnum):
    """Verdict on a case or an array, in the words of the summary."""

    PASSED = "passed"
    FAILED = "failed"
    ANSWERED = "answered"
    UPDATED = "updated"
    UNREAD = "could not be read"
    UNRESOLVED = "could not be resolved"


CODES = {Verdict.FAILED: Exit.NO, Verdict.UNREAD: Exit.USAGE, Verdict.UNRESOLVED: Exit.UNRESOLVED}
"""Exit codes of `check` by verdict."""
VERDICTS = {Exit.YES: Verdict.PASSED, Exit.NO: Verdict.FAILED, Exit.FILE: Verdict.UNREAD}
"""Verdicts of `match` by exit code."""


class Style(Record):
    """Output formats of a run, and what counts as a failure."""

    json: bool = False
    quiet: bool = False
    strict: bool = False
    github: bool = False
    junit: bool = False
    fail_fast: bool = False
    update: bool = False


class Row(Record):
    """The result of one line."""

    line: int
    text: str
    verdict: Verdict
    name: object = None
    """Id of the case, if it has one."""
    answer: Trace | Chain | None = None
    problem: Problem | None = None
    passed: bool | None = None
    message: str = ""
    """Error message, empty if there is none."""

    def as_json(self, file: str) -> dict[str, object]:
        """Return the JSON object of the line."""
        result = {"id": self.name, "file": file, "line": self.line, "ok": self.problem is None, "passed": self.passed}
        answer, problem = self.answer, self.problem
        result |= {"output": plain(answer.output) if answer else None}
        result |= {"conditions": [str(condition) for condition in answer.conditions] if answer else []}
        return result | {"assumes": list(answer.assumes) if answer else [], "problem": problem and problem.as_json()}

    def as_text(self, file: str, *, github: bool) -> str:
        """Return the printed lines: the answer if nothing is expected, and the message.

        GitHub executes lines that begin with `::`, so a file name that does is prefixed.
        """
        has_output = self.passed is None and self.answer and self.answer.output is not None
        text = f"{cases.answer_text(self.answer)}\n" if has_output and self.answer else ""
        if not self.message:
            return text
        if github:
            return f"{text}{annotation(file, self.message, self.line)}\n"
        prefix = "./" if file.lstrip().startswith("::") else ""
        return f"{text}{visible(f'{prefix}{file}:{self.line}: {self.message}')}\n"

    def as_junit(self, file: str) -> str:
        """Return the line as a JUnit test case."""
        title = brief(cases.request_text(self.text)) if self.name is None else str(self.name)
        name = f"line {self.line}: {title}" if title else f"line {self.line}"
        return testcase(file, name, self.message, failed=self.verdict is Verdict.FAILED)


def unread_row(line: int, text: str, problem: Problem, name: object = None) -> Row:
    """Return the result of a line that could not be parsed."""
    return Row(line, text, Verdict.UNREAD, name, problem=problem, message=str(problem))


def answered_row(line: int, text: str, case: Case, answer: Trace | Chain, passed: bool | None, *, strict: bool) -> Row:
    """Return the result of a case from its answer."""
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
    """Return a GitHub Actions error annotation for a file, or for a line of it."""
    location = visible(file).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    location += "" if line is None else f",line={line}"
    return f"::error file={location}::{visible(message).replace('%', '%25')}"


def testcase(classname: str, name: str, message: str = "", *, failed: bool = False) -> str:
    """Return a JUnit test case: passed without a message, else a failure or an error."""
    kind = "failure" if failed else "error"
    content = f'><{kind} message="{xml(message)}"/></testcase>' if message else "/>"
    return f'<testcase classname="{xml(classname)}" name="{xml(name)}"{content}\n'


def xml(text: str) -> str:
    """Escape a text for an XML attribute.

    >>> xml('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    return visible(escape(text))


class BlockResult(Record):
    """The result of a block of lines."""

    shown: str
    """Text to print on stdout."""
    junit: str
    counts: dict[Verdict, int]
    data: bytes | None
    """Bytes of the block with updated expectations, None if unchanged."""
    stopped: bool = False
    """Whether a line failed, and `--fail-fast` ends the run."""


def judge_block(block: Block, file: str, style: Style, defaults: Mapping[str, object]) -> BlockResult:
    """Judge the lines of a block, given the defaults in effect at its first line."""
    judge = _Judge(file, style, defaults)
    updated_text = None
    if not block.torn:
        updated_text = judge.judge_lines(_text(block), block.line)
    elif block.first:
        judge.add(unread_row(block.line, "", LONGEST_LINE.passed("a line is longer").problem))
    data = None if updated_text is None else _bom(block) + updated_text.encode("utf-8", "surrogateescape")
    shown = "" if style.quiet else "".join(judge.shown)
    return BlockResult(shown, "".join(judge.junit), judge.counts, data, judge.stopped)


def defaults_after(block: Block, defaults: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults in effect after a block, given those at its start."""
    if block.torn or cases.DEFAULT.encode() not in block.data:
        return defaults
    for text in _text(block).split("\n"):
        if _is_default(text.strip(BLANK)):
            with suppress(ShapeError):  # `judge_block` reports the line
                defaults = cases.read_default(text.strip(BLANK), defaults)
    return defaults


def _text(block: Block) -> str:
    """Return the text of a block, with bytes that are not UTF-8 as surrogates."""
    return block.data[len(_bom(block)) :].decode("utf-8", "surrogateescape")


def _bom(block: Block) -> bytes:
    return BOM if block.line == 1 and block.data.startswith(BOM) else b""


def _is_default(text: str) -> bool:
    return text.startswith(cases.DEFAULT) and text[len(cases.DEFAULT) :][:1] in ("", " ", "\t", "#")


class _Judge:
    """Checker of the lines of one block, which collects the output and the counts."""

    def __init__(self, file: str, style: Style, defaults: Mapping[str, object]) -> None:
        self.file, self.style, self.defaults = file, style, defaults
        self.counts, self.changed = dict.fromkeys(Verdict, 0), dict[int, str]()
        self.shown, self.junit = list[str](), list[str]()
        self.stopped = False

    def add(self, row: Row) -> None:
        """Add the result of a line to the output and to the counts."""
        if self.style.json:
            self.shown.append(f"{json.dumps(row.as_json(self.file))}\n")
        else:
            self.shown.append(row.as_text(self.file, github=self.style.github))
        self.counts[row.verdict] += 1
        self.stopped = self.style.fail_fast and bool(row.message)
        if self.style.junit:
            self.junit.append(row.as_junit(self.file))

    def judge_lines(self, whole: str, first: int) -> str | None:
        """Judge every line of a text.

        Return the text with updated expectations, or None if there are none.
        """
        lines = whole.split("\n")
        for number, line in enumerate(lines, first):
            stripped = line.strip(BLANK)
            if stripped and stripped[0] != "#":
                self._judge_line(number, stripped, line)
                if self.stopped:
                    break
        for number, updated_line in self.changed.items():
            lines[number - first] = updated_line
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
                fields = cases.read_object(text)
                name = fields.get("id")
                case = cases.case_of(fields, self.defaults)
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
        """Answer a case, compare it with its expectation and return the result.

        With `--update`, a wrong expectation is replaced by the answer.
        """
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


def judge_in_turn(blocks: Iterable[Block], file: str, style: Style) -> Generator[tuple[Block, BlockResult]]:
    """Yield each block with its result, judged in this process."""
    defaults: Mapping[str, object] = {}
    for block in blocks:
        yield block, judge_block(block, file, style, defaults)
        defaults = defaults_after(block, defaults)


def judge_in_parallel(
    blocks: Iterable[Block], file: str, style: Style, jobs: int
) -> Generator[tuple[Block, BlockResult]]:
    """Yield each block with its result in order, judged by several processes.

    At most `BLOCKS_PER_WORKER` blocks per worker are pending, which bounds the memory. If a worker dies, the pending
    blocks are judged in this process.
    """
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    defaults: Mapping[str, object] = {}
    pending: deque[tuple[Block, Callable[[], BlockResult], Callable[[], BlockResult]]] = deque()
    can_fork = hasattr(os, "fork") and sys.platform != "darwin"  # libraries of macOS do not survive a fork
    jobs = min(jobs, 61)  # the limit of `ProcessPoolExecutor` on Windows
    workers = ProcessPoolExecutor(jobs, get_context("fork" if can_fork else "spawn"), _begin_worker)

    def submit(block: Block) -> None:
        result = judge = partial(judge_block, block, file, style, dict(defaults))
        with suppress(BrokenExecutor), child_starting():
            result = workers.submit(judge).result  # type: ignore[assignment]
        pending.append((block, judge, result))

    def next_result() -> tuple[Block, BlockResult]:
        block, judge, result = pending.popleft()
        try:
            return block, result()
        except BrokenExecutor:
            return block, judge()

    try:
        for block in blocks:
            if len(pending) == AHEAD * jobs:
                yield next_result()
            submit(block)
            defaults = defaults_after(block, defaults)
        while pending:
            yield next_result()
    finally:
        workers.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Leave signals to the parent process, and exit when it exits."""
    leave_to_parent()
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def summary(counts: Mapping[Verdict, int]) -> str:
    """Return the counts of all verdicts as one line.

    >>> summary({Verdict.PASSED: 1200, Verdict.FAILED: 1})
    '1,200 passed, 1 failed'
    """
    parts = [f"{count:,} {verdict.value}" for verdict, count in counts.items() if count]
    return ", ".join(parts) or "no cases (what is one: shapecalc help cases)"


@contextmanager
def junit_file(
    path: str | None, files: Iterable[str], counts: Mapping[Verdict, int], command: str = "check"
) -> Iterator[IO[str] | None]:
    """Yield a temporary file for JUnit test cases; write the report at the end.

    The totals are in the first line, so the report is written last; after an error there is no report.
    Yield None without a path. Raises `OSError` if the file cannot be written, or if it is one of the inputs.
    """
    if path is None:
        yield None
        return
    if Path(path).exists() and any(Path(file).exists() and Path(path).samefile(file) for file in files):
        raise OSError(0, "it is one of the files that are checked")
    import tempfile

    with tempfile.TemporaryFile("w+", encoding="utf-8") as stream, report_file(Path(path)) as file:
        yield stream
        errors = counts[Verdict.UNREAD] + counts[Verdict.UNRESOLVED]
        totals = f'tests="{sum(counts.values())}" failures="{counts[Verdict.FAILED]}" errors="{errors}"'
        title = f'name="shapecalc {command}" {totals}'
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite {title}>\n'.encode())
        stream.seek(0)
        while piece := stream.read(1 << 20):
            file.write(piece.encode())
        file.write(b"</testsuite>\n")


@contextmanager
def updated_file(path: Path, changed: Callable[[], bool]) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` at the end if `is_changed` returns true.

    Raises `OSError` if it cannot be written, or if another program has changed `path` in the meantime.
    """
    before = stamp(path)

    def is_wanted() -> bool:
        if changed() and stamp(path) != before:
            raise OSError(0, "another program has changed it in the meantime")
        return changed()

    with whole_file(path, force=True, wanted=is_wanted) as file:
        yield file


FILES = Argument("files", "case files, folders of them, - for standard input", "[FILE...]", False, repeated=True)
JUNIT = Option("junit", "Also write the results as JUnit XML.", metavar="FILE")
GITHUB = Option("github", "Print failures as annotations of GitHub Actions.", Takes.NOTHING)
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
    """Judge the case files in order; print failures, answers and a summary."""
    if not files and not holds_input():
        return print_error(misuse("missing argument 'FILE...'", "see shapecalc check -h"), "check", {}, out)
    files = [path for name in files or ["-"] for path in _files_in(name)]
    conflicts = [name for name, given in (("--fail-fast", fail_fast), ("-", "-" in files)) if update and given]
    conflicts += ["--github"] if out.json and github else []
    if conflicts:
        error = misuse(f"{'--update' if update else '--json'} cannot be combined with {conflicts[0]}")
        return print_error(error, "check", {}, out)
    style = Style(out.json, out.quiet, out.strict, github, junit is not None, fail_fast, update)
    gc.freeze()  # imported modules stay, so collections need not traverse them
    with Endings():
        return _Run(style, jobs).judge_files(files, junit)


def _files_in(name: str) -> list[str]:
    """Return the case files below a folder, or the name itself if there are none."""
    paths = sorted(Path(name).rglob("*")) if os.path.isdir(name) else []  # noqa: PTH112 - it never raises
    return [str(path) for path in paths if path.suffix in CASE_FILES and path.is_file()] or [name]


class _Run:
    """A run over several case files, with its counts and its exit code."""

    def __init__(self, style: Style, jobs: int | None) -> None:
        self.style, self.jobs = style, jobs
        self.counts = dict.fromkeys(Verdict, 0)
        self.worst: int = Exit.YES

    def judge_files(self, files: list[str], junit: str | None) -> int:
        """Judge the files, print the summary and return the exit code."""
        total = sum(os.path.getsize(file) for file in files if os.path.isfile(file))  # noqa: PTH113, PTH202
        shows = not self.style.quiet and sys.stdout is not None and not sys.stdout.isatty()
        try:
            with meter(total, "checking", shows=shows) as tick, junit_file(junit, files, self.counts) as junit_stream:
                for file in files:
                    if self._judge_file(file, junit_stream, tick):
                        break
        except OSError as error:
            self._tell_unusable(junit or "", error)
        empty_code = Exit.YES if any(self.counts.values()) else Exit.USAGE
        if not self.style.quiet:
            tell(f"shapecalc: {summary(self.counts)}")
        return max([self.worst, empty_code, *(code for verdict, code in CODES.items() if self.counts[verdict])])

    def _judge_file(self, file: str, cases: IO[str] | None, tick: Callable[[int], None]) -> bool:
        """Judge one file; return whether a failure in it ends the run.

        If the file cannot be updated, its updated cases count as failed.
        """
        updated_before = self.counts[Verdict.UPDATED]
        try:
            with ExitStack() as closing_all:
                stream = _open_file(file, closing_all)
                size = regular_size(stream)
                if self.style.update and not size:
                    raise OSError(0, "only a regular file that is not empty can be updated")
                update = updated_file(Path(file), lambda: self.counts[Verdict.UPDATED] > updated_before)
                updated = closing_all.enter_context(update) if self.style.update else None
                for block, result in closing_all.enter_context(closing(self._results(file, stream, size))):
                    with endings_waiting():  # print whole lines
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
        """Return the blocks of a file with their results."""
        jobs = 1
        if size:
            jobs = self.jobs or min(MOST_JOBS if size >= WORTH_IT else 1, count_cores())
        if jobs > 1:
            return judge_in_parallel(split_blocks(stream), file, self.style, jobs)
        return judge_in_turn(split_blocks(stream), file, self.style)

    def _count(self, result: BlockResult, cases: IO[str] | None) -> bool:
        """Add the result of a block; return whether a failure in it ends the run."""
        for verdict, count in result.counts.items():
            self.counts[verdict] += count
        if cases is not None:
            cases.write(result.junit)
        return result.stopped

    def _tell_unusable(self, file: str, error: OSError) -> None:
        """Report that a file cannot be read or written."""
        self.worst = Exit.FILE
        reason = error.strerror or str(error)
        if isinstance(error, IsADirectoryError):
            reason = f"no file in it ends in {' or '.join(CASE_FILES)}; name its files"
        if not self.style.quiet:
            tell(visible(f"shapecalc: file: {file}: {reason[:1].lower()}{reason[1:]}"))


def _open_file(file: str, closing_all: ExitStack) -> BufferedIOBase:
    """Open a file, or standard input for `-`, as bytes.

    Raises `OSError` if the file cannot be opened or is not text.
    """
    if file != "-":
        stream = closing_all.enter_context(Path(file).open("rb"))  # noqa: SIM115 - the stack closes it
        if b"\0" in stream.peek():
            message = "it contains an array, not cases; for arrays: shapecalc match"
            raise OSError(0, message if is_file(file) else "it is not UTF-8 text")
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


PATTERN = Argument("pattern", "what the shapes must be: N,3,H,W, '?,...,3', 'float32[N,3]'", "PATTERN")
ARRAY_FILES = Argument("files", "files, arrays of files (x.npz:w), and Zarr stores", "FILE...", repeated=True)


class Judged(Record):
    """The result of one array: its header, and the problem if there is one."""

    found: Found
    problem: Problem | None

    @property
    def code(self) -> int:
        """Exit code of this array alone."""
        return Exit.YES if self.problem is None else problem_code(self.problem)

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the array."""
        shape = None if self.found.problem else list(self.found.shape)
        header = {"shape": shape, "dtype": self.found.dtype}
        problem = self.problem and self.problem.as_json()
        return {"file": self.found.name, **header, "ok": self.problem is None, "problem": problem}


def run_match(pattern: str, files: list[str], out: Output, *, junit: str | None, github: bool = False) -> int:
    """Print each array that does not match, or all as JSON; return the exit code."""
    try:
        if out.json and github:
            raise misuse("--json cannot be combined with --github")
        matcher = Matcher(_read_pattern(pattern, files))
        counts = dict.fromkeys(Verdict, 0)
        results: list[Judged] = []
        with junit_file(junit, files, counts, "match") as junit_stream:
            for result in _judged(matcher, files):
                counts[VERDICTS[result.code]] += 1
                _tell(result, out, github=github)
                if junit_stream is not None:
                    message, failed = result.problem.message if result.problem else "", result.code == Exit.NO
                    junit_stream.write(testcase("shapecalc match", result.found.name, message, failed=failed))
                if out.json:
                    results.append(result)
    except ShapeError as error:
        return print_error(error, "match", {"pattern": pattern}, out)
    except OSError as error:
        problem = Problem(FILE, f"{junit or ''}: {error.strerror or error}", argument="junit")
        return print_error(ShapeError(problem), "match", {}, out)
    if asks_text(out, lambda: _as_json(matcher, results)):
        tell(visible(f"shapecalc: {_said(matcher, counts)}"))
    return max((code for code, verdict in VERDICTS.items() if counts[verdict]), default=Exit.YES)


def _read_pattern(text: str, files: list[str]) -> ShapePattern:
    """Parse the pattern; raise `ShapeError` (usage) if it is wrong or a file."""
    try:
        return pattern_of(text)
    except ShapeError:
        if not is_file(text):
            raise
    pattern = "PATTERN" if is_file(files[-1]) else visible(brief(files[-1]))
    file = visible(brief(text))
    raise misuse(f"'{file}' is a file", f"the pattern comes first: match {pattern} {file}", argument="pattern")


def _judged(matcher: Matcher, files: list[str]) -> Iterator[Judged]:
    """Yield the result of every array in the files, in order."""
    for file in files:
        for header in found_in(file):
            if header.problem:
                message = f"{header.name}: {header.problem}" if header.name else header.problem
                yield Judged(header, Problem(FILE, message, argument="files"))
            else:
                yield Judged(header, matcher.problem(header.shape, header.dtype, header.name))


def _tell(judged: Judged, out: Output, *, github: bool) -> None:
    """Print an array that does not match, or report one that cannot be read."""
    if judged.problem is None or out.json or out.quiet:
        return
    if github:
        put(annotation(judged.found.name, judged.problem.message))
    elif judged.found.problem:
        tell(visible(f"shapecalc: {judged.problem}"))
    else:
        put(visible(f"{judged.found.name}: {judged.problem.message}"))


def _said(matcher: Matcher, counts: dict[Verdict, int]) -> str:
    """Return the counts of the verdicts, and the sizes of the named dims."""
    sizes = ", ".join(f"{name} is {size}" for name, size in matcher.sizes.items())
    arrays = summary(counts) if any(counts.values()) else "no arrays"
    return f"{arrays}; {sizes}" if sizes else arrays


def _as_json(matcher: Matcher, judged: list[Judged]) -> dict[str, object]:
    """Return the JSON object of `match`."""
    names = {name: {"size": plain(size), "from": matcher.origins[name]} for name, size in matcher.sizes.items()}
    arrays = [result.as_json() for result in judged]
    ok = all(result.code == 0 for result in judged)
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
