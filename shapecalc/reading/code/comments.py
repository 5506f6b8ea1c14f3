"""Shapes that comments declare."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress

from shapecalc.core.problem import ShapeError
from shapecalc.reading.pattern import ShapePattern, parse_pattern

DIM_REGEX = r"(?:\d+|[A-Z]\w{0,3}|[a-z]{1,2}\d?|\w+[*/][\w*/]+|\?|\.\.\.)"
MAX_COMMENT_LENGTH = 200
SHAPE_COMMENT = (
    r"#+\s*(?:[\w .]*[:=])?\s*(?:[\w ]*shape\s)?(?:.*->\s*)?"
    rf"(?:(?:torch\.Size)?[(\[]+([^()\[\]]*,[^()\[\]]*)[)\]]+|({DIM_REGEX}(?:\s*,\s*{DIM_REGEX})+)\s*$)"
)
"""A regular expression for a comment that begins or ends with a shape; it is compiled for the first comment.

Examples are `# (B, T, C) after the split`, `# shape: B,T,C` and `# x -> [B, T]`.
"""


def find_comment_shapes(text: str) -> Iterator[tuple[int, ShapePattern]]:
    """Yield the shape in each comment, with its line number."""
    if "#" not in text:
        return
    import tokenize  # costs 1 of the 70 ms of `code`

    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = (
                re.match(SHAPE_COMMENT, token.string[:MAX_COMMENT_LENGTH]) if token.type == tokenize.COMMENT else None
            )
            with suppress(ShapeError):  # ignore a match that is not a shape
                if match:
                    yield token.start[0], parse_pattern((match[1] or match[2]).strip(" ,"), "line")
