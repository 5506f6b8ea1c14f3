"""What the app writes of the screen into the folder one is in: a file of its own for each time."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from shapecalc.engine.whole_files import whole_file


def save(content: str, ending: str) -> str:
    """Write a file whose name has the time and an ending, and return that name; raise `OSError` if it cannot be."""
    saved = Path.cwd() / f"shapecalc_{datetime.now():%Y-%m-%dT%H_%M_%S_%f}.{ending}"
    with whole_file(saved) as file:
        file.write(content.encode())
    return saved.name
