"""A line of code that is pasted into a field."""

from __future__ import annotations

import pytest

from shapecalc.core.code import is_code
from shapecalc.tui.question import command
from tests.tui.driven import driven


def asked(user):
    """Return the command line of the question, over which a note may stand on the screen."""
    return command(user.state.question, user.state.result.answer)


@driven("reshape", "B,T,C", "-1")
async def test_a_pasted_line_becomes_its_chain_with_a_note(user):
    await user.paste("    x.view(B, T, h, C // h).transpose(1, 2)\n")
    assert asked(user) == "shapecalc chain 'B,T,C | view B,T,h,C/h | transpose 0,2,1,3 --dialect torch'"
    ((title, said),) = user.notes
    assert title == "the code as a chain"
    assert "x.view(B, T, h, C // h)" in said
    assert "C // h is read as C/h" in said


@driven("reshape", "B,T,C", "-1")
async def test_the_note_of_a_pasted_line_covers_the_sentence_no_longer_than_it_takes_to_read(user):
    await user.paste("x.view(B, T, h, C // h)\n")
    (note,) = user.app._notifications
    assert note.timeout == 3


@driven("reshape", "2,3,4", "6,-1")
async def test_a_line_that_cannot_be_read_leaves_the_question_and_says_why(user):
    before = asked(user)
    await user.paste("x.unfold(0, 2, 1).view(-1)")
    assert asked(user) == before
    ((title, said),) = user.notes
    assert title == "not read as code"
    assert "unfold" in said


@driven("reshape", "2,,3", "6,-1")
async def test_without_an_input_it_says_so(user):
    before = asked(user)
    await user.paste("x.view(-1)")
    assert asked(user) == before
    assert [title for title, _ in user.notes] == ["not read as code"]


@driven("chain", "2,3,4 | transpose")
async def test_a_line_replaces_a_chain_and_is_refused_as_one(user):
    await user.paste("np.reshape(x, (5, -1))")
    assert asked(user) == "shapecalc chain '2,3,4 | reshape 5,-1 --dialect numpy'"
    assert "indivisible" in user.text


CODE = [
    "x.view(-1)",
    "y = x.permute(0, 2, 1)",
    "einops.rearrange(x, 'b c -> c b')",
    "x[:, None]",
    "transpose(x, (1, 0))",
]
NO_CODE = ["2,3,4", "(2, 3)", "[2, 3]", "torch.Size([2, 3])", "C*H*W/64", "0,-1", "x.npy", "[:, ::2]", "b c -> c b"]
NO_CODE += [
    "reshape 0,-1 | transpose",
    "",
    "[" * 10_000,
    "x" * 70_000,
    "\x00",
    "(" * 300 + ")" * 300,
    "os.system('ls')",
]


@pytest.mark.parametrize("text", CODE)
def test_code_is_told_from_what_is_typed(text):
    assert is_code(text)


@pytest.mark.parametrize("text", NO_CODE, ids=lambda text: ascii(text)[:30])
def test_what_is_typed_is_no_code(text):
    assert not is_code(text)
