"""The ops that drop, insert and repeat dims of size one: squeeze, unsqueeze, expand."""

from __future__ import annotations

from shapecalc.core.conditions import Conditions, Never, differ, equal
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.limits import check_rank, checked_volume
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.rules import Broadcast, NotOne, Repeats
from shapecalc.core.trace import Expand, Reshape, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.setting import Setting
    from shapecalc.core.trace import Steps

    Axes = tuple[int, ...]


def recut(stage: str, before: Shape, after: Shape) -> Step:
    """Return the last step of a stage that keeps the elements in order and cuts them into `after`.

    Raises `ShapeError`: overflow.
    """
    checked_volume(after, "input")
    return Step(stage, "regroup", None, tuple(range(len(before))), after, (before, after), Reshape(after))


def axis_from_zero(
    axis: int, rank: int, at: Setting, argument: str, index: int | None = None, *, past_the_last: bool = False
) -> int:
    """Return `axis` counted from 0, where it is one of `rank` axes (or the place past the last).

    Raises `ShapeError`: negative-axis, axis-out-of-range.
    """
    row = at.row
    if axis < 0 and at.version is not None and at.version < row.negative_axes_since:
        message = f"axis {axis}: negative axes exist since version {row.negative_axes_since}, and this is {at.version}"
        raise refusal(
            "negative-axis", message, f"write {axis + rank}" if axis >= -rank else "", argument=argument, index=index
        )
    span = 1 if rank == 0 and row.scalar_axis else rank
    highest = span if past_the_last else span - 1
    if not -span <= axis <= highest:
        valid = f"axes run from {-span} to {highest}" if span or past_the_last else "a scalar has no axes"
        raise refusal("axis-out-of-range", f"axis {axis} does not exist: {valid}", argument=argument, index=index)
    return axis % span if axis < 0 else axis


def axes_from_zero(axes: Axes, rank: int, at: Setting, repeats: Repeats) -> dict[int, int]:
    """Return the named axes counted from 0, each with its place in `axes`; `repeats` are refused or dropped.

    Raises `ShapeError`: repeated-axis, and what `axis_from_zero` raises.
    """
    found: dict[int, int] = {}
    for index, axis in enumerate(axes):
        place = axis_from_zero(axis, rank, at, "axes", index)
        if place in found and repeats is Repeats.REFUSED:
            raise refusal("repeated-axis", f"axis {axis} is named twice", argument="axes", index=index)
        found.setdefault(place, index)
    return found


def squeeze(shape: Shape, at: Setting, axes: Axes | None = None) -> Steps:
    """Drop dims of 1: those that `axes` names, or all of them where it is left out.

    Source: ONNX Squeeze ("if an axis is selected with shape entry not equal to one, an error is raised");
    torch.squeeze and OpenVINO leave such an axis alone.
    Raises `ShapeError`: axis-not-one, axis-out-of-range, negative-axis, repeated-axis.
    """
    every = axes is None or (not axes and at.row.no_axes_is_all)
    named = {} if every else axes_from_zero(axes or (), len(shape), at, at.row.repeats)
    kept = []
    for axis, dim in enumerate(shape):
        if not every and axis not in named:
            kept.append(dim)
            continue
        leaves = every or at.row.not_one is NotOne.LEFT_ALONE
        step = _left_or_dropped(axis, dim) if leaves else _dropped(axis, dim, named[axis])
        if step.rule == "keep-dim":
            kept.append(dim)
        yield step
    yield recut("squeeze", shape, tuple(kept))
    return tuple(kept)


def _left_or_dropped(axis: int, dim: Dim) -> Step:
    """Return the step for a dim that is dropped where it is 1 and left alone where it is not."""
    if dim == 1:
        return Step("squeeze", "drop-one", None, (axis,), dim)
    return Step("squeeze", "keep-dim", None, (axis,), dim, (), None, differ(dim, 1))


def _dropped(axis: int, dim: Dim, index: int) -> Step:
    """Return the step for a dim that must be 1."""
    try:
        conditions = equal(dim, 1)
    except Never:
        message = f"dim {axis} is {dim}, and only a dim of 1 can be squeezed"
        raise refusal("axis-not-one", message, "leave that axis out", argument="axes", index=index) from None
    return Step("squeeze", "drop-one", None, (axis,), dim, (), None, conditions)


def unsqueeze(shape: Shape, at: Setting, axes: Axes) -> Steps:
    """Insert dims of 1 so that they stand at `axes` of the output.

    Source: ONNX Unsqueeze ("the rank of the output tensor is the rank of the input tensor plus the number
    of values in axes"). Raises `ShapeError`: axis-out-of-range, negative-axis, repeated-axis, rank-limit.
    """
    rank = len(shape) + len(axes)
    places = axes_from_zero(axes, rank, at, Repeats.REFUSED)
    axis, output = 0, list[Dim]()
    for out in range(rank):
        if out in places:
            output.append(1)
            yield Step("unsqueeze", "insert-one", out, (), 1)
        else:
            output.append(shape[axis])
            yield Step("unsqueeze", "keep-dim", out, (axis,), shape[axis])
            axis += 1
    check_rank(tuple(output), at.row, "axes")
    yield recut("unsqueeze", shape, tuple(output))
    return tuple(output)


def expand(shape: Shape, at: Setting, target: Shape) -> Steps:
    """Repeat dims of 1 until the tensor has the requested shape, aligned at the right.

    Source: ONNX Expand (broadcasts both ways), numpy.broadcast_to and OpenVINO Broadcast (one way),
    Tensor.expand (one way, -1 keeps a dim).
    Raises `ShapeError`: not-broadcastable, negative-size, needs-size, rank-limit, overflow.
    """
    check_rank(target, at.row, "target")
    both = at.row.broadcast is Broadcast.BOTH_WAYS
    added = len(target) - len(shape)
    if added < 0 and not both:
        message = f"{len(target)} dims are requested, and the input has {len(shape)}: expand never drops a dim"
        raise refusal("not-broadcastable", message, argument="target")
    output = list[Dim]()
    for out in range(max(len(target), len(shape))):
        axis, index = out - max(added, 0), out + min(added, 0)
        dim = shape[axis] if axis >= 0 else None
        wanted = target[index] if index >= 0 else 1
        step = _stretched(out, dim, wanted, max(axis, 0), index, at)
        output.append(step.value)
        yield step
    checked_volume(tuple(output), "target")
    moved = tuple(output)
    yield Step("expand", "broadcast", None, tuple(range(len(shape))), moved, moved, Expand(moved))
    return moved


def _stretched(out: int, dim: Dim | None, wanted: Dim, axis: int, index: int, at: Setting) -> Step:
    """Return the step that settles one output dim of an expand; `dim` is None in front of the input's dims."""
    if isinstance(wanted, int) and wanted < 0:
        if wanted == -1 and dim is not None and at.row.broadcast is Broadcast.ONE_WAY_KEEPS:
            return Step("expand", "keep-dim", out, (axis,), dim)
        raise _no_size(wanted, dim, index, at)
    if dim is None:
        return Step("expand", "new-dim", out, (), wanted)
    answers = _answers(dim, wanted, both=at.row.broadcast is Broadcast.BOTH_WAYS)
    if not answers:
        grown = "a dim of 1 on either side" if at.row.broadcast is Broadcast.BOTH_WAYS else "an input dim of 1"
        message = f"input dim {axis} is {dim}, {wanted} is requested, and only {grown} can grow"
        raise refusal("not-broadcastable", message, argument="target", index=max(index, 0))
    if len(answers) > 1:
        message = f"input dim {axis}, {dim}, becomes {wanted} for some sizes only"
        raise refusal("needs-size", message, "give the sizes with --where", argument="target", index=max(index, 0))
    value, conditions = answers[0]
    return Step("expand", "stretch", out, (axis,), value, (dim,), None, conditions)


def _answers(dim: Dim, wanted: Dim, *, both: bool) -> list[tuple[Dim, Conditions]]:
    """Return what an output dim can be, each with the conditions for it; two answers need sizes to choose."""
    if dim in (wanted, 1):
        return [(wanted, ())]
    if both and wanted == 1:
        return [(dim, ())]
    found: dict[Conditions, Dim] = {}
    ways = [(dim, wanted, wanted), (dim, 1, wanted)] + ([(wanted, 1, dim)] if both else [])
    for left, right, value in ways:
        try:
            found.setdefault(equal(left, right), value)
        except Never:
            continue
    return [(value, conditions) for conditions, value in found.items()]


def _no_size(wanted: int, dim: Dim | None, index: int, at: Setting) -> ShapeError:
    keeps = at.row.broadcast is Broadcast.ONE_WAY_KEEPS
    message = f"{wanted} is no size to expand to"
    hint = "-1 keeps a dim that exists, and the input has none there" if keeps and wanted == -1 else ""
    if not hint and dim is not None:
        hint = f"to keep the dim, write {dim}"
    return refusal("negative-size", message, hint, argument="target", index=index)
