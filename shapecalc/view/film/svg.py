"""Films and moments of them as SVG: moving pictures without a script, and still ones for pictures in pixels."""

from __future__ import annotations

from html import escape

from shapecalc.view.film.frames import tracks
from shapecalc.view.film.looks import LOOKS, ink_of, page_of
from shapecalc.view.notebook import CELL_HEIGHT, CELL_WIDTH, FONTS, MARGIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.view.film.frames import Film, Sprite, Track

BASELINE = 13
LARGEST = 500_000
"""The most bytes of a moving picture."""
JOINED = "█░━"
"""The characters that join their neighbours: the glyphs of words that hold them are stretched, not set apart."""
WHOLE_GLYPHS = 'lengthAdjust="spacingAndGlyphs"'
BARS = {"│": 1, "┃": 3, "║": 5}
"""The bars of tapes, and how thick they are in pixels: fonts leave gaps between two rows of theirs."""


def moving(film: Film, theme: str | None) -> bytes | None:
    """Return a film as an SVG that moves by itself, without a script, and begins again at its end.

    It is None if it would be larger than `LARGEST`. Without a theme it has the colours of the page that its reader's
    system asks for.
    """
    together: dict[tuple[float, float], list[Track]] = {}
    for track in tracks(film):
        if track.text:
            together.setdefault((track.start, track.end), []).append(track)
    groups = [_group(start, end, words, film.seconds) for (start, end), words in together.items()]
    made = _picture(film, "\n".join(groups), theme).encode()
    return made if len(made) <= LARGEST else None


def still(film: Film, sprites: Iterable[Sprite], theme: str) -> str:
    """Return words where they stand at one moment as an SVG that does not move."""
    return _picture(film, "".join(_word(each.text, each.look, each.x, each.y) for each in sprites if each.text), theme)


def size_of(film: Film) -> tuple[int, int]:
    """Return the width and the height of a film in pixels."""
    return film.width * CELL_WIDTH + 2 * MARGIN, film.height * CELL_HEIGHT + 2 * MARGIN


def _picture(film: Film, words: str, theme: str | None) -> str:
    width, height = size_of(film)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(film.title)}">'
        f'<style>{style_sheet(theme)}</style><rect class="page" width="100%" height="100%"/>'
        f'<g class="ink" transform="translate({MARGIN} {MARGIN})">{words}</g></svg>\n'
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


def _word(text: str, look: str, x: float, y: float, inside: str = "") -> str:
    """Return a word at a place, over what is behind it; what is `inside` moves both."""
    x, text = x + len(text) - len(text.lstrip()), text.lstrip()
    wide, left, top = len(text) * CELL_WIDTH, _short(x * CELL_WIDTH), _short(y * CELL_HEIGHT)
    named = f' class="{look}"' if look != "ink" else ""
    if text in BARS:
        middle, thick = _short(x * CELL_WIDTH + (CELL_WIDTH - BARS[text]) / 2), BARS[text]
        return f'<rect{named} x="{middle}" y="{top}" width="{thick}" height="{CELL_HEIGHT}">{inside}</rect>'
    base, whole = _short(y * CELL_HEIGHT + BASELINE), f" {WHOLE_GLYPHS}" if {*text} & {*JOINED} else ""
    word = f'<text{named} x="{left}" y="{base}" textLength="{wide}"{whole}>{escape(text)}'
    if not LOOKS[look].behind:
        return f"{word}{inside}</text>"
    behind = f'<rect class="{look}-behind" x="{left}" y="{top}" width="{wide}" height="{CELL_HEIGHT}"/>'
    return f"<g>{inside}{behind}{word}</text></g>" if inside else f"{behind}{word}</text>"


def _short(number: float) -> str:
    """Return a number with as few digits as a picture needs."""
    return f"{number:.1f}".removesuffix(".0")


def _group(start: float, end: float, words: Iterable[Track], seconds: float) -> str:
    """Return words that are seen together for a part of the film, each going its way meanwhile."""
    turns = [(0.0, "visible" if start == 0 else "hidden")]
    turns += [(start, "visible")] * (start > 0) + [(end, "hidden")] * (end < seconds)
    values, times = ";".join(value for _, value in turns), _key_times([at for at, _ in turns], seconds)
    seen = f'<animate attributeName="visibility" calcMode="discrete" values="{values}" {times}/>'
    hidden = "" if start == 0 else ' visibility="hidden"'
    drawn = "".join(_word(each.text, each.look, *each.points[0][1:], _way(each, seconds)) for each in words)
    return f"<g{hidden}>{seen if len(turns) > 1 else ''}{drawn}</g>"


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
