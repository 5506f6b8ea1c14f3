"""Assertions on array shapes, for tests and for function arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from shapecalc.core.dims import Dim
from shapecalc.core.problem import DIFFERS, ShapeError, usage_error
from shapecalc.core.text import suggest_name
from shapecalc.reading.pattern import Matcher, match_pattern, shape_and_type, to_pattern

P = ParamSpec("P")
R = TypeVar("R")


def assert_shape(array: object, pattern: object, *, where: Mapping[str, int] | None = None) -> Mapping[str, Dim]:
    """Assert that a shape matches a pattern, and return the sizes of the names.

    Pass the returned sizes as `where` to the next assertion. Raises `AssertionError` if the shape does not match; the
    message contains the mismatched dim and the source of the expected size. Raises `ShapeError` (usage) if the pattern
    is invalid.

    >>> sizes = assert_shape((8, 3, 5, 5), "N,3,H,W")
    >>> assert_shape((4, 10), "N,K", where={"N": sizes["N"]})
    Traceback (most recent call last):
      ...
    AssertionError: 4,10 is not N,K: dim 0 is 4, and N is 8 (as given)
    """
    __tracebackhide__ = True  # pytest hides a function with this local variable from tracebacks
    try:
        return match_pattern(pattern, array, where)
    except ShapeError as error:
        if error.problem.rule != DIFFERS:
            raise
        raise AssertionError(error.problem.message) from None


def shapes(*, returns: object = None, **patterns: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks the shapes of arguments and results.

    `patterns` maps parameters to patterns, and `returns` is the pattern of the result. A name has the same size in all
    patterns of a call. An argument that is None is not checked. The decorated function raises `AssertionError` for the
    first mismatch. The decorator raises `ShapeError` (usage) for an invalid pattern or an unknown parameter.

    >>> @shapes(x="b c", w="c n", returns="b n")
    ... def project(x, w):
    ...     return (x[0], w[1])
    >>> project((8, 3), (3, 5))
    (8, 5)
    >>> project((8, 3), (4, 5))
    Traceback (most recent call last):
      ...
    AssertionError: project: w: 4,5 is not c,n: dim 0 is 4, and c is 3 (x, dim 1)
    """
    expected = {name: to_pattern(pattern) for name, pattern in patterns.items()}
    expected_result = None if returns is None else to_pattern(returns)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        """Return a function that also checks its arguments and its result."""
        parameters = signature(function)
        for name in expected:
            if name not in parameters.parameters:
                message = f"{function.__qualname__} has no parameter {name}"
                raise usage_error(message, suggest_name(name, parameters.parameters))

        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            """Check the arguments, call the function, and check its result."""
            __tracebackhide__ = True
            bound = parameters.bind(*args, **kwargs).arguments
            matcher: Matcher | None = None
            for name, pattern in expected.items():
                if bound.get(name) is not None:
                    matcher = Matcher.with_sizes_of(matcher, pattern)
                    _check_shape(matcher, bound[name], f"{function.__qualname__}: {name}", name)
            result = function(*args, **kwargs)
            if expected_result is not None:
                matcher = Matcher.with_sizes_of(matcher, expected_result)
                _check_shape(matcher, result, f"{function.__qualname__}: the result", "result")
            return result

        return wrapper

    return decorate


def _check_shape(matcher: Matcher, value: object, label: str, location: str) -> None:
    """Raise `AssertionError` if the shape of a value does not match."""
    __tracebackhide__ = True
    problem = matcher.match_shape(*shape_and_type(value), location)
    if problem:
        raise AssertionError(f"{label}: {problem.message}")
