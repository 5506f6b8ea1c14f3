"""A sentence of a runtime: what never changed between its versions, with holes for what did.

    cannot reshape array of size {elements} into shape {target}

A hole's name says what it holds and how it is read: `Hole`. Sentences are looked for without regard to case.
"""

from __future__ import annotations

from functools import cache

from shapecalc.core.record import Record
from shapecalc.doctor.lists import read_count, read_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shapecalc.doctor.lists import Sizes

    Held = int | str | Sizes

LISTS = frozenset({"input", "target", "perm", "axes", "strides", "list"})
"""The holes that hold a list."""
COUNTS = frozenset({"elements", "target_elements", "known", "axis", "size", "rank", "there", "wanted", "number"})
"""The holes that hold a number: `known` is the product of the known dims, `there` and `wanted` are compared."""
QUOTING = frozenset("'\"<>&`")
"""What may be escaped in a text."""
LONGEST_GAP = 400
"""How many characters may stand in a hole of words, or between the first and the last word of a sentence's parts."""
MOST_STARTS = 4
"""Of how many beginnings before its longest part a sentence is tried."""


class Sentence(Record):
    """One sentence, and what it means."""

    template: str
    framework: str
    """The framework that says it; a context may say otherwise."""
    op: str | None
    """The op that it is about; None if only the context tells."""
    cause: str
    """The cause, `counts` if the numbers decide it; `about:` and a family if it is about something else."""
    source: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The text and the names of holes in turn, the text first; all in lower case."""
        return _parts(self.template)

    @property
    def anchor(self) -> str:
        """Its longest part of text."""
        return max(self.parts[::2], key=len)

    @property
    def words(self) -> frozenset[str]:
        """The words that stand between blanks in a text that holds the sentence, however its quotes are written."""
        return _words(self.template)


def said_by(framework: str, source: str, texts: Mapping[str | None, Mapping[str, Iterable[str]]]) -> list[Sentence]:
    """Return the sentences of a framework from a table: by op and by cause, its texts.

    >>> [each.cause for each in said_by("torch", "", {"reshape": {"two-infer": ["only one dimension can be"]}})]
    ['two-infer']
    """
    return [
        Sentence(text, framework, op, cause, source)
        for op, causes in texts.items()
        for cause, listed in causes.items()
        for text in listed
    ]


@cache
def _parts(template: str) -> tuple[str, ...]:
    return tuple(template.lower().replace("}", "{").split("{"))


@cache
def _words(template: str) -> frozenset[str]:
    words = (word for part in _parts(template)[::2] for word in part.split(" ")[1:-1])
    return frozenset(word for word in words if word and QUOTING.isdisjoint(word))


class Match(Record):
    """Where a sentence stands in a text, and what its holes hold."""

    sentence: Sentence
    start: int
    end: int
    held: Mapping[str, Held]


class Folded(Record):
    """A text, and the same in lower case; both are ASCII, so that places agree."""

    text: str
    lower: str


def matches(sentence: Sentence, folded: Folded) -> Iterator[Match]:
    """Yield every place where a text holds a sentence.

    >>> said = Sentence("invalid for size {elements}", "torch", "reshape", "counts", "")
    >>> [match.held for match in matches(said, Folded("Invalid for size 24", "invalid for size 24"))]
    [{'elements': 24}]
    """
    parts, anchor = sentence.parts, sentence.anchor
    place, done = folded.lower.find(anchor), -1
    while place >= 0:
        match = _match_around(sentence, parts, folded, place)
        if match and match.start > done:
            yield match
            done = match.start
        place = folded.lower.find(anchor, place + len(anchor))


def _match_around(sentence: Sentence, parts: tuple[str, ...], folded: Folded, place: int) -> Match | None:
    """Return the match whose longest part stands at a place; None if there is none."""
    first = parts[0]
    if first == sentence.anchor:
        return _match_at(sentence, parts, folded, place)
    end = place
    for _ in range(MOST_STARTS):
        start = folded.lower.rfind(first, max(0, place - LONGEST_GAP), end)
        if start < 0:
            return None
        match = _match_at(sentence, parts, folded, start)
        if match:
            return match
        end = start + len(first) - 1
    return None


def _match_at(sentence: Sentence, parts: tuple[str, ...], folded: Folded, start: int) -> Match | None:
    """Return the match that starts at a place; None if a part or what a hole should hold is missing."""
    end = start + len(parts[0])
    held: dict[str, Held] = {}
    for hole, part in zip(parts[1::2], parts[2::2], strict=True):
        after = end
        value: Held | None
        if hole in LISTS:
            value, after = read_list(folded.text, end)
        elif hole in COUNTS:
            value, after = read_count(folded.text, end)
        else:
            stop = folded.lower.find(part, end, end + LONGEST_GAP)
            value, after = (None, end) if stop < 0 else (folded.text[end:stop].strip(), stop)
        if value is None or not folded.lower.startswith(part, after):
            return None
        held[hole] = value
        end = after + len(part)
    return Match(sentence, start, end, held)
