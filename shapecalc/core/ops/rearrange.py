"""Rearrange: a pattern splits, moves, repeats and merges named axes."""

from __future__ import annotations

from _collections_abc import Iterator
from math import prod

from shapecalc.core.answers import NONE, Kind, Reasons, Stage, Step, StepRule, Trace
from shapecalc.core.conditions import Conditions, divides, equal, required
from shapecalc.core.dialects.base import Holds, Param, Setting, check_rank, checked_volume, recut
from shapecalc.core.dims import Dim, Shape, plain, product, quotient
from shapecalc.core.ops.axes import merge_runs
from shapecalc.core.ops.expand import EXPAND, expand
from shapecalc.core.ops.op import Arguments, Changes, Op, near, operator_of
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.transpose import TRANSPOSE, transpose
from shapecalc.core.ops.unsqueeze import unsqueeze
from shapecalc.core.problem import Problem, Rule, ShapeError
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.rules import DROPPED_ONE, INDIVISIBLE, KEPT_DIM
from shapecalc.core.text import brief, left_over, rank_text
from shapecalc.core.values import ELLIPSIS, AxisGroup, read_axis_pattern, read_lengths

Named = tuple[tuple[str, ...], ...]
"""The names of the axes of each dim on one side of a pattern."""

SOURCE = "einops.rearrange, einops.repeat"

BAD_PATTERN = Rule(
    "bad-pattern",
    "the pattern does not fit the tensor",
    "The left side has a word, or a group in brackets, for every dim of the input. One axis of a group needs no "
    "length. An axis that is only on the right is new and repeats the tensor, so it needs a length.",
    "shapecalc rearrange 2,3,4 'a b -> b a'",
    SOURCE,
)


def _pattern_axis(step: Step, axis: str, cut: Dim, by: int | None) -> str:
    worked_out = f"{cut} / {by} = " if by not in (None, 1) else ""
    return f"{brief(axis)} is {worked_out}{step.value}"


PATTERN_AXIS = StepRule(
    "pattern-axis",
    "a name of the pattern is an axis, or a part of one",
    "Brackets on the left cut a dim into axes, the first outermost. The length of one may be left out: it is the "
    "dim divided by the lengths of the others.",
    "shapecalc rearrange B,C,H,W 'b c (h p) (w q) -> b (h w) (p q c)' p=7,q=7",
    SOURCE,
    name="name axis",
    why=_pattern_axis,
)


class Plan(Record):
    """A pattern for one rank: the named axes of every dim before and after."""

    left: Named
    right: Named
    parts: tuple[AxisGroup, ...]
    """The group of each dim of the left side, as written."""
    lengths: dict[str, int]

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the input after the split, in order."""
        return tuple([axis for names in self.left for axis in names])

    @property
    def moved(self) -> tuple[int, ...]:
        """The order of these axes on the right side, as a permutation."""
        positions = {axis: index for index, axis in enumerate(self.axes)}
        return tuple([positions[axis] for names in self.right for axis in names if axis in positions])

    @property
    def new(self) -> dict[int, int]:
        """The lengths of the axes that only the right side has, by their index there."""
        input_axes, output_axes = {*self.axes}, [axis for names in self.right for axis in names]
        return {index: self.lengths[axis] for index, axis in enumerate(output_axes) if axis not in input_axes}


def plan_of(rank: int, pattern: str, lengths: str | None) -> Plan:
    """Return the plan of a pattern for a tensor of `rank` dims.

    Raises `ShapeError`: bad-pattern.

    >>> plan_of(4, "b ... c -> b c (...)", None).right
    (('b',), ('c',), ('...0', '...1'))
    """
    sides, named_lengths = read_axis_pattern(pattern), {} if lengths is None else read_lengths(lengths)
    words = [axis for part in (*sides.left, *sides.right) for axis in part.axes]
    for name in named_lengths:
        if name not in {word.text for word in words}:
            raise _refused(f"{brief(name)} has a length, and the pattern does not name it", argument="lengths")
    has_ellipsis = any(part.text == ELLIPSIS for part in sides.left)
    free = rank - len(sides.left) + has_ellipsis
    if free < 0 or (free and not has_ellipsis):
        least = "at least " if has_ellipsis else ""
        named = rank_text(len(sides.left) - has_ellipsis)
        raise _refused(f"the left side names {least}{named}, and the input has {rank}", (0, pattern.index("->")))
    known, left_names = dict(named_lengths), {axis.text for part in sides.left for axis in part.axes}
    for word in words:
        if word.text.isdigit():
            known[f"{word.text}@{word.start}"] = int(word.text)
        elif word.text not in left_names and word.text not in named_lengths:
            message = f"{brief(word.text)} is new on the right, so it needs a length: {brief(word.text)}=2"
            raise _refused(message, word.span)
    left, right = (tuple(_named(side, free)) for side in (sides.left, sides.right))
    parts = [part for part in sides.left for _ in range(free if part.text == ELLIPSIS else 1)]
    return Plan(left, right, tuple(parts), known)


def _named(side: tuple[AxisGroup, ...], free: int) -> Iterator[tuple[str, ...]]:
    """Yield the names of the axes of every dim of a side.

    `...` stands for `ellipsis_rank` dims, and 1 for no axis.
    """
    ellipsis_axes = tuple(f"{ELLIPSIS}{index}" for index in range(free))
    for part in side:
        if part.text == ELLIPSIS:
            yield from ((axis,) for axis in ellipsis_axes)
            continue
        names = list[str]()
        for axis in part.axes:
            if axis.text == ELLIPSIS:
                names += ellipsis_axes
            elif axis.text != "1":
                names.append(f"{axis.text}@{axis.start}" if axis.text.isdigit() else axis.text)
        yield tuple(names)


def _refused(
    message: str, span: tuple[int, int] | None = None, argument: str = "pattern", *, hint: str = ""
) -> ShapeError:
    return ShapeError(Problem(BAD_PATTERN, message, hint, argument, None, span))


def rearrange(shape: Shape, at: Setting, pattern: str, lengths: str | None = None) -> Reasons:
    """Split, move, repeat and merge axes, one stage each.

    Stages without effect are left out. Source: einops.rearrange and einops.repeat. Raises `ShapeError`: bad-pattern,
    indivisible, rank-limit, overflow.
    """
    plan = plan_of(len(shape), pattern, lengths)
    if any(len(names) != 1 or names[0] in plan.lengths for names in plan.left):
        shape = yield from _cut(shape, at, plan)
    if plan.moved != tuple(range(len(shape))):
        shape = yield from transpose(shape, at, plan.moved, "move", "")
    if plan.new:
        shape = yield from _repeated(shape, at, plan.new)
    if any(len(names) != 1 for names in plan.right):
        shape = yield from merge_runs(shape, plan.right)
    return shape


def _cut(shape: Shape, at: Setting, plan: Plan) -> Reasons:
    """Split every dim into the axes of the left side, as one stage."""
    yield Stage(Kind.RESHAPE, "split", "pattern", shape)
    dims = list[Dim]()
    for axis in range(len(shape)):
        for step in _axes_of(shape[axis], axis, len(dims), plan):
            if step.out is not None:
                dims.append(step.dim)
            yield step
    output = tuple(dims)
    check_rank(output, at.row, "input")
    checked_volume(output, "input")
    return (yield from recut(shape, output))


def _axes_of(dim: Dim, axis: int, out: int, plan: Plan) -> list[Step]:
    """Return the steps of the axes of one dim, the first for axis `output_axis`."""
    names, part = plan.left[axis], plan.parts[axis]
    lengths = [plan.lengths.get(name) for name in names]
    if lengths == [None]:
        return [Step(KEPT_DIM, out, (axis,), dim)]
    if lengths.count(None) > 1:
        open_names = " and ".join(name for name, length in zip(names, lengths, strict=True) if length is None)
        raise _refused(f"{brief(open_names)} both need a length: only one can be computed", _span(part))
    known = prod(length for length in lengths if length is not None)
    inferred, conditions = _left_of(dim, known, axis, part, whole=None not in lengths)
    if not names:
        return [Step(DROPPED_ONE, None, (axis,), dim, conditions)]
    steps = list[Step]()
    for index, (name, length) in enumerate(zip(names, lengths, strict=True)):
        facts = FrozenDict(axis=name, cut=dim, by=known if length is None else None)
        value = inferred if length is None else length
        steps.append(Step(PATTERN_AXIS, out + index, (axis,), value, () if index else conditions, facts))
    return steps


def _span(part: AxisGroup) -> tuple[int, int]:
    end = part.axes[-1].span[1] if part.axes else part.start + 1
    return part.start, end + part.grouped


def _left_of(dim: Dim, known: int, axis: int, part: AxisGroup, *, whole: bool) -> tuple[Dim, Conditions]:
    """Return the length that is not given, with its conditions.

    With `complete` all lengths are given: the result is 1, and their product must be the dim.
    """
    shown = f"dim {axis}, {brief(str(dim))},"
    if whole:
        extra = f"leave one out before, such as a class token: slice '[{':, ' * axis}1:]'" if dim == known + 1 else ""
        error = _refused(f"{brief(part.text)} is {known} in all, and {shown} is not", _span(part), hint=extra)
        return 1, required(equal, dim, known, error)
    message = f"{shown} cannot be divided by {known} for {brief(part.text)}{left_over(dim, known) if known else ''}"
    error = ShapeError(Problem(INDIVISIBLE, message, "", "pattern", None, _span(part)))
    return quotient(dim, known), required(divides, dim, known, error)


def _repeated(shape: Shape, at: Setting, new: dict[int, int]) -> Reasons:
    """Insert the axes that only the right side has, and repeat the tensor along them."""
    shape = yield from unsqueeze(shape, at, tuple(new))
    if all(length == 1 for length in new.values()):
        return shape
    if operator_of(EXPAND, at.row) is None:
        raise _refused(f"{at.row.name} has no expand, so no axis can be new")
    return (yield from expand(shape, at, tuple([new.get(out, dim) for out, dim in enumerate(shape)])))


def _other_lengths(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the lengths with one changed to a number nearby, then with one left out."""
    lengths = read_lengths(arguments["lengths"]) if arguments.get("lengths") else {}
    for name, length in lengths.items():
        for other in near(length)[1:]:
            yield "lengths", _lengths_text(lengths | {name: other})
    for name in lengths:
        yield "lengths", _lengths_text({other: lengths[other] for other in lengths if other != name}) or None


def _lengths_text(lengths: dict[str, int]) -> str:
    return ",".join([f"{name}={length}" for name, length in lengths.items()])


def lengths_of(shape: Shape, plan: Plan) -> dict[str, Dim]:
    """Return the length of every axis of a plan for a tensor of `shape`."""
    lengths: dict[str, Dim] = {**plan.lengths}
    for dim, axes in zip(shape, plan.left, strict=True):
        known = product([lengths[axis] for axis in axes if axis in lengths])
        lengths |= {axis: quotient(dim, known) for axis in axes if axis not in lengths}
    return lengths


def _inferred(trace: Trace) -> dict[str, object]:
    """Return the lengths of the named axes that are not given."""
    pattern, text = trace.request.arguments["pattern"], trace.request.arguments.get("lengths")
    plan = plan_of(len(trace.input), pattern, text)
    lengths = {axis: length for axis, length in lengths_of(trace.input, plan).items() if axis.isidentifier()}
    return {"inferred": {axis: plain(length) for axis, length in lengths.items() if axis not in plan.lengths}}


PATTERN = "the axes before and after: 'n (h d) -> n d h'"

REARRANGE = Op(
    name="rearrange",
    summary="Split, move, repeat and merge axes as a pattern names them (einops).",
    params=(
        Param("pattern", Holds.PATTERN, PATTERN, positional=True, required=True),
        Param("lengths", Holds.LENGTHS, "the lengths of axes that the input does not tell: h=8,d=4", positional=True),
    ),
    steps=rearrange,
    operators=NONE,
    made_of=(RESHAPE, TRANSPOSE),
    examples=(
        "rearrange B,C,H,W 'b c (h p) (w q) -> b (h w) (p q c)' p=7,q=7",
        "rearrange N,C,H,W 'n ... -> n (...)'",
        "rearrange 2,3 'a b -> a r b' r=4 --explain",
    ),
    vectors=tuple(
        (shape, {"pattern": pattern} | ({"lengths": lengths} if lengths else {}))
        for shape, pattern, *each in (
            ("2,3,4", "a b c -> c a b", ""),
            ("2,3,4", "a b c -> a (c b)", ""),
            ("2,6,4", "a (b c) d -> a c (b d)", "b=2", "b=4"),
            ("2,6", "a (b c) -> a b c", "", "b=2,c=3", "b=2,c=4"),
            ("2,3,4,5", "a ... b -> b ... a", ""),
            ("2,3,4,5", "a ... -> (...) a", ""),
            ("2,1,3", "a 1 b -> b a ()", ""),
            ("2,2,3", "a 1 b -> b a", ""),
            ("2,3", "a b -> a r b", "r=4"),
            ("2,3", "a b -> (2 a) b", ""),
            ("2,3", "a b -> a b c", ""),
            ("2,3", "a -> a", ""),
            ("2,0", "a (b c) -> c a b", "b=2"),
            ("[]", " -> 1", ""),
            ("B,C,H,W", "b c (h p) w -> b (h w) (p c)", "p=7"),
        )
        for lengths in each
    ),
    keeps_count=False,
    rules=(PATTERN_AXIS, BAD_PATTERN),
    tells=_inferred,
    changes={BAD_PATTERN: _other_lengths, INDIVISIBLE: _other_lengths},
)
