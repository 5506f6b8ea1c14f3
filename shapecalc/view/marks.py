"""Marks: a letter and a colour for each axis of the input. Each dim that the axis becomes keeps them.

The mark of a dim is a row of parts, the outermost first. After axes a and c are merged, the parts are `a` and `c`.
After c is split, they are `c1` and `c2`. A dim whose cuts fall across axes (4,6 of 6,4) is no axis of the input
any more. Such dims are marked `~1` and `~2`.
"""

from __future__ import annotations

from shapecalc.core.sizes.dims import Dim, Monomial, Shape, product, quotient
from shapecalc.core.sizes.record import Record, replace
from shapecalc.view.strokes import Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#B9679A", "#A87700", "#2F86C0")
"""Hues of Okabe and Ito, the light ones darkened. Colour-blind people can tell them apart, on white and on black."""
LONGEST_MARK = 8
LISTED = 3
"""The most letters in a row that are all written. Of more, the first and the last are."""


class Part(Record):
    """An input axis, or a part of one that stayed together."""

    name: str
    axis: int | None
    """The input axis; None for a dim that is cut across axes or was not in the input."""
    size: Dim


Mark = tuple[Part, ...]


def letter(axis: int) -> str:
    """Return the letter of an input axis, or its number if there are no letters left.

    >>> letter(0), letter(26), letter(52)
    ('a', 'A', '#52')
    """
    return LETTERS[axis] if axis < len(LETTERS) else f"#{axis}"


def input_marks(shape: Shape) -> tuple[Mark, ...]:
    """Return the marks of the input's axes."""
    return tuple((Part(letter(axis), axis, dim),) for axis, dim in enumerate(shape))


def mark_text(mark: Mark, strokes: Strokes) -> str:
    """Return the text of a mark.

    >>> from shapecalc.view.strokes import ASCII
    >>> a, b, c, d, e = (mark[0] for mark in input_marks((2, 3, 4, 5, 6)))
    >>> mark_text((a, c), ASCII), mark_text((a, b, c, d), ASCII), mark_text((a, c, d, e), ASCII)
    ('ac', 'a-d', 'acde')
    """
    if not mark:
        return strokes.none
    runs: list[list[Part]] = []
    for part in mark:
        if runs and _follows(runs[-1][-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return clip("".join(map(_run_text, runs)), LONGEST_MARK, strokes)


def _follows(before: Part, part: Part) -> bool:
    whole = before.name == letter(before.axis or 0) and part.axis is not None and part.name == letter(part.axis)
    return whole and before.axis is not None and part.axis == before.axis + 1


def _run_text(run: list[Part]) -> str:
    if len(run) <= LISTED:
        return "".join(part.name for part in run)
    return f"{run[0].name}-{run[-1].name}"


def colour(mark: Mark) -> str:
    """Return the colour of a mark: that of its outermost part. It is empty if that part is no axis of the input."""
    axis = mark[0].axis if mark else None
    return "" if axis is None else COLOURS[axis % len(COLOURS)]


class Recut(Record):
    """The marks of a block of axes after a reshape, and whether new cuts fall across old ones."""

    marks: tuple[Mark, ...]
    mixed: bool


def recut(sources: Sequence[Mark], dims: Sequence[Dim], mixes: int = 0) -> Recut:
    """Return the marks of the dims that a block of axes is cut into. `mixes` marks with `~` were given before.

    >>> [[part.name for part in mark] for mark in recut(input_marks((2, 12)), (2, 3, 4)).marks]
    [['a'], ['b1'], ['b2']]
    >>> recut(input_marks((2, 3)), (3, 2)).mixed
    True
    """
    parts = [part for mark in sources for part in mark if part.size != 1] or [part for mark in sources for part in mark]
    marks: list[Mark] = []
    counts: dict[str, int] = {}
    for place, dim in enumerate(dims):
        if place == len(dims) - 1 and dim not in (0, 1) and dim == product(part.size for part in parts):
            return Recut((*marks, tuple([_last_part(part, counts) for part in parts])), mixed=False)
        mark = _take(parts, dim, counts)
        if mark is None:
            axes = tuple((Part(f"~{mixes + out + 1}", None, size),) for out, size in enumerate(dims))
            return Recut(axes, mixed=True)
        if place == len(dims) - 1:
            mark, parts = mark + tuple(parts), []
        marks.append(mark)
    return Recut(tuple(marks), mixed=False)


def _take(parts: list[Part], dim: Dim, counts: dict[str, int]) -> Mark | None:
    """Take the parts of `dim` off the front, splitting the last if need be; None if no parts make up `dim`.

    The last part of a block can be cut anywhere: there is no old cut behind it, and the sizes fill it.
    """
    mark: list[Part] = []
    while dim != 1:
        if not parts or 0 in (dim, parts[0].size):
            return None
        first = parts.pop(0)
        rest, kept = quotient(dim, first.size), quotient(first.size, dim)
        if _is_whole(rest):
            mark.append(_last_part(first, counts))
            dim = rest
        elif not parts or _is_whole(kept):
            mark.append(_part(first, dim, counts))
            parts.insert(0, replace(first, size=kept))
            dim = 1
        else:
            return None
    return tuple(mark)


def _part(part: Part, size: Dim, counts: dict[str, int]) -> Part:
    counts[part.name] = counts.get(part.name, 0) + 1
    return Part(f"{part.name}{counts[part.name]}", part.axis, size)


def _last_part(part: Part, counts: dict[str, int]) -> Part:
    return _part(part, part.size, counts) if part.name in counts else part


def _is_whole(dim: Dim) -> bool:
    """Say whether a quotient is whole for all sizes."""
    if isinstance(dim, Monomial):
        return dim.denominator == 1 and all(power > 0 for _, power in dim.powers)
    return True
