"""Linear inequalities over whole numbers: whether some numbers meet them all.

Names are eliminated one after another (Fourier and Motzkin, with the bounds rounded to whole numbers). If the rounding
leaves a doubt, the few values that a name may have are tried. What is said to have no solution has none. If the work
becomes too much, nothing is said: `Undecided`.
"""

from __future__ import annotations

from math import gcd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Row = tuple[tuple[str, int], ...]
    """The factors of names. With a number they are an inequality: the sum of all is not below 0."""
    Rows = dict[Row, int]

MOST_WORK = 20_000
"""The most monomials and inequalities that are made for one question."""
MOST_VALUES = 64
"""The most values of one name that are tried one by one."""


class Undecided(Exception):
    """The question would take too long."""


class Work:
    """What one question may still take."""

    def __init__(self, more: int = 0) -> None:
        """Begin, with some more work than usual to be done at most."""
        self.left = MOST_WORK + more

    def add(self, amount: int) -> None:
        """Count some work; raise `Undecided` if it becomes too much."""
        self.left -= amount
        if self.left < 0:
            raise Undecided


def add_inequality(rows: Rows, powers: Iterable[tuple[str, int]], number: int) -> None:
    """Add an inequality with its number rounded; of two with the same factors the tighter one stays.

    >>> rows = {}
    >>> add_inequality(rows, [("N", 2)], -3), add_inequality(rows, [("N", 4)], -4), rows
    (None, None, {(('N', 1),): -2})
    """
    kept = tuple(sorted((name, power) for name, power in powers if power))
    common = gcd(*(power for _, power in kept)) or 1
    row = tuple((name, power // common) for name, power in kept)
    rows[row] = min(rows.get(row, number // common), number // common)


def has_solution(rows: Rows, work: Work) -> bool:
    """Say whether inequalities may have a whole solution; False is proved. Raises `Undecided` for too much work.

    >>> at_least_two, below_two = {(("N", 1),): -2}, {(("N", -1),): 1}
    >>> has_solution(at_least_two, Work()), has_solution({**at_least_two, **below_two}, Work())
    (True, False)
    """
    left, doubtful = _without_names(rows, None, work)
    if left.get((), 0) < 0:
        return False
    if doubtful is None:
        return True
    values = _values(rows, doubtful, work)
    return values is None or any(has_solution(_with_value(rows, doubtful, value), work) for value in values)


def _without_names(rows: Rows, kept: str | None, work: Work) -> tuple[Rows, str | None]:
    """Return what inequalities say once every name but `kept` is eliminated, and a name that was left a doubt.

    In doubt, what is left has a solution, but maybe none for which that name is whole.
    """
    doubtful = None
    while rows.get((), 0) >= 0:
        signs: dict[str, list[int]] = {}
        for row in rows:
            for name, power in row:
                if name != kept:
                    signs.setdefault(name, [0, 0])[power > 0] += 1
        if not signs:
            break
        name = min(signs, key=lambda each: signs[each][0] * signs[each][1])
        rows, exact = _without(rows, name, work)
        doubtful = doubtful if exact else name
    return rows, doubtful


def _without(rows: Rows, name: str, work: Work) -> tuple[Rows, bool]:
    """Return what inequalities say without a name, and whether it can always be whole where they hold."""
    found: Rows = {}
    sides: tuple[list[tuple[dict[str, int], int, int]], ...] = ([], [])
    for row, number in rows.items():
        powers = dict(row)
        power = powers.pop(name, 0)
        if power:
            sides[power > 0].append((powers, abs(power), number))
        else:
            found[row] = number
    work.add(len(rows) + len(sides[0]) * len(sides[1]))
    exact = True
    for above, a, most in sides[0]:
        for below, b, least in sides[1]:
            both = {key: above.get(key, 0) * b + below.get(key, 0) * a for key in {**above, **below}}
            add_inequality(found, both.items(), most * b + least * a)
            exact = exact and 1 in (a, b)
    return found, exact


def _values(rows: Rows, name: str, work: Work) -> Sequence[int] | None:
    """Return the values that a name may have; None if they are too many."""
    left, _ = _without_names(rows, name, work)
    least = [-(number // power) for row, number in left.items() for _, power in row if power > 0]
    most = [number // -power for row, number in left.items() for _, power in row if power < 0]
    if not least or not most or min(most) - max(least) >= MOST_VALUES:
        return None
    return range(max(least), min(most) + 1)


def _with_value(rows: Rows, name: str, value: int) -> Rows:
    """Return inequalities with a value put in for a name."""
    found: Rows = {}
    for row, number in rows.items():
        powers = dict(row)
        others = [(other, power) for other, power in row if other != name]
        add_inequality(found, others, number + powers.get(name, 0) * value)
    return found
