"""Direct answers: the output of an ordinary request without its steps, for cases by the million.

The ordinary request has whole numbers, no empty tensor, and nothing that a rule refuses; its output takes a line
or two. Everything else goes through the steps, which know the rules; the tests hold both to the same answers.
What repeats from case to case, the setting and the options that the dialect has, is looked up once.
"""

from __future__ import annotations

from math import prod
from operator import itemgetter

from shapecalc.core.dims import INT64_MAX
from shapecalc.core.ones import axes_from_zero
from shapecalc.core.operations import COMMON
from shapecalc.core.ops import parts, permutation
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.request import ask
from shapecalc.core.resolve import answered
from shapecalc.core.rules import Broadcast, Repeats, Zero
from shapecalc.core.setting import check_attributes, setting
from shapecalc.core.text import MOST_DIMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from shapecalc.core.request import Request
    from shapecalc.core.setting import Setting

    Dims = list[int]
    Case = dict[str, Any]

WHOLE = frozenset({int})
SETTINGS = ("op", *(name for name in COMMON if name != "where"))
"""The keys of a case whose values repeat from case to case."""
LOOSE = ("op", "input", "expect", "id", "source")
"""The keys of a case that are no options of its op."""
MOST_KEPT, LONGEST_KEPT = 1024, 200
"""How many plans are remembered, a file has a handful, and how many characters their settings have at most."""


class Plan(Record):
    """What is the same for all cases of one setting."""

    request: Request
    """A request of that setting, without its dims; a list of them is (), a whole number 0."""
    at: Setting
    most: int
    """The largest rank."""
    copies: bool
    """Whether 0 copies a dim."""
    answer: Callable[[Dims, int, Plan, Case], Dims | str | None]


class Form(Record):
    """What is the same for all cases that have the same keys."""

    settings: Callable[[Case], Any]
    plans: dict[object, Plan]


_forms: dict[tuple[str, ...], Form] = {}


def direct_answer(case: Case) -> Dims | str | None:
    """Return the output of a case of whole numbers or the rule that refuses it; None for what cannot be asked so.

    The case is as JSON has it, without floats, and with no booleans but for the switches: True is 1 to a table.

    >>> direct_answer({"op": "reshape", "input": [2, 3, 4], "target": [0, -1]})
    [2, 12]
    >>> direct_answer({"op": "reshape", "input": [2, 3, 4], "target": [5, -1]})
    'indivisible'
    """
    try:
        form = _forms.get(tuple(case))
        plan = (form and form.plans.get(form.settings(case))) or _planned(case)
    except (ShapeError, KeyError, TypeError, RecursionError):
        return None
    shape = case["input"]
    answer = None
    try:
        if type(shape) is not list or (shape and min(shape) < 0):
            return None
        volume = prod(shape)
        if 0 < volume <= INT64_MAX and len(shape) <= plan.most:
            answer = plan.answer(shape, volume, plan, case)
    except TypeError:  # names among the numbers
        return None
    except (ShapeError, ValueError, IndexError):
        pass
    return answer or _traced(shape, plan.request, case)


def _traced(shape: Dims, like: Request, case: Case) -> Dims | str | None:
    """Return the answer by its steps, without the hints; `like` is a request of the same setting."""
    numbers, arguments = shape[:], dict[str, object]()
    for name, value in like.arguments.items():
        given = case[name]
        if type(given) is list and type(value) is tuple:
            arguments[name] = tuple(given)
            numbers += given
        elif type(given) is int and type(value) is int:
            arguments[name] = given
            numbers.append(given)
        else:
            return None
    if not {*map(type, numbers)} <= WHOLE or max(map(abs, numbers), default=0) > INT64_MAX:
        return None
    request = like._replace(input=tuple(shape), arguments=arguments)
    trace = answered(request, symbolic=False, hints=False)
    return trace.problem.rule if trace.problem else list(trace.output or ())  # type: ignore[arg-type]


def options_of(case: Mapping[str, object]) -> dict[str, object]:
    """Return the options of the op that a case has."""
    return {name: value for name, value in case.items() if name not in LOOSE}


def _planned(case: Case) -> Plan:
    """Return the plan for cases of one setting, and remember it; raise `ShapeError` where this one cannot be asked."""
    options = options_of(case)
    if "where" in options or None in options.values():
        raise KeyError("sizes and nulls are not the same for all cases")
    request = ask(case["op"], case["input"], options)
    at = setting(request.dialect, request.op, request.opset, request.switch)
    check_attributes(request, at)
    kinds: dict[str, object] = {name: () if type(value) is tuple else 0 for name, value in request.arguments.items()}
    like = request._replace(input=(), arguments=kinds, written={})
    plan = Plan(like, at, at.row.max_rank or MOST_DIMS, at.rules.zero is Zero.COPIES, ANSWERS[request.op])
    _remember(case, plan)
    return plan


def _remember(case: Case, plan: Plan) -> None:
    """Keep a plan for the cases to come, unless its settings are written at length; forget all where they are many."""
    settings_of = itemgetter(*(name for name in SETTINGS if name in case))
    if len(str(settings_of(case))) > LONGEST_KEPT:
        return
    if sum(len(form.plans) for form in _forms.values()) >= MOST_KEPT:
        _forms.clear()
    _forms.setdefault(tuple(case), Form(settings_of, {})).plans[settings_of(case)] = plan


def _reshaped(shape: Dims, have: int, plan: Plan, case: Case, name: str = "target") -> Dims | str | None:
    target = case[name]
    if type(target) is not list or len(target) > plan.most:
        return None
    if not target:
        return [] if have == 1 else None
    least = min(target)
    if least < 1 and 0 in target:
        if not plan.copies:
            return None
        target = [dim or shape[out] for out, dim in enumerate(target)]
    known = abs(prod(target))
    if not 0 < known <= INT64_MAX:
        return None
    if least > -1:
        return target if known == have else "volume-mismatch"
    target = target[:]
    size, over = divmod(have, known)
    target[target.index(-1)] = size or 1
    if min(target) < 1 or size > (plan.at.row.max_inferred or size):
        return None
    return "indivisible" if over else target


def _transposed(shape: Dims, _have: int, plan: Plan, case: Case, name: str = "perm") -> Dims | None:
    perm = case.get(name)
    if not perm:
        perm, _ = permutation(perm, len(shape), plan.at, name)
    elif sorted(perm) != [*range(len(shape))]:
        return None
    return [shape[axis] for axis in perm]


def _shuffled(shape: Dims | None, have: int, plan: Plan, case: Case) -> Dims | None:
    answer: Dims | str | None = shape
    for name, stage in (("first", _transposed), ("to", _reshaped), ("second", _transposed)):
        if isinstance(answer, list) and case.get(name) is not None:
            answer = stage(answer, have, plan, case, name)
    return answer if isinstance(answer, list) else None  # a permutation that is none comes before a reshape that fails


def _flattened(shape: Dims, _have: int, plan: Plan, case: Case) -> Dims | None:
    merged = parts(len(shape), case.get("axis"), case.get("start_dim"), case.get("end_dim"), plan.at)
    return [prod([shape[axis] for axis in part]) for part in merged]


def _sliced(shape: Dims, _have: int, _plan: Plan, case: Case) -> Dims | None:
    start, end = case.get("start"), case.get("end")
    return shape[start:end] if abs(start or 0) <= INT64_MAX >= abs(end or 0) else None


def _squeezed(shape: Dims, _have: int, plan: Plan, case: Case) -> Dims | None:
    axes = case.get("axes")
    if axes is None:
        return [dim for dim in shape if dim != 1]
    dropped = axes_from_zero(axes, len(shape), plan.at, plan.at.row.repeats)
    if not axes or any(shape[axis] != 1 for axis in dropped):
        return None
    return [dim for axis, dim in enumerate(shape) if axis not in dropped]


def _unsqueezed(shape: Dims, _have: int, plan: Plan, case: Case) -> Dims | None:
    axes = case["axes"]
    rank = len(shape) + len(axes)
    inserted = axes_from_zero(axes, rank, plan.at, Repeats.REFUSED)
    if rank > plan.most:
        return None
    dims = iter(shape)
    return [1 if out in inserted else next(dims) for out in range(rank)]


def _expanded(shape: Dims, _have: int, plan: Plan, case: Case) -> Dims | None:
    target = case["target"]
    rank = max(len(shape), len(target))
    both = plan.at.row.broadcast is Broadcast.BOTH_WAYS
    if rank > plan.most or (target and min(target) < 1) or not (both or rank == len(target)):
        return None
    output = []
    for dim, wanted in zip([1] * (rank - len(shape)) + shape, [1] * (rank - len(target)) + target, strict=True):
        if dim not in (wanted, 1) and not (both and wanted == 1):
            return None
        output.append(dim if wanted == 1 else wanted)
    return output if prod(output) <= INT64_MAX else None


ANSWERS: Mapping[str, Callable[[Dims, int, Plan, Case], Dims | str | None]] = {
    "reshape": _reshaped,
    "transpose": _transposed,
    "shuffle": _shuffled,
    "shape": _sliced,
    "flatten": _flattened,
    "squeeze": _squeezed,
    "unsqueeze": _unsqueezed,
    "expand": _expanded,
}
"""The function that answers an ordinary request for each op."""
