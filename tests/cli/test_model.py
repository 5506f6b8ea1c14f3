"""`shapecalc model`: its screens, lines and JSON, its exit codes, and what its options refuse."""

from __future__ import annotations

import json

import pytest

from shapecalc.cli import model_report
from shapecalc.core.record import FrozenDict, replace
from shapecalc.models import judge
from shapecalc.models.free_dims import SizeOptions
from shapecalc.models.report import Fixed
from shapecalc.models.verdicts import Verdict
from tests.models.reports import FIRST, SECOND, STOP, TURNED, YOLO, judged

TABLE = """\
yolo.onnx  opset 11, 47 nodes, 4 shown   images (N,3,640,640)   judged at N = 1, 2, 3
   #  node        op         input         target        output        batch
   2  /Reshape    Reshape    N,255,80,80   1,3,85,80,80  1,3,85,80,80  only N=1
   3  /Transpose  Transpose  N,3,85,80,80  0,1,3,4,2     N,3,80,80,85  safe
  18  /Reshape_1  Reshape    N,3,80,80,85  1,-1,85       1,19200*N,85  swallows
  19              Shape      1,19200*N,85                3             safe
1 fails at N > 1, 1 puts the batch elsewhere without an error. The runtime would have named /Reshape alone.
What is below an offender is judged as if that one were mended.   Next: shapecalc model yolo.onnx --fix -o fixed.onnx
"""
NODE = """\
/Reshape_1  Reshape 5   in  /Concat_output_0   (N,3,80,80,85)
  target  1,-1,85     from the initializer 437
  output  1,19200*N,85
  batch   swallows: N was axis 0; now it is the slow part of axis 1, and nothing fails before /Gemm_3
          as it is once #2 is mended
  fix     0,-1,85     copies axis 0; assumes that the batch stays first
     or  -1,19200,85  counts it; assumes 3*80*80 stays 19200
  try     shapecalc reshape N,3,80,80,85 1,-1,85 --explain   the steps
          shapecalc tui --model yolo.onnx --node /Reshape_1  the picture
"""
LINES = [
    "/Reshape_1: swallows the batch: N,3,80,80,85 to 1,19200*N,85; write 0,-1,85",
    "/Reshape: only N = 1: 1,3,85,80,80 is constant; write 0,3,85,80,80",
]


@pytest.fixture
def model(shapecalc, monkeypatch):
    """Run `shapecalc model yolo.onnx` with a report made by hand; what was asked for is kept in `asked`."""

    def run(*words, report=YOLO):
        def report_of(file, asked, _names=(), **_):
            run.asked = asked
            return replace(report, model=file)

        monkeypatch.setattr(judge, "report_of", report_of)
        return shapecalc("model", report.model, *words)

    return run


def test_the_table_shows_each_node_and_what_to_do_next(model):
    ran = model()
    assert (ran.code, ran.out, ran.err) == (0, TABLE, "")


def test_a_node_is_shown_in_full_by_its_name_and_by_its_path(model):
    told = [model("--node", text) for text in ("/Reshape_1", "18", "#18")]
    assert {(ran.code, ran.out) for ran in told} == {(0, NODE)}
    unnamed = model("--node", "#19").out
    assert unnamed.startswith("#19  Shape 5 ")
    assert "  value   1,N+1,85\n" in unnamed


def test_offenders_are_lines_worst_first_and_exit_1(model):
    ran = model("--lint")
    assert (ran.code, ran.out.splitlines()) == (1, [f"yolo.onnx: {line}" for line in LINES])
    ran = model("--github")
    assert (ran.code, ran.out.splitlines()) == (1, [f"::error file=yolo.onnx::{line}" for line in LINES])
    safe = replace(YOLO, nodes=(TURNED,))
    assert (model("--lint", report=safe).code, model("--lint", report=safe).out) == (0, "")


def test_an_unknown_node_offends_under_strict_alone(model):
    report = replace(YOLO, nodes=(replace(TURNED, verdict=Verdict.UNKNOWN, why="size from data"),))
    assert model("--lint", report=report).code == 0
    ran = model("--lint", "--strict", report=report)
    assert (ran.code, ran.out) == (1, "yolo.onnx: /Transpose: unknown: size from data\n")
    assert "1 cannot be judged." in model(report=report).out


def test_a_node_that_stops_is_told_last(model):
    report = replace(YOLO, stops=(STOP,))
    said = "yolo.onnx: /Concat: Concat fails: dim 0 is 1 in one input and 2 in another, because of /Reshape_1"
    assert model("--lint", report=report).out.splitlines()[-1] == said
    table = model(report=report).out
    assert "1 node that is not listed stops." in table
    assert f"\n{said.removeprefix('yolo.onnx: ')}\n" in table
    ran = model("--node", "/Concat", report=report)
    refused = "shapecalc: usage: /Concat: Concat fails: dim 0 is 1 in one input and 2 in another, because of /Reshape_1"
    assert (ran.code, ran.err) == (2, f"{refused}; such nodes are not listed\n")
    found = json.loads(model("--json", report=report).out)
    assert found["stops"] == [{"path": "21", "op": "Concat", "why": STOP.why, "cause": "18", "silent": False}]
    assert found["summary"] == {"only": 1, "safe": 2, "swallows": 1, "stops": 1}


def test_what_fails_without_an_error_before_is_not_said_to_be_named(model):
    silent = replace(SECOND, node=judged("1", "Reshape", "/Early", (None, None, None)).node)
    assert "The runtime" not in model(report=replace(YOLO, nodes=(silent, FIRST))).out


def test_json_is_one_object_and_of_a_node_its_own(model):
    found = json.loads(model("--json").out)
    assert [*found] == [
        *("model", "opset", "batch", "declared_batch", "sizes", "assumed", "names", "inputs", "nodes", "stops"),
        *("summary", "fixed"),
    ]
    assert found["inputs"] == [{"name": "images", "declared": ["N", 3, 640, 640], "taken": ["N", 3, 640, 640]}]
    node = json.loads(model("--json", "--node", "18").out)
    assert node == found["nodes"][2]
    assert (node["output"], node["batch_axis"]) == ([1, "19200*N", 85], {"in": [0, "whole"], "out": [1, "major"]})
    assert node["runs"] == {"1": "ok", "2": "ok", "3": "ok"}
    assert node["fixes"][0] == {"target": [0, -1, 85], "allowzero": None, "assumes": "the batch stays first"}
    assert json.loads(model("--json", "--node", "19").out)["value"] == [1, "N+1", 85]


def test_the_list_is_narrowed_to_an_operator_and_to_offenders(model):
    assert [node["path"] for node in json.loads(model("--json", "--op", "reshape").out)["nodes"]] == ["2", "18"]
    assert [node["path"] for node in json.loads(model("--json", "--offenders").out)["nodes"]] == ["2", "18"]
    assert len(model("--lint", "--node", "2").out.splitlines()) == 1
    assert model("--offenders", report=replace(YOLO, nodes=(TURNED,))).out.splitlines() == [
        "yolo.onnx  opset 11, 47 nodes, 0 shown   images (N,3,640,640)   judged at N = 1, 2, 3",
        "No listed node breaks at another N.",
    ]


def test_a_declared_batch_and_the_sizes_taken_are_told(model):
    sizes, names = FrozenDict({"H": 224}), FrozenDict({"d0": "past_len + 1"})
    report = replace(YOLO, declared_batch=4, sizes=(1, 2, 3, 4), assumed=sizes, names=names)
    first, *_, counted, _ = model(report=report).out.splitlines()
    assert first.endswith("declared N = 4, judged at N = 1, 2, 3, 4   taken: H = 224   d0 is past_len + 1")
    assert counted.startswith("1 fails at N other than 4, ")
    assert "only N=4" in model("--node", "2", report=report).out


def test_what_is_asked_for_is_read_from_the_options(model):
    model("--batch", "B,1,8", "--set", "x=B,3,H", "--set", "a=b=[]", "--where", "H=640", "--where", "W=3,D=4")
    assert model.asked == SizeOptions("B", (1, 8), {"x": ("B", 3, "H"), "a=b": ()}, {"H": 640, "W": 3, "D": 4})
    model("--batch", "B")
    assert model.asked == SizeOptions("B", (1, 2, 3))
    model("--batch", "1,4")
    assert model.asked == SizeOptions(None, (1, 4))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "x.onnx"], "-o needs --fix"),
        (["--force"], "--force needs --fix"),
        (["--no-prove"], "--no-prove needs --fix"),
        (["--fix-as", "a=1"], "--fix-as needs --fix"),
        (["--fix"], "--fix needs a file to write (write --fix -o fixed.onnx)"),
        (["--fix", "-o", ""], "--fix needs a file to write (write --fix -o fixed.onnx)"),
        (["--fix", "-o", "x", "--lint"], "--fix cannot be combined with --lint"),
        (["--all", "--node", "2"], "--all cannot be combined with --node"),
        (["--fix", "-o", "x", "--fix-as", "a"], "'a' is not NODE=TARGET (write /Reshape=0,-1,85)"),
        (["--fix", "-o", "x", "--fix-as", "a=N"], "a target in a file is made of numbers, not 'N'"),
        (["--batch", "N,0,1"], "'0' is not a batch size from 1 to 4096 (write N or N,1,2,8)"),
        (["--batch", "N,1,99999999999"], "'99999999999' is not a batch size from 1 to 4096 (write N or N,1,2,8)"),
        (["--batch", "\x1b"], "'\\x1b' is not a batch size from 1 to 4096 (write N or N,1,2,8)"),
        (["--set", "N,3"], "'N,3' is not INPUT=SHAPE (write images=N,3,H,W)"),
        (["--set", "x=N*2"], "'N*2' is neither a size nor a name (write images=N,3,H,W)"),
        (["--set", "x=1", "--set", "x=2"], "x is given two shapes"),
        (["--where", "H"], "'H=' is not NAME=SIZE (write N=8,C=3)"),
        (["--where", "H=4", "--where", "H=5"], "H is given two sizes"),
        (["--batch", "none,1,2"], "without a batch there are no sizes of it (write none)"),
        (["--where", "H=4,W=0"], "W is 0, and a size is from 1 to 999999999"),
        (["--where", "H=9999999999"], "H is 9999999999, and a size is from 1 to 999999999"),
        (["--node", ""], "no listed node is called '' or has that path (there are /Reshape, /Transpose, /Reshape_1)"),
        (["--dialect", "numpy"], "--dialect takes tensorrt, not 'numpy'"),
        (["--op", "Conv"], "there is no listed operator 'conv'"),
        (["--node", "/Reshpe"], "no listed node is called '/Reshpe' or has that path (did you mean /Reshape?)"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(model, words, said):
    ran = model(*words)
    assert ran.code == 2
    assert ran.err.startswith(f"shapecalc: usage: {said}")
    assert ran.err.count("\n") == 1
    assert ran.out == ""


@pytest.mark.parametrize(
    ("words", "code", "clean"),
    [
        *[(words, 0, 0) for words in ([], ["--json"], ["--offenders"], ["-q", "--node", "3"])],
        *[(words, 1, 0) for words in (["--lint"], ["--github"], ["-q"], ["-q", "--json"], ["--lint", "--json"])],
        (["-q", "--strict"], 1, 1),
    ],
)
def test_exit_1_says_that_there_are_offenders_if_that_is_asked(model, words, code, clean):
    unsure = replace(TURNED, verdict=Verdict.UNKNOWN)
    assert model(*words).code == code
    assert model(*words, report=replace(YOLO, nodes=(unsure,))).code == clean
    assert model(*words).out == "" or "-q" not in words


def test_a_model_without_a_batch_says_so(model):
    report = replace(YOLO, batch="", nodes=(TURNED,))
    assert json.loads(model("--json", report=report).out)["batch"] is None
    lines = model(report=report).out.splitlines()
    assert (lines[0].endswith("   no batch"), lines[-1]) == (True, "No listed node breaks.")


def test_a_refusal_is_json_where_that_is_asked_for(model):
    ran = model("--json", "--github")
    assert (ran.code, ran.err) == (2, "")
    assert json.loads(ran.out)["problem"]["message"] == "--json cannot be combined with --github"


def test_a_name_of_several_nodes_lists_their_paths(model):
    report = replace(YOLO, nodes=(FIRST, judged("7/then_branch/3", "Reshape", "/Reshape", ((1,), (1,), (1,)))))
    ran = model("--node", "/Reshape", report=report)
    assert ran.code == 2
    assert "2 nodes are called '/Reshape' (write one of '#2' '#7/then_branch/3')" in ran.err
    assert model("--node", "#7/then_branch/3", report=report).code == 0


def test_names_are_escaped_and_never_commands_of_github(model):
    bad = judged("4", "Reshape", "::error::\x1b[31m\n%", ((1, 2), (2,), (2,)), Verdict.FAILS, why="no")
    report = replace(YOLO, model="::set-env.onnx", nodes=(bad,))
    for words in ([], ["--node", "4"], ["--lint"], ["--github"]):
        ran = model(*words, report=report)
        assert ran.out.replace("\n", "").isprintable()
        begun = [line for line in ran.out.splitlines() if line.lstrip().startswith("::")]
        assert len(begun) == ("--github" in words)
    assert ran.out == "::error file=%3A%3Aset-env.onnx::::error::\\x1b[31m\\n%25: fails: no\n"


def test_a_target_of_ten_thousand_dims_makes_no_row_wide(model):
    wide = judged("4", "Reshape", "/Wide", ((1,), (1,) * 10_000, (1,) * 10_000), Verdict.SAFE)
    report = replace(YOLO, nodes=(wide, TURNED))
    assert max(map(len, model(report=report).out.splitlines())) < 250
    assert max(map(len, model("--node", "4", report=report).out.splitlines())) < 1000
    assert len(json.loads(model("--json", report=report).out)["nodes"][0]["target"]) == 10_000


FAILED = "the proof failed, and nothing was written: sample 1 differs."
MENDED = ((FIRST, FIRST.fixes[0]),)


@pytest.mark.parametrize(
    ("fixed", "code", "last"),
    [
        (
            Fixed(MENDED, (), True, "batch 1 bit for bit", "f.onnx"),
            0,
            "proved (onnxruntime): batch 1 bit for bit. Wrote f.onnx",
        ),
        (Fixed(MENDED, (), None, "it is too large", "f.onnx"), 0, "not proved: it is too large. Wrote f.onnx"),
        (Fixed(MENDED, (SECOND,), True, "", "f.onnx"), 1, "proved (onnxruntime). Wrote f.onnx"),
        (Fixed(MENDED, (), False, "sample 1 differs", None), 1, FAILED),
    ],
)
def test_a_fix_tells_what_it_did(shapecalc, monkeypatch, fixed, code, last):
    given = []

    def mended_report(*args, **named):
        given.append((args, named))
        return replace(YOLO, fixed=fixed)

    monkeypatch.setattr(model_report, "mended_report", mended_report)
    ran = shapecalc("model", "yolo.onnx", "--fix", "-o", "f.onnx", "--fix-as", "/Reshape=0,-1")
    assert ran.code == code
    lines = ran.out.splitlines()
    assert lines[0] == "mended  /Reshape  1,3,85,80,80 to 0,3,85,80,80"
    assert lines[-1] == last
    assert any(line.startswith("left    /Reshape_1") for line in lines) == bool(fixed.left)
    assert given == [(("yolo.onnx", SizeOptions(), "f.onnx", {"/Reshape": (0, -1)}), {"force": False, "prove": True})]
    told = json.loads(shapecalc("model", "yolo.onnx", "--fix", "-o", "f.onnx", "--json").out)
    assert told["fixed"]["proved"] is fixed.proved


@pytest.mark.parametrize(
    "words",
    [["--node", "x"], ["--model", "x.onnx", "--lesson"], ["--model", "x.onnx", "reshape", "2,3", "6"]],
)
def test_the_app_opens_a_model_alone(shapecalc, words):
    ran = shapecalc("tui", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("shapecalc: usage: the only option that --model takes here is --node")


def test_the_app_needs_a_terminal_for_a_model_too(shapecalc, monkeypatch):
    monkeypatch.setattr(judge, "report_of", lambda *_: YOLO)
    assert shapecalc("tui", "--model", "yolo.onnx", "--node", "/Reshpe").err.startswith(
        "shapecalc: usage: no listed node"
    )
    assert "the app needs a terminal" in shapecalc("tui", "--model", "yolo.onnx", "--node", "18").err


def test_a_node_that_still_stops_is_left(shapecalc, monkeypatch):
    for stops, code in [((STOP,), 1), ((), 0)]:
        made = replace(YOLO, fixed=Fixed(MENDED, (), None, "", "f.onnx", stops=stops))
        monkeypatch.setattr(model_report, "mended_report", lambda *_, made=made, **__: made)
        ran = shapecalc("model", "yolo.onnx", "--fix", "-o", "f.onnx")
        assert ran.code == code
        assert ("left    /Concat: Concat fails: " in ran.out) == (code == 1)
