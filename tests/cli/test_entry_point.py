"""`shapecalc INPUT` without a command: the reading of the input, its answer, and the table of the manual."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from shapecalc.cli.info import MANUAL_PAGES, TOPIC_ALIASES
from shapecalc.cli.options import COMMAND_MODULES
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.text import parse_shape
from shapecalc.reading.command_detection import UserInput, detect_command
from tests.cli.conftest import expand_placeholders, rows
from tests.sampling import each_row
from tests.sessions import PAGES

pytestmark = pytest.mark.sessions(5)
READINGS = [(" => ".join(input_cells), command) for *input_cells, command in rows("held_read.txt")]


@each_row(("input_line", "command"), READINGS)
def test_entry_point_reads_and_answers_input(input_line, command, shapecalc):
    words, _, stdin = input_line.partition("<- ")
    ran = shapecalc(*shlex.split(words), stdin=stdin)
    text = stdin.lstrip("\ufeff") or (shlex.split(words)[0] if command in ("doctor -", "check -") else "")
    as_command = shapecalc(*shlex.split(command), stdin=text)
    assert (ran.code, ran.out) == (as_command.code, as_command.out)
    notes = [] if "-q" in words else [f"read as: shapecalc {command}"]
    assert ran.err.splitlines()[: len(notes)] == notes
    others = [line for line in ran.err.splitlines()[len(notes) :] if "in another order" not in line]
    assert others == as_command.err.splitlines()


def test_entry_point_op_in_quotes_reads_stdin(shapecalc):
    ran = shapecalc("reshape - 6", stdin="2,3")
    assert (ran.code, ran.out, ran.err) == (0, "6\n", "read as: shapecalc reshape - 6\n")


def test_entry_point_hands_text_on_and_keeps_stdin(shapecalc):
    case = "reshape 2,3 6 => 6"
    assert shapecalc(case, stdin="not read").err.endswith("shapecalc: 1 passed\n")
    assert sys.stdin.read() == "not read"


@each_row(("line", "standard"), rows("spellings.txt"))
def test_entry_point_suggests_the_intended_word(line, standard, shapecalc):
    ran, standard_ran = (shapecalc(*shlex.split(words), stdin="2,3") for words in (line, standard))
    assert (ran.code, ran.out) == (standard_ran.code, standard_ran.out)
    assert _notes_without_reading(ran.err) == _notes_without_reading(standard_ran.err)


def _notes_without_reading(err):
    """Return the lines on standard error, without the line that says how the words were read."""
    return [line for line in err.splitlines() if not line.startswith("read as: ")]


def test_entry_point_dialect_names_are_unique(shapecalc):
    names = [name for row in DIALECTS.values() for name in (row.name, *row.aliases)]
    assert len({*names}) == len(names)
    chain = "2,3 | reshape 6"
    for row in DIALECTS.values():
        for name in (row.name.upper(), *row.aliases):
            ran = shapecalc("chain", f"{chain} --dialect {name}", "--json")
            assert ran == shapecalc("chain", chain, "--json", "-d", row.name)


def test_entry_point_reads_files_by_content(shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("run.log").write_text("step 1\nRuntimeError: shape '[5, 5]' is invalid for input of size 24\n")
    Path("cut.py").write_text("y = x.view(3, 2)\n")
    Path("trt.py").write_text("# x: 2,N -> y: N,2\nlayer = network.add_shuffle(x)\nlayer.first_transpose = (1, 0)\n")
    Path("cases.txt").write_text("# mine\nreshape 2,3 6 => 6\n")
    Path("arrays/deeper").mkdir(parents=True)
    np.save("arrays/deeper/b.npy", np.zeros((3, 2)))
    np.save("arrays/a.npy", np.zeros((2, 3)))
    Path("arrays/notes.md").write_text("no array")
    Path("empty").mkdir()
    Path("blob").write_bytes(b"a\0b")
    os.mkfifo("pipe")
    for line, command in rows("files_read.txt"):
        ran, as_command = shapecalc(*shlex.split(line)), shapecalc(*shlex.split(command))
        assert (ran.code, ran.out) == (as_command.code, as_command.out)
        assert ran.err.startswith(f"read as: shapecalc {command}\n")
    for name, message in [
        ("blob", "blob is no text (texts are read, and .onnx, "),
        ("empty", "there is no array in empty (arrays end in .npy, .npz, .safetensors, .zarr; for cases: shapecalc "),
        ("pipe", "pipe is no regular file (write shapecalc < "),
    ]:
        ran = shapecalc(name)
        assert (ran.code, ran.err.startswith(f"shapecalc: usage: {message}"), ran.err.count("\n")) == (2, True, 1), ran


def test_entry_point_name_like_an_option_is_a_file(shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("--junit=x.npy", np.zeros(2))
    ran = shapecalc(".")
    assert (ran.code, ran.err) == (0, "read as: shapecalc match ... ./--junit=x.npy\nshapecalc: 1 passed\n")
    assert [path.name for path in tmp_path.iterdir()] == ["--junit=x.npy"]


def test_overview_screens_fit_and_examples_run(shapecalc):
    short, full = shapecalc().out, shapecalc("-h").out
    assert len(short.splitlines()) <= 24
    assert len(full.splitlines()) <= 40
    assert max(map(len, (short + full).splitlines())) <= 90
    assert {*OPS, *COMMAND_MODULES} <= {*re.findall(r"\w+", full)}
    examples = re.findall(r"^  shapecalc (.*?)(?:  .*)?$", short, re.M)
    assert len(examples) == 8
    assert {shapecalc(*shlex.split(example)).code for example in examples[:3]} == {0}


def test_readings_table_names_every_command():
    section = PAGES[0].with_name("shapecalc.1").read_text("utf-8").split(".Ss Readings\n")[1].split("\n.Ss ")[0]
    assert {shlex.split(command)[0] for _, command in READINGS} <= {*re.findall(r"^\.Ic (\w+)", section, re.M)}


WORDS = (
    *TOPIC_ALIASES,
    *MANUAL_PAGES,
    "onnx",
    "ORT",
    "indivisible",
    "readings",
    "topics",
    "bad-axis",
    "zero_is_placeholder",
    "strict",
)


def test_completion_words_have_help(shapecalc):
    for word in (*TOPIC_ALIASES, *MANUAL_PAGES, *WORDS):
        ran = shapecalc("help", word)
        assert (ran.code, ran.err, len(ran.out) > 60) == (0, "", True), word


LONG = [
    *("<9 x 20000>", "2<  x 50000>x", "<2, x 200000>", "x<[0] x 5000>"),
    *("<(2, x 5000>", "x<.t() x 5000>", "x<.t() x 300>"),
    *("<a x 2000000>", "<a, x 600000>", "<ab  x 20000>", "<a-> x 20000>", "<x.view(2)  x 2000>"),
]
MAX_EXPRESSION_LENGTH = 5000
"""The longest regular expression of the package, with room; one that is made of a long input would be longer."""


@pytest.mark.parametrize("text", LONG)
def test_entry_point_long_unknown_text_is_linear(text, shapecalc):
    assert shapecalc(stdin=expand_placeholders(text)).code in (0, 1, 2, 3)  # `2   x` has the dims 2 and x


@pytest.mark.sampled(20)
@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize(
    "command", ["", "repl", "why", "help", "doctor", "check -", "reshape - 6", "chain '- | flatten'"]
)
def test_entry_point_long_text_is_not_made_an_expression(command, text, shapecalc, monkeypatch):
    lengths, words = [0], shlex.split(command)
    compile_expression = re._compile
    monkeypatch.setattr(
        re, "_compile", lambda pattern, flags: lengths.append(len(pattern)) or compile_expression(pattern, flags)
    )
    long = expand_placeholders(text)
    if words[:1] in (["why"], ["help"]):
        shapecalc(*words, long)
    else:
        assert shapecalc(*words, stdin=f"{long}\n2,3\n").code in (0, 1, 2, 3)
    assert max(lengths) < MAX_EXPRESSION_LENGTH


def test_entry_point_distinguishes_shapes_from_code():
    for text in ("2,3,4", "N,C", "(2, 3)", "[2,3]", "torch.Size([2,3])"):
        assert detect_command(UserInput((), (text,), lambda _: False))[0] == "size"
        assert parse_shape(text)


@each_row(("words", "commands"), rows("questions_in_words.txt"))
def test_questions_in_words_lead_to_commands(words, commands, shapecalc):
    ran = shapecalc(*shlex.split(words))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"shapecalc: usage: questions in words are not read (try {commands})\n"
    for command in commands.split("; "):
        if "tui" not in command:
            assert shapecalc(*shlex.split(command)[1:]).code in (0, 1)
