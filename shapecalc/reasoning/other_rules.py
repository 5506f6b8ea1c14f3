"""The answers of PyTorch and NumPy to a request whose dialect nobody named."""

from __future__ import annotations

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import make_chain_requests, resolve, resolve_chain
from shapecalc.core.rules import VOLUME_MISMATCH, ZERO_VOLUME_INFER
from shapecalc.core.text import escape_unprintable, shape_text, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Arguments = Mapping[str, object]

OTHER_DIALECTS = ("torch", "numpy")
"""The dialects whose answers are compared, in the order of the line."""


def describe_other_rules(answer: Trace | Chain) -> str:
    """Return one line on other answers of PyTorch and NumPy; empty if theirs are the same.

    The answers differ in the shape or in the conditions, or one of them is a refusal. A dialect that lacks an op or an
    argument has no answer.

    >>> import shapecalc as sc
    >>> describe_other_rules(sc.flatten((2, 3, 4)))
    'onnx rules; torch and numpy give 24 (-d torch, or compare)'
    >>> describe_other_rules(sc.transpose((2, 3, 4)))
    ''
    """
    dialects = [*dict.fromkeys(trace.dialect for trace in answer.traces)]
    names_by_outcome: dict[tuple[str, str], list[str]] = {}
    for name in OTHER_DIALECTS:
        other = None if dialects == [name] else _answer_under(answer, name)
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


def _answer_under(answer: Trace | Chain, dialect: str) -> Trace | Chain | None:
    """Return the answer under the rules of a dialect; None if it lacks an op or an argument."""
    stages = [(trace.op, _arguments(trace, dialect)) for trace in answer.traces]
    try:
        if isinstance(answer, Trace):
            return resolve(make_request(answer.op, answer.input, stages[0][1]))
        return resolve_chain(make_chain_requests(answer.input, stages, {}))
    except ShapeError:
        return None


def _arguments(trace: Trace, dialect: str) -> Arguments:
    dtype = {"dtype": trace.request.dtype} if trace.request.dtype else {}
    return {**trace.request.arguments, **dtype, "dialect": dialect}


def _reason(refused: Trace | Chain) -> str:
    """Return why an answer is refused; in a requested shape, a 0 that others copy explains it best."""
    assert refused.problem is not None
    target = refused.traces[-1].request.arguments.get("target", ())
    if 0 in target and refused.problem.rule in (ZERO_VOLUME_INFER, VOLUME_MISMATCH):
        return "0 is a size there"
    return refused.problem.message


def _describe_difference(answer: Trace | Chain, other: Trace | Chain) -> tuple[str, str] | None:
    """Return how another answer differs, as a verb and its object; None if it does not."""
    if other.output is None:
        return None if answer.output is None or other.problem is None else ("refuse", f"it: {_reason(other)}")
    conditions = [str(condition) for condition in other.conditions]
    shown = " when ".join([truncate(shape_text(other.output)), *([" and ".join(conditions)] if conditions else [])])
    if answer.output is None or other.output != answer.output:
        return "give", shown
    if {*conditions} == {str(condition) for condition in answer.conditions}:
        return None
    return "give", f"it when {' and '.join(conditions)}" if conditions else "it for all sizes"
