"""The element types of every version against ONNX's schemas and ONNX Runtime's kernels."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto

from shapecalc.core.dtypes import ONNX, SINCE_25, accepted, element_type, spelled
from shapecalc.core.rules import DIALECTS
from shapecalc.core.setting import setting
from tests.engines.onnx_models import _session, model

ARGUMENTS = {"reshape": {"target": [6]}, "unsqueeze": {"axes": [0]}, "expand": {"target": [2, 3]}}
VERSIONS = [(op, version) for op, versions in ONNX.items() for version in versions]


@pytest.mark.parametrize(("op", "version"), VERSIONS)
def test_each_version_accepts_what_the_schema_accepts(op, version):
    schema = onnx.defs.get_schema(op.capitalize(), version)
    (types,) = [kind.allowed_type_strs for kind in schema.type_constraints if kind.type_param_str == "T"]
    assert {element_type(name, "onnx") for name in types} == accepted("onnx", op, version)


@pytest.mark.parametrize("op", ONNX)
def test_the_versions_are_those_of_the_schemas(op):
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.name == op.capitalize()]
    assert set(ONNX[op]) == {schema.since_version for schema in schemas if schema.domain == ""}


def test_the_newest_opset_is_the_newest_that_onnx_has():
    assert DIALECTS["onnx"].newest_opset == onnx.defs.onnx_opset_version()


@pytest.mark.parametrize("op", ONNX)
@pytest.mark.parametrize("dtype", sorted(SINCE_25))
def test_onnxruntime_accepts_at_opset_25_what_the_row_says(op, dtype):
    kind = getattr(TensorProto, spelled(dtype, "onnx").upper())
    shape = (1, 6) if op == "squeeze" else (2, 3)
    try:
        _session(model(op, shape, ARGUMENTS.get(op, {}), 25, kind).SerializeToString())
        runs = True
    except Exception as error:
        assert "onnxruntime" in type(error).__module__
        runs = False
    assert (dtype in accepted("onnxruntime", op, setting("onnxruntime", op, 25, None).version)) is runs
