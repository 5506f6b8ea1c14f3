"""The shapes that a request with more than one -1 could mean, which is why it is refused."""

from __future__ import annotations

from itertools import islice

from shapecalc.core.dims import Shape, product
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COPIES, INFERS = 0, -1
MOST_TRIED = 1000
"""The largest size that is tried in place of a -1."""


def fits(before: Shape, asked: Shape) -> Iterator[Shape]:
    """Yield shapes that a request with two -1s or more could mean; none where sizes have names.

    >>> [*fits((2, 3, 4), (-1, -1, 2))]
    [(2, 6, 2), (3, 4, 2), (4, 3, 2), (6, 2, 2), (12, 1, 2), (1, 12, 2)]
    """
    known = [before[at] if dim == COPIES and at < len(before) else dim for at, dim in enumerate(asked)]
    have, taken = product(before), product(dim for dim in known if dim != INFERS)
    if not (isinstance(have, int) and isinstance(taken, int)) or have < 1 or taken < 1 or have % taken:
        return
    free = have // taken
    for part in (*range(2, min(free, MOST_TRIED) + 1), 1):
        if free % part == 0:
            sizes = iter((part, free // part, *[1] * len(known)))
            yield tuple(next(sizes) if dim == INFERS else dim for dim in known)


def which_of_them(before: Shape, asked: Shape, shape: Shape) -> str:
    """Ask which shape a request with two -1s names, with others beside `shape`; empty if there are no two.

    >>> which_of_them((2, 3, 4), (-1, -1, 2), (12, 1, 2)), which_of_them((2, 3, 4), (-1, 5, -1), (2, 5, 2))
    ('it would fit, and so would 2,6,2 and 3,4,2: which of them does the request name?', '')
    """
    others = [shape_text(fit) for fit in islice((fit for fit in fits(before, asked) if fit != shape), 2)]
    if len(others) < 2:
        return ""
    fit = len(shape) == len(asked) and product(shape) == product(before)
    fit = fit and all(token in (COPIES, INFERS, dim) for token, dim in zip(asked, shape, strict=False))
    would = f"it would fit, and so would {' and '.join(others)}" if fit else f"{' and '.join(others)} would both fit"
    return f"{would}: which of them does the request name?"
