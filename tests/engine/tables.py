"""Tables as text: a row a line, its columns split by ` | `, and lines that begin with `#` say what follows."""

from __future__ import annotations

import re
from pathlib import Path


def rows(name, folder=Path(__file__).parent):
    """Return the rows of a table: lists of columns."""
    lines = (folder / f"{name}.txt").read_text("utf-8").splitlines()
    return [[column.strip() for column in re.split(r" \|(?: |$)", line)] for line in lines if line and line[0] != "#"]
