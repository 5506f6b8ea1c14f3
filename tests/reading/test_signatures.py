"""Code with a call from the signatures of an op is read as this op: no table of functions hides the name."""

from __future__ import annotations

import re

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.problem import ShapeError
from shapecalc.reading.code import calls as code_calls
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.shape_functions import SHAPE_FUNCTIONS
from shapecalc.reading.layers import LAYERS, MULTI_OPERAND_FUNCTIONS
from shapecalc.reasoning.answers import answer_chain
from shapecalc.render.code.calls import operand_shapes
from tests.signatures import call_text, vector_answers

FRAMEWORKS = {*DIALECTS, "einops"}
CALLS = [
    (op.name, framework, name, call)
    for op in OPS.values()
    for call in parse_signatures(op.name)
    for framework in call.frameworks.split()
    for name in call.names
]
OTHER_RANKS = {("torch", "t"), ("torch", "bmm"), ("torch", "conv3d"), ("torch", "max")}
"""The functions that take tensors or axes of other numbers of dims than the test vectors of their op."""


def code_for(call, name, answer):
    """Return the code of a call by one of its names for an answer, or None if the call cannot express it."""
    text = call_text(call, answer)
    if text is None:
        return None
    path = f"{call.path.rpartition('.')[0]}.{name}"
    arguments = text.removeprefix(call.path)
    if name[:1].isupper():
        return f"{path}{arguments.replace('(x, ', '(', 1)}(x)"
    return f"{path}{arguments}"


def outcome(code, answer, framework):
    """Return the output shape of code, or the reason why it cannot be read."""
    shapes = {"x": answer.input} | {
        name: shape for name, shape in operand_shapes((answer,)).items() if re.search(rf"\b{name}\b", code)
    }
    try:
        chain = interpret_code(code, shapes, framework if framework in DIALECTS else None)
        return answer_chain(chain.input_shape, chain.stages, {}).output if chain.stages else "it has no stage"
    except ShapeError as error:
        return str(error)


def check_call(op, framework, name, call):
    """Fail unless code with a call is read as its op."""
    codes = [(code_for(call, name, answer), answer) for answer in vector_answers(OPS[op], framework)]
    outcomes = [(code, outcome(code, answer, framework), answer.output) for code, answer in codes if code]
    if not outcomes or (framework, name) in OTHER_RANKS:
        handler = LAYERS[name].op if name in LAYERS else MULTI_OPERAND_FUNCTIONS.get(name)
        assert handler is OPS[op] or name in code_calls.SHAPE_CHANGING_FUNCTIONS.keys() - SHAPE_FUNCTIONS.keys()
        return
    assert any(shape == output for _, shape, output in outcomes), (
        f"{name} of {framework} is not read as {op}: {outcomes}"
    )


@pytest.mark.sampled(99)
@pytest.mark.parametrize("op", OPS)
def test_signatures_are_read_as_their_op(op):
    for row in CALLS:
        if row[0] == op:
            check_call(*row)


def test_hidden_signature_is_detected(monkeypatch):
    monkeypatch.setattr(code_calls, "SHAPE_FUNCTION_NAMES", {"roll"})
    row = next(row for row in CALLS if row[:3] == ("roll", "torch", "roll"))
    monkeypatch.setitem(SHAPE_FUNCTIONS, "roll", SHAPE_FUNCTIONS["gather"])
    with pytest.raises(AssertionError):
        check_call(*row)
