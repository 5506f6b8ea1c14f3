"""Headers of arrays in files: read as the libraries read them, without NumPy, and refused in one line if they lie."""

from __future__ import annotations

import json
import os
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, scalar_dtypes

from shapecalc.engine.arrays import FileError, open_array, open_source
from shapecalc.engine.headers import Found, found_in
from tests.core.test_imports import HEAVY, loaded
from tests.sampling import examples

ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4, 5], "data_type": "float32"}
GROUP = {"zarr_format": 3, "node_type": "group"}


def one(text):
    """Return what is found of the one array that a text names."""
    (found,) = found_in(str(text))
    return found


@examples(200)
@given(kind=scalar_dtypes(), shape=array_shapes(min_dims=0, min_side=0, max_side=4), fortran=st.booleans())
def test_what_numpy_saves_is_read_as_it_is_for_an_input(kind, shape, fortran, tmp_path_factory):
    array = np.asfortranarray(np.zeros(shape, kind)) if fortran else np.zeros(shape, kind)
    folder = tmp_path_factory.getbasetemp()
    np.save(folder / "saved.npy", array)
    np.savez(folder / "saved.npz", w=array)
    for text in (str(folder / "saved.npy"), str(folder / "saved.npz:w")):
        if not kind.itemsize:
            assert "no bytes" in one(text).problem
            continue
        source = open_array(text)
        assert one(text) == Found(text, source.shape, source.dtype)


def test_structures_and_other_versions_are_read(tmp_path):
    with pytest.warns(UserWarning, match=r"format 3\.0"):
        np.save(tmp_path / "fields.npy", np.zeros(3, [("名", "f4"), ("b", "i1", (2,))]))
    assert one(tmp_path / "fields.npy").shape == (3,)
    assert one(tmp_path / "fields.npy").dtype is None


def test_every_array_of_an_archive_is_found_and_a_damaged_one_stops_no_other(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.zeros((2, 3)), b=np.zeros(4, "i1"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("bad.npy", b"no header")
        archive.writestr("c.npy", (b"\x93NUMPY\x01\x00" + struct.pack("<H", 3) + b"{}\n"))
    found = {each.name.rpartition(":")[2]: each for each in found_in(str(path))}
    assert [*found] == ["a", "b", "bad", "c"]
    assert (found["a"].shape, found["b"].dtype) == ((2, 3), "int8")
    assert found["bad"].problem == "it does not start as a .npy file does"
    assert found["c"].problem == "its header does not hold descr, fortran_order and shape alone"
    assert one(f"{path}:b") == Found(f"{path}:b", (4,), "int8")
    assert one(f"{path}:q").problem.startswith("it has a, b, bad, c; write")


def test_a_member_whose_header_asks_for_other_bytes_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    for extra in (-1, 1):
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("w.npy", ((tmp_path / "x.npy").read_bytes() + b"\0")[: 128 + 48 + extra])
        assert one(tmp_path / "x.npz").problem == f"its header asks for 176 bytes, and it holds {176 + extra}"


def test_the_list_of_an_archive_is_gone_through_once(tmp_path, monkeypatch):
    np.savez(tmp_path / "x.npz", *[np.zeros(2, "S3")] * 9)
    listed = []
    infolist = zipfile.ZipFile.infolist
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda archive: listed.append(1) or infolist(archive))
    assert len([*found_in(str(tmp_path / "x.npz"))]) == 9
    assert len(listed) == 1


def tensors(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def tensor(shape=(2, 3), dtype="F32", offsets=(0, 24)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_tensors_are_read_as_the_library_writes_them(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    path = tmp_path / "x.safetensors"
    kinds = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8"]
    library.save_file({kind: np.zeros((2, 0, 3), kind) for kind in kinds}, path, metadata={"format": "np"})
    found = {each.name.rpartition(":")[2]: each for each in found_in(str(path))}
    assert {kind: (each.shape, each.dtype) for kind, each in found.items()} == {
        kind: ((2, 0, 3), np.dtype(kind).name) for kind in kinds
    }


REFUSED_TENSORS = {
    "nothing": (b"", b"", None, "is not JSON"),
    "a length of all bits": (b"{}", b"", 2**64 - 1, "ends before its header"),
    "one byte too long": (b"{}", b"", 3, "ends before its header"),
    "a list": (b"[]", b"", None, "not a JSON object"),
    "not UTF-8": (b'{"\xff": 1}', b"", None, "not UTF-8"),
    "nested deep": (b"[" * 50_000, b"", None, "nested too deeply"),
    "digits": (b'{"a": ' + b"9" * 5000 + b"}", b"", None, "too many digits"),
    "twice": (b'{"a": 1, "a": 1}', b"", None, "one thing twice"),
    "a number for a tensor": ({"a": 3}, b"", None, "does not state dtype"),
    "no offsets": ({"a": {"dtype": "F32", "shape": []}}, b"", None, "does not state dtype"),
    "a negative size": ({"a": tensor((-1, 3))}, bytes(24), None, "not a list of sizes"),
    "a truth value": ({"a": tensor((True, 6))}, bytes(24), None, "not a list of sizes"),
    "a fraction": ({"a": tensor((2.0, 3))}, bytes(24), None, "not a list of sizes"),
    "huge": ({"a": tensor((2**70,))}, bytes(24), None, "not a list of sizes"),
    "data cut short": ({"a": tensor()}, bytes(23), None, "bytes 0 to 24 of 23"),
    "backwards": ({"a": tensor(offsets=(24, 0))}, bytes(24), None, "bytes 24 to 0"),
    "other bytes": ({"a": tensor((2, 2))}, bytes(24), None, "ask for 16 bytes, and it has 24"),
}


@pytest.mark.parametrize("what", REFUSED_TENSORS)
def test_a_file_of_tensors_that_lies_is_refused_in_one_line(what, tmp_path):
    header, data, length, reason = REFUSED_TENSORS[what]
    found = one(tensors(tmp_path / "x.safetensors", header, data, length))
    assert reason in found.problem
    assert found.problem.isprintable()
    assert 0 < len(found.problem) < 200


def test_a_length_beyond_the_librarys_is_not_read(tmp_path):
    path = tensors(tmp_path / "x.safetensors", b"{}", length=200_000_000)
    os.truncate(path, 300_000_000)
    assert "the limit 'safetensors-header' is 16777216" in one(path).problem


def store(folder, nodes):
    """Write a Zarr store: what each file of metadata holds, by its path."""
    for name, value in nodes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def test_the_arrays_of_stores_of_both_versions_are_found_in_their_groups(tmp_path):
    third = store(tmp_path / "3.zarr", {"zarr.json": GROUP, "g/zarr.json": GROUP, "g/a/zarr.json": ARRAY})
    (third / "g/a/c/0").mkdir(parents=True)
    (third / "notes").mkdir()
    assert [*found_in(str(third))] == [Found(str(third / "g/a"), (4, 5), "float32")]
    array = {"zarr_format": 2, "shape": [7], "dtype": "<f8"}
    second = store(tmp_path / "2.zarr", {".zgroup": {"zarr_format": 2}, "a/.zarray": array, "b/.zarray": "{"})
    good, bad = found_in(str(second))
    assert good == Found(str(second / "a"), (7,), "float64")
    assert bad.problem.startswith("its header is not JSON")
    assert one(second / "a").shape == (7,)


def test_a_store_that_the_library_wrote_is_read(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    for version in (2, 3):
        path = tmp_path / f"{version}.zarr"
        made = zarr.create_group(store=path, zarr_format=version).create_array("g/a", shape=(4, 5), dtype="int16")
        assert one(path) == Found(str(path / "g/a"), made.shape, "int16")


def test_an_array_of_version_2_without_a_shape_is_refused(tmp_path):
    assert "not a list of sizes" in one(store(tmp_path / "x.zarr", {".zarray": {"zarr_format": 2}})).problem


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("", "not JSON"),
        ("[1]", "not a JSON object"),
        ("[" * 50_000, "nested too deeply"),
        ({"zarr_format": 4, "node_type": "array"}, "version 4"),
        ({"zarr_format": 3}, "array or a group"),
        ({**ARRAY, "shape": "4,5"}, "not a list of sizes"),
        ({**ARRAY, "shape": [-1]}, "not a list of sizes"),
        ({**ARRAY, "shape": [2**63]}, "not a list of sizes"),
    ],
)
def test_metadata_that_lie_are_refused_in_one_line(metadata, reason, tmp_path):
    found = one(store(tmp_path / "x.zarr", {"zarr.json": metadata}))
    assert reason in found.problem
    assert found.problem.isprintable()
    with pytest.raises(FileError, match=reason):
        open_source(str(tmp_path / "x.zarr"))


def test_metadata_are_read_within_bounds(tmp_path):
    path = store(tmp_path / "x.zarr", {"zarr.json": "{"})
    os.truncate(path / "zarr.json", 1 << 25)
    assert "the limit 'zarr-metadata' is" in one(path).problem


def test_stores_inside_each_other_without_end_come_to_one(tmp_path):
    deep = {f"{'g/' * depth}zarr.json": GROUP for depth in range(70)}
    assert "no more are looked into" in one(store(tmp_path / "x.zarr", deep)).problem
    loop = store(tmp_path / "loop.zarr", {"zarr.json": GROUP})
    (loop / "again").symlink_to(loop, target_is_directory=True)
    assert [*found_in(str(loop))] == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.safetensors", "x.zarr/zarr.json"])
def test_a_pipe_is_refused_at_once(tmp_path, name):
    (tmp_path / "x.zarr").mkdir()
    os.mkfifo(tmp_path / name)
    assert one(tmp_path / name.removesuffix("/zarr.json")).problem == "it is not a regular file"


def test_ordinary_headers_are_read_without_numpy(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    np.savez(tmp_path / "x.npz", w=np.zeros((2, 3)))
    tensors(tmp_path / "x.safetensors", {"a": tensor()}, bytes(24))
    store(tmp_path / "x.zarr", {"zarr.json": ARRAY})
    files = [str(tmp_path / f"x.{kind}") for kind in ("npy", "npz", "safetensors", "zarr")]
    code = "from shapecalc.engine.headers import found_in; assert not [each for file in {} for each in found_in(file) "
    assert loaded(code.format(files) + "if each.problem]", HEAVY) == []
