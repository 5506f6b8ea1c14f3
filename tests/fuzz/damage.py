"""Files of every format, damaged: what command lines make of them is right, or refused in one line.

A file is cut at every 64 bytes, and bytes of it are changed. Libraries in C may crash or hang on such a file, so the
command lines run in a child process, many in one; whoever started it goes on behind what ended it. What a command line
writes must be what the format's own library reads in the damaged file.

`python -m tests.fuzz.damage [FORMAT...]` goes through the whole grid and prints what ends badly.
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
"""Seconds after which a child hangs, whose command lines have a shorter patience of their own."""
MEMORY = 4 << 30
"""The bytes of addresses that a child may have."""
LINES = re.compile(r'shapecalc: file: (\S+: .*[^.:\n ]\n(shapecalc: .+\n)*)|\{.+"rule": "file".+\}\n')
"""What is told of a file that cannot be used."""
TABLE = Path(__file__).with_name("formats.txt")


class Format(NamedTuple):
    """A kind of files: who writes and reads them in the current folder, and what is asked of them."""

    table: str
    """The section of the table that has the files and the command lines; `SOUND` is the folder with sound files."""
    write: Callable[[], object]
    read: Callable[[], np.ndarray] | None = None
    """Return the array, as the library reads it; None if there is none to compare."""

    @property
    def damaged(self):
        return rows(TABLE, self.table)[0][0].split()

    @property
    def asks(self):
        return rows(TABLE, self.table)[0][1].split("; ")

    @property
    def is_text(self):
        return self.table in ("cases", "config", "lessons", "progress")


def zarr_3(*names):
    """Return codecs of Zarr's version 3 by their names: those that compress, and the filters."""
    from zarr import codecs

    kinds = {"gzip": codecs.GzipCodec, "blosc": codecs.BloscCodec, "crc32c": codecs.Crc32cCodec}
    kinds["zstd"] = lambda: codecs.ZstdCodec(checksum=True)
    filters = [codecs.TransposeCodec(order=(1, 2, 0))] if "transpose" in names else None
    return {"compressors": [kinds[name]() for name in names if name in kinds] or None, "filters": filters}


def zarr_2(compressor=None, *filters):
    """Return codecs of numcodecs, for Zarr's version 2, by their names or as it is given them."""
    from numcodecs import get_codec

    made = [get_codec({"id": each} if isinstance(each, str) else each) for each in filters]
    return {"compressors": compressor and get_codec({"id": compressor}), "filters": made or None}


def zarr(version, *names, **given):
    """Return arrays of Zarr in one version."""

    def write():
        import zarr

        kind = {"shape": ARRAY.shape, "chunks": (6, 5, 8), "dtype": ARRAY.dtype, "zarr_format": version} | given
        kind |= zarr_2(*names) if version == 2 else zarr_3(*names)
        zarr.create_array("x.zarr", **kind)[...] = ARRAY

    def read():
        import zarr

        return zarr.open_array("x.zarr", mode="r")[...]

    return Format(f"zarr {version}", write, read)


def hdf5(libver, **given):
    """Return files of HDF5 as a version of the library writes them.

    Where filters have no checksum, a changed filter makes the library hand out memory that nobody filled: that is not
    compared.
    """
    import h5py

    def write():
        with h5py.File("x.h5", "w", libver=libver) as file:
            file.create_dataset("g/w", data=ARRAY, **given)

    def read():
        with h5py.File("x.h5", "r") as file:
            return file["g/w"][...]

    return Format("hdf5", write, read if not given or "fletcher32" in given else None)


def npz(save):
    """Return archives of NumPy."""

    def read():
        with zipfile.ZipFile("x.npz") as found, found.open("w.npy") as member:
            return np.lib.format.read_array(member)

    return Format("npz", lambda: save("x.npz", v=ARRAY[0], w=ARRAY), read)


def npy():
    """Return files of NumPy."""
    return Format("npy", lambda: np.save("x.npy", ARRAY), lambda: np.load("x.npy"))


def safetensors():
    """Return files of safetensors."""
    from safetensors.numpy import load_file, save_file

    write = partial(save_file, {"v": ARRAY[0], "w": ARRAY}, "x.safetensors")
    return Format("safetensors", write, lambda: load_file("x.safetensors")["w"])


def onnx(table):
    """Return models, with their weights in the file or in one beside it."""
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
    """Return a text: the file in `texts/` that is called so."""
    (name,) = Format(table, None).damaged

    def write():
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copy(TEXTS / Path(name).name, name)

    return Format(table, write)


def part():
    """Return outputs that are not whole, to go on with. Their source stands where it was."""
    from shapecalc.engine.processes import count_cores
    from shapecalc.engine.stores.jobs import plan_job, run_job
    from shapecalc.engine.stores.workers import make_thread_runner

    told = []

    def tick(count):
        told.append(count)
        if len(told) > 2:
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
    """What is wrong with a file: it ends at a byte, or a byte of it has other bits."""

    file: str
    place: int
    bits: int = 0

    def of(self, data):
        """Return the damaged file."""
        other = bytes([data[self.place] ^ self.bits]) + data[self.place + 1 :] if self.bits else b""
        return data[: self.place] + other


def grid(name):
    """Return the damage to the files of a format in the current folder, in an order that its name draws."""
    sizes, draw = {file: Path(file).stat().st_size for file in FORMATS[name]().damaged}, Random(name)
    cuts = [Damage(file, place) for file, size in sizes.items() for place in range(0, size, CUT)]
    flips = [
        Damage(file, draw.randrange(size), draw.randrange(1, 256))
        for file, size in sizes.items()
        for _ in range(-(-FLIPS // len(sizes)))
    ]
    pairs = itertools.zip_longest(draw.sample(cuts, len(cuts)), draw.sample(flips, len(flips)))
    return [damage for pair in pairs for damage in pair if damage]


def made():
    """Return the array that was written; None if there is none."""
    if Path("y.npy").exists():
        return np.load("y.npy")
    if Path("y.zarr").exists():
        import zarr

        return zarr.open_array("y.zarr", mode="r")[...]
    return None


def complaints(kind, outcome, noise=""):
    """Return what is wrong with how a command line ended in the current folder."""
    found = outcome.complaints()
    if outcome.code not in (0, 1, 3, 4, *([2] if kind.is_text else []), None):
        found.append(f"exit code {outcome.code}: {outcome.err}")
    if outcome.code == 4 and not kind.is_text and not LINES.fullmatch(outcome.err or outcome.out):
        found.append(f"not told in a line: {outcome.err!r}")
    if noise or "Warning" in outcome.err:
        found.append(f"a library printed {noise or outcome.err!r}")
    if outcome.code == 0 and kind.read is not None and (array := made()) is not None:
        try:
            wanted = kind.read().transpose(2, 0, 1)
        except Exception as error:
            return [*found, f"written, and the library says {type(error).__name__}: {error}"]
        if (array.shape, array.dtype, array.tobytes()) != (wanted.shape, wanted.dtype, wanted.tobytes()):
            found.append(f"wrong data: {array.shape} {array.dtype}, and the library reads {wanted.shape}")
    return found


def attempts(kind, damage, folder):
    """Yield each command line on damaged files, its exit code, and what is wrong with how it ended."""
    for ask in kind.asks:
        shutil.copytree(folder / "sound", folder / "damaged")  # which keeps the times
        os.chdir(folder / "damaged")
        if damage:
            data = Path(damage.file).read_bytes()
            Path(damage.file).write_bytes(damage.of(data))
        before = os.fstat(2).st_size
        outcome = ended(ask.replace("SOUND", str(folder / "sound")).split(), "2,3\n")
        noise = os.pread(2, 200, before).decode("utf-8", "replace")
        yield ask, outcome.code, complaints(kind, outcome, noise)
        os.chdir(folder)
        shutil.rmtree(folder / "damaged")


def run_here(names, first, last):
    """Damage the files of formats in this process, and print a line before and after each command line."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as made_here:
        folder = Path(made_here)
        for name in names:
            kind, sound = FORMATS[name](), folder / "sound"
            sound.mkdir()
            os.chdir(sound)
            kind.write()
            damages = [*enumerate([None, *grid(name)])][first:last]
            with prepared(folder), mock.patch.dict(os.environ, XDG_DATA_HOME=str(folder / "damaged")):
                warnings.simplefilter("always")  # what would be printed is a complaint
                for number, damage in damages:
                    print(json.dumps([number, f"{name}: {damage}"]), flush=True)
                    for ask, code, wrong in attempts(kind, damage, folder):
                        refused = [] if damage or code == 0 or kind.is_text else ["it is sound, and is refused"]
                        print(json.dumps([ask, code, wrong + refused]), flush=True)
            shutil.rmtree(sound)


def run_grid(names, last=sys.maxsize):
    """Return how often each exit code came, and what ended badly, up to a row of the grid of each format."""
    first, codes, bad = 0, Counter(), []
    code = None
    while code != 0 and first is not None:
        command = [sys.executable, "-m", "tests.fuzz.damage", "--here", str(first), str(last), *names]
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as noise:
            try:
                code = subprocess.run(command, stdout=said, stderr=noise, timeout=PATIENCE, check=False).returncode
            except subprocess.TimeoutExpired:
                code = "hang"
            said.seek(0)
            lines = said.read().decode().splitlines()
            noise.seek(max(0, noise.seek(0, os.SEEK_END) - 1000))
            tail = noise.read().decode("utf-8", "replace")
        first, damage = None, "nothing"
        for line in lines:
            match json.loads(line):
                case [number, damage]:
                    first = number + 1
                case [ask, code_of_line, wrong]:
                    codes[code_of_line] += 1
                    bad += [f"{damage}: {ask}: {each}" for each in wrong]
        if code != 0:
            bad.append(f"{damage}: the process ended with {code}: {tail}")
    return codes, bad


def main(names):
    """Go through the grid of each format, and print how often each exit code came, and one of each kind of failure."""
    for name in names or FORMATS:
        begin = monotonic()
        codes, bad = run_grid([name])
        print(
            f"{name}: {dict(sorted(codes.items(), key=str))}, {len(bad)} bad, {monotonic() - begin:.0f} s", flush=True
        )
        kinds = {re.sub(r"\d+|'[^']*'", "#", each[-60:]): each for each in bad}
        for each in kinds.values():
            print(f"  {each[:200]} ... {each[-300:]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        run_here(sys.argv[4:], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(sys.argv[1:])
