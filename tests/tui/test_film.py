"""The film (^R): frames fit every size, and the player stops at questions and at the end."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.render.film import render_screen
from shapecalc.render.scenes import make_film
from shapecalc.tui.film import Player
from tests.tui.driven import driven


def player_of_shuffle():
    return Player(make_film(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1))))


def shows_frame(user, number):
    """Return whether the screen shows a frame and its number."""
    frames = (film := user.app.screen.player.film).frames
    text = render_screen(film, frames[number].sprites.values()).plain
    expected = [line.rstrip() for line in text.rstrip().split("\n")]
    shown = "\n".join(user.lines[:-2]).rstrip().split("\n")
    return shown == expected and f"frame {number + 1} of {len(frames)}" in user.lines[-2]


@pytest.mark.slow
@driven("shuffle", "2,2", "--first", "1,0", "--to", "0,-1", size=(60, 18))
async def test_film_frames_fit_every_size(user):
    await user.press(":film", "space", "home")
    last = len(user.app.screen.player.film.frames) - 1
    for number in range(last):
        assert shows_frame(user, number)
        await user.press("right")
    for size in ((80, 24), (120, 40), (59, 17), (200, 60), (60, 18)):
        await user.resize(*size)
        if size == (59, 17):
            assert "enlarge the terminal to 60x18" in user.text
            continue
        for key, number in (("left", last - 1), ("home", 0), ("end", last)):
            await user.press(key)
            assert shows_frame(user, number)
    await user.press("escape")
    assert user.title.endswith("answer 2,2")


@driven()
async def test_film_click_on_the_progress_bar_seeks(user):
    await user.press(":film", "space", "home")
    await user.click("●", after=20)
    player = user.app.screen.player
    assert player.time == pytest.approx(player.film.seconds / 2, rel=0.3)


@driven("chain", "2,3" + " | transpose 1,0" * 101)
async def test_film_refuses_chains_beyond_the_limit(user):
    await user.press(":film")
    assert "101 stages to film, and the limit" in user.text


def test_film_player_stops_at_the_end_and_restarts():
    player = player_of_shuffle()
    player.toggle_playback()
    player.advance(1000)
    assert (player.is_at_end, player.is_playing, player.frame_index) == (True, False, len(player.film.frames) - 1)
    player.toggle_playback()
    assert (player.time, player.is_playing) == (0.0, True)


def test_film_player_stops_once_at_every_question():
    player = player_of_shuffle()
    player.is_asking, answers = True, []
    player.toggle_playback()
    while not player.is_at_end:
        player.advance(7.3)
        if player.question is not None:
            answers.append(player.question.answer)
            player.skip_question()
    assert answers == [frame.prompt.answer for frame in player.film.frames if frame.prompt]
