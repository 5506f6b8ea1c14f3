"""Read tables of cases, one per line: `reshape N,4 2,6 => 2,6 when N == 3  # source`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shapecalc.core.requests import make_request
from shapecalc.core.text import shape_text, split_outside_brackets
from shapecalc.reading.commands import parse_chain, parse_stage
from shapecalc.reasoning.answers import answer_chain, answer_request

FOLDER = Path(__file__).parent
NAMES = ("seeds", "ops", "paddle", "mxnet", "tensorflow", "jax", "tflite", "coreml", "caffe")
"""The tables that cover every rule together."""


@dataclass(frozen=True)
class Case:
    """One line of a table: a request and its expected answer or refusal."""

    request: str
    expected: str
    location: str

    def __str__(self):
        return f"{self.location} {self.request}"

    def answer(self):
        """Answer the request."""
        return answered(self.request)


def answered(line):
    """Answer a request or chain as typed, with its hint."""
    if "|" in line:
        return answer_chain(*parse_chain(line), {})
    stage = parse_stage(split_outside_brackets(line), with_input=True)
    return answer_request(make_request(stage.op, stage.input, stage.options))


def describe_answer(answer):
    """Return an answer in the notation of the tables."""
    if answer.problem:
        return f"error {answer.problem.rule}"
    conditions = ", ".join(sorted(map(str, answer.conditions)))
    assumptions = f" assuming {','.join(answer.assumes)}" if answer.assumes else ""
    results = " and ".join([f"{name} == {size}" for name, size in answer.results.items()])
    conditions_text = f" when {conditions}" * bool(conditions) + assumptions + f" with {results}" * bool(results)
    return shape_text(answer.output) + conditions_text


def cases(name):
    """Return the cases of one table."""
    lines = (FOLDER / f"{name}.txt").read_text("ascii").splitlines()
    return [
        _case(line, f"{name}.txt:{number}") for number, line in enumerate(lines, 1) if "=>" in line.partition("#")[0]
    ]


def _case(line, location):
    request, _, expected = line.partition("#")[0].partition("=>")
    return Case(request.strip(), expected.strip(), location)


def parts(path, sign="# "):
    """Yield the parts of a text with their titles. A line `# TITLE` begins a part; the first part has no title."""
    title, lines = "", []
    for line in [*path.read_text("utf-8").splitlines(), sign]:
        if line.startswith(sign):
            yield title, lines
            title, lines = line.removeprefix(sign), []
        else:
            lines.append(line)


def rows(table, title):
    """Return the rows under a title of a table, as tuples of the columns between `=>`.

    Backslash escapes are those of Python.
    """
    lines = [line for name, lines in parts(FOLDER / f"{table}.txt") if name == title for line in lines if line.strip()]
    return [tuple(_unescaped(column.strip()) for column in f" {line} ".split(" => ")) for line in lines]


def _unescaped(text):
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" in text else text
