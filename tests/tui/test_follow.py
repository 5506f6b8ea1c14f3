"""An element is followed from the command line, and the wheel steps."""

from __future__ import annotations

from textual import events

from tests.tui.driven import SHUFFLE, driven


@driven("reshape", "2,3,4", "6,4", cursor=(0, 1, 1))
async def test_follow_opens_at_the_element(user):
    assert user.focus == "elements"
    assert "x[0,1,1] == y[1,1] == 5" in user.text


@driven(*SHUFFLE, cursor=(0, 1, 1), step=0)
async def test_follow_panel_that_is_left_names_the_tensor_after_the_stage(user):
    user.app.explore._last_draw = 0.0  # the app is idle, so that the key draws at once
    await user.press("g")
    assert user.focus is None
    assert "▸ Elements" not in user.text
    assert "x[0,1,1] == t1[1,0,1] == 5" in user.text
    await user.press("end")
    assert "x[0,1,1] == y[1,1] == 5" in user.text


@driven("reshape", "2,3,4", "6,4", step=0)
async def test_wheel_steps_through_the_answer(user):
    for event, expected in ((events.MouseScrollDown, 1), (events.MouseScrollDown, 2), (events.MouseScrollUp, 1)):
        user.app.post_message(event(None, 10, 8, 0, 1, 0, False, False, False, 10, 8))
        await user.settle()
        assert user.state.current_step == expected


@driven("reshape", "2,3,4", "6,4", learns=True, step=0)
async def test_wheel_never_shows_what_is_asked(user):
    user.app.post_message(events.MouseScrollDown(None, 10, 8, 0, 1, 0, False, False, False, 10, 8))
    await user.settle()
    assert user.state.must_predict_validity


def test_follow_refuses_missing_elements(shapecalc):
    assert "there is no element at 9,9" in shapecalc("tui", "--at", "9,9", "reshape", "2,3", "6").err
    assert "--at needs a request" in shapecalc("tui", "--at", "0").err
    assert (
        "--plain and --at cannot be combined" in shapecalc("tui", "--plain", "--at", "0,0", "reshape", "2,3", "6").err
    )


@driven("shuffle", "2,3,4", "--first", "1,2,0", "--to", "0,-1", "--second", "1,0", size=(80, 24))
async def test_reasons_are_whole_or_hidden_beside_the_elements(user):
    await user.press("end")
    assert any("└ 8 is" in line for line in user.lines) == any("└ 3 is" in line for line in user.lines)
    await user.press("g")
    assert "8 , 3" in user.text or "8,3" in user.text
    assert any("└ 8 is" in line for line in user.lines) == any("└ 3 is" in line for line in user.lines)
