"""Damaged files of every format give a right answer, or one line and exit code 4, never a library's error."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.damage import ARRAY, FORMATS, complaints, npy, run_grid
from tests.fuzz.running import Outcome

pytest.importorskip("resource", reason="this system limits no memory")
LIBRARIES = {"zarr": "zarr", "part": "zarr", "hdf5": "h5py", "safetensors": "safetensors", "onnx": "onnx"}
INSTALLED = [name for name in FORMATS if find_spec(LIBRARIES.get(name.split()[0], "numpy"))]
"""The formats whose libraries are installed."""


def test_damage_sample_ends_well():
    codes, bad = run_grid(INSTALLED[::4], 4)
    assert bad == []
    assert min(codes[0], codes[4]) > len(INSTALLED[::4])


@pytest.mark.slow
@pytest.mark.parametrize("names", [INSTALLED[part::4] for part in range(4)], ids=" ".join)
def test_damage_larger_sample_ends_well(names):
    """The whole grid takes minutes: `python -m tests.fuzz.damage`."""
    codes, bad = run_grid(names, 8)
    assert bad == []
    assert sum(codes.values()) >= 8 * len(names)


REFUSED = "shapecalc: file: x.npy: it is cut\n"
BAD = {
    "wrong data": (Outcome(0, "8,6,10\n", ""), "", "wrong data"),
    "two lines": (Outcome(4, "", f"{REFUSED}Traceback\n"), "", "not told in a line"),
    "no reason": (Outcome(4, "", "shapecalc: file: x.npy: \n"), "", "not told in a line"),
    "a library's words": (Outcome(4, "", REFUSED), "HDF5-DIAG", "printed 'HDF5-DIAG'"),
    "a wrong code": (Outcome(2, "", REFUSED), "", "exit code 2"),
    "a traceback": (Outcome(None, "", "", "KeyError"), "", "KeyError"),
    "nothing": (Outcome(4, "", REFUSED), "", None),
}


@pytest.mark.parametrize("case", BAD)
def test_damage_bad_endings_are_detected(case, tmp_path, monkeypatch):
    outcome, noise, expected = BAD[case]
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ARRAY)
    np.save("y.npy", ARRAY.transpose(2, 0, 1)[::-1])
    faults = "".join(complaints(npy(), outcome, noise))
    assert expected in faults if expected else faults == ""


def test_damage_library_crash_is_reported():
    _, bad = run_grid(["no format"])
    assert "the process ended with 1" in bad[0]


@pytest.fixture
def blosc(tmp_path, monkeypatch):
    """Return a Blosc chunk of the store `x.zarr`, from which `y.zarr` was made."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    monkeypatch.chdir(tmp_path)
    for name, array in (("x.zarr", ARRAY), ("y.zarr", ARRAY.transpose(2, 0, 1))):
        codec = zarr.codecs.BloscCodec()
        stored = zarr.create_array(name, shape=array.shape, chunks=array.shape, dtype="<u4", compressors=codec)
        stored[...] = array
    return Path("x.zarr/c/0/0/0")


@pytest.mark.parametrize("more", [("--force",), ("--verify", "all"), ("--verify", "sample")])
def test_damage_blosc_does_not_read_past_a_chunk(blosc, shapecalc, more):
    packed = blosc.read_bytes()
    blosc.write_bytes(packed[:-1])
    ran = shapecalc("transpose", "x.zarr", "2,0,1", "-o", "y.zarr", *more)
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert f"{blosc}: it holds {len(packed) - 1} bytes, and Blosc packed it to {len(packed)}" in ran.err


def test_damage_empty_chunks_are_refused(tmp_path, monkeypatch, shapecalc):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    monkeypatch.chdir(tmp_path)
    zarr.create_array("x.zarr", shape=(4, 6), chunks=(4, 3), dtype="<u4", zarr_format=2)
    metadata = Path("x.zarr/.zarray").read_text()
    Path("x.zarr/.zarray").write_text(metadata.replace("    3\n", "    0\n"))
    ran = shapecalc("transpose", "x.zarr", "-o", "y.zarr")
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert ran.err.endswith("x.zarr: its metadata give chunks that hold nothing\n")


def test_damage_hdf5_errors_are_reported(tmp_path, monkeypatch, shapecalc):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    monkeypatch.chdir(tmp_path)
    with h5py.File("x.h5", "w") as file:
        file.create_dataset("g/w", data=ARRAY)
    Path("x.h5").write_bytes(Path("x.h5").read_bytes().replace(b"HEAP", b"HEAT"))
    ran = shapecalc("reshape", "x.h5:g/w", "-1")
    assert (ran.code, ran.err) == (4, "shapecalc: file: x.h5:g/w: Link iteration failed (bad local heap signature)\n")
