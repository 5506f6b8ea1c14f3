"""Simplification: never longer as its goal counts, always the same function, and never shorter a second time."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.commands import chain_text
from shapecalc.core.conditions import Known
from shapecalc.core.dims import substitute
from shapecalc.core.moves import Permute, Pick
from shapecalc.core.simplify import Goal, cost_of, goal_called, simplify
from shapecalc.core.text import shape_text
from tests.core.drawing import drawn_chain, positions_of
from tests.core.test_equiv import SHAPES, SIZES, alike, answered, at, stages
from tests.core.test_views import carried_out
from tests.sampling import examples, some_and_rest
from tests.strategies import factorisations
from tests.view.real_chains import REAL_CHAINS

MANY = examples(700)
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
def test_it_is_the_same_wherever_the_chain_is_defined_never_longer_and_read_as_it_is_written(answer, goal, data):
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


CASES = [
    ("N,C,H | transpose 2,0,1 | transpose 0,2,1", "transposes", "N,C,H | transpose 2,1,0"),
    ("N,C,H | transpose 2,0,1 | transpose 1,2,0", "transposes", "N,C,H"),
    ("N,1,C | transpose 1,0,2", "transposes", "N,1,C | reshape 1,N,C"),
    ("N,1,C | transpose 1,2,0 | transpose 1,0,2", "transposes", "N,1,C | transpose 2,1,0"),
    ("N,C,H | transpose 0,2,1 | reshape N,C*H | reshape N,H,C", "transposes", "N,C,H | transpose 0,2,1"),
    ("2,3,4 | transpose 1,0,2 | transpose 1,0,2 | reshape 6,-1", "transposes", "2,3,4 | reshape 6,-1"),
    ("N,4*C,H,W | transpose 0,1,2,3 | depth_to_space 2", "transposes", "N,4*C,H,W | depth_to_space 2"),
    ("N,4 | reshape 2,6 | transpose | transpose", "transposes", "N,4 | reshape 2,6"),
    (
        "N,C,H | reshape N*M,N/M,N/2,-1 | transpose 0,3,2,1 | transpose 1,3,0,2",
        "shuffles",
        "N,C,H | reshape M*N,N/M,N/2,2*C*H/N/N | transpose 3,1,0,2",
    ),
    ("?,3 | transpose | transpose", "transposes", "?,3"),
    ("?,?,3 | transpose 1,0,2 -d torch | transpose 1,0,2 -d torch", "transposes", "?,?,3"),
    ("0,3 | transpose | transpose", "transposes", "0,3"),
    ("2,1 | expand 2,0 | transpose | transpose", "transposes", "2,1 | expand 2,0"),
    (
        "N,3 | transpose 1,0 -d onednn | transpose 1,0 -d onednn",
        "bytes",
        "N,3",
    ),
    ("2,3 | transpose --opset 13 | transpose --opset 13", "transposes", "2,3"),
    (
        "2,3,4 | shuffle --first 1,0,2 --to 3,8 | shuffle --to 3,2,4 --second 0,2,1",
        "transposes",
        "2,3,4 | shuffle --first 1,2,0",
    ),
    ("2,3 | shuffle --first 1,0 | shuffle --to 6", "transposes", "2,3 | shuffle --first 1,0 --to 6"),
    (
        "B,T,E | reshape B,T,20,E/20 | transpose 0,2,1,3 | reshape B*20,T,E/20",
        "shuffles",
        "B,T,E | transpose 0,2,1 | reshape 20*B,E/20,T | transpose 0,2,1",
    ),
    ("N,C,H | transpose 0,2,1 | flip 1 | transpose | transpose", "transposes", "N,C,H | transpose 0,2,1 | flip 1"),
    ("N,C,H | transpose 2,1,0 | transpose | select 1 0 | flip 0", "transposes", "N,C,H | select 1 0 | flip 0"),
    ("N,C | transpose | transpose | shape", "transposes", "N,C | shape"),
    ("2,3 | transpose | flip 0 | flip 0 | transpose", "transposes", "2,3"),
    ("N,C | flip 0 | transpose | slice :,::-1 -d numpy", "transposes", "N,C | transpose 1,0 --dialect numpy"),
    ("N,C,H | roll 3 1 | transpose 0,2,1 | roll -3 2", "bytes", "N,C,H | transpose 0,2,1 --dialect numpy"),
    ("N,C,H | transpose 0,2,1 | split 1 2 | transpose 0,2,1", "transposes", None),
    ("C | reshape C,1 | transpose | expand N,C", "transposes", "C | expand N,C"),
    ("N,C,H,W | reshape N,2,C/2,H,W | transpose 0,2,1,3,4 | reshape N,C,H,W", "shuffles", None),
    ("4,6 | transpose | reshape 4,6 | transpose", "bytes", None),
]


@pytest.mark.parametrize(("text", "goal", "expected"), CASES)
def test_worked_case(text, goal, expected):
    found = simplify(chain(text), goal_called(goal))
    assert (found.text if found.shorter else None) == expected


def test_bytes_are_those_of_the_stages_that_copy():
    found = simplify(chain("N,C,H | transpose 0,2,1 | reshape N,C*H | reshape N,H,C"), Goal.BYTES, "float16")
    assert (str(found.before.bytes), found.after.bytes) == ("4*C*H*N", 0)
    cost = simplify(chain("N,C | transpose | reshape N*C | expand 3,N*C | reshape -1 | roll 1 0 -d numpy")).before
    assert str(cost.bytes) == "56*C*N"
    cost = simplify(chain("N,C | transpose | reshape N*C | expand M,N*C | reshape -1")).before
    assert cost.bytes == "8*C*M*N + 8*C*N"
    assert simplify(chain("2,3 | transpose | reshape 6 --dtype int8")).before.bytes == 12


@pytest.mark.parametrize("dtype", ["string", "nothing"])
def test_elements_of_no_size_are_usage(dtype):
    with pytest.raises(sc.ShapeError, match="have no known size"):
        sc.simplify("2,3 | transpose", "bytes", dtype=dtype)


def test_a_chain_that_is_refused_is_not_simplified():
    with pytest.raises(sc.ShapeError, match="stage 2, reshape"):
        sc.simplify("2,3 | transpose | reshape 5")


def test_the_real_chains_take_the_fewest_shuffles():
    found = [simplify(chain(row[0]), Goal.SHUFFLES) for row in REAL_CHAINS]
    assert (len(found), sum(each.before.shuffles for each in found)) == (66, 97)
    assert sum(each.after.shuffles for each in found) == 93
    assert not any(simplify(each.chain, Goal.SHUFFLES).shorter for each in found)


def shuffled(shape, first, middle, second):
    """Return what one Shuffle makes of a tensor of positions."""
    return np.arange(prod(shape)).reshape(shape).transpose(first).reshape(middle).transpose(second)


@MANY
@given(st.sampled_from([(2, 3, 4), (4, 6), (2, 2, 6), (12, 2), (2, 3, 2, 2)]), st.data())
def test_what_one_shuffle_can_do_takes_one_at_most(shape, data):
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
        made = carried_out_as_views(array, move)
        if not np.shares_memory(made, array):
            copies.append(made.size)
            made = np.ascontiguousarray(made)
        array = made
    return copies


def carried_out_as_views(array, move):
    """Return what a move makes of an array, by basic indices where it takes positions."""
    if not isinstance(move, Pick):
        return carried_out(array, move)
    key = []
    for dim, (start, step, size) in zip(array.shape, move.axes, strict=True):
        places = [start % dim + step * place for place in range(1 if size is None else size)]
        end = places[-1] + (1 if step > 0 else -1)
        key.append(places[0] if size is None else slice(places[0], None if end < 0 else end, step))
    return array[(*key, ...)]


@pytest.mark.parametrize("seeds", some_and_rest(range(4000), 500))
def test_the_stages_that_copy_are_those_in_which_numpy_finds_no_view(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        cost = cost_of(answer.input, answer.moves, Known(), 8)
        assert cost.transposes == sum(isinstance(move, Permute) for move in answer.moves)
        assert [*cost.copies] == [16 * size for size in copied_by_numpy(answer)], seed
        assert cost.bytes == sum(cost.copies)


@pytest.mark.parametrize("seeds", some_and_rest(range(2000), 150))
def test_a_shorter_chain_of_numbers_does_what_numpy_did(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        wanted = positions_of(answer)
        for goal in Goal:
            found = simplify(answer, goal)
            assert positions_of(found.chain).tolist() == wanted.tolist(), (seed, goal)
            assert value_of(found.after, goal, {}) <= value_of(found.before, goal, {})
            assert not simplify(found.chain, goal).shorter, (seed, goal)
