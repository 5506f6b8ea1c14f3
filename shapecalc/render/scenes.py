"""Films of answers: the stages, their steps, and the elements in memory.

A film is a sequence of frames. A frame consists of sprites; a sprite is a text at a position. Memory is drawn as a
tape: one or more lines of cells, with one cell per element. Vertical bars between cells separate the blocks of each
axis. Each axis has a level, counted from the innermost axis; the bars of a higher level are taller. If a tensor is too
large, only its first cells are drawn, followed by an ellipsis.

A dim that is copied by a 0 moves down from the input dims. A -1 is computed with the element budget, a bar of all
elements. A reshape moves only the bars of the tape. All other stages are gathers, which read elements from the tape and
write them to a second tape.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import mul
from textwrap import wrap

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Step, Trace
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Index, Permute, Reshape, ShapeVector, index_before_move, ravel, unravel
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import COPIED_ZERO, DROPPED_ONE, INFERRED
from shapecalc.core.text import dim_text, escape_unprintable, format_count, shape_text, truncate
from shapecalc.reading.commands import command_line
from shapecalc.render.canvas import UNICODE, clip_text
from shapecalc.render.grid import TensorPath, build_tensor_path
from shapecalc.render.hints import conditions_text, sizes_text
from shapecalc.render.pictures import division_text, draw_picture, draw_request, make_element_budget
from shapecalc.render.stage_layout import (
    COMBINING_KINDS,
    HUES,
    INFER_RULES,
    DimCell,
    StageLayout,
    cell_mark_text,
    input_cells,
    mark_colour,
    size_only_note,
    stage_layouts,
)

TensorShape = tuple[int, ...]
MOTION_FRAME_HUNDREDTHS = 12
"""The duration of one GIF frame while sprites move, in hundredths of a second."""
ELIDED_CELLS_TEXT, BLANK_TEXT = "…", "[ ]"
"""The text for omitted cells, and the placeholder of an output dim in the request."""
BAR_GLYPHS = "│┃║"
"""The characters of the vertical bars between cells, from inner to outer axes.

Each level has its own row and the first character, as long as there are rows. All further levels are in the top row,
and have the other characters.
"""
TITLE_ROW, STAGES_ROW, INDEX_ROW, INPUT_ROW, REQUEST_ROW, OUTPUT_ROW, BUDGET_ROW, DIVISION_ROW, TAPE_HEADING_ROW = (
    0,
    1,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
)
"""The row of each part of a film, counted from the top.

The parts are the title, the line of stage names, the dims of the stage, the division that infers a -1, and the heading
of the first tape. If there is space for blank rows, the last three rows are further down; see
`FilmBuilder.row_position`.
"""
SENTENCE_ROWS, LOW_HEIGHT = 3, 20
"""The number of rows of the caption, and the height in rows below which the caption has one row less."""
FETCHED_DIM_LEFT, WRITE_NOTE_LEFT = 24, 40
"""The left edge of the input dims that the output dims of a permutation read, and that of the notes on written
elements.

Both are in cells.
"""
LABEL_WIDTH = 8
"""The width of the labels before the dims, in cells."""
FALL_SECONDS = 0.35
"""The time in which a piece of the budget bar moves down, in seconds."""
MAX_ROWS_WRITTEN_SINGLY = 12
"""The maximum number of rows that a gather writes one at a time.

The rows of a larger tensor are written in blocks.
"""
MAX_LISTED_CELLS = 8
"""The maximum number of cells that a caption lists one by one."""
MOVE_SECONDS, HIGHLIGHT_SECONDS = 0.55, 0.35
"""The time in which an element moves, and the time for which it is then highlighted, in seconds."""
FILM_WIDTH, FILM_HEIGHT = 80, 24
"""The default width and height of a film in character cells, which fit standard terminals."""
MIN_FILM_HEIGHT = 16
PICTURE_ROWS = 8
"""The height of the picture of a stage with several operands or windows, in rows."""
LAST_FRAME_SECONDS = 3.5
"""The time for which the last frame is shown, in seconds."""


class Sprite(Record):
    """A text at a position in character cells; the position can be fractional."""

    x: float
    y: float
    text: str
    text_style: str = "ink"
    """The name of the text style of the sprite."""


class FilmQuestion(Record):
    """A question that the viewer answers before a frame, with the right answer."""

    question: str
    answer: str


class Frame(Record):
    """The sprites of a frame, with a caption and timing.

    A sprite moves from the position of the sprite with the same key in the previous frame, if there is one.
    """

    sprites: Mapping[str, Sprite]
    """The sprites, keyed by name; later sprites cover earlier ones."""
    sentence: str
    step_index: int | None
    """The index of the step that the frame shows; None before the first step and after the last."""
    arrival_seconds: float
    """The time in which the sprites move to their positions, in seconds."""
    hold_seconds: float
    """The time for which the sprites then stay at their positions, in seconds."""
    prompt: FilmQuestion | None = None


class Film(Record):
    """A sequence of frames with a title, a size and notes."""

    title: str
    width: int
    height: int
    frames: tuple[Frame, ...]
    notes: tuple[str, ...]
    """The notes on omitted elements and on the sizes of named dims."""

    @property
    def frame_starts(self) -> list[float]:
        """The start time of each frame, and the end time of the last frame, in seconds."""
        return [*accumulate((frame.arrival_seconds + frame.hold_seconds for frame in self.frames), initial=0.0)]

    @property
    def seconds(self) -> float:
        """The duration of the film, in seconds."""
        return self.frame_starts[-1]


class Track(Record):
    """The motion of a sprite during which its text and text style do not change."""

    text: str
    text_style: str
    start: float
    end: float
    points: tuple[tuple[float, float, float], ...]
    """The points of the motion as (seconds, x, y); the motion is linear between two points."""


class Tape(Record):
    """The elements of a tensor as cells in C order, with bars between blocks."""

    shape: TensorShape
    pitch: int
    """The distance between neighbouring cells, in characters."""
    cells_per_line: int
    """The maximum number of cells in a line."""
    line_height: int
    """The number of rows per line; bars use all of them, numbers only the lowest."""
    visible_count: int
    """The number of visible cells."""
    top_row: int

    @property
    def count(self) -> int:
        """The number of elements of the tensor."""
        return prod(self.shape)

    @property
    def row_below(self) -> int:
        """The first row below the tape."""
        return self.top_row + self.line_height * max(1, -(-self.visible_count // self.cells_per_line))

    def cell_position(self, cell: int) -> tuple[int, int]:
        """Return the position of a cell, or of the ellipsis if the cell is omitted."""
        line, column = divmod(cell, self.cells_per_line)
        if cell >= self.visible_count:
            line, column = (
                (self.visible_count - 1) // self.cells_per_line,
                (self.visible_count - 1) % self.cells_per_line + 1,
            )
        return column * self.pitch + 1, self.top_row + line * self.line_height + self.line_height - 1

    def bar_sprite(self, cell: int, level: int) -> Sprite:
        """Return the bar before a cell.

        If `cell` is `visible_count`, this is the bar after the last visible cell. `level` counts the axes from the
        innermost one.
        """
        line = max(0, cell - (cell == self.visible_count)) // self.cells_per_line
        row = min(level, self.line_height - 1)
        x = (cell - line * self.cells_per_line) * self.pitch
        y = self.top_row + line * self.line_height + self.line_height - 1 - row
        return Sprite(x, y, BAR_GLYPHS[min(level - row, len(BAR_GLYPHS) - 1)], "quiet")


def frame_at(starts: list[float], second: float) -> int:
    """Return the index of the frame at a time in seconds.

    >>> frame_at([0.0, 2.0, 3.0], 2.5), frame_at([0.0, 2.0, 3.0], 9)
    (1, 1)
    """
    return max(0, min(bisect_right(starts, second) - 1, len(starts) - 2))


def sprites_at(film: Film, start_times: list[float], time: float) -> tuple[Sprite, ...]:
    """Return the sprites at a time in seconds, at interpolated positions."""
    number = frame_at(start_times, time)
    frame = film.frames[number]
    part = (
        1.0
        if not (number and frame.arrival_seconds)
        else min(1.0, (time - start_times[number]) / frame.arrival_seconds)
    )
    if part >= 1.0:
        return tuple(frame.sprites.values())
    before = film.frames[number - 1].sprites
    return tuple([_interpolate(before.get(key), sprite, part) for key, sprite in frame.sprites.items()])


def _interpolate(start: Sprite | None, end: Sprite, fraction: float) -> Sprite:
    """Return a sprite at a fraction of the way from `start` to `end`."""
    if start is None or (start.x == end.x and start.y == end.y):
        return end
    return Sprite(
        start.x + (end.x - start.x) * fraction, start.y + (end.y - start.y) * fraction, end.text, end.text_style
    )


def sample_gif_frames(film: Film) -> Iterator[tuple[tuple[Sprite, ...], int]]:
    """Yield the sprites of each GIF frame, and its duration in hundredths of a second."""
    starts = film.frame_starts
    for number, frame in enumerate(film.frames):
        duration = round(100 * (frame.arrival_seconds + frame.hold_seconds))
        before = film.frames[number - 1].sprites if number else {}
        moves = any(len(_motion_points(before.get(key), sprite, 0, 0)) > 1 for key, sprite in frame.sprites.items())
        steps = round(100 * frame.arrival_seconds) // MOTION_FRAME_HUNDREDTHS if moves else 0
        for step in range(1, steps):
            yield (
                sprites_at(film, starts, starts[number] + step * MOTION_FRAME_HUNDREDTHS / 100),
                MOTION_FRAME_HUNDREDTHS,
            )
        yield tuple(frame.sprites.values()), duration - max(0, steps - 1) * MOTION_FRAME_HUNDREDTHS


def collect_tracks(film: Film) -> list[Track]:
    """Return the tracks of all sprites, in the order in which they appear."""
    starts, result, last = film.frame_starts, list[Track](), dict[str, int]()
    for number, frame in enumerate(film.frames):
        before = film.frames[number - 1].sprites if number else {}
        for key, sprite in frame.sprites.items():
            previous = before.get(key)
            motion = _motion_points(previous, sprite, starts[number], frame.arrival_seconds)
            if previous is not None and (previous.text, previous.text_style) == (sprite.text, sprite.text_style):
                track = result[last[key]]
                points = track.points if len(motion) == 1 else (*track.points, *motion)
                result[last[key]] = Track(track.text, track.text_style, track.start, starts[number + 1], points)
            else:
                last[key] = len(result)
                result.append(Track(sprite.text, sprite.text_style, starts[number], starts[number + 1], motion))
    return result


def _motion_points(
    start: Sprite | None, end: Sprite, second: float, arrival_seconds: float
) -> tuple[tuple[float, float, float], ...]:
    """Return the points of a sprite's motion in a frame.

    A point consists of a time and a position. A sprite at rest has one point.
    """
    if start is None or (start.x, start.y) == (end.x, end.y):
        return ((second, end.x, end.y),)
    return (second, start.x, start.y), (second + arrival_seconds, end.x, end.y)


def make_tape(
    shape: TensorShape, number_width: int, width: int, top_row: int, row_count: int, level_count: int
) -> Tape:
    """Create the tape of a tensor.

    The tape has at most `row_count` rows, beginning with `top_row`. `number_width` is the width of the longest number;
    if there are few cells, they are farther apart. A line contains complete blocks of the outermost axis whose blocks
    fill at least 70 % of the width. It has one row for each of `level_count` levels of bars, or fewer rows if more
    cells are then visible.

    >>> tape = make_tape((2, 3, 4), 2, 80, 0, 4, 2)
    >>> tape.cells_per_line, tape.pitch, tape.line_height, tape.visible_count, tape.cell_position(23)
    (24, 3, 2, 24, (70, 1))
    """
    count, steps = prod(shape), bar_distances(shape)
    pitch = max(number_width + 1, min(number_width + 3, (width - 2) // max(1, count)))
    room = max(1, (width - 2) // pitch)
    # longer blocks would leave more than 30 % of the line empty
    block = max((step for step in steps if room // step * step >= 0.7 * room), default=1)
    per_line = max(1, min(count, room // block * block))
    lines = max(1, -(-count // per_line))
    tall = max(1, min(level_count, 5, row_count // lines))
    return Tape(shape, pitch, per_line, tall, min(count, per_line * max(1, row_count // tall)), top_row)


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the stride of each axis in C order, in elements.

    >>> strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([*accumulate(reversed(shape[1:]), mul, initial=1)][::-1]) if shape else ()


def bar_distances(shape: TensorShape) -> list[int]:
    """Return the distance between the bars of each axis, in cells.

    The innermost axis is first.

    >>> bar_distances((2, 3, 4)), bar_distances((6,)), bar_distances((2, 1, 3))
    ([4, 12], [], [3])
    """
    result = [stride for size, stride in zip(shape, strides(shape), strict=True) if size > 1 and stride > 1]
    return result[::-1]


def bar_positions(shape: TensorShape, level: int, visible_count: int) -> list[int]:
    """Return the cell indices of the bars of an axis.

    `level` counts the axes from the innermost one. Beyond the outermost axis, there are bars only at the start and at
    the end.

    >>> bar_positions((2, 3, 4), 0, 24), bar_positions((2, 3, 4), 1, 24), bar_positions((2, 3, 4), 2, 24)
    ([0, 4, 8, 12, 16, 20, 24], [0, 12, 24], [0, 24])
    """
    steps, count = bar_distances(shape), prod(shape)
    step = steps[level] if level < len(steps) else max(1, count)
    return [*range(0, min(visible_count, count) + 1, step)]


def match_bars(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Match bars before a reshape with bars after it.

    Returns (old position, new position) pairs.

    A bar whose position is in both lists does not move. The remaining bars move to the remaining positions in order;
    bars are split if there are too few, and merged if there are too many.

    >>> match_bars([0, 4, 8, 12], [0, 6, 12]), match_bars([0, 12], [0, 6, 12])
    ([(0, 0), (12, 12), (4, 6), (8, 6)], [(0, 0), (12, 12), (0, 6)])
    """
    leaving, coming = [place for place in old if place not in new], [place for place in new if place not in old]
    sources = [_nearest_position(old, place) for place in coming]
    if leaving:
        sources = [leaving[at * len(leaving) // len(coming)] for at in range(len(coming))]
    idle = [place for place in leaving if place not in sources]
    moves = [*zip(sources, coming, strict=True), *[(place, _nearest_position(coming or new, place)) for place in idle]]
    return [(place, place) for place in old if place in new] + moves


def _nearest_position(positions: Sequence[int], position: int) -> int:
    return min(positions, key=lambda other: abs(other - position))


class FilmBuilder:
    """A film under construction: its frames, and the sprites of the next frame."""

    def __init__(self, width: int, height: int, column_width: int) -> None:
        """Create an empty film.

        `column_width` is the width of the column of a dim, in cells.
        """
        self.width, self.height, self.column_width = width, height, column_width
        self.sentence_rows = SENTENCE_ROWS - (height < LOW_HEIGHT)
        self.tape_rows = max(1, (height - TAPE_HEADING_ROW - 2 - (height >= LOW_HEIGHT) - self.sentence_rows - 1) // 2)
        """The maximum height of a tape, in rows, if two tapes are visible."""
        self.budget_gap = self.tape_gap = 0
        """The number of blank rows around the division of a -1, and that between two tapes."""
        self.sprites: dict[str, Sprite] = {}
        self.frames: list[Frame] = []
        self.prompt: FilmQuestion | None = None
        """The question that is asked before the next frame."""
        self._last: dict[str, Sprite] = {}
        self.memory_number = 0
        """The number of the current memory; each gather writes to a new memory."""
        self.tape: Tape
        """The tape of the current memory; not set if the film has no tapes."""
        self.notes: list[str] = []

    def reserve_rows(self, tape_rows: int, tape_count: int) -> None:
        """Reserve rows for tapes, and reduce the height of the film accordingly.

        `tape_rows` is the height of a tape.
        """
        needed = TAPE_HEADING_ROW + tape_count * (tape_rows + 1) + 1 + self.sentence_rows + 1
        spare = max(0, self.height - needed)
        self.tape_gap = min(tape_count - 1, spare) if tape_count else 0
        self.budget_gap = min(2, spare - self.tape_gap)
        self.tape_rows, self.height = tape_rows, min(self.height, needed + self.tape_gap + self.budget_gap)

    def row_position(self, row: int) -> int:
        """Return the position of a part such as `BUDGET_ROW`, including blank rows."""
        return row + (self.budget_gap if row == TAPE_HEADING_ROW else self.budget_gap // 2)

    def fits_permutation_rows(self, layout: StageLayout) -> bool:
        """Return whether a permutation fits the film with one row of text per output dim.

        The row of an output dim names the input dim that it fetches. Returns False for other stages.
        """
        room = self.row_position(TAPE_HEADING_ROW) - REQUEST_ROW
        is_permutation = layout.stage.kind is StageKind.PERMUTE and layout.stage.is_finished and all(layout.wires)
        return is_permutation and 0 < len(layout.cells) <= min(room, self.column_count)

    @property
    def column_count(self) -> int:
        """The number of columns of dims that fit the width."""
        return max(1, (self.width - LABEL_WIDTH - 2) // self.column_width)

    def column_left(self, dim: int) -> int:
        """Return the left edge of the column of a dim."""
        return LABEL_WIDTH + dim * self.column_width

    def add_sprite(self, key: str, x: float, y: float, text: str, text_style: str = "ink") -> None:
        """Add a sprite in front of all others, or remove it if its text is blank."""
        self.sprites.pop(key, None)
        if text.strip():
            self.sprites[key] = Sprite(
                x, y, clip_text(escape_unprintable(text), max(1, self.width - int(x)), UNICODE), text_style
            )

    def add_dim_sprite(self, key: str, dim: int, y: int, text: str, text_style: str = "ink") -> None:
        """Add a sprite in the column of a dim.

        An ellipsis replaces the first dim that does not fit the width; later dims are omitted.
        """
        if dim < self.column_count:
            self.add_sprite(key, self.column_left(dim), y, clip_text(text, self.column_width - 1, UNICODE), text_style)
        elif dim == self.column_count:
            self.add_sprite(key, self.column_left(dim), y, UNICODE.ellipsis, "quiet")
            self.add_note(f"dims from {dim} on have no room")

    def set_start_position(self, key: str, start: tuple[float, float]) -> None:
        """Set the position from which a new sprite starts to move."""
        if key in self.sprites and key not in self._last:
            self._last[key] = Sprite(*start, "")

    def remove_sprites(self, *prefixes: str) -> None:
        """Remove the sprites whose keys start with a prefix."""
        self.sprites = {key: sprite for key, sprite in self.sprites.items() if not key.startswith(prefixes)}

    def set_text_style(self, keys: Iterable[str], text_style: str = "lit") -> None:
        """Set the text style of sprites."""
        for key in keys:
            if key in self.sprites:
                self.sprites[key] = replace(self.sprites[key], text_style=text_style)

    def add_note(self, text: str) -> None:
        """Add a note at the bottom of this frame and of all later frames."""
        if text not in self.notes:
            self.notes.append(text)

    def add_frame(
        self, sentence: str, step_index: int | None, *, arrival_seconds: float = 0.8, hold_seconds: float | None = None
    ) -> None:
        """Add a frame with the current sprites and a caption.

        By default, the sprites rest while the user reads the caption.
        """
        lines, rows = wrap(escape_unprintable(sentence), self.width) or [""], self.sentence_rows
        if len(lines) > rows:
            lines[rows - 1 :] = [clip_text(" ".join(lines[rows - 1 :]), self.width, UNICODE)]
        for number in range(rows):
            self.add_sprite(f"say{number}", 0, self.height - 1 - rows + number, "".join(lines[number : number + 1]))
        self.add_sprite("note", 0, self.height - 1, "; ".join(self.notes), "quiet")
        self._last = dict(self.sprites)
        # the reader needs a second for 18 characters
        rest = max(0.7, len(sentence) / 18) if hold_seconds is None else hold_seconds
        self.frames.append(Frame(self._last, sentence, step_index, arrival_seconds, rest, self.prompt))
        self.prompt = None


def format_marked_dim(cell: DimCell) -> str:
    """Format a dim with its mark; a placeholder replaces an unresolved dim."""
    marked = cell_mark_text(cell, UNICODE)
    return UNICODE.placeholder if cell.dim is None else f"{marked} {cell.dim}".lstrip()


def text_style_of_hue(hue: str) -> str:
    """Return the name of the text style of a colour; without a colour, `ink`."""
    return f"axis{HUES.index(hue)}" if hue else "ink"


def add_stage_start_frame(builder: FilmBuilder, layout: StageLayout, stage_index: int, sentence: str) -> None:
    """Add the first frame of a stage.

    The frame contains the input dims, the request, and placeholders. The sprite keys of input dims contain
    `stage_index`, those of output dims `stage_index + 1`; the output dims therefore move up when the next stage begins.
    """
    builder.remove_sprites(
        "index", "asked", "label", "hole", "sum", "part", "piece", "picture", f"dim{stage_index - 1}."
    )
    fits_permutation_rows, requested = builder.fits_permutation_rows(layout), _requested_tokens(layout)
    for dim in range(
        len(layout.cells_before) if fits_permutation_rows else max(len(layout.cells_before), len(layout.cells))
    ):
        builder.add_dim_sprite(
            f"index{dim}", dim, INDEX_ROW, f"dim {dim}" if fits_permutation_rows else str(dim), "quiet"
        )
    for axis, cell in enumerate(layout.cells_before):
        builder.add_dim_sprite(
            f"dim{stage_index}.{axis}",
            axis,
            INPUT_ROW,
            format_marked_dim(cell),
            text_style_of_hue(mark_colour(cell.mark)),
        )
    if fits_permutation_rows:
        for out, axes in enumerate(layout.wires):
            builder.add_sprite(f"asked{out}", 0, REQUEST_ROW + out, f"place {out} fetches dim {axes[0]}")
            builder.add_sprite(f"hole{out}", FETCHED_DIM_LEFT, REQUEST_ROW + out, UNICODE.placeholder, "quiet")
        builder.add_sprite(f"label{INPUT_ROW}", 0, INPUT_ROW, "have", "quiet")
    else:
        for dim, token in enumerate(requested):
            fetched = f"dim {token}" if layout.stage.kind is StageKind.PERMUTE else token
            builder.add_dim_sprite(f"asked{dim}", dim, REQUEST_ROW, fetched)
        for dim in range(len(layout.cells)):
            builder.add_dim_sprite(f"hole{dim}", dim, OUTPUT_ROW, UNICODE.placeholder, "quiet")
        rows = [("index", INDEX_ROW), ("have", INPUT_ROW), ("becomes", OUTPUT_ROW)]
        rows += [("fetches" if layout.stage.kind is StageKind.PERMUTE else "asked", REQUEST_ROW)] * bool(requested)
        for text, row in rows:
            builder.add_sprite(f"label{row}", 0, row, text, "quiet")
    builder.add_frame(sentence, None if not layout.step_range else layout.step_range.start)


def _requested_tokens(layout: StageLayout) -> list[str]:
    """Return the requested value of each output dim, or [] if some dim has none."""
    requested = [str(token) for token in layout.stage.requested]
    return requested if len(requested) == len(layout.cells) else []


def add_step_frames(
    builder: FilmBuilder, layout: StageLayout, stage_index: int, step_index: int, step: Step, out_dims: list[int]
) -> None:
    """Add the frames of a step that resolves dims or drops a dim."""
    lit = [f"dim{stage_index}.{axis}" for axis in step.sources] + [f"asked{out}" for out in out_dims]
    if step.rule == COPIED_ZERO or layout.stage.kind is StageKind.PERMUTE:
        lit += [f"index{axis}" for axis in step.sources]
    old_looks = {key: builder.sprites[key].text_style for key in lit if key in builder.sprites}
    builder.set_text_style(lit)
    if step.rule in INFER_RULES and out_dims:
        _add_inference_frames(builder, layout, stage_index, step_index, step, out_dims[0])
    else:
        if step.rule == DROPPED_ONE:
            builder.add_dim_sprite(
                f"dim{stage_index}.{step.sources[0]}", step.sources[0], INPUT_ROW, f"({step.value})", "lit"
            )
        for out in out_dims:
            source = min(step.sources[0], builder.column_count) if step.sources else out
            _fill_placeholder(
                builder,
                layout,
                stage_index,
                out,
                (builder.column_left(source), INPUT_ROW if step.sources else REQUEST_ROW),
            )
        builder.prompt = make_film_question(layout, out_dims)
        size_note = size_only_note(layout, out_dims[0], UNICODE) if out_dims else ""
        builder.add_frame(f"{step.why}; {size_note}" if size_note else step.why, step_index)
    old_looks |= {
        f"dim{stage_index + 1}.{out}": text_style_of_hue(mark_colour(layout.cells[out].mark)) for out in out_dims
    }
    for key, look in old_looks.items():
        builder.set_text_style([key], look)


def _fill_placeholder(
    builder: FilmBuilder, layout: StageLayout, stage_index: int, out_dim: int, start: tuple[float, float]
) -> None:
    """Replace a placeholder with its dim, which moves there from the position `start`."""
    cell, key = layout.cells[out_dim], f"dim{stage_index + 1}.{out_dim}"
    builder.sprites.pop(f"hole{out_dim}", None)
    if builder.fits_permutation_rows(layout):
        builder.add_sprite(key, FETCHED_DIM_LEFT, REQUEST_ROW + out_dim, format_marked_dim(cell), "lit")
    else:
        builder.add_dim_sprite(key, out_dim, OUTPUT_ROW, format_marked_dim(cell), "lit")
    builder.set_start_position(key, start)


def make_film_question(layout: StageLayout, out_dims: list[int]) -> FilmQuestion | None:
    """Return the question about output dims, with its answer.

    Returns None if the sizes of all these dims are part of the request.
    """
    requested, dims = _requested_tokens(layout), [str(cell.dim) for cell in layout.cells]
    unknown = [out for out in out_dims if not (layout.is_regrouping and requested and requested[out] == dims[out])]
    if not unknown:
        return None
    answer = ",".join(dims[out] for out in unknown)
    if len(unknown) == 1:
        if layout.stage.kind is StageKind.PERMUTE and layout.wires[unknown[0]]:
            fetched = layout.wires[unknown[0]][0]
            return FilmQuestion(f"Place {unknown[0]} fetches dim {fetched}. Which size is there?", answer)
        token = f", asked for as {requested[unknown[0]]}," if requested else ""
        return FilmQuestion(f"What does output dim {unknown[0]}{token} become?", answer)
    is_range = unknown == [*range(unknown[0], unknown[-1] + 1)]
    dims_text = f"{unknown[0]} to {unknown[-1]}" if is_range else ", ".join(map(str, unknown))
    return FilmQuestion(f"What do output dims {dims_text} become?", answer)


def _add_inference_frames(
    builder: FilmBuilder, layout: StageLayout, stage_index: int, step_index: int, step: Step, out_dim: int
) -> None:
    """Add the frames in which a -1 is inferred.

    They show the element budget, its division and the result.
    """
    have = step.facts["have"] if step.rule in INFER_RULES else 0
    factors = " * ".join(str(cell.dim) for cell in layout.cells_before) or "1"
    total = f" = {dim_text(have)}" if isinstance(have, int) and len(layout.cells_before) > 1 else ""
    divided = f"-1      {division_text(layout, step)} ="
    builder.add_sprite("sum", 0, builder.row_position(BUDGET_ROW), f"have    {factors}{total}")
    builder.add_sprite("part", 0, builder.row_position(DIVISION_ROW), f"{divided} {UNICODE.placeholder}")
    bar = _add_budget_bar(builder, have) if step.rule == INFERRED else None
    builder.add_frame("-1 is the elements divided by the known dims.", step_index)
    builder.prompt = make_film_question(layout, [out_dim])
    if bar and isinstance(step.value, int):
        _add_budget_frames(builder, bar, step.value, step_index)
    builder.add_sprite("part", 0, builder.row_position(DIVISION_ROW), f"{divided} {dim_text(step.dim)}")
    _fill_placeholder(
        builder,
        layout,
        stage_index,
        out_dim,
        (len(builder.sprites["part"].text) - 1, builder.row_position(DIVISION_ROW)),
    )
    builder.add_frame(step.why, step_index)


def _add_budget_bar(builder: FilmBuilder, have: Dim) -> tuple[int, int] | None:
    """Add a bar of all elements, and return its start and length.

    Returns None, and adds no bar, if the bar does not fit or the element count is symbolic.
    """
    start = max(len(builder.sprites["sum"].text), len(builder.sprites["part"].text)) + 3
    room = min(48, builder.width - start)
    if not isinstance(have, int) or have < 1 or room < 8:
        return None
    long = room // have * have or room
    builder.add_sprite("sumbar", start, builder.row_position(BUDGET_ROW), UNICODE.block * long)
    return start, long


def _add_budget_frames(builder: FilmBuilder, bar: tuple[int, int], multiple: int, step_index: int) -> None:
    """Add the frames in which the budget bar is divided into pieces that move down.

    `multiple` is the number of pieces.
    """
    start, long = bar
    shown = multiple if multiple <= 24 and multiple <= long else 1
    per_frame = -(-shown // 8)
    for first in range(0, shown, per_frame):
        for piece in range(first, min(shown, first + per_frame)):
            left, right = (start + edge * long // shown for edge in (piece, piece + 1))
            block = UNICODE.shade if piece % 2 else UNICODE.block
            builder.add_sprite(f"piece{piece}", left, builder.row_position(DIVISION_ROW), block * (right - left))
            builder.set_start_position(f"piece{piece}", (left, builder.row_position(BUDGET_ROW)))
        count = min(shown, first + per_frame) if shown == multiple else multiple
        sentence = f"The known dims fit {format_count(count, 'time', 'times')}."
        builder.add_frame(sentence, step_index, arrival_seconds=FALL_SECONDS, hold_seconds=FALL_SECONDS / 2)


def add_input_tape(builder: FilmBuilder, path: TensorPath) -> None:
    """Add the tape of the input, and reserve rows for all tapes."""
    tapes = [_make_tensor_tape(builder, path, place, 0) for place in range(len(path.tensors))]
    gathers = any(not isinstance(move, Reshape) for move in path.moves)
    builder.reserve_rows(max(tape.row_below for tape in tapes), 2 if gathers else 1)
    builder.tape = _make_tensor_tape(builder, path, 0, builder.row_position(TAPE_HEADING_ROW) + 1)
    for cell in range(builder.tape.visible_count):
        builder.add_sprite(_cell_key(builder, cell), *builder.tape.cell_position(cell), _cell_text(builder.tape, cell))
    _add_bars(builder, builder.tape)


def _make_tensor_tape(builder: FilmBuilder, path: TensorPath, tensor_index: int, top_row: int) -> Tape:
    """Create the tape of a tensor on the path of elements.

    A line of the tape has enough rows for the bars of all tensors up to the next gather.
    """
    number_width = len(str(max(0, prod(path.tensors[0].shape) - 1)))
    moves = path.moves[tensor_index:]
    reshape_count = next((at for at, move in enumerate(moves) if not isinstance(move, Reshape)), len(moves))
    level_count = max(
        len(bar_distances(point.shape)) for point in path.tensors[tensor_index : tensor_index + reshape_count + 1]
    )
    return make_tape(
        path.tensors[tensor_index].shape, number_width, builder.width, top_row, builder.tape_rows, level_count
    )


def _add_tape_heading(builder: FilmBuilder, tape: Tape, name: str, suffix: str) -> None:
    """Add the heading of a tape: shape, strides and number of visible cells."""
    name = f"{name} {shape_text(tape.shape)}"
    if tape.visible_count < tape.count:
        name += f", first {tape.visible_count} of {tape.count} cells"
        builder.add_note("of large memories the first cells are shown")
    text = f"{name}, strides {shape_text(strides(tape.shape))}{suffix}" if tape.count else f"{name}: no elements"
    builder.add_sprite(f"head{builder.memory_number}", 0, tape.top_row - 1, text, "quiet")


def _cell_key(builder: FilmBuilder, cell: int) -> str:
    return f"cell{builder.memory_number}.{cell}"


def _cell_text(tape: Tape, value: int) -> str:
    return str(value).rjust(tape.pitch - 1)


def _add_bars(builder: FilmBuilder, tape: Tape, name: str = "memory", suffix: str = "") -> None:
    """Add the heading and the bars of a tape.

    The heading starts with `name` and ends with `suffix`. If cells are omitted, an ellipsis is added.
    """
    _add_tape_heading(builder, tape, name, suffix)
    if 0 < tape.visible_count < tape.count:
        builder.add_sprite(f"dots{builder.memory_number}", *tape.cell_position(tape.count), ELIDED_CELLS_TEXT, "quiet")
    for level in range(max(tape.line_height, len(bar_distances(tape.shape)))):
        for place in bar_positions(tape.shape, level, tape.visible_count):
            bar = tape.bar_sprite(place, level)
            builder.add_sprite(f"bar{builder.memory_number}.{level}.{place}", bar.x, bar.y, bar.text, bar.text_style)


def _add_reshape_frames(
    builder: FilmBuilder, path: TensorPath, tensor_index: int, sentence: str, step_index: int | None
) -> None:
    """Add the frame of a reshape, in which only bars move."""
    old, shape = builder.tape, path.tensors[tensor_index + 1].shape
    new = replace(old, shape=shape)
    level_count = max(1, len(bar_distances(old.shape)), len(bar_distances(shape)))
    builder.remove_sprites("bar")
    for level in range(level_count):
        old_bars, new_bars = (bar_positions(tensor, level, old.visible_count) for tensor in (old.shape, shape))
        for number, (start, end) in enumerate(match_bars(old_bars, new_bars)):
            key, bar, old_bar = (
                f"bar{builder.memory_number}.{level}.{start}~{number}",
                new.bar_sprite(end, level),
                old.bar_sprite(start, level),
            )
            builder.add_sprite(key, bar.x, bar.y, bar.text, bar.text_style)
            builder.set_start_position(key, (old_bar.x, old_bar.y))
    _add_tape_heading(builder, new, "memory", ": no element moves")
    builder.set_text_style([key for key in builder.sprites if key.startswith("bar")], "bold")
    builder.add_frame(sentence, step_index, arrival_seconds=1.5)
    builder.remove_sprites("bar")
    builder.tape = new
    _add_bars(builder, new)


def _add_gather_frames(
    builder: FilmBuilder, path: TensorPath, tensor_index: int, sentence: str, step_index: int | None
) -> None:
    """Add the frames in which a gather writes the elements to new memory."""
    source = builder.tape
    target = _make_tensor_tape(
        builder, path, tensor_index + 1, source.top_row + builder.tape_rows + builder.tape_gap + 1
    )
    builder.memory_number += 1
    own, move, more = strides(source.shape), path.moves[tensor_index], ""
    if isinstance(move, Permute):
        more = f"; read in strides {shape_text(own[axis] for axis in move.axes)}"
    _add_bars(builder, target, "written", more)
    builder.add_frame(sentence, step_index)
    for cells in cells_per_frame(target):
        _add_write_frame(builder, path, tensor_index, (source, target), cells, step_index)
    _add_swap_frame(builder, (source, target), sentence, step_index)


def _add_write_frame(
    builder: FilmBuilder,
    path: TensorPath,
    tensor_index: int,
    tapes: tuple[Tape, Tape],
    cells: range,
    step_index: int | None,
) -> None:
    """Add the frame in which a gather writes some cells.

    Elements move from the first tape to `cells` of the second tape.
    """
    source, target = tapes
    written = [unravel(cell, target.shape) for cell in cells]
    read: list[Index] = [index_before_move(index, source.shape, path.moves[tensor_index]) for index in written]
    source_cells = [ravel(index, source.shape) for index in read]
    lit = [f"cell{builder.memory_number - 1}.{cell}" for cell in source_cells]
    builder.set_text_style(lit)
    for cell, index, source_cell in zip(cells, written, source_cells, strict=True):
        value = ravel(path.source_index(tensor_index + 1, index), path.tensors[0].shape)
        builder.add_sprite(_cell_key(builder, cell), *target.cell_position(cell), _cell_text(target, value), "lit")
        builder.set_start_position(_cell_key(builder, cell), source.cell_position(source_cell))
    mapping = f"out{index_span_text(written, target.shape)} = in{index_span_text(read, source.shape)}"
    left = WRITE_NOTE_LEFT if isinstance(path.moves[tensor_index], Permute) else 0
    left = max(0, min(left, builder.width - len(mapping)))
    builder.add_sprite("part", left, builder.row_position(DIVISION_ROW), mapping, "bold")
    sentence = f"{_cells_text(cells)} {'takes' if len(cells) == 1 else 'take'} what is in {_cells_text(source_cells)}."
    builder.add_frame(sentence.capitalize(), step_index, arrival_seconds=MOVE_SECONDS, hold_seconds=HIGHLIGHT_SECONDS)
    builder.set_text_style([*lit, *(_cell_key(builder, cell) for cell in cells)], "ink")


def index_span_text(indices: Sequence[Index], shape: Index) -> str:
    """Format several indices as one slice, with a colon for a complete axis.

    >>> index_span_text([(0, 1)], (2, 3)), index_span_text([(0, 0), (0, 1)], (2, 2))
    ('[0,1]', '[0,:]')
    >>> index_span_text([(0, 1), (0, 2)], (2, 4))
    '[0,1..2]'
    """
    texts = []
    for axis, size in enumerate(shape):
        places = {index[axis] for index in indices}
        least, most = min(places), max(places)
        texts.append(str(least) if least == most else ":" if len(places) == size else f"{least}..{most}")
    return f"[{','.join(texts)}]"


def _cells_text(cells: Sequence[int]) -> str:
    """Format cell numbers as one number, a range, or a truncated list."""
    if len(cells) == 1:
        return f"cell {cells[0]}"
    if all(after == before + 1 for before, after in pairwise(cells)):
        return f"cells {cells[0]} to {cells[-1]}"
    listed = ", ".join(map(str, cells[:MAX_LISTED_CELLS]))
    return f"cells {listed}" + (f" {ELIDED_CELLS_TEXT}" if len(cells) > MAX_LISTED_CELLS else "")


def _add_swap_frame(builder: FilmBuilder, tapes: tuple[Tape, Tape], sentence: str, step_index: int | None) -> None:
    """Add the frame in which the new memory replaces the old memory."""
    builder.remove_sprites("bar", "part", *(f"{kind}{builder.memory_number - 1}" for kind in ("cell", "head", "dots")))
    builder.tape = tape = replace(tapes[1], top_row=tapes[0].top_row)
    for cell in range(tape.visible_count):
        key = _cell_key(builder, cell)
        builder.add_sprite(key, *tape.cell_position(cell), builder.sprites[key].text)
    _add_bars(builder, tape)
    builder.add_frame(sentence, step_index)


def cells_per_frame(tape: Tape) -> list[range]:
    """Return the range of cells that a gather writes in each of its frames.

    The first ranges contain one cell each; later ranges are rows, or blocks if there are many rows.

    >>> cells_per_frame(make_tape((2, 3), 1, 40, 0, 3, 1))
    [range(0, 1), range(1, 2), range(2, 3), range(3, 6)]
    """
    steps = [step for step in bar_distances(tape.shape) if step < tape.visible_count] or [max(1, tape.visible_count)]
    row, single = steps[0], min(steps[0], 6)
    rows = -(-tape.visible_count // row)
    block = next(
        (step for step in steps if tape.visible_count <= step * MAX_ROWS_WRITTEN_SINGLY),
        row * -(-rows // MAX_ROWS_WRITTEN_SINGLY),
    )
    ends = [
        *range(1, single + 1),
        row,
        *range(row, min(block, tape.visible_count), row),
        *range(block, tape.visible_count, block),
    ]
    ends = sorted({end for end in (*ends, tape.visible_count) if end <= tape.visible_count})
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False) if start < end]


def make_film(answer: Trace | Chain, width: int = FILM_WIDTH, height: int = FILM_HEIGHT) -> Film:
    """Create the film of an answer.

    If the request was refused, the film ends with the refusal.

    >>> import shapecalc as sc
    >>> film = make_film(sc.reshape((2, 3), (0, -1)))
    >>> film.frames[-1].sentence, film.notes
    ('The answer is 2,3.', ())
    """
    all_layouts = stage_layouts(answer)
    board = FilmBuilder(width, max(MIN_FILM_HEIGHT, height), _dim_column_width(answer, all_layouts, width))
    title = escape_unprintable(command_line(answer).removeprefix("shapecalc "))
    journey = _find_tensor_path(board, answer)
    board.add_sprite("title", 0, TITLE_ROW, title, "bold")
    _add_stage_titles(board, all_layouts, 0)
    if journey is None:
        board.reserve_rows(PICTURE_ROWS, any(layout.stage.kind in COMBINING_KINDS for layout in all_layouts))
    else:
        add_input_tape(board, journey)
    _add_request(board, answer, journey)
    board.add_frame(f"The input is {truncate(shape_text(answer.input))}. Which shape comes out?", None)
    move_count = 0
    for number, layout in enumerate(all_layouts):
        _add_stage_titles(board, all_layouts, number + 1)
        if layout.stage.kind in COMBINING_KINDS:
            board.remove_sprites("cell", "bar", "head", "dots")
            board.add_note("elements of several operands, of windows or of pads are not followed")
            journey = None
        move_count += _add_stage_frames(board, layout, number, journey, move_count, answer)
    _add_last_frame(board, answer, all_layouts)
    return Film(title, board.width, board.height, tuple(board.frames), tuple(board.notes))


def _dim_column_width(answer: Trace | Chain, all_layouts: tuple[StageLayout, ...], width: int) -> int:
    """Return the width of the column of a dim, in cells.

    The longest dim fits this width if possible.
    """
    cells = [*input_cells(answer), *(cell for layout in all_layouts for cell in (*layout.cells_before, *layout.cells))]
    longest = max((max(len(format_marked_dim(cell)), len(cell.token)) for cell in cells), default=1)
    ranks = max([len(answer.input), *(max(len(layout.cells_before), len(layout.cells)) for layout in all_layouts)])
    return max(6, min(longest + 3, (width - LABEL_WIDTH - 1) // max(1, ranks)))


def _find_tensor_path(builder: FilmBuilder, answer: Trace | Chain) -> TensorPath | None:
    """Return the path of elements up to the first stage that combines elements.

    Returns None if the memory cannot be drawn. A note then gives the reason, unless no element moves before the first
    stage with several operands or windows.
    """
    try:
        journey = build_tensor_path(answer, complete=False)
    except ShapeError as error:
        builder.add_note(f"no memory is drawn: {error.problem.message}")
        return None
    if not journey.moves and any(layout.stage.kind in COMBINING_KINDS for layout in stage_layouts(answer)):
        return None
    volumes = [prod(point.shape) for point in journey.tensors]
    kept = zip(volumes, volumes[1:], journey.moves, strict=False)
    if any(before != after for before, after, move in kept if isinstance(move, Reshape)):
        builder.add_note("no memory is drawn: no small sizes meet the conditions")
        return None
    if max(volumes) > 1 << 63:
        builder.add_note("no memory is drawn: none holds so many elements")
        return None
    if any(trace.request.arguments.get("strides") for trace in answer.traces):
        builder.add_note("memory is drawn in C order, not in the strides that are named")
    if journey.sizes:
        builder.add_note(f"memory with {truncate(sizes_text(journey.sizes))}")
    return journey


def _add_stage_titles(builder: FilmBuilder, all_layouts: tuple[StageLayout, ...], current: int) -> None:
    """Add a line with the titles of the stages, and highlight the current one.

    `current` is 0 for the input, and n for stage n. If the titles do not fit, only the current one is added.
    """
    names = ["input", *(layout.title for layout in all_layouts), "output"]
    if sum(len(name) + 3 for name in names) > builder.width:
        names = [
            f"{at} of {len(all_layouts)}: {name}" if 0 < at <= len(all_layouts) else name
            for at, name in enumerate(names)
        ]
        names, current = names[current : current + 1], 0
    builder.remove_sprites("rail")
    x = 0
    for at, name in enumerate(names):
        builder.add_sprite(f"rail{at}", x, STAGES_ROW, name, "lit" if at == current else "quiet")
        x += len(name)
        if at < len(names) - 1:
            builder.add_sprite(f"rail{at}>", x + 1, STAGES_ROW, UNICODE.pointer, "quiet")
            x += 3


def _add_stage_frames(
    builder: FilmBuilder,
    layout: StageLayout,
    stage_index: int,
    path: TensorPath | None,
    move_count: int,
    answer: Trace | Chain,
) -> int:
    """Add the frames of a stage, and return the number of moves of its elements.

    `move_count` is the number of moves of earlier stages.
    """
    add_stage_start_frame(builder, layout, stage_index, f"{layout.title}: {layout.stage.kind.value}.")
    steps = layout.stage.steps
    shape_steps = [at for at, step in zip(layout.step_range, steps, strict=False) if isinstance(step.value, tuple)]
    settled: dict[int, list[int]] = {}
    for out, cell in enumerate(layout.cells):
        settled.setdefault(cell.step_index, []).append(out)
    remaining = list[int]()
    for at, step in zip(layout.step_range, steps, strict=False):
        outs = settled.get(at, [])
        has_room = min((*outs, *step.sources), default=0) < builder.column_count or step.rule in INFER_RULES
        if isinstance(step.value, tuple) or not has_room:  # the result of a -1 has its own rows instead of a column
            remaining += outs
        else:
            _replace_picture(builder, answer, layout, at)
            add_step_frames(builder, layout, stage_index, at, step, outs)
    _replace_picture(builder, answer, layout, layout.step_range[-1] if steps else len(answer.steps))
    builder.prompt = make_film_question(layout, remaining)
    last = (shape_steps or [*layout.step_range])[-1:]
    sentence, shown = (steps[last[0] - layout.step_range.start].why, last[0]) if last else (layout.title, None)
    move = layout.stage.move
    if move is not None and path is not None and not isinstance(move, ShapeVector):
        (_add_reshape_frames if isinstance(move, Reshape) else _add_gather_frames)(
            builder, path, move_count, sentence, shown
        )
        return 1
    if shape_steps:
        builder.add_frame(sentence, shown)
    return 0


def _replace_picture(builder: FilmBuilder, answer: Trace | Chain, layout: StageLayout, step_index: int) -> None:
    """Replace the picture in the frame with the picture of a step.

    Only steps with several operands or windows have a picture.
    """
    builder.remove_sprites("picture")
    if layout.stage.kind in COMBINING_KINDS:
        top = builder.row_position(BUDGET_ROW)
        height = builder.height - top - builder.sentence_rows - 2
        _add_picture(builder, draw_picture(answer, step_index, width=builder.width, height=height), top)


def _add_request(builder: FilmBuilder, answer: Trace | Chain, path: TensorPath | None) -> None:
    """Add a drawing of the request, with placeholders for the output dims.

    If there is a tape, the drawing fits above it.
    """
    height = (
        builder.row_position(TAPE_HEADING_ROW) - INDEX_ROW - 1
        if path
        else builder.height - INDEX_ROW - builder.sentence_rows - 2
    )
    _add_picture(builder, draw_request(answer, width=builder.width, height=height, placeholder=BLANK_TEXT), INDEX_ROW)


def _add_picture(builder: FilmBuilder, text: Text, top_row: int) -> None:
    """Add the lines of a picture as sprites of the same colours."""
    for row, line in enumerate(text.split("\n")):
        edges = sorted({0, *(edge for span in line.spans for edge in (span.start, span.end))})
        for start, part in zip(edges, line.divide(edges[1:]), strict=True):
            styles = [span.style for span in part.spans if isinstance(span.style, Style) and span.style.color]
            hue = styles[0].color.name.upper() if styles and styles[0].color else ""
            builder.add_sprite(
                f"picture{row}.{start}", start, top_row + row, part.plain, text_style_of_hue(hue if hue in HUES else "")
            )


def _add_last_frame(builder: FilmBuilder, answer: Trace | Chain, all_layouts: tuple[StageLayout, ...]) -> None:
    """Add the last frame: the answer with its conditions, or the refusal."""
    problem = answer.problem
    if problem is None:
        _add_stage_titles(builder, all_layouts, len(all_layouts) + 1)
        sentence = f"The answer is {truncate(shape_text(answer.output or ()))}{conditions_text(answer, ', when ')}."
        builder.add_frame(sentence, None, hold_seconds=LAST_FRAME_SECONDS)
        return
    _mark_refused_dim(builder, all_layouts[-1] if all_layouts else None)
    builder.add_sprite(
        "refused", 0, builder.height - 2 - builder.sentence_rows, f"{UNICODE.fail} refused: {problem.rule}", "bad"
    )
    sentence = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    builder.add_frame(sentence, len(answer.steps), hold_seconds=2 * LAST_FRAME_SECONDS)


def _mark_refused_dim(builder: FilmBuilder, layout: StageLayout | None) -> None:
    """Mark the dim that was refused, and add the element counts of a reshape."""
    if layout is None:
        return
    if layout.refused_dim is not None:
        token_key, placeholder_key = f"asked{layout.refused_dim}", f"hole{layout.refused_dim}"
        builder.set_text_style([token_key, placeholder_key], "bad")
        if placeholder_key in builder.sprites:
            builder.sprites[placeholder_key] = replace(builder.sprites[placeholder_key], text=UNICODE.fail)
    budget = make_element_budget(layout) if layout.is_regrouping and layout.cells else None
    have, known = budget.element_counts if budget else (None, None)
    if budget and isinstance(have, int) and isinstance(known, int) and known > 0:
        builder.add_sprite("sum", 0, builder.row_position(BUDGET_ROW), f"have    {dim_text(have)}")
        divided = f"{dim_text(have)} / {dim_text(known)} = {dim_text(have // known)}, rest {dim_text(have % known)}"
        text = f"asked   {dim_text(known)}" if budget.inferred_index is None else f"-1      {divided}"
        builder.add_sprite("part", 0, builder.row_position(DIVISION_ROW), text, "bad")
