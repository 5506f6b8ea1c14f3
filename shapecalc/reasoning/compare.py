"""Comparison of the results of a request or chain in all dialects.

A dialect is the set of rules of one framework. A switch is a framework's attribute that changes the meaning of 0 in a
requested shape, such as `allowzero` in ONNX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shapecalc.core.answers import EMPTY_DICT, Chain, Request, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Dialect
from shapecalc.core.dims import Shape, to_json
from shapecalc.core.ops import OPS, all_params, supporting_dialects
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.requests import Options, StageRequest, apply_chain_options, lookup_dialect, make_request
from shapecalc.core.rules import DTYPE, NO_SUCH_VERSION
from shapecalc.core.text import escape_unprintable, lookup, shape_text, truncate
from shapecalc.core.values import parse_integer, parse_sizes, to_shape
from shapecalc.reading.commands import stage_text
from shapecalc.reasoning.answers import answer_chain, answer_request


class ComparisonRow(Record):
    """The result in one dialect, with one setting of the dialect's switch."""

    trace: Trace | Chain
    default: bool
    """Whether the setting is a default of the dialect.

    `Comparison.agree` compares only rows with default settings.
    """

    @property
    def dialect(self) -> str:
        """The name of the dialect."""
        return self.trace.traces[-1].dialect

    @property
    def options(self) -> dict[str, object]:
        """The options in effect, such as the switch, merged over all stages of a chain."""
        return {name: value for trace in self.trace.traces for name, value in trace.options.items()}

    @property
    def verdict(self) -> str:
        """The output shape with its conditions, or `refused`."""
        if self.trace.output is None:
            return "refused"
        return " when ".join([shape_text(self.trace.output), *sorted(map(str, self.trace.conditions))])


class Comparison(Record):
    """The results of a request or chain in several dialects.

    There is a row for each setting of a dialect's switch.
    """

    op: str
    input: Shape
    arguments: Mapping[str, object]
    rows: tuple[ComparisonRow, ...]
    errors: Mapping[str, str] = EMPTY_DICT
    """The error message of each dialect in which the request is invalid."""

    def __bool__(self) -> bool:
        return self.agree

    def __repr__(self) -> str:
        shapes = dict.fromkeys(row.verdict for row in self.rows if row.default)
        return f"Comparison({self.op} {shape_text(self.input)}: {', '.join(shapes)})"

    @property
    def agree(self) -> bool:
        """Whether the shapes and conditions are equal in all dialects.

        Only rows with default settings are compared. Two refusals are equal even if their reasons differ.
        """
        return len({row.verdict for row in self.rows if row.default}) <= 1

    def as_json(self) -> dict[str, object]:
        """Return the comparison as the JSON object that the manual documents."""
        keys = ("output", "conditions", "assumes", "problem")
        rows = []
        for row in self.rows:
            answered, version = row.trace.as_json(), getattr(row.trace, "version", None)
            setting = {"dialect": row.dialect, "version": version, "options": row.options}
            conclusions = {key: answered[key] for key in keys} | row.trace.optional_items_as_json()
            rows.append(setting | conclusions | {"default": row.default})
        request = {name: to_json(value) for name, value in self.arguments.items()}
        head = {"op": "compare", "of": self.op, "input": to_json(self.input), "request": request}
        return {**head, "agree": self.agree, "rows": rows, "unasked": list(self.errors)}


def compare(
    op: str, shape: str | Iterable[object], arguments: Options, dialects: Sequence[str], options: Options
) -> Comparison:
    """Resolve a request in each dialect with each setting of the dialect's switch.

    If `dialects` is empty, all dialects that have the op are compared. Raises `ShapeError` (usage) if the arguments are
    invalid in a dialect of `dialects`, or in every dialect.

    >>> compare("reshape", (2, 3, 4), {"target": (6, -1)}, [], {}).agree
    True
    """
    shape = shape if isinstance(shape, str) else to_shape(shape)
    if not isinstance(dialects, (list, tuple)):
        raise usage_error(
            f"dialects are a list of names, not {escape_unprintable(truncate(repr(dialects)))}", argument="dialect"
        )
    _check_opset(options)
    rows, errors = list[ComparisonRow](), dict[str, ShapeError]()
    spec = lookup(op, OPS, "operation")
    omitted = {param.name for param in all_params(spec) if param.is_omitted(arguments.get(param.name))}
    values = {name: _materialize_iterator(value) for name, value in arguments.items() if name not in omitted}
    for dialect in [lookup_dialect(name) for name in dialects] or supporting_dialects(spec):
        try:
            request = make_request(op, shape, {**values, "dialect": dialect.name, "where": options.get("where")})
            if other := values.keys() - request.arguments.keys():
                raise usage_error(f"{dialect.name} has another argument in place of {min(other)}")
        except ShapeError as error:
            errors[dialect.name] = error
            continue
        for setting in dialect.switch_settings() if spec.uses_switch else dialect.switch_settings()[:1]:
            switch = setting if dialect.switch and spec.uses_switch and dialect.switch.default is not setting else None
            limited = _apply_opset_and_dtype(replace(request, switch=switch), values, dialect, options)
            default = setting in dialect.default_settings or not spec.uses_switch
            rows.append(ComparisonRow(answer_request(limited) if isinstance(limited, Request) else limited, default))
    if errors and (not rows or dialects or spec.name == "reshape"):
        raise next(iter(errors.values()))
    return Comparison(
        op, rows[0].trace.input, rows[0].trace.traces[0].request.arguments, tuple(rows), _collect_messages(errors)
    )


def _check_opset(options: Options) -> None:
    """Raise `ShapeError` (usage) for an opset that is not an integer.

    The check is necessary because dialects without opsets ignore the option.
    """
    if options.get("opset") is not None:
        parse_integer(options["opset"], "opset")


def _materialize_iterator(value: object) -> object:
    """Convert an iterator to a tuple, and return any other value unchanged."""
    return tuple(value) if isinstance(value, Iterator) else value


def _collect_messages(errors: Mapping[str, ShapeError]) -> FrozenDict:
    return FrozenDict((name, error.problem.message) for name, error in errors.items())


def _apply_opset_and_dtype(request: Request, arguments: Options, dialect: Dialect, options: Options) -> Request | Trace:
    """Return the request with the opset and element type of `options`.

    Returns a refused trace if the dialect does not support the opset or the element type.
    """
    limits = {name: options.get(name) for name in ("opset", "dtype") if name == "dtype" or dialect.newest_opset}
    try:
        limited = make_request(request.op, request.input, {**arguments, **limits, "dialect": dialect.name})
    except ShapeError as error:
        rule = DTYPE if error.problem.argument == "dtype" else NO_SUCH_VERSION
        return Trace(request, problem=replace(error.problem, rule=rule))
    return replace(request, opset=limited.opset, dtype=limited.dtype)


def compare_chain(shape: str, stages: Sequence[StageRequest], dialects: Sequence[str], options: Options) -> Comparison:
    """Resolve a chain in each dialect with each setting of the dialect's switch.

    If `dialects` is empty, all dialects that have the chain's ops are compared. Raises `ShapeError` (usage) if the
    chain is invalid in a dialect of `dialects`, or in every dialect.
    """
    _check_opset(options)
    rows, errors = list[ComparisonRow](), dict[str, ShapeError]()
    sizes = parse_sizes(options.get("where") or {})
    has_switch = any(OPS[op].uses_switch for op, _ in stages)
    for dialect in [lookup_dialect(name) for name in dialects] or DIALECTS.values():
        switch = dialect.switch if has_switch else None
        for setting in dialect.switch_settings() if has_switch else dialect.switch_settings()[:1]:
            values = {"dialect": dialect.name, "dtype": options.get("dtype")}
            values |= {"opset": options.get("opset")} if dialect.newest_opset else {}
            values |= {switch.name: setting} if switch and switch.default is not setting else {}
            try:
                chain = answer_chain(shape, apply_chain_options(stages, values), sizes)
            except ShapeError as error:
                errors[dialect.name] = error
            else:
                rows.append(ComparisonRow(chain, setting in dialect.default_settings or not has_switch))
    if errors and (not rows or dialects):
        raise next(iter(errors.values()))
    lines = [stage_text(op, arguments) for op, arguments in stages]
    return Comparison("chain", rows[0].trace.input, {"stages": lines}, tuple(rows), _collect_messages(errors))
