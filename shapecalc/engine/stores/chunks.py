"""Chunks of a Zarr array as files: its own codecs encode and decode them, and they are on the disk before they count.

Zarr's arrays are written through copies, comparisons and an event loop that take longer than many codecs do. So whole
chunks are given to the codecs themselves, and what they make is written here.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from itertools import islice
from itertools import product as every
from pathlib import Path
from threading import local
from typing import Any
from zlib import crc32

import numpy as np

from shapecalc.core.record import Record
from shapecalc.engine.whole_files import sync_folders, write_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Sequence

    from shapecalc.engine.stores.boxes import Box

    Place = tuple[int, ...]
    """Which chunk of each axis."""

TOGETHER = 64
"""How many files are open at once at most."""
_own = local()


class Chunks(Record):
    """The chunks of an array, by their places; of a sharded array, the shards."""

    array: Any
    folder: Path
    spec: Any
    """What the codecs are told of a chunk."""

    def file(self, place: Place) -> Path:
        """Return the file of a chunk."""
        return Path(self.folder, self.array.metadata.encode_chunk_key(place))

    def places(self, box: Box) -> Iterator[Place]:
        """Yield the places of the chunks that a box goes through."""
        steps = zip(box, self.spec.shape, strict=True)
        yield from every(*[range(start // step, -(-stop // step)) for (start, stop), step in steps])

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Return a part of one chunk; raise what its codecs raise for a damaged one."""
        place = tuple([part.start // step for part, step in zip(slices, self.spec.shape, strict=True)])
        try:
            packed = np.fromfile(self.file(place), "B")
        except FileNotFoundError:
            return np.asarray(self.array[(*slices, ...)], self.array.dtype)  # nothing but fill values
        prototype = self.spec.prototype
        (whole,) = _done(self._codecs.decode([(prototype.buffer.from_array_like(packed), self.spec)]))
        begins = [at * step for at, step in zip(place, self.spec.shape, strict=True)]
        inside = [slice(part.start - at, part.stop - at) for part, at in zip(slices, begins, strict=True)]
        return whole.as_numpy_array()[(*inside, ...)]

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.array.dtype

    @property
    def _codecs(self) -> Any:
        return self.array._async_array.codec_pipeline

    def _encoded(self, part: Any) -> Any:
        """Return the bytes of a chunk; None if it holds nothing but fill values."""
        fill = self.array.fill_value
        if fill is not None and part.size and _is_full_of(part, np.asarray(fill, part.dtype)):
            return None
        if part.shape != self.spec.shape:
            whole = np.zeros(self.spec.shape, part.dtype)
            if fill is not None:
                whole[...] = fill
            whole[tuple([slice(size) for size in part.shape])] = part
            part = whole
        held = self.spec.prototype.nd_buffer.from_numpy_array(np.ascontiguousarray(part).reshape(self.spec.shape))
        (packed,) = _done(self._codecs.encode([(held, self.spec)]))
        return None if packed is None else packed.as_buffer_like()

    def write(self, parts: Iterable[tuple[Place, Any]]) -> tuple[int, int]:
        """Write chunks and return the checksum of their files and how many: each is on the disk, whole or not there.

        Raises `OSError` if that cannot be done.
        """
        checksum = count = 0

        def files() -> Iterator[tuple[Path, Any]]:
            nonlocal checksum
            for place, part in parts:
                data = self._encoded(part)
                if data is not None:
                    checksum = crc32(data, checksum)
                    yield self.file(place), data

        waiting = files()
        while done := write_together(islice(waiting, TOGETHER)):
            sync_folders(done, self.folder)
            count += len(done)
        return checksum, count


def chunks_of(array: Any, folder: Path) -> Chunks:
    """Return the chunks of a Zarr array that lies in a folder."""
    from zarr.core.array_spec import ArrayConfig
    from zarr.core.buffer import default_buffer_prototype

    config = ArrayConfig(order=array.order, write_empty_chunks=False)
    return Chunks(array, folder, array.metadata.get_chunk_spec((), config, default_buffer_prototype()))


def _is_full_of(part: Any, fill: Any) -> bool:
    """Say whether an array holds one value alone, byte for byte."""
    first = part[(slice(1),) * part.ndim]
    if first.tobytes() != fill.tobytes():
        return False
    held, width = np.ascontiguousarray(part).reshape(-1).view(np.uint8), part.itemsize
    return bool((held[width:] == held[:-width]).all())


@contextmanager
def running_codecs() -> Iterator[None]:
    """Let chunks be read and written on this thread meanwhile: codecs run on an event loop."""
    with asyncio.Runner() as _own.runner:
        yield


def _done(work: Coroutine[Any, Any, Any]) -> Any:
    return _own.runner.run(work)
