"""Lines of standard input are answered as they arrive, by every op. Messages: `transcripts/lines.txt`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from shapecalc.core.ops import OPS
from tests.cli.conftest import command, environment, run_program
from tests.sampling import each_row

EXAMPLES = {op.name: shlex.split(op.examples[0]) for op in OPS.values()}
EXAMPLES["einsum"] = ["einsum", "2,3", "ij,jk->ik", "3,4"]  # the shape first, as in the other ops


@each_row("op", EXAMPLES)
def test_ops_read_lines_of_standard_input(op, shapecalc):
    name, shape, *rest = EXAMPLES[op]
    single = shapecalc(name, shape, *rest)
    ran = shapecalc(name, "-", *rest, stdin=f"{shape}\n{shape}\n{shape}\n")
    assert (ran.code, ran.out) == (single.code, single.out * 3)
    chained = shapecalc("chain", f"- | {shlex.join([name, *rest])}", stdin=f"{shape}\n" * 2)
    assert chained.out == single.out * 2


@each_row("op", EXAMPLES)
def test_ops_without_dash_leave_standard_input_alone(op, shapecalc):
    name, shape, *rest = EXAMPLES[op]
    words = [shape, *rest]
    for start, stop in [(0, stop) for stop in range(len(words) + 1)] + [(1, stop) for stop in range(len(words) + 1)]:
        ran = shapecalc(name, *words[start:stop], stdin="2,3,4\n5,6\n")
        assert sys.stdin.buffer.read() == b"2,3,4\n5,6\n"
        assert "missing argument" not in ran.err or ran.code == 2
    if "missing argument" in ran.err:
        suggested = ran.err.rpartition(", or ")[2].partition(" for an INPUT")[0]
        assert shapecalc(*shlex.split(suggested), stdin=shape).out == shapecalc(name, *words).out


@pytest.mark.parametrize("words", [["reshape", "-", "6"], ["chain", "- | reshape 6"], ["concat", "3", "-", "--axis=0"]])
def test_every_line_is_answered_and_twenty_errors_are_printed(words, shapecalc):
    lines = "2,3\n3\nx!\n5,5\n" * 30
    ran, as_json = shapecalc(*words, stdin=lines), shapecalc(*words, "--json", stdin=lines)
    single = [shapecalc(*words, stdin=f"{line}\n") for line in ("2,3", "3", "x!", "5,5")]
    failed = 30 * sum(each.code != 0 for each in single)
    assert (ran.code, ran.out) == (max(each.code for each in single), "".join(each.out for each in single) * 30)
    assert ran.err.count("\n") == 21
    assert ran.err.splitlines()[-1] == f"shapecalc: {failed - 20} more lines failed; --json reports each"
    assert (as_json.out.count("\n"), as_json.err) == (120, "")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["reshape", "-", "-1"], {"2,5": "10", "3,5": "15"}),
        (["check", "-"], {"reshape 2,3 6": "6", '{"op": "shape", "input": [2, 3]}': "2,3"}),
        (["check", "fifo"], {"reshape 2,3 6": "6", "reshape 2,4 8": "8"}),
    ],
    ids=["an op", "check", "check of a pipe with a name"],
)
def test_lines_are_answered_as_they_arrive(words, lines, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        subprocess.Popen(command(*words), env=environment(), cwd=tmp_path, text=True, **pipes) as running,
        (tmp_path / "fifo").open("w") if "fifo" in words else running.stdin as stream,
    ):
        for line, answer in lines.items():
            stream.write(f"{line}\n")
            stream.flush()
            assert running.stdout.readline() == f"{answer}\n"
    assert running.returncode == 0


def test_endless_stream_ends_with_its_reader():
    line = " ".join(command("reshape", "-", "0,-1", "-d", "onnx"))
    ran = run_program(["sh", "-c", f"yes 2,3,4 | {line} | head -2"], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("2,12\n2,12\n", "")
