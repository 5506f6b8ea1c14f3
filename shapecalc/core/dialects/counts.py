"""What every requested shape is held to, in whatever way it is read: one dim to infer, and the same element count."""

from __future__ import annotations

from shapecalc.core.answers.moves import Reshape
from shapecalc.core.answers.stage import Step
from shapecalc.core.dialects.limits import checked_volume
from shapecalc.core.rules.refusals import (
    BELOW_MINUS_ONE,
    INDIVISIBLE,
    TWO_INFERS,
    VOLUME_MISMATCH,
    ZERO_VOLUME_INFER,
)
from shapecalc.core.rules.steps import GIVEN, KEPT_DIM, Inferred, Regrouped
from shapecalc.core.sizes.conditions import Conditions, Never, divides, equal
from shapecalc.core.sizes.dims import Dim, Shape, product, quotient
from shapecalc.core.sizes.problem import ShapeError, refusal
from shapecalc.core.sizes.quoting import brief, count_text
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.answers.stage import Reasons


def below_minus_one(dim: int, argument: str, index: int) -> ShapeError:
    """Return the error for a negative number that asks for nothing."""
    message = f"{dim} is below -1, the only negative number with a meaning"
    return refusal(BELOW_MINUS_ONE, message, argument=argument, index=index)


def second_infer(argument: str, index: int) -> ShapeError:
    """Return the error for a second dim to infer."""
    return refusal(
        TWO_INFERS, "at most one dim can be inferred, and this is the second", argument=argument, index=index
    )


def same_count(shape: Shape, settled: Shape, have: Dim, want: Dim, argument: str) -> Conditions:
    """Return the conditions under which an input of `have` elements fills the requested shape, which holds `want`.

    Raises `ShapeError`: volume-mismatch. Source: ONNX Reshape ("required to have the same number of elements").
    """
    if have == want:
        return ()
    try:
        return equal(have, want)
    except Never:
        pass
    requested = f"the requested {brief(shape_text(settled))} has {count_text(settled, product(settled))}"
    message = f"the input has {count_text(shape, have)}, {requested}"
    if have == 0 and isinstance(want, int):
        message += f": 0 elements cannot fill {want} places"
    raise refusal(VOLUME_MISMATCH, message, argument=argument)


def check_hole(out: int, dim: int, hole: int | None) -> None:
    """Refuse a second dim to infer, and what is below -1. Raises `ShapeError`: two-infers, below-minus-one."""
    if dim < -1:
        raise below_minus_one(dim, "target", out)
    if hole is not None:
        raise second_infer("target", out)


def reshaped(shape: Shape, target: Shape, zero: Callable[[int], Step], before: int = 0, behind: int = 0) -> Reasons:
    """Settle a requested shape whose zeros `zero` settles: the steps and the move of a stage that began.

    `before` and `behind` are how many dims at both ends are the input's own, as they are. Raises `ShapeError`:
    two-infers, below-minus-one, zero-volume-infer, indivisible, volume-mismatch, overflow, and what `zero` raises.
    """
    dims, hole, taken = list(target), None, set[int]()
    written, moved = range(before, len(target) - behind), len(shape) - len(target)
    for out, dim in enumerate(target):
        if out not in written:
            step = Step(KEPT_DIM, out, (out if out < before else out + moved,), dim)
        elif isinstance(dim, int) and dim < 0:
            check_hole(out - before, dim, hole)
            hole, dims[out] = out, 1
            continue
        else:
            step = zero(out) if dim == 0 else Step(GIVEN, out, (), dim)
        dims[out] = step.dim
        taken.update(step.sources)
        yield step
    axes = tuple(range(len(shape)))
    conditions: Conditions = ()
    if hole is None:
        conditions = same_count(shape, tuple(dims), product(shape), checked_volume(tuple(dims), "target"), "target")
    else:
        step = _inferred(shape, tuple(dims), hole, tuple([axis for axis in axes if axis not in taken]), hole - before)
        dims[hole] = step.dim
        yield step
    yield Step(Regrouped(shape, tuple(dims)), None, axes, tuple(dims), conditions)
    yield Reshape(tuple(dims))
    return tuple(dims)


def _inferred(shape: Shape, others: Shape, hole: int, sources: tuple[int, ...], index: int) -> Step:
    """Return the step that infers -1: the elements there are, divided by the product of the other dims."""
    have, known = product(shape), checked_volume(others, "target")
    if known == 0:
        message = "-1 could be any size, because the other dims multiply to 0"
        raise refusal(ZERO_VOLUME_INFER, message, argument="target", index=index)
    try:
        conditions = divides(have, known)
    except Never:
        message = f"{count_text(shape, have)} cannot be divided by {known}"
        raise refusal(INDIVISIBLE, message, argument="target", index=index) from None
    return Step(Inferred(shape, have, known), hole, sources, quotient(have, known), conditions)
