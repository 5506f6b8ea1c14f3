"""The commands that are not ops, and the output on a terminal."""

from __future__ import annotations

import json
import shlex

import pytest

from shapecalc import __version__
from shapecalc.cli.info import doctor_causes
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import all_rules, refusal_rules
from shapecalc.diagnosis.causes import CAUSES
from tests.cli.conftest import run_command_on_terminal
from tests.sampling import each_row

pytestmark = pytest.mark.sessions(4)


def test_version(shapecalc):
    assert shapecalc("--version").out == f"shapecalc {__version__}\n"


def test_dialects_prints_rows_and_sources(shapecalc):
    text = shapecalc("dialects").out
    assert all(row.source in text for row in DIALECTS.values())
    assert [row["name"] for row in json.loads(shapecalc("dialects", "--json").out)] == list(DIALECTS)


@each_row("rule", all_rules().values())
def test_why_example_triggers_the_rule(shapecalc, rule):
    text = shapecalc("why", rule).out
    assert text.startswith(f"{rule}: {rule.sentence}\n")
    assert rule.source in text
    assert rule.example in text
    ran = shapecalc(*shlex.split(rule.example)[1:], "--explain")
    assert f"shapecalc: {rule}: " in ran.err if rule in refusal_rules() else f"[{rule}]" in ran.err


def test_why_lists_the_rules(shapecalc):
    text = shapecalc("why").out
    assert all(f"  {rule} " in text for rule in all_rules())
    assert [rule["id"] for rule in json.loads(shapecalc("why", "--json").out)] == list(all_rules())


@each_row("cause", sorted(CAUSES.keys() - all_rules().keys()))
def test_why_explains_diagnosis_causes(shapecalc, cause):
    entry = json.loads(shapecalc("why", cause, "--json").out)
    assert (entry["id"], entry["says"]) == (cause, CAUSES[cause].summary)
    explained = shapecalc("why", cause).out
    assert explained.startswith(f"{cause}: {CAUSES[cause].summary}\n")
    example = doctor_causes()[cause].example
    assert explained.endswith(f"try     {example}\n" if example else "")
    assert "build.log" not in example, "build.log is not a file of the user"
    if example.startswith("shapecalc reshape"):
        assert shapecalc(*shlex.split(example)[1:]).code == 3


CARET_REPORTS = [
    (
        ["reshape", "2,3,4", "5,-1"],
        """\
shapecalc: indivisible: 24 elements (2*3*4) cannot be divided by 5, 4 left over

  reshape 2,3,4 5,-1
                  ^^
  hint  4 and 6 would divide: try 4,-1
  rule  shapecalc why indivisible
""",
    ),
    (
        ["shuffle", "[2, 3, 4]", "--first", "1, 0, 1", "--to", "0,-1"],
        """\
shapecalc: not-a-permutation: --first: axis 1 is named twice

  shuffle [2, 3, 4] --first 1, 0, 1 --to 0,-1
                                  ^
  hint  not named yet: 2
  rule  shapecalc why not-a-permutation
""",
    ),
    (
        ["reshape", "2,\x1b[2J", "6"],
        """\
shapecalc: usage: '\\x1b' is not allowed in '\\x1b[2J'

  reshape 2,\\x1b[2J 6
            ^^^^
  hint  a dim is a whole number, a name, ?, or a product such as 3*H*W/64
""",
    ),
    (
        ["reshape", "1," * 60 + "1", "1," * 60 + "5"],
        """\
shapecalc: volume-mismatch: the input has 1 element
  (1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*...), the requested
  1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,... has 5 elements
  (1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*1*...)

  reshape 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,... 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...
                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint  write 1 in place of the 5 at index 60
  rule  shapecalc why volume-mismatch
""",
    ),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("words", "report"), CARET_REPORTS, ids=lambda value: value[0][:20])
def test_terminal_error_has_a_caret(words, report):
    assert run_command_on_terminal(*words) == (2 if "usage" in report else 3, report)


def test_compare_has_every_setting_within_80_columns():
    code, output = run_command_on_terminal("compare", "0,3,4", "0,-1")
    lines = output.splitlines()
    assert (code, max(map(len, lines)) <= 80) == (1, True)
    assert len(lines) == 2 + sum(len(row.reshape_semantics) for row in DIALECTS.values())
