"""Names: the worked cases, and the law that numbers put in for them give the concrete answer."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.answers import Request
from shapecalc.core.ask import ask, with_sizes
from shapecalc.core.conditions import holds
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import all_known, lowest_terms, names, substitute
from shapecalc.core.fixing import answer_chain
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve
from shapecalc.core.results import settled
from shapecalc.core.text import read_dims, shape_text
from tests.cases import cases
from tests.sampling import examples
from tests.strategies import POSITIONS, coded_reshapes, positions

NAMES = ("N", "C", "H")
MANY = examples(250)

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
settings_of_dialects = st.sampled_from(
    [(row.name, on) for row in DIALECTS.values() for on in row.readings]  # every setting of every switch
)


@pytest.mark.parametrize("case", cases("symbolic"), ids=str)
def test_worked_case(case):
    case.check()


def concrete(request: Request, put_in):
    """Return the answer with numbers for names, and whether a dim that was written became a fraction."""
    try:
        return resolve(with_sizes(request, put_in)).output
    except ShapeError:
        return None


def check_law(request: Request, put_in) -> None:
    """Where the conditions hold the answers agree; where they do not, the concrete request is refused."""
    answer = resolve(request)
    assume(not (answer.problem and answer.problem.rule == "needs-size"))
    put_in = {name: put_in[name] for name in names(request.dims)}
    expected, known = concrete(request, put_in), settled(answer.results, put_in)
    if answer.output is not None and holds(answer.conditions, known):
        assert tuple(substitute(dim, known) for dim in answer.output) == expected
    else:
        assert expected is None or answer.alternatives or not never_split(request)


def never_split(request: Request) -> bool:
    """Say whether the op has one answer for all sizes; a squeeze that leaves dims alone has one for each.

    So has a slice of every so many positions, if what is left over is one more, and a split whose last part is smaller.
    """
    if request.op in ("slice", "split"):
        return False
    return request.op != "squeeze" or (request.dialect in ("onnx", "numpy", "mxnet") and "axes" in request.arguments)


@MANY
@given(
    st.lists(dims, max_size=4),
    st.lists(st.one_of(dims, st.just(-1), st.just(0)), max_size=4),
    settings_of_dialects,
    sizes,
)
def test_reshape(shape, target, setting, put_in):
    dialect, switch = setting
    check_law(Request("reshape", tuple(shape), {"target": tuple(target)}, dialect, switch=switch), put_in)


@MANY
@given(coded_reshapes(dims), st.booleans(), sizes)
def test_reshape_with_codes(drawn, reverse, put_in):
    shape, target = (part[::-1] for part in drawn) if reverse else drawn
    check_law(Request("reshape", shape, {"target": target, "reverse": reverse}, "mxnet"), put_in)


@st.composite
def often_fitting(draw):
    """Draw a reshape whose target is made of the input's own dims, with one or two rewritten."""
    shape = draw(st.lists(dims, min_size=1, max_size=4))
    target = draw(st.permutations(shape))
    for place in draw(st.lists(st.integers(0, len(target) - 1), max_size=2)):
        target[place] = draw(st.sampled_from([0, -1, 1, 2, 4, 6]))
    return Request("reshape", tuple(shape), {"target": tuple(target)})


@MANY
@given(often_fitting(), sizes)
def test_reshape_of_shapes_that_often_fit(request_, put_in):
    check_law(request_, put_in)


@MANY
@given(
    st.lists(dims, max_size=4),
    st.lists(dims | st.sampled_from([0, -1]), max_size=3),
    st.integers(-3, 3),
    st.integers(-1, 3),
    sizes,
)
def test_reshape_of_a_part(shape, target, axis, num_axes, put_in):
    arguments = {"target": tuple(target), "axis": axis, "num_axes": num_axes}
    check_law(Request("reshape", tuple(shape), arguments, "caffe"), put_in)


@MANY
@given(
    st.lists(dims, max_size=4),
    st.lists(st.integers(-3, 3), max_size=2),
    st.sampled_from(["onnx", "numpy", "torch", "paddle", "mxnet"]),
    sizes,
)
def test_squeeze_with_axes(shape, axes, dialect, put_in):
    check_law(Request("squeeze", tuple(shape), {"axes": tuple(axes)}, dialect), put_in)


@MANY
@given(
    st.lists(dims, max_size=4),
    st.lists(dims, max_size=4),
    st.sampled_from(["onnx", "numpy", "torch", "paddle", "mxnet"]),
    sizes,
)
def test_expand(shape, target, dialect, put_in):
    check_law(Request("expand", tuple(shape), {"target": tuple(target)}, dialect), put_in)


@MANY
@given(st.lists(dims, max_size=4), st.integers(-4, 4), sizes)
def test_flatten(shape, axis, put_in):
    check_law(Request("flatten", tuple(shape), {"axis": axis}), put_in)


@MANY
@given(st.lists(dims, max_size=4), st.lists(st.one_of(dims, st.just(-1)), max_size=4), sizes)
def test_view(shape, target, put_in):
    check_law(Request("view", tuple(shape), {"target": tuple(target)}, "torch"), put_in)


@MANY
@given(
    st.sampled_from(["depth_to_space", "space_to_depth"]),
    st.lists(dims, min_size=2, max_size=5),
    st.integers(0, 4),
    st.sampled_from(["onnx", "torch"]),
    sizes,
)
def test_depth_and_space(op, shape, block, dialect, put_in):
    check_law(Request(op, tuple(shape), {"block": block}, dialect), put_in)


@MANY
@given(st.sampled_from(POSITIONS), st.lists(dims, min_size=1, max_size=3), st.data(), sizes)
def test_kept_and_moved_positions(op, shape, data, put_in):
    row = data.draw(st.sampled_from(dialects_with(OPS[op])))
    check_law(Request(op, tuple(shape), data.draw(positions(op, len(shape))), row.name), put_in)


@MANY
@given(st.lists(dims, min_size=1, max_size=3), st.data(), sizes)
def test_a_chain_of_two_reshapes(shape, data, put_in):
    stages = [
        ("reshape", {"target": tuple(data.draw(st.lists(st.one_of(dims, st.sampled_from([-1, 0, 2])), max_size=3)))})
        for _ in range(2)
    ]
    answer = answer_chain(shape, stages, {})
    present = names(tuple(shape) + stages[0][1]["target"] + stages[1][1]["target"])
    put_in = {name: put_in[name] for name in present}
    try:
        expected = answer_chain(shape, stages, put_in).output
    except ShapeError:
        expected = None
    if answer.output is not None and holds(answer.conditions, put_in):
        assert tuple(substitute(dim, put_in) for dim in answer.output) == expected
    else:
        assert expected is None


@MANY
@given(often_fitting())
def test_a_name_that_is_not_assumed_may_be_zero(request_):
    answer = resolve(request_)
    for name in set(names(request_.dims)) - set(answer.assumes):
        at_zero = resolve(with_sizes(request_, {name: 0})).output
        if answer.output is not None and holds(answer.conditions, {name: 0}):
            assert at_zero == tuple(substitute(dim, {name: 0}) for dim in answer.output)
        elif answer.output is not None:
            assert at_zero is None


@MANY
@given(st.lists(fractions, max_size=4))
def test_what_is_printed_can_be_read(shape):
    assert read_dims(shape_text(shape)) == tuple(shape)


@given(st.lists(st.integers(0, 10**12), max_size=5))
def test_numbers_stay_plain_ints(shape):
    read = read_dims(shape_text(shape))
    assert read == tuple(shape)
    assert all_known(read)


def test_each_unknown_is_a_name_of_its_own():
    trace = resolve(ask("reshape", "?,?", {"target": "-1"}))
    assert [str(dim) for dim in trace.output] == ["?*?"]
    assert len(names(trace.output)) == 2
