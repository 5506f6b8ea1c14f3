"""Models of public threads about batch sizes and dynamic shapes: what the report names, and what the fix does."""

from __future__ import annotations

import onnx
import pytest

from shapecalc.models.file import read_model
from shapecalc.models.judge import judge_model
from shapecalc.models.report import format_fix
from shapecalc.models.write import write_fixed_model
from tests.models.chains import comma
from tests.models.judging import with_shapes
from tests.models.text import model, sections


@pytest.mark.parametrize(("text", "lines"), sections("threads"))
def test_models_of_public_threads_are_settled(text, lines, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(with_shapes(model(text)), path)
    judged = judge_model(read_model(path))
    report = judged.build_report("m.onnx")
    failing = [*[node for node in report.nodes if node.is_failing], *report.stops]
    reported = [f"names {each.node.name or each.node.outputs[0]}" for each in failing]
    conditions = "; ".join(condition.text for condition in report.limits.conditions)
    reported += [f"where {conditions}"] if conditions else []
    fixed = write_fixed_model(judged, report, tmp_path / "fixed.onnx", {}).fix_result
    for each, fix in fixed.mended:
        shown = format_fix(fix) if fix.resize else comma(fix.target or fix.inserts)
        reported.append(f"mends {each.node.name} {comma(fix.inserts) if fix.inserts else shown}")
    reported += ["proved"] if fixed.proved else []
    assert {*lines} <= {*reported}, reported
    assert ("proved" in lines) == bool(fixed.proved), fixed.why
