"""What would make a refused request resolve: one search, asked again before it is offered, and the hints made of it."""

from __future__ import annotations

from itertools import accumulate, chain, islice
from math import isqrt, prod

from shapecalc.core import rules
from shapecalc.core.answers import Chain, Kind, Request, Stage, Trace
from shapecalc.core.ask import DEFAULT_OPSET, ask, switch_name
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Infers, Zero
from shapecalc.core.dims import Dim, Shape, factored, missing_factors, names, product, quotient
from shapecalc.core.meeting import WAYS, Change, arithmetic, keeps_batch, meetings
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import FILE, USAGE, Problem, Rule, ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import ask_chain, resolve, resolve_chain, with_zeros
from shapecalc.core.text import brief, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.core.ask import Stage as Asked

    Values = Iterator[Any]
    Changes = Iterator[Change]
    Answers = Iterator[tuple["Fix", Trace]]


# The sizes nearest to a number of a requested shape with which the element counts agree.


SEARCHED = 20_000
"""How far from a number its nearest divisor is looked for."""


def nearest_sizes(volume: Dim, target: Shape, settled: Shape, hole: int | None) -> tuple[int, list[int]]:
    """Return the literal of `target` that is nearest to a fitting size: its index, and what fits, nearest first.

    `settled` is `target` with its zeros resolved and 1 in place of -1; nothing fits where the sizes are empty.

    >>> nearest_sizes(24, (5, -1), (5, 1), 1), nearest_sizes(7, (0,), (2,), None)
    ((0, [4, 6]), (0, []))
    """
    best: tuple[int, int, list[int]] = (0, 0, [])
    whole = product(settled)
    if whole == 0:
        return 0, []
    for index, dim in enumerate(target):
        if index == hole or not isinstance(dim, int) or dim <= 0:
            continue
        room = _room(volume, whole, dim)
        fits = [] if room is None else [room] if hole is None else divisors_near(room, dim)
        gaps = sorted((abs(size - dim), size) for size in fits)
        if gaps and (not best[2] or gaps[0][0] < best[0]):
            best = gaps[0][0], index, [size for _, size in gaps]
            if best[0] == 1:
                break
    return best[1:]


def divisors_near(number: int, wanted: int) -> list[int]:
    """Return the nearest divisors of `number` below and above `wanted`, if there are any close by.

    >>> divisors_near(24, 5), divisors_near(24, 6), divisors_near(7, 3)
    ([4, 6], [4, 8], [1, 7])
    """
    below = range(min(wanted - 1, number), max(0, wanted - SEARCHED), -1)
    above = range(wanted + 1, min(number, wanted + SEARCHED) + 1)
    found = [next((size for size in sizes if number % size == 0), None) for sizes in (below, above)]
    return [size for size in found if size]


def _room(volume: Dim, settled: Dim, dim: int) -> int | None:
    """Return the size that a dim would need for the others to fit; None if that is no number of at least 1."""
    room = quotient(product((volume, dim)), settled)
    return room if isinstance(room, int) and room > 0 else None


# A requested shape that holds another image than the input's: where, and the sizes that fit there.


def other_image(shape: Shape, target: Shape) -> Iterator[tuple[int, Shape]]:
    """Yield the places at which a target has another image than `shape`, each with the dims to write there.

    The image has other sides in the same ratio, is one dim with its pixels, or is another square.

    >>> [*other_image((1, 27, 120, 120), (1, 3, 9, 30, 30))], [*other_image((1, 4, 256, 256), (1, 4, 1, 4096))]
    ([(3, (120, 120))], [(3, (-1,))])
    >>> [*other_image((8921088,), (16, 34, 34, 512))]
    [(1, (33, 33))]
    """
    if product(shape) == 0 or product(target) == 0:
        return
    place, ours, theirs = differing(shape, target)
    if product(ours) == product(shape):
        yield from _other_square(shape, target, place, len(theirs))
    elif len(ours) == len(theirs) > 1 and len({*map(quotient, ours, theirs)}) == 1:
        yield place, ours
    else:
        large = [at for at, dim in enumerate(theirs) if dim != 1]
        if len(large) == 1 and (len(ours) == 1 < len(theirs) or _are_squares(ours, theirs[large[0]])):
            yield place + large[0], (-1,)


def _other_square(shape: Shape, target: Shape, place: int, count: int) -> Iterator[tuple[int, Shape]]:
    """Yield the squares that fit in place of those among some dims of a target."""
    for at in range(place, place + count - 1):
        side = target[at]
        room = quotient(product((*shape, side, side)), product(target))
        if side == target[at + 1] != 1 and isinstance(room, int) and isqrt(room) ** 2 == room > 0:
            yield at, (isqrt(room), isqrt(room))


def _are_squares(sides: Shape, pixels: Dim) -> bool:
    """Say whether two sides are equal, and a number of pixels is that of a square."""
    return len(sides) == 2 and sides[0] == sides[1] and isinstance(pixels, int) and isqrt(pixels) ** 2 == pixels


def differing(shape: Shape, target: Shape) -> tuple[int, Shape, Shape]:
    """Return where two shapes begin to differ in the second, and the dims of both that differ.

    In front of these and behind them both hold as many elements.

    >>> differing((1, 27, 120, 120), (1, 3, 9, 30, 30))
    (3, (120, 120), (30, 30))
    """
    i, j = _agreeing(shape, target)
    ours, theirs = shape[i:], target[j:]
    behind, last = _agreeing(ours[::-1], theirs[::-1])
    return j, ours[: len(ours) - behind], theirs[: len(theirs) - last]


def _agreeing(shape: Shape, target: Shape) -> tuple[int, int]:
    """Return how many dims of two shapes, from the left, hold as many elements."""
    ends = {volume: at for at, volume in enumerate(_volumes(shape), 1)}
    found = [(ends[volume], at) for at, volume in enumerate(_volumes(target), 1) if volume in ends]
    return found[-1] if found else (0, 0)


def _volumes(shape: Shape) -> Iterator[Dim]:
    return accumulate(shape, lambda volume, dim: product((volume, dim)))


# A batch that is written into a requested shape as a number, and what is right for every batch instead.


COPIED, INFERRED = "since 0 copies the input's first dim", "as long as the other sizes stay"


def batch_differs(shape: Shape, target: Shape) -> bool:
    """Say whether two shapes hold as many elements but for their first dims, and differ in these.

    >>> batch_differs((8, 255, 52), (1, 3, 85, 52)), batch_differs((8, 255), (1, 3, 80)), batch_differs((8,), (1,))
    (True, False, False)
    """
    if len(shape) < 2 or len(target) < 2 or shape[0] == target[0]:
        return False
    rest = product(shape[1:])
    return rest not in (0, 1) and rest == product(target[1:])


def for_every_batch(shape: Shape, target: Shape, settled: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that do not say how large the batch is, each with what it assumes, if `target` says another size.

    `settled` is `target` with its zeros resolved.

    >>> [value for value, _ in for_every_batch((8, 6), (1, 2, 3), (1, 2, 3))]
    [(0, 2, 3), (-1, 2, 3)]
    """
    if any(isinstance(dim, int) and dim < 0 for dim in target) or not isinstance(target[:1] and target[0], int):
        return
    if batch_differs(shape, settled):
        yield (0, *target[1:]), COPIED
        yield (-1, *target[1:]), INFERRED


def batch_moved(before: Shape, after: Shape) -> str:
    """Return where a reshape takes a batch that was the first dim, if 1 stands there afterwards; empty if it stays.

    >>> batch_moved((4, 197, 768), (1, 788, 12, 64)), batch_moved((4, 6), (1, 3, 8)), batch_moved((4, 6), (4, 3, 2))
    ('takes the batch into axis 1', 'mixes the samples of the batch', '')
    """
    sizes = [dim for dim in (*before, *after) if isinstance(dim, int) and dim > 0]
    if len(sizes) < len(before) + len(after) or len(before) < 2 or before[0] == 1 or after[:1] != (1,):
        return ""
    unit, below = prod(sizes[1 : len(before)]), 1
    for axis in range(len(after) - 1, 0, -1):
        above = below * sizes[len(before) + axis]
        if unit % below == 0 and above % (unit * sizes[0]) == 0:
            return "" if after[axis] == sizes[0] else f"takes the batch into axis {axis}"
        below = above
    return "mixes the samples of the batch"


def kept_first(before: Shape, after: Shape, target: Shape, value: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that keep the batch first, each with what it assumes, in place of one that says how large it is.

    `value` is what a refused `target` may become, and `after` the shape that it gives.

    >>> [value for value, _ in kept_first((4, 6), (1, 24), (1, 9), (1, 24))]
    [(0, -1), (-1, 6)]
    >>> [value for value, _ in kept_first((4, 6), (4, 6), (4, 9), (4, 6))]
    [(0, 6)]
    """
    if len(before) < 2 or value[:1] != after[:1]:
        return
    batch = before[0]
    if not isinstance(batch, int) or batch < 2:
        return
    if batch == after[0] and product(before[1:]) == product(after[1:]):
        yield (0, *value[1:]), COPIED
    changed = [at for at, (old, new) in enumerate(zip(target, value, strict=False)) if old != new]
    place = value.index(-1) if -1 in value else changed[0] if len(changed) == 1 else 0
    if not place or len(value) != len(target) or not batch_moved(before, after):
        return
    size = after[place]
    yield (0, *value[1:place], -1, *value[place + 1 :]), COPIED
    if isinstance(size, int) and size % batch == 0:
        yield (-1, *value[1:place], size // batch, *value[place + 1 :]), INFERRED


# What to try on a request that was refused: for each rule, new values for the argument at fault.
#
# Nothing here says that a change helps: `fixes` asks again.


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
    def near(self) -> tuple[int, list[int]]:
        """The index of the number that is nearest to a fitting size, and what fits there, nearest first."""
        if not isinstance(self.value, tuple):
            return 0, []
        return nearest_sizes(product(self.shape), self.value, self.settled, self.hole)

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
    index, sizes = at.near
    return (at.put(size, at=index) for size in sizes)


def _scaled(at: Refused) -> Values:
    """Yield the target with the sizes of the input's image where it holds another one."""
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
    rules.INFER_LIMIT: (lambda at: (at.put(dim, -1) for dim in at.own(at.place)),),
    rules.OVERFLOW: (_own,),
    rules.RANK_LIMIT: (_cut,),
    rules.NOT_A_PERMUTATION: (_completed, LEFT_OUT),
    rules.MISSING_ARGUMENT: (lambda at: iter([tuple(range(at.rank))[::-1]]),),
    rules.NEGATIVE_AXIS: (_from_zero,),
    rules.AXIS_OUT_OF_RANGE: (_near, DROP),
    rules.REPEATED_AXIS: (DROP,),
    rules.AXIS_NOT_ONE: (_one, DROP),
    rules.START_AFTER_END: (lambda at: iter([at.trace.request.arguments["end_dim"]]),),
    rules.NOT_BROADCASTABLE: (_own, ONE, lambda at: iter([(*at.shape[: len(at.shape) - len(at.value)], *at.value)])),
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


OPERANDS = ("input", "operands", "weight", "kernel")
"""The arguments that are at fault if operands do not go together."""


def changes(trace: Trace, problem: Problem) -> Changes:
    """Yield arguments with new values: as the op says, otherwise the argument at fault."""
    of_the_op = OPS[trace.op].changes.get(problem.rule)
    if of_the_op is not None:
        yield from (Change(name, value) for name, value in of_the_op(trace.input, trace.request.arguments))
        return
    if _do_not_meet(trace, problem):
        yield from meetings(trace.request)
        return
    if problem.rule is rules.VOLUME_MISMATCH:
        yield from batch_changes(trace)
    at, name = refused_request(trace, problem), str(problem.argument)
    own = OF_A_KIND.get((problem.rule, at.kind)) if at.kind else None
    for change in CHANGES.get(problem.rule, ()) if own is None else own:
        values = change(at) if name != "input" else ()  # what is asked about stays
        yield from (Change(name, value, copies=change is copied_zeros) for value in values)


def _do_not_meet(trace: Trace, problem: Problem) -> bool:
    """Say whether a request is refused since its operands do not go together."""
    return trace.op in WAYS and problem.argument in OPERANDS


def batch_changes(trace: Trace) -> Changes:
    """Yield targets that are right for every batch, if one says a batch that the input does not have, or may not."""
    arguments = trace.request.arguments
    for stage in trace.stages:
        target = arguments.get(stage.argument)
        if stage.kind in (Kind.RESHAPE, Kind.VIEW) and isinstance(target, tuple) and not arguments.get("reverse"):
            for value, why in for_every_batch(stage.before, target, _settled((stage,), target)):
                yield Change(stage.argument, value, why)


def last_changes(trace: Trace, problem: Problem) -> Changes:
    """Yield targets with one token changed, from the right, to the input's own dim or to -1; and with one -1 more."""
    at = refused_request(trace, problem)
    if at.kind is not Kind.RESHAPE or not OPS[trace.op].switched or not isinstance(at.value, tuple):
        return
    name = str(problem.argument)
    for place in range(len(at.value))[::-1]:
        for dim in (*at.own(place), -1):
            yield Change(name, at.put(dim, at=place))
    yield Change(name, (*at.value, -1))


# What would make a refused request resolve, as data, ready to be applied.
#
# Every change that `changes` names is asked again before it is offered, so a fix is right by definition. Only one
# option is changed: the argument at fault, the dialect's switch, or the opset.


MOST_TRIED = 24
"""How many values for the argument at fault are asked again."""
MOST_CHANGED = 4
"""How many changes to one argument a fix may be made of."""
LONGEST = 256
"""The most dims that a request may have for changes to be looked for."""
RESHAPING = (Kind.RESHAPE, Kind.VIEW)
"""The kinds of stages that may take the first axis elsewhere."""
RAISING = (rules.NO_SUCH_ATTRIBUTE, rules.NO_SUCH_VERSION, rules.NEGATIVE_AXIS, rules.DTYPE)
"""The rules that a newer version of the operator may not have."""


class Fix(Record):
    """One option of a refused request, and the value with which the request resolves."""

    name: str
    """The option: `target`, `perm`, `axis`, `allowzero`, `opset` ..."""
    value: str | bool | None
    """Its value as text, on or off for a switch, None to leave the option out."""
    said: str
    """The change in a few words."""
    every_batch: str = ""
    """Why the change is right for every batch, and not only for that of the request; empty if that is not known."""
    moves: str = ""
    """Where the change takes the batch; empty if it stays first, or if there is none."""
    copies: bool = False
    """Whether it writes the dims that zeros were meant to copy, where they are sizes."""


def fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the changes of one option each with which a refused request resolves, those right for every batch first.

    Of a request that resolves for one batch alone, they are those with which it resolves for every batch.

    >>> [fix.said for fix in fixes(resolve(ask("reshape", "2,3,4", {"target": "5,-1"})))]
    ['write 4,-1', 'write 6,-1']
    """
    if trace.problem is None:
        return _lasting(trace) if trace.conditions else ()
    resolving = sorted(_mend(trace, trace.problem, MOST_CHANGED), key=lambda each: bool(each[1].conditions))
    told: dict[object, Fix] = {}
    for fix, answer in resolving:
        for each in with_batch(trace, fix, answer):
            told.setdefault((each.name, each.value), each)
    return tuple(told.values())


def with_batch(trace: Trace, fix: Fix, answer: Trace) -> list[Fix]:
    """Return a change to a target with those that keep a batch of any size first, and where it takes the batch.

    `answer` is what the request with the change leads to. One that takes the batch elsewhere comes last.
    """
    stage = next((each for each in answer.stages if each.argument == fix.name and each.kind in RESHAPING), None)
    asked, value = (each.request.arguments.get(fix.name) for each in (trace, answer))
    if fix.every_batch or stage is None or stage.after is None or answer.request.arguments.get("reverse"):
        return [fix]
    if not isinstance(asked, tuple) or not isinstance(value, tuple):
        return [fix]
    moved = batch_moved(stage.before, stage.after)
    kept = kept_first(stage.before, stage.after, asked, value)
    tried = _asked_again(trace.request, _worded(trace.request, (Change(fix.name, *each) for each in kept)))
    found = [each for each, again in tried if again.output is not None]
    return [*found, replace(fix, said=f"{fix.said}: {moved}", moves=moved)] if moved else [fix, *found]


def single_fixes(trace: Trace, problem: Problem, name: str | None = None) -> Answers:
    """Yield the changes of one option that resolve a refused request, each made once, with the answers.

    `name` asks for changes of that option. It finds first what `fixes` finds, with less asked again.
    """
    tries = (each for each in _tries(trace, problem) if name in (None, each[0].name))
    return (each for each in tries if each[1].output is not None)


def _lasting(trace: Trace) -> tuple[Fix, ...]:
    """Return the changes with which an answer that holds under conditions no longer depends on the batch."""
    asked = _asked_again(trace.request, _worded(trace.request, batch_changes(trace)))
    fewer = len(trace.conditions)
    return tuple(fix for fix, answer in asked if answer.output is not None and len(answer.conditions) < fewer)


def apply(request: Request, fix: Fix) -> Request:
    """Return the request with the fix applied; raise `ShapeError` (usage) if it does not take the value.

    >>> apply(ask("reshape", "2,3,4", {"target": "5,-1"}), Fix("target", "4,-1", "write 4,-1")).arguments
    {'target': (4, -1)}
    """
    switch = DIALECTS[request.dialect].switch
    options: dict[str, Any] = {"input": request.input, "dialect": request.dialect, "opset": request.opset}
    options |= {"dtype": request.dtype, **request.arguments}
    if switch:
        options[switch.name] = request.switch
    options[fix.name] = fix.value
    again = ask(request.op, options.pop("input"), options)
    kept = {name: text for name, text in request.written.items() if name != fix.name}
    return replace(again, written={**kept, **again.written})


def _mend(trace: Trace, problem: Problem, left: int) -> list[tuple[Fix, Trace]]:
    """Return what makes a request resolve, each with its answer; a fix may change one argument `left` times."""
    if problem.rule is rules.CONTRADICTION:
        return []
    tried = [*_tries(trace, problem)]
    if _do_not_meet(trace, problem):
        return _resolving(tried)
    if not _resolving(tried):
        tried += _asked_again(trace.request, _worded(trace.request, last_changes(trace, problem)))
    if _resolving(tried) or left == 1:
        return _resolving(tried)
    for fix, answer in tried:
        if answer.problem and fix.name == problem.argument == answer.problem.argument:
            further = _mend(answer, answer.problem, left - 1)
            return [each for each in further if each[0].name == fix.name]
    return []


def _resolving(tried: Iterable[tuple[Fix, Trace]]) -> list[tuple[Fix, Trace]]:
    """Return those that resolve, each once."""
    return [*dict(each for each in tried if each[1].output is not None).items()]


def _tries(trace: Trace, problem: Problem) -> Answers:
    """Yield the changes of one option that may help, each with the answer it leads to."""
    request = trace.request
    if len(request.dims) > LONGEST:
        return
    newer = _newer_opset(request) if problem.rule in RAISING else iter(())
    if problem.rule is rules.NO_SUCH_ATTRIBUTE:
        yield from newer
    tried = _asked_again(request, _worded(request, changes(trace, problem)))
    alone = not _do_not_meet(trace, problem)
    yield from (each for each in tried if alone or keeps_batch(request, each[1]))
    yield from _asked_again(request, _switched(request))
    yield from newer  # of which nothing is left if they came first


def _asked_again(request: Request, fixes: Iterable[Fix]) -> Answers:
    """Yield the answers to a request with each of the fixes applied, if it takes them."""
    for fix in fixes:
        try:
            yield fix, resolve(apply(request, fix))
        except ShapeError:
            continue


def _worded(request: Request, changed: Changes) -> Iterator[Fix]:
    """Yield arguments with new values as they would be typed, in words; none for a request that is too long."""
    for change in () if len(request.dims) > LONGEST else islice(changed, MOST_TRIED):
        name, value = change.name, change.value
        if isinstance(value, bool):
            yield Fix(name, value, f"write --{name}")
            continue
        text = shape_text(value) if isinstance(value, tuple) else None if value is None else str(value)
        what = "" if name in request.arguments or name == "input" else f"{name} "
        why = f": right for every batch, {change.every_batch}" if change.every_batch else ""
        said = f"leave {name} out" if text is None else f"write {what}{brief(text)}{why}"
        said = f"{change.said}: {said}" if change.said else said
        yield Fix(name, text, said, change.every_batch, copies=change.copies)


def _switched(request: Request) -> Iterator[Fix]:
    """Yield the other settings of the dialect's switch, if the op has it."""
    row = DIALECTS[request.dialect]
    name = switch_name(OPS[request.op], row)
    if name and row.switch:
        now = row.switch.default if request.switch is None else request.switch
        yield from (Fix(name, on, f"turn {name} {'on' if on else 'off'}") for on in (True, False) if on is not now)


def _newer_opset(request: Request) -> Answers:
    """Yield the first newer opset in which the request resolves."""
    row = DIALECTS[request.dialect]
    operator = operator_of(OPS[request.op], row)
    versions = operator.versions if operator and row.newest_opset else ()
    newer = [version for version in versions if version > (request.opset or DEFAULT_OPSET)]
    tried = _asked_again(request, (Fix("opset", str(version), f"use opset {version}") for version in newer))
    yield from islice(((fix, answer) for fix, answer in tried if answer.output is not None), 1)


# Hints: what would help a refused request, in words. They are made of changes that were asked again.


MOST_NAMES = 8
"""With how many names 0 is tried."""
MOST_FOR_BATCHES = 3
"""How many changes are named where the batch differs: 0, -1, and the batch itself."""
MOST_LISTED = 64
"""The rank up to which a hint lists axes."""


def hint(trace: Trace) -> str:
    """Return what would help a refused request; nothing if nothing short is known.

    >>> from shapecalc.core.ask import ask
    >>> hint(resolve(ask("reshape", "2,3,4", {"target": "5,-1"})))
    '4 and 6 would divide: try 4,-1'
    """
    problem = trace.problem
    if problem is None or problem.hint or problem.rule in (USAGE, FILE):
        return problem.hint if problem else ""
    request = trace.request
    return "; ".join(filter(None, (_near_hint(trace, problem), _switch_hint(request, problem), _zeros(request))))


def lasting_hint(answer: Trace | Chain) -> str:
    """Return what would let an answer hold for every batch, if it holds for one alone; nothing otherwise.

    >>> from shapecalc.core.ask import ask
    >>> lasting_hint(resolve(ask("reshape", "N,6", {"target": "1,2,3", "dialect": "numpy"})))
    'for every batch try -1,2,3, as long as the other sizes stay'
    """
    if answer.problem is not None or not answer.conditions:
        return ""
    for number, trace in enumerate(answer.traces, 1):
        said = _for_every_batch(fixes(trace))
        if said:
            return said if len(answer.traces) == 1 else f"stage {number}, {trace.op}: {said}"
    return ""


def _for_every_batch(found: Iterable[Fix]) -> str:
    """Say which of some fixes are right for every batch, and why."""
    texts = [f"{brief(str(fix.value))}, {fix.every_batch}" for fix in found if fix.every_batch]
    return f"for every batch try {'; or '.join(texts)}" if texts else ""


def _near_hint(trace: Trace, problem: Problem) -> str:
    """Say which change of the argument at fault, or of the opset, would help."""
    at = refused_request(trace, problem)
    counted = problem.rule in (rules.INDIVISIBLE, rules.VOLUME_MISMATCH, rules.ZERO_VOLUME_INFER)
    if counted and (said := _target_hint(at)) is not None:
        return said
    if problem.rule is rules.NOT_A_PERMUTATION:
        return _missing(at)
    if problem.rule is rules.NEEDS_SIZE:
        copying = trace.op == "view" and problem.argument == "strides"
        return "give the sizes with --where" + (", or write reshape in place of view" if copying else "")
    if problem.rule == "stride-incompatible":
        from shapecalc.core.ops.view import COPY_FIRST  # no other op has it

        return COPY_FIRST
    switch = switch_name(OPS[trace.op], DIALECTS[trace.dialect])
    mended, _ = next(single_fixes(trace, problem), (None, None))
    said = mended.said if mended and mended.name != switch else ""
    numbers = arithmetic(trace.request) if _do_not_meet(trace, problem) else ""
    return "; ".join(filter(None, (numbers if not said or "flattened" in numbers else "", said)))


def _target_hint(at: Refused) -> str | None:
    """Say which target would help; None if that is not for the target to say."""
    trace, problem = at.trace, at.problem
    found = single_fixes(trace, problem, problem.argument)
    copying = problem.rule is not rules.INDIVISIBLE and next(copied_zeros(at), None) is not None
    for_batches = problem.rule is rules.VOLUME_MISMATCH and next(batch_changes(trace), None) is not None
    some = [*islice(found, MOST_FOR_BATCHES)] if copying or for_batches else []
    every = _for_every_batch(fix for fix, _ in some)
    meant = [f"here 0 is a size and copies nothing: {fix.said}" for fix, _ in some if fix.copies]
    if meant:
        return "; ".join(filter(None, (*meant, every)))
    of_the_op = problem.rule in OPS[trace.op].changes
    if problem.rule is rules.ZERO_VOLUME_INFER or of_the_op or not trace.stages or not isinstance(at.value, tuple):
        return None
    if for_batches:
        alone = [f"for {at.shape[0]} only {brief(str(fix.value))}" for fix, _ in some if not fix.every_batch]
        return "; ".join(filter(None, (every, *alone[:1])))
    return _size_hint(at, *next(chain(some, found), (None, None)))


def _size_hint(at: Refused, mended: Fix | None, answer: Trace | None) -> str:
    """Say which sizes would fit in place of one number of the target, or why none would.

    `mended` is the first change of the target that helps, if one does, and `answer` what it leads to.
    """
    if mended is not None and answer is not None:
        *kept, last = with_batch(at.trace, mended, answer)
        if last.moves:
            return "; ".join(filter(None, (_for_every_batch(kept), f"{brief(str(last.value))} {last.moves}")))
    index, sizes = at.near
    whole = "" if mended is None else str(mended.value)
    if not sizes or whole != shape_text(at.put(sizes[0], at=index)):
        image = f"try {brief(whole)}" if mended is not None and at.hole is None else ""
        return "; ".join(filter(None, ("" if sizes else _lacking(at), image)))
    short = whole == brief(whole)
    action = f"try {whole}" if short else f"write {sizes[0]} in place of the {at.value[index]} at index {index}"
    return action if at.hole is None else f"{' and '.join(map(str, sorted(sizes)))} would divide: {action}"


def _lacking(at: Refused) -> str:
    """Say which factors of the target no element count of the input has, where no one size would fit."""
    have, asked = product(at.shape), product(at.settled)
    if not isinstance(have, int) or not isinstance(asked, int) or not have or not asked:
        return ""
    missing = missing_factors(have, asked)
    return f"no single size helps: {factored(have)} has {missing}" if missing else ""


def _missing(at: Refused) -> str:
    """Say which axes a permutation does not name yet."""
    if at.rank > MOST_LISTED:
        return ""
    absent = [str(axis) for axis in range(at.rank) if axis not in at.value and axis - at.rank not in at.value]
    return f"not named yet: {', '.join(absent)}" if absent else ""


def _switch_hint(request: Request, problem: Problem) -> str:
    """Say what the dialect's switch would change, if the answer depends on it."""
    said = []
    for fix, answer in _asked_again(request, _switched(request)):
        copies = DIALECTS[request.dialect].readings[bool(fix.value)].zero is Zero.COPIES
        meaning = "0 copies" if copies else "0 is a dim of size zero"
        means = f"with {fix.name} {'on' if fix.value else 'off'} ({meaning})"
        if answer.output is not None:
            said.append(f"{means} the answer is {brief(shape_text(answer.output))}")
        elif answer.problem and problem.rule is rules.MISSING_SWITCH:
            said.append(f"{means} it is refused: {answer.problem.rule}")
    return "; ".join(said)


def _zeros(request: Request) -> str:
    """Say which input names, being 0, would let a symbolic reshape resolve."""
    if not OPS[request.op].switched:
        return ""
    known = names(request.input)[:MOST_NAMES]
    fitting = [name for name in known if with_zeros(request, {name: 0}).output is not None]
    return f"{' or '.join(fitting)} = 0 would resolve" if fitting else ""


# Answers with hints. Every front end asks here.


def answer(request: Request) -> Trace:
    """Return the trace of a request: its answer, or how far it got, the problem, and what would help.

    >>> from shapecalc.core.ask import ask
    >>> answer(ask("transpose", "2,3,4", {"perm": "1,0,1"})).problem.hint
    'not named yet: 2'
    """
    trace = resolve(request)
    if trace.problem is None:
        return trace

    return trace.with_problem(replace(trace.problem, hint=hint(trace)))


def answer_chain(shape: str | Iterable[object], stages: Sequence[Asked], sizes: Mapping[str, int]) -> Chain:
    """Return the answers of several ops, each on the output of the one before; of none, the input as it is.

    `stages` are op names with their options; `sizes` are put in for names in all of them. Raises `ShapeError`
    (usage) for a stage that cannot be read.

    >>> answer_chain("2,3,4", [("transpose", {"perm": "1,0,2"}), ("reshape", {"target": "2,-1,3"})], {}).output
    (2, 4, 3)
    >>> print(answer_chain("N/2,C", (), {}))
    N/2,C when N % 2 == 0
    """
    found = resolve_chain(ask_chain(shape, stages or STILL, sizes), answer)
    if stages:
        return found
    (still,) = found.traces
    return Chain(still.input, (still,) if still.problem else (), still.output, still.problem, still.conditions)


STILL = (("flip", {"axes": (), "dialect": "torch"}),)
"""What leaves every input as it is, of any rank, and so tells under which conditions there is one."""
