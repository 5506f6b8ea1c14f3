"""Answers to requests and chains, with hints for refused ones.

The module that searches for fixes is imported only when an answer may need a hint, because its import takes a tenth of
the time of a whole request.
"""

from __future__ import annotations

from shapecalc.core.answers import EMPTY_DICT, Chain, Request, Trace
from shapecalc.core.conditions import Unsatisfiable, simplify_conditions
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import replace
from shapecalc.core.requests import apply_chain_options, make_request
from shapecalc.core.resolve import contradiction_error, make_chain_requests, resolve, resolve_chain
from shapecalc.core.results import select_used_results
from shapecalc.core.rules import VOLUME_MISMATCH, ZERO_VOLUME_INFER
from shapecalc.core.text import escape_unprintable, shape_text, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shapecalc.core.conditions import Conditions
    from shapecalc.core.dims import Shape
    from shapecalc.core.requests import StageRequest
    from shapecalc.reading.code.results import CodeChain

IDENTITY_STAGES = (("flip", {"axes": (), "dialect": "torch"}),)
"""The only stage of an otherwise empty chain; it has no effect.

A chain without stages is resolved with this stage, so that its answer contains the conditions on the input shape.
"""


def answer_request(request: Request) -> Trace:
    """Resolve a request, and add a hint if it is refused.

    >>> from shapecalc.core.requests import make_request
    >>> answer_request(make_request("transpose", "2,3,4", {"perm": "1,0,1"})).problem.hint
    'not named yet: 2'
    """
    trace = resolve(request)
    return trace if trace.problem is None else add_hint(trace, trace.problem)


def add_hint(trace: Trace, problem: Problem) -> Trace:
    """Return a refused request with a hint added to its problem."""
    from shapecalc.reasoning.fixing import build_hint

    return trace.with_problem(replace(problem, hint=build_hint(trace)))


def answer_chain(shape: str | Iterable[object], stages: Sequence[StageRequest], sizes: Mapping[str, int]) -> Chain:
    """Resolve a chain of ops, and add a hint if it is refused.

    Without stages, the input is returned unchanged. `stages` are op names with their options; `sizes` maps symbolic
    sizes, which are replaced in all stages, to their values. Raises `ShapeError` (usage) for a stage that cannot be
    parsed.

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
    """Resolve the chain of ops that a line of code applies to its traced tensor.

    The answer has the conditions of all tensors that the code depends on. `options` apply to every stage that supports
    them.
    """
    return _answer_code_chain(code.input_shape, code.stages, code.conditions, code, options)


def answer_further_results(code: CodeChain, options: Mapping[str, object] = EMPTY_DICT) -> list[Chain]:
    """Resolve a chain for each result of the code after the first.

    Each answer omits the conditions of the results before it.
    """
    answers, stated = list[Chain](), {*code.conditions}
    for shape, stages, conditions in code.other_chains:
        answer = _answer_code_chain(shape, stages, conditions, code, options)
        answers.append(replace(answer, conditions=tuple([one for one in answer.conditions if one not in stated])))
        stated |= {*answer.conditions}
    return answers


def _answer_code_chain(
    shape: Shape,
    own_stages: Sequence[StageRequest],
    stated: Conditions,
    code: CodeChain,
    options: Mapping[str, object],
) -> Chain:
    """Resolve one chain of code.

    `stated` are the conditions that other parts of the code imply; they are added to those of the chain.
    """
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
    answer = replace(answer, conditions=conditions, named_sizes=select_used_results(code.names, used_dims))
    return replace(answer, assumes=tuple([name for name in answer.assumes if code.names.get(name) is None]))


def batch_hint(answer: Trace | Chain) -> str:
    """Suggest changes that make an answer valid for every batch size.

    Returns an empty string unless the answer is valid for one batch size only.

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


OTHER_DIALECTS = ("torch", "numpy")
"""The dialects with which each answer is compared, in output order."""


def describe_dialect_differences(answer: Trace | Chain) -> str:
    """Describe in one line how the answers in PyTorch and NumPy differ from `answer`.

    Two answers differ if their shapes or conditions differ, or if one of them is a refusal. A dialect that lacks the op
    or one of its arguments is ignored. Returns an empty string if there is no difference.

    >>> import shapecalc as sc
    >>> describe_dialect_differences(sc.flatten((2, 3, 4)))
    'onnx rules; torch and numpy give 24 (-d torch, or compare)'
    >>> describe_dialect_differences(sc.transpose((2, 3, 4)))
    ''
    """
    dialects = [*dict.fromkeys(trace.dialect for trace in answer.traces)]
    names_by_outcome: dict[tuple[str, str], list[str]] = {}
    for name in OTHER_DIALECTS:
        other = None if dialects == [name] else _answer_in_dialect(answer, name)
        if other is not None and (outcome := _describe_difference(answer, other)):
            names_by_outcome.setdefault(outcome, []).append(name)
    if not names_by_outcome:
        return ""
    texts = [
        " ".join([" and ".join(names), f"{verb}{'s' * (len(names) == 1)}", result])
        for (verb, result), names in names_by_outcome.items()
    ]
    first = next(iter(names_by_outcome.values()))[0]
    return escape_unprintable(f"{' and '.join(dialects)} rules; {'; '.join(texts)} (-d {first}, or compare)")


def _answer_in_dialect(answer: Trace | Chain, dialect: str) -> Trace | Chain | None:
    """Resolve a request or chain under the rules of a dialect.

    Returns None if the dialect lacks an op or an argument.
    """
    stages = [(trace.op, _stage_options(trace, dialect)) for trace in answer.traces]
    try:
        if isinstance(answer, Trace):
            return resolve(make_request(answer.op, answer.input, stages[0][1]))
        return resolve_chain(make_chain_requests(answer.input, stages, {}))
    except ShapeError:
        return None


def _stage_options(trace: Trace, dialect: str) -> Mapping[str, object]:
    dtype = {"dtype": trace.request.dtype} if trace.request.dtype else {}
    return {**trace.request.arguments, **dtype, "dialect": dialect}


def _refusal_reason(refused: Trace | Chain) -> str:
    """Return the message of a refusal.

    If the refusal comes from reading a 0 as a size, a shorter reason is returned.
    """
    assert refused.problem is not None
    target = refused.traces[-1].request.arguments.get("target", ())
    if 0 in target and refused.problem.rule in (ZERO_VOLUME_INFER, VOLUME_MISMATCH):
        return "0 is a size there"
    return refused.problem.message


def _describe_difference(answer: Trace | Chain, other: Trace | Chain) -> tuple[str, str] | None:
    """Describe how another answer differs, as a verb and its object: `("give", "24")`.

    Returns None if the answers are equal.
    """
    if other.output is None:
        return None if answer.output is None or other.problem is None else ("refuse", f"it: {_refusal_reason(other)}")
    conditions = [str(condition) for condition in other.conditions]
    shown = " when ".join([truncate(shape_text(other.output)), *([" and ".join(conditions)] if conditions else [])])
    if answer.output is None or other.output != answer.output:
        return "give", shown
    if {*conditions} == {str(condition) for condition in answer.conditions}:
        return None
    return "give", f"it when {' and '.join(conditions)}" if conditions else "it for all sizes"
