"""A moment of a film in character cells, for terminals and texts."""

from __future__ import annotations

from rich.text import Text

from shapecalc.view.canvas import Canvas
from shapecalc.view.film.looks import LOOKS
from shapecalc.view.strokes import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.view.film.frames import Film, Sprite


def screen(film: Film, sprites: Iterable[Sprite]) -> Text:
    """Return words where they stand, each in the nearest cells."""
    canvas = Canvas(UNICODE, film.height)
    for sprite in sprites:
        canvas.put(round(sprite.x), round(sprite.y), sprite.text, LOOKS[sprite.look].terminal)
    return canvas.text(film.width)
