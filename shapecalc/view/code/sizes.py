"""Dims as Python expressions: numbers, sizes read from `x`, and products of them."""

from __future__ import annotations

from keyword import iskeyword

from shapecalc.core.sizes.dims import Dim, Monomial, Shape
from shapecalc.core.sizes.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TAKEN = {"x", "y", "np", "math", "torch", "rearrange", "repeat"}
"""The names that the code itself uses."""


def size_text(dim: Dim, shape: Shape) -> str:
    """Return the expression for a dim in a program whose `x` has `shape`.

    Raises `ShapeError` (usage) for a `?`, and for a name that the program cannot use.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> size_text(read_dims("C*H/64")[0], read_dims("N,C,H"))
    'x.shape[1] * x.shape[2] // 64'
    """
    if isinstance(dim, int):
        return str(dim)
    if dim in shape:
        return f"x.shape[{shape.index(dim)}]"
    known = readable_sizes(shape)
    above = [_name_text(name, known) for name, power in dim.powers for _ in range(power)]
    below = [_name_text(name, known) for name, power in dim.powers for _ in range(-power)]
    if dim.numerator != 1 or not above:
        above.insert(0, str(dim.numerator))
    if dim.denominator != 1:
        below.insert(0, str(dim.denominator))
    return " // ".join([" * ".join(above), *below])


def readable_sizes(shape: Shape) -> Mapping[str, str]:
    """Return the names that a program can read from `x.shape`, each with the expression for it.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> readable_sizes(read_dims("N,2*C,H*W"))
    {'N': 'x.shape[0]', 'C': '(x.shape[1] // 2)'}
    """
    sizes: dict[str, str] = {}
    for axis, dim in enumerate(shape):
        if isinstance(dim, Monomial) and [power for _, power in dim.powers] == [1]:
            ((name, _),) = dim.powers
            times = f" * {dim.denominator}" if dim.denominator != 1 else ""
            over = f" // {dim.numerator}" if dim.numerator != 1 else ""
            plain = not (times or over)
            if name not in sizes or (plain and sizes[name].startswith("(")):
                sizes[name] = f"x.shape[{axis}]" if plain else f"(x.shape[{axis}]{times}{over})"
    return sizes


def open_names(dims: Iterable[Dim], shape: Shape) -> tuple[str, ...]:
    """Return the names in `dims` that the program must be given, because `x.shape` does not hold them."""
    known = readable_sizes(shape)
    written = [dim for dim in dims if isinstance(dim, Monomial) and dim not in shape]
    return tuple(dict.fromkeys(name for dim in written for name, _ in dim.powers if name not in known))


def _name_text(name: str, known: Mapping[str, str]) -> str:
    if name in known:
        return known[name]
    if name.startswith("?"):
        raise misuse("the code needs the size of a ?", "give it a name, or its size")
    if iskeyword(name) or name in TAKEN:
        raise misuse(f"a dim cannot be called {name} in the code", "give it another name")
    return name
