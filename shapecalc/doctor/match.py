"""Sentences of runtimes: what never changed between their versions, with holes for what did; and where a text has them.

    cannot reshape array of size {elements} into shape {target}

They are the rows of `sentences.txt`. A hole's name says what it holds and how it is read: `HOLES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

Sizes = tuple[int | str, ...]
"""Sizes as they were printed: numbers, names, and `?` for what the runtime did not know."""

HOLES: Mapping[str, str] = {
    **dict.fromkeys(("input", "target", "perm", "axes", "strides", "list"), "list"),
    **dict.fromkeys(("elements", "target_elements", "axis", "rank", "number"), "count"),
    "known": "count",  # the product of the known dims of the target
    "there": "count",  # what the tensor has, beside
    "wanted": "count",  # what is asked for
    "words": "words",
}
"""How each hole is read."""
QUOTING = frozenset("'\"<>&`")
"""What may be escaped in a text."""
LONGEST_GAP = 400
"""How many characters may stand in a hole of words, or between the first and the last word of a sentence's parts."""

CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
LONGEST_LIST = 1000
"""How many characters a list may take."""
MOST_DIGITS = 19
MOST_DIMS = 64
PREFIX = re.compile(r"\s?['\"]?[A-Za-z][\w.]{0,40}(?=[\[({])|\s?['\"]?(?=[\[({]|<[-\d])")
"""What stands before the bracket: a blank, a quote, a type's name."""
BARE = re.compile(r"\s?-?\d{1,19}(?:[x,.*]-?\d{1,19}){0,63}")
WRAPPED = re.compile(r"(?:np|numpy)\.\w{1,12}\(\s?(-?\d{1,19})\s?\)|(?:tf\.)?Dimension\(\s?(-?\d{1,19}|None)\s?\)")
"""A size in a call of its own."""
COUNT = re.compile(r"\s?(-?\d{1,19})(?![\d*])")
UNKNOWN = {"?", "None", "none", "nan", "dyn", "unk"}


@dataclass(frozen=True)
class Sentence:
    """One sentence, and what it means."""

    template: str
    framework: str
    """The framework that says it; a context may say otherwise."""
    op: str | None
    """The op that it is about; None if only the context tells."""
    cause: str
    """The cause; `counts` and `asked` if the numbers decide it; `about` and what it is about, if that is no shape."""
    source: str
    """Which versions say so."""

    @property
    def about(self) -> str | None:
        """What it is about that is not a shape."""
        return self.cause.removeprefix("about ") if self.cause.startswith("about ") else None

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The text and the names of holes in turn, the text first; all in lower case."""
        return tuple(self.template.lower().replace("}", "{").split("{"))

    @cached_property
    def anchor(self) -> str:
        """Its longest part of text."""
        return max(self.parts[::2], key=len)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that stand between blanks in a text that holds the sentence, however its quotes are written."""
        words = (word for part in self.parts[::2] for word in part.split(" ")[1:-1])
        return frozenset(word for word in words if word and QUOTING.isdisjoint(word))


@dataclass(frozen=True, slots=True)
class Folded:
    """A text, and the same in lower case; both are ASCII, so that places agree."""

    text: str
    lower: str


@dataclass(frozen=True, slots=True)
class Match:
    """Where a sentence stands in a text, and what its holes hold."""

    sentence: Sentence
    start: int
    end: int
    values: Mapping[str, Any]


def sentences_of(rows: str) -> Iterator[Sentence]:
    r"""Yield the sentences of a table; raise `ValueError` for a row that is incomplete.

    >>> [each.cause for each in sentences_of("[1.0]\ntorch | - | two-infer | only one dimension can be")]
    ['two-infer']
    """
    source = ""
    for row in rows.splitlines():
        if row.startswith("["):
            source = row.strip("[]")
        elif row and not row.startswith("#"):
            columns = [column.strip() for column in row.split(" | ", 3)]
            if len(columns) < 4:
                raise ValueError(f"this row of sentences.txt is incomplete: {row}")
            framework, op, cause, template = columns
            yield Sentence(template.replace("{}", ""), framework.strip("-"), op.strip("-") or None, cause, source)


SENTENCES = (*sentences_of(files("shapecalc.doctor").joinpath("sentences.txt").read_text("utf-8")),)


def matches(sentence: Sentence, folded: Folded) -> Iterator[Match]:
    """Yield every place where a text holds a sentence.

    >>> said = Sentence("invalid for size {elements}", "torch", "reshape", "counts", "")
    >>> [match.values for match in matches(said, Folded("Invalid for size 24", "invalid for size 24"))]
    [{'elements': 24}]
    """
    anchor = sentence.anchor
    place, done = folded.lower.find(anchor), -1
    while place >= 0:
        match = _match_around(sentence, folded, place)
        if match and match.start > done:
            yield match
            done = match.start
        place = folded.lower.find(anchor, place + len(anchor))


def _match_around(sentence: Sentence, folded: Folded, place: int) -> Match | None:
    """Return the match whose longest part stands at a place; None if there is none."""
    first = sentence.parts[0]
    if first == sentence.anchor:
        return _match_at(sentence, folded, place)
    end = place
    # of how many beginnings before its longest part a sentence is tried
    for _ in range(4):
        start = folded.lower.rfind(first, max(0, place - LONGEST_GAP), end)
        if start < 0:
            return None
        match = _match_at(sentence, folded, start)
        if match:
            return match
        end = start + len(first) - 1
    return None


def _match_at(sentence: Sentence, folded: Folded, start: int) -> Match | None:
    """Return the match that starts at a place; None if a part or what a hole should hold is missing."""
    parts = sentence.parts
    end = start + len(parts[0])
    values: dict[str, Any] = {}
    for hole, part in zip(parts[1::2], parts[2::2], strict=True):
        value: Sizes | int | str | None
        if HOLES[hole] == "list":
            value, after = read_list(folded.text, end)
        elif HOLES[hole] == "count":
            value, after = read_count(folded.text, end)
        else:
            after = folded.lower.find(part, end, end + LONGEST_GAP)
            value = None if after < 0 else folded.text[end:after].strip()
        if value is None or not folded.lower.startswith(part, after):
            return None
        values[hole] = value
        end = after + len(part)
    return Match(sentence, start, end, values)


def read_count(text: str, place: int) -> tuple[int | None, int]:
    """Return the number at a place and where it ends; None if none stands there.

    >>> read_count("size 24 into", 5)
    (24, 7)
    """
    found = COUNT.match(text, place)
    return (int(found[1]), found.end()) if found else (None, place)


def read_list(text: str, place: int) -> tuple[Sizes | None, int]:
    """Return the list of sizes at a place, as a runtime prints it, and where it ends; None if none stands there.

    `[2, 3]`, `(2,3,)`, `{1 2 1 1}`, `torch.Size([2, 3])`, `f32[2,?]`, `(5,newaxis)`, `2x3`, `[np.int32(5), 2L]`.

    >>> read_list("shape (5,newaxis)", 5), read_list("{1 2 1 1}", 0), read_list("2.3.4)", 0)
    (((5, -1), 17), ((1, 2, 1, 1), 9), ((2, 3, 4), 5))
    """
    prefix = PREFIX.match(text, place)
    if prefix is None:
        bare = BARE.match(text, place)
        return (_sizes(bare[0].strip()), bare.end()) if bare else (None, place)
    start = prefix.end()
    span = text[start : start + LONGEST_LIST]
    # one of these stands in a text that holds such a call
    if any(call in span for call in ("np.", "numpy.", "Dimension(")):
        span = WRAPPED.sub(lambda call: (call[1] or call[2]).ljust(len(call[0])), span)  # what follows keeps its place
    end = closing(span)
    if end is None:
        return None, place
    body = span[1:end].strip()
    while body[:1] in CLOSING and body[1:] and CLOSING[body[0]] == body[-1]:
        body = body[1:-1].strip()
    behind = len(text[start : start + LONGEST_LIST]) - len(span)
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


def _sizes(body: str) -> Sizes | None:
    """Return the sizes that a list holds; None if one is no size."""
    words = _words(body)
    if len(words) > MOST_DIMS:
        return None
    sizes = [_size(word.strip()) for word in words]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _words(body: str) -> list[str]:
    """Return the words of a list: between commas, or without these between blanks, `x` or points."""
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
