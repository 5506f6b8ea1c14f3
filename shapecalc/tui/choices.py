"""A list to choose from, as the dialogs have it."""

from __future__ import annotations

from contextlib import suppress

from textual.geometry import Size
from textual.widgets import OptionList

LEAST_WIDTH = 4
"""The cells that the height of a list is reckoned for at least."""


class Choices(OptionList):
    """A list that can be paged through before it is laid out, and has no width at times. Textual's own then raises."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines that the options take."""
        return super().get_content_height(container, viewport, max(LEAST_WIDTH, width))

    def action_page_up(self) -> None:
        """Go a page up."""
        with suppress(KeyError):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Go a page down."""
        with suppress(KeyError):
            super().action_page_down()  # type: ignore[no-untyped-call]
