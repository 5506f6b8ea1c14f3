"""Stages in a row that one node can do: transposes that follow each other, and reshapes that do."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Stage
from shapecalc.core.moves import Dims, Permute, Pick, Reshape, Roll
from shapecalc.core.record import Record
from shapecalc.view.code.slices import cut_axes
from shapecalc.view.code.written import WrittenDim, shape_after, stages_of, written_dims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace

    Dims = tuple[WrittenDim, ...]


class Part(Record):
    """One or several stages that a single node does, as one stage, and the dims that it asks for."""

    trace: Trace
    stage: Stage
    dims: tuple[WrittenDim, ...] = ()


CUTS = (Kind.RESHAPE, Kind.VIEW, Kind.MERGE, Kind.SQUEEZE, Kind.UNSQUEEZE)
"""The kinds of stage that keep the elements in order."""


def parts_of(answer: Trace | Chain) -> list[Part]:
    """Return the parts of an answer; what changes nothing is left out.

    >>> import shapecalc as sc
    >>> [part.stage.label for part in parts_of(sc.chain((2, 3, 4), "transpose 1,2,0", "transpose 2,0,1", "flatten"))]
    ['flatten']
    """
    parts = list[Part]()
    for trace, stage in stages_of(answer):
        part = Part(trace, stage, written_dims(stage) if stage.kind in (*CUTS, Kind.EXPAND) else ())
        folded = _folded(parts[-1], part) if parts else None
        if folded:
            parts.pop()
        if not _changes_nothing((folded or part).stage):
            parts.append(folded or part)
    return parts


def _changes_nothing(stage: Stage) -> bool:
    if isinstance(stage.move, Permute):
        return stage.move.axes == tuple(range(len(stage.before)))
    if isinstance(stage.move, Pick):
        return stage.before == stage.after and not cut_axes(stage)
    return not isinstance(stage.move, (Roll, Dims)) and stage.before == stage.after


def _folded(first: Part, second: Part) -> Part | None:
    """Return two parts as one; None if they are not of one kind, or if a dim is 0, which -1 cannot stand beside."""
    one, two = first.stage, second.stage
    if isinstance(one.move, Permute) and isinstance(two.move, Permute):
        move = Permute(tuple(one.move.axes[axis] for axis in two.move.axes))
        return Part(first.trace, _stage_of(Kind.PERMUTE, one, two, move))
    if one.kind not in CUTS or two.kind not in CUTS or 0 in one.before:
        return None
    move_both = Reshape(shape_after(two))
    return Part(first.trace, _stage_of(Kind.RESHAPE, one, two, move_both), _folded_dims(first.dims, second.dims))


def _stage_of(kind: Kind, one: Stage, two: Stage, move: Permute | Reshape) -> Stage:
    return Stage(kind, one.label, one.argument, one.before, (), (), two.after, move)


def _folded_dims(first: Dims, second: Dims) -> Dims:
    """Return the dims of two reshapes as those of one. Only the first that is inferred stays so."""
    dims = list[WrittenDim]()
    for dim in second:
        found = _read_through(dim, first)
        inferred = found.inferred and not any(each.inferred for each in dims)
        dims.append(WrittenDim(found.value, found.axes, inferred))
    return tuple(dims)


def _read_through(dim: WrittenDim, first: Dims) -> WrittenDim:
    """Return a dim of the second reshape as the tensor before the first has it."""
    if dim.axes is None or dim.inferred:
        return WrittenDim(dim.value, None, dim.inferred)
    if len(dim.axes) == 1:
        return first[dim.axes[0]]
    return WrittenDim(dim.value)
