"""The wires of drawn chains, read back from the characters: each leads to the axes that the dim depends on in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from shapecalc.view import wires
from shapecalc.view.flow import flow
from shapecalc.view.layout import layouts
from shapecalc.view.wires import is_knot
from tests.sampling import some_and_rest
from tests.view.questions import answer_to
from tests.view.reading import wires_read
from tests.view.test_pictures import NO_ROOM, dependence, drawn_request, without_ones

CHAINS = 1000
ROOMS = ((200, None), (120, 40), (400, 60))


def check(seed, size):
    """Hold every wire of a drawn chain against NumPy; return how many stages are knots, and whether all are drawn."""
    asked, (width, height) = drawn_request(seed), size
    answer = answer_to(asked.line)
    drawn = flow(answer, width=width, height=height)
    knots = sum(any(is_knot(layout, link) for link in layout.links) for layout in layouts(answer))
    if NO_ROOM in drawn.plain or "… axes" in drawn.plain:
        return knots, False
    for number, found in wires_read(drawn):
        if number < len(asked.arrays):
            before, after = asked.arrays[number - 1 : number + 1]
            found = without_ones(found, before.shape, after.shape)
            assert found == dependence(before, after), (asked.line, number, drawn.plain)
    return knots, True


@pytest.mark.parametrize("seeds", some_and_rest(list(range(CHAINS)), 100))
def test_every_wire_leads_to_the_axes_that_a_dim_depends_on(seeds):
    made = [check(seed, ROOMS[seed % len(ROOMS)]) for seed in seeds]
    assert sum(knots for knots, _ in made) > len(seeds) / 20
    assert sum(not drawn for _, drawn in made) <= len(seeds) / 100


def test_one_bar_through_a_knot_is_read_as_wrong(monkeypatch):
    before = np.arange(24).reshape(2, 3, 4)
    for line in ("reshape 2,3,4 2,-1,2", "reshape 2,3,4 4,6"):
        answer = answer_to(line)
        right = dependence(before, before.reshape(answer.output))
        with monkeypatch.context() as patch:
            ((_, found),) = wires_read(flow(answer))
            assert found == right
            patch.setattr(wires, "is_knot", lambda _layout, _link: False)
            ((_, found),) = wires_read(flow(answer))
            assert found != right, flow(answer).plain
