"""Parameters of every kind on the command line: a switch for yes or no, words, and those that one dialect has alone."""

from __future__ import annotations

import pytest

from shapecalc.cli.options import parameters_of
from shapecalc.core import cases as case
from shapecalc.core.ask import ask
from shapecalc.core.commands import Option, command_line, command_pieces, read_stage, texts_of, usage
from shapecalc.core.ops import OPS
from shapecalc.core.resolve import resolve
from shapecalc.view.layout import layouts
from tests.invented import invented

__all__ = ["invented"]

pytestmark = pytest.mark.usefixtures("invented")

ANSWERED = [
    ("2,1,3", "2,3"),
    ("2,1,3 --reverse", "3,2"),
    ("2,1,3 --no-reverse", "2,3"),
    ("2,1,3 --reverse --no-reverse", "2,3"),
    ("2,1,3 --reverse -d torch", "3,2"),
    ("2,1,3 --keep-one --dialect torch", "1,2,3"),
    ("2,1,3 --keep-one --mode tail -d torch", "2,3,1"),
    ("2,1,3 --keep-one --mode=TAIL --reverse -d torch", "1,3,2"),
    ("2,1,3 --no-keep-one --mode HEAD -d torch", "2,3"),
]
REFUSED = [
    ("2,1,3 --mode TAIL", "onnx has no mode here"),
    ("2,1,3 --keep-one", "onnx has no keep_one here"),
    ("2,1,3 --no-keep-one -d numpy", "numpy has no keep_one here"),
    ("2,1,3 --mode x -d torch", "mode is HEAD or TAIL, not 'x'"),
]


@pytest.mark.parametrize(("line", "output"), ANSWERED)
def test_a_command_takes_them(line, output, shapecalc):
    words = ["squeeze", *line.split()]
    assert shapecalc(*words).out == f"{output}\n"


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_a_command_refuses_what_the_dialect_lacks(line, message, shapecalc):
    words = ["squeeze", *line.split()]
    ran = shapecalc(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.parametrize(("line", "output"), ANSWERED)
def test_chains_case_files_and_the_prompt_take_them(line, output, shapecalc):
    shape, _, options = line.partition(" ")
    options = options.replace("-d ", "--dialect ")
    assert shapecalc("chain", f"{shape} | squeeze {options}").out == f"{output}\n"
    assert shapecalc("check", "-", stdin=f"squeeze {shape} {options} => {output}\n").code == 0
    assert shapecalc("repl", stdin=f"squeeze {shape} {options}\n").out == f"{output}\n"


@pytest.mark.parametrize(
    ("keys", "output"),
    [
        ('"reverse": 1', "[3, 2]"),
        ('"reverse": 0', "[2, 3]"),
        ('"reverse": true', "[3, 2]"),
        ('"dialect": "torch", "keep_one": 1, "mode": "tail"', "[2, 3, 1]"),
        ('"dialect": "torch", "keep_one": 1, "mode": "HEAD"', "[1, 2, 3]"),
        ('"dialect": "torch", "keep_one": 0, "mode": "HEAD"', "[2, 3]"),
        ('"reverse": 2', '{"error": "usage"}'),
        ('"reverse": 1.0', '{"error": "usage"}'),
        ('"dialect": "torch", "mode": "x"', '{"error": "usage"}'),
    ],
)
def test_json_cases_take_them(keys, output, shapecalc, monkeypatch):
    names = ("reverse", "mode", "keep_one")
    monkeypatch.setattr(case, "KEYS", {**case.KEYS, **dict.fromkeys(names)})
    line = f'{{"op": "squeeze", "input": [2, 1, 3], {keys}, "expect": {output}}}\n'
    first = '{"op": "squeeze", "input": [2, 1, 3], "dialect": "torch", "keep_one": 1, "mode": "TAIL"}\n'
    for number in ("0", "1"):
        first += f'{{"op": "squeeze", "input": [2, 1, 3], "reverse": {number}}}\n'
    ran = shapecalc("check", "-", stdin=first + line + line)
    assert ran.code == 0, ran.err


def test_help_shows_a_switch_and_the_words(shapecalc):
    shown = shapecalc("squeeze", "-h").out
    assert "--reverse / --no-reverse" in shown
    assert "--keep-one / --no-keep-one" in shown
    assert "--mode HEAD|TAIL" in shown
    assert usage(OPS["squeeze"]) == "write squeeze INPUT [--axes ...] [--reverse] [--mode ...] [--keep-one]"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("squeeze 2,1 --mode ", ["HEAD", "TAIL"]),
        ("squeeze --no-k", ["--no-keep-one"]),
        ("squeeze --rev", ["--reverse"]),
    ],
)
def test_completion_offers_them(words, offered, shapecalc, monkeypatch):
    monkeypatch.setenv("_SHAPECALC_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"shapecalc {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))
    assert shapecalc().out.split() == offered


def test_every_parameter_has_one_option():
    names = [each.name for each in parameters_of(OPS["squeeze"]) if isinstance(each, Option)]
    assert [names.count(name) for name in ("axes", "reverse", "mode", "keep_one")] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "options",
    [
        {"reverse": True},
        {"reverse": False},
        {"reverse": "1"},
        {"reverse": "0", "dialect": "torch"},
        {"mode": "tail", "keep_one": True, "dialect": "torch"},
        {"mode": "HEAD", "keep_one": "0", "reverse": 1, "dialect": "torch"},
    ],
)
def test_a_command_line_that_was_written_asks_the_same(options):
    request = ask("squeeze", "2,1,3", options)
    line = command_line(resolve(request))
    typed = read_stage(line.split()[1:], with_input=True)
    again = ask(typed.op, typed.input, typed.options)
    assert (again.arguments, again.dialect) == (request.arguments, request.dialect)
    pieces = [text for _, text in command_pieces("squeeze", texts_of(request))]
    as_typed = read_stage(pieces, with_input=True)
    assert ask(as_typed.op, as_typed.input, as_typed.options).arguments == request.arguments


def test_what_stands_for_neither_yes_nor_no_is_shown_as_it_is():
    assert [text for _, text in command_pieces("squeeze", {"input": "1", "reverse": "x"})][-2:] == ["--reverse", "x"]


def test_pictures_name_them():
    options = {"keep_one": True, "mode": "TAIL", "reverse": False, "dialect": "torch"}
    first = layouts(resolve(ask("squeeze", "2,1,3", options)))[0]
    assert first.title == "squeeze no reverse mode TAIL keep_one"


@pytest.mark.parametrize("op", OPS)
def test_the_help_of_an_option_is_a_sentence(op):
    said = [each.help for each in parameters_of(OPS[op]) if isinstance(each, Option) and not each.lists_completions]
    assert all(text.endswith(".") for text in said), said
