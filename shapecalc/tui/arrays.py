"""Folders of arrays as the app lists them: folders and files that an input may name, and the arrays in a file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import is_file, shape_text
from shapecalc.engine.folders import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.engine.headers import Found

MOST = 1000
"""The most names that are listed of a folder or a file."""
HOLDS_SEVERAL = (".npz", ".safetensors")
"""The endings of files that hold several arrays, each with a name."""


class Place(Record):
    """A folder, a file, or an array in a file, by the name that an input has for it."""

    name: str
    path: str
    opens: bool
    """Whether there is something to list in it."""


def places_in(path: str) -> list[Place]:
    """Return what a folder or a file of several arrays holds, folders first; raise `OSError` if it cannot be read."""
    if path.endswith(HOLDS_SEVERAL):
        return [Place(found.name.removeprefix(path), found.name, False) for found in islice(found_in(path), MOST)]
    inside = sorted(Path(path).iterdir(), key=lambda each: (not each.is_dir(), each.name))
    listed = (each for each in inside if not each.name.startswith(".") and (each.is_dir() or is_file(each.name)))
    above = [Place("..", str(Path(path).resolve().parent), True)]
    return above + [
        Place(each.name + "/" * each.is_dir(), str(each), each.is_dir() or each.name.endswith(HOLDS_SEVERAL))
        for each in islice(listed, MOST)
    ]


def about(place: Place) -> str:
    """Return what is said of a place: the shape and the type of an array, or how many there are.

    >>> about(Place("gone.npy", "gone.npy", False))
    'no such file or directory'
    """
    if Path(place.path).is_dir():
        return "a folder"
    found = list(islice(found_in(place.path), MOST))
    return f"{len(found)} arrays" if place.opens and len(found) != 1 else _found_text(found[0])


def _found_text(found: Found) -> str:
    if found.problem:
        return found.problem
    return f"{found.dtype or 'structured'} {shape_text(found.shape)}"
