"""Check films and pictures as files and in notebooks: their parsers accept them, and they show the frames."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from html import unescape
from io import BytesIO, TextIOWrapper
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageDraw, ImageFont

from shapecalc.core.problem import ShapeError
from shapecalc.core.record import fields
from shapecalc.render import files
from shapecalc.render.canvas import UNICODE, contrast_ratio
from shapecalc.render.files import MAX_LINES, MIN_CONTRAST, PICTURE_SUFFIXES, QUESTION_STEP, draw_still, render_still
from shapecalc.render.film import (
    FORMATS,
    MAX_SVG_BYTES,
    TEXT_STYLES,
    page_background,
    render_animated_svg,
    render_film,
    render_gif,
    render_moment,
    render_page,
    terminal_styles,
    text_style_colour,
)
from shapecalc.render.scenes import Film, Frame, Sprite, make_film, sample_gif_frames
from tests.cli.browser import WHY_NOT, opened
from tests.render.film_picture import FILM, made
from tests.render.questions import answer_to
from tests.sampling import each_row

pytestmark = pytest.mark.sessions(8)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><b>&\"'\u2028 ]]> {0} $x"
LINE = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"
SHUFFLE = answer_to(LINE)
SMALL = answer_to("transpose 2,2 1,0")


@pytest.fixture(scope="module")
def hostile():
    """Return a film with text that could end a script, open a tag or fill a placeholder."""
    frames = [Frame({"a": Sprite(x, 1, HOSTILE, look)}, HOSTILE, 0, 0.5, 0.5) for x, look in ((0, "ink"), (3, "lit"))]
    return Film(HOSTILE, 60, 16, tuple(frames), ())


def test_film_svg_is_script_free_with_increasing_times(hostile):
    for film, theme in ((make_film(SHUFFLE), None), (make_film(SHUFFLE), "light"), (hostile, None), (hostile, "dark")):
        svg = render_animated_svg(film, theme)
        root = ElementTree.fromstring(svg)
        assert len(svg) <= MAX_SVG_BYTES
        assert (root.tag, root.get("aria-label")) == (f"{SVG}svg", film.title)
        kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
        moves = {"animate", "animateTransform"}
        assert moves <= kinds <= {"svg", "style", "rect", "g", "text", *moves}
        assert (b"prefers-color-scheme" in svg) == (theme is None)
        assert not re.search(rb"href|url\(|@import|@font-face|\son\w+=", re.sub(rb">[^<]*<", b"><", svg))
        for element in root.iter():
            if times := [float(time) for time in (element.get("keyTimes") or "").split(";") if time]:
                assert times == sorted(times)
                assert times[0] == 0
                assert len(times) == len(element.get("values").split(";"))
                assert times[-1] == 1 or element.get("calcMode") == "discrete"


def text_shown_at(root, share):
    """Return the visible texts of an animated SVG at a fraction of its duration."""
    texts = []
    for group in root.findall(f"{SVG}g/{SVG}g"):
        animation, visibility = group.find(f"{SVG}animate"), "visible"
        if animation is not None:
            times = map(float, animation.get("keyTimes").split(";"))
            *_, visibility = (
                value for time, value in zip(times, animation.get("values").split(";"), strict=True) if time <= share
            )
        texts += [text.text for text in group.iter(f"{SVG}text") if visibility != "hidden"]
    return sorted(texts)


def text_sprites(frame):
    """Return the sprites of a frame with text other than vertical lines."""
    return [sprite for sprite in frame.sprites.values() if sprite.text.strip("│┃║")]


def test_film_svg_shows_every_frame():
    film = make_film(SHUFFLE)
    root = ElementTree.fromstring(render_animated_svg(film, None))
    for number, frame in enumerate(film.frames):
        share = (film.frame_starts[number] + film.frame_starts[number + 1]) / 2 / film.seconds
        assert text_shown_at(root, share) == sorted(sprite.text.lstrip() for sprite in text_sprites(frame))


def test_film_svg_shortens_long_films():
    answer = answer_to("chain 8,8 " + "| transpose 1,0 " * 9)
    assert render_animated_svg(make_film(answer), None) is None
    film, data = render_film(answer, "x.svg")
    assert len(data) <= MAX_SVG_BYTES
    assert "of large memories the first cells are shown" in film.notes
    with pytest.raises(ShapeError, match="too long for a moving picture"):
        render_film(answer_to("chain 8,8 " + "| transpose 1,0 " * 20), "x.svg")


def test_film_gif_durations_are_whole_hundredths():
    film = make_film(SMALL)
    image = Image.open(BytesIO(render_gif(film, "dark")))
    delays = []
    for number in range(image.n_frames):
        image.seek(number)
        delays.append(image.info["duration"])
    assert all(delay % 10 == 0 and delay >= 20 for delay in delays)
    assert sum(delays) == pytest.approx(film.seconds * 1000, abs=10 * len(film.frames))
    assert sum(hundredths for _, hundredths in sample_gif_frames(film)) * 10 == sum(delays)
    assert (image.info["loop"], image.size[0]) == (0, 2 * (film.width * 8 + 20))


def test_film_pixel_text_keeps_column_distances():
    film = make_film(SMALL)
    svg = render_moment(film, [Sprite(0, 0, "ab      cd")], "light")
    grey = Image.open(BytesIO(files.render_png(svg, 1))).convert("L")
    inked = [x for x in range(grey.width) if grey.crop((x, 0, x + 1, 40)).getextrema()[0] < 128]
    gap = max(end - start for start, end in pairwise(inked))
    assert gap >= 6 * 8, "consecutive blanks must not collapse"


def test_film_pixel_glyphs_have_ink_from_the_font(monkeypatch, tmp_path):
    (tmp_path / "empty.ttf").write_bytes(b"")
    for font, least, most in (
        (files.FONT_FILE, 5000, 10**6),
        (tmp_path / "empty.ttf", 0, 1000),
    ):  # vertical lines are drawn without the font
        monkeypatch.setattr(files, "FONT_FILE", font)
        grey = Image.open(BytesIO(render_still(SHUFFLE, "x.png", theme="light"))).convert("L")
        assert least < sum(grey.histogram()[:128]) < most


def test_film_font_has_every_glyph():
    font = ImageFont.truetype(str(files.FONT_FILE), 40)

    def pixels(char):
        image = Image.new("L", (60, 60))
        ImageDraw.Draw(image).text((5, 5), char, font=font, fill=255)
        return image.tobytes()

    used = {*"".join(fields(UNICODE).values()), *map(chr, range(33, 127)), *"┃║■●━─"} - {" "}
    assert [char for char in sorted(used) if pixels(char) == pixels("\uffff")] == []


def rgb(text):
    return tuple(bytes.fromhex(text[-6:]))


@each_row("name", TEXT_STYLES)
def test_film_text_has_contrast_on_every_page(name):
    look = TEXT_STYLES[name]
    for theme in ("light", "dark"):
        assert (
            contrast_ratio(rgb(text_style_colour(look, theme)), rgb(look.background or page_background(theme)))
            >= MIN_CONTRAST
        )
    for paper in ((18, 18, 18), (224, 224, 224), (255, 255, 255), (0, 0, 0), (30, 30, 46)):
        style = terminal_styles(paper)[name]
        assert "#" not in style or contrast_ratio(rgb(style), paper) >= MIN_CONTRAST
        assert "red" not in style


def test_film_page_is_self_contained_and_keeps_its_words(hostile):
    for film in (make_film(SHUFFLE), hostile):
        text = render_page(film, None).decode()
        assert unescape(re.search("<title>(.*?)</title>", text)[1]) == film.title
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.S)
        outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
        assert not re.search(r"<[^>]*\b(src|href|srcset|action)=|<b>", outside)
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
        assert "default-src 'none'" in text
        data = json.loads(scripts[0])
        prompts = [[frame.prompt.question, frame.prompt.answer] if frame.prompt else [] for frame in film.frames]
        assert [sprite[1:] for sprite in data["frames"]] == [
            [frame.sentence, *prompt] for frame, prompt in zip(film.frames, prompts, strict=True)
        ]
        words = {sprite.text for frame in film.frames for sprite in frame.sprites.values() if sprite.text}
        assert {word[0] for word in data["words"]} == words


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_film_page_plays_in_a_browser(tmp_path):
    film = make_film(SMALL)
    (tmp_path / "film.html").write_bytes(render_page(film, "light"))
    visible_groups = (
        "[...document.querySelectorAll('#words g')].filter(g => g.getAttribute('visibility') === 'visible')"
    )
    texts = (
        f"{visible_groups}.filter(g => g.querySelector('text')).map(g => [g.textContent, g.getAttribute('transform')])"
    )

    async def drive():
        async with opened() as tab:
            evaluate = tab.page.evaluate
            await tab.go((tmp_path / "film.html").as_uri())
            await tab.until("document.readyState === 'complete' && document.getElementById('said').textContent")
            for number in (0, 3, len(film.frames) - 1):
                second = film.frame_starts[number + 1] - 0.05
                await evaluate(
                    f"s = document.getElementById('second'); s.value = {second}; s.dispatchEvent(new Event('input'))"
                )
                words = text_sprites(film.frames[number])
                expected = [[sprite.text, f"translate({sprite.x * 8:.1f} {sprite.y * 17:.1f})"] for sprite in words]
                assert sorted(await evaluate(texts)) == sorted(expected)
                assert await evaluate("document.getElementById('said').textContent") == film.frames[number].sentence
            await evaluate("s.value = 0; s.dispatchEvent(new Event('input'))")  # at its end the film would stop at once
            await evaluate("document.getElementById('play').click()")
            await tab.until("Number(document.getElementById('second').value) > 0.2")
            assert await evaluate("document.getElementById('play').textContent") == "Pause"
            assert await evaluate("document.body.className") == "light"
            await evaluate("document.getElementById('theme').click()")
            assert await evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(24, 24, 24)"
            number, prompt = next((at, frame.prompt) for at, frame in enumerate(film.frames) if frame.prompt)
            await evaluate(f"at = {film.frame_starts[number] - 0.2}; playing = true; tick(before = performance.now())")
            await tab.until("!playing")
            assert await evaluate("[asked(), byId('asked').textContent, question.style.visibility]") == [
                *(number, prompt.question, "visible")
            ]
            for typed, plays in (("77", False), (prompt.answer, True)):
                await tab.page.fill("#typed", typed)
                await tab.page.press("#typed", "Enter")
                assert await evaluate("playing") is plays
            for size in ((1280, 720), (390, 844)):
                await tab.resize(*size)
                assert await evaluate("document.documentElement.scrollHeight <= innerHeight")
            for motion, plays in (("reduce", False), ("no-preference", True)):
                await tab.page.emulate_media(reduced_motion=motion)
                await tab.go((tmp_path / "film.html").as_uri())
                assert await evaluate("playing") is plays

    asyncio.run(asyncio.wait_for(drive(), 60))


@pytest.mark.parametrize("ending", PICTURE_SUFFIXES)
@pytest.mark.parametrize("line", [LINE, "reshape 2,3,4 5,-1", "reshape N,C,H,W 0,-1,64", "rearrange 2,3 'a b -> b a'"])
def test_still_picture_is_readable(line, ending):
    data = render_still(answer_to(line), f"x{ending}", None, theme="dark")
    if ending == ".png":
        image = Image.open(BytesIO(data))
        assert image.getpixel((0, 0))[:3] == (24, 24, 24)
        return
    text = data.decode()
    svg = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    svg_text = "".join(element.text for element in svg.iter(f"{SVG}text"))
    assert line.split()[0] in svg_text
    assert "prefers-color-scheme: dark) {" not in text or ending == ".html"
    assert not re.search(r"<script|href=|src=|url\(", text)


@pytest.mark.parametrize("line", ["reshape 7,11,13 0,-1", "shuffle 7,11,13 --first 1,0,2 --to 0,-1"])
def test_step_picture_hides_later_steps(line):
    answer = answer_to(line)
    value = str(answer.output[-1])
    *_, last = (index for index, step in enumerate(answer.steps) if str(step.value) == value)
    assert [value in draw_still(answer, index, 80).plain for index in range(QUESTION_STEP, last + 1)] == [False] * (
        last + 1
    ) + [True]


def test_step_picture_hides_a_later_refusal():
    answer = answer_to("reshape 2,3,4 5,-1")
    for index, text in ((QUESTION_STEP, "predict the output shape"), (0, "5 is given")):
        picture = draw_still(answer, index, 80).plain
        assert text in picture
        assert not any(sign in picture for sign in ("✗", "?", "indivisible"))
    texts = [render_still(SHUFFLE, "x.svg", step).decode() for step in range(1, len(SHUFFLE.steps) + 1)]
    assert len({*texts}) == len(texts)
    assert "solve -1" in texts[5]
    with pytest.raises(ShapeError, match="there is no step 8"):
        render_still(SHUFFLE, "x.svg", 8)


@pytest.mark.parametrize("name", ["x.bmp", "x", ".svg", "svg", "x.svg.gz", ""])
def test_picture_unknown_names_are_refused(name):
    with pytest.raises(ShapeError, match="is not a film"):
        render_film(SMALL, name)
    with pytest.raises(ShapeError, match="is not a picture"):
        render_still(SMALL, name)


@pytest.mark.parametrize("ending", FORMATS)
def test_picture_theme_is_light_or_dark(ending):
    with pytest.raises(ShapeError, match="there is no theme 'blue'"):
        render_film(SMALL, f"x{ending}", "blue")


@pytest.mark.parametrize(("name", "package"), [("x.png", "resvg_py"), ("x.gif", "PIL")])
def test_picture_missing_package_is_named(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ShapeError, match=r"is not installed; .*install"):
        render_still(SMALL, name) if name == "x.png" else render_film(SMALL, name)


def test_readme_film_is_up_to_date():
    assert FILM.read_bytes() == made(), "if it is right: python -m tests.renew screens"


LINES = {
    "trace": LINE,
    "names": "reshape N,C,H,W 0,-1,64",
    "chain": "chain 2,3,4 | transpose 1,0,2 | flatten",
    "refused": "reshape 2,3,4 5,-1",
    "nothing": "shuffle 2,3",
    "scalar": "reshape [] 1,1",
}


def notebook_picture(answer):
    """Return the notebook picture of an answer and its plain text."""
    bundle = answer._repr_mimebundle_()
    assert [*bundle] == ["image/svg+xml", "text/plain"]
    return bundle.values()


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_notebook_picture_fits_light_and_dark_pages(line, capsys):
    answer = answer_to(line)
    svg, text = notebook_picture(answer)
    words = "".join(element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text"))
    assert "".join(words.split()) == "".join(text.split())
    assert answer.explain() is None
    assert capsys.readouterr().out.rstrip() == text.rstrip()
    parts = svg.split("@media (prefers-color-scheme: dark)")
    light, dark = (re.findall(r"(rect)?\.[\w-]+ \{ fill: #(\w{6}); \}", part) for part in parts)
    assert len(light) == len(dark) > 1
    for (kind, page_colour), *inks in (light, dark):
        assert kind == "rect"
        assert all(contrast_ratio(rgb(page_colour), rgb(ink)) >= MIN_CONTRAST for _, ink in inks)


def test_explain_prints_requested_pictures_in_stream_glyphs(monkeypatch):
    answer, printed = answer_to("reshape 2,2,3,2 -1,0,0"), []
    for everything, encoding in ((False, "utf-8"), (True, "utf-8"), (False, "ascii")):
        stream = TextIOWrapper(BytesIO(), encoding=encoding, write_through=True)
        monkeypatch.setattr("sys.stdout", stream)
        answer.explain(everything=everything)
        printed.append(stream.buffer.getvalue().decode())
    short, full, in_ascii = printed
    assert "more pictures: explain(everything=True)" in short
    assert ("mix axes" in short, "mix axes" in full) == (False, True)
    assert "-1 --" in in_ascii


def test_pictures_on_one_page_have_distinct_classes():
    one, other = (
        {*re.findall(r'class="(\w+)', next(iter(notebook_picture(answer_to(LINES[name])))))}
        for name in ("trace", "chain")
    )
    assert one.isdisjoint(other)


def test_picture_of_a_long_answer_counts_omitted_lines():
    svg, _ = notebook_picture(answer_to(f"reshape {','.join('1' * 450)} {'1,' * 449}-1"))
    assert len({element.get("y") for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}) <= MAX_LINES
    assert "more lines, which explain() prints" in svg


@pytest.mark.parametrize("pixels", [(1280, 720), (1920, 1080), (1400, 900)])
@pytest.mark.parametrize("line", ["reshape 2,3,4 0,-1", "transpose 2,3 1,0"])
def test_sized_picture_has_its_size_and_large_text_within_it(line, pixels):
    svg = render_still(answer_to(line), "x.svg", pixels=pixels).decode()
    root = ElementTree.fromstring(svg)
    assert (root.get("width"), root.get("height")) == tuple(map(str, pixels))
    left, top, width, height = map(float, root.get("viewBox").split())
    scale = pixels[0] / width
    assert pixels[1] / height == pytest.approx(scale, rel=1e-3)
    size = float(re.search(r"font: ([\d.]+)px", svg)[1])
    assert size * scale >= 23.99 * pixels[1] / 720 or size * scale >= 24
    for text in root.iter(f"{SVG}text"):
        x, y = float(text.get("x")), float(text.get("y"))
        assert left <= x
        assert x + float(text.get("textLength")) <= left + width + 0.1
        assert top <= y - 10
        assert y + 3 <= top + height + 0.1


@pytest.mark.parametrize("pixels", [(1280, 720), (1400, 900)])
def test_sized_gif_has_its_size_and_begins_with_the_result(pixels):
    image = Image.open(BytesIO(render_film(answer_to("transpose 2,3 1,0"), "x.gif", pixels=pixels)[1]))
    assert image.size == pixels
    assert image.getbbox() is not None
    with pytest.raises(ShapeError, match="has room for"):
        render_film(answer_to("transpose 2,3 1,0"), "x.gif", pixels=(300, 200))
    with pytest.raises(ShapeError, match=r"only a film in .svg or .gif"):
        render_film(answer_to("transpose 2,3 1,0"), "x.html", pixels=pixels)


@pytest.mark.parametrize("ending", FORMATS)
def test_films_of_all_formats_begin_with_the_result(ending):
    film, _ = render_film(answer_to("transpose 2,3 1,0"), f"x{ending}")
    assert film.frames[0].sentence == film.frames[-1].sentence == "The answer is 3,2."
    assert film.frames[1].sentence.startswith("The input is")


def test_film_page_asks_only_on_request():
    page = render_film(answer_to("transpose 2,3 1,0"), "x.html")[1].decode()
    assert '<input id="asks" type="checkbox">' in page
    assert all(f'id="{name}"' in page for name in ("play", "speed"))
