"""The paddle dialect against Paddle, in the environment whose Python SHAPECALC_PADDLE_PYTHON names."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.dialects.base import SINCE_25
from shapecalc.core.dialects.paddle import PADDLE
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import accepted_types, operator_of
from shapecalc.core.resolve import resolve
from tests.engines.apart import library
from tests.strategies import POSITIONS, axes, empty_reshapes, ones, permutations, positions, reshapes, shapes

paddle = library("paddle")
MANY = settings(max_examples=300, deadline=None)

DISAGREEMENTS = {
    "a permutation that is too short": ("transpose", (2, 3, 4), {"perm": (2, 0)}, (4, 2, 4)),
    "a size below -1 in expand": ("expand", (1, 3), {"target": (-2, 3)}, (0, 3)),
    "an axis of flip that is named from both ends": ("flip", (2, 3), {"axes": (0, -2)}, (2, 3)),
    "an axis of flip that is named twice, of nothing": ("flip", (0, 0), {"axes": (0, 1, 0)}, (0, 0)),
    "a repeat below 0, of nothing": ("tile", (0, 0), {"repeats": (-1,)}, (0, -1)),
    "a count over int64, which wraps": ("reshape", (3, 0), {"target": (5, 2**40, 2**40)}, (5, 2**40, 2**40)),
}
"""What Paddle does not check and the dialect refuses: a request, and the shape that Paddle gives."""
ARGUMENTS = {
    "reshape": {"target": (3, 1)},
    "transpose": {"perm": (1, 0)},
    "unsqueeze": {"axes": (0,)},
    "expand": {"target": (2, 3)},
    "flip": {"axes": (0,)},
    "roll": {"shift": 1, "axis": 0},
    "tile": {"repeats": (2, 1)},
    "swapaxes": {"axis1": 0, "axis2": 1},
    "moveaxis": {"axes": 0, "destination": 1},
    "split": {"axis": 1, "parts": 3, "part": 1},
    "slice": {"slices": ":,::2"},
    "select": {"axis": 0, "index": 0},
}


def answer(op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": "paddle"})).output


@MANY
@given(drawn=reshapes())
def test_reshape(paddle, drawn):
    shape, target = drawn
    assert answer("reshape", shape, target=target) == paddle.ask("reshape", shape, target=target)


@MANY
@given(op=st.sampled_from(POSITIONS), shape=shapes, data=st.data())
def test_kept_and_moved_positions(paddle, op, shape, data):
    assume(operator_of(OPS[op], PADDLE))
    drawn = data.draw(positions(op, len(shape)))
    assume(-1 not in drawn.get("repeats", ()) or 0 not in shape)  # DISAGREEMENTS["a repeat below 0, of nothing"]
    named = drawn.get("axes", ())
    assume(len({axis % max(1, len(shape)) for axis in named}) == len(named))
    assert answer(op, shape, **drawn) == paddle.ask(op, shape, **drawn)


@MANY
@given(drawn=empty_reshapes())
def test_reshape_of_an_empty_tensor(paddle, drawn):
    shape, target = drawn
    assert answer("reshape", shape, target=target) == paddle.ask("reshape", shape, target=target)


@MANY
@given(drawn=permutations())
def test_transpose(paddle, drawn):
    shape, perm = drawn
    assert answer("transpose", shape, perm=perm) == paddle.ask("transpose", shape, perm=perm)


def test_transpose_needs_a_permutation(paddle):
    assert answer("transpose", (2, 3)) is paddle.ask("transpose", (2, 3)) is None


@MANY
@given(shape=shapes, start=st.integers(-5, 5), end=st.integers(-5, 5))
def test_flatten(paddle, shape, start, end):
    ours = answer("flatten", shape, start_dim=start, end_dim=end)
    assert ours == paddle.ask("flatten", shape, start_dim=start, end_dim=end)


@MANY
@given(shape=ones, named=axes)
def test_squeeze(paddle, shape, named):
    assert answer("squeeze", shape, axes=named) == paddle.ask("squeeze", shape, axes=named)


@MANY
@given(
    shape=st.one_of(ones, ones.map(lambda dims: (1,) * 4 + dims)), named=axes.filter(lambda named: named is not None)
)
def test_unsqueeze(paddle, shape, named):
    assert answer("unsqueeze", shape, axes=named) == paddle.ask("unsqueeze", shape, axes=named)


@MANY
@given(shape=ones, target=st.lists(st.integers(-1, 3), max_size=4).map(tuple))
def test_expand(paddle, shape, target):
    assert answer("expand", shape, target=target) == paddle.ask("expand", shape, target=target)


@given(shape=shapes)
def test_shape(paddle, shape):
    assert answer("shape", shape) == paddle.ask("shape", shape)


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("reshape", lambda rank: {"target": (1,) * rank}),
        ("expand", lambda rank: {"target": (2,) * rank}),
        ("unsqueeze", lambda rank: {"axes": tuple(range(rank - 1))}),
        ("tile", lambda rank: {"repeats": (1,) * rank}),
    ],
)
@pytest.mark.parametrize("rank", [7, 8, 9, 10])
def test_the_rank_limits(paddle, op, arguments, rank):
    assert answer(op, (1,), **arguments(rank)) == paddle.ask(op, (1,), **arguments(rank))


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_what_paddle_does_not_check_is_refused(paddle, name):
    op, shape, arguments, theirs = DISAGREEMENTS[name]
    assert answer(op, shape, **arguments) is None
    assert paddle.ask(op, shape, **arguments) == theirs


@pytest.mark.parametrize("op", [op for op in operators_of(PADDLE) if not OPS[op].made_of])
def test_each_operator_accepts_the_element_types_that_the_row_says(paddle, op):
    runs = {name for name in SINCE_25 if paddle.ask(op, (1, 3), name, **ARGUMENTS.get(op, {})) is not None}
    assert runs == accepted_types(OPS[op], PADDLE, None)
