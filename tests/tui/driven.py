"""A user at the keyboard of the app: presses real keys, and reads what the screen shows."""

from __future__ import annotations

import asyncio
import functools
import inspect

from textual import events
from textual.css.stylesheet import Stylesheet
from textual.widgets import OptionList

from shapecalc.core.text import shape_text
from shapecalc.reading.commands import split_unbracketed
from shapecalc.render.big import Scale, render_figures
from shapecalc.tui.app import ShapecalcApp
from shapecalc.tui.question import question_from_words

PARSED = {}
"""The rules of style sheets, by their text and the theme: an app parses them when it starts, all apps here once."""


def parsed_once(self, *source, parse=Stylesheet._parse_rules, **options):
    key = (*self._variables.items(), *source, *options.values())
    if key not in PARSED:
        PARSED[key] = parse(self, *source, **options)
    return PARSED[key]


Stylesheet._parse_rules = parsed_once

CHARACTERS = {"question_mark": "?", "slash": "/"}
"""What is typed by the keys that Textual names."""


class User:
    """Someone who sees the screen as text."""

    def __init__(self, app):
        self.app, self.pilot, self._text = app, None, None

    @property
    def text(self):
        """The screen as it was when all was settled, without blanks at the ends of its lines."""
        if self._text is None:
            strips = self.app.screen._compositor.render_strips()
            self._text = "\n".join(strip.text.rstrip() for strip in strips)
        return self._text

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def title(self):
        return self.lines[0].strip()

    @property
    def rail(self):
        return next(line.strip() for line in self.lines if line.startswith(" input ▸"))

    @property
    def command(self):
        return next(line.strip() for line in self.lines if line.startswith(" $ "))

    @property
    def keys(self):
        return self.lines[-1].strip()

    @property
    def segments(self):
        """The texts on the screen with their styles."""
        return [segment for strip in self.app.screen._compositor.render_strips() for segment in strip]

    @property
    def lit(self):
        """The texts that are shown in reverse."""
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
        """What stands in the field that has the focus."""
        return self.app.focused.value

    @property
    def listed(self):
        """The entries of the list on the screen."""
        return [str(option.prompt) for option in self.app.screen.query(OptionList).first().options]

    @property
    def notes(self):
        """What was notified, oldest first."""
        return [(note.title, note.message) for note in self.app._notifications]

    @property
    def note(self):
        """What was notified last."""
        return ": ".join(self.notes[-1]) if self.notes else ""

    @property
    def theme(self):
        return self.app.theme

    @property
    def clipboard(self):
        return self.app.clipboard

    @property
    def answer(self):
        """The shape that the app was left with, which is printed."""
        return self.app.return_value and shape_text(self.app.return_value.answer.output)

    def shows_large(self, text):
        """Say whether the screen shows a text in large figures: each line of it, one under the other."""
        lines = [line.ljust(self.app.size.width) for line in self.lines]
        wanted = render_figures(text, Scale.LARGE)
        return any(
            all(lines[row + place].startswith(part, x) for place, part in enumerate(wanted))
            for row in range(len(lines) - len(wanted))
            for x in range(self.app.size.width)
        )

    async def press(self, *keys):
        """Press keys, each when what the one before asked for is done."""
        for key in keys:
            self._send(key)
            await self.settle()

    async def type(self, text):
        """Type as fast as one pastes."""
        await self.hurry(*text)

    async def hurry(self, *keys):
        """Press keys without waiting for what they do."""
        for key in keys:
            self._send(key)
        await self.settle()

    async def burst(self, *keys, turns):
        """Press keys so many turns of the event loop apart, whatever they do meanwhile, as a terminal hands them on."""
        for key in keys:
            self._send(key)
            for _ in range(turns):
                await asyncio.sleep(0)
        await self.settle()

    def _send(self, key):
        char = CHARACTERS.get(key, key if len(key) == 1 else None)
        self.app.post_message(events.Key(key, char))

    async def settle(self):
        """Wait until nothing can go on without a key, the clock or a thread, and all is drawn.

        Textual's own pause sends each widget a message and waits for it, which takes as long as all that is tested.
        """
        self._text, ready = None, asyncio.get_running_loop()._ready
        while True:
            while ready:
                await asyncio.sleep(0)
            self.app.screen._on_timer_update()
            if not ready:
                return

    async def wipe(self):
        """Empty the field that has the focus."""
        await self.press("ctrl+e", "ctrl+u")

    async def find(self, words):
        """Do what the palette does for the one command that has these words."""
        (found,) = [each for each in self.app.get_system_commands(self.app.explore) if words in each.title]
        if inspect.isawaitable(doing := found.callback()):
            await doing
        await self.settle()

    async def ask(self, line):
        """Ask another question in the app that is open, and stand where it would open."""
        await self.app.explore.open_question(question_from_words(split_unbracketed(line)))
        self.state.go_to_step(0 if self.state.is_learning else self.state.last_step)
        self.app.explore.focus_first()
        await self.settle()

    async def paste(self, text):
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def click(self, text, *, after=0):
        """Click the first place on the screen that shows a text."""
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
    """Run a script with a user at an app that is opened with a command line; return what the app returned.

    It is opened at work, past the last step unless one is given.
    """
    app = ShapecalcApp(question_from_words(words), step, learns=learns, **opening)
    user = User(app)
    async with app.run_test(size=size, notifications=True) as pilot:
        user.pilot = pilot
        await user.settle()
        await script(user)
    return app.return_value


def driven(*words, **options):
    """Make a test of an async function whose first parameter is a user; the others are fixtures."""

    def made(test):
        @functools.wraps(test)
        def run(**fixtures):
            asyncio.run(using(functools.partial(test, **fixtures), *words, **options))

        signature = inspect.signature(test)
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])
        return run

    return made
