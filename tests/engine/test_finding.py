"""Finding chains: what is listed does what it says, and what arrays show is found again."""

from __future__ import annotations

import json
from itertools import pairwise, permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.commands import read_chain
from shapecalc.core.dims import lowest_terms, product
from shapecalc.core.find import Fitting, Found, Way, ways_between
from shapecalc.core.fixing import answer_chain
from shapecalc.engine.execute import run
from shapecalc.engine.finding import is_proved
from tests.sampling import examples

parts = st.lists(
    st.one_of(st.sampled_from("NCHWK").map(lambda name: lowest_terms(1, 1, {name: 1})), st.integers(1, 4)), max_size=5
)


@st.composite
def grouped(draw, sizes):
    """Draw a shape by merging neighbours."""
    cuts = sorted(draw(st.lists(st.integers(0, len(sizes)), max_size=3)))
    ends = [0, *cuts, len(sizes)]
    return tuple(product(sizes[a:b]) for a, b in pairwise(ends))


@st.composite
def pairs_of_shapes(draw):
    """Draw two shapes between which a split, a transpose and a merge lead."""
    sizes = draw(parts)
    return draw(grouped(sizes)), draw(grouped(draw(st.permutations(sizes))))


def carried_out(chain, array):
    return run(answer_chain(*read_chain(chain), {}), array).array


@examples(300)
@given(pairs_of_shapes())
def test_every_chain_that_is_found_is_proved(shapes):
    found, claimed = sc.find(*shapes), ways_between(*shapes)
    assert found == claimed
    assert 0 < len(found.ways) <= found.fits
    unnamed = [way.moves for way in found.ways if not way.layout]
    assert unnamed == sorted(unnamed)


@examples(200)
@given(st.lists(st.integers(2, 4), max_size=4), st.data())
def test_no_function_is_listed_or_counted_twice(sizes, data):
    before, after = data.draw(grouped(sizes)), data.draw(grouped(data.draw(st.permutations(sizes))))
    found, x = sc.find(before, after), np.arange(prod(before)).reshape(before)
    moved = {carried_out(way.chain, x).tobytes() for way in found.ways}
    assert len(moved) == len(found.ways)
    assert found.fits == len(moved) or found.fits > 32


def of_one_transpose_and_one_reshape(x, after):
    """Return what every chain of one transpose and one reshape makes of an array."""
    first = [x.transpose(perm).reshape(after) for perm in permutations(range(x.ndim))]
    orders = permutations(range(len(after)))
    last = [x.reshape([after[axis] for axis in perm]).transpose(np.argsort(perm)) for perm in orders]
    return {each.tobytes() for each in (*first, *last)}


@examples(200)
@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_a_search_is_complete_only_if_no_other_chain_is_within_its_bounds(sizes, data):
    before, after = data.draw(grouped(sizes)), data.draw(grouped(data.draw(st.permutations(sizes))))
    found, x = sc.find(before, after), np.arange(prod(before)).reshape(before)
    listed = {carried_out(way.chain, x).tobytes() for way in found.ways}
    others = of_one_transpose_and_one_reshape(x, after) - listed
    assert not (found.complete and others)
    if found.other:
        assert carried_out(found.other.chain, x).tobytes() in others


@pytest.mark.parametrize(
    ("before", "after", "layout", "chain"),
    [
        ("B,3,224,224", "B,196,768", "image to patches (ViT)", "reshape B,3,14,16,14,16 | transpose 0,2,4,3,5,1 | "),
        ("B,196,768", "B,3,224,224", "patches to image (ViT)", "reshape B,14,14,16,16,3 | transpose 0,5,1,3,2,4 | "),
        ("8,56,56,96", "512,7,7,96", "image to windows (Swin)", "reshape 8,8,7,8,7,96 | transpose 0,1,3,2,4,5 | "),
        ("512,49,96", "8,56,56,96", "windows to image (Swin)", "reshape 8,8,8,7,7,96 | transpose 0,1,3,2,4,5 | "),
        ("B,T,768", "B,12,T,64", "heads split", "reshape B,T,12,64 | transpose 0,2,1,3"),
        ("B,12,T,64", "B,T,768", "heads joined", "transpose 0,2,1,3 | reshape B,T,768"),
        ("B,4*C,H,W", "B,C,2*H,2*W", "pixel shuffle", "reshape B,C,2,2,H,W | transpose 0,1,4,2,5,3 | "),
        ("1,3,8,8", "1,12,4,4", "pixel unshuffle", "reshape 1,3,4,2,4,2 | transpose 0,1,3,5,2,4 | "),
        ("N,C,H,W", "N,H,W,C", "NCHW to NHWC", "transpose 0,2,3,1"),
        ("N,H,W,C", "N,C,H,W", "NHWC to NCHW", "transpose 0,3,1,2"),
        ("B,H*W,C", "B,C,H,W", "tokens to image", "reshape B,H,W,C | transpose 0,3,1,2"),
        ("N,32,H,W", "N,8,4,H,W", "channels in groups", "reshape N,8,4,H,W"),
        ("B,T,768", "B,T,768", None, ""),
        ("1,4,4,4", "1,4,4,4", None, ""),
    ],
)
def test_layouts_that_have_a_name_come_first(before, after, layout, chain):
    first = sc.find(before, after).ways[0]
    assert first.layout == (layout or "")
    assert first.why.startswith(f"{layout}: " if layout else "the elements stay")
    assert first.chain.startswith(f"{before} | {chain}")


def names_of(way):
    return {char for char in way.chain if char.isupper()}


def test_a_way_that_says_something_else_than_its_chain_is_not_proved():
    class Wrong(Way):
        chain = "2,3,4 | transpose 0,2,1 | reshape 24"

    assert is_proved(Way((2, 3, 4), (2, 3, 4), (0, 2, 1), (24,)))
    assert not is_proved(Wrong((2, 3, 4), (2, 3, 4), (2, 1, 0), (24,)))
    assert not is_proved(Wrong((2, 3, 4), (2, 3, 4), (0, 2, 1), (6, 4)))


def test_what_does_not_do_what_arrays_show_is_not_found(monkeypatch):
    wrong = Fitting(Found((Way((2, 3), (2, 3), (0, 1), (3, 2)),), 1), ({},))
    monkeypatch.setattr("shapecalc.engine.finding.named_way", lambda _pairs: wrong)
    x = np.arange(6).reshape(2, 3)
    assert sc.find(pairs=[(x, x.T)]).ways == ()


def test_of_large_shapes_elements_are_followed():
    class Wrong(Way):
        chain = "2000,3000 | reshape 3000,2000"

    assert [way.moves for way in sc.find((2000, 3000), (3000, 2000)).ways] == [0, 1]
    assert not is_proved(Wrong((2000, 3000), (2000, 3000), (1, 0), (3000, 2000)))


@pytest.mark.parametrize(
    ("before", "after", "fits", "chains"),
    [
        ("2,3,4", "6,4", 2, ["2,3,4 | reshape 6,4", "2,3,4 | transpose 1,0,2 | reshape 6,4"]),
        ("3,3", "3,3", 2, ["3,3 | reshape 3,3", "3,3 | transpose 1,0"]),
        ("1,3,4", "4,3,1", 2, ["1,3,4 | reshape 4,3,1", "1,3,4 | transpose 2,1,0"]),
        ("0,3", "3,0", 1, ["0,3 | reshape 3,0 --allowzero"]),
        ("[]", "1,1", 1, ["[] | reshape 1,1"]),
        ("2,3", "5", 0, []),
        ("N,4", "M,4", 0, []),
    ],
)
def test_what_fits(before, after, fits, chains):
    found = sc.find(before, after)
    assert (found.fits, [way.chain for way in found.ways]) == (fits, chains)


def test_the_functions_are_counted_even_if_they_are_not_all_listed():
    assert sc.find([2] * 8, [256]).fits == 40320
    assert sc.find("N,C,H,W", "N*C*H*W").fits == 24
    assert len(sc.find([2] * 8, [256]).ways) < 40
    assert not sc.find([2] * 9, [2] * 9).complete


@pytest.mark.parametrize(
    ("before", "after", "chain"),
    [
        ("N,C,H,W", "N,4*C,H/2,W/2", "reshape N,C,H/2,2,W/2,2 | transpose 0,3,5,1,2,4 | reshape N,4*C,H/2,W/2"),
        ("B,C*r*r,H,W", "B,C,H*r,W*r", "reshape B,C,r,r,H,W | transpose 0,1,4,2,5,3 | reshape B,C,H*r,W*r"),
        ("B,T,3*h*d", "3,B,h,T,d", "reshape B,T,3,h,d | transpose 2,0,3,1,4"),
    ],
)
def test_known_functions_are_among_those_that_are_found(before, after, chain):
    sizes = {"N": 2, "C": 3, "H": 4, "W": 6, "B": 2, "T": 5, "h": 3, "d": 4, "r": 2}
    answer = answer_chain(before, read_chain(f"{before} | {chain}")[1], {n: sizes[n] for n in sizes if n in before})
    x = np.arange(prod(answer.input)).reshape(answer.input)
    assert sc.find(before, after, pairs=[(x, run(answer, x).array)]).fits == 1


@examples(200)
@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_what_a_pair_of_arrays_shows_is_found(sizes, data):
    before, perm = data.draw(grouped(sizes)), data.draw(st.permutations(range(len(sizes))))
    after = data.draw(grouped([sizes[axis] for axis in perm]))
    x = np.random.default_rng(0).permutation(prod(sizes)).reshape(before) * 1.5
    y = x.reshape(sizes).transpose(perm).reshape(after)
    (way,) = sc.find(pairs=[(x, y)]).ways
    assert np.array_equal(carried_out(way.chain, x), y)


@pytest.mark.parametrize("perm", list(permutations(range(4))))
def test_sizes_that_differ_get_names(perm):
    def pair(b, h, w, c):
        x = np.arange(b * h * w * c).reshape(b, h * w, c)
        return x, x.reshape(b, h, w, c).transpose(perm)

    shown = [pair(2, 3, 4, 5), pair(2, 2, 7, 3), pair(2, 5, 1, 2)]
    (way,) = sc.find(pairs=shown).ways
    assert way.chain.startswith("2,A*B,C | ")
    assert names_of(way) == {"A", "B", "C"}


def test_pairs_that_show_different_functions_have_none_in_common():
    x = np.arange(6).reshape(2, 3)
    assert sc.find(pairs=[(x, x.T), (x, x.reshape(3, 2))]).ways == ()
    assert sc.find(pairs=[(x, x[::-1])]).ways == ()
    assert sc.find(pairs=[(x, x + 1)]).ways == ()
    assert sc.find(pairs=[(x, x[:1])]).ways == ()


@pytest.mark.parametrize("kind", ["<f4", ">i2", "c16", "U3", "S2", "M8[s]"])
def test_elements_of_any_type_are_told_apart(kind):
    x = np.arange(12).reshape(3, 4).astype(kind)
    assert [way.chain for way in sc.find(pairs=[(x, x.T)]).ways] == ["3,4 | transpose 1,0"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["2,3"], 2, "two shapes"),
        ([], 2, "two shapes"),
        (["?,3", "3"], 2, "? is an unknown size"),
        (["2,3", "-1"], 2, "-1 is not the size"),
        (["2,,3", "6"], 2, "a dim is missing"),
        (["2,3", "5"], 1, "6 elements in, 5 out"),
        (["N,4", "2,6"], 1, "(as many when N is 3)"),
        (["99999999999,9999999999", "9999999999,99999999999"], 3, "too many for int64"),
        (["--before", "x.npy"], 2, "--after 0 times"),
        (["--before", "x.npy", "--after", "none.npy"], 4, "none.npy"),
        (["--before", "same.npy", "--after", "same.npy"], 2, "nothing tells them apart"),
        (["2,2", "2,2", "--before", "x.npy", "--after", "y.npy"], 2, "shape 2,3, and 2,2 is asked for"),
        (["2,3,4", "4,6"], 0, "at least 3 functions fit; looked at a transpose and a reshape"),
        (["2,3,4", "4,6"], 0, "left out: others, as 2,3,4 | transpose 0,2,1 | "),
        (["B,T,8", "B,2,T,4"], 0, "shapecalc: chain 1: heads split\n"),
        (["N,M", "M,K", "--before", "x.npy", "--after", "y.npy"], 1, "no functions fit"),
        (["N,N", "N,N", "--before", "x.npy", "--after", "y.npy"], 2, "shape 2,3, and N,N is asked for"),
        (["N,M", "N,M", "--before", "x.npy", "--after", "y.npy"], 2, "shapes 2,3 and 3,2, which N,M and N,M are not"),
        (["N,3", "3,N", "--before", "x.npy", "--after", "y.npy"], 0, "1 function fits"),
        (["--before", "x.npy", "--after", "z.npy"], 1, "no functions fit"),
    ],
)
def test_on_the_command_line(tmp_path, monkeypatch, capsys, words, code, says):
    from shapecalc import __main__

    monkeypatch.chdir(tmp_path)
    x = np.arange(6).reshape(2, 3)
    for name, array in {"x": x, "y": x.T, "z": x[:, ::-1], "same": x * 0}.items():
        np.save(name, array)
    monkeypatch.setattr("sys.argv", ["shapecalc", "find", *words])
    assert __main__.main() == code
    printed = capsys.readouterr()
    assert says in printed.err
    assert bool(printed.out) == (code == 0)


def test_json(monkeypatch, capsys):
    from shapecalc import __main__

    monkeypatch.setattr("sys.argv", ["shapecalc", "find", "2,3", "3,2", "--json"])
    assert __main__.main() == 0
    assert json.loads(capsys.readouterr().out) == {
        "chains": [
            {
                "chain": "2,3 | reshape 3,2",
                "moves": 0,
                "why": "the elements stay in order: axes 0,1 mix into axes 0,1",
            },
            {"chain": "2,3 | transpose 1,0", "moves": 1, "why": "move to 3,2"},
        ],
        "fits": 2,
        "complete": True,
        "bounds": "a transpose and a reshape, known layouts, splits into 2 parts",
    }
