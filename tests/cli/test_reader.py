"""The reader of lines: what a command line and a stage of a chain may write, and what is told of mistakes."""

from __future__ import annotations

import atexit
import gc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.cli.options import COMMANDS, PRINTING, Argument, command_named, parameters_of
from shapecalc.core.commands import Option, Spellings, Takes, read_op, read_stage, sort_words
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from tests.sampling import examples

READ = [
    ["reshape", "2,3,4", "0,-1"],
    ["reshape", "2,3,4", "-1,4"],
    ["reshape", "2,3,4", " -1,4"],
    ["reshape", "2,3,4", "- 1"],
    ["reshape", "-", "6"],
    ["reshape", "", "6"],
    ["reshape", "2,3", ""],
    ["reshape", "2,3", "\N{SUPERSCRIPT TWO}"],
    ["reshape", "2,3", "-\N{SUPERSCRIPT TWO}"],
    ["reshape", "2,\x1b[31m3", "6"],
    ["reshape", "\udcff", "6"],
    ["reshape", "2,3,4", "0,-1", "--json"],
    ["reshape", "--json", "2,3,4", "0,-1", "--json"],
    ["reshape", "2,3,4", "0,-1", "--expect", "2,12"],
    ["reshape", "2,3,4", "0,-1", "--expect=2,13"],
    ["reshape", "2,3,4", "0,-1", "--expect="],
    ["reshape", "2,3,4", "0,-1", "--expect=--json"],
    ["reshape", "2,3,4", "0,-1", "--expect", "-1,4"],
    ["reshape", "2,3,4", "0,-1", "--expect", " -1,x,,4", "--json"],
    ["reshape", "2,3,4", "0,-1", "--expect", "-1,x,,4", "--json"],
    ["reshape", "2,3,4", "0,-1", "--expect", "2,,12"],
    ["reshape", "2,3,4", "0,-1", "-d", "numpy"],
    ["reshape", "3,4,5", "0,-1", "-d", "onednn", "--special-zero", "--dtype", "f32"],
    ["reshape", "3,4,5", "0,-1", "--dialect=onednn"],
    ["reshape", "3,4,5", "0,-1", "-d", "ONNX"],
    ["reshape", "3,4,5", "0,-1", "-d", "onn"],
    ["reshape", "3,4,5", "0,-1", "-d", "torch", "-d", "onnx"],
    ["reshape", "0,3", "3,0", "--allowzero", "--opset", "14"],
    ["reshape", "0,3", "3,0", "--allowzero", "--no-allowzero"],
    ["reshape", "0,3", "3,0", "--no-allowzero", "--opset", "13"],
    ["reshape", "2,3", "6", "--opset", "99"],
    ["reshape", "2,3", "6", "--opset", "-1"],
    ["reshape", "N,C", "-1", "--where", "N=2,C=3"],
    ["reshape", "N,C", "-1", "--where", "N=x"],
    ["reshape", "N/2,3", "-1", "--where", "N=3"],
    ["reshape", "N,4", "2,6"],
    ["reshape", "N,4", "2,6", "--strict", "--json"],
    ["reshape", "N,4", "2,6", "--strict", "-q"],
    ["reshape", "2,3,4", "5,-1"],
    ["reshape", "2,3,4", "5,-1", "--json"],
    ["reshape", "2,3,4", "5,-1", "--expect", "5,5", "--quiet"],
    ["reshape", "2,3,4", "0,-1", "--explain"],
    ["reshape", "2,3,4", "0,-1", "--explain=all"],
    ["reshape", "2,3,4", "0,-1", "-e", "--explain"],
    ["reshape", "2,3,4", "0,-1", "--values", "--follow", "1,0,0", "--follow-out", "-1,0"],
    ["reshape", "2,3,4", "0,-1", "--as", "numpy"],
    ["reshape", "2,3,4", "0,-1", "--as", "nothing"],
    ["reshape", "2,3,4", "0,-1", "-o", "x.npy"],
    ["reshape", "2,3,4", "0,-1", "--backend", "nothing"],
    ["reshape", "missing.npy", "-1"],
    ["transpose", "2,3,4"],
    ["transpose", "2,3,4", "-1,0,1", "-d", "numpy"],
    ["transpose", "2,3,4", "1,0,1", "--json"],
    ["shuffle", "2,3,4", "--first", "1,0,2", "--to", "-1,3", "--zero-is-placeholder"],
    ["shuffle", "2,3", "-d", "onnx"],
    ["shape", "2,3,4", "--start", "-1"],
    ["shape", "2,3,4", "--start=-1", "--end", "x"],
    ["flatten", "2,3,4", "--start-dim", "1", "-d", "torch"],
    ["squeeze", "1,3,1", "--axes", "-1"],
    ["squeeze", "1,3,1", "-1"],
    ["squeeze", "1,3,1", "0", "--json"],
    ["unsqueeze", "2,3", "0,-1", "-d", "numpy"],
    ["unsqueeze", "2,3"],
    ["expand", "3,1", "-1,4", "-d", "torch"],
    ["depth_to_space", "1,8,2,3", "2", "--mode", "crd"],
    ["rearrange", "[]", "-> n", "n=3"],
]
SAME = [
    # two ways to write the same
    (["reshape", "2,3", "--", "6"], ["reshape", "2,3", "6"]),
    (["reshape", "2,3", "--target", "6"], ["reshape", "2,3", "6"]),
    (["reshape", "2,3", "6", "-donnx"], ["reshape", "2,3", "6", "-d", "onnx"]),
    (["reshape", "2,3", "6", "-qe"], ["reshape", "2,3", "6", "-q", "-e"]),
    (["reshape", "2,3", "6", "-ee"], ["reshape", "2,3", "6", "--explain=all"]),
    (["reshape", "2,3", "6", "--allowzero=1"], ["reshape", "2,3", "6", "--allowzero"]),
    (["reshape", "2,3", "6", "--allowzero=0"], ["reshape", "2,3", "6", "--no-allowzero"]),
    (["reshape", "2,3", "6", "--expect", "--json"], ["reshape", "2,3", "6", "--expect=--json"]),
    (["reshape", "-h"], ["reshape", "2,3", "6", "7", "--help"]),
]
MISTAKES = [
    ("--jsno", "shapecalc has no option '--jsno' (there are --version, --help, "),
    ("nothing", "no such command or file 'nothing' (what is read: shapecalc help readings)"),
    ("nothing 2,3", "(if it is a function: shapecalc 'nothing(x)' 2,3)"),
    ("reshpe 2,3 6", "no such command or file 'reshpe' (did you mean reshape?)"),
    ("reshape 2,3", "missing argument 'TARGET' (as in shapecalc reshape 2,3,4 0,-1; see shapecalc reshape -h)"),
    ("equiv 2,3|flatten", "missing argument ''| OP ...'' (see shapecalc equiv -h)"),
    ("check", "missing argument 'FILE...' (see shapecalc check -h)"),
    ("why a b", "why does not take 'b' (see shapecalc why -h)"),
    ("chain 2,3|flatten --jsno", "chain has no option '--jsno' (did you mean --json?)"),
    ("reshape 2,3 6 --jsno", "reshape has no option '--jsno' (did you mean --json?)"),
    ("reshape 2,3 6 --no-json", "reshape has no option '--no-json' (did you mean --json?)"),
    ("reshape 2,3 6 -qz", "reshape has no option '-qz' (see shapecalc reshape -h)"),
    ("reshape 2,3 6 --json=1", "--json takes no value (see shapecalc reshape -h)"),
    ("reshape 2,3 6 --explain=no", "--explain takes no value (see shapecalc reshape -h)"),
    ("reshape 2,3 6 --no-allowzero=1", "--no-allowzero takes no value (see shapecalc reshape -h)"),
    ("reshape 2,3 6 --allowzero=2", "allowzero is 0 or 1, not '2' (see shapecalc reshape -h)"),
    ("reshape 2,3 6 --opset", "--opset needs a value (see shapecalc reshape -h)"),
    ("reshape 2,3 6 -d=onnx", "there is no dialect '=onnx' (did you mean onnx?)"),
    ("flatten 2,3 --special-zero", "flatten has no option '--special-zero' (see shapecalc flatten -h)"),
    ("chain 2,3|flatten --special-zero", "onnx Flatten has no special_zero"),
    ("vectors --dialect", "--dialect needs a value (see shapecalc vectors -h)"),
]
WORDS = ["2,3,4", "N,3", "6", "-1", "0,-1", "-1,4", "-", "", " -1", "1,0,2", "13", "onnx", "torch", "N=2", "--", "-x"]


@pytest.mark.parametrize("words", READ, ids=lambda words: ascii(" ".join(words)))
def test_a_line_is_read(words):
    assert "input" in read_op(OPS[words[0]], words[1:], PRINTING.values())


@pytest.mark.parametrize(("words", "others"), SAME, ids=lambda words: " ".join(words))
def test_an_option_may_be_written_in_several_ways(words, others, shapecalc):
    assert shapecalc(*words) == shapecalc(*others)


@pytest.mark.parametrize(("line", "said"), MISTAKES)
def test_a_mistake_is_told_in_one_line(line, said, shapecalc):
    words = line.split(" ")
    ran = shapecalc(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("shapecalc: usage: ")
    assert said in ran.err


def test_only_a_process_that_answers_an_op_ends_without_a_search_for_garbage(monkeypatch, shapecalc):
    at_the_end = []
    monkeypatch.setattr(atexit, "register", at_the_end.append)
    assert shapecalc("chain", "2,3 | reshape 6").out == "6\n"
    assert gc.freeze not in at_the_end
    assert shapecalc("reshape", "2,3", "6").out == "6\n"
    assert gc.freeze in at_the_end


def test_a_shell_that_asks_for_completions_is_left_to_typer(monkeypatch, shapecalc):
    monkeypatch.setenv("_SHAPECALC_COMPLETE", "source_bash")
    assert "_SHAPECALC_COMPLETE" in shapecalc("reshape", "2,3", "6").out


@st.composite
def command_lines(draw):
    """Draw the command line of an op: some of its options, some with values, and some plain words."""
    op = OPS[draw(st.sampled_from(list(OPS)))]
    words = draw(st.lists(st.sampled_from(WORDS[:6]), min_size=1, max_size=3))
    options = [each for each in parameters_of(op) if isinstance(each, Option) and each.name not in PRINTING]
    for option in draw(st.lists(st.sampled_from(options), max_size=4)):
        spelling = draw(st.sampled_from([option.spelling, option.short or option.spelling]))
        text = draw(st.sampled_from(WORDS))
        written = [[spelling], [f"--no-{option.name.replace('_', '-')}"]] if option.takes is Takes.SWITCH else []
        written += [[spelling, text], [spelling, text], [f"{spelling}={text}"]] if option.takes is Takes.TEXT else []
        place = draw(st.integers(0, len(words)))
        words[place:place] = draw(st.sampled_from([*written, [spelling]]))
    return [op.name, *words]


def asked(read, *arguments, **how):
    """Return what a reader makes of a line; the message if it refuses it."""
    try:
        return read(*arguments, **how)
    except ShapeError as error:
        return error.problem.message


@examples(300)
@given(command_lines())
@example(["reshape", "2,3,4", "--where", "--json", "6"])
@example(["squeeze", "1,3,1", "0", "--axes", "2"])
@example(["reshape", "2,3,4", "--", "-x"])
def test_any_line_of_an_op_asks_the_same_as_a_stage_with_its_input(words):
    line = asked(read_op, OPS[words[0]], words[1:])
    stage = asked(read_stage, words, with_input=True)
    if isinstance(line, dict):
        assert (line.pop("input"), line) == (stage.input, stage.options)
    elif not line.startswith("missing argument"):
        assert line == stage


@pytest.mark.parametrize("name", [*OPS, *COMMANDS])
def test_every_option_of_a_command_is_read_as_it_is_spelled(name):
    command = command_named(name)
    for option in (each for each in command.parameters if isinstance(each, Option)):
        text = option.default or str(option.least)
        value = [] if option.takes in (Takes.NOTHING, Takes.MORE, Takes.SWITCH) else [text]
        for spelling in option.spellings():
            _, found = sort_words(
                [spelling, *([] if spelling.startswith("--no-") else value)], Spellings([option]), name
            )
            assert [*found] == [option.name]


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_every_option_of_an_op_has_a_spelling_of_its_own(op):
    options = [each for each in parameters_of(op) if not isinstance(each, Argument)]
    spellings = [spelling for each in options for spelling in (each.spelling, each.short) if spelling]
    assert len({*spellings}) == len(spellings)
    assert len({each.name for each in options}) == len(options)
