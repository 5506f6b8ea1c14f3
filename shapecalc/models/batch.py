"""The batch followed through one node, at one size."""

from __future__ import annotations

from functools import partial
from itertools import accumulate, pairwise

from shapecalc.models.marks import LONGEST_AXIS, Apart, Lost, mark_of, positions, regrouped, together
from shapecalc.models.model import UNFIT
from shapecalc.models.routes import ROUTES, TAKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    import numpy as np

    from shapecalc.models.marks import Mark, Sizes
    from shapecalc.models.seen import Seen

    Mover = Callable[[Seen, int], Mark]

MOVING = frozenset({"reshape", "transpose", "flatten", "squeeze", "unsqueeze"})
"""The ops of core that move all elements of one input and make no others."""


def mark_moved(
    op: str, arguments: Mapping[str, Any], mark: Mark, before: Sizes | None, after: Sizes | None, batch: int
) -> Mark:
    """Return the mark of the output of a node that moves all elements of one input, `op` and `arguments` as in core."""
    if not isinstance(mark, Apart):
        return mark
    if before is None or after is None:
        return Lost("no shape")
    if op != "transpose":
        return regrouped(mark, before, after, batch)
    perm = arguments.get("perm")
    return Apart(perm.index(mark.axis) if perm is not None else len(before) - 1 - mark.axis, mark.inner)


def mark_after(seen: Seen, to: int = 0) -> Mark:
    """Return the mark of an output of a node."""
    taken = None if seen.domain else TAKEN.get(seen.op)
    reached = [mark for mark in seen.marks[:taken] if mark]
    if not reached:
        return None
    for mark in reached:
        if isinstance(mark, Lost):
            return mark
    if seen.outputs[to] is None or any(mark and seen.inputs[at] is None for at, mark in enumerate(seen.marks)):
        return Lost("no shape")
    mover = None if seen.domain else MOVERS.get(seen.op)
    try:
        return mover(seen, to) if mover else _routed(seen, to)
    except UNFIT:
        return Lost(f"{seen.op} is not written as ONNX describes it")


def _routed(seen: Seen, to: int) -> Mark:
    """Return the mark of an output whose elements are made of those at one place along the marked axes."""
    route = ROUTES[seen.domain].get(seen.op) if seen.domain in ROUTES else None
    if route is None:
        return Lost(f"the batch is not followed through {seen.op}")
    found: list[Mark] = []
    for at, mark in enumerate(seen.marks[: TAKEN.get(seen.op)]):
        if isinstance(mark, Apart):
            axis = route(seen, at, mark.axis, to)
            if axis is None or not _same_size(seen.inputs[at], mark.axis, seen.outputs[to], axis):
                return Lost(f"{seen.op} may read several samples at once")
            found.append(mark if axis == mark.axis else Apart(axis, mark.inner))
    return together(found)


def _same_size(before: Sizes | None, axis: int, after: Sizes | None, to: int) -> bool:
    return before is not None and after is not None and 0 <= to < len(after) and before[axis] == after[to]


def _reshaped(seen: Seen, to: int) -> Mark:
    mark, before, after = seen.marks[0], seen.inputs[0], seen.outputs[to]
    if any(seen.marks[1:]) or not isinstance(mark, Apart) or before is None or after is None:
        return Lost(f"the elements decide what {seen.op} does")
    return regrouped(mark, before, after, seen.batch)


def _repeated(seen: Seen, _to: int) -> Mark:
    mark = seen.marks[0]
    if any(seen.marks[1:]) or not isinstance(mark, Apart):
        return Lost(f"the elements decide what {seen.op} does")
    return Apart(mark.axis + seen.rank_out() - seen.rank(0), mark.inner)


def _joined(seen: Seen, _to: int) -> Mark:
    """Return the mark of a Concat: of the places along its axis if they are the samples' own."""
    along = seen.axis(1, seen.rank_out())
    if not any(isinstance(mark, Apart) and mark.axis == along for mark in seen.marks):
        return together(seen.marks)
    if any(isinstance(mark, Apart) and mark.axis != along for mark in seen.marks):
        return Lost("samples that lie on different axes meet")
    import numpy as np

    parts = []
    for shape, mark in zip(seen.inputs, seen.marks, strict=True):
        if shape is None or shape[along] > LONGEST_AXIS:
            return Lost("no shape")
        size = shape[along]
        parts.append(positions(mark, size, seen.batch) if isinstance(mark, Apart) else np.full(size, -1))
    return mark_of(along, np.concatenate(parts), seen.batch)


def _places(seen: Seen, along: int, chosen: Callable[[np.ndarray], np.ndarray | None]) -> Mark:
    """Return the mark after places along an axis are chosen; a mark on another axis stays."""
    mark, shape = seen.marks[0], seen.inputs[0]
    if not isinstance(mark, Apart) or mark.axis != along:
        return mark
    if shape is None or shape[along] > LONGEST_AXIS:
        return Lost("no shape")
    samples = chosen(positions(mark, shape[along], seen.batch))
    if samples is None or not len(samples):
        return Lost(f"nobody can say which samples {seen.op} takes")
    return mark_of(along, samples, seen.batch)


def _parted(seen: Seen, to: int) -> Mark:
    along = seen.axis(0, seen.rank(0))
    sizes = [shape[along] if shape else None for shape in seen.outputs]
    if None in sizes:
        return _places(seen, along, lambda _samples: None)
    start, end = list(pairwise(accumulate(sizes, initial=0)))[to]
    return _places(seen, along, lambda samples: samples[start:end])


def _sliced(seen: Seen, _to: int) -> Mark:
    starts, ends = seen.numbers("starts", 1), seen.numbers("ends", 2)
    mark, rank = seen.marks[0], seen.rank(0)
    if any(seen.marks[1:]) or starts is None or ends is None or not isinstance(mark, Apart):
        return Lost(f"nobody can say which samples {seen.op} takes")
    axes = tuple(range(len(starts))) if _left_out(seen, "axes", 3) else seen.numbers("axes", 3)
    steps = (1,) * len(starts) if _left_out(seen, "steps", 4) else seen.numbers("steps", 4)
    if axes is None or steps is None:
        return Lost(f"nobody can say which samples {seen.op} takes")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis % rank == mark.axis:
            return _places(seen, mark.axis, partial(_cut, start, end, step))
    return mark


def _left_out(seen: Seen, name: str, at: int) -> bool:
    return name not in seen.attributes and seen.lacks(at)


def _cut(start: int, end: int, step: int, samples: np.ndarray) -> np.ndarray:
    """Return a slice with ONNX's bounds, in which an end below 0 may lie in front of all."""
    return samples[slice(start, None if step < 0 and end < -len(samples) else end, step)]


def _gathered(seen: Seen, _to: int) -> Mark:
    along = seen.axis(0, seen.rank(0))
    data, indices = seen.marks[:2]
    if isinstance(indices, Apart):
        return together([Apart(indices.axis + along, indices.inner), *([Lost("samples meet")] if data else [])])
    taken = seen.values[1]
    if isinstance(data, Apart) and data.axis > along:
        shape = seen.inputs[1]
        return Lost("no shape") if shape is None else Apart(data.axis + len(shape) - 1, data.inner)
    return _places(seen, along, lambda samples: samples[taken] if taken is not None and taken.ndim == 1 else None)


MOVERS: dict[str, Mover] = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshaped),
    **dict.fromkeys(("Expand", "Tile"), _repeated),
    "Concat": _joined,
    "Split": _parted,
    "Slice": _sliced,
    "Gather": _gathered,
}
"""What decides the mark of the operators that move elements along the marked axis."""
