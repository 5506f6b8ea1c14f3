"""Film files: animated SVG, GIF and HTML player; and a moment on a terminal."""

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
"""The maximum size of an animated SVG in bytes."""
WHOLE_GLYPHS = 'lengthAdjust="spacingAndGlyphs"'
BARS = {"│": 1, "┃": 3, "║": 5}
"""The bars of tapes and their widths in pixels.

They are drawn as rectangles, since fonts leave gaps between rows.
"""
PAGE = resources.files("shapecalc.view") / "film.html"
ZOOM = 2
"""The scale of a GIF relative to its SVG."""
STILL = "a still picture: an op's --picture FILE.png"
"""The hint for a film name with the ending of a still picture."""
SAMPLE = "0123456789 │┃║█░ abcdefghijklm"
"""The text that is drawn in every look to derive the palette of a GIF."""


class Look(Record):
    """The style of words: colour, weight and background, on a page and on a terminal."""

    terminal: str
    ink: str = ""
    """The colour. Empty for the text colour of the page."""
    quiet: bool = False
    bold: bool = False
    behind: str = ""
    """The colour of a bar behind the word. Empty for none."""


LOOKS: Mapping[str, Look] = {
    "ink": Look(""),
    "bold": Look("bold", bold=True),
    "quiet": Look("", quiet=True),
    "lit": Look("bold reverse", "#ffffff", bold=True, behind="#0072B2"),
    "bad": Look("bold red", "#C00000", bold=True),
    **{f"axis{number}": Look(hue, hue) for number, hue in enumerate(HUES)},
}
"""All looks by name. Colour never carries meaning that letters do not."""


def ink_of(look: Look, theme: str) -> str:
    """Return the colour of a look on a page, in a legible shade, in hexadecimal."""
    page, ink, quiet = files.PAPERS[theme]
    if look.behind:
        return look.ink
    return files.hexadecimal(files.readable(_rgb(look.ink) if look.ink else quiet if look.quiet else ink, page, ink))


def _rgb(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


@cache
def terminal_styles(page: Colour | None) -> Mapping[str, str]:
    """Return the terminal style of every look, legible on the page if it is known."""
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
    """Return the words of a moment as text, each at its nearest cells."""
    canvas, styles = Canvas(UNICODE, film.height), terminal_styles(page)
    for sprite in sprites:
        canvas.put(round(sprite.x), round(sprite.y), sprite.text, styles[sprite.look])
    return canvas.text(film.width)


def moving(film: Film, theme: str | None) -> bytes | None:
    """Return a film as an animated SVG that repeats, without a script.

    Returns None if it would be larger than `MAX_SVG_BYTES`. Without a theme it follows the colour scheme of the
    viewer's system.
    """
    groups_by_time: dict[tuple[float, float], list[Track]] = {}
    for track in tracks(film):
        if track.text:
            groups_by_time.setdefault((track.start, track.end), []).append(track)
    groups = [_group(start, end, words, film.seconds) for (start, end), words in groups_by_time.items()]
    svg = _picture(film, "\n".join(groups), theme).encode()
    return svg if len(svg) <= LARGEST else None


def moment(film: Film, sprites: Iterable[Sprite], theme: str) -> str:
    """Return the words of a moment as a still SVG."""
    return _picture(film, "".join(_word(word.text, word.look, word.x, word.y) for word in sprites if word.text), theme)


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
    """Return the style sheet of all looks, for the page of a theme or for both."""
    general = f"text{{font:13px {files.FONTS};white-space:pre}}.bold,.lit,.bad{{font-weight:bold}}"
    light = general + _inks(theme or "light")
    return light if theme else f"{light}@media(prefers-color-scheme:dark){{{_inks('dark')}}}"


def _inks(theme: str) -> str:
    """Return the CSS rules of the colours of all looks on a page."""
    inks = "".join(f".{name}{{fill:{ink_of(look, theme)}}}" for name, look in LOOKS.items())
    behind = "".join(f".{name}-behind{{fill:{look.behind}}}" for name, look in LOOKS.items() if look.behind)
    return f".page{{fill:{page_of(theme)}}}{inks}{behind}"


def _word(text: str, look: str, x: float, y: float, inside: str = "") -> str:
    """Return the elements of a word and its background, with an animation inside."""
    x, text = x + len(text) - len(text.lstrip()), text.lstrip()
    width, left, top = len(text) * files.CELL_WIDTH, _short(x * files.CELL_WIDTH), _short(y * files.CELL_HEIGHT)
    class_name = f' class="{look}"' if look != "ink" else ""
    if text in BARS:
        middle, thickness = _short(x * files.CELL_WIDTH + (files.CELL_WIDTH - BARS[text]) / 2), BARS[text]
        return (
            f'<rect{class_name} x="{middle}" y="{top}" width="{thickness}" height="{files.CELL_HEIGHT}">{inside}</rect>'
        )
    baseline, spacing = _short(y * files.CELL_HEIGHT + BASELINE), f" {WHOLE_GLYPHS}" if {*text} & {*"█░━"} else ""
    word = f'<text{class_name} x="{left}" y="{baseline}" textLength="{width}"{spacing}>{escape(text)}'
    if not LOOKS[look].behind:
        return f"{word}{inside}</text>"
    behind = f'<rect class="{look}-behind" x="{left}" y="{top}" width="{width}" height="{files.CELL_HEIGHT}"/>'
    return f"<g>{inside}{behind}{word}</text></g>" if inside else f"{behind}{word}</text>"


def _short(number: float) -> str:
    """Return a number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def _group(start: float, end: float, words: Iterable[Track], seconds: float) -> str:
    """Return the element of words that are visible during the same interval."""
    changes = [(0.0, "visible" if start == 0 else "hidden")]
    changes += [(start, "visible")] * (start > 0) + [(end, "hidden")] * (end < seconds)
    values, times = ";".join(value for _, value in changes), _key_times([second for second, _ in changes], seconds)
    visibility = f'<animate attributeName="visibility" calcMode="discrete" values="{values}" {times}/>'
    hidden = "" if start == 0 else ' visibility="hidden"'
    elements = "".join(_word(word.text, word.look, *word.points[0][1:], _way(word, seconds)) for word in words)
    return f"<g{hidden}>{visibility if len(changes) > 1 else ''}{elements}</g>"


def _way(track: Track, seconds: float) -> str:
    """Return the animation that moves a word, or an empty text if it does not move."""
    if len(track.points) == 1:
        return ""
    points = [(0.0, *track.points[0][1:]), *track.points, (seconds, *track.points[-1][1:])]
    _, first, top = points[0]
    values = ";".join(
        f"{_short((x - first) * files.CELL_WIDTH)} {_short((y - top) * files.CELL_HEIGHT)}" for _, x, y in points
    )
    times = _key_times([second for second, _, _ in points], seconds)
    return f'<animateTransform attributeName="transform" type="translate" values="{values}" {times}/>'


def _key_times(times: Iterable[float], seconds: float) -> str:
    shares = ";".join(f"{second / seconds:.4f}".rstrip("0").rstrip(".") for second in times)
    return f'keyTimes="{shares}" dur="{seconds:.2f}s" repeatCount="indefinite"'


def page(film: Film, theme: str | None) -> bytes:
    """Return a film as an HTML page with a player, which can also pause at questions.

    Without a theme it starts with the colour scheme of the viewer's system.
    """
    width, height = size_of(film)
    template = Template(PAGE.read_text("utf-8"))
    html = template.substitute(
        title=escape(film.title),
        light=style_sheet("light"),
        dark=style_sheet("dark"),
        theme=theme or "",
        width=width,
        height=height,
        margin=files.MARGIN,
        data=_in_script(_data(film)),
    )
    return html.encode()


def _data(film: Film) -> dict[str, object]:
    """Return the data of the player's script: tracks, and frames with their times."""
    words = [
        [word.text, word.look, *_rounded((word.start, word.end)), [*map(_rounded, word.points)]]
        for word in tracks(film)
        if word.text
    ]
    prompts = [fields(frame.asks).values() if frame.asks else () for frame in film.frames]
    timed_frames = zip(film.starts, film.frames, prompts, strict=False)
    frames = [[round(start, 2), frame.sentence, *prompt] for start, frame, prompt in timed_frames]
    behind = [name for name, look in LOOKS.items() if look.behind]
    cell = [files.CELL_WIDTH, files.CELL_HEIGHT, BASELINE]
    looks = {"behind": behind, "bars": BARS, "cell": cell}
    return {"seconds": round(film.seconds, 2), "frames": frames, "words": words, **looks}


def _rounded(seconds_and_cells: Iterable[float]) -> list[float]:
    return [round(number, 2) for number in seconds_and_cells]


def _in_script(value: object) -> str:
    """Return a value as JSON that is safe inside a `script` element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def gif(film: Film, theme: str | None) -> bytes:
    """Return a film as a GIF that repeats.

    Each word is drawn once, and each picture has only its changes. Raises `ShapeError`: file without the extra
    `film`, usage if there are too many pictures.
    """
    try:
        from PIL import Image, ImageChops
        from PIL.GifImagePlugin import getdata, getheader
    except ModuleNotFoundError as error:
        raise files.not_installed(error) from None
    pictures = [*moments(film)]
    if len(pictures) > MOST_PICTURES:
        raise MOST_PICTURES.passed(f"{len(pictures)} pictures in this .gif", "end the film's name in .html")

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
        image = flat(replace(film, width=len(text), height=1), _word(text, look, 0, 0))
        return image, image.point(lambda colour: 255 * (colour != paper), "1")

    chunks, previous = getheader(page, info={"loop": 0})[0], None
    for sprites, hundredths in pictures:
        image = page.copy()
        for sprite in sprites:
            if sprite.text:
                place = round(ZOOM * sprite.x * files.CELL_WIDTH), round(ZOOM * sprite.y * files.CELL_HEIGHT)
                image.paste(word(sprite.text, sprite.look)[0], place, word(sprite.text, sprite.look)[1])
        box = (previous and (ImageChops.difference(image, previous).getbbox() or (0, 0, 1, 1))) or (0, 0, *image.size)
        chunks += getdata(image.crop(box), box[:2], duration=10 * hundredths)
        previous = image
    return b"".join(chunks) + b";"


FORMATS: Mapping[str, Callable[[Film, str | None], bytes | None]] = {".svg": moving, ".gif": gif, ".html": page}
"""The function that renders a film, by the ending of the file.

It returns None if the film is too large.
"""


def film_file(answer: Trace | Chain, name: str, theme: str | None = None) -> tuple[Film, bytes]:
    """Return the film of an answer, and the contents of a file with the given name.

    A film that is too large is made again with less height. Raises `ShapeError`: usage for an unknown theme or
    ending, or if the film is too long; file if the renderer is not installed.

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
        contents = write(film, theme)
        if contents is not None:
            return film, contents
    raise misuse("the film is too long for a moving picture that pages can show", "end its name in .html")
