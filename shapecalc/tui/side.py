"""The side panels, which fill the remaining lines of a screen.

They list the code in several frameworks, the steps of the answer, and the signs, which are the symbols in the pictures
on the screen with their meanings. On a wide screen, the steps and the signs are in a separate column.
"""

from __future__ import annotations

import re
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
MAX_SIGNS = 6
"""The maximum number of listed signs."""
SIGN_PATTERNS = {
    "~x": r"~[a-z]",
    "0 ▸": r"\b0 ▸",
    "┄  0┄b": r"┄",
    "!": r"(?<=\s)!(?=\s)",
    "c1 b·c1": r"[─╮╯┤├┬┴╰┼] \S*\b[a-v]\d\b|·[a-v]\d",
    "+ x3 by": r"─ (?:\+|x\d|by) ",
    "w0  B1": r"\b[wB]\d\b",
    "bc  a-d": r"[─╮╯┤┬┴╰┼•] (?!new\b)(?:[a-z]{2,}|[a-z]-[a-z])(?: |$)",
    "new  ·": r"\bnew\b|─ ·",
    "╲ ╱ ╳": r"[╲╱╳]",  # noqa: RUF001
    "• ┼": r"[•┼]",
    "▒": r"▒",
    "├─┼─┤ ░": r"░",
    "▕ ▏ ╎": r"▕.*╎",
    "≠ ✓": r"[≠✓]",
    "✗ ▲": r"✗",
    "?": r" \?(?: |$)",
    "_": r"[ ,]_(?=[ ,]|$)",
    "─ ╮ ├ ┤": r"[╮╯╰┬┴]|├─* ",
    "█ │ ▓": r"█│|▓",
    "[5]": r"(?<!\w)\[ *\d+\]",
    "a b c": r"^a +\S+ [─╲╱┄]",  # noqa: RUF001
}
"""The regular expression with which each sign is found in the pictures, the signs to list first at the start."""
TABLE_RULE_PATTERN, RULER_PATTERN = re.compile(r"(^|  )─+┼─+", re.MULTILINE), re.compile(r"├[─┼]*┤")
"""The lines in tables of elements, which are no paths, and the elements in a row with cuts."""

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


@lru_cache(maxsize=32)
def find_signs(pictures: str) -> tuple[tuple[str, str], ...]:
    """Return at most `MAX_SIGNS` signs that occur in pictures, each with its meaning.

    >>> [sign for sign, _ in find_signs("b 3 ─┬── -1 ── bc 12")]
    ['bc  a-d', '─ ╮ ├ ┤']
    """
    text = RULER_PATTERN.sub("░", TABLE_RULE_PATTERN.sub("", pictures))
    found = [sign for sign, pattern in SIGN_PATTERNS.items() if re.search(pattern, text, re.MULTILINE)][:MAX_SIGNS]
    return tuple([(sign, meaning) for sign, meaning in LEGEND if sign in found])


def sign_lines(pictures: str, width: int) -> list[Text]:
    r"""Return the lines of the signs that occur in pictures.

    >>> print(*sign_lines("▕0 1╎2 3▏", 60), sep="\n")
    ▕ ▏ ╎  elements in a row: the start, the cuts of the
           outermost axis, the cuts of other axes
    """
    entries, lines = find_signs(pictures), list[Text]()
    indent = max((len(sign) for sign, _ in entries), default=0) + 2
    for sign, meaning in entries:
        first, *others = wrap_line(Text(meaning, "dim"), max(1, width - indent))
        lines.append(Text.assemble((sign.ljust(indent), "bold"), first))
        lines += [Text(" " * indent).append_text(line) for line in others]
    return lines


def signs_text(pictures: str, width: int, height: int) -> Text:
    """Format a titled legend of the symbols in `pictures`, or return an empty text if it does not fit.

    >>> print(signs_text("a 2 ─── a 2", 60, 9))
    Signs
    a b c  axes of the input without a name; a dim keeps the
           letters of its axes
    """
    lines = sign_lines(pictures, width)
    return stack_texts([Text("Signs", "bold"), *lines]) if lines and len(lines) < height else Text(end="")
