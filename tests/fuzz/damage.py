"""Run command lines on damaged files of every format: the output is right, or one line refuses the file.

A file is cut at every 64 bytes, and bytes of it are changed. Libraries in C may crash or hang on such a file, so many
command lines run in one child process; after a crash the parent continues with the next one. A written file must hold
what the library of the format reads from the damaged file.

`python -m tests.fuzz.damage [FORMAT...]` runs the whole grid and prints the failures.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple
from unittest import mock

import numpy as np

import shapecalc as sc
from tests.fuzz.running import ended, prepared
from tests.tables import rows

ARRAY = (np.arange(6 * 10 * 8) * 2654435761).astype("<u4").reshape(6, 10, 8)
TEXTS = Path(__file__).with_name("texts")
CUT = 64
FLIPS = 2000
PATIENCE = 900
"""Seconds after which a child counts as hanging; its command lines have a shorter limit."""
MEMORY = 4 << 30
"""The address space of a child, in bytes."""
LINES = re.compile(r'shapecalc: file: (\S+: .*[^.:\n ]\n(shapecalc: .+\n)*)|\{.+"rule": "file".+\}\n')
"""The message about an unusable file."""
TABLE = Path(__file__).with_name("formats.txt")


class Format(NamedTuple):
    """A file format: functions that write and read its files in the current folder, and its command lines."""

    table: str
    """The section of the table with the files and the command lines; `SOUND` is the folder of intact files."""
    write: Callable[[], object]
    read: Callable[[], np.ndarray] | None = None
    """Return the array that the library reads; None if there is none to compare."""

    @property
    def damaged(self):
        return rows(TABLE, self.table)[0][0].split()

    @property
    def command_lines(self):
        return rows(TABLE, self.table)[0][1].split("; ")

    @property
    def is_text(self):
        return self.table in ("cases", "config", "lessons", "progress")


def zarr_3(*names):
    """Return the named compressors and filters of Zarr version 3."""
    from zarr import codecs

    kinds = {"gzip": codecs.GzipCodec, "blosc": codecs.BloscCodec, "crc32c": codecs.Crc32cCodec}
    kinds["zstd"] = lambda: codecs.ZstdCodec(checksum=True)
    filters = [codecs.TransposeCodec(order=(1, 2, 0))] if "transpose" in names else None
    return {"compressors": [kinds[name]() for name in names if name in kinds] or None, "filters": filters}


def zarr_2(compressor=None, *filters):
    """Return numcodecs codecs for Zarr version 2, by name or configuration."""
    from numcodecs import get_codec

    codecs = [get_codec({"id": item} if isinstance(item, str) else item) for item in filters]
    return {"compressors": compressor and get_codec({"id": compressor}), "filters": codecs or None}


def zarr(version, *names, **options):
    """Return the format of arrays in one version of Zarr."""

    def write():
        import zarr

        kind = {"shape": ARRAY.shape, "chunks": (6, 5, 8), "dtype": ARRAY.dtype, "zarr_format": version} | options
        kind |= zarr_2(*names) if version == 2 else zarr_3(*names)
        zarr.create_array("x.zarr", **kind)[...] = ARRAY

    def read():
        import zarr

        return zarr.open_array("x.zarr", mode="r")[...]

    return Format(f"zarr {version}", write, read)


def hdf5(libver, **options):
    """Return the format of HDF5 files as a version of the library writes them.

    Without a checksum, the library returns uninitialized memory for a damaged filter: the data is not compared.
    """
    import h5py

    def write():
        with h5py.File("x.h5", "w", libver=libver) as file:
            file.create_dataset("g/w", data=ARRAY, **options)

    def read():
        with h5py.File("x.h5", "r") as file:
            return file["g/w"][...]

    return Format("hdf5", write, read if not options or "fletcher32" in options else None)


def npz(save):
    """Return the format of NumPy archives."""

    def read():
        with zipfile.ZipFile("x.npz") as archive, archive.open("w.npy") as member:
            return np.lib.format.read_array(member)

    return Format("npz", lambda: save("x.npz", v=ARRAY[0], w=ARRAY), read)


def npy():
    """Return the format of NumPy files."""
    return Format("npy", lambda: np.save("x.npy", ARRAY), lambda: np.load("x.npy"))


def safetensors():
    """Return the format of safetensors files."""
    from safetensors.numpy import load_file, save_file

    write = partial(save_file, {"v": ARRAY[0], "w": ARRAY}, "x.safetensors")
    return Format("safetensors", write, lambda: load_file("x.safetensors")["w"])


def onnx(table):
    """Return the format of models with their weights in the file or in a second one."""
    from onnx import TensorProto, helper, numpy_helper, save_model

    def write():
        weights = numpy_helper.from_array(np.arange(60 * 200, dtype="f4").reshape(60, 200), "w")
        target = numpy_helper.from_array(np.array([1, 10, 20]), "t")
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Reshape", ["m", "t"], ["r"], name="first"),
            helper.make_node("Transpose", ["r"], ["p"], perm=[0, 2, 1]),
            helper.make_node("Flatten", ["p"], ["y"], axis=1),
        ]
        shapes = {"x": [1, 60], "y": [1, 200]}
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [weights, target])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        beside = {"save_as_external_data": table == "onnx beside", "location": "m.data", "size_threshold": 1024}
        save_model(model, "m.onnx", **beside)

    return Format(table, write)


def text(table):
    """Return the format of a text file, which is copied from `texts/`."""
    (name,) = Format(table, None).damaged

    def write():
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copy(TEXTS / Path(name).name, name)

    return Format(table, write)


def part():
    """Return the format of interrupted outputs that can be resumed; their source is unchanged."""
    from shapecalc.engine.processes import count_cores
    from shapecalc.engine.stores.jobs import plan_job, run_job
    from shapecalc.engine.stores.workers import make_thread_runner

    ticks = []

    def tick(count):
        ticks.append(count)
        if len(ticks) > 2:
            raise KeyboardInterrupt

    def write():
        zarr(3).write()
        job = plan_job(sc.transpose(ARRAY.shape, (2, 0, 1)), str(Path("x.zarr").absolute()), 512 << 20, count_cores())
        with suppress(KeyboardInterrupt):
            run_job(job, Path("y.zarr").absolute(), make_thread_runner(1), tick, force=False, resume=False)

    return Format("part", write, lambda: ARRAY)


FORMATS = {
    "npy": npy,
    "npz": lambda: npz(np.savez),
    "npz deflated": lambda: npz(np.savez_compressed),
    "safetensors": safetensors,
    "zarr 2": lambda: zarr(2),
    "zarr 2 order F": lambda: zarr(2, "zlib", order="F"),
    **{f"zarr 2 {name}": partial(zarr, 2, name) for name in ("blosc", "gzip", "zstd", "lz4", "bz2", "lzma")},
    "zarr 2 shuffle": lambda: zarr(2, "zlib", {"id": "shuffle", "elementsize": 4}, "fletcher32"),
    "zarr 2 delta": lambda: zarr(2, "zlib", {"id": "delta", "dtype": "<u4"}, "crc32"),
    "zarr 3": lambda: zarr(3, "crc32c"),
    "zarr 3 gzip": lambda: zarr(3, "transpose", "gzip"),
    **{f"zarr 3 {name}": partial(zarr, 3, name) for name in ("zstd", "blosc")},
    "zarr 3 sharded": lambda: zarr(3, "zstd", shards=(6, 10, 8), chunks=(3, 5, 8)),
    "hdf5": lambda: hdf5("earliest"),
    "hdf5 chunked": lambda: hdf5("earliest", chunks=(3, 5, 8), compression="gzip", shuffle=True),
    "hdf5 lzf": lambda: hdf5("v108", chunks=(3, 5, 8), compression="lzf"),
    "hdf5 sealed": lambda: hdf5("latest", chunks=(3, 5, 8), compression="gzip", fletcher32=True),
    **{name: partial(onnx, name) for name in ("onnx", "onnx beside")},
    **{name: partial(text, name) for name in ("cases", "config", "lessons", "progress")},
    "part": part,
}


class Damage(NamedTuple):
    """Damage to a file: it is cut at a byte, or bits of that byte are flipped."""

    file: str
    place: int
    bits: int = 0

    def of(self, data):
        """Return the damaged file."""
        other = bytes([data[self.place] ^ self.bits]) + data[self.place + 1 :] if self.bits else b""
        return data[: self.place] + other


def grid(name):
    """Return the damages to the files of a format, in a random order seeded by its name."""
    sizes, draw = {file: Path(file).stat().st_size for file in FORMATS[name]().damaged}, Random(name)
    cuts = [Damage(file, place) for file, size in sizes.items() for place in range(0, size, CUT)]
    flips = [
        Damage(file, draw.randrange(size), draw.randrange(1, 256))
        for file, size in sizes.items()
        for _ in range(-(-FLIPS // len(sizes)))
    ]
    pairs = itertools.zip_longest(draw.sample(cuts, len(cuts)), draw.sample(flips, len(flips)))
    return [damage for pair in pairs for damage in pair if damage]


def read_output():
    """Return the written array; None if there is none."""
    if Path("y.npy").exists():
        return np.load("y.npy")
    if Path("y.zarr").exists():
        import zarr

        return zarr.open_array("y.zarr", mode="r")[...]
    return None


def complaints(kind, outcome, noise=""):
    """Return the faults in the outcome of a command line in the current folder."""
    faults = outcome.complaints()
    if outcome.code not in (0, 1, 3, 4, *([2] if kind.is_text else []), None):
        faults.append(f"exit code {outcome.code}: {outcome.err}")
    if outcome.code == 4 and not kind.is_text and not LINES.fullmatch(outcome.err or outcome.out):
        faults.append(f"not told in a line: {outcome.err!r}")
    if noise or "Warning" in outcome.err:
        faults.append(f"a library printed {noise or outcome.err!r}")
    if outcome.code == 0 and kind.read is not None and (array := read_output()) is not None:
        try:
            expected = kind.read().transpose(2, 0, 1)
        except Exception as error:
            return [*faults, f"written, and the library says {type(error).__name__}: {error}"]
        if (array.shape, array.dtype, array.tobytes()) != (expected.shape, expected.dtype, expected.tobytes()):
            faults.append(f"wrong data: {array.shape} {array.dtype}, and the library reads {expected.shape}")
    return faults


def attempts(kind, damage, folder):
    """Yield each command line on damaged files, its exit code, and the faults of its outcome."""
    for line in kind.command_lines:
        shutil.copytree(folder / "sound", folder / "damaged")  # keeps the times
        os.chdir(folder / "damaged")
        if damage:
            data = Path(damage.file).read_bytes()
            Path(damage.file).write_bytes(damage.of(data))
        before = os.fstat(2).st_size
        outcome = ended(line.replace("SOUND", str(folder / "sound")).split(), "2,3\n")
        noise = os.pread(2, 200, before).decode("utf-8", "replace")
        yield line, outcome.code, complaints(kind, outcome, noise)
        os.chdir(folder)
        shutil.rmtree(folder / "damaged")


def run_here(names, first, last):
    """Damage the files of formats in this process; print a line before and after each command line."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for name in names:
            kind, sound = FORMATS[name](), folder / "sound"
            sound.mkdir()
            os.chdir(sound)
            kind.write()
            damages = [*enumerate([None, *grid(name)])][first:last]
            with prepared(folder), mock.patch.dict(os.environ, XDG_DATA_HOME=str(folder / "damaged")):
                warnings.simplefilter("always")  # every printed warning is a fault
                for number, damage in damages:
                    print(json.dumps([number, f"{name}: {damage}"]), flush=True)
                    for line, code, wrong in attempts(kind, damage, folder):
                        refused = [] if damage or code == 0 or kind.is_text else ["an intact file is refused"]
                        print(json.dumps([line, code, wrong + refused]), flush=True)
            shutil.rmtree(sound)


def run_grid(names, last=sys.maxsize):
    """Return the count of each exit code, and the failures, up to a row of the grid of each format."""
    first, codes, bad = 0, Counter(), []
    code = None
    while code != 0 and first is not None:
        command = [sys.executable, "-m", "tests.fuzz.damage", "--here", str(first), str(last), *names]
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as noise:
            try:
                code = subprocess.run(command, stdout=output, stderr=noise, timeout=PATIENCE, check=False).returncode
            except subprocess.TimeoutExpired:
                code = "hang"
            output.seek(0)
            lines = output.read().decode().splitlines()
            noise.seek(max(0, noise.seek(0, os.SEEK_END) - 1000))
            tail = noise.read().decode("utf-8", "replace")
        first, damage = None, "nothing"
        for line in lines:
            match json.loads(line):
                case [number, damage]:
                    first = number + 1
                case [command_line, code_of_line, wrong]:
                    codes[code_of_line] += 1
                    bad += [f"{damage}: {command_line}: {fault}" for fault in wrong]
        if code != 0:
            bad.append(f"{damage}: the process ended with {code}: {tail}")
    return codes, bad


def main(names):
    """Run the grid of each format; print the count of each exit code and one failure of each kind."""
    for name in names or FORMATS:
        begin = monotonic()
        codes, bad = run_grid([name])
        print(
            f"{name}: {dict(sorted(codes.items(), key=str))}, {len(bad)} bad, {monotonic() - begin:.0f} s", flush=True
        )
        kinds = {re.sub(r"\d+|'[^']*'", "#", failure[-60:]): failure for failure in bad}
        for failure in kinds.values():
            print(f"  {failure[:200]} ... {failure[-300:]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        run_here(sys.argv[4:], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(sys.argv[1:])
