"""Costs of a chain: transposes, TensorRT Shuffles, and bytes moved by copies.

A Shuffle is a transpose, a reshape and a transpose, each of them optional. Source: TensorRT's operator documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from shapecalc.core.conditions import Assumptions, is_at_least_one
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Shape, monomial, product, quotient, sum_terms, sum_to_json
from shapecalc.core.layout import (
    contiguous_strides,
)
from shapecalc.core.moves import Combine, Expand, Move, Permute, Reshape, Roll, ShapeVector, StridedSlice, Take
from shapecalc.core.ops.strides import strides_after_move
from shapecalc.core.record import Choice, Record
from shapecalc.core.text import format_count, lookup

Entry = TypeVar("Entry")
AppliedMove = tuple[Shape, Move]
"""A move, preceded by the shape of the tensor to which it is applied."""
SHUFFLE_PATTERNS = frozenset({"p", "r", "pr", "rp", "prp"})
"""The sequences of transposes (p) and reshapes (r) that a single Shuffle can execute."""
MAX_SHUFFLE_RANK = DIALECTS["tensorrt"].max_rank or 0
"""The maximum rank of a tensor in a Shuffle."""


class Goal(Choice):
    """The quantity that the simplification of a chain minimizes."""

    TRANSPOSES = "transposes"
    SHUFFLES = "shuffles"
    BYTES = "bytes"


class Cost(Record):
    """The cost of a chain: its transposes, its Shuffles and the bytes that it copies."""

    transposes: int
    shuffles: int
    """The number of TensorRT Shuffle layers."""
    copies: Shape
    """The number of bytes that each copy reads and writes, as an integer or a monomial of symbolic sizes."""

    @property
    def bytes(self) -> object:
        """The number of bytes that all copies read and write.

        The number is an integer, or a formatted sum of monomials if sizes are symbolic.

        >>> Cost(2, 1, (48, 48)).bytes
        96
        """
        return sum_to_json(sum_terms(self.copies)) or 0

    def __str__(self) -> str:
        transposes = format_count(self.transposes, "transpose", "transposes")
        return f"{transposes}, {format_count(self.shuffles, 'Shuffle', 'Shuffles')}, {self.bytes} bytes"

    def as_json(self) -> dict[str, object]:
        """Return the cost as the JSON object that the manual documents."""
        return {"transposes": self.transposes, "shuffles": self.shuffles, "bytes": self.bytes}

    def is_at_most(self, other: Cost, goal: Goal) -> bool:
        """Return whether this cost is at most another cost, for all symbolic sizes.

        `goal` selects the quantity that is compared.

        >>> Cost(1, 2, ()).is_at_most(Cost(2, 1, ()), Goal.TRANSPOSES)
        True
        """
        if goal is Goal.BYTES:
            return _dominates(other.copies, self.copies)
        value, other_value = (getattr(cost, goal.value) for cost in (self, other))
        return bool(value <= other_value)


def group_into_shuffles(items: Iterable[Entry], move_of: Callable[[Entry], Move | None]) -> list[list[Entry]]:
    """Group consecutive items into runs that one Shuffle can execute.

    `move_of` returns the move of an item. An item whose move is neither a transpose nor a reshape forms a run of its
    own.

    >>> rows = group_into_shuffles([Permute((1, 0)), Reshape((6,)), Permute((0,)), Reshape((2, 3))], lambda move: move)
    >>> [len(row) for row in rows]
    [3, 1]
    """
    result: list[list[Entry]] = []
    letters = ""
    for item in items:
        move = move_of(item)
        letters += "p" if isinstance(move, Permute) else "r" if isinstance(move, Reshape) else "-"
        if letters in SHUFFLE_PATTERNS and len(letters) > 1:
            result[-1].append(item)
        else:
            result.append([item])
            letters = letters[-1]
    return result


def count_shuffles(shape: Shape, moves: Iterable[Move]) -> int:
    """Count the Shuffles that execute moves on a tensor of `shape`.

    An expand that adds dims requires a Shuffle, and so does an integer index that drops an axis.

    >>> count_shuffles((2, 3), [Permute((1, 0)), Permute((1, 0))])
    0
    >>> count_shuffles((2, 3), [Permute((1, 0)), Reshape((6,))])
    1
    """
    return sum(
        _needs_shuffle(run[0]) for run in group_into_shuffles(_fuse_moves(shape, moves), lambda applied: applied[1])
    )


def _needs_shuffle(applied: AppliedMove) -> bool:
    before, move = applied
    if isinstance(move, StridedSlice):
        return None in move.sizes
    if isinstance(move, Expand):
        return len(move.shape) > len(before)
    return not isinstance(move, (Roll, Take, ShapeVector, Combine))


def _fuse_moves(shape: Shape, moves: Iterable[Move]) -> list[AppliedMove]:
    """Fuse consecutive moves of the same kind, and drop moves without effect.

    Only transposes and reshapes are fused.
    """
    result: list[AppliedMove] = []
    for move in moves:
        applied, shape = (shape, move), move.output_shape(shape)
        fused = _fuse_same_kind(result[-1], applied) if result else None
        if fused:
            result.pop()
        if not _is_no_op(fused or applied):
            result.append(fused or applied)
    return result


def _fuse_same_kind(first: AppliedMove, second: AppliedMove) -> AppliedMove | None:
    """Fuse two transposes or two reshapes into one move.

    Returns None for other moves, and for reshapes of an empty tensor.
    """
    (before, first_move), (_, second_move) = first, second
    if isinstance(first_move, Permute) and isinstance(second_move, Permute):
        return before, Permute(tuple([first_move.axes[axis] for axis in second_move.axes]))
    if isinstance(first_move, Reshape) and isinstance(second_move, Reshape) and 0 not in before:
        return before, second_move
    return None


def _is_no_op(applied: AppliedMove) -> bool:
    before, move = applied
    if isinstance(move, Permute):
        return move.axes == tuple(range(len(before)))
    if isinstance(move, StridedSlice):
        return move.sizes == before and all(step == 1 for step in move.steps)
    return isinstance(move, (Reshape, Expand)) and move.shape == before


def _dominates(larger: Shape, smaller: Shape) -> bool:
    """Return whether each dim of `smaller` has a partner in `larger`.

    A partner is a dim that is at least as large; the partners of different dims are different. If all partners exist,
    the sum of `larger` is at least the sum of `smaller` for all symbolic sizes.
    """
    remaining = list(larger)
    for dim in smaller:
        bound = next((other for other in remaining if is_at_least_one(monomial(quotient(other, dim)))), None)
        if bound is None:
            return False
        remaining.remove(bound)
    return True


def compute_cost(shape: Shape, moves: Iterable[Move], known: Assumptions, itemsize: int) -> Cost:
    """Compute the cost of moves on a tensor of `shape`.

    `known` are the conditions on the symbolic sizes, and `itemsize` is the size of an element in bytes.

    >>> from shapecalc.core.conditions import Assumptions
    >>> from shapecalc.core.moves import Reshape
    >>> print(compute_cost((2, 3), [Permute((1, 0)), Reshape((6,))], Assumptions(), 4))
    1 transpose, 1 Shuffle, 48 bytes
    """
    moves = tuple(moves)
    transposes = sum(isinstance(move, Permute) for move in moves)
    copies = tuple([product((2 * itemsize, volume)) for volume in _iter_copy_sizes(shape, moves, known)])
    return Cost(transposes, count_shuffles(shape, moves), copies)


def _iter_copy_sizes(shape: Shape, moves: Iterable[Move], known: Assumptions) -> Iterator[Dim]:
    """Yield the element count of each copy.

    A move copies if its output is not a strided view of its input.
    """
    strides: Shape | None = None  # None means C order
    for move in moves:
        after = move.output_shape(shape)
        if 0 in (*shape, *after) or isinstance(move, ShapeVector | Combine):
            return
        if strides is not None or not isinstance(move, Reshape | Roll | Take):
            strides = strides_after_move(shape, contiguous_strides(shape) if strides is None else strides, move, known)
            copies = strides is None
        else:
            copies = isinstance(move, Roll | Take)
        if copies:
            yield product(after if isinstance(move, Take) else shape)
        shape = after


def parse_goal(name: str) -> Goal:
    """Look up a goal by name.

    Raises `ShapeError` (usage) for an unknown name.
    """
    return lookup(name, {goal.value: goal for goal in Goal}, "goal")
