"""Origins, held to NumPy: what a dim is said to come from is what its elements come from."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.origins import origins

CHAINS = 1000


def drawn_shape(random, most=4, volume=600):
    """Return a shape with dims of 1 among others."""
    while True:
        shape = tuple(random.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 12)) for _ in range(random.randint(1, most)))
        if prod(shape) <= volume:
            return shape


def regrouped(random, count):
    """Return a shape of as many elements, whose cuts often fall across those of others."""
    dims = []
    while count > 1 and len(dims) < 3 and random.random() < 0.8:
        dims.append(random.choice([each for each in range(1, count + 1) if count % each == 0]))
        count //= dims[-1]
    dims.append(count)
    random.shuffle(dims)
    return ",".join(map(str, dims))


def drawn_stage(random, shape):
    """Return the text of a stage that takes a tensor of this shape."""
    axis = random.randrange(len(shape)) if shape else 0
    kind = random.choice(("reshape", "reshape", "transpose", "swapaxes", "tile", "expand", "roll", "split", "flip", "slice", "select", "unsqueeze", "squeeze"))
    if not shape:
        kind = "unsqueeze"
    match kind:
        case "reshape":
            return f"reshape {regrouped(random, prod(shape))}"
        case "transpose":
            return f"transpose {','.join(map(str, random.sample(range(len(shape)), len(shape))))}"
        case "swapaxes":
            return f"swapaxes {axis} {random.randrange(len(shape))} -d numpy"
        case "tile":
            return f"tile {','.join(str(random.choice((1, 1, 2, 3))) for _ in shape)}"
        case "expand":
            return f"expand {','.join(str(random.choice((2, 3)) if dim == 1 else dim) for dim in shape)}"
        case "roll":
            return f"roll {random.randint(-5, 5)} {axis} -d numpy"
        case "split":
            return f"split {axis} {random.choice([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0])} --part 0"
        case "flip":
            return f"flip {axis} -d numpy"
        case "slice":
            a, b = sorted(random.sample(range(shape[axis] + 1), 2))
            part = random.choice((f"{a}:{b}", f"::{random.choice((2, -1, -2))}", f"{a}:"if a < shape[axis] else ":"))
            return f'slice "[{", ".join(part if each == axis else ":" for each in range(len(shape)))}]" -d numpy'
        case "select":
            return f"select {axis} {random.randrange(-shape[axis], shape[axis])} -d torch"
        case "unsqueeze":
            return f"unsqueeze {random.randint(0, len(shape))}"
    ones = [axis for axis, dim in enumerate(shape) if dim == 1]
    return f"squeeze {random.choice(ones)}" if ones else f"transpose"


def drawn_chain(seed):
    draw = random.Random(seed)
    shape = start = drawn_shape(draw)
    stages = []
    for _ in range(draw.randint(1, 4)):
        stage = drawn_stage(draw, shape)
        shape = sc.chain(shape, stage).output
        if not 0 < prod(shape) <= 4000:
            break
        stages.append(stage)
    return sc.chain(start, *stages) if stages else drawn_chain(f"{seed} again")


def executed(chain):
    """Return the position on each input axis of each element of the output, as NumPy moves them."""
    from shapecalc.engine import run

    shape = chain.input
    flat = np.asarray(run(chain, np.arange(prod(shape)).reshape(shape)).array)
    return [flat // prod(shape[axis + 1 :]) % size for axis, size in enumerate(shape)]


def changes(places, out):
    return bool((places != places.take([0], axis=out)).any())


def complaints(chain):
    """Return what the origins of a chain say that NumPy contradicts."""
    found, places = origins(chain), executed(chain)
    output = chain.output
    mixed = {axis for dim in found for atom in dim for axis in getattr(atom, "axes", ())}
    wrong, told = [], {}
    for out, (dim, size) in enumerate(zip(found, output, strict=True)):
        changing = {axis for axis in range(len(chain.input)) if changes(places[axis], out)}
        if any(hasattr(atom, "axes") for atom in dim):
            if len(dim) != 1 or set(dim[0].axes) != changing or list(dim[0].axes) != sorted(dim[0].axes):
                wrong.append(f"dim {out} mixes {dim}, and {changing} change")
            elif len(changing) < 1:
                wrong.append(f"dim {out} mixes nothing")
            continue
        if prod(atom.size for atom in dim) != size:
            wrong.append(f"dim {out} is {size}: {dim}")
        named = {atom.axis for atom in dim if hasattr(atom, "axis") and atom.size != 1}
        if named != changing:
            wrong.append(f"dim {out} names {named}, and {changing} change")
        below = 1
        for atom in reversed(dim):
            shape = [1] * len(output)
            shape[out] = size
            digit = (np.arange(size) // below % atom.size).reshape(shape)
            below *= atom.size
            if not hasattr(atom, "axis"):
                continue
            start = sum(atom.start)
            if atom.axis in mixed:
                if atom.stride <= 0 or ((places[atom.axis] - start) // atom.stride % atom.size != digit).any():
                    wrong.append(f"dim {out} does not tell the digit of {atom}")
            else:
                told.setdefault(atom.axis, (start, []))[1].append(atom.stride * digit)
                if told[atom.axis][0] != start:
                    wrong.append(f"axis {atom.axis} starts twice")
    for axis, (start, terms) in told.items():
        if ((start + sum(terms)) % chain.input[axis] != places[axis]).any():
            wrong.append(f"axis {axis} is elsewhere")
    return wrong


@pytest.mark.parametrize("lot", range(10))
def test_origins_are_those_of_numpy_on_drawn_chains(lot):
    chains = [drawn_chain(f"{lot} {each}") for each in range(CHAINS // 10)]
    found = {str(chain.origins if False else [t.request.op for t in chain.traces]) + str(chain.input): wrong for chain in chains if (wrong := complaints(chain))}
    assert found == {}
