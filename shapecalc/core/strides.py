"""Strides: how far apart the elements of each axis lie in memory, as axes move and are cut anew.

A view reads the same memory with other strides. What has no strides is a copy, and lies in memory in C order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapecalc.core.answers import Request, Trace
from shapecalc.core.conditions import Known
from shapecalc.core.dims import Shape, product
from shapecalc.core.layout import Atom, contiguous_strides, merge, regroup
from shapecalc.core.moves import Dims, Expand, Move, Permute, Pick, Reshape, Roll, Take
from shapecalc.core.record import replace


def view_after(shape: Shape, strides: Shape, move: Move, known: Known) -> Shape | None:
    """Return the strides of the view that a move makes of a tensor; None if there is no view for all sizes.

    >>> view_after((3, 4), (1, 3), Permute((1, 0)), Known())
    (3, 1)
    """
    if isinstance(move, Permute):
        return tuple([strides[axis] for axis in move.axes])
    if isinstance(move, Expand):
        new = len(move.shape) - len(shape)
        return (0,) * new + tuple(
            [0 if dim == 1 != to else stride for dim, to, stride in zip(shape, move.shape[new:], strides, strict=True)]
        )
    if isinstance(move, Pick):
        kept = zip(strides, move.axes, strict=True)
        return tuple([product((stride, step)) for stride, (_, step, size) in kept if size is not None])
    if isinstance(move, (Roll, Take, Dims)):
        return None
    axes = tuple([() if dim == 1 else (Atom(dim, stride),) for dim, stride in zip(shape, strides, strict=True)])
    made = [merge(atoms) for atoms in regroup(axes, move.shape, known)]
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
