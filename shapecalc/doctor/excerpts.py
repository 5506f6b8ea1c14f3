"""The parts of a long text in which known sentences stand, so that the rest of a log need not be read.

A long text is first searched for the words of errors, since the search for a word takes no time. Around these a
sentence is thought of where all its words stand. The text around its place is cut out, much wider than a sentence,
since the op, the node and the code stand in other lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from shapecalc.doctor.clean import clean_lines
from shapecalc.doctor.match import Folded, Sentence

Span = tuple[int, int]

LIKELY = ("error", "exception", "fail", "cannot", "invalid")
UNLIKELY = ("must", "should", "not ", "expect", "mismatch", "dim", "shap")
"""Words that stand in or near what runtimes say; those of the second list are looked for if the first tell nothing."""
NEAR = 700
"""How far from such a word a sentence may stand."""
SHORT = 1 << 16
"""A text so long is read whole."""
GROUP = 1 << 12
"""How many characters near the words of errors are searched for sentences first, before what was found is read."""
MOST_ALIKE = 24
DIGITS = str.maketrans("123456789", "000000000")
PIECE = 1 << 20
OVERLAP = 1 << 13
BEFORE, AFTER = 3000, 2000
"""How much text goes with a place where a sentence may stand."""
MOST_PLACES = 12
"""Of how many different places of one sentence in one piece the text is cut out."""
NARROWEST = 40
"""How wide lines are at least that were broken at a width."""
TOLD_APART = 160
"""Places are the same if so many characters after them are."""


def excerpts(text: str, sentences: Sequence[Sentence], marks: Sequence[str]) -> Iterator[tuple[str, list[Sentence]]]:
    r"""Yield the parts of a text that may hold one of the sentences, each with those that may stand in it.

    >>> from shapecalc.doctor.match import Sentence
    >>> said = Sentence("is invalid for input of size {elements}", "torch", "reshape", "counts", "")
    >>> [part for part, _ in excerpts("It is\ninvalid for input of size 24.", [said], LIKELY)]
    ['It is\ninvalid for input of size 24.']
    """
    for piece in _pieces(text):
        lower = piece.lower()
        if len(lower) != len(piece):  # a letter whose small form is longer would move all places
            lower = piece.encode("ascii", "replace").decode().lower()
        near = [(0, len(lower))] if len(text) <= SHORT else _near_marks(lower, marks)
        for spans in _groups(near):
            words = set[str]().union(*(lower[begin:end].split() for begin, end in spans))
            known = [sentence for sentence in sentences if sentence.words <= words]
            places = sorted({place for sentence in known for place in _places(lower, spans, sentence)})
            for begin, end in _joined(
                ((_line_start(lower, place), _line_end(lower, place + AFTER)) for place in places), SHORT
            ):
                yield piece[begin:end], known


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that overlap and end with lines."""
    start = 0
    while len(text) - start > PIECE:
        end = _line_end(text, start + PIECE - OVERLAP)
        yield text[start:end]
        start = _line_start(text, end - OVERLAP + BEFORE)
    yield text[start:]


def _near_marks(lower: str, marks: Sequence[str]) -> Iterator[Span]:
    """Yield the parts of a text around the words that mark an error; of those alike but for numbers only some."""
    kinds = _kinds_of_lines(lower)
    present = [mark for mark in marks if mark in kinds]
    zeros = lower.translate(DIGITS) if present else ""
    alike: dict[str, set[str]] = {}
    for begin in range(0, len(lower) if present else 0, SHORT):
        places = list[int]()
        for mark in present:
            end = begin + SHORT + len(mark) - 1
            place = lower.find(mark, begin, end)
            while place >= 0:
                those = alike.setdefault(zeros[place : place + TOLD_APART], set())
                told = lower[place : place + TOLD_APART]
                if len(those) < MOST_ALIKE and told not in those:
                    those.add(told)
                    places.append(place)
                place = lower.find(mark, place + NEAR, end)
        yield from _joined(((max(0, place - NEAR), place + 2 * NEAR) for place in sorted(places)), GROUP)


def _groups(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Yield parts of a text in groups, each about twice as long as the last: who has read enough stops early."""
    group: list[Span] = []
    wanted = GROUP
    for span in spans:
        group.append(span)
        if sum(end - begin for begin, end in group) >= wanted:
            yield group
            group, wanted = [], min(2 * wanted, SHORT)
    if group:
        yield group


@lru_cache(maxsize=1)
def _kinds_of_lines(lower: str) -> str:
    """Return one line for all that are alike but for numbers, if the text repeats itself; otherwise the text.

    It is kept for the second search, for words that say less of an error.
    """
    first = lower[:SHORT].translate(DIGITS).split("\n")
    if 2 * len({*first}) > len(first):
        return lower
    return "\n".join(dict.fromkeys(lower.translate(DIGITS).split("\n")))


def _joined(spans: Iterator[Span], longest: int) -> list[Span]:
    """Return parts of a text in order, those that touch as one, unless that would be longer than is read at once."""
    joined: list[Span] = []
    for begin, end in spans:
        if joined and begin <= joined[-1][1] and end - joined[-1][0] <= longest:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _line_start(lower: str, place: int) -> int:
    """Return where the text that goes with a place begins: with a line, if lines are not too long."""
    wanted = max(0, place - BEFORE)
    begin = lower.rfind("\n", max(0, wanted - BEFORE), wanted) + 1
    return begin if begin else wanted


def _line_end(lower: str, place: int) -> int:
    """Return where the line of a place ends, or if it is too long a word before: a number is never cut."""
    if place >= len(lower):
        return len(lower)
    end = lower.find("\n", place, place + AFTER)
    return end if end >= 0 else max(lower.rfind(" ", place - AFTER, place), place - AFTER)


def _places(lower: str, spans: Sequence[Span], sentence: Sentence) -> list[int]:
    """Return where a sentence may stand: its longest part, or its longest word where lines were broken in it."""
    found: dict[str, int] = {}
    for anchor in (sentence.anchor, max(sentence.words or {sentence.anchor}, key=len)):
        for begin, end in spans:
            place = lower.find(anchor, begin, end)
            while place >= 0 and len(found) < MOST_PLACES:
                found.setdefault(lower[place : place + TOLD_APART], place)
                place = lower.find(anchor, place + len(anchor), end)
        if found:
            break
    return [*found.values()]


def folded(part: str) -> Folded:
    """Return a part of a text, clean and in one line."""
    text = " ".join(" ".join(clean_lines(part)).split())
    return Folded(text, text.lower())


def folded_unwrapped(part: str) -> Folded:
    """Return a part of a text whose lines were broken at a width, with the lines that fill it joined to the next."""
    lines = clean_lines(part)
    width = max(max(map(len, lines), default=0), NARROWEST)
    text = " ".join("".join(line if len(line) == width else f"{line}\n" for line in lines).split())
    return Folded(text, text.lower())


def folded_without_breaks(part: str) -> Folded:
    """Return a part of a text that was broken in the middle of words, with its lines joined as they are."""
    text = " ".join("".join(clean_lines(part)).split())
    return Folded(text, text.lower())
