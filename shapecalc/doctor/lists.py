"""Lists of sizes as runtimes print them, read at a place in a text.

`[2, 3]`, `(2,3,)`, `{1 2 1 1}`, `torch.Size([2, 3])`, `f32[2,?]`, `(5,newaxis)`, `2x3`, `[np.int32(5), 2L]`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Sizes = tuple[int | str, ...]
    """Sizes as they were printed: numbers, names, and `?` for what the runtime did not know."""

CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
LONGEST = 1000
"""How many characters a list may take."""
MOST_DIGITS = 19
MOST_DIMS = 64
PREFIX = re.compile(r"\s?['\"]?[A-Za-z][\w.]{0,40}(?=[\[({])|\s?['\"]?(?=[\[({]|<[-\d])")
"""What stands before the bracket: a blank, a quote, a type's name."""
BARE = re.compile(r"\s?-?\d{1,19}(?:[x,.*]-?\d{1,19}){0,63}")
WRAPPED = re.compile(r"(?:np|numpy)\.\w{1,12}\(\s?(-?\d{1,19})\s?\)|(?:tf\.)?Dimension\(\s?(-?\d{1,19}|None)\s?\)")
"""A size in a call of its own."""
CALLS = ("np.", "numpy.", "Dimension(")
"""One of these stands in a text that holds such a call."""
COUNT = re.compile(r"\s?(-?\d{1,19})(?![\d*])")
UNKNOWN = {"?", "None", "none", "nan", "dyn", "unk"}


def read_count(text: str, place: int) -> tuple[int | None, int]:
    """Return the number at a place and where it ends; None if none stands there.

    >>> read_count("size 24 into", 5)
    (24, 7)
    """
    found = COUNT.match(text, place)
    return (int(found[1]), found.end()) if found else (None, place)


def read_list(text: str, place: int) -> tuple[Sizes | None, int]:
    """Return the list of sizes at a place and where it ends; None if none stands there.

    >>> read_list("shape (5,newaxis)", 5), read_list("{1 2 1 1}", 0), read_list("2.3.4)", 0)
    (((5, -1), 17), ((1, 2, 1, 1), 9), ((2, 3, 4), 5))
    """
    prefix = PREFIX.match(text, place)
    if prefix is None:
        bare = BARE.match(text, place)
        return (_sizes(bare[0].strip()), bare.end()) if bare else (None, place)
    start = prefix.end()
    span = text[start : start + LONGEST]
    if any(call in span for call in CALLS):
        span = WRAPPED.sub(_unwrapped, span)
    end = closing(span)
    if end is None:
        return None, place
    body = span[1:end].strip()
    while body[:1] in CLOSING and body[1:] and CLOSING[body[0]] == body[-1]:
        body = body[1:-1].strip()
    behind = len(text[start : start + LONGEST]) - len(span)
    return _sizes(body), start + end + 1 + behind


def closing(span: str) -> int | None:
    """Return where the bracket that a text begins with closes; None if it does not."""
    waiting: list[str] = []
    for place, char in enumerate(span):
        if char in CLOSING:
            waiting.append(CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
            if not waiting:
                return place
    return None


def text_of(sizes: Iterable[object]) -> str:
    """Return sizes as they are written on a command line.

    >>> text_of((8, "?", -1)), text_of(())
    ('8,?,-1', '[]')
    """
    return ",".join(map(str, sizes)) or "[]"


def _unwrapped(found: re.Match[str]) -> str:
    """Return the size out of its call, padded so that what follows keeps its place."""
    return (found[1] or found[2]).ljust(len(found[0]))


def _sizes(body: str) -> Sizes | None:
    """Return the sizes that a list holds; None if one is no size."""
    words = _words(body)
    if len(words) > MOST_DIMS:
        return None
    sizes = [_size(word.strip()) for word in words]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _words(body: str) -> list[str]:
    """Return the pieces of a list: between commas, or without these between blanks, `x` or points."""
    if "," in body:
        words = body.split(",")
        return words[:-1] if not words[-1].strip() else words
    if "x" in body and all(word.strip().isdigit() for word in body.split("x")):
        return body.split("x")
    if "." in body and ".." not in body:
        return body.split(".")
    return body.split()


def _size(word: str) -> int | str | None:
    """Return one size; None if the word is none."""
    number = word.removesuffix("L")
    if number.removeprefix("-").isdigit() and len(number) <= MOST_DIGITS + 1:
        return int(number)
    if word == "newaxis":
        return -1
    if word in UNKNOWN or ".." in word or word.startswith("unk_"):
        return "?"
    return word if word.isidentifier() and len(word) <= 40 else None
