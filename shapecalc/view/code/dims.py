"""What code writers share: the calls that an answer takes, the dims that each asks for, and what they are written as.

A dim is asked for as a number, as axes of the tensor that it is read from, or as -1, as the stages of the answer say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from operator import gt
from typing import ClassVar, TypeVar, assert_never

from shapecalc.core.answers import Chain, Kind, Stage, Step, Trace
from shapecalc.core.ask import ask
from shapecalc.core.conditions import Never, differ
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import check_rank
from shapecalc.core.dims import (
    INT64_MAX,
    Dim,
    Monomial,
    Shape,
    all_known,
    monomial,
    named_dim,
    names,
    product,
    quotient,
    rewrite,
)
from shapecalc.core.moves import Combine, Dims, Expand, Permute, Pick, Roll, Take
from shapecalc.core.ops.split import SPLIT_AXIS
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import COPIED_ZERO, DROPPED_ONE, INFERRED, INFERRED_EMPTY, INSERTED_ONE, KEEPS, MERGED
from shapecalc.core.text import brief, shape_text
from shapecalc.view.code import Code
from shapecalc.view.code.operands import expression, operand_names

M = TypeVar("M", Permute, Pick, Roll, Take, Dims, Combine)
INT32_MAX = 2**31 - 1
RESERVED = {"x", "y", "np", "math", "torch", "rearrange", "repeat", "jnp", "tf", "paddle", "ops", "trt", "network"}
RESERVED |= {"layer", "helper", "TensorProto", "nodes", "graph", "model", "sizes"}
NUMBERED = {"axes", "ends", "index", "repeats", "shape", "size", "starts", "steps", "x"}
"""The names that the code itself uses, and those that it uses with a number behind."""
IMPORTS = {
    "jnp": "import jax.numpy as jnp",
    "math": "import math",
    "np": "import numpy as np",
    "paddle": "import paddle",
    "tf": "import tensorflow as tf",
    "trt": "import tensorrt as trt",
    "torch": "import torch",
}
"""The modules that programs use, each with the line that imports it, in the order of these lines."""
CUTS = (Kind.RESHAPE, Kind.VIEW, Kind.MERGE, Kind.SQUEEZE, Kind.UNSQUEEZE)
"""The kinds of stage that keep the elements in order."""
WRITES = {
    Kind.PERMUTE: "transpose",
    **dict.fromkeys((Kind.RESHAPE, Kind.VIEW, Kind.MERGE), "reshape"),
    **dict.fromkeys((Kind.SELECT, Kind.SLICE, Kind.FLIP), "pick"),
    **{kind: kind.name.lower() for kind in (Kind.SQUEEZE, Kind.UNSQUEEZE, Kind.EXPAND, Kind.SPLIT)},
    **{kind: kind.name.lower() for kind in (Kind.TAKE, Kind.ROLL, Kind.SHAPE)},
}
"""The method of a `Writer` that writes each kind of call; all others combine operands."""


class RequestedDim(Record):
    """One dim of a shape to write: a size, or the axes of the tensor that it is read from."""

    value: Dim
    axes: tuple[int, ...] | None = None
    """The axes whose product it is, if it is read from the tensor; None if the size itself is written."""
    inferred: bool = False
    """Whether it may be written as -1."""


class Call(Record):
    """What one call of a framework does: a stage, several stages as one, or a whole `tile`."""

    trace: Trace
    stage: Stage
    dims: tuple[RequestedDim, ...] = ()
    """The dims that it asks for, if it asks for any."""
    repeats: Shape = ()
    """How often a `tile` repeats each axis, new ones in front."""

    @property
    def after(self) -> Shape:
        """The shape that it makes."""
        return self.stage.after or ()

    def move(self, kind: type[M]) -> M:
        """Return its move, which is of this kind."""
        assert isinstance(self.stage.move, kind)
        return self.stage.move

    def steps(self, *rules: str) -> list[Step]:
        """Return its steps by these rules."""
        return [step for step in self.stage.steps if step.rule in rules]

    def dropped_axes(self) -> list[int]:
        """Return the axes that a squeeze drops."""
        return [step.sources[0] for step in self.steps(DROPPED_ONE)]

    def drops_every_one(self) -> bool:
        """Say whether a squeeze names no axes, and takes every dim of 1 there is."""
        kept = self.steps(*KEEPS)
        every = len(kept) + len(self.dropped_axes()) == len(self.stage.before) and not self.stage.asked
        return every and not any(map(_may_be_one, kept))

    def inserted_axes(self) -> list[int]:
        """Return the axes at which an unsqueeze puts its dims of 1."""
        return [step.out for step in self.steps(INSERTED_ONE) if step.out is not None]

    def short_roll(self, target: str) -> Roll:
        """Return the roll of an axis with a shift of 32 bits, for targets that take no longer one.

        Raises `ShapeError` (usage) if no such shift is the same.
        """
        roll = self.move(Roll)
        dim = self.stage.before[roll.axis]
        if abs(roll.shift) > INT32_MAX and isinstance(dim, int):
            roll = Roll(roll.shift % dim if dim else 0, roll.axis)
        if abs(roll.shift) > INT32_MAX:
            raise misuse(f"a roll by {brief(str(roll.shift))} is not written as {target} code", "give a shorter shift")
        return roll

    def split_axis(self) -> tuple[int, int, int]:
        """Return the axis that a split cuts, the count of equal parts, and the part that is kept."""
        (step,) = self.steps(SPLIT_AXIS)
        return step.sources[0], step.facts["runs"][0][0], step.facts["part"]

    @property
    def kind(self) -> Kind:
        """What it is written as: the kind of its stage, and a slice for a split into parts that are not equal.

        Raises `ShapeError` (usage) for such parts of sizes with names.
        """
        if self.stage.kind is not Kind.SPLIT or len(self.steps(SPLIT_AXIS)[0].facts["runs"]) == 1:
            return self.stage.kind
        if not all_known(self.stage.before):
            raise misuse("parts of sizes with names are not written as code", "give the sizes with --where")
        return Kind.SLICE

    def kept_axes(self) -> tuple[Kept, ...]:
        """Return what is kept of each axis.

        >>> import shapecalc as sc
        >>> [str(kept) for kept in calls_of(sc.select(("N", 3), 0, -1))[0].kept_axes()]
        ['-1', ':']
        """
        rows = zip(self.move(Pick).axes, self.stage.before, strict=True)
        return tuple(kept_of(axis, *positions, dim) for axis, (positions, dim) in enumerate(rows))

    def cut_axes(self) -> tuple[Kept, ...]:
        """Return what is kept of each axis that does not stay whole."""
        return tuple(kept for kept in self.kept_axes() if str(kept) != ":")


class Kept(Record):
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
        return (INT64_MAX if self.step > 0 else -INT64_MAX - 1) if self.stop is None else self.stop

    def __str__(self) -> str:
        if self.goes:
            return str(self.start)
        start, stop = ("" if end is None else str(end) for end in (self.start, self.stop))
        return f"{start}:{stop}" + (f":{self.step}" if self.step != 1 else "")


class Rules(Record):
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


class RequestedShape(Record):
    """A requested shape. `literal` says whether a 0 in it is a dim of size zero.

    Its names are sizes that the model is given, or axes of the model's input.
    """

    dims: Shape
    literal: bool
    warnings: tuple[str, ...]


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
        if not folds or not _changes_nothing(folded or call):
            calls.append(folded or call)
    return calls


def _calls_of_trace(trace: Trace, *, tiles: bool) -> list[Call]:
    if tiles and trace.op == "tile" and trace.stages:
        before, after = trace.stages[0].before, trace.stages[-1].after or ()
        repeats = trace.request.arguments["repeats"]
        stage = Stage(Kind.EXPAND, "tile", "repeats", before, repeats, (), after, Expand(after))
        return [Call(trace, stage, (), (*(1,) * (len(before) - len(repeats)), *repeats))]
    calls = [Call(trace, stage) for stage in trace.stages]
    return [replace(call, dims=requested_dims(call)) for call in calls]


def _changes_nothing(call: Call) -> bool:
    stage = call.stage
    if isinstance(stage.move, Permute):
        return stage.move.axes == tuple(range(len(stage.before)))
    same = stage.before == stage.after and not isinstance(stage.move, (Roll, Take, Dims, Combine))
    return same and not (isinstance(stage.move, Pick) and call.cut_axes())


def _folded(first: Call, second: Call) -> Call | None:
    """Return two calls as one; None if they are not of one kind, or if a dim is 0, which -1 cannot stand beside."""
    one, two, dims = first.stage, second.stage, tuple[RequestedDim, ...]()
    kind, move = Kind.RESHAPE, two.move
    if isinstance(one.move, Permute) and isinstance(move, Permute):
        kind, move = Kind.PERMUTE, Permute(tuple(one.move.axes[axis] for axis in move.axes))
    elif one.kind in CUTS and two.kind in CUTS and 0 not in one.before:
        dims = _with_one_hole([_read_through(dim, first.dims) for dim in second.dims])
    else:
        return None
    return Call(first.trace, Stage(kind, one.label, one.argument, one.before, (), (), two.after, move), dims)


def _with_one_hole(dims: Sequence[RequestedDim]) -> tuple[RequestedDim, ...]:
    """Return dims of which only the first that may be inferred is."""
    hole = next((out for out, dim in enumerate(dims) if dim.inferred), None)
    return tuple(replace(dim, inferred=out == hole) for out, dim in enumerate(dims))


def _read_through(dim: RequestedDim, first: Sequence[RequestedDim]) -> RequestedDim:
    """Return a dim of the second reshape as the tensor before the first has it."""
    if dim.axes is None or dim.inferred:
        return RequestedDim(dim.value, None, dim.inferred)
    return first[dim.axes[0]] if len(dim.axes) == 1 else RequestedDim(dim.value)


def shapes_of(answer: Trace | Chain) -> list[Shape]:
    """Return the shape of `x`, and the shape after every stage."""
    return [answer.input, *(stage.after or () for stage in answer.stages)]


def requested_dims(call: Call) -> tuple[RequestedDim, ...]:
    """Return the dims that a call asks for, one by one; none if it moves axes, keeps positions or returns the dims."""
    match call.stage.kind:
        case Kind.RESHAPE | Kind.VIEW:
            return _reshape_dims(call)
        case Kind.MERGE:
            return _flatten_dims(call)
        case Kind.SQUEEZE:
            gone = {*call.dropped_axes()}
            return tuple(RequestedDim(dim, (axis,)) for axis, dim in enumerate(call.stage.before) if axis not in gone)
        case Kind.UNSQUEEZE:
            return tuple(RequestedDim(step.dim, step.sources or None) for step in call.steps(INSERTED_ONE, *KEEPS))
        case Kind.EXPAND:
            return _expand_dims(call.stage)
        case Kind.PERMUTE | Kind.SELECT | Kind.TAKE | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL | Kind.SHAPE:
            return ()
        case Kind.BROADCAST | Kind.PRODUCT | Kind.JOIN | Kind.WINDOW | Kind.LENGTHEN:
            return ()
        case _:
            assert_never(call.stage.kind)


def _reshape_dims(call: Call) -> tuple[RequestedDim, ...]:
    """Return the dims of a reshape. Each is copied, kept, inferred or given."""
    dims = {}
    for step in call.stage.steps:
        if step.out is not None:
            axes = step.sources if step.rule in (COPIED_ZERO, *KEEPS) else None
            dims[step.out] = RequestedDim(step.dim, axes, _may_be_inferred(call, step, step.out))
    return _with_one_hole([dims.get(out) or RequestedDim(dim) for out, dim in enumerate(call.after)])


def _may_be_inferred(call: Call, step: Step, out: int) -> bool:
    """Say whether a dim may be written as -1: it is what others leave, and these hold something."""
    is_left = step.rule == INFERRED or call.stage.asked[out : out + 1] == (-1,) or step.facts.get("by") is not None
    return is_left and step.rule != INFERRED_EMPTY and _others_hold(call, out)


def _others_hold(call: Call, out: int | None) -> bool:
    return all(dim != 0 for at, dim in enumerate(call.after) if at != out)


def _flatten_dims(call: Call) -> tuple[RequestedDim, ...]:
    """Return the dims of a flatten. The first that merges axes is inferred, if no other dim is 0."""
    merging = [(step, len(step.sources) > 1 and _others_hold(call, step.out)) for step in call.steps(MERGED)]
    return _with_one_hole([RequestedDim(step.dim, step.sources, inferred) for step, inferred in merging])


def _expand_dims(stage: Stage) -> tuple[RequestedDim, ...]:
    """Return the dims of an expand. Each is a size that was asked for, or one that is kept."""
    steps = [step for step in stage.steps if step.out is not None]
    wanted = (1,) * (len(steps) - len(stage.asked)) + stage.asked
    return tuple(
        RequestedDim(step.dim, None if step.value == dim else step.sources)
        for step, dim in zip(steps, wanted, strict=True)
    )


def _may_be_one(step: Step) -> bool:
    """Say whether a dim that stays can be 1 under the conditions of its step."""
    try:
        return not {*differ(step.dim, 1)} <= {*step.conditions}
    except Never:
        return True


def kept_of(axis: int, start: int, step: int, size: Dim | None, dim: Dim) -> Kept:
    """Return what positions keep of an axis; an end that lies at the end of the axis is left open."""
    if size is None:
        return Kept(axis, start, None, goes=True)
    if not isinstance(dim, int):  # all of it, either way, every so many, or the first or the last
        at_end = start == (0 if step > 0 else -1)
        return Kept(axis, None if at_end else start, 1 if size == 1 and at_end else None, step)
    if size == 0:
        return Kept(axis, None, None if dim == 0 else 0)
    first = start % dim
    stop = first + step * int(str(size))
    at_end = first == (0 if step > 0 else dim - 1)
    return Kept(axis, None if at_end else first, stop if 0 <= stop < dim else None, step)


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
    asks_literal = rules.switch is not None and call.trace.options.get(rules.switch) is rules.on
    literal = literal or asks_literal or any(map(gt, empty, copied))
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
    _check(before, tuple(dims), literal, rules)
    return RequestedShape(tuple(map(readings.read, dims)), literal, tuple(warnings))


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


def _check(before: Shape, dims: Shape, literal: bool, rules: Rules) -> None:
    """Raise `ShapeError` (usage) if the framework's own rules refuse the shape."""
    chosen = rules.on if literal else not rules.on if rules.required else None
    switch = {rules.switch: chosen} if rules.switch else {}
    asked = {"target": dims, "dialect": rules.dialect, "opset": rules.opset, **switch}
    if problem := resolve(ask("reshape", before, asked)).problem:
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
    return dim.written(lambda name: f"{shape_of}{name}" if name[0] == "[" else given_name(name), " * ", " // ")


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


class Writer:
    """A program while it is written: its lines so far, and the name of the tensor that the last one makes.

    It has a method for each kind of call that it writes, of the name that `WRITES` gives to it.
    """

    name: str
    intro: ClassVar[tuple[str, ...]] = ()
    """The lines before the comment with the shapes."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Start at the input `x`."""
        self.answer, self.tensor = answer, "x"
        self.readings = Readings(answer.input)
        self.operands = 0
        """How many operands beside `x` are read so far."""
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def add(self, call: Call) -> None:
        """Write a call; raise `ShapeError` (usage) for more dims than there are, and if nothing is written for it."""
        if self.name in DIALECTS:
            check_rank(call.stage.before, DIALECTS[self.name], "input")
            check_rank(call.after, DIALECTS[self.name], "input")
        name = "tile" if call.repeats else WRITES.get(call.kind, "combine")
        write = getattr(self, name, None)
        if write is None:
            raise misuse(f"{name} is not written as {self.name} code")
        write(call)

    def put(self, expression: str) -> None:
        """Write the line that makes a tensor of an expression, if that is not the tensor itself."""
        if expression != self.tensor:
            self.lines.append(f"y = {expression}")
            self.tensor = "y"

    def combine(self, call: Call) -> None:
        """Write what several operands make; raise `ShapeError` (usage) if nothing is known to write."""
        self.put(self.combined(call))

    def combined(self, call: Call) -> str:
        """Return what an op of several operands is written as, and count these, whose names are taken."""
        made = expression(self.name, call.trace, self.tensor, self.operands + 1)
        self.count_operands(call)
        return made

    def count_operands(self, call: Call) -> None:
        """Count the operands of a call, whose names are taken."""
        assert isinstance(call.stage.move, Combine)
        self.operands += len(call.stage.move.operands) - 1

    def text(self) -> str:
        """Return the whole code, once all calls are written."""
        lines = self.lines or ["y = x"]
        used = [line for module, line in IMPORTS.items() if re.search(rf"\b{module}\.", "\n".join(lines))]
        return "\n".join([*used, *self.intro, title(self.answer), *lines])

    def code(self, calls: Iterable[Call], *batch: str) -> Code:
        """Return the whole code of calls with its warnings, those about the batch among them."""
        for call in calls:
            self.add(call)
        text, answer = self.text(), self.answer
        refused = f"{self.name} cannot infer a dim if the known dims multiply to 0"
        empty = [f"-1 is written as {step.value}: {refused}" for step in answer.steps if step.rule == INFERRED_EMPTY]
        about = (*general_warnings(answer, self.name), *batch, *empty)
        return Code(text, (*about, *given_warnings(text, answer), *self.warnings))


def title(answer: Trace | Chain) -> str:
    """Return the comment line with the shapes of `x` and `y`."""
    inputs = {"x": answer.input, **operand_names(answer.traces)}
    shapes = ", ".join([f"{name}: {brief(shape_text(shape))}" for name, shape in inputs.items()])
    return f"# {shapes} -> y: {brief(shape_text(answer.output or ()))}"


def general_warnings(answer: Trace | Chain, target: str) -> list[str]:
    """Return the warnings for any target: when the answer holds, and that the code follows only one dialect."""
    warnings = [f"holds when {condition.words}" for condition in answer.conditions]
    dialects = list(dict.fromkeys(trace.dialect for trace in answer.traces))
    if len(dialects) > 1:
        warnings.append(f"the stages follow {' and '.join(dialects)}; the code follows {target} only")
    return warnings


def given_warnings(text: str, answer: Trace | Chain) -> list[str]:
    """Return the warnings about the sizes that a piece of code uses and does not have."""
    known = names(dict.fromkeys(dim for shape in shapes_of(answer) for dim in shape))
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} if known else set()
    open_names = {name: given_name(name) for name in known if not name.startswith("?") and given_name(name) in used}
    renamed = {name: f"{given} is the size {name}, which" for name, given in open_names.items() if name != given}
    return [f"{renamed.get(name, f'{name} is a size that')} the code must be given" for name in open_names]
