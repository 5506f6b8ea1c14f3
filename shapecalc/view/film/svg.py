"""Films and moments of them as SVG: moving pictures without a script, and still ones for pictures in pixels."""

from __future__ import annotations

from html import escape

from shapecalc.view.film.frames import tracks
from shapecalc.view.film.looks import LOOKS, ink_of, page_of
from shapecalc.view.notebook import CELL_HEIGHT, CELL_WIDTH, FONTS, MARGIN, WHOLE_CELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.view.film.frames import Film, Sprite, Track

BASELINE = 13
BARS = {"│": 1, "┃": 3, "║": 5}
"""The bars of tapes, and how thick they are in pixels: fonts leave gaps between two rows of theirs."""


def moving(film: Film, theme: str | None) -> bytes:
    """Return a film as an SVG that moves by itself and begins again at its end.

    Without a theme it has the colours of the page that its reader's system asks for.
    """
    words = "".join(_moving_word(track, film.seconds) for track in tracks(film) if track.text)
    return _picture(film, words, theme).encode()


def still(film: Film, sprites: Iterable[Sprite], theme: str) -> str:
    """Return words where they stand at one moment as an SVG that does not move."""
    return _picture(film, "".join(_word(each.text, each.look, each.x, each.y) for each in sprites if each.text), theme)


def size_of(film: Film) -> tuple[int, int]:
    """Return the width and the height of a film in pixels."""
    return film.width * CELL_WIDTH + 2 * MARGIN, film.height * CELL_HEIGHT + 2 * MARGIN


def _picture(film: Film, words: str, theme: str | None) -> str:
    width, height = size_of(film)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(film.title)}">'
        f'<style>{style_sheet(theme)}</style><rect class="page" width="100%" height="100%"/>'
        f'<g transform="translate({MARGIN} {MARGIN})">{words}</g></svg>\n'
    )


def style_sheet(theme: str | None) -> str:
    """Return the style sheet of every look, on the page of a theme or on both."""
    general = f"text{{font:13px {FONTS};white-space:pre}}.bold,.lit,.bad{{font-weight:bold}}"
    light = general + _inks(theme or "light")
    return light if theme else f"{light}@media(prefers-color-scheme:dark){{{_inks('dark')}}}"


def _inks(theme: str) -> str:
    """Return the rules that colour every look on a page, and what is behind some."""
    inks = "".join(f".{name}{{fill:{ink_of(look, theme)}}}" for name, look in LOOKS.items())
    behind = "".join(f".{name}-behind{{fill:{look.behind}}}" for name, look in LOOKS.items() if look.behind)
    return f".page{{fill:{page_of(theme)}}}{inks}{behind}"


def _word(text: str, look: str, x: float, y: float) -> str:
    """Return a word at a place, over what is behind it."""
    wide, left, top = len(text) * CELL_WIDTH, _short(x * CELL_WIDTH), y * CELL_HEIGHT
    place = f'x="{left}" y="{_short(top + BASELINE)}" textLength="{wide}"'
    word = f'<text class="{look}" {place} {WHOLE_CELLS}>{escape(text)}</text>'
    if text in BARS:
        middle, thick = _short(x * CELL_WIDTH + (CELL_WIDTH - BARS[text]) / 2), BARS[text]
        return f'<rect class="{look}" x="{middle}" y="{_short(top)}" width="{thick}" height="{CELL_HEIGHT}"/>'
    if not LOOKS[look].behind:
        return word
    return f'<rect class="{look}-behind" x="{left}" y="{_short(top)}" width="{wide}" height="{CELL_HEIGHT}"/>{word}'


def _short(number: float) -> str:
    """Return a number with as few digits as a picture needs."""
    return f"{number:.1f}".removesuffix(".0")


def _moving_word(track: Track, seconds: float) -> str:
    """Return a word that is seen for a part of the film, and goes its way meanwhile."""
    (_, x, y), *_ = track.points
    hidden = "" if track.start == 0 else ' visibility="hidden"'
    return f"<g{hidden}>{_seen(track, seconds)}{_way(track, seconds)}{_word(track.text, track.look, x, y)}</g>\n"


def _seen(track: Track, seconds: float) -> str:
    """Return the animation that shows a word for its time; nothing for one that is always seen."""
    turns = [(0.0, "visible" if track.start == 0 else "hidden")]
    turns += [(track.start, "visible")] * (track.start > 0) + [(track.end, "hidden")] * (track.end < seconds)
    if len(turns) == 1:
        return ""
    values, times = ";".join(value for _, value in turns), _key_times([at for at, _ in turns], seconds)
    return f'<animate attributeName="visibility" calcMode="discrete" values="{values}" {times}/>'


def _way(track: Track, seconds: float) -> str:
    """Return the animation that moves a word; nothing for one that stays."""
    if len(track.points) == 1:
        return ""
    points = [(0.0, *track.points[0][1:]), *track.points, (seconds, *track.points[-1][1:])]
    _, first, top = points[0]
    values = ";".join(f"{_short((x - first) * CELL_WIDTH)} {_short((y - top) * CELL_HEIGHT)}" for _, x, y in points)
    times = _key_times([at for at, _, _ in points], seconds)
    return f'<animateTransform attributeName="transform" type="translate" values="{values}" {times}/>'


def _key_times(times: Iterable[float], seconds: float) -> str:
    shares = ";".join(f"{at / seconds:.4f}".rstrip("0").rstrip(".") for at in times)
    return f'keyTimes="{shares}" dur="{seconds:.2f}s" repeatCount="indefinite"'
