"""The side panels, which fill the remaining lines of a screen.

They list the code in several frameworks, the steps of the answer, and the signs, which are the symbols in the pictures
with their meanings. On a wide screen, the steps and the signs are in a separate column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable, shape_text
from shapecalc.render.canvas import UNICODE, clip_line, make_style, rows_around, stack_texts, wrap_line
from shapecalc.render.code import generate_code
from shapecalc.render.stage_layout import stage_layouts
from shapecalc.render.step import step_title
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.tui.dialogs import LEGEND

COLUMN_WIDTH = 66
"""The width of the column with the steps and the signs, in cells."""
MIN_WIDE_WIDTH, MIN_WIDE_LINES = 160, 36
"""The minimum size of a screen with this column."""
MIN_PAIR_WIDTH = 100
"""The minimum width, in cells, at which two side panels are below the answer."""
MIN_SIDE_LINES = 7
"""The minimum height of two side panels below the answer, in lines with the border."""
CODE_TARGETS = ("torch", "numpy", "jax", "tensorflow", "paddle", "tensorrt", "openvino", "einops")
"""The targets whose code is shown.

The code of an ONNX model is omitted, because it is longer and its first use takes 0.2 s.
"""
LATER_SYMBOL, DONE_SYMBOL = "·", "✓"
"""The symbols of the steps after and before the current one."""
SIGN_GAP, MAX_SIGN_COLUMNS = 3, 3
"""The number of cells between two columns of signs, and the maximum number of columns."""

CodeEntry = tuple[str, tuple[str, ...]]
"""The names of the targets that share some code, and the lines of this code."""


def code_entries(answer: Trace | Chain | None) -> list[CodeEntry]:
    """Return the code of an answer in each target, without imports and comments.

    Targets with equal code share an entry. Targets whose frameworks cannot compute the answer are omitted.

    >>> import shapecalc as sc
    >>> code_entries(sc.transpose((2, 3), (1, 0)))[:2]
    [('torch', ('y = x.permute(1, 0)',)), ('numpy, jax', ('y = x.transpose(1, 0)',))]
    """
    names = dict[tuple[str, ...], list[str]]()
    if answer is None:
        return []
    for target in CODE_TARGETS:
        try:
            text = generate_code(answer, target).text
        except ShapeError:
            continue
        lines = tuple([line for line in text.split("\n") if not line.startswith(("#", "import ", "from "))])
        names.setdefault(lines, []).append(target)
    return [(", ".join(targets), lines) for lines, targets in names.items()]


def code_text(entries: Sequence[CodeEntry], width: int, height: int) -> Text:
    """Format as many entries as fit, with the names of the targets beside the code.

    If there are enough lines, blank lines separate the entries.

    >>> print(code_text([("torch", ("y = x.t()",)), ("numpy", ("y = x.T",))], 40, 2))
    torch  y = x.t()
    numpy  y = x.T
    """
    indent = max((len(names) for names, _ in entries), default=0) + 2
    blocks = [
        [
            Text.assemble(((names if not row else "").ljust(indent), "bold"), line)
            for row, line in enumerate(part for line in lines for part in wrap_line(Text(line), width - indent))
        ]
        for names, lines in entries
    ]
    gap = int(sum(map(len, blocks)) + len(blocks) - 1 <= height)
    lines = list[Text]()
    for block in blocks:
        if len(lines) + gap * bool(lines) + len(block) <= height:
            lines += [Text(end="")] * (gap * bool(lines)) + block
    return stack_texts(lines) if lines else Text(end="")


def step_lines(answer: Trace | Chain, current: int, width: int, *, hides_current: bool = False) -> list[list[Text]]:
    r"""Return the lines of each step: its reason if it is done, otherwise its name.

    The step `current` is bold. If `hides_current` is True, its reason and the shapes after the stages are omitted. If
    there are several stages, the name of a stage precedes its first step. The style of a step has its index as the
    metadata `step`.

    >>> import shapecalc as sc
    >>> for lines in step_lines(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), 2, 60)[1:4]:
    ...     print(*lines, sep="\n")
    ✓ 2  dim 1 is input dim 0, of size 2
    ▸ 3  the axes move, and the elements with them
    reshape → 3,2
    · 4  dim 0
    """
    blocks, all_layouts = list[list[Text]](), stage_layouts(answer)
    number_width = len(str(len(answer.steps)))
    for layout in all_layouts:
        for index in layout.step_range:
            step, is_later = answer.steps[index], index > current
            mark = UNICODE.pointer if index == current else LATER_SYMBOL if is_later else DONE_SYMBOL
            is_hidden = is_later or (hides_current and index == current)
            text = step_title(answer, index).partition(" · ")[2] if is_hidden else step.why
            style = make_style("", bold=index == current, dim=index != current, meta_item=("step", index))
            head, room = f"{mark} {index + 1:{number_width}}  ", max(1, width - number_width - 4)
            first, *others = wrap_line(Text(escape_unprintable(text)), room)
            lines = [Text.assemble((f"{head}{first}", style))]
            lines += [Text.assemble((f"{' ' * len(head)}{line}", style)) for line in others]
            if len(all_layouts) > 1 and index == layout.step_range.start:
                after = None if hides_current else layout.stage.after
                shape = "" if after is None else f" {UNICODE.maps_to} {escape_unprintable(shape_text(after))}"
                lines.insert(0, clip_line(Text(f"{layout.name}{shape}", "bold"), width, UNICODE))
            blocks.append(lines)
    if answer.problem is not None:
        message = f"{UNICODE.fail} {escape_unprintable(answer.problem.message)}"
        blocks.append(wrap_line(Text(message, BOLD_ERROR), width))
    return blocks


def steps_text(
    answer: Trace | Chain | None, current: int, width: int, height: int, *, hides_current: bool = False
) -> Text:
    """Format the steps of an answer, or as many around the current step as fit."""
    if answer is None:
        return Text(end="")
    blocks = step_lines(answer, current, width, hides_current=hides_current)
    lines = [line for block in blocks for line in block]
    focus = sum(map(len, blocks[: current + 1])) - 1
    rows = rows_around(min(focus, len(lines) - 1), len(lines), height)
    return stack_texts([lines[row] for row in rows]) if lines else Text(end="")


@lru_cache(maxsize=8)
def signs_text(width: int, height: int) -> Text:
    """Format the signs in as many columns as needed, or as many signs as fit.

    >>> print(signs_text(60, 2))
    a b c    axes of the input without a name; a dim keeps the
             letters of its axes
    """
    return table_text(LEGEND, width, height)


@lru_cache(maxsize=8)
def table_text(entries: tuple[tuple[str, str], ...], width: int, height: int) -> Text:
    """Format signs or keys with their meanings, in as many columns as needed.

    If not all of them fit, the last are omitted.
    """
    signs = max(len(sign) for sign, _ in entries) + 2
    for count in range(1, MAX_SIGN_COLUMNS + 1):
        room = (width + SIGN_GAP) // count - SIGN_GAP
        columns = _table_columns(entries, room - signs, signs, height, count)
        if columns is not None or count == MAX_SIGN_COLUMNS or room - signs < 2 * signs:
            break
    columns = columns or _table_columns(entries, width - signs, signs, height, 1, is_cut=True) or []
    lines = list[Text]()
    for row in range(max(map(len, columns), default=0)):
        line = Text(no_wrap=True, end="")
        for number, column in enumerate(columns):
            line.append(" " * (number * (room + SIGN_GAP) - len(line)))
            if row < len(column):
                line.append_text(column[row])
        lines.append(line)
    return stack_texts(lines) if lines else Text(end="")


def _table_columns(
    entries: Sequence[tuple[str, str]], room: int, indent: int, height: int, count: int, *, is_cut: bool = False
) -> list[list[Text]] | None:
    """Distribute entries over columns of a height.

    Entries that do not fit are omitted if `is_cut` is True; otherwise, None is returned.
    """
    columns = list[list[Text]]([[]])
    for sign, meaning in entries:
        first, *others = wrap_line(Text(meaning, "dim"), max(1, room))
        entry = [Text.assemble((sign.ljust(indent), "bold"), first)]
        entry += [Text(" " * indent).append_text(line) for line in others]
        if len(columns[-1]) + len(entry) > height:
            if len(columns) == count:
                return columns if is_cut else None
            columns.append([])
        columns[-1] += entry
    return columns
