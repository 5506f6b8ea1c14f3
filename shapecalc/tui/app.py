"""The terminal app."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from functools import partial

from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.screen import Screen

from shapecalc.tui.keys import KEYS
from shapecalc.tui.question import Question, Reply
from shapecalc.tui.screens.explore import Explore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Palette(CommandPalette):
    """The palette, in which keys may come before its list is laid out: Textual's own raises."""

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


class ShapecalcApp(App[Reply]):
    """Opens at a question, or at the lessons; ends with the answer where it is asked for."""

    TITLE = "shapecalc"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    def __init__(self, question: Question, step: int | None = None, *, lesson: bool = False) -> None:
        """Open with a question, at a step of it; the lessons over it where they were asked for."""
        super().__init__()
        self.explore = Explore(question, step)
        self.opens_lessons = lesson

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """Return what the palette offers: the keys that would do something now, and the themes."""
        for key in KEYS if screen is self.explore else ():
            if self.explore.state.works(key.action) and not key.action.endswith("palette"):
                yield SystemCommand(key.help, key.shown, partial(screen.run_action, key.action))
        yield SystemCommand("choose a theme", "among all that there are", self.action_change_theme)

    def action_command_palette(self) -> None:
        """Open the palette, unless it is open."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())

    def pop_screen(self) -> AwaitComplete:
        """Close the dialog on top; never the main screen, which a key that closes a dialog twice would meet."""
        return AwaitComplete() if self.screen is self.explore else super().pop_screen()

    def on_mount(self) -> None:
        """Show the main screen."""
        self.animation_level = "none"
        self.push_screen(self.explore)
        if self.opens_lessons:
            self.explore.action_lessons()
        if sys.platform != "win32" and not (self.is_headless or self.is_web):
            self._heed_the_end()

    def _heed_the_end(self) -> None:
        """Leave the terminal as it was when told to end.

        The loop then wakes for every signal: a resize that came just before it slept would wait for a key.
        """
        ended = signal.SIGTERM
        asyncio.get_running_loop().add_signal_handler(ended, self.exit, None, 128 + ended)
