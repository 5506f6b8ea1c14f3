"""The keys: what each does, in words, and which of them are shown if there is little room."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the main screen."""

    key: str
    """As Textual names it."""
    shown: str
    label: str
    action: str
    help: str
    rank: int
    """Its place in the line of keys: what comes last is left out first."""


KEYS = (
    Key("f1", "F1", "help", "app.help", "explain what has the focus, and every key; so does ?", 2),
    Key("f2", "F2", "op", "choose", "choose the operator, the dialect and its settings", 3),
    Key("f3", "F3", "grid", "grid", "show the elements, and follow one with the arrow keys", 6),
    Key("f4", "F4", "compare", "compare", "ask the same under every dialect", 7),
    Key("f5", "F5", "lessons", "lessons", "take a lesson: predict, then look", 8),
    Key("f6", "F6", "fix", "fix", "apply the fix that is suggested", 5),
    Key("f7", "F7", "copy", "copy", "copy the command line", 10),
    Key("f8", "F8", "code", "code", "show code that does the same, to copy", 11),
    Key("f9", "F9", "svg", "save_screen('svg')", "save a picture of the screen as SVG", 12),
    Key("f10", "F10", "done", "done", "quit and print the answer on standard output", 9),
    Key("ctrl+g", "^G", "learn", "mode", "be asked before anything is shown, or work, with all shown; it stays so", 4),
    Key("ctrl+b", "^B", "big", "big", "draw the step in large figures, for a room, and hide the rest", 14),
    Key("ctrl+z", "^Z", "undo", "undo", "undo the last change of the question", 15),
    Key("ctrl+y", "^Y", "redo", "redo", "redo it", 16),
    Key("pagedown", "PgDn", "next", "step(1)", "go one step on", 0),
    Key("pageup", "PgUp", "back", "step(-1)", "go one step back", 1),
    Key("ctrl+l", "^L", "short", "simplify", "show the shortest chain that does the same", 13),
    Key("ctrl+home", "^Home", "first", "first", "go to the first step", 17),
    Key("ctrl+end", "^End", "last", "last", "go past the last step, to the output", 18),
    Key("ctrl+t", "^T", "theme", "theme", "go on to the next theme: ours, dark, light, without colour", 19),
    Key("ctrl+p", "^P", "find", "app.command_palette", "find a command by name; so does /", 20),
    Key("ctrl+q", "^Q", "quit", "app.quit", "quit and print nothing", 21),
    Key("ctrl+o", "^O", "files", "files", "choose an array of a file as the input", 22),
    Key("ctrl+s", "^S", "text", "save_screen('text')", "copy the screen as text, and save it", 23),
    Key("ctrl+r", "^R", "film", "film", "play the request as a film, which asks for what is hidden", 24),
)
"""Every key of the main screen, in the order of the help."""


WHETHER = Key("", "y n", "answer", "", "say whether the request works", -1)
HINTS = (
    Key("", "enter", "hint", "", "give a hint, or go on once it is right", -2),
    Key("", "←→↑↓", "choose", "", "choose a hole to type into", -1),
)
OF_LEARNING = {
    **{key.action: key.label for key in KEYS if key.key in ("pagedown", "pageup", "f1", "f2", "f5", "f10", "ctrl+p")},
    "mode": "work",
}
LEARNING = (*(replace(key, label=OF_LEARNING[key.action]) for key in KEYS if key.action in OF_LEARNING), *HINTS)
"""The ten keys that are told of while the app asks."""
FOLLOWING = Key("", "←→↑↓", "follow", "", "follow another element", -1)
"""The keys of the grid, while it has the focus."""
BESIDE = "m"
COMPARING = Key("", BESIDE, "mistake", "", "draw the mistake that gives the same sizes beside it", -1)
"""The key of the grid that draws a reshape beside a transpose, and the other way round."""


def bindings_of(keys: tuple[Key, ...]) -> list[BindingType]:
    """Return what Textual binds for some keys; enter is a field's own, and no list pages itself."""
    return [
        Binding(key.key, key.action, key.label, show=False, tooltip=key.help, priority=key.key.startswith("page"))
        for key in keys
        if key.key != "enter"
    ]


@lru_cache(maxsize=16)
def keys_line(working: frozenset[str], width: int, keys: tuple[Key, ...] = KEYS, focused: tuple[Key, ...] = ()) -> Text:
    """Return the keys of what has the focus and those of a screen whose actions are `working`, as many as fit.

    Each that has an action carries it as the meta data `key`.

    >>> keys_line(frozenset({"step(1)", "step(-1)", "help"}), 24).plain
    'PgDn next  PgUp back'
    >>> keys_line(frozenset({"step(1)", "step(-1)"}), 24, focused=(FOLLOWING,)).plain
    '←→↑↓ follow  PgDn next'
    """
    kept = [*focused]
    for key in sorted((key for key in keys if key.action in working), key=lambda key: key.rank):
        if sum(_width(each) + 2 for each in [*kept, key]) - 2 <= width:
            kept.append(key)
    line = Text(no_wrap=True, end="")
    for key in sorted(kept, key=lambda key: key.rank):
        line.append("  " if line else "")
        meta = {"key": key.action} if key.action else {}
        line.append(key.shown, Style(bold=True, meta=meta)).append(f" {key.label}", Style(meta=meta))
    return line


def _width(key: Key) -> int:
    return len(key.shown) + 1 + len(key.label)
