"""A moment of a film in character cells, for terminals and texts."""

from __future__ import annotations

from rich.text import Text

from shapecalc.view.canvas import Canvas
from shapecalc.view.film.looks import terminal_styles
from shapecalc.view.strokes import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.view.film.frames import Film, Sprite


def screen(film: Film, sprites: Iterable[Sprite], page: tuple[int, int, int] | None = None) -> Text:
    """Return words where they stand, each in the nearest cells; if the page is known, in colours to be read there."""
    canvas, styles = Canvas(UNICODE, film.height), terminal_styles(page)
    for sprite in sprites:
        canvas.put(round(sprite.x), round(sprite.y), sprite.text, styles[sprite.look])
    return canvas.text(film.width)
