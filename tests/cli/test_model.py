"""`shapecalc model` and `shapecalc doctor --model` on handwritten reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapecalc.cli import model_report
from shapecalc.core.record import FrozenDict, replace
from shapecalc.models import judge
from shapecalc.models.free_dims import BatchOptions
from shapecalc.models.prove import ProofCheck
from shapecalc.models.report import FixResult, ModelInput
from shapecalc.models.verdicts import BatchVerdict, NodeFix
from tests.cli import test_transcripts as cli
from tests.models.reports import FIRST, SECOND, STOP, TURNED, YOLO, judged
from tests.transcripts import transcripts

APPLIED_FIXES = ((FIRST, FIRST.fixes[0]),)
ESCAPED = judged("4", "Reshape", "::error::\x1b[31m\n%", ((1, 2), (2,), (2,)), BatchVerdict.FAILS, why="no")
WIDE = judged("4", "Reshape", "/Wide", ((1,), (1,) * 10_000, (1,) * 10_000), BatchVerdict.SAFE)
NAMED_TWICE = judged("7/then_branch/3", "Reshape", "/Reshape", ((1,), (1,), (1,)))
INSERTING = NodeFix(None, None, "the input keeps its batch", "takes N from an input", ("Shape", "Gather", "Concat"), 0)
SILENT = replace(SECOND, node=judged("1", "Reshape", "/Early", (None, None, None)).node)
PROOFS = (ProofCheck(1, "bit for bit", ok=True),)
REPORTS = {
    "yolo.onnx": YOLO,
    "safe.onnx": replace(YOLO, nodes=(TURNED,)),
    "unsure.onnx": replace(YOLO, nodes=(replace(TURNED, verdict=BatchVerdict.UNKNOWN, why="size from data"),)),
    "stops.onnx": replace(YOLO, stops=(STOP,)),
    "silent_stops.onnx": replace(YOLO, stops=(STOP, replace(STOP, silent=True), replace(STOP, silent=True))),
    "unknown_input.onnx": replace(
        YOLO, inputs=(ModelInput("x", ("N", None), ("N", None)), ModelInput("y", None, None))
    ),
    "inserts.onnx": replace(YOLO, nodes=(replace(FIRST, fixes=(INSERTING,)),)),
    "silent.onnx": replace(YOLO, nodes=(SILENT, FIRST)),
    "declared.onnx": replace(
        YOLO,
        declared_batch=4,
        reference_batch=4,
        sizes=(1, 2, 3, 4),
        assumed=FrozenDict({"H": 224}),
        names=FrozenDict({"d0": "past_len + 1"}),
    ),
    "no_batch.onnx": replace(YOLO, batch="", nodes=(TURNED,)),
    "twice.onnx": replace(YOLO, nodes=(FIRST, NAMED_TWICE)),
    "often.onnx": replace(YOLO, nodes=(NAMED_TWICE,) * 10),
    "::set-env.onnx": replace(YOLO, nodes=(ESCAPED,)),
    "wide.onnx": replace(YOLO, nodes=(WIDE, TURNED)),
    "proved.onnx": replace(
        YOLO, fix_result=FixResult(APPLIED_FIXES, (), True, "batch 1 bit for bit", "f.onnx", proofs=PROOFS)
    ),
    "large.onnx": replace(YOLO, fix_result=FixResult(APPLIED_FIXES, (), None, "it is too large", "f.onnx")),
    "left.onnx": replace(YOLO, fix_result=FixResult(APPLIED_FIXES, (SECOND,), True, "", "f.onnx")),
    "still_stops.onnx": replace(YOLO, fix_result=FixResult(APPLIED_FIXES, (), None, "", "f.onnx", stops=(STOP,))),
    "differs.onnx": replace(YOLO, fix_result=FixResult(APPLIED_FIXES, (), False, "sample 1 differs", None)),
}


@pytest.fixture(autouse=True)
def requests(monkeypatch):
    """Replace the functions that report on a file by the table; return their arguments."""
    requests, original = [], judge.report_model

    def report_from_table(file, *arguments, **options):
        requests.append((arguments, options))
        return replace(REPORTS[file], model=file) if file in REPORTS else original(file, *arguments, **options)

    for module in (judge, model_report):
        monkeypatch.setattr(module, "report_model", report_from_table)
    monkeypatch.setattr(
        model_report, "write_fixed_model", lambda *words, **options: (report_from_table(*words, **options), None)
    )
    return requests


@pytest.mark.parametrize("lines", transcripts(Path(cli.__file__).parent / "transcripts" / "reports", cli.SIGNS))
def test_model_transcripts(lines, shapecalc, tmp_path, monkeypatch):
    cli.play(lines, shapecalc, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            "--batch B,1,8 --set x=B,3,H --set a=b=[] --where H=640 --where W=3,D=4",
            BatchOptions("B", (1, 8), {"x": ("B", 3, "H"), "a=b": ()}, {"H": 640, "W": 3, "D": 4}),
        ),
        ("--batch B", BatchOptions("B", (1, 2, 3))),
        ("--batch 1,4", BatchOptions(None, (1, 4))),
    ],
)
def test_model_request_from_options(words, options, shapecalc, requests):
    shapecalc("model", "yolo.onnx", *words.split())
    assert requests[-1][0][0] == options


def test_model_fixes_from_options(shapecalc, requests):
    shapecalc("model", "proved.onnx", "--fix", "-o", "f.onnx", "--fix-as", "/Reshape=0,-1")
    arguments = (BatchOptions(), "f.onnx", {"/Reshape": (0, -1)}, (), None, None)
    assert requests == [(arguments, {"force": False, "prove": True})]


def test_model_row_of_ten_thousand_dims_is_narrow(shapecalc):
    assert max(map(len, shapecalc("model", "wide.onnx").out.splitlines())) < 250
    assert max(map(len, shapecalc("model", "wide.onnx", "--node", "4").out.splitlines())) < 1000
    assert len(json.loads(shapecalc("model", "wide.onnx", "--json").out)["nodes"][0]["target"]) == 10_000


def test_table_on_a_terminal_counts_safe_nodes():
    lines = model_report.table_lines(YOLO, YOLO.nodes, hides_safe=True)
    safe = sum(node.verdict is BatchVerdict.SAFE for node in YOLO.nodes)
    assert safe
    assert any(line.strip() == f"{safe} safe node{'s' * (safe > 1)}: --all" for line in lines)
    assert not any(TURNED.node.name in line for line in lines)


def test_table_has_a_column_of_reasons_only_for_nodes_that_need_them():
    failing = replace(FIRST, verdict=BatchVerdict.FAILS, why="two entries are -1")
    header, row = model_report.table_lines(YOLO, [failing])[1:3]
    assert header.split()[-1] == "why"
    assert row.endswith("two entries are -1")
    assert "why" not in model_report.table_lines(YOLO, [FIRST])[1].split()
