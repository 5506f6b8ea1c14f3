"""The metadata of Zarr stores in folders, of versions 2 and 3: JSON beside the chunks, which are not looked at.

Source: Zarr storage specification version 2; Zarr core specification version 3.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from stat import S_ISDIR

from shapecalc.core.dialects.base import KNOWN
from shapecalc.core.text import brief
from shapecalc.engine.headers import NUMBERS, Found, first_bytes, unreadable
from shapecalc.engine.json_headers import checked_shape, read_object
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NODES = {"zarr.json": 3, ".zarray": 2, ".zgroup": 2}
"""The files that make a folder an array or a group, with the version of the format."""
LONGEST_METADATA = 1 << 24
"""The most bytes of metadata that are read."""
DEEPEST = 64
"""The most groups inside each other that are looked into."""


def arrays_of_store(path: str, depth: int = 0) -> Iterator[Found]:
    """Yield what is found of the arrays of a store, its groups included; links to other folders are not followed."""
    try:
        metadata = _metadata(path)
        if metadata is None:
            if depth:
                return
            raise _no_store(path)
        if metadata["node_type"] == "array":
            yield Found(path, checked_shape(metadata.get("shape")), _element_type(metadata))
            return
    except (OSError, Unreadable) as error:
        yield unreadable(path, error)
        return
    if depth == DEEPEST:
        yield Found(path, problem=f"it lies in {DEEPEST} groups, and no more are looked into")
        return
    for entry in sorted(os.scandir(path), key=lambda each: each.name):
        if entry.is_dir(follow_symlinks=False):
            yield from arrays_of_store(entry.path, depth + 1)


def array_of_store(path: str) -> Found:
    """Return what the metadata of one array say; raise `OSError`, `Unreadable` if it is no array.

    Of a group, the error names the arrays.
    """
    metadata = _metadata(path)
    if metadata is None:
        raise _no_store(path)
    if metadata["node_type"] == "array":
        return Found(path, checked_shape(metadata.get("shape")), _element_type(metadata))
    names = [each.name.removeprefix(f"{path}/") for each in islice(arrays_of_store(path), 16)]
    raise Unreadable(f"it is a group of {', '.join(map(brief, names)) or 'no arrays'}; write {path}:NAME")


def _no_store(path: str) -> Unreadable:
    """Return the error for what is no store; raise `OSError` if it is not there."""
    if S_ISDIR(Path(path).stat().st_mode):
        return Unreadable(f"it is a folder, but not a Zarr store; name its files: {path.rstrip('/')}/*.npy")
    return Unreadable("it is not a .npy, .npz or .safetensors file, nor a Zarr store")


def _metadata(path: str) -> dict[str, Any] | None:
    """Return the metadata of an array or a group; None for a folder that is neither.

    Raises `OSError`, `Unreadable` if they cannot be used.
    """
    for node, version in NODES.items():
        try:
            data, size = first_bytes(f"{path}/{node}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        if size > LONGEST_METADATA:
            raise Unreadable(f"its metadata are longer than {LONGEST_METADATA} bytes, the most that are read")
        found = read_object(data if size == len(data) else first_bytes(f"{path}/{node}", size)[0])
        if found.get("zarr_format") != version:
            stated = brief(repr(found.get("zarr_format")))
            raise Unreadable(f"its format is version {stated}, and {node} is of {version}")
        if version == 2:
            found["node_type"] = "array" if node == ".zarray" else "group"
        if found.get("node_type") not in ("array", "group"):
            raise Unreadable("its metadata do not say whether it is an array or a group")
        return found
    return None


def _element_type(metadata: dict[str, Any]) -> str | None:
    """Return the name of the element type that metadata state; None if it is none of those that shapecalc names."""
    stated = metadata.get("data_type", metadata.get("dtype"))
    if not isinstance(stated, str):
        return None
    return stated if stated in KNOWN else NUMBERS.get(stated[1:], (None,))[0]
