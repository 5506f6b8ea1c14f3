"""The judge: lines in, and what is to be written about them out."""

from __future__ import annotations

from shapecalc.cli.checking.lines import LONGEST_LINE, Block
from shapecalc.cli.checking.reports import Report, Style, Verdict
from shapecalc.cli.inputs import BOM
from shapecalc.core.cases import (
    DEFAULT,
    Case,
    case_of,
    is_object,
    met,
    read_case,
    read_default,
    read_object,
    rewritten,
)
from shapecalc.core.problem import USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


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
    report = Report(file, style)
    if block.torn:
        if block.first:
            report.add_unread(block.line, "", _too_long())
        return BlockResult(report.shown(), report.junit(), report.counts(), None, report.stopped)
    changed = _Judge(report, style, defaults).judge_lines(_text(block), block.line)
    data = None if changed is None else _bom(block) + changed.encode("utf-8", "surrogateescape")
    return BlockResult(report.shown(), report.junit(), report.counts(), data, report.stopped)


def defaults_after(block: Block, defaults: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults in force after a block, given those at its start."""
    if block.torn or DEFAULT.encode() not in block.data:
        return defaults
    for text in _text(block).split("\n"):
        if _is_default(text.strip(BLANK)):
            defaults = _defaults_below(text.strip(BLANK), defaults)
    return defaults


def _text(block: Block) -> str:
    """Return the text of a block; bytes that are not UTF-8 are kept as surrogates."""
    return block.data[len(_bom(block)) :].decode("utf-8", "surrogateescape")


def _bom(block: Block) -> bytes:
    return BOM if block.line == 1 and block.data.startswith(BOM) else b""


def _is_default(text: str) -> bool:
    return text.startswith(DEFAULT) and text[len(DEFAULT) :][:1] in ("", " ", "\t", "#")


def _defaults_below(text: str, defaults: Mapping[str, object]) -> Mapping[str, object]:
    try:
        return read_default(text, defaults)
    except ShapeError:
        return defaults


def _too_long() -> Problem:
    return misuse(f"a line is longer than {LONGEST_LINE} bytes, which is the limit").problem


class _Judge:
    """The lines of one block, judged in turn."""

    def __init__(self, report: Report, style: Style, defaults: Mapping[str, object]) -> None:
        self.report, self.style, self.defaults = report, style, defaults
        self.changed: dict[int, str] = {}

    def judge_lines(self, whole: str, first: int) -> str | None:
        """Judge every line of a text; return the text with expectations rewritten, None if none were."""
        lines = whole.split("\n")
        self.readable = _is_utf8(whole)
        for number, line in enumerate(lines, first):
            text = line.strip(BLANK)
            if text and text[0] != "#":
                self._judge_line(number, text, line)
                if self.report.stopped:
                    break
        if not self.changed:
            return None
        for number, text in self.changed.items():
            lines[number - first] = text
        return "\n".join(lines)

    def _judge_line(self, number: int, text: str, line: str) -> None:
        """Judge a line that is neither blank nor a comment."""
        if text[0] == "@" and _is_default(text):
            try:
                self.defaults = read_default(text, self.defaults)
            except ShapeError as error:
                self.report.add_unread(number, text, error.problem)
            return
        name: object = None
        try:
            if not self.readable:
                _check_bytes(text)
            if is_object(text):
                given = read_object(text)
                name = given.get("id")
                case = case_of(given, self.defaults)
            else:
                case = read_case(text, self.defaults)
        except ShapeError as error:
            self.report.add_unread(number, text, error.problem, name)
            return
        try:
            self._judge_case(number, text, line, case)
        except RecursionError:
            self.report.add_unread(number, text, misuse("it is nested too deeply").problem, case.id)

    def _judge_case(self, number: int, text: str, line: str, case: Case) -> None:
        """Report a case by its whole answer."""
        expected, style = case.expected, self.style
        try:
            answer = case.answer(whole=style.json)
            passed = None if expected is None else met(expected, answer, strict=style.strict)
            if answer.problem and not passed and not style.json:
                answer = case.answer()
        except ShapeError as error:
            if error.problem.rule == USAGE and expected and expected.rule == USAGE:
                self.report.add_misuse(number, text, case, error.problem)
            else:
                self.report.add_unread(number, text, error.problem, case.id)
            return
        if passed is False and expected is not None and expected.same_as is None and style.update:
            self.changed[number] = rewritten(line, expected, answer, strict=style.strict)
            self.report.add_updated(number, text, case, answer)
            return
        self.report.add_answer(number, text, case, answer, passed=passed)


def _is_utf8(text: str) -> bool:
    try:
        _check_bytes(text)
    except ShapeError:
        return False
    return True


def _check_bytes(text: str) -> None:
    """Raise `ShapeError` (usage) for a line that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) & 0xFF
        raise misuse(f"it is not UTF-8: byte {byte:#04x} at character {error.start + 1}") from None
