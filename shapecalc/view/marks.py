"""Marks: a letter and a colour for each axis of the input, carried along by whatever the axis becomes.

The mark of a dim is a row of atoms, outermost first: `a` and `c` once axes a and c are merged, `c1` and `c2`
once c is split. What is cut across axes (4,6 of 6,4) is no axis of the input any more and is marked `~1`, `~2`.
"""

from __future__ import annotations

from shapecalc.core.dims import Dim, Monomial, Shape, quotient
from shapecalc.core.record import Record
from shapecalc.view.strokes import Strokes, clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#B9679A", "#A87700", "#2F86C0")
"""Hues of Okabe and Ito, the light ones darkened: told apart by the colour-blind, legible on white and on black."""
LONGEST_MARK = 8
LISTED = 3
"""Letters in a row up to which each is written; of more, the first and the last."""


class Atom(Record):
    """An input axis, or the part of one that has stayed together."""

    name: str
    axis: int | None
    """The input axis; None for what is cut across axes or was not in the input."""
    size: Dim


Mark = tuple[Atom, ...]


def letter(axis: int) -> str:
    """Return the letter of an input axis; past the letters, its number.

    >>> letter(0), letter(26), letter(52)
    ('a', 'A', '#52')
    """
    return LETTERS[axis] if axis < len(LETTERS) else f"#{axis}"


def input_marks(shape: Shape) -> tuple[Mark, ...]:
    """Return the marks of the input's own axes."""
    return tuple((Atom(letter(axis), axis, dim),) for axis, dim in enumerate(shape))


def mark_text(mark: Mark, strokes: Strokes) -> str:
    """Return a mark as it is shown.

    >>> from shapecalc.view.strokes import ASCII
    >>> a, b, c, d, e = (mark[0] for mark in input_marks((2, 3, 4, 5, 6)))
    >>> mark_text((a, c), ASCII), mark_text((a, b, c, d), ASCII), mark_text((a, c, d, e), ASCII)
    ('ac', 'a-d', 'acde')
    """
    if not mark:
        return strokes.none
    runs: list[list[Atom]] = []
    for atom in mark:
        if runs and _follows(runs[-1][-1], atom):
            runs[-1].append(atom)
        else:
            runs.append([atom])
    return clipped("".join(map(_run_text, runs)), LONGEST_MARK, strokes)


def _follows(before: Atom, atom: Atom) -> bool:
    whole = before.name == letter(before.axis or 0) and atom.axis is not None and atom.name == letter(atom.axis)
    return whole and before.axis is not None and atom.axis == before.axis + 1


def _run_text(run: list[Atom]) -> str:
    if len(run) <= LISTED:
        return "".join(atom.name for atom in run)
    return f"{run[0].name}-{run[-1].name}"


def colour(mark: Mark) -> str:
    """Return the colour of a mark: that of its outermost axis; none for what is no axis of the input."""
    axis = mark[0].axis if mark else None
    return "" if axis is None else COLOURS[axis % len(COLOURS)]


class Recut(Record):
    """The marks of a block of axes after a reshape, and whether new cuts fall across old ones."""

    marks: tuple[Mark, ...]
    mixed: bool


def recut(sources: Sequence[Mark], dims: Sequence[Dim], mixes: int = 0) -> Recut:
    """Return the marks of the dims that a block of axes is cut into; `mixes` such cuts were named before.

    >>> [[atom.name for atom in mark] for mark in recut(input_marks((2, 12)), (2, 3, 4)).marks]
    [['a'], ['b1'], ['b2']]
    >>> recut(input_marks((2, 3)), (3, 2)).mixed
    True
    """
    atoms = [atom for mark in sources for atom in mark if atom.size != 1] or [atom for mark in sources for atom in mark]
    marks: list[Mark] = []
    parts: dict[str, int] = {}
    for place, dim in enumerate(dims):
        mark = _taken(atoms, dim, parts)
        if mark is None:
            axes = tuple((Atom(f"~{mixes + out + 1}", None, size),) for out, size in enumerate(dims))
            return Recut(axes, mixed=True)
        if place == len(dims) - 1:
            mark, atoms = mark + tuple(atoms), []
        marks.append(mark)
    return Recut(tuple(marks), mixed=False)


def _taken(atoms: list[Atom], dim: Dim, parts: dict[str, int]) -> Mark | None:
    """Take the atoms that make up `dim` off the front, the last of them perhaps in part; None where none do."""
    mark: list[Atom] = []
    while dim != 1:
        if not atoms or 0 in (dim, atoms[0].size):
            return None
        first = atoms.pop(0)
        rest, kept = quotient(dim, first.size), quotient(first.size, dim)
        if _whole(rest):
            mark.append(_last_part(first, parts))
            dim = rest
        elif _whole(kept):
            mark.append(_part(first, dim, parts))
            atoms.insert(0, first._replace(size=kept))
            dim = 1
        else:
            return None
    return tuple(mark)


def _part(atom: Atom, size: Dim, parts: dict[str, int]) -> Atom:
    parts[atom.name] = parts.get(atom.name, 0) + 1
    return Atom(f"{atom.name}{parts[atom.name]}", atom.axis, size)


def _last_part(atom: Atom, parts: dict[str, int]) -> Atom:
    return _part(atom, atom.size, parts) if atom.name in parts else atom


def _whole(dim: Dim) -> bool:
    """Say whether a quotient is whole whatever the sizes."""
    if isinstance(dim, Monomial):
        return dim.denominator == 1 and all(power > 0 for _, power in dim.powers)
    return True
