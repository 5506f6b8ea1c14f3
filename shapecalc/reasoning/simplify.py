"""Simplification of a chain to an equivalent chain with the lowest cost.

The cost is the number of transposes, the number of TensorRT Shuffles, or the number of bytes moved. Among chains of
equal cost, the chain with the fewest stages is chosen. A Shuffle is a transpose, a reshape and a transpose, each of
them optional. Source: TensorRT's operator documentation. A stage copies if its output is not a strided view of its
input; a roll always copies.

A window is a run of consecutive stages. A short form is a short sequence of moves with the same output as a window. A
window is replaced by a short form if the chain becomes cheaper or shorter. A window that drops elements, reads the
input from an offset or mixes axes has no short form. A reshape such as 2,3 to 3,2 mixes axes: an output axis begins
inside an input axis, so that no stride describes it. The new chain is resolved and proved equal to the original chain;
if the proof fails, the original chain is returned.

The layout of a window's output is a list of atoms for each axis, and an atom is a size with a stride in the input. The
general short form is a reshape that splits the input axes into the atoms, a transpose, a reshape that merges the atoms
into the output axes, and an expand. Moves without effect are omitted.

A single Shuffle has the same output if its first transpose and its reshape can make adjacent all atoms that are
adjacent within an input axis or within an output axis: in the graph of these adjacencies, each atom has at most one
predecessor and one successor, and there are no cycles.
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
from shapecalc.reasoning.costs import MAX_SHUFFLE_RANK, Cost, Goal, compute_cost, count_shuffles, group_into_shuffles
from shapecalc.reasoning.equiv import can_replace
from shapecalc.reasoning.find import find_permutation

Item = TypeVar("Item")
MoveSequence = tuple[Move, ...]
AxisOrder = Sequence[int]
Segments = tuple["ChainSegment", ...]
SegmentWeight = tuple[int, int, int]
"""A cost, a number of stages, and the number of those stages that are new, compared in this order."""


MAX_WINDOW_STAGES = 8
"""The maximum number of stages in a window, except in the window that contains all stages."""

MAX_MIXED_WINDOW_STAGES = 64
"""The maximum number of stages in the window of all stages, if they roll axes or mix them in a reshape."""


class Simplification(Record):
    """The result of a simplification: the cheapest equivalent chain and its cost."""

    chain: Chain
    """The simplified chain, or the original chain if none is better."""
    before: Cost
    after: Cost
    is_improved: bool
    """Whether the chain is cheaper or shorter than the original chain."""
    proved: bool = True
    """Whether the chain provably equals the original chain for all valid sizes."""

    def __bool__(self) -> bool:
        return self.is_improved

    def __repr__(self) -> str:
        return f"Simplification({self.text})"

    @property
    def text(self) -> str:
        """The simplified chain in the syntax of the command line."""
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


def iter_short_forms(
    before: Shape, axes: StridedAxes, after: Shape, known: Assumptions, *, for_shuffle: bool = False
) -> Iterator[MoveSequence]:
    """Yield short move sequences that produce a strided layout of a tensor.

    `before` is the shape of the contiguous tensor, `axes` are the atoms of each output axis, and `after` is the output
    shape. Yields nothing if the layout mixes axes. The shortest sequence comes first; if `for_shuffle`, the moves of a
    single Shuffle follow.

    >>> from shapecalc.core.layout import view_after_moves
    >>> from shapecalc.core.conditions import Assumptions
    >>> moves = [Permute((1, 0)), Reshape((3, 1, 2)), Permute((2, 1, 0))]
    >>> list(iter_short_forms((2, 3), view_after_moves((2, 3), moves, Assumptions()).axes, (2, 1, 3), Assumptions()))
    [(Reshape(shape=(2, 1, 3)),)]
    """
    if 0 in after:
        yield from [_reshape_if_needed(before, after)] if 0 in before else []
        return
    if any(atom.base for axis in axes for atom in axis):
        return
    axes, narrow, expanded = _split_off_expand(axes, after)
    new_axes = next((axis for axis, dim in enumerate(expanded) if dim == narrow[axis]), len(expanded))
    for first in dict.fromkeys((0, new_axes)):  # a single expand can also add the leading axes
        repeat = () if narrow[first:] == expanded else (Expand(expanded),)
        for moves in _iter_forms_without_expand(before, axes[first:], narrow[first:], known, for_shuffle):
            yield (*moves, *repeat, *_reshape_if_needed(expanded, after))


def iter_short_forms_of_move(before: Shape, move: Move) -> Iterator[MoveSequence]:
    """Yield the short form of a move that keeps the order of the elements.

    The short form of a transpose that moves only dims of 1 is a reshape. The short form of a move without effect is
    empty.
    """
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


def _split_off_expand(axes: StridedAxes, after: Shape) -> tuple[StridedAxes, Shape, Shape]:
    """Split the last expand off a layout.

    Returns the axes and the shape before the expand, and the shape after it. The atoms with stride 0 come from the
    expand. If an axis contains both such atoms and other atoms, every atom becomes an axis of its own.
    """
    has_partial_repeat = any(len(axis) > 1 and any(atom.stride == 0 for atom in axis) for axis in axes)
    if has_partial_repeat:
        axes = tuple([(atom,) if atom else () for axis in axes for atom in axis or (None,)])
        after = tuple([axis[0].size if axis else 1 for axis in axes])
    unrepeated = tuple([tuple([atom for atom in axis if atom.stride != 0]) for axis in axes])
    narrow = tuple([dim if rest or not axis else 1 for dim, axis, rest in zip(after, axes, unrepeated, strict=True)])
    return unrepeated, narrow, after


def _iter_forms_without_expand(
    before: Shape, axes: StridedAxes, after: Shape, known: Assumptions, for_shuffle: bool
) -> Iterator[MoveSequence]:
    """Yield the short forms of a layout in which no atom has stride 0."""
    column = merge_atoms(chain(*axes))
    if len(column) < 2:
        yield _reshape_if_needed(before, after)
        return
    row = _sort_by_input(column)
    if row:
        order = _order_axes(before, column)
        first = order and _transpose_then_reshape(before, order, after)
        candidates = [
            _reshape_then_transpose(axes, before, after),
            first,
            _split_transpose_merge(before, row, column, after),
        ]
        yield min([moves for moves in candidates if moves], key=len)
        if for_shuffle:
            yield from _iter_shuffle_forms(before, axes, after, known)


def _sort_by_input(atoms: Atoms) -> Atoms | None:
    """Return atoms in input order, or None if their strides are not contiguous."""
    by_stride = {atom.stride: atom for atom in atoms}
    row, stride = list[Atom](), 1
    while stride in by_stride:
        row.append(by_stride.pop(stride))
        stride = product((stride, row[-1].size))  # type: ignore[assignment]
    return tuple(row[::-1]) if len(row) == len(atoms) else None


def _split_transpose_merge(before: Shape, input_atoms: Atoms, output_atoms: Atoms, after: Shape) -> MoveSequence:
    """Return the moves that split axes into atoms, transpose, and merge the atoms.

    `input_atoms` and `output_atoms` are the atoms of the layout in input order and in output order.
    """
    split, transposed = (tuple([atom.size for atom in atoms]) for atoms in (input_atoms, output_atoms))
    return (
        *_reshape_if_needed(before, split),
        Permute(find_permutation(input_atoms, output_atoms)),
        *_reshape_if_needed(transposed, after),
    )


def _atom_end(atom: Atom) -> Dim:
    """Return the size of an atom times its stride."""
    return product((atom.size, atom.stride))


def _cover_atom(atom: Atom, ends: Mapping[Dim, tuple[Item, Dim]]) -> list[Item] | None:
    """Return the items that make up an atom, the outermost first.

    The items are axes or smaller atoms. `ends` maps the end of each item (size times stride) to the item and its
    stride. Returns None if no items make up the atom.
    """
    items: list[Item] = []
    end = _atom_end(atom)
    while end != atom.stride:
        if end not in ends or len(items) == len(ends):  # symbolic ends may form a cycle: `C/H` and `H/C`
            return None
        item, end = ends[end]
        items.append(item)
    return items


def _order_axes(before: Shape, output_atoms: Atoms) -> list[int] | None:
    """Return the input axes in output order, without the axes of size 1.

    Returns None if an atom is not a product of complete axes.
    """
    ends = {
        _atom_end(atom): (axis, atom.stride) for axis, atoms in enumerate(contiguous_axes(before)) for atom in atoms
    }
    order = list[int]()
    for atom in output_atoms:
        covering_axes = _cover_atom(atom, ends)
        if covering_axes is None:
            return None
        order += covering_axes
    return order if sorted(order) == [axis for axis, dim in enumerate(before) if dim != 1] else None


def _transpose_then_reshape(before: Shape, order: AxisOrder, after: Shape) -> MoveSequence:
    ones = [axis for axis, dim in enumerate(before) if dim == 1]
    is_all = len(ones) == after.count(1) and [before[axis] for axis in order] == [dim for dim in after if dim != 1]
    others, unit_axes = iter(order), iter(ones)
    perm = tuple([next(unit_axes) if dim == 1 else next(others) for dim in (after if is_all else before)])
    return (Permute(perm), *_reshape_if_needed(tuple([before[axis] for axis in perm]), after))


def _reshape_then_transpose(axes: StridedAxes, before: Shape, after: Shape) -> MoveSequence | None:
    """Return a reshape and a transpose that produce the layout `axes`.

    Returns None if an output axis has several atoms.
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


def _iter_shuffle_forms(before: Shape, axes: StridedAxes, after: Shape, known: Assumptions) -> Iterator[MoveSequence]:
    """Yield the moves of the single Shuffle that produces a layout, if one exists."""
    row = _sort_by_input(tuple(chain(*axes)))
    units = _group_inseparable_axes(before, row, known) if row else []
    ends = {_atom_end(atom): (atom, atom.stride) for _, atoms in units for atom in atoms}
    parts = [[part for atom in axis for part in _cover_atom(atom, ends) or ()] for axis in axes]
    path = _order_with_contiguous_sequences([*(atoms for _, atoms in units), *parts])
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


def _group_inseparable_axes(
    before: Shape, input_atoms: Atoms, known: Assumptions
) -> list[tuple[list[int], list[Atom]]]:
    """Group consecutive input axes that share an atom, each group with its atoms.

    The atoms are in input order. An atom that extends over the end of an axis is split there if possible; otherwise,
    the axis is grouped with the next axis.
    """
    units, remaining = list[tuple[list[int], list[Atom]]](), list(input_atoms[::-1])
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


def _order_with_contiguous_sequences(sequences: Iterable[Sequence[Atom]]) -> list[Atom] | None:
    """Order atoms such that each sequence is contiguous in the result.

    Returns None if there is no such order.
    """
    successor, predecessor = dict[Atom, Atom](), dict[Atom, Atom]()
    atoms = dict[Atom, None]()
    for row in sequences:
        atoms |= dict.fromkeys(row)
        for atom, following in pairwise(row):
            if successor.setdefault(atom, following) != following or predecessor.setdefault(following, atom) != atom:
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
        """Create a builder for a chain.

        The builder uses the first request of each dialect of the chain; the most frequent dialect comes first.
        """
        requests = [trace.request for trace in chain.traces]
        dialects = [request.dialect for request in requests]
        order = sorted(dict.fromkeys(dialects), key=lambda name: -dialects.count(name))
        self.templates = {name: requests[dialects.index(name)] for name in order}
        self.has_shuffles = any(request.op == "shuffle" for request in requests)

    def group_stages(self, moves: Sequence[Move]) -> list[list[Move]]:
        """Group moves into the stages that will execute them.

        If the chain has Shuffles, a stage is a run of moves for one Shuffle; otherwise, a stage is one move.
        """
        return group_into_shuffles(moves, lambda move: move) if self.has_shuffles else [[move] for move in moves]

    def build_requests(self, shape: Shape, moves: Sequence[Move]) -> list[Request] | None:
        """Return the requests that execute moves, or None if one of them has no request."""
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
        """Return the request that executes the moves of a stage, or None if there is none."""
        first = stage[0]
        op = "transpose" if isinstance(first, Permute) else "expand" if isinstance(first, Expand) else "reshape"
        is_shuffle = self.has_shuffles and not isinstance(first, Expand)
        op = "shuffle" if is_shuffle else op
        dialect = next(
            (name for name in self.templates if operator_of(OPS[op], DIALECTS[name])), OPS[op].default_dialect
        )
        model = self.templates.get(dialect)
        arguments: dict[str, Any] = {}
        for move in stage:
            if isinstance(move, Permute):
                arguments[("second" if arguments else "first") if is_shuffle else "perm"] = move.axes
            elif isinstance(move, (Reshape, Expand)):
                target = _choose_target(shape, move, dialect)
                if target is None:
                    return None
                arguments["to" if is_shuffle else "target"] = target
            shape = move.output_shape(shape)
        opset, dtype, switch = (model.opset, model.dtype, model.switch) if model else (None, None, None)
        literal = any(isinstance(move, Reshape) and 0 in move.shape for move in stage)
        switch = _choose_switch_setting(op, dialect, switch, literal=literal)
        return Request(op, (), arguments, dialect, opset, dtype, switch)


def _choose_target(shape: Shape, move: Reshape | Expand, dialect: str) -> Shape | None:
    """Return the target shape of a reshape or expand.

    A dim of unknown size is written as 0 if 0 copies the dim in the dialect, otherwise as -1. Returns None if several
    dims would be -1, and for an expand to an unknown size.
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


def _choose_switch_setting(op: str, dialect: str, current: bool | None, *, literal: bool) -> bool | None:
    """Return the setting of the dialect's switch for a stage, or None for the default.

    If `literal`, returns the setting with which a 0 in a target is a size.
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
    """A search for the cheapest chain that equals a chain."""

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
        """Return the best chain if it is proved equal, otherwise the original chain."""
        before, plan = self._compute_cost(self.segments), self._choose_segments()
        if all(piece.is_original for piece in plan):
            return Simplification(self.chain, before, before, is_improved=False)
        after = self._compute_cost(plan)
        is_better = self._count_stages(plan) < len(self.segments) or not before.is_at_most(after, self.goal)
        if self.goal is Goal.SHUFFLES:
            is_better = is_better or _max_rank(self.segments) > MAX_SHUFFLE_RANK >= _max_rank(plan)
        proved = self._prove_segments(plan) if is_better and after.is_at_most(before, self.goal) else None
        if proved is None:
            return Simplification(self.chain, before, before, is_improved=False)
        second = _ChainSimplifier(proved, self.goal, self.itemsize)
        # the cost can be higher, because the new chain is defined for more sizes
        after = second._compute_cost(second.segments)
        if not after.is_at_most(before, self.goal):
            return Simplification(self.chain, before, before, is_improved=False)
        moving = [piece for piece in plan if piece.moves]
        if len(moving) > 1 and not all(piece.is_original for piece in moving):  # moves that are now adjacent may fuse
            repeated = second.simplify()
            proved, after = repeated.chain, repeated.after
        return Simplification(proved, before, after, is_improved=True)

    def _compute_cost(self, segments: Segments) -> Cost:
        moves = [move for piece in segments for move in piece.moves]
        return compute_cost(segments[0].before if segments else (), moves, self.known, self.itemsize)

    def _count_stages(self, segments: Segments) -> int:
        return sum(1 if piece.is_original else len(self.builder.group_stages(piece.moves)) for piece in segments)

    def _choose_segments(self) -> Segments:
        """Return the segments of the cheapest chain.

        Segments that combine tensors or return a shape are kept.
        """
        spans = [tuple(span) for _, span in groupby(self.segments, _is_replaceable)]
        return tuple(
            chain(*(self._find_cheapest_segments(span) if _is_replaceable(span[0]) else span for span in spans))
        )

    def _find_cheapest_segments(self, span: Segments) -> Segments:
        """Return the cheapest replacement of a run of segments, by dynamic programming.

        Among segments of equal cost and number of stages, those with the fewest new stages are chosen.
        """
        best: dict[int, tuple[SegmentWeight, Segments]] = {0: ((0, 0, 0), ())}
        for start, piece in enumerate(span):
            (cost, stage_count, new_stages), pieces = best[start]
            for stop, option in [(start + 1, piece), *self._iter_replacements(span, start)]:
                stages = self._count_stages((option,))
                weight = (
                    cost + _segment_cost(option, self.goal),
                    stage_count + stages,
                    new_stages + stages * (not option.is_original),
                )
                if stop not in best or weight < best[stop][0]:
                    best[stop] = weight, (*pieces, option)
        return best[len(span)][1]

    def _iter_replacements(self, span: Segments, start: int) -> Iterator[tuple[int, ChainSegment]]:
        """Yield segments that replace windows of `span` from index `start` on.

        Each segment is preceded by the exclusive end index of the window.
        """
        known, before = self.known, span[start].before
        empty, shape = 0 in before, before
        view = View(()) if empty else contiguous_view(before)
        for stop, piece in enumerate(span[start:], start + 1):
            for move in piece.moves:
                if not empty and 0 in move.output_shape(shape):
                    return
                view, shape = view if empty else view.apply_move(move, shape, known), move.output_shape(shape)
            if stop - start > (
                MAX_WINDOW_STAGES if start else len(self.segments) if view.is_strided else MAX_MIXED_WINDOW_STAGES
            ):
                return
            options: Iterable[MoveSequence] = ()
            if stop == start + 1 and len(piece.moves) == 1:
                options = iter_short_forms_of_move(before, piece.moves[0])
            elif stop - start <= MAX_WINDOW_STAGES or stop == len(span):
                options = self._find_short_forms(before, view, shape)
            traces = tuple([original.traces[0] for original in span[start:stop]])
            yield from ((stop, ChainSegment(before, moves, traces)) for moves in options)

    def _find_short_forms(self, before: Shape, view: View, after: Shape) -> Iterable[MoveSequence]:
        """Return the short forms of a view of a tensor.

        `before` is the shape of the tensor and `after` that of the view. Returns no short forms if the view has an
        offset or mixes axes.
        """
        view = view.normalize(self.known)
        if view.offset or not view.is_strided:
            return ()
        return iter_short_forms(before, view.axes, after, self.known, for_shuffle=self.goal is Goal.SHUFFLES)

    def _prove_segments(self, segments: Segments) -> Chain | None:
        """Return the chain of the segments, or None if it is not proved equal.

        Returns None for an invalid chain, too.
        """
        answer = self._resolve_segments(segments)
        if answer is None or answer.problem:
            return None
        traces, shape = iter(answer.traces), answer.input
        for piece in segments:
            new_traces = tuple(islice(traces, self._count_stages((piece,))))
            replacement = _make_subchain(shape, new_traces, answer.conditions)
            original = _make_subchain(piece.traces[0].input, piece.traces, self.chain.conditions)
            if not piece.is_original and not can_replace(replacement, original):
                return None
            shape = replacement.output or ()
        return answer

    def _resolve_segments(self, segments: Segments) -> Chain | None:
        """Resolve the chain of the segments, or return None if a move has no request."""
        requests: list[Request] = []
        for piece in segments:
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


def _make_subchain(shape: Shape, traces: tuple[Trace, ...], conditions: Conditions) -> Chain:
    """Return consecutive stages of a chain as a chain with the given conditions."""
    return Chain(shape, traces, traces[-1].output if traces else shape, None, conditions)


def _target_shape(move: Move) -> Shape:
    """Return the target shape of a reshape or expand.

    The target shape of any other move is empty.
    """
    return move.shape if isinstance(move, Reshape | Expand) else ()


def _is_replaceable(segment: ChainSegment) -> bool:
    """Return whether a segment only moves the elements of one tensor."""
    return not any(isinstance(move, ShapeVector | Combine) for move in segment.moves)


def _max_rank(segments: Segments) -> int:
    return max(
        [len(shape) for piece in segments for shape in (piece.before, *map(_target_shape, piece.moves))], default=0
    )


def _segment_cost(segment: ChainSegment, goal: Goal) -> int:
    """Return the number of Shuffles or, for other goals than Shuffles, of transposes."""
    if goal is Goal.SHUFFLES:
        return count_shuffles(segment.before, segment.moves)
    return sum(isinstance(move, Permute) for move in segment.moves)
