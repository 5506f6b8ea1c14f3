"""The terminal app, what its palette finds, and the file of what it remembers. Losing that file loses nothing else."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.resources import files
from os import devnull
from pathlib import Path
from shlex import split
from typing import Any

from platformdirs import user_data_path
from rich.console import RenderableType
from textual import events, on
from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import CommandPalette, Hit, Hits, SearchIcon
from textual.filter import LineFilter, Monochrome
from textual.markup import escape
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen
from textual.system_commands import SystemCommandsProvider
from textual.theme import Theme

from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.engine.whole_files import write_whole
from shapecalc.teaching import TOPICS
from shapecalc.teaching.progress import Progress
from shapecalc.tui.explore import Explore
from shapecalc.tui.question import ASKABLE, CHAIN, FIRST, SETTINGS, SWITCH_WORDS, Question, Result, command, question_of
from shapecalc.tui.themes import OURS, THEMES, filters_of, opening_theme
from shapecalc.tui.widgets import KEYS, Room

CHAIN_HELP = "several operations in a row, each with its own options"
MODES = "work", "learn"
"""The names under which the modes are remembered."""
LEAST_SCORE = 0.01
"""The rank of a command that has the words of what is typed, but not side by side."""
LARGEST = 1 << 20
"""Bytes of the largest file that is read."""
MOST_QUESTIONS, LONGEST_QUESTION = 20, 1000
"""How many questions are kept, and the characters of the longest of them."""


def commands(explore: Explore, asked: Sequence[str]) -> Iterator[SystemCommand]:
    """Yield what can be done at the main screen; `asked` are the command lines of questions to ask again."""
    yield from _keys(explore)
    if explore.state.offers("equiv"):
        about = "say whether it is the same function, and show where they differ"
        yield SystemCommand("compare with another chain (against)", about, explore.action_equiv)
    if explore.state.offers("mistake") and explore.state.works("grid") and explore.state.twin:
        about = "draw what a mistake gives that has the same sizes; m in the grid of F3"
        yield SystemCommand("the mistake beside the truth", about, explore.action_mistake)
    for kind in ("film", "picture") if explore.state.offers("save") else ():
        about = f"write the {kind} of the {'request' if kind == 'film' else 'step'} into a file"
        yield SystemCommand(f"save the {kind}", about, partial(explore.action_save, kind))
    if explore.state.asking:
        yield SystemCommand("give a hint", "enter does, in a hole", explore.action_hint)
    about = "a command that opens this question at this step; in a browser, the address of the page is a link to it"
    yield SystemCommand("share: copy a link to this", about, explore.action_share)
    about = f"predict random requests without end; F5 asks which topics: {', '.join(TOPICS)}"
    yield SystemCommand("take exercises without end (drill)", about, explore.action_drill)
    for name in THEMES:
        yield SystemCommand(f"theme: {name}", "^T goes on to the next", partial(setattr, explore.app, "theme", name))
    yield from _questions(explore, asked)
    yield from _settings(explore)


def _keys(explore: Explore) -> Iterator[SystemCommand]:
    """Yield the keys; those that would do nothing now are found only by who looks for them."""
    for key in KEYS:
        works = explore.state.works(key.action)
        if not key.action.endswith("palette") and explore.state.offers(key.action) is works:
            about = key.shown if works else f"{key.shown}, which would do nothing now"
            run = partial(explore.run_action, key.action)
            yield SystemCommand(key.help, about, run if works else partial(explore.notify, about, markup=False), works)


def _questions(explore: Explore, asked: Sequence[str]) -> Iterator[SystemCommand]:
    """Yield the questions that were asked before, as far as they can still be read."""
    for line in asked:
        try:
            program, *words = split(line)
            question = question_of(words)
        except (ShapeError, ValueError):
            continue
        if program != "shapecalc" or not words:
            continue
        shown = escape(visible(line.removeprefix("shapecalc ")))
        yield SystemCommand(f"asked before: {shown}", "ask it again", partial(explore.ask_anew, question))


def _settings(explore: Explore) -> Iterator[SystemCommand]:
    """Yield the ops, the dialects, the settings of the switch, the settings that are typed, and the fields."""
    question = explore.state.question
    for name in ASKABLE:
        about, asking = CHAIN_HELP if name == CHAIN else OPS[name].summary, question.with_op(name)
        yield SystemCommand(f"operation: {name}", escape(about), partial(explore.ask_anew, asking), False)
    for row in dialects_with(OPS[question.op]) if question.op in OPS else ():
        asking = question.with_setting("dialect", row.name)
        yield SystemCommand(f"dialect: {row.name}", escape(row.source), partial(explore.ask_anew, asking), False)
    for setting in (True, False, None) if question.switch else ():
        name, asking = str(question.switch), question.with_setting(str(question.switch), setting)
        about = f"how {question.dialect} reads a 0"
        yield SystemCommand(f"{name}: {SWITCH_WORDS[setting]}", about, partial(explore.ask_anew, asking), False)
    for name, about in SETTINGS.items():
        yield SystemCommand(f"setting: {name}", about, partial(explore.action_choose, name), False)
    for name in question.fields:
        go = explore.query_one(f"#field-{name}").focus
        yield SystemCommand(f"field: {name.replace('_', '-')}", "go there", go, False)


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
        for name, about, run, _ in self.app.get_system_commands(self.screen):
            if all(word in name.casefold() for word in words):
                yield Hit(max(matcher.match(name), LEAST_SCORE), matcher.highlight(name), run, help=about)


NOWHERE = Path(devnull, "app.json")
"""The file of those of whom nothing is kept longer than the app runs."""


def app_file() -> Path:
    """Return where it is: `shapecalc/app.json` under XDG_DATA_HOME, or what the platform has for it."""
    return user_data_path("shapecalc", appauthor=False) / "app.json"


class UserFile:
    """The theme, the mode, the questions, the last one first. If the file cannot be used, they last as long as the app.

    >>> kept = UserFile(NOWHERE)
    >>> for line in ("shapecalc reshape 6 2,3", "shapecalc flatten 2,3", "shapecalc reshape 6 2,3"):
    ...     kept.add_question(line)
    >>> kept.questions
    ('shapecalc reshape 6 2,3', 'shapecalc flatten 2,3')
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read what is kept: nothing if there is no file, or if it cannot be read."""
        self.file = app_file() if file is None else file
        kept = self._read()
        self.theme = str(kept.get("theme", ""))
        self.mode = str(kept.get("mode", ""))
        self.questions = _questions_in(kept)

    def keep_theme(self, name: str) -> None:
        """Remember a theme."""
        if name != self.theme:
            self.theme = name
            self._write()

    def keep_mode(self, name: str) -> None:
        """Remember a mode."""
        self.mode = name
        self._write()

    def add_question(self, line: str) -> None:
        """Remember a question by its command line; what another app has asked in the meantime is kept."""
        if self.questions[:1] != (line,):
            self.questions = _kept((line, *_questions_in(self._read()), *self.questions))
            self._write()

    def _read(self) -> dict[str, Any]:
        """Return what the file holds; nothing if that is no object."""
        with suppress(OSError, ValueError, RecursionError):
            if self.file.is_file() and self.file.stat().st_size <= LARGEST:
                kept = json.loads(self.file.read_text("utf-8"))
                return kept if isinstance(kept, dict) else {}
        return {}

    def _write(self) -> None:
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            kept = {"theme": self.theme, "questions": self.questions} | ({"mode": self.mode} if self.mode else {})
            write_whole(self.file, json.dumps(kept).encode(), force=True)


def _questions_in(kept: dict[str, Any]) -> tuple[str, ...]:
    """Return the questions that a file holds; none if they are no list of texts."""
    lines = kept.get("questions")
    return _kept([line for line in lines if isinstance(line, str)]) if isinstance(lines, list) else ()


def _kept(lines: Iterable[str]) -> tuple[str, ...]:
    """Return those of some lines that are kept, each once."""
    return tuple(dict.fromkeys(line for line in lines if len(line) <= LONGEST_QUESTION))[:MOST_QUESTIONS]


class ShapecalcApp(App[Result]):
    """Opens at a question, or at the lessons; ends with the answer if it is asked for."""

    TITLE = "shapecalc"
    COMMANDS = {WholeWords}
    CSS = (files("shapecalc.tui") / "app.tcss").read_text("utf-8")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    BINDINGS = [
        Binding("tab", "focus_next", show=False, priority=True),
        Binding("shift+tab", "focus_previous", show=False, priority=True),
        Binding("f1", "help", show=False, priority=True),
    ]
    """What moves the focus, before the next key is handed on, which may come at once; and the help of every room."""

    theme = Reactive(OURS)

    def __init__(
        self,
        question: Question,
        step: int | None = 0,
        *,
        lesson: bool = False,
        big: bool = False,
        learns: bool | None = None,
        progress: Progress | None = None,
        user_file: UserFile | None = None,
        model: Screen[None] | None = None,
    ) -> None:
        """Open with a question, at one of its steps or past the last, and with the lessons over it if `lesson` is set.

        If `big` is set, the step is drawn in large figures. A `model` is shown in place of the question.

        If it `learns`, it asks. If that is None, it is as it was left; the first time, it asks about its own example.

        `progress` says which lessons are done, and `user_file` what else is kept; where one is None, it is the user's.
        """
        super().__init__()
        self.user_file = user_file or UserFile()
        self._opened = False
        self.model = model
        if question.second_chain and not step:  # the outputs of both chains are shown
            step = None
        if learns is None:
            learns = step is not None and (self.user_file.mode or MODES[question == FIRST]) == MODES[True]
        self.explore = Explore(question, step, progress, big=big, learns=learns)
        self.opens_lessons = lesson
        self._shown: Explore.QuestionShown | None = None

    def run(self, **options: Any) -> Result | None:
        """Run the app and return what it was left with; raise what it could not go on after."""
        result = super().run(**options)
        if self._exception is not None:
            raise self._exception
        return result

    def _fatal_error(self) -> None:
        """End the app as Textual does, without a report on the screen: the fault is told where everything ends."""
        self._close_messages_no_wait()

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The themes that are offered, by name."""
        return THEMES

    def watch_theme(self, before: str, after: str) -> None:
        """Remember a theme that is chosen, not the one that the app opens in."""
        if after != before and self._opened:
            self.user_file.keep_theme(after)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what every line goes through before it is shown."""
        filters = (each for each in super().get_line_filters() if not isinstance(each, Monochrome))
        return (*filters, *filters_of(self.theme, colour=not self.no_color))

    @on(Explore.QuestionShown)
    def note_question(self, shown: Explore.QuestionShown) -> None:
        """Remember a question once it is stepped through, or another is asked in its place."""
        before, self._shown = self._shown, shown
        if before is not None and before.learns != shown.learns:
            self.user_file.keep_mode(MODES[shown.learns])
        if shown.for_good or (before is not None and before.line == shown.line and before.at != shown.at):
            self._remember()

    def _remember(self) -> None:
        """Remember the question at hand, but the one that the app opens with by itself."""
        if self._shown is not None and self._shown.line != command(FIRST, None):
            self.user_file.add_question(self._shown.line)

    def exit(self, result: Result | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave, and remember the last question."""
        self._remember()
        super().exit(result, return_code, message)

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """Return what the palette offers at the main screen."""
        if screen is self.explore:
            yield from commands(self.explore, self.user_file.questions)

    def on_click(self, event: events.Click) -> None:
        """Close a dialog by a click beside it, as its escape key does."""
        if isinstance(self.screen, ModalScreen) and event.widget is self.screen:
            self.simulate_key("escape")

    def action_help(self) -> None:
        """Explain the room one is in, or close the help."""
        from shapecalc.tui.dialogs import Help

        if isinstance(self.screen, Help):
            self.screen.dismiss()
        elif isinstance(self.screen, Room):
            self.push_screen(Help(*self.screen.help()))

    def action_save_screen(self, kind: str) -> None:
        """Save the screen as a picture or as text in the folder one is in; a browser keeps it with its downloads."""
        from shapecalc.tui.files import save_screen

        save_screen(self.screen, as_text=kind == "text")

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
        self.theme = opening_theme(self.user_file.theme, colour=not self.no_color)
        self._opened = True
        if self.opens_lessons:
            self.explore.action_lessons()
        elif not self.model and self.explore.state.question.second_chain and self.explore.state.works("equiv"):
            self.explore.action_equiv()
        if not self.is_headless:
            self.call_after_refresh(gc.freeze)  # what is loaded stays: to look through it for garbage delays a key
            gc.set_threshold(50_000)  # about every hundredth key; with 700, every second key waited
        if sys.platform != "win32" and not (self.is_headless or self.is_web):
            # this leaves the terminal as it was; with a handler the loop also wakes for every other signal, and without
            # one a resize that comes just before the loop sleeps would wait for a key
            end = signal.SIGTERM
            asyncio.get_running_loop().add_signal_handler(end, self.exit, None, 128 + end)
