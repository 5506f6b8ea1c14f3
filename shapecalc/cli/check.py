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

from shapecalc.checking.answering import answer_case, describe_mismatch, expectation_text, is_met
from shapecalc.checking.rewriting import rewrite_expectation
from shapecalc.cli.answer import print_error
from shapecalc.cli.data import progress_bar
from shapecalc.cli.options import Argument, Command, select_output_options
from shapecalc.cli.output import (
    BOM,
    ExitCode,
    OutputOptions,
    has_stdin_data,
    print_json_if_requested,
    print_stderr,
    print_stdout,
    problem_exit_code,
    report_stream_error,
)
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import to_json
from shapecalc.core.limits import MAX_LINE_BYTES
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, is_file_argument, truncate
from shapecalc.engine.atomic_files import atomic_file, open_report
from shapecalc.engine.headers import ArrayInfo, file_stamp, iter_arrays
from shapecalc.engine.processes import (
    SignalGuard,
    block_signals,
    block_signals_at_fork,
    count_cores,
    ignore_termination,
)
from shapecalc.reading import cases
from shapecalc.reading.cases import Case
from shapecalc.reading.commands import Option, OptionKind
from shapecalc.reading.pattern import Matcher, ShapePattern, to_pattern

READ_SIZE = 1 << 19
"""Bytes requested per read; a pipe may return fewer."""
WHITESPACE = " \t\r\n\v\f"
"""Characters stripped from both ends of a line."""
MIN_PARALLEL_SIZE = 4 << 20
"""Size of a file in bytes from which it is judged on several cores."""
BLOCKS_PER_WORKER = 2
"""Blocks in flight per worker, so that a worker never waits for the next one."""
MAX_DEFAULT_JOBS = 8
"""Limit on the worker processes without `--jobs`."""
CASE_SUFFIXES = (".txt", ".jsonl")
"""Suffixes of the case files in a folder."""


class Block(Record):
    """Consecutive lines of a file, or a piece of a line that is too long."""

    data: bytes
    line: int
    """Number of the first line, from 1."""
    is_partial: bool = False
    """Whether this is a piece of a line that is too long."""
    is_line_start: bool = True
    """Whether a piece is the first one of its line."""


def split_blocks(stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the lines of a stream in blocks as they arrive.

    The blocks joined are the bytes of the stream, including a byte order mark.
    Raises `OSError` if the stream cannot be read.
    """
    line = 1
    while data := stream.read1(READ_SIZE):
        if not data.endswith(b"\n"):
            data += stream.readline(MAX_LINE_BYTES)
        last = data.rfind(b"\n", 0, -1) + 1
        torn = len(data) - last > MAX_LINE_BYTES
        lines = data[:last] if torn else data
        yield Block(lines, line)
        line += lines.count(b"\n")
        if torn:
            yield Block(data[last:], line, is_partial=True)
            while not data.endswith(b"\n") and (data := stream.readline(READ_SIZE)):
                yield Block(data, line, is_partial=True, is_line_start=False)
            line += 1


def regular_file_size(stream: BufferedIOBase) -> int:
    """Return the size of a regular file in bytes, 0 for a pipe or a device."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, UnsupportedOperation):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class CheckVerdict(StrEnum):
    """Verdict on a case or an array, in the words of the summary."""

    PASSED = "passed"
    FAILED = "failed"
    ANSWERED = "answered"
    UPDATED = "updated"
    UNREAD = "could not be read"
    UNRESOLVED = "could not be resolved"


CHECK_EXIT_CODES = {
    CheckVerdict.FAILED: ExitCode.FAILED,
    CheckVerdict.UNREAD: ExitCode.USAGE,
    CheckVerdict.UNRESOLVED: ExitCode.UNRESOLVED,
}
"""Exit codes of `check` by verdict."""
MATCH_VERDICTS = {
    ExitCode.OK: CheckVerdict.PASSED,
    ExitCode.FAILED: CheckVerdict.FAILED,
    ExitCode.FILE: CheckVerdict.UNREAD,
}
"""Verdicts of `match` by exit code."""


class CheckOptions(Record):
    """Output formats of a run, and what counts as a failure."""

    json: bool = False
    quiet: bool = False
    strict: bool = False
    github: bool = False
    junit: bool = False
    fail_fast: bool = False
    update: bool = False


class CaseResult(Record):
    """The result of one line."""

    line: int
    text: str
    verdict: CheckVerdict
    case_id: object = None
    """Id of the case, if it has one."""
    answer: Trace | Chain | None = None
    problem: Problem | None = None
    passed: bool | None = None
    message: str = ""
    """Error message, empty if there is none."""

    def as_json(self, file: str) -> dict[str, object]:
        """Return the JSON object of the line."""
        result = {
            "id": self.case_id,
            "file": file,
            "line": self.line,
            "ok": self.problem is None,
            "passed": self.passed,
        }
        answer, problem = self.answer, self.problem
        result |= {"output": to_json(answer.output) if answer else None}
        result |= {"conditions": [str(condition) for condition in answer.conditions] if answer else []}
        return result | {"assumes": list(answer.assumes) if answer else [], "problem": problem and problem.as_json()}

    def as_text(self, file: str, *, github: bool) -> str:
        """Return the printed lines: the answer if nothing is expected, and the message.

        GitHub executes lines that begin with `::`, so a file name that does is prefixed.
        """
        has_output = self.passed is None and self.answer and self.answer.output is not None
        text = f"{expectation_text(self.answer)}\n" if has_output and self.answer else ""
        if not self.message:
            return text
        if github:
            return f"{text}{github_annotation(file, self.message, self.line)}\n"
        prefix = "./" if file.lstrip().startswith("::") else ""
        return f"{text}{escape_unprintable(f'{prefix}{file}:{self.line}: {self.message}')}\n"

    def as_junit(self, file: str) -> str:
        """Return the line as a JUnit test case."""
        title = truncate(cases.request_text(self.text)) if self.case_id is None else str(self.case_id)
        name = f"line {self.line}: {title}" if title else f"line {self.line}"
        return junit_testcase(file, name, self.message, failed=self.verdict is CheckVerdict.FAILED)


def unreadable_result(line: int, text: str, problem: Problem, case_id: object = None) -> CaseResult:
    """Return the result of a line that could not be parsed."""
    return CaseResult(line, text, CheckVerdict.UNREAD, case_id, problem=problem, message=str(problem))


def result_from_answer(
    line: int, text: str, case: Case, answer: Trace | Chain, passed: bool | None, *, strict: bool
) -> CaseResult:
    """Return the result of a case from its answer."""
    verdict, message = CheckVerdict.ANSWERED, ""
    if passed is not None:
        verdict = CheckVerdict.PASSED if passed else CheckVerdict.FAILED
        message = "" if passed or not case.expected else describe_mismatch(case.expected, answer)
    elif answer.problem:
        verdict, message = CheckVerdict.UNRESOLVED, str(answer.problem)
    elif strict and answer.conditions:
        verdict, message = CheckVerdict.FAILED, f"{expectation_text(answer)} holds only under conditions"
    return CaseResult(line, text, verdict, case.id, answer, answer.problem, passed, message)


def github_annotation(file: str, message: str, line: int | None = None) -> str:
    """Return a GitHub Actions error annotation for a file, or for a line of it."""
    location = escape_unprintable(file).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    location += "" if line is None else f",line={line}"
    return f"::error file={location}::{escape_unprintable(message).replace('%', '%25')}"


def junit_testcase(classname: str, name: str, message: str = "", *, failed: bool = False) -> str:
    """Return a JUnit test case: passed without a message, else a failure or an error."""
    kind = "failure" if failed else "error"
    content = f'><{kind} message="{escape_xml(message)}"/></testcase>' if message else "/>"
    return f'<testcase classname="{escape_xml(classname)}" name="{escape_xml(name)}"{content}\n'


def escape_xml(text: str) -> str:
    """Escape a text for an XML attribute.

    >>> escape_xml('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    return escape_unprintable(escape(text))


class BlockResult(Record):
    """The result of a block of lines."""

    stdout_text: str
    """Text to print on stdout."""
    junit: str
    counts: dict[CheckVerdict, int]
    data: bytes | None
    """Bytes of the block with updated expectations, None if unchanged."""
    ends_run: bool = False
    """Whether a line failed, and `--fail-fast` ends the run."""


def judge_block(block: Block, file: str, options: CheckOptions, defaults: Mapping[str, object]) -> BlockResult:
    """Judge the lines of a block, given the defaults in effect at its first line."""
    judge = _BlockChecker(file, options, defaults)
    updated_text = None
    if not block.is_partial:
        updated_text = judge.judge_lines(_decode_block(block), block.line)
    elif block.is_line_start:
        judge.add_result(unreadable_result(block.line, "", MAX_LINE_BYTES.error("a line is longer").problem))
    data = None if updated_text is None else _leading_bom(block) + updated_text.encode("utf-8", "surrogateescape")
    shown = "" if options.quiet else "".join(judge.stdout_texts)
    return BlockResult(shown, "".join(judge.junit), judge.counts, data, judge.ends_run)


def defaults_after(block: Block, defaults: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults in effect after a block, given those at its start."""
    if block.is_partial or cases.DEFAULT_DIRECTIVE.encode() not in block.data:
        return defaults
    for text in _decode_block(block).split("\n"):
        if _is_default_directive(text.strip(WHITESPACE)):
            with suppress(ShapeError):  # `judge_block` reports the line
                defaults = cases.read_defaults(text.strip(WHITESPACE), defaults)
    return defaults


def _decode_block(block: Block) -> str:
    """Return the text of a block, with bytes that are not UTF-8 as surrogates."""
    return block.data[len(_leading_bom(block)) :].decode("utf-8", "surrogateescape")


def _leading_bom(block: Block) -> bytes:
    return BOM if block.line == 1 and block.data.startswith(BOM) else b""


def _is_default_directive(text: str) -> bool:
    return text.startswith(cases.DEFAULT_DIRECTIVE) and text[len(cases.DEFAULT_DIRECTIVE) :][:1] in ("", " ", "\t", "#")


class _BlockChecker:
    """Checker of the lines of one block, which collects the output and the counts."""

    def __init__(self, file: str, options: CheckOptions, defaults: Mapping[str, object]) -> None:
        self.file, self.options, self.defaults = file, options, defaults
        self.counts, self.updated_lines = dict.fromkeys(CheckVerdict, 0), dict[int, str]()
        self.stdout_texts, self.junit = list[str](), list[str]()
        self.ends_run = False

    def add_result(self, result: CaseResult) -> None:
        """Add the result of a line to the output and to the counts."""
        if self.options.json:
            self.stdout_texts.append(f"{json.dumps(result.as_json(self.file))}\n")
        else:
            self.stdout_texts.append(result.as_text(self.file, github=self.options.github))
        self.counts[result.verdict] += 1
        self.ends_run = self.options.fail_fast and bool(result.message)
        if self.options.junit:
            self.junit.append(result.as_junit(self.file))

    def judge_lines(self, text: str, first_line: int) -> str | None:
        """Judge every line of a text.

        Return the text with updated expectations, or None if there are none.
        """
        lines = text.split("\n")
        for number, line in enumerate(lines, first_line):
            stripped = line.strip(WHITESPACE)
            if stripped and stripped[0] != "#":
                self._judge_line(number, stripped, line)
                if self.ends_run:
                    break
        for number, updated_line in self.updated_lines.items():
            lines[number - first_line] = updated_line
        return "\n".join(lines) if self.updated_lines else None

    def _judge_line(self, number: int, text: str, line: str) -> None:
        """Judge a line that is neither blank nor a comment."""
        name: object = None
        try:
            if _is_default_directive(text):
                self.defaults = cases.read_defaults(text, self.defaults)
                return
            _check_utf8(text)
            if cases.is_json_object(text):
                fields = cases.read_json_object(text)
                name = fields.get("id")
                case = cases.case_from_json(fields, self.defaults)
            else:
                case = cases.read_case(text, self.defaults)
        except ShapeError as error:
            self.add_result(unreadable_result(number, text, error.problem, name))
            return
        try:
            self.add_result(self._judge_case(number, text, line, case))
        except RecursionError:
            self.add_result(unreadable_result(number, text, usage_error("it is nested too deeply").problem, case.id))

    def _judge_case(self, number: int, text: str, line: str, case: Case) -> CaseResult:
        """Answer a case, compare it with its expectation and return the result.

        With `--update`, a wrong expectation is replaced by the answer.
        """
        expected, style = case.expected, self.options
        try:
            answer = answer_case(case, with_fixes=style.json)
            passed = None if expected is None else is_met(expected, answer, strict=style.strict)
            if answer.problem and not passed and not style.json:
                answer = answer_case(case)
        except ShapeError as error:
            if error.problem.rule == USAGE and expected and expected.rule == USAGE:
                return CaseResult(number, text, CheckVerdict.PASSED, case.id, problem=error.problem, passed=True)
            return unreadable_result(number, text, error.problem, case.id)
        if passed is False and expected is not None and expected.same_as is None and style.update:
            self.updated_lines[number] = rewrite_expectation(line, expected, answer, strict=style.strict)
            return CaseResult(number, text, CheckVerdict.UPDATED, case.id, answer, answer.problem, passed)
        return result_from_answer(number, text, case, answer, passed, strict=style.strict)


def _check_utf8(text: str) -> None:
    """Raise `ShapeError` (usage) for a line that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) & 0xFF
        raise usage_error(f"it is not UTF-8: byte {byte:#04x} at character {error.start + 1}") from None


def judge_sequentially(
    blocks: Iterable[Block], file: str, options: CheckOptions
) -> Generator[tuple[Block, BlockResult]]:
    """Yield each block with its result, judged in this process."""
    defaults: Mapping[str, object] = {}
    for block in blocks:
        yield block, judge_block(block, file, options, defaults)
        defaults = defaults_after(block, defaults)


def judge_in_parallel(
    blocks: Iterable[Block], file: str, options: CheckOptions, jobs: int
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
    workers = ProcessPoolExecutor(jobs, get_context("fork" if can_fork else "spawn"), _init_worker)

    def submit(block: Block) -> None:
        result = judge = partial(judge_block, block, file, options, dict(defaults))
        with suppress(BrokenExecutor), block_signals_at_fork():
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
            if len(pending) == BLOCKS_PER_WORKER * jobs:
                yield next_result()
            submit(block)
            defaults = defaults_after(block, defaults)
        while pending:
            yield next_result()
    finally:
        workers.shutdown(cancel_futures=True)


def _init_worker() -> None:
    """Leave signals to the parent process, and exit when it exits."""
    ignore_termination()
    Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def format_summary(counts: Mapping[CheckVerdict, int]) -> str:
    """Return the counts of all verdicts as one line.

    >>> format_summary({CheckVerdict.PASSED: 1200, CheckVerdict.FAILED: 1})
    '1,200 passed, 1 failed'
    """
    parts = [f"{count:,} {verdict.value}" for verdict, count in counts.items() if count]
    return ", ".join(parts) or "no cases (what is one: shapecalc help cases)"


@contextmanager
def open_junit_file(
    path: str | None, files: Iterable[str], counts: Mapping[CheckVerdict, int], command: str = "check"
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

    with tempfile.TemporaryFile("w+", encoding="utf-8") as stream, open_report(Path(path)) as file:
        yield stream
        errors = counts[CheckVerdict.UNREAD] + counts[CheckVerdict.UNRESOLVED]
        totals = f'tests="{sum(counts.values())}" failures="{counts[CheckVerdict.FAILED]}" errors="{errors}"'
        title = f'name="shapecalc {command}" {totals}'
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite {title}>\n'.encode())
        stream.seek(0)
        while piece := stream.read(1 << 20):
            file.write(piece.encode())
        file.write(b"</testsuite>\n")


@contextmanager
def replace_file_if_changed(path: Path, is_changed: Callable[[], bool]) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` at the end if `is_changed` returns true.

    Raises `OSError` if it cannot be written, or if another program has changed `path` in the meantime.
    """
    before = file_stamp(path)

    def is_wanted() -> bool:
        if is_changed() and file_stamp(path) != before:
            raise OSError(0, "another program has changed it in the meantime")
        return is_changed()

    with atomic_file(path, force=True, should_commit=is_wanted) as file:
        yield file


FILES_ARGUMENT = Argument(
    "files", "case files, folders of them, - for standard input", "[FILE...]", False, repeated=True
)
JUNIT_OPTION = Option("junit", "Also write the results as JUnit XML.", metavar="FILE")
GITHUB_OPTION = Option("github", "Print failures as annotations of GitHub Actions.", OptionKind.FLAG)
CHECK_OPTIONS = (
    Option("fail_fast", "Stop at the first line that fails.", OptionKind.FLAG, short="-x"),
    Option("update", "Replace the expectations in the files by the actual answers.", OptionKind.FLAG),
    JUNIT_OPTION,
    GITHUB_OPTION,
    Option(
        "jobs",
        "How many processes, 1 to 256; by default all cores for large files.",
        OptionKind.NUMBER,
        metavar="N",
        short="-j",
        minimum=1,
        maximum=256,
    ),
)


def run_check(
    files: list[str] | None,
    output_options: OutputOptions,
    *,
    fail_fast: bool,
    update: bool,
    junit: str | None,
    github: bool,
    jobs: int | None,
) -> int:
    """Judge the case files in order; print failures, answers and a summary."""
    if not files and not has_stdin_data():
        return print_error(
            usage_error("missing argument 'FILE...'", "see shapecalc check -h"), "check", {}, output_options
        )
    files = [path for name in files or ["-"] for path in _case_files(name)]
    conflicts = [name for name, given in (("--fail-fast", fail_fast), ("-", "-" in files)) if update and given]
    conflicts += ["--github"] if output_options.json and github else []
    if conflicts:
        error = usage_error(f"{'--update' if update else '--json'} cannot be combined with {conflicts[0]}")
        return print_error(error, "check", {}, output_options)
    style = CheckOptions(
        output_options.json, output_options.quiet, output_options.strict, github, junit is not None, fail_fast, update
    )
    gc.freeze()  # imported modules stay, so collections need not traverse them
    with SignalGuard():
        return _CheckRun(style, jobs).judge_files(files, junit)


def _case_files(name: str) -> list[str]:
    """Return the case files below a folder, or the name itself if there are none."""
    paths = sorted(Path(name).rglob("*")) if os.path.isdir(name) else []  # noqa: PTH112 - it never raises
    return [str(path) for path in paths if path.suffix in CASE_SUFFIXES and path.is_file()] or [name]


class _CheckRun:
    """A run over several case files, with its counts and its exit code."""

    def __init__(self, options: CheckOptions, jobs: int | None) -> None:
        self.options, self.jobs = options, jobs
        self.counts = dict.fromkeys(CheckVerdict, 0)
        self.worst_code: int = ExitCode.OK

    def judge_files(self, files: list[str], junit: str | None) -> int:
        """Judge the files, print the summary and return the exit code."""
        total = sum(os.path.getsize(file) for file in files if os.path.isfile(file))  # noqa: PTH113, PTH202
        shows = not self.options.quiet and sys.stdout is not None and not sys.stdout.isatty()
        try:
            with (
                progress_bar(total, "checking", enabled=shows) as tick,
                open_junit_file(junit, files, self.counts) as junit_stream,
            ):
                for file in files:
                    if self._judge_file(file, junit_stream, tick):
                        break
        except OSError as error:
            self._report_unusable_file(junit or "", error)
        empty_code = ExitCode.OK if any(self.counts.values()) else ExitCode.USAGE
        if not self.options.quiet:
            print_stderr(f"shapecalc: {format_summary(self.counts)}")
        return max(
            [self.worst_code, empty_code, *(code for verdict, code in CHECK_EXIT_CODES.items() if self.counts[verdict])]
        )

    def _judge_file(self, file: str, junit_stream: IO[str] | None, tick: Callable[[int], None]) -> bool:
        """Judge one file; return whether a failure in it ends the run.

        If the file cannot be updated, its updated cases count as failed.
        """
        updated_before = self.counts[CheckVerdict.UPDATED]
        try:
            with ExitStack() as closing_all:
                stream = _open_file(file, closing_all)
                size = regular_file_size(stream)
                if self.options.update and not size:
                    raise OSError(0, "only a regular file that is not empty can be updated")
                update = replace_file_if_changed(Path(file), lambda: self.counts[CheckVerdict.UPDATED] > updated_before)
                updated = closing_all.enter_context(update) if self.options.update else None
                for block, result in closing_all.enter_context(closing(self._judge_blocks(file, stream, size))):
                    with block_signals():  # print whole lines
                        if result.stdout_text:
                            print_stdout(result.stdout_text.removesuffix("\n"))
                    tick(len(block.data))
                    if updated is not None:
                        updated.write(block.data if result.data is None else result.data)
                    if self._add_result(result, junit_stream):
                        return True
        except OSError as error:
            self.counts[CheckVerdict.FAILED] += self.counts[CheckVerdict.UPDATED] - updated_before
            self.counts[CheckVerdict.UPDATED] = updated_before
            self._report_unusable_file(file, error)
        return False

    def _judge_blocks(self, file: str, stream: BufferedIOBase, size: int) -> Generator[tuple[Block, BlockResult]]:
        """Return the blocks of a file with their results."""
        jobs = 1
        if size:
            jobs = self.jobs or min(MAX_DEFAULT_JOBS if size >= MIN_PARALLEL_SIZE else 1, count_cores())
        if jobs > 1:
            return judge_in_parallel(split_blocks(stream), file, self.options, jobs)
        return judge_sequentially(split_blocks(stream), file, self.options)

    def _add_result(self, result: BlockResult, junit_stream: IO[str] | None) -> bool:
        """Add the result of a block; return whether a failure in it ends the run."""
        for verdict, count in result.counts.items():
            self.counts[verdict] += count
        if junit_stream is not None:
            junit_stream.write(result.junit)
        return result.ends_run

    def _report_unusable_file(self, file: str, error: OSError) -> None:
        """Report that a file cannot be read or written."""
        self.worst_code = ExitCode.FILE
        reason = error.strerror or str(error)
        if isinstance(error, IsADirectoryError):
            reason = f"no file in it ends in {' or '.join(CASE_SUFFIXES)}; name its files"
        if not self.options.quiet:
            print_stderr(escape_unprintable(f"shapecalc: file: {file}: {reason[:1].lower()}{reason[1:]}"))


def _open_file(file: str, stack: ExitStack) -> BufferedIOBase:
    """Open a file, or standard input for `-`, as bytes.

    Raises `OSError` if the file cannot be opened or is not text.
    """
    if file != "-":
        stream = stack.enter_context(Path(file).open("rb"))  # noqa: SIM115 - the stack closes it
        if b"\0" in stream.peek():
            message = "it contains an array, not cases; for arrays: shapecalc match"
            raise OSError(0, message if is_file_argument(file) else "it is not UTF-8 text")
        return stream
    if sys.stdin is None:
        raise report_stream_error("stdin", "it is closed")
    if sys.stdin.isatty():
        print_stderr("shapecalc: reading cases from the terminal; end them with ^D")
    return sys.stdin.buffer  # type: ignore[return-value]


STRICT_OPTION = Option("strict", "Fail an answer with a condition that the case does not name.", OptionKind.FLAG)
CHECK_COMMAND = Command(
    run=run_check,
    parameters=[FILES_ARGUMENT, *select_output_options("json", "quiet"), STRICT_OPTION, *CHECK_OPTIONS],
    summary="Check many cases, from files or standard input.",
    examples="""\
  shapecalc check shapes.txt
  shapecalc check cases.jsonl --json > results.jsonl
  shapecalc check shapes.txt --update
  echo 'reshape 2,3,4 0,-1 => 2,12' | shapecalc check -""",
    details=""" A line is a case, plain or JSON, such as:

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


PATTERN_ARGUMENT = Argument("pattern", "what the shapes must be: N,3,H,W, '?,...,3', 'float32[N,3]'", "PATTERN")
ARRAY_FILES_ARGUMENT = Argument("files", "files, arrays of files (x.npz:w), and Zarr stores", "FILE...", repeated=True)


class ArrayResult(Record):
    """The result of one array: its header, and the problem if there is one."""

    header: ArrayInfo
    problem: Problem | None

    @property
    def exit_code(self) -> int:
        """Exit code of this array alone."""
        return ExitCode.OK if self.problem is None else problem_exit_code(self.problem)

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the array."""
        shape = None if self.header.problem else list(self.header.shape)
        header = {"shape": shape, "dtype": self.header.dtype}
        problem = self.problem and self.problem.as_json()
        return {"file": self.header.name, **header, "ok": self.problem is None, "problem": problem}


def run_match(
    pattern: str, files: list[str], output_options: OutputOptions, *, junit: str | None, github: bool = False
) -> int:
    """Print each array that does not match, or all as JSON; return the exit code."""
    try:
        if output_options.json and github:
            raise usage_error("--json cannot be combined with --github")
        matcher = Matcher(_read_pattern(pattern, files))
        counts = dict.fromkeys(CheckVerdict, 0)
        results: list[ArrayResult] = []
        with open_junit_file(junit, files, counts, "match") as junit_stream:
            for result in _match_arrays(matcher, files):
                counts[MATCH_VERDICTS[result.exit_code]] += 1
                _print_result(result, output_options, github=github)
                if junit_stream is not None:
                    message, failed = (
                        result.problem.message if result.problem else "",
                        result.exit_code == ExitCode.FAILED,
                    )
                    junit_stream.write(junit_testcase("shapecalc match", result.header.name, message, failed=failed))
                if output_options.json:
                    results.append(result)
    except ShapeError as error:
        return print_error(error, "match", {"pattern": pattern}, output_options)
    except OSError as error:
        problem = Problem(FILE, f"{junit or ''}: {error.strerror or error}", argument="junit")
        return print_error(ShapeError(problem), "match", {}, output_options)
    if print_json_if_requested(output_options, lambda: _match_json(matcher, results)):
        print_stderr(escape_unprintable(f"shapecalc: {_match_summary(matcher, counts)}"))
    return max((code for code, verdict in MATCH_VERDICTS.items() if counts[verdict]), default=ExitCode.OK)


def _read_pattern(text: str, files: list[str]) -> ShapePattern:
    """Parse the pattern; raise `ShapeError` (usage) if it is wrong or a file."""
    try:
        return to_pattern(text)
    except ShapeError:
        if not is_file_argument(text):
            raise
    pattern = "PATTERN" if is_file_argument(files[-1]) else escape_unprintable(truncate(files[-1]))
    file = escape_unprintable(truncate(text))
    raise usage_error(f"'{file}' is a file", f"the pattern comes first: match {pattern} {file}", argument="pattern")


def _match_arrays(matcher: Matcher, files: list[str]) -> Iterator[ArrayResult]:
    """Yield the result of every array in the files, in order."""
    for file in files:
        for header in iter_arrays(file):
            if header.problem:
                message = f"{header.name}: {header.problem}" if header.name else header.problem
                yield ArrayResult(header, Problem(FILE, message, argument="files"))
            else:
                yield ArrayResult(header, matcher.find_problem(header.shape, header.dtype, header.name))


def _print_result(result: ArrayResult, output_options: OutputOptions, *, github: bool) -> None:
    """Print an array that does not match, or report one that cannot be read."""
    if result.problem is None or output_options.json or output_options.quiet:
        return
    if github:
        print_stdout(github_annotation(result.header.name, result.problem.message))
    elif result.header.problem:
        print_stderr(escape_unprintable(f"shapecalc: {result.problem}"))
    else:
        print_stdout(escape_unprintable(f"{result.header.name}: {result.problem.message}"))


def _match_summary(matcher: Matcher, counts: dict[CheckVerdict, int]) -> str:
    """Return the counts of the verdicts, and the sizes of the named dims."""
    sizes = ", ".join(f"{name} is {size}" for name, size in matcher.sizes.items())
    arrays = format_summary(counts) if any(counts.values()) else "no arrays"
    return f"{arrays}; {sizes}" if sizes else arrays


def _match_json(matcher: Matcher, results: list[ArrayResult]) -> dict[str, object]:
    """Return the JSON object of `match`."""
    names = {name: {"size": to_json(size), "from": matcher.first_seen[name]} for name, size in matcher.sizes.items()}
    arrays = [result.as_json() for result in results]
    ok = all(result.exit_code == 0 for result in results)
    return {"pattern": str(matcher.pattern), "ok": ok, "names": names, "arrays": arrays}


MATCH_COMMAND = Command(
    run=run_match,
    parameters=[
        PATTERN_ARGUMENT,
        ARRAY_FILES_ARGUMENT,
        *select_output_options("json", "quiet"),
        JUNIT_OPTION,
        GITHUB_OPTION,
    ],
    summary="Say whether the arrays in files have the shapes of a pattern.",
    examples="""\
  shapecalc match N,3,H,W *.npy
  shapecalc match 'float32[N,...]' data/*.safetensors store.zarr
  shapecalc match '?,3,224,224' x.npz:images --json""",
    details=""" It reads only the headers of .npy, .npz and .safetensors files and of Zarr stores. In the
pattern ? is any dim and ... any number of dims. A name has the same size in every file. A type may stand
before brackets. Each array that differs gets a line. Exit 0: all match; 1: some differ; 2: the pattern
cannot be read; 4: a file cannot be read, and the others are still checked.""",
)
