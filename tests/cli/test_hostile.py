"""What a hostile user types: every case was once a traceback, a hang, a wrong answer or a wrong exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

import shapecalc as sc
from shapecalc.teaching.progress import VisitorProgress
from shapecalc.tui.app import NOWHERE, ShapecalcApp, UserFile
from shapecalc.tui.question import question_of
from tests.cli.conftest import ROOT, command, environment

DIGITS = "9" * 900
HUGE = "*".join([DIGITS] * 6)
NAMES = ",".join(f"A{i}" for i in range(500))
PRIME = 2**127 - 1

ENDS = [
    (["chain", "2,3,4 | transpose | flatten --axis 1 --dialect numpy"], 2),
    (["chain", "N,3 | reshape 6", "--where", ""], 2),
    (["chain", "2,3 | reshape 6", "-d", "nope"], 2),
    (["chain", "2,3,4 | reshape 0,-1 -xopset 13"], 2),
    (["chain", "2,3,4 | reshape 0,-1 -d onnx"], 0),
    (["chain", "'2,3' | flatten"], 0),
    (["chain", "2,3 | reshape 6 --dialect ''"], 2),
    (["chain", "2,3 | reshape '6"], 2),
    (["chain", "3,4,5 | reshape 0,-1", "-d", "onednn", "--special-zero"], 0),
    (["reshape", "torch.Sized", "-1"], 2),
    (["reshape", "2,3", "6", "--dialect", ""], 2),
    (["reshape", "N,3", "6", "--where", "N=2,N=5"], 2),
    (["reshape", "N", "-1", "--expect", HUGE], 2),
    (["reshape", "2,3", "6", "--opset", DIGITS * 2], 2),
    (["reshape", ",".join([f"N/{DIGITS}"] * 6), "-1"], 3),
    (["reshape", HUGE, "1"], 2),
    (["reshape", ",".join(["9" * 18] * 300), "-1"], 3),
    (["transpose", "2,3", f"{HUGE},0"], 2),
    (["flatten", "2,3", "--axis", HUGE], 2),
    (["reshape", "*".join("N" * 2000), "-1", "--where", f"N={'9' * 30}"], 2),
    (["reshape", f"A*A*B*B*B/{PRIME}", "1"], 3),
    (["reshape", "A*A*B*B*B", "9223372036854775783"], 3),
    (["reshape", "A*A*B*B*B", "9223372036854775808"], 3),
    (["reshape", NAMES, "-1"], 0),
    (["reshape", NAMES, "7"], 0),
    (["squeeze", NAMES, "-d", "openvino"], 0),
    (["reshape", "1/A0," + ",".join(f"A{i}/A{i + 1}" for i in range(100)), "-1"], 0),
    (["reshape", "7", "1," * 20_000 + "2"], 3),
    (["transpose", "1," * 20_000 + "1", ",".join(map(str, range(20_001)))], 0),
    (["transpose", "1," * 20_000 + "1", ",".join(map(str, range(20_000)))], 3),
    (["unsqueeze", "2", "--axes", ",".join(map(str, range(20_000)))], 0),
    (["reshape", "2,3", "1/2/N"], 3),
    (["chain", "x,3 | broadcast _ _ x,3 8,1,x,1", "--json"], 0),
    (["stack", "2,3", "_", "2,3", "_", "--axis", "0", "--explain=all"], 0),
    (["view", "2*N,N/C,8,224", "[]", "-d", "torch", "--explain"], 3),
    (["chain", "N/C,M | reshape M,224 | transpose 0,1,2", "--explain=all"], 3),
    (["compare", "2,[ | flatten"], 2),
    (["concat", "2,3", "N,3", "--axis", "1", "--values"], 2),
    (["concat", "2,3", "--axis", "0", "--values"], 0),
    (["rollaxis", "2,3", "[]"], 2),
    (["narrow", "2,3", "0", "0,1", "1"], 2),
    (["pad", "[]", "3,3", "--axes", "0", "-d", "torch"], 3),
    (["stack", "0,9223372036854775807", "_", "--axis", "0", "--values"], 0),
    (["concat", "1," * 32 + "2", "_", "--axis", "0", "--values"], 2),
    (["pad", "2,3", "[]", "--axes", "[]"], 0),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("words", "code"), ENDS, ids=lambda value: str(value)[:50])
def test_it_ends_well(shapecalc, words, code):
    ran = shapecalc(*words)
    assert ran.code == code
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("chain", "span"),
    [
        ("2,3,4 | transpose 1,0,2 | reshape [5,, -1]", [37, 38]),
        ("2,,3 | flatten", [2, 3]),
        ("2 | reshape 1,, | reshape 1,,", None),
    ],
)
def test_a_mistake_in_a_chain_stands_where_it_was_typed(shapecalc, chain, span):
    problem = json.loads(shapecalc("chain", chain, "--json").out)["problem"]
    assert (problem["argument"], problem["span"]) == ("stages", span)


def test_spans_are_those_of_the_text_in_later_stages_and_in_python(shapecalc):
    found = json.loads(shapecalc("chain", "2,3,4 | transpose 1,0,2 | reshape [5, -1]", "--json").out)
    assert found["problem"]["span"] == [4, 6]
    with pytest.raises(sc.ShapeError) as caught:
        sc.reshape((2, 3, 4), "[5, -1]")
    assert caught.value.problem.span == (4, 6)


def test_a_size_may_be_given_in_the_stage_that_needs_it(shapecalc):
    assert shapecalc("chain", "N,4 | transpose | reshape 2,-1 --where N=4").out == "2,8\n"


def test_compare_makes_a_row_of_what_a_dialect_does_not_know(shapecalc):
    rows = json.loads(shapecalc("compare", "2,3,4", "6,-1", "--opset", "27", "--json").out)["rows"]
    refused = {row["dialect"] for row in rows if row["problem"]}
    assert refused == {"onnxruntime"}
    assert shapecalc("compare", "2,3,4", "6,-1", "--dtype", "float").code == 1
    assert shapecalc("compare", "2,3,4", "6,-1", "--expect", "6,4", "-q").code == 0
    assert shapecalc("compare", "2,3,4", "6,-1", "--expect", "4,6", "-q").code == 1
    assert shapecalc("compare", "N,4", "2,6", "--strict", "-q").code == 1
    assert "numpy reshape" in shapecalc("compare", "2,3,4", "6,-1", "--explain").err


def test_quiet_is_quiet_about_usage_too(shapecalc):
    ran = shapecalc("reshape", "2,3", "6,", "--quiet", "--json")
    assert (ran.code, ran.out, ran.err) == (2, "", "")


def test_the_argument_at_fault_is_the_one_that_is_named(shapecalc):
    problem = json.loads(shapecalc("reshape", "2,3", "1/2/N", "--json").out)["problem"]
    assert (problem["argument"], problem["index"], problem["span"]) == ("target", 0, [0, 5])


@pytest.mark.parametrize(
    "words",
    [["reshape", "2,3"], ["reshape", "2,3", "6", "--nope"], ["why", "nope"], ["chain", "2,3 |"], ["compare", "2", "?"]],
)
def test_json_is_json_whatever_the_mistake(shapecalc, words):
    ran = shapecalc(*words, "--json")
    assert (ran.code, ran.err) == (2, "")
    assert json.loads(ran.out)["problem"]["rule"] == "usage"


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("redirection", "words", "code", "out"),
    [
        (">&-", ["reshape", "2,3", "6"], 4, ""),
        (">&-", ["reshape", "2,3", "7"], 3, ""),
        ("<&-", ["repl"], 4, ""),
        ("<&-", ["reshape", "-", "6"], 4, ""),
        ("0>/dev/null", ["reshape", "-", "6"], 4, ""),
        ("2>&-", ["reshape", "N,3", "6"], 0, "6\n"),
        ("2>&-", ["reshape", "2,3", "7"], 3, ""),
        ("2>&-", ["reshape", "2,3", "6", "--explain"], 0, "6\n"),
        ("2>/dev/full", ["reshape", "N,3", "6"], 0, "6\n"),
        ("2>/dev/full", ["reshape", "2,3", "7"], 3, ""),
        ("2>/dev/full", ["reshape", "N,3", "6", "--explain"], 0, "6\n"),
        ("2>/dev/full", ["reshape", "2,3", "7", "--nope"], 2, ""),
        ("2>/dev/full", ["reshape", "2,3", "6", "--values"], 0, "6\n"),
        ("2>/dev/full", ["chain", "2,3 | flatten --axis 0", "--explain"], 0, "1,6\n"),
        ("2>/dev/full", ["check", "missing"], 4, ""),
        ("2>&-", ["check", "missing"], 4, ""),
        (">/dev/full 2>/dev/full", ["reshape", "2,3", "6"], 4, ""),
        (">&- 2>&-", ["reshape", "2,3", "6"], 4, ""),
    ],
)
def test_a_stream_that_cannot_be_used(redirection, words, code, out):
    line = subprocess.list2cmdline(command(*words)) + f" {redirection}"
    ran = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (code, out)
    assert "Traceback" not in ran.stderr


def test_help_that_nobody_reads_ends_quietly():
    line = f"{{ sleep 1; {subprocess.list2cmdline(command('-h'))}; echo $? >&2; }} | true"
    ran = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True, check=False)
    assert ran.stderr == "0\n"


def test_a_line_without_an_end_is_refused():
    line = f"yes 2,3 | tr -d '\\n' | {subprocess.list2cmdline(command('reshape', '-', '6'))}"
    ran = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")


WRONG_CALLS = [
    lambda: sc.flatten((2, 3, 4), axis=1, dialect="numpy"),
    lambda: sc.reshape((2, 3), ("?",)),
    lambda: sc.expand(("?", 1), ("?", 4)),
    lambda: sc.reshape((2, "N$"), (1,)),
    lambda: sc.reshape(b"2,3", (-1,)),
    lambda: sc.reshape((2, True), (1,)),
    lambda: sc.reshape((2, 3), (None,)),
    lambda: sc.reshape((2.0,), (1,)),
    lambda: sc.reshape(([2],), (1,)),
    lambda: sc.reshape((10**5000,), (-1,)),
    lambda: sc.flatten((2, 3), axis=10**5000),
    lambda: sc.reshape((2, 3), (6,), opset=10**5000),
    lambda: sc.reshape(("N",), (-1,), where={"N": 10**5000}),
    lambda: sc.reshape((2, 3), (6,), where=5),
    lambda: sc.reshape((2, 3), (6,), where=[1, 2]),
    lambda: sc.reshape((2, 3), (6,), allowzero=2),
    lambda: sc.reshape((2, 3), (6,), allowzero=[1]),
    lambda: sc.compare((2, 3), (6,), dialects=5),
    lambda: sc.chain((2, 3), ("flatten",)),
    lambda: sc.chain((2, 3), ("flatten", None)),
    lambda: sc.chain((2, 3), (5, {})),
    lambda: sc.chain((2, 3), ("flatten", {5: 1})),
]


@pytest.mark.parametrize("call", WRONG_CALLS, ids=range(len(WRONG_CALLS)))
def test_a_wrong_call_raises_shape_error(call):
    with pytest.raises(sc.ShapeError) as caught:
        call()
    assert caught.value.problem.rule == "usage"


def test_right_calls_of_odd_types():
    numpy = pytest.importorskip("numpy")
    assert sc.reshape(numpy.array([2, 3]).tolist(), (numpy.int64(-1),)).output == (6,)
    assert sc.reshape((2, 3), numpy.array([3, 2])).output == (3, 2)
    assert sc.squeeze((1, 3), numpy.int64(0)).output == (3,)
    assert sc.reshape((2, 3), -1).output == (6,)
    assert sc.compare((2, 3), iter((6,))).agree
    assert [str(condition) for condition in sc.reshape(("?", "?"), (5,)).conditions] == ["?*? == 5"]
    assert str(sc.reshape(("x", "x2"), (-1,))) == "x*x2"
    assert sc.chain(("N", 3), "flatten", where={"N": 3}).assumes == ()


def test_a_prompt_line_that_starts_with_an_op_goes_on_from_the_shape(shapecalc):
    ran = shapecalc("repl", stdin="2,3\nflatten --axis 0 | transpose\ntranspose 0 1\nx,1\nreshape ans -1\n?\n")
    assert ran.out.splitlines()[:4] == ["2,3", "6,1", "x,1", "x"]
    assert "not-a-permutation" in ran.err


# Faults of our own: one line and exit 70, wherever they arise.


PLACE = "please report it at the address that 'pip show --verbose tensor-shapecalc' names"
AT = "shapecalc.__main__:{}"
BREAK = """
import sys
from shapecalc.core import fixing, resolve
def fail(*given, **named):
    raise ZeroDivisionError("by \\x1b zero")
fixing.answer = fixing.answer_chain = resolve.resolve = fail
from shapecalc.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            ZeroDivisionError("by \x1b zero"),
            70,
            f"fault: ZeroDivisionError: by \\x1b zero (shapecalc.__main__:{{}}); {PLACE}",
        ),
        (RecursionError("too deep"), 70, f"fault: RecursionError: too deep ({AT}); {PLACE}"),
        (ImportError("no", name="shapecalc.nothing"), 70, "fault: ImportError: no (shapecalc."),
        (MemoryError(), 4, "memory: there is not enough for this"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_nobody_expected_ends_in_one_line(error, code, told, shapecalc, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("shapecalc.__main__.run_line", fail)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    ran = shapecalc("reshape", "2,3", "6")
    assert (ran.code, ran.out) == (code, "")
    before, _, after = told.partition("{}")
    assert ran.err.count("\n") == bool(told)
    assert ran.err.startswith(f"shapecalc: {before}" if told else "")
    assert ran.err.endswith(f"{after}\n" if after else "")


@pytest.mark.parametrize("words", [["reshape", "2,3", "6", "--json"], ["repl"], ["check", "-"], ["check", "many"]])
def test_a_fault_in_a_command_is_told_once(words, tmp_path):
    (tmp_path / "many").write_text("reshape 2,3 6\n" * 20_000)
    ran = subprocess.run(
        [sys.executable, "-c", BREAK, *words],
        env=environment(),
        cwd=tmp_path,
        input=b"reshape 2,3 6\n",
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (70, b"", 1)
    assert ran.stderr.startswith(b"shapecalc: fault: ZeroDivisionError: by \\x1b zero (shapecalc.c")


def test_a_fault_in_development_mode_has_its_traceback():
    program = [sys.executable, "-X", "dev", "-c", BREAK, "reshape", "2,3", "6"]
    ran = subprocess.run(program, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 70
    assert ran.stderr.startswith("Traceback")
    assert ran.stderr.splitlines()[-1].startswith("shapecalc: fault: ")


def test_a_fault_is_reported_where_the_package_says(shapecalc, monkeypatch):
    named = SimpleNamespace(get_all=lambda name: ["Home, there", "Issues, here"])
    monkeypatch.setattr(metadata, "metadata", lambda package: named)
    monkeypatch.setattr("shapecalc.__main__.run_line", lambda *given: 1 / 0)
    assert shapecalc("reshape").err.endswith("; please report it at here\n")


def test_a_fault_in_the_app_is_raised_where_it_is_run(capsys):
    async def fail(pilot):
        pilot.app.call_later(lambda: 1 / 0)
        await pilot.pause()

    app = ShapecalcApp(
        question_of(["reshape", "2,3", "6"], {}), user_file=UserFile(NOWHERE), progress=VisitorProgress()
    )
    with pytest.raises(ZeroDivisionError):
        app.run(headless=True, auto_pilot=fail)
    assert capsys.readouterr().err == ""
