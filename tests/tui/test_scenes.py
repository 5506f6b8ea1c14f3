"""The screenshots are up to date and self-contained."""

from __future__ import annotations

import pytest

from tests.render.film_picture import FILM
from tests.sampling import each_row
from tests.tui.scenes import FOLDER, SCENES, VERSIONS, picture, versions


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SCENES)
def test_screenshots_are_up_to_date(name):
    if VERSIONS.read_text() != versions():
        pytest.skip(f"the pictures were taken with {VERSIONS.read_text().split()}")
    stored = (FOLDER / f"{name}.svg").read_text("utf-8")
    assert picture(SCENES[name]) == stored, "if it is right: python -m tests.renew screens"


def test_screenshots_all_have_a_scene():
    assert {file.stem for file in FOLDER.glob("*.svg")} == {*SCENES, FILM.stem}


@each_row("name", SCENES)
def test_screenshots_are_self_contained(name):
    stored = (FOLDER / f"{name}.svg").read_text("utf-8")
    assert "url(http" not in stored
    assert "@font-face" not in stored
    assert "/home/" not in stored
    assert "/root" not in stored
    assert str(FOLDER.parent) not in stored
