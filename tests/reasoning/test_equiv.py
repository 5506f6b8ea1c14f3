"""Check equivalence verdicts against NumPy: never `same` where arrays differ, and proved where axes do not mix."""

from __future__ import annotations

import re
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.answers import to_move_chain
from shapecalc.core.conditions import Assumptions, can_hold
from shapecalc.core.dims import product, quotient
from shapecalc.core.moves import ravel
from shapecalc.core.results import sizes_with_results
from shapecalc.core.text import parse_dims, shape_text
from shapecalc.reading.commands import stage_line
from shapecalc.reasoning.equiv import EquivalenceVerdict, _EquivalenceCheck, check_equivalence
from tests.cases import rows
from tests.core.drawing import draw_chain, draw_factors
from tests.numpy_moves import flat_input_indices
from tests.sampling import each_row, examples, some_and_rest

MANY = examples(90)
SIZES = st.sampled_from([1, 2, 3, 4, 6, 8, 12])
NAMED_SIZES = st.fixed_dictionaries(dict.fromkeys("NCH", SIZES))


@st.composite
def stages(draw, shape, most=4):
    """Draw the texts of stages for a symbolic shape: every move, and reshapes that split, merge and regroup axes."""
    texts = []
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["permute", "merge", "split", "name", "cut", "pick", "pick"])) if shape else "split"
        dims = list(shape)
        if kind == "pick":
            texts.append(draw(position_stages(dims)))
            try:
                shape = sc.chain(shape_text(shape), texts[-1]).output
            except sc.ShapeError:
                return texts
            continue
        if kind == "permute":
            perm = draw(st.permutations(range(len(dims))))
            texts.append(f"transpose {','.join(map(str, perm))}")
            shape = tuple(dims[axis] for axis in perm)
            continue
        axis = draw(st.integers(0, len(dims) - 1)) if dims else 0
        if kind == "merge":
            dims[axis : axis + 2] = [product(dims[axis : axis + 2])]
        elif kind == "cut":
            dims[axis : axis + 2] = draw(st.permutations(dims[axis : axis + 2]))
        elif len(dims) < 6:
            part = draw(st.sampled_from([2, 3] if kind == "split" else parse_dims("C,H")))
            dims[axis : axis + 1] = draw(st.permutations([part, quotient(dims[axis], part)])) if dims else [1]
        shape = tuple(dims)
        texts.append(f"reshape {shape_text(shape)}")
    return texts


@st.composite
def position_stages(draw, dims):
    """Draw the text of a stage that selects, flips or rolls along one axis."""
    axis = draw(st.integers(0, len(dims) - 1))
    kind = draw(st.sampled_from(["select", "slice", "split", "flip", "roll", "take"]))
    if kind == "select":
        return f"select {axis} {draw(st.sampled_from([0, -1]))}"
    if kind == "slice":
        bounds = draw(
            st.sampled_from(["::2", "::-1", ":1", "-1:", *([":2", "1:", "1::2"] * (dims[axis] in (2, 3, 4, 6)))])
        )
        return f"slice {':,' * axis}{bounds}"
    if kind == "split":
        return f"split {axis} 2 --part {draw(st.integers(0, 1))}"
    if kind == "take":
        return f"take {axis} {draw(st.sampled_from(['0,-1', '-1,0,0', '0,0']))}"
    return f"flip {axis}" if kind == "flip" else f"roll {draw(st.integers(-2, 2))} {axis}"


def answer_or_none(shape, texts):
    """Return the answer to a chain, or None if it is refused."""
    try:
        return sc.chain(shape_text(shape), *texts)
    except sc.ShapeError:
        return None


def positions_at(answer, sizes):
    """Return the input positions that NumPy gives for an answer at some sizes, or None if it is undefined there."""
    sizes = sizes_with_results(answer.results, sizes)
    return flat_input_indices(to_move_chain(answer).substitute(sizes)) if can_hold(answer.conditions, sizes) else None


def is_same_result(one, other):
    """Return whether two arrays are equal, or both undefined."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool((one == other).all())


SHAPES = st.sampled_from(
    [parse_dims(text) for text in ("N,C,H", "C,H,N", "N,6,C", "C*H,N,4", "C,C,2", "N,1,H", "12,H", "N,2,C,4,1,H")]
)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape), stages(shape))), st.data())
def test_equiv_never_calls_different_chains_same(chain_pair, data):
    shape, *texts = chain_pair
    first, second = (answer_or_none(shape, stage_texts) for stage_texts in texts)
    if first is None or second is None:
        return
    result = check_equivalence(first, second)
    if result.counterexample:
        arrays = [positions_at(chain, result.counterexample.sizes) for chain in (first, second)]
        assert not is_same_result(*arrays)
        if index := result.counterexample.index:
            assert tuple(int(array[index]) for array in arrays) == result.counterexample.elements
            assert ravel(index, arrays[0].shape) == int(np.argmax((arrays[0] != arrays[1]).ravel()))
    for _ in range(4):
        sizes = {name: data.draw(SIZES) for name in "NCH"}
        is_same = is_same_result(positions_at(first, sizes), positions_at(second, sizes))
        alternatives = (
            ()
            if result.verdict in (EquivalenceVerdict.DIFFERENT, EquivalenceVerdict.UNDECIDED)
            else result.conditions or ((),)
        )
        assert is_same or not any(can_hold(conditions, sizes) for conditions in alternatives)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape))), st.lists(NAMED_SIZES, min_size=4))
@example((parse_dims("N,C,H"), ["flip 0", "slice ::2", "split 1 2 --part 1"]), [{"N": 5, "C": 4, "H": 3}])
def test_equiv_strided_view_at_sizes_reads_numpys_elements(chain, choices):
    shape, texts = chain
    answer = answer_or_none(shape, texts)
    strided = answer and _EquivalenceCheck(answer, answer)._make_strided_chains()
    for sizes in choices if strided else ():
        expected = positions_at(answer, sizes)
        found = strided[0].evaluate_view(sizes_with_results(answer.results, sizes))
        if expected is None or found is None:
            continue
        output, axes, offset = found
        positions = np.array(sum(offset))
        for size, stride in [atom for axis in axes for atom in axis]:
            positions = np.add.outer(positions, np.arange(size)[:: 1 if stride >= 0 else -1] * abs(stride))
        assert expected.shape == tuple(output)
        assert (positions.reshape(output) == expected).all()


@st.composite
def longer_stages(draw, texts, shape):
    """Draw longer stages with the same effect: each transpose factored in two, with detours in between."""
    longer_texts = []
    for text in texts:
        for trace in sc.chain(shape_text(shape), *longer_texts, text).traces[-1:]:
            before, after = trace.input, trace.output
        if text.startswith("transpose"):
            perm = [int(axis) for axis in text.split()[1].split(",")]
            first = draw(st.permutations(range(len(before))))
            second = [first.index(axis) for axis in perm]
            longer_texts += [f"transpose {','.join(map(str, factor))}" for factor in (first, second)]
        elif text.startswith("reshape"):
            longer_texts += [*draw(st.sampled_from([[], ["reshape -1"]])), f"reshape {shape_text(after)}"]
        else:
            longer_texts += draw(equivalent_stages(text, before, after))
        if draw(st.booleans()):
            longer_texts += ["unsqueeze --axes 0", "squeeze --axes 0"]
    return longer_texts


@st.composite
def equivalent_stages(draw, text, before, after):
    """Draw stages equivalent to one of `position_stages`: from the other end, in two steps, or by a reshape."""
    op, *words = text.split()
    if op == "roll":
        part = draw(st.integers(-2, 2))
        return [f"roll {part} {words[1]}", f"roll {int(words[0]) - part} {words[1]}"]
    if op == "select":
        return [f"flip {words[0]}", f"select {words[0]} {-1 - int(words[1])}"]
    if op == "take":
        return [
            f"flip {words[0]}",
            f"take {words[0]} {','.join(str(-1 - int(index)) for index in words[1].split(','))}",
        ]
    if op == "flip":
        return ["flip 0", *[text] * (words[0] != "0"), *["flip 0"] * (words[0] != "0")]
    axis = int(words[0]) if op == "split" else words[0].count(",")
    cut = (*before[:axis], 2, after[axis], *before[axis + 1 :])
    if op == "split":
        if isinstance(before[axis], int) and before[axis] != after[axis] * 2:  # the parts differ in size
            return [text]
        return [f"reshape {shape_text(cut)}", f"select {axis} {words[-1]}"]
    others = [other for other in range(len(before)) if other != axis]
    there, back = [axis, *others], [*range(1, axis + 1), 0, *range(axis + 1, len(before))]
    slice_text = f"slice {words[0].split(',')[-1]}"
    return [f"transpose {shape_text(there)}", slice_text, f"transpose {shape_text(back)}"]


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape))), st.data())
def test_equiv_proves_equal_longer_chains(chain, data):
    shape, texts = chain
    first = answer_or_none(shape, texts)
    if first is not None:
        second = sc.chain(shape_text(shape), *data.draw(longer_stages(texts, shape)))
        verdict = check_equivalence(first, second).verdict
        assert verdict is EquivalenceVerdict.SAME or (
            has_mixed_axes(first, second) and verdict is not EquivalenceVerdict.DIFFERENT
        )


def has_mixed_axes(*chains):
    """Return whether a reshape in one of the chains mixes axes."""
    move_chains = [to_move_chain(chain) for chain in chains]
    assumptions = Assumptions([dim for moves in move_chains for dim in moves.dims])
    return not all(moves.view(assumptions).is_strided for moves in move_chains)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), stages(shape, 3), stages(shape, 3))))
def test_equiv_proves_unmixed_equal_chains(chain_pair):
    shape, *texts = chain_pair
    first, second = (answer_or_none(shape, stage_texts) for stage_texts in texts)
    if first is None or second is None or first.conditions != second.conditions:
        return
    arrays = [positions_at(chain, {"N": 8, "C": 36, "H": 30}) for chain in (first, second)]
    if not has_mixed_axes(first, second) and arrays[0] is not None and is_same_result(*arrays):
        assert check_equivalence(first, second).verdict is not EquivalenceVerdict.UNDECIDED


def append_stage(chain, text):
    """Return the answer to the chain with one more stage."""
    return sc.chain(chain.input, *(stage_line(trace.request) for trace in chain.traces), text)


@pytest.mark.parametrize("seeds", some_and_rest(range(600), 100))
def test_equiv_of_numbers_finds_numpys_first_difference(seeds):
    for seed in seeds:
        draw = Random(seed)
        first = draw_chain(draw)
        second = draw_chain(draw, first.input)
        if prod(first.output) == prod(second.output) and first.output != second.output:
            target = shape_text(draw.choice([first.output, second.output, draw_factors(draw, prod(first.output))]))
            first, second = (append_stage(chain, f"reshape {target}") for chain in (first, second))
        result = check_equivalence(first, second)
        one, other = flat_input_indices(first), flat_input_indices(second)
        assert (result.verdict is EquivalenceVerdict.SAME) == is_same_result(one, other), seed
        if one.shape == other.shape and not is_same_result(one, other):
            first_difference = int(np.argmax((one != other).ravel()))
            assert ravel(result.counterexample.index, one.shape) == first_difference, seed
            assert result.counterexample.elements == (one.flat[first_difference], other.flat[first_difference]), seed


@each_row(("first", "second", "verdict"), rows("chains", "the same or not"))
def test_equiv_worked_cases(first, second, verdict):
    assert str(sc.equiv(first, second)) == verdict


@pytest.mark.parametrize(("first", "second", "text"), rows("chains", "counterexamples"))
def test_equiv_counterexample(first, second, text):
    assert str(sc.equiv(first, second).counterexample) == text


@pytest.mark.parametrize(("first", "second", "reasons"), rows("chains", "reasons"))
def test_equiv_reasons(first, second, reasons):
    assert "; ".join(sc.equiv(first, second).reasons) == reasons


@pytest.mark.parametrize(("first", "second", "message"), rows("chains", "not compared"))
def test_equiv_invalid_comparisons_are_usage(first, second, message):
    with pytest.raises(sc.ShapeError, match=re.escape(message)) as error:
        sc.equiv(first, second)
    assert error.value.problem.rule == "usage"
