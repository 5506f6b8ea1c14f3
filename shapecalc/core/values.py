"""Parsers of Python values, sizes, slices, axis patterns and subscripts.

slices     = "[" slice {"," slice} "]" | slice {"," slice}
slice      = [integer] ":" [integer] [":" [integer]]
pattern    = side "->" side                 as in einops: `b c (h p) -> b h (p c)`
side       = {axis | "(" {axis} ")"}
axis       = name | integer | "..."
subscripts = term {"," term} ["->" term]    as in NumPy's einsum: `ij,jk->ik`
term       = {letter | "..."}               with "..." at most once, blanks are ignored
"""

from __future__ import annotations

from _collections_abc import Mapping
from _operator import index
from itertools import count

from shapecalc.core.dims import Dim, Monomial, Shape, named_dim, names
from shapecalc.core.limits import MOST_DIMS, MOST_SIZE_DIGITS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import MOST_BITS, NAME_IT, TOO_LARGE, Token, brief, dim_text, is_integer, read_dim, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


MAY_BE_UNKNOWN = ("input", "expect", "pattern")
"""The arguments whose dims may be `?`, or None in Python."""
MOST_ENDS = 3
"""The number of parts of a slice: start, stop and step."""
ARROW, ELLIPSIS = "->", "..."
MOST_DIGITS = 18
"""The maximum number of digits of an axis length; int64 has 19 digits."""
WRITE_ONE = "write names for the axes, as in 'b c h w -> b (h w) c'"
WRITE_LABELS = "write a letter for each axis, as in 'ij,jk->ik'"

Ends = tuple[int | None, int | None, int | None]
"""The start, the stop and the step of a slice; None for an omitted one."""


class AxisGroup(Record):
    """One dim of a pattern side: a single axis, or the axes in a pair of brackets."""

    axes: tuple[Token, ...]
    start: int
    """The offset of its first character."""
    grouped: bool = False
    """Whether it is in brackets."""

    @property
    def text(self) -> str:
        """The text of the dim in the pattern."""
        words = " ".join([axis.text for axis in self.axes])
        return f"({words})" if self.grouped else words


class AxisPattern(Record):
    """Both sides of an axis pattern, dim by dim."""

    left: tuple[AxisGroup, ...]
    right: tuple[AxisGroup, ...]


class Subscripts(Record):
    """The axis labels of each operand and of the output: letters and an ellipsis."""

    terms: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def is_whole(value: object) -> bool:
    """Return whether a Python value has `__index__` and is not a bool."""
    try:
        return not isinstance(value, bool) and index(value) is not None  # type: ignore[arg-type]
    except TypeError:
        return False


def whole_number(value: object, name: str) -> int:
    """Parse an integer from a text or a Python value.

    Raises `ShapeError` (usage) for anything else.
    """
    if isinstance(value, str):
        if is_integer(value):
            return int(value)
    elif is_whole(value) and index(value).bit_length() <= MOST_BITS:  # type: ignore[arg-type]
        return index(value)  # type: ignore[arg-type]
    raise misuse(f"{name} is one whole number, not {describe(value)}", argument=name)


def shape_of(value: object, argument: str = "input") -> Shape:
    """Convert an object with a `shape`, or a sequence of dims, to a shape.

    None becomes an unknown dim. Raises `ShapeError` (usage) for anything else.

    >>> class Layer: shape = (None, 3)
    >>> shape_of(Layer()), shape_of([2, None])
    ((?, 3), (2, ?))
    """
    shape = None if type(value) is tuple else getattr(value, "shape", None)
    return dims_of(value if shape is None else shape, argument, lowest=0)


def dims_of(value: object, argument: str, lowest: int = -TOO_LARGE) -> Shape:
    """Convert a Python sequence of integers, monomials and texts to dims.

    Integers are at least `lowest`. Raises `ShapeError` (usage) for anything else. `argument` is the name of the
    argument in the error.
    """
    dims: tuple[Any, ...] = value if type(value) is tuple else elements_of(value, argument)
    for dim in dims:
        if type(dim) is not int or not lowest <= dim < TOO_LARGE:
            return _read_mixed(dims, argument, lowest)
    return dims


def elements_of(value: object, argument: str) -> tuple[object, ...]:
    """Return the elements of a sequence.

    Raises `ShapeError` (usage) for bytes, mappings and non-sequences.
    """
    try:
        elements: tuple[object, ...] = tuple(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # TensorFlow raises ValueError for a shape of unknown rank
        raise misuse(f"{argument} is a sequence of dims, not {describe(value)}", argument=argument) from None
    if not isinstance(value, list) and isinstance(value, (bytes, bytearray, Mapping)):
        raise misuse(f"{argument} is text or a sequence of dims, not {type(value).__name__}", argument=argument)
    return elements


def _read_mixed(values: tuple[object, ...], argument: str, lowest: int) -> Shape:
    """Convert a sequence of numbers, monomials and texts to dims.

    Each `?` gets a name of its own.
    """
    dims, unknowns = [], count()
    for position, item in enumerate(values):
        value = "?" if item is None and argument in MAY_BE_UNKNOWN else item
        if isinstance(value, str) and value.isascii() and value.isidentifier():
            dim: Dim = named_dim(value)
        elif isinstance(value, str):
            dim = read_dim(Token(value.strip() or " ", 0), unknowns, argument, position)
            if argument not in MAY_BE_UNKNOWN and any(name.startswith("?") for name in names((dim,))):
                raise misuse("? is an unknown size, so it cannot be requested", argument=argument, index=position)
        elif isinstance(value, Monomial):
            dim = value
        elif is_whole(value) and index(value).bit_length() <= MOST_BITS:  # type: ignore[arg-type]
            dim = index(value)  # type: ignore[arg-type]
        else:
            message = f"a dim is a whole number or a name, not {describe(value)}"
            raise misuse(message, NAME_IT, argument=argument, index=position)
        if isinstance(dim, int) and dim < lowest:
            raise misuse(f"{dim_text(dim)} is not the size of an input dim", NAME_IT, argument=argument, index=position)
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


def read_sizes(
    where: object, argument: str = "where", example: str = "N=8,C=3", most: int = MOST_SIZE_DIGITS, least: int = 0
) -> dict[str, int]:
    """Parse sizes of names from a text such as `N=8,C=3` or a mapping.

    A size has at most `max_digits` digits and is at least `minimum`. Raises `ShapeError` (usage) for anything else.

    >>> read_sizes("N=8,C=3")
    {'N': 8, 'C': 3}
    """
    if isinstance(where, str):
        pairs = [pair.partition("=")[::2] for pair in where.split(",")]
    elif isinstance(where, Mapping):
        pairs = [(str(name), size if isinstance(size, str) else describe(size)) for name, size in where.items()]
    else:
        raise misuse(f"sizes are text or a mapping, not {describe(where)}", f"write {example}", argument=argument)
    sizes: dict[str, int] = {}
    for name, number in ((name.strip(), number.strip()) for name, number in pairs):
        digits = number.isdigit() and number.isascii() and len(number) <= most
        if not (name.replace(".", "").isidentifier() and digits and int(number) >= least):
            shown = visible(brief(f"{name}={number}"))
            raise misuse(f"'{shown}' is not NAME=SIZE", f"write {example}", argument=argument)
        if name in sizes:
            raise misuse(f"{brief(name)} is given two sizes", argument=argument)
        sizes[name] = int(number)
    return sizes


def read_slices(value: object, argument: str) -> str:
    """Normalize a text, a Python slice or several of these to slice text.

    Raises `ShapeError` (usage) for anything else.

    >>> read_slices("[:, ::2, 1:3]", "slices"), read_slices((slice(None), slice(-1, None)), "slices")
    (':,::2,1:3', ':,-1:')
    """
    if isinstance(value, slice):
        value = (value,)
    if isinstance(value, (tuple, list)) and all(isinstance(part, slice) for part in value):
        return ",".join(_written((part.start, part.stop, part.step), argument) for part in value) or "[]"
    if not isinstance(value, str):
        raise misuse(f"{argument} is a text such as '[:, ::2]', not {describe(value)}", argument=argument)
    parts = [_read(part, argument, index) for index, (part, _) in enumerate(_parts(value))]
    if len(parts) > MOST_DIMS:
        raise MOST_DIMS.passed(f"{len(parts)} slices", argument=argument)
    return ",".join(_written(part, argument) for part in parts) or "[]"


def slices_of(text: str) -> list[Ends]:
    """Parse the start, the stop and the step of the slice of each axis.

    >>> slices_of(":,::2")
    [(None, None, None), (None, None, 2)]
    """
    return [_read(part, "slices", index) for index, (part, _) in enumerate(_parts(text))]


def slice_span(text: str, index: int) -> tuple[int, int]:
    """Return the start and end offsets of one slice in a text.

    >>> slice_span("[:, ::2]", 1)
    (4, 7)
    """
    part, start = list(_parts(text))[index]
    return start, start + len(part)


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text of the slice of each axis, with its start offset."""
    body = text.strip()
    bracketed = body[:1] == "[" and body[-1:] == "]"
    start = text.index(body) + bracketed
    body = body[1:-1] if bracketed else body
    for part in body.split(",") if body.strip() or not bracketed else ():
        yield part.strip(), start + len(part) - len(part.lstrip())
        start += len(part) + 1


def _read(part: str, argument: str, index: int) -> Ends:
    ends = part.split(":")
    try:
        numbers = [whole_number(end, argument) if end.strip() else None for end in ends]
    except ShapeError:
        numbers = []
    if not 1 < len(numbers) <= MOST_ENDS:
        hint = "an index is for select" if part.removeprefix("-").isdigit() else ""
        message = f"a slice is start:stop or start:stop:step, in whole numbers, not '{visible(brief(part))}'"
        raise misuse(message, hint, argument=argument, index=index)
    return numbers[0], numbers[1], numbers[2] if len(numbers) == MOST_ENDS else None


def _written(ends: Iterable[object], argument: str) -> str:
    start, stop, step = ("" if end is None else str(whole_number(end, argument)) for end in ends)
    return f"{start}:{stop}" + (f":{step}" if step else "")


def read_axis_pattern(text: object, argument: str = "pattern") -> AxisPattern:
    """Parse an einops pattern; raise `ShapeError` (usage) if it is invalid.

    >>> [part.text for part in read_axis_pattern("b c (h p) -> b h (p c)").right]
    ['b', 'h', '(p c)']
    """
    if not isinstance(text, str):
        raise misuse(f"{argument} is a text such as 'b c h -> b h c', not {describe(text)}", argument=argument)
    count = text.count(ARROW)
    if count != 1:
        arrows = "no arrow ->" if not count else f"{count} arrows ->"
        raise misuse(f"a pattern has a left and a right side, and this has {arrows}", WRITE_ONE, argument=argument)
    middle = text.index(ARROW)
    left = _side(text, 0, middle, argument)
    right = _side(text, middle + len(ARROW), len(text), argument)
    _check_sides(left, right, argument)
    return AxisPattern(left, right)


def _side(text: str, start: int, end: int, argument: str) -> tuple[AxisGroup, ...]:
    """Parse the dims of one side of a pattern, which is `text[start:end]`."""
    parts, group, opened = list[AxisGroup](), list[Token](), -1
    for token in _words(text, start, end):
        if token.text == "(":
            if opened >= 0:
                raise unreadable("brackets in brackets", token, argument)
            group, opened = [], token.start
        elif token.text == ")":
            if opened < 0:
                raise unreadable("a bracket that was never opened", token, argument)
            parts.append(AxisGroup(tuple(group), opened, True))
            opened = -1
        elif opened >= 0:
            group.append(_axis(token, argument))
        else:
            parts.append(AxisGroup((_axis(token, argument),), token.start))
    if opened >= 0:
        raise unreadable("a bracket that is never closed", Token("(", opened), argument)
    if len(parts) > MOST_DIMS:
        raise MOST_DIMS.passed(f"{len(parts)} dims", argument=argument)
    return tuple(parts)


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    """Yield the brackets and the words of `text[start:end]`."""
    from re import compile  # few requests have patterns

    for word in compile(r"[()]|[^()\s]+").finditer(text, start, end):
        yield Token(word[0], word.start())


def _axis(token: Token, argument: str) -> Token:
    """Return the token if it is an axis; raise `ShapeError` (usage) otherwise."""
    word = token.text
    number = word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and int(word) > 0
    name = word.isidentifier() and word.strip("_") == word
    if not (number or name or word == ELLIPSIS):
        shown = visible(brief(word))
        raise unreadable(f"'{shown}', which is not an axis (a name, a whole number above 0, or ...)", token, argument)
    return token


def _check_sides(left: tuple[AxisGroup, ...], right: tuple[AxisGroup, ...], argument: str) -> None:
    """Raise `ShapeError` (usage) for repeated, dropped or misplaced axes."""
    first, second = ([axis for part in side for axis in part.axes] for side in (left, right))
    for axes in (first, second):
        _check_single(axes, argument)
    left_names, right_names = ({axis.text for axis in axes} for axes in (first, second))
    for axis in first:
        if axis.text.isdigit() and int(axis.text) != 1:
            raise unreadable("a length on the left, where only 1 is allowed", axis, argument)
        if not axis.text.isdigit() and axis.text not in right_names:
            raise unreadable(f"{brief(axis.text)} on the left only, and no axis can be dropped", axis, argument)
    for axis in second:
        if axis.text == ELLIPSIS and ELLIPSIS not in left_names:
            raise unreadable("... on the right only", axis, argument)
    for part in left:
        if part.grouped and ELLIPSIS in [axis.text for axis in part.axes]:
            raise unreadable("... in brackets on the left", Token(part.text, part.start), argument)


def _check_single(axes: list[Token], argument: str) -> None:
    """Raise `ShapeError` (usage) for an axis name that occurs twice on one side."""
    seen = set[str]()
    for axis in axes:
        if axis.text in seen and not axis.text.isdigit():
            raise unreadable(f"{brief(axis.text)} twice on one side", axis, argument)
        seen.add(axis.text)


def unreadable(found: str, token: Token, argument: str, hint: str = WRITE_ONE) -> ShapeError:
    """Return the error (usage) for an invalid token of a pattern."""
    return misuse(f"the pattern has {found}", hint, argument=argument, span=token.span)


def read_subscripts(text: object, argument: str = "pattern") -> Subscripts:
    """Parse the subscripts of an einsum.

    Raises `ShapeError` (usage) if they are invalid. Without an arrow the output has the labels that occur once, in
    alphabetical order, as in `numpy.einsum`.

    >>> read_subscripts("b...j, jk").output
    ('...', 'b', 'k')
    """
    if not isinstance(text, str):
        raise misuse(f"{argument} is a text such as 'ij,jk->ik', not {describe(text)}", argument=argument)
    left, *outputs = text.split(ARROW)
    if len(outputs) > 1:
        raise misuse("a pattern has one arrow -> at most", WRITE_LABELS, argument=argument)
    start, terms = 0, list[list[Token]]()
    for term in left.split(","):
        terms.append(_term(term, start, argument))
        start += len(term) + 1
    labels = [label.text for term in terms for label in term]
    if not outputs:
        kept = [label for label in sorted({*labels}) if label == ELLIPSIS or labels.count(label) == 1]
    else:
        output = _term(outputs[0], len(text) - len(outputs[0]), argument)
        kept = [label.text for label in output]
        for label in output:
            if label.text not in labels and label.text != ELLIPSIS:
                raise unreadable(f"{label.text} in the output only", label, argument, WRITE_LABELS)
            if kept.count(label.text) > 1:
                raise unreadable(f"{label.text} twice in the output", label, argument, WRITE_LABELS)
    return Subscripts(tuple([tuple([label.text for label in term]) for term in terms]), tuple(kept))


def _term(text: str, start: int, argument: str) -> list[Token]:
    """Parse the labels of one operand, which starts at offset `start`."""
    from re import finditer  # few requests have subscripts

    tokens = [Token(match[0], start + match.start()) for match in finditer(r"\.\.\.|\S", text)]
    for position, token in enumerate(tokens):
        if token.text == ELLIPSIS and token.text in [earlier.text for earlier in tokens[:position]]:
            raise unreadable("... twice in one term", token, argument, WRITE_LABELS)
        if token.text != ELLIPSIS and not (token.text.isascii() and token.text.isalpha()):
            raise unreadable(f"'{visible(token.text)}', which is no letter", token, argument, WRITE_LABELS)
    return tokens


def read_scales(value: object, argument: str = "scale") -> str:
    """Normalize scale factors to a text such as `2` or `0.5,2`.

    Raises `ShapeError` (usage) if one is invalid.

    >>> read_scales([2, 0.5]), read_scales("2, 3")
    ('2,0.5', '2,3')
    """
    factors = elements_of(value, argument) if isinstance(value, (list, tuple)) else [value]
    texts = value.strip("[]()").split(",") if isinstance(value, str) else map(str, factors)
    words = [text.strip() for text in texts]
    for word in words:
        whole, _, part = word.partition(".")
        digits = whole + part
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS and int(digits)):
            raise misuse(f"'{visible(brief(word))}' is no factor above 0", "write 2 or 0.5,2", argument=argument)
    return ",".join(words)


def ratios_of(scales: str) -> list[tuple[int, int]]:
    """Return normalized scale factors as pairs of numerator and denominator.

    >>> ratios_of("2,0.5")
    [(2, 1), (5, 10)]
    """
    words = [text.partition(".") for text in scales.split(",")]
    return [(int(whole + part), 10 ** len(part)) for whole, _, part in words]


def read_lengths(text: object, argument: str = "lengths") -> dict[str, int]:
    """Parse the lengths of axes from a text such as `p=7,q=7`.

    Raises `ShapeError` (usage) if it is invalid.

    >>> read_lengths("p=7, q=7")
    {'p': 7, 'q': 7}
    """
    if not isinstance(text, str):
        raise misuse(f"{argument} is a text such as 'p=7,q=7', not {describe(text)}", argument=argument)
    return read_sizes(text, argument, "p=7,q=7", MOST_DIGITS, 1)
