"""Films as GIF, whose pictures stand for whole hundredths of a second."""

from __future__ import annotations

from io import BytesIO

from shapecalc.view.film.frames import Sprite, picture_at
from shapecalc.view.film.looks import LOOKS
from shapecalc.view.film.svg import still
from shapecalc.view.pixels import not_installed, png

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shapecalc.view.film.frames import Film

HUNDREDTHS = 12
"""How long a picture stands while words move, in hundredths of a second."""
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
        return Image.open(BytesIO(png(still(film, sprites, theme or "light"), 1))).convert("RGB")

    palette = drawn(Sprite(0, row, SAMPLE, look) for row, look in enumerate(LOOKS)).quantize(COLOURS)
    pictures, delays = list[Image.Image](), list[int]()
    for sprites, hundredths in moments(film):
        pictures.append(drawn(sprites).quantize(palette=palette, dither=Image.Dither.NONE))
        delays.append(10 * hundredths)
    file = BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=delays, loop=0, optimize=False)
    return file.getvalue()


def moments(film: Film) -> Iterator[tuple[tuple[Sprite, ...], int]]:
    """Yield the pictures of a film, each with the hundredths of a second for which it stands."""
    starts = film.starts
    for number, frame in enumerate(film.frames):
        whole = round(100 * (frame.arrive + frame.hold))
        steps = round(100 * frame.arrive) // HUNDREDTHS if number and _moves(film, number) else 0
        for step in range(1, steps):
            yield picture_at(film, starts, starts[number] + step * HUNDREDTHS / 100), HUNDREDTHS
        yield tuple(frame.sprites.values()), whole - max(0, steps - 1) * HUNDREDTHS


def _moves(film: Film, number: int) -> bool:
    """Say whether a word moves on its way to a frame."""
    before, now = film.frames[number - 1].sprites, film.frames[number].sprites
    return any(
        (came.x, came.y) != (sprite.x, sprite.y) for key, sprite in now.items() if (came := before.get(key)) is not None
    )
