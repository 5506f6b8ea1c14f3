"""Arrays on a device: a strict stand-in, and with `pytest -m gpu` a real one."""

from __future__ import annotations

import json
import sys
from collections import Counter
from math import prod
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.engine import run
from shapecalc.engine.execute import BackendError
from shapecalc.engine.execute import import_cupy as cupy_or_reason
from tests.benchmarks import engine as benchmark
from tests.engine import fake_cupy
from tests.engine.drawing import draw_chain
from tests.engine.test_files import ARRAYS, SHUFFLE
from tests.numpy_moves import apply_with_numpy

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of CuPy, when it searches for CUDA
CHAINS = 400
HUGE = 1 << 32


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setattr(fake_cupy, "machine", fake_cupy.Machine())
    return fake_cupy


@pytest.fixture(params=["fake", pytest.param("device", marks=pytest.mark.gpu)])
def cupy(request):
    if request.param == "fake":
        return request.getfixturevalue("fake")
    try:
        return cupy_or_reason()
    except BackendError as error:
        pytest.skip(str(error))


def to_host(array):
    """Copy a device array to the host; CuPy itself copies only numbers, unless they are contiguous."""
    numbers = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
    return array.view(numbers[array.itemsize]).get().view(array.dtype)


KINDS = ("?", "u1", "f2", "f4", "f8", "c16", ">f4", "S4", "M8[s]", "i4,f4", "V2")


def draw_array(draw, cupy):
    """Return an array of random layout and dtype, on the host and on the device."""
    shape = tuple(draw.choice((1, 2, 3, 4, 6)) for _ in range(draw.randint(0, 4)))
    kind = np.dtype(draw.choice(KINDS))
    number = f"u{kind.itemsize}" if kind.itemsize <= 8 else "c16"
    host = np.array([draw.randrange(2 if kind == "?" else 256) for _ in range(prod(shape))], number).reshape(shape)
    index = tuple(draw.choice((slice(None), slice(None), slice(None, None, -1), slice(None, None, 2))) for _ in shape)
    axes = draw.sample(range(len(shape)), len(shape))
    return tuple(each.view(kind)[(*index, ...)].transpose(axes) for each in (host, cupy.asarray(host)))


def test_device_chains_equal_numpy(cupy):
    found = Counter()
    for seed in range(CHAINS):
        draw = Random(seed)
        host, there = draw_array(draw, cupy)
        answer = draw_chain(draw, host.shape, without=("take", "select", "empty") if seed % 4 else ["empty"])
        expected, contiguous = apply_with_numpy(host, answer.moves), draw.random() < 0.3
        result = None  # frees the memory of the last one
        before = cupy.get_default_memory_pool().used_bytes()
        result = run(answer, there, contiguous=contiguous)
        assert (type(result.array), result.backend) == (cupy.ndarray, "cupy")
        if result.verdict == "view":
            assert cupy.get_default_memory_pool().used_bytes() == before
        back = to_host(result.array)
        assert (back.shape, back.dtype, back.tobytes()) == (expected.shape, host.dtype, expected.tobytes()), seed
        copies = result.plan.copies
        found["several copies"] += len(copies) > 1
        found["pieces"] += any(copy.pieces is not None for copy in copies)
        found["backwards"] += any(copy.source.offset < 0 or min(copy.source.strides, default=0) < 0 for copy in copies)
        found["offset"] += any(copy.source.offset < 0 for copy in copies)
        found["view from before the first element"] += result.plan.view.offset < 0
        found["views"] += not copies
    assert min(found.values()) >= 4, found


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_device_accepts_or_refuses_host_arrays(name, order):
    array = np.asarray(ARRAYS[name].reshape(2, 3, 4), order=order)
    if array.itemsize not in (1, 2, 4, 8, 16):
        with pytest.raises(BackendError, match=f"which have {array.itemsize} bytes; numpy does$"):
            run(SHUFFLE, array, "cupy")
        return
    back = to_host(run(SHUFFLE, array, "cupy").array)
    assert (back.dtype, back.tobytes()) == (array.dtype, apply_with_numpy(array, SHUFFLE.moves).tobytes())


@pytest.mark.usefixtures("cupy")
def test_device_objects_scalars_and_empty_arrays():
    with pytest.raises(BackendError, match="no elements of type object"):
        run(sc.transpose((2, 3)), np.zeros((2, 3), object), "cupy")
    assert run(sc.reshape((), (1, 1)), np.float32(3), "cupy").array.get().tolist() == [[3.0]]
    assert run(sc.transpose((0, 3)), np.zeros((0, 3)), "cupy").array.shape == (3, 0)
    assert run(sc.shape((2, 3)), np.zeros((2, 3), ">f4"), "cupy").array.get().tolist() == [2, 3]


@pytest.mark.parametrize("shape", [(2, 3), (0, 3)])
@pytest.mark.parametrize("stages", [("transpose",), ("transpose", "reshape -1,2")])
def test_device_array_subclass_is_read_as_plain_elements(cupy, shape, stages):
    class Named(cupy.ndarray):
        pass

    array = cupy.asarray(np.arange(prod(shape), dtype="f4").reshape(shape))
    answer = sc.chain(shape, *stages[: 1 + all(shape)])
    result = run(answer, array.view(type=Named))
    assert (type(result.array), result.backend) == (cupy.ndarray, "cupy")
    assert result.array.get().tolist() == apply_with_numpy(array.get(), answer.moves).tolist()


def test_numpy_backend_refuses_device_arrays(cupy):
    with pytest.raises(BackendError, match="lies on a device"):
        run(sc.transpose((2, 3)), cupy.asarray(np.zeros((2, 3))), "numpy")


@pytest.mark.parametrize("answer", [sc.transpose((2, 3, 4)), SHUFFLE, sc.roll((2, 3, 4), 1, 0)])
@pytest.mark.parametrize("contiguous", [False, True])
def test_device_uses_the_callers_device_and_stream(cupy, answer, contiguous):
    last = cupy.cuda.runtime.getDeviceCount() - 1
    host = ARRAYS["float"].reshape(2, 3, 4)
    with cupy.cuda.Device(last):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            result = run(answer, cupy.asarray(host), contiguous=contiguous)
            stream.synchronize()
        array = cupy.asarray(host)
    assert result.array.get().tolist() == apply_with_numpy(host, answer.moves).tolist()
    made = run(answer, array, contiguous=contiguous).array
    assert (made.device.id, cupy.cuda.runtime.getDevice()) == (last, 0)
    assert made.get().tolist() == apply_with_numpy(host, answer.moves).tolist()


def test_device_out_of_memory_is_reported(cupy):
    pool, x = cupy.get_default_memory_pool(), cupy.asarray(np.arange(6000.0).reshape(60, 100))
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + 512)
    used = pool.used_bytes()
    try:
        for backend in ("auto", "cupy"):
            with pytest.raises(BackendError, match=r"^the device has no room: Out of memory allocating [^\n]*$"):
                run(sc.transpose(x.shape), x, backend, contiguous=True)
        with pytest.raises(BackendError, match="no room"):
            run(sc.transpose(x.shape), x.get(), "cupy")
        assert run(sc.transpose(x.shape), x).verdict == "view"
    finally:
        pool.set_limit(size=0)
    assert pool.used_bytes() == used
    assert run(sc.transpose(x.shape), x, contiguous=True).array.get().tolist() == x.get().T.tolist()


def test_device_views_beyond_2_32_elements(cupy):
    x = cupy.asarray(np.arange(12, dtype="u1").reshape(3, 4))
    answer = sc.chain((3, 4), f"expand {HUGE},3,4", f"slice [{HUGE - 2}:,::-1]", "reshape 2,12", "slice [1:]")
    assert run(answer, x).array.get().tolist() == [[8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]]


@pytest.mark.parametrize("roll", [False, True])
def test_device_copy_beyond_2_32_elements(cupy, roll):
    shape, free = ((1 << 16) + 3, 1 << 16), cupy.cuda.runtime.memGetInfo()[0]
    if free < 3 * HUGE:
        pytest.skip(f"the device has {free} bytes free, and {3 * HUGE} are needed")
    x = (cupy.arange(shape[0]) * 31).astype("u1")[:, None] + cupy.arange(shape[1]).astype("u1")
    made = run(sc.roll(shape, 7, 0) if roll else sc.chain(shape, "transpose", "reshape -1"), x).array
    for at in (0, 1, 6, 7, HUGE // 2 + 5, HUGE - 1, HUGE + 1, prod(shape) - 1):
        row, column = ((at // shape[1] - 7) % shape[0], at % shape[1]) if roll else (at % shape[0], at // shape[0])
        assert int(made[divmod(at, shape[1]) if roll else at]) == (row * 31 + column) % 256, at


FAILURES = (
    fake_cupy.DynamicLibNotFoundError(fake_cupy.LIBRARY_IS_MISSING),
    RuntimeError("CuPy failed to load libnvrtc.so.13: OSError: libnvrtc.so.13: cannot open shared object file"),
    RuntimeError("Failed to find CUDA headers. Please install CUDA toolkit headers"),
    fake_cupy.CompileException("nvrtc: error: invalid value for --gpu-architecture (-arch)"),
)


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_device_without_a_compiler_falls_back_to_numpy(fake, failure):
    for seed in range(30):
        draw = Random(seed)
        host, there = draw_array(draw, fake)
        answer = draw_chain(draw, host.shape, without=["empty"])
        fake.machine.failure = failure
        if run(answer, host).verdict == "copy":
            with pytest.warns(RuntimeWarning, match="^CuPy cannot copy: [^\n]*; the result is NumPy's"):
                result = run(answer, there)
            with pytest.raises(BackendError, match=r"^CuPy cannot copy: [^\n]*cupy-cuda13x[^\n]*$"):
                run(answer, there, "cupy")
            assert result.backend == "numpy"
            back = result.array
        else:
            result = run(answer, there)
            assert (result.backend, run(answer, there, "cupy").backend) == ("cupy", "cupy")
            fake.machine.failure = None
            back = to_host(result.array)
        fake.machine.failure = None
        assert (back.dtype, back.tobytes()) == (host.dtype, apply_with_numpy(host, answer.moves).tobytes())


def test_device_unsupported_elements_are_copied_by_numpy(cupy):
    x = cupy.ndarray((2, 3), "V9", cupy.asarray(np.arange(54, dtype="u1")).data)
    assert run(sc.transpose((2, 3)), x).backend == "cupy"
    with pytest.raises(BackendError, match=r"which have 9 bytes; numpy does$"):
        run(sc.transpose((2, 3)), x, "cupy", contiguous=True)
    with pytest.warns(RuntimeWarning, match="which have 9 bytes; numpy does; the result is NumPy's"):
        back = run(sc.transpose((2, 3)), x, contiguous=True).array
    assert back.tobytes() == np.arange(54, dtype="u1").view("V9").reshape(2, 3).T.tobytes()


def test_device_permanent_failure_is_reported(fake, monkeypatch):
    x = fake.asarray(np.zeros((2, 3)))
    fake.machine.failure = fake.CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")
    monkeypatch.setattr(fake.Stream, "synchronize", lambda _: (_ for _ in ()).throw(fake.machine.failure))
    with pytest.raises(BackendError, match=r"^CuPy cannot copy: cudaErrorIllegalAddress: an illegal"):
        run(sc.transpose((2, 3)), x, contiguous=True)


def test_backends_report_devices_and_missing_compiler(shapecalc, fake):
    assert shapecalc("backends").out.splitlines()[1:] == ["cupy: 14.2.0 on a device that NumPy plays, 0.0 GiB"] * 2
    fake.machine.failure = FAILURES[0]
    assert "pip install 'cupy-cuda13x[ctk]" in json.loads(shapecalc("backends", "--json").out)[1]["problem"]
    assert shapecalc("backends").out.splitlines()[1].startswith("cupy: CuPy cannot copy: Failure finding")


def test_device_benchmark_runs_on_the_device(cupy, capsys):
    benchmark.on_the_device(cupy, [("images", 4, (3, 8, 8, 4), (0, 3, 1, 2)), ("matrix", 16, (16, 24), (1, 0))], 0.001)
    heading, *rows = capsys.readouterr().out.splitlines()
    assert "GB/s" in heading
    assert [row.split()[0] for row in rows] == ["images", "matrix"]


def test_fake_cupy_makes_cupys_views(monkeypatch):
    """Views are metadata, so CuPy needs no device here."""
    fake = fake_cupy
    monkeypatch.setattr(fake, "machine", fake.Machine())
    real = pytest.importorskip("cupy", reason="CuPy is not installed")
    memory = real.cuda.MemoryPointer(real.cuda.UnownedMemory(1 << 24, 1 << 24, None, 0), 1 << 20)
    sides = (
        (real, memory, lambda x: x.data.ptr - memory.ptr),
        (fake, fake.empty((1 << 20,), "u1").data + (1 << 19), lambda x: x.data.offset - (1 << 19)),
    )
    for seed in range(CHAINS):
        draw = Random(seed)
        shape = tuple([draw.choice((0, 1, 2, 3)) for _ in range(draw.randint(0, 5))])
        strides = tuple([draw.choice((-8, 0, 4, 8, 24)) for _ in shape])
        kind = draw.choice(("f4", ">f4", "S4", "i4,f4", "V9", "O", "M8[s]"))
        index = tuple([draw.choice((0, slice(None, None, -1), slice(None), slice(1, None))) for _ in shape])
        axes, seen = draw.sample(range(len(shape)), len(shape)), []
        for library, data, place in sides:
            x = library.ndarray(shape, kind, data, strides)
            turned = x.transpose(*axes).view(np.dtype(f"V{x.itemsize}"))
            strided = library.lib.stride_tricks.as_strided(x, (2,), (-12,))[1:]
            for each in (x, turned, strided, x if 0 in shape else x[index]):
                layout = (each.strides, place(each), each.flags.c_contiguous) if each.size else ()
                seen.append((each.shape, each.dtype, each.size, each.ndim, each.nbytes, *layout))
        assert seen[:4] == seen[4:]
    for library, data, _ in sides:
        for kind in (">f4", "S4", "M8[s]", "O", "g", "U1"):
            with pytest.raises(ValueError, match="Unsupported dtype"):
                library.empty((2,), kind)
        with pytest.raises(TypeError, match="Implicit conversion"):
            np.asarray(library.ndarray((2,), "f4", data))
        with pytest.raises(ValueError, match="maximum supported dimension"):
            library.ndarray((1,) * 65, "f4", data)
