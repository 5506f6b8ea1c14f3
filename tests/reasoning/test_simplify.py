"""Check that simplification keeps the function, never raises the cost, and is idempotent."""

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
from shapecalc.reasoning.costs import Goal, compute_cost, parse_goal
from shapecalc.reasoning.simplify import simplify
from tests.cases import rows
from tests.core.drawing import draw_chain
from tests.numpy_moves import apply_with_numpy, flat_input_indices
from tests.reasoning.test_equiv import SHAPES, SIZES, answer_or_none, is_same_result, positions_at, stages
from tests.render.real_chains import REAL_CHAINS
from tests.sampling import each_row, examples, some_and_rest
from tests.strategies import factorisations

MANY = examples(90)
GOALS = st.sampled_from([*Goal])


def parse_chain(text):
    """Return the answer to a chain as typed."""
    shape, *texts = text.split("|")
    return sc.chain(shape.strip(), *texts)


@st.composite
def answers(draw):
    """Draw the answer to a symbolic chain with no-op stages, dims of 1 and repeats."""
    shape = draw(SHAPES)
    texts = []
    for text in draw(stages(shape, most=5)):
        texts.append(text)
        detour = draw(st.sampled_from(["", "", "", "turn", "one", "repeat", "flatten"]))
        so_far = answer_or_none(shape, texts) if detour else None
        if so_far is None:
            continue
        rank = len(so_far.output)
        if detour == "turn":
            perm = draw(st.permutations(range(rank)))
            texts += [f"transpose {','.join(map(str, axes))}" for axes in (perm, map(perm.index, range(rank)))]
        elif rank < 6:
            axis = draw(st.integers(0, rank))
            repeat = [f"expand {shape_text((*so_far.output[:axis], 2, *so_far.output[axis:]))}"]
            back = [f"reshape {shape_text(so_far.output)}"] if detour == "flatten" else []
            texts += [f"unsqueeze --axes {axis}", *(repeat if detour == "repeat" else []), *back]
            if detour == "repeat":
                break
    return answer_or_none(shape, texts)


@MANY
@given(answers(), GOALS, st.data())
def test_simplified_chain_is_equal_and_not_longer(answer, goal, data):
    assume(answer is not None)
    result = simplify(answer, goal)
    for _ in range(3):
        sizes = {name: data.draw(SIZES) for name in "NCH"}
        expected = positions_at(answer, sizes)
        assert expected is None or is_same_result(positions_at(result.chain, sizes), expected)
        before, after = (cost_value(cost, goal, sizes) for cost in (result.before, result.after))
        assert after <= before or expected is None
    assert result.is_improved or result.chain.traces == answer.traces
    again = simplify(result.chain, goal)
    assert not again.is_improved, [simplified.text for simplified in (result, again)] + [chain_text(answer)]
    assert again.before == result.after
    assert parse_chain(result.text).output == result.chain.output


def cost_value(cost, goal, sizes):
    """Return the value of a cost under a goal at some sizes."""
    if goal is not Goal.BYTES:
        return getattr(cost, goal.value)
    return sum(substitute(dim, sizes) for dim in cost.copies)


@each_row(("text", "goal", "expected"), rows("chains", "shortened"))
def test_simplify_worked_cases(text, goal, expected):
    result = simplify(parse_chain(text), parse_goal(goal))
    assert (result.text if result.is_improved else "") == expected


def test_simplified_real_chains_use_fewest_shuffles():
    results = [simplify(parse_chain(row[0]), Goal.SHUFFLES) for row in REAL_CHAINS]
    assert (len(results), sum(result.before.shuffles for result in results)) == (66, 97)
    assert sum(result.after.shuffles for result in results) == 93
    assert not any(simplify(result.chain, Goal.SHUFFLES).is_improved for result in results)


def shuffle_positions(shape, first, middle, second):
    """Apply one Shuffle to an array of positions."""
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
    result = simplify(answer, Goal.SHUFFLES)
    assert result.after.shuffles <= 1
    assert is_same_result(positions_at(result.chain, {}), shuffle_positions(shape, first, middle, second))


def numpy_copy_sizes(answer):
    """Return the sizes of the copies if NumPy copies only where no view of the last buffer exists."""
    array = np.arange(prod(answer.input)).reshape(answer.input)
    copies = []
    for move in answer.moves:
        moved = apply_with_numpy(array, (move,))
        if not np.shares_memory(moved, array):
            copies.append(moved.size)
            moved = np.ascontiguousarray(moved)
        array = moved
    return copies


@pytest.mark.parametrize("seeds", some_and_rest(range(600), 200))
def test_copying_stages_are_those_without_numpy_view(seeds):
    for seed in seeds:
        answer = draw_chain(Random(seed))
        cost = compute_cost(answer.input, answer.moves, Assumptions(), 8)
        assert cost.transposes == sum(isinstance(move, Permute) for move in answer.moves)
        assert [*cost.copies] == [16 * size for size in numpy_copy_sizes(answer)], seed
        assert cost.bytes == sum(cost.copies)


@pytest.mark.parametrize("seeds", some_and_rest(range(400), 60))
def test_simplified_number_chain_equals_numpy(seeds):
    for seed in seeds:
        answer = draw_chain(Random(seed))
        expected = flat_input_indices(answer)
        for goal in Goal:
            result = simplify(answer, goal)
            assert flat_input_indices(result.chain).tolist() == expected.tolist(), (seed, goal)
            assert cost_value(result.after, goal, {}) <= cost_value(result.before, goal, {})
            assert not simplify(result.chain, goal).is_improved, (seed, goal)
