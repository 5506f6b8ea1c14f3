"""The engine compared with NumPy: equal bytes, a view where possible, and the fewest copies."""

from __future__ import annotations

import importlib
import random
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise, permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnx.backend.test.case import node as onnx_nodes

import shapecalc as sc
from shapecalc.core.conditions import Assumptions
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.layout import view_after_moves
from shapecalc.core.moves import Reshape, Roll, Take
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.engine import run
from shapecalc.engine.execute import (
    BackendError,
    _prepare_on_numpy,
    apply_plan,
    combine_arrays,
    sample_elements,
    select_backend,
)
from shapecalc.engine.plan import plan_moves
from shapecalc.reasoning.examples import trace_element, trace_element_back
from tests.engine.drawing import draw_chain, seeds
from tests.engine.tables import rows
from tests.numpy_moves import apply_with_numpy
from tests.render.questions import COMBINING
from tests.sampling import each_row, examples
from tests.strategies import targets

NOT_MOVING = {*COMBINING, "expand", "select", "take", "slice", "split"} - {"concat"}
"""The ops that only compute shapes, or whose ONNX tests have other inputs than our arguments."""
DTYPES = st.sampled_from(["float32", "uint8", ">i4", "S3", "complex128", [("a", "u1"), ("b", "<f4")]])


@st.composite
def arrays(draw):
    """Draw an array of rank 0 to 8, with dims of 1 and 0, and strides of every kind."""
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


@examples(75)
@given(arrays(), seeds)
def test_run_chains_equal_numpy(array, draw):
    moves = draw_chain(draw, array.shape).moves
    expected = apply_with_numpy(array, moves)
    plan = plan_moves(moves, array.shape, array.strides, array.itemsize)
    found = apply_plan(plan, array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes()
    if plan.verdict == "view" and found.size:
        assert np.shares_memory(found, array)
    rolled = any(isinstance(move, Roll | Take) for move in moves)  # NumPy copies even if nothing moves
    if np.may_share_memory(expected, array) and found.size and moves and not rolled:
        assert plan.verdict == "view"


@each_row(("shape", "verdict", "stages"), [(*row[:2], row[2:]) for row in rows("verdicts")])
def test_run_verdict_and_copy_count(shape, verdict, stages):
    answer = sc.chain(shape, *stages)
    array = np.arange(prod(answer.input)).reshape(answer.input)
    result = run(answer, array)
    count = 0 if verdict == "view" else int(verdict.partition(" ")[0])
    assert (result.verdict, len(result.plan.copies)) == ("copy" if count else "view", count)
    copied = array if verdict.endswith("of the input") else result.array
    assert result.plan.bytes_moved == count * copied.nbytes
    assert (result.array == apply_with_numpy(array, answer.moves)).all()
    assert np.shares_memory(result.array, array) != bool(count)


def fewest_copies(shape, moves):
    """Return the fewest copies that the atoms of the core allow, over all partitions of the moves."""
    shapes = [shape]
    for move in moves:
        shapes.append(move.output_shape(shapes[-1]))

    def is_enough(places):
        views = [view_after_moves(shapes[start], moves[start:end], Assumptions()) for start, end in pairwise(places)]
        return all(view.is_strided for view in views) and all(len(axis) < 2 for axis in views[-1].axes)

    for count in range(len(moves) + 2):
        if any(is_enough((0, *cuts, len(moves))) for cuts in combinations(range(len(moves) + 1), count)):
            return count
    raise AssertionError(moves)


@pytest.mark.parametrize("some", range(4))
def test_run_plan_uses_the_fewest_copies(some):
    for seed in range(50):
        draw = random.Random(f"{some} {seed}")
        shape = tuple([draw.choice((2, 3, 4, 6)) for _ in range(draw.randint(2, 4))])
        moves = draw_chain(draw, shape, 6, without=("roll", "slice", "take", "select", "empty")).moves
        array = np.arange(prod(shape), dtype=np.int32).reshape(shape)
        plan = plan_moves(moves, shape, array.strides, array.itemsize)
        assert len(plan.copies) == fewest_copies(shape, moves), (shape, moves)
        assert apply_plan(plan, array).tolist() == apply_with_numpy(array, moves).tolist(), (shape, moves)


@st.composite
def views(draw):
    """Draw a shape without empty dims, often strides of a permuted tensor, and a target."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=4).map(tuple))
    strides, step = [0] * len(shape), 1
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = draw(st.sampled_from([step, step, step, 0, 5]))
        step *= shape[axis]
    return shape, tuple(strides), draw(targets(shape))


@examples(45)
@given(views())
def test_run_view_iff_no_copy(drawn):
    shape, strides, target = drawn
    trace = resolve(make_request("view", shape, {"target": target, "strides": strides}))
    settled = resolve(make_request("reshape", shape, {"target": target, "dialect": "torch"})).output
    if settled is None:
        assert trace.output is None
        return
    plan = plan_moves((Reshape(settled),), shape, strides, 1)
    assert (trace.output is None) == bool(plan.copies)
    if trace.output is not None:
        pairs = zip(trace.output, trace.steps[-1].shape, plan.stages[-1].strides, strict=True)
        assert all(ours == theirs for dim, ours, theirs in pairs if dim != 1)


PERMUTED = [[f"transpose {','.join(map(str, perm))}", "reshape 4,-1"] for perm in permutations(range(3))]


@each_row("stages", [*rows("chains"), *PERMUTED])
def test_run_followed_element_matches_data(stages):
    answer, whole = sc.chain((2, 3, 4), *stages), np.arange(24).reshape(2, 3, 4)
    made = run(answer, whole).array
    before, after = sample_elements(answer)
    assert (before.elements, after.elements) == (whole.tolist(), made.tolist())
    for element, index in enumerate(np.ndindex(whole.shape)):
        place = trace_element(answer, index)[-1][1]
        assert element not in made.ravel().tolist() if place is None else made[place] == element
    for index in np.ndindex(made.shape):
        stage, place = trace_element_back(answer, index)[-1]
        assert (stage, np.ravel_multi_index(place, whole.shape)) == ("input", made[index])


def test_run_copy_names_the_conflicting_strides():
    result = run(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(6, 4)), np.zeros((2, 3, 4), np.float32))
    assert result.plan.copies[0].blocking_strides == (16, 48)
    assert [stage.shape for stage in result.plan.stages] == [(3, 2, 4), (6, 4)]


@pytest.mark.parametrize("size", [4, 1 << 16])
def test_run_shape_gives_a_vector(size):
    answer = sc.chain((2, 3, size), "transpose 2,0,1", "shape --start 1")
    result = run(answer, np.zeros((2, 3, size)))
    assert (result.array.tolist(), result.array.dtype) == ([2, 3], np.int64)


@pytest.mark.parametrize("size", [4, 512])
def test_run_array_subclass_gives_plain_elements(size):
    masked = np.ma.masked_array(np.arange(size * size).reshape(size, size), mask=True)
    result = run(sc.chain((size, size), "transpose", f"reshape 2,-1,{size}"), masked)
    assert type(result.array) is np.ndarray
    assert (result.array == masked.data.T.reshape(2, -1, size)).all()


@pytest.mark.parametrize("contiguous", [False, True])
def test_run_repeats_on_every_memory_layout(contiguous):
    answer, whole = sc.transpose((40, 6, 50), (2, 0, 1)), np.arange(80 * 6 * 50, dtype=np.int64).reshape(80, 6, 50)
    for array in [whole[:40], whole[::2], whole[39::-1], np.asfortranarray(whole[:40]), whole[:40].astype("S3")] * 2:
        result = run(answer, array, contiguous=contiguous)
        assert (result.array == array.transpose(2, 0, 1)).all()
        assert result.array.flags.c_contiguous or not contiguous
    for _ in range(2):
        with pytest.raises(sc.ShapeError, match="shape"):
            run(answer, whole, contiguous=contiguous)


PREPARED = [((3, 200, 200), (1, 2, 0)), ((100, 120, 2), (1, 0, 2)), ((1100, 130), (1, 0)), ((40, 1200), (1, 0))]
"""Layouts that are copied by index, as merged elements, in tiles and in order."""


@pytest.mark.parametrize(("shape", "perm"), PREPARED)
def test_run_prepared_copy_serves_every_element_type(shape, perm):
    answer, numbers = sc.transpose(shape, perm), np.arange(prod(shape), dtype=np.int64).reshape(shape)
    kinds = ("i8", ">i8", "M8[s]", "S8", [("a", "i4"), ("b", "f4")])
    arrays = [*[numbers.view(kind) for kind in kinds], numbers.astype(object)]
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda array: run(answer, array, contiguous=True).array, arrays * 3)
        for array, found in zip(arrays * 3, results, strict=True):
            assert (found.dtype, found.flags.c_contiguous, found.flags.writeable) == (array.dtype, True, True)
            assert (found == array.transpose(perm)).all()


def test_run_view_of_strided_strings():
    words = np.array([["long" * 9, "b", "c"], ["d", "e", "f"]], object)
    for array in (words, words[:, ::2], words[::-1], words.T):
        result = run(sc.transpose(array.shape), array)
        assert (result.array.tolist(), result.verdict) == (array.T.tolist(), "view")


def test_run_refuses_truth_values_which_equal_sizes_in_tables():
    run(sc.reshape((1, 6), (6, 1)), np.zeros((1, 6)))
    for request in (
        lambda: sc.reshape((True, 6), (6, 1)),
        lambda: sc.reshape((1, 6), (6, True)),
        lambda: sc.transpose((1, 6), (True, False)),
        lambda: sc.roll((1, 6), True, True),
    ):
        with pytest.raises(sc.ShapeError, match="not True"):
            request()


def test_run_table_of_plans_is_bounded():
    for size in range(1, 400):
        run(sc.transpose((2, size)), np.zeros((2, size)))
    for table in (plan_moves, _prepare_on_numpy):
        assert table.cache_info().currsize <= table.cache_info().maxsize < 400


def test_run_plan_cache_keeps_no_arrays():
    answer, array = sc.transpose((300, 400)), np.zeros((300, 400))
    gone = weakref.ref(array)
    for contiguous in (False, True):
        run(answer, array, contiguous=contiguous)
    del array
    assert gone() is None


SIZES = {"1 kB": (1 << 8, 4), "1 MB": (1 << 8, 4096), "1 MB of numbers": (1 << 18, 4)}
"""The element count and the bytes of an element; the first two differ in the bytes only."""
LAYOUTS = {
    "C": lambda array: array,
    "Fortran": np.asfortranarray,
    "backwards": lambda array: array[::-1],
    "every second": lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    "masked": np.ma.masked_array,
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("some", range(2))
def test_run_writability_is_independent_of_size(some, layout):
    for seed in range(some * 25, some * 25 + 25):
        verdicts = []
        for elements, width in SIZES.values():
            answer = draw_chain(random.Random(seed), (4, 8, elements // 32), 4, ["empty"])
            numbers = np.arange(elements * width // 4, dtype="i4").view("i4" if width == 4 else f"V{width}")
            array = LAYOUTS[layout](numbers.reshape(4, 8, -1))
            result = run(answer, array)
            assert result.array.tobytes() == apply_with_numpy(np.asarray(array), answer.moves).tobytes(), answer
            assert np.shares_memory(result.array, array) == (result.verdict == "view"), answer
            assert result.array.flags.writeable == (result.verdict == "copy" and not result.plan.has_repeats), answer
            verdicts.append(result.verdict)
        assert verdicts[0] == verdicts[1], answer


@examples(75)
@given(arrays(), st.data())
def test_run_repeat_interleave_equals_numpy(array, data):
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1) if array.ndim else st.none())
    count = array.size if axis is None else array.shape[axis]
    repeats = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count) | st.integers(0, 3))
    repeats = [repeats] if isinstance(repeats, int) else repeats
    answer = sc.repeat_interleave(array.shape, tuple(repeats), axis, dialect="numpy")
    expected = np.repeat(array, np.array(repeats, int), axis)
    result = run(answer, array).array
    assert (result.shape, result.tobytes()) == (expected.shape, expected.tobytes())


def test_run_expanded_array_is_read_only():
    for array in (np.arange(100_000, dtype=np.int64), np.arange(100)):
        result = run(sc.expand((len(array),), (3, len(array))), array)
        assert (result.verdict, array.flags.writeable) == ("view", True)
        with pytest.raises(ValueError, match="read-only"):
            result.array[0, 0] = 7


def test_run_contiguous_verdict():
    answer, array = sc.transpose((30, 40)), np.arange(1200).reshape(30, 40)
    for contiguous, verdict in ((False, "view"), (True, "copy")):
        result = run(answer, array, contiguous=contiguous)
        assert (result.verdict, result.plan.bytes_moved) == (verdict, contiguous * array.nbytes)
        assert result.array.flags.writeable == contiguous


def test_run_mapped_array_stays_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6).reshape(2, 3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(run(sc.transpose((2, 3)), mapped).array, mapped)


def test_run_refuses_unsupported_answers():
    for answer, array in (
        (sc.reshape((2, 3), (6,)), np.zeros((3, 2))),
        (sc.reshape(("N", 3), (-1,)), np.zeros((2, 3))),
        (sc.concat((2, 3), (4, 3), axis=0), np.zeros((2, 3))),
    ):
        with pytest.raises(sc.ShapeError):
            run(answer, array)
    with pytest.raises(BackendError):
        run(sc.reshape((2, 3), (6,)), np.zeros((2, 3)), backend="abacus")


def test_run_cupy_missing_names_the_package():
    try:
        select_backend(np.zeros(1), "cupy")
    except BackendError as error:
        assert "pip install 'cupy-cuda13x[ctk]" in str(error) or "device" in str(error)
    else:
        pytest.skip("CuPy is here, with a device")


INPUTS = {"Reshape": "target", "Squeeze": "axes", "Unsqueeze": "axes", "Tile": "repeats"}
"""The argument that the second input stands for."""
MOVING = [op for op in operators_of(ONNX) if not OPS[op].composed_of and op not in NOT_MOVING]
BY_NODE = {operators_of(ONNX)[op].name: op for op in MOVING}


def onnx_cases():
    """Return the ONNX backend tests of ops that move elements: one-node models with their data."""
    for name in BY_NODE:
        importlib.import_module(f"{onnx_nodes.__name__}.{name.lower()}")  # `collect_testcases` would run every op
    cases = [case for case in onnx_nodes._NodeTestCases if case.model.graph.node[0].op_type in BY_NODE]
    assert len(cases) > 40
    return cases


@each_row("case", onnx_cases())
def test_run_onnx_backend_test_data(case):
    (node,), ((data, *others), (expected, *_)) = case.model.graph.node, case.data_sets[0]
    values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    options = {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}
    if "blocksize" in options:
        options["block"] = options.pop("blocksize")
    if node.op_type == "Concat":
        options["operands"] = tuple([each.shape for each in others])
    elif others:
        options[INPUTS[node.op_type]] = tuple(others[0].ravel().tolist())
    options |= {"opset": case.model.opset_import[0].version, "dtype": data.dtype.name}
    answer = sc.chain(data.shape, (BY_NODE[node.op_type], options))
    array = combine_arrays(answer, [data, *others]) if others and node.op_type == "Concat" else run(answer, data).array
    np.testing.assert_array_equal(array, expected)
    assert array.dtype == expected.dtype
