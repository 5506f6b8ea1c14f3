"""An answer as a film: its stages in turn, the steps of each, and what it does to the elements in memory."""

from __future__ import annotations

from math import prod

from shapecalc.core.commands import command_line
from shapecalc.core.moves import Dims, Reshape
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import brief, dim_text, shape_text, visible
from shapecalc.view.budget import budget_of
from shapecalc.view.film.board import BEFORE, LABELS, LEAST_COLUMN, PART, RAIL, SUM, TITLE, Board
from shapecalc.view.film.carrying import carry, lay_memory
from shapecalc.view.film.frames import Film
from shapecalc.view.film.settling import cell_look, cell_text, has_room, open_stage, question_about, settle
from shapecalc.view.grid import Journey, journey_of
from shapecalc.view.layout import Layout, input_cells, layouts
from shapecalc.view.steps import shown_name
from shapecalc.view.strokes import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace

WIDTH, HEIGHT = 80, 24
"""The room of a film in character cells: what every terminal has."""
LEAST_HEIGHT = 16
MOST_ELEMENTS = 1 << 63
LAST = 3.5
"""Seconds for which the last frame stays."""


def film_of(answer: Trace | Chain, width: int = WIDTH, height: int = HEIGHT) -> Film:
    """Return an answer as a film in a room of character cells. A refused request is drawn as far as it got.

    >>> import shapecalc as sc
    >>> film = film_of(sc.reshape((2, 3), (0, -1)))
    >>> film.frames[-1].sentence, film.notes
    ('The answer is 2,3.', ())
    """
    made = layouts(answer)
    board = Board(width, max(LEAST_HEIGHT, height), _column(answer, made, width))
    title = visible(command_line(answer).removeprefix("shapecalc "))
    journey = _journey(board, answer)
    board.put("title", 0, TITLE, title, "bold")
    _put_rail(board, made, 0)
    for axis, cell in enumerate(input_cells(answer)):
        board.put_dim(f"dim0.{axis}", axis, BEFORE, cell_text(cell), cell_look(cell))
    if journey is None:
        board.fit(0, 0)
    else:
        lay_memory(board, journey)
    board.frame(f"The input is {brief(shape_text(answer.input))}.", None)
    moved = 0
    for number, layout in enumerate(made):
        _put_rail(board, made, number + 1)
        moved += _play_stage(board, layout, number, journey, moved)
    _end(board, answer, made)
    return Film(title, board.width, board.height, tuple(board.frames), tuple(board.notes))


def _column(answer: Trace | Chain, made: tuple[Layout, ...], width: int) -> int:
    """Return how many character cells a dim gets: as many as the longest needs, if there is room."""
    cells = [*input_cells(answer), *(cell for layout in made for cell in (*layout.before, *layout.cells))]
    longest = max((max(len(cell_text(cell)), len(cell.token)) for cell in cells), default=1)
    ranks = max([len(answer.input), *(max(len(layout.before), len(layout.cells)) for layout in made)])
    return max(LEAST_COLUMN, min(longest + 3, (width - LABELS - 1) // max(1, ranks)))


def _journey(board: Board, answer: Trace | Chain) -> Journey | None:
    """Return the journey of the elements as far as it goes; None if they have none, which is noted."""
    try:
        journey = journey_of(answer, whole=False)
    except ShapeError as error:
        board.note(f"no memory is drawn: {error.problem.message}")
        return None
    volumes = [prod(point.shape) for point in journey.points]
    kept = zip(volumes, volumes[1:], journey.moves, strict=False)
    if any(before != after for before, after, move in kept if isinstance(move, Reshape)):
        board.note("no memory is drawn: no small sizes meet the conditions")
        return None
    if max(volumes) > MOST_ELEMENTS:
        board.note("no memory is drawn: none holds so many elements")
        return None
    if any(trace.request.arguments.get("strides") for trace in answer.traces):
        board.note("memory is drawn in C order, not in the strides that are named")
    if journey.sizes:
        sizes = ", ".join(f"{shown_name(name)}={size}" for name, size in journey.sizes.items())
        board.note(f"memory with {brief(sizes)}")
    return journey


def _put_rail(board: Board, made: tuple[Layout, ...], here: int) -> None:
    """Put the stages in a row under the title, the one at hand lit; if there is no room for all, that one alone."""
    names = ["input", *(layout.title for layout in made), "output"]
    if sum(len(name) + 3 for name in names) > board.width:
        names = [f"{at} of {len(made)}: {name}" if 0 < at <= len(made) else name for at, name in enumerate(names)]
        names, here = names[here : here + 1], 0
    board.drop("rail")
    x = 0
    for at, name in enumerate(names):
        board.put(f"rail{at}", x, RAIL, name, "lit" if at == here else "quiet")
        x += len(name)
        if at < len(names) - 1:
            board.put(f"rail{at}>", x + 1, RAIL, UNICODE.arrow, "quiet")
            x += 3


def _play_stage(board: Board, layout: Layout, number: int, journey: Journey | None, moved: int) -> int:
    """Make the frames of a stage; return how many moves of the journey it made: one, or none if it was refused."""
    open_stage(board, layout, number, f"{layout.title}: {layout.stage.kind.value}.")
    steps = layout.stage.steps
    whole = [at for at, step in zip(layout.numbers, steps, strict=False) if isinstance(step.value, tuple)]
    settled: dict[int, list[int]] = {}
    for out, cell in enumerate(layout.cells):
        settled.setdefault(cell.step, []).append(out)
    rest = list[int]()
    for at, step in zip(layout.numbers, steps, strict=False):
        outs = settled.get(at, [])
        if isinstance(step.value, tuple) or not has_room(board, step, outs):
            rest += outs
        else:
            settle(board, layout, number, at, step, outs)
    board.ask(question_about(layout, rest))
    last = (whole or [*layout.numbers])[-1:]
    sentence, shown = (steps[last[0] - layout.numbers.start].why, last[0]) if last else (layout.title, None)
    move = layout.stage.move
    if move is not None and journey is not None and not isinstance(move, Dims):
        carry(board, journey, moved, sentence, shown)
        return 1
    if whole:
        board.frame(sentence, shown)
    return 0


def _end(board: Board, answer: Trace | Chain, made: tuple[Layout, ...]) -> None:
    """Make the last frame: the answer and when it holds, or where and why it was refused."""
    problem = answer.problem
    if problem is None:
        _put_rail(board, made, len(made) + 1)
        when = " and ".join(condition.words for condition in answer.conditions)
        said = f"The answer is {brief(shape_text(answer.output or ()))}" + (f", when {when}." if when else ".")
        board.frame(said, None, hold=LAST)
        return
    _put_fault(board, made[-1] if made else None)
    board.put("refused", 0, board.height - 2 - board.said, f"{UNICODE.fail} refused: {problem.rule}", "bad")
    said = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    board.frame(said, len(answer.steps), hold=2 * LAST)


def _put_fault(board: Board, layout: Layout | None) -> None:
    """Mark the dim that was refused, and what is left over if the element counts are why."""
    if layout is None:
        return
    if layout.fault is not None:
        board.light([f"asked{layout.fault}"], "bad")
        board.light([f"hole{layout.fault}"], "bad")
        board.reword(f"hole{layout.fault}", UNICODE.fail)
    budget = budget_of(layout) if layout.cuts and layout.cells else None
    have, known = budget.counts if budget else (None, None)
    if isinstance(have, int) and isinstance(known, int) and known > 0 and budget is not None:
        board.put("sum", 0, board.row(SUM), f"have    {dim_text(have)}")
        divided = f"{dim_text(have)} / {dim_text(known)} = {dim_text(have // known)}, rest {dim_text(have % known)}"
        asked = f"asked   {dim_text(known)}" if budget.hole is None else f"-1      {divided}"
        board.put("part", 0, board.row(PART), asked, "bad")
