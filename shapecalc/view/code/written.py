"""What code writers share: the dims that a stage asks for, one by one, and the warnings about the code."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers import Chain, Kind, Stage, Step, Trace
from shapecalc.core.conditions import Never, differ
from shapecalc.core.dims import Dim
from shapecalc.core.record import Record
from shapecalc.core.rules import CopiedZero, DroppedOne, Inferred, InferredEmpty, InsertedOne, KeptDim, Merged
from shapecalc.core.text import brief, shape_text
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Facts
    from shapecalc.core.dims import Shape


class WrittenDim(Record):
    """One dim of a shape to write: a size, or the axes of the tensor that it is read from."""

    value: Dim
    axes: tuple[int, ...] | None = None
    """The axes whose product it is, if it is read from the tensor; None if the size itself is written."""
    inferred: bool = False
    """Whether it may be written as -1."""


def stages_of(answer: Trace | Chain) -> list[tuple[Trace, Stage]]:
    """Return every stage of an answer with the trace that it belongs to."""
    return [(trace, stage) for trace in answer.traces for stage in trace.stages]


def shape_after(stage: Stage) -> Shape:
    """Return the shape after a stage of an answer that was not refused."""
    return stage.after or ()


def shapes_of(answer: Trace | Chain) -> list[Shape]:
    """Return the shape of `x`, and the shape after every stage."""
    return [answer.input, *map(shape_after, answer.stages)]


def written_dims(stage: Stage) -> tuple[WrittenDim, ...]:
    """Return the dims that a stage asks for, one by one.

    Raises `TypeError` for a stage that asks for no dims: one that moves axes, keeps some positions or returns the dims.
    """
    match stage.kind:
        case Kind.RESHAPE | Kind.VIEW:
            return _reshape_dims(stage)
        case Kind.MERGE:
            return _flatten_dims(stage)
        case Kind.SQUEEZE:
            gone = {*dropped_axes(stage)}
            return tuple(WrittenDim(dim, (axis,)) for axis, dim in enumerate(stage.before) if axis not in gone)
        case Kind.UNSQUEEZE:
            return tuple(WrittenDim(step.dim, step.sources or None) for step in _steps_of(stage, InsertedOne, KeptDim))
        case Kind.EXPAND:
            return _expand_dims(stage)
        case Kind.PERMUTE | Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL | Kind.SHAPE:
            raise TypeError(f"{stage.label} asks for no dims")
        case _:
            assert_never(stage.kind)


def _steps_of(stage: Stage, *facts: type[Facts]) -> list[Step]:
    """Return the steps of a stage whose facts are of these types."""
    return [step for step in stage.steps if isinstance(step.facts, facts)]


def _reshape_dims(stage: Stage) -> tuple[WrittenDim, ...]:
    """Return the dims of a reshape. Each is copied, kept, inferred or given."""
    settling = {step.out: step for step in stage.steps if step.out is not None}
    holes = [out for out, step in settling.items() if _may_be_inferred(stage, step)]
    dims = {}
    for out, step in settling.items():
        axes = step.sources if isinstance(step.facts, (CopiedZero, KeptDim)) else None
        dims[out] = WrittenDim(step.dim, axes, out in holes[:1])
    return tuple(dims.get(out) or WrittenDim(dim) for out, dim in enumerate(shape_after(stage)))


def _may_be_inferred(stage: Stage, step: Step) -> bool:
    """Say whether a dim may be written as -1: it was asked for so, and the other dims hold something."""
    if isinstance(step.facts, InferredEmpty) or step.out is None:
        return False
    if not isinstance(step.facts, Inferred) and stage.asked[step.out] != -1:
        return False
    after = shape_after(stage)
    return 0 not in after[: step.out] + after[step.out + 1 :]


def _flatten_dims(stage: Stage) -> tuple[WrittenDim, ...]:
    """Return the dims of a flatten. The first that merges axes is inferred, if no other dim is 0."""
    dims, free = [], True
    for step in _steps_of(stage, Merged):
        others = [dim for out, dim in enumerate(shape_after(stage)) if out != step.out]
        inferred = free and len(step.sources) > 1 and 0 not in others
        free = free and not inferred
        dims.append(WrittenDim(step.dim, step.sources, inferred))
    return tuple(dims)


def _expand_dims(stage: Stage) -> tuple[WrittenDim, ...]:
    """Return the dims of an expand. Each is a size that was asked for, or one that is kept."""
    steps = [step for step in stage.steps if step.out is not None]
    wanted = (1,) * (len(steps) - len(stage.asked)) + stage.asked
    return tuple(
        WrittenDim(step.dim, None if step.value == dim else step.sources)
        for step, dim in zip(steps, wanted, strict=True)
    )


def inserted_axes(stage: Stage) -> tuple[int, ...]:
    """Return the axes at which an unsqueeze puts its dims of 1."""
    return tuple(step.out for step in _steps_of(stage, InsertedOne) if step.out is not None)


def drops_every_one(stage: Stage) -> bool:
    """Say whether a squeeze names no axes, and takes every dim of 1 there is."""
    kept = _steps_of(stage, KeptDim)
    every = len(kept) + len(_steps_of(stage, DroppedOne)) == len(stage.before) and not stage.asked
    return every and not any(map(_may_be_one, kept))


def _may_be_one(step: Step) -> bool:
    """Say whether a dim that stays can be 1 under the conditions of its step."""
    try:
        return not {*differ(step.dim, 1)} <= {*step.conditions}
    except Never:
        return True


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
    return [f"-1 is written as {step.value}: {why}" for step in answer.steps if isinstance(step.facts, InferredEmpty)]
