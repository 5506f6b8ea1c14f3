"""Pads carried out in memory, in files and in samples, compared with NumPy; stores refuse them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.ops.pad import MODE_PARAM
from shapecalc.core.problem import ShapeError
from shapecalc.engine import run
from shapecalc.engine.execute import Backend, _prepare_on_numpy, pad_array, sample_elements
from shapecalc.reasoning.examples import trace_element, trace_element_back
from shapecalc.render.grid import build_tensor_path


def draw(random):
    """Return an array of distinct elements above 0, a mode, and the padding of each axis, around all limits."""
    shape = [random.randint(1, 4) for _ in range(random.randint(1, 3))]
    array = np.arange(np.prod(shape)).reshape(shape) + 1
    return array, random.choice(MODE_PARAM.choices), [(random.randint(0, 9), random.randint(0, 9)) for _ in shape]


def answer_to(array, mode, pairs):
    return sc.pad(array.shape, [end for ends in zip(*pairs, strict=True) for end in ends], mode=mode, dialect="numpy")


def check_pad(random):
    """Fail unless the result, the sample, the paths and the grid of a drawn pad are NumPy's."""
    array, mode, pairs = draw(random)
    answer, expected = answer_to(array, mode, pairs), np.pad(array, pairs, mode)
    result = run(answer, array)
    assert (result.array.tolist(), result.array.dtype, result.verdict) == (expected.tolist(), array.dtype, "copy")
    assert result.array.flags.writeable and not np.shares_memory(result.array, array)
    sample = sample_elements(answer)[1]
    if sample.gaps == (None,) * array.ndim:
        assert sample.elements == np.pad(array - 1, pairs, mode).tolist()
    index = tuple([random.randrange(size) for size in array.shape])
    assert trace_element(answer, index)[-1][1] == tuple(np.argwhere(expected == array[index])[0])
    index = tuple([random.randrange(size) for size in expected.shape])
    stage, source = trace_element_back(answer, index)[-1]
    assert (stage, source) == ("fill", None) if expected[index] == 0 else array[source] == expected[index]
    source = build_tensor_path(answer).source_index(1, index)
    assert expected[index] == (array[source] if isinstance(source, tuple) else source)


def test_pad_run_sample_and_paths_equal_numpy():
    for seed in range(300):
        check_pad(Random(seed))


def test_pad_in_a_chain_equals_numpy():
    answer = sc.chain("2,3", "pad 1 --fill 7", "transpose", "pad 2,0,0,1 --mode wrap -d numpy", "reshape 5,7")
    array = np.arange(6.0).reshape(2, 3)
    padded = np.pad(array, 1, constant_values=7).T
    expected = np.pad(padded, [(2, 0), (0, 1)], "wrap").reshape(5, 7)
    assert run(answer, array).array.tolist() == expected.tolist()
    assert sample_elements(answer)[1].elements == expected.tolist()


def test_pad_plans_are_cached_by_layout_and_fill():
    for dtype, fill, hits in [("i8", 7, 0), ("f8", 7, 1), ("f8", 7.5, 0)]:
        answer = sc.chain("2,3", "transpose", f"pad 1 --fill {fill}", "transpose")
        array, before = np.arange(6).reshape(2, 3).astype(dtype), _prepare_on_numpy.cache_info().hits
        result = run(answer, array)
        assert _prepare_on_numpy.cache_info().hits - before == hits
        assert result.array.tolist() == np.pad(array, 1, constant_values=fill).tolist()
        assert (result.verdict, result.array.flags.writeable, result.array.dtype) == ("copy", True, dtype)


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64", ">f4"])
@pytest.mark.parametrize("options", [{"fill": 7}, {"mode": "reflect"}, {}])
def test_pad_on_a_device_moves_numbers(dtype, options):
    (move,) = sc.pad((2, 3), (1, -1, 1, 2) if "mode" not in options else 1, **options).moves
    array = np.arange(6).reshape(2, 3).astype(dtype)
    padded = pad_array(array, move, Backend("cupy", np))  # NumPy in place of CuPy: its functions have the same names
    assert (padded.dtype, padded.tolist()) == (array.dtype, pad_array(array, move).tolist())


def test_negative_padding_crops_as_a_slice():
    array = np.arange(12).reshape(3, 4)
    result = run(sc.pad((3, 4), (-1, 2, 0, -3), fill=5), array).array
    assert result.tolist() == np.pad(array[1:, :1], [(0, 0), (2, 0)], constant_values=5).tolist()


def test_shape_of_a_pad_is_a_vector():
    assert run(sc.chain("2,3", "pad 1", "shape"), np.zeros((2, 3))).array.tolist() == [4, 5]


@pytest.mark.parametrize(("dtype", "fill"), [("int64", 1.5), ("uint8", -1), ("int8", 300), ("bool", 2)])
def test_fill_outside_of_the_element_type_is_refused(dtype, fill):
    with pytest.raises(ShapeError, match=f"elements of type {dtype} cannot be {fill}"):
        run(sc.pad((2,), 1, fill=fill), np.zeros(2, dtype))


def test_pad_origins_read_the_padded_axis():
    answer = sc.pad((2, 3), (0, 1, 0, 1), mode="edge")
    assert answer.as_json()["origins"] == [
        [{"axis": 0, "size": 2, "stride": 1}],
        [{"reads": [{"operand": 0, "axis": 1}]}],
    ]


def test_pad_of_a_file_is_written(shapecalc, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6).reshape(2, 3))
    result = shapecalc("pad", str(tmp_path / "x.npy"), "1", "--mode", "edge", "-o", str(tmp_path / "y.npy"), "--values")
    assert (result.code, result.out) == (0, "4,5\n"), result.err
    assert np.load(tmp_path / "y.npy").tolist() == np.pad(np.arange(6).reshape(2, 3), 1, "edge").tolist()
    assert "[3 3 4 5 5]" in result.err


@pytest.mark.parametrize("options", [("-o", "y.zarr"), ("--plan",)])
def test_pad_of_a_store_is_refused(shapecalc, tmp_path, monkeypatch, options):
    zarr = pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    zarr.create_array("x.zarr", shape=(4, 4), chunks=(2, 2), dtype="i4")
    result = shapecalc("pad", "x.zarr", "1", *options)
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("shapecalc: file: stores are not padded")
    assert shapecalc("pad", "x.zarr", "1").out == "6,6\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("3,4 1 --mode edge --fill 2", 2, "usage: fill is for the mode constant, and this is edge"),
        ("3,4 1 --mode mean", 2, "usage: mode is constant or reflect"),
        ("3,4 1 --fill nan", 2, "usage: fill is one number"),
        ("3,4 1 --mode symmetric", 3, "mode-unsupported: onnx Pad has no mode symmetric"),
        ("3,4 1 --mode wrap --opset 18", 3, "mode-unsupported: Pad has the mode wrap since version 19"),
        ("3,4 1 --mode edge -d tflite", 3, "mode-unsupported: tflite PAD has no mode edge"),
        ("3,4 -1 --mode edge -d openvino", 3, "mode-unsupported: edge removes no positions"),
        ("1,2,3,4 1 --axes 0 --mode edge -d torch", 3, "mode-unsupported: torch pads the last 2 or 3 dims of rank 4"),
        ("3,4 4,0 --axes 1 --mode reflect -d torch", 3, "padding-limit: reflect adds at most 3"),
        ("3,4 5,0 --axes 1 --mode wrap -d torch", 3, "padding-limit: wrap adds at most 4"),
        ("3,0 1,0 --axes 1 --mode edge -d numpy", 3, "padding-limit: edge reads the new positions from dim 1"),
        (
            "3,4 5 --mode reflect -d numpy --as torch",
            2,
            "usage: torch refuses this pad: torch pads the last dim of rank 2",
        ),
        ("3,4 1 --mode symmetric -d numpy --as onnx", 2, "usage: onnx refuses this pad"),
        ("3,4 1 --mode circular -d numpy", 0, ""),
        ("3,4 9 --mode REFLECT -d jax", 0, ""),
    ],
)
def test_pad_refusals_and_exit_codes(shapecalc, words, code, message):
    result = shapecalc("pad", *words.split())
    assert (result.code, result.err.startswith(f"shapecalc: {message}" if message else "")) == (code, True), result.err


def test_pad_mode_conditions_of_names():
    assert str(sc.pad("N,H", (2, 2), axes=1, mode="reflect", dialect="torch").conditions[0]) == "H >= 3"
    assert sc.pad("N,H", (2, 2), axes=1, mode="reflect", dialect="numpy").conditions == ()


@pytest.mark.parametrize(
    ("shape", "axes", "pads"),
    [
        ("3,4", "1", "(1, 1)"),
        ("2,3,4", "1", "(0, 0, 1, 1)"),
        ("1,2,3,4", "3", "(1, 1, 0, 0)"),
        ("1,2,3,4", "1", "(0, 0, 0, 0, 1, 1)"),
        ("1,1,2,3,4", "4", "(1, 1, 0, 0, 0, 0)"),
    ],
)
def test_torch_code_lists_the_pairs_that_a_mode_needs(shapecalc, shape, axes, pads):
    result = shapecalc("pad", shape, "1", "--axes", axes, "--mode", "edge", "-d", "torch", "--as", "torch")
    assert result.out.splitlines()[-1] == f'y = torch.nn.functional.pad(x, {pads}, mode="replicate")'
