"""Fast answers: the output of an ordinary case without its trace, for cases by the million.

An ordinary case has whole numbers, no empty tensor, and nothing that a rule refuses. Its op's fast answer takes a
line or two. Everything else is resolved by its steps; tests hold both to the same answers. What repeats from case
to case, the setting and the options that the dialect has, is looked up once.
"""

from __future__ import annotations

from math import prod
from operator import itemgetter

from shapecalc.core.ask import COMMON, ask, check_attributes, setting_of
from shapecalc.core.dims import INT64_MAX
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.ops.op import Holds
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.resolve import resolve
from shapecalc.core.text import MOST_DIMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from shapecalc.core.answers import Request
    from shapecalc.core.ops.op import FastAnswer

    Dims = list[int]
    Case = dict[str, Any]
    Answer = Callable[[Case], Dims | str | None]

WHOLE = frozenset({int})
WORDS = (Holds.WORD, Holds.SLICES, Holds.PATTERN, Holds.LENGTHS, Holds.FLAG)
CHOSEN = {param.name for op in OPS.values() for param in params_of(op) if param.holds in WORDS}
"""The parameters of ops that are words, slices, patterns, or yes and no."""
SETTINGS = ("op", *(name for name in COMMON if name != "where"), *sorted(CHOSEN))
"""The keys of a case whose values repeat from case to case."""
APART = ("op", "input", "expect", "id", "source")
"""The keys of a case that are no options of its op."""
MOST_KEPT, LONGEST_KEPT = 1024, 200
"""How many settings and orders of keys are remembered (a file has a handful), and how long their values are at most."""


_forms: dict[frozenset[str] | tuple[str, ...], tuple[Callable[[Case], Any], dict[object, Answer]]] = {}
"""By the keys of cases: what returns the values of their settings, and what answers the cases of each setting.

The keys stand here as a set, and in every order that was met, unless these are many."""


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
        settings_of, answers = _forms[tuple(case)]
        answer = answers[settings_of(case)]
    except (KeyError, TypeError):
        try:
            answer = _known_answer(case) or _find_answer(case)
        except (ShapeError, KeyError, TypeError, RecursionError):
            return None
    return answer(case)


def _answer_by(fast: FastAnswer, most: int, types: Mapping[str, type], like: Request) -> Answer:
    """Return what answers the cases of one setting. `like` is a request of that setting, and `most` the largest rank.

    `types` are those of the arguments that `fast` takes, by name.
    """
    names, kinds = [*types], [*types.values()]
    only, kind = (names[0], kinds[0]) if len(names) == 1 else ("", object)

    def answer(case: Case) -> Dims | str | None:
        shape, found = case["input"], None
        try:
            if type(shape) is not list or (shape and min(shape) < 0):
                return None
            if 0 < prod(shape) <= INT64_MAX and len(shape) <= most:
                if only and type(argument := case[only]) is kind:
                    found = fast(shape, argument)
                else:
                    values = [*map(case.__getitem__, names)]
                    if [*map(type, values)] != kinds:
                        return None
                    found = fast(shape, *values)
        except TypeError:  # names among the numbers
            return None
        except (ShapeError, ValueError, IndexError):
            pass
        if type(found) is list:
            return found
        if found is None:
            return _resolved(shape, like, case)
        return found if isinstance(found, str) else list(found)

    return answer


def _by_position(fast: FastAnswer, names: list[str], chosen: Mapping[str, object]) -> FastAnswer:
    """Return a fast answer that takes the values of these arguments in their order."""
    return lambda shape, *values: fast(shape, **chosen, **dict(zip(names, values, strict=True)))


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


def _known_answer(case: Case) -> Answer | None:
    """Return what answers the cases of one setting if other cases had the same keys, and remember their order here."""
    form = _forms.get(frozenset(case))
    if form is None:
        return None
    if len(_forms) < MOST_KEPT:
        _forms[tuple(case)] = form
    settings_of, answers = form
    return answers.get(settings_of(case))


def _find_answer(case: Case) -> Answer:
    """Return what answers the cases of one setting, and remember it; raise `ShapeError` if this one cannot be asked."""
    options = options_of(case)
    if "where" in options or None in options.values():
        raise KeyError("sizes and nulls are not the same for all cases")
    request = ask(case["op"], case["input"], options)
    at, fast = setting_of(request)
    check_attributes(request, at)
    chosen = {name: value for name, value in request.arguments.items() if isinstance(value, (str, bool))}
    kinds = {name: () if type(value) is tuple else 0 for name, value in request.arguments.items() if name not in chosen}
    types = {name: list if value == () else int for name, value in kinds.items()}
    params = [param.name for param in OPS[request.op].params]
    if chosen or [*types] != params[: len(types)]:
        fast = _by_position(fast, [*types], chosen)
    like = replace(request, input=(), arguments=chosen | kinds, written={})
    answer = _answer_by(fast, at.row.max_rank or MOST_DIMS, types, like)
    _remember(case, answer)
    return answer


def _remember(case: Case, answer: Answer) -> None:
    """Keep what answers the cases to come, unless its settings are long; forget all if they are many."""
    settings_of = itemgetter(*(name for name in SETTINGS if name in case))
    if len(str(settings_of(case))) > LONGEST_KEPT:
        return
    if sum(len(answers) for keys, (_, answers) in _forms.items() if type(keys) is frozenset) >= MOST_KEPT:
        _forms.clear()
    _, answers = _forms.setdefault(frozenset(case), (settings_of, {}))
    answers[settings_of(case)] = answer
