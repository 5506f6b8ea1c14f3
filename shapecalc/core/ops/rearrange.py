"""Rearrange: split, move, repeat and merge named axes according to a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from math import prod

from shapecalc.core.answers import (
    EMPTY_DICT,
    ResolvedDim,
    StageBuilder,
    StageKind,
    Stages,
    Step,
    StepRule,
    Trace,
    make_step,
    run_stages,
)
from shapecalc.core.conditions import Conditions, require_divisible, require_equal, require_relation
from shapecalc.core.dialects.base import (
    Param,
    ParamType,
    RequestRules,
    check_rank,
    compute_volume,
    finish_reshape_stage,
)
from shapecalc.core.dims import Dim, Shape, product, quotient, to_json
from shapecalc.core.ops.axes import merge_adjacent_axes
from shapecalc.core.ops.expand import EXPAND, expand
from shapecalc.core.ops.op import Arguments, FixCandidates, Op, nearest_integers, operator_of
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.transpose import TRANSPOSE, transpose
from shapecalc.core.ops.unsqueeze import UNSQUEEZE_SEMANTICS, unsqueeze
from shapecalc.core.problem import Problem, Rule, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.rules import DROPPED_ONE, INDIVISIBLE, KEPT_DIM
from shapecalc.core.text import rank_text, remainder_text, truncate
from shapecalc.core.values import ELLIPSIS, AxisGroup, parse_axis_pattern, parse_lengths

SideAxes = tuple[tuple[str, ...], ...]
"""The axis names of each dim on one side of a pattern."""

SOURCE = "einops.rearrange, einops.repeat"

BAD_PATTERN = Rule(
    "bad-pattern",
    "the pattern does not fit the tensor",
    "The left side must have one entry, or one group in brackets, for each dim of the input. One axis of each group "
    "may omit its length. An axis that is only on the right is new and repeats the tensor, so it needs a length.",
    "shapecalc rearrange 2,3,4 'a b -> b a'",
    SOURCE,
)


def _explain_pattern_axis(step: Step, axis: str, cut: Dim, by: int | None) -> str:
    """Format the length of an axis.

    An inferred length is shown as `cut / by`; `by` is None for other lengths.
    """
    worked_out = f"{cut} / {by} = " if by not in (None, 1) else ""
    return f"{truncate(axis)} is {worked_out}{step.value}"


PATTERN_AXIS = StepRule(
    "pattern-axis",
    "a name in the pattern is an axis or a part of an axis",
    "On the left side of a pattern, brackets split a dim into axes, the outermost axis first. The length of one of "
    "these axes may be omitted. The omitted length is the dim divided by the product of the other lengths.",
    "shapecalc rearrange B,C,H,W 'b c (h p) (w q) -> b (h w) (p q c)' p=7,q=7",
    SOURCE,
    name="name axis",
    why=_explain_pattern_axis,
)


class RearrangePlan(Record):
    """A pattern that is parsed for one input rank.

    `left` and `right` contain the axis names of each dim.
    """

    left: SideAxes
    right: SideAxes
    groups: tuple[AxisGroup, ...]
    """The axis group of each input dim, as written in the pattern."""
    lengths: dict[str, int]

    @property
    def axes(self) -> tuple[str, ...]:
        """The axis names of the left side, in order."""
        return tuple([axis for names in self.left for axis in names])

    @property
    def order(self) -> tuple[int, ...]:
        """The order of the input axes on the right side.

        The axes are indices in `axes`. New axes are omitted.
        """
        positions = {axis: index for index, axis in enumerate(self.axes)}
        return tuple([positions[axis] for names in self.right for axis in names if axis in positions])

    @property
    def new_axes(self) -> dict[int, int]:
        """The lengths of the new axes, which are only on the right side.

        Each length is keyed by the index of its axis on the right side.
        """
        input_axes, output_axes = {*self.axes}, [axis for names in self.right for axis in names]
        return {index: self.lengths[axis] for index, axis in enumerate(output_axes) if axis not in input_axes}


def plan_rearrange(rank: int, pattern: str, lengths: str | None) -> RearrangePlan:
    """Parse a pattern for a tensor of `rank` dims.

    Raises `ShapeError` (bad-pattern).

    >>> plan_rearrange(4, "b ... c -> b c (...)", None).right
    (('b',), ('c',), ('...0', '...1'))
    """
    sides, named_lengths = parse_axis_pattern(pattern), {} if lengths is None else parse_lengths(lengths)
    words = [axis for part in (*sides.left, *sides.right) for axis in part.axes]
    for name in named_lengths:
        if name not in {word.text for word in words}:
            raise _pattern_error(f"{truncate(name)} has a length, and the pattern does not name it", argument="lengths")
    has_ellipsis = any(part.text == ELLIPSIS for part in sides.left)
    free = rank - len(sides.left) + has_ellipsis
    if free < 0 or (free and not has_ellipsis):
        least = "at least " if has_ellipsis else ""
        named = rank_text(len(sides.left) - has_ellipsis)
        raise _pattern_error(f"the left side names {least}{named}, and the input has {rank}", (0, pattern.index("->")))
    known, left_names = dict(named_lengths), {axis.text for part in sides.left for axis in part.axes}
    for word in words:
        if word.text.isdigit():
            known[f"{word.text}@{word.start}"] = int(word.text)
        elif word.text not in left_names and word.text not in named_lengths:
            message = f"{truncate(word.text)} is new on the right, so it needs a length: {truncate(word.text)}=2"
            raise _pattern_error(message, word.span)
    left, right = (tuple(_expand_side(side, free)) for side in (sides.left, sides.right))
    parts = [part for part in sides.left for _ in range(free if part.text == ELLIPSIS else 1)]
    return RearrangePlan(left, right, tuple(parts), known)


def _expand_side(side: tuple[AxisGroup, ...], ellipsis_rank: int) -> Iterator[tuple[str, ...]]:
    """Yield the axis names of each dim on one side of a pattern.

    An ellipsis expands to `ellipsis_rank` dims, and 1 is a dim without axes.
    """
    ellipsis_axes = tuple(f"{ELLIPSIS}{index}" for index in range(ellipsis_rank))
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


def _pattern_error(
    message: str, span: tuple[int, int] | None = None, argument: str = "pattern", *, hint: str = ""
) -> ShapeError:
    return ShapeError(Problem(BAD_PATTERN, message, hint, argument, None, span))


def rearrange(shape: Shape, rules: RequestRules, pattern: str, lengths: str | None = None) -> Stages:
    """Split, move, repeat and merge axes, with one stage for each of these operations.

    Stages that change nothing are omitted. Source: einops.rearrange and einops.repeat. Raises `ShapeError`
    (bad-pattern, indivisible, rank-limit or overflow).
    """
    plan = plan_rearrange(len(shape), pattern, lengths)
    runs: list[Callable[[Shape], Stages]] = []
    if any(len(names) != 1 or names[0] in plan.lengths for names in plan.left):
        runs.append(lambda before: _split_into_axes(before, rules, plan))
    if plan.order != tuple(range(len(plan.axes))):
        runs.append(lambda before: transpose(before, rules, plan.order, "move", ""))
    if plan.new_axes:
        runs.append(lambda before: _repeat_new_axes(before, rules, plan.new_axes))
    if any(len(names) != 1 for names in plan.right):
        runs.append(lambda before: merge_adjacent_axes(before, plan.right))
    return run_stages(shape, *runs)


def _split_into_axes(shape: Shape, rules: RequestRules, plan: RearrangePlan) -> Stages:
    """Split every dim into the axes of the left side."""
    with StageBuilder(StageKind.RESHAPE, "split", "pattern", shape) as stage:
        resolved = list[tuple[int, list[ResolvedDim]]]()
        stage.explain = lambda _: _split_steps(resolved)
        for axis, dim in enumerate(shape):
            resolved.append((axis, _split_dim(dim, axis, plan)))
        output = tuple([dim for _, dims in resolved for rule, dim, *_ in dims if rule is not DROPPED_ONE])
        check_rank(output, rules.dialect, "input")
        compute_volume(output, "input")
        return finish_reshape_stage(stage, output)


def _split_steps(resolved: Iterable[tuple[int, list[ResolvedDim]]]) -> tuple[Step, ...]:
    """Return the steps of a split; `resolved` contains pairs of an axis and its parts."""
    steps, output_axes = list[Step](), count()
    for axis, dims in resolved:
        steps += [make_step(None if dim[0] is DROPPED_ONE else next(output_axes), (axis,), dim) for dim in dims]
    return tuple(steps)


def _split_dim(dim: Dim, axis: int, plan: RearrangePlan) -> list[ResolvedDim]:
    """Split an input dim into its axes.

    If the group of the dim has no axes, the dim is 1 and is dropped.
    """
    names, part = plan.left[axis], plan.groups[axis]
    lengths = [plan.lengths.get(name) for name in names]
    if lengths == [None]:
        return [(KEPT_DIM, dim, (), EMPTY_DICT)]
    if lengths.count(None) > 1:
        open_names = " and ".join(name for name, length in zip(names, lengths, strict=True) if length is None)
        raise _pattern_error(f"{truncate(open_names)} both need a length: only one can be computed", _group_span(part))
    known = prod(length for length in lengths if length is not None)
    inferred, conditions = _infer_length(dim, known, axis, part, complete=None not in lengths)
    if not names:
        return [(DROPPED_ONE, dim, conditions, EMPTY_DICT)]
    resolved = list[ResolvedDim]()
    for name, length in zip(names, lengths, strict=True):
        facts = {"axis": name, "cut": dim, "by": known if length is None else None}
        value = inferred if length is None else length
        resolved.append((PATTERN_AXIS, value, () if resolved else conditions, facts))
    return resolved


def _group_span(group: AxisGroup) -> tuple[int, int]:
    end = group.axes[-1].span[1] if group.axes else group.start + 1
    return group.start, end + group.is_bracketed


def _infer_length(dim: Dim, known: int, axis: int, group: AxisGroup, *, complete: bool) -> tuple[Dim, Conditions]:
    """Return the inferred length of a group, and its divisibility conditions.

    The length is `dim` divided by `known`, the product of the other lengths. If `complete` is True, all lengths are
    known: `dim` must equal `known`, and the result is 1. Raises `ShapeError` (bad-pattern or indivisible).
    """

    def make_error() -> ShapeError:
        shown, text = f"dim {axis}, {truncate(str(dim))},", truncate(group.text)
        if complete:
            extra = (
                f"leave one out before, such as a class token: slice '[{':, ' * axis}1:]'" if dim == known + 1 else ""
            )
            return _pattern_error(f"{text} is {known} in all, and {shown} is not", _group_span(group), hint=extra)
        message = f"{shown} cannot be divided by {known} for {text}{remainder_text(dim, known) if known else ''}"
        return ShapeError(Problem(INDIVISIBLE, message, "", "pattern", None, _group_span(group)))

    if complete:
        return 1, require_relation(require_equal, dim, known, make_error)
    return quotient(dim, known), require_relation(require_divisible, dim, known, make_error)


def _repeat_new_axes(shape: Shape, rules: RequestRules, new_axes: dict[int, int]) -> Stages:
    """Insert the new axes of the right side, and repeat the tensor along them."""
    inserted = unsqueeze(shape, rules, tuple(new_axes))
    if all(length == 1 for length in new_axes.values()):
        return inserted

    def repeat(before: Shape) -> Stages:
        if operator_of(EXPAND, rules.dialect) is None:
            raise _pattern_error(f"{rules.dialect.name} has no expand, so no axis can be new")
        return expand(before, rules, tuple([new_axes.get(out, dim) for out, dim in enumerate(before)]))

    return run_stages(shape, lambda _: inserted, repeat)


def _length_candidates(_shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield lengths in which one length is changed or omitted."""
    lengths = parse_lengths(arguments["lengths"]) if arguments.get("lengths") else {}
    for name, length in lengths.items():
        for other in nearest_integers(length)[1:]:
            yield "lengths", _format_lengths(lengths | {name: other})
    for name in lengths:
        yield "lengths", _format_lengths({other: lengths[other] for other in lengths if other != name}) or None


def _format_lengths(lengths: dict[str, int]) -> str:
    return ",".join([f"{name}={length}" for name, length in lengths.items()])


def axis_lengths(shape: Shape, plan: RearrangePlan) -> dict[str, Dim]:
    """Return the length of each axis of a plan, keyed by axis name."""
    lengths: dict[str, Dim] = {**plan.lengths}
    for dim, axes in zip(shape, plan.left, strict=True):
        known = product([lengths[axis] for axis in axes if axis in lengths])
        lengths |= {axis: quotient(dim, known) for axis in axes if axis not in lengths}
    return lengths


def _collect_inferred_lengths(trace: Trace) -> dict[str, object]:
    """Return the inferred lengths of named axes for the JSON output."""
    pattern, text = trace.request.arguments["pattern"], trace.request.arguments.get("lengths")
    plan = plan_rearrange(len(trace.input), pattern, text)
    lengths = {axis: length for axis, length in axis_lengths(trace.input, plan).items() if axis.isidentifier()}
    return {"inferred": {axis: to_json(length) for axis, length in lengths.items() if axis not in plan.lengths}}


PATTERN_HELP = "the axes before and after: 'n (h d) -> n d h'"

REARRANGE = Op(
    name="rearrange",
    summary="Split, permute, repeat and merge axes by a pattern (einops).",
    params=(
        Param("pattern", ParamType.PATTERN, PATTERN_HELP, positional=True, required=True),
        Param("lengths", ParamType.LENGTHS, "the lengths of axes that cannot be inferred: h=8,d=4", positional=True),
    ),
    resolve=rearrange,
    operators=EMPTY_DICT,
    composed_of=(RESHAPE, TRANSPOSE),
    signatures=(("einops", "einops.rearrange/Rearrange(x, pattern, **lengths)"),),
    printed_names="rearrange",
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
    keeps_element_count=False,
    semantics=(UNSQUEEZE_SEMANTICS,),
    rules=(PATTERN_AXIS, BAD_PATTERN),
    extras=_collect_inferred_lengths,
    fix_candidates={BAD_PATTERN: _length_candidates, INDIVISIBLE: _length_candidates},
)
