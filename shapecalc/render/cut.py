"""Reshapes that the user chooses by cuts in a row of elements.

A tape shows all elements of a tensor in one row. A cut is a boundary between two pieces of the tape. Cuts divide the
tape into pieces of equal length, and each piece can be cut again. The piece lengths determine the dims of the output.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from rich.text import Text

from shapecalc.core.dims import Shape
from shapecalc.core.text import format_count, shape_text
from shapecalc.render.canvas import UNICODE
from shapecalc.render.grid import tint_style
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.render.tape import MAX_TAPE_ELEMENTS


class CutState:
    """The cuts of a tape: the fixed piece lengths, and the current piece length.

    >>> state = CutState((2, 3, 4))
    >>> state.length, state.shape
    (4, (6, 4))
    >>> state.move_cuts(1); (state.length, state.shape, state.remainder)
    (5, None, 4)
    >>> state.move_cuts(1); state.keep_cuts(); (state.shape, state.request_text)
    ((4, 1, 6), '4,-1,6')
    >>> state.move_cuts(-3); (state.shape, state.request_text)
    ((4, 2, 3), '4,-1,3')
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Cut the tape into pieces as long as the last dim of a shape."""
        self.shape_before, self.count = shape, prod(shape)
        self.kept: list[int] = []
        """The fixed piece lengths in descending order; each length divides the previous length."""
        self.length = self._initial_length = max(1, shape[-1] if shape else 1)

    @property
    def piece_length(self) -> int:
        """The length of the pieces that are divided by the current length."""
        return self.kept[-1] if self.kept else self.count

    @property
    def is_untouched(self) -> bool:
        """Whether no cut was moved or fixed."""
        return not self.kept and self.length == self._initial_length

    @property
    def remainder(self) -> int:
        """The remainder of `piece_length` divided by the current length."""
        return self.piece_length % self.length

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape that the cuts produce, or None if the remainder is not 0."""
        if self.remainder:
            return None
        lengths = (self.count, *self.kept, self.length)
        return (*(longer // shorter for longer, shorter in pairwise(lengths)), self.length)

    @property
    def request_text(self) -> str:
        """The shape as the target of a reshape, with -1 for the dim that the current length determines."""
        if self.shape is None:
            return ""
        dims = [str(dim) for dim in self.shape]
        dims[len(self.kept)] = "-1"
        return ",".join(dims)

    def move_cuts(self, offset: int) -> None:
        """Add `offset` to the current length, which stays between 1 and the piece length."""
        self.length = max(1, min(self.length + offset, self.piece_length))

    def keep_cuts(self) -> None:
        """Keep the current piece length, so that the resulting pieces can be cut in turn.

        If the remainder is not 0, nothing is changed.
        """
        if not self.remainder:
            self.kept.append(self.length)

    def undo_cuts(self) -> None:
        """Remove the last fixed length, and make it the current length again."""
        if self.kept:
            self.length = self.kept.pop()


def can_cut(shape: Shape) -> bool:
    """Return whether a shape is concrete, and has 2 to `MAX_TAPE_ELEMENTS` elements."""
    sizes = [dim for dim in shape if isinstance(dim, int) and dim > 0]
    return len(sizes) == len(shape) and 1 < prod(sizes) <= MAX_TAPE_ELEMENTS


def cut_heading(state: CutState, accent: str) -> Text:
    """Return a line with the current length, and with the shape or the remainder.

    The shape has the style `accent`.

    >>> cut_heading(CutState((2, 3, 4)), "bold").plain
    '24 elements of 2,3,4, cut every 4 ▸ 6,4'
    >>> state = CutState((2, 3, 4))
    >>> state.move_cuts(2); state.keep_cuts(); state.move_cuts(-1)
    >>> cut_heading(state, "bold").plain
    '4 pieces of 6 kept; each cut every 5 ▸ 1 left over: 5 does not divide 6'
    """
    kept = f"{state.count // state.piece_length} pieces of {state.piece_length} kept; each"
    whole = f"{format_count(state.count, 'element', 'elements')} of {shape_text(state.shape_before)},"
    head = Text(f"{kept if state.kept else whole} cut every ")
    head.append(str(state.length), "bold").append(f" {UNICODE.pointer} ")
    if state.shape is None:
        head.append(f"{state.remainder} left over: {state.length} does not divide {state.piece_length}", BOLD_ERROR)
    else:
        head.append(shape_text(state.shape), accent)
    return head


def draw_cut_tape(state: CutState, width: int) -> list[Text]:
    """Draw the elements of a tensor with one line per piece.

    The colour of an element depends on its index along the first axis of the input; a dashed line separates two colours
    within a piece. Remaining elements are red.

    >>> state = CutState((2, 3))
    >>> state.move_cuts(1)
    >>> for line in draw_cut_tape(state, 60):
    ...     print(line)
    ▕0 1 2╎3▏
    ▕4 5▏ 2 left over
    """
    digits, lines = len(str(state.count - 1)), list[Text]()
    row = max(1, state.count // (state.shape_before[0] if state.shape_before else 1))
    per_line = max(1, (width - 16) // (digits + 1))
    for piece in range(0, state.count, state.piece_length):
        for start in range(piece, piece + state.piece_length, state.length):
            end = min(start + state.length, piece + state.piece_length)
            for first in range(start, end, per_line):
                line = Text(UNICODE.separators[0] if first == start else " ")
                for number in range(first, min(end, first + per_line)):
                    line.append(str(number).rjust(digits), tint_style(number // row))
                    wall = UNICODE.separators[2] if (number + 1) % row == 0 else " "
                    line.append(wall if number + 1 < min(end, first + per_line) else "", tint_style(number // row))
                line.append(UNICODE.separators[1] if first + per_line >= end else "")
                lines.append(line)
            if end - start < state.length:
                lines[-1].append(f" {end - start} left over", BOLD_ERROR)
        if state.kept and piece + state.piece_length < state.count:
            lines.append(Text(end=""))
    return lines
