"""The animation at the top of the README; `python -m tests.renew screens` renews it."""

from __future__ import annotations

from pathlib import Path

from shapecalc.render.film import render_film
from tests.render.questions import answer_to

FILM = Path(__file__).parents[2] / "screenshots" / "film.svg"
LINE = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"


def made() -> bytes:
    """Render the animation."""
    return render_film(answer_to(LINE), FILM.name)[1]
