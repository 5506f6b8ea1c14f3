"""Check that substituting sizes into a symbolic answer gives the concrete answer, for every op."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.answers import Request
from shapecalc.core.conditions import can_hold
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import dim_names, lowest_terms, substitute
from shapecalc.core.ops import OPS, supporting_dialects
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import substitute_sizes
from shapecalc.core.resolve import resolve
from shapecalc.core.results import sizes_with_results, substitute_results
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from tests.sampling import examples
from tests.strategies import POSITIONS, positions, special_value_reshapes

NAMES = ("N", "C", "H")
monomials = st.builds(
    lambda coefficient, powers: lowest_terms(coefficient, 1, powers),
    st.sampled_from([1, 1, 2, 3, 4, 6]),
    st.dictionaries(st.sampled_from(NAMES), st.integers(1, 2), min_size=1, max_size=2),
)
fractions = st.builds(
    lambda dim, divisor: lowest_terms(dim.numerator, divisor, dict(dim.powers)),
    monomials,
    st.sampled_from([1, 1, 2, 4]),
)
dims = st.one_of(st.sampled_from([lowest_terms(1, 1, {name: 1}) for name in NAMES]), fractions, st.integers(0, 6))
sizes = st.fixed_dictionaries({name: st.integers(1, 6) for name in NAMES})
shapes = st.lists(dims, max_size=4)
reshape_settings = st.sampled_from([(row.name, on) for row in DIALECTS.values() for on in row.reshape_semantics])
"""Each dialect with each setting of its switch."""
some_dialects = st.sampled_from(["onnx", "numpy", "torch", "paddle", "mxnet"])


def check_law(request, sizes_by_name):
    """Fail unless the answers agree where the conditions hold, and the concrete request is refused elsewhere."""
    answer = resolve(request)
    assume(not (answer.problem and answer.problem.rule == "needs-size"))
    sizes_by_name = {name: sizes_by_name[name] for name in dim_names(request.dims)}
    try:
        expected = resolve(substitute_sizes(request, sizes_by_name)).output
    except ShapeError:  # a written dim became a fraction
        expected = None
    known_sizes = sizes_with_results(answer.results, sizes_by_name)
    if answer.output is not None and can_hold(answer.conditions, known_sizes):
        assert tuple(substitute(dim, known_sizes) for dim in answer.output) == expected
    else:
        assert expected is None or answer.alternatives or not has_one_answer(request)


def has_one_answer(request):
    """Return whether the op has one symbolic answer for all sizes.

    A squeeze without axes depends on which dims are 1, and a strided slice or an uneven split on the remainder. JAX
    clamps an index that is out of range.
    """
    if request.op in ("slice", "split") or (request.dialect == "jax" and request.op in ("select", "take")):
        return False
    return request.op != "squeeze" or (request.dialect in ("onnx", "numpy", "mxnet") and "axes" in request.arguments)


def make_test_request(op, shape, dialect="onnx", setting=None, **arguments):
    """Make a request; `setting` is a dialect with its switch."""
    dialect, switch = setting or (dialect, None)
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()}
    return Request(op, tuple(shape), frozen, dialect, switch=switch)


@st.composite
def plausible_reshapes(draw):
    """Draw a reshape whose target permutes the input dims, up to two of them replaced."""
    shape = draw(st.lists(dims, min_size=1, max_size=4))
    target = draw(st.permutations(shape))
    for index in draw(st.lists(st.integers(0, len(target) - 1), max_size=2)):
        target[index] = draw(st.sampled_from([0, -1, 1, 2, 4, 6]))
    return make_test_request("reshape", shape, target=target)


@st.composite
def mxnet_reshapes(draw):
    """Draw a reshape with the special values of MXNet, forward or reversed."""
    shape, target = draw(special_value_reshapes(dims))
    step = draw(st.sampled_from([1, -1]))
    return make_test_request("reshape", shape[::step], "mxnet", target=target[::step], reverse=step < 0)


@st.composite
def position_requests(draw):
    """Draw a request of an op that selects or moves positions."""
    op, shape = draw(st.sampled_from(POSITIONS)), draw(st.lists(dims, min_size=1, max_size=3))
    row = draw(st.sampled_from(supporting_dialects(OPS[op])))
    return make_test_request(op, shape, row.name, **draw(positions(op, len(shape))))


def requests_of(op, shape=shapes, **arguments):
    return st.builds(make_test_request, st.just(op), shape, **arguments)


targets = st.lists(dims | st.sampled_from([0, -1]), max_size=4)
blocks = {"block": st.integers(0, 4), "dialect": st.sampled_from(["onnx", "torch"])}
caffe = {"axis": st.integers(-3, 3), "num_axes": st.integers(-1, 3), "dialect": st.just("caffe")}
REQUESTS = {
    "reshape": requests_of("reshape", target=targets, setting=reshape_settings),
    "reshape that often fits": plausible_reshapes(),
    "reshape with codes": mxnet_reshapes(),
    "reshape of a part": requests_of("reshape", target=targets, **caffe),
    "squeeze": requests_of("squeeze", axes=st.lists(st.integers(-3, 3), max_size=2), dialect=some_dialects),
    "expand": requests_of("expand", target=shapes, dialect=some_dialects),
    "flatten": requests_of("flatten", axis=st.integers(-4, 4)),
    "view": requests_of("view", target=targets, dialect=st.just("torch")),
    "depth_to_space": requests_of("depth_to_space", st.lists(dims, min_size=2, max_size=5), **blocks),
    "space_to_depth": requests_of("space_to_depth", st.lists(dims, min_size=2, max_size=5), **blocks),
    "positions": position_requests(),
}


@pytest.mark.parametrize("kind", REQUESTS)
@examples(60)
@given(st.data())
def test_substituted_sizes_give_the_concrete_answer(kind, data):
    check_law(data.draw(REQUESTS[kind]), data.draw(sizes))


@examples(75)
@given(st.lists(dims, min_size=1, max_size=3), st.data(), sizes)
def test_substituted_sizes_hold_through_two_reshapes(shape, data, sizes_by_name):
    targets = [tuple(data.draw(st.lists(dims | st.sampled_from([-1, 0, 2]), max_size=3))) for _ in range(2)]
    stages = [("reshape", {"target": target}) for target in targets]
    answer = answer_chain(shape, stages, {})
    sizes_by_name = {name: sizes_by_name[name] for name in dim_names((*shape, *targets[0], *targets[1]))}
    try:
        expected = answer_chain(shape, stages, sizes_by_name).output
    except ShapeError:
        expected = None
    if answer.output is not None and can_hold(answer.conditions, sizes_by_name):
        assert tuple(substitute(dim, sizes_by_name) for dim in answer.output) == expected
    else:
        assert expected is None


@examples(75)
@given(plausible_reshapes())
def test_name_without_assumption_may_be_zero(request_):
    answer = resolve(request_)
    for name in set(dim_names(request_.dims)) - set(answer.assumes):
        at_zero = resolve(substitute_sizes(request_, {name: 0})).output
        if answer.output is not None and can_hold(answer.conditions, {name: 0}):
            assert at_zero == tuple(substitute(dim, {name: 0}) for dim in answer.output)
        elif answer.output is not None:
            assert at_zero is None


NAMED_RESULTS = {
    "N,3,H,W | conv 8,3,3,3 --stride 2": "reshape N,8,H1*W1",
    "N,3,H,W | conv 8,3,3,3 --stride 2 | pool 3 --stride 2": "reshape N,8,H2*W2",
    "N,3,H,W | pad 0,0,1,2,0,0,3,4": "reshape N,3*H1,W1",
    "H,W | concat 3,W --axis 0 | transpose": "reshape W*H1",
    "N,H | slice :,::3": "reshape N*H1",
    "N,3,H,W | upsample 1.5": "reshape N,3,H1*W1",
}
"""Chains whose stages define names of results, with a last stage that uses these names."""


@pytest.mark.parametrize("stages", NAMED_RESULTS)
@examples(20)
@given(known=st.dictionaries(st.sampled_from("NHW"), st.integers(7, 30), min_size=1))
def test_sizes_keep_the_names_of_results(stages, known):
    named = read_chain(f"{stages} | {NAMED_RESULTS[stages]}")
    known = {name: size for name, size in known.items() if name in dim_names(named.output)}
    sized = read_chain(f"{stages} | {NAMED_RESULTS[stages]}", known)
    expected = substitute_results(named.output, named.results, known)
    assert substitute_results(sized.output, sized.results, {}) == expected


def read_chain(text, sizes=()):
    """Return the answer to the text of a chain, with sizes for some names."""
    return answer_chain(*parse_chain(text), dict(sizes))


MAY_BE_EMPTY = ("upsample 0.25", "upsample 0.5,1.5", "slice :,:,2:,1:-1", "pad -1,-2 --axes 2", "slice :,:,::2,:-2")
"""Stages whose named results may be 0."""
LATER_STAGES = (
    "reshape N,3,{2},-1",
    "reshape 0,-1",
    "reshape 0,0,-1",
    "reshape -1,{3}",
    "reshape N,{2},3*{3}",
    "pool 1",
    "pool 2 --stride 2",
    "select 2 0",
    "select 3 -2",
    "slice :,:,1:",
    "slice :,:,::2,1::2",
    "take 2 0,1",
    "concat 2,3,{2},{3}",
    "flatten",
    "pad 1 --mode reflect",
    "squeeze 2",
    "upsample 0.5",
)


@examples(120)
@given(
    st.sampled_from(MAY_BE_EMPTY),
    st.lists(st.sampled_from(LATER_STAGES), min_size=1, max_size=2),
    st.fixed_dictionaries({"N": st.integers(1, 2), "H": st.integers(1, 9), "W": st.integers(1, 9)}),
)
def test_stages_after_a_result_that_may_be_zero(first, later, known):
    text = f"N,3,H,W | {first}"
    for stage in later:
        output = read_chain(text).output
        if output is None or len(output) < 4 or not all(isinstance(dim, int) or len(dim.powers) == 1 for dim in output):
            break
        text += f" | {stage.format(*output)}"
    named = read_chain(text)
    assume(named.output is not None)
    sizes = sizes_with_results(named.results, known)
    if can_hold(named.conditions, sizes):
        concrete = read_chain(text, known)
        assert concrete.output == substitute_results(named.output, named.results, known), (text, named.conditions)


def test_size_that_contradicts_the_definition_of_a_result_is_usage():
    with pytest.raises(ShapeError, match=r"usage: H1 is \(H - 1\)//2, which is 4 here, not 5"):
        read_chain("N,3,H,W | conv 8,3,3,3 --stride 2 | reshape N,8,H1*W1", {"H": 9, "H1": 5})
