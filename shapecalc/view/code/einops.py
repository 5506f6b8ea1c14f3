"""einops code: a whole answer as one pattern, if no stage mixes axes.

The atoms of the output say it all: each axis of the input has a stride of its own, so an atom tells which axis it is a
piece of, and where on it the piece lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shapecalc.core.answers import Chain, Stage, Trace
from shapecalc.core.conditions import Known, solved_names
from shapecalc.core.dims import Dim, Shape, named_dim, product, quotient, rewrite, substitute
from shapecalc.core.layout import EMPTY, Atom, Atoms, cut, merge, without_zeros
from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll
from shapecalc.core.problem import misuse
from shapecalc.core.text import brief, shape_text
from shapecalc.view.code import Code
from shapecalc.view.code.dims import Readings, calls_of, general_warnings, given_warnings, shapes_of, size_text, title


def einops(answer: Trace | Chain) -> Code:
    """Return one `rearrange`, or one `repeat` if elements are repeated.

    Raises `ShapeError` (usage) if a reshape mixes axes, if an axis does not stay whole, and for op `shape`.

    >>> import shapecalc as sc
    >>> print(einops(sc.chain((2, 12, 4), "reshape 2,3,4,4", "transpose 0,2,1,3")).text.splitlines()[-1])
    y = rearrange(x, "a (b1 b2) c -> a b2 b1 c", b1=3)
    """
    pattern, readings = Pattern(answer), Readings(answer.input)
    for call in calls_of(answer, tiles=False):
        pattern.move(call.stage)
    rows = pattern.rows()
    sources, repeated = rows[: len(answer.input)], rows[len(answer.input) :]
    names = _names(rows)
    name = "repeat" if repeated else "rearrange"
    sides = [" ".join(_axis(axis, names) for axis in axes) for axes in (sources, map(merge, pattern.axes))]
    lengths_of = [piece for axis in sources for piece in _lengths_needed(axis, readings)] + [
        piece for axis in repeated for piece in axis
    ]
    lengths = "".join(f", {names[piece]}={size_text(readings.read(_size(piece)))}" for piece in lengths_of)
    line = f'y = {name}(x, "{sides[0]} -> {sides[1]}"{lengths})'
    text = "\n".join([f"from einops import {name}", title(answer), line])
    return Code(text, (*general_warnings(answer, "einops"), *given_warnings(text, answer)))


class Pattern:
    """The axes of the tensor while the moves are made. An atom is a piece of an input axis, or of a repeated one."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Start with every axis whole and in its place."""
        self.solved = solved_names(answer.conditions)
        multiples = [quotient(each.left, each.right) for each in answer.conditions if each.relation == "%"]
        self.whole = self._solve([dim for shape in (*shapes_of(answer), multiples) for dim in shape])
        self.units: list[Dim] = []
        self.axes = [self._whole(dim) for dim in without_zeros(self._solve(answer.input))]

    def _solve(self, dims: Sequence[Dim]) -> Shape:
        return tuple([rewrite(dim, self.solved) for dim in dims])

    def _whole(self, size: Dim) -> Atoms:
        """Return a new axis, which steps through nothing but itself."""
        self.units.append(named_dim(f"#{len(self.units)}"))
        return () if size == 1 else (Atom(size, self.units[-1]),)

    def move(self, stage: Stage) -> None:
        """Make the move of a stage; raise `ShapeError` (usage) if no pattern can."""
        output = self._solve(stage.after or ())
        match stage.move:
            case Permute(axes):
                self.axes = [self.axes[axis] for axis in axes]
            case Expand():
                before = [()] * (len(output) - len(self.axes)) + self.axes
                grown = zip(before, without_zeros(output), strict=True)
                self.axes = [self._whole(size) if not axis and size != 1 else axis for axis, size in grown]
            case Reshape():
                atoms = merge([atom for axis in self.axes for atom in axis])
                after = without_zeros(output, product([atom.size for atom in atoms]))
                made = cut(atoms, after, Known((*self.whole, *after)))
                if made is None:
                    old, new = (brief(shape_text(shape)) for shape in (stage.before, stage.after or ()))
                    raise misuse(f"einops has no pattern from {old} to {new}: the reshape mixes axes")
                self.axes = [*made]
            case Pick() | Roll():
                raise misuse(f"einops has no pattern for {stage.label}: its axes stay whole")
            case _:
                raise misuse("einops moves elements, and shape returns dims")

    def rows(self) -> list[Atoms]:
        """Return the pieces of every axis of the input, the outermost first, then those of the repeated axes."""
        pieces = {atom.stride: atom for axis in self.axes for atom in merge(axis)}
        rows = []
        for unit in self.units:
            row, stride = list[Atom](), unit
            while stride in pieces:
                row.append(pieces[stride])
                stride = product((stride, row[-1].size))
            rows.append(tuple(row[::-1]))
        return rows


def _names(rows: Sequence[Atoms]) -> dict[Atom, str]:
    """Return a name for each piece: the letter of its axis, with a number if the axis is cut."""
    names = {}
    for place, axis in enumerate(rows):
        letter = chr(ord("a") + place) if place < 26 else f"z{place}"
        for part, piece in enumerate(axis, 1):
            names[piece] = letter if len(axis) == 1 else f"{letter}{part}"
    return names


def _axis(pieces: Atoms, names: Mapping[Atom, str]) -> str:
    """Return an axis as a pattern writes it: 1 for no piece, brackets around several."""
    if len(pieces) < 2:
        return names[pieces[0]] if pieces else "1"
    return f"({' '.join(names[piece] for piece in pieces)})"


def _size(piece: Atom) -> Dim:
    return substitute(piece.size, {EMPTY: 0})


def _lengths_needed(axis: Atoms, readings: Readings) -> Atoms:
    """Return the pieces of an axis of the input whose sizes the call must get: all but one, or all if one is 0."""

    def cost(piece: Atom) -> tuple[int, bool]:
        """Return how many names the code must be given to tell the size, and whether there is any name."""
        return readings.count_open(_size(piece)), not isinstance(_size(piece), int)

    hole = None if 0 in map(_size, axis) else max(reversed(axis), key=cost, default=None)
    return tuple([piece for piece in axis if len(axis) > 1 and piece != hole])


WRITERS = {"einops": einops}
