"""^R: the film in the app. It plays, stops, goes frame by frame, asks, and is saved."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.tui.explore_text import WOULD_SHOW
from shapecalc.tui.film import Player
from shapecalc.view.film import screen
from shapecalc.view.flow import rail
from shapecalc.view.scenes import film_of
from tests.tui.driven import driven

pytestmark = pytest.mark.sessions(5)

SHUFFLE = ("shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1")


def film():
    return film_of(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)))


def seen(user):
    """Return what the stage shows, without the lines under it."""
    return "\n".join(user.lines[:-2]).rstrip()


def frame_text(player, number):
    text = screen(player.film, player.film.frames[number].sprites.values()).plain
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


def player_of(user):
    return user.app.screen.player


@driven(*SHUFFLE)
async def test_it_plays_at_once_and_stops(user):
    await user.press("ctrl+r")
    assert player_of(user).playing
    assert " ▶ " in user.lines[-2]
    await user.press("space")
    assert not player_of(user).playing
    assert " ■ " in user.lines[-2]
    assert user.title == "shuffle 2,3,4 --first 1,0,2 --to 0,-1"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (60, 18)])
def test_every_frame_is_seen_whole(size):
    @driven("shuffle", "2,2", "--first", "1,0", "--to", "0,-1", size=size)
    async def play(user):
        await user.press("ctrl+r", "space", "home")
        player = player_of(user)
        for number in range(len(player.film.frames)):
            assert seen(user) == frame_text(player, number)
            assert f"frame {number + 1} of {len(player.film.frames)}" in user.lines[-2]
            assert all(len(line) <= size[0] for line in user.lines)
            await user.press("right")
        await user.press("left")
        assert seen(user) == frame_text(player, len(player.film.frames) - 2)

    play()


@driven(*SHUFFLE)
async def test_it_goes_to_its_ends_and_where_one_clicks(user):
    await user.press("ctrl+r", "end")
    player = player_of(user)
    assert "The answer is 3,8." in user.text
    await user.press("home")
    assert "The input is 2,3,4." in user.text
    await user.click("●", after=20)
    assert player.second == pytest.approx(player.film.seconds / 2, rel=0.3)
    await user.click("→ next")
    assert not player.playing
    await user.click("esc close")
    assert " $ shapecalc shuffle" in user.text


@driven(*SHUFFLE)
async def test_speeds_have_ends(user):
    await user.press("ctrl+r", "space", "plus", "plus", "plus", "plus")
    assert user.lines[-2].endswith(" 4x")
    await user.press(*["minus"] * 9)
    assert user.lines[-2].endswith(" 0.25x")


@driven(*SHUFFLE)
async def test_it_asks_before_a_dim_is_filled(user):
    await user.press("ctrl+r", "space", "home", "a", "right", "right")
    assert user.lines[-2].startswith(" What does output dim 0, asked for as 1, become?")
    assert "becomes _      _      _" in user.text
    await user.type("5")
    await user.press("enter")
    assert user.lines[-2].startswith(" That is not right. What does output dim 0")
    assert "becomes _" in user.text
    await user.press("backspace")
    await user.type("3")
    await user.press("enter", "space", "right")
    assert "becomes b 3    _      _" in user.text
    assert user.lines[-2].startswith(" 0 of 1 right  What does output dim 1, asked for as 0, become?")
    await user.press("enter", "space", "right")
    assert "becomes b 3    a 2    _" in user.text


@driven(*SHUFFLE)
async def test_what_is_not_answered_is_shown_by_going_on(user):
    await user.press("ctrl+r", "space", "home", "a", "right", "right", "pagedown")
    assert "becomes b 3    _      _" in user.text
    assert user.lines[-2].startswith(" 0 of 1 right  What does output dim 1")
    await user.press("pageup", "pageup", "a", "pagedown", "pagedown")
    assert "becomes b 3    _      _" in user.text
    assert "What does output dim" not in user.lines[-2]


@driven(*SHUFFLE)
async def test_a_change_of_size_stays_at_the_frame(user):
    await user.press("ctrl+r", "space", "home")
    await user.hurry(*["right"] * 9)
    for size in ((120, 40), (60, 18), (59, 17), (200, 60), (80, 24)):
        await user.resize(*size)
        if size == (59, 17):
            assert "enlarge the terminal to 60x18" in user.text
            continue
        assert "frame 10 of" in user.lines[-2]
        assert seen(user) == frame_text(player_of(user), 9)
    await user.press("escape")
    assert user.title.endswith("answer 3,8")


@driven(*SHUFFLE, step=4)
async def test_it_begins_at_the_step_at_hand(user):
    await user.press("ctrl+r", "space")
    player = player_of(user)
    assert player.film.frames[player.frame].step == 4
    assert "reshape" not in rail(user.state.answer, 4).plain or player.frame


@driven(*SHUFFLE, step=0, learns=True)
async def test_it_asks_for_what_is_hidden_and_goes_past_no_question(user):
    await user.press("ctrl+r", "y", "ctrl+r", "space")
    assert [said for _, said in user.notes] == [WOULD_SHOW], "a film tells whether it works"
    for answer in ("3", "2", "3", "8"):
        await user.press("end")
        assert " What does output dim" in user.lines[-2]
        assert "The answer is" not in user.text
        await user.burst("7", "backspace", *answer, "enter", turns=2)
        await user.press("space")
        assert " What does output dim" not in user.lines[-2]
    await user.press("end")
    assert "The answer is 3,8." in user.text


@driven(*SHUFFLE, step=0, learns=True)
async def test_it_does_not_ask_for_what_was_passed_or_predicted(user):
    await user.press("y", "3", "ctrl+r", "space", "home", "end")
    assert " What does output dim 1, asked for as 0, become?" in user.lines[-2]
    assert "becomes b 3    _      _" in user.text
    await user.press("a", "escape", "ctrl+g", "ctrl+r", "space", "end")
    assert "The answer is 3,8." in user.text


@driven(*SHUFFLE, step=0, learns=True)
async def test_a_part_of_it_that_is_clicked_is_not_behind_a_question(user):
    await user.press("y", "ctrl+r", "space", "home")
    await user.click("●", after=40)
    assert " What does output dim 0, asked for as 1, become?" in user.lines[-2]
    assert "becomes _      _      _" in user.text


@driven(*SHUFFLE, step=0, learns=True)
async def test_it_begins_before_the_question_of_the_step_at_hand(user):
    await user.press("y", "pagedown", "pagedown", "ctrl+r")
    assert " What does output dim 1, asked for as 0, become?" in user.lines[-2]
    assert "becomes b 3    _      _" in user.text


@driven("reshape", "2,3,4", "5,-1")
async def test_a_refused_request_plays_as_far_as_it_got(user):
    await user.press("ctrl+r", "end")
    assert "✗ refused: indivisible" in user.text
    assert "24 / 5 = 4, rest 4" in user.text


@driven("chain", "2,3" + " | transpose 1,0" * 101)
async def test_a_chain_beyond_the_limit_is_not_played(user):
    await user.press("ctrl+r")
    assert "101 stages to film, and the limit" in user.text


@driven("reshape", "N,C,H,W", "0,-1,64", step=0)
async def test_names_of_dims_are_answers_too(user):
    await user.press("ctrl+r", "space", "home", "a", "right", "right")
    await user.type("N")
    await user.press("enter", "space", "right")
    assert "becomes N  " in user.text


def test_a_player_stops_at_the_end_and_begins_again():
    player = Player(film())
    player.toggle()
    player.tick(1000)
    assert (player.at_end, player.playing, player.frame) == (True, False, len(player.film.frames) - 1)
    player.toggle()
    assert (player.second, player.playing) == (0.0, True)


def test_a_player_stops_at_every_question_once():
    player = Player(film())
    player.asks, asked = True, []
    player.toggle()
    while not player.at_end:
        player.tick(7.3)
        if player.question is not None:
            asked.append(player.question.answer)
            player.reveal()
    assert asked == [frame.asks.answer for frame in player.film.frames if frame.asks]


async def save(user, kind, name):
    await user.press("ctrl+p")
    await user.type(f"save the {kind}")
    await user.press("enter")
    await user.wipe()
    await user.type(name)
    await user.press("enter")


@driven(*SHUFFLE, step=5)
async def test_the_palette_saves_the_film_and_the_picture(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await save(user, "film", "a.html")
    assert user.notes[-1] == ("saved", "a.html")
    await save(user, "picture", "b.svg")
    assert user.notes[-1] == ("saved", "b.svg")
    assert "[6 of 7: solve -1]" in (tmp_path / "b.svg").read_text("utf-8")
    assert (tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert " $ shapecalc shuffle" in user.text


@driven(*SHUFFLE)
async def test_what_cannot_be_saved_is_said_and_can_be_mended(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svg").write_text("mine")
    await save(user, "film", "a.svg")
    assert "a.svg: it exists" in user.text
    assert (tmp_path / "a.svg").read_text() == "mine"
    for name, said in (("a.png", "'a.png' is not a film. end it in .svg"), ("no/a.svg", "no/a.svg: No such file")):
        await user.wipe()
        await user.type(name)
        await user.press("enter")
        assert said in user.text
    await user.wipe()
    await user.type("b.html")
    await user.press("enter")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.html"]
