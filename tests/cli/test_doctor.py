"""`shapecalc doctor`: its answers as text and JSON, its exit codes, and what is no message at all."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from tests.cli.conftest import process

MESSAGE = "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600\n"
BATCH = (
    "Non-zero status code returned while running Reshape node. Name:'/head/Reshape' Status Message: The input tensor "
    "cannot be reshaped to the requested shape. Input shape:{8,255,52,52}, requested shape:{1,3,85,52,52}\n"
)
KEYS = [
    *("framework", "dialect", "op", "node", "input", "elements", "target", "target_elements", "perm", "axes"),
    *("operands", "cause", "quote", "said", "fixes", "ask", "command"),
]


def asked(shapecalc, text):
    """Return the first object that `--json` prints for a text."""
    return json.loads(shapecalc("doctor", "--json", stdin=text).out)[0]


def test_a_message_is_answered_from_standard_input_and_from_a_file(shapecalc, tmp_path):
    (tmp_path / "x.log").write_text(MESSAGE)
    told = [
        shapecalc("doctor", stdin=MESSAGE),
        shapecalc("doctor", "-", stdin=MESSAGE),
        shapecalc("doctor", str(tmp_path / "x.log")),
    ]
    assert told[0].out.startswith("torch reshape: count-mismatch\n")
    told.append(shapecalc("doctor", MESSAGE))
    assert {(ran.code, ran.out, ran.err) for ran in told} == {(0, told[0].out, "")}


def test_json_has_every_key_and_null_where_nothing_is_told(shapecalc):
    found = asked(shapecalc, MESSAGE)
    assert [*found] == KEYS
    assert (found["framework"], found["dialect"], found["op"], found["node"]) == ("torch", "torch", "reshape", None)
    assert (found["input"], found["elements"], found["target"]) == (None, 1600, [8, 3, 64])
    assert "1600 = 2^6*5^2" in found["said"]
    assert "1600 = 8*200, where 3*64 = 192 is asked for" in found["said"]
    assert found["command"] == "shapecalc reshape 1600 8,3,64 --dialect torch"
    assert "x.shape" in found["ask"]


@pytest.mark.parametrize("text", [MESSAGE.replace("3, 64", "20, 5"), BATCH])
def test_every_command_that_is_offered_does_what_is_said(shapecalc, text):
    found = asked(shapecalc, text)
    assert shapecalc(*shlex.split(found["command"])[1:]).code == 3
    commands = [fix["command"] for fix in found["fixes"] if fix["command"]]
    assert commands
    assert {shapecalc(*shlex.split(command)[1:]).code for command in commands} == {0}


def test_a_hard_coded_batch_is_mended_for_every_batch_first(shapecalc):
    found = asked(shapecalc, BATCH)
    assert (found["cause"], found["node"]) == ("hard-coded-batch", "/head/Reshape")
    assert [re.findall(r" (\S+,3,85,52,52)", fix["command"] or "") for fix in found["fixes"]] == [["0,3,85,52,52"], []]


def test_a_wrong_size_beside_the_batch_is_mended_for_every_batch(shapecalc):
    text = "Input shape:{4,197,768}, requested shape:{%s,196,12,64}"
    kept, counted = asked(shapecalc, text % 1)["fixes"]
    assert kept["text"].startswith("write 0,-1,12,64: right for every batch")
    assert counted["text"].startswith("write -1,197,12,64: right for every batch")
    assert [fix["text"].partition(":")[0] for fix in asked(shapecalc, text % 4)["fixes"]] == [
        "write 4,197,12,64",
        "write 0,197,12,64",
    ]


def test_a_message_that_would_work_as_it_was_read_hides_something(shapecalc):
    text = BATCH.replace("{1,3,85,52,52}", "{8,3,85,52,52}")
    assert "so the message hides something" in asked(shapecalc, text)["said"]


def test_an_unknown_batch_is_no_secret_of_the_message(shapecalc):
    found = asked(shapecalc, BATCH.replace("{8,255", "{-1,255"))
    assert "it holds when ? is 1" in found["said"]
    assert "hides" not in found["said"]
    assert found["fixes"][0]["text"].startswith("write 0,3,85,52,52: right for every batch")


def test_zero_is_not_offered_where_it_copies_nothing(shapecalc):
    found = asked(
        shapecalc,
        "ValueError: Cannot reshape a tensor with 1800 elements to shape [1,2,9,5,5] (450 elements) for 'Reshape' "
        "(op: 'Reshape') with input shapes: [4,18,5,5], [5]",
    )
    assert found["framework"] == "tensorflow"
    assert found["dialect"] == "tensorflow"
    assert found["fixes"][0]["text"].startswith("write -1,2,9,5,5: right for every batch")


def test_a_view_of_printed_strides_is_asked_again_and_others_ask_for_them(shapecalc):
    text = (
        "Cannot view a tensor with shape torch.Size([2, 4, 3]) and strides (12, 1, 4) as a tensor with shape (2, 12)!"
    )
    found = asked(shapecalc, text)
    assert found["command"] == "shapecalc view 2,4,3 2,12 --strides 12,1,4"
    assert "dim 1 has stride 1 where 12 is needed" in found["said"]
    assert ["contiguous()" in fix["text"] for fix in found["fixes"]] == [True]
    hidden = asked(shapecalc, "RuntimeError: view size is not compatible with input tensor's size and stride")
    assert "x.stride()" in hidden["ask"]
    assert "contiguous()" in hidden["fixes"][0]["text"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the shape of the mask [2] at index 0 does not match the shape of the indexed tensor", "a mask of other"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "memory"),
        ("it failed with [2, 3] and (4, 5)", "not known to me; the lists that stand in it: [2,3] [4,5]"),
        ("", "not known to me (paste the whole log or traceback, from its first line)"),
    ],
)
def test_what_is_not_about_a_shape_or_not_known_is_exit_1(shapecalc, text, said):
    ran = shapecalc("doctor", stdin=text)
    assert (ran.code, ran.err) == (1, "")
    assert said in ran.out
    found = asked(shapecalc, text)
    assert [found[key] for key in ("op", "input", "elements", "target", "perm", "axes")] == [None] * 6


def test_quiet_prints_nothing(shapecalc):
    ran = shapecalc("doctor", "-q", stdin=MESSAGE)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_file_that_cannot_be_read_is_exit_4(shapecalc, tmp_path):
    for path, reason in ((tmp_path / "no.log", "no such file"), (tmp_path, "is a directory")):
        ran = shapecalc("doctor", str(path))
        assert (ran.code, ran.out) == (4, "")
        assert reason in ran.err
    assert shapecalc("doctor", "a\x00b").code == 4


def test_a_second_file_is_usage(shapecalc):
    assert shapecalc("doctor", "a", "b").code == 2


@pytest.mark.parametrize("text", [f"\x1b]0;x\x07\x1b[2J{MESSAGE}", f"\u202e{MESSAGE}", "cannot reshape \x07 [2, 3]"])
def test_nothing_of_a_text_reaches_the_terminal_raw(shapecalc, text):
    ran = shapecalc("doctor", stdin=text)
    assert ran.out.isascii()
    assert ran.out.replace("\n", "").isprintable()


def test_bytes_that_are_no_text_are_read():
    ran = process("doctor", input=b"\xff\xfe\x00 " + MESSAGE.encode(), capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")


HOSTILE = ["[", "(", "{", "<", "&", "\\", "'", "\x1b[", "&#", "shape '[", "1,", "np.int32(", "' (op: '", "{{node "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_many_of_one_piece_hide_no_message(shapecalc, piece):
    ran = shapecalc("doctor", "--json", stdin=f"{MESSAGE}\n{piece * 10_000}\n{MESSAGE}")
    assert json.loads(ran.out)[0]["target"] == [8, 3, 64]


def test_a_long_log_is_read_to_its_end_and_no_number_is_cut(shapecalc):
    noise = "".join(f"step {number} saved in {number} ms\n" for number in range(60_000))
    found = json.loads(shapecalc("doctor", "--json", stdin=noise + MESSAGE * 40_000 + BATCH).out)
    assert {(each["elements"], each["op"], each["framework"]) for each in found} == {
        (1600, "reshape", "torch"),
        (None, "reshape", "onnxruntime"),
    }
