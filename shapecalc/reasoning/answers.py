"""Answers to requests and chains, with hints.

The search for fixes is imported only for an answer that it may improve, since importing it takes a tenth of the time of
a whole request.
"""

from __future__ import annotations

from shapecalc.core.answers import EMPTY_DICT, Chain, Request, Trace
from shapecalc.core.conditions import Unsatisfiable, simplify_conditions
from shapecalc.core.record import replace
from shapecalc.core.requests import apply_chain_options
from shapecalc.core.resolve import contradiction_error, make_chain_requests, resolve, resolve_chain
from shapecalc.core.results import used_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shapecalc.core.conditions import Conditions
    from shapecalc.core.dims import Shape
    from shapecalc.core.requests import StageRequest
    from shapecalc.reading.code.results import CodeChain

IDENTITY_STAGES = (("flip", {"axes": (), "dialect": "torch"}),)
"""A chain of one stage that has no effect.

The answer to this chain contains the conditions of the input.
"""


def answer_request(request: Request) -> Trace:
    """Answer a request; add a hint to the problem of a refused request.

    >>> from shapecalc.core.requests import make_request
    >>> answer_request(make_request("transpose", "2,3,4", {"perm": "1,0,1"})).problem.hint
    'not named yet: 2'
    """
    trace = resolve(request)
    if trace.problem is None:
        return trace
    from shapecalc.reasoning.fixing import build_hint

    return trace.with_problem(replace(trace.problem, hint=build_hint(trace)))


def answer_chain(shape: str | Iterable[object], stages: Sequence[StageRequest], sizes: Mapping[str, int]) -> Chain:
    """Answer a chain of ops, each applied to the output of the previous op.

    Without stages, the input is returned unchanged. `stages` are op names with their options; `sizes` replaces names in
    all stages. Raises `ShapeError` (usage) for a stage that cannot be parsed.

    >>> answer_chain("2,3,4", [("transpose", {"perm": "1,0,2"}), ("reshape", {"target": "2,-1,3"})], {}).output
    (2, 4, 3)
    >>> print(answer_chain("N/2,C", (), {}))
    N/2,C when N % 2 == 0
    """
    result = resolve_chain(make_chain_requests(shape, stages or IDENTITY_STAGES, sizes), answer_request)
    if stages:
        return result
    (trace,) = result.traces
    return Chain(trace.input, (trace,) if trace.problem else (), trace.output, trace.problem, trace.conditions)


def answer_code(code: CodeChain, options: Mapping[str, object] = EMPTY_DICT) -> Chain:
    """Answer the chain of code; the answer has the conditions of all tensors on which it depends.

    `options` apply to every stage that supports them.
    """
    return _answer_known_chain(code.input_shape, code.stages, code.conditions, code, options)


def answer_further_results(code: CodeChain, options: Mapping[str, object] = EMPTY_DICT) -> list[Chain]:
    """Answer the chains of the further results of code, each without the conditions of earlier results."""
    answers, stated = list[Chain](), {*code.conditions}
    for shape, stages, conditions in code.other_chains:
        answer = _answer_known_chain(shape, stages, conditions, code, options)
        answers.append(replace(answer, conditions=tuple([one for one in answer.conditions if one not in stated])))
        stated |= {*answer.conditions}
    return answers


def _answer_known_chain(
    shape: Shape,
    own_stages: Sequence[StageRequest],
    stated: Conditions,
    code: CodeChain,
    options: Mapping[str, object],
) -> Chain:
    """Answer a chain of code, with the names and the conditions of the code."""
    stages = apply_chain_options(own_stages, options)
    requests = make_chain_requests(shape, stages or IDENTITY_STAGES, {})
    answer = resolve_chain(requests, answer_request, code.names)
    if not stages:
        answer = replace(answer, traces=answer.traces if answer.problem else ())
    if answer.problem:
        return answer
    every = (*answer.conditions, *stated)
    try:
        conditions = simplify_conditions(every)
    except Unsatisfiable:
        return replace(answer, output=None, problem=contradiction_error(every).problem)
    used_dims = [dim for request in requests for dim in request.dims] + [*(answer.output or ())]
    used_dims += [side for condition in conditions for side in (condition.left, condition.right)]
    answer = replace(answer, conditions=conditions, named_sizes=used_results(code.names, used_dims))
    return replace(answer, assumes=tuple([name for name in answer.assumes if code.names.get(name) is None]))


def batch_hint(answer: Trace | Chain) -> str:
    """Return a hint for making an answer hold for every batch size.

    Returns an empty string unless the answer holds for one batch size only.

    >>> from shapecalc.core.requests import make_request
    >>> batch_hint(resolve(make_request("reshape", "N,6", {"target": "1,2,3", "dialect": "numpy"})))
    'for every batch try -1,2,3, as long as the other sizes stay'
    """
    if answer.problem is not None or not answer.conditions:
        return ""
    from shapecalc.reasoning.fixing import batch_fix_text, find_fixes

    for number, trace in enumerate(answer.traces, 1):
        text = batch_fix_text(find_fixes(trace))
        if text:
            return text if len(answer.traces) == 1 else f"stage {number}, {trace.op}: {text}"
    return ""
