"""`shapecalc check` on large files and streams, and `vectors`.

`transcripts/check.txt` tests the messages.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import wraps
from itertools import product
from random import Random

import pytest

from shapecalc.checking import judging
from shapecalc.checking.answering import answer_case
from shapecalc.checking.judging import (
    READ_SIZE,
    check_block,
    make_case_result,
    make_unreadable_result,
    split_blocks,
)
from shapecalc.cli.check import replace_file_if_changed
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import operators_of, refusal_rules
from shapecalc.core.problem import ShapeError
from shapecalc.reading.cases import case_from_json, parse_json_object
from tests.cli.conftest import ROOT, command, environment, process, run_on_terminal, run_program

pytestmark = pytest.mark.sessions(2)

PASSES = "reshape 2,3,4 0,-1 => 2,12\n"
FAILS = "reshape 2,3,4 0,-1 => 2,13\n"
KEYS = ("input", "target", "opset", "dtype", "where", "allowzero", "expect", "id")


def test_check_deep_nesting_spares_other_lines(shapecalc):
    good, lines = {"op": "reshape", "input": [6], "target": [2, 3]}, []
    for key, depth in product(KEYS, (300, 968, 972, 985, 3000)):
        bomb = json.dumps(good | {key: 0}).replace(f'"{key}": 0', f'"{key}": {"[" * depth}{"]" * depth}')
        lines += [bomb, json.dumps(good)]
    ran = shapecalc("check", "-", "--json", stdin="\n".join(lines))
    rows = [json.loads(row) for row in ran.out.splitlines()]
    assert (ran.code, len(rows)) == (2, len(lines))
    for row in rows:
        deep_id = row["line"] > len(lines) * 7 / 8  # returned in the row, unless it is nested too deeply for Python
        expected = "usage" if row["line"] % 2 and not (deep_id and row["ok"]) else None
        assert (row["problem"] or {}).get("rule") == expected, row


def test_check_restores_garbage_collection(shapecalc):
    before = gc.get_threshold()
    gc.set_threshold(700, *before[1:])
    try:
        assert shapecalc("check", "-", stdin=PASSES).code == 0
        assert gc.get_threshold() == (700, *before[1:])
    finally:
        gc.set_threshold(*before)


def test_check_update_keeps_mode_and_current_files(shapecalc, tmp_path):
    path = tmp_path / "cases"
    path.write_text(FAILS)
    path.chmod(0o640)
    assert shapecalc("check", "--update", str(path)).code == 0
    updated = path.stat()
    assert (path.read_text(), updated.st_mode & 0o777) == (PASSES, 0o640)
    assert shapecalc("check", "--update", str(path)).code == 0
    assert path.stat().st_ino == updated.st_ino


def test_check_update_keeps_concurrent_changes(tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text("old\n")
    with (
        pytest.raises(OSError, match="another program has changed it"),
        replace_file_if_changed(path, lambda: True) as file,
    ):
        file.write(b"ours\n")
        path.write_text("theirs, and longer\n")
    assert path.read_text() == "theirs, and longer\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["cases.txt"]


def test_check_report_to_a_named_pipe(shapecalc, tmp_path):
    pipe = tmp_path / "report"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert shapecalc("check", "-", "--junit", str(pipe), stdin=PASSES).code == 0
        assert "</testsuite>" in reader.communicate(timeout=30)[0]
    assert pipe.is_fifo()


class ChunkedStream(io.RawIOBase):
    """A stream whose reads return at most `size` bytes."""

    def __init__(self, data, size):
        self.data, self.size = data, size

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.data[: min(self.size, len(buffer))]
        buffer[: len(piece)], self.data = piece, self.data[len(piece) :]
        return len(piece)


@pytest.mark.parametrize("size", [1, 7, 1000, READ_SIZE])
def test_check_blocks_contain_all_lines(size, monkeypatch):
    monkeypatch.setattr(judging, "MAX_LINE_BYTES", 20)
    data = b"a\n\nbb\n" + b"c" * 50 + b"\nd\n" + b"e" * 21 + b"\n" + b"f" * 19 + b"\n" + b"g" * 60
    blocks = list(split_blocks(io.BufferedReader(ChunkedStream(data, size))))
    assert b"".join(block.data for block in blocks) == data
    complete = [enumerate(block.data.decode().splitlines(), block.line) for block in blocks if not block.is_partial]
    lines = {number: line for numbered in complete for number, line in numbered if len(line) < 20}
    assert lines == {1: "a", 2: "", 3: "bb", 5: "d", 7: "f" * 19}
    partial = [block.line for block in blocks if block.is_partial and block.is_line_start]
    assert size >= len(data) or partial == [4, 6, 8]


def test_check_blocks_of_a_file_are_large(tmp_path):
    path = tmp_path / "cases"
    path.write_text("reshape 2,3 6 => 6\n" * 50_000)
    with path.open("rb") as stream:
        stream.peek()
        sizes = [len(block.data) for block in split_blocks(stream)]
    assert sum(sizes) == path.stat().st_size
    assert len(sizes) <= sum(sizes) / READ_SIZE + 2


# Large files, judged by several processes


@pytest.fixture
def large(tmp_path, monkeypatch):
    """Return a file of many blocks with failures, defaults and lines of every other kind."""
    monkeypatch.setattr(judging, "READ_SIZE", 1 << 12)
    path = tmp_path / "cases"
    body = "".join(f"reshape 2,{at} {at},-1 => {at},{2 + (at % 100 == 7)}\n" for at in range(1, 400))
    odd = "@default dialect=tensorrt\nreshape 65536,65536 -1\nreshape 2,,4 6\nreshape 6 5,-1\nreshape N,4 2,6\n\udcff\n"
    end = f"@default dialect=numpy\n{body}reshape 2,3 6,-2 => 6,1\n{'z' * 1_100_000}\nreshape 2,3 3,-2 => 3,2"
    path.write_text(f"{body}{odd}{body}{end}", "utf-8", "surrogateescape")
    return path


@pytest.mark.parametrize("options", [(), ("--json",), ("--github", "--fail-fast"), ("--strict",)])
def test_check_jobs_do_not_change_output(options, large, shapecalc):
    single = shapecalc("check", str(large), *options, "--jobs", "1")
    if "--fail-fast" not in options:
        conditional = "13 failed" if "--strict" in options else "12 failed, 1 answered"
        assert single.err == f"shapecalc: 1,187 passed, {conditional}, 3 could not be read, 2 could not be resolved\n"
    for jobs in ("2", "5"):
        assert shapecalc("check", str(large), *options, "--jobs", jobs) == single


def test_check_recovers_from_a_dead_worker(large, shapecalc, monkeypatch):
    expected = shapecalc("check", str(large), "--jobs", "1")
    parent, check = os.getpid(), judging.check_block

    @wraps(check)
    def check_or_die(*arguments):
        return check(*arguments) if os.getpid() == parent else os._exit(9)

    monkeypatch.setattr(judging, "check_block", check_or_die)
    assert shapecalc("check", str(large), "--jobs", "2") == expected


def test_check_leaves_no_process_without_reader(large):
    line = f"{subprocess.list2cmdline(command('check', str(large), '--jobs', '2', '--json'))} | head -1"
    ran = run_program(["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert (len(ran.stdout.splitlines()), ran.stdout.splitlines()[-1], ran.stderr) == (2, "0", "")


@pytest.mark.slow
def test_check_progress_only_on_a_free_terminal(tmp_path):
    large = tmp_path / "cases"
    large.write_text(PASSES * 5_000)
    code = "import sys; import shapecalc.cli.progress as d; d.BAR_DELAY = 0; import shapecalc.checking.judging as j\n"
    code += "j.READ_SIZE = 1 << 15; from shapecalc.__main__ import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "check", str(large), "--jobs", "1"]
    _, output = run_on_terminal(words, env=environment() | {"TERM": "xterm"}, stdout=subprocess.DEVNULL)
    assert "checking" in output
    assert output.splitlines()[-1].rpartition("\x1b[2K")[2].startswith("shapecalc: 5,")


# Streams


def test_check_interrupt_leaves_complete_lines():
    def feed(stream):
        with suppress(OSError):
            while True:
                os.write(stream.fileno(), b'{"op": "shape", "input": [2, 3]}\n' * 1000)

    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command("check", "-", "--json"), env=environment(), **pipes) as running:
        feeding = threading.Thread(target=feed, args=(running.stdin,))
        feeding.start()
        output = os.read(running.stdout.fileno(), 1 << 16)
        running.send_signal(signal.SIGINT)
        output += running.stdout.read()
        assert running.wait(20) == 130
        feeding.join()
        assert b"Traceback" not in running.stderr.read()
    assert all(json.loads(line)["ok"] for line in output.decode().splitlines())
    assert output.endswith(b"\n")


def test_check_memory_is_bounded_on_endless_input():
    code = "import resource, sys; from shapecalc.__main__ import main; code = main()\n"
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    feed = f"{{ yes '{PASSES.strip()}' | head -10000; head -c 100000000 /dev/zero; }} | "
    ran = run_program(["bash", "-c", f'{feed} {sys.executable} -c "$0" check -', code], capture_output=True, text=True)
    summary, peak = ran.stderr.splitlines()
    assert summary == "shapecalc: 10,000 passed, 1 could not be read"
    assert int(peak) < 60_000


# Golden cases


def vectors(*options):
    """Return the rows of `vectors`, and one line for each dialect, op and error."""
    lines = process("vectors", *options, capture_output=True, text=True).stdout.splitlines()
    vector_rows = [json.loads(line) for line in lines]
    errors = [row["expect"].get("error", "") if isinstance(row["expect"], dict) else "" for row in vector_rows]
    samples = {
        (row["dialect"], row["op"], error): line for row, error, line in zip(vector_rows, errors, lines, strict=True)
    }
    return vector_rows, samples


@pytest.mark.slow
def test_vectors_cover_operators_and_rules(shapecalc):
    vector_rows, samples = vectors()
    assert len({row["id"] for row in vector_rows}) == len(vector_rows)
    assert all(row["source"] for row in vector_rows)
    assert {(dialect, op) for dialect, op, _ in samples} == {
        (name, op) for name, dialect in DIALECTS.items() for op in operators_of(dialect)
    }
    assert {error for _, _, error in samples} - {""} == {*refusal_rules()} - {
        "contradiction",
        "differs",
        "file",
        "usage",
        "layer-mismatch",
        "too-few-values",
        "element-kind",
    }
    ran = process("check", "-", input="\n".join(map(json.dumps, vector_rows)), capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", f"shapecalc: {len(vector_rows):,} passed\n")
    tensorrt_lines = shapecalc("vectors", "-d", "TensorRT").out.splitlines()
    assert [json.loads(line) for line in tensorrt_lines] == [row for row in vector_rows if row["dialect"] == "tensorrt"]


ODD = [True, False, 2.0, None, "N", "3*N", "?", "2", 2**31, 2**63, 10**30, 10**1001, -1, -2, [2], {}, {"N": 2}]


def test_check_odd_values_keep_answer_and_id():
    draw, (_, samples) = Random(5), vectors("-d", "onnx")
    for line in [*samples.values()] * 5:
        case = json.loads(line) | {"id": draw.choice([None, 5, "a:b", 'quote"', [1, {"x": 2.5}], 1.5, True])}
        del case["expect"]
        key = draw.choice([*case, *case, "where", "dtype", "axis", "allowzero", "N"])
        case[key] = draw.choice([*ODD, [2, draw.choice(ODD), 3]])
        text = json.dumps(case)
        try:
            parsed = case_from_json(parse_json_object(text), {})
            row = make_case_result(1, text, parsed, answer_case(parsed), None, strict=False)
        except ShapeError as error:
            row = make_unreadable_result(1, text, error.problem, case["id"])
        output = check_block(judging.Block(text.encode(), 1), "a file", judging.CheckOptions(json=True), {}).stdout_text
        assert output == f"{json.dumps(row.as_json('a file'))}\n"


MET = {"op": "reshape", "input": [2, 3], "target": [6, 1], "opset": 14, "allowzero": 1, "expect": [6, 1]}


def verdicts(*cases, **options):
    """Return the verdict on each case of a block."""
    text = "\n".join(map(json.dumps, cases))
    options = judging.CheckOptions(json=True, **options)
    rows = check_block(judging.Block(text.encode(), 1), "a file", options, {}).stdout_text.splitlines()
    return [
        row["passed"] if row["problem"] is None or row["passed"] else row["problem"]["rule"]
        for row in map(json.loads, rows)
    ]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"opset": 14.0}, "usage"),
        ({"opset": True}, "usage"),
        ({"opset": "14"}, True),
        ({"allowzero": True}, True),
        ({"allowzero": 1.0}, "usage"),
        ({"allowzero": [1]}, "usage"),
        ({"expect": [6, True]}, "usage"),
        ({"expect": [6.0, 1]}, "usage"),
        ({"expect": {"error": "volume-mismatch"}}, False),
        ({"expect": [6, 2]}, False),
        ({"expect": [6, "?"]}, True),
        ({"expect": "6,1"}, True),
        ({"nothing": None}, "usage"),
    ],
)
def test_check_equal_values_of_other_types(changes, verdict):
    other = MET | changes
    assert verdicts(MET, other, MET) == [True, verdict, True]
    assert verdicts(other, MET, other) == [verdict, True, verdict]
    text = "\n".join(map(json.dumps, (MET, other)))
    counts = check_block(judging.Block(text.encode(), 1), "a file", judging.CheckOptions(), {}).counts
    assert counts[judging.CheckVerdict.PASSED] == 1 + (verdict is True)


def test_check_reports_an_invalid_expectation_before_its_request():
    lines = [
        {"op": "reshape", "input": [2, "("], "target": [6], "expect": 5},
        {"op": "reshape", "input": [2, "("], "expect": []},
    ]
    text = "\n".join(map(json.dumps, lines))
    shown = check_block(judging.Block(text.encode(), 1), "f", judging.CheckOptions(), {}).stdout_text.splitlines()
    assert [line.partition(" (")[0] for line in shown] == [
        "f:1: usage: 5 is not an expectation",
        "f:2: usage: '(' is not allowed in '('",
    ]


def test_check_strict_expects_conditions_of_numbers():
    case = {"op": "reshape", "input": ["N", 4], "target": [2, 6], "expect": [2, 6]}
    assert verdicts(case) == [True]
    assert verdicts(case, strict=True) == [False]


# The pre-commit hook and the CI workflow of the manual


def test_pre_commit_hook_runs(shapecalc, tmp_path, monkeypatch):
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text().partition("- id: shapecalc-code")[0]
    hook = dict(
        line.removeprefix("- ").strip().split(": ", 1)
        for line in hooks.splitlines()
        if ": " in line and not line.startswith("#")
    )
    assert (hook["id"], hook["language"]) == ("shapecalc-check", "python")
    assert "      - id: shapecalc-check\n" in (ROOT / "man" / "shapecalc-check.1").read_text("utf-8")
    name, *words = [*hook["entry"].split(), *json.loads(hook["args"])]
    assert name == "shapecalc"
    monkeypatch.chdir(tmp_path)
    for name, (text, code) in product(
        ("model.shapes", "--update.shapes", "-x.shapes", "::error file=a.shapes"), ((PASSES, 0), (FAILS, 1))
    ):
        (tmp_path / name).write_text(text)
        ran = shapecalc(*words, name)
        assert (ran.code, ran.out.startswith("::")) == (code, False)
        assert (tmp_path / name).read_text() == text


def test_workflow_steps_of_the_manual_run(shapecalc, tmp_path, monkeypatch):
    page = (ROOT / "man" / "shapecalc-check.1").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("- run: shapecalc check")]
    words = line.removeprefix("- run: shapecalc ").replace("*.shapes", "a.shapes").split()
    monkeypatch.chdir(tmp_path)
    for text, code, output in ((PASSES, 0, ""), (FAILS, 1, "::error file=a.shapes,line=1::expected 2,13")):
        (tmp_path / "a.shapes").write_text(text)
        ran = shapecalc(*words)
        assert (ran.code, ran.out[: len(output)]) == (code, output)
        assert (tmp_path / "shapes.xml").exists()
