"""Defaults: which option applies to a stage, decided in one place for every front end.

- An option of the stage itself always applies. If the op or the dialect does not have it, that is usage.
- A default applies to a stage that can take it, and is passed over if the stage cannot: a switch and an opset are
  not for all ops and dialects.
- The dialect is never passed over, since it says whose rules apply. An op that it does not have is usage.
- An option that was given for a whole chain must be taken by one stage at least. If it is not, that is usage.
"""

from __future__ import annotations

from shapecalc.core.asking.ask import default_dialect, operator_in, switch_name
from shapecalc.core.dialects import dialect_named
from shapecalc.core.dialects.switches import SWITCHES
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Options = Mapping[str, object]
    Stage = tuple[str, Options]


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


def chain_with_options(stages: Sequence[Stage], given: Options) -> list[Stage]:
    """Return the stages of a chain, each with the options that were given for the whole chain and that it takes.

    Raises `ShapeError` (usage) for a given option that no stage takes.

    >>> chain_with_options([("transpose", {}), ("reshape", {"target": "6"})], {"allowzero": True})
    [('transpose', {}), ('reshape', {'allowzero': True, 'target': '6'})]
    """
    given = {name: value for name, value in given.items() if value is not None}
    filled = [(op, with_defaults(op, given, options)) for op, options in stages]
    for name in given:
        if filled and not any(name in options for _, options in filled):
            op, options = filled[-1]
            row, operator = operator_in(OPS[op], options.get("dialect"))
            raise misuse(f"{row.name} {operator.name} has no {name}", argument=name)
    return filled
