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
from textual.theme import ThemeProvider

from shapecalc.tui.keys import KEYS
from shapecalc.tui.question import Outcome, Question
from shapecalc.tui.screens.explore import Explore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecalc.tui.progress import Progress
    from shapecalc.tui.screens.model import ModelScreen


class Palette(CommandPalette):
    """The palette. A key may come before its list is laid out, and Textual's own then raises."""

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


class ShapecalcApp(App[Outcome]):
    """Opens at a question, or at the lessons; ends with the answer if it is asked for."""

    TITLE = "shapecalc"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    def __init__(
        self,
        question: Question,
        step: int | None = None,
        *,
        lesson: bool = False,
        progress: Progress | None = None,
        model: ModelScreen | None = None,
    ) -> None:
        """Open with a question, at one of its steps, and with the lessons over it if `lesson` is set; or with a model.

        `progress` says which lessons are done; if it is None, the user's file does.
        """
        super().__init__()
        self.model = model
        self.explore = Explore(question, step, progress)
        self.opens_lessons = lesson

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """Return what the palette offers: the keys that would do something now, and the themes."""
        for key in KEYS if screen is self.explore else ():
            if self.explore.state.works(key.action) and not key.action.endswith("palette"):
                yield SystemCommand(key.help, key.shown, partial(screen.run_action, key.action))
        if screen is self.explore and self.explore.state.works("against"):
            said = "say whether it is the same function, and show where they differ"
            yield SystemCommand("compare with another chain", said, self.explore.action_against)
        yield SystemCommand("choose a theme", "among all that there are", self.action_change_theme)

    def action_command_palette(self) -> None:
        """Open the palette, unless it is open."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())

    def search_themes(self) -> None:
        """Open the palette of themes."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def pop_screen(self) -> AwaitComplete:
        """Close the dialog on top, but never the main screen: a key that closes a dialog may come twice."""
        return AwaitComplete() if self.screen in (self.explore, self.model) else super().pop_screen()

    def on_mount(self) -> None:
        """Show the main screen."""
        self.animation_level = "none"
        self.push_screen(self.model or self.explore)
        if self.opens_lessons:
            self.explore.action_lessons()
        elif not self.model and self.explore.state.question.against and self.explore.state.works("against"):
            self.explore.action_against()
        if sys.platform != "win32" and not (self.is_headless or self.is_web):
            self._exit_on_sigterm()

    def _exit_on_sigterm(self) -> None:
        """Leave the terminal as it was if the program is told to end.

        With a handler the loop also wakes for every other signal. Without one, a resize that comes just before the
        loop sleeps would wait for a key.
        """
        end = signal.SIGTERM
        asyncio.get_running_loop().add_signal_handler(end, self.exit, None, 128 + end)
