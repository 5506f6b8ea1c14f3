"""Check the cases of files, block by block, in one or more processes.

The results are formatted as text, JSON, JUnit or GitHub annotations.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from io import BufferedIOBase, UnsupportedOperation
from threading import Thread

from shapecalc.checking.answering import (
    answer_as_expectation,
    answer_case,
    answer_json_case,
    describe_mismatch,
    equals_expectation,
    meets_expectation,
)
from shapecalc.checking.rewriting import rewrite_expectation
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import to_json
from shapecalc.core.limits import MAX_LINE_BYTES
from shapecalc.core.problem import USAGE, Problem, ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import BOM, escape_unprintable, truncate
from shapecalc.engine.processes import block_signals_at_fork, ignore_termination
from shapecalc.reading import cases
from shapecalc.reading.cases import Case

READ_SIZE = 1 << 17
"""The number of bytes to read at a time; a pipe may return fewer.

A file that is checked in parallel has at least 32 blocks. With fewer blocks, workers would be idle while the last
blocks are checked.
"""
WHITESPACE = " \t\r\n\v\f"
"""The characters that are stripped from both ends of a line."""
MIN_PARALLEL_SIZE = 4 << 20
"""The minimum size, in bytes, of a file that is checked in parallel."""
BLOCKS_PER_WORKER = 2
"""The maximum number of pending blocks for each worker.

With two blocks, a worker can start the next block without waiting for the main process.
"""


class Block(Record):
    """Consecutive lines of a file, or a part of a long line."""

    data: bytes
    line: int
    """The number of the first line, counted from 1."""
    is_partial: bool = False
    """Whether the block is a part of a long line."""
    is_line_start: bool = True
    """Whether the block starts at the beginning of a line."""


def split_blocks(stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the lines of a stream in blocks, as the lines arrive.

    A line longer than `MAX_LINE_BYTES` is split into partial blocks. The concatenated blocks equal the bytes of the
    stream, including a byte order mark. Raises `OSError` if the stream cannot be read.
    """
    line, rest = 1, b""
    while data := stream.read1(READ_SIZE):
        data = rest + data
        if b"\n" not in data:
            data += stream.readline(MAX_LINE_BYTES)
        first = data.find(b"\n") + 1 or len(data)
        if first > MAX_LINE_BYTES:
            yield Block(data[:first], line, is_partial=True)
            piece, data = data[:first], data[first:]
            while not piece.endswith(b"\n") and (piece := stream.readline(READ_SIZE)):
                yield Block(piece, line, is_partial=True, is_line_start=False)
            line += 1
        last = data.rfind(b"\n") + 1
        if last:
            yield Block(data[:last], line)
            line += data.count(b"\n")
        # `readline` would fill the buffer, and the next read would return only the rest of these 4 KiB
        rest = data[last:]
    if rest:
        yield Block(rest, line)


def regular_file_size(stream: BufferedIOBase) -> int:
    """Return the size of a regular file in bytes, or 0 for a pipe or a device."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, UnsupportedOperation):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class CheckVerdict(StrEnum):
    """The verdict on a case or an array.

    The values are printed in the summary.
    """

    PASSED = "passed"
    FAILED = "failed"
    ANSWERED = "answered"
    UPDATED = "updated"
    UNREAD = "could not be read"
    UNRESOLVED = "could not be resolved"


class CheckOptions(Record):
    """The options of a `check` run, with the names of the command-line options."""

    json: bool = False
    quiet: bool = False
    strict: bool = False
    github: bool = False
    junit: bool = False
    fail_fast: bool = False
    update: bool = False


class CaseResult(Record):
    """The result of checking one line of a case file."""

    line: int
    text: str
    verdict: CheckVerdict
    case_id: object = None
    """The id of the case, or None if the case has no id."""
    answer: Trace | Chain | None = None
    problem: Problem | None = None
    passed: bool | None = None
    message: str = ""
    """The error message, or an empty string."""

    def as_json(self, file: str) -> dict[str, object]:
        """Return the JSON object that is printed for the line."""
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
        result |= {"assumes": list(answer.assumes)} | answer.optional_items_as_json() if answer else {"assumes": []}
        return result | {"problem": problem and problem.as_json()}

    def as_text(self, file: str, *, github: bool) -> str:
        """Return the text that is printed for the line.

        For a case without an expectation, the text is the answer. For an error, the text is the error message. GitHub
        executes lines that start with `::`. Therefore, `./` is prepended to a file name that starts with `::`.
        """
        has_output = self.passed is None and self.answer and self.answer.output is not None
        text = f"{answer_as_expectation(self.answer)}\n" if has_output and self.answer else ""
        if not self.message:
            return text
        if github:
            return f"{text}{github_annotation(file, self.message, self.line)}\n"
        prefix = "./" if file.lstrip().startswith("::") else ""
        return f"{text}{escape_unprintable(f'{prefix}{file}:{self.line}: {self.message}')}\n"

    def as_junit(self, file: str) -> str:
        """Return the result as a JUnit test case in XML."""
        title = truncate(cases.question_text(self.text)) if self.case_id is None else str(self.case_id)
        name = f"line {self.line}: {title}" if title else f"line {self.line}"
        return junit_testcase(file, name, self.message, failed=self.verdict is CheckVerdict.FAILED)


def make_unreadable_result(line: int, text: str, problem: Problem, case_id: object = None) -> CaseResult:
    """Return the result of a line that cannot be parsed."""
    return CaseResult(line, text, CheckVerdict.UNREAD, case_id, problem=problem, message=str(problem))


def make_case_result(
    line: int, text: str, case: Case, answer: Trace | Chain, passed: bool | None, *, strict: bool
) -> CaseResult:
    """Return the result of a case and its answer.

    `passed` is None if the case has no expectation.
    """
    verdict, message = CheckVerdict.ANSWERED, ""
    if passed is not None:
        verdict = CheckVerdict.PASSED if passed else CheckVerdict.FAILED
        message = "" if passed or not case.expected else describe_mismatch(case.expected, answer)
    elif answer.problem:
        verdict, message = CheckVerdict.UNRESOLVED, str(answer.problem)
    elif strict and answer.conditions:
        verdict, message = CheckVerdict.FAILED, f"{answer_as_expectation(answer)} holds only under conditions"
    return CaseResult(line, text, verdict, case.id, answer, answer.problem, passed, message)


def github_annotation(file: str, message: str, line: int | None = None) -> str:
    """Return a GitHub Actions error annotation for a file or a line."""
    location = escape_unprintable(file).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    location += "" if line is None else f",line={line}"
    return f"::error file={location}::{escape_unprintable(message).replace('%', '%25')}"


def junit_testcase(classname: str, name: str, message: str = "", *, failed: bool = False) -> str:
    """Return a JUnit test case in XML.

    Without a message, the test case has passed. With a message, it is a failure if `failed` is True, and an error
    otherwise.
    """
    kind = "failure" if failed else "error"
    content = f'><{kind} message="{escape_xml(message)}"/></testcase>' if message else "/>"
    return f'<testcase classname="{escape_xml(classname)}" name="{escape_xml(name)}"{content}\n'


def escape_xml(text: str) -> str:
    """Escape a string for use in an XML attribute.

    >>> escape_xml('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    from html import escape  # imported here because it costs 1 ms of the 45 ms of a check

    return escape_unprintable(escape(text))


class BlockResult(Record):
    """The result of checking a block of lines."""

    stdout_text: str
    """The text to print on stdout."""
    junit: str
    counts: dict[CheckVerdict, int]
    data: bytes | None
    """The bytes of the block with updated expectations, or None if no expectation is updated."""
    ends_run: bool = False
    """Whether the run ends because a line failed with `--fail-fast`."""


def check_block(block: Block, file: str, options: CheckOptions, defaults: Mapping[str, object]) -> BlockResult:
    """Check the lines of a block.

    `defaults` are the defaults that apply to the first line.
    """
    checker = _BlockChecker(file, options, defaults)
    updated_text = None
    if not block.is_partial:
        updated_text = checker.check_lines(_decode_block(block), block.line)
    elif block.is_line_start:
        checker.add_result(make_unreadable_result(block.line, "", MAX_LINE_BYTES.error("a line is longer").problem))
    data = None if updated_text is None else _leading_bom(block) + updated_text.encode("utf-8", "surrogateescape")
    shown = "" if options.quiet else "".join(checker.stdout_texts)
    return BlockResult(shown, "".join(checker.junit), checker.counts, data, checker.ends_run)


def defaults_after_block(block: Block, defaults: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults that apply after a block."""
    if block.is_partial or cases.DEFAULT_DIRECTIVE.encode() not in block.data:
        return defaults
    for text in _decode_block(block).split("\n"):
        if _is_default_directive(text.strip(WHITESPACE)):
            with suppress(ShapeError):  # `check_block` reports an invalid line
                defaults = cases.parse_defaults(text.strip(WHITESPACE), defaults)
    return defaults


def _decode_block(block: Block) -> str:
    """Decode a block as UTF-8; surrogates represent invalid bytes."""
    return block.data[len(_leading_bom(block)) :].decode("utf-8", "surrogateescape")


def _leading_bom(block: Block) -> bytes:
    return BOM if block.line == 1 and block.data.startswith(BOM) else b""


def _is_default_directive(text: str) -> bool:
    return text.startswith(cases.DEFAULT_DIRECTIVE) and text[len(cases.DEFAULT_DIRECTIVE) :][:1] in ("", " ", "\t", "#")


class _BlockChecker:
    """A checker for the lines of one block.

    It collects the output and the counts of the verdicts.
    """

    def __init__(self, file: str, options: CheckOptions, defaults: Mapping[str, object]) -> None:
        self.file, self.options, self.defaults = file, options, defaults
        self.lists_passed = options.json or options.junit
        """Whether passed cases are reported individually, not only counted."""
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

    def check_lines(self, text: str, first_line: int) -> str | None:
        """Check the lines of a text, and return the text with updated expectations.

        Returns None if no expectation is updated.
        """
        lines = text.split("\n")
        for number, line in enumerate(lines, first_line):
            stripped = line.strip(WHITESPACE)
            if stripped and stripped[0] != "#":
                self._check_line(number, stripped, line)
                if self.ends_run:
                    break
        for number, updated_line in self.updated_lines.items():
            lines[number - first_line] = updated_line
        return "\n".join(lines) if self.updated_lines else None

    def _check_line(self, number: int, text: str, line: str) -> None:
        """Check the case on a line, or apply a line with defaults."""
        name: object = None
        try:
            is_json = cases.is_json_object(text)
            if not is_json and _is_default_directive(text):
                self.defaults = cases.parse_defaults(text, self.defaults)
                return
            if not text.isascii():
                _check_utf8(text)
            if is_json:
                fields = cases.parse_json_object(text)
                name, answer = fields.get("id"), answer_json_case(fields, self.defaults)
                if (
                    answer is not None
                    and not self.lists_passed
                    and equals_expectation(fields.get("expect"), answer, strict=self.options.strict)
                ):
                    self.counts[CheckVerdict.PASSED] += 1
                    return
                case = cases.case_from_json(fields, self.defaults)
            else:
                answer, case = None, cases.parse_case(text, self.defaults)
        except ShapeError as error:
            self.add_result(make_unreadable_result(number, text, error.problem, name))
            return
        try:
            self.add_result(self._check_case(number, text, line, case, answer))
        except RecursionError:
            self.add_result(
                make_unreadable_result(number, text, usage_error("it is nested too deeply").problem, case.id)
            )

    def _check_case(self, number: int, text: str, line: str, case: Case, answer: Trace | Chain | None) -> CaseResult:
        """Compare the answer to a case with its expectation, and return the result.

        If `answer` is None, the case is answered first. With `--update`, the answer replaces a wrong expectation.
        """
        expected, style = case.expected, self.options
        try:
            answer = answer_case(case, with_fixes=False) if answer is None else answer
            passed = None if expected is None else meets_expectation(expected, answer, strict=style.strict)
            if answer.problem and (style.json or not passed):
                answer = answer_case(case)
        except ShapeError as error:
            if error.problem.rule == USAGE and expected and expected.rule == USAGE:
                return CaseResult(number, text, CheckVerdict.PASSED, case.id, problem=error.problem, passed=True)
            return make_unreadable_result(number, text, error.problem, case.id)
        if passed is False and expected is not None and expected.same_as is None and style.update:
            self.updated_lines[number] = rewrite_expectation(line, expected, answer, strict=style.strict)
            return CaseResult(number, text, CheckVerdict.UPDATED, case.id, answer, answer.problem, passed)
        return make_case_result(number, text, case, answer, passed, strict=style.strict)


def _check_utf8(text: str) -> None:
    """Raise `ShapeError` (usage) if a line is not valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) & 0xFF
        raise usage_error(f"it is not UTF-8: byte {byte:#04x} at character {error.start + 1}") from None


def check_sequentially(
    blocks: Iterable[Block], file: str, options: CheckOptions
) -> Generator[tuple[Block, BlockResult]]:
    """Check blocks in this process, and yield each block with its result."""
    defaults: Mapping[str, object] = {}
    for block in blocks:
        yield block, check_block(block, file, options, defaults)
        defaults = defaults_after_block(block, defaults)


def check_in_parallel(
    blocks: Iterable[Block], file: str, options: CheckOptions, jobs: int
) -> Generator[tuple[Block, BlockResult]]:
    """Check blocks in several processes, and yield each block with its result.

    The blocks are yielded in order. To limit the memory, each worker has at most `BLOCKS_PER_WORKER` pending blocks. If
    a worker dies, the pending blocks are checked in this process.
    """
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    defaults: Mapping[str, object] = {}
    pending: deque[tuple[Block, Callable[[], BlockResult], Callable[[], BlockResult]]] = deque()
    can_fork = hasattr(os, "fork") and sys.platform != "darwin"  # macOS libraries can crash after a fork
    jobs = min(jobs, 61)  # the maximum number of workers of `ProcessPoolExecutor` on Windows
    workers = ProcessPoolExecutor(jobs, get_context("fork" if can_fork else "spawn"), _init_worker)

    def submit(block: Block) -> None:
        result = check = partial(check_block, block, file, options, dict(defaults))
        with suppress(BrokenExecutor), block_signals_at_fork():
            result = workers.submit(check).result  # type: ignore[assignment]
        pending.append((block, check, result))

    def next_result() -> tuple[Block, BlockResult]:
        block, check, result = pending.popleft()
        try:
            return block, result()
        except BrokenExecutor:
            return block, check()

    try:
        for block in blocks:
            if len(pending) == BLOCKS_PER_WORKER * jobs:
                yield next_result()
            submit(block)
            defaults = defaults_after_block(block, defaults)
        while pending:
            yield next_result()
    finally:
        workers.shutdown(cancel_futures=True)


def _init_worker() -> None:
    """Ignore termination signals, and exit when the parent process exits."""
    ignore_termination()
    Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def format_summary(counts: Mapping[CheckVerdict, int]) -> str:
    """Format the counts of the verdicts as one line.

    >>> format_summary({CheckVerdict.PASSED: 1200, CheckVerdict.FAILED: 1})
    '1,200 passed, 1 failed'
    """
    parts = [f"{count:,} {verdict.value}" for verdict, count in counts.items() if count]
    return ", ".join(parts) or "no cases (what is one: shapecalc help cases)"
