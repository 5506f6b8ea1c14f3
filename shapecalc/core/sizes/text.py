"""How shapes are written. This module alone reads `2,N,-1`; where each dim stands, its tokens say.

dim    = ["-"] digits ["L"] | factor {("*" | "/" | "//") factor}
factor = digits | name | "?" | "None"

None is ?, and H//2 is H/2, which leaves out the sizes that 2 does not divide.
"""

from __future__ import annotations

from shapecalc.core.sizes.dims import Dim, Monomial, Shape, lowest_terms, named_dim
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.tokens import LONGEST_WORD, MAX_DIGITS, UNKNOWN, Token, is_integer, is_number, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.core.sizes.problem import ShapeError

TOO_LARGE = 10**MAX_DIGITS
NAME_IT = "write a name (N) or ? for a size that is not known"


def shape_text(shape: Iterable[Dim]) -> str:
    """Return the text of a shape as shapecalc prints it.

    >>> shape_text((2, 12)), shape_text(()), shape_text(read_dims("N,3*W*H"))
    ('2,12', '[]', 'N,3*H*W')
    """
    return ",".join(map(str, shape)) or "[]"


def is_file(text: str) -> bool:
    """Say whether a text names a file. A file in an archive has the archive, a colon and its name.

    >>> is_file("x.npy"), is_file("x.npz:weights"), is_file("x.zarr"), is_file("x.h5:/data"), is_file("2,3,4")
    (True, True, True, True, False)
    """
    if text.endswith((".npy", ".npz", ".safetensors")) or ".npz:" in text or ".safetensors:" in text:
        return True
    return text.rstrip("/").endswith((".zarr", ".h5", ".hdf5")) or any(
        mark in text for mark in (".zarr:", ".h5:", ".hdf5:")
    )


def read_shape(text: str, argument: str = "input") -> Shape:
    """Return the shape of a tensor from its text; raise `ShapeError` (usage) if it is not one.

    >>> read_shape("[2, 3, 4]"), read_shape("2x3"), read_shape("torch.Size([5])"), read_shape("()")
    ((2, 3, 4), (2, 3), (5,), ())
    """
    dims = read_dims(text, argument)
    for index, dim in enumerate(dims):
        if isinstance(dim, int) and dim < 0:
            raise misuse(
                f"{dim} is not the size of an input dim",
                NAME_IT,
                argument=argument,
                index=index,
                span=tokens(text, argument)[index].span,
            )
    return dims


def read_dims(text: str, argument: str = "target") -> Shape:
    """Return the dims that `text` writes; a number may be negative, and each `?` gets a name of its own.

    Raises `ShapeError` (usage) if the text writes no dims. `argument` is the name of the argument at fault.

    >>> read_dims("0,-1"), [str(dim) for dim in read_dims("N,C*H*W/64")]
    ((0, -1), ['N', 'C*H*W/64'])
    """
    words = text.split(",") if len(text) < MAX_DIGITS else []
    if words and text.isascii() and all(word.isdigit() for word in words):
        return tuple(map(int, words))
    unknowns = 0
    dims = []
    for index, token in enumerate(tokens(text, argument)):
        dim, unknowns = read_dim(token, unknowns, argument, index)
        dims.append(dim)
    return tuple(dims)


def read_target(text: str, argument: str = "target") -> Shape:
    """Return a requested shape from its text; raise `ShapeError` (usage) for a `?`, which means nothing there."""
    dims = read_dims(text, argument)
    if "?" not in text and "None" not in text:
        return dims
    for index, token in enumerate(tokens(text, argument)):
        dim = dims[index]
        if isinstance(dim, Monomial) and any(name.startswith("?") for name, _ in dim.powers):
            unknown = "?" if "?" in token.text else "None"
            place = token.start + token.text.index(unknown)
            raise misuse(
                f"{unknown} is an unknown size, so it cannot be requested",
                "write -1 to infer the dim, or a name",
                argument=argument,
                index=index,
                span=(place, place + len(unknown)),
            )
    return dims


def read_axes(text: str, argument: str = "axes") -> tuple[int, ...]:
    """Return the whole numbers that `text` writes; raise `ShapeError` (usage) for anything else.

    >>> read_axes("1,0,-1")
    (1, 0, -1)
    """
    axes = read_dims(text, argument)
    for index, axis in enumerate(axes):
        if not isinstance(axis, int):
            span = tokens(text, argument)[index].span
            raise misuse(f"an axis is a whole number, not {axis}", argument=argument, index=index, span=span)
    return axes  # type: ignore[return-value]


def read_dim(token: Token, unknowns: int, argument: str, index: int) -> tuple[Dim, int]:
    """Return the dim that a token writes, and how many `?` were read so far, `unknowns` of them before the token.

    Raises `ShapeError` (usage) if it writes no dim.
    """
    word = token.text
    if is_integer(word.removesuffix("L")):
        return int(word.removesuffix("L")), unknowns
    if word in UNKNOWN:
        return named_dim(f"?{unknowns}"), unknowns + 1
    if word.isidentifier() and word.isascii() and len(word) <= LONGEST_WORD:
        return named_dim(word), unknowns
    if len(word) > LONGEST_WORD or not (word.isascii() and word.isprintable()):
        raise _mistyped_error(token, token, argument, index)
    numerator, denominator, powers = 1, 1, dict[str, int]()
    for divides, factor in _factors(token):
        text = factor.text.strip()
        if is_number(text):
            numerator, denominator = (
                (numerator, denominator * int(text)) if divides else (numerator * int(text), denominator)
            )
        elif text == "?" or text.isidentifier():
            name = f"?{unknowns}" if text in UNKNOWN else text
            unknowns += text in UNKNOWN
            powers[name] = powers.get(name, 0) + (-1 if divides else 1)
        else:
            raise _mistyped_error(factor, token, argument, index)
    return _product_dim(numerator, denominator, powers, token, argument, index), unknowns


def _mistyped_error(part: Token, whole: Token, argument: str, index: int) -> ShapeError:
    from shapecalc.core.sizes.mistyped import mistyped_error  # only who mistypes needs it

    return mistyped_error(part, whole, argument, index)


def _product_dim(
    numerator: int, denominator: int, powers: dict[str, int], token: Token, argument: str, index: int
) -> Dim:
    """Return the dim that a written product makes; raise `ShapeError` (usage) if it makes none."""
    shown = visible(brief(token.text))
    if denominator == 0:
        raise misuse(f"{shown} divides by 0", argument=argument, index=index, span=token.span)
    if max(numerator, denominator) >= TOO_LARGE:
        raise misuse(f"{shown} has more digits than any size", argument=argument, index=index, span=token.span)
    dim = lowest_terms(numerator, denominator, powers)
    if not isinstance(dim, int) and not dim.powers:
        raise misuse(f"{shown} is not a whole number", argument=argument, index=index, span=token.span)
    return dim


def _factors(token: Token) -> list[tuple[bool, Token]]:
    """Return the factors of a written product, each with its place and whether it divides."""
    factors, divides, start = [], False, 0
    for place, char in enumerate(f"{token.text}*"):
        if char == "/" and divides and place == start and token.text[place - 2 : place] != "//":
            start += 1
        elif char in "*/":
            factors.append((divides, Token(token.text[start:place], token.start + start)))
            divides, start = char == "/", place + 1
    return factors
