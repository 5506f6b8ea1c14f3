"""Dialects against their libraries, in environments whose Python SHAPECALC_TENSORFLOW_PYTHON and the like name."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import KNOWN
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import accepted_types
from shapecalc.core.resolve import resolve
from tests.engines.apart import started
from tests.engines.library_worker import indices
from tests.sampling import examples
from tests.strategies import POSITIONS, axes, empty_reshapes, ones, permutations, positions, reshapes, shapes

NAMES = ("tensorflow", "jax", "tflite", "coreml")
REQUESTS = [(name, op) for name in NAMES for op in operators_of(DIALECTS[name]) if not OPS[op].made_of]
SOME_AXES = st.lists(st.integers(-4, 3), min_size=1, max_size=3).map(tuple)
DRAWN = {
    "reshape": (reshapes() | empty_reshapes()).map(lambda drawn: (drawn[0], {"target": drawn[1]})),
    "transpose": permutations().map(lambda drawn: (drawn[0], {"perm": drawn[1]}))
    | shapes.map(lambda shape: (shape, {})),
    "flatten": st.tuples(shapes, st.just({}) | st.integers(-5, 5).map(lambda axis: {"axis": axis})),
    "squeeze": st.tuples(ones, axes.map(lambda named: {"axes": named})),
    "unsqueeze": st.tuples(ones, axes.filter(lambda named: named is not None).map(lambda named: {"axes": named})),
    "expand": st.tuples(ones, st.lists(st.integers(-1, 3), max_size=4).map(lambda dims: {"target": tuple(dims)})),
    "shape": st.tuples(shapes, st.just({})),
    "tile": st.tuples(ones, st.lists(st.integers(-1, 3), max_size=4).map(lambda counts: {"repeats": tuple(counts)})),
    "swapaxes": st.tuples(ones, st.fixed_dictionaries({"axis1": st.integers(-4, 3), "axis2": st.integers(-4, 3)})),
    "moveaxis": st.tuples(ones, st.fixed_dictionaries({"axes": SOME_AXES, "destination": SOME_AXES})),
    **{
        op: shapes.flatmap(lambda shape, op=op: st.tuples(st.just(shape), positions(op, len(shape))))
        for op in POSITIONS
    },
}
"""What draws an input shape and the arguments of each op."""
TYPED = {
    "reshape": {"target": (3, 1)},
    "transpose": {"perm": (1, 0)},
    "unsqueeze": {"axes": (0,)},
    "expand": {"target": (2, 3)},
    "flip": {"axes": (0,)},
    "roll": {"shift": 1, "axis": 0},
    "split": {"axis": 1, "parts": 3, "part": 1},
    "slice": {"slices": ":,::2"},
    "select": {"axis": 0, "index": 0},
    "tile": {"repeats": (2, 1)},
    "swapaxes": {"axis1": 0, "axis2": 1},
    "moveaxis": {"axes": (0,), "destination": (1,)},
}
"""The arguments of each op by which it is asked for a tensor of 1,3 of every element type."""
DISAGREEMENTS = {
    "tensorflow": {
        "an axis of a scalar": ("flip", (), {"axes": (7,)}, ()),
        "an axis that is named twice, of nothing": ("flip", (0,), {"axes": (0, 0)}, (0,)),
        "a -1 beside 0 that is not a whole number": ("reshape", (0, 4), {"target": (0, 3, -1)}, (0, 3, 1)),
        "the whole of a tensor of many dims is a slice": ("slice", (2,) * 9, {"slices": ":"}, (2,) * 9),
    },
    "tflite": {
        "a -1 beside 0 that is not a whole number": ("reshape", (0, 4), {"target": (0, 3, -1)}, (0, 3, 1)),
        "an axis that a permutation names twice": ("transpose", (2, 3, 4), {"perm": (0, 1, 1)}, (2, 3, 3)),
        "an index that lies outside": ("select", (2, 3), {"axis": 1, "index": 7}, (2,)),
        "a slice of an axis that does not exist": ("slice", (2, 3), {"slices": ":,:,:"}, (2, 3)),
    },
    "coreml": {
        "an axis that a permutation names twice": ("transpose", (2, 3, 4), {"perm": (0, 1, 1)}, (2, 3, 3)),
        "an axis that flip does not have": ("flip", (2, 3), {"axes": (7,)}, (2, 3)),
        "an index that lies outside": ("select", (2, 3), {"axis": 1, "index": 7}, (2,)),
        "more than five dims": ("reshape", (1,), {"target": (1,) * 6}, (1,) * 6),
    },
}
"""What a library does not check and the dialect refuses: a request, and the shape that the library gives."""
UNCHECKED = {
    ("tensorflow", "flip"): ("axis-out-of-range", "repeated-axis"),
    ("tensorflow", "reshape"): ("indivisible",),
    ("tflite", "reshape"): ("indivisible",),
    ("tflite", "transpose"): ("not-a-permutation",),
    ("tflite", "select"): ("index-out-of-range",),
    ("tflite", "slice"): ("axis-out-of-range",),
    ("coreml", "reshape"): ("below-minus-one", "indivisible", "zero-volume-infer", "rank-limit"),
    ("coreml", "transpose"): ("not-a-permutation",),
    ("coreml", "flatten"): ("axis-out-of-range",),
    ("coreml", "squeeze"): ("axis-out-of-range", "repeated-axis"),
    ("coreml", "unsqueeze"): ("repeated-axis", "rank-limit"),
    ("coreml", "slice"): ("keeps-nothing", "bad-step"),
    ("coreml", "select"): ("index-out-of-range",),
    ("coreml", "flip"): ("axis-out-of-range", "repeated-axis"),
}
"""The rules that an operator of a library does not always check."""


def beyond(name, op, shape, arguments):
    """Say whether a library is not asked: its process would die, or it makes up what no document says."""
    if (name, op) == ("tflite", "flip"):
        return 0 in shape
    if (name, op) == ("coreml", "slice") and len(shape) > 0:
        parts = zip(shape, indices(arguments["slices"]), strict=False)
        before = [part.stop is not None and part.stop < -dim and (part.step or 1) < 0 for dim, part in parts]
        return 0 in shape or any(before)
    return name == "coreml" and shape == ()


def trace(name, op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": name}))


@pytest.fixture(scope="module")
def engines():
    running = {}
    yield running
    for each in running.values():
        each.close()


@pytest.mark.parametrize(("name", "op"), REQUESTS)
@examples(200)
@given(data=st.data())
def test_the_library_and_the_dialect_agree_or_both_refuse(engines, name, op, data):
    engine = started(engines, name)
    shape, arguments = data.draw(DRAWN[op])
    assume(not beyond(name, op, shape, arguments))
    ours, theirs = trace(name, op, shape, **arguments), engine.ask(op, shape, **arguments)
    unchecked = ours.problem and ours.problem.rule in UNCHECKED.get((name, op), ())
    assert ours.output == theirs or unchecked


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, known in DISAGREEMENTS.items() for said in known])
def test_what_the_library_does_not_check_is_refused(engines, name, said):
    engine = started(engines, name)
    op, shape, arguments, theirs = DISAGREEMENTS[name][said]
    assert trace(name, op, shape, **arguments).output is None
    assert engine.ask(op, shape, **arguments) == theirs


@pytest.mark.parametrize(("name", "op"), REQUESTS)
def test_each_operator_accepts_the_element_types_that_the_row_says(engines, name, op):
    engine = started(engines, name)
    runs = {dtype for dtype in KNOWN if engine.ask(op, (1, 3), dtype, **TYPED.get(op, {})) is not None}
    assert runs == accepted_types(OPS[op], DIALECTS[name], None)
