"""The frames that settle dims: a copied 0 glides down from its index, and -1 fills from the budget."""

from __future__ import annotations

from shapecalc.core.answers import Kind
from shapecalc.core.rules import CopiedZero, DroppedOne, Inferred
from shapecalc.core.text import dim_text, number_text
from shapecalc.view.film.board import AFTER, ASKED, BEFORE, INDEX, PART, SUM
from shapecalc.view.film.frames import Ask
from shapecalc.view.layout import INFERS
from shapecalc.view.marks import COLOURS, mark_text
from shapecalc.view.strokes import UNICODE
from shapecalc.view.sums import division

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Step
    from shapecalc.core.dims import Dim
    from shapecalc.view.film.board import Board
    from shapecalc.view.layout import Cell, Layout

MOST_PIECES = 24
"""The most pieces that a -1 is filled with one by one."""
MOST_FILLS = 8
"""The most frames that fill a -1."""
LONGEST_BAR = 48
SHORTEST_BAR = 8
BAR_GAP = 3
FALLING = 0.35
"""Seconds in which a piece of the budget falls."""


def cell_text(cell: Cell) -> str:
    """Return a dim with its mark, if it has one; a hole for one that was not settled."""
    marked = f"{mark_text(cell.mark, UNICODE)} " if cell.mark else ""
    return UNICODE.hole if cell.dim is None else f"{marked}{cell.dim}"


def cell_look(cell: Cell) -> str:
    """Return the looks of a dim: the colour of the outermost axis that it holds."""
    axis = cell.mark[0].axis if cell.mark else None
    return "ink" if axis is None else f"axis{axis % len(COLOURS)}"


def open_stage(board: Board, layout: Layout, number: int, said: str) -> None:
    """Make the frame in which a stage begins: its dims, what is asked for, and holes for what they become.

    The dims of a stage have its number in their keys; those that it makes have the next, and glide up after it.
    """
    board.drop("index", "asked", "label", "hole", "sum", "part", "piece", f"dim{number - 1}.")
    ranks = max(len(layout.before), len(layout.cells))
    for dim in range(ranks):
        board.put_dim(f"index{dim}", dim, INDEX, str(dim), "quiet")
    for axis, cell in enumerate(layout.before):
        board.put_dim(f"dim{number}.{axis}", axis, BEFORE, cell_text(cell), cell_look(cell))
    for dim, token in enumerate(_asked(layout)):
        board.put_dim(f"asked{dim}", dim, ASKED, token)
    for dim in range(len(layout.cells)):
        board.put_dim(f"hole{dim}", dim, AFTER, UNICODE.hole, "quiet")
    rows = [("index", INDEX), ("have", BEFORE), ("becomes", AFTER)] + [("asked", ASKED)] * bool(_asked(layout))
    for text, row in rows:
        board.put(f"label{row}", 0, row, text, "quiet")
    board.frame(said, None if not layout.numbers else layout.numbers.start)


def _asked(layout: Layout) -> list[str]:
    """Return what was asked for each dim of a stage's output, if that is how the stage was asked."""
    asked = [str(token) for token in layout.stage.asked]
    return asked if len(asked) == len(layout.cells) else []


def has_room(board: Board, step: Step, outs: list[int]) -> bool:
    """Say whether there is room for what a step does; a -1 has some of its own."""
    return min((*outs, *step.sources), default=0) < board.columns or isinstance(step.facts, INFERS)


def settle(board: Board, layout: Layout, number: int, at: int, step: Step, outs: list[int]) -> None:
    """Make the frames of one step that settles some dims or lets one go."""
    lit = [f"dim{number}.{axis}" for axis in step.sources] + [f"asked{out}" for out in outs]
    if isinstance(step.facts, CopiedZero) or layout.stage.kind is Kind.PERMUTE:
        lit += [f"index{axis}" for axis in step.sources]
    kept = {key: board.sprites[key].look for key in lit if key in board.sprites}
    board.light(lit)
    if isinstance(step.facts, INFERS) and outs:
        _infer(board, layout, number, at, step, outs[0])
    else:
        if isinstance(step.facts, DroppedOne):
            board.put_dim(f"dim{number}.{step.sources[0]}", step.sources[0], BEFORE, f"({step.value})", "lit")
        for out in outs:
            source = min(step.sources[0], board.columns) if step.sources else out
            _fill(board, layout, number, out, (board.x(source), BEFORE if step.sources else ASKED))
        board.ask(question_about(layout, outs))
        board.frame(step.why, at)
    kept |= {f"dim{number + 1}.{out}": cell_look(layout.cells[out]) for out in outs}
    for key, look in kept.items():
        board.light([key], look)


def _fill(board: Board, layout: Layout, number: int, out: int, start: tuple[float, float]) -> None:
    """Let a dim come from a place into its hole."""
    cell, key = layout.cells[out], f"dim{number + 1}.{out}"
    board.remove(f"hole{out}")
    board.put_dim(key, out, AFTER, cell_text(cell), "lit")
    board.glide(key, start)


def question_about(layout: Layout, outs: list[int]) -> Ask | None:
    """Return what can be asked before dims are filled; None if they need no finding."""
    asked, dims = _asked(layout), [str(cell.dim) for cell in layout.cells]
    sought = [out for out in outs if not (layout.cuts and asked and asked[out] == dims[out])]
    if not sought:
        return None
    answer = ",".join(dims[out] for out in sought)
    if len(sought) == 1:
        token = f", asked for as {asked[sought[0]]}," if asked else ""
        return Ask(f"What does output dim {sought[0]}{token} become?", answer)
    run = sought == [*range(sought[0], sought[-1] + 1)]
    named = f"{sought[0]} to {sought[-1]}" if run else ", ".join(map(str, sought))
    return Ask(f"What do output dims {named} become?", answer)


def _infer(board: Board, layout: Layout, number: int, at: int, step: Step, out: int) -> None:
    """Make the frames of a -1: the budget, how often the known dims fit in it, and what that makes."""
    facts = step.facts
    have = facts.have if isinstance(facts, INFERS) else 0
    factors = " * ".join(str(cell.dim) for cell in layout.before) or "1"
    total = f" = {dim_text(have)}" if isinstance(have, int) and len(layout.before) > 1 else ""
    divided = f"-1      {division(layout, step)} ="
    board.put("sum", 0, board.row(SUM), f"have    {factors}{total}")
    board.put("part", 0, board.row(PART), f"{divided} {UNICODE.hole}")
    bar = _put_budget(board, have) if isinstance(facts, Inferred) else None
    board.frame("-1 is the elements divided by the known dims.", at)
    board.ask(question_about(layout, [out]))
    if bar and isinstance(step.value, int):
        _fill_bar(board, bar, step.value, at)
    board.put("part", 0, board.row(PART), f"{divided} {dim_text(step.dim)}")
    _fill(board, layout, number, out, (len(board.sprites["part"].text) - 1, board.row(PART)))
    board.frame(step.why, at)


def _put_budget(board: Board, have: Dim) -> tuple[int, int] | None:
    """Draw the elements that there are as a bar; return where it begins and how long it is, None if it cannot be."""
    start = max(len(board.sprites["sum"].text), len(board.sprites["part"].text)) + BAR_GAP
    room = min(LONGEST_BAR, board.width - start)
    if not isinstance(have, int) or have < 1 or room < SHORTEST_BAR:
        return None
    long = room // have * have or room
    board.put("sumbar", start, board.row(SUM), UNICODE.block * long)
    return start, long


def _fill_bar(board: Board, bar: tuple[int, int], times: int, at: int) -> None:
    """Make the frames in which pieces of the budget fall, one for each time that the known dims fit in it."""
    start, long = bar
    shown = times if times <= MOST_PIECES and times <= long else 1
    each = -(-shown // MOST_FILLS)
    for first in range(0, shown, each):
        for piece in range(first, min(shown, first + each)):
            left, right = (start + edge * long // shown for edge in (piece, piece + 1))
            block = UNICODE.shade if piece % 2 else UNICODE.block
            board.put(f"piece{piece}", left, board.row(PART), block * (right - left))
            board.glide(f"piece{piece}", (left, board.row(SUM)))
        count = min(shown, first + each) if shown == times else times
        said = f"The known dims fit {number_text(count, 'time', 'times')}."
        board.frame(said, at, arrive=FALLING, hold=FALLING / 2)
