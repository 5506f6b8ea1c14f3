"""Tables of cases as text, one a line: `reshape N,4 2,6 => 2,6 when N == 3  # where it comes from`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shapecalc.core.ask import ask
from shapecalc.core.commands import read_chain, read_stage
from shapecalc.core.fixing import answer, answer_chain
from shapecalc.core.text import shape_text, split
from shapecalc.core.values import read_sizes

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
        if "|" in self.request:
            return answer_chain(*read_chain(self.request), {})
        stage = read_stage(split(self.request), with_input=True)
        return answer(ask(stage.op, stage.input, stage.options))

    def check(self):
        """Fail unless the answer is what the line says."""
        assert described(self.answer()) == self.expected, self.place


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
    lines = (Path(__file__).parent / f"{name}.txt").read_text("ascii").splitlines()
    return [_case(line, f"{name}.txt:{place}") for place, line in enumerate(lines, 1) if "=>" in line.partition("#")[0]]


def _case(line, place):
    request, _, expected = line.partition("#")[0].partition("=>")
    return Case(request.strip(), expected.strip(), place)


__all__ = ["Case", "cases", "described", "read_sizes"]
