"""Limits on rank and size, and the errors for what is over them."""

from __future__ import annotations

from shapecalc.core.dims import INT64_MAX, Dim, Shape, exceeds, monomial, product
from shapecalc.core.problem import refusal
from shapecalc.core.wording import counted, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.rules import Dialect


def check_rank(dims: Shape, row: Dialect, argument: str) -> None:
    """Raise `ShapeError` (rank-limit) where the dialect does not take that many dims."""
    if row.max_rank is not None and len(dims) > row.max_rank:
        raise refusal(
            "rank-limit",
            f"{len(dims)} dims, and {row.name} takes at most {row.max_rank}",
            argument=argument,
            index=row.max_rank,
        )


def checked_volume(dims: Shape, argument: str) -> Dim:
    """Return the element count of `dims`.

    Raises `ShapeError` (overflow) where a dim or the count is over int64 whatever the names are.
    """
    volume = product(dims)
    if isinstance(volume, int) and 0 < volume <= INT64_MAX:
        return volume
    for index, dim in enumerate(dims):
        if exceeds(dim, INT64_MAX):
            raise refusal(
                "overflow",
                f"{sized(dim)} is over int64, whose largest is {INT64_MAX}",
                argument=argument,
                index=index,
            )
    if exceeds(volume, INT64_MAX) or monomial(volume).denominator > INT64_MAX:
        message = f"{counted(dims, volume)} are over int64, whose largest is {INT64_MAX}"
        raise refusal("overflow", message, argument=argument)
    return volume
