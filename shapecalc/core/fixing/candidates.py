"""What to try on a request that was refused: for each rule, new values for the argument at fault.

Nothing here says that a change helps: `fixes` asks again.
"""

from __future__ import annotations

from shapecalc.core.answers.stage import Kind
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.dialect import Infers
from shapecalc.core.fixing.nearest import nearest_sizes
from shapecalc.core.ops import OPS
from shapecalc.core.rules import refusals as rules
from shapecalc.core.sizes.dims import Shape, product, quotient
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.core.answers.stage import Stage
    from shapecalc.core.answers.trace import Trace
    from shapecalc.core.sizes.problem import Problem
    from shapecalc.core.sizes.rule import Rule

    Values = Iterator[Any]
    Changes = Iterator[tuple[str, object, str]]
    """The name of an argument, its new value, and what makes that right for every batch, if it is."""

MOST_NEAR = 4
"""How many of the nearest axes are tried."""


class Refused(Record):
    """A refused request, and what its problem points at."""

    trace: Trace
    problem: Problem
    kind: Kind | None
    """What the stage that was refused would have done; None if the request was refused before any."""
    value: Any
    """The argument at fault: dims, axes, one axis, or None if it was left out."""
    shape: Shape
    """The dims that the argument is applied to."""

    @property
    def place(self) -> int:
        """The index of the token at fault."""
        return self.problem.index or 0

    @property
    def rank(self) -> int:
        """The number of axes that there are to name."""
        return len(self.shape) + (len(self.value or ()) if self.kind is Kind.UNSQUEEZE else 0)

    @property
    def settled(self) -> Shape:
        """The requested dims as far as the steps settle them, 1 for the others."""
        return _settled(self.trace.stages[-1:], self.value)

    @property
    def hole(self) -> int | None:
        """The index of the first dim to infer."""
        readings = DIALECTS[self.trace.dialect].readings.values()
        only = None if any(reading.infers is Infers.ANY_NEGATIVE for reading in readings) else -1
        negative = (out for out, dim in enumerate(self.value) if isinstance(dim, int) and dim < 0)
        return next((out for out in negative if only in (None, self.value[out])), None)

    def put(self, *dims: Any, at: int | None = None) -> Any:
        """Return the argument with `dims` in place of the token at fault, or of the one at an index."""
        place = self.place if at is None else at
        return (*self.value[:place], *dims, *self.value[place + 1 :]) if isinstance(self.value, tuple) else dims[0]

    def own(self, out: int) -> Shape:
        """Return the input's dim that lines up with a requested one, or nothing."""
        axis = out + (len(self.shape) - len(self.value) if self.kind is Kind.EXPAND else 0)
        return self.shape[axis : axis + 1] if axis >= 0 else ()


def _settled(stages: Sequence[Stage], target: Shape) -> Shape:
    """Return a requested shape as far as the steps of stages settle it, 1 for the other dims."""
    known = {step.out: step.dim for stage in stages for step in stage.steps if step.out is not None}
    return tuple(known.get(out, 1) for out in range(len(target)))


def refused_request(trace: Trace, problem: Problem) -> Refused:
    """Return a refused request with the argument at fault and the dims that it is applied to."""
    arguments, name = trace.request.arguments, problem.argument
    stage = trace.stages[-1] if trace.stages else None
    shape = stage.before if stage else trace.input
    if name == "second" and stage and not stage.steps:  # a Shuffle checks it before its reshape
        shape = arguments.get("to", shape)
    return Refused(trace, problem, stage.kind if stage else None, arguments.get(str(name)), shape)


def _fitting(at: Refused) -> Values:
    """Yield the target with the nearest sizes that fit in place of one number."""
    if not isinstance(at.value, tuple):
        return iter(())
    index, sizes = nearest_sizes(product(at.shape), at.value, at.settled, at.hole)
    return (at.put(size, at=index) for size in sizes)


def _scaled(at: Refused) -> Values:
    """Yield the target with the sizes of the input's image where it holds another one."""
    from shapecalc.core.fixing.images import other_image  # most requests are refused for something else

    if isinstance(at.value, tuple) and not any(isinstance(dim, int) and dim < 0 for dim in at.value):
        for place, dims in other_image(at.shape, at.settled):
            yield (*at.value[:place], *dims, *at.value[place + len(dims) :])


def copied_zeros(at: Refused) -> Values:
    """Yield the target with the input's own dims in place of zeros that were meant to copy them, but are sizes."""
    asked = at.trace.stages[-1].asked if at.kind in (Kind.RESHAPE, Kind.VIEW) else None
    if asked and asked == at.value and 0 not in at.shape and 0 in at.settled:
        own = at.shape + at.value[len(at.shape) :]
        yield tuple(own[out] if dim == 0 else dim for out, dim in enumerate(at.value))


def _counted(at: Refused) -> Values:
    """Yield the target with the dim that -1 stands for, computed from the dims that are not zero."""
    have, known = (product(dim for dim in dims if dim != 0) for dims in (at.shape, at.settled))
    yield at.put(quotient(have, known), at=at.hole)


def _own(at: Refused) -> Values:
    """Yield the target with the input's own dim there."""
    return (at.put(dim) for dim in at.own(at.place))


def _own_first(at: Refused) -> Values:
    """Yield the target with the input's own dim there, and -1 for what is left."""
    return (at.put(dim, -1) for dim in at.own(at.place))


def _lengthened(at: Refused) -> Values:
    """Yield the target with the input's dims in front of it, if it is too short."""
    yield (*at.shape[: len(at.shape) - len(at.value)], *at.value)


def _token(*dims: int) -> Callable[[Refused], Values]:
    """Return the change that writes `dims` in place of the token at fault."""
    return lambda at: iter([at.put(*dims)] if isinstance(at.value, tuple) else [])


def _value(value: object) -> Callable[[Refused], Values]:
    """Return the change that gives the argument a value of its own."""
    return lambda _: iter([value])


def _cut(at: Refused) -> Values:
    """Yield as many dims as the dialect takes, the last one inferred; or as many new axes."""
    if at.kind is Kind.UNSQUEEZE:
        yield at.value[: at.place - len(at.shape)]
    elif isinstance(at.value, tuple):
        yield at.value[-at.place :] if at.kind is Kind.EXPAND else (*at.value[: at.place - 1], -1)


def _completed(at: Refused) -> Values:
    """Yield the permutation with the axes that it lacks in place of those that are wrong, or behind it."""
    perm, rank, right = at.value or (), at.rank, dict[int, int]()
    negative = DIALECTS[at.trace.dialect].negative_perm
    for index, axis in enumerate(perm):
        if -rank <= axis < rank and axis % rank not in right:
            right[axis % rank] = index
    kept = {index: perm[index] if negative else axis for axis, index in right.items()}
    lacking = iter([axis for axis in range(rank) if axis not in right])
    room = max(0, rank - len(right))
    wrong = [index for index in range(max(rank, len(perm))) if index not in kept][:room]
    yield tuple(kept[index] if index in kept else next(lacking) for index in sorted([*kept, *wrong]))


def _reversed(at: Refused) -> Values:
    """Yield the permutation that reverses the dims."""
    yield tuple(range(at.rank))[::-1]


def _from_zero(at: Refused) -> Values:
    """Yield the same axis counted from 0, or the first axis if there is none so far in front."""
    axis = at.value[at.place] if isinstance(at.value, tuple) else at.value
    yield at.put(max(0, axis + at.rank))


def _near(at: Refused) -> Values:
    """Yield the axes nearest to the one that is wrong, which is 1 for a flatten that names none."""
    axis = at.value[at.place] if isinstance(at.value, tuple) else 1 if at.value is None else at.value
    near = sorted(range(at.rank + 1), key=lambda other: abs(other - axis))
    return (at.put(other) for other in near[:MOST_NEAR])


def _one(at: Refused) -> Values:
    """Yield the nearest axes that are 1 in place of the only axis."""
    axis = at.value[0] if isinstance(at.value, tuple) else at.value
    ones = [other for other, dim in enumerate(at.shape) if dim == 1 and at.value in (axis, (axis,))]
    return (at.put(other) for other in sorted(ones, key=lambda other: abs(other - axis % at.rank)))


def _end(at: Refused) -> Values:
    """Yield the last dim to merge, as the first."""
    yield at.trace.request.arguments["end_dim"]


DROP, INFER, ONE = _token(), _token(-1), _token(1)
LEFT_OUT, IN_FRONT = _value(None), _value((0,))

CHANGES: Mapping[Rule, tuple[Callable[[Refused], Values], ...]] = {
    rules.INDIVISIBLE: (_fitting,),
    rules.VOLUME_MISMATCH: (copied_zeros, _scaled, _fitting),
    rules.TWO_INFERS: (_own, ONE, DROP),
    rules.BELOW_MINUS_ONE: (INFER, _own, DROP),
    rules.ZERO_OUT_OF_RANGE: (DROP, INFER, ONE),
    rules.ZERO_BESIDE_INFER: (_counted,),
    rules.ZERO_VOLUME_INFER: (copied_zeros, _counted),
    rules.INFER_LIMIT: (_own_first,),
    rules.OVERFLOW: (_own,),
    rules.RANK_LIMIT: (_cut,),
    rules.NOT_A_PERMUTATION: (_completed, LEFT_OUT),
    rules.MISSING_ARGUMENT: (_reversed,),
    rules.NEGATIVE_AXIS: (_from_zero,),
    rules.AXIS_OUT_OF_RANGE: (_near, DROP),
    rules.REPEATED_AXIS: (DROP,),
    rules.AXIS_NOT_ONE: (_one, DROP),
    rules.START_AFTER_END: (_end,),
    rules.NOT_BROADCASTABLE: (_own, ONE, _lengthened),
    rules.NEGATIVE_SIZE: (_own, ONE, DROP),
    rules.NEEDS_SIZE: (_own,),
    rules.NO_SUCH_ATTRIBUTE: (LEFT_OUT,),
}
"""The changes to the argument at fault, in the order in which they are tried."""

OF_A_KIND: Mapping[tuple[Rule, Kind], tuple[Callable[[Refused], Values], ...]] = {
    (rules.NEGATIVE_AXIS, Kind.PERMUTE): (_completed,),
    (rules.MISSING_ARGUMENT, Kind.UNSQUEEZE): (IN_FRONT,),
    (rules.AXIS_OUT_OF_RANGE, Kind.UNSQUEEZE): (_near,),
    (rules.REPEATED_AXIS, Kind.UNSQUEEZE): (_near,),
}
"""The changes for stages of one kind, in place of those above."""


def changes(trace: Trace, problem: Problem) -> Changes:
    """Yield arguments with new values: as the op says, otherwise the argument at fault."""
    of_the_op = OPS[trace.op].changes.get(problem.rule)
    if of_the_op is not None:
        yield from ((name, value, "") for name, value in of_the_op(trace.input, trace.request.arguments))
        return
    if problem.rule is rules.VOLUME_MISMATCH:
        yield from batch_changes(trace)
    at, name = refused_request(trace, problem), str(problem.argument)
    own = OF_A_KIND.get((problem.rule, at.kind)) if at.kind else None
    for change in CHANGES.get(problem.rule, ()) if own is None else own:
        for value in change(at):
            yield name, value, ""


def batch_changes(trace: Trace) -> Changes:
    """Yield targets that are right for every batch, if one says a batch that the input does not have, or may not."""
    from shapecalc.core.fixing.batch import for_every_batch  # most requests are refused for something else

    arguments = trace.request.arguments
    for stage in trace.stages:
        target = arguments.get(stage.argument)
        if stage.kind in (Kind.RESHAPE, Kind.VIEW) and isinstance(target, tuple) and not arguments.get("reverse"):
            for value, why in for_every_batch(stage.before, target, _settled((stage,), target)):
                yield stage.argument, value, why


def last_changes(trace: Trace, problem: Problem) -> Changes:
    """Yield targets with one token changed, from the right, to the input's own dim or to -1; and with one -1 more."""
    at = refused_request(trace, problem)
    if at.kind is not Kind.RESHAPE or not OPS[trace.op].switched or not isinstance(at.value, tuple):
        return
    name = str(problem.argument)
    for place in range(len(at.value))[::-1]:
        for dim in (*at.own(place), -1):
            yield name, at.put(dim, at=place), ""
    yield name, (*at.value, -1), ""
