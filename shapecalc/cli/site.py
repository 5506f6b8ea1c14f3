"""`shapecalc site`: a static page that runs this program in a browser, and the answers that its script asks for there.

In the page there are Pyodide, its standard library, Rich and Typer: no NumPy, no terminal, no files of the reader.
"""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from importlib.resources import files
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

from shapecalc.cli.answer import print_error, write_file
from shapecalc.cli.app import is_message, run_line
from shapecalc.cli.options import COMMANDS, Argument, Command, printing_options
from shapecalc.cli.output import Exit, Output, RunEnded, fault_text, put, tell
from shapecalc.core.commands import Option
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.readings import OTHER_WORDS, Held, read_held
from shapecalc.core.record import fields
from shapecalc.core.text import brief, split, visible
from shapecalc.teaching import judging
from shapecalc.teaching.lessons import Lesson, judge, path_lessons
from shapecalc.view.files import svg

PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""The files of Pyodide that a page needs."""
PACKAGES = ("shapecalc", "rich", "typer", "shellingham", "annotated_doc")
"""What is packed beside Python's own library: what answers, draws and prints help."""
PAGE = "cli/site_page"
"""The folder of the page's own files."""
LEFT_OUT = tuple(f"shapecalc/{each}/" for each in ("models", "serving", "tui", "engine/stores", "view/fonts", PAGE))
KINDS = (".py", ".toml", ".txt", ".html")
"""The ends of the names of files that are packed."""
PICTURE = "picture.svg"
"""Where the page has its pictures written to."""
INSTALLED_ONLY = ("tui", "serve", "drill", "repl", "mcp", "model", "check", "match", "site")
"""The commands that need a terminal, files or other programs."""


# The command: the folder is written.


def run_site(folder: str, pyodide: str, out: Output) -> int:
    """Write the page into a folder, and print the folder's name."""
    try:
        size = _write_page(Path(folder), Path(pyodide), force=out.force)
    except ShapeError as error:
        return print_error(error, "site", {}, out)
    if not out.quiet:
        put(visible(folder))
        tell(visible(f"shapecalc: {size / 1e6:.1f} MB; to see it: python3 -m http.server -d {folder}"))
    return Exit.YES


def _write_page(folder: Path, pyodide: Path, *, force: bool) -> int:
    """Write every file of the page, and return how many bytes they have; raise `ShapeError` (file) or `OSError`."""
    if missing := [name for name in PYODIDE if not (pyodide / name).is_file()]:
        found = f"{pyodide} lacks {', '.join(missing)} of the npm package pyodide"
        raise ShapeError(Problem(FILE, found, "npm pack pyodide, unpack it, and add --pyodide package"))
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ShapeError(Problem(FILE, f"{folder} is not empty; --force writes over it"))
    made = {each.name: each.read_bytes() for each in (files("shapecalc") / PAGE).iterdir()}
    shown = ("id", "title", "text", "question", "point")
    path = [{name: getattr(each, name) for name in shown} | _asked_of(each.task) for each in path_lessons()]
    made |= {"stations.json": json.dumps(path).encode(), "program.zip": _program()}
    made |= {name: (pyodide / name).read_bytes() for name in PYODIDE}
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        write_file(str(folder / name), data, force=force)
    return sum(map(len, made.values()))


def _asked_of(task: judging.Task) -> dict[str, str]:
    return {"asks": task.asks, "right": judging.prediction_text(judging.right_prediction(task))}


def _program() -> bytes:
    """Return what the page runs, and the pages of the manual, as a zip that is the same at every build."""
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    from shapecalc.cli.info import PAGES, file_name, page_source

    packed = {f"shapecalc/man/{file_name(page)}": page_source(page).encode() for page in PAGES}
    for package in PACKAGES:
        root: Any = files(package)  # a folder, or one in a zip
        for each in root.rglob("*"):
            name = f"{package}/{each.relative_to(root)}".replace("\\", "/")
            if name.endswith(KINDS) and not name.startswith(LEFT_OUT):
                packed[name] = each.read_bytes()
    zipped = BytesIO()
    with ZipFile(zipped, "w") as file:
        for name, data in sorted(packed.items()):
            file.writestr(ZipInfo(name), data, ZIP_DEFLATED, 9)
    return zipped.getvalue()


SITE_COMMAND = Command(
    run=run_site,
    parameters=[
        Argument("folder", "the folder to write, new or empty", "FOLDER"),
        Option("pyodide", "The npm package.", metavar="DIR", default="node_modules/pyodide", shows_default=True),
        *printing_options("force", "quiet"),
    ],
    summary="Write a static page that runs shapecalc in a browser, without a server.",
    examples="""\
  npm pack pyodide && tar -xf pyodide-*.tgz
  shapecalc site public --pyodide package""",
    more=" Any place for static files can hold it. It fetches nothing from elsewhere; its address holds the question.",
)


# The page: what its script asks for.


def answer_line(text: str, *more: str) -> str:
    """Return what the command line says of a line and more options, as JSON, with the picture if one is written.

    >>> json.loads(answer_line("2,3,4 0,-1", "--quiet"))
    {'code': 0, 'out': '', 'told': '', 'picture': ''}
    """
    out, told = (TextIOWrapper(BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(told):
        code = _run([*_words_of(text), *more])
    said = {name: stream.buffer.getvalue().decode() for name, stream in (("out", out), ("told", told))}
    picture, drawn = Path(PICTURE), ""
    if PICTURE in more and picture.exists():
        drawn = picture.read_text("utf-8")
        picture.unlink()
    return json.dumps({"code": code, **said, "picture": drawn})


def _words_of(text: str) -> list[str]:
    """Return the words of a line; a text that is read as a whole, such as a message with quotes, is one of them.

    >>> _words_of("$ shapecalc reshape 2,3 6"), _words_of("shape '[8, 3]' is invalid for input of size 16")
    (['reshape', '2,3', '6'], ['--', "shape '[8, 3]' is invalid for input of size 16"])
    """
    text = text.strip().removeprefix("$ ").removeprefix("shapecalc ")
    try:
        words = split(text)
        known = not words or any(words[0] in names for names in (OPS, COMMANDS, OTHER_WORDS))
        whole = is_message(text) if known else read_held(Held((text,), (text,), is_message)) is not None
    except ShapeError:
        whole = True
    return ["--", text] if whole else words


def _run(words: list[str]) -> int:
    """Run a command line in the page and return its exit code; what cannot run there is told in one line."""
    name = next((word for word in words if word != "--"), "")
    try:
        if name in INSTALLED_ONLY:
            raise ImportError(name)
        return run_line(words, None)
    except RunEnded as ended:
        return ended.code
    except ImportError:
        tell(visible(f"shapecalc: {brief(name)} needs files, a terminal or a package that a page does not have"))
        return Exit.FILE
    except Exception as error:
        tell(f"shapecalc: {fault_text(error)}")
        return Exit.FAULT


def asked(station: str, width: int) -> str:
    """Return the picture of what a station of the path asks, as SVG.

    >>> "<svg" in asked("order", 60)
    True
    """
    task = next(each.task for each in path_lessons() if each.id == station)
    return svg(judging.task_picture(task, judging.answer_line(task.question), width=width, height=16), task.asks)


def judged(question: str, typed: str, station: str) -> str:
    """Return whether a prediction is right and what is said to it, as JSON; a station of the path knows more mistakes.

    >>> json.loads(judged("reshape 2,3,4 0,-1", "2,12", ""))["said"]
    'the 0 at index 0 copies dim 0, which is 2; -1 = 24 / 2 = 12'
    """
    own = Lesson("", "", "", question, judging.account(judging.answer_line(question)))
    return json.dumps(fields(judge(next((each for each in path_lessons() if each.id == station), own), typed)))
