"""The metadata of Zarr arrays: what they say of one, and those of an output made of those of its source.

All that is not changed is carried over as it stands: element type, codecs, fill value, attributes, order, separators.

Source: Zarr storage specification version 2; Zarr core specification version 3, with the codecs sharding and transpose.
"""

from __future__ import annotations

import json
from math import gcd, prod
from pathlib import Path

from shapecalc.core.record import Record
from shapecalc.engine.headers import first_bytes
from shapecalc.engine.json_headers import read_object
from shapecalc.engine.whole_files import write_whole
from shapecalc.engine.zarr_headers import LONGEST_METADATA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from shapecalc.engine.stores.lines import Lines, Sizes

NAMES_OF_XARRAY = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray keeps the names of dimensions in version 2."""
SHARDING = "sharding_indexed"


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


def output_metadata(source: Metadata, lines: Lines, chunks: Sizes) -> Metadata:
    """Return the metadata of what lines make of an array, in these chunks; of a sharded array, shards."""
    main = {**source.main, "shape": [*lines.output]}
    files: dict[str, Any] = {**source.files}
    if source.version == 2:
        files[".zarray"] = main | {"chunks": [*chunks]}
        if NAMES_OF_XARRAY in files.get(".zattrs", {}):
            kept = _names_after(files[".zattrs"][NAMES_OF_XARRAY], lines)
            named = [name or f"dim_{axis}" for axis, name in enumerate(kept)]
            files[".zattrs"] = {**files[".zattrs"], NAMES_OF_XARRAY: named}
        return Metadata(2, files)
    main["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [*chunks]}}
    main["codecs"] = [_codec(codec, chunks, source.chunks) for codec in main["codecs"] if _fits(codec, len(chunks))]
    if main.get("dimension_names"):
        main["dimension_names"] = _names_after(main["dimension_names"], lines)
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


def _names_after(names: Sequence[str | None], lines: Lines) -> list[str | None]:
    """Return the names of the output's axes: those of the source's axes that are there as they were."""
    kept: list[str | None] = [None] * len(lines.output)
    for line in lines.lines:
        (one, *others), own = line.sources, line.outputs[0]
        if not others and one.size == lines.source[one.axis] and own.size == lines.output[own.axis]:
            kept[own.axis] = names[one.axis]
    return kept
