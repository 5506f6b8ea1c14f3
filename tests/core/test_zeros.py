"""The law of names that must not be 0: what is told at once is what asking again would tell."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import names
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import _changed, resolve, with_zeros
from tests.sampling import examples, some_and_rest
from tests.strategies import POSITIONS, coded_reshapes, positions

DIMS = st.sampled_from(["A", "B", "C", "A", "B", "C", "A*B", "2*A", "A/2", "A*C/4", "B/A", "1", "2", "3", "4", "0"])
TARGETS = DIMS | st.sampled_from(["0", "-1", "0", "-1", "-2", "-3", "-4", "4"])
REQUESTS = {
    "reshape": st.fixed_dictionaries({"target": st.lists(TARGETS, max_size=4).map(tuple)}),
    "expand": st.fixed_dictionaries({"target": st.lists(TARGETS, max_size=4).map(tuple)}),
    "view": st.fixed_dictionaries({"target": st.lists(TARGETS, max_size=4).map(tuple)}),
    "shuffle": st.fixed_dictionaries({"to": st.lists(TARGETS, max_size=4).map(tuple)}),
    "transpose": st.just({}),
    "flatten": st.just({}),
    "squeeze": st.just({}) | st.fixed_dictionaries({"axes": st.sampled_from([(0,), (1,), (0, 1), (-1,)])}),
    "unsqueeze": st.fixed_dictionaries({"axes": st.sampled_from([(0,), (1,), (0, 1)])}),
    "shape": st.just({}),
    "depth_to_space": st.just({"block": 2}),
    "space_to_depth": st.just({"block": 2}),
    **{op: positions(op, 2) for op in POSITIONS},
}
EVERY = [
    (op, row.name, on) for op in REQUESTS for row in DIALECTS.values() if operator_of(OPS[op], row) for on in (0, 1)
]


def asked_again(request):
    """Return the names that must not be 0, each of them asked."""
    answer = resolve(request)
    zeros = ((name, with_zeros(request, {name: 0})) for name in names(request.dims))
    return tuple(sorted(name for name, zero in zeros if _changed(answer, zero, {name: 0})))


@examples(1000)
@given(data=st.data())
def test_the_names_that_must_not_be_0_are_those_that_asking_again_finds(data):
    op, dialect, on = data.draw(st.sampled_from(EVERY) | st.just(("reshape", "mxnet", 0)))
    options = {"dialect": dialect, **data.draw(REQUESTS[op])}
    row = DIALECTS[dialect]
    if row.switch is not None and OPS[op].switched:
        options[row.switch.name] = bool(on)
    rank = {"depth_to_space": 4, "space_to_depth": 4}.get(op)
    shape = tuple(data.draw(st.lists(DIMS, min_size=rank or 0, max_size=rank or 4)))
    if (op, dialect) == ("reshape", "mxnet"):
        shape, options["target"] = data.draw(coded_reshapes(DIMS))
    try:
        request = ask(op, shape, options)
    except ShapeError:
        return
    answer = resolve(request)
    if answer.output is not None:
        assert answer.assumes == asked_again(request)


WRITTEN = ["A", "B", "C", "A*B", "2*A", "A/2", "A*C/4", "B/A", "1", "2", "3", "0"]
CODES = ["0", "-1", "0", "-1", "4"]
TAKEN = {
    "reshape": "target",
    "expand": "target",
    "view": "target",
    "shuffle": "to",
}
"""The ops whose argument is a shape."""
SETTINGS = [setting for setting in EVERY if setting[0] in TAKEN]


@pytest.mark.parametrize("seeds", some_and_rest(range(6000), 600))
def test_the_names_of_a_requested_shape_that_must_not_be_0_are_found(seeds):
    """Most of the targets have as many elements as the input, so that most requests are answered."""
    for seed in seeds:
        draw = Random(seed)
        op, dialect, on = draw.choice(SETTINGS)
        shape = draw.choices(WRITTEN, k=draw.randint(1, 4))
        target = draw.sample(shape, len(shape))
        for _ in range(draw.randint(0, 2)):
            target[draw.randrange(len(target))] = draw.choice(CODES + shape)
        row = DIALECTS[dialect]
        switch = {row.switch.name: bool(on)} if row.switch is not None and OPS[op].switched else {}
        try:
            request = ask(op, tuple(shape), {"dialect": dialect, TAKEN[op]: tuple(target), **switch})
        except ShapeError:
            continue
        answer = resolve(request)
        if answer.output is not None:
            assert answer.assumes == asked_again(request), (seed, op, dialect, shape, target)
