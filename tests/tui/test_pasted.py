"""Pasted text: code is recognized, its notification is short, and an error message opens its diagnosis."""

from __future__ import annotations

from shapecalc.reading.code import is_code
from shapecalc.tui.plain import PlainSession
from tests.sampling import each_row
from tests.tui.driven import driven
from tests.tui.tables import table

VIEW_TRACEBACK = """Traceback (most recent call last):
  File "a.py", line 3, in <module>
    y = x.transpose(1, 2).view(2, -1)
RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two \
contiguous subspaces). Use .reshape(...) instead."""
"""A message with a suggested command that is no request: `shapecalc code`."""
HOSTILE = ["", "[" * 10_000, "x" * 70_000, "\x00", "(" * 300 + ")" * 300]


@each_row(("text", "kind"), [*table("code"), *((text, "no code") for text in HOSTILE)])
def test_pasted_code_is_distinguished_from_typed_text(text, kind):
    assert is_code(text) is (kind == "code")


@driven("reshape", "B,T,C", "-1")
async def test_pasted_note_disappears_after_reading_time(user):
    await user.paste("x.view(B, T, h, C // h)\n")
    assert [note.timeout for note in user.app._notifications] == [3]


@driven()
async def test_message_without_a_request_opens_its_diagnosis(user):
    await user.press(":home")
    await user.paste(VIEW_TRACEBACK)
    assert "read as: an error message" in user.text
    await user.press("enter")
    assert user.screen == "DoctorScreen"
    assert "esc closes" in user.text
    assert "enter opens" not in user.text
    await user.press("enter")
    assert user.screen != "DoctorScreen"


@driven()
async def test_message_opens_its_corrected_request(user):
    await user.press(":home")
    await user.paste("shape '[32, 12, 64]' is invalid for input of size 7680")
    await user.press("enter", "f")
    assert user.screen == "ExploreScreen"
    assert user.command == "$ shapecalc reshape 7680 -1,12,64 --dialect torch"


@driven()
async def test_message_without_a_correction_says_why(user):
    await user.press(":home")
    await user.paste("shape '[5, -1]' is invalid for input of size 24")
    await user.press("enter", "f")
    assert user.note == "f does nothing here: the message does not say enough for a corrected request"


def test_plain_session_reads_a_message_without_a_request():
    session = PlainSession(None, 0)
    lines = [line for typed in VIEW_TRACEBACK.splitlines() for line in session.reply(typed)]
    assert any("stride" in line for line in lines)
