"""The element types of every version against ONNX's schemas and ONNX Runtime's kernels."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto

from shapecalc.core.answers import Request
from shapecalc.core.ask import setting_of
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, element_type, spelled
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import accepted_types
from tests.engines.onnx_models import _session, model

ARGUMENTS = {"reshape": {"target": [6]}, "unsqueeze": {"axes": [0]}, "expand": {"target": [2, 3]}}
ARGUMENTS |= {"slice": {"slices": "0:1"}}
ARGUMENTS |= {"split": {"axis": 0, "parts": 2}}
ARGUMENTS |= {"tile": {"repeats": [2, 1]}}
ARGUMENTS |= {"select": {"axis": 0, "index": 0}}
ARGUMENTS |= {"depth_to_space": {"block": 2}, "space_to_depth": {"block": 2}}
SHAPES = {"squeeze": (1, 6), "depth_to_space": (1, 4, 2, 2), "space_to_depth": (1, 4, 2, 2)}
OPERATORS = {op: operator for op, operator in operators_of(ONNX).items() if not OPS[op].made_of}
VERSIONS = [(op, version) for op, operator in OPERATORS.items() for version in operator.versions]


@pytest.mark.parametrize(("op", "version"), VERSIONS)
def test_each_version_accepts_what_the_schema_accepts(op, version):
    schema = onnx.defs.get_schema(OPERATORS[op].name, version)
    (types,) = [kind.allowed_type_strs for kind in schema.type_constraints if kind.type_param_str == "T"]
    assert {element_type(name, ONNX) for name in types} == OPERATORS[op].versions[version]


@pytest.mark.parametrize("op", OPERATORS)
def test_the_versions_are_those_of_the_schemas(op):
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.name == OPERATORS[op].name]
    assert set(OPERATORS[op].versions) == {schema.since_version for schema in schemas if schema.domain == ""}


def test_the_newest_opset_is_the_newest_that_onnx_has():
    assert DIALECTS["onnx"].newest_opset == onnx.defs.onnx_opset_version()


@pytest.mark.sampled(30)
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", sorted(SINCE_25))
def test_onnxruntime_accepts_at_opset_25_what_the_row_says(op, dtype):
    kind = getattr(TensorProto, spelled(dtype, ONNX).upper())
    try:
        _session(model(op, SHAPES.get(op, (2, 3)), ARGUMENTS.get(op, {}), 25, kind).SerializeToString())
        runs = True
    except Exception as error:
        assert "onnxruntime" in type(error).__module__
        runs = False
    version = setting_of(Request(op, (), dialect="onnxruntime", opset=25)).version
    assert (dtype in accepted_types(OPS[op], DIALECTS["onnxruntime"], version)) is runs
