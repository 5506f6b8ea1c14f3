"""Arrays in stores: Zarr for input and output, HDF5 and .npy only for input.

The metadata of the output are copied from a Zarr source, except for the shape, the chunks and the names of dims.
Writing through the Zarr library's arrays involves copies, comparisons and an event loop, which take longer than many
codecs. This module therefore encodes whole chunks with the array's codecs and writes the files itself. A chunk is
flushed to the disk before its task is logged as finished.

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

from shapecalc.core.dims import IntTuple
from shapecalc.core.limits import MAX_ZARR_METADATA_BYTES
from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import error_reason
from shapecalc.core.record import Record
from shapecalc.core.text import split_file_argument
from shapecalc.engine.arrays import FileError, convert_to_file_error, open_array
from shapecalc.engine.atomic_files import write_atomically, write_files
from shapecalc.engine.headers import (
    LIBRARY_ERRORS,
    UnreadableError,
    convert_to_unreadable_error,
    parse_json_object,
    read_file_stamp,
    read_first_bytes,
)
from shapecalc.engine.stores.axis_map import AxisMap
from shapecalc.engine.stores.plan import READ_BLOCK_BYTES, choose_row_chunks
from shapecalc.engine.stores.regions import Region

ChunkIndex = tuple[int, ...]
"""The index of a chunk in the grid of chunks."""
_thread_state = local()
XARRAY_DIMS_ATTRIBUTE = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray stores the names of the dims in Zarr version 2."""
SHARDING_CODEC = "sharding_indexed"
BLOSC_LENGTH = slice(12, 16)
"""The bytes of a Blosc chunk header that contain the compressed length.

Source: README_CHUNK_FORMAT.rst of Blosc/c-blosc.
"""


class ArrayMetadata(Record):
    """The metadata files of a Zarr array, parsed."""

    version: int
    files: Mapping[str, Any]

    @property
    def document(self) -> dict[str, Any]:
        """The parsed metadata file that contains the shape."""
        document: dict[str, Any] = self.files["zarr.json" if self.version == 3 else ".zarray"]
        return document

    @property
    def chunks(self) -> IntTuple:
        """The shape of the chunks, or of the shards of a sharded array."""
        grid = self.document.get("chunk_grid", {}).get("configuration", {}).get("chunk_shape")
        return tuple(grid if self.version == 3 else self.document["chunks"])

    @property
    def inner_chunks(self) -> IntTuple | None:
        """The shape of the chunks in a shard, or None if the array is not sharded."""
        for codec in self.document.get("codecs", ()):
            if codec["name"] == SHARDING_CODEC:
                return tuple(codec["configuration"]["chunk_shape"])
        return None


class StoredArray(Record):
    """An open array of a store, with the functions that read and write it."""

    array: Any
    """The array, as an object of the library that opened the store."""
    reader: Any
    """The object that reads slices of the array; each slice must be within one block."""
    chunks: IntTuple
    """The shape of a chunk, which can only be decoded as a whole."""
    block: IntTuple
    """The shape of a block of chunks, which is read as a whole."""
    metadata: ArrayMetadata | None
    """The metadata of a Zarr array, or None for other formats."""
    scratch_bytes: int = 0
    """The size, in bytes, of the scratch file that holds the unpacked array; 0 if there is none."""


def compute_source_digest(location: str) -> str:
    """Return a digest of the file names, file sizes and timestamps of a source.

    A changed digest means that the source was replaced or modified. Raises `FileError` if the files cannot be listed.
    """
    digest = hashlib.sha256()
    try:
        for name, status in _iter_files(store_path(location)):
            digest.update(os.fsencode(f"{name}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n"))
    except OSError as error:
        raise FileError(f"{location}: {error_reason(error)}") from None
    return digest.hexdigest()[:32]


def _iter_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and the status of each file of an array, in a fixed order.

    A folder to which several symbolic links point is listed once. A file or folder that is removed in the meantime is
    skipped.
    """
    if not root.is_dir():
        yield str(root), root.stat()
        return
    folders, linked = [str(root)], set[str]()
    while folders:
        entries = list[os.DirEntry[str]]()
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        for entry in entries:
            if not entry.is_dir():
                with suppress(FileNotFoundError):
                    yield entry.path, entry.stat()
            elif not entry.is_symlink() or (real := os.path.realpath(entry.path)) not in linked:
                folders.append(entry.path)
                linked |= {real} if entry.is_symlink() else set()


def open_store(location: str) -> StoredArray:
    """Open an array, such as `x.zarr:group/array`, `x.h5:/data` or `x.npy`.

    An open store is cached. Raises `FileError` if the array cannot be used.
    """
    return _open_store(location, _read_store_stamp(store_path(location)))


def store_path(location: str) -> Path:
    """Return the path of the array folder, or of the file that contains the array."""
    path, member = split_file_argument(location)
    return Path(path, *member.split("/")) if path.endswith(".zarr") else Path(path)


def _read_store_stamp(path: Path) -> tuple[int, ...]:
    """Return the stamp of a file, or that of an array folder's metadata file.

    A stamp is the result of `read_file_stamp`. Returns an empty tuple if neither file exists.
    """
    return next(filter(None, map(read_file_stamp, (path / "zarr.json", path / ".zarray", path))), ())


@lru_cache(maxsize=8)
def _open_store(location: str, _stamp: tuple[int, ...]) -> StoredArray:
    path, member = split_file_argument(location)
    try:
        with convert_to_file_error(location):
            if path.endswith(".zarr"):
                return _open_zarr(store_path(location))
            if path.endswith((".h5", ".hdf5")):
                return _open_hdf5(path, member)
        source = open_array(location)
    except ImportError as error:
        problem = missing_package_message(error.name or "zarr", "h5py" if error.name == "h5py" else "zarr")
        raise FileError(f"{location}: {problem}") from None
    scratch = source.array.nbytes if source.mapped_file is None else 0
    return _make_block_store(
        source.array, location, choose_row_chunks(source.shape, source.numpy_dtype.itemsize), None, scratch
    )


def _open_zarr(folder: Path) -> StoredArray:
    array = _open_zarr_array(str(folder), "r")
    if array.dtype.hasobject:
        raise UnreadableError("it holds objects, which are not moved")
    metadata = read_metadata(folder)
    if 0 in metadata.chunks and 0 not in array.shape:
        raise UnreadableError("its metadata give chunks that hold nothing")
    if metadata.inner_chunks is not None:
        return _make_block_store(array, str(folder), metadata.inner_chunks, metadata)
    return StoredArray(array, make_zarr_chunks(array, folder), metadata.chunks, metadata.chunks, metadata)


def _open_hdf5(path: str, member: str) -> StoredArray:
    import h5py

    with convert_to_unreadable_error(LIBRARY_ERRORS):
        data = h5py.File(path, "r")[member]
        chunks = data.chunks or choose_row_chunks(data.shape, data.dtype.itemsize)
    return _make_block_store(data, path, chunks, None)


def _make_block_store(
    array: Any, path: str, chunks: IntTuple, metadata: ArrayMetadata | None, scratch: int = 0
) -> StoredArray:
    """Create a store that is read in blocks of several chunks."""
    block = choose_block_shape(chunks, array.shape, array.dtype.itemsize)
    return StoredArray(array, SliceReader(array, path), chunks, block, metadata, scratch)


def choose_block_shape(chunks: Sequence[int], shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Choose the shape of a block: whole chunks of up to `READ_BLOCK_BYTES`.

    >>> choose_block_shape((1, 512), (100, 4096), 4)
    (100, 4096)
    """
    block = list(chunks)
    for axis in reversed(range(len(block))):
        room = READ_BLOCK_BYTES // max(1, prod(block) * itemsize)
        block[axis] = min(block[axis] * max(1, room), -(-shape[axis] // block[axis]) * block[axis])
    return tuple(block)


def create_store(folder: Path, source: StoredArray, axis_map: AxisMap, chunks: IntTuple) -> None:
    """Create the output array of an axis map by writing its metadata.

    Raises `OSError` if the metadata cannot be written.
    """
    chunks = tuple([max(1, chunk) for chunk in chunks])
    if source.metadata is not None:
        write_metadata(folder, derive_output_metadata(source.metadata, axis_map, chunks))
        return
    import zarr

    zarr.create_array(str(folder), shape=axis_map.output_shape, dtype=source.array.dtype, chunks=chunks)


def open_chunks(folder: str) -> ZarrChunks:
    """Open a Zarr array for writing its chunk files.

    An open array is cached.
    """
    return _open_chunks(folder, _read_store_stamp(Path(folder)))


@lru_cache(maxsize=8)
def _open_chunks(folder: str, _stamp: tuple[int, ...]) -> ZarrChunks:
    return make_zarr_chunks(_open_zarr_array(folder, "r+"), Path(folder))


def _open_zarr_array(folder: str, mode: str) -> Any:
    """Open a Zarr array, without the library's warnings about rare element types."""
    import zarr

    with warnings.catch_warnings(), convert_to_unreadable_error(LIBRARY_ERRORS):
        warnings.simplefilter("ignore")
        return zarr.open_array(folder, mode=mode)


def read_metadata(folder: Path) -> ArrayMetadata:
    """Read the metadata of a Zarr array.

    Raises `OSError` if a file cannot be read, `ValueError` if a file is invalid.
    """
    names, version = (["zarr.json"], 3) if (folder / "zarr.json").exists() else ([".zarray", ".zattrs"], 2)
    files = {}
    for name in names:
        if name != ".zattrs" or (folder / name).exists():
            files[name] = parse_json_object(read_first_bytes(str(folder / name), MAX_ZARR_METADATA_BYTES)[0])
    return ArrayMetadata(version, files)


def write_metadata(folder: Path, metadata: ArrayMetadata) -> None:
    """Write the metadata files of an array.

    The file that contains the shape is written last: if it exists, the metadata are complete. Raises `OSError` if a
    file cannot be written.
    """
    folder.mkdir(exist_ok=True)
    for name in sorted(metadata.files, reverse=True):
        write_atomically(folder / name, json.dumps(metadata.files[name], indent=2).encode(), force=True)


def derive_output_metadata(source: ArrayMetadata, axis_map: AxisMap, chunks: IntTuple) -> ArrayMetadata:
    """Derive the metadata of the output array from those of the source.

    `chunks` is the shape of an output chunk or, if the array is sharded, of an output shard.
    """
    main = {**source.document, "shape": [*axis_map.output_shape]}
    files: dict[str, Any] = {**source.files}
    if source.version == 2:
        files[".zarray"] = main | {"chunks": [*chunks]}
        if XARRAY_DIMS_ATTRIBUTE in files.get(".zattrs", {}):
            names = _output_axis_names(files[".zattrs"][XARRAY_DIMS_ATTRIBUTE], axis_map)
            all_names = [name or f"dim_{axis}" for axis, name in enumerate(names)]
            files[".zattrs"] = {**files[".zattrs"], XARRAY_DIMS_ATTRIBUTE: all_names}
        return ArrayMetadata(2, files)
    main["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [*chunks]}}
    main["codecs"] = [
        _output_codec(codec, chunks, source.chunks) for codec in main["codecs"] if _supports_rank(codec, len(chunks))
    ]
    if main.get("dimension_names"):
        main["dimension_names"] = _output_axis_names(main["dimension_names"], axis_map)
    return ArrayMetadata(3, {"zarr.json": main})


def _supports_rank(codec: Mapping[str, Any], rank: int) -> bool:
    """Return whether a codec can encode chunks of a given rank.

    The codec `transpose` supports only one rank.
    """
    return bool(codec["name"] != "transpose" or len(codec["configuration"]["order"]) == rank)


def _output_codec(codec: Mapping[str, Any], shards: IntTuple, source_shards: IntTuple) -> Mapping[str, Any]:
    """Return the codec of the output that corresponds to a codec of the source.

    An output shard has about as many chunks as a source shard.
    """
    if codec["name"] != SHARDING_CODEC:
        return codec
    configuration = codec["configuration"]
    inner = divide_shape(shards, max(1, prod(source_shards) // prod(configuration["chunk_shape"])))
    codecs = [inner_codec for inner_codec in configuration["codecs"] if _supports_rank(inner_codec, len(shards))]
    return {**codec, "configuration": {**configuration, "chunk_shape": [*inner], "codecs": codecs}}


def divide_shape(shape: IntTuple, count: int) -> IntTuple:
    """Return the shape of at most `count` chunks that divide an array of `shape`.

    The first axes are divided first.

    >>> divide_shape((6, 4), 12), divide_shape((7, 4), 4)
    ((1, 2), (7, 1))
    """
    parts = []
    for size in shape:
        divisor = next(divisor for divisor in range(min(size, count), 0, -1) if gcd(divisor, size) == divisor)
        count //= divisor
        parts.append(size // divisor)
    return tuple(parts)


def _output_axis_names(names: Sequence[str | None], axis_map: AxisMap) -> list[str | None]:
    """Return the name of each output axis, or None if an axis has no name.

    An output axis has the name of a source axis if it contains all indices of that axis, and no others.
    """
    names_out: list[str | None] = [None] * len(axis_map.output_shape)
    for run in axis_map.groups:
        (source, *more), output = run.sources, run.outputs[0]
        if (
            not more
            and source.size == axis_map.source_shape[source.axis]
            and output.size == axis_map.output_shape[output.axis]
        ):
            names_out[output.axis] = names[source.axis]
    return names_out


class WriteSummary(Record):
    """A summary of written files: their combined CRC-32, number and total bytes."""

    checksum: int = 0
    file_count: int = 0
    byte_count: int = 0

    def with_file(self, data: Any) -> WriteSummary:
        """Return the summary with the data of one more file included."""
        return WriteSummary(crc32(data, self.checksum), self.file_count + 1, self.byte_count + memoryview(data).nbytes)


class SliceReader(Record):
    """A reader of slices of an array.

    The library's errors are converted to `UnreadableError`.
    """

    array: Any
    path: str

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Read a slice of the array.

        Raises `UnreadableError` if the data in the slice are damaged.
        """
        with convert_to_unreadable_error(LIBRARY_ERRORS, path=self.path):
            return np.asarray(self.array[(*slices, ...)], self.dtype)

    @property
    def dtype(self) -> Any:
        """The element type of the array."""
        return self.array.dtype


class ZarrChunks(Record):
    """The chunk files of a Zarr array or, if it is sharded, its shard files."""

    array: Any
    folder: Path
    spec: Any
    """The chunk specification that the codecs require."""

    def chunk_path(self, index: ChunkIndex) -> Path:
        """Return the path of a chunk."""
        return Path(self.folder, self.array.metadata.encode_chunk_key(index))

    def chunk_indices(self, region: Region) -> Iterator[ChunkIndex]:
        """Yield the index of each chunk that a region overlaps."""
        steps = zip(region, self.spec.shape, strict=True)
        yield from every(*[range(start // step, -(-stop // step)) for (start, stop), step in steps])

    def __getitem__(self, slices: Sequence[slice]) -> Any:
        """Read a slice of one chunk.

        Raises `UnreadableError` if the chunk is damaged.
        """
        index = tuple([part.start // step for part, step in zip(slices, self.spec.shape, strict=True)])
        try:
            packed = np.fromfile(self.chunk_path(index), "B")
        except FileNotFoundError:
            return SliceReader(self.array, str(self.folder))[slices]  # a missing chunk contains only fill values
        # Blosc reads past the end of a truncated chunk
        is_blosc = type((None, *self.array.compressors)[-1]).__name__.startswith("Blosc")
        with convert_to_unreadable_error(LIBRARY_ERRORS, path=str(self.chunk_path(index))):
            if is_blosc and (length := int.from_bytes(packed[BLOSC_LENGTH], "little")) != len(packed):
                raise ValueError(f"it holds {len(packed)} bytes, and Blosc packed it to {length}")
            buffer = self.spec.prototype.buffer.from_array_like(packed)
            (whole,) = _run_coroutine(self._codecs.decode([(buffer, self.spec)]))
        starts = [number * step for number, step in zip(index, self.spec.shape, strict=True)]
        inside = [slice(part.start - start, part.stop - start) for part, start in zip(slices, starts, strict=True)]
        return whole.as_numpy_array()[(*inside, ...)]

    @property
    def dtype(self) -> Any:
        """The element type of the array."""
        return self.array.dtype

    @property
    def _codecs(self) -> Any:
        return self.array._async_array.codec_pipeline

    def _encode(self, chunk: Any) -> Any:
        """Encode a chunk, or return None if it contains only fill values."""
        fill = self.array.fill_value
        if fill is not None and chunk.size and _is_filled_with(chunk, np.asarray(fill, chunk.dtype)):
            return None
        if chunk.shape != self.spec.shape:
            whole = np.zeros(self.spec.shape, chunk.dtype)
            if fill is not None:
                whole[...] = fill
            whole[tuple([slice(size) for size in chunk.shape])] = chunk
            chunk = whole
        buffer = self.spec.prototype.nd_buffer.from_numpy_array(np.ascontiguousarray(chunk).reshape(self.spec.shape))
        (packed,) = _run_coroutine(self._codecs.encode([(buffer, self.spec)]))
        return None if packed is None else packed.as_buffer_like()

    def write(self, chunks: Iterable[tuple[ChunkIndex, Any]]) -> WriteSummary:
        """Write chunks atomically, and return a summary of their files.

        Each file is flushed to the disk before it gets its final name. Raises `OSError` if a file cannot be written.
        """
        written = WriteSummary()

        def iter_files() -> Iterator[tuple[Path, Any]]:
            nonlocal written
            for index, part in chunks:
                data = self._encode(part)
                if data is not None:
                    written = written.with_file(data)
                    yield self.chunk_path(index), data

        pending = iter_files()
        while write_files(islice(pending, 64), self.folder):  # in batches, so that few files are open at a time
            pass
        return written

    def summarize_files(self, region: Region) -> WriteSummary:
        """Return a summary of the existing chunk files that overlap a region."""
        summary = WriteSummary()
        for index in self.chunk_indices(region):
            with suppress(FileNotFoundError):
                summary = summary.with_file(self.chunk_path(index).read_bytes())
        return summary


def make_zarr_chunks(array: Any, folder: Path) -> ZarrChunks:
    """Return the object that reads and writes the chunk files of a Zarr array."""
    from zarr.core.array_spec import ArrayConfig
    from zarr.core.buffer import default_buffer_prototype

    config = ArrayConfig(order=array.order, write_empty_chunks=False)
    return ZarrChunks(array, folder, array.metadata.get_chunk_spec((), config, default_buffer_prototype()))


def _is_filled_with(array: Any, value: Any) -> bool:
    """Return whether every element of an array has the same bytes as a value."""
    first = array[(slice(1),) * array.ndim]
    if first.tobytes() != value.tobytes():
        return False
    stored, width = np.ascontiguousarray(array).reshape(-1).view(np.uint8), array.itemsize
    return bool((stored[width:] == stored[:-width]).all())


@contextmanager
def run_codec_loop() -> Iterator[None]:
    """Run an event loop for the codecs on this thread, in a `with` block.

    `asyncio.run` would start a thread at its end, which fails if the memory is exhausted.
    """
    _thread_state.loop = asyncio.new_event_loop()
    try:
        yield
    finally:
        _thread_state.loop.close()


def _run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return _thread_state.loop.run_until_complete(coroutine)
