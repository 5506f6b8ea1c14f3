"""The inverse of a chain: the chain that leads from its output back to its input.

A chain has an inverse if its output contains every element of its input. If the output has more elements, as after an
expand or a pad, the inverse drops the additional elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import Chain, Request, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Shape, product, to_json
from shapecalc.core.moves import (
    Combine,
    Expand,
    Move,
    Pad,
    Permute,
    Reshape,
    Roll,
    ShapeVector,
    StridedSlice,
    Take,
    index_before_move,
    ravel,
    unravel,
)
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.flip import FLIP
from shapecalc.core.ops.op import Op, operator_of
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.roll import ROLL
from shapecalc.core.ops.select import SELECT
from shapecalc.core.ops.slice import SLICE
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.take import TAKE
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve_chain
from shapecalc.core.text import shape_text
from shapecalc.reading.commands import chain_text, stage_line
from shapecalc.reasoning.answers import answer_chain
from shapecalc.reasoning.simplify import RequestBuilder, simplify

DROPS = "it drops elements"
COMPUTES = "it computes new elements"
UNKNOWN_SIZE = "a size is not known as a number, which a slice needs"
"""A reason why a move has no inverse, like `DROPS` and `COMPUTES`."""
MAX_SEARCHED_ELEMENTS = 1024
"""The maximum number of output elements in which the input elements are searched."""


class Inversion(Record):
    """The inverse of a chain, or the reason why there is none."""

    original: Chain
    chain: Chain | None
    """The chain from the output of `original` to its input, or None if there is none."""
    reason: str = ""
    """The stage without an inverse, with the reason; empty if there is an inverse."""

    def __bool__(self) -> bool:
        return self.chain is not None

    def __repr__(self) -> str:
        return f"Inversion({self.text})"

    @property
    def text(self) -> str:
        """The inverse in the syntax of the command line, or the reason if there is none."""
        return self.reason if self.chain is None else chain_text(self.chain)

    @property
    def drops_elements(self) -> bool:
        """Whether the inverse drops elements that the original chain added."""
        return bool(self) and product(self.original.output or ()) != product(self.original.input)

    def as_json(self) -> dict[str, object]:
        """Return the inverse as the JSON object that the manual documents."""
        chain = None if self.chain is None else chain_text(self.chain)
        output = to_json(self.original.output or ())
        return {
            "chain": chain,
            "input": output,
            "drops": self.drops_elements,
            "reason": self.reason or None,
            "problem": None,
        }


class NotInvertible(Exception):
    """Raised for a move that has no inverse; the message is the reason."""


def invert(answer: Trace | Chain) -> Inversion:
    """Return the chain that leads from the output of a chain back to its input.

    Raises `ShapeError` with the problem of a refused chain.

    >>> import shapecalc as sc
    >>> invert(sc.chain("2,3,4 | transpose 1,0,2 | reshape 6,4")).text
    '6,4 | reshape 3,2,4 | transpose 1,0,2'
    >>> invert(sc.chain("4,6 | pad 1 | slice 2:")).text
    'stage 2, slice 2:, has no inverse: it drops elements'
    """
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    chain = Chain(answer.input, answer.traces, answer.output, None, answer.conditions, lambda _: answer.assumes)
    builder = _InverseBuilder(chain)
    try:
        requests = builder.invert_chain(chain)
    except NotInvertible as error:
        return Inversion(chain, None, str(error))
    output = chain.output or ()
    if not requests:
        return Inversion(chain, answer_chain(output, (), {}))
    inverse = resolve_chain([replace(requests[0], input=output), *requests[1:]])
    if inverse.problem:
        return Inversion(chain, None, f"no inverse can be written: {inverse.problem.message}")
    return Inversion(chain, simplify(inverse).chain)


def _first_output_indices(chain: Chain) -> list[int] | None:
    """Return the first flat output index of each input element.

    Returns None if an element is missing from the output, if the output has more than `MAX_SEARCHED_ELEMENTS` elements,
    or if the chain computes elements.
    """
    output = chain.output or ()
    count, input_count = product(output), product(chain.input)
    if not isinstance(count, int) or not isinstance(input_count, int) or count > MAX_SEARCHED_ELEMENTS:
        return None
    shapes, moves = [chain.input], chain.moves
    for move in moves:
        shapes.append(move.output_shape(shapes[-1]))
    if any(isinstance(move, ShapeVector | Combine) and not isinstance(move, Pad) for move in moves):
        return None
    found: dict[int, int] = {}
    for position in range(count):
        index = unravel(position, output)
        for move, before in reversed([*zip(moves, shapes, strict=False)]):
            index = index_before_move(index, before, move)
            if not all(0 <= place < size for place, size in zip(index, before, strict=True)):
                break
        else:
            found.setdefault(ravel(index, chain.input), position)
    return [found[element] for element in range(input_count)] if len(found) == input_count else None


class _InverseBuilder:
    """A builder of requests that undo stages, in the dialects of their chain."""

    def __init__(self, chain: Chain) -> None:
        self.builder = RequestBuilder(chain)

    def invert_chain(self, chain: Chain) -> list[Request]:
        """Return the requests that undo a chain.

        A chain can have an inverse although one of its stages has none, if that stage drops only elements that an
        earlier stage added. Therefore, if a stage has no inverse, each input element is searched in the output. Raises
        `NotInvertible`, with the stage and the reason, if the chain has no inverse.
        """
        output = chain.output or ()
        if 0 in chain.input and 0 in output:  # there are no elements that could be dropped
            return self._reshape_requests(output, chain.input)
        requests: list[Request] = []
        for number, trace in reversed([*enumerate(chain.traces, 1)]):
            try:
                requests += self._undo_stage(trace)
            except NotInvertible as error:
                positions = _first_output_indices(chain)
                if positions is None:
                    stage = stage_line(replace(trace.request, argument_texts={}))
                    raise NotInvertible(f"stage {number}, {stage}, has no inverse: {error}") from None
                flat, taken = (product(output),), (len(positions),)
                if (len(positions),) == flat and positions == sorted(positions):
                    return self._reshape_requests(output, chain.input)
                take = self._make_request(TAKE, flat, axis=0, indices=tuple(positions))
                return [*self._reshape_requests(output, flat), take, *self._reshape_requests(taken, chain.input)]
        return requests

    def _undo_stage(self, trace: Trace) -> list[Request]:
        """Return the requests that undo a stage.

        Raises `NotInvertible` with the reason if the stage has no inverse.
        """
        shapes = [trace.input]
        for move in trace.moves:
            shapes.append(move.output_shape(shapes[-1]))
        result: list[Request] = []
        for move, before, after in reversed([*zip(trace.moves, shapes, shapes[1:], strict=False)]):
            result += self._undo_move(trace.op, move, before, after)
        return result

    def _undo_move(self, op: str, move: Move, before: Shape, after: Shape) -> list[Request]:
        """Return the requests that undo a move.

        `before` and `after` are the input shape and the output shape of the move.
        """
        match move:
            case Permute(axes=axes):
                return self._move_requests(after, Permute(tuple([axes.index(axis) for axis in range(len(axes))])))
            case Reshape():
                return self._reshape_requests(after, before)
            case Roll(shift=shift, axis=axis):
                return [self._make_request(ROLL, after, shift=-shift, axis=axis)]
            case Expand():
                return self._undo_expand(before, after)
            case StridedSlice():
                return self._undo_slice(move, before, after)
            case Take(axis=axis, positions=positions):
                return self._undo_take(axis, positions, before, after)
            case Pad():
                return self._undo_pad(move, after)
            case Combine(concat_axis=int(axis)) if op == CONCAT.name:
                return self._slice_requests(after, {axis: f":{_require_integer(before[axis])}"})
            case Combine(concat_axis=int(axis)) if op == STACK.name:
                return [self._make_request(SELECT, after, axis=axis, index=0)]
        raise NotInvertible(COMPUTES)

    def _undo_expand(self, before: Shape, after: Shape) -> list[Request]:
        """Return requests that slice each repeated axis to its first element and drop new axes."""
        if 0 in after and 0 not in before:
            raise NotInvertible(DROPS)
        aligned = (1,) * (len(after) - len(before)) + before
        repeated = {axis: ":1" for axis, dim in enumerate(after) if dim != aligned[axis]}
        return [*self._slice_requests(after, repeated), *self._reshape_requests(aligned, before)]

    def _undo_slice(self, move: StridedSlice, before: Shape, after: Shape) -> list[Request]:
        """Return requests that flip the reversed axes and restore the dropped axes."""
        for dim, (_, step, size) in zip(before, move.axis_ranges, strict=True):
            is_whole = size == dim and (step in (1, -1) or dim == 1)
            if not (dim == 1 if size is None else is_whole):
                raise NotInvertible(DROPS)
        backwards = [(size, step) for _, step, size in move.axis_ranges if size is not None]
        axes = [axis for axis, (size, step) in enumerate(backwards) if step < 0 and size != 1]
        flips = [self._make_request(FLIP, after, axes=tuple(axes))] if axes else []
        return [*flips, *self._reshape_requests(after, before)]

    def _undo_take(self, axis: int, positions: Sequence[int], before: Shape, after: Shape) -> list[Request]:
        """Return the request that reads each input element from its first output index."""
        size = before[axis]
        taken = [position % size for position in positions] if isinstance(size, int) and size else [*positions]
        if not isinstance(size, int) or {*taken} != {*range(size)}:
            raise NotInvertible(DROPS)
        return [
            self._make_request(TAKE, after, axis=axis, indices=tuple([taken.index(index) for index in range(size)]))
        ]

    def _undo_pad(self, move: Pad, after: Shape) -> list[Request]:
        """Return the request that slices away the elements that a pad added."""
        if min((*move.begins, *move.ends), default=0) < 0:
            raise NotInvertible(DROPS)
        bounds = [*enumerate(zip(move.begins, move.ends, strict=True))]
        return self._slice_requests(
            after, {axis: f"{begin or ''}:{f'-{end}' if end else ''}" for axis, (begin, end) in bounds if begin or end}
        )

    def _slice_requests(self, shape: Shape, slices: dict[int, str]) -> list[Request]:
        """Return the request that slices the given axes, or no request if there are none."""
        texts = [slices.get(axis, ":") for axis in range(max(slices, default=-1) + 1)]
        return [self._make_request(SLICE, shape, slices=",".join(texts))] if texts else []

    def _reshape_requests(self, shape: Shape, target: Shape) -> list[Request]:
        """Return the request of a reshape, or no request if the shapes are equal.

        A reshape to a size of 0 uses the rules of NumPy.
        """
        if shape != target and 0 in target:
            return [make_request(RESHAPE.name, shape, {"target": target, "dialect": "numpy"})]
        return [] if shape == target else self._move_requests(shape, Reshape(target))

    def _move_requests(self, shape: Shape, move: Move) -> list[Request]:
        """Return the requests of a reshape or a transpose.

        Raises `NotInvertible` if no request executes the move.
        """
        requests = self.builder.build_requests(shape, [move])
        if requests is None:
            raise NotInvertible(f"no target writes {shape_text(move.output_shape(shape))}")
        return requests

    def _make_request(self, op: Op, shape: Shape, **arguments: object) -> Request:
        """Return a request under the first dialect of the chain that has the op."""
        names = (name for name in self.builder.templates if operator_of(op, DIALECTS[name]))
        return make_request(op.name, shape, {**arguments, "dialect": next(names, op.default_dialect)})


def _require_integer(size: Dim) -> int:
    if not isinstance(size, int):
        raise NotInvertible(UNKNOWN_SIZE)
    return size
