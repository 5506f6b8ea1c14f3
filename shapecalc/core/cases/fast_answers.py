"""Fast answers: the output of an ordinary case without its trace, for cases by the million.

An ordinary case has whole numbers, no empty tensor, and nothing that a rule refuses. Its op's fast answer takes a
line or two. Everything else is resolved by its steps; tests hold both to the same answers. What repeats from case
to case, the setting and the options that the dialect has, is looked up once.
"""

from __future__ import annotations

from math import prod
from operator import itemgetter

from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.common import COMMON
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.asking.setting import check_attributes, setting_of
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.ops.op import Holds
from shapecalc.core.sizes.dims import INT64_MAX
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.record import Record, replace
from shapecalc.core.sizes.text import MOST_DIMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from shapecalc.core.answers.request import Request
    from shapecalc.core.ops.op import FastAnswer

    Dims = list[int]
    Case = dict[str, Any]

WHOLE = frozenset({int})
CHOSEN = {param.name for op in OPS.values() for param in params_of(op) if param.holds in (Holds.WORD, Holds.FLAG)}
"""The parameters of ops that are words, or yes and no."""
SETTINGS = ("op", *(name for name in COMMON if name != "where"), *sorted(CHOSEN))
"""The keys of a case whose values repeat from case to case."""
APART = ("op", "input", "expect", "id", "source")
"""The keys of a case that are no options of its op."""
MOST_KEPT, LONGEST_KEPT = 1024, 200
"""How many routes are remembered (a file has a handful), and how many characters their settings have at most."""


class Route(Record):
    """What is the same for all cases of one setting."""

    request: Request
    """A request of that setting, without its dims. An argument that is a list is (), a whole number is 0. A word, and a
    yes or no, are there as they were read."""
    most: int
    """The largest rank."""
    fast: FastAnswer
    chosen: Mapping[str, object]
    """The arguments that are words, or yes and no."""
    types: Mapping[str, type]
    """The types of the other arguments, by name."""
    first: str | None
    """The name of the op's first argument if that is the only one."""


class Form(Record):
    """What is the same for all cases that have the same keys."""

    settings: Callable[[Case], Any]
    routes: dict[object, Route]


_forms: dict[tuple[str, ...], Form] = {}


def fast_answer(case: Case) -> Dims | str | None:
    """Return the output of a case of whole numbers, or the rule that refuses it; None for any other case.

    The case is as JSON has it, without floats. A boolean may only be the setting of a switch, since a table takes
    True for 1.

    >>> fast_answer({"op": "reshape", "input": [2, 3, 4], "target": [0, -1]})
    [2, 12]
    >>> fast_answer({"op": "reshape", "input": [2, 3, 4], "target": [5, -1]})
    'indivisible'
    """
    try:
        form = _forms[tuple(case)]
        route = form.routes[form.settings(case)]
    except (KeyError, TypeError):
        try:
            route = _find_route(case)
        except (ShapeError, KeyError, TypeError, RecursionError):
            return None
    shape, first, answer = case["input"], route.first, None
    try:
        if type(shape) is not list or (shape and min(shape) < 0):
            return None
        if 0 < prod(shape) <= INT64_MAX and len(shape) <= route.most:
            if first is not None and type(case[first]) is route.types[first]:
                answer = route.fast(shape, case[first])
            else:
                answer = route.fast(shape, **route.chosen, **_arguments(route, case))
    except TypeError:  # names among the numbers, or another type of argument
        return None
    except (ShapeError, ValueError, IndexError):
        pass
    if answer is None:
        return _resolved(shape, route.request, case)
    return answer if type(answer) is list or isinstance(answer, str) else list(answer)


def _arguments(route: Route, case: Case) -> dict[str, Any]:
    """Return the arguments of a case by name; raise `TypeError` if one has not the type that all on its route have."""
    arguments = {}
    for name, kind in route.types.items():
        arguments[name] = argument = case[name]
        if type(argument) is not kind:
            raise TypeError(name)
    return arguments


def _resolved(shape: Dims, like: Request, case: Case) -> Dims | str | None:
    """Return the answer by its steps; `like` is a request of the same setting."""
    numbers, arguments = shape[:], dict[str, object]()
    for name, value in like.arguments.items():
        given = case[name]
        if isinstance(value, (str, bool)):
            arguments[name] = value
        elif type(given) is list and type(value) is tuple:
            arguments[name] = tuple(given)
            numbers += given
        elif type(given) is int and type(value) is int:
            arguments[name] = given
            numbers.append(given)
        else:
            return None
    if not {*map(type, numbers)} <= WHOLE or max(map(abs, numbers), default=0) > INT64_MAX:
        return None
    trace = resolve(replace(like, input=tuple(shape), arguments=arguments))
    return trace.problem.rule if trace.problem else list(trace.output or ())  # type: ignore[arg-type]


def options_of(case: Mapping[str, object]) -> dict[str, object]:
    """Return the options of the op that a case has."""
    return {name: value for name, value in case.items() if name not in APART}


def _find_route(case: Case) -> Route:
    """Return the route for cases of one setting, and remember it; raise `ShapeError` if this case cannot be asked."""
    options = options_of(case)
    if "where" in options or None in options.values():
        raise KeyError("sizes and nulls are not the same for all cases")
    request = ask(case["op"], case["input"], options)
    at, fast = setting_of(request)
    check_attributes(request, at)
    chosen = {name: value for name, value in request.arguments.items() if isinstance(value, (str, bool))}
    kinds = {name: () if type(value) is tuple else 0 for name, value in request.arguments.items() if name not in chosen}
    types = {name: list if value == () else int for name, value in kinds.items()}
    first = [param.name for param in OPS[request.op].params[:1]]
    route = Route(
        request=replace(request, input=(), arguments=chosen | kinds, written={}),
        most=at.row.max_rank or MOST_DIMS,
        fast=fast,
        chosen=chosen,
        types=types,
        first=first[0] if first and list(types) == first and not chosen else None,
    )
    _remember(case, route)
    return route


def _remember(case: Case, route: Route) -> None:
    """Keep a route for the cases to come, unless its settings are long; forget all if they are many."""
    settings_of = itemgetter(*(name for name in SETTINGS if name in case))
    if len(str(settings_of(case))) > LONGEST_KEPT:
        return
    if sum(len(form.routes) for form in _forms.values()) >= MOST_KEPT:
        _forms.clear()
    _forms.setdefault(tuple(case), Form(settings_of, {})).routes[settings_of(case)] = route
