"""`shapecalc check`: many cases, one process, one exit code; and `shapecalc vectors`."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tty
import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path

import pytest

from shapecalc.cli.check import BLOCK, split_blocks, updated_file
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.limits import LONGEST_LINE
from shapecalc.core.ops import operators_of, refusals
from tests.cli.conftest import command, environment, process

pytestmark = pytest.mark.sessions(14)

PASSES = "reshape 2,3,4 0,-1 => 2,12\n"
FAILS = "reshape 2,3,4 0,-1 => 2,13\n"
UNREAD = "reshape 2,,4 0,-1 => 2,13\n"
REFUSED = "reshape 2,3,4 5,-1\n"


@pytest.fixture
def check(shapecalc):
    """Run `check` over the text of standard input."""

    def run(text, *options):
        return shapecalc("check", "-", *options, stdin=text)

    return run


LINES = [
    ("reshape 2,3,4 0,-1 => 2,12", "", 0),
    ("  reshape 2,3,4 [0, -1]  =>  (2, 12)   # a comment", "", 0),
    ("reshape 2,3,4 5,-1 => error", "", 0),
    ("reshape 2,3,4 5,-1 => error indivisible", "", 0),
    ("reshape 2,3,4 5,-1 => error two-infers", "-:1: expected error two-infers, got error indivisible (24 elements", 1),
    ("2,3,4 => 2,3,4", "-:1: usage: '2,3,4' stands where an op is expected (write reshape 2,3,4 ...,", 2),
    ("reshape 2,3,4 => 6", "-:1: usage: reshape needs a target (as in reshape 2,3,4 0,-1)", 2),
    ("reshape 2,3,4 0,-1 => error", "-:1: expected error, got 2,12\n", 1),
    (FAILS, "-:1: expected 2,13, got 2,12 (-1 is 24 elements (2*3*4) / 2 known = 12)\n", 1),
    ("reshape N,4 2,6 => 2,6 when N == 3", "", 0),
    ("reshape N,4 2,6 => 2,6 when 2*N == 6", "", 0),
    ("reshape N,4 2,6 => 2,6", "", 0),
    ("reshape N,4 2,6 => 2,6 when N == 4", "-:1: expected 2,6 when N == 4, got 2,6 when N == 3\n", 1),
    ("reshape N,4 2,6", "2,6 when N == 3\n", 0),
    ("reshape N,C,H,W 0,-1 --where N=8,C=3,H=4,W=4 => 8,48", "", 0),
    ("shuffle 3,4 --first 1,0 --to 0,-1", "4,3\n", 0),
    ("2,3,4 | transpose 1,0,2 | reshape 2,-1,3 => 2,4,3", "", 0),
    ("{2,3} | flatten --axis 0 => 1,6", "", 0),
    ("# nothing\n\n   \n", "", 2),
    (REFUSED, "-:1: indivisible: 24 elements (2*3*4) cannot be divided by 5, 4 left over (4 and 6 would divide", 3),
    (UNREAD, "-:1: usage: a dim is missing", 2),
    ("reshape 2,3 => 6", "-:1: usage: reshape needs a target", 2),
    ("reshape => 6", "-:1: usage: reshape needs an input", 2),
    ("reshape 2,3 6 =>", "-:1: usage: an expectation is missing", 2),
    ("reshape 2,3 6 => error nope", "-:1: usage: there is no rule 'nope'", 2),
    ("reshap 2,3 6", "-:1: usage: there is no operation 'reshap' (did you mean reshape?)", 2),
    ("reshape 2,,3 6 => error usage", "", 0),
    ("\x1b[31mreshape", "-:1: usage: there is no operation '\\x1b[31mreshape'", 2),
    ("@default dialect=nope", "-:1: usage: there is no dialect 'nope'", 2),
    ("@defaults dialect=onnx", "-:1: usage: there is no operation '@defaults'", 2),
]


@pytest.mark.parametrize(("text", "shown", "code"), LINES, ids=[repr(text)[:60] for text, _, _ in LINES])
def test_a_line(check, text, shown, code):
    ran = check(text)
    assert ran.out.startswith(shown)
    assert bool(shown) == bool(ran.out)
    assert ran.code == code


OBJECT = {"op": "reshape", "dialect": "onnx", "opset": 14, "input": [2, 3, 4], "target": [0, -1], "allowzero": 0}
OBJECTS = [
    ({"expect": [2, 12]}, "", 0),
    ({"expect": "2,12", "id": 1, "source": "here"}, "", 0),
    ({"expect": "(2, 12)"}, "", 0),
    ({"expect": [2, 13]}, "-:1: expected 2,13, got 2,12 (-1 is", 1),
    ({"target": [5, -1], "expect": "error"}, "", 0),
    ({"target": [5, -1], "expect": {"error": "indivisible"}}, "", 0),
    ({"target": [5, -1], "expect": "error indivisible"}, "", 0),
    ({"target": [5, -1], "expect": {"error": "two-infers"}}, "-:1: expected error two-infers, got error indiv", 1),
    ({"target": [5, -1], "expect": "indivisible"}, "-:1: expected indivisible, got error indivisible", 1),
    ({"input": ["N", 4], "target": [2, 6], "expect": {"output": [2, 6], "conditions": ["N == 3"]}}, "", 0),
    ({"input": ["N", 4], "target": [2, 6], "where": {"N": 3}, "expect": [2, 6]}, "", 0),
    ({"input": "2,3,4", "target": "0,-1", "expect": [2, 12]}, "", 0),
    ({"allowzero": True, "input": [0, 3], "target": [3, 0], "expect": [3, 0]}, "", 0),
    ({}, "2,12\n", 0),
    ({"target": [5, -1]}, "-:1: indivisible: ", 3),
    ({"expct": [2, 12]}, "-:1: usage: a case has no 'expct' (did you mean expect?)", 2),
    ({"axis": 1}, "-:1: usage: onnx has no axis here", 2),
    ({"op": None}, "-:1: usage: a case needs an op", 2),
    ({"op": ["reshape"]}, "-:1: usage: a case needs an op", 2),
    ({"op": "reshap"}, "-:1: usage: there is no operation 'reshap' (did you mean reshape?)", 2),
    ({"input": None}, "-:1: usage: reshape needs an input", 2),
    ({"input": 5}, "-:1: usage: input is a sequence of dims, not 5", 2),
    ({"input": [2.0, 12]}, "-:1: usage: a dim is a whole number or a name, not 2.0", 2),
    ({"input": [True, 24], "expect": [1, 24]}, "-:1: usage: a dim is a whole number or a name, not True", 2),
    ({"expect": [2.0, 12]}, "-:1: usage: a dim is a whole number", 2),
    ({"target": [2, True], "input": [2], "expect": [2, 1]}, "-:1: usage: a dim is a whole number", 2),
    ({"opset": 14.0, "expect": [2, 12]}, "-:1: usage: opset is one whole number, not 14.0", 2),
    ({"opset": True, "expect": [2, 12]}, "-:1: usage: opset is one whole number, not True", 2),
    ({"allowzero": 0.0, "expect": [2, 12]}, "-:1: usage: allowzero is 0 or 1, not 0.0", 2),
    ({"allowzero": 2}, "-:1: usage: allowzero is 0 or 1, not 2", 2),
    ({"input": [2**64, 2], "target": [-1], "expect": {"error": "overflow"}}, "", 0),
    ({"input": [10**1001], "target": [-1]}, "-:1: usage: a dim is", 2),
    ({"dialect": ["onnx"]}, "-:1: usage: there is no dialect", 2),
    ({"expect": {"error": ["x"]}}, "-:1: usage: {'error': ['x']} is not an expectation", 2),
]


@pytest.mark.parametrize(("changed", "shown", "code"), OBJECTS, ids=[str(changed)[:60] for changed, _, _ in OBJECTS])
def test_a_json_line(check, changed, shown, code):
    ran = check(json.dumps(OBJECT | changed))
    assert ran.out.startswith(shown)
    assert bool(shown) == bool(ran.out)
    assert ran.code == code


BROKEN = [
    ('{"op": "reshape", "op": "shape", "input": [2]}', "the key 'op' is there twice"),
    ('{"op": "shape", "input": [2], "expect": {"error": "x", "error": "y"}}', "the key 'error' is there twice"),
    ('{"op": "shape", "input": [2]} {}', "it is not JSON: extra data at character 31"),
    ('{"op": "shape", "input": [2', "it is not JSON: expecting ',' delimiter"),
    ('{"op": "shape", "input": [NaN]}', "it is not JSON: NaN is not a number"),
    ('{"op": "shape", "input": [2], "id": 1e999}', "1e999 is larger than any float"),
    ('{"op": "shape", "input": [' + "9" * 5000 + "]}", "it has a number with too many digits"),
    ('{"a":' * 100_000, "it is nested too deeply"),
    ('{"op": "shape", "input": ' + "[" * 100_000 + "]" * 100_000 + "}", "it is nested too deeply"),
    ("{}", "a case needs an op"),
    ("[2, 3]", "'[2, 3]' stands where an op is expected"),
    ("reshpe 2", "there is no operation 'reshpe' (did you mean reshape?)"),
    ("\udcff\udcfe", "it is not UTF-8: byte 0xff at character 1"),
    ('{"op": "shape", "input": [2], "id": "\udcc3"}', "it is not UTF-8: byte 0xc3"),
    ("x" * (LONGEST_LINE + 1), "a line is longer, and the limit 'line' is 1048576"),
]


@pytest.mark.parametrize(("line", "message"), BROKEN, ids=[line[:40] for line, _ in BROKEN])
def test_a_broken_line_is_reported_and_the_rest_is_not_harmed(check, line, message):
    ran = check(f"{PASSES}{line}\n{PASSES}{FAILS}")
    first, second = ran.out.splitlines()
    assert first.startswith(f"-:2: usage: {message}")
    assert second.startswith("-:4: expected")
    assert (ran.code, ran.err) == (2, "shapecalc: 2 passed, 1 failed, 1 could not be read\n")
    rows = [json.loads(row) for row in check(f"{PASSES}{line}\n{PASSES}", "--json").out.splitlines()]
    assert [(row["line"], row["ok"], row["passed"]) for row in rows] == [
        (1, True, True),
        (2, False, None),
        (3, True, True),
    ]


def test_an_id_that_is_nested_deeply_comes_back_or_is_reported(check):
    for depth in (100, 900, 2000):
        ran = check(f'{{"op": "shape", "input": [2], "id": {"[" * depth}{"]" * depth}}}\n{PASSES}', "--json")
        assert ran.code in (0, 2)
        assert len(ran.out.splitlines()) == 2


def test_byte_order_mark_line_ends_and_a_last_line_without_one(check):
    ran = check(
        "\ufeff" + PASSES.replace("\n", "\r\n") + json.dumps(OBJECT | {"expect": [2, 12]}) + "\r\n" + REFUSED[:-1]
    )
    assert ran.out.startswith("-:3: indivisible")
    assert ran.err == "shapecalc: 2 passed, 1 could not be resolved\n"


def test_the_largest_code_counts(check):
    for text, code in ((PASSES, 0), (FAILS, 1), (FAILS + UNREAD, 2), (REFUSED + UNREAD + FAILS, 3)):
        assert check(text).code == code


def test_strict_takes_conditions_for_a_no(check):
    assert check("reshape N,4 2,6 => 2,6", "--strict").out == "-:1: expected 2,6, got 2,6 when N == 3\n"
    assert check("reshape N,4 2,6 => 2,6 when N == 3", "--strict").code == 0
    ran = check("reshape N,4 2,6", "--strict")
    assert (ran.code, ran.out) == (1, "2,6 when N == 3\n-:1: 2,6 when N == 3 holds only under conditions\n")


def test_defaults_hold_for_the_lines_below_where_they_have_a_say(check):
    text = (
        "@default dialect=tensorrt\nreshape 65536,65536 -1\n"
        "@default dialect=onnx opset=13\nreshape 2,3 6 --no-allowzero\nflatten 2,3 -d numpy\n"
        '{"op": "reshape", "input": [2, 3], "target": [6], "allowzero": 0}\n'
        "@default\nreshape 2,3 6 --no-allowzero\n@default zero_is_placeholder=0\nshuffle 0,3 --to 5,0\n2,3 | flatten\n"
    )
    found = [line.split(" ")[1] if line.startswith("-:") else line for line in check(text).out.splitlines()]
    assert found == ["infer-limit:", "no-such-attribute:", "6", "no-such-attribute:", "6", "5,0", "2,3"]


def test_a_line_that_is_too_long_sets_no_default(check):
    for start in ("@default dialect=numpy ", "x" * BLOCK + "@default dialect=numpy "):
        ran = check(f"{start}{'#' * 2 * LONGEST_LINE}\nreshape 2,3 0,-1\n")
        assert ran.out.splitlines()[1] == "2,3"


def test_json_has_an_object_a_line_in_order_with_ids_as_they_were(check):
    ids = [None, 5, "a:b", "ü\u2028", [1, {"x": 2.5}], True, 1.5]
    text = "".join(json.dumps(OBJECT | {"id": name, "expect": [2, 12 + (name == 5)]}) + "\n" for name in ids)
    rows = [json.loads(line) for line in check(text + "# x\n" + REFUSED, "--json").out.splitlines()]
    assert [row["id"] for row in rows] == [*ids, None]
    assert [row["passed"] for row in rows] == [True, False, True, True, True, True, True, None]
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6, 7, 9]
    keys = ["id", "file", "line", "ok", "passed", "output", "conditions", "assumes", "problem"]
    assert all(list(row) == keys for row in rows)
    assert (rows[-1]["ok"], rows[-1]["output"], rows[-1]["problem"]["rule"]) == (False, None, "indivisible")
    assert json.loads(check("reshape N,C 0,-1,1", "--json").out)["assumes"] == ["N"]


def test_quiet_says_nothing(check):
    for option in ((), ("--json",), ("--github",)):
        ran = check(FAILS + UNREAD, "--quiet", *option)
        assert (ran.code, ran.out, ran.err) == (2, "", "")


def test_github_annotations(shapecalc, tmp_path):
    path = tmp_path / "a,b:c%.txt"
    path.write_text(PASSES + FAILS)
    shown = shapecalc("check", str(path), "--github").out
    escaped = str(path).replace("%", "%25").replace(",", "%2C").replace(":", "%3A")
    assert (
        shown == f"::error file={escaped},line=2::expected 2,13, got 2,12 (-1 is 24 elements (2*3*4) / 2 known = 12)\n"
    )
    assert shapecalc("check", str(path), "--github", "--json").code == 2


@pytest.mark.parametrize("name", ["::error file=a", " ::stop-commands::x", "\t::debug::"])
def test_a_file_has_no_name_that_github_obeys(shapecalc, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(FAILS)
    ran = shapecalc("check", name)
    shown = name.replace("\t", "\\t")
    assert (ran.code, ran.out.partition(":1: ")[0]) == (1, f"./{shown}")
    assert shapecalc("check", "--github", name).out.startswith("::error file=")


def test_junit_holds_every_case(shapecalc, tmp_path):
    path, report = tmp_path / "<cases>&.txt", tmp_path / "junit.xml"
    path.write_text(
        PASSES + FAILS + UNREAD + REFUSED + json.dumps(OBJECT | {"id": 'a"b\x01', "expect": [2, 12]}) + "\n"
    )
    assert shapecalc("check", str(path), "--junit", str(report)).code == 3
    suite = ET.parse(report).getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "1",
        "errors": "2",
    }
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"], ["error"], []]
    assert {case.get("classname") for case in suite} == {str(path)}
    assert suite[1].get("name") == "line 2: reshape 2,3,4 0,-1"
    assert suite[4].get("name") == 'line 5: a"b\\x01'
    assert shapecalc("check", str(path), "--junit", str(tmp_path / "none" / "junit.xml")).code == 4


@pytest.mark.parametrize("depth", [300, 968, 972, 985, 3000])
@pytest.mark.parametrize("key", ["input", "target", "opset", "dtype", "where", "allowzero", "expect"])
def test_what_is_nested_deep_spares_the_other_lines(shapecalc, tmp_path, key, depth):
    case = {"op": "reshape", "input": [6], "target": [2, 3]}
    bomb = json.dumps(case | {key: 0}).replace(f'"{key}": 0', f'"{key}": {"[" * depth}{"]" * depth}')
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(case)}\n{bomb}\n{json.dumps(case)}\n")
    ran = shapecalc("check", str(path))
    assert (ran.code, ran.out.count("2,3\n")) == (2, 2)
    assert f"{path}:2: usage: " in ran.out


SETTLED = [
    ("reshape 3*N/2 -1 --where N=3 => error indivisible", 0, ""),
    ("reshape 3*N/2 -1 --where N=3", 3, "indivisible"),
    ('{"op": "reshape", "input": ["?", 2], "target": [-1], "expect": ["2*?"]}', 0, ""),
    ("reshape error -1 => error", 1, "got [error]"),
    ("reshape error -1 => [error]", 0, ""),
    ('{"op": "reshape", "input": {"N": 2}, "target": [-1]}', 2, "a sequence of dims, not dict"),
    ("reshape N,4 2,6 => 2,6\twhen\tN == 3", 0, ""),
    ("reshape N,4 2,6 => 2,6 when N == 3 and N == 4", 2, "never be true together"),
]


@pytest.mark.parametrize(("line", "code", "said"), SETTLED)
def test_a_line_is_settled(shapecalc, tmp_path, line, code, said):
    path = tmp_path / "cases.txt"
    path.write_text(line + "\n")
    ran = shapecalc("check", str(path))
    assert ran.code == code
    assert said in ran.out


def test_update_keeps_what_stands_before_an_object(shapecalc, tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text('\f{"op": "reshape", "input": [6], "target": [2, 3], "expect": [2, 4]}\n')
    assert shapecalc("check", "--update", str(path)).code == 0
    assert path.read_text() == '\f{"op": "reshape", "input": [6], "target": [2, 3], "expect": [2, 3]}\n'


def test_a_report_does_not_take_the_place_of_the_cases(shapecalc, tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text("reshape 6 -1 => 6\n")
    ran = shapecalc("check", str(path), "--junit", str(path))
    assert (ran.code, path.read_text()) == (4, "reshape 6 -1 => 6\n")
    assert "it is one of the files that are checked" in ran.err


def test_a_file_that_changes_while_it_is_updated_stays_as_it_became(tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text("old\n")
    with pytest.raises(OSError, match="another program has changed it"), updated_file(path, lambda: True) as file:
        file.write(b"ours\n")
        path.write_text("theirs, and longer\n")
    assert path.read_text() == "theirs, and longer\n"
    assert [each.name for each in tmp_path.iterdir()] == ["cases.txt"]


def test_a_file_whose_name_reads_as_a_value(shapecalc, tmp_path, monkeypatch):
    (tmp_path / "-1").write_text("reshape 6 -1 => 6\n")
    monkeypatch.chdir(tmp_path)
    assert shapecalc("check", "-1").code == 0


def test_a_pipe_with_a_name_takes_the_report_and_stays_a_pipe(tmp_path):
    cases, pipe = tmp_path / "cases.txt", tmp_path / "report"
    cases.write_text("reshape 2,3 -1 => 6\n")
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert process("check", str(cases), "--junit", str(pipe)).returncode == 0
        assert "</testsuite>" in reader.communicate(timeout=30)[0]
    assert pipe.is_fifo()


@pytest.mark.parametrize("first", [FAILS, UNREAD, REFUSED], ids=["failed", "unread", "unresolved"])
def test_fail_fast_stops_at_the_first_line_that_fails(shapecalc, tmp_path, first):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(PASSES + first + FAILS)
    two.write_text(FAILS)
    ran = shapecalc("check", str(one), str(two), "--fail-fast")
    assert len(ran.out.splitlines()) == 1
    assert f"{one}:2:" in ran.out


def test_update_writes_what_was_got_and_keeps_the_rest(shapecalc, tmp_path):
    path, link = tmp_path / "cases", tmp_path / "link"
    lines = [PASSES, "", "# reshape => x\n", "reshape 2,3 6  =>  7\t# why\r\n", UNREAD, "reshape 2,3 7 => 6\n", REFUSED]
    lines += ['{"op": "shape", "input": [2,3], "expect":[2] , "id": 1}\r\n', "\xff\n", "reshape 2,3 6 => 2,3"]
    before = b"\xef\xbb\xbf" + "".join(lines).encode("latin-1")
    after = before.replace(b"=>  7\t", b"=>  6\t").replace(b"7 => 6", b"7 => error volume-mismatch")
    after = after.replace(b'"expect":[2] ', b'"expect":[2, 3] ').replace(b"=> 2,3", b"=> 6")
    path.write_bytes(before)
    path.chmod(0o640)
    link.symlink_to(path)
    ran = shapecalc("check", str(link), "--update")
    assert path.read_bytes() == after
    assert (ran.code, link.is_symlink(), path.stat().st_mode & 0o777) == (3, True, 0o640)
    assert ran.err == "shapecalc: 1 passed, 4 updated, 2 could not be read, 1 could not be resolved\n"
    inode = path.stat().st_ino
    shapecalc("check", str(link), "--update")
    assert (path.read_bytes(), path.stat().st_ino) == (after, inode)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cases", "link"]


def test_update_keeps_a_line_that_is_too_long(shapecalc, tmp_path):
    path = tmp_path / "cases"
    long = "y" * (3 * BLOCK + 7)
    path.write_text(f"{FAILS}{long}\n{FAILS}{long}")
    shapecalc("check", str(path), "--update")
    assert path.read_text() == f"{PASSES}{long}\n{PASSES}{long}"


def test_update_tells_json_of_every_case(shapecalc, tmp_path):
    path = tmp_path / "cases"
    path.write_text(PASSES + FAILS)
    ran = shapecalc("check", str(path), "--update", "--json")
    assert [json.loads(line)["passed"] for line in ran.out.splitlines()] == [True, False]
    assert (ran.code, path.read_text()) == (0, PASSES * 2)


def test_update_needs_a_file_that_can_be_replaced(shapecalc, tmp_path):
    assert shapecalc("check", "-", "--update", stdin=FAILS).code == 2
    assert shapecalc("check", str(tmp_path), "--update").code == 4
    assert shapecalc("check", "/dev/null", "--update").code == 4
    path = tmp_path / "cases"
    path.write_text(FAILS)
    assert shapecalc("check", str(path), "--update", "--fail-fast").code == 2
    assert path.read_text() == FAILS


def test_files_that_cannot_be_read_do_not_harm_the_others(shapecalc, tmp_path):
    path = tmp_path / "cases"
    path.write_text(FAILS)
    ran = shapecalc("check", str(tmp_path), str(tmp_path / "none\x1b"), str(path))
    told = ran.err.splitlines()
    assert told[0] == f"shapecalc: file: {tmp_path}: no file in it ends in .txt or .jsonl; name its files"
    assert told[1] == f"shapecalc: file: {tmp_path}/none\\x1b: no such file or directory"
    assert told[2] == "shapecalc: 1 failed"
    assert (ran.code, len(ran.out.splitlines())) == (4, 1)
    assert shapecalc("check").code == 2
    path.rename(tmp_path / "cases.txt")
    assert shapecalc("check", str(tmp_path)).out.startswith(f"{tmp_path}/cases.txt:1: ")


def test_several_files_and_standard_input(shapecalc, tmp_path):
    path = tmp_path / "cases"
    path.write_text("@default dialect=numpy\nreshape 0,3 0,-1\n")
    ran = shapecalc("check", str(path), "-", stdin="@default dialect=openvino special_zero=1\nreshape 0,3 0,-1\n")
    assert ran.out.endswith("\n3\n") or ran.out.splitlines()[-1] == "0,3"


class Pieces(io.RawIOBase):
    """A stream that gives its bytes in pieces of one size."""

    def __init__(self, data, size):
        self.data, self.size = data, size

    def readable(self):
        return True

    def readinto(self, place):
        piece = self.data[: min(self.size, len(place))]
        place[: len(piece)], self.data = piece, self.data[len(piece) :]
        return len(piece)


@pytest.mark.parametrize("size", [1, 7, 1000, BLOCK])
def test_blocks_hold_all_lines_whatever_comes_at_once(size, monkeypatch):
    monkeypatch.setattr("shapecalc.cli.check.LONGEST_LINE", 20)
    data = b"a\n\nbb\n" + b"c" * 50 + b"\nd\n" + b"e" * 21 + b"\n" + b"f" * 19 + b"\n" + b"g" * 60
    found = list(split_blocks(io.BufferedReader(Pieces(data, size))))
    assert b"".join(block.data for block in found) == data
    lines = {}
    for block in found:
        if not block.torn:
            lines |= dict(enumerate(block.data.decode().splitlines(), block.line))
    assert {number: line for number, line in lines.items() if len(line) < 20} == {
        1: "a",
        2: "",
        3: "bb",
        5: "d",
        7: "f" * 19,
    }
    torn = [block.line for block in found if block.torn and block.first]
    assert size >= len(data) or torn == [4, 6, 8]


# Streams, processes and terminals


def cases(count):
    return "".join(
        json.dumps({"op": "reshape", "input": [2, at], "target": [at, -1], "expect": [at, 2 + (at % 1000 == 7)]}) + "\n"
        for at in range(1, count)
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a file of several blocks, with failures, defaults and lines of every other kind in it."""
    path = tmp_path_factory.mktemp("large") / "cases"
    odd = "@default dialect=tensorrt\nreshape 65536,65536 -1\n" + UNREAD + REFUSED + "reshape N,4 2,6\n\udcff\n"
    body = cases(12_000)
    text = body + odd + body + "@default dialect=numpy\n" + body + "reshape 0,3 0,-1\n" + "z" * 3_000_000 + "\n" + FAILS
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [(), ("--json",), ("--github", "--fail-fast"), ("--strict",)])
def test_jobs_change_no_byte(large, options):
    def ran(jobs):
        done = process("check", str(large), *options, "--jobs", jobs, capture_output=True)
        return done.stdout, done.stderr, done.returncode

    one = ran("1")
    assert one[2] in (1, 3)
    assert ran("2") == ran("5") == one


def test_a_worker_that_dies_is_stood_in_for(large):
    whole = process("check", str(large), "--jobs", "1", capture_output=True).stdout
    kill = "import os, sys; import shapecalc.cli.check as w; from shapecalc.__main__ import main\n"
    kill += "work, here = w.judge_block, os.getpid()\n"
    kill += "def dying(*asked): return work(*asked) if os.getpid() == here else os._exit(9)\nw.judge_block = dying\n"
    code = f"{kill}sys.argv = ['shapecalc', 'check', {str(large)!r}, '--jobs', '2']; sys.exit(main())"
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, check=False, timeout=60)
    assert ran.stdout == whole


def test_no_process_is_left_where_the_reader_goes(large):
    line = f"{subprocess.list2cmdline(command('check', str(large), '--jobs', '2', '--json'))} | head -1"
    ran = subprocess.run(
        ["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}}"], env=environment(), capture_output=True, text=True
    )
    assert (len(ran.stdout.splitlines()), ran.stdout.splitlines()[-1], ran.stderr) == (2, "0", "")


def reading(*words, **options):
    return subprocess.Popen(
        command(*words), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
    )


def test_answers_come_as_the_lines_do():
    with reading("check", "-") as running:
        for line, answer in ((b"reshape 2,3 6\n", b"6\n"), (b'{"op": "shape", "input": [2, 3]}\n', b"2,3\n")):
            running.stdin.write(line)
            running.stdin.flush()
            assert running.stdout.readline() == answer
        running.stdin.close()
        assert running.wait(20) == 0


def test_an_interrupt_leaves_complete_lines():
    with reading("check", "-", "--json", stderr=subprocess.PIPE) as running:
        feeding = threading.Thread(target=_feed, args=(running.stdin,))
        feeding.start()
        shown = os.read(running.stdout.fileno(), 1 << 16)
        running.send_signal(signal.SIGINT)
        shown += running.stdout.read()
        assert running.wait(20) == 130
        feeding.join()
        assert b"Traceback" not in running.stderr.read()
    assert all(json.loads(line)["ok"] for line in shown.decode().splitlines())
    assert shown.endswith(b"\n")


def _feed(stream):
    with suppress(OSError):
        while True:
            os.write(stream.fileno(), b'{"op": "shape", "input": [2, 3]}\n' * 1000)


def test_a_fifo_is_read_as_it_comes(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    running = subprocess.Popen(
        command("check", str(path)), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with path.open("w") as fifo:
        fifo.write(PASSES)
        fifo.flush()
        time.sleep(0.2)
        fifo.write(FAILS)
    shown, told = running.communicate(timeout=20)
    assert (running.returncode, told) == (1, b"shapecalc: 1 passed, 1 failed\n")
    assert shown.startswith(str(path).encode())


def test_memory_is_bounded_on_endless_input():
    probe = "import resource, sys; from shapecalc.__main__ import main; code = main()\n"
    probe += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    line = '{"op": "reshape", "input": [2, 3], "target": [6], "expect": [6]}'
    script = f"import sys; sys.argv = ['shapecalc', 'check', '-']; {probe}"
    feed = f"{{ yes '{line}' | head -150000; head -c 100000000 /dev/zero; }} | "
    ran = subprocess.run(
        ["bash", "-c", f'{feed} {sys.executable} -c "$0"', script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    summary, peak = ran.stderr.splitlines()
    assert summary == "shapecalc: 150,000 passed, 1 could not be read"
    assert int(peak) < 100_000


def test_progress_is_told_on_a_terminal_where_nothing_else_is_written(large):
    parent, child = os.openpty()
    tty.setraw(child)
    code = "import sys; import shapecalc.cli.output as o; o.PATIENCE = 0\n"
    code += (
        f"from shapecalc.__main__ import main; sys.argv = ['shapecalc', 'check', {str(large)!r}, '--jobs', '1']; main()"
    )
    told, null = b"", subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment() | {"TERM": "xterm"}, stdout=null, stderr=child
    ):
        os.close(child)
        with suppress(OSError):  # the end of a terminal is an error
            while read := os.read(parent, 1 << 16):
                told += read
    told = told.decode()
    assert "checking" in told
    assert told.splitlines()[-1].rpartition("\x1b[2K")[2].startswith("shapecalc: 35,")


# Golden cases


def test_vectors_pass_and_are_the_same_every_time(shapecalc):
    first = shapecalc("vectors").out
    assert shapecalc("vectors").out == first
    ran = shapecalc("check", "-", stdin=first)
    assert (ran.code, ran.out) == (0, "")
    rows = [json.loads(line) for line in first.splitlines()]
    assert ran.err == f"shapecalc: {len(rows):,} passed\n"
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["source"] for row in rows)
    assert {(row["dialect"], row["op"]) for row in rows} == {
        (name, op) for name, dialect in DIALECTS.items() for op in operators_of(dialect)
    }


def test_vectors_meet_every_rule_that_refuses_one_request(shapecalc):

    rows = [json.loads(line) for line in shapecalc("vectors").out.splitlines()]
    met = {row["expect"]["error"] for row in rows if isinstance(row["expect"], dict) and "error" in row["expect"]}
    assert met == set(refusals()) - {"contradiction", "differs", "file", "usage"}


def test_vectors_of_one_dialect(shapecalc):
    rows = [json.loads(line) for line in shapecalc("vectors", "-d", "TensorRT").out.splitlines()]
    assert {row["dialect"] for row in rows} == {"tensorrt"}
    assert shapecalc("vectors", "-d", "nope").code == 2


# What others run


ROOT = Path(__file__).parents[2]


def test_the_pre_commit_hook_runs(tmp_path):
    hook = dict(
        line.removeprefix("- ").strip().split(": ", 1)
        for line in (ROOT / ".pre-commit-hooks.yaml").read_text().splitlines()
        if ": " in line and not line.startswith("#")
    )
    assert (hook["id"], hook["language"]) == ("shapecalc-check", "python")
    words = [*hook["entry"].split(), *json.loads(hook["args"])]
    assert words[0] == "shapecalc"
    for name in ("model.shapes", "--update.shapes", "-x.shapes", "::error file=a.shapes"):
        for text, code in ((PASSES, 0), (FAILS, 1)):
            (tmp_path / name).write_text(text)
            ran = subprocess.run(command(*words[1:], name), env=environment(), cwd=tmp_path, capture_output=True)
            assert (ran.returncode, ran.stdout.startswith(b"::")) == (code, False)
            assert (tmp_path / name).read_text() == text


def test_the_steps_of_the_workflow_on_the_page_run(tmp_path):
    page = (ROOT / "man" / "shapecalc-check.1").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("- run: shapecalc check")]
    words = line.removeprefix("- run: shapecalc ").replace("*.shapes", "a.shapes").split()
    for text, code, shown in ((PASSES, 0, ""), (FAILS, 1, "::error file=a.shapes,line=1::expected 2,13")):
        (tmp_path / "a.shapes").write_text(text)
        ran = subprocess.run(
            command(*words), env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout[: len(shown)]) == (code, shown)
        assert (tmp_path / "shapes.xml").exists()


def test_the_hook_on_the_page_is_the_one_that_is_defined():
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    page = (ROOT / "man" / "shapecalc-check.1").read_text("utf-8")
    assert "      - id: shapecalc-check\n" in page
    assert "- id: shapecalc-check\n" in hooks


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.npy", b"\x93NUMPY\x01\0v\0{'descr'", "it contains an array, not cases; for arrays: shapecalc match"),
        ("cases.txt", "reshape 2,3 6 => 6\n".encode("utf-16"), "it is not UTF-8 text"),
    ],
)
def test_what_is_no_text_is_told_in_one_line(name, content, said, shapecalc, tmp_path):
    file = tmp_path / name
    file.write_bytes(content)
    ran = shapecalc("check", str(file))
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == f"shapecalc: file: {file}: {said}\nshapecalc: no cases (what is one: shapecalc help cases)\n"
