"""Folders of arrays: what is found of each, from its header.

A file that cannot be read is a finding like any other, so that a folder is looked through to its end.
"""

from __future__ import annotations

from shapecalc.engine.headers import Found, npy_file, unreadable
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def found_in(text: str) -> Iterator[Found]:
    """Yield what is found of the arrays that a text names: of a file, a member of one, or a Zarr store.

    Nothing is raised: what cannot be read is found with its problem.
    """
    try:
        if not text:
            raise Unreadable("the name of a file is empty")
        if text.endswith(".npy"):
            yield npy_file(text)
        else:
            yield from _found_elsewhere(text)
    except (OSError, Unreadable) as error:
        yield unreadable(text, error)


def _found_elsewhere(text: str) -> Iterable[Found]:
    """Return the arrays of an archive, of a file of tensors, or of a store, for which anything else is taken."""
    path, _, member = (text, "", "") if text.endswith((".npz", ".safetensors")) else text.rpartition(":")
    if path.endswith(".npz"):
        from shapecalc.engine.archived_headers import arrays_of_archive

        return arrays_of_archive(path, member)
    if path.endswith(".safetensors"):
        from shapecalc.engine.safetensors_headers import tensors_of_file

        return tensors_of_file(path, member)
    from shapecalc.engine.zarr_headers import arrays_of_store

    return arrays_of_store(text)
