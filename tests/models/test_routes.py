"""The batch followed through one node, against ONNX Runtime: one sample is changed, and what changes is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from shapecalc.models.batch_axis import BatchAxis, Lost, NodeAtSize
from shapecalc.models.propagate import mark_after
from tests.models.samples import are_apart, changes, one_node, session

F = np.float32


def floats(*shape):
    return np.random.default_rng(1).normal(size=shape).astype(F)


def sizes(*numbers):
    return np.array(numbers, np.int64)


N = "N"
ROWS = [
    # operator, shapes of the inputs, constants after them, attributes, the output's axis and inner part; None: lost
    ("Relu", [(N, 3)], [], {}, (0, 1)),
    ("Add", [(N, 3), (4, N, 3)], [], {}, (1, 1)),
    ("Add", [(N, 1), (1, N)], [], {}, None),
    ("Mul", [(N, 3)], [floats(4, 1, 3)], {}, (1, 1)),
    ("Softmax", [(N, 3)], [], {"axis": 1}, (0, 1)),
    ("Softmax", [(N, 3)], [], {"axis": 0}, None),
    ("Softmax", [(2, N, 3)], [], {"axis": 0, "opset": 11}, None),
    ("Softmax", [(N, 2, 3)], [], {"axis": 1, "opset": 11}, (0, 1)),
    ("LogSoftmax", [(3, N)], [], {}, None),
    ("LpNormalization", [(N, 3)], [], {"axis": -1}, (0, 1)),
    ("LayerNormalization", [(N, 2, 3)], [floats(2, 3)], {"axis": 1}, (0, 1)),
    ("LayerNormalization", [(2, N, 3)], [floats(3)], {"axis": -2}, None),
    ("ReduceMean", [(2, N, 3)], [sizes(0)], {"keepdims": 0}, (0, 1)),
    ("ReduceMean", [(N, 3)], [sizes(0)], {}, None),
    ("ReduceSum", [(N, 3)], [], {}, None),
    ("ReduceSum", [(N, 3)], [], {"noop_with_empty_axes": 1}, (0, 1)),
    ("ReduceMax", [(N, 2, 3)], [], {"axes": [1, -1], "keepdims": 0, "opset": 13}, (0, 1)),
    ("ArgMax", [(2, N, 3)], [], {"axis": 0, "keepdims": 0}, (0, 1)),
    ("CumSum", [(N, 3)], [np.array(1)], {}, (0, 1)),
    ("CumSum", [(N, 3)], [np.array(-2)], {}, None),
    ("TopK", [(N, 5)], [sizes(2)], {"outputs": 2}, (0, 1)),
    ("MatMul", [(N, 2, 3)], [floats(3, 4)], {}, (0, 1)),
    ("MatMul", [(N, 3)], [floats(5, 3, 4)], {}, (1, 1)),
    ("MatMul", [(5, N, 2, 3), (N, 3, 4)], [], {}, (1, 1)),
    ("MatMul", [(N, 3), (3, N)], [], {}, None),
    ("MatMul", [(N, 3), (3,)], [], {}, (0, 1)),
    ("Gemm", [(N, 3)], [floats(3, 4), floats(4)], {}, (0, 1)),
    ("Gemm", [(3, N)], [floats(4, 3)], {"transA": 1, "transB": 1}, (0, 1)),
    ("Conv", [(N, 3, 5, 5)], [floats(2, 3, 3, 3)], {}, (0, 1)),
    ("Conv", [(1, 3, N, 5)], [floats(2, 3, 1, 3)], {}, (2, 1)),
    ("Conv", [(1, 3, N, 5)], [floats(2, 3, 1, 3)], {"pads": [1, 0, 1, 0]}, None),
    ("ConvTranspose", [(N, 3, 5)], [floats(3, 2, 3)], {}, (0, 1)),
    ("MaxPool", [(N, 3, 4)], [], {"kernel_shape": [2], "outputs": 2}, (0, 1)),
    ("AveragePool", [(2, N, 4)], [], {"kernel_shape": [2]}, (1, 1)),
    ("AveragePool", [(1, 2, N)], [], {"kernel_shape": [2]}, None),
    ("GlobalAveragePool", [(N, 3, 4)], [], {}, (0, 1)),
    ("BatchNormalization", [(N, 3, 4)], [floats(3), floats(3), floats(3), abs(floats(3))], {}, (0, 1)),
    ("InstanceNormalization", [(N, 3, 4)], [floats(3), floats(3)], {}, (0, 1)),
    ("LRN", [(N, 3, 4, 1)], [], {"size": 3}, (0, 1)),
    ("LRN", [(1, N, 4, 1)], [], {"size": 3}, None),
    ("Resize", [(N, 1, 4)], [None, np.array([1, 1, 2], F)], {}, (0, 1)),
    ("Pad", [(N, 3)], [sizes(0, 1, 0, 1)], {}, (0, 1)),
    ("Pad", [(N, 3)], [sizes(1, 0, -1, 0)], {}, None),
    ("Einsum", [(N, 2, 3), (N, 3, 4)], [], {"equation": "bij,bjk->bik"}, (0, 1)),
    ("Einsum", [(2, N)], [floats(2, 5)], {"equation": "ij,ik->kj"}, (1, 1)),
    ("Einsum", [(2, N)], [], {"equation": "ij->i"}, None),
    ("DepthToSpace", [(N, 4, 1, 1)], [], {"blocksize": 2}, (0, 1)),
    ("Trilu", [(N, 3, 3)], [], {}, (0, 1)),
    ("Transpose", [(2, N, 3)], [], {"perm": [1, 2, 0]}, (0, 1)),
    ("Reshape", [(N, 6)], [sizes(0, 2, 3)], {}, (0, 1)),
    ("Reshape", [(N, 6)], [sizes(-1)], {}, (0, 6)),
    ("Reshape", [(4, N)], [sizes(-1)], {}, (0, 1)),
    ("Reshape", [(4, N, 5)], [sizes(-1)], {}, (0, 5)),
    ("Reshape", [(N, 35)], [sizes(7, -1)], {}, None),
    ("Flatten", [(N, 2, 3)], [], {"axis": 0}, (1, 6)),
    ("Squeeze", [(1, N, 3)], [sizes(0)], {}, (0, 1)),
    ("Unsqueeze", [(N, 3)], [sizes(0)], {}, (1, 1)),
    ("Expand", [(N, 1)], [sizes(4, 1, 3)], {}, (1, 1)),
    ("Tile", [(N, 2)], [sizes(2, 3)], {}, (0, 1)),
    ("Concat", [(N, 2), (N, 3)], [], {"axis": 1}, (0, 1)),
    ("Concat", [(N, 2), (N, 2)], [], {"axis": 0}, (0, 1)),
    ("Concat", [(N, 2)], [floats(1, 2)], {"axis": 0}, None),
    ("Slice", [(N, 4)], [sizes(1), sizes(3), sizes(1)], {}, (0, 1)),
    ("Slice", [(N, 4)], [sizes(-1), sizes(-99), sizes(0), sizes(-1)], {}, None),
    ("Slice", [(N, 4)], [sizes(0), sizes(99), sizes(-2)], {}, (0, 1)),
    ("Slice", [(N, 4)], [sizes(0), sizes(1), sizes(0)], {}, None),
    ("Slice", [(2, 3, N)], [], {"starts": [1], "ends": [3], "axes": [1], "opset": 9}, (2, 1)),
    ("Split", [(N, 4)], [], {"axis": 1, "num_outputs": 2, "outputs": 2}, (0, 1)),
    ("Split", [(N, 4)], [sizes(1, 3)], {"axis": 1, "outputs": 2}, (0, 1)),
    ("Gather", [(N, 4)], [sizes(3, 1)], {"axis": 1}, (0, 1)),
    ("Gather", [(4, N)], [np.array(2)], {}, (0, 1)),
    ("Gather", [(N, 4)], [np.array(0)], {}, None),
    ("GatherElements", [(N, 4)], [lambda batch: np.zeros((batch, 3), np.int64)], {"axis": 1}, (0, 1)),
]


def shaped(shape, batch):
    return tuple([batch if size == N else size for size in shape])


def value_seen(value):
    """Return an attribute's value as a model that was read has it."""
    return tuple(value) if isinstance(value, list) else value.encode() if isinstance(value, str) else value


def marks_and_bits(row, batch):
    """Return the mark of each output of a row's node, and which samples its elements depend on."""
    op, named, constants, attributes, _ = row
    attributes = dict(attributes)
    outputs, opset = attributes.pop("outputs", 1), attributes.pop("opset", 18)
    constants = [each(batch) if callable(each) else each for each in constants]
    shapes = [tuple([batch if size == N else size for size in shape]) for shape in named]
    model = one_node(op, shapes, arguments=constants, outputs=outputs, opset=opset, **attributes)
    axes = {f"x{at}": shape.index(N) for at, shape in enumerate(named) if N in shape}
    bits = changes(session(model), {f"x{at}": floats(*shape) for at, shape in enumerate(shapes)}, axes, batch)
    seen = NodeAtSize(
        op,
        "",
        opset,
        {name: value_seen(value) for name, value in attributes.items()},
        batch,
        [*[BatchAxis(shape.index(N), 1) if N in shape else None for shape in named], *[None for _ in constants]],
        [*shapes, *[None if each is None else each.shape for each in constants]],
        [each.shape for each in bits],
        dict(enumerate([None if each is None or each.dtype == F else each for each in constants], len(shapes))).get,
        [at for at, each in enumerate(constants, len(shapes)) if each is None],
    )
    return [mark_after(seen, to) for to in range(outputs)], bits


@pytest.mark.parametrize("batch", [2, 3])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]} {row[3]}")
def test_a_mark_is_where_the_samples_are(row, batch):
    found, bits = marks_and_bits(row, batch)
    for mark, reached in zip(found, bits, strict=True):
        if row[4] is None:
            assert isinstance(mark, Lost)
        else:
            assert mark == BatchAxis(*row[4])
            assert are_apart(reached, mark.axis, mark.inner, batch)


def test_axes_that_nobody_knows_are_not_axes_left_out():
    shapes, ends = [(2, 4), (1,), (1,), None], sizes(1)
    seen = NodeAtSize(
        "Slice", "", 18, {}, 2, [BatchAxis(0, 1), None, None, None], shapes, [(2, 1)], [None, sizes(0), ends, None]
    )
    assert isinstance(mark_after(seen), Lost)
