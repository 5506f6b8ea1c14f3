"""Film files (animated SVG, GIF, HTML player), and films as terminal text.

A film is an animation of an answer as a sequence of frames. A sprite is a text at a position in a frame. A track is the
motion of a sprite over several frames.
"""

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
from shapecalc.core.limits import MAX_FILM_PICTURES, MAX_FILM_STAGES
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, fields, replace
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.render import files
from shapecalc.render.canvas import UNICODE, Canvas, Colour, contrast_ratio
from shapecalc.render.scenes import (
    FILM_HEIGHT,
    MIN_FILM_HEIGHT,
    Film,
    Sprite,
    Track,
    collect_tracks,
    make_film,
    sample_gif_frames,
)
from shapecalc.render.stage_layout import HUES
from shapecalc.render.styles import BOLD_ERROR

BASELINE_OFFSET = 13
RESULT_SECONDS = 2.0
"""The time for which the result is shown at the beginning of a film, in seconds."""
MAX_SVG_BYTES = 500_000
"""The maximum size of an animated SVG in bytes."""
GLYPH_SPACING = 'lengthAdjust="spacingAndGlyphs"'
BAR_WIDTHS = {"│": 1, "┃": 3, "║": 5}
"""The width in pixels of each vertical bar character.

Films draw memory as a row of cells, with vertical bars between blocks of cells. The bars are drawn as rectangles,
because the glyphs of fonts leave gaps between rows.
"""
PAGE_TEMPLATE = resources.files("shapecalc.render") / "film.html"
GIF_SCALE = 2
"""The scale factor from the SVG to the GIF."""
STILL_HINT = "a still picture: an op's --picture FILE.png"
"""The hint for a film path whose extension is that of a still picture."""
PALETTE_TEXT = "0123456789 │┃║█░ abcdefghijklm"
"""The text from which the palette of a GIF is determined; it is drawn in each text style."""


class TextStyle(Record):
    """A text style of films: colour, weight and background."""

    terminal_style: str
    colour: str = ""
    """The text colour; empty for the default text colour of the page."""
    is_dimmed: bool = False
    is_bold: bool = False
    background: str = ""
    """The background colour; empty for none."""


TEXT_STYLES: Mapping[str, TextStyle] = {
    "ink": TextStyle(""),
    "bold": TextStyle("bold", is_bold=True),
    "quiet": TextStyle("", is_dimmed=True),
    "lit": TextStyle("bold reverse", "#ffffff", is_bold=True, background="#0072B2"),
    "bad": TextStyle(BOLD_ERROR, "#C00000", is_bold=True),
    **{f"axis{number}": TextStyle(hue, hue) for number, hue in enumerate(HUES)},
}
"""The text styles of films, keyed by name.

No information is conveyed by colour alone.
"""


def text_style_colour(text_style: TextStyle, theme: str) -> str:
    """Return the CSS colour that makes a text style legible in a theme."""
    page, ink, quiet = files.PAGE_COLOURS[theme]
    if text_style.background:
        return text_style.colour
    return files.css_colour(
        files.legible_shade(
            _parse_rgb(text_style.colour) if text_style.colour else quiet if text_style.is_dimmed else ink, page, ink
        )
    )


def _parse_rgb(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


@cache
def terminal_styles(background: Colour | None) -> Mapping[str, str]:
    """Return the Rich style of each text style, keyed by name.

    If the background colour of the terminal is given, the colours are adjusted to be legible on it.
    """
    styles = {name: look.terminal_style for name, look in TEXT_STYLES.items()}
    if background is None:
        return styles
    ink = max(
        (files.PAGE_COLOURS[theme][1] for theme in files.PAGE_COLOURS),
        key=lambda colour: contrast_ratio(colour, background),
    )
    for name, look in TEXT_STYLES.items():
        if look.colour and not look.background:
            shade = files.legible_shade(_parse_rgb(look.colour), background, ink)
            styles[name] = f"{'bold ' * look.is_bold}{files.css_colour(shade)}"
    return styles


def page_background(theme: str) -> str:
    """Return the CSS colour of the page background in a theme."""
    return files.css_colour(files.PAGE_COLOURS[theme][0])


def render_screen(film: Film, sprites: Iterable[Sprite], page: Colour | None = None) -> Text:
    """Render the sprites of a film at one moment as terminal text.

    A sprite is drawn in the cells nearest to its position.
    """
    canvas, styles = Canvas(UNICODE, film.height), terminal_styles(page)
    for sprite in sprites:
        canvas.write_text(round(sprite.x), round(sprite.y), sprite.text, styles[sprite.text_style])
    return canvas.render(film.width)


def render_animated_svg(film: Film, theme: str | None) -> bytes | None:
    """Render a film as a looping animated SVG without scripts.

    Returns None if the SVG would exceed `MAX_SVG_BYTES`. If `theme` is None, the SVG follows the colour scheme of the
    viewer.
    """
    groups_by_time: dict[tuple[float, float], list[Track]] = {}
    for track in collect_tracks(film):
        if track.text:
            groups_by_time.setdefault((track.start, track.end), []).append(track)
    groups = [_group_element(start, end, words, film.seconds) for (start, end), words in groups_by_time.items()]
    svg = _svg_document(film, "\n".join(groups), theme).encode()
    return svg if len(svg) <= MAX_SVG_BYTES else None


def render_moment(film: Film, sprites: Iterable[Sprite], theme: str) -> str:
    """Render the sprites of a film at one moment as an SVG without animation."""
    return _svg_document(
        film,
        "".join(_sprite_element(word.text, word.text_style, word.x, word.y) for word in sprites if word.text),
        theme,
    )


def begin_with_result(film: Film) -> Film:
    """Return a copy of a film that first shows its last frame.

    The viewer then knows from the start which result the film explains.

    >>> import shapecalc as sc
    >>> [frame.sentence for frame in begin_with_result(make_film(sc.reshape((2, 3), (3, 2)))).frames[:2]]
    ['The answer is 3,2.', 'The input is 2,3. Which shape comes out?']
    """
    first, *others = film.frames
    result = replace(film.frames[-1], arrival_seconds=0.0, hold_seconds=RESULT_SECONDS, prompt=None)
    return replace(film, frames=(result, replace(first, arrival_seconds=0.0), *others))


def pixel_size(film: Film) -> tuple[int, int]:
    """Return the width and height of a film in pixels."""
    return film.width * files.CELL_WIDTH + 2 * files.MARGIN, film.height * files.CELL_HEIGHT + 2 * files.MARGIN


def _svg_document(film: Film, elements: str, theme: str | None, scale: float = 1) -> str:
    width, height = pixel_size(film)
    shown = f'width="{round(width * scale)}" height="{round(height * scale)}"'
    size = f'{shown} viewBox="0 0 {width} {height}" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(film.title)}">'
        f'<style>{style_sheet(theme)}</style><rect class="page" width="100%" height="100%"/>'
        f'<g class="ink" transform="translate({files.MARGIN} {files.MARGIN})">{elements}</g></svg>\n'
    )


def style_sheet(theme: str | None) -> str:
    """Return the CSS style sheet of a theme, or of both if `theme` is None."""
    general = f"text{{font:13px {files.FONT_STACK};white-space:pre}}.bold,.lit,.bad{{font-weight:bold}}"
    light = general + _colour_rules(theme or "light")
    return light if theme else f"{light}@media(prefers-color-scheme:dark){{{_colour_rules('dark')}}}"


def _colour_rules(theme: str) -> str:
    """Return the CSS rules for the text colours of a theme."""
    inks = "".join(f".{name}{{fill:{text_style_colour(look, theme)}}}" for name, look in TEXT_STYLES.items())
    behind = "".join(
        f".{name}-behind{{fill:{look.background}}}" for name, look in TEXT_STYLES.items() if look.background
    )
    return f".page{{fill:{page_background(theme)}}}{inks}{behind}"


def _sprite_element(text: str, text_style: str, x: float, y: float, animation: str = "") -> str:
    """Return the SVG element of a text.

    `text_style` is the name of a text style, and `x` and `y` are in cells. `animation` is an SVG animation of the
    position.
    """
    x, text = x + len(text) - len(text.lstrip()), text.lstrip()
    width, left, top = (
        len(text) * files.CELL_WIDTH,
        _format_number(x * files.CELL_WIDTH),
        _format_number(y * files.CELL_HEIGHT),
    )
    class_name = f' class="{text_style}"' if text_style != "ink" else ""
    if text in BAR_WIDTHS:
        middle, thickness = (
            _format_number(x * files.CELL_WIDTH + (files.CELL_WIDTH - BAR_WIDTHS[text]) / 2),
            BAR_WIDTHS[text],
        )
        size = f'width="{thickness}" height="{files.CELL_HEIGHT}"'
        return f'<rect{class_name} x="{middle}" y="{top}" {size}>{animation}</rect>'
    baseline, spacing = (
        _format_number(y * files.CELL_HEIGHT + BASELINE_OFFSET),
        f" {GLYPH_SPACING}" if {*text} & {*"█░━"} else "",
    )
    word = f'<text{class_name} x="{left}" y="{baseline}" textLength="{width}"{spacing}>{escape(text)}'
    if not TEXT_STYLES[text_style].background:
        return f"{word}{animation}</text>"
    behind = f'<rect class="{text_style}-behind" x="{left}" y="{top}" width="{width}" height="{files.CELL_HEIGHT}"/>'
    return f"<g>{animation}{behind}{word}</text></g>" if animation else f"{behind}{word}</text>"


def _format_number(number: float) -> str:
    """Format a number with at most one decimal place."""
    return f"{number:.1f}".removesuffix(".0")


def _group_element(start: float, end: float, tracks: Iterable[Track], seconds: float) -> str:
    """Return an SVG group of tracks that is visible from time `start` to time `end`.

    `seconds` is the duration of the film.
    """
    changes = [(0.0, "visible" if start == 0 else "hidden")]
    changes += [(start, "visible")] * (start > 0) + [(end, "hidden")] * (end < seconds)
    values, times = ";".join(value for _, value in changes), _key_times([second for second, _ in changes], seconds)
    visibility = f'<animate attributeName="visibility" calcMode="discrete" values="{values}" {times}/>'
    hidden = "" if start == 0 else ' visibility="hidden"'
    elements = "".join(
        _sprite_element(word.text, word.text_style, *word.points[0][1:], _motion_element(word, seconds))
        for word in tracks
    )
    return f"<g{hidden}>{visibility if len(changes) > 1 else ''}{elements}</g>"


def _motion_element(track: Track, seconds: float) -> str:
    """Return the SVG animation of a track, or "" if the track does not move."""
    if len(track.points) == 1:
        return ""
    points = [(0.0, *track.points[0][1:]), *track.points, (seconds, *track.points[-1][1:])]
    _, first, top = points[0]
    values = ";".join(
        f"{_format_number((x - first) * files.CELL_WIDTH)} {_format_number((y - top) * files.CELL_HEIGHT)}"
        for _, x, y in points
    )
    times = _key_times([second for second, _, _ in points], seconds)
    return f'<animateTransform attributeName="transform" type="translate" values="{values}" {times}/>'


def _key_times(times: Iterable[float], seconds: float) -> str:
    """Format times as SVG attributes, in fractions of the film's duration."""
    shares = ";".join(f"{second / seconds:.4f}".rstrip("0").rstrip(".") for second in times)
    return f'keyTimes="{shares}" dur="{seconds:.2f}s" repeatCount="indefinite"'


def render_page(film: Film, theme: str | None) -> bytes:
    """Render a film as an HTML page with a player.

    The player can ask the viewer to predict dims. If `theme` is None, the page initially follows the colour scheme of
    the viewer.
    """
    width, height = pixel_size(film)
    template = Template(PAGE_TEMPLATE.read_text("utf-8"))
    html = template.substitute(
        title=escape(film.title),
        light=style_sheet("light"),
        dark=style_sheet("dark"),
        theme=theme or "",
        width=width,
        height=height,
        margin=files.MARGIN,
        data=_script_json(_script_data(film)),
    )
    return html.encode()


def _script_data(film: Film) -> dict[str, object]:
    """Return the data of a film for the JavaScript player.

    The data contain the tracks, the caption and start time of each frame, and the sizes of cells and bars in pixels.
    """
    words = [
        [word.text, word.text_style, *_round_numbers((word.start, word.end)), [*map(_round_numbers, word.points)]]
        for word in collect_tracks(film)
        if word.text
    ]
    prompts = [fields(frame.prompt).values() if frame.prompt else () for frame in film.frames]
    timed_frames = zip(film.frame_starts, film.frames, prompts, strict=False)
    frames = [[round(start, 2), frame.sentence, *prompt] for start, frame, prompt in timed_frames]
    behind = [name for name, look in TEXT_STYLES.items() if look.background]
    cell = [files.CELL_WIDTH, files.CELL_HEIGHT, BASELINE_OFFSET]
    looks = {"behind": behind, "bars": BAR_WIDTHS, "cell": cell}
    return {"seconds": round(film.seconds, 2), "frames": frames, "words": words, **looks}


def _round_numbers(numbers: Iterable[float]) -> list[float]:
    """Round numbers to two decimal places."""
    return [round(number, 2) for number in numbers]


def _script_json(value: object) -> str:
    """Serialize a value to JSON that is safe inside a `script` element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def render_gif(film: Film, theme: str | None, pixels: tuple[int, int] | None = None) -> bytes:
    """Render a film as a looping GIF.

    `pixels` is the size of the GIF; by default, it is twice that of the SVG. Each text is rasterized once per text
    style, and each frame of the GIF contains only the changed area. Raises `ShapeError` (file) if the extra `film` is
    not installed, and (usage) if there are too many GIF frames, or if the text does not fit the size.
    """
    scale = GIF_SCALE if pixels is None else files.fit_scale((film.width, film.height), pixels)
    size = pixels or (GIF_SCALE * pixel_size(film)[0], GIF_SCALE * pixel_size(film)[1])
    left, top = ((whole - scale * part) / 2 for whole, part in zip(size, pixel_size(film), strict=True))
    try:
        from PIL import Image, ImageChops
        from PIL.GifImagePlugin import getdata, getheader
    except ModuleNotFoundError as error:
        raise files.missing_package_error(error) from None
    pictures = [*sample_gif_frames(film)]
    if len(pictures) > MAX_FILM_PICTURES:
        raise MAX_FILM_PICTURES.error(f"{len(pictures)} pictures in this .gif", "end the film's name in .html")

    def rasterize(svg: str) -> Image.Image:
        return Image.open(BytesIO(files.render_png(svg, 1))).convert("RGB")

    sample = [Sprite(0, row, PALETTE_TEXT, look) for row, look in enumerate(TEXT_STYLES)]
    palette = rasterize(render_moment(film, sample, theme or "light")).quantize(64)

    def draw_elements(film: Film, elements: str) -> Image.Image:
        """Draw SVG elements with the palette of the GIF."""
        svg = _svg_document(film, elements, theme or "light", scale)
        if pixels is not None:
            svg = svg.replace("font:13px", f"font:{files.SLIDE_FONT_SIZE}px")
        return rasterize(svg).quantize(palette=palette, dither=Image.Dither.NONE)

    page = draw_elements(film, "").resize(size)
    paper = page.getpixel((0, 0))

    @cache
    def draw_text(text: str, look: str) -> tuple[Image.Image, Image.Image]:
        """Draw a text, and return the image and its mask."""
        image = draw_elements(replace(film, width=len(text), height=1), _sprite_element(text, look, 0, 0))
        return image, image.point(lambda colour: 255 * (colour != paper), "1")

    chunks, previous = getheader(page, info={"loop": 0})[0], None
    for sprites, hundredths in pictures:
        image = page.copy()
        for sprite in sprites:
            if sprite.text:
                cell = sprite.x * files.CELL_WIDTH, sprite.y * files.CELL_HEIGHT
                place = round(left + scale * cell[0]), round(top + scale * cell[1])
                image.paste(
                    draw_text(sprite.text, sprite.text_style)[0], place, draw_text(sprite.text, sprite.text_style)[1]
                )
        box = (previous and (ImageChops.difference(image, previous).getbbox() or (0, 0, 1, 1))) or (0, 0, *image.size)
        chunks += getdata(image.crop(box), box[:2], duration=10 * hundredths)
        previous = image
    return b"".join(chunks) + b";"


FORMATS: Mapping[str, Callable[[Film, str | None], bytes | None]] = {
    ".svg": render_animated_svg,
    ".gif": render_gif,
    ".html": render_page,
}
"""The rendering function of each film format, keyed by file extension.

A function returns None if its file would be too large.
"""


def render_film(
    answer: Trace | Chain, name: str, theme: str | None = None, pixels: tuple[int, int] | None = None
) -> tuple[Film, bytes]:
    """Return the film of an answer and the contents of its file.

    The extension of `name` selects the format. If the film is too large, it is rendered again with a smaller height.
    `pixels` is the size of an SVG or a GIF, by default the size of its text. Raises `ShapeError` (usage) if the theme
    or the extension is unknown, or if the film is too long, and (file) if the renderer is not installed.

    >>> import shapecalc as sc
    >>> render_film(sc.reshape((2, 3), (3, 2)), "x.pdf")
    Traceback (most recent call last):
    shapecalc.core.problem.ShapeError: usage: 'x.pdf' is not a film (end it in .svg, .gif, .html)
    """
    if name.lower().endswith(".png"):
        raise usage_error(
            f"'{escape_unprintable(truncate(name))}' is not a film", f"end it in {', '.join(FORMATS)}; {STILL_HINT}"
        )
    write = FORMATS[files.match_extension(name, FORMATS, "film")]
    if theme is not None:
        files.check_theme(theme)
    if pixels is not None and write is render_page:
        hint = "an .html page fits its window"
        raise usage_error("only a film in .svg or .gif has a size in pixels", hint, argument="pixels")
    if len(answer.stages) > MAX_FILM_STAGES:
        raise MAX_FILM_STAGES.error(f"{len(answer.stages)} stages to film", "film a part of the chain")
    for height in (FILM_HEIGHT, MIN_FILM_HEIGHT):
        film = begin_with_result(make_film(answer, height=height))
        if write is render_gif:
            return film, render_gif(film, theme, pixels)
        contents = write(film, theme)
        if contents is not None and pixels is not None:
            contents = files.fit_svg(contents.decode(), pixels).encode()
        if contents is not None:
            return film, contents
    raise usage_error("the film is too long for a moving picture that pages can show", "end its name in .html")
