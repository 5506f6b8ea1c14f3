"""JSON arguments of every op: the same answer as in text, and wrong types refused alike by all front ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapecalc.checking.answering import answer_case
from shapecalc.checking.judging import Block, CheckOptions, check_block
from shapecalc.cli.mcp import make_tools
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import to_json
from shapecalc.core.ops import OPS, all_params
from shapecalc.core.params import ParamType
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.reading.cases import case_from_json

WRONG_TYPES = (
    '{"a": 1}',
    '{"2": 3, "4": 5}',
    "{}",
    '[{"a": 1}]',
    '[{"2": 3}, 4]',
    "[[2, 3]]",
    "[[[2]]]",
    "[null]",
    "[2.0, 3]",
    "2.5",
    "1e300",
    "[true, 2]",
    "true",
    "false",
    '""',
    '" "',
    '[""]',
    '"\\u0000"',
    "[]",
    "null",
)
"""JSON values; most of them are invalid for every argument."""


def fitting_arguments(op):
    """Return an input and arguments by which the op resolves, and which give as many arguments as possible."""
    own = {param.name for param in all_params(op) if param.is_supported_by(DIALECTS[op.default_dialect])}
    rows = [row for row in op.vectors if row[1].keys() <= own]
    resolved = [row for row in rows if resolve(make_request(op.name, *row)).output is not None]
    return max(resolved, key=lambda row: len(row[1]))


def outcome(answer):
    """Return what a front end answers: the output, or the rule and the message of the refusal."""
    try:
        trace = answer()
    except ShapeError as error:
        return error.problem.rule, error.problem.message
    if isinstance(trace, dict):
        trace = trace["rows"][0] if "rows" in trace else trace
        problem, output = trace["problem"], trace["output"]
        return (problem["rule"], problem["message"]) if problem else output
    return (trace.problem.rule, trace.problem.message) if trace.problem else to_json(trace.output)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_json_arguments_are_read_alike_by_check_mcp_and_compare(op):
    shape, fitting = fitting_arguments(op)
    compare = make_tools()["compare"]
    for param in all_params(op):
        if not param.is_supported_by(DIALECTS[op.default_dialect]):
            continue
        for text in WRONG_TYPES:
            arguments = {**fitting, param.name: json.loads(text)}
            case = {"op": op.name, "input": shape, **arguments}
            checked = outcome(lambda case=case: answer_case(case_from_json(case, {})))
            request = {"op": op.name, "input": shape, "arguments": arguments, "dialects": [op.default_dialect]}
            compared = outcome(lambda request=request: compare.call(request, Path()).json)
            assert compared == checked, (param.name, text)
            if isinstance(json.loads(text), dict):
                assert checked[0] == "usage", (param.name, text, checked)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_json_operand_shapes_equal_their_text(op):
    shape, fitting = fitting_arguments(op)
    for param in all_params(op):
        if param.type not in (ParamType.SHAPE, ParamType.SHAPES) or param.name not in fitting:
            continue
        parsed = to_json(make_request(op.name, shape, fitting).arguments[param.name])
        first = parsed if param.type is ParamType.SHAPE else parsed[0]
        for axis in range(len(first)):
            for unknown in ("?", None, "N", "2*N"):
                first[axis], known = unknown, first[axis]
                dims = ",".join("?" if dim is None else str(dim) for dim in first) + " " * (
                    param.type is ParamType.SHAPES
                )
                text = dims + " ".join(",".join(map(str, other)) for other in parsed[1:]) if dims[-1] == " " else dims
                answers = [
                    resolve(make_request(op.name, shape, {**fitting, param.name: value})) for value in (parsed, text)
                ]
                first[axis] = known
                json_answer, text_answer = (answer.as_json() for answer in answers)
                assert json_answer == text_answer, (param.name, text)


@pytest.mark.parametrize("op", [op for op in OPS.values() if "operands" in op.param_names], ids=lambda op: op.name)
def test_json_empty_operands_are_the_op_alone(op):
    rest = {name: value for name, value in fitting_arguments(op)[1].items() if name != "operands"}
    rest |= {"pattern": "ij->ji"} if op.name == "einsum" else {}
    for shape in ("2,3", "N,C"):
        alone, empty = (
            outcome(lambda options=options, shape=shape: resolve(make_request(op.name, shape, options)))
            for options in (rest, {**rest, "operands": []})
        )
        assert empty == alone
        is_required = next(param for param in op.params if param.name == "operands").required
        assert (empty == ("usage", f"{op.name} needs the argument operands")) == is_required


def test_check_json_lists_results_and_alternatives():
    rows = {
        "conv N,3,H,W 8,3,3,3 --stride 2": {"results": {"H1": "(H - 1)//2", "W1": "(W - 1)//2"}},
        "broadcast N,3 M,3": {"alternatives": ["M == 1", "N == 1"]},
        "reshape N,4 2,-1": {},
        "concat 2,3 ?,3 --axis 0": {},
        "reshape N,4 5,3": {},
    }
    block = Block("\n".join(rows).encode(), 1)
    lines = check_block(block, "-", CheckOptions(json=True), {}).stdout_text.splitlines()
    for row, expected in zip(map(json.loads, lines), rows.values(), strict=True):
        assert {name: row[name] for name in ("results", "alternatives") if name in row} == expected
