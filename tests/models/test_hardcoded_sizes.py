"""The numbers that `model --free` reports are sizes: with the expressions in their place, the model runs elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from shapecalc.models.file import read_model
from shapecalc.models.free_dims import BatchOptions
from shapecalc.models.hardcoded_sizes import find_hardcoded_sizes
from shapecalc.models.judge import judge_model
from tests.models.judging import with_shapes
from tests.models.samples import session
from tests.models.text import model

HARDCODED = """
x = (1,3,16,24); y = Reshape x [1,3,384] => y: 384 was H*W
x = (1,3,16,24); y = Reshape x [1,-1,384] => y: 384 was H*W
x = (1,3,16,24); y = Reshape x [3,16,24]; z = Relu y => y: 16 was H; y: 24 was W
x = (1,4,8,12); y = MaxPool x kernel_shape=[4,4] strides=[4,4]; z = Reshape y [1,4,6] => z: 6 was H/4*W/4
x = (1,4,8,12); y = Reshape x [1,4,2,4,12] => y: 2 may be H/4; y: 12 was W
x = (1,4,8,12); y = Reshape x [0,4,96]; z = Reshape y [0,4,8,12] => y: 96 was H*W; z: 8 may be H; z: 12 may be W
x = (1,1,8,12); y = Expand x [1,3,8,12] => y: 8 was H; y: 12 was W
x = (1,4,4,8); y = Reshape x [1,2,-1]; z = Relu y; w = Reshape z [1,4,4,8] => w: 4 may be H; w: 8 may be W
x = (1,3,8,12); y = Reshape x [0,0,-1]; z = Relu y =>
"""
ROWS = [line.rpartition("=>")[::2] for line in HARDCODED.strip().splitlines()]


def judge_free(proto, folder, names):
    path = folder / "m.onnx"
    onnx.save(proto, path)
    judged = judge_model(read_model(path), BatchOptions(shapes={"x": (1, "C", "H", "W")}))
    return find_hardcoded_sizes(judged, names)


def evaluate(text, sizes):
    """Return the value of an expression such as `H/4*W/4+1`."""
    return int(eval(text, {}, {name: Fraction(size) for name, size in sizes.items()}))


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[row[0].partition(";")[2] for row in ROWS])
def test_hardcoded_sizes_of_targets(text, expected, tmp_path):
    proto = with_shapes(model(text))
    found = judge_free(proto, tmp_path, ["H", "W"])
    words = [
        f"{size.node.name}: {size.number} {'was' if size.is_certain else 'may be'} {size.expression or '?'}"
        for size in found.hardcoded
    ]
    assert words == [word.strip() for word in expected.split(";") if word.strip()]
    sizes = {name: size * factor for (name, size), factor in zip(found.sizes.items(), (4, 8), strict=True)}
    targets = {node.name: node.input[1] for node in proto.graph.node if len(node.input) > 1}
    constants = {tensor.name: tensor for tensor in proto.graph.initializer}
    for size in found.hardcoded:
        tensor = constants[targets[size.node.name]]
        numbers = numpy_helper.to_array(tensor).copy()
        numbers[size.axis] = evaluate(size.expression, sizes)
        tensor.CopyFrom(numpy_helper.from_array(numbers, tensor.name))
    dims = proto.graph.input[0].type.tensor_type.shape.dim
    shape = [dim.dim_value for dim in dims[:2]] + [sizes["H"], sizes["W"]]
    for dim in dims:
        dim.Clear()
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    (output,) = session(proto).run(None, {"x": np.ones(shape, np.float32)})
    assert output.size


OTHERS = """
x = (1,4,8,12); y = Add x ones(8,12) => y: 8 was H; y: 12 was W
x = (1,4,8,12); y = MatMul x ones(12,5) => y: 12 was W
x = (1,4,8,12); y = Resize x _ _ [1,4,16,24] => y: 16 may be 2*H; y: 24 may be 2*W
x = (1,4,8,12); s = Shape x end=2; t = Concat s [16,24] axis=0; y = Resize x _ _ t => y: 16 may be 2*H; y: 24 may be 2*W
"""
OTHER_ROWS = [line.rpartition("=>")[::2] for line in OTHERS.strip().splitlines()]


@pytest.mark.parametrize(("text", "expected"), OTHER_ROWS, ids=[row[0].partition(";")[2] for row in OTHER_ROWS])
def test_hardcoded_sizes_of_constants(text, expected, tmp_path):
    found = judge_free(with_shapes(model(text)), tmp_path, ["H", "W"])
    words = [
        f"{size.node.name}: {size.number} {'was' if size.is_certain else 'may be'} {size.expression or '?'}"
        for size in found.hardcoded
    ]
    assert words == [word.strip() for word in expected.split(";")]
