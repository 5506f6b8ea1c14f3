"""Comparisons of one request or chain under every dialect and switch setting."""

from __future__ import annotations

from _collections_abc import Iterable, Mapping, Sequence

from shapecalc.core.answers import NONE, Chain, Request, Trace
from shapecalc.core.ask import Options, Stage, ask, chain_with_options, dialect_called
from shapecalc.core.commands import stage_text
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Dialect
from shapecalc.core.dims import Shape, plain
from shapecalc.core.fixing import answer, answer_chain
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import DTYPE, NO_SUCH_VERSION
from shapecalc.core.text import brief, lookup, shape_text, visible
from shapecalc.core.values import read_sizes, shape_of


class Compared(Record):
    """One row of a comparison: a request or chain under one setting of one dialect."""

    trace: Trace | Chain
    default: bool
    """Whether the setting is a default of the dialect and counts for agreement."""

    @property
    def dialect(self) -> str:
        """The name of the dialect."""
        return self.trace.traces[-1].dialect

    @property
    def options(self) -> dict[str, object]:
        """The settings in force, merged over the stages of a chain."""
        return {name: value for trace in self.trace.traces for name, value in trace.options.items()}

    @property
    def verdict(self) -> str:
        """The output shape with its conditions, or `refused`; equal verdicts agree."""
        if self.trace.output is None:
            return "refused"
        return " when ".join([shape_text(self.trace.output), *sorted(map(str, self.trace.conditions))])


class Comparison(Record):
    """The answers to one request or chain under every dialect and setting."""

    op: str
    input: Shape
    arguments: Mapping[str, object]
    rows: tuple[Compared, ...]
    unasked: Mapping[str, str] = NONE
    """The dialects that lack the op or an argument, each with the reason."""

    @property
    def agree(self) -> bool:
        """Whether all dialects agree at their defaults; refusals agree with each other."""
        return len({row.verdict for row in self.rows if row.default}) <= 1

    def as_json(self) -> dict[str, object]:
        """Return the comparison as the JSON object that the manual documents."""
        keys = ("output", "conditions", "assumes", "problem")
        rows = []
        for row in self.rows:
            answered, version = row.trace.as_json(), getattr(row.trace, "version", None)
            setting = {"dialect": row.dialect, "version": version, "options": row.options}
            rows.append(setting | {key: answered[key] for key in keys} | {"default": row.default})
        request = {name: plain(value) for name, value in self.arguments.items()}
        head = {"op": "compare", "of": self.op, "input": plain(self.input), "request": request}
        return {**head, "agree": self.agree, "rows": rows, "unasked": list(self.unasked)}


def compare(
    op: str, shape: str | Iterable[object], arguments: Options, dialects: Sequence[str], options: Options
) -> Comparison:
    """Return the answers to one request under every setting of dialects.

    These are the named dialects, or all that have the op. Raises `ShapeError` (usage) if no dialect can parse the
    request.

    >>> compare("reshape", (2, 3, 4), {"target": (6, -1)}, [], {}).agree
    True
    """
    shape = shape if isinstance(shape, str) else shape_of(shape)
    values = {
        name: tuple(value) if hasattr(value, "__iter__") and not isinstance(value, str) else value
        for name, value in arguments.items()
    }
    if not isinstance(dialects, (list, tuple)):
        raise misuse(f"dialects are a list of names, not {visible(brief(repr(dialects)))}", argument="dialect")
    rows, errors = list[Compared](), dict[str, ShapeError]()
    spec = lookup(op, OPS, "operation")
    for dialect in [dialect_called(name) for name in dialects] or dialects_with(spec):
        try:
            request = ask(op, shape, {**values, "dialect": dialect.name, "where": options.get("where")})
            if other := values.keys() - request.arguments.keys():
                raise misuse(f"{dialect.name} has another argument in place of {min(other)}")
        except ShapeError as error:
            errors[dialect.name] = error
            continue
        for setting in dialect.settings() if spec.switched else dialect.settings()[:1]:
            switch = setting if dialect.switch and spec.switched and dialect.switch.default is not setting else None
            limited = _limited(replace(request, switch=switch), values, dialect, options)
            default = setting in dialect.defaults or not spec.switched
            rows.append(Compared(answer(limited) if isinstance(limited, Request) else limited, default))
    if errors and (not rows or dialects or spec.name == "reshape"):
        raise next(iter(errors.values()))
    return Comparison(op, rows[0].trace.input, rows[0].trace.traces[0].request.arguments, tuple(rows), _lacks(errors))


def _lacks(unread: Mapping[str, ShapeError]) -> FrozenDict:
    """Return the refusal message of each dialect."""
    return FrozenDict((name, error.problem.message) for name, error in unread.items())


def _limited(request: Request, given: Options, row: Dialect, options: Options) -> Request | Trace:
    """Return the request with the opset and element type of `options`.

    If the dialect does not know them, return a refusal.
    """
    limits = {name: options.get(name) for name in ("opset", "dtype") if name == "dtype" or row.newest_opset}
    try:
        limited = ask(request.op, request.input, {**given, **limits, "dialect": row.name})
    except ShapeError as error:
        rule = DTYPE if error.problem.argument == "dtype" else NO_SUCH_VERSION
        return Trace(request, problem=replace(error.problem, rule=rule))
    return replace(request, opset=limited.opset, dtype=limited.dtype)


def compare_chain(shape: str, stages: Sequence[Stage], dialects: Sequence[str], options: Options) -> Comparison:
    """Return the answers to one chain under every setting of dialects.

    These are the named dialects, or all that have its ops. Raises `ShapeError` (usage) if no dialect can parse the
    chain.
    """
    rows, errors = list[Compared](), dict[str, ShapeError]()
    sizes = read_sizes(options.get("where") or {})
    has_switch = any(OPS[op].switched for op, _ in stages)
    for dialect in [dialect_called(name) for name in dialects] or DIALECTS.values():
        switch = dialect.switch if has_switch else None
        for setting in dialect.settings() if has_switch else dialect.settings()[:1]:
            values = {"dialect": dialect.name, "dtype": options.get("dtype")}
            values |= {"opset": options.get("opset")} if dialect.newest_opset else {}
            values |= {switch.name: setting} if switch and switch.default is not setting else {}
            try:
                chain = answer_chain(shape, chain_with_options(stages, values), sizes)
            except ShapeError as error:
                errors[dialect.name] = error
            else:
                rows.append(Compared(chain, setting in dialect.defaults or not has_switch))
    if errors and (not rows or dialects):
        raise next(iter(errors.values()))
    lines = [stage_text(op, arguments) for op, arguments in stages]
    return Comparison("chain", rows[0].trace.input, {"stages": lines}, tuple(rows), _lacks(errors))
