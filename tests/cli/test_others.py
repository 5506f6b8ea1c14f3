"""The commands that are not ops, and the ends of a run: pipes, full disks, terminals."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from shapecalc import __version__
from shapecalc.cli.info import causes
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import every_rule, refusals
from tests.cli.conftest import command, environment, on_a_terminal, process

pytestmark = pytest.mark.sessions(10)


def test_no_arguments_print_a_short_help_with_examples_that_run(shapecalc):
    ran = shapecalc()
    examples = [line.strip() for line in ran.out.splitlines() if line.startswith("  shapecalc ")]
    assert (ran.code, ran.err, len(examples)) == (0, "", 8)
    for example in examples[:3]:
        assert shapecalc(*shlex.split(example.split("  ")[0])[1:]).code in (0, 1)


def test_version(shapecalc):
    assert shapecalc("--version").out == f"shapecalc {__version__}\n"


def test_compare_prints_a_row_for_every_setting_and_exits_1_when_they_differ(shapecalc):
    ran = shapecalc("compare", "0,3,4", "0,-1")
    rows = ran.out.splitlines()[1:]
    assert ran.code == 1
    assert len(rows) == sum(len(row.readings) for row in DIALECTS.values())
    assert any(row.split()[:2] == ["*", "openvino"] and row.endswith(" 0,12") for row in rows)
    assert any(row.split()[:1] == ["numpy"] and row.endswith("refused: zero-volume-infer") for row in rows)


def test_dialects_prints_every_row_and_its_source(shapecalc):
    text = shapecalc("dialects").out
    assert all(row.source in text for row in DIALECTS.values())
    assert [row["name"] for row in json.loads(shapecalc("dialects", "--json").out)] == list(DIALECTS)


@pytest.mark.parametrize("rule", every_rule().values(), ids=str)
def test_why_explains_a_rule_with_an_example_in_which_it_acts(shapecalc, rule):
    text = shapecalc("why", rule).out
    assert text.startswith(f"{rule}: {rule.sentence}\n")
    assert rule.source in text
    assert rule.example in text
    ran = shapecalc(*shlex.split(rule.example)[1:], "--explain")
    assert f"shapecalc: {rule}: " in ran.err if rule in refusals() else f"[{rule}]" in ran.err


def test_why_lists_the_rules(shapecalc):
    text = shapecalc("why").out
    assert all(f"  {rule} " in text for rule in every_rule())
    assert [rule["id"] for rule in json.loads(shapecalc("why", "--json").out)] == list(every_rule())


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
def test_a_terminal_shows_the_request_with_a_caret(words, report):
    code, shown = on_a_terminal(*words)
    assert shown == report
    assert code == (2 if "usage" in report else 3)


def test_compare_fits_80_columns_on_a_terminal():
    _, shown = on_a_terminal("compare", "0,3,4", "0,-1")
    assert max(map(len, shown.splitlines())) <= 80
    assert len(shown.splitlines()) == 2 + sum(len(row.readings) for row in DIALECTS.values())


def test_a_closed_pipe_ends_quietly():
    for words in (["reshape", "2,3,4", "0,-1"], ["dialects"], ["why"], ["reshape", "2,3,4", "0,-1", "--json"]):
        line = shlex.join(command(*words)) + "; echo $? >&2"
        ran = subprocess.run(
            ["bash", "-c", f"({line}) | true"], env=environment(), capture_output=True, text=True, check=False
        )
        assert ran.stderr == "0\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [["reshape", "2,3,4", "0,-1"], ["compare", "2,3", "6"], ["--help"], ["why"]])
def test_a_failed_write_is_4(words):
    with open("/dev/full", "w") as full:
        ran = process(*words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr) == (4, "shapecalc: stdout: No space left on device\n")


def test_invalid_bytes_are_shown_escaped():
    ran = process("reshape", b"2,\xff", "6", capture_output=True)
    assert ran.returncode == 2
    assert ran.stderr.isascii()
    assert b"\\udcff" in ran.stderr


def test_an_ascii_locale_is_no_obstacle():
    ran = subprocess.run(
        command("why", "copy-zero"),
        env={**environment(), "LC_ALL": "C", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_why_explains_what_the_doctor_finds(shapecalc):
    from shapecalc.doctor.reading import CAUSES

    for cause in CAUSES.keys() - every_rule().keys():
        assert shapecalc("why", cause).out.startswith(f"{cause}: {CAUSES[cause].said}\n")
    assert json.loads(shapecalc("why", "hard-coded-batch", "--json").out)["says"] == CAUSES["hard-coded-batch"].said
    explained = shapecalc("why", "hard-coded-batch").out
    assert "0,197,12,64" in explained
    assert "shapecalc model FILE.onnx --fix" in explained.replace("\n  ", " ")
    assert "did you mean hard-coded-batch?" in shapecalc("why", "hard-coded-bach").err


def test_why_shows_what_a_count_means_on_an_example_that_runs(shapecalc):
    explained = shapecalc("why", "count-mismatch").out
    assert "1600 elements cannot become 8,3,64" in explained
    example = json.loads(shapecalc("why", "count-mismatch", "--json").out)["example"]
    assert explained.endswith(f"try     {example}\n")
    assert shapecalc(*example.split()[1:]).err.startswith("shapecalc: volume-mismatch: ")


def test_no_cause_has_an_example_with_a_file_that_nobody_has():
    assert [str(rule) for rule in causes().values() if "build.log" in rule.example] == []


def test_find_counts_arrays_in_words(shapecalc):
    said = "--before was given 1 time, and --after 0 times"
    assert shapecalc("find", "--before", "x.npy").err == f"shapecalc: usage: {said}\n"
