"""einops code: a whole answer as one pattern, if no stage mixes axes.

The input's axes are cut into as many pieces as the reshapes need. A reshape then says which pieces stand together,
and a transpose says their order.
"""

from __future__ import annotations

from collections import deque

from shapecalc.core.answers.moves import Expand, Permute, Pick, Reshape, Roll
from shapecalc.core.sizes.dims import Dim, Shape, product, quotient
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import shape_text
from shapecalc.view.code import Code
from shapecalc.view.code.folding import parts_of
from shapecalc.view.code.sizes import Readings, divisors, given_warnings, put_in, size_text, solutions
from shapecalc.view.code.written import general_warnings, shape_after, shapes_of, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.answers.stage import Stage
    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.sizes.conditions import Conditions


class Piece(Record):
    """A piece of an axis that always moves whole."""

    number: int
    size: Dim


def einops(answer: Trace | Chain) -> Code:
    """Return one `rearrange`, or one `repeat` if elements are repeated.

    Raises `ShapeError` (usage) if a reshape mixes axes, if an axis does not stay whole, and for op `shape`.

    >>> import shapecalc as sc
    >>> print(einops(sc.chain((2, 12, 4), "reshape 2,3,4,4", "transpose 0,2,1,3")).text.splitlines()[-1])
    y = rearrange(x, "a (b1 b2) c -> a b2 b1 c", b1=3)
    """
    solved = solutions(answer.conditions)
    shapes = [tuple(put_in(dim, solved) for dim in shape) for shape in shapes_of(answer)]
    pattern = Pattern(shapes[0], whole_facts(shapes, answer.conditions), Readings(answer.input))
    for part in parts_of(answer):
        pattern.move(part.stage, tuple(put_in(dim, solved) for dim in shape_after(part.stage)))
    names = pattern.names()
    call = "repeat" if pattern.repeated else "rearrange"
    sides = [" ".join(_axis(axis, names) for axis in axes) for axes in (pattern.sources, pattern.axes)]
    lengths = "".join(f", {names[piece]}={pattern.size_text(piece)}" for piece in pattern.sizes_to_tell())
    line = f'y = {call}(x, "{sides[0]} -> {sides[1]}"{lengths})'
    text = "\n".join([f"from einops import {call}", title(answer), line])
    return Code(text, (*general_warnings(answer, "einops"), *given_warnings(text, answer)))


def whole_facts(shapes: Sequence[Shape], conditions: Conditions) -> tuple[Dim, ...]:
    """Return the quotients that are whole where an answer holds: its dims, and what its conditions say."""
    dims = dict.fromkeys(dim for shape in shapes for dim in shape if not isinstance(dim, int))
    said = [quotient(each.left, each.right) for each in conditions if each.relation == "%"]
    return tuple(dict.fromkeys(dim for dim in (*dims, *said) if divisors(dim) > 1))


def is_whole(ratio: Dim, facts: Sequence[Dim]) -> bool:
    """Say whether a quotient is a whole number if the facts are: a product of some of them and of whole numbers.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> is_whole(read_dims("H*W/49")[0], read_dims("H/7,W/7"))
    True
    """
    most = divisors(ratio)
    return most == 1 or any(
        divisors(rest) < most and is_whole(rest, facts) for rest in (quotient(ratio, fact) for fact in facts)
    )


def _axis(pieces: list[Piece], names: Mapping[Piece, str]) -> str:
    """Return an axis as a pattern writes it: 1 for no piece, brackets around several."""
    if len(pieces) < 2:
        return names[pieces[0]] if pieces else "1"
    return f"({' '.join(names[piece] for piece in pieces)})"


class Pattern:
    """Both sides of a pattern, while the moves are made. Each axis is a list of pieces; an axis of 1 has none."""

    def __init__(self, shape: Shape, facts: Sequence[Dim], readings: Readings) -> None:
        """Start with every axis whole and in its place."""
        self.facts = facts
        self.readings = readings
        self.count = 0
        self.sources = [self._pieces(dim) for dim in shape]
        self.axes = [list(axis) for axis in self.sources]
        self.repeated: list[Piece] = []

    def _pieces(self, size: Dim) -> list[Piece]:
        self.count += 1
        return [] if size == 1 else [Piece(self.count, size)]

    def move(self, stage: Stage, output: Shape) -> None:
        """Make the move of a stage; raise `ShapeError` (usage) if no pattern can."""
        match stage.move:
            case Permute(axes):
                self.axes = [self.axes[axis] for axis in axes]
            case Expand():
                self._expand(output)
            case Reshape():
                pending = deque(piece for axis in self.axes for piece in axis)
                self.axes = []
                for dim in output:
                    self.axes.append(self._take(pending, dim, stage))
                if pending:
                    raise _mixing_error(stage)
            case Pick() | Roll():
                raise misuse(f"einops has no pattern for {stage.label}: its axes stay whole")
            case _:
                raise misuse("einops moves elements, and shape returns dims")

    def _expand(self, output: Shape) -> None:
        """Let axes of 1 grow. The new pieces are only on the right side."""
        self.axes = [[] for _ in range(len(output) - len(self.axes))] + self.axes
        for out, size in enumerate(output):
            if not self.axes[out]:
                self.axes[out] = self._pieces(size)
                self.repeated += self.axes[out]

    def _take(self, pending: deque[Piece], dim: Dim, stage: Stage) -> list[Piece]:
        """Take the pieces of an output dim. The last piece is cut if it reaches into the next dim."""
        taken, need = list[Piece](), dim
        while need != 1:
            if not pending:
                raise _mixing_error(stage)
            piece = pending.popleft()
            if need == piece.size:
                need = 1
            elif self._whole(need, piece.size):
                need = quotient(need, piece.size)
            elif self._whole(piece.size, need):
                piece, rest = self._cut(piece, need)
                pending.appendleft(rest)
                need = 1
            else:
                raise _mixing_error(stage)
            taken.append(piece)
        return taken

    def _whole(self, a: Dim, b: Dim) -> bool:
        """Say whether `b` divides `a` for all sizes for which the answer holds."""
        return b != 0 and is_whole(quotient(a, b), self.facts)

    def _cut(self, piece: Piece, size: Dim) -> tuple[Piece, Piece]:
        """Cut a piece in two at every place where it stands."""
        (first,), (rest,) = self._pieces(size), self._pieces(quotient(piece.size, size))
        for axes in (self.sources, [self.repeated]):
            for axis in axes:
                if piece in axis:
                    place = axis.index(piece)
                    axis[place : place + 1] = [first, rest]
        return first, rest

    def names(self) -> dict[Piece, str]:
        """Return a name for each piece: the letter of its input axis, with a number if the axis is cut."""
        names = {}
        for place, axis in enumerate([*self.sources, *([piece] for piece in self.repeated)]):
            letter = chr(ord("a") + place) if place < ALPHABET else f"z{place}"
            for part, piece in enumerate(axis, 1):
                names[piece] = letter if len(axis) == 1 else f"{letter}{part}"
        return names

    def sizes_to_tell(self) -> list[Piece]:
        """Return the pieces whose sizes the call must get: all but one of each input axis, and the repeated pieces."""
        pieces = []
        for axis in self.sources:
            empty = product(piece.size for piece in axis) == 0
            hole = None if empty else max(reversed(axis), key=self._cost, default=None)
            pieces += [piece for piece in axis if len(axis) > 1 and piece != hole]
        return [*pieces, *self.repeated]

    def _cost(self, piece: Piece) -> tuple[int, bool]:
        """Return what there is to tell of a piece: how many names the code must be given, and whether any is there."""
        return self.readings.count_open(piece.size), not isinstance(piece.size, int)

    def size_text(self, piece: Piece) -> str:
        """Return the expression for the size of a piece."""
        return size_text(self.readings.read(piece.size))


ALPHABET = 26


def _mixing_error(stage: Stage) -> ShapeError:
    old, new = (brief(shape_text(shape)) for shape in (stage.before, shape_after(stage)))
    return misuse(f"einops has no pattern from {old} to {new}: the reshape mixes axes")
