"""Simplification: never longer as its goal counts, always the same function, and never shorter a second time."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.conditions import Assumptions
from shapecalc.core.dims import substitute
from shapecalc.core.moves import Permute
from shapecalc.core.text import shape_text
from shapecalc.reading.commands import chain_text
from shapecalc.reasoning.costs import Goal, cost_of, parse_goal
from shapecalc.reasoning.simplify import simplify
from tests.cases import rows
from tests.core.drawing import drawn_chain
from tests.core.test_equiv import SHAPES, SIZES, alike, answered, at, stages
from tests.numpy_moves import moved_by_numpy, positions_of
from tests.render.real_chains import REAL_CHAINS
from tests.sampling import each_row, examples, some_and_rest
from tests.strategies import factorisations

MANY = examples(90)
GOALS = st.sampled_from([*Goal])


def chain(text):
    """Return the answer to a chain as it is typed."""
    shape, *texts = text.split("|")
    return sc.chain(shape.strip(), *texts)


@st.composite
def answers(draw):
    """Draw the answer to a chain over names and numbers, with idle stages, dims of 1 and repeats among the others."""
    shape = draw(SHAPES)
    texts = []
    for text in draw(stages(shape, most=5)):
        texts.append(text)
        detour = draw(st.sampled_from(["", "", "", "turn", "one", "repeat", "flatten"]))
        found = answered(shape, texts) if detour else None
        if found is None:
            continue
        rank = len(found.output)
        if detour == "turn":
            perm = draw(st.permutations(range(rank)))
            texts += [f"transpose {','.join(map(str, each))}" for each in (perm, map(perm.index, range(rank)))]
        elif rank < 6:
            place = draw(st.integers(0, rank))
            repeat = [f"expand {shape_text((*found.output[:place], 2, *found.output[place:]))}"]
            back = [f"reshape {shape_text(found.output)}"] if detour == "flatten" else []
            texts += [f"unsqueeze --axes {place}", *(repeat if detour == "repeat" else []), *back]
            if detour == "repeat":
                break
    return answered(shape, texts)


@MANY
@given(answers(), GOALS, st.data())
def test_simplified_chain_is_equal_and_not_longer(answer, goal, data):
    assume(answer is not None)
    found = simplify(answer, goal)
    for _ in range(3):
        sizes = {name: data.draw(SIZES) for name in "NCH"}
        expected = at(answer, sizes)
        assert expected is None or alike(at(found.chain, sizes), expected)
        before, after = (value_of(cost, goal, sizes) for cost in (found.before, found.after))
        assert after <= before or expected is None
    assert found.shorter or found.chain.traces == answer.traces
    again = simplify(found.chain, goal)
    assert not again.shorter, [each.text for each in (found, again)] + [chain_text(answer)]
    assert again.before == found.after
    assert chain(found.text).output == found.chain.output


def value_of(cost, goal, sizes):
    """Return what a cost counts at some sizes."""
    if goal is not Goal.BYTES:
        return getattr(cost, goal.value)
    return sum(substitute(dim, sizes) for dim in cost.copies)


@each_row(("text", "goal", "expected"), rows("chains", "shortened"))
def test_simplify_worked_cases(text, goal, expected):
    found = simplify(chain(text), parse_goal(goal))
    assert (found.text if found.shorter else "") == expected


def test_simplified_real_chains_use_fewest_shuffles():
    found = [simplify(chain(row[0]), Goal.SHUFFLES) for row in REAL_CHAINS]
    assert (len(found), sum(each.before.shuffles for each in found)) == (66, 97)
    assert sum(each.after.shuffles for each in found) == 93
    assert not any(simplify(each.chain, Goal.SHUFFLES).shorter for each in found)


def shuffled(shape, first, middle, second):
    """Return what one Shuffle makes of a tensor of positions."""
    return np.arange(prod(shape)).reshape(shape).transpose(first).reshape(middle).transpose(second)


@MANY
@given(st.sampled_from([(2, 3, 4), (4, 6), (2, 2, 6), (12, 2), (2, 3, 2, 2)]), st.data())
def test_simplify_single_shuffle_chains(shape, data):
    first = data.draw(st.permutations(range(len(shape))))
    middle = data.draw(factorisations(prod(shape)))
    second = data.draw(st.permutations(range(len(middle))))
    texts = (
        f"transpose {shape_text(tuple(first))}",
        f"reshape {shape_text(middle)}",
        f"transpose {shape_text(tuple(second))}",
    )
    fine = "reshape -1", f"reshape {shape_text(middle)}"
    answer = sc.chain(shape, texts[0], "unsqueeze --axes 0", *fine, "unsqueeze --axes 0", "squeeze --axes 0", texts[2])
    found = simplify(answer, Goal.SHUFFLES)
    assert found.after.shuffles <= 1
    assert alike(at(found.chain, {}), shuffled(shape, first, middle, second))


def copied_by_numpy(answer):
    """Return how many elements each stage copies if NumPy copies only where no view of the last buffer will do."""
    array = np.arange(prod(answer.input)).reshape(answer.input)
    copies = []
    for move in answer.moves:
        made = moved_by_numpy(array, (move,))
        if not np.shares_memory(made, array):
            copies.append(made.size)
            made = np.ascontiguousarray(made)
        array = made
    return copies


@pytest.mark.parametrize("seeds", some_and_rest(range(600), 200))
def test_copying_stages_are_those_without_numpy_view(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        cost = cost_of(answer.input, answer.moves, Assumptions(), 8)
        assert cost.transposes == sum(isinstance(move, Permute) for move in answer.moves)
        assert [*cost.copies] == [16 * size for size in copied_by_numpy(answer)], seed
        assert cost.bytes == sum(cost.copies)


@pytest.mark.parametrize("seeds", some_and_rest(range(400), 60))
def test_simplified_number_chain_equals_numpy(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        wanted = positions_of(answer)
        for goal in Goal:
            found = simplify(answer, goal)
            assert positions_of(found.chain).tolist() == wanted.tolist(), (seed, goal)
            assert value_of(found.after, goal, {}) <= value_of(found.before, goal, {})
            assert not simplify(found.chain, goal).shorter, (seed, goal)
