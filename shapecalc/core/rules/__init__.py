"""Every rule by its id: those that settle something, and those that refuse."""

from __future__ import annotations

from shapecalc.core.rules.refusals import REFUSALS
from shapecalc.core.rules.steps import STEP_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.sizes.rule import Rule

__all__ = ["REFUSALS", "RULES", "STEP_RULES"]

RULES: dict[str, Rule] = STEP_RULES | REFUSALS
