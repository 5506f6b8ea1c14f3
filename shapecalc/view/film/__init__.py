"""An answer as a film: frames of its dims and of its elements in memory, the same for the screen and for every file."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from shapecalc.core.sizes.problem import misuse
from shapecalc.view.still import check_theme, ending_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.view.film.frames import Film

FORMATS = {
    ".svg": ("svg", "moving"),
    ".gif": ("gif", "gif"),
    ".html": ("page", "page"),
    ".cast": ("cast", "cast"),
    ".txt": ("cast", "txt"),
}
"""The endings of files, each with its module and the function there. A module is imported on first use."""
THEMELESS = (".cast", ".txt")
"""The endings of files that have no colours of their own."""


def film_writer(name: str, theme: str | None = None) -> Callable[[Film], bytes]:
    """Return what makes the contents of a file of that name.

    Raises `ShapeError` (usage) if no film is written so, and if there is no such theme or the file has none.

    >>> film_writer("x.png")
    Traceback (most recent call last):
    shapecalc.core.sizes.problem.ShapeError: usage: 'x.png' is no film (end it in .svg, .gif, .html, .cast, .txt)
    """
    ending = ending_of(name, FORMATS, "film")
    if theme is not None:
        check_theme(theme)
        if ending in THEMELESS:
            raise misuse(f"a {ending} has the colours of the terminal that shows it, and no theme", argument="theme")
    module, function = FORMATS[ending]
    write: Callable[..., bytes] = getattr(import_module(f"{__name__}.{module}"), function)
    return write if ending in THEMELESS else partial(write, theme=theme)
