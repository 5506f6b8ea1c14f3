"""The parts of an answer: requests, moves, stages, steps, traces and chains."""

from __future__ import annotations

from shapecalc.core.conditions import Condition, Conditions, Never, combine, solved_names
from shapecalc.core.dims import Dim, Shape, all_known, plain, rewrite
from shapecalc.core.moves import Combine, Dims, Move, Permute, Pick, Reshape
from shapecalc.core.problem import Problem, Rule, misuse
from shapecalc.core.record import Choice, FrozenDict, Record, replace
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import Any, ClassVar, Self, TypeAlias

    from shapecalc.core.layout import Moves
    from shapecalc.core.origins import Origins
    from shapecalc.core.results import Result, Wanted


# `Request`: one question that is read and checked for form, but not answered yet.


NONE: FrozenDict = FrozenDict()


class Request(Record):
    """One question that is read and checked for form, but not answered yet."""

    op: str
    input: Shape
    arguments: Mapping[str, Any] = NONE
    """The op's own parameters that were given, by name."""
    dialect: str = "onnx"
    opset: int | None = None
    dtype: str | None = None
    switch: bool | None = None
    """The setting of the dialect's switch, if it was given."""
    written: Mapping[str, str] = NONE
    """The arguments as they were typed, by name; empty if they were not typed."""
    known: Mapping[str, Result | None] = NONE
    """The names in use in a chain before this request, with what they are if they are results."""

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        self._arguments, self._written, self._known = map(FrozenDict, (self.arguments, self.written, self.known))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The input, and the arguments that are shapes, permutations or axes."""
        return (self.input, *[shape for value in self.arguments.values() for shape in shapes_in(value)])

    @property
    def dims(self) -> Shape:
        """Every dim that the request names: the input's and those of its arguments."""
        return tuple([dim for shape in self.shapes for dim in shape])

    @property
    def symbolic(self) -> bool:
        """Whether a name occurs among the dims."""
        return not all_known(self.dims)


HERE = "_"
"""The chain's tensor among other operands."""


def shapes_in(value: object) -> tuple[Shape, ...]:
    """Return the shapes in an argument: its own, or one for each operand; none if it holds something else.

    >>> shapes_in((2, 3)), shapes_in(((2, 3), "_", (4,))), shapes_in("a b"), shapes_in(((),))
    (((2, 3),), ((2, 3), (4,)), (), ((),))
    """
    if not isinstance(value, tuple):
        return ()
    if value and isinstance(value[0], (tuple, str)):
        return tuple([each for each in value if isinstance(each, tuple)])
    return (value,)


# `Stage` and `Step`: an op is one or more stages, and each stage has its reasons.
#
# Pictures draw stages, code writers write them, and the engine carries them out. A step is one reason: a rule, the
# dim that it settles, and the axes that the dim comes from.


class Kind(Choice):
    """What a stage does. Pictures and code writers handle every kind; mypy finds a kind that is not handled."""

    PERMUTE = "moves axes"
    RESHAPE = "cuts the elements anew, as a requested shape says"
    MERGE = "merges neighbouring axes"
    SQUEEZE = "drops dims of 1"
    UNSQUEEZE = "inserts dims of 1"
    EXPAND = "repeats dims of 1"
    SELECT = "takes one position of an axis, which goes"
    TAKE = "takes positions of an axis, in any order"
    SLICE = "keeps some positions of axes"
    SPLIT = "keeps one of the parts of an axis"
    ROLL = "moves the positions of an axis on, round its end"
    FLIP = "reverses axes"
    SHAPE = "returns the dims themselves"
    VIEW = "reads the same memory with other strides"
    BROADCAST = "aligns operands at the right, and repeats their dims of 1"
    PRODUCT = "multiplies operands, and sums along axes that the answer lacks"
    JOIN = "joins operands along an axis"
    WINDOW = "moves a window along axes, and computes an element of each place"
    LENGTHEN = "adds positions to axes"


class StepRule(Rule):
    """A rule that settles something, with the sentence of its steps."""

    __slots__ = ()


class Step(Record):
    """One reason: the dim that is settled, the axes it comes from, and why."""

    rule: StepRule
    """The rule, which is its own id."""
    out: int | None
    """The index of the output dim that this step settles; None if it settles none by itself."""
    sources: tuple[int, ...]
    """The input axes of the stage that it comes from."""
    value: Dim | Shape
    """The dim that is settled; for a step about all dims, the whole shape."""
    conditions: Conditions = ()
    facts: FrozenDict = NONE
    """What the rule's sentence needs beside the dims, by name."""
    alternatives: Conditions = ()
    """Conditions of which one in place of the step's own gives another answer."""

    @property
    def name(self) -> str:
        """The name of what the step does, in a word or two."""
        return self.rule.name

    @property
    def dim(self) -> Dim:
        """The dim that is settled; raises `TypeError` for a step about all dims."""
        if isinstance(self.value, tuple):
            raise TypeError(f"{self.rule} settles a whole shape")
        return self.value

    @property
    def shape(self) -> Shape:
        """The whole shape, for a step about all dims; for other steps, the shape of their one dim."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def why(self) -> str:
        """The step's sentence."""
        why = self.rule.why
        return why.format(step=self, **self.facts) if isinstance(why, str) else why(self, **self.facts)


class Stage(Record):
    """One stage of an op: what it was asked, its steps as far as they got, and its move."""

    kind: Kind
    label: str
    """What the stage is called: the op's name, or the argument of a composite op that asks for it."""
    argument: str
    """The name of the request's argument that asks for this stage."""
    before: Shape
    asked: Shape = ()
    """The requested shape, permutation or axes as they were given; `()` if none were given."""
    steps: tuple[Step, ...] = ()
    after: Shape | None = None
    """The shape after the stage; None if it was refused."""
    move: Move | None = None
    """What is done to the data; None if the stage was refused."""

    @property
    def finished(self) -> bool:
        """Whether the stage was not refused."""
        return self.move is not None

    @property
    def origins(self) -> Origins | None:
        """Which part of the stage's input each dim after it is; None if the stage was refused."""
        conditions = tuple([condition for step in self.steps for condition in step.conditions])
        return None if self.after is None else stage_origins(self.before, (self,), self.after, conditions)

    def finish(self, steps: Sequence[Step], move: Move | None) -> Stage:
        """Set the steps and the move of the stage, and return it. Without a move, it was refused after its steps.

        The stage itself changes, because nothing but the caller has seen it yet.
        """
        self._steps = tuple(steps)
        self._move = move
        self._after = None if move is None else move.after(self.before)
        return self


Reasons: TypeAlias = "Generator[Stage | Step | Move | Wanted, None, Shape]"
"""An op at work. For each stage it yields the `Stage` as it begins, its `Step`s, and its `Move`. It yields each size
that `Wanted` a name before it uses it. It returns the output shape."""


# `Trace` and `Chain`: a request and everything that follows from it.
#
# A trace is the one value that the command line, `--json`, the pictures and the engine read.


class Answer(Record):
    """What a `Trace` and a `Chain` have in common."""

    __slots__ = ("_assumes", "_concrete", "_moves", "_origins")

    shown_as: ClassVar[Callable[..., str]]
    """What shows an answer as a MIME type. The package sets it, since pictures are made on a floor above."""

    def __post_init__(self) -> None:
        """Find the rest when it is first read."""
        self._assumes: Names | Callable[[], Names] = ()
        self._moves: tuple[Move, ...] | None = None
        self._concrete: bool | None = None
        self._origins: Origins | None = None

    def __str__(self) -> str:
        if self.output is None:
            return str(self.problem)
        conditions = " and ".join(map(str, self.conditions))
        return shape_text(self.output) + (f" when {conditions}" if conditions else "")

    if TYPE_CHECKING:

        @property
        def input(self) -> Shape:
            """The shape of the input tensor."""

        @property
        def traces(self) -> tuple[Trace, ...]:
            """The trace of each op in turn."""

        @property
        def output(self) -> Shape | None:
            """The shape of the result; None if the request is refused."""

        @property
        def problem(self) -> Problem | None:
            """Why the request is refused; None if it is not."""

        @property
        def conditions(self) -> Conditions:
            """What the named sizes must satisfy for the output to hold. Together they are necessary and sufficient."""

    @property
    def assumes(self) -> Names:
        """The names that must not be 0 for the answer to hold; they are found when they are first read."""
        if callable(self._assumes):
            self._assumes = self._assumes()
        return self._assumes

    def assuming(self, assumes: Callable[[], Names]) -> Self:
        """Set what finds the names that it assumes and return the answer, which nothing but the caller has seen yet."""
        self._assumes = assumes
        return self

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
    def origins(self) -> Origins | None:
        """Which part of the input each output dim is; None if the request is refused.

        >>> import shapecalc as sc
        >>> sc.reshape((2, 6), (4, 3)).origins[1]
        (AxisAtom(axis=1, size=3, stride=1, start=(), operand=0),)
        """
        if self._origins is None and self.output is not None:
            self._origins = stage_origins(self.input, self.stages, self.output, self.conditions)
        return self._origins

    @property
    def results(self) -> Mapping[str, Result]:
        """What the new names in the output and in the conditions are, such as `H1` of `(H - 1)//2 + 1`."""
        return {name: each for trace in self.traces for name, each in trace.results.items()}

    @property
    def alternatives(self) -> Conditions:
        """Conditions under which another answer holds in place of this one, such as a dim of 1 that is repeated."""
        if self.output is None:
            return ()
        found = {each: step for step in self.steps for each in step.alternatives}
        return tuple([each for each, step in found.items() if self._is_possible(each, step)])

    def _is_possible(self, alternative: Condition, step: Step) -> bool:
        """Say whether an alternative to the conditions of a step does not contradict those of the others."""
        others = [each for other in self.steps if other is not step for each in other.conditions]
        try:
            combine([*others, alternative])
        except Never:
            return False
        return True

    @property
    def left_out(self) -> Names:
        """The switches that were left out though their dialects require them: at every setting the answer is this."""
        return tuple([name for trace in self.traces for name, value in trace.options.items() if value is None])

    @property
    def limits(self) -> tuple[str, ...]:
        """What the answer needs, in words: its conditions, and switches that make no difference here."""
        same = [f"{name} was left out; on or off, the answer is the same" for name in dict.fromkeys(self.left_out)]
        return (*same, *[f"holds when {condition.words}" for condition in self.conditions])

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

    def _conclusions_json(self) -> dict[str, object]:
        from shapecalc.core.origins import origins_json

        conditions, assumes = [str(condition) for condition in self.conditions], list(self.assumes)
        found = {"conditions": conditions, "assumes": assumes, "origins": origins_json(self.origins)}
        if self.results:
            from shapecalc.core.results import shown  # few answers have named results

            found["results"] = shown(self.results)
        return found | ({"alternatives": [str(each) for each in self.alternatives]} if self.alternatives else {})


class Trace(Answer):
    """A request, the stages and steps that answer it, and the answer or the problem that stopped it."""

    __slots__ = ("_tells",)

    request: Request
    """The question."""
    version: int | None = None
    """The operator's version; None if operators of the dialect have no versions."""
    options: Mapping[str, object] = NONE
    """The settings in force, such as the switch, whether the request gave them or not."""
    stages: Stages = ()
    """The stages of the op, in order, as far as the request got."""
    output: Shape | None = None
    problem: Problem | None = None
    conditions: Conditions = ()
    given: tuple[Step, ...] = ()
    """The steps that come before the op's own: what the request itself says of the sizes."""
    results: Mapping[str, Result] = NONE
    """What the names are that the answer is the first of its chain to have."""

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        super().__post_init__()
        self._options, self._results = map(FrozenDict, (self.options, self.results))
        self._tells: Callable[[Trace], Mapping[str, object]] | None = None

    def __hash__(self) -> int:
        return hash((Trace, self.request, self.output))

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
    def steps(self) -> tuple[Step, ...]:
        """What the request itself says of the sizes, and the steps of the op's stages, in order."""
        steps = self.given
        for stage in self.stages:
            steps += stage.steps
        return steps

    def telling(self, tells: Callable[[Trace], Mapping[str, object]]) -> Trace:
        """Set what tells the `extras` and return the trace, which nothing but the caller has seen yet."""
        self._tells = tells
        return self

    @property
    def extras(self) -> Mapping[str, Any]:
        """What it tells beside the output: `outputs`, the shapes of all parts; `inferred`, the lengths of axes."""
        return NONE if self._tells is None or self.output is None else self._tells(self)

    def with_problem(self, problem: Problem) -> Trace:
        """Return the trace with `problem` in place of its output."""
        return replace(self, output=None, problem=problem, conditions=())

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
            **{name: plain(value) for name, value in self.extras.items()},
            **self._conclusions_json(),
            "steps": [_step_json("input", step) for step in self.given]
            + [_step_json(stage.label, step) for stage in self.stages for step in stage.steps],
            "problem": self.problem and self.problem.as_json(),
        }


class Chain(Answer):
    """Several requests, each on the output of the one before."""

    input: Shape
    traces: tuple[Trace, ...]
    """The trace of each op in turn, up to the one that was refused."""
    output: Shape | None = None
    problem: Problem | None = None
    conditions: Conditions = ()
    op: ClassVar = "chain"
    """The name of a chain, which stands where other answers have the name of an op."""

    def __hash__(self) -> int:
        return hash((Chain, self.traces))

    def as_json(self) -> dict[str, object]:
        """Return the chain as the JSON object that the command line documents."""
        return {
            "op": self.op,
            "input": plain(self.input),
            "stages": [trace.as_json() for trace in self.traces],
            "output": plain(self.output),
            **self._conclusions_json(),
            "problem": self.problem and self.problem.as_json(),
        }


def moves_of(answer: Answer) -> Moves:
    """Return the moves of an answer on its input.

    Raises `ShapeError` (usage) for op `shape`, which moves no elements.
    """
    from shapecalc.core.layout import Moves  # a bare question asks for no layout

    for stage in answer.stages:
        if isinstance(stage.move, Dims):
            raise misuse("shape returns dims, so no element moves")
        if isinstance(stage.move, Combine):
            message = f"elements of {stage.label} come from several operands or places, and cannot be followed"
            raise misuse(message, "ask for the shape alone")
    return Moves(answer.input, answer.moves)


def stage_origins(shape: Shape, stages: Stages, output: Shape, conditions: Conditions) -> Origins:
    """Return the origin of each dim of `output`, which stages make of an input of `shape`."""
    finished = tuple([stage for stage in stages if stage.move is not None])
    moves = tuple([stage.move for stage in finished if stage.move is not None])
    if any(isinstance(move, Dims) for move in moves):
        return (None,) * len(output)
    if any(isinstance(move, Combine) for move in moves):
        from shapecalc.core.origins import combined_origins  # most requests have one operand

        def between(before: Shape, start: int, end: int) -> Origins:
            return _plain_origins(before, finished[start:end], moves[start:end], conditions)

        return combined_origins(shape, moves, between)
    return _plain_origins(shape, stages, moves, conditions)


def _plain_origins(shape: Shape, stages: Stages, moves: tuple[Move, ...], conditions: Conditions) -> Origins:
    from shapecalc.core.layout import Moves  # a bare question asks for no origins
    from shapecalc.core.origins import origins

    ones = _carried_ones(shape, stages, solved_names(conditions))
    return origins(Moves(shape, moves), conditions, tuple(ones.items()))


def _carried_ones(shape: Shape, stages: Stages, solved: Mapping[str, Dim]) -> dict[int, int]:
    """Return the input axis of 1 that each output dim of 1 is, for those that are one, once names are solved."""
    from shapecalc.core.layout import carried_ones

    kept = {axis: axis for axis, dim in enumerate(shape) if rewrite(dim, solved) == 1}
    for stage in stages:
        before, after, move = stage.before, stage.after or (), stage.move
        if not kept:
            break
        if stage.kind is Kind.SQUEEZE:
            dropped = [step.sources[0] for step in stage.steps if step.out is None and len(step.sources) == 1]
            pairs = [*enumerate([axis for axis in range(len(before)) if axis not in dropped])]
        elif stage.kind is Kind.UNSQUEEZE:
            pairs = [(step.out, step.sources[0]) for step in stage.steps if step.out is not None and step.sources]
        elif isinstance(move, Permute):
            pairs = [*enumerate(move.axes)]
        elif isinstance(move, Reshape):
            pairs = [*carried_ones(before, after)]
        elif isinstance(move, Pick):
            pairs = [*enumerate([axis for axis, size in enumerate(move.sizes) if size is not None])]
        else:
            pairs = [(axis + len(after) - len(before), axis) for axis in range(len(before))]
        kept = {out: kept[axis] for out, axis in pairs if axis in kept and rewrite(after[out], solved) in (0, 1)}
    return kept


def _step_json(label: str, step: Step) -> dict[str, object]:
    """Return a step of the stage `label` as the JSON object that the command line documents."""
    sources, value = list(step.sources), plain(step.value)
    return {"stage": label, "rule": str(step.rule), "out": step.out, "from": sources, "value": value, "why": step.why}


Stages = tuple[Stage, ...]
Names = tuple[str, ...]
