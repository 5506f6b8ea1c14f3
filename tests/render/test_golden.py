"""Compare pictures and code with the reviewed golden files."""

from __future__ import annotations

import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.render.grid import draw_grid
from tests.render.golden_pictures import BLOCK, GOLDEN, render_golden
from tests.render.questions import answer_to
from tests.sampling import some_and_rest

BLOCKS = [block for file in sorted(GOLDEN.iterdir()) for block in BLOCK.findall(file.read_text("utf-8"))]


@pytest.mark.parametrize("blocks", some_and_rest(BLOCKS, 40))
def test_pictures_match_golden_files(blocks):
    for kind, options, line, golden in blocks:
        advice = f"look at {line}, and if it is right: python -m tests.renew golden"
        assert render_golden(kind, options, line).rstrip() == golden.rstrip(), advice


@pytest.mark.parametrize("command", ["reshape 0,3 0,3", "expand 1 0 -d numpy", "reshape 2,3 5", "shape 2,3"])
def test_empty_grid_is_refused(command):
    with pytest.raises(ShapeError):
        draw_grid(answer_to(command))
