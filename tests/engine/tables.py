"""Read text tables: one row per line, columns separated by ` | `, comments after `#`."""

from __future__ import annotations

import re
from pathlib import Path


def rows(name, folder=Path(__file__).parent):
    """Return the rows of a table as lists of columns."""
    lines = (folder / f"{name}.txt").read_text("utf-8").splitlines()
    return [[column.strip() for column in re.split(r" \|(?: |$)", line)] for line in lines if line and line[0] != "#"]
