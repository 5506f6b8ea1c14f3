"""Inputs that hold an array: files, and stores, of which only the metadata are read here."""

from __future__ import annotations

from pathlib import Path

from shapecalc.core.text import brief
from shapecalc.engine.files import STORES, Source, open_array, raise_file_errors, split_store, unreadable_on
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np


def open_source(text: str) -> Source:
    """Return the array that a text names, in a file or in a store: `x.npy`, `x.zarr:group/array`, `x.h5:/data`.

    Raises `FileError` if it cannot be used.
    """
    if not split_store(text)[0].endswith(STORES):
        return open_array(text)
    with raise_file_errors(text):
        return _store_source(text)


def _store_source(text: str) -> Source:
    """Return an array in a store, whose elements are read by `engine/stores` alone; raise `Unreadable`, `OSError`."""
    import numpy as np

    path, member = split_store(text)
    if ".." in member.split("/"):
        raise Unreadable("the name of an array leads out of its store")
    if path.endswith(".zarr"):
        from shapecalc.engine.zarr_headers import array_of_store

        found = array_of_store("/".join([path, *([member] if member else [])]))
        shape, kind = found.shape, np.dtype(found.dtype if found.dtype in np.sctypeDict else "V1")
    else:
        shape, kind = _hdf5_header(path, member)

    def load() -> Any:
        raise Unreadable("the elements of a store are carried from store to store: -o OUT.zarr")

    return Source(text, Path(path), shape, kind, load)


def _hdf5_header(path: str, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the element type of an array in an HDF5 file."""
    try:
        import h5py
    except ImportError:
        raise Unreadable("h5py is not installed; pip install 'shapecalc[h5py]'") from None
    with unreadable_on(ValueError, TypeError), h5py.File(path, "r") as file:
        found = file.get(member) if member else None
        if isinstance(found, h5py.Dataset):
            return found.shape, found.dtype
        names = [*file][:16]
    raise Unreadable(f"it has {', '.join(map(brief, names))}; write {path}:/NAME")
