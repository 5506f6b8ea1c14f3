"""The reader of command lines and of stages of a chain. Errors: `transcripts/mistakes.txt`."""

from __future__ import annotations

import atexit
import gc
import json
import shlex

from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.cli.options import COMMAND_MODULES, OUTPUT_OPTIONS, Argument, load_command, op_command_parameters
from shapecalc.cli.output_options import OutputOptions
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import fields
from shapecalc.reading.commands import parse_op_words, parse_stage
from shapecalc.reading.options import Option, OptionKind, OptionLookup, default_values, parse_words
from tests.cli.conftest import rows
from tests.sampling import each_row, examples

WORDS = ["2,3,4", "N,3", "6", "-1", "0,-1", "-1,4", "-", "", " -1", "1,0,2", "13", "onnx", "torch", "N=2", "--", "-x"]


@each_row(("line", "expected"), rows("lines_read.txt"))
def test_command_line_table(line, expected):
    op, *words = shlex.split(line)
    assert parse_op_words(OPS[op], words, OUTPUT_OPTIONS.values()) == json.loads(expected)


def test_output_options_have_one_field_each():
    assert [*OUTPUT_OPTIONS] == [
        name for name in OutputOptions.__match_args__ if name not in ("film", "line_prefix", "hides_errors")
    ]
    assert default_values(OUTPUT_OPTIONS.values()).items() <= fields(OutputOptions()).items()
    parsed = parse_op_words(OPS["reshape"], ["2,3", "6", "--step", "2", "--as", "torch"], OUTPUT_OPTIONS.values())
    output_options = OutputOptions(**{name: value for name, value in parsed.items() if name in OUTPUT_OPTIONS})
    assert (output_options.step, output_options.code, output_options.backend) == (2, "torch", "auto")


def test_garbage_collection_is_off_only_for_op_processes(monkeypatch, shapecalc):
    exit_functions = []
    monkeypatch.setattr(atexit, "register", exit_functions.append)
    assert shapecalc("chain", "2,3 | reshape 6").out == "6\n"
    assert gc.freeze not in exit_functions
    assert shapecalc("reshape", "2,3", "6").out == "6\n"
    assert gc.freeze in exit_functions


def test_completion_requests_are_handed_to_typer(monkeypatch, shapecalc):
    monkeypatch.setenv("_SHAPECALC_COMPLETE", "source_bash")
    assert "_SHAPECALC_COMPLETE" in shapecalc("reshape", "2,3", "6").out


@st.composite
def command_lines(draw):
    """Draw the command line of an op: options with and without values, and plain words."""
    op = OPS[draw(st.sampled_from(list(OPS)))]
    words = draw(st.lists(st.sampled_from(WORDS[:6]), min_size=1, max_size=3))
    options = [
        option
        for option in op_command_parameters(op)
        if isinstance(option, Option) and option.name not in OUTPUT_OPTIONS
    ]
    for option in draw(st.lists(st.sampled_from(options), max_size=4)):
        spelling = draw(st.sampled_from([option.spelling, option.short or option.spelling]))
        text = draw(st.sampled_from(WORDS))
        spellings = [[spelling], [f"--no-{option.name.replace('_', '-')}"]] if option.kind is OptionKind.SWITCH else []
        spellings += (
            [[spelling, text], [spelling, text], [f"{spelling}={text}"]] if option.kind is OptionKind.TEXT else []
        )
        index = draw(st.integers(0, len(words)))
        words[index:index] = draw(st.sampled_from([*spellings, [spelling]]))
    return [op.name, *words]


def read_or_message(read, *arguments, **options):
    """Return the result of a reader, or the message of its error."""
    try:
        return read(*arguments, **options)
    except ShapeError as error:
        return error.problem.message


@examples(110)
@given(command_lines())
@example(["reshape", "2,3,4", "--where", "--json", "6"])
@example(["squeeze", "1,3,1", "0", "--axes", "2"])
@example(["reshape", "2,3,4", "--", "-x"])
def test_op_line_equals_stage_with_input(words):
    line = read_or_message(parse_op_words, OPS[words[0]], words[1:])
    stage = read_or_message(parse_stage, words, with_input=True)
    if isinstance(line, dict):
        assert (line.pop("input"), line) == (stage.input, stage.options)
    elif not line.startswith("missing argument"):
        assert line == stage


@each_row("name", [*OPS, *COMMAND_MODULES])
def test_command_options_are_read_in_every_spelling(name):
    command = load_command(name)
    for option in (parameter for parameter in command.parameters if isinstance(parameter, Option)):
        text = option.default or str(option.minimum)
        value = [] if option.kind in (OptionKind.FLAG, OptionKind.FLAG_OR_ALL, OptionKind.SWITCH) else [text]
        for spelling in option.spellings():
            _, values = parse_words(
                [spelling, *([] if spelling.startswith("--no-") else value)], OptionLookup([option]), name
            )
            assert [*values] == [option.name]


@each_row("op", OPS.values())
def test_op_options_have_distinct_spellings(op):
    options = [option for option in op_command_parameters(op) if not isinstance(option, Argument)]
    spellings = [spelling for option in options for spelling in (option.spelling, option.short) if spelling]
    assert len({*spellings}) == len(spellings)
    assert len({option.name for option in options}) == len(options)
