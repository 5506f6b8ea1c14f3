"""What code writers share: the calls that an answer takes, the dims that each asks for, and what they are written as.

A dim is asked for as a number, as axes of the tensor that it is read from, or as -1, as the stages of the answer say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from keyword import iskeyword
from typing import assert_never

from shapecalc.core.answers import Chain, Kind, Stage, Step, Trace
from shapecalc.core.ask import DEFAULT_OPSET, ask
from shapecalc.core.conditions import Never, differ, solved_names
from shapecalc.core.dims import (
    INT64_MAX,
    Dim,
    Monomial,
    Shape,
    lowest_terms,
    monomial,
    named_dim,
    names,
    product,
    quotient,
    rewrite,
)
from shapecalc.core.fixing import lasting_hint
from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll, Slice
from shapecalc.core.ops.split import SPLIT_AXIS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import replace as replace_record
from shapecalc.core.resolve import resolve, resolve_chain
from shapecalc.core.rules import COPIED_ZERO, DROPPED_ONE, INFERRED, INFERRED_EMPTY, INSERTED_ONE, KEEPS, MERGED
from shapecalc.core.text import brief, shape_text

INT32_MAX = 2**31 - 1
INT64_MIN = -(2**63)
RESERVED = {"x", "y", "np", "math", "torch", "rearrange", "repeat", "jnp", "tf", "paddle", "ops", "trt", "network"}
RESERVED |= {"layer", "helper", "TensorProto", "nodes", "graph", "model", "sizes"}
NUMBERED = {"axes", "ends", "index", "repeats", "shape", "size", "starts", "steps"}
"""The names that the code itself uses, and those that it uses with a number behind."""
CUTS = (Kind.RESHAPE, Kind.VIEW, Kind.MERGE, Kind.SQUEEZE, Kind.UNSQUEEZE)
"""The kinds of stage that keep the elements in order."""


@dataclass(frozen=True, slots=True)
class RequestedDim:
    """One dim of a shape to write: a size, or the axes of the tensor that it is read from."""

    value: Dim
    axes: tuple[int, ...] | None = None
    """The axes whose product it is, if it is read from the tensor; None if the size itself is written."""
    inferred: bool = False
    """Whether it may be written as -1."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one call of a framework does: a stage, several stages as one, or a whole `tile`."""

    trace: Trace
    stage: Stage
    dims: tuple[RequestedDim, ...] = ()
    """The dims that it asks for, if it asks for any."""
    repeats: Shape = ()
    """How often a `tile` repeats each axis, new ones in front."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of one axis: an index, if the axis goes, otherwise a slice whose ends may be left open."""

    axis: int
    start: int | None
    stop: int | None
    step: int = 1
    goes: bool = False

    @property
    def first(self) -> int:
        """Where it starts, in numbers."""
        return (0 if self.step > 0 else -1) if self.start is None else self.start

    @property
    def end(self) -> int:
        """Where it stops, in numbers: as far on as there are any if it goes to the end of the axis."""
        return (INT64_MAX if self.step > 0 else INT64_MIN) if self.stop is None else self.stop

    def __str__(self) -> str:
        if self.goes:
            return str(self.start)
        start, stop = ("" if end is None else str(end) for end in (self.start, self.stop))
        return f"{start}:{stop}" + (f":{self.step}" if self.step != 1 else "")


@dataclass(frozen=True, slots=True)
class Rules:
    """A framework's rules for a requested shape: its name, its opset, and its switch if it has one."""

    dialect: str
    switch: str | None = None
    on: bool = False
    """Whether the switch is on if a 0 means a dim of size zero."""
    required: bool = False
    """Whether the switch has to be set for any other shape, too."""
    copies_of_empty: bool = True
    """Whether 0 copies a dim of a tensor that holds nothing."""
    opset: int | None = None


@dataclass(frozen=True, slots=True)
class RequestedShape:
    """A requested shape. `literal` says whether a 0 in it is a dim of size zero.

    Its names are sizes that the model is given, or axes of the model's input.
    """

    dims: Shape
    literal: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forms:
    """How a framework writes the nodes that compute sizes, as templates. Each makes a tensor of one axis, `{name}`."""

    sizes: str
    """The shape of `x`, which the others call `sizes`."""
    constant: str
    """The items `{0}`, `{1}` of them."""
    axis: str
    """Item `{0}` of `sizes`."""
    multiply: str
    divide: str
    concat: str
    """All items of the tensors `{0}`."""
    quote: str = ""
    """What stands around the name of a tensor in `concat`."""


def calls_of(answer: Trace | Chain, *, tiles: bool = True, folds: bool = True) -> list[Call]:
    """Return the calls of an answer; what changes nothing is left out.

    If a framework `tiles`, a whole `tile` is one call. If it `folds`, so are transposes that follow each other, and
    reshapes that do.

    >>> import shapecalc as sc
    >>> [call.stage.label for call in calls_of(sc.chain((2, 3, 4), "transpose 1,2,0", "transpose 2,0,1", "flatten"))]
    ['flatten']
    """
    calls = list[Call]()
    for call in (call for trace in answer.traces for call in _calls_of_trace(trace, tiles=tiles)):
        folded = _folded(calls[-1], call) if folds and calls else None
        if folded:
            calls.pop()
        if not folds or not _changes_nothing((folded or call).stage):
            calls.append(folded or call)
    return calls


def _calls_of_trace(trace: Trace, *, tiles: bool) -> list[Call]:
    if tiles and trace.op == "tile" and trace.stages:
        before, after = trace.stages[0].before, shape_after(trace.stages[-1])
        repeats = trace.request.arguments["repeats"]
        stage = Stage(Kind.EXPAND, "tile", "repeats", before, repeats, (), after, Expand(after))
        return [Call(trace, stage, (), (*(1,) * (len(before) - len(repeats)), *repeats))]
    return [Call(trace, stage, requested_dims(stage)) for stage in trace.stages]


def _changes_nothing(stage: Stage) -> bool:
    if isinstance(stage.move, Permute):
        return stage.move.axes == tuple(range(len(stage.before)))
    if isinstance(stage.move, Pick):
        return stage.before == stage.after and not cut_axes(stage)
    return not isinstance(stage.move, (Roll, Slice)) and stage.before == stage.after


def _folded(first: Call, second: Call) -> Call | None:
    """Return two calls as one; None if they are not of one kind, or if a dim is 0, which -1 cannot stand beside."""
    one, two = first.stage, second.stage
    if isinstance(one.move, Permute) and isinstance(two.move, Permute):
        move = Permute(tuple(one.move.axes[axis] for axis in two.move.axes))
        return Call(first.trace, _stage_of(Kind.PERMUTE, one, two, move))
    if one.kind not in CUTS or two.kind not in CUTS or 0 in one.before:
        return None
    move_both = Reshape(shape_after(two))
    return Call(first.trace, _stage_of(Kind.RESHAPE, one, two, move_both), _folded_dims(first.dims, second.dims))


def _stage_of(kind: Kind, one: Stage, two: Stage, move: Permute | Reshape) -> Stage:
    return Stage(kind, one.label, one.argument, one.before, (), (), two.after, move)


def _folded_dims(first: Sequence[RequestedDim], second: Sequence[RequestedDim]) -> tuple[RequestedDim, ...]:
    """Return the dims of two reshapes as those of one. Only the first that is inferred stays so."""
    dims = list[RequestedDim]()
    for dim in second:
        found = _read_through(dim, first)
        dims.append(replace(found, inferred=found.inferred and not any(each.inferred for each in dims)))
    return tuple(dims)


def _read_through(dim: RequestedDim, first: Sequence[RequestedDim]) -> RequestedDim:
    """Return a dim of the second reshape as the tensor before the first has it."""
    if dim.axes is None or dim.inferred:
        return RequestedDim(dim.value, None, dim.inferred)
    return first[dim.axes[0]] if len(dim.axes) == 1 else RequestedDim(dim.value)


def shape_after(stage: Stage) -> Shape:
    """Return the shape after a stage of an answer that was not refused."""
    return stage.after or ()


def shapes_of(answer: Trace | Chain) -> list[Shape]:
    """Return the shape of `x`, and the shape after every stage."""
    return [answer.input, *map(shape_after, answer.stages)]


def requested_dims(stage: Stage) -> tuple[RequestedDim, ...]:
    """Return the dims that a stage asks for, one by one; none if it moves axes, keeps positions or returns the dims."""
    match stage.kind:
        case Kind.RESHAPE | Kind.VIEW:
            return _reshape_dims(stage)
        case Kind.MERGE:
            return _flatten_dims(stage)
        case Kind.SQUEEZE:
            gone = {*squeezed_axes(stage)}
            return tuple(RequestedDim(dim, (axis,)) for axis, dim in enumerate(stage.before) if axis not in gone)
        case Kind.UNSQUEEZE:
            return tuple(
                RequestedDim(step.dim, step.sources or None) for step in _steps_of(stage, INSERTED_ONE, *KEEPS)
            )
        case Kind.EXPAND:
            return _expand_dims(stage)
        case Kind.PERMUTE | Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL | Kind.SHAPE:
            return ()
        case _:
            assert_never(stage.kind)


def _steps_of(stage: Stage, *rules: str) -> list[Step]:
    """Return the steps of a stage by these rules."""
    return [step for step in stage.steps if step.rule in rules]


def _reshape_dims(stage: Stage) -> tuple[RequestedDim, ...]:
    """Return the dims of a reshape. Each is copied, kept, inferred or given."""
    settling = {step.out: step for step in stage.steps if step.out is not None}
    holes = [out for out, step in settling.items() if _may_be_inferred(stage, step)]
    dims = {}
    for out, step in settling.items():
        axes = step.sources if step.rule in (COPIED_ZERO, *KEEPS) else None
        dims[out] = RequestedDim(step.dim, axes, out in holes[:1])
    return tuple(dims.get(out) or RequestedDim(dim) for out, dim in enumerate(shape_after(stage)))


def _may_be_inferred(stage: Stage, step: Step) -> bool:
    """Say whether a dim may be written as -1: it was asked for so, and the other dims hold something."""
    if step.rule == INFERRED_EMPTY or step.out is None:
        return False
    if step.rule != INFERRED and stage.asked[step.out] != -1:
        return False
    after = shape_after(stage)
    return 0 not in after[: step.out] + after[step.out + 1 :]


def _flatten_dims(stage: Stage) -> tuple[RequestedDim, ...]:
    """Return the dims of a flatten. The first that merges axes is inferred, if no other dim is 0."""
    dims, free = [], True
    for step in _steps_of(stage, MERGED):
        others = [dim for out, dim in enumerate(shape_after(stage)) if out != step.out]
        inferred = free and len(step.sources) > 1 and 0 not in others
        free = free and not inferred
        dims.append(RequestedDim(step.dim, step.sources, inferred))
    return tuple(dims)


def _expand_dims(stage: Stage) -> tuple[RequestedDim, ...]:
    """Return the dims of an expand. Each is a size that was asked for, or one that is kept."""
    steps = [step for step in stage.steps if step.out is not None]
    wanted = (1,) * (len(steps) - len(stage.asked)) + stage.asked
    return tuple(
        RequestedDim(step.dim, None if step.value == dim else step.sources)
        for step, dim in zip(steps, wanted, strict=True)
    )


def squeezed_axes(stage: Stage) -> list[int]:
    """Return the axes that a squeeze drops."""
    return [step.sources[0] for step in _steps_of(stage, DROPPED_ONE)]


def inserted_axes(stage: Stage) -> tuple[int, ...]:
    """Return the axes at which an unsqueeze puts its dims of 1."""
    return tuple(step.out for step in _steps_of(stage, INSERTED_ONE) if step.out is not None)


def drops_every_one(stage: Stage) -> bool:
    """Say whether a squeeze names no axes, and takes every dim of 1 there is."""
    kept = _steps_of(stage, *KEEPS)
    every = len(kept) + len(_steps_of(stage, DROPPED_ONE)) == len(stage.before) and not stage.asked
    return every and not any(map(_may_be_one, kept))


def _may_be_one(step: Step) -> bool:
    """Say whether a dim that stays can be 1 under the conditions of its step."""
    try:
        return not {*differ(step.dim, 1)} <= {*step.conditions}
    except Never:
        return True


def pick_of(stage: Stage) -> Pick:
    """Return the move of a stage that keeps some positions of axes."""
    assert isinstance(stage.move, Pick)
    return stage.move


def roll_of(stage: Stage) -> Roll:
    """Return the move of a stage that rolls an axis."""
    assert isinstance(stage.move, Roll)
    return stage.move


def short_roll(stage: Stage, target: str) -> Roll:
    """Return the move of a stage that rolls an axis, with a shift of 32 bits, for targets that take no longer one.

    Raises `ShapeError` (usage) if no such shift is the same.
    """
    roll = roll_of(stage)
    dim = stage.before[roll.axis]
    if abs(roll.shift) > INT32_MAX and isinstance(dim, int):
        roll = Roll(roll.shift % dim if dim else 0, roll.axis)
    if abs(roll.shift) > INT32_MAX:
        raise misuse(f"a roll by {brief(str(roll.shift))} is not written as {target} code", "give a shorter shift")
    return roll


def split_axis(stage: Stage) -> tuple[int, int, int]:
    """Return the axis that a split cuts, the count of parts, and the part that is kept."""
    for step in stage.steps:
        if step.rule == SPLIT_AXIS:
            return step.sources[0], step.facts["parts"], step.facts["part"]
    raise TypeError(f"{stage.label} splits no axis")


def kept_axes(stage: Stage) -> tuple[Kept, ...]:
    """Return what a stage keeps of each axis.

    >>> import shapecalc as sc
    >>> [str(kept) for kept in kept_axes(sc.select(("N", 3), 0, -1).stages[0])]
    ['-1', ':']
    """
    found = list[Kept]()
    for axis, ((start, step, size), dim) in enumerate(zip(pick_of(stage).axes, stage.before, strict=True)):
        if size is None:
            found.append(Kept(axis, start, None, goes=True))
        else:
            found.append(
                _known(axis, start, step, size, dim) if isinstance(dim, int) else _open(axis, start, step, size)
            )
    return tuple(found)


def cut_axes(stage: Stage) -> tuple[Kept, ...]:
    """Return what a stage keeps of each axis that does not stay whole."""
    return tuple(kept for kept in kept_axes(stage) if str(kept) != ":")


def _known(axis: int, start: int, step: int, size: int, dim: int) -> Kept:
    """Return what is kept of an axis whose size is a number; an end that lies at the end of the axis is left open."""
    if size == 0:
        return Kept(axis, None, None if dim == 0 else 0)
    first = start % dim
    stop = first + step * size
    at_end = first == (0 if step > 0 else dim - 1)
    return Kept(axis, None if at_end else first, stop if 0 <= stop < dim else None, step)


def _open(axis: int, start: int, step: int, size: Dim) -> Kept:
    """Return what is kept of an axis with a name: all of it, either way, every so many, or the first or the last."""
    at_end = start == (0 if step > 0 else -1)
    return Kept(axis, None if at_end else start, 1 if size == 1 and at_end else None, step)


def turned(kept: Kept, dim: Dim) -> Kept:
    """Return what is to be kept, in the same order, of an axis that was reversed before."""
    last = dim - 1 if isinstance(dim, int) else -1
    start, stop = (None if end is None else last - end for end in (kept.start, kept.stop))
    return Kept(kept.axis, start, stop, -kept.step)


def requested_shape(call: Call, readings: Readings, rules: Rules, *, literal: bool = False) -> RequestedShape:
    """Return the shape to request for a call. `literal` says to take 0 for a size in any case.

    A size that neither a number nor 0 can say is inferred if no other is, and computed otherwise.
    Raises `ShapeError` (usage) if the framework's rules refuse the shape.
    """
    before, asked = call.stage.before, call.dims
    copies_any = rules.copies_of_empty or 0 not in before
    copied = [copies_any and _can_copy(dim, out, before) for out, dim in enumerate(asked)]
    empty = [dim.value == 0 and not dim.inferred for dim in asked]
    literal = (
        literal
        or _was_literal(call, rules)
        or any(zero and not copies for zero, copies in zip(empty, copied, strict=True))
    )
    zeros = literal and any(dim.value == 0 for dim in asked)
    hole = None if zeros else _hole(asked, [copies and not literal for copies in copied], readings)
    dims, warnings = list[Dim](), list[str]()
    for out, dim in enumerate(asked):
        copies = copied[out] and not literal
        dims.append(-1 if out == hole else 0 if copies else dim.value)
        if dim.axes and isinstance(dim.value, int) and dim.value and out != hole and not copies:
            warnings.append(f"dim {out} follows the tensor, and is written as the number {dim.value}")
    if literal and zeros and rules.switch:
        warnings.append(f"0 is a dim of size zero here, so {rules.switch} is {'on' if rules.on else 'off'}")
    if not _was_asked(call, tuple(dims), literal, rules):
        _check(before, tuple(dims), literal, rules)
    return RequestedShape(tuple(map(readings.read, dims)), literal, tuple(warnings))


def two_way_dims(before: Shape, asked: Sequence[RequestedDim], readings: Readings) -> Shape:
    """Return the shape to request from a broadcast that lets either side grow: 1 for a dim that the tensor has."""
    dims = list[Dim]()
    for axis, dim in enumerate(asked, len(before) - len(asked)):
        same = axis >= 0 and before[axis] == dim.value and isinstance(dim.value, Monomial)
        dims.append(1 if dim.axes or same else readings.read(dim.value))
    return tuple(dims)


def _can_copy(dim: RequestedDim, out: int, before: Shape) -> bool:
    """Say whether a 0 can copy the dim: the tensor has the dim at the same place."""
    same = out < len(before) and isinstance(dim.value, Monomial) and before[out] == dim.value
    return not dim.inferred and (dim.axes == (out,) or same)


def _hole(asked: Sequence[RequestedDim], copied: Sequence[bool], readings: Readings) -> int | None:
    """Return the dim to infer: the one that asks for it, else the one that is hardest to compute."""
    costs = dict[int, tuple[int, int]]()
    for out, dim in enumerate(asked):
        if dim.inferred:
            return out
        if isinstance(dim.value, Monomial) and not copied[out]:
            read = monomial(readings.read(dim.value))
            costs[out] = readings.count_open(dim.value), sum(abs(power) for _, power in read.powers)
    return max(reversed(costs), key=costs.__getitem__, default=None)


def _was_literal(call: Call, rules: Rules) -> bool:
    """Say whether the request itself takes 0 for a size."""
    return rules.switch is not None and call.trace.options.get(rules.switch) is rules.on


def _was_asked(call: Call, dims: Shape, literal: bool, rules: Rules) -> bool:
    """Say whether the stage was asked for just this under the framework's own rules, which did not refuse it."""
    stage, trace = call.stage, call.trace
    if stage.kind is not Kind.RESHAPE or stage.asked != dims or trace.dialect != rules.dialect:
        return False
    opset = rules.opset and (trace.request.opset or DEFAULT_OPSET)
    return opset == rules.opset and literal == _was_literal(call, rules)


def _check(before: Shape, dims: Shape, literal: bool, rules: Rules) -> None:
    """Raise `ShapeError` (usage) if the framework's own rules refuse the shape."""
    chosen = rules.on if literal else not rules.on if rules.required else None
    switch = {rules.switch: chosen} if rules.switch else {}
    try:
        asked = {"target": dims, "dialect": rules.dialect, "opset": rules.opset, **switch}
        problem = resolve(ask("reshape", before, asked)).problem
    except ShapeError as error:
        problem = error.problem
    if problem:
        raise misuse(f"{rules.dialect} cannot be asked for it: {problem.message}")


class Readings:
    """What a program can read from an `x` of some shape. It writes the size of axis 1 as the name `[1]`."""

    def __init__(self, shape: Shape) -> None:
        """Solve the dims for as many names as they tell."""
        self.axes: dict[Dim, Dim] = {}
        for axis, dim in enumerate(shape):
            self.axes.setdefault(dim, named_dim(f"[{axis}]"))
        self.known = _solved(self.axes)
        self.products = [dim for dim in self.axes if {*names((dim,))} - self.known.keys()]

    def read(self, dim: Dim) -> Dim:
        """Return a dim as a product of axes of `x`; names that the axes do not tell stay as they are.

        >>> from shapecalc.core.text import read_dims
        >>> readings = Readings(read_dims("N,2*C,H*W"))
        >>> [str(readings.read(dim)) for dim in read_dims("C*H*W/49,N*H")]
        ['[1]*[2]/98', 'H*[0]']
        """
        if isinstance(dim, int):
            return dim
        if dim in self.axes:
            return self.axes[dim]
        for each in self.products:
            times = self._times(dim, each)
            dim = _times_power(_times_power(dim, each, -times), self.axes[each], times)
        return rewrite(dim, self.known)

    def _times(self, dim: Dim, part: Dim) -> int:
        """Return how often the names of `part` that nothing tells are in `dim`; less than 0 if they divide it."""
        powers = dict(monomial(dim).powers)
        found = [int(powers.get(name, 0) / power) for name, power in monomial(part).powers if name not in self.known]
        return min(found) if min(found) > 0 else min(0, max(found))

    def count_open(self, dim: Dim) -> int:
        """Return how many names of a dim the program must be given, because `x` does not tell them."""
        return sum(not name.startswith("[") for name in names((self.read(dim),)))


def _solved(axes: Mapping[Dim, Dim]) -> dict[str, Dim]:
    """Return the names that axes tell: first those that are axes themselves, then those that only others hide."""
    known = {name: axis for dim, axis in axes.items() for name in names((dim,)) if dim == named_dim(name)}
    waiting, left = list[Monomial](), [dim for dim in axes if isinstance(dim, Monomial)]
    while left != waiting:
        waiting, left = left, []
        for dim in waiting:
            hidden = [(name, power) for name, power in dim.powers if name not in known]
            if [abs(power) for _, power in hidden] == [1]:
                ((name, power),) = hidden
                rest = rewrite(_times_power(dim, named_dim(name), -power), known)
                known[name] = quotient(axes[dim], rest) if power > 0 else quotient(rest, axes[dim])
            elif hidden:
                left.append(dim)
    return known


def _times_power(dim: Dim, factor: Dim, power: int) -> Dim:
    """Return `dim` times a power of `factor`, which may be negative."""
    factors = product([factor] * abs(power))
    return quotient(dim, factors) if power < 0 else product((dim, factors))


def size_text(dim: Dim, shape_of: str = "x.shape") -> str:
    """Return the expression for a dim that was read; `shape_of` is the expression for the shape of `x`.

    Raises `ShapeError` (usage) for a `?`, which no program can be given.

    >>> from shapecalc.core.text import read_dims
    >>> size_text(Readings(read_dims("N,C,H")).read(read_dims("C*H/64")[0]))
    'x.shape[1] * x.shape[2] // 64'
    """
    if isinstance(dim, int):
        return str(dim)
    above = [_factor(name, shape_of) for name, power in dim.powers for _ in range(power)]
    below = [_factor(name, shape_of) for name, power in dim.powers for _ in range(-power)]
    if dim.numerator != 1 or not above:
        above.insert(0, str(dim.numerator))
    if dim.denominator != 1:
        below.insert(0, str(dim.denominator))
    return " // ".join([" * ".join(above), *below])


def _factor(name: str, shape_of: str) -> str:
    return f"{shape_of}{name}" if name.startswith("[") else given_name(name)


def given_name(name: str) -> str:
    """Return what the code calls a size that it is given; raise `ShapeError` (usage) for a `?`.

    >>> given_name("C"), given_name("x"), given_name("lambda")
    ('C', 'x_', 'lambda_')
    """
    if name.startswith("?"):
        raise misuse("the code needs the size of a ?", "give it a name, or its size")
    plain = name.rstrip("_")
    reserved = iskeyword(plain) or plain in RESERVED or plain.rstrip("0123456789") in NUMBERED
    return f"{name}_" if reserved else name


def is_computed(dims: Iterable[Dim]) -> bool:
    """Say whether dims that were read are only known when a model runs: they hold axes of its input."""
    return any(name.startswith("[") for name in names(dims))


def texts_of(dims: Iterable[Dim]) -> str:
    """Return dims that are known before a model runs as the items of a list."""
    return ", ".join(map(size_text, dims))


class Sizes:
    """The nodes that compute sizes, each written once."""

    def __init__(self, forms: Forms) -> None:
        """Start without nodes."""
        self.forms = forms
        self.made: dict[tuple[str, ...], str] = {}
        self.lines: list[str] = []

    def vector(self, dims: Iterable[Dim]) -> str:
        """Return the name of the tensor that holds these dims."""
        parts = list[str]()
        for computed, run in groupby(dims, lambda dim: is_computed([dim])):
            row = tuple(run)
            parts += map(self._size, row) if computed else [self._constant(row)]
        quote = self.forms.quote
        joined = ", ".join(f"{quote}{part}{quote}" for part in parts)
        return parts[0] if len(parts) == 1 else self._make(self.forms.concat, joined)

    def _size(self, dim: Dim) -> str:
        whole = monomial(dim)
        above = self._product(whole.numerator, {name: power for name, power in whole.powers if power > 0})
        below = {name: -power for name, power in whole.powers if power < 0}
        if whole.denominator == 1 and not below:
            return above
        return self._make(self.forms.divide, above, self._product(whole.denominator, below))

    def _product(self, number: int, powers: Mapping[str, int]) -> str:
        """Return the name of the tensor that holds a product of axes, names that are given, and a number."""
        axes = [name[1:-1] for name, power in powers.items() if name.startswith("[") for _ in range(power)]
        given = lowest_terms(number, 1, {name: power for name, power in powers.items() if not name.startswith("[")})
        factors = [self._make(self.forms.axis, axis) for axis in axes]
        if given != 1 or not factors:
            factors.append(self._constant((given,)))
        return reduce(lambda first, second: self._make(self.forms.multiply, first, second), factors)

    def _constant(self, dims: Shape) -> str:
        return self._make(self.forms.constant, texts_of(dims), str(len(dims)))

    def _make(self, form: str, *inputs: str) -> str:
        """Return the name of what a node makes; the node is written when it is first asked for."""
        if form == self.forms.axis and not any(key[0] == form for key in self.made):
            self.lines.append(self.forms.sizes)
        key = (form, *inputs)
        if key not in self.made:
            self.made[key] = f"size{len(self.made) + 1}"
            self.lines.append(form.format(*inputs, name=self.made[key]))
        return self.made[key]


def title(answer: Trace | Chain) -> str:
    """Return the comment line with the shapes of `x` and `y`."""
    return f"# x: {brief(shape_text(answer.input))} -> y: {brief(shape_text(answer.output or ()))}"


def general_warnings(answer: Trace | Chain, target: str) -> list[str]:
    """Return the warnings for any target: when the answer holds, and that the code follows only one dialect."""
    warnings = [f"holds when {condition.words}" for condition in answer.conditions]
    dialects = list(dict.fromkeys(trace.dialect for trace in answer.traces))
    if len(dialects) > 1:
        warnings.append(f"the stages follow {' and '.join(dialects)}; the code follows {target} only")
    return warnings


def empty_warnings(answer: Trace | Chain, target: str) -> list[str]:
    """Return the warnings about dims that the request infers and the target refuses to infer."""
    why = f"{target} cannot infer a dim if the known dims multiply to 0"
    return [f"-1 is written as {step.value}: {why}" for step in answer.steps if step.rule == INFERRED_EMPTY]


def given_warnings(text: str, answer: Trace | Chain) -> list[str]:
    """Return the warnings about the sizes that a piece of code uses and does not have."""
    known = names(dict.fromkeys(dim for shape in shapes_of(answer) for dim in shape))
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} if known else set()
    open_names = {name: given_name(name) for name in known if not name.startswith("?") and given_name(name) in used}
    return [
        f"{name} is a size that the code must be given"
        if name == given
        else f"{given} is the size {name}, which the code must be given"
        for name, given in open_names.items()
    ]


def batch_warnings(answer: Trace | Chain, *, declared: bool = False) -> list[str]:
    """Return the warning that the code says how large the first dim is, and what is right for every size of it.

    With `declared` the code holds the shape of the input, and so its first dim in any case.

    >>> from shapecalc.core.ask import ask
    >>> from shapecalc.core.resolve import resolve
    >>> batch_warnings(resolve(ask("reshape", "8,3,4", {"target": "8,6,2"})))[0].partition(";")[0]
    'this code is right for a first dim of 8 only, as the input N,3,4 shows'
    """
    batch, *others = answer.input or (None,)
    if not isinstance(batch, int) or not others:
        return []
    requests = [trace.request for trace in answer.traces]
    used = names([dim for request in requests for dim in request.dims])
    name = next(name for name in ("N", "B", "BATCH") if name not in used)
    shape = (named_dim(name), *others)
    try:
        named = resolve_chain([replace_record(requests[0], input=shape), *requests[1:]])
    except ShapeError:
        return []
    shown = brief(shape_text(shape))
    if solved_names(named.conditions).get(name) == batch:
        only = f"this code is right for a first dim of {batch} only, as the input {shown} shows"
        return ["; ".join(filter(None, (only, lasting_hint(named))))]
    first, *rest = named.output or (None,)
    if first == batch and name in names(rest):
        return [f"the first dim is {batch} for every batch: from {shown} comes {brief(shape_text((first, *rest)))}"]
    if not declared or batch == 0:
        return []
    return [f"the code declares a first dim of {batch}; for other sizes of it write the input as {shown}"]
