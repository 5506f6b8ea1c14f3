"""Python values as dims, whole numbers and sizes: what a call may pass, and what it may not."""

from __future__ import annotations

from _operator import index  # `operator` has it from there, and takes longer to import

from shapecalc.core.sizes.dims import Dim, Monomial, Shape, named_dim
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import MOST_BITS, brief, dim_text, visible
from shapecalc.core.sizes.text import NAME_IT, TOO_LARGE, read_dim
from shapecalc.core.sizes.tokens import MAX_DIGITS, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeGuard

MOST_SIZE_DIGITS = 30
"""The most digits of a size that is put in for a name. int64 has 19 digits."""
MAY_BE_UNKNOWN = ("input", "expect", "pattern")
"""The arguments whose dims may be `?`, or None in Python."""


def is_whole(value: object) -> bool:
    """Say whether a Python value stands for one whole number."""
    try:
        return not isinstance(value, bool) and index(value) is not None  # type: ignore[arg-type]
    except TypeError:
        return False


def whole_number(value: object, name: str) -> int:
    """Return the one whole number that a text or a Python value stands for; raise `ShapeError` (usage) otherwise."""
    if isinstance(value, str):
        digits = value.strip().removeprefix("-")
        if digits.isdigit() and digits.isascii() and len(digits) <= MAX_DIGITS:
            return int(value)
    elif is_whole(value) and index(value).bit_length() <= MOST_BITS:  # type: ignore[arg-type]
        return index(value)  # type: ignore[arg-type]
    raise misuse(f"{name} is one whole number, not {describe(value)}", argument=name)


def shape_of(value: object, argument: str = "input") -> Shape:
    """Return the shape of a tensor: that of anything with a `shape`, or dims in a sequence; None is a dim nobody knows.

    Raises `ShapeError` (usage) for anything else.

    >>> class Layer: shape = (None, 3)
    >>> shape_of(Layer()), shape_of([2, None])
    ((?, 3), (2, ?))
    """
    held = None if type(value) is tuple else getattr(value, "shape", None)
    return dims_of(value if held is None else held, argument, lowest=0)


def dims_of(value: object, argument: str, lowest: int = -TOO_LARGE) -> Shape:
    """Return the dims of a Python sequence: whole numbers of at least `lowest`, monomials, or texts of one dim.

    Raises `ShapeError` (usage) for anything else. `argument` is the name of the argument at fault.
    """
    dims: tuple[Any, ...] = value if type(value) is tuple else elements_of(value, argument)
    for dim in dims:
        if type(dim) is not int or not lowest <= dim < TOO_LARGE:
            return _read_mixed(dims, argument, lowest)
    return dims


def elements_of(value: object, argument: str) -> tuple[object, ...]:
    """Return the elements of a sequence; raise `ShapeError` (usage) for bytes, a mapping, or no sequence."""
    try:
        elements: tuple[object, ...] = tuple(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # TensorFlow raises the second for a shape of which nothing is known
        raise misuse(f"{argument} is a sequence of dims, not {describe(value)}", argument=argument) from None
    if isinstance(value, (bytes, bytearray)) or _is_mapping(value):
        raise misuse(f"{argument} is text or a sequence of dims, not {type(value).__name__}", argument=argument)
    return elements


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Say whether a value is a mapping. `Mapping` is imported late, so that a bare question starts fast."""
    from collections.abc import Mapping

    return isinstance(value, Mapping)


def _read_mixed(values: tuple[object, ...], argument: str, lowest: int) -> Shape:
    """Return the dims of a sequence that does not hold plain numbers alone. Each `?` gets a name of its own."""
    dims, unknowns = [], 0
    for place, given in enumerate(values):
        value = "?" if given is None and argument in MAY_BE_UNKNOWN else given
        if isinstance(value, str) and value.isascii() and value.isidentifier():
            dim: Dim = named_dim(value)
        elif isinstance(value, str):
            dim, met = read_dim(Token(value.strip() or " ", 0), unknowns, argument, place)
            if met > unknowns and argument not in MAY_BE_UNKNOWN:
                raise misuse("? is an unknown size, so it cannot be requested", argument=argument, index=place)
            unknowns = met
        elif isinstance(value, Monomial):
            dim = value
        elif is_whole(value) and index(value).bit_length() <= MOST_BITS:  # type: ignore[arg-type]
            dim = index(value)  # type: ignore[arg-type]
        else:
            message = f"a dim is a whole number or a name, not {describe(value)}"
            raise misuse(message, NAME_IT, argument=argument, index=place)
        if isinstance(dim, int) and dim < lowest:
            raise misuse(f"{dim_text(dim)} is not the size of an input dim", NAME_IT, argument=argument, index=place)
        dims.append(dim)
    return tuple(dims)


def describe(value: object) -> str:
    """Return the text of a Python value for a message."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return dim_text(value)
    try:
        return visible(brief(repr(value)))
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deep to show"


def read_sizes(where: object) -> dict[str, int]:
    """Return the sizes to put in for names, from a text such as `N=8,C=3` or from a mapping.

    Raises `ShapeError` (usage) for anything else.

    >>> read_sizes("N=8,C=3")
    {'N': 8, 'C': 3}
    """
    if isinstance(where, str):
        pairs = [pair.partition("=")[::2] for pair in where.split(",")]
    elif _is_mapping(where):
        pairs = [(str(name), size if isinstance(size, str) else describe(size)) for name, size in where.items()]
    else:
        raise misuse(f"sizes are text or a mapping, not {describe(where)}", "write N=8,C=3", argument="where")
    sizes: dict[str, int] = {}
    for name, number in ((name.strip(), number.strip()) for name, number in pairs):
        if not (name.isidentifier() and number.isdigit() and number.isascii() and len(number) <= MOST_SIZE_DIGITS):
            shown = visible(brief(f"{name}={number}"))
            raise misuse(f"'{shown}' is not NAME=SIZE", "write N=8,C=3", argument="where")
        if name in sizes:
            raise misuse(f"{name} is given two sizes", argument="where")
        sizes[name] = int(number)
    return sizes
