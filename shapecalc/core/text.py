"""Parse and format shapes, and report invalid shapes.

shape  = "[" dims "]" | "(" dims ")" | "{" dims "}" | dims | a format of `core.spellings`
dims   = dim {"," dim} [","]       a trailing comma only inside brackets
       | dim {("x" | blank) dim}   "x" between integers and ?, or as every second word beside a number
dim    = ["-"] digits ["L"] | factor {("*" | "/" | "//") factor}
factor = digits | name | "?" | "None"

None is parsed as ?, and H//2 as H/2 on the condition that 2 divides H. In an input, -1 is also parsed as ?.
"""

from __future__ import annotations

from itertools import count

from shapecalc.core.dims import Dim, Monomial, Shape, lowest_terms, named_dim, product
from shapecalc.core.limits import MAX_DIGITS, MAX_DIM_TEXT_LENGTH, MAX_SHAPE_DIMS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record, replace

BOM = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    Value = TypeVar("Value")


MAX_BITS = 3320
"""The maximum bit length of an integer that is accepted or printed exactly: at most 1000 decimal digits. Python itself
formats at most 4300 digits.
"""
LOG10_OF_2 = 0.30103
"""The decimal logarithm of 2."""
MAX_QUOTED_LENGTH = 40
"""The maximum length, in characters, of a quoted string in a message."""
MAX_QUOTED_SHAPE_LENGTH = 200
"""The maximum length, in characters, of a quoted shape in a message."""
UNBROKEN_TEXT = r"(?:(?<=[:,] )|(?<=\(see )|(?<=  ))shapecalc (?:'[^']*'|,(?! )|[^,;)'])+\S*|(?:(?<!\w)'[^']*'|\S)+"
"""A regular expression for the parts of a message that must not be wrapped: words, quoted texts and commands."""
UNPRINTABLE_CODES = {0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
"""Code points of characters that change the direction or the line breaks of a text."""
BRACKETS = {"[": "]", "(": ")", "{": "}"}
SPECIAL = frozenset("[](){}<>:='\"%!|")
"""Characters that cannot be in a dim. A string with one of them is matched against the formats of `core.spellings`."""
UNKNOWN_WORDS = ("?", "None")
"""The spellings of an unknown size."""
INPUT_UNKNOWNS = ("-1", "_")
"""Additional spellings of an unknown size in an input. In einops and jaxtyping, `_` matches any size."""
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
"""Typographic hyphens, dashes and minus signs that replace a hyphen-minus in pasted text."""
SEPARATOR_PATTERN = r"[;.\u00d7\u00b7\uff0c\uff1b\u3001]|(?<=[0-9])(?:[xX](?=\w)|(?=-))"
"""A regular expression for separators that users write instead of commas."""
PLAIN_EXCEPTIONS = (*UNKNOWN_WORDS, *INPUT_UNKNOWNS)
"""The words in an input that are not names."""
MAX_CORRECTED_LENGTH = 200
"""The maximum length, in characters, of an invalid dim with a suggested correction."""
SIZE_BOUND = 10**MAX_DIGITS
FILLER_WORDS = ("by", "and", "to", "into")
"""English words between sizes. They are not names of sizes."""
GENERAL_DIM_HINT = "a dim is a whole number"
"""The first part of the hint for an invalid dim without a correction."""
NAME_SIZE_HINT = "write a name (N) or ? for a size that is not known"
CONTAINER_SUFFIXES = (".npz", ".safetensors", ".zarr", ".h5", ".hdf5")
"""The suffixes of files and stores that contain several named arrays."""
MAX_LISTED_NAMES = 16
"""The maximum number of names in a hint."""
MAX_COMPARED_LENGTH = 80
"""The maximum number of characters of a word that are compared with names."""
MIN_LENGTH_FOR_TWO_TYPOS = 6
"""The minimum length of a word that may differ from a suggested name by two typing mistakes."""
MIN_PREFIX_LENGTH = 4
"""The minimum length for suggesting a name that contains the word or is contained in it."""
MAX_EXTRA_LETTERS = 3
"""The maximum number of additional letters in a suggested name that contains the word but does not start with it."""
OPENING, CLOSING, QUOTES = "[({", "])}", "'\""


MIN_LAYOUT_LENGTH = 3
"""The minimum length of a lower-case name that is interpreted as a layout, such as `nchw`."""
LAYOUT_LETTERS = frozenset("nbchwdtls")
"""The letters of lower-case layouts such as `nchw`."""


class Token(Record):
    """A part of an argument: its text, and its start offset in the argument."""

    text: str
    start: int

    @property
    def span(self) -> tuple[int, int]:
        """The start offset and the exclusive end offset of the token."""
        return self.start, self.start + len(self.text)


def remainder_text(dim: Dim, divisor: Dim) -> str:
    """Format the remainder of `dim / divisor` for the end of a message.

    Returns an empty string if `dim` or `divisor` is symbolic.
    """
    return f", {truncate(str(dim % divisor))} left over" if isinstance(dim, int) and isinstance(divisor, int) else ""


def element_count_text(dims: Shape, volume: Dim) -> str:
    """Format the element count `volume`, followed by the product of the dims.

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


def missing_axis_text(axis: int, rank: int, *, allow_end: bool = False) -> str:
    """Return the reason why an axis does not exist.

    If `allow_end` is True, an axis equal to `rank` exists.

    >>> missing_axis_text(3, 2), missing_axis_text(1, 0)
    ('axis 3 does not exist: axes run from -2 to 1', 'axis 1 does not exist: a scalar has no axes')
    """
    exists = f"axes run from {-rank} to {rank - (not allow_end)}" if rank or allow_end else "a scalar has no axes"
    return f"axis {truncate(str(axis))} does not exist: {exists}"


def format_count(number: int, singular: str, plural: str) -> str:
    """Format a number with the singular or the plural of a phrase.

    >>> format_count(1, "axis is", "axes are"), format_count(0, "axis is", "axes are")
    ('1 axis is', '0 axes are')
    """
    return f"{number} {singular if number == 1 else plural}"


def join_with_and(texts: Sequence[str]) -> str:
    """Join strings with commas, and insert `and` before the last string.

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


class ScannedShape(Record):
    """The tokens of a shape, with its element type, strides and layout as text."""

    tokens: tuple[Token, ...]
    dtype: str = ""
    """The element type, as the tool prints it."""
    strides: str = ""
    order: str = ""
    """The axes from minor to major, as in an XLA layout."""
    unused: str = ""
    """The ignored part of the text, such as the tiles of a layout."""
    form: str = ""
    """The name of the format in `core.spellings`, or an empty string for a plain shape."""
    has_unbracketed_names: bool = False
    """Whether blanks separate names that are not in brackets or quotes."""


class TypedShape(Record):
    """The shape of a tensor, with its element type, strides and notes."""

    dims: Shape
    dtype: str = ""
    """The element type, as the tool prints it, or an empty string."""
    strides: Shape | None = None
    """The strides in elements, or None if the tensor is contiguous."""
    notes: tuple[str, ...] = ()


def tokenize_shape(text: str, argument: str = "shape") -> tuple[Token, ...]:
    """Split the text of a shape into one token for each dim.

    Raises `ShapeError` (usage) if a dim is missing.

    >>> [token.span for token in tokenize_shape("[2, -1]")]
    [(1, 2), (4, 6)]
    """
    return scan_shape(text, argument).tokens


def scan_shape(text: str, argument: str = "shape") -> ScannedShape:
    """Split the text of a shape into tokens, an element type and strides.

    Raises `ShapeError` (usage) if the text is not a single shape.

    >>> scanned = scan_shape("f32[2,3]{0,1}")
    >>> [token.text for token in scanned.tokens], scanned.dtype, scanned.order
    (['2', '3'], 'f32', '0,1')
    """
    start, end = _strip_offsets(text, 0, len(text))
    inner = (
        text[start + 1 : end - 1] if BRACKETS.get(text[start : start + 1]) == text[end - 1 : end] else text[start:end]
    )
    located = None
    if not (text.isascii() and SPECIAL.isdisjoint(inner)) or _is_typed_list(inner):
        from shapecalc.core.spellings import locate_printed_dims  # imported here because plain shapes need no formats

        located = locate_printed_dims(text)
    if located is None:
        tokens, has_unbracketed_names = _split_dims(text, *_locate_dims(text, argument), argument)
        return ScannedShape(tokens, has_unbracketed_names=has_unbracketed_names)
    bounds = (located.start, located.end, True)
    if not located.bracketed:
        bounds = _locate_dims(located.text, argument, located.start, located.end)
    is_quoted = text[start : start + 1] in ("'", '"')
    tokens, has_unbracketed_names = _split_dims(located.text, *bounds, argument)
    return ScannedShape(
        tokens,
        located.dtype,
        located.strides,
        located.order,
        located.unused,
        located.form,
        has_unbracketed_names and not is_quoted,
    )


def _is_typed_list(body: str) -> bool:
    """Return whether a text is a list of sizes with an element type, such as `2x3xf32`."""
    if "Tensor of size " in body:
        return True
    return "x" in body and body[0] in "0123456789?-" and any(char.isalpha() and char != "x" for char in body)


def _split_dims(text: str, start: int, end: int, bracketed: bool, argument: str) -> tuple[tuple[Token, ...], bool]:
    """Split the dims in `text[start:end]` into tokens.

    The second result is True if blanks separate names that are not in brackets.
    """
    offset, body = start, text[start:end]
    if not body.strip():
        if bracketed:
            return (), False
        raise usage_error("the shape is empty", "write [] for a scalar", argument=argument, index=0, span=(0, 1))
    words, by_blanks = _split_words(body)
    if _has_leading_zeros(body, words):
        message = f"'{escape_unprintable(truncate(body))}' is one number with commas, or dims with a leading 0"
        hint = f"write {truncate(body.replace(',', ''))}, or dims without leading zeros"
        raise usage_error(message, hint, argument=argument, span=(start, end))
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
    has_unbracketed_names = by_blanks and not bracketed and not all(map(_is_size, words))
    return tuple(result), has_unbracketed_names


def _split_words(body: str) -> tuple[list[str], bool]:
    """Split dims at commas, at `x` or at blanks.

    The second result is True if the separators are blanks.
    """
    if "x" in body and all(map(_is_size, body.split("x"))):
        return body.split("x"), False
    if "," not in body:
        words = body.split()
        if len(words) > 2 and {*words[1::2]} == {"x"} and len(words) % 2 and any(map(_is_size, words[::2])):
            return words[::2], False
        if _are_separate_dims(words):
            return words, True
    return body.split(","), False


def _is_size(word: str) -> bool:
    """Return whether a word is an integer or an unknown size."""
    word = word.strip()
    return word in UNKNOWN_WORDS or is_integer(word.removesuffix("L"))


def _are_separate_dims(words: list[str]) -> bool:
    """Return whether blanks separate dims rather than the factors of a product."""
    is_sentence = any(word in FILLER_WORDS for word in words)
    return 1 < len(words) <= MAX_SHAPE_DIMS and not (
        is_sentence or any(word[0] in "*/" or word[-1] in "*/" for word in words)
    )


def _locate_dims(text: str, argument: str, start: int = 0, end: int | None = None) -> tuple[int, int, bool]:
    """Return the start and end offsets of the dims in a text.

    The third result is True if the dims are in brackets. Raises `ShapeError` (usage) for an unclosed bracket.
    """
    start, end = _strip_offsets(text, start, len(text) if end is None else end)
    opening = text[start : start + 1]
    if opening not in BRACKETS:
        return start, end, False
    if end - start < 2 or text[end - 1] != BRACKETS[opening]:
        raise usage_error(f"{opening} is never closed", argument=argument, span=(start, start + 1))
    return (*_strip_offsets(text, start + 1, end - 1), True)


def _strip_offsets(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of `text[start:end]` without surrounding blanks."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    return first, max(first, start + len(piece.rstrip()))


def is_nonnegative_integer(text: str) -> bool:
    """Return whether a string is a nonnegative integer of at most `MAX_DIGITS` digits."""
    return text.isdigit() and text.isascii() and len(text) <= MAX_DIGITS


def is_integer(text: str) -> bool:
    """Return whether a string is an integer of at most `MAX_DIGITS` digits."""
    return is_nonnegative_integer(text.strip().removeprefix("-"))


def invalid_dim_error(factor: Token, dim: Token, argument: str, index: int) -> ShapeError:
    """Return the usage error for an invalid dim.

    `factor` is the invalid factor of `dim`, or `dim` itself. The message contains the first invalid character.
    """
    text, shown = factor.text, escape_unprintable(truncate(dim.text))
    long_number = text.lstrip("-").isdigit() and len(text) > MAX_DIGITS
    if long_number or len(text) > MAX_DIM_TEXT_LENGTH:
        limit, unit = (
            (MAX_DIGITS, "digits of a number") if long_number else (MAX_DIM_TEXT_LENGTH, "characters of a dim")
        )
        return limit.error(f"{len(text)} {unit}", argument=argument, index=index, span=factor.span)
    misfit = _find_invalid_offset(text)
    not_allowed = f"'{escape_unprintable(text[misfit])}' is not allowed" if text.strip() else "a factor is missing"
    offset = factor.start + misfit
    hint = _correction_hint(dim.text, text[misfit : misfit + 1])
    return usage_error(f"{not_allowed} in '{shown}'", hint, argument=argument, index=index, span=(offset, offset + 1))


def _correction_hint(word: str, invalid_char: str) -> str:
    """Return the hint for an invalid dim.

    If correcting the separators and minus signs makes `word` valid, the hint contains the corrected dims.
    """
    hint = f"{GENERAL_DIM_HINT}, a name, ?, or a product such as 3*H*W/64"
    dashed = "".join("-" if char in DASHES else char for char in word[:MAX_CORRECTED_LENGTH])
    import re  # imported here because only invalid requests need it

    dims = re.split(SEPARATOR_PATTERN, dashed)
    decimal = dashed.count(".") == 1 and dashed.replace(".", "").isdecimal()
    known = all(is_integer(dim) or (dim.isidentifier() and dim.isascii()) for dim in dims)
    meant = ",".join(dims) if known and not decimal and len(word) <= MAX_CORRECTED_LENGTH else ""
    if invalid_char and invalid_char in DASHES:
        return f"'{invalid_char}' is a dash, write -" + (f", as in {meant}" if meant else "")
    return f"write {meant}" if meant else hint


def _find_invalid_offset(text: str) -> int:
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
    """Return whether an argument is the name of an array file.

    The name of an array in the file may follow, as in `x.npz:weights`.

    >>> [is_file_argument(text) for text in ("x.npy", "x.npz:weights", "x.zarr", "x.h5:/data", "2,3,4")]
    [True, True, True, True, False]
    """
    return split_file_argument(text)[0].endswith((".npy", *CONTAINER_SUFFIXES))


def split_file_argument(text: str) -> tuple[str, str]:
    """Split a file argument into the path and the name of an array in the file.

    Without an array name, the second result is an empty string.

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
    """Parse the shape of a tensor.

    The words -1, None and ? are unknown sizes. An element type in the text is ignored; `parse_typed_shape` returns it.
    Raises `ShapeError` (usage) if the text is invalid.

    >>> parse_shape("[2, 3, 4]"), parse_shape("2x3"), parse_shape("torch.Size([5])"), parse_shape("()")
    ((2, 3, 4), (2, 3), (5,), ())
    """
    plain = parse_plain_shape(text)
    return parse_typed_shape(text, argument).dims if plain is None else plain


def parse_typed_shape(text: str, argument: str = "input") -> TypedShape:
    """Parse the shape of a tensor with its element type and strides.

    The notes of the result describe how the text was interpreted. Raises `ShapeError` (usage) if the text is invalid.

    >>> parse_typed_shape("float32[-1,3]")
    TypedShape(dims=(?, 3), dtype='float32', strides=None, notes=('-1 is an unknown size here, as ? is',))
    >>> parse_typed_shape("2*3*4").notes
    ('2*3*4 is one dim, 24; three dims are 2,3,4',)
    """
    try:
        scanned = scan_shape(text, argument)
        shape = _parse_input_dims(scanned.tokens, argument)
    except ShapeError as error:
        raise _make_specific_error(text, argument, error) from None
    notes = [*_unknown_notes(scanned), *shape_notes(scanned), *_product_notes(scanned, shape)]
    strides = None
    if any(word in scanned.strides for word in ("?", "*")):
        notes.append(f"the strides {scanned.strides} were not used")
    elif scanned.strides or scanned.order:
        strides = _parse_strides(scanned, shape, argument)
    if scanned.unused:
        notes.append(f"{scanned.unused.lstrip(':, ')} was not used")
    return TypedShape(shape, scanned.dtype, strides, tuple(notes))


def _parse_input_dims(tokens: Sequence[Token], argument: str) -> Shape:
    """Parse the dims of an input, in which -1 is an unknown size.

    Raises `ShapeError` (usage) for an invalid dim and for any other negative integer.
    """
    unknowns = count()
    dims: list[Dim] = []
    for index, token in enumerate(tokens):
        is_unknown = token.text in INPUT_UNKNOWNS
        dim = named_dim(f"?{next(unknowns)}") if is_unknown else parse_dim(token, unknowns, argument, index)
        if isinstance(dim, int) and dim < 0:
            message = f"{dim} is not the size of an input dim"
            raise usage_error(message, NAME_SIZE_HINT, argument=argument, index=index, span=token.span)
        dims.append(dim)
    return tuple(dims)


def _make_specific_error(text: str, argument: str, error: ShapeError) -> ShapeError:
    """Return a more specific error for an invalid text.

    If the text has a known format, return the error of this format. Otherwise, return `error` with a hint that contains
    the dims in the text.
    """
    # imported here because only invalid texts need them
    from shapecalc.core.spellings import extract_dims, find_non_shape_error

    refusal, hint = find_non_shape_error(text, argument), error.problem.hint
    dims = "" if refusal or (hint and not hint.startswith(GENERAL_DIM_HINT)) else extract_dims(text)
    return ShapeError(replace(error.problem, hint=f"write {dims}")) if dims else refusal or error


def _parse_strides(scanned: ScannedShape, shape: Shape, argument: str) -> Shape | None:
    """Return the strides in the text of a shape, or None if the tensor is contiguous.

    Raises `ShapeError` (usage) if the strides contradict the dims.
    """
    if scanned.strides:
        strides = parse_dims(f"[{scanned.strides.strip()}]", argument)
    else:
        axes = parse_axes(f"[{scanned.order}]", argument)
        if sorted(axes) != [*range(len(shape))]:
            raise usage_error(f"the layout {{{scanned.order}}} does not have each axis once", argument=argument)
        steps = {axis: product([shape[inner] for inner in axes[:index]]) for index, axis in enumerate(axes)}
        strides = tuple([steps[axis] for axis in range(len(shape))])
    if len(strides) != len(shape):
        message = f"{format_count(len(strides), 'stride', 'strides')} for {rank_text(len(shape))}"
        raise usage_error(message, argument=argument)
    row_major = [product(shape[axis + 1 :]) for axis in range(len(shape))]
    is_row_major = all(dim == 1 or stride == step for dim, stride, step in zip(shape, strides, row_major, strict=True))
    return None if is_row_major else strides


def _unknown_notes(scanned: ScannedShape) -> list[str]:
    """Return notes on words that are unknown sizes."""
    words = {token.text for token in scanned.tokens}
    return [f"{word} is an unknown size here, as ? is" for word in (*INPUT_UNKNOWNS, "None") if word in words]


def _product_notes(scanned: ScannedShape, shape: Shape) -> list[str]:
    """Return a note if the only dim of an input is a product of numbers."""
    factors = scanned.tokens[0].text.split("*") if len(scanned.tokens) == 1 else []
    if len(factors) < 2 or not all(map(is_integer, factors)):
        return []
    dims, text = truncate(",".join(map(str.strip, factors))), truncate(scanned.tokens[0].text)
    return [f"{text} is one dim, {dim_text(shape[0])}; {_format_dim_count(len(factors))} are {dims}"]


def argument_notes(text: str, argument: str, *, is_tensor: bool) -> tuple[str, ...]:
    """Return notes on a shape in an argument.

    If `is_tensor` is True, it is the shape of a tensor, in which -1 is an unknown size.

    >>> argument_notes("float32[-1,3]", "operands", is_tensor=True)
    ('-1 is an unknown size here, as ? is', 'the element type float32 of operands was not used')
    """
    scanned = scan_shape(text, argument)
    notes = [*(_unknown_notes(scanned) if is_tensor else ()), *shape_notes(scanned)]
    if scanned.dtype:
        notes.append(f"the element type {escape_unprintable(truncate(scanned.dtype))} of {argument} was not used")
    if scanned.strides or scanned.order:
        notes.append(f"the strides of {argument} were not used")
    return tuple(notes)


def shape_notes(scanned: ScannedShape) -> list[str]:
    """Return notes on names that could be several dims.

    >>> shape_notes(scan_shape("NCHW")), shape_notes(scan_shape("b x c"))
    (['NCHW is one name; four dims are N,C,H,W'], ['x is a name here: b x c has three dims; without it, write b,c'])
    """
    words = [token.text for token in scanned.tokens]
    if len(words) == 1 and (letters := split_layout_name(words[0])):
        return [f"{words[0]} is one name; {_format_dim_count(len(letters))} are {','.join(letters)}"]
    if scanned.has_unbracketed_names and "x" in words:
        others, text = truncate(",".join([word for word in words if word != "x"])), truncate(" ".join(words))
        return [f"x is a name here: {text} has {_format_dim_count(len(words))}; without it, write {others}"]
    return []


def split_layout_name(name: str) -> list[str]:
    """Split a name such as `NCHW` into the letters of its dims.

    Returns an empty list for a name that is not a layout.

    >>> split_layout_name("NxCxHxW"), split_layout_name("bhwc"), split_layout_name("batch"), split_layout_name("N")
    (['N', 'C', 'H', 'W'], ['b', 'h', 'w', 'c'], [], [])
    """
    parts = name.split("x")
    if len(parts) > 1 and all(len(part) == 1 and part.isalpha() and part.isascii() for part in parts):
        return parts
    is_distinct = len(name) == len({*name}) and name.isalpha() and name.isascii()
    is_layout = name.isupper() or (len(name) >= MIN_LAYOUT_LENGTH and LAYOUT_LETTERS.issuperset(name))
    return list(name) if is_distinct and len(name) > 1 and is_layout else []


def _format_dim_count(number: int) -> str:
    words = ("no dims", "one dim", "two dims", "three dims", "four dims", "five dims", "six dims")
    return words[number] if number < len(words) else f"{number} dims"


def reject_unbracketed_names(text: str, argument: str = "input") -> None:
    """Raise `ShapeError` (usage) for names separated by blanks without brackets.

    Quotes are accepted instead of brackets.

    >>> reject_unbracketed_names("2 3 4"), reject_unbracketed_names("[N C]")
    (None, None)
    """
    if " " in text.strip() and (scanned := scan_shape(text, argument)).has_unbracketed_names:
        dims = ",".join([token.text for token in scanned.tokens])
        end = scanned.tokens[0].span[1]
        raise usage_error(
            f"names separated by blanks need quotes or brackets here: '{escape_unprintable(truncate(text.strip()))}'",
            f"write {escape_unprintable(truncate(dims))}",
            argument=argument,
            span=(end, end + 1),
        )


def wrap_offsets(text: str, width: int, indent: int) -> list[int]:
    """Return the offsets at which a message is wrapped to `width` characters.

    Each line after the first is indented by `indent`. A line exceeds `width` only if it cannot be wrapped.

    >>> text = "shapecalc: try 'b c -> c b'"
    >>> [text[offset:] for offset in wrap_offsets(text, 20, 2)]
    ["'b c -> c b'"]
    """
    import re  # imported here because only messages wider than the terminal are wrapped

    offsets, start = list[int](), 0
    for part in re.finditer(UNBROKEN_TEXT, text):
        if part.end() - start > width - (indent if offsets else 0) and text[start : part.start()].strip():
            start = part.start()
            offsets.append(start)
    return offsets


def join_words(words: Iterable[str]) -> str:
    """Join words into a string that `split_outside_brackets` splits again.

    >>> join_words(["2,3", "N C", "[2, 3]"])
    "2,3 'N C' [2, 3]"
    """
    return " ".join([_quote_if_needed(word) for word in words])


def _quote_if_needed(word: str) -> str:
    if " " not in word and not {*word} & {*QUOTES}:
        return word
    quote = '"' if "'" in word else "'"
    return word if quote in word or split_outside_brackets(word) == [word] else f"{quote}{word}{quote}"


def parse_plain_shape(text: str) -> Shape | None:
    """Parse integers and names that are separated by commas.

    Returns None for any other text, such as dims in brackets.

    >>> parse_plain_shape("2,3"), parse_plain_shape("N,3"), parse_plain_shape("[2,3]"), parse_plain_shape("N")
    ((2, 3), (N, 3), None, None)
    """
    words = text.split(",") if len(text) < MAX_DIGITS else []
    if not words or not text.isascii() or _has_leading_zeros(text, words):
        return None
    if all(word.isdigit() for word in words):
        return tuple(map(int, words))
    if len(words) > 1 and all(
        word.isdigit() or (word.isidentifier() and word not in PLAIN_EXCEPTIONS) for word in words
    ):
        return tuple([int(word) if word.isdigit() else named_dim(word) for word in words])
    return None


def _has_leading_zeros(text: str, words: Sequence[str]) -> bool:
    """Return whether an integer after a comma starts with 0, as in `1,024`."""
    return ",0" in text and any(
        word[0] == "0" and len(word) > 1 for word in map(str.strip, words[1:]) if word.isdigit()
    )


def parse_dims(text: str, argument: str = "target") -> Shape:
    """Parse dims, in which integers may be negative.

    Each `?` gets a unique name. `argument` is the name of the argument in an error. Raises `ShapeError` (usage) if the
    text is invalid.

    >>> parse_dims("0,-1"), [str(dim) for dim in parse_dims("N,C*H*W/64")]
    ((0, -1), ['N', 'C*H*W/64'])
    """
    words = text.split(",") if len(text) < MAX_DIGITS and text.isascii() else []
    if words and all(word.removeprefix("-").isdigit() for word in words) and not _has_leading_zeros(text, words):
        return tuple(map(int, words))
    plain = parse_plain_shape(text)
    if plain is not None:
        return plain
    unknowns = count()
    try:
        tokens = tokenize_shape(text, argument)
        return tuple([parse_dim(token, unknowns, argument, index) for index, token in enumerate(tokens)])
    except ShapeError as error:
        raise _make_specific_error(text, argument, error) from None


def parse_target(text: str, argument: str = "target") -> Shape:
    """Parse a requested shape.

    Raises `ShapeError` (usage) if the text is invalid or contains `?`.
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
    """Parse axis indices.

    Raises `ShapeError` (usage) if the text is invalid.

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
    """Parse one dim.

    The name of a `?` is `?n`, where n is the next number of `unknowns`. Raises `ShapeError` (usage) if the token is
    invalid.
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
    return _make_product_dim(numerator, denominator, powers, token, argument, index)


def _make_product_dim(
    numerator: int, denominator: int, powers: dict[str, int], token: Token, argument: str, index: int
) -> Dim:
    """Return the dim of a parsed product.

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
    """Split a product into pairs of a flag and a factor.

    The flag is True for a divisor.
    """
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
    """Return `table[name]`, or raise `ShapeError` (usage) with a hint.

    In the message, `kind` is the noun for an entry of the table, such as `operation`. The hint contains the closest
    name in `table` and `other_names`. If no name is close, it contains `list_command`, a command that lists all names.
    """
    if name in table:
        return table[name]
    hint = suggest_name(name, [*table, *other_names]) or (f"{list_command} lists them" if list_command else "")
    raise usage_error(f"there is no {kind} '{escape_unprintable(truncate(name))}'", hint, argument=kind)


def suggest_name(name: str, known_names: Iterable[str]) -> str:
    """Return a hint with the closest name, or with all names if there are few.

    A name is close if it differs from the word by one typing mistake. Two mistakes are allowed if the word has at least
    `MIN_LENGTH_FOR_TWO_TYPOS` letters. If there is no such name, a name that contains the word or is contained in it
    is close.

    >>> suggest_name("reshap", ["reshape", "shape"]), suggest_name("tran", ["transpose"]), suggest_name("z", ["a", "b"])
    ('did you mean reshape?', 'did you mean transpose?', 'there are a, b')
    >>> suggest_name("quit", ["equiv"] * 20), suggest_name("--torch", ["--force"] * 20)
    ('', '')
    """
    known_names = list(known_names)
    typed = name[:MAX_COMPARED_LENGTH].lower().strip("-='\"[](){}")
    limit = 2 if len(typed) >= MIN_LENGTH_FOR_TWO_TYPOS else 1
    distances = [(_edit_distance(typed, known.lstrip("-"), limit), known) for known in known_names]
    close = [(distance, known) for distance, known in distances if distance <= min(limit, len(typed) - 1)]
    for known in known_names if not close else ():
        short, long = sorted((typed, known.lstrip("-")), key=len)
        if len(short) >= MIN_PREFIX_LENGTH and (long.startswith(typed) or len(long) - len(short) <= MAX_EXTRA_LETTERS):
            close += [(len(long) - len(short), known)] * (short in long)
    if close:
        return f"did you mean {min(close, key=lambda pair: pair[0])[1]}?"
    return f"there are {', '.join(known_names)}" if len(known_names) <= MAX_LISTED_NAMES else ""


def _edit_distance(typed: str, name: str, limit: int) -> int:
    """Return the edit distance of two names, which includes swaps of adjacent letters.

    If the distance exceeds `limit`, the result is any number greater than `limit`.

    >>> _edit_distance("viwe", "view", 2), _edit_distance("squeze", "squeeze", 2)
    (1, 1)
    """
    if abs(len(typed) - len(name)) > limit:
        return limit + 1
    before, row = [0] * (len(name) + 1), list(range(len(name) + 1))
    for index, letter in enumerate(typed):
        two_before, before, row = before, row, [index + 1]
        for other, known_letter in enumerate(name):
            best = min(before[other + 1] + 1, row[other] + 1, before[other] + (letter != known_letter))
            if index and other and letter == name[other - 1] and typed[index - 1] == known_letter:
                best = min(best, two_before[other - 1] + 1)
            row.append(best)
    return row[-1]


def split_outside_brackets(text: str, separator: str | None = None) -> list[str]:
    """Split a string at blanks or at `separator`, but not in brackets or quotes.

    Without `separator`, quotes outside brackets are removed. Raises `ShapeError` (usage) for an unclosed quote.

    >>> split_outside_brackets("reshape [2, 3, 4] '0, -1'"), split_outside_brackets("batch['x']=2,3")
    (['reshape', '[2, 3, 4]', '0, -1'], ["batch['x']=2,3"])
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
        elif separator or char not in QUOTES or depth > 0:
            piece.append(char)
            started = True
    if quote:
        raise usage_error(f"the quote {quote} is never closed")
    return [*pieces, "".join(piece)] if started or separator else pieces


def split_tensor_groups(tensors: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Split groups of bracketed shapes into numbered tensors.

    >>> split_tensor_groups([("x", "(2,3)"), ("h", "(2,3),(4,)")])
    [('x', '(2,3)'), ('h[0]', '(2,3)'), ('h[1]', '(4,)')]
    >>> split_tensor_groups([("xs", "(2,3),"), ("ys", "[(2,3),(4,)]")])
    [('xs[0]', '(2,3)'), ('ys[0]', '(2,3)'), ('ys[1]', '(4,)')]
    """
    result = list[tuple[str, str]]()
    for name, dims in tensors:
        parts = _split_shape_list(dims.strip()) if name else []
        result += [(f"{name}[{index}]", part) for index, part in enumerate(parts)] if parts else [(name, dims)]
    return result


def _split_shape_list(text: str) -> list[str]:
    """Split a list of bracketed shapes, or return an empty list for any other text.

    The list itself may be in brackets. If the list contains only one shape, a comma follows the shape.
    """
    parts = split_outside_brackets(text, ",") if text[:1] in ("(", "[") else []
    if len(parts) == 1 and text[-1:] in (")", "]") and text[1:].lstrip()[:1] in ("(", "["):
        parts = split_outside_brackets(text[1:-1].strip(), ",")
    shapes = [part.strip() for part in parts if part.strip()]
    return shapes if len(parts) > 1 and all(shape[0] in "([" for shape in shapes) else []
