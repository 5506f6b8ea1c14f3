"""The terminal app, its command palette and its user file.

A question is a shapecalc command line whose answer the app displays. In `learn` mode, the user predicts dims before the
app shows them. The user file stores the selected theme, the selected mode and earlier questions.
"""

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
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, SearchIcon
from textual.content import Content
from textual.filter import LineFilter, Monochrome
from textual.markup import escape
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen
from textual.system_commands import SystemCommandsProvider
from textual.theme import Theme

from shapecalc.core.ops import OPS, supporting_dialects
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable
from shapecalc.engine.atomic_files import write_atomically
from shapecalc.teaching import TOPICS
from shapecalc.teaching.progress import Progress
from shapecalc.tui.app_commands import AppCommand
from shapecalc.tui.dialogs import HelpDialog
from shapecalc.tui.explore import ExploreScreen
from shapecalc.tui.files import save_screenshot
from shapecalc.tui.question import (
    CHAIN,
    EXAMPLE_QUESTION,
    QUESTION_OPS,
    SETTING_DESCRIPTIONS,
    SWITCH_DESCRIPTIONS,
    Question,
    QuestionResult,
    question_command,
    question_from_words,
)
from shapecalc.tui.themes import DEFAULT_THEME, THEMES, initial_theme, line_filters
from shapecalc.tui.widgets import COMMANDS, GLOBAL_KEYS, KEYS, Key, ScreenWithHelp, key_binding_id

CHAIN_HELP = "several ops in a row, each with its own options"
MODE_NAMES = "work", "learn"
"""The names of the normal mode and of learning mode, as stored in the user file."""
MIN_MATCH_SCORE = 0.01
"""The minimum score of a command whose name contains all words of the query.

Textual's fuzzy matcher computes the scores.
"""
TOP_ACTIONS = ("fix", "compare", "elements", "mode", "cut", "code", "copy", "choose", "home", "course", "lessons")
"""The actions at the top of the palette, in order."""
MAX_FILE_SIZE = 1 << 20
"""The maximum size of the user file, in bytes."""
MAX_QUESTIONS, MAX_QUESTION_LENGTH = 20, 1000
"""The maximum number of stored questions, and the maximum length of a question in characters."""


def palette_commands(explore: ExploreScreen, command_lines: Sequence[str]) -> Iterator[SystemCommand]:
    """Yield the commands of the palette.

    `command_lines` contains the command lines of earlier questions.
    """
    yield from _key_commands(explore)
    if explore.state.is_offered("equiv"):
        about = "say whether it is the same function, and show where they differ"
        yield SystemCommand("Compare with another chain (against)", about, explore.action_equiv)
    if (
        explore.state.is_offered("mistake")
        and explore.state.is_available("elements")
        and explore.state.same_shape_mistake
    ):
        about = "draw what a mistake gives that has the same sizes; m in the elements"
        yield SystemCommand("Show the mistake beside the truth", about, explore.action_mistake)
    if explore.state.is_offered("save"):
        about = "write the film of the request into a file"
        yield SystemCommand("Save the request as a film (SVG, GIF, HTML)", about, partial(explore.action_save, "film"))
    if explore.state.is_awaiting_input:
        yield SystemCommand("Give a hint", "enter does, in a blank", explore.action_hint)
    about = "a command that opens this question at this step; in a browser, the address of the page is a link to it"
    yield SystemCommand("Copy a link to this question", about, explore.action_share)
    about = f"predict random requests without end; the lessons ask which topics: {', '.join(TOPICS)}"
    yield SystemCommand("Take exercises without end (drill)", about, explore.action_drill)
    for name in THEMES:
        yield SystemCommand(f"theme: {name}", "change the colours", partial(setattr, explore.app, "theme", name))
    yield from _question_commands(explore, command_lines)
    yield from _setting_commands(explore)


def _key_commands(explore: ExploreScreen) -> Iterator[SystemCommand]:
    """Yield a palette command for each key that cannot reveal a hidden answer.

    A command without an effect in the current state is found by search, but not listed.
    """
    keys = {key.action: key for key in (*GLOBAL_KEYS, *explore.keys, *COMMANDS)}.values()
    ranks = {action: rank for rank, action in enumerate(TOP_ACTIONS)}
    for key in sorted(keys, key=lambda key: ranks.get(key.action, len(ranks))):
        works = explore.state.is_available(key.action)
        if not key.action.endswith("palette") and explore.state.is_offered(key.action) is works:
            reason = explore.state.unavailable_reason(key.action) or "it would do nothing now"
            about = key.display if works else f"{key.display} {reason}".lstrip()
            run = partial(explore.run_action, key.action)
            yield SystemCommand(key.help, about, run if works else partial(explore.notify, about, markup=False), works)


def _question_commands(explore: ExploreScreen, command_lines: Sequence[str]) -> Iterator[SystemCommand]:
    """Yield a palette command for each earlier question that is still valid."""
    for line in command_lines:
        try:
            program, *words = split(line)
            question = question_from_words(words)
        except (ShapeError, ValueError):
            continue
        if program != "shapecalc" or not words:
            continue
        visible_line = escape(escape_unprintable(line.removeprefix("shapecalc ")))
        yield SystemCommand(f"asked before: {visible_line}", "ask it again", partial(explore.open_question, question))


def _setting_commands(explore: ExploreScreen) -> Iterator[SystemCommand]:
    """Yield the palette commands that select an op or a dialect, or open a field."""
    question = explore.state.question
    for name in QUESTION_OPS:
        about, changed_question = CHAIN_HELP if name == CHAIN else OPS[name].summary, question.with_op(name)
        yield SystemCommand(
            f"operation: {name}", escape(about), partial(explore.open_question, changed_question), False
        )
    for row in supporting_dialects(OPS[question.op]) if question.op in OPS else ():
        changed_question = question.with_setting("dialect", row.name)
        yield SystemCommand(
            f"dialect: {row.name}", escape(row.source), partial(explore.open_question, changed_question), False
        )
    for setting in (True, False, None) if question.switch else ():
        name, changed_question = str(question.switch), question.with_setting(str(question.switch), setting)
        about = f"how {question.dialect} reads a 0"
        yield SystemCommand(
            f"{name}: {SWITCH_DESCRIPTIONS[setting]}", about, partial(explore.open_question, changed_question), False
        )
    for name, about in SETTING_DESCRIPTIONS.items():
        yield SystemCommand(f"setting: {name}", about, partial(explore.action_choose, name), False)
    for name in question.fields:
        focus_field = explore.query_one(f"#field-{name}").focus
        yield SystemCommand(f"field: {name.replace('_', '-')}", "go there", focus_field, False)


KEY_GAP = 3
"""The minimum number of cells between the name of a command and its key in the palette."""


class Palette(CommandPalette):
    """A command palette that ignores arrow and page keys before its first layout.

    In Textual's `CommandPalette`, these keys then raise `KeyError`.
    """

    def on_mount(self) -> None:
        """Replace the search icon with a character that every font contains."""
        self.query_one(SearchIcon).icon = "?"

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


class AllWordsProvider(SystemCommandsProvider):
    """A provider of palette commands whose names contain all words of the query."""

    async def discover(self) -> Hits:
        """Yield all commands of the palette in order, with their keys in a column."""
        keys = {key.display for key in (*self.app.user_keys, *GLOBAL_KEYS)}  # type: ignore[attr-defined]
        commands = [command for command in self.app.get_system_commands(self.screen) if command.discover]
        width = max((len(name) + len(key) for name, key, *_ in commands if key in keys), default=0) + KEY_GAP
        for name, about, run, _ in commands:
            key = about if about in keys else ""
            title = Content.assemble(name, (key.rjust(width - len(name)), "$text-accent")) if key else name
            yield DiscoveryHit(title, run, text=name, help="" if key else about)

    async def search(self, query: str) -> Hits:
        """Yield the matching commands, ranked by Textual's fuzzy matcher."""
        words, matcher = query.casefold().split(), self.matcher(query)
        for name, about, run, _ in self.app.get_system_commands(self.screen):
            if all(word in name.casefold() for word in words):
                yield Hit(max(matcher.match(name), MIN_MATCH_SCORE), matcher.highlight(name), run, help=about)


NO_FILE = Path(devnull, "app.json")
"""A path at which no file can exist, for an app that stores nothing."""


def default_user_file() -> Path:
    """Return the default path of the user file.

    The file is `shapecalc/app.json` in XDG_DATA_HOME, or in the platform's data folder.
    """
    return user_data_path("shapecalc", appauthor=False) / "app.json"


class UserFile:
    """The user's theme, mode and earlier questions, stored in a JSON file.

    The latest question is first. If the file cannot be written, all changes are lost when the app exits.

    >>> kept = UserFile(NO_FILE)
    >>> for line in ("shapecalc reshape 6 2,3", "shapecalc flatten 2,3", "shapecalc reshape 6 2,3"):
    ...     kept.add_question(line)
    >>> kept.questions
    ('shapecalc reshape 6 2,3', 'shapecalc flatten 2,3')
    """

    def __init__(self, path: Path | None = None) -> None:
        """Load the file; all fields are empty if the file is missing or unreadable."""
        self.path = default_user_file() if path is None else path
        state = self._read()
        self.theme = str(state.get("theme", ""))
        self.mode = str(state.get("mode", ""))
        self.questions = _extract_questions(state)

    def store_theme(self, name: str) -> None:
        """Store the name of the selected theme."""
        if name != self.theme:
            self.theme = name
            self._write()

    def store_mode(self, name: str) -> None:
        """Store the name of the selected mode, an item of `MODE_NAMES`."""
        self.mode = name
        self._write()

    def add_question(self, line: str) -> None:
        """Insert the command line of a question at the front of the stored questions.

        The file is read again first, because another process may have added questions.
        """
        if self.questions[:1] != (line,):
            self.questions = _filter_questions((line, *_extract_questions(self._read()), *self.questions))
            self._write()

    def _read(self) -> dict[str, Any]:
        """Return the JSON object in the file, or an empty dict if it is unreadable."""
        with suppress(OSError, ValueError, RecursionError):
            if self.path.is_file() and self.path.stat().st_size <= MAX_FILE_SIZE:
                state = json.loads(self.path.read_text("utf-8"))
                return state if isinstance(state, dict) else {}
        return {}

    def _write(self) -> None:
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            state = {"theme": self.theme, "questions": self.questions} | ({"mode": self.mode} if self.mode else {})
            write_atomically(self.path, json.dumps(state).encode(), force=True)


def _extract_questions(state: dict[str, Any]) -> tuple[str, ...]:
    """Return the questions in a loaded user file, or () if they are malformed."""
    lines = state.get("questions")
    return _filter_questions([line for line in lines if isinstance(line, str)]) if isinstance(lines, list) else ()


def _filter_questions(lines: Iterable[str]) -> tuple[str, ...]:
    """Remove duplicate and overlong lines, and limit the number of lines."""
    return tuple(dict.fromkeys(line for line in lines if len(line) <= MAX_QUESTION_LENGTH))[:MAX_QUESTIONS]


class ShapecalcApp(App[QuestionResult]):
    """The terminal app for questions, lessons and models.

    `run` returns the answer to the last question.
    """

    TITLE = "shapecalc"
    COMMANDS = {AllWordsProvider}
    CSS = (files("shapecalc.tui") / "app.tcss").read_text("utf-8")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    BINDINGS = [
        Binding("tab", "focus_part(1)", show=False, priority=True),
        Binding("shift+tab", "focus_part(-1)", show=False, priority=True),
        Binding("f1", "help", show=False, priority=True),
    ]
    """The keys that every screen shares.

    The focus keys have priority, so that the focus moves before the next key is handled.
    """

    theme = Reactive(DEFAULT_THEME)

    def __init__(
        self,
        question: Question,
        step: int | None = 0,
        *,
        lesson: bool = False,
        home: bool = False,
        opening: AppCommand | None = None,
        cursor: tuple[int, ...] | None = None,
        learns: bool | None = None,
        progress: Progress | None = None,
        user_file: UserFile | None = None,
        model: Screen[None] | None = None,
        theme: str | None = None,
        keys: tuple[Key, ...] = KEYS,
    ) -> None:
        """Open a question at a step of its answer.

        If `step` is None, the question is opened after the last step.

        If `lesson` is True, the lessons are opened over the main screen; if `home` is True, the start screen. `opening`
        is code or a message to open. `model` is a screen that replaces the main screen. `cursor` is the index of an
        input element to follow.

        `learns` turns learning mode on or off; if it is None, the stored mode applies.

        `progress` stores the completed lessons, and `user_file` the state of the app. By default, they use the user's
        own files.

        `theme` is the theme at the start, by default the stored one. `keys` are the keys of the main screen.
        """
        super().__init__()
        self._first_theme = theme
        self.user_file = user_file or UserFile()
        self._is_open = False
        self.model_screen = model
        if question.second_chain and not step:  # a comparison starts without a step, with the outputs of both chains
            step = None
        if learns is None:
            learns = step is not None and self.user_file.mode == MODE_NAMES[True]
        self.user_keys = keys
        self.explore = ExploreScreen(question, step, progress, learns=learns, keys=keys, has_home=home)
        self.set_keymap({key_binding_id(main): key.name for main, key in zip(KEYS, keys, strict=True) if key != main})
        self.starts_with_lessons = lesson
        self.opening = opening
        self.explore.state.cursor = cursor
        self._last_question: ExploreScreen.QuestionShown | None = None

    def run(self, **options: Any) -> QuestionResult | None:
        """Run the app, and return its result.

        Raises the exception that ended the app, if any.
        """
        result = super().run(**options)
        if self._exception is not None:
            raise self._exception
        return result

    def _fatal_error(self) -> None:
        """Exit without a traceback, because `run` raises the exception."""
        self._close_messages_no_wait()

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The themes of the app, keyed by name."""
        return THEMES

    def watch_theme(self, before: str, after: str) -> None:
        """Store the theme that the user selects, but not the initial theme."""
        if after != before and self._is_open:
            self.user_file.store_theme(after)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the line filters of the theme instead of Textual's `Monochrome`."""
        filters = (line_filter for line_filter in super().get_line_filters() if not isinstance(line_filter, Monochrome))
        return (*filters, *line_filters(self.theme, has_colour=not self.no_color))

    @on(ExploreScreen.QuestionShown)
    def record_question(self, event: ExploreScreen.QuestionShown) -> None:
        """Store the question when the user goes to another step or replaces the question.

        A changed mode is stored at once.
        """
        before, self._last_question = self._last_question, event
        if before is not None and before.is_learning != event.is_learning:
            self.user_file.store_mode(MODE_NAMES[event.is_learning])
        if event.is_final or (before is not None and before.line == event.line and before.step != event.step):
            self._store_question()

    def _store_question(self) -> None:
        """Add the last question to the user file, unless it is `EXAMPLE_QUESTION`."""
        if self._last_question is not None and self._last_question.line != question_command(EXAMPLE_QUESTION, None):
            self.user_file.add_question(self._last_question.line)

    def exit(
        self, result: QuestionResult | None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Exit, after adding the last question to the user file."""
        self._store_question()
        super().exit(result, return_code, message)

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """Yield the palette commands of the main screen; on other screens, there are none."""
        if screen is self.explore:
            yield from palette_commands(self.explore, self.user_file.questions)

    def on_click(self, event: events.Click) -> None:
        """Close the current dialog if the user clicks outside its box."""
        if isinstance(self.screen, ModalScreen) and event.widget is self.screen:
            self.simulate_key("escape")

    def action_focus_part(self, direction: int) -> None:
        """Focus the next or the previous part of the screen."""
        if self.screen is self.explore:
            self.explore.action_focus_part(direction)
        elif direction > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_help(self) -> None:
        """Open or close the help for the current screen."""
        if isinstance(self.screen, HelpDialog):
            self.screen.dismiss()
        elif isinstance(self.screen, ScreenWithHelp):
            self.push_screen(HelpDialog(*self.screen.help()))

    def action_save_screen(self, kind: str) -> None:
        """Save the screen as a picture or as text; a browser downloads the file.

        `kind` is "svg" or "text".
        """
        save_screenshot(self.screen, as_text=kind == "text")

    def action_command_palette(self) -> None:
        """Open the command palette, unless it is already open."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())

    def pop_screen(self) -> AwaitComplete:
        """Close the top dialog, but never the main screen."""
        return AwaitComplete() if self.screen in (self.explore, self.model_screen) else super().pop_screen()

    def get_default_screen(self) -> Screen[None]:
        """Return the screen of the model, or the main screen if there is no model."""
        return self.model_screen or self.explore

    async def on_mount(self) -> None:
        """Set the theme, and open the lessons or the chain comparison on request."""
        self.animation_level = "none"
        self.theme = initial_theme(self._first_theme or self.user_file.theme, has_colour=not self.no_color)
        self._is_open = True
        if self.explore.has_home:
            self.explore.action_home()
        if self.opening is not None:
            await self.explore.open_command(self.opening)
        if self.starts_with_lessons:
            self.explore.action_lessons()
        elif (
            not self.model_screen
            and self.explore.state.question.second_chain
            and self.explore.state.is_available("equiv")
        ):
            self.explore.action_equiv()
        if not self.is_headless:
            # without `freeze`, each garbage collection scans all loaded modules and delays keys; with this threshold, a
            # collection occurs about every 100 key presses; with the default of 700, about every 2
            self.call_after_refresh(gc.freeze)
            gc.set_threshold(50_000)
        if sys.platform != "win32" and not (self.is_headless or self.is_web):
            # on SIGTERM, exit and restore the terminal; with at least one handler, every signal wakes the event loop,
            # and a SIGWINCH just before the loop waits is not ignored until the next key press
            signal_number = signal.SIGTERM
            asyncio.get_running_loop().add_signal_handler(signal_number, self.exit, None, 128 + signal_number)
