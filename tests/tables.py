"""Tables as text: a row a line, its columns parted by ` => `, under sections `[as this]`; `#` begins a comment."""

from __future__ import annotations

from pathlib import Path


def rows(file: Path, *sections: str) -> list[tuple[str, ...]]:
    """Return the rows of a table, or those of some sections of it."""
    found, section = [], ""
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#") and (not sections or section in sections):
            found.append(tuple(column.strip() for column in line.split("=>")))
    assert found, f"{file.name} has no rows"
    return found
