"""Pool: a window slides along the spatial dims, and yields its maximum or mean."""

from __future__ import annotations

from _collections_abc import Mapping

from shapecalc.core.answers import NONE, Kind, Reasons, Stage
from shapecalc.core.dialects.base import FLOATS, Holds, Operator, Param, Setting
from shapecalc.core.dims import Shape
from shapecalc.core.ops import windows
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.problem import misuse
from shapecalc.core.record import replace

GLOBAL = "global"
"""The word for a kernel over all spatial dims."""


def pool(
    shape: Shape, at: Setting, kernel: Shape | str, kind: str = "max", layout: str | None = None, **moved: object
) -> Reasons:
    """Slide a window along the spatial dims; `global` is a window over all of them.

    Source: ONNX MaxPool, AveragePool and their global ones, torch.nn.MaxPool2d, keras.layers.MaxPooling2D, OpenVINO.
    Raises `ShapeError`: window-rank, window-values, window-too-large, bad-padding.
    """
    yield Stage(Kind.WINDOW, "pool", "kernel", shape)
    count = len(kernel) if isinstance(kernel, tuple) and len(kernel) > 1 else max(len(shape) - 2, 1)
    _, axes = windows.spatial_axes(shape, at, count, layout)
    if isinstance(kernel, tuple):
        sizes = windows.for_each(kernel, [count], "kernel")
        moved = {"stride": sizes, **moved} if at.row.windows.kernel_steps else moved
        window_list = windows.windows_of(axes, at, kind, sizes, moved)
    elif moved:
        name = next(iter(moved))
        raise misuse(f"a global pool has no {name}: its window is over all of the spatial dims", argument=name)
    else:
        window_list = [windows.Window(axis, shape[axis]) for axis in axes]
    steps = {window.axis: windows.slid(shape[window.axis], window, at) for window in window_list}
    return (
        yield from windows.along_axes(shape, steps, [window.axis for window in window_list if not window.reads_one])
    )


def _kinds(most: Operator, mean: Operator, whole: Mapping[str, Operator] = NONE) -> Operator:
    """Return the operator with its average and global variants."""

    def variant(given: Mapping[str, object]) -> Operator:
        kind = str(given.get("kind", "max"))
        operator = mean if kind == "average" else most
        return whole.get(kind, operator) if given["kernel"] == GLOBAL else operator

    return replace(most, variant=variant)


def _layers(most: str, mean: str, *lacking: str) -> Operator:
    """Return the variants of a framework without versions.

    `missing` are the parameters that both lack; average pools also lack a dilation.
    """
    lacks = dict.fromkeys(lacking)
    return _kinds(Operator(most, since=lacks), Operator(mean, since={**lacks, "dilation": None}))


SMALL = FLOATS | {"int8", "uint8"}
MOST = {1: FLOATS, 8: FLOATS, 10: FLOATS, 11: FLOATS, 12: SMALL, 22: SMALL | {"bfloat16"}}
MEAN = {1: FLOATS, 7: FLOATS, 10: FLOATS, 11: FLOATS, 19: FLOATS, 22: FLOATS | {"bfloat16"}}
WHOLE = {1: FLOATS, 22: FLOATS | {"bfloat16"}}
ONNX = _kinds(
    Operator("MaxPool", MOST, since={"dilation": 10, "ceil": 10}),
    Operator("AveragePool", MEAN, since={"dilation": 19, "ceil": 10}),
    {"max": Operator("GlobalMaxPool", WHOLE), "average": Operator("GlobalAveragePool", WHOLE)},
)
OPENVINO = _kinds(
    Operator("MaxPool", required={"stride": 1}),
    Operator("AvgPool", required={"stride": 1}),
    {"max": Operator("ReduceMax"), "average": Operator("ReduceMean")},
)
KERNEL_HELP = "the size of the window, or global"
POOL = Op(
    name="pool",
    summary="Take the greatest element of each window, or the mean.",
    params=(
        Param("kernel", Holds.SIZES, KERNEL_HELP, positional=True, required=True, words=(GLOBAL,)),
        Param("kind", Holds.WORD, "what a window gives, by default max", words=("max", "average")),
        *windows.PARAMS,
        Param("ceil", Holds.FLAG, "count a last window that is cut off at the end"),
        windows.LAYOUT,
    ),
    steps=pool,
    operators={
        "onnx": ONNX,
        "torch": _layers("max_pool", "avg_pool"),
        "tensorflow": _layers("MaxPooling", "AveragePooling", "dilation", "ceil"),
        "tflite": _layers("MAX_POOL_2D", "AVERAGE_POOL_2D", "dilation", "ceil"),
        "openvino": OPENVINO,
        "tensorrt": _layers("Pooling", "Pooling", "dilation"),
        "paddle": _layers("max_pool", "avg_pool", "dilation"),
    },
    examples=(
        "pool 1,64,112,112 3 --stride 2 --padding 1",
        "pool N,C,H,W 2 --kind average --stride 2 --ceil --explain",
        "pool N,C,H,W global --kind average",
    ),
    vectors=vectors(
        "kernel stride padding",
        ("1,3,9,9", "2", "3 2 1", "2,3 2,1", "10", "2 1 same", "2 1 2", "global", "2,2,2"),
        ("3,9,9", "2", "2,2"),
        ("2,3,9", "3 2 0,1"),
        ("N,C,H,W", "2", "2 2", "3 2 1"),
    ),
    keeps_count=False,
)
