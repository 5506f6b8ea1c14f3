"""Simplification: never longer as its goal counts, always the same function, and never shorter a second time."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.algebra.simplify import Goal, simplify
from shapecalc.core.asking.command_line import chain_text
from shapecalc.core.sizes.dims import substitute
from shapecalc.core.sizes.text import shape_text
from tests.core.test_equiv import SHAPES, SIZES, alike, answered, at, stages
from tests.sampling import examples

MANY = examples(1500)
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
def test_it_is_the_same_wherever_the_chain_is_defined_and_never_longer(answer, goal, data):
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
    assert not again.shorter, chain_text(again.chain)
    assert again.before == found.after


def value_of(cost, goal, sizes):
    """Return what a cost counts at some sizes."""
    if goal is not Goal.BYTES:
        return getattr(cost, goal.value)
    return sum(substitute(dim, sizes) for dim in cost.copies)


@MANY
@given(answers(), GOALS)
def test_its_text_is_read_as_the_same_chain(answer, goal):
    assume(answer is not None)
    found = simplify(answer, goal).chain
    assert chain(chain_text(found)).output == found.output
