"""Ordinary questions of plain numbers, answered at once: their steps are made when they are first read."""

from __future__ import annotations

from shapecalc.core.answers import Request, Trace
from shapecalc.core.ask import operator_in, setting_of
from shapecalc.core.dims import INT64_MAX
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import Holds, steps_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import collect, fast_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeGuard

    from shapecalc.core.dims import Shape

    AtOnce = Callable[[tuple[object, ...], Mapping[str, object]], Trace | None]

TYPES: dict[Holds, type] = {Holds.TARGET: tuple, Holds.AXES: tuple, Holds.PERM: tuple, Holds.INT: int}
"""The types of plain values, by what a parameter holds."""
_known: dict[tuple[str, object], AtOnce] = {}
"""What answers the questions of an op under a dialect, for those that were asked."""


def answer_at_once(op: str, shape: object, options: Mapping[str, object]) -> Trace | None:
    """Return the answer to an ordinary question of whole numbers that nothing refuses; None for any other.

    >>> answer_at_once("reshape", (2, 3, 4), {"target": (0, -1)}).output
    (2, 12)
    >>> answer_at_once("reshape", "2,3,4", {"target": (0, -1)}), answer_at_once("reshape", (2, 3), {"target": (5,)})
    (None, None)
    """
    dialect = options.get("dialect")
    if type(shape) is not tuple or not (dialect is None or type(dialect) is str):
        return None
    answer = _known.get((op, dialect)) or _at_once(op, dialect)
    return None if answer is None else answer(shape, options)


def _at_once(op: str, dialect: str | None) -> AtOnce | None:
    """Return what answers the ordinary questions of an op under a dialect, and remember it; None if all are refused."""
    spec = OPS[op]
    try:
        row, operator = operator_in(spec, dialect)
        at, fast = setting_of(Request(op, (), dialect=row.name))
    except ShapeError:
        return None
    steps, version, settings, most = steps_of(spec, operator), at.version, at.options, row.max_rank
    params = [each for each in (*spec.params, *operator.params) if each.taken_by is None or each.taken_by(row)]
    types = {param.name: TYPES.get(param.holds) for param in params if param.name not in operator.since}
    required = [param.name for param in params if param.required]

    def answer(shape: tuple[object, ...], options: Mapping[str, object]) -> Trace | None:
        arguments = _plain_arguments(options, types, required)
        if arguments is None or not _is_plain(shape, least=1):
            return None
        try:
            output = fast_output(shape, arguments, most, fast)
        except ShapeError:
            return None
        if output is None:
            return None
        request = lambda: Request(op, shape, arguments, row.name)  # noqa: E731
        stages = lambda: collect(steps(shape, at, **arguments))[0]  # noqa: E731
        return Trace(request, version, settings, stages, output)

    _known[op, dialect] = answer
    return answer


def _plain_arguments(
    options: Mapping[str, object], types: Mapping[str, type | None], required: Iterable[str]
) -> dict[str, Any] | None:
    """Return the arguments of a question; None if one is not plain, if one is missing, or if more was given."""
    arguments: dict[str, object] = {}
    for name, value in options.items():
        if value is None or name == "dialect":
            continue
        if type(value) is not types.get(name) or not _is_plain(value if type(value) is tuple else (value,)):
            return None
        arguments[name] = value
    for name in required:
        if name not in arguments:
            return None
    return arguments


def _is_plain(numbers: tuple[object, ...], least: int = -INT64_MAX) -> TypeGuard[Shape]:
    """Say whether these are whole numbers of int64 and of at least `least`."""
    for number in numbers:  # noqa: SIM110 - `all` takes twice as long, on every shape
        if type(number) is not int or not least <= number <= INT64_MAX:
            return False
    return True
