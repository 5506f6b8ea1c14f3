"""Simplification of a chain to an equivalent chain with the lowest cost.

The cost is the number of transposes, the number of Shuffles, or the number of bytes moved. Among chains of equal cost,
the one with the fewest stages is chosen. A TensorRT Shuffle is a transpose, a reshape and a transpose, each of them
optional. Source: TensorRT's operator documentation. A stage copies if its output is not a strided view of the last
buffer; a roll always copies.

Short forms are constructed from the atoms of a chain's output. If no axes mix, the short form is a reshape that splits,
a transpose, and a reshape that merges; each of the three is omitted if it has no effect. A Shuffle may also transpose
before its reshape. Link all atoms that are adjacent within an axis of the input or of the output: one Shuffle suffices
if and only if the links form disjoint paths. An expand comes last.

A window of neighbouring stages is replaced by a short form of its composition if that makes the chain shorter. Windows
that drop elements, change the offset or mix axes are retained. The resulting chain is resolved, and its equivalence to
the original chain is proved; if the proof fails, the original chain is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, pairwise
from typing import Any, TypeVar

from shapecalc.core import layout
from shapecalc.core.answers import Chain, Request, Trace
from shapecalc.core.conditions import Assumptions, Conditions
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ZeroMeaning, element_size
from shapecalc.core.dims import Dim, Shape, dim_names, product, quotient
from shapecalc.core.layout import (
    Atom,
    Atoms,
    StridedAxes,
    View,
    contiguous_axes,
    contiguous_view,
    merge_atoms,
)
from shapecalc.core.moves import Combine, Expand, Move, Permute, Reshape, ShapeVector
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import resolve_chain
from shapecalc.reading.commands import chain_text
from shapecalc.reasoning.answers import answer_chain
from shapecalc.reasoning.costs import MAX_SHUFFLE_RANK, Cost, Goal, cost_of, count_shuffles, group_into_shuffles
from shapecalc.reasoning.equiv import can_replace
from shapecalc.reasoning.find import find_permutation

Item = TypeVar("Item")
MoveSequence = tuple[Move, ...]
AxisOrder = Sequence[int]
Segments = tuple["ChainSegment", ...]
SegmentWeight = tuple[int, int, int]
"""The cost under the goal, the number of stages, and the number of new stages."""


MAX_WINDOW = 8
"""The maximum number of stages in a window that is not the whole chain."""

MAX_MIXED_WINDOW = 64
"""The maximum number of stages of a whole chain in which axes mix or roll."""


class Simplification(Record):
    """The cheapest equivalent chain that was found, with the costs of both chains."""

    chain: Chain
    """The simplified chain, or the original chain if none is better."""
    before: Cost
    after: Cost
    shorter: bool
    """Whether a cheaper or shorter chain was found."""
    proved: bool = True
    """Whether the chain provably equals the original where the original is defined."""

    def __bool__(self) -> bool:
        return self.shorter

    @property
    def text(self) -> str:
        """The simplified chain as a string."""
        return chain_text(self.chain)

    def as_json(self) -> dict[str, object]:
        """Return the simplification as the JSON object that the manual documents."""
        costs = {"before": self.before.as_json(), "after": self.after.as_json()}
        return {"chain": self.text, **costs, "proved": self.proved, "problem": None}


class ChainSegment(Record):
    """A segment of a chain: an original op, or moves that replace original ops."""

    before: Shape
    moves: MoveSequence
    traces: tuple[Trace, ...]
    """The original op, or the ops that the moves replace."""
    is_original: bool = False


def short_forms(
    before: Shape, axes: StridedAxes, after: Shape, known: Assumptions, *, for_shuffle: bool = False
) -> Iterator[MoveSequence]:
    """Yield short move sequences from a contiguous tensor to the given axes.

    `axes` contains all atoms of a tensor of shape `before`; `after` is the shape of the axes. Yields nothing if axes
    mix. The shortest sequences come first; if `for_shuffle`, the sequence of a single Shuffle follows.

    >>> from shapecalc.core.layout import view_after_moves
    >>> from shapecalc.core.conditions import Assumptions
    >>> moves = [Permute((1, 0)), Reshape((3, 1, 2)), Permute((2, 1, 0))]
    >>> list(short_forms((2, 3), view_after_moves((2, 3), moves, Assumptions()).axes, (2, 1, 3), Assumptions()))
    [(Reshape(shape=(2, 1, 3)),)]
    """
    if 0 in after:
        yield from [_reshape_if_needed(before, after)] if 0 in before else []
        return
    if any(atom.base for axis in axes for atom in axis):
        return
    axes, narrow, expanded = _undo_repeat(axes, after)
    new_axes = next((axis for axis, dim in enumerate(expanded) if dim == narrow[axis]), len(expanded))
    for first in dict.fromkeys((0, new_axes)):  # an expand can add the leading axes, too
        repeat = () if narrow[first:] == expanded else (Expand(expanded),)
        for moves in _forms_without_repeat(before, axes[first:], narrow[first:], known, for_shuffle):
            yield (*moves, *repeat, *_reshape_if_needed(expanded, after))


def short_forms_of_move(before: Shape, move: Move) -> Iterator[MoveSequence]:
    """Yield the reshape or the empty sequence that equals a single move, if any."""
    if not isinstance(move, Permute | Reshape | Expand):
        return
    after = move.output_shape(before)
    moving = [axis for axis in move.axes if before[axis] != 1] if isinstance(move, Permute) else []
    if (after == before or isinstance(move, Permute)) and moving == sorted(moving):
        yield _reshape_if_needed(before, after)


def _reshape_if_needed(before: Shape, after: Shape) -> tuple[Reshape, ...]:
    return () if before == after else (Reshape(after),)


def _transpose_if_needed(axes: AxisOrder) -> tuple[Permute, ...]:
    return () if list(axes) == sorted(axes) else (Permute(tuple(axes)),)


def _undo_repeat(axes: StridedAxes, after: Shape) -> tuple[StridedAxes, Shape, Shape]:
    """Return the axes and the shape before an expand, and the shape after it.

    The expand repeats dims of size 1. If an axis is only partly repeated, all axes are split into their atoms.
    """
    has_partial_repeat = any(len(axis) > 1 and any(atom.stride == 0 for atom in axis) for axis in axes)
    if has_partial_repeat:
        axes = tuple([(atom,) if atom else () for axis in axes for atom in axis or (None,)])
        after = tuple([axis[0].size if axis else 1 for axis in axes])
    kept = tuple([tuple([atom for atom in axis if atom.stride != 0]) for axis in axes])
    narrow = tuple([dim if rest or not axis else 1 for dim, axis, rest in zip(after, axes, kept, strict=True)])
    return kept, narrow, after


def _forms_without_repeat(
    before: Shape, axes: StridedAxes, after: Shape, known: Assumptions, for_shuffle: bool
) -> Iterator[MoveSequence]:
    """Yield the shortest form of axes without repeats, then the form of one Shuffle."""
    column = merge_atoms(chain(*axes))
    if len(column) < 2:
        yield _reshape_if_needed(before, after)
        return
    row = _sort_by_input(column)
    if row:
        order = _axes_in_order(before, column)
        first = order and _transpose_then_reshape(before, order, after)
        candidates = [
            _reshape_then_transpose(axes, before, after),
            first,
            _split_transpose_merge(before, row, column, after),
        ]
        yield min([moves for moves in candidates if moves], key=len)
        if for_shuffle:
            yield from _shuffle_form(before, axes, after, known)


def _sort_by_input(atoms: Atoms) -> Atoms | None:
    """Return atoms in input order; None if they do not cover the input."""
    by_stride = {atom.stride: atom for atom in atoms}
    row, stride = list[Atom](), 1
    while stride in by_stride:
        row.append(by_stride.pop(stride))
        stride = product((stride, row[-1].size))  # type: ignore[assignment]
    return tuple(row[::-1]) if len(row) == len(atoms) else None


def _split_transpose_merge(before: Shape, row: Atoms, column: Atoms, after: Shape) -> MoveSequence:
    split, transposed = (tuple([atom.size for atom in atoms]) for atoms in (row, column))
    return (
        *_reshape_if_needed(before, split),
        Permute(find_permutation(row, column)),
        *_reshape_if_needed(transposed, after),
    )


def _atom_end(atom: Atom) -> Dim:
    return product((atom.size, atom.stride))


def _cover_atom(atom: Atom, ends: Mapping[Dim, tuple[Item, Dim]]) -> list[Item] | None:
    """Return the items that together cover an atom, the outermost item first.

    `ends` maps the end of each item (size times stride) to the item and its stride. Returns None if the items do not
    cover the atom.
    """
    items: list[Item] = []
    end = _atom_end(atom)
    while end != atom.stride:
        if end not in ends or len(items) == len(ends):  # a cycle: `C/H` and `H/C` if C may differ from H
            return None
        item, end = ends[end]
        items.append(item)
    return items


def _axes_in_order(before: Shape, column: Atoms) -> list[int] | None:
    """Return the input axes in the order of `column`, without the axes of size 1.

    Returns None if an atom is only a part of an axis.
    """
    ends = {
        _atom_end(atom): (axis, atom.stride) for axis, atoms in enumerate(contiguous_axes(before)) for atom in atoms
    }
    order = list[int]()
    for atom in column:
        covering_axes = _cover_atom(atom, ends)
        if covering_axes is None:
            return None
        order += covering_axes
    return order if sorted(order) == [axis for axis, dim in enumerate(before) if dim != 1] else None


def _transpose_then_reshape(before: Shape, order: AxisOrder, after: Shape) -> MoveSequence:
    """Return a transpose of input axes, and a reshape if it is needed."""
    ones = [axis for axis, dim in enumerate(before) if dim == 1]
    is_all = len(ones) == after.count(1) and [before[axis] for axis in order] == [dim for dim in after if dim != 1]
    others, unit_axes = iter(order), iter(ones)
    perm = tuple([next(unit_axes) if dim == 1 else next(others) for dim in (after if is_all else before)])
    return (Permute(perm), *_reshape_if_needed(tuple([before[axis] for axis in perm]), after))


def _reshape_then_transpose(axes: StridedAxes, before: Shape, after: Shape) -> MoveSequence | None:
    """Return a reshape and a transpose that yield the output axes.

    Returns None if these two moves do not suffice.
    """
    if any(len(axis) > 1 for axis in axes):
        return None
    outs = {axis[0]: out for out, axis in enumerate(axes) if axis}
    row = _sort_by_input(tuple(outs))
    if row is None or len(row) < sum(map(len, axes)):
        return None
    sorted_outs = iter([outs[atom] for atom in row])
    order = [next(sorted_outs) if axis else out for out, axis in enumerate(axes)]
    split = tuple([after[out] for out in order])
    return (*_reshape_if_needed(before, split), Permute(find_permutation(order, range(len(order)))))


def _shuffle_form(before: Shape, axes: StridedAxes, after: Shape, known: Assumptions) -> Iterator[MoveSequence]:
    """Yield the transpose, reshape and transpose of one Shuffle, if one suffices."""
    row = _sort_by_input(tuple(chain(*axes)))
    units = _axis_units(before, row, known) if row else []
    ends = {_atom_end(atom): (atom, atom.stride) for _, atoms in units for atom in atoms}
    parts = [[part for atom in axis for part in _cover_atom(atom, ends) or ()] for axis in axes]
    path = _order_with_adjacent_rows([*(atoms for _, atoms in units), *parts])
    if not path:
        return
    index = {atom: i for i, atom in enumerate(path)}
    first = [axis for unit_axes, _ in sorted(units, key=lambda unit: index[unit[1][0]]) for axis in unit_axes]
    filled = iter(sorted((out for out, part in enumerate(parts) if part), key=lambda out: index[parts[out][0]]))
    middle = [next(filled) if part else out for out, part in enumerate(parts)]
    transposed, shape = tuple([before[axis] for axis in first]), tuple([after[out] for out in middle])
    yield (
        *_transpose_if_needed(first),
        *_reshape_if_needed(transposed, shape),
        *_transpose_if_needed(find_permutation(middle, range(len(middle)))),
    )


def _axis_units(before: Shape, row: Atoms, known: Assumptions) -> list[tuple[list[int], list[Atom]]]:
    """Group neighbouring input axes that stay together, with their atoms.

    An axis that ends inside an atom splits the atom. If the atom cannot be split there, the axis stays with the next
    axis.
    """
    units, remaining = list[tuple[list[int], list[Atom]]](), list(row[::-1])
    axes, atoms, rest = list[int](), list[Atom](), product(())
    for axis, dim in enumerate(before):
        axes.append(axis)
        rest = product((rest, dim))
        while rest != 1 and remaining and known.divides(remaining[-1].size, rest):
            atoms.append(remaining.pop())
            rest = quotient(rest, atoms[-1].size)
        if rest != 1 and remaining and known.divides(rest, remaining[-1].size):
            atom = remaining.pop()
            inner = quotient(atom.size, rest)
            remaining.append(Atom(inner, atom.stride))
            atoms.append(Atom(rest, product((atom.stride, inner))))
            rest = 1
        if rest == 1 and atoms:
            units.append((axes, atoms))
            axes, atoms = [], []
    last_axes, last_atoms = units.pop() if units else ([], [])
    return [*units, (last_axes + axes, last_atoms + atoms)]


def _order_with_adjacent_rows(rows: Iterable[Sequence[Atom]]) -> list[Atom] | None:
    """Return atoms in an order in which each row is contiguous; None if impossible."""
    successor, predecessor = dict[Atom, Atom](), dict[Atom, Atom]()
    atoms = dict[Atom, None]()
    for row in rows:
        atoms |= dict.fromkeys(row)
        for one, other in pairwise(row):
            if successor.setdefault(one, other) != other or predecessor.setdefault(other, one) != one:
                return None
    path = list[Atom]()
    for atom in atoms:
        current = None if atom in predecessor else atom
        while current:
            path.append(current)
            current = successor.get(current)
    return path if len(path) == len(atoms) else None


class RequestBuilder:
    """A builder of requests with the dialects, opsets, types and switches of a chain."""

    def __init__(self, chain: Chain) -> None:
        """Store the first request of each dialect; the most frequent dialect comes first."""
        requests = [trace.request for trace in chain.traces]
        dialects = [request.dialect for request in requests]
        order = sorted(dict.fromkeys(dialects), key=lambda name: -dialects.count(name))
        self.templates = {name: requests[dialects.index(name)] for name in order}
        self.has_shuffles = any(request.op == "shuffle" for request in requests)

    def group_stages(self, moves: Sequence[Move]) -> list[list[Move]]:
        """Group moves into stages.

        If the chain has Shuffles, a stage is a run of moves for one Shuffle; otherwise, a stage is one move.
        """
        return group_into_shuffles(moves, lambda move: move) if self.has_shuffles else [[move] for move in moves]

    def build_requests(self, shape: Shape, moves: Sequence[Move]) -> list[Request] | None:
        """Return requests for the moves; None if one of them cannot be expressed."""
        result = list[Request]()
        for stage in self.group_stages(moves):
            request = self._build_request(shape, stage)
            if request is None:
                return None
            result.append(request)
            for move in stage:
                shape = move.output_shape(shape)
        return result

    def _build_request(self, shape: Shape, stage: Sequence[Move]) -> Request | None:
        """Return the request of one stage; None if it cannot be expressed."""
        first = stage[0]
        op = "transpose" if isinstance(first, Permute) else "expand" if isinstance(first, Expand) else "reshape"
        op = "shuffle" if self.has_shuffles and op != "expand" else op
        dialect = next(
            (name for name in self.templates if operator_of(OPS[op], DIALECTS[name])), OPS[op].default_dialect
        )
        model = self.templates.get(dialect)
        arguments: dict[str, Any] = {}
        for move in stage:
            if isinstance(move, Permute):
                arguments["perm" if op != "shuffle" else "second" if arguments else "first"] = move.axes
            elif isinstance(move, (Reshape, Expand)):
                target = _request_target(shape, move, dialect)
                if target is None:
                    return None
                arguments["to" if op == "shuffle" else "target"] = target
            shape = move.output_shape(shape)
        opset, dtype, switch = (model.opset, model.dtype, model.switch) if model else (None, None, None)
        literal = any(isinstance(move, Reshape) and 0 in move.shape for move in stage)
        switch = _switch_setting(op, dialect, switch, literal=literal)
        return Request(op, (), arguments, dialect, opset, dtype, switch)


def _request_target(shape: Shape, move: Reshape | Expand, dialect: str) -> Shape | None:
    """Return the dims to request; None if several dims would have to be -1.

    A dim of unknown size is requested as 0 if the dialect copies the dim, otherwise as -1. Returns None for an expand
    to an unknown size.
    """
    unknown = [axis for axis, dim in enumerate(move.shape) if any(name.startswith("?") for name in dim_names((dim,)))]
    if not unknown:
        return move.shape
    copies = DIALECTS[dialect].reshape_semantics[DIALECTS[dialect].switch_settings()[0]].zero is ZeroMeaning.COPIES
    if isinstance(move, Expand):
        return None
    dims = list(move.shape)
    for axis in unknown:
        dims[axis] = 0 if copies and axis < len(shape) and shape[axis] == dims[axis] else -1
    return tuple(dims) if dims.count(-1) < 2 else None


def _switch_setting(op: str, dialect: str, current: bool | None, *, literal: bool) -> bool | None:
    """Return the setting of a dialect's switch for a stage; None for the default.

    If `literal`, 0 is a size under the returned setting.
    """
    row = DIALECTS[dialect]
    if row.switch is None or not OPS[op].uses_switch:
        return None
    setting = row.switch.default if current is None else current
    if literal or setting is None:
        setting = next(on for on, reading in row.reshape_semantics.items() if reading.zero is ZeroMeaning.LITERAL)
    return None if setting == row.switch.default else setting


def simplify(answer: Trace | Chain, goal: Goal = Goal.TRANSPOSES, dtype: str | None = None) -> Simplification:
    """Return the cheapest chain that equals an answer wherever the answer is defined.

    `dtype` is NumPy's name of the element type, which determines the number of bytes; the default is the type of the
    request, or else float32. Raises `ShapeError` with the problem of a refused answer, and (usage) for a type whose
    elements have no fixed size.

    >>> import shapecalc as sc
    >>> found = simplify(sc.chain("N,C,H", "transpose 2,0,1", "transpose 1,2,0"))
    >>> found.text, found.before.transposes, found.after.transposes
    ('N,C,H', 2, 0)
    """
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    traces = answer.traces
    dtype = dtype or next((trace.request.dtype for trace in traces if trace.request.dtype), "float32")
    chain = Chain(answer.input, traces, answer.output, None, answer.conditions, lambda _: answer.assumes)
    return _ChainSimplifier(chain, goal, element_size(dtype)).simplify()


class _ChainSimplifier:
    """A search for a cheaper chain, after substitution of names with known sizes."""

    def __init__(self, chain: Chain, goal: Goal, itemsize: int) -> None:
        self.chain, self.goal, self.itemsize = chain, goal, itemsize
        pairs = [(trace, trace.moves) for trace in chain.traces]
        dims = [dim for trace, moves in pairs for shape in (trace.input, *map(_target_shape, moves)) for dim in shape]
        self.known = Assumptions(dict.fromkeys(dims), chain.conditions)
        self.builder = RequestBuilder(chain)
        chains = [layout.MoveChain(trace.input, moves).substitute(self.known.values) for trace, moves in pairs]
        self.segments = tuple(
            [
                ChainSegment(segment.input, segment.moves, (trace,), True)
                for segment, trace in zip(chains, chain.traces, strict=True)
            ]
        )

    def simplify(self) -> Simplification:
        """Return the best replacement if it is better and proved, else the original."""
        before, plan = self._cost(self.segments), self._choose_segments()
        if all(piece.is_original for piece in plan):
            return Simplification(self.chain, before, before, shorter=False)
        after = self._cost(plan)
        is_better = self._count_stages(plan) < len(self.segments) or not before.is_at_most(after, self.goal)
        if self.goal is Goal.SHUFFLES:
            is_better = is_better or _max_rank(self.segments) > MAX_SHUFFLE_RANK >= _max_rank(plan)
        proved = self._prove(plan) if is_better and after.is_at_most(before, self.goal) else None
        if proved is None:
            return Simplification(self.chain, before, before, shorter=False)
        second = _ChainSimplifier(proved, self.goal, self.itemsize)
        after = second._cost(second.segments)  # can be higher: the new chain is defined for more sizes
        if not after.is_at_most(before, self.goal):
            return Simplification(self.chain, before, before, shorter=False)
        moving = [piece for piece in plan if piece.moves]
        if len(moving) > 1 and not all(piece.is_original for piece in moving):  # new segments may fuse with neighbours
            repeated = second.simplify()
            proved, after = repeated.chain, repeated.after
        return Simplification(proved, before, after, shorter=True)

    def _cost(self, plan: Segments) -> Cost:
        moves = [move for piece in plan for move in piece.moves]
        return cost_of(plan[0].before if plan else (), moves, self.known, self.itemsize)

    def _count_stages(self, plan: Segments) -> int:
        """Return the number of stages of a plan."""
        return sum(1 if piece.is_original else len(self.builder.group_stages(piece.moves)) for piece in plan)

    def _choose_segments(self) -> Segments:
        """Return the segments, with each replaceable span in its cheapest form."""
        spans = [tuple(span) for _, span in groupby(self.segments, _is_replaceable)]
        return tuple(chain(*(self._cheapest_segments(span) if _is_replaceable(span[0]) else span for span in spans)))

    def _cheapest_segments(self, span: Segments) -> Segments:
        """Return the cheapest segments that equal a span, by dynamic programming.

        Among segments of equal cost and number of stages, those with the fewest new stages are chosen.
        """
        best: dict[int, tuple[SegmentWeight, Segments]] = {0: ((0, 0, 0), ())}
        for start, piece in enumerate(span):
            (cost, stage_count, new_stages), pieces = best[start]
            for stop, option in [(start + 1, piece), *self._replacements(span, start)]:
                stages = self._count_stages((option,))
                weight = (
                    cost + _segment_weight(option, self.goal),
                    stage_count + stages,
                    new_stages + stages * (not option.is_original),
                )
                if stop not in best or weight < best[stop][0]:
                    best[stop] = weight, (*pieces, option)
        return best[len(span)][1]

    def _replacements(self, span: Segments, start: int) -> Iterator[tuple[int, ChainSegment]]:
        """Yield segments that replace the stages from index `start` on.

        Each segment comes with the exclusive end index of the stages that it replaces.
        """
        known, before = self.known, span[start].before
        empty, shape = 0 in before, before
        view = View(()) if empty else contiguous_view(before)
        for stop, piece in enumerate(span[start:], start + 1):
            for move in piece.moves:
                if not empty and 0 in move.output_shape(shape):
                    return
                view, shape = view if empty else view.apply_move(move, shape, known), move.output_shape(shape)
            if stop - start > (MAX_WINDOW if start else len(self.segments) if view.is_strided else MAX_MIXED_WINDOW):
                return
            options: Iterable[MoveSequence] = ()
            if stop == start + 1 and len(piece.moves) == 1:
                options = short_forms_of_move(before, piece.moves[0])
            elif stop - start <= MAX_WINDOW or stop == len(span):
                options = self._short_forms(before, view, shape)
            traces = tuple([original.traces[0] for original in span[start:stop]])
            yield from ((stop, ChainSegment(before, moves, traces)) for moves in options)

    def _short_forms(self, before: Shape, view: View, after: Shape) -> Iterable[MoveSequence]:
        """Return the short forms of a view.

        Returns no forms if the offset is not 0 or if axes mix.
        """
        view = view.normalize(self.known)
        if view.offset or not view.is_strided:
            return ()
        return short_forms(before, view.axes, after, self.known, for_shuffle=self.goal is Goal.SHUFFLES)

    def _prove(self, plan: Segments) -> Chain | None:
        """Return the answer to a plan; None if it is refused or a segment is not proved."""
        answer = self._answer(plan)
        if answer is None or answer.problem:
            return None
        traces, shape = iter(answer.traces), answer.input
        for piece in plan:
            new_traces = tuple(islice(traces, self._count_stages((piece,))))
            replacement = _subchain(shape, new_traces, answer.conditions)
            original = _subchain(piece.traces[0].input, piece.traces, self.chain.conditions)
            if not piece.is_original and not can_replace(replacement, original):
                return None
            shape = replacement.output or ()
        return answer

    def _answer(self, plan: Segments) -> Chain | None:
        """Return the answer to a plan; None if it cannot be expressed."""
        requests: list[Request] = []
        for piece in plan:
            new_requests = (
                [piece.traces[0].request]
                if piece.is_original
                else self.builder.build_requests(piece.before, piece.moves)
            )
            if new_requests is None:
                return None
            requests += new_requests
        first = [replace(request, input=self.chain.input) for request in requests[:1]]
        return resolve_chain([*first, *requests[1:]]) if first else answer_chain(self.chain.input, (), {})


def _subchain(shape: Shape, traces: tuple[Trace, ...], conditions: Conditions) -> Chain:
    """Return part of a chain as a chain with the conditions of the whole chain."""
    return Chain(shape, traces, traces[-1].output if traces else shape, None, conditions)


def _target_shape(move: Move) -> Shape:
    """Return the target shape of a reshape or expand; empty for other moves."""
    return move.shape if isinstance(move, Reshape | Expand) else ()


def _is_replaceable(segment: ChainSegment) -> bool:
    """Return whether a segment only moves the elements of one tensor."""
    return not any(isinstance(move, ShapeVector | Combine) for move in segment.moves)


def _max_rank(segments: Segments) -> int:
    """Return the maximum rank of the tensors before and between the moves."""
    return max(
        [len(shape) for piece in segments for shape in (piece.before, *map(_target_shape, piece.moves))], default=0
    )


def _segment_weight(segment: ChainSegment, goal: Goal) -> int:
    if goal is Goal.SHUFFLES:
        return count_shuffles(segment.before, segment.moves)
    return sum(isinstance(move, Permute) for move in segment.moves)
