"""Reports: what is written about each line, as text, as JSON, as annotations and as JUnit's XML."""

from __future__ import annotations

import json
from enum import StrEnum

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.cases import Expectation, answer_text, request_text, verdict_on, wrong_output
from shapecalc.core.dims import plain
from shapecalc.core.problem import Problem
from shapecalc.core.record import Record
from shapecalc.core.text import brief, shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.cases import Case


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


class Report:
    """What is written about the lines of a block, in their order."""

    def __init__(self, file: str, style: Style) -> None:
        """Begin without lines."""
        self.file, self.style = file, style
        self.stopped = False
        self._counts = dict.fromkeys(Verdict, 0)
        self._lines: list[str] = []
        self._cases: list[str] = []

    def shown(self) -> str:
        """Return what is to be written on stdout."""
        return "" if self.style.quiet else "".join(self._lines)

    def counts(self) -> dict[Verdict, int]:
        """Return how many lines came to each verdict."""
        return self._counts

    def junit(self) -> str:
        """Return the test cases as XML."""
        return "".join(self._cases)

    def add_answer(self, number: int, text: str, case: Case, answer: Trace | Chain, *, passed: bool | None) -> None:
        """Report a case by its answer."""
        doubtful = passed is None and self.style.strict and bool(answer.conditions)
        if passed is not None:
            verdict = Verdict.PASSED if passed else Verdict.FAILED
        elif answer.problem:
            verdict = Verdict.UNRESOLVED
        else:
            verdict = Verdict.FAILED if doubtful else Verdict.ANSWERED
        if self.style.json:
            self._json_of_line(number, case.id, answer, answer.problem, passed)
        elif passed is None and answer.output is not None:
            self._lines.append(f"{answer_text(answer)}\n")
        if answer.problem and passed is None:
            message = str(answer.problem)
        elif passed is False and case.expected:
            message = _difference(case.expected, answer)
        else:
            message = f"{answer_text(answer)} holds only under conditions" if doubtful else ""
        self._count(number, text, case.id, verdict, message)

    def add_misuse(self, number: int, text: str, case: Case, problem: Problem) -> None:
        """Report a question that cannot be read, as was expected of it."""
        self._json_of_problem(number, case.id, problem, passed=True)
        self._count(number, text, case.id, Verdict.PASSED, "")

    def add_unread(self, number: int, text: str, problem: Problem, name: object = None) -> None:
        """Report a line that could not be read."""
        self._json_of_problem(number, name, problem, passed=None)
        self._count(number, text, name, Verdict.UNREAD, str(problem))

    def add_updated(self, number: int, text: str, case: Case, answer: Trace | Chain) -> None:
        """Report a case whose expectation is rewritten, since it was not met."""
        if self.style.json:
            self._json_of_line(number, case.id, answer, answer.problem, passed=False)
        self._count(number, text, case.id, Verdict.UPDATED, "")

    def _json_of_problem(self, number: int, name: object, problem: Problem, *, passed: bool | None) -> None:
        if self.style.json:
            self._json_of_line(number, name, None, problem, passed)

    def _json_of_line(
        self, number: int, name: object, answer: Trace | Chain | None, problem: Problem | None, passed: bool | None
    ) -> None:
        shown = {"id": name, "file": self.file, "line": number, "ok": problem is None, "passed": passed}
        shown |= {"output": plain(answer.output) if answer else None}
        shown |= {"conditions": [str(condition) for condition in answer.conditions] if answer else []}
        shown |= {"assumes": list(answer.assumes) if answer else [], "problem": problem and problem.as_json()}
        self._lines.append(f"{json.dumps(shown)}\n")

    def _count(self, number: int, text: str, name: object, verdict: Verdict, message: str) -> None:
        """Count a line; say what is wrong with it, if something is."""
        self._counts[verdict] += 1
        self.stopped = self.style.fail_fast and bool(message)
        if message and not self.style.json:
            annotated = self.style.github
            line = annotation(self.file, message, number) if annotated else self._message_line(number, message)
            self._lines.append(f"{line}\n")
        if self.style.junit:
            title = brief(request_text(text)) if name is None else str(name)
            self._add_testcase(number, title, message, failed=verdict is Verdict.FAILED)

    def _message_line(self, number: int, message: str) -> str:
        """Return the line that tells a message. GitHub obeys lines that begin with `::`, so no file's name does."""
        here = "./" if self.file.lstrip().startswith("::") else ""
        return visible(f"{here}{self.file}:{number}: {message}")

    def _add_testcase(self, number: int, title: str, message: str = "", *, failed: bool = False) -> None:
        name = f"line {number}: {title}" if title else f"line {number}"
        self._cases.append(testcase(self.file, name, message, failed=failed))


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
        verdict = verdict_on(expected.same_as, expected.options, answer)
        return f"expected {brief_end(str(expected))}, got {verdict}"
    wrong = wrong_output(expected, answer) if answer.output is not None else None
    if wrong is not None and wrong.by_pattern:
        return wrong.text
    named = answer.conditions and (
        expected.conditions is not None or str(expected.output) == shape_text(answer.output or ())
    )
    got = answer_text(answer, conditions=bool(named))
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


def brief_end(text: str) -> str:
    """Return `text`, cut if it is too long for one line."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


LONGEST = 200
"""How much of a shape a message repeats."""


def xml(text: str) -> str:
    """Return text as it stands in an XML attribute.

    >>> xml('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return visible(text)
