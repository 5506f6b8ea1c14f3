"""Pasted text: code is recognized, and the notification about it is short."""

from __future__ import annotations

from shapecalc.reading.code import is_code
from tests.sampling import each_row
from tests.tui.driven import driven
from tests.tui.tables import table

HOSTILE = ["", "[" * 10_000, "x" * 70_000, "\x00", "(" * 300 + ")" * 300]


@each_row(("text", "kind"), [*table("code"), *((text, "no code") for text in HOSTILE)])
def test_pasted_code_is_distinguished_from_typed_text(text, kind):
    assert is_code(text) is (kind == "code")


@driven("reshape", "B,T,C", "-1")
async def test_pasted_note_disappears_after_reading_time(user):
    await user.paste("x.view(B, T, h, C // h)\n")
    assert [note.timeout for note in user.app._notifications] == [3]
