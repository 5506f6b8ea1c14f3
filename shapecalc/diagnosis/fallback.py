"""Advise on messages without a template.

Such a message is a sentence that reports a failure and contains two shapes or sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapecalc.core.record import replace
from shapecalc.diagnosis.evidence import format_insertion, print_step
from shapecalc.diagnosis.explanations import explain_message
from shapecalc.diagnosis.findings import numeric_differences
from shapecalc.diagnosis.match import (
    CLOSING_BRACKETS,
    CleanText,
    MessageTemplate,
    PrintedSizes,
    TemplateMatch,
    clean_lines,
    clean_text,
    find_closing_bracket,
    format_sizes,
    parse_sizes_at,
)
from shapecalc.diagnosis.operand_steps import MULTIPLES, is_bordered
from shapecalc.diagnosis.reading import SOURCE_LINE, UNKNOWN_MESSAGE, ParsedMessage, add_context
from shapecalc.diagnosis.subjects import KINDS_BY_SUBJECT, Advice
from shapecalc.diagnosis.suggestions import numeric_sizes, suggest_shape_changes

TAIL_LENGTH = 20_000
"""The number of characters at the end of a text that are searched."""
FAILURE = re.compile(
    r"(?i)error|exception|fail|mismatch|expect|must|should|incompat|inconsist|cannot|can't|not |n't |invalid|differ"
    r"|unequal"
)
"""A word in a sentence that reports a failure."""
SIZE_WORD = re.compile(
    r"(?i)shape|size|dim|length|feature|channel|token|mismatch|element|axis|match|equal|width|height|rows?\b|col|vs|[!=]="
)
"""A word in a sentence about sizes."""
FRAME_OR_CODE = re.compile(r"\s*(?:File \"|Traceback |-{1,6}> ?\d|\d+ \S)|\s*\w+ ?= ?[\w.]+\(")
LIST_START = re.compile(r"[\[({](?=\s?-?\d)")
SIZE = re.compile(
    r"(?i)(?<![\w.:/#-])(?P<place>(?:dim(?:ension)?s?|axis|index|arg(?:ument)?|line|opset|version|input|output|layer|node|"
    r"rank|code|step|epoch|number|operand|entry)s?[ #:=]{0,3})?(?P<size>\d{1,9})(?![\w.:/%-])(?!\.\d)"
)
"""A number in a sentence, with the word before it if this word marks the number as a position."""
PLACE_OF_DIM = re.compile(r"(?i)(?:dim(?:ension)?|axis)[ #:=]{0,3}(\d{1,2})\b")
EXPECTED = re.compile(r"(?i)expect|should|must|need|requir")
ACTUAL = re.compile(r"(?i)\bgot|receiv|found|given|actual|but |\bis\b|\bhas\b")
"""The words in front of an expected shape and of an actual shape."""
MIN_ROUNDED = 5
"""The minimum side length that is explained by rounding; a smaller size may be a number of channels."""
MAX_SHAPES = 3
"""The maximum number of shapes in a sentence that compares two of them."""


def find_unknown_mismatch(text: str) -> tuple[ParsedMessage, Advice] | None:
    """Find the last sentence that reports two different shapes or sizes as a failure.

    Returns the sentence as a message, with advice, or None if there is no such sentence.

    >>> message, _ = find_unknown_mismatch("FooError: got shape (4, 729, 8), but the cache has (4, 256, 8)")
    >>> message.input, message.operands
    ((4, 729, 8), ((4, 256, 8),))
    """
    lines = clean_lines(text[-TAIL_LENGTH:])
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index].strip()
        if not FAILURE.search(line) or FRAME_OR_CODE.match(line) or SOURCE_LINE.search(line):
            continue
        message = _parse_sentence(line)
        if message is not None:
            cleaned = clean_text(text[-TAIL_LENGTH:])
            return _add_advice(add_context(message, _locate_sentence(message.quote, cleaned), cleaned))
    return None


def _locate_sentence(quote: str, cleaned: CleanText) -> TemplateMatch:
    """Return the match of a sentence in the cleaned text."""
    start = max(0, cleaned.text.rfind(" ".join(quote.split())))
    return TemplateMatch(MessageTemplate("", "", None, "unknown-message", ""), start, start + len(quote), {})


def _parse_sentence(line: str) -> ParsedMessage | None:
    """Parse the two shapes or sizes in a sentence into a message.

    Returns None if the sentence does not contain two different shapes or sizes.
    """
    spans = [*_iter_size_lists(line)]
    shapes = [*dict.fromkeys(shape for shape, _, _ in spans)]
    message = ParsedMessage(None, None, None, "unknown-message", line, UNKNOWN_MESSAGE)
    dim = PLACE_OF_DIM.search(line)
    axis = int(dim[1]) if dim else None
    if 2 <= len(shapes) <= MAX_SHAPES:
        first, second = shapes[:2]
        if _states_expected_first(line, spans, first, second):
            first, second = second, first
        return replace(message, input=first, operands=(second,), dim=axis)
    rest = "".join(" " if any(a <= at < b for _, a, b in spans) else char for at, char in enumerate(line))
    sizes = [int(found["size"]) for found in SIZE.finditer(rest) if not found["place"] and int(found["size"]) > 1]
    if shapes or len(sizes) != 2 or sizes[0] == sizes[1] or not SIZE_WORD.search(rest):
        return None
    return replace(message, pair=(sizes[0], sizes[1]), dim=axis)


def _states_expected_first(
    line: str, spans: list[tuple[PrintedSizes, int, int]], first: PrintedSizes, second: PrintedSizes
) -> bool:
    """Return whether a sentence states the expected shape before the actual one."""
    begin, end = next((begin, end) for shape, begin, end in spans if shape == first)
    next_begin = next(begin for shape, begin, _ in spans if shape == second)
    return EXPECTED.search(line[:begin]) is not None and ACTUAL.search(line[end:next_begin]) is not None


def _iter_size_lists(line: str) -> Iterator[tuple[PrintedSizes, int, int]]:
    """Yield each list of numbers in a line, with its start and end."""
    at = 0
    while start := LIST_START.search(line, at):
        sizes, end = parse_sizes_at(line, start.start())
        closing = find_closing_bracket(line[start.start() :]) if line[start.start()] in CLOSING_BRACKETS else None
        at = start.end() if sizes is None or closing is None else end
        if sizes and numeric_sizes(sizes):
            yield sizes, start.start(), end


def _sides_advice(shape: PrintedSizes, other: PrintedSizes) -> str:
    """Return the advice for two images or feature maps of different sizes.

    Returns an empty string if the advice does not apply.
    """
    rows = numeric_differences(shape, other) if len(shape) == len(other) > 2 else []
    if not rows or any(axis == 0 for axis, *_ in rows):
        return ""
    is_near = len({row[1:] for row in rows}) == 1 and abs(rows[0][1] - rows[0][2]) == 1
    if is_near and min(rows[0][1:]) >= MIN_ROUNDED:
        return (
            f"if a size was divided, one side was rounded up and the other down: compute {rows[0][1]} and {rows[0][2]} "
            "with one rule, // or ceil, or start with a size that the divisor divides, as a multiple of 32"
        )
    if all(is_bordered(row[1:]) for row in rows):
        return MULTIPLES
    axes = [axis for axis, *_ in rows]
    if axes in ([2, 3], [1, 2]) and shape[1 if axes[0] == 2 else -1] in (1, 3, 4):
        return (
            f"resize or pad the picture to {rows[0][2]}x{rows[1][2]}, or make the other side for "
            f"{rows[0][1]}x{rows[1][1]}"
        )
    return ""


def _unit_dim_advice(shape: PrintedSizes, other: PrintedSizes) -> list[str]:
    """Return the advice for two shapes that differ by a missing dim of 1, or an empty list."""
    short, long = sorted((shape, other), key=len)
    axes = [axis for axis, size in enumerate(long) if size == 1 and (*long[:axis], *long[axis + 1 :]) == short]
    if not axes or len(long) != len(short) + 1:
        return []
    return [
        f"insert the dim of 1 in the one of ({format_sizes(short)}), {format_insertion(short, long)}, or drop it in "
        "the other"
    ]


def _add_advice(message: ParsedMessage) -> tuple[ParsedMessage, Advice]:
    """Add advice on the differing dims to a message.

    The advice also names possible sources of the sizes.
    """
    shape, other = message.input or (), (message.operands or ((),))[0]
    differences = numeric_differences(shape, other) if len(shape) == len(other) else []
    facts = list[str]()
    if shape and len(shape) != len(other):
        facts.append(f"the first shape has {len(shape)} dims, the second {len(other)}")
    elif len(differences) < len(shape):
        texts = [f"dim {axis} is {one} and {two}" for axis, one, two in differences]
        facts.append(f"{', '.join(texts)}; the other dims agree")
    explanations = explain_message(message, None)
    changes = _unit_dim_advice(shape, other) or [text for text, _ in suggest_shape_changes(shape, other)]
    changes += [*filter(None, [_sides_advice(shape, other)])]
    kinds = KINDS_BY_SUBJECT[UNKNOWN_MESSAGE]
    explanations = tuple([found for found in explanations if found.kind in kinds])
    words = "two shapes" if shape else "two sizes"
    search = (
        f"search the code for the words of this message: the line that raises it compares the {words}; print both there"
    )
    steps = [*changes[:1], print_step(message, "x.shape") if message.failing_line else search]
    summary = "not a message that is known; its sentence states two " + ("shapes" if shape else "sizes")
    missing = "the whole log or traceback, from its first line"
    return message, Advice(summary, tuple(facts), tuple((step, None) for step in steps), missing, None, explanations)
