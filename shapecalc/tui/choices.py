"""A list to choose from, as the dialogs have it."""

from __future__ import annotations

from contextlib import suppress

from textual.geometry import Size
from textual.widgets import OptionList
from textual.widgets.option_list import Option

LEAST_WIDTH = 4
"""The cells that the height of a list is reckoned for at least."""


class Choices(OptionList):
    """A list that can be paged through before it is laid out, and has no width at times. Textual's own then raises."""

    def __init__(self, *options: Option, id: str) -> None:
        """Make a list of some options. Their texts may be a file's, so they are never read as markup."""
        super().__init__(*options, id=id, markup=False)

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
