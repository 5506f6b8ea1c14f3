"""Films as GIF, whose pictures stand for whole hundredths of a second."""

from __future__ import annotations

from io import BytesIO

from shapecalc.view.film.frames import Sprite, moments
from shapecalc.view.film.looks import LOOKS
from shapecalc.view.film.svg import still
from shapecalc.view.pixels import not_installed, png

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.view.film.frames import Film

COLOURS = 64
SAMPLE = "0123456789 │┃║█░ abcdefghijklm"
"""What is drawn in every look to choose the colours of all pictures from."""


def gif(film: Film, theme: str | None) -> bytes:
    """Return a film as a GIF that begins again at its end; raise `ShapeError` (file) without the extra `film`."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise not_installed(error) from None

    def drawn(sprites: Iterable[Sprite]) -> Image.Image:
        return Image.open(BytesIO(png(still(film, sprites, theme or "light")))).convert("RGB")

    palette = drawn(Sprite(0, row, SAMPLE, look) for row, look in enumerate(LOOKS)).quantize(COLOURS)
    pictures, delays = list[Image.Image](), list[int]()
    for sprites, hundredths in moments(film):
        pictures.append(drawn(sprites).quantize(palette=palette, dither=Image.Dither.NONE))
        delays.append(10 * hundredths)
    file = BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=delays, loop=0, optimize=False)
    return file.getvalue()
