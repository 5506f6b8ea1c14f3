"""Spellings of frameworks: names of dialects, ops and axes as they are written elsewhere."""

from __future__ import annotations

import re

import pytest

from shapecalc.cli.info import PAGES, TOPICS
from shapecalc.cli.options import COMMANDS
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS


@pytest.mark.parametrize(("alias", "dialect"), [("trt", "tensorrt"), ("ort", "onnxruntime"), ("pt", "torch")])
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
    (["2,3,4", "0,-1"], ["reshape", "2,3,4", "0,-1"]),
    (["2,3,4", "0,-1", "--json"], ["reshape", "2,3,4", "0,-1", "--json"]),
    (["[2, 3]", "(6)"], ["reshape", "2,3", "6"]),
    (["?,3", "-1"], ["reshape", "?,3", "-1"]),
    (["N,C", "-1", "--where", "N=2"], ["reshape", "N,C", "-1", "--where", "N=2"]),
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
]


@pytest.mark.parametrize(("typed", "meant"), SAME, ids=[" ".join(typed) for typed, _ in SAME])
def test_what_is_typed_is_what_is_meant(typed, meant, shapecalc):
    assert shapecalc(*typed, stdin="2,3") == shapecalc(*meant, stdin="2,3")


MISTAKES = [
    (["reshpe", "2,3", "6"], "no such command 'reshpe'"),
    (["2,3"], "no such command '2,3'"),
    (["2,3", "reshape"], "no such command '2,3' (name an op before it, or a second shape after it)"),
    (["2,3 | transpose"], "(write shapecalc chain before it)"),
    (["RuntimeError: shape '[8]' is invalid"], "shapecalc doctor, paste, Ctrl-D"),
    (["chain", "2,3 | permut 1,0"], "there is no operation 'permut' (did you mean permute?)"),
    (["chain", "2,3 | T"], "there is no operation 'T' (shapecalc -h lists them)"),
    (["why", "nonsense"], "there is no rule 'nonsense' (shapecalc why lists them)"),
    (["reshape", "2,3", "6,"], "a dim is missing in '6,'"),
    (["x.npy", "6"], "no such command 'x.npy'"),
    (["tutorial"], "no such command 'tutorial' (a page of the manual: shapecalc help tutorial)"),
    (["shapecalc-cases"], "(a page of the manual: shapecalc help cases)"),
    (["docs"], "no such command 'docs' (the manual: shapecalc help --page; to begin: shapecalc help tutorial)"),
    (["man"], "(the manual: shapecalc help --page; "),
    (["error"], "no such command 'error' (an error message is read from standard input: shapecalc doctor, paste, "),
    (["ONNX"], "(a dialect: --dialect onnx behind a question; its rules: shapecalc help dialects --page)"),
    (["trt"], "(a dialect: --dialect tensorrt behind a question; "),
    (["infer"], "no such command 'infer' (a rule: shapecalc why infer)"),
    (["my model.onnx"], "(write shapecalc model before it)"),
    (["reshape"], "missing argument 'INPUT' (as in shapecalc reshape 2,3,4 0,-1; see shapecalc reshape -h)"),
    (["permute"], "missing argument 'INPUT' (as in shapecalc transpose 2,3,4 1,2,0; see shapecalc transpose -h)"),
    (["help", "onnx"], "there is no command 'onnx' (a dialect: --dialect onnx "),
    (["help", "docs"], "there is no command 'docs' (the manual: shapecalc help --page; "),
    (["help", "\x1b[31m.onnx"], "there is no command '\\x1b[31m.onnx' (write "),
    (["help", "reshpe"], "there is no command 'reshpe' (did you mean reshape?)"),
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


def test_a_topic_is_no_command_and_its_hint_names_one():
    assert not TOPICS.keys() & {*COMMANDS, *OPS}
    assert TOPICS.keys() & {*PAGES} == {"lessons"}, "who asks for lessons wants to take them, not to write them"
    named = [word for hint in TOPICS.values() for word in re.findall(r"shapecalc (\S+?)(?:[ ;,]|$)", hint)]
    assert {*named} <= {*COMMANDS, "-h", "--version"}


def test_the_prompt_reads_them_too(shapecalc):
    ran = shapecalc("repl", stdin="2,3\npermute -1,0\nunsqueeze 0\nsqueeze 0\nrepeat 2\n")
    assert (ran.code, ran.out) == (2, "2,3\n3,2\n1,3,2\n3,2\n")
    assert "it can mean three things" in ran.err
