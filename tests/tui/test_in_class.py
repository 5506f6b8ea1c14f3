"""In class: large figures without the rest of the screen, and the tally of what a class predicts."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.problem import ShapeError
from shapecalc.tui.tally import commonest_mistake, predictions_of, read_counts
from shapecalc.view.figures import Scale, figures
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


@driven(*COPIES, size=ROOM, step=0, big=True)
async def test_it_opens_large_and_without_the_rest(user):
    assert shows(user, "C 3")
    assert shows(user, "[ ]")
    for hidden in ("$ shapecalc", "PgDn next", "target", "▸ reshape"):
        assert hidden not in user.text
    assert "1 of 3: what does the 0 at index 1 copy?" in user.text


@driven(*COPIES, size=ROOM, step=0)
async def test_large_figures_take_what_is_typed_and_one_key_leads_back(user):
    await user.press("ctrl+b", "3")
    assert shows(user, "[✗3]")
    assert "The dims were counted from 1, or counted from the right" in user.text
    await user.press("backspace", "2", "enter")
    assert user.state.at == 1
    assert not shows(user, "[✗3]")
    await user.press("ctrl+b")
    assert user.command == "$ shapecalc reshape 2,2,3,2 -1,0,0"
    assert user.text.count("[    ]") == 2
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


@driven("transpose", "2,3,4", "1,2,0", size=ROOM, step=0)
async def test_a_tally_is_drawn_as_bars_and_its_commonest_mistake_beside_the_truth(user):
    user.app.explore.action_tally()
    await user.settle()
    assert shows(user, "A 3,4,2", Scale.MEDIUM)
    await user.type("4 12")
    lengths = [line.count("█") for line in user.lines if line.count("█") > 20]
    assert len(lengths) == 6
    assert 2 * max(lengths[:3]) < min(lengths[3:])
    await user.press("enter")
    assert "asked 3,4,2" in user.text
    assert "mistaken 4,2,3" in user.text
    assert "Perm was read the other way" in user.text
    assert [line.count("✗") for line in user.lines if "✗" in line] == [1, 1, 1]


@driven("transpose", "2,3,4", "1,2,0")
async def test_the_tally_is_in_the_palette_and_says_what_is_no_count(user):
    await user.press("ctrl+p")
    await user.type("tally")
    await user.press("enter")
    await user.type("4 x")
    assert "a count is a whole number, not 'x'" in user.text
    await user.press("enter")
    assert "counts" in user.text
    await user.press("backspace")
    await user.type("1 2 3")
    assert "4 counts for 2 predictions" in user.text
    await user.press("escape")
    assert user.title.endswith("answer 3,4,2")


@driven("expand", "3,1", "3,4")
async def test_a_question_without_known_mistakes_has_one_prediction(user):
    user.app.explore.action_tally()
    await user.settle()
    assert "no known mistake gives another shape here" in user.text


def test_the_predictions_stand_in_an_order_that_does_not_tell_the_right_one():
    places = set()
    for perm in ((1, 2, 0), (2, 0, 1)):
        listed = predictions_of(sc.transpose((2, 3, 4), perm))
        assert len({each.text for each in listed}) == len(listed) == 2
        places.add([each.mistake for each in listed].index(None))
    assert places == {0, 1}


def test_the_commonest_mistake_is_no_right_answer():
    listed = predictions_of(sc.transpose((2, 3, 4), (1, 2, 0)))
    assert commonest_mistake(listed, (99, 1)).kind == "permutation the other way"
    assert commonest_mistake(listed, (99, 0)) is None
    assert commonest_mistake(listed, ()) is None


@pytest.mark.parametrize("text", ["-1", "1.5", "٣", "9" * 7, "\x1b[31m", "1 2 3"])
def test_what_is_no_tally_is_refused_in_words(text):
    with pytest.raises(ShapeError) as caught:
        read_counts(text, 2)
    assert "\x1b" not in caught.value.problem.message
