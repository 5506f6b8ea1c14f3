"""The files of films and of pictures: each is read by what reads such files, and shows what the frames say."""

from __future__ import annotations

import asyncio
import json
import re
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageDraw, ImageFont

from shapecalc.core.problem import ShapeError
from shapecalc.core.record import fields
from shapecalc.view import files
from shapecalc.view.canvas import UNICODE, contrast
from shapecalc.view.files import ASKED, CONTRAST, ENDINGS, still, still_text
from shapecalc.view.film import (
    FORMATS,
    LARGEST,
    LOOKS,
    film_file,
    gif,
    ink_of,
    moment,
    moving,
    page,
    page_of,
    terminal_styles,
)
from shapecalc.view.scenes import Film, Frame, Sprite, film_of, moments
from tests.cli.browser import WHY_NOT, opened
from tests.view.film_picture import FILM, LINE, made
from tests.view.questions import answer_to

pytestmark = pytest.mark.sessions(8)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><b>&\"'\u2028 ]]> {0} $x"
SHUFFLE = answer_to(LINE)
SMALL = answer_to("transpose 2,2 1,0")


@pytest.fixture(scope="module")
def hostile():
    """Return a film with a word that would end a script, begin a tag, or name a hole."""
    frames = [Frame({"a": Sprite(x, 1, HOSTILE, look)}, HOSTILE, 0, 0.5, 0.5) for x, look in ((0, "ink"), (3, "lit"))]
    return Film(HOSTILE, 60, 16, tuple(frames), ())


def test_a_moving_picture_is_xml_without_a_script(hostile):
    for film in (film_of(SHUFFLE), hostile):
        for theme in (None, "light", "dark"):
            data = moving(film, theme)
            root = ElementTree.fromstring(data)
            assert len(data) <= LARGEST
            assert (root.tag, root.get("aria-label")) == (f"{SVG}svg", film.title)
            kinds = {each.tag.removeprefix(SVG) for each in root.iter()}
            assert kinds <= {"svg", "style", "rect", "g", "text", "animate", "animateTransform"}
            assert {"animate", "animateTransform"} <= kinds
            assert (b"prefers-color-scheme" in data) == (theme is None)
            assert not re.search(rb"href|url\(|@import|@font-face|\son\w+=", re.sub(rb">[^<]*<", b"><", data))


def shown_at(root, share):
    """Return the words that a moving picture shows at a part of its time, as a reader of SVG counts it."""
    found = []
    for group in root.findall(f"{SVG}g/{SVG}g"):
        turns = group.find(f"{SVG}animate")
        if turns is not None:
            times = [float(time) for time in turns.get("keyTimes").split(";")]
            state = [value for time, value in zip(times, turns.get("values").split(";"), strict=True) if time <= share]
            if state[-1] == "hidden":
                continue
        found += [text.text for text in group.iter(f"{SVG}text")]
    return sorted(found)


def test_a_moving_picture_shows_every_frame():
    film = film_of(SHUFFLE)
    root = ElementTree.fromstring(moving(film, None))
    for number, frame in enumerate(film.frames):
        second = (film.starts[number] + film.starts[number + 1]) / 2
        words = sorted(each.text.lstrip() for each in frame.sprites.values() if each.text.strip("│┃║"))
        assert shown_at(root, second / film.seconds) == words


def test_key_times_begin_at_0_and_never_go_back():
    root = ElementTree.fromstring(moving(film_of(SHUFFLE), None))
    for each in root.iter():
        if times := each.get("keyTimes"):
            numbers = [float(time) for time in times.split(";")]
            assert numbers == sorted(numbers)
            assert numbers[0] == 0
            assert len(numbers) == len(each.get("values").split(";"))
            assert numbers[-1] == 1 or each.get("calcMode") == "discrete"


def test_a_long_film_shows_less_so_that_the_picture_stays_small():
    answer = answer_to("chain 8,8 " + "| transpose 1,0 " * 9)
    assert moving(film_of(answer), None) is None
    film, data = film_file(answer, "x.svg")
    assert len(data) <= LARGEST
    assert "of large memories the first cells are shown" in film.notes
    with pytest.raises(ShapeError, match="too long for a moving picture"):
        film_file(answer_to("chain 8,8 " + "| transpose 1,0 " * 20), "x.svg")


def test_a_gif_stands_for_whole_hundredths_and_as_long_as_the_film():
    film = film_of(SMALL)
    image = Image.open(BytesIO(gif(film, "dark")))
    delays = []
    for number in range(image.n_frames):
        image.seek(number)
        delays.append(image.info["duration"])
    assert all(delay % 10 == 0 and delay >= 20 for delay in delays)
    assert sum(delays) == pytest.approx(film.seconds * 1000, abs=10 * len(film.frames))
    assert sum(hundredths for _, hundredths in moments(film)) * 10 == sum(delays)
    assert (image.info["loop"], image.size[0]) == (0, 2 * (film.width * 8 + 20))


def test_words_stand_in_pixels_as_far_apart_as_their_blanks_say():
    film = film_of(SMALL)
    drawn = moment(film, [Sprite(0, 0, "ab      cd")], "light")
    grey = Image.open(BytesIO(files.png(drawn, 1))).convert("L")
    inked = [x for x in range(grey.width) if grey.crop((x, 0, x + 1, 40)).getextrema()[0] < 128]
    gap = max(end - start for start, end in pairwise(inked))
    assert gap >= 6 * 8, "blanks are not to be one blank"


def dark_pixels(data):
    """Return how many pixels of a picture on the light page are ink."""
    grey = Image.open(BytesIO(data)).convert("L")
    return sum(grey.histogram()[:128])


def test_pixels_hold_ink_which_they_would_not_without_the_font(monkeypatch, tmp_path):
    data = still(SHUFFLE, "x.png", theme="light")
    assert dark_pixels(data) > 5000
    (tmp_path / "empty.ttf").write_bytes(b"")
    monkeypatch.setattr(files, "FONT", tmp_path / "empty.ttf")
    assert dark_pixels(still(SHUFFLE, "x.png", theme="light")) < 1000  # upright lines are no letters


@pytest.mark.parametrize("char", sorted({*"".join(fields(UNICODE).values()), *map(chr, range(33, 127)), *"┃║■●━─"}))
def test_the_font_has_what_pictures_are_made_of(char):
    font = ImageFont.truetype(str(files.FONT), 40)
    drawn = []
    for each in (char, "\uffff"):
        image = Image.new("L", (60, 60))
        ImageDraw.Draw(image).text((5, 5), each, font=font, fill=255)
        drawn.append(image.tobytes())
    assert char == " " or drawn[0] != drawn[1]


def rgb(text):
    return tuple(bytes.fromhex(text[-6:]))


@pytest.mark.parametrize("name", LOOKS)
def test_every_word_can_be_read_on_every_page(name):
    look = LOOKS[name]
    for theme in ("light", "dark"):
        behind = look.behind or page_of(theme)
        assert contrast(rgb(ink_of(look, theme)), rgb(behind)) >= CONTRAST
    for paper in ((18, 18, 18), (224, 224, 224), (255, 255, 255), (0, 0, 0), (30, 30, 46)):
        style = terminal_styles(paper)[name]
        assert "#" not in style or contrast(rgb(style), paper) >= CONTRAST
        assert "red" not in style


class Page(HTMLParser):
    """The tags of a page, the texts of its scripts, and its title."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.title, self._inside = [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside == "title":
            self.title += data


def test_a_page_asks_nothing_of_the_network_and_holds_the_words_as_they_are(hostile):
    for film in (film_of(SHUFFLE), hostile):
        text = page(film, None).decode()
        read = Page(text)
        assert read.title == film.title
        assert not [attrs for _, attrs in read.tags if {"src", "href", "srcset", "action"} & {*attrs}]
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
        assert "default-src 'none'" in text
        data = json.loads(read.scripts[0])
        asks = [[frame.asks.question, frame.asks.answer] if frame.asks else [] for frame in film.frames]
        sentences = [[frame.sentence] for frame in film.frames]
        assert [each[1:] for each in data["frames"]] == [*map(list.__add__, sentences, asks)]
        assert {word[0] for word in data["words"]} == {
            each.text for frame in film.frames for each in frame.sprites.values() if each.text
        }
        assert "b" not in {tag for tag, _ in read.tags}


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_a_browser_plays_the_page(tmp_path):
    film = film_of(SMALL)
    (tmp_path / "film.html").write_bytes(page(film, "light"))
    seen = "[...document.querySelectorAll('#words g')].filter(g => g.getAttribute('visibility') === 'visible')"
    texts = f"{seen}.filter(g => g.querySelector('text')).map(g => [g.textContent, g.getAttribute('transform')])"

    async def drive():
        async with opened() as tab:
            evaluate = tab.page.evaluate
            await tab.go((tmp_path / "film.html").as_uri())
            await tab.until("document.readyState === 'complete' && document.getElementById('said').textContent")
            for number in (0, 3, len(film.frames) - 1):
                second = film.starts[number + 1] - 0.05
                await evaluate(
                    f"s = document.getElementById('second'); s.value = {second}; s.dispatchEvent(new Event('input'))"
                )
                words = [
                    [each.text, f"translate({each.x * 8:.1f} {each.y * 17:.1f})"]
                    for each in film.frames[number].sprites.values()
                    if each.text.strip("│┃║")
                ]
                assert sorted(await evaluate(texts)) == sorted(words)
                assert await evaluate("document.getElementById('said').textContent") == film.frames[number].sentence
            await evaluate("s.value = 0; s.dispatchEvent(new Event('input'))")  # at its end it would stop at once
            await evaluate("document.getElementById('play').click()")
            await tab.until("Number(document.getElementById('second').value) > 0.2")
            assert await evaluate("document.getElementById('play').textContent") == "Pause"
            assert await evaluate("document.body.className") == "light"
            await evaluate("document.getElementById('theme').click()")
            assert await evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(24, 24, 24)"
            number, asks = next((at, frame.asks) for at, frame in enumerate(film.frames) if frame.asks)
            await evaluate(f"at = {film.starts[number] - 0.2}; playing = true; tick(before = performance.now())")
            await tab.until("!playing")
            assert await evaluate("[asked(), byId('asked').textContent, question.style.visibility]") == [
                *(number, asks.question, "visible")
            ]
            for typed, plays in (("77", False), (asks.answer, True)):
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


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("line", [LINE, "reshape 2,3,4 5,-1", "reshape N,C,H,W 0,-1,64", "rearrange 2,3 'a b -> b a'"])
def test_a_picture_that_stands_still_is_read(line, ending):
    data = still(answer_to(line), f"x{ending}", None, theme="dark")
    if ending == ".png":
        image = Image.open(BytesIO(data))
        assert image.getpixel((0, 0))[:3] == (24, 24, 24)
        return
    text = data.decode()
    svg = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    shown = "".join(each.text for each in svg.iter(f"{SVG}text"))
    assert line.split()[0] in shown
    assert "prefers-color-scheme: dark) {" not in text or ending == ".html"
    assert not re.search(r"<script|href=|src=|url\(", text)


@pytest.mark.parametrize("line", ["reshape 7,11,13 0,-1", "shuffle 7,11,13 --first 1,0,2 --to 0,-1"])
def test_a_picture_of_a_step_does_not_tell_what_later_steps_settle(line):
    answer = answer_to(line)
    *_, last = (at for at, step in enumerate(answer.steps) if str(step.value) == str(answer.output[-1]))
    for at in range(ASKED, last):
        assert str(answer.output[-1]) not in still_text(answer, at, 80).plain
    assert str(answer.output[-1]) in still_text(answer, last, 80).plain


def test_a_picture_of_a_step_before_a_refusal_does_not_tell_of_it():
    answer = answer_to("reshape 2,3,4 5,-1")
    for at, said in ((ASKED, "predict the output shape"), (0, "5 is given")):
        shown = still_text(answer, at, 80).plain
        assert said in shown
        assert not any(sign in shown for sign in ("✗", "?", "indivisible"))


def test_a_picture_of_a_step_shows_that_step():
    texts = [still(SHUFFLE, "x.svg", step).decode() for step in range(1, len(SHUFFLE.steps) + 1)]
    assert len({*texts}) == len(texts)
    assert "solve -1" in texts[5]
    with pytest.raises(ShapeError, match="there is no step 8"):
        still(SHUFFLE, "x.svg", 8)


@pytest.mark.parametrize("name", ["x.bmp", "x", ".svg", "svg", "x.svg.gz", ""])
def test_names_that_are_no_pictures_are_refused(name):
    with pytest.raises(ShapeError, match="is not a film"):
        film_file(SMALL, name)
    with pytest.raises(ShapeError, match="is not a picture"):
        still(SMALL, name)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_theme_is_light_or_dark(ending):
    with pytest.raises(ShapeError, match="there is no theme 'blue'"):
        film_file(SMALL, f"x{ending}", "blue")


@pytest.mark.parametrize(("name", "package"), [("x.png", "resvg_py"), ("x.gif", "PIL")])
def test_a_package_that_is_not_there_is_named(name, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ShapeError, match=r"is not installed; .*install"):
        still(SMALL, name) if name == "x.png" else film_file(SMALL, name)


def test_the_film_of_the_readme_is_not_stale():
    assert FILM.read_bytes() == made(), "if it is right: python -m tests.renew screens"
