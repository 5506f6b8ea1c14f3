"""Comparisons: the same request under every dialect and switch setting, side by side."""

from __future__ import annotations

from shapecalc.core.answers.request import Request
from shapecalc.core.answers.stage import plain
from shapecalc.core.answers.trace import Trace
from shapecalc.core.asking.ask import ask, dialect_called
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.rules.refusals import DTYPE, NO_SUCH_VERSION
from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record, replace
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shapecalc.core.dialects.dialect import Dialect


class Compared(Record):
    """One row of a comparison: the same request under one setting of one dialect."""

    trace: Trace
    default: bool
    """Whether the setting is the dialect's own default, and so counts for agreement."""

    @property
    def verdict(self) -> str:
        """The output shape with its conditions, or `refused`: what rows are compared by."""
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
    shape: str | Iterable[object],
    target: object,
    dialects: Sequence[str],
    options: Mapping[str, object],
    answer: Callable[[Request], Trace],
) -> Comparison:
    """Return the answers to one reshape under every setting of the named dialects, or of all.

    `answer` resolves each request. Raises `ShapeError` (usage) for what cannot be read.

    >>> from shapecalc.core.asking.resolve import resolve
    >>> compare((2, 3, 4), (6, -1), [], {}, resolve).agree
    True
    """
    if not isinstance(shape, str):
        shape = tuple(shape)
    if hasattr(target, "__iter__") and not isinstance(target, str):
        target = tuple(target)
    if not isinstance(dialects, (list, tuple)):
        raise misuse(f"dialects are a list of names, not {visible(brief(repr(dialects)))}", argument="dialect")
    rows: list[Compared] = []
    for row in [dialect_called(name) for name in dialects] or DIALECTS.values():
        asked = ask("reshape", shape, {"target": target, "dialect": row.name, "where": options.get("where")})
        for on in row.settings():
            given = on if row.switch and row.switch.default is not on else None
            limited = _limited(replace(asked, switch=given), row, options)
            rows.append(Compared(answer(limited) if isinstance(limited, Request) else limited, on in row.defaults))
    return Comparison(asked.input, asked.arguments["target"], tuple(rows))


def _limited(request: Request, row: Dialect, options: Mapping[str, object]) -> Request | Trace:
    """Return the request in the opset and element type asked for; a refusal if the dialect does not know them."""
    limits = {name: options.get(name) for name in ("opset", "dtype") if name == "dtype" or row.newest_opset}
    try:
        limited = ask(request.op, (), {**limits, "target": (), "dialect": row.name})
    except ShapeError as error:
        rule = DTYPE if error.problem.argument == "dtype" else NO_SUCH_VERSION
        return Trace(request, problem=replace(error.problem, rule=rule))
    return replace(request, opset=limited.opset, dtype=limited.dtype)
