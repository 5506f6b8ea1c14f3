"""Limits on rank and size, and the errors for what is over them."""

from __future__ import annotations

from shapecalc.core.rules.refusals import OVERFLOW, RANK_LIMIT
from shapecalc.core.sizes.dims import INT64_MAX, Dim, Shape, exceeds, monomial, product
from shapecalc.core.sizes.problem import ShapeError, refusal
from shapecalc.core.sizes.quoting import count_text, dim_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.stage import Reasons, Stage
    from shapecalc.core.dialects.dialect import Dialect


def check_rank(dims: Shape, row: Dialect, argument: str) -> None:
    """Raise `ShapeError` (rank-limit) if the dialect does not take that many dims."""
    if row.max_rank is not None and len(dims) > row.max_rank:
        message = f"{len(dims)} dims, and {row.name} takes at most {row.max_rank}"
        raise refusal(RANK_LIMIT, message, argument=argument, index=row.max_rank)


def check_sizes(dims: Shape, argument: str) -> None:
    """Raise `ShapeError` (overflow) if a dim is over int64 whatever the names are."""
    for index, dim in enumerate(dims):
        if exceeds(dim, INT64_MAX):
            message = f"{dim_text(dim)} is too large for int64, whose limit is {INT64_MAX}"
            raise refusal(OVERFLOW, message, argument=argument, index=index)


def too_many(stage: Stage, most: int, row: Dialect) -> Reasons | None:
    """Return what refuses a stage whose tensor has more dims than its operator takes (rank-limit), or None."""
    rank = len(stage.before)
    if rank <= most:
        return None
    message = f"{rank} dims, and this operator of {row.name} takes at most {most}"
    return refused(stage, refusal(RANK_LIMIT, message, argument="input", index=most))


def refused(stage: Stage, error: ShapeError) -> Reasons:
    """Begin a stage, and refuse it."""
    yield stage
    raise error


def checked_volume(dims: Shape, argument: str) -> Dim:
    """Return the element count of `dims`.

    Raises `ShapeError` (overflow) if a dim or the count is over int64 whatever the names are.
    """
    volume = product(dims)
    if isinstance(volume, int) and 0 < volume <= INT64_MAX:
        return volume
    check_sizes(dims, argument)
    if exceeds(volume, INT64_MAX) or monomial(volume).denominator > INT64_MAX:
        message = f"{count_text(dims, volume)} are too many for int64, whose limit is {INT64_MAX}"
        raise refusal(OVERFLOW, message, argument=argument)
    return volume
