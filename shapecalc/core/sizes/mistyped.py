"""What is said of a word that is no dim: the first character that does not fit, and what was meant."""

from __future__ import annotations

from re import split

from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.tokens import LONGEST_WORD, MAX_DIGITS, is_integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.sizes.tokens import Token

DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
"""What texts and web pages have in place of -: hyphens, dashes, and the minus sign."""
SEPARATING = r"[;.\u00d7\u00b7\uff0c\uff1b\u3001]|(?<=[0-9])(?:[xX](?=\w)|(?=-))"
"""What is written between dims in place of a comma."""
MOST_MISTYPED = 200
"""The most characters of a mistyped word that are read again."""


def mistyped_error(part: Token, whole: Token, argument: str, index: int) -> ShapeError:
    """Return the error for text that is not a dim. It names the first character that does not fit."""
    text, shown = part.text, visible(brief(whole.text))
    if text.lstrip("-").isdigit() and len(text) > MAX_DIGITS:
        return misuse(
            f"a number of {len(text)} digits is too long for a dim", argument=argument, index=index, span=part.span
        )
    if len(text) > LONGEST_WORD:
        return misuse(f"{len(text)} characters are too many for a dim", argument=argument, index=index, span=part.span)
    place = part.start + _first_misfit(text)
    message = (
        f"'{visible(text[_first_misfit(text)])}' is not allowed in '{shown}'"
        if text.strip()
        else f"a factor is missing in '{shown}'"
    )
    hint = _meant(whole.text, text[place - part.start :][:1])
    return misuse(message, hint, argument=argument, index=index, span=(place, place + 1))


def _meant(word: str, misfit: str) -> str:
    """Return what to write in place of a word that is no dim: with commas or -, if others stand in their place."""
    hint = "a dim is a whole number, a name, ?, or a product such as 3*H*W/64"
    dashed = "".join("-" if char in DASHES else char for char in word[:MOST_MISTYPED])
    dims = split(SEPARATING, dashed)
    decimal = dashed.count(".") == 1 and dashed.replace(".", "").isdecimal()
    known = all(is_integer(dim) or (dim.isidentifier() and dim.isascii()) for dim in dims)
    meant = ",".join(dims) if known and not decimal and len(word) <= MOST_MISTYPED else ""
    if misfit and misfit in DASHES:
        return f"'{misfit}' is a dash, write -" + (f", as in {meant}" if meant else "")
    return f"write {meant}" if meant else hint


def _first_misfit(text: str) -> int:
    """Return the place of the first character that does not belong to the number or name at the start of `text`."""
    number = text[:2].removeprefix("-").isdigit() or text[:1].isdigit()
    for place, char in enumerate(text):
        fits = (
            char.isdigit()
            or (number and char == "-" and place == 0)
            or (not number and (char.isalpha() or char == "_"))
        )
        if not (fits and char.isascii()):
            return place
    return 0
