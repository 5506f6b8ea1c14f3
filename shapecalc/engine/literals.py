"""Python's literals, as far as headers of arrays hold them: read without `eval`, and only so many brackets deep."""

from __future__ import annotations

import re

from shapecalc.core.text import brief
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Item = TypeVar("Item")

DEEPEST = 32
"""The most brackets that may be open at once. A structure in a header opens two."""
ESCAPE = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u(?!d[89a-f])[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4})"""
"""What `repr` writes in place of a character; halves of characters, which no text holds, are left out."""
PIECE = re.compile(
    rf"""(?P<text>'(?:[^'\\\x00-\x1f]|{ESCAPE})*'|"(?:[^"\\\x00-\x1f]|{ESCAPE})*")"""
    r"|(?P<number>-?(?:0|[1-9][0-9]{0,19}))(?P<long>L?)|(?P<word>True|False)"
)
BLANK = re.compile(r"[ \t\n]*")


def read_literal(text: str, *, long_numbers: bool = False) -> object:
    """Return the value that a text writes: texts, whole numbers and truth values, in tuples, lists and dicts.

    With `long_numbers` a number may be written as `3L`. Raises `Unreadable` for anything else.

    >>> read_literal("{'shape': (2, 3L), 'order': False, }", long_numbers=True)
    {'shape': (2, 3), 'order': False}
    """
    reader = _Reader(text, long_numbers)
    value = reader.value()
    if reader.place < len(text):
        raise reader.unreadable()
    return value


class _Reader:
    """A text, and how far it is read."""

    def __init__(self, text: str, long_numbers: bool) -> None:
        self.text, self.long_numbers = text, long_numbers
        self.place = self.depth = 0

    def unreadable(self) -> Unreadable:
        """Return the error for what stands at this place."""
        rest = brief(self.text[self.place :].rstrip())
        return Unreadable(f"its header cannot be read from character {self.place} on: {rest}")

    def skip(self, mark: str) -> bool:
        """Go on behind a mark and the blanks that follow it; return False if it does not stand here."""
        found = self.text.startswith(mark, self.place)
        if found:
            self.place = BLANK.match(self.text, self.place + len(mark)).end()  # type: ignore[union-attr]
        return found

    def value(self) -> object:
        """Return the value that stands here, and go on behind it."""
        if self.skip("("):
            items, ends_in_comma = self._listed(")", self.value)
            return items[0] if len(items) == 1 and not ends_in_comma else tuple(items)
        if self.skip("["):
            return self._listed("]", self.value)[0]
        if self.skip("{"):
            pairs = self._listed("}", self._pair)[0]
            if len(dict(pairs)) < len(pairs):
                raise Unreadable("its header says one thing twice")
            return dict(pairs)
        return self._plain_value()

    def _plain_value(self) -> object:
        found = PIECE.match(self.text, self.place)
        if found is None or (found["long"] and not self.long_numbers):
            raise self.unreadable()
        self.skip(found[0])
        if found["text"]:
            return _unescaped(found["text"][1:-1])
        return int(found["number"]) if found["number"] else found["word"] == "True"

    def _pair(self) -> tuple[str, object]:
        key = self._plain_value()
        if not isinstance(key, str) or not self.skip(":"):
            raise self.unreadable()
        return key, self.value()

    def _listed(self, closing: str, read: Callable[[], Item]) -> tuple[list[Item], bool]:
        """Return the items up to a bracket, and whether they end in a comma."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable(f"its header opens more than {DEEPEST} brackets at once")
        items: list[Item] = []
        comma = True
        while not self.skip(closing):
            if not comma:
                raise self.unreadable()
            items.append(read())
            comma = self.skip(",")
        self.depth -= 1
        return items, comma


def _unescaped(text: str) -> str:
    return re.sub(ESCAPE, lambda found: found[0].encode().decode("unicode_escape"), text)
