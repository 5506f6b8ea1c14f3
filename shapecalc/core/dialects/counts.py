"""What every requested shape is held to, in whatever way it is read: one dim to infer, and the same element count."""

from __future__ import annotations

from shapecalc.core.rules.refusals import BELOW_MINUS_ONE, TWO_INFERS, VOLUME_MISMATCH
from shapecalc.core.sizes.conditions import Conditions, Never, equal
from shapecalc.core.sizes.dims import Dim, Shape, product
from shapecalc.core.sizes.problem import ShapeError, refusal
from shapecalc.core.sizes.quoting import brief, count_text
from shapecalc.core.sizes.text import shape_text


def below_minus_one(dim: int, argument: str, index: int) -> ShapeError:
    """Return the error for a negative number that asks for nothing."""
    message = f"{dim} is below -1, the only negative that has a meaning"
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
