"""Comparisons: the same request or chain under every dialect and switch setting, side by side."""

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

# Comparisons: the same request under every dialect and switch setting, side by side.


class Compared(Record):
    """One row of a comparison: the same request, or chain, under one setting of one dialect."""

    trace: Trace | Chain
    default: bool
    """Whether the setting is the dialect's own default, and so counts for agreement."""

    @property
    def dialect(self) -> str:
        """The dialect that answers."""
        return self.trace.traces[-1].dialect

    @property
    def options(self) -> dict[str, object]:
        """The settings in force, those of every stage of a chain together."""
        return {name: value for trace in self.trace.traces for name, value in trace.options.items()}

    @property
    def verdict(self) -> str:
        """The output shape with its conditions, or `refused`: what rows are compared by."""
        if self.trace.output is None:
            return "refused"
        return " when ".join([shape_text(self.trace.output), *sorted(map(str, self.trace.conditions))])


class Comparison(Record):
    """The same request under every dialect and setting."""

    op: str
    input: Shape
    arguments: Mapping[str, object]
    rows: tuple[Compared, ...]
    unasked: Mapping[str, str] = NONE
    """The dialects that lack an op or an argument of this, and what they lack."""

    @property
    def agree(self) -> bool:
        """Whether all dialects answer alike at their default settings; refusals agree with each other."""
        return len({row.verdict for row in self.rows if row.default}) <= 1

    def as_json(self) -> dict[str, object]:
        """Return the comparison as the JSON object that the command line documents."""
        kept = ("output", "conditions", "assumes", "problem")
        rows = []
        for row in self.rows:
            found, version = row.trace.as_json(), getattr(row.trace, "version", None)
            setting = {"dialect": row.dialect, "version": version, "options": row.options}
            rows.append(setting | {name: found[name] for name in kept} | {"default": row.default})
        request = {name: plain(value) for name, value in self.arguments.items()}
        shown = {"op": "compare", "of": self.op, "input": plain(self.input), "request": request}
        return {**shown, "agree": self.agree, "rows": rows, "unasked": list(self.unasked)}


def compare(
    op: str, shape: str | Iterable[object], arguments: Options, dialects: Sequence[str], options: Options
) -> Comparison:
    """Return the answers to one request under every setting of the named dialects, or of all that have the op.

    Raises `ShapeError` (usage) for what no dialect can read.

    >>> compare("reshape", (2, 3, 4), {"target": (6, -1)}, [], {}).agree
    True
    """
    shape = shape if isinstance(shape, str) else shape_of(shape)
    given = {
        name: tuple(value) if hasattr(value, "__iter__") and not isinstance(value, str) else value
        for name, value in arguments.items()
    }
    if not isinstance(dialects, (list, tuple)):
        raise misuse(f"dialects are a list of names, not {visible(brief(repr(dialects)))}", argument="dialect")
    rows, unread = list[Compared](), dict[str, ShapeError]()
    spec = lookup(op, OPS, "operation")
    for row in [dialect_called(name) for name in dialects] or dialects_with(spec):
        try:
            asked = ask(op, shape, {**given, "dialect": row.name, "where": options.get("where")})
            if other := given.keys() - asked.arguments.keys():
                raise misuse(f"{row.name} has another argument in place of {min(other)}")
        except ShapeError as error:
            unread[row.name] = error
            continue
        for on in row.settings() if spec.switched else row.settings()[:1]:
            switch = on if row.switch and spec.switched and row.switch.default is not on else None
            limited = _limited(replace(asked, switch=switch), given, row, options)
            default = on in row.defaults or not spec.switched
            rows.append(Compared(answer(limited) if isinstance(limited, Request) else limited, default))
    if unread and (not rows or dialects or spec.name == "reshape"):
        raise next(iter(unread.values()))
    return Comparison(op, rows[0].trace.input, rows[0].trace.traces[0].request.arguments, tuple(rows), _lacks(unread))


def _lacks(unread: Mapping[str, ShapeError]) -> FrozenDict:
    """Return what dialects lack, in the words of their refusals."""
    return FrozenDict((name, error.problem.message) for name, error in unread.items())


def _limited(request: Request, given: Options, row: Dialect, options: Options) -> Request | Trace:
    """Return the request in the opset and element type asked for; a refusal if the dialect does not know them."""
    limits = {name: options.get(name) for name in ("opset", "dtype") if name == "dtype" or row.newest_opset}
    try:
        limited = ask(request.op, request.input, {**given, **limits, "dialect": row.name})
    except ShapeError as error:
        rule = DTYPE if error.problem.argument == "dtype" else NO_SUCH_VERSION
        return Trace(request, problem=replace(error.problem, rule=rule))
    return replace(request, opset=limited.opset, dtype=limited.dtype)


# Comparisons of chains: the same chain under every dialect and switch setting, side by side.


def compare_chain(shape: str, stages: Sequence[Stage], dialects: Sequence[str], options: Options) -> Comparison:
    """Return the answers to one chain under every setting of the named dialects, or of all that have its ops.

    Raises `ShapeError` (usage) for what no dialect can read.
    """
    rows, unread = list[Compared](), dict[str, ShapeError]()
    sizes = read_sizes(options.get("where") or {})
    switched = any(OPS[op].switched for op, _ in stages)
    for row in [dialect_called(name) for name in dialects] or DIALECTS.values():
        for on in row.settings() if switched else row.settings()[:1]:
            given = {"dialect": row.name, "dtype": options.get("dtype")}
            given |= {"opset": options.get("opset")} if row.newest_opset else {}
            given |= {row.switch.name: on} if row.switch and row.switch.default is not on and switched else {}
            try:
                found = answer_chain(shape, chain_with_options(stages, given), sizes)
            except ShapeError as error:
                unread[row.name] = error
            else:
                rows.append(Compared(found, on in row.defaults or not switched))
    if unread and (not rows or dialects):
        raise next(iter(unread.values()))
    lines = [stage_text(op, arguments) for op, arguments in stages]
    return Comparison("chain", rows[0].trace.input, {"stages": lines}, tuple(rows), _lacks(unread))
