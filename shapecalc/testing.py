"""An assertion on the shape of an array, for tests of other programs."""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc import match
from shapecalc.core.dims import Dim
from shapecalc.core.problem import DIFFERS, ShapeError


def assert_shape(array: object, pattern: object, *, where: Mapping[str, int] | None = None) -> Mapping[str, Dim]:
    """Assert that a shape matches a pattern, and return the sizes of its names.

    Pass the returned sizes as `where` to the next assertion. Raises `AssertionError` with the mismatched dim and the
    source of the expected size, and `ShapeError` (usage) for an invalid pattern.

    >>> sizes = assert_shape((8, 3, 5, 5), "N,3,H,W")
    >>> assert_shape((4, 10), "N,K", where={"N": sizes["N"]})
    Traceback (most recent call last):
      ...
    AssertionError: 4,10 is not N,K: dim 0 is 4, and N is 8 (as given)
    """
    __tracebackhide__ = True  # pytest then reports the line of the test
    try:
        return match(pattern, array, where=where)
    except ShapeError as error:
        if error.problem.rule != DIFFERS:
            raise
        raise AssertionError(error.problem.message) from None
