"""Dialogs that select an array file as the input, or save a film or a picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from io import StringIO
from itertools import count, islice
from os.path import isdir, lexists, relpath
from pathlib import Path
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import ShapeError, error_reason
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, is_file_argument, shape_text
from shapecalc.engine.atomic_files import write_atomically
from shapecalc.engine.headers import iter_array_infos
from shapecalc.render.files import PICTURE_SUFFIXES, render_still
from shapecalc.render.film import FORMATS, render_film
from shapecalc.tui.widgets import COPY_TITLE, ChoiceList, Dialog, KeyHelp, TextField

MAX_ENTRIES = 1000
"""The maximum number of listed entries of a folder or an archive."""
ARCHIVE_SUFFIXES = (".npz", ".safetensors")
"""The extensions of files that can contain several named arrays."""
FILM_KIND = "film"


class FileEntry(Record):
    """A folder, a file, or an array in a file with several arrays."""

    name: str
    path: str
    is_container: bool
    """Whether the entry is a folder, or a file with several arrays."""


def list_entries(path: str) -> list[FileEntry]:
    """Return the entries of a folder, folders first, or the arrays of an archive.

    Raises `OSError` if the path cannot be read.
    """
    if path.endswith(ARCHIVE_SUFFIXES):
        return [
            FileEntry(array.name.removeprefix(path), array.name, False)
            for array in islice(iter_array_infos(path), MAX_ENTRIES)
        ]
    entries = [FileEntry("..", str(Path(path).resolve().parent), True)]
    inside = sorted(child for child in Path(path).iterdir() if not child.name.startswith("."))
    entries += [FileEntry(f"{child.name}/", str(child), True) for child in inside if _is_folder(child)]
    files = (child for child in inside if is_file_argument(child.name) and not _is_folder(child))
    return (entries + [FileEntry(file.name, str(file), file.name.endswith(ARCHIVE_SUFFIXES)) for file in files])[
        :MAX_ENTRIES
    ]


def _is_folder(path: str | Path) -> bool:
    return isdir(path)  # noqa: PTH112 - Path.is_dir can raise


def describe_entry(entry: FileEntry) -> str:
    """Describe the type and shape of an array, or the contents of a file.

    >>> describe_entry(FileEntry("gone.npy", "gone.npy", False))
    'no such file or directory'
    """
    if _is_folder(entry.path):
        return "a folder"
    arrays = list(islice(iter_array_infos(entry.path), MAX_ENTRIES))
    if entry.is_container and len(arrays) != 1:
        return f"{len(arrays)} arrays"
    return arrays[0].problem or f"{arrays[0].dtype or 'structured'} {shape_text(arrays[0].shape)}"


class FilesDialog(Dialog[str | None]):
    """A list of folders and arrays, with the type and shape of the selected array."""

    box_title = "Files"
    BINDINGS = [Binding("escape", "dismiss", "close"), Binding("backspace", "open_parent", "up")]

    def __init__(self, path: str) -> None:
        """Create the dialog that lists the folder at `path`."""
        super().__init__()
        self.path = path
        self.entries: list[FileEntry] = []

    def compose_contents(self) -> ComposeResult:
        """Compose the folder name, the list and the description."""
        yield Static("", id="folder", markup=False)
        yield ChoiceList(id="entries")
        yield Static("", id="about", markup=False)
        yield KeyHelp("enter takes an array or opens a folder, esc closes")

    def on_mount(self) -> None:
        """List the folder."""
        self.show_entries(self.path)
        self.query_one(ChoiceList).focus()

    def show_entries(self, path: str) -> None:
        """List the entries of a folder or archive, or show an error."""
        try:
            entries = list_entries(path)
        except OSError as error:
            self.query_one("#about", Static).update(escape_unprintable(f"{path}: {error_reason(error)}"))
            return
        self.path, self.entries = path, entries
        limit_note = f"the first {MAX_ENTRIES} of " if len(entries) == MAX_ENTRIES else ""
        self.query_one("#folder", Static).update(escape_unprintable(f"{limit_note}{Path(path).resolve()}"))
        choices = self.query_one(ChoiceList)
        choices.clear_options().add_options([Option(escape_unprintable(entry.name)) for entry in entries])
        choices.highlighted = 0 if entries else None

    @on(OptionList.OptionHighlighted)
    def show_description(self, event: OptionList.OptionHighlighted) -> None:
        """Show the description of the highlighted entry."""
        self.query_one("#about", Static).update(escape_unprintable(describe_entry(self.entries[event.option_index])))

    @on(OptionList.OptionSelected)
    def open_entry(self, event: OptionList.OptionSelected) -> None:
        """List the selected folder or archive, or close the dialog with an array's path."""
        entry = self.entries[event.option_index]
        if entry.is_container:
            self.show_entries(entry.path)
        else:
            self.dismiss(min(entry.path, relpath(entry.path), key=len))

    def action_open_parent(self) -> None:
        """List the parent folder."""
        self.show_entries(str(Path(self.path).resolve().parent))


def save_answer(app: App[Any], kind: str, answer: Trace | Chain, step: int | None) -> None:
    """Save a film of an answer or a picture of a step.

    `kind` is `film` or `picture`. In a terminal, a dialog requests the file name; in a browser, an SVG file is
    downloaded. Steps are numbered from 1; if `step` is None, the picture shows the whole answer.
    """

    def make_contents(name: str) -> bytes:
        return (
            render_film(answer, name)[1] if kind == FILM_KIND else render_still(answer, name, step, shows_elements=True)
        )

    name = f"shapecalc-{kind}.svg"
    if app.is_web:
        app.deliver_text(StringIO(make_contents(name).decode()), save_filename=name)
    else:
        app.push_screen(SaveDialog(kind, make_contents))


def unused_name(stem: str, suffix: str) -> str:
    """Return a file name that does not exist in the current folder, with a number if necessary."""
    names = (f"{stem}{f'-{number}' if number > 1 else ''}{suffix}" for number in count(1))
    return next(name for name in names if not lexists(name))


class SaveDialog(Dialog[None]):
    """A field for the file name, and its error."""

    box_title = "Save"
    BINDINGS = [Binding("escape", "dismiss", "close")]

    def __init__(self, kind: str, make_contents: Callable[[str], bytes]) -> None:
        """Create the dialog.

        `make_contents` returns the contents of a file for its name.
        """
        super().__init__()
        self.kind, self.make_contents = kind, make_contents
        self._is_writing = False
        self._confirmed_name = ""
        """The name of an existing file that the next Enter overwrites."""

    def compose_contents(self) -> ComposeResult:
        """Compose the field below the list of file extensions."""
        endings = FORMATS if self.kind == FILM_KIND else PICTURE_SUFFIXES
        yield Static(f"Save the {self.kind} as a file that ends in {', '.join(endings)}")
        yield TextField(unused_name(f"shapecalc-{self.kind}", ".svg"), id="name", select_on_focus=True)
        yield Static("enter saves it, esc closes", id="words", markup=False)

    def on_mount(self) -> None:
        """Focus the field for the file name."""
        self.query_one(TextField).focus()

    @on(Input.Submitted)
    async def write_file(self, event: Input.Submitted) -> None:
        """Write the file and close the dialog, or show the error.

        An existing file is overwritten only if Enter is pressed again.
        """
        if self._is_writing:
            return
        name, status = event.value.strip(), self.query_one("#words", Static)
        if name != self._confirmed_name and lexists(name):
            self._confirmed_name = name
            status.update(escape_unprintable(f"{name} exists: enter again overwrites it, esc closes"))
            return
        self._is_writing = True
        status.update("writing ...")
        try:
            force = name == self._confirmed_name
            await asyncio.to_thread(lambda: write_atomically(Path(name), self.make_contents(name), force=force))
        except ShapeError as error:
            status.update(escape_unprintable(f"{error.problem.message}. {error.problem.hint}".strip()))
        except OSError as error:
            status.update(escape_unprintable(str(error)))
        else:
            self.dismiss()
            self.app.notify(escape_unprintable(name), title="saved", markup=False)
        self._is_writing = False


def save_screenshot(screen: Screen[Any], *, as_text: bool) -> None:
    """Save a screenshot without notifications, as SVG or as text.

    In a browser, the file is downloaded. The screenshot is taken after the app has removed the notifications.
    """
    screen.app.clear_notifications()
    screen.app.call_later(screen.call_after_refresh, partial(_write_screenshot, screen, as_text=as_text))


def _write_screenshot(screen: Screen[Any], *, as_text: bool) -> None:
    """Write a screenshot to a file with a timestamp, and notify the user.

    If `as_text` is True, the text is also copied to the clipboard.
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
        write_atomically(Path(name), content.encode())
    except OSError as error:
        screen.notify(str(error), title="not saved", severity="error", markup=False)
    else:
        screen.notify(name, title=f"saved, and {COPY_TITLE}" if as_text else "saved", markup=False)
