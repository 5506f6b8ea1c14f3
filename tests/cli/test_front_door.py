"""Whatever is held: how it is read, what answers, and that the table of the manual says so."""

from __future__ import annotations

import os
import re
import shlex

import numpy as np
import pytest

from shapecalc.core.ops import OPS
from shapecalc.core.readings import Held, read_held
from shapecalc.core.text import read_shape
from tests.sessions import PAGES

pytestmark = pytest.mark.sessions(8)
MESSAGE = "RuntimeError: shape '[5, 5]' is invalid for input of size 24"

READ = [
    # what is typed, the command that it is read as
    ("2,3,4 6,4", "reshape 2,3,4 6,4"),
    ("2,3,4 0,-1 --json", "reshape 2,3,4 0,-1 --json"),
    ("--json 2,3,4 0,-1", "reshape 2,3,4 0,-1 --json"),
    ("'2,3,4 6,4'", "reshape 2,3,4 6,4"),
    ("'[2, 3]' '(6)'", "reshape '[2, 3]' '(6)'"),
    ("2,3,4 to 6,4", "reshape 2,3,4 6,4"),
    ("2,3,4 -d onednn --special-zero into 0,-1", "reshape 2,3,4 0,-1 -d onednn --special-zero"),
    ("2, 3, 4 to 6, 4", "reshape '2, 3, 4' '6, 4'"),
    ("'2,3,4 -> 6,4'", "reshape 2,3,4 6,4"),
    ("'N,C,H,W => N,-1'", "reshape N,C,H,W N,-1"),
    ("'(3,4) @ (4,5)'", "matmul '(3,4)' '(4,5)'"),
    ("8x1x6x1 + 7x1x5", "broadcast 8x1x6x1 7x1x5"),
    (shlex.quote(MESSAGE), "doctor -"),
    (shlex.quote(f"Traceback (most recent call last):\n{MESSAGE}"), "doctor -"),
    ("'mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)'", "doctor -"),
    ("'2,3,4 | transpose 1,0,2 | reshape 6,4'", "chain '2,3,4 | transpose 1,0,2 | reshape 6,4'"),
    ("'1,3,8,8 -> conv 4,3,3,3 -> flatten'", "chain '1,3,8,8 | conv 4,3,3,3 | flatten'"),
    ("'[N, 3, H, W] -> flatten(1)'", "code 'x.flatten(1)' --input 'x=[N, 3, H, W]'"),
    ("'b (h p) -> b h p' 2,12 p=4", "rearrange 2,12 'b (h p) -> b h p' p=4"),
    ("2,12,6 'b (h p) w -> b h p w' p=4 h=3", "rearrange 2,12,6 'b (h p) w -> b h p w' p=4 h=3"),
    ("'ij,jk->ik' 2,3 3,4", "einsum 'ij,jk->ik' 2,3 3,4"),
    ("'(2,3,4).reshape(6,4)'", "code 'x.reshape(6,4)' --input x=2,3,4"),
    ("'[2, 3, 4][0]'", "code 'x[0]' --input 'x=2, 3, 4'"),
    ("'x.view(2, -1)' x=2,3,4", "code 'x.view(2, -1)' --input x=2,3,4"),
    ("'x @ w' x=2,3 w=3,4", "code 'x @ w' --input 'x=2,3 w=3,4'"),
    ("'x[:, None]' 2,3 -q", "code 'x[:, None]' --input 2,3 -q"),
    ('"x.view(3, -1)  # it doesn\'t move" x=2,3', 'code "x.view(3, -1)  # it doesn\'t move" --input x=2,3'),
    ("'Error: Shuffle layer: reshapeDimensions [1,2,3] of 2,3,4'", "doctor -"),
    ("'nn.Conv2d(3, 4, 1)(x).flatten(1)' x=1,3,5,5", "code 'nn.Conv2d(3, 4, 1)(x).flatten(1)' --input x=1,3,5,5"),
    ("'y = x.T' x=2,3", "code 'y = x.T' --input x=2,3"),
    ("'np.zeros((2,3,4)).transpose(2,0,1)'", "code 'np.zeros((2,3,4)).transpose(2,0,1)'"),
    ("'nn.Conv2d(3, 64, 7)' '(1, 3, 24, 24)'", "code 'nn.Conv2d(3, 64, 7)(x)' --input '(1, 3, 24, 24)'"),
    ("'nn.Flatten()(x)' x=2,3,4", "code 'nn.Flatten()(x)' --input x=2,3,4"),
    ("\"rearrange(x, 'b c -> c b')\" 2,3", "code \"rearrange(x, 'b c -> c b')\" --input 2,3"),
    ("'several\nlines of something'", "doctor -"),
    (
        "'(4, 8, 2, 2), firstTranspose=(0,2,3,1), reshapeDims=(0,-1,8), secondTranspose={0, 2, 1}'",
        "shuffle 4,8,2,2 --first 0,2,3,1 --to 0,-1,8 --second '0, 2, 1'",
    ),
    ("'layer.first_transpose = (1, 0)\nlayer.reshape_dims = (-1,)' 2,3", "shuffle 2,3 --first '1, 0' --to -1"),
    ("'firstTranspose=1,0 x: 2,3'  x=N,4", "shuffle N,4 --first 1,0"),
    ("'reshape 2,3,4 6,4 --json'", "reshape 2,3,4 6,4 --json"),
    ("'reshape 2,3,4 6,4 => 6,4'", "check -"),
    ("2,3,4", "size 2,3,4"),
    ("'torch.Size([2, 3])'", "size 'torch.Size([2, 3])'"),
    ("same '2,3 | transpose' '| transpose'", "equiv '2,3 | transpose' '| transpose'"),
    ("diff 2,3 2,3", "equiv 2,3 2,3"),
    ("prove 2,3 2,3", "equiv 2,3 2,3"),
    ("shorten '2,3 | transpose | transpose'", "simplify '2,3 | transpose | transpose'"),
    ("convert '2,3 | transpose' --as torch", "chain '2,3 | transpose' --as torch"),
    ("numel 2,3", "size 2,3"),
    ("cat 2,3 4,3", "concat 2,3 4,3"),
    ("lint missing.onnx", "model --lint missing.onnx"),
    ("missing.onnx 8", "model missing.onnx 8"),
    ("missing.npy", "shape missing.npy"),
]


@pytest.mark.parametrize(("typed", "command"), READ, ids=[ascii(typed)[:60] for typed, _ in READ])
def test_what_is_held_is_read_as_a_command_and_answered_as_that(typed, command, shapecalc):
    ran = shapecalc(*shlex.split(typed))
    told = [] if "-q" in typed else [f"read as: shapecalc {command}"]
    assert ran.err.splitlines()[: len(told)] == told
    text = shlex.split(typed)[0] if command in ("doctor -", "check -") else ""
    meant = shapecalc(*shlex.split(command), stdin=text)
    assert (ran.code, ran.out) == (meant.code, meant.out)
    others = [line for line in ran.err.splitlines()[len(told) :] if "in another order" not in line]
    assert others == meant.err.splitlines()


FROM_STDIN = [
    ("2,3,4\n", [], "size 2,3,4"),
    ("2,3,4 -> 6,4\n", ["--json"], "reshape 2,3,4 6,4 --json"),
    ("2,3,4 | flatten\n", [], "chain '2,3,4 | flatten'"),
    (f"\ufeff{MESSAGE}\n", ["-q"], "doctor - -q"),
    ("# cases\nreshape 2,3,4 6,4 => 6,4\nreshape 2,3 4 => error\n", [], "check -"),
    ('{"op": "reshape", "input": [2, 3], "target": [6], "expect": [6]}\n', [], "check -"),
    ("x.view(6, 4)\n", ["x=2,3,4"], "code 'x.view(6, 4)' --input x=2,3,4"),
    ("x.view(6, 4)\n", ["-", "x=2,3,4"], "code 'x.view(6, 4)' --input x=2,3,4"),
]


@pytest.mark.parametrize(("text", "words", "command"), FROM_STDIN, ids=[ascii(text)[:40] for text, *_ in FROM_STDIN])
def test_standard_input_is_read_by_the_same_table(text, words, command, shapecalc):
    ran, meant = shapecalc(*words, stdin=text), shapecalc(*shlex.split(command), stdin=text.lstrip("\ufeff"))
    assert (ran.code, ran.out) == (meant.code, meant.out)
    assert "-q" in words or ran.err.startswith("read as: shapecalc ")


def test_files_and_folders_are_read_by_what_is_in_them(shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.log").write_text(f"step 1\n{MESSAGE}\n")
    (tmp_path / "cut.py").write_text("y = x.view(3, 2)\n")
    (tmp_path / "trt.py").write_text(
        "# x: 2,N -> y: N,2\nlayer = network.add_shuffle(x)\nlayer.first_transpose = (1, 0)\n"
    )
    (tmp_path / "cases.txt").write_text("# mine\nreshape 2,3 6 => 6\n")
    folder = tmp_path / "arrays"
    (folder / "deeper").mkdir(parents=True)
    np.save(folder / "deeper" / "b.npy", np.zeros((3, 2)))
    np.save(folder / "a.npy", np.zeros((2, 3)))
    (folder / "notes.md").write_text("no array")
    (tmp_path / "empty").mkdir()
    (tmp_path / "blob").write_bytes(b"a\0b")
    assert shapecalc("blob").err.startswith("shapecalc: usage: blob is no text (texts are read, and .onnx, ")
    for words, command in (
        (["run.log"], ["doctor", "run.log"]),
        (["cut.py", "x=2,3", "--json"], ["code", "cut.py", "--json", "--input", "x=2,3"]),
        (["--json", "trt.py"], ["shuffle", "2,N", "--first", "'1, 0'", "--json"]),
        (["cases.txt", "--json"], ["check", "cases.txt", "--json"]),
        (["arrays/a.npy"], ["shape", "arrays/a.npy"]),
        (["arrays/a.npy", "3,2"], ["reshape", "arrays/a.npy", "3,2"]),
        (["arrays"], ["match", "...", "arrays/a.npy", "arrays/deeper/b.npy"]),
        (["arrays", "?,3", "--json"], ["match", "'?,3'", "arrays/a.npy", "arrays/deeper/b.npy", "--json"]),
        (["?,?", "arrays/a.npy", "arrays/deeper/b.npy"], ["match", "'?,?'", "arrays/a.npy", "arrays/deeper/b.npy"]),
    ):
        ran, meant = shapecalc(*words), shapecalc(*[word.strip("'") for word in command])
        assert (ran.code, ran.out) == (meant.code, meant.out)
        assert ran.err.startswith(f"read as: shapecalc {' '.join(command)}\n")
    ran = shapecalc("empty")
    assert (ran.code, ran.err) == (
        2,
        "shapecalc: usage: there is no array in empty (arrays end in .npy, .npz, .safetensors, .zarr; "
        "for cases: shapecalc check FOLDER)\n",
    )


def test_an_array_on_standard_input_is_told_to_be_named(shapecalc):
    ran = shapecalc(stdin="\x93NUMPY\x01\x00v")
    assert (ran.code, ran.err) == (2, "shapecalc: usage: standard input is no text (name the file: shapecalc FILE)\n")


def test_other_ways_are_told_behind_the_answer(shapecalc):
    assert shapecalc("2,3,4", "6,4").err.splitlines() == [
        "read as: shapecalc reshape 2,3,4 6,4",
        "shapecalc: with the elements in another order: 2,3,4 | transpose 1,0,2 | reshape 6,4",
    ]


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("reshape 6,4", "6,4"),
        ("reshape 0,-1 --json", ""),
        ("expand 5,2,3,4", "5,2,3,4"),
        ("tile 2,1,1", "4,3,4"),
        ("transpose", "4,3,2"),
        ("flatten", "2,12"),
        ("rearrange 'a b c -> c b a'", "4,3,2"),
        ("swapaxes 0 1", "3,2,4"),
        ("slice 1:", "1,3,4"),
        ("einsum 'abc->ca'", "4,2"),
    ],
)
def test_an_op_whose_input_alone_is_missing_reads_every_line_of_standard_input(words, output, shapecalc):
    ran = shapecalc(*shlex.split(words), stdin="2,3,4\n2,3,4\n")
    assert (ran.code, output in ran.out, len(ran.out.splitlines())) == (0, True, 2)
    assert ran.err.startswith("shapecalc: INPUT is missing, so every line of standard input is one\n")


def test_the_screens_fit_and_name_every_command(shapecalc):
    from shapecalc.cli.options import COMMANDS

    first, whole = shapecalc().out, shapecalc("-h").out
    assert len(first.splitlines()) <= 24
    assert len(whole.splitlines()) <= 40
    assert max(map(len, (first + whole).splitlines())) <= 90
    assert {*OPS, *COMMANDS} <= {*re.findall(r"\w+", whole)}


def test_the_table_of_the_manual_names_every_command_that_is_read():
    section = PAGES[0].with_name("shapecalc.1").read_text("utf-8").split(".Ss Readings\n")[1].split("\n.Ss ")[0]
    named = {*re.findall(r"^\.Ic (\w+)", section, re.M)}
    assert {shlex.split(command)[0] for _, command in READ} <= named


def test_a_name_that_looks_like_an_option_is_a_file(shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("--junit=x.npy", np.zeros(2))
    ran = shapecalc(".")
    assert (ran.code, ran.err) == (0, "read as: shapecalc match ... ./--junit=x.npy\nshapecalc: 1 passed\n")
    assert [path.name for path in tmp_path.iterdir()] == ["--junit=x.npy"]


def test_a_pipe_in_place_of_a_file_is_not_read_twice(shapecalc, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    ran = shapecalc(str(tmp_path / "pipe"))
    assert (ran.code, "is no regular file (write shapecalc < " in ran.err) == (2, True)


LONG = [
    "9" * 20000,
    "2" + " " * 50000 + "x",
    "2," * 200000,
    "x" + "[0]" * 5000,
    "(2," * 5000,
    "x" + ".t()" * 5000,
    "x" + ".t()" * 300,
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:8])
def test_what_is_long_and_nothing_is_told_so_without_a_search_that_grows_with_its_square(text, shapecalc):
    assert shapecalc(stdin=text).code in (1, 2, 3)


ODD = ["", " ", "-", "\x1b[31m", "(", "x" * 5000, "[" * 2000, "a|b|c", "->", "2,3 ->", "x=", "def f(", "\ud800", "'"]


@pytest.mark.parametrize("word", ODD, ids=lambda word: ascii(word)[:20])
def test_what_nothing_reads_gets_one_line(word, shapecalc):
    ran = shapecalc("--", word)
    assert ran.code in (1, 2, 3)
    assert "\x1b" not in ran.err
    assert ran.err.count("\n") <= 3


def test_a_shape_is_no_code_and_code_no_shape():
    for text in ("2,3,4", "N,C", "(2, 3)", "[2,3]", "torch.Size([2,3])"):
        assert read_held(Held((), (text,), lambda _: False))[0] == "size"
        assert read_shape(text)
