"""Which names of a request must not be 0: what the steps tell at once, and what has to be asked again.

A request with a thousand names cannot be asked a thousand times. In an op that all dialects share, a 0 changes the
answer only where it becomes a code, where it is divided by, or where element counts are compared.
"""

from __future__ import annotations

from shapecalc.core.answers.moves import Pick
from shapecalc.core.answers.stage import Kind
from shapecalc.core.asking.setting import setting_of
from shapecalc.core.dialects.dialect import EmptyInfer, Zero
from shapecalc.core.rules.steps import KeptDim
from shapecalc.core.sizes.dims import Monomial, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.stage import Stage
    from shapecalc.core.answers.trace import Trace
    from shapecalc.core.dialects.dialect import Reading

    Verdicts = dict[str, bool | None]


def zero_verdicts(trace: Trace) -> Verdicts:
    """Return for every name of an answered request whether a 0 for it changes the answer; None if it is to be asked.

    >>> from shapecalc.core.asking.ask import ask
    >>> from shapecalc.core.asking.resolve import resolve
    >>> zero_verdicts(resolve(ask("reshape", "N,C", {"target": "0,-1"})))
    {'N': True, 'C': False}
    """
    request = trace.request
    at, _ = setting_of(request)
    known = names(request.dims)
    own = at.operator.steps is not None
    if (own and at.operator.heeds_empty) or any(stage.kind is Kind.VIEW for stage in trace.stages):
        return dict.fromkeys(known)
    compared = any(condition.relation == "==" for condition in trace.conditions)
    verdicts: Verdicts = dict.fromkeys(known, None if compared else False)
    broken = _broken_by_zero(trace)
    for stage in trace.stages:
        if isinstance(stage.move, Pick):
            both = zip(stage.before, stage.move.sizes, strict=True)
            verdicts |= dict.fromkeys(names([dim for dim, size in both if size != dim]))
        target = request.arguments.get(stage.argument)
        if stage.kind is Kind.RESHAPE and isinstance(target, tuple):
            verdicts |= _cut_verdicts(stage) if target != stage.asked else _count_verdicts(stage, at.reading, broken)
            if own:
                verdicts |= dict.fromkeys(names(target))
            elif at.reading.zero is Zero.COPIES:
                verdicts |= _code_verdicts(stage, broken)
    return verdicts | dict.fromkeys(_divisors(trace))


def _broken_by_zero(trace: Trace) -> set[str]:
    """Return the names for which a condition cannot hold once they are 0."""
    broken: set[str] = set()
    for condition in trace.conditions:
        if condition.relation == "==":
            broken.update(names((condition.left, condition.right)))
        elif condition.relation == "%":
            broken.update(names((condition.right,)))
    return broken


def _divisors(trace: Trace) -> set[str]:
    """Return the names that something is divided by: in the request as it is written, and in the conditions."""
    divided = {name for dim in trace.request.dims if type(dim) is Monomial for name, power in dim.powers if power < 0}
    return divided.union(*[names((each.right,)) for each in trace.conditions if each.relation == "%"])


def _count_verdicts(stage: Stage, reading: Reading, broken: set[str]) -> Verdicts:
    """Return the verdicts on the names for which a reshape is refused at 0, since the counts differ or say nothing."""
    hole = next((out for out, dim in enumerate(stage.asked) if isinstance(dim, int) and dim < 0), None)
    before, after = stage.before, stage.after or ()
    if 0 in before or 0 in after:
        return dict.fromkeys(names(before + after))
    settled = after if hole is None else after[:hole] + after[hole + 1 :]
    counted = {*names(before)} ^ {*names(settled)} if hole is None else {*names(settled)}
    told = hole is None or reading.empty is EmptyInfer.REFUSED
    return {name: name not in broken if told else None for name in counted}


def _cut_verdicts(stage: Stage) -> Verdicts:
    """Return that the names of axes that are cut, and of their parts, are to be asked; what stays may be empty."""
    cut = [step for step in stage.steps if step.out is not None and not isinstance(step.facts, KeptDim)]
    dims = [dim for step in cut for dim in (step.dim, *[stage.before[axis] for axis in step.sources])]
    return dict.fromkeys(names(dims))


def _code_verdicts(stage: Stage, broken: set[str]) -> Verdicts:
    """Return the verdicts on the names of requested dims that would copy another dim if they were 0."""
    verdicts: Verdicts = {}
    for out, dim in enumerate(stage.asked):
        copied = stage.before[out : out + 1]
        if type(dim) is not Monomial or (dim,) == copied:
            continue
        for name, _ in dim.powers:
            if name in broken or name in names(copied) or 0 in copied:
                verdicts.setdefault(name, None)
            else:
                verdicts[name] = True
    return verdicts
