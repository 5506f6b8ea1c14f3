"""Equivalence: never the same where NumPy differs, proved where cuts line up, and the conditions that make it so."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core import equiv as difference
from shapecalc.core.answers import moves_of
from shapecalc.core.commands import stage_line
from shapecalc.core.conditions import Known, holds
from shapecalc.core.dims import product, quotient
from shapecalc.core.equiv import Verdict, equivalence
from shapecalc.core.limits import MOST_ELEMENTS
from shapecalc.core.moves import ravel
from shapecalc.core.results import settled
from shapecalc.core.text import read_dims, shape_text
from tests.core.drawing import drawn_chain, factors, positions_of
from tests.core.test_views import carried_out
from tests.sampling import examples, some_and_rest

MANY = examples(700)
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
            part = draw(st.sampled_from([2, 3] if kind == "split" else read_dims("C,H")))
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


def executed(course):
    """Return what NumPy makes of the elements' positions under a course of numbers."""
    array = np.arange(prod(course.input)).reshape(course.input)
    for move in course.moves:
        array = carried_out(array, move)
    return array


def at(answer, sizes):
    """Return what NumPy makes of an answer at some sizes; None if it is not defined for them."""
    sizes = settled(answer.results, sizes)
    return executed(moves_of(answer).rewritten(sizes)) if holds(answer.conditions, sizes) else None


def alike(one, other):
    """Say whether two results are the same, or neither is defined."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool((one == other).all())


SHAPES = st.sampled_from(
    [read_dims(text) for text in ("N,C,H", "C,H,N", "N,6,C", "C*H,N,4", "C,C,2", "N,1,H", "12,H", "N,2,C,4,1,H")]
)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape), stages(shape))), st.data())
def test_chains_are_never_the_same_where_numpy_differs(drawn, data):
    shape, *texts = drawn
    first, second = (answered(shape, each) for each in texts)
    if first is None or second is None:
        return
    found = equivalence(first, second)
    if found.counterexample:
        results = [at(each, found.counterexample.sizes) for each in (first, second)]
        assert not alike(*results)
        if index := found.counterexample.index:
            assert tuple(int(each[index]) for each in results) == found.counterexample.elements
            assert ravel(index, results[0].shape) == int(np.argmax((results[0] != results[1]).ravel()))
    for _ in range(4):
        sizes = {name: data.draw(SIZES) for name in "NCH"}
        same = alike(at(first, sizes), at(second, sizes))
        listed = () if found.verdict in (Verdict.DIFFERENT, Verdict.UNDECIDED) else found.conditions or ((),)
        assert same or not any(holds(conditions, sizes) for conditions in listed)


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
def test_a_longer_way_to_do_the_same_is_proved_the_same(drawn, data):
    shape, texts = drawn
    first = answered(shape, texts)
    if first is not None:
        second = sc.chain(shape_text(shape), *data.draw(longer(texts, shape)))
        found = equivalence(first, second).verdict
        assert found is Verdict.SAME or (mixes(first, second) and found is not Verdict.DIFFERENT)


def mixes(*chains):
    """Say whether the cuts of some shapes of chains do not line up."""
    courses = [moves_of(chain) for chain in chains]
    known = Known([dim for course in courses for dim in course.dims])
    return not all(course.view(known).is_plain for course in courses)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape, 3), stages(shape, 3))))
def test_what_is_the_same_and_mixes_nothing_is_proved(drawn):
    shape, *texts = drawn
    first, second = (answered(shape, each) for each in texts)
    if first is None or second is None or first.conditions != second.conditions:
        return
    results = [at(each, {"N": 8, "C": 36, "H": 30}) for each in (first, second)]
    if not mixes(first, second) and results[0] is not None and alike(*results):
        assert equivalence(first, second).verdict is not Verdict.UNDECIDED


CASES = [
    ("N,C | transpose 1,0", "| flatten", "different"),
    ("N,C,H | reshape N,C*H | reshape -1", "| flatten | reshape -1", "same"),
    ("B,H*W,C | reshape B,H,W,C | transpose 0,3,1,2 -d torch", "| transpose 0,2,1 | reshape B,C,H,W", "same"),
    ("N,C | transpose 1,0 | reshape N,C", "| reshape N,C", "same when N is 1, or when C is 1"),
    ("N,C,N | transpose 2,1,0", "| transpose 0,1,2", "same when N is 1"),
    ("N,4 | reshape 2,6", "| reshape 2,3,2 | reshape 2,6", "same"),
    ("N,4 | reshape 2,6", "| reshape N*4 | reshape 2,2*N", "same when N is 3"),
    ("N,C,H,W | reshape N,C,H/7,7,W", "| reshape N,C*H/7,7,W | reshape N,C,H/7,7,W", "same"),
    ("C,H | reshape C/2,2,H | reshape -1", "| reshape -1", "same when 2 divides C"),
    (
        "N,C | reshape N,H,C/H | reshape N,C,H/C,C/H | transpose 0,2,1,3",
        "| reshape N,H,C/H | reshape N,H/C,C,C/H",
        "same",
    ),
    ("B,C,H | transpose 1,0,2 | reshape C,B*H/p,p", "| transpose 1,0,2 | reshape C,B,-1,p | reshape C,-1,p", "p|H"),
    ("N,3,2,C | transpose 0,2,1,3 | reshape N,3,2,C", "| reshape N,6,C | reshape N,3,2,C", "different"),
    ("2,3,4 | transpose 1,0,2", "| reshape 3,2,4", "different"),
    ("2,3 | transpose 1,0", "| reshape 2,3", "different"),
    ("0,3 | transpose 1,0 | reshape 0,5 --allowzero", "| reshape 0,5 --allowzero", "same"),
    ("N,1 | expand N,4", "| squeeze --axes 1 | unsqueeze --axes 1 | expand 1,4", "same"),
    ("4,6 | transpose 1,0 | reshape 9,-1", "| transpose 1,0", "error"),
    ("1000,3000,7000 | transpose 2,0,1", "| transpose 2,1,0", "different"),
    ("7000,1100,1300 | transpose 1,0,2 | reshape 1300,7000,1100", "| reshape 1300,7000,1100", "undecided"),
    ("N,C", "| transpose | transpose", "same"),
    ("N,C | transpose", "N,C", "different"),
    ("C/2,N", "C/2,N", "same"),
    (",".join(["1"] * 70), ",".join(["1"] * 70), "same"),
    ("N,C | flip 0 | flip 0", "N,C", "same"),
    ("N,C | flip 0 | select 0 0", "| select 0 -1", "same"),
    ("2*N,C | flip 0 | slice ::2", "| reshape N,2,C | select 1 1 | flip 0", "same"),
    ("N,C | slice 1: | flip 0", "| slice 1: | flip 0 | flip 1 | flip 1", "same"),
    ("N,C | slice 1: | flip 0", "| flip 0 | slice :-1", "undecided"),
    ("N,C | slice 1:", "| slice ::2", "different"),
    ("N,C | flatten --axis 0 | flip 1", "| flip 0,1 | flatten --axis 0", "same"),
    ("N,C,H | select 0 -1 | select 0 -1", "| reshape N*C,H | select 0 -1", "same"),
    ("N,4 | select 0 -1 | select 0 3", "| reshape -1 | select 0 -1", "same"),
    ("4,C,3 | select 0 1 | select 1 2", "| reshape 4*C,3 | select 1 2 | split 0 4 --part 1", "same"),
    ("N,C | split 0 2 --part 1 | transpose 1,0", "| transpose 1,0 | split 1 2 --part 1", "same"),
    ("N,C | split 0 2", "| reshape 2,N/2,C | select 0 0", "same"),
    ("N,C | roll 3 0 | transpose | roll -3 1 | transpose", "N,C", "same"),
    ("N,C | tile 2,1", "| unsqueeze 0 | expand 2,N,C | reshape 2*N,C -d numpy", "same"),
    ("N,C | tile 2,1 | tile 3,1", "| tile 6,1", "same"),
    ("N,C,H | moveaxis 0 2 | swapaxes 0 1", "| transpose 2,1,0", "same"),
    ("N,C,H | unflatten 1 4,-1", "| reshape N,4,C/4,H -d numpy", "same"),
    ("N,10 | roll 3 1 | roll 9 1", "| roll 2 1", "same"),
    ("N,10 | roll 3 1 | slice :,3:", "| slice :,:7", "same"),
    ("N,C | flip 0 | roll 2 0", "| roll -2 0 | flip 0", "same"),
    ("N | roll 1 0 | select 0 0", "| roll 3 0 | roll -2 0 | select 0 0", "same"),
    ("1,N | expand 3,N | roll 1 0 | flip 0", "| expand 3,N", "same"),
    ("N,C | roll 1 0", "N,C", "same when N is 1"),
    ("N,C | roll 4 0", "N,C", "same when N divides 4"),
    ("N,C | roll 5 0 | transpose", "| roll -1 0 | transpose", "same when N divides 6"),
    ("N,C | roll 4 0 | roll 9 1", "N,C", "same when N divides 4 and C divides 9"),
    ("2*N,C | roll 6 0", "2*N,C", "same when N divides 3"),
    ("N,C | flatten --axis 0 | roll 4 1", "| flatten --axis 0", "same when C*N divides 4"),
    ("N,C | flip 0", "N,C", "same when N is 1"),
    ("2,3 | flip 0", "| roll 1 0", "same"),
    ("4,3 | roll 1 0", "| reshape 12 | roll 3 0 | reshape 4,3", "same"),
    ("2,3,4 | slice :,1:", "| slice :,:2", "different"),
    ("6,4 | slice 1:5 | reshape 2,8", "| reshape 3,8 | slice :2", "different"),
    ("3,2 | transpose | reshape 3,2 | transpose | reshape 6", "| reshape 3,2 | reshape 6", "different"),
]


@pytest.mark.parametrize(("first", "second", "expected"), CASES)
def test_worked_case(first, second, expected):
    if expected == "error":
        with pytest.raises(sc.ShapeError, match="first chain, stage 2, reshape"):
            sc.equiv(first, second)
        return
    assert str(sc.equiv(first, second)) == expected.replace("p|H", "same when p divides H")


def test_a_counterexample_has_the_smallest_sizes_and_the_first_element():
    found = sc.equiv("N,C,H | transpose 0,2,1 | reshape N,C*H", "| reshape N,C*H")
    assert str(found) == "same when C is 1, or when H is 1"
    found = sc.equiv("N,C | transpose 1,0 | reshape -1", "| transpose 0,1 | reshape -1,1")
    assert found.counterexample.outputs[0] != found.counterexample.outputs[1]
    found = sc.equiv("N,C,H | transpose 1,0,2 | reshape -1,3", "| reshape -1,3")
    assert dict(found.counterexample.sizes) == {"N": 2, "C": 2, "H": 3}
    assert (found.counterexample.index, found.counterexample.elements) == ((1, 0), (6, 3))


def test_where_each_is_defined_is_told():
    found = sc.equiv("C,H | reshape C/2,2,H | reshape -1", "| reshape -1")
    assert [[str(each) for each in defined] for defined in found.defined] == [["C % 2 == 0"], []]


def test_sizes_may_be_put_in_for_names_that_one_of_them_has():
    assert sc.equiv("N,C | reshape N*C/p,p", "| reshape -1,4", where={"p": 4}).verdict is Verdict.SAME
    with pytest.raises(sc.ShapeError, match="no dim is called q"):
        sc.equiv("N,C | transpose", "| transpose", where={"q": 4})


def test_chains_that_are_answered_may_be_compared():
    first = sc.chain("2,3", "transpose", "transpose")
    assert sc.equiv(first, sc.chain((2, 3), "reshape 2,3")).verdict is Verdict.SAME
    assert sc.equiv(first, "| reshape 2,3").verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("2,3 | transpose", "3,2 | transpose", "different inputs"),
        ("| transpose", "3,2 | transpose", "needs an input"),
        ("2,3 | transpose", "| shape", "no element moves"),
        ("2,3 | transpose", "|", "an operation is missing after |"),
        ("2,3 | transpose", " ", "chain is missing"),
        ("2,3", "transpose", "different inputs"),
    ],
)
def test_what_cannot_be_compared_is_usage(first, second, message):
    with pytest.raises(sc.ShapeError, match=message) as error:
        sc.equiv(first, second)
    assert error.value.problem.rule == "usage"


def test_what_is_mixed_again_and_again_is_compared():
    """Every stage cuts all that the one before has mixed."""
    texts = ["transpose", "reshape 15,8", "transpose", "reshape 12,10"] * 6
    first, second = sc.chain("12,10", *texts), sc.chain("12,10", *texts[:-1], "reshape -1", texts[-1])
    assert sc.equiv(first, second).verdict is Verdict.SAME
    assert sc.equiv(first, sc.chain("12,10", "flip 0", *texts)).verdict is Verdict.DIFFERENT


def test_what_is_mixed_hundreds_of_times_is_compared():
    """Bases lie inside bases; two that are built apart are compared without going through all of them."""
    first = "4,6,8" + " | transpose 1,2,0 | reshape 4,6,8" * 250
    second = "| reshape 4,48 | reshape 4,6,8" + " | transpose 1,2,0 | reshape 192 | reshape 4,6,8" * 250
    assert sc.equiv(first, second).verdict is Verdict.SAME
    assert sc.equiv(first, f"{second} | flip 0").verdict is Verdict.DIFFERENT


def test_a_large_difference_is_found_without_looking_at_elements():
    found = sc.equiv("100000,200000,3 | transpose 1,0,2", "| reshape 200000,100000,3")
    assert found.counterexample.index == (0, 1, 0)
    assert found.counterexample.elements == (600000, 3)
    assert prod((100000, 200000, 3)) > MOST_ELEMENTS


def test_a_difference_among_the_first_elements_is_found_before_all_are_computed(monkeypatch):
    monkeypatch.setattr(difference, "positions", None)
    found = sc.equiv("4096,4095 | roll 1 1 | reshape 4095,4096 | transpose", "| reshape 4095,4096 | transpose")
    assert (found.counterexample.index, found.counterexample.elements) == ((0, 0), (4094, 0))


def test_a_difference_far_from_the_first_elements_is_found():
    mixed = "reshape 4,7500 | transpose | reshape 7500,4 | transpose"
    found = sc.equiv(f"2,3,5000 | transpose 1,0,2 | {mixed}", f"| {mixed}")
    assert (found.counterexample.index, found.counterexample.elements) == ((0, 5000), (15000, 5000))


def lengthened(chain, text):
    """Return the answer to a chain with one more stage."""
    return sc.chain(chain.input, *(stage_line(trace.request) for trace in chain.traces), text)


@pytest.mark.parametrize("seeds", some_and_rest(range(3000), 600))
def test_chains_of_numbers_are_the_same_or_differ_first_where_numpy_finds_it(seeds):
    for seed in seeds:
        draw = Random(seed)
        first = drawn_chain(draw)
        second = drawn_chain(draw, first.input)
        if prod(first.output) == prod(second.output) and first.output != second.output:
            target = shape_text(draw.choice([first.output, second.output, factors(draw, prod(first.output))]))
            first, second = (lengthened(each, f"reshape {target}") for each in (first, second))
        found = equivalence(first, second)
        one, other = positions_of(first), positions_of(second)
        assert (found.verdict is Verdict.SAME) == alike(one, other), seed
        if one.shape == other.shape and not alike(one, other):
            place = int(np.argmax((one != other).ravel()))
            assert ravel(found.counterexample.index, one.shape) == place, seed
            assert found.counterexample.elements == (one.flat[place], other.flat[place]), seed


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("N,C | reshape C,N", "N,C", "with N=2,C=3, the outputs are 3,2 and 2,3"),
        ("2,3 | flip 1", "2,3", "element [0,0] is element 2 of the input in the first, 0 in the second"),
        ("N | roll 1 0", "N", "with N=2, element [0] is element 1 of the input in the first, 0 in the second"),
    ],
)
def test_a_counterexample_is_told(first, second, said):
    assert str(sc.equiv(first, second).counterexample) == said


@pytest.mark.parametrize(("dim", "tested"), [(2**62, 1), (2**61, 3)])
def test_sizes_are_tried_while_the_elements_can_be_counted_in_int64(dim, tested):
    found = sc.equiv(f"N,{dim} | flip 0", f"N,{dim}")
    assert (str(found), found.tested, bool(found.counterexample)) == ("same when N is 1", tested, tested > 1)


@pytest.mark.parametrize(
    ("first", "second", "reasons"),
    [
        (
            "7000,1100,1300 | transpose 1,0,2 | reshape 1300,7000,1100",
            "| reshape 1300,7000,1100",
            ["too many elements to compare"],
        ),
        (
            "C,H | reshape C/2,2,H | reshape -1",
            "| reshape H,C",
            ["the first is defined when 2 divides C", "with C=2,H=2, the outputs are 4 and 2,2"],
        ),
        ("N,C", "N,C", []),
    ],
)
def test_the_reasons_of_a_verdict_are_told(first, second, reasons):
    assert [*sc.equiv(first, second).reasons] == reasons


@pytest.mark.parametrize(("place", "row", "column"), [(5, 1, 1), (14, 2, 3), (23, 3, 5)])
def test_a_place_within_merged_axes_is_found(place, row, column):
    flat = sc.chain("4,6", "transpose 1,0", "reshape 24", f"select 0 {place}")
    assert sc.equiv(flat, sc.chain("4,6", f"select 0 {row}", f"select 0 {column}")).verdict is Verdict.SAME
