"""The frameworks' own switches over what 0 means. To know them, every dialect is imported."""

from __future__ import annotations

from shapecalc.core.dialects import DIALECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.dialect import Zero

SWITCHES: dict[str, Zero] = {
    row.switch.name: row.readings[True].zero for row in DIALECTS.values() if row.switch is not None
}
"""What 0 means if a switch is on, by the switch."""
