"""The manual pages that come with the package: which there are, and which one is about a command."""

from __future__ import annotations

from importlib.resources import files

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.view.mdoc import page_text

OVERVIEW = "shapecalc"
PAGES = {
    "shapecalc": 1,
    "check": 1,
    "doctor": 1,
    "model": 1,
    "tui": 1,
    "cases": 5,
    "lessons": 5,
    "dialects": 7,
    "tutorial": 7,
}
"""The pages with their sections of the manual; all but the first are called shapecalc- and this."""
ABOUT = {"match": "check", "vectors": "check", "drill": "tui", "film": "tui", "serve": "tui"}
"""The pages of commands that share one. What has no page stands in the overview."""
WHOLE = ".Sh SEE ALSO\nThe whole page, with the options:\n.Dl shapecalc help \\-\\-page\n"


def page_about(topic: str) -> str:
    """Return the text of the page about a command or another topic; of the overview, what it says of the command.

    Raises `ShapeError` (file) if this copy of the program was installed without its pages.
    """
    topic = ABOUT.get(topic, topic)
    return page_text(page_source(topic) if topic in PAGES else _part_about(topic, page_source(OVERVIEW)))


def _part_about(command: str, source: str) -> str:
    """Return what the source of the overview says of one command: how it is written, and its entry."""
    name, synopsis = source.partition("\n.Sh DESCRIPTION\n")[0].split("\n.Sh SYNOPSIS\n")
    written = next(each for each in synopsis.split(".Nm\n") if each.startswith(f".Cm {command}\n"))
    entry, depth = [f".It Ic {command}"], 0
    for line in source.partition(f"\n{entry[0]}\n")[2].splitlines():
        if not depth and line.startswith((".It", ".El")):
            break
        depth += line.startswith(".Bl") - line.startswith(".El")
        entry.append(line)
    listed = [".Sh COMMANDS", ".Bl -tag -width unsqueeze", *entry, ".El"]
    return "\n".join([name, ".Sh SYNOPSIS", ".Nm", written.rstrip(), *listed, WHOLE])


def page_source(topic: str) -> str:
    """Return the source of a page: from the package, or from the checkout that the package stands in."""
    package = files("shapecalc")
    for folder in (package / "man", package / ".." / "man"):
        page = folder / file_name(topic)
        if page.is_file():
            return page.read_text("utf-8")
    raise ShapeError(Problem(FILE, f"{file_name(topic)} is not installed with this copy of shapecalc"))


def file_name(topic: str) -> str:
    """Return the name of a page's file.

    >>> file_name("shapecalc"), file_name("cases")
    ('shapecalc.1', 'shapecalc-cases.5')
    """
    return f"{topic if topic == OVERVIEW else f'{OVERVIEW}-{topic}'}.{PAGES[topic]}"
