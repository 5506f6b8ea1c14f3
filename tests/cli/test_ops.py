"""The ops on the command line: answers, stories, exit codes, JSON."""

from __future__ import annotations

import json
import shlex

import pytest

from shapecalc.core.ops import OPS

ANSWERS = [
    (["reshape", "2,3,4", "0,-1"], "2,12"),
    (["reshape", "2,3,4", "-1"], "24"),
    (["reshape", "2,3,4", "-1,4"], "6,4"),
    (["reshape", "2,3,4", "--", "-1,4"], "6,4"),
    (["reshape", "2,3,4", " -1,4"], "6,4"),
    (["reshape", "2,3,4", "-1,4", "--opset", "13"], "6,4"),
    (["reshape", "--opset", "13", "[2, 3, 4]", "-1,4"], "6,4"),
    (["reshape", "2x3x4", "(0, -1)"], "2,12"),
    (["reshape", "torch.Size([2, 3])", "{6}"], "6"),
    (["reshape", "1,1", "[]"], "[]"),
    (["reshape", "N,C,H,W", "0,-1", "--where", "N=8,C=3,H=2,W=2"], "8,12"),
    (["reshape", "3,4,5", "0,-1", "-d", "onednn", "--special-zero"], "3,20"),
    (["reshape", "2,3,4", "0,-1", "-d", "tensorrt"], "2,12"),
    (["transpose", "2,3,4"], "4,3,2"),
    (["transpose", "2,3,4", "-1,0,1", "-d", "numpy"], "4,2,3"),
    (["shuffle", "2,3,4", "--first", "1,0,2", "--to", "2,-1,3"], "2,4,3"),
    (["shuffle", "2,3,4", "--to", "-1,2", "--second", "1,0"], "2,12"),
    (["shape", "2,3,4", "--start", "-1"], "4"),
    (["flatten", "2,3,4", "--axis", "-1"], "6,4"),
    (["squeeze", "1,3,1", "--axes", "-1"], "1,3"),
    (["unsqueeze", "2,3", "--axes", "0,-1"], "1,2,3,1"),
    (["expand", "3,1", "-1,4", "-d", "torch"], "3,4"),
    (["depth_to_space", "1,8,2,3", "2", "--mode", "crd"], "1,2,4,6"),
    (["space_to_depth", "1,2,4,6", "2"], "1,8,2,3"),
    (["select", "2,3,4", "-2", "-1"], "2,4"),
    (["flip", "2,3,4", "-1"], "2,3,4"),
    (["slice", "2,3,4", "[:, ::2, 1:3]"], "2,2,2"),
    (["slice", "2,3,4", "-1:"], "1,3,4"),
    (["chain", "6,4,4 | slice ::2 | slice [:, 1:]"], "3,3,4"),
    (["split", "6,4", "-2", "3", "--part", "2"], "2,4"),
    (["roll", "6,4", "-2", "-1"], "6,4"),
    (["roll", "6,4", "-2,1", "0,-1"], "6,4"),
    (["split", "7,4", "0", "3", "--all"], "3,4\n3,4\n1,4"),
    (["take", "6,4", "-2", "-1,0,0"], "3,4"),
    (["narrow", "2,8,4", "1", "-3", "2"], "2,2,4"),
    (["rot90", "2,3,4"], "3,2,4"),
    (["rollaxis", "2,3,4", "2"], "4,2,3"),
    (["reduce", "2,3,4,6", "b c h w -> b c", "mean"], "2,3"),
    (["reduce", "2,3,4,6", "b c (h p) (w q) -> b (c h) w", "max", "p=2", "q=3"], "2,6,2"),
    (["reduce", "B,C,H,W", "b ... c -> c b"], "W,B"),
    (["chain", "2,3 | transpose | reduce 'a b -> b'"], "2"),
    (["reduce", "2,3", "a b -> b a"], "3,2"),
    (["rearrange", "2,4,6", "b (h p) (w q) -> b h w p q", "p=2", "q=3"], "2,2,2,2,3"),
    (["repeat", "2,3", "a b -> a b r", "r=4"], "2,3,4"),
    (["swapaxes", "2,3,4", "-1", "0"], "4,3,2"),
    (["tile", "2,3", "2,2"], "4,6"),
    (["tile", "N,C", "2,M"], "2*N,C*M"),
    (["tile", "2,3", "2", "-d", "numpy"], "2,6"),
    (["unflatten", "2,12", "-1", "3,-1"], "2,3,4"),
    (["moveaxis", "N,H,W,C", "-1", "1"], "N,C,H,W"),
    (["moveaxis", "2,3,4", "0,1", "-1,0", "-d", "torch"], "3,4,2"),
    (["view", "3,4", "3,2,-1", "--strides", "1,3"], "3,2,2"),
    (["chain", "2,3,4 | transpose 1,0,2 | reshape 2,-1,3"], "2,4,3"),
    (["chain", "2,3,4|reshape [0, -1]|flatten --axis 0"], "1,24"),
    (["chain", "N,C,H,W | reshape 0,0,-1", "--where", "N=1,C=2,H=3,W=4"], "1,2,12"),
]


@pytest.mark.parametrize(("words", "answer"), ANSWERS)
def test_the_answer_is_on_stdout_and_nothing_else_anywhere(shapecalc, words, answer):
    ran = shapecalc(*words)
    assert (ran.code, ran.out, ran.err) == (0, f"{answer}\n", "")


def test_ops_compose_through_pipes(shapecalc):
    first = shapecalc("transpose", "2,3,4", "1,0,2")
    assert shapecalc("reshape", "-", "2,-1,3", stdin=first.out).out == "2,4,3\n"
    assert shapecalc("chain", "- | reshape 2,-1,3", stdin=first.out).out == "2,4,3\n"
    assert shapecalc("compare", "-", "6,4", stdin=first.out).code == 0


@pytest.mark.parametrize("text", ["", "\n\n", "9," * 600_000, "\udcff\n"])
def test_standard_input_that_holds_no_shape_is_usage(shapecalc, text):
    ran = shapecalc("reshape", "-", "-1", stdin=text)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("shapecalc: usage: ")
    assert ran.err.count("\n") == 1


def test_conditions_go_to_stderr(shapecalc):
    ran = shapecalc("reshape", "N,C,H,W", "0,-1,64")
    assert (ran.code, ran.out, ran.err) == (0, "N,C*H*W/64,64\n", "shapecalc: holds when 64 divides C*H*W\n")


def test_strict_says_no_and_still_answers(shapecalc):
    ran = shapecalc("reshape", "N,4", "2,6", "--strict")
    assert (ran.code, ran.out) == (1, "2,6\n")
    assert shapecalc("reshape", "N,C", "-1,N", "--strict").code == 0


@pytest.mark.parametrize(
    ("expected", "code"), [("2,12", 0), ("[2, 12]", 0), ("2x12", 0), ("12,2", 1), ("[]", 1), ("2,,12", 2), ("2", 1)]
)
def test_expect_compares_shapes_however_written(shapecalc, expected, code):
    ran = shapecalc("reshape", "2,3,4", "0,-1", "--expect", expected)
    assert ran.code == code
    assert ran.out == ("" if code == 2 else "2,12\n")
    assert (f"expected {expected}, got 2,12" in ran.err) is (code == 1)


def test_expect_of_what_cannot_be_resolved_is_still_unresolved(shapecalc):
    assert shapecalc("reshape", "2,3,4", "5,-1", "--expect", "5,5").code == 3


LINE = ("code", "x.view(B, T, h, C // h).transpose(1, 2)", "--input", "x=B,T,C")
PATTERNS = [
    (("rearrange", "B,C,H,W", "b c (h p) w -> b h (w p c)", "p=7"), "B,...,K", "B,?,H"),
    (("chain", "B,C,H | flatten | transpose"), "M,B", "H,B"),
    (LINE, "B,h,...", "B,h,h,..."),
    ((*LINE, "--where", "B=2"), "2,...", "B,..."),
    (("compare", "squeeze", "1,3,1", "--axes", "0"), "?,1", "K,K"),
    (("compare", "N,3 | transpose 1,0 | reshape 3,-1"), "3,M", "M,M"),
    (("compare", "N,3", "-1", "--where", "N=2"), "K", "N"),
]


@pytest.mark.parametrize(("words", "met", "not_met"), PATTERNS)
def test_an_expectation_may_be_a_pattern(words, met, not_met, shapecalc):
    assert [shapecalc(*words, "--expect", pattern, "-q").code for pattern in (met, not_met)] == [0, 1]


def test_quiet_leaves_the_exit_code_only(shapecalc):
    for words, code in [(("0,-1",), 0), (("0,-1", "--expect", "1"), 1), (("5,-1",), 3)]:
        ran = shapecalc("reshape", "2,3,4", *words, "--quiet")
        assert (ran.code, ran.out, ran.err) == (code, "", "")


def test_json_is_the_documented_object(shapecalc):
    ran = shapecalc("reshape", "2,3,4", "0,-1", "--json")
    found = json.loads(ran.out)
    assert list(found) == [
        *(
            "op",
            "dialect",
            "version",
            "options",
            "request",
            "input",
            "output",
            "conditions",
            "assumes",
            "origins",
            "steps",
            "problem",
        )
    ]
    assert (found["op"], found["dialect"], found["version"]) == ("reshape", "onnx", 25)
    assert (found["options"], found["request"]) == ({"allowzero": False}, {"target": [0, -1]})
    assert (found["input"], found["output"], found["problem"]) == ([2, 3, 4], [2, 12], None)
    atoms = [{"axis": axis, "size": size, "stride": 1} for axis, size in enumerate((2, 3, 4))]
    assert found["origins"] == [atoms[:1], atoms[1:]]
    why = "0 copies dim 0, which is 2"
    assert found["steps"][0] == {"stage": "reshape", "rule": "copy-zero", "out": 0, "from": [0], "value": 2, "why": why}


def test_json_of_names_and_conditions(shapecalc):
    found = json.loads(shapecalc("reshape", "N,C,H,W", "0,-1,64", "--json").out)
    assert found["output"] == ["N", "C*H*W/64", 64]
    assert (found["conditions"], found["assumes"]) == (["C*H*W % 64 == 0"], ["N"])


def test_json_of_a_refusal(shapecalc):
    ran = shapecalc("reshape", "2,3,4", "5,-1", "--json")
    problem = json.loads(ran.out)["problem"]
    assert (ran.code, ran.err) == (3, "")
    assert list(problem) == ["rule", "message", "hint", "argument", "index", "span"]
    assert (problem["rule"], problem["argument"], problem["index"], problem["span"]) == (
        "indivisible",
        "target",
        1,
        [2, 4],
    )
    assert problem["hint"] == "4 and 6 would divide: try 4,-1"


def test_json_of_an_answer_for_one_batch_says_what_holds_for_every_one(shapecalc):
    found = json.loads(shapecalc("reshape", "N,6", "1,2,3", "--json").out)
    assert found["conditions"] == ["N == 1"]
    assert found["hint"].startswith("for every batch try 0,2,3, ")


def test_json_of_what_cannot_be_read(shapecalc):
    ran = shapecalc("reshape", "2,,4", "5,-1", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["output"], found["problem"]["rule"], found["problem"]["span"]) == (2, None, "usage", [2, 3])


def test_json_of_a_chain(shapecalc):
    ran = shapecalc("chain", "2,3,4 | transpose 1,0,2 | reshape 0,-1", "--json")
    found = json.loads(ran.out)
    assert list(found) == ["op", "input", "stages", "output", "conditions", "assumes", "origins", "problem"]
    assert (found["op"], found["input"], found["output"]) == ("chain", [2, 3, 4], [3, 8])
    assert [(stage["op"], stage["input"], stage["output"]) for stage in found["stages"]] == [
        ("transpose", [2, 3, 4], [3, 2, 4]),
        ("reshape", [3, 2, 4], [3, 8]),
    ]
    stopped = shapecalc("chain", "2,3,4 | transpose 1,0,2 | reshape 5,-1 | flatten", "--json")
    assert stopped.code == 3
    assert json.loads(stopped.out)["problem"]["rule"] == "indivisible"
    assert len(json.loads(stopped.out)["stages"]) == 2


def test_explain_is_a_story_on_stderr(shapecalc):
    ran = shapecalc("shuffle", "3,4", "--first", "1,0", "--to", "0,-1", "--explain")
    assert ran.out == "4,3\n"
    assert "tensorrt Shuffle, zero_is_placeholder on" in ran.err
    assert "-1 is 12 elements (4*3) / 4 known = 3  [infer]" in ran.err
    assert "source: TensorRT operator document: Shuffle" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ["reshape", "2,3,4", "0,-1"],
        ["reshape", "N,C,H,W", "0,-1,64"],
        ["reshape", "2,2,3,2", "-1,0,0"],
        ["shuffle", "2,3,4", "--first", "1,0,2", "--to", "2,-1,3"],
        ["flatten", "N,C,H,W", "--axis", "2"],
        ["chain", "N,C,H,W | reshape 0,0,-1 | transpose 0,2,1"],
    ],
    ids=" ".join,
)
def test_explain_fits_on_a_screen_and_all_of_it_is_a_word_away(words, shapecalc):
    short, whole = (shapecalc(*words, explain) for explain in ("--explain", "--explain=all"))
    assert short.out == whole.out
    lines = (short.err + short.out).splitlines()
    assert sum(max(1, -(-len(line) // 80)) for line in lines) <= 24
    left_out = {*whole.err.splitlines()} - {*lines}
    assert [line for line in lines if line.endswith(": --explain=all")] or all("engine" in line for line in left_out)
    assert "more picture" not in whole.err


def test_a_required_switch_that_makes_no_difference_may_be_left_out(shapecalc):
    words = ("2,3,4", "6,4", "-d", "onednn")
    said = "special_zero was left out; on or off, the answer is the same"
    for asked in (("reshape", *words), ("chain", "2,3,4 | reshape 6,4", *words[2:])):
        ran = shapecalc(*asked)
        assert (ran.code, ran.out, ran.err) == (0, "6,4\n", f"shapecalc: {said}\n")
    assert json.loads(shapecalc("reshape", *words, "--json").out)["options"] == {"special_zero": None}
    explained = shapecalc("reshape", *words, "--explain").err
    assert "onednn StaticReshape, special_zero left out\n" in explained
    assert f"\n{said}\n" in explained


def test_explain_takes_all_and_no_other_word(shapecalc):
    ran = shapecalc("reshape", "2,3", "6", "--explain=most")
    assert (ran.code, ran.out) == (2, "")
    assert "--explain" in ran.err


REFUSED = [
    (["reshape", "2,3,4", "5,-1"], "indivisible"),
    (["reshape", "2,3,4", "2,5"], "volume-mismatch"),
    (["reshape", "3,4,5", "0,-1", "-d", "onednn"], "missing-switch"),
    (["reshape", "2,3,4", "0,-1", "--no-allowzero", "--opset", "13"], "no-such-attribute"),
    (["reshape", "2,3,4", "0,-1", "--dtype", "int8", "--opset", "1"], "dtype"),
    (["reshape", f"{10**30}", "-1"], "overflow"),
    (["reshape", ",".join("3" * 300), "-1"], "overflow"),
    (["shape", "2,3", "--start", "1", "--opset", "13"], "no-such-attribute"),
    (["chain", "2,3,4 | reshape 5,-1"], "indivisible"),
    (["reshape", "N/2,3", "-1", "--where", "N=3"], "indivisible"),
]


@pytest.mark.parametrize(("words", "rule"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_the_rules_refuse_is_3_and_one_line(shapecalc, words, rule):
    ran = shapecalc(*words)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"shapecalc: {rule}: ")
    assert ran.err.count("\n") == 1


UNREAD = [
    ["reshape"],
    ["reshape", "2,3"],
    ["reshape", "2,3", "6", "7"],
    ["reshape", "2,3", "-1,3", "--jsno"],
    ["reshape", "2,3", "6", "--opset"],
    ["reshape", "2,3", "6", "--opset", "0"],
    ["reshape", "2,3", "6", "--opset", "99"],
    ["reshape", "2,3", "6", "--opset", "x"],
    ["reshape", "2,3", "6", "--opset", "13", "-d", "numpy"],
    ["reshape", "2,3", "6", "-d", "theano"],
    ["reshape", "2,3", "6", "-d", "numpy", "--allowzero"],
    ["reshape", "2,3", "6", "--special-zero"],
    ["reshape", "2,3", "6", "--dtype", "float99"],
    ["reshape", "2,3", "6", "--where", "N=8"],
    ["reshape", "N,3", "6", "--where", "N"],
    ["reshape", "N,3", "6", "--where", "N=-1"],
    ["reshape", "2,-1", "6"],
    ["reshape", "", "6"],
    ["reshape", "2,3", "?"],
    ["reshape", "2,\x1b[31m3", "6"],
    ["reshape", "2,\N{RIGHT-TO-LEFT OVERRIDE}3", "6"],
    ["reshape", "\udcff", "6"],
    ["reshape", "," * 1_000_000, "6"],
    ["transpose", "2,3", "1,N"],
    ["flatten", "2,3", "--axis", "1", "-d", "numpy"],
    ["flatten", "2,3", "--axis", "1,2"],
    ["flatten", "2,3", "--start-dim", "1"],
    ["flatten", "2,3", "-d", "tensorrt"],
    ["shape", "2,3", "--start", "1", "-d", "openvino"],
    ["shuffle", "2,3", "-d", "onnx"],
    ["reshpae", "2,3", "6"],
    ["chain", "2,3 |"],
    ["chain", "2,3 | frobnicate"],
    ["chain", "2,3 | reshape 6 --allowzreo"],
    ["chain", "2,3 | reshape 6 7"],
    ["chain", "2,3 | shape | reshape 2"],
    ["compare", "2,3", "6", "-d", "nobody"],
    ["compare", "2,3", "?"],
    ["why", "nonesuch"],
    ["why", "  "],
]


@pytest.mark.parametrize("words", UNREAD, ids=lambda words: ascii(" ".join(words))[:60])
def test_what_cannot_be_read_is_2_and_one_line(shapecalc, words):
    ran = shapecalc(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("shapecalc: usage: ")
    assert ran.err.count("\n") == 1
    assert ran.err.removesuffix("\n").isprintable()
    assert len(ran.err) < 500


def test_a_typo_in_an_option_names_the_option_that_was_meant(shapecalc):
    assert "--json" in shapecalc("reshape", "2,3,4", "-1,4", "--jsno").err
    assert "did you mean" in shapecalc("chain", "2,3 | reshape 6 --allowzreo").err


@pytest.mark.parametrize("op", OPS)
def test_help_opens_with_examples_that_run(shapecalc, op):
    text = shapecalc(op, "-h").out
    examples = [shlex.split(line) for line in text.splitlines() if line.strip().startswith("shapecalc ")]
    assert len(examples) == 3
    assert text.index("shapecalc " + op + " ", 20) < text.index("Options:")
    for words in examples:
        assert shapecalc(*words[1:]).code == 0


@pytest.mark.parametrize("option", [["--values"], ["-o", "y.npy"]])
def test_data_of_every_operand_are_needed(option, shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("numpy").save("x.npy", [[1, 2]])
    ran = shapecalc("concat", "x.npy", "3,2", "_", "--axis", "0", *option)
    assert ran.err.startswith(f"shapecalc: usage: {option[0].replace('-o', '--out')} needs the data of every operand")
    assert shapecalc("concat", "x.npy", "_", "_", "--axis", "0", *option).code == 0
