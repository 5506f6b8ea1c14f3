"""Which kind of exercise comes next: what was missed comes back soon, what was known later each time."""

from __future__ import annotations

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GAPS = (2, 4, 8, 16, 32)
"""How many exercises later a kind comes back, by its box: each right answer moves it a box on, a miss to the first."""


class Card(Record):
    """What is known of how well somebody knows a kind."""

    box: int
    due: int
    """The number of the exercise from which on it is to come again."""


def next_name(names: Sequence[str], cards: Mapping[str, Card], number: int) -> str:
    """Return the name that exercise `number` is about.

    That is the one that is due longest; if none is due, the first that has never come; if all have, the next due.

    >>> cards = {"copied": Card(1, 4), "inferred": Card(0, 3)}
    >>> [next_name(["copied", "inferred", "literal"], cards, number) for number in (2, 3)]
    ['literal', 'inferred']
    """
    known = sorted((name for name in names if name in cards), key=lambda name: cards[name].due)
    if known and cards[known[0]].due <= number:
        return known[0]
    return next((name for name in names if name not in cards), known[0] if known else names[0])


def card_after(card: Card | None, number: int, *, right: bool) -> Card:
    """Return the card of a kind after exercise `number` about it.

    >>> card_after(Card(2, 5), 7, right=True), card_after(Card(2, 5), 7, right=False)
    (Card(box=3, due=23), Card(box=0, due=9))
    """
    box = min((card.box if card else 0) + 1, len(GAPS) - 1) if right else 0
    return Card(box, number + GAPS[box])


def cards_of(boxes: Mapping[str, int]) -> dict[str, Card]:
    """Return the cards to begin with, of boxes that were kept: what was missed last comes at once.

    >>> cards_of({"copied": 0, "literal": 2})
    {'copied': Card(box=0, due=0), 'literal': Card(box=2, due=8)}
    """
    kept = {name: max(0, min(box, len(GAPS) - 1)) for name, box in boxes.items()}
    return {name: Card(box, GAPS[box] if box else 0) for name, box in kept.items()}
