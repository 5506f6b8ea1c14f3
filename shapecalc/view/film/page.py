"""Films as one page with a slider, which asks nothing of the network."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template

from shapecalc.view.film.frames import tracks
from shapecalc.view.film.looks import LOOKS
from shapecalc.view.film.svg import BARS, BASELINE, size_of, style_sheet
from shapecalc.view.notebook import CELL_HEIGHT, CELL_WIDTH, MARGIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.view.film.frames import Film

PAGE = files("shapecalc.view.film") / "page.html"


def page(film: Film, theme: str | None) -> bytes:
    """Return a film as a page of its own: it plays, stops, goes frame by frame, and has a light and a dark side.

    Without a theme it begins with the one that its reader's system asks for.
    """
    width, height = size_of(film)
    template = Template(PAGE.read_text("utf-8"))
    filled = template.substitute(
        title=escape(film.title),
        light=style_sheet("light"),
        dark=style_sheet("dark"),
        theme=theme or "",
        width=width,
        height=height,
        margin=MARGIN,
        data=_in_script(_data(film)),
    )
    return filled.encode()


def _data(film: Film) -> dict[str, object]:
    """Return what the page's script draws: the words with their ways, and the frames with their seconds."""
    words = [
        [word.text, word.look, round(word.start, 2), round(word.end, 2), _rounded(word.points)]
        for word in tracks(film)
        if word.text
    ]
    frames = [[round(start, 2), frame.sentence] for start, frame in zip(film.starts, film.frames, strict=False)]
    behind = [name for name, look in LOOKS.items() if look.behind]
    cell = [CELL_WIDTH, CELL_HEIGHT, BASELINE]
    looks = {"behind": behind, "bars": BARS, "cell": cell}
    return {"seconds": round(film.seconds, 2), "frames": frames, "words": words, **looks}


def _rounded(points: tuple[tuple[float, float, float], ...]) -> list[list[float]]:
    return [[round(part, 2) for part in point] for point in points]


def _in_script(value: object) -> str:
    """Return a value as JSON that can stand in a script of a page, where no text ends it or begins a tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
