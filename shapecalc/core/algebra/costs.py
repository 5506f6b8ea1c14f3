"""Costs: how many transposes and Shuffles a chain takes, and how many bytes the stages that copy read and write.

A stage copies if the tensor after it is no strided view of the last buffer, and a roll always does.
"""

from __future__ import annotations

from shapecalc.core.algebra.layers import shuffles
from shapecalc.core.answers.moves import Permute, Reshape, Roll, Slice
from shapecalc.core.answers.stage import plain
from shapecalc.core.answers.strides import contiguous_strides, view_after
from shapecalc.core.sizes.dims import Dim, Shape, monomial, product, quotient
from shapecalc.core.sizes.record import Choice, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shapecalc.core.answers.moves import Move
    from shapecalc.core.sizes.known import Known


class Goal(Choice):
    """What there is to be the fewest of."""

    TRANSPOSES = "transposes"
    SHUFFLES = "shuffles"
    BYTES = "bytes"


class Cost(Record):
    """What a chain takes."""

    transposes: int
    shuffles: int
    """How many of TensorRT's Shuffle layers."""
    copies: Shape
    """The bytes that each stage that copies reads and writes."""

    @property
    def bytes(self) -> Dim | str:
        """The bytes of all copies: a number, a monomial, or their sum as a text if no monomial can say it.

        >>> Cost(2, 1, (48, 48)).bytes
        96
        """
        like: dict[object, list[Dim]] = {}
        for dim in self.copies:
            like.setdefault(monomial(dim).powers, []).append(dim)
        sums = [_times(sum(monomial(dim).numerator for dim in dims), dims[0]) for dims in like.values()]
        return " + ".join(map(str, sums)) if len(sums) > 1 else sums[0] if sums else 0

    def __str__(self) -> str:
        transposes = "1 transpose" if self.transposes == 1 else f"{self.transposes} transposes"
        layers = "1 Shuffle" if self.shuffles == 1 else f"{self.shuffles} Shuffles"
        return f"{transposes}, {layers}, {self.bytes} bytes"

    def as_json(self) -> dict[str, object]:
        """Return the cost as the JSON object that the command line documents."""
        return {"transposes": self.transposes, "shuffles": self.shuffles, "bytes": plain(self.bytes)}

    def is_at_most(self, other: Cost, goal: Goal) -> bool:
        """Say whether this is sure to be no more than another, as a goal counts.

        >>> Cost(1, 2, ()).is_at_most(Cost(2, 1, ()), Goal.TRANSPOSES)
        True
        """
        if goal is Goal.BYTES:
            return _covers(other.copies, self.copies)
        if goal is Goal.SHUFFLES:
            return self.shuffles <= other.shuffles
        return self.transposes <= other.transposes


def _times(numerator: int, dim: Dim) -> Dim:
    """Return a dim with another numerator."""
    return quotient(product((numerator, dim)), monomial(dim).numerator)


def _covers(more: Shape, less: Shape) -> bool:
    """Say whether some dims sum up to at least as much as others for all sizes: each is at most one of its own."""
    left = list(more)
    for dim in less:
        found = next((each for each in left if _at_most(dim, each)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _at_most(dim: Dim, other: Dim) -> bool:
    ratio = monomial(quotient(other, dim))
    return ratio.numerator >= ratio.denominator and all(power > 0 for _, power in ratio.powers)


def cost_of(shape: Shape, moves: Iterable[Move], known: Known, item: int) -> Cost:
    """Return what moves of a tensor of `shape` take, if one element has `item` bytes.

    >>> from shapecalc.core.sizes.known import Known
    >>> from shapecalc.core.answers.moves import Reshape
    >>> print(cost_of((2, 3), [Permute((1, 0)), Reshape((6,))], Known(), 4))
    1 transpose, 1 Shuffle, 48 bytes
    """
    moves = tuple(moves)
    transposes = sum(isinstance(move, Permute) for move in moves)
    copies = tuple([product((2 * item, volume)) for volume in _copied(shape, moves, known)])
    return Cost(transposes, shuffles(shape, moves), copies)


def _copied(shape: Shape, moves: Iterable[Move], known: Known) -> Iterator[Dim]:
    """Yield how many elements each of the moves that copy takes."""
    strides: Shape | None = None
    """None for a tensor that lies in memory in C order."""
    for move in moves:
        after = move.after(shape)
        if 0 in (*shape, *after) or isinstance(move, Slice):
            return
        if strides is not None or not isinstance(move, Reshape | Roll):
            strides = view_after(shape, contiguous_strides(shape) if strides is None else strides, move, known)
            copies = strides is None
        else:
            copies = isinstance(move, Roll)
        if copies:
            yield product(shape)
        shape = after
