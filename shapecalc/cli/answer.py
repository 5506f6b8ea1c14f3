"""How an answer is printed, and which exit code it has."""

from __future__ import annotations

import sys

from shapecalc.cli.data import check, followings, tell_elements, tell_plan, write
from shapecalc.cli.options import Output
from shapecalc.cli.output import Exit, failed, put, report, show, story_width, tell
from shapecalc.core.problem import FILE, USAGE, ShapeError, misuse
from shapecalc.core.request import default_dialect
from shapecalc.core.text import read_dims, shape_text
from shapecalc.core.trace import Chain, Trace
from shapecalc.core.words import command_pieces, texts_of
from shapecalc.view.code import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.problem import Problem
    from shapecalc.engine.files import Source
    from shapecalc.view.code import Code

LONGEST_INPUT = 1 << 20
"""How many characters are read from standard input for one shape."""


def finished(answer: Trace | Chain, out: Output, source: Source | None = None) -> Exit:
    """Carry an answer out and print it as the options ask; return its exit code."""
    check(answer, out, source)
    expected = None if out.expect is None else shape_text(read_dims(out.expect, "expect"))
    coded = written_code(answer, out)
    code = verdict(answer, expected, strict=out.strict)
    if code is Exit.YES and out.out is not None and source is not None:
        write(answer, source, out)
    if out.quiet:
        return code
    if out.json:
        put_json(answer.as_json() | followings(answer, out) | ({"code": coded._asdict()} if coded else {}))
        return code
    if out.explain:
        _explain(answer)
        tell_plan(answer, source, out)
    if answer.output is None:
        _report(answer)
        return code
    tell_elements(answer, source, out)
    put(coded.text if coded else shape_text(answer.output))
    for warning in coded.warnings if coded else ():
        tell(f"shapecalc: {warning}")
    if not out.explain and not coded:
        for condition in answer.conditions:
            tell(f"shapecalc: holds when {condition.words}")
    if expected not in (None, shape_text(answer.output)):
        tell(f"shapecalc: expected {expected}, got {shape_text(answer.output)}")
    return code


def _explain(answer: Trace | Chain) -> None:
    """Tell the pictures of an answer, then every step in words."""
    from shapecalc.view.pictures import explained
    from shapecalc.view.steps import steps_text
    from shapecalc.view.strokes import strokes_for

    show(explained(answer, width=story_width(), strokes=strokes_for(getattr(sys.stderr, "encoding", None))))
    tell("")
    show(steps_text(answer))


def verdict(answer: Trace | Chain, expected: str | None, *, strict: bool) -> Exit:
    """Return the exit code of an answer: the largest of those that apply."""
    if answer.output is None:
        return Exit.UNRESOLVED
    differs = expected is not None and expected != shape_text(answer.output)
    return Exit.NO if differs or (strict and answer.conditions) else Exit.YES


def written_code(answer: Trace | Chain, out: Output) -> Code | None:
    """Return the code that is asked for in place of the answer, where both are there."""
    if out.code is None:
        return None
    write_code = writer(out.code)
    return None if answer.output is None else write_code(answer)


def _report(answer: Trace | Chain) -> None:
    """Tell the problem under the command line of the stage that has it."""
    stage = answer.stages[-1]
    if answer.problem:
        report(answer.problem, command_pieces(stage.op, texts_of(stage.request)))


def refused(error: ShapeError, op: str, texts: dict[str, object], out: Output) -> Exit:
    """Tell that a question cannot be read and return the exit code for it."""
    if out.json and not out.quiet:
        put_json(unread_json(error.problem, op, texts))
    elif not out.quiet:
        report(error.problem, command_pieces(op, {**texts, "expect": out.expect}))
    return {USAGE: Exit.USAGE, FILE: Exit.FILE}.get(error.problem.rule, Exit.UNRESOLVED)


def put_json(value: object) -> None:
    """Write a value to stdout as one line of JSON."""
    import json

    put(json.dumps(value))


def unread_json(problem: Problem, op: str, texts: dict[str, object]) -> dict[str, object]:
    """Return the JSON object of a question that could not be read, with the fields of those that could."""
    found: dict[str, object] = {"op": op, "input": None, "conditions": [], "assumes": [], "output": None}
    if op == "chain":
        found |= {"stages": []}
    elif op == "compare":
        found = {"op": op, "input": None, "request": {}, "agree": None, "rows": []}
    else:
        found |= {
            "dialect": texts.get("dialect") or default_dialect(op),
            "version": None,
            "options": {},
            "request": {},
            "steps": [],
        }
    return found | {"problem": problem.as_json()}


def input_text(text: str) -> str:
    """Return an input shape as it was typed, or the one line of standard input where it is `-`.

    Raises `ShapeError` (usage) where that is no one line, `RunEnded` where it cannot be read.
    """
    if text.strip() != "-":
        return unpadded(text)
    if sys.stdin is None:
        raise failed("stdin", "it is closed")
    if sys.stdin.isatty():
        tell("shapecalc: reading a shape from the terminal; end it with a new line")
        return sys.stdin.readline().strip()
    try:
        raw = sys.stdin.buffer.read(LONGEST_INPUT + 1)
    except OSError as error:
        raise failed("stdin", error.strerror) from None
    if len(raw) > LONGEST_INPUT:
        raise misuse(f"standard input holds more than {LONGEST_INPUT} bytes, which is no shape", argument="input")
    lines = [line for line in raw.decode("utf-8", "surrogateescape").splitlines() if line.strip()]
    if len(lines) != 1:
        what = "nothing" if not lines else f"{len(lines)} lines"
        raise misuse(
            f"standard input holds {what}, and one shape was expected",
            "many cases: shapecalc check -",
            argument="input",
        )
    return lines[0].strip()


def unpadded(text: str) -> str:
    """Return a value without the blank that kept it from being taken for an option."""
    return text[1:] if text[:2] == " -" else text


def read_texts(given: dict[str, object]) -> dict[str, object]:
    """Return a command's arguments by name, as texts and switches, without those left out."""
    return {
        name: unpadded(value) if isinstance(value, str) else value for name, value in given.items() if value is not None
    }
