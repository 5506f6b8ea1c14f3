"""Check the origins of output dims, as sizes and strides of input axes, against NumPy."""

from __future__ import annotations

import json
from contextlib import suppress
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.conditions import can_hold
from shapecalc.core.dims import substitute, sum_terms
from shapecalc.core.layout import MoveChain
from shapecalc.core.moves import Permute, Reshape
from shapecalc.core.origins import (
    AxisAtom,
    MixedAtom,
    RepeatAtom,
    _analyze_origins,
    compute_origins,
    compute_reshape_origins,
    find_mixed_dims,
    group_axes,
    list_input_axes,
    origins_as_json,
)
from shapecalc.core.text import parse_dims
from shapecalc.reading.commands import chain_text
from shapecalc.reasoning.find import find_order_preserving_split
from tests.cases import rows
from tests.core.drawing import MOVES, cut_row, draw_chain
from tests.numpy_moves import flat_input_indices
from tests.sampling import each_row, examples
from tests.strategies import factorisations

OPS = (*MOVES, "tile", "repeat_interleave", "swapaxes", "unsqueeze", *["reshape"] * 8)


@given(st.data(), st.sampled_from([1, 6, 12, 36, 64]))
def test_origins_of_permuted_reshapes_equal_those_of_the_whole_chain(data, volume):
    shapes = before, after = data.draw(factorisations(volume)), data.draw(factorisations(volume))
    first, last = (Permute(tuple(data.draw(st.permutations(range(len(shape)))))) for shape in shapes)
    permuted = tuple(before[first.axes.index(axis)] for axis in range(len(before)))
    moves = MoveChain(permuted, (first, Reshape(after), last))
    assert compute_origins(moves, (), ()) == _analyze_origins(moves, (), {})


def varies_along(indices, out):
    return bool((indices != indices.take([0], axis=out)).any())


def origin_errors(chain, origins=None, *, least=True):
    """Return the statements of origins (by default those of the chain) that NumPy contradicts.

    With `least`, mixed dims must not name axes that they do not depend on.
    """
    positions, errors, terms_by_axis = flat_input_indices(chain), [], {}
    indices = [positions // prod(chain.input[axis + 1 :]) % size for axis, size in enumerate(chain.input)]
    origins = origins or chain.origins
    mixed = {axis for dim in origins for atom in dim for axis in getattr(atom, "axes", ())}
    for out, dim in enumerate(origins):
        changing = {axis for axis in range(len(chain.input)) if varies_along(indices[axis], out)}
        if isinstance(dim[0] if dim else None, MixedAtom):
            axes = set(dim[0].axes)
            if len(dim) > 1 or not changing <= axes or (least and (axes != changing or not dim[0].exact)):
                errors.append((out, dim, changing))
            continue
        stated = {atom.axis for atom in dim if isinstance(atom, AxisAtom) and atom.size != 1}
        if prod(atom.size for atom in dim) != chain.output[out] or stated != changing:
            errors.append((out, dim, changing))
            continue
        for atom, digit in atom_digits(chain.output, out, dim):
            (start,) = atom.start or (0,)
            if atom.axis not in mixed:
                terms_by_axis.setdefault((atom.axis, start), []).append(atom.stride * digit)
            elif atom.stride <= 0 or ((indices[atom.axis] - start) // atom.stride % atom.size != digit).any():
                errors.append((out, atom, "wrong digit"))
    for (axis, start), terms in terms_by_axis.items():
        if ((start + sum(terms)) % chain.input[axis] != indices[axis]).any():
            errors.append((axis, start, "wrong index"))
    return errors


def atom_digits(output, out, dim):
    """Yield the axis atoms of a dim, each with its digit at every index of the dim."""
    along = np.arange(output[out]).reshape([-1 if axis == out else 1 for axis in range(len(output))])
    for atom in reversed(dim):
        if isinstance(atom, AxisAtom):
            yield atom, along % atom.size
        along = along // atom.size


@pytest.mark.parametrize("batch", range(8))
def test_origins_of_drawn_chains_equal_numpy(batch):
    for seed in range(100):
        draw = Random(f"{batch} {seed}")
        shape = [draw.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 12)) for _ in range(draw.randint(1, 4))]
        chain = draw_chain(draw, shape if prod(shape) <= 300 else None, OPS)
        text = chain_text(chain)
        assert origin_errors(chain, least="take" not in text) == [], text


# Symbolic chains: origins hold for all sizes that meet the conditions.


def draw_named_dims(draw, factors):
    """Draw dims that multiply the factors in some order."""
    return ",".join(map("*".join, cut_row(draw, draw.sample(factors, len(factors)), 4)))


def draw_named_stage(draw, shape, factors):
    """Draw the text of a stage for a symbolic shape; some reshapes need a condition."""
    axis, rank = draw.randrange(len(shape)), len(shape)
    targets = [draw_named_dims(draw, factors), "-1", "0,-1", "-1,2", "-1,A", "2,-1,B"]
    texts = [
        *[f"reshape {draw.choice(targets)}"] * 4,
        *[f"transpose {','.join(map(str, draw.sample(range(rank), rank)))}"] * 3,
        f"flip {axis}",
        f"roll {draw.randint(-3, 3)} {axis}",
        f"tile {','.join(draw.choice('112') for _ in shape)}",
        f"repeat_interleave {draw.choice((1, 2, 'A'))} {axis}",
        f"split {axis} {draw.choice((2, 3))} --part {draw.randrange(2)}",
        f"select {axis} {draw.choice((0, -1))}",
        f"unsqueeze {axis}",
        f"expand {','.join('A' if dim == 1 else str(dim) for dim in shape)}",
    ]
    return draw.choice(texts)


def draw_named_chain(draw):
    """Draw a symbolic chain, and return its shape, stages and answer."""
    factors = draw.choices(("2", "3", "A", "B", "C"), k=draw.randint(2, 5))
    shape, stages, answer = draw_named_dims(draw, factors), [], None
    for _ in range(draw.randint(2, 5)):
        before = answer.output if answer else parse_dims(shape)
        with suppress(sc.ShapeError):
            text = draw_named_stage(draw, before, factors)
            answer = sc.chain(shape, *stages, text)
            stages.append(text)
        if answer and not answer.output:
            break
    return (shape, stages, answer) if answer else draw_named_chain(draw)


def substitute_origins(origins, sizes):
    """Substitute sizes for names in origins."""

    def substitute_atom(atom):
        if isinstance(atom, MixedAtom):
            return atom
        if isinstance(atom, RepeatAtom):
            return RepeatAtom(substitute(atom.size, sizes))
        start = sum_terms([substitute(term, sizes) for term in atom.start])
        return AxisAtom(atom.axis, substitute(atom.size, sizes), substitute(atom.stride, sizes), start)

    return tuple(tuple(map(substitute_atom, dim)) for dim in origins)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(6))
def test_origins_of_names_hold_for_all_valid_sizes(batch):
    for seed in range(50):
        draw = Random(f"{batch} {seed}")
        shape, stages, answer = draw_named_chain(draw)
        for _ in range(8):
            sizes = {name: draw.choice((1, 2, 3, 4, 6, 8, 9)) for name in "ABC" if name in chain_text(answer)}
            numbers = tuple(substitute(dim, sizes) for dim in answer.input)
            if can_hold(answer.conditions, sizes) and prod(numbers) <= 500:
                concrete = sc.chain(shape, *stages, where=sizes)
                origins = substitute_origins(answer.origins, sizes)
                too_large = prod(concrete.output) > 4000
                assert too_large or origin_errors(concrete, origins, least=False) == [], (chain_text(answer), sizes)


@pytest.mark.parametrize(("shape", "larger", "stages"), rows("origins", "mixed once"))
def test_origins_of_one_mixing_reshape_are_exact(shape, larger, stages):
    """Origins of scaled-down axes hold where all axes are scaled up alike."""
    *dims, inner = shape.split(",")
    axes = []
    for size in (inner, larger):
        texts = stages.replace("INNER", size).split(" | ")
        answer = sc.chain(",".join([*dims, size]), *texts)
        axes.append([list_input_axes(dim) for dim in answer.origins])
        assert '"exact"' not in json.dumps(origins_as_json(answer.origins))
        assert size != inner or origin_errors(answer) == []
    assert axes[0] == axes[1]


EMPTY_STAGES = (
    *("reshape -1", "reshape 0,-1", "reshape 0 --allowzero", "reshape 0,3 --allowzero", "reshape 2,0,3 --allowzero"),
    *("transpose", "flip 0", "roll 1 0", "tile 2", "tile 2,1", "unsqueeze 0", "slice ::-1", "slice 1:", "slice :,::2"),
    *("flatten", "expand 0,3", "take 0 []", "take 1 0,0", "squeeze"),
)


def test_origin_atoms_of_empty_tensors_multiply_to_dims():
    empty = 0
    for seed in range(500):
        draw = Random(seed)
        shape, stages, answer = [draw.choice((0, 0, 1, 2, 3)) for _ in range(draw.randint(1, 4))], [], None
        for _ in range(draw.randint(1, 4)):
            with suppress(sc.ShapeError):
                text = draw.choice(EMPTY_STAGES)
                answer = sc.chain(shape, *stages, text)
                stages.append(text)
        empty += answer is not None and 0 in answer.output
        for dim, size in zip(answer.origins, answer.output, strict=True) if answer else ():
            sizes = [] if isinstance(dim[0] if dim else None, MixedAtom) else [prod(atom.size for atom in dim)]
            assert sizes in ([], [size]), (shape, stages)
    assert empty > 500 // 4


@each_row(("chain", "json_text"), rows("origins", "told") + rows("origins", "told of several operands"))
def test_origins_as_json(chain, json_text):
    """A kept axis of size 1 is named; a new one has no atoms."""
    shape, *stages = chain.split(" | ")
    origins = dict(enumerate(origins_as_json(sc.chain(shape, *stages).origins)))
    expected = {int(out): dim for out, dim in json.loads(json_text).items()}
    assert {out: origins[out] for out in expected} == expected


@pytest.mark.parametrize(("chain",), rows("origins", "every op"))
def test_origins_exist_for_all_ops_and_stages(chain):
    shape, *stages = chain.split(" | ")
    answer = sc.chain(shape, *stages)
    assert origin_errors(answer) == []
    assert answer.traces[0].origins == answer.origins
    assert all(stage.origins is not None for stage in answer.stages)
    assert answer.origins is answer.origins


# Merging, splitting and mixing axes.

pairs = st.sampled_from([1, 6, 16, 24, 36, 72, 180]).flatmap(
    lambda volume: st.tuples(factorisations(volume), factorisations(volume))
)


def strides(shape):
    """Return the NumPy strides, in elements, of the axes longer than 1."""
    array = np.empty(shape, np.int8)
    return [stride for stride, size in zip(array.strides, shape, strict=True) if size != 1]


@examples(150)
@given(pairs)
def test_origins_mix_iff_strides_do_not_divide(pair):
    before, after = pair
    across = any(old % new and new % old for old in strides(before) for new in strides(after))
    split, origins = find_order_preserving_split(before, after), compute_reshape_origins(before, after)
    assert (split is None) == across == bool(find_mixed_dims(origins))
    for shape, side in ((before, "source"), (after, "out")) if split else ():
        for axis, size in enumerate(shape):
            assert prod(part.size for part in split if getattr(part, side) == axis) == size
    groups = group_axes(len(before), [list_input_axes(origin) for origin in origins])
    assert sorted(axis for group in groups for axis in group.sources) == [*range(len(before))]
    assert sorted(axis for group in groups for axis in group.outputs) == [*range(len(after))]
    for group in groups:
        assert prod(before[axis] for axis in group.sources) == prod(after[axis] for axis in group.outputs)
