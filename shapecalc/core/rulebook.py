"""Every rule by its id: the general ones of the room `rules`, and those that one op or dialect has alone."""

from __future__ import annotations

from shapecalc.core import rules
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.base import Dialect
    from shapecalc.core.ops.op import Op
    from shapecalc.core.problem import Rule

OWNERS: tuple[Op | Dialect, ...] = (*OPS.values(), *DIALECTS.values())

STEP_RULES: dict[str, Rule] = rules.STEP_RULES | {facts.rule: facts.rule for own in OWNERS for facts in own.facts}
"""The rules that settle something."""
REFUSALS: dict[str, Rule] = rules.REFUSALS | {rule: rule for own in OWNERS for rule in own.refusals}
"""The rules that refuse."""
RULES = STEP_RULES | REFUSALS
