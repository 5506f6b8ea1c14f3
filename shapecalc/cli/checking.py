"""Checks of many cases: lines are read in blocks, judged on several cores, and reported."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from io import BufferedIOBase, UnsupportedOperation
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from shapecalc.cli.output import BOM, Exit, put
from shapecalc.core import cases
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.cases import Case, Expectation
from shapecalc.core.dims import plain
from shapecalc.core.limits import LONGEST_LINE
from shapecalc.core.problem import USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, shape_text, visible
from shapecalc.engine.processes import Endings, child_starting, leave_to_parent
from shapecalc.engine.whole_files import report_file, whole_file

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


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
    line, rest, torn = 1, b"", False
    while data := stream.read1(BLOCK):
        if len(rest) + (data.find(b"\n") + 1 or len(data)) > LONGEST_LINE:
            yield Block(rest, line, torn=True)
            rest, torn = b"", True
        if torn:
            end = data.find(b"\n") + 1
            yield Block(data[: end or len(data)], line, torn=True, first=False)
            if not end:
                continue
            data, line, torn = data[end:], line + 1, False
        whole = data.rfind(b"\n") + 1
        if not whole:
            rest += data
            continue
        lines = rest + data[:whole]
        yield Block(lines, line)
        line, rest = line + lines.count(b"\n"), data[whole:]
    if rest:
        yield Block(rest, line)


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
        message = "" if passed or not case.expected else _difference(case.expected, answer)
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


def _difference(expected: Expectation, answer: Trace | Chain) -> str:
    """Return what was expected, what was got, and why in one line."""
    if expected.same_as is not None and answer.problem is None:
        verdict = cases.verdict_on(expected.same_as, expected.options, answer)
        return f"expected {brief_end(str(expected))}, got {verdict}"
    wrong = cases.wrong_output(expected, answer) if answer.output is not None else None
    if wrong is not None and wrong.by_pattern:
        return wrong.text
    named = answer.conditions and (
        expected.conditions is not None or str(expected.output) == shape_text(answer.output or ())
    )
    got = cases.answer_text(answer, conditions=bool(named))
    return f"expected {brief_end(str(expected))}, got {brief_end(got)}{_reason(expected, answer)}"


def _reason(expected: Expectation, answer: Trace | Chain) -> str:
    """Return why the first dim that differs is what it is, or why the case is refused."""
    if answer.problem:
        return f" ({answer.problem.message}" + (f"; {answer.problem.hint})" if answer.problem.hint else ")")
    if expected.output is None or answer.output is None:
        return ""
    wanted = str(expected.output).split(",")
    differing = [out for out, dim in enumerate(answer.output) if wanted[out : out + 1] != [str(dim)]]
    steps = answer.traces[-1].steps
    why = [step.why for step in steps if step.out is not None and step.out in differing[:1]]
    return f" ({why[-1]})" if why else ""


def brief_end(text: str, most: int = 200) -> str:
    """Return `text`, cut if it is too long: a message repeats so much of a shape."""
    return text if len(text) <= most else f"{text[:most]}..."


def xml(text: str) -> str:
    """Return text as it stands in an XML attribute.

    >>> xml('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return visible(text)


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
        problem = LONGEST_LINE.passed("a line is longer").problem
        judge.add(unread_row(block.line, "", problem))
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
        self.stopped, self.readable = False, True

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
        try:
            _check_bytes(whole)
        except ShapeError:
            self.readable = False
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
            if not self.readable:
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
# Each worker has a block and the next one; results are taken in turn, so memory is bounded and the order is that of
# the lines. If a worker dies, its blocks are judged here.


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
    defaults: Mapping[str, object] = {}
    with _start_workers(jobs, file, style) as idle:
        busy: deque[tuple[Connection, Block, Mapping[str, object]]] = deque()
        for block in blocks:
            asked = None if idle else busy.popleft()
            worker = asked[0] if asked else idle.pop()
            result = _take_result(*asked, file, style) if asked else None
            try:
                worker.send((block, dict(defaults)))
            except OSError:  # the worker has died; its result will be missing, too
                worker.close()
            busy.append((worker, block, defaults))
            if asked and result:
                yield asked[1], result
            defaults = defaults_after(block, defaults)
        for each in busy:
            yield each[1], _take_result(*each, file, style)


def _take_result(
    worker: Connection, block: Block, defaults: Mapping[str, object], file: str, style: Style
) -> BlockResult:
    """Return what a worker made of its block; judge the block here if the worker has died."""
    try:
        result: BlockResult = worker.recv()
    except (EOFError, OSError):
        result = judge_block(block, file, style, defaults)
    return result


@contextmanager
def _start_workers(jobs: int, file: str, style: Style) -> Iterator[list[Connection]]:
    """Yield the connections to `jobs` new processes, each as often as it has blocks; none lives longer than this."""
    import multiprocessing

    forks = hasattr(os, "fork") and sys.platform != "darwin"  # there, libraries do not survive it
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    processes: list[BaseProcess] = []
    ends: list[Connection] = []
    try:
        for _ in range(jobs):
            here, there = context.Pipe()
            process = context.Process(
                target=_work, args=(there, [*ends, here] if forks else [], file, style), daemon=True
            )
            with child_starting():
                process.start()
            there.close()
            processes.append(process)
            ends.append(here)
        yield ends * AHEAD
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work(connection: Connection, others: list[Connection], file: str, style: Style) -> None:
    """Judge blocks until there are no more, or until one cannot be judged, which the parent then finds itself.

    The parent's ends are closed, so that its death is an end, too.
    """
    leave_to_parent()
    for other in others:
        other.close()
    blocks: SimpleQueue[tuple[Block, Mapping[str, object]] | None] = SimpleQueue()
    Thread(target=_receive, args=(connection, blocks), daemon=True).start()
    with suppress(Exception):
        while asked := blocks.get():
            connection.send(judge_block(asked[0], file, style, asked[1]))


def _receive(connection: Connection, blocks: SimpleQueue[tuple[Block, Mapping[str, object]] | None]) -> None:
    """Take the blocks that a worker is given, while it judges another one; None when there are no more."""
    with suppress(EOFError, OSError):
        while True:
            blocks.put(connection.recv())
    blocks.put(None)


# What a run writes besides its lines: the summary, progress, JUnit's file, files anew.


CODES = {Verdict.FAILED: Exit.NO, Verdict.UNREAD: Exit.USAGE, Verdict.UNRESOLVED: Exit.UNRESOLVED}
FIRST_PROGRESS, NEXT_PROGRESS = 1.0, 0.2
"""Seconds before progress is told, and from one telling to the next."""


def worst_code(counts: Mapping[Verdict, int]) -> int:
    """Return the exit code of all lines together: the largest of theirs."""
    return max((CODES[verdict] for verdict, count in counts.items() if count and verdict in CODES), default=Exit.YES)


def summary(counts: Mapping[Verdict, int]) -> str:
    """Return what all lines came to, in one line.

    >>> summary({Verdict.PASSED: 1200, Verdict.FAILED: 1})
    '1,200 passed, 1 failed'
    """
    said = [f"{count:,} {verdict.value}" for verdict, count in counts.items() if count]
    return ", ".join(said) or "no cases"


class Progress:
    """How far a long run is, told on a terminal on which nothing else is written."""

    def __init__(self, *, wanted: bool) -> None:
        """Begin to count; the first second says nothing."""
        alone = not (sys.stdout and sys.stdout.isatty())
        self._shows = wanted and alone and sys.stderr is not None and sys.stderr.isatty()
        self._next, self._shown = monotonic() + FIRST_PROGRESS, False

    def tell(self, counts: Mapping[Verdict, int]) -> None:
        """Write the counts over those written before, if it is time to."""
        if self._shows and monotonic() >= self._next:
            self._next, self._shown = monotonic() + NEXT_PROGRESS, True
            self._write(f"\r\x1b[K{f'shapecalc: {summary(counts)} ...'[: shutil.get_terminal_size().columns - 1]}")

    def clear(self) -> None:
        """Take the counts away again."""
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


class WholeLines(Endings):
    """Writing that an interrupt does not cut: it waits for the lines at hand, a second one does not."""

    _writing = _waiting = False

    def put(self, lines: str) -> None:
        """Write lines to stdout; raise `RunEnded` if that fails."""
        if not lines:
            return
        self._writing = True
        try:
            put(lines.removesuffix("\n"))
        finally:
            self._writing = False
        if self._waiting:
            self.asked = True
            raise KeyboardInterrupt

    def end(self, number: int, frame: object) -> None:
        """Take a signal."""
        if self._writing and not self._waiting:
            self._waiting = True
        else:
            super().end(number, frame)


@contextmanager
def junit_file(path: str | None, counts: Mapping[Verdict, int], command: str = "check") -> Iterator[IO[str] | None]:
    """Yield what takes the test cases as XML; at the end the file holds all of them, or is not there.

    Raises `OSError` if it cannot be written.
    """
    if path is None:
        yield None
        return
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
    before = _state(path)

    def wanted() -> bool:
        if changed() and _state(path) != before:
            raise OSError(0, "another program has changed it in the meantime")
        return changed()

    with whole_file(path, force=True, wanted=wanted) as file:
        yield file


def _state(path: Path) -> tuple[int, ...]:
    """Return what tells a file from what it was before."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
