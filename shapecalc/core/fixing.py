"""Fixes and hints for refused requests, and answers to requests with hints.

Every candidate change is resolved before it is offered, so each fix is right by definition. A fix changes one option:
the argument at fault, the dialect's switch, or the opset. Hints describe fixes in words.
"""

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


SEARCHED = 20_000
"""The largest distance at which the nearest divisor of a number is searched for."""


COPIED, INFERRED = "since 0 copies the input's first dim", "as long as the other sizes stay"
"""The assumptions under which 0, or -1, as the first dim fits every batch size."""

MOST_NEAR = 4
"""The most axes near a wrong one that are tried."""

OPERANDS = ("input", "operands", "weight", "kernel")
"""The arguments at fault if operands do not fit."""

MOST_TRIED = 24
"""The most values of the argument at fault that are tried."""

MOST_CHANGED = 4
"""The most successive changes to one argument in a fix."""

LONGEST = 256
"""The most dims of a request for which fixes are searched."""

RESHAPING = (Kind.RESHAPE, Kind.VIEW)
"""The kinds of stages that may move the batch axis."""

RAISING = (rules.NO_SUCH_ATTRIBUTE, rules.NO_SUCH_VERSION, rules.NEGATIVE_AXIS, rules.DTYPE)
"""The rules that a newer version of the operator may lift."""

MOST_NAMES = 8
"""The most names for which 0 is tried."""

MOST_FOR_BATCHES = 3
"""The most changes in a hint about the batch: 0, -1, and the batch itself."""

MOST_LISTED = 64
"""The maximum rank for which a hint lists axes."""

STILL = (("flip", {"axes": (), "dialect": "torch"}),)
"""A no-op on every input of any rank, which yields the input's own conditions."""


class Fix(Record):
    """An option of a refused request, with a value for which the request resolves."""

    name: str
    """The option: `target`, `perm`, `axis`, `allowzero`, `opset` ..."""
    value: str | bool | None
    """The value as text, a bool for a switch, None to omit the option."""
    said: str
    """A short description of the change."""
    every_batch: str = ""
    """The reason why the change fits every batch size; empty if unknown."""
    moves: str = ""
    """Where the change moves the batch; empty if it stays first, or if there is none."""
    copies: bool = False
    """Whether it writes out dims that zeros were meant to copy."""


class Refused(Record):
    """A refused request, and the argument at fault."""

    trace: Trace
    problem: Problem
    kind: Kind | None
    """The kind of the stage that was refused; None if none was reached."""
    value: Any
    """The argument at fault: dims, axes, one axis, or None if it was omitted."""
    shape: Shape
    """The dims to which the argument is applied."""

    @property
    def place(self) -> int:
        """The index of the token at fault."""
        return self.problem.index or 0

    @property
    def rank(self) -> int:
        """The number of axes that can be named."""
        return len(self.shape) + (len(self.value or ()) if self.kind is Kind.UNSQUEEZE else 0)

    @property
    def near(self) -> tuple[int, list[int]]:
        """The index of the literal nearest to a fitting size, and the sizes that fit."""
        if not isinstance(self.value, tuple):
            return 0, []
        return nearest_sizes(product(self.shape), self.value, self.settled, self.hole)

    @property
    def settled(self) -> Shape:
        """The requested dims as resolved so far, with 1 for the others."""
        return _settled(self.trace.stages[-1:], self.value)

    @property
    def hole(self) -> int | None:
        """The index of the first dim to infer."""
        readings = DIALECTS[self.trace.dialect].readings.values()
        only = None if any(reading.infers is Infers.ANY_NEGATIVE for reading in readings) else -1
        negative = (out for out, dim in enumerate(self.value) if isinstance(dim, int) and dim < 0)
        return next((out for out in negative if only in (None, self.value[out])), None)

    def put(self, *dims: Any, at: int | None = None) -> Any:
        """Return the argument with `dims` instead of one token: at an index, or at fault."""
        position = self.place if at is None else at
        if not isinstance(self.value, tuple):
            return dims[0]
        return (*self.value[:position], *dims, *self.value[position + 1 :])

    def own(self, out: int) -> Shape:
        """Return the input dim that aligns with a requested one; empty if none does."""
        axis = out + (len(self.shape) - len(self.value) if self.kind is Kind.EXPAND else 0)
        return self.shape[axis : axis + 1] if axis >= 0 else ()


def nearest_sizes(volume: Dim, target: Shape, settled: Shape, hole: int | None) -> tuple[int, list[int]]:
    """Return the index of the literal nearest to a fitting size, and such sizes.

    `resolved_target` is `target` with its zeros resolved and 1 instead of -1. The sizes are sorted by distance; they
    are empty if none fits.

    >>> nearest_sizes(24, (5, -1), (5, 1), 1), nearest_sizes(7, (0,), (2,), None)
    ((0, [4, 6]), (0, []))
    """
    best: tuple[int, int, list[int]] = (0, 0, [])
    target_volume = product(settled)
    if target_volume == 0:
        return 0, []
    for index, dim in enumerate(target):
        if index == hole or not isinstance(dim, int) or dim <= 0:
            continue
        needed = _room(volume, target_volume, dim)
        fits = [] if needed is None else [needed] if hole is None else divisors_near(needed, dim)
        gaps = sorted((abs(size - dim), size) for size in fits)
        if gaps and (not best[2] or gaps[0][0] < best[0]):
            best = gaps[0][0], index, [size for _, size in gaps]
            if best[0] == 1:
                break
    return best[1:]


def divisors_near(number: int, wanted: int) -> list[int]:
    """Return the nearest divisors of `number` below and above `target`, if near.

    >>> divisors_near(24, 5), divisors_near(24, 6), divisors_near(7, 3)
    ([4, 6], [4, 8], [1, 7])
    """
    below = range(min(wanted - 1, number), max(0, wanted - SEARCHED), -1)
    above = range(wanted + 1, min(number, wanted + SEARCHED) + 1)
    nearest = [next((size for size in sizes if number % size == 0), None) for sizes in (below, above)]
    return [size for size in nearest if size]


def _room(volume: Dim, settled: Dim, dim: int) -> int | None:
    """Return the size at which the volumes agree; None if it is not an integer."""
    size = quotient(product((volume, dim)), settled)
    return size if isinstance(size, int) and size > 0 else None


def other_image(shape: Shape, target: Shape) -> Iterator[tuple[int, Shape]]:
    """Yield each index at which a target has another image, with the dims to write.

    The image has other sides in the same ratio, is one dim with its pixels, or is another square.

    >>> [*other_image((1, 27, 120, 120), (1, 3, 9, 30, 30))], [*other_image((1, 4, 256, 256), (1, 4, 1, 4096))]
    ([(3, (120, 120))], [(3, (-1,))])
    >>> [*other_image((8921088,), (16, 34, 34, 512))]
    [(1, (33, 33))]
    """
    if product(shape) == 0 or product(target) == 0:
        return
    index, dims, target_dims = differing(shape, target)
    if product(dims) == product(shape):
        yield from _other_square(shape, target, index, len(target_dims))
    elif len(dims) == len(target_dims) > 1 and len({*map(quotient, dims, target_dims)}) == 1:
        yield index, dims
    else:
        large = [axis for axis, dim in enumerate(target_dims) if dim != 1]
        if len(large) == 1 and (len(dims) == 1 < len(target_dims) or _are_squares(dims, target_dims[large[0]])):
            yield index + large[0], (-1,)


def _other_square(shape: Shape, target: Shape, place: int, count: int) -> Iterator[tuple[int, Shape]]:
    """Yield the squares that fit instead of those among `count` dims of a target."""
    for axis in range(place, place + count - 1):
        side = target[axis]
        pixels = quotient(product((*shape, side, side)), product(target))
        if side == target[axis + 1] != 1 and isinstance(pixels, int) and isqrt(pixels) ** 2 == pixels > 0:
            yield axis, (isqrt(pixels), isqrt(pixels))


def _are_squares(sides: Shape, pixels: Dim) -> bool:
    """Return whether two sides are equal, and the pixel count is that of a square."""
    return len(sides) == 2 and sides[0] == sides[1] and isinstance(pixels, int) and isqrt(pixels) ** 2 == pixels


def differing(shape: Shape, target: Shape) -> tuple[int, Shape, Shape]:
    """Return where two shapes begin to differ, and the dims of both that differ.

    The first result is the index in `target`. Before and after these dims, both have equal element counts.

    >>> differing((1, 27, 120, 120), (1, 3, 9, 30, 30))
    (3, (120, 120), (30, 30))
    """
    i, j = _agreeing(shape, target)
    dims, target_dims = shape[i:], target[j:]
    equal, target_equal = _agreeing(dims[::-1], target_dims[::-1])
    return j, dims[: len(dims) - equal], target_dims[: len(target_dims) - target_equal]


def _agreeing(shape: Shape, target: Shape) -> tuple[int, int]:
    """Return the lengths of the longest prefixes with equal element counts."""
    ends = {volume: length for length, volume in enumerate(_volumes(shape), 1)}
    common = [(ends[volume], length) for length, volume in enumerate(_volumes(target), 1) if volume in ends]
    return common[-1] if common else (0, 0)


def _volumes(shape: Shape) -> Iterator[Dim]:
    return accumulate(shape, lambda volume, dim: product((volume, dim)))


def batch_differs(shape: Shape, target: Shape) -> bool:
    """Return whether two shapes are equal in volume except for differing first dims.

    >>> batch_differs((8, 255, 52), (1, 3, 85, 52)), batch_differs((8, 255), (1, 3, 80)), batch_differs((8,), (1,))
    (True, False, False)
    """
    if len(shape) < 2 or len(target) < 2 or shape[0] == target[0]:
        return False
    rest = product(shape[1:])
    return rest not in (0, 1) and rest == product(target[1:])


def for_every_batch(shape: Shape, target: Shape, settled: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that fit every batch size, each with its assumption.

    There are some if `target` states another batch size as a number. `resolved_target` is `target` with its zeros
    resolved.

    >>> [value for value, _ in for_every_batch((8, 6), (1, 2, 3), (1, 2, 3))]
    [(0, 2, 3), (-1, 2, 3)]
    """
    if any(isinstance(dim, int) and dim < 0 for dim in target) or not isinstance(target[:1] and target[0], int):
        return
    if batch_differs(shape, settled):
        yield (0, *target[1:]), COPIED
        yield (-1, *target[1:]), INFERRED


def batch_moved(before: Shape, after: Shape) -> str:
    """Describe where a reshape moves the batch if 1 becomes the first dim.

    The text is empty if the batch stays.

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
    """Yield targets that keep the batch first, each with its assumption.

    `value` is a fix of a refused `target` that states the batch size, and `after` the shape that it gives.

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
    changed = [axis for axis, (old, new) in enumerate(zip(target, value, strict=False)) if old != new]
    axis = value.index(-1) if -1 in value else changed[0] if len(changed) == 1 else 0
    if not axis or len(value) != len(target) or not batch_moved(before, after):
        return
    size = after[axis]
    yield (0, *value[1:axis], -1, *value[axis + 1 :]), COPIED
    if isinstance(size, int) and size % batch == 0:
        yield (-1, *value[1:axis], size // batch, *value[axis + 1 :]), INFERRED


def _settled(stages: Sequence[Stage], target: Shape) -> Shape:
    """Return a target as resolved by the steps of stages, with 1 for the other dims."""
    known = {step.out: step.dim for stage in stages for step in stage.steps if step.out is not None}
    return tuple(known.get(out, 1) for out in range(len(target)))


def refused_request(trace: Trace, problem: Problem) -> Refused:
    """Locate the argument at fault, and the dims it applies to."""
    arguments, name = trace.request.arguments, problem.argument
    stage = trace.stages[-1] if trace.stages else None
    shape = stage.before if stage else trace.input
    if name == "second" and stage and not stage.steps:  # a Shuffle checks it before its reshape
        shape = arguments.get("to", shape)
    return Refused(trace, problem, stage.kind if stage else None, arguments.get(str(name)), shape)


def _fitting(at: Refused) -> Values:
    """Yield the target with one literal replaced by the nearest sizes that fit."""
    index, sizes = at.near
    return (at.put(size, at=index) for size in sizes)


def _scaled(at: Refused) -> Values:
    """Yield the target with its image replaced by the input's image."""
    if isinstance(at.value, tuple) and not any(isinstance(dim, int) and dim < 0 for dim in at.value):
        for index, dims in other_image(at.shape, at.settled):
            yield (*at.value[:index], *dims, *at.value[index + len(dims) :])


def copied_zeros(at: Refused) -> Values:
    """Yield the target with input dims instead of zeros that were meant to copy them."""
    asked = at.trace.stages[-1].asked if at.kind in (Kind.RESHAPE, Kind.VIEW) else None
    if asked and asked == at.value and 0 not in at.shape and 0 in at.settled:
        copied = at.shape + at.value[len(at.shape) :]
        yield tuple(copied[out] if dim == 0 else dim for out, dim in enumerate(at.value))


def _counted(at: Refused) -> Values:
    """Yield the target with the inferred dim computed from the nonzero dims."""
    have, known = (product(dim for dim in dims if dim != 0) for dims in (at.shape, at.settled))
    yield at.put(quotient(have, known), at=at.hole)


def _own(at: Refused) -> Values:
    """Yield the target with the input's dim at the token at fault."""
    return (at.put(dim) for dim in at.own(at.place))


def _token(*dims: int) -> Callable[[Refused], Values]:
    """Return the change that replaces the token at fault with `dims`."""
    return lambda at: iter([at.put(*dims)] if isinstance(at.value, tuple) else [])


def _value(value: object) -> Callable[[Refused], Values]:
    """Return the change that sets the argument to `value`."""
    return lambda _: iter([value])


def _cut(at: Refused) -> Values:
    """Yield the target cut to the dialect's maximum rank, the last dim inferred.

    For an unsqueeze, the new axes are cut.
    """
    if at.kind is Kind.UNSQUEEZE:
        yield at.value[: at.place - len(at.shape)]
    elif isinstance(at.value, tuple):
        yield at.value[-at.place :] if at.kind is Kind.EXPAND else (*at.value[: at.place - 1], -1)


def _completed(at: Refused) -> Values:
    """Yield the permutation with missing axes instead of wrong ones, or appended."""
    perm, rank, valid = at.value or (), at.rank, dict[int, int]()
    allows_negative = DIALECTS[at.trace.dialect].negative_perm
    for index, axis in enumerate(perm):
        if -rank <= axis < rank and axis % rank not in valid:
            valid[axis % rank] = index
    kept = {index: perm[index] if allows_negative else axis for axis, index in valid.items()}
    missing = iter([axis for axis in range(rank) if axis not in valid])
    missing_count = max(0, rank - len(valid))
    wrong = [index for index in range(max(rank, len(perm))) if index not in kept][:missing_count]
    yield tuple(kept[index] if index in kept else next(missing) for index in sorted([*kept, *wrong]))


def _from_zero(at: Refused) -> Values:
    """Yield the same axis counted from 0; the first axis if it is out of range."""
    axis = at.value[at.place] if isinstance(at.value, tuple) else at.value
    yield at.put(max(0, axis + at.rank))


def _near(at: Refused) -> Values:
    """Yield the axes nearest to the wrong one; 1 is assumed if none was given."""
    axis = at.value[at.place] if isinstance(at.value, tuple) else 1 if at.value is None else at.value
    nearest = sorted(range(at.rank + 1), key=lambda other: abs(other - axis))
    return (at.put(other) for other in nearest[:MOST_NEAR])


def _one(at: Refused) -> Values:
    """Yield the nearest axes of size 1 instead of the only axis."""
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
"""The changes for stages of one kind, which replace those above."""


def changes(trace: Trace, problem: Problem) -> Changes:
    """Yield changes of the op's own arguments, else of the argument at fault."""
    op_changes = OPS[trace.op].changes.get(problem.rule)
    if op_changes is not None:
        yield from (Change(name, value) for name, value in op_changes(trace.input, trace.request.arguments))
        return
    if _do_not_meet(trace, problem):
        yield from meetings(trace.request)
        return
    if problem.rule is rules.VOLUME_MISMATCH:
        yield from batch_changes(trace)
    at, name = refused_request(trace, problem), str(problem.argument)
    of_kind = OF_A_KIND.get((problem.rule, at.kind)) if at.kind else None
    for change in CHANGES.get(problem.rule, ()) if of_kind is None else of_kind:
        values = change(at) if name != "input" else ()  # the input is given, so only options change
        yield from (Change(name, value, copies=change is copied_zeros) for value in values)


def _do_not_meet(trace: Trace, problem: Problem) -> bool:
    """Return whether a request is refused because its operands do not fit."""
    return trace.op in WAYS and problem.argument in OPERANDS


def batch_changes(trace: Trace) -> Changes:
    """Yield targets that fit every batch, if one states a batch that may be wrong."""
    arguments = trace.request.arguments
    for stage in trace.stages:
        target = arguments.get(stage.argument)
        if stage.kind in (Kind.RESHAPE, Kind.VIEW) and isinstance(target, tuple) and not arguments.get("reverse"):
            for value, why in for_every_batch(stage.before, target, _settled((stage,), target)):
                yield Change(stage.argument, value, why)


def last_changes(trace: Trace, problem: Problem) -> Changes:
    """Yield targets with one token replaced by the input's dim or -1, or -1 appended.

    The rightmost token comes first.
    """
    at = refused_request(trace, problem)
    if at.kind is not Kind.RESHAPE or not OPS[trace.op].switched or not isinstance(at.value, tuple):
        return
    name = str(problem.argument)
    for index in range(len(at.value))[::-1]:
        for dim in (*at.own(index), -1):
            yield Change(name, at.put(dim, at=index))
    yield Change(name, (*at.value, -1))


def fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the fixes of a refused request, those that fit every batch first.

    For a request that resolves for one batch size only, they make it resolve for every batch size.

    >>> [fix.said for fix in fixes(resolve(ask("reshape", "2,3,4", {"target": "5,-1"})))]
    ['write 4,-1', 'write 6,-1']
    """
    if trace.problem is None:
        return _lasting(trace) if trace.conditions else ()
    pairs = sorted(_mend(trace, trace.problem, MOST_CHANGED), key=lambda pair: bool(pair[1].conditions))
    result: dict[object, Fix] = {}
    for single, answer in pairs:
        for fix in with_batch(trace, single, answer):
            result.setdefault((fix.name, fix.value), fix)
    return tuple(result.values())


def with_batch(trace: Trace, fix: Fix, answer: Trace) -> list[Fix]:
    """Return a fix of a target, preceded by those that keep any batch first.

    `answer` results from the fix. A fix that moves the batch is described so, and comes last.
    """
    stage = next((stage for stage in answer.stages if stage.argument == fix.name and stage.kind in RESHAPING), None)
    old, new = (either.request.arguments.get(fix.name) for either in (trace, answer))
    if fix.every_batch or stage is None or stage.after is None or answer.request.arguments.get("reverse"):
        return [fix]
    if not isinstance(old, tuple) or not isinstance(new, tuple):
        return [fix]
    move_text = batch_moved(stage.before, stage.after)
    batch_first = kept_first(stage.before, stage.after, old, new)
    changed = (Change(fix.name, value, reason) for value, reason in batch_first)
    attempts = _asked_again(trace.request, _worded(trace.request, changed))
    result = [batch_fix for batch_fix, fixed in attempts if fixed.output is not None]
    return [*result, replace(fix, said=f"{fix.said}: {move_text}", moves=move_text)] if move_text else [fix, *result]


def single_fixes(trace: Trace, problem: Problem, name: str | None = None) -> Answers:
    """Yield fixes by a single change, lazily, with the answers.

    `name` restricts them to one option. The first is that of `find_fixes`, found with fewer attempts.
    """
    attempts = ((fix, answer) for fix, answer in _tries(trace, problem) if name in (None, fix.name))
    return ((fix, answer) for fix, answer in attempts if answer.output is not None)


def _lasting(trace: Trace) -> tuple[Fix, ...]:
    """Return the fixes with which a conditional answer does not depend on the batch."""
    attempts = _asked_again(trace.request, _worded(trace.request, batch_changes(trace)))
    limit = len(trace.conditions)
    return tuple(fix for fix, answer in attempts if answer.output is not None and len(answer.conditions) < limit)


def apply(request: Request, fix: Fix) -> Request:
    """Return the request with a fix applied.

    Raises `ShapeError` (usage) if the option does not take the value.

    >>> apply(ask("reshape", "2,3,4", {"target": "5,-1"}), Fix("target", "4,-1", "write 4,-1")).arguments
    {'target': (4, -1)}
    """
    switch = DIALECTS[request.dialect].switch
    options: dict[str, Any] = {"input": request.input, "dialect": request.dialect, "opset": request.opset}
    options |= {"dtype": request.dtype, **request.arguments}
    if switch:
        options[switch.name] = request.switch
    options[fix.name] = fix.value
    fixed = ask(request.op, options.pop("input"), options)
    texts = {name: text for name, text in request.written.items() if name != fix.name}
    return replace(fixed, written={**texts, **fixed.written})


def _mend(trace: Trace, problem: Problem, left: int) -> list[tuple[Fix, Trace]]:
    """Return the fixes of a request with their answers; at most `depth` changes each."""
    if problem.rule is rules.CONTRADICTION:
        return []
    attempts = [*_tries(trace, problem)]
    if _do_not_meet(trace, problem):
        return _resolving(attempts)
    if not _resolving(attempts):
        attempts += _asked_again(trace.request, _worded(trace.request, last_changes(trace, problem)))
    if _resolving(attempts) or left == 1:
        return _resolving(attempts)
    for fix, answer in attempts:
        if answer.problem and fix.name == problem.argument == answer.problem.argument:
            deeper = _mend(answer, answer.problem, left - 1)
            return [pair for pair in deeper if pair[0].name == fix.name]
    return []


def _resolving(tried: Iterable[tuple[Fix, Trace]]) -> list[tuple[Fix, Trace]]:
    """Return the attempts that resolve, without duplicates."""
    return [*dict(pair for pair in tried if pair[1].output is not None).items()]


def _tries(trace: Trace, problem: Problem) -> Answers:
    """Yield candidate fixes by one change, with their answers."""
    request = trace.request
    if len(request.dims) > LONGEST:
        return
    newer = _newer_opset(request) if problem.rule in RAISING else iter(())
    if problem.rule is rules.NO_SUCH_ATTRIBUTE:
        yield from newer
    attempts = _asked_again(request, _worded(request, changes(trace, problem)))
    is_single = not _do_not_meet(trace, problem)
    yield from ((fix, answer) for fix, answer in attempts if is_single or keeps_batch(request, answer))
    yield from _asked_again(request, _switched(request))
    yield from newer  # exhausted if it came first


def _asked_again(request: Request, fixes: Iterable[Fix]) -> Answers:
    """Yield each fix with the answer after it, if the request takes the value."""
    for fix in fixes:
        try:
            yield fix, resolve(apply(request, fix))
        except ShapeError:
            continue


def _worded(request: Request, changed: Changes) -> Iterator[Fix]:
    """Yield a fix with a description for each change; none for a too long request."""
    for change in () if len(request.dims) > LONGEST else islice(changed, MOST_TRIED):
        name, value = change.name, change.value
        if isinstance(value, bool):
            yield Fix(name, value, f"write --{name}")
            continue
        text = shape_text(value) if isinstance(value, tuple) else None if value is None else str(value)
        prefix = "" if name in request.arguments or name == "input" else f"{name} "
        reason = f": right for every batch, {change.every_batch}" if change.every_batch else ""
        action = f"leave {name} out" if text is None else f"write {prefix}{brief(text)}{reason}"
        action = f"{change.said}: {action}" if change.said else action
        yield Fix(name, text, action, change.every_batch, copies=change.copies)


def _switched(request: Request) -> Iterator[Fix]:
    """Yield the other settings of the dialect's switch, if the op has it."""
    row = DIALECTS[request.dialect]
    name = switch_name(OPS[request.op], row)
    if name and row.switch:
        current = row.switch.default if request.switch is None else request.switch
        settings = [setting for setting in (True, False) if setting is not current]
        yield from (Fix(name, setting, f"turn {name} {'on' if setting else 'off'}") for setting in settings)


def _newer_opset(request: Request) -> Answers:
    """Yield the first newer opset in which the request resolves."""
    row = DIALECTS[request.dialect]
    operator = operator_of(OPS[request.op], row)
    versions = operator.versions if operator and row.newest_opset else ()
    newer = [version for version in versions if version > (request.opset or DEFAULT_OPSET)]
    attempts = _asked_again(request, (Fix("opset", str(version), f"use opset {version}") for version in newer))
    yield from islice(((fix, answer) for fix, answer in attempts if answer.output is not None), 1)


def hint(trace: Trace) -> str:
    """Return a hint that helps to fix a refused request; empty if none is known.

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
    """Return how to make an answer hold for every batch, if it holds for one only.

    The text is empty otherwise.

    >>> from shapecalc.core.ask import ask
    >>> lasting_hint(resolve(ask("reshape", "N,6", {"target": "1,2,3", "dialect": "numpy"})))
    'for every batch try -1,2,3, as long as the other sizes stay'
    """
    if answer.problem is not None or not answer.conditions:
        return ""
    for number, trace in enumerate(answer.traces, 1):
        text = _for_every_batch(fixes(trace))
        if text:
            return text if len(answer.traces) == 1 else f"stage {number}, {trace.op}: {text}"
    return ""


def _for_every_batch(found: Iterable[Fix]) -> str:
    """Describe the fixes that fit every batch."""
    texts = [f"{brief(str(fix.value))}, {fix.every_batch}" for fix in found if fix.every_batch]
    return f"for every batch try {'; or '.join(texts)}" if texts else ""


def _near_hint(trace: Trace, problem: Problem) -> str:
    """Describe a fix of the argument at fault, or of the opset."""
    at = refused_request(trace, problem)
    is_volume_problem = problem.rule in (rules.INDIVISIBLE, rules.VOLUME_MISMATCH, rules.ZERO_VOLUME_INFER)
    if is_volume_problem and (text := _target_hint(at)) is not None:
        return text
    if problem.rule is rules.NOT_A_PERMUTATION:
        return _missing(at)
    if problem.rule is rules.NEEDS_SIZE:
        may_copy = trace.op == "view" and problem.argument == "strides"
        return "give the sizes with --where" + (", or write reshape in place of view" if may_copy else "")
    if problem.rule == "stride-incompatible":
        from shapecalc.core.ops.view import COPY_FIRST  # no other op has it

        return COPY_FIRST
    switch = switch_name(OPS[trace.op], DIALECTS[trace.dialect])
    fix, _ = next(single_fixes(trace, problem), (None, None))
    action = fix.said if fix and fix.name != switch else ""
    explanation = arithmetic(trace.request) if _do_not_meet(trace, problem) else ""
    return "; ".join(filter(None, (explanation if not action or "flattened" in explanation else "", action)))


def _target_hint(at: Refused) -> str | None:
    """Describe a fix of the target; None if the problem is not in the target."""
    trace, problem = at.trace, at.problem
    attempts = single_fixes(trace, problem, problem.argument)
    has_zeros = problem.rule is not rules.INDIVISIBLE and next(copied_zeros(at), None) is not None
    has_batch = problem.rule is rules.VOLUME_MISMATCH and next(batch_changes(trace), None) is not None
    first = [*islice(attempts, MOST_FOR_BATCHES)] if has_zeros or has_batch else []
    batch_text = _for_every_batch(fix for fix, _ in first)
    zero_texts = [f"here 0 is a size and copies nothing: {fix.said}" for fix, _ in first if fix.copies]
    if zero_texts:
        return "; ".join(filter(None, (*zero_texts, batch_text)))
    has_op_changes = problem.rule in OPS[trace.op].changes
    if problem.rule is rules.ZERO_VOLUME_INFER or has_op_changes or not trace.stages or not isinstance(at.value, tuple):
        return None
    if has_batch:
        single_texts = [f"for {at.shape[0]} only {brief(str(fix.value))}" for fix, _ in first if not fix.every_batch]
        return "; ".join(filter(None, (batch_text, *single_texts[:1])))
    return _size_hint(at, *next(chain(first, attempts), (None, None)))


def _size_hint(at: Refused, mended: Fix | None, answer: Trace | None) -> str:
    """Describe the sizes that fit instead of one literal of the target.

    If none does, give the reason. `fix` is the first fix of the target, if there is one, and `answer` results from
    it.
    """
    if mended is not None and answer is not None:
        *batch_fixes, last = with_batch(at.trace, mended, answer)
        if last.moves:
            return "; ".join(filter(None, (_for_every_batch(batch_fixes), f"{brief(str(last.value))} {last.moves}")))
    index, sizes = at.near
    target = "" if mended is None else str(mended.value)
    if not sizes or target != shape_text(at.put(sizes[0], at=index)):
        image = f"try {brief(target)}" if mended is not None and at.hole is None else ""
        return "; ".join(filter(None, ("" if sizes else _lacking(at), image)))
    is_short = target == brief(target)
    action = f"try {target}" if is_short else f"write {sizes[0]} in place of the {at.value[index]} at index {index}"
    return action if at.hole is None else f"{' and '.join(map(str, sorted(sizes)))} would divide: {action}"


def _lacking(at: Refused) -> str:
    """Return the factors of the target that the input lacks, if no single size fits."""
    volume, requested = product(at.shape), product(at.settled)
    if not isinstance(volume, int) or not isinstance(requested, int) or not volume or not requested:
        return ""
    missing = missing_factors(volume, requested)
    return f"no single size helps: {factored(volume)} has {missing}" if missing else ""


def _missing(at: Refused) -> str:
    """Return the axes that a permutation lacks."""
    if at.rank > MOST_LISTED:
        return ""
    absent = [str(axis) for axis in range(at.rank) if axis not in at.value and axis - at.rank not in at.value]
    return f"not named yet: {', '.join(absent)}" if absent else ""


def _switch_hint(request: Request, problem: Problem) -> str:
    """Describe the effect of the dialect's switch, if the answer depends on it."""
    texts = []
    for fix, answer in _asked_again(request, _switched(request)):
        copies = DIALECTS[request.dialect].readings[bool(fix.value)].zero is Zero.COPIES
        meaning = "0 copies" if copies else "0 is a dim of size zero"
        prefix = f"with {fix.name} {'on' if fix.value else 'off'} ({meaning})"
        if answer.output is not None:
            texts.append(f"{prefix} the answer is {brief(shape_text(answer.output))}")
        elif answer.problem and problem.rule is rules.MISSING_SWITCH:
            texts.append(f"{prefix} it is refused: {answer.problem.rule}")
    return "; ".join(texts)


def _zeros(request: Request) -> str:
    """Return the input names for which size 0 would let a symbolic reshape resolve."""
    if not OPS[request.op].switched:
        return ""
    known = names(request.input)[:MOST_NAMES]
    fitting = [name for name in known if with_zeros(request, {name: 0}).output is not None]
    return f"{' or '.join(fitting)} = 0 would resolve" if fitting else ""


def answer(request: Request) -> Trace:
    """Return the answer to a request, or its problem with a hint.

    >>> from shapecalc.core.ask import ask
    >>> answer(ask("transpose", "2,3,4", {"perm": "1,0,1"})).problem.hint
    'not named yet: 2'
    """
    trace = resolve(request)
    if trace.problem is None:
        return trace
    return trace.with_problem(replace(trace.problem, hint=hint(trace)))


def answer_chain(shape: str | Iterable[object], stages: Sequence[Asked], sizes: Mapping[str, int]) -> Chain:
    """Return the answers to several ops, each applied to the output before.

    Without stages, the input is returned unchanged. `stages` are op names with their options; `sizes` replace names in
    all of them. Raises `ShapeError` (usage) for a stage that cannot be parsed.

    >>> answer_chain("2,3,4", [("transpose", {"perm": "1,0,2"}), ("reshape", {"target": "2,-1,3"})], {}).output
    (2, 4, 3)
    >>> print(answer_chain("N/2,C", (), {}))
    N/2,C when N % 2 == 0
    """
    result = resolve_chain(ask_chain(shape, stages or STILL, sizes), answer)
    if stages:
        return result
    (trace,) = result.traces
    return Chain(trace.input, (trace,) if trace.problem else (), trace.output, trace.problem, trace.conditions)
