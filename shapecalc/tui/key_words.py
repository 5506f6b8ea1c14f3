"""Sentences that name keys: a click on a key's name presses it."""

from __future__ import annotations

import re

from rich.style import Style
from rich.text import Text
from textual import events
from textual.widgets import Static

NAMED = re.compile(r"\b(enter|escape|tab|F[0-9]{1,2})\b")
"""The names of keys, as sentences have them."""


class KeyWords(Static):
    """What the keys of a dialog do, in words."""

    def __init__(self, said: str, *, id: str | None = None) -> None:
        """Show a sentence, with the keys that it names as places to click; without an id it stands apart."""
        super().__init__(pressable(said), id=id, classes=None if id else "words", markup=False)

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        if key := event.style.meta.get("press"):
            event.stop()
            self.app.simulate_key(key)


def pressable(said: str) -> Text:
    """Return a sentence in which the names of keys carry the key as meta data.

    >>> [span.style.meta for span in pressable("F7 copies, escape closes").spans]
    [{'press': 'f7'}, {'press': 'escape'}]
    """
    text = Text(said)
    for found in NAMED.finditer(said):
        text.stylize(Style(bold=True, meta={"press": found[0].lower()}), *found.span())
    return text
