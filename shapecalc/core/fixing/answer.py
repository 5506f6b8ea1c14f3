"""Answers with hints. Every front end asks here.

The answers are those of `asking.resolve`; a refused one says what would help.
"""

from __future__ import annotations

from shapecalc.core.asking.compare import Comparison
from shapecalc.core.asking.compare import compare as compare_by
from shapecalc.core.asking.resolve import ask_chain, resolve, resolve_chain
from shapecalc.core.sizes.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shapecalc.core.answers.request import Request
    from shapecalc.core.answers.trace import Chain, Trace


def answer(request: Request) -> Trace:
    """Return the trace of a request: its answer, or how far it got, the problem, and what would help.

    >>> from shapecalc.core.asking.ask import ask
    >>> answer(ask("transpose", "2,3,4", {"perm": "1,0,1"})).problem.hint
    'not named yet: 2'
    """
    trace = resolve(request)
    if trace.problem is None:
        return trace
    from shapecalc.core.fixing.hints import hint

    return trace.with_problem(replace(trace.problem, hint=hint(trace)))


def answer_chain(
    shape: str | Iterable[object], stages: Sequence[tuple[str, Mapping[str, object]]], sizes: Mapping[str, int]
) -> Chain:
    """Return the answers of several ops, each on the output of the one before.

    `stages` are op names with their options; `sizes` are put in for names in all of them. Raises `ShapeError`
    (usage) for a stage that cannot be read.

    >>> answer_chain("2,3,4", [("transpose", {"perm": "1,0,2"}), ("reshape", {"target": "2,-1,3"})], {}).output
    (2, 4, 3)
    """
    return resolve_chain(ask_chain(shape, stages, sizes), answer)


def compare(
    op: str,
    shape: str | Iterable[object],
    arguments: Mapping[str, object],
    dialects: Sequence[str],
    options: Mapping[str, object],
) -> Comparison:
    """Return the answers to one request under every setting of the named dialects, or of all that have the op.

    Raises `ShapeError` (usage) for what no dialect can read.
    """
    return compare_by(op, shape, arguments, dialects, options, answer)
