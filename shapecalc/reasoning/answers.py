"""Answers to requests and chains, with hints.

The search for fixes is imported only for an answer that it may improve, since importing it takes a tenth of the time of
a whole request.
"""

from __future__ import annotations

from shapecalc.core.answers import Chain, Request, Trace
from shapecalc.core.record import replace
from shapecalc.core.resolve import make_chain_requests, resolve, resolve_chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shapecalc.core.requests import StageRequest

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
