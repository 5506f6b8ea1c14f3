"""Hypothesis strategies for small shapes, requested shapes, permutations and axes; most requests are valid."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

shapes = st.lists(st.integers(0, 6), max_size=5).map(tuple)


@st.composite
def factorisations(draw, number):
    """Draw dims whose product is `number`."""
    dims = []
    while number > 1 and len(dims) < 4:
        size = draw(st.sampled_from([size for size in range(1, number + 1) if number % size == 0]))
        dims.append(size)
        number //= size
    dims.append(number)
    return tuple(draw(st.permutations(dims)))


@st.composite
def targets(draw, shape):
    """Draw a requested shape: an arbitrary one, or one of equal volume with up to two dims replaced."""
    if draw(st.booleans()):
        return tuple(draw(st.lists(st.integers(-2, 7), max_size=5)))
    dims = list(draw(factorisations(max(1, prod(shape)))))
    for index in draw(st.lists(st.integers(0, len(dims) - 1), max_size=2)):
        dims[index] = draw(st.sampled_from([0, -1, -1, 1, shape[index] if index < len(shape) else 2]))
    return tuple(dims)


@st.composite
def reshapes(draw):
    """Draw an input shape and a requested shape."""
    shape = draw(shapes)
    return shape, draw(targets(shape))


@st.composite
def empty_reshapes(draw):
    """Draw a reshape of an empty tensor to its permuted dims, with some of them replaced."""
    shape = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, 4]), min_size=1, max_size=4).filter(lambda dims: 0 in dims))
    target = draw(st.permutations(shape)) + draw(st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=2))
    for index in draw(st.lists(st.integers(0, len(target) - 1), max_size=2)):
        target[index] = draw(st.sampled_from([-1, -1, 0, 2, 6, -2]))
    return tuple(shape), tuple(target)


@st.composite
def permutations(draw):
    """Draw a shape and a permutation of its axes, in which one entry may be replaced."""
    shape = draw(shapes)
    perm = list(draw(st.permutations(range(len(shape)))))
    if perm and draw(st.integers(0, 3)) == 0:
        perm[draw(st.integers(0, len(perm) - 1))] = draw(st.integers(-len(perm) - 1, len(perm)))
    return shape, tuple(perm)


@st.composite
def special_value_reshapes(draw, sizes, lowest=-4):
    """Draw an input shape and a requested shape with MXNet's special values, which is often valid."""
    shape = draw(st.lists(sizes, max_size=4))
    target, cursor = [], 0
    while cursor < len(shape):
        kind = draw(st.sampled_from(["copy", "copy", "same", "infer", "merge", "split", "split", "rest", "other"]))
        if kind == "split":
            part = draw(st.sampled_from([1, 2, 3, -1, 0]))
            exact = type(shape[cursor]) is int and part > 0 and draw(st.integers(0, 3))
            target += [-4, *draw(st.permutations([part, shape[cursor] // part if exact else -1]))]
        else:
            other = draw(st.integers(lowest, 6))
            codes = {"copy": 0, "same": shape[cursor], "infer": -1, "merge": -3, "rest": -2, "other": other}
            target.append(codes[kind])
        cursor += {"merge": 2, "rest": len(shape)}.get(kind, 1)
    target += draw(st.lists(st.integers(lowest, 2), max_size=1))
    return tuple(shape), tuple(target)


@st.composite
def slice_texts(draw):
    """Draw the text of a slice of one axis; common slices are more likely."""
    often = st.sampled_from([":", ":", "::2", "::3", ":1", "-1:", "::-1", "1:", ":-1"])
    ends = st.one_of(st.just(""), st.integers(-5, 5).map(str))
    steps = st.sampled_from(["", ":", ":1", ":2", ":-1", ":-2", ":3", ":0"])
    return draw(st.one_of(often, st.builds("{}:{}{}".format, ends, ends, steps)))


def positions(op, rank):
    """Return a strategy for the arguments of an op on a tensor of `rank` dims, which are often valid."""
    often_one = st.sampled_from([1, 1, 2, 3, 0, 2, 3, -1])
    axis, index = st.integers(-rank, max(0, rank - 1)) | st.integers(-5, 5), st.integers(-4, 4)
    strategies = {
        "select": {"axis": axis, "index": index | st.sampled_from([0, -1])},
        "slice": {
            "slices": st.lists(slice_texts(), max_size=max(1, rank) + (rank > 3)).map(
                lambda parts: ",".join(parts) or "[]"
            )
        },
        "split": {"axis": axis, "parts": st.integers(-1, 4), "part": st.just(0) | st.integers(-1, 3)},
        "roll": {"shift": st.tuples(st.integers(-7, 7)), "axis": st.tuples(axis)},
        "take": {"axis": axis, "indices": st.lists(index, max_size=3).map(tuple)},
        "flip": {"axes": st.lists(axis, max_size=3).map(tuple)},
        "swapaxes": {"axis1": axis, "axis2": axis},
        "unflatten": {
            "axis": axis,
            "sizes": st.lists(st.sampled_from([-1, -1, 1, 2, 3, 6, 0, -2]), max_size=3).map(tuple),
        },
        "tile": {"repeats": st.lists(often_one, min_size=max(0, rank - 1), max_size=rank + 1).map(tuple)},
        "repeat_interleave": {
            "repeats": st.lists(often_one, min_size=1, max_size=3).map(tuple),
            "axis": st.none() | axis,
        },
        "moveaxis": dict.fromkeys(("axes", "destination"), st.lists(axis, max_size=2).map(tuple)),
    }
    return st.fixed_dictionaries(strategies[op])


@st.composite
def patterns(draw, rank):
    """Draw a pattern that splits, permutes and merges `rank` dims, and may add an axis."""
    left, names = [], []
    for axis in range(rank):
        own = [f"a{axis}"] if draw(st.integers(0, 2)) else [f"a{axis}", f"b{axis}"]
        names += own
        left.append(own[0] if len(own) == 1 else f"({' '.join(own)})")
    moved = draw(st.permutations(names)) + draw(st.sampled_from([[], [], ["p"], ["2"], ["1"]]))
    right = []
    while moved:
        count = draw(st.integers(1, 3))
        right.append(moved[0] if count == 1 else f"({' '.join(moved[:count])})")
        moved = moved[count:]
    return f"{' '.join(left)} -> {' '.join(right)}"


@st.composite
def rearrangements(draw):
    """Draw a shape and the arguments of a rearrangement, which are often valid."""
    shape = draw(shapes)
    pattern = draw(patterns(len(shape)))
    used = [name for name in ("p", "b0", "b1", "a2", "b3", "b4") if name in pattern]
    known = [f"{name}={draw(st.integers(1, 3))}" for name in used]
    return shape, {"pattern": pattern, "lengths": ",".join(known) or None}


POSITIONS = ("select", "take", "slice", "split", "flip", "roll", "swapaxes", "moveaxis", "unflatten", "tile")
POSITIONS += ("repeat_interleave",)
"""The ops whose arguments `positions` draws."""
axes = st.one_of(st.none(), st.lists(st.integers(-4, 4), max_size=3).map(tuple))
images = st.tuples(st.integers(0, 2), st.sampled_from([4, 8, 9, 16, 0, 5]), *[st.sampled_from([1, 2, 4, 6, 0, 3])] * 2)
"""Shapes of images whose channels, height and width are often divisible by a block size."""
ones = st.lists(st.sampled_from([1, 1, 2, 3, 0]), max_size=4).map(tuple)
