"""Hints: what would help a refused request, in words. They are made of changes that were asked again."""

from __future__ import annotations

from itertools import islice

from shapecalc.core.asking.ask import switch_name
from shapecalc.core.asking.resolve import resolve, with_zeros
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.dialect import Zero
from shapecalc.core.fixing.candidates import batch_changes, changes, copied_zeros, refused_request
from shapecalc.core.fixing.fixes import apply, fixes, single_fixes, with_batch
from shapecalc.core.fixing.nearest import nearest_sizes
from shapecalc.core.ops import OPS
from shapecalc.core.rules.refusals import (
    INDIVISIBLE,
    MISSING_SWITCH,
    NEEDS_SIZE,
    NEEDS_SUM,
    NOT_A_PERMUTATION,
    VOLUME_MISMATCH,
    ZERO_VOLUME_INFER,
)
from shapecalc.core.sizes.dims import names, product
from shapecalc.core.sizes.problem import FILE, USAGE
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.record import replace
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.core.answers.request import Request
    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.fixing.candidates import Refused
    from shapecalc.core.fixing.fixes import Fix
    from shapecalc.core.sizes.problem import Problem

MOST_NAMES = 8
"""With how many names 0 is tried."""
MOST_FOR_BATCHES = 3
"""How many changes are named where the batch differs: 0, -1, and the batch itself."""
MOST_LISTED = 64
"""The rank up to which a hint lists axes."""


def hint(trace: Trace) -> str:
    """Return what would help a refused request; nothing if nothing short is known.

    >>> from shapecalc.core.asking.ask import ask
    >>> hint(resolve(ask("reshape", "2,3,4", {"target": "5,-1"})))
    '4 and 6 would divide: try 4,-1'
    """
    problem = trace.problem
    if problem is None or problem.rule in (USAGE, FILE):
        return problem.hint if problem else ""
    return "; ".join(filter(None, (_near(trace, problem), _switch(trace.request, problem), _zeros(trace.request))))


def lasting_hint(answer: Trace | Chain) -> str:
    """Return what would let an answer hold for every batch, if it holds for one alone; nothing otherwise.

    >>> from shapecalc.core.asking.ask import ask
    >>> lasting_hint(resolve(ask("reshape", "N,6", {"target": "1,2,3", "dialect": "numpy"})))
    'for every batch try -1,2,3, as long as the other sizes stay'
    """
    if answer.problem is not None or not answer.conditions:
        return ""
    for number, trace in enumerate(answer.traces, 1):
        said = _for_every_batch(fixes(trace))
        if said:
            return said if len(answer.traces) == 1 else f"stage {number}, {trace.op}: {said}"
    return ""


def _for_every_batch(found: Iterable[Fix]) -> str:
    """Say which of some fixes are right for every batch, and why."""
    texts = [f"{brief(str(fix.value))}, {fix.every_batch}" for fix in found if fix.every_batch]
    return f"for every batch try {'; or '.join(texts)}" if texts else ""


def _near(trace: Trace, problem: Problem) -> str:
    """Say which change of the argument at fault, or of the opset, would help."""
    asks_for_dims = isinstance(trace.request.arguments.get(str(problem.argument)), tuple)
    of_the_op = problem.rule in OPS[trace.op].changes
    if meant := _copying(trace, problem):
        return meant
    if problem.rule in (INDIVISIBLE, VOLUME_MISMATCH) and trace.stages and asks_for_dims and not of_the_op:
        return _fitting(trace, problem)
    if problem.rule is NOT_A_PERMUTATION:
        return _missing(trace, problem)
    if problem.rule in (NEEDS_SIZE, NEEDS_SUM):
        copying = trace.op == "view" and problem.argument == "strides"
        return "give the sizes with --where" + (", or write reshape in place of view" if copying else "")
    if problem.rule == "stride-incompatible":
        from shapecalc.core.ops.view import COPY_FIRST  # no other op has it

        return COPY_FIRST
    switch = switch_name(OPS[trace.op], DIALECTS[trace.dialect])
    mended = next(single_fixes(trace, problem), None)
    return mended.said if mended and mended.name != switch else ""


def _copying(trace: Trace, problem: Problem) -> str:
    """Say what to write in place of a 0 that is a size here, where it was meant to copy a dim."""
    meant = {*map(shape_text, copied_zeros(refused_request(trace, problem)))}
    if not meant or problem.rule not in (VOLUME_MISMATCH, ZERO_VOLUME_INFER):
        return ""
    found = [*islice(single_fixes(trace, problem, problem.argument), MOST_FOR_BATCHES)]
    said = [f"here 0 is a size and copies nothing: {fix.said}" for fix in found if fix.value in meant]
    return "; ".join(filter(None, (*said, _for_every_batch(found)))) if said else ""


def _fitting(trace: Trace, problem: Problem) -> str:
    """Say which sizes would fit in place of one number of the target, or why none would."""
    at = refused_request(trace, problem)
    if problem.rule is VOLUME_MISMATCH and next(batch_changes(trace), None) is not None:
        return _for_batches(trace, problem, at)
    index, sizes = nearest_sizes(product(at.shape), at.value, at.settled, at.hole)
    mended = None
    if sizes or next(changes(trace, problem), None) is not None:
        mended = next(single_fixes(trace, problem, problem.argument), None)
    if mended is not None and (moved := _moved(trace, mended)):
        return moved
    nearest = shape_text(at.put(sizes[0], at=index)) if sizes else None
    if mended is None or mended.value != nearest:
        image = f"try {brief(str(mended.value))}" if mended is not None and at.hole is None else ""
        return "; ".join(filter(None, (_lacking(at) if not sizes else "", image)))
    whole = str(mended.value)
    short = whole == brief(whole)
    action = f"try {whole}" if short else f"write {sizes[0]} in place of the {at.value[index]} at index {index}"
    return action if at.hole is None else f"{' and '.join(map(str, sorted(sizes)))} would divide: {action}"


def _moved(trace: Trace, mended: Fix) -> str:
    """Say what keeps the batch first, and where the change takes it; nothing if that leaves it where it is."""
    *kept, last = with_batch(trace, mended, resolve(apply(trace.request, mended)))
    if not last.moves:
        return ""
    return "; ".join(filter(None, (_for_every_batch(kept), f"{brief(str(last.value))} {last.moves}")))


def _for_batches(trace: Trace, problem: Problem, at: Refused) -> str:
    """Say what is right for every batch, and what for that of the input alone."""
    found = [*islice(single_fixes(trace, problem, problem.argument), MOST_FOR_BATCHES)]
    alone = [fix.value for fix in found if not fix.every_batch][:1]
    said = [_for_every_batch(found), *(f"for {at.shape[0]} only {brief(str(value))}" for value in alone)]
    return "; ".join(filter(None, said))


def _lacking(at: Refused) -> str:
    """Say which factors of the target no element count of the input has, where no one size would fit."""
    from shapecalc.core.fixing.factors import factored, missing_factors  # most hints need no factors

    have, asked = product(at.shape), product(at.settled)
    if not isinstance(have, int) or not isinstance(asked, int) or not have or not asked:
        return ""
    missing = missing_factors(have, asked)
    return f"no single size helps: {factored(have)} has {missing}" if missing else ""


def _missing(trace: Trace, problem: Problem) -> str:
    """Say which axes a permutation does not name yet."""
    at = refused_request(trace, problem)
    if at.rank > MOST_LISTED:
        return ""
    absent = [str(axis) for axis in range(at.rank) if axis not in at.value and axis - at.rank not in at.value]
    return f"not named yet: {', '.join(absent)}" if absent else ""


def _switch(request: Request, problem: Problem) -> str:
    """Say what the dialect's switch would change, if the answer depends on it."""
    row = DIALECTS[request.dialect]
    name = switch_name(OPS[request.op], row)
    if name is None or row.switch is None:
        return ""
    if problem.rule is MISSING_SWITCH:
        return "; ".join(_answer_with(request, name, on) for on in (True, False))
    other = not (row.switch.default if request.switch is None else request.switch)
    if resolve(replace(request, switch=other)).output is None:
        return ""
    return _answer_with(request, name, other)


def _answer_with(request: Request, name: str, on: bool) -> str:
    answer = resolve(replace(request, switch=on))
    copies = DIALECTS[request.dialect].readings[on].zero is Zero.COPIES
    means = "0 copies" if copies else "0 is a dim of size zero"
    if answer.problem:
        return f"with {name} {'on' if on else 'off'} ({means}) it is refused: {answer.problem.rule}"
    return f"with {name} {'on' if on else 'off'} ({means}) the answer is {brief(shape_text(answer.output or ()))}"


def _zeros(request: Request) -> str:
    """Say which input names, being 0, would let a symbolic reshape resolve."""
    if not OPS[request.op].switched:
        return ""
    known = names(request.input)[:MOST_NAMES]
    fitting = [name for name in known if with_zeros(request, {name: 0}).output is not None]
    return f"{' or '.join(fitting)} = 0 would resolve" if fitting else ""
