"""Premises: dims that are whole numbers, and conditions, put to use in a proof."""

from __future__ import annotations

from shapecalc.core.answers.atoms import Known
from shapecalc.core.sizes.conditions import Condition, Never, differ, solved_names
from shapecalc.core.sizes.dims import Dim, quotient, rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.core.sizes.conditions import Conditions


class Premises:
    """What is taken as given. A name that a condition settles is put in for everywhere."""

    def __init__(self, dims: Iterable[Dim], conditions: Conditions) -> None:
        """Take these dims as whole, and these conditions, which some sizes meet, as true."""
        self.settled = solved_names(conditions)
        ratios = [quotient(each.left, each.right) for each in conditions if each.relation == "%"]
        whole = [rewrite(dim, self.settled) for dim in (*dims, *ratios)]
        self.known = Known([*whole, *self.settled.values()])
        self.differing = {self._sides(each) for each in conditions if each.relation == "!="}

    def _sides(self, condition: Condition) -> tuple[Dim, Dim]:
        return rewrite(condition.left, self.settled), rewrite(condition.right, self.settled)

    def imply(self, condition: Condition) -> bool:
        """Say whether a condition is sure to hold.

        >>> from shapecalc.core.sizes.conditions import divides, equal
        >>> from shapecalc.core.sizes.dims import named_dim
        >>> premises = Premises([], equal(named_dim("N"), named_dim("M")) + divides(named_dim("M"), 6))
        >>> premises.imply(*divides(named_dim("N"), 3)), premises.imply(*divides(named_dim("N"), 4))
        (True, False)
        """
        left, right = self._sides(condition)
        if condition.relation == "==":
            return left == right
        if condition.relation == "%":
            return self.known.divides(right, left)
        return (left, right) in self.differing or _never_equal(left, right)


def _never_equal(left: Dim, right: Dim) -> bool:
    try:
        return not differ(left, right)
    except Never:
        return False
