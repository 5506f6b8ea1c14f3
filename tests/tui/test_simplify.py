"""What is said of a short form that is not proved to do the same."""

from __future__ import annotations

import shapecalc as sc
from shapecalc.core.simplify import Cost, Goal, Simplification
from shapecalc.tui.chains import UNPROVED, conclusion_text, count_line


def test_what_is_not_proved_is_not_called_so():
    chain = sc.chain("2,3", "transpose")
    cost = Cost(1, 1, (48,))
    assert conclusion_text(Simplification(chain, cost, cost, True, False)).plain == UNPROVED
    assert count_line(Goal.BYTES, cost, cost).plain == "bytes moved     48"
