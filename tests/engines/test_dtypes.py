"""The element types of every version against ONNX's schemas and ONNX Runtime's kernels."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto

from shapecalc.core.answers import Request
from shapecalc.core.ask import ask, setting_of
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, element_type, spelled
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import accepted_types
from shapecalc.core.resolve import resolve
from tests.engines.onnx_models import _session, model

ARGUMENTS = {"reshape": {"target": [6]}, "unsqueeze": {"axes": [0]}, "expand": {"target": [2, 3]}}
ARGUMENTS |= {"slice": {"slices": "0:1"}}
ARGUMENTS |= {"split": {"axis": 0, "parts": 2}}
ARGUMENTS |= {"tile": {"repeats": [2, 1]}}
ARGUMENTS |= {"select": {"axis": 0, "index": 0}}
ARGUMENTS |= {"depth_to_space": {"block": 2}, "space_to_depth": {"block": 2}}
ARGUMENTS |= {"concat": {"axis": 0}, "einsum": {"pattern": "ij,jk->ik"}}
ARGUMENTS |= {"take": {"axis": 0, "indices": [1, 0]}, "pad": {"padding": [1, 0, 0, 1]}}
ARGUMENTS |= {"pool": {"kernel": [2, 2]}, "upsample": {"size": [4, 4]}}
SHAPES = {"matmul": (2, 2), "einsum": (2, 2)} | {
    "squeeze": (1, 6),
    **dict.fromkeys(("conv", "pool", "upsample"), (1, 1, 2, 2)),
    "depth_to_space": (1, 4, 2, 2),
    "space_to_depth": (1, 4, 2, 2),
}
OPERATORS = {op: operator for op, operator in operators_of(ONNX).items() if not OPS[op].made_of}
KINDS = [{"kernel": kernel, "kind": kind} for kernel in ("2", "global") for kind in ("max", "average")]
VARIANTS = [OPERATORS["conv"].variant({"transposed": True}), *map(OPERATORS["pool"].variant, KINDS)]
NAMED = {operator.name: operator for operator in (*OPERATORS.values(), *VARIANTS)}
VERSIONS = [(name, version) for name, operator in NAMED.items() for version in operator.versions]


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_each_version_accepts_what_the_schema_accepts(name, version):
    schema = onnx.defs.get_schema(name, version)
    assert {element_type(name, ONNX) for name in schema.inputs[0].types} == NAMED[name].versions[version]


@pytest.mark.parametrize("name", NAMED)
def test_the_versions_are_those_of_the_schemas(name):
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.name == name]
    assert set(NAMED[name].versions) == {schema.since_version for schema in schemas if schema.domain == ""}


def test_a_variant_accepts_what_its_own_version_lists():
    asked = {"kernel": "2", "kind": "average", "opset": 20}
    refused = [resolve(ask("pool", "1,3,4,4", {**asked, "dtype": dtype})).problem for dtype in ("float32", "int8")]
    assert [problem and problem.rule for problem in refused] == [None, "dtype"]


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
    version = setting_of(Request(op, (), ARGUMENTS.get(op, {}), dialect="onnxruntime", opset=25)).version
    assert (dtype in accepted_types(OPS[op], DIALECTS["onnxruntime"], version)) is runs
