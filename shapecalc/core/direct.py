"""Direct answers: the output of an ordinary request without its steps, for cases by the million.

Only what all dialects answer alike is answered here: whole numbers, no empty tensor, nothing that a rule
refuses. Everything else is None, and `resolve` answers it; the tests hold both to the same answers. What
repeats from case to case, the setting and the options that the dialect has, is looked up once.
"""

from __future__ import annotations

from math import prod
from operator import itemgetter

from shapecalc.core.dims import INT64_MAX
from shapecalc.core.ones import axes_from_zero
from shapecalc.core.operations import COMMON
from shapecalc.core.ops import parts
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.request import ask
from shapecalc.core.rules import Broadcast, Repeats, Zero
from shapecalc.core.setting import check_attributes, setting
from shapecalc.core.text import MOST_DIMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from shapecalc.core.setting import Setting

    Dims = list[int]
    Case = dict[str, Any]

SETTINGS = ("op", *(name for name in COMMON if name != "where"))
"""The keys of a case whose values repeat from case to case."""
LOOSE = ("input", "id", "source", "expect")
"""The keys of a case that are no options of its op."""
MOST_KEPT = 1024
"""How many forms and settings are remembered; a file has a handful."""


class Plan(Record):
    """What is the same for all cases of one setting: the rules, and the function that answers under them."""

    at: Setting
    most: int
    """The largest rank."""
    answer: Callable[[Dims, int, Setting, Case], Dims | None]


class Form(Record):
    """What is the same for all cases that have the same keys."""

    settings: Callable[[Case], Any]
    plans: dict[object, Plan]


_forms: dict[tuple[str, ...], Form] = {}


def direct_output(case: Case) -> Dims | None:
    """Return the output of a case, where it is an ordinary one; None where `resolve` must look.

    The case is as JSON has it, without floats, and with no booleans but for the switches: True is 1 to a table.

    >>> direct_output({"op": "reshape", "input": [2, 3, 4], "target": [0, -1]})
    [2, 12]
    >>> direct_output({"op": "reshape", "input": [2, 3, 4], "target": [5, -1]})
    """
    try:
        form = _forms.get(tuple(case)) or _form(case)
        plan = form.plans.get(form.settings(case)) or _plan(case, form)
        shape = case["input"]
        if type(shape) is not list or len(shape) > plan.most or (shape and min(shape) < 1):
            return None
        volume = prod(shape)
        return plan.answer(shape, volume, plan.at, case) if volume <= INT64_MAX else None
    except (ShapeError, KeyError, TypeError, ValueError, IndexError):
        return None


def _form(case: Case) -> Form:
    """Return the form of a case, and remember it."""
    if len(_forms) >= MOST_KEPT:
        _forms.clear()
    form = _forms[tuple(case)] = Form(itemgetter(*(name for name in SETTINGS if name in case)), {})
    return form


def _plan(case: Case, form: Form) -> Plan:
    """Return the plan for cases of one setting, and remember it; raise `ShapeError` where this one cannot be asked."""
    options = {name: value for name, value in case.items() if name not in LOOSE and name != "op"}
    if "where" in options or None in options.values():
        raise ValueError("what a size or a null stands for is not the same for all cases")
    request = ask(case["op"], case["input"], options)
    at = setting(request.dialect, request.op, request.opset, request.switch)
    check_attributes(request, at)
    if len(form.plans) >= MOST_KEPT:
        form.plans.clear()
    plan = form.plans[form.settings(case)] = Plan(at, at.row.max_rank or MOST_DIMS, ANSWERS[request.op])
    return plan


def _reshaped(shape: Dims, have: int, at: Setting, case: Case, name: str = "target") -> Dims | None:
    target = case[name]
    if type(target) is not list or len(target) > (at.row.max_rank or MOST_DIMS):
        return None
    if not target:
        return [] if have == 1 else None
    least = min(target)
    if least < 1 and 0 in target:
        if at.rules.zero is not Zero.COPIES:
            return None
        target = [dim or shape[out] for out, dim in enumerate(target)]
    known = prod(target)
    if least < 0 and known:
        size, over = divmod(have, -known)
        if over or size > (at.row.max_inferred or size):
            return None
        target = target[:]
        target[target.index(-1)] = known = size
        return target if min(target) > 0 else None
    return target if known == have else None


def _transposed(shape: Dims, have: int, at: Setting, case: Case, name: str = "perm") -> Dims | None:
    perm = case[name]
    if not perm or sorted(perm) != [*range(len(shape))]:
        return None
    return [shape[axis] for axis in perm]


def _shuffled(shape: Dims | None, have: int, at: Setting, case: Case) -> Dims | None:
    for name, answer in (("first", _transposed), ("to", _reshaped), ("second", _transposed)):
        if shape is not None and case.get(name) is not None:
            shape = answer(shape, have, at, case, name)
    return shape


def _flattened(shape: Dims, have: int, at: Setting, case: Case) -> Dims | None:
    merged = parts(len(shape), case.get("axis"), case.get("start_dim"), case.get("end_dim"), at)
    return [prod([shape[axis] for axis in part]) for part in merged]


def _sliced(shape: Dims, have: int, at: Setting, case: Case) -> Dims | None:
    start, end = case.get("start"), case.get("end")
    return shape[start:end] if abs(start or 0) <= INT64_MAX >= abs(end or 0) else None


def _squeezed(shape: Dims, have: int, at: Setting, case: Case) -> Dims | None:
    axes = case.get("axes")
    if axes is None:
        return [dim for dim in shape if dim != 1]
    dropped = axes_from_zero(axes, len(shape), at, at.row.repeats)
    if not axes or any(shape[axis] != 1 for axis in dropped):
        return None
    return [dim for axis, dim in enumerate(shape) if axis not in dropped]


def _unsqueezed(shape: Dims, have: int, at: Setting, case: Case) -> Dims | None:
    axes = case["axes"]
    rank = len(shape) + len(axes)
    inserted = axes_from_zero(axes, rank, at, Repeats.REFUSED)
    if rank > (at.row.max_rank or MOST_DIMS):
        return None
    dims = iter(shape)
    return [1 if out in inserted else next(dims) for out in range(rank)]


def _expanded(shape: Dims, have: int, at: Setting, case: Case) -> Dims | None:
    target = case["target"]
    rank = max(len(shape), len(target))
    both = at.row.broadcast is Broadcast.BOTH_WAYS
    if rank > (at.row.max_rank or MOST_DIMS) or (target and min(target) < 1) or not (both or rank == len(target)):
        return None
    output = []
    for dim, wanted in zip([1] * (rank - len(shape)) + shape, [1] * (rank - len(target)) + target, strict=True):
        if dim not in (wanted, 1) and not (both and wanted == 1):
            return None
        output.append(dim if wanted == 1 else wanted)
    return output if prod(output) <= INT64_MAX else None


ANSWERS: Mapping[str, Callable[[Dims, int, Setting, Case], Dims | None]] = {
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
