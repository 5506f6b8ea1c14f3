"""Premises: dims that are whole numbers, and conditions, put to use in a proof."""

from __future__ import annotations

from shapecalc.core.answers.atoms import Known
from shapecalc.core.sizes.conditions import Condition, Never, differ
from shapecalc.core.sizes.dims import Dim, monomial, named_dim, product, quotient, rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.core.sizes.conditions import Conditions


class Premises:
    """What is taken as given. A name that a condition settles is put in for everywhere."""

    def __init__(self, dims: Iterable[Dim], conditions: Conditions) -> None:
        """Take these dims as whole, and these conditions, which some sizes meet, as true."""
        self.settled = _settled(conditions)
        ratios = [quotient(each.left, each.right) for each in conditions if each.relation == "%"]
        whole = [rewrite(dim, self.settled) for dim in (*dims, *ratios)]
        self.known = Known([*whole, *self.settled.values()])
        self.differing = {self._sides(each) for each in conditions if each.relation == "!="}

    def _sides(self, condition: Condition) -> tuple[Dim, Dim]:
        return rewrite(condition.left, self.settled), rewrite(condition.right, self.settled)

    def imply(self, condition: Condition) -> bool:
        """Say whether a condition is sure to hold.

        >>> from shapecalc.core.sizes.conditions import divides, equal
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


def _settled(conditions: Conditions) -> dict[str, Dim]:
    """Return what stands for names by the conditions that are equalities, where one can be solved for a name."""
    settled: dict[str, Dim] = {}
    for condition in conditions:
        if condition.relation != "==":
            continue
        ratio = rewrite(quotient(condition.left, condition.right), settled)
        values = {
            name: quotient(named_dim(name), ratio) if power == 1 else product((named_dim(name), ratio))
            for name, power in monomial(ratio).powers
            if abs(power) == 1
        }
        if values:
            name = min(values, key=lambda name: monomial(values[name]).denominator)
            settled = {other: rewrite(dim, {name: values[name]}) for other, dim in settled.items()}
            settled[name] = values[name]
    return settled
