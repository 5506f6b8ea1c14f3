"""How a tensor lies in memory after the stages of a PyTorch chain: what `view` asks, and nothing else does."""

from __future__ import annotations

from shapecalc.core.answers.moves import Reshape
from shapecalc.core.answers.strides import contiguous_strides, view_after
from shapecalc.core.sizes.known import Known
from shapecalc.core.sizes.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shapecalc.core.answers.request import Request
    from shapecalc.core.answers.trace import Trace
    from shapecalc.core.sizes.dims import Shape

COPYING = ("tile", "flip", "roll", "depth_to_space", "space_to_depth")
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
