"""The terminal app."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import suppress
from importlib.resources import files

from textual import events, on
from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import CommandPalette, Hit, Hits, SearchIcon
from textual.filter import LineFilter, Monochrome
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen
from textual.system_commands import SystemCommandsProvider
from textual.theme import Theme

from shapecalc.tui.memory import Memory
from shapecalc.tui.outcome import Outcome
from shapecalc.tui.palette import commands
from shapecalc.tui.question import FIRST, Question, command
from shapecalc.tui.screens.explore import Explore
from shapecalc.tui.themes import OURS, THEMES, filters_of, in_turn, opening_theme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from shapecalc.teaching.progress import Progress
    from shapecalc.tui.screens.model import ModelScreen


LEAST_SCORE = 0.01
"""The rank of a command that has the words of what is typed, but not side by side."""


class Palette(CommandPalette):
    """The palette. A key may come before its list is laid out, and Textual's own then raises."""

    def on_mount(self) -> None:
        """Show a sign that every font has before the field."""
        self.query_one(SearchIcon).icon = "?"

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


class WholeWords(SystemCommandsProvider):
    """Finds the commands that have every word of what is typed; letters strewn over a name do not find it."""

    async def search(self, query: str) -> Hits:
        """Yield the commands, those first that have the words side by side."""
        words, matcher = query.casefold().split(), self.matcher(query)
        for name, said, run, _ in self.app.get_system_commands(self.screen):
            if all(word in name.casefold() for word in words):
                yield Hit(max(matcher.match(name), LEAST_SCORE), matcher.highlight(name), run, help=said)


class ShapecalcApp(App[Outcome]):
    """Opens at a question, or at the lessons; ends with the answer if it is asked for."""

    TITLE = "shapecalc"
    COMMANDS = {WholeWords}
    CSS = (files("shapecalc.tui") / "app.tcss").read_text("utf-8")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    BINDINGS = [
        Binding("tab", "focus_next", show=False, priority=True),
        Binding("shift+tab", "focus_previous", show=False, priority=True),
    ]
    """What moves the focus. It acts before the next key is handed on, which may come at once."""

    theme = Reactive(OURS.name)

    def __init__(
        self,
        question: Question,
        step: int | None = 0,
        *,
        lesson: bool = False,
        big: bool = False,
        progress: Progress | None = None,
        memory: Memory | None = None,
        model: ModelScreen | None = None,
    ) -> None:
        """Open with a question, at one of its steps or past the last, and with the lessons over it if `lesson` is set.

        If `big` is set, the step is drawn in large figures. A `model` is shown in place of the question.

        `progress` says which lessons are done, and `memory` what else is kept; where one is None, the user's file does.
        """
        super().__init__()
        self.memory = Memory() if memory is None else memory
        self._opened = False
        self.model = model
        hides_nothing = bool(question.against) and not step  # the outputs of both chains are shown
        self.explore = Explore(question, None if hides_nothing else step, progress, big=big)
        self.opens_lessons = lesson
        self._asked: Explore.Asked | None = None

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The themes that are offered, by name."""
        return THEMES

    def watch_theme(self, before: str, after: str) -> None:
        """Remember a theme that is chosen, not the one that the app opens in."""
        if after != before and self._opened:
            self.memory.keep_theme(after)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what every line goes through before it is shown."""
        filters = (each for each in super().get_line_filters() if not isinstance(each, Monochrome))
        return (in_turn((*filters, *filters_of(self.theme, colour=not self.no_color))),)

    @on(Explore.Asked)
    def note_question(self, asked: Explore.Asked) -> None:
        """Remember a question once it is stepped through, or another is asked in its place."""
        before, self._asked = self._asked, asked
        if asked.for_good or (before is not None and before.line == asked.line and before.at != asked.at):
            self._remember()

    def _remember(self) -> None:
        """Remember the question at hand, but the one that the app opens with by itself."""
        if self._asked is not None and self._asked.line != command(FIRST, None):
            self.memory.add_question(self._asked.line)

    def exit(self, result: Outcome | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave, and remember the last question."""
        self._remember()
        super().exit(result, return_code, message)

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """Return what the palette offers at the main screen."""
        if screen is self.explore:
            yield from commands(self.explore, self.memory.questions)

    def on_click(self, event: events.Click) -> None:
        """Close a dialog by a click beside it, as its escape key does."""
        if isinstance(self.screen, ModalScreen) and event.widget is self.screen:
            self.simulate_key("escape")

    def action_command_palette(self) -> None:
        """Open the palette, unless it is open."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())

    def pop_screen(self) -> AwaitComplete:
        """Close the dialog on top, but never the main screen: a key that closes a dialog may come twice."""
        return AwaitComplete() if self.screen in (self.explore, self.model) else super().pop_screen()

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen."""
        return self.model or self.explore

    def on_mount(self) -> None:
        """Open what was asked for over the main screen."""
        self.animation_level = "none"
        self.theme = opening_theme(self.memory.theme, colour=not self.no_color)
        self._opened = True
        if self.opens_lessons:
            self.explore.action_lessons()
        elif not self.model and self.explore.state.question.against and self.explore.state.works("against"):
            self.explore.action_against()
        if not self.is_headless:
            self.call_after_refresh(gc.freeze)  # what is loaded stays: to look through it for garbage delays a key
            gc.set_threshold(50_000)  # about every hundredth key; with 700, every second key waited
        if sys.platform != "win32" and not (self.is_headless or self.is_web):
            self._exit_on_sigterm()

    def _exit_on_sigterm(self) -> None:
        """Leave the terminal as it was if the program is told to end.

        With a handler the loop also wakes for every other signal. Without one, a resize that comes just before the
        loop sleeps would wait for a key.
        """
        end = signal.SIGTERM
        asyncio.get_running_loop().add_signal_handler(end, self.exit, None, 128 + end)
