"""Parsers for Python values, sizes, slices, axis patterns and subscripts.

slices     = "[" slice {"," slice} "]" | slice {"," slice}
slice      = [integer] ":" [integer] [":" [integer]]
pattern    = side "->" side                 as in einops: `b c (h p) -> b h (p c)`
side       = {axis | "(" {axis} ")"}
axis       = name | integer | "..."
subscripts = term {"," term} ["->" term]    as in NumPy's einsum: `ij,jk->ik`
term       = {letter | "..."}               with "..." at most once, blanks are ignored
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import count
from operator import index

from shapecalc.core.dims import Dim, Monomial, Shape, dim_names, named_dim
from shapecalc.core.limits import MAX_SHAPE_DIMS, MAX_SIZE_DIGITS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import (
    MAX_BITS,
    NAME_SIZE_HINT,
    SIZE_BOUND,
    Token,
    dim_text,
    escape_unprintable,
    is_integer,
    parse_dim,
    truncate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


MAX_SLICE_PARTS = 3
"""The maximum number of parts in a slice: start, stop and step."""
ARROW, ELLIPSIS = "->", "..."
NUMBER_CHARACTERS = "0123456789+-.eE"
"""The characters in a number. `float` also accepts texts such as `1_0` and `nan`."""
MAX_LENGTH_DIGITS = 18
"""The maximum number of digits of an axis length; int64 has 19 digits."""
PATTERN_HINT = "write names for the axes, as in 'b c h w -> b (h w) c'"
SUBSCRIPTS_HINT = "write a letter for each axis, as in 'ij,jk->ik'"

SliceParts = tuple[int | None, int | None, int | None]
"""The start, the stop and the step of a slice. An omitted part is None."""


class AxisGroup(Record):
    """One dim of a pattern side: a single axis or bracketed axes."""

    axes: tuple[Token, ...]
    start: int
    """The offset of the dim in the pattern."""
    is_bracketed: bool = False
    """Whether the axes are in brackets."""

    @property
    def text(self) -> str:
        """The text of the dim in the pattern."""
        words = " ".join([axis.text for axis in self.axes])
        return f"({words})" if self.is_bracketed else words


class AxisPattern(Record):
    """The two sides of an axis pattern, with one group of axes for each dim."""

    left: tuple[AxisGroup, ...]
    right: tuple[AxisGroup, ...]


class Subscripts(Record):
    """The labels of each operand and of the output: letters or an ellipsis."""

    terms: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def is_integer_value(value: object) -> bool:
    """Return whether a Python value is an integer.

    An integer has `__index__` and is not a bool.
    """
    try:
        return not isinstance(value, bool) and index(value) is not None  # type: ignore[arg-type]
    except TypeError:
        return False


def parse_integer(value: object, name: str) -> int:
    """Parse an integer from a string or a Python value.

    Raises `ShapeError` (usage) if the value is not an integer.
    """
    if isinstance(value, str):
        if is_integer(value):
            return int(value)
    elif is_integer_value(value) and index(value).bit_length() <= MAX_BITS:  # type: ignore[arg-type]
        return index(value)  # type: ignore[arg-type]
    raise usage_error(f"{name} is one whole number, not {describe_value(value)}", argument=name)


def parse_number(value: object, name: str) -> int | float:
    """Parse a finite number from a string or a Python value.

    Raises `ShapeError` (usage) for any other value.

    >>> parse_number("-1", "fill"), parse_number("0.5", "fill"), parse_number(2.0, "fill")
    (-1, 0.5, 2.0)
    """
    if is_integer(value) if isinstance(value, str) else is_integer_value(value):
        return parse_integer(value, name)
    error = usage_error(f"{name} is one number, not {describe_value(value)}", argument=name)
    if isinstance(value, (bool, bytes)) or (isinstance(value, str) and {*value.strip()} - {*NUMBER_CHARACTERS}):
        raise error
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise error from None
    if number - number != 0:  # infinite or NaN
        raise error
    return number


def to_shape(value: object, argument: str = "input") -> Shape:
    """Convert an object with a `shape`, or a sequence of dims, to a shape.

    None and -1 become unknown dims. Raises `ShapeError` (usage) for any other object.

    >>> class Layer: shape = (None, 3)
    >>> to_shape(Layer()), to_shape([2, None]), to_shape([-1, 3])
    ((?, 3), (2, ?), (?, 3))
    """
    shape = None if type(value) in (tuple, list) else getattr(value, "shape", None)
    return to_dims(value if shape is None else shape, argument, lowest=0, allows_unknown=True)


def to_dims(value: object, argument: str, *, lowest: int = -SIZE_BOUND, allows_unknown: bool = False) -> Shape:
    """Convert a Python sequence of integers, monomials and strings to dims.

    Integers must be at least `lowest`. If `allows_unknown` is True, a dim may be `?` or None. `argument` is the name of
    the argument in an error. Raises `ShapeError` (usage) for any other value.
    """
    dims: tuple[Any, ...] = tuple(value) if type(value) in (tuple, list) else to_element_tuple(value, argument)  # type: ignore[arg-type]
    for dim in dims:
        if type(dim) is not int or not lowest <= dim < SIZE_BOUND:
            return _parse_mixed_dims(dims, argument, lowest, allows_unknown)
    return dims


def to_element_tuple(value: object, argument: str) -> tuple[object, ...]:
    """Convert a sequence to a tuple.

    Raises `ShapeError` (usage) for bytes, mappings, sets and non-sequences.
    """
    try:
        elements: tuple[object, ...] = tuple(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # TensorFlow raises ValueError for a shape of unknown rank
        raise usage_error(f"{argument} is a sequence of dims, not {describe_value(value)}", argument=argument) from None
    if not isinstance(value, list) and isinstance(value, (bytes, bytearray, Mapping, Set)):
        raise usage_error(f"{argument} is text or a sequence of dims, not {type(value).__name__}", argument=argument)
    return elements


def _parse_mixed_dims(values: tuple[object, ...], argument: str, lowest: int, allows_unknown: bool) -> Shape:
    """Convert a sequence of integers, monomials and strings to dims.

    Each `?` gets a unique name.
    """
    dims, unknowns = list[Dim](), count()
    for position, item in enumerate(values):
        if isinstance(item, str) and item.isascii() and item.isidentifier():
            dims.append(named_dim(item))
            continue
        is_unknown = allows_unknown and (item is None or (lowest == 0 and _is_unknown_size(item)))
        value = "?" if is_unknown else item
        if isinstance(value, str):
            dim = parse_dim(Token(value.strip() or " ", 0), unknowns, argument, position)
            if not allows_unknown and any(name.startswith("?") for name in dim_names((dim,))):
                raise usage_error("? is an unknown size, so it cannot be requested", argument=argument, index=position)
        elif isinstance(value, Monomial):
            dim = value
        elif is_integer_value(value) and index(value).bit_length() <= MAX_BITS:  # type: ignore[arg-type]
            dim = index(value)  # type: ignore[arg-type]
        else:
            message = f"a dim is a whole number or a name, not {describe_value(value)}"
            raise usage_error(message, NAME_SIZE_HINT, argument=argument, index=position)
        if isinstance(dim, int) and dim < lowest:
            raise usage_error(
                f"{dim_text(dim)} is not the size of an input dim", NAME_SIZE_HINT, argument=argument, index=position
            )
        dims.append(dim)
    return tuple(dims)


def _is_unknown_size(item: object) -> bool:
    """Return whether an item is None or -1, and therefore an unknown size."""
    text = item.strip() if isinstance(item, str) else ""
    return item is None or text == "-1" or (is_integer_value(item) and index(item) == -1)  # type: ignore[arg-type]


def unknown_size_notes(value: object) -> tuple[str, ...]:
    """Return notes on -1 and None in a sequence of dims.

    >>> unknown_size_notes([-1, 3]), unknown_size_notes(["N", 3])
    (('-1 is an unknown size here, as ? is',), ())
    """
    shape = None if type(value) in (tuple, list) else getattr(value, "shape", None)
    items = value if shape is None else shape
    if not isinstance(items, (list, tuple)):
        return ()
    words = ["-1"] * (-1 in items or "-1" in items) + ["None"] * (None in items)
    return tuple([f"{word} is an unknown size here, as ? is" for word in words])


def describe_value(value: object) -> str:
    """Format a Python value for an error message."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return dim_text(value)
    try:
        return escape_unprintable(truncate(repr(value)))
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deep to show"


def parse_sizes(
    where: object,
    argument: str = "where",
    example: str = "N=8,C=3",
    max_digits: int = MAX_SIZE_DIGITS,
    minimum: int = 0,
) -> dict[str, int]:
    """Parse named sizes from a mapping or from a string such as `N=8,C=3`.

    A size must have at most `max_digits` digits and be at least `minimum`. Raises `ShapeError` (usage) for any other
    value.

    >>> parse_sizes("N=8,C=3")
    {'N': 8, 'C': 3}
    """
    if isinstance(where, str):
        pairs = [pair.partition("=")[::2] for pair in where.split(",")]
    elif isinstance(where, Mapping):
        pairs = [(str(name), size if isinstance(size, str) else describe_value(size)) for name, size in where.items()]
    else:
        raise usage_error(
            f"sizes are text or a mapping, not {describe_value(where)}", f"write {example}", argument=argument
        )
    sizes: dict[str, int] = {}
    for name, number in ((name.strip(), number.strip()) for name, number in pairs):
        digits = number.isdigit() and number.isascii() and len(number) <= max_digits
        if not (name.replace(".", "").isidentifier() and digits and int(number) >= minimum):
            shown = escape_unprintable(truncate(f"{name}={number}"))
            raise usage_error(f"'{shown}' is not NAME=SIZE", f"write {example}", argument=argument)
        if name in sizes:
            raise usage_error(f"{truncate(name)} is given two sizes", argument=argument)
        sizes[name] = int(number)
    return sizes


def normalize_slices(value: object, argument: str) -> str:
    """Convert a string, a slice or a sequence of slices to normalized slice notation.

    Raises `ShapeError` (usage) for any other value.

    >>> normalize_slices("[:, ::2, 1:3]", "slices"), normalize_slices((slice(None), slice(-1, None)), "slices")
    (':,::2,1:3', ':,-1:')
    """
    if isinstance(value, slice):
        value = (value,)
    if isinstance(value, (tuple, list)) and all(isinstance(part, slice) for part in value):
        return ",".join(_format_slice((part.start, part.stop, part.step), argument) for part in value) or "[]"
    if not isinstance(value, str):
        raise usage_error(f"{argument} is a text such as '[:, ::2]', not {describe_value(value)}", argument=argument)
    parts = [_parse_slice(part, argument, index) for index, (part, _) in enumerate(_split_slices(value))]
    if len(parts) > MAX_SHAPE_DIMS:
        raise MAX_SHAPE_DIMS.error(f"{len(parts)} slices", argument=argument)
    return ",".join(_format_slice(part, argument) for part in parts) or "[]"


def parse_slices(text: str) -> list[SliceParts]:
    """Parse slices into the start, the stop and the step of each axis.

    >>> parse_slices(":,::2")
    [(None, None, None), (None, None, 2)]
    """
    return [_parse_slice(part, "slices", index) for index, (part, _) in enumerate(_split_slices(text))]


def slice_span(text: str, index: int) -> tuple[int, int]:
    """Return the start offset and the exclusive end offset of the slice at `index`.

    >>> slice_span("[:, ::2]", 1)
    (4, 7)
    """
    part, start = list(_split_slices(text))[index]
    return start, start + len(part)


def _split_slices(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text of each slice with its start offset."""
    body = text.strip()
    bracketed = body[:1] == "[" and body[-1:] == "]"
    start = text.index(body) + bracketed
    body = body[1:-1] if bracketed else body
    for part in body.split(",") if body.strip() or not bracketed else ():
        yield part.strip(), start + len(part) - len(part.lstrip())
        start += len(part) + 1


def _parse_slice(part: str, argument: str, axis: int) -> SliceParts:
    """Parse the slice of one axis.

    Raises `ShapeError` (usage) if the slice is invalid.
    """
    ends = part.split(":")
    try:
        numbers = [parse_integer(end, argument) if end.strip() else None for end in ends]
    except ShapeError:
        numbers = []
    if not 1 < len(numbers) <= MAX_SLICE_PARTS:
        hint = "an index is for select" if part.removeprefix("-").isdigit() else ""
        message = (
            f"a slice is start:stop or start:stop:step, in whole numbers, not '{escape_unprintable(truncate(part))}'"
        )
        raise usage_error(message, hint, argument=argument, index=axis)
    return numbers[0], numbers[1], numbers[2] if len(numbers) == MAX_SLICE_PARTS else None


def _format_slice(parts: Iterable[object], argument: str) -> str:
    """Format a slice in slice notation."""
    start, stop, step = ("" if end is None else str(parse_integer(end, argument)) for end in parts)
    return f"{start}:{stop}" + (f":{step}" if step else "")


def parse_axis_pattern(text: object, argument: str = "pattern") -> AxisPattern:
    """Parse an einops pattern.

    Raises `ShapeError` (usage) if the pattern is invalid.

    >>> [part.text for part in parse_axis_pattern("b c (h p) -> b h (p c)").right]
    ['b', 'h', '(p c)']
    """
    if not isinstance(text, str):
        raise usage_error(
            f"{argument} is a text such as 'b c h -> b h c', not {describe_value(text)}", argument=argument
        )
    count = text.count(ARROW)
    if count != 1:
        arrows = "no arrow ->" if not count else f"{count} arrows ->"
        raise usage_error(
            f"a pattern has a left and a right side, and this has {arrows}", PATTERN_HINT, argument=argument
        )
    middle = text.index(ARROW)
    left = _parse_side(text, 0, middle, argument)
    right = _parse_side(text, middle + len(ARROW), len(text), argument)
    _check_pattern(left, right, argument)
    return AxisPattern(left, right)


def _parse_side(text: str, start: int, end: int, argument: str) -> tuple[AxisGroup, ...]:
    """Parse one side of a pattern, `text[start:end]`."""
    parts, group, opened = list[AxisGroup](), list[Token](), -1
    for token in _iter_tokens(text, start, end):
        if token.text == "(":
            if opened >= 0:
                raise pattern_error("brackets in brackets", token, argument)
            group, opened = [], token.start
        elif token.text == ")":
            if opened < 0:
                raise pattern_error("a bracket that was never opened", token, argument)
            parts.append(AxisGroup(tuple(group), opened, True))
            opened = -1
        elif opened >= 0:
            group.append(_validate_axis(token, argument))
        else:
            parts.append(AxisGroup((_validate_axis(token, argument),), token.start))
    if opened >= 0:
        raise pattern_error("a bracket that is never closed", Token("(", opened), argument)
    if len(parts) > MAX_SHAPE_DIMS:
        raise MAX_SHAPE_DIMS.error(f"{len(parts)} dims", argument=argument)
    return tuple(parts)


def _iter_tokens(text: str, start: int, end: int) -> Iterator[Token]:
    """Yield the brackets and the words in `text[start:end]`."""
    from re import compile  # imported here because few requests have patterns

    for word in compile(r"[()]|[^()\s]+").finditer(text, start, end):
        yield Token(word[0], word.start())


def _validate_axis(token: Token, argument: str) -> Token:
    """Return a token, or raise `ShapeError` (usage) if it is not an axis."""
    word = token.text
    number = word.isascii() and word.isdigit() and len(word) <= MAX_LENGTH_DIGITS and int(word) > 0
    name = word.isidentifier() and word.strip("_") == word
    if not (number or name or word == ELLIPSIS):
        shown = escape_unprintable(truncate(word))
        raise pattern_error(
            f"'{shown}', which is not an axis (a name, a whole number above 0, or ...)", token, argument
        )
    return token


def _check_pattern(left: tuple[AxisGroup, ...], right: tuple[AxisGroup, ...], argument: str) -> None:
    """Raise `ShapeError` (usage) if the axes break a rule of einops patterns.

    A name may occur only once on each side, and each name on the left must also be on the right. Only the right side
    may contain a length other than 1, or an ellipsis in brackets.
    """
    first, second = ([axis for part in side for axis in part.axes] for side in (left, right))
    for axes in (first, second):
        _check_unique_axes(axes, argument)
    left_names, right_names = ({axis.text for axis in axes} for axes in (first, second))
    for axis in first:
        if axis.text.isdigit() and int(axis.text) != 1:
            raise pattern_error("a length on the left, where only 1 is allowed", axis, argument)
        if not axis.text.isdigit() and axis.text not in right_names:
            raise pattern_error(f"{truncate(axis.text)} on the left only, and no axis can be dropped", axis, argument)
    for axis in second:
        if axis.text == ELLIPSIS and ELLIPSIS not in left_names:
            raise pattern_error("... on the right only", axis, argument)
    for part in left:
        if part.is_bracketed and ELLIPSIS in [axis.text for axis in part.axes]:
            raise pattern_error("... in brackets on the left", Token(part.text, part.start), argument)


def _check_unique_axes(axes: list[Token], argument: str) -> None:
    """Raise `ShapeError` (usage) if an axis is repeated on one side of a pattern."""
    seen = set[str]()
    for axis in axes:
        if axis.text in seen and not axis.text.isdigit():
            raise pattern_error(f"{truncate(axis.text)} twice on one side", axis, argument)
        seen.add(axis.text)


def pattern_error(fault: str, token: Token, argument: str, hint: str = PATTERN_HINT) -> ShapeError:
    """Return the usage error for an invalid token of a pattern.

    `fault` completes the message `the pattern has ...`.
    """
    return usage_error(f"the pattern has {fault}", hint, argument=argument, span=token.span)


def layout_rank(text: str) -> int:
    """Return the number of letters on the left side of a pattern such as `NCHW->NHWC`."""
    return len(text.partition(ARROW)[0].strip())


def expand_layout_pattern(text: str, rank: int) -> str:
    """Insert blanks between the letters of a pattern such as `NCHW->NHWC`.

    The pattern is unchanged unless its left side has one letter for each of `rank` dims.

    >>> expand_layout_pattern("NCHW->NHWC", 4), expand_layout_pattern("NCHW->NHWC", 1)
    ('N C H W -> N H W C', 'NCHW->NHWC')
    """
    left, _, right = (part.strip() for part in text.partition(ARROW))
    is_layout = len(left) == rank > 1 and left.isalpha() and left.isascii() and len({*left}) == rank
    if not is_layout or sorted(left) != sorted(right):
        return text
    return f"{' '.join(left)} {ARROW} {' '.join(right)}"


def parse_subscripts(text: object, argument: str = "pattern") -> Subscripts:
    """Parse the subscripts of an einsum.

    Without an arrow, the output has the labels that occur once, in alphabetical order, as in `numpy.einsum`. Raises
    `ShapeError` (usage) if the subscripts are invalid.

    >>> parse_subscripts("b...j, jk").output
    ('...', 'b', 'k')
    """
    if not isinstance(text, str):
        raise usage_error(f"{argument} is a text such as 'ij,jk->ik', not {describe_value(text)}", argument=argument)
    left, *outputs = text.split(ARROW)
    if len(outputs) > 1:
        raise usage_error("a pattern has one arrow -> at most", SUBSCRIPTS_HINT, argument=argument)
    start, terms = 0, list[list[Token]]()
    for term in left.split(","):
        terms.append(_parse_term(term, start, argument))
        start += len(term) + 1
    labels = [label.text for term in terms for label in term]
    if not outputs:
        kept = [label for label in sorted({*labels}) if label == ELLIPSIS or labels.count(label) == 1]
    else:
        output = _parse_term(outputs[0], len(text) - len(outputs[0]), argument)
        kept = [label.text for label in output]
        for label in output:
            if label.text not in labels and label.text != ELLIPSIS:
                raise pattern_error(f"{label.text} in the output only", label, argument, SUBSCRIPTS_HINT)
            if kept.count(label.text) > 1:
                raise pattern_error(f"{label.text} twice in the output", label, argument, SUBSCRIPTS_HINT)
    return Subscripts(tuple([tuple([label.text for label in term]) for term in terms]), tuple(kept))


def _parse_term(text: str, start: int, argument: str) -> list[Token]:
    """Parse the labels of one einsum operand.

    `start` is the offset of `text` in the subscripts.
    """
    from re import finditer  # imported here because few requests have subscripts

    tokens = [Token(match[0], start + match.start()) for match in finditer(r"\.\.\.|\S", text)]
    for position, token in enumerate(tokens):
        if token.text == ELLIPSIS and token.text in [earlier.text for earlier in tokens[:position]]:
            raise pattern_error("... twice in one term", token, argument, SUBSCRIPTS_HINT)
        if token.text != ELLIPSIS and not (token.text.isascii() and token.text.isalpha()):
            raise pattern_error(
                f"'{escape_unprintable(token.text)}', which is no letter", token, argument, SUBSCRIPTS_HINT
            )
    return tokens


def normalize_scales(value: object, argument: str = "scale") -> str:
    """Convert scale factors to a normalized string such as `2` or `0.5,2`.

    Raises `ShapeError` (usage) if a factor is invalid.

    >>> normalize_scales([2, 0.5]), normalize_scales("2, 3")
    ('2,0.5', '2,3')
    """
    factors = to_element_tuple(value, argument) if isinstance(value, (list, tuple)) else [value]
    texts = value.strip("[]()").split(",") if isinstance(value, str) else map(str, factors)
    words = [text.strip() for text in texts] or [""]
    for word in words:
        whole, _, part = word.partition(".")
        digits = whole + part
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_LENGTH_DIGITS and int(digits)):
            raise usage_error(
                f"'{escape_unprintable(truncate(word))}' is no factor above 0", "write 2 or 0.5,2", argument=argument
            )
    return ",".join(words)


def scale_ratios(scales: str) -> list[tuple[int, int]]:
    """Convert normalized scale factors to pairs of numerator and denominator.

    >>> scale_ratios("2,0.5")
    [(2, 1), (5, 10)]
    """
    words = [text.partition(".") for text in scales.split(",")]
    return [(int(whole + part), 10 ** len(part)) for whole, _, part in words]


def parse_lengths(text: object, argument: str = "lengths") -> dict[str, int]:
    """Parse axis lengths from a string such as `p=7,q=7`.

    Raises `ShapeError` (usage) if the text is invalid.

    >>> parse_lengths("p=7, q=7")
    {'p': 7, 'q': 7}
    """
    if not isinstance(text, str):
        raise usage_error(f"{argument} is a text such as 'p=7,q=7', not {describe_value(text)}", argument=argument)
    return parse_sizes(text, argument, "p=7,q=7", MAX_LENGTH_DIGITS, 1)
