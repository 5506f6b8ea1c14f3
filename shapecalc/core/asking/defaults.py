"""Defaults: which option applies to a stage, decided in one place for every front end.

- An option of the stage itself always applies. If the op or the dialect does not have it, that is usage.
- A default applies to a stage that can take it, and is passed over if the stage cannot: a switch and an opset are
  not for all ops and dialects.
- The dialect is never passed over, since it says whose rules apply. An op that it does not have is usage.
- An option that was given for a whole chain must be taken by one stage at least. If it is not, that is usage.
- What was set beforehand, for a project or in the environment, comes last.
"""

from __future__ import annotations

from shapecalc.core.asking.ask import default_dialect, dialect_called, operator_in, switch_name
from shapecalc.core.asking.setting import DEFAULT_OPSET
from shapecalc.core.dialects import DIALECTS, dialect_named
from shapecalc.core.dialects.switches import SWITCHES
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.lookup import suggestion
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.python_values import describe, whole_number
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import FrozenDict, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Options = Mapping[str, object]
    Stage = tuple[str, Options]


NONE: FrozenDict = FrozenDict()
SETTABLE = ("dialect", "opset")
"""What can be set beforehand."""


class Default(Record):
    """An option that was set beforehand."""

    name: str
    value: str | int
    place: str
    """Where it was set: the name of a variable or of a file."""

    def __str__(self) -> str:
        return f"{self.name} {self.value}, set in {visible(self.place)}"


def with_defaults(op: str, defaults: Options, options: Options) -> Options:
    """Return the options of a stage together with the defaults that it takes.

    >>> with_defaults("reshape", {"dialect": "numpy", "opset": 13}, {"target": "6"})
    {'dialect': 'numpy', 'target': '6'}
    """
    if not defaults:
        return options
    lacking = _lacking(op, options.get("dialect") or defaults.get("dialect"))
    return {**{name: value for name, value in defaults.items() if name not in lacking}, **options}


def _lacking(op: str, dialect: object) -> set[str]:
    """Return the common options that an op does not have in a dialect."""
    row = dialect_named(str(dialect or default_dialect(op)))
    own = switch_name(OPS[op], row) if row and op in OPS else None
    lacking = {*SWITCHES} - {own}
    if row is None or row.newest_opset is None:
        lacking.add("opset")
    return lacking


def chain_with_options(stages: Sequence[Stage], given: Options, defaults: Options = NONE) -> list[Stage]:
    """Return the stages of a chain, each with the options that were given for the whole chain and that it takes.

    `defaults` stand in for what was not given. Raises `ShapeError` (usage) for a given option that no stage takes.

    >>> chain_with_options([("transpose", {}), ("reshape", {"target": "6"})], {"allowzero": True})
    [('transpose', {}), ('reshape', {'allowzero': True, 'target': '6'})]
    """
    given = {name: value for name, value in given.items() if value is not None}
    filled = [(op, with_defaults(op, {**defaults, **given}, options)) for op, options in stages]
    for name in given:
        if filled and not any(name in options for _, options in filled):
            op, options = filled[-1]
            row, operator = operator_in(OPS[op], options.get("dialect"))
            raise misuse(f"{row.name} {operator.name} has no {name}", argument=name)
    return filled


def read_default(name: str, value: object, place: str) -> Default:
    """Return an option that was set at a place; raise `ShapeError` (usage), which names the place, for a bad value.

    >>> str(read_default("dialect", "pt", "SHAPECALC_DIALECT"))
    'dialect torch, set in SHAPECALC_DIALECT'
    """
    try:
        return Default(name, _dialect(value) if name == "dialect" else _opset(value), place)
    except ShapeError as error:
        raise misuse(f"{place}: {error.problem.message}", error.problem.hint, argument=name) from None


def _dialect(value: object) -> str:
    if not isinstance(value, str):
        raise misuse(f"dialect is a name, not {describe(value)}")
    return dialect_called(value).name


def _opset(value: object) -> int:
    opset, newest = whole_number(value, "opset"), max(row.newest_opset or 0 for row in DIALECTS.values())
    if not 1 <= opset <= newest:
        raise misuse(f"opsets run from 1 to {newest}, and this is {brief(str(opset))}")
    return opset


def read_table(text: bytes, place: str) -> Mapping[str, object]:
    r"""Return what the table `[tool.shapecalc]` of a TOML text sets; raise `ShapeError` (usage), which names the place.

    >>> read_table(b"[tool.shapecalc]\ndialect = 'torch'", "pyproject.toml")
    {'dialect': 'torch'}
    """
    from tomllib import loads  # few have such a table

    try:
        tool = loads(text.decode()).get("tool")
    except (ValueError, RecursionError) as error:
        raise misuse(f"{place}: it is not TOML: {' '.join(str(error).split())}") from None
    table = tool.get("shapecalc", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise misuse(f"{place}: tool.shapecalc is not a table")
    for name in table:
        if name not in SETTABLE:
            raise misuse(f"{place}: tool.shapecalc has no {visible(brief(name))}", suggestion(name, SETTABLE))
    return table


def changing(stages: Iterable[Stage], given: Options, defaults: Iterable[Default]) -> Iterator[Default]:
    """Yield the defaults that change whose rules answer one of the stages. `given` are the options for all of them.

    >>> set_before = [read_default("dialect", "onnx", "x"), read_default("opset", "13", "x")]
    >>> [each.name for each in changing([("reshape", {}), ("shape", {"opset": "9"})], {}, set_before)]
    ['opset']
    """
    defaults = list(defaults)
    values = {default.name: default.value for default in defaults} | {**given}
    stages = list(stages)
    for default in defaults:
        if default.name not in given and any(_changes(default, op, options, values) for op, options in stages):
            yield default


def _changes(default: Default, op: str, options: Options, values: Options) -> bool:
    """Say whether a stage takes a default that says otherwise than the op itself."""
    unset = default_dialect(op) if default.name == "dialect" else DEFAULT_OPSET
    taken = default.name not in options and default.name in with_defaults(op, values, options)
    return taken and default.value != unset
