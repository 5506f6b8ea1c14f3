"""The manual pages that come with the package: which there are, and which one is about a command."""

from __future__ import annotations

from importlib.resources import files

from shapecalc.core.sizes.problem import FILE, Problem, ShapeError
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


def page_about(topic: str) -> str:
    """Return the text of the page about a command or another topic.

    Raises `ShapeError` (file) if this copy of the program was installed without its pages.
    """
    topic = ABOUT.get(topic, topic)
    return page_text(page_source(topic if topic in PAGES else OVERVIEW))


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
