"""Resolve requests and chains, without hints for refused requests.

Front ends call `reasoning.answers.answer_request`, which adds the hints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from shapecalc.core.answers import EMPTY_DICT, Chain, Request, Stages, Step, Trace, collect_shapes, final_shape
from shapecalc.core.conditions import (
    Condition,
    Conditions,
    Unsatisfiable,
    WorkBudget,
    can_hold,
    require_at_least,
    require_divisible,
    simplify_conditions,
    substitute_condition,
)
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import check_rank, compute_volume, element_type_name
from shapecalc.core.dims import (
    Monomial,
    Shape,
    dim_names,
    is_always_integral,
    is_concrete,
    is_negative,
    named_dim,
    numeric_dims,
    product,
    sum_terms,
)
from shapecalc.core.limits import MAX_CHAIN_DIMS, MAX_CHAIN_NAMES, MAX_CHAIN_WORK, MAX_STAGES, MAX_ZERO_TESTED_NAMES
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError, rule_error, usage_error
from shapecalc.core.record import FrozenDict, replace
from shapecalc.core.requests import (
    StageRequest,
    check_attributes,
    check_size_names,
    make_request,
    operand_texts,
    select_rules,
    substitute_sizes,
)
from shapecalc.core.results import NameAllocator, SizeExpression, sizes_with_results, substitute_results
from shapecalc.core.rules import CONTRADICTION, INDIVISIBLE, MISSING_SWITCH, WRITTEN_FRACTION
from shapecalc.core.text import shape_text, tokenize_shape, truncate
from shapecalc.core.values import parse_sizes


def resolve(request: Request) -> Trace:
    """Resolve a request.

    The trace contains the output, or the problem and the steps before the problem.

    >>> resolve(make_request("transpose", "2,3,4", {"perm": "1,0,2"})).output
    (3, 2, 4)
    """
    shape, symbolic, dtype = request.input, request.is_symbolic, request.dtype
    try:
        rules = select_rules(request)
        operator = rules.operator
        if operator.params_since or operator.required_since or dtype:
            check_attributes(request, rules)
        check_rank(shape, rules.dialect, "input")
        compute_volume(shape, "input")
        input_steps = _make_fraction_steps(request) if symbolic else ()
    except ShapeError as error:
        same = _resolve_for_every_switch(request) if error.problem.rule is MISSING_SWITCH else None
        return same or Trace(request, problem=locate_problem(error.problem, request))
    if symbolic:
        rules = rules.with_names(NameAllocator(request.names, request.names_in_use))
    problem: Problem | None = None
    conditions: Conditions = ()
    try:
        stages: Stages = rules.resolve(shape, rules, **request.arguments)
    except ShapeError as error:
        stages, problem = error.stages, locate_problem(error.problem, request)
    if symbolic and problem is None:
        stated = _collect_conditions(input_steps, stages)
        try:
            conditions = simplify_conditions(stated)
        except Unsatisfiable:
            problem = locate_problem(contradiction_error(stated).problem, request)
    results = FrozenDict(rules.names.new_results) if symbolic else EMPTY_DICT
    options = rules.options
    if dtype:
        options = FrozenDict({**options, "dtype": element_type_name(dtype, rules.dialect)})
    if problem is not None:
        return Trace(request, rules.version, options, stages, None, problem, (), input_steps, results)
    output = final_shape(shape, stages)
    assumes = _find_nonzero_names if symbolic else ()
    return Trace(
        request, rules.version, options, stages, output, None, conditions, input_steps, results, rules.extras, assumes
    )


def _resolve_for_every_switch(request: Request) -> Trace | None:
    """Return the answer if it does not depend on an omitted switch.

    Returns None if a setting of the switch leads to a refusal or to a different answer.
    """
    first, *others = [resolve(replace(request, switch=on)) for on in DIALECTS[request.dialect].switch_settings()]
    if first.output is None:
        return None
    if any((other.output, other.conditions) != (first.output, first.conditions) for other in others):
        return None
    options = {name: None if isinstance(value, bool) else value for name, value in first.options.items()}
    return replace(first, request=request, options=FrozenDict(options))


def _collect_conditions(input_steps: tuple[Step, ...], stages: Stages) -> Conditions:
    steps = [*input_steps, *[step for stage in stages for step in stage.steps]]
    return tuple([condition for step in steps for condition in step.conditions])


def _find_nonzero_names(trace: Trace) -> tuple[str, ...]:
    """Return the names of the sizes that a trace assumes to be nonzero."""
    request = trace.request
    return _find_zero_sensitive_names(trace, request.dims, lambda sizes: resolve_with_sizes(request, sizes))


def _make_fraction_steps(request: Request) -> tuple[Step, ...]:
    """Return one step for each fraction in the request.

    The condition of the step is that the fraction, such as `N/2`, is an integer. Raises `ShapeError` (indivisible) if
    no sizes satisfy the condition.
    """
    if all(map(is_always_integral, request.dims)):
        return ()
    steps = []
    for argument, value in (("input", request.input), *request.arguments.items()):
        for index, dim in enumerate([dim for dims in collect_shapes(value) for dim in dims]):
            if is_always_integral(dim):
                continue
            try:
                steps.append(Step(WRITTEN_FRACTION, None, (), dim, require_divisible(dim, 1)))
            except Unsatisfiable:
                message = f"{truncate(str(dim))} is not a whole number for any sizes"
                raise rule_error(INDIVISIBLE, message, argument=argument, index=index) from None
    return tuple(steps)


def contradiction_error(conditions: Conditions) -> ShapeError:
    """Return the error for conditions that no sizes satisfy together."""
    text = " and ".join(dict.fromkeys(map(str, conditions)))
    return rule_error(CONTRADICTION, f"no sizes meet {text} at once", argument="input")


def resolve_with_sizes(request: Request, sizes: Mapping[str, int]) -> Trace:
    """Resolve a request after substituting sizes for names.

    If a dim becomes invalid, the trace contains the problem.
    """
    try:
        return resolve(substitute_sizes(request, sizes))
    except ShapeError as error:
        return Trace(request, problem=error.problem)


def _find_zero_sensitive_names(
    answer: Trace | Chain, dims: Shape, resolve_with: Callable[[Mapping[str, int]], Trace | Chain]
) -> tuple[str, ...]:
    """Return the names in `dims` whose sizes the answer assumes to be nonzero.

    `resolve_with` resolves the same request after substituting sizes for names.
    """
    above = dim_names([condition.left for condition in answer.conditions if condition.relation == ">="])
    candidates = sorted({*dim_names(dims)} - {*above})
    if len(candidates) > MAX_ZERO_TESTED_NAMES:
        return ()
    return tuple([name for name in candidates if _is_wrong_at_zero(answer, resolve_with({name: 0}), {name: 0})])


def _is_wrong_at_zero(answer: Trace | Chain, zero_answer: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    """Return whether `answer` contradicts `zero_answer` after substituting `sizes`."""
    least = [condition for condition in answer.conditions if condition.relation == ">="]
    if not can_hold(least, sizes):
        return False
    if not can_hold(answer.conditions, sizes) or answer.output is None:
        return zero_answer.output is not None or (zero_answer.problem and zero_answer.problem.rule) == MISSING_SWITCH
    try:
        expected = substitute_results(answer.output, answer.results, sizes)
        remaining = simplify_conditions(
            part for condition in answer.conditions for part in substitute_condition(condition, sizes)
        )
    except ZeroDivisionError:
        return True
    zero_results = {**answer.results, **zero_answer.results}  # operands may contain names that no stage defines
    output = zero_answer.output and substitute_results(zero_answer.output, zero_results, sizes)
    return output != expected or {*zero_answer.conditions} != {*remaining}


def locate_problem(problem: Problem, request: Request) -> Problem:
    """Add the span of the invalid token to a problem.

    The span is computed on first access.
    """
    return replace(problem, span=lambda _: _find_span(problem, request))


def _find_span(problem: Problem, request: Request) -> tuple[int, int] | None:
    """Return the span of the invalid token in the text of its argument."""
    argument = problem.argument or ""
    value = request.input if argument == "input" else request.arguments.get(argument)
    if isinstance(value, str) and problem.index is not None:
        from shapecalc.core.values import slice_span  # imported here because only the op slice needs it

        return slice_span(request.argument_texts.get(argument) or value, problem.index)
    if problem.span or not isinstance(value, tuple):
        return problem.span
    if collect_shapes(value) != (value,):
        return locate_operand(request, problem.index)
    text = request.argument_texts.get(argument) or shape_text(value)
    parts = tokenize_shape(text)
    if problem.index is not None and problem.index < len(parts):
        return parts[problem.index].span
    return len(text) - len(text.lstrip()), len(text.rstrip())


def locate_operand(request: Request, index: int | None) -> tuple[int, int]:
    """Return the start and end offsets of an operand in the text of all operands.

    If `index` is None, return the offsets of the complete text.
    """
    words = operand_texts(request)
    if index is None or index >= len(words):
        return 0, len(" ".join(words))
    start = sum([len(word) + 1 for word in words[:index]])
    return start, start + len(words[index])


def make_chain_requests(
    shape: str | Iterable[object], stages: Sequence[StageRequest], sizes: Mapping[str, int]
) -> tuple[Request, ...]:
    """Parse the requests of a chain.

    The input of the first request is `shape`. The inputs of the other requests are placeholders, which `resolve_chain`
    replaces. `sizes` are substituted in all stages. Raises `ShapeError` (usage) if a stage is invalid.
    """
    requests: list[Request] = []
    if len(stages) > MAX_STAGES:
        raise MAX_STAGES.error(f"{len(stages)} stages", argument="stages")
    for op, options in stages:
        others = {name: value for name, value in options.items() if name != "where"}
        if requests and requests[0].dtype and isinstance(shape, str) and "dtype" not in stages[0][1]:
            others = {"dtype": requests[0].dtype, **others}  # all stages have the element type of the input text
        requests.append(make_request(op, _resolve_next_input(requests, op, others) if requests else shape, others))
        sizes = {**sizes, **(parse_sizes(options["where"]) if options.get("where") is not None else {})}
    if not requests:
        raise usage_error("a chain needs at least one stage", "write INPUT | reshape TARGET")
    for request in requests[:-1]:
        if OPS[request.op].ends_chain:
            raise usage_error(f"{request.op} must be the last stage: it returns the dims as a vector, not a tensor")
    present = dim_names(_collect_dims(requests))
    if len(present) * len(requests) > MAX_CHAIN_NAMES:
        raise MAX_CHAIN_NAMES.error(f"{len(present)} names in {len(requests)} stages", argument="stages")
    check_size_names(sizes, present)
    if not sizes:
        return tuple(requests)
    sizes = {**sizes, **_compute_result_sizes(requests, sizes)}
    return tuple([substitute_sizes(request, sizes) for request in requests])


def _compute_result_sizes(requests: Sequence[Request], sizes: Mapping[str, int]) -> dict[str, int]:
    """Compute the sizes of the named results in a chain.

    `sizes` contains the sizes that the user specifies. A named result is a dim that is not a product. For example, `H1`
    is `(H - 1)//2 + 1`. The chain is resolved without sizes, because later stages may contain the name `H1` even if the
    size of `H` is known. Raises `ShapeError` (usage) if a size in `sizes` contradicts its definition.
    """
    results = resolve_chain(requests).results if len(requests) > 1 else EMPTY_DICT
    try:
        determined = sizes_with_results(results, {name: size for name, size in sizes.items() if name not in results})
    except ZeroDivisionError:
        return {}
    for name in results:
        if name in sizes and name in determined and sizes[name] != determined[name]:
            message = f"{name} is {results[name]}, which is {determined[name]} here, not {sizes[name]}"
            raise usage_error(message, argument="where")
    return {name: determined[name] for name in results if name in determined}


def _resolve_next_input(requests: Sequence[Request], op: str, options: Mapping[str, object]) -> Shape:
    """Return the input shape that the permutation of the next stage requires.

    Returns () if the permutation contains no names of dims. Raises `ShapeError` (usage) if an earlier stage is refused,
    because the input is then unknown.
    """
    from shapecalc.core.requests import has_named_axes  # imported here because only chains need it

    if not has_named_axes(op, options):
        return ()
    output = resolve_chain(requests).output
    if output is None:
        raise usage_error(f"{op} names its axes, and a stage before it is refused", "name the axes by their numbers")
    return output


def resolve_chain(
    requests: Sequence[Request],
    resolve_one: Callable[[Request], Trace] = resolve,
    known_names: Mapping[str, SizeExpression | None] = EMPTY_DICT,
) -> Chain:
    """Resolve each request of a chain with the output of the previous request.

    `known_names` maps names outside the chain to the definitions of named results, and other names to None. Raises
    `ShapeError` (usage) if the total number of dims is too large.
    """
    answer, dims = _resolve_in_sequence(requests, resolve_one, known_names), _collect_dims(requests)
    if answer.problem or is_concrete(dims):
        return answer

    def find_assumed_names(chain: Chain) -> tuple[str, ...]:
        names = _find_zero_sensitive_names(chain, dims, lambda zero: _resolve_chain_with_sizes(requests, zero))
        return tuple(
            [name for name in names if name not in answer.results]
        )  # conditions already require nonzero results

    return replace(answer, assumes=find_assumed_names)


def _collect_dims(requests: Sequence[Request]) -> Shape:
    return tuple(dim for request in requests for dim in request.dims)


def _resolve_chain_with_sizes(requests: Sequence[Request], sizes: Mapping[str, int]) -> Chain:
    try:
        return _resolve_in_sequence([substitute_sizes(request, sizes) for request in requests], resolve)
    except ShapeError as error:
        return Chain(requests[0].input, (), None, error.problem)


def _resolve_in_sequence(
    requests: Sequence[Request],
    resolve_one: Callable[[Request], Trace],
    known_names: Mapping[str, SizeExpression | None] = EMPTY_DICT,
) -> Chain:
    """Resolve requests up to the first refusal, and combine their conditions."""
    shape: Shape = requests[0].input
    traces: list[Trace] = []
    names: dict[str, SizeExpression | None] = {**known_names}
    conditions: Conditions = ()
    zero_results: dict[str, Conditions] = {}
    """The named results that can be 0. Each name maps to the conditions that exclude 0."""
    total_dims, work = 0, WorkBudget(MAX_CHAIN_WORK)
    for request in requests:
        total_dims += len(shape)
        if total_dims > MAX_CHAIN_DIMS:
            raise MAX_CHAIN_DIMS.error(f"{total_dims} dims up to stage {len(traces) + 1}", argument="stages")
        trace = resolve_one(_make_stage_request(shape, request, traces, names))
        trace = _require_positive_results(trace, zero_results)
        for name in dim_names(trace.request.dims):
            names.setdefault(name)
        names.update(trace.results)
        for name, result in trace.results.items():
            if positive := _require_positive(name, result, zero_results):
                zero_results[name] = positive
        try:
            conditions = simplify_conditions((*conditions, *trace.conditions), work) if trace.conditions else conditions
        except Unsatisfiable:
            trace = trace.with_problem(contradiction_error((*conditions, *trace.conditions)).problem)
        traces.append(trace)
        if trace.problem:
            message = f"stage {len(traces)}, {trace.op}: {trace.problem.message}"
            return Chain(requests[0].input, tuple(traces), None, replace(trace.problem, message=message))
        shape = trace.output or ()
    return Chain(requests[0].input, tuple(traces), shape, None, conditions)


def _require_positive_results(trace: Trace, zero_results: Mapping[str, Conditions]) -> Trace:
    """Add the conditions under which the named results in a stage are positive.

    The rules of ops assume that a named result is at least 1. However, the size of a slice or a rounded size can be 0.
    A condition is added only if the trace is wrong when the result is 0. `zero_results` maps each name that can be 0 to
    the conditions that exclude 0.
    """
    request = trace.request
    used = [name for name in dim_names(request.dims) if name in zero_results] if trace.output is not None else []
    positive = [
        condition
        for name in used
        if _is_wrong_at_zero(trace, resolve_with_sizes(request, {name: 0}), {name: 0})
        for condition in zero_results[name]
    ]
    return replace(trace, conditions=simplify_conditions((*trace.conditions, *positive))) if positive else trace


def _require_positive(name: str, result: SizeExpression, zero_results: Mapping[str, Conditions]) -> Conditions:
    """Return the conditions under which a named result is at least 1.

    Returns no conditions if the result is at least 1 for all sizes. The result is `floor(sum / divisor)`, which is at
    least 1 if the sum is at least the divisor.
    """
    terms = sum_terms([*result.dividend, *[product((term, result.divisor)) for term in result.terms]])
    least = result.divisor - sum(numeric_dims(terms))
    monomials = [term for term in terms if isinstance(term, Monomial)]
    zeros = [other for other in dim_names(monomials) if other in zero_results]
    needed = tuple([condition for other in zeros for condition in zero_results[other]])

    def lower_bound(zero_names: Sequence[str]) -> int:
        present = [one for one in monomials if not any(other in zero_names or power < 0 for other, power in one.powers)]
        return sum([one.numerator // one.denominator for one in present])

    is_increasing = not any(map(is_negative, monomials))
    if is_increasing and lower_bound(zeros) >= least:
        return ()
    if is_increasing and lower_bound(()) >= least:
        return needed
    if is_increasing and len(monomials) == 1:
        return (*needed, *require_at_least(monomials[0], least))
    return (*needed, Condition(named_dim(name), ">=", 1))


def _make_stage_request(
    shape: Shape, request: Request, traces: Sequence[Trace], names: Mapping[str, SizeExpression | None]
) -> Request:
    """Set the input of a request to `shape`, the output of the previous stage.

    `names` maps the names in earlier stages to the definitions of named results, and other names to None. A view also
    gets the strides of its input.
    """
    names_in_use = names if not is_concrete(shape + request.dims) else EMPTY_DICT
    request = replace(request, input=shape, names_in_use=names_in_use)
    if request.op != "view" or not traces:
        return request
    from shapecalc.core.ops.view import add_input_strides  # imported here because only `view` has strides

    return add_input_strides(request, traces)
