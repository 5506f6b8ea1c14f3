"""Files that are damaged, or that lie: each is read as NumPy reads it, or refused in one line."""

from __future__ import annotations

import io
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

from shapecalc.core.limits import LONGEST_HEADER
from shapecalc.engine.arrays import FileError, open_array, open_source, raise_file_errors
from shapecalc.engine.headers import Unreadable, read_header, write_header
from tests.sampling import examples

LENGTHS = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}


def header(descr="'<f8'", shape="(2, 3)", order="False", version=(1, 0), length=None):
    """Return the start of a .npy file, with whatever is to be wrong in it."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    data = text.encode("utf-8" if version == (3, 0) else "latin-1")
    return b"\x93NUMPY" + bytes(version) + struct.pack(LENGTHS[version], len(data) if length is None else length) + data


def read_by_numpy(data):
    """Return what NumPy reads in a header: shape, order, type and place of the elements; None if it refuses."""
    file = io.BytesIO(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            version = np.lib.format.read_magic(file)
            two = version == (1, 0)
            found = (np.lib.format.read_array_header_1_0 if two else np.lib.format.read_array_header_2_0)(file)
        except Exception:
            return None
    return (*found, file.tell())


def read_by_us(data):
    """Return what we read in a header, in the same form; None if we refuse, in one short line."""
    try:
        found = read_header(io.BytesIO(data))
    except Unreadable as error:
        assert 0 < len(str(error)) < 200
        return None
    return found.shape, found.fortran, found.kind, found.start


@examples(300)
@given(array_dtypes(scalar_dtypes()) | scalar_dtypes(), array_shapes(min_dims=0, min_side=0), st.booleans())
def test_every_header_that_numpy_writes_is_read(kind, shape, fortran):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of versions that it needs
        fields = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": fortran, "shape": shape}
        try:
            np.lib.format.write_array_header_1_0(file, fields)
        except ValueError:
            file = io.BytesIO(header(repr(fields["descr"]), shape, fortran, (3, 0)))
    found = read_header(io.BytesIO(file.getvalue()))
    assert (found.shape, found.fortran, found.kind) == (shape, fortran, np.lib.format.descr_to_dtype(fields["descr"]))


@pytest.mark.parametrize("kind", [[("名", "f4"), ("x", "i2")], [(f"field_{n:04}", "i1") for n in range(3000)], "f8"])
def test_a_header_of_ours_is_read_by_numpy(kind):
    file = io.BytesIO()
    write_header(file, (2, 0), np.dtype(kind))
    assert file.tell() % np.lib.format.ARRAY_ALIGN == 0
    read = np.load(io.BytesIO(file.getvalue()), max_header_size=1 << 20)
    assert (read.shape, read.dtype) == ((2, 0), np.dtype(kind))


PIECES = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "'",
    '"',
    "\\",
    "\n",
    " ",
    "L",
    "3",
    "-",
    "0",
    "True",
    "False",
    "<f8",
    "'a'",
]
PIECES += [
    "|O",
    "\x00",
    "\xe9",
    "lambda:0",
    "1_0",
    "1e9",
    "None",
    "b'x'",
    "('a', '<i4')",
    "(2,)",
    "#",
    "\\x41",
    "1" * 19,
]
WHOLE = [
    header(),
    header(shape="(2L, 3L)"),
    header("[('a', '<f8'), ('b', '|V3', (2, 2))]", "(0,)", "True", (2, 0)),
    header("[(('title', 'name'), '>i2'), ('', '|V4')]", "()"),
]


@st.composite
def damaged(draw):
    """Draw a header in which some bytes are other bytes, missing, repeated or strange pieces of a literal."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        new = draw(st.binary(max_size=2) | st.sampled_from([piece.encode("latin-1") for piece in PIECES]))
        data[place : place + draw(st.integers(0, 6))] = new
    return bytes(data)


@examples(1500)
@given(damaged())
def test_a_damaged_header_is_read_as_numpy_reads_it_or_refused(data):
    found = read_by_us(data)
    assert found is None or found == read_by_numpy(data)


REFUSED = {
    "a truth value for a size": (header(shape="(True,)"), "not a tuple of whole numbers"),
    "no tuple": (header(shape="(3)"), "not a tuple of whole numbers"),
    "negative": (header(shape="(-2, 3)"), "a negative size"),
    "huge": (header(shape="(99999999999999999999,)"), "more elements than a file can hold"),
    "huge and empty": (header(shape="(0, 9223372036854775807, 2)"), "more elements than a file can hold"),
    "deep": (header("[" * 5000), "cannot be read: {'descr'"),
    "deep and closed": (header("(" * 5000 + ")" * 5000), "cannot be read"),
    "deep signs": (header("-" * 60000 + "1"), "cannot be read"),
    "deep fields": (header("[('a', " * 150 + "'<f8'" + ")]" * 150), "cannot be read"),
    "version 4.0": (header().replace(b"NUMPY\x01", b"NUMPY\x04"), "version 4.0"),
    "Python 2 in version 3.0": (header(shape="(3L,)", version=(3, 0)), "cannot be read"),
    "not UTF-8": (header("'é'", version=(3, 0)).replace("é".encode(), b"\xff\xff"), "not the UTF-8"),
    "code": (header("__import__('os').system('true')"), "cannot be read"),
    "twice the same": (header(order="False, 'fortran_order': True"), "descr, fortran_order and shape alone"),
    "an order that is none": (header(order="0"), "neither True nor False"),
    "an array for a type": (header("('<f8', (2,))"), "no element type"),
    "objects": (header("'|O'"), "pickled objects"),
    "objects in a structure": (header("[('a', '|O')]"), "pickled objects"),
    "a type of gigabytes": (header("'|V9999999999'"), "no element type"),
    "elements of nothing": (header("'|V0'", "(99999, 99999999999)"), "no bytes"),
    "a list": (header().replace(b"{", b"[").replace(b"}", b"]"), "cannot be read"),
    "a number": (header(length=1).replace(b"{", b"3"), "descr, fortran_order and shape"),
    "cut": (header()[:40], "ends before its header"),
    "nothing": (b"", "does not start"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_header_that_cannot_be_used_is_refused_with_the_reason(what):
    data, reason = REFUSED[what]
    with pytest.raises(Unreadable, match=reason):
        read_header(io.BytesIO(data))


def test_a_header_that_is_hardly_a_literal_is_refused_without_a_warning(recwarn):
    for text in ("1if 1else 1", "'\\d'", "1is 1"):
        assert read_by_us(header(text)) is None
    assert not recwarn.list


def test_what_python_2_wrote_and_other_alphabets_are_read():
    assert read_by_us(header(shape="(2L, 3L)"))[0] == (2, 3)
    assert read_by_us(header("[('größe', '<f8')]", version=(3, 0)))[2].names == ("größe",)


class Measured(io.BytesIO):
    """A file that holds little, and notes how much it was asked for at once."""

    most = 0

    def read(self, size=-1):
        """Note the size, and read."""
        assert size is not None
        assert size >= 0
        self.most = max(self.most, size)
        return super().read(size)


@pytest.mark.parametrize("length", [LONGEST_HEADER + 1, 2**31, 2**32 - 1])
def test_no_more_than_the_longest_header_is_asked_for(length):
    file = Measured(header(version=(2, 0), length=length))
    with pytest.raises(Unreadable, match=f"{length} bytes long"):
        read_header(file)
    assert file.most <= LONGEST_HEADER


def packed(folder, data, *, packing=zipfile.ZIP_DEFLATED, name="w.npy"):
    """Write an archive with one member, and return how the command line names it."""
    with zipfile.ZipFile(folder / "x.npz", "w", packing) as archive:
        archive.writestr(name, data)
    return f"{folder / 'x.npz'}:w"


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def claim(folder, size):
    """Have the archive say that its member unpacks to so many bytes."""
    data = bytearray((folder / "x.npz").read_bytes())
    place = data.rindex(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<I", size)
    (folder / "x.npz").write_bytes(data)


def test_an_archive_that_cannot_unpack_to_what_it_says_is_refused(tmp_path):
    text = packed(tmp_path, header("'|u1'", "(2000000000,)"))
    claim(tmp_path, len(header("'|u1'", "(2000000000,)")) + 2_000_000_000)
    with pytest.raises(FileError, match="bytes unpack to 2000000"):
        open_array(text)


def test_a_member_is_as_long_as_its_header_says(tmp_path):
    for extra in (b"x", bytes(1 << 20)):
        text = packed(tmp_path, npy(np.zeros(3)) + extra)
        with pytest.raises(FileError, match="asks for 152 bytes, and it holds"):
            open_array(text)


def test_what_numpy_does_not_pack_is_refused(tmp_path):
    for packing in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        text = packed(tmp_path, npy(np.zeros(3)), packing=packing)
        with pytest.raises(FileError, match="packed in a way"):
            open_array(text)


def test_a_member_without_an_ending_is_read(tmp_path):
    text = packed(tmp_path, npy(np.arange(3)), name="w")
    assert open_array(text).array.tolist() == [0, 1, 2]


@examples(400)
@given(data=st.data())
def test_a_damaged_archive_is_read_or_refused_in_one_line(data, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    array = np.arange(600, dtype="u1").reshape(2, 300)
    text = packed(folder, npy(array), packing=data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])))
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


@pytest.mark.parametrize("shape", ["1, " * 70, "1, " * 70 + "0, "])
def test_an_array_of_more_dims_than_numpy_has_is_refused(tmp_path, shape):
    (tmp_path / "x.npy").write_bytes(header("'<f4'", f"({shape})") + bytes(4))
    with pytest.raises(FileError, match="dimension"):
        open_array(str(tmp_path / "x.npy"))


def test_elements_of_hdf5_that_numpy_does_not_have_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5py.h5d.create(file.id, b"times", h5py.h5t.UNIX_D32LE, h5py.h5s.create_simple((3,)))
    with pytest.raises(FileError, match=r"x\.h5:times: No NumPy equivalent"):
        open_source(f"{tmp_path / 'x.h5'}:times")


def test_a_name_that_no_file_can_have_is_refused():
    for name in ("a\0.npy", "a\0.npz:w", "a\0.zarr", "\ud800.npy"):
        with pytest.raises(FileError):
            open_source(name)


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "x.npy").mkdir()
    with pytest.raises(FileError, match=r"x\.npy: "):
        open_array(str(tmp_path / "x.npy"))


def test_a_fault_of_our_own_is_not_taken_for_a_file():
    for fault in (ValueError, NotImplementedError):
        with pytest.raises(fault), raise_file_errors("x.npy"):
            raise fault


@pytest.mark.parametrize("name", ["x.npy", "x.npz:w", "x.safetensors:w"])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_with_a_name_is_refused_at_once(tmp_path, name):
    if "safetensors" in name:
        pytest.importorskip("safetensors", reason="safetensors is not installed")
    os.mkfifo(tmp_path / name.partition(":")[0])
    with pytest.raises(FileError, match="not a regular file"):
        open_array(str(tmp_path / name))


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no endless device")
def test_a_device_is_refused(tmp_path):
    (tmp_path / "x.npy").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="not a regular file"):
        open_array(str(tmp_path / "x.npy"))


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("flatten", ["0,30000000"]),
        ("transpose", ["30000000,0"]),
        ("reshape", ["30000000,0,5", "0,-1"]),
        ("transpose", ["0,9223372036854775807,9"]),
        ("expand", ["1", "1000000000"]),
        ("reshape", ["x.npy", "-1"]),
    ],
)
def test_values_allocate_what_they_show(shapecalc, tmp_path, monkeypatch, op, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npy").write_bytes(header("'|u1'", "(100000000,)"))
    os.truncate(tmp_path / "x.npy", 200_000_000)
    shapecalc("flatten", "2,3", "--values")  # what is imported is no element
    tracemalloc.start()
    try:
        ran = shapecalc(op, *words, "--values")
        assert ran.code == 0
        assert len(ran.err) < 100_000
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_the_elements_of_many_dims_are_not_shown(shapecalc):
    ran = shapecalc("reshape", "1," * 39 + "2", "2", "--values")
    assert (ran.code, ran.err) == (2, "shapecalc: usage: the elements of at most 32 dims are shown, and there are 40\n")
    assert shapecalc("reshape", "2", "1," * 31 + "2", "--values").code == 0


@pytest.mark.parametrize("words", [("reshape", "{}", "-1"), ("chain", "{} | reshape -1"), ("compare", "{}", "-1")])
@pytest.mark.parametrize(("dialect", "code"), [("onn", 2), ("ONNX", 0), ("TensorRT", 0)])
def test_a_dialect_is_looked_up_for_files_as_for_shapes(shapecalc, tmp_path, words, dialect, code):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "f4"))
    ran, plain = (
        shapecalc(*(word.format(given) for word in words), "-d", dialect) for given in (tmp_path / "x.npy", "2,3")
    )
    assert (ran.code, ran.out, ran.err) == (code, plain.out, plain.err)
