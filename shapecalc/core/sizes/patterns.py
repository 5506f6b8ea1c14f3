"""How patterns of axes are written: `b c (h p) -> b h (p c)`, as einops has them. Each token keeps its place.

pattern = side "->" side
side    = {axis | "(" {axis} ")"}
axis    = name | whole number | "..."
"""

from __future__ import annotations

from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.python_values import describe
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.tokens import MOST_DIMS, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ARROW, ELLIPSIS = "->", "..."
MOST_DIGITS = 18
"""The most digits of the length of an axis. int64 has 19 digits."""
WRITE_ONE = "write names for the axes, as in 'b c h w -> b (h w) c'"


class Part(Record):
    """One dim of a side: one axis, or those in a pair of brackets."""

    axes: tuple[Token, ...]
    start: int
    """The place of its first character."""
    grouped: bool = False
    """Whether there are brackets around it."""

    @property
    def text(self) -> str:
        """How it is written."""
        words = " ".join([axis.text for axis in self.axes])
        return f"({words})" if self.grouped else words


class Pattern(Record):
    """Both sides of a pattern, dim by dim."""

    left: tuple[Part, ...]
    right: tuple[Part, ...]


def read_pattern(text: object, argument: str = "pattern") -> Pattern:
    """Return the pattern that a text writes; raise `ShapeError` (usage) if it writes none.

    >>> [part.text for part in read_pattern("b c (h p) -> b h (p c)").right]
    ['b', 'h', '(p c)']
    """
    if not isinstance(text, str):
        raise misuse(f"{argument} is a text such as 'b c h -> b h c', not {describe(text)}", argument=argument)
    found = text.count(ARROW)
    if found != 1:
        said = "no arrow ->" if not found else f"{found} arrows ->"
        raise misuse(f"a pattern has a left and a right side, and this has {said}", WRITE_ONE, argument=argument)
    middle = text.index(ARROW)
    left = _side(text, 0, middle, argument)
    right = _side(text, middle + len(ARROW), len(text), argument)
    _check_sides(left, right, argument)
    return Pattern(left, right)


def _side(text: str, start: int, end: int, argument: str) -> tuple[Part, ...]:
    """Return the dims of one side of a pattern."""
    parts, group, opened = list[Part](), list[Token](), -1
    for token in _words(text, start, end):
        if token.text == "(":
            if opened >= 0:
                raise unreadable("brackets in brackets", token, argument)
            group, opened = [], token.start
        elif token.text == ")":
            if opened < 0:
                raise unreadable("a bracket that was never opened", token, argument)
            parts.append(Part(tuple(group), opened, True))
            opened = -1
        elif opened >= 0:
            group.append(_axis(token, argument))
        else:
            parts.append(Part((_axis(token, argument),), token.start))
    if opened >= 0:
        raise unreadable("a bracket that is never closed", Token("(", opened), argument)
    if len(parts) > MOST_DIMS:
        raise misuse(f"{len(parts)} dims, and no shape has more than {MOST_DIMS}", argument=argument)
    return tuple(parts)


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    """Yield the brackets and the words between `start` and `end`."""
    place = start
    while place < end:
        stop = place + 1
        if text[place] not in "()" and not text[place].isspace():
            while stop < end and text[stop] not in "()" and not text[stop].isspace():
                stop += 1
        if not text[place].isspace():
            yield Token(text[place:stop], place)
        place = stop


def _axis(token: Token, argument: str) -> Token:
    """Return a token that names an axis; raise `ShapeError` (usage) for any other."""
    word = token.text
    number = word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and int(word) > 0
    name = word.isascii() and word.isidentifier() and word.strip("_") == word
    if not (number or name or word == ELLIPSIS):
        shown = visible(brief(word))
        raise unreadable(f"'{shown}', which is not an axis (a name, a whole number above 0, or ...)", token, argument)
    return token


def _check_sides(left: tuple[Part, ...], right: tuple[Part, ...], argument: str) -> None:
    """Refuse an axis that a side names twice, or that only the left one has, and `(...)` at the left."""
    first, second = ([axis for part in side for axis in part.axes] for side in (left, right))
    for axes in (first, second):
        _check_single(axes, argument)
    names, kept = ({axis.text for axis in axes} for axes in (first, second))
    for axis in first:
        if axis.text.isdigit() and int(axis.text) != 1:
            raise unreadable("a length on the left, where only 1 is allowed", axis, argument)
        if not axis.text.isdigit() and axis.text not in kept:
            raise unreadable(f"{brief(axis.text)} on the left only, and no axis can be dropped", axis, argument)
    for axis in second:
        if axis.text == ELLIPSIS and ELLIPSIS not in names:
            raise unreadable("... on the right only", axis, argument)
    for part in left:
        if part.grouped and ELLIPSIS in [axis.text for axis in part.axes]:
            raise unreadable("... in brackets on the left", Token(part.text, part.start), argument)


def _check_single(axes: list[Token], argument: str) -> None:
    """Refuse a name that stands twice among the axes of one side."""
    met = set[str]()
    for axis in axes:
        if axis.text in met and not axis.text.isdigit():
            raise unreadable(f"{brief(axis.text)} twice on one side", axis, argument)
        met.add(axis.text)


def unreadable(found: str, token: Token, argument: str) -> ShapeError:
    """Return the error to raise (usage) for a token that cannot stand where it stands."""
    return misuse(f"the pattern has {found}", WRITE_ONE, argument=argument, span=token.span)


def read_lengths(text: object, argument: str = "lengths") -> dict[str, int]:
    """Return the lengths of axes by name, from a text such as `p=7,q=7`; raise `ShapeError` (usage) for others.

    >>> read_lengths("p=7, q=7")
    {'p': 7, 'q': 7}
    """
    if not isinstance(text, str):
        raise misuse(f"{argument} is a text such as 'p=7,q=7', not {describe(text)}", argument=argument)
    lengths: dict[str, int] = {}
    for pair in text.split(","):
        name, _, number = (word.strip() for word in pair.partition("="))
        digits = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS
        if not (name.isascii() and name.isidentifier() and digits and int(number) > 0):
            shown = visible(brief(pair.strip()))
            raise misuse(f"'{shown}' is not AXIS=LENGTH", "write p=7,q=7", argument=argument)
        if name in lengths:
            raise misuse(f"{brief(name)} is given two lengths", argument=argument)
        lengths[name] = int(number)
    return lengths
