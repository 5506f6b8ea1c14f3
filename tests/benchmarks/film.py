"""Measure the frame rate of the film of a rank 4 Shuffle in the app, and the CPU time of a picture.

Run it from a checkout: `python -m tests.benchmarks.film`. The app runs without a terminal.
"""

from __future__ import annotations

import asyncio
import time

from shapecalc.tui.film import FilmPane
from tests.tui.driven import User, using

LINE = "shuffle 2,3,4,2 --first 1,0,3,2 --to 0,-1,2 --second 1,0,2"
SIZES = ((80, 24), (120, 40), (200, 60))
SECONDS = 8
PICKING = 6
"""The first frame in which elements move."""


async def measure_film(user: User) -> None:
    """Print the pictures a second, and the CPU time of one in milliseconds."""
    drawings, draw = [], FilmPane.draw
    await user.press("ctrl+r")
    player = user.app.screen.player
    player.seek(player.starts[PICKING])
    FilmPane.draw = lambda pane: drawings.append(draw(pane))
    start, spent = time.perf_counter(), time.process_time()
    await asyncio.sleep(SECONDS)
    FilmPane.draw = draw
    rate, cost = len(drawings) / (time.perf_counter() - start), 1000 * (time.process_time() - spent) / len(drawings)
    size = user.app.size
    print(f"{size.width}x{size.height}: {rate:.1f} pictures in a second, {cost:.1f} ms of CPU time each")


if __name__ == "__main__":
    for size in SIZES:
        asyncio.run(using(measure_film, *LINE.split(), size=size))
