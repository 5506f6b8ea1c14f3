"""An answer as columns of dims: what each stage makes of each axis, and which step settles it.

This is what all pictures are drawn from. A stage that was refused has the dims it got to, and the problem;
one whose conditions no sizes meet has all its dims, and the problem.
"""

from __future__ import annotations

from shapecalc.core.axes import Group, groups
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.operations import OPS
from shapecalc.core.problem import Problem
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text
from shapecalc.core.trace import Chain, Move, Step, Trace
from shapecalc.view.marks import Atom, Mark, input_marks, recut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEFORE_ALL = -1
"""What settles the dims of the input: they are there before the first step."""
NEW = "+"
"""The mark of a dim that was not there before."""
CUTTING = ("reshape", "to", "flatten")
"""The stages that cut the elements anew."""
TOKENS = {"copy-zero": "0", "infer": "-1", "infer-empty": "-1", "insert-one": "new", "new-dim": "new"}
"""What stands on the line into a dim, by the rule that settles it."""

MADE = ("insert-one", "new-dim", "merge")
"""The rules that make a dim of no axis."""
INFERS = ("infer", "infer-empty")


class Cell(Record):
    """One dim of one column."""

    dim: Dim | None
    """None where the request was refused before it was settled."""
    step: int
    """The step of the answer that settles it; past the last where none does."""
    mark: Mark = ()
    token: str = ""
    """What was asked for in its place, where that is not the dim itself."""


class Stage(Record):
    """One stage: the steps that make it, the dims it ends in, and where they come from."""

    name: str
    title: str
    """The stage as it is asked for: `to 0,-1`."""
    numbers: range
    """The places of its steps among those of the answer."""
    before: tuple[Cell, ...]
    cells: tuple[Cell, ...]
    links: tuple[Group, ...]
    """Which dims of `before` became which of `cells`."""
    mixed: frozenset[int]
    """The links whose new cuts fall across old ones."""
    move: Move | None
    problem: Problem | None = None
    target: Shape = ()
    """The shape or permutation asked for, as it was written."""


def stages(answer: Trace | Chain) -> tuple[Stage, ...]:
    """Return the stages of an answer in order, the last perhaps unfinished.

    >>> import shapecalc as sc
    >>> [(stage.title, [str(cell.dim) for cell in stage.cells]) for stage in stages(sc.reshape((2, 3, 4), (0, -1)))]
    [('reshape 0,-1', ['2', '12'])]
    """
    found: list[Stage] = []
    cells, first, never = input_cells(answer), 0, len(answer.steps)
    for trace in answer.stages:
        for name, asked in _parts(trace):
            own = [(first + place, step) for place, step in enumerate(trace.steps) if step.stage == name]
            stage = _stage(trace, name, asked, own, cells, never)
            found.append(stage)
            if stage.move is None:
                return tuple(found)
            cells = stage.cells
        first += len(trace.steps)
    return tuple(found)


def input_cells(answer: Trace | Chain) -> tuple[Cell, ...]:
    """Return the column of the input."""
    marks = input_marks(answer.input)
    return tuple(Cell(dim, BEFORE_ALL, mark) for dim, mark in zip(answer.input, marks, strict=True))


def place_of(found: Sequence[Stage], at: int | None) -> int:
    """Return the stage that step `at` belongs to; the last one where all is settled."""
    for place, stage in enumerate(found):
        if at is not None and at < stage.numbers.stop:
            return place
    return len(found) - 1


def _parts(trace: Trace) -> list[tuple[str, str]]:
    """Return the stages of one op, each with what is asked of it."""
    arguments = trace.request.arguments
    if trace.op != "shuffle":
        return [(trace.op, _asked(trace.op, arguments))]
    parts = [(name, shape_text(arguments[name])) for name in ("first", "to", "second") if name in arguments]
    at_fault = [part for part in parts if trace.problem and part[0] == trace.problem.argument]
    if trace.problem and not parts:
        return [(trace.op, "")]
    return at_fault if at_fault and not trace.steps else parts


def _argument(op: str, name: str) -> str:
    """Return the argument that says what a stage ends in: a shape or a permutation."""
    return name if op == "shuffle" else "perm" if op == "transpose" else "target"


def _asked(op: str, arguments: Mapping[str, object]) -> str:
    """Return an op's arguments as it takes them, by name where they are not told apart by their place."""
    texts = []
    for param in OPS[op].params:
        if param.name in arguments:
            value = arguments[param.name]
            text = shape_text(value) if isinstance(value, tuple) else str(value)
            texts.append(text if param.positional or len(OPS[op].params) == 1 else f"{param.name} {text}")
    return " ".join(texts)


def _stage(
    trace: Trace, name: str, asked: str, own: list[tuple[int, Step]], before: tuple[Cell, ...], never: int
) -> Stage:
    finished = bool(own) and own[-1][1].move is not None
    target = trace.request.arguments.get(_argument(trace.op, name), ())
    blank = _finished_cells(own, len(before)) if finished else _unfinished_cells(own, target, never)
    links = _links(own, [cell.dim for cell in before], finished=finished)
    cells, mixed = _marked(before, blank, links)
    start = own[0][0] if own else never
    numbers = range(start, own[-1][0] + 1 if own else never)
    move = own[-1][1].move if own else None
    problem = None if finished and own[-1][1] is not trace.steps[-1] else trace.problem
    return Stage(name, f"{name} {asked}".rstrip(), numbers, before, cells, links, mixed, move, problem, target)


def _finished_cells(own: list[tuple[int, Step]], rank: int) -> list[Cell]:
    """Return the dims that a stage ends in, each with the step that settles it."""
    last, final = own[-1]
    settled = {step.out: Cell(step.value, number, (), _token(step)) for number, step in own if step.out is not None}
    if final.stage == "squeeze":
        keeps = {step.sources[0]: number for number, step in own if step.rule == "keep-dim"}
        kept = [axis for axis in range(rank) if axis not in _dropped(own)]
        settled = {out: Cell(final.value[out], keeps.get(axis, last)) for out, axis in enumerate(kept)}
    return [settled[out] for out in range(len(final.value))]


def _unfinished_cells(own: list[tuple[int, Step]], target: Sequence[Dim], never: int) -> list[Cell]:
    """Return the dims that a refused stage got to, and what was asked for in the place of the others."""
    settled = {step.out: Cell(step.value, number, (), _token(step)) for number, step in own if step.out is not None}
    rank = max([len(target), *(out + 1 for out in settled)])
    return [
        settled.get(out) or Cell(None, never, (), str(target[out]) if out < len(target) else "") for out in range(rank)
    ]


def _token(step: Step) -> str:
    if step.rule == "stretch" and step.value != step.facts[0]:
        return f"x{step.value}" if step.facts[0] == 1 else ""
    return TOKENS.get(step.rule, "")


def _dropped(own: list[tuple[int, Step]]) -> set[int]:
    return {step.sources[0] for _, step in own if step.rule == "drop-one"}


def _links(own: list[tuple[int, Step]], before: Sequence[Dim | None], *, finished: bool) -> tuple[Group, ...]:
    """Return which axes became which: by the cuts for a reshape, else as the steps say."""
    if finished and own[-1][1].rule == "regroup" and own[-1][1].stage in ("reshape", "to"):
        return groups(*own[-1][1].facts)
    if own and own[0][1].stage == "squeeze":
        gone = _dropped(own)
        kept = [axis for axis in range(len(before)) if axis not in gone] if finished else []
        return tuple(
            Group((axis,), (kept.index(axis),) if axis in kept else ())
            for axis in range(len(before))
            if axis in gone or finished
        )
    links = [
        Group(step.sources, (step.out,))
        for _, step in own
        if step.out is not None and (step.sources or step.rule in MADE) and step.rule not in INFERS
    ]
    used = {axis for link in links for axis in link.sources}
    idle = [Group((axis,), ()) for axis in range(len(before)) if axis not in used] if finished else []
    return (*links, *idle)


def _marked(
    before: tuple[Cell, ...], blank: list[Cell], links: tuple[Group, ...]
) -> tuple[tuple[Cell, ...], frozenset[int]]:
    """Return the dims with their marks, and the links that mix axes."""
    cells, mixed, cuts = list(blank), set[int](), 0
    for place, link in enumerate(links):
        dims = [blank[out].dim for out in link.outs]
        marks, mixes = _carried([before[axis] for axis in link.sources], dims, cuts)
        if mixes:
            mixed.add(place)
            cuts += len(dims)
        for out, mark in zip(link.outs, marks, strict=True):
            cells[out] = cells[out]._replace(mark=mark)
    return tuple(cells), frozenset(mixed)


def _carried(sources: list[Cell], dims: list[Dim | None], cuts: int) -> tuple[list[Mark], bool]:
    """Return the marks that the dims of a link have from their sources, and whether axes mix."""
    if not sources:
        return [(Atom(NEW, None, 1 if dim is None else dim),) for dim in dims], False
    if len(sources) == 1 and len(dims) == 1:
        (dim,), mark = dims, sources[0].mark
        grown = len(mark) == 1 and dim is not None
        return [(mark[0]._replace(size=dim),) if grown and dim is not None else mark], False
    made = recut([cell.mark for cell in sources], [1 if dim is None else dim for dim in dims], cuts)
    return list(made.marks), made.mixed
