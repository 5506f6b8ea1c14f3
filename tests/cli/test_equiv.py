"""`equiv` on the command line and `same as` in case files: what they print, and how they end."""

from __future__ import annotations

import json

import pytest

SAME = ("N,C,H | reshape N,C*H", "| flatten")
SOMETIMES = ("C,H | reshape C/2,2,H | reshape -1", "| reshape -1")
DIFFERENT = ("2,3 | transpose 1,0", "| reshape 3,2")
UNDECIDED = ("7000,1100,1300 | transpose 1,0,2 | reshape 1300,7000,1100", "| reshape 1300,7000,1100")


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        (SAME, 0, "same\n"),
        (SOMETIMES, 0, "same when 2 divides C\n"),
        ((*SOMETIMES, "--strict"), 1, "same when 2 divides C\n"),
        ((*SAME, "--strict"), 0, "same\n"),
        (DIFFERENT, 1, "different\n"),
        ((*DIFFERENT, "-q"), 1, ""),
        ((*DIFFERENT, "--explain"), 1, "different\n"),
        (UNDECIDED, 3, "undecided\n"),
        (("2,3 | reshape 5", "| transpose"), 3, ""),
        (("2,3 | transpose", "| reshape 5"), 3, ""),
        (("2,3 | transpose", "| nothing"), 2, ""),
        (("2,3", "| flip 1 | flip 1"), 0, "same\n"),
        (("2,3 | flip 1", "2,3"), 1, "different\n"),
        (("N/3,C", "| slice ::2", "--where", "N=7"), 3, ""),
        (("2,3 | transpose", ""), 2, ""),
        (("2,3 | transpose", "3,2 | transpose"), 2, ""),
        (("| transpose", "| transpose"), 2, ""),
        (("2,3 | transpose", "| shape"), 2, ""),
        (("missing.npy | transpose", "| transpose"), 4, ""),
        (("N,4 | reshape N*4/p,p", "| reshape -1,2", "--where", "p=2"), 0, "same\n"),
        (("N,4 | transpose", "| transpose", "--where", "q=2"), 2, ""),
        (("2,3 | transpose", "| reshape 0,3", "-d", "torch"), 3, ""),
        (("2,3 | transpose", "| transpose", "--allowzero"), 2, ""),
    ],
)
def test_the_answer_and_the_exit_code(shapecalc, words, code, out):
    ran = shapecalc("equiv", *words)
    assert (ran.code, ran.out) == (code, out)
    assert "Traceback" not in ran.err


def test_the_two_grids_mark_the_element_that_differs(shapecalc):
    told = shapecalc("equiv", "N,C,3 | transpose 1,0,2", "| reshape C,N,3").err
    assert "with N=2,C=2, element [0,1,0] is element 6 of the input in the first, 3 in the second" in told
    assert told.count("[ 6]") == told.count("[ 3]") == 1


def test_of_an_element_that_repeats_only_the_place_that_differs_is_marked(shapecalc):
    told = shapecalc("equiv", "3 | expand 2,3", "| reshape 3,1 | expand 3,2 | reshape 2,3").err
    assert told.splitlines()[1:] == [
        "first 2,3           second 2,3",
        "1 is at [0,1]       0 is at [0,1]",
        "new │ a 0  1  2     ~x │ ~y 0  1  2",
        "────┼───────────    ───┼────────────",
        "  0 │   0 [1] 2      0 │    0 [0] 1",
        "  1 │   0  1  2      1 │    1  2  2",
    ]


def test_outputs_of_different_shape_are_drawn_without_a_mark(shapecalc):
    told = shapecalc("equiv", "N,3 | transpose", "| flatten --axis 0").err
    assert told.splitlines() == [
        "shapecalc: with N=2, the outputs are 3,2 and 1,6",
        "first 3,2      second 1,6",
        "b │ N 0  1     new │ Nb 0  1  2  3  4  5",
        "──┼────────    ────┼─────────────────────",
        "0 │   0  3       0 │    0  1  2  3  4  5",
        "1 │   1  4",
        "2 │   2  5",
    ]


def test_json(shapecalc):
    found = json.loads(shapecalc("equiv", *SOMETIMES, "--json").out)
    assert found == {
        "verdict": "same-when",
        "conditions": [["C % 2 == 0"]],
        "defined": [["C % 2 == 0"], []],
        "counterexample": None,
        "tested": 0,
        "problem": None,
    }
    found = json.loads(shapecalc("equiv", *DIFFERENT, "--json").out)
    expected = {"sizes": {}, "index": [0, 1], "elements": [3, 1], "outputs": [[3, 2], [3, 2]]}
    assert (found["verdict"], found["counterexample"], found["tested"]) == ("different", expected, 1)
    found = json.loads(shapecalc("equiv", "2,3 | transpose", "| reshape 6", "--json").out)
    assert found["counterexample"] == {"sizes": {}, "index": None, "elements": None, "outputs": [[3, 2], [6]]}


def test_json_of_a_chain_that_is_refused_has_no_verdict(shapecalc):
    ran = shapecalc("equiv", "2,3 | transpose", "| reshape 5", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["verdict"], found["problem"]["rule"]) == (3, None, "volume-mismatch")
    assert found["problem"]["message"].startswith("second chain, stage 1, reshape: ")


def test_control_characters_are_shown_escaped(shapecalc):
    ran = shapecalc("equiv", "2,3 | \x1b[31m", "| transpose")
    assert ran.code == 2
    assert "\x1b" not in ran.err


CASES = """\
N,C,H | reshape N,C*H => same as | flatten
reshape N,C,H 0,-1 => same as | flatten  # of an op alone
N,C,H | reshape N,C*H => same as N,C,H | flatten --axis 1
{"op": "reshape", "input": ["N", "C", "H"], "target": [0, -1], "expect": {"same_as": "| flatten"}}
{"op": "reshape", "input": ["N", "C", "H"], "target": [0, -1], "expect": "same as | flatten"}
N,C,H | flip 1 | flip 1 => same as N,C,H
@default dialect=torch
N,C,H | reshape N,C*H => same as | flatten --start-dim 1
"""


def test_cases_may_expect_another_chain(shapecalc):
    ran = shapecalc("check", "-", "--strict", stdin=CASES)
    assert (ran.code, ran.out, ran.err) == (0, "", "shapecalc: 7 passed\n")


@pytest.mark.parametrize(
    ("case", "code", "said"),
    [
        ("2,3 | transpose => same as | reshape 3,2", 1, "got different (element [0,1] is element 3 of the input"),
        ("2,3 | transpose => same as | reshape 5", 1, "got volume-mismatch: second chain, stage 1, reshape"),
        ("reshape 2,3 5 => same as | transpose", 1, "got error volume-mismatch"),
        ("2,3 | transpose => same as | nothing", 2, "there is no operation 'nothing'"),
        ("2,3 | transpose => same as", 2, "a chain is missing after same as"),
        ("C,H | reshape C/2,2,H | reshape -1 => same as | reshape -1", 1, "got same when 2 divides C"),
        ('{"op": "reshape", "input": [6], "target": [-1], "expect": {"same_as": 6}}', 2, "is not an expectation"),
    ],
)
def test_a_case_that_is_not_the_same_says_why(shapecalc, case, code, said):
    ran = shapecalc("check", "-", "--strict", stdin=f"{case}\n")
    assert ran.code == code
    assert said in ran.out


def test_a_dialect_without_an_op_is_told_with_what_equiv_takes(shapecalc):
    chains = ("2,3,4 | shuffle --first 1,0,2", "| transpose 1,0,2")
    ran = shapecalc("equiv", "-d", "onnx", *chains)
    told = "onnx has no shuffle (it is in tensorrt; write --dialect NAME in its own stage)"
    assert (ran.code, ran.err) == (2, f"shapecalc: usage: {told}\n")
    assert shapecalc("equiv", "-d", "onnx", f"{chains[0]} --dialect tensorrt", chains[1]).out == "same\n"


def test_what_is_the_same_under_a_condition_passes_if_it_is_not_strict(shapecalc):
    case = "C,H | reshape C/2,2,H | reshape -1 => same as | reshape -1\n"
    assert shapecalc("check", "-", stdin=case).code == 0


def test_an_expected_chain_is_not_rewritten(shapecalc, tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text("2,3 | transpose => same as | reshape 3,2\n")
    assert shapecalc("check", str(path), "--update").code == 1
    assert path.read_text() == "2,3 | transpose => same as | reshape 3,2\n"
