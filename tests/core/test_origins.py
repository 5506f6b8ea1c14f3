"""Origins, held to NumPy: what a dim is said to come from is what its elements come from."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from itertools import pairwise
from math import prod

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.commands import chain_text
from shapecalc.core.conditions import holds
from shapecalc.core.dims import product, substitute, total
from shapecalc.core.origins import AxisAtom, Mixes, Repeats, origins_json
from shapecalc.core.text import read_dims
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
    "take": lambda draw, shape, axis: f"{axis} {','.join(map(str, draw.choices(range(shape[axis]), k=3)))}",
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


def complaints(chain, origins=None, *, least=True):
    """Return what origins, by default its own, say of a chain that NumPy contradicts; `least` forbids axes too many."""
    places, wrong, told = executed(chain), [], {}
    origins = origins or chain.origins
    mixed = {axis for dim in origins for atom in dim for axis in getattr(atom, "axes", ())}
    for out, dim in enumerate(origins):
        changing = {axis for axis in range(len(chain.input)) if changes(places[axis], out)}
        if isinstance(dim[0] if dim else None, Mixes):
            axes = set(dim[0].axes)
            if len(dim) > 1 or not changing <= axes or (least and (axes != changing or not dim[0].exact)):
                wrong.append((out, dim, changing))
            continue
        named = {atom.axis for atom in dim if isinstance(atom, AxisAtom) and atom.size != 1}
        if prod(atom.size for atom in dim) != chain.output[out] or named != changing:
            wrong.append((out, dim, changing))
            continue
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
    told = {chain_text(each): complaints(each, least="take" not in chain_text(each)) for each in chains}
    assert {text: wrong for text, wrong in told.items() if wrong} == {}


# Names: what is said holds for all sizes that meet the conditions.


NAMES = ("2", "3", "A", "B", "C")


def named_dims(draw, factors):
    """Return dims that are these factors in some order."""
    factors = draw.sample(factors, len(factors))
    cuts = sorted(draw.sample(range(1, len(factors)), draw.randint(0, min(3, len(factors) - 1))))
    return ",".join("*".join(factors[start:end]) for start, end in pairwise([0, *cuts, len(factors)]))


def named_stage(draw, shape, factors):
    """Return the text of a stage for a shape of names; some reshapes need a condition."""
    axis, rank = draw.randrange(len(shape)), len(shape)
    wholes = [named_dims(draw, factors), "-1", "0,-1", "-1,2", "-1,A", "2,-1,B"]
    texts = [
        *[f"reshape {draw.choice(wholes)}"] * 4,
        *[f"transpose {','.join(map(str, draw.sample(range(rank), rank)))}"] * 3,
        f"flip {axis}",
        f"roll {draw.randint(-3, 3)} {axis}",
        f"tile {','.join(draw.choice('112') for _ in shape)}",
        f"split {axis} {draw.choice((2, 3))} --part {draw.randrange(2)}",
        f"select {axis} {draw.choice((0, -1))}",
        f"unsqueeze {axis}",
        f"expand {','.join('A' if dim == 1 else str(dim) for dim in shape)}",
    ]
    return draw.choice(texts)


def named_chain(draw):
    """Return the answer to a chain of names, and its stages."""
    factors = draw.choices(NAMES, k=draw.randint(2, 5))
    shape, stages, answer = named_dims(draw, factors), [], None
    for _ in range(draw.randint(2, 5)):
        before = answer.output if answer else read_dims(shape)
        with suppress(sc.ShapeError):
            text = named_stage(draw, before, factors)
            answer = sc.chain(shape, *stages, text)
            stages.append(text)
        if answer and not answer.output:
            break
    return (shape, stages, answer) if answer else named_chain(draw)


def with_sizes(origins, sizes):
    """Return origins with sizes put in for names."""

    def put_in(atom):
        if isinstance(atom, Mixes):
            return atom
        if isinstance(atom, Repeats):
            return Repeats(substitute(atom.size, sizes))
        start = total([substitute(term, sizes) for term in atom.start])
        return AxisAtom(atom.axis, substitute(atom.size, sizes), substitute(atom.stride, sizes), start)

    return tuple(tuple(map(put_in, dim)) for dim in origins)


@pytest.mark.parametrize("lot", range(6))
def test_origins_of_names_hold_for_all_sizes_that_meet_the_conditions(lot):
    wrong = {}
    for seed in range(CHAINS // 20):
        draw = random.Random(f"{lot} {seed}")
        shape, stages, answer = named_chain(draw)
        for _ in range(12):
            sizes = {name: draw.choice((1, 2, 3, 4, 6, 8, 9)) for name in "ABC" if name in chain_text(answer)}
            numbers = tuple(substitute(dim, sizes) for dim in answer.input)
            if holds(answer.conditions, sizes) and prod(numbers) <= 500:
                concrete = sc.chain(shape, *stages, where=sizes)
                found = with_sizes(answer.origins, sizes)
                if prod(concrete.output) <= 4000 and (said := complaints(concrete, found, least=False)):
                    wrong[chain_text(answer), tuple(sizes.values())] = said
    assert wrong == {}


# Numbers of any size: what is said of scaled-down axes holds where all of them are as much larger.


@pytest.mark.parametrize(
    ("small", "large", "stages"),
    [
        ("3,8,5", "3,8,500000", "slice 1:,1:7 | reshape 4,-1,{inner}"),
        ("6,4,6", "6,4,6000000", "slice 1: | reshape 2,10,{inner}"),
        ("4,9,2", "4,9,2000000", "transpose 1,0,2 | slice 2: | reshape 4,7,{inner} | flip 0"),
        ("4,6,2", "4,6,2000000", "roll 1 1 | transpose 1,0,2 | reshape 8,3,{inner}"),
        ("4,6,2", "4,6,2000000", "tile 1,2,1 | transpose 1,0,2 | reshape 16,3,{inner}"),
        ("2,10,3", "2,10,300000", "slice :,3:9:2 | reshape 2,3,{inner} | reshape 3,2,{inner} | select 0 1"),
    ],
)
def test_one_reshape_that_mixes_is_exact_at_any_size(small, large, stages):
    told = []
    for shape in (small, large):
        texts = [text.strip() for text in stages.format(inner=shape.rpartition(",")[2]).split("|")]
        told.append([{axis for atom in dim for axis in axes_of(atom)} for dim in sc.chain(shape, *texts).origins])
        assert '"exact"' not in json.dumps(origins_json(sc.chain(shape, *texts).origins))
    assert told[0] == told[1]
    texts = [text.strip() for text in stages.format(inner=small.rpartition(",")[2]).split("|")]
    assert complaints(sc.chain(small, *texts)) == []


def axes_of(atom):
    """Return the axes that an atom names."""
    return () if isinstance(atom, Repeats) else getattr(atom, "axes", None) or (atom.axis,)


def test_several_reshapes_that_mix_say_so_beyond_what_is_tried():
    stages = ["reshape 1000,6", "transpose 1,0", "reshape 8,-1", "transpose 1,0", "reshape 9,-1"]
    (first, *_) = sc.chain("200,30", *stages[:3]).origins
    assert first[0].exact
    found = sc.chain(
        "20000,300", "reshape 60000,100", "transpose 1,0", "reshape 80,-1", "transpose 1,0", "reshape 96,-1"
    )
    assert found.origins[0][0].as_json()["exact"] is False


# Empty tensors, sizes of 1, what has no origins.


EMPTY_STAGES = (
    "reshape -1",
    "reshape 0,-1",
    "reshape 0 --allowzero",
    "reshape 0,3 --allowzero",
    "reshape 2,0,3 --allowzero",
    "transpose",
    "flip 0",
    "roll 1 0",
    "tile 2",
    "tile 2,1",
    "unsqueeze 0",
    "slice ::-1",
    "slice 1:",
    "slice :,::2",
    "flatten",
    "expand 0,3",
    "take 0 []",
    "take 1 0,0",
    "squeeze",
)


def test_sizes_of_atoms_of_empty_tensors_multiply_to_the_dims():
    empty = 0
    for seed in range(CHAINS):
        draw = random.Random(seed)
        shape, stages, answer = [draw.choice((0, 0, 1, 2, 3)) for _ in range(draw.randint(1, 4))], [], None
        for _ in range(draw.randint(1, 4)):
            with suppress(sc.ShapeError):
                text = draw.choice(EMPTY_STAGES)
                answer = sc.chain(shape, *stages, text)
                stages.append(text)
        empty += answer is not None and 0 in answer.output
        for dim, size in zip(answer.origins, answer.output, strict=True) if answer else ():
            assert isinstance(dim[0] if dim else None, Mixes) or prod(atom.size for atom in dim) == size, (
                shape,
                stages,
            )
    assert empty > CHAINS // 4


def one(axis):
    return {"axis": axis, "size": 1, "stride": 1}


@pytest.mark.parametrize(
    ("shape", "stage", "expected"),
    [
        ("2,1,3", "transpose 1,0,2", {0: [one(1)]}),
        ("1,1,3", "squeeze 0", {0: [one(1)]}),
        ("1,3", "unsqueeze 0", {0: [], 1: [one(0)]}),
        ("2,1,3", "unsqueeze 1", {1: [], 2: [one(1)]}),
        ("2,1,6", "reshape 2,1,2,3", {1: [one(1)]}),
        ("2,6", "reshape 2,1,6", {1: []}),
        ("1,6", "slice :,1:3", {0: [one(0)]}),
        ("4,6", "slice 1:2", {0: []}),
        ("1,1,6", "expand 1,2,6", {0: [one(0)], 1: [{"repeats": 2}]}),
        ("1,6", "expand 2,1,6", {1: [one(0)]}),
        ("1,0", "slice 1:", {0: [{"axis": 0, "size": 0, "stride": 1}]}),
    ],
)
def test_an_axis_of_1_that_is_kept_is_named_and_a_new_one_is_nothing(shape, stage, expected):
    told = origins_json(sc.chain(shape, stage).origins)
    assert {out: told[out] for out in expected} == expected


@pytest.mark.parametrize(
    ("shape", "stage"),
    [
        ((2, 8, 3, 4), "depth_to_space 2"),
        ((2, 8, 4, 4), "space_to_depth 2"),
        ((2, 3, 4), "rearrange 'a b c -> c (a b)'"),
        ((2, 3, 4), "tile 2,1,1"),
        ((2, 3, 4), "shuffle --first 1,0,2 --to 2,-1,3"),
        ((2, 6), "view 4,3"),
        ((2, 6), "unflatten 1 2,3"),
        ((2, 3, 4), "moveaxis 0 2"),
        ((2, 3, 4), "flatten"),
    ],
)
def test_all_ops_and_their_stages_have_origins(shape, stage):
    answer = sc.chain(shape, stage)
    assert complaints(answer) == []
    assert answer.traces[0].origins == answer.origins
    assert all(each.origins is not None for each in answer.stages)
    assert answer.origins is answer.origins


def test_what_holds_no_input_has_no_origin():
    assert sc.chain((2, 3), "transpose", "shape").origins == (None, None)
    assert sc.chain((2, 3), "transpose", "shape").traces[0].origins is not None
    with pytest.raises(sc.ShapeError) as error:
        sc.reshape((2, 3), (4, -1))
    assert error.value.trace.origins is None


def test_strides_of_names_that_are_read_backwards_are_written_with_a_sign():
    (rows, _) = origins_json(sc.chain("N,C", "reshape N,C", "flip 0", "reshape N,C").origins)
    assert rows == [{"axis": 0, "size": "N", "stride": -1, "start": -1}]
    assert str(product((-1, *read_dims("C")))) == "-C"
