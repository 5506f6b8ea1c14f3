"""`simplify` on the command line: what it prints, and how it ends."""

from __future__ import annotations

import json

import pytest

LONG = "N,C,H | transpose 2,0,1 | transpose 0,2,1"
SHORT = "N,C,H | transpose 2,1,0"
HEADS = "B,S,E | reshape B,S,8,E/8 | transpose 0,2,1,3 | reshape B*8,S,E/8"


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        ((LONG,), 0, f"{SHORT}\n"),
        ((LONG, "--check"), 1, f"{SHORT}\n"),
        ((LONG, "--check", "-q"), 1, ""),
        ((SHORT, "--check"), 0, f"{SHORT}\n"),
        ((HEADS, "--check"), 0, "B,S,E | reshape B,S,8,E/8 | transpose 0,2,1,3 | reshape 8*B,S,E/8\n"),
        (
            (HEADS, "--for", "shuffles", "--check"),
            1,
            "B,S,E | transpose 0,2,1 | reshape 8*B,E/8,S | transpose 0,2,1\n",
        ),
        ((LONG, "--where", "N=2"), 0, "2,C,H | transpose 2,1,0\n"),
        ((LONG, "-d", "torch"), 0, f"{SHORT} --dialect torch\n"),
        ((LONG, "--as", "numpy"), 0, "# x: N,C,H -> y: H,C,N\ny = x.transpose(2, 1, 0)\n"),
        ((LONG, "--for", "layers"), 2, ""),
        ((LONG, "--as", "nothing"), 2, ""),
        ((LONG, "--where", "K=2"), 2, ""),
        ((LONG, "--dtype", "string"), 2, ""),
        (("2,3 | reshape 5",), 3, ""),
        (("2,3", "--check"), 0, "2,3\n"),
        (("2,3,4 | reshape 2,3,4", "--check"), 1, "2,3,4\n"),
        (("2,3 | flip 1 | flip 1", "--as", "onnx", "-q"), 0, ""),
        (("2,3 | \x1b[31m",), 2, ""),
        (("missing.npy | transpose",), 4, ""),
    ],
)
def test_the_answer_and_the_exit_code(shapecalc, words, code, out):
    ran = shapecalc("simplify", *words)
    assert (ran.code, ran.out) == (code, out)
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err


def test_what_both_take_is_told(shapecalc):
    told = shapecalc("simplify", HEADS, "--for", "shuffles").err
    assert told == (
        "shapecalc: holds when 8 divides E\n"
        "shapecalc: 1 transpose, 2 Shuffles, 8*B*E*S bytes; now 2 transposes, 1 Shuffle, 8*B*E*S bytes\n"
    )
    told = shapecalc("simplify", SHORT).err
    assert told == "shapecalc: 1 transpose, 1 Shuffle, 0 bytes, and none is shorter\n"


def test_the_input_comes_from_standard_input(shapecalc):
    assert shapecalc("simplify", "- | transpose | transpose", stdin="2,3\n").out == "2,3\n"


def test_json(shapecalc):
    found = json.loads(shapecalc("simplify", HEADS, "--for", "shuffles", "--json", "--dtype", "float16").out)
    assert found == {
        "chain": "B,S,E | transpose 0,2,1 --dtype float16 | reshape 8*B,E/8,S --dtype float16"
        " | transpose 0,2,1 --dtype float16",
        "before": {"transposes": 1, "shuffles": 2, "bytes": "4*B*E*S"},
        "after": {"transposes": 2, "shuffles": 1, "bytes": "4*B*E*S"},
        "proved": True,
        "problem": None,
    }


def test_json_of_a_chain_that_is_refused_has_no_chain(shapecalc):
    ran = shapecalc("simplify", "2,3 | transpose | reshape 5", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["chain"], found["problem"]["rule"]) == (3, None, "volume-mismatch")
    assert found["problem"]["span"] == [26, 27]
