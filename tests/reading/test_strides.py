"""The strides that code is read with, beside those that PyTorch has; the rows are recorded, and checked where it is."""

from __future__ import annotations

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import operators_of
from shapecalc.core.ops.strides import RESULT_STRIDES
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import parse_shape
from shapecalc.reading.code.source import parse_code
from shapecalc.reading.code.statements import CodeInterpreter
from shapecalc.reading.code.values import StageRefused, TracedTensor
from tests.cases import rows
from tests.sampling import each_row


def strides_of(code, inputs):
    """Return the strides of the last tensor of code; None if it is refused or not read."""
    interpreter = CodeInterpreter(code, "torch", {}, [])
    try:
        result = interpreter.interpret_module(parse_code(code), inputs)
    except StageRefused:
        return None
    result = result[0] if isinstance(result, tuple) else result
    return result.strides if isinstance(result, TracedTensor) else None


@each_row(("code", "inputs", "expected"), rows("strides", "PyTorch 2.13"))
def test_strides_of_code_are_those_recorded(code, inputs, expected):
    """Dims of 1 may have other strides: no row has one."""
    strides = strides_of(code, {name: parse_shape(dims) for name, dims in (item.split("=") for item in inputs.split())})
    assert ("refused" if strides is None else ",".join(map(str, strides))) == expected


@pytest.mark.parametrize("rank", [3, 5])
def test_memory_format_needs_its_rank(rank):
    code = "x.to(memory_format=torch.channels_last)"
    interpreter = CodeInterpreter(code, "torch", {}, [])
    with pytest.raises(ShapeError, match=f"channels_last needs 4 dims, and the tensor has {rank}"):
        interpreter.interpret(parse_code(code), {"x": (2,) * rank})


STRIDES_OF_STAGES = {"reshape", "flatten", "unflatten", "view", "transpose", "swapaxes", "moveaxis", "rearrange"}
STRIDES_OF_STAGES |= {"squeeze", "unsqueeze", "expand", "select", "slice", "split", "roll", "shape", "mean"}
"""The ops of PyTorch whose results have the strides of their stages: views if possible, otherwise contiguous."""


def test_every_op_of_torch_has_strides():
    listed = RESULT_STRIDES.keys() | STRIDES_OF_STAGES
    missing = operators_of(DIALECTS["torch"]).keys() - listed
    assert not missing, f"add the strides of {', '.join(missing)} to RESULT_STRIDES, or say here that it is a view"
    assert not RESULT_STRIDES.keys() & STRIDES_OF_STAGES
