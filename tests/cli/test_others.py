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


def test_compare_agrees_where_all_answer_alike_or_all_refuse(shapecalc):
    assert shapecalc("compare", "2,3,4", "6,-1").code == 0
    assert shapecalc("compare", "2,3,4", "5,-1").code == 0
    assert shapecalc("compare", "2,3,4", "0,-1", "-q").code == 1
    assert shapecalc("compare", "2,3,4", "0,-1", "-d", "onnx", "-d", "tensorrt", "-q").code == 0
    assert shapecalc("compare", "2,3,4", "0,-1", "-d", "onednn", "-q").code == 1


def test_compare_takes_every_op(shapecalc):
    ran = shapecalc("compare", "squeeze", "1,3,1", "--axes", "1")
    rows = {line.split()[-2]: line.split()[-1] for line in ran.out.splitlines()[1:]}
    assert ran.code == 1
    assert (rows["torch"], rows["openvino"]) == ("1,3,1", "1,3,1")
    assert shapecalc("compare", "squeeze", "1,3,1", "1") == ran
    assert shapecalc("compare", "permute", "2,3", "1,0", "-q").code == 0
    found = json.loads(shapecalc("compare", "flatten", "2,3,4", "--axis", "2", "--json").out)
    assert (found["of"], found["request"]) == ("flatten", {"axis": 2})
    assert [row["dialect"] for row in found["rows"]] == ["onnx", "coreml", "onnxruntime"]
    assert "torch" in found["unasked"]
    assert (
        "left out, because they do not have these arguments"
        in shapecalc("compare", "flatten", "2,3,4", "--axis", "2").err
    )


AT_OTHERS = "(* marks the answers at other settings than the default)"


@pytest.mark.parametrize(
    ("words", "stars", "said"),
    [
        (["2,3,4", "6,-1", "-d", "onnx"], 0, "the dialects agree"),
        (["2,3,4", "0,-1", "-d", "onnx"], 1, f"the dialects agree {AT_OTHERS}"),
        (["2,3,4", "0,-1", "-d", "onnx", "-d", "numpy"], 2, "the dialects differ (* marks the less common answers)"),
        (["view", "2,3,4", "6,4"], 0, "only torch has view"),
        (["shuffle", "2,3,4", "--to", "0,-1"], 1, f"only tensorrt has shuffle {AT_OTHERS}"),
    ],
)
def test_the_sentence_below_a_comparison_says_what_the_stars_mean(words, stars, said, shapecalc):
    ran = shapecalc("compare", *words)
    assert ran.out.count("*") == stars
    assert ran.err == f"shapecalc: {said}\n"


def test_compare_takes_chains(shapecalc):
    ran = shapecalc("compare", "chain", "N,1 | squeeze --axes 0 | reshape -1")
    assert ran.code == 1
    assert shapecalc("compare", "N,1 | squeeze --axes 0 | reshape -1") == ran
    found = json.loads(shapecalc("compare", "2,6 | reshape 0,-1 | rearrange 'a b -> b a'", "--json").out)
    rows = {(row["dialect"], *row["options"].values()): row for row in found["rows"]}
    assert (found["of"], found["request"]) == ("chain", {"stages": ["reshape 0,-1", 'rearrange "a b -> b a"']})
    assert rows["onnx", False]["output"] == [6, 2]
    assert rows["numpy",]["problem"]["rule"] == "zero-volume-infer"
    assert shapecalc("compare", "2,3 | reshape 6", "-d", "trt", "-d", "pt", "--expect", "6", "-q").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["2,3 |"], "an operation is missing"),
        (["x", "2,3 | flatten"], "a chain is one word"),
        (["2,3 | reshape 6 --dialect onnx"], "compare asks under every dialect"),
        (["2,3 | view 6", "-d", "onnx"], "onnx has no view"),
        (["2,3 | flatten", "--where", "Q=2"], "no dim is called Q"),
        (["squeeze"], "squeeze needs an input"),
        (["reshpe", "2,3", "6"], "did you mean reshape?"),
        (["2,3"], "reshape needs a target"),
        (["2,3", "6", "--allowzero"], "compare asks under every allowzero"),
        (["2,3", "6", "--nope"], "reshape has no option '--nope'"),
        (["2,3", "6", "--picture", "x.svg"], "compare takes no --picture (it takes --dialect, --opset, --dtype, "),
        (["2,3", "6", "--as=torch"], "compare takes no --as (it takes --dialect, "),
        (["2,3", "6", "-o", "x.npy"], "compare takes no -o (it takes --dialect, "),
        (["2,3 | flatten", "--values"], "compare takes no --values (it takes --dialect, "),
        (["view", "2,3", "6", "-d", "onnx"], "onnx has no view (it is in torch)"),
        (["squeeze", "1,3", "x"], "an axis is a whole number"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(words, said, shapecalc):
    ran = shapecalc("compare", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_compare_as_json(shapecalc):
    found = json.loads(shapecalc("compare", "N,4", "2,6", "--json").out)
    assert (found["agree"], found["input"], found["request"]) == (True, ["N", 4], {"target": [2, 6]})
    assert {row["dialect"] for row in found["rows"]} == set(DIALECTS)
    assert all(row["conditions"] == ["N == 3"] for row in found["rows"])


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


@pytest.mark.parametrize(
    ("word", "rules"),
    [
        ("-1", ["infer", "infer-empty"]),
        ("batch", ["volume-mismatch", "wrong-rank"]),
        ("ALLOWZERO", ["literal-zero", "volume-mismatch", "zero-beside-infer", "no-such-attribute"]),
        ("strides", ["view-strides"]),
    ],
)
def test_why_finds_rules_by_a_word(word, rules, shapecalc):
    ran = shapecalc("why", word)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()][: len(rules)] == rules
    assert [rule["id"] for rule in json.loads(shapecalc("why", word, "--json").out)][: len(rules)] == rules


def test_one_rule_with_the_word_is_explained(shapecalc):
    assert shapecalc("why", "DCR").out == shapecalc("why", "split-blocks").out


def test_why_finds_a_rule_by_a_word_of_its_name(shapecalc):
    found = [rule["id"] for rule in json.loads(shapecalc("why", "zero", "--json").out)]
    assert found[:2] == ["copy-zero", "literal-zero"]


def test_why_lists_the_rules(shapecalc):
    text = shapecalc("why").out
    assert all(f"  {rule} " in text for rule in every_rule())
    assert [rule["id"] for rule in json.loads(shapecalc("why", "--json").out)] == list(every_rule())


SESSION = """\
2,3,4
transpose 1,0,2
reshape 0,-1
undo
reshape 5,-1
ans
reshape ans -1
reshape 2,6 -1
ans | reshape 3,4 | transpose
dialect numpy
reshape -2,2
explain
shape
expalin
quit
reshape 1 1
"""


def test_the_prompt_carries_a_shape_and_an_error_leaves_it(shapecalc):
    ran = shapecalc("repl", stdin=SESSION)
    answers = ran.out.splitlines()
    assert answers[:9] == ["2,3,4", "3,2,4", "3,8", "3,2,4", "3,2,4", "24", "12", "4,3", "6,2"]
    assert "numpy reshape" in ran.out
    assert answers[-1] == "6,2"
    assert "shapecalc: indivisible: 24 elements (3*2*4) cannot be divided by 5" in ran.err
    assert "did you mean explain?" in ran.err
    assert ran.code == 3


def test_the_prompt_explains_with_one_picture_or_with_all(shapecalc):
    short, whole = (
        shapecalc("repl", stdin=f"2,3,4\nreshape 4,-1\n{asked}\n").out for asked in ("explain", "explain all")
    )
    assert "1 more picture: explain all" in short
    assert ("mix axes" in short, "have " in short) == (False, True)
    assert "mix axes" in whole


def test_every_line_of_the_prompt_gets_a_reply_and_no_traceback(shapecalc):
    lines = [
        "help",
        "ops",
        "why",
        "why infer",
        "why zzz",
        "dialect",
        "dialect zzz",
        "undo",
        "explain",
        "explain all",
        "explain x",
        "ans",
        "|",
        "'",
        "2,,3",
    ]
    ran = shapecalc(
        "repl", stdin="\n".join([*lines, "\x1b[2J", "\udcff", "reshape", "reshape 1 2 3", "squeeze --axes"])
    )
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err + ran.out


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
shapecalc: not-a-permutation: axis 1 is named twice

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
