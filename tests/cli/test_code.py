"""`shapecalc code`: what goes in, what comes out, and which exit code."""

from __future__ import annotations

import json

import pytest

LINE = "x.view(B, T, h, C // h).transpose(1, 2)"


def test_a_line_is_answered_as_a_chain(shapecalc):
    ran = shapecalc("code", LINE, "--input", "x=B,T,C")
    assert (ran.code, ran.out) == (0, "B,h,T,C/h\n")
    assert ran.err == "shapecalc: C // h is read as C/h: other sizes are left out\nshapecalc: holds when h divides C\n"


def test_the_json_is_that_of_the_chain(shapecalc):
    found = json.loads(shapecalc("code", LINE, "--input", "x=B,T,C", "--json").out)
    chain = "B,T,C | view B,T,h,C/h | transpose 0,2,1,3 -d torch"
    assert found == json.loads(shapecalc("chain", chain, "--json").out)


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        ([LINE, "--input", "B,T,C", "--where", "B=2,T=3,C=8,h=2", "--expect", "2,2,3,4"], 0, "2,2,3,4\n"),
        ([LINE, "--input", "B,T,C", "--expect", "B,T,h,C/h"], 1, "B,h,T,C/h\n"),
        ([LINE, "--input", "B,T,C", "--strict"], 1, "B,h,T,C/h\n"),
        (["y.flatten(1)", "--input", "y=None,7,7,3"], 0, "?,147\n"),
        (["y.flatten(1)", "--input", "y=(-1, 7, 7, 3)"], 0, "?,147\n"),
        (["    x.T  # turned", "--input", "2,3"], 0, "3,2\n"),
        (["x.T", "--input", "2,3", "--as", "numpy"], 0, "# x: 2,3 -> y: 3,2\ny = x.transpose(1, 0)\n"),
        (["x.view(5, -1)", "--input", "2,3,4"], 3, ""),
        (["x.view(2, -1)"], 2, ""),
        (["torch.zeros(2, 3, 4).view(6, 4)"], 0, "6,4\n"),
        (["y.view(shape)", "--input", "y=2,12", "--where", "shape=2,3,4"], 0, "2,3,4\n"),
        (["y.view(B, self.h, -1)", "--input", "y=B,12", "--where", "self.h=3,B=2"], 0, "2,3,4\n"),
        (["y.view(shape)", "--input", "y=2,12", "--where", "shape=2,,4"], 2, ""),
        (["missing.py", "--input", "2,3"], 2, ""),
        (["x.view(2, -1)" + " " * 5000 + "\0", "--input", "2,3"], 2, ""),
        (["x.unfold(1, 2, 1)", "--input", "2,3"], 2, ""),
        (["x.T", "--input", "x=2,3", "-d", "nope"], 2, ""),
        (["x.T", "--input", "x=missing.npy"], 4, ""),
        (["x.T", "--input", "x=2,3", "--where", "Q=2"], 2, ""),
    ],
)
def test_what_is_printed_and_the_exit_code(words, code, out, shapecalc):
    ran = shapecalc("code", *words)
    assert (ran.code, ran.out) == (code, out)
    assert code in (0, 1) or len(ran.err.splitlines()) == 1


def test_the_line_may_come_from_standard_input(shapecalc):
    code = "  h = C // 4\n  x.view(B, h, 4)\n"
    assert shapecalc("code", "-", "--input", "x=B,C", stdin=code).out == "B,C/4,4\n"
    ran = shapecalc("code", "-", "--input", "x=B,C", stdin="x.T\n" * 400_000)
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_file_is_read_to_its_last_function(shapecalc, tmp_path):
    script = tmp_path / "model.py"
    script.write_text("import torch\n\ndef f(x):\n    return x.T\n\ndef g(x, n=2):\n    return x.view(n, -1)  # 2,5\n")
    ran = shapecalc("code", str(script), "--input", "3,4", "--where", "n=3")
    assert (ran.code, ran.out) == (0, "3,4\n")
    assert ran.err == "shapecalc: line 7, the comment: 3,4 is not 2,5: dim 0 is 3, not 2\n"
    ran = shapecalc("code", str(script))
    assert ran.err == (
        "shapecalc: usage: 'x': the shape of this tensor is not known "
        f"(give its shape: shapecalc {script} 'x=N,C,H,W')\n"
    )
    script.write_text("model = Net()\nfor x in data:\n    model(x).backward()\n")
    ran = shapecalc("code", str(script), "--input", "3,4")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_refusal_in_several_lines_names_its_own(shapecalc):
    ran = shapecalc("code", "def f(x):\n    y = x.T  # turned\n    return y.view(2, 2)", "--input", "x=2,3")
    assert ran.err.startswith(
        "shapecalc: refused in line 3: return y.view(2, 2)\nshapecalc: volume-mismatch: stage 2, "
    )


def test_a_mistake_is_one_line_and_json_has_its_place(shapecalc):
    ran = shapecalc("code", "x.view(C + 1)", "--input", "x=C")
    assert ran.err == (
        "shapecalc: usage: 'C + 1': a dim is a number or a product of names, never a sum (give sizes with --where)\n"
    )
    problem = json.loads(shapecalc("code", "x.view(C + 1)", "--input", "x=C", "--json").out)["problem"]
    assert (problem["argument"], problem["span"]) == ("line", [7, 12])


@pytest.mark.parametrize(
    ("line", "stage"),
    [("x.T.unbind(1)", "select 1 0"), ("x[:, 0].unbind()", "select 0 0")],
)
def test_parts_that_nobody_takes_name_the_stage_that_does(line, stage, shapecalc):
    ran = shapecalc("code", line, "--input", "x=6,6", "-d", "torch")
    assert (ran.code, ran.out) == (2, "")
    assert f"parts, not with one tensor (take one of them, as [0] does, or write the stage: {stage})" in ran.err
