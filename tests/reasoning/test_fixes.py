"""Check messages, hints and fixes: tables of requests, and the law that every offered fix resolves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.answers import Request
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import named_dim
from shapecalc.core.ops import OPS, refusal_rules
from shapecalc.core.ops.flatten import FLATTEN_SEMANTICS, FlattenMode
from shapecalc.core.ops.op import operator_of
from shapecalc.core.record import replace
from shapecalc.core.requests import make_request
from shapecalc.reading.commands import argument_texts
from shapecalc.reasoning.answers import answer_request as resolve
from shapecalc.reasoning.fixing import apply_fix, find_fixes
from tests import strategies
from tests.cases import answered, rows
from tests.core.test_symbolic import plausible_reshapes
from tests.sampling import each_row, examples
from tests.transcripts import matches_expected

FIRST = rows("told", "first fixes")
HOPELESS = """
contradiction differs file usage unknown-shape ranks-differ dims-differ inner-differs label-differs rest-differs
channels-differ window-rank window-values window-too-large bad-padding nothing-left one-axis bad-num-axes keeps-nothing
axes-apart wrong-rank mode-unsupported padding-limit empty-reduction layer-mismatch too-few-values element-kind
"""
"""The rules without a fix: the cause is outside the request, or only the user knows the intent."""
WEIGHED = {"linear", "einsum", "conv", "pool", "pad", "upsample", "mean"}
"""The ops for which no requests are drawn."""
FLATTENS = {
    FlattenMode.AXIS: ("axis",),
    FlattenMode.RANGE: ("start_dim", "end_dim"),
    FlattenMode.ALL: (),
    FlattenMode.REST: (),
}


def rows_of_ops(title):
    return [row for row in rows("told", title) if row[0].split()[0] in OPS]


@each_row(("line", "rule", "name", "description"), FIRST)
def test_first_fix(line, rule, name, description):
    trace = answered(line)
    first = find_fixes(trace)[0]
    assert (trace.problem.rule, first.name, first.description) == (rule, name, description)
    assert isinstance(first.value, bool | None) or first.value in description
    check_fixes(trace)


def test_refusals_have_a_fix_or_a_reason():
    assert {rule for _, rule, *_ in FIRST} | {*HOPELESS.split()} == refusal_rules().keys()


@each_row(("line", "descriptions"), rows("told", "all fixes"))
def test_fixes_in_order(line, descriptions):
    assert "; ".join(fix.description for fix in find_fixes(answered(line))) == descriptions


@each_row(("line", "values"), rows("told", "for every batch"))
def test_general_fixes_come_first(line, values):
    trace = answered(line)
    assert f"{'; '.join(fix.value for fix in find_fixes(trace))}; ".startswith(f"{values}; " if values else "; ")
    check_fixes(trace)


@pytest.mark.parametrize(("line", "message"), rows("told", "messages"))
def test_message_wording(line, message):
    assert answered(line).problem.message == message


@each_row(("line", "hint"), rows_of_ops("hints"))
def test_hint_wording(line, hint):
    trace = answered(line)
    assert matches_expected(hint, f"{trace.problem.hint}\n" if trace.problem.hint else "")
    check_fixes(trace)


@each_row(("line", "index", "sources", "why"), rows("told", "steps"))
def test_step_wording(line, index, sources, why):
    step = answered(line).steps[int(index)]
    assert (",".join(map(str, step.sources)), step.why) == (sources, why)


@pytest.mark.parametrize(("line", "argument", "token"), rows("told", "marks"))
def test_problem_span_is_its_token(line, argument, token):
    trace = answered(line)
    name, span = trace.problem.argument, trace.problem.span
    assert (name, span and trace.request.argument_texts[name][slice(*span)]) == (argument, token or None)


def check_fixes(trace):
    """Fail unless every fix resolves, applied to the request and typed as text, and none is offered twice."""
    fixes = find_fixes(trace)
    assert len({(fix.name, fix.value) for fix in fixes}) == len(fixes)
    assert trace.problem is not None or trace.conditions or not fixes
    for fix in fixes:
        answer = resolve(apply_fix(trace.request, fix))
        assert answer.output is not None
        assert trace.problem is not None or len(answer.conditions) < len(trace.conditions)
        assert not fix.batch_assumption or is_fix_for_every_batch(trace.request, fix)
        texts = argument_texts(trace.request) | {fix.name: fix.value}
        assert resolve(make_request(trace.op, texts.pop("input"), texts)).output is not None
    words = trace.problem.hint.partition("try ")[2] if trace.problem else ""
    assert not words or fixes[0].value == words.partition(";")[0].partition(", ")[0]


def is_fix_for_every_batch(request, fix):
    """Return whether a fixed request resolves with a symbolic batch, without conditions on it."""
    if request.op == "shuffle":
        return True  # its first transpose may move any dim to the front
    answer = resolve(replace(apply_fix(request, fix), input=(named_dim("Batch"), *request.input[1:])))
    return answer.output is not None and "Batch" not in str(answer.conditions)


@st.composite
def requests(draw):
    """Draw requests of every op; many are refused."""
    op = draw(st.sampled_from(sorted(OPS.keys() - {"shape"} - WEIGHED)))
    row = draw(st.sampled_from([row for row in DIALECTS.values() if operator_of(OPS[op], row)]))
    match op:
        case "reshape" | "expand" | "view":
            shape, target = draw(strategies.reshapes())
            strides = st.lists(st.integers(-1, 6), min_size=max(0, len(shape) - 1), max_size=len(shape)).map(tuple)
            arguments = {"target": target, "strides": draw(st.none() | strides) if op == "view" else None}
        case "transpose" | "shuffle":
            shape, perm = draw(strategies.permutations())
            arguments = {"perm": perm} if op == "transpose" else {"first": perm, "to": draw(strategies.targets(shape))}
        case "squeeze" | "unsqueeze":
            shape, arguments = draw(strategies.ones), {"axes": draw(strategies.axes)}
        case "flatten":
            shape = draw(strategies.shapes)
            arguments = {
                name: draw(st.integers(-5, 5)) for name in FLATTENS[FLATTEN_SEMANTICS.for_dialect(row).flattens]
            }
        case "depth_to_space" | "space_to_depth":
            shape, mode = draw(strategies.images), draw(st.sampled_from([None, None, "DCR", "CRD"]))
            arguments = {"block": draw(st.integers(-1, 5)), "mode": mode}
        case "rearrange":
            shape, arguments = draw(strategies.rearrangements())
        case "broadcast" | "matmul" | "concat" | "stack":
            shape, arguments = draw(strategies.shapes), {"operands": (draw(strategies.ones),)}
            arguments["axis"] = 0 if op in ("concat", "stack") else None
        case _:
            shape = draw(strategies.shapes)
            arguments = draw(strategies.positions(op, len(shape)))
    given_arguments = {name: value for name, value in arguments.items() if value is not None}
    opset = draw(st.sampled_from([None, 1, 7, 10, 13, 15])) if row.newest_opset else None
    switch = draw(st.sampled_from([None, *row.reshape_semantics])) if OPS[op].uses_switch else None
    return Request(op, shape, given_arguments, row.name, opset, switch=switch)


@examples(150)
@given(st.one_of(requests(), plausible_reshapes()))
def test_fixes_resolve(request_):
    check_fixes(resolve(request_))
