"""Chain search: each result is right, and the search from arrays finds their chain."""

from __future__ import annotations

from itertools import pairwise, permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.dims import lowest_terms, product
from shapecalc.engine.chain_search import has_intended_effect
from shapecalc.engine.execute import run
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from shapecalc.reasoning.find import ChainSearchResult, PairSearchResult, Rearrangement, search_chains
from tests.sampling import each_row, examples

NAMED = st.sampled_from("NCHWK").map(lambda name: lowest_terms(1, 1, {name: 1}))
X = np.arange(6).reshape(2, 3)


@st.composite
def merged_shapes(draw, sizes):
    """Draw a shape by merging adjacent dims."""
    cuts = sorted(draw(st.lists(st.integers(0, len(sizes)), max_size=3)))
    ends = [0, *cuts, len(sizes)]
    return tuple([product(sizes[a:b]) for a, b in pairwise(ends)])


def pairs_of_shapes(dims, most=4):
    """Return a strategy for two shapes connected by a split, a transpose and a merge."""
    sizes = st.lists(dims, max_size=most)
    return sizes.flatmap(lambda drawn: st.tuples(merged_shapes(drawn), st.permutations(drawn).flatmap(merged_shapes)))


def run_chain(chain, array):
    return run(answer_chain(*parse_chain(chain), {}), array).array


@examples(45)
@given(pairs_of_shapes(NAMED | st.integers(1, 4), most=5))
def test_found_chains_are_proved(shapes):
    found, claimed = sc.find(*shapes), search_chains(*shapes)
    assert found == claimed
    assert 0 < len(found.ways) <= found.fits
    unnamed = [way.transpose_count for way in found.ways if not way.layout]
    assert unnamed == sorted(unnamed)


def transpose_reshape_results(x, after):
    """Return the results of all chains of one transpose and one reshape."""
    first = [x.transpose(perm).reshape(after) for perm in permutations(range(x.ndim))]
    orders = permutations(range(len(after)))
    last = [x.reshape([after[axis] for axis in perm]).transpose(np.argsort(perm)) for perm in orders]
    return {each.tobytes() for each in (*first, *last)}


@examples(45)
@given(pairs_of_shapes(st.integers(1, 4)))
def test_found_chains_are_unique_and_complete(shapes):
    before, after = shapes
    found, x = sc.find(before, after), np.arange(prod(before)).reshape(before)
    moved = {run_chain(way.chain, x).tobytes() for way in found.ways}
    assert len(moved) == len(found.ways)
    assert found.fits == len(moved) or found.fits > 32
    others = transpose_reshape_results(x, after) - moved
    assert not (found.complete and others)
    if found.other:
        assert run_chain(found.other.chain, x).tobytes() in others


@pytest.mark.parametrize(
    ("before", "perm", "after", "proved"),
    [
        ((2, 3, 4), (0, 2, 1), (24,), True),
        ((2, 3, 4), (2, 1, 0), (24,), False),
        ((2, 3, 4), (0, 2, 1), (6, 4), False),
        ((2000, 3000), (1, 0), (6000000,), False),
    ],
)
def test_found_path_different_from_its_chain_is_unproved(before, perm, after, proved):
    said = "2,3,4 | transpose 0,2,1 | reshape 24" if len(before) == 3 else "2000,3000 | reshape 6000000"
    way = type("Said", (Rearrangement,), {"chain": said})(before, before, perm, after)
    assert has_intended_effect(way) is proved


def test_found_chains_match_the_arrays(monkeypatch):
    wrong = PairSearchResult(ChainSearchResult((Rearrangement((2, 3), (2, 3), (0, 1), (3, 2)),), 1), ({},))
    monkeypatch.setattr("shapecalc.engine.chain_search.generalize_pairs", lambda _pairs: wrong)
    assert sc.find(pairs=[(X, X.T)]).ways == ()


def test_found_chains_of_large_shapes_are_all_listed():
    assert [way.transpose_count for way in sc.find((2000, 3000), (3000, 2000)).ways] == [0, 1]


@pytest.mark.parametrize(
    ("before", "after", "chain"),
    [
        ("N,C,H,W", "N,4*C,H/2,W/2", "reshape N,C,H/2,2,W/2,2 | transpose 0,3,5,1,2,4 | reshape N,4*C,H/2,W/2"),
        ("B,C*r*r,H,W", "B,C,H*r,W*r", "reshape B,C,r,r,H,W | transpose 0,1,4,2,5,3 | reshape B,C,H*r,W*r"),
        ("B,T,3*h*d", "3,B,h,T,d", "reshape B,T,3,h,d | transpose 2,0,3,1,4"),
    ],
)
def test_found_chains_include_known_functions(before, after, chain):
    sizes = {"N": 2, "C": 3, "H": 4, "W": 6, "B": 2, "T": 5, "h": 3, "d": 4, "r": 2}
    answer = answer_chain(before, parse_chain(f"{before} | {chain}")[1], {n: sizes[n] for n in sizes if n in before})
    x = np.arange(prod(answer.input)).reshape(answer.input)
    assert sc.find(before, after, pairs=[(x, run(answer, x).array)]).fits == 1


@examples(45)
@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_found_chain_for_array_pair(sizes, data):
    before, perm = data.draw(merged_shapes(sizes)), data.draw(st.permutations(range(len(sizes))))
    after = data.draw(merged_shapes([sizes[axis] for axis in perm]))
    x = np.random.default_rng(0).permutation(prod(sizes)).reshape(before) * 1.5
    y = x.reshape(sizes).transpose(perm).reshape(after)
    (way,) = sc.find(pairs=[(x, y)]).ways
    assert np.array_equal(run_chain(way.chain, x), y)


@each_row("perm", list(permutations(range(4))))
def test_found_sizes_that_differ_are_named(perm):
    def pair(b, h, w, c):
        x = np.arange(b * h * w * c).reshape(b, h * w, c)
        return x, x.reshape(b, h, w, c).transpose(perm)

    (way,) = sc.find(pairs=[pair(2, 3, 4, 5), pair(2, 2, 7, 3), pair(2, 5, 1, 2)]).ways
    assert way.chain.startswith("2,A*B,C | ")
    assert {char for char in way.chain if char.isupper()} == {"A", "B", "C"}


@pytest.mark.parametrize("others", [[X.T, X.reshape(3, 2)], [X[::-1]], [X + 1], [X[:1]]])
def test_contradicting_array_pairs_find_no_chain(others):
    assert sc.find(pairs=[(X, other) for other in others]).ways == ()


@pytest.mark.parametrize("kind", ["<f4", ">i2", "c16", "U3", "S2", "M8[s]"])
def test_found_elements_of_any_type_are_distinguished(kind):
    x = np.arange(12).reshape(3, 4).astype(kind)
    assert [way.chain for way in sc.find(pairs=[(x, x.T)]).ways] == ["3,4 | transpose 1,0"]
