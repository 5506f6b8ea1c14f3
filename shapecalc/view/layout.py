"""An answer laid out for pictures: what each stage makes of each axis, and which step settles it.

All pictures are drawn from one `Layout` for each stage. A stage that was refused has the dims that it settled,
and the problem. A stage whose conditions no sizes can meet has all its dims, and the problem.

Wires and marks are origins. A wire runs from an axis to a dim that depends on it. The mark of a dim names the parts of
the input that it is, the outermost first: an axis by its own name or a letter, and the parts of a cut axis by numbers.
After axes a and c are merged, the mark is `ac`; after c is split, the marks are `c1` and `c2`. A dim that mixes axes
(4,6 of 6,4) is no axis of the input any more. Such dims are marked `~x` and `~y`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from re import findall

from shapecalc.core import origins, rules
from shapecalc.core.answers import Chain, Kind, Request, Stage, Step, Trace, stage_origins
from shapecalc.core.dims import Dim, Monomial, is_negative, names, product, quotient
from shapecalc.core.ops.operands import Operand, in_order
from shapecalc.core.origins import Origin, Origins
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import and_text, shape_text
from shapecalc.view.canvas import UNICODE, Strokes, clip
from shapecalc.view.hints import stage_name, stage_title

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MIXED = "xyzuvwpqrst"
"""The letters of dims that mix axes."""
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#B9679A", "#A87700", "#2F86C0")
"""Hues of Okabe and Ito, the light ones darkened. Colour-blind people can tell them apart, on white and on black."""
MERGED = "#7D6BD0"
"""The hue of a dim that several axes were merged into."""
HUES = (*COLOURS, MERGED)
LONGEST_MARK = 8
CUTTING = (Kind.RESHAPE, Kind.VIEW, Kind.MERGE)
"""The kinds of stages that cut the elements anew."""
COMBINING = (Kind.BROADCAST, Kind.PRODUCT, Kind.JOIN, Kind.WINDOW, Kind.LENGTHEN)
"""The kinds of stages that have several operands, or compute elements."""
INFERS = (rules.INFERRED, rules.INFERRED_EMPTY)
"""The rules of a -1."""
TOKENS = {
    rules.COPIED_ZERO: "0",
    rules.INFERRED: "-1",
    rules.INFERRED_EMPTY: "-1",
    "keep-positions": "{text}",
    "split-axis": "part {part}",
    "take-positions": "{text}",
    "roll-axis": "by {shift}",
    "reverse-axis": "back",
}
"""The texts on the lines into dims, by the rule that settles the dim."""


class Mark(Record):
    """What a dim is called: the names of its parts, the outermost first; none if no axis of the input became it."""

    names: tuple[str, ...]
    hue: str = ""
    """The colour of its axis, or that of all merged dims; empty if it is neither."""


class Cell(Record):
    """One dim of one column."""

    dim: Dim | None
    """None if the request was refused before the dim was settled."""
    step: int
    """The index of the step that settles it; past the last if none does."""
    mark: Mark | None = None
    """None if nothing is told of it."""
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
    wires: tuple[tuple[int, ...], ...]
    """For each of `cells`, the dims of `before` that it depends on."""
    mixed: frozenset[int]
    """The dims that mix others."""
    fresh: frozenset[int]
    """The dims that have a name of their own since then: they mix others, or parts of one."""
    pieces: Mapping[tuple[int, int], Mark]
    """What the part of a dim of `before` that a dim of `cells` is made of is called, by both of their indices."""
    links: tuple[origins.Group, ...]
    """Which dims of `before` became which of `cells`: the smallest sets that no wire leaves."""
    problem: Problem | None
    fault: int | None
    """The index of the dim that was refused; None if it was no single one."""
    cuts: bool
    """Whether the stage cuts the elements anew."""
    request: Request
    """What asks for the stage."""

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
        cells = enumerate(self.cells)
        copied = [out for out, cell in cells if cell.token == "0" and cell.dim not in (0, 1) and cell.mark]
        own = {group.outs for group in self.links if group.sources == group.outs}
        return frozenset([out for out in copied if (out,) not in own])


def mark_text(mark: Mark | None, strokes: Strokes) -> str:
    """Return the text of a mark.

    >>> from shapecalc.view.canvas import ASCII, UNICODE
    >>> mark_text(Mark(("a", "c")), ASCII), mark_text(Mark(("c", "b1")), UNICODE), mark_text(Mark(tuple("abcd")), ASCII)
    ('ac', 'c·b1', 'a-d')
    """
    if mark is None or not mark.names:
        return strokes.none if mark else ""
    runs: list[list[str]] = []
    for name in mark.names:
        follows = runs and len(name) == 1 and name in LETTERS and LETTERS[LETTERS.index(name) - 1] == runs[-1][-1]
        runs = [*runs[:-1], [*runs[-1], name]] if follows else [*runs, [name]]
    between = strokes.none if len(runs) > 1 and any(len(name) > 1 for name in mark.names) else ""
    texts = ["".join(run) if len(run) <= 3 else f"{run[0]}-{run[-1]}" for run in runs]
    return clip(between.join(texts), LONGEST_MARK, strokes)


def label(cell: Cell, strokes: Strokes) -> str:
    """Return the mark of a dim; nothing if it is the dim itself, as that of a named size may be."""
    return "" if cell.mark and "*".join(cell.mark.names) == str(cell.dim) else mark_text(cell.mark, strokes)


def colour(mark: Mark | None) -> str:
    """Return the colour of a mark; it is empty if there is none."""
    return mark.hue if mark else ""


Wires = Sequence[tuple[int, ...]]


class Naming:
    """What the axes of an answer's input are called, and the parts that they are cut into."""

    def __init__(self, answer: Trace | Chain, stages: Sequence[Origins]) -> None:
        """Read the names that the question uses, and where all stages together cut each axis."""
        self.shape = answer.input
        self.pattern, self.new = _pattern_of(answer.traces[0]) if answer.traces else ((), ())
        requests = [trace.request for trace in answer.traces]
        words = [value for request in requests for value in request.arguments.values() if isinstance(value, str)]
        used = {*names([dim for request in requests for dim in request.dims]), *findall(r"[^\W\d]\w*", " ".join(words))}
        self.letters = [each if each not in used else "" for each in LETTERS[: len(self.shape)]]
        self.spare = iter([each for each in LETTERS[len(self.shape) :] if each not in used])
        self.axes = [self._names(axis, dim) for axis, dim in enumerate(self.shape)]
        self.cuts = _ladders(self.shape, stages)
        self.mixes = 0
        """How many dims that mix axes have a name."""

    def _names(self, axis: int, dim: Dim) -> tuple[str, ...]:
        """Return the pattern's names of an axis, the name of its size if that is its alone, or a letter."""
        if axis < len(self.pattern) and self.pattern[axis]:
            return self.pattern[axis]
        if isinstance(dim, Monomial) and str(dim).isidentifier() and self.shape.count(dim) == 1:
            return (str(dim),)
        return ("".join(self.letters[axis : axis + 1]) or next(self.spare, f"#{axis}"),)

    def parts(self, atoms: Origin) -> list[tuple[str, Dim]]:
        """Return the names of parts of axes, with their sizes: an axis's own if it is whole, or not cut in parts."""
        made = list[tuple[str, Dim]]()
        for atom in atoms:
            if not isinstance(atom, origins.AxisAtom):
                continue
            if atom.operand:
                made.append((f"{atom.operand}.{atom.axis}", atom.size))
                continue
            cuts, own = self.cuts[atom.axis], self.axes[atom.axis]
            is_whole, are_own = atom.size == self.shape[atom.axis], 1 < len(own) == len(cuts) - 1
            low, high = (None, None) if is_whole and not are_own else _ends(atom)
            if low not in cuts or high not in cuts:
                made.append(("".join(own), atom.size))
                continue
            parts = own if are_own else [f"{''.join(own)}{at}" for at in range(1, len(cuts))]
            places = range(cuts.index(high), cuts.index(low))
            made += [(parts[place], quotient(cuts[place], cuts[place + 1])) for place in places]
        return made

    def mark(self, atoms: Origin) -> Mark:
        """Return the mark of a dim that is parts of axes, and nothing else."""
        return Mark(tuple([name for name, _ in self.parts(atoms)]), _hue(origins.axes_read(atoms)))

    def fresh(self) -> Mark:
        """Return the mark of another dim that mixes axes."""
        self.mixes += 1
        place = self.mixes - 1
        return Mark((f"~{MIXED[place]}" if place < len(MIXED) else f"~#{place}",))


def _hue(axes: Collection[int]) -> str:
    return MERGED if len(axes) > 1 else "".join([COLOURS[axis % len(COLOURS)] for axis in axes])


def _ends(atom: origins.AxisAtom) -> tuple[Dim, Dim]:
    """Return the stride of an atom, and that of what is outside it."""
    stride = product((-1, atom.stride)) if is_negative(atom.stride) else atom.stride
    return stride, product((atom.size, stride))


def _ladders(shape: Sequence[Dim | None], stages: Iterable[Origins]) -> list[list[Dim]]:
    """Return the ends of the parts that stages cut each axis of a shape into; none for one that stays whole."""
    ends: list[set[tuple[Dim, Dim]]] = [set() for _ in shape]
    for found in stages:
        atoms = [atom for origin in found for atom in origin or ()]
        mixed = {axis for atom in atoms if isinstance(atom, origins.Mixes) for axis in atom.axes}
        own: dict[int, list[origins.AxisAtom]] = {}
        for atom in atoms:
            if isinstance(atom, origins.AxisAtom) and not atom.operand:
                own.setdefault(atom.axis, []).append(atom)
        for axis, parts in own.items():
            if len(parts) > 1 or axis in mixed:
                ends[axis].update(map(_ends, parts))
                dim = shape[axis]
                tops = {high for _, high in ends[axis]} - {low for low, _ in ends[axis]} if axis in mixed else set()
                ends[axis].update([(high, dim) for high in tops if dim is not None and high != dim])
    return [_ladder(parts) for parts in ends]


def ladder_of(atoms: Iterable[origins.AxisAtom]) -> list[Dim]:
    """Return the ends of atoms of one axis, the outermost first; none if some lie across each other."""
    return _ladder([_ends(atom) for atom in atoms])


def _ladder(parts: Collection[tuple[Dim, Dim]]) -> list[Dim]:
    """Return the ends of all parts of an axis, the outermost first; none if some lie across each other.

    >>> _ladder([(1, 4), (4, 8), (1, 8)]), _ladder([(1, 3), (3, 12), (1, 4), (4, 12)])
    ([8, 4, 1], [])
    """
    depths = dict.fromkeys([end for part in parts for end in part], 0)
    for _ in depths:
        for low, high in parts:
            depths[high] = max(depths[high], depths[low] + 1)
    ordered = sorted(depths, key=depths.__getitem__, reverse=True)
    apart = all(depths[outer] == depths[inner] + 1 for outer, inner in pairwise(ordered))
    return ordered if apart else []


def _pattern_of(trace: Trace) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the names that a pattern has for the axes of each dim of the input, and those of each axis at the end."""
    if trace.op != "rearrange":
        return (), ()
    from shapecalc.core.ops.rearrange import plan_of

    arguments = trace.request.arguments
    try:
        plan = plan_of(len(trace.input), arguments["pattern"], arguments.get("lengths"))
    except ShapeError:
        return (), ()
    left = [tuple([name for name in axes if name.isidentifier()]) for axes in plan.left]
    return tuple(left), tuple([name for axes in plan.right for name in axes])


@lru_cache(maxsize=1)
def layouts(answer: Trace | Chain) -> tuple[Layout, ...]:
    """Return the layouts of an answer's stages, in order. If the request is refused, the last is unfinished.

    >>> import shapecalc as sc
    >>> [(each.title, [str(cell.dim) for cell in each.cells]) for each in layouts(sc.reshape((2, 3, 4), (0, -1)))]
    [('reshape 0,-1', ['2', '12'])]
    """
    return _laid_out(answer)[1]


@lru_cache(maxsize=1)
def _laid_out(answer: Trace | Chain) -> tuple[tuple[Cell, ...], tuple[Layout, ...]]:
    """Return the column of the input, and the layouts."""
    finished = [stage for stage in answer.stages if stage.after is not None]
    of_input = [
        stage_origins(answer.input, tuple(finished[: place + 1]), stage.after or (), answer.conditions)
        for place, stage in enumerate(finished)
    ]
    naming, made = Naming(answer, of_input), list[Layout]()
    head = cells = tuple(
        [Cell(dim, -1, Mark(naming.axes[axis], _hue([axis]))) for axis, dim in enumerate(answer.input)]
    )
    first, never = 0, len(answer.steps)
    for trace in answer.traces:
        first += len(trace.given)
        stages = trace.stages or (_empty_stage(trace.request),) * (trace.problem is not None)
        for place, stage in enumerate(stages):
            problem = trace.problem if place == len(stages) - 1 else None
            found = of_input[len(made)] if stage.finished else ()
            own = (stage.origins or ()) if made else found
            made.append(_layout(trace, stage, first, (cells, own, found), never, problem, naming))
            cells = made[-1].cells
            first += len(stage.steps)
    return head, tuple(made)


def _empty_stage(request: Request) -> Stage:
    """Return a stage without steps for a request that was refused before its op began."""
    if "operands" in request.arguments or "weight" in request.arguments:
        return Stage(Kind.BROADCAST, request.op, "", request.input)
    asked = next((value for value in request.arguments.values() if isinstance(value, tuple)), ())
    return Stage(Kind.RESHAPE, request.op, "", request.input, asked)


def input_cells(answer: Trace | Chain) -> tuple[Cell, ...]:
    """Return the column of the input."""
    return _laid_out(answer)[0]


def place_of(made: Sequence[Layout], at: int | None) -> int:
    """Return the index of the layout that step `at` belongs to; that of the last layout if `at` is None."""
    for place, layout in enumerate(made):
        if at is not None and at < layout.numbers.stop:
            return place
    return len(made) - 1


def _layout(
    trace: Trace,
    stage: Stage,
    first: int,
    before: tuple[tuple[Cell, ...], Origins, Origins],
    never: int,
    problem: Problem | None,
    naming: Naming,
) -> Layout:
    """Return the layout of a stage.

    `before` are the dims before it, and what those after it are of these and of the input.
    """
    own, (cells_before, found, of_input) = [(first + place, step) for place, step in enumerate(stage.steps)], before
    cells = _blank_cells(stage, own, never, trace.request.arguments.get(stage.argument))
    wires = _wires(stage, cells, found)
    mixed = frozenset([out for out in origins.mixing(found) if wires[out]])
    marks, pieces, fresh = _marks(trace, stage, cells_before, (found, of_input), wires, naming)
    cells = [replace(cell, mark=mark) for cell, mark in zip(cells, marks, strict=True)]
    _name_rests(cells_before, found, pieces)
    numbers = range(first, first + len(own)) if own else range(never, never)
    fault = None if problem is None else _fault(trace.request, stage, cells, problem)
    name, title, cuts = stage_name(stage), stage_title(trace.request, stage), stage.kind in CUTTING
    gone = range(len(cells_before)) if stage.finished else dropped_axes(stage) if stage.kind is Kind.SQUEEZE else ()
    every = origins.linked(len(cells_before), wires, mixed)
    links = tuple([link for link in every if link.outs or link.sources[0] in gone])
    after = tuple(cells), wires, mixed, frozenset(fresh), pieces, links
    return Layout(stage, name, title, numbers, cells_before, *after, problem, fault, cuts, trace.request)


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


def _blank_cells(stage: Stage, own: list[tuple[int, Step]], never: int, asked: object) -> list[Cell]:
    """Return the dims after a stage without their marks, each with the number of the step that settles it.

    `asked` is the argument that asks for the stage: a 1 of a shape to expand to gives way to a larger dim.
    A refused stage has the dims that it settled, and what was asked for at the places of the others.
    """
    settled = {step.out: Cell(step.dim, number, None, _token(step)) for number, step in own if step.out is not None}
    if stage.kind is Kind.EXPAND and asked == stage.asked:
        front = len(settled) - len(asked)
        given_way = [out for out, cell in settled.items() if out >= front and asked[out - front] == 1 != cell.dim]
        settled |= {out: replace(settled[out], token="1") for out in given_way}
    if not stage.finished:
        wanted = stage.asked if stage.kind not in (Kind.SQUEEZE, Kind.UNSQUEEZE) else ()
        missing = [Cell(None, never, None, str(dim)) for dim in wanted]
        missing += [Cell(None, never)] * (max(settled, default=-1) + 1 - len(missing))
        return [settled.get(out) or cell for out, cell in enumerate(missing)]
    dims, last = stage.after or (), own[-1][0] if own else never
    if stage.kind is Kind.SQUEEZE:
        keeps = {step.sources[0]: number for number, step in own if step.rule in rules.KEEPS}
        gone = dropped_axes(stage)
        kept = [axis for axis in range(len(stage.before)) if axis not in gone]
        settled = {out: Cell(dims[out], keeps.get(axis, last)) for out, axis in enumerate(kept)}
    return [settled.get(out) or Cell(dim, last) for out, dim in enumerate(dims)]


def _token(step: Step) -> str:
    """Return the text on the line into a dim."""
    if step.rule == rules.STRETCHED and step.facts["dim"] == 1 and step.value != 1:
        return f"x{step.value}"
    return TOKENS.get(step.rule, "").format(**step.facts)


def dropped_axes(stage: Stage) -> list[int]:
    """Return the axes that a squeeze drops."""
    return [step.sources[0] for step in stage.steps if step.rule == rules.DROPPED_ONE]


def _wires(stage: Stage, cells: Sequence[Cell], found: Origins) -> tuple[tuple[int, ...], ...]:
    """Return the dims before a stage that each dim after it depends on.

    Of a dim that is none of them, the steps say which one was kept; of a refused stage, they say as far as they got.
    """
    settling = {step.out: step.sources for step in stage.steps if step.out is not None and step.rule not in INFERS}
    if stage.finished and stage.kind in (*CUTTING, *COMBINING):
        settling = {}
    of_dims = found or (None,) * len(cells)
    return tuple([origins.axes_read(origin) or settling.get(out, ()) for out, origin in enumerate(of_dims)])


def _marks(
    trace: Trace, stage: Stage, before: Sequence[Cell], found: tuple[Origins, Origins], wires: Wires, naming: Naming
) -> tuple[list[Mark | None], dict[tuple[int, int], Mark], set[int]]:
    """Return what each dim after a stage is called, what the parts are that it is made of, and which dims mix.

    `found` are its origins in the stage's input, and those in the answer's.
    """
    marks, pieces, fresh = list[Mark | None](), dict[tuple[int, int], Mark](), set[int]()
    if stage.kind is Kind.SHAPE or not stage.finished:
        return [before[axes[0]].mark if len(axes) == 1 else None for axes in wires], pieces, fresh
    if stage.kind in COMBINING:
        return [_combined_mark(before, *each) for each in zip(wires, *found, strict=True)], pieces, fresh
    ladders = _ladders(stage.before, [found[0]])
    new = naming.new if trace.op == "rearrange" and len(naming.new) == len(wires) else ()
    for out, (atoms, of_input, axes) in enumerate(zip(*found, wires, strict=True)):
        parts = _parts(before, atoms or (), ladders)
        clean = bool(of_input) and all(isinstance(atom, origins.AxisAtom) for atom in of_input or ())
        if clean and parts is None:
            parts = _parts_in_input(atoms or (), naming.parts(of_input or ()))
        pieces |= {(axis, out): Mark(names) for axis, names in parts or ()}
        if clean:
            marks.append(naming.mark(of_input or ()))
        elif not axes:
            marks.append(Mark((new[out] if new and new[out].isidentifier() else "new",)))
        elif parts is None:
            fresh.add(out)
            marks.append(naming.fresh())
        elif not parts:
            marks.append(before[axes[0]].mark)
        else:
            hue = colour(before[axes[0]].mark) if len(axes) == 1 else MERGED
            marks.append(Mark(tuple([name for _, names in parts for name in names]), hue))
    return marks, pieces, fresh


def _combined_mark(
    before: Sequence[Cell], axes: tuple[int, ...], atoms: Origin | None, of_input: Origin | None
) -> Mark:
    """Return what a dim of several operands is called: as its axis of the input, otherwise as that of an operand.

    A plus says that dims of others are laid behind that axis. Axis 2 of operand 1 is called `1.2`.
    """
    if not axes:
        return Mark(tuple([f"{operand}.{axis}" for operand, axis in origins.places_of(of_input)][:1]) or ("new",))
    own = before[axes[0]].mark or Mark(())
    joins = isinstance(atoms[0], origins.Joins) if atoms else False
    return replace(own, names=(*own.names[:-1], f"{own.names[-1]}+")) if joins and own.names else own


Parts = list[tuple[int, tuple[str, ...]]]
"""The axes that a dim is made of, the outermost first, each with what its part is called."""


def _parts(before: Sequence[Cell], atoms: Origin, ladders: Sequence[Sequence[Dim]]) -> Parts | None:
    """Return what a dim is made of, of whole dims before it or parts of such that have one name; None otherwise."""
    made: Parts = []
    for atom in atoms:
        if isinstance(atom, origins.Repeats):
            continue
        if not isinstance(atom, origins.AxisAtom) or atom.operand:
            return None
        cell, ladder = before[atom.axis], ladders[atom.axis]
        own = (cell.mark or Mark(())).names
        if atom.size != cell.dim:
            high = _ends(atom)[1]
            if len(own) != 1 or high not in ladder:
                return None
            own = (f"{own[0]}{1 + ladder.index(high)}",)
        made.append((atom.axis, own))
    return made


def _parts_in_input(atoms: Origin, named: Sequence[tuple[str, Dim]]) -> Parts | None:
    """Return what a dim is made of, from the parts of the input that it is; None if these are cut otherwise."""
    made: Parts = []
    left = list(named)
    for atom in atoms:
        own = list[str]()
        size: Dim = 1
        while isinstance(atom, origins.AxisAtom) and size != atom.size and left:
            name, more = left.pop(0)
            own.append(name)
            size = product((size, more))
        if not isinstance(atom, origins.AxisAtom) or size != atom.size:
            return None
        made.append((atom.axis, tuple(own)))
    return made


def _name_rests(before: Sequence[Cell], found: Origins, pieces: dict[tuple[int, int], Mark]) -> None:
    """Call what dims mix of an axis by the parts of it that no other dim is, if other dims are parts of it."""
    mixing_dims = origins.mixing(found)
    ladders = _ladders([cell.dim for cell in before], [found]) if mixing_dims and pieces else []
    for axis, ladder in enumerate(ladders):
        used = {name for (source, _), mark in pieces.items() if source == axis for name in mark.names}
        own = mark_text(before[axis].mark, UNICODE)
        parts = [f"{own}{at}" for at in range(1, len(ladder))]
        if used and used < {*parts}:
            rest = Mark(tuple([name for name in parts if name not in used]))
            pieces |= {(axis, out): rest for out in mixing_dims if axis in origins.axes_read(found[out])}


def operands_of(layout: Layout) -> list[Operand]:
    """Return the operands of a stage in the order in which they are written; the input alone if there are no others."""
    before, arguments = layout.stage.before, layout.request.arguments
    if "operands" in arguments:
        return in_order(before, arguments["operands"])
    other = arguments.get("weight", arguments.get("kernel"))
    if other is None and "out_features" in arguments and before:
        other = (*arguments["out_features"], before[-1])
    if "kernel" in arguments and isinstance(other, tuple) and len(other) == 1:
        other *= len(before) - 2
    return [Operand(0, before)] + ([Operand(1, other)] if isinstance(other, tuple) else [])


def part_text(layout: Layout, axes: Sequence[int], outs: Sequence[int], strokes: Strokes) -> str:
    """Return what is written on the wires from some axes to some dims: what the parts of one in these are called."""
    found = [layout.pieces.get((axes[0], out)) for out in outs if len(axes) == 1]
    if found and all(found):
        names = dict.fromkeys(name for mark in found for name in (mark.names if mark else ()))
        return mark_text(Mark(tuple(names)), strokes)
    return ",".join([mark_text(layout.before[axis].mark, strokes) for axis in axes])


def size_alone(layout: Layout, out: int, strokes: Strokes) -> str:
    """Say of a 0 that copies a size alone what the elements of its dim are of; nothing of any other dim.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> size_alone(layouts(sc.reshape((2, 2, 3, 2), (-1, 0, 0)))[0], 1, ASCII)
    'only the size is copied: the elements of dim 1 are of c and d'
    """
    if out not in layout.parted:
        return ""
    axes = and_text([mark_text(layout.before[axis].mark, strokes) for axis in layout.wires[out]])
    return f"only the size is copied: the elements of dim {out} are of {axes}"


def with_holes(layout: Layout, holes: Mapping[int, str]) -> Layout:
    """Return a layout that tells nothing of some dims; what stands in their place is given by their index.

    Where a stage cuts the elements anew, what one dim is made of depends on all, so none of them tells it.

    >>> import shapecalc as sc
    >>> [(str(cell.dim), cell.hole) for cell in with_holes(layouts(sc.reshape((2, 3), (0, -1)))[0], {1: "_"}).cells]
    [('2', ''), ('None', '_')]
    """
    if not holes:
        return layout
    hidden: Collection[int] = range(len(layout.cells)) if layout.cuts else holes
    cells = [replace(cell, mark=None) if out in hidden else cell for out, cell in enumerate(layout.cells)]
    cells = [replace(cell, dim=None, hole=holes[out]) if out in holes else cell for out, cell in enumerate(cells)]
    wires = tuple([() if out in hidden else axes for out, axes in enumerate(layout.wires)])
    found, nothing = origins.linked(len(layout.before), wires), frozenset[int]()
    links = tuple([link for link in found if link.outs or link in layout.links])
    stage = replace(layout.stage, after=None, move=None)
    told = replace(layout, cells=tuple(cells), wires=wires, links=links, mixed=nothing, fresh=nothing)
    return replace(told, stage=stage)


def opened(answer: Trace | Chain) -> Trace:
    """Return the first op of an answer with the sizes that it names, and nothing else: the same if it is refused.

    A Shuffle has all its stages; an expand has its target as another operand, since it may have dims of its own.

    >>> import shapecalc as sc
    >>> [(cell.token, str(cell.dim)) for cell in layouts(opened(sc.reshape((2, 3, 4), (0, -1, 4))))[0].cells]
    [('0', 'None'), ('-1', 'None'), ('', '4')]
    >>> [each.title for each in layouts(opened(sc.shuffle((2, 3), first=(1, 0), to=(0, -1))))]
    ['transpose 1,0', 'reshape 0,-1']
    """
    first = answer.traces[0]
    request, kind = first.request, first.stages[0].kind if first.stages else Kind.PERMUTE
    named = [each for each in request.arguments.items() if isinstance(each[1], tuple)]
    shuffled, stages = [each for each in named if each[0] in ("first", "to", "second")], list[Stage]()
    if request.op == "expand":
        request, kind = replace(request, arguments={**request.arguments, "operands": (named[0][1],)}), Kind.BROADCAST
    for name, asked in shuffled or named[:1] or [("", ())]:
        cuts = name == "to" or request.op in ("reshape", "view")
        keeps = asked if cuts or name in ("perm", "first", "second") else ()
        said = [at for at, dim in enumerate(asked if cuts else ()) if not (isinstance(dim, int) and dim < 1)]
        steps = tuple([Step(rules.GIVEN, at, (), asked[at]) for at in said])
        own = Kind.RESHAPE if cuts else kind if kind in COMBINING else Kind.PERMUTE
        label, before = name if shuffled else request.op, () if stages else request.input
        stages.append(Stage(own, label, name, before, keeps, steps))
    return Trace(request, stages=tuple(stages))


def unsettled(answer: Trace | Chain, passed: int) -> tuple[tuple[int, int], ...]:
    """Return the dims that the first steps of an answer, so many as were passed, do not settle, by column and index.

    >>> import shapecalc as sc
    >>> unsettled(sc.reshape((2, 3, 4), (0, -1)), 1)
    ((1, 1),)
    """
    placed = ((column, layout.cells) for column, layout in enumerate(layouts(answer), 1))
    return tuple((column, row) for column, cells in placed for row, cell in enumerate(cells) if cell.step >= passed)
