"""`Trace`: one request and everything that follows from it, and the runner that makes it.

A trace is the one value that the command line's text, `--json`, the pictures and the engine are made from.
"""

from __future__ import annotations

from functools import cached_property

from shapecalc.core.conditions import Conditions, Never, combined, holds, under
from shapecalc.core.dims import Monomial, Shape, all_known, names, substitute
from shapecalc.core.problem import Problem, ShapeError, refusal
from shapecalc.core.record import Record
from shapecalc.core.sentences import SENTENCES
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Any, TypeAlias

    from shapecalc.core.request import Request


class Permute(Record):
    """Move axes: output axis i is input axis `axes[i]`."""

    axes: tuple[int, ...]


class Reshape(Record):
    """Keep the elements in order and cut them into `shape`."""

    shape: Shape


class Expand(Record):
    """Repeat the elements along axes of size one until the tensor has `shape`."""

    shape: Shape


class Slice(Record):
    """Return the dims from `start` to `end` as a vector of int64."""

    start: int
    end: int


Move = Permute | Reshape | Expand | Slice


class Step(Record):
    """One reason: what was settled, from what, and why."""

    stage: str
    rule: str
    """The rule's id, a key of `catalogue.RULES`."""
    out: int | None
    """The output dim of the stage that this step settles."""
    sources: tuple[int, ...]
    """The input dims of the stage that it comes from."""
    value: Any
    """The dim that is settled; for the last step of a stage, its whole shape."""
    facts: tuple[Any, ...] = ()
    """What the sentence needs beyond the fields above."""
    move: Move | None = None
    """For the last step of a stage: what is to be done to the data."""
    conditions: Conditions = ()

    @property
    def why(self) -> str:
        """The step's sentence."""
        return SENTENCES[self.rule](self)

    def as_json(self) -> dict[str, object]:
        """Return the step as the JSON object that the command line documents."""
        return {
            "stage": self.stage,
            "rule": self.rule,
            "out": self.out,
            "from": list(self.sources),
            "value": plain(self.value),
            "why": self.why,
        }


if TYPE_CHECKING:
    Steps: TypeAlias = Generator[Step, None, Shape]
    """An op: it yields its reasons and returns its answer."""


class Trace(Record):
    """A request, the steps that answer it, and the answer or the problem that stopped it."""

    request: Request
    version: int | None
    options: Mapping[str, object]
    steps: tuple[Step, ...]
    output: Shape | None
    problem: Problem | None = None
    conditions: Conditions = ()
    assumes: tuple[str, ...] = ()
    """The names whose being 0 would change the answer."""

    def __str__(self) -> str:
        return _said(self)

    @property
    def op(self) -> str:
        """The operation asked for: `reshape`, `shuffle` ..."""
        return self.request.op

    @property
    def dialect(self) -> str:
        """The name of the dialect whose rules were applied."""
        return self.request.dialect

    @cached_property
    def input(self) -> Shape:
        """The shape of the input tensor."""
        return self.request.input

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """What is to be done to the data, in order."""
        return tuple(step.move for step in self.steps if step.move)

    @cached_property
    def concrete(self) -> bool:
        """Whether there is an output, and every dim has a number."""
        return self.output is not None and all_known(self.input + self.output)

    @property
    def stages(self) -> tuple[Trace, ...]:
        """The trace itself: a request of one op is a chain of one."""
        return (self,)

    def as_json(self) -> dict[str, object]:
        """Return the trace as the JSON object that the command line documents."""
        return {
            "op": self.op,
            "dialect": self.dialect,
            "version": self.version,
            "options": dict(self.options),
            "request": {name: plain(value) for name, value in self.request.arguments.items()},
            "input": plain(self.input),
            "output": plain(self.output),
            **_judgement(self),
            "steps": [step.as_json() for step in self.steps],
            "problem": self.problem and self.problem.as_json(),
        }


class Chain(Record):
    """Several requests, each on the output of the one before."""

    input: Shape
    stages: tuple[Trace, ...]
    output: Shape | None
    problem: Problem | None = None
    conditions: Conditions = ()
    assumes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _said(self)

    @property
    def op(self) -> str:
        """What a chain is called where ops are named."""
        return "chain"

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """What is to be done to the data, in order."""
        return tuple(move for stage in self.stages for move in stage.moves)

    @cached_property
    def concrete(self) -> bool:
        """Whether there is an output, and every dim has a number."""
        return self.output is not None and all_known(self.input + self.output)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of every stage, in order."""
        return tuple(step for stage in self.stages for step in stage.steps)

    def as_json(self) -> dict[str, object]:
        """Return the chain as the JSON object that the command line documents."""
        return {
            "op": self.op,
            "input": plain(self.input),
            "stages": [stage.as_json() for stage in self.stages],
            "output": plain(self.output),
            **_judgement(self),
            "problem": self.problem and self.problem.as_json(),
        }


def run(
    request: Request, version: int | None, options: Mapping[str, object], given: tuple[Step, ...], steps: Steps
) -> Trace:
    """Return the trace of an op: the steps `given` before it, its own as far as it gets, its answer or problem."""
    done = list(given)
    try:
        while True:
            done.append(next(steps))
    except StopIteration as answer:
        output: Shape = answer.value
    except ShapeError as error:
        return Trace(request, version, options, tuple(done), None, error.problem)
    conditions: Conditions = ()
    for step in done:
        conditions += step.conditions
    try:
        return Trace(request, version, options, tuple(done), output, None, conditions and combined(conditions))
    except Never:
        return Trace(request, version, options, tuple(done), None, contradiction(conditions).problem)


def contradiction(conditions: Conditions) -> ShapeError:
    """Return the error for conditions that no sizes can meet together."""
    listed = " and ".join(dict.fromkeys(map(str, conditions)))
    return refusal("contradiction", f"no sizes meet {listed} at once", argument="input")


def zero_sensitive(
    answer: Trace | Chain, dims: Shape, again: Callable[[Mapping[str, int]], Trace | Chain]
) -> tuple[str, ...]:
    """Return the names in `dims` whose being 0 would change `answer`, by asking again with 0 put in."""
    return tuple(sorted(name for name in names(dims) if _changed(answer, again({name: 0}), {name: 0})))


def _changed(answer: Trace | Chain, at_zero: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    if not holds(answer.conditions, sizes) or answer.output is None:
        return at_zero.output is not None
    try:
        expected = tuple(substitute(dim, sizes) for dim in answer.output)
        left = combined(simpler for condition in answer.conditions for simpler in under(condition, sizes))
    except ZeroDivisionError:
        return True
    return at_zero.output != expected or set(at_zero.conditions) != set(left)


def _said(answer: Trace | Chain) -> str:
    """Return an answer in one line: the output shape with its conditions, or the problem."""
    if answer.output is None:
        return str(answer.problem and ShapeError(answer.problem))
    conditions = " and ".join(map(str, answer.conditions))
    return shape_text(answer.output) + (f" when {conditions}" if conditions else "")


def _judgement(answer: Trace | Chain) -> dict[str, object]:
    return {"conditions": [str(condition) for condition in answer.conditions], "assumes": list(answer.assumes)}


def plain(value: object) -> object:
    """Return a dim, a shape or an argument for JSON: unknown dims are strings, shapes are lists.

    >>> from shapecalc.core.dims import named
    >>> plain((2, named("N"), -1)), plain(None)
    ([2, 'N', -1], None)
    """
    if isinstance(value, Monomial):
        return str(value)
    return [plain(part) for part in value] if isinstance(value, tuple) else value
