"""What is pasted: code is told from what is typed, and its note stands only for a moment."""

from __future__ import annotations

from shapecalc.core.code import is_code
from tests.sampling import each_row
from tests.tui.driven import driven
from tests.tui.tables import table

HOSTILE = ["", "[" * 10_000, "x" * 70_000, "\x00", "(" * 300 + ")" * 300]


@each_row(("text", "kind"), [*table("code"), *((text, "no code") for text in HOSTILE)])
def test_code_is_told_from_what_is_typed(text, kind):
    assert is_code(text) is (kind == "code")


@driven("reshape", "B,T,C", "-1")
async def test_the_note_of_a_pasted_line_covers_the_sentence_no_longer_than_it_takes_to_read(user):
    await user.paste("x.view(B, T, h, C // h)\n")
    assert [note.timeout for note in user.app._notifications] == [3]
