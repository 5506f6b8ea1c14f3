"""Arrays in stores: Zarr arrays in folders, and as inputs arrays in HDF5 and .npy files.

Of a Zarr array, all metadata that are not changed are carried over as they stand: element type, codecs, fill value,
attributes, order, separators. Zarr's arrays are written through copies, comparisons and an event loop that take longer
than many codecs do. So whole chunks are given to the array's own codecs, and what they make is written here: it is on
the disk before it counts.

Source: Zarr storage specification version 2; Zarr core specification version 3, with the codecs sharding and transpose.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import warnings
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from itertools import product as every
from math import gcd, prod
from pathlib import Path
from threading import local
from typing import Any
from zlib import crc32

import numpy as np

from shapecalc.core.limits import LONGEST_METADATA
from shapecalc.core.packages import missing
from shapecalc.core.record import Record
from shapecalc.core.text import path_and_member
from shapecalc.engine.arrays import FileError, open_array, raise_file_errors
from shapecalc.engine.headers import FOREIGN, Unreadable, first_bytes, read_object, reason_of, stamp, unreadable_on
from shapecalc.engine.stores.axis_map import AxisMap, Sizes
from shapecalc.engine.stores.plan import READ, rows_of
from shapecalc.engine.stores.regions import Region
from shapecalc.engine.whole_files import sync_folders, write_together, write_whole

ChunkIndex = tuple[int, ...]
"""Which chunk of each axis."""
_of_thread = local()
NAMES_OF_XARRAY = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray keeps the names of dimensions in version 2."""
SHARDING = "sharding_indexed"
BLOSC_LENGTH = slice(12, 16)
"""Where a chunk that Blosc has packed says how long it is. Source: README_CHUNK_FORMAT.rst of Blosc/c-blosc."""


class Metadata(Record):
    """The metadata of an array, by file."""

    version: int
    files: Mapping[str, Any]

    @property
    def main(self) -> dict[str, Any]:
        """What says its shape."""
        found: dict[str, Any] = self.files["zarr.json" if self.version == 3 else ".zarray"]
        return found

    @property
    def chunks(self) -> Sizes:
        """The chunks that files hold: of a sharded array, the shards."""
        grid = self.main.get("chunk_grid", {}).get("configuration", {}).get("chunk_shape")
        return tuple(grid if self.version == 3 else self.main["chunks"])

    @property
    def inner(self) -> Sizes | None:
        """The chunks inside a shard; None if the array is not sharded."""
        for codec in self.main.get("codecs", ()):
            if codec["name"] == SHARDING:
                return tuple(codec["configuration"]["chunk_shape"])
        return None


class Store(Record):
    """An array in a store, open: what it is and how it is read."""

    array: Any
    """What its library reads it by."""
    source: Any
    """What reads parts of one block by slices."""
    chunks: Sizes
    """What is decoded at once."""
    block: Sizes
    """What is read at once."""
    metadata: Metadata | None
    """Its metadata, if it is a Zarr array."""
    scratch: int = 0
    """The bytes of disk that it is unpacked to while it is open, where temporary files are."""


def state_of(text: str) -> str:
    """Return what tells a source from another one, and from itself after a change.

    That is a digest of the names, sizes and times of its files. Raises `FileError` if they cannot be listed.
    """
    digest = hashlib.sha256()
    try:
        for name, found in _files_of(place_of(text)):
            digest.update(os.fsencode(f"{name}\0{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}\n"))
    except OSError as error:
        raise FileError(f"{text}: {reason_of(error)}") from None
    return digest.hexdigest()[:32]


def _files_of(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of an array, folder by folder in the order of their names; a linked folder counts once."""
    if not root.is_dir():
        yield str(root), root.stat()
        return
    folders, linked = [str(root)], set[str]()
    while folders:
        with os.scandir(folders.pop()) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        for entry in entries:
            if not entry.is_dir():
                yield entry.path, entry.stat()
            elif not entry.is_symlink() or (real := os.path.realpath(entry.path)) not in linked:
                folders.append(entry.path)
                linked |= {real} if entry.is_symlink() else set()


def open_store(text: str) -> Store:
    """Return the store that a text names: `x.zarr:group/array`, `x.h5:/data`, `x.npy`; it stays open for the next call.

    Raises `FileError` if it cannot be used.
    """
    return _open_store(text, _stamp(place_of(text)))


def place_of(text: str) -> Path:
    """Return the folder of the array that a text names, or its file."""
    path, member = path_and_member(text)
    return Path(path, *member.split("/")) if path.endswith(".zarr") else Path(path)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what tells a file, or the metadata of an array, from others that had its name; nothing if it has none."""
    return next(filter(None, map(stamp, (path / "zarr.json", path / ".zarray", path))), ())


@lru_cache(maxsize=8)
def _open_store(text: str, _: tuple[int, ...]) -> Store:
    path, member = path_and_member(text)
    try:
        with raise_file_errors(text):
            if path.endswith(".zarr"):
                return _open_zarr(place_of(text))
            if path.endswith((".h5", ".hdf5")):
                return _open_hdf5(path, member)
        source = open_array(text)
    except ImportError as error:
        said = missing(error.name or "zarr", "h5py" if error.name == "h5py" else "zarr")
        raise FileError(f"{text}: {said}") from None
    scratch = source.array.nbytes if source.mapped is None else 0
    return _in_blocks(source.array, text, rows_of(source.shape, source.kind.itemsize), None, scratch)


def _open_zarr(folder: Path) -> Store:
    array = _zarr_array(str(folder), "r")
    if array.dtype.hasobject:
        raise Unreadable("it holds objects, which are not moved")
    metadata = read_metadata(folder)
    if 0 in metadata.chunks and 0 not in array.shape:
        raise Unreadable("its metadata give chunks that hold nothing")
    if metadata.inner is not None:
        return _in_blocks(array, str(folder), metadata.inner, metadata)
    return Store(array, chunks_of(array, folder), metadata.chunks, metadata.chunks, metadata)


def _open_hdf5(path: str, member: str) -> Store:
    import h5py

    with unreadable_on(FOREIGN):
        data = h5py.File(path, "r")[member]
        chunks = data.chunks or rows_of(data.shape, data.dtype.itemsize)
    return _in_blocks(data, path, chunks, None)


def _in_blocks(array: Any, where: str, chunks: Sizes, metadata: Metadata | None, scratch: int = 0) -> Store:
    """Return a store that its library reads, several small chunks at once."""
    block = block_of(chunks, array.shape, array.dtype.itemsize)
    return Store(array, Blocks(array, where), chunks, block, metadata, scratch)


def block_of(chunks: Sequence[int], shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return how much is read at once along each axis: whole chunks, up to `READ` bytes.

    >>> block_of((1, 512), (100, 4096), 4)
    (100, 4096)
    """
    block = list(chunks)
    for axis in reversed(range(len(block))):
        room = READ // max(1, prod(block) * itemsize)
        block[axis] = min(block[axis] * max(1, room), -(-shape[axis] // block[axis]) * block[axis])
    return tuple(block)


def create_store(folder: Path, source: Store, axis_map: AxisMap, chunks: Sizes) -> None:
    """Make the array that axis_map make of a source, without chunks yet; raise `OSError` if that cannot be done."""
    chunks = tuple([max(1, chunk) for chunk in chunks])
    if source.metadata is not None:
        write_metadata(folder, output_metadata(source.metadata, axis_map, chunks))
        return
    import zarr

    zarr.create_array(str(folder), shape=axis_map.output, dtype=source.array.dtype, chunks=chunks)


def open_to_write(folder: str) -> Chunks:
    """Return the chunks of a Zarr array to write; it stays open for the next call."""
    return _open_to_write(folder, _stamp(Path(folder)))


@lru_cache(maxsize=8)
def _open_to_write(folder: str, _: tuple[int, ...]) -> Chunks:
    return chunks_of(_zarr_array(folder, "r+"), Path(folder))


def _zarr_array(folder: str, mode: str) -> Any:
    """Return a Zarr array, open; what the library says of rare element types is nothing that this run could mend."""
    import zarr

    with warnings.catch_warnings(), unreadable_on(FOREIGN):
        warnings.simplefilter("ignore")
        return zarr.open_array(folder, mode=mode)


def read_metadata(folder: Path) -> Metadata:
    """Return the metadata of an array; raise `OSError`, `ValueError` if they cannot be used."""
    names, version = (["zarr.json"], 3) if (folder / "zarr.json").exists() else ([".zarray", ".zattrs"], 2)
    files = {}
    for name in names:
        if name != ".zattrs" or (folder / name).exists():
            files[name] = read_object(first_bytes(str(folder / name), LONGEST_METADATA)[0])
    return Metadata(version, files)


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write the metadata of an array into a folder of its own; raise `OSError` if that cannot be done.

    What says its shape is written last: where it is there, all of them are.
    """
    folder.mkdir(exist_ok=True)
    for name in sorted(metadata.files, reverse=True):
        write_whole(folder / name, json.dumps(metadata.files[name], indent=2).encode(), force=True)


def output_metadata(source: Metadata, axis_map: AxisMap, chunks: Sizes) -> Metadata:
    """Return the metadata of what axis_map make of an array, in these chunks; of a sharded array, shards."""
    main = {**source.main, "shape": [*axis_map.output]}
    files: dict[str, Any] = {**source.files}
    if source.version == 2:
        files[".zarray"] = main | {"chunks": [*chunks]}
        if NAMES_OF_XARRAY in files.get(".zattrs", {}):
            kept = _names_after(files[".zattrs"][NAMES_OF_XARRAY], axis_map)
            named = [name or f"dim_{axis}" for axis, name in enumerate(kept)]
            files[".zattrs"] = {**files[".zattrs"], NAMES_OF_XARRAY: named}
        return Metadata(2, files)
    main["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [*chunks]}}
    main["codecs"] = [_codec(codec, chunks, source.chunks) for codec in main["codecs"] if _fits(codec, len(chunks))]
    if main.get("dimension_names"):
        main["dimension_names"] = _names_after(main["dimension_names"], axis_map)
    return Metadata(3, {"zarr.json": main})


def _fits(codec: Mapping[str, Any], rank: int) -> bool:
    """Say whether a codec is one for arrays of a rank; a transpose is for one rank alone."""
    return bool(codec["name"] != "transpose" or len(codec["configuration"]["order"]) == rank)


def _codec(codec: Mapping[str, Any], shards: Sizes, before: Sizes) -> Mapping[str, Any]:
    """Return a codec for the output; shards hold about as many chunks as those of the source."""
    if codec["name"] != SHARDING:
        return codec
    own = codec["configuration"]
    inner = parts_of(shards, max(1, prod(before) // prod(own["chunk_shape"])))
    codecs = [each for each in own["codecs"] if _fits(each, len(shards))]
    return {**codec, "configuration": {**own, "chunk_shape": [*inner], "codecs": codecs}}


def parts_of(shape: Sizes, count: int) -> Sizes:
    """Return a shape that divides another into at most so many equal parts, from the first axis on.

    >>> parts_of((6, 4), 12), parts_of((7, 4), 4)
    ((1, 2), (7, 1))
    """
    parts = []
    for size in shape:
        cut = next(each for each in range(min(size, count), 0, -1) if gcd(each, size) == each)
        count //= cut
        parts.append(size // cut)
    return tuple(parts)


def _names_after(names: Sequence[str | None], axis_map: AxisMap) -> list[str | None]:
    """Return the names of the output's axes: those of the source's axes that are there as they were."""
    kept: list[str | None] = [None] * len(axis_map.output)
    for run in axis_map.runs:
        (one, *others), own = run.sources, run.outputs[0]
        if not others and one.size == axis_map.source[one.axis] and own.size == axis_map.output[own.axis]:
            kept[own.axis] = names[one.axis]
    return kept


class Written(Record):
    """What files hold: their checksum, CRC-32, how many they are, and their bytes."""

    checksum: int = 0
    files: int = 0
    size: int = 0

    def and_file(self, data: Any) -> Written:
        """Return the same with one more file."""
        return Written(crc32(data, self.checksum), self.files + 1, self.size + memoryview(data).nbytes)


class Blocks(Record):
    """An array that its library reads by slices, and where it lies."""

    array: Any
    where: str

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Return a part; raise `Unreadable` for a damaged one."""
        with unreadable_on(FOREIGN, where=self.where):
            return np.asarray(self.array[(*slices, ...)], self.dtype)

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.array.dtype


class Chunks(Record):
    """The chunks of an array, by their places; of a sharded array, the shards."""

    array: Any
    folder: Path
    spec: Any
    """What the codecs are told of a chunk."""

    def file(self, place: ChunkIndex) -> Path:
        """Return the file of a chunk."""
        return Path(self.folder, self.array.metadata.encode_chunk_key(place))

    def places(self, region: Region) -> Iterator[ChunkIndex]:
        """Yield the places of the chunks that a region goes through."""
        steps = zip(region, self.spec.shape, strict=True)
        yield from every(*[range(start // step, -(-stop // step)) for (start, stop), step in steps])

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Return a part of one chunk; raise `Unreadable` for a damaged one."""
        place = tuple([part.start // step for part, step in zip(slices, self.spec.shape, strict=True)])
        try:
            packed = np.fromfile(self.file(place), "B")
        except FileNotFoundError:
            return Blocks(self.array, str(self.folder))[slices]  # nothing but fill values
        # what Blosc unpacks goes on in memory behind a chunk that is cut
        is_blosc = type((None, *self.array.compressors)[-1]).__name__.startswith("Blosc")
        with unreadable_on(FOREIGN, where=str(self.file(place))):
            if is_blosc and (length := int.from_bytes(packed[BLOSC_LENGTH], "little")) != len(packed):
                raise ValueError(f"it holds {len(packed)} bytes, and Blosc packed it to {length}")
            buffer = self.spec.prototype.buffer.from_array_like(packed)
            (whole,) = _done(self._codecs.decode([(buffer, self.spec)]))
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
        buffer = self.spec.prototype.nd_buffer.from_numpy_array(np.ascontiguousarray(part).reshape(self.spec.shape))
        (packed,) = _done(self._codecs.encode([(buffer, self.spec)]))
        return None if packed is None else packed.as_buffer_like()

    def write(self, parts: Iterable[tuple[ChunkIndex, Any]]) -> Written:
        """Write chunks and return what their files hold: each is on the disk, whole or not there.

        Raises `OSError` if that cannot be done.
        """
        written = Written()

        def files() -> Iterator[tuple[Path, Any]]:
            nonlocal written
            for place, part in parts:
                data = self._encoded(part)
                if data is not None:
                    written = written.and_file(data)
                    yield self.file(place), data

        waiting = files()
        while done := write_together(islice(waiting, 64)):  # so many files are open at once
            sync_folders(done, self.folder)
        return written

    def held(self, region: Region) -> Written:
        """Return what the files of a region hold now."""
        held = Written()
        for place in self.places(region):
            with suppress(FileNotFoundError):
                held = held.and_file(self.file(place).read_bytes())
        return held


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
    stored, width = np.ascontiguousarray(part).reshape(-1).view(np.uint8), part.itemsize
    return bool((stored[width:] == stored[:-width]).all())


@contextmanager
def running_codecs() -> Iterator[None]:
    """Let chunks be read and written on this thread meanwhile: codecs run on an event loop.

    It ends without a thread of its own, which could not begin where there is no memory left.
    """
    _of_thread.loop = asyncio.new_event_loop()
    try:
        yield
    finally:
        _of_thread.loop.close()


def _done(work: Coroutine[Any, Any, Any]) -> Any:
    return _of_thread.loop.run_until_complete(work)
