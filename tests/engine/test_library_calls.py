"""Every op compared element by element with NumPy's call of it, or with its definition where NumPy has no call.

The engine and the code writers read the stages of an op, so that they agree with each other even if a stage is wrong.
`tests/engines/` compares the dialects with other libraries.
"""

from __future__ import annotations

import warnings
from math import prod

import numpy as np
import pytest

from shapecalc.core import requests
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.engine import run
from shapecalc.engine.execute import combine_arrays, find_combine_move, has_combine_move
from shapecalc.render.code import generate_code
from shapecalc.render.code.calls import operand_shapes
from tests.engines.library_worker import indices
from tests.render.running import data, run_code
from tests.render.test_arguments import requests as argument_requests
from tests.signatures import call_text, vector_answers

ONLY_IN_LIBRARIES = {"conv", "pool", "upsample", "linear", "rearrange"}
"""The ops without a call in NumPy or a short definition, which other tests run in libraries."""


def shuffle(x, first=None, to=None, second=None):
    x = x.transpose(first or range(x.ndim))
    x = x.reshape([x.shape[axis] if dim == 0 else dim for axis, dim in enumerate(x.shape if to is None else to)])
    return x.transpose(second or range(x.ndim))


def unflatten(x, axis, sizes):
    axis %= x.ndim
    inferred = x.shape[axis] // prod(size for size in sizes if size != -1)
    sizes = [inferred if size == -1 else size for size in sizes]
    return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])


def depth_to_space(x, block, mode="DCR"):
    """Apply the definition of ONNX DepthToSpace, whose axes are batch, channels, rows and columns."""
    batch, channels, rows, columns = x.shape
    depth = channels // block**2
    if mode == "DCR":
        x = x.reshape(batch, block, block, depth, rows, columns).transpose(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(batch, depth, block, block, rows, columns).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(batch, depth, rows * block, columns * block)


def space_to_depth(x, block, mode="DCR"):
    """Apply the definition of ONNX SpaceToDepth."""
    batch, channels, rows, columns = x.shape
    x = x.reshape(batch, channels, rows // block, block, columns // block, block)
    x = x.transpose((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return x.reshape(batch, channels * block**2, rows // block, columns // block)


DEFINITIONS = {
    "select": lambda x, axis, index: x.take(index, axis),
    "take": lambda x, axis, indices: x.take(np.array(indices, int), axis),
    "slice": lambda x, slices: x[indices(slices)],
    "shape": lambda x, start=None, end=None: np.array(x.shape[start:end], int),
    "unflatten": unflatten,
    "view": lambda x, target: x.reshape(target),
    "shuffle": shuffle,
    "depth_to_space": depth_to_space,
    "space_to_depth": space_to_depth,
}
"""The ops without a call in NumPy, as their documents define them."""
NOT_IN_CALLS = {"mean": {"keepdims"}}
"""The options that no call in the signatures of an op has in NumPy."""


def expected_array(answer, x, operands):
    """Return the elements of an answer: those of the engine, or those of its code if it computes elements."""
    if not has_combine_move(answer):
        return run(answer, x).array
    try:
        find_combine_move(answer)
    except ShapeError:
        return run_code("numpy", generate_code(answer, "numpy").text, x, operands)
    return combine_arrays(answer, [x, *map(data, operands.values())])


def all_answers(op):
    """Return the answers of an op to its test vectors, and to requests with each of its optional arguments."""
    dialect = "numpy" if operator_of(op, DIALECTS["numpy"]) else op.default_dialect
    optional = [answered for name, _, _, row, _, answered in argument_requests() if (name, row) == (op.name, dialect)]
    return [*vector_answers(op, "numpy"), *optional]


def compared(op):
    """Yield the code of the answers of an op, their elements, and those of NumPy or of the definition."""
    for answer in all_answers(op):
        x, operands = data(answer.input), operand_shapes((answer,))
        if op.name in DEFINITIONS:
            arguments = {name: value for name, value in answer.request.arguments.items() if name != "strides"}
            yield answer, answer, run(answer, x).array, DEFINITIONS[op.name](x, **arguments)
            continue
        for call in parse_signatures(op.name):
            text = call_text(call, answer) if call.exists_in("numpy") else None
            if text is not None and not (op.name == "broadcast" and len(operands) != 1):  # `out` follows two arrays
                zeros = [f"{name} = 0 * {name}" for name in operands if op.name == "broadcast"]
                code = "\n".join(["import numpy as np", *zeros, f"y = {text}"])
                yield answer, code, expected_array(answer, x, operands), run_code("numpy", code, x, operands)


@pytest.mark.sampled(99)
@pytest.mark.parametrize("name", [name for name in OPS if name not in ONLY_IN_LIBRARIES])
def test_op_has_the_elements_of_its_numpy_call(name):
    count, names = 0, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of an empty array
        for answer, text, ours, theirs in compared(OPS[name]):
            assert ours.shape == theirs.shape, text
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=str(text))
            count += ours.size > 1
            names |= answer.request.arguments.keys()
    missing = {option for answer in all_answers(OPS[name]) for option in answer.request.arguments} - names
    assert missing == NOT_IN_CALLS.get(name, set()), f"no call of {name} that is compared has these options"
    assert count, f"{name} needs a call of NumPy in its signatures, or a definition in DEFINITIONS"


def test_op_with_a_wrong_move_is_detected(monkeypatch):
    flip, roll = OPS["flip"], OPS["roll"]
    wrong = replace(roll, resolve=lambda shape, rules, shift, axis=None: flip.resolve(shape, rules, axes=(0,)))
    monkeypatch.setitem(OPS.loaded, "roll", wrong)
    monkeypatch.setattr(requests, "_setting_cache", {})
    with pytest.raises(AssertionError):
        test_op_has_the_elements_of_its_numpy_call("roll")
