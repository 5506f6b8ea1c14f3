"""The ONNX dialects agree with shape inference and ONNX Runtime, and their types with the schemas."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import TensorProto

from shapecalc.core.answers import Request
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, element_type_name, parse_element_type
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import operator_types
from shapecalc.core.requests import make_request, select_rules
from shapecalc.core.resolve import resolve
from shapecalc.core.values import parse_slices
from tests.engines.drawing import ENDS, FLATTENS, REQUESTS, rows
from tests.engines.onnx_models import inferred_shape, model, runtime_result, runtime_shape, session_of
from tests.sampling import each_row, examples
from tests.strategies import shapes

ROWS = rows("onnx")
RUNTIME_VERSION = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
ENGINES = {
    "inference": inferred_shape,
    "known": runtime_shape,
    "unknown": lambda *request: runtime_shape(*request, known=False),
    "nothing known": lambda *request: runtime_shape(*request, known=False, constant=False),
}
DRAWN = REQUESTS | {
    op: st.tuples(shapes, st.fixed_dictionaries(fields))
    for op, fields in {"flatten": FLATTENS["axis"], "shape": ENDS}.items()
}
MODES = st.sampled_from([{}, {}, {"mode": "DCR"}, {"mode": "CRD"}])
TYPED = {op: (eval(shape), eval(f"dict({given})")) for name, op, shape, given in rows("typed") if name == "onnx"}
OPERATORS = {op: operator for op, operator in operators_of(ONNX).items() if not OPS[op].composed_of}
KINDS = [{"kernel": kernel, "kind": kind} for kernel in ("2", "global") for kind in ("max", "average")]
VARIANTS = [OPERATORS["conv"].variant_of({"transposed": True}), *map(OPERATORS["pool"].variant_of, KINDS)]
NAMED = {operator.name: operator for operator in (*OPERATORS.values(), *VARIANTS)}


@pytest.mark.parametrize("row", ROWS, ids=" | ".join)
@examples(32)
@given(data=st.data())
def test_onnx_engines_agree_or_both_refuse(row, data):
    op, dialect, engine, opsets, *differs = row
    if op == "split" and "18" in opsets and RUNTIME_VERSION < (1, 32):
        pytest.skip("ONNX Runtime 1.31 refuses an empty last part")
    opset, (shape, arguments) = int(data.draw(st.sampled_from(opsets.split()))), data.draw(DRAWN[op])
    if op == "reshape" and opset >= 14:
        arguments = {**arguments, "allowzero": int(data.draw(st.booleans()))}
    elif op in ("depth_to_space", "space_to_depth"):
        arguments = arguments | data.draw(MODES)
    elif op == "slice":
        assume(shape)  # it refuses empty starts and ends; the specification is silent
        assume(opset >= 10 or all(step is None for _, _, step in parse_slices(arguments["slices"])))
    elif op == "split":
        assume(0 <= arguments["part"] < arguments["parts"])  # a model cannot request other outputs
    ours = resolve(make_request(op, shape, {**arguments, "dialect": dialect, "opset": opset}))
    if not (ours.problem and differs and ours.problem.rule in differs[0].split()):
        assert ours.output == ENGINES[engine](op, shape, arguments, opset)


def test_onnx_inference_leaves_readme_dim_open():
    unknown = 0  # the value of a symbolic dim in `inferred`
    assert inferred_shape("reshape", ("N", "C", "H", "W"), {"target": (0, -1, 64)}, 21) == (unknown, unknown, 64)
    assert inferred_shape("reshape", ("N", 4), {"target": (2, 6)}, 21) == (2, 6)


@each_row("name", NAMED)
def test_onnx_versions_accept_schema_types(name):
    named = [each for each in onnx.defs.get_all_schemas_with_history() if (each.domain, each.name) == ("", name)]
    accepted = {each.since_version: {parse_element_type(kind, ONNX) for kind in each.inputs[0].types} for each in named}
    assert accepted == NAMED[name].versions


def test_onnx_variant_accepts_listed_types():
    options = {"kernel": "2", "kind": "average", "opset": 20}
    refused = [
        resolve(make_request("pool", "1,3,4,4", {**options, "dtype": dtype})).problem for dtype in ("float32", "int8")
    ]
    assert [problem and problem.rule for problem in refused] == [None, "dtype"]


def test_onnx_newest_opset_matches_the_package():
    assert DIALECTS["onnx"].newest_opset == onnx.defs.onnx_opset_version()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", OPERATORS)
def test_onnxruntime_element_types_at_opset_25(op):
    shape, arguments = TYPED[op]
    if op == "pad" and RUNTIME_VERSION < (1, 32):
        pytest.skip("ONNX Runtime 1.31 has no kernel of Pad for bfloat16")

    def runs(dtype):
        kind = getattr(TensorProto, element_type_name(dtype, ONNX).upper())
        made = model(op, shape, arguments, 25, kind).SerializeToString()
        return runtime_result(lambda: session_of(made)) is not None

    version = select_rules(Request(op, (), arguments, dialect="onnxruntime", opset=25)).version
    assert {*filter(runs, SINCE_25)} == {*SINCE_25} & {*operator_types(OPS[op], DIALECTS["onnxruntime"], version)}
