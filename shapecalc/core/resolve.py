"""The resolver of requests and chains, without the search for fixes.

`fixing.answer` returns the same answers with hints; front ends use it.
"""

from __future__ import annotations

from _collections_abc import Callable, Iterable, Mapping, Sequence

from shapecalc.core.answers import NONE, Chain, Reasons, Request, Stage, Step, Trace, shapes_in
from shapecalc.core.ask import Stage as Asked
from shapecalc.core.ask import ask, check_attributes, check_names_known, operand_words, setting_of, with_sizes
from shapecalc.core.conditions import Conditions, Never, Work, combine, divides, holds, put_sizes_in, required
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import check_rank, checked_volume, spelled
from shapecalc.core.dims import Monomial, Shape, all_known, names
from shapecalc.core.limits import MOST_CHAIN_DIMS, MOST_CHAIN_NAMES, MOST_COMBINED, MOST_STAGES, MOST_ZEROS
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError, misuse, refusal
from shapecalc.core.record import replace
from shapecalc.core.results import Naming, Result, Wanted, put_in
from shapecalc.core.rules import CONTRADICTION, INDIVISIBLE, MISSING_SWITCH, WRITTEN_FRACTION
from shapecalc.core.text import brief, shape_text, tokens
from shapecalc.core.values import read_sizes


def resolve(request: Request) -> Trace:
    """Resolve a request.

    The trace has the output, or the problem and the steps before it.

    >>> resolve(ask("transpose", "2,3,4", {"perm": "1,0,2"})).output
    (3, 2, 4)
    """
    symbolic = request.symbolic
    try:
        rules = setting_of(request)
        if rules.operator.since or rules.operator.required or request.dtype:
            check_attributes(request, rules)
        check_rank(request.input, rules.row, "input")
        checked_volume(request.input, "input")
        input_steps = _fractions(request) if symbolic else ()
    except ShapeError as error:
        same = _same_at_every_setting(request) if error.problem.rule is MISSING_SWITCH else None
        return same or Trace(request, problem=placed(error.problem, request))
    naming = Naming(names(request.dims), request.known) if symbolic else None
    stages, problem = _collect(rules.steps(request.input, rules, **request.arguments), naming)
    results = naming.new if naming else NONE
    options = {**rules.options, "dtype": spelled(request.dtype, rules.row)} if request.dtype else rules.options
    if problem is not None:
        refused = placed(problem, request)
        return Trace(request, rules.version, options, stages, problem=refused, given=input_steps, results=results)
    output = stages[-1].after if stages else request.input
    answer = Trace(request, rules.version, options, stages, output, given=input_steps, results=results)
    answer = _with_conditions(answer) if symbolic else answer
    compute_extras = OPS[request.op].tells
    return answer.telling(compute_extras) if compute_extras is not None else answer


def _same_at_every_setting(request: Request) -> Trace | None:
    """Return the answer to a request without a required switch.

    Returns None if it depends on the switch.
    """
    first, *others = [resolve(replace(request, switch=on)) for on in DIALECTS[request.dialect].settings()]
    if first.output is None:
        return None
    if any((other.output, other.conditions) != (first.output, first.conditions) for other in others):
        return None
    options = {name: None if isinstance(value, bool) else value for name, value in first.options.items()}
    answer = replace(first, request=request, options=options)
    return _with_conditions(answer) if request.symbolic else answer


def _collect(reasons: Reasons, naming: Naming | None) -> tuple[tuple[Stage, ...], Problem | None]:
    """Run an op and return its stages, with the problem that stopped it or None.

    A stage that is followed by another one without a move is dropped: an op may check an argument before its stage.
    """
    stages: list[Stage] = []
    current: Stage | None = None
    steps: list[Step] = []
    try:
        for event in reasons:
            if type(event) is Step:
                steps.append(event)
            elif type(event) is Stage:
                current, steps = event, []
            elif type(event) is Wanted:
                naming.name(event)  # type: ignore[union-attr]  # requests without names yield no name requests
            elif current is not None:
                stages.append(current.finish(steps, event))  # type: ignore[arg-type]  # the remaining events are moves
                current = None
    except ShapeError as error:
        refused = [] if current is None else [current.finish(steps, None)]
        return (*stages, *refused), error.problem
    return tuple(stages), None


def _with_conditions(trace: Trace) -> Trace:
    """Add the conditions and the assumed nonzero names to a symbolic trace."""
    request = trace.request
    conditions: Conditions = tuple([condition for step in trace.steps for condition in step.conditions])
    try:
        conditions = conditions and combine(conditions)
    except Never:
        return trace.with_problem(placed(contradiction(conditions).problem, request))
    answer = replace(trace, conditions=conditions)
    return answer.assuming(lambda: _zero_sensitive(answer, request.dims, lambda sizes: with_zeros(request, sizes)))


def _fractions(request: Request) -> tuple[Step, ...]:
    """Return a step for each fraction in the request.

    Its condition is that the fraction is an integer.
    """
    steps = []
    for argument, value in (("input", request.input), *request.arguments.items()):
        for index, dim in enumerate([dim for dims in shapes_in(value) for dim in dims]):
            if not isinstance(dim, Monomial):
                continue
            message = f"{brief(str(dim))} is not a whole number for any sizes"
            conditions = required(divides, dim, 1, refusal(INDIVISIBLE, message, argument=argument, index=index))
            if conditions:
                steps.append(Step(WRITTEN_FRACTION, None, (), dim, conditions))
    return tuple(steps)


def contradiction(conditions: Conditions) -> ShapeError:
    """Return the error for conditions that no sizes meet together."""
    text = " and ".join(dict.fromkeys(map(str, conditions)))
    return refusal(CONTRADICTION, f"no sizes meet {text} at once", argument="input")


def with_zeros(request: Request, sizes: Mapping[str, int]) -> Trace:
    """Resolve a request with sizes substituted for names.

    A dim that becomes invalid is the trace's problem.
    """
    try:
        return resolve(with_sizes(request, sizes))
    except ShapeError as error:
        return Trace(request, problem=error.problem)


def _zero_sensitive(
    answer: Trace | Chain, dims: Shape, again: Callable[[Mapping[str, int]], Trace | Chain]
) -> tuple[str, ...]:
    """Return the names in `dims` for which the answer does not hold at size 0.

    `resolve_at` resolves with sizes.
    """
    above = names([condition.left for condition in answer.conditions if condition.relation == ">="])
    candidates = sorted({*names(dims)} - {*above})
    if len(candidates) > MOST_ZEROS:
        return ()
    return tuple([name for name in candidates if _changed(answer, again({name: 0}), {name: 0})])


def _changed(answer: Trace | Chain, at_zero: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    least = [condition for condition in answer.conditions if condition.relation == ">="]
    if not holds(least, sizes):
        return False
    if not holds(answer.conditions, sizes) or answer.output is None:
        return at_zero.output is not None or (at_zero.problem and at_zero.problem.rule) == MISSING_SWITCH
    try:
        expected = put_in(answer.output, answer.results, sizes)
        remaining = combine(part for condition in answer.conditions for part in put_sizes_in(condition, sizes))
    except ZeroDivisionError:
        return True
    output = at_zero.output and put_in(at_zero.output, at_zero.results, {})
    return output != expected or {*at_zero.conditions} != {*remaining}


def placed(problem: Problem, request: Request) -> Problem:
    """Return the problem with the span of its token in the text of the argument."""
    argument = problem.argument or ""
    value = request.input if argument == "input" else request.arguments.get(argument)
    if isinstance(value, str) and problem.index is not None:
        from shapecalc.core.values import slice_span  # no other op has slices

        return replace(problem, span=slice_span(request.written.get(argument) or value, problem.index))
    if problem.span or not isinstance(value, tuple):
        return problem
    if shapes_in(value) != (value,):
        return replace(problem, span=operand_span(request, problem.index))
    text = request.written.get(argument) or shape_text(value)
    parts = tokens(text)
    if problem.index is not None and problem.index < len(parts):
        return replace(problem, span=parts[problem.index].span)
    return replace(problem, span=(len(text) - len(text.lstrip()), len(text.rstrip())))


def operand_span(request: Request, index: int | None) -> tuple[int, int]:
    """Return the offsets of one operand in the text of all; None means all."""
    words = operand_words(request)
    if index is None or index >= len(words):
        return 0, len(" ".join(words))
    start = sum([len(word) + 1 for word in words[:index]])
    return start, start + len(words[index])


def ask_chain(shape: str | Iterable[object], stages: Sequence[Asked], sizes: Mapping[str, int]) -> tuple[Request, ...]:
    """Parse the requests of a chain.

    The inputs after the first are empty until the chain is resolved. `stages` are op names with their options; `sizes`
    are substituted in all of them. Raises `ShapeError` (usage) for an invalid stage.
    """
    requests: list[Request] = []
    if len(stages) > MOST_STAGES:
        raise MOST_STAGES.passed(f"{len(stages)} stages", argument="stages")
    for op, options in stages:
        others = {name: value for name, value in options.items() if name != "where"}
        requests.append(ask(op, _known_input(requests, op, others) if requests else shape, others))
        sizes = {**sizes, **(read_sizes(options["where"]) if options.get("where") is not None else {})}
    if not requests:
        raise misuse("a chain needs at least one stage", "write INPUT | reshape TARGET")
    for request in requests[:-1]:
        if OPS[request.op].ends_chain:
            raise misuse(f"{request.op} must be the last stage: it returns the dims as a vector, not a tensor")
    present = names(_dims(requests))
    if len(present) * len(requests) > MOST_CHAIN_NAMES:
        raise MOST_CHAIN_NAMES.passed(f"{len(present)} names in {len(requests)} stages", argument="stages")
    check_names_known(sizes, present)
    return tuple([with_sizes(request, sizes) for request in requests] if sizes else requests)


def _known_input(before: Sequence[Request], op: str, options: Mapping[str, object]) -> Shape:
    """Return the input of a later stage if it names axes by their dims, otherwise ().

    Raises `ShapeError` (usage) if it does so after a refused stage.
    """
    from shapecalc.core.ask import names_axes  # used for chains only

    if not names_axes(op, options):
        return ()
    output = resolve_chain(before).output
    if output is None:
        raise misuse(f"{op} names its axes, and a stage before it is refused", "name the axes by their numbers")
    return output


def resolve_chain(requests: Sequence[Request], resolve_one: Callable[[Request], Trace] = resolve) -> Chain:
    """Resolve the requests of a chain, each on the output of the one before.

    Raises `ShapeError` (usage) if the stages have too many dims in total.
    """
    answer, dims = _chained(requests, resolve_one), _dims(requests)
    if answer.problem or all_known(dims):
        return answer
    return answer.assuming(lambda: _zero_sensitive(answer, dims, lambda zero: _chain_with_zeros(requests, zero)))


def _dims(requests: Sequence[Request]) -> Shape:
    return tuple(dim for request in requests for dim in request.dims)


def _chain_with_zeros(requests: Sequence[Request], sizes: Mapping[str, int]) -> Chain:
    try:
        return _chained([with_sizes(request, sizes) for request in requests], resolve)
    except ShapeError as error:
        return Chain(requests[0].input, (), None, error.problem)


def _chained(requests: Sequence[Request], resolve_one: Callable[[Request], Trace]) -> Chain:
    """Resolve the requests up to the first refused one, and combine their conditions."""
    shape: Shape = requests[0].input
    traces: list[Trace] = []
    conditions: Conditions = ()
    total_dims, work = 0, Work(MOST_COMBINED)
    for request in requests:
        total_dims += len(shape)
        if total_dims > MOST_CHAIN_DIMS:
            raise MOST_CHAIN_DIMS.passed(f"{total_dims} dims up to stage {len(traces) + 1}", argument="stages")
        trace = resolve_one(_on(shape, request, traces))
        try:
            conditions = combine((*conditions, *trace.conditions), work) if trace.conditions else conditions
        except Never:
            trace = trace.with_problem(contradiction((*conditions, *trace.conditions)).problem)
        traces.append(trace)
        if trace.problem:
            message = f"stage {len(traces)}, {trace.op}: {trace.problem.message}"
            return Chain(requests[0].input, tuple(traces), None, replace(trace.problem, message=message))
        shape = trace.output or ()
    return Chain(requests[0].input, tuple(traces), shape, None, conditions)


def _on(shape: Shape, request: Request, before: Sequence[Trace]) -> Request:
    """Return the request of a stage on the output of the earlier stages."""
    if before and not all_known(shape + request.dims):
        used: dict[str, Result | None] = dict.fromkeys(names(_dims([trace.request for trace in before])))
        results = {name: result for trace in before for name, result in trace.results.items()}
        request = replace(request, known=used | results)
    request = replace(request, input=shape)
    if request.op != "view" or not before:
        return request
    from shapecalc.core.ops.view import with_strides  # no other op depends on the strides of its input

    return with_strides(request, before)
