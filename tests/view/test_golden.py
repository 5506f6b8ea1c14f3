"""Pictures are what was looked at and judged before it was kept."""

from __future__ import annotations

import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.view.grid import grid
from tests.view.golden_pictures import GOLDEN, PICTURES
from tests.view.questions import answer_to


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_was_kept(name):
    kept = (GOLDEN / f"{name}.txt").read_text("utf-8")
    assert f"{PICTURES[name]()}\n" == kept, "look at it, and if it is right: python -m tests.renew golden"


def test_every_picture_that_was_kept_is_drawn():
    assert {file.stem for file in GOLDEN.iterdir()} == {*PICTURES}


@pytest.mark.parametrize("command", ["reshape 0,3 0,3", "expand 1 0 -d numpy", "reshape 2,3 5", "shape 2,3"])
def test_a_grid_of_no_elements_is_refused(command):
    with pytest.raises(ShapeError):
        grid(answer_to(command))
