"""`-` in place of an input: every line of standard input is answered, and the largest exit code counts."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from shapecalc.core.ops import OPS
from tests.cli.conftest import command, environment, process

EXAMPLES = {op.name: shlex.split(op.examples[0]) for op in OPS.values()}
EXAMPLES["einsum"] = ["einsum", "2,3", "ij,jk->ik", "3,4"]  # with the shape first, as the others have it


def test_every_line_is_answered_and_the_largest_code_counts(shapecalc):
    ran = shapecalc("reshape", "-", "-1,4", stdin="2,3,4\n\n5\r\n[N, 4]\n3 x\n")
    assert (ran.code, ran.out) == (3, "6,4\nN,4\n")
    first, second = ran.err.splitlines()
    assert first.startswith("shapecalc: indivisible: line 2: 5 elements")
    assert second.startswith("shapecalc: usage: line 4: ' ' is not allowed in '3 x'")


def test_a_mark_before_the_first_line_is_no_part_of_the_shape(shapecalc):
    ran = shapecalc("reshape", "-", "-1", stdin="\N{BOM}2,3\n4,5\n")
    assert (ran.code, ran.out) == (0, "6\n20\n")


@pytest.mark.parametrize("op", EXAMPLES)
def test_every_op_takes_lines(op, shapecalc):
    name, shape, *rest = EXAMPLES[op]
    alone = shapecalc(name, shape, *rest)
    ran = shapecalc(name, "-", *rest, stdin=f"{shape}\n{shape}\n{shape}\n")
    assert (ran.code, ran.out) == (alone.code, alone.out * 3)
    chained = shapecalc("chain", f"- | {shlex.join([name, *rest])}", stdin=f"{shape}\n" * 2)
    assert chained.out == alone.out * 2


def test_messages_name_their_lines(shapecalc):
    ran = shapecalc("reshape", "-", "2,6", "--strict", stdin="N,4\nM,6\n")
    assert (ran.code, ran.out) == (1, "2,6\n2,6\n")
    lasting = "for every batch try 0,6, since 0 copies the input's first dim; or -1,6, as long as the other sizes stay"
    assert ran.err == (
        f"shapecalc: line 1: holds when N is 3\nshapecalc: line 2: holds when M is 2\nshapecalc: line 2: {lasting}\n"
    )
    ran = shapecalc("reshape", "-", "-1", "--expect", "24", stdin="2,3,4\n5\n")
    assert (ran.code, ran.err) == (1, "shapecalc: line 2: expected 24, got 5 (-1 is 5 elements / 1 known = 5)\n")


def test_as_json_each_line_is_an_object(shapecalc):
    ran = shapecalc("reshape", "-", "-1,4", "--json", stdin="2,3,4\n5\nx y\n")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 3
    assert [each["output"] for each in found] == [[6, 4], None, None]
    assert [each["problem"] and each["problem"]["rule"] for each in found] == [None, "indivisible", "usage"]
    assert [each["problem"]["message"].startswith("line") for each in found[1:]] == [False, False]


def test_a_chain_takes_lines_that_are_shapes_only(shapecalc):
    ran = shapecalc("chain", "- | reshape -1,4 | transpose", stdin="2,3,4\n2,3 | transpose\nN,4\n")
    assert (ran.code, ran.out) == (2, "4,6\n4,N\n")
    assert "usage: line 2: " in ran.err


@pytest.mark.parametrize("words", [("reshape", "-", "-1"), ("chain", "- | flatten")])
def test_an_output_file_is_refused(words, shapecalc, tmp_path):
    ran = shapecalc(*words, "-o", str(tmp_path / "y.npy"), stdin="2,3\n")
    assert (ran.code, ran.out) == (2, "")
    assert "--out needs one input" in ran.err
    assert [*tmp_path.iterdir()] == []


def test_nothing_and_too_much_are_usage(shapecalc):
    assert "standard input is empty" in shapecalc("reshape", "-", "-1", stdin="\n \n").err
    ran = shapecalc("reshape", "-", "-1", stdin=f"2,3\n{'1' * (1 << 20)}1\n")
    assert (ran.code, ran.out) == (2, "6\n")
    assert "the limit 'line' is 1048576" in ran.err


def test_one_shape_is_still_one(shapecalc):
    for words in (("compare", "-", "-1"), ("equiv", "- | flatten", "| reshape -1"), ("find", "-", "6")):
        ran = shapecalc(*words, stdin="2,3\n6\n")
        assert (ran.code, ran.out) == (2, "")
        assert "more than one line" in ran.err


def test_a_line_is_answered_as_it_comes():
    with subprocess.Popen(
        command("reshape", "-", "-1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as running:
        for number in (2, 3, 4):
            running.stdin.write(f"{number},5\n")
            running.stdin.flush()
            assert running.stdout.readline() == f"{number * 5}\n"
        running.stdin.close()
    assert running.returncode == 0


def test_an_endless_stream_ends_with_its_reader():
    asked = " ".join(command("reshape", "-", "0,-1"))
    ran = subprocess.run(
        ["sh", "-c", f"yes 2,3,4 | {asked} | head -2"], env=environment(), capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("2,12\n2,12\n", "")


def test_control_characters_of_lines_are_shown_escaped():
    ran = process("reshape", "-", "-1", input=b"2,\x1b[2J\xff\n3\n", capture_output=True)
    assert (ran.returncode, ran.stdout) == (2, b"3\n")
    assert ran.stderr.isascii()
    assert b"\x1b" not in ran.stderr


def test_the_first_line_is_named_only_if_others_follow(shapecalc):
    said = "5 elements cannot be divided by 3, 2 left over (1 and 5 would divide: try 1,-1)"
    assert shapecalc("reshape", "-", "3,-1", stdin="5\n").err == f"shapecalc: indivisible: {said}\n"
    ran = shapecalc("reshape", "-", "3,-1", stdin="5\n6\n")
    assert (ran.code, ran.out, ran.err) == (3, "3,2\n", f"shapecalc: indivisible: line 1: {said}\n")
    unread = shapecalc("reshape", "-", "-1", "--expect", "5", stdin="a b\n6\n").err.splitlines()
    assert unread[0].startswith("shapecalc: usage: line 1: ' ' is not allowed in 'a b'")
    assert unread[1:] == ["shapecalc: line 2: expected 5, got 6 (-1 is 6 elements / 1 known = 6)"]
