"""What a class may predict of a question, and how many did. Nothing here draws."""

from __future__ import annotations

from shapecalc.core.mistakes import Mistake, mistakes
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, number_text, shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.answers import Chain, Trace

MOST_DIGITS = 6


class Prediction(Record):
    """A shape that somebody may predict, and the mistake that leads to it; None for the right one."""

    text: str
    mistake: Mistake | None


def predictions_of(answer: Trace | Chain) -> tuple[Prediction, ...]:
    """Return the right output and what each known mistake gives in its place, in an order that tells nothing.

    >>> import shapecalc as sc
    >>> [each.text for each in predictions_of(sc.transpose((2, 3, 4), (1, 2, 0)))]
    ['3,4,2', '4,2,3']
    """
    found = {answer.output: Prediction(shape_text(answer.output or ()), None)}
    for mistake in mistakes(answer):
        output = mistake.answer.output
        if output is not None and output not in found:
            found[output] = Prediction(shape_text(output), mistake)
    return tuple(sorted(found.values(), key=lambda each: each.text))


def read_counts(text: str, most: int) -> tuple[int, ...]:
    """Return the counts that a line writes, for `most` predictions at most; raise `ShapeError` (usage) for others.

    >>> read_counts("14 12", 3)
    (14, 12)
    """
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS):
            raise misuse(f"a count is a whole number, not '{visible(brief(word))}'", "write one for each: 14 12 4")
    if len(words) > most:
        raise misuse(
            f"{number_text(len(words), 'count', 'counts')} for {number_text(most, 'prediction', 'predictions')}"
        )
    return tuple(map(int, words))


def commonest_mistake(predictions: Sequence[Prediction], counts: Sequence[int]) -> Mistake | None:
    """Return the mistake that most made; None if nobody made one."""
    made = [(count, each.mistake) for each, count in zip(predictions, counts, strict=False) if each.mistake and count]
    return max(made, key=lambda pair: pair[0])[1] if made else None
