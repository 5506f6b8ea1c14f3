"""What is copied out of the app."""

from __future__ import annotations

from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from textual.screen import Screen

SENT = "sent to the terminal's clipboard"
"""What is said of a copy. Whether the terminal takes it is the terminal's own setting."""


def copy(screen: Screen[Any], text: str) -> None:
    """Send a text to the terminal's clipboard and tell so."""
    screen.app.copy_to_clipboard(text)
    screen.notify(visible(text), title=SENT, markup=False, timeout=3)
