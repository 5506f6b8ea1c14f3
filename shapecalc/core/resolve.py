"""Answers: one request, or several in a row, without what would need to look for a fix.

`fixing.answer` gives the same answers with hints; front ends ask there.
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
    """Return the trace of a request: its answer, or how far it got and the problem that stopped it.

    >>> resolve(ask("transpose", "2,3,4", {"perm": "1,0,2"})).output
    (3, 2, 4)
    """
    symbolic = request.symbolic
    try:
        at = setting_of(request)
        if at.operator.since or at.operator.required or request.dtype:
            check_attributes(request, at)
        check_rank(request.input, at.row, "input")
        checked_volume(request.input, "input")
        given = _fractions(request) if symbolic else ()
    except ShapeError as error:
        same = _same_at_every_setting(request) if error.problem.rule is MISSING_SWITCH else None
        return same or Trace(request, problem=placed(error.problem, request))
    naming = Naming(names(request.dims), request.known) if symbolic else None
    stages, problem = _collect(at.steps(request.input, at, **request.arguments), naming)
    results = naming.new if naming else NONE
    options = {**at.options, "dtype": spelled(request.dtype, at.row)} if request.dtype else at.options
    if problem is not None:
        refused = placed(problem, request)
        return Trace(request, at.version, options, stages, problem=refused, given=given, results=results)
    output = stages[-1].after if stages else request.input
    answer = Trace(request, at.version, options, stages, output, given=given, results=results)
    answer = _with_conditions(answer) if symbolic else answer
    tells = OPS[request.op].tells
    return answer.telling(tells) if tells is not None else answer


def _same_at_every_setting(request: Request) -> Trace | None:
    """Return the answer that a dialect gives at every setting of a switch that was left out; None if they differ."""
    same, *others = [resolve(replace(request, switch=on)) for on in DIALECTS[request.dialect].settings()]
    if same.output is None or any((each.output, each.conditions) != (same.output, same.conditions) for each in others):
        return None
    options = {name: None if isinstance(value, bool) else value for name, value in same.options.items()}
    found = replace(same, request=request, options=options)
    return _with_conditions(found) if request.symbolic else found


def _collect(reasons: Reasons, naming: Naming | None) -> tuple[tuple[Stage, ...], Problem | None]:
    """Return the stages that an op yields as far as it gets, and the problem that stopped it.

    A stage that was begun and then left without a step is dropped: an op may check an argument before its turn.
    """
    done: list[Stage] = []
    begun: Stage | None = None
    steps: list[Step] = []
    try:
        for event in reasons:
            if type(event) is Step:
                steps.append(event)
            elif type(event) is Stage:
                begun, steps = event, []
            elif type(event) is Wanted:
                naming.name(event)  # type: ignore[union-attr]  # only names make a size that wants one
            elif begun is not None:
                done.append(begun.finish(steps, event))  # type: ignore[arg-type]  # it is a move: nothing else is left
                begun = None
    except ShapeError as error:
        stopped = [] if begun is None else [begun.finish(steps, None)]
        return (*done, *stopped), error.problem
    return tuple(done), None


def _with_conditions(trace: Trace) -> Trace:
    """Return an answer that has names with what its steps need, and what it assumes."""
    request = trace.request
    conditions: Conditions = tuple([condition for step in trace.steps for condition in step.conditions])
    try:
        conditions = conditions and combine(conditions)
    except Never:
        return trace.with_problem(placed(contradiction(conditions).problem, request))
    found = replace(trace, conditions=conditions)
    return found.assuming(lambda: _zero_sensitive(found, request.dims, lambda sizes: with_zeros(request, sizes)))


def _fractions(request: Request) -> tuple[Step, ...]:
    """Return a step for every written fraction: it carries its own divisibility."""
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
    """Return the error for conditions that no sizes can meet together."""
    listed = " and ".join(dict.fromkeys(map(str, conditions)))
    return refusal(CONTRADICTION, f"no sizes meet {listed} at once", argument="input")


def with_zeros(request: Request, sizes: Mapping[str, int]) -> Trace:
    """Return the answer to a request with sizes put in for names; refused if a dim cannot take them."""
    try:
        return resolve(with_sizes(request, sizes))
    except ShapeError as error:
        return Trace(request, problem=error.problem)


def _zero_sensitive(
    answer: Trace | Chain, dims: Shape, again: Callable[[Mapping[str, int]], Trace | Chain]
) -> tuple[str, ...]:
    """Return the names in `dims` whose being 0 would change `answer`, which is asked again with 0 for each of them."""
    above = names([each.left for each in answer.conditions if each.relation == ">="])
    asked = sorted({*names(dims)} - {*above})
    if len(asked) > MOST_ZEROS:
        return ()
    return tuple([name for name in asked if _changed(answer, again({name: 0}), {name: 0})])


def _changed(answer: Trace | Chain, at_zero: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    least = [condition for condition in answer.conditions if condition.relation == ">="]
    if not holds(least, sizes):
        return False
    if not holds(answer.conditions, sizes) or answer.output is None:
        return at_zero.output is not None or (at_zero.problem and at_zero.problem.rule) == MISSING_SWITCH
    try:
        expected = put_in(answer.output, answer.results, sizes)
        left = combine(simpler for condition in answer.conditions for simpler in put_sizes_in(condition, sizes))
    except ZeroDivisionError:
        return True
    output = at_zero.output and put_in(at_zero.output, at_zero.results, {})
    return output != expected or {*at_zero.conditions} != {*left}


def placed(problem: Problem, request: Request) -> Problem:
    """Return a problem with the characters of its token in the argument as it was written."""
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
    places = tokens(text)
    if problem.index is not None and problem.index < len(places):
        return replace(problem, span=places[problem.index].span)
    return replace(problem, span=(len(text) - len(text.lstrip()), len(text.rstrip())))


def operand_span(request: Request, index: int | None) -> tuple[int, int]:
    """Return the characters of one of the operands as they are written, or of all."""
    words = operand_words(request)
    if index is None or index >= len(words):
        return 0, len(" ".join(words))
    start = sum([len(word) + 1 for word in words[:index]])
    return start, start + len(words[index])


def ask_chain(shape: str | Iterable[object], stages: Sequence[Asked], sizes: Mapping[str, int]) -> tuple[Request, ...]:
    """Return the requests of a chain; the inputs of all but the first are not known yet.

    `stages` are op names with their options; `sizes` are put in for names in all of them. Raises `ShapeError`
    (usage) for a stage that cannot be read.
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
    """Return the input of a later stage if its request names axes by their dims; of other stages it can wait.

    Raises `ShapeError` (usage) if it names them behind a stage that is refused.
    """
    from shapecalc.core.ask import names_axes  # a request that is no chain starts without it

    if not names_axes(op, options):
        return ()
    output = resolve_chain(before).output
    if output is None:
        raise misuse(f"{op} names its axes, and a stage before it is refused", "name the axes by their numbers")
    return output


def resolve_chain(requests: Sequence[Request], resolve_one: Callable[[Request], Trace] = resolve) -> Chain:
    """Return the answers to the requests of a chain, each on the output of the one before.

    Raises `ShapeError` (usage) if they have too many dims together.
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
    """Return the traces in turn, as far as they get, with the conditions of all of them together."""
    shape: Shape = requests[0].input
    done: list[Trace] = []
    conditions: Conditions = ()
    counted, work = 0, Work(MOST_COMBINED)
    for request in requests:
        counted += len(shape)
        if counted > MOST_CHAIN_DIMS:
            raise MOST_CHAIN_DIMS.passed(f"{counted} dims up to stage {len(done) + 1}", argument="stages")
        trace = resolve_one(_on(shape, request, done))
        try:
            conditions = combine((*conditions, *trace.conditions), work) if trace.conditions else conditions
        except Never:
            trace = trace.with_problem(contradiction((*conditions, *trace.conditions)).problem)
        done.append(trace)
        if trace.problem:
            message = f"stage {len(done)}, {trace.op}: {trace.problem.message}"
            return Chain(requests[0].input, tuple(done), None, replace(trace.problem, message=message))
        shape = trace.output or ()
    return Chain(requests[0].input, tuple(done), shape, None, conditions)


def _on(shape: Shape, request: Request, before: Sequence[Trace]) -> Request:
    """Return the request of a stage on the output of the stages before it."""
    if before and not all_known(shape + request.dims):
        used: dict[str, Result | None] = dict.fromkeys(names(_dims([trace.request for trace in before])))
        request = replace(request, known=used | {n: each for trace in before for n, each in trace.results.items()})
    request = replace(request, input=shape)
    if request.op != "view" or not before:
        return request
    from shapecalc.core.ops.view import with_strides  # no other op asks how its input lies in memory

    return with_strides(request, before)
