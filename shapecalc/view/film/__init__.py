"""An answer as a film: frames of its dims and of its elements in memory, the same for the screen and for every file."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from shapecalc.core.problem import misuse
from shapecalc.core.text import brief, visible
from shapecalc.view.film.scenes import LEAST_HEIGHT, film_of
from shapecalc.view.still import check_theme, ending_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.view.film.frames import Film

FORMATS = {
    ".svg": ("svg", "moving"),
    ".gif": ("gif", "gif"),
    ".html": ("page", "page"),
    ".cast": ("cast", "cast"),
    ".txt": ("cast", "txt"),
}
"""The endings of files, each with its module and the function there. A module is imported on first use."""
STILL = "a still picture: an op's --picture FILE.png"
"""What to write where a film was to be a picture that does not move."""
THEMELESS = (".cast", ".txt")
"""The endings of files that have no colours of their own."""


def film_file(answer: Trace | Chain, name: str, theme: str | None = None) -> tuple[Film, bytes]:
    """Return the film of an answer, and the contents of the file of that name. A film that is too large shows less.

    Raises `ShapeError`: usage if there is no such theme or no film is written so, file if what draws is not installed.

    >>> import shapecalc as sc
    >>> film_file(sc.reshape((2, 3), (3, 2)), "x.pdf")
    Traceback (most recent call last):
    shapecalc.core.problem.ShapeError: usage: 'x.pdf' is not a film (end it in .svg, .gif, .html, .cast, .txt)
    """
    write = _writer(name, theme)
    film = film_of(answer)
    made = write(film)
    if made is None:
        film = film_of(answer, height=LEAST_HEIGHT)
        made = write(film)
    if made is None:
        raise misuse("the film is too long for a moving picture that pages can show", "end its name in .html")
    return film, made


def _writer(name: str, theme: str | None) -> Callable[[Film], bytes | None]:
    """Return what makes the contents of a file of that name; raise `ShapeError` (usage) if nothing does."""
    if name.lower().endswith(".png"):
        raise misuse(f"'{visible(brief(name))}' is not a film", f"end it in {', '.join(FORMATS)}; {STILL}")
    ending = ending_of(name, FORMATS, "film")
    if theme is not None:
        check_theme(theme)
        if ending in THEMELESS:
            raise misuse(f"a {ending} has the colours of the terminal that shows it, and no theme", argument="theme")
    module, function = FORMATS[ending]
    write: Callable[..., bytes | None] = getattr(import_module(f"{__name__}.{module}"), function)
    return write if ending in THEMELESS else partial(write, theme=theme)
