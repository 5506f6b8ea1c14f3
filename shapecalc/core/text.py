"""Shapes as text: parsing, formatting, and error messages for invalid shapes.

shape  = "[" dims "]" | "(" dims ")" | "{" dims "}" | "torch.Size(" shape ")" | dims
dims   = dim {"," dim} [","]       a trailing comma only inside brackets
       | dim {("x" | blank) dim}   "x" between integers, blanks between integers or inside brackets
dim    = ["-"] digits ["L"] | factor {("*" | "/" | "//") factor}
factor = digits | name | "?" | "None"

None is parsed as ?, and H//2 as H/2, on the condition that 2 divides H.
"""

from __future__ import annotations

from itertools import count

from shapecalc.core.dims import Dim, Monomial, Shape, lowest_terms, named_dim
from shapecalc.core.limits import MAX_DIGITS, MAX_DIM_TEXT_LENGTH, MAX_SHAPE_DIMS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record

BOM = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    Value = TypeVar("Value")


MAX_BITS = 3320
"""The maximum bit length of a Python integer that is accepted or printed exactly: at most 1000 decimal digits. Python
itself formats at most 4300 digits."""
LOG10_OF_2 = 0.30103
"""The decimal logarithm of 2."""
MAX_QUOTED_LENGTH = 40
"""The maximum length, in characters, of a string that a message quotes."""
MAX_QUOTED_SHAPE_LENGTH = 200
"""The maximum length, in characters, of a shape that a message quotes."""
UNPRINTABLE_CODES = {0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
"""Code points of characters that change the direction or the line breaks of the surrounding text."""
BRACKETS = {"[": "]", "(": ")", "{": "}"}
TORCH_SIZE = "torch.Size"
UNKNOWN_WORDS = ("?", "None")
"""The spellings of an unknown size."""
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
"""Typographic hyphens, dashes and minus signs that users paste instead of a hyphen-minus."""
SEPARATOR_PATTERN = r"[;.\u00d7\u00b7\uff0c\uff1b\u3001]|(?<=[0-9])(?:[xX](?=\w)|(?=-))"
"""A regular expression for the separators that users write between dims instead of commas."""
MAX_CORRECTED_LENGTH = 200
"""The maximum length, in characters, of an invalid dim for which a correction is suggested."""
SIZE_BOUND = 10**MAX_DIGITS
NAME_SIZE_HINT = "write a name (N) or ? for a size that is not known"
CONTAINER_SUFFIXES = (".npz", ".safetensors", ".zarr", ".h5", ".hdf5")
"""The suffixes of files and stores that contain arrays by name."""
MAX_LISTED_NAMES = 16
"""The maximum number of names that a hint lists."""
MAX_COMPARED_LENGTH = 80
"""The maximum length, in characters, of the prefix of a name that is compared with the known names."""
OPENING, CLOSING, QUOTES = "[({", "])}", "'\""


class Token(Record):
    """A token of an argument: its text, and its start offset in the argument."""

    text: str
    start: int

    @property
    def span(self) -> tuple[int, int]:
        """The start offset and the exclusive end offset of the token."""
        return self.start, self.start + len(self.text)


def remainder_text(dim: Dim, divisor: Dim) -> str:
    """Format the remainder of `dim / divisor` as the last part of a message.

    Returns an empty string if `dim` or `divisor` is symbolic.
    """
    return f", {truncate(str(dim % divisor))} left over" if isinstance(dim, int) and isinstance(divisor, int) else ""


def element_count_text(dims: Shape, volume: Dim) -> str:
    """Format the element count `volume` and the product of the dims.

    >>> element_count_text((2, 3, 4), 24), element_count_text((1,), 1)
    ('24 elements (2*3*4)', '1 element')
    >>> from shapecalc.core.text import parse_dims
    >>> element_count_text(parse_dims("N,C,2"), parse_dims("2*C*N")[0])
    'N*C*2 elements'
    """
    text = dim_text(volume)
    count = "1 element" if volume == 1 else f"{text} elements"
    if len(dims) < 2:
        return count
    factors = "*".join(map(str, dims))
    has_same_factors = sorted(factors.split("*")) == sorted(text.split("*"))
    return f"{truncate(factors)} elements" if has_same_factors else f"{count} ({truncate(factors)})"


def rank_text(rank: int) -> str:
    """Format the rank of a tensor as a number of dims.

    >>> rank_text(1), rank_text(3)
    ('1 dim', '3 dims')
    """
    return format_count(rank, "dim", "dims")


def format_count(number: int, one: str, many: str) -> str:
    """Format a number, followed by the singular or the plural of a phrase.

    >>> format_count(1, "axis is", "axes are"), format_count(0, "axis is", "axes are")
    ('1 axis is', '0 axes are')
    """
    return f"{number} {one if number == 1 else many}"


def join_with_and(texts: Sequence[str]) -> str:
    """Join strings with commas, and with `and` before the last string.

    >>> join_with_and(["a"]), join_with_and(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def dim_text(dim: Dim) -> str:
    """Format a dim for a message.

    A huge number is rounded to a power of ten.

    >>> dim_text(24), dim_text(10**5000)
    ('24', 'about 10**5000')
    """
    if isinstance(dim, int):
        bits = dim.bit_length()
        return f"about 10**{int(bits * LOG10_OF_2)}" if bits > MAX_BITS else truncate(str(dim))
    too_long = max(dim.numerator, dim.denominator).bit_length() > MAX_BITS
    return "too many" if too_long else truncate(str(dim))


def truncate(text: str, limit: int = MAX_QUOTED_LENGTH) -> str:
    """Truncate a string after `limit` characters, and append `...`.

    >>> truncate("1,1"), truncate("1," * 40)
    ('1,1', '1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...')
    """
    return text if len(text) <= limit else f"{text[:limit]}..."


def escape_unprintable(text: str) -> str:
    r"""Escape control characters, bidirectional overrides and invalid bytes.

    >>> print(escape_unprintable("2,\x1b[31m3\u202e"))
    2,\x1b[31m3\u202e
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() and ord(char) not in UNPRINTABLE_CODES else char.encode("unicode_escape").decode()
        for char in text
    )


def tokenize_shape(text: str, argument: str = "shape") -> tuple[Token, ...]:
    """Split the text of a shape into one token for each dim.

    Raises `ShapeError` (usage) if a dim is missing.

    >>> [token.span for token in tokenize_shape("[2, -1]")]
    [(1, 2), (4, 6)]
    """
    offset, end, bracketed = _locate_dims(text, argument)
    body = text[offset:end]
    if not body.strip():
        if bracketed:
            return ()
        raise usage_error("the shape is empty", "write [] for a scalar", argument=argument, index=0, span=(0, 1))
    separator = "x" if "x" in body and all(map(is_integer, body.split("x"))) else ","
    by_blanks = separator not in body and _are_separate_dims(body.split(), bracketed=bracketed)
    words = body.split() if by_blanks else body.split(separator)
    if len(words) > MAX_SHAPE_DIMS:
        raise MAX_SHAPE_DIMS.error(f"{len(words)} dims", argument=argument, span=(offset, offset + 1))
    if bracketed and len(words) > 1 and not words[-1].strip():
        words.pop()
    result = []
    for index, word in enumerate(words):
        offset = text.index(word, offset)
        if not word.strip():
            message = f"a dim is missing in '{escape_unprintable(truncate(text))}'"
            raise usage_error(message, argument=argument, index=index, span=(offset, offset + 1))
        result.append(Token(word.strip(), offset + len(word) - len(word.lstrip())))
        offset += len(word) + 1
    return tuple(result)


def _are_separate_dims(words: list[str], *, bracketed: bool) -> bool:
    """Return whether blank-separated words are dims, not factors of one product.

    Names separated by blanks are dims only inside brackets.
    """
    if not bracketed and not all(word in UNKNOWN_WORDS or is_integer(word.removesuffix("L")) for word in words):
        return False
    return 1 < len(words) <= MAX_SHAPE_DIMS and not any(word[0] in "*/" or word[-1] in "*/" for word in words)


def _locate_dims(text: str, argument: str) -> tuple[int, int, bool]:
    """Return the start and end offsets of the dims, and whether they are in brackets."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    layers = 1
    if text.startswith(f"{TORCH_SIZE}(", start):
        start, layers = start + len(TORCH_SIZE), 2
    bracketed = False
    for _ in range(layers):
        opening = text[start : start + 1]
        if opening not in BRACKETS:
            break
        if text[start + 1 : end][-1:] != BRACKETS[opening]:
            raise usage_error(f"{opening} is never closed", argument=argument, span=(start, start + 1))
        inner = text[start + 1 : end - 1]
        start, end, bracketed = start + 1 + len(inner) - len(inner.lstrip()), end - 1, True
        end = max(start, start + len(text[start:end].rstrip()))
    return start, end, bracketed


def is_nonnegative_integer(text: str) -> bool:
    """Return whether a string is an integer >= 0 of at most `MAX_DIGITS` digits."""
    return text.isdigit() and text.isascii() and len(text) <= MAX_DIGITS


def is_integer(text: str) -> bool:
    """Return whether a string is an integer of at most `MAX_DIGITS` digits."""
    return is_nonnegative_integer(text.strip().removeprefix("-"))


def invalid_dim_error(factor: Token, dim: Token, argument: str, index: int) -> ShapeError:
    """Return the usage error for an invalid dim.

    The second token is the dim; the first token is its invalid factor, or the dim itself. The message contains the
    first invalid character.
    """
    text, shown = factor.text, escape_unprintable(truncate(dim.text))
    long_number = text.lstrip("-").isdigit() and len(text) > MAX_DIGITS
    if long_number or len(text) > MAX_DIM_TEXT_LENGTH:
        limit, unit = (
            (MAX_DIGITS, "digits of a number") if long_number else (MAX_DIM_TEXT_LENGTH, "characters of a dim")
        )
        return limit.error(f"{len(text)} {unit}", argument=argument, index=index, span=factor.span)
    misfit = _invalid_offset(text)
    not_allowed = f"'{escape_unprintable(text[misfit])}' is not allowed" if text.strip() else "a factor is missing"
    offset = factor.start + misfit
    hint = _correction_hint(dim.text, text[misfit : misfit + 1])
    return usage_error(f"{not_allowed} in '{shown}'", hint, argument=argument, index=index, span=(offset, offset + 1))


def _correction_hint(word: str, invalid_char: str) -> str:
    """Return the hint for an invalid dim `word`.

    The hint shows the corrected dims if other separators and minus signs make `word` valid.
    """
    hint = "a dim is a whole number, a name, ?, or a product such as 3*H*W/64"
    dashed = "".join("-" if char in DASHES else char for char in word[:MAX_CORRECTED_LENGTH])
    import re  # deferred: only invalid requests need it

    dims = re.split(SEPARATOR_PATTERN, dashed)
    decimal = dashed.count(".") == 1 and dashed.replace(".", "").isdecimal()
    known = all(is_integer(dim) or (dim.isidentifier() and dim.isascii()) for dim in dims)
    meant = ",".join(dims) if known and not decimal and len(word) <= MAX_CORRECTED_LENGTH else ""
    if invalid_char and invalid_char in DASHES:
        return f"'{invalid_char}' is a dash, write -" + (f", as in {meant}" if meant else "")
    return f"write {meant}" if meant else hint


def _invalid_offset(text: str) -> int:
    """Return the offset of the first invalid character of a dim."""
    from re import ASCII, match

    fits = match(r"-?[0-9]+|[A-Za-z_]\w*|", text, ASCII)
    return fits.end() % len(text) if fits and text else 0


def shape_text(shape: Iterable[Dim]) -> str:
    """Format a shape as shapecalc prints it.

    >>> shape_text((2, 12)), shape_text(()), shape_text(parse_dims("N,3*W*H"))
    ('2,12', '[]', 'N,3*H*W')
    """
    return ",".join(map(str, shape)) or "[]"


def is_file_argument(text: str) -> bool:
    """Return whether an argument names an array file.

    The file name may be followed by the name of an array in the file, as in `x.npz:weights`.

    >>> [is_file_argument(text) for text in ("x.npy", "x.npz:weights", "x.zarr", "x.h5:/data", "2,3,4")]
    [True, True, True, True, False]
    """
    return split_file_argument(text)[0].endswith((".npy", *CONTAINER_SUFFIXES))


def split_file_argument(text: str) -> tuple[str, str]:
    """Split a file argument into the path and the name of an array in the file.

    The name is empty if the argument has none.

    >>> split_file_argument("a/x.npy"), split_file_argument("w.npz:weights"), split_file_argument("x.zarr:group/array/")
    (('a/x.npy', ''), ('w.npz', 'weights'), ('x.zarr', 'group/array'))
    >>> split_file_argument("a/x.zarr/"), split_file_argument("x.h5:/data")
    (('a/x.zarr', ''), ('x.h5', 'data'))
    """
    if ":" in text and not text.endswith((".npy", ".npz", ".safetensors")):
        for ending in CONTAINER_SUFFIXES:
            path, colon, member = text.partition(f"{ending}:")
            if colon:
                return f"{path}{ending}", member.strip("/")
    return text.rstrip("/") or text, ""


def parse_shape(text: str, argument: str = "input") -> Shape:
    """Parse the shape of a tensor; raise `ShapeError` (usage) if the text is invalid.

    >>> parse_shape("[2, 3, 4]"), parse_shape("2x3"), parse_shape("torch.Size([5])"), parse_shape("()")
    ((2, 3, 4), (2, 3), (5,), ())
    """
    dims = parse_dims(text, argument)
    for index, dim in enumerate(dims):
        if isinstance(dim, int) and dim < 0:
            span = tokenize_shape(text, argument)[index].span
            message = f"{dim} is not the size of an input dim"
            raise usage_error(message, NAME_SIZE_HINT, argument=argument, index=index, span=span)
    return dims


def parse_dims(text: str, argument: str = "target") -> Shape:
    """Parse dims; numbers may be negative, and each `?` gets a distinct name.

    Raises `ShapeError` (usage) if the text is invalid. `argument` is the argument name that the error reports.

    >>> parse_dims("0,-1"), [str(dim) for dim in parse_dims("N,C*H*W/64")]
    ((0, -1), ['N', 'C*H*W/64'])
    """
    words = text.split(",") if len(text) < MAX_DIGITS else []
    if words and text.isascii() and all(word.isdigit() for word in words):
        return tuple(map(int, words))
    unknowns = count()
    return tuple(
        parse_dim(token, unknowns, argument, index) for index, token in enumerate(tokenize_shape(text, argument))
    )


def parse_target(text: str, argument: str = "target") -> Shape:
    """Parse a requested shape.

    Raises `ShapeError` (usage) if it is invalid or contains `?`.
    """
    dims = parse_dims(text, argument)
    if "?" not in text and "None" not in text:
        return dims
    for index, token in enumerate(tokenize_shape(text, argument)):
        dim = dims[index]
        if isinstance(dim, Monomial) and any(name.startswith("?") for name, _ in dim.powers):
            unknown = "?" if "?" in token.text else "None"
            offset = token.start + token.text.index(unknown)
            span = offset, offset + len(unknown)
            message = f"{unknown} is an unknown size, so it cannot be requested"
            raise usage_error(
                message, "write -1 to infer the dim, or a name", argument=argument, index=index, span=span
            )
    return dims


def parse_axes(text: str, argument: str = "axes") -> tuple[int, ...]:
    """Parse axis numbers; raise `ShapeError` (usage) if the text is invalid.

    >>> parse_axes("1,0,-1")
    (1, 0, -1)
    """
    axes = parse_dims(text, argument)
    for index, axis in enumerate(axes):
        if not isinstance(axis, int):
            span = tokenize_shape(text, argument)[index].span
            raise usage_error(f"an axis is a whole number, not {axis}", argument=argument, index=index, span=span)
    return axes  # type: ignore[return-value]


def parse_dim(token: Token, unknowns: Iterator[int], argument: str, index: int) -> Dim:
    """Parse one dim; a `?` gets the name `?n` with the next number n of `unknowns`.

    Raises `ShapeError` (usage) if the token is invalid.
    """
    word = token.text
    if is_integer(word.removesuffix("L")):
        return int(word.removesuffix("L"))
    if word in UNKNOWN_WORDS:
        return named_dim(f"?{next(unknowns)}")
    if word.isidentifier() and word.isascii() and len(word) <= MAX_DIM_TEXT_LENGTH:
        return named_dim(word)
    if len(word) > MAX_DIM_TEXT_LENGTH or not (word.isascii() and word.isprintable()):
        raise invalid_dim_error(token, token, argument, index)
    numerator, denominator, powers = 1, 1, dict[str, int]()
    for divides, factor in _split_factors(token):
        text = factor.text.strip()
        if is_nonnegative_integer(text) and divides:
            denominator *= int(text)
        elif is_nonnegative_integer(text):
            numerator *= int(text)
        elif text == "?" or text.isidentifier():
            name = f"?{next(unknowns)}" if text in UNKNOWN_WORDS else text
            powers[name] = powers.get(name, 0) + (-1 if divides else 1)
        else:
            raise invalid_dim_error(factor, token, argument, index)
    return _product_dim(numerator, denominator, powers, token, argument, index)


def _product_dim(
    numerator: int, denominator: int, powers: dict[str, int], token: Token, argument: str, index: int
) -> Dim:
    """Return the dim `numerator / denominator` times `powers`, parsed from `token`.

    Raises `ShapeError` (usage) if the product is not a valid dim.
    """
    if denominator == 0:
        fault = "divides by 0"
    elif max(numerator, denominator) >= SIZE_BOUND:
        fault = "has more digits than any size"
    else:
        dim = lowest_terms(numerator, denominator, powers)
        if isinstance(dim, int) or dim.powers:
            return dim
        fault = "is not a whole number"
    raise usage_error(
        f"{escape_unprintable(truncate(token.text))} {fault}", argument=argument, index=index, span=token.span
    )


def _split_factors(token: Token) -> list[tuple[bool, Token]]:
    """Split a product into factors, each with a flag that is True for a divisor."""
    factors, divides, start = [], False, 0
    for offset, char in enumerate(f"{token.text}*"):
        if char == "/" and divides and offset == start and token.text[offset - 2 : offset] != "//":
            start += 1
        elif char in "*/":
            factors.append((divides, Token(token.text[start:offset], token.start + start)))
            divides, start = char == "/", offset + 1
    return factors


def lookup(
    name: str, table: Mapping[str, Value], kind: str, *, other_names: Iterable[str] = (), list_command: str = ""
) -> Value:
    """Return `table[name]`.

    Raises `ShapeError` (usage) with a hint if `table` has no entry `name`. In the message, `kind` is the noun for an
    entry, such as `operation`. The hint contains the closest name in `table` and `other_names`. If no name is close,
    the hint contains `list_command`, a command that lists all names.
    """
    if name in table:
        return table[name]
    hint = suggestion(name, [*table, *other_names]) or (f"{list_command} lists them" if list_command else "")
    raise usage_error(f"there is no {kind} '{escape_unprintable(truncate(name))}'", hint, argument=kind)


def suggestion(name: str, known_names: Iterable[str]) -> str:
    """Return a hint with the closest known name, or with all names if there are few.

    >>> suggestion("reshap", ["reshape", "shape"]), suggestion("zzz", ["a", "b"])
    ('did you mean reshape?', 'there are a, b')
    """
    from difflib import get_close_matches

    known_names = list(known_names)
    close = get_close_matches(name[:MAX_COMPARED_LENGTH], known_names, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(known_names)}" if len(known_names) <= MAX_LISTED_NAMES else ""


def split_outside_brackets(text: str, separator: str | None = None) -> list[str]:
    """Split a string at blanks, or at `separator`, outside brackets and quotes.

    Without `separator`, enclosing quotes are removed. Raises `ShapeError` (usage) for an unclosed quote.

    >>> split_outside_brackets("reshape [2, 3, 4] '0, -1'")
    ['reshape', '[2, 3, 4]', '0, -1']
    """
    pieces, piece, depth, quote = list[str](), list[str](), 0, ""
    started = False
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in QUOTES:
            quote, started = char, True
        elif char in OPENING:
            depth += 1
        elif char in CLOSING:
            depth -= 1
        if not quote and depth <= 0 and (char == separator if separator else char.isspace()):
            if started or separator:
                pieces.append("".join(piece))
            piece, started = [], False
        elif separator or char not in QUOTES:
            piece.append(char)
            started = True
    if quote:
        raise usage_error(f"the quote {quote} is never closed")
    return [*pieces, "".join(piece)] if started or separator else pieces
