"""Layers: stages in runs that one Shuffle of TensorRT can do, and how many Shuffles a row of stages takes.

A Shuffle transposes, reshapes and transposes; each of the three may be left out. Source: TensorRT's operator document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, pairwise
from typing import Any, TypeVar

from shapecalc.core import layout
from shapecalc.core.answers import Chain, Request, Trace
from shapecalc.core.commands import chain_text
from shapecalc.core.conditions import Conditions, Known, is_at_least_one
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Zero, bytes_of
from shapecalc.core.dims import Dim, Shape, monomial, names, plain_sum, product, quotient, total
from shapecalc.core.equiv import stands_for
from shapecalc.core.find import order_of
from shapecalc.core.fixing import answer_chain
from shapecalc.core.layout import Atom, Atoms, Axes, View, axes_of, contiguous_strides, merge, view_of
from shapecalc.core.moves import Combine, Dims, Expand, Move, Permute, Pick, Reshape, Roll, Take
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.ops.view import view_after
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Choice, Record, replace
from shapecalc.core.resolve import resolve_chain
from shapecalc.core.text import lookup, number_text

ONE_SHUFFLE = frozenset({"p", "r", "pr", "rp", "prp"})
"""What one Shuffle does: transposes (p) and a reshape (r)."""

MOST_DIMS = DIALECTS["tensorrt"].max_rank or 0
"""The most dims of a tensor that goes through a Shuffle."""


def runs(items: Iterable[Entry], move_of: Callable[[Entry], Move | None]) -> list[list[Entry]]:
    """Return the items in runs: each is what one Shuffle can do, or a single item of another kind.

    >>> rows = runs([Permute((1, 0)), Reshape((6,)), Permute((0,)), Reshape((2, 3))], lambda move: move)
    >>> [len(row) for row in rows]
    [3, 1]
    """
    made: list[list[Entry]] = []
    letters = ""
    for item in items:
        move = move_of(item)
        letters += "p" if isinstance(move, Permute) else "r" if isinstance(move, Reshape) else "-"
        if letters in ONE_SHUFFLE and len(letters) > 1:
            made[-1].append(item)
        else:
            made.append([item])
            letters = letters[-1]
    return made


def shuffles(shape: Shape, moves: Iterable[Move]) -> int:
    """Return how many Shuffles a tensor of `shape` takes on its way through the moves.

    New dims before an expand take one, and so do axes of which one position is left.

    >>> shuffles((2, 3), [Permute((1, 0)), Permute((1, 0))]), shuffles((2, 3), [Permute((1, 0)), Reshape((6,))])
    (0, 1)
    """
    return sum(_takes_shuffle(run[0]) for run in runs(_folded(shape, moves), lambda placed: placed[1]))


def _takes_shuffle(placed: Placed) -> bool:
    before, move = placed
    if isinstance(move, Pick):
        return None in move.sizes
    if isinstance(move, Expand):
        return len(move.shape) > len(before)
    return not isinstance(move, (Roll, Take, Dims, Combine))


def _folded(shape: Shape, moves: Iterable[Move]) -> list[Placed]:
    """Return the moves with neighbours of one kind as one, and without those that change nothing."""
    made: list[Placed] = []
    for move in moves:
        placed, shape = (shape, move), move.after(shape)
        both = _both(made[-1], placed) if made else None
        if both:
            made.pop()
        if not _is_idle(both or placed):
            made.append(both or placed)
    return made


def _both(first: Placed, second: Placed) -> Placed | None:
    """Return two moves as one; None if they are not of one kind, or a reshape of a tensor that holds nothing."""
    (before, one), (_, two) = first, second
    if isinstance(one, Permute) and isinstance(two, Permute):
        return before, Permute(tuple([one.axes[axis] for axis in two.axes]))
    if isinstance(one, Reshape) and isinstance(two, Reshape) and 0 not in before:
        return before, two
    return None


def _is_idle(placed: Placed) -> bool:
    """Say whether a move changes nothing."""
    before, move = placed
    if isinstance(move, Permute):
        return move.axes == tuple(range(len(before)))
    if isinstance(move, Pick):
        return move.sizes == before and all(step == 1 for step in move.steps)
    return isinstance(move, (Reshape, Expand)) and move.shape == before


Entry = TypeVar("Entry")
Placed = tuple[Shape, Move]
"""The shape of a tensor, and a move that is made of it."""


# Costs: how many transposes and Shuffles a chain takes, and how many bytes the stages that copy read and write.
#
# A stage copies if the tensor after it is no strided view of the last buffer, and a roll always does.


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
    def bytes(self) -> object:
        """The bytes of all copies: a number, or a text of monomials.

        >>> Cost(2, 1, (48, 48)).bytes
        96
        """
        return plain_sum(total(self.copies)) or 0

    def __str__(self) -> str:
        transposes = number_text(self.transposes, "transpose", "transposes")
        return f"{transposes}, {number_text(self.shuffles, 'Shuffle', 'Shuffles')}, {self.bytes} bytes"

    def as_json(self) -> dict[str, object]:
        """Return the cost as the JSON object that the command line documents."""
        return {"transposes": self.transposes, "shuffles": self.shuffles, "bytes": self.bytes}

    def is_at_most(self, other: Cost, goal: Goal) -> bool:
        """Say whether this is sure to be no more than another, as a goal counts.

        >>> Cost(1, 2, ()).is_at_most(Cost(2, 1, ()), Goal.TRANSPOSES)
        True
        """
        if goal is Goal.BYTES:
            return _covers(other.copies, self.copies)
        ours, theirs = (getattr(cost, goal.value) for cost in (self, other))
        return bool(ours <= theirs)


def _covers(more: Shape, less: Shape) -> bool:
    """Say whether some dims sum up to at least as much as others for all sizes: each is at most one of its own."""
    left = list(more)
    for dim in less:
        found = next((each for each in left if is_at_least_one(monomial(quotient(each, dim)))), None)
        if found is None:
            return False
        left.remove(found)
    return True


def cost_of(shape: Shape, moves: Iterable[Move], known: Known, item: int) -> Cost:
    """Return what moves of a tensor of `shape` take, if one element has `item` bytes.

    >>> from shapecalc.core.conditions import Known
    >>> from shapecalc.core.moves import Reshape
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
        if 0 in (*shape, *after) or isinstance(move, Dims | Combine):
            return
        if strides is not None or not isinstance(move, Reshape | Roll | Take):
            strides = view_after(shape, contiguous_strides(shape) if strides is None else strides, move, known)
            copies = strides is None
        else:
            copies = isinstance(move, Roll | Take)
        if copies:
            yield product(after if isinstance(move, Take) else shape)
        shape = after


# Forms: the short ways to write what a chain does, made from the atoms of its output.
#
# Axes that mix nothing are a reshape that splits, a transpose, and a reshape that merges, each left out where it does
# nothing. A Shuffle of TensorRT may transpose before its reshape, too: one is enough exactly if the atoms that follow
# each other within an axis of the input or of the output form paths that share nothing. Repeated axes come last.


def forms(before: Shape, axes: Axes, after: Shape, known: Known, *, shuffled: bool = False) -> Iterator[Moves]:
    """Yield moves that make axes of `after`, which hold all atoms of a tensor of shape `before`; none if axes mix.

    The first are of the fewest stages; `shuffled` asks for what one Shuffle can do, too.

    >>> from shapecalc.core.layout import view_through
    >>> from shapecalc.core.conditions import Known
    >>> moves = [Permute((1, 0)), Reshape((3, 1, 2)), Permute((2, 1, 0))]
    >>> list(forms((2, 3), view_through((2, 3), moves, Known()).axes, (2, 1, 3), Known()))
    [(Reshape(shape=(2, 1, 3)),)]
    """
    if 0 in after:
        yield from [_reshape(before, after)] if 0 in before else []
        return
    if any(atom.base for axis in axes for atom in axis):
        return
    axes, thin, wide = _before_repeat(axes, after)
    added = next((place for place, dim in enumerate(wide) if dim == thin[place]), len(wide))
    for first in dict.fromkeys((0, added)):  # the repeat can add the first axes itself
        repeat = () if thin[first:] == wide else (Expand(wide),)
        for moves in _unrepeated(before, axes[first:], thin[first:], known, shuffled):
            yield (*moves, *repeat, *_reshape(wide, after))


def forms_alone(before: Shape, move: Move) -> Iterator[Moves]:
    """Yield what stands for a single move that puts nothing elsewhere: a reshape, or no move at all."""
    if not isinstance(move, Permute | Reshape | Expand):
        return
    after = move.after(before)
    moving = [axis for axis in move.axes if before[axis] != 1] if isinstance(move, Permute) else []
    if (after == before or isinstance(move, Permute)) and moving == sorted(moving):
        yield _reshape(before, after)


def _reshape(before: Shape, after: Shape) -> tuple[Reshape, ...]:
    return () if before == after else (Reshape(after),)


def _transpose(axes: Order) -> tuple[Permute, ...]:
    return () if list(axes) == sorted(axes) else (Permute(tuple(axes)),)


def _before_repeat(axes: Axes, after: Shape) -> tuple[Axes, Shape, Shape]:
    """Return the axes and the shape before dims of 1 are repeated, and the shape after.

    An axis that is repeated in part is split into its atoms.
    """
    whole = all(len(axis) < 2 or all(atom.stride != 0 for atom in axis) for axis in axes)
    if not whole:
        axes = tuple([(atom,) if atom else () for axis in axes for atom in axis or (None,)])
        after = tuple([axis[0].size if axis else 1 for axis in axes])
    kept = tuple([tuple([atom for atom in axis if atom.stride != 0]) for axis in axes])
    thin = tuple([dim if left or not axis else 1 for dim, axis, left in zip(after, axes, kept, strict=True)])
    return kept, thin, after


def _unrepeated(before: Shape, axes: Axes, after: Shape, known: Known, shuffled: bool) -> Iterator[Moves]:
    """Yield moves to axes that repeat nothing: those of the fewest stages, and a Shuffle's."""
    column = merge(chain(*axes))
    if len(column) < 2:
        yield _reshape(before, after)
        return
    row = _in_order(column)
    if row:
        order = _whole_axes(before, column)
        first = order and _moved_first(before, order, after)
        ways = [_moved_last(axes, before, after), first, _moved_between(before, row, column, after)]
        yield min([way for way in ways if way], key=len)
        if shuffled:
            yield from _shuffled(before, axes, after, known)


def _in_order(atoms: Atoms) -> Atoms | None:
    """Return atoms as they lie in the input; None if they do not fill it."""
    waiting = {atom.stride: atom for atom in atoms}
    row, stride = list[Atom](), 1
    while stride in waiting:
        row.append(waiting.pop(stride))
        stride = product((stride, row[-1].size))  # type: ignore[assignment]
    return tuple(row[::-1]) if len(row) == len(atoms) else None


def _moved_between(before: Shape, row: Atoms, column: Atoms, after: Shape) -> Moves:
    """Return a split, a transpose, and a merge."""
    split, moved = (tuple([atom.size for atom in atoms]) for atoms in (row, column))
    return (*_reshape(before, split), Permute(order_of(row, column)), *_reshape(moved, after))


def _end(atom: Atom) -> Dim:
    return product((atom.size, atom.stride))


def _covering(atom: Atom, ends: Mapping[Dim, tuple[Item, Dim]]) -> list[Item] | None:
    """Return the items that fill an atom, the outermost first; None if they do not.

    Each item has its stride, and stands under where it ends: at its size times its stride.
    """
    found: list[Item] = []
    end = _end(atom)
    while end != atom.stride:
        if end not in ends or len(found) == len(ends):
            return None  # the second is of names that are equal and not known to be: `C/H` with `H/C`
        item, end = ends[end]
        found.append(item)
    return found


def _whole_axes(before: Shape, column: Atoms) -> list[int] | None:
    """Return the axes of the input, but for those of 1, in the order of a column; None if it cuts through one."""
    ends = {_end(atom): (axis, atom.stride) for axis, atoms in enumerate(axes_of(before)) for atom in atoms}
    order = list[int]()
    for atom in column:
        covering = _covering(atom, ends)
        if covering is None:
            return None
        order += covering
    return order if sorted(order) == [axis for axis, dim in enumerate(before) if dim != 1] else None


def _moved_first(before: Shape, order: Order, after: Shape) -> Moves:
    """Return a transpose to an order of the axes that are not 1, and a reshape if that is not all."""
    ones = [axis for axis, dim in enumerate(before) if dim == 1]
    is_all = len(ones) == after.count(1) and [before[axis] for axis in order] == [dim for dim in after if dim != 1]
    moving, still = iter(order), iter(ones)
    perm = tuple([next(still) if dim == 1 else next(moving) for dim in (after if is_all else before)])
    return (Permute(perm), *_reshape(tuple([before[axis] for axis in perm]), after))


def _moved_last(axes: Axes, before: Shape, after: Shape) -> Moves | None:
    """Return a reshape, and a transpose to the output's own axes, if that is all."""
    if any(len(axis) > 1 for axis in axes):
        return None
    outs = {axis[0]: out for out, axis in enumerate(axes) if axis}
    row = _in_order(tuple(outs))
    if row is None or len(row) < sum(map(len, axes)):
        return None
    moving = iter([outs[atom] for atom in row])
    order = [next(moving) if axis else out for out, axis in enumerate(axes)]
    split = tuple([after[out] for out in order])
    return (*_reshape(before, split), Permute(order_of(order, range(len(order)))))


def _shuffled(before: Shape, axes: Axes, after: Shape, known: Known) -> Iterator[Moves]:
    """Yield the transpose, reshape and transpose that one Shuffle can do, if there are any."""
    row = _in_order(tuple(chain(*axes)))
    units = _units(before, row, known) if row else []
    ends = {_end(atom): (atom, atom.stride) for _, atoms in units for atom in atoms}
    parts = [[part for atom in axis for part in _covering(atom, ends) or ()] for axis in axes]
    path = _path([*(atoms for _, atoms in units), *parts])
    if not path:
        return
    place = {atom: at for at, atom in enumerate(path)}
    first = [axis for together, _ in sorted(units, key=lambda each: place[each[1][0]]) for axis in together]
    filled = iter(sorted((out for out, part in enumerate(parts) if part), key=lambda out: place[parts[out][0]]))
    middle = [next(filled) if part else out for out, part in enumerate(parts)]
    moved, shape = tuple([before[axis] for axis in first]), tuple([after[out] for out in middle])
    yield (*_transpose(first), *_reshape(moved, shape), *_transpose(order_of(middle, range(len(middle)))))


def _units(before: Shape, row: Atoms, known: Known) -> list[tuple[list[int], list[Atom]]]:
    """Return neighbouring axes of the input that stay together, with their atoms, cut where an axis ends inside one.

    Axes that end inside of atoms and cannot cut them stay with the next axis.
    """
    units, left = list[tuple[list[int], list[Atom]]](), list(row[::-1])
    axes, atoms, rest = list[int](), list[Atom](), product(())
    for axis, dim in enumerate(before):
        axes.append(axis)
        rest = product((rest, dim))
        while rest != 1 and left and known.divides(left[-1].size, rest):
            atoms.append(left.pop())
            rest = quotient(rest, atoms[-1].size)
        if rest != 1 and left and known.divides(rest, left[-1].size):
            atom = left.pop()
            inner = quotient(atom.size, rest)
            left.append(Atom(inner, atom.stride))
            atoms.append(Atom(rest, product((atom.stride, inner))))
            rest = 1
        if rest == 1 and atoms:
            units.append((axes, atoms))
            axes, atoms = [], []
    last_axes, last_atoms = units.pop() if units else ([], [])
    return [*units, (last_axes + axes, last_atoms + atoms)]


def _path(rows: Iterable[Sequence[Atom]]) -> list[Atom] | None:
    """Return atoms in an order in which each row stands together; None if there is none."""
    following, leading = dict[Atom, Atom](), dict[Atom, Atom]()
    atoms = dict[Atom, None]()
    for row in rows:
        atoms |= dict.fromkeys(row)
        for one, other in pairwise(row):
            if following.setdefault(one, other) != other or leading.setdefault(other, one) != one:
                return None
    path = list[Atom]()
    for atom in atoms:
        step = None if atom in leading else atom
        while step:
            path.append(step)
            step = following.get(step)
    return path if len(path) == len(atoms) else None


Moves = tuple[Move, ...]
Order = Sequence[int]
Item = TypeVar("Item")


# Moves as requests, in the words of a chain: its dialects, opsets, element types and switches.


class Words:
    """What the stages of a chain are written in."""

    def __init__(self, chain: Chain) -> None:
        """Keep the first request of each dialect; the dialect of the most stages comes first."""
        requests = [trace.request for trace in chain.traces]
        said = [request.dialect for request in requests]
        order = sorted(dict.fromkeys(said), key=lambda name: -said.count(name))
        self.models = {name: requests[said.index(name)] for name in order}
        self.has_shuffles = any(request.op == "shuffle" for request in requests)

    def stages(self, moves: Sequence[Move]) -> list[list[Move]]:
        """Return moves as they are written, stage by stage: a Shuffle's together if the chain has Shuffles."""
        return runs(moves, lambda move: move) if self.has_shuffles else [[move] for move in moves]

    def requests(self, shape: Shape, moves: Sequence[Move]) -> list[Request] | None:
        """Return the requests that ask for moves of a tensor of `shape`; None if one of them cannot be asked for."""
        made = list[Request]()
        for stage in self.stages(moves):
            request = self._request(shape, stage)
            if request is None:
                return None
            made.append(request)
            for move in stage:
                shape = move.after(shape)
        return made

    def _request(self, shape: Shape, stage: Sequence[Move]) -> Request | None:
        """Return the request for one stage."""
        first = stage[0]
        op = "transpose" if isinstance(first, Permute) else "expand" if isinstance(first, Expand) else "reshape"
        op = "shuffle" if self.has_shuffles and op != "expand" else op
        dialect = next((name for name in self.models if operator_of(OPS[op], DIALECTS[name])), OPS[op].default_dialect)
        model = self.models.get(dialect)
        arguments: dict[str, Any] = {}
        for move in stage:
            if isinstance(move, Permute):
                arguments["perm" if op != "shuffle" else "second" if arguments else "first"] = move.axes
            elif isinstance(move, (Reshape, Expand)):
                target = _target(shape, move, dialect)
                if target is None:
                    return None
                arguments["to" if op == "shuffle" else "target"] = target
            shape = move.after(shape)
        opset, dtype, switch = (model.opset, model.dtype, model.switch) if model else (None, None, None)
        literal = any(isinstance(move, Reshape) and 0 in move.shape for move in stage)
        switch = _switch(op, dialect, switch, literal=literal)
        return Request(op, (), arguments, dialect, opset, dtype, switch)


def _target(shape: Shape, move: Reshape | Expand, dialect: str) -> Shape | None:
    """Return the dims to request; None if several are sizes nobody knows, which no request can write."""
    unknown = [place for place, dim in enumerate(move.shape) if any(name.startswith("?") for name in names((dim,)))]
    if not unknown:
        return move.shape
    copies = DIALECTS[dialect].readings[DIALECTS[dialect].settings()[0]].zero is Zero.COPIES
    if isinstance(move, Expand):
        return None
    dims = list(move.shape)
    for place in unknown:
        dims[place] = 0 if copies and place < len(shape) and shape[place] == dims[place] else -1
    return tuple(dims) if dims.count(-1) < 2 else None


def _switch(op: str, dialect: str, asked: bool | None, *, literal: bool) -> bool | None:
    """Return the setting of a dialect's switch for a stage; `literal` asks for the one that takes 0 for a size."""
    row = DIALECTS[dialect]
    if row.switch is None or not OPS[op].switched:
        return None
    wanted = row.switch.default if asked is None else asked
    if literal or wanted is None:
        wanted = next(on for on, reading in row.readings.items() if reading.zero is Zero.LITERAL)
    return None if wanted == row.switch.default else wanted


# Simplification: an equal chain with the fewest transposes, Shuffles or bytes moved, and then the fewest stages.
#
# Neighbouring stages are exchanged for one of the forms of what they do together, wherever that makes the chain
# shorter. Stages that together leave elements out or begin elsewhere stay as they are, and so do those between which
# axes mix. What is found is answered and proved like any other chain; if it cannot be, the chain stays.


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
        costs = {"before": self.before.as_json(), "after": self.after.as_json()}
        return {"chain": self.text, **costs, "proved": self.proved, "problem": None}


class Section(Record):
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
    ('N,C,H', 2, 0)
    """
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    traces = answer.traces
    dtype = dtype or next((trace.request.dtype for trace in traces if trace.request.dtype), "float32")
    chain = Chain(answer.input, traces, answer.output, None, answer.conditions).assuming(lambda: answer.assumes)
    return _Search(chain, goal, bytes_of(dtype)).simplification()


class _Search:
    """A chain while shorter ones are looked for, with what its conditions settle put in for names."""

    def __init__(self, chain: Chain, goal: Goal, item: int) -> None:
        self.chain, self.goal, self.item = chain, goal, item
        moved = [(trace, trace.moves) for trace in chain.traces]
        dims = [dim for trace, moves in moved for shape in (trace.input, *map(_shape_of, moves)) for dim in shape]
        self.known = Known(dict.fromkeys(dims), chain.conditions)
        self.words = Words(chain)
        written = [layout.Moves(trace.input, moves).rewritten(self.known.settled) for trace, moves in moved]
        self.pieces = tuple(
            [Section(each.input, each.moves, (trace,), True) for each, trace in zip(written, chain.traces, strict=True)]
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

    def _cost(self, plan: Sections) -> Cost:
        moves = [move for piece in plan for move in piece.moves]
        return cost_of(plan[0].before if plan else (), moves, self.known, self.item)

    def _count(self, plan: Sections) -> int:
        """Return how many stages a plan is written in."""
        return sum(1 if piece.kept else len(self.words.stages(piece.moves)) for piece in plan)

    def _plan(self) -> Sections:
        """Return the pieces that weigh least between those that stay."""
        spans = [tuple(span) for _, span in groupby(self.pieces, _can_be_exchanged)]
        return tuple(chain(*(self._shortest(span) if _can_be_exchanged(span[0]) else span for span in spans)))

    def _shortest(self, span: Sections) -> Sections:
        """Return the pieces that do what a span does and weigh least; of as many, the fewest that are new."""
        best: dict[int, tuple[Weight, Sections]] = {0: ((0, 0, 0), ())}
        for start, piece in enumerate(span):
            sum_, pieces = best[start]
            for stop, each in [(start + 1, piece), *self._exchanges(span, start)]:
                stages = self._count((each,))
                weight = sum_[0] + _weight(each, self.goal), sum_[1] + stages, sum_[2] + stages * (not each.kept)
                if stop not in best or weight < best[stop][0]:
                    best[stop] = weight, (*pieces, each)
        return best[len(span)][1]

    def _exchanges(self, span: Sections, start: int) -> Iterator[tuple[int, Section]]:
        """Yield pieces that do what the stages from one on do together, each with the stage that comes after them."""
        known, before = self.known, span[start].before
        empty, shape = 0 in before, before
        view = View(()) if empty else view_of(before)
        for stop, piece in enumerate(span[start:], start + 1):
            for move in piece.moves:
                if not empty and 0 in move.after(shape):
                    return
                view, shape = view if empty else view.after(move, shape, known), move.after(shape)
            if stop - start > (WIDEST if start else len(self.pieces) if view.is_plain else LONGEST):
                return
            made: Iterable[Moves] = ()
            if stop == start + 1 and len(piece.moves) == 1:
                made = forms_alone(before, piece.moves[0])
            elif stop - start <= WIDEST or stop == len(span):
                made = self._forms(before, view, shape)
            traces = tuple([each.traces[0] for each in span[start:stop]])
            yield from ((stop, Section(before, moves, traces)) for moves in made)

    def _forms(self, before: Shape, view: View, after: Shape) -> Iterable[Moves]:
        """Return the short ways to make a view; none if it does not begin at the first element."""
        view = view.normal(self.known)
        if view.offset or not view.is_plain:
            return ()
        return forms(before, view.axes, after, self.known, shuffled=self.goal is Goal.SHUFFLES)

    def _proved(self, plan: Sections) -> Chain | None:
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

    def _answer(self, plan: Sections) -> Chain | None:
        """Return the answer to a plan; None if it cannot be asked."""
        requests: list[Request] = []
        for piece in plan:
            made = [piece.traces[0].request] if piece.kept else self.words.requests(piece.before, piece.moves)
            if made is None:
                return None
            requests += made
        given = [replace(request, input=self.chain.input) for request in requests[:1]]
        return resolve_chain([*given, *requests[1:]]) if given else answer_chain(self.chain.input, (), {})


def _part(shape: Shape, traces: tuple[Trace, ...], conditions: Conditions) -> Chain:
    """Return some ops of a chain as a chain, which is defined where the whole one is."""
    return Chain(shape, traces, traces[-1].output if traces else shape, None, conditions)


def _shape_of(move: Move) -> Shape:
    """Return the dims that a move names."""
    return move.shape if isinstance(move, Reshape | Expand) else ()


def _can_be_exchanged(piece: Section) -> bool:
    """Say whether a piece only moves the elements of one tensor."""
    return not any(isinstance(move, Dims | Combine) for move in piece.moves)


def _widest(pieces: Sections) -> int:
    """Return the most dims that a tensor on the way through pieces has."""
    return max([len(shape) for piece in pieces for shape in (piece.before, *map(_shape_of, piece.moves))], default=0)


def _weight(piece: Section, goal: Goal) -> int:
    if goal is Goal.SHUFFLES:
        return shuffles(piece.before, piece.moves)
    return sum(isinstance(move, Permute) for move in piece.moves)


Sections = tuple["Section", ...]
Weight = tuple[int, int, int]
