"""Hints: what would help a refused request, in words. They are made of changes that were asked again."""

from __future__ import annotations

from shapecalc.core.asking.ask import switch_name
from shapecalc.core.asking.resolve import resolve, with_zeros
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.dialect import Zero
from shapecalc.core.fixing.candidates import refused_request
from shapecalc.core.fixing.fixes import first_fix
from shapecalc.core.fixing.nearest import nearest_sizes
from shapecalc.core.ops import OPS
from shapecalc.core.rules.refusals import (
    INDIVISIBLE,
    MISSING_SWITCH,
    NEEDS_SIZE,
    NEEDS_SUM,
    NOT_A_PERMUTATION,
    VOLUME_MISMATCH,
)
from shapecalc.core.sizes.dims import names, product
from shapecalc.core.sizes.problem import FILE, USAGE
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.record import replace
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.request import Request
    from shapecalc.core.answers.trace import Trace
    from shapecalc.core.sizes.problem import Problem

MOST_NAMES = 8
"""With how many names 0 is tried."""
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


def _near(trace: Trace, problem: Problem) -> str:
    """Say which change of the argument at fault, or of the opset, would help."""
    asks_for_dims = isinstance(trace.request.arguments.get(str(problem.argument)), tuple)
    if problem.rule in (INDIVISIBLE, VOLUME_MISMATCH) and trace.stages and asks_for_dims:
        return _fitting(trace, problem)
    if problem.rule is NOT_A_PERMUTATION:
        return _missing(trace, problem)
    if problem.rule in (NEEDS_SIZE, NEEDS_SUM):
        return "give the sizes with --where"
    switch = switch_name(OPS[trace.op], DIALECTS[trace.dialect])
    mended = first_fix(trace, problem)
    return mended[0].said if mended and mended[0].name != switch else ""


def _fitting(trace: Trace, problem: Problem) -> str:
    """Say which sizes would fit in place of one number of the target."""
    at = refused_request(trace, problem)
    index, sizes = nearest_sizes(product(at.shape), at.value, at.settled, at.hole)
    mended = first_fix(trace, problem, problem.argument) if sizes else None
    if mended is None or mended[0].value != shape_text(at.put(sizes[0], at=index)):
        return ""
    whole = str(mended[0].value)
    short = whole == brief(whole)
    action = f"try {whole}" if short else f"write {sizes[0]} in place of the {at.value[index]} at index {index}"
    return action if at.hole is None else f"{' and '.join(map(str, sorted(sizes)))} would divide: {action}"


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
