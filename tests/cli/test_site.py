"""The static page of `shapecalc site`: its files, its answers, and the page in a real browser."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from urllib.parse import urlencode
from zipfile import ZipFile

import pytest

from shapecalc.cli.site import (
    PAGE_FOLDER,
    PICTURE_WIDTHS,
    PYODIDE_FILES,
    answer_line,
    apply_first_fix,
    judge_prediction,
)
from shapecalc.render.canvas import contrast_ratio
from shapecalc.teaching.judging import correct_prediction, prediction_text
from shapecalc.teaching.lessons import load_path_lessons, reveals_answer
from tests.cli.browser import PYODIDE as PACKAGE
from tests.cli.browser import WHY_NOT, opened
from tests.cli.conftest import rows
from tests.sampling import each_row

NO_PAGE = WHY_NOT or ("" if PACKAGE else "SHAPECALC_PYODIDE names no folder of the npm package pyodide")
PAGE_FILES = {"index.html", "site.js", "site.css", "stations.json", "program.zip"}
PICTURES = {
    f"{name}{suffix}.svg"
    for suffix in PICTURE_WIDTHS
    for name in ("first", *(f"{kind}-{lesson.id}" for kind in ("ask", "told") for lesson in load_path_lessons()))
} | {"first-film.svg"}
MAX_PAGE_BYTES = 2_000_000
PATIENCE = 120


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to a folder with a stub of the npm package pyodide."""
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "node_modules" / "pyodide"
    package.mkdir(parents=True)
    for name in PYODIDE_FILES:
        (package / name).write_text(name)
    return tmp_path


# Files


@pytest.mark.slow
def test_site_is_small_self_contained_and_overwritable(shapecalc, folder):
    assert (shapecalc("site", "one").out, shapecalc("site", "sub/two", "-q").err) == ("one\n", "")
    contents = {path.name: path.read_bytes() for path in (folder / "one").iterdir()}
    assert contents.keys() == PAGE_FILES | PICTURES | {*PYODIDE_FILES}
    assert contents == {path.name: path.read_bytes() for path in (folder / "sub" / "two").iterdir()}
    assert sum(len(contents[name]) for name in PAGE_FILES | PICTURES) <= MAX_PAGE_BYTES
    check_course_without_scripts(contents)
    assert contents["site.js"].count(b"\n") <= 400
    assert not re.search(rb"https?:|//\w", b"".join(contents[name] for name in PAGE_FILES - {"program.zip", "site.js"}))
    assert not re.search(rb"https?:", contents["site.js"])
    names = ZipFile(folder / "one" / "program.zip").namelist()
    assert {"shapecalc/cli/site.py", "shapecalc/teaching/lessons.toml", "shapecalc/man/shapecalc.1"} <= {*names}
    assert not [name for name in names if re.search(r"tui/|fonts|shapecalc/models|stores|site_page|\.pyc", name)]
    assert [station["question"] for station in json.loads(contents["stations.json"])] == [
        lesson.question for lesson in load_path_lessons()
    ]
    assert [shapecalc("site", "one", *more).code for more in ((), ("--force",))] == [4, 0]


def check_course_without_scripts(contents):
    """Check that the page has text, pictures and answers of all lessons, which need no scripts."""
    page = unescape(contents["index.html"].decode())
    assert {*re.findall(r'(?:src|srcset)="([\w-]+\.svg)"', page)} == PICTURES
    for lesson in load_path_lessons():
        assert f"<summary>{lesson.title}</summary>" in page
        assert lesson.point in page
        right = prediction_text(correct_prediction(lesson.task))
        asked, told = (contents[f"{kind}-{lesson.id}.svg"].decode() for kind in ("ask", "told"))
        assert not reveals_answer(re.sub(r"<[^>]*>", " ", asked), right), lesson.id
        assert asked != told
    for name in PICTURES:
        svg = contents[name].decode()
        assert "<script" not in svg
        assert re.search("prefers-color-scheme: ?dark", svg)
        width = int(re.search(r'width="(\d+)"', svg)[1])
        assert width <= 380 or "-narrow" not in name, name


@pytest.mark.parametrize(("name", "minimum"), [("ink", 4.5), ("quiet", 4.5), ("mark", 4.5), ("line", 3)])
def test_site_contrast_on_light_and_dark_pages(name, minimum):
    style = (files("shapecalc") / PAGE_FOLDER / "site.css").read_text("utf-8")
    colours = {key: re.findall(rf"--{key}: #(\w+);", style) for key in ("page", name)}
    for page, colour in zip(*colours.values(), strict=True):
        assert contrast_ratio(bytes.fromhex(colour), bytes.fromhex(page)) >= minimum


MISSING_FILES = (
    "lacks pyodide.mjs, pyodide.asm.mjs, pyodide.asm.wasm, python_stdlib.zip, pyodide-lock.json of the npm package"
)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["."], 4, "file: . is not empty; --force writes over it"),
        (["node_modules/pyodide/pyodide.mjs"], 4, "node_modules/pyodide/pyodide.mjs: file exists"),
        (
            ["x", "--pyodide", "nowhere"],
            4,
            f"file: nowhere {MISSING_FILES} pyodide (npm pack pyodide, unpack it, and add",
        ),
        ([], 2, "usage: missing argument 'FOLDER'"),
    ],
)
def test_site_unwritable_folder_is_reported(words, code, message, shapecalc, folder):
    ran = shapecalc("site", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert ran.err.startswith(f"shapecalc: {message}")
    assert not (folder / "x").exists()


# Answers


@each_row(("line", "expected"), rows("page_lines.txt"))
def test_site_reads_lines_as_the_entry_point(line, expected):
    answer = json.loads(answer_line(line))
    code, _, rest = expected.partition(" ")
    out, _, message = rest.partition("!")
    assert answer["code"] == int(code), answer
    assert answer["out"].startswith(out.strip())
    assert answer["told"].startswith(message.strip())
    assert "Traceback" not in answer["told"]


def test_site_fixes_refusals():
    assert apply_first_fix("reshape 2,3,4 5,-1") == "reshape 2,3,4 4,-1"
    assert apply_first_fix("chain '2,3 | reshape 5,-1'") == ""
    assert apply_first_fix("reshape 2,3,4 0,-1") == ""


def test_site_judges_predictions_by_their_station():
    (hole,) = [lesson for lesson in load_path_lessons() if lesson.id == "hole"]
    assert json.loads(judge_prediction(hole.question, hole.wrong[0].typed, "hole"))["feedback"] == hole.wrong[0].said
    assert json.loads(judge_prediction(hole.question, "2,6,2", "hole")) == {"right": True, "feedback": hole.point}
    assert json.loads(judge_prediction("reshape 2,3,4 5,-1", "error", ""))["right"]
    assert "not an answer yet" in json.loads(judge_prediction("reshape 2,3,4 6,4", "\x1b", ""))["feedback"]


# The page in a real browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Serve the page by the server of the standard library; yield its address."""
    from shapecalc.cli.output import OutputOptions
    from shapecalc.cli.site import run_site

    folder = tmp_path_factory.mktemp("page")
    assert run_site(str(folder), PACKAGE, OutputOptions()) == 0
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    shutil.rmtree(folder)


def contains_text(name, text):
    """Return a JavaScript expression: whether an element contains a text."""
    return f"document.getElementById({name!r}).textContent.includes({text!r})"


def is_visible(name):
    """Return a JavaScript expression: whether an element is visible."""
    return f"document.getElementById({name!r}).checkVisibility()"


FOCUS = "document.activeElement.id === {!r}"
ALT = "document.getElementById('picture').alt.startsWith({!r})"
SCROLLS_SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"


@pytest.mark.slow
@pytest.mark.skipif(bool(NO_PAGE), reason=NO_PAGE)
def test_site_in_a_browser_answers_asks_and_links(address):
    async def script():
        async with asyncio.timeout(PATIENCE), opened() as tab:
            urls, messages = [], []
            tab.page.on("request", lambda request: urls.append(request.url))
            tab.page.on("console", lambda message: messages.append(message.text))
            tab.page.on("pageerror", lambda error: messages.append(str(error)))

            async def go(**question):
                await tab.go(f"{address}#{urlencode(question)}")

            async def press(*keys):
                for key in keys:
                    await tab.page.keyboard.press(key)

            await tab.resize(390, 844)
            await go(show="2,3,4 | transpose 1,0,2 | reshape 2,-1,3")
            await tab.until(contains_text("answer", "2,4,3"))
            await tab.until(ALT.format("chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3': 2,4,3"))
            assert not await tab.page.evaluate(SCROLLS_SIDEWAYS)
            await tab.page.click("#next")
            await tab.until(ALT.format("step 1 of 8: dim 0 is input dim 1, of size 3"))
            assert tab.page.url.endswith("&step=1")
            await tab.page.click("#film")
            await tab.until(ALT.format("film of chain"))
            assert not await tab.page.evaluate(SCROLLS_SIDEWAYS)
            await tab.page.click("#pause")
            await tab.until(contains_text("pause", "Play"))
            await tab.page.click("#speed")
            await tab.until(contains_text("speed", "Speed 2"))

            await go(ask="x.view(2, -1) x=2,3,4")
            await tab.until(FOCUS.format("shape"))
            assert "2,12" not in await tab.page.inner_text("main")
            assert await tab.page.evaluate(ALT.format("the question chain"))
            await press("2", ",", "8", "Enter")
            await tab.until(contains_text("hint", "16"))
            await press("Backspace", "1", "2", "Enter")
            await tab.until(contains_text("judged", "right: "))
            await tab.until(FOCUS.format("answer"))

            await tab.page.click("#stations a:nth-child(2)")
            await tab.until(contains_text("title", load_path_lessons()[1].title))
            await tab.page.click("#give")
            await tab.until(contains_text("judged", load_path_lessons()[1].point))

            await tab.resize(1280, 720)
            await tab.page.fill("#line", "reshape 2,3,4 5,-1")
            await press("Enter")
            await tab.until(contains_text("told", "indivisible: 24 elements"))
            assert await tab.page.evaluate(FOCUS.format("line"))
            assert tab.page.url.endswith("#show=reshape+2%2C3%2C4+5%2C-1")
            await go(show="tui")
            await tab.until(contains_text("told", "a package that a page does not have"))
            assert not await tab.page.evaluate(is_visible("figure"))
            await go(show="RuntimeError: shape '[8, 3, 64]' is invalid\nfor input of size 1600")
            await tab.page.click("#more a")
            await tab.until(contains_text("told", "volume-mismatch"))
            assert not await tab.page.evaluate(SCROLLS_SIDEWAYS)
            assert {url.partition("#")[0].rpartition("/")[0] + "/" for url in urls if not url.startswith("data:")} == {
                address
            }
            assert messages == []

    asyncio.run(script())
