"""Fixes: what is offered first for each refusal, and the law that whatever is offered resolves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.answers import Request
from shapecalc.core.ask import ask
from shapecalc.core.commands import read_stage, split, texts_of
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Flattens
from shapecalc.core.dims import named_dim
from shapecalc.core.fixing import COPIED, INFERRED, answer_chain, apply, fixes, lasting_hint
from shapecalc.core.fixing import answer as resolve
from shapecalc.core.ops import OPS, refusals
from shapecalc.core.ops.op import operator_of
from shapecalc.core.ops.view import COPY_FIRST
from shapecalc.core.record import replace
from tests import strategies
from tests.cases import cases
from tests.core.test_cases import TABLES
from tests.core.test_symbolic import often_fitting
from tests.sampling import examples

FIRST = [
    # request, rule, the option changed, its value, in words
    ("reshape 2,3,4 5,-1", "indivisible", "target", "4,-1", "write 4,-1"),
    ("reshape 1 2*M,-1", "indivisible", "target", "1,-1", "write 1,-1"),
    ("shuffle 2,3,4 --first 1,0,2 --to 0,5,-1", "indivisible", "to", "0,4,-1", "write 0,4,-1"),
    (
        "reshape 3,0,4 0,0,5,-1 -d openvino --special-zero",
        "indivisible",
        "special_zero",
        False,
        "turn special_zero off",
    ),
    (
        "reshape 8,255,52,52 1,3,85,52,52",
        "volume-mismatch",
        "target",
        "0,3,85,52,52",
        f"write 0,3,85,52,52: right for every batch, {COPIED}",
    ),
    ("reshape 2,3,4 2,5", "volume-mismatch", "target", "2,12", "write 2,12"),
    ("reshape N,3 0,4", "volume-mismatch", "target", "0,3", "write 0,3"),
    ("reshape N*N,2 M,M", "volume-mismatch", "target", "M,2", "write M,2"),
    ("reshape 51 []", "volume-mismatch", "target", "-1", "write -1"),
    ("reshape ?,2 3", "volume-mismatch", "target", "-1", "write -1"),
    ("reshape 0,3,4 3,4,0", "volume-mismatch", "allowzero", True, "turn allowzero on"),
    ("reshape 2,3 2,3,0", "zero-out-of-range", "target", "2,3", "write 2,3"),
    ("reshape 6 3,0", "zero-out-of-range", "target", "3,-1", "write 3,-1"),
    ("reshape 6 6,0,0,0", "zero-out-of-range", "target", "6", "write 6"),
    ("reshape 0,4 0,-1 --allowzero", "zero-beside-infer", "target", "0,4", "write 0,4"),
    ("reshape 2,3 0,-1 --allowzero", "zero-beside-infer", "allowzero", False, "turn allowzero off"),
    ("reshape 0,3,4 0,-1", "zero-volume-infer", "target", "0,12", "write 0,12"),
    ("reshape 2,3 0,-1 -d torch", "zero-volume-infer", "target", "2,-1", "write 2,-1"),
    ("reshape 2,3,4 0,0,-1 -d numpy", "zero-volume-infer", "target", "2,3,-1", "write 2,3,-1"),
    ("reshape 2,3,4 -1,-1", "two-infers", "target", "-1,3", "write -1,3"),
    ("shuffle 2,3,4 --first 1,0,2 --to -1,-1", "two-infers", "to", "-1,2", "write -1,2"),
    ("reshape 2,3,4 -1,-1,-1", "two-infers", "target", "-1,3,4", "write -1,3,4"),
    ("reshape 2,3,4 -2,12", "below-minus-one", "target", "-1,12", "write -1,12"),
    ("shuffle 65536,65536 --to -1", "infer-limit", "to", "65536,-1", "write 65536,-1"),
    ("reshape 2,3 9999999999999999999,3", "overflow", "target", "2,3", "write 2,3"),
    ("reshape 1 1,1,1,1,1,1,1,1,1 -d tensorrt", "rank-limit", "target", "1,1,1,1,1,1,1,-1", "write 1,1,1,1,1,1,1,-1"),
    ("transpose 2,3,4 1,0,1", "not-a-permutation", "perm", "1,0,2", "write 1,0,2"),
    ("transpose 2,3,4 2,0", "not-a-permutation", "perm", "2,0,1", "write 2,0,1"),
    ("transpose 2,3,4 3,1,7,1,0", "not-a-permutation", "perm", "2,1,0", "write 2,1,0"),
    ("transpose 2,3,4 -1,0,0 -d torch", "not-a-permutation", "perm", "-1,0,1", "write -1,0,1"),
    ("shuffle 2,3,4 --to 6,4 --second 1,1", "not-a-permutation", "second", "1,0", "write 1,0"),
    ("transpose 2,3,4 -1,0,-2", "negative-axis", "perm", "2,0,1", "write 2,0,1"),
    ("flatten 2,3,4 --axis -1 --opset 9", "negative-axis", "axis", "2", "write 2"),
    ("unsqueeze 2,3 --axes -1 --opset 9", "negative-axis", "axes", "2", "write 2"),
    ("squeeze 1,3,1 --axes -1,-3 --opset 1", "negative-axis", "opset", "11", "use opset 11"),
    ("squeeze 1,3 --axes 2", "axis-out-of-range", "axes", "0", "write 0"),
    ("flatten []", "axis-out-of-range", "axis", "0", "write axis 0"),
    ("flatten 2,3 --start-dim 2 -d torch", "axis-out-of-range", "start_dim", "1", "write 1"),
    ("squeeze 1,3,1 --axes 0,-3", "repeated-axis", "axes", "0", "write 0"),
    ("unsqueeze 2,3 --axes 0,0", "repeated-axis", "axes", "0,1", "write 0,1"),
    ("squeeze 1,3,1 --axes 0,1", "axis-not-one", "axes", "0", "write 0"),
    ("squeeze 2,1,3 0", "axis-not-one", "axes", "1", "write 1"),
    ("squeeze 1,2,3,1 -2", "axis-not-one", "axes", "3", "write 3"),
    ("squeeze 2,3 0", "axis-not-one", "axes", "[]", "write []"),
    ("squeeze 2,3,1 --axes 0,1,2", "axis-not-one", "axes", "2", "write 2"),
    ("flatten 2,3,4 --start-dim 2 --end-dim 1 -d torch", "start-after-end", "start_dim", "1", "write 1"),
    ("expand 3,1 2,4", "not-broadcastable", "target", "3,4", "write 3,4"),
    ("expand 8,1,1 1,2 -d numpy", "not-broadcastable", "target", "8,1,2", "write 8,1,2"),
    ("expand 3,1 2,-1,4", "negative-size", "target", "2,3,4", "write 2,3,4"),
    ("expand 3,1 -1,3,4 -d torch", "negative-size", "target", "1,3,4", "write 1,3,4"),
    ("reshape 3,4,5 0,-1 -d onednn", "missing-switch", "special_zero", True, "turn special_zero on"),
    ("reshape 0,4 0,3,0 -d openvino", "missing-switch", "special_zero", False, "turn special_zero off"),
    ("transpose 2,3,4 -d onednn", "missing-argument", "perm", "2,1,0", "write perm 2,1,0"),
    ("unsqueeze 2,3", "missing-argument", "axes", "0", "write axes 0"),
    ("reshape 0,4 4,0 --allowzero --opset 13", "no-such-attribute", "opset", "14", "use opset 14"),
    ("reshape 2,3 0,-1 --allowzero --opset 13", "no-such-attribute", "allowzero", None, "leave allowzero out"),
    ("shape 2,3,4 --start 1 --end 2 --opset 13", "no-such-attribute", "opset", "15", "use opset 15"),
    ("expand 3,1 3,4 --opset 7", "no-such-version", "opset", "8", "use opset 8"),
    ("depth_to_space 1,18,2,3 2", "indivisible", "block", "3", "write 3"),
    ("depth_to_space 1,8,2,3 0", "bad-block", "block", "2", "write 2"),
    ("view 3,4 12 --strides 1,3", "stride-incompatible", "strides", None, "leave strides out"),
    ("view 3,4 12 --strides 4,-1", "bad-strides", "strides", None, "leave strides out"),
    ("view 2,3,4 5,-1", "indivisible", "target", "4,-1", "write 4,-1"),
    ("space_to_depth 1,2,4,6 4", "indivisible", "block", "2", "write 2"),
    ("space_to_depth 1,2,4,6 2 --mode CRD", "no-such-attribute", "opset", "28", "use opset 28"),
    ("depth_to_space 1,8,2,3 2 --mode CRD --opset 1", "no-such-attribute", "opset", "11", "use opset 11"),
    ("depth_to_space 1,8,2,3 2 --mode CRD -d torch", "no-such-attribute", "mode", None, "leave mode out"),
    ("rearrange 2,3 'a b -> b a' a=3", "bad-pattern", "lengths", "a=2", "write a=2"),
    ("rearrange 6,2 '(a b) c -> a b c' a=4", "indivisible", "lengths", "a=3", "write a=3"),
    ("matmul 2,3 4,3", "inner-differs", "operands", "3,4", "transpose the second operand: write 3,4"),
    ("concat 2,3 3 --axis 0", "ranks-differ", "operands", "1,3", "insert a dim of 1 in the second operand: write 1,3"),
    ("concat 1,3,4 1,3,9 --axis 0", "dims-differ", "axis", "2", "lay them along another axis: write 2"),
    ("swapaxes 2,3,4 0 5", "axis-out-of-range", "axis2", "2", "write 2"),
    ("moveaxis 2,3,4 0,1 2", "unpaired-axes", "destination", "2,0", "write 2,0"),
    ("moveaxis 2,3,4 1 2,0", "unpaired-axes", "axes", "1,0", "write 1,0"),
    ("moveaxis 2,3,4 0,0 2,1", "repeated-axis", "axes", "0,1", "write 0,1"),
    ("unflatten 2,12 1 7,-1", "indivisible", "sizes", "6,-1", "write 6,-1"),
    ("unflatten 2,12 1 3,5", "volume-mismatch", "sizes", "3,-1", "write 3,-1"),
    ("unflatten 2,0 1 0,-1", "zero-volume-infer", "sizes", "1,-1", "write 1,-1"),
    ("unflatten 2,12 1 []", "missing-argument", "sizes", "-1", "write -1"),
    ("tile 2,3 2", "bad-repeats", "repeats", "1,2", "write 1,2"),
    ("tile 2,3 4,2,2", "bad-repeats", "repeats", "2,2", "write 2,2"),
    ("tile 2,3 -1,2 -d numpy", "bad-repeats", "repeats", "1,2", "write 1,2"),
    ("tile 2,3 3,2 --opset 1", "bad-repeats", "repeats", "3,1", "write 3,1"),
    ("tile 2,1 4294967296,4294967296", "overflow", "repeats", "1,1", "write 1,1"),
    ("slice 2,3,4 :,::0", "bad-step", "slices", ":,:", "write :,:"),
    ("slice 2,3,4 1:2:-1 -d torch", "bad-step", "slices", "1:2", "write 1:2"),
    ("slice N,L :,:3", "needs-size", "slices", ":,:", "write :,:"),
    ("slice 2,3 :,1:9 -d tensorrt", "slice-out-of-bounds", "slices", ":,1:", "write :,1:"),
    ("slice 2,3,4 ::2 --opset 9", "no-such-attribute", "opset", "10", "use opset 10"),
    ("slice 2,3 :,:,1:", "axis-out-of-range", "slices", ":,:", "write :,:"),
    ("split 6,4 0 4", "unequal-parts", "parts", "3", "write 3"),
    ("split 6,4 0 4 -d numpy", "unequal-parts", "uneven", True, "write --uneven"),
    ("split 7,4 0 --sizes 2,3", "bad-sizes", "sizes", "2,5", "write 2,5"),
    ("roll 2,3,4 1 0,1 -d torch", "unpaired-shifts", "axis", "0", "write 0"),
    ("split 6,4 0 0", "bad-parts", "parts", "1", "write 1"),
    ("split 6,4 0 3 --part 3", "index-out-of-range", "part", "2", "write 2"),
    ("select 2,3,4 1 3", "index-out-of-range", "index", "2", "write 2"),
    ("select 2,3,4 1 -1 --opset 1", "index-out-of-range", "index", "2", "write 2"),
    ("reshape 2,3,4 -2,-1 -d mxnet", "shifted-infer", "target", "2,-1", "write 2,-1"),
    ("reshape 2,3,4 -3,-3 -d mxnet", "no-dim-left", "target", "-3,-1", "write -3,-1"),
    ("reshape 2,3,4 -4,2 -d mxnet", "split-incomplete", "target", "-1,2", "write -1,2"),
    ("reshape 2,3,4 -4,3,2,-2 -d mxnet", "split-mismatch", "target", "-4,-1,2,-2", "write -4,-1,2,-2"),
    ("reshape 2,3 6 --dtype bfloat16 --opset 5", "dtype", "opset", "13", "use opset 13"),
]

NONE = {
    "contradiction": "it lies between the stages of a chain, not in one request",
    "differs": "it lies between an answer and what was expected of it",
    "file": "it lies outside of the request",
    "usage": "the request was never read",
    "unknown-shape": "the array itself is refused",
    **dict.fromkeys(
        ("ranks-differ", "dims-differ", "inner-differs", "label-differs", "rest-differs", "channels-differ"),
        "it lies between operands",
    ),
    **dict.fromkeys(
        ("window-rank", "window-values", "window-too-large", "bad-padding", "nothing-left"),
        "it lies in the window, whose numbers are what is meant",
    ),
    "one-axis": "it takes another request for each further axis",
    "bad-num-axes": "it lies in which dims are meant",
    "keeps-nothing": "it lies in what is to be kept",
    "axes-apart": "it takes another request for the axes that are apart",
    "wrong-rank": "it lies in the input, which is what it is",
}
"""The rules that no small change mends."""

HOPELESS = [
    "reshape 4294967296,4294967296 -1",
    "shuffle 1,1,1,1,1,1,1,1,1",
    "reshape 2,3,4 0,-1 --dtype int64 -d tensorrt",
    "shuffle 2,3,4 --to 7,-1 --second 0,1,2",
    "reshape 2,3,4 5,5 --dtype int8 --opset 1",
    "reshape 2,3,4 2,12",
]

WEIGHED = {"linear", "einsum", "conv", "pool", "pad", "upsample"}
"""The ops of which no requests are drawn."""
FLATTENS = {Flattens.AXIS: ("axis",), Flattens.RANGE: ("start_dim", "end_dim"), Flattens.ALL: (), Flattens.REST: ()}
MANY = examples(400)


def answer_to(line):
    """Return the answer to a request as it would be typed."""
    stage = read_stage(split(line), with_input=True)
    return resolve(ask(stage.op, stage.input, stage.options))


@pytest.mark.parametrize(("line", "rule", "name", "value", "said"), FIRST, ids=[row[0] for row in FIRST])
def test_the_first_fix(line, rule, name, value, said):
    trace = answer_to(line)
    assert trace.problem.rule == rule
    first = fixes(trace)[0]
    assert (first.name, first.value, first.said) == (name, value, said)
    check(trace)


def test_every_refusal_has_a_row_or_a_reason():
    assert {rule for _, rule, *_ in FIRST} | NONE.keys() == refusals().keys()


MEETINGS = [
    # a request of several operands that do not go together, and its hint
    (
        "matmul 512,2304 256,4",
        "2304 = 9*256: a 3x3 map was flattened; let the second operand take 2304 features: write",
    ),
    ("matmul 32,64,7,7 3136,10", "flatten the input from axis 1 on: write 32,3136"),
    ("matmul 14336,7 3136,10", "14336*7 = 32*3136: 32 rows of 3136, so a flatten may be missing"),
    ("matmul 3,2 3,4", "3 is 1 more than 2"),
    ("matmul 5,8,64 5,8,64", "transpose the second operand: write"),
    ("broadcast 3,3 9", "reshape the second operand: write 3,3"),
    ("broadcast 8,16 8", "insert a dim of 1 in the second operand: write 8,1"),
    ("broadcast 2,8,4,4 8", "insert 2 dims of 1 in the second operand: write 8,1,1"),
    ("broadcast 1,64,9,9 1,9,9,64", "put the channels of the second operand first, NCHW for NHWC: write 1,64,9,9"),
    ("broadcast 2,64,245 2,64,244", "cut the input where it is one too long, as by rounding: write 2,64,244"),
    ("broadcast 400,160 160,400", "transpose the second operand: write 400,160"),
    ("broadcast 672,290,3 3,3", ""),
    ("concat 1,4,107,107 1,6,108,108 --axis 1", "cut the second operand where it is one too long"),
    ("linear 2,3 --weight 3,5", "transpose the weight: write 5,3"),
    (
        "linear 512,2304 --weight 4,256",
        "2304 = 9*256: a 3x3 map was flattened; let the weight take 2304 features: write",
    ),
    ("conv 1,361,424,3 10,3,3,3", "put the channels of the input first, NCHW for NHWC: write 1,3,361,424"),
    ("conv 1,32,9,9 32,1,3,3", "each channel has a filter of its own: write"),
    ("conv 2,14,8,8 4,9,3,3", "14 is 5 more than 9"),
    ("stack 2,3 1,2,3 --axis 0", "drop a 1 of the second operand: write 2,3"),
]


@pytest.mark.parametrize(
    ("line", "said"), [row for row in MEETINGS if row[0].split()[0] in OPS], ids=lambda text: text[:40]
)
def test_operands_that_do_not_go_together_are_told_what_their_numbers_say(line, said):
    trace = answer_to(line)
    assert trace.problem.hint.startswith(said)
    check(trace)


@pytest.mark.parametrize("line", HOPELESS)
def test_nothing_is_offered_where_nothing_near_helps(line):
    assert fixes(answer_to(line)) == ()


@pytest.mark.parametrize("stages", ["N,3 | squeeze | reshape 1,3", "N,6 | reshape 4,3 | reshape 0,N,-1"])
def test_nothing_is_offered_for_what_lies_between_stages(stages):
    answer = next(case for case in cases("symbolic") if case.request == stages).answer()
    assert fixes(answer.traces[-1]) == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reshape 2,3,4 5,-1", ["write 4,-1", "write 6,-1"]),
        ("reshape 0,3,4 0,-1 -d onnxruntime", ["write 0,12", "turn allowzero on"]),
        ("flatten 2,3,4 --axis -1 --opset 9", ["write 2", "use opset 11"]),
        ("shape 2,3,4 --start 1 --opset 13", ["use opset 15", "leave start out"]),
        ("unsqueeze 2,3 --axes 4", ["write 2", "write 1", "write 0"]),
        ("reshape N,0 2,3", ["write 2,0", "write 2,-1", "write -1,3", "write 2,3,-1"]),
    ],
)
def test_all_fixes_in_order(line, said):
    assert [fix.said for fix in fixes(answer_to(line))] == said


def test_a_fix_without_conditions_comes_before_a_nearer_one():
    assert [fix.said for fix in fixes(answer_to("squeeze 1,N --axes 4"))] == ["write 0", "write []", "write 1"]


def test_a_fix_keeps_the_other_arguments_as_they_were_typed():
    request = ask("shuffle", "[2, 3]", {"first": "1, 0", "to": "4,-1"})
    again = apply(request, fixes(resolve(request))[0])
    assert again.written == {"input": "[2, 3]", "first": "1, 0", "to": "3,-1"}


def test_an_option_that_is_left_out_is_no_longer_written():
    request = ask("transpose", "2,3", {"perm": "0"})
    left_out = next(fix for fix in fixes(resolve(request)) if fix.value is None)
    assert apply(request, left_out) == ask("transpose", "2,3", {})


def check(trace):
    """Every fix resolves, applied to the request and typed in its place, and none is offered twice."""
    found = fixes(trace)
    assert len({(fix.name, fix.value) for fix in found}) == len(found)
    assert trace.problem is not None or trace.conditions or not found
    for fix in found:
        answer = resolve(apply(trace.request, fix))
        assert answer.output is not None
        assert trace.problem is not None or len(answer.conditions) < len(trace.conditions)
        assert not fix.every_batch or holds_for_every_batch(trace.request, fix)
        texts = texts_of(trace.request) | {fix.name: fix.value}
        assert resolve(ask(trace.op, texts.pop("input"), texts)).output is not None
    words = trace.problem.hint.partition("try ")[2] if trace.problem else ""
    assert not words or found[0].value == words.partition(";")[0].partition(", ")[0]


def holds_for_every_batch(request, fix):
    """Say whether a fixed request resolves, and says nothing of the batch, if that has a name of its own."""
    if request.op == "shuffle":
        return True  # its first transpose may put any dim in front
    answer = resolve(replace(apply(request, fix), input=(named_dim("Batch"), *request.input[1:])))
    return answer.output is not None and "Batch" not in str(answer.conditions)


BATCHES = [
    ("reshape 8,255,52,52 1,3,85,52,52", ["0,3,85,52,52", "-1,3,85,52,52", "8,3,85,52,52"]),
    ("reshape 8,255,52,52 1,3,85,52,52 -d torch", ["-1,3,85,52,52", "8,3,85,52,52"]),
    ("reshape 8,255,52,52 1,3,85,52,52 --allowzero", ["-1,3,85,52,52", "8,3,85,52,52"]),
    ("reshape 8,6,5 1,0,5", ["0,0,5", "-1,0,5", "8,0,5"]),
    ("view 8,6 1,2,3", ["-1,2,3", "8,2,3"]),
    ("reshape 8,2,8,3 1,48 -d mxnet --reverse", ["8,48"]),
    ("reshape 2*N,6 1,6", ["0,6", "-1,6"]),
    ("reshape N,255,13,13 1,3,85,13,13", ["0,3,85,13,13", "-1,3,85,13,13"]),
    ("reshape N,255,13,13 1,3,85,13,13 -d numpy", ["-1,3,85,13,13"]),
    ("shuffle 5,N,6 --first 1,0,2 --to 4,30", ["0,30", "-1,30"]),
    ("reshape N,C,H,W 1,C,H,W", ["0,C,H,W", "-1,C,H,W"]),
    ("reshape N,6 M,6", []),
    ("reshape 4,197,768 1,196,12,64", ["0,-1,12,64", "-1,197,12,64", "1,788,12,64"]),
    ("reshape 4,197,768 1,196,12,64 -d torch", ["-1,197,12,64", "1,788,12,64"]),
    ("view 4,197,768 1,196,12,64", ["-1,197,12,64", "1,788,12,64"]),
    ("reshape 4,197,768 1,-1,12,63", ["0,-1,12,64", "-1,197,12,64", "1,-1,12,64"]),
    ("reshape 4,197,768 4,196,12,64", ["4,197,12,64", "0,197,12,64"]),
    ("reshape 4,197,768 4,196,12,64 --allowzero", ["4,197,12,64"]),
    ("reshape 1,197,768 1,196,12,64", ["1,197,12,64"]),
    ("reshape 1,27,120,120 1,3,9,30,30", ["1,3,9,120,120"]),
    ("reshape N,C,8,8 N,C,4,4", ["N,C,8,8"]),
    ("reshape 1,4,256,256 1,4,1,4096", ["1,4,1,-1"]),
    ("reshape 560,29 1,64,29", ["1,-1,29", "1,560,29"]),
    ("reshape 8921088 16,34,34,512", ["16,33,33,512"]),
    ("reshape 8921088 16,34,34,512 -d torch", ["16,33,33,512"]),
    ("reshape N,6 -1,5", []),
]


def test_a_fix_says_where_it_takes_the_batch():
    found = fixes(answer_to("reshape 4,197,768 1,196,12,64"))
    assert [(fix.value, fix.moves) for fix in found if fix.moves] == [("1,788,12,64", "takes the batch into axis 1")]
    assert found[-1].said == "write 1,788,12,64: takes the batch into axis 1"
    hint = answer_to("reshape 4,197,768 1,196,12,64").problem.hint
    assert hint.startswith("for every batch try 0,-1,12,64, since 0 copies the input's first dim; ")
    assert hint.endswith("; 1,788,12,64 takes the batch into axis 1")


@pytest.mark.parametrize(("line", "values"), BATCHES, ids=[row[0] for row in BATCHES])
def test_what_is_right_for_more_than_this_input_comes_first(line, values):
    trace = answer_to(line)
    assert [fix.value for fix in fixes(trace)][: len(values) + (not values)] == values
    check(trace)


def test_a_hint_says_what_each_fix_assumes_and_what_fits_this_batch_alone():
    hint = answer_to("reshape 8,6 1,2,3").problem.hint
    assert hint == f"for every batch try 0,2,3, {COPIED}; or -1,2,3, {INFERRED}; for 8 only 8,2,3"


def test_an_answer_for_one_batch_has_a_hint_and_others_have_none():
    assert lasting_hint(answer_to("reshape N,6 1,2,3")) == f"for every batch try 0,2,3, {COPIED}; or -1,2,3, {INFERRED}"
    for line in ("reshape N,6 -1,5", "reshape 2,3 3,2", "reshape 2,3 7"):
        assert lasting_hint(answer_to(line)) == ""
    chain = answer_chain("N,6", [("transpose", {}), ("transpose", {}), ("reshape", {"target": "1,2,3"})], {})
    assert lasting_hint(chain).startswith("stage 3, reshape: for every batch try 0,2,3, ")


COPIES_NOTHING = [
    ("reshape 2,3,4 0,-1 -d torch", "write 2,-1"),
    ("view 2,3,4 0,-1 -d torch", "write 2,-1"),
    ("reshape N,3,4 0,0,-1 -d numpy", "write N,3,-1"),
    ("reshape 2,3,4 0,12 -d torch", f"write 2,12; for every batch try -1,12, {INFERRED}"),
    (
        "reshape 2,3,4 0,-1 -d onnxruntime --allowzero",
        "write 2,-1; with allowzero off (0 copies) the answer is 2,12",
    ),
]


@pytest.mark.parametrize(("line", "said"), COPIES_NOTHING)
def test_where_0_is_a_size_the_hint_says_so_and_names_the_dim_that_was_meant(line, said):
    trace = answer_to(line)
    assert trace.problem.hint == f"here 0 is a size and copies nothing: {said}"
    check(trace)


@pytest.mark.parametrize(
    "line", ["reshape 2,3,4 0,7 -d torch", "reshape 0,3 0,-1 -d torch", "unflatten 2,12 1 0,-1 -d torch"]
)
def test_where_the_dim_that_was_meant_does_not_help_nothing_is_said_of_copying(line):
    assert "copies nothing" not in answer_to(line).problem.hint


def test_where_strides_forbid_a_view_the_hint_says_what_copies():
    assert answer_to("view 3,4 12 --strides 1,3").problem.hint == COPY_FIRST


def test_where_no_one_size_helps_the_hint_says_which_factors_are_missing():
    assert answer_to("reshape 1600 8,3,64").problem.hint == (
        "no single size helps: 1600 = 2^6*5^2 has no factor 2^9 and no factor 3"
    )
    assert answer_to("reshape 8921088 16,34,34,512").problem.hint.endswith("no factor 17^2; try 16,33,33,512")
    assert answer_to("reshape 24 7,5,-1").problem.hint.endswith("24 = 2^3*3 has no factor 5 and no factor 7")


@st.composite
def requests(draw):
    """Draw requests of every op, many of which are refused."""
    op = draw(st.sampled_from(sorted(OPS.keys() - {"shape"} - WEIGHED)))
    row = draw(st.sampled_from([row for row in DIALECTS.values() if operator_of(OPS[op], row)]))
    shape, target = draw(strategies.reshapes())
    permuted, perm = draw(strategies.permutations())
    axes = draw(strategies.axes)
    strides = st.lists(st.integers(-1, 6), min_size=max(0, len(shape) - 1), max_size=len(shape)).map(tuple)
    mode = draw(st.sampled_from([None, None, "DCR", "CRD"]))
    given = {
        "reshape": (shape, {"target": target}),
        "expand": (shape, {"target": draw(st.sampled_from([target, shape]))}),
        "transpose": (permuted, {"perm": perm}),
        "shuffle": (permuted, {"first": perm, "to": draw(strategies.targets(permuted))}),
        "squeeze": (draw(strategies.ones), {"axes": axes}),
        "unsqueeze": (shape, {"axes": axes}),
        "flatten": (shape, {name: draw(st.integers(-5, 5)) for name in FLATTENS[row.flattens]}),
        "depth_to_space": (draw(strategies.images), {"block": draw(st.integers(-1, 5)), "mode": mode}),
        "view": (shape, {"target": target, "strides": draw(st.one_of(st.none(), strides))}),
        "space_to_depth": (draw(strategies.images), {"block": draw(st.integers(-1, 5)), "mode": mode}),
        "rearrange": draw(strategies.rearrangements()),
        **{name: (shape, {"operands": (draw(strategies.ones),)}) for name in ("broadcast", "matmul")},
        **{name: (shape, {"operands": (draw(strategies.ones),), "axis": 0}) for name in ("concat", "stack")},
        **{name: (shape, draw(strategies.positions(name, len(shape)))) for name in strategies.POSITIONS},
    }
    dims, arguments = given[op]
    arguments = {name: value for name, value in arguments.items() if value is not None}
    opset = draw(st.sampled_from([None, 1, 7, 10, 13, 15])) if row.newest_opset else None
    switch = draw(st.sampled_from([None, *row.readings])) if OPS[op].switched else None
    return Request(op, dims, arguments, row.name, opset, switch=switch)


@MANY
@given(requests())
def test_every_fix_resolves(request_):
    check(resolve(request_))


@MANY
@given(often_fitting())
def test_every_fix_of_a_request_with_names_resolves(request_):
    check(resolve(request_))


@pytest.mark.sampled(200)
@pytest.mark.parametrize("case", TABLES, ids=str)
def test_every_fix_of_the_tables_resolves(case):
    check(case.answer().traces[-1])
