"""Folders of arrays as the app lists them: folders and files that an input may name, and the arrays in a file."""

from __future__ import annotations

from itertools import islice
from os.path import isdir
from pathlib import Path

from shapecalc.core.record import Record
from shapecalc.core.text import is_file, shape_text
from shapecalc.engine.headers import found_in

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
    places = [Place("..", str(Path(path).resolve().parent), True)]
    inside = sorted(each for each in Path(path).iterdir() if not each.name.startswith("."))
    places += [Place(f"{each.name}/", str(each), True) for each in inside if _is_folder(each)]
    files = (each for each in inside if is_file(each.name) and not _is_folder(each))
    return (places + [Place(each.name, str(each), each.name.endswith(HOLDS_SEVERAL)) for each in files])[:MOST]


def _is_folder(path: str | Path) -> bool:
    return isdir(path)  # noqa: PTH112 - it never raises


def about(place: Place) -> str:
    """Return what is said of a place: the shape and the type of an array, or how many there are.

    >>> about(Place("gone.npy", "gone.npy", False))
    'no such file or directory'
    """
    if _is_folder(place.path):
        return "a folder"
    found = list(islice(found_in(place.path), MOST))
    return f"{len(found)} arrays" if place.opens and len(found) != 1 else _found_text(found[0])


def _found_text(found: Found) -> str:
    if found.problem:
        return found.problem
    return f"{found.dtype or 'structured'} {shape_text(found.shape)}"
