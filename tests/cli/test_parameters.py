"""Parameters of every kind: switches, choices, and parameters of a single dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecalc.cli.options import op_command_parameters
from shapecalc.core.ops import OPS
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.reading import cases
from shapecalc.reading.commands import argument_texts, command_line, command_pieces, parse_stage, usage_hint
from shapecalc.reading.options import Option
from shapecalc.render.stage_layout import stage_layouts
from tests.cli import test_transcripts as cli
from tests.invented_params import invented_params
from tests.sampling import each_row
from tests.transcripts import transcripts

__all__ = ["invented_params"]

pytestmark = pytest.mark.usefixtures("invented_params")


@pytest.mark.parametrize("lines", transcripts(Path(cli.__file__).parent / "transcripts" / "invented", cli.SIGNS))
def test_parameter_transcripts(lines, shapecalc, tmp_path, monkeypatch):
    keys = {**cases.case_keys(), **dict.fromkeys(("reverse", "mode", "keep_one"))}
    monkeypatch.setattr(cases, "case_keys", lambda: keys)
    cli.play(lines, shapecalc, tmp_path, monkeypatch)


def test_parameter_usage_names_switch_and_words():
    assert usage_hint(OPS["squeeze"]) == "write squeeze INPUT [--axes ...] [--reverse] [--mode ...] [--keep-one]"


def test_parameters_have_one_option_each():
    names = [option.name for option in op_command_parameters(OPS["squeeze"]) if isinstance(option, Option)]
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
def test_parameters_round_trip_through_the_command_line(options):
    request = make_request("squeeze", "2,1,3", options)
    line_words = command_line(resolve(request)).split()[1:]
    pieces = [text for _, text in command_pieces("squeeze", argument_texts(request))]
    for words in (line_words, pieces):
        read = parse_stage(words, with_input=True)
        again = make_request(read.op, read.input, read.options)
        assert (again.arguments, again.dialect) == (request.arguments, request.dialect)


def test_parameter_neither_yes_nor_no_is_shown_unchanged():
    assert [text for _, text in command_pieces("squeeze", {"input": "1", "reverse": "x"})][-2:] == ["--reverse", "x"]


def test_parameters_are_named_in_pictures():
    options = {"keep_one": True, "mode": "TAIL", "reverse": False, "dialect": "torch"}
    assert (
        stage_layouts(resolve(make_request("squeeze", "2,1,3", options)))[0].title
        == "squeeze no reverse mode TAIL keep_one"
    )


@each_row("op", OPS)
def test_parameter_help_is_a_sentence(op):
    options = [option for option in op_command_parameters(OPS[op]) if isinstance(option, Option)]
    texts = [option.help for option in options if not option.lists_completions]
    assert all(text.endswith(".") for text in texts), texts
