"""Premises: dims that are whole numbers, and conditions, put to use in a proof."""

from __future__ import annotations

from shapecalc.core.sizes.conditions import Condition, Never, differ, equal, solved_names
from shapecalc.core.sizes.dims import Dim, monomial, quotient, rewrite
from shapecalc.core.sizes.known import Known

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
        self.known = self._known([*dims, *ratios])
        if alike := _alike(self.known):
            self.settled = solved_names((*conditions, *alike))
            self.known = self._known([*dims, *ratios])
        self.differing = {self._sides(each) for each in conditions if each.relation == "!="}

    def _known(self, whole: Iterable[Dim]) -> Known:
        return Known([*[rewrite(dim, self.settled) for dim in whole], *self.settled.values()])

    def _sides(self, condition: Condition) -> tuple[Dim, Dim]:
        return rewrite(condition.left, self.settled), rewrite(condition.right, self.settled)

    def imply(self, condition: Condition) -> bool:
        """Say whether a condition is sure to hold.

        >>> from shapecalc.core.sizes.conditions import divides
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


def _alike(known: Known) -> Conditions:
    """Return what is equal because each divides the other.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> [str(each) for each in _alike(Known(read_dims("C/H,H/W,W/C")))]
    ['C == H', 'H == W']
    """
    fractions = [monomial(dim) for dim in known.fractions]
    dividing = {name for dim in fractions for name, power in dim.powers if power < 0}
    if not any({name for name, power in dim.powers if power > 0} <= dividing for dim in fractions):
        return ()  # nothing divides all that some dim is made of
    from shapecalc.core.sizes.inequalities import Undecided
    from shapecalc.core.sizes.systems import FREE, Impossible, System

    try:
        ones = System((), fractions).settle()
    except (Impossible, Undecided):
        return ()
    whole = [one for one in ones if not any(name.startswith(FREE) for name, _ in one.powers)]
    return tuple([condition for one in whole for condition in equal(one, 1)])


def _never_equal(left: Dim, right: Dim) -> bool:
    try:
        return not differ(left, right)
    except Never:
        return False
