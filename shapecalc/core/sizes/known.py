"""What is known of names: which dims are whole numbers, if others must be."""

from __future__ import annotations

from shapecalc.core.sizes.dims import monomial, quotient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from shapecalc.core.sizes.dims import Dim, Monomial

    Kept = TypeVar("Kept")

DEEPEST = 6
"""How many known fractions a quotient is made of at most."""


class Known:
    """What is known of the names: dims that must be whole numbers."""

    def __init__(self, dims: Iterable[Dim] = ()) -> None:
        """Begin with dims that are whole, such as those that a request writes."""
        self.fractions = tuple({dim: None for dim in dims if not is_plain(dim)})
        self._answers: dict[Dim, bool] = {}
        self._kept: dict[Any, Any] = {}

    def same(self, value: Kept) -> Kept:
        """Return a value, or the equal one that was given before: of deep ones, only one is to be compared."""
        found: Kept = self._kept.setdefault(value, value)
        return found

    def is_whole(self, dim: Dim) -> bool:
        """Say whether `dim` is sure to be a whole number: a product of whole ones.

        >>> from shapecalc.core.sizes.text import read_dims
        >>> known = Known(read_dims("H/7,W/7"))
        >>> [known.is_whole(dim) for dim in read_dims("C*H*W/49,H/14")]
        [True, False]
        """
        if is_plain(dim):
            return True
        if not self.fractions:
            return False
        answer = self._answers.get(dim)
        if answer is None:
            answer = self._answers[dim] = self._is_product(monomial(dim), DEEPEST)
        return answer

    def divides(self, part: Dim, whole: Dim) -> bool:
        """Say whether `part`, which is not 0, is sure to divide `whole`."""
        if type(part) is int and type(whole) is int:
            return whole % part == 0
        return self.is_whole(quotient(whole, part))

    def _is_product(self, dim: Monomial, depth: int) -> bool:
        for fraction in self.fractions:
            rest = quotient(dim, fraction)
            if is_plain(rest):
                return True
            if depth and _lies_under(monomial(rest)) < _lies_under(dim) and self._is_product(monomial(rest), depth - 1):
                return True
        return False


def is_plain(dim: Dim) -> bool:
    """Say whether a dim is a whole number for all sizes."""
    return isinstance(dim, int) or (dim.denominator == 1 and all(power > 0 for _, power in dim.powers))


def _lies_under(dim: Monomial) -> tuple[int, int]:
    """Return how much divides in a monomial: how many names, and the number."""
    return sum(-power for _, power in dim.powers if power < 0), dim.denominator


class Implied(Known):
    """All that follows from dims that must be whole, and not only their products; it takes longer to tell."""

    def is_whole(self, dim: Dim) -> bool:
        """Say whether `dim` is sure to be a whole number.

        >>> from shapecalc.core.sizes.text import read_dims
        >>> Implied(read_dims("N*N/3")).is_whole(*read_dims("N/3"))
        True
        """
        if super().is_whole(dim):
            return True
        if not self.fractions:
            return False
        from shapecalc.core.sizes.inequalities import Undecided
        from shapecalc.core.sizes.systems import System

        try:
            return System((), map(monomial, self.fractions)).makes_whole(monomial(dim))
        except Undecided:
            return False
