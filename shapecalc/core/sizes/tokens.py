"""Where the dims of a written shape stand: each is a token that knows its place.

shape = "[" dims "]" | "(" dims ")" | "{" dims "}" | "torch.Size(" shape ")" | dims
dims  = dim {"," dim} [","]       the last comma only inside brackets
      | dim {("x" | blank) dim}   "x" between whole numbers, blanks also inside brackets
"""

from __future__ import annotations

from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BRACKETS = {"[": "]", "(": ")", "{": "}"}
TORCH_SIZE = "torch.Size"
MAX_DIGITS = 1000
"""The most digits of a number that is read. int64 has 19 digits."""
LONGEST_WORD = 200_000
"""The most characters of a name or a product that is read."""
UNKNOWN = ("?", "None")
"""How a size that nobody knows is written."""
MOST_DIMS = 1 << 16
"""The most dims that a shape may have, in any dialect."""


class Token(Record):
    """A piece of a written shape: its text and the place of its first character."""

    text: str
    start: int

    @property
    def span(self) -> tuple[int, int]:
        """The place of the token: its first character, and the one after its last."""
        return self.start, self.start + len(self.text)


def tokens(text: str, argument: str = "shape") -> tuple[Token, ...]:
    """Return the tokens of a written shape with their places; raise `ShapeError` (usage) if one is missing.

    >>> [token.span for token in tokens("[2, -1]")]
    [(1, 2), (4, 6)]
    """
    start, end, bracketed = _find_dims(text, argument)
    body = text[start:end]
    if not body.strip() and bracketed:
        return ()
    separator = "x" if "x" in body and all(map(is_integer, body.split("x"))) else ","
    if separator not in body and _stand_apart(body.split(), bracketed=bracketed):
        return _words_apart(text, body.split(), start)
    pieces, place = [], start
    words = body.split(separator)
    if len(words) > MOST_DIMS:
        raise misuse(
            f"{len(words)} dims, and no shape has more than {MOST_DIMS}", argument=argument, span=(start, start + 1)
        )
    if bracketed and len(words) > 1 and not words[-1].strip():
        words.pop()
    if not body.strip():
        raise misuse("the shape is empty", "write [] for a scalar", argument=argument, index=0, span=(0, 1))
    for index, word in enumerate(words):
        stripped = word.strip()
        at = place + len(word) - len(word.lstrip())
        if not stripped:
            raise misuse(
                f"a dim is missing in '{visible(brief(text))}'", argument=argument, index=index, span=(place, place + 1)
            )
        pieces.append(Token(stripped, at))
        place += len(word) + 1
    return tuple(pieces)


def _stand_apart(words: list[str], *, bracketed: bool) -> bool:
    """Say whether words between blanks are dims of their own, and not factors of one. Names need brackets for that."""
    if not bracketed and not all(word in UNKNOWN or is_integer(word.removesuffix("L")) for word in words):
        return False
    return 1 < len(words) <= MOST_DIMS and not any(word[0] in "*/" or word[-1] in "*/" for word in words)


def _words_apart(text: str, words: Iterable[str], start: int) -> tuple[Token, ...]:
    """Return the tokens of dims that blanks separate."""
    pieces = []
    for word in words:
        start = text.index(word, start)
        pieces.append(Token(word, start))
        start += len(word)
    return tuple(pieces)


def _find_dims(text: str, argument: str) -> tuple[int, int, bool]:
    """Return where the dims start and end, and whether there are brackets around them."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    layers = 1
    if text.startswith(f"{TORCH_SIZE}(", start):
        start, layers = start + len(TORCH_SIZE), 2
    bracketed = False
    for _ in range(layers):
        opening = text[start : start + 1]
        if opening not in BRACKETS:
            break
        if text[start + 1 : end][-1:] != BRACKETS[opening]:
            raise misuse(f"{opening} is never closed", argument=argument, span=(start, start + 1))
        inner = text[start + 1 : end - 1]
        start, end, bracketed = start + 1 + len(inner) - len(inner.lstrip()), end - 1, True
        end = max(start, start + len(text[start:end].rstrip()))
    return start, end, bracketed


def is_number(text: str) -> bool:
    """Say whether a text is a number, of no more digits than are read."""
    return text.isdigit() and text.isascii() and len(text) <= MAX_DIGITS


def is_integer(text: str) -> bool:
    """Say whether a text is a whole number, maybe below 0, of no more digits than are read."""
    return is_number(text.strip().removeprefix("-"))
