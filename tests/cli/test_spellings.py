"""Spellings of frameworks: names of dialects, ops and axes as they are written elsewhere."""

from __future__ import annotations

import pytest

from shapecalc.cli.info import ALSO, PAGES
from shapecalc.core.dialects import DIALECTS

ALIASES = [("trt", "tensorrt"), ("ort", "onnxruntime"), ("pt", "torch"), ("pytorch", "torch"), ("np", "numpy")]


@pytest.mark.parametrize(("alias", "dialect"), ALIASES)
def test_a_dialect_has_short_names(alias, dialect, shapecalc):
    words = ["2,3", "6", "--json", "-d"]
    assert shapecalc("reshape", *words, alias.upper()) == shapecalc("reshape", *words, dialect)
    chain = "2,3 | reshape 6"
    assert shapecalc("chain", chain, "--json", "-d", alias) == shapecalc("chain", chain, "--json", "-d", dialect)
    assert shapecalc("check", "-", stdin=f"reshape 2,3 6 --dialect {alias} => 6\n").code == 0


def test_no_name_of_a_dialect_is_used_twice():
    names = [name for row in DIALECTS.values() for name in (row.name, *row.aliases)]
    assert len({*names}) == len(names)


SAME = [
    # what is typed, what it stands for
    (["-", "6"], ["reshape", "-", "6"]),
    (["permute", "2,3,4", "-1,0,1"], ["transpose", "2,3,4", "-1,0,1", "-d", "torch"]),
    (["permute", "2,3", "1,0", "-d", "onnx", "--json"], ["transpose", "2,3", "1,0", "-d", "onnx", "--json"]),
    (["movedim", "2,3,4", "0", "-1"], ["moveaxis", "2,3,4", "0", "-1", "-d", "torch"]),
    (["swapdims", "2,3,4", "0", "-1"], ["swapaxes", "2,3,4", "0", "-1", "-d", "torch"]),
    (["chain", "2,3 | permute -1,0", "--json"], ["chain", "2,3 | transpose -1,0 --dialect torch", "--json"]),
    (["squeeze", "1,3,1", "0", "--json"], ["squeeze", "1,3,1", "--axes", "0", "--json"]),
    (["unsqueeze", "2,3", "-1"], ["unsqueeze", "2,3", "--axes", "-1"]),
    (["chain", "2,3 | unsqueeze 0 | squeeze 0"], ["chain", "2,3 | unsqueeze --axes 0 | squeeze --axes 0"]),
    (["transpose", "N,C,H,W", "N,H,W,C", "--json"], ["transpose", "N,C,H,W", "0,2,3,1", "--json"]),
    (["transpose", "N,3,H,W", "N,H,W,3"], ["transpose", "N,3,H,W", "0,2,3,1"]),
    (["transpose", "N,H,H*W", "[H*W H N]"], ["transpose", "N,H,H*W", "2,1,0"]),
    (["transpose", "N,C", "C,N", "--where", "N=2,C=2", "--json"], ["transpose", "2,2", "1,0", "--json"]),
    (["shuffle", "N,C", "--first", "C,N", "--json"], ["shuffle", "N,C", "--first", "1,0", "--json"]),
    (
        ["chain", "N,6 | reshape N,C,3 | transpose C,N,3", "--where", "N=2,C=2", "--json"],
        ["chain", "2,6 | reshape 2,2,3 | transpose 1,0,2", "--json"],
    ),
    (["rearrange", "[]", "-> n", "n=3"], ["rearrange", "[]", " -> n", "n=3"]),
    (["chain", "[] | rearrange '-> n' n=3 | flatten"], ["chain", "[] | rearrange ' -> n' n=3 | flatten"]),
    (["help", "squeeze"], ["squeeze", "--help"]),
    (["help", "chain"], ["chain", "--help"]),
    (["help", "permute"], ["transpose", "--help"]),
    (["help"], ["--help"]),
    (["-h", "reshape"], ["reshape", "-h"]),
    (["flatten", "2,3,4", "1"], ["flatten", "2,3,4", "--axis", "1"]),
    (["flatten", "2,3,4", "--dim", "2"], ["flatten", "2,3,4", "--axis", "2"]),
    (
        ["flatten", "2,3,4", "0", "1", "-d", "pt"],
        ["flatten", "2,3,4", "--start_dim", "0", "--end-dim", "1", "-d", "pt"],
    ),
    (["concat", "2,3", "2,3", "axis=1"], ["concat", "2,3", "2,3", "--axis", "1"]),
    (["chain", "2,3 | stack 2,3 dim=1"], ["chain", "2,3 | stack 2,3 --axis 1"]),
    (["permute", "2,3,4", "dims=0,2,1"], ["permute", "2,3,4", "0,2,1"]),
    (
        ["conv", "1,4,9,9", "4,8,2,2", "stride=2", "transposed=True"],
        ["conv", "1,4,9,9", "4,8,2,2", "--stride", "2", "--transposed"],
    ),
    (["rearrange", "6", "(dim a) -> dim a", "dim=2"], ["reshape", "6", "2,3"]),
    (["squeeze", "1,3", "--dim", "0"], ["squeeze", "1,3", "--axes", "0"]),
    (["shape", "2,3,4", "1", "2"], ["shape", "2,3,4", "--start", "1", "--end", "2"]),
    (["shuffle", "2,3", "--first-transpose", "1,0", "--reshape_dims", "6"], ["shuffle", "2,3", "1,0", "6"]),
    (["shuffle", "2,3", "1,0", "6"], ["shuffle", "2,3", "--first", "1,0", "--to", "6"]),
]


@pytest.mark.parametrize(("typed", "meant"), SAME, ids=[" ".join(typed) for typed, _ in SAME])
def test_what_is_typed_is_what_is_meant(typed, meant, shapecalc):
    assert shapecalc(*typed, stdin="2,3") == shapecalc(*meant, stdin="2,3")


MISTAKES = [
    (["reshpe", "2,3", "6"], "no such command or file 'reshpe' (did you mean reshape?)"),
    (["2,3", "reshape"], "no such command or file '2,3' (what is read: shapecalc help readings)"),
    (["2,", "3,", "4"], 'in quotes it stays whole: shapecalc "2,3,4"'),
    (["2,3,4", "-"], "the shell has taken > and the word behind it for a file to write (quote the arrow: "),
    (["2,3,4", "6,4", "24"], "write shapecalc 2,3,4 6,4 --expect 24"),
    (["2,3", "1,0", "6"], "write shapecalc shuffle 2,3 1,0 6"),
    (["how", "to", "reshape", "2x3", "into", "3x2"], "write shapecalc 2x3 3x2"),
    (["--", "reshape"], "no such command or file 'reshape'"),
    (["convert", "2,3 | flatten"], "convert needs what to write (add --as "),
    (["chain", "2,3 | permut 1,0"], "there is no operation 'permut' (did you mean permute?)"),
    (["chain", "2,3 | T"], "there is no operation 'T' (shapecalc -h lists them)"),
    (["why", "nonsense"], "there is no rule 'nonsense' (shapecalc why lists them)"),
    (["reshape", "2,3", "6,"], "a dim is missing in '6,'"),
    (["tutorial"], "no such command or file 'tutorial' (shapecalc help tutorial tells of it)"),
    (["shapecalc-cases"], "(shapecalc help cases tells of it)"),
    (["docs"], "(shapecalc help docs tells of it)"),
    (["ONNX"], "(shapecalc help onnx tells of it)"),
    (["infer"], "(shapecalc help infer tells of it)"),
    (["-h", "conv2d"], "there is no topic 'conv2d' (did you mean conv?)"),
    (["reshape"], "missing argument 'INPUT' (as in shapecalc reshape 2,3,4 0,-1; see shapecalc reshape -h)"),
    (["permute"], "missing argument 'INPUT' (as in shapecalc transpose 2,3,4 1,2,0; see shapecalc transpose -h)"),
    (["help", "\x1b[31m.onnx"], "there is no topic '\\x1b[31m.onnx'"),
    (["help", "reshpe"], "there is no topic 'reshpe' (did you mean reshape?)"),
    (["squeeze", "1,3,1", "0", "--axes", "2"], "axes is given twice"),
    (["chain", "1,3,1 | squeeze 0 --axes 2"], "axes is given twice"),
    (["squeeze", "1,3,1", "0", "2"], "no place for '2' (write shapecalc squeeze 1,3,1 0,2)"),
    (["transpose", "N,C", "C,Q"], "no dim of N,C is Q"),
    (["transpose", "N,N,C", "C,N,N"], "2 dims of N,N,C are N"),
    (["chain", "2,3 | reshape 5,-1 | transpose N,C"], "a stage before it is refused"),
    (["squeeze", "N,C", "N"], "an axis is a whole number, not N"),
    (["repeat", "2,3", "2"], "it can mean three things (PyTorch repeats the whole: tile 2,3 2,1;"),
    (["chain", "2,3 | repeat 2,2"], "it can mean three things"),
    (["view_as", "2,3", "y"], "write that shape: view INPUT TARGET"),
    (["reshape_as", "2,3", "6"], "write that shape: reshape INPUT TARGET"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_what_is_no_spelling_is_told_in_one_line(words, said, shapecalc):
    ran = shapecalc(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


@pytest.mark.parametrize(
    "word",
    [*ALSO, *PAGES, "onnx", "ORT", "indivisible", "readings", "topics", "bad-axis", "zero_is_placeholder", "strict"],
)
def test_every_word_that_is_offered_has_its_help(word, shapecalc):
    ran = shapecalc("help", word)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out) > 60


def test_the_prompt_reads_them_too(shapecalc):
    ran = shapecalc("repl", stdin="2,3\npermute -1,0\nunsqueeze 0\nsqueeze 0\nrepeat 2\n")
    assert (ran.code, ran.out) == (2, "2,3\n3,2\n1,3,2\n3,2\n")
    assert "it can mean three things" in ran.err
