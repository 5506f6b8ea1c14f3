"""A list to choose from, as the dialogs have it."""

from __future__ import annotations

from contextlib import suppress

from textual.widgets import OptionList


class Choices(OptionList):
    """A list that can be paged through before it is laid out. Textual's own then raises."""

    def action_page_up(self) -> None:
        """Go a page up."""
        with suppress(KeyError):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Go a page down."""
        with suppress(KeyError):
            super().action_page_down()  # type: ignore[no-untyped-call]
