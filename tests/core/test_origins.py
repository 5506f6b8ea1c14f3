"""Origins, held to NumPy: what a dim is said to come from is what its elements come from."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.commands import chain_text
from shapecalc.core.origins import AxisAtom, Mixes
from shapecalc.engine import run

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


def sliced(random, axis, shape):
    """Return the slices of a shape that keep a part of one axis."""
    first, last = sorted(random.sample(range(shape[axis] + 1), 2))
    part = random.choice((f"{first}:{last}", "::2", "::-1", "::-2"))
    return ", ".join(part if each == axis else ":" for each in range(len(shape)))


STAGES = {
    "reshape": lambda draw, shape, axis: regrouped(draw, prod(shape)),
    "transpose": lambda draw, shape, axis: ",".join(map(str, draw.sample(range(len(shape)), len(shape)))),
    "swapaxes": lambda draw, shape, axis: f"{axis} {draw.randrange(len(shape))} -d numpy",
    "tile": lambda draw, shape, axis: ",".join(str(draw.choice((1, 1, 2, 3))) for _ in shape),
    "expand": lambda draw, shape, axis: ",".join(str(draw.choice((2, 3)) if dim == 1 else dim) for dim in shape),
    "roll": lambda draw, shape, axis: f"{draw.randint(-5, 5)} {axis} -d numpy",
    "split": lambda draw, shape, axis: f"{axis} {draw.choice(divisors(shape[axis]))} --part 0",
    "flip": lambda draw, shape, axis: f"{axis} -d numpy",
    "slice": lambda draw, shape, axis: f'"[{sliced(draw, axis, shape)}]" -d numpy',
    "select": lambda draw, shape, axis: f"{axis} {draw.randrange(-shape[axis], shape[axis])} -d torch",
    "unsqueeze": lambda draw, shape, axis: str(draw.randint(0, len(shape))),
}
"""What is drawn for an op, by its name."""


def divisors(number):
    return [each for each in range(1, number + 1) if number % each == 0]


def drawn_stage(random, shape):
    """Return the text of a stage that takes a tensor of this shape; every second reshapes."""
    op = "unsqueeze" if not shape else random.choice((*STAGES, *["reshape"] * 6))
    return f"{op} {STAGES[op](random, shape, random.randrange(len(shape)) if shape else 0)}"


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
    shape = chain.input
    flat = np.asarray(run(chain, np.arange(prod(shape)).reshape(shape)).array)
    return [flat // prod(shape[axis + 1 :]) % size for axis, size in enumerate(shape)]


def changes(places, out):
    return bool((places != places.take([0], axis=out)).any())


def complaints(chain):
    """Return what the origins of a chain say that NumPy contradicts."""
    places, wrong = executed(chain), []
    mixed = {axis for dim in chain.origins for atom in dim for axis in getattr(atom, "axes", ())}
    told = {}
    for out, dim in enumerate(chain.origins):
        changing = {axis for axis in range(len(chain.input)) if changes(places[axis], out)}
        if isinstance(dim[0] if dim else None, Mixes):
            wrong += (
                [] if len(dim) == 1 and dim[0] == Mixes(tuple(sorted(changing))) and changing else [(out, changing)]
            )
            continue
        named = {atom.axis for atom in dim if isinstance(atom, AxisAtom) and atom.size != 1}
        if prod(atom.size for atom in dim) != chain.output[out] or named != changing:
            wrong.append((out, dim, changing))
        for atom, digit in digits(chain.output, out, dim):
            (start,) = atom.start or (0,)
            if atom.axis not in mixed:
                told.setdefault((atom.axis, start), []).append(atom.stride * digit)
            elif atom.stride <= 0 or ((places[atom.axis] - start) // atom.stride % atom.size != digit).any():
                wrong.append((out, atom, "tells no digit"))
    for (axis, start), terms in told.items():
        if ((start + sum(terms)) % chain.input[axis] != places[axis]).any():
            wrong.append((axis, start, "is elsewhere"))
    return wrong


def digits(output, out, dim):
    """Yield the atoms of axes of a dim, each with its digit at every index of the dim."""
    along = np.arange(output[out]).reshape([-1 if each == out else 1 for each in range(len(output))])
    for atom in reversed(dim):
        if isinstance(atom, AxisAtom):
            yield atom, along % atom.size
        along = along // atom.size


@pytest.mark.parametrize("lot", range(10))
def test_origins_are_those_of_numpy_on_drawn_chains(lot):
    chains = [drawn_chain(f"{lot} {each}") for each in range(CHAINS // 10)]
    assert {chain_text(chain): wrong for chain in chains if (wrong := complaints(chain))} == {}
