"""The way around Typer: it prints what Typer's command prints, byte for byte, and leaves the rest to Typer."""

from __future__ import annotations

import atexit
import gc
import io
import sys
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc import __main__
from shapecalc.cli import direct
from shapecalc.cli.options import Argument, Takes, parameters_of
from shapecalc.core.ops import OPS
from tests.sampling import examples

DIRECT = [
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
LEFT = [
    [],
    ["--version"],
    ["nothing", "2,3"],
    ["chain", "2,3 | flatten"],
    ["reshape"],
    ["reshape", "2,3"],
    ["reshape", "2,3", "6", "7"],
    ["reshape", "-h"],
    ["reshape", "2,3", "6", "--help"],
    ["reshape", "2,3", "--", "6"],
    ["reshape", "2,3", "--target", "6"],
    ["reshape", "2,3", "6", "--jsno"],
    ["reshape", "2,3", "6", "--json=1"],
    ["reshape", "2,3", "6", "--explain=no"],
    ["reshape", "2,3", "6", "-ee"],
    ["reshape", "2,3", "6", "--allowzero=1"],
    ["reshape", "2,3", "6", "--no-json"],
    ["reshape", "2,3", "6", "--no-opset"],
    ["reshape", "2,3", "6", "--opset"],
    ["reshape", "2,3", "6", "--expect", "--json"],
    ["reshape", "2,3", "6", "-donnx"],
    ["reshape", "2,3", "6", "-d=onnx"],
    ["reshape", "2,3", "6", "-qe"],
    ["flatten", "2,3", "--special-zero"],
    ["shuffle", "2,3", "--allowzero"],
]
WORDS = ["2,3,4", "N,3", "6", "-1", "0,-1", "-1,4", "-", "", " -1", "1,0,2", "13", "onnx", "torch", "N=2", "--", "-x"]


def run(words, *, by_typer):
    """Return the exit code of a command line, and what it printed, as bytes."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    empty = io.TextIOWrapper(io.BytesIO(b"2,3\n"))
    streams = {"argv": ["shapecalc", *words], "stdout": out, "stderr": err, "stdin": empty}
    with mock.patch.multiple(sys, **streams):
        if by_typer:
            with mock.patch.object(__main__, "answer_directly", lambda _words: None):
                code = __main__.main()
        else:
            code = __main__.main()
    return code, out.buffer.getvalue(), err.buffer.getvalue()


@pytest.mark.parametrize("by_typer", [False, True])
def test_only_a_process_that_answers_directly_ends_without_a_search_for_garbage(monkeypatch, by_typer):
    at_the_end = []
    monkeypatch.setattr(atexit, "register", at_the_end.append)
    assert run(["reshape", "2,3", "6"], by_typer=by_typer) == (0, b"6\n", b"")
    assert (gc.freeze in at_the_end) is not by_typer


def is_direct(words):
    op = OPS.get(words[0]) if words else None
    return op is not None and direct.read_words(op, words[1:]) is not None


@pytest.mark.parametrize("words", DIRECT, ids=lambda words: ascii(" ".join(words)))
def test_it_answers_as_typer_does(words):
    assert is_direct(words)
    assert run(words, by_typer=False) == run(words, by_typer=True)


@pytest.mark.parametrize("words", LEFT, ids=lambda words: " ".join(words))
def test_it_leaves_to_typer_what_the_table_does_not_say(words):
    assert not is_direct(words)
    assert run(words, by_typer=False) == run(words, by_typer=True)


@st.composite
def command_lines(draw):
    """Draw the command line of an op: some of its options, some with values, and some plain words."""
    op = OPS[draw(st.sampled_from(list(OPS)))]
    words = draw(st.lists(st.sampled_from(WORDS[:6]), min_size=1, max_size=3))
    options = [each for each in parameters_of(op) if not isinstance(each, Argument) and each.name != "out"]
    for option in draw(st.lists(st.sampled_from(options), max_size=4)):
        spelling = draw(st.sampled_from([option.spelling, option.short or option.spelling]))
        text = draw(st.sampled_from(WORDS))
        written = [[spelling], [f"--no-{option.name.replace('_', '-')}"]] if option.takes is Takes.SWITCH else []
        written += [[spelling, text], [spelling, text], [f"{spelling}={text}"]] if option.takes is Takes.TEXT else []
        place = draw(st.integers(0, len(words)))
        words[place:place] = draw(st.sampled_from([*written, [spelling]]))
    return [op.name, *words]


@examples(300)
@given(command_lines())
@example(["reshape", "2,3,4", "--where", "--json", "6"])
@example(["reshape", "2,3,4", "6", "--expect", "6,4", "--expect", "24"])
def test_any_command_line_is_answered_as_typer_does(words):
    assert run(words, by_typer=False) == run(words, by_typer=True)


def test_the_tests_above_can_fail(monkeypatch):
    monkeypatch.setattr(direct, "without_padding", lambda text: text[1:])
    words = ["reshape", "2,3", "6"]
    assert run(words, by_typer=False) != run(words, by_typer=True)


def test_a_shell_that_asks_for_completions_is_left_to_typer(monkeypatch):
    monkeypatch.setenv("_SHAPECALC_COMPLETE", "source_bash")
    assert direct.answer_directly(["reshape", "2,3", "6"]) is None


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_every_option_of_an_op_has_a_spelling_of_its_own(op):
    options = [each for each in parameters_of(op) if not isinstance(each, Argument)]
    spellings = [spelling for each in options for spelling in (each.spelling, each.short) if spelling]
    assert len({*spellings}) == len(spellings)
    assert len({each.name for each in options}) == len(options)
