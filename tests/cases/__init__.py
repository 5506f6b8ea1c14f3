"""Tables of cases as text, one a line: `reshape N,4 2,6 => 2,6 when N == 3  # where it comes from`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shapecalc.core.requests import make_request
from shapecalc.core.text import shape_text, split_unbracketed
from shapecalc.reading.commands import read_chain, read_stage
from shapecalc.reasoning.fixing import answer_chain, answer_request

FOLDER = Path(__file__).parent
NAMES = ("seeds", "ops", "paddle", "mxnet", "tensorflow", "jax", "tflite", "coreml", "caffe")
"""The tables that hold every rule."""


@dataclass(frozen=True)
class Case:
    """One line of a table: a request, and the answer or the refusal it must have."""

    request: str
    expected: str
    place: str

    def __str__(self):
        return f"{self.place} {self.request}"

    def answer(self):
        """Return the answer to the request of the line."""
        return answered(self.request)


def answered(line):
    """Return the answer to a request or a chain as it is typed, with its hint."""
    if "|" in line:
        return answer_chain(*read_chain(line), {})
    stage = read_stage(split_unbracketed(line), with_input=True)
    return answer_request(make_request(stage.op, stage.input, stage.options))


def described(answer):
    """Return an answer as the tables write it."""
    if answer.problem:
        return f"error {answer.problem.rule}"
    conditions = ", ".join(sorted(map(str, answer.conditions)))
    assumed = f" assuming {','.join(answer.assumes)}" if answer.assumes else ""
    results = " and ".join([f"{name} == {each}" for name, each in answer.results.items()])
    stated = f" when {conditions}" * bool(conditions) + assumed + f" with {results}" * bool(results)
    return shape_text(answer.output) + stated


def cases(name):
    """Return the cases of one table."""
    lines = (FOLDER / f"{name}.txt").read_text("ascii").splitlines()
    return [_case(line, f"{name}.txt:{place}") for place, line in enumerate(lines, 1) if "=>" in line.partition("#")[0]]


def _case(line, place):
    request, _, expected = line.partition("#")[0].partition("=>")
    return Case(request.strip(), expected.strip(), place)


def parts(path, sign="# "):
    """Yield the parts of a text, each with its title: a line `# TITLE` begins one, what stands before has none."""
    title, lines = "", []
    for line in [*path.read_text("utf-8").splitlines(), sign]:
        if line.startswith(sign):
            yield title, lines
            title, lines = line.removeprefix(sign), []
        else:
            lines.append(line)


def rows(table, title):
    """Return the rows under a title of a table, each with its columns, which `=>` separates.

    What a backslash begins is written as in Python.
    """
    found = [line for name, lines in parts(FOLDER / f"{table}.txt") if name == title for line in lines if line.strip()]
    return [tuple(_unescaped(column.strip()) for column in f" {line} ".split(" => ")) for line in found]


def _unescaped(text):
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" in text else text
