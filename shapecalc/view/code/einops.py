"""Code for einops: a whole answer as one pattern, if no reshape mixes axes."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import Chain, Trace, stage_origins
from shapecalc.core.moves import Combine, Dims, Pick, Roll, Take
from shapecalc.core.origins import AxisAtom, Repeats, mixing
from shapecalc.core.problem import misuse
from shapecalc.core.text import brief, shape_text
from shapecalc.view.code import Code
from shapecalc.view.code.dims import Readings, general_warnings, given_warnings, size_text, title
from shapecalc.view.layout import ladder_of

Piece = AxisAtom | Repeats
"""A part of an input axis, or a repeated axis.

The same object is in both sides of a pattern.
"""


def einops(answer: Trace | Chain) -> Code:
    """Return one `rearrange`, or one `repeat` if elements are repeated.

    Raises `ShapeError` (usage) if a reshape mixes axes, if an axis is sliced, rolled or joined, and for op `shape`.

    >>> import shapecalc as sc
    >>> print(einops(sc.chain((2, 12, 4), "reshape 2,3,4,4", "transpose 0,2,1,3")).text.splitlines()[-1])
    y = rearrange(x, "a (b1 b2) c -> a b2 b1 c", b1=3)
    """
    output_pieces, readings = _pieces(answer), Readings(answer.input)
    input_pieces = [_row(axis, output_pieces) for axis in range(len(answer.input))]
    repeated = [[piece] for pieces in output_pieces for piece in pieces if isinstance(piece, Repeats)]
    names = _names([*input_pieces, *repeated])
    name = "repeat" if repeated else "rearrange"
    sides = [" ".join(_axis(axis, names) for axis in axes) for axes in (input_pieces, output_pieces)]
    sized_pieces = [piece for axis in input_pieces for piece in _lengths_needed(axis, readings)] + [
        piece for axis in repeated for piece in axis
    ]
    lengths = "".join(f", {names[id(piece)]}={size_text(readings.read(piece.size))}" for piece in sized_pieces)
    line = f'y = {name}(x, "{sides[0]} -> {sides[1]}"{lengths})'
    text = "\n".join([f"from einops import {name}", title(answer), line])
    return Code(text, (*general_warnings(answer, "einops"), *given_warnings(text, answer)))


def _pieces(answer: Trace | Chain) -> list[list[Piece]]:
    """Return the pieces of each output dim.

    Raises `ShapeError` (usage) if no pattern can express them.
    """
    for stage in answer.stages:
        if isinstance(stage.move, Dims):
            raise misuse("einops moves elements, and shape returns dims")
        if isinstance(stage.move, Pick | Roll | Take | Combine):
            raise misuse(f"einops has no pattern for {stage.label}: its axes stay whole")
    origins = answer.origins or ()
    for count, stage in enumerate(answer.stages if mixing(origins) else (), 1):
        before = answer.stages[:count]
        if mixing(stage_origins(answer.input, before, stage.after or (), answer.conditions)):
            old, new = (brief(shape_text(shape)) for shape in (stage.before, stage.after or ()))
            raise misuse(f"einops has no pattern from {old} to {new}: the reshape mixes axes")
    return [[atom for atom in origin or () if isinstance(atom, Piece) and atom.size != 1] for origin in origins]


def _row(axis: int, outs: Sequence[Sequence[Piece]]) -> Sequence[Piece]:
    """Return the pieces of an input axis, outermost first.

    Those of an empty axis have any order.
    """
    row = [piece for pieces in outs for piece in pieces if isinstance(piece, AxisAtom) and piece.axis == axis]
    ladder = ladder_of(row)
    if ladder:
        row.sort(key=lambda piece: ladder.index(piece.stride))
    return row


def _names(rows: Sequence[Sequence[Piece]]) -> dict[int, str]:
    """Return the name of each piece by its `id`.

    It is the letter of its axis, with a number if the axis has several pieces.
    """
    names = {}
    for index, axis in enumerate(rows):
        letter = chr(ord("a") + index) if index < 26 else f"z{index}"
        for number, piece in enumerate(axis, 1):
            names[id(piece)] = letter if len(axis) == 1 else f"{letter}{number}"
    return names


def _axis(pieces: Sequence[Piece], names: dict[int, str]) -> str:
    """Return an axis in pattern syntax: 1 for no piece, parentheses around several."""
    if len(pieces) < 2:
        return names[id(pieces[0])] if pieces else "1"
    return f"({' '.join(names[id(piece)] for piece in pieces)})"


def _lengths_needed(axis: Sequence[Piece], readings: Readings) -> list[Piece]:
    """Return the pieces of an axis whose sizes the call must specify.

    These are all but one, or all if one is 0.
    """

    def cost(piece: Piece) -> tuple[int, bool]:
        """Return the number of sizes to provide, and whether there are names."""
        return readings.count_open(piece.size), not isinstance(piece.size, int)

    inferred = None if any(piece.size == 0 for piece in axis) else max(reversed(axis), key=cost, default=None)
    return [piece for piece in axis if len(axis) > 1 and piece is not inferred]


WRITERS = {"einops": einops}
