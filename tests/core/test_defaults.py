"""Check that defaults apply alike to chains, case files and the REPL."""

from __future__ import annotations

import json
import re

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from tests.cases import rows
from tests.sampling import each_row


@pytest.mark.parametrize(("stages", "options", "message"), rows("defaults", "no stage takes"))
def test_chain_option_without_a_stage_is_usage(stages, options, message, shapecalc):
    ran = shapecalc("chain", stages, *options.split())
    assert (ran.code, ran.out, ran.err) == (2, "", f"shapecalc: usage: {message}\n")


@pytest.mark.parametrize(("stages", "options", "output"), rows("defaults", "one stage takes"))
def test_chain_option_skips_stages_without_it(stages, options, output, shapecalc):
    ran = shapecalc("chain", stages, *options.split())
    assert (ran.code, ran.out, ran.err) == (0, f"{output}\n", "")


@pytest.mark.parametrize(("default", "line"), rows("defaults", "passed over"))
def test_check_default_skips_stages_without_it(default, line, shapecalc):
    ran = shapecalc("check", "-", stdin=f"@default {default}\n{line.replace(' -> ', ' => ')}\n")
    assert (ran.code, ran.out, ran.err) == (0, "", "shapecalc: 1 passed\n")


@pytest.mark.parametrize("line", ["reshape 2,3 6 --opset 13 --dialect numpy", "transpose 2,3 --allowzero"])
def test_case_option_is_never_skipped(line, shapecalc):
    ran = shapecalc("check", "-", stdin=f"@default opset=13\n{line}\n")
    assert (ran.code, " has no " in ran.out) == (2, True)


@pytest.mark.parametrize(("dialect", "op", "stage"), rows("defaults", "lacking"))
def test_op_missing_in_dialect_is_usage_everywhere(dialect, op, stage, shapecalc):
    assert operator_of(OPS[op], DIALECTS[dialect]) is None
    name, _, rest = stage.partition(" ")
    cases = [f"{name} 1,3 {rest}", f"1,3 | {stage}", json.dumps({"op": op, "input": [1, 3]})]
    prompts = [f"1,3\n{stage}", f"1,3 | {stage}"]
    for ran in (
        shapecalc("chain", f"1,3 | {stage}", "--dialect", dialect),
        *(shapecalc("repl", stdin=f"dialect {dialect}\n{prompt}\n") for prompt in prompts),
        *(shapecalc("check", "-", stdin=f"@default dialect={dialect}\n{case}\n") for case in cases),
    ):
        assert ran.code == 2
        assert f"usage: {dialect} has no {op} (it is in " in ran.out + ran.err


def json_verdict(ran):
    """Return the output of a JSON answer, or its rule and its message without the stage prefix."""
    answer = json.loads(ran.out)
    if answer["problem"] is None:
        return answer["output"]
    return answer["problem"]["rule"], re.sub(r"^stage 1, \w+: ", "", answer["problem"]["message"])


@each_row(("defaults", "shape", "stage"), rows("defaults", "answered alike"))
def test_chain_check_and_repl_agree(defaults, shape, stage, shapecalc):
    name, _, rest = stage.partition(" ")
    options = [word for default in defaults.split() for word in f"--{default}".split("=")]
    chain = shapecalc("chain", f"{shape} | {stage}", "--json", *options)
    lines = "".join(f"@default {default}\n" for default in defaults.split())
    cases = [f"{shape} | {stage}", f"{name} {shape} {rest}"]
    checked = [shapecalc("check", "-", "--json", stdin=f"{lines}{case}\n") for case in cases]
    lines = "".join(f"{default.replace('=', ' ')}\n" for default in defaults.split())
    prompts = [shapecalc("repl", stdin=f"{lines}{prompt}\n") for prompt in (f"{shape}\n{stage}", f"{shape} | {stage}")]
    assert len({ran.code for ran in (chain, *checked, *prompts)}) == 1
    verdict = json_verdict(chain)
    assert [json_verdict(ran) for ran in checked] == [verdict, verdict]
    for ran in prompts:
        if isinstance(verdict, list):
            assert ran.out.splitlines()[-1] == shapecalc("chain", f"{shape} | {stage}", *options).out.strip()
        else:
            assert f"shapecalc: {verdict[0]}: " in ran.err
