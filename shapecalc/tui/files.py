"""Files: the arrays that are chosen as the input, and what is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from io import StringIO
from itertools import islice
from os.path import isdir, relpath
from pathlib import Path
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.text import is_file, shape_text, visible
from shapecalc.engine.headers import found_in
from shapecalc.engine.whole_files import write_whole
from shapecalc.tui.widgets import SENT, Choices, Dialog, KeyWords, TextField
from shapecalc.view.files import ENDINGS, still
from shapecalc.view.film import FORMATS, film_file

MOST = 1000
"""The most names that are listed of a folder or a file."""
HOLDS_SEVERAL = (".npz", ".safetensors")
"""The endings of files that hold several arrays, each with a name."""
FILM = "film"


class Entry(Record):
    """A folder, a file, or an array in a file, by the name that an input has for it."""

    name: str
    path: str
    opens: bool
    """Whether there is something to list in it."""


def entries_in(path: str) -> list[Entry]:
    """Return what a folder or a file of several arrays holds, folders first; raise `OSError` if it cannot be read."""
    if path.endswith(HOLDS_SEVERAL):
        return [Entry(found.name.removeprefix(path), found.name, False) for found in islice(found_in(path), MOST)]
    entries = [Entry("..", str(Path(path).resolve().parent), True)]
    inside = sorted(each for each in Path(path).iterdir() if not each.name.startswith("."))
    entries += [Entry(f"{each.name}/", str(each), True) for each in inside if _is_folder(each)]
    files = (each for each in inside if is_file(each.name) and not _is_folder(each))
    return (entries + [Entry(each.name, str(each), each.name.endswith(HOLDS_SEVERAL)) for each in files])[:MOST]


def _is_folder(path: str | Path) -> bool:
    return isdir(path)  # noqa: PTH112 - it never raises


def about(entry: Entry) -> str:
    """Return what is said of an entry: the shape and the type of an array, or how many there are.

    >>> about(Entry("gone.npy", "gone.npy", False))
    'no such file or directory'
    """
    if _is_folder(entry.path):
        return "a folder"
    found = list(islice(found_in(entry.path), MOST))
    if entry.opens and len(found) != 1:
        return f"{len(found)} arrays"
    return found[0].problem or f"{found[0].dtype or 'structured'} {shape_text(found[0].shape)}"


class Files(Dialog[str | None]):
    """^O: a list of folders and arrays, and what the one under the cursor holds."""

    BINDINGS = [Binding("escape,ctrl+o", "dismiss", "close"), Binding("backspace", "leave", "up")]

    def __init__(self, path: str) -> None:
        """Open at a folder."""
        super().__init__()
        self.path = path
        self.entries: list[Entry] = []

    def contents(self) -> ComposeResult:
        """Put the list under the folder's name, and what is said of its lines under it."""
        yield Static("", id="folder", markup=False)
        yield Choices(id="entries")
        yield Static("", id="about", markup=False)
        yield KeyWords("enter takes an array or opens a folder, escape closes")

    def on_mount(self) -> None:
        """List the folder."""
        self.show(self.path)
        self.query_one(Choices).focus()

    def show(self, path: str) -> None:
        """List a folder or a file; where it cannot be read, say why and stay."""
        try:
            entries = entries_in(path)
        except OSError as error:
            self.query_one("#about", Static).update(visible(f"{path}: {error.strerror}"))
            return
        self.path, self.entries = path, entries
        first = f"the first {MOST} of " if len(entries) == MOST else ""
        self.query_one("#folder", Static).update(visible(f"{first}{Path(path).resolve()}"))
        listed = self.query_one(Choices)
        listed.clear_options().add_options([Option(visible(entry.name)) for entry in entries])
        listed.highlighted = 0 if entries else None

    @on(OptionList.OptionHighlighted)
    def look(self, event: OptionList.OptionHighlighted) -> None:
        """Say what is under the cursor."""
        self.query_one("#about", Static).update(visible(about(self.entries[event.option_index])))

    @on(OptionList.OptionSelected)
    def take(self, event: OptionList.OptionSelected) -> None:
        """Open what holds something, or close with the shortest name of an array from the folder one is in."""
        entry = self.entries[event.option_index]
        if entry.opens:
            self.show(entry.path)
        else:
            self.dismiss(min(entry.path, relpath(entry.path), key=len))

    def action_leave(self) -> None:
        """Go to the folder above."""
        self.show(str(Path(self.path).resolve().parent))


# What is saved


def save(app: App[Any], kind: str, answer: Trace | Chain, step: int | None) -> None:
    """Ask for the name of a file, for a film or for the picture of a step, from 1; a browser keeps an SVG with its own.

    The step is None for the whole answer.
    """

    def contents(name: str) -> bytes:
        return film_file(answer, name)[1] if kind == FILM else still(answer, name, step)

    name = f"shapecalc-{kind}.svg"
    if app.is_web:
        app.deliver_text(StringIO(contents(name).decode()), save_filename=name)
    else:
        app.push_screen(Save(kind, contents))


class Save(Dialog[None]):
    """A field for the name, and what is wrong with it."""

    BINDINGS = [Binding("escape", "dismiss", "close")]

    def __init__(self, kind: str, make: Callable[[str], bytes]) -> None:
        """Ask for the name of the file of a `film` or a `picture`, whose contents are made for that name."""
        super().__init__()
        self.kind, self.make = kind, make
        self._writing = False

    def contents(self) -> ComposeResult:
        """Put what names may end in over the field."""
        endings = FORMATS if self.kind == FILM else ENDINGS
        yield Static(f"Save the {self.kind} as a file that ends in {', '.join(endings)}")
        yield TextField(f"shapecalc-{self.kind}.svg", id="name")
        yield Static("enter saves it, escape closes", id="words", markup=False)

    def on_mount(self) -> None:
        """Begin in the field."""
        self.query_one(TextField).focus()

    @on(Input.Submitted)
    async def save(self, event: Input.Submitted) -> None:
        """Write the file and close, or say why not."""
        if self._writing:
            return
        name, words = event.value.strip(), self.query_one("#words", Static)
        self._writing = True
        words.update("writing ...")
        try:
            await asyncio.to_thread(lambda: write_whole(Path(name), self.make(name)))
        except ShapeError as error:
            words.update(visible(f"{error.problem.message}. {error.problem.hint}".strip()))
        except OSError as error:
            words.update(visible(str(error)))
        else:
            self.dismiss()
            self.app.notify(visible(name), title="saved", markup=False)
        self._writing = False


def save_screen(screen: Screen[Any], *, as_text: bool) -> None:
    """Save the screen without notifications, as a picture or as text; from a browser, where it keeps its downloads.

    The app takes its notifications away in its turn.
    """
    screen.app.clear_notifications()
    screen.app.call_later(screen.call_after_refresh, partial(_save_screen, screen, as_text=as_text))


def _save_screen(screen: Screen[Any], *, as_text: bool) -> None:
    """Write the screen into a file whose name has the time, and tell that name, or why there is none.

    A text is copied, too.
    """
    if as_text:
        content = "".join(f"{strip.text.rstrip()}\n" for strip in screen._compositor.render_strips())
        screen.app.copy_to_clipboard(content)
    else:
        content = screen.app.export_screenshot()
    if screen.app.is_web:
        screen.app.deliver_text(StringIO(content))
        return
    name = f"shapecalc_{datetime.now():%Y-%m-%dT%H_%M_%S_%f}.{'txt' if as_text else 'svg'}"
    try:
        write_whole(Path(name), content.encode())
    except OSError as error:
        screen.notify(str(error), title="not saved", severity="error", markup=False)
    else:
        screen.notify(f"{name}; {SENT}" if as_text else name, title="saved", markup=False)
