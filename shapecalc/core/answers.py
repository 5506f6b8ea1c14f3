"""Requests, stages, steps and answers.

An op runs in one or more stages. The pictures draw the stages, and the engine executes them. A stage has steps and a
move. The move describes how the elements change position. A step records a rule, an output dim and the input axes of
that dim. A `Trace` is a request with its stages and its output, and a `Chain` is a sequence of traces. The command
line, `--json`, the pictures and the engine all read these records.
"""

from __future__ import annotations

from shapecalc.core.conditions import Condition, Conditions, Unsatisfiable, simplify_conditions, solve_equalities
from shapecalc.core.dims import Dim, Shape, dim_names, is_concrete, substitute_dims, to_json
from shapecalc.core.moves import Combine, Move, Pad, Permute, Reshape, ShapeVector, StridedSlice
from shapecalc.core.problem import Problem, Rule, ShapeError, usage_error
from shapecalc.core.record import Choice, FrozenDict, Record, lazy, replace
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any, ClassVar, Self, TypeAlias

    from shapecalc.core.layout import MoveChain
    from shapecalc.core.origins import Origins
    from shapecalc.core.results import SizeExpression


EMPTY_DICT: FrozenDict = FrozenDict()
CHAIN_TENSOR = "_"
"""The placeholder operand for the output of the previous op in a chain."""
OPERAND_TYPES = (tuple, str)
"""The types of operands: a shape is a tuple, and `CHAIN_TENSOR` is a string."""
Names = tuple[str, ...]


class Request(Record):
    """A parsed but unresolved request."""

    op: str
    input: Shape
    arguments: Mapping[str, Any] = EMPTY_DICT
    """The arguments of the op, keyed by name."""
    dialect: str = "onnx"
    opset: int | None = None
    dtype: str | None = None
    switch: bool | None = None
    """The setting of the dialect's switch, or None if the request omits the switch."""
    argument_texts: Mapping[str, str] = EMPTY_DICT
    """The source texts of string arguments, keyed by argument name."""
    names_in_use: Mapping[str, SizeExpression | None] = EMPTY_DICT
    """The names in earlier stages of the chain. A named result maps to its definition, and any other name to None."""
    notes: tuple[str, ...] = ()
    """Notes on how shapes were interpreted; for example, -1 as an unknown size."""

    __slots__ = ("_is_symbolic",)

    def __post_init__(self) -> None:
        """Make the mappings immutable, and detect symbolic dims."""
        arguments = self._arguments = freeze_mapping(self.arguments)
        if self.argument_texts is not EMPTY_DICT or self.names_in_use is not EMPTY_DICT:
            self._argument_texts, self._names_in_use = (
                freeze_mapping(self.argument_texts),
                freeze_mapping(self.names_in_use),
            )
        self._is_symbolic = not is_concrete(self.input) or _has_symbolic_dim(arguments.values())

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The input shape, followed by the shapes, permutations and axes in the arguments."""
        return (self.input, *[shape for value in self.arguments.values() for shape in collect_shapes(value)])

    @property
    def dims(self) -> Shape:
        """All dims of the input and of the arguments."""
        return tuple([dim for shape in self.shapes for dim in shape])

    @lazy
    def names(self) -> Names:
        """Collect the names in the dims, in order of first appearance."""
        return dim_names(self.dims)

    @property
    def is_symbolic(self) -> bool:
        """Whether any dim of the request is symbolic."""
        return self._is_symbolic


def freeze_mapping(mapping: Mapping[str, Any]) -> FrozenDict:
    """Convert a mapping to a `FrozenDict`.

    A `FrozenDict` is returned unchanged.
    """
    return mapping if type(mapping) is FrozenDict else FrozenDict(mapping)


def collect_shapes(value: object) -> tuple[Shape, ...]:
    """Return the shapes in an argument value.

    For a tuple of operands, return the shape of each operand. For a value that is neither a shape nor a tuple of
    operands, return no shapes.

    >>> collect_shapes((2, 3)), collect_shapes(((2, 3), "_", (4,))), collect_shapes("a b"), collect_shapes(((),))
    (((2, 3),), ((2, 3), (4,)), (), ((),))
    """
    if not isinstance(value, tuple):
        return ()
    if value and isinstance(value[0], (tuple, str)):
        return tuple([operand for operand in value if isinstance(operand, tuple)])
    return (value,)


def _has_symbolic_dim(values: Iterable[object]) -> bool:
    """Return whether any value contains a symbolic dim.

    Only shapes and tuples of operands are searched.
    """
    for value in values:
        if type(value) is not tuple or not value:
            continue
        if not is_concrete(value) or (type(value[0]) in OPERAND_TYPES and _has_symbolic_dim(value)):
            return True
    return False


class StageKind(Choice):
    """The kind of a stage.

    The value of a member describes the effect of the stage. Mypy reports each picture and each code writer that does
    not handle every member.
    """

    PERMUTE = "permutes the axes"
    RESHAPE = "regroups the elements into the requested shape"
    MERGE = "merges adjacent axes"
    SQUEEZE = "drops dims of 1"
    UNSQUEEZE = "inserts dims of 1"
    EXPAND = "repeats dims of 1"
    SELECT = "selects one index of an axis, and drops the axis"
    TAKE = "selects indices of an axis, in any order"
    SLICE = "selects evenly spaced indices of axes"
    SPLIT = "keeps one of the parts of an axis"
    ROLL = "shifts elements along axes, and wraps around at the ends"
    FLIP = "reverses axes"
    SHAPE = "returns the dims as a vector"
    VIEW = "reads the same memory with other strides"
    BROADCAST = "aligns operands at the right, and repeats their dims of 1"
    PRODUCT = "multiplies operands, and sums along the axes that are not in the output"
    JOIN = "joins operands along an axis"
    WINDOW = "slides a window along axes, and computes one element at each position"
    LENGTHEN = "adds elements at the ends of axes"
    REDUCE = "reduces axes to one element"


class StepRule(Rule):
    """A rule that determines a dim, and the function that explains the dim."""

    __slots__ = ()


class Step(Record):
    """A step of a shape computation: a rule, a dim and the input axes of the dim."""

    rule: StepRule
    """The applied rule. Its string value is the id of the rule."""
    out: int | None
    """The index of the output dim, or None if the step concerns no output dim or all output dims."""
    sources: tuple[int, ...]
    """The axes of the stage's input that determine the dim."""
    value: Dim | Shape
    """The dim that the step determines, drops or checks, or the shape if the step concerns all dims."""
    conditions: Conditions = ()
    """The conditions on named sizes under which the step holds."""
    facts: FrozenDict = EMPTY_DICT
    """Additional values for the text of the explanation, keyed by name."""
    alternatives: Conditions = ()
    """Conditions under which the op has a different output."""

    @property
    def name(self) -> str:
        """The short name of the rule."""
        return self.rule.name

    @property
    def dim(self) -> Dim:
        """The dim that the step determines.

        Raises `TypeError` if the step concerns all dims.
        """
        if isinstance(self.value, tuple):
            raise TypeError(f"{self.rule} settles a whole shape")
        return self.value

    @property
    def shape(self) -> Shape:
        """The shape that the step determines.

        If the step concerns one dim, the shape contains only that dim.
        """
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def why(self) -> str:
        """The explanation of the step, in one sentence."""
        why = self.rule.why
        return why.format(step=self, **self.facts) if isinstance(why, str) else why(self, **self.facts)


ResolvedDim: TypeAlias = "tuple[StepRule, Dim, Conditions, Mapping[str, object]]"
"""A resolved dim: its rule, its value, its conditions and the facts of its step."""


def make_step(out: int | None, sources: tuple[int, ...], resolved: ResolvedDim) -> Step:
    """Return the step that records a resolved dim."""
    rule, dim, conditions, facts = resolved
    return Step(rule, out, sources, dim, conditions, FrozenDict(facts))


class Stage(Record):
    """A stage of an op: the requested value, the steps and the move."""

    kind: StageKind
    label: str
    """The name of the op. In a composite op, the name of the argument that requests this stage."""
    argument: str
    """The name of the argument that requests this stage."""
    before: Shape
    """The input shape of the stage."""
    requested: Shape = ()
    """The requested shape, permutation or axes, or `()` if the stage requests none of these."""
    steps: lazy[tuple[Step, ...]] = lazy(default=())
    """The steps in order. A refused stage has the steps before the refusal."""
    after: Shape | None = None
    """The output shape of the stage, or None if the stage was refused."""
    move: Move | None = None
    """The data movement, or None if the stage was refused."""

    @property
    def is_finished(self) -> bool:
        """Whether the stage succeeded."""
        return self.move is not None

    @property
    def origins(self) -> Origins | None:
        """The origin of each output dim in the input of the stage.

        The value is None for a refused stage.
        """
        conditions = tuple([condition for step in self.steps for condition in step.conditions])
        return None if self.after is None else compute_stage_origins(self.before, (self,), self.after, conditions)


Stages = tuple[Stage, ...]


def _no_steps(_: Stage) -> tuple[Step, ...]:
    return ()


class StageBuilder:
    """A context manager that builds a stage.

    If a `ShapeError` is raised in the `with` block, the refused stage is stored in the error.
    """

    __slots__ = ("argument", "before", "explain", "kind", "label", "requested")

    def __init__(self, kind: StageKind, label: str, argument: str, before: Shape, requested: Shape = ()) -> None:
        """Create a builder for a stage."""
        self.kind, self.label, self.argument, self.before, self.requested = kind, label, argument, before, requested
        self.explain: Callable[[Stage], tuple[Step, ...]] = _no_steps
        """The function that computes the steps of the stage on first access.

        For a refused stage, the function returns the steps before the refusal.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is not None and isinstance(error, ShapeError):
            error.stages = self._build(None, None)

    def _build(self, after: Shape | None, move: Move | None) -> Stages:
        return (Stage(self.kind, self.label, self.argument, self.before, self.requested, self.explain, after, move),)

    def add_explanation(self, explain: Callable[[Stage], Iterable[Step]]) -> None:
        """Add a function that computes further steps.

        These steps follow the steps of the earlier functions.
        """
        earlier = self.explain
        self.explain = lambda stage: (*earlier(stage), *explain(stage))

    def finish(self, move: Move) -> Stages:
        """Finish the stage, and return it in a tuple."""
        return self._build(move.output_shape(self.before), move)


def run_stages(shape: Shape, *stage_functions: Callable[[Shape], Stages]) -> Stages:
    """Call stage functions in sequence, and return all their stages.

    Each function receives the output shape of the previous function. If a function raises a `ShapeError`, the stages of
    the previous functions are prepended to the stages in the error.
    """
    stages: Stages = ()
    for run in stage_functions:
        try:
            stages += run(shape)
        except ShapeError as error:
            error.stages = (*stages, *error.stages)
            raise
        shape = final_shape(shape, stages)
    return stages


def final_shape(shape: Shape, stages: Stages) -> Shape:
    """Return the shape after `stages` are applied to `shape`."""
    after = stages[-1].after if stages else shape
    return shape if after is None else after


class Answer(Record):
    """The result of a request; the base class of `Trace` and `Chain`."""

    format_request: ClassVar[Callable[[Any], str]]
    """A function that formats the request as one line.

    The package sets this function and `render_report`, so that the core does not import the parser and the renderer.
    """
    render_report: ClassVar[Callable[..., str]]
    """A function that renders the answer with its steps.

    Its parameters are those of `shapecalc.render.files.render_report`.
    """

    @property
    def shape(self) -> Shape | None:
        """The output shape, an alias of `output`.

        Code that reads the `shape` of an array also works with an answer.
        """
        return self.output

    def __str__(self) -> str:
        if self.output is None:
            return str(self.problem)
        conditions = " and ".join(map(str, self.conditions))
        return shape_text(self.output) + (f" when {conditions}" if conditions else "")

    def __repr__(self) -> str:
        result = f"-> {self}" if self.problem is None else f"refused: {self.problem.rule}"
        return f"{type(self).__name__}({self.format_request()} {result})"

    @property
    def input(self) -> Shape:
        """The shape of the input tensor."""
        raise NotImplementedError

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The trace of each op, in order."""
        raise NotImplementedError

    @property
    def output(self) -> Shape | None:
        """The shape of the result, or None if the request is refused."""
        raise NotImplementedError

    @property
    def problem(self) -> Problem | None:
        """The reason for the refusal, or None if the request has an output."""
        raise NotImplementedError

    @property
    def conditions(self) -> Conditions:
        """The necessary and sufficient conditions under which the output is correct."""
        raise NotImplementedError

    @property
    def assumes(self) -> Names:
        """The names of the sizes that the answer assumes to be nonzero."""
        raise NotImplementedError

    @property
    def stages(self) -> Stages:
        """The stages of all ops, in order.

        Only the last stage can be a refused stage.
        """
        return tuple([stage for trace in self.traces for stage in trace.stages])

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all stages, in order."""
        return tuple([step for trace in self.traces for step in trace.steps])

    @lazy
    def moves(self) -> tuple[Move, ...]:
        """Collect the moves of all finished stages, in order."""
        return tuple([stage.move for stage in self.stages if stage.move is not None])

    @lazy
    def origins(self) -> Origins | None:
        """Compute the origin of each output dim in the input.

        Returns None if there is no output.

        >>> import shapecalc as sc
        >>> sc.reshape((2, 6), (4, 3)).origins[1]
        (AxisAtom(axis=1, size=3, stride=1, start=(), operand=0),)
        """
        if self.output is None:
            return None
        return compute_stage_origins(self.input, self.stages, self.output, self.conditions)

    @property
    def results(self) -> Mapping[str, SizeExpression]:
        """The definition of each name that the answer introduces.

        For example, the definition of `H1` may be `(H - 1)//2 + 1`.
        """
        return {name: result for trace in self.traces for name, result in trace.results.items()}

    @property
    def alternatives(self) -> Conditions:
        """The conditions under which the op has a different output.

        For example, if a dim N is broadcast with 4, the answer requires N == 4. Under the alternative N == 1,
        the dim is repeated.
        """
        if self.output is None:
            return ()
        step_of = {alternative: step for step in self.steps for alternative in step.alternatives}
        return tuple([alternative for alternative, step in step_of.items() if self._is_possible(alternative, step)])

    def _is_possible(self, alternative: Condition, step: Step) -> bool:
        """Return whether an alternative is consistent with the other steps."""
        others = [condition for other in self.steps if other is not step for condition in other.conditions]
        try:
            simplify_conditions([*others, alternative])
        except Unsatisfiable:
            return False
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the interpretation of shapes.

        >>> import shapecalc as sc
        >>> sc.flatten("float32[-1,3,4]").notes
        ('-1 is an unknown size here, as ? is',)
        """
        return tuple(dict.fromkeys([note for trace in self.traces for note in trace.request.notes]))

    @property
    def omitted_switches(self) -> Names:
        """The required switches that the request omits.

        The answer is the same for each setting of these switches.
        """
        return tuple([name for trace in self.traces for name, value in trace.options.items() if value is None])

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences about the omitted switches and the conditions of the answer."""
        same = [
            f"{name} was left out; on or off, the answer is the same" for name in dict.fromkeys(self.omitted_switches)
        ]
        return (*same, *[f"holds when {condition.phrase}" for condition in self.conditions])

    @lazy
    def is_concrete(self) -> bool:
        """Whether the answer has an output and all input and output dims are integers."""
        return self.output is not None and is_concrete(self.input + self.output)

    def explain(self, *, everything: bool = False) -> None:
        """Print the flow diagram, the most informative picture and all steps.

        If `everything` is True, print all pictures.
        """
        import sys

        encoding = getattr(sys.stdout, "encoding", None)
        print(self.render_report("text/plain", encoding, everything=everything))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the SVG image and the plain text that a notebook displays."""
        return {kind: self.render_report(kind, "utf-8") for kind in ("image/svg+xml", "text/plain")}

    def _conclusions_as_json(self) -> dict[str, object]:
        from shapecalc.core.origins import origins_as_json

        conditions, assumes = [str(condition) for condition in self.conditions], list(self.assumes)
        content = {"conditions": conditions, "assumes": assumes, "origins": origins_as_json(self.origins)}
        return content | self.optional_items_as_json()

    def optional_items_as_json(self) -> dict[str, object]:
        """Return the non-empty optional items of the JSON object.

        The optional keys are `results`, `alternatives` and `notes`.
        """
        results: dict[str, str] = {}
        if self.results:
            from shapecalc.core.results import format_results  # imported here because few answers have named results

            results = format_results(self.results)
        alternatives = [str(alternative) for alternative in self.alternatives]
        content = {"results": results, "alternatives": alternatives, "notes": list(self.notes)}
        return {name: value for name, value in content.items() if value}


class Trace(Answer):
    """A request with its stages, and its output or problem."""

    request: Request
    version: int | None = None
    """The operator's version, or None if the dialect has no versions."""
    options: FrozenDict = EMPTY_DICT
    """The effective settings, including defaults; for example, the setting of the dialect's switch."""
    stages: Stages = ()
    """The stages of the op in order, up to and including a refused stage."""
    output: Shape | None = None
    problem: Problem | None = None
    conditions: Conditions = ()
    input_steps: tuple[Step, ...] = ()
    """The steps for the fractions in the request, one for each fraction."""
    results: FrozenDict = EMPTY_DICT
    """The definitions of the names that this trace introduces in its chain."""
    extras: lazy[Mapping[str, Any]] = lazy(default=EMPTY_DICT)
    """The additional results of the op, keyed by name; most ops have none.

    For a split, `outputs` contains the shapes of all parts. For a pattern, `inferred` contains the inferred axis
    lengths.
    """
    assumes: lazy[Names] = lazy(default=())
    """The names of the sizes that the answer assumes to be nonzero."""

    def __hash__(self) -> int:
        return hash((Trace, self.input, self.output))  # hashing all arguments takes longer than a rare collision

    @property
    def input(self) -> Shape:
        """The shape of the input tensor."""
        return self.request.input

    @property
    def op(self) -> str:
        """The name of the requested op, such as `reshape` or `shuffle`."""
        return self.request.op

    @property
    def dialect(self) -> str:
        """The name of the dialect."""
        return self.request.dialect

    @property
    def traces(self) -> tuple[Trace, ...]:
        """This trace as a tuple of length 1, for symmetry with `Chain.traces`."""
        return (self,)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps for fractions in the request, followed by the steps of the stages."""
        steps = self.input_steps
        for stage in self.stages:
            steps += stage.steps
        return steps

    def with_problem(self, problem: Problem) -> Trace:
        """Return a copy of the trace with a problem instead of an output."""
        return replace(self, output=None, problem=problem, conditions=(), extras=EMPTY_DICT, assumes=())

    def as_json(self) -> dict[str, object]:
        """Return the trace as the JSON object documented in shapecalc(1)."""
        return {
            "op": self.op,
            "dialect": self.dialect,
            "version": self.version,
            "options": dict(self.options),
            "request": {name: to_json(value) for name, value in self.request.arguments.items()},
            "input": to_json(self.input),
            "output": to_json(self.output),
            **{name: to_json(value) for name, value in self.extras.items()},
            **self._conclusions_as_json(),
            "steps": [_step_as_json("input", step) for step in self.input_steps]
            + [_step_as_json(stage.label, step) for stage in self.stages for step in stage.steps],
            "problem": self.problem and self.problem.as_json(),
        }


class Chain(Answer):
    """A sequence of traces.

    The input of each trace is the output of the previous trace.
    """

    input: Shape
    traces: tuple[Trace, ...]
    """The traces of the ops in order, up to and including a refused trace."""
    output: Shape | None = None
    problem: Problem | None = None
    conditions: Conditions = ()
    assumes: lazy[Names] = lazy(default=())
    """The names of the sizes that the answer assumes to be nonzero."""
    named_sizes: Mapping[str, SizeExpression] = EMPTY_DICT
    """The definitions of the names in the operands of the ops."""
    op: ClassVar = "chain"
    """The label of a chain in reports and in JSON."""

    def __hash__(self) -> int:
        return hash((Chain, self.traces))

    @property
    def results(self) -> Mapping[str, SizeExpression]:
        """The definitions of the names that the stages and their operands introduce."""
        return {**self.named_sizes, **super().results}

    def as_json(self) -> dict[str, object]:
        """Return the chain as the JSON object documented in shapecalc(1)."""
        return {
            "op": self.op,
            "input": to_json(self.input),
            "stages": [trace.as_json() for trace in self.traces],
            "output": to_json(self.output),
            **self._conclusions_as_json(),
            "problem": self.problem and self.problem.as_json(),
        }


def to_move_chain(answer: Answer) -> MoveChain:
    """Return the moves of an answer as a `MoveChain`.

    Raises `ShapeError` (usage) for the op `shape`, and for ops with several operands or with windows. These ops compute
    their output elements instead of moving input elements.
    """
    from shapecalc.core.layout import MoveChain  # imported here because the output shape needs no layout

    check_moves_only(answer)
    return MoveChain(answer.input, answer.moves)


def check_moves_only(answer: Answer, *, allows_pads: bool = False) -> None:
    """Raise `ShapeError` (usage) unless the answer only moves elements.

    Ops that compute elements, such as matmul, are refused. If `allows_pads` is True, pads are allowed.
    """
    for stage in answer.stages:
        if isinstance(stage.move, ShapeVector):
            raise usage_error("shape returns dims, so no element moves")
        if isinstance(stage.move, Combine) and not (allows_pads and isinstance(stage.move, Pad)):
            message = f"elements of {stage.label} come from several operands or places, and cannot be followed"
            raise usage_error(message, "ask for the shape alone")


def compute_stage_origins(shape: Shape, stages: Stages, output: Shape, conditions: Conditions) -> Origins:
    """Return the origin of each output dim after applying `stages` to `shape`."""
    finished = tuple([stage for stage in stages if stage.move is not None])
    moves = tuple([stage.move for stage in finished if stage.move is not None])
    kinds = {*map(type, moves)}
    if ShapeVector in kinds:
        return (None,) * len(output)
    if kinds & {Combine, Pad}:
        # imported here because few requests have several operands
        from shapecalc.core.origins import compute_multi_operand_origins

        def segment_origins(before: Shape, start: int, end: int) -> Origins:
            return _compute_single_operand_origins(before, finished[start:end], moves[start:end], conditions)

        return compute_multi_operand_origins(shape, moves, segment_origins)
    return _compute_single_operand_origins(shape, stages, moves, conditions)


def _compute_single_operand_origins(
    shape: Shape, stages: Stages, moves: tuple[Move, ...], conditions: Conditions
) -> Origins:
    from shapecalc.core.layout import MoveChain  # imported here because the output shape needs no origins
    from shapecalc.core.origins import compute_origins

    ones = _map_unit_axes(shape, stages, solve_equalities(conditions))
    return compute_origins(MoveChain(shape, moves), conditions, tuple(ones.items()))


def _map_unit_axes(shape: Shape, stages: Stages, solved: Mapping[str, Dim]) -> dict[int, int]:
    """Map output axes of size 1 to input axes of size 1.

    `solved` maps names to the values that the conditions determine.
    """
    from shapecalc.core.layout import match_unit_axes

    kept = {axis: axis for axis, dim in enumerate(shape) if substitute_dims(dim, solved) == 1}
    for stage in stages:
        before, after, move = stage.before, stage.after or (), stage.move
        if not kept:
            break
        if stage.kind is StageKind.SQUEEZE:
            dropped = [step.sources[0] for step in stage.steps if step.out is None and len(step.sources) == 1]
            pairs = [*enumerate([axis for axis in range(len(before)) if axis not in dropped])]
        elif stage.kind is StageKind.UNSQUEEZE:
            pairs = [(step.out, step.sources[0]) for step in stage.steps if step.out is not None and step.sources]
        elif isinstance(move, Permute):
            pairs = [*enumerate(move.axes)]
        elif isinstance(move, Reshape):
            pairs = [*match_unit_axes(before, after)]
        elif isinstance(move, StridedSlice):
            pairs = [*enumerate([axis for axis, size in enumerate(move.sizes) if size is not None])]
        else:
            pairs = [(axis + len(after) - len(before), axis) for axis in range(len(before))]
        kept = {
            out: kept[axis] for out, axis in pairs if axis in kept and substitute_dims(after[out], solved) in (0, 1)
        }
    return kept


def _step_as_json(label: str, step: Step) -> dict[str, object]:
    sources, value = list(step.sources), to_json(step.value)
    return {"stage": label, "rule": str(step.rule), "out": step.out, "from": sources, "value": value, "why": step.why}
