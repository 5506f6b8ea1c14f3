"""The policy on defaults, which is the same for chains, case files and the prompt."""

from __future__ import annotations

import json

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of

TAKEN_BY_NONE = [
    ("2,3 | transpose", ["--allowzero"], "onnx Transpose has no allowzero"),
    ("2,3 | flatten | squeeze", ["--no-allowzero"], "onnx Squeeze has no allowzero"),
    ("2,3 | reshape 6", ["--opset", "13", "-d", "numpy"], "numpy reshape has no opset"),
    ("2,3 | reshape 6", ["--special-zero"], "onnx Reshape has no special_zero"),
    ("2,3 | reshape 6 | transpose", ["--allowzero", "--dialect", "torch"], "torch permute has no allowzero"),
    ("2,3 | reshape 6 --dialect numpy", ["--opset", "13", "-d", "onnx"], "numpy reshape has no opset"),
]


@pytest.mark.parametrize(("stages", "options", "message"), TAKEN_BY_NONE)
def test_an_option_for_a_chain_that_no_stage_takes_is_usage(stages, options, message, shapecalc):
    ran = shapecalc("chain", stages, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"shapecalc: usage: {message}\n"


TAKEN_BY_ONE = [
    ("0,3 | transpose | reshape 0,3 --dialect onnx", ["--allowzero"], "0,3"),
    ("2,3 | transpose | reshape 6 -d numpy", ["--opset", "13"], "6"),
    ("2,3 | reshape 0,-1 -d openvino | reshape 6 -d numpy", ["--special-zero"], "6"),
    ("2,3 | reshape 3,2 | reshape 6 -d numpy", ["--dialect", "torch", "--dtype", "float32"], "6"),
]


@pytest.mark.parametrize(("stages", "options", "output"), TAKEN_BY_ONE)
def test_an_option_that_one_stage_takes_is_passed_over_by_the_others(stages, options, output, shapecalc):
    ran = shapecalc("chain", stages, *options)
    assert (ran.code, ran.out, ran.err) == (0, f"{output}\n", "")


PASSED_OVER = [
    ("allowzero=1", "transpose 2,3 1,0 => 3,2"),
    ("allowzero=1", "reshape 2,3 6 --dialect numpy => 6"),
    ("special_zero=1", "reshape 2,3 0,-1 => 2,3"),
    ("opset=13", "reshape 2,3 6 --dialect torch => 6"),
    ("opset=13 allowzero=0 dialect=numpy", "2,3 | reshape 0,-1 => error"),
    ("opset=5", '{"op": "reshape", "input": [2, 3], "target": [6], "dialect": "numpy", "expect": [6]}'),
    ("special_zero=1", '{"op": "shape", "input": [2, 3], "expect": [2, 3]}'),
    ("dialect=openvino special_zero=1", "0,2 | transpose | reshape 0,-1 => 2,0"),
]


@pytest.mark.parametrize(("default", "line"), PASSED_OVER)
def test_a_default_of_check_that_a_stage_cannot_take_is_passed_over(default, line, shapecalc):
    ran = shapecalc("check", "-", stdin=f"@default {default}\n{line}\n")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "shapecalc: 1 passed\n"


@pytest.mark.parametrize("line", ["reshape 2,3 6 --opset 13 --dialect numpy", "transpose 2,3 --allowzero"])
def test_an_option_of_the_case_itself_is_never_passed_over(line, shapecalc):
    ran = shapecalc("check", "-", stdin=f"@default opset=13\n{line}\n")
    assert ran.code == 2
    assert " has no " in ran.out


LACKING = [
    ("onednn", "squeeze", "squeeze"),
    ("tensorrt", "flatten", "flatten --axis 1"),
    ("onnx", "shuffle", "shuffle"),
]
LACKING += [("openvino", "flatten", "flatten"), ("torch", "shuffle", "shuffle --to 3")]


@pytest.mark.parametrize(("dialect", "op", "stage"), LACKING)
def test_an_op_that_the_dialect_lacks_is_usage_in_every_front_end(dialect, op, stage, shapecalc):
    assert operator_of(OPS[op], DIALECTS[dialect]) is None
    message = f"usage: {dialect} has no {op} (it is in "
    chain = shapecalc("chain", f"1,3 | {stage}", "--dialect", dialect)
    prompt = shapecalc("repl", stdin=f"dialect {dialect}\n1,3\n{stage}\n")
    piped = shapecalc("repl", stdin=f"dialect {dialect}\n1,3 | {stage}\n")
    name, _, rest = stage.partition(" ")
    cases = [f"{name} 1,3 {rest}", f"1,3 | {stage}", json.dumps({"op": op, "input": [1, 3]})]
    checked = [shapecalc("check", "-", stdin=f"@default dialect={dialect}\n{case}\n") for case in cases]
    for ran in (chain, prompt, piped, *checked):
        assert ran.code == 2
        assert message in ran.out + ran.err


ANSWERS = [
    ({}, "2,3,4", "reshape 0,-1"),
    ({"dialect": "numpy"}, "2,3,4", "reshape 0,-1"),
    ({"dialect": "numpy"}, "2,3,4", "reshape 6,-2"),
    ({"dialect": "onnx"}, "2,3,4", "reshape 6,-2"),
    ({"dialect": "openvino"}, "2,3,4", "reshape 0,-1"),
    ({"dialect": "openvino"}, "2,3,4", "reshape 0,-1 --special-zero"),
    ({"dialect": "onednn"}, "2,3,4", "transpose"),
    ({"dialect": "torch"}, "N,1,4", "flatten --start-dim 1"),
    ({"dialect": "torch"}, "N,1,4", "squeeze --axes 0"),
    ({"dialect": "torch"}, "2,3", "flatten --axis 1"),
    ({"dialect": "tensorrt"}, "2,3,4", "transpose"),
    ({"dialect": "tensorrt"}, "2,3,4", "transpose --dialect numpy"),
    ({"dialect": "tensorrt"}, "2,3,4", "shuffle --first 1,0,2 --to 0,-1"),
    ({"dialect": "onnxruntime"}, "0,3", "reshape 0,-1 --allowzero"),
    ({"dialect": "numpy"}, "2,3", "reshape 6 --opset 13"),
    ({"dialect": "numpy"}, "2,3", "reshape 6 --allowzero"),
    ({}, "2,3,4", "reshape 5,-1"),
]


def message_of(problem):
    """Return the message of a problem without the stage of a chain that it stands in."""
    start, _, rest = problem["message"].partition(": ")
    return rest if start.startswith("stage 1, ") else problem["message"]


@pytest.mark.parametrize(("defaults", "shape", "stage"), ANSWERS, ids=lambda value: str(value))
def test_chain_check_and_the_prompt_answer_alike(defaults, shape, stage, shapecalc):
    name, _, rest = stage.partition(" ")
    given = [word for name, value in defaults.items() for word in (f"--{name}", value)]
    chain = shapecalc("chain", f"{shape} | {stage}", "--json", *given)
    lines = "".join(f"@default {name}={value}\n" for name, value in defaults.items())
    cases = [f"{shape} | {stage}", f"{name} {shape} {rest}"]
    checked = [shapecalc("check", "-", "--json", stdin=f"{lines}{case}\n") for case in cases]
    lines = "".join(f"{name} {value}\n" for name, value in defaults.items())
    prompts = [shapecalc("repl", stdin=f"{lines}{asked}\n") for asked in (f"{shape}\n{stage}", f"{shape} | {stage}")]
    assert len({ran.code for ran in (chain, *checked, *prompts)}) == 1
    rule, answers = None, set()
    for ran in (chain, *checked):
        found = json.loads(ran.out)
        rule = found["problem"] and found["problem"]["rule"]
        answers.add(str(found["output"] if rule is None else (rule, message_of(found["problem"]))))
    assert len(answers) == 1, answers
    for ran in prompts:
        if rule is None:
            assert ran.out.splitlines()[-1] == shapecalc("chain", f"{shape} | {stage}", *given).out.strip()
        else:
            assert f"shapecalc: {rule}: " in ran.err
