"""The animation at the top of the README; `python -m tests.renew screens` renews it."""

from __future__ import annotations

from pathlib import Path

import shapecalc as sc
from shapecalc.reasoning.equiv import check_equivalence, count_differences
from shapecalc.render.output_comparison import render_output_comparison

FILM = Path(__file__).parents[2] / "screenshots" / "film.svg"
INPUT, STAGES = "2,3", ("reshape 3,2", "transpose 1,0")


def made() -> bytes:
    """Render the animation."""
    first, second = (sc.chain(INPUT, stage) for stage in STAGES)
    example = check_equivalence(first, second).counterexample
    assert example
    return render_output_comparison(
        (first, second), example, count_differences(first, second, example) or 0, FILM.name
    )[1]
