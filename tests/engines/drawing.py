"""Requests to libraries: Hypothesis strategies for each op, and tables of requests."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from tests.engine import tables
from tests.strategies import (
    POSITIONS,
    axes,
    empty_reshapes,
    images,
    ones,
    permutations,
    positions,
    rearrangements,
    reshapes,
    shapes,
    special_value_reshapes,
    targets,
)

SIZES = st.sampled_from([1, 1, 2, 2, 3, 4, 6])
FEW = st.sampled_from([0, 1, 2, 3])
ENDS = {name: st.none() | st.integers(-7, 7) for name in ("start", "end")}
named = axes.filter(lambda found: found is not None)


def requests_with(drawn, name):
    """Return a strategy for a shape and one argument of that name."""
    return drawn.map(lambda pair: (pair[0], {name: pair[1]}))


def sizes(low):
    return st.lists(st.integers(low, 3), max_size=4).map(tuple)


@st.composite
def views(draw):
    """Draw a shape, a target of equal or other volume, and strides of a permuted tensor or any others."""
    shape = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4, 6, 0]), max_size=4).map(tuple))
    strides, step = [0] * len(shape), 1
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = draw(st.sampled_from([step, step, step, 2 * step]))
        step = strides[axis] * max(1, shape[axis])
    if draw(st.integers(0, 2)) == 0:
        strides = draw(st.lists(st.integers(0, 12), min_size=len(shape), max_size=len(shape)))
    if any(dim > 1 and step * (dim - 1) > 90 for dim, step in zip(shape, strides, strict=True)):
        strides = None
    return shape, {"target": draw(targets(shape)), "strides": strides and tuple(strides)}


@st.composite
def expansions(draw):
    """Draw an expansion by MXNet's rules, mostly a valid one."""
    shape = draw(ones)
    target = draw(st.tuples(*(st.sampled_from([dim, dim, 0, 3, -1] if dim == 1 else [dim, dim, 0]) for dim in shape)))
    return shape, {"target": draw(st.sampled_from([target, target, target, (2, *target), target[1:] or (1,)]))}


def reductions(rank):
    """Return a strategy for the arguments of a reduction of a tensor of `rank` dims."""
    axis = st.integers(-rank, max(0, rank - 1)) | st.integers(-4, 4)
    kinds, keepdims = st.sampled_from(["mean", "sum", "max", "min"]), st.booleans()
    axes = st.none() | st.lists(axis, max_size=3).map(tuple)
    return st.fixed_dictionaries({"axes": axes, "keepdims": keepdims, "kind": kinds}).map(
        lambda found: {name: value for name, value in found.items() if value is not None}
    )


blocked = st.tuples(
    st.one_of(images, images, images.map(lambda shape: shape[1:]), images.map(lambda shape: (2, *shape)), shapes),
    st.integers(-1, 4).map(lambda block: {"block": block}),
)
REQUESTS = {
    "reshape": requests_with(reshapes() | empty_reshapes(), "target"),
    "transpose": requests_with(permutations(), "perm") | shapes.map(lambda shape: (shape, {})),
    "squeeze": st.tuples(ones, axes.map(lambda found: {"axes": found})),
    "unsqueeze": st.tuples(ones | ones.map(lambda dims: (1,) * 4 + dims), named.map(lambda found: {"axes": found})),
    "expand": requests_with(st.tuples(ones, sizes(-2)), "target"),
    "shape": st.tuples(shapes, st.just({})),
    "mean": shapes.flatmap(lambda shape: st.tuples(st.just(shape), reductions(len(shape)))),
    "tile": requests_with(st.tuples(ones, sizes(-1)), "repeats"),
    "view": views(),
    "rearrange": rearrangements(),
    "depth_to_space": blocked,
    "space_to_depth": blocked,
    **{
        op: shapes.flatmap(lambda shape, op=op: st.tuples(st.just(shape), positions(op, len(shape))))
        for op in POSITIONS
    },
}
"""The strategies for the input shape and the arguments of each op."""
FLATTENS = {
    "axis": {"axis": st.none() | st.integers(-6, 6)},
    "range": {"start_dim": st.integers(-5, 5), "end_dim": st.integers(-5, 5)},
    "all": {},
    "rest": {},
}
OF_LIBRARY = {
    ("numpy", "shape"): st.tuples(shapes, st.fixed_dictionaries(ENDS)),
    ("torch", "unsqueeze"): requests_with(st.tuples(ones, st.tuples(st.integers(-5, 5))), "axes"),
    ("openvino", "reshape"): st.tuples(reshapes().filter(lambda drawn: drawn[1]), st.booleans()).map(
        lambda drawn: (drawn[0][0], {"target": drawn[0][1], "special_zero": drawn[1]})
    ),
    ("mxnet", "reshape"): st.tuples(special_value_reshapes(SIZES, -5) | special_value_reshapes(FEW), st.booleans())
    .map(lambda drawn: tuple([each[:: -1 if drawn[1] else 1] for each in drawn[0]]) + drawn[1:])
    .map(lambda drawn: (drawn[0], {"target": drawn[1] or (-1,), "reverse": drawn[2]})),
    ("mxnet", "expand"): expansions(),
}
"""The same for libraries with special arguments."""


def rows(name):
    """Return the rows of a table of this folder."""
    return tables.rows(name, Path(__file__).parent)
