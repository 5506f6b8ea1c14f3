"""An answer as a row of actions: one transpose, reshape, squeeze ... after another, whatever op asked for them."""

from __future__ import annotations

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text
from shapecalc.core.trace import Chain, Step, Trace
from shapecalc.core.wording import brief

PARTS_OF_SHUFFLE = {"first": "transpose", "to": "reshape", "second": "transpose"}


class Action(Record):
    """One move, with the steps that led to it."""

    kind: str
    """What is done: an op's name, never `shuffle`."""
    trace: Trace
    shape: Shape
    """The shape before."""
    output: Shape
    steps: tuple[Step, ...]

    def settled(self, *rules: str) -> tuple[Step, ...]:
        """Return the steps of these rules."""
        return tuple(step for step in self.steps if step.rule in rules)

    @property
    def last(self) -> Step:
        """The step that holds the move."""
        return self.steps[-1]


class Entry(Record):
    """One dim of a shape to write: a size, or where a program may take it from."""

    value: Dim
    axes: tuple[int, ...] | None = None
    """The axes whose product it is, where it follows the tensor; None where the size itself is meant."""
    inferred: bool = False
    """Whether it may be written as -1."""


def actions(answer: Trace | Chain) -> tuple[Action, ...]:
    """Return the actions of an answer, in order.

    >>> import shapecalc as sc
    >>> [action.kind for action in actions(sc.shuffle((2, 3), first=(1, 0), to=(6,)))]
    ['transpose', 'reshape']
    """
    found = []
    for trace in answer.stages:
        shape, steps = trace.input, list[Step]()
        for step in trace.steps:
            if step.rule != "written-fraction":
                steps.append(step)
            if step.move:
                kind = PARTS_OF_SHUFFLE.get(step.stage, step.stage)
                found.append(Action(kind, trace, shape, step.value, tuple(steps)))
                shape, steps = step.value, []
    return tuple(found)


def entries(action: Action) -> tuple[Entry, ...]:
    """Return the dims that a reshape, flatten, squeeze, unsqueeze or expand asks for, one by one."""
    return ENTRIES[action.kind](action)


def _requested(action: Action) -> tuple[Entry, ...]:
    """Return the dims of a reshape: copied, inferred or given."""
    found = {}
    for step in action.steps:
        if step.out is not None:
            copied = (step.out,) if step.rule == "copy-zero" else None
            found[step.out] = Entry(step.value, copied, step.rule == "infer")
    return tuple(found[out] for out in range(len(action.output)))


def _merged(action: Action) -> tuple[Entry, ...]:
    """Return the dims of a flatten; the first that merges is inferred, where the others hold something."""
    found, free = [], True
    for step in action.settled("merge"):
        inferred = free and len(step.sources) > 1 and _holds_something(action, without=step.out)
        free = free and not inferred
        found.append(Entry(step.value, step.sources, inferred))
    return tuple(found)


def _holds_something(action: Action, *, without: int | None) -> bool:
    return all(dim != 0 for out, dim in enumerate(action.output) if out != without)


def _left(action: Action) -> tuple[Entry, ...]:
    """Return the dims that a squeeze leaves."""
    gone = dropped(action)
    return tuple(Entry(dim, (axis,)) for axis, dim in enumerate(action.shape) if axis not in gone)


def _inserted(action: Action) -> tuple[Entry, ...]:
    """Return the dims of an unsqueeze: those that were there, and ones."""
    return tuple(Entry(step.value, step.sources or None) for step in action.settled("insert-one", "keep-dim"))


def _stretched(action: Action) -> tuple[Entry, ...]:
    """Return the dims of an expand: the sizes asked for, or those that are kept."""
    wanted = action.trace.request.arguments["target"]
    wanted = (1,) * (len(action.output) - len(wanted)) + wanted
    steps = action.settled("stretch", "new-dim", "keep-dim")
    return tuple(
        Entry(step.value, None if step.value == dim else step.sources) for step, dim in zip(steps, wanted, strict=True)
    )


ENTRIES = {
    "reshape": _requested,
    "flatten": _merged,
    "squeeze": _left,
    "unsqueeze": _inserted,
    "expand": _stretched,
}


def dropped(action: Action) -> tuple[int, ...]:
    """Return the axes that a squeeze drops."""
    return tuple(step.sources[0] for step in action.settled("drop-one"))


def inserted(action: Action) -> tuple[int, ...]:
    """Return where an unsqueeze puts its dims of 1."""
    return tuple(step.out for step in action.settled("insert-one") if step.out is not None)


def drops_every_one(action: Action) -> bool:
    """Say whether a squeeze names no axes, and so takes every dim of 1 there is."""
    return len(action.settled("drop-one", "keep-dim")) == len(action.shape) and not action.trace.request.arguments.get(
        "axes"
    )


def title(answer: Trace | Chain) -> str:
    """Return the line that says what goes in and what comes out."""
    return f"# x: {brief(shape_text(answer.input))} -> y: {brief(shape_text(answer.output or ()))}"


def general_warnings(answer: Trace | Chain, target: str) -> list[str]:
    """Return what is to be known whatever the code is: when it holds, and whose rules it leaves behind."""
    found = [f"holds when {condition.words}" for condition in answer.conditions]
    dialects = list(dict.fromkeys(stage.dialect for stage in answer.stages))
    if len(dialects) > 1:
        found.append(f"the stages follow {' and '.join(dialects)}, and the code {target} alone")
    return found


def written_out(answer: Trace | Chain, target: str) -> list[str]:
    """Return the warnings about dims that the request infers where the target's own -1 is refused."""
    empty = [step for action in actions(answer) for step in action.settled("infer-empty")]
    why = f"{target} infers nothing where the known dims hold nothing"
    return [f"-1 is written as {step.value}: {why}" for step in empty]
