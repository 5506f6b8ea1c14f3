"""The mxnet dialect against MXNet, in the environment whose Python SHAPECALC_MXNET_PYTHON names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.dialects.base import SINCE_25
from shapecalc.core.dialects.mxnet import MXNET, SHIFTED_INFER
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import accepted_types
from shapecalc.core.resolve import resolve
from tests.engines.apart import library
from tests.sampling import examples
from tests.strategies import axes, coded_reshapes, ones, permutations

mxnet = library("mxnet")
MANY = examples(300)
sizes = st.sampled_from([1, 1, 2, 2, 3, 4, 6])
shapes = st.one_of(
    st.lists(sizes, max_size=5), st.lists(sizes, max_size=5), st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4)
).map(tuple)

SHIFTED = {
    "refused": [((2, 3, 4), (-2, -1), None), ((2, 3, 4), (-4, 1, 2, -1), None)],
    "right by chance, for -1 is 1": [((5, 1), (-2, -1), (5, 1, 1)), ((2, 3), (-2, 1, -1), (2, 3, 1, 1))],
    "written behind the shape": [((2, 3, 4), (-4, 1, 2, 0, 0, -1), (1, 2, 3, 4, 1))],
    "another shape": [((1, 6, 1, 3), (-4, 1, 1, -1, 0, -4, 3, 1), (1, 1, 1, 6, 3, 1))],
}
"""What MXNet makes of a -1 behind -4 or -2, which the dialect always refuses."""
ALTERNATING = ((2, 1, 2, 1, 2, 1), (2, 3, 2, 3, 2, 3))
"""A broadcast that MXNet does not carry out: kept and grown dims take turns too often."""
ARGUMENTS = {
    "reshape": {"target": (16, 4)},
    "transpose": {"perm": (3, 1, 2, 0)},
    "unsqueeze": {"axes": (0,)},
    "expand": {"target": (2, 4, 4, 4)},
}


def trace(op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": "mxnet"}))


def answer(op, shape, **arguments):
    return trace(op, shape, **arguments).output


def check_reshape(mxnet, drawn, reverse):
    """The answers agree, or both refuse; of a shifted -1 the library is not asked."""
    shape, target = drawn
    if reverse:
        shape, target = shape[::-1], target[::-1]
    ours = trace("reshape", shape, target=target, reverse=reverse)
    if target and not (ours.problem and ours.problem.rule is SHIFTED_INFER):
        assert ours.output == mxnet.ask("reshape", shape, target=target, reverse=reverse)


@examples(200)
@given(drawn=coded_reshapes(sizes, -5), reverse=st.booleans())
def test_reshape(mxnet, drawn, reverse):
    check_reshape(mxnet, drawn, reverse)


@examples(40)
@given(drawn=coded_reshapes(st.sampled_from([0, 1, 2, 3])), reverse=st.booleans())
def test_reshape_of_empty_arrays(mxnet, drawn, reverse):
    check_reshape(mxnet, drawn, reverse)  # which often ends the library's process


@pytest.mark.parametrize("kind", SHIFTED)
def test_a_shifted_infer_is_refused_whatever_mxnet_makes_of_it(mxnet, kind):
    for shape, target, theirs in SHIFTED[kind]:
        assert trace("reshape", shape, target=target).problem.rule is SHIFTED_INFER
        assert mxnet.ask("reshape", shape, target=target) == theirs
        mxnet.close()  # what was written behind a shape may end the process later


@pytest.mark.parametrize("target", [(23,), (25,), (1, 2, 3, 3)])
def test_the_operator_compares_no_counts(mxnet, target):
    found = trace("reshape", (2, 3, 4), target=target)
    assert found.problem.rule == "volume-mismatch"
    assert found.steps[-1].rule == "unchecked-count"
    assert mxnet.ask("reshape", (2, 3, 4), target=target) is None
    assert mxnet.ask("operator", (2, 3, 4), target=target) == target
    mxnet.close()


@MANY
@given(drawn=permutations())
def test_transpose(mxnet, drawn):
    shape, perm = drawn
    if sorted(set(perm)) == sorted(perm):  # of repeats some fail late, some when the array is read
        assert answer("transpose", shape, perm=perm) == mxnet.ask("transpose", shape, perm=perm)


@pytest.mark.parametrize("rank", [0, 1, 6, 7])
def test_transpose_takes_six_dims(mxnet, rank):
    assert answer("transpose", (2,) * rank) == mxnet.ask("transpose", (2,) * rank)


@MANY
@given(shape=shapes)
def test_flatten_and_shape(mxnet, shape):
    assert answer("flatten", shape) == mxnet.ask("flatten", shape)
    assert answer("shape", shape) == mxnet.ask("shape", shape)


@MANY
@given(shape=ones, named=axes)
def test_squeeze(mxnet, shape, named):
    assert answer("squeeze", shape, axes=named) == mxnet.ask("squeeze", shape, axes=named)


@pytest.mark.parametrize("named", [None, (0, 1), (-1, 0), (1,), ()])
def test_squeeze_keeps_one_dim(mxnet, named):
    assert answer("squeeze", (1, 1), axes=named) == mxnet.ask("squeeze", (1, 1), axes=named)


@MANY
@given(shape=ones, named=axes.filter(lambda named: named is not None))
def test_unsqueeze(mxnet, shape, named):
    assert answer("unsqueeze", shape, axes=named) == mxnet.ask("unsqueeze", shape, axes=named)


@MANY
@given(data=st.data(), shape=ones)
def test_expand(mxnet, shape, data):
    target = data.draw(
        st.tuples(*(st.sampled_from([dim, dim, 0, 3, -1] if dim == 1 else [dim, dim, 0]) for dim in shape))
    )
    target = data.draw(st.sampled_from([target, target, target, (2, *target), target[1:]]))
    if target:
        assert answer("expand", shape, target=target) == mxnet.ask("expand", shape, target=target)


def test_mxnet_grows_dims_in_few_runs_only(mxnet):
    shape, target = ALTERNATING
    assert answer("expand", shape, target=target) == target
    assert mxnet.ask("expand", shape, target=target) is None


@pytest.mark.parametrize("op", [op for op in operators_of(MXNET) if not OPS[op].made_of])
def test_each_operator_accepts_the_element_types_that_the_row_says(mxnet, op):
    runs = {name for name in SINCE_25 if mxnet.ask(op, (1, 4, 4, 4), name, **ARGUMENTS.get(op, {})) is not None}
    assert runs == accepted_types(OPS[op], MXNET, None)
