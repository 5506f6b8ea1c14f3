"""An error message that is pasted into a field."""

from __future__ import annotations

from textual import events

from tests.tui.driven import driven

MESSAGE = "Traceback (most recent call last):\nRuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600\n"


async def paste(user, text):
    user.app.screen.focused.post_message(events.Paste(text))
    await user.settle()


@driven()
async def test_a_pasted_message_is_explained_and_its_request_can_be_asked(user):
    before = user.command
    await paste(user, MESSAGE)
    assert "torch reshape: count-mismatch" in user.text
    await user.press("escape")
    assert user.command == before
    await paste(user, MESSAGE)
    await user.press("enter")
    assert user.command == "$ shapecalc reshape 1600 8,3,64 --dialect torch"


@driven()
async def test_a_message_without_a_request_only_closes(user):
    before = user.command
    await paste(user, "RuntimeError: only one dimension can be inferred")
    assert "two-infer" in user.text
    await user.press("enter")
    assert user.command == before


@driven("reshape", "2,3,4", "6,-1")
async def test_anything_else_is_typed_into_the_field(user):
    await paste(user, "5, 7, ")
    assert "5, 7, " in user.command
