"""Code for einops: an answer as one `rearrange` or `repeat` call.

A reshape mixes axes if it is not a sequence of splits and merges of axes, such as the reshape from `(2, 3)` to `(3,
2)`. No pattern can express such a reshape.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import Chain, Trace, compute_stage_origins
from shapecalc.core.moves import Combine, Roll, ShapeVector, StridedSlice, Take
from shapecalc.core.origins import AxisAtom, RepeatAtom, find_mixed_dims
from shapecalc.core.problem import usage_error
from shapecalc.core.text import shape_text, truncate
from shapecalc.render.code import GeneratedCode
from shapecalc.render.code.dims import RuntimeSizes, answer_warnings, missing_size_warnings, shape_comment, size_text
from shapecalc.render.stage_layout import atom_boundaries

Piece = AxisAtom | RepeatAtom
"""An elementary axis of a pattern: a factor of an input axis, or an axis that repeats elements.

Pieces are compared by identity, because both sides of a pattern contain the same objects.
"""


def generate_einops(answer: Trace | Chain) -> GeneratedCode:
    """Generate a `rearrange` call, or a `repeat` call if elements are repeated.

    Raises `ShapeError` (usage) if a reshape mixes axes, if an axis is sliced, rolled or concatenated, or if the answer
    contains the op `shape`.

    >>> import shapecalc as sc
    >>> print(generate_einops(sc.chain((2, 12, 4), "reshape 2,3,4,4", "transpose 0,2,1,3")).text.splitlines()[-1])
    y = rearrange(x, "a (b1 b2) c -> a b2 b1 c", b1=3)
    """
    output_pieces, sizes = _output_pieces(answer), RuntimeSizes(answer.input)
    input_pieces = [_axis_pieces(axis, output_pieces) for axis in range(len(answer.input))]
    repeated = [[piece] for pieces in output_pieces for piece in pieces if isinstance(piece, RepeatAtom)]
    names = _name_pieces([*input_pieces, *repeated])
    name = "repeat" if repeated else "rearrange"
    sides = [" ".join(_format_axis(axis, names) for axis in axes) for axes in (input_pieces, output_pieces)]
    sized_pieces = [piece for axis in input_pieces for piece in _required_lengths(axis, sizes)] + [
        piece for axis in repeated for piece in axis
    ]
    lengths = "".join(f", {names[id(piece)]}={size_text(sizes.express_dim(piece.size))}" for piece in sized_pieces)
    line = f'y = {name}(x, "{sides[0]} -> {sides[1]}"{lengths})'
    text = "\n".join([f"from einops import {name}", shape_comment(answer), line])
    return GeneratedCode(text, (*answer_warnings(answer, "einops"), *missing_size_warnings(text, answer)))


def _output_pieces(answer: Trace | Chain) -> list[list[Piece]]:
    """Return the pieces that form each output dim.

    Raises `ShapeError` (usage) if no einops pattern can express a dim.
    """
    for stage in answer.stages:
        if isinstance(stage.move, ShapeVector):
            raise usage_error("einops moves elements, and shape returns dims")
        if isinstance(stage.move, StridedSlice | Roll | Take | Combine):
            raise usage_error(f"einops has no pattern for {stage.label}: its axes stay whole")
    origins = answer.origins or ()
    for count, stage in enumerate(answer.stages if find_mixed_dims(origins) else (), 1):
        before = answer.stages[:count]
        if find_mixed_dims(compute_stage_origins(answer.input, before, stage.after or (), answer.conditions)):
            old, new = (truncate(shape_text(shape)) for shape in (stage.before, stage.after or ()))
            raise usage_error(f"einops has no pattern from {old} to {new}: the reshape mixes axes")
    return [[atom for atom in origin or () if isinstance(atom, Piece) and atom.size != 1] for origin in origins]


def _axis_pieces(axis: int, output_pieces: Sequence[Sequence[Piece]]) -> Sequence[Piece]:
    """Return the pieces of an input axis, outermost first.

    The pieces of an axis of size 0 have no particular order.
    """
    row = [piece for pieces in output_pieces for piece in pieces if isinstance(piece, AxisAtom) and piece.axis == axis]
    boundaries = atom_boundaries(row)
    if boundaries:
        row.sort(key=lambda piece: boundaries.index(piece.stride))
    return row


def _name_pieces(axes: Sequence[Sequence[Piece]]) -> dict[int, str]:
    """Return the name of each piece, keyed by the `id` of the piece.

    A name is the letter of the axis, followed by a number if the axis has several pieces.
    """
    names = {}
    for index, axis in enumerate(axes):
        letter = chr(ord("a") + index) if index < 26 else f"z{index}"
        for number, piece in enumerate(axis, 1):
            names[id(piece)] = letter if len(axis) == 1 else f"{letter}{number}"
    return names


def _format_axis(pieces: Sequence[Piece], names: dict[int, str]) -> str:
    """Format an axis of a pattern; an axis without pieces is `1`."""
    if len(pieces) < 2:
        return names[id(pieces[0])] if pieces else "1"
    return f"({' '.join(names[id(piece)] for piece in pieces)})"


def _required_lengths(axis: Sequence[Piece], sizes: RuntimeSizes) -> list[Piece]:
    """Return the pieces of an axis whose lengths the call must contain.

    A single piece is as long as the axis. If there are several pieces and none of them has size 0, einops infers the
    length of one piece.
    """

    def cost(piece: Piece) -> tuple[int, bool]:
        """Return the number of unknown names in a length, and whether it is symbolic."""
        return sizes.count_unknown_names(piece.size), not isinstance(piece.size, int)

    inferred = None if any(piece.size == 0 for piece in axis) else max(reversed(axis), key=cost, default=None)
    return [piece for piece in axis if len(axis) > 1 and piece is not inferred]


WRITERS = {"einops": generate_einops}
