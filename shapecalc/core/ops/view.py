"""View: PyTorch's reshape that never copies. Yes, with the strides of the view; or the strides that forbid it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapecalc.core.answers import Kind, Reasons, Request, Stage, Step, StepRule, Trace
from shapecalc.core.conditions import Known
from shapecalc.core.dialects.base import Holds, Operator, Param, Setting
from shapecalc.core.dims import Axes, Shape, all_known, numbers
from shapecalc.core.layout import Atom, View, contiguous_strides, merge
from shapecalc.core.moves import Dims, Move, Reshape, Roll, Take
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.ops.reshape import reshape
from shapecalc.core.problem import Rule, refusal
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import NEEDS_SIZE
from shapecalc.core.text import brief, rank_text, shape_text

SOURCE = "Tensor.view, and at::detail::computeStride of PyTorch 2.13.0"

STRIDE_INCOMPATIBLE = Rule(
    "stride-incompatible",
    "no strides can read the requested shape from the same memory",
    "A dim of a view lies inside one input dim, or spans neighbouring dims that are contiguous in memory: the stride "
    "of each is the size of the next times its stride. To span other dims, make a copy first with contiguous() or "
    "reshape.",
    "shapecalc view 3,4 12 --strides 1,3",
    "Tensor.view: 'the new view size must be compatible with its original size and stride'",
)
BAD_STRIDES = Rule(
    "bad-strides",
    "there is one stride for each dim, and none is negative",
    "A stride is how many elements apart two neighbours along a dim are in memory. Dims of 1 have one, too; a stride "
    "of 0 reads the same element again. PyTorch has no negative strides.",
    "shapecalc view 3,4 12 --strides 4",
    "Tensor.stride, torch.as_strided",
)


COPY_FIRST = "write reshape in place of view, or contiguous() before it: they copy if no view exists"
"""What mends a view that strides forbid."""


def _view_strides(step: Step, strides: Shape | None) -> str:
    before = "of a contiguous tensor" if strides is None else f"of strides {shape_text(strides)}"
    return f"a view {before}: its strides are {shape_text(step.shape)}"


VIEW_STRIDES = StepRule(
    "view-strides",
    "a view reads the same memory with strides of its own",
    "Dims that are contiguous in memory form a chunk, which can be cut into new dims. The stride of a new dim is "
    "the stride of the chunk's last dim, times the sizes of the new dims after it in the chunk. A tensor without "
    "elements always has a view.",
    "shapecalc view 3,4 3,2,2 --strides 1,3",
    SOURCE,
    name="strides",
    why=_view_strides,
)


class Clash(Record):
    """Two input dims that a dim of the view would have to span, and that do not lie in memory as one."""

    outer: int
    inner: int
    needed: int
    """The stride that the outer one would need."""


def view(shape: Shape, at: Setting, target: Shape, strides: Shape | None = None) -> Reasons:
    """Resolve `target` as reshape does, and return it if a view of the tensor can have it.

    `strides` are those of the input in elements; left out, the input is contiguous, and every target of its volume has
    a view. In a chain they are those of the stages before. Source: Tensor.view. Raises `ShapeError`: bad-strides,
    needs-size, stride-incompatible, and what `reshape` raises.
    """
    yield Stage(Kind.VIEW, "view", "target", shape, target)
    if strides is not None:
        _check_strides(shape, strides)
    settled: Shape = ()
    for event in reshape(shape, at, target):  # its steps, in the stage of the view
        if isinstance(event, Step):
            yield event
        elif isinstance(event, Reshape):
            settled = event.shape
    after = _strides(shape, strides, settled)
    yield Step(VIEW_STRIDES, None, tuple(range(len(shape))), after, (), FrozenDict(strides=strides))
    yield Reshape(settled)
    return settled


def _strides(shape: Shape, strides: Shape | None, target: Shape) -> Shape:
    """Return the strides of the view; raise `ShapeError` if there is none, or if sizes decide whether there is one."""
    if strides is None or 0 in shape:
        return strides if strides and shape == target else contiguous_strides(target)
    if all_known((*shape, *strides, *target)):
        made = view_strides(numbers(shape), numbers(strides), numbers(target))
        if isinstance(made, Clash):
            raise refusal(STRIDE_INCOMPATIBLE, _said(made, shape, strides), argument="strides", index=made.outer)
        return made
    found = view_after(shape, strides, Reshape(target), Known((*shape, *target)))
    if found is None:
        message = f"with strides {shape_text(strides)} a view is not certain for every size"
        raise refusal(NEEDS_SIZE, message, argument="strides")
    return found


def _check_strides(shape: Shape, strides: Shape) -> None:
    """Raise `ShapeError` (bad-strides) unless there is a stride for each dim, none of them negative."""
    if len(strides) != len(shape):
        given = "1 stride is given" if len(strides) == 1 else f"{len(strides)} strides are given"
        dims = rank_text(len(shape))
        raise refusal(BAD_STRIDES, f"{given}, and the input has {dims}", argument="strides")
    for index, stride in enumerate(strides):
        if isinstance(stride, int) and stride < 0:
            raise refusal(BAD_STRIDES, f"{stride} is a negative stride", argument="strides", index=index)


def view_strides(shape: Axes, strides: Axes, target: Axes) -> tuple[int, ...] | Clash:
    """Return the strides with which `target` reads the memory of a tensor, or the dims that forbid it.

    The counts agree, and are not 0. Source: at::detail::computeStride.

    >>> view_strides((3, 4), (1, 3), (3, 2, 2)), view_strides((3, 4), (1, 3), (12,))
    ((1, 6, 3), Clash(outer=0, inner=1, needed=12))
    """
    found = list[int]()
    waiting = list(target)
    for chunk in reversed(_chunks(shape, strides)):
        size, base = 1, strides[chunk[-1]]
        for axis in chunk:
            size *= shape[axis]
        taken = 1
        while waiting and (taken < size or waiting[-1] == 1):
            found.append(taken * base)
            taken *= waiting.pop()
        if taken != size:
            inner = next(axis for axis in chunk if shape[axis] != 1)
            return Clash(chunk[0] - 1, inner, size * base)
    found += [1] * len(waiting)
    return tuple(reversed(found))


def _chunks(shape: Axes, strides: Axes) -> list[list[int]]:
    """Return the axes in runs that lie in memory as one: of each but the last, the stride is that of what follows it.

    A dim of 1 joins what follows it, whatever its stride.
    """
    chunks = list[list[int]]()
    size = base = 0
    for axis in reversed(range(len(shape))):
        if chunks and (shape[axis] == 1 or strides[axis] == size * base):
            chunks[0].insert(0, axis)
            size *= shape[axis]
        else:
            chunks.insert(0, [axis])
            size, base = shape[axis], strides[axis]
    return chunks


def _said(clash: Clash, shape: Shape, strides: Shape) -> str:
    """Return what forbids a view: the two dims, their strides, and the one that is needed."""
    outer, inner = clash.outer, clash.inner
    texts = [brief(str(number)) for number in (strides[outer], clash.needed, shape[inner], strides[inner])]
    return (
        f"a dim would span dims {outer} and {inner}, and dim {outer} has stride {texts[0]} where {texts[1]} is needed "
        f"(dim {inner} is {texts[2]} of stride {texts[3]})"
    )


VIEW = Op(
    name="view",
    summary="Read the same memory as another shape, without a copy.",
    params=(
        Param("target", Holds.TARGET, "the shape asked for, with at most one -1", positional=True, required=True),
        Param(
            "strides",
            Holds.AXES,
            "the input's strides in elements; by default those of a contiguous tensor, or those that the chain gave it",
        ),
    ),
    steps=view,
    operators={"torch": Operator("view")},
    examples=("view 2,3,4 6,-1", "view 3,4 3,2,2 --strides 1,3 --explain", "view N,C,H,W N,-1"),
    vectors=vectors(
        "target strides",
        ("2,3,4", "6,-1", "6,4 12,4,1", "5,-1", "2,5"),
        ("3,4", "12 1,3", "3,2,2 1,3", "12 5,1", "12 0,0", "12 4", "12 4,-1"),
        ("3,1,4", "12 4,9,1"),
        ("0,4", "2,0 1,3"),
        ("[]", "1,1 []"),
        ("N,C,H,W", "N,-1"),
        ("N,4", "-1 4,1"),
    ),
    default_dialect="torch",
    rules=(VIEW_STRIDES, STRIDE_INCOMPATIBLE, BAD_STRIDES),
    changes=dict.fromkeys((STRIDE_INCOMPATIBLE, BAD_STRIDES), lambda *_: iter([("strides", None)])),
)


# Strides as axes move and are cut anew. What has none is a copy, and lies in memory in C order.


def view_after(shape: Shape, strides: Shape, move: Move, known: Known) -> Shape | None:
    """Return the strides of the view that a move makes of a tensor; None if there is no view for all sizes.

    >>> from shapecalc.core.moves import Permute
    >>> view_after((3, 4), (1, 3), Permute((1, 0)), Known())
    (3, 1)
    """
    if isinstance(move, (Roll, Take, Dims)):
        return None
    left_out = 1 if isinstance(move, Reshape) else None  # elsewhere a dim of 1 keeps its stride
    pairs = zip(shape, strides, strict=True)
    view = View(tuple([() if dim == left_out else (Atom(dim, stride),) for dim, stride in pairs]))
    made = [merge(atoms) for atoms in view.after(move, shape, known).axes]
    if any(len(atoms) > 1 or atoms[0].base for atoms in made if atoms):
        return None
    return tuple([atoms[0].stride if atoms else 1 for atoms in made])


# After the stages of a PyTorch chain: what `view` asks, and nothing else does.


COPYING = ("tile", "take", "flip", "roll", "depth_to_space", "space_to_depth")
"""The ops whose output PyTorch writes anew. All others read the same memory if they can."""


def with_strides(request: Request, before: Sequence[Trace]) -> Request:
    """Return a request for a view with the strides that its input has after other stages, unless it names its own."""
    strides = request.arguments.get("strides") or strides_after(before)
    return request if strides is None else replace(request, arguments={**request.arguments, "strides": strides})


def strides_after(traces: Iterable[Trace]) -> Shape | None:
    """Return the strides of a tensor after some stages; None if it is contiguous.

    It begins contiguous, or with the strides that the first stage names. Source: PyTorch's notes on tensor views.
    """
    strides: Shape | None = None
    for trace in traces:
        strides = trace.request.arguments.get("strides") or strides
        if trace.request.dialect != "torch" or trace.op in COPYING or trace.output is None:
            strides = None
            continue
        known = Known(trace.request.dims)
        for stage in trace.stages:
            if stage.move is None or 0 in stage.before:
                return None
            if strides is not None or not isinstance(stage.move, Reshape):
                strides = view_after(stage.before, strides or contiguous_strides(stage.before), stage.move, known)
            if strides and _reads_in_order(stage.move.after(stage.before), strides):
                strides = None
    return strides


def _reads_in_order(shape: Shape, strides: Shape) -> bool:
    """Say whether these strides are those of a contiguous tensor, wherever a dim is not 1."""
    found = zip(shape, strides, contiguous_strides(shape), strict=True)
    return all(dim == 1 or stride == expected for dim, stride, expected in found)
