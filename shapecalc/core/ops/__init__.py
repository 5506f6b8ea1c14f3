"""The registry of all ops, in display order.

Each op is a module of this package.
"""

from __future__ import annotations

from shapecalc.core import rules
from shapecalc.core.answers import StepRule
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops.op import Op, operator_of
from shapecalc.core.record import LazyRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.base import Dialect, Operator, Param
    from shapecalc.core.problem import Rule

FAMILIES = {
    "split and merge axes": ("reshape", "flatten", "unflatten", "view"),
    "permute axes": ("transpose", "swapaxes", "moveaxis", "rearrange", "shuffle"),
    "dims of size 1, copies": ("squeeze", "unsqueeze", "expand", "tile", "repeat_interleave"),
    "parts": ("select", "take", "slice", "split", "shape"),
    "positions": ("flip", "roll", "pad"),
    "blocks and windows": ("depth_to_space", "space_to_depth", "conv", "pool", "upsample", "mean"),
    "several tensors": ("broadcast", "matmul", "linear", "concat", "stack", "einsum"),
}
"""The names of the ops in display order, grouped by family."""
COMMAND_ALIASES: dict[str, dict[str, str]] = {
    "permute": {"torch": "transpose"},
    "movedim": {"torch": "moveaxis"},
    "swapdims": {"torch": "swapaxes"},
    "repeat": {"torch": "tile", "numpy": "repeat_interleave", "jax": "repeat_interleave"},
}
"""Names of framework functions that are also commands; each name maps frameworks to ops.

The signatures of the ops contain these names too, but importing all ops takes longer than running one command.
"""
OPS: LazyRegistry[Op] = LazyRegistry(__name__, *(name for names in FAMILIES.values() for name in names))


def all_params(op: Op) -> tuple[Param, ...]:
    """Return the parameters of an op in all dialects."""
    operators = [operator_of(op, dialect) for dialect in DIALECTS.values()]
    by_name = {param.name: param for operator in operators if operator for param in operator.params}
    return (*op.params, *by_name.values())


def operators_of(dialect: Dialect) -> dict[str, Operator]:
    """Return the operators of a dialect, keyed by op name."""
    return {name: operator for name, op in OPS.items() if (operator := operator_of(op, dialect)) is not None}


def supporting_dialects(op: Op) -> list[Dialect]:
    """Return the dialects that support an op."""
    return [dialect for dialect in DIALECTS.values() if operator_of(op, dialect) is not None]


def step_rules() -> dict[str, Rule]:
    """Return all rules that explain steps, keyed by id."""
    return rules.STEP_RULES | {rule: rule for rule in _op_and_dialect_rules() if isinstance(rule, StepRule)}


def refusal_rules() -> dict[str, Rule]:
    """Return all rules that explain refusals, keyed by id."""
    return rules.REFUSALS | {rule: rule for rule in _op_and_dialect_rules() if not isinstance(rule, StepRule)}


def all_rules() -> dict[str, Rule]:
    """Return all rules, keyed by id."""
    return step_rules() | refusal_rules()


def _op_and_dialect_rules() -> list[Rule]:
    owners: tuple[Op | Dialect, ...] = (*OPS.values(), *DIALECTS.values())
    return [rule for owner in owners for rule in owner.rules]
