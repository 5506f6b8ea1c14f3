"""Films as files: SVG that moves, GIF, and a page with a slider; and a moment of one in character cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from html import escape
from importlib import resources
from io import BytesIO
from string import Template

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.limits import MOST_FILMED, MOST_PICTURES
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, fields, replace
from shapecalc.core.text import brief, visible
from shapecalc.view import files
from shapecalc.view.canvas import UNICODE, Canvas, Colour, contrast
from shapecalc.view.layout import HUES
from shapecalc.view.scenes import HEIGHT, LEAST_HEIGHT, Film, Sprite, Track, film_of, moments, tracks

BASELINE = 13
LARGEST = 500_000
"""The most bytes of a moving picture."""
WHOLE_GLYPHS = 'lengthAdjust="spacingAndGlyphs"'
BARS = {"│": 1, "┃": 3, "║": 5}
"""The bars of tapes, and how thick they are in pixels: fonts leave gaps between two rows of theirs."""
PAGE = resources.files("shapecalc.view") / "film.html"
ZOOM = 2
"""How many times as large a GIF is as a page's own picture."""
STILL = "a still picture: an op's --picture FILE.png"
"""What to write where a film was to be a picture that does not move."""
SAMPLE = "0123456789 │┃║█░ abcdefghijklm"
"""What is drawn in every look to choose the colours of all pictures from."""


class Look(Record):
    """One look: its ink on every page, what is behind the word, and its style on a terminal."""

    terminal: str
    ink: str = ""
    """A colour; empty for the page's own."""
    quiet: bool = False
    bold: bool = False
    behind: str = ""
    """The colour of a bar behind the word; empty for none."""


LOOKS: Mapping[str, Look] = {
    "ink": Look(""),
    "bold": Look("bold", bold=True),
    "quiet": Look("", quiet=True),
    "lit": Look("bold reverse", "#ffffff", bold=True, behind="#0072B2"),
    "bad": Look("bold red", "#C00000", bold=True),
    **{f"axis{number}": Look(hue, hue) for number, hue in enumerate(HUES)},
}
"""Every look by name. Letters and places carry the meaning; colour only helps."""


def ink_of(look: Look, theme: str) -> str:
    """Return the colour of a look's words on a page, in hexadecimal, as a shade that can be read there."""
    page, ink, quiet = files.PAPERS[theme]
    if look.behind:
        return look.ink
    return files.hexadecimal(files.readable(_rgb(look.ink) if look.ink else quiet if look.quiet else ink, page, ink))


def _rgb(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


@cache
def terminal_styles(page: Colour | None) -> Mapping[str, str]:
    """Return the style of every look on a terminal; if its page is known, in shades that can be read there."""
    styles = {name: look.terminal for name, look in LOOKS.items()}
    if page is None:
        return styles
    ink = max((files.PAPERS[theme][1] for theme in files.PAPERS), key=lambda colour: contrast(colour, page))
    for name, look in LOOKS.items():
        if look.ink and not look.behind:
            styles[name] = f"{'bold ' * look.bold}{files.hexadecimal(files.readable(_rgb(look.ink), page, ink))}"
    return styles


def page_of(theme: str) -> str:
    """Return the colour of a page, in hexadecimal."""
    return files.hexadecimal(files.PAPERS[theme][0])


def screen(film: Film, sprites: Iterable[Sprite], page: Colour | None = None) -> Text:
    """Return words where they stand, each in the nearest cells; if the page is known, in colours to be read there."""
    canvas, styles = Canvas(UNICODE, film.height), terminal_styles(page)
    for sprite in sprites:
        canvas.put(round(sprite.x), round(sprite.y), sprite.text, styles[sprite.look])
    return canvas.text(film.width)


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


def moment(film: Film, sprites: Iterable[Sprite], theme: str) -> str:
    """Return words where they stand at one moment as an SVG that does not move."""
    return _picture(film, "".join(_word(each.text, each.look, each.x, each.y) for each in sprites if each.text), theme)


def size_of(film: Film) -> tuple[int, int]:
    """Return the width and the height of a film in pixels."""
    return film.width * files.CELL_WIDTH + 2 * files.MARGIN, film.height * files.CELL_HEIGHT + 2 * files.MARGIN


def _picture(film: Film, words: str, theme: str | None) -> str:
    width, height = size_of(film)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(film.title)}">'
        f'<style>{style_sheet(theme)}</style><rect class="page" width="100%" height="100%"/>'
        f'<g class="ink" transform="translate({files.MARGIN} {files.MARGIN})">{words}</g></svg>\n'
    )


def style_sheet(theme: str | None) -> str:
    """Return the style sheet of every look, on the page of a theme or on both."""
    general = f"text{{font:13px {files.FONTS};white-space:pre}}.bold,.lit,.bad{{font-weight:bold}}"
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
    wide, left, top = len(text) * files.CELL_WIDTH, _short(x * files.CELL_WIDTH), _short(y * files.CELL_HEIGHT)
    named = f' class="{look}"' if look != "ink" else ""
    if text in BARS:
        middle, thick = _short(x * files.CELL_WIDTH + (files.CELL_WIDTH - BARS[text]) / 2), BARS[text]
        return f'<rect{named} x="{middle}" y="{top}" width="{thick}" height="{files.CELL_HEIGHT}">{inside}</rect>'
    base, whole = _short(y * files.CELL_HEIGHT + BASELINE), f" {WHOLE_GLYPHS}" if {*text} & {*"█░━"} else ""
    word = f'<text{named} x="{left}" y="{base}" textLength="{wide}"{whole}>{escape(text)}'
    if not LOOKS[look].behind:
        return f"{word}{inside}</text>"
    behind = f'<rect class="{look}-behind" x="{left}" y="{top}" width="{wide}" height="{files.CELL_HEIGHT}"/>'
    return f"<g>{inside}{behind}{word}</text></g>" if inside else f"{behind}{word}</text>"


def _short(number: float) -> str:
    """Return a number with as few digits as a picture needs."""
    return f"{number:.1f}".removesuffix(".0")


def _group(start: float, end: float, words: Iterable[Track], seconds: float) -> str:
    """Return words that are seen together for a part of the film, each going its way meanwhile."""
    turns = [(0.0, "visible" if start == 0 else "hidden")]
    turns += [(start, "visible")] * (start > 0) + [(end, "hidden")] * (end < seconds)
    values, times = ";".join(value for _, value in turns), _key_times([at for at, _ in turns], seconds)
    visibility = f'<animate attributeName="visibility" calcMode="discrete" values="{values}" {times}/>'
    hidden = "" if start == 0 else ' visibility="hidden"'
    drawn = "".join(_word(each.text, each.look, *each.points[0][1:], _way(each, seconds)) for each in words)
    return f"<g{hidden}>{visibility if len(turns) > 1 else ''}{drawn}</g>"


def _way(track: Track, seconds: float) -> str:
    """Return the animation that moves a word; nothing for one that stays."""
    if len(track.points) == 1:
        return ""
    points = [(0.0, *track.points[0][1:]), *track.points, (seconds, *track.points[-1][1:])]
    _, first, top = points[0]
    values = ";".join(
        f"{_short((x - first) * files.CELL_WIDTH)} {_short((y - top) * files.CELL_HEIGHT)}" for _, x, y in points
    )
    times = _key_times([at for at, _, _ in points], seconds)
    return f'<animateTransform attributeName="transform" type="translate" values="{values}" {times}/>'


def _key_times(times: Iterable[float], seconds: float) -> str:
    shares = ";".join(f"{at / seconds:.4f}".rstrip("0").rstrip(".") for at in times)
    return f'keyTimes="{shares}" dur="{seconds:.2f}s" repeatCount="indefinite"'


def page(film: Film, theme: str | None) -> bytes:
    """Return a film as a page of its own: it plays, asks at holes, goes frame by frame, and is light or dark.

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
        margin=files.MARGIN,
        data=_in_script(_data(film)),
    )
    return filled.encode()


def _data(film: Film) -> dict[str, object]:
    """Return what the page's script draws: the words with their ways, and the frames with their seconds."""
    words = [
        [word.text, word.look, *_rounded((word.start, word.end)), [*map(_rounded, word.points)]]
        for word in tracks(film)
        if word.text
    ]
    asks = [fields(frame.asks).values() if frame.asks else () for frame in film.frames]
    framed = zip(film.starts, film.frames, asks, strict=False)
    frames = [[round(start, 2), frame.sentence, *ask] for start, frame, ask in framed]
    behind = [name for name, look in LOOKS.items() if look.behind]
    cell = [files.CELL_WIDTH, files.CELL_HEIGHT, BASELINE]
    looks = {"behind": behind, "bars": BARS, "cell": cell}
    return {"seconds": round(film.seconds, 2), "frames": frames, "words": words, **looks}


def _rounded(seconds_and_cells: Iterable[float]) -> list[float]:
    return [round(each, 2) for each in seconds_and_cells]


def _in_script(value: object) -> str:
    """Return a value as JSON that can stand in a script of a page, where no text ends it or begins a tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def gif(film: Film, theme: str | None) -> bytes:
    """Return a film as a GIF that begins again at its end. A word is drawn once, and of a picture only what changes.

    Raises `ShapeError`: file without the extra `film`, usage for more pictures than are made.
    """
    try:
        from PIL import Image, ImageChops
        from PIL.GifImagePlugin import getdata, getheader
    except ModuleNotFoundError as error:
        raise files.not_installed(error) from None
    shown = [*moments(film)]
    if len(shown) > MOST_PICTURES:
        raise MOST_PICTURES.passed(f"{len(shown)} pictures in this .gif", "end the film's name in .html")

    def drawn(svg: str) -> Image.Image:
        return Image.open(BytesIO(files.png(svg, ZOOM))).convert("RGB")

    sample = [Sprite(0, row, SAMPLE, look) for row, look in enumerate(LOOKS)]
    palette = drawn(moment(film, sample, theme or "light")).quantize(64)

    def flat(room: Film, words: str) -> Image.Image:
        return drawn(_picture(room, words, theme or "light")).quantize(palette=palette, dither=Image.Dither.NONE)

    page = flat(film, "")
    paper = page.getpixel((0, 0))

    @cache
    def word(text: str, look: str) -> tuple[Image.Image, Image.Image]:
        made = flat(replace(film, width=len(text), height=1), _word(text, look, 0, 0))
        return made, made.point(lambda colour: 255 * (colour != paper), "1")

    made, last = getheader(page, info={"loop": 0})[0], None
    for sprites, hundredths in shown:
        now = page.copy()
        for sprite in sprites:
            if sprite.text:
                place = round(ZOOM * sprite.x * files.CELL_WIDTH), round(ZOOM * sprite.y * files.CELL_HEIGHT)
                now.paste(word(sprite.text, sprite.look)[0], place, word(sprite.text, sprite.look)[1])
        changed = (last and (ImageChops.difference(now, last).getbbox() or (0, 0, 1, 1))) or (0, 0, *now.size)
        made += getdata(now.crop(changed), changed[:2], duration=10 * hundredths)
        last = now
    return b"".join(made) + b";"


FORMATS: Mapping[str, Callable[[Film, str | None], bytes | None]] = {".svg": moving, ".gif": gif, ".html": page}
"""The endings of files, each with what makes the contents. It returns None of a film that is too large."""


def film_file(answer: Trace | Chain, name: str, theme: str | None = None) -> tuple[Film, bytes]:
    """Return the film of an answer, and the contents of the file of that name. A film that is too large shows less.

    Raises `ShapeError`: usage if there is no such theme or no film is written so, file if what draws is not installed.

    >>> import shapecalc as sc
    >>> film_file(sc.reshape((2, 3), (3, 2)), "x.pdf")
    Traceback (most recent call last):
    shapecalc.core.problem.ShapeError: usage: 'x.pdf' is not a film (end it in .svg, .gif, .html)
    """
    if name.lower().endswith(".png"):
        raise misuse(f"'{visible(brief(name))}' is not a film", f"end it in {', '.join(FORMATS)}; {STILL}")
    write = FORMATS[files.ending_of(name, FORMATS, "film")]
    if theme is not None:
        files.check_theme(theme)
    if len(answer.stages) > MOST_FILMED:
        raise MOST_FILMED.passed(f"{len(answer.stages)} stages to film", "film a part of the chain")
    for height in (HEIGHT, LEAST_HEIGHT):
        film = film_of(answer, height=height)
        made = write(film, theme)
        if made is not None:
            return film, made
    raise misuse("the film is too long for a moving picture that pages can show", "end its name in .html")
