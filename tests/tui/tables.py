"""Tables of test cases: one row a line, columns separated by ` => `, after a description on the first line."""

from pathlib import Path


def table(name: str, folder: str = "tui") -> list[tuple[str, ...]]:
    """Return the rows of a table; <ESC> and <NL> are replaced by an escape character and a newline."""
    _, *lines = (Path(__file__).parents[1] / folder / "tables" / f"{name}.txt").read_text("utf-8").splitlines()
    signs = {"<ESC>": "\x1b", "<NL>": "\n"}
    rows = []
    for line in lines:
        columns = [column.strip() for column in line.split("=>")]
        for sign, character in signs.items():
            columns = [column.replace(sign, character) for column in columns]
        rows.append(tuple(columns))
    return rows
