"""In class: large figures without the rest of the screen."""

from __future__ import annotations

import pytest

from shapecalc.view.big import Scale, figures
from tests.tui.driven import driven

pytestmark = pytest.mark.sessions(5)

COPIES = ("reshape", "2,2,3,2", "-1,0,0")
ROOM = (120, 40)


def shows(user, text, scale=Scale.LARGE):
    """Say whether the screen shows a text in large figures: each line of it, one under the other."""
    lines = [f"{line:<{ROOM[0]}}" for line in user.lines]
    wanted = figures(text, scale)
    return any(
        all(lines[row + place][x:].startswith(part) for place, part in enumerate(wanted))
        for row in range(len(lines) - len(wanted))
        for x in range(len(lines[0]))
    )


@driven(*COPIES, size=ROOM, step=0, big=True, learns=True)
async def test_it_opens_large_and_without_the_rest(user):
    assert shows(user, "-1")
    await user.press("y")
    assert shows(user, "C 3")
    assert shows(user, "[ ]")
    for hidden in ("$ shapecalc", "PgDn next", "target", "▸ reshape"):
        assert hidden not in user.text
    assert "1 of 3: what does the 0 at index 1 copy?" in user.text


@driven(*COPIES, size=ROOM, step=0, learns=True)
async def test_large_figures_take_what_is_typed_and_one_key_leads_back(user):
    await user.press("y", "ctrl+b", "3")
    assert shows(user, "[✗3]")
    assert "The dims were counted from 1, or counted from the right" in user.text
    await user.press("backspace", "2", "enter")
    assert user.state.at == 1
    assert not shows(user, "[✗3]")
    await user.press("ctrl+b")
    assert user.command == "$ shapecalc reshape 2,2,3,2 -1,0,0"
    assert user.text.count("[    ]") == 4
    await user.press("ctrl+b", "escape")
    assert user.command == "$ shapecalc reshape 2,2,3,2 -1,0,0"


@driven("reshape", "2,3,4", "5,-1", size=ROOM, big=True)
async def test_a_refusal_in_large_figures_says_why(user):
    assert "24 elements (2*3*4) cannot be divided by 5, 4 left over" in user.text
    assert "F6: write 4,-1" in user.text


@driven("shuffle", "2,3,4,5,6,7,8,2", "--first", "7,6,5,4,3,2,1,0", "--to", "0,0,-1", big=True)
async def test_without_room_for_large_figures_it_draws_the_flow(user):
    assert "input transpose 7,6,5,4,3,2,1" in user.text
    await user.resize(200, 60)
    assert shows(user, "B 3", Scale.LARGE) or shows(user, "B 3", Scale.MEDIUM)
