"""The op `view` and the engine must agree: the engine needs no copy exactly where a view is allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.moves import Reshape
from shapecalc.core.resolve import resolve
from shapecalc.engine.plan import plan_moves
from tests.sampling import examples
from tests.strategies import targets


@st.composite
def views(draw):
    """Draw a shape without empty dims, strides that are often those of a permuted tensor, and a target."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=4).map(tuple))
    strides, step = [0] * len(shape), 1
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = draw(st.sampled_from([step, step, step, 0, 5]))
        step *= shape[axis]
    return shape, tuple(strides), draw(targets(shape))


@examples(100)
@given(views())
def test_a_view_is_allowed_exactly_where_the_engine_copies_nothing(drawn):
    shape, strides, target = drawn
    trace = resolve(ask("view", shape, {"target": target, "strides": strides}))
    settled = resolve(ask("reshape", shape, {"target": target, "dialect": "torch"})).output
    if settled is None:
        assert trace.output is None
        return
    plan = plan_moves((Reshape(settled),), shape, strides, 1)
    assert (trace.output is None) == bool(plan.copies)
    if trace.output is not None:
        pairs = zip(trace.output, trace.steps[-1].shape, plan.stages[-1].strides, strict=True)
        assert all(ours == theirs for dim, ours, theirs in pairs if dim != 1)
