"""The engine against plain NumPy: byte for byte, with a view wherever one will do."""

from __future__ import annotations

import importlib
import os
import random
import signal
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from math import prod
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnx.backend.test.case import node as onnx_nodes

import shapecalc as sc
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll, Take
from shapecalc.core.ops import OPS, operators_of
from shapecalc.engine import copying, run
from shapecalc.engine.execute import BackendError, apply_plan, backend_for, joined
from shapecalc.engine.plan import plan_moves
from shapecalc.engine.processes import count_cores
from tests.numpy_moves import moved_by_numpy
from tests.sampling import examples
from tests.strategies import factorisations
from tests.view.questions import COMBINING

DTYPES = st.sampled_from(["float32", "uint8", ">i4", "S3", "complex128", [("a", "u1"), ("b", "<f4")]])


@st.composite
def arrays(draw):
    """Draw an array of rank 0 to 8, with dims of one and none, and strides of every kind."""
    shape = tuple(
        draw(st.lists(st.sampled_from([1, 1, 2, 3, 4, 0]), max_size=8).filter(lambda dims: prod(dims) < 2000))
    )
    whole = np.arange(prod(shape) * 4 + 64, dtype=np.uint32).astype("S").view(np.uint8)
    dtype = np.dtype(draw(DTYPES))
    data = np.resize(whole, prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
    data = np.asfortranarray(data) if draw(st.booleans()) else data
    for axis, size in enumerate(shape):
        if size > 1 and draw(st.integers(0, 3)) == 0:
            data = data[(slice(None),) * axis + (slice(None, None, draw(st.sampled_from([-1, 2, -2]))),)]
    return data


@st.composite
def picks(draw, shape):
    """Draw what is kept of the axes of an array: all of an axis, a slice of it either way, or one position."""
    kept = []
    for dim in shape:
        places = range(dim)[draw(st.sampled_from([slice(None)] * 3 + KEPT))]
        goes = dim and draw(st.integers(0, 4)) == 0
        kept.append((draw(st.integers(-dim, dim - 1)), 1, None) if goes else (places.start, places.step, len(places)))
    starts, steps, sizes = zip(*kept, strict=True) if kept else ((), (), ())
    return Pick(tuple(start if size != 0 else 0 for start, size in zip(starts, sizes, strict=True)), steps, sizes)


KEPT = [
    slice(*ends)
    for ends in ((0, 1), (1, None), (None, -1), (None, None, 2), (None, None, -1), (None, None, -2), (0, 0))
]


@st.composite
def journeys(draw):
    """Draw an array and moves that can be made on it."""
    array = draw(arrays())
    shape, moves = array.shape, []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.integers(0, 3)) == 0:
            moves.append(draw(picks(shape)))
            shape = moves[-1].after(shape)
        elif shape and draw(st.integers(0, 3)) == 0:
            moves.append(Roll(draw(st.integers(-5, 5)), draw(st.integers(0, len(shape) - 1))))
        elif 0 not in shape and shape and draw(st.integers(0, 4)) == 0:
            axis = draw(st.integers(0, len(shape) - 1))
            moves.append(Take(axis, tuple(draw(st.lists(st.integers(0, shape[axis] - 1), max_size=5)))))
            shape = moves[-1].after(shape)
        elif draw(st.booleans()):
            perm = tuple(draw(st.permutations(range(len(shape)))))
            moves.append(Permute(perm))
            shape = tuple(shape[axis] for axis in perm)
        elif draw(st.integers(0, 3)) and prod(shape):
            shape = draw(factorisations(prod(shape)))
            moves.append(Reshape(shape))
        else:
            shape = (draw(st.integers(1, 3)), *(draw(st.integers(1, 3)) if size == 1 else size for size in shape))
            moves.append(Expand(shape))
    return array, tuple(moves)


@examples(400)
@given(journeys())
def test_every_journey_ends_as_numpys_does(drawn):
    array, moves = drawn
    expected = moved_by_numpy(array, moves)
    plan = plan_moves(moves, array.shape, array.strides, array.itemsize)
    found = apply_plan(plan, array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes()
    if plan.verdict == "view" and found.size:
        assert np.shares_memory(found, array)
    rolled = any(isinstance(move, Roll | Take) for move in moves)  # NumPy copies even where nothing moves
    if np.may_share_memory(expected, array) and found.size and moves and not rolled:
        assert plan.verdict == "view"


CASES = [
    ((64, 96), (1, 0)),
    ((8, 3, 64, 64), (0, 2, 3, 1)),
    ((8, 64, 64, 3), (0, 3, 1, 2)),
    ((8, 16, 128, 16), (0, 2, 1, 3)),
    ((64, 64, 64), (2, 1, 0)),
    ((8, 8, 16, 8, 8), (4, 2, 0, 3, 1)),
    ((4,) * 8, (7, 6, 5, 4, 3, 2, 1, 0)),
    ((1000, 7, 31), (2, 0, 1)),
    ((3, 70_001), (1, 0)),
    ((60, 50, 4), (1, 0, 2)),
    ((60, 50, 3), (1, 0, 2)),
    ((64, 32, 32), (2, 1, 0)),
    ((4, 32, 32, 32), (2, 0, 3, 1)),
    ((60, 40, 2, 2), (2, 0, 1, 3)),
]


@pytest.fixture
def tiny_chunks(monkeypatch):
    """Copy small arrays in tiles and by threads as well."""
    for name in ("TINY", "SHARE"):
        monkeypatch.setattr(copying, name, 1 << 10)
    for fill in copying.ROOM:
        monkeypatch.setitem(copying.ROOM, fill, 1 << 10)
    caches = (copying.copy_strategy, copying._fill_of_layout)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.sampled(24)
@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize(("shape", "perm"), CASES)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128", "S3"])
def test_the_tiled_copy_is_the_copy(shape, perm, dtype):
    source = (
        np.resize(np.arange(251, dtype=np.uint8), prod(shape) * np.dtype(dtype).itemsize).view(dtype).reshape(shape)
    )
    for view in (source.transpose(perm), source[::-1].transpose(perm)):
        target, ticks = np.empty(view.shape, view.dtype), []
        copying.copy_into(target, view, ticks.append)
        assert target.tobytes() == view.tobytes()
        assert sum(ticks) == view.nbytes


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize("fill", copying.FILLS)
def test_every_way_fills_every_copy(monkeypatch, fill):
    monkeypatch.setattr(copying, "fill_of", lambda *_: fill)
    draw = random.Random(fill)
    for _ in range(25):
        shape = [draw.choice((2, 3, 5, 8, 17, 64)) for _ in range(draw.randint(2, 4))]
        dtype = np.dtype(draw.choice(("u1", "f2", "S3", ">f4", "f8", "c16")))
        whole = np.resize(np.arange(251, dtype=np.uint8), prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
        view = whole[:: draw.choice((1, -1))].transpose(draw.sample(range(len(shape)), len(shape)))
        target = np.zeros(view.shape, dtype)
        copying.copy_into(target, view)
        assert target.tobytes() == view.tobytes(), (shape, view.strides, dtype)


def test_objects_and_repeated_rows_are_copied_too():
    words = np.array([str(number) for number in range(300 * 300)], object).reshape(300, 300)
    found = run(sc.chain(words.shape, "transpose", "reshape -1"), words)
    assert found.array.tolist() == words.T.reshape(-1).tolist()
    rows = np.broadcast_to(np.arange(500, dtype=np.int64), (500, 500))
    assert (run(sc.transpose(rows.shape), rows, contiguous=True).array == rows.T).all()


def test_a_thread_that_fails_is_heard_and_the_others_stop():
    source, ticks = np.zeros((4096, 1024)).T, []

    def tick(size):
        ticks.append(size)
        if len(ticks) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copying.copy_into(np.empty(source.shape), source, tick)
    assert len(ticks) < 3 + 2 * count_cores()


@pytest.mark.usefixtures("tiny_chunks")
def test_the_asking_thread_takes_back_the_tiles_that_nobody_has_started(monkeypatch):
    leave, pool, ticks = Event(), ThreadPoolExecutor(1), []
    pool.submit(leave.wait)  # the helpers have something else to do
    monkeypatch.setattr(copying, "_threads", lambda: pool)
    monkeypatch.setattr(copying, "count_cores", lambda: 4)
    source = np.arange(1 << 16).reshape(1 << 8, 1 << 8).T
    target = np.zeros(source.shape, source.dtype)
    asking = Thread(target=copying.copy_into, args=(target, source, ticks.append), daemon=True)
    asking.start()
    asking.join(20)
    waits = asking.is_alive()
    leave.set()
    pool.shutdown()
    assert not waits
    assert (target == source).all()
    assert len(ticks) > 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_copies_with_threads_of_its_own():
    source = np.arange(1 << 20).reshape(1 << 10, 1 << 10).T

    def copy():
        target = np.empty_like(source, order="C")
        copying.copy_into(target, source)
        return target

    assert (copy() == source).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from Python 3.12 on: a fork beside threads is warned of, rightly
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if (copy() == source).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


VERDICTS = [
    (sc.transpose((2, 3, 4), (1, 2, 0)), "view"),
    (sc.reshape((2, 3, 4), (6, -1)), "view"),
    (sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), "copy"),
    (sc.shuffle((2, 3, 4), to=(6, 4), second=(1, 0)), "view"),
    (sc.shuffle((1, 6), first=(1, 0), to=(2, 3)), "view"),
    (sc.chain((4, 6), "transpose 1,0", "select 0 -1"), "view"),
    (sc.chain((4, 6), "slice ::2", "reshape 12"), "copy"),
    (sc.chain((4, 6), "slice 1:3", "reshape 12"), "view"),
    (sc.chain((4, 6), "reshape 24", "slice 5::3"), "view"),
    (sc.roll((4, 6), 1, 1), "copy"),
    (sc.roll((4, 6), 6, 1), "view"),
    (sc.swapaxes((4, 6, 3), 0, 2), "view"),
    (sc.moveaxis((4, 6, 3), 0, -1), "view"),
    (sc.unflatten((4, 6), 1, (2, -1)), "view"),
    (sc.tile((4, 6), (2, 1)), "copy"),
    (sc.tile((1, 6), (4, 1)), "view"),
    (sc.chain((4, 6), "flip 0,1", "reshape 3,8"), "view"),
    (sc.chain((4, 6), "flip 0", "reshape 24"), "copy"),
    (sc.chain((4, 6), "select 1 2", "reshape 2,2"), "view"),
    (sc.chain((8, 9), "reshape 2,4,9", "transpose 1,0,2", "reshape 8,9", "transpose", "reshape 72"), "copy"),
]


@pytest.mark.parametrize(("answer", "verdict"), VERDICTS)
def test_verdict(answer, verdict):
    array = np.arange(prod(answer.input)).reshape(answer.input)
    result = run(answer, array)
    assert (result.verdict, len(result.plan.copies)) == (verdict, verdict == "copy")
    assert result.plan.bytes_moved == (result.array.nbytes if verdict == "copy" else 0)
    assert result.array.shape == answer.output


def test_a_copy_names_the_two_strides_that_forced_it():
    result = run(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(6, 4)), np.zeros((2, 3, 4), np.float32))
    assert result.plan.copies[0].culprits == (16, 48)
    assert [stage.shape for stage in result.plan.stages] == [(3, 2, 4), (6, 4)]


@pytest.mark.parametrize("size", [4, 1 << 16])
def test_shape_gives_the_vector(size):
    answer = sc.chain((2, 3, size), "transpose 2,0,1", "shape --start 1")
    result = run(answer, np.zeros((2, 3, size)))
    assert (result.array.tolist(), result.array.dtype) == ([2, 3], np.int64)


@pytest.mark.parametrize("size", [4, 512])
def test_a_subclass_gives_its_plain_elements(size):
    masked = np.ma.masked_array(np.arange(size * size).reshape(size, size), mask=True)
    result = run(sc.chain((size, size), "transpose", f"reshape 2,-1,{size}"), masked)
    assert type(result.array) is np.ndarray
    assert (result.array == masked.data.T.reshape(2, -1, size)).all()


def test_a_large_array_that_comes_back_to_where_it_was_is_never_copied():
    array = np.zeros((300, 400, 4))
    there_and_back = ("transpose 1,0,2", "reshape -1,4", "reshape 400,300,4", "transpose 1,0,2")
    result = run(sc.chain(array.shape, *there_and_back), array)
    assert (result.verdict, np.shares_memory(result.array, array)) == ("view", True)


@pytest.mark.parametrize("contiguous", [False, True])
def test_an_answer_is_carried_out_again_on_arrays_of_every_layout(contiguous):
    answer, whole = sc.transpose((40, 6, 50), (2, 0, 1)), np.arange(80 * 6 * 50, dtype=np.int64).reshape(80, 6, 50)
    for array in [whole[:40], whole[::2], whole[39::-1], np.asfortranarray(whole[:40]), whole[:40].astype("S3")] * 2:
        result = run(answer, array, contiguous=contiguous)
        assert (result.array == array.transpose(2, 0, 1)).all()
        assert result.array.flags.c_contiguous or not contiguous
    for _ in range(2):
        with pytest.raises(sc.ShapeError, match="shape"):
            run(answer, whole, contiguous=contiguous)


def test_what_is_kept_of_a_plan_keeps_no_array():
    answer, array = sc.transpose((300, 400)), np.zeros((300, 400))
    gone = weakref.ref(array)
    for contiguous in (False, True):
        run(answer, array, contiguous=contiguous)
    del array
    assert gone() is None


SIZES = {"1 kB": (1 << 8, 4), "1 MB": (1 << 8, 4096), "1 MB of numbers": (1 << 18, 4)}
"""How many elements there are, and the bytes of each. Of the first two, everything but the bytes is the same."""


def drawn_chain(seed, elements):
    """Return a chain that a seed draws for so many elements, a power of two."""
    draw = random.Random(seed)
    shape, stages = (4, 8, elements // 32), []
    for _ in range(draw.randint(1, 4)):
        rank, kind = len(shape), draw.choice(("transpose", "reshape", "expand", "slice", "flip", "roll", "take"))
        if kind == "transpose":
            perm = draw.sample(range(rank), rank)
            stages.append(f"transpose {','.join(map(str, perm))}")
            shape = tuple(shape[axis] for axis in perm)
        elif kind == "reshape":
            first = draw.choice((2, 4, 8))
            shape = draw.choice(((first, prod(shape) // first), (prod(shape) // 4, 2, 2), (prod(shape),)))
            stages.append(f"reshape {','.join(map(str, shape))}")
        elif kind == "expand":
            shape = (2, *shape)
            stages.append(f"expand {','.join(map(str, shape))}")
        elif kind == "slice":
            stages.append("slice ::2")
            shape = (shape[0] // 2, *shape[1:])
        elif kind == "take":
            stages.append(f"take {rank - 1} 1,0,0,1")
            shape = (*shape[:-1], 4)
        elif kind == "flip":
            stages.append(f"flip {draw.randrange(rank)}")
        else:
            stages.append(f"roll 1 {draw.randrange(rank)}")
        if shape[0] % 2:
            break
    return sc.chain((4, 8, elements // 32), *stages)


LAYOUTS = {
    "C": lambda array: array,
    "Fortran": np.asfortranarray,
    "backwards": lambda array: array[::-1],
    "every second": lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    "masked": np.ma.masked_array,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("some", range(10))
def test_size_decides_neither_what_is_done_nor_who_may_write(some, layout):
    """A thousand chains for each way in which an array may lie in memory."""
    for seed in range(some * 100, some * 100 + 100):
        verdicts = []
        for elements, width in SIZES.values():
            answer, kind = drawn_chain(seed, elements), "i4" if width == 4 else f"V{width}"
            numbers = np.arange(elements * width // 4, dtype="i4").view(kind)
            array = LAYOUTS[layout](numbers.reshape(4, 8, -1))
            result = run(answer, array)
            assert result.array.tobytes() == moved_by_numpy(np.asarray(array), answer.moves).tobytes(), answer
            assert np.shares_memory(result.array, array) == (result.verdict == "view"), answer
            assert result.array.flags.writeable == (result.verdict == "copy" and not result.plan.repeats), answer
            verdicts.append(result.verdict)
        assert verdicts[0] == verdicts[1], answer


def test_an_expanded_array_is_not_written_through():
    for array in (np.arange(100_000, dtype=np.int64), np.arange(100)):
        result = run(sc.expand((len(array),), (3, len(array))), array)
        assert (result.verdict, array.flags.writeable) == ("view", True)
        with pytest.raises(ValueError, match="read-only"):
            result.array[0, 0] = 7


def test_the_verdict_says_what_was_done_to_be_contiguous():
    answer, array = sc.transpose((30, 40)), np.arange(1200).reshape(30, 40)
    for contiguous, verdict in ((False, "view"), (True, "copy")):
        result = run(answer, array, contiguous=contiguous)
        assert (result.verdict, result.plan.bytes_moved) == (verdict, contiguous * array.nbytes)
        assert result.array.flags.writeable == contiguous


def test_a_mapped_array_stays_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6).reshape(2, 3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(run(sc.transpose((2, 3)), mapped).array, mapped)


def test_what_cannot_be_carried_out():
    for answer, array in (
        (sc.reshape((2, 3), (6,)), np.zeros((3, 2))),
        (sc.reshape(("N", 3), (-1,)), np.zeros((2, 3))),
        (sc.concat((2, 3), (4, 3), axis=0), np.zeros((2, 3))),
    ):
        with pytest.raises(sc.ShapeError):
            run(answer, array)
    with pytest.raises(BackendError):
        run(sc.reshape((2, 3), (6,)), np.zeros((2, 3)), backend="abacus")


def test_cupy_without_cupy_says_what_to_install():
    try:
        backend_for(np.zeros(1), "cupy")
    except BackendError as error:
        assert "pip install 'cupy-cuda13x[ctk]" in str(error) or "device" in str(error)
    else:
        pytest.skip("CuPy is here, with a device")


INPUTS = {"Reshape": ["target"], "Squeeze": ["axes"], "Unsqueeze": ["axes"], "Tile": ["repeats"]}
INPUTS |= {"Pad": ["padding", "value", "axes"], "Resize": ["roi", "scale", "size"]}
"""What a node's inputs behind the data are, if they are no operands."""
ATTRIBUTES = {"blocksize": "block", "equation": "pattern", "kernel_shape": "kernel", "pads": "padding"}
ATTRIBUTES |= {"auto_pad": "padding", "strides": "stride", "dilations": "dilation", "ceil_mode": "ceil"}
WORDS = {b"SAME_UPPER": "same", b"SAME_LOWER": "same-lower"}
BY_NODE = {operator.name: op for op, operator in operators_of(ONNX).items() if not OPS[op].made_of}


NOT_READ = ("expand", "select", "take", "slice", "split")
"""The ops whose tests of ONNX hold no constants, or have inputs that are no arguments of ours."""
COMPUTING = {*COMBINING} - {"concat"}
"""The ops of which the shape alone is known."""


def onnx_cases():
    """Return ONNX's own backend tests of the ops: models of one node with their inputs and outputs.

    Sizes that Resize mends by a policy are no arguments of ours.
    """
    names = [name for name, op in BY_NODE.items() if op not in NOT_READ]
    for name in names:
        importlib.import_module(f"{onnx_nodes.__name__}.{name.lower()}")  # `collect_testcases` runs every op there is
    cases = [case for case in onnx_nodes._NodeTestCases if len(case.model.graph.node) == 1]
    return [case for case in cases if not case.name.endswith(("_not_larger", "_not_smaller"))]


def options_of(node, tensors):
    """Return the arguments that the attributes and the inputs of a node are."""
    op, given, options = BY_NODE[node.op_type], iter(tensors), {}
    (_, *inputs) = [next(given) if name else None for name in node.input]
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        value = WORDS.get(value, value.decode()) if isinstance(value, bytes) else value
        options[ATTRIBUTES.get(attribute.name, attribute.name)] = value
    if op == "conv":
        options["weight"] = inputs[0].shape
    elif op in COMBINING and node.op_type not in INPUTS:
        options |= {"operands": tuple([each.shape for each in inputs])} if inputs else {}
    else:
        pairs = zip(INPUTS.get(node.op_type, ()), inputs, strict=False)
        options |= {name: tuple(value.ravel().tolist()) for name, value in pairs if value is not None}
    if op == "upsample":
        axes = options.get("axes", range(tensors[0].ndim))
        for name in options.keys() & {"scale", "size"}:
            options[name] = tuple([value for axis, value in sorted(zip(axes, options[name], strict=True)) if axis > 1])
    read = {param.name for param in OPS[op].params} if op in COMPUTING else options
    return {name: value for name, value in options.items() if name in read}


@pytest.mark.parametrize("case", onnx_cases(), ids=lambda case: case.name)
def test_onnx_backend_data_value_by_value(case):
    (node,), (tensors, (expected, *_)) = case.model.graph.node, case.data_sets[0]
    data, op = tensors[0], BY_NODE[node.op_type]
    options = options_of(node, tensors) | {"opset": case.model.opset_import[0].version, "dtype": data.dtype.name}
    answer = sc.chain(data.shape, (op, options))
    if op in COMPUTING:
        assert answer.output == expected.shape
        return
    array = joined(answer, tensors) if op == "concat" else run(answer, data).array
    np.testing.assert_array_equal(array, expected)
    assert array.dtype == expected.dtype


def test_the_onnx_data_is_there():
    assert len(onnx_cases()) > 40
