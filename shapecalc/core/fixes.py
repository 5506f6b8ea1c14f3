"""What would make a refused request resolve, as data: the hints that say so in words, ready to be applied.

Every change that `mending` names is asked again before it is offered, so a fix is right by definition.
Only one option is changed: the argument at fault, the dialect's switch, or the opset.
"""

from __future__ import annotations

from itertools import islice

from shapecalc.core.dtypes import ONNX as ONNX_VERSIONS
from shapecalc.core.mending import changes, last_changes
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.request import Request, ask
from shapecalc.core.resolve import answered
from shapecalc.core.rules import DIALECTS
from shapecalc.core.setting import DEFAULT_OPSET, SWITCHED
from shapecalc.core.text import shape_text
from shapecalc.core.wording import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shapecalc.core.problem import Problem
    from shapecalc.core.trace import Trace

MOST_TRIED = 24
"""How many values for the argument at fault are asked again."""
MOST_CHANGED = 4
"""How many changes to one argument a fix may be made of."""
LONGEST = 256
"""The most dims that a request may have for changes to be looked for."""
RAISING = ("no-such-attribute", "no-such-version", "negative-axis", "dtype")
"""The rules that a newer version of the operator may not have."""


class Fix(Record):
    """One option of a refused request, and the value with which the request resolves."""

    name: str
    """The option: `target`, `perm`, `axis`, `allowzero`, `opset` ..."""
    value: str | bool | None
    """Its value as text, on or off for a switch, None to leave the option out."""
    said: str
    """The change in a few words."""


def fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the changes of one option each with which a refused request resolves, the nearest first.

    >>> [fix.said for fix in fixes(answered(ask("reshape", "2,3,4", {"target": "5,-1"})))]
    ['write 4,-1', 'write 6,-1']
    """
    found = _mended(trace, MOST_CHANGED)
    given = trace.request.arguments
    return tuple(
        fix._replace(said=_said(fix, given)) for fix in sorted(found, key=lambda fix: bool(found[fix].conditions))
    )


def fixed(request: Request, fix: Fix) -> Request:
    """Return the request with the fix applied; raise `ShapeError` (usage) where it does not take the value.

    >>> fixed(ask("reshape", "2,3,4", {"target": "5,-1"}), Fix("target", "4,-1", "write 4,-1")).arguments
    {'target': (4, -1)}
    """
    switch = DIALECTS[request.dialect].switch
    options = {"dialect": request.dialect, "opset": request.opset, "dtype": request.dtype, **request.arguments}
    if switch:
        options[switch.name] = request.switch
    again = ask(request.op, request.input, options | {fix.name: fix.value})
    kept = {name: text for name, text in request.written.items() if name != fix.name}
    return again._replace(written={**kept, **again.written})


def _said(fix: Fix, given: Mapping[str, object]) -> str:
    if fix.value is None:
        return f"leave {fix.name} out"
    if isinstance(fix.value, bool):
        return f"turn {fix.name} {'on' if fix.value else 'off'}"
    if fix.name == "opset":
        return f"use opset {fix.value}"
    return f"write {brief(fix.value)}" if fix.name in given else f"write {fix.name} {brief(fix.value)}"


def _mended(trace: Trace, left: int) -> dict[Fix, Trace]:
    """Return what makes a request resolve, each with its answer; a fix may change one argument `left` times."""
    request, problem = trace.request, trace.problem
    if problem is None or problem.rule == "contradiction" or len(request.dims) > LONGEST:
        return {}
    raised = list(_raised(request)) if problem.rule in RAISING else []
    at_fault = _written(problem, changes(trace, problem))
    first = raised[:1] if problem.rule == "no-such-attribute" else []
    tried = _asked(request, [*first, *at_fault, *_switched(request), *raised])
    if not _resolved(tried):
        tried |= _asked(request, _written(problem, last_changes(trace, problem)))
    if _resolved(tried) or left == 1:
        return _resolved(tried)
    for fix, answer in tried.items():
        if answer.problem and fix.name == problem.argument == answer.problem.argument:
            return {further: at for further, at in _mended(answer, left - 1).items() if further.name == fix.name}
    return {}


def _resolved(tried: Mapping[Fix, Trace]) -> dict[Fix, Trace]:
    return {fix: answer for fix, answer in tried.items() if answer.output is not None}


def _asked(request: Request, tries: Iterable[Fix]) -> dict[Fix, Trace]:
    """Return the answers to a request with each of the fixes applied, where it takes them."""
    answers = {}
    for fix in tries:
        try:
            answers[fix] = answered(fixed(request, fix))
        except ShapeError:
            continue
    return answers


def _written(problem: Problem, values: Iterable[object]) -> Iterator[Fix]:
    """Yield new values for the argument at fault as they would be typed."""
    for value in islice(values, MOST_TRIED):
        text = shape_text(value) if isinstance(value, tuple) else None if value is None else str(value)
        yield Fix(str(problem.argument), text, "")


def _switched(request: Request) -> Iterator[Fix]:
    """Yield the other settings of the dialect's switch, where the op has it."""
    row = DIALECTS[request.dialect]
    if row.switch and request.op in SWITCHED:
        now = row.switch.default if request.switch is None else request.switch
        yield from (Fix(row.switch.name, on, "") for on in (True, False) if on is not now)


def _raised(request: Request) -> Iterator[Fix]:
    """Yield the first newer opset in which the request resolves."""
    versions = ONNX_VERSIONS[request.op] if DIALECTS[request.dialect].newest_opset else ()
    newer = [Fix("opset", str(version), "") for version in versions if version > (request.opset or DEFAULT_OPSET)]
    yield from islice(_resolved(_asked(request, newer)), 1)
