"""Tables of tests: one row a line, columns split by ` => `. The first line is about them."""

from pathlib import Path


def table(name: str, folder: str = "tui") -> list[tuple[str, ...]]:
    """Return the rows of a table; <ESC> and <NL> stand for an escape character and a new line."""
    _, *lines = (Path(__file__).parents[1] / folder / "tables" / f"{name}.txt").read_text("utf-8").splitlines()
    signs = {"<ESC>": "\x1b", "<NL>": "\n"}
    rows = []
    for line in lines:
        columns = [column.strip() for column in line.split("=>")]
        for sign, meant in signs.items():
            columns = [column.replace(sign, meant) for column in columns]
        rows.append(tuple(columns))
    return rows
