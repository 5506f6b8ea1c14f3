"""What the app writes of the screen into the folder one is in: a file of its own for each time."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from io import StringIO
from pathlib import Path

from shapecalc.engine.whole_files import whole_file
from shapecalc.tui.clipboard import SENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from textual.screen import Screen


def save_picture(screen: Screen[Any]) -> None:
    """Save a picture of the screen; from a browser, where it keeps its downloads."""
    _without_notifications(screen, partial(_save_picture, screen))


def save_text(screen: Screen[Any]) -> None:
    """Copy the screen as text, and save it; from a browser, where it keeps its downloads."""
    _without_notifications(screen, partial(_save_text, screen))


def _without_notifications(screen: Screen[Any], act: Callable[[], None]) -> None:
    """Do something once no notification is on the screen; the app takes them away in its turn."""
    screen.app.clear_notifications()
    screen.app.call_later(screen.call_after_refresh, act)


def _save_picture(screen: Screen[Any]) -> None:
    if screen.app.is_web:
        screen.app.deliver_screenshot()
    else:
        _save(screen, screen.app.export_screenshot(), "svg")


def _save_text(screen: Screen[Any]) -> None:
    text = "".join(f"{strip.text.rstrip()}\n" for strip in screen._compositor.render_strips())
    screen.app.copy_to_clipboard(text)
    if screen.app.is_web:
        screen.app.deliver_text(StringIO(text))
    else:
        _save(screen, text, "txt", f"; {SENT}")


def _save(screen: Screen[Any], content: str, ending: str, also: str = "") -> None:
    """Write a file whose name has the time and an ending, and tell that name, or why there is none."""
    name = f"shapecalc_{datetime.now():%Y-%m-%dT%H_%M_%S_%f}.{ending}"
    try:
        with whole_file(Path(name)) as file:
            file.write(content.encode())
    except OSError as error:
        screen.notify(f"{name}: {error.strerror}", title="not saved", severity="error", markup=False)
    else:
        screen.notify(f"{name}{also}", title="saved", markup=False)
