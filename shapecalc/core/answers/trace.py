"""`Trace` and `Chain`: a request and everything that follows from it.

A trace is the one value that the command line, `--json`, the pictures and the engine read. Its output is known at
once. Its stages and steps are made when they are first read.
"""

from __future__ import annotations

from shapecalc.core.answers.stage import plain
from shapecalc.core.sizes.conditions import Conditions
from shapecalc.core.sizes.dims import Shape, all_known
from shapecalc.core.sizes.problem import Problem
from shapecalc.core.sizes.record import FrozenDict, Record
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ClassVar

    from shapecalc.core.answers.moves import Move
    from shapecalc.core.answers.request import Request
    from shapecalc.core.answers.stage import Stage, Step

    Stages = tuple[Stage, ...]
    Names = tuple[str, ...]


class Answer(Record):
    """What a `Trace` and a `Chain` have in common."""

    __slots__ = ("_assumes", "_concrete", "_moves")

    output: Shape | None
    """The shape of the result; None if the request is refused."""
    problem: Problem | None
    conditions: Conditions
    """What the named sizes must satisfy for the output to hold. Together they are necessary and sufficient."""
    shown_as: ClassVar[Callable[..., str]]
    """What shows an answer as a MIME type. The package sets it, since pictures are made on a floor above."""

    def __init__(
        self,
        output: Shape | None,
        problem: Problem | None,
        conditions: Conditions,
        assumes: Names | Callable[[], Names],
    ) -> None:
        """Set the fields. `assumes` may be a function, which is called when the field is first read."""
        self._output = output
        self._problem = problem
        self._conditions = conditions
        self._assumes = assumes
        self._moves: tuple[Move, ...] | None = None
        self._concrete: bool | None = None

    def __str__(self) -> str:
        if self.output is None:
            return str(self.problem)
        conditions = " and ".join(map(str, self.conditions))
        return shape_text(self.output) + (f" when {conditions}" if conditions else "")

    @property
    def input(self) -> Shape:
        """The shape of the input tensor."""
        raise TypeError(f"{type(self).__name__} has no input")

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The trace of each op in turn."""
        raise TypeError(f"{type(self).__name__} has no traces")

    @property
    def assumes(self) -> Names:
        """The names that must not be 0 for the answer to hold; they are found when they are first read."""
        if callable(self._assumes):
            self._assumes = self._assumes()
        return self._assumes

    @property
    def stages(self) -> Stages:
        """Every stage, in order, as far as the request got."""
        return tuple([stage for trace in self.traces for stage in trace.stages])

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of every stage, in order."""
        return tuple([step for trace in self.traces for step in trace.steps])

    @property
    def moves(self) -> tuple[Move, ...]:
        """What is to be done to the data, in order."""
        if self._moves is None:
            self._moves = tuple([stage.move for stage in self.stages if stage.move is not None])
        return self._moves

    @property
    def concrete(self) -> bool:
        """Whether there is an output, and every dim has a number."""
        if self._concrete is None:
            self._concrete = self.output is not None and all_known(self.input + self.output)
        return self._concrete

    def explain(self, *, everything: bool = False) -> None:
        """Print the flow of the answer, the picture that shows most, and every step; or every picture."""
        import sys

        encoding = getattr(sys.stdout, "encoding", None)
        print(type(self).shown_as(self, "text/plain", encoding, everything=everything))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the answer as a notebook shows it: a picture, and the same as text."""
        return {kind: type(self).shown_as(self, kind, "utf-8") for kind in ("image/svg+xml", "text/plain")}

    def _conditions_json(self) -> dict[str, object]:
        return {"conditions": [str(condition) for condition in self.conditions], "assumes": list(self.assumes)}


class Trace(Answer):
    """A request, the stages and steps that answer it, and the answer or the problem that stopped it."""

    __slots__ = ("_request", "_stages")

    version: int | None
    """The operator's version; None if operators of the dialect have no versions."""
    options: Mapping[str, object]
    """The settings in force, such as the switch, whether the request gave them or not."""
    given: tuple[Step, ...]
    """The steps that come before the op's own: what the request itself says of the sizes."""

    def __init__(
        self,
        request: Request | Callable[[], Request],
        version: int | None = None,
        options: Mapping[str, object] | None = None,
        stages: Stages | Callable[[], Stages] = (),
        output: Shape | None = None,
        problem: Problem | None = None,
        conditions: Conditions = (),
        assumes: Names | Callable[[], Names] = (),
        given: tuple[Step, ...] = (),
    ) -> None:
        """Set the fields. What may be a function is called when the field is first read."""
        self._output = output
        self._problem = problem
        self._conditions = conditions
        self._assumes = assumes
        self._moves = None
        self._concrete = None
        self._request = request
        self._version = version
        self._options = options if type(options) is FrozenDict else FrozenDict(options or {})
        self._stages = stages
        self._given = given

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) is True and self.request == other.request  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((Trace, self.request, self.output))

    @property
    def request(self) -> Request:
        """The question."""
        if callable(self._request):
            self._request = self._request()
        return self._request

    @property
    def input(self) -> Shape:
        """The shape of the input tensor."""
        return self.request.input

    @property
    def op(self) -> str:
        """The op asked for: `reshape`, `shuffle` ..."""
        return self.request.op

    @property
    def dialect(self) -> str:
        """The name of the dialect whose rules were applied."""
        return self.request.dialect

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The trace itself: a request of one op is a chain of one."""
        return (self,)

    @property
    def stages(self) -> Stages:
        """The stages of the op, in order, as far as the request got."""
        if callable(self._stages):
            self._stages = self._stages()
        return self._stages

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the request itself says of the sizes, and the steps of the op's stages, in order."""
        steps = self._given
        for stage in self.stages:
            steps += stage.steps
        return steps

    def with_problem(self, problem: Problem) -> Trace:
        """Return the trace with `problem` in place of its output."""
        stages, given = self.stages, self.given
        return Trace(self.request, self.version, self.options, stages, None, problem, (), (), given)

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
            **self._conditions_json(),
            "steps": [_step_json("input", step) for step in self.given]
            + [_step_json(stage.label, step) for stage in self.stages for step in stage.steps],
            "problem": self.problem and self.problem.as_json(),
        }


class Chain(Answer):
    """Several requests, each on the output of the one before."""

    __slots__ = ("_traces",)

    input: Shape
    """The shape of the input tensor."""

    def __init__(
        self,
        input: Shape,
        traces: tuple[Trace, ...],
        output: Shape | None = None,
        problem: Problem | None = None,
        conditions: Conditions = (),
        assumes: Names | Callable[[], Names] = (),
    ) -> None:
        """Set the fields. `assumes` may be a function, which is called when the field is first read."""
        super().__init__(output, problem, conditions, assumes)
        self._input = input
        self._traces = traces

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) is True and self.traces == other.traces  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((Chain, self.traces))

    @property
    def op(self) -> str:
        """The name of a chain, which stands where other answers have the name of an op."""
        return "chain"

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The trace of each op in turn, up to the one that was refused."""
        return self._traces

    def as_json(self) -> dict[str, object]:
        """Return the chain as the JSON object that the command line documents."""
        return {
            "op": self.op,
            "input": plain(self.input),
            "stages": [trace.as_json() for trace in self.traces],
            "output": plain(self.output),
            **self._conditions_json(),
            "problem": self.problem and self.problem.as_json(),
        }


def _step_json(label: str, step: Step) -> dict[str, object]:
    """Return a step of the stage `label` as the JSON object that the command line documents."""
    sources, value = list(step.sources), plain(step.value)
    return {"stage": label, "rule": str(step.rule), "out": step.out, "from": sources, "value": value, "why": step.why}
