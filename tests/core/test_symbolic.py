"""Names: the law that numbers put in for them give the concrete answer, for every op that has rules of its own."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.answers import Request
from shapecalc.core.conditions import can_hold
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import dim_names, lowest_terms, substitute
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import substitute_sizes
from shapecalc.core.resolve import resolve
from shapecalc.core.results import sizes_with_results
from shapecalc.reasoning.fixing import answer_chain
from tests.sampling import examples
from tests.strategies import POSITIONS, coded_reshapes, positions

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
settings_of_dialects = st.sampled_from([(row.name, on) for row in DIALECTS.values() for on in row.reshape_semantics])
"""Every setting of every switch."""
some_dialects = st.sampled_from(["onnx", "numpy", "torch", "paddle", "mxnet"])


def check_law(request, put_in):
    """Where the conditions hold the answers agree; where they do not, the concrete request is refused."""
    answer = resolve(request)
    assume(not (answer.problem and answer.problem.rule == "needs-size"))
    put_in = {name: put_in[name] for name in dim_names(request.dims)}
    try:
        expected = resolve(substitute_sizes(request, put_in)).output
    except ShapeError:  # a dim that was written became a fraction
        expected = None
    known = sizes_with_results(answer.results, put_in)
    if answer.output is not None and can_hold(answer.conditions, known):
        assert tuple(substitute(dim, known) for dim in answer.output) == expected
    else:
        assert expected is None or answer.alternatives or not never_split(request)


def never_split(request):
    """Say whether the op has one answer for all sizes; a squeeze that leaves dims alone has one for each.

    So has a slice of every so many positions, if what is left over is one more, and a split whose last part is smaller.
    """
    if request.op in ("slice", "split"):
        return False
    return request.op != "squeeze" or (request.dialect in ("onnx", "numpy", "mxnet") and "axes" in request.arguments)


def asked(op, shape, dialect="onnx", setting=None, **arguments):
    """Return a request of an op; a setting of a dialect is its name and its switch."""
    dialect, switch = setting or (dialect, None)
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()}
    return Request(op, tuple(shape), given, dialect, switch=switch)


@st.composite
def often_fitting(draw):
    """Draw a reshape whose target is made of the input's own dims, with one or two rewritten."""
    shape = draw(st.lists(dims, min_size=1, max_size=4))
    target = draw(st.permutations(shape))
    for place in draw(st.lists(st.integers(0, len(target) - 1), max_size=2)):
        target[place] = draw(st.sampled_from([0, -1, 1, 2, 4, 6]))
    return asked("reshape", shape, target=target)


@st.composite
def coded(draw):
    """Draw a reshape with MXNet's codes, from either end."""
    shape, target = draw(coded_reshapes(dims))
    step = draw(st.sampled_from([1, -1]))
    return asked("reshape", shape[::step], "mxnet", target=target[::step], reverse=step < 0)


@st.composite
def moved(draw):
    """Draw a request of an op that keeps or moves positions."""
    op, shape = draw(st.sampled_from(POSITIONS)), draw(st.lists(dims, min_size=1, max_size=3))
    row = draw(st.sampled_from(dialects_with(OPS[op])))
    return asked(op, shape, row.name, **draw(positions(op, len(shape))))


def drawn(op, shape=shapes, **arguments):
    return st.builds(asked, st.just(op), shape, **arguments)


wanted = st.lists(dims | st.sampled_from([0, -1]), max_size=4)
blocks = {"block": st.integers(0, 4), "dialect": st.sampled_from(["onnx", "torch"])}
caffe = {"axis": st.integers(-3, 3), "num_axes": st.integers(-1, 3), "dialect": st.just("caffe")}
REQUESTS = {
    "reshape": drawn("reshape", target=wanted, setting=settings_of_dialects),
    "reshape that often fits": often_fitting(),
    "reshape with codes": coded(),
    "reshape of a part": drawn("reshape", target=wanted, **caffe),
    "squeeze": drawn("squeeze", axes=st.lists(st.integers(-3, 3), max_size=2), dialect=some_dialects),
    "expand": drawn("expand", target=shapes, dialect=some_dialects),
    "flatten": drawn("flatten", axis=st.integers(-4, 4)),
    "view": drawn("view", target=wanted, dialect=st.just("torch")),
    "depth_to_space": drawn("depth_to_space", st.lists(dims, min_size=2, max_size=5), **blocks),
    "space_to_depth": drawn("space_to_depth", st.lists(dims, min_size=2, max_size=5), **blocks),
    "positions": moved(),
}


@pytest.mark.parametrize("kind", REQUESTS)
@examples(60)
@given(st.data())
def test_substituted_sizes_give_the_concrete_answer(kind, data):
    check_law(data.draw(REQUESTS[kind]), data.draw(sizes))


@examples(75)
@given(st.lists(dims, min_size=1, max_size=3), st.data(), sizes)
def test_substituted_sizes_hold_through_two_reshapes(shape, data, put_in):
    targets = [tuple(data.draw(st.lists(dims | st.sampled_from([-1, 0, 2]), max_size=3))) for _ in range(2)]
    stages = [("reshape", {"target": target}) for target in targets]
    answer = answer_chain(shape, stages, {})
    put_in = {name: put_in[name] for name in dim_names((*shape, *targets[0], *targets[1]))}
    try:
        expected = answer_chain(shape, stages, put_in).output
    except ShapeError:
        expected = None
    if answer.output is not None and can_hold(answer.conditions, put_in):
        assert tuple(substitute(dim, put_in) for dim in answer.output) == expected
    else:
        assert expected is None


@examples(75)
@given(often_fitting())
def test_name_without_assumption_may_be_zero(request_):
    answer = resolve(request_)
    for name in set(dim_names(request_.dims)) - set(answer.assumes):
        at_zero = resolve(substitute_sizes(request_, {name: 0})).output
        if answer.output is not None and can_hold(answer.conditions, {name: 0}):
            assert at_zero == tuple(substitute(dim, {name: 0}) for dim in answer.output)
        elif answer.output is not None:
            assert at_zero is None
