"""Patterns of shapes: what the shape of an array, or of an answer, must be.

    pattern = type "[" dims "]" | dims        dims as in a shape, and one of them may be "..."

`?` is any dim, `...` any number of dims. A name takes the size that it first meets and keeps it.
"""

from __future__ import annotations

from shapecalc.core.dialects.element_types import KNOWN, element_type
from shapecalc.core.dialects.numpy import NUMPY
from shapecalc.core.sizes.dims import Shape, names
from shapecalc.core.sizes.lookup import suggestion
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.python_values import dims_of, elements_of
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import read_dim, read_dims
from shapecalc.core.sizes.tokens import Token, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

ANY_DIMS = "..."
"""What stands for any number of dims."""


class ShapePattern(Record):
    """What a shape must be: dims, of which some may be names, and an element type."""

    dims: Shape
    gap: int | None = None
    """How many of the dims stand before `...`; None if there is no `...`."""
    dtype: str | None = None

    def __str__(self) -> str:
        texts = list(map(str, self.dims))
        if self.gap is not None:
            texts.insert(self.gap, ANY_DIMS)
        text = ",".join(texts)
        return f"{self.dtype}[{text}]" if self.dtype else text or "[]"

    def is_open(self, own: Collection[str]) -> bool:
        """Say whether it asks for more than one shape as it is written; names in `own` stand for themselves."""
        return self.gap is not None or self.dtype is not None or any(name not in own for name in names(self.dims))


def pattern_of(value: object) -> ShapePattern:
    """Return the pattern of arrays that a text or a Python sequence states.

    Raises `ShapeError` (usage) for what states none, and for a negative size.

    >>> print(pattern_of(("N", 3, ...)), pattern_of("float32[N,3,?]"))
    N,3,... float32[N,3,?]
    """
    made = read_pattern(value, "pattern") if isinstance(value, str) else pattern_of_dims(value, "pattern")
    for dim in made.dims:
        if isinstance(dim, int) and dim < 0:
            raise misuse(f"{dim} is not the size of a dim", "write ? for any size, or a name", argument="pattern")
    return made


def read_pattern(text: str, argument: str) -> ShapePattern:
    """Return the pattern that a text writes; raise `ShapeError` (usage) if it writes none.

    >>> read_pattern("float32[N, ..., 3]", "pattern")
    ShapePattern(dims=(N, 3), gap=1, dtype='float32')
    """
    dtype, start = _read_type(text, argument)
    text = " " * start + text[start:]  # the dims stay at their places
    if ANY_DIMS not in text:
        return ShapePattern(read_dims(text, argument), None, dtype)
    pieces = tokens(text, argument)
    gaps = [place for place, token in enumerate(pieces) if token.text == ANY_DIMS]
    _check_gaps([pieces[place] for place in gaps], argument)
    dims, unknowns = [], 0
    for place, token in enumerate(pieces):
        if place not in gaps:
            dim, unknowns = read_dim(token, unknowns, argument, place)
            dims.append(dim)
    return ShapePattern(tuple(dims), gaps[0] if gaps else None, dtype)


def pattern_of_dims(value: object, argument: str) -> ShapePattern:
    """Return the pattern that a Python sequence states, in which `...` and "..." are any number of dims.

    Raises `ShapeError` (usage) for anything else.
    """
    elements = elements_of(value, argument)
    gaps = [place for place, each in enumerate(elements) if each is ... or each == ANY_DIMS]
    _check_gaps(gaps, argument)
    dims = dims_of(tuple(each for at, each in enumerate(elements) if at not in gaps), argument)
    return ShapePattern(dims, gaps[0] if gaps else None)


def _read_type(text: str, argument: str) -> tuple[str | None, int]:
    """Return the element type before a bracket, if there is one, and the place of the bracket."""
    word, bracket, _ = text.partition("[")
    name = word.strip()
    if not bracket or not name.isidentifier():
        return None, 0
    dtype = element_type(name, NUMPY)
    if dtype is None:
        start = text.index(name)
        message = f"there is no element type '{visible(brief(name))}'"
        raise misuse(message, suggestion(name, sorted(KNOWN)), argument=argument, span=(start, start + len(name)))
    return dtype, len(word)


def _check_gaps(gaps: list[Token] | list[int], argument: str) -> None:
    """Raise `ShapeError` (usage) if `...` stands more than once."""
    if len(gaps) > 1:
        span = gaps[1].span if isinstance(gaps[1], Token) else None
        raise misuse("... means any number of dims, so it can be written only once", argument=argument, span=span)
