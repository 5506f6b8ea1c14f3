"""Dialects agree with their libraries: equal shape, elements and strides, or both refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ALL_TYPES, SINCE_25
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.flatten import FLATTEN_SEMANTICS
from shapecalc.core.ops.op import operator_types
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.engine.execute import run
from tests.engines.drawing import FLATTENS, OF_LIBRARY, REQUESTS, rows
from tests.engines.library_worker import indices
from tests.sampling import each_row, examples
from tests.strategies import shapes

NAMES = ("numpy", "torch", "openvino", "paddle", "mxnet", "tensorflow", "jax", "tflite", "coreml")
ENGINES = {"onnx", "onnxruntime", "tensorrt", "onednn", "caffe"}
"""The dialects that `test_onnx.py` compares with engines of ONNX, or whose engine cannot be installed."""
OPERATORS = [
    (name, op) for name in NAMES for op in operators_of(DIALECTS[name]) if op in {"flatten", *REQUESTS} - {"rearrange"}
]
COMPARED_ELSEWHERE = {"flatten", "pad", "conv", "pool", "upsample"}
COMPARED_ELSEWHERE |= {"broadcast", "matmul", "linear", "concat", "stack", "einsum"}
"""The ops without a strategy in `REQUESTS`, drawn from `FLATTENS`, in `test_pads.py` or in `test_operands.py`."""
UNCHECKED = {(name, op): rules.split() for name, op, rules, _ in rows("unchecked")}
ASKED = rows("requests")
TYPED = {(name, op): (eval(shape), eval(f"dict({given})")) for name, op, shape, given in rows("typed")}
"""The arguments of each op in the test of all element types."""
NOT_REACHED = {"int2", "uint2", "int4", "uint4"}
"""Element types that PyTorch only stores, and that the dialect does not promise."""


def answer(name, op, shape, **arguments):
    return resolve(make_request(op, shape, arguments if name == "einops" else {**arguments, "dialect": name}))


def request_strategy(name, op):
    """Return a strategy for requests to a library."""
    if op == "flatten":
        mode = FLATTEN_SEMANTICS.for_dialect(DIALECTS[name]).flattens
        return st.tuples(shapes, st.fixed_dictionaries(FLATTENS[mode.name.lower()]))
    return OF_LIBRARY.get((name, op), REQUESTS[op])


def is_skipped(name, op, shape, arguments):
    """Return whether a request is skipped: the library crashes, or its result is undocumented."""
    if (name, op) == ("tflite", "flip"):
        return 0 in shape
    if (name, op) == ("coreml", "slice") and len(shape) > 0:
        parts = zip(shape, indices(arguments["slices"]), strict=False)
        before = [part.stop is not None and part.stop < -dim and (part.step or 1) < 0 for dim, part in parts]
        return 0 in shape or any(before)
    if name == "openvino":  # it has no empty constants and no out-of-range outputs
        lists = [value for value in arguments.values() if isinstance(value, tuple)]
        without = (op in ("transpose", "squeeze") and not lists) or arguments.get("slices") == "[]"
        return without or () in (shape, *lists) or not 0 <= arguments.get("part", 0) < 1
    return name == "coreml" and shape == ()


@pytest.mark.parametrize("name", NAMES)
def test_every_op_of_a_library_is_compared(name):
    missing = operators_of(DIALECTS[name]).keys() - REQUESTS.keys() - COMPARED_ELSEWHERE
    assert not missing, f"tests/engines/drawing.py draws no requests of {', '.join(missing)}, which {name} has"


def test_every_dialect_is_compared_with_its_library():
    assert DIALECTS.keys() - {*NAMES} == ENGINES, "add the library of a dialect to library_worker.py"


@pytest.mark.parametrize(("name", "op"), [*OPERATORS, ("einops", "rearrange")])
@examples(45)
@given(data=st.data())
def test_library_and_dialect_agree_or_both_refuse(engine, name, op, data):
    library = engine(name)
    shape, arguments = data.draw(request_strategy(name, op))
    assume(not is_skipped(name, op, shape, arguments))
    assert_agreement(library, name, op, shape, arguments)


def assert_agreement(library, name, op, shape, arguments):
    ours = answer(name, op, shape, **arguments)
    theirs, elements, strides = library.query(op, shape, arguments)
    if name == "torch" and min(theirs or (), default=0) < 0:
        theirs = None  # it returns -1 as a size
    rule = ours.problem and ours.problem.rule + "*" * (0 in shape or shape == ())
    if rule and {rule, rule.rstrip("*")} & {*UNCHECKED.get((name, op), ())}:
        return
    assert ours.output == theirs
    if op == "view" and theirs is not None:
        assert ours.steps[-1].shape == tuple(strides)
    elif elements is not None and op != "mean":  # its elements are computed
        made = run(ours, np.arange(np.prod(shape, dtype=int)).reshape(shape)).array
        assert made.ravel().tolist() == elements


@each_row("asked", ASKED)
def test_library_listed_requests_agree_or_differ_as_listed(engine, asked):
    name, op, shape, arguments, *differs = asked
    library, shape = engine(name), eval(shape)
    arguments = eval(f"dict({arguments})")  # a row of the table
    if not differs:
        assert_agreement(library, name, op, shape, arguments)
        return
    assert library.ask(op, shape, **arguments) == eval(differs[0])
    ours = answer(name, "reshape" if op == "operator" else op, shape, **arguments).output
    assert (ours is None) != (eval(differs[0]) is None)
    if name == "mxnet":
        library.close()  # an out-of-bounds write may crash the process later


@each_row(("name", "op"), [each for each in OPERATORS if each[0] not in ("numpy", "torch", "openvino")])
def test_library_element_types_match_the_dialect(engine, name, op):
    library = engine(name)
    plain = ((1, 4, 4, 4) if name == "mxnet" else (1, 3), {})
    shape, arguments = TYPED.get((name, op), plain if name == "mxnet" else TYPED.get(("all", op), plain))
    runs = {dtype for dtype in ALL_TYPES if library.ask(op, shape, dtype, **arguments) is not None}
    assert runs == operator_types(OPS[op], DIALECTS[name], None)


@each_row("name", sorted(SINCE_25 - NOT_REACHED))
def test_torch_element_types_are_complete(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert hasattr(torch, name) is (name in DIALECTS["torch"].types)


@pytest.mark.parametrize("kind", ["mean", "sum", "max", "min"])
def test_torch_reduction_types_match_the_dialect(kind):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    name = {"max": "amax", "min": "amin"}.get(kind, kind)
    for dtype in DIALECTS["torch"].types & {*dir(torch)}:
        try:
            getattr(torch.zeros(2, 3, dtype=getattr(torch, dtype)), name)(1)
            runs = True
        except RuntimeError:
            runs = False
        assert (answer("torch", "mean", (2, 3), axes=[1], kind=kind, dtype=dtype).output is not None) == runs, dtype
