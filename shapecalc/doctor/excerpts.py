"""The parts of a long text in which known sentences stand, so that the rest of a log need not be read.

A sentence is thought of where all its words stand in a piece of the text. The text around each of its places is cut
out, much wider than a sentence, since the op, the node and the code stand in other lines.
"""

from __future__ import annotations

from shapecalc.doctor.cleaning import clean_lines
from shapecalc.doctor.sentence import Folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.doctor.sentence import Sentence

PIECE = 1 << 20
OVERLAP = 1 << 13
BEFORE, AFTER = 3000, 2000
"""How much text goes with a place where a sentence may stand."""
MOST_PLACES = 12
"""Of how many different places of one sentence in one piece the text is cut out."""
MOST_LOOKED_AT = 400
TOLD_APART = 160
"""Places are the same if so many characters after them are."""


def excerpts(text: str, sentences: Sequence[Sentence]) -> Iterator[tuple[str, list[Sentence]]]:
    """Yield the parts of a text that may hold one of the sentences, each with those that may stand in it.

    >>> from shapecalc.doctor.sentence import Sentence
    >>> said = Sentence("is invalid for input of size {elements}", "torch", "reshape", "counts", "")
    >>> [part for part, _ in excerpts("It is\\ninvalid for input of size 24.", [said])]
    ['It is\\ninvalid for input of size 24.']
    """
    for start in range(0, max(1, len(text) - OVERLAP), PIECE - OVERLAP):
        piece = text if len(text) <= PIECE else text[start : start + PIECE]
        lower = piece.lower()
        words = set(lower.split())
        known = [sentence for sentence in sentences if sentence.words <= words]
        for begin, end in _spans(lower, known):
            yield piece[begin:end], known


def _spans(lower: str, known: Sequence[Sentence]) -> list[tuple[int, int]]:
    """Return the parts of a piece around the places of sentences, those that touch as one."""
    places = sorted({place for sentence in known for place in _places(lower, sentence)})
    spans: list[tuple[int, int]] = []
    for place in places:
        begin = lower.rfind("\n", 0, max(0, place - BEFORE)) + 1
        begin = begin if place - begin <= 2 * BEFORE else place - BEFORE
        if spans and begin <= spans[-1][1]:
            spans[-1] = spans[-1][0], place + AFTER
        else:
            spans.append((begin, place + AFTER))
    return spans


def _places(lower: str, sentence: Sentence) -> list[int]:
    """Return where a sentence may stand: its longest part, or its longest word where lines were broken in it."""
    anchor = sentence.anchor
    if anchor not in lower:
        anchor = max(sentence.words or {anchor}, key=len)
    found: dict[str, int] = {}
    place = lower.find(anchor)
    for _ in range(MOST_LOOKED_AT):
        if place < 0 or len(found) == MOST_PLACES:
            break
        found.setdefault(lower[place : place + TOLD_APART], place)
        place = lower.find(anchor, place + len(anchor))
    return [*found.values()]


def folded(part: str) -> Folded:
    """Return a part of a text, clean and in one line."""
    text = " ".join(" ".join(clean_lines(part)).split())
    return Folded(text, text.lower())


def folded_without_breaks(part: str) -> Folded:
    """Return a part of a text whose lines were broken in the middle of words, with its lines joined as they are."""
    text = " ".join("".join(clean_lines(part)).split())
    return Folded(text, text.lower())
