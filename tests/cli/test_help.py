"""The help of each command: its options, its layout, and its width."""

from __future__ import annotations

import re

import pytest

from shapecalc.cli.help import MAX_WIDTH, MIN_WIDTH, help_text
from shapecalc.cli.info import topic_text
from shapecalc.cli.options import COMMAND_MODULES, Argument, load_command
from shapecalc.cli.output_options import OUTPUT_OPTIONS
from shapecalc.core.ops import OPS
from shapecalc.reading.options import RULE_OPTIONS
from tests.cli.conftest import run_command_on_terminal
from tests.sampling import each_row

NAMES = [*OPS, *COMMAND_MODULES]
NARROW_HELP = """\
Options of onednn, openvino:
  --special-zero / --no-special-zero
                                  oneDNN and
                                  OpenVINO, which
                                  require it: 0
                                  copies a dim.

"""


@each_row("name", NAMES)
def test_help_lists_every_parameter_once(name):
    command, text = load_command(name), help_text(name)
    assert text.startswith(f"Usage: shapecalc {name} [OPTIONS]")
    _, _, parameters = text.partition("\n\nArguments" if "\n\nArguments" in text else "\n\nOptions")
    for parameter in command.parameters:
        if isinstance(parameter, Argument):
            spelling = parameter.metavar
        elif name in OPS and parameter.name in OUTPUT_OPTIONS | RULE_OPTIONS:
            continue
        else:
            spelling = ", ".join(filter(None, (parameter.short, parameter.spelling)))
        assert len(re.findall(rf"^  {re.escape(spelling)}(?= |$)", parameters, re.M)) == 1, spelling


@pytest.mark.parametrize(("columns", "width"), [("30", MIN_WIDTH), ("60", 58), ("200", MAX_WIDTH)])
def test_help_fits_the_terminal(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    for name in NAMES:
        _, _, text = help_text(name).partition("\n\nOptions")
        body = text.partition("\n\nAll ops have")[0]
        assert max(map(len, body.splitlines())) <= width, name


def test_help_long_name_moves_its_description_below(monkeypatch):
    monkeypatch.setenv("COLUMNS", "52")
    assert NARROW_HELP in help_text("reshape")


def test_help_on_a_terminal_is_short_without_all():
    code, short = run_command_on_terminal("help", "cases")
    lines = short.splitlines()
    assert code == 0
    assert len(lines) == 24
    count = int(lines[-1].removesuffix(" more lines: shapecalc help cases --all"))
    assert count == len(topic_text("cases").rstrip().splitlines()) - 22
    assert run_command_on_terminal("help", "two-infers")[1].rstrip() == topic_text("two-infers").rstrip()
