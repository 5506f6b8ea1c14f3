"""The lines of moves, built move by move: each cuts, turns, mixes or repeats the parts of the axes that there are."""

from __future__ import annotations

from itertools import accumulate
from math import prod

from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll
from shapecalc.engine.stores.aligning import aligned
from shapecalc.engine.stores.lines import Factor, Line, Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shapecalc.core.moves import Move
    from shapecalc.engine.stores.lines import Sizes

    Positions = tuple[int, int, int]
    """Positions of an axis: the first, how far apart they are, and how many."""


class LinesError(ValueError):
    """Moves that no lines stand for. The message gives the reason."""


class _Run:
    """A line while moves are looked at: the parts of the source, and the cells that it is cut into now."""

    def __init__(self, sources: Iterable[Factor]) -> None:
        self.sources = tuple(sources)
        self.cells: list[_Cell] = []

    def add(self, size: int) -> _Cell:
        """Return a new cell, the innermost so far."""
        self.cells.append(_Cell(size, self))
        return self.cells[-1]


class _Cell:
    """A part of an axis of the array as it is now; one without a run repeats the others."""

    def __init__(self, size: int, run: _Run | None) -> None:
        self.size = size
        self.run = run

    @property
    def source(self) -> Factor | None:
        """The part of the source that it is, if it is one part alone."""
        alone = self.run is not None and len(self.run.sources) == len(self.run.cells) == 1
        return self.run.sources[0] if self.run is not None and alone else None


def lines_of(source: Sizes, moves: Sequence[Move]) -> Lines:
    """Return the lines of an array of shape `source` under moves; no dim of it may be 0.

    Raises `LinesError` for moves that one pass over the data cannot make.

    >>> [line.size for line in lines_of((2, 3, 4), [Permute((1, 0, 2)), Reshape((3, 8))]).lines]
    [3, 2, 4]
    """
    building, output = _Building(source), source
    for move in moves:
        after: Sizes = move.after(output)  # type: ignore[assignment]  # all of them are numbers
        building.make(move, output, after)
        output = after
    return building.lines(output)


def fewest_lines(source: Sizes, moves: Sequence[Move]) -> tuple[Lines, ...]:
    """Return the lines of moves, in as few rows of moves as there are; of those, with the smallest arrays between.

    Raises `LinesError` for a move that no lines stand for.

    >>> len(fewest_lines((2, 3), [Reshape((3, 2)), Permute((1, 0)), Reshape((3, 2)), Permute((1, 0))]))
    2
    """
    shapes: list[Sizes] = [*accumulate(moves, lambda shape, move: move.after(shape), initial=source)]  # type: ignore[arg-type, return-value]
    best: list[tuple[int, int, tuple[Lines, ...]]] = [(0, 0, ())]
    for end in range(1, len(shapes)):
        ways = []
        for begin in range(end):
            count, between, before = best[begin]
            try:
                lines = lines_of(shapes[begin], moves[begin:end])
            except LinesError as error:
                refused = error
            else:
                ways.append((count + 1, between + (prod(shapes[begin]) if begin else 0), (*before, lines)))
        if not ways:
            raise refused
        best.append(min(ways, key=lambda way: way[:2]))
    return best[-1][2] or (lines_of(source, ()),)


class _Building:
    """The axes of an array while moves are made: the cells of each, and how the source's axes are read."""

    def __init__(self, source: Sizes) -> None:
        self.source = source
        self.starts, self.rolls = [0] * len(source), [0] * len(source)
        self.axes = [[_Run([Factor(axis, size, 1)]).add(size)] if size != 1 else [] for axis, size in enumerate(source)]

    def make(self, move: Move, before: Sizes, after: Sizes) -> None:
        """Make a move; raise `LinesError` if that takes a pass of its own."""
        if isinstance(move, Permute):
            self.axes = [self.axes[axis] for axis in move.axes]
        elif isinstance(move, Reshape):
            self.axes = _reshaped(self.axes, after)
        elif isinstance(move, Expand):
            self.axes = _expanded(self.axes, before, after)
        elif isinstance(move, Pick):
            self._pick(move, before)
        elif isinstance(move, Roll):
            self._roll(move, before)
        else:
            raise LinesError("shape returns dims, so no element moves")

    def _pick(self, move: Pick, before: Sizes) -> None:
        picked = []
        for cells, dim, (start, step, size) in zip(self.axes, before, move.axes, strict=True):
            count, first = 1 if size is None else size, start % dim
            if count != 1 and step < 0:
                cells, first, step = self._turned(cells), dim - 1 - first, -step
            whole = first == 0 and step == 1 and count == dim
            picked.append(cells if whole else self._part(_joined(cells), first, step, count))
        self.axes = [cells for cells, size in zip(picked, move.sizes, strict=True) if size is not None]

    def _turned(self, cells: Sequence[_Cell]) -> list[_Cell]:
        """Return the cells of an axis that is read from its end."""
        return [part for cell in cells for part in self._part_of_one(cell, cell.size - 1, -1, cell.size)]

    def _part(self, cells: Sequence[_Cell], start: int, step: int, count: int) -> list[_Cell]:
        """Return the cells of `count` positions of an axis, each `step` after the one before."""
        if len(cells) < 2:
            return [part for cell in cells for part in self._part_of_one(cell, start, step, count)]
        within = prod(cell.size for cell in cells[1:])
        cut = _cut_positions(start, step, count, within)
        if cut is None:
            raise LinesError("a slice does not line up with the parts of its axis")
        return self._part(cells[:1], *cut[0]) + self._part(cells[1:], *cut[1])

    def _part_of_one(self, cell: _Cell, start: int, step: int, count: int) -> list[_Cell]:
        """Return what is left of a cell."""
        if count == cell.size and (start, step) == (0, 1):
            return [cell]
        if cell.run is None:
            return [_Cell(count, None)] if count != 1 else []
        if cell.source is None:
            raise LinesError("what is mixed is not picked from")
        axis, apart = cell.source.axis, cell.source.step
        self.starts[axis] += start * apart
        return [_Run([Factor(axis, count, step * apart)]).add(count)] if count != 1 else []

    def _roll(self, move: Roll, before: Sizes) -> None:
        size, cells = before[move.axis], _joined(self.axes[move.axis])
        if move.shift % size == 0 or all(cell.run is None for cell in cells):
            return
        source = cells[0].source if len(cells) == 1 else None
        if source is None or source.size != self.source[source.axis]:
            raise LinesError("what is rolled is not an axis of the source")
        self.rolls[source.axis] = (self.rolls[source.axis] + move.shift * source.step) % size

    def lines(self, output: Sizes) -> Lines:
        """Return the lines that the cells of the axes belong to, in the order in which they first stand there."""
        runs: dict[_Run, dict[_Cell, Factor]] = {}
        repeated = []
        for axis, cells in enumerate(map(_joined, self.axes)):
            factors = _parts_of(Factor(axis, output[axis], 1), [cell.size for cell in cells])
            for cell, factor in zip(cells, factors, strict=True):
                if cell.run is None:
                    repeated.append(factor)
                else:
                    runs.setdefault(cell.run, {})[cell] = factor
        lines = [Line(run.sources, tuple([factors[cell] for cell in run.cells])) for run, factors in runs.items()]
        return Lines(self.source, output, tuple(lines), tuple(self.starts), tuple(self.rolls), tuple(repeated))


def _cut_positions(start: int, step: int, count: int, within: int) -> tuple[Positions, Positions] | None:
    """Return the positions of the outer part of an axis, and those of the `within` that each step of it holds."""
    outer, inner = divmod(start, within)
    each = within // step
    if count == 1 or step % within == 0:
        return (outer, step // within, count), (inner, 1, 1)
    if inner + step * (count - 1) < within:
        return (outer, 1, 1), (inner, step, count)
    if within % step == 0 and count % each == 0 and inner < step:
        return (outer, 1, count // each), (inner, step, each)
    return None


def _expanded(axes: list[list[_Cell]], before: Sizes, after: Sizes) -> list[list[_Cell]]:
    new = len(after) - len(before)
    sizes = (1,) * new + before
    old: list[list[_Cell]] = [[] for _ in range(new)] + axes
    return [[_Cell(to, None)] if size == 1 != to else axis for axis, size, to in zip(old, sizes, after, strict=True)]


def _reshaped(axes: list[list[_Cell]], shape: Sizes) -> list[list[_Cell]]:
    """Return the axes after a reshape: cells are cut, and those mix whose cuts do not line up."""
    cells, dims = [cell for axis in axes for cell in axis], [dim for dim in shape if dim != 1]
    segments = aligned([cell.size for cell in cells], dims)
    pieces = iter(_cut_cells(cells, [[size for each in segments for at, size in each.ours if at == place]
                                     for place in range(len(cells))]))  # fmt: skip
    made: list[list[_Cell]] = [[] for _ in dims]
    for segment in segments:
        taken = [next(pieces) for _ in segment.ours]
        sizes = [size for _, size in segment.theirs]
        new = [taken] if len(sizes) == 1 else _mixed(taken, sizes)
        for (place, _), found in zip(segment.theirs, new, strict=True):
            made[place] += found
    waiting = iter(made)
    return [next(waiting) if dim != 1 else [] for dim in shape]


def _cut_cells(cells: Sequence[_Cell], sizes: Sequence[Sequence[int]]) -> list[_Cell]:
    """Return cells cut into parts; a run that is one cell of one source becomes as many runs."""
    made = []
    for cell, parts in zip(cells, sizes, strict=True):
        source, run = cell.source, cell.run
        if len(parts) == 1 or run is None:
            made += [cell] if len(parts) == 1 else [_Cell(size, None) for size in parts]
        elif source is not None:
            made += [_Run([part]).add(part.size) for part in _parts_of(source, parts)]
        else:
            new = [_Cell(size, run) for size in parts]
            place = run.cells.index(cell)
            run.cells[place : place + 1] = new
            made += new
    return made


def _parts_of(factor: Factor, sizes: Sequence[int]) -> list[Factor]:
    """Return a part of an axis cut into sizes, the outermost first."""
    made, left = [], factor.size
    for size in sizes:
        left //= size
        made.append(Factor(factor.axis, size, factor.step * left))
    return made


def _mixed(cells: Sequence[_Cell], sizes: Sequence[int]) -> list[list[_Cell]]:
    """Return what stands for each of the new sizes, where cells are cut otherwise; raise `LinesError` if none can."""
    sources = _merged([factor for run in _whole_runs(cells) for factor in run.sources])
    segments = aligned([factor.size for factor in sources], sizes)
    parts = iter(
        part
        for place, factor in enumerate(sources)
        for part in _parts_of(factor, [size for each in segments for at, size in each.ours if at == place])
    )
    made: list[list[_Cell]] = [[] for _ in sizes]
    for segment in segments:
        run = _Run([next(parts) for _ in segment.ours])
        for place, size in segment.theirs:
            made[place].append(run.add(size))
    return made


def _whole_runs(cells: Sequence[_Cell]) -> list[_Run]:
    """Return the runs that cells are, all of each and in order."""
    runs: list[_Run] = []
    waiting = list(cells)
    while waiting:
        run = waiting[0].run
        if run is None or run.cells != waiting[: len(run.cells)]:
            raise LinesError("a reshape mixes what is mixed or repeated already")
        runs.append(run)
        waiting = waiting[len(run.cells) :]
    return runs


def _merged(factors: Sequence[Factor]) -> list[Factor]:
    """Return parts of axes, with neighbours as one where they follow each other on an axis."""
    made: list[Factor] = []
    for factor in factors:
        if made and made[-1].axis == factor.axis and made[-1].step == factor.size * factor.step:
            factor = Factor(factor.axis, made.pop().size * factor.size, factor.step)
        made.append(factor)
    return made


def _joined(cells: Sequence[_Cell]) -> list[_Cell]:
    """Return the cells of an axis, with neighbours as one where they follow each other in the source, too."""
    made: list[_Cell] = []
    for cell in cells:
        before, own = made[-1].source if made else None, cell.source
        both = _merged([before, own]) if before and own else []
        if len(both) == 1:
            made[-1] = _Run(both).add(both[0].size)
        else:
            made.append(cell)
    return made
