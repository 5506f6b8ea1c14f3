"""Equivalence: never the same where NumPy differs, proved where cuts line up, and the conditions that make it so."""

from __future__ import annotations

import re
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.answers import moves_of
from shapecalc.core.conditions import Assumptions, can_hold
from shapecalc.core.dims import product, quotient
from shapecalc.core.moves import ravel
from shapecalc.core.results import sizes_with_results
from shapecalc.core.text import parse_dims, shape_text
from shapecalc.reading.commands import stage_line
from shapecalc.reasoning.equiv import EquivalenceVerdict, check_equivalence
from tests.cases import rows
from tests.core.drawing import drawn_chain, factors
from tests.numpy_moves import positions_of
from tests.sampling import each_row, examples, some_and_rest

MANY = examples(90)
SIZES = st.sampled_from([1, 2, 3, 4, 6, 8, 12])


@st.composite
def stages(draw, shape, most=4):
    """Draw the texts of stages for a shape of names and numbers: every move, and splits, merges and new cuts."""
    made = []
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["permute", "merge", "split", "name", "cut", "pick", "pick"])) if shape else "split"
        dims = list(shape)
        if kind == "pick":
            made.append(draw(picking(dims)))
            try:
                shape = sc.chain(shape_text(shape), made[-1]).output
            except sc.ShapeError:
                return made
            continue
        if kind == "permute":
            perm = draw(st.permutations(range(len(dims))))
            made.append(f"transpose {','.join(map(str, perm))}")
            shape = tuple(dims[axis] for axis in perm)
            continue
        place = draw(st.integers(0, len(dims) - 1)) if dims else 0
        if kind == "merge":
            dims[place : place + 2] = [product(dims[place : place + 2])]
        elif kind == "cut":
            dims[place : place + 2] = draw(st.permutations(dims[place : place + 2]))
        elif len(dims) < 6:
            part = draw(st.sampled_from([2, 3] if kind == "split" else parse_dims("C,H")))
            dims[place : place + 1] = draw(st.permutations([part, quotient(dims[place], part)])) if dims else [1]
        shape = tuple(dims)
        made.append(f"reshape {shape_text(shape)}")
    return made


@st.composite
def picking(draw, dims):
    """Draw the text of a stage that takes, turns or rolls positions of one axis."""
    axis = draw(st.integers(0, len(dims) - 1))
    kind = draw(st.sampled_from(["select", "slice", "split", "flip", "roll", "take"]))
    if kind == "select":
        return f"select {axis} {draw(st.sampled_from([0, -1]))}"
    if kind == "slice":
        taken = draw(
            st.sampled_from(["::2", "::-1", ":1", "-1:", *([":2", "1:", "1::2"] * (dims[axis] in (2, 3, 4, 6)))])
        )
        return f"slice {':,' * axis}{taken}"
    if kind == "split":
        return f"split {axis} 2 --part {draw(st.integers(0, 1))}"
    if kind == "take":
        return f"take {axis} {draw(st.sampled_from(['0,-1', '-1,0,0', '0,0']))}"
    return f"flip {axis}" if kind == "flip" else f"roll {draw(st.integers(-2, 2))} {axis}"


def answered(shape, texts):
    """Return the answer to a chain; None if it is refused."""
    try:
        return sc.chain(shape_text(shape), *texts)
    except sc.ShapeError:
        return None


def at(answer, sizes):
    """Return what NumPy makes of an answer at some sizes; None if it is not defined for them."""
    sizes = sizes_with_results(answer.results, sizes)
    return positions_of(moves_of(answer).rewrite(sizes)) if can_hold(answer.conditions, sizes) else None


def alike(one, other):
    """Say whether two results are the same, or neither is defined."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool((one == other).all())


SHAPES = st.sampled_from(
    [parse_dims(text) for text in ("N,C,H", "C,H,N", "N,6,C", "C*H,N,4", "C,C,2", "N,1,H", "12,H", "N,2,C,4,1,H")]
)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape), stages(shape))), st.data())
def test_equiv_never_calls_different_chains_same(drawn, data):
    shape, *texts = drawn
    first, second = (answered(shape, each) for each in texts)
    if first is None or second is None:
        return
    found = check_equivalence(first, second)
    if found.counterexample:
        results = [at(each, found.counterexample.sizes) for each in (first, second)]
        assert not alike(*results)
        if index := found.counterexample.index:
            assert tuple(int(each[index]) for each in results) == found.counterexample.elements
            assert ravel(index, results[0].shape) == int(np.argmax((results[0] != results[1]).ravel()))
    for _ in range(4):
        sizes = {name: data.draw(SIZES) for name in "NCH"}
        same = alike(at(first, sizes), at(second, sizes))
        listed = (
            ()
            if found.verdict in (EquivalenceVerdict.DIFFERENT, EquivalenceVerdict.UNDECIDED)
            else found.conditions or ((),)
        )
        assert same or not any(can_hold(conditions, sizes) for conditions in listed)


@st.composite
def longer(draw, texts, shape):
    """Draw a longer way to do what stages do: with every transpose in two, and with detours between the stages."""
    made = []
    for text in texts:
        for trace in sc.chain(shape_text(shape), *made, text).traces[-1:]:
            before, after = trace.input, trace.output
        if text.startswith("transpose"):
            wanted = [int(axis) for axis in text.split()[1].split(",")]
            one = draw(st.permutations(range(len(before))))
            other = [one.index(axis) for axis in wanted]
            made += [f"transpose {','.join(map(str, perm))}" for perm in (one, other)]
        elif text.startswith("reshape"):
            made += [*draw(st.sampled_from([[], ["reshape -1"]])), f"reshape {shape_text(after)}"]
        else:
            made += draw(taken_otherwise(text, before, after))
        if draw(st.booleans()):
            made += ["unsqueeze --axes 0", "squeeze --axes 0"]
    return made


@st.composite
def taken_otherwise(draw, text, before, after):
    """Draw stages that do what a stage of `picking` does: from the other end, in two steps, or by a reshape."""
    op, *words = text.split()
    if op == "roll":
        part = draw(st.integers(-2, 2))
        return [f"roll {part} {words[1]}", f"roll {int(words[0]) - part} {words[1]}"]
    if op == "select":
        return [f"flip {words[0]}", f"select {words[0]} {-1 - int(words[1])}"]
    if op == "take":
        return [f"flip {words[0]}", f"take {words[0]} {','.join(str(-1 - int(each)) for each in words[1].split(','))}"]
    if op == "flip":
        return ["flip 0", *[text] * (words[0] != "0"), *["flip 0"] * (words[0] != "0")]
    axis = int(words[0]) if op == "split" else words[0].count(",")
    cut = (*before[:axis], 2, after[axis], *before[axis + 1 :])
    if op == "split":
        return [f"reshape {shape_text(cut)}", f"select {axis} {words[-1]}"]
    others = [other for other in range(len(before)) if other != axis]
    there, back = [axis, *others], [*range(1, axis + 1), 0, *range(axis + 1, len(before))]
    taken = f"slice {words[0].split(',')[-1]}"
    return [f"transpose {shape_text(there)}", taken, f"transpose {shape_text(back)}"]


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape))), st.data())
def test_equiv_proves_equal_longer_chains(drawn, data):
    shape, texts = drawn
    first = answered(shape, texts)
    if first is not None:
        second = sc.chain(shape_text(shape), *data.draw(longer(texts, shape)))
        found = check_equivalence(first, second).verdict
        assert found is EquivalenceVerdict.SAME or (mixes(first, second) and found is not EquivalenceVerdict.DIFFERENT)


def mixes(*chains):
    """Say whether the cuts of some shapes of chains do not line up."""
    courses = [moves_of(chain) for chain in chains]
    known = Assumptions([dim for course in courses for dim in course.dims])
    return not all(course.view(known).is_strided for course in courses)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape, 3), stages(shape, 3))))
def test_equiv_proves_unmixed_equal_chains(drawn):
    shape, *texts = drawn
    first, second = (answered(shape, each) for each in texts)
    if first is None or second is None or first.conditions != second.conditions:
        return
    results = [at(each, {"N": 8, "C": 36, "H": 30}) for each in (first, second)]
    if not mixes(first, second) and results[0] is not None and alike(*results):
        assert check_equivalence(first, second).verdict is not EquivalenceVerdict.UNDECIDED


def lengthened(chain, text):
    """Return the answer to a chain with one more stage."""
    return sc.chain(chain.input, *(stage_line(trace.request) for trace in chain.traces), text)


@pytest.mark.parametrize("seeds", some_and_rest(range(600), 100))
def test_equiv_of_numbers_finds_numpys_first_difference(seeds):
    for seed in seeds:
        draw = Random(seed)
        first = drawn_chain(draw)
        second = drawn_chain(draw, first.input)
        if prod(first.output) == prod(second.output) and first.output != second.output:
            target = shape_text(draw.choice([first.output, second.output, factors(draw, prod(first.output))]))
            first, second = (lengthened(each, f"reshape {target}") for each in (first, second))
        found = check_equivalence(first, second)
        one, other = positions_of(first), positions_of(second)
        assert (found.verdict is EquivalenceVerdict.SAME) == alike(one, other), seed
        if one.shape == other.shape and not alike(one, other):
            place = int(np.argmax((one != other).ravel()))
            assert ravel(found.counterexample.index, one.shape) == place, seed
            assert found.counterexample.elements == (one.flat[place], other.flat[place]), seed


@each_row(("first", "second", "verdict"), rows("chains", "the same or not"))
def test_equiv_worked_cases(first, second, verdict):
    assert str(sc.equiv(first, second)) == verdict


@pytest.mark.parametrize(("first", "second", "said"), rows("chains", "counterexamples"))
def test_equiv_counterexample(first, second, said):
    assert str(sc.equiv(first, second).counterexample) == said


@pytest.mark.parametrize(("first", "second", "reasons"), rows("chains", "reasons"))
def test_equiv_reasons(first, second, reasons):
    assert "; ".join(sc.equiv(first, second).reasons) == reasons


@pytest.mark.parametrize(("first", "second", "message"), rows("chains", "not compared"))
def test_equiv_invalid_comparisons_are_usage(first, second, message):
    with pytest.raises(sc.ShapeError, match=re.escape(message)) as error:
        sc.equiv(first, second)
    assert error.value.problem.rule == "usage"
