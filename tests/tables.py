"""Text tables with one row per line, columns separated by ` => `, sections `[name]`, and comment lines `#`."""

from __future__ import annotations

from pathlib import Path


def rows(file: Path, *sections: str) -> list[tuple[str, ...]]:
    """Return the rows of a table, or of some of its sections."""
    table, section = [], ""
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#") and (not sections or section in sections):
            table.append(tuple(column.strip() for column in line.split("=>")))
    assert table, f"{file.name} has no rows"
    return table
