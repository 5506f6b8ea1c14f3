"""Texts in messages: counts with their factors, long texts cut, and invisible characters escaped."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Dim, Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BITS = 3320
"""The bits of a number of 1000 digits, the longest that is read. Python writes at most 4300 digits."""
LOG2 = 0.30103
LONGEST_SHOWN = 40
"""The most characters of a text that a message repeats."""
NOT_SHOWN = {0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
"""Characters that change the direction or the lines of the text around them."""


def count_text(dims: Shape, volume: Dim) -> str:
    """Return the text of an element count, with its factors if there are several that it does not show itself.

    >>> count_text((2, 3, 4), 24), count_text((1,), 1)
    ('24 elements (2*3*4)', '1 element')
    >>> from shapecalc.core.sizes.text import read_dims
    >>> count_text(read_dims("N,C,2"), read_dims("2*C*N")[0])
    'N*C*2 elements'
    """
    text = dim_text(volume)
    count = "1 element" if volume == 1 else f"{text} elements"
    if len(dims) < 2:
        return count
    written = "*".join(map(str, dims))
    shown = sorted(written.split("*")) == sorted(text.split("*"))
    return f"{brief(written)} elements" if shown else f"{count} ({brief(written)})"


def rank_text(rank: int) -> str:
    """Return a number of dims in words.

    >>> rank_text(1), rank_text(3)
    ('1 dim', '3 dims')
    """
    return number_text(rank, "dim", "dims")


def number_text(number: int, one: str, many: str) -> str:
    """Return a number of things in words.

    >>> number_text(1, "axis is", "axes are"), number_text(0, "axis is", "axes are")
    ('1 axis is', '0 axes are')
    """
    return f"{number} {one if number == 1 else many}"


def and_text(texts: Sequence[str]) -> str:
    """Return texts in a row, with `and` before the last.

    >>> and_text(["a"]), and_text(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def dim_text(dim: Dim) -> str:
    """Return the text of a dim for a message. A huge number is given as a power of ten.

    >>> dim_text(24), dim_text(10**5000)
    ('24', 'about 10**5000')
    """
    if isinstance(dim, int):
        bits = dim.bit_length()
        return f"about 10**{int(bits * LOG2)}" if bits > MOST_BITS else brief(str(dim))
    too_long = max(dim.numerator, dim.denominator).bit_length() > MOST_BITS
    return "too many" if too_long else brief(str(dim))


def brief(text: str) -> str:
    """Return `text`, cut after `LONGEST_SHOWN` characters.

    >>> brief("1,1"), brief("1," * 40)
    ('1,1', '1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...')
    """
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def visible(text: str) -> str:
    r"""Return `text` with control characters, bidirectional overrides and invalid bytes escaped.

    >>> print(visible("2,\x1b[31m3\u202e"))
    2,\x1b[31m3\u202e
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() and ord(char) not in NOT_SHOWN else char.encode("unicode_escape").decode()
        for char in text
    )
