"""Answers: one request, several in a row, or one under every dialect."""

from __future__ import annotations

from collections.abc import Iterable

from shapecalc.core.conditions import Conditions, Never, combined, divides
from shapecalc.core.dims import Shape, all_known, names
from shapecalc.core.dtypes import spelled
from shapecalc.core.limits import check_rank, checked_volume
from shapecalc.core.operations import OPS
from shapecalc.core.problem import ShapeError, misuse, refusal
from shapecalc.core.record import Record
from shapecalc.core.request import Request, ask, check_names_known, found
from shapecalc.core.rules import DIALECTS, SWITCHES, Dialect, Zero
from shapecalc.core.setting import SWITCHED, check_attributes, setting
from shapecalc.core.text import shape_text, tokens
from shapecalc.core.trace import Chain, Step, Trace, contradiction, plain, run, zero_sensitive
from shapecalc.core.values import read_sizes
from shapecalc.core.wording import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.problem import Problem


MOST_TRIED = 8
"""How many names a hint is looked for with."""


def resolve(request: Request) -> Trace:
    """Return the trace of a request: its answer, or how far it got and the problem that stopped it.

    >>> resolve(ask("transpose", "2,3,4", {"perm": "1,0,2"})).output
    (3, 2, 4)
    """
    symbolic = request.symbolic
    trace = answered(request, symbolic=symbolic)
    if trace.problem:
        return _explained(trace, trace.problem)
    if symbolic and (doubtful := _doubtful(request)):
        return trace._replace(assumes=zero_sensitive(trace, doubtful, lambda sizes: _with_zeros(request, sizes)))
    return trace


def _doubtful(request: Request) -> Shape:
    """Return the dims whose names may matter at 0: those requested, and those that a requested 0 copies.

    The other ops never divide, so a 0 goes through them as any size does.
    """
    if request.op == "expand":
        return request.dims
    if request.op not in SWITCHED:
        return ()
    target: Shape = request.arguments.get("target", request.arguments.get("to", ()))
    if request.op == "shuffle":
        return request.input + target if 0 in target else target
    copied = [dim for dim, wanted in zip(request.input, target, strict=False) if wanted == 0]
    return (*copied, *target)


def answered(request: Request, *, symbolic: bool = True, hints: bool = True) -> Trace:
    """Return the trace of a request without what would need to ask again: some hints, and what it assumes.

    `symbolic` says that names may occur; without `hints` a refusal does not search for what would help.
    """
    try:
        at = setting(request.dialect, request.op, request.opset, request.switch)
        if not hints:
            at = at._replace(hints=False)
        check_attributes(request, at)
        check_rank(request.input, at.row, "input")
        checked_volume(request.input, "input")
        given = _fractions(request) if symbolic else ()
    except ShapeError as error:
        return Trace(request, None, {}, (), None, error.problem)
    options = at.options | {"dtype": spelled(request.dtype, request.dialect)} if request.dtype else at.options
    return run(request, at.version, options, given, OPS[request.op].steps(request.input, at, **request.arguments))


def _fractions(request: Request) -> tuple[Step, ...]:
    """Return a step for every written fraction: it carries its own divisibility."""
    steps = []
    for argument, dims in (("input", request.input), *request.arguments.items()):
        for index, dim in enumerate(dims if isinstance(dims, tuple) else ()):
            try:
                conditions = divides(dim, 1)
            except Never:
                message = f"{brief(str(dim))} is a whole number for no sizes"
                raise refusal("indivisible", message, argument=argument, index=index) from None
            if conditions:
                steps.append(Step("input", "written-fraction", None, (), dim, (), None, conditions))
    return tuple(steps)


def _with_zeros(request: Request, sizes: Mapping[str, int]) -> Trace:
    """Return the answer to a request with sizes put in for names, refused where a dim cannot take them."""
    try:
        return answered(request.with_sizes(sizes))
    except ShapeError as error:
        return Trace(request, None, {}, (), None, error.problem)


def _explained(trace: Trace, problem: Problem) -> Trace:
    """Return the trace with its problem placed in the text, and with what else would help."""
    request = trace.request
    hints = (problem.hint, _switch_hint(request, problem), _zero_hint(request))
    problem = problem._replace(hint="; ".join(filter(None, hints)))
    return trace._replace(problem=placed(problem, request))


def placed(problem: Problem, request: Request) -> Problem:
    """Return a problem with the characters of its token in the argument as it was written."""
    argument = problem.argument or ""
    value = request.input if argument == "input" else request.arguments.get(argument)
    if problem.span or not isinstance(value, tuple):
        return problem
    text = request.written.get(argument) or shape_text(value)
    places = tokens(text)
    if problem.index is not None and problem.index < len(places):
        return problem._replace(span=places[problem.index].span)
    return problem._replace(span=(len(text) - len(text.lstrip()), len(text.rstrip())))


def _switch_hint(request: Request, problem: Problem) -> str:
    """Say what the dialect's switch would change, where the answer depends on it."""
    switch = DIALECTS[request.dialect].switch
    if switch is None or request.op not in SWITCHED:
        return ""
    if problem.rule == "missing-switch":
        return "; ".join(_answer_with(request, switch.name, on) for on in (True, False))
    other = not (switch.default if request.switch is None else request.switch)
    if answered(request._replace(switch=other)).output is None:
        return ""
    return _answer_with(request, switch.name, other)


def _answer_with(request: Request, name: str, on: bool) -> str:
    answer = answered(request._replace(switch=on))
    copies = (SWITCHES[name] is Zero.COPIES) is on
    means = "0 copies" if copies else "0 is a dim of size zero"
    if answer.problem:
        return f"with {name} {'on' if on else 'off'} ({means}) it is refused: {answer.problem.rule}"
    return f"with {name} {'on' if on else 'off'} ({means}) the answer is {brief(shape_text(answer.output or ()))}"


def _zero_hint(request: Request) -> str:
    """Say which input names, being 0, would let a symbolic reshape resolve."""
    if request.op not in SWITCHED:
        return ""
    fitting = [name for name in names(request.input)[:MOST_TRIED] if _with_zeros(request, {name: 0}).output is not None]
    return f"{' or '.join(fitting)} = 0 would resolve" if fitting else ""


def chain(
    shape: str | Iterable[object], stages: Sequence[tuple[str, Mapping[str, object]]], sizes: Mapping[str, int]
) -> Chain:
    """Return the answers of several ops, each on the output of the one before.

    `stages` are op names with their options; `sizes` are put in for names in all of them. Raises
    `ShapeError` (usage) for a stage that cannot be read.

    >>> chain("2,3,4", [("transpose", {"perm": "1,0,2"}), ("reshape", {"target": "2,-1,3"})], {}).output
    (2, 4, 3)
    """
    requests: list[Request] = []
    for op, options in stages:
        others = {name: value for name, value in options.items() if name != "where"}
        requests.append(ask(op, () if requests else shape, others))
        sizes = {**sizes, **(read_sizes(options["where"]) if options.get("where") is not None else {})}
    if not requests:
        raise misuse("a chain needs at least one stage", "write INPUT | reshape TARGET")
    for request in requests[:-1]:
        if request.op == "shape":
            raise misuse("shape ends a chain: it returns the dims as a vector, not a tensor to go on with")
    check_names_known(sizes, names(_dims(requests)))
    if sizes:
        requests = [request.with_sizes(sizes) for request in requests]
    answer, dims = _chained(requests, hints=True), _dims(requests)
    if answer.problem or all_known(dims):
        return answer
    return answer._replace(assumes=zero_sensitive(answer, dims, lambda zero: _chain_with_zeros(requests, zero)))


def _dims(requests: Sequence[Request]) -> Shape:
    return tuple(dim for request in requests for dim in request.dims)


def _chain_with_zeros(requests: Sequence[Request], sizes: Mapping[str, int]) -> Chain:
    try:
        return _chained([request.with_sizes(sizes) for request in requests], hints=False)
    except ShapeError as error:
        return Chain(requests[0].input, (), None, error.problem)


def _chained(requests: Sequence[Request], *, hints: bool) -> Chain:
    """Return the stages in turn, as far as they get, with the conditions of all of them together."""
    shape: Shape = requests[0].input
    done: list[Trace] = []
    conditions: Conditions = ()
    for request in requests:
        asked = request._replace(input=shape)
        trace = resolve(asked) if hints else answered(asked)
        try:
            conditions = combined((*conditions, *trace.conditions))
        except Never:
            trace = trace._replace(output=None, problem=contradiction((*conditions, *trace.conditions)).problem)
        done.append(trace)
        if trace.problem:
            message = f"stage {len(done)}, {trace.op}: {trace.problem.message}"
            return Chain(requests[0].input, tuple(done), None, trace.problem._replace(message=message))
        shape = trace.output or ()
    return Chain(requests[0].input, tuple(done), shape, None, conditions)


class Compared(Record):
    """One row of a comparison: the same request under one setting of one dialect."""

    trace: Trace
    default: bool
    """Whether the setting is the dialect's own default, and so counts for agreement."""

    @property
    def verdict(self) -> str:
        """The output shape, with its conditions, or `refused`: what rows are compared by."""
        if self.trace.output is None:
            return "refused"
        return " when ".join([shape_text(self.trace.output), *sorted(map(str, self.trace.conditions))])


class Comparison(Record):
    """The same reshape under every dialect and setting."""

    input: Shape
    target: Shape
    rows: tuple[Compared, ...]

    @property
    def agree(self) -> bool:
        """Whether all dialects answer alike at their default settings; refusals agree with each other."""
        return len({row.verdict for row in self.rows if row.default}) <= 1

    def as_json(self) -> dict[str, object]:
        """Return the comparison as the JSON object that the command line documents."""
        kept = ("dialect", "version", "options", "output", "conditions", "assumes", "problem")
        rows = []
        for row in self.rows:
            found = row.trace.as_json()
            rows.append({name: found[name] for name in kept} | {"default": row.default})
        request = {"target": plain(self.target)}
        return {"op": "compare", "input": plain(self.input), "request": request, "agree": self.agree, "rows": rows}


def compare(
    shape: str | Iterable[object], target: object, dialects: Sequence[str], options: Mapping[str, object]
) -> Comparison:
    """Return the answers to one reshape under every setting of the named dialects, or of all.

    Raises `ShapeError` (usage) for what cannot be read.

    >>> compare((2, 3, 4), (6, -1), [], {}).agree
    True
    """
    if not isinstance(shape, str):
        shape = tuple(shape)
    if isinstance(target, Iterable) and not isinstance(target, str):
        target = tuple(target)
    if not isinstance(dialects, (list, tuple)):
        raise misuse(f"dialects are a list of names, not {visible(brief(repr(dialects)))}", argument="dialect")
    rows: list[Compared] = []
    for row in [found(name, DIALECTS, "dialect") for name in dialects] or DIALECTS.values():
        asked = ask("reshape", shape, {"target": target, "dialect": row.name, "where": options.get("where")})
        for on in row.settings():
            given = on if row.switch and row.switch.default is not on else None
            default = row.switch is None or row.switch.default in (None, on)
            rows.append(Compared(_limited(asked._replace(switch=given), row, options), default))
    return Comparison(asked.input, asked.arguments["target"], tuple(rows))


def _limited(request: Request, row: Dialect, options: Mapping[str, object]) -> Trace:
    """Return the answer in the opset and element type asked for; one that a dialect does not know is a refusal."""
    limits = {name: options.get(name) for name in ("opset", "dtype") if name == "dtype" or row.newest_opset}
    try:
        limited = ask(request.op, (), {**limits, "target": (), "dialect": row.name})
    except ShapeError as error:
        rule = "dtype" if error.problem.argument == "dtype" else "no-such-version"
        return Trace(request, None, {}, (), None, error.problem._replace(rule=rule))
    return resolve(request._replace(opset=limited.opset, dtype=limited.dtype))
