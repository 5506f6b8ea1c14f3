"""Array headers, intact, damaged or false: read as the libraries do, or refused in one line."""

from __future__ import annotations

import io
import json
import os
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_dtypes, array_shapes, scalar_dtypes

from shapecalc.core.limits import MAX_NPY_HEADER_BYTES
from shapecalc.engine.arrays import FileError, convert_to_file_error, open_array, open_source
from shapecalc.engine.headers import ArrayInfo, UnreadableError, iter_array_infos, parse_npy_header, write_npy_header
from tests.core.test_imports import HEAVY, loaded
from tests.engine.tables import rows
from tests.sampling import examples

LENGTHS = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4, 5], "data_type": "float32"}
GROUP = {"zarr_format": 3, "node_type": "group"}
KINDS = array_dtypes(scalar_dtypes()) | scalar_dtypes()
PIECES = [*"()[]{},:'\"\\\n L3-0#\x00\xe9", "True", "False", "<f8", "'a'", "|O", "lambda:0", "1_0", "1e9", "None"]
PIECES += ["b'x'", "('a', '<i4')", "(2,)", "\\x41", "1" * 19]


def header(descr="'<f8'", shape="(2, 3)", order="False", version=(1, 0), length=None):
    """Return the start of a .npy file, perhaps with faults."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    data = text.encode("utf-8" if version == (3, 0) else "latin-1")
    return b"\x93NUMPY" + bytes(version) + struct.pack(LENGTHS[version], len(data) if length is None else length) + data


def tensors(head, data=b"", length=None):
    """Return a .safetensors file."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape=(2, 3), dtype="F32", offsets=(0, 24)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def store(folder, nodes):
    """Write a Zarr store from its metadata files by path."""
    for name, value in nodes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return folder


def find_one(text):
    """Return the information on the single array that a text names."""
    (found,) = iter_array_infos(str(text))
    return found


class ReadRecorder(io.BytesIO):
    """A file that records the largest read."""

    most = 0

    def read(self, size=-1):
        assert size is not None
        assert size >= 0
        self.most = max(self.most, size)
        return super().read(size)


def read_by_numpy(data):
    """Return the shape, order, dtype and data offset that NumPy reads; None if it refuses."""
    file, numpy = io.BytesIO(data), np.lib.format
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            first = numpy.read_magic(file) == (1, 0)
            found = (numpy.read_array_header_1_0 if first else numpy.read_array_header_2_0)(file)
        except Exception:
            return None
    return (*found, file.tell())


def read_by_shapecalc(data):
    """Return the same from shapecalc; None if it refuses in one short line."""
    file = ReadRecorder(data)
    try:
        found = parse_npy_header(file)
    except UnreadableError as error:
        assert 0 < len(str(error)) < 200
        return None
    finally:
        assert file.most <= MAX_NPY_HEADER_BYTES
    return found.shape, found.fortran_order, found.numpy_dtype, found.start


@examples(60)
@given(KINDS, array_shapes(min_dims=0, min_side=0, max_side=4), st.booleans())
def test_header_of_numpy_is_read(tmp_path_factory, kind, shape, fortran):
    folder, array = tmp_path_factory.getbasetemp(), np.zeros(shape, kind, order="F" if fortran else "C")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns about header versions
        np.save(folder / "saved.npy", array)
        np.savez(folder / "saved.npz", w=array)
        expected = np.load(folder / "saved.npy")
    found = read_by_shapecalc((folder / "saved.npy").read_bytes())
    assert not array.itemsize or found[:3] == (shape, array.flags.fnc, expected.dtype)
    for text in (str(folder / "saved.npy"), str(folder / "saved.npz:w")):
        if not array.itemsize:
            assert "no bytes" in find_one(text).problem
            continue
        source = open_array(text)
        assert find_one(text) == ArrayInfo(text, source.shape, source.dtype)
        assert (source.array.shape, source.array.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("kind", [[("名", "f4"), ("x", "i2")], [(f"field_{n:04}", "i1") for n in range(3000)], "f8"])
def test_header_written_here_is_read_by_numpy(kind):
    file = io.BytesIO()
    write_npy_header(file, (2, 0), np.dtype(kind))
    assert file.tell() % np.lib.format.ARRAY_ALIGN == 0
    read = np.load(io.BytesIO(file.getvalue()), max_header_size=1 << 20)
    assert (read.shape, read.dtype) == ((2, 0), np.dtype(kind))


WHOLE = [
    header(),
    header(shape="(2L, 3L)"),
    header("[('a', '<f8'), ('b', '|V3', (2, 2))]", "(0,)", "True", (2, 0)),
    header("[(('title', 'name'), '>i2'), ('', '|V4')]", "()"),
]


@st.composite
def damaged_headers(draw):
    """Draw a header with bytes changed, deleted, repeated or replaced by pieces of a literal."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        new = draw(st.binary(max_size=2) | st.sampled_from([piece.encode("latin-1") for piece in PIECES]))
        data[place : place + draw(st.integers(0, 6))] = new
    return bytes(data)


@examples(150)
@given(damaged_headers())
def test_header_damaged_is_read_as_numpy_or_refused(data):
    found = read_by_shapecalc(data)
    assert found is None or found == read_by_numpy(data)


def test_header_at_size_limits_is_read(tmp_path):
    room = MAX_NPY_HEADER_BYTES - len(header(version=(2, 0))) + 12
    assert read_by_shapecalc(header("'<f8'" + " " * room, version=(2, 0))) == (
        (2, 3),
        False,
        np.dtype("f8"),
        12 + MAX_NPY_HEADER_BYTES,
    )
    (tmp_path / "x.safetensors").write_bytes(tensors({"a": tensor((0,), offsets=(0, 0))}))
    assert find_one(tmp_path / "x.safetensors").shape == (0,)
    two = {"a": tensor(), "b": tensor((3,), offsets=(24, 36))}
    (tmp_path / "x.safetensors").write_bytes(tensors(two, bytes(36)))
    assert [each.shape for each in iter_array_infos(str(tmp_path / "x.safetensors"))] == [(2, 3), (3,)]


def test_header_of_python_2_and_unicode_names_is_read():
    assert read_by_shapecalc(header(shape="(2L, 3L)"))[0] == (2, 3)
    assert read_by_shapecalc(header("[('größe', '<f8')]", version=(3, 0)))[2].names == ("größe",)


@pytest.mark.parametrize(("kind", "content", "reason"), rows("refused"))
def test_header_contradicting_its_file_is_refused(kind, content, reason, tmp_path):
    content, path = eval(content), tmp_path / f"x.{kind}"  # a row of the table
    if kind == "zarr":
        store(path, {"zarr.json": content})
        with pytest.raises(FileError, match=reason):
            open_source(str(path))
    else:
        path.write_bytes(content)
    assert kind != "npy" or read_by_shapecalc(content) is None
    found = find_one(path)
    assert reason in found.problem
    assert found.problem.isprintable()
    assert 0 < len(found.problem) < 200


def test_archive_lists_arrays_beside_damaged_members(tmp_path, monkeypatch):
    path, listed, infolist = tmp_path / "x.npz", [], zipfile.ZipFile.infolist
    np.savez(path, a=np.zeros((2, 3)), b=np.zeros(4, "i1"), **{f"more{place}": np.zeros(2, "S3") for place in range(9)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("bad.npy", b"no header")
        archive.writestr("c.npy", (b"\x93NUMPY\x01\x00" + struct.pack("<H", 3) + b"{}\n"))
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda archive: listed.append(1) or infolist(archive))
    found = {each.name.rpartition(":")[2]: each for each in iter_array_infos(str(path))}
    assert len(listed) == 1
    assert [*found] == ["a", "b", *[f"more{place}" for place in range(9)], "bad", "c"]
    assert (found["a"].shape, found["b"].dtype) == ((2, 3), "int8")
    assert found["bad"].problem == "it does not start as a .npy file does"
    assert found["c"].problem == "its header does not hold descr, fortran_order and shape alone"
    assert find_one(f"{path}:b") == ArrayInfo(f"{path}:b", (4,), "int8")
    assert find_one(f"{path}:q").problem.startswith("it has a, b, more0")


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def write_archive(folder, data, packing=zipfile.ZIP_DEFLATED, name="w.npy"):
    """Write an archive with one member, and return its argument for the command line."""
    with zipfile.ZipFile(folder / "x.npz", "w", packing) as archive:
        archive.writestr(name, data)
    return f"{folder / 'x.npz'}:w"


@pytest.mark.parametrize("extra", [b"x", bytes(1 << 20), None])
def test_archive_member_length_matches_its_header(tmp_path, extra):
    whole = npy(np.zeros(3))
    text = write_archive(tmp_path, whole[:-1] if extra is None else whole + extra)
    with pytest.raises(FileError, match="asks for 152 bytes, and it holds"):
        open_array(text)
    assert find_one(text).problem.startswith("its header asks for 152 bytes, and it holds")


def test_archive_with_false_sizes_is_refused(tmp_path):
    lying = header("'|u1'", "(2000000000,)")
    text = write_archive(tmp_path, lying)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    place = data.rindex(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<I", len(lying) + 2_000_000_000)
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(FileError, match="bytes unpack to 2000000"):
        open_array(text)


def test_archive_member_names_without_extension_are_read(tmp_path):
    assert open_array(write_archive(tmp_path, npy(np.arange(3)), name="w")).array.tolist() == [0, 1, 2]
    for packing in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with pytest.raises(FileError, match="packed in a way"):
            open_array(write_archive(tmp_path, npy(np.zeros(3)), packing))


@examples(75)
@given(data=st.data())
def test_archive_damaged_is_read_or_refused(data, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    array = np.arange(600, dtype="u1").reshape(2, 300)
    text = write_archive(folder, npy(array), data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])))
    held = bytearray((folder / "x.npz").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(held)) | st.integers(max(0, len(held) - 120), len(held)))
        held[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    (folder / "x.npz").write_bytes(held)
    try:
        source = open_array(text)
        assert source.array.shape == source.shape
    except FileError as error:
        assert str(error).startswith(text)


def test_safetensors_header_equals_library(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    path = tmp_path / "x.safetensors"
    kinds = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8"]
    library.save_file({kind: np.zeros((2, 0, 3), kind) for kind in kinds}, path, metadata={"format": "np"})
    found = {each.name.rpartition(":")[2]: (each.shape, each.dtype) for each in iter_array_infos(str(path))}
    assert found == {kind: ((2, 0, 3), np.dtype(kind).name) for kind in kinds}
    library.save_file({"w": np.arange(24.0, dtype="f4").reshape(2, 3, 4), "b": np.zeros(3, np.int8)}, path)
    assert open_array(f"{path}:w").array.tolist() == np.arange(24.0).reshape(2, 3, 4).tolist()
    for text in (f"{path}:nope", str(path)):
        with pytest.raises(FileError, match="it has b, w"):
            open_array(text)


def test_store_arrays_are_iter_arrays_groups(tmp_path):
    third = store(tmp_path / "3.zarr", {"zarr.json": GROUP, "g/zarr.json": GROUP, "g/a/zarr.json": ARRAY})
    (third / "g/a/c/0").mkdir(parents=True)
    (third / "notes").mkdir()
    assert [*iter_array_infos(str(third))] == [ArrayInfo(str(third / "g/a"), (4, 5), "float32")]
    array = {"zarr_format": 2, "shape": [7], "dtype": "<f8"}
    nodes = {".zgroup": {"zarr_format": 2}, "a/.zarray": array, "b/.zarray": b"{", "c/.zarray": {"zarr_format": 2}}
    second = store(tmp_path / "2.zarr", nodes)
    good, bad, without = iter_array_infos(str(second))
    assert good == ArrayInfo(str(second / "a"), (7,), "float64")
    assert bad.problem.startswith("its header is not JSON")
    assert "not a list of sizes" in without.problem
    assert find_one(second / "a").shape == (7,)


def test_store_written_by_zarr_is_read(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    for version in (2, 3):
        path = tmp_path / f"{version}.zarr"
        made = zarr.create_group(store=path, zarr_format=version).create_array("g/a", shape=(4, 5), dtype="int16")
        assert find_one(path) == ArrayInfo(str(path / "g/a"), made.shape, "int16")


def test_store_recursive_groups_terminate(tmp_path):
    deep = {f"{'g/' * depth}zarr.json": GROUP for depth in range(70)}
    assert "no more are looked into" in find_one(store(tmp_path / "x.zarr", deep)).problem
    loop = store(tmp_path / "loop.zarr", {"zarr.json": GROUP})
    (loop / "again").symlink_to(loop, target_is_directory=True)
    assert [*iter_array_infos(str(loop))] == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.safetensors", "x.zarr/zarr.json"])
def test_header_pipes_and_devices_are_refused(tmp_path, name):
    (tmp_path / "x.zarr").mkdir()
    text = str(tmp_path / name.removesuffix("/zarr.json"))
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        make(tmp_path / name)
        assert find_one(text).problem == "it is not a regular file"
        if not name.startswith("x.zarr"):
            with pytest.raises(FileError, match="not a regular file"):
                open_array(text if name == "x.npy" else f"{text}:w")
        os.unlink(tmp_path / name)


def test_header_impossible_names_are_refused():
    for name in ("a\0.npy", "a\0.npz:w", "a\0.zarr", "\ud800.npy"):
        with pytest.raises(FileError):
            open_source(name)


@pytest.mark.parametrize("shape", ["1, " * 70, "1, " * 70 + "0, "])
def test_header_rank_beyond_numpy_is_refused(tmp_path, shape):
    (tmp_path / "x.npy").write_bytes(header("'<f4'", f"({shape})") + bytes(4))
    with pytest.raises(FileError, match="dimension"):
        open_array(str(tmp_path / "x.npy"))


def test_hdf5_unsupported_element_types_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5py.h5d.create(file.id, b"times", h5py.h5t.UNIX_D32LE, h5py.h5s.create_simple((3,)))
    with pytest.raises(FileError, match=r"x\.h5:times: No NumPy equivalent"):
        open_source(f"{tmp_path / 'x.h5'}:times")


def test_header_internal_error_is_not_a_file_error():
    for fault in (ValueError, NotImplementedError):
        with pytest.raises(fault), convert_to_file_error("x.npy"):
            raise fault


@pytest.mark.parametrize("words", [row[0] for row in rows("large")])
def test_header_values_allocate_only_what_is_shown(shapecalc, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npy").write_bytes(header("'|u1'", "(100000000,)"))
    os.truncate(tmp_path / "x.npy", 200_000_000)
    shapecalc("flatten", "2,3", "--values")  # imports before the measurement
    tracemalloc.start()
    try:
        ran = shapecalc(*words.split(), "--values")
        assert ran.code == 0
        assert len(ran.err) < 100_000
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_header_reading_does_not_import_numpy(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    np.savez(tmp_path / "x.npz", w=np.zeros((2, 3)))
    (tmp_path / "x.safetensors").write_bytes(tensors({"a": tensor()}, bytes(24)))
    store(tmp_path / "x.zarr", {"zarr.json": ARRAY})
    files = [str(tmp_path / f"x.{kind}") for kind in ("npy", "npz", "safetensors", "zarr")]
    code = "from shapecalc.engine.headers import iter_array_infos\n"
    code += f"assert not [array for file in {files} for array in iter_array_infos(file) if array.problem]"
    assert loaded(code, HEAVY) == []
