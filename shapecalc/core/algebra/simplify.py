"""Simplification: an equal chain with the fewest transposes, Shuffles or bytes moved, and then the fewest stages.

Neighbouring stages are exchanged for one of the forms of what they do together, wherever that makes the chain shorter.
Stages that together leave elements out or begin elsewhere stay as they are, and so do those between which axes mix.
What is found is answered and proved like any other chain; if it cannot be, the chain stays.
"""

from __future__ import annotations

from itertools import groupby, islice

from shapecalc.core.algebra.costs import Cost, Goal, cost_of
from shapecalc.core.algebra.equiv import stands_for
from shapecalc.core.algebra.forms import forms, forms_alone
from shapecalc.core.algebra.layers import MOST_DIMS, shuffles
from shapecalc.core.algebra.premises import Premises
from shapecalc.core.algebra.restated import Words
from shapecalc.core.answers.moves import Expand, Permute, Pick, Reshape, Slice
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.answers.views import View, view_of
from shapecalc.core.asking.command_line import chain_text
from shapecalc.core.asking.resolve import resolve_chain
from shapecalc.core.dialects.element_types import bytes_of
from shapecalc.core.sizes.dims import rewrite
from shapecalc.core.sizes.lookup import lookup
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shapecalc.core.answers.moves import Move
    from shapecalc.core.answers.request import Request
    from shapecalc.core.sizes.conditions import Conditions
    from shapecalc.core.sizes.dims import Shape

    Moves = tuple[Move, ...]
    Pieces = tuple["Piece", ...]
    Weight = tuple[int, int, int]

__all__ = ["Cost", "Goal", "Simplification", "goal_called", "simplify"]

WIDEST = 8
"""The most neighbouring stages that are exchanged at once, unless they are all there are."""
LONGEST = 64
"""The most stages that are exchanged at once, though they are all there are, if axes mix or roll on the way."""


class Simplification(Record):
    """A chain, and the shortest one that is found to be equal to it."""

    chain: Chain
    """The short chain; the one that was asked about if none is shorter."""
    before: Cost
    after: Cost
    shorter: bool
    """Whether it is another chain than the one that was asked about."""
    proved: bool = True
    """Whether it is proved to be equal wherever the one that was asked about is defined."""

    @property
    def text(self) -> str:
        """The short chain as it is typed."""
        return chain_text(self.chain)

    def as_json(self) -> dict[str, object]:
        """Return it as the JSON object that the command line documents."""
        return {
            "chain": self.text,
            "before": self.before.as_json(),
            "after": self.after.as_json(),
            "proved": self.proved,
            "problem": None,
        }


class Piece(Record):
    """A part of a chain: one of its ops as it was asked, or moves that stand for some of them."""

    before: Shape
    moves: Moves
    traces: tuple[Trace, ...]
    """The ops that it is, or stands for."""
    kept: bool = False


def goal_called(name: str) -> Goal:
    """Return the goal of a name; raise `ShapeError` (usage) if there is none."""
    return lookup(name, {goal.value: goal for goal in Goal}, "goal")


def simplify(answer: Trace | Chain, goal: Goal = Goal.TRANSPOSES, dtype: str | None = None) -> Simplification:
    """Return the shortest chain that is found to do the same as an answer, wherever that is defined.

    `dtype` is NumPy's name of the element type, whose size counts in bytes; by default the request's own, or float32.
    Raises `ShapeError`: the problem of an answer that is refused; usage for a type whose elements have no fixed size.

    >>> import shapecalc as sc
    >>> found = simplify(sc.chain("N,C,H", "transpose 2,0,1", "transpose 1,2,0"))
    >>> found.text, found.before.transposes, found.after.transposes
    ('N,C,H | reshape N,C,H', 2, 0)
    """
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    traces = answer.traces
    dtype = dtype or next((trace.request.dtype for trace in traces if trace.request.dtype), "float32")
    chain = Chain(answer.input, traces, answer.output, None, answer.conditions, lambda: answer.assumes)
    return _Search(chain, goal, bytes_of(dtype)).simplification()


class _Search:
    """A chain while shorter ones are looked for, with what its conditions settle put in for names."""

    def __init__(self, chain: Chain, goal: Goal, item: int) -> None:
        self.chain, self.goal, self.item = chain, goal, item
        moved = [(trace, trace.moves) for trace in chain.traces]
        dims = [dim for trace, moves in moved for shape in (trace.input, *map(_shape_of, moves)) for dim in shape]
        self.premises = Premises(dict.fromkeys(dims), chain.conditions)
        self.words = Words(chain)
        self.pieces = tuple(
            [
                Piece(self._put_in(trace.input), tuple(map(self._settled, moves)), (trace,), True)
                for trace, moves in moved
            ]
        )

    def simplification(self) -> Simplification:
        """Return the plan if it is shorter, and can be answered and proved; otherwise the chain itself."""
        before, plan = self._cost(self.pieces), self._plan()
        if all(piece.kept for piece in plan):
            return Simplification(self.chain, before, before, shorter=False)
        after = self._cost(plan)
        fewer = self._count(plan) < len(self.pieces) or not before.is_at_most(after, self.goal)
        if self.goal is Goal.SHUFFLES:
            fewer = fewer or _widest(self.pieces) > MOST_DIMS >= _widest(plan)
        proved = self._proved(plan) if fewer and after.is_at_most(before, self.goal) else None
        if proved is None:
            return Simplification(self.chain, before, before, shorter=False)
        again = _Search(proved, self.goal, self.item)
        after = again._cost(again.pieces)  # which may be more: it is defined for more sizes
        if not after.is_at_most(before, self.goal):
            return Simplification(self.chain, before, before, shorter=False)
        moving = [piece for piece in plan if piece.moves]
        if len(moving) > 1 and not all(piece.kept for piece in moving):  # a new piece may go on to its neighbours
            found = again.simplification()
            proved, after = found.chain, found.after
        return Simplification(proved, before, after, shorter=True)

    def _put_in(self, shape: Shape) -> Shape:
        settled = self.premises.settled
        return tuple([rewrite(dim, settled) for dim in shape]) if settled else shape

    def _settled(self, move: Move) -> Move:
        if isinstance(move, Reshape | Expand):
            return type(move)(self._put_in(move.shape))
        if isinstance(move, Pick):
            sizes = [None if size is None else rewrite(size, self.premises.settled) for size in move.sizes]
            return Pick(self._put_in(move.starts), move.steps, tuple(sizes))
        return move

    def _cost(self, plan: Pieces) -> Cost:
        moves = [move for piece in plan for move in piece.moves]
        return cost_of(self.pieces[0].before, moves, self.premises.known, self.item)

    def _count(self, plan: Pieces) -> int:
        """Return how many stages a plan is written in."""
        return sum(1 if piece.kept else len(self.words.stages(piece.moves)) for piece in plan)

    def _plan(self) -> Pieces:
        """Return the pieces that weigh least between those that stay; at least one stage, since a chain has one."""
        spans = [tuple(span) for _, span in groupby(self.pieces, _can_be_exchanged)]
        plan = [piece for span in spans for piece in (self._shortest(span) if _can_be_exchanged(span[0]) else span)]
        if not any(piece.kept or piece.moves for piece in plan):
            plan[-1] = replace(plan[-1], moves=(Reshape(plan[-1].before),))
        return tuple(plan)

    def _shortest(self, span: Pieces) -> Pieces:
        """Return the pieces that do what a span does and weigh least; of as many, the fewest that are new."""
        best: dict[int, tuple[Weight, Pieces]] = {0: ((0, 0, 0), ())}
        for start, piece in enumerate(span):
            sum_, pieces = best[start]
            for stop, each in [(start + 1, piece), *self._exchanges(span, start)]:
                stages = self._count((each,))
                weight = sum_[0] + _weight(each, self.goal), sum_[1] + stages, sum_[2] + stages * (not each.kept)
                if stop not in best or weight < best[stop][0]:
                    best[stop] = weight, (*pieces, each)
        return best[len(span)][1]

    def _exchanges(self, span: Pieces, start: int) -> Iterator[tuple[int, Piece]]:
        """Yield pieces that do what the stages from one on do together, each with the stage that comes after them."""
        known, before = self.premises.known, span[start].before
        empty, shape = 0 in before, before
        view = View(()) if empty else view_of(before)
        for stop, piece in enumerate(span[start:], start + 1):
            for move in piece.moves:
                if not empty and 0 in move.after(shape):
                    return
                view, shape = view if empty else view.after(move, shape, known), move.after(shape)
            if stop - start > self._farthest(start, view):
                return
            made: Iterable[Moves] = ()
            if stop == start + 1 and len(piece.moves) == 1:
                made = forms_alone(before, piece.moves[0])
            elif stop - start <= WIDEST or stop == len(span):
                made = self._forms(before, view, shape)
            traces = tuple([each.traces[0] for each in span[start:stop]])
            yield from ((stop, Piece(before, moves, traces)) for moves in made)

    def _farthest(self, start: int, view: View) -> int:
        """Return how many stages from one on may be exchanged at once."""
        return WIDEST if start else len(self.pieces) if view.is_plain else LONGEST

    def _forms(self, before: Shape, view: View, after: Shape) -> Iterable[Moves]:
        """Return the short ways to make a view; none if it does not begin at the first element."""
        view = view.normal(self.premises.known)
        if view.offset or not view.is_plain:
            return ()
        return forms(before, view.axes, after, self.premises.known, shuffled=self.goal is Goal.SHUFFLES)

    def _proved(self, plan: Pieces) -> Chain | None:
        """Return the answer to a plan; None if it is refused, or a piece not proved to do what it stands for."""
        found = self._answer(plan)
        if found is None or found.problem:
            return None
        traces, shape = iter(found.traces), found.input
        for piece in plan:
            own = tuple(islice(traces, self._count((piece,))))
            theirs = _part(shape, own, found.conditions)
            ours = _part(piece.traces[0].input, piece.traces, self.chain.conditions)
            if not piece.kept and not stands_for(theirs, ours):
                return None
            shape = theirs.output or ()
        return found

    def _answer(self, plan: Pieces) -> Chain | None:
        """Return the answer to a plan; None if it cannot be asked."""
        requests: list[Request] = []
        for piece in plan:
            made = [piece.traces[0].request] if piece.kept else self.words.requests(piece.before, piece.moves)
            if made is None:
                return None
            requests += made
        return resolve_chain([replace(requests[0], input=self.chain.input), *requests[1:]])


def _part(shape: Shape, traces: tuple[Trace, ...], conditions: Conditions) -> Chain:
    """Return some ops of a chain as a chain, which is defined where the whole one is."""
    return Chain(shape, traces, traces[-1].output if traces else shape, None, conditions)


def _shape_of(move: Move) -> Shape:
    """Return the dims that a move names."""
    return move.shape if isinstance(move, Reshape | Expand) else ()


def _can_be_exchanged(piece: Piece) -> bool:
    """Say whether a piece moves elements, as all ops do but `shape`."""
    return not any(isinstance(move, Slice) for move in piece.moves)


def _widest(pieces: Pieces) -> int:
    """Return the most dims that a tensor on the way through pieces has."""
    return max([len(shape) for piece in pieces for shape in (piece.before, *map(_shape_of, piece.moves))], default=0)


def _weight(piece: Piece, goal: Goal) -> int:
    if goal is Goal.SHUFFLES:
        return shuffles(piece.before, piece.moves)
    return sum(isinstance(move, Permute) for move in piece.moves)
