"""The layouts of an answer's stages, from which all pictures are drawn.

The layout of a refused stage contains the dims that were resolved before the refusal, and the problem. If no sizes meet
the conditions of a stage, its layout contains all dims and the problem.

The origin of a dim consists of the input axes, or parts of axes, whose elements the dim contains. An atom is an item of
an origin, usually one of these axes or parts; `core.origins` defines all kinds of atoms. Origins determine the wires
and marks. A wire connects an input dim to an output dim that depends on it. The mark of a dim lists the axes and parts
of its origin, outermost first. An axis is listed by its name or by a letter; the parts of a split axis are numbered.
After axes a and c are merged, the mark is `ac`; after c is split, the marks are `c1` and `c2`. A dim that mixes axes,
as in 6,4 reshaped to 4,6, does not consist of complete parts. Such dims have the marks `~x` and `~y`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from re import findall

from shapecalc.core import origins, rules
from shapecalc.core.answers import Chain, Request, Stage, StageKind, Step, Trace, compute_stage_origins
from shapecalc.core.dims import Dim, Monomial, dim_names, is_negative, product, quotient
from shapecalc.core.moves import Combine
from shapecalc.core.ops.operands import Operand, number_operands
from shapecalc.core.origins import Origin, Origins
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record, lazy, replace
from shapecalc.core.text import join_with_and, shape_text
from shapecalc.render.canvas import UNICODE, GlyphSet, clip_text
from shapecalc.render.hints import stage_name, stage_title

AXIS_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
OPERAND_LETTERS, WEIGHT_LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ", "wvuzyx"
"""The letters that name the other operands of a stage: tensors, and weights."""
MIXED_LETTERS = "xyzuvwpqrst"
"""The letters of the marks of dims that mix axes."""
AXIS_HUES = ("#C15500", "#007BC0", "#008662", "#B1568E", "#9B6D00", "#B813FF", "#428500", "#E00096")
"""The colours of axes, which are hues of the palette of Okabe and Ito.

Their contrast is at least 4.5:1 on white and on black. This requires a luminance of 0.175 to 0.183, so the colours
differ in hue alone, and each axis also has a letter.
"""
MERGED_HUE = "#7866CE"
"""The colour of dims that merge several axes."""
HUES = (*AXIS_HUES, MERGED_HUE)
MAX_MARK_LENGTH = 8
REGROUPING_KINDS = (StageKind.RESHAPE, StageKind.VIEW, StageKind.MERGE)
"""The kinds of stages that group the same elements, in C order, into other axes."""
COMBINING_KINDS = (
    *(StageKind.BROADCAST, StageKind.PRODUCT, StageKind.JOIN),
    *(StageKind.WINDOW, StageKind.LENGTHEN, StageKind.REDUCE),
)
"""The kinds of stages that have several operands or compute new elements."""
INFER_RULES = (rules.INFERRED, rules.INFERRED_EMPTY)
"""The rules that infer a -1."""
TOKEN_FORMATS = {
    rules.COPIED_ZERO: "0",
    rules.INFERRED: "-1",
    rules.INFERRED_EMPTY: "-1",
    "keep-positions": "{text}",
    "split-axis": "part {part}",
    "take-positions": "{text}",
    "roll-axis": "by {shift}",
    "reverse-axis": "back",
}
"""The format of the requested value on a wire, keyed by the rule of the step."""
Wires = Sequence[tuple[int, ...]]
"""For each output dim of a stage, the indices of the input dims on which it depends."""
AxisParts = list[tuple[int, tuple[str, ...]]]
"""The input axes of an output dim, outermost first, each with the names of its parts."""


class DimMark(Record):
    """The mark of a dim: the names of its axes or their parts, outermost first.

    The mark of a dim that does not come from an input axis has no names.
    """

    names: tuple[str, ...]
    hue: str = ""
    """The colour of the axis, or the colour of merged dims; empty for no colour."""


class DimCell(Record):
    """A dim before or after a stage, with the data for drawing it."""

    dim: Dim | None
    """The size of the dim, or None if it is hidden or unresolved."""
    step_index: int
    """The index of the step that resolves the dim; for an unresolved dim, the number of steps."""
    mark: DimMark | None = None
    """The mark of the dim, or None if its origin is unknown."""
    token: str = ""
    """The requested value of the dim, such as 0 or -1; empty if the request gives the size itself."""
    placeholder: str = ""
    """The placeholder of a hidden dim; empty for a visible dim."""


class StageLayout(Record):
    """The layout of a stage: the dims before and after it, and the wires between them."""

    stage: Stage
    name: str
    """The operator name of the stage, such as `reshape` for the argument `to` of a Shuffle."""
    title: str
    """The name and the arguments of the stage, as in `reshape 0,-1`."""
    step_range: range
    """The indices of the stage's steps within the answer."""
    cells_before: tuple[DimCell, ...]
    cells: tuple[DimCell, ...]
    wires: tuple[tuple[int, ...], ...]
    """For each output dim of the stage, the indices of the input dims on which it depends."""
    mixing_dims: frozenset[int]
    """The output dims that mix axes.

    These dims do not consist of whole parts of input axes.
    """
    newly_marked_dims: frozenset[int]
    """The output dims to which the stage gives a new mark, such as `~x`."""
    part_marks: Mapping[tuple[int, int], DimMark]
    """The mark of each part of an input dim, keyed by the input index and the output index of the part."""
    links: tuple[origins.AxisChange, ...]
    """The smallest groups of input and output dims that wires connect."""
    problem: Problem | None
    refused_dim: int | None
    """The index of the refused dim, or None if no single dim was refused."""
    is_regrouping: bool
    """Whether the stage groups the same elements, in C order, into other axes."""
    request: Request
    """The request that the stage belongs to."""
    operand_names: tuple[str, ...] = ()
    """The letters of the operands other than the input, such as `w` for a weight."""

    @property
    def heading(self) -> str:
        """The stage with its input and its request, as in `reshape 2,3,4 to 0,-1`."""
        stage, hides = self.stage, not self.stage.requested and any(cell.placeholder for cell in self.cells)
        to = "" if hides else f" to {shape_text(stage.requested or stage.after or ())}"
        return f"{self.name} {shape_text(stage.before)}{to}"

    @property
    def is_unresolved(self) -> bool:
        """Whether the stage is neither resolved nor refused."""
        return self.problem is None and not self.stage.is_finished

    @lazy
    def size_only_dims(self) -> frozenset[int]:
        """Return the output dims that copy the size of an axis, but not its elements."""
        if not (self.is_regrouping and self.stage.is_finished):
            return frozenset()
        cells = enumerate(self.cells)
        copied = [out for out, cell in cells if cell.token == "0" and cell.dim not in (0, 1) and cell.mark]
        own = {group.outputs for group in self.links if group.sources == group.outputs}
        return frozenset([out for out in copied if (out,) not in own])


def is_window_step(layout: StageLayout, step: Step | None) -> bool:
    """Return whether a step computes the dim of an axis with windows or padding."""
    return step is not None and layout.stage.kind in (StageKind.WINDOW, StageKind.LENGTHEN) and "dim" in step.facts


def mark_text(mark: DimMark | None, glyphs: GlyphSet) -> str:
    """Format a mark.

    A run of at least four consecutive letters is abbreviated, as in `a-d`.

    >>> from shapecalc.render.canvas import ASCII, UNICODE
    >>> mark_text(DimMark(("a", "c")), ASCII), mark_text(DimMark(("c", "b1")), UNICODE)
    ('ac', 'c·b1')
    >>> mark_text(DimMark(tuple("abcd")), ASCII)
    'a-d'
    """
    if mark is None or not mark.names:
        return glyphs.no_axis if mark else ""
    runs: list[list[str]] = []
    for name in mark.names:
        follows = (
            runs
            and len(name) == 1
            and name in AXIS_LETTERS
            and AXIS_LETTERS[AXIS_LETTERS.index(name) - 1] == runs[-1][-1]
        )
        runs = [*runs[:-1], [*runs[-1], name]] if follows else [*runs, [name]]
    separator = glyphs.no_axis if len(runs) > 1 and any(len(name) > 1 for name in mark.names) else ""
    texts = ["".join(run) if len(run) <= 3 else f"{run[0]}-{run[-1]}" for run in runs]
    return clip_text(separator.join(texts), MAX_MARK_LENGTH, glyphs)


def cell_mark_text(cell: DimCell, glyphs: GlyphSet) -> str:
    """Format the mark of a dim, or return "" if the mark equals the size."""
    return "" if cell.mark and "*".join(cell.mark.names) == str(cell.dim) else mark_text(cell.mark, glyphs)


def mark_colour(mark: DimMark | None) -> str:
    """Return the colour of a mark, or an empty string if `mark` is None."""
    return mark.hue if mark else ""


class AxisNames:
    """The names of an answer's input axes, and of the parts of split axes."""

    def __init__(self, answer: Trace | Chain, stage_origins: Sequence[Origins]) -> None:
        """Name the input axes, and find where stages split each axis.

        `stage_origins` contains the origins of each stage's output dims relative to the input of the answer.
        """
        self.shape = answer.input
        self.pattern_names, self.output_names = _pattern_names(answer.traces[0]) if answer.traces else ((), ())
        requests = [trace.request for trace in answer.traces]
        words = [value for request in requests for value in request.arguments.values() if isinstance(value, str)]
        used = {
            *dim_names([dim for request in requests for dim in request.dims]),
            *findall(r"[^\W\d]\w*", " ".join(words)),
        }
        self.letters = [letter if letter not in used else "" for letter in AXIS_LETTERS[: len(self.shape)]]
        self.spare_letters = iter([letter for letter in AXIS_LETTERS[len(self.shape) :] if letter not in used])
        self.operand_names = [""]
        """The names of the operands of all stages so far; the first item is for the input, which has no name."""
        self.free_operand_letters, self.free_weight_letters = (
            iter([letter for letter in letters if letter not in {*used, *self.letters}])
            for letters in (OPERAND_LETTERS, WEIGHT_LETTERS)
        )
        self.axis_names = [self._names_of_axis(axis, dim) for axis, dim in enumerate(self.shape)]
        self.boundaries = _axis_boundaries(self.shape, stage_origins)
        self.operand_boundaries = _operand_boundaries(stage_origins)
        self.mixed_count = 0
        """The number of marks such as `~x` that were created so far."""

    def _names_of_axis(self, axis: int, dim: Dim) -> tuple[str, ...]:
        """Return the names of an input axis.

        If the request has a pattern, the names are those of the pattern. Otherwise, there is one name: the symbolic
        size of the axis if no other axis has it, or else a letter.
        """
        if axis < len(self.pattern_names) and self.pattern_names[axis]:
            return self.pattern_names[axis]
        if isinstance(dim, Monomial) and str(dim).isidentifier() and self.shape.count(dim) == 1:
            return (str(dim),)
        return ("".join(self.letters[axis : axis + 1]) or next(self.spare_letters, f"#{axis}"),)

    def operand_axis_name(self, operand: int, axis: int) -> str:
        """Return the name of an axis of another operand, such as `B0`."""
        return f"{self.operand_names[operand]}{axis}"

    def name_operands(self, stage: Stage, request: Request) -> tuple[str, ...]:
        """Name the operands of a stage other than the input.

        A weight is named `w`; other operands are named `B`, `C` and so on.
        """
        if isinstance(stage.move, Combine):
            count = len(stage.move.operands) - 1
        else:
            count = len(_request_operands(request, stage.before)) - 1 if stage.kind in COMBINING_KINDS else 0
        is_weight = not {"weight", "out_features"}.isdisjoint(request.arguments)
        letters = self.free_weight_letters if is_weight else self.free_operand_letters
        names = [next(letters, f"#{len(self.operand_names) + index}.") for index in range(count)]
        self.operand_names += names
        return tuple(names)

    def named_parts(self, atoms: Origin) -> list[tuple[str, Dim]]:
        """Return the name and the size of each part of an axis in an origin.

        An axis that is complete, or is not split by any stage, is one part, unless a pattern names its parts.
        """
        result = list[tuple[str, Dim]]()
        for atom in atoms:
            if not isinstance(atom, origins.AxisAtom):
                continue
            cuts, own = self._boundaries_and_names(atom)
            bounds = _atom_bounds(atom)
            is_whole = bounds == (*cuts[-1:], *cuts[:1]) if atom.operand else atom.size == self.shape[atom.axis]
            are_own = 1 < len(own) == len(cuts) - 1
            low, high = (None, None) if is_whole and not are_own else bounds
            if low not in cuts or high not in cuts:
                result.append(("".join(own), atom.size))
                continue
            parts = own if are_own else [f"{''.join(own)}{at}" for at in range(1, len(cuts))]
            indices = range(cuts.index(high), cuts.index(low))
            result += [(parts[index], quotient(cuts[index], cuts[index + 1])) for index in indices]
        return result

    def _boundaries_and_names(self, atom: origins.AxisAtom) -> tuple[list[Dim], tuple[str, ...]]:
        """Return the strides at which stages split the axis of an atom, and the names of the axis."""
        if not atom.operand:
            return self.boundaries[atom.axis], self.axis_names[atom.axis]
        cuts = self.operand_boundaries.get((atom.operand, atom.axis), [])
        return cuts, (self.operand_axis_name(atom.operand, atom.axis),)

    def make_mark(self, atoms: Origin) -> DimMark:
        """Return the mark of a dim that consists of complete parts of axes."""
        return DimMark(
            tuple([name for name, _ in self.named_parts(atoms)]), _axes_colour(origins.list_input_axes(atoms))
        )

    def next_mixed_mark(self) -> DimMark:
        """Return a new mark for a dim that mixes axes, such as `~x`."""
        self.mixed_count += 1
        index = self.mixed_count - 1
        return DimMark((f"~{MIXED_LETTERS[index]}" if index < len(MIXED_LETTERS) else f"~#{index}",))


def _axes_colour(axes: Collection[int]) -> str:
    return MERGED_HUE if len(axes) > 1 else "".join([AXIS_HUES[axis % len(AXIS_HUES)] for axis in axes])


def _atom_bounds(atom: origins.AxisAtom) -> tuple[Dim, Dim]:
    """Return the strides at the inner and the outer boundary of a part of an axis."""
    stride = product((-1, atom.stride)) if is_negative(atom.stride) else atom.stride
    return stride, product((atom.size, stride))


def _axis_boundaries(shape: Sequence[Dim | None], stage_origins: Iterable[Origins]) -> list[list[Dim]]:
    """Return the strides at which stages split each axis of a shape.

    The list of an axis that no stage splits is empty.
    """
    ends: list[set[tuple[Dim, Dim]]] = [set() for _ in shape]
    for dim_origins in stage_origins:
        atoms = [atom for origin in dim_origins for atom in origin or ()]
        mixed = {axis for atom in atoms if isinstance(atom, origins.MixedAtom) for axis in atom.axes}
        own: dict[int, list[origins.AxisAtom]] = {}
        for atom in atoms:
            if isinstance(atom, origins.AxisAtom) and not atom.operand:
                own.setdefault(atom.axis, []).append(atom)
        for axis, parts in own.items():
            if len(parts) > 1 or axis in mixed:
                ends[axis].update(map(_atom_bounds, parts))
                dim = shape[axis]
                tops = {high for _, high in ends[axis]} - {low for low, _ in ends[axis]} if axis in mixed else set()
                ends[axis].update([(high, dim) for high in tops if dim is not None and high != dim])
    return [_nested_boundaries(parts) for parts in ends]


def _operand_boundaries(stage_origins: Iterable[Origins]) -> dict[tuple[int, int], list[Dim]]:
    """Return the strides at which stages split axes of other operands.

    They are keyed by operand and axis.
    """
    ends = dict[tuple[int, int], set[tuple[Dim, Dim]]]()
    for dim_origins in stage_origins:
        own = dict[tuple[int, int], list[origins.AxisAtom]]()
        for atom in (atom for origin in dim_origins for atom in origin or ()):
            if isinstance(atom, origins.AxisAtom) and atom.operand:
                own.setdefault((atom.operand, atom.axis), []).append(atom)
        for key, parts in own.items():
            if len(parts) > 1:
                ends.setdefault(key, set()).update(map(_atom_bounds, parts))
    return {key: _nested_boundaries(parts) for key, parts in ends.items()}


def atom_boundaries(atoms: Iterable[origins.AxisAtom]) -> list[Dim]:
    """Return the strides at the boundaries between the parts of an axis.

    The outermost boundary is first. The list is empty if two parts overlap and neither contains the other.
    """
    return _nested_boundaries([_atom_bounds(atom) for atom in atoms])


def _nested_boundaries(parts: Collection[tuple[Dim, Dim]]) -> list[Dim]:
    """Return the strides at the boundaries between the parts of an axis.

    The outermost boundary is first. A part is a pair of its inner and outer stride. The list is empty if two parts
    overlap and neither contains the other.

    >>> _nested_boundaries([(1, 4), (4, 8), (1, 8)]), _nested_boundaries([(1, 3), (3, 12), (1, 4), (4, 12)])
    ([8, 4, 1], [])
    """
    depths = dict.fromkeys([end for part in parts for end in part], 0)
    for _ in depths:
        for low, high in parts:
            depths[high] = max(depths[high], depths[low] + 1)
    ordered = sorted(depths, key=depths.__getitem__, reverse=True)
    is_nested = all(depths[outer] == depths[inner] + 1 for outer, inner in pairwise(ordered))
    return ordered if is_nested else []


def _pattern_names(trace: Trace) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the axis names in the pattern of a `rearrange` request.

    The first tuple contains the names of each input dim, the second the names of the output axes. Both are empty if
    there is no valid pattern.
    """
    if trace.op != "rearrange":
        return (), ()
    arguments = trace.request.arguments
    try:
        # imported here, because it takes 2 ms, and only rearrange needs it
        from shapecalc.core.ops.rearrange import plan_rearrange

        plan = plan_rearrange(len(trace.input), arguments["pattern"], arguments.get("lengths"))
    except ShapeError:
        return (), ()
    left = [tuple([name for name in axes if name.isidentifier()]) for axes in plan.left]
    return tuple(left), tuple([name for axes in plan.right for name in axes])


@lru_cache(maxsize=1)
def stage_layouts(answer: Trace | Chain) -> tuple[StageLayout, ...]:
    """Return the layouts of an answer's stages, in order.

    If the request was refused, the last layout contains unresolved dims.

    >>> import shapecalc as sc
    >>> layouts = stage_layouts(sc.reshape((2, 3, 4), (0, -1)))
    >>> [(layout.title, [str(cell.dim) for cell in layout.cells]) for layout in layouts]
    [('reshape 0,-1', ['2', '12'])]
    """
    return lay_out_answer(answer)[1]


@lru_cache(maxsize=1)
def lay_out_answer(answer: Trace | Chain) -> tuple[tuple[DimCell, ...], tuple[StageLayout, ...]]:
    """Return the cells of the input and the layouts of all stages."""
    finished = [stage for stage in answer.stages if stage.after is not None]
    of_input = [
        compute_stage_origins(answer.input, tuple(finished[: index + 1]), stage.after or (), answer.conditions)
        for index, stage in enumerate(finished)
    ]
    naming, result = AxisNames(answer, of_input), list[StageLayout]()
    head = cells = tuple(
        [
            DimCell(dim, -1, DimMark(naming.axis_names[axis], _axes_colour([axis])))
            for axis, dim in enumerate(answer.input)
        ]
    )
    first, never = 0, len(answer.steps)
    for trace in answer.traces:
        first += len(trace.input_steps)
        stages = trace.stages or (_empty_stage(trace.request),) * (trace.problem is not None)
        for index, stage in enumerate(stages):
            problem = trace.problem if index == len(stages) - 1 else None
            in_input = of_input[len(result)] if stage.is_finished else ()
            in_stage = (stage.origins or ()) if result else in_input
            result.append(_build_layout(trace, stage, first, (cells, in_stage, in_input), never, problem, naming))
            cells = result[-1].cells
            first += len(stage.steps)
    return head, tuple(result)


def _empty_stage(request: Request) -> Stage:
    """Return a stage without steps, for a request that is refused before its first step."""
    if "operands" in request.arguments or "weight" in request.arguments:
        return Stage(StageKind.BROADCAST, request.op, "", request.input)
    asked = next((value for value in request.arguments.values() if isinstance(value, tuple)), ())
    return Stage(StageKind.RESHAPE, request.op, "", request.input, asked)


def input_cells(answer: Trace | Chain) -> tuple[DimCell, ...]:
    """Return the dims of the input shape, with the data for drawing them."""
    return lay_out_answer(answer)[0]


def layout_index(all_layouts: Sequence[StageLayout], step_index: int | None) -> int:
    """Return the index of the layout that contains a step.

    If `step_index` is None or after the last step, this is the last layout.
    """
    for index, layout in enumerate(all_layouts):
        if step_index is not None and step_index < layout.step_range.stop:
            return index
    return len(all_layouts) - 1


def _build_layout(
    trace: Trace,
    stage: Stage,
    first_step: int,
    inputs: tuple[tuple[DimCell, ...], Origins, Origins],
    unresolved_step: int,
    problem: Problem | None,
    axis_names: AxisNames,
) -> StageLayout:
    """Build the layout of a stage.

    `inputs` contains the cells before the stage, and the origins of its output dims: those in the input of the stage,
    and those in the input of the answer.
    """
    cells_before, in_stage, in_input = inputs
    numbered_steps = [(first_step + index, step) for index, step in enumerate(stage.steps)]
    cells = _make_output_cells(stage, numbered_steps, unresolved_step, trace.request.arguments.get(stage.argument))
    wires = _find_wires(stage, cells, in_stage)
    mixed = frozenset([out for out in origins.find_mixed_dims(in_stage) if wires[out]])
    operand_names = axis_names.name_operands(stage, trace.request)
    marks, pieces, fresh = _assign_marks(trace, stage, cells_before, (in_stage, in_input), wires, axis_names)
    cells = [replace(cell, mark=mark) for cell, mark in zip(cells, marks, strict=True)]
    _mark_remaining_parts(cells_before, in_stage, pieces)
    numbers = (
        range(first_step, first_step + len(numbered_steps))
        if numbered_steps
        else range(unresolved_step, unresolved_step)
    )
    fault = None if problem is None else _refused_dim(trace.request, stage, cells, problem)
    name, title, cuts = stage_name(stage), stage_title(trace.request, stage), stage.kind in REGROUPING_KINDS
    dropped = (
        range(len(cells_before))
        if stage.is_finished
        else find_dropped_axes(stage)
        if stage.kind is StageKind.SQUEEZE
        else ()
    )
    all_links = origins.group_axes(len(cells_before), wires, mixed)
    links = tuple([link for link in all_links if link.outputs or link.sources[0] in dropped])
    after = tuple(cells), wires, mixed, frozenset(fresh), pieces, links
    return StageLayout(
        stage, name, title, numbers, cells_before, *after, problem, fault, cuts, trace.request, operand_names
    )


def _refused_dim(request: Request, stage: Stage, cells: Sequence[DimCell], problem: Problem) -> int | None:
    """Return the index of the refused output dim, or None.

    If the problem does not concern the argument of the stage, this is the first unresolved output dim. If one item of
    the argument represents several dims, this is the only unresolved dim with the refused value.
    """
    if problem.argument != stage.argument:
        first_unknown = next((out for out, cell in enumerate(cells) if cell.dim is None), None)
        return first_unknown if stage.steps else problem.index
    argument = request.arguments.get(stage.argument)
    if problem.index is None or argument == stage.requested or not isinstance(argument, tuple):
        return problem.index
    if problem.index >= len(argument):  # the index is a position in the text of a single item, not the index of an item
        return None
    refused = str(argument[problem.index])
    rows = [out for out, cell in enumerate(cells) if cell.dim is None and cell.token == refused]
    return rows[0] if len(rows) == 1 else None


def _make_output_cells(
    stage: Stage, numbered_steps: list[tuple[int, Step]], unresolved_step: int, argument: object
) -> list[DimCell]:
    """Return the output cells of a stage, without marks.

    `argument` is the argument of the stage. In the target of an expand, a 1 is treated as a requested value, because
    the output dim can be larger. A refused stage has cells for its resolved dims, and for the requested values of the
    other dims.
    """
    settled = {
        step.out: DimCell(step.dim, number, None, _token_text(step))
        for number, step in numbered_steps
        if step.out is not None
    }
    if stage.kind is StageKind.EXPAND and argument == stage.requested:
        front = len(settled) - len(argument)
        stretched = [out for out, cell in settled.items() if out >= front and argument[out - front] == 1 != cell.dim]
        settled |= {out: replace(settled[out], token="1") for out in stretched}
    if not stage.is_finished:
        requested = stage.requested if stage.kind not in (StageKind.SQUEEZE, StageKind.UNSQUEEZE) else ()
        missing = [DimCell(None, unresolved_step, None, str(dim)) for dim in requested]
        missing += [DimCell(None, unresolved_step)] * (max(settled, default=-1) + 1 - len(missing))
        return [settled.get(out) or cell for out, cell in enumerate(missing)]
    dims, last = stage.after or (), numbered_steps[-1][0] if numbered_steps else unresolved_step
    if stage.kind is StageKind.SQUEEZE:
        keeps = {step.sources[0]: number for number, step in numbered_steps if step.rule in rules.KEPT_DIM_RULES}
        dropped = find_dropped_axes(stage)
        kept = [axis for axis in range(len(stage.before)) if axis not in dropped]
        settled = {out: DimCell(dims[out], keeps.get(axis, last)) for out, axis in enumerate(kept)}
    return [settled.get(out) or DimCell(dim, last) for out, dim in enumerate(dims)]


def _token_text(step: Step) -> str:
    """Format the requested value, such as 0 or -1, of the dim that a step resolves."""
    if step.rule == rules.STRETCHED and step.facts["dim"] == 1 and step.value != 1:
        return f"x{step.value}"
    return TOKEN_FORMATS.get(step.rule, "").format(**step.facts)


def find_dropped_axes(stage: Stage) -> list[int]:
    """Return the axes that a squeeze drops."""
    return [step.sources[0] for step in stage.steps if step.rule == rules.DROPPED_ONE]


def _find_wires(stage: Stage, cells: Sequence[DimCell], dim_origins: Origins) -> tuple[tuple[int, ...], ...]:
    """Return the input dims on which each output dim of a stage depends.

    A dim without an origin depends on the sources of its step, unless the stage has regrouped or combined the axes. A
    refused stage has the wires of its completed steps.
    """
    settling = {step.out: step.sources for step in stage.steps if step.out is not None and step.rule not in INFER_RULES}
    if stage.is_finished and stage.kind in (*REGROUPING_KINDS, *COMBINING_KINDS):
        settling = {}
    of_dims = dim_origins or (None,) * len(cells)
    return tuple([origins.list_input_axes(origin) or settling.get(out, ()) for out, origin in enumerate(of_dims)])


def _assign_marks(
    trace: Trace,
    stage: Stage,
    cells_before: Sequence[DimCell],
    dim_origins: tuple[Origins, Origins],
    wires: Wires,
    axis_names: AxisNames,
) -> tuple[list[DimMark | None], dict[tuple[int, int], DimMark], set[int]]:
    """Return the marks of a stage: of output dims, and of parts of input dims.

    The third result contains the output dims with new marks, such as `~x`. `dim_origins` contains the origins of the
    output dims in the input of the stage, and in the input of the answer.
    """
    marks, pieces, fresh = list[DimMark | None](), dict[tuple[int, int], DimMark](), set[int]()
    if stage.kind is StageKind.SHAPE or not stage.is_finished:
        return [cells_before[axes[0]].mark if len(axes) == 1 else None for axes in wires], pieces, fresh
    if stage.kind in COMBINING_KINDS:
        return (
            [_operand_mark(cells_before, *origin, axis_names) for origin in zip(wires, *dim_origins, strict=True)],
            pieces,
            fresh,
        )
    all_boundaries = _axis_boundaries(stage.before, [dim_origins[0]])
    output_names = (
        axis_names.output_names if trace.op == "rearrange" and len(axis_names.output_names) == len(wires) else ()
    )
    for out, (atoms, in_input, axes) in enumerate(zip(*dim_origins, wires, strict=True)):
        parts = _find_parts(cells_before, atoms or (), all_boundaries)
        clean = bool(in_input) and all(isinstance(atom, origins.AxisAtom) for atom in in_input or ())
        if clean and parts is None:
            parts = _find_input_parts(atoms or (), axis_names.named_parts(in_input or ()))
        pieces |= {(axis, out): DimMark(names) for axis, names in parts or ()}
        if clean:
            marks.append(axis_names.make_mark(in_input or ()))
        elif not axes:
            marks.append(DimMark((output_names[out] if output_names and output_names[out].isidentifier() else "new",)))
        elif parts is None:
            fresh.add(out)
            marks.append(axis_names.next_mixed_mark())
        elif not parts:
            marks.append(cells_before[axes[0]].mark)
        else:
            hue = mark_colour(cells_before[axes[0]].mark) if len(axes) == 1 else MERGED_HUE
            marks.append(DimMark(tuple([name for _, names in parts for name in names]), hue))
    return marks, pieces, fresh


def _operand_mark(
    cells_before: Sequence[DimCell],
    axes: tuple[int, ...],
    atoms: Origin | None,
    input_origin: Origin | None,
    axis_names: AxisNames,
) -> DimMark:
    """Return the mark of an output dim of an op with several operands.

    A dim from the input keeps its mark. A dim from another operand has a mark such as `B2`, for axis 2 of operand B. A
    plus sign marks the axis of a concatenation.
    """
    if not axes:
        names = [axis_names.operand_axis_name(*pair) for pair in origins.list_operand_axes(input_origin)]
        return DimMark(tuple(names[:1]) or ("new",))
    own = cells_before[axes[0]].mark or DimMark(())
    joins = isinstance(atoms[0], origins.ConcatAtom) if atoms else False
    return replace(own, names=(*own.names[:-1], f"{own.names[-1]}+")) if joins and own.names else own


def _find_parts(
    cells_before: Sequence[DimCell], atoms: Origin, boundaries: Sequence[Sequence[Dim]]
) -> AxisParts | None:
    """Return the input dims, or parts of them, that form an output dim.

    Returns None if a part belongs to an input dim with several names, or if the dim does not come from input axes.
    """
    result: AxisParts = []
    for atom in atoms:
        if isinstance(atom, origins.RepeatAtom):
            continue
        if not isinstance(atom, origins.AxisAtom) or atom.operand:
            return None
        cell, cuts = cells_before[atom.axis], boundaries[atom.axis]
        part_names = (cell.mark or DimMark(())).names
        if atom.size != cell.dim:
            high = _atom_bounds(atom)[1]
            if len(part_names) != 1 or high not in cuts:
                return None
            part_names = (f"{part_names[0]}{1 + cuts.index(high)}",)
        result.append((atom.axis, part_names))
    return result


def _find_input_parts(atoms: Origin, named_parts: Sequence[tuple[str, Dim]]) -> AxisParts | None:
    """Return the parts of the answer's input axes that form an output dim.

    `named_parts` are the names and sizes of the parts of the input, in order. Returns None if the sizes do not match
    the origin of the dim.
    """
    result: AxisParts = []
    remaining = list(named_parts)
    for atom in atoms:
        part_names = list[str]()
        size: Dim = 1
        while isinstance(atom, origins.AxisAtom) and size != atom.size and remaining:
            name, more = remaining.pop(0)
            part_names.append(name)
            size = product((size, more))
        if not isinstance(atom, origins.AxisAtom) or size != atom.size:
            return None
        result.append((atom.axis, tuple(part_names)))
    return result


def _mark_remaining_parts(
    cells_before: Sequence[DimCell], dim_origins: Origins, part_marks: dict[tuple[int, int], DimMark]
) -> None:
    """Add marks for parts of axes that only dims that mix axes contain.

    A mark names all parts of the axis that are in no other dim.
    """
    mixing_dims = origins.find_mixed_dims(dim_origins)
    all_boundaries = (
        _axis_boundaries([cell.dim for cell in cells_before], [dim_origins]) if mixing_dims and part_marks else []
    )
    for axis, boundaries in enumerate(all_boundaries):
        used = {name for (source, _), mark in part_marks.items() if source == axis for name in mark.names}
        own = mark_text(cells_before[axis].mark, UNICODE)
        parts = [f"{own}{at}" for at in range(1, len(boundaries))]
        if used and used < {*parts}:
            rest = DimMark(tuple([name for name in parts if name not in used]))
            part_marks |= {
                (axis, out): rest for out in mixing_dims if axis in origins.list_input_axes(dim_origins[out])
            }


def stage_operands(layout: StageLayout) -> list[Operand]:
    """Return the operands of a stage including its input, in request order."""
    return _request_operands(layout.request, layout.stage.before)


def _request_operands(request: Request, before: Sequence[Dim]) -> list[Operand]:
    before, arguments = tuple(before), request.arguments
    if "operands" in arguments:
        return number_operands(before, arguments["operands"])
    other_shape = arguments.get("weight", arguments.get("kernel"))
    if other_shape is None and "out_features" in arguments and before:
        other_shape = (*arguments["out_features"], before[-1])
    if "kernel" in arguments and isinstance(other_shape, tuple) and len(other_shape) == 1:
        other_shape *= len(before) - 2
    return [Operand(0, before)] + ([Operand(1, other_shape)] if isinstance(other_shape, tuple) else [])


def wire_label(layout: StageLayout, axes: Sequence[int], out_dims: Sequence[int], glyphs: GlyphSet) -> str:
    """Return the label of the wires from some input axes to some output dims."""
    marks = [layout.part_marks.get((axes[0], out)) for out in out_dims if len(axes) == 1]
    if marks and all(marks):
        names = dict.fromkeys(name for mark in marks for name in (mark.names if mark else ()))
        return mark_text(DimMark(tuple(names)), glyphs)
    return ",".join([mark_text(layout.cells_before[axis].mark, glyphs) for axis in axes])


def size_only_note(layout: StageLayout, out_dim: int, glyphs: GlyphSet) -> str:
    """Return a note on a dim that copies only a size, or an empty string.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> size_only_note(stage_layouts(sc.reshape((2, 2, 3, 2), (-1, 0, 0)))[0], 1, ASCII)
    'only the size is copied: the elements of dim 1 are of c and d'
    """
    if out_dim not in layout.size_only_dims:
        return ""
    axes = join_with_and([mark_text(layout.cells_before[axis].mark, glyphs) for axis in layout.wires[out_dim]])
    return f"only the size is copied: the elements of dim {out_dim} are of {axes}"


def hide_dims(layout: StageLayout, placeholders: Mapping[int, str]) -> StageLayout:
    """Return a copy of a layout in which some dims are hidden.

    `placeholders` maps the index of each hidden dim to its placeholder. If the stage regroups elements, all marks and
    wires are removed, because they would reveal hidden sizes.

    >>> import shapecalc as sc
    >>> layout = stage_layouts(sc.reshape((2, 3), (0, -1)))[0]
    >>> [(str(cell.dim), cell.placeholder) for cell in hide_dims(layout, {1: "_"}).cells]
    [('2', ''), ('None', '_')]
    """
    if not placeholders:
        return layout
    hidden: Collection[int] = range(len(layout.cells)) if layout.is_regrouping else placeholders
    cells = [replace(cell, mark=None) if out in hidden else cell for out, cell in enumerate(layout.cells)]
    cells = [
        replace(cell, dim=None, placeholder=placeholders[out]) if out in placeholders else cell
        for out, cell in enumerate(cells)
    ]
    wires = tuple([() if out in hidden else axes for out, axes in enumerate(layout.wires)])
    all_links, no_dims = origins.group_axes(len(layout.cells_before), wires), frozenset[int]()
    links = tuple([link for link in all_links if link.outputs or link in layout.links])
    stage = replace(layout.stage, after=None, move=None)
    result = replace(
        layout, cells=tuple(cells), wires=wires, links=links, mixing_dims=no_dims, newly_marked_dims=no_dims
    )
    return replace(result, stage=stage)


def unresolved_trace(answer: Trace | Chain) -> Trace:
    """Return the trace of an answer's first op before its dims are resolved.

    Only the sizes in the request are resolved, so the trace does not reveal whether the request is refused. All stages
    of a Shuffle are included. The target of an expand becomes a second operand, because it can have more dims than the
    input.

    >>> import shapecalc as sc
    >>> trace = unresolved_trace(sc.reshape((2, 3, 4), (0, -1, 4)))
    >>> [(cell.token, str(cell.dim)) for cell in stage_layouts(trace)[0].cells]
    [('0', 'None'), ('-1', 'None'), ('', '4')]
    >>> trace = unresolved_trace(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)))
    >>> [layout.title for layout in stage_layouts(trace)]
    ['transpose 1,0', 'reshape 0,-1']
    """
    first = answer.traces[0]
    request, kind = first.request, first.stages[0].kind if first.stages else StageKind.PERMUTE
    named = [(name, value) for name, value in request.arguments.items() if isinstance(value, tuple)]
    shuffled, stages = [item for item in named if item[0] in ("first", "to", "second")], list[Stage]()
    if request.op == "expand":
        request, kind = (
            replace(request, arguments={**request.arguments, "operands": (named[0][1],)}),
            StageKind.BROADCAST,
        )
    for name, requested in shuffled or named[:1] or [("", ())]:
        cuts = name == "to" or request.op in ("reshape", "view")
        kept = requested if cuts or name in ("perm", "first", "second") else ()
        settled = [at for at, dim in enumerate(requested if cuts else ()) if not (isinstance(dim, int) and dim < 1)]
        steps = tuple([Step(rules.GIVEN_DIM, at, (), requested[at]) for at in settled])
        stage_kind = StageKind.RESHAPE if cuts else kind if kind in COMBINING_KINDS else StageKind.PERMUTE
        label, before = name if shuffled else request.op, () if stages else request.input
        stages.append(Stage(stage_kind, label, name, before, kept, steps))
    return Trace(request, stages=tuple(stages))


def unresolved_dims(answer: Trace | Chain, step_count: int) -> tuple[tuple[int, int], ...]:
    """Return the positions of the dims that the first `step_count` steps do not resolve.

    A position consists of the column in the flow diagram and the index in the column.
    """
    columns = ((column, layout.cells) for column, layout in enumerate(stage_layouts(answer), 1))
    return tuple(
        (column, row) for column, cells in columns for row, cell in enumerate(cells) if cell.step_index >= step_count
    )
