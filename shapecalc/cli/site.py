"""`shapecalc site`: write a static page that runs shapecalc in a browser.

The functions at the end are the interface of the page: the script `site_page/site.js` calls them through Pyodide. The
page has the standard library, Rich and Typer, but no NumPy, no terminal and no access to the user's files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from html import escape
from importlib.resources import files
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

from rich.text import Text

from shapecalc.cli.answer import print_error, write_file
from shapecalc.cli.app import run_command_line
from shapecalc.cli.inference import is_error_message
from shapecalc.cli.options import COMMAND_MODULES, Argument, Command, select_output_options
from shapecalc.cli.output import EarlyExit, ExitCode, OutputOptions, internal_error_text, print_stderr, print_stdout
from shapecalc.core.answers import Chain
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.text import escape_unprintable, parse_axes, split_outside_brackets, truncate
from shapecalc.reading.command_detection import COMMAND_ALIASES, UserInput, detect_command, is_assignment
from shapecalc.reading.commands import command_line
from shapecalc.reading.options import Option
from shapecalc.reasoning.fixing import apply_fix, find_fixes
from shapecalc.render.canvas import stack_texts
from shapecalc.render.files import draw_still, render_svg
from shapecalc.render.film import render_film
from shapecalc.render.grid import draw_grid
from shapecalc.render.pictures import draw_explanation
from shapecalc.teaching import judging
from shapecalc.teaching.lessons import Lesson, judge_lesson_answer, load_path_lessons

PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""Files of Pyodide that the page needs."""
PACKED_PACKAGES = ("shapecalc", "rich", "typer", "shellingham", "annotated_doc")
"""Python packages that the page contains in addition to the standard library."""
PAGE_FOLDER = "cli/site_page"
"""Folder of the HTML, CSS and JavaScript files of the page."""
EXCLUDED_FOLDERS = tuple(
    f"shapecalc/{name}/" for name in ("models", "serving", "tui", "engine/stores", "render/fonts", PAGE_FOLDER)
)
"""Folders that are excluded from the zip of the page."""
PACKED_SUFFIXES = (".py", ".toml", ".txt", ".html")
"""Suffixes of the files that are included in the zip of the page."""
FIRST_EXAMPLE = "reshape 2,3,4 0,-1"
"""The question with the answer that the page shows before Python runs."""
PICTURE_WIDTHS = {"": 76, "-narrow": 42}
"""The widths, in characters, of the pictures made at build time, by file name suffix."""
MAX_TASK_LINES = 16
"""The maximum height, in lines, of the picture of a question."""
LESSONS_PLACEHOLDER = "<!-- course -->"
"""The comment in the page that is replaced by the lessons."""
PICTURE_PATH = "picture.svg"
"""Path of the picture file that the script of the page requests."""
UNAVAILABLE_COMMANDS = ("tui", "serve", "drill", "repl", "mcp", "model", "check", "match", "site")
"""Commands that the page does not support, because they require a terminal, files or other programs."""


def run_site(folder: str, pyodide: str, output_options: OutputOptions) -> int:
    """Write the page to a folder, and print the name and the size of the page.

    `pyodide` is the folder with the files of Pyodide.
    """
    try:
        size = _write_page(Path(folder), Path(pyodide), force=output_options.force)
    except ShapeError as error:
        return print_error(error, "site", {}, output_options)
    if not output_options.quiet:
        print_stdout(escape_unprintable(folder))
        print_stderr(
            escape_unprintable(f"shapecalc: {size / 1e6:.1f} MB; to see it: python3 -m http.server -d {folder}")
        )
    return ExitCode.OK


def _write_page(folder: Path, pyodide: Path, *, force: bool) -> int:
    """Write the files of the page, and return their size in bytes.

    Raises `ShapeError` (file) if Pyodide is missing, or if the folder is not empty and `force` is not set.
    Raises `OSError` if writing fails.
    """
    if missing := [name for name in PYODIDE_FILES if not (pyodide / name).is_file()]:
        message = f"{pyodide} lacks {', '.join(missing)} of the npm package pyodide"
        raise ShapeError(Problem(FILE, message, "npm pack pyodide, unpack it, and add --pyodide package"))
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ShapeError(Problem(FILE, f"{folder} is not empty; --force writes over it"))
    contents = {file.name: file.read_bytes() for file in (files("shapecalc") / PAGE_FOLDER).iterdir()}
    keys = ("id", "title", "text", "question", "point")
    stations = [{key: getattr(lesson, key) for key in keys} | _task_json(lesson.task) for lesson in load_path_lessons()]
    contents |= {"stations.json": json.dumps(stations).encode(), "program.zip": _build_program_zip()}
    contents |= {name: picture.encode() for name, picture in _static_pictures()}
    page = contents["index.html"].decode()
    contents["index.html"] = page.replace(
        LESSONS_PLACEHOLDER, "\n".join(map(_lesson_html, load_path_lessons()))
    ).encode()
    contents |= {name: (pyodide / name).read_bytes() for name in PYODIDE_FILES}
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        write_file(str(folder / name), data, force=force)
    return sum(map(len, contents.values()))


def _static_pictures() -> Iterator[tuple[str, str]]:
    """Yield the static pictures of the page, as file names and SVG.

    The page displays them without scripts. They are the answer to the first example and its film, and the question and
    the answer of each lesson of the introduction, in two widths.
    """
    yield "first-film.svg", render_film(judging.resolve_command_line(FIRST_EXAMPLE), "first-film.svg")[1].decode()
    for suffix, width in PICTURE_WIDTHS.items():
        first = judging.resolve_command_line(FIRST_EXAMPLE)
        yield f"first{suffix}.svg", render_svg(draw_still(first, None, width), str(first))
        for lesson in load_path_lessons():
            answer = judging.resolve_command_line(lesson.question)
            task = judging.draw_task(lesson.task, answer, width=width, height=MAX_TASK_LINES)
            yield f"ask-{lesson.id}{suffix}.svg", render_svg(task, lesson.task.prompt)
            picture = draw_explanation(answer, width=width)
            if lesson.follow:
                grid = draw_grid(answer, parse_axes(lesson.follow), width=width, height=MAX_TASK_LINES)
                picture = stack_texts([grid, Text(), picture])
            yield f"told-{lesson.id}{suffix}.svg", render_svg(picture, lesson.point)


def _lesson_html(lesson: Lesson) -> str:
    """Return a lesson as HTML: its text, its picture, and a hidden answer.

    The reader can reveal the answer without scripts.
    """
    right = judging.prediction_text(judging.correct_prediction(lesson.task))
    return (
        f"<details><summary>{escape(lesson.title)}</summary><p>{escape(' '.join(lesson.text.split()))}</p>"
        f"<p><code>{escape(lesson.question)}</code><br>{escape(lesson.task.prompt)}</p>"
        f"{_picture_html(f'ask-{lesson.id}', 'the question')}"
        f"<details><summary>Answer</summary><p><b>{escape(right)}</b>: {escape(lesson.point)}</p>"
        f"{_picture_html(f'told-{lesson.id}', 'the answer')}</details></details>"
    )


def _picture_html(name: str, description: str) -> str:
    return (
        f'<picture><source media="(max-width: 40rem)" srcset="{name}-narrow.svg">'
        f'<img src="{name}.svg" alt="{escape(description)}" loading="lazy"></picture>'
    )


def _task_json(task: judging.Task) -> dict[str, str]:
    """Return the prompt and the correct answer of a task as a JSON object."""
    return {"asks": task.prompt, "right": judging.prediction_text(judging.correct_prediction(task))}


def _build_program_zip() -> bytes:
    """Return a zip file with the Python packages and the manual pages.

    The zip is reproducible: entries are sorted and have no timestamps.
    """
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    from shapecalc.cli.info import MANUAL_PAGES, page_file_name, read_page_source

    entries = {f"shapecalc/man/{page_file_name(page)}": read_page_source(page).encode() for page in MANUAL_PAGES}
    for package in PACKED_PACKAGES:
        root: Any = files(package)  # a `Path`, or a `zipfile.Path` in a zipped package
        for file in root.rglob("*"):
            name = f"{package}/{file.relative_to(root)}".replace("\\", "/")
            if name.endswith(PACKED_SUFFIXES) and not name.startswith(EXCLUDED_FOLDERS):
                entries[name] = file.read_bytes()
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, data in sorted(entries.items()):
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED, 9)
    return buffer.getvalue()


SITE_COMMAND = Command(
    run=run_site,
    parameters=[
        Argument("folder", "the output folder, new or empty", "FOLDER"),
        Option(
            "pyodide",
            "Folder of the npm package pyodide.",
            metavar="DIR",
            default="node_modules/pyodide",
            shows_default=True,
        ),
        *select_output_options("force", "quiet"),
    ],
    summary="Write a static page that runs shapecalc in a browser, without a backend.",
    examples="""\
  npm pack pyodide && tar -xf pyodide-*.tgz
  shapecalc site public --pyodide package""",
    details=" Any static web host can serve the page. It loads nothing from other sites; its address contains the"
    " request.",
)


def answer_line(text: str, *options: str) -> str:
    """Run the command line `text` with more options, and return the results as JSON.

    The keys are `code` (the exit code), `out` (the text on stdout), `told` (the text on stderr) and `picture` (an SVG
    or an empty string).

    >>> json.loads(answer_line("2,3,4 0,-1", "--quiet"))
    {'code': 0, 'out': '', 'told': '', 'picture': ''}
    """
    stdout, stderr = (TextIOWrapper(BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code = _run_in_page([*_split_words(text), *options])
    texts = {name: stream.buffer.getvalue().decode() for name, stream in (("out", stdout), ("told", stderr))}
    path, svg_text = Path(PICTURE_PATH), ""
    if PICTURE_PATH in options and path.exists():
        svg_text = path.read_text("utf-8")
        path.unlink()
    return json.dumps({"code": code, **texts, "picture": svg_text})


def _split_words(text: str) -> list[str]:
    """Split a command line into words.

    A leading prompt and the program name are dropped. An error message or code is kept as one word, after `--`.

    >>> _split_words("$ shapecalc reshape 2,3 6"), _split_words("shape '[8, 3]' is invalid for input of size 16")
    (['reshape', '2,3', '6'], ['--', "shape '[8, 3]' is invalid for input of size 16"])
    """
    text = text.strip().removeprefix("$ ").removeprefix("shapecalc ")
    try:
        words = split_outside_brackets(text)
        is_known = not words or (
            not is_assignment(text) and any(words[0] in names for names in (OPS, COMMAND_MODULES, COMMAND_ALIASES))
        )
        is_whole = (
            is_error_message(text)
            if is_known
            else detect_command(UserInput((text,), (text,), is_error_message)) is not None
        )
    except ShapeError:
        is_whole = True
    return ["--", text] if is_whole else words


def _run_in_page(words: list[str]) -> int:
    """Run a command line in the page, and return its exit code.

    Commands that the page does not support print an error.
    """
    name = next((word for word in words if word != "--"), "")
    try:
        if name in UNAVAILABLE_COMMANDS:
            raise ImportError(name)
        return run_command_line(words, None)
    except EarlyExit as ended:
        return ended.code
    except ImportError:
        print_stderr(
            escape_unprintable(
                f"shapecalc: {truncate(name)} needs files, a terminal or a package that a page does not have"
            )
        )
        return ExitCode.FILE
    except Exception as error:
        print_stderr(f"shapecalc: {internal_error_text(error)}")
        return ExitCode.FAULT


def lesson_picture(lesson_id: str, width: int) -> str:
    """Return the picture of a lesson's task as SVG.

    `lesson_id` is the id of the lesson, and `width` is the width of the picture in characters.

    >>> "<svg" in lesson_picture("order", 60)
    True
    """
    task = next(lesson.task for lesson in load_path_lessons() if lesson.id == lesson_id)
    return render_svg(
        judging.draw_task(task, judging.resolve_command_line(task.question), width=width, height=16), task.prompt
    )


def apply_first_fix(question: str) -> str:
    """Apply the first fix to a refused request, and return its command line.

    Returns an empty string if the request is not refused or has no fix.

    >>> apply_first_fix("reshape 2,3,4 5,-1"), apply_first_fix("reshape 2,3,4 6,4")
    ('reshape 2,3,4 4,-1', '')
    """
    answer = judging.resolve_command_line(question)
    if isinstance(answer, Chain) or answer.problem is None:
        return ""
    fixes = find_fixes(answer)
    fixed = judging.answer_request(apply_fix(answer.request, fixes[0])) if fixes else None
    return command_line(fixed).removeprefix("shapecalc ") if fixed else ""


def judge_prediction(question: str, prediction: str, lesson_id: str) -> str:
    """Judge a predicted answer to a question, and return the verdict as JSON.

    `question` is a command line, and `prediction` is the answer that the user typed. `lesson_id` is the id of a lesson,
    or empty. The verdict on a wrong prediction in a lesson names a typical mistake of that lesson.

    >>> json.loads(judge_prediction("reshape 2,3,4 0,-1", "2,12", ""))["feedback"]
    'the 0 at index 0 copies dim 0, which is 2; -1 = 24 / 2 = 12'
    """
    default = Lesson("", "", "", question, judging.derivation_text(judging.resolve_command_line(question)))
    lesson = next((lesson for lesson in load_path_lessons() if lesson.id == lesson_id), default)
    judgement = judge_lesson_answer(lesson, prediction)
    return json.dumps({"right": judgement.right, "feedback": judgement.feedback})
