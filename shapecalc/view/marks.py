"""Marks: a letter and a colour for each axis of the input. Each dim that the axis becomes keeps them.

The mark of a dim is a row of parts, the outermost first. After axes a and c are merged, the parts are `a` and `c`.
After c is split, they are `c1` and `c2`. A dim whose cuts fall across axes (4,6 of 6,4) is no axis of the input
any more. Such dims are marked `~x` and `~y`.
"""

from __future__ import annotations

from collections import Counter

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.layout import Piece, pieces
from shapecalc.core.record import Record
from shapecalc.view.strokes import Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MIXED = "xyzuvwpqrst"
"""The letters of dims that mix axes."""
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


def mixed_name(place: int) -> str:
    """Return the name of a dim that mixes axes, by its place among those of a stage: no digit, as its size has some.

    >>> mixed_name(0), mixed_name(1), mixed_name(11)
    ('~x', '~y', '~#11')
    """
    return f"~{MIXED[place]}" if place < len(MIXED) else f"~#{place}"


def input_marks(shape: Shape) -> tuple[Mark, ...]:
    """Return the marks of the input's axes."""
    return tuple((Part(letter(axis), axis, dim),) for axis, dim in enumerate(shape))


def mark_text(mark: Mark, strokes: Strokes) -> str:
    """Return the text of a mark.

    >>> from shapecalc.view.strokes import ASCII, UNICODE
    >>> a, b, c, d, e = (mark[0] for mark in input_marks((2, 3, 4, 5, 6)))
    >>> mark_text((a, c), ASCII), mark_text((a, b, c, d), ASCII), mark_text((a, c, d, e), ASCII)
    ('ac', 'a-d', 'acde')
    >>> mark_text((c, Part("b1", 1, 2)), UNICODE)
    'c·b1'
    """
    if len(mark) < 2:
        return clip(mark[0].name, LONGEST_MARK, strokes) if mark else strokes.none
    runs: list[list[Part]] = []
    for part in mark:
        if runs and _follows(runs[-1][-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    between = strokes.none if len(runs) > 1 and any(len(part.name) > 1 for part in mark) else ""
    return clip(between.join(map(_run_text, runs)), LONGEST_MARK, strokes)


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


def recut(sources: Sequence[Mark], dims: Sequence[Dim]) -> tuple[Mark, ...] | None:
    """Return the marks of the dims that a block of axes is cut into; None if the axes mix.

    >>> [[part.name for part in mark] for mark in recut(input_marks((2, 12)), (2, 3, 4))]
    [['a'], ['b1'], ['b2']]
    >>> recut(input_marks((2, 3)), (3, 2)) is None
    True
    """
    parts = [part for mark in sources for part in mark if part.size != 1] or [part for mark in sources for part in mark]
    made = pieces([part.size for part in parts], dims)
    if made is None:
        return None
    of_part = Counter(piece.source for row in made for piece in row)
    counts = Counter[str]()
    marks = [tuple([_taken(parts[each.source], each, of_part, counts) for each in row]) for row in made]
    return tuple(marks) if of_part else (*marks[:-1], tuple(parts))


def _taken(part: Part, piece: Piece, of_part: Mapping[int, int], counts: Counter[str]) -> Part:
    """Return what a piece of a part is called: the part itself, if that is not cut."""
    if of_part[piece.source] == 1:
        return part
    counts[part.name] += 1
    return Part(f"{part.name}{counts[part.name]}", part.axis, piece.size)
