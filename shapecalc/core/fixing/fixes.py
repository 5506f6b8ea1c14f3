"""What would make a refused request resolve, as data, ready to be applied.

Every change that `candidates` names is asked again before it is offered, so a fix is right by definition. Only one
option is changed: the argument at fault, the dialect's switch, or the opset.
"""

from __future__ import annotations

from itertools import islice

from shapecalc.core.answers.request import Request
from shapecalc.core.answers.stage import Kind
from shapecalc.core.asking.ask import ask, switch_name
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.asking.setting import DEFAULT_OPSET
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.fixing.batch import batch_moved, kept_first
from shapecalc.core.fixing.candidates import batch_changes, changes, last_changes
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.rules.refusals import CONTRADICTION, DTYPE, NEGATIVE_AXIS, NO_SUCH_ATTRIBUTE, NO_SUCH_VERSION
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.record import Record, replace
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shapecalc.core.answers.trace import Trace
    from shapecalc.core.fixing.candidates import Changes
    from shapecalc.core.sizes.problem import Problem

    Answers = Iterator[tuple["Fix", Trace]]

MOST_TRIED = 24
"""How many values for the argument at fault are asked again."""
MOST_CHANGED = 4
"""How many changes to one argument a fix may be made of."""
LONGEST = 256
"""The most dims that a request may have for changes to be looked for."""
RESHAPING = (Kind.RESHAPE, Kind.VIEW)
"""The kinds of stages that may take the first axis elsewhere."""
RAISING = (NO_SUCH_ATTRIBUTE, NO_SUCH_VERSION, NEGATIVE_AXIS, DTYPE)
"""The rules that a newer version of the operator may not have."""


class Fix(Record):
    """One option of a refused request, and the value with which the request resolves."""

    name: str
    """The option: `target`, `perm`, `axis`, `allowzero`, `opset` ..."""
    value: str | bool | None
    """Its value as text, on or off for a switch, None to leave the option out."""
    said: str
    """The change in a few words."""
    every_batch: str = ""
    """Why the change is right for every batch, and not only for that of the request; empty if that is not known."""
    moves: str = ""
    """Where the change takes the batch; empty if it stays first, or if there is none."""


def fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the changes of one option each with which a refused request resolves, those right for every batch first.

    Of a request that resolves for one batch alone, they are those with which it resolves for every batch.

    >>> [fix.said for fix in fixes(resolve(ask("reshape", "2,3,4", {"target": "5,-1"})))]
    ['write 4,-1', 'write 6,-1']
    """
    if trace.problem is None:
        return _lasting(trace) if trace.conditions else ()
    resolving = sorted(_mend(trace, trace.problem, MOST_CHANGED), key=lambda each: bool(each[1].conditions))
    told: dict[object, Fix] = {}
    for fix, answer in resolving:
        for each in with_batch(trace, fix, answer):
            told.setdefault((each.name, each.value), each)
    return tuple(told.values())


def with_batch(trace: Trace, fix: Fix, answer: Trace) -> list[Fix]:
    """Return a change to a target with those that keep a batch of any size first, and where it takes the batch.

    `answer` is what the request with the change leads to. One that takes the batch elsewhere comes last.
    """
    stage = next((each for each in answer.stages if each.argument == fix.name and each.kind in RESHAPING), None)
    asked, value = (each.request.arguments.get(fix.name) for each in (trace, answer))
    if fix.every_batch or stage is None or stage.after is None or answer.request.arguments.get("reverse"):
        return [fix]
    if not isinstance(asked, tuple) or not isinstance(value, tuple):
        return [fix]
    moved = batch_moved(stage.before, stage.after)
    kept = kept_first(stage.before, stage.after, asked, value)
    tried = _asked_again(trace.request, _worded(trace.request, ((fix.name, *each) for each in kept)))
    found = [each for each, again in tried if again.output is not None]
    return [*found, replace(fix, said=f"{fix.said}: {moved}", moves=moved)] if moved else [fix, *found]


def single_fixes(trace: Trace, problem: Problem, name: str | None = None) -> Iterator[Fix]:
    """Yield the changes of one option that resolve a refused request, each made once.

    `name` asks for changes of that option. It finds first what `fixes` finds, with less asked again.
    """
    if len(trace.request.dims) > LONGEST:
        return
    tries = (each for each in _tries(trace, problem) if name in (None, each[0].name))
    yield from (fix for fix, answer in tries if answer.output is not None)


def _lasting(trace: Trace) -> tuple[Fix, ...]:
    """Return the changes with which an answer that holds under conditions no longer depends on the batch."""
    if len(trace.request.dims) > LONGEST:
        return ()
    asked = _asked_again(trace.request, _worded(trace.request, batch_changes(trace)))
    fewer = len(trace.conditions)
    return tuple(fix for fix, answer in asked if answer.output is not None and len(answer.conditions) < fewer)


def apply(request: Request, fix: Fix) -> Request:
    """Return the request with the fix applied; raise `ShapeError` (usage) if it does not take the value.

    >>> apply(ask("reshape", "2,3,4", {"target": "5,-1"}), Fix("target", "4,-1", "write 4,-1")).arguments
    {'target': (4, -1)}
    """
    switch = DIALECTS[request.dialect].switch
    options = {"dialect": request.dialect, "opset": request.opset, "dtype": request.dtype, **request.arguments}
    if switch:
        options[switch.name] = request.switch
    again = ask(request.op, request.input, options | {fix.name: fix.value})
    kept = {name: text for name, text in request.written.items() if name != fix.name}
    return replace(again, written={**kept, **again.written})


def _mend(trace: Trace, problem: Problem, left: int) -> list[tuple[Fix, Trace]]:
    """Return what makes a request resolve, each with its answer; a fix may change one argument `left` times."""
    if problem.rule is CONTRADICTION or len(trace.request.dims) > LONGEST:
        return []
    tried = [*_tries(trace, problem)]
    if not _resolving(tried):
        tried += _asked_again(trace.request, _worded(trace.request, last_changes(trace, problem)))
    if _resolving(tried) or left == 1:
        return _resolving(tried)
    for fix, answer in tried:
        if answer.problem and fix.name == problem.argument == answer.problem.argument:
            further = _mend(answer, answer.problem, left - 1)
            return [each for each in further if each[0].name == fix.name]
    return []


def _resolving(tried: Iterable[tuple[Fix, Trace]]) -> list[tuple[Fix, Trace]]:
    """Return those that resolve, each once."""
    return [*dict(each for each in tried if each[1].output is not None).items()]


def _tries(trace: Trace, problem: Problem) -> Answers:
    """Yield the changes of one option that may help, each with the answer it leads to."""
    request = trace.request
    newer = _newer_opset(request) if problem.rule in RAISING else iter(())
    first = problem.rule is NO_SUCH_ATTRIBUTE
    if first:
        yield from newer
    yield from _asked_again(request, _worded(request, changes(trace, problem)))
    yield from _asked_again(request, _switched(request))
    if not first:
        yield from newer


def _asked_again(request: Request, fixes: Iterable[Fix]) -> Answers:
    """Yield the answers to a request with each of the fixes applied, if it takes them."""
    for fix in fixes:
        try:
            yield fix, resolve(apply(request, fix))
        except ShapeError:
            continue


def _worded(request: Request, changed: Changes) -> Iterator[Fix]:
    """Yield arguments with new values as they would be typed, in words."""
    for name, value, every_batch in islice(changed, MOST_TRIED):
        text = shape_text(value) if isinstance(value, tuple) else None if value is None else str(value)
        what = "" if name in request.arguments else f"{name} "
        why = f": right for every batch, {every_batch}" if every_batch else ""
        said = f"leave {name} out" if text is None else f"write {what}{brief(text)}{why}"
        yield Fix(name, text, said, every_batch)


def _switched(request: Request) -> Iterator[Fix]:
    """Yield the other settings of the dialect's switch, if the op has it."""
    row = DIALECTS[request.dialect]
    name = switch_name(OPS[request.op], row)
    if name and row.switch:
        now = row.switch.default if request.switch is None else request.switch
        yield from (Fix(name, on, f"turn {name} {'on' if on else 'off'}") for on in (True, False) if on is not now)


def _newer_opset(request: Request) -> Answers:
    """Yield the first newer opset in which the request resolves."""
    row = DIALECTS[request.dialect]
    operator = operator_of(OPS[request.op], row)
    versions = operator.versions if operator and row.newest_opset else ()
    newer = [version for version in versions if version > (request.opset or DEFAULT_OPSET)]
    tried = _asked_again(request, (Fix("opset", str(version), f"use opset {version}") for version in newer))
    yield from islice(((fix, answer) for fix, answer in tried if answer.output is not None), 1)
