"""Annotate source code with the shapes of each line."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from shapecalc.core.text import shape_text
from shapecalc.reading.code.comments import ANNOTATION_PART, SHAPE_COMMENT
from shapecalc.reading.code.lines import UNNAMED_RESULT, CodeLine


def annotate(text: str, lines: Iterable[CodeLine]) -> str:
    """Append the shapes of each line to the source code as comments.

    A comment that is a shape is replaced. Every other comment stays, and the shapes follow it. A line is unchanged if
    its shapes are unknown, or if it is executed with different shapes.
    """
    by_end: dict[int, list[CodeLine]] = {}
    for line in lines:
        if line.shapes and not line.is_layer:
            by_end.setdefault(line.end, []).append(line)
    starts = _comment_starts(text)
    result = []
    for number, source in enumerate(io.StringIO(text, newline=""), 1):
        told = by_end.get(number, [])
        comments = {_format_shapes(line) for line in told}
        if len(comments) != 1 or "" in comments:
            result.append(source)
            continue
        body = source.rstrip("\r\n")
        start = starts.get(number, len(body))
        kept = _strip_shapes(body[start:], told[0].shapes)
        result.append("  ".join(filter(None, [body[:start].rstrip(), kept, *comments])) + source[len(body) :])
    return "".join(result)


def _format_shapes(line: CodeLine) -> str:
    """Format the shapes of a line as a comment.

    The format is `# q, k, v: B,12,T,64`. Returns an empty string if a shape is unknown.
    """
    if None in line.shapes.values():
        return ""
    groups: dict[str, list[str]] = {}
    for name, shape in line.shapes.items():
        groups.setdefault(shape_text(shape or ()), []).append(name)
    pieces = []
    for text, group in groups.items():
        joined = ", ".join(name for name in group if name != UNNAMED_RESULT)
        pieces.append(f"{joined}: {text}" if joined else text)
    return f"# {'; '.join(pieces)}"


def _strip_shapes(comment: str, names: Collection[str]) -> str:
    """Return a comment without the shapes at its end.

    `names` are the names that the line binds. Returns an empty string for a comment that contains only shapes.
    """
    if re.match(SHAPE_COMMENT, comment) or _is_annotation(comment, names):
        return ""
    head, mark, tail = comment.rpartition("  #")
    return head.rstrip() if mark and _is_annotation(f"#{tail}", names) else comment.rstrip()


def _is_annotation(comment: str, names: Collection[str]) -> bool:
    """Return whether a comment was written by `annotate`.

    `names` are the names that the line binds.
    """
    parts = [re.fullmatch(ANNOTATION_PART, part) for part in comment.removeprefix("# ").rstrip().split("; ")]
    return all(part and set((part[1] or UNNAMED_RESULT).split(", ")) <= {*names} for part in parts)


def _comment_starts(text: str) -> dict[int, int]:
    """Return the start column of each comment, keyed by line number."""
    import tokenize  # imported here, because it takes 1 of the 70 ms of `code`, which prints no source by default

    starts = {}
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                starts[token.start[0]] = token.start[1]
    return starts
