"""A simulated user of the app, who presses real keys and reads the screen."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from itertools import pairwise

from textual import events
from textual.css.stylesheet import Stylesheet
from textual.widgets import OptionList

from shapecalc.core.text import shape_text, split_outside_brackets
from shapecalc.render.step import ARROW
from shapecalc.tui.app import ShapecalcApp
from shapecalc.tui.question import question_command, question_from_words

PARSED = {}
"""The parsed rules by style sheet and theme: each app parses them at its start, which is slow."""


def parse_cached(self, *source, parse=Stylesheet._parse_rules, **options):
    key = (*self._variables.items(), *source, *options.values())
    if key not in PARSED:
        PARSED[key] = parse(self, *source, **options)
    return PARSED[key]


Stylesheet._parse_rules = parse_cached

SHUFFLE = ("shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1")
CHARACTERS = {"question_mark": "?", "slash": "/"}
"""The characters of keys that Textual names."""


class User:
    """A user who reads the screen as text."""

    def __init__(self, app):
        self.app, self.pilot, self._text = app, None, None

    @property
    def text(self):
        """The screen after the last wait, without trailing blanks."""
        if self._text is None:
            strips = self.app.screen._compositor.render_strips()
            self._text = "\n".join(strip.text.rstrip() for strip in strips)
        return self._text

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def question(self):
        """The title of the question, and the score."""
        below = next(line for line in self.lines if line.startswith("╰"))
        parts = [re.sub(r"^Question · ", "", text.strip("╭╮╰╯─ ")) for text in (self.lines[0], below)]
        return "   ".join(filter(None, parts))

    @property
    def output(self):
        """The output on the answer line: a shape, `hidden`, or why there is none."""
        line = next(
            line.strip("│▌")
            for before, line in pairwise(self.lines)
            if ARROW in line and (line[0] in " ▌" or before.startswith("╭─ Answer"))
        )
        shown = re.split(r" {3,}", line.partition(ARROW)[2].strip().replace(" , ", ","))[0]
        is_shape = not re.match(r"refused|cannot|\.\.\.", shown)
        return f"answer {'hidden' if {'_', '?'} & {*shown} else shown}" if is_shape else shown

    @property
    def title(self):
        """The title of the question, the score and the answer, in one line; of other screens, the first line."""
        if self.app.screen is not self.app.explore:
            return self.lines[0].strip()
        return f"{self.question}   {self.output}"

    @property
    def step(self):
        """The title of the panel of the step."""
        return next(match[1] for line in self.lines if (match := re.search(r"╭─ ((?:Step|Why|Request).*?) ─", line)))

    @property
    def command(self):
        """The command line, or what stands for it where it has no room."""
        shown = next((line.strip() for line in self.lines if line.startswith(" $ ")), "")
        return shown or f"$ {question_command(self.state.question, self.state.result.answer)}"

    @property
    def keys(self):
        return self.lines[-1].strip()

    @property
    def segments(self):
        """The styled segments of the screen."""
        return [segment for strip in self.app.screen._compositor.render_strips() for segment in strip]

    @property
    def lit(self):
        """The texts in reverse video."""
        return [text.strip() for text, style, _ in self.segments if style and style.reverse and text.strip()]

    @property
    def state(self):
        return self.app.explore.state

    @property
    def screen(self):
        return type(self.app.screen).__name__

    @property
    def focus(self):
        return getattr(self.app.focused, "id", None)

    @property
    def value(self):
        """The text of the focused field."""
        return self.app.focused.value

    @property
    def listed(self):
        """The entries of the list on the screen."""
        return [str(option.prompt) for option in self.app.screen.query(OptionList).first().options]

    @property
    def notes(self):
        """The notifications, oldest first."""
        return [(note.title, note.message) for note in self.app._notifications]

    @property
    def note(self):
        """The last notification."""
        return ": ".join(self.notes[-1]) if self.notes else ""

    @property
    def theme(self):
        return self.app.theme

    @property
    def clipboard(self):
        return self.app.clipboard

    @property
    def answer(self):
        """The shape that the app printed at exit."""
        return self.app.return_value and shape_text(self.app.return_value.answer.output)

    async def press(self, *keys):
        """Press keys, and wait after each until the app is idle; `:copy` runs an action of the main screen."""
        for key in keys:
            await self.hurry(key)

    async def type(self, text):
        """Type a text without pauses."""
        await self.hurry(*text)

    async def hurry(self, *keys):
        """Press keys without pauses, then wait until the app is idle."""
        for key in keys:
            if key.startswith(":") and len(key) > 1:
                await self.settle()
                await self.app.explore.run_action(key[1:])
                await self.settle()
            else:
                self._send(key)
        await self.settle()

    async def burst(self, *keys, turns):
        """Press keys `turns` iterations of the event loop apart, as a terminal delivers them."""
        for key in keys:
            self._send(key)
            for _ in range(turns):
                await asyncio.sleep(0)
        await self.settle()

    def _send(self, key):
        char = CHARACTERS.get(key, key if len(key) == 1 else None)
        self.app.post_message(events.Key(key, char))

    async def settle(self):
        """Wait until the event loop is idle and the screen is drawn.

        Textual's own pause sends a message to each widget and waits for it, which doubles the time of the tests.
        """
        self._text, ready = None, asyncio.get_running_loop()._ready
        while True:
            while ready:
                await asyncio.sleep(0)
            self.app.screen._on_timer_update()
            if not ready:
                return

    async def wipe(self):
        """Clear the focused field."""
        await self.press("ctrl+e", "ctrl+u")

    async def find(self, words):
        """Run the palette command whose title contains some words."""
        (command,) = [item for item in self.app.get_system_commands(self.app.explore) if words in item.title]
        if inspect.isawaitable(pending := command.callback()):
            await pending
        await self.settle()

    async def ask(self, line):
        """Open another question in the running app, at its opening step."""
        self.app.explore.action_leave_field()
        await self.app.explore.open_question(question_from_words(split_outside_brackets(line)))
        self.state.go_to_step(0 if self.state.is_learning else self.state.end_step)
        self.app.explore.focus_initial_widget()
        await self.settle()

    async def paste(self, text):
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def click(self, text, *, after=0):
        """Click the first occurrence of a text on the screen."""
        row = next(n for n, line in enumerate(self.lines) if text in line)
        await self.click_at(self.lines[row].index(text) + after, row)

    async def click_at(self, x, y):
        for event in (events.MouseDown, events.MouseUp):
            self.app.post_message(event(None, x, y, 0, 0, 1, False, False, False, x, y))
        await self.settle()

    async def resize(self, width, height):
        await self.pilot.resize_terminal(width, height)
        await self.settle()


async def using(script, *words, size=(80, 24), step=None, learns=False, **opening):
    """Run a script with a user of an app opened with a command line; return the return value of the app.

    The app opens in work mode, past the last step unless `step` is given; without words, with a Shuffle.
    """
    app = ShapecalcApp(
        question_from_words(words or (() if opening.get("home") else SHUFFLE)), step, learns=learns, **opening
    )
    user = User(app)
    async with app.run_test(size=size, notifications=True) as pilot:
        user.pilot = pilot
        await user.settle()
        await script(user)
    return app.return_value


def driven(*words, **options):
    """Return a decorator that makes a test of an async function of a user and fixtures."""

    def decorate(test):
        @functools.wraps(test)
        def run(**fixtures):
            asyncio.run(using(functools.partial(test, **fixtures), *words, **options))

        signature = inspect.signature(test)
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])
        return run

    return decorate
