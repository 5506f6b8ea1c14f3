"""An answer laid out for pictures: what each stage makes of each axis, and which step settles it.

All pictures are drawn from one `Layout` for each stage. A stage that was refused has the dims that it settled,
and the problem. A stage whose conditions no sizes can meet has all its dims, and the problem.

Each axis of the input has a mark, a letter and a colour, which each dim that the axis becomes keeps. The mark of a dim
is a row of atoms, the outermost first. After axes a and c are merged, the atoms are `a` and `c`. After c is split, they
are `c1` and `c2`. A dim whose cuts fall across axes (4,6 of 6,4) is no axis of the input any more. Such dims are marked
`~x` and `~y`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from shapecalc.core import rules
from shapecalc.core.answers import Chain, Kind, Request, Stage, Step, Trace
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.layout import Group, groups, pieces
from shapecalc.core.problem import Problem
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text
from shapecalc.view.canvas import Strokes, clip
from shapecalc.view.hints import stage_name, stage_title

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MIXED = "xyzuvwpqrst"
"""The letters of dims that mix axes."""
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#B9679A", "#A87700", "#2F86C0")
"""Hues of Okabe and Ito, the light ones darkened. Colour-blind people can tell them apart, on white and on black."""
LONGEST_MARK = 8
CUTTING = (Kind.RESHAPE, Kind.VIEW, Kind.MERGE)
"""The kinds of stages that cut the elements anew."""
INFERS = (rules.INFERRED, rules.INFERRED_EMPTY)
"""The rules of a -1."""
TOKENS = {
    rules.COPIED_ZERO: "0",
    rules.INFERRED: "-1",
    rules.INFERRED_EMPTY: "-1",
    "keep-positions": "{text}",
    "split-axis": "part {part}",
    "roll-axis": "by {shift}",
    "reverse-axis": "back",
}
"""The texts on the lines into dims, by the rule that settles the dim."""


MADE = (rules.INSERTED_ONE, rules.NEW_DIM, rules.MERGED)
"""The rules of a dim that may have no source axis."""


class NamedAtom(Record):
    """An input axis, or a part of one that stayed together."""

    name: str
    axis: int | None
    """The input axis; None for a dim that is cut across axes or was not in the input."""
    size: Dim


Mark = tuple[NamedAtom, ...]
NO_MARK: Mark = (NamedAtom("", None, 1),)
"""The mark of a dim of which nothing is told."""


class Cell(Record):
    """One dim of one column."""

    dim: Dim | None
    """None if the request was refused before the dim was settled."""
    step: int
    """The index of the step that settles it; past the last if none does."""
    mark: Mark = ()
    token: str = ""
    """What was asked for at its place, such as 0 or -1; empty if the dim itself was asked for."""
    hole: str = ""
    """What stands in place of a dim that is hidden."""


class Layout(Record):
    """One stage: the dims before it, the dims after it, and which of them became which."""

    stage: Stage
    name: str
    """What everybody calls the stage: a Shuffle's `to` is a reshape."""
    title: str
    """The stage with its arguments: `reshape 0,-1`."""
    numbers: range
    """The indices of its steps among those of the answer."""
    before: tuple[Cell, ...]
    cells: tuple[Cell, ...]
    links: tuple[Group, ...]
    """Which dims of `before` became which of `cells`."""
    mixed: frozenset[int]
    """The indices of the links whose new cuts fall across old ones."""
    problem: Problem | None
    fault: int | None
    """The index of the dim that was refused; None if it was no single one."""
    cuts: bool
    """Whether the stage cuts the elements anew."""

    @property
    def head(self) -> str:
        """The stage with both shapes: `reshape 2,3,4 to 0,-1`. A shape that is hidden is left out."""
        stage, hides = self.stage, not self.stage.asked and any(cell.hole for cell in self.cells)
        to = "" if hides else f" to {shape_text(stage.asked or stage.after or ())}"
        return f"{self.name} {shape_text(stage.before)}{to}"

    @property
    def is_open(self) -> bool:
        """Whether the stage is only asked for, so far."""
        return self.problem is None and not self.stage.finished

    @property
    def parted(self) -> frozenset[int]:
        """The dims that have the size of the axis at their place, and not that axis's elements alone."""
        if not (self.cuts and self.stage.finished):
            return frozenset()
        others = {out for link in self.links for out in link.outs if not link.sources == link.outs == (out,)}
        copied = {out for out, cell in enumerate(self.cells) if cell.token == "0" and cell.dim not in (0, 1)}
        return frozenset(copied & others)


def letter(axis: int) -> str:
    """Return the letter of an input axis, or its number if there are no letters left.

    >>> letter(0), letter(26), letter(52)
    ('a', 'A', '#52')
    """
    return LETTERS[axis] if axis < len(LETTERS) else f"#{axis}"


def mixed_name(place: int) -> str:
    """Return the name of a dim that mixes axes, by its place among those of a stage: no digit, as its size has some.

    >>> mixed_name(0), mixed_name(1), mixed_name(11)
    ('~x', '~y', '~#11')
    """
    return f"~{MIXED[place]}" if place < len(MIXED) else f"~#{place}"


def input_marks(shape: Shape) -> tuple[Mark, ...]:
    """Return the marks of the input's axes."""
    return tuple((NamedAtom(letter(axis), axis, dim),) for axis, dim in enumerate(shape))


def mark_text(mark: Mark, strokes: Strokes) -> str:
    """Return the text of a mark.

    >>> from shapecalc.view.canvas import ASCII, UNICODE
    >>> a, b, c, d, e = (mark[0] for mark in input_marks((2, 3, 4, 5, 6)))
    >>> mark_text((a, c), ASCII), mark_text((a, b, c, d), ASCII), mark_text((a, c, d, e), ASCII)
    ('ac', 'a-d', 'acde')
    >>> mark_text((c, NamedAtom("b1", 1, 2)), UNICODE)
    'c·b1'
    """
    if len(mark) < 2:
        return clip(mark[0].name, LONGEST_MARK, strokes) if mark else strokes.none
    runs: list[list[NamedAtom]] = []
    for part in mark:
        if runs and _follows(runs[-1][-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    between = strokes.none if len(runs) > 1 and any(len(part.name) > 1 for part in mark) else ""
    texts = ["".join(part.name for part in run) if len(run) <= 3 else f"{run[0].name}-{run[-1].name}" for run in runs]
    return clip(between.join(texts), LONGEST_MARK, strokes)


def _follows(before: NamedAtom, part: NamedAtom) -> bool:
    whole = before.name == letter(before.axis or 0) and part.axis is not None and part.name == letter(part.axis)
    return whole and before.axis is not None and part.axis == before.axis + 1


def colour(mark: Mark) -> str:
    """Return the colour of a mark: that of its outermost part. It is empty if that part is no axis of the input."""
    axis = mark[0].axis if mark else None
    return "" if axis is None else COLOURS[axis % len(COLOURS)]


def recut(sources: Sequence[Mark], dims: Sequence[Dim]) -> tuple[Mark, ...] | None:
    """Return the marks of the dims that a block of axes is cut into; None if the axes mix.

    >>> [[part.name for part in mark] for mark in recut(input_marks((2, 12)), (2, 3, 4))]
    [['a'], ['b1'], ['b2']]
    >>> recut(input_marks((2, 3)), (3, 2)) is None
    True
    """
    parts = [part for mark in sources for part in mark if part.size != 1] or [part for mark in sources for part in mark]
    made = pieces([part.size for part in parts], dims)
    if made is None:
        return None
    of_part = Counter(piece.source for row in made for piece in row)
    counts = Counter[str]()
    marks = list[Mark]()
    for row in made:
        mark = list[NamedAtom]()
        for piece in row:
            part = parts[piece.source]
            if of_part[piece.source] > 1:
                counts[part.name] += 1
                part = NamedAtom(f"{part.name}{counts[part.name]}", part.axis, piece.size)
            mark.append(part)
        marks.append(tuple(mark))
    return tuple(marks) if of_part else (*marks[:-1], tuple(parts))


@lru_cache(maxsize=1)
def layouts(answer: Trace | Chain) -> tuple[Layout, ...]:
    """Return the layouts of an answer's stages, in order. If the request is refused, the last is unfinished.

    >>> import shapecalc as sc
    >>> [(each.title, [str(cell.dim) for cell in each.cells]) for each in layouts(sc.reshape((2, 3, 4), (0, -1)))]
    [('reshape 0,-1', ['2', '12'])]
    """
    made = list[Layout]()
    cells, first, never = input_cells(answer), 0, len(answer.steps)
    for trace in answer.traces:
        first += len(trace.given)
        stages = trace.stages or (_empty_stage(trace.request),) * (trace.problem is not None)
        for place, stage in enumerate(stages):
            problem = trace.problem if place == len(stages) - 1 else None
            made.append(_layout(trace, stage, first, cells, never, problem))
            cells = made[-1].cells
            first += len(stage.steps)
    return tuple(made)


def _empty_stage(request: Request) -> Stage:
    """Return a stage without steps for a request that was refused before its op began."""
    asked = next((value for value in request.arguments.values() if isinstance(value, tuple)), ())
    return Stage(Kind.RESHAPE, request.op, "", request.input, asked)


def input_cells(answer: Trace | Chain) -> tuple[Cell, ...]:
    """Return the column of the input."""
    marks = input_marks(answer.input)
    return tuple(Cell(dim, -1, mark) for dim, mark in zip(answer.input, marks, strict=True))


def place_of(made: Sequence[Layout], at: int | None) -> int:
    """Return the index of the layout that step `at` belongs to; that of the last layout if `at` is None."""
    for place, layout in enumerate(made):
        if at is not None and at < layout.numbers.stop:
            return place
    return len(made) - 1


def _layout(
    trace: Trace, stage: Stage, first: int, before: tuple[Cell, ...], never: int, problem: Problem | None
) -> Layout:
    own = [(first + place, step) for place, step in enumerate(stage.steps)]
    links = _links(stage)
    cells, mixed = _carry_marks(before, _blank_cells(stage, own, never), links)
    numbers = range(first, first + len(own)) if own else range(never, never)
    fault = None if problem is None else _fault(trace.request, stage, cells, problem)
    name, title = stage_name(stage), stage_title(trace.request, stage)
    cuts = stage.kind in CUTTING
    return Layout(stage, name, title, numbers, before, cells, links, mixed, problem, fault, cuts)


def _fault(request: Request, stage: Stage, cells: Sequence[Cell], problem: Problem) -> int | None:
    """Return the index of the dim that a problem is about.

    What is refused may be a dim of the input. Then it is the dim that could not be made of it. An entry of the
    requested shape may stand for other than one dim. Then it is the dim for which that entry is still written.
    """
    if problem.argument != stage.argument:
        made = next((out for out, cell in enumerate(cells) if cell.dim is None), None)
        return made if stage.steps else problem.index
    given = request.arguments.get(stage.argument)
    if problem.index is None or given == stage.asked or not isinstance(given, tuple):
        return problem.index
    refused = str(given[problem.index])
    rows = [out for out, cell in enumerate(cells) if cell.dim is None and cell.token == refused]
    return rows[0] if len(rows) == 1 else None


def _blank_cells(stage: Stage, own: list[tuple[int, Step]], never: int) -> list[Cell]:
    """Return the dims after a stage without their marks, each with the number of the step that settles it.

    A refused stage has the dims that it settled, and what was asked for at the places of the others.
    """
    settled = {step.out: Cell(step.dim, number, (), _token(step)) for number, step in own if step.out is not None}
    if not stage.finished:
        asked = stage.asked if stage.kind not in (Kind.SQUEEZE, Kind.UNSQUEEZE) else ()
        missing = [Cell(None, never, (), str(dim)) for dim in asked]
        missing += [Cell(None, never)] * (max(settled, default=-1) + 1 - len(missing))
        return [settled.get(out) or cell for out, cell in enumerate(missing)]
    dims, last = stage.after or (), own[-1][0]
    if stage.kind is Kind.SQUEEZE:
        keeps = {step.sources[0]: number for number, step in own if step.rule in rules.KEEPS}
        settled = {
            out: Cell(dims[out], keeps.get(axis, last))
            for out, axis in enumerate(_kept_axes(stage, dropped_axes(stage)))
        }
    return [settled.get(out) or Cell(dim, last) for out, dim in enumerate(dims)]


def _kept_axes(stage: Stage, gone: Collection[int]) -> list[int]:
    return [axis for axis in range(len(stage.before)) if axis not in gone]


def _token(step: Step) -> str:
    """Return the text on the line into a dim."""
    if step.rule == rules.STRETCHED and step.facts["dim"] == 1 and step.value != 1:
        return f"x{step.value}"
    return TOKENS.get(step.rule, "").format(**step.facts)


def dropped_axes(stage: Stage) -> list[int]:
    """Return the axes that a squeeze drops."""
    return [step.sources[0] for step in stage.steps if step.rule == rules.DROPPED_ONE]


def _recut_links(stage: Stage) -> tuple[Group, ...]:
    """Return which axes became which: as the steps say if they say it of all axes, otherwise by the cuts.

    A copied 0 and a -1 say where a size comes from, not the elements.
    """
    settling = {step.out: step for step in stage.steps if step.out is not None}
    sourced = [step for step in settling.values() if step.sources and step.rule not in (rules.COPIED_ZERO, *INFERS)]
    named = {axis for step in sourced for axis in step.sources}
    if not sourced or len(sourced) < len(settling) or len(named) < len(stage.before):
        return groups(stage.before, stage.after or ())
    outs: dict[tuple[int, ...], tuple[int, ...]] = {}
    for out in sorted(settling):
        axes = settling[out].sources
        outs[axes] = (*outs.get(axes, ()), out)
    return tuple(Group(axes, parts) for axes, parts in outs.items())


def _links(stage: Stage) -> tuple[Group, ...]:
    """Return which axes became which. The cuts of a reshape say it; for other stages, the steps do."""
    if stage.kind in (Kind.RESHAPE, Kind.VIEW) and stage.finished:
        return _recut_links(stage)
    if stage.kind is Kind.SQUEEZE:
        gone = {*dropped_axes(stage)}
        if not stage.finished:
            return tuple(Group((axis,), ()) for axis in sorted(gone))
        outs = {axis: (out,) for out, axis in enumerate(_kept_axes(stage, gone))}
        return tuple(Group((axis,), outs.get(axis, ())) for axis in range(len(stage.before)))
    links = [
        Group(step.sources, (step.out,))
        for step in stage.steps
        if step.out is not None and step.rule not in INFERS and (step.sources or step.rule in MADE)
    ]
    used = {axis for link in links for axis in link.sources}
    idle = _kept_axes(stage, used) if stage.finished else []
    return (*links, *(Group((axis,), ()) for axis in idle))


def _carry_marks(
    before: tuple[Cell, ...], blank: list[Cell], links: tuple[Group, ...]
) -> tuple[tuple[Cell, ...], frozenset[int]]:
    """Return the dims with the marks of the axes they come from, and the indices of the links that mix axes."""
    cells, mixed, cuts = list(blank), set[int](), 0
    for place, link in enumerate(links):
        dims = [blank[out].dim for out in link.outs]
        marks = _link_marks([before[axis].mark for axis in link.sources], dims)
        if marks is None:
            mixed.add(place)
            marks = [(NamedAtom(mixed_name(cuts + at), None, _size(dim)),) for at, dim in enumerate(dims)]
            cuts += len(dims)
        for out, mark in zip(link.outs, marks, strict=True):
            cells[out] = replace(cells[out], mark=mark)
    return tuple(cells), frozenset(mixed)


def _link_marks(sources: Sequence[Mark], dims: Sequence[Dim | None]) -> Sequence[Mark] | None:
    """Return the marks that the dims of a link get from their sources; None if axes mix."""
    if not sources or not dims:
        return [(NamedAtom("new", None, _size(dim)),) for dim in dims]
    if len(sources) == 1 and len(dims) == 1:
        (mark,), (dim,) = sources, dims
        return [mark if dim is None or len(mark) != 1 else (replace(mark[0], size=dim),)]
    return recut(sources, [*map(_size, dims)])


def _size(dim: Dim | None) -> Dim:
    return 1 if dim is None else dim


def with_holes(layout: Layout, holes: Mapping[int, str]) -> Layout:
    """Return a layout that tells nothing of some dims; what stands in their place is given by their index.

    Where a stage cuts the elements anew, what one dim is made of depends on all, so none of them tells it.

    >>> import shapecalc as sc
    >>> [(str(cell.dim), cell.hole) for cell in with_holes(layouts(sc.reshape((2, 3), (0, -1)))[0], {1: "_"}).cells]
    [('2', ''), ('None', '_')]
    """
    if not holes:
        return layout
    cells = tuple(
        [
            replace(
                cell,
                dim=None if out in holes else cell.dim,
                mark=NO_MARK if layout.cuts or out in holes else cell.mark,
                hole=holes.get(out, ""),
            )
            for out, cell in enumerate(layout.cells)
        ]
    )
    return replace(layout, cells=cells, stage=replace(layout.stage, after=None, move=None), mixed=frozenset())


def opened(answer: Trace | Chain) -> Trace:
    """Return the first op of an answer with the sizes that it names, and nothing else: the same if it is refused.

    >>> import shapecalc as sc
    >>> [(cell.token, str(cell.dim)) for cell in layouts(opened(sc.reshape((2, 3, 4), (0, -1, 4))))[0].cells]
    [('0', 'None'), ('-1', 'None'), ('', '4')]
    """
    request = answer.traces[0].request
    name, asked = next(((key, value) for key, value in request.arguments.items() if isinstance(value, tuple)), ("", ()))
    cuts = name == "to" or request.op in ("reshape", "view")
    if not cuts and name not in ("perm", "first", "second"):
        asked = ()
    said = enumerate(asked if cuts else ())
    steps = [Step(rules.GIVEN, out, (), dim) for out, dim in said if not (isinstance(dim, int) and dim < 1)]
    kind = Kind.RESHAPE if cuts else Kind.PERMUTE
    return Trace(request, stages=(Stage(kind, request.op, name, request.input, asked, tuple(steps)),))


def unsettled(answer: Trace | Chain, passed: int) -> tuple[tuple[int, int], ...]:
    """Return the dims that the first steps of an answer, so many as were passed, do not settle, by column and index.

    >>> import shapecalc as sc
    >>> unsettled(sc.reshape((2, 3, 4), (0, -1)), 1)
    ((1, 1),)
    """
    placed = ((column, layout.cells) for column, layout in enumerate(layouts(answer), 1))
    return tuple((column, row) for column, cells in placed for row, cell in enumerate(cells) if cell.step >= passed)
