"""Arrays in stores: Zarr arrays, and as inputs also arrays of HDF5 and .npy files.

All metadata of a Zarr array that a chain does not change are copied: element type, codecs, fill value, attributes,
order, separators. Writing through Zarr's arrays costs copies, comparisons and an event loop, which take longer than
many codecs. Whole chunks are therefore encoded by the array's own codecs and written here, and each is flushed to the
disk before it counts.

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
"""The index of a chunk on each axis."""
_of_thread = local()
NAMES_OF_XARRAY = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray stores the names of dims in version 2."""
SHARDING = "sharding_indexed"
BLOSC_LENGTH = slice(12, 16)
"""The bytes of a Blosc chunk that state its compressed length.

Source: README_CHUNK_FORMAT.rst of Blosc/c-blosc.
"""


class Metadata(Record):
    """The metadata files of an array, parsed."""

    version: int
    files: Mapping[str, Any]

    @property
    def main(self) -> dict[str, Any]:
        """The metadata that state the shape."""
        document: dict[str, Any] = self.files["zarr.json" if self.version == 3 else ".zarray"]
        return document

    @property
    def chunks(self) -> Sizes:
        """The shape of the chunks in files; of a sharded array, the shards."""
        grid = self.main.get("chunk_grid", {}).get("configuration", {}).get("chunk_shape")
        return tuple(grid if self.version == 3 else self.main["chunks"])

    @property
    def inner(self) -> Sizes | None:
        """The shape of the chunks in a shard; None if the array is not sharded."""
        for codec in self.main.get("codecs", ()):
            if codec["name"] == SHARDING:
                return tuple(codec["configuration"]["chunk_shape"])
        return None


class Store(Record):
    """An open array in a store."""

    array: Any
    """The array of its library."""
    source: Any
    """The reader of slices that are within one block."""
    chunks: Sizes
    """The shape that is decoded at once."""
    block: Sizes
    """The shape that is read at once."""
    metadata: Metadata | None
    """The metadata of a Zarr array."""
    scratch: int = 0
    """The bytes of the scratch file to which the array is unpacked while it is open."""


def state_of(text: str) -> str:
    """Return a digest of the names, sizes and times of the files of a source.

    It differs between sources, and after a change. Raises `FileError` if the files cannot be listed.
    """
    digest = hashlib.sha256()
    try:
        for name, status in _files_of(place_of(text)):
            digest.update(os.fsencode(f"{name}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n"))
    except OSError as error:
        raise FileError(f"{text}: {reason_of(error)}") from None
    return digest.hexdigest()[:32]


def _files_of(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of an array in a fixed order.

    A folder that is linked several times is listed once.
    """
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
    """Open the store of a text: `x.zarr:group/array`, `x.h5:/data`, `x.npy`.

    An open store is cached. Raises `FileError` if it cannot be used.
    """
    return _open_store(text, _stamp(place_of(text)))


def place_of(text: str) -> Path:
    """Return the folder of the array that a text names, or its file."""
    path, member = path_and_member(text)
    return Path(path, *member.split("/")) if path.endswith(".zarr") else Path(path)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return the stamp of a file, or of the metadata of an array.

    Returns an empty tuple if neither exists.
    """
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
        problem = missing(error.name or "zarr", "h5py" if error.name == "h5py" else "zarr")
        raise FileError(f"{text}: {problem}") from None
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
    """Return a store whose library reads several small chunks at once."""
    block = block_of(chunks, array.shape, array.dtype.itemsize)
    return Store(array, Blocks(array, where), chunks, block, metadata, scratch)


def block_of(chunks: Sequence[int], shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the shape that is read at once: whole chunks, up to `READ_BLOCK_BYTES`.

    >>> block_of((1, 512), (100, 4096), 4)
    (100, 4096)
    """
    block = list(chunks)
    for axis in reversed(range(len(block))):
        room = READ // max(1, prod(block) * itemsize)
        block[axis] = min(block[axis] * max(1, room), -(-shape[axis] // block[axis]) * block[axis])
    return tuple(block)


def create_store(folder: Path, source: Store, axis_map: AxisMap, chunks: Sizes) -> None:
    """Create the output array of a map, without chunks.

    Raises `OSError` if it cannot be written.
    """
    chunks = tuple([max(1, chunk) for chunk in chunks])
    if source.metadata is not None:
        write_metadata(folder, output_metadata(source.metadata, axis_map, chunks))
        return
    import zarr

    zarr.create_array(str(folder), shape=axis_map.output, dtype=source.array.dtype, chunks=chunks)


def open_to_write(folder: str) -> Chunks:
    """Open the chunks of a Zarr array for writing; an open array is cached."""
    return _open_to_write(folder, _stamp(Path(folder)))


@lru_cache(maxsize=8)
def _open_to_write(folder: str, _: tuple[int, ...]) -> Chunks:
    return chunks_of(_zarr_array(folder, "r+"), Path(folder))


def _zarr_array(folder: str, mode: str) -> Any:
    """Open a Zarr array, without the library's warnings about rare element types."""
    import zarr

    with warnings.catch_warnings(), unreadable_on(FOREIGN):
        warnings.simplefilter("ignore")
        return zarr.open_array(folder, mode=mode)


def read_metadata(folder: Path) -> Metadata:
    """Read the metadata of an array; raise `OSError` or `ValueError`."""
    names, version = (["zarr.json"], 3) if (folder / "zarr.json").exists() else ([".zarray", ".zattrs"], 2)
    files = {}
    for name in names:
        if name != ".zattrs" or (folder / name).exists():
            files[name] = read_object(first_bytes(str(folder / name), LONGEST_METADATA)[0])
    return Metadata(version, files)


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write the metadata of an array into its folder; raise `OSError` if that fails.

    The file that states the shape is written last: if it exists, all of them do.
    """
    folder.mkdir(exist_ok=True)
    for name in sorted(metadata.files, reverse=True):
        write_whole(folder / name, json.dumps(metadata.files[name], indent=2).encode(), force=True)


def output_metadata(source: Metadata, axis_map: AxisMap, chunks: Sizes) -> Metadata:
    """Return the metadata of the output of a map, with the given chunks or shards."""
    main = {**source.main, "shape": [*axis_map.output]}
    files: dict[str, Any] = {**source.files}
    if source.version == 2:
        files[".zarray"] = main | {"chunks": [*chunks]}
        if NAMES_OF_XARRAY in files.get(".zattrs", {}):
            names = _names_after(files[".zattrs"][NAMES_OF_XARRAY], axis_map)
            all_names = [name or f"dim_{axis}" for axis, name in enumerate(names)]
            files[".zattrs"] = {**files[".zattrs"], NAMES_OF_XARRAY: all_names}
        return Metadata(2, files)
    main["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [*chunks]}}
    main["codecs"] = [_codec(codec, chunks, source.chunks) for codec in main["codecs"] if _fits(codec, len(chunks))]
    if main.get("dimension_names"):
        main["dimension_names"] = _names_after(main["dimension_names"], axis_map)
    return Metadata(3, {"zarr.json": main})


def _fits(codec: Mapping[str, Any], rank: int) -> bool:
    """Return whether a codec supports a rank; a transpose supports one rank only."""
    return bool(codec["name"] != "transpose" or len(codec["configuration"]["order"]) == rank)


def _codec(codec: Mapping[str, Any], shards: Sizes, before: Sizes) -> Mapping[str, Any]:
    """Return a codec for the output.

    Output shards have about as many chunks as those of the source.
    """
    if codec["name"] != SHARDING:
        return codec
    configuration = codec["configuration"]
    inner = parts_of(shards, max(1, prod(before) // prod(configuration["chunk_shape"])))
    codecs = [inner_codec for inner_codec in configuration["codecs"] if _fits(inner_codec, len(shards))]
    return {**codec, "configuration": {**configuration, "chunk_shape": [*inner], "codecs": codecs}}


def parts_of(shape: Sizes, count: int) -> Sizes:
    """Divide a shape into at most `count` equal parts, from the first axis on.

    >>> parts_of((6, 4), 12), parts_of((7, 4), 4)
    ((1, 2), (7, 1))
    """
    parts = []
    for size in shape:
        divisor = next(divisor for divisor in range(min(size, count), 0, -1) if gcd(divisor, size) == divisor)
        count //= divisor
        parts.append(size // divisor)
    return tuple(parts)


def _names_after(names: Sequence[str | None], axis_map: AxisMap) -> list[str | None]:
    """Return the names of output axes that are whole source axes; None for others."""
    names_out: list[str | None] = [None] * len(axis_map.output)
    for run in axis_map.runs:
        (source, *more), output = run.sources, run.outputs[0]
        if not more and source.size == axis_map.source[source.axis] and output.size == axis_map.output[output.axis]:
            names_out[output.axis] = names[source.axis]
    return names_out


class Written(Record):
    """A summary of written files: CRC-32, number, bytes."""

    checksum: int = 0
    files: int = 0
    size: int = 0

    def and_file(self, data: Any) -> Written:
        """Return the summary with one more file."""
        return Written(crc32(data, self.checksum), self.files + 1, self.size + memoryview(data).nbytes)


class Blocks(Record):
    """An array that its library reads by slices."""

    array: Any
    where: str

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Read a part; raise `UnreadableError` if it is damaged."""
        with unreadable_on(FOREIGN, where=self.where):
            return np.asarray(self.array[(*slices, ...)], self.dtype)

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.array.dtype


class Chunks(Record):
    """The chunks of a Zarr array; of a sharded array, the shards."""

    array: Any
    folder: Path
    spec: Any
    """The description of a chunk for the codecs."""

    def file(self, place: ChunkIndex) -> Path:
        """Return the path of a chunk."""
        return Path(self.folder, self.array.metadata.encode_chunk_key(place))

    def places(self, region: Region) -> Iterator[ChunkIndex]:
        """Yield the indices of the chunks that a region overlaps."""
        steps = zip(region, self.spec.shape, strict=True)
        yield from every(*[range(start // step, -(-stop // step)) for (start, stop), step in steps])

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Read a part of one chunk; raise `UnreadableError` if it is damaged."""
        index = tuple([part.start // step for part, step in zip(slices, self.spec.shape, strict=True)])
        try:
            packed = np.fromfile(self.file(index), "B")
        except FileNotFoundError:
            return Blocks(self.array, str(self.folder))[slices]  # only fill values
        # Blosc reads past the end of a truncated chunk
        is_blosc = type((None, *self.array.compressors)[-1]).__name__.startswith("Blosc")
        with unreadable_on(FOREIGN, where=str(self.file(index))):
            if is_blosc and (length := int.from_bytes(packed[BLOSC_LENGTH], "little")) != len(packed):
                raise ValueError(f"it holds {len(packed)} bytes, and Blosc packed it to {length}")
            buffer = self.spec.prototype.buffer.from_array_like(packed)
            (whole,) = _done(self._codecs.decode([(buffer, self.spec)]))
        starts = [number * step for number, step in zip(index, self.spec.shape, strict=True)]
        inside = [slice(part.start - start, part.stop - start) for part, start in zip(slices, starts, strict=True)]
        return whole.as_numpy_array()[(*inside, ...)]

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.array.dtype

    @property
    def _codecs(self) -> Any:
        return self.array._async_array.codec_pipeline

    def _encoded(self, part: Any) -> Any:
        """Encode a chunk; return None if it only has fill values."""
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
        """Write chunks atomically, and return a summary of their files.

        Every file is on the disk when it has its name. Raises `OSError` if a file cannot be written.
        """
        written = Written()

        def files() -> Iterator[tuple[Path, Any]]:
            nonlocal written
            for index, part in parts:
                data = self._encoded(part)
                if data is not None:
                    written = written.and_file(data)
                    yield self.file(index), data

        pending = files()
        while paths := write_together(islice(pending, 64)):  # bounds the number of open files
            sync_folders(paths, self.folder)
        return written

    def held(self, region: Region) -> Written:
        """Return a summary of the existing files of a region."""
        summary = Written()
        for index in self.places(region):
            with suppress(FileNotFoundError):
                summary = summary.and_file(self.file(index).read_bytes())
        return summary


def chunks_of(array: Any, folder: Path) -> Chunks:
    """Return the chunks of a Zarr array in a folder."""
    from zarr.core.array_spec import ArrayConfig
    from zarr.core.buffer import default_buffer_prototype

    config = ArrayConfig(order=array.order, write_empty_chunks=False)
    return Chunks(array, folder, array.metadata.get_chunk_spec((), config, default_buffer_prototype()))


def _is_full_of(part: Any, fill: Any) -> bool:
    """Return whether every element of an array equals a value, byte for byte."""
    first = part[(slice(1),) * part.ndim]
    if first.tobytes() != fill.tobytes():
        return False
    stored, width = np.ascontiguousarray(part).reshape(-1).view(np.uint8), part.itemsize
    return bool((stored[width:] == stored[:-width]).all())


@contextmanager
def running_codecs() -> Iterator[None]:
    """Run an event loop for the codecs on this thread, inside a block.

    `asyncio.run` is not usable: it starts a thread at its end, which fails if the memory is used up.
    """
    _of_thread.loop = asyncio.new_event_loop()
    try:
        yield
    finally:
        _of_thread.loop.close()


def _done(work: Coroutine[Any, Any, Any]) -> Any:
    return _of_thread.loop.run_until_complete(work)
