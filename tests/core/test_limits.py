"""Limits at their last value and at the first beyond it, and values that are refused and not guessed."""

from __future__ import annotations

import io

import pytest

import shapecalc as sc
from shapecalc.cli.check import split_blocks
from shapecalc.core import fixing
from shapecalc.core.ask import ask, read_flag
from shapecalc.core.cases import read_default
from shapecalc.core.examples import MOST_TRIED, ascending_sizes
from shapecalc.core.fixing import MOST_LISTED, MOST_NAMES, hint
from shapecalc.core.limits import LONGEST_LINE
from shapecalc.core.resolve import resolve
from shapecalc.core.text import brief, dim_text, read_dims, suggestion
from shapecalc.core.values import read_sizes, whole_number

WITHIN = [
    (lambda: len(read_dims("1," * 65_535 + "1")), 65_536),
    (lambda: read_dims("9" * 1000), (10**1000 - 1,)),
    (lambda: read_dims("-" + "9" * 1000), (1 - 10**1000,)),
    (lambda: read_dims(f"{'9' * 1000}*N")[0].numerator, 10**1000 - 1),
    (lambda: str(read_dims("N" * 200_000)[0]), "N" * 200_000),
    (lambda: whole_number("-" + "7" * 1000, "axis"), -int("7" * 1000)),
    (lambda: whole_number(2**3320 - 1, "axis"), 2**3320 - 1),
    (lambda: read_sizes(f"N={'9' * 30}"), {"N": 10**30 - 1}),
    (lambda: dim_text(2**3320 - 1)[-3:], "..."),
    (lambda: brief("x" * 40), "x" * 40),
]
BEYOND = [
    (lambda: read_dims("1," * 65_536 + "1"), "65537 dims, and the limit 'dims' is 65536"),
    (lambda: read_dims("9" * 1001), "1001 digits of a number, and the limit 'digits' is 1000"),
    (lambda: read_dims("2*" + "9" * 1000), "has more digits than any size"),
    (lambda: read_dims("N" * 200_001), "200001 characters of a dim, and the limit 'word' is 200000"),
    (lambda: whole_number("7" * 1001, "axis"), "axis is one whole number"),
    (lambda: whole_number(2**3320, "axis"), "axis is one whole number, not about 10"),
    (lambda: read_sizes(f"N={'9' * 31}"), "is not NAME=SIZE"),
]


@pytest.mark.parametrize(("read", "expected"), WITHIN, ids=range(len(WITHIN)))
def test_the_last_value_within_a_limit_is_read(read, expected):
    assert read() == expected


@pytest.mark.parametrize(("read", "said"), BEYOND, ids=range(len(BEYOND)))
def test_the_first_value_beyond_a_limit_is_refused(read, said):
    with pytest.raises(sc.ShapeError, match=said):
        read()


def test_texts_are_cut_after_the_longest_that_is_shown():
    assert brief("x" * 41) == "x" * 40 + "..."
    assert dim_text(2**3320) == "about 10**999"


@pytest.mark.parametrize(
    ("value", "read"), [("0", False), ("1", True), (0, False), (1, True), (False, False), (True, True)]
)
def test_a_flag_is_yes_or_no(value, read):
    assert read_flag(value, "allowzero") is read


@pytest.mark.parametrize("value", ["2", "", "yes", "true", 2, -1, 1.0, None, [1], "01", " 1"])
def test_a_flag_that_is_neither_is_refused(value):
    with pytest.raises(sc.ShapeError, match="allowzero is 0 or 1, not"):
        read_flag(value, "allowzero")


DEFAULTS = [
    ("@default dialect=", "the default dialect needs a value"),
    ("@default dialect", "the default dialect needs a value"),
    ("@default opset=", "the default opset needs a value"),
    ("@default opset=x", "opset is one whole number, not 'x'"),
    ("@default allowzero=2", "allowzero is 0 or 1, not '2'"),
    ("@default where=N=2", "there is no default 'where=N=2'"),
    ("@default =onnx", "there is no default '=onnx'"),
    ("@default nothing=1", "there is no default 'nothing=1'"),
]


@pytest.mark.parametrize(("text", "said"), DEFAULTS)
def test_what_is_no_default_is_refused(text, said):
    with pytest.raises(sc.ShapeError, match=said):
        read_default(text, {})


def test_defaults_are_added_and_taken_back():
    before = {"dialect": "onnx", "opset": 13}
    assert read_default("@default --dialect=NumPy special-zero=1 # all", before) == {
        "dialect": "numpy",
        "opset": 13,
        "special_zero": True,
    }
    assert read_default("@default # nothing", before) == {}


def test_the_longest_line_is_whole_and_the_next_is_torn():
    for extra in (0, 1):
        data = b"#" * (LONGEST_LINE - 1 + extra) + b"\nreshape 2,3 6\n"
        blocks = [*split_blocks(io.BufferedReader(io.BytesIO(data)))]
        assert b"".join(block.data for block in blocks) == data
        assert any(block.torn for block in blocks) is bool(extra)


def test_sizes_are_tried_as_often_as_the_limit_says_and_each_once():
    tried = [tuple(sizes.values()) for sizes in ascending_sizes(("N", "C", "H"), 2)]
    assert len(tried) == len({*tried}) == MOST_TRIED
    assert tried[:3] == [(2, 2, 2), (2, 2, 3), (2, 3, 2)]


def refused(*words, **options):
    return resolve(ask(words[0], words[1], options))


def test_fixes_are_looked_for_up_to_the_most_dims():
    for dims, found in ((fixing.LONGEST, True), (fixing.LONGEST + 1, False)):
        trace = refused("reshape", "1," * (dims - 3) + "24", target="5,-1")
        assert len(trace.request.dims) == dims
        assert bool(fixing.fixes(trace)) is found
        assert (next(fixing.single_fixes(trace, trace.problem), None) is not None) is found


def test_fixes_ask_no_more_often_than_the_limits_say(monkeypatch):
    asked = []
    resolve_again = fixing.resolve
    monkeypatch.setattr(fixing, "resolve", lambda request: asked.append(request) or resolve_again(request))
    trace = refused("transpose", "2,3,4,5,6,7,8", perm="0,0,0,0,0,0,0")
    fixing.fixes(trace)
    assert 0 < len(asked) <= 2 * fixing.MOST_TRIED * fixing.MOST_CHANGED


def test_hints_list_axes_and_names_up_to_a_limit():
    for rank, listed in ((MOST_LISTED, True), (MOST_LISTED + 1, False)):
        perm = ",".join(map(str, [0, *range(rank - 1)]))
        assert bool(hint(refused("transpose", ",".join(["1"] * rank), perm=perm))) is listed
    for count, listed in ((MOST_NAMES, True), (MOST_NAMES + 1, False)):
        shape = ",".join([*(f"A{place}" for place in range(count - 1)), "Z", "3"])
        said = hint(refused("reshape", shape, target=",".join([*["0"] * count, "5"])))
        assert ("Z = 0 would resolve" in said) is listed
    assert suggestion("zzz", map(str, range(16))).startswith("there are 0, 1")
    assert suggestion("zzz", map(str, range(17))) == ""
    assert suggestion("x" * 80 + "y", ["x" * 80]) == f"did you mean {'x' * 80}?"


def test_an_array_is_made_contiguous_only_if_it_is_asked_for():
    numpy = pytest.importorskip("numpy")
    from shapecalc.engine.execute import run

    answer, array = sc.transpose((30, 40)), numpy.arange(1200).reshape(30, 40)
    view, copy = run(answer, array).array, run(answer, array, contiguous=True).array
    assert (view.flags.c_contiguous, numpy.shares_memory(view, array)) == (False, True)
    assert (copy.flags.c_contiguous, numpy.shares_memory(copy, array)) == (True, False)
    same = run(sc.reshape((30, 40), (-1,)), array, contiguous=True).array
    assert numpy.shares_memory(same, array)
